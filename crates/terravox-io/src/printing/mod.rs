//! Exports the ground as a watertight, consistently oriented mesh for 3D printing: STL and 3MF.
//!
//! [`PrintSurface::of`] meshes the solid cells of a region as if there were air around it, so that
//! walls and a floor close the ground where the region cuts it, and joins the blocks: every edge
//! belongs to exactly two triangles, which pass it in opposite directions. [`write_stl`] and
//! [`write_3mf`] write it with its lowest corner at the origin.
//!
//! ```
//! use terravox::voxel::{Cell, DenseBox, Region, VoxelGrid};
//! use terravox_io::ExportLimit;
//! use terravox_io::printing::{PrintFrame, PrintSurface, write_stl};
//!
//! let mut grid = VoxelGrid::default();
//! let mut cells = DenseBox::new(Region::new([0; 3], [40, 5, 40]));
//! cells.fill(8);
//! grid.write(&cells).unwrap();
//! // A part of the slab.
//! let region = Region::new([10, 0, 10], [20, 5, 20]);
//! let limit = ExportLimit::default();
//! let surface = PrintSurface::of(&grid.snapshot(), region, 0, limit, &|_, _| ()).unwrap();
//! assert!((surface.volume() - 500.0).abs() < 15.0);
//! let mut file = Vec::new();
//! write_stl(&mut file, &surface, PrintFrame::default()).unwrap();
//! assert_eq!(file.len(), 84 + 50 * surface.triangles.len());
//! ```

mod closed;
mod stl;
mod threemf;
mod zip;

pub use closed::{PrintError, PrintFrame, PrintSurface};
pub use stl::write_stl;
pub use threemf::write_3mf;

#[cfg(test)]
mod tests;
