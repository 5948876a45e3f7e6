//! Whether a triangle is covered: all of it straight above or below a surface, and near.
//!
//! Seen along the triangle's normal, the surface around one of its corners is followed across
//! every edge that passes over the triangle. If none of those edges is one of the border, and
//! nothing there is turned over, what was followed has no end over the triangle: it covers it.
//! Heights over each part are linear, so largest at its corners. The corners of the triangle
//! are vertices of the surface.

use super::linked::Linked;
use super::triangle::Triangle;
use glam::Vec4;

/// How far from a triangle's edges nothing is looked at, in parts of the error.
const MARGIN: f32 = 2e-4;

/// The share of a triangle's area that has to be found covered; less is a mistake in rounding.
const COVERED: f32 = 0.995;

/// Follows surfaces over triangles.
#[derive(Default)]
pub(super) struct Cover {
    open: Vec<u32>,
    /// By which look each triangle was seen last.
    seen: Vec<u32>,
    looks: u32,
    part: Vec<Vec4>,
    spare: Vec<Vec4>,
}

impl Cover {
    /// Begins with another surface of so many triangles.
    pub fn read(&mut self, count: usize) {
        self.seen.clear();
        self.seen.resize(count, 0);
        self.looks = 0;
    }

    /// Whether the surface of `all`, linked like this, covers a triangle one of whose corners
    /// is its vertex `corner`, nowhere farther away than `error`; if not, it may be near in
    /// another way. Calls for those of the surface that lie within the triangle's edges and
    /// are that near, too.
    pub fn covers(
        &mut self,
        all: &[Triangle],
        linked: &Linked,
        corner: u32,
        triangle: &Triangle,
        error: f32,
        mut within: impl FnMut(u32),
    ) -> bool {
        let margin = Vec4::new(0.0, 1.0, 1.0, 1.0) * (MARGIN * error);
        let mut covered = 0.0;
        self.looks += 1;
        self.open.clear();
        self.open.extend_from_slice(linked.fans.of(corner));
        while let Some(t) = self.open.pop() {
            if std::mem::replace(&mut self.seen[t as usize], self.looks) == self.looks {
                continue;
            }
            let corners = all[t as usize].corners.map(|p| triangle.over(p) + margin);
            let is_cut = self.cut(corners);
            if self.part.is_empty() {
                continue;
            }
            let area = area(&self.part);
            if area <= 0.0 || self.part.iter().any(|p| p.x.abs() > error) {
                return false;
            }
            covered += area;
            if !is_cut {
                within(t);
            }
            for k in 0..3 {
                if passes(corners[k], corners[(k + 1) % 3]) {
                    let Some((beyond, _)) = linked.beyond(t, k) else { return false };
                    self.open.push(beyond);
                }
            }
        }
        let own = area(&triangle.corners.map(|p| triangle.over(p)));
        own > 0.0 && covered >= COVERED * own
    }

    /// Cuts off what is out of any edge, leaving a convex part or none, as Sutherland and
    /// Hodgman ("Reentrant Polygon Clipping", 1974) do; whether anything is.
    fn cut(&mut self, corners: [Vec4; 3]) -> bool {
        let Cover { part, spare, .. } = self;
        part.clear();
        part.extend(corners);
        let mut is_cut = false;
        for edge in 1..4 {
            if part.iter().all(|p| p[edge] <= 0.0) {
                continue;
            }
            is_cut = true;
            spare.clear();
            for (i, &to) in part.iter().enumerate() {
                let from = part[if i == 0 { part.len() } else { i } - 1];
                if (from[edge] <= 0.0) != (to[edge] <= 0.0) {
                    spare.push(from + (to - from) * (from[edge] / (from[edge] - to[edge])));
                }
                if to[edge] <= 0.0 {
                    spare.push(to);
                }
            }
            std::mem::swap(part, spare);
        }
        is_cut
    }
}

/// The area of a convex part, in a unit of the triangle that it is seen from: below 0 if it is
/// turned over.
fn area(part: &[Vec4]) -> f32 {
    let from = |p: Vec4| (p.y - part[0].y, p.z - part[0].z);
    let cross = |two: &[Vec4]| {
        let (a, b) = (from(two[0]), from(two[1]));
        a.0 * b.1 - a.1 * b.0
    };
    part.windows(2).skip(1).map(cross).sum()
}

/// Whether some of an edge is not out of any edge of the triangle.
fn passes(a: Vec4, b: Vec4) -> bool {
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
