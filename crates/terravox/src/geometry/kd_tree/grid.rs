//! The lattice that positions are rounded to: 16 bits an axis, one step for all axes.
//!
//! Steps are powers of two and origins are multiples of them, so that a lattice point is
//! exact in f32 and rounding happens once. On [`PositionGrid::BLOCK`] it does not happen
//! at all: the mesher's vertices are multiples of its step.

/// Steps from the lowest to the highest lattice point of an axis.
const STEPS: f64 = 65535.0;

/// A lattice of 65,536 points an axis. A position is `origin + step * point`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PositionGrid {
    /// Position of point 0, a multiple of `step`.
    pub(super) origin: [f32; 3],
    /// Distance of two points, a power of two.
    pub(super) step: f32,
}

impl PositionGrid {
    /// The lattice of every 8³ block, in voxels from the block's min corner: from -1
    /// to 15 by 1/4096. Equal in all blocks, so that what neighbours share stays shared.
    pub const BLOCK: PositionGrid = PositionGrid { origin: [-1.0; 3], step: 1.0 / 4096.0 };

    /// The finest lattice that holds `positions`: its step is less than 1/32767 of the
    /// longest edge of their box, and no finer than f32 tells their coordinates apart.
    /// Non-finite positions are ignored.
    pub fn fit(positions: &[[f32; 3]]) -> PositionGrid {
        let (mut low, mut high) = ([f64::INFINITY; 3], [f64::NEG_INFINITY; 3]);
        for position in positions.iter().filter(|p| p.iter().all(|v| v.is_finite())) {
            for axis in 0..3 {
                low[axis] = low[axis].min(f64::from(position[axis]));
                high[axis] = high[axis].max(f64::from(position[axis]));
            }
        }
        if low[0] > high[0] {
            return PositionGrid { origin: [0.0; 3], step: 1.0 };
        }
        let extent = [0, 1, 2].map(|i| high[i] - low[i]).into_iter().fold(0.0, f64::max);
        let far = [0, 1, 2].map(|i| high[i].max(-low[i])).into_iter().fold(0.0, f64::max);
        // One step is kept for the origin, which lies up to a step below the lowest.
        let least = (extent / (STEPS - 1.0)).max(far / f64::from(1 << 24));
        let step = power_of_two_from(least.max(f64::from(f32::MIN_POSITIVE)));
        PositionGrid { origin: low.map(|v| ((v / step).floor() * step) as f32), step: step as f32 }
    }

    /// Distance between neighbouring points; positions are off by at most half of it
    /// along each axis.
    pub fn step(&self) -> f32 {
        self.step
    }

    /// The position of a lattice point.
    pub fn position(&self, point: [u16; 3]) -> [f32; 3] {
        [0, 1, 2].map(|i| self.origin[i] + self.step * f32::from(point[i]))
    }

    /// The nearest lattice point; `None` if the position lies outside or is not finite.
    pub fn point(&self, position: [f32; 3]) -> Option<[u16; 3]> {
        let steps = self.steps(position);
        let inside = steps.iter().all(|&v| (-0.5..=STEPS as f32 + 0.5).contains(&v));
        inside.then(|| steps.map(|v| (v + 0.5) as u16))
    }

    /// A position in steps from the origin.
    #[inline]
    pub(super) fn steps(&self, position: [f32; 3]) -> [f32; 3] {
        // A power of two has an exact inverse.
        let inverse = 1.0 / self.step;
        [0, 1, 2].map(|i| (position[i] - self.origin[i]) * inverse)
    }

    /// A closed box as lattice points: the lowest that is not below `min` and the highest
    /// that is not above `max`, which cross if it lies between two. A box of lattice
    /// points meets the one if it meets the other. None if it misses the lattice.
    pub(super) fn points_in(&self, min: [f32; 3], max: [f32; 3]) -> Option<[[u16; 3]; 2]> {
        let inverse = 1.0 / f64::from(self.step);
        let (mut low, mut high) = ([0; 3], [0; 3]);
        for axis in 0..3 {
            let origin = f64::from(self.origin[axis]);
            let first = (f64::from(min[axis]) - origin) * inverse;
            let last = (f64::from(max[axis]) - origin) * inverse;
            // Also false for NaN.
            if !(first <= last && first <= STEPS && last >= 0.0) {
                return None;
            }
            // Casts truncate and saturate; the lowest is rounded up.
            let down = first as u16;
            low[axis] = down + u16::from(f64::from(down) < first);
            high[axis] = last as u16;
        }
        Some([low, high])
    }
}

/// The least power of two that is not below a positive, normal `value`.
fn power_of_two_from(value: f64) -> f64 {
    const MANTISSA: u64 = (1 << 52) - 1;
    f64::from_bits((value.to_bits() + MANTISSA) & !MANTISSA)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_block_lattice_gives_the_meshers_positions_back() {
        for v in [-1.0, -0.75, 0.0, 1.0 / 4096.0, 3.5, 8.75, 9.0 - 1.0 / 4096.0] {
            let point = PositionGrid::BLOCK.point([v; 3]).unwrap();
            assert_eq!(PositionGrid::BLOCK.position(point), [v; 3]);
        }
    }

    #[test]
    fn a_fitted_lattice_holds_its_positions_to_half_a_step() {
        let sets: [&[[f32; 3]]; 5] = [
            &[[0.0; 3], [1.0, 2.0, 3.0]],
            &[[-1e-3, 5.0, 1e4], [1e-3, 5.0, 1e4 + 1.0]],
            &[[1e30, -1e30, 0.0], [-3e38, 3e38, 1.0]],
            &[[7.0; 3]],
            &[[1e-40, 0.0, 0.0], [0.0; 3]],
        ];
        for positions in sets {
            let grid = PositionGrid::fit(positions);
            for &p in positions {
                let back = grid.position(grid.point(p).unwrap());
                for axis in 0..3 {
                    let error = f64::from(p[axis]) - f64::from(back[axis]);
                    assert!(error.abs() <= f64::from(grid.step) / 2.0, "{p:?} {back:?}");
                }
            }
        }
    }

    #[test]
    fn a_fitted_lattice_is_as_fine_as_sixteen_bits_allow() {
        let grid = PositionGrid::fit(&[[0.0; 3], [10.0, 100.0, 0.0]]);
        assert!(f64::from(grid.step) < 100.0 / 32767.0);
        assert_eq!(PositionGrid::fit(&[]).step, 1.0);
        assert_eq!(PositionGrid::fit(&[[f32::NAN; 3]]).step, 1.0);
    }

    #[test]
    fn positions_outside_have_no_point() {
        for v in [-1.001, 15.001, f32::NAN, f32::INFINITY, f32::MIN] {
            assert_eq!(PositionGrid::BLOCK.point([0.0, v, 0.0]), None, "{v}");
        }
    }

    #[test]
    fn a_box_is_rounded_inwards_to_the_lattice() {
        let grid = PositionGrid::BLOCK;
        let step = grid.step;
        let points =
            |min: f32, max: f32| grid.points_in([min; 3], [max; 3]).map(|p| [p[0][0], p[1][0]]);
        assert_eq!(points(-1.0, -1.0), Some([0, 0]));
        assert_eq!(points(-1.0 + step / 2.0, -1.0 + 2.5 * step), Some([1, 2]));
        assert_eq!(points(f32::NEG_INFINITY, f32::INFINITY), Some([0, 65535]));
        assert_eq!(points(-1.0 + step * 0.25, -1.0 + step * 0.75), Some([1, 0]));
        assert_eq!(points(-3.0, -1.5), None);
        assert_eq!(points(15.5, 16.0), None);
        assert_eq!(points(1.0, 0.5), None);
        assert_eq!(points(f32::NAN, 1.0), None);
    }
}
