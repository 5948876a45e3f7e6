//! Meshes a world tile by tile on all threads, with optional simplification.

use rayon::prelude::*;
use std::collections::BTreeSet;
use std::fmt;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use terravox::mesh::{BlockMesh, Mesher, PAD, Shores};
use terravox::simplify::{Simplifier, SimplifyOptions, join_blocks};
use terravox::voxel::{AIR, ChunkPos, DenseBox, Kind, NotHeld, Region, Snapshot, VoxelPos};
use terravox_io::tiles::{Tile, group_into_tiles};
use terravox_io::{ExportLimit, ExportTooLarge};

/// Chunks along the edge of a tile.
const TILE_CHUNKS: u16 = 4;

/// Chunks along the edge of a simplified tile. Borders keep their triangles, which favours large
/// tiles, but larger ones exceed the processor's caches.
const SIMPLIFIED_TILE_CHUNKS: u16 = 3;

/// Tiles per thread in a batch that is meshed before it is written: few enough that the triangles of a
/// large world need not fit in memory. The chunks of a tile balance the threads.
const TILES_PER_THREAD: usize = 2;

/// Tiles per thread if they are simplified, each on one thread: enough to balance them.
const SIMPLIFIED_TILES_PER_THREAD: usize = 16;

/// The meshes of a tile.
pub struct MeshedTile {
    /// Name of the tile.
    pub name: String,
    /// One mesh per block with a surface; a single mesh if simplified.
    pub meshes: Vec<BlockMesh>,
}

/// Options of [`mesh_tiles`].
#[derive(Clone, Copy, Debug, Default)]
pub struct TileMeshOptions {
    /// Mesh cells of 2^mip voxels.
    pub mip: u8,
    /// Tolerance of simplification, cells; `None` keeps all triangles.
    pub simplify: Option<f32>,
    /// Whether to leave out solid surfaces.
    pub is_liquid_only: bool,
    /// What the meshes of some tiles may take, which are held at a time.
    pub limit: ExportLimit,
}

/// Why tiles cannot be meshed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MeshTilesError {
    /// The world does not hold a needed cell.
    NotHeld(NotHeld),
    /// The meshes of some tiles would take more memory than is allowed.
    TooLarge(ExportTooLarge),
}

impl fmt::Display for MeshTilesError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            MeshTilesError::NotHeld(error) => error.fmt(f),
            MeshTilesError::TooLarge(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for MeshTilesError {}

impl From<NotHeld> for MeshTilesError {
    fn from(error: NotHeld) -> MeshTilesError {
        MeshTilesError::NotHeld(error)
    }
}

/// What the tiles of a batch take so far.
struct BatchMemory {
    limit: ExportLimit,
    blocks: usize,
    done: AtomicUsize,
    bytes: AtomicU64,
}

impl BatchMemory {
    fn of(tiles: &[Tile], limit: ExportLimit) -> BatchMemory {
        let blocks = tiles.iter().map(|tile| tile.chunks.len()).sum();
        BatchMemory { limit, blocks, done: AtomicUsize::new(0), bytes: AtomicU64::new(0) }
    }

    /// Adds the mesh of a block.
    fn add(&self, mesh: &BlockMesh) -> Result<(), MeshTilesError> {
        let done = self.done.fetch_add(1, Ordering::Relaxed) + 1;
        let more = mesh.heap_bytes() as u64;
        let bytes = self.bytes.fetch_add(more, Ordering::Relaxed) + more;
        let checked = self.limit.check("the triangles of some tiles", bytes, [done, self.blocks]);
        checked.map_err(MeshTilesError::TooLarge)
    }

    /// Replaces meshes by what they were simplified to.
    fn replace(&self, before: u64, after: &[BlockMesh]) {
        let after = heap_bytes(after);
        self.bytes.fetch_sub(before.saturating_sub(after), Ordering::Relaxed);
    }
}

fn heap_bytes(meshes: &[BlockMesh]) -> u64 {
    meshes.iter().map(BlockMesh::heap_bytes).sum::<usize>() as u64
}

/// Scratch memory of one thread.
#[derive(Default)]
struct Scratch {
    mesher: Mesher,
    shores: Shores,
    cells: DenseBox,
}

/// Meshes tiles on all threads as the iterator advances; returns them in order. The result does not
/// depend on the number of threads. Calls `step` after each tile, on any thread.
///
/// Items are errors if the world does not hold a needed cell, or the tiles that are held at a time take
/// more memory than is allowed.
pub fn mesh_tiles<'a>(
    snapshot: &'a Snapshot,
    tiles: &'a [Tile],
    options: TileMeshOptions,
    step: &'a (dyn Fn() + Sync),
) -> impl Iterator<Item = Result<MeshedTile, MeshTilesError>> + 'a {
    let mesh = move |memory: &BatchMemory, simplifier: &mut Simplifier, tile: &Tile| {
        let mut meshes = mesh_blocks(snapshot, tile, options.mip, &|mesh| memory.add(mesh))?;
        if options.is_liquid_only {
            meshes.iter_mut().for_each(|mesh| mesh.solid.clear());
        }
        let before = heap_bytes(&meshes);
        let meshes = simplify(meshes, options.simplify, simplifier);
        memory.replace(before, &meshes);
        step();
        Ok(MeshedTile { name: tile.name(), meshes })
    };
    let per_thread = match options.simplify {
        Some(_) => SIMPLIFIED_TILES_PER_THREAD,
        None => TILES_PER_THREAD,
    };
    tiles.chunks(per_thread * rayon::current_num_threads()).flat_map(move |tiles| {
        let memory = BatchMemory::of(tiles, options.limit);
        let of_tile = |simplifier: &mut Simplifier, tile: &Tile| mesh(&memory, simplifier, tile);
        let meshed = tiles.par_iter().with_max_len(2).map_init(Simplifier::new, of_tile);
        meshed.collect::<Vec<_>>()
    })
}

/// Meshes a tile, chunk by chunk, on all threads; chunks without a surface are left out.
///
/// # Errors
/// [`NotHeld`] if the world does not hold a needed cell.
pub fn mesh_tile(snapshot: &Snapshot, tile: &Tile, mip: u8) -> Result<Vec<BlockMesh>, NotHeld> {
    mesh_blocks(snapshot, tile, mip, &|_| Ok(()))
}

/// Calls `check` with each mesh; its first error ends the meshing.
fn mesh_blocks<E: From<NotHeld> + Send>(
    snapshot: &Snapshot,
    tile: &Tile,
    mip: u8,
    check: &(dyn Fn(&BlockMesh) -> Result<(), E> + Sync),
) -> Result<Vec<BlockMesh>, E> {
    let mesh = |scratch: &mut Scratch, &chunk: &ChunkPos| {
        if mip == 0 && is_inside(snapshot, chunk) {
            check(&BlockMesh::new())?;
            return Ok(None);
        }
        let Scratch { mesher, shores, cells } = scratch;
        shores.read(snapshot, chunk.region().grow(PAD), mip, cells)?;
        let mut mesh = BlockMesh::new();
        mesher.mesh(cells, snapshot.materials(), &mut mesh);
        check(&mesh)?;
        Ok((!mesh.solid.is_empty() || !mesh.liquid.is_empty()).then_some(mesh))
    };
    let meshes = tile.chunks.par_iter().map_init(Scratch::default, mesh);
    meshes.filter_map(Result::transpose).collect()
}

/// Returns whether a chunk and its neighbours are of one kind, so that it has no surface.
fn is_inside(snapshot: &Snapshot, chunk: ChunkPos) -> bool {
    let neighbourhood = Region::new([-1; 3], [2; 3]);
    let mut kinds = neighbourhood.voxels().map(|step| -> Option<Kind> {
        let at = ChunkPos::new(chunk.x + step.x, chunk.y + step.y, chunk.z + step.z);
        let material = snapshot.chunk(at).ok()?.uniform_material()?;
        Some(snapshot.materials().kind(material))
    });
    let first = kinds.next().flatten();
    first.is_some() && kinds.all(|kind| kind == first)
}

/// Returns the tiles of a world.
pub fn tiles_of(snapshot: &Snapshot, options: TileMeshOptions) -> Vec<Tile> {
    let mip = options.mip;
    let not_air = |chunk: &ChunkPos| {
        snapshot.chunk(*chunk).map_or(true, |view| view.uniform_material() != Some(AIR))
    };
    let chunks = snapshot.chunks().into_iter().filter(not_air);
    let coarser = chunks.map(|c| VoxelPos::new(c.x, c.y, c.z).coarser(mip.into()));
    let coarser: BTreeSet<VoxelPos> = coarser.collect();
    let chunks: Vec<_> = coarser.iter().map(|p| ChunkPos::new(p.x, p.y, p.z)).collect();
    group_into_tiles(
        &chunks,
        if options.simplify.is_some() { SIMPLIFIED_TILE_CHUNKS } else { TILE_CHUNKS },
    )
}

/// Joins touching meshes and simplifies them, staying within `error` cells of the original;
/// without an `error`, returns them unchanged.
pub fn simplify(
    meshes: Vec<BlockMesh>,
    error: Option<f32>,
    simplifier: &mut Simplifier,
) -> Vec<BlockMesh> {
    let regions = meshes.iter().map(|mesh| mesh.block);
    let (Some(error), Some(all)) = (error, regions.reduce(Region::union)) else { return meshes };
    let one = join_blocks(all, &meshes.iter().collect::<Vec<_>>());
    vec![simplifier.simplify_block(&one, SimplifyOptions::within(error))]
}
