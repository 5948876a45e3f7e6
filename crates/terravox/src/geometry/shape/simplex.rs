//! The point nearest to the origin of up to four points' hull, and which of them hold
//! it: the inner step of GJK. By the regions of the segment, triangle and tetrahedron
//! after Ericson, "Real-Time Collision Detection" (2005) §5.1.6 and §9.5, with flat
//! tetrahedra falling back to all their faces, as Montanari et al., "Improving the GJK
//! algorithm for faster and more reliable distance queries" (2017), found necessary.

use glam::Vec3;

use super::closest::{is_over, normal_of};

/// Height over a face, squared, as a share of the length of the edge to the apex,
/// squared, below which a tetrahedron is flat.
const FLAT: f32 = 1e-11;

/// A point of the shape, one of the triangle, and their difference: a corner of a simplex.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct SupportPoint {
    pub on_shape: Vec3,
    pub on_triangle: Vec3,
    pub between: Vec3,
}

/// Up to four corners, and the weights of the point nearest to the origin.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Simplex {
    pub corners: [SupportPoint; 4],
    pub weights: [f32; 4],
    pub count: usize,
}

/// Nearest point of a face, side or corner of the simplex.
#[derive(Clone, Copy)]
struct ClosestFeature {
    at: Vec3,
    squared: f32,
    corners: [usize; 3],
    weights: [f32; 3],
    count: usize,
}

impl ClosestFeature {
    fn of_corner(i: usize, at: Vec3) -> ClosestFeature {
        let squared = at.length_squared();
        ClosestFeature { at, squared, corners: [i, 0, 0], weights: [1.0, 0.0, 0.0], count: 1 }
    }

    fn nearer(self, other: ClosestFeature) -> ClosestFeature {
        if other.squared < self.squared { other } else { self }
    }
}

impl Simplex {
    /// Adds a corner. There is room for it after every [`Simplex::reduce`] that found a
    /// nearest point.
    pub fn push(&mut self, corner: SupportPoint) {
        self.corners[self.count] = corner;
        self.count += 1;
    }

    /// Whether the corner is one of these.
    pub fn has(&self, corner: &SupportPoint) -> bool {
        self.corners[..self.count].iter().any(|own| own.between == corner.between)
    }

    /// The point nearest to the origin; keeps the corners that hold it. `None` if the
    /// origin is inside a tetrahedron.
    pub fn reduce(&mut self) -> Option<Vec3> {
        let part = match self.count {
            1 => ClosestFeature::of_corner(0, self.at(0)),
            2 => self.side(0, 1),
            3 => self.face(0, 1, 2),
            _ => self.tetrahedron()?,
        };
        let old = self.corners;
        for (i, &kept) in part.corners[..part.count].iter().enumerate() {
            self.corners[i] = old[kept];
            self.weights[i] = part.weights[i];
        }
        self.count = part.count;
        Some(part.at)
    }

    /// The points of the shape and of the triangle that are nearest to each other.
    pub fn witnesses(&self) -> (Vec3, Vec3) {
        let (mut on_shape, mut on_triangle) = (Vec3::ZERO, Vec3::ZERO);
        for i in 0..self.count {
            on_shape += self.corners[i].on_shape * self.weights[i];
            on_triangle += self.corners[i].on_triangle * self.weights[i];
        }
        (on_shape, on_triangle)
    }

    fn at(&self, i: usize) -> Vec3 {
        self.corners[i].between
    }

    fn side(&self, i: usize, j: usize) -> ClosestFeature {
        let (a, b) = (self.at(i), self.at(j));
        let ab = b - a;
        let (along, length) = (-a.dot(ab), ab.length_squared());
        if along <= 0.0 || length <= 0.0 {
            return ClosestFeature::of_corner(i, a);
        }
        if along >= length {
            return ClosestFeature::of_corner(j, b);
        }
        let share = along / length;
        let at = a + ab * share;
        let weights = [1.0 - share, share, 0.0];
        ClosestFeature { at, squared: at.length_squared(), corners: [i, j, 0], weights, count: 2 }
    }

    fn face(&self, i: usize, j: usize, k: usize) -> ClosestFeature {
        let points = [self.at(i), self.at(j), self.at(k)];
        if let Some(normal) = normal_of(&points)
            && is_over(Vec3::ZERO, &points, normal)
        {
            let [a, b, c] = points;
            let squared = normal.length_squared();
            let at = normal * (normal.dot(a) / squared);
            let weight = [b.cross(c), c.cross(a), a.cross(b)].map(|v| v.dot(normal));
            let total = weight[0] + weight[1] + weight[2];
            if total > 0.0 {
                let weights = weight.map(|w| w / total);
                let squared = at.length_squared();
                return ClosestFeature { at, squared, corners: [i, j, k], weights, count: 3 };
            }
        }
        self.side(i, j).nearer(self.side(j, k)).nearer(self.side(k, i))
    }

    fn tetrahedron(&self) -> Option<ClosestFeature> {
        const FACES: [[usize; 4]; 4] = [[1, 2, 3, 0], [2, 0, 3, 1], [0, 1, 3, 2], [0, 2, 1, 3]];
        let mut best: Option<ClosestFeature> = None;
        for [i, j, k, apex] in FACES {
            let a = self.at(i);
            let normal = (self.at(j) - a).cross(self.at(k) - a);
            let up = self.at(apex) - a;
            let (origin, height) = (-normal.dot(a), normal.dot(up));
            let flat = height * height <= FLAT * normal.length_squared() * up.length_squared();
            if flat || origin * height < 0.0 {
                let face = self.face(i, j, k);
                best = Some(best.map_or(face, |best| best.nearer(face)));
            }
        }
        best
    }
}
