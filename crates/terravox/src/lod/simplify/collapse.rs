//! The edge collapse itself, and the surface of what it keeps.

use super::deviation::Deviation;
use crate::mesh::Surface;
use meshopt::{
    SimplifyOptions, simplify_scale_decoder, simplify_with_attributes_and_locks_decoder,
};

/// What a normal that turns by 60° counts like, in cells.
const NORMAL_CELLS: f32 = 0.1;

/// What another material counts like, in cells.
const MATERIAL_CELLS: f32 = 0.1;

/// Materials of a surface that count, those with most weight.
const MATERIALS: usize = 6;

/// Numbers of a vertex that count besides its position: normal, materials, way to its target.
const ATTRIBUTES: usize = 3 + MATERIALS + 3;

/// What the collapse is told of a surface.
#[derive(Default)]
pub(super) struct Collapse {
    indices: Vec<u32>,
    /// Triangles with two corners at one place: the collapse would drop them, and where blocks
    /// of different mips meet they are what closes the surface.
    fixed: Vec<[u32; 3]>,
    attributes: Vec<[f32; ATTRIBUTES]>,
    weights: [f32; ATTRIBUTES],
}

impl Collapse {
    /// Of a surface.
    pub fn read(&mut self, surface: &Surface) {
        self.indices.clear();
        self.fixed.clear();
        for t in surface.triangles() {
            let [a, b, c] = t.map(|v| surface.positions[v as usize]);
            if a == b || b == c || c == a {
                self.fixed.push(t);
            } else {
                self.indices.extend(t);
            }
        }
        self.attributes.clear();
        if surface.is_empty() {
            return;
        }
        // Attributes are weighed against positions scaled to 1.
        let scale = simplify_scale_decoder(&surface.positions).max(f32::MIN_POSITIVE);
        let most = most_used(surface);
        self.weights = [0.0; ATTRIBUTES];
        self.weights[..3].fill(NORMAL_CELLS / scale);
        self.weights[3..3 + most.len()].fill(MATERIAL_CELLS / scale);
        if !surface.targets.is_empty() {
            self.weights[3 + MATERIALS..].fill(1.0 / scale);
        }
        let attributes = |v: usize| {
            let mut all = [0.0; ATTRIBUTES];
            all[..3].copy_from_slice(&surface.normals[v]);
            for (material, weight) in surface.materials[v].iter().zip(surface.weights[v]) {
                if let Some(at) = most.iter().position(|m| m == material) {
                    all[3 + at] += f32::from(weight) / 255.0;
                }
            }
            if let Some(target) = surface.targets.positions.get(v) {
                for axis in 0..3 {
                    all[3 + MATERIALS + axis] = target[axis] - surface.positions[v][axis];
                }
            }
            all
        };
        self.attributes.extend((0..surface.vertex_count()).map(attributes));
    }

    /// Locks what the collapse is not told of.
    pub fn lock_fixed(&self, locked: &mut [bool]) {
        self.fixed.as_flattened().iter().for_each(|&v| locked[v as usize] = true);
    }

    /// Collapses edges of the surface that was read as long as that costs less than `error`.
    pub fn run(&self, surface: &Surface, locked: &[bool], error: f32, kept: &mut Vec<[u32; 3]>) {
        kept.clear();
        if surface.is_empty() {
            return;
        }
        let indices = simplify_with_attributes_and_locks_decoder(
            &self.indices,
            &surface.positions,
            self.attributes.as_flattened(),
            &self.weights,
            size_of::<[f32; ATTRIBUTES]>(),
            locked,
            0,
            error,
            SimplifyOptions::ErrorAbsolute,
            None,
        );
        kept.extend(indices.chunks_exact(3).map(|t| [t[0], t[1], t[2]]));
        kept.extend(&self.fixed);
    }
}

/// The materials of most weight, if there is more than one.
fn most_used(surface: &Surface) -> Vec<u8> {
    let mut sums = [0_u64; 256];
    for (materials, weights) in surface.materials.iter().zip(&surface.weights) {
        for (material, weight) in materials.iter().zip(weights) {
            sums[usize::from(*material)] += u64::from(*weight);
        }
    }
    let mut found: Vec<u8> = (0..=255).filter(|&m| sums[usize::from(m)] > 0).collect();
    found.sort_by_key(|&m| std::cmp::Reverse(sums[usize::from(m)]));
    found.truncate(MATERIALS);
    if found.len() == 1 { Vec::new() } else { found }
}

/// The surface of some triangles between vertices of another.
pub(super) fn kept(surface: &Surface, triangles: &[[u32; 3]], deviation: &Deviation) -> Surface {
    let materials: Vec<u8> = surface.triangle_materials().collect();
    let material = |t: &[u32; 3]| materials[deviation.triangle_under(surface, *t)];
    let loose_materials = triangles.iter().map(material).collect();
    let out = with_used_vertices(surface, triangles.as_flattened());
    Surface { loose_materials, ..out }
}

/// A surface of these indices, with those vertices of another that they use, in their order.
pub(super) fn with_used_vertices(surface: &Surface, indices: &[u32]) -> Surface {
    let mut used = vec![false; surface.vertex_count()];
    indices.iter().for_each(|&v| used[v as usize] = true);
    let old: Vec<usize> = (0..used.len()).filter(|&v| used[v]).collect();
    let mut numbers = vec![0; used.len()];
    (0..).zip(&old).for_each(|(new, &v)| numbers[v] = new);
    let targets = &surface.targets;
    let mut out = Surface {
        positions: pick(&surface.positions, &old),
        normals: pick(&surface.normals, &old),
        materials: pick(&surface.materials, &old),
        weights: pick(&surface.weights, &old),
        indices: indices.iter().map(|&v| numbers[v as usize]).collect(),
        keys: pick(&surface.keys, &old),
        ..Surface::default()
    };
    out.targets.positions = pick(&targets.positions, &old);
    out.targets.normals = pick(&targets.normals, &old);
    out.targets.steps = pick(&targets.steps, &old);
    out
}

/// The entries of these numbers; none of a channel that is not there.
fn pick<T: Copy>(channel: &[T], numbers: &[usize]) -> Vec<T> {
    if channel.is_empty() { Vec::new() } else { numbers.iter().map(|&v| channel[v]).collect() }
}
