//! Solids as triangles, for files and renderers that do not cast rays.

use crate::solids::{Solid, SolidShape, hull_planes};
use glam::DVec3;
use std::f64::consts::{FRAC_PI_2, TAU};

/// Vertices of a ring around a capsule.
const SEGMENTS: u32 = 8;

/// Rings of each end of a capsule, the widest included.
const END_RINGS: u32 = 3;

/// Points nearer to a face than this, in units of the solids, are corners of it.
const FACE_TOLERANCE: f64 = 1e-9;

/// Triangles of solids. Capsules and balls are round by their normals, hulls have flat faces.
///
/// ```
/// use terravox_render::{DemoThing, SolidTriangles};
///
/// let mut oak = SolidTriangles::default();
/// for solid in DemoThing::Oak.solids(7) {
///     oak.add(&solid);
/// }
/// assert!(oak.indices.len() / 3 < 1000);
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SolidTriangles {
    /// Positions of the vertices, in units of the solids.
    pub positions: Vec<[f32; 3]>,
    /// Unit normals, out of the solids.
    pub normals: Vec<[f32; 3]>,
    /// sRGB colours.
    pub colours: Vec<[u8; 3]>,
    /// Three for each triangle, counter-clockwise as seen from outside.
    pub indices: Vec<u32>,
}

impl SolidTriangles {
    /// Adds a solid.
    pub fn add(&mut self, solid: &Solid) {
        match &solid.shape {
            &SolidShape::Ball { centre, radius } => {
                self.add_capsule([centre; 2], radius, solid.colour);
            }
            &SolidShape::Capsule { ends, radius } => self.add_capsule(ends, radius, solid.colour),
            SolidShape::Hull(points) => self.add_hull(points, solid.colour),
        }
    }

    fn add_vertex(&mut self, position: DVec3, normal: DVec3, colour: [u8; 3]) -> u32 {
        self.positions.push(position.as_vec3().to_array());
        self.normals.push(normal.as_vec3().to_array());
        self.colours.push(colour);
        self.positions.len() as u32 - 1
    }

    /// Adds rings of vertices from the tip of one end to that of the other, and bands between them.
    fn add_capsule(&mut self, [a, b]: [DVec3; 2], radius: f64, colour: [u8; 3]) {
        let axis = (b - a).normalize_or(DVec3::Y);
        let right = axis.any_orthonormal_vector();
        let forward = axis.cross(right);
        let latitude = |ring: u32| FRAC_PI_2 * f64::from(ring) / f64::from(END_RINGS - 1);
        let lower = (0..END_RINGS).rev().map(|ring| (a, -latitude(ring)));
        // The widest ring of a ball is that of both ends.
        let upper = (u32::from(a == b)..END_RINGS).map(|ring| (b, latitude(ring)));
        let mut rings = Vec::new();
        for (centre, latitude) in lower.chain(upper) {
            rings.push(self.positions.len() as u32);
            for segment in 0..SEGMENTS {
                let (sin, cos) = (TAU * f64::from(segment) / f64::from(SEGMENTS)).sin_cos();
                let around = right * cos + forward * sin;
                let normal = around * latitude.cos() + axis * latitude.sin();
                self.add_vertex(centre + normal * radius, normal, colour);
            }
        }
        let last = rings.len() - 2;
        for (band, pair) in rings.windows(2).enumerate() {
            for segment in 0..SEGMENTS {
                let next = (segment + 1) % SEGMENTS;
                let [p, q] = [segment, next].map(|at| pair[0] + at);
                let [u, s] = [segment, next].map(|at| pair[1] + at);
                // The first ring and the last are points.
                if band > 0 {
                    self.indices.extend([p, q, s]);
                }
                if band < last {
                    self.indices.extend([p, s, u]);
                }
            }
        }
    }

    /// Adds a polygon for each face plane.
    fn add_hull(&mut self, points: &[DVec3], colour: [u8; 3]) {
        for plane in hull_planes(points, FACE_TOLERANCE) {
            let on_plane = points.iter().filter(|&&p| plane.height(p).abs() < FACE_TOLERANCE);
            let mut corners: Vec<DVec3> = on_plane.copied().collect();
            let middle = corners.iter().sum::<DVec3>() / corners.len() as f64;
            let right = plane.normal.any_orthonormal_vector();
            let up = plane.normal.cross(right);
            let angle = |p: &DVec3| (*p - middle).dot(up).atan2((*p - middle).dot(right));
            corners.sort_by(|a, b| angle(a).total_cmp(&angle(b)));
            let vertices: Vec<u32> =
                corners.iter().map(|&at| self.add_vertex(at, plane.normal, colour)).collect();
            for pair in vertices[1..].windows(2) {
                self.indices.extend([vertices[0], pair[0], pair[1]]);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plants::DemoThing;

    /// Six times the volume within the triangles; that of each has the sign of its direction.
    fn volume(triangles: &SolidTriangles) -> f64 {
        let at = |index: u32| DVec3::from(triangles.positions[index as usize].map(f64::from));
        let all = triangles.indices.as_chunks::<3>().0.iter();
        all.map(|corners| {
            let [a, b, c] = corners.map(at);
            a.dot(b.cross(c))
        })
        .sum()
    }

    /// Each edge has one triangle on each side.
    fn assert_closed(triangles: &SolidTriangles) {
        let at = |index: u32| triangles.positions[index as usize].map(|v| (v * 1e5).round() as i64);
        let mut edges = std::collections::BTreeMap::new();
        for corners in triangles.indices.as_chunks::<3>().0 {
            for i in 0..3 {
                let [a, b] = [corners[i], corners[(i + 1) % 3]].map(at);
                *edges.entry([a, b]).or_insert(0) += 1;
                *edges.entry([b, a]).or_insert(0) -= 1;
            }
        }
        assert!(edges.values().all(|count| *count == 0), "an edge has one side only");
    }

    fn of(shape: SolidShape) -> SolidTriangles {
        let mut triangles = SolidTriangles::default();
        triangles.add(&Solid { shape, colour: [1, 2, 3] });
        assert_closed(&triangles);
        let all = triangles.positions.iter().zip(&triangles.normals);
        assert!(all.clone().count() > 0);
        triangles
    }

    #[test]
    fn solids_are_closed_and_face_outward() {
        let ball = of(SolidShape::Ball { centre: DVec3::new(3.0, 0.0, 1.0), radius: 2.0 });
        let whole = 6.0 * 4.0 / 3.0 * std::f64::consts::PI * 8.0;
        assert!((0.6..1.0).contains(&(volume(&ball) / whole)), "{}", volume(&ball) / whole);
        let ends = [DVec3::new(0.0, -1.0, 0.0), DVec3::new(2.0, 5.0, 1.0)];
        let capsule = of(SolidShape::Capsule { ends, radius: 0.5 });
        assert!(volume(&capsule) > 0.0);
        let corner =
            |i: u32| DVec3::new(f64::from(i & 1), f64::from(i >> 1 & 1), f64::from(i >> 2));
        let cube = of(SolidShape::Hull((0..8).map(corner).collect()));
        assert!((volume(&cube) - 6.0).abs() < 1e-5);
        assert_eq!(cube.indices.len(), 36);
    }

    #[test]
    fn things_are_closed_and_have_few_triangles() {
        for thing in DemoThing::ALL {
            for number in 0..20 {
                let mut all = SolidTriangles::default();
                for solid in thing.solids(number) {
                    assert!(volume(&of(solid.shape.clone())) > 0.0);
                    all.add(&solid);
                }
                let count = all.indices.len() / 3;
                assert!((4..700).contains(&count), "{thing:?} has {count} triangles");
            }
        }
    }
}
