//! Which chunks of a world can hold a surface, at any mip, from a summary of each chunk.

use rustc_hash::{FxHashMap, FxHashSet};
use terravox::voxel::{AIR, ChunkPos, Kind, MAX_MIP, NotHeld, Region, Snapshot, VoxelPos};

/// Summary of a chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ChunkContent {
    /// Cells of one kind.
    Uniform(Kind),
    /// Cells of several materials.
    Mixed,
}

/// Contents of the chunks that are not all air, by position in chunks.
pub(crate) type ChunkContents = FxHashMap<VoxelPos, ChunkContent>;

/// Returns the contents of the listed chunks.
///
/// # Errors
/// [`NotHeld`] if a chunk is held at a coarser mip only.
pub(crate) fn chunk_contents(snapshot: &Snapshot) -> Result<ChunkContents, NotHeld> {
    let materials = snapshot.materials();
    let mut contents = FxHashMap::default();
    for chunk in snapshot.chunks() {
        let content = match snapshot.chunk(chunk)?.uniform_material() {
            Some(AIR) => continue,
            Some(material) => ChunkContent::Uniform(materials.kind(material)),
            None => ChunkContent::Mixed,
        };
        contents.insert(VoxelPos::new(chunk.x, chunk.y, chunk.z), content);
    }
    Ok(contents)
}

/// The chunks that one coarser chunk merges.
struct MergedChunks {
    content: ChunkContent,
    count: u64,
}

/// Returns the contents of the chunks of 32³ cells of mip `mip`.
///
/// # Panics
/// Panics if `mip` exceeds [`MAX_MIP`].
pub(crate) fn coarser_contents(finest: &ChunkContents, mip: u8) -> ChunkContents {
    assert!(mip <= MAX_MIP, "mip {mip}; the coarsest is {MAX_MIP}");
    let mut merged: FxHashMap<VoxelPos, MergedChunks> = FxHashMap::default();
    for (chunk, &content) in finest {
        let empty = MergedChunks { content, count: 0 };
        let entry = merged.entry(chunk.coarser(mip.into())).or_insert(empty);
        entry.count += 1;
        if entry.content != content {
            entry.content = ChunkContent::Mixed;
        }
    }
    // Chunks that are not listed are air.
    let capacity = 1_u64 << (3 * u32::from(mip));
    let content = |chunks: MergedChunks| {
        if chunks.count == capacity { chunks.content } else { ChunkContent::Mixed }
    };
    merged.into_iter().map(|(chunk, chunks)| (chunk, content(chunks))).collect()
}

/// Returns the number of mixed chunks.
pub(crate) fn count_mixed(contents: &ChunkContents) -> usize {
    contents.values().filter(|&&content| content == ChunkContent::Mixed).count()
}

/// Returns the chunks that can hold a surface: mixed ones, and neighbours of different content.
pub(crate) fn chunks_with_surface(contents: &ChunkContents) -> Vec<ChunkPos> {
    let neighbourhood = Region::new([-1; 3], [2; 3]);
    let content_at =
        |at: &VoxelPos| contents.get(at).copied().unwrap_or(ChunkContent::Uniform(Kind::Air));
    let mut chunks = FxHashSet::default();
    for (&chunk, &content) in contents {
        for neighbour in neighbourhood.voxels().map(|step| chunk + step) {
            if content == ChunkContent::Mixed || content_at(&neighbour) != content {
                chunks.insert(chunk);
                chunks.insert(neighbour);
            }
        }
    }
    chunks.into_iter().map(|p| ChunkPos::new(p.x, p.y, p.z)).collect()
}
