//! The coder in bits against strings of `0` and `1`, on chosen cells and on any bytes.

use super::tests::cells;
use super::{BitRle, DecodeErrorKind};
use crate::voxel::{Cell, DenseBox, Kind, MaterialTable, Region};
use proptest::prelude::*;

/// A cell as the format sees it.
type Coded = (u8, u8, Option<u8>);

fn coded(kinds: &[Kind; 256], cells: &DenseBox) -> Vec<Coded> {
    let water = |at: usize| cells.water().iter().find(|entry| entry.0 as usize == at);
    (0..cells.materials().len())
        .map(|at| {
            let material = cells.materials()[at];
            let wet = water(at).filter(|_| kinds[usize::from(material)] == Kind::Solid);
            let occupancy = if material == 0 { 0 } else { cells.occupancies()[at] };
            (material, occupancy, wet.map(|entry| entry.1))
        })
        .collect()
}

fn binary(value: usize, count: usize) -> String {
    (0..count).map(|bit| if value >> bit & 1 == 1 { '1' } else { '0' }).collect()
}

fn golomb(number: usize, order: usize) -> String {
    let high = (number >> order) + 1;
    let width = high.ilog2() as usize;
    "0".repeat(width) + "1" + &binary(high, width) + &binary(number, order)
}

fn slow_bits(kinds: &[Kind; 256], cells: &[Coded]) -> String {
    let holds_water = cells.iter().any(|cell| cell.2.is_some());
    let is_uniform =
        !holds_water && !cells.is_empty() && cells.iter().all(|cell| *cell == cells[0]);
    let form = if holds_water {
        "11"
    } else if is_uniform {
        "10"
    } else {
        "0"
    };
    let mut bits = form.to_owned();
    let mut recent = vec![0, 1, 2, 3];
    let mut previous: Option<Coded> = None;
    let mut at = 0;
    while at < cells.len() {
        let (material, occupancy, water) = cells[at];
        let length = match water {
            Some(_) => 1,
            None => cells[at..].iter().take_while(|cell| **cell == cells[at]).count(),
        };
        let after_air = usize::from(previous.is_some_and(|run| run.0 == 0));
        match recent.iter().position(|&recent| recent == material) {
            Some(place) => bits += &("1".repeat(place - after_air) + "0"),
            None => bits += &("1".repeat(4 - after_air) + &binary(material.into(), 8)),
        }
        if holds_water && kinds[usize::from(material)] == Kind::Solid {
            bits += if water.is_some() { "1" } else { "0" };
        }
        let is_partial = material != 0 && occupancy != 255;
        let is_implied = water.is_none() && previous == Some((material, 255, None));
        if material != 0 && !is_implied {
            bits += if is_partial { "1" } else { "0" };
        }
        if is_partial {
            bits += &binary(occupancy.into(), 8);
        }
        match water {
            Some(water) => bits += &binary(water.into(), 8),
            None if is_uniform => {}
            None => bits += &golomb(length - 1, if is_partial { 0 } else { 2 }),
        }
        recent.retain(|&recent| recent != material);
        recent.insert(0, material);
        recent.truncate(4);
        previous = Some(cells[at]);
        at += length;
    }
    bits
}

fn bytes_of(bits: &str) -> Vec<u8> {
    let byte = |bits: &[u8]| bits.iter().rev().fold(0, |byte, bit| byte << 1 | (bit - b'0'));
    bits.as_bytes().chunks(8).map(byte).collect()
}

fn row(materials: &[u8], occupancies: &[u8], water: &[(u32, u8)]) -> DenseBox {
    let mut cells = DenseBox::new(Region::new([0; 3], [materials.len() as i32, 1, 1]));
    for (x, (&material, &occupancy)) in materials.iter().zip(occupancies).enumerate() {
        cells.set([x as i32, 0, 0].into(), Cell { material, occupancy });
    }
    *cells.water_mut() = water.to_vec();
    cells
}

fn encoded(cells: &DenseBox) -> Vec<u8> {
    let table = MaterialTable::default();
    let mut bytes = Vec::new();
    BitRle { kinds: table.kinds() }.encode_box(cells, &mut bytes);
    bytes
}

proptest! {
    #[test]
    fn bits_are_those_of_the_slow_coder_and_come_back((m, o, w) in cells(255)) {
        let table = MaterialTable::default();
        let coder = BitRle { kinds: table.kinds() };
        let cells = row(&m, &o, &w);
        let mut bytes = vec![7];
        coder.encode_box(&cells, &mut bytes);
        let expected = coded(table.kinds(), &cells);
        prop_assert_eq!(&bytes[1..], &bytes_of(&slow_bits(table.kinds(), &expected))[..]);
        let length = bytes.len() - 1;
        bytes.extend([0xA5; 9]);
        let mut decoded = row(&m, &o, &w);
        decoded.fill(9);
        prop_assert_eq!(coder.decode_box(&bytes[1..], &mut decoded), Ok(length));
        prop_assert!(coded(table.kinds(), &decoded) == expected);
        for cut in 0..length {
            prop_assert!(coder.decode_box(&bytes[1..1 + cut], &mut decoded).is_err());
        }
    }

    /// Whatever is accepted is what the encoder would have written.
    #[test]
    fn any_bytes_are_refused_or_are_the_code_of_their_cells(
        bytes in proptest::collection::vec(
            prop_oneof![1 => 0..=255u8, 1 => prop_oneof![Just(0u8), Just(0x55), Just(0x0F)]], 0..40),
        length in prop_oneof![0..70usize, Just(64), Just(4096)],
    ) {
        let table = MaterialTable::default();
        let coder = BitRle { kinds: table.kinds() };
        let mut cells = row(&vec![0; length], &vec![0; length], &[]);
        if let Ok(read) = coder.decode_box(&bytes, &mut cells) {
            prop_assert_eq!(&encoded(&cells)[..], &bytes[..read]);
        }
    }

    /// As above, from codes that are valid but for one bit.
    #[test]
    fn a_flipped_bit_gives_an_error_or_another_valid_code((m, o, w) in cells(40), bit in 0..999usize) {
        let table = MaterialTable::default();
        let coder = BitRle { kinds: table.kinds() };
        let mut cells = row(&m, &o, &w);
        let mut bytes = encoded(&cells);
        let bit = bit % (8 * bytes.len());
        bytes[bit / 8] ^= 1 << (bit % 8);
        if let Ok(read) = coder.decode_box(&bytes, &mut cells) {
            prop_assert_eq!(&encoded(&cells)[..], &bytes[..read]);
        }
    }
}

#[test]
fn the_bytes_of_each_form_and_run_are_fixed() {
    let uniform = row(&[8; 4096], &[255; 4096], &[]);
    assert_eq!(encoded(&uniform), [0x3d, 0x02]);
    assert_eq!(encoded(&row(&[0; 64], &[0; 64], &[])), [0b001]);
    assert_eq!(encoded(&row(&[], &[], &[])), [0]);
    // Air, a partial cell of rock and two full ones, and water.
    let dry = row(&[0, 0, 0, 8, 8, 8, 1], &[0, 0, 0, 100, 255, 255, 255], &[]);
    assert_eq!(encoded(&dry), [0xf4, 0x08, 0xc9, 0xb2, 0x09]);
    let wet = row(&[2, 2, 2, 0], &[255, 9, 9, 0], &[(1, 77), (2, 0)]);
    assert_eq!(encoded(&wet), [0x8f, 0x38, 0xa1, 0xc9, 0x09, 0x00, 0x05]);
}

#[test]
fn a_run_as_long_as_a_box_can_be_comes_back() {
    let mut cells = DenseBox::new(Region::new([0; 3], [256; 3]));
    cells.fill(7);
    cells.set([0, 0, 0].into(), Cell::AIR);
    let bytes = encoded(&cells);
    let table = MaterialTable::default();
    let mut decoded = DenseBox::new(cells.region());
    let read = BitRle { kinds: table.kinds() }.decode_box(&bytes, &mut decoded);
    assert_eq!(read, Ok(bytes.len()));
    assert!(decoded == cells && bytes.len() < 12);
}

#[test]
fn errors_of_bits_name_the_run_and_its_fault() {
    let table = MaterialTable::default();
    let error = |bits: &str, length: usize| {
        let mut cells = row(&vec![0; length], &vec![0; length], &[]);
        let coder = BitRle { kinds: table.kinds() };
        coder.decode_box(&bytes_of(bits), &mut cells).unwrap_err()
    };
    let air = |cells: usize| "0".to_owned() + &golomb(cells - 1, 2);
    let too_long = error(&("0".to_owned() + &air(5)), 4);
    assert_eq!(too_long.kind, DecodeErrorKind::RunTooLong { run: 5, left: 4 });
    assert_eq!(
        too_long.to_string(),
        "run at byte 0, cell 0: a run of 5 cells where only 4 are left"
    );
    let ends = error(&("0".to_owned() + &air(3)), 4);
    assert_eq!((ends.cell, ends.kind), (3, DecodeErrorKind::Truncated { missing: 1 }));
    let canonical = |bits: String, length| match error(&bits, length).kind {
        DecodeErrorKind::NotCanonical(what) => what,
        other => panic!("{other:?}"),
    };
    let rock = "1111".to_owned() + &binary(8, 8);
    let full = |cells: usize| rock.clone() + "0" + &golomb(cells - 1, 2);
    assert_eq!(canonical("0".to_owned() + &full(4), 4), "one run fills the box");
    let twice =
        "0".to_owned() + &rock + "1" + &binary(3, 8) + "1" + "0" + "1" + &binary(3, 8) + "1";
    assert_eq!(canonical(twice, 4), "two runs of the same cells");
    let known = "0".to_owned() + "1111" + &binary(2, 8) + "0" + "100" + "000";
    assert_eq!(canonical(known, 4), "a material of the last four is written out");
    let written = "0".to_owned() + &rock + "1" + &binary(255, 8) + "1";
    assert_eq!(canonical(written, 4), "a full occupancy is written out");
    let dry = "110".to_owned() + &golomb(2, 2) + "0" + "0" + &golomb(0, 2);
    assert_eq!(canonical(dry, 4), "the form of the box is not that of its cells");
    assert_eq!(canonical("1001".to_owned(), 4), "bits behind the last run are set");
}
