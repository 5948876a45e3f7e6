//! Navigation meshes of [terravox] terrain: where an agent can walk, and paths from one point to
//! another.
//!
//! [`Paths`] is a view of the cells, like the collider and the scatter: it covers tiles of 32³
//! voxels, follows the grid's change log, and after an edit rebuilds only the tiles that depend on
//! what changed. [`Paths::find`] searches them.
//!
//! How data flows:
//!
//! 1. The mesh that collision uses, of the tile's cells and some around, is cut by the vertical line
//!    of each *path cell*, a square part of a voxel: exactly, in integers (`crossings`).
//! 2. Ground with room above it is a *floor*. Floors that are too steep, or nearer to a wall or a
//!    drop than the agent's radius, are left out (`floors`).
//! 3. Linked floors make *rectangles*, in which any straight line can be walked (`tile`).
//! 4. A search goes from rectangle to rectangle by the *portals* between them, also of other tiles
//!    (`ground`, `search`), and its path is pulled tight (`line`).
//!
//! A tile is a pure function of options and cells, the same on any thread and machine. Links across
//! the borders of tiles are not stored: they follow from the floors on both sides.
//!
//! `naive` is the slow version for tests, which compare floors, connectivity and paths: all path
//! cells of a small world against all triangles of one mesh, and a flood from floor to floor.
//!
//! The [guide](https://github.com/terravox/terravox/blob/main/docs/paths.md) says what holds and what
//! does not.

#![cfg_attr(docsrs, feature(doc_cfg))]

mod agent;
mod crossings;
mod floors;
mod ground;
mod line;
#[cfg(test)]
mod naive;
mod outcome;
mod paths;
mod search;
#[cfg(test)]
mod tests;
mod tile;

pub use agent::{Agent, AgentError, PathOptions, WaterRule};
pub use outcome::{PartialReason, Path, PathOutcome};
pub use paths::{PathUpdate, Paths};

/// The code in the README compiles and runs.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

/// And that of the guide.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/paths.md")]
struct Guide;
