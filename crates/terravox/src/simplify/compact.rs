//! Surfaces without unused vertices.

use super::verify::Verifier;
use crate::mesh::Surface;

/// Returns the surface of `triangles` between vertices of `surface`, all loose. Each triangle has
/// the material of the nearest triangle of `surface`.
pub(super) fn simplified_surface(
    surface: &Surface,
    triangles: &[[u32; 3]],
    verifier: &Verifier,
) -> Surface {
    let materials: Vec<u8> = surface.triangle_materials().collect();
    let material = |t: &[u32; 3]| materials[verifier.nearest_input_triangle(surface, *t)];
    let loose_materials = triangles.iter().map(material).collect();
    let out = compacted(surface, triangles.as_flattened());
    Surface { loose_materials, ..out }
}

/// Returns a surface of these indices, with only the vertices that they use, in the same order.
/// It has no materials of triangles.
pub(super) fn compacted(surface: &Surface, indices: &[u32]) -> Surface {
    let mut used = vec![false; surface.vertex_count()];
    indices.iter().for_each(|&v| used[v as usize] = true);
    let old: Vec<usize> = (0..used.len()).filter(|&v| used[v]).collect();
    let mut remap = vec![0; used.len()];
    (0..).zip(&old).for_each(|(new, &v)| remap[v] = new);
    let targets = &surface.targets;
    let mut out = Surface {
        positions: gather(&surface.positions, &old),
        normals: gather(&surface.normals, &old),
        materials: gather(&surface.materials, &old),
        weights: gather(&surface.weights, &old),
        indices: indices.iter().map(|&v| remap[v as usize]).collect(),
        keys: gather(&surface.keys, &old),
        ..Surface::default()
    };
    out.targets.positions = gather(&targets.positions, &old);
    out.targets.normals = gather(&targets.normals, &old);
    out.targets.steps = gather(&targets.steps, &old);
    out
}

/// Returns the values of these vertices; nothing if the attribute is absent.
fn gather<T: Copy>(values: &[T], vertices: &[usize]) -> Vec<T> {
    if values.is_empty() { Vec::new() } else { vertices.iter().map(|&v| values[v]).collect() }
}
