//! Points gathered in square cells: the height of each, and of cells without points.

use super::points::Point;

/// What is known of a cell. Heights are whole steps, so that sums are exact and the order of points
/// means nothing.
#[derive(Clone, Copy, Debug)]
struct CellSums {
    /// Sum and number of points on the ground.
    sum: i64,
    ground: u32,
    /// The lowest point of any class.
    lowest: i64,
}

impl CellSums {
    const NONE: CellSums = CellSums { sum: 0, ground: 0, lowest: i64::MAX };
}

/// Share of a cell by which a point may be outside.
const ROUNDING: f64 = 1e-6;

/// Bytes of a cell: its sums, its height, and the coarser grids that fill holes.
pub(super) const CELL_BYTES: u64 = size_of::<CellSums>() as u64 + 4 + 2;

/// Cells, row by row.
#[derive(Debug)]
pub(super) struct Raster {
    size: [usize; 2],
    cells: Vec<CellSums>,
    has_ground: bool,
}

impl Raster {
    /// `size` is cells per row, and rows.
    pub fn new(size: [usize; 2]) -> Raster {
        Raster { size, cells: vec![CellSums::NONE; size[0] * size[1]], has_ground: false }
    }

    /// Adds a point at a column and a row, both with fractions; `height` is in steps. Returns whether
    /// it is inside.
    pub fn add(&mut self, at: [f64; 2], height: i64, point: Point) -> bool {
        let [width, _] = self.size;
        let mut cell = [0; 2];
        for axis in 0..2 {
            let end = self.size[axis] as f64;
            // Divisions by the width of a cell round, also those of points on the border.
            if !(-ROUNDING..=end + ROUNDING).contains(&at[axis]) {
                return false;
            }
            cell[axis] = (at[axis].max(0.0) as usize).min(self.size[axis] - 1);
        }
        let cell = &mut self.cells[cell[0] + width * cell[1]];
        cell.lowest = cell.lowest.min(height);
        if point.is_ground {
            cell.sum = cell.sum.saturating_add(height);
            cell.ground += 1;
            self.has_ground = true;
        }
        true
    }

    /// Returns the height of every cell, converted by `metres`, and the number of cells that were
    /// filled from those around them. If any point is ground, a cell has the mean of its ground, else
    /// its lowest point. `None` if there is no point.
    pub fn heights(self, metres: impl Fn(f64) -> f64) -> Option<(Vec<f32>, u64)> {
        let height = |cell: &CellSums| match self.has_ground {
            true if cell.ground > 0 => metres(cell.sum as f64 / f64::from(cell.ground)) as f32,
            false if cell.lowest < i64::MAX => metres(cell.lowest as f64) as f32,
            _ => f32::NAN,
        };
        let mut heights: Vec<f32> = self.cells.iter().map(height).collect();
        let empty = heights.iter().filter(|height| height.is_nan()).count();
        // Infinite heights, of numbers that no f32 holds, have no mean.
        if empty == heights.len() || heights.iter().any(|height| height.is_infinite()) {
            return None;
        }
        fill(self.size, &mut heights);
        Some((heights, empty as u64))
    }
}

/// Fills what is NaN: from the mean of a coarser grid, which is filled in the same way, between its
/// four nearest cells. At least one value is not NaN.
///
/// Source: Gortler et al., "The Lumigraph" (1996), section 3.4: pull and push.
fn fill([width, depth]: [usize; 2], heights: &mut [f32]) {
    if heights.len() == 1 || heights.iter().all(|height| !height.is_nan()) {
        return;
    }
    let half = [width.div_ceil(2), depth.div_ceil(2)];
    let mean = |at: usize| {
        let (x, z) = (2 * (at % half[0]), 2 * (at / half[0]));
        let corners = [(x, z), (x + 1, z), (x, z + 1), (x + 1, z + 1)];
        let inside = corners.into_iter().filter(|&(x, z)| x < width && z < depth);
        let known = inside.map(|(x, z)| heights[x + width * z]).filter(|height| !height.is_nan());
        let (sum, count) =
            known.fold((0.0, 0.0), |(sum, count), height| (sum + height, count + 1.0));
        sum / count
    };
    let mut coarse: Vec<f32> = (0..half[0] * half[1]).map(mean).collect();
    fill(half, &mut coarse);
    for z in 0..depth {
        for x in 0..width {
            let height = &mut heights[x + width * z];
            if height.is_nan() {
                *height = between(half, &coarse, [x, z]);
            }
        }
    }
}

/// The height at the centre of a fine cell, between those of coarse cells.
fn between(size: [usize; 2], coarse: &[f32], fine: [usize; 2]) -> f32 {
    let near = [0, 1].map(|axis| {
        let inside = fine[axis] / 2;
        let beside =
            if fine[axis].is_multiple_of(2) { inside.saturating_sub(1) } else { inside + 1 };
        [inside, beside.min(size[axis] - 1)]
    });
    let at = |x: usize, z: usize| coarse[near[0][x] + size[0] * near[1][z]];
    let along = |z: usize| 0.75 * at(0, z) + 0.25 * at(1, z);
    0.75 * along(0) + 0.25 * along(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn on(is_ground: bool) -> Point {
        Point { at: [0; 3], is_ground }
    }

    #[test]
    fn the_mean_of_the_ground_counts_and_without_ground_the_lowest_point() {
        let mut raster = Raster::new([2, 1]);
        raster.add([0.5, 0.5], 100, on(false));
        raster.add([0.5, 0.5], 30, on(false));
        raster.add([1.0, 0.0], 50, on(false));
        raster.add([2.1, 0.0], 7, on(false)); // outside
        assert_eq!(raster.heights(|v| v * 0.1), Some((vec![3.0, 5.0], 0)));
        let mut raster = Raster::new([2, 1]);
        raster.add([0.5, 0.5], 100, on(false));
        raster.add([0.5, 0.5], 40, on(true));
        raster.add([0.9, 0.9], 20, on(true));
        assert_eq!(raster.heights(|v| v), Some((vec![30.0, 30.0], 1)));
        assert_eq!(Raster::new([3, 3]).heights(|v| v), None);
    }

    #[test]
    fn holes_of_a_plane_are_near_it() {
        let size = [37, 23];
        let plane = |x: usize, z: usize| 3.0 * x as f32 - 2.0 * z as f32;
        let cells = || (0..size[1]).flat_map(|z| (0..size[0]).map(move |x| (x, z)));
        let is_hole = |x: usize, z: usize| (5..12).contains(&x) && (6..13).contains(&z);
        let known = |(x, z)| if is_hole(x, z) { f32::NAN } else { plane(x, z) };
        let mut heights: Vec<f32> = cells().map(known).collect();
        fill(size, &mut heights);
        for (x, z) in cells() {
            let off = (heights[x + size[0] * z] - plane(x, z)).abs();
            let most = if is_hole(x, z) { 8.0 } else { 0.0 };
            assert!(off <= most, "{off} at {x}, {z}");
        }
    }
}
