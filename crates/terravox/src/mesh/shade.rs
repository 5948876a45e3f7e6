//! Triplanar texturing, for renderers: which layers of a texture array are sampled at a point of a
//! surface, with which weights and coordinates.
//!
//! A texture is projected along each axis, so that it is not stretched anywhere, and each material
//! may have different textures at its sides, from above and from below. Unpainted ground gets a
//! material by its slope. Everything depends on the channels of a vertex and its normal alone, so
//! blocks of any mips that share a vertex agree.
//!
//! `docs/materials.md` has the same as a shader.
//!
//! Sources: Geiss, "Generating Complex Procedural Terrains Using the GPU" (GPU Gems 3,
//! 2007) for the projections; smoothstep between two slopes.

use super::Surface;
use crate::voxel::MaterialTable;

/// The material of unpainted ground, which [`SlopeRule::default`] replaces. No table that ships
/// lists it.
///
/// ```
/// use terravox::generate::fill_sdf;
/// use terravox::mesh::shade::UNSET;
/// use terravox::voxel::{DenseBox, Region};
///
/// // A shape without materials.
/// let hills = |p: [f64; 3]| 4.0 + 0.3 * p[0] - p[1];
/// let mut cells = DenseBox::new(Region::new([0; 3], [8; 3]));
/// fill_sdf(&mut cells, 0, hills, |_| UNSET);
/// ```
pub const UNSET: u8 = 255;

/// Replaces one material by two others: one on flat ground, one on steep ground. Slope is 1 − n.y
/// for the unit normal n: 0 is level, 0.13 is 30°, 0.29 is 45°, 1 is vertical, 2 is a ceiling.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct SlopeRule {
    /// The material that is replaced.
    pub unset: u8,
    /// The material of flat ground.
    pub flat: u8,
    /// The material of steep ground.
    pub steep: u8,
    /// Slope up to which ground is flat.
    pub from: f32,
    /// Slope from which ground is steep. If not above `from`, there is no transition.
    pub to: f32,
}

impl Default for SlopeRule {
    /// Grass and rock of the default table for [`UNSET`], changing between 31° and 46°.
    fn default() -> SlopeRule {
        SlopeRule { unset: UNSET, flat: 2, steep: 8, from: 0.14, to: 0.3 }
    }
}

impl SlopeRule {
    /// Returns the share of the steep material, 0 to 1, for a unit normal: smoothstep between the
    /// two slopes. A zero or non-finite normal counts as level ground.
    pub fn steepness(&self, normal: [f32; 3]) -> f32 {
        let slope = 1.0 - valid_normal(normal)[1];
        if slope <= self.from {
            return 0.0;
        }
        if slope >= self.to {
            return 1.0;
        }
        let t = (slope - self.from) / (self.to - self.from);
        t * t * (3.0 - 2.0 * t)
    }

    /// Splits a share of a material into the flat and the steep one, if the rule replaces it.
    fn split(&self, material: u8, share: f32, steepness: f32) -> [(u8, f32); 2] {
        if material != self.unset {
            return [(material, share), (material, 0.0)];
        }
        let steep = share * steepness;
        [(self.flat, share - steep), (self.steep, steep)]
    }
}

/// Returns the weights of the projections along x, y and z: |n|^`sharpness` of each axis, divided
/// by their sum. A higher sharpness makes narrower transitions; 4 is usual, 0 weights all three
/// alike. A zero or non-finite normal counts as +y.
///
/// ```
/// use terravox::mesh::shade::projections;
///
/// assert_eq!(projections([0.0, 0.0, -1.0], 4), [0.0, 0.0, 1.0]);
/// assert_eq!(projections([0.6, 0.8, 0.0], 2), [0.36, 0.64, 0.0]);
/// ```
pub fn projections(normal: [f32; 3], sharpness: u32) -> [f32; 3] {
    let n = valid_normal(normal).map(f32::abs);
    let largest = n[0].max(n[1]).max(n[2]);
    // Relative to the largest: high powers of small numbers would underflow.
    let powers = n.map(|v| power(v / largest, sharpness));
    let sum = (powers[0] + powers[1]) + powers[2];
    powers.map(|v| v / sum)
}

/// Returns the texture coordinates of `position` in the projection along `axis` (0 x, 1 y, 2 z), in
/// the units of the position: u to the right and v down, as images are stored. No side is
/// mirrored: seen from outside, textures are upright on walls, and have north (−z) at their top on
/// floors and ceilings. With s = 1 where the normal's component along the axis is at least 0, else
/// −1:
///
/// | axis | u | v |
/// |---|---|---|
/// | x | −s z | −y |
/// | y | s x | z |
/// | z | s x | −y |
///
/// Where s changes, the projection has no weight. (∂/∂u, −∂/∂v, outward) is right-handed
/// on every side: +s along the axis is the third axis of a normal map whose green is up.
///
/// # Panics
/// If `axis` is above 2.
///
/// ```
/// use terravox::mesh::shade::coordinates;
///
/// // A wall that faces south is seen with +x to the right and +y up.
/// assert_eq!(coordinates([3.0, 5.0, 0.0], [0.0, 0.0, 1.0], 2), [3.0, -5.0]);
/// assert_eq!(coordinates([3.0, 5.0, 0.0], [0.0, 0.0, -1.0], 2), [-3.0, -5.0]);
/// ```
pub fn coordinates(position: [f32; 3], normal: [f32; 3], axis: usize) -> [f32; 2] {
    let [x, y, z] = position;
    let turned = |v: f32| if normal[axis] < 0.0 { -v } else { v };
    match axis {
        0 => [turned(-z), -y],
        1 => [turned(x), z],
        _ => [turned(x), -y],
    }
}

/// The layers of a texture array for each material.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(from = "Vec<[u32; 4]>", into = "Vec<[u32; 4]>"))]
pub struct LayerTable {
    /// By material: the layer along x, from above, along z, and from below.
    pub layers: [[u32; 4]; 256],
}

impl LayerTable {
    /// Gives each material that a table lists the layer of its id on all sides; all other ids share
    /// the next layer.
    pub fn new(materials: &MaterialTable) -> LayerTable {
        let listed = materials.materials().len() as u32;
        LayerTable { layers: std::array::from_fn(|id| [listed.min(id as u32); 4]) }
    }

    /// Sets the layers of a material: on its sides, from above, and from below.
    pub fn set(&mut self, material: u8, side: u32, top: u32, bottom: u32) {
        self.layers[usize::from(material)] = [side, top, side, bottom];
    }

    /// Returns the layer of `material` in the projection along `axis`, for a normal.
    ///
    /// # Panics
    /// If `axis` is above 2.
    pub fn layer(&self, material: u8, axis: usize, normal: [f32; 3]) -> u32 {
        assert!(axis < 3, "axis {axis}");
        let is_below = axis == 1 && normal[1] < 0.0;
        self.layers[usize::from(material)][if is_below { 3 } else { axis }]
    }

    /// Returns the number of layers that the texture array needs.
    pub fn layer_count(&self) -> u32 {
        self.layers.as_flattened().iter().max().map_or(0, |layer| layer.saturating_add(1))
    }
}

impl From<Vec<[u32; 4]>> for LayerTable {
    /// Takes the layers of the materials from 0 on; missing materials get layer 0, and entries
    /// beyond 256 are ignored.
    fn from(layers: Vec<[u32; 4]>) -> LayerTable {
        LayerTable { layers: std::array::from_fn(|id| layers.get(id).copied().unwrap_or_default()) }
    }
}

impl From<LayerTable> for Vec<[u32; 4]> {
    fn from(table: LayerTable) -> Vec<[u32; 4]> {
        table.layers.to_vec()
    }
}

/// One sample of a texture array.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Sample {
    /// Layer of the array.
    pub layer: u32,
    /// Axis of the projection, for [`coordinates`]: 0 x, 1 y, 2 z.
    pub axis: u8,
    /// Its weight, above 0. The weights at a point sum to 1, up to rounding.
    pub weight: f32,
}

/// How ground is textured. Any value is valid.
///
/// ```
/// use terravox::mesh::shade::{Shading, coordinates};
/// use terravox::voxel::MaterialTable;
///
/// let table = MaterialTable::default();
/// let mut shading = Shading::new(&table);
/// shading.layers.set(2, 24, 2, 14); // grass: its own sides, earth from below
/// let (position, normal) = ([3.5, 8.0, 1.0], [0.0, 1.0, 0.0]);
/// for sample in shading.samples(normal, [(2, 1.0)]) {
///     assert_eq!((sample.layer, sample.axis, sample.weight), (2, 1, 1.0));
///     assert_eq!(coordinates(position, normal, sample.axis.into()), [3.5, 1.0]);
/// }
/// ```
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Shading {
    /// Replaces the material of unpainted ground.
    pub slope: SlopeRule,
    /// The layers of each material.
    pub layers: LayerTable,
    /// Sharpness of [`projections`].
    pub sharpness: u32,
}

impl Shading {
    /// Bytes of [`Shading::bytes`].
    pub const BYTES: usize = 256 * 16 + 32;

    /// Maximum number of samples that [`Shading::vertex`] returns: four materials, one of which the
    /// slope rule may replace by two, along three axes.
    pub const MAX_SAMPLES: usize = 15;

    /// Makes the default slope rule and sharpness 4, with a layer for each material of a table.
    pub fn new(materials: &MaterialTable) -> Shading {
        Shading { slope: SlopeRule::default(), layers: LayerTable::new(materials), sharpness: 4 }
    }

    /// Returns the samples at a point with a unit normal, from materials with their shares: those
    /// of a vertex ([`Surface::shares`]), or of the three corners of a triangle, each times its
    /// barycentric weight. The weights sum to the sum of the shares.
    pub fn samples(
        &self,
        normal: [f32; 3],
        shares: impl IntoIterator<Item = (u8, f32)>,
    ) -> impl Iterator<Item = Sample> {
        let steepness = self.slope.steepness(normal);
        let projections = projections(normal, self.sharpness);
        let shown = move |(material, share)| self.slope.split(material, share, steepness);
        shares.into_iter().flat_map(shown).flat_map(move |(material, share)| {
            (0..3).filter_map(move |axis| {
                let layer = self.layers.layer(material, axis, normal);
                let weight = share * projections[axis];
                (weight > 0.0).then_some(Sample { layer, axis: axis as u8, weight })
            })
        })
    }

    /// Returns the samples at a vertex, at most [`Shading::MAX_SAMPLES`].
    ///
    /// # Panics
    /// If `vertex` is not below [`Surface::vertex_count`].
    pub fn vertex(&self, surface: &Surface, vertex: usize) -> impl Iterator<Item = Sample> {
        self.samples(surface.normals[vertex], surface.shares(vertex))
    }

    /// Returns this as a uniform buffer, all little-endian: the layers, a `vec4<u32>` for each
    /// material; unset, flat and steep material and the sharpness, u32 each; the slopes from
    /// and to, f32 each; 8 zero bytes.
    pub fn bytes(&self) -> [u8; Shading::BYTES] {
        let SlopeRule { unset, flat, steep, from, to } = self.slope;
        let ids = [unset, flat, steep].map(u32::from);
        let layers = self.layers.layers.as_flattened().iter().copied();
        let words = layers.chain(ids).chain([self.sharpness, from.to_bits(), to.to_bits()]);
        let mut bytes = [0; Shading::BYTES];
        for (at, word) in bytes.chunks_exact_mut(4).zip(words) {
            at.copy_from_slice(&word.to_le_bytes());
        }
        bytes
    }
}

impl Surface {
    /// Returns the materials of a vertex with their shares, largest first, summing to 1.
    ///
    /// # Panics
    /// If `vertex` is not below [`Surface::vertex_count`].
    pub fn shares(&self, vertex: usize) -> impl Iterator<Item = (u8, f32)> + use<> {
        let shares = self.materials[vertex].into_iter().zip(self.weights[vertex]);
        shares.filter(|share| share.1 > 0).map(|(id, weight)| (id, f32::from(weight) / 255.0))
    }
}

/// Returns `normal`, or +y if it is zero or non-finite.
fn valid_normal(normal: [f32; 3]) -> [f32; 3] {
    let is_valid = normal.iter().all(|v| v.is_finite()) && normal != [0.0; 3];
    if is_valid { normal } else { [0.0, 1.0, 0.0] }
}

/// Raises to a power by squaring: the same bits on every machine, unlike `powi`.
fn power(mut base: f32, mut exponent: u32) -> f32 {
    let mut product = 1.0;
    while exponent > 0 {
        if exponent & 1 == 1 {
            product *= base;
        }
        base *= base;
        exponent >>= 1;
    }
    product
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mesh::{BlockMesh, Mesher, PAD};
    use crate::voxel::{Cell, DenseBox, Region, VoxelPos};
    use proptest::prelude::*;

    fn shading() -> Shading {
        Shading::new(&MaterialTable::default())
    }

    /// Returns a unit normal of ground at this slope.
    fn at_degrees(degrees: f32) -> [f32; 3] {
        let (sin, cos) = degrees.to_radians().sin_cos();
        [sin * 0.6, cos, -sin * 0.8]
    }

    fn cross([a, b, c]: [f32; 3], [x, y, z]: [f32; 3]) -> [f32; 3] {
        [b * z - c * y, c * x - a * z, a * y - b * x]
    }

    #[test]
    fn along_an_axis_one_projection_has_all_weight() {
        for axis in 0..3 {
            for way in [1.0, -1.0] {
                let mut normal = [0.0; 3];
                normal[axis] = way;
                let mut one = [0.0; 3];
                one[axis] = 1.0;
                assert_eq!(projections(normal, 4), one);
                let samples: Vec<Sample> = shading().samples(normal, [(8, 1.0)]).collect();
                assert_eq!(samples, [Sample { layer: 8, axis: axis as u8, weight: 1.0 }]);
            }
        }
        let [x, y, z] = projections([0.6, -0.48, 0.64], 1);
        assert!((x - 0.6 / 1.72).abs() < 1e-6 && (y - 0.48 / 1.72).abs() < 1e-6 && z > x);
        assert_eq!(projections([0.6, 0.0, 0.8], 0), [1.0 / 3.0; 3]);
        let sharp = projections([0.6, 0.0, 0.8], 1_000_000);
        assert_eq!(sharp, [0.0, 0.0, 1.0]);
    }

    #[test]
    fn invalid_normals_count_as_up() {
        let bad = [f32::NAN, f32::INFINITY, f32::NEG_INFINITY];
        for bad in bad.map(|v| [0.0, v, 0.5]).into_iter().chain([[0.0; 3], [-0.0; 3]]) {
            assert_eq!(projections(bad, 4), [0.0, 1.0, 0.0]);
            assert_eq!(SlopeRule::default().steepness(bad), 0.0);
            let samples: Vec<Sample> = shading().samples(bad, [(UNSET, 1.0)]).collect();
            assert_eq!(samples.len(), 1);
            assert_eq!((samples[0].axis, samples[0].weight), (1, 1.0));
        }
        let tiny = projections([1e-30, 1e-38, 0.0], 8);
        assert_eq!(tiny, [1.0, 0.0, 0.0]);
    }

    #[test]
    fn textures_are_upright_and_never_mirrored() {
        let along = |normal: [f32; 3], axis: usize, way: [f32; 3]| {
            let [a, b] = [way, way.map(|v| -v)].map(|p| coordinates(p, normal, axis));
            [(a[0] - b[0]) * 0.5, (a[1] - b[1]) * 0.5]
        };
        for axis in 0..3 {
            for side in [1.0, -1.0] {
                let mut normal = [0.25; 3];
                normal[axis] = side;
                let moved = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]
                    .map(|way| along(normal, axis, way));
                let right = moved.map(|[u, _]| u);
                let up = moved.map(|[_, v]| -v);
                let mut outward = [0.0; 3];
                outward[axis] = side;
                assert_eq!(cross(right, up), outward, "axis {axis}, side {side}");
                let top = if axis == 1 { [0.0, 0.0, -1.0] } else { [0.0, 1.0, 0.0] };
                assert_eq!(up, top);
            }
        }
    }

    #[test]
    fn ground_is_flat_then_mixed_then_steep() {
        let slope = SlopeRule::default();
        let steepness = |degrees| slope.steepness(at_degrees(degrees));
        assert!([0.0, 10.0, 30.0].map(steepness) == [0.0; 3]);
        assert!([46.0, 90.0, 180.0].map(steepness) == [1.0; 3]);
        let mixed: Vec<f32> = (31..=45).map(|d| steepness(d as f32)).collect();
        assert!(mixed.is_sorted() && mixed[0] < 0.05 && mixed[14] > 0.9, "{mixed:?}");
        let middle = [0.0, 1.0 - 0.5 * (slope.from + slope.to), 0.0];
        assert!((slope.steepness(middle) - 0.5).abs() < 1e-6);
        let hard = SlopeRule { from: 0.2, to: 0.2, ..slope };
        assert_eq!([0.81, 0.79].map(|y| hard.steepness([0.0, y, 0.0])), [0.0, 1.0]);
    }

    #[test]
    fn the_slope_rule_replaces_one_material_only() {
        let shading = shading();
        let layers = |degrees, id| -> Vec<(u32, f32)> {
            let mut found = vec![(2, 0.0), (8, 0.0), (6, 0.0)];
            for sample in shading.samples(at_degrees(degrees), [(id, 1.0)]) {
                let Some(slot) = found.iter_mut().find(|slot| slot.0 == sample.layer) else {
                    panic!("{sample:?}")
                };
                slot.1 += sample.weight;
            }
            found.into_iter().filter(|slot| slot.1 > 0.0).collect()
        };
        let close = |found: Vec<(u32, f32)>, expected: &[(u32, f32)]| {
            assert_eq!(found.len(), expected.len(), "{found:?}");
            for (a, b) in found.iter().zip(expected) {
                assert!(a.0 == b.0 && (a.1 - b.1).abs() < 1e-5, "{found:?}");
            }
        };
        close(layers(10.0, UNSET), &[(2, 1.0)]);
        close(layers(70.0, UNSET), &[(8, 1.0)]);
        let half = shading.slope.steepness(at_degrees(38.0));
        close(layers(38.0, UNSET), &[(2, 1.0 - half), (8, half)]);
        close(layers(70.0, 2), &[(2, 1.0)]);
        close(layers(10.0, 6), &[(6, 1.0)]);
    }

    #[test]
    fn sides_tops_and_bottoms_have_their_layers() {
        let mut shading = shading();
        assert_eq!(shading.layers.layer_count(), 24);
        assert_eq!(shading.layers.layers[22], [22; 4]);
        assert_eq!([23, 24, 255].map(|id| shading.layers.layers[id]), [[23; 4]; 3]);
        shading.layers.set(2, 30, 31, 32);
        assert_eq!(shading.layers.layer_count(), 33);
        let layer = |normal| shading.samples(normal, [(2, 1.0)]).next().map(|s| s.layer);
        assert_eq!(layer([1.0, 0.0, 0.0]), Some(30));
        assert_eq!(layer([0.0, 0.0, -1.0]), Some(30));
        assert_eq!(layer([0.0, 1.0, 0.0]), Some(31));
        assert_eq!(layer([0.0, -1.0, 0.0]), Some(32));
        let none = MaterialTable::new(Vec::new());
        assert_eq!(LayerTable::new(&none).layer_count(), 1);
        assert_eq!(Shading::new(&none).samples([1.0, 0.0, 0.0], [(7, 1.0)]).count(), 1);
    }

    #[test]
    fn bytes_are_what_a_shader_reads() {
        let mut shading = shading();
        shading.layers.set(1, 0x0102_0304, 5, 6);
        shading.slope = SlopeRule { unset: 9, flat: 10, steep: 11, from: 0.25, to: 0.5 };
        shading.sharpness = 6;
        let bytes = shading.bytes();
        assert_eq!(bytes[16..32], [4, 3, 2, 1, 5, 0, 0, 0, 4, 3, 2, 1, 6, 0, 0, 0]);
        assert_eq!(bytes[4096..4112], [9, 0, 0, 0, 10, 0, 0, 0, 11, 0, 0, 0, 6, 0, 0, 0]);
        assert_eq!(bytes[4112..4116], 0.25_f32.to_le_bytes());
        assert_eq!(bytes[4116..4120], 0.5_f32.to_le_bytes());
        assert_eq!(bytes[4120..], [0; 8]);
    }

    /// Meshes a ball of stripes, some of them unset.
    fn mesh(block: Region) -> BlockMesh {
        let mut cells = DenseBox::new(block.grow(PAD));
        for at in block.grow(PAD).voxels() {
            let [x, y, z] = at.to_array().map(|v| v as f32 + 0.5);
            let inside = 9.3 - (x * x + y * y + z * z).sqrt();
            let units = ((inside + 0.5) * 256.0).clamp(0.0, 256.0) as u32;
            if units > 0 {
                let material = [UNSET, 2, 6, 8][(at.x + 2 * at.y + at.z).rem_euclid(4) as usize];
                cells.set(at, Cell::new(material, (units - 1) as u8));
            }
        }
        let mut mesh = BlockMesh::new();
        Mesher::new().mesh_keyed(&cells, &MaterialTable::default(), &mut mesh);
        mesh
    }

    #[test]
    fn blocks_that_share_vertices_agree_on_samples() {
        let shading = shading();
        let samples = |mesh: &BlockMesh| -> std::collections::BTreeMap<_, Vec<Sample>> {
            let of = |i: usize| (mesh.solid.keys[i], shading.vertex(&mesh.solid, i).collect());
            (0..mesh.solid.vertex_count()).map(of).collect()
        };
        let [left, right] =
            [[-16, 0], [0, 16]].map(|[a, b]| mesh(Region::new([a, -16, -16], [b, 16, 16])));
        let (left, right) = (samples(&left), samples(&right));
        let shared = left.iter().filter(|(key, _)| right.contains_key(key));
        let count = shared.inspect(|(key, samples)| assert_eq!(&right[key], *samples)).count();
        assert!(count > 40, "{count}");
        let most = left.values().map(Vec::len).max();
        assert!(most > Some(9) && most <= Some(Shading::MAX_SAMPLES), "{most:?}");
        for samples in left.values().chain(right.values()) {
            let sum: f32 = samples.iter().map(|sample| sample.weight).sum();
            assert!((sum - 1.0).abs() < 1e-5 && samples.iter().all(|s| s.weight > 0.0));
        }
        assert!(left.keys().any(|key| key.corner.x == 0 && key.corner != VoxelPos::ZERO));
    }

    proptest! {
        #[test]
        fn projections_sum_to_one_and_follow_the_normal(
            normal in proptest::array::uniform3(-1.0f32..1.0), sharpness in 1u32..40,
        ) {
            let w = projections(normal, sharpness);
            prop_assert!((w.iter().sum::<f32>() - 1.0).abs() < 1e-6);
            for (a, b) in [(0, 1), (1, 2), (2, 0)] {
                prop_assert!(normal[a].abs() < normal[b].abs() || w[a] >= w[b]);
            }
            let back = projections(normal.map(|v| -v), sharpness);
            prop_assert_eq!(w, back);
        }
    }
}
