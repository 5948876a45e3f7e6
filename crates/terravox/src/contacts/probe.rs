//! A triangle and a shape: whether they touch, along which direction, and at which points.
//! See the [module](super) for the rule.

use super::clip::over;
use super::cone::Sides;
use super::reduce::Candidate;
use crate::collide::{Side, Triangle, TriangleId};
use crate::geometry::{Polygon, Separation, ShapeCore};
use glam::{Mat3, Vec3};

/// How much less deep than its deepest what lies over a triangle may be for the triangle's
/// normal to be the direction, voxels.
const DEEPEST: f32 = 1e-3;

/// Least cosine of a direction and a triangle's normal for points to be moved along the
/// one onto the other.
const STEEP: f32 = 0.25;

/// Least cosine of the normals of triangles that push a body out from inside together.
const SAME_WAY: f32 = 0.7;

/// A triangle that was asked for points.
#[derive(Clone, Copy, Debug)]
pub(super) struct Touched {
    /// Number of its surface among those that were visited.
    pub side: u32,
    /// Its quad's cell, from the block's lowest corner.
    pub cell: [u8; 3],
    pub id: TriangleId,
}

/// What triangles answered.
#[derive(Debug, Default)]
pub(super) struct Found {
    pub candidates: Vec<Candidate>,
    pub touched: Vec<Touched>,
    /// From behind, each with how far the part's middle is behind the triangle; infinite
    /// if it is not over it.
    behind: Vec<(Candidate, f32)>,
    /// What was near, but for cones and clipping, with the triangle's corners.
    refused: Vec<(Candidate, [Vec3; 3])>,
}

/// What triangles are asked with. All is about the part's origin, along the axes of a box
/// and the world's for other shapes.
pub(super) struct Probe<'a, 'b> {
    /// Aligned.
    core: ShapeCore<'a>,
    /// World from these axes, and back.
    pub axes: Mat3,
    pub back: Mat3,
    /// Whether they are not the world's.
    is_turned: bool,
    middle: Vec3,
    within: f32,
    /// Least height of the part's middle above a triangle that it touches from the front.
    front: f32,
    found: &'b mut Found,
}

impl<'a, 'b> Probe<'a, 'b> {
    /// Asks with a shape that still gives points `within` voxels; forgets what was found.
    pub fn new(core: &ShapeCore<'a>, within: f32, found: &'b mut Found) -> Probe<'a, 'b> {
        let Found { candidates, touched, behind, refused } = found;
        candidates.clear();
        touched.clear();
        behind.clear();
        refused.clear();
        let middle = core.middle();
        let (core, axes) = core.aligned();
        let (back, is_turned) = (axes.transpose(), axes != Mat3::IDENTITY);
        Probe { core, axes, back, is_turned, middle, within, front: f32::INFINITY, found }
    }

    /// Asks a triangle, unless it is told at once that the shape is above its plane or
    /// beside it; `shift` leads from its block's corner to the part's origin, along the
    /// part's axes.
    #[inline(always)]
    pub fn touch(&mut self, side: Side<'_>, place: u32, triangle: &Triangle, shift: Vec3) {
        let corners = match self.is_turned {
            true => triangle.corners.map(|p| self.back * Vec3::from(p) + shift),
            false => triangle.corners.map(|p| Vec3::from(p) + shift),
        };
        if self.core.is_beside(&corners, self.within) {
            return;
        }
        let [a, b, c] = corners;
        let across = (b - a).cross(c - a);
        // Before any root: distances here are as many times too large as `across` is long.
        let lowest = -self.core.aligned_reach(-across, across.length_squared()) - across.dot(a);
        let is_above =
            lowest > 0.0 && lowest * lowest > self.within * self.within * across.length_squared();
        if !is_above {
            self.touch_plane(side, place, triangle, corners);
        }
    }

    /// Asks a triangle whose plane the shape meets.
    #[inline(never)]
    fn touch_plane(&mut self, side: Side<'_>, place: u32, triangle: &Triangle, corners: [Vec3; 3]) {
        let [a, b, c] = corners;
        let Some(normal) = (b - a).cross(c - a).try_normalize() else { return };
        let plane = normal.dot(a);
        let lowest = -self.core.aligned_reach(-normal, 1.0) - plane;
        if lowest > self.within {
            return;
        }
        let info = side.tree.quad(triangle.quad);
        if info.reversed[usize::from(triangle.second)] {
            return;
        }
        let number = self.found.touched.len() as u32;
        let candidate = Candidate { point: Vec3::ZERO, normal, distance: 0.0, triangle: number };
        let Triangle { quad, second, vertices, .. } = *triangle;
        let id = TriangleId { quad, second, vertices };
        self.found.touched.push(Touched { side: place, cell: info.cell, id });
        let part = over(&self.core.feature(-normal), &corners, normal);
        let above = normal.dot(self.middle) - plane;
        if above < 0.0 {
            self.touch_from_behind(candidate, &part, &corners, above);
            return;
        }
        let deepest =
            part.points().iter().fold(f32::INFINITY, |least, p| least.min(normal.dot(*p)));
        if deepest - plane - self.core.radius() <= lowest + DEEPEST {
            self.front = self.front.min(above);
            self.add(candidate, &part, &corners, normal);
            return;
        }
        let sides = Sides {
            tree: side.tree,
            quad: triangle.quad,
            second: triangle.second,
            angles: info.angles,
            triangle: corners,
            normal,
            axes: self.axes,
        };
        if self.touch_aside(candidate, &sides, &part) {
            self.front = self.front.min(above);
        }
    }

    /// Asks a triangle over which the shape's deepest part along the normal does not lie;
    /// `part` of that feature does. Returns whether it gave a point.
    fn touch_aside(&mut self, mut candidate: Candidate, sides: &Sides<'_>, part: &Polygon) -> bool {
        let (corners, normal) = (sides.triangle, sides.normal);
        let before = self.found.candidates.len();
        let direction = match sides.is_flat() {
            true => normal,
            false => match self.core.axis(&corners, self.within) {
                Some((_, way)) if way.dot(normal) >= 0.0 => sides.clamp(way),
                _ => return false,
            },
        };
        candidate.normal = direction;
        if direction == normal {
            self.add(candidate, part, &corners, normal);
        } else if direction.dot(normal) >= STEEP {
            let part = over(&self.core.feature(-direction), &corners, direction);
            self.add(candidate, &part, &corners, normal);
        } else if let Some(near) = self.separation(&corners, self.within) {
            candidate.point = Vec3::from(near.on_triangle);
            candidate.distance = near.distance;
            self.found.candidates.push(candidate);
        }
        let found = self.found.candidates.len() > before;
        if !found {
            self.found.refused.push((candidate, corners));
        }
        found
    }

    /// Adds the points of `part` that are near enough, seen along the candidate's normal.
    #[inline]
    fn add(&mut self, mut candidate: Candidate, part: &Polygon, corners: &[Vec3; 3], face: Vec3) {
        let direction = candidate.normal;
        let scale = 1.0 / face.dot(direction);
        for &p in part.points() {
            let along = face.dot(p - corners[0]) * scale;
            candidate.distance = along - self.core.radius();
            if candidate.distance <= self.within {
                candidate.point = p - direction * along;
                self.found.candidates.push(candidate);
            }
        }
    }

    /// Keeps what a triangle says whose back the shape's middle sees.
    #[cold]
    fn touch_from_behind(
        &mut self,
        mut candidate: Candidate,
        part: &Polygon,
        corners: &[Vec3; 3],
        above: f32,
    ) {
        let mut middle = Polygon::EMPTY;
        middle.push(self.middle);
        let is_over = !over(&middle, corners, candidate.normal).points().is_empty();
        let depth = if is_over { -above } else { f32::INFINITY };
        for &p in part.points() {
            let along = candidate.normal.dot(p - corners[0]);
            candidate.distance = along - self.core.radius();
            candidate.point = p - candidate.normal * along;
            self.found.behind.push((candidate, depth));
        }
    }

    /// Adds what lies behind triangles, if the middle is nearer to those than to any that
    /// it sees the front of: then it is in the ground.
    pub fn take_behind(&mut self) {
        let mut nearest: Option<&(Candidate, f32)> = None;
        for found in self.found.behind.iter() {
            if found.1 < nearest.map_or(self.front, |nearest| nearest.1) {
                nearest = Some(found);
            }
        }
        let Some((Candidate { normal, .. }, _)) = nearest else { return };
        let normal = *normal;
        let same_way = self.found.behind.iter().filter(|(c, _)| c.normal.dot(normal) >= SAME_WAY);
        self.found.candidates.extend(same_way.map(|(candidate, _)| *candidate));
    }

    fn separation(&self, corners: &[Vec3; 3], within: f32) -> Option<Separation> {
        self.core.separation([0.0; 3], &corners.map(|p| p.to_array()), within)
    }

    /// A body never falls through what it meets: if cones and clipping left nothing, what
    /// it meets nearest stands.
    pub fn take_refused(&mut self) {
        if !self.found.candidates.is_empty() {
            return;
        }
        let mut least = self.within;
        for (candidate, corners) in self.found.refused.iter() {
            let Some(near) = self.separation(corners, least) else { continue };
            least = near.distance;
            let (point, normal) = (Vec3::from(near.on_triangle), Vec3::from(near.normal));
            self.found.candidates.clear();
            self.found.candidates.push(Candidate { point, normal, distance: least, ..*candidate });
        }
    }
}
