//! A box against a triangle by the separating axes of the two: three sides of the box,
//! the triangle's normal, and the nine products of their edges. Whether they meet, and
//! the shortest way to part them, which for polytopes is along one of those axes.
//! Gottschalk, Lin & Manocha, "OBBTree" (1996); Akenine-Möller, "Fast 3D triangle-box
//! overlap testing" (2001). All in the box's frame, the box about the origin.

use glam::Vec3;

use super::closest::normal_of;

/// Squared sine below which an edge of the box and a side of the triangle count as
/// parallel: their product then is noise, and the faces' axes say the same.
const PARALLEL: f32 = 1e-8;

/// Least and greatest of the corners along an axis.
fn span(triangle: &[Vec3; 3], axis: Vec3) -> (f32, f32) {
    let [a, b, c] = triangle.map(|corner| corner.dot(axis));
    (a.min(b).min(c), a.max(b).max(c))
}

/// The product of edge `i` of the box and a side of the triangle.
fn across(i: usize, side: Vec3) -> Vec3 {
    match i {
        0 => Vec3::new(0.0, -side.z, side.y),
        1 => Vec3::new(side.z, 0.0, -side.x),
        _ => Vec3::new(-side.y, side.x, 0.0),
    }
}

fn sides(&[a, b, c]: &[Vec3; 3]) -> [Vec3; 3] {
    [b - a, c - b, a - c]
}

/// Whether the box with these half sizes and the triangle share a point.
pub(super) fn overlaps(half: Vec3, triangle: &[Vec3; 3]) -> bool {
    let [a, b, c] = *triangle;
    let (low, high) = (a.min(b).min(c), a.max(b).max(c));
    if low.cmpgt(half).any() || high.cmplt(-half).any() {
        return false;
    }
    let sides = sides(triangle);
    let normal = sides[0].cross(sides[1]);
    if normal.dot(a).abs() > half.dot(normal.abs()) && normal_of(triangle).is_some() {
        return false;
    }
    for side in sides {
        let least = PARALLEL * side.length_squared();
        for i in 0..3 {
            let axis = across(i, side);
            let reach = half.dot(axis.abs());
            let (low, high) = span(triangle, axis);
            if (low > reach || high < -reach) && axis.length_squared() > least {
                return false;
            }
        }
    }
    true
}

/// If they overlap, the shortest way to move the box until it only touches: distance and unit
/// vector. If they are apart, `Err` with the distance along a separating axis, and that axis,
/// from the triangle to the box.
pub(super) fn separating_axis(
    half: Vec3,
    triangle: &[Vec3; 3],
) -> Result<(f32, Vec3), (f32, Vec3)> {
    // Depth times the axis' length, the axis, and the squares of that length and of the depth: no
    // root until the end.
    let mut best = (f32::INFINITY, Vec3::Y, 1.0, f32::INFINITY);
    let mut offer = |axis: Vec3, squared_length: f32| {
        let reach = half.dot(axis.abs());
        let (low, high) = span(triangle, axis);
        let (up, down) = (high + reach, reach - low);
        let (depth, axis) = if up <= down { (up, axis) } else { (down, -axis) };
        if depth < 0.0 {
            let length = squared_length.sqrt();
            return Err((-depth / length, axis / length));
        }
        let squared = depth * depth / squared_length;
        if squared < best.3 {
            best = (depth, axis, squared_length, squared);
        }
        Ok(())
    };
    // The normal first: of equally short ways contacts need that one.
    if let Some(normal) = normal_of(triangle) {
        offer(normal, normal.length_squared())?;
    }
    for axis in [Vec3::X, Vec3::Y, Vec3::Z] {
        offer(axis, 1.0)?;
    }
    for side in sides(triangle) {
        let least = PARALLEL * side.length_squared();
        for i in 0..3 {
            let axis = across(i, side);
            let squared_length = axis.length_squared();
            if squared_length > least {
                offer(axis, squared_length)?;
            }
        }
    }
    let (depth, axis, squared_length, _) = best;
    let length = squared_length.sqrt();
    Ok((depth / length, axis / length))
}
