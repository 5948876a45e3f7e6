//! How near a surface could come to another one, were its vertices anywhere.
//!
//! Each vertex moves to where the squared distances of points all over its triangles from the
//! planes that they are nearest to are least, all at once, again and again: Gauss and Newton's
//! steps, with the parts between neighbours left out. What distance is left is due to how the
//! vertices are connected.

use glam::{DMat3, DVec3};

use crate::mesh::distance::Nearest;
use crate::mesh::surface::Surface;

const STEPS: usize = 6;

/// Points of a triangle that are looked at: weights of its second and third corner.
const POINTS: [(f64, f64); 4] = [
    (1.0 / 3.0, 1.0 / 3.0),
    (1.0 / 6.0, 1.0 / 6.0),
    (2.0 / 3.0, 1.0 / 6.0),
    (1.0 / 6.0, 2.0 / 3.0),
];

/// What keeps a vertex where nothing moves it, as a share of what does.
const FIRMNESS: f64 = 0.05;

/// The surface with its vertices where it is nearest to `to`.
pub fn fitted(surface: &Surface, to: &Nearest) -> Surface {
    let mut fitted = surface.clone();
    for _ in 0..STEPS {
        let steps = steps(&fitted, to);
        fitted.positions.iter_mut().zip(steps).for_each(|(position, step)| *position += step);
    }
    fitted
}

/// Where each vertex would go.
fn steps(surface: &Surface, to: &Nearest) -> Vec<DVec3> {
    let mut sums = vec![(DMat3::ZERO, DVec3::ZERO); surface.positions.len()];
    for &triangle in &surface.triangles {
        let [a, b, c] = surface.corners(triangle);
        let area = (b - a).cross(c - a).length();
        for (v, w) in POINTS {
            let point = a + (b - a) * v + (c - a) * w;
            let way = to.closest(point) - point;
            let normal = way.normalize_or_zero();
            let plane = DMat3::from_cols(normal * normal.x, normal * normal.y, normal * normal.z);
            for (corner, weight) in triangle.into_iter().zip([1.0 - v - w, v, w]) {
                let (planes, ways) = &mut sums[corner as usize];
                *planes += plane * (weight * area);
                *ways += way * (weight * area);
            }
        }
    }
    let step = |(planes, way): (DMat3, DVec3)| {
        let firmness = FIRMNESS * (planes.x_axis.x + planes.y_axis.y + planes.z_axis.z) + 1e-9;
        (planes + DMat3::from_diagonal(DVec3::splat(firmness))).inverse() * way
    };
    sums.into_iter().map(step).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mesh::surface::tests::sphere;

    #[test]
    fn a_coarse_ball_comes_nearer_to_a_fine_one_than_with_its_vertices_on_it() {
        let fine = Nearest::new(&sphere(DVec3::splat(9.0), 6.0, 4));
        let coarse = sphere(DVec3::splat(9.0), 6.0, 1);
        let off = |surface: &Surface| surface.rms(|p| fine.distance(p)).rms;
        let (before, after) = (off(&coarse), off(&fitted(&coarse, &fine)));
        assert!(after < 0.5 * before, "{after} of {before}");
    }
}
