//! The triangle mesh of the metrics, from any mesher: positions in voxels, exact integer ids
//! by which blocks are welded, triangles.

use glam::DVec3;

/// Names a vertex exactly: twice its lattice corner on x, y, z, and which of the
/// vertices there it is. Blocks that show the same vertex give it the same key.
pub type VertexId = [i32; 4];

/// A mesh of one or many blocks.
#[derive(Clone, Debug, Default)]
pub struct Surface {
    /// Positions in voxels.
    pub positions: Vec<DVec3>,
    /// Shading normals, of any length.
    pub normals: Vec<DVec3>,
    /// One key a vertex.
    pub keys: Vec<VertexId>,
    /// Counter-clockwise seen from outside.
    pub triangles: Vec<[u32; 3]>,
}

impl Surface {
    /// The corners of a triangle.
    pub fn corners(&self, triangle: [u32; 3]) -> [DVec3; 3] {
        triangle.map(|v| self.positions[v as usize])
    }

    /// Volume inside a closed mesh, in cubic voxels; negative if it is inside out.
    pub fn volume(&self) -> f64 {
        let Some(&origin) = self.positions.first() else { return 0.0 };
        let of = |t: &[u32; 3]| {
            let [a, b, c] = self.corners(*t).map(|p| p - origin);
            a.dot(b.cross(c)) / 6.0
        };
        self.triangles.iter().map(of).sum()
    }

    /// Calls `sample(point, area)` at 16 points spread evenly over each triangle,
    /// which stand for equal parts of its area in square voxels.
    pub fn sample(&self, mut sample: impl FnMut(DVec3, f64)) {
        for &triangle in &self.triangles {
            let [a, b, c] = self.corners(triangle);
            let area = (b - a).cross(c - a).length() / 2.0 / 16.0;
            for (u, v) in SUBTRIANGLES {
                sample(a + (b - a) * u + (c - a) * v, area);
            }
        }
    }

    /// Root of the area-weighted mean square of `error` over the surface, and its
    /// largest magnitude at the samples.
    pub fn rms(&self, error: impl Fn(DVec3) -> f64) -> Spread {
        let mut spread = Accumulator::default();
        self.sample(|point, area| spread.add(error(point), area));
        spread.finish()
    }

    /// The same over the vertices, each counting alike.
    pub fn vertex_rms(&self, error: impl Fn(DVec3) -> f64) -> Spread {
        let mut spread = Accumulator::default();
        self.positions.iter().for_each(|&p| spread.add(error(p), 1.0));
        spread.finish()
    }
}

/// Centroids of a triangle's 16 congruent parts, by the weights of its second and
/// third corner.
const SUBTRIANGLES: [(f64, f64); 16] = {
    let mut all = [(0.0, 0.0); 16];
    let (mut n, mut i) = (0, 0);
    while i < 4 {
        let mut j = 0;
        while i + j < 4 {
            all[n] = ((i as f64 + 1.0 / 3.0) / 4.0, (j as f64 + 1.0 / 3.0) / 4.0);
            n += 1;
            if i + j < 3 {
                all[n] = ((i as f64 + 2.0 / 3.0) / 4.0, (j as f64 + 2.0 / 3.0) / 4.0);
                n += 1;
            }
            j += 1;
        }
        i += 1;
    }
    all
};

/// Size of errors.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Spread {
    /// Root mean square.
    pub rms: f64,
    /// Largest magnitude.
    pub max: f64,
}

/// Gathers weighted errors.
#[derive(Clone, Copy, Debug, Default)]
pub struct Accumulator {
    squares: f64,
    weight: f64,
    max: f64,
}

impl Accumulator {
    /// Adds an error of some weight.
    pub fn add(&mut self, error: f64, weight: f64) {
        self.squares += error * error * weight;
        self.weight += weight;
        self.max = self.max.max(error.abs());
    }

    /// The spread of what was added; NaN if nothing was.
    pub fn finish(self) -> Spread {
        Spread { rms: (self.squares / self.weight).sqrt(), max: self.max }
    }
}

#[cfg(test)]
pub mod tests {
    use super::*;

    /// A sphere of analytic vertices: an octahedron, split and pushed out `splits` times.
    pub fn sphere(centre: DVec3, radius: f64, splits: u32) -> Surface {
        let axes = [DVec3::X, DVec3::Y, DVec3::Z];
        let mut surface = Surface::default();
        for octant in 0..8 {
            let sign = |bit: usize| if octant >> bit & 1 == 0 { 1.0 } else { -1.0 };
            let [x, y, z] = [axes[0] * sign(0), axes[1] * sign(1), axes[2] * sign(2)];
            let flipped = sign(0) * sign(1) * sign(2) < 0.0;
            split(if flipped { [x, z, y] } else { [x, y, z] }, splits, &mut |corners| {
                let base = surface.positions.len() as u32;
                for direction in corners {
                    surface.positions.push(centre + direction * radius);
                    surface.normals.push(direction);
                    let at = (direction * (1 << 20) as f64).round();
                    surface.keys.push([at.x as i32, at.y as i32, at.z as i32, 0]);
                }
                surface.triangles.push([base, base + 1, base + 2]);
            });
        }
        surface
    }

    fn split([a, b, c]: [DVec3; 3], splits: u32, out: &mut impl FnMut([DVec3; 3])) {
        if splits == 0 {
            return out([a, b, c]);
        }
        let mid = |p: DVec3, q: DVec3| ((p + q) / 2.0).normalize();
        let (ab, bc, ca) = (mid(a, b), mid(b, c), mid(c, a));
        for part in [[a, ab, ca], [ab, b, bc], [ca, bc, c], [ab, bc, ca]] {
            split(part, splits - 1, out);
        }
    }

    #[test]
    fn an_analytic_sphere_has_no_error_at_its_vertices_and_its_sag_between() {
        let centre = DVec3::new(3.0, -2.0, 1.5);
        let surface = sphere(centre, 24.0, 5);
        let error = |p: DVec3| p.distance(centre) - 24.0;
        assert!(surface.vertex_rms(error).max < 1e-9);
        let fine = sphere(centre, 24.0, 6);
        let (coarse, fine) = (surface.rms(error), fine.rms(error));
        assert!(coarse.rms > 0.0 && (3.5..4.5).contains(&(coarse.rms / fine.rms)));
    }

    #[test]
    fn a_sphere_that_is_off_by_a_tenth_is_measured_as_a_tenth() {
        let surface = sphere(DVec3::ZERO, 24.1, 6);
        let spread = surface.rms(|p| p.length() - 24.0);
        assert!((spread.rms - 0.1).abs() < 0.01, "{spread:?}");
        assert!((surface.vertex_rms(|p| p.length() - 24.0).rms - 0.1).abs() < 1e-9);
    }

    #[test]
    fn volume_is_that_of_the_body_and_negative_inside_out() {
        let mut surface = sphere(DVec3::splat(100.0), 10.0, 5);
        let volume = 4.0 / 3.0 * std::f64::consts::PI * 1000.0;
        assert!((surface.volume() / volume - 1.0).abs() < 0.005);
        surface.triangles.iter_mut().for_each(|t| t.swap(0, 1));
        assert!((surface.volume() / volume + 1.0).abs() < 0.005);
    }

    #[test]
    fn samples_of_a_triangle_are_centred_and_share_its_area() {
        let corners = [DVec3::ZERO, DVec3::X * 3.0, DVec3::Y * 6.0];
        let surface = Surface {
            positions: corners.to_vec(),
            triangles: vec![[0, 1, 2]],
            ..Surface::default()
        };
        let (mut centre, mut total) = (DVec3::ZERO, 0.0);
        surface.sample(|p, area| {
            centre += p * area;
            total += area;
            assert!(p.x > 0.0 && p.y > 0.0 && 2.0 * p.x + p.y < 6.0);
        });
        assert!((total - 9.0).abs() < 1e-9);
        assert!((centre / total).distance(DVec3::new(1.0, 2.0, 0.0)) < 1e-9);
    }
}
