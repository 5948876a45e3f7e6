//! Cells from a signed distance: the fill is `clamp(½ + d)`, `d` the distance from the
//! cell's centre to the surface, in cells, inside positive. Meshing such cells gives back
//! planes exactly.

use crate::voxel::{AIR, Cell, DenseBox, VoxelPos};

/// Fill in 256ths (0 to 256) of a cell whose centre lies `distance` cells inside the
/// surface. 0, for air, where `distance` is NaN.
#[inline]
pub fn occupancy_units(distance: f64) -> u32 {
    // The cast saturates and takes NaN to 0.
    ((distance + 0.5) * 256.0 + 0.5).clamp(0.0, 256.0) as u32
}

/// Fills `cells` with what `distance` describes, in cells of mip `mip`.
///
/// `distance(p)` is the signed distance in voxels (of mip 0) from the point `p`, also in
/// voxels, to the surface, positive inside; only values within one cell of the surface
/// need be right. `material(p)` is asked for every cell that is not empty; air there makes
/// the cell air. All cells are overwritten, water is cleared.
///
/// ```
/// use terravox::generate::fill_sdf;
/// use terravox::voxel::{Cell, DenseBox, Region, VoxelPos};
///
/// let mut cells = DenseBox::new(Region::new([-8; 3], [8; 3]));
/// let ball = |p: [f32; 3]| 6.0 - (p[0] * p[0] + p[1] * p[1] + p[2] * p[2]).sqrt();
/// fill_sdf(&mut cells, 0, ball, |_| 8);
/// assert_eq!(cells.cell(VoxelPos::ZERO), Cell::full(8));
/// assert_eq!(cells.cell(VoxelPos::splat(-8)), Cell::AIR);
/// ```
pub fn fill_sdf(
    cells: &mut DenseBox,
    mip: u8,
    distance: impl Fn([f32; 3]) -> f32,
    material: impl Fn([f32; 3]) -> u8,
) {
    let region = cells.region();
    cells.reset(region);
    let edge = f64::from(1u32 << mip);
    for pos in region.voxels() {
        let p = cell_centre(pos, edge).map(|v| v as f32);
        let units = occupancy_units(f64::from(distance(p)) / edge);
        if units > 0 {
            let material = material(p);
            if material != AIR {
                cells.set(pos, Cell { material, occupancy: (units - 1) as u8 });
            }
        }
    }
}

/// Centre of a cell in voxels, where a cell is `edge` voxels wide.
pub(super) fn cell_centre(pos: VoxelPos, edge: f64) -> [f64; 3] {
    pos.to_array().map(|v| (f64::from(v) + 0.5) * edge)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::voxel::Region;

    #[test]
    fn a_flat_floor_fills_to_its_height() {
        for (height, expected) in
            [(2.0, [256, 256, 0]), (1.75, [256, 192, 0]), (2.25, [256, 256, 64])]
        {
            let mut cells = DenseBox::new(Region::new([0, 0, 0], [1, 3, 1]));
            fill_sdf(&mut cells, 0, |p| height - p[1], |_| 3);
            let units = [0, 1, 2].map(|y| cells.cell(VoxelPos::new(0, y, 0)).units());
            assert_eq!(units, expected, "a floor at {height}");
        }
    }

    #[test]
    fn coarse_cells_measure_in_their_own_size() {
        let mut cells = DenseBox::new(Region::new([0, -1, 0], [1, 2, 1]));
        fill_sdf(&mut cells, 2, |p| 5.0 - p[1], |_| 3);
        let units = [-1, 0, 1].map(|y| cells.cell(VoxelPos::new(0, y, 0)).units());
        assert_eq!(units, [256, 256, 64]);
    }

    #[test]
    fn nan_and_infinity_are_air_and_full() {
        assert_eq!(occupancy_units(f64::NAN), 0);
        assert_eq!(occupancy_units(f64::INFINITY), 256);
        assert_eq!(occupancy_units(f64::NEG_INFINITY), 0);
        let mut cells = DenseBox::new(Region::new([0; 3], [1; 3]));
        fill_sdf(&mut cells, 0, |_| f32::NAN, |_| 3);
        assert_eq!(cells.cell(VoxelPos::ZERO), Cell::AIR);
    }
}
