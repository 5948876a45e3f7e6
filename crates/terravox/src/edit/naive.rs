//! The slow twin: cell by cell, one look-up a cell, from the words of the documentation.
//! It shares the stamps (what a brush covers) and nothing else.

use super::stamp::Stamp;
use super::{Action, BrushOp};
use crate::generate::{noise_3d, occupancy_units};
use crate::voxel::{AIR, Cell, DenseBox, Kind, Snapshot, VoxelGrid, VoxelPos, WATER};
use std::collections::BTreeMap;

/// A cell as solid material and units, liquid material and units.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct SplitCell {
    ground: u8,
    solid: i32,
    liquid: u8,
    wet: i32,
}

fn look(grid: &Snapshot, pos: VoxelPos) -> SplitCell {
    let cell = grid.cell(pos).expect("all is held");
    let water = grid.water(pos).expect("all is held").map_or(0, |w| i32::from(w) + 1);
    let units = cell.units() as i32;
    match grid.materials().kind(cell.material) {
        Kind::Air => SplitCell { ground: AIR, solid: 0, liquid: WATER, wet: 0 },
        Kind::Liquid => SplitCell { ground: AIR, solid: 0, liquid: cell.material, wet: units },
        Kind::Solid => SplitCell { ground: cell.material, solid: units, liquid: WATER, wet: water },
    }
}

/// Applies a brush to a small grid.
pub(super) fn apply(grid: &mut VoxelGrid, op: &BrushOp) {
    let whole = matches!(op.action, Action::Paint { .. } | Action::Replace { .. });
    let strength = if whole { 1.0 } else { op.strength };
    let stamp = Stamp::new(&op.brush, op.falloff, strength).expect("a sound brush");
    let before = grid.snapshot();
    let mut after: BTreeMap<[i32; 3], SplitCell> = BTreeMap::new();
    let mut band = Vec::new();
    for pos in stamp.region.voxels() {
        let b = i32::from(stamp.units_at(pos));
        let solid_at = |d: [i32; 3]| look(&before, pos + d.into()).solid as u16;
        let cell = before.cell(pos).expect("all is held");
        if b > 0 && op.mask.passes(pos, cell, solid_at) {
            let (both, banded) = changed(&before, op, pos, b);
            after.insert(pos.to_array(), both);
            band.extend(banded.then_some(pos));
        }
    }
    let drain = op.action == Action::Drain;
    let amount = |both: &SplitCell| if drain { both.wet } else { both.solid };
    let first_pass = after.clone();
    for pos in band {
        let at = |p: VoxelPos| first_pass.get(&p.to_array()).copied().unwrap_or(look(&before, p));
        let sides = [[-1, 0, 0], [1, 0, 0], [0, -1, 0], [0, 1, 0], [0, 0, -1], [0, 0, 1]];
        let held = sides.iter().any(|&side| amount(&at(pos + side.into())) > 128);
        let own = after.get_mut(&pos.to_array()).expect("it was changed");
        if !held && amount(own) <= 128 {
            if drain { own.wet = 0 } else { own.solid = 0 }
        }
    }
    for (pos, both) in after {
        if both != look(&before, pos.into()) {
            put(grid, pos.into(), both);
        }
    }
}

fn put(grid: &mut VoxelGrid, pos: VoxelPos, both: SplitCell) {
    let mut cells = DenseBox::new(crate::voxel::Region::one(pos));
    let stored = |units: i32| (units - 1) as u8;
    if both.solid > 0 {
        cells.set(pos, Cell::new(both.ground, stored(both.solid)));
        cells.set_water(pos, (both.wet > 0).then(|| stored(both.wet)));
    } else if both.wet > 0 {
        cells.set(pos, Cell::new(both.liquid, stored(both.wet)));
    }
    grid.write(&cells).expect("all is held");
}

/// The cell after the first pass, and whether it is in the band of what is taken away.
fn changed(grid: &Snapshot, op: &BrushOp, pos: VoxelPos, b: i32) -> (SplitCell, bool) {
    let old = look(grid, pos);
    let kind = |m: u8| grid.materials().kind(m);
    let dry_if_full =
        |both: SplitCell| if both.solid == 256 { SplitCell { wet: 0, ..both } } else { both };
    let solid = |units: i32, material: u8| {
        let new = SplitCell { solid: units, ground: material, ..old };
        if units > old.solid { dry_if_full(new) } else { new }
    };
    // The fill becomes `units`; new ground gets the most frequent material around it.
    let refilled = |units: i32| match units.clamp(0, 256) {
        units if units <= old.solid => SplitCell { solid: units, ..old },
        units if old.solid > 0 => solid(units, old.ground),
        units => match most_around(grid, pos) {
            AIR => old,
            material => solid(units, material),
        },
    };
    match op.action {
        Action::Fill { material } if kind(material) == Kind::Solid => {
            (if b > old.solid { solid(b, material) } else { old }, false)
        }
        Action::Fill { material } | Action::Flood { material } => {
            let liquid = if old.solid > 0 { WATER } else { material };
            let room = old.solid < 256 && b > old.wet;
            (if room { SplitCell { wet: b, liquid, ..old } } else { old }, false)
        }
        Action::Dig => (SplitCell { solid: old.solid.min(256 - b), ..old }, b < 256),
        Action::Drain => (SplitCell { wet: old.wet.min(256 - b), ..old }, b < 256),
        Action::Paint { material } => {
            let painted = b >= 128 && old.solid > 0;
            (if painted { SplitCell { ground: material, ..old } } else { old }, false)
        }
        Action::Replace { from, to } => {
            let own = if old.solid > 0 { old.ground } else { old.liquid };
            let there = old.solid > 0 || old.wet > 0;
            if b < 128 || own != from || !there {
                return (old, false);
            }
            let mut new = old;
            let units = if old.solid > 0 { old.solid } else { old.wet };
            if old.solid > 0 {
                new.solid = 0
            } else {
                new.wet = 0
            }
            match kind(to) {
                Kind::Air => {}
                Kind::Solid => new = dry_if_full(SplitCell { solid: units, ground: to, ..new }),
                Kind::Liquid => {
                    (new.wet, new.liquid) = (new.wet.max(units), to);
                }
            }
            (new, false)
        }
        Action::Flatten { point, normal, material } => {
            let long = normal.iter().map(|v| v * v).sum::<f64>().sqrt();
            let unit = normal.map(|v| v / long);
            let centre = pos.to_array().map(|v| f64::from(v) + 0.5);
            let depth: f64 = (0..3).map(|i| (point[i] - centre[i]) * unit[i]).sum();
            let below = occupancy_units(depth) as i32;
            let mut new = old;
            if b.min(below) > old.solid {
                let with = material.unwrap_or_else(|| most_around(grid, pos));
                if with != AIR {
                    new = solid(b.min(below), with);
                }
            }
            let dug = b.min(256 - below);
            new.solid = new.solid.min(256 - dug);
            (new, dug > 0 && dug < 256)
        }
        Action::Smooth => {
            let mut sum = 0;
            for d in crate::voxel::Region::new([-1; 3], [2; 3]).voxels() {
                let weight: i32 = d.to_array().map(|v| 2 - v.abs()).iter().product();
                sum += weight * look(grid, pos + d).solid;
            }
            let sharp = f64::from(sum) / 64.0 * 2.0 - 128.0;
            let target = (sharp + 0.5).floor().clamp(0.0, 256.0);
            let towards = (target - f64::from(old.solid)) * f64::from(b) / 256.0;
            (refilled(old.solid + (towards + 0.5).floor() as i32), false)
        }
        Action::Grow { amount } => (refilled(offset(grid, pos, amount * f64::from(b))), false),
        Action::Erode { amount } => (refilled(offset(grid, pos, -amount * f64::from(b))), false),
        Action::Roughen { amount, size, seed } => {
            let at = pos.to_array().map(|v| (f64::from(v) + 0.5) / size);
            let by = amount * noise_3d(seed, at).clamp(-1.0, 1.0) * f64::from(b);
            (refilled(offset(grid, pos, by)), false)
        }
    }
}

/// The fill once the surface has moved outward by `by` 256ths.
fn offset(grid: &Snapshot, pos: VoxelPos, by: f64) -> i32 {
    let by = by.round() as i32;
    let own = look(grid, pos).solid;
    let sides = [[-1, 0, 0], [1, 0, 0], [0, -1, 0], [0, 1, 0], [0, 0, -1], [0, 0, 1]];
    let around = sides.map(|side| look(grid, pos + side.into()).solid);
    let mut to = own;
    // Depths from neighbours: 256 more or less a voxel away; saturated cells know nothing.
    if by > 0 {
        if own > 0 {
            to = to.max(own + by);
        }
        around.iter().filter(|&&side| side > 0).for_each(|side| to = to.max(side - 256 + by));
    } else {
        if own < 256 {
            to = to.min(own + by);
        }
        around.iter().filter(|&&side| side < 256).for_each(|side| to = to.min(side + 256 + by));
    }
    to
}

fn most_around(grid: &Snapshot, pos: VoxelPos) -> u8 {
    let mut sums = BTreeMap::new();
    for d in crate::voxel::Region::new([-1; 3], [2; 3]).voxels() {
        let both = look(grid, pos + d);
        if both.solid > 0 {
            *sums.entry(both.ground).or_insert(0) += both.solid;
        }
    }
    let most = sums.values().max().copied();
    sums.iter().find(|sum| Some(*sum.1) == most).map_or(AIR, |sum| *sum.0)
}
