//! Paths over [terravox] terrain: where an agent can walk, and the way from one point to
//! another.
//!
//! [`Paths`] is a view of the cells as the collider and the scatter are: it covers tiles of 32³
//! voxels, follows the grid's change log, and after an edit makes the tiles anew that depend on what
//! changed, and no others. [`Paths::find`] searches them.
//!
//! How data flows:
//!
//! 1. The mesh that collision uses, of the tile's cells and some around, is cut by the vertical line
//!    of each *sample*, a square part of a voxel: exactly, in integers (`crossings`).
//! 2. Ground with room above it is a *floor*. Steep ones are left out, and those nearer to a wall or
//!    a drop than the agent's radius (`floors`).
//! 3. Linked floors make *rectangles*, in which any straight line can be walked (`tile`).
//! 4. A search goes from rectangle to rectangle by the *portals* between them, also of other tiles
//!    (`ground`, `search`), and its line is drawn tight (`line`).
//!
//! A tile is a pure function of options and cells, the same on any thread and machine. Links across
//! the borders of tiles are no data: they follow from the floors on both sides.
//!
//! `naive` is the twin: all samples of a small world against all triangles of one mesh, and a flood
//! from floor to floor. Tests compare floors, connectivity and paths with it.
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
