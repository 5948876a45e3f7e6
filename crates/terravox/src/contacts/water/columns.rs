//! The water of columns of cells, as stacked intervals.

use crate::voxel::{DenseBox, Kind, MaterialTable, Region, VoxelPos};

/// The cells around a body.
pub(super) struct WaterCells<'a> {
    pub cells: &'a DenseBox,
    pub materials: &'a MaterialTable,
}

/// The wet intervals of all columns of a region.
#[derive(Debug, Default)]
pub(super) struct WaterColumns {
    region: Region,
    /// End of each column's intervals in `wet`, x fastest.
    ends: Vec<usize>,
    /// Lowest and highest point, voxels.
    wet: Vec<[f64; 2]>,
}

impl WaterColumns {
    /// Finds the wet intervals of all columns of `water`.
    pub fn fill(&mut self, water: &WaterCells<'_>) {
        self.region = water.cells.region();
        let Region { min, max } = self.region;
        self.ends.clear();
        self.wet.clear();
        for z in min.z..max.z {
            for x in min.x..max.x {
                water.column(x, z, |low, high| self.wet.push([low, high]));
                self.ends.push(self.wet.len());
            }
        }
    }

    /// The intervals of the column at (x, z), voxels, from above.
    pub fn at(&self, x: f64, z: f64) -> &[[f64; 2]] {
        let Region { min, max } = self.region;
        let x = (x.floor() as i32).clamp(min.x, max.x - 1) - min.x;
        let z = (z.floor() as i32).clamp(min.z, max.z - 1) - min.z;
        let column = (x + z * (max.x - min.x)) as usize;
        let start = column.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.wet[start..self.ends[column]]
    }
}

impl WaterCells<'_> {
    /// Calls `visit` for the wet intervals of a column of cells, from above. Intervals that touch
    /// are joined.
    fn column(&self, x: i32, z: i32, mut visit: impl FnMut(f64, f64)) {
        let Region { min, max } = self.cells.region();
        let [width, _, depth] = self.cells.region().size();
        let lowest = self.cells.index(VoxelPos::new(x, min.y, z));
        let mut is_under = false;
        // The interval that may continue below.
        let mut open: Option<[f64; 2]> = None;
        for y in (min.y..max.y).rev() {
            let height = self.height(lowest + width * depth * (y - min.y) as usize, is_under);
            is_under = height > 0.0;
            let [low, high] = [f64::from(y), f64::from(y) + f64::from(height)];
            match &mut open {
                Some(above) if is_under && above[0] <= high => above[0] = low,
                _ => {
                    if let Some([low, high]) = open.take() {
                        visit(low, high);
                    }
                    open = is_under.then_some([low, high]);
                }
            }
        }
        if let Some([low, high]) = open {
            visit(low, high);
        }
    }

    /// Height of the water in a cell by its index, 0 to 1. Under water every cell counts as full,
    /// also solid ones: a body there displaces the water beside it.
    fn height(&self, cell: usize, is_under: bool) -> f32 {
        let share = |fill: u8| (f32::from(fill) + 1.0) / 256.0;
        match self.materials.kind(self.cells.materials()[cell]) {
            Kind::Air => 0.0,
            _ if is_under => 1.0,
            Kind::Liquid => share(self.cells.occupancies()[cell]),
            Kind::Solid => {
                let held = self.cells.water();
                let at = held.binary_search_by_key(&(cell as u32), |entry| entry.0);
                at.map_or(0.0, |at| share(held[at].1))
            }
        }
    }
}
