//! Cells in memory and on disk: reading speed and bytes beside the peers.

pub mod dense;
pub mod palette;
