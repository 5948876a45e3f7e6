//! The shortest way to separate a convex core and a triangle that overlap: expanding
//! polytope, van den Bergen, "Proximity queries and penetration depth computation on 3D
//! game objects" (2001). Every direction tried gives a way that surely separates them, and the
//! shortest of these is the result, so that running out of room or precision makes it longer,
//! never wrong.

use glam::Vec3;

use super::gjk::farthest;
use super::simplex::Simplex;

const MAX_CORNERS: usize = 48;
const MAX_FACES: usize = 96;
const MAX_EDGES: usize = 64;

/// The result may be longer than the shortest way by this share of the size of things.
const TOLERANCE: f32 = 1e-5;

/// A face of the polytope.
#[derive(Clone, Copy, Default)]
struct PolytopeFace {
    corners: [u8; 3],
    /// Outwards, unit.
    normal: Vec3,
    /// Depth of the origin below the face.
    height: f32,
}

/// A convex polytope about the origin, inside the difference of the two.
struct Polytope {
    corners: [Vec3; MAX_CORNERS],
    corner_count: usize,
    faces: [PolytopeFace; MAX_FACES],
    face_count: usize,
}

impl Polytope {
    /// Adds a face, its corners counter-clockwise seen from outside. False if it has no area or
    /// there is no room.
    fn add_face(&mut self, corners: [u8; 3]) -> bool {
        let [a, b, c] = corners.map(|i| self.corners[usize::from(i)]);
        let Some(normal) = (b - a).cross(c - a).try_normalize() else { return false };
        if self.face_count == MAX_FACES {
            return false;
        }
        self.faces[self.face_count] = PolytopeFace { corners, normal, height: normal.dot(a) };
        self.face_count += 1;
        true
    }

    fn lowest(&self) -> Option<PolytopeFace> {
        let faces = &self.faces[..self.face_count];
        faces.iter().copied().min_by(|a, b| a.height.total_cmp(&b.height))
    }

    /// Adds a corner outside: removes the faces that see it, and closes the hole with new ones.
    fn add_corner(&mut self, corner: Vec3, slack: f32) -> bool {
        if self.corner_count == MAX_CORNERS {
            return false;
        }
        let apex = self.corner_count as u8;
        self.corners[self.corner_count] = corner;
        self.corner_count += 1;
        let (mut rim, mut rim_count) = ([[0_u8; 2]; MAX_EDGES], 0);
        let mut i = 0;
        while i < self.face_count {
            let PolytopeFace { corners: [a, b, c], normal, height } = self.faces[i];
            if normal.dot(corner) <= height + slack {
                i += 1;
                continue;
            }
            self.face_count -= 1;
            self.faces[i] = self.faces[self.face_count];
            for [from, to] in [[a, b], [b, c], [c, a]] {
                // An edge that two such faces share is not on the rim.
                if let Some(twin) = rim[..rim_count].iter().position(|&e| e == [to, from]) {
                    rim_count -= 1;
                    rim[twin] = rim[rim_count];
                } else if rim_count < MAX_EDGES {
                    rim[rim_count] = [from, to];
                    rim_count += 1;
                } else {
                    return false;
                }
            }
        }
        rim_count > 0 && rim[..rim_count].iter().all(|&[from, to]| self.add_face([from, to, apex]))
    }
}

/// The support function of the difference of core and triangle, which remembers the direction
/// of least reach.
struct DepthSearch<'a, S> {
    support: S,
    triangle: &'a [Vec3; 3],
    least: (f32, Vec3),
}

impl<S: Fn(Vec3) -> Vec3> DepthSearch<'_, S> {
    fn farthest(&mut self, direction: Vec3) -> Vec3 {
        let corner = (self.support)(direction) - farthest(self.triangle, -direction);
        let reach = corner.dot(direction);
        if reach < self.least.0 {
            self.least = (reach, direction);
        }
        corner
    }
}

/// How to move the core so that it only touches the triangle: how far, and the unit
/// vector; how far is a little below 0 if they do not quite touch. `simplex` holds what
/// GJK found last.
pub(super) fn penetration(
    support: impl Fn(Vec3) -> Vec3,
    triangle: &[Vec3; 3],
    simplex: &Simplex,
) -> (f32, Vec3) {
    let mut search = DepthSearch { support, triangle, least: (f32::INFINITY, Vec3::Y) };
    let mut size = 0.0_f32;
    for axis in [Vec3::X, Vec3::Y, Vec3::Z] {
        size = size.max(search.farthest(axis).dot(axis)).max(-search.farthest(-axis).dot(axis));
    }
    if let Some(normal) = super::closest::normal_of(triangle) {
        let normal = normal.normalize();
        search.farthest(normal);
        search.farthest(-normal);
    }
    if let Some(mut polytope) = tetrahedron(&mut search, simplex, size) {
        while let Some(face) = polytope.lowest() {
            let corner = search.farthest(face.normal);
            let further = corner.dot(face.normal) - face.height;
            let done =
                search.least.0 - face.height <= TOLERANCE * size || further <= TOLERANCE * size;
            if done || !polytope.add_corner(corner, 1e-7 * size) {
                break;
            }
        }
    }
    (search.least.0, -search.least.1)
}

/// Four corners of the difference that span a volume, faces outwards.
fn tetrahedron<S: Fn(Vec3) -> Vec3>(
    search: &mut DepthSearch<S>,
    simplex: &Simplex,
    size: f32,
) -> Option<Polytope> {
    let mut corners = [Vec3::ZERO; 4];
    let mut count = simplex.count.min(4);
    for (corner, found) in corners.iter_mut().zip(&simplex.corners[..count]) {
        *corner = found.between;
    }
    let flat = 1e-4 * size;
    if count == 4 && volume(&corners).abs() <= flat * flat * flat {
        count = 3;
    }
    if count == 3 && (corners[1] - corners[0]).cross(corners[2] - corners[0]).length() < flat * flat
    {
        count = 2;
    }
    if count < 2 {
        (corners[0], count) = (search.farthest(Vec3::X), 1);
        let axes = [Vec3::NEG_X, Vec3::Y, Vec3::NEG_Y, Vec3::Z, Vec3::NEG_Z];
        corners[1] = axes.into_iter().map(|axis| search.farthest(axis)).max_by(|a, b| {
            a.distance_squared(corners[0]).total_cmp(&b.distance_squared(corners[0]))
        })?;
        count += 1;
    }
    if count == 2 {
        let along = corners[1] - corners[0];
        let one = along.any_orthogonal_vector().try_normalize()?;
        let other = along.cross(one).try_normalize()?;
        let away = |p: Vec3| along.cross(p - corners[0]).length_squared();
        let round = [one, other, -one, -other].map(|axis| search.farthest(axis));
        corners[2] = round.into_iter().max_by(|a, b| away(*a).total_cmp(&away(*b)))?;
    }
    if count < 4 {
        let normal = (corners[1] - corners[0]).cross(corners[2] - corners[0]).try_normalize()?;
        let ends = [search.farthest(normal), search.farthest(-normal)];
        let height = ends.map(|end| normal.dot(end - corners[0]).abs());
        corners[3] = if height[0] >= height[1] { ends[0] } else { ends[1] };
    }
    let volume = volume(&corners);
    if volume > 0.0 {
        corners.swap(0, 1);
    } else if volume == 0.0 {
        return None;
    }
    let mut polytope = Polytope {
        corners: [Vec3::ZERO; MAX_CORNERS],
        corner_count: 4,
        faces: [PolytopeFace::default(); MAX_FACES],
        face_count: 0,
    };
    polytope.corners[..4].copy_from_slice(&corners);
    let closed = [[0, 1, 2], [0, 3, 1], [1, 3, 2], [2, 3, 0]].map(|face| polytope.add_face(face));
    closed.iter().all(|&added| added).then_some(polytope)
}

/// Six times the volume of a tetrahedron; negative if its first three corners run
/// counter-clockwise seen from outside.
fn volume(corners: &[Vec3; 4]) -> f32 {
    let [a, b, c, d] = *corners;
    (b - a).cross(c - a).dot(d - a)
}
