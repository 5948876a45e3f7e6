//! Rays against the triangles of a block: brute force, eight triangles a step.
//!
//! Source: Möller and Trumbore, "Fast, Minimum Storage Ray/Triangle Intersection"
//! (1997), written over eight lanes without branches so that the compiler can use
//! whatever vector unit it is allowed to. Triangles keep their mesh order, which runs
//! along the block, so a box around every eight of them skips most.

use super::camera::Ray;
use glam::{DVec3, Vec3};

/// Triangles tested in one step.
const LANES: usize = 8;

/// How far outside its edges a triangle still answers, in barycentric units: neighbours
/// overlap by a hair instead of leaving one.
const EDGE_SLACK: f32 = 1e-5;

/// How much larger than its triangles a group's box is, cells.
const BOX_SLACK: f32 = 1e-3;

/// A direction's zeros are taken as this for slopes: 0 × infinity is no distance.
const LEAST_SLOPE: f32 = 1e-20;

type Lanes = [f32; LANES];

/// A corner of a triangle, positions in cells from the block's lowest corner.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Vertex {
    /// Cells from the block's lowest corner.
    pub position: Vec3,
    /// Unit, out of the ground or water.
    pub normal: Vec3,
    /// Material ids.
    pub materials: [u8; 4],
    /// Weights of the materials, summing to 255.
    pub weights: [u8; 4],
}

/// Up to eight triangles, structure of arrays; lanes beyond the last are degenerate
/// and never hit.
#[derive(Clone, Debug)]
struct Group {
    low: Vec3,
    high: Vec3,
    corner: [Lanes; 3],
    edge_1: [Lanes; 3],
    edge_2: [Lanes; 3],
}

impl Group {
    fn new(triangles: &[[Vec3; 3]]) -> Group {
        let zero = [[0.0; LANES]; 3];
        let mut group = Group {
            low: Vec3::INFINITY,
            high: Vec3::NEG_INFINITY,
            corner: zero,
            edge_1: zero,
            edge_2: zero,
        };
        for (lane, &[a, b, c]) in triangles.iter().enumerate() {
            group.low = group.low.min(a).min(b).min(c);
            group.high = group.high.max(a).max(b).max(c);
            for axis in 0..3 {
                group.corner[axis][lane] = a[axis];
                group.edge_1[axis][lane] = b[axis] - a[axis];
                group.edge_2[axis][lane] = c[axis] - a[axis];
            }
        }
        group
    }

    /// Whether the line passes the box within `t_min..=t_max`. The box is a little larger
    /// than its triangles, so that a ray in a plane of theirs lies inside it.
    fn may_hit(&self, ray: &LocalRay, t_min: f32, t_max: f32) -> bool {
        let a = (self.low - BOX_SLACK - ray.origin) * ray.inverse;
        let b = (self.high + BOX_SLACK - ray.origin) * ray.inverse;
        let enter = a.x.min(b.x).max(a.y.min(b.y)).max(a.z.min(b.z));
        let leave = a.x.max(b.x).min(a.y.max(b.y)).min(a.z.max(b.z));
        enter <= leave && leave >= t_min && enter <= t_max
    }

    /// Distance to each triangle, infinite for those missed, with the barycentric
    /// weights of the second and third corner.
    #[inline]
    fn distances(&self, ray: &LocalRay, t_min: f32, t_max: f32) -> (Lanes, Lanes, Lanes) {
        let [dx, dy, dz] = ray.direction.to_array();
        let [ox, oy, oz] = ray.origin.to_array();
        let [mut t, mut u, mut v] = [[0.0; LANES]; 3];
        for i in 0..LANES {
            let [ax, ay, az] = [self.edge_1[0][i], self.edge_1[1][i], self.edge_1[2][i]];
            let [bx, by, bz] = [self.edge_2[0][i], self.edge_2[1][i], self.edge_2[2][i]];
            let [px, py, pz] = [dy * bz - dz * by, dz * bx - dx * bz, dx * by - dy * bx];
            let determinant = ax * px + ay * py + az * pz;
            let inverse = 1.0 / determinant;
            let [sx, sy, sz] =
                [ox - self.corner[0][i], oy - self.corner[1][i], oz - self.corner[2][i]];
            u[i] = (sx * px + sy * py + sz * pz) * inverse;
            let [qx, qy, qz] = [sy * az - sz * ay, sz * ax - sx * az, sx * ay - sy * ax];
            v[i] = (dx * qx + dy * qy + dz * qz) * inverse;
            let at = (bx * qx + by * qy + bz * qz) * inverse;
            let hit = (determinant.abs() > 1e-12)
                & (u[i] >= -EDGE_SLACK)
                & (v[i] >= -EDGE_SLACK)
                & (u[i] + v[i] <= 1.0 + EDGE_SLACK)
                & (at >= t_min)
                & (at <= t_max);
            t[i] = if hit { at } else { f32::INFINITY };
        }
        (t, u, v)
    }
}

/// A ray in a block's own coordinates: small numbers, so that f32 is exact enough
/// however far from the origin the block lies.
#[derive(Clone, Copy, Debug)]
pub struct LocalRay {
    origin: Vec3,
    direction: Vec3,
    inverse: Vec3,
}

impl LocalRay {
    /// `ray` from the point `t` cells along it, in cells from `block_min`.
    pub fn new(ray: &Ray, t: f64, block_min: DVec3) -> LocalRay {
        let direction = ray.direction.as_vec3();
        let steep = |v: f32| if v.abs() < LEAST_SLOPE { LEAST_SLOPE } else { v };
        LocalRay {
            origin: (ray.at(t) - block_min).as_vec3(),
            direction,
            inverse: direction.map(steep).recip(),
        }
    }
}

/// Where a ray meets a patch.
#[derive(Clone, Copy, Debug)]
pub struct PatchHit {
    /// Cells along the local ray.
    pub t: f32,
    /// Number of the triangle in the patch.
    pub triangle: usize,
    /// Barycentric weight of the second corner.
    pub u: f32,
    /// Barycentric weight of the third corner.
    pub v: f32,
}

/// Triangles of one surface in or about one block.
#[derive(Clone, Debug, Default)]
pub struct Patch {
    groups: Vec<Group>,
    triangles: Vec<[u16; 3]>,
    vertices: Vec<Vertex>,
}

impl Patch {
    /// A patch of the triangles given as numbers of `vertices`.
    ///
    /// # Panics
    /// If a number is not that of a vertex.
    pub fn new(vertices: Vec<Vertex>, triangles: Vec<[u16; 3]>) -> Patch {
        let place = |t: &[u16; 3]| t.map(|i| vertices[usize::from(i)].position);
        let groups = triangles.chunks(LANES).map(|some| {
            let mut corners = [[Vec3::ZERO; 3]; LANES];
            some.iter().zip(&mut corners).for_each(|(t, to)| *to = place(t));
            Group::new(&corners[..some.len()])
        });
        Patch { groups: groups.collect(), triangles, vertices }
    }

    /// Whether there is no triangle.
    pub fn is_empty(&self) -> bool {
        self.triangles.is_empty()
    }

    /// Corners of a triangle.
    pub fn corners(&self, triangle: usize) -> [&Vertex; 3] {
        self.triangles[triangle].map(|i| &self.vertices[usize::from(i)])
    }

    /// The nearest triangle within `t_min..=t_max` cells along the ray.
    pub fn nearest(&self, ray: &LocalRay, t_min: f32, t_max: f32) -> Option<PatchHit> {
        let mut best: Option<PatchHit> = None;
        let mut limit = t_max;
        for (number, group) in self.groups.iter().enumerate() {
            if !group.may_hit(ray, t_min, limit) {
                continue;
            }
            let (t, u, v) = group.distances(ray, t_min, limit);
            for lane in 0..LANES {
                if t[lane] <= limit && t[lane].is_finite() {
                    limit = t[lane];
                    let triangle = number * LANES + lane;
                    best = Some(PatchHit { t: limit, triangle, u: u[lane], v: v[lane] });
                }
            }
        }
        best
    }

    /// Whether any triangle lies within `t_min..=t_max` cells along the ray.
    pub fn any(&self, ray: &LocalRay, t_min: f32, t_max: f32) -> bool {
        self.groups.iter().any(|group| {
            group.may_hit(ray, t_min, t_max)
                && group.distances(ray, t_min, t_max).0.iter().any(|t| t.is_finite())
        })
    }
}
