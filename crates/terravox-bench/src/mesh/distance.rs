//! Distance from points to a mesh: triangles in a hash of unit cells, searched in
//! growing shells around the point.
//!
//! Source of the closest point of a triangle: Ericson, "Real-Time Collision
//! Detection" (2005), §5.1.5, by Voronoi regions.

use glam::{DVec3, IVec3};
use rustc_hash::FxHashMap;

use super::surface::Surface;

/// Shells that are searched before giving up, in voxels.
const MAX_SHELLS: i32 = 64;

/// A mesh made ready for distance queries.
pub struct NearestTriangles {
    triangles: Vec<[DVec3; 3]>,
    /// Triangles whose bounds touch a unit cell.
    cells: FxHashMap<IVec3, Vec<u32>>,
}

impl NearestTriangles {
    /// Indexes the triangles of `surface`.
    pub fn new(surface: &Surface) -> NearestTriangles {
        let triangles: Vec<_> = surface.triangles.iter().map(|&t| surface.corners(t)).collect();
        let mut cells: FxHashMap<IVec3, Vec<u32>> = FxHashMap::default();
        for (at, [a, b, c]) in triangles.iter().enumerate() {
            let min = a.min(*b).min(*c).floor().as_ivec3();
            let max = a.max(*b).max(*c).floor().as_ivec3();
            for cell in cube(min, max) {
                cells.entry(cell).or_default().push(at as u32);
            }
        }
        NearestTriangles { triangles, cells }
    }

    /// Returns the distance from `point` to the nearest triangle; infinite if none lies within
    /// 64 voxels.
    pub fn distance(&self, point: DVec3) -> f64 {
        let home = point.floor().as_ivec3();
        let mut best = f64::INFINITY;
        for shell in 0..=MAX_SHELLS {
            // Triangles first found in a shell are at least this far from the point.
            if best <= f64::from(shell - 1).max(0.0) {
                break;
            }
            for cell in shell_cells(home, shell) {
                for &at in self.cells.get(&cell).map_or(&[][..], |list| list) {
                    best =
                        best.min(closest_point(point, self.triangles[at as usize]).distance(point));
                }
            }
        }
        best
    }
}

fn cube(min: IVec3, max: IVec3) -> impl Iterator<Item = IVec3> {
    (min.y..=max.y).flat_map(move |y| {
        (min.z..=max.z).flat_map(move |z| (min.x..=max.x).map(move |x| IVec3::new(x, y, z)))
    })
}

/// The cells of the cube of radius `shell` that the next smaller one does not hold.
fn shell_cells(centre: IVec3, shell: i32) -> impl Iterator<Item = IVec3> {
    cube(IVec3::splat(-shell), IVec3::splat(shell))
        .filter(move |d| d.abs().max_element() == shell)
        .map(move |d| centre + d)
}

/// The point of a triangle that lies nearest to `p`.
fn closest_point(p: DVec3, [a, b, c]: [DVec3; 3]) -> DVec3 {
    let (ab, ac, ap) = (b - a, c - a, p - a);
    let (d1, d2) = (ab.dot(ap), ac.dot(ap));
    if d1 <= 0.0 && d2 <= 0.0 {
        return a;
    }
    let bp = p - b;
    let (d3, d4) = (ab.dot(bp), ac.dot(bp));
    if d3 >= 0.0 && d4 <= d3 {
        return b;
    }
    let cp = p - c;
    let (d5, d6) = (ab.dot(cp), ac.dot(cp));
    if d6 >= 0.0 && d5 <= d6 {
        return c;
    }
    let vc = d1 * d4 - d3 * d2;
    if vc <= 0.0 && d1 >= 0.0 && d3 <= 0.0 {
        return a + ab * (d1 / (d1 - d3));
    }
    let vb = d5 * d2 - d1 * d6;
    if vb <= 0.0 && d2 >= 0.0 && d6 <= 0.0 {
        return a + ac * (d2 / (d2 - d6));
    }
    let va = d3 * d6 - d5 * d4;
    if va <= 0.0 && d4 - d3 >= 0.0 && d5 - d6 >= 0.0 {
        return b + (c - b) * ((d4 - d3) / ((d4 - d3) + (d5 - d6)));
    }
    let scale = 1.0 / (va + vb + vc);
    a + ab * (vb * scale) + ac * (vc * scale)
}

#[cfg(test)]
mod tests {
    use super::super::surface::tests::sphere;
    use super::*;
    use crate::worlds::random::Rng;

    /// All triangles, each by a fine sampling of its points.
    fn naive(surface: &Surface, p: DVec3) -> f64 {
        let mut best = f64::INFINITY;
        for &triangle in &surface.triangles {
            let [a, b, c] = surface.corners(triangle);
            for i in 0..=64 {
                for j in 0..=64 - i {
                    let (u, v) = (f64::from(i) / 64.0, f64::from(j) / 64.0);
                    best = best.min(p.distance(a + (b - a) * u + (c - a) * v));
                }
            }
        }
        best
    }

    #[test]
    fn distances_equal_those_of_a_dense_sampling() {
        let mut rng = Rng::new(11);
        for _ in 0..20 {
            let corners = [rng.point() * 6.0, rng.point() * 6.0, rng.point() * 6.0];
            let surface = Surface {
                positions: corners.to_vec(),
                triangles: vec![[0, 1, 2]],
                ..Surface::default()
            };
            let nearest = NearestTriangles::new(&surface);
            for _ in 0..20 {
                let p = rng.point() * 12.0 - DVec3::splat(3.0);
                let (fast, slow) = (nearest.distance(p), naive(&surface, p));
                assert!(fast <= slow + 1e-12 && slow - fast < 0.1, "{fast} {slow}");
            }
        }
    }

    #[test]
    fn the_search_finds_the_same_as_looking_at_all_triangles() {
        let surface = sphere(DVec3::splat(4.0), 7.0, 3);
        let nearest = NearestTriangles::new(&surface);
        let mut rng = Rng::new(3);
        for _ in 0..200 {
            let p = rng.point() * 40.0 - DVec3::splat(16.0);
            let all = surface.triangles.iter().map(|&t| closest_point(p, surface.corners(t)));
            let best = all.map(|q| q.distance(p)).fold(f64::INFINITY, f64::min);
            assert!((nearest.distance(p) - best).abs() < 1e-12);
        }
    }

    #[test]
    fn a_point_beyond_reach_is_infinitely_far() {
        let nearest = NearestTriangles::new(&sphere(DVec3::ZERO, 1.0, 1));
        assert_eq!(nearest.distance(DVec3::splat(500.0)), f64::INFINITY);
    }
}
