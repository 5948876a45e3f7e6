//! Cells from mathematics: signed distances, and a small seeded world.
//!
//! Generators answer any region at any mip without making the finer cells, and the same
//! cell is the same whatever is asked for around it or before it.

mod caves;
mod hills;
mod noise;
mod sdf;

pub use hills::{Hills, SEA_LEVEL};
pub(crate) use noise::noise_3d;
pub use sdf::{fill_sdf, occupancy_units};
