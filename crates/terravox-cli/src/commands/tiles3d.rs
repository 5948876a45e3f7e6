//! `export` as 3D Tiles: an index, and a folder of models beside it.

use super::import::add_notes;
use crate::args::ExportArgs;
use crate::console::Console;
use crate::export_limits::ExportAllowance;
use crate::failure::{CliResult, Failure};
use crate::output::{Temporary, write_file};
use crate::report::Report;
use crate::world::World;
use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Instant;
use terravox::mesh::BlockMesh;
use terravox::voxel::{ChunkPos, MAX_MIP, Snapshot, VoxelPos};
use terravox_cli::meshing::{MeshTilesError, TileMeshOptions, mesh_tiles, tiles_of};
use terravox_io::gltf::{GlbBlock, GlbOptions, GlbStats, GlbWriter};
use terravox_io::tiles::{ExportFrame, Tile};
use terravox_io::tiles3d::{
    EarthLocation, TileColumn, TileContent, TilesetOptions, add_skirt, tileset,
};

/// How far skirts hang down, cells. Beside blocks of twice the cells a surface lies about one of those
/// lower at most, and more on steep ground.
const SKIRT_CELLS: f32 = 4.0;

/// No coarser level is made than one of this many columns.
const FEW_COLUMNS: usize = 4;

/// What was written.
#[derive(Default)]
struct WrittenTiles {
    contents: Vec<TileContent>,
    stats: GlbStats,
    levels: u64,
}

/// Writes a world as 3D Tiles.
///
/// # Errors
/// If the folder of the models is there already, a needed cell is not held, or a file cannot be
/// written; then no index and no folder is left.
pub fn run(world: &World, args: &ExportArgs, console: &Console) -> CliResult<Report> {
    let start = Instant::now();
    let models = ModelFolder::create(&args.file)?;
    let written = write_models(world, args, &models, console)?;
    let index = index_of(world, args, &models.target, &written);
    let folder = models.finish()?;
    let index_bytes = write_file(&args.file, index.as_bytes()).inspect_err(|_| {
        // It was made here.
        let _ = fs::remove_dir_all(folder);
    })?;
    let WrittenTiles { contents, stats, levels } = written;
    let mut report = Report::new("export");
    report.text_line("world", "world", args.world.display().to_string());
    report.text_line("file", "file", args.file.display().to_string());
    report.count("levels", "levels", levels);
    report.count("tiles", "tiles", contents.len() as u64);
    report.count("triangles", "triangles", stats.triangles);
    report.bytes("file_bytes", "written", stats.bytes + index_bytes);
    report.time("export_ms", "export", start.elapsed());
    add_notes(&world.notes, &mut report);
    Ok(report)
}

/// The folder of the models: under a temporary name beside its target until all are written.
/// Dropping it removes it.
struct ModelFolder {
    partial: Temporary,
    target: PathBuf,
}

impl ModelFolder {
    /// The folder beside an index: of its name, without extension.
    ///
    /// # Errors
    /// If it is there already, or cannot be made.
    fn create(index: &Path) -> CliResult<ModelFolder> {
        let target = index.with_extension("");
        if target.symlink_metadata().is_ok() {
            return Err(is_there(&target));
        }
        let mut name = OsString::from(".");
        name.push(target.file_name().unwrap_or_default());
        name.push(format!(".{}.partial", std::process::id()));
        let partial = target.with_file_name(name);
        let created = Temporary::create(partial, |path| fs::create_dir(path));
        let (partial, ()) = created.map_err(not_made(&target))?;
        Ok(ModelFolder { partial, target })
    }

    /// Makes the folder of a level.
    fn add_level(&self, name: &str) -> CliResult<()> {
        fs::create_dir(self.partial.path().join(name)).map_err(not_made(&self.target.join(name)))
    }

    /// Writes a model. Errors name the place where it would be.
    fn add(&self, uri: &str, bytes: &[u8]) -> CliResult<()> {
        let place =
            |folder: &Path| uri.split('/').fold(folder.to_owned(), |at, part| at.join(part));
        fs::write(place(self.partial.path()), bytes).map_err(|error| {
            Failure::of(&place(&self.target), format!("cannot be written: {error}"))
        })
    }

    /// Gives it its name, which is returned.
    ///
    /// # Errors
    /// If something of that name came meanwhile.
    fn finish(self) -> CliResult<PathBuf> {
        let ModelFolder { partial, target } = self;
        if target.symlink_metadata().is_ok() {
            return Err(is_there(&target));
        }
        partial.place(&target).map_err(not_made(&target))?;
        Ok(target)
    }
}

fn not_made(folder: &Path) -> impl Fn(io::Error) -> Failure {
    move |error| Failure::of(folder, format!("cannot be made: {error}"))
}

fn is_there(folder: &Path) -> Failure {
    Failure::of(folder, "is there already; remove it, or choose another name")
}

/// Writes the models of all levels.
fn write_models(
    world: &World,
    args: &ExportArgs,
    models: &ModelFolder,
    console: &Console,
) -> CliResult<WrittenTiles> {
    let voxel_size_m = world.info.voxel_size_m * args.triangles.scale;
    let allowed = ExportAllowance::times(args.limit_factor);
    let snapshot = world.grid.snapshot();
    let mut written = WrittenTiles::default();
    let mut mip = 0;
    loop {
        let level = LevelOfTiles { mip, voxel_size_m, allowed };
        let columns = write_level(&snapshot, level, args, models, &mut written, console)?;
        if columns <= FEW_COLUMNS || mip == MAX_MIP {
            break;
        }
        mip += 1;
    }
    if written.contents.is_empty() {
        let what = "has no surface there; give another box with --from and --to";
        return Err(Failure::of(&args.world, what));
    }
    Ok(written)
}

/// The index of models in a folder beside it.
fn index_of(world: &World, args: &ExportArgs, folder: &Path, written: &WrittenTiles) -> String {
    let voxel_size_m = world.info.voxel_size_m * args.triangles.scale;
    let location = args.location.map(|[longitude, latitude, height_m]| EarthLocation {
        longitude,
        latitude,
        height_m,
    });
    let name = encoded(folder.file_name().unwrap_or_default());
    let named = written.contents.iter().map(|content| {
        let uri = format!("{name}/{}", content.uri);
        TileContent { uri, ..content.clone() }
    });
    let named: Vec<TileContent> = named.collect();
    tileset(&named, &TilesetOptions { voxel_size_m, location }).to_string()
}

/// What the models of a level have in common.
#[derive(Clone, Copy)]
struct LevelOfTiles {
    mip: u8,
    voxel_size_m: f64,
    allowed: ExportAllowance,
}

/// Writes the models of all columns of a mip; returns how many there are, with and without a surface.
fn write_level(
    snapshot: &Snapshot,
    LevelOfTiles { mip, voxel_size_m, allowed }: LevelOfTiles,
    args: &ExportArgs,
    models: &ModelFolder,
    written: &mut WrittenTiles,
    console: &Console,
) -> CliResult<usize> {
    let options = TileMeshOptions { mip, limit: allowed.limit(), ..TileMeshOptions::default() };
    let columns = columns_of(snapshot, options);
    models.add_level(&mip.to_string())?;
    written.levels += 1;
    let bar = console.bar(&format!("level {mip}"), columns.len());
    let step = || bar.step();
    let frame = ExportFrame { voxel_size_m, origin: VoxelPos::ZERO };
    let options_of_file = GlbOptions { frame, quantize: true, ..GlbOptions::default() };
    for (tile, meshed) in columns.iter().zip(mesh_tiles(snapshot, &columns, options, &step)) {
        let meshed = meshed.map_err(|error| match error {
            MeshTilesError::TooLarge(error) => allowed.refused(&args.world, &error),
            MeshTilesError::NotHeld(error) => Failure::of(&args.file, error),
        });
        let mut meshes = meshed?.meshes;
        if meshes.is_empty() {
            continue;
        }
        add_skirt(&mut meshes, SKIRT_CELLS);
        let [x, _, z] = tile.position;
        let column = TileColumn { mip, x, z };
        let uri = column.path();
        let mut writer = GlbWriter::new(options_of_file, snapshot.materials());
        let blocks = meshes.iter().map(|mesh| GlbBlock { mesh, mip, tint: None });
        writer.add_blocks(&uri, blocks).map_err(Failure::at(&args.file))?;
        let mut bytes = Vec::new();
        let stats = writer.finish(&mut bytes).map_err(Failure::at(&args.file))?;
        models.add(&uri, &bytes)?;
        written.stats.triangles += stats.triangles;
        written.stats.bytes += stats.bytes;
        let bounds_m = bounds_m(&meshes, mip, voxel_size_m);
        written.contents.push(TileContent { column, bounds_m, uri });
    }
    Ok(columns.len())
}

/// The columns of blocks of a world, each as one tile at height 0.
fn columns_of(snapshot: &Snapshot, options: TileMeshOptions) -> Vec<Tile> {
    let mut columns: BTreeMap<[i32; 3], Vec<ChunkPos>> = BTreeMap::new();
    for chunk in tiles_of(snapshot, options).into_iter().flat_map(|tile| tile.chunks) {
        columns.entry([chunk.x, 0, chunk.z]).or_default().push(chunk);
    }
    columns.into_iter().map(|(position, chunks)| Tile { position, chunks }).collect()
}

/// The lowest and the highest coordinates of the vertices of meshes as they are written, metres.
fn bounds_m(meshes: &[BlockMesh], mip: u8, voxel_size_m: f64) -> [[f64; 3]; 2] {
    let cell_m = 2_f64.powi(mip.into()) * voxel_size_m;
    // Quantized positions are within half a step of 1/64 voxel.
    let margin = voxel_size_m / 64.0;
    let (mut low, mut high) = ([f64::INFINITY; 3], [f64::NEG_INFINITY; 3]);
    for mesh in meshes {
        let min = mesh.block.min.to_array();
        for position in mesh.solid.positions.iter().chain(&mesh.liquid.positions) {
            for axis in 0..3 {
                let at = (f64::from(min[axis]) + f64::from(position[axis])) * cell_m;
                low[axis] = low[axis].min(at - margin);
                high[axis] = high[axis].max(at + margin);
            }
        }
    }
    [low, high]
}

/// A name as part of a URI, byte by byte: it need not be UTF-8.
fn encoded(name: &OsStr) -> String {
    let encode = |byte: u8| match byte {
        b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => {
            char::from(byte).to_string()
        }
        _ => format!("%{byte:02X}"),
    };
    name.as_encoded_bytes().iter().copied().map(encode).collect()
}
