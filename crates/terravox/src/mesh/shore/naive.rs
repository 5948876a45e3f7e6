//! The slow twin of shores: every cell at every step.

use crate::voxel::{DenseBox, Kind, Region, Snapshot, VoxelPos, WATER};

use super::{MIN_CLIMB_LEVEL, Shores};

/// Returns the solid cells of `region` that carry water, with their levels, sorted.
pub(crate) fn carried(snapshot: &Snapshot, mip: u8, region: Region) -> Vec<(VoxelPos, u8)> {
    let around = Shores::depends_on(region, mip);
    let mut cells = DenseBox::default();
    snapshot.read_known(around, mip, &mut cells);
    let kind = |at: VoxelPos| snapshot.materials().kind(cells.cell(at).material);
    if snapshot.materials().kind(WATER) != Kind::Liquid {
        return Vec::new();
    }
    let [x, y, z] = [[1, 0, 0], [0, 1, 0], [0, 0, 1]].map(VoxelPos::from);
    let sides = |at: VoxelPos| [at - x, at + x, at - z, at + z];
    let inner = Region { min: around.min + x + y + z, max: around.max - x - y - z };
    // By cell: the step at which it took its level, and the level.
    let mut taken: Vec<Option<(i32, u8)>> = vec![None; cells.len()];
    for at in inner.voxels().filter(|&at| kind(at + y) == Kind::Air) {
        let level = match kind(at) {
            Kind::Liquid if cells.cell(at).material == WATER => Some(cells.cell(at).occupancy),
            Kind::Solid => cells.water_at(at),
            _ => None,
        };
        taken[cells.index(at)] = level.map(|level| (0, level));
    }
    for step in 1..=Shores::reach_cells(mip) {
        let before = taken.clone();
        // Returns the level that a cell passes on at this step.
        let passed = |at: VoxelPos| {
            let (taken, level) = before[cells.index(at)].filter(|_| inner.contains(at))?;
            let passes = taken == 0 || cells.cell(at).occupancy < level;
            (taken == step - 1 && passes).then_some(level)
        };
        for at in inner.voxels() {
            let holds = cells.water_at(at).is_some();
            let can_take = kind(at) == Kind::Solid
                && kind(at + y) == Kind::Air
                && kind(at - y) != Kind::Air
                && (mip > 0 || !holds)
                && before[cells.index(at)]
                    .is_none_or(|(step, level)| step == 0 || cells.cell(at).occupancy >= level);
            if !can_take {
                continue;
            }
            let is_held = sides(at).iter().all(|&side| kind(side) != Kind::Air);
            let beside = sides(at).into_iter().filter(|_| is_held).filter_map(passed);
            let lower = sides(at - y).into_iter().filter_map(passed);
            let climbs = lower.filter(|&level| u16::from(level) + 1 >= MIN_CLIMB_LEVEL).map(|_| 0);
            let level = beside.chain(climbs).max();
            let current = before[cells.index(at)].map(|(_, level)| level);
            if let Some(level) = level.filter(|&level| Some(level) > current) {
                taken[cells.index(at)] = Some((step, level));
            }
        }
    }
    let carried = |at: VoxelPos| taken[cells.index(at)].filter(|&(step, _)| step > 0);
    region.voxels().filter_map(|at| carried(at).map(|(_, level)| (at, level))).collect()
}
