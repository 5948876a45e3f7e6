//! A sphere against a triangle, in closed form: its distance is the centre's less the
//! radius; moving, its centre meets the triangle grown by the radius, whose surface is
//! two faces, three cylinders and three balls. Ericson, "Real-Time Collision Detection"
//! (2005) §5.1.5 and §5.5.6. The centre is the origin.

use glam::Vec3;

use super::closest::{closest_on_sides, closest_on_triangle, foot, is_over, normal_of};
use super::separation::{LocalSeparation, any_normal, noise_distance};

/// Whether the sphere and the triangle share a point.
pub(super) fn overlaps(radius: f32, triangle: &[Vec3; 3]) -> bool {
    closest_on_triangle(Vec3::ZERO, triangle).length_squared() <= radius * radius
}

/// Separates the centre and the triangle.
pub(super) fn separation(triangle: &[Vec3; 3]) -> LocalSeparation {
    let normal = normal_of(triangle);
    let over = normal.and_then(|normal| foot(Vec3::ZERO, triangle, normal));
    let on_triangle = over.unwrap_or_else(|| closest_on_sides(Vec3::ZERO, triangle));
    let distance = on_triangle.length();
    let normal = match (over, normal) {
        // The direction to a near foot is noise.
        (Some(_), Some(normal)) => {
            let unit = normal.normalize();
            if unit.dot(triangle[0]) > 0.0 { -unit } else { unit }
        }
        _ if distance > noise_distance(triangle) => -on_triangle / distance,
        (_, Some(normal)) => normal.normalize(),
        _ => any_normal(triangle[1] - triangle[0], triangle[2] - triangle[0]),
    };
    LocalSeparation { distance, on_shape: Vec3::ZERO, on_triangle, normal }
}

/// Least `t` at which a point that starts at `-from` and moves by `t * motion` comes
/// within `radius` of the origin; it starts outside. `along` is the direction in which
/// distance does not count (of a cylinder's axis, unit), or zero.
fn enters(from: Vec3, motion: Vec3, along: Vec3, radius: f32) -> Option<f32> {
    let (from, motion) = (from - along * from.dot(along), motion - along * motion.dot(along));
    let (closing, speed) = (from.dot(motion), motion.length_squared());
    let outside = from.length_squared() - radius * radius;
    if closing <= 0.0 || outside < 0.0 {
        return None;
    }
    // The distance of the line rather than the discriminant, which cancels far away.
    let passing = from - motion * (closing / speed);
    let inside = radius * radius - passing.length_squared();
    (inside >= 0.0).then(|| outside / (closing + (inside * speed).sqrt()))
}

/// First `t` from 0 to 1 at which the sphere, moved by `t * motion`, touches the triangle,
/// the point there and the normal. It starts apart.
pub(super) fn cast(radius: f32, motion: Vec3, triangle: &[Vec3; 3]) -> Option<(f32, Vec3, Vec3)> {
    if let Some(normal) = normal_of(triangle) {
        let unit = normal.normalize();
        let unit = if unit.dot(triangle[0]) > 0.0 { -unit } else { unit };
        let (height, closing) = (-unit.dot(triangle[0]), -unit.dot(motion));
        if height >= radius {
            if closing <= 0.0 || height - radius > closing {
                return None;
            }
            let t = (height - radius) / closing;
            let point = motion * t - unit * radius;
            if is_over(point, triangle, normal) {
                return Some((t, point, unit));
            }
        }
    }
    let mut best: Option<(f32, Vec3)> = None;
    let mut offer = |t: f32, point: Vec3| {
        if t <= 1.0 && best.is_none_or(|(first, _)| t < first) {
            best = Some((t, point));
        }
    };
    for i in 0..3 {
        let (a, b) = (triangle[i], triangle[(i + 1) % 3]);
        if let Some(t) = enters(a, motion, Vec3::ZERO, radius) {
            offer(t, a);
        }
        let (along, length) = ((b - a).normalize_or_zero(), (b - a).length());
        if along != Vec3::ZERO
            && let Some(t) = enters(a, motion, along, radius)
        {
            let at = (motion * t - a).dot(along);
            if (0.0..=length).contains(&at) {
                offer(t, a + along * at);
            }
        }
    }
    best.map(|(t, point)| (t, point, (motion * t - point).normalize_or(Vec3::Y)))
}
