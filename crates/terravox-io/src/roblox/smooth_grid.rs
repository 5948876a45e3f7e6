//! SmoothGrid, the value that holds a place's terrain: consecutive chunks of run-length encoded
//! cells.
//!
//! ```text
//! 01 05                      version, log2 of the chunk edge
//! then each chunk:
//!   12 bytes                 position minus that of the previous chunk (of the first: minus
//!                            0, 0, 0); three i32, big-endian, their bytes interleaved:
//!                            x3 y3 z3 x2 y2 z2 x1 y1 z1 x0 y0 z0
//!   runs                     until 32³ cells are complete (`terravox::codec`, narrow)
//! ```
//!
//! Source: our reading of real files; rbx-dom's draft `docs/smooth-grid.md` gives the
//! same layout.

use super::error::{FilePart, RobloxError};
use super::limits::MAX_CHUNK_COORDINATE;
use crate::cell_cost::{self, CoarseBlocks};
use crate::import_budget::{BudgetError, ImportBudget};
use std::collections::HashSet;
use terravox::codec::{Dialect, Rle};
use terravox::voxel::{ChunkPos, DenseBox, Kind};

/// Edge of a voxel in studs, Roblox's unit of length.
pub const STUDS_PER_VOXEL: f32 = 4.0;

/// Edge of a voxel in metres: a stud has 28 cm.
pub const VOXEL_M: f64 = STUDS_PER_VOXEL as f64 * 0.28;

const VERSION: u8 = 1;
const CHUNK_LOG2: u8 = 5;
const HEADER_BYTES: usize = 2;
const POSITION_BYTES: usize = 12;

/// Memory of a chunk: its entries in the lists of chunks.
const LISTED_CHUNK_BYTES: u64 = 128;

/// Memory of a grid's page of 8³ chunks, with its mips.
const PAGE_BYTES: u64 = 2048;

/// Reads the chunks of a SmoothGrid one by one, in the order of the file.
pub struct SmoothGridReader<'a> {
    blob: &'a [u8],
    /// Offset of the next chunk.
    offset: usize,
    rle: Rle<'a>,
    /// Position of the previous chunk.
    previous: [i64; 3],
    /// Chunks read so far. Positions come from the file, so the hash is keyed.
    chunks: HashSet<ChunkPos>,
    /// What lies over them, pages among it.
    coarse: CoarseBlocks,
}

impl<'a> SmoothGridReader<'a> {
    /// Starts reading `blob`. An empty `blob` is an empty grid, as in a Terrain that was never
    /// edited. `kinds` are those of the world's materials; they tell which can hold water.
    ///
    /// # Errors
    /// If the version or the chunk edge is unknown.
    pub fn new(
        blob: &'a [u8],
        kinds: &'a [Kind; 256],
    ) -> Result<SmoothGridReader<'a>, RobloxError> {
        let offset = match *blob {
            [] => 0,
            [VERSION, CHUNK_LOG2, ..] => HEADER_BYTES,
            [VERSION, log2, ..] => return Err(RobloxError::ChunkEdge { log2 }),
            [VERSION] => {
                return Err(RobloxError::damaged(
                    FilePart::SmoothGrid,
                    1,
                    "the header is cut short",
                ));
            }
            [found, ..] => {
                return Err(RobloxError::Version {
                    part: FilePart::SmoothGrid,
                    offset: 0,
                    found: found.to_string(),
                    known: VERSION.into(),
                });
            }
        };
        Ok(SmoothGridReader {
            blob,
            offset,
            rle: Rle::narrow(kinds),
            previous: [0; 3],
            chunks: HashSet::new(),
            coarse: CoarseBlocks::default(),
        })
    }

    /// Returns the number of bytes read so far, of [`Self::bytes`].
    pub fn position(&self) -> usize {
        self.offset
    }

    /// Returns the length of the whole value, bytes.
    pub fn bytes(&self) -> usize {
        self.blob.len()
    }

    /// Reads the next chunk into `cells`, resized to its 32³ voxels, and returns its position;
    /// `None` at the end. Spends the memory that the chunk takes in a grid, the work of decoding
    /// and writing it, and what the coarse blocks over it cost in a world file.
    ///
    /// # Errors
    /// If the bytes are not a valid chunk, or the chunk is listed twice, beyond Roblox's limits or
    /// exceeds the budget. Discard the reader after an error.
    pub fn next_chunk(
        &mut self,
        cells: &mut DenseBox,
        budget: &mut ImportBudget,
    ) -> Result<Option<ChunkPos>, RobloxError> {
        if self.offset == self.blob.len() {
            return Ok(None);
        }
        let start = self.offset;
        let over_budget =
            |error| RobloxError::OverBudget { part: FilePart::SmoothGrid, offset: start, error };
        let chunk = self.read_position()?;
        self.add_chunk(chunk, start)?;
        self.spend_chunk(chunk, budget).map_err(over_budget)?;
        size_to_chunk(cells, chunk);
        let read = self.rle.decode_box(&self.blob[self.offset..], cells).map_err(|mut error| {
            error.offset += self.offset;
            RobloxError::Cells { chunk, error }
        })?;
        cell_cost::spend_cells(cells, read, budget).map_err(over_budget)?;
        self.offset += read;
        Ok(Some(chunk))
    }

    /// Spends what a chunk costs whatever its cells are.
    fn spend_chunk(
        &mut self,
        chunk: ChunkPos,
        budget: &mut ImportBudget,
    ) -> Result<(), BudgetError> {
        let new = self.coarse.add(chunk);
        let page_bytes = if CoarseBlocks::has_page(new) { PAGE_BYTES } else { 0 };
        budget.spend_memory("its chunks", LISTED_CHUNK_BYTES + page_bytes)?;
        budget.spend_work("its chunks", cell_cost::CHUNK_WORK)?;
        cell_cost::spend_coarse_blocks(new, budget)
    }

    fn read_position(&mut self) -> Result<ChunkPos, RobloxError> {
        let Some(bytes) = self.blob[self.offset..].first_chunk::<POSITION_BYTES>() else {
            let what = "a chunk position is cut short";
            return Err(RobloxError::damaged(FilePart::SmoothGrid, self.offset, what));
        };
        for axis in 0..3 {
            let delta = [bytes[axis], bytes[axis + 3], bytes[axis + 6], bytes[axis + 9]];
            self.previous[axis] += i64::from(i32::from_be_bytes(delta));
        }
        if !within_roblox(self.previous) {
            return Err(RobloxError::BeyondLimits { chunk: self.previous });
        }
        self.offset += POSITION_BYTES;
        let [x, y, z] = self.previous.map(|v| v as i32);
        Ok(ChunkPos::new(x, y, z))
    }

    /// Counts a chunk; refuses duplicates.
    fn add_chunk(&mut self, chunk: ChunkPos, offset: usize) -> Result<(), RobloxError> {
        match self.chunks.insert(chunk) {
            true => Ok(()),
            false => Err(RobloxError::DuplicateChunk { chunk, offset }),
        }
    }
}

fn within_roblox(chunk: [i64; 3]) -> bool {
    chunk.iter().all(|v| v.abs() <= i64::from(MAX_CHUNK_COORDINATE))
}

/// Resizes `cells` to the box of `chunk`; its cells are unspecified.
fn size_to_chunk(cells: &mut DenseBox, chunk: ChunkPos) {
    if cells.region().size() == [32; 3] {
        cells.move_to(chunk.min_voxel());
    } else {
        cells.reset(chunk.region());
    }
}

/// Writes a SmoothGrid chunk by chunk. The bytes equal those of a file that Roblox wrote if the
/// chunks are pushed in the same order.
pub struct SmoothGridWriter<'a> {
    blob: Vec<u8>,
    rle: Rle<'a>,
    /// Position of the previous chunk.
    previous: ChunkPos,
}

impl<'a> SmoothGridWriter<'a> {
    /// Starts an empty value. `kinds` are those of the world's materials; they tell which can hold
    /// water.
    pub fn new(kinds: &'a [Kind; 256]) -> SmoothGridWriter<'a> {
        let rle = Rle::narrow(kinds);
        SmoothGridWriter { blob: vec![VERSION, CHUNK_LOG2], rle, previous: ChunkPos::default() }
    }

    /// Appends the chunk of 32³ cells in `cells`. Push chunks in ascending x, y, z order, or in the
    /// order of the file that they come from.
    ///
    /// # Errors
    /// If the chunk is beyond Roblox's limits or holds a material above 63.
    ///
    /// # Panics
    /// If `cells` does not have the region of a chunk.
    pub fn push(&mut self, cells: &DenseBox) -> Result<(), RobloxError> {
        let chunk = cells.region().min.chunk();
        assert_eq!(cells.region(), chunk.region(), "not the box of a chunk");
        let position = [chunk.x, chunk.y, chunk.z].map(i64::from);
        if !within_roblox(position) {
            return Err(RobloxError::BeyondLimits { chunk: position });
        }
        let material = cells.materials().iter().fold(0, |top, &m| top.max(m));
        if material > Dialect::Narrow.max_material() {
            return Err(RobloxError::Material { chunk, material });
        }
        let previous = [self.previous.x, self.previous.y, self.previous.z].map(i64::from);
        let delta: [_; 3] =
            std::array::from_fn(|axis| ((position[axis] - previous[axis]) as i32).to_be_bytes());
        for byte in 0..4 {
            self.blob.extend(delta.map(|axis| axis[byte]));
        }
        self.previous = chunk;
        self.rle.encode_box(cells, &mut self.blob);
        Ok(())
    }

    /// Returns the encoded value.
    pub fn finish(self) -> Vec<u8> {
        self.blob
    }
}

/// Returns whether a value holds chunks: whether it is longer than its header.
pub(super) fn has_chunks(blob: &[u8]) -> bool {
    blob.len() > HEADER_BYTES
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::import_budget::ImportLimits;
    use terravox::codec::DecodeErrorKind;
    use terravox::voxel::{Cell, MaterialTable, VoxelPos};

    fn read_all(blob: &[u8]) -> Result<Vec<DenseBox>, RobloxError> {
        read_within(blob, &mut ImportBudget::for_input(blob.len()))
    }

    fn read_within(blob: &[u8], budget: &mut ImportBudget) -> Result<Vec<DenseBox>, RobloxError> {
        let table = MaterialTable::default();
        let mut reader = SmoothGridReader::new(blob, table.kinds())?;
        let (mut cells, mut chunks) = (DenseBox::default(), Vec::new());
        while let Some(chunk) = reader.next_chunk(&mut cells, budget)? {
            assert_eq!(cells.region(), chunk.region());
            chunks.push(cells.clone());
        }
        assert_eq!(reader.position(), reader.bytes());
        Ok(chunks)
    }

    fn write_all(chunks: &[DenseBox]) -> Vec<u8> {
        let table = MaterialTable::default();
        let mut writer = SmoothGridWriter::new(table.kinds());
        for cells in chunks {
            writer.push(cells).unwrap();
        }
        writer.finish()
    }

    /// Fewest bytes that a chunk takes: its position and 128 runs of two bytes.
    const CHUNK_BYTES: usize = 12 + 256;

    fn air_chunk(x: i32, y: i32, z: i32) -> DenseBox {
        DenseBox::new(ChunkPos::new(x, y, z).region())
    }

    /// Two chunks by hand: (-1, 0, 2) of grass with one shoreline cell, then (-1, 1, 2)
    /// of air.
    fn golden() -> Vec<u8> {
        let mut bytes = vec![1, 5];
        bytes.extend([255, 0, 0, 255, 0, 0, 255, 0, 0, 255, 0, 2]);
        bytes.extend([0xC2, 100, 0, 200]);
        bytes.extend([0x82, 255].repeat(127));
        bytes.extend([0x82, 254]);
        bytes.extend([0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0]);
        bytes.extend([0x80, 255].repeat(128));
        bytes
    }

    #[test]
    fn a_blob_written_by_hand_decodes_and_encodes_to_the_same_bytes() {
        let chunks = read_all(&golden()).unwrap();
        let [grass, air] = &chunks[..] else { panic!("two chunks") };
        assert_eq!(grass.region().min, VoxelPos::new(-32, 0, 64));
        assert_eq!(grass.cell(grass.region().min), Cell::new(2, 100));
        assert_eq!(grass.water(), &[(0, 200)]);
        assert_eq!(grass.cell(VoxelPos::new(-1, 31, 95)), Cell::full(2));
        assert_eq!(air, &air_chunk(-1, 1, 2));
        assert_eq!(write_all(&chunks), golden());
    }

    #[test]
    fn empty_grids_have_no_chunks() {
        assert_eq!(read_all(&[]), Ok(vec![]));
        assert_eq!(read_all(&[1, 5]), Ok(vec![]));
        assert_eq!(write_all(&[]), [1, 5]);
    }

    #[test]
    fn wrong_headers_are_named() {
        let error = |bytes: &[u8]| read_all(bytes).unwrap_err().to_string();
        assert!(error(&[2, 5]).contains("byte 0: version 2, but only version 1"));
        assert!(error(&[1, 4]).contains("2^4 voxels"));
        assert!(error(&[1]).contains("cut short"));
    }

    #[test]
    fn every_truncation_is_an_error_with_an_offset() {
        let bytes = golden();
        let whole_first = 2 + 12 + 4 + 256;
        for end in 3..bytes.len() {
            let result = read_all(&bytes[..end]);
            if end == whole_first {
                assert_eq!(result.unwrap().len(), 1);
                continue;
            }
            match result.unwrap_err() {
                RobloxError::Damaged { offset, .. } => assert!(offset <= end),
                RobloxError::Cells { error, .. } => {
                    assert!(error.offset <= end);
                    assert!(matches!(error.kind, DecodeErrorKind::Truncated { .. }));
                }
                other => panic!("{other}"),
            }
        }
    }

    #[test]
    fn a_chunk_listed_twice_is_refused() {
        let bytes = write_all(&[air_chunk(1, 2, 3), air_chunk(0, 0, 0), air_chunk(1, 2, 3)]);
        let error = read_all(&bytes).unwrap_err();
        let chunk = ChunkPos::new(1, 2, 3);
        assert_eq!(error, RobloxError::DuplicateChunk { chunk, offset: 2 + 2 * CHUNK_BYTES });
    }

    #[test]
    fn chunks_beyond_the_limits_are_refused_both_ways() {
        let far = air_chunk(0, MAX_CHUNK_COORDINATE, -MAX_CHUNK_COORDINATE);
        assert_eq!(read_all(&write_all(std::slice::from_ref(&far))), Ok(vec![far]));
        let mut bytes = write_all(&[
            air_chunk(MAX_CHUNK_COORDINATE, 0, 0),
            air_chunk(MAX_CHUNK_COORDINATE, 0, 1),
        ]);
        bytes[2 + CHUNK_BYTES + 9] = 1;
        let error = read_all(&bytes).unwrap_err();
        assert_eq!(
            error,
            RobloxError::BeyondLimits { chunk: [i64::from(MAX_CHUNK_COORDINATE) + 1, 0, 1] }
        );
        let table = MaterialTable::default();
        let mut writer = SmoothGridWriter::new(table.kinds());
        let error = writer.push(&air_chunk(0, 0, -MAX_CHUNK_COORDINATE - 1)).unwrap_err();
        assert!(error.to_string().contains("(0, 0, -262145) lies beyond the limit"));
        let mut cells = air_chunk(0, 0, 0);
        cells.fill(64);
        assert!(writer.push(&cells).unwrap_err().to_string().contains("material 64"));
    }

    #[test]
    fn the_budget_bounds_chunks_and_mixed_rows() {
        let limits = |memory_bytes, work| ImportLimits { memory_bytes, work, depth: 0 };
        let error = |blob: &[u8], limits| {
            read_within(blob, &mut ImportBudget::new(limits)).unwrap_err().to_string()
        };
        let far = write_all(&[air_chunk(0, 0, 0), air_chunk(0, 0, 1), air_chunk(0, 0, 8)]);
        let over_one = 8 * cell_cost::COARSE_BLOCK_BYTES;
        let one_page = PAGE_BYTES + 2 * LISTED_CHUNK_BYTES + over_one;
        let words = error(&far, limits(one_page, u64::MAX));
        assert!(words.starts_with("SmoothGrid, byte 538: its chunks: 5.5 kB of memory"), "{words}");
        assert!(read_within(&far, &mut ImportBudget::new(limits(6000, u64::MAX))).is_ok());
        let words = error(&far, limits(6000, 2 * cell_cost::CHUNK_WORK));
        assert!(words.contains("million units of work"), "{words}");
        // The first has one mixed row.
        let words = error(&golden(), limits(one_page - LISTED_CHUNK_BYTES, u64::MAX));
        assert!(words.contains("byte 2: its cells"), "{words}");
        let mut budget = ImportBudget::new(limits(one_page + 200, u64::MAX));
        assert!(read_within(&golden(), &mut budget).is_ok());
        assert!(budget.spent().memory_bytes > one_page);
    }

    #[test]
    fn flipped_bits_never_panic() {
        let bytes = golden();
        for bit in 0..bytes.len() * 8 {
            let mut flipped = bytes.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            if let Ok(chunks) = read_all(&flipped) {
                let again = write_all(&chunks);
                assert_eq!(read_all(&again), Ok(chunks));
            }
        }
    }
}
