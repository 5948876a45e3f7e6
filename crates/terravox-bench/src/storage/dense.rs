//! A peer in memory: a hash table of uncompressed chunks of 64 KB.

use rustc_hash::FxHashMap;
use terravox::voxel::{Cell, ChunkPos, DenseBox, Row, VoxelPos};

/// Rows of a chunk.
pub const ROWS: usize = 1024;

/// 32³ cells by rows, z fastest, then y.
pub type DenseChunk = Box<[Row; ROWS]>;

/// A world of dense chunks.
#[derive(Default)]
pub struct DenseWorld {
    chunks: FxHashMap<ChunkPos, DenseChunk>,
}

impl DenseWorld {
    /// Adds a chunk from its box.
    ///
    /// # Panics
    /// If the box is not a chunk.
    pub fn add(&mut self, chunk: &DenseBox) {
        self.chunks.insert(chunk.region().min.chunk(), dense_chunk(chunk));
    }

    /// The cell at `p`; air where there is no chunk.
    #[inline]
    pub fn cell(&self, p: VoxelPos) -> Cell {
        let Some(chunk) = self.chunks.get(&p.chunk()) else { return Cell::AIR };
        chunk[((p.z & 31) | (p.y & 31) << 5) as usize].cell((p.x & 31) as usize)
    }

    /// The chunk at `pos`.
    pub fn chunk(&self, pos: ChunkPos) -> Option<&DenseChunk> {
        self.chunks.get(&pos)
    }

    /// Bytes of all chunks and of the table.
    pub fn bytes(&self) -> usize {
        let slot = size_of::<(ChunkPos, DenseChunk)>();
        self.chunks.len() * size_of::<[Row; ROWS]>() + self.chunks.capacity() * slot
    }
}

/// The rows of a chunk's box.
fn dense_chunk(chunk: &DenseBox) -> DenseChunk {
    assert_eq!(chunk.region(), chunk.region().min.chunk().region(), "not a chunk");
    let mut rows = vec![Row::uniform(0); ROWS];
    for (row, from) in rows.iter_mut().zip(0..) {
        let cells = from * Row::CELLS..(from + 1) * Row::CELLS;
        row.material.copy_from_slice(&chunk.materials()[cells.clone()]);
        row.occupancy.copy_from_slice(&chunk.occupancies()[cells]);
    }
    let Ok(rows) = rows.into_boxed_slice().try_into() else { unreachable!("1024 rows") };
    rows
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::worlds::random::Rng;

    #[test]
    fn dense_cells_read_as_they_were() {
        let mut rng = Rng::new(2);
        let mut cells = DenseBox::new(ChunkPos::new(-3, 1, 0).region());
        for p in cells.region().voxels() {
            cells.set(p, Cell::new(rng.below(23) as u8, rng.below(256) as u8));
        }
        let mut world = DenseWorld::default();
        world.add(&cells);
        for p in cells.region().voxels() {
            assert_eq!(world.cell(p), cells.cell(p));
        }
        assert_eq!(world.cell(VoxelPos::new(0, 0, 0)), Cell::AIR);
        assert!(world.bytes() >= 65_536);
    }
}
