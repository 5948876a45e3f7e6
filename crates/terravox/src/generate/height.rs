//! Cells from a height function, evaluated once per column.
//!
//! The distance of a cell's centre from the ground is its depth below the height of its column
//! times the vertical component of the ground's normal, from the heights of the four columns beside
//! it. That is exact for planes. Where the ground has a kink, cells more than half a cell above
//! (below) the heights of all five columns are air (full) at any slope, so that a range of heights
//! bounds the cells.

use std::ops::{Bound, RangeBounds};

use super::frame::{Frame, occupancy_units};
use crate::voxel::{AIR, DenseBox, Region};

/// Promises that everything below `depth` is `material`: the material function is then not called
/// for most of it. Where it is called below `depth`, it must return `material`; builds with debug
/// assertions check that.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Deep {
    /// Depth below which everything is `material`: vertical depth for heights, the distance itself
    /// for distances. In the unit of the fill.
    pub depth: f64,
    /// The material.
    pub material: u8,
}

impl Deep {
    /// One material for everything.
    pub(crate) const fn all(material: u8) -> Deep {
        Deep { depth: f64::NEG_INFINITY, material }
    }
}

/// The ground at one column of cells.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GroundColumn {
    /// Centre of the column along x, in the unit of the fill (world metres for a `FillRequest`).
    pub x: f64,
    /// Centre of the column along z.
    pub z: f64,
    /// Height of the ground there.
    pub height: f64,
    /// Y component of the ground's unit normal: 1 on level ground, towards 0 on steep; the cosine
    /// of the slope angle.
    pub normal_y: f64,
}

/// Fills `cells` (in cells of mip `mip`) with one material below `height(x, z)`, all in voxels of
/// mip 0. All cells are overwritten, water is cleared.
///
/// `height` is called once per column of cells and per column beside the box, and must depend on
/// its arguments only. It may be `FnMut` to keep a cache such as
/// [`Noise2::cursor`](super::Noise2::cursor). NaN means no ground, and is allowed only in ranges
/// without a lower end.
///
/// `heights` is the range of `height`, or `..` if unknown. Boxes outside of it are filled without a
/// call. Builds with debug assertions check the range on some columns.
///
/// ```
/// use terravox::generate::fill_height;
/// use terravox::voxel::{Cell, DenseBox, Region, VoxelPos};
///
/// let mut cells = DenseBox::new(Region::new([0, -32, 0], [32, 32, 32]));
/// fill_height(&mut cells, 0, 8, -6.0..=6.0, |x, z| (x - z).clamp(-6.0, 6.0));
/// assert_eq!(cells.cell(VoxelPos::new(9, 5, 0)), Cell::full(8));
/// assert_eq!(cells.cell(VoxelPos::new(0, 5, 9)), Cell::AIR);
/// ```
///
/// # Panics
/// If `mip` is above 31. With debug assertions, if a height outside of the range is found.
pub fn fill_height(
    cells: &mut DenseBox,
    mip: u8,
    material: u8,
    heights: impl RangeBounds<f64>,
    height: impl FnMut(f64, f64) -> f64,
) {
    let ground = HeightFill { frame: Frame::voxels(mip), range: range(&heights), deep: None };
    ground.fill_one(cells, material, height);
}

/// As [`fill_height`], with materials.
///
/// `material(column)` returns the function of one column that gives the material at a height and
/// a depth straight below the ground (negative in cells whose centre lies above it). It is called
/// once per column, and the function that it returns for every cell that is not air, in boxes that
/// have such cells and are not all `deep`. Air (0) makes a cell air.
///
/// ```
/// use terravox::generate::{Deep, fill_height_with};
/// use terravox::voxel::{DenseBox, Region, VoxelPos};
///
/// let mut cells = DenseBox::new(Region::new([0, -32, 0], [32, 0, 32]));
/// let deep = Some(Deep { depth: 4.0, material: 8 });
/// fill_height_with(&mut cells, 0, .., deep, |x, _| -x / 2.0, |column| {
///     let top = if column.height < -8.0 { 6 } else { 2 }; // sand, grass
///     move |_y, depth| if depth < 1.0 { top } else if depth < 4.0 { 14 } else { 8 }
/// });
/// assert_eq!(cells.cell(VoxelPos::new(3, -4, 0)).material, 14);
/// ```
///
/// # Panics
/// If `mip` is above 31. With debug assertions, if a height outside of the range is found, or a
/// material that is not that of `deep` at its depth.
pub fn fill_height_with<M: Fn(f64, f64) -> u8>(
    cells: &mut DenseBox,
    mip: u8,
    heights: impl RangeBounds<f64>,
    deep: Option<Deep>,
    height: impl FnMut(f64, f64) -> f64,
    material: impl FnMut(GroundColumn) -> M,
) {
    let ground = HeightFill { frame: Frame::voxels(mip), range: range(&heights), deep };
    ground.fill(cells, height, material);
}

/// The ends of a range of heights.
pub(crate) fn range(heights: &impl RangeBounds<f64>) -> [f64; 2] {
    let end = |bound: Bound<&f64>, open: f64| match bound {
        Bound::Included(&v) | Bound::Excluded(&v) => v,
        Bound::Unbounded => open,
    };
    [end(heights.start_bound(), f64::NEG_INFINITY), end(heights.end_bound(), f64::INFINITY)]
}

/// A fill by heights: its frame, and what is known before any height is evaluated.
#[derive(Clone, Copy)]
pub(crate) struct HeightFill {
    pub frame: Frame,
    /// The range of all heights.
    pub range: [f64; 2],
    pub deep: Option<Deep>,
}

/// A box of one kind of cells.
enum UniformFill {
    Air,
    /// Full cells, all deep.
    Deep(u8),
}

/// The columns of a box, x fastest, then z.
struct ColumnHeights {
    height: Vec<f64>,
    normal_y: Vec<f64>,
    /// Cells with a centre at or above the first are air, at or below the second full.
    limits: Vec<[f64; 2]>,
}

/// The columns of one row of cells.
struct RowColumns<'a> {
    height: &'a [f64],
    normal_y: &'a [f64],
    limits: &'a [[f64; 2]],
    /// Lowest height.
    lowest: f64,
    /// From the lowest upper limit of full cells to the highest lower limit of air.
    mixed: [f64; 2],
}

impl HeightFill {
    /// Fills a box with one material.
    pub fn fill_one(
        mut self,
        cells: &mut DenseBox,
        material: u8,
        height: impl FnMut(f64, f64) -> f64,
    ) {
        self.deep = Some(Deep::all(material));
        self.fill(cells, height, |_| move |_, _| material);
    }

    /// Fills a box.
    pub fn fill<M: Fn(f64, f64) -> u8>(
        &self,
        cells: &mut DenseBox,
        mut height: impl FnMut(f64, f64) -> f64,
        material: impl FnMut(GroundColumn) -> M,
    ) {
        let region = cells.region();
        if region.is_empty() {
            return cells.reset(region);
        }
        if let Some(whole) = self.whole(region) {
            #[cfg(debug_assertions)]
            self.sample(region, &mut height);
            return match whole {
                UniformFill::Air => cells.reset(region),
                UniformFill::Deep(material) => cells.fill(material),
            };
        }
        let columns = self.columns(region, &mut height);
        self.fill_cells(cells, &columns, material);
    }

    /// Whether all of a region is air or deep by the range alone.
    fn whole(&self, region: Region) -> Option<UniformFill> {
        let [low, high] = self.range;
        let half = 0.5 * self.frame.edge();
        let lowest = self.frame.centre_on(1, region.min.y);
        let highest = self.frame.centre_on(1, region.max.y - 1);
        if lowest >= high + half {
            return Some(UniformFill::Air);
        }
        let deep = self.deep.filter(|deep| low - highest >= deep.depth)?;
        (highest <= low - half).then_some(UniformFill::Deep(deep.material))
    }

    /// Evaluates one height and checks it.
    fn ask(&self, height: &mut impl FnMut(f64, f64) -> f64, x: f64, z: f64) -> f64 {
        let h = height(x, z);
        let [low, high] = self.range;
        debug_assert!(
            !(h < low || h > high || (h.is_nan() && low > f64::NEG_INFINITY)),
            "the height at x = {x}, z = {z} is {h}, outside of the stated range {low}..={high} \
             (NaN, which means no ground, is allowed only in ranges without a lower end)"
        );
        if h.is_nan() { f64::NEG_INFINITY } else { h }
    }

    /// Checks the range on some columns of a region that needs no heights.
    #[cfg(debug_assertions)]
    fn sample(&self, region: Region, height: &mut impl FnMut(f64, f64) -> f64) {
        let ([width, _, depth], min) = (region.size(), region.min);
        for [x, z] in [[0, 0], [width - 1, 0], [0, depth - 1], [width / 2, depth / 2]] {
            let [x, z] = [
                self.frame.centre_on(0, min.x + x as i32),
                self.frame.centre_on(2, min.z + z as i32),
            ];
            self.ask(height, x, z);
        }
    }

    /// Evaluates the heights of the columns of a region, and of those beside it for the slopes.
    fn columns(&self, region: Region, height: &mut impl FnMut(f64, f64) -> f64) -> ColumnHeights {
        let [width, _, depth] = region.size();
        let edge = self.frame.edge();
        let wide = width + 2;
        let mut heights = vec![0.0; wide * (depth + 2)];
        let xs: Vec<f64> =
            (region.min.x - 1..=region.max.x).map(|x| self.frame.centre_on(0, x)).collect();
        for (row, z) in heights.chunks_exact_mut(wide).zip(region.min.z - 1..) {
            // The corners of the rim are not beside any column.
            let inner = (region.min.z..region.max.z).contains(&z);
            let columns = if inner { 0..wide } else { 1..wide - 1 };
            let z = self.frame.centre_on(2, z);
            for i in columns {
                row[i] = self.ask(height, xs[i], z);
            }
        }
        let count = width * depth;
        let mut columns = ColumnHeights {
            height: Vec::with_capacity(count),
            normal_y: Vec::with_capacity(count),
            limits: Vec::with_capacity(count),
        };
        for z in 1..=depth {
            for at in z * wide + 1..z * wide + 1 + width {
                let beside = [at - 1, at + 1, at - wide, at + wide].map(|i| heights[i]);
                columns.push(heights[at], beside, edge);
            }
        }
        columns
    }

    /// Fills cell by cell where the ground is, row by row elsewhere.
    fn fill_cells<M: Fn(f64, f64) -> u8>(
        &self,
        cells: &mut DenseBox,
        columns: &ColumnHeights,
        mut material: impl FnMut(GroundColumn) -> M,
    ) {
        let region = cells.region();
        let [width, _, depth] = region.size();
        cells.resize(region);
        let rows: Vec<RowColumns<'_>> = (0..depth).map(|z| columns.row(z, width)).collect();
        // Created when the first cell needs a material.
        let mut materials: Vec<M> = Vec::new();
        let (all_materials, all_occupancies) = cells.arrays_mut();
        let all =
            all_materials.chunks_exact_mut(width).zip(all_occupancies.chunks_exact_mut(width));
        for (i, (cells, units)) in all.enumerate() {
            let (y, z) = (region.min.y + (i / depth) as i32, i % depth);
            let (y, row) = (self.frame.centre_on(1, y), &rows[z]);
            if !row.occupy(y, self.frame.edge(), units, cells) {
                continue;
            }
            if let Some(deep) = self.deep.filter(|deep| row.lowest - y >= deep.depth) {
                for cell in cells.iter_mut() {
                    *cell *= deep.material;
                }
            } else {
                if materials.is_empty() {
                    let column = |i| material(self.column(region, columns, i));
                    materials = (0..width * depth).map(column).collect();
                }
                let materials = &materials[z * width..][..width];
                self.dress(y, row, materials, cells);
            }
            for (cell, units) in cells.iter().zip(units) {
                *units &= u8::from(*cell != AIR).wrapping_neg();
            }
        }
    }

    fn column(&self, region: Region, columns: &ColumnHeights, i: usize) -> GroundColumn {
        let [width, ..] = region.size();
        GroundColumn {
            x: self.frame.centre_on(0, region.min.x + (i % width) as i32),
            z: self.frame.centre_on(2, region.min.z + (i / width) as i32),
            height: columns.height[i],
            normal_y: columns.normal_y[i],
        }
    }

    /// Sets the materials of the cells of a row that are 1.
    fn dress<M: Fn(f64, f64) -> u8>(
        &self,
        y: f64,
        row: &RowColumns<'_>,
        materials: &[M],
        cells: &mut [u8],
    ) {
        for ((cell, material), height) in cells.iter_mut().zip(materials).zip(row.height) {
            if *cell == 0 {
                continue;
            }
            *cell = material(y, height - y);
            debug_assert!(
                self.deep.is_none_or(|deep| height - y < deep.depth || *cell == deep.material),
                "the material function returns {cell} at a depth of {}, y = {y}; Deep promises {} \
                 below {}",
                height - y,
                self.deep.map_or(0, |deep| deep.material),
                self.deep.map_or(0.0, |deep| deep.depth)
            );
        }
    }
}

impl ColumnHeights {
    fn push(&mut self, height: f64, beside: [f64; 4], edge: f64) {
        let slope_x = (beside[1] - beside[0]) / (2.0 * edge);
        let slope_z = (beside[3] - beside[2]) / (2.0 * edge);
        let normal_y = 1.0 / (1.0 + slope_x * slope_x + slope_z * slope_z).sqrt();
        let lowest = beside.into_iter().fold(height, f64::min);
        let highest = beside.into_iter().fold(height, f64::max);
        self.height.push(height);
        self.normal_y.push(normal_y);
        self.limits.push([lowest - 0.5 * edge, highest + 0.5 * edge]);
    }

    /// The columns of the rows at `z`, counted from the lowest.
    fn row(&self, z: usize, width: usize) -> RowColumns<'_> {
        let of_row = z * width..(z + 1) * width;
        let limits = &self.limits[of_row.clone()];
        let mixed = limits
            .iter()
            .fold([f64::INFINITY, f64::NEG_INFINITY], |[a, b], l| [a.min(l[0]), b.max(l[1])]);
        let height = &self.height[of_row.clone()];
        let lowest = height.iter().copied().fold(f64::INFINITY, f64::min);
        RowColumns { height, normal_y: &self.normal_y[of_row], limits, lowest, mixed }
    }
}

impl RowColumns<'_> {
    /// Writes the occupancies of a row of cells at height `y`, and 1 as material where a cell is
    /// not air. Returns whether there are any.
    fn occupy(&self, y: f64, edge: f64, occupancies: &mut [u8], cells: &mut [u8]) -> bool {
        if y >= self.mixed[1] || y <= self.mixed[0] {
            let full = y < self.mixed[1];
            occupancies.fill(if full { 255 } else { 0 });
            cells.fill(u8::from(full));
            return full;
        }
        let mut any = 0;
        for (i, (occupancy, cell)) in occupancies.iter_mut().zip(cells).enumerate() {
            let units = units(y, self.height[i], self.normal_y[i], self.limits[i], edge);
            *occupancy = units.saturating_sub(1) as u8;
            *cell = u8::from(units > 0);
            any |= *cell;
        }
        any > 0
    }
}

/// Fill of the cell at height `y` of a column.
#[inline]
fn units(y: f64, height: f64, normal_y: f64, [full, air]: [f64; 2], edge: f64) -> u32 {
    let estimate = occupancy_units((height - y) * normal_y / edge);
    match () {
        () if y >= air => 0,
        () if y <= full => 256,
        () => estimate,
    }
}

#[cfg(test)]
mod tests;
