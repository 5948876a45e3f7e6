//! Deviation of the volumes of brushes from those of the shapes.

use std::f64::consts::PI;

use terravox::edit::{Action, Brush, BrushOp, EditOp, Editor};
use terravox::voxel::{GridOptions, VoxelGrid};

use crate::report::{AreaReport, detail};

const RADII: [f64; 6] = [3.0, 3.7, 4.5, 6.0, 10.0, 16.0];
/// Offsets of the centre in its voxel.
const OFFSETS: [[f64; 3]; 4] = [[0.0; 3], [0.5; 3], [0.1, 0.7, 0.35], [0.25, 0.0, 0.9]];
/// A rotation that is along no axis.
const TILTED: [f64; 4] = [0.3, -0.2, 0.5, 0.8];

/// Returns a brush at a centre, of a size, and its exact volume.
type BrushCase = fn([f64; 3], f64) -> (Brush, f64);

/// Measures `volume_error`.
pub fn run(report: &mut AreaReport) {
    let shapes: [(&str, BrushCase); 5] = [
        ("ball", |centre, radius| {
            (Brush::Ball { centre, radius }, 4.0 / 3.0 * PI * radius.powi(3))
        }),
        ("box", |centre, r| (cube(centre, r, Brush::NO_ROTATION), 8.0 * r.powi(3))),
        ("tilted box", |centre, r| (cube(centre, r, TILTED), 8.0 * r.powi(3))),
        ("cylinder", |centre, r| (cylinder(centre, r, Brush::NO_ROTATION), 2.0 * PI * r.powi(3))),
        ("tilted cylinder", |centre, r| (cylinder(centre, r, TILTED), 2.0 * PI * r.powi(3))),
    ];
    let mut worst = (0.0, String::new());
    let mut lines = Vec::new();
    for (name, shape) in shapes {
        let mut max_error: f64 = 0.0;
        for radius in RADII {
            for centre in OFFSETS {
                let (brush, ideal) = shape(centre, radius);
                let error = (filled(brush) / ideal - 1.0).abs();
                max_error = max_error.max(error);
                if error > worst.0 {
                    worst = (error, format!("{name} of radius {radius}"));
                }
            }
        }
        lines.push(detail(name, max_error, "share"));
    }
    report.set("volume_error", worst.0, format!("worst: {}", worst.1));
    report.details("largest volume errors from radius 3 on", lines);
}

fn cube(centre: [f64; 3], half: f64, rotation: [f64; 4]) -> Brush {
    Brush::Box { centre, half: [half; 3], rotation }
}

fn cylinder(centre: [f64; 3], radius: f64, rotation: [f64; 4]) -> Brush {
    Brush::Cylinder { centre, radius, half_height: radius, rotation }
}

/// Volume that a brush fills in an empty world, voxels.
fn filled(brush: Brush) -> f64 {
    let mut grid = VoxelGrid::new(GridOptions::default());
    let op = EditOp::Brush(BrushOp::new(brush, Action::Fill { material: 8 }));
    match Editor::default().apply(&mut grid, &op, None) {
        Ok(edited) => edited.added.voxels(8),
        Err(error) => panic!("{error}"),
    }
}
