//! What rays travel through: the blocks of a world at one mip, meshed when first met.
//!
//! Chunks that can hold a surface are listed once, at the start; the cubes that hold
//! none of them, at every power-of-eight size above the chunk, are what a ray skips.

use super::block::{Block, BlockSurface, MeshScratch};
use super::occlusion::Bricks;
use super::shade::Open;
use glam::DVec3;
use rustc_hash::{FxHashMap, FxHashSet};
use std::sync::OnceLock;
use terravox::voxel::{AIR, ChunkPos, Kind, MAX_MIP, NotHeld, Region, Snapshot, VoxelPos};

/// Blocks along the edge of a chunk.
const BLOCKS: i32 = 4;

/// Most chunks of several materials that a picture takes at a mip of its own choice;
/// beyond, it takes a coarser one. A chunk costs up to 500 KB when all of it is met.
const MOST_MIXED_CHUNKS: usize = 4_000;

/// Coarsest mip that a picture takes by itself.
const COARSEST: u8 = 3;

/// Memory that one thread needs to send rays.
#[derive(Default)]
pub struct Scratch {
    pub(super) meshing: MeshScratch,
    pub(super) bricks: Bricks,
    pub(super) last_open: Option<Open>,
}

/// Blocks of a chunk, x fastest, then z, then y; each meshed once.
pub(super) struct ChunkBlocks([OnceLock<Option<Box<BlockSurface>>>; 64]);

/// A world at one mip, ready for rays. Positions are in cells of that mip.
pub struct Scene {
    pub(super) snapshot: Snapshot,
    pub(super) mip: u8,
    bounds: Region,
    chunks: FxHashMap<ChunkPos, Box<ChunkBlocks>>,
    /// For sizes of 8, 64, … chunks an edge: which cubes hold a chunk of `chunks`.
    cubes: Vec<FxHashSet<VoxelPos>>,
}

/// What a ray meets next on its way.
pub(super) enum Node<'a> {
    /// Nothing in the cube of this many cells (log2) around the block.
    Empty(u32),
    /// A block with a surface.
    Surface(&'a BlockSurface),
}

/// A chunk and its blocks.
pub(super) type LastChunk<'a> = (ChunkPos, &'a ChunkBlocks);

/// What a chunk is as a whole.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Class {
    Only(Kind),
    Mixed,
}

impl Scene {
    /// The world at mip `mip`, or at the finest one that keeps the memory bounded.
    ///
    /// # Errors
    /// [`NotHeld`] if a listed chunk is held at a coarser mip only.
    pub fn new(snapshot: Snapshot, mip: Option<u8>) -> Result<Scene, NotHeld> {
        let finest = classes(&snapshot)?;
        let mixed = |classes: &Classes| classes.values().filter(|&&c| c == Class::Mixed).count();
        let mut at = mip.unwrap_or(0);
        let mut classes = coarser_classes(&finest, at);
        while mip.is_none() && at < COARSEST && mixed(&classes) > MOST_MIXED_CHUNKS {
            at += 1;
            classes = coarser_classes(&finest, at);
        }
        let listed = surface_chunks(&classes);
        let empty = || Box::new(ChunkBlocks([const { OnceLock::new() }; 64]));
        Ok(Scene {
            snapshot,
            mip: at,
            bounds: listed.iter().fold(Region::default(), |all, c| all.union(c.region())),
            cubes: cubes_above(&listed),
            chunks: listed.into_iter().map(|chunk| (chunk, empty())).collect(),
        })
    }

    /// The mip that the picture shows.
    pub fn mip(&self) -> u8 {
        self.mip
    }

    /// The chunks that can hold a surface lie in here, cells.
    pub fn bounds(&self) -> Region {
        self.bounds
    }

    /// The kind of the cell at a point; air where nothing is held.
    pub fn kind_at(&self, point: DVec3) -> Kind {
        let pos = VoxelPos::from(point.floor().as_ivec3().to_array());
        let mut cells = terravox::voxel::DenseBox::default();
        match self.snapshot.read(Region::one(pos), self.mip, &mut cells) {
            Ok(()) => self.snapshot.materials().kind(cells.materials()[0]),
            Err(_) => Kind::Air,
        }
    }

    /// What there is at a block. `last` is the chunk that the ray was in; most blocks lie
    /// in the chunk of the block before.
    pub(super) fn node<'a>(
        &'a self,
        block: Block,
        last: &mut Option<LastChunk<'a>>,
        scratch: &mut Scratch,
    ) -> Node<'a> {
        let chunk = ChunkPos::new(block.x >> 2, block.y >> 2, block.z >> 2);
        let blocks = match last {
            Some((at, blocks)) if *at == chunk => blocks,
            _ => {
                let Some(blocks) = self.chunks.get(&chunk) else {
                    return Node::Empty(self.empty_around(chunk));
                };
                &mut last.insert((chunk, blocks)).1
            }
        };
        let local = |v: i32| v & (BLOCKS - 1);
        let index = local(block.x) + BLOCKS * (local(block.z) + BLOCKS * local(block.y));
        let surface = blocks.0[index as usize].get_or_init(|| {
            let mesh = BlockSurface::mesh(&self.snapshot, self.mip, block, &mut scratch.meshing);
            // What is held was checked for every chunk when the scene was made.
            mesh.unwrap_or(None)
        });
        surface.as_ref().map_or(Node::Empty(super::block::BLOCK_LOG2), |s| Node::Surface(s))
    }

    /// log2 of the edge of the largest empty cube around a chunk, cells.
    fn empty_around(&self, chunk: ChunkPos) -> u32 {
        let mut log2 = 5;
        for (level, cubes) in self.cubes.iter().enumerate() {
            let shift = 3 * (level as u32 + 1);
            if cubes.contains(&VoxelPos::new(chunk.x, chunk.y, chunk.z).coarser(shift)) {
                break;
            }
            log2 = 5 + shift;
        }
        log2
    }
}

/// What chunks are that are not all air, by position in chunks.
type Classes = FxHashMap<VoxelPos, Class>;

/// What each listed chunk is that is not all air.
fn classes(snapshot: &Snapshot) -> Result<Classes, NotHeld> {
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
fn coarser_classes(finest: &Classes, mip: u8) -> Classes {
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

/// Chunks that can hold a surface: mixed ones, and those beside one of another kind.
fn surface_chunks(classes: &Classes) -> Vec<ChunkPos> {
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

/// The cubes of 8, 64, … chunks an edge that hold a listed chunk, up to one that
/// holds them all.
fn cubes_above(listed: &[ChunkPos]) -> Vec<FxHashSet<VoxelPos>> {
    let mut levels: Vec<FxHashSet<VoxelPos>> = Vec::new();
    let mut below: FxHashSet<_> = listed.iter().map(|c| VoxelPos::new(c.x, c.y, c.z)).collect();
    while below.len() > 1 && levels.len() < 8 {
        below = below.iter().map(|p| p.coarser(3)).collect();
        levels.push(below.clone());
    }
    levels
}
