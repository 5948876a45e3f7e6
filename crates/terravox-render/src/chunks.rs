//! Which chunks of a world can show a surface, at any mip, from what each chunk is as a
//! whole.

use rustc_hash::{FxHashMap, FxHashSet};
use terravox::voxel::{AIR, ChunkPos, Kind, MAX_MIP, NotHeld, Region, Snapshot, VoxelPos};

/// What a chunk is as a whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// Of one kind.
    Only(Kind),
    /// Of several materials.
    Mixed,
}

/// What chunks are that are not all air, by position in chunks.
pub type Classes = FxHashMap<VoxelPos, Class>;

/// What each listed chunk is that is not all air.
///
/// # Errors
/// [`NotHeld`] if one is held at a coarser mip only.
pub fn classes(snapshot: &Snapshot) -> Result<Classes, NotHeld> {
    let materials = snapshot.materials();
    let mut classes = FxHashMap::default();
    for chunk in snapshot.chunks() {
        let class = match snapshot.chunk(chunk)?.uniform_material() {
            Some(AIR) => continue,
            Some(material) => Class::Only(materials.kind(material)),
            None => Class::Mixed,
        };
        classes.insert(VoxelPos::new(chunk.x, chunk.y, chunk.z), class);
    }
    Ok(classes)
}

/// The same for the chunks of 32³ cells of mip `mip`.
///
/// # Panics
/// If there is no such mip.
pub fn coarser(finest: &Classes, mip: u8) -> Classes {
    assert!(mip <= MAX_MIP, "mip {mip}; the coarsest is {MAX_MIP}");
    let mut merged: FxHashMap<VoxelPos, (Class, u64)> = FxHashMap::default();
    for (chunk, &class) in finest {
        let entry = merged.entry(chunk.coarser(mip.into())).or_insert((class, 0));
        entry.1 += 1;
        if entry.0 != class {
            entry.0 = Class::Mixed;
        }
    }
    // Where fewer are listed than there is room for, the rest is air.
    let room = 1_u64 << (3 * u32::from(mip));
    let class = |(class, count)| if count == room { class } else { Class::Mixed };
    merged.into_iter().map(|(chunk, entry)| (chunk, class(entry))).collect()
}

/// Chunks of several materials.
pub fn mixed(classes: &Classes) -> usize {
    classes.values().filter(|&&class| class == Class::Mixed).count()
}

/// Chunks that can hold a surface: mixed ones, and those beside one of another kind.
pub fn with_surface(classes: &Classes) -> Vec<ChunkPos> {
    let around = Region::new([-1; 3], [2; 3]);
    let class_at = |at: &VoxelPos| classes.get(at).copied().unwrap_or(Class::Only(Kind::Air));
    let mut found = FxHashSet::default();
    for (&chunk, &class) in classes {
        for neighbour in around.voxels().map(|step| chunk + step) {
            if class == Class::Mixed || class_at(&neighbour) != class {
                found.insert(chunk);
                found.insert(neighbour);
            }
        }
    }
    found.into_iter().map(|p| ChunkPos::new(p.x, p.y, p.z)).collect()
}
