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

/// Maximum voxels along an axis, so that products of two differences fit 64 bits, also where
/// vertices lie as far beyond the region.
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
        // Not once for each vertex: a region may have few triangles of a large mesh.
        let parts = |triangle: &[u32; 3]| {
            triangle.map(|v| {
                let v = vertices[v as usize];
                [0, 1, 2].map(|i| ((v[i] - min[i]) * PARTS).round() as i64)
            })
        };
        let mut depth = vec![0.0; size.iter().product()];
        for triangle in triangles {
            add_crossings(*triangle, parts(triangle), size, &mut depth);
        }
        wind(&mut depth, size[0], reach);
        for triangle in triangles {
            let corners = parts(triangle).map(|corner| corner.map(|v| v as f64 / PARTS));
            lower_distances(corners, size, reach, &mut depth);
        }
        depth.iter_mut().for_each(|v| *v = v.abs().sqrt().copysign(*v));
        MeshDistance { region, depth }
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

/// Adds ±1 to the first cell at or behind the crossing, for all rows of cells whose ray crosses the
/// triangle. Sums are exact: there are fewer than 2^24 triangles.
fn add_crossings(ids: [u32; 3], [a, b, c]: [[i64; 3]; 3], size: [usize; 3], crossings: &mut [f32]) {
    let part = PARTS as i64;
    let rows = |axis: usize, edge: usize| {
        let low = a[axis].min(b[axis]).min(c[axis]);
        let high = a[axis].max(b[axis]).max(c[axis]);
        (low.div_euclid(part)).max(0)..(high.div_euclid(part) + 1).min(edge as i64)
    };
    let columns = rows(2, size[2]);
    for y in rows(1, size[1]) {
        let [low, high] = crossed(y * part + part / 2, [a, b, c]);
        let from = low.div_euclid(part).max(columns.start);
        for z in from..(high.div_euclid(part) + 1).min(columns.end) {
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
                crossings[row + first] += turn as f32;
            }
        }
    }
}

/// The z between which a triangle is in the plane of y, or a little more; low above high where it
/// is not.
fn crossed(y: i64, corners: [[i64; 3]; 3]) -> [i64; 2] {
    let mut range = [i64::MAX, i64::MIN];
    for (a, b) in [(0, 1), (1, 2), (2, 0)].map(|(i, j)| (corners[i], corners[j])) {
        let (a, b) = if a[1] <= b[1] { (a, b) } else { (b, a) };
        if y < a[1] || b[1] < y {
            continue;
        }
        let ends = match b[1] - a[1] {
            0 => [a[2], b[2]],
            rise => [a[2] + ((y - a[1]) * (b[2] - a[2])).div_euclid(rise); 2],
        };
        range = [range[0].min(ends[0].min(ends[1])), range[1].max(ends[0].max(ends[1]) + 1)];
    }
    range
}

/// Lowers the squared distances of the cells about one triangle; their signs stay. Rows run along
/// the axis that its plane is steepest to, so that few cells of each are near it.
fn lower_distances(corners: Corners, size: [usize; 3], reach: f32, squared: &mut [f32]) {
    let reach = f64::from(reach);
    let cells = |[low, high]: [f64; 2], axis: usize| {
        (low - reach - 0.5).ceil().max(0.0) as usize
            ..((high + reach + 0.5).floor().max(0.0) as usize).min(size[axis])
    };
    let normal = cross(sub(corners[1], corners[0]), sub(corners[2], corners[0]));
    let area = dot(normal, normal);
    let steep = |axis: usize| normal.iter().all(|v| v.abs() <= normal[axis].abs());
    let along = (0..3).find(|&axis| steep(axis)).unwrap_or_default();
    let [outer, inner] = [(along + 1) % 3, (along + 2) % 3];
    let strides = [1, size[0] * size[2], size[0]];
    let whole = Polygon::of(corners);
    for i in cells(whole.range(outer), outer) {
        let slice = whole.clipped(outer, i as f64 + 0.5, reach);
        for j in cells(slice.range(inner), inner) {
            let mut p = [0.5; 3];
            (p[outer], p[inner]) = (i as f64 + 0.5, j as f64 + 0.5);
            let range = match area > 1e-6 {
                // Between the two planes that are `reach` away.
                true => {
                    let middle = 0.5 - dot(normal, sub(p, corners[0])) / normal[along];
                    let far = reach * (area.sqrt() / normal[along].abs() - 1.0) + 1e-6;
                    [middle - far, middle + far]
                }
                false => slice.clipped(inner, j as f64 + 0.5, reach).range(along),
            };
            for k in cells(range, along) {
                p[along] = k as f64 + 0.5;
                let height = dot(normal, sub(p, corners[0]));
                let at = strides[along] * k + strides[outer] * i + strides[inner] * j;
                let nearest = squared[at].abs();
                // The plane is as far or nearer; the margin is for rounding.
                if height * height <= f64::from(nearest) * area * (1.0 + 1e-6) {
                    let found = distance_squared(p, &corners) as f32;
                    squared[at] = nearest.min(found).copysign(squared[at]);
                }
            }
        }
    }
}

/// A triangle, clipped.
struct Polygon {
    corners: [[f64; 3]; 2 * MAX_CLIPPED],
    count: usize,
}

/// Maximum number of corners of a polygon that is clipped further. Four cuts leave a triangle at
/// most seven, but for rounding.
const MAX_CLIPPED: usize = 8;

impl Polygon {
    fn of([a, b, c]: Corners) -> Polygon {
        let mut corners = [a; 2 * MAX_CLIPPED];
        corners[1..3].copy_from_slice(&[b, c]);
        Polygon { corners, count: 3 }
    }

    /// Its extent along an axis; of nothing, one that holds no cell.
    fn range(&self, axis: usize) -> [f64; 2] {
        let corners = self.corners[..self.count].iter().map(|corner| corner[axis]);
        corners.fold([f64::MAX, f64::MIN], |[low, high], v| [low.min(v), high.max(v)])
    }

    /// The part of it within `reach` of `middle` along an axis (Sutherland, Hodgman, "Reentrant
    /// polygon clipping", 1974).
    fn clipped(&self, axis: usize, middle: f64, reach: f64) -> Polygon {
        let low = self.half(axis, |v| v - (middle - reach));
        low.half(axis, |v| middle + reach - v)
    }

    /// The part of it where `inside` of the coordinate is 0 or more, or all of it.
    fn half(&self, axis: usize, inside: impl Fn(f64) -> f64) -> Polygon {
        let mut part = Polygon { corners: self.corners, count: 0 };
        if self.count > MAX_CLIPPED {
            return Polygon { count: self.count, ..part };
        }
        for i in 0..self.count {
            let (a, b) = (self.corners[i], self.corners[(i + 1) % self.count]);
            let (depth, next) = (inside(a[axis]), inside(b[axis]));
            if depth >= 0.0 {
                part.push(a);
            }
            if (depth < 0.0) != (next < 0.0) {
                let t = depth / (depth - next);
                part.push([0, 1, 2].map(|i| a[i] + (b[i] - a[i]) * t));
            }
        }
        part
    }

    fn push(&mut self, corner: [f64; 3]) {
        self.corners[self.count] = corner;
        self.count += 1;
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

/// Turns the crossings of each row into ±`reach` squared: negative where the winding number is 0.
fn wind(cells: &mut [f32], row: usize, reach: f32) {
    // A mesh without volume may have no cells.
    for cells in cells.chunks_mut(row.max(1)) {
        let mut winding = 0.0;
        for value in cells {
            winding += *value;
            *value = if winding != 0.0 { reach * reach } else { -reach * reach };
        }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use proptest::prelude::*;

    /// A box of 12 triangles from corner to corner.
    pub(crate) fn cuboid(min: [f64; 3], max: [f64; 3]) -> (Vec<[f64; 3]>, Vec<[u32; 3]>) {
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

    /// The slow twin: every triangle for every cell and every row.
    fn slowly(
        vertices: &[[f64; 3]],
        triangles: &[[u32; 3]],
        region: Region,
        reach: f32,
    ) -> Vec<f32> {
        let min = region.min.to_array().map(f64::from);
        let whole = |v: &[f64; 3]| [0, 1, 2].map(|i| ((v[i] - min[i]) * PARTS).round() as i64);
        let parts: Vec<[i64; 3]> = vertices.iter().map(whole).collect();
        let [wide, high, deep] = region.size();
        let mut depth = Vec::new();
        for (y, z) in (0..high).flat_map(|y| (0..deep).map(move |z| (y, z))) {
            for x in 0..wide {
                let p = [x, y, z].map(|v| v as f64 + 0.5);
                let (mut squared, mut winding) = (reach * reach, 0);
                for ids in triangles {
                    let [a, b, c] = ids.map(|v| parts[v as usize]);
                    let corners = [a, b, c].map(|v| v.map(|v| v as f64 / PARTS));
                    squared = squared.min(distance_squared(p, &corners) as f32);
                    let at = [p[1], p[2]].map(|v| (v * PARTS) as i64);
                    let sides = [
                        side([ids[1], ids[2]], b, c, at),
                        side([ids[2], ids[0]], c, a, at),
                        side([ids[0], ids[1]], a, b, at),
                    ];
                    let turn = sides[0].signum();
                    if turn != 0 && sides.iter().all(|side| side.signum() == turn) {
                        let weight = sides.map(|side| side as f64);
                        let sum = weight[0] + weight[1] + weight[2];
                        let hit: f64 = (0..3).map(|i| weight[i] * corners[i][0]).sum();
                        winding += i64::from(hit / sum <= p[0]) * turn;
                    }
                }
                depth.push(if winding != 0 { squared.sqrt() } else { -squared.sqrt() });
            }
        }
        depth
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn any_closed_mesh_has_the_distances_of_its_twin(
            points in prop::collection::vec([0..40u32, 0..28u32, 0..48u32], 4..40),
            picked in prop::collection::vec([0..40usize, 0..40, 0..40, 0..40], 1..12),
            reach in 1.0..4.0f32,
        ) {
            // Quarters of voxels: on centres, on edges, in lines and in one point.
            let vertices: Vec<_> = points.iter().map(|p| p.map(|v| f64::from(v) * 0.25)).collect();
            let mut triangles = Vec::new();
            for [a, b, c, d] in picked {
                let [a, b, c, d] = [a, b, c, d].map(|v| (v % vertices.len()) as u32);
                triangles.extend([[a, b, c], [a, c, d], [a, d, b], [b, d, c]]);
            }
            let region = Region::new([-1, 0, 0], [9, 7, 12]);
            let fast = MeshDistance::new(&vertices, &triangles, region, reach);
            let slow = slowly(&vertices, &triangles, region, reach);
            for ((p, fast), slow) in region.voxels().zip(&fast.depth).zip(&slow) {
                prop_assert!((fast - slow).abs() < 1e-4, "{}: {} instead of {}", p, fast, slow);
            }
        }
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
