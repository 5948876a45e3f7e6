//! The slow twin of the importer, voxel by voxel from the definition: interpolates every height
//! anew and skips nothing.

use super::patches::Patches;
use super::{HeightmapOptions, Heights};
use terravox::voxel::{Cell, VoxelPos};

/// Evaluates the spline through four values at `t` between the middle two, clamped to their range.
fn cubic(p: [f64; 4], t: f64) -> f64 {
    let [a, b, c, d] = p;
    let cube = -a + 3.0 * b - 3.0 * c + d;
    let square = 2.0 * a - 5.0 * b + 4.0 * c - d;
    let value = 0.5 * (2.0 * b + (c - a) * t + square * t * t + cube * t * t * t);
    let low = p.into_iter().fold(f64::INFINITY, f64::min);
    let high = p.into_iter().fold(f64::NEG_INFINITY, f64::max);
    value.clamp(low, high)
}

/// Returns the height of the surface at the centre of the column (x, z), for scales of 1 or more.
fn height(heights: &Heights, options: &HeightmapOptions, x: i64, z: i64) -> f64 {
    let [w, d] = heights.size.map(|samples| samples as i64);
    let at = |column: i64, samples: i64| {
        let columns = (samples as f64 * options.voxels_per_sample).round();
        let column = column.clamp(0, columns as i64 - 1);
        (column as f64 + 0.5) * samples as f64 / columns - 0.5
    };
    let (u, v) = (at(x, w), at(z, d));
    let sample = |i: i64, j: i64| {
        let value = heights.values[(i.clamp(0, w - 1) + w * j.clamp(0, d - 1)) as usize];
        // The importer stores heights in single precision.
        f64::from((options.base_voxels + f64::from(value) * options.height_voxels) as f32)
    };
    let (i, j) = (u.floor() as i64, v.floor() as i64);
    let row = |j: i64| cubic([-1, 0, 1, 2].map(|k| sample(i + k, j)), u - u.floor());
    cubic([-1, 0, 1, 2].map(|k| row(j + k)), v - v.floor())
}

/// Returns the cell at `pos`, and the stored water if the cell is solid.
pub(super) fn cell(
    heights: &Heights,
    options: &HeightmapOptions,
    pos: VoxelPos,
) -> (Cell, Option<u8>) {
    let [ox, oz] = options.origin;
    let (x, z) = (i64::from(pos.x - ox), i64::from(pos.z - oz));
    let [w, d] = heights.size.map(|n| (n as f64 * options.voxels_per_sample).round() as i64);
    let lowest = f64::from(heights.range()[if options.height_voxels < 0.0 { 1 } else { 0 }]);
    let lowest = f64::from((options.base_voxels + lowest * options.height_voxels) as f32);
    let bottom = lowest - options.depth_voxels;
    if x < 0 || z < 0 || x >= w || z >= d || f64::from(pos.y) < bottom.floor() {
        return (Cell::AIR, None);
    }
    let h = |dx: i64, dz: i64| height(heights, options, x + dx, z + dz);
    let (sx, sz) = ((h(1, 0) - h(-1, 0)) / 2.0, (h(0, 1) - h(0, -1)) / 2.0);
    let slope = sx.hypot(sz);
    let neighbourhood: Vec<f64> = (-1..=1)
        .flat_map(|dz| (-1..=1).map(move |dx| (dx, dz)))
        .map(|(dx, dz)| h(dx, dz))
        .collect();
    let highest = neighbourhood.iter().copied().fold(f64::MIN, f64::max);
    let lowest = neighbourhood.iter().copied().fold(f64::MAX, f64::min);
    let y = f64::from(pos.y) + 0.5;
    let depth = h(0, 0) - y;
    let units = |distance: f64| ((distance + 0.5).clamp(0.0, 1.0) * 256.0).round() as u32;
    let solid_units = units((depth / (1.0 + slope * slope).sqrt()).clamp(lowest - y, highest - y));
    let water_units = options.sea_level.map_or(0, |sea| units(sea - y));
    let stored = |units: u32| Some((units as u8).wrapping_sub(1)).filter(|_| units > 0);
    if solid_units == 0 {
        return (
            stored(water_units).map_or(Cell::AIR, |occupancy| Cell::new(options.water, occupancy)),
            None,
        );
    }
    let ends = heights.range().map(|value| {
        f64::from((options.base_voxels + f64::from(value) * options.height_voxels) as f32)
    });
    let range = [ends[0].min(ends[1]), ends[0].max(ends[1])];
    let [seen_height, seen_slope] =
        Patches::new(options.patches, range).moved([x, z], h(0, 0), slope);
    let contains = |range: [f64; 2], value: f64| (range[0]..=range[1]).contains(&value);
    let rule = options
        .rules
        .iter()
        .find(|rule| contains(rule.height_voxels, seen_height) && contains(rule.slope, seen_slope));
    let surface = rule.map_or(options.material, |rule| rule.material);
    let is_below_turf = options.turf.materials.contains(&surface)
        && depth / (1.0 + slope * slope).sqrt() >= options.turf.depth_voxels;
    let material = match depth < options.surface_voxels {
        true if is_below_turf => options.turf.earth,
        true => surface,
        false => options.material_below,
    };
    (
        Cell::new(material, (solid_units - 1) as u8),
        stored(water_units).filter(|_| solid_units < 256),
    )
}
