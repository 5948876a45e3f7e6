//! The position and normal of a vertex: the point of least squared distance to the planes of
//! the cells around a corner, drawn toward their weighted mean and clamped.
//!
//! Quadratic error functions as in "Dual Contouring of Hermite Data" (Ju et al. 2002),
//! regularised (Tikhonov) and solved in closed form. Everything is in doubled offsets (half
//! cells from the corner). Sums are taken over the octants at low x, over those at high x, then
//! of the two, so that vector code gives the same bits.

use super::corner::{CornerSheet, SIDE};
use super::plane::{CellPlane, larger, smaller};
use crate::math::dot;
use crate::voxel::SurfaceShape;

/// Adding and subtracting this rounds a doubled offset to 1/2048, an offset to 1/4096.
pub(crate) const ROUNDING: f32 = 6144.0;

/// Smallest trace to divide by: a corner may have dropped all planes.
pub(crate) const MIN_TRACE: f32 = 1e-20;
/// Smallest determinant to divide by.
pub(crate) const MIN_DETERMINANT: f32 = 1e-30;

/// Fraction of the way to the feet of the cell centres (their projections onto the planes) by
/// which a vertex slides along the surface. Evens out triangles and keeps them from inverting.
pub(crate) const SLIDE: f32 = 0.5;

/// On a smooth surface, the fraction of the way back toward the feet, perpendicular to it. The
/// planes are tangents and meet outside a round surface; their feet lie on it and have their
/// mean inside. Halfway between the two the errors cancel. So do those of the stencil's normals.
pub(crate) const PULL_BACK: f32 = 0.5;

/// Mean squared cosine between the planes' normals and the mean normal from which a surface
/// counts as smooth.
pub(crate) const SMOOTH_COSINE: f32 = 0.99;
/// The same up to which it counts as a crease.
pub(crate) const CREASE_COSINE: f32 = 0.9;
/// One over the difference of the two.
pub(crate) const SMOOTHNESS_SCALE: f32 = 1.0 / (SMOOTH_COSINE - CREASE_COSINE);

/// How a surface shape places vertices.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Firmness {
    /// A third of the softness λ; `None` for infinite.
    pub softness_third: Option<f32>,
    /// In a crease, how far the vertex moves outward, as a fraction of its distance from the
    /// feet: the stencil rounds normals, so that the planes meet too low.
    pub ridge: f32,
}

/// Returns how a shape places vertices.
#[inline]
pub(crate) const fn firmness(shape: SurfaceShape) -> Firmness {
    match shape {
        SurfaceShape::Default | SurfaceShape::Blocky | SurfaceShape::Rubble => {
            Firmness { softness_third: Some(0.2 / 3.0), ridge: 0.625 }
        }
        SurfaceShape::Sharp => Firmness { softness_third: Some(0.05 / 3.0), ridge: 1.0 },
        SurfaceShape::Smooth => Firmness { softness_third: None, ridge: 0.0 },
    }
}

/// A vertex relative to its corner.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct PlacedVertex {
    /// Doubled offset from the corner, a multiple of 1/2048.
    pub offset: [f32; 3],
    /// Unit normal.
    pub normal: [f32; 3],
}

/// Sums over the planes of a vertex: the normal equations and the mean normal.
#[derive(Default)]
struct PlaneSums {
    /// xx, xy, xz, yy, yz, zz.
    a: [f32; 6],
    b: [f32; 3],
    normal: [f32; 3],
    /// Feet of the cell centres, times a quarter of the planes' weights.
    feet: [f32; 3],
}

/// Places the vertex of `sheet` from the planes of the eight octants; those that the sheet does
/// not use are ignored. A vertex of thin cells (`is_thin`), or at the end of its sheet, stays
/// where its planes meet. `corner` is the absolute corner, for rubble.
pub(crate) fn place(
    planes: &[CellPlane; 8],
    sheet: &CornerSheet,
    shape: SurfaceShape,
    is_thin: bool,
    corner: [i32; 3],
) -> PlacedVertex {
    let sums = sum_planes(planes, sheet);
    let firmness = firmness(shape);
    let slides = !is_thin && !sheet.is_open;
    let normal = unit_normal(sums.normal, sheet.direction);
    let solution = solve(&sums, sheet.middle, firmness.softness_third);
    let ridge = if slides { Some(firmness.ridge) } else { None };
    let mut x = settle(&sums, solution, normal, ridge);
    match shape {
        SurfaceShape::Blocky => x = [0.0; 3],
        SurfaceShape::Rubble => {
            let push = rubble(corner);
            x = [x[0] + push[0], x[1] + push[1], x[2] + push[2]];
        }
        _ => {}
    }
    let offset = std::array::from_fn(|axis| {
        let clamped = smaller(larger(x[axis], sheet.low[axis]), sheet.high[axis]);
        (clamped + ROUNDING) - ROUNDING
    });
    PlacedVertex { offset, normal }
}

/// Moves a vertex at `start`, where its planes meet, relative to the mean of the feet: along the
/// surface toward it; perpendicular to the surface toward it where that is smooth, away from it
/// in a crease. Without a `ridge`, the vertex does not slide.
fn settle(sums: &PlaneSums, start: [f32; 3], normal: [f32; 3], ridge: Option<f32>) -> [f32; 3] {
    let [xx, xy, xz, yy, yz, zz] = sums.a;
    let trace = (xx + yy) + zz;
    if trace <= 0.0 {
        return start;
    }
    let inverse = 1.0 / larger(trace, MIN_TRACE);
    let turned = [dot([xx, xy, xz], normal), dot([xy, yy, yz], normal), dot([xz, yz, zz], normal)];
    let parallel = dot(turned, normal) * inverse;
    let smooth = smaller(larger((parallel - CREASE_COSINE) * SMOOTHNESS_SCALE, 0.0), 1.0);
    let (slide, ridge) = ridge.map_or((0.0, 0.0), |ridge| (SLIDE, ridge));
    let across = smooth * (PULL_BACK + ridge) - ridge;
    let away: [f32; 3] = std::array::from_fn(|axis| sums.feet[axis] * inverse - start[axis]);
    let step = (across - slide) * dot(away, normal);
    std::array::from_fn(|axis| start[axis] + (slide * away[axis] + step * normal[axis]))
}

fn sum_planes(planes: &[CellPlane; 8], sheet: &CornerSheet) -> PlaneSums {
    let [low, high] = [0, 1].map(|side| sum_side(planes, sheet, side));
    PlaneSums {
        a: std::array::from_fn(|i| low.a[i] + high.a[i]),
        b: std::array::from_fn(|i| low.b[i] + high.b[i]),
        normal: std::array::from_fn(|i| low.normal[i] + high.normal[i]),
        feet: std::array::from_fn(|i| low.feet[i] + high.feet[i]),
    }
}

/// Sums over the octants on one side of x.
fn sum_side(planes: &[CellPlane; 8], sheet: &CornerSheet, side: u8) -> PlaneSums {
    let mut sums = PlaneSums::default();
    for octant in (side..8).step_by(2) {
        let CellPlane { normal: n, distance } = planes[usize::from(octant)];
        let is_facing = dot(n, sheet.direction) > 0.0;
        if sheet.planes >> octant & 1 == 0 || !is_facing {
            continue;
        }
        let signed = |axis: usize| if octant & SIDE[axis] == 0 { -n[axis] } else { n[axis] };
        let d = distance + ((signed(0) + signed(1)) + signed(2));
        let products =
            [n[0] * n[0], n[0] * n[1], n[0] * n[2], n[1] * n[1], n[1] * n[2], n[2] * n[2]];
        for i in 0..6 {
            sums.a[i] += products[i];
        }
        let weight = (products[0] + products[3]) + products[5];
        for axis in 0..3 {
            let centre = if octant & SIDE[axis] == 0 { -weight } else { weight };
            sums.b[axis] += n[axis] * d;
            sums.normal[axis] += n[axis];
            sums.feet[axis] += n[axis] * distance + centre;
        }
    }
    sums
}

/// Returns the regularised minimum: from `middle` to the mean of the planes, then toward their
/// intersection.
fn solve(sums: &PlaneSums, middle: [f32; 3], softness_third: Option<f32>) -> [f32; 3] {
    let [xx, _, _, yy, _, zz] = sums.a;
    let trace = (xx + yy) + zz;
    let r = residual(sums, middle);
    let inverse = 1.0 / larger(trace, MIN_TRACE);
    let q = [middle[0] + r[0] * inverse, middle[1] + r[1] * inverse, middle[2] + r[2] * inverse];
    let Some(third) = softness_third else { return q };
    let step = solved(sums.a, trace * third, residual(sums, q));
    [q[0] + step[0], q[1] + step[1], q[2] + step[2]]
}

/// Solves `(A + soft) x = r` for x, with the symmetric A of xx, xy, xz, yy, yz, zz.
#[inline]
pub(crate) fn solved([xx, xy, xz, yy, yz, zz]: [f32; 6], soft: f32, r: [f32; 3]) -> [f32; 3] {
    let (sx, sy, sz) = (xx + soft, yy + soft, zz + soft);
    let c00 = sy * sz - yz * yz;
    let c01 = xz * yz - xy * sz;
    let c02 = xy * yz - xz * sy;
    let c11 = sx * sz - xz * xz;
    let c12 = xy * xz - sx * yz;
    let c22 = sx * sy - xy * xy;
    let determinant = (sx * c00 + xy * c01) + xz * c02;
    let over = 1.0 / larger(determinant, MIN_DETERMINANT);
    [dot([c00, c01, c02], r), dot([c01, c11, c12], r), dot([c02, c12, c22], r)].map(|v| v * over)
}

/// `b − A x`.
fn residual(sums: &PlaneSums, x: [f32; 3]) -> [f32; 3] {
    let [xx, xy, xz, yy, yz, zz] = sums.a;
    [
        sums.b[0] - dot([xx, xy, xz], x),
        sums.b[1] - dot([xy, yy, yz], x),
        sums.b[2] - dot([xz, yz, zz], x),
    ]
}

/// Normalises `normal`; if it is zero, `direction`; if that is zero too, returns up.
#[inline]
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

/// Returns the doubled offset by which rubble moves the vertices of an absolute corner: up to a
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
