//! Floating islands: a top with hills and a bottom that hangs, as two heights per column.

use super::climate::{Setting, rounded_abs, smooth_step};
use super::lattice::Points;

/// Highest hill of an island above its level, voxels.
const HIGHEST_HILL: f32 = 6.0 + 11.0 * 1.501;

/// Below which height all islands are whose level is at most `level` above the mean, voxels. Where
/// an island is steep, cells above its top have some of it: tops rise by less than 5.7 voxels a
/// voxel, so that the unit normal is longer than 1/6 upwards.
pub(super) fn highest(level: f32, edge: f32) -> f32 {
    MEAN_LEVEL + level + HIGHEST_HILL + 3.0 * edge
}

/// Mean level of islands, voxels.
const MEAN_LEVEL: f32 = 225.0;

/// Term of their level.
pub(super) const LEVEL: [(f64, f32); 1] = [(900.0, 62.0)];
pub(super) const LEVEL_SALT: u64 = 225;

/// Terms of the size of islands: period in voxels, amplitude; and the salt of the first.
pub(super) const SIZE: [(f64, f32); 3] = [(330.0, 1.0), (140.0, 0.45), (60.0, 0.14)];
pub(super) const SALT: u64 = 220;

/// Heights of islands at points.
pub(super) struct Islands {
    top: Vec<f32>,
    bottom: Vec<f32>,
    /// 0 at the rim, where there is none beyond.
    size: Vec<f32>,
}

/// An island's heights at a column.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Island {
    pub top: f32,
    pub bottom: f32,
    /// Vertical component of the unit normals of top and bottom.
    pub normal_y: [f32; 2],
    pub is_forest: bool,
}

/// The islands at points; `None` if there are none at all.
pub(super) fn at(setting: &Setting<'_>, points: &Points) -> Option<Islands> {
    let amount = setting.options.islands;
    if amount <= 0.0 {
        return None;
    }
    let size = setting.sum(points, SALT, &SIZE, false);
    if size.iter().all(|&v| v < rim(amount)) {
        return None;
    }
    let level = setting.sum(points, LEVEL_SALT, &LEVEL, false);
    let hills = setting.sum(points, 226, &[(85.0, 8.0), (34.0, 3.0)], false);
    let roots = setting.sum(points, 230, &[(46.0, 1.0), (21.0, 0.4)], false);
    let mut islands = Islands { top: Vec::new(), bottom: Vec::new(), size: Vec::new() };
    for i in 0..points.len() {
        let inside = size[i] - rim(amount);
        let level = MEAN_LEVEL + level[i];
        let t = smooth_step(0.0, 0.55, inside);
        let thick = 62.0 * t + 26.0 * inside.max(0.0).sqrt();
        let hang = (0.55 + 0.9 * (0.6 - rounded_abs(roots[i]))).max(0.2);
        // Beyond the rim top and bottom change places, so that the edge is sharp but not torn.
        islands.top.push(level + 70.0 * inside.min(0.1) - 7.0 + t * (6.0 + hills[i]));
        islands.bottom.push(level - thick * hang - 60.0 * inside.min(0.0));
        islands.size.push(inside);
    }
    Some(islands)
}

/// The value at the rim of islands.
pub(super) fn rim(amount: f32) -> f32 {
    0.95 - 0.75 * amount
}

impl Islands {
    /// The island at a point; `wide` points to a row, twice the edge of a cell.
    pub fn column(&self, i: usize, wide: usize, double: f32) -> Option<Island> {
        if self.size[i] < 0.0 {
            return None;
        }
        let normal = |heights: &[f32]| {
            let x = (heights[i + 1] - heights[i - 1]) / double;
            let z = (heights[i + wide] - heights[i - wide]) / double;
            1.0 / (1.0 + x * x + z * z).sqrt()
        };
        Some(Island {
            top: self.top[i],
            bottom: self.bottom[i],
            normal_y: [normal(&self.top), normal(&self.bottom)],
            is_forest: self.size[i] > 0.25,
        })
    }
}
