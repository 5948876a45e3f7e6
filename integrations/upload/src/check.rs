//! Compares what the card drew with the meshes before packing: every vertex, and every pixel against
//! a rasteriser on the CPU.

use crate::gpu::{Camera, Picture, Unpacked};
use glam::{DMat4, DVec3, DVec4};
use terravox::lod::{MeshTransform, ShownMesh};
use terravox::voxel::VoxelPos;

/// Maximum length of the difference of two unit normals: 0.24°, and rounding.
const NORMAL_LIMIT: f32 = 0.0042;

/// Share of pixels that may differ: those whose centre lies on an edge.
const PIXEL_LIMIT: f64 = 0.001;

/// Compares what the card unpacked with the meshes; returns how many vertices there were.
pub fn vertices(
    shown: &[ShownMesh],
    places: &[MeshTransform],
    unpacked: &[Unpacked],
) -> Result<usize, String> {
    if shown.len() != places.len() {
        return Err(format!("{} transforms for {} meshes", places.len(), shown.len()));
    }
    let mut found = unpacked.iter();
    for (shown, place) in shown.iter().zip(places) {
        for surface in [&shown.mesh.solid, &shown.mesh.liquid] {
            for i in 0..surface.vertex_count() {
                let found = found.next().ok_or("the card has too few vertices")?;
                let wrong = |what: &str| Err(format!("{}: vertex {i}: {what}", shown.block));
                let position = surface.positions[i];
                if found.position.map(f32::to_bits) != position.map(f32::to_bits) {
                    return wrong(&format!("{:?} instead of {position:?}", found.position));
                }
                if found.voxel.map(f32::to_bits) != place.apply(position).map(f32::to_bits) {
                    return wrong("its place differs");
                }
                if [found.materials, found.weights] != [surface.materials[i], surface.weights[i]] {
                    return wrong("its materials differ");
                }
                let off: f32 =
                    (0..3).map(|a| (found.normal[a] - surface.normals[i][a]).powi(2)).sum();
                // NaN is refused, too.
                let is_close = off.sqrt() <= NORMAL_LIMIT;
                if !is_close {
                    return wrong(&format!("its normal is {} off", off.sqrt()));
                }
            }
        }
    }
    match found.next() {
        Some(_) => Err("the card has too many vertices".to_owned()),
        None => Ok(unpacked.len()),
    }
}

/// The depths of the ground, drawn on the CPU in f64 from the unpacked meshes.
pub fn depths(shown: &[ShownMesh], origin: VoxelPos, camera: &Camera) -> Vec<f32> {
    let [width, height] = camera.size;
    let mut depths = vec![0.0; (width * height) as usize];
    let clip: DMat4 = camera.clip_from_voxel.as_dmat4();
    for shown in shown {
        let place = shown.transform_voxels(origin);
        let solid = &shown.mesh.solid;
        let corners: Vec<DVec4> = solid
            .positions
            .iter()
            .map(|&p| clip * DVec3::from(place.apply(p).map(f64::from)).extend(1.0))
            .collect();
        for triangle in solid.triangles() {
            draw(triangle.map(|v| corners[v as usize]), camera.size, &mut depths);
        }
    }
    depths
}

/// Draws a triangle that faces the viewer. Triangles that reach behind the near plane are skipped.
fn draw(corners: [DVec4; 3], [width, height]: [u32; 2], depths: &mut [f32]) {
    if corners.iter().any(|c| c.w < 0.1) {
        return;
    }
    let size = [f64::from(width), f64::from(height)];
    let at = corners
        .map(|c| [(0.5 + 0.5 * c.x / c.w) * size[0], (0.5 - 0.5 * c.y / c.w) * size[1], c.z / c.w]);
    let cross = |a: [f64; 3], b: [f64; 3], x: f64, y: f64| {
        (b[0] - a[0]) * (y - a[1]) - (b[1] - a[1]) * (x - a[0])
    };
    // Rows go down, so what is counter-clockwise has a negative area.
    let area = -cross(at[0], at[1], at[2][0], at[2][1]);
    if area <= 0.0 {
        return;
    }
    let range = |axis: usize| {
        let low = at.iter().map(|p| p[axis]).fold(f64::INFINITY, f64::min);
        let high = at.iter().map(|p| p[axis]).fold(f64::NEG_INFINITY, f64::max);
        let clamped = |v: f64| v.clamp(0.0, size[axis]) as usize;
        clamped((low - 0.5).ceil())..clamped((high + 0.5).floor())
    };
    let (columns, rows) = (range(0), range(1));
    for row in rows {
        for column in columns.clone() {
            let (x, y) = (column as f64 + 0.5, row as f64 + 0.5);
            let share = [(1, 2), (2, 0), (0, 1)].map(|(a, b)| -cross(at[a], at[b], x, y) / area);
            if share.iter().all(|&s| s >= 0.0) {
                let depth = (0..3).map(|i| share[i] * at[i][2]).sum::<f64>() as f32;
                let pixel = &mut depths[row * width as usize + column];
                *pixel = pixel.max(depth);
            }
        }
    }
}

/// Compares the depths of the two; returns a line about it.
pub fn pixels(picture: &Picture, expected: &[f32], [width, _]: [u32; 2]) -> Result<String, String> {
    if picture.depths.len() != expected.len() {
        return Err(format!("{} pixels instead of {}", picture.depths.len(), expected.len()));
    }
    let (mut cover, mut apart) = (0, 0);
    for (&found, &expected) in picture.depths.iter().zip(expected) {
        if (found > 0.0) != (expected > 0.0) {
            cover += 1;
        } else if (found - expected).abs() > 0.01 * expected {
            apart += 1;
        }
    }
    let count = expected.len();
    let holes = holes(&picture.depths, width as usize);
    let summary = format!(
        "{count} pixels: {cover} covered by one only, {apart} more than 1 % nearer or farther, \
         {holes} holes"
    );
    let covered = expected.iter().filter(|&&depth| depth > 0.0).count();
    let is_ground_visible = covered > count / 3;
    let is_close = f64::from(cover + apart) <= PIXEL_LIMIT * count as f64;
    if is_ground_visible && is_close && holes == 0 { Ok(summary) } else { Err(summary) }
}

/// Pixels of sky with ground on all four sides next to them: cracks.
fn holes(depths: &[f32], width: usize) -> usize {
    let is_ground = |i: usize| depths.get(i).is_some_and(|&depth| depth > 0.0);
    let is_hole = |&i: &usize| {
        // Those at the left and at the right have no pixel beside them.
        (1..width - 1).contains(&(i % width))
            && !is_ground(i)
            && [i.wrapping_sub(1), i + 1, i.wrapping_sub(width), i + width]
                .into_iter()
                .all(is_ground)
    };
    (0..depths.len()).filter(is_hole).count()
}
