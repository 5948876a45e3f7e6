//! The name of a region file, the places of its chunks, and their bytes unpacked.

use super::error::{AnvilError, ChunkFault};
use crate::import_budget::ImportBudget;
use crate::inflate::{DeflateFormat, Inflater};
use std::path::Path;
use xxhash_rust::xxh32::xxh32;

/// Extension of region files.
pub(crate) const REGION_EXTENSION: &str = "mca";

/// Chunks along an edge of a region.
pub(super) const REGION_CHUNKS: usize = 32;
/// Bytes of a sector, the unit of places and lengths.
const SECTOR_BYTES: usize = 4096;
/// Sectors of the two tables at the start.
const TABLE_SECTORS: usize = 2;
/// Longest chunk, unpacked; those of real worlds have some 60 kB.
const MAX_CHUNK_BYTES: usize = 32 << 20;
/// Units of work of a byte that is unpacked, and then read.
const BYTE_WORK: u64 = 8;
/// Bytes unpacked at a time.
const STEP_BYTES: usize = 16 << 10;
/// Least memory for an unpacked chunk.
const LEAST_BYTES: usize = 64 << 10;
/// How a block of lz4-java begins.
const LZ4_MAGIC: &[u8] = b"LZ4Block";
/// Seed of the XXH32 of what a block unpacks to, of which lz4-java keeps the lowest 28 bits.
const LZ4_SEED: u32 = 0x9747_B28C;
const LZ4_CHECKSUM_BITS: u32 = (1 << 28) - 1;

/// The chunks of a file by place: x + 32 z. What follows the length of a chunk, or nothing.
pub(super) struct Region<'a> {
    pub chunks: Vec<&'a [u8]>,
}

impl<'a> Region<'a> {
    /// Reads the table of places. No two chunks share bytes, so the sum of their lengths is at most
    /// that of the file.
    pub fn read(file: &'a [u8], budget: &mut ImportBudget) -> Result<Region<'a>, AnvilError> {
        let wrong = |what: String| Err(AnvilError::Region { what });
        if file.len() < TABLE_SECTORS * SECTOR_BYTES {
            return wrong(format!("the file has {} bytes, and its tables take 8192", file.len()));
        }
        let sectors = file.len().div_ceil(SECTOR_BYTES);
        budget.spend_memory("its table", (sectors + 16 * REGION_CHUNKS * REGION_CHUNKS) as u64)?;
        budget.spend_work("its table", (sectors + 64 * REGION_CHUNKS * REGION_CHUNKS) as u64)?;
        let mut is_taken = vec![false; sectors];
        is_taken[..TABLE_SECTORS].fill(true);
        let (places, _) = file[..SECTOR_BYTES].as_chunks::<4>();
        let mut chunks = Vec::with_capacity(places.len());
        for (i, place) in places.iter().enumerate() {
            let [x, z] = [i % REGION_CHUNKS, i / REGION_CHUNKS];
            let place = u32::from_be_bytes(*place);
            let (first, count) = ((place >> 8) as usize, (place & 255) as usize);
            if place == 0 {
                chunks.push(&[][..]);
                continue;
            }
            // The last sector may be cut short.
            let Some(taken) = is_taken.get_mut(first..first + count).filter(|all| !all.is_empty())
            else {
                return wrong(format!(
                    "chunk {x}, {z} lies in {count} sectors from {first} on, but the file has {sectors}"
                ));
            };
            if taken.contains(&true) {
                return wrong(format!(
                    "chunk {x}, {z} shares sectors with the tables or another chunk"
                ));
            }
            taken.fill(true);
            let end = file.len().min((first + count) * SECTOR_BYTES);
            let bytes = &file[first * SECTOR_BYTES..end];
            let Some((length, bytes)) = bytes.split_first_chunk::<4>() else {
                return wrong(format!("chunk {x}, {z} has no length"));
            };
            let length = u32::from_be_bytes(*length);
            let Some(bytes) = bytes.get(..length as usize).filter(|bytes| !bytes.is_empty()) else {
                let room = bytes.len();
                return wrong(format!(
                    "chunk {x}, {z} claims {length} bytes, and has room for {room}"
                ));
            };
            chunks.push(bytes);
        }
        Ok(Region { chunks })
    }
}

/// x and z, in regions, of a file that has a name as the game gives it, `r.X.Z.mca`.
pub(crate) fn named_region(file: &Path) -> Option<[i32; 2]> {
    let name = file.file_name()?.to_str()?;
    let words: Vec<&str> = name.split('.').collect();
    let ["r", x, z, REGION_EXTENSION] = words[..] else { return None };
    let number = |word: &str| word.parse().ok().filter(|v: &i32| v.to_string() == word);
    Some([number(x)?, number(z)?])
}

/// Whether the bytes of a chunk are in a file of its own.
pub(super) fn is_elsewhere(chunk: &[u8]) -> bool {
    chunk.first().is_some_and(|kind| kind & 0x80 != 0)
}

/// Unpacks a chunk into `out`, whose memory is kept.
pub(super) fn unpack(
    chunk: &[u8],
    out: &mut Vec<u8>,
    budget: &mut ImportBudget,
) -> Result<(), ChunkFault> {
    out.clear();
    let Some((kind, packed)) = chunk.split_first() else {
        return ChunkFault::damaged("it has no bytes");
    };
    budget.spend_work("its chunks", BYTE_WORK * packed.len() as u64)?;
    match kind {
        1 => inflate(Inflater::new(packed, DeflateFormat::Gzip), out, budget),
        2 => inflate(Inflater::new(packed, DeflateFormat::Zlib), out, budget),
        3 => {
            make_room(out, packed.len(), budget)?;
            out.extend_from_slice(packed);
            Ok(())
        }
        4 => unpack_lz4(packed, out, budget),
        127 => ChunkFault::damaged("it is packed in a way that a plugin chose"),
        _ => ChunkFault::damaged(format!("it is packed in the unknown way {kind}")),
    }
}

fn inflate(
    mut from: Inflater<'_>,
    out: &mut Vec<u8>,
    budget: &mut ImportBudget,
) -> Result<(), ChunkFault> {
    let mut step = [0; STEP_BYTES];
    loop {
        match from.read(&mut step, budget)? {
            0 => return Ok(()),
            count => {
                make_room(out, count, budget)?;
                out.extend_from_slice(&step[..count]);
            }
        }
    }
}

/// Spends what more unpacked bytes cost, and makes room for them.
fn make_room(out: &mut Vec<u8>, count: usize, budget: &mut ImportBudget) -> Result<(), ChunkFault> {
    let wanted = out.len() + count;
    if wanted > MAX_CHUNK_BYTES {
        let most = MAX_CHUNK_BYTES >> 20;
        return ChunkFault::damaged(format!("it unpacks to more than {most} MiB"));
    }
    budget.spend_work("its chunks", BYTE_WORK * count as u64)?;
    if wanted > out.capacity() {
        let room = wanted.max(2 * out.capacity()).max(LEAST_BYTES);
        // The old bytes are still held while they are copied.
        budget.spend_memory("its chunks", room as u64)?;
        out.reserve_exact(room - out.len());
    }
    Ok(())
}

/// Blocks, each with a way of packing, two lengths and a checksum; the last is empty.
fn unpack_lz4(
    mut packed: &[u8],
    out: &mut Vec<u8>,
    budget: &mut ImportBudget,
) -> Result<(), ChunkFault> {
    loop {
        let head = packed.split_first_chunk::<21>().filter(|(head, _)| head.starts_with(LZ4_MAGIC));
        let Some((head, rest)) = head else {
            return ChunkFault::damaged("an LZ4 block does not begin as one");
        };
        let word =
            |at: usize| u32::from_le_bytes([head[at], head[at + 1], head[at + 2], head[at + 3]]);
        let (is_packed, taken, count) =
            (head[8] & 0xF0 == 0x20, word(9) as usize, word(13) as usize);
        if count == 0 {
            return Ok(());
        }
        let Some((block, after)) = rest.split_at_checked(taken) else {
            return ChunkFault::damaged("an LZ4 block is cut short");
        };
        packed = after;
        make_room(out, count.min(MAX_CHUNK_BYTES + 1), budget)?;
        let start = out.len();
        out.resize(start + count, 0);
        let unpacked = match is_packed {
            true => lz4_flex::block::decompress_into(block, &mut out[start..]).ok(),
            false => (block.len() == count).then(|| {
                out[start..].copy_from_slice(block);
                count
            }),
        };
        if unpacked != Some(count) {
            return ChunkFault::damaged("an LZ4 block cannot be unpacked");
        }
        if xxh32(&out[start..], LZ4_SEED) & LZ4_CHECKSUM_BITS != word(17) {
            return ChunkFault::damaged("the checksum of an LZ4 block is wrong");
        }
    }
}
