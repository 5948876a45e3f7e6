//! Block values: golden bytes, round trips, and any bytes.

use super::*;
use proptest::prelude::*;
use terravox::voxel::{Cell, MaterialTable, VoxelPos};

fn coder() -> ValueCoder {
    ValueCoder::new(MaterialTable::default().kinds())
}

fn key() -> BlockKey {
    BlockKey { mip: 2, pos: VoxelPos::new(-3, 0, 7) }
}

fn encoded(cells: &DenseBox) -> Vec<u8> {
    let mut value = vec![1, 2, 3];
    coder().encode(key(), cells, &mut value);
    value
}

fn decoded(value: &[u8]) -> Result<DenseBox, ValueError> {
    let mut cells = DenseBox::default();
    coder().decode(key(), value, &mut cells)?;
    Ok(cells)
}

/// Puts the right checksum into bytes that were changed, so that what is behind it is
/// reached.
fn resealed(mut value: Vec<u8>) -> Vec<u8> {
    if value.len() >= HEADER_BYTES {
        value[0] = VALUE_VERSION;
        seal(&key().bytes(), &mut value);
    }
    value
}

/// One partial cell with water in a block of rock.
fn few_runs() -> DenseBox {
    let mut cells = DenseBox::new(key().region());
    let last = key().region().max - VoxelPos::splat(1);
    cells.set(last, Cell::new(8, 100));
    cells.set_water(last, Some(50));
    cells
}

/// A slope: half air, half two materials with a partial surface.
fn slope() -> DenseBox {
    let mut cells = DenseBox::new(key().region());
    for pos in cells.region().voxels() {
        let at = pos - key().region().min;
        let height = at.x / 2 + 8 - at.y;
        let cell = match height {
            ..0 => Cell::AIR,
            0 => Cell::new(2, (at.x * 8) as u8),
            1..4 => Cell::full(2),
            _ => Cell::full(13),
        };
        cells.set(pos, cell);
    }
    cells
}

#[test]
fn the_bytes_of_a_uniform_block_are_fixed() {
    let mut cells = DenseBox::new(key().region());
    cells.fill(8);
    let value = encoded(&cells);
    assert_eq!(value, GOLDEN_UNIFORM);
    assert!(decoded(&GOLDEN_UNIFORM) == Ok(cells));
}

#[test]
fn air_compresses_and_noise_stays_runs() {
    let mut cells = few_runs();
    let value = encoded(&cells);
    assert_eq!(value[9], RUNS_LZ4, "127 runs of 256 air cells compress");
    assert!(decoded(&value) == Ok(cells.clone()));
    // A block in which no two cells are alike to the left does not.
    for pos in cells.region().voxels() {
        let at = (pos.x * 7 + pos.y * 13 + pos.z * 29) as u64;
        let byte = (at.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 40) as u8;
        cells.set(pos, Cell::new(2 + byte % 3, byte));
    }
    cells.set_all_water(vec![]);
    let value = encoded(&cells);
    assert!(value.len() <= MAX_VALUE_BYTES);
    assert!(decoded(&value) == Ok(cells));
}

#[test]
fn blocks_as_they_were_first_written_are_read_for_ever() {
    assert!(decoded(&unhex(GOLDEN_SLOPE_LZ4)) == Ok(slope()));
    assert!(decoded(&unhex(GOLDEN_FEW_LZ4)) == Ok(few_runs()));
    assert!(decoded(&plain_runs(&slope())) == Ok(slope()));
    let sum = checksum(&key().bytes(), &plain_runs(&slope()));
    assert_eq!(sum, GOLDEN_SLOPE_RUNS_CHECKSUM, "runs, header and checksum are as ever");
}

/// The value of a block as runs that are not compressed.
fn plain_runs(cells: &DenseBox) -> Vec<u8> {
    let mut value = Vec::new();
    start_block(RUNS, &mut value);
    Rle::wide(MaterialTable::default().kinds()).encode_box(cells, &mut value);
    seal(&key().bytes(), &mut value);
    value
}

/// The same, compressed whatever it brings.
fn packed_runs(cells: &DenseBox) -> Vec<u8> {
    let runs = plain_runs(cells)[HEADER_BYTES..].to_vec();
    let mut value = Vec::new();
    start_block(RUNS_LZ4, &mut value);
    value.extend_from_slice(&(runs.len() as u32).to_le_bytes());
    value.extend(lz4_flex::block::compress(&runs));
    seal(&key().bytes(), &mut value);
    value
}

#[test]
fn a_changed_bit_anywhere_is_noticed() {
    let value = encoded(&slope());
    for bit in 0..value.len() * 8 {
        let mut bad = value.clone();
        bad[bit / 8] ^= 1 << (bit % 8);
        let error = decoded(&bad).err();
        let version = bit < 8;
        match error {
            Some(ValueError::Version { .. }) if version => {}
            Some(ValueError::Checksum) if !version => {}
            other => panic!("bit {bit}: {other:?}"),
        }
    }
    for end in 0..value.len() {
        assert!(decoded(&value[..end]).is_err());
    }
}

#[test]
fn a_value_under_another_key_is_noticed() {
    let value = encoded(&slope());
    for other in [BlockKey { mip: 3, ..key() }, BlockKey { pos: VoxelPos::new(-3, 0, 6), ..key() }]
    {
        let read = coder().decode(other, &value, &mut DenseBox::default());
        assert_eq!(read, Err(ValueError::Checksum));
    }
}

#[test]
fn each_way_to_be_wrong_has_its_error() {
    let with = |codec: u8, body: &[u8]| {
        let mut value = Vec::new();
        start_block(codec, &mut value);
        value.extend_from_slice(body);
        decoded(&resealed(value)).err()
    };
    assert_eq!(with(3, &[]), Some(ValueError::Codec { codec: 3 }));
    assert_eq!(with(UNIFORM, &[]), Some(ValueError::TooShort { bytes: 10, least: 11 }));
    assert_eq!(with(UNIFORM, &[1, 2]), Some(ValueError::Trailing { bytes: 1 }));
    assert!(matches!(with(RUNS, &[]), Some(ValueError::Runs(_))));
    assert_eq!(with(RUNS_LZ4, &[0]), Some(ValueError::TooShort { bytes: 11, least: 14 }));
    let limit = MAX_RUN_BYTES;
    assert_eq!(
        with(RUNS_LZ4, &[255; 9]),
        Some(ValueError::Length { bytes: u32::MAX as usize, limit })
    );
    assert_eq!(with(RUNS_LZ4, &[9, 0, 0, 0, 1]), Some(ValueError::Compressed { bytes: 9 }));
    let air = [0x80, 255].repeat(128);
    assert_eq!(with(RUNS, &air), None);
    assert_eq!(with(RUNS, &[&air[..], &[7]].concat()), Some(ValueError::Trailing { bytes: 1 }));
    let long = vec![0; MAX_VALUE_BYTES + 1];
    assert!(matches!(decoded(&long), Err(ValueError::TooLong { .. })));
    assert!(matches!(with(RUNS, &[0x81, 0, 9]), Some(ValueError::Runs(_))), "water in water");
}

/// Cells of a block from runs, with water.
fn blocks() -> impl Strategy<Value = DenseBox> {
    let run = (
        0..40u8,
        prop_oneof![Just(255u8), 0..=255u8],
        1..2000usize,
        proptest::option::of(0..=255u8),
    );
    proptest::collection::vec(run, 1..60).prop_map(|runs| {
        let mut cells = DenseBox::new(key().region());
        let (mut at, mut water) = (0, Vec::new());
        for (material, occupancy, length, held) in runs {
            let end = BLOCK_CELLS.min(at + length);
            let cell = Cell::new(if material == 39 { 250 } else { material }, occupancy);
            let (materials, occupancies) = cells.arrays_mut();
            materials[at..end].fill(cell.material);
            occupancies[at..end].fill(cell.occupancy);
            if at < end && cell.material > 1 {
                water.extend(held.map(|held| (at as u32, held)));
            }
            at = end;
        }
        cells.set_all_water(water);
        cells
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn blocks_come_back(cells in blocks()) {
        let value = encoded(&cells);
        prop_assert!(value.len() <= MAX_VALUE_BYTES);
        prop_assert!(decoded(&value) == Ok(cells.clone()));
        prop_assert!(decoded(&plain_runs(&cells)) == Ok(cells));
    }

    #[test]
    fn changed_values_with_a_right_checksum_never_panic(
        cells in blocks(),
        changes in proptest::collection::vec((0..usize::MAX, 0..=255u8), 1..6),
        cut in proptest::option::of(0..usize::MAX),
    ) {
        let mut value = encoded(&cells);
        for (at, byte) in changes {
            let at = at % value.len();
            value[at] = byte;
        }
        value.truncate(cut.map_or(usize::MAX, |cut| cut % (value.len() + 1)));
        check_bounded(&resealed(value));
    }

    #[test]
    fn random_bytes_with_a_right_checksum_never_panic(
        codec in 0..4u8,
        length in 0..300_000u32,
        body in proptest::collection::vec(0..=255u8, 0..3000),
    ) {
        let mut value = Vec::new();
        start_block(codec, &mut value);
        if codec == RUNS_LZ4 {
            value.extend_from_slice(&length.to_le_bytes());
        }
        value.extend_from_slice(&body);
        check_bounded(&resealed(value));
        check_bounded(&body);
    }
}

/// Decodes anything; memory stays within what the largest block needs.
fn check_bounded(value: &[u8]) {
    let mut coder = coder();
    let mut cells = DenseBox::default();
    let _ = coder.decode(key(), value, &mut cells);
    assert!(coder.runs.capacity() <= 2 * MAX_RUN_BYTES);
    check_uniform(value);
    assert!(cells.len() <= BLOCK_CELLS);
    assert!(cells.water().len() <= BLOCK_CELLS);
}

/// What is uniform by its bytes is so by its cells.
fn check_uniform(value: &[u8]) {
    let (uniform, cells) = (coder().uniform(key(), value), decoded(value));
    match (uniform, &cells) {
        (Ok(Some(material)), Ok(cells)) => assert_eq!(uniform_material(cells), Some(material)),
        (Ok(Some(_)), Err(error)) => panic!("{error}"),
        // What is wrong before the cells is found by both.
        (Err(error), _) => assert_eq!(cells.err(), Some(error)),
        (Ok(None), _) => {}
    }
}

#[test]
fn blocks_of_one_material_are_known_by_their_bytes_however_they_are_written() {
    for material in [0, 1, 8, 62, 63, 255] {
        let mut cells = DenseBox::new(key().region());
        cells.fill(material);
        for value in [encoded(&cells), plain_runs(&cells), packed_runs(&cells)] {
            assert_eq!(coder().uniform(key(), &value), Ok(Some(material)));
            check_uniform(&value);
        }
        let last = key().region().max - VoxelPos::splat(1);
        cells.set(last, Cell::new(8, 9));
        for value in [encoded(&cells), plain_runs(&cells), packed_runs(&cells)] {
            assert_eq!(coder().uniform(key(), &value), Ok(None));
        }
    }
    // Water makes it another block.
    let mut cells = DenseBox::new(key().region());
    cells.fill(8);
    cells.set_water(key().region().min, Some(0));
    assert_eq!(coder().uniform(key(), &encoded(&cells)), Ok(None));
}

fn unhex(text: &str) -> Vec<u8> {
    let digits: Vec<u8> = text.chars().filter_map(|c| c.to_digit(16)).map(|d| d as u8).collect();
    digits.as_chunks::<2>().0.iter().map(|[high, low]| high << 4 | low).collect()
}

const GOLDEN_UNIFORM: [u8; 11] = [1, 215, 225, 69, 189, 195, 18, 199, 225, 0, 8];
const GOLDEN_SLOPE_RUNS_CHECKSUM: u64 = 0x41c4_914c_7896_4fac;
const GOLDEN_SLOPE_LZ4: &str = "\
    01533a110440aeec3f02681400002f8dff0200134f82018d1d04006a3f038d1b04006a3f058d1904 \
    00698f4200420882058d170800e5af80014210421882058d150a00ff259f034220422882058d130a \
    00ff259f054230423882058d110a00ff259f074240424882058d0f0a00ff259f094250425882058d \
    0d0a00ff259f0b4260426882058d0b0a00ff259f0d4270427882058d090a00ff259f0f4280428882 \
    058d070a00ff259f114290429882058d050a00ff259f1342a042a882058d030a00ff259f1542b042 \
    b882058d010a00ff257f1742c042c882050800e67f1942d042d882030800e67f1b42e042e8820108 \
    00e65f1d42f042f80600a81fff0200256080ff80ff80ff";
const GOLDEN_FEW_LZ4: &str = "01e91c66f439d8b5df02040100002f80ff0200e96080fec8640032";
