//! Generators: cells from heights, signed distances and noise, and complete seeded worlds.
//!
//! Generators fill any region at any mip without the finer cells, and a cell does not depend on
//! which other cells are filled. The ways to fill:
//!
//! | function | takes | evaluates |
//! |---|---|---|
//! | [`fill_height`] | a height for each (x, z) | once per column; nothing outside a range |
//! | [`fill_sdf_bounded`] | a distance for each point, and its maximum slope | near the surface |
//! | [`fill_sdf`] | a distance for each point | every cell |
//! | [`fill_triangles`] | a closed mesh | near its triangles |
//!
//! [`FillRequest`](crate::terrain::FillRequest) has the same functions in world metres. [`Noise2`],
//! [`Noise3`] and [`Fractal`] are noise for such functions, the same on every machine. [`Hills`]
//! and [`World`] are complete worlds, and [`Seeded`] is either of them by name.

mod bounded;
mod caves;
mod fractal;
mod frame;
mod height;
mod hills;
mod materials;
mod noise;
mod noise_bounds;
mod sdf;
mod seeded;
mod triangles;
mod water;
mod world;

pub use bounded::{Slope, fill_sdf_bounded, fill_sdf_bounded_with};
pub use fractal::{Fractal, Fractal2Cursor, Fractal3Cursor};
pub use frame::occupancy_units;
pub use height::{Deep, GroundColumn, fill_height, fill_height_with};
pub use hills::{Hills, Relief};
pub(crate) use noise::noise_3d;
pub use noise::{Noise2, Noise2Cursor, Noise3, Noise3Cursor};
pub use sdf::{RowPoints, fill_sdf};
pub use seeded::{Seeded, SeededError};
pub use triangles::fill_triangles;
pub use world::{Biome, Biomes, Ground, Preset, World, WorldOptions, WorldOptionsError};

/// The ways to fill in the unit of a [`FillRequest`](crate::terrain::FillRequest).
pub(crate) mod placed {
    pub(crate) use super::bounded::fill as fill_bounded;
    pub(crate) use super::frame::Frame;
    pub(crate) use super::height::{HeightFill, range};
    pub(crate) use super::sdf::{ROW, fill, fill_rows};
    pub(crate) use super::water::fill_air_below;
}
