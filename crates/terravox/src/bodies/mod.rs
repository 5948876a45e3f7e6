//! Loose bodies: pieces of the world that an edit cut off from the ground.
//!
//! Solid cells that share a face are connected. Cells without a connection to an anchor (the floor
//! of the world, regions that you choose, ground that is not in memory) are loose. [`LooseCutter`]
//! searches around edits and moves each loose piece into a [`LooseBody`]. `docs/bodies.md` is the
//! guide.

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
pub use loose::{LooseCut, LooseCutter, LooseOptions, LooseStats, TooLargePiece};
pub use mass::Mass;
pub use saved::SavedBody;
pub use settle::{BodyPose, WriteBackMethod};
