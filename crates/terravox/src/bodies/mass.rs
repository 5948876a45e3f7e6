//! Mass, centre and inertia of cells, as integer sums by material, so that the order of cells does
//! not matter; densities are applied at the end.
//!
//! A cell is a cube of uniform density: its occupancy scales its mass but does not shift its
//! centre. Textbook mechanics: first and second moments, then the parallel axis theorem.

use crate::voxel::{DenseBox, Kind, MaterialTable, Region};

/// Mass properties, for voxels with an edge of one metre; see [`Mass::scaled`] for others.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Mass {
    /// Kilograms.
    pub mass: f64,
    /// Centre of mass, in voxels of the body's grid.
    pub centre: [f64; 3],
    /// Inertia tensor about the centre, in kg·voxel², where one voxel is one metre: xx, yy, zz, xy,
    /// xz, yz, products with the sign that they have in the tensor.
    pub inertia: [f64; 6],
}

impl Mass {
    /// Returns mass in kilograms, centre in metres and inertia in kg·m² for another voxel size.
    #[must_use]
    pub fn scaled(&self, voxel_size_m: f32) -> Mass {
        let edge = f64::from(voxel_size_m);
        let volume = edge * edge * edge;
        Mass {
            mass: self.mass * volume,
            centre: self.centre.map(|v| v * edge),
            inertia: self.inertia.map(|v| v * volume * edge * edge),
        }
    }
}

/// Σu, then Σu·x for the three axes, then Σu·x·y for xx, yy, zz, xy, xz, yz. u is the fill in
/// 1/256; x and y are coordinates of the cell's min corner.
type Moments = [i128; 10];

/// Pairs of axes of the six second moments.
const PAIRS: [[usize; 2]; 6] = [[0, 0], [1, 1], [2, 2], [0, 1], [0, 2], [1, 2]];

/// Moments of cells.
#[derive(Clone, Debug, Default)]
pub(super) struct MassSums {
    /// By material, in order of appearance.
    by_material: Vec<(u8, Moments)>,
}

impl MassSums {
    /// Adds the solid cells of a box in the body's grid.
    pub fn add(&mut self, cells: &DenseBox, kinds: &[Kind; 256]) {
        let Region { min, max } = cells.region();
        let width = (max.x - min.x) as usize;
        for y in min.y..max.y {
            for z in min.z..max.z {
                let first = cells.row_start(y, z);
                let materials = &cells.materials()[first..first + width];
                let occupancies = &cells.occupancies()[first..first + width];
                let mut at = 0;
                for run in materials.chunk_by(|a, b| a == b) {
                    let occupancies = &occupancies[at..at + run.len()];
                    if kinds[usize::from(run[0])] == Kind::Solid {
                        self.add_run(run[0], [min.x + at as i32, y, z], occupancies);
                    }
                    at += run.len();
                }
            }
        }
    }

    /// Adds a run of cells along X that starts at `at`.
    fn add_run(&mut self, material: u8, at: [i32; 3], occupancies: &[u8]) {
        let mut sums = [0u64; 3];
        for (x, &occupancy) in occupancies.iter().enumerate() {
            let (units, x) = (u64::from(occupancy) + 1, x as u64);
            sums[0] += units;
            sums[1] += units * x;
            sums[2] += units * x * x;
        }
        let [sum, sum_x, sum_xx] = sums.map(i128::from);
        let [x, y, z] = at.map(i128::from);
        let from_x = sum_x + sum * x;
        let moments = [
            sum,
            from_x,
            sum * y,
            sum * z,
            sum_xx + 2 * x * sum_x + sum * x * x,
            sum * y * y,
            sum * z * z,
            from_x * y,
            from_x * z,
            sum * y * z,
        ];
        let known = self.by_material.iter().position(|entry| entry.0 == material);
        let entry = known.unwrap_or_else(|| {
            self.by_material.push((material, [0; 10]));
            self.by_material.len() - 1
        });
        for (sum, moment) in self.by_material[entry].1.iter_mut().zip(moments) {
            *sum += moment;
        }
    }

    /// Moves the moments so that they count from the mean cell, and returns that cell. In integers,
    /// without rounding: as f64, second moments of far cells would lose the body's own.
    fn recentre(&mut self) -> [i128; 3] {
        let sum = |i: usize| self.by_material.iter().map(|entry| entry.1[i]).sum::<i128>();
        let middle = [1, 2, 3].map(|i| sum(i) / sum(0).max(1));
        for (_, moments) in &mut self.by_material {
            let [units, first @ ..] = *moments;
            for (i, [a, b]) in PAIRS.into_iter().enumerate() {
                moments[4 + i] +=
                    units * middle[a] * middle[b] - middle[a] * first[b] - middle[b] * first[a];
            }
            (0..3).for_each(|axis| moments[1 + axis] -= units * middle[axis]);
        }
        middle
    }

    /// Returns the mass properties, with the densities of `materials`.
    pub fn mass(mut self, materials: &MaterialTable) -> Mass {
        self.by_material.sort_unstable_by_key(|entry| entry.0);
        let middle = self.recentre();
        // Moments about cell centres, summed over materials.
        let mut sums = [0f64; 10];
        for (material, moments) in &self.by_material {
            let density = f64::from(materials.density(*material)) / 256.0;
            let [units, first @ ..] = moments.map(|v| v as f64);
            let lines = [first[0], first[1], first[2]];
            sums[0] += density * units;
            for axis in 0..3 {
                sums[1 + axis] += density * (lines[axis] + units / 2.0);
            }
            for (i, [a, b]) in PAIRS.into_iter().enumerate() {
                // A unit cube's own second moment about its centre.
                let own = if a == b { units / 12.0 } else { 0.0 };
                let second = first[3 + i] + (lines[a] + lines[b]) / 2.0 + units / 4.0 + own;
                sums[4 + i] += density * second;
            }
        }
        let mass = sums[0];
        // Materials may have a density of 0.
        let centre = [0, 1, 2].map(|axis| if mass > 0.0 { sums[1 + axis] / mass } else { 0.0 });
        let mut second = [0.0; 6];
        for (i, [a, b]) in PAIRS.into_iter().enumerate() {
            second[i] = sums[4 + i] - mass * centre[a] * centre[b];
        }
        let [xx, yy, zz, xy, xz, yz] = second;
        let centre = [0, 1, 2].map(|axis| match mass > 0.0 {
            true => middle[axis] as f64 + centre[axis],
            false => 0.0,
        });
        Mass { mass, centre, inertia: [yy + zz, xx + zz, xx + yy, -xy, -xz, -yz] }
    }
}
