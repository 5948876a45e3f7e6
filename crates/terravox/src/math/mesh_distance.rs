//! Signed distances of cell centres from a closed triangle mesh.
//!
//! Whether a centre is inside is the winding number of the mesh around it, counted by the
//! crossings of a ray (Jacobson, Kavan, Sorkine, "Robust inside-outside segmentation using
//! generalized winding numbers", 2013; the exact case, since a closed mesh has integer winding
//! numbers). One ray along x serves a whole row of cells. Vertices are
//! rounded to 1/4096 of a voxel and sides are tested in integers, with the ray moved by an
//! infinitesimal where it meets an edge (Edelsbrunner, Mücke, "Simulation of simplicity",
//! 1990): so no ray slips between two triangles, and none is counted twice.
//!
//! Distances are needed near the surface only, so every triangle visits the cells about
//! itself (closest points after Ericson, "Real-Time Collision Detection", 2005, §5.1.5).

use super::vector::{cross, dot, sub};
use crate::voxel::Region;

/// Vertices are rounded to multiples of 1 / PARTS of a voxel.
const PARTS: f64 = 4096.0;

/// Maximum voxels along an axis, so that products of two differences fit 64 bits.
pub(crate) const MAX_MESH_EDGE: usize = 1 << 16;

/// Distances of the cells of a region from a mesh.
#[derive(Clone, Debug, Default)]
pub(crate) struct MeshDistance {
    pub region: Region,
    /// Voxels, inside positive, cut off at ±reach; x fastest, then z, then y.
    pub depth: Vec<f32>,
}

/// Corners of a triangle, voxels from the region's min corner.
type Corners = [[f64; 3]; 3];

impl MeshDistance {
    /// Distances of the centres of `region`, in voxels as the vertices are, right up to
    /// `reach` (in voxels) and cut off there. Triangles face outward or all inward.
    ///
    /// # Panics
    /// If an edge of the region is above [`MAX_MESH_EDGE`], or an index names no vertex.
    pub fn new(
        vertices: &[[f64; 3]],
        triangles: &[[u32; 3]],
        region: Region,
        reach: f32,
    ) -> MeshDistance {
        let size = region.size();
        assert!(size.iter().all(|&edge| edge <= MAX_MESH_EDGE), "a mesh over {region}");
        let min = region.min.to_array().map(f64::from);
        let local = |v: &[f64; 3]| [0, 1, 2].map(|i| ((v[i] - min[i]) * PARTS).round() as i64);
        let parts: Vec<[i64; 3]> = vertices.iter().map(local).collect();
        let mut squared = vec![reach * reach; size.iter().product()];
        let mut crossings = Vec::new();
        for triangle in triangles {
            let corners = triangle.map(|v| parts[v as usize]);
            add_crossings(*triangle, corners, size, &mut crossings);
            lower_distances(
                corners.map(|v| v.map(|v| v as f64 / PARTS)),
                size,
                reach,
                &mut squared,
            );
        }
        sign(&mut squared, size, crossings);
        MeshDistance { region, depth: squared }
    }
}

/// Twice the signed area of (a, b, p) in the y-z plane, p moved by (ε, ε²). The same for
/// both triangles at an edge but for the sign, since the lower vertex always comes first.
fn side(ids: [u32; 2], a: [i64; 3], b: [i64; 3], p: [i64; 2]) -> i64 {
    let flip = ids[0] > ids[1];
    let (a, b) = if flip { (b, a) } else { (a, b) };
    let (dy, dz) = (b[1] - a[1], b[2] - a[2]);
    let exact = dy * (p[1] - a[2]) - dz * (p[0] - a[1]);
    // Ties only: their size does not matter, as it is one part in 2²⁴ of a voxel.
    let moved = if exact != 0 {
        exact
    } else if dz != 0 {
        -dz.signum()
    } else {
        dy.signum()
    };
    if flip { -moved } else { moved }
}

/// Adds (first cell of the row at or behind the crossing, ±1) for all rows of cells whose
/// ray crosses the triangle.
fn add_crossings(
    ids: [u32; 3],
    [a, b, c]: [[i64; 3]; 3],
    size: [usize; 3],
    crossings: &mut Vec<(usize, i32)>,
) {
    let part = PARTS as i64;
    let rows = |axis: usize, edge: usize| {
        let low = a[axis].min(b[axis]).min(c[axis]);
        let high = a[axis].max(b[axis]).max(c[axis]);
        (low.div_euclid(part)).max(0)..(high.div_euclid(part) + 1).min(edge as i64)
    };
    for y in rows(1, size[1]) {
        for z in rows(2, size[2]) {
            let p = [y, z].map(|v| v * part + part / 2);
            let sides = [
                side([ids[1], ids[2]], b, c, p),
                side([ids[2], ids[0]], c, a, p),
                side([ids[0], ids[1]], a, b, p),
            ];
            let turn = sides[0].signum();
            if turn == 0 || sides.iter().any(|side| side.signum() != turn) {
                continue;
            }
            let weight = sides.map(|side| side as f64);
            let x = weight[0] * a[0] as f64 + weight[1] * b[0] as f64 + weight[2] * c[0] as f64;
            let x = x / (weight[0] + weight[1] + weight[2]) / PARTS;
            let first = (x - 0.5).ceil().clamp(0.0, size[0] as f64) as usize;
            if first < size[0] {
                let row = size[0] * (z as usize + size[2] * y as usize);
                crossings.push((row + first, turn as i32));
            }
        }
    }
}

/// Lowers the squared distances of the cells about one triangle.
fn lower_distances(corners: Corners, size: [usize; 3], reach: f32, squared: &mut [f32]) {
    let range = |axis: usize| {
        let low = corners.iter().map(|v| v[axis]).fold(f64::MAX, f64::min) - f64::from(reach);
        let high = corners.iter().map(|v| v[axis]).fold(f64::MIN, f64::max) + f64::from(reach);
        (low - 0.5).ceil().max(0.0) as usize
            ..((high + 0.5).floor().max(0.0) as usize).min(size[axis])
    };
    let normal = cross(sub(corners[1], corners[0]), sub(corners[2], corners[0]));
    let far = f64::from(reach) * f64::from(reach) * dot(normal, normal);
    for y in range(1) {
        for z in range(2) {
            for x in range(0) {
                let p = [x, y, z].map(|v| v as f64 + 0.5);
                let height = dot(normal, sub(p, corners[0]));
                if height * height <= far {
                    let at = x + size[0] * (z + size[2] * y);
                    squared[at] = squared[at].min(distance_squared(p, &corners) as f32);
                }
            }
        }
    }
}

/// Squared distance from a point to a triangle.
fn distance_squared(p: [f64; 3], [a, b, c]: &Corners) -> f64 {
    let normal = cross(sub(*b, *a), sub(*c, *a));
    let over = |a: [f64; 3], b: [f64; 3]| dot(cross(sub(b, a), sub(p, a)), normal) >= 0.0;
    let area = dot(normal, normal);
    if area > 0.0 && over(*a, *b) && over(*b, *c) && over(*c, *a) {
        let height = dot(normal, sub(p, *a));
        return height * height / area;
    }
    let sides = [(a, b), (b, c), (c, a)].map(|(a, b)| {
        let (ab, ap) = (sub(*b, *a), sub(p, *a));
        let length = dot(ab, ab);
        let along = if length > 0.0 { (dot(ab, ap) / length).clamp(0.0, 1.0) } else { 0.0 };
        let off = [0, 1, 2].map(|i| ap[i] - ab[i] * along);
        dot(off, off)
    });
    sides[0].min(sides[1]).min(sides[2])
}

/// Makes squared distances depths: the root, negative where the winding number is 0.
fn sign(squared: &mut [f32], size: [usize; 3], mut crossings: Vec<(usize, i32)>) {
    crossings.sort_unstable();
    let mut next = crossings.into_iter().peekable();
    for (row, cells) in squared.chunks_mut(size[0]).enumerate() {
        let mut winding = 0;
        for (x, value) in cells.iter_mut().enumerate() {
            while let Some((_, turn)) = next.next_if(|c| c.0 == row * size[0] + x) {
                winding += turn;
            }
            let distance = value.sqrt();
            *value = if winding != 0 { distance } else { -distance };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A box as 12 triangles.
    fn cuboid(min: [f64; 3], max: [f64; 3]) -> (Vec<[f64; 3]>, Vec<[u32; 3]>) {
        let corner = |i: usize| [0, 1, 2].map(|a| if i >> a & 1 == 1 { max[a] } else { min[a] });
        let quads =
            [[0, 4, 6, 2], [1, 3, 7, 5], [0, 1, 5, 4], [2, 6, 7, 3], [0, 2, 3, 1], [4, 5, 7, 6]];
        let triangles = quads.iter().flat_map(|q| [[q[0], q[1], q[2]], [q[0], q[2], q[3]]]);
        ((0..8).map(corner).collect(), triangles.collect())
    }

    fn box_depth(p: [f64; 3], min: [f64; 3], max: [f64; 3]) -> f64 {
        let out = [0, 1, 2].map(|a| (min[a] - p[a]).max(p[a] - max[a]));
        let outside = out.map(|v| v.max(0.0));
        let inside = out[0].max(out[1]).max(out[2]).min(0.0);
        -(dot(outside, outside).sqrt() + inside)
    }

    #[test]
    fn a_box_has_the_distances_of_a_box_also_where_rays_meet_its_edges() {
        for (min, max) in [
            ([1.5, 1.5, 1.5], [6.5, 4.5, 7.5]),
            ([1.25, 2.0, 1.1], [6.0, 5.75, 6.5]),
            ([2.0, 2.0, 2.0], [5.0, 5.0, 5.0]),
        ] {
            let (vertices, mut triangles) = cuboid(min, max);
            let region = Region::new([-1, -1, -1], [9, 9, 9]);
            for _ in 0..2 {
                let field = MeshDistance::new(&vertices, &triangles, region, 1.5);
                for (p, depth) in region.voxels().zip(&field.depth) {
                    let centre = p.to_array().map(|v| f64::from(v) + 0.5);
                    let expected = box_depth(centre, min, max).clamp(-1.5, 1.5);
                    assert!(
                        (f64::from(*depth) - expected).abs() < 1e-3,
                        "{p}: {depth}, {expected}"
                    );
                }
                // Inside out, the mesh is the same body.
                triangles.iter_mut().for_each(|t| t.swap(0, 1));
            }
        }
    }
}
