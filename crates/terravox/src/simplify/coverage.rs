//! Whether a surface covers a triangle: projected along the triangle's normal, all of the triangle
//! is within the surface, and near it.
//!
//! The corners of the triangle are vertices of the surface. From one of them the surface is walked
//! across every edge that crosses the triangle. If none of those edges is a border and nothing
//! faces the other way, the walk covers the triangle. Heights over each piece are linear, so
//! largest at its corners.

use super::triangle::PreparedTriangle;
use super::triangle_mesh::TriangleMesh;
use glam::Vec4;

/// Width of the strip along a triangle's edges that is ignored, as a share of the error.
const MARGIN_ERROR_SHARE: f32 = 2e-4;

/// Least share of the triangle's area that pieces must cover; guards against rounding.
const MIN_COVERED_SHARE: f32 = 0.995;

/// Scratch memory of the test.
#[derive(Default)]
pub(super) struct CoverageTest {
    open: Vec<u32>,
    /// By triangle: the last walk that visited it.
    visited: Vec<u32>,
    walk: u32,
    /// A clipped triangle: height, then distance beyond each edge.
    polygon: Vec<Vec4>,
    clipped: Vec<Vec4>,
}

impl CoverageTest {
    /// Starts with another surface.
    pub fn reset(&mut self, triangle_count: usize) {
        self.visited.clear();
        self.visited.resize(triangle_count, 0);
        self.walk = 0;
    }

    /// Whether the surface (`all` triangles of `mesh`) covers `triangle`, nowhere farther away than
    /// `error`. False does not mean that they are far apart. `corner` is the vertex at a corner of
    /// `triangle`. Calls `within` for each triangle of the surface that lies within the triangle's
    /// edges and is that near.
    pub fn covers(
        &mut self,
        all: &[PreparedTriangle],
        mesh: &TriangleMesh,
        corner: u32,
        triangle: &PreparedTriangle,
        error: f32,
        mut within: impl FnMut(u32),
    ) -> bool {
        let margin = Vec4::new(0.0, 1.0, 1.0, 1.0) * (MARGIN_ERROR_SHARE * error);
        let mut covered = 0.0;
        self.walk += 1;
        self.open.clear();
        self.open.extend_from_slice(mesh.adjacency.of(corner));
        while let Some(t) = self.open.pop() {
            if std::mem::replace(&mut self.visited[t as usize], self.walk) == self.walk {
                continue;
            }
            let corners = all[t as usize].corners.map(|p| triangle.plane_distances(p) + margin);
            let is_clipped = self.clip(corners);
            if self.polygon.is_empty() {
                continue;
            }
            let area = area(&self.polygon);
            if area <= 0.0 || self.polygon.iter().any(|p| p.x.abs() > error) {
                return false;
            }
            covered += area;
            if !is_clipped {
                within(t);
            }
            for k in 0..3 {
                if crosses(corners[k], corners[(k + 1) % 3]) {
                    let Some((neighbour, _)) = mesh.across(t, k) else { return false };
                    self.open.push(neighbour);
                }
            }
        }
        let own = area(&triangle.corners.map(|p| triangle.plane_distances(p)));
        own > 0.0 && covered >= MIN_COVERED_SHARE * own
    }

    /// Clips a triangle to the edges (Sutherland and Hodgman, "Reentrant Polygon Clipping",
    /// 1974). Returns whether anything was cut off.
    fn clip(&mut self, corners: [Vec4; 3]) -> bool {
        let CoverageTest { polygon, clipped, .. } = self;
        polygon.clear();
        polygon.extend(corners);
        let mut is_clipped = false;
        for edge in 1..4 {
            if polygon.iter().all(|p| p[edge] <= 0.0) {
                continue;
            }
            is_clipped = true;
            clipped.clear();
            for (i, &to) in polygon.iter().enumerate() {
                let from = polygon[if i == 0 { polygon.len() } else { i } - 1];
                if (from[edge] <= 0.0) != (to[edge] <= 0.0) {
                    clipped.push(from + (to - from) * (from[edge] / (from[edge] - to[edge])));
                }
                if to[edge] <= 0.0 {
                    clipped.push(to);
                }
            }
            std::mem::swap(polygon, clipped);
        }
        is_clipped
    }
}

/// Returns the area of a convex polygon, in units of the covered triangle: negative if it faces the
/// other way.
fn area(polygon: &[Vec4]) -> f32 {
    let from = |p: Vec4| (p.y - polygon[0].y, p.z - polygon[0].z);
    let cross = |two: &[Vec4]| {
        let (a, b) = (from(two[0]), from(two[1]));
        a.0 * b.1 - a.1 * b.0
    };
    polygon.windows(2).skip(1).map(cross).sum()
}

/// Whether an edge crosses the triangle.
fn crosses(a: Vec4, b: Vec4) -> bool {
    let (mut start, mut end) = (0.0_f32, 1.0_f32);
    for edge in 1..4 {
        let (from, to) = (a[edge], b[edge]);
        match (from <= 0.0, to <= 0.0) {
            (true, true) => {}
            (false, false) => return false,
            (false, true) => start = start.max(from / (from - to)),
            (true, false) => end = end.min(from / (from - to)),
        }
    }
    start <= end
}
