//! Angles of edges in four bits: 0 for flat or concave, else the angle rounded up to one of
//! fifteen.

use glam::{BVec4A, Vec4};

/// The angles of the codes, degrees.
const DEGREES: [f32; 16] =
    [0.0, 2.0, 4.0, 7.0, 11.0, 16.0, 22.0, 29.0, 37.0, 46.0, 56.0, 68.0, 82.0, 100.0, 125.0, 180.0];

/// Up to this many degrees an edge is flat: positions are rounded.
#[cfg(test)]
pub(crate) const FLAT: f64 = 0.35;

/// From this many degrees on an edge is a fold in a surface that is broken there.
#[cfg(test)]
pub(crate) const FOLD: f64 = 150.0;

/// Cosine of the least angle that is a fold.
const FOLD_COS: f32 = -0.866_025_4;

/// Cosines of the angles from which on a code is at least 1, 2, and so on. Slightly too large,
/// so that rounding of cosines cannot shorten an angle.
const WHOLE: [f32; 15] = [
    0.99998134,
    0.99939185,
    0.99756503,
    0.99254715,
    0.9816282,
    0.9612627,
    0.9271849,
    0.87462074,
    0.7986365,
    0.69465935,
    0.5591939,
    0.3746076,
    0.1391741,
    -0.17364718,
    -0.57357544,
];

/// The same for half of these angles.
const HALF: [f32; 15] = [
    0.99999535, 0.9998487, 0.99939185, 0.9981358, 0.9953972, 0.99026906, 0.9816282, 0.96814865,
    0.9483247, 0.9205058, 0.8829486, 0.82903856, 0.75471056, 0.6427886, 0.4617496,
];

/// Cosines and sines of [`DEGREES`].
const TURNS: [[f32; 2]; 16] = [
    [1.0, 0.0],
    [0.99939084, 0.0348995],
    [0.9975641, 0.06975647],
    [0.99254614, 0.12186934],
    [0.98162717, 0.190809],
    [0.9612617, 0.27563736],
    [0.92718387, 0.37460658],
    [0.8746197, 0.4848096],
    [0.7986355, 0.60181504],
    [0.6946584, 0.7193398],
    [0.5591929, 0.82903755],
    [0.37460658, 0.92718387],
    [0.1391731, 0.99026805],
    [-0.17364818, 0.9848077],
    [-0.57357645, 0.81915206],
    [-1.0, 0.0],
];

/// The decoded angle of an edge.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct EdgeAngle {
    /// The angle.
    pub radians: f32,
    /// Its cosine.
    pub cos: f32,
    /// Its sine.
    pub sin: f32,
}

impl EdgeAngle {
    /// Decodes the angle at side `side`, 0 to 3, of a quad from its codes, as in
    /// [`QuadInfo::angles`](crate::collide::QuadInfo::angles).
    ///
    /// ```
    /// use terravox::geometry::EdgeAngle;
    ///
    /// let ridge = EdgeAngle::of_side(0x0090, 1);
    /// assert_eq!(ridge.radians, 46.0_f32.to_radians());
    /// assert_eq!(EdgeAngle::of_side(0x0090, 0).radians, 0.0);
    /// ```
    pub fn of_side(codes: u16, side: usize) -> EdgeAngle {
        let code = usize::from(codes >> (4 * side) & 15);
        let [cos, sin] = TURNS[code];
        EdgeAngle { radians: DEGREES[code].to_radians(), cos, sin }
    }
}

/// Codes of four angles between triangles, by their cosines; 0 where `outward`, which
/// has the sign of the sine, is not positive. Four bits each.
#[inline(always)]
pub(crate) fn codes_of(cos: Vec4, outward: Vec4) -> u16 {
    let convex = outward.cmpgt(Vec4::ZERO) & cos.cmpgt(Vec4::splat(FOLD_COS));
    packed(cos, convex, &WHOLE)
}

/// Codes of twice four angles, with the arguments of [`codes_of`], and the greatest where `all`.
/// Folds do not occur.
#[inline(always)]
pub(crate) fn codes_of_halves(cos: Vec4, outward: Vec4, all: BVec4A) -> u16 {
    let cos = Vec4::select(all, Vec4::ZERO, cos);
    packed(cos, outward.cmpgt(Vec4::ZERO) | all, &HALF)
}

/// Number of limits that each cosine is below, where `counts`.
#[inline(always)]
fn packed(cos: Vec4, counts: BVec4A, limits: &[f32; 15]) -> u16 {
    // Others are flat.
    let cos = Vec4::select(counts, cos, Vec4::ONE);
    if !cos.cmplt(Vec4::splat(limits[0])).any() {
        return 0;
    }
    let mut codes = Vec4::ZERO;
    let mut count = |limits: &[f32]| {
        for &limit in limits {
            codes += Vec4::select(cos.cmplt(Vec4::splat(limit)), Vec4::ONE, Vec4::ZERO);
        }
    };
    // Steep edges are rare.
    let (low, high) = limits.split_at(7);
    count(low);
    if cos.cmplt(Vec4::splat(high[0])).any() {
        count(high);
    }
    let places = Vec4::new(1.0, 16.0, 256.0, 4096.0);
    codes.dot(places) as u16
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tables_hold_the_cosines_of_the_angles() {
        for code in 1..16 {
            let degrees = if code == 1 { FLAT } else { f64::from(DEGREES[code - 1]) };
            for (limits, degrees) in [(&WHOLE, degrees), (&HALF, degrees / 2.0)] {
                let above = f64::from(limits[code - 1]) - degrees.to_radians().cos();
                assert!((-1e-7..1.2e-6).contains(&above), "{code}: {above}");
            }
        }
        for (code, degrees) in DEGREES.into_iter().enumerate() {
            let angle = EdgeAngle::of_side((code as u16) << 8, 2);
            assert_eq!(angle.radians, degrees.to_radians());
            let (sin, cos) = f64::from(degrees).to_radians().sin_cos();
            assert!((f64::from(angle.cos) - cos).abs() < 1e-7);
            assert!((f64::from(angle.sin) - sin).abs() < 1e-7);
        }
        assert!((f64::from(FOLD_COS) - FOLD.to_radians().cos()).abs() < 1e-7);
    }

    #[test]
    fn angles_are_rounded_up_and_flat_concave_and_folded_ones_are_0() {
        let at = |degrees: f64| {
            let (sin, cos) = degrees.to_radians().sin_cos();
            let one = codes_of(Vec4::splat(cos as f32), Vec4::splat(sin as f32));
            assert_eq!(one, (one & 15) * 0x1111, "every side alike");
            one & 15
        };
        let expected = [
            (0.0, 0),
            (0.34, 0),
            (0.36, 1),
            (1.99, 1),
            (2.01, 2),
            (45.0, 9),
            (101.0, 14),
            (149.0, 15),
        ];
        for (degrees, code) in expected {
            assert_eq!(at(degrees), code, "{degrees}°");
            assert_eq!(at(-degrees), 0);
        }
        assert_eq!([at(151.0), at(180.0)], [0, 0]);
        let half = |degrees: f64| {
            let (sin, cos) = (degrees / 2.0).to_radians().sin_cos();
            codes_of_halves(Vec4::splat(cos as f32), Vec4::splat(sin as f32), BVec4A::default())
                & 15
        };
        assert_eq!([half(0.34), half(0.36), half(45.0), half(170.0)], [0, 1, 9, 15]);
    }
}
