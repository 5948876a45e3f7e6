//! Cells, and how they are held.

mod cell;
mod dense;
mod material;
mod position;

pub use cell::{AIR, Cell, ROW_CELLS, Row, WATER};
pub use dense::{DenseBox, MAX_BOX_CELLS};
pub use material::{Kind, Material, MaterialTable, Shape};
pub use position::{BlockPos, ChunkPos, LIMIT, PagePos, Region, VoxelPos};
