//! Where vertical lines cross a mesh: exactly once per surface.
//!
//! In integers. Vertices are even, lines odd numbers of quanta, so no line meets a vertex. A line
//! that meets an edge counts as moved by an infinitely small step along x, and a still smaller one
//! along z, and so lies in exactly one of the two triangles there.

use crate::mesh::Surface;

use super::candidates::{Candidates, VerticalLine};
use super::instance::{QUANTA, QUANTA_LOG2};

/// A line that crosses a triangle.
#[derive(Clone, Copy, Debug)]
pub(super) struct Crossing<'a> {
    pub line: &'a VerticalLine,
    /// Height of the crossing in half as many quanta from the block's min corner, rounded down.
    pub y: i32,
    /// The vertices of the triangle.
    pub vertices: [u32; 3],
    /// How much each counts, summing to `weight`.
    pub weights: [i64; 3],
    pub weight: i64,
    /// The quad that has the triangle.
    pub quad: usize,
}

/// Calls `each` for every crossing of `surface`, whose positions are moved by `offset` cells, with
/// the candidates; triangles in their order. Without `ceilings` triangles are left out of which no
/// vertex has a normal that points up: no point of them has one. `vertices` is scratch.
pub(super) fn each_crossing<'a>(
    surface: &Surface,
    offset: [i32; 3],
    ceilings: bool,
    candidates: &'a Candidates,
    vertices: &mut Vec<[i32; 3]>,
    mut each: impl FnMut(Crossing<'a>),
) {
    vertices.clear();
    let [by_x, by_y, by_z] = offset;
    // Written out: `array::map` is a call here, and takes longer than what it maps.
    let quanta = |v: f32, by: i32| (v * QUANTA as f32) as i32 + by * QUANTA;
    let positions = surface.positions.iter();
    vertices
        .extend(positions.map(|&[x, y, z]| [quanta(x, by_x), quanta(y, by_y), quanta(z, by_z)]));
    for (triangle, indices) in surface.triangles().enumerate() {
        let [i, j, k] = [indices[0] as usize, indices[1] as usize, indices[2] as usize];
        let up = |v: usize| surface.normals[v][1] > 0.0;
        if !ceilings && !up(i) && !up(j) && !up(k) {
            continue;
        }
        let (a, b, c) = (vertices[i], vertices[j], vertices[k]);
        let [low_x, high_x] = [a[0].min(b[0]).min(c[0]), a[0].max(b[0]).max(c[0])];
        let [low_z, high_z] = [a[2].min(b[2]).min(c[2]), a[2].max(b[2]).max(c[2])];
        // Rounded down, as shifts round.
        let columns = [low_x >> QUANTA_LOG2, high_x >> QUANTA_LOG2];
        for row in low_z >> QUANTA_LOG2..=high_z >> QUANTA_LOG2 {
            for line in candidates.row(columns, row) {
                let is_near =
                    low_x < line.x && line.x < high_x && low_z < line.z && line.z < high_z;
                if is_near && let Some(found) = cross([a, b, c], line) {
                    each(Crossing { vertices: indices, quad: triangle / 2, ..found });
                }
            }
        }
    }
}

/// The crossing of a line with a triangle, if there is one.
fn cross(corners: [[i32; 3]; 3], line: &VerticalLine) -> Option<Crossing<'_>> {
    let [a, b, c] = corners;
    let all = edge(a, b, [c[0], c[2]]).value;
    let sign = all.signum();
    let at = [line.x, line.z];
    let (ea, eb, ec) = (edge(b, c, at), edge(c, a, at), edge(a, b, at));
    let is_inside = |e: &Edge| e.value * sign > 0 || e.is_inside_of_tie(sign);
    if sign == 0 || !is_inside(&ea) || !is_inside(&eb) || !is_inside(&ec) {
        return None;
    }
    let weights = [ea.value * sign, eb.value * sign, ec.value * sign];
    let weight = all * sign;
    // From corner a, so that all products fit: three cells an axis are 2^15 quanta.
    let rise = i64::from(b[1] - a[1]) * weights[1] + i64::from(c[1] - a[1]) * weights[2];
    let y = a[1] / 2 + rise.div_euclid(2 * weight) as i32;
    Some(Crossing { line, y, vertices: [0; 3], weights, weight, quad: 0 })
}

/// Twice the area of the triangle of an edge and a point, in x and z.
struct Edge {
    value: i64,
    dx: i64,
    dz: i64,
}

#[inline]
fn edge(a: [i32; 3], b: [i32; 3], [x, z]: [i32; 2]) -> Edge {
    let (dx, dz) = (i64::from(b[0] - a[0]), i64::from(b[2] - a[2]));
    let value = dx * i64::from(z - a[2]) - dz * i64::from(x - a[0]);
    Edge { value, dx, dz }
}

impl Edge {
    /// Whether a point on the edge is inside after the step: `sign` is that of inside points.
    #[inline]
    fn is_inside_of_tie(&self, sign: i64) -> bool {
        let [dx, dz] = [self.dx * sign, self.dz * sign];
        self.value == 0 && (dz < 0 || (dz == 0 && dx > 0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A fan of triangles around a vertex has many edges, and lines that lie exactly on them.
    #[test]
    fn a_line_on_an_edge_crosses_one_of_its_triangles() {
        let rim = [[12, 0], [12, 4], [12, 12], [4, 12], [-12, 12], [-12, -12], [0, -12], [12, -12]];
        let corner = |[x, z]: [i32; 2]| [x, x + 2 * z, z];
        let mut on_edges = 0;
        for (x, z) in (-11..12).step_by(2).flat_map(|x| (-11..12).step_by(2).map(move |z| (x, z))) {
            let line = VerticalLine { x, z, rank: 0.0, rule: 0, id: 0 };
            let mut found = Vec::new();
            for i in 0..rim.len() {
                let [a, b] = [rim[i], rim[(i + 1) % rim.len()]].map(corner);
                on_edges += i32::from(edge([0; 3], a, [x, z]).value == 0);
                // Both windings, as of ground and of a ceiling.
                let up = cross([[0; 3], a, b], &line).map(|c| c.y);
                assert_eq!(up, cross([[0; 3], b, a], &line).map(|c| c.y));
                found.extend(up);
            }
            assert_eq!(found, [(x + 2 * z).div_euclid(2)], "({x}, {z})");
        }
        assert!(on_edges > 20, "{on_edges}");
    }
}
