//! Cells from a signed distance: the fill is `clamp(½ + d)`, `d` the distance from the
//! cell's centre to the surface, in cells, inside positive. Meshing such cells gives back
//! planes exactly.
//!
//! Here every cell is evaluated; [`bounded`](super::bounded) evaluates few.

use super::frame::{Frame, occupancy_units};
use crate::voxel::{AIR, DenseBox};

/// Fills `cells` with what `distance` describes, in cells of mip `mip`.
///
/// `distance(p)` is the signed distance in voxels (of mip 0) from the point `p`, also in
/// voxels, to the surface, positive inside; only values within one cell of the surface
/// need be exact. It is called once per cell, in no particular order. `material(p)` is called
/// for every cell that is not empty; air there makes the cell air. All cells are overwritten,
/// water is cleared.
///
/// Where the slope of the distance is bounded,
/// [`fill_sdf_bounded`](super::fill_sdf_bounded) gives the same cells for much less.
///
/// ```
/// use terravox::generate::fill_sdf;
/// use terravox::voxel::{Cell, DenseBox, Region, VoxelPos};
///
/// let mut cells = DenseBox::new(Region::new([-8; 3], [8; 3]));
/// let ball = |p: [f64; 3]| 6.0 - (p[0] * p[0] + p[1] * p[1] + p[2] * p[2]).sqrt();
/// fill_sdf(&mut cells, 0, ball, |_| 8);
/// assert_eq!(cells.cell(VoxelPos::ZERO), Cell::full(8));
/// assert_eq!(cells.cell(VoxelPos::splat(-8)), Cell::AIR);
/// ```
///
/// # Panics
/// If `mip` is above 31.
pub fn fill_sdf(
    cells: &mut DenseBox,
    mip: u8,
    distance: impl FnMut([f64; 3]) -> f64,
    material: impl FnMut([f64; 3]) -> u8,
) {
    fill(cells, Frame::voxels(mip), distance, material);
}

/// [`fill_sdf`] in any unit.
pub(crate) fn fill(
    cells: &mut DenseBox,
    frame: Frame,
    mut distance: impl FnMut([f64; 3]) -> f64,
    mut material: impl FnMut([f64; 3]) -> u8,
) {
    let (region, edge) = (cells.region(), frame.edge());
    cells.resize(region);
    let xs: Vec<f64> = (region.min.x..region.max.x).map(|x| frame.centre_on(0, x)).collect();
    let (mut materials, mut occupancies) = cells.arrays_mut();
    for y in region.min.y..region.max.y {
        let y = frame.centre_on(1, y);
        for z in region.min.z..region.max.z {
            let z = frame.centre_on(2, z);
            let (row, occupancy_row);
            (row, materials) = materials.split_at_mut(xs.len());
            (occupancy_row, occupancies) = occupancies.split_at_mut(xs.len());
            for ((&x, cell), occupancy) in xs.iter().zip(row).zip(occupancy_row) {
                let units = occupancy_units(distance([x, y, z]) / edge);
                *cell = if units > 0 { material([x, y, z]) } else { AIR };
                *occupancy = if *cell == AIR { 0 } else { (units - 1) as u8 };
            }
        }
    }
}

/// Positions of the 32 cell centres of a row along x, for
/// [`FillRequest::fill_rows`](crate::FillRequest::fill_rows).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RowPoints {
    /// Centre of the first cell, in world metres.
    pub first_m: [f64; 3],
    /// Distance from each centre to the next, metres: the edge of a cell.
    pub step_m: f64,
}

impl RowPoints {
    /// Centre of a cell of the row, in world metres.
    #[inline]
    pub fn point_m(&self, cell: usize) -> [f64; 3] {
        let [x, y, z] = self.first_m;
        [x + cell as f64 * self.step_m, y, z]
    }
}

/// Cells in a row of a block.
pub(crate) const ROW: usize = crate::voxel::Row::CELLS;

/// Fills a box whose rows are those of a block, row by row.
pub(crate) fn fill_rows(
    cells: &mut DenseBox,
    frame: Frame,
    mut distances: impl FnMut(RowPoints, &mut [f32; ROW]),
    mut materials: impl FnMut(RowPoints, &mut [u8; ROW]),
) {
    let (region, edge) = (cells.region(), frame.edge());
    debug_assert_eq!(region.size()[0], ROW);
    cells.resize(region);
    let depth = region.size()[2];
    let (all_materials, all_occupancies) = cells.arrays_mut();
    let rows = all_materials.as_chunks_mut::<ROW>().0.iter_mut();
    let rows = rows.zip(all_occupancies.as_chunks_mut::<ROW>().0);
    let mut depths = [0.0; ROW];
    for (i, (row, occupancies)) in rows.enumerate() {
        let cell =
            region.min + crate::voxel::VoxelPos::new(0, (i / depth) as i32, (i % depth) as i32);
        let points = RowPoints { first_m: frame.centre(cell), step_m: edge };
        distances(points, &mut depths);
        let units = depths.map(|depth| occupancy_units(f64::from(depth) / edge));
        if units == [0; ROW] {
            row.fill(AIR);
            occupancies.fill(0);
            continue;
        }
        materials(points, row);
        for ((cell, occupancy), units) in row.iter_mut().zip(occupancies).zip(units) {
            *cell = if units > 0 { *cell } else { AIR };
            *occupancy = if *cell == AIR { 0 } else { (units - 1) as u8 };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::voxel::{Cell, Region, VoxelPos};

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
    fn every_cell_is_overwritten_and_air_as_material_makes_air() {
        let mut cells = DenseBox::new(Region::new([0; 3], [2, 3, 4]));
        cells.fill(9);
        cells.set_water(VoxelPos::ZERO, Some(3));
        fill_sdf(&mut cells, 0, |_| f64::NAN, |_| 3);
        assert_eq!(cells, DenseBox::new(cells.region()));
        fill_sdf(&mut cells, 0, |_| 9.0, |p| if p[1] < 1.0 { AIR } else { 3 });
        assert_eq!(cells.cell(VoxelPos::ZERO), Cell::AIR);
        assert_eq!(cells.cell(VoxelPos::new(0, 1, 3)), Cell::full(3));
    }

    #[test]
    fn rows_give_the_cells_of_points() {
        for (mip, far) in [(0, 0.0), (3, 2.5e7)] {
            let frame = Frame::placed(mip, 0.5, [far, 0.25, -far]);
            let ball = |[x, y, z]: [f64; 3]| {
                let [x, z] = [x - far - 9.0, z + far - 8.0];
                15.0 - (x * x + y * y + z * z).sqrt()
            };
            let band =
                |p: [f64; 3]| [AIR, 2, 8][(p[0] + 2.0 * p[1]).floor().rem_euclid(3.0) as usize];
            let mut rows = DenseBox::new(Region::new([0, -32, 0], [32, 0, 32]));
            let mut points = rows.clone();
            fill(&mut points, frame, |p| f64::from(ball(p) as f32), band);
            fill_rows(
                &mut rows,
                frame,
                |row, to| {
                    to.iter_mut().enumerate().for_each(|(i, d)| *d = ball(row.point_m(i)) as f32)
                },
                |row, to| to.iter_mut().enumerate().for_each(|(i, m)| *m = band(row.point_m(i))),
            );
            assert!(rows == points, "mip {mip}");
        }
    }
}
