//! Heightmap worlds larger than memory, piece by piece.

use super::chunk_cells::ChunkCells;
use super::relief::HeightmapRelief;
use rayon::prelude::*;
use terravox::voxel::{DenseBox, GridOptions, MaterialTable, VoxelGrid};

/// Chunk columns along the edge of a piece of a streamed world: large enough that few pieces write
/// to one coarse block, small enough that two pieces take little memory. Pieces of rough or deep
/// ground are smaller.
const PIECE_COLUMNS: i32 = 16;

/// Maximum number of chunks of a piece that are not uniform, if it is more than one column; each
/// takes 150 kB while the piece is generated and written.
const PIECE_MIXED_CHUNKS: u64 = 1024;

/// Maximum number of chunks of a piece that is more than one column.
const PIECE_CHUNKS: u64 = 1 << 14;

impl HeightmapRelief {
    /// Maximum number of chunks, [`HeightmapRelief::max_chunks`], that programs write of one file by
    /// default: they take minutes.
    pub const MAX_STREAMED_CHUNKS: u64 = 1 << 22;

    /// Returns the chunk columns [x, z], in chunks, in square pieces for [`HeightmapRelief::piece`],
    /// each small enough for memory. They are in Morton order, so that pieces that share coarse blocks
    /// are close in time.
    pub fn pieces(&self) -> Vec<Vec<[i32; 2]>> {
        let mut columns = self.chunk_columns();
        let order = |column: &[i32; 2]| {
            let [x, z] = column.map(|v| (i64::from(v) + (1 << 27)) as u64);
            let bit = |value: u64, bit: u32| (value >> bit) & 1;
            (0..28).fold(0, |sum, i| sum | (bit(x, i) << (2 * i)) | (bit(z, i) << (2 * i + 1)))
        };
        columns.sort_by_cached_key(order);
        let mut pieces = Vec::new();
        for square in in_squares(&columns, PIECE_COLUMNS) {
            add_pieces(self, square, PIECE_COLUMNS, &mut pieces);
        }
        pieces
    }

    /// Generates the chunk columns at [x, z], on all threads, into a grid with these materials; chunks of
    /// air are not in it. Deterministic.
    pub fn piece(&self, columns: &[[i32; 2]], materials: &MaterialTable) -> VoxelGrid {
        let chunks: Vec<Vec<ChunkCells>> =
            columns.par_iter().map(|&column| self.column(column)).collect();
        let materials = materials.clone();
        let mut grid = VoxelGrid::new(GridOptions { materials, ..GridOptions::default() });
        let mut uniform = DenseBox::default();
        for chunk in chunks.iter().flatten() {
            let result = grid.write(chunk.cells(&mut uniform));
            assert!(result.is_ok(), "whole chunks can always be written");
        }
        grid
    }
}

/// Splits columns in Morton order by squares of `edge`².
fn in_squares(columns: &[[i32; 2]], edge: i32) -> impl Iterator<Item = &[[i32; 2]]> {
    let square = move |column: &[i32; 2]| column.map(|v| v.div_euclid(edge));
    columns.chunk_by(move |a, b| square(a) == square(b))
}

/// Adds a square of `edge`² columns, in quarters as long as it holds too much.
fn add_pieces(
    relief: &HeightmapRelief,
    columns: &[[i32; 2]],
    edge: i32,
    pieces: &mut Vec<Vec<[i32; 2]>>,
) {
    let chunks = columns.len() as u64 * relief.layers();
    let mixed = || columns.iter().map(|&column| u64::from(relief.max_mixed_chunks(column)));
    if edge == 1 || (chunks <= PIECE_CHUNKS && mixed().sum::<u64>() <= PIECE_MIXED_CHUNKS) {
        return pieces.push(columns.to_vec());
    }
    for quarter in in_squares(columns, edge / 2) {
        add_pieces(relief, quarter, edge / 2, pieces);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::heightmap::{HeightmapOptions, Heights};

    #[test]
    fn pieces_cover_every_column_once() {
        let heights = Heights::new([40, 30], vec![0.5; 1200]).unwrap();
        let options = HeightmapOptions {
            voxels_per_sample: 32.0,
            origin: [-200, 70],
            ..HeightmapOptions::default()
        };
        let kinds = MaterialTable::default();
        let relief = HeightmapRelief::new(heights, options, kinds.kinds()).unwrap();
        let pieces = relief.pieces();
        let mut all = pieces.concat();
        all.sort_unstable();
        let mut columns = relief.chunk_columns();
        columns.sort_unstable();
        assert_eq!(all, columns);
        assert!(pieces.iter().all(|piece| piece.len() <= (PIECE_COLUMNS * PIECE_COLUMNS) as usize));
        assert!(pieces.len() <= 16, "{}", pieces.len());
        let (materials, mut grid) = (MaterialTable::default(), VoxelGrid::default());
        let chunks =
            pieces.iter().map(|piece| relief.piece(piece, &materials).as_snapshot().chunks().len());
        let columns = relief.chunk_columns();
        columns.iter().flat_map(|&column| relief.column(column)).for_each(|chunk| {
            grid.write(chunk.cells(&mut DenseBox::default())).unwrap();
        });
        assert_eq!(chunks.sum::<usize>(), grid.as_snapshot().chunks().len());
    }
}
