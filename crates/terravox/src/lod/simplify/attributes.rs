//! What is said of vertices besides their place: normals and materials, as numbers.

use crate::mesh::Surface;

/// What a normal that turns by 60° counts like, in cells.
const NORMAL_CELLS: f32 = 0.1;

/// What another material counts like, in cells.
const MATERIAL_CELLS: f32 = 0.4;

/// Materials of a surface that count, those with most weight.
const MATERIALS: usize = 6;

/// Numbers in cells, the same number for each vertex.
#[derive(Default)]
pub(super) struct Attributes {
    width: usize,
    values: Vec<f32>,
}

impl Attributes {
    /// Of the vertices of a surface.
    pub fn read(&mut self, surface: &Surface) {
        let most = most_used(surface);
        self.width = 3 + most.len();
        self.values.clear();
        self.values.resize(self.width * surface.vertex_count(), 0.0);
        for (v, values) in self.values.chunks_exact_mut(self.width).enumerate() {
            for (value, normal) in values.iter_mut().zip(surface.normals[v]) {
                *value = normal * NORMAL_CELLS;
            }
            for (material, weight) in surface.materials[v].iter().zip(surface.weights[v]) {
                if let Some(at) = most.iter().position(|m| m == material) {
                    values[3 + at] += f32::from(weight) * (MATERIAL_CELLS / 255.0);
                }
            }
        }
    }

    /// How much a vertex differs from what is said where corners have these weights: squared
    /// cells.
    pub fn difference(&self, vertex: u32, corners: &[u32; 3], weights: [f32; 3]) -> f32 {
        let of = |v: u32| &self.values[v as usize * self.width..][..self.width];
        let (own, [a, b, c]) = (of(vertex), corners.map(of));
        let mut sum = 0.0;
        for i in 0..self.width {
            let mean = a[i] * weights[0] + b[i] * weights[1] + c[i] * weights[2];
            sum += (own[i] - mean) * (own[i] - mean);
        }
        sum
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
