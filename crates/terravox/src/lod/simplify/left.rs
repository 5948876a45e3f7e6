//! The surface of the triangles that are left.

use super::deviation::Deviation;
use crate::mesh::Surface;

/// The surface of some triangles between vertices of another.
pub(super) fn left(surface: &Surface, triangles: &[[u32; 3]], deviation: &Deviation) -> Surface {
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
