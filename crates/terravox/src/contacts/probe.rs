//! A triangle and a shape: whether they touch, along which direction, and at which points.
//! See the [module](super) for the rule.

use super::clip::over;
use super::cone::PushCone;
use super::reduce::Candidate;
use crate::collide::{BlockSurface, BlockTriangle, TriangleId};
use crate::geometry::{FeaturePolygon, Separation, ShapeCore};
use glam::{Mat3, Vec3};

/// The shape's deepest part lies over a triangle if what lies over it is at most this much less
/// deep, voxels.
const DEPTH_TOLERANCE: f32 = 1e-3;

/// Points are projected onto the triangle along a direction only if its cosine to the
/// triangle's normal is at least this.
const MIN_PROJECTION_COS: f32 = 0.25;

/// Triangles push a body out from inside together if the cosine of their normals is at least
/// this.
const BACKFACE_COS: f32 = 0.7;

/// A triangle that was probed.
#[derive(Clone, Copy, Debug)]
pub(super) struct ProbedTriangle {
    /// Number of its surface among those that were probed.
    pub surface: u32,
    /// Its quad's cell, from the block's min corner.
    pub cell: [u8; 3],
    pub id: TriangleId,
}

/// A contact with the back of a triangle.
#[derive(Clone, Copy, Debug)]
struct Backface {
    candidate: Candidate,
    /// How far the part's middle is behind the triangle; infinite if it is not over it.
    depth: f32,
}

/// A triangle near the part that gave no point after cones and clipping.
#[derive(Clone, Copy, Debug)]
struct RejectedTriangle {
    candidate: Candidate,
    corners: [Vec3; 3],
}

/// What the triangles near a part gave.
#[derive(Debug, Default)]
pub(super) struct ProbeResults {
    pub candidates: Vec<Candidate>,
    pub triangles: Vec<ProbedTriangle>,
    backfaces: Vec<Backface>,
    rejected: Vec<RejectedTriangle>,
}

/// Probes triangles with one part of a body. Everything is relative to the part's origin, along
/// the axes of a box, or along the world's for other shapes.
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
    results: &'b mut ProbeResults,
}

impl<'a, 'b> Probe<'a, 'b> {
    /// Creates a probe that gives points up to `within` voxels away. Clears the results.
    pub fn new(core: &ShapeCore<'a>, within: f32, results: &'b mut ProbeResults) -> Probe<'a, 'b> {
        let ProbeResults { candidates, triangles, backfaces, rejected } = results;
        candidates.clear();
        triangles.clear();
        backfaces.clear();
        rejected.clear();
        let middle = core.middle();
        let (core, axes) = core.aligned();
        let (back, is_turned) = (axes.transpose(), axes != Mat3::IDENTITY);
        Probe { core, axes, back, is_turned, middle, within, front: f32::INFINITY, results }
    }

    /// Probes a triangle of a surface, unless a quick test shows that the shape is above its
    /// plane or beside it. `number` is that of the surface; `shift` is from the part's origin to
    /// the block's corner, along the part's axes.
    #[inline(always)]
    pub fn probe(
        &mut self,
        surface: BlockSurface<'_>,
        number: u32,
        triangle: &BlockTriangle,
        shift: Vec3,
    ) {
        let corners = match self.is_turned {
            true => triangle.corners.map(|p| self.back * Vec3::from(p) + shift),
            false => triangle.corners.map(|p| Vec3::from(p) + shift),
        };
        if self.core.is_beside(&corners, self.within) {
            return;
        }
        let [a, b, c] = corners;
        let across = (b - a).cross(c - a);
        // Before any root: distances here are scaled by the length of `across`.
        let lowest = -self.core.aligned_reach(-across, across.length_squared()) - across.dot(a);
        let is_above =
            lowest > 0.0 && lowest * lowest > self.within * self.within * across.length_squared();
        if !is_above {
            self.probe_plane(surface, number, triangle, corners);
        }
    }

    /// Probes a triangle whose plane the shape reaches.
    #[inline(never)]
    fn probe_plane(
        &mut self,
        surface: BlockSurface<'_>,
        number: u32,
        triangle: &BlockTriangle,
        corners: [Vec3; 3],
    ) {
        let [a, b, c] = corners;
        let Some(normal) = (b - a).cross(c - a).try_normalize() else { return };
        let plane = normal.dot(a);
        let lowest = -self.core.aligned_reach(-normal, 1.0) - plane;
        if lowest > self.within {
            return;
        }
        let info = surface.tree.quad(triangle.quad);
        if info.reversed[usize::from(triangle.second)] {
            return;
        }
        let probed = self.results.triangles.len() as u32;
        let candidate = Candidate { point: Vec3::ZERO, normal, distance: 0.0, triangle: probed };
        let BlockTriangle { quad, second, vertices, .. } = *triangle;
        let id = TriangleId { quad, second, vertices };
        self.results.triangles.push(ProbedTriangle { surface: number, cell: info.cell, id });
        let part = over(&self.core.feature(-normal), &corners, normal);
        let above = normal.dot(self.middle) - plane;
        if above < 0.0 {
            self.add_backface(candidate, &part, &corners, above);
            return;
        }
        let deepest =
            part.points().iter().fold(f32::INFINITY, |least, p| least.min(normal.dot(*p)));
        if deepest - plane - self.core.radius() <= lowest + DEPTH_TOLERANCE {
            self.front = self.front.min(above);
            self.add(candidate, &part, &corners, normal);
            return;
        }
        let cone = PushCone {
            tree: surface.tree,
            quad: triangle.quad,
            second: triangle.second,
            angles: info.angles,
            triangle: corners,
            normal,
            axes: self.axes,
        };
        if self.probe_side(candidate, &cone, &part) {
            self.front = self.front.min(above);
        }
    }

    /// Probes a triangle that the deepest part of the shape does not lie over; `part` of that
    /// feature does. Returns whether it gave a point.
    fn probe_side(
        &mut self,
        mut candidate: Candidate,
        cone: &PushCone<'_>,
        part: &FeaturePolygon,
    ) -> bool {
        let (corners, normal) = (cone.triangle, cone.normal);
        let before = self.results.candidates.len();
        let direction = match cone.is_flat() {
            true => normal,
            false => match self.core.contact_axis(&corners, self.within) {
                Some(axis) if axis.normal.dot(normal) >= 0.0 => cone.clamp(axis.normal),
                _ => return false,
            },
        };
        candidate.normal = direction;
        if direction == normal {
            self.add(candidate, part, &corners, normal);
        } else if direction.dot(normal) >= MIN_PROJECTION_COS {
            let part = over(&self.core.feature(-direction), &corners, direction);
            self.add(candidate, &part, &corners, normal);
        } else if let Some(near) = self.separation(&corners, self.within) {
            candidate.point = Vec3::from(near.on_triangle);
            candidate.distance = near.distance;
            self.results.candidates.push(candidate);
        }
        let has_points = self.results.candidates.len() > before;
        if !has_points {
            self.results.rejected.push(RejectedTriangle { candidate, corners });
        }
        has_points
    }

    /// Adds the points of `part` that are near enough along the candidate's normal.
    #[inline]
    fn add(
        &mut self,
        mut candidate: Candidate,
        part: &FeaturePolygon,
        corners: &[Vec3; 3],
        face: Vec3,
    ) {
        let direction = candidate.normal;
        let scale = 1.0 / face.dot(direction);
        for &p in part.points() {
            let along = face.dot(p - corners[0]) * scale;
            candidate.distance = along - self.core.radius();
            if candidate.distance <= self.within {
                candidate.point = p - direction * along;
                self.results.candidates.push(candidate);
            }
        }
    }

    /// Records the contact with a triangle whose back faces the middle of the shape.
    #[cold]
    fn add_backface(
        &mut self,
        mut candidate: Candidate,
        part: &FeaturePolygon,
        corners: &[Vec3; 3],
        above: f32,
    ) {
        let mut middle = FeaturePolygon::EMPTY;
        middle.push(self.middle);
        let is_over = !over(&middle, corners, candidate.normal).points().is_empty();
        let depth = if is_over { -above } else { f32::INFINITY };
        for &p in part.points() {
            let along = candidate.normal.dot(p - corners[0]);
            candidate.distance = along - self.core.radius();
            candidate.point = p - candidate.normal * along;
            self.results.backfaces.push(Backface { candidate, depth });
        }
    }

    /// Turns backfaces into candidates if the middle is nearer to one of them than to any
    /// triangle that it sees the front of: then the middle is in the ground.
    pub fn accept_backfaces(&mut self) {
        let mut nearest: Option<&Backface> = None;
        for backface in self.results.backfaces.iter() {
            if backface.depth < nearest.map_or(self.front, |nearest| nearest.depth) {
                nearest = Some(backface);
            }
        }
        let Some(nearest) = nearest else { return };
        let normal = nearest.candidate.normal;
        let candidates = self.results.backfaces.iter().map(|backface| backface.candidate);
        let same_way = candidates.filter(|c| c.normal.dot(normal) >= BACKFACE_COS);
        self.results.candidates.extend(same_way);
    }

    fn separation(&self, corners: &[Vec3; 3], within: f32) -> Option<Separation> {
        self.core.separation([0.0; 3], &corners.map(|p| p.to_array()), within)
    }

    /// If cones and clipping left no candidate, accepts the nearest rejected triangle, so that
    /// no body falls through the ground.
    pub fn accept_nearest_rejected(&mut self) {
        if !self.results.candidates.is_empty() {
            return;
        }
        let mut least = self.within;
        for RejectedTriangle { candidate, corners } in self.results.rejected.iter() {
            let Some(near) = self.separation(corners, least) else { continue };
            least = near.distance;
            let (point, normal) = (Vec3::from(near.on_triangle), Vec3::from(near.normal));
            self.results.candidates.clear();
            let accepted = Candidate { point, normal, distance: least, ..*candidate };
            self.results.candidates.push(accepted);
        }
    }
}
