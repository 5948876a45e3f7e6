//! The surface of a world as a file of triangles, tile by tile.

use crate::args::{Triangles, Up};
use crate::console::Console;
use crate::failure::{Failure, Outcome};
use crate::output::{Output, write_file};
use crate::world::{World, extension};
use rayon::prelude::*;
use std::collections::BTreeSet;
use std::path::Path;
use terravox::lod::{Simplifier, Simplify, joined};
use terravox::mesh::{BlockMesh, Mesher, PAD, Shores};
use terravox::voxel::{AIR, ChunkPos, DenseBox, Kind, NotHeld, Region, Snapshot, VoxelPos};
use terravox_io::gltf::{GlbOptions, GlbWriter};
use terravox_io::obj::{self, ObjOptions, ObjWriter};
use terravox_io::tiles::{Frame, Tile, tiles};

/// Chunks along the edge of a tile.
const TILE_EDGE: u16 = 4;

/// What a file of triangles holds.
#[derive(Clone, Copy, Debug, Default)]
pub struct Written {
    /// Objects in the file.
    pub tiles: u64,
    /// Vertices.
    pub vertices: u64,
    /// Triangles.
    pub triangles: u64,
    /// Length of the file, bytes.
    pub file_bytes: u64,
}

/// Memory of one meshing thread.
#[derive(Default)]
struct Scratch {
    mesher: Mesher,
    shores: Shores,
    cells: DenseBox,
}

/// Meshes a tile, chunk by chunk, on all threads; what has no surface is left out.
///
/// # Errors
/// [`NotHeld`] if the world does not hold a cell that is needed.
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

/// Whether a chunk and all around it are of one kind, so that no face is there.
fn is_inside(snapshot: &Snapshot, chunk: ChunkPos) -> bool {
    let around = Region::new([-1; 3], [2; 3]);
    let mut kinds = around.voxels().map(|step| -> Option<Kind> {
        let at = ChunkPos::new(chunk.x + step.x, chunk.y + step.y, chunk.z + step.z);
        let material = snapshot.chunk(at).ok()?.uniform_material()?;
        Some(snapshot.materials().kind(material))
    });
    let first = kinds.next().flatten();
    first.is_some() && kinds.all(|kind| kind == first)
}

/// The tiles of a world at a mip.
pub fn tiles_of(snapshot: &Snapshot, mip: u8) -> Vec<Tile> {
    let not_air = |chunk: &ChunkPos| {
        snapshot.chunk(*chunk).map_or(true, |view| view.uniform_material() != Some(AIR))
    };
    let chunks = snapshot.chunks().into_iter().filter(not_air);
    let coarser = chunks.map(|c| VoxelPos::new(c.x, c.y, c.z).coarser(mip.into()));
    let coarser: BTreeSet<VoxelPos> = coarser.collect();
    let chunks: Vec<_> = coarser.iter().map(|p| ChunkPos::new(p.x, p.y, p.z)).collect();
    tiles(&chunks, TILE_EDGE)
}

/// Refuses a name whose extension is not that of triangles.
///
/// # Errors
/// If it is not `.glb` or `.obj`, or the options do not suit it.
pub fn check_triangles_path(path: &Path, options: &Triangles) -> Outcome<()> {
    match extension(path).as_str() {
        "glb" if options.up == Up::Z => {
            Err(Failure::of(path, "glTF is always y up; leave --up out or write an .obj"))
        }
        "obj" if options.materials => {
            Err(Failure::of(path, "an .obj has no attributes of vertices; write a .glb"))
        }
        "glb" | "obj" => Ok(()),
        _ => Err(Failure::of(path, "unknown extension; triangles go to .glb or .obj")),
    }
}

/// Writes the surface of a world as `.glb` or `.obj`; the ground is that of its cells, or
/// what is given in its place.
///
/// # Errors
/// If a cell that is needed is not held, or the file cannot be written.
pub fn write(
    world: &World,
    path: &Path,
    options: &Triangles,
    ground: Option<BlockMesh>,
    console: &Console,
) -> Outcome<Written> {
    check_triangles_path(path, options)?;
    let snapshot = world.grid.snapshot();
    let tiles = tiles_of(&snapshot, options.mip);
    let bar = console.bar("meshing", tiles.len());
    let only_liquid = ground.is_some();
    let mesh = |tile: &Tile| {
        let meshes = mesh_tile(&snapshot, tile, options.mip);
        bar.step();
        let mut meshes = meshes.map_err(Failure::at(path))?;
        if only_liquid {
            meshes.iter_mut().for_each(|mesh| mesh.solid.clear());
        }
        Ok((tile.name(), simplified(meshes, options.simplify)))
    };
    // So many at a time: a world's triangles need not fit in memory.
    let meshed = tiles
        .chunks(rayon::current_num_threads())
        .flat_map(|tiles| tiles.par_iter().map(mesh).collect::<Vec<_>>());
    let ground = ground.map(|mesh| simplified(vec![mesh], options.simplify));
    let ground = ground.map(|meshes| Ok(("ground".to_owned(), meshes)));
    let meshed = ground.into_iter().chain(meshed);
    let voxel = world.info.voxel_size_m * f64::from(1_u32 << options.mip) * options.scale;
    let frame = Frame { voxel_size_m: voxel as f32, origin: VoxelPos::ZERO };
    match extension(path).as_str() {
        "glb" => {
            let materials = options.materials;
            let options = GlbOptions { frame, materials, ..GlbOptions::default() };
            write_glb(world, path, options, meshed)
        }
        _ => write_obj(world, path, ObjOptions { frame, up: up(options.up) }, meshed),
    }
}

/// Meshes as one, of fewer triangles if that is asked for.
fn simplified(meshes: Vec<BlockMesh>, error: Option<f64>) -> Vec<BlockMesh> {
    let regions = meshes.iter().map(|mesh| mesh.block);
    let (Some(error), Some(all)) = (error, regions.reduce(Region::union)) else { return meshes };
    let how = Simplify::within(error as f32);
    let one = joined(all, &meshes.iter().collect::<Vec<_>>());
    vec![Simplifier::new().simplify_block(&one, how)]
}

fn up(up: Up) -> obj::Up {
    match up {
        Up::Y => obj::Up::Y,
        Up::Z => obj::Up::Z,
    }
}

type MeshedTile = (String, Vec<BlockMesh>);

fn write_glb(
    world: &World,
    path: &Path,
    options: GlbOptions,
    tiles: impl Iterator<Item = Outcome<MeshedTile>>,
) -> Outcome<Written> {
    let mut output = Output::create(path)?;
    let mut writer = GlbWriter::new(options, world.grid.materials());
    for tile in tiles {
        let (name, meshes) = tile?;
        writer.add_tile(&name, &meshes).map_err(Failure::at(path))?;
    }
    let stats = writer.finish(output.writer()).map_err(Failure::at(path))?;
    let file_bytes = output.finish()?;
    let (tiles, vertices, triangles) = (stats.tiles, stats.vertices, stats.triangles);
    Ok(Written { tiles, vertices, triangles, file_bytes })
}

fn write_obj(
    world: &World,
    path: &Path,
    options: ObjOptions,
    tiles: impl Iterator<Item = Outcome<MeshedTile>>,
) -> Outcome<Written> {
    let table = world.grid.materials();
    let colours = path.with_extension("mtl");
    let name = colours.file_name().map(|name| name.to_string_lossy()).unwrap_or_default();
    let mut output = Output::create(path)?;
    let out = output.writer();
    let mut writer = ObjWriter::new(out, options, &name, table).map_err(Failure::at(path))?;
    for tile in tiles {
        let (name, meshes) = tile?;
        writer.add_tile(&name, &meshes).map_err(Failure::at(path))?;
    }
    let stats = writer.finish().map_err(Failure::at(path))?;
    let mut mtl = Vec::new();
    obj::write_mtl(&mut mtl, table).map_err(Failure::at(&colours))?;
    write_file(&colours, &mtl)?;
    let file_bytes = output.finish()?;
    let (tiles, vertices, triangles) = (stats.tiles, stats.vertices, stats.triangles);
    Ok(Written { tiles, vertices, triangles, file_bytes })
}
