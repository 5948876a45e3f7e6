//! The ground's textures: an array of layers, made for the materials of a world when they
//! are first seen, and looked up as the library's `mesh::shade` says.
//!
//! Source of the smaller copies: Williams, "Pyramidal Parametrics" (1983): what a pixel
//! covers is looked up in the two copies whose texels are about as large, so that far
//! ground is even and does not flicker.

use crate::image::srgb;
use crate::pattern::{Pattern, patterns};
use crate::shade::linear_from_srgb;
use glam::{DVec3, Vec2, Vec3};
use std::sync::OnceLock;
use terravox::mesh::shade::{Shading, SlopeRule, coordinates};
use terravox::voxel::MaterialTable;

/// Texels along the edge of a layer: a power of two.
const EDGE: usize = 256;

/// Voxels that a layer covers; then it comes again.
const REPEAT: f64 = 8.0;

/// Waves of a texture that come fewer times than this along its edge are taken out.
const SLOW: usize = 16;

/// Linear colour of bare ground where no material is called so.
const EARTH: Vec3 = Vec3::new(0.156, 0.093, 0.045);

/// What shows less than this is not looked up.
const LEAST: f32 = 0.02;

/// The textures of a world.
pub(crate) struct Textures {
    shading: Shading,
    patterns: Vec<Pattern>,
    /// By layer; made when it is first seen.
    layers: Vec<OnceLock<Layer>>,
    /// Linear light by sRGB byte.
    linear: [f32; 256],
}

/// A texture and its copies, each half as large as the one before, down to one texel; sRGB,
/// rows from the top.
struct Layer(Vec<Box<[[u8; 3]]>>);

/// Materials and their shares at a point.
#[derive(Default)]
pub(crate) struct Shares {
    shares: [(u8, f32); 12],
    count: usize,
}

impl Textures {
    /// Textures in the colours of a table, and by its names where they are known. Where
    /// grass or rock is not listed, `unset` stands for it.
    pub fn new(materials: &MaterialTable, unset: u8) -> Textures {
        let linear: [f32; 256] = std::array::from_fn(|byte| linear_from_srgb(byte as u8));
        let colour = |id: u8| Vec3::from(materials.colour(id).map(|v| linear[usize::from(v)]));
        let earth = materials.find("Ground").map_or(EARTH, colour);
        let [flat, steep] = ["Grass", "Rock"].map(|name| materials.find(name).unwrap_or(unset));
        let slope = SlopeRule { unset, flat, steep, ..SlopeRule::default() };
        let mut shading = Shading { slope, ..Shading::new(materials) };
        // Of each material that is listed, and of one that stands for all others.
        let last = materials.materials().len().min(255) as u8;
        let mut layers: Vec<Pattern> = Vec::new();
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
        }
        for id in last..=255 {
            shading.layers.layers[usize::from(id)] = shading.layers.layers[usize::from(last)];
        }
        let made = layers.iter().map(|_| OnceLock::new()).collect();
        Textures { shading, patterns: layers, layers: made, linear }
    }

    /// Linear colour of the ground at a point, in voxels, whose normal out of the ground is
    /// `normal`; `footprint` is the width of a pixel there, voxels.
    pub fn colour(&self, point: DVec3, normal: Vec3, footprint: f64, shares: &Shares) -> Vec3 {
        // A repeat is a whole number of voxels, so this is exact however far off the point is.
        let place = point.rem_euclid(DVec3::splat(REPEAT)).as_vec3().to_array();
        let level = (footprint * (EDGE as f64 / REPEAT)).max(1.0).log2() as f32;
        let normal = normal.to_array();
        let (mut sum, mut all) = (Vec3::ZERO, 0.0);
        for sample in self.shading.samples(normal, shares.iter()) {
            if sample.weight > LEAST {
                let axis = usize::from(sample.axis);
                let at = Vec2::from(coordinates(place, normal, axis)) / REPEAT as f32;
                sum += self.looked_up(sample.layer as usize, at, level) * sample.weight;
                all += sample.weight;
            }
        }
        sum / all.max(LEAST)
    }

    /// A layer at a place in it, from 0 to 1, in texels of 2^level.
    fn looked_up(&self, layer: usize, place: Vec2, level: f32) -> Vec3 {
        let layer = self.layers[layer].get_or_init(|| Layer::new(&self.patterns[layer]));
        let last = layer.0.len() - 1;
        let finer = (level as usize).min(last);
        let light = layer.between(finer, place, &self.linear);
        let coarser = (finer + 1).min(last);
        let way = level - finer as f32;
        if finer == coarser || way <= 0.0 {
            return light;
        }
        light.lerp(layer.between(coarser, place, &self.linear), way.min(1.0))
    }
}

impl Layer {
    fn new(pattern: &Pattern) -> Layer {
        let place = |i: usize| Vec2::new((i % EDGE) as f32, (i / EDGE) as f32);
        let light = |i: usize| pattern.at((place(i) + 0.5) / EDGE as f32).max(Vec3::ZERO);
        let mut texels: Vec<Vec3> = (0..EDGE * EDGE).map(light).collect();
        even_out(&mut texels, pattern.colour);
        let mut copies = Vec::new();
        let mut edge = EDGE;
        loop {
            copies.push(texels.iter().map(|&texel| srgb(texel)).collect());
            if edge == 1 {
                return Layer(copies);
            }
            texels = halved(&texels, edge);
            edge /= 2;
        }
    }

    /// Linear light between the four texels about a place, of a copy.
    fn between(&self, copy: usize, place: Vec2, linear: &[f32; 256]) -> Vec3 {
        let texels = &self.0[copy];
        let texel = |i: usize| Vec3::from(texels[i].map(|v| linear[usize::from(v)]));
        between(EDGE >> copy, place, texel)
    }
}

/// Between the four texels about a place of a texture that repeats.
fn between(edge: usize, place: Vec2, texel: impl Fn(usize) -> Vec3) -> Vec3 {
    let at = place * edge as f32 - 0.5;
    let low = at.floor();
    let part = at - low;
    let [x, y] = low.to_array().map(|v| v as i32);
    let wrapped = |v: i32| (v & (edge as i32 - 1)) as usize;
    let texel = |x: i32, y: i32| texel(wrapped(y) * edge + wrapped(x));
    let top = texel(x, y).lerp(texel(x + 1, y), part.x);
    top.lerp(texel(x, y + 1).lerp(texel(x + 1, y + 1), part.x), part.y)
}

/// Gives a texture a mean, and takes from it what varies slowly: from afar that would show
/// as a carpet of squares.
fn even_out(texels: &mut [Vec3], colour: Vec3) {
    let (mut slow, mut edge) = (texels.to_vec(), EDGE);
    while edge > SLOW {
        slow = halved(&slow, edge);
        edge /= 2;
    }
    // What is black stays black.
    let factor = |mean: Vec3| colour / mean.max(Vec3::splat(1e-6));
    for (i, texel) in texels.iter_mut().enumerate() {
        let place = (Vec2::new((i % EDGE) as f32, (i / EDGE) as f32) + 0.5) / EDGE as f32;
        *texel *= factor(between(edge, place, |i| slow[i]));
    }
    let mean = texels.iter().sum::<Vec3>() / texels.len() as f32;
    texels.iter_mut().for_each(|texel| *texel *= factor(mean));
}

/// A copy half as large: of each four texels the mean.
fn halved(texels: &[Vec3], edge: usize) -> Vec<Vec3> {
    let half = edge / 2;
    let mean = |i: usize| {
        let at = 2 * (i / half) * edge + 2 * (i % half);
        (texels[at] + texels[at + 1] + texels[at + edge] + texels[at + edge + 1]) * 0.25
    };
    (0..half * half).map(mean).collect()
}

impl Shares {
    /// Adds the materials of a corner whose weight is `corner`.
    pub fn add(&mut self, materials: [u8; 4], weights: [u8; 4], corner: f32) {
        for (id, weight) in materials.into_iter().zip(weights).filter(|entry| entry.1 > 0) {
            let share = corner * f32::from(weight) / 255.0;
            match self.shares[..self.count].iter_mut().find(|entry| entry.0 == id) {
                Some(entry) => entry.1 += share,
                None => {
                    self.shares[self.count] = (id, share);
                    self.count += 1;
                }
            }
        }
    }

    fn iter(&self) -> impl Iterator<Item = (u8, f32)> {
        self.shares[..self.count].iter().copied()
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

    fn of(id: u8) -> Shares {
        let mut shares = Shares::default();
        shares.add([id, 0, 0, 0], [255, 0, 0, 0], 1.0);
        shares
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
        assert_eq!(far(Vec3::Y, UNSET), top);
        assert_eq!(far(Vec3::Z, UNSET), far(Vec3::Z, ROCK));
        let [x, y] = [0.6_f32, 0.8];
        let between = far(Vec3::new(x, y, 0.0), UNSET);
        assert!(between != far(Vec3::new(x, y, 0.0), GRASS));
        assert!(between != far(Vec3::new(x, y, 0.0), ROCK));
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
        let far = textures.colour(p + DVec3::splat(REPEAT * 1e8), Vec3::Z, 0.01, &of(ROCK));
        assert_eq!(near, far);
        let beside = textures.colour(p + DVec3::X * 1e-6, Vec3::Z, 0.01, &of(ROCK));
        assert!(near.abs_diff_eq(beside, 1e-3));
    }

    #[test]
    fn shares_of_the_corners_add_up() {
        let mut shares = Shares::default();
        shares.add([2, 8, 0, 0], [204, 51, 0, 0], 0.5);
        shares.add([8, 0, 0, 0], [255, 0, 0, 0], 0.25);
        shares.add([3, 4, 5, 6], [75, 60, 60, 60], 0.25);
        let all: Vec<(u8, f32)> = shares.iter().collect();
        assert_eq!(all.iter().map(|entry| entry.0).collect::<Vec<_>>(), [2, 8, 3, 4, 5, 6]);
        assert!((all[1].1 - 0.35).abs() < 1e-6);
        assert!((all.iter().map(|entry| entry.1).sum::<f32>() - 1.0).abs() < 1e-6);
    }
}
