//! Columns of the land: the relief, with rivers cut into it, terraces that follow the layers of
//! stone, and sinkholes.

use super::climate::{Setting, mix, smooth_step};
use super::lattice::Points;
use super::relief::{Biomes, UncutLand};
use super::rivers::{REACH, Rivers};
use super::sinkholes;

/// Columns of cells: their heights, water, and what decides their materials.
pub(super) struct Landscape {
    /// Height of the ground, voxels.
    pub height: Vec<f32>,
    /// Level of river or lake, voxels; [`NO_WATER`] where there is none. The sea is apart.
    pub water: Vec<f32>,
    pub biomes: Vec<Biomes>,
}

/// The level of water where there is none.
pub(super) const NO_WATER: f32 = -1e6;

/// Voxels that the banks of a river rise above the ground at most: where it crosses a hollow that
/// the samples of its level missed. Where more would be needed, there is no water.
pub(super) const MAX_FILL: f32 = 4.0;

/// Height of a layer of stone, voxels.
pub(super) const LAYER: f32 = 13.0;

/// By how much terraces raise the ground at most, voxels: 0.78 × 0.263 of a layer, where the cliff
/// of [`terrace`] ends.
pub(super) const HIGHEST_TERRACE: f32 = 3.0;

impl Landscape {
    /// The land of points, which are a multiple of eight.
    pub fn at(setting: &Setting<'_>, points: &Points) -> Landscape {
        let warped = setting.warped(points);
        let UncutLand { height, biomes } = UncutLand::at(setting, points, &warped);
        let rivers = Rivers::at(setting, &setting.meandered(points, &warped));
        let sinkholes = sinkholes::depths(setting, points);
        let water = vec![NO_WATER; points.len()];
        let mut land = Landscape { height, water, biomes };
        for (i, &sinkhole) in sinkholes.iter().enumerate() {
            land.finish(&rivers, sinkhole, i);
        }
        land
    }

    /// Cuts rivers, terraces and a sinkhole of a depth.
    fn finish(&mut self, rivers: &Rivers, sinkhole: f32, i: usize) {
        let (height, biomes) = (self.height[i], &self.biomes[i]);
        let by_the_sea = smooth_step(2.0, 8.0, height) * smooth_step(60.0, 25.0, height);
        let cliffs = 0.5 * biomes.cliffs * by_the_sea * (1.0 - biomes.wetland);
        let terraced = biomes.mesa.max(0.55 * biomes.badlands).max(cliffs);
        let bed = self.carve(rivers, height, i);
        let biomes = &self.biomes[i];
        let amount = terraced * smooth_step(3.0, 16.0, bed.beside) * (1.0 - biomes.dunes);
        let height = mix(bed.height, terrace(bed.height, biomes.fold), amount);
        // Terraces do not cut below the banks.
        let height = height.max(bed.bank.min(bed.height));
        // Sinkholes end above the sea, and are not beside rivers.
        let hole = sinkhole * smooth_step(30.0, 60.0, bed.beside) * (1.0 - biomes.dunes);
        self.height[i] = if height > 4.0 { (height - hole).max(4.0) } else { height };
    }

    /// Cuts a river and its valley.
    fn carve(&mut self, rivers: &Rivers, height: f32, i: usize) -> RiverBed {
        let beside = rivers.beside[i];
        let (level, half_width) = (rivers.level[i], rivers.half_width[i]);
        // Banks are not raised into dams.
        let is_there = 1.0 - smooth_step(0.5 * MAX_FILL, 0.8 * MAX_FILL, level - height);
        if beside >= REACH || is_there <= 0.0 {
            return RiverBed { height, beside: REACH, bank: f32::NEG_INFINITY };
        }
        let bank = if beside >= 0.0 {
            level + 0.5 + 0.03 * beside + 0.9 * smooth_step(0.0, 5.0, beside)
        } else {
            let inside = (-beside / half_width).clamp(0.0, 1.0);
            let deep = (1.4 + 0.22 * half_width).min(9.0);
            level + 0.5 - (0.5 + deep) * inside * (2.0 - inside)
        };
        let biomes = &mut self.biomes[i];
        let steep = 2.4 - 1.3 * biomes.mesa - 0.6 * biomes.mountains;
        let valley = (14.0 + steep * (height - level).abs()).min(REACH);
        let side = mix(1.0, smooth_step(0.0, valley, beside), is_there);
        // Rivers do not raise banks out of the sea.
        let on_land = smooth_step(-1.5, 0.5, height);
        let raised = smooth_step(0.0, 2.5, level).max(on_land);
        let lowered = mix(bank, height, side);
        // No higher than the water needs.
        let held = lowered.min(height.max(level + 0.5));
        let carved = if lowered > height { mix(height, held, raised) } else { lowered };
        biomes.river = is_there * (1.0 - smooth_step(0.5, 5.0, beside));
        if beside < 4.0 && level > 0.0 && carved < level && is_there > 0.9 {
            self.water[i] = level;
        }
        let far = (1.0 - is_there) + smooth_step(60.0, 140.0, beside);
        let bank = level + 0.5 - 2.0 * LAYER * far;
        RiverBed { height: carved, beside: mix(REACH, beside, is_there), bank }
    }
}

/// The ground that a river has cut.
struct RiverBed {
    /// Height, voxels.
    height: f32,
    /// Distance from the water, voxels; [`REACH`] if there is none.
    beside: f32,
    /// What terraces do not cut below, voxels.
    bank: f32,
}

/// Steps that follow the layers of stone: a ledge on each, and a cliff up to the next.
fn terrace(height: f32, fold: f32) -> f32 {
    let layers = (height - fold) / LAYER;
    let layer = layers.floor();
    let t = layers - layer;
    (layer + 0.22 * t + 0.78 * smooth_step(0.58, 0.74, t)) * LAYER + fold
}
