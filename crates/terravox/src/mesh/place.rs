//! Where a vertex lies: the point of least squared distance to the planes of the cells
//! around a corner, drawn toward their weighted mean and clamped.
//!
//! Quadratic error functions as in "Dual Contouring of Hermite Data" (Ju et al. 2002),
//! regularised (Tikhonov) and solved in closed form. All in doubled offsets (half cells
//! from the corner), every sum in the order of the octants, so that vector code gives
//! the same bits.

use crate::voxel::Shape;

use super::corner::{SIDE, Sheet};
use super::plane::{Plane, larger, smaller};

/// Adding and subtracting this rounds a doubled offset to 1/2048, an offset to 1/4096.
pub(crate) const ROUNDING: f32 = 6144.0;

/// Least trace and determinant to divide by: a corner may have dropped all planes.
pub(crate) const LEAST_TRACE: f32 = 1e-20;
/// See [`LEAST_TRACE`].
pub(crate) const LEAST_DETERMINANT: f32 = 1e-30;

/// A third of the softness λ by shape; `None` for infinite.
pub(crate) const fn softness_third(shape: Shape) -> Option<f32> {
    match shape {
        Shape::Default | Shape::Blocky | Shape::Rubble => Some(0.2 / 3.0),
        Shape::Sharp => Some(0.05 / 3.0),
        Shape::Smooth => None,
    }
}

/// A vertex relative to its corner.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Placed {
    /// Doubled offset from the corner, a multiple of 1/2048.
    pub offset: [f32; 3],
    /// Unit normal.
    pub normal: [f32; 3],
}

/// Sums over the planes of a vertex: the normal equations and the mean normal.
#[derive(Default)]
struct Sums {
    /// xx, xy, xz, yy, yz, zz.
    a: [f32; 6],
    b: [f32; 3],
    normal: [f32; 3],
}

/// Places the vertex of `sheet` from the planes of the eight octants, those that the
/// sheet does not use being ignored. `corner` is the absolute corner, for rubble.
pub(crate) fn place(planes: &[Plane; 8], sheet: &Sheet, shape: Shape, corner: [i32; 3]) -> Placed {
    let sums = sum_planes(planes, sheet);
    let mut x = solve(&sums, sheet.middle, softness_third(shape));
    match shape {
        Shape::Blocky => x = [0.0; 3],
        Shape::Rubble => {
            let push = rubble(corner);
            x = [x[0] + push[0], x[1] + push[1], x[2] + push[2]];
        }
        _ => {}
    }
    let offset = std::array::from_fn(|axis| {
        let clamped = smaller(larger(x[axis], sheet.low[axis]), sheet.high[axis]);
        (clamped + ROUNDING) - ROUNDING
    });
    Placed { offset, normal: unit_normal(sums.normal, sheet.direction) }
}

fn sum_planes(planes: &[Plane; 8], sheet: &Sheet) -> Sums {
    let mut sums = Sums::default();
    for octant in 0..8u8 {
        let Plane { normal: n, distance } = planes[usize::from(octant)];
        let facing = dot(n, sheet.direction) > 0.0;
        if sheet.planes >> octant & 1 == 0 || !facing {
            continue;
        }
        let signed = |axis: usize| if octant & SIDE[axis] == 0 { -n[axis] } else { n[axis] };
        let d = distance + ((signed(0) + signed(1)) + signed(2));
        let products =
            [n[0] * n[0], n[0] * n[1], n[0] * n[2], n[1] * n[1], n[1] * n[2], n[2] * n[2]];
        for i in 0..6 {
            sums.a[i] += products[i];
        }
        for axis in 0..3 {
            sums.b[axis] += n[axis] * d;
            sums.normal[axis] += n[axis];
        }
    }
    sums
}

/// The regularised minimum; from `middle` to the mean of the planes, then on toward
/// their intersection.
fn solve(sums: &Sums, middle: [f32; 3], softness_third: Option<f32>) -> [f32; 3] {
    let [xx, xy, xz, yy, yz, zz] = sums.a;
    let trace = (xx + yy) + zz;
    let r = residual(sums, middle);
    let inverse = 1.0 / larger(trace, LEAST_TRACE);
    let q = [middle[0] + r[0] * inverse, middle[1] + r[1] * inverse, middle[2] + r[2] * inverse];
    let Some(third) = softness_third else { return q };
    let r = residual(sums, q);
    let soft = trace * third;
    let (mx, my, mz) = (xx + soft, yy + soft, zz + soft);
    let c00 = my * mz - yz * yz;
    let c01 = xz * yz - xy * mz;
    let c02 = xy * yz - xz * my;
    let c11 = mx * mz - xz * xz;
    let c12 = xy * xz - mx * yz;
    let c22 = mx * my - xy * xy;
    let determinant = (mx * c00 + xy * c01) + xz * c02;
    let inverse = 1.0 / larger(determinant, LEAST_DETERMINANT);
    [
        q[0] + dot([c00, c01, c02], r) * inverse,
        q[1] + dot([c01, c11, c12], r) * inverse,
        q[2] + dot([c02, c12, c22], r) * inverse,
    ]
}

/// `b − A x`.
fn residual(sums: &Sums, x: [f32; 3]) -> [f32; 3] {
    let [xx, xy, xz, yy, yz, zz] = sums.a;
    [
        sums.b[0] - dot([xx, xy, xz], x),
        sums.b[1] - dot([xy, yy, yz], x),
        sums.b[2] - dot([xz, yz, zz], x),
    ]
}

fn dot(a: [f32; 3], b: [f32; 3]) -> f32 {
    (a[0] * b[0] + a[1] * b[1]) + a[2] * b[2]
}

/// `normal` at length 1; if it has none, `direction` at length 1; if that has none, up.
pub(crate) fn unit_normal(normal: [f32; 3], direction: [f32; 3]) -> [f32; 3] {
    for n in [normal, direction] {
        let square = dot(n, n);
        if square > 0.0 {
            let inverse = 1.0 / square.sqrt();
            return [n[0] * inverse, n[1] * inverse, n[2] * inverse];
        }
    }
    [0.0, 1.0, 0.0]
}

/// Doubled offset by which rubble moves the vertices of an absolute corner: up to a
/// quarter of a cell on each axis.
pub(crate) fn rubble(corner: [i32; 3]) -> [f32; 3] {
    let mut h = 0x9e37_79b9u32;
    for c in corner {
        h = (h ^ c as u32).wrapping_mul(0x85eb_ca6b);
        h = (h ^ (h >> 15)).wrapping_mul(0xc2b2_ae35);
        h ^= h >> 13;
    }
    [0, 10, 20].map(|shift| ((h >> shift & 1023) as f32 - 511.5) / 1024.0)
}
