use std::io::Cursor;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::*;
use proptest::prelude::*;

/// Entries of a directory, values as bytes in the file's order, and blocks: a little-endian TIFF.
struct TiffWriter {
    entries: Vec<(u16, u16, u64, Vec<u8>)>,
    is_big: bool,
}

impl TiffWriter {
    /// Heights of `[width, depth]` in one strip of 16-bit integers without compression.
    fn new(size: [u32; 2], is_big: bool) -> TiffWriter {
        let mut writer = TiffWriter { entries: Vec::new(), is_big };
        writer.long(256, size[0]);
        writer.long(257, size[1]);
        writer.long(258, 16);
        writer.long(259, 1);
        writer.long(278, size[1]);
        writer.long(339, 2);
        writer
    }

    fn set(&mut self, tag: u16, kind: u16, count: u64, bytes: Vec<u8>) {
        self.entries.retain(|entry| entry.0 != tag);
        self.entries.push((tag, kind, count, bytes));
    }

    fn long(&mut self, tag: u16, value: u32) {
        self.set(tag, 4, 1, value.to_le_bytes().to_vec());
    }

    fn doubles(&mut self, tag: u16, values: &[f64]) {
        let bytes = values.iter().flat_map(|v| v.to_le_bytes()).collect();
        self.set(tag, 12, values.len() as u64, bytes);
    }

    fn text(&mut self, tag: u16, text: &str) {
        self.set(tag, 2, text.len() as u64 + 1, [text.as_bytes(), &[0]].concat());
    }

    fn finish(self, block: &[u8]) -> Vec<u8> {
        self.finish_with_blocks(block, 1)
    }

    /// With so many blocks, all of which are the same bytes of the file.
    fn finish_with_blocks(mut self, block: &[u8], blocks: u64) -> Vec<u8> {
        let start = if self.is_big { 16_u32 } else { 8 };
        for (tag, value) in [(273, start), (279, block.len() as u32)] {
            self.set(tag, 4, blocks, value.to_le_bytes().repeat(blocks as usize));
        }
        self.entries.sort();
        let (wide, room) = if self.is_big { (20, 8) } else { (12, 4) };
        let directory = start as usize + block.len();
        let mut after = directory + if self.is_big { 16 } else { 6 } + wide * self.entries.len();
        let number = |value: usize| value.to_le_bytes()[..room].to_vec();
        let mut out = if self.is_big { b"II+\0\x08\0\0\0".to_vec() } else { b"II*\0".to_vec() };
        out.extend(number(directory));
        out.extend(block);
        let count = self.entries.len();
        out.extend(if self.is_big { number(count) } else { (count as u16).to_le_bytes().to_vec() });
        let mut values: Vec<u8> = Vec::new();
        for (tag, kind, count, bytes) in &self.entries {
            out.extend(tag.to_le_bytes());
            out.extend(kind.to_le_bytes());
            out.extend(number(*count as usize));
            if bytes.len() <= room {
                out.extend([&bytes[..], &vec![0; room - bytes.len()]].concat());
            } else {
                out.extend(number(after));
                after += bytes.len();
                values.extend(bytes);
            }
        }
        out.extend(number(0));
        out.extend(values);
        out
    }
}

fn read(files: &[&[u8]]) -> Result<GeoHeights, HeightmapError> {
    let length = files.iter().map(|file| file.len()).sum();
    let parts = files.iter().map(Cursor::new).collect();
    read_geotiff(parts, &mut ImportBudget::for_input(length))
}

fn words(values: &[i16]) -> Vec<u8> {
    values.iter().flat_map(|v| v.to_le_bytes()).collect()
}

#[test]
fn scale_offset_no_data_and_reference_are_read() {
    for is_big in [false, true] {
        let mut writer = TiffWriter::new([3, 2], is_big);
        writer.doubles(33550, &[25.0, 20.0, 0.0]);
        writer.doubles(33922, &[0.0, 0.0, 0.0, 600_000.0, 200_000.0, 0.0]);
        let keys = [1u16, 1, 0, 3, 1024, 0, 1, 1, 1025, 0, 1, 1, 3072, 0, 1, 2056];
        writer.set(34735, 3, 16, keys.iter().flat_map(|key| key.to_le_bytes()).collect());
        writer.text(34737, "CH1903+|");
        writer.text(42113, "-9999");
        writer.text(
            42112,
            "<GDALMetadata><Item name=\"OFFSET\" sample=\"0\" role=\"offset\">5</Item>\
             <Item name=\"SCALE\" sample=\"0\" role=\"scale\">0.5</Item></GDALMetadata>",
        );
        let file = writer.finish(&words(&[10, -9999, 30, -4, 50, 60]));
        let GeoHeights { heights, without_data, reference } = read(&[&file]).unwrap();
        assert_eq!(heights.values, [10.0, 3.0, 20.0, 3.0, 30.0, 35.0]);
        assert_eq!((heights.size(), without_data), ([3, 2], 1));
        assert_eq!(reference.corner, [600_000.0, 200_000.0]);
        assert_eq!(reference.step, [25.0, -20.0]);
        assert_eq!((reference.epsg, reference.is_geographic), (Some(2056), false));
        assert_eq!(reference.sample_m(2), Some([25.0, 20.0]));
        assert_eq!((&reference.keys[..], &reference.text[..]), (&keys[..], "CH1903+|"));
    }
}

#[test]
fn parts_of_a_map_are_put_together_by_their_references() {
    let part = |corner: [f64; 2], values: &[i16]| {
        let mut writer = TiffWriter::new([2, 2], false);
        writer.doubles(33550, &[10.0, 10.0, 0.0]);
        writer.doubles(33922, &[0.0, 0.0, 0.0, corner[0], corner[1], 0.0]);
        writer.finish(&words(values))
    };
    let east = part([120.0, 500.0], &[1, 2, 3, 4]);
    let south_west = part([100.0, 480.0], &[5, 6, 7, 8]);
    let all = read(&[&east, &south_west]).unwrap();
    assert_eq!((all.heights.size(), all.without_data), ([4, 4], 8));
    let [a, b] = [1.0, 1.0];
    let expected =
        [[a, b, 1.0, 2.0], [a, b, 3.0, 4.0], [5.0, 6.0, a, b], [7.0, 8.0, a, b]].concat();
    assert_eq!(all.heights.values, expected);
    assert_eq!(all.reference.corner, [100.0, 500.0]);
    let off = part([123.0, 500.0], &[1, 2, 3, 4]);
    let error = read(&[&east, &off]).unwrap_err().to_string();
    assert!(error.contains("0.30, "), "{error}");
    let nowhere = TiffWriter::new([2, 2], false).finish(&words(&[1, 2, 3, 4]));
    assert!(read(&[&nowhere]).is_ok());
    let error = read(&[&nowhere, &nowhere]).unwrap_err().to_string();
    assert!(error.contains("have none"), "{error}");
    // As far away as can be: a size, not an allocation.
    let far = part([1.0e10, 500.0], &[1, 2, 3, 4]);
    assert!(read(&[&east, &far]).is_err());
}

#[test]
fn hostile_files_are_errors_of_one_line_and_cost_little() {
    let refused = |file: Vec<u8>, word: &str| {
        let mut budget = ImportBudget::for_input(file.len());
        let error = read_geotiff(vec![Cursor::new(&file)], &mut budget).unwrap_err().to_string();
        assert!(error.contains(word) && !error.contains('\n'), "{error}");
        assert!(budget.spent().memory_bytes < 32 << 20, "{:?}", budget.spent());
    };
    for is_big in [false, true] {
        // 2⁶⁰ pixels.
        let huge = |size: u64| {
            let mut writer = TiffWriter::new([1 << 30, 1 << 30], is_big);
            if is_big {
                writer.set(256, 16, 1, size.to_le_bytes().to_vec());
                writer.set(257, 16, 1, size.to_le_bytes().to_vec());
            }
            writer.finish(&words(&[1; 4]))
        };
        refused(huge(1 << 30), "at most");
        refused(huge(u64::MAX), "at most");
        let with = |tag: u16, value: u32| {
            let mut writer = TiffWriter::new([2, 2], is_big);
            writer.long(tag, value);
            writer.finish(&words(&[1; 4]))
        };
        refused(with(256, 0), "empty");
        refused(with(257, 3), "blocks");
        refused(with(258, 12), "12 bits");
        refused(with(259, 6), "compression 6");
        refused(with(277, u32::MAX), "samples a pixel");
        refused(with(317, 3), "predictor 3");
        refused(with(278, 0), "blocks");
        refused(with(322, u32::MAX), "blocks");
        // An array that claims to be larger than the file.
        let mut writer = TiffWriter::new([2, 2], is_big);
        writer.set(34736, 12, u64::MAX >> 34, vec![0; 16]);
        refused(writer.finish(&words(&[1; 4])), "tag 34736");
        let mut writer = TiffWriter::new([2, 2], is_big);
        let mut matrix = [0.0; 16];
        [matrix[0], matrix[1], matrix[5]] = [10.0, 1.0, -10.0];
        writer.doubles(34264, &matrix);
        refused(writer.finish(&words(&[1; 4])), "rotated");
        // A Zstandard frame with a window of 128 MiB, and one with an empty block that is long.
        let mut writer = TiffWriter::new([2, 2], is_big);
        writer.long(259, 50000);
        let frame = [0x28, 0xb5, 0x2f, 0xfd, 0, 17 << 3, 3, 0, 16, 7];
        refused(writer.finish(&frame), "134217728 bytes to unpack 8");
        let mut writer = TiffWriter::new([2, 2], is_big);
        writer.long(259, 8);
        refused(writer.finish(&[0; 2000]), "takes 2000 in the file");
        let mut writer = TiffWriter::new([2, 2], is_big);
        writer.text(42113, "1");
        refused(writer.finish(&words(&[1; 4])), "no sample has data");
    }
    refused(b"II*\0\xff\xff\xff\xff".to_vec(), "outside");
    refused(b"II*\0\x00\x00\x00\x00".to_vec(), "");
    refused(Vec::new(), "outside");
    refused(b"PK\x03\x04aaaa".to_vec(), "begin");
}

/// All blocks are the same bytes of a small file: the heights alone exceed its budget.
#[test]
fn blocks_in_a_ring_cost_no_more_than_the_budget() {
    let mut writer = TiffWriter::new([8000, 8000], false);
    writer.long(278, 1);
    let file = writer.finish_with_blocks(&[1; 16_000], 8000);
    let mut budget = ImportBudget::for_input(file.len());
    let error = read_geotiff(vec![Cursor::new(&file)], &mut budget).unwrap_err();
    assert!(matches!(error, HeightmapError::OverBudget(_)), "{error}");
    let mut budget = ImportBudget::new(crate::ImportLimits::for_input(file.len()).times(20));
    let heights = read_geotiff(vec![Cursor::new(&file)], &mut budget).unwrap().heights;
    assert!(heights.values.iter().all(|&height| height == 257.0));
}

/// Blocks that are the same packed bytes, most of which give nothing.
#[test]
fn shared_blocks_that_give_nothing_are_paid_for_each_time() {
    use std::io::Write;
    let zeros = [0u8; 2000];
    let mut encoder = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(&zeros).unwrap();
    let deflated = encoder.finish().unwrap();
    let blocks = crate::inflate::tests::empty_blocks(2000);
    let deflated = [&deflated[..2], &blocks, &deflated[2..]].concat();
    // 100 blocks of three bytes each, then one of a repeated byte.
    let costly = crate::zstd_blocks::tests::costly_block().repeat(100);
    let raw = [&(8u32 << 3).to_le_bytes()[..3], &[0; 8]].concat();
    let last = ((2000 - 300 - 8) << 3 | 3u32).to_le_bytes();
    let zstd = [&[0x28, 0xB5, 0x2F, 0xFD, 0, 3 << 3], &raw[..], &costly, &last[..3], &[0]].concat();
    for (packing, block, each) in [(8, deflated, 1601 * 10_000), (50000, zstd, 100 * 24_000)] {
        let cost = |count: u32, factor: u32| {
            let mut writer = TiffWriter::new([1000, count], false);
            writer.long(259, packing);
            writer.long(278, 1);
            let file = writer.finish_with_blocks(&block, count.into());
            let limits = crate::ImportLimits::for_input(file.len()).times(factor);
            let mut budget = ImportBudget::new(limits);
            read_geotiff(vec![Cursor::new(&file)], &mut budget).map(|_| budget.spent().work)
        };
        let [one, two] = [1, 2].map(|count| cost(count, 1).expect("cheap enough"));
        assert!(two >= one + each && one >= each, "{one} {two}");
        let error = cost(1000, 1).unwrap_err();
        assert!(matches!(error, HeightmapError::OverBudget(_)), "{error}");
    }
}

/// A file of which only its length is large: nothing of it is allocated.
#[test]
fn arrays_of_sparse_files_are_refused_by_their_length() {
    struct Sparse(Cursor<Vec<u8>>);
    impl Read for Sparse {
        fn read(&mut self, out: &mut [u8]) -> std::io::Result<usize> {
            self.0.read(out)
        }
    }
    impl Seek for Sparse {
        fn seek(&mut self, to: std::io::SeekFrom) -> std::io::Result<u64> {
            match to {
                std::io::SeekFrom::End(_) => Ok(40 << 30),
                to => self.0.seek(to),
            }
        }
    }
    let open = |writer: TiffWriter| {
        let source = Sparse(Cursor::new(writer.finish(&words(&[1; 4]))));
        let mut budget = ImportBudget::for_input(40 << 30);
        read_geotiff(vec![source], &mut budget).unwrap_err().to_string()
    };
    let mut writer = TiffWriter::new([2, 2], true);
    writer.set(34736, 12, 4 << 30, vec![0; 16]);
    assert!(open(writer).contains("34359738368 bytes, at most 2147483648"));
    // Blocks of 2²⁶ pixels of 64 samples of 8 bytes.
    let mut writer = TiffWriter::new([2, 2], true);
    for (tag, value) in [(322, 1 << 13), (323, 1 << 13), (324, 16), (325, 8), (277, 64)] {
        writer.long(tag, value);
    }
    assert!(open(writer).contains("8589934592 bytes, at most 2147483648"));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn damaged_files_never_panic(
        values in prop::collection::vec(any::<i16>(), 12),
        is_big: bool,
        flips in prop::collection::vec((0usize..4000, any::<u8>()), 1..8),
        cut in prop::option::of(0usize..400),
    ) {
        let mut file = TiffWriter::new([4, 3], is_big).finish(&words(&values));
        for (at, byte) in flips {
            let at = at % file.len();
            file[at] = byte;
        }
        file.truncate(cut.unwrap_or(usize::MAX).min(file.len()));
        if let Err(error) = read(&[&file]) {
            prop_assert!(!error.to_string().contains('\n'));
        }
    }
}

/// A type of samples: GDAL's name, that of its raw format, and bytes.
const TYPES: [(&str, u32, usize); 6] = [
    ("Byte", 1, 1),
    ("UInt16", 12, 2),
    ("Int16", 2, 2),
    ("Int32", 3, 4),
    ("Float32", 4, 4),
    ("Float64", 5, 8),
];

const LAYOUTS: [&[&str]; 5] = [
    &["TILED=NO", "BLOCKYSIZE=7"],
    &["TILED=YES", "BLOCKXSIZE=32", "BLOCKYSIZE=16"],
    &["TILED=NO", "ENDIANNESS=BIG"],
    &["TILED=YES", "BLOCKXSIZE=16", "BLOCKYSIZE=64", "BIGTIFF=YES"],
    &["TILED=YES", "BLOCKXSIZE=16", "BLOCKYSIZE=16", "BIGTIFF=YES", "ENDIANNESS=BIG"],
];

const PACKINGS: [(&str, &[&str]); 5] = [
    ("NONE", &["1"]),
    ("PACKBITS", &["1"]),
    ("LZW", &["1", "2", "3"]),
    ("DEFLATE", &["1", "2", "3"]),
    ("ZSTD", &["1", "2", "3"]),
];

const SIZE: [usize; 2] = [83, 57];

/// Samples of a type as bytes: hills, and jumps between the ends of its range.
fn samples(name: &str) -> Vec<u8> {
    let value = |i: usize| {
        let (x, z) = ((i % SIZE[0]) as f64, (i / SIZE[0]) as f64);
        let hill = 0.5 + 0.25 * ((x * 0.1).sin() + (z * 0.13).cos());
        if i % 97 == 5 { (i % 2) as f64 } else { hill }
    };
    (0..SIZE[0] * SIZE[1])
        .flat_map(|i| {
            let v = value(i);
            match name {
                "Byte" => vec![(v * 255.0) as u8],
                "UInt16" => ((v * 65535.0) as u16).to_le_bytes().to_vec(),
                "Int16" => ((v * 65535.0 - 32768.0) as i16).to_le_bytes().to_vec(),
                "Int32" => ((v * 9e6 - 1e6) as i32).to_le_bytes().to_vec(),
                "Float32" => ((v * 4000.0 - 100.0) as f32).to_le_bytes().to_vec(),
                _ => (v * 4000.0 - 100.0).to_le_bytes().to_vec(),
            }
        })
        .collect()
}

fn number(name: &str, bytes: &[u8]) -> f32 {
    match (name, bytes) {
        ("Byte", [a]) => f32::from(*a),
        ("UInt16", [a, b]) => f32::from(u16::from_le_bytes([*a, *b])),
        ("Int16", [a, b]) => f32::from(i16::from_le_bytes([*a, *b])),
        ("Int32", [a, b, c, d]) => i32::from_le_bytes([*a, *b, *c, *d]) as f32,
        ("Float32", [a, b, c, d]) => f32::from_le_bytes([*a, *b, *c, *d]),
        (_, bytes) => f64::from_le_bytes(bytes.try_into().unwrap()) as f32,
    }
}

fn gdal(arguments: &[&str], from: &Path, to: &Path) {
    let run = Command::new("gdal_translate").arg("-q").args(arguments).arg(from).arg(to).output();
    let run = run.unwrap();
    assert!(run.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&run.stderr));
}

fn raw(folder: &Path, name: &str, code: u32) -> PathBuf {
    let file = folder.join(format!("{name}.img"));
    std::fs::write(&file, samples(name)).unwrap();
    let [width, depth] = SIZE;
    let header = format!(
        "ENVI\nsamples = {width}\nlines = {depth}\nbands = 1\nheader offset = 0\n\
         data type = {code}\ninterleave = bsq\nbyte order = 0\n"
    );
    std::fs::write(folder.join(format!("{name}.hdr")), header).unwrap();
    file
}

/// Every sample of every file that GDAL writes, as GDAL reads it.
#[test]
fn slow_no_sample_differs_from_what_gdal_reads_of_its_own_conversions() {
    if Command::new("gdal_translate").arg("--version").output().is_err() {
        println!("skipped: no gdal_translate (Debian: gdal-bin)");
        return;
    }
    let folder = std::env::temp_dir().join(format!("terravox-geotiff-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let (mut files, mut differences) = (0, 0);
    for (name, code, bytes) in TYPES {
        let source = raw(&folder, name, code);
        for layout in LAYOUTS {
            for (packing, predictors) in PACKINGS {
                for &predictor in predictors {
                    // GDAL 3.6 swaps the bytes of what it writes big-endian with predictor 3, and
                    // reads other numbers back than it was given.
                    let is_big_endian = layout.contains(&"ENDIANNESS=BIG");
                    if predictor == "3" && (!name.starts_with("Float") || is_big_endian) {
                        continue;
                    }
                    let mut options: Vec<String> = layout.iter().map(|&o| o.to_owned()).collect();
                    options.push(format!("COMPRESS={packing}"));
                    if predictor != "1" {
                        options.push(format!("PREDICTOR={predictor}"));
                    }
                    let arguments: Vec<&str> =
                        options.iter().flat_map(|option| ["-co", option]).collect();
                    let [file, back] = ["a.tif", "back.img"].map(|name| folder.join(name));
                    gdal(&arguments, &source, &file);
                    gdal(&["-of", "ENVI"], &file, &back);
                    let file = std::fs::read(&file).unwrap();
                    let expected = std::fs::read(&back).unwrap();
                    assert!(expected == samples(name), "{name} {options:?}: GDAL lost something");
                    let read = read(&[&file]).unwrap_or_else(|e| panic!("{name} {options:?}: {e}"));
                    assert_eq!(read.heights.size(), SIZE);
                    let expected = expected.chunks_exact(bytes).map(|v| number(name, v));
                    let off = read.heights.values.iter().zip(expected);
                    let off = off.filter(|(v, e)| v.to_bits() != e.to_bits()).count();
                    assert_eq!(off, 0, "{name} {options:?}");
                    (files, differences) = (files + 1, differences + off);
                }
            }
        }
    }
    std::fs::remove_dir_all(&folder).unwrap();
    println!("geotiff_differences: {differences} in {files} files");
    assert!(files > 200);
}
