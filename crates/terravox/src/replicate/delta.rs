//! How blocks differ from what a guest has already.

use crate::codec::BitRle;
use crate::voxel::{AIR, Cell, DenseBox, Kind, Region, VoxelPos};
use xxhash_rust::xxh3::xxh3_64;

/// The smallest region in which two boxes over the same region differ, if they do.
pub(super) fn difference(a: &DenseBox, b: &DenseBox) -> Option<Region> {
    let region = b.region();
    debug_assert_eq!(a.region(), region);
    let mut found: Option<Region> = None;
    let mut add = |cells: Region| {
        found = Some(found.map_or(cells, |found| found.union(cells)));
    };
    let [width, _, depth] = region.size();
    let pieces = a.materials().chunks(width).zip(b.materials().chunks(width));
    let fills = a.occupancies().chunks(width).zip(b.occupancies().chunks(width));
    for (row, ((ma, mb), (oa, ob))) in pieces.zip(fills).enumerate() {
        if ma == mb && oa == ob {
            continue;
        }
        let differs = |x: &usize| ma[*x] != mb[*x] || oa[*x] != ob[*x];
        let (Some(first), Some(last)) = ((0..width).find(differs), (0..width).rev().find(differs))
        else {
            continue;
        };
        let [y, z] = [row / depth, row % depth].map(|v| v as i32);
        let min = region.min + VoxelPos::new(first as i32, y, z);
        add(Region { min, max: min + VoxelPos::new((last - first) as i32 + 1, 1, 1) });
    }
    if a.water() != b.water() {
        for &(at, _) in a.water().iter().chain(b.water()) {
            let pos = b.position(at);
            if a.water_at(pos) != b.water_at(pos) {
                add(Region::one(pos));
            }
        }
    }
    found
}

/// Replaces the cells of `region` that equal those of `under` by full cells of a material that the
/// region does not use, for longer runs. Returns that marker; [`AIR`], with nothing changed, if at
/// most half of the cells are equal or all materials are used.
pub(super) fn mark_equal(under: &DenseBox, cells: &mut DenseBox, region: Region) -> u8 {
    debug_assert_eq!(under.region(), cells.region());
    let mut is_used = [false; 256];
    is_used[usize::from(AIR)] = true;
    let mut is_equal = vec![false; cells.len()];
    let Region { min, max } = region;
    for y in min.y..max.y {
        for z in min.z..max.z {
            let from = cells.index(VoxelPos::new(min.x, y, z));
            for at in from..from + region.size()[0] {
                is_used[usize::from(cells.materials()[at])] = true;
                is_equal[at] = cells.materials()[at] == under.materials()[at]
                    && cells.occupancies()[at] == under.occupancies()[at];
            }
        }
    }
    for &(at, _) in cells.water().iter().chain(under.water()) {
        let pos = cells.position(at);
        is_equal[at as usize] &= cells.water_at(pos) == under.water_at(pos);
    }
    let free = is_used.iter().position(|used| !used);
    let equal = is_equal.iter().filter(|&&equal| equal).count() as u64;
    let Some(marker) = free.filter(|_| equal * 2 > region.volume()) else {
        return AIR;
    };
    cells.water_mut().retain(|&(at, _)| !is_equal[at as usize]);
    let full = Cell::full(marker as u8);
    let (materials, occupancies) = cells.arrays_mut();
    for (at, _) in is_equal.iter().enumerate().filter(|(_, equal)| **equal) {
        (materials[at], occupancies[at]) = (full.material, full.occupancy);
    }
    marker as u8
}

/// Undoes [`mark_equal`]: writes `part` over `cells`, except where it has the marker.
pub(super) fn merge_marked(cells: &mut DenseBox, part: &DenseBox, marker: u8) {
    if marker == AIR {
        return cells.copy_from(part);
    }
    let region = part.region();
    let is_marked = |pos: VoxelPos| part.materials()[part.index(pos)] == marker;
    // Cell by cell, water would be moved in its sorted list once for each.
    cells.retain_water(|pos| !region.contains(pos) || is_marked(pos));
    for pos in region.voxels().filter(|&pos| !is_marked(pos)) {
        cells.set(pos, part.cell(pos));
    }
    let held = part.water().iter().map(|&(at, water)| (part.position(at), water));
    let held = held.filter(|&(pos, _)| !is_marked(pos));
    let held: Vec<_> = held.map(|(pos, water)| (cells.index(pos) as u32, water)).collect();
    cells.water_mut().extend(held);
    cells.water_mut().sort_unstable_by_key(|entry| entry.0);
}

/// The cells of a region of a box.
pub(super) fn part_of(cells: &DenseBox, region: Region) -> DenseBox {
    let mut part = DenseBox::new(region);
    part.copy_from(cells);
    part
}

/// Digest of all cells of a block, by which a guest that comes back says what it has.
pub(super) fn block_digest(cells: &DenseBox, kinds: &[Kind; 256]) -> u64 {
    let mut code = Vec::new();
    BitRle { kinds }.encode_box(cells, &mut code);
    xxh3_64(&code)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::voxel::MaterialTable;
    use proptest::prelude::*;

    const EDGE: i32 = 6;

    fn cells() -> impl Strategy<Value = DenseBox> {
        let cell = (0u8..4, any::<u8>(), prop::option::weighted(0.1, any::<u8>()));
        prop::collection::vec(cell, (EDGE * EDGE * EDGE) as usize).prop_map(|list| {
            let mut cells = DenseBox::new(Region::new([-3; 3], [EDGE - 3; 3]));
            for (pos, (material, occupancy, water)) in cells.region().voxels().zip(list) {
                let occupancy = if material == AIR { 0 } else { occupancy };
                cells.set(pos, Cell { material, occupancy });
                cells.set_water(pos, water.filter(|_| material > 1));
            }
            cells
        })
    }

    proptest! {
        #[test]
        fn a_marked_part_over_what_is_beneath_gives_the_cells(
            under in cells(),
            other in cells(),
            low in prop::array::uniform3(-3..EDGE - 3),
            size in prop::array::uniform3(1..EDGE),
        ) {
            let mut new = under.clone();
            let max = [0, 1, 2].map(|i| (low[i] + size[i]).min(EDGE - 3));
            new.copy_from(&part_of(&other, Region::new(low, max)));
            let mut merged = under.clone();
            if let Some(region) = difference(&under, &new) {
                prop_assert!(Region::new(low, max).contains_region(region));
                let mut marked = new.clone();
                let marker = mark_equal(&under, &mut marked, region);
                merge_marked(&mut merged, &part_of(&marked, region), marker);
            }
            prop_assert!(merged == new);
        }

        #[test]
        fn the_difference_is_the_smallest_box_of_the_cells_that_differ(
            a in cells(), other in cells(), low in prop::array::uniform3(-3..EDGE - 3),
            size in prop::array::uniform3(1..4i32), is_equal: bool,
        ) {
            let mut b = a.clone();
            if !is_equal {
                let max = [0, 1, 2].map(|i| (low[i] + size[i]).min(EDGE - 3));
                b.copy_from(&part_of(&other, Region::new(low, max)));
            }
            let differs = |pos: &VoxelPos| {
                a.cell(*pos) != b.cell(*pos) || a.water_at(*pos) != b.water_at(*pos)
            };
            let naive = a.region().voxels().filter(differs).map(Region::one).reduce(Region::union);
            prop_assert_eq!(difference(&a, &b), naive);
            let [a, b] = [a, b].map(|cells| block_digest(&cells, &kinds()));
            prop_assert_eq!(a == b, naive.is_none());
        }
    }

    fn kinds() -> [Kind; 256] {
        *MaterialTable::default().kinds()
    }

    fn filled(edge: i32, material: u8) -> DenseBox {
        let mut cells = DenseBox::new(Region::new([-1; 3], [edge - 1; 3]));
        cells.fill(material);
        cells
    }

    #[test]
    fn a_marker_is_a_material_that_the_region_does_not_use() {
        let (under, region) = (filled(8, 2), Region::new([-1; 3], [7; 3]));
        // Full cells of material 1, which would be the marker, among equal cells.
        let mut cells = under.clone();
        cells.set(VoxelPos::new(0, 3, 6), Cell::full(1));
        let (new, marker) = (cells.clone(), mark_equal(&under, &mut cells, region));
        assert_eq!(marker, 3);
        assert_eq!(cells.cell(VoxelPos::new(0, 3, 6)), Cell::full(1));
        assert_eq!(cells.cell(VoxelPos::new(0, 3, 5)), Cell::full(3));
        let mut merged = under.clone();
        merge_marked(&mut merged, &cells, marker);
        assert!(merged == new);
    }

    #[test]
    fn nothing_is_marked_if_all_materials_are_used_or_half_of_the_cells_differ() {
        let (under, region) = (filled(8, 2), Region::new([-1; 3], [7; 3]));
        let mut all = under.clone();
        for (pos, material) in region.voxels().zip(1..=255) {
            all.set(pos, Cell::new(material, 7));
        }
        // 255 of 512 cells differ; material 2 is used by the others.
        let before = all.clone();
        assert_eq!(mark_equal(&under, &mut all, region), AIR);
        assert!(all == before);
        for (differing, is_marked) in [(255, true), (256, false)] {
            let mut cells = under.clone();
            for pos in region.voxels().take(differing) {
                cells.set(pos, Cell::full(9));
            }
            let before = cells.clone();
            let marker = mark_equal(&under, &mut cells, region);
            assert_eq!((marker != AIR, cells != before), (is_marked, is_marked), "{differing}");
        }
        // Only what is in the region counts, and changes.
        let part = Region::new([0; 3], [2; 3]);
        let mut cells = under.clone();
        cells.set(VoxelPos::new(6, 6, 6), Cell::full(1));
        assert_eq!(mark_equal(&under, &mut cells, part), 1);
        let marked = |pos: &VoxelPos| cells.cell(*pos) == Cell::full(1);
        assert_eq!(region.voxels().filter(marked).count(), 8 + 1);
    }

    #[test]
    fn cells_that_differ_in_water_only_are_different() {
        let (mut under, region) = (filled(4, 8), Region::new([-1; 3], [3; 3]));
        let wet = VoxelPos::new(-1, 2, 1);
        for pos in region.voxels() {
            under.set(pos, Cell::new(8, 100));
        }
        let mut cells = under.clone();
        cells.set_water(wet, Some(0));
        assert_eq!(difference(&under, &cells), Some(Region::one(wet)));
        assert_eq!(difference(&cells, &under), Some(Region::one(wet)));
        assert_ne!(block_digest(&under, &kinds()), block_digest(&cells, &kinds()));
        for (from, to) in [(&under, &cells), (&cells, &under)] {
            let (mut marked, mut merged) = (to.clone(), from.clone());
            let marker = mark_equal(from, &mut marked, region);
            assert_ne!(marker, AIR);
            assert_eq!(marked.cell(wet), Cell::new(8, 100));
            merge_marked(&mut merged, &marked, marker);
            assert!(merged == *to);
        }
    }
}
