//! How much of each material an edit removed and added.

use crate::voxel::{AIR, Cell};

/// Amounts by material, in 256ths of a voxel; exact.
#[derive(Clone, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(from = "Vec<(u8, u64)>", into = "Vec<(u8, u64)>"))]
pub struct Volume {
    units: Box<[u64; 256]>,
}

impl Default for Volume {
    fn default() -> Volume {
        Volume { units: Box::new([0; 256]) }
    }
}

impl From<Vec<(u8, u64)>> for Volume {
    /// Materials with their 256ths of a voxel, in any order.
    fn from(amounts: Vec<(u8, u64)>) -> Volume {
        let mut volume = Volume::default();
        for (material, units) in amounts {
            let sum = &mut volume.units[usize::from(material)];
            *sum = sum.saturating_add(units);
        }
        volume
    }
}

impl From<Volume> for Vec<(u8, u64)> {
    fn from(volume: Volume) -> Vec<(u8, u64)> {
        volume.iter().collect()
    }
}

impl std::fmt::Debug for Volume {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_map().entries(self.iter()).finish()
    }
}

impl Volume {
    /// 256ths of a voxel of `material`.
    pub fn units(&self, material: u8) -> u64 {
        self.units[usize::from(material)]
    }

    /// Volume of `material` in voxels; times the cube of the voxel size for m³.
    pub fn voxels(&self, material: u8) -> f64 {
        self.units(material) as f64 / 256.0
    }

    /// 256ths of a voxel of all materials.
    pub fn total(&self) -> u64 {
        self.units.iter().sum()
    }

    /// Materials with a volume above zero and their 256ths of a voxel, by id.
    pub fn iter(&self) -> impl Iterator<Item = (u8, u64)> {
        let all = self.units.iter().enumerate();
        all.filter(|entry| *entry.1 > 0).map(|(material, &units)| (material as u8, units))
    }

    pub(super) fn add(&mut self, material: u8, units: u64) {
        self.units[usize::from(material)] += units;
    }

    /// Adds all of `other`.
    pub fn add_all(&mut self, other: &Volume) {
        for (own, more) in self.units.iter_mut().zip(other.units.iter()) {
            *own += more;
        }
    }
}

/// Volumes removed and added.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Tally {
    pub removed: Volume,
    pub added: Volume,
}

impl Tally {
    /// Counts a cell that changes. If its material stays, only the difference counts.
    #[inline]
    pub fn cell(&mut self, old: Cell, new: Cell) {
        let (from, to) = (u64::from(old.units()), u64::from(new.units()));
        if old.material == new.material {
            self.removed.add(old.material, from.saturating_sub(to));
            self.added.add(new.material, to.saturating_sub(from));
        } else {
            self.removed.add(old.material, from);
            self.added.add(new.material, to);
        }
    }

    /// Counts a row of cells. Most rows change from one material to one material: those
    /// are sums over the row, without a branch a cell.
    pub fn row(&mut self, old: [&[u8]; 2], new: [&[u8]; 2]) {
        let ([old_m, old_o], [new_m, new_o]) = (old, new);
        let (Some(&from), Some(&to)) = (old_m.first(), new_m.first()) else { return };
        let mut differs = 0;
        for (a, b) in old_m.iter().zip(new_m) {
            differs |= (a ^ from) | (b ^ to);
        }
        if differs != 0 {
            return self.mixed_row(old, new);
        }
        let (mut less, mut more, mut old_sum, mut new_sum) = (0u32, 0u32, 0u32, 0u32);
        for (&a, &b) in old_o.iter().zip(new_o) {
            less += u32::from(a.saturating_sub(b));
            more += u32::from(b.saturating_sub(a));
            old_sum += u32::from(a);
            new_sum += u32::from(b);
        }
        let cells = old_m.len() as u64;
        if from == to {
            self.removed.add(from, if from == AIR { 0 } else { less.into() });
            self.added.add(to, if to == AIR { 0 } else { more.into() });
            return;
        }
        let units = |material, sum: u32| if material == AIR { 0 } else { u64::from(sum) + cells };
        self.removed.add(from, units(from, old_sum));
        self.added.add(to, units(to, new_sum));
    }

    fn mixed_row(&mut self, [old_m, old_o]: [&[u8]; 2], [new_m, new_o]: [&[u8]; 2]) {
        for i in 0..old_m.len() {
            if old_m[i] != new_m[i] || old_o[i] != new_o[i] {
                let cell = |material, occupancy| Cell { material, occupancy };
                self.cell(cell(old_m[i], old_o[i]), cell(new_m[i], new_o[i]));
            }
        }
    }
}
