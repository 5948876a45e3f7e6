//! The core of a shape: the shape without its radius.

use glam::{Mat3, Vec3};

/// A convex core.
#[derive(Clone, Copy, Debug)]
pub(super) enum Core<'a> {
    Point,
    Segment([Vec3; 2]),
    Box { half: Vec3, axes: Mat3 },
    Points(&'a [[f32; 3]]),
}

/// The point farthest along `direction`.
pub(super) fn farthest_of(points: &[[f32; 3]], direction: Vec3) -> Vec3 {
    let (mut most, mut best) = (f32::NEG_INFINITY, 0);
    for (i, point) in points.iter().enumerate() {
        let along = point[0] * direction.x + point[1] * direction.y + point[2] * direction.z;
        // Without a branch: it would be unpredictable.
        let better = along > most;
        most = if better { along } else { most };
        best = if better { i } else { best };
    }
    points.get(best).map_or(Vec3::ZERO, |&point| Vec3::from(point))
}
