//! Where vertical lines cross a mesh: exactly once per surface.
//!
//! In integers. Vertices are even, lines odd numbers of quanta, so no line meets a vertex. A line
//! that meets an edge counts as moved by an infinitely small step along x, and a still smaller one
//! along z, and so lies in exactly one of the two triangles there.

use crate::mesh::Surface;

use super::candidates::{Candidates, VerticalLine};
use super::instance::QUANTA;

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
/// the candidates; triangles in their order. `vertices` is scratch.
pub(super) fn each_crossing<'a>(
    surface: &Surface,
    offset: [i32; 3],
    candidates: &'a Candidates,
    vertices: &mut Vec<[i32; 3]>,
    mut each: impl FnMut(Crossing<'a>),
) {
    vertices.clear();
    vertices.extend(
        surface.positions.iter().map(|p| {
            [0, 1, 2].map(|axis| (p[axis] * QUANTA as f32) as i32 + offset[axis] * QUANTA)
        }),
    );
    for (triangle, indices) in surface.triangles().enumerate() {
        let corners = indices.map(|v| vertices[v as usize]);
        let [x, z] = [0, 2].map(|axis| {
            let [a, b, c] = corners.map(|p| p[axis]);
            [a.min(b).min(c), a.max(b).max(c)]
        });
        let columns = x.map(|v| v.div_euclid(QUANTA));
        for row in z[0].div_euclid(QUANTA)..=z[1].div_euclid(QUANTA) {
            for line in candidates.row(columns, row) {
                let is_near = x[0] <= line.x && line.x <= x[1] && z[0] <= line.z && line.z <= z[1];
                if is_near && let Some(found) = cross(corners, line) {
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
    let opposite = [edge(b, c, at), edge(c, a, at), edge(a, b, at)];
    if sign == 0 || !opposite.iter().all(|e| e.value * sign > 0 || e.is_inside_of_tie(sign)) {
        return None;
    }
    let weights = opposite.map(|e| e.value * sign);
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
    let [dx, dz] = [b[0] - a[0], b[2] - a[2]].map(i64::from);
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
