//! Blocks of different mips side by side, without seams: one closed surface.
//!
//! The samples are the cells that each block shows, of whatever size. The mesh is the
//! boundary of the union of the inside ones, with its vertices moved off their corners,
//! as at one mip: a boundary has no boundary, so there are no seams to stitch. A block
//! owns the faces of its own inside cells in all directions. Those that touch no other
//! mip are meshed by [`fast`](super::fast); the rest, the *border*, one by one. A border
//! reads only the cells that the touching blocks show, and the cells of the coarsest mip
//! around a corner to place its vertex ([`foreign_vertices`]).
//!
//! A block's mesh therefore depends on the cells, of its mip and of the coarser ones that
//! touch it, up to two cells of each beyond the block; on the layer of cells of finer
//! blocks that touches it; and on the mips that are shown around it
//! ([`Mesher::depends_on`](super::Mesher::depends_on)).
//!
//! Compare "Dual Contouring of Hermite Data" (Ju et al. 2002), whose cells are an octree's
//! leaves with samples at corners: there every crack is a sample on which two leaves
//! disagree. Here no two cells share one.

mod border;
mod cells;
mod corners;
mod foreign_vertices;
mod lattice;
mod mesher;
#[cfg(test)]
mod naive;
mod neighbours;
mod ring;
mod targets;
#[cfg(test)]
pub(crate) mod tests;
#[cfg(test)]
pub(crate) mod tilings;

pub(super) use mesher::{MixedMesher, MixedRequest};
pub use neighbours::{MAX_MIP_STEPS, NeighbourMips};
