//! Cells of a closed mesh: how long the Stanford bunny takes, and how much of its volume is lost,
//! closed and with holes.

use std::time::Instant;

use terravox::voxel::VoxelGrid;
use terravox_io::ImportBudget;
use terravox_io::obj::UpAxis;
use terravox_io::triangles::{
    self, FileMesh, MeshError, MeshFormat, VoxeliseOptions, VoxelisedMesh,
};

use crate::report::{AreaReport, detail};
use crate::worlds::places;

/// Voxels along the longest edge.
const EDGE_VOXELS: f64 = 128.0;
const ROUNDS: usize = 15;
/// Holes that are cut.
const HOLES: usize = 8;
/// Radius of the balls that cut them, in units of the file; the bunny is 10 long.
const HOLE_RADIUS: f64 = 0.5;

/// Measures the figures of meshes.
pub fn run(report: &mut AreaReport) {
    let path = places::root().join("real/bunny.obj");
    let measured = std::fs::read(&path).map_err(|error| format!("{}: {error}", path.display()));
    let measured = measured.and_then(|file| {
        measure(&file, report).map_err(|error| format!("{}: {error}", path.display()))
    });
    if let Err(why) = measured {
        report.not_measured("voxelise_bunny_s", why.clone());
        report.not_measured("voxelise_volume_error", why);
    }
}

fn measure(file: &[u8], report: &mut AreaReport) -> Result<(), MeshError> {
    let mut seconds = Vec::new();
    for _ in 0..ROUNDS {
        let start = Instant::now();
        let mesh = triangles::read(file, MeshFormat::Obj, &mut budget(file))?;
        voxelised(&mesh, EDGE_VOXELS, file)?;
        seconds.push(start.elapsed().as_secs_f64());
    }
    seconds.sort_by(f64::total_cmp);
    let mesh = triangles::read(file, MeshFormat::Obj, &mut budget(file))?;
    let (made, spent) = voxelised(&mesh, EDGE_VOXELS, file)?;
    let [x, y, z] = made.region.size();
    let note = format!(
        "bunny.obj, {} triangles, read and made {x} × {y} × {z} voxels, all cores; {} holes of its own; \
         the budget counts {:.3} s",
        mesh.triangles.len(),
        made.holes,
        spent as f64 * 1e-9,
    );
    report.set("voxelise_bunny_s", seconds[ROUNDS / 2], note);
    let cut = with_holes(&mesh);
    let (open, _) = voxelised(&cut, EDGE_VOXELS, file)?;
    let scale = EDGE_VOXELS / longest(&mesh);
    let exact = mesh.volume() * scale.powi(3);
    let off = |volume: f64, of: f64| (volume / of - 1.0) * 100.0;
    let closed_error = off(made.volume_voxels, exact);
    let open_error = off(open.volume_voxels, made.volume_voxels);
    let note = format!(
        "closed against its signed volume {closed_error:+.3} %; with {} holes of {} edges, {:.0} % of its \
         triangles, against the closed one {open_error:+.3} %",
        open.holes,
        open.hole_edges,
        100.0 - 100.0 * cut.triangles.len() as f64 / mesh.triangles.len() as f64,
    );
    report.set("voxelise_volume_error", closed_error.abs().max(open_error.abs()), note);
    let mut rows = Vec::new();
    for edge in [16.0, 32.0, 64.0, 128.0, 256.0, 512.0] {
        let start = Instant::now();
        let (made, spent) = voxelised(&mesh, edge, file)?;
        let seconds = start.elapsed().as_secs_f64();
        let exact = mesh.volume() * (edge / longest(&mesh)).powi(3);
        let note = format!(
            "{:+.3} % of volume; counted {:.3} s",
            off(made.volume_voxels, exact),
            spent as f64 * 1e-9
        );
        rows.push(detail(format!("{edge} voxels"), seconds * 1e3, "ms").note(note));
    }
    report.details("the bunny by its longest edge", rows);
    Ok(())
}

/// A generous budget, so that only the time counts.
fn budget(file: &[u8]) -> ImportBudget {
    ImportBudget::new(terravox_io::ImportLimits::for_input(file.len()).times(64))
}

fn longest(mesh: &FileMesh) -> f64 {
    let [low, high] = mesh.bounds().unwrap_or_default();
    (0..3).map(|i| high[i] - low[i]).fold(0.0, f64::max)
}

/// Returns what was made, and the work that the budget counts.
fn voxelised(mesh: &FileMesh, edge: f64, file: &[u8]) -> Result<(VoxelisedMesh, u64), MeshError> {
    let voxels_per_unit = edge / longest(mesh);
    let options = VoxeliseOptions { voxels_per_unit, up: UpAxis::Y, material: 8 };
    let (mut budget, mut grid) = (budget(file), VoxelGrid::default());
    let made = triangles::voxelise(mesh, &options, &mut budget, &mut grid, |_, _| ())?;
    Ok((made, budget.spent().work))
}

/// The mesh without the triangles in a few balls around vertices.
fn with_holes(mesh: &FileMesh) -> FileMesh {
    let apart = mesh.positions.len() / HOLES;
    let centres: Vec<[f64; 3]> = mesh.positions.iter().step_by(apart.max(1)).copied().collect();
    let is_near = |p: [f64; 3], q: &[f64; 3]| {
        (0..3).map(|i| (p[i] - q[i]).powi(2)).sum::<f64>() < HOLE_RADIUS * HOLE_RADIUS
    };
    let is_kept = |triangle: &&[u32; 3]| {
        let corners = triangle.map(|v| mesh.positions[v as usize]);
        let middle = [0, 1, 2].map(|i| (corners[0][i] + corners[1][i] + corners[2][i]) / 3.0);
        !centres.iter().any(|centre| is_near(middle, centre))
    };
    let triangles = mesh.triangles.iter().filter(is_kept).copied().collect();
    FileMesh { positions: mesh.positions.clone(), triangles }
}
