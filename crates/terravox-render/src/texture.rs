//! The ground's textures: an array of layers, generated for the materials of a world on first
//! use, and sampled by the rules of `terravox::mesh::shade`.
//!
//! Source of the mip levels: Williams, "Pyramidal Parametrics" (1983): a pixel interpolates
//! the two levels whose texels are about as large as it is.

use crate::colour::{linear_from_srgb, srgb_from_linear};
use crate::pattern::{Pattern, PatternKind, patterns};
use glam::{DVec3, Vec2, Vec3};
use std::sync::OnceLock;
use terravox::mesh::shade::{Shading, SlopeRule, coordinates};
use terravox::voxel::MaterialTable;

/// Texels along the edge of a layer: a power of two.
const LAYER_TEXELS: usize = 256;

/// Voxels along the edge of a layer, which repeats.
const LAYER_VOXELS: f64 = 8.0;

/// Frequencies below this many waves along the edge are removed from textures.
const MIN_FREQUENCY: usize = 16;

/// Linear colour of bare ground if no material is named Ground.
const EARTH: Vec3 = Vec3::new(0.156, 0.093, 0.045);

/// The vertical component of normals from which the sides of turf show as its top, and below which
/// they are bare: slopes of grass are green up to 50 degrees, and walls are earth from 70.
const TURF_NORMAL_Y: [f32; 2] = [0.64, 0.34];

/// Samples of less weight are skipped.
const MIN_WEIGHT: f32 = 0.02;

/// The textures of a world.
pub(crate) struct Textures {
    shading: Shading,
    patterns: Vec<Pattern>,
    /// By layer: that of the top of the turf of which it is the side.
    turf_tops: Vec<Option<usize>>,
    /// Generated from the patterns on first use.
    layers: Vec<OnceLock<MipmappedLayer>>,
    /// Linear value of each sRGB byte.
    linear: [f32; 256],
}

/// A texture and its mip levels down to one texel; sRGB, rows from the top.
struct MipmappedLayer(Vec<Box<[[u8; 3]]>>);

/// Materials and their weights at a point.
#[derive(Default)]
pub(crate) struct MaterialWeights {
    weights: [(u8, f32); 12],
    count: usize,
}

impl Textures {
    /// Textures in the colours of a table, with patterns by material name. If grass or rock is
    /// not listed, `unset` stands in for it.
    pub fn new(materials: &MaterialTable, unset: u8) -> Textures {
        let linear: [f32; 256] = std::array::from_fn(|byte| linear_from_srgb(byte as u8));
        let colour = |id: u8| Vec3::from(materials.colour(id).map(|v| linear[usize::from(v)]));
        let earth = materials.find("Ground").map_or(EARTH, colour);
        let [flat, steep] = ["Grass", "Rock"].map(|name| materials.find(name).unwrap_or(unset));
        let slope = SlopeRule { unset, flat, steep, ..SlopeRule::default() };
        let mut shading = Shading { slope, ..Shading::new(materials) };
        // Each listed material, and one for all others.
        let last = materials.materials().len().min(255) as u8;
        let (mut layers, mut turf_tops): (Vec<Pattern>, Vec<Option<usize>>) = Default::default();
        for id in 0..=last {
            let own = patterns(&materials.name(id), colour(id), earth, id.into());
            let [side, top, bottom] = own.map(|pattern| {
                let known = layers.iter().position(|layer| *layer == pattern);
                known.unwrap_or_else(|| {
                    layers.push(pattern);
                    layers.len() - 1
                }) as u32
            });
            shading.layers.set(id, side, top, bottom);
            turf_tops.resize(layers.len(), None);
            if matches!(own[0].kind, PatternKind::Turf(_)) {
                turf_tops[side as usize] = Some(top as usize);
            }
        }
        for id in last..=255 {
            shading.layers.layers[usize::from(id)] = shading.layers.layers[usize::from(last)];
        }
        let empty = layers.iter().map(|_| OnceLock::new()).collect();
        Textures { shading, patterns: layers, turf_tops, layers: empty, linear }
    }

    /// Returns the linear colour of the ground at a point, in voxels, with normal `normal` out
    /// of the ground; `footprint` is the width of a pixel there, voxels.
    pub fn colour(
        &self,
        point: DVec3,
        normal: Vec3,
        footprint: f64,
        weights: &MaterialWeights,
    ) -> Vec3 {
        // Exact at any distance: the period is a whole number of voxels.
        let place = point.rem_euclid(DVec3::splat(LAYER_VOXELS)).as_vec3().to_array();
        let level = (footprint * (LAYER_TEXELS as f64 / LAYER_VOXELS)).max(1.0).log2() as f32;
        let normal = normal.to_array();
        let [sloping, upright] = TURF_NORMAL_Y;
        let bare = ((sloping - normal[1]) / (sloping - upright)).clamp(0.0, 1.0);
        let (mut sum, mut all) = (Vec3::ZERO, 0.0);
        for sample in self.shading.samples(normal, weights.iter()) {
            if sample.weight > MIN_WEIGHT {
                let axis = usize::from(sample.axis);
                let at = Vec2::from(coordinates(place, normal, axis)) / LAYER_VOXELS as f32;
                let layer = sample.layer as usize;
                let light = match self.turf_tops[layer] {
                    Some(top) if bare <= 0.0 => self.sample(top, at, level),
                    Some(top) if bare < 1.0 => {
                        self.sample(top, at, level).lerp(self.sample(layer, at, level), bare)
                    }
                    _ => self.sample(layer, at, level),
                };
                sum += light * sample.weight;
                all += sample.weight;
            }
        }
        sum / all.max(MIN_WEIGHT)
    }

    /// Returns the trilinear sample of a layer at texture coordinates, 0 to 1, at a mip level.
    fn sample(&self, layer: usize, place: Vec2, level: f32) -> Vec3 {
        let layer = self.layers[layer].get_or_init(|| MipmappedLayer::new(&self.patterns[layer]));
        let last = layer.0.len() - 1;
        let finer = (level as usize).min(last);
        let light = layer.bilinear(finer, place, &self.linear);
        let coarser = (finer + 1).min(last);
        let way = level - finer as f32;
        if finer == coarser || way <= 0.0 {
            return light;
        }
        light.lerp(layer.bilinear(coarser, place, &self.linear), way.min(1.0))
    }
}

impl MipmappedLayer {
    fn new(pattern: &Pattern) -> MipmappedLayer {
        let place = |i: usize| Vec2::new((i % LAYER_TEXELS) as f32, (i / LAYER_TEXELS) as f32);
        let light = |i: usize| pattern.at((place(i) + 0.5) / LAYER_TEXELS as f32).max(Vec3::ZERO);
        let mut texels: Vec<Vec3> = (0..LAYER_TEXELS * LAYER_TEXELS).map(light).collect();
        flatten(&mut texels, pattern.colour);
        let mut levels = Vec::new();
        let mut edge = LAYER_TEXELS;
        loop {
            levels.push(texels.iter().map(|&texel| srgb_from_linear(texel)).collect());
            if edge == 1 {
                return MipmappedLayer(levels);
            }
            texels = halved(&texels, edge);
            edge /= 2;
        }
    }

    /// Returns the bilinear sample of a mip level, linear.
    fn bilinear(&self, level: usize, place: Vec2, linear: &[f32; 256]) -> Vec3 {
        let texels = &self.0[level];
        let texel = |i: usize| Vec3::from(texels[i].map(|v| linear[usize::from(v)]));
        bilinear(LAYER_TEXELS >> level, place, texel)
    }
}

/// Returns the bilinear sample of a repeating texture.
fn bilinear(edge: usize, place: Vec2, texel: impl Fn(usize) -> Vec3) -> Vec3 {
    let at = place * edge as f32 - 0.5;
    let low = at.floor();
    let part = at - low;
    let [x, y] = low.to_array().map(|v| v as i32);
    let wrapped = |v: i32| (v & (edge as i32 - 1)) as usize;
    let texel = |x: i32, y: i32| texel(wrapped(y) * edge + wrapped(x));
    let top = texel(x, y).lerp(texel(x + 1, y), part.x);
    top.lerp(texel(x, y + 1).lerp(texel(x + 1, y + 1), part.x), part.y)
}

/// Scales a texture to a mean colour and removes low frequencies, which from a distance would
/// show as a grid of tiles.
fn flatten(texels: &mut [Vec3], colour: Vec3) {
    let (mut slow, mut edge) = (texels.to_vec(), LAYER_TEXELS);
    while edge > MIN_FREQUENCY {
        slow = halved(&slow, edge);
        edge /= 2;
    }
    // Black stays black.
    let factor = |mean: Vec3| colour / mean.max(Vec3::splat(1e-6));
    for (i, texel) in texels.iter_mut().enumerate() {
        let place = (Vec2::new((i % LAYER_TEXELS) as f32, (i / LAYER_TEXELS) as f32) + 0.5)
            / LAYER_TEXELS as f32;
        *texel *= factor(bilinear(edge, place, |i| slow[i]));
    }
    let mean = texels.iter().sum::<Vec3>() / texels.len() as f32;
    texels.iter_mut().for_each(|texel| *texel *= factor(mean));
}

/// Returns the next mip level: the mean of each four texels.
fn halved(texels: &[Vec3], edge: usize) -> Vec<Vec3> {
    let half = edge / 2;
    let mean = |i: usize| {
        let at = 2 * (i / half) * edge + 2 * (i % half);
        (texels[at] + texels[at + 1] + texels[at + edge] + texels[at + edge + 1]) * 0.25
    };
    (0..half * half).map(mean).collect()
}

impl MaterialWeights {
    /// Adds the materials of a corner with barycentric weight `corner`.
    pub fn add(&mut self, materials: [u8; 4], weights: [u8; 4], corner: f32) {
        for (id, weight) in materials.into_iter().zip(weights).filter(|entry| entry.1 > 0) {
            let share = corner * f32::from(weight) / 255.0;
            match self.weights[..self.count].iter_mut().find(|entry| entry.0 == id) {
                Some(entry) => entry.1 += share,
                None => {
                    self.weights[self.count] = (id, share);
                    self.count += 1;
                }
            }
        }
    }

    fn iter(&self) -> impl Iterator<Item = (u8, f32)> {
        self.weights[..self.count].iter().copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use terravox::mesh::shade::UNSET;

    const GRASS: u8 = 2;
    const ROCK: u8 = 8;

    fn textures() -> Textures {
        Textures::new(&MaterialTable::default(), UNSET)
    }

    fn of(id: u8) -> MaterialWeights {
        let mut weights = MaterialWeights::default();
        weights.add([id, 0, 0, 0], [255, 0, 0, 0], 1.0);
        weights
    }

    fn palette(id: u8) -> Vec3 {
        Vec3::from(MaterialTable::default().colour(id).map(linear_from_srgb))
    }

    #[test]
    fn far_ground_has_the_colour_of_its_material() {
        let textures = textures();
        for id in [ROCK, 5, 6, 10, 17, 22, 200] {
            let p = DVec3::new(3.3, 1.0, 7.9);
            let far = textures.colour(p, Vec3::Y, 1e6, &of(id));
            assert!(far.abs_diff_eq(palette(id), 0.012), "{id}: {far} and {}", palette(id));
            let values: Vec<f32> = (0..200)
                .map(|i| textures.colour(p + f64::from(i) * 0.173, Vec3::Y, 0.0, &of(id)).y)
                .collect();
            let mean = values.iter().sum::<f32>() / 200.0;
            assert!((mean / palette(id).y - 1.0).abs() < 0.15, "{id}: {mean}");
            let spread = values.iter().map(|v| (v - mean).abs()).sum::<f32>() / 200.0;
            assert!(spread > 0.02 * mean, "{id}: {spread}");
        }
    }

    #[test]
    fn sides_of_grass_are_not_its_top_and_unset_ground_goes_by_its_slope() {
        let textures = textures();
        let far =
            |normal: Vec3, id: u8| textures.colour(DVec3::ZERO, normal.normalize(), 1e6, &of(id));
        let [top, side, below] = [Vec3::Y, Vec3::X, -Vec3::Y].map(|normal| far(normal, GRASS));
        assert!(top.y > top.x && below.x > below.y, "{top} {below}");
        assert!(side.x / side.y > 1.15 * top.x / top.y, "{side} {top}");
        // Slopes of grass are green; walls are earth.
        let sloping = far(Vec3::new(0.7, 0.71, 0.0), GRASS);
        assert!(sloping.abs_diff_eq(top, 1e-3), "{sloping} {top}");
        let wall = far(Vec3::new(0.95, 0.3, 0.0), GRASS);
        assert!(wall.x / wall.y > 1.15 * top.x / top.y, "{wall} {top}");
        assert_eq!(far(Vec3::Y, UNSET), top);
        assert_eq!(far(Vec3::Z, UNSET), far(Vec3::Z, ROCK));
        let [x, y] = [0.6_f32, 0.8];
        let blended = far(Vec3::new(x, y, 0.0), UNSET);
        assert!(blended != far(Vec3::new(x, y, 0.0), GRASS));
        assert!(blended != far(Vec3::new(x, y, 0.0), ROCK));
    }

    #[test]
    fn a_table_without_ground_has_brown_earth_under_its_grass() {
        let few = MaterialTable::default().materials()[..3].to_vec();
        let textures = Textures::new(&MaterialTable::new(few), UNSET);
        let below = textures.colour(DVec3::ZERO, -Vec3::Y, 1e6, &of(GRASS));
        assert!(below.x > below.y && below.y > below.z && below.z > 0.02, "{below}");
        // Neither grass nor rock is needed: then unset ground is even.
        let none = Textures::new(&MaterialTable::new(Vec::new()), UNSET);
        let [flat, steep] = [Vec3::Y, Vec3::X].map(|n| none.colour(DVec3::ZERO, n, 1e6, &of(9)));
        assert!(flat.abs_diff_eq(steep, 1e-3) && flat.min_element() > 0.1, "{flat} {steep}");
    }

    #[test]
    fn a_texture_comes_again_far_from_the_origin_too() {
        let textures = textures();
        let p = DVec3::new(1.625, 0.25, -0.875);
        let near = textures.colour(p, Vec3::Z, 0.01, &of(ROCK));
        let far = textures.colour(p + DVec3::splat(LAYER_VOXELS * 1e8), Vec3::Z, 0.01, &of(ROCK));
        assert_eq!(near, far);
        let beside = textures.colour(p + DVec3::X * 1e-6, Vec3::Z, 0.01, &of(ROCK));
        assert!(near.abs_diff_eq(beside, 1e-3));
    }

    #[test]
    fn shares_of_the_corners_add_up() {
        let mut weights = MaterialWeights::default();
        weights.add([2, 8, 0, 0], [204, 51, 0, 0], 0.5);
        weights.add([8, 0, 0, 0], [255, 0, 0, 0], 0.25);
        weights.add([3, 4, 5, 6], [75, 60, 60, 60], 0.25);
        let all: Vec<(u8, f32)> = weights.iter().collect();
        assert_eq!(all.iter().map(|entry| entry.0).collect::<Vec<_>>(), [2, 8, 3, 4, 5, 6]);
        assert!((all[1].1 - 0.35).abs() < 1e-6);
        assert!((all.iter().map(|entry| entry.1).sum::<f32>() - 1.0).abs() < 1e-6);
    }
}
