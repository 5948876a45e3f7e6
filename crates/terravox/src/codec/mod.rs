//! Run-length coding of cells: [`Rle`] in bytes, for files, undo and disk, and [`BitRle`] in bits,
//! half as large, for messages. [`ValueRle`] codes the numbers of a channel.
//!
//! In bytes, a box of cells becomes runs of equal cells, in the order of the box. A run is one
//! to five bytes:
//!
//! ```text
//! lead        bits 0–5 material, bit 6: occupancy follows, bit 7: count follows
//! [material]  only after a lead material of 63, in the wide dialect
//! [occupancy] if bit 6; else 255, or 0 for air
//! [count]     if bit 7: cells − 1, so 2 to 256; 0 = one cell, water follows
//! [water]     if count is 0: stored water that this solid cell holds
//! ```
//!
//! There is no length and no checksum: decoding stops when the box is full; file formats add
//! lengths and checksums.
//!
//! Source: Roblox's "Voxel Terrain: Storage" (2017), "Disk format". Count 0 is the
//! extension that the article reserved, with the meaning that it has in real terrain
//! files; the material byte after 63 is our own extension, so that 256 materials fit.

mod bit_models;
mod bit_rle;
#[cfg(test)]
mod bit_rle_tests;
mod bit_stream;
mod decode;
mod encode;
#[cfg(test)]
mod naive;
mod refinement;
mod refinement_start;
mod rle;
mod values;

pub use bit_rle::BitRle;
pub use refinement::Refinement;
pub use rle::{DecodeError, DecodeErrorKind, Dialect, Rle};
pub use values::ValueRle;

#[cfg(test)]
mod tests;
