//! Writes the surface of a world as triangles, tile by tile.

use crate::args::{TriangleArgs, UpChoice};
use crate::console::Console;
use crate::export_limits::ExportAllowance;
use crate::failure::{CliResult, Failure};
use crate::output::{Output, check_not_input, write_file};
use crate::world::{World, extension};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use terravox::mesh::BlockMesh;
use terravox::scatter::ScatterRuleError;
use terravox::simplify::Simplifier;
use terravox::voxel::{ChunkPos, MipBlock, Snapshot, VoxelPos};
use terravox_cli::meshing::{
    MeshTilesError, MeshedTile, TileMeshOptions, mesh_tiles, simplify, tiles_of,
};
use terravox_io::gltf::{GlbModel, GlbOptions, GlbPose, GlbWriter};
use terravox_io::obj::{self, ObjOptions, ObjWriter};
use terravox_io::tiles::ExportFrame;
use terravox_render::{DemoThing, SolidTriangles, demo_things};

/// Models of each kind of plant; those of one model are alike.
const VARIANTS: u64 = 8;

/// Contents of a file of triangles.
#[derive(Clone, Copy, Debug, Default)]
pub struct WrittenModel {
    /// Objects in the file.
    pub tiles: u64,
    /// Vertices.
    pub vertices: u64,
    /// Triangles.
    pub triangles: u64,
    /// Plants and rocks.
    pub instances: u64,
    /// Length of the file, bytes.
    pub file_bytes: u64,
}

/// Where triangles are written, and what that may take.
#[derive(Clone, Copy)]
pub struct TriangleTarget<'a> {
    /// The world, for refusals.
    pub world_path: &'a Path,
    /// The file.
    pub file: &'a Path,
    /// The memory.
    pub allowed: ExportAllowance,
}

impl TriangleTarget<'_> {
    /// Formats why a tile was not meshed.
    fn not_meshed(self, error: &MeshTilesError) -> Failure {
        match error {
            MeshTilesError::TooLarge(error) => self.allowed.refused(self.world_path, error),
            MeshTilesError::NotHeld(error) => Failure::of(self.file, error),
        }
    }
}

/// Refuses unsupported extensions, options that do not apply to them, and files that would be lost.
///
/// # Errors
/// If the extension is not `.glb` or `.obj`, an option does not apply to it, `path` is the world that
/// is read, or the `.mtl` file beside an `.obj` would replace another model's.
pub fn check_triangles_path(world: &Path, path: &Path, options: &TriangleArgs) -> CliResult<()> {
    check_not_input(world, path)?;
    match extension(path).as_str() {
        "glb" if options.up == Some(UpChoice::Z) => {
            Err(Failure::of(path, "glTF is always y-up; omit --up, or write an .obj"))
        }
        "obj" if options.materials => Err(Failure::of(
            path,
            ".obj has no vertex attributes; omit --materials, or write a .glb",
        )),
        "obj" if options.quantize => Err(Failure::of(
            path,
            ".obj has no quantized positions; omit --quantize, or write a .glb",
        )),
        "obj" if options.scatter => {
            Err(Failure::of(path, ".obj has no instances; omit --scatter, or write a .glb"))
        }
        "obj" => check_colours_path(world, path),
        "glb" => Ok(()),
        _ => Err(Failure::of(path, "unsupported extension; use .glb or .obj")),
    }
}

/// The file of the colours of an `.obj`.
fn colours_path(path: &Path) -> PathBuf {
    path.with_extension("mtl")
}

/// Refuses to replace colours that are not those of the `.obj` that is written.
fn check_colours_path(world: &Path, path: &Path) -> CliResult<()> {
    let colours = colours_path(path);
    check_not_input(world, &colours)?;
    if colours.exists() && !path.exists() {
        let name = path.file_name().unwrap_or_default().display();
        let what = format!(
            "exists and would be replaced by the colours of {name}; choose another name, or remove it"
        );
        return Err(Failure::of(&colours, what));
    }
    Ok(())
}

/// Writes the surface of a world as `.glb` or `.obj`. The meshes of `ground`, an object each,
/// replace the ground.
///
/// # Errors
/// If a needed cell is not held, or the file cannot be written.
pub fn write(
    world: &World,
    target: TriangleTarget<'_>,
    options: &TriangleArgs,
    ground: Option<Vec<BlockMesh>>,
    console: &Console,
) -> CliResult<WrittenModel> {
    let path = target.file;
    check_triangles_path(target.world_path, path, options)?;
    let snapshot = world.grid.snapshot();
    let progress_label = if options.simplify.is_some() { "simplifying" } else { "meshing" };
    let mesh_options = TileMeshOptions {
        mip: options.mip,
        simplify: options.simplify.map(|error| error as f32),
        is_liquid_only: ground.is_some(),
        limit: target.allowed.limit(),
    };
    let tiles = tiles_of(&snapshot, mesh_options);
    let bar = console.bar(progress_label, tiles.len());
    let tile_count = ground.as_ref().map_or(0, Vec::len) + tiles.len();
    let ground = ground.into_iter().flatten().enumerate().map(|(number, mesh)| {
        let meshes = simplify(vec![mesh], mesh_options.simplify, &mut Simplifier::new());
        let name = if number == 0 { "ground".to_owned() } else { format!("ground {}", number + 1) };
        Ok(MeshedTile { name, meshes })
    });
    let step = || bar.step();
    let meshed = mesh_tiles(&snapshot, &tiles, mesh_options, &step);
    let meshed = meshed.map(|tile| tile.map_err(|error| target.not_meshed(&error)));
    let meshed = ground.chain(meshed);
    let voxel = world.info.voxel_size_m * f64::from(1_u32 << options.mip) * options.scale;
    let frame = ExportFrame { voxel_size_m: voxel, origin: VoxelPos::ZERO };
    match extension(path).as_str() {
        "glb" => {
            let glb = GlbOptions {
                frame,
                materials: options.materials,
                quantize: options.quantize,
                gpu_instancing: options.gpu_instancing,
                ..GlbOptions::default()
            };
            let chunks = tiles.iter().flat_map(|tile| &tile.chunks);
            let block = |chunk: &ChunkPos| MipBlock { mip: options.mip, ..(*chunk).into() };
            let plants: Vec<MipBlock> = match options.scatter {
                true => chunks.map(block).collect(),
                false => Vec::new(),
            };
            write_glb(world, target, glb, (meshed, tile_count), &plants, console)
        }
        _ => write_obj(
            world,
            path,
            ObjOptions { frame, up: up_axis(options.up.unwrap_or(UpChoice::Y)) },
            meshed,
        ),
    }
}

/// The axis of a choice.
pub fn up_axis(up: UpChoice) -> obj::UpAxis {
    match up {
        UpChoice::Y => obj::UpAxis::Y,
        UpChoice::Z => obj::UpAxis::Z,
    }
}

fn write_glb(
    world: &World,
    target: TriangleTarget<'_>,
    options: GlbOptions,
    (tiles, tile_count): (impl Iterator<Item = CliResult<MeshedTile>>, usize),
    plants: &[MipBlock],
    console: &Console,
) -> CliResult<WrittenModel> {
    let path = target.file;
    let mut output = Output::create(path)?;
    let mut writer = GlbWriter::new(options, world.grid.materials());
    for (number, tile) in tiles.enumerate() {
        let MeshedTile { name, meshes } = tile?;
        writer.add_tile(&name, &meshes).map_err(Failure::at(path))?;
        let done = [number + 1, tile_count];
        let checked = target.allowed.limit().check("the file", writer.memory_bytes(), done);
        checked.map_err(|error| target.allowed.refused(target.world_path, &error))?;
    }
    for (model, poses) in plant_models(&world.grid.snapshot(), world.info.voxel_size_m, plants)
        .map_err(Failure::at(path))?
    {
        writer.add_instances(&model, &poses).map_err(Failure::at(path))?;
    }
    let busy = console.busy("writing");
    let stats = writer.finish(output.writer()).map_err(Failure::at(path))?;
    let file_bytes = output.finish()?;
    drop(busy);
    let (tiles, vertices, triangles) = (stats.tiles, stats.vertices, stats.triangles);
    Ok(WrittenModel { tiles, vertices, triangles, instances: stats.instances, file_bytes })
}

/// The models of plants and rocks on some blocks, and where they stand, in cells of the blocks.
fn plant_models(
    world: &Snapshot,
    voxel_size_m: f64,
    blocks: &[MipBlock],
) -> Result<Vec<(GlbModel, Vec<GlbPose>)>, ScatterRuleError> {
    let voxels_per_cell = blocks.first().map_or(1.0, |block| f64::from(1_u32 << block.mip));
    let mut all: BTreeMap<(usize, u64), Vec<GlbPose>> = BTreeMap::new();
    for placed in demo_things(world, voxel_size_m, blocks, |_| true)? {
        let pose = GlbPose {
            position: (placed.position / voxels_per_cell).to_array(),
            rotation: placed.rotation.as_quat().to_array(),
            scale: placed.size / voxels_per_cell,
        };
        let key = (placed.thing as usize, placed.number % VARIANTS);
        all.entry(key).or_default().push(pose);
    }
    let model = |(thing, number): (usize, u64)| {
        let thing = DemoThing::ALL[thing];
        let mut triangles = SolidTriangles::default();
        thing.solids(number).iter().for_each(|solid| triangles.add(solid));
        let SolidTriangles { positions, normals, colours, indices } = triangles;
        let name = format!("{thing:?} {}", number + 1).to_lowercase();
        GlbModel { name, positions, normals, colours, indices }
    };
    Ok(all.into_iter().map(|(key, poses)| (model(key), poses)).collect())
}

fn write_obj(
    world: &World,
    path: &Path,
    options: ObjOptions,
    tiles: impl Iterator<Item = CliResult<MeshedTile>>,
) -> CliResult<WrittenModel> {
    let table = world.grid.materials();
    let colours = colours_path(path);
    let name = colours.file_name().map(|name| name.to_string_lossy()).unwrap_or_default();
    let mut output = Output::create(path)?;
    let out = output.writer();
    let mut writer = ObjWriter::new(out, options, &name, table).map_err(Failure::at(path))?;
    for tile in tiles {
        let MeshedTile { name, meshes } = tile?;
        writer.add_tile(&name, &meshes).map_err(Failure::at(path))?;
    }
    let stats = writer.finish().map_err(Failure::at(path))?;
    let mut mtl = Vec::new();
    obj::write_mtl(&mut mtl, table).map_err(Failure::at(&colours))?;
    write_file(&colours, &mtl)?;
    let file_bytes = output.finish()?;
    let (tiles, vertices, triangles) = (stats.tiles, stats.vertices, stats.triangles);
    Ok(WrittenModel { tiles, vertices, triangles, instances: 0, file_bytes })
}
