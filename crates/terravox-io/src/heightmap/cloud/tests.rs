//! Point clouds that are written here: plain and compressed, all formats, damaged ones.

use super::*;
use crate::import_budget::ImportLimits;
use laz::laszip::LazItemRecordBuilder;
use laz::{LasZipCompressor, LazVlr};
use proptest::prelude::*;
use std::io::{Cursor, Seek, SeekFrom, Write};

/// Bytes of the formats of points.
const BYTES: [u16; 11] = [20, 28, 26, 34, 57, 63, 30, 36, 38, 59, 67];

/// A cloud of a slope of 40 × 30 m, a point every half a metre, and a tree in it.
struct Cloud {
    format: u8,
    extra: u16,
    is_compressed: bool,
    /// Points of a chunk; `None` for chunks of all sizes.
    chunk: Option<u32>,
    is_classified: bool,
}

impl Default for Cloud {
    fn default() -> Cloud {
        Cloud { format: 0, extra: 0, is_compressed: false, chunk: Some(500), is_classified: true }
    }
}

fn slope(x: f64, y: f64) -> f64 {
    120.0 + 0.25 * x - 0.1 * y
}

impl Cloud {
    fn points(&self) -> Vec<Vec<u8>> {
        let mut points = Vec::new();
        for row in 0..60 {
            for column in 0..80 {
                let (x, y) = (0.25 + 0.5 * f64::from(column), 0.25 + 0.5 * f64::from(row));
                points.push(self.point([x, y, slope(x, y)], 2));
                // A tree: without classes the lowest point has to count.
                if (x - 20.0).hypot(y - 15.0) < 3.0 {
                    points.push(self.point([x, y, slope(x, y) + 9.0], 5));
                }
            }
        }
        points.push(self.point([10.0, 10.0, -500.0], 7)); // noise
        points
    }

    fn point(&self, [x, y, z]: [f64; 3], class: u8) -> Vec<u8> {
        let class = if self.is_classified || class == 7 { class } else { 1 };
        let mut bytes = vec![0; usize::from(BYTES[usize::from(self.format)] + self.extra)];
        for (axis, value) in [x, y, z].into_iter().enumerate() {
            let whole = (value / 0.01).round() as i32;
            bytes[4 * axis..4 * axis + 4].copy_from_slice(&whole.to_le_bytes());
        }
        match self.format {
            0..=5 => (bytes[14], bytes[15]) = (0b001_001, class),
            _ => (bytes[14], bytes[16]) = (0b0001_0001, class),
        }
        bytes
    }

    fn file(&self) -> Vec<u8> {
        let points = self.points();
        let point_bytes = BYTES[usize::from(self.format)] + self.extra;
        let compression = self.is_compressed.then(|| {
            let items = LazItemRecordBuilder::default_for_point_format_id(self.format, self.extra);
            let builder = laz::LazVlrBuilder::new(items.expect("a known format"));
            match self.chunk {
                Some(chunk) => builder.with_fixed_chunk_size(chunk).build(),
                None => builder.with_variable_chunk_size().build(),
            }
        });
        let mut records =
            record("LASF_Projection", 34735, &keys(&[(1024, 1), (3072, 2056), (3076, 9001)]));
        if let Some(compression) = &compression {
            let mut bytes = Vec::new();
            compression.write_to(&mut bytes).unwrap();
            records.extend(record(LazVlr::USER_ID, LazVlr::RECORD_ID, &bytes));
        }
        let is_new = self.format > 5;
        let header_bytes = if is_new { 375 } else { 227 };
        let mut file = vec![0; header_bytes];
        file[..4].copy_from_slice(b"LASF");
        (file[24], file[25]) = (1, if is_new { 4 } else { 2 });
        let mut put = |at: usize, bytes: &[u8]| file[at..at + bytes.len()].copy_from_slice(bytes);
        put(94, &(header_bytes as u16).to_le_bytes());
        put(96, &((header_bytes + records.len()) as u32).to_le_bytes());
        put(100, &(1 + u32::from(self.is_compressed)).to_le_bytes());
        put(104, &[self.format | if self.is_compressed { 0x80 } else { 0 }]);
        put(105, &point_bytes.to_le_bytes());
        put(107, &(points.len() as u32).to_le_bytes());
        if is_new {
            put(247, &(points.len() as u64).to_le_bytes());
        }
        for axis in 0..3 {
            put(131 + 8 * axis, &0.01_f64.to_le_bytes());
        }
        for (at, value) in
            [(179, 40.0), (187, 0.0), (195, 30.0), (203, 0.0), (211, 140.0), (219, 100.0)]
        {
            put(at, &f64::to_le_bytes(value));
        }
        file.extend(records);
        let mut to = Cursor::new(file);
        to.seek(SeekFrom::End(0)).unwrap();
        match compression {
            None => points.iter().for_each(|point| to.write_all(point).unwrap()),
            Some(compression) => {
                let mut compressor = LasZipCompressor::new(&mut to, compression).unwrap();
                for (number, point) in points.iter().enumerate() {
                    compressor.compress_one(point).unwrap();
                    if self.chunk.is_none() && number % 700 == 3 {
                        compressor.finish_current_chunk().unwrap();
                    }
                }
                compressor.done().unwrap();
            }
        }
        to.into_inner()
    }
}

fn record(user: &str, id: u16, bytes: &[u8]) -> Vec<u8> {
    let mut record = vec![0; 54];
    record[2..2 + user.len()].copy_from_slice(user.as_bytes());
    record[18..20].copy_from_slice(&id.to_le_bytes());
    record[20..22].copy_from_slice(&(bytes.len() as u16).to_le_bytes());
    record.extend(bytes);
    record
}

fn keys(entries: &[(u16, u16)]) -> Vec<u8> {
    let mut keys = vec![1, 1, 0, entries.len() as u16];
    keys.extend(entries.iter().flat_map(|&(key, value)| [key, 0, 1, value]));
    keys.into_iter().flat_map(u16::to_le_bytes).collect()
}

fn read(file: &[u8], spacing_m: Option<f64>) -> Result<CloudHeights, HeightmapError> {
    let mut budget = ImportBudget::for_input(file.len());
    read_point_cloud(vec![Cursor::new(file)], spacing_m, &mut budget)
}

/// The height of a cell's centre on the slope, of cells of 1 m.
fn off_slope(heights: &Heights) -> f32 {
    let [width, depth] = heights.size();
    assert_eq!([width, depth], [41, 31], "the last ones hold points on the border");
    let mut most: f32 = 0.0;
    for row in 0..depth - 1 {
        for column in 0..width - 1 {
            let (x, y) = (column as f64 + 0.5, 29.5 - row as f64);
            most = most.max((heights.values[column + width * row] - slope(x, y) as f32).abs());
        }
    }
    most
}

#[test]
fn the_ground_of_all_formats_is_found_plain_and_compressed() {
    for format in 0..=10 {
        for (is_compressed, chunk, extra) in
            [(false, None, 0), (true, Some(500), 0), (true, None, 3)]
        {
            let cloud = Cloud { format, is_compressed, chunk, extra, ..Cloud::default() };
            let found =
                read(&cloud.file(), Some(1.0)).unwrap_or_else(|error| panic!("{format}: {error}"));
            assert_eq!(found.reference.epsg, Some(2056));
            assert_eq!(found.points, cloud.points().len() as u64);
            assert_eq!(found.reference.corner, [0.0, 30.0]);
            let off = off_slope(&found.heights);
            assert!(off < 0.011, "format {format}, compressed {is_compressed}: {off} m");
        }
    }
}

#[test]
fn without_classes_the_lowest_points_are_the_ground() {
    let file = Cloud { is_classified: false, ..Cloud::default() }.file();
    let found = read(&file, Some(1.0)).unwrap();
    assert!(off_slope(&found.heights) < 0.2, "the lowest of four points");
}

#[test]
fn cells_without_points_are_filled_and_counted() {
    let found = read(&Cloud::default().file(), Some(0.2)).unwrap();
    assert!(found.filled > 0);
    assert!(found.heights.range()[0] > 115.0 && found.heights.range()[1] < 135.0);
    // By default a cell has four points.
    let found = read(&Cloud::default().file(), None).unwrap();
    assert_eq!(found.reference.step, [1.0, -1.0]);
}

#[test]
fn lengths_are_rounded_up_to_plain_numbers() {
    for (length, expected) in
        [(0.99, 1.0), (3.94, 4.0), (73.0, 80.0), (0.0021, 0.0025), (8.2, 10.0)]
    {
        assert!((round_up(length) / expected - 1.0_f64).abs() < 1e-12, "{length}");
    }
}

#[test]
fn parts_are_one_map_and_their_order_means_nothing() {
    let (a, b) = (
        Cloud::default().file(),
        Cloud { format: 6, is_compressed: true, ..Cloud::default() }.file(),
    );
    let read = |parts: [&Vec<u8>; 2]| {
        let parts = parts.map(|part| Cursor::new(part.as_slice()));
        read_point_cloud(parts.into(), Some(1.0), &mut ImportBudget::for_input(1 << 20)).unwrap()
    };
    assert_eq!(read([&a, &b]), read([&b, &a]));
}

#[test]
fn points_beyond_the_bounds_of_the_header_are_counted() {
    assert_eq!(read(&Cloud::default().file(), Some(1.0)).unwrap().outside, 0);
    let mut cloud = Cloud::default().file();
    cloud[179..187].copy_from_slice(&20.0_f64.to_le_bytes());
    let found = read(&cloud, Some(1.0)).unwrap();
    assert!(found.outside > 2000, "{} east of the middle", found.outside);
}

#[test]
fn points_on_the_west_border_count_at_any_spacing() {
    let mut raster = Raster::new([4, 4]);
    let point = Point { at: [0; 3], is_ground: true };
    assert!(raster.add([-2e-15, 4.0 + 2e-15], 7, point), "rounding");
    assert!(!raster.add([-0.01, 0.0], 7, point) && !raster.add([0.0, f64::NAN], 7, point));
    assert_eq!(raster.heights(|height| height).unwrap().0[12], 7.0);
}

#[test]
fn parts_of_which_some_are_classified_are_refused() {
    let (a, b) =
        (Cloud::default().file(), Cloud { is_classified: false, ..Cloud::default() }.file());
    let parts = [&a, &b].map(|part| Cursor::new(part.as_slice()));
    let error = read_point_cloud(parts.into(), None, &mut ImportBudget::for_input(a.len()));
    assert!(error.unwrap_err().to_string().contains("import them one by one"));
}

#[test]
fn many_small_parts_hold_the_memory_of_one() {
    let file = Cloud::default().file();
    let parts = vec![Cursor::new(file.as_slice()); 512];
    let tight = ImportLimits { memory_bytes: 4 << 20, work: 1 << 32, depth: 8 };
    assert!(read_point_cloud(parts, Some(1.0), &mut ImportBudget::new(tight)).is_ok());
}

#[test]
fn heights_that_no_float_holds_are_refused() {
    let mut file = Cloud::default().file();
    for (at, value) in [(147, 1e300), (211, 1e306), (219, -1e306)] {
        file[at..at + 8].copy_from_slice(&f64::to_le_bytes(value));
    }
    assert!(read(&file, Some(1.0)).is_err());
}

#[test]
fn times_of_points_are_decoded_as_they_were_encoded() {
    use laz::record::RecordDecompressor;
    // Two scanners, each with steps of its own, jumps, pauses and large steps.
    let mut points = Cloud { format: 1, ..Cloud::default() }.points();
    for (number, point) in points.iter_mut().enumerate() {
        let step = [0, 3, 3, 6, 30, 3000, -15, -90, 0, 3, 1 << 40, 1 << 20][number / 2 % 12];
        let time = [1_i64 << 50, -9][number % 2] + 3 * number as i64 + step * (number as i64 % 7);
        point[20..28].copy_from_slice(&time.to_le_bytes());
    }
    let items = LazItemRecordBuilder::default_for_point_format_id(1, 0).unwrap();
    let mut bytes = Vec::new();
    let mut to = laz::record::SequentialPointRecordCompressor::new(&mut bytes);
    laz::record::RecordCompressor::set_fields_from(&mut to, &items).unwrap();
    for point in &points {
        laz::record::RecordCompressor::compress_next(&mut to, point).unwrap();
    }
    laz::record::RecordCompressor::done(&mut to).unwrap();
    drop(to);
    let mut fields = laz::record::SequentialPointRecordDecompressor::new(Cursor::new(bytes));
    fields.add_field_decompressor(laz::las::v2::LasPoint0Decompressor::default());
    fields.add_field_decompressor(gps_time::GpsTimes::default());
    let mut found = vec![0; 28];
    for (number, point) in points.iter().enumerate() {
        fields.decompress_next(&mut found).unwrap();
        assert_eq!(&found, point, "point {number}");
    }
}

#[test]
fn a_cloud_in_feet_is_in_metres() {
    let mut file = Cloud::default().file();
    let at = file.windows(2).position(|two| two == 9001_u16.to_le_bytes()).unwrap();
    file[at..at + 2].copy_from_slice(&9002_u16.to_le_bytes());
    let found = read(&file, None).unwrap();
    assert!((f64::from(found.heights.range()[0]) - 0.3048 * 117.0).abs() < 0.3);
    assert_eq!(found.reference.unit_m, 0.3048);
}

#[test]
fn what_is_wrong_is_said() {
    let whole = Cloud::default().file();
    let changed = |at: usize, bytes: &[u8]| {
        let mut file = whole.clone();
        file[at..at + bytes.len()].copy_from_slice(bytes);
        read(&file, None).unwrap_err().to_string()
    };
    let line = |file: &[u8]| read(file, None).unwrap_err().to_string();
    assert_eq!(line(&whole[..100]), "point cloud: it is cut short; get another copy");
    assert!(line(&whole[..whole.len() - 45]).contains("it holds "));
    assert!(changed(25, &[7]).contains("version 1.7 of LAS is not known"));
    assert!(changed(104, &[11]).contains("format 11"));
    assert!(changed(105, &[3]).contains("have 20 bytes or more"));
    assert!(changed(179, &f64::NAN.to_le_bytes()).contains("not finite"));
    assert!(changed(179, &(-9.0_f64).to_le_bytes()).contains("above its highest"));
    assert!(changed(104, &[0x80]).contains("does not say how"));
    assert_eq!(read(&changed_count(&whole, 0), None), Err(HeightmapError::Empty));
    for spacing in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        assert!(read(&whole, Some(spacing)).unwrap_err().to_string().contains("spacing_m is"));
    }
    let error = read(&whole, Some(1e-5)).unwrap_err();
    assert!(matches!(error, HeightmapError::TooLarge { .. }), "{error}");
    let error = read_point_cloud::<Cursor<Vec<u8>>>(vec![], None, &mut ImportBudget::for_input(0));
    assert_eq!(error, Err(HeightmapError::Empty));
}

fn changed_count(file: &[u8], count: u32) -> Vec<u8> {
    let mut file = file.to_vec();
    file[107..111].copy_from_slice(&count.to_le_bytes());
    file
}

#[test]
fn a_claim_of_many_points_or_chunks_is_refused_before_it_costs() {
    let tight = ImportLimits { memory_bytes: 16 << 20, work: 1 << 28, depth: 8 };
    for (format, chunk) in [(3, Some(500)), (7, Some(500)), (7, None)] {
        let cloud = Cloud { format, chunk, is_compressed: true, ..Cloud::default() };
        let file = cloud.file();
        // The last hundred bytes, where the table of chunks is, and those where layers are said to begin.
        let ranges = [file.len() - 100..file.len() - 4, 400..700];
        for at in ranges.into_iter().flatten().step_by(5).chain([107, 247]) {
            let mut file = file.clone();
            file[at..at + 4].copy_from_slice(&[0xFF; 4]);
            let mut budget = ImportBudget::new(tight);
            let _ = read_point_cloud(vec![Cursor::new(&file)], Some(1.0), &mut budget);
        }
    }
}

proptest! {
    #[test]
    fn damaged_clouds_are_read_or_refused(
        format in 0..=10_u8, is_compressed: bool, is_fixed: bool,
        changes in prop::collection::vec((0.0..1.0_f64, any::<u8>()), 1..6), cut in 0.5..1.5_f64,
    ) {
        let chunk = is_fixed.then_some(500);
        let mut file = Cloud { format, is_compressed, chunk, ..Cloud::default() }.file();
        for (at, byte) in changes {
            let at = (at * file.len() as f64) as usize;
            file[at] = byte;
        }
        file.truncate((cut * file.len() as f64) as usize);
        let _ = read(&file, Some(1.0));
    }
}
