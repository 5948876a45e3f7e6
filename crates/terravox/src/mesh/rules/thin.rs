//! The planes of thin cells: outside on both sides along an axis, where the stencil's
//! normal vanishes.
//!
//! Each of such a cell's eight corners gets its own plane. Along a thin axis its normal
//! points toward the corner, as long as that of a full step, and the plane passes
//! through a face at half the thickness: f/2 from the middle for one thin axis,
//! f^(1/k) / 2 for k, so that a lone cell is a cube of its volume. The last cell of a
//! taper (its fullest neighbour is not thin, and the cell opposite of that is outside)
//! is a cap, not a plate. The middle of a partly filled plate moves toward the side on
//! which its neighbours have cells behind them. Thin cells on liquid with air above them
//! are plates that lie on the liquid.

use super::cells::SurfaceCells;
use super::corner::SIDE;
use super::face::Direction;
use super::plane::{CellPlane, stencil_value};

/// Gradient at a full step from a full cell to an empty one.
const FULL_STEP: i32 = 4080;

/// Half extent of a cell that is thin along 1, 2, 3 axes, by its stored occupancy.
static HALF_EXTENTS: [[f32; 256]; 3] = {
    let mut halves = [[0.0; 256]; 3];
    let mut stored = 0;
    while stored < 256 {
        let fill = (stored as f64 + 1.0) / 256.0;
        halves[0][stored] = (0.5 * fill) as f32;
        halves[1][stored] = (0.5 * square_root(fill)) as f32;
        halves[2][stored] = (0.5 * cube_root(fill)) as f32;
        stored += 1;
    }
    halves
};

/// Square root of `a` in (0, 1], by Newton's iteration.
const fn square_root(a: f64) -> f64 {
    let mut x = 1.0;
    let mut step = 0;
    while step < 40 {
        x = 0.5 * (x + a / x);
        step += 1;
    }
    x
}

/// Cube root of `a` in (0, 1], by Newton's iteration.
const fn cube_root(a: f64) -> f64 {
    let mut x = 1.0;
    let mut step = 0;
    while step < 40 {
        x = (2.0 * x + a / (x * x)) / 3.0;
        step += 1;
    }
    x
}

/// Whether cell `i` has outside on both sides along `axis`.
fn is_exposed(cells: &impl SurfaceCells, i: usize, axis: usize) -> bool {
    let step = cells.steps()[axis];
    cells.outside(i - step) && cells.outside(i + step)
}

/// Returns, by axis, whether the inside cell `i` is thin; caps are not.
fn thin_axes(cells: &impl SurfaceCells, i: usize) -> [bool; 3] {
    let mut thin = [is_exposed(cells, i, 0), is_exposed(cells, i, 1), is_exposed(cells, i, 2)];
    if thin.contains(&true)
        && let Some((ahead, behind)) = fullest_neighbour(cells, i)
        && cells.outside(behind)
    {
        for axis in 0..3 {
            thin[axis] = thin[axis] && is_exposed(cells, ahead, axis);
        }
    }
    thin
}

/// Returns the fullest inside face neighbour, and the cell opposite of it; the first among
/// equals in the order −x, +x, −y, +y, −z, +z.
fn fullest_neighbour(cells: &impl SurfaceCells, i: usize) -> Option<(usize, usize)> {
    let mut best = None;
    let mut most = 0;
    for step in cells.steps() {
        for (ahead, behind) in [(i - step, i + step), (i + step, i - step)] {
            if cells.inside(ahead) && stencil_value(cells.stored(ahead)) > most {
                most = stencil_value(cells.stored(ahead));
                best = Some((ahead, behind));
            }
        }
    }
    best
}

/// Returns how far the middle of a thin cell moves along `axis`, −1 to 1: twice the mean, over
/// the inside neighbours across, of 1 if the cell above them is inside less 1 if the one below is.
fn lean(cells: &impl SurfaceCells, i: usize, axis: usize) -> f32 {
    let steps = cells.steps();
    let (mut count, mut sum) = (0, 0);
    for other in (0..3).filter(|&a| a != axis) {
        for at in [i - steps[other], i + steps[other]] {
            if cells.inside(at) {
                count += 1;
                sum += i32::from(cells.inside(at + steps[axis]));
                sum -= i32::from(cells.inside(at - steps[axis]));
            }
        }
    }
    if count == 0 { 0.0 } else { ((2 * sum) as f32 / count as f32).clamp(-1.0, 1.0) }
}

/// Whether a plate or rod ends at cell `i` in a direction: no cell continues it there, level or
/// a step up or down.
fn is_end(cells: &impl SurfaceCells, i: usize, thin: [bool; 3], direction: Direction) -> bool {
    let step = cells.steps()[direction.axis];
    let (beyond, behind) =
        if direction.is_high { (i + step, i - step) } else { (i - step, i + step) };
    cells.outside(beyond)
        && cells.inside(behind)
        && (0..3).filter(|&axis| thin[axis]).all(|axis| is_exposed(cells, beyond, axis))
}

/// Returns how far the rim of a plate of half thickness `half` extends along the axis on which
/// it ends, so that its last cell keeps its volume: the rim's vertices lie at
/// `(half + extent) / 2` along both axes, the next ones at `half`.
fn end_extent(half: f32) -> f32 {
    let sum = 0.5 + half;
    ((sum * sum + 6.0 * half).sqrt() - sum) - half
}

/// Returns the planes of the inside cell `i` if it is thin along any axis, one for each of its
/// corners (bit 0, 1, 2 of the index: high side of x, z, y).
pub(crate) fn thin_planes(cells: &impl SurfaceCells, i: usize) -> Option<[CellPlane; 8]> {
    if !cells.may_be_thin(i) {
        return None;
    }
    let thin = thin_axes(cells, i);
    if thin[1] && cells.floats(i) {
        return Some(floating_planes(cells.stored(i)));
    }
    let count = thin.iter().filter(|&&t| t).count();
    if count == 0 {
        return None;
    }
    let gradient = cells.gradient(i);
    let half = HALF_EXTENTS[count - 1][usize::from(cells.stored(i))];
    let mut middle = [0.0; 3];
    for axis in (0..3).filter(|&axis| thin[axis]) {
        middle[axis] = (0.5 - half) * lean(cells, i, axis);
    }
    let extent = end_extent(half);
    let mut at_end = [[false; 2]; 3];
    for axis in (0..3).filter(|&axis| !thin[axis]) {
        at_end[axis] =
            [false, true].map(|is_high| is_end(cells, i, thin, Direction { axis, is_high }));
    }
    Some(std::array::from_fn(|corner| {
        let mut toward = gradient;
        let mut point = [0.0; 3];
        for axis in 0..3 {
            let is_high = corner as u8 & SIDE[axis] != 0;
            let step = if is_high { FULL_STEP } else { -FULL_STEP };
            if thin[axis] {
                toward[axis] = step;
                point[axis] = middle[axis] + if is_high { half } else { -half };
            } else if at_end[axis][usize::from(is_high)] {
                toward[axis] = step;
                point[axis] = if is_high { extent } else { -extent };
            } else if at_end[axis][usize::from(!is_high)] {
                toward[axis] = 0;
            }
        }
        CellPlane::through(toward, point, cells.stored(i))
    }))
}

/// Returns the planes of a thin cell on liquid, by its corners: a plate as wide as the cell,
/// without rims, which would curl up.
fn floating_planes(stored: u8) -> [CellPlane; 8] {
    let top = 2.0 * HALF_EXTENTS[0][usize::from(stored)] - 0.5;
    std::array::from_fn(|corner| match corner as u8 & SIDE[1] {
        0 => CellPlane::through([0, -FULL_STEP, 0], [0.0, -0.5, 0.0], stored),
        _ => CellPlane::through([0, FULL_STEP, 0], [0.0, top, 0.0], stored),
    })
}
