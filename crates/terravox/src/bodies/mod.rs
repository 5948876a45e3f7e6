//! What hangs together: pieces of the world that an edit cut loose, and what becomes of them.
//!
//! Solid cells that share a face are connected. What no chain of them connects to an anchor
//! (the floor of the world, cells that the user chose, ground that is not held) is loose.
//! [`Loose`] looks at what edits touched and moves each loose piece into a [`LooseBody`] of
//! its own. `docs/bodies.md` is the guide.

mod anchors;
mod body;
mod clumps;
mod labels;
mod loose;
mod mass;
#[cfg(test)]
mod naive;
mod saved;
mod search;
mod settle;
#[cfg(test)]
mod tests;

pub use anchors::Anchors;
pub use body::LooseBody;
pub use loose::{CutLoose, Loose, LooseOptions, LooseStats, TooLarge};
pub use mass::Mass;
pub use saved::SavedBody;
pub use settle::{BodyPose, WrittenBack};
