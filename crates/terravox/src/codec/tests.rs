//! The fast coder against its naive twin, on chosen bytes and on any.

use super::*;
use crate::voxel::{Cell, DenseBox, MaterialTable, Region};
use proptest::prelude::*;

fn decoded(rle: Rle<'_>, bytes: &[u8], cells: usize) -> Result<naive::Decoded, DecodeError> {
    let (mut material, mut occupancy) = (vec![7; cells], vec![7; cells]);
    let mut water = vec![(9, 9)];
    let read = rle.decode(bytes, &mut material, &mut occupancy, &mut water)?;
    let cells = material
        .iter()
        .zip(&occupancy)
        .map(|(&material, &occupancy)| Cell { material, occupancy })
        .collect();
    Ok((cells, water, read))
}

/// Runs of cells: few materials and occupancies often, any sometimes, with water.
pub(super) fn cells(max_material: u8) -> impl Strategy<Value = (Vec<u8>, Vec<u8>, Vec<(u32, u8)>)> {
    let material = prop_oneof![4 => 0..4u8, 1 => 0..=max_material];
    let occupancy = prop_oneof![2 => Just(255u8), 1 => 0..=255u8];
    let length = prop_oneof![4 => 1..20usize, 2 => 1..70usize, 1 => 250..600usize];
    let run = (material, occupancy, length, proptest::option::weighted(0.2, 0..=255u8));
    proptest::collection::vec(run, 0..24).prop_map(|runs| {
        let (mut material, mut occupancy, mut water) = (Vec::new(), Vec::new(), Vec::new());
        for (m, o, length, held) in runs {
            if let Some(held) = held {
                water.push((material.len() as u32, held));
            }
            material.resize(material.len() + length, m);
            occupancy.resize(occupancy.len() + length, o);
        }
        (material, occupancy, water)
    })
}

/// Bytes that are often valid runs.
fn bytes() -> impl Strategy<Value = Vec<u8>> {
    let byte = prop_oneof![
        2 => prop_oneof![Just(0u8), Just(63), Just(64), Just(128), Just(0x82), Just(0xC2), Just(0xFF)],
        1 => 0..=255u8,
    ];
    proptest::collection::vec(byte, 0..200)
}

proptest! {
    #[test]
    fn runs_that_are_said_to_be_uniform_decode_to_full_cells_of_one_material(
        // Runs of one material, canonical or not, and now and then another one.
        runs in proptest::collection::vec((0..=255u8, prop_oneof![8 => Just(0u8), 1 => 1..3u8]), 1..9),
        material in prop_oneof![Just(0u8), Just(1), Just(8), Just(63), Just(200)],
        more in prop_oneof![4 => Just(0usize), 1 => 1..3usize],
    ) {
        let table = MaterialTable::default();
        let rle = Rle::wide(table.kinds());
        let (mut bytes, mut cells) = (Vec::new(), 0);
        for &(count, odd) in &runs {
            let lead = if material < 63 { material } else { 63 };
            bytes.push(lead | 128 | if odd == 1 { 64 } else { 0 });
            if lead == 63 {
                bytes.push(material);
            }
            if odd == 1 {
                bytes.push(if count % 2 == 0 { 255 } else { 7 });
            }
            if odd == 2 && material > 1 {
                bytes.extend([0, 9]);
                cells += 1;
            } else {
                bytes.push(count.max(1));
                cells += usize::from(count.max(1)) + 1;
            }
        }
        bytes.truncate(bytes.len() - more.min(bytes.len() - 1));
        let uniform = rle.uniform(&bytes, cells);
        match decoded(rle, &bytes, cells) {
            Ok((all, water, read)) if read == bytes.len() => {
                let first = Cell::full(material);
                let is_one = water.is_empty() && all.iter().all(|&cell| cell == first);
                prop_assert_eq!(uniform, is_one.then_some(material));
            }
            _ => prop_assert_eq!(uniform, None),
        }
        prop_assert_eq!(rle.uniform(&bytes, cells + 1), None);
        bytes.push(0);
        prop_assert_eq!(rle.uniform(&bytes, cells), None);
    }

    #[test]
    fn the_fast_encoder_equals_the_naive_one((m, o, w) in cells(255)) {
        let table = MaterialTable::default();
        let rle = Rle::wide(table.kinds());
        let mut out = vec![1, 2];
        rle.encode(&m, &o, &w, &mut out);
        prop_assert_eq!(&out[..2], &[1, 2]);
        prop_assert_eq!(&out[2..], &naive::encode(rle, &m, &o, &w)[..]);
        prop_assert!(out.len() - 2 <= 3 * m.len() + 2 * w.len());
    }

    #[test]
    fn what_is_encoded_decodes_to_the_same_cells((m, o, w) in cells(63)) {
        let table = MaterialTable::default();
        for rle in [Rle::wide(table.kinds()), Rle::narrow(table.kinds())] {
            let mut out = Vec::new();
            rle.encode(&m, &o, &w, &mut out);
            let coded = out.len();
            out.extend([5; 7]);
            let (cells, water, read) = decoded(rle, &out, m.len()).unwrap();
            prop_assert_eq!(read, coded);
            let kept = w.iter().copied().filter(|e| m[e.0 as usize] > 1).collect::<Vec<_>>();
            prop_assert_eq!(water, kept);
            let same = cells.iter().enumerate().all(|(i, &c)| c == Cell::new(m[i], o[i]));
            prop_assert!(same);
        }
    }

    #[test]
    fn any_bytes_decode_as_the_naive_decoder_says(bytes in bytes(), n in 0..400usize) {
        let table = MaterialTable::default();
        for rle in [Rle::wide(table.kinds()), Rle::narrow(table.kinds())] {
            prop_assert_eq!(decoded(rle, &bytes, n), naive::decode(rle, &bytes, n));
        }
    }
}

#[test]
fn random_bytes_never_panic_and_agree_on_a_whole_chunk() {
    let table = MaterialTable::default();
    let rle = Rle::wide(table.kinds());
    let mut state = 0x1234_5678_9abc_def1u64;
    for round in 0..300 {
        let bytes: Vec<u8> = (0..2000)
            .map(|_| {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                // The count byte is rarely 0 by chance; give water a share.
                let byte = (state >> 40) as u8;
                if (state >> 50) % 8 < round % 3 { byte & 0xC0 } else { byte }
            })
            .collect();
        assert_eq!(decoded(rle, &bytes, 32768), naive::decode(rle, &bytes, 32768));
    }
}

#[test]
fn the_bytes_of_each_kind_of_run_are_fixed() {
    let table = MaterialTable::default();
    let rle = Rle::wide(table.kinds());
    let mut material = vec![0; 256];
    let mut occupancy = vec![99; 256];
    // Air goes on for one cell, then: full, partial, wet and full, wet and partial with
    // water 0, three of one wide material, one cell of material 63, the first that needs a
    // second byte, stored occupancy 0.
    material.extend([0, 2, 2, 2, 2, 200, 200, 200, 63, 62]);
    occupancy.extend([0, 255, 7, 255, 8, 255, 255, 255, 1, 0]);
    let water = [(259, 17), (260, 0)];
    let mut out = Vec::new();
    rle.encode(&material, &occupancy, &water, &mut out);
    let golden = [
        0x80, 255,  // 256 air
        0x00, // 1 air
        0x02, // full
        0x42, 7, // partial
        0x82, 0, 17, // full, water 17
        0xC2, 8, 0, 0, // partial, water 0
        0xBF, 200, 2, // three of material 200
        0x7F, 63, 1, // material 63
        0x7E, 0, // material 62, occupancy 0
    ];
    assert_eq!(out, golden);
}

#[test]
fn the_narrow_dialect_keeps_63_in_the_lead_byte() {
    let table = MaterialTable::default();
    let rle = Rle::narrow(table.kinds());
    let mut out = Vec::new();
    rle.encode(&[63, 63, 22], &[255, 255, 9], &[], &mut out);
    assert_eq!(out, [0xBF, 1, 0x56, 9]);
    let (cells, _, _) = decoded(rle, &out, 3).unwrap();
    assert_eq!(cells, [Cell::full(63), Cell::full(63), Cell::new(22, 9)]);
}

#[test]
#[should_panic(expected = "material 64 cannot be written")]
fn the_narrow_dialect_refuses_a_material_above_63() {
    Rle::narrow(MaterialTable::default().kinds()).encode(&[64], &[255], &[], &mut Vec::new());
}

#[test]
fn errors_name_the_run_and_its_fault() {
    let table = MaterialTable::default();
    let rle = Rle::wide(table.kinds());
    let kind =
        |bytes: &[u8], cells| decoded(rle, bytes, cells).map_err(|e| (e.offset, e.cell, e.kind));
    use DecodeErrorKind::*;
    assert_eq!(kind(&[2, 0x82], 4).unwrap_err(), (1, 1, Truncated { missing: 3 }));
    assert_eq!(kind(&[], 4).unwrap_err(), (0, 0, Truncated { missing: 4 }));
    assert_eq!(kind(&[2, 2, 0x80, 9], 4).unwrap_err(), (2, 2, RunTooLong { run: 10, left: 2 }));
    assert_eq!(kind(&[0x80, 0, 3], 4).unwrap_err(), (0, 0, WaterNotInSolid { material: 0 }));
    assert_eq!(kind(&[0x81, 0, 3], 4).unwrap_err(), (0, 0, WaterNotInSolid { material: 1 }));
    assert_eq!(kind(&[0x82, 0], 4).unwrap_err(), (0, 0, Truncated { missing: 4 }));
    let shown = decoded(rle, &[2, 2, 0x80, 9], 4).unwrap_err().to_string();
    assert_eq!(shown, "run at byte 2, cell 2: a run of 10 cells where only 2 are left");
    assert_eq!(kind(&[2, 2], 0).map(|d| d.2), Ok(0));
}

#[test]
fn a_box_comes_back_with_its_water() {
    let table = MaterialTable::default();
    let rle = Rle::wide(table.kinds());
    let region = Region::new([-5, 3, 7], [12, 8, 16]);
    let mut cells = DenseBox::new(region);
    cells.set(region.min, Cell::new(5, 3));
    cells.set_water(region.min, Some(0));
    let mut out = Vec::new();
    rle.encode_box(&cells, &mut out);
    let mut back = DenseBox::new(region);
    back.fill(9);
    assert_eq!(rle.decode_box(&out, &mut back), Ok(out.len()));
    assert_eq!(back, cells);
}
