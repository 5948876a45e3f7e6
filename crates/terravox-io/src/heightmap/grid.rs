//! Heights from grids of numbers: arrays of NumPy, and JSON.

use super::error::HeightmapError;
use super::grid_heights::{GridHeights, gathered, spend_grid};
use super::heights::check_size;
use super::numpy::{self, NPY_MAGIC, ZIP_MAGIC};
use crate::import_budget::ImportBudget;
use serde_json::Value;

/// Units of work of a byte of JSON.
const JSON_WORK: u64 = 32;

/// Reads a grid of numbers: a NumPy array (`.npy`) of two dimensions, the largest such array of an
/// `.npz`, or JSON: a list of rows, or an object with `width`, `height` and the list `values`, row by
/// row. The first index of an array is the row; the first row is the lowest z.
///
/// Arrays may be in either byte order, of C or Fortran order, of integers of 8 to 32 bits and floats of
/// 32 and 64, stored or deflated. At most [`Heights::MAX_SAMPLES`](super::Heights::MAX_SAMPLES).
///
/// # Errors
/// If the bytes are something else, damaged or cut short, no number is finite, or the grid exceeds the
/// budget.
pub fn read_grid(bytes: &[u8], budget: &mut ImportBudget) -> Result<GridHeights, HeightmapError> {
    if bytes.starts_with(NPY_MAGIC) {
        return numpy::read_npy(bytes, budget);
    }
    if bytes.starts_with(ZIP_MAGIC) {
        return numpy::read_npz(bytes, budget);
    }
    read_json(bytes, budget)
}

/// Whether a file begins as an array of NumPy.
pub fn is_npy(start: &[u8]) -> bool {
    start.starts_with(NPY_MAGIC)
}

fn read_json(bytes: &[u8], budget: &mut ImportBudget) -> Result<GridHeights, HeightmapError> {
    budget.spend_work("its JSON", JSON_WORK * bytes.len() as u64)?;
    // Objects, lists and entries while they grow.
    let memory = |byte: &u8| match byte {
        b'{' => 720,
        b'[' => 160,
        b',' => 128,
        _ => 2,
    };
    budget.spend_memory("its JSON", 256 + bytes.iter().map(memory).sum::<u64>())?;
    let json: Value = serde_json::from_slice(bytes).map_err(|error| {
        HeightmapError::Grid(format!(
            "it is neither an array of NumPy nor JSON ({error}); the file is damaged or cut short"
        ))
    })?;
    let number = |value: &Value| value.as_f64().map_or(f32::NAN, |value| value as f32);
    if let Value::Array(rows) = &json {
        let row = |row: &Value| row.as_array().map(Vec::len);
        let width = rows.first().and_then(row).unwrap_or(0);
        if let Some(i) = rows.iter().position(|it| row(it) != Some(width)) {
            return Err(HeightmapError::Grid(format!(
                "row {i} of the list is no list of {width} numbers like the first"
            )));
        }
        check_size(width as u64, rows.len() as u64)?;
        spend_grid((width * rows.len()) as u64, budget)?;
        let all = rows.iter().filter_map(Value::as_array).flatten();
        return gathered([width, rows.len()], all.map(number).collect());
    }
    let size = ["width", "height"].map(|name| json[name].as_u64());
    let ([Some(width), Some(height)], Some(values)) = (size, json["values"].as_array()) else {
        return Err(HeightmapError::Grid(
            "give a list of rows, or an object with width, height and the list values".to_owned(),
        ));
    };
    check_size(width, height)?;
    if width * height != values.len() as u64 {
        let found = values.len();
        return Err(HeightmapError::Grid(format!("{found} values are not {width} × {height}")));
    }
    spend_grid(width * height, budget)?;
    gathered([width as usize, height as usize], values.iter().map(number).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::io::Write;

    /// An array whose header says this.
    fn npy(version: u8, descr: &str, order: &str, shape: &str, elements: &[u8]) -> Vec<u8> {
        let header =
            format!("{{'descr': '{descr}', 'fortran_order': {order}, 'shape': {shape}, }}\n");
        let mut out = [NPY_MAGIC, &[version, 0]].concat();
        let length = header.len() as u32;
        out.extend(&length.to_le_bytes()[..if version == 1 { 2 } else { 4 }]);
        [&out[..], header.as_bytes(), elements].concat()
    }

    /// A ZIP of these files, stored or deflated.
    fn zip(files: &[(&str, &[u8])], deflated: bool) -> Vec<u8> {
        let (mut out, mut directory) = (Vec::new(), Vec::new());
        for (name, plain) in files {
            let mut encoder =
                flate2::write::DeflateEncoder::new(Vec::new(), flate2::Compression::fast());
            encoder.write_all(plain).expect("written");
            let packed = if deflated { encoder.finish().expect("written") } else { plain.to_vec() };
            let place = out.len() as u32;
            let sizes = [packed.len() as u32, plain.len() as u32].map(u32::to_le_bytes).concat();
            let method = [if deflated { 8 } else { 0 }, 0];
            let name_length = (name.len() as u16).to_le_bytes();
            let mut crc = flate2::Crc::new();
            crc.update(plain);
            let crc = crc.sum().to_le_bytes();
            let common = [&method[..], &[0; 4], &crc, &sizes, &name_length].concat();
            // As NumPy writes it, an extra field stands in the local header only.
            out.extend(
                [&b"PK\x03\x04\x14\0\0\0"[..], &common, &[4, 0], name.as_bytes(), &[1, 0, 0, 0]]
                    .concat(),
            );
            out.extend(&packed);
            directory.extend([&b"PK\x01\x02\x14\0\x14\0\0\0"[..], &common, &[0; 12]].concat());
            directory.extend(place.to_le_bytes());
            directory.extend(name.as_bytes());
        }
        let count = (files.len() as u16).to_le_bytes();
        let (length, place) = (directory.len() as u32, out.len() as u32);
        out.extend(&directory);
        out.extend([&b"PK\x05\x06\0\0\0\0"[..], &count, &count].concat());
        out.extend([length.to_le_bytes(), place.to_le_bytes()].concat());
        out.extend([0; 2]);
        out
    }

    fn read(bytes: &[u8]) -> Result<GridHeights, HeightmapError> {
        read_grid(bytes, &mut ImportBudget::for_input(bytes.len()))
    }

    fn error(bytes: &[u8]) -> String {
        let error = read(bytes).expect_err("an error").to_string();
        assert!(!error.contains('\n') && error.len() < 400, "{error}");
        error
    }

    #[test]
    fn arrays_of_all_types_orders_and_versions_are_the_same_grid() {
        let numbers = [1.0, 2.0, 3.0, 4.0, 250.0, 6.0_f64];
        let elements = |descr: &str, fortran: bool| -> Vec<u8> {
            let order = if fortran { [0, 3, 1, 4, 2, 5] } else { [0, 1, 2, 3, 4, 5] };
            let element = |i: usize| {
                let v = numbers[i];
                let mut bytes = match &descr[1..] {
                    "f4" => (v as f32).to_le_bytes().to_vec(),
                    "f8" => v.to_le_bytes().to_vec(),
                    "i2" => (v as i16).to_le_bytes().to_vec(),
                    "i4" => (v as i32).to_le_bytes().to_vec(),
                    "u1" => vec![v as u8],
                    "u2" => (v as u16).to_le_bytes().to_vec(),
                    _ => (v as u32).to_le_bytes().to_vec(),
                };
                if descr.starts_with('>') {
                    bytes.reverse();
                }
                bytes
            };
            order.into_iter().flat_map(element).collect()
        };
        for descr in
            ["<f4", ">f4", "<f8", ">f8", "<i2", ">i2", "<i4", ">i4", "|u1", "<u2", ">u2", "=u4"]
        {
            for (version, fortran) in [(1, false), (2, true), (3, false), (1, true)] {
                let order = if fortran { "True" } else { "False" };
                let file = npy(version, descr, order, "(2, 3)", &elements(descr, fortran));
                for file in
                    [file.clone(), zip(&[("a.npy", &file)], false), zip(&[("a.npy", &file)], true)]
                {
                    let GridHeights { heights, without_data } = read(&file).expect("an array");
                    assert_eq!((heights.size(), without_data), ([3, 2], 0));
                    assert_eq!(
                        heights.values,
                        numbers.map(|v| v as f32),
                        "{descr} {version} {order}"
                    );
                }
            }
        }
        let negative = npy(1, ">i2", "False", "(1, 2)", &[0xFF, 0xFE, 0x80, 0]);
        assert_eq!(read(&negative).expect("an array").heights.values, [-2.0, -32768.0]);
    }

    #[test]
    fn the_largest_array_of_two_dimensions_is_taken() {
        let line = npy(1, "<f4", "False", "(9,)", &[0; 36]);
        let small = npy(1, "|u1", "False", "(1, 2)", &[1, 2]);
        let large = npy(1, "|u1", "False", "(2, 2)", &[1, 2, 3, 4]);
        let files: [(&str, &[u8]); 4] =
            [("x.npy", &line), ("note.txt", b"?"), ("small.npy", &small), ("large.npy", &large)];
        assert_eq!(read(&zip(&files, true)).expect("an array").heights.size(), [2, 2]);
        assert!(
            error(&zip(&files[..2], true)).contains("the first: an array of shape (9,) is no map")
        );
    }

    #[test]
    fn json_is_rows_or_values_and_null_is_no_data() {
        for text in [
            "[[1, 2, 3], [4, null, 6.5]]",
            "{\"width\": 3, \"height\": 2, \"a\": {}, \"values\": [1, 2, 3, 4, null, 6.5]}",
        ] {
            let GridHeights { heights, without_data } = read(text.as_bytes()).expect("a grid");
            assert_eq!((heights.size(), without_data), ([3, 2], 1));
            assert_eq!(heights.values, [1.0, 2.0, 3.0, 4.0, 1.0, 6.5]);
        }
        let nan = [1.0, f32::NAN, f32::INFINITY, -2.0].map(f32::to_le_bytes).concat();
        let grid = read(&npy(1, "<f4", "False", "(2, 2)", &nan)).expect("an array");
        assert_eq!(
            (&grid.heights.values[..], grid.without_data),
            (&[1.0, -2.0, -2.0, -2.0][..], 2)
        );
    }

    #[test]
    fn what_is_wrong_is_named() {
        let of = |descr: &str, shape: &str| error(&npy(1, descr, "False", shape, &[0; 64]));
        assert!(of("<f4", "(2, 3, 4)").contains("shape (2, 3, 4) is no map"));
        assert!(of("<f4", "()").contains("shape () is no map"));
        assert!(of("<c8", "(2, 2)").contains("elements of type <c8 are not read"));
        assert!(of("<f4", "(0, 4)").contains("empty"));
        assert!(of("<f4", "(70000, 70000)").contains("at most"));
        assert!(of("<f4", "(18446744073709551615, 2)").contains("at most"));
        assert!(
            of("<f4", "(8000, 8000)").contains("of memory")
                || of("<f4", "(8000, 8000)").contains("work")
        );
        assert!(of("<f4", "(4, 5)").contains("cut short or damaged; it needs 80 bytes"));
        assert!(
            error(&npy(4, "<f4", "False", "(1, 1)", &[0; 4])).contains("version 4 of an array")
        );
        assert!(
            error(&npy(1, "<f4", "False", "(1, 1)", &f32::NAN.to_le_bytes())).contains("no number")
        );
        for text in [
            "",
            "[",
            "[[1],[2,3]]",
            "[1, 2]",
            "{}",
            "{\"width\": 2, \"height\": 2, \"values\": [1]}",
            "[[null]]",
            "[]",
            "nonsense",
        ] {
            error(text.as_bytes());
        }
        let deep = "[".repeat(100_000);
        assert!(error(deep.as_bytes()).contains("JSON"));
        let file = zip(&[("a.npy", &npy(1, "|u1", "False", "(2, 2)", &[1, 2, 3, 4]))], true);
        (4..file.len() - 2).for_each(|end| drop(error(&file[..end])));
    }

    /// A deflated array of 60 million zeros, in a file of 60 kB.
    #[test]
    fn arrays_of_much_more_than_their_file_are_refused() {
        let mut plain = npy(1, "|u1", "False", "(8000, 8000)", &[]);
        plain.resize(plain.len() + 1000, 0);
        let line = error(&zip(&[("a.npy", &plain)], true));
        assert!(line.contains("at most"), "{line}");
    }

    /// Blocks of deflate that give nothing before an array, which directory entries share.
    #[test]
    fn archives_that_unpack_much_for_nothing_are_refused() {
        let array = npy(1, "|u1", "False", "(2, 2)", &[1, 2, 3, 4]);
        let plain = zip(&[("a.npy", &array)], true);
        let packed_bytes = u32::from_le_bytes(*plain[18..].first_chunk().expect("a length"));
        let with = |bytes: usize, entries: usize| {
            let blocks = crate::inflate::tests::empty_blocks(bytes);
            let start = 30 + 5 + 4;
            let end = start + packed_bytes as usize;
            let mut file = [&plain[..start], &blocks, &plain[start..end]].concat();
            let mut entry = plain[end..plain.len() - 22].to_vec();
            let length = packed_bytes + blocks.len() as u32;
            entry[20..24].copy_from_slice(&length.to_le_bytes());
            let (place, mut tail) = (file.len() as u32, plain[plain.len() - 22..].to_vec());
            tail[10..12].copy_from_slice(&(entries as u16).to_le_bytes());
            tail[16..20].copy_from_slice(&place.to_le_bytes());
            file.extend([&entry.repeat(entries)[..], &tail].concat());
            file
        };
        let work = |file: &[u8]| {
            let mut budget = ImportBudget::for_input(file.len());
            read_grid(file, &mut budget).map(|_| budget.spent().work)
        };
        let [cheap, dear] = [0, 10_000].map(|bytes| work(&with(bytes, 1)).expect("an array"));
        // Once for the header, once for the array.
        assert_eq!(dear, cheap + 2 * 8000 * 10_000);
        let many = work(&with(1_000_000, 1)).expect_err("too many").to_string();
        assert!(many.starts_with("its packed blocks: "), "{many}");
        let shared = error(&with(10_000, 500));
        assert!(shared.contains("share bytes") && shared.contains("savez_compressed"), "{shared}");
    }

    #[test]
    fn a_wrong_crc_of_the_array_is_named() {
        let array = npy(1, "|u1", "False", "(2, 2)", &[1, 2, 3, 4]);
        let other = npy(1, "|u1", "False", "(1, 2)", &[1, 2]);
        for deflated in [false, true] {
            let file = zip(&[("a.npy", &array), ("b.npy", &other)], deflated);
            let at = |name: &[u8]| file.windows(name.len()).rposition(|part| part == name);
            // The checksum in the directory, 30 bytes before the name.
            let mut changed = file.clone();
            changed[at(b"a.npy").expect("a name") - 30] ^= 1;
            assert!(error(&changed).contains("the CRC-32 of its array is wrong"));
            let mut changed = file.clone();
            changed[at(b"b.npy").expect("a name") - 30] ^= 1;
            assert_eq!(read(&changed).expect("not taken").heights.size(), [2, 2]);
        }
        let mut stored = zip(&[("a.npy", &array)], false);
        let last = 30 + 5 + 4 + array.len() - 1;
        stored[last] ^= 1;
        assert!(error(&stored).contains("the CRC-32 of its array is wrong"));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(96))]

        #[test]
        fn mutated_grids_never_panic_and_stay_within_their_limits(
            changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..5),
            kind in 0..4_usize,
        ) {
            let array = npy(1, "<i2", "True", "(6, 7)", &[3; 84]);
            let mut file = match kind {
                0 => array,
                1 => zip(&[("a.npy", &array)], false),
                2 => zip(&[("a.npy", &array)], true),
                _ => b"{\"width\": 2, \"height\": 2, \"values\": [1, 2, 3, 4]}".to_vec(),
            };
            for (at, byte) in changes {
                let at = at.index(file.len());
                file[at] = byte;
            }
            let limits = crate::import_budget::ImportLimits { memory_bytes: 4 << 20, work: 1 << 24, depth: 32 };
            let mut budget = ImportBudget::new(limits);
            if let Err(error) = read_grid(&file, &mut budget) {
                prop_assert!(!error.to_string().contains('\n'), "{}", error);
            }
        }
    }
}
