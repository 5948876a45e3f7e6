//! Standing water: a level below which air becomes liquid.

use super::frame::{Frame, occupancy_units};
use crate::voxel::{AIR, DenseBox, WATER};

/// Replaces air below `level` by `material`. If that is [`WATER`], solid cells that are not full
/// hold it, too, so that the sheet meets the ground between cells.
pub(crate) fn fill_air_below(cells: &mut DenseBox, frame: Frame, material: u8, level: f64) {
    let region = cells.region();
    let [width, _, depth] = region.size();
    let layer = width * depth;
    let mut held = cells.water().to_vec();
    for (i, y) in (region.min.y..region.max.y).enumerate() {
        let units = occupancy_units((level - frame.centre_on(1, y)) / frame.edge());
        if units == 0 {
            break; // NaN, too
        }
        let stored = (units - 1) as u8;
        let (materials, occupancies) = cells.arrays_mut();
        for at in i * layer..(i + 1) * layer {
            if materials[at] == AIR {
                (materials[at], occupancies[at]) = (material, stored);
            } else if material == WATER && materials[at] != WATER && occupancies[at] < u8::MAX {
                held.push((at as u32, stored));
            }
        }
    }
    cells.set_all_water(held);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::voxel::{Cell, Region, VoxelPos};
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn cells_below_the_level_are_wet_as_one_by_one(
            level in -9.0..9.0f64,
            mip in 0u8..4,
            cells in proptest::collection::vec((0u8..4, any::<u8>()), 6 * 5 * 4),
        ) {
            let min = VoxelPos::new(-3, -2, -1);
            let mut filled = DenseBox::new(Region { min, max: min + VoxelPos::new(6, 5, 4) });
            for (pos, &(material, occupancy)) in filled.region().voxels().zip(&cells) {
                filled.set(pos, if material == 0 { Cell::AIR } else { Cell { material, occupancy } });
            }
            let before = filled.clone();
            fill_air_below(&mut filled, Frame::voxels(mip), WATER, level);
            for pos in before.region().voxels() {
                let edge = f64::from(1 << mip);
                let below = level / edge - f64::from(pos.y); // cells of water above the lower side
                let units = (below.clamp(0.0, 1.0) * 256.0 + 0.5) as u32;
                let (old, new) = (before.cell(pos), filled.cell(pos));
                let stored = units.checked_sub(1).map(|units| units as u8);
                match stored {
                    Some(occupancy) if old == Cell::AIR => {
                        prop_assert_eq!(new, Cell { material: WATER, occupancy });
                    }
                    _ => prop_assert_eq!(new, old),
                }
                let is_open = old != Cell::AIR && old.material != WATER && old.occupancy < 255;
                prop_assert_eq!(filled.water_at(pos), stored.filter(|_| is_open));
            }
        }
    }

    #[test]
    fn non_finite_levels_fill_nothing_or_everything() {
        let mut cells = DenseBox::new(Region::new([0; 3], [2; 3]));
        for level in [f64::NAN, f64::NEG_INFINITY] {
            fill_air_below(&mut cells, Frame::voxels(0), WATER, level);
            assert_eq!(cells.cell(VoxelPos::ZERO), Cell::AIR);
        }
        fill_air_below(&mut cells, Frame::voxels(0), WATER, f64::INFINITY);
        assert_eq!(cells.cell(VoxelPos::ZERO), Cell::full(WATER));
    }
}
