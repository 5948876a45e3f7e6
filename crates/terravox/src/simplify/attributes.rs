//! Vertex attributes (normals and materials) scaled to cells, so that they count like distances.

use crate::mesh::Surface;

/// Cells per unit of a normal: one that turns by 60° counts like this distance.
const NORMAL_CELLS: f32 = 0.1;

/// Cells per unit of material weight.
const MATERIAL_CELLS: f32 = 0.4;

/// Materials of a surface that count: those of most weight.
const MAX_MATERIALS: usize = 6;

/// By vertex: `width` values in cells.
#[derive(Default)]
pub(super) struct Attributes {
    width: usize,
    values: Vec<f32>,
}

impl Attributes {
    /// Reads the vertices of a surface.
    pub fn read(&mut self, surface: &Surface) {
        let counted = most_used(surface);
        self.width = 3 + counted.len();
        self.values.clear();
        self.values.resize(self.width * surface.vertex_count(), 0.0);
        for (v, values) in self.values.chunks_exact_mut(self.width).enumerate() {
            for (value, normal) in values.iter_mut().zip(surface.normals[v]) {
                *value = normal * NORMAL_CELLS;
            }
            for (material, weight) in surface.materials[v].iter().zip(surface.weights[v]) {
                if let Some(at) = counted.iter().position(|m| m == material) {
                    values[3 + at] += f32::from(weight) * (MATERIAL_CELLS / 255.0);
                }
            }
        }
    }

    /// Returns how much a vertex differs from the interpolation between `corners` with these
    /// weights, in squared cells.
    pub fn difference_squared(&self, vertex: u32, corners: &[u32; 3], weights: [f32; 3]) -> f32 {
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

/// Returns the materials of most weight, if there is more than one.
fn most_used(surface: &Surface) -> Vec<u8> {
    let mut sums = [0_u64; 256];
    for (materials, weights) in surface.materials.iter().zip(&surface.weights) {
        for (material, weight) in materials.iter().zip(weights) {
            sums[usize::from(*material)] += u64::from(*weight);
        }
    }
    let mut used: Vec<u8> = (0..=255).filter(|&m| sums[usize::from(m)] > 0).collect();
    used.sort_by_key(|&m| std::cmp::Reverse(sums[usize::from(m)]));
    used.truncate(MAX_MATERIALS);
    if used.len() == 1 { Vec::new() } else { used }
}
