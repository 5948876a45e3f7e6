//! Refinements: cells come back as they were, and any bytes are some cells.

use super::*;
use crate::voxel::{MaterialTable, VoxelPos};
use proptest::prelude::*;

/// Cells that are like ground: below a plane, with some water, other materials and noise.
fn ground() -> impl Strategy<Value = DenseBox> {
    let corner = prop::array::uniform3(-3..3i32);
    let size = prop::array::uniform3(1..6i32);
    let slope = prop::array::uniform2(-2.0..2.0f64);
    (corner, size, slope, any::<u64>(), 0..40u64).prop_map(|(corner, size, slope, seed, noise)| {
        let min = VoxelPos::from(corner.map(|v| 2 * v));
        let mut cells = DenseBox::new(Region { min, max: min + size.map(|v| 2 * v).into() });
        let mut random = seed;
        for pos in cells.region().voxels() {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let height = slope[0] * f64::from(pos.x) + slope[1] * f64::from(pos.z);
            let fill = ((height - f64::from(pos.y)) * 256.0).clamp(0.0, 256.0) as u32;
            let roll = random >> 33;
            let material = if roll % 100 < noise { (roll >> 8) as u8 } else { 8 };
            let occupancy =
                if roll % 100 < noise / 2 { (roll >> 16) as u8 } else { (fill.max(1) - 1) as u8 };
            let occupancy = if fill == 256 { 255 } else { occupancy };
            let cell = if fill == 0 && roll % 100 >= noise {
                Cell::AIR
            } else {
                Cell::new(material, occupancy)
            };
            cells.set(pos, cell);
            let is_wet = cell.material > 1 && roll % 100 < noise;
            cells.set_water(pos, is_wet.then_some((roll >> 24) as u8));
        }
        cells
    })
}

/// What lies over a box: cells of it, some of which are wrong.
fn over(cells: &DenseBox, wrong: u8) -> DenseBox {
    let mut coarser = DenseBox::new(cells.region().coarser(1));
    for (number, pos) in (0..).zip(coarser.region().voxels()) {
        let below = Region::one(pos).finer(1);
        let sum: u32 = below.voxels().map(|pos| cells.cell(pos).units()).sum();
        let found = below.voxels().map(|pos| cells.cell(pos)).find(|cell| !cell.is_air());
        let own = found
            .map_or(Cell::AIR, |cell| Cell::new(cell.material, (sum.div_ceil(8).max(1) - 1) as u8));
        let is_wrong = wrong > 0 && number % 5 == 0;
        coarser.set(pos, if is_wrong { Cell::new(wrong, wrong) } else { own });
    }
    coarser
}

/// The plane of a group, found by trying all.
fn slow_expected(group: &Group) -> i32 {
    let steepness: i32 = group.slope.iter().map(|v| v.abs()).sum();
    if steepness == 0 {
        return (group.units_left / (8 - group.next as i32)).clamp(0, 256);
    }
    let fill = |cell: u32, offset: i32| {
        let mut sum = 0;
        for axis in 0..3 {
            sum += if cell & (1 << axis) == 0 { -group.slope[axis] } else { group.slope[axis] };
        }
        (128 + 160 * sum / steepness + offset).clamp(0, 256)
    };
    let fits = |offset: &i32| {
        (group.next..8).map(|cell| fill(cell, *offset)).sum::<i32>() <= group.units_left
    };
    let offset = (-700..700).take_while(|offset| *offset == -700 || fits(offset)).last();
    fill(group.next, offset.expect("the first is taken"))
}

proptest! {
    #[test]
    fn cells_come_back_whatever_lies_over_them(cells in ground(), wrong: u8, extra in 0..3usize) {
        let materials = MaterialTable::default();
        let coder = Refinement { kinds: materials.kinds() };
        let coarser = over(&cells, wrong);
        let mut bytes = vec![1; extra];
        coder.encode_box(&cells, &coarser, &mut bytes);
        let mut read = DenseBox::new(cells.region());
        read.fill(3);
        coder.decode_box(&bytes[extra..], &coarser, &mut read);
        prop_assert!(read == cells);
        // One code, without zeros at the end.
        prop_assert!(bytes.len() == extra || bytes.last() != Some(&0));
    }

    #[test]
    fn any_bytes_are_cells_that_have_a_code(
        cells in ground(), bytes in prop::collection::vec(any::<u8>(), 0..400),
    ) {
        let materials = MaterialTable::default();
        let coder = Refinement { kinds: materials.kinds() };
        let coarser = over(&cells, 0);
        let mut read = DenseBox::new(cells.region());
        coder.decode_box(&bytes, &coarser, &mut read);
        let mut code = Vec::new();
        coder.encode_box(&read, &coarser, &mut code);
        let mut again = DenseBox::new(cells.region());
        coder.decode_box(&code, &coarser, &mut again);
        prop_assert!(again == read);
    }

    #[test]
    fn cells_are_those_of_the_slow_twin(
        cells in ground(), wrong: u8, given in 0..3i32, noise in prop::collection::vec(any::<u8>(), 0..200),
    ) {
        let materials = MaterialTable::default();
        let coder = Refinement { kinds: materials.kinds() };
        // Coarser cells are given around the box on some sides.
        let mut coarser = DenseBox::new(Region {
            min: cells.region().coarser(1).min - VoxelPos::new(given, 0, 2 * given),
            max: cells.region().coarser(1).max + VoxelPos::new(0, given, 1),
        });
        coarser.fill(wrong);
        coarser.copy_from(&over(&cells, wrong));
        let mut code = Vec::new();
        coder.encode_box(&cells, &coarser, &mut code);
        for code in [code, noise] {
            let mut read = DenseBox::new(cells.region());
            coder.decode_box(&code, &coarser, &mut read);
            let slow = naive::decode(materials.kinds(), &code, &coarser, cells.region());
            prop_assert!(read == slow);
        }
    }

    #[test]
    fn planes_are_those_of_the_slow_twin(
        slope in prop::array::uniform3(-256..=256i32), next in 0..8u32, units_left in -300..2300i32,
    ) {
        let coarse = Cell::full(8);
        let (around, is_inside) = ([coarse; 6], [true; 3]);
        let group =
            Group { coarse, number: 0, first: 0, is_inside, around, slope, next, units_left };
        prop_assert_eq!(group.expected(group.heights().as_ref()), slow_expected(&group));
    }
}

/// A hill with a shore.
fn hill() -> DenseBox {
    let mut cells = DenseBox::new(Region::new([-8, 0, 16], [8, 16, 32]));
    for pos in cells.region().voxels() {
        let [x, z] = [pos.x, pos.z - 24].map(i64::from);
        let units = (12 * 256 - 24 * (x * x + 2 * z * z) - 256 * i64::from(pos.y)).clamp(0, 256);
        let is_wet = pos.y < 5;
        let cell = match (units, is_wet) {
            (0, true) => Cell::full(1),
            (0, false) => Cell::AIR,
            _ => Cell::new(if pos.y > 9 { 12 } else { 8 }, (units - 1) as u8),
        };
        cells.set(pos, cell);
        cells.set_water(pos, (is_wet && (1..256).contains(&units)).then(|| (255 - units) as u8));
    }
    cells
}

#[test]
fn a_hill_takes_less_than_two_thirds_of_its_runs_and_has_golden_bytes() {
    let materials = MaterialTable::default();
    let (cells, kinds) = (hill(), materials.kinds());
    let coarser = over(&cells, 0);
    let (mut bytes, mut runs) = (Vec::new(), Vec::new());
    Refinement { kinds }.encode_box(&cells, &coarser, &mut bytes);
    crate::codec::BitRle { kinds }.encode_box(&cells, &mut runs);
    assert!(3 * bytes.len() < 2 * runs.len(), "{} bytes; runs {}", bytes.len(), runs.len());
    let start: String = bytes[..16].iter().map(|byte| format!("{byte:02x}")).collect();
    let digest = format!("{:016x}", xxhash_rust::xxh3::xxh3_64(&bytes));
    assert_eq!(
        (bytes.len(), start.as_str(), digest.as_str()),
        (322, "0291d3c7f2a1df07059ba82a803ee541", "6d826ebc123947a5")
    );
}
