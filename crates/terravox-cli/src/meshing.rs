//! Meshes a world tile by tile on all threads, with optional simplification.

use rayon::prelude::*;
use std::collections::BTreeSet;
use terravox::mesh::{BlockMesh, Mesher, PAD, Shores};
use terravox::simplify::{Simplifier, SimplifyOptions, join_blocks};
use terravox::voxel::{AIR, ChunkPos, DenseBox, Kind, NotHeld, Region, Snapshot, VoxelPos};
use terravox_io::tiles::{Tile, group_into_tiles};

/// Chunks along the edge of a tile.
const TILE_CHUNKS: u16 = 4;

/// Chunks along the edge of a simplified tile. Borders keep their triangles, which favours large
/// tiles, but larger ones exceed the processor's caches.
const SIMPLIFIED_TILE_CHUNKS: u16 = 3;

/// Tiles per thread in a batch that is meshed before it is written: enough to balance the
/// threads, few enough that the triangles of a large world need not fit in memory.
const TILES_PER_THREAD: usize = 16;

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
/// Items are [`NotHeld`] if the world does not hold a needed cell.
pub fn mesh_tiles<'a>(
    snapshot: &'a Snapshot,
    tiles: &'a [Tile],
    options: TileMeshOptions,
    step: &'a (dyn Fn() + Sync),
) -> impl Iterator<Item = Result<MeshedTile, NotHeld>> + 'a {
    let mesh = move |simplifier: &mut Simplifier, tile: &Tile| {
        let mut meshes = mesh_tile(snapshot, tile, options.mip)?;
        if options.is_liquid_only {
            meshes.iter_mut().for_each(|mesh| mesh.solid.clear());
        }
        let meshes = simplify(meshes, options.simplify, simplifier);
        step();
        Ok(MeshedTile { name: tile.name(), meshes })
    };
    let batch_tiles = TILES_PER_THREAD * rayon::current_num_threads();
    tiles.chunks(batch_tiles).flat_map(move |tiles| {
        let meshed = tiles.par_iter().with_max_len(2).map_init(Simplifier::new, mesh);
        meshed.collect::<Vec<_>>()
    })
}

/// Meshes a tile, chunk by chunk, on all threads; chunks without a surface are left out.
///
/// # Errors
/// [`NotHeld`] if the world does not hold a needed cell.
pub fn mesh_tile(snapshot: &Snapshot, tile: &Tile, mip: u8) -> Result<Vec<BlockMesh>, NotHeld> {
    let mesh = |scratch: &mut Scratch, &chunk: &ChunkPos| {
        if mip == 0 && is_inside(snapshot, chunk) {
            return Ok(None);
        }
        let Scratch { mesher, shores, cells } = scratch;
        shores.read(snapshot, chunk.region().grow(PAD), mip, cells)?;
        let mut mesh = BlockMesh::new();
        mesher.mesh(cells, snapshot.materials(), &mut mesh);
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
