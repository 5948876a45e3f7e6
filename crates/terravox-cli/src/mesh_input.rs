//! Importing closed meshes: converts metres of the command line to voxels.

use crate::args::{HeightmapArgs, UpChoice};
use crate::console::Console;
use crate::failure::{CliResult, Failure};
use crate::import_limits;
use crate::triangles::up_axis;
use crate::world::World;
use std::path::Path;
use terravox::voxel::{GridOptions, VoxelGrid};
use terravox_io::roblox::RobloxMetadata;
use terravox_io::triangles::{
    self, FileMesh, MeshError, MeshFormat, VoxeliseOptions, VoxelisedMesh,
};
use terravox_store::WorldInfo;

/// Voxels along the longest side of the bounding box of a mesh, if no size of a voxel is given.
const DEFAULT_VOXELS: f64 = 128.0;
/// Material of a mesh.
const DEFAULT_MATERIAL: &str = "Rock";

/// Imports a mesh into memory.
///
/// # Errors
/// If the file is damaged or has no triangles, costs too much, or an option is for other files or
/// out of range.
pub fn import(
    path: &Path,
    format: MeshFormat,
    bytes: &[u8],
    options: &HeightmapArgs,
    console: &Console,
) -> CliResult<World> {
    check_options(options).map_err(|what| Failure::of(path, what))?;
    let failure = |error: MeshError| Failure::of(path, explained(&error, options));
    let mut grid = VoxelGrid::new(GridOptions::default());
    let name = options.material.as_deref().unwrap_or(DEFAULT_MATERIAL);
    let Some(material) = grid.materials().find(name) else {
        let known = grid.materials().materials().iter().map(|material| material.name.as_str());
        let known = known.collect::<Vec<_>>().join(", ");
        return Err(Failure::new(format!("unknown material {name:?}; known are {known}")));
    };
    let mut budget = import_limits::budget(bytes.len(), options);
    let busy = console.busy("reading");
    let mesh = triangles::read(bytes, format, &mut budget).map_err(failure)?;
    drop(busy);
    let up =
        options.up.unwrap_or(if format == MeshFormat::Stl { UpChoice::Z } else { UpChoice::Y });
    let unit_m = options.scale.unwrap_or(1.0);
    let voxel_size_m =
        voxel_size(&mesh, unit_m, options).map_err(|what| Failure::of(path, what))?;
    let voxelise =
        VoxeliseOptions { voxels_per_unit: unit_m / voxel_size_m, up: up_axis(up), material };
    let bar = console.bar("importing", 1);
    let progress = |done, all| bar.set(done, all);
    let made =
        triangles::voxelise(&mesh, &voxelise, &mut budget, &mut grid, progress).map_err(failure)?;
    drop(bar);
    let info =
        WorldInfo { voxel_size_m, materials: grid.materials().clone(), ..WorldInfo::default() };
    let notes = notes(&mesh, &made, up, [unit_m, voxel_size_m]);
    let roblox = RobloxMetadata::default();
    Ok(World {
        grid,
        info,
        roblox,
        source: "mesh",
        file_bytes: 0,
        notes,
        growth: None,
        channels: Default::default(),
    })
}

/// Refuses options that are for meshes only.
///
/// # Errors
/// If one is given.
pub fn check_not_mesh(options: &HeightmapArgs) -> Result<(), String> {
    let given = [
        ("--up", options.up.is_some()),
        ("--longest", options.longest.is_some()),
        ("--material", options.material.is_some()),
    ];
    refuse(&given, "meshes (.obj, .stl, .ply, .glb); omit it")
}

/// Refuses options that are for heightmaps only.
fn check_options(options: &HeightmapArgs) -> Result<(), String> {
    let given = [
        ("--vertical-scale", options.vertical_scale.is_some()),
        ("--sea-level", options.sea_level.is_some()),
        ("--depth", options.depth.is_some()),
        ("--luma", options.luma),
        ("--width", options.width.is_some()),
    ];
    let takes = "heightmaps; a mesh takes --voxel-size, --longest, --scale, --up, --material and \
         --limit-factor";
    refuse(&given, takes)
}

fn refuse(given: &[(&str, bool)], takes: &str) -> Result<(), String> {
    match given.iter().find(|(_, is_given)| *is_given) {
        Some((name, _)) => Err(format!("{name} is for {takes}")),
        None => Ok(()),
    }
}

/// Returns the edge of a voxel in metres: as given, or such that the longest side of the mesh's
/// bounding box has as many voxels as given, or [`DEFAULT_VOXELS`].
fn voxel_size(mesh: &FileMesh, unit_m: f64, options: &HeightmapArgs) -> Result<f64, String> {
    if let Some(given) = options.voxel_size {
        return Ok(given);
    }
    let [low, high] = mesh.bounds().unwrap_or_default();
    let longest = (0..3).map(|i| high[i] - low[i]).fold(0.0, f64::max) * unit_m;
    let size: f64 = match options.longest {
        Some(voxels) => longest / f64::from(voxels),
        // Few digits, so that people can type it.
        None => format!("{:.2e}", longest / DEFAULT_VOXELS).parse().unwrap_or(f64::NAN),
    };
    if (1e-6..=1e9).contains(&size) {
        return Ok(size);
    }
    Err(format!(
        "the mesh is {longest:e} m long with units of {unit_m} m, so voxels would be {size:e} m, but must \
         be 0.000001 to 1e9; give --scale M, the metres of a unit"
    ))
}

/// Says what was made of the file.
fn notes(
    mesh: &FileMesh,
    made: &VoxelisedMesh,
    up: UpChoice,
    [unit_m, voxel_size_m]: [f64; 2],
) -> Vec<String> {
    let [low, high] = mesh.bounds().unwrap_or_default();
    let [x, y, z] = [0, 1, 2].map(|i| ((high[i] - low[i]) * unit_m / voxel_size_m).round());
    let ([x, y, z], axis) = match up {
        UpChoice::Y => ([x, y, z], "y"),
        UpChoice::Z => ([x, z, y], "z"),
    };
    let mut notes = vec![format!(
        "read with {axis} up (--up) and {unit_m} m per unit of the file (--scale); about {x} × {y} × {z} \
         voxels of {voxel_size_m} m (--voxel-size)"
    )];
    if made.holes > 0 {
        let width = made.widest_hole_voxels * voxel_size_m;
        let loops = if made.holes == 1 { "loop" } else { "loops" };
        notes.push(format!(
            "the mesh is not closed, or triangles in it are reversed; closed {} {loops} of unmatched \
             edges, the widest {width:.3} m; they have {} edges",
            made.holes, made.hole_edges
        ));
    }
    if made.volume_voxels < 0.5 {
        notes.push("the mesh encloses next to nothing at this size of voxels".to_owned());
    }
    notes
}

/// Formats an error with the options of the command line.
fn explained(error: &MeshError, options: &HeightmapArgs) -> String {
    match error {
        MeshError::OverBudget(error) => {
            let what = import_limits::explained(error, import_limits::factor(options));
            format!("{what}, or choose larger voxels with --voxel-size or --longest")
        }
        MeshError::TooLong { .. } => error.to_string().replace(
            "choose larger voxels",
            "give a larger --voxel-size, a smaller --scale, or --longest",
        ),
        MeshError::Material { .. } => "air fills nothing; give another --material".to_owned(),
        _ => error.to_string(),
    }
}
