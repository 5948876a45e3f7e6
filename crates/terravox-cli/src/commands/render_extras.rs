//! What `render` adds for people who look at a whole world: a cut through it, lines on the ground,
//! and pictures all around.

use crate::args::Cutaway;
use crate::world::World;
use glam::{DMat3, DVec3};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use terravox::collide::Filter;
use terravox::math::DebugLines;
use terravox::voxel::{ChunkPos, DenseBox, Kind, NotHeld, Region};
use terravox_render::{Camera, Scene, SceneRay};
use terravox_store::WorldInfo;

/// Colours of the lines of a grid: most, and every tenth.
const GRID_COLOURS: [[u8; 3]; 2] = [[250, 250, 250], [255, 210, 60]];

/// Maximum number of lines of a grid along an axis.
const MAX_LINES: f64 = 512.0;

/// Cells above a camera that are searched for the end of the ground.
const MAX_BURIED_CELLS: i32 = 4096;

/// Lines lie this far above the ground, cells.
const LIFT_CELLS: f64 = 0.15;

/// Says that a camera is inside the ground, and where the ground above it ends; `None` if it is not.
pub fn buried(info: &WorldInfo, scene: &Scene, eye: DVec3) -> Option<String> {
    let is_solid = |up: i32| scene.kind_at(eye + DVec3::Y * f64::from(up)) == Kind::Solid;
    // Above the ground in its highest cell the camera is in the open.
    if !is_solid(0) || !is_solid(1) {
        return None;
    }
    let cell = info.voxel_size_m * f64::from(1_u32 << scene.mip());
    let metres = |point: DVec3| point * cell + DVec3::from(info.origin_m);
    let [x, y, z] = metres(eye).to_array().map(|v| (v * 10.0).round() / 10.0);
    let remedy = match (2..MAX_BURIED_CELLS).find(|&up| !is_solid(up)) {
        Some(up) => {
            let top = metres((eye + DVec3::Y * f64::from(up)).floor()).y;
            format!("; the ground above it ends at a height of {top:.1} m")
        }
        None => "; place it higher".to_owned(),
    };
    Some(format!("the camera at {x},{y},{z} is inside the ground{remedy}"))
}

/// Removes what lies beyond a plane.
///
/// # Errors
/// If a chunk is not held.
pub fn cut(world: &mut World, cutaway: Cutaway) -> Result<(), NotHeld> {
    let Cutaway { axis, is_beyond, at_m } = cutaway;
    let at = (at_m - world.info.origin_m[axis]) / world.info.voxel_size_m;
    let bounds = world.grid.bounds();
    let (mut min, mut max) = (bounds.min.to_array(), bounds.max.to_array());
    match is_beyond {
        true => min[axis] = min[axis].max(at.ceil() as i32),
        false => max[axis] = max[axis].min(at.floor() as i32),
    }
    let removed = Region::new(min, max);
    for chunk in world.grid.chunks() {
        let part = chunk.region().intersect(removed);
        if !part.is_empty() {
            world.grid.write(&DenseBox::new(part))?;
        }
    }
    Ok(())
}

/// The chunks into which surfaces may reach: those of a scene and those beside them. The box around
/// a world may have a million times as many.
pub fn surface_chunks(scene: &Scene) -> BTreeSet<ChunkPos> {
    let around = |chunk: ChunkPos| chunk.region().grow(1).intersect(scene.bounds()).blocks::<5>();
    scene.snapshot().chunks().into_iter().flat_map(around).collect()
}

/// Lines on the ground of a whole world, `spacing_m` apart, through its origin.
pub fn grid_lines(scene: &Scene, info: &WorldInfo, spacing_m: f64) -> DebugLines {
    let cell_m = info.voxel_size_m * f64::from(1_u32 << scene.mip());
    let bounds = scene.bounds();
    let [low, high] = [bounds.min, bounds.max].map(|p| DVec3::from(p.to_array().map(f64::from)));
    let height = |x: f64, z: f64| {
        let origin = DVec3::new(x, high.y + 1.0, z);
        let ray = SceneRay { origin, direction: DVec3::NEG_Y };
        let hit = scene.closest(&ray, high.y - low.y + 2.0, &Filter::BOTH)?;
        Some([x, origin.y - hit.distance + LIFT_CELLS, z])
    };
    let chunks = surface_chunks(scene);
    let mut lines = DebugLines::default();
    for axis in [0, 2] {
        let other = 2 - axis;
        // The first cells of chunks along the lines, by the chunk across them.
        let mut columns: BTreeMap<i32, BTreeSet<i32>> = BTreeMap::new();
        for chunk in &chunks {
            let first = chunk.region().min.to_array();
            columns.entry(first[axis] >> 5).or_default().insert(first[other]);
        }
        let metres = |cells: f64| cells * cell_m + info.origin_m[axis];
        let wide = (high[axis] - low[axis]) * cell_m / spacing_m;
        let spacing_m = spacing_m * (wide / MAX_LINES).ceil().max(1.0);
        let first = (metres(low[axis]) / spacing_m).ceil() as i64;
        let last = (metres(high[axis]) / spacing_m).floor() as i64;
        for line in first..=last {
            let at = (line as f64 * spacing_m - info.origin_m[axis]) / cell_m;
            let colour = GRID_COLOURS[usize::from(line % 10 == 0)];
            let Some(starts) = columns.get(&(at.floor() as i32 >> 5)) else { continue };
            let mut before = None;
            for along in starts.iter().flat_map(|&start| start..start + 32) {
                let to = f64::from(along);
                let here = if axis == 0 { height(at, to) } else { height(to, at) };
                if let (Some((last, from)), Some(to)) = (before, here)
                    && last + 1 == along
                {
                    lines.line(from, to, colour);
                }
                before = here.map(|point| (along, point));
            }
        }
    }
    lines
}

/// The camera after a part of a turn about the vertical line through `target`, 0 to 1.
pub fn turned(camera: &Camera, target: DVec3, part: f64) -> Camera {
    let turn = DMat3::from_rotation_y(-std::f64::consts::TAU * part);
    let eye = target + turn * (camera.eye - target);
    let ahead = turn * camera.forward();
    Camera::looking_at(eye, eye + ahead, camera.fov_degrees)
}

/// The file of a picture of a turn: `world.png` becomes `world-01.png`.
pub fn numbered(file: &Path, number: u16) -> PathBuf {
    let stem = file.file_stem().unwrap_or_default().to_string_lossy();
    file.with_file_name(format!("{stem}-{:02}.png", number + 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_whole_turn_ends_where_it_began_and_a_half_one_across() {
        let camera = Camera::looking_at(DVec3::new(10.0, 5.0, 0.0), DVec3::ZERO, 50.0);
        let half = turned(&camera, DVec3::ZERO, 0.5);
        assert!(half.eye.abs_diff_eq(DVec3::new(-10.0, 5.0, 0.0), 1e-9));
        assert!(half.forward().dot(camera.forward()) < 0.0);
        let whole = turned(&camera, DVec3::ZERO, 1.0);
        assert!(whole.eye.abs_diff_eq(camera.eye, 1e-9));
        assert_eq!(numbered(Path::new("a/world.png"), 0), Path::new("a/world-01.png"));
    }
}
