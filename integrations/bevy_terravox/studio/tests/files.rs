//! Files of other programs in a studio without a renderer: whatever `terravox import` opens.

mod headless_studio;

use std::fs;
use std::io::{Cursor, Seek, SeekFrom};
use std::path::PathBuf;

use headless_studio::{Folder, Studio};
use laz::laszip::LazItemRecordBuilder;
use laz::{LasZipCompressor, LazVlr};
use terravox_studio::action::Action;

#[path = "../../../../crates/terravox-io/src/anvil/sample.rs"]
mod sample;

use sample::{Layout, landscape};

/// Opens what is at a path, and returns what was said, and the chunks of the world.
fn open(path: PathBuf) -> Result<(Vec<String>, usize), String> {
    let folder = Folder::new();
    let mut studio = Studio::new(&folder);
    studio.act(Action::Open(path.display().to_string()));
    studio.until("it is open or refused", |studio| {
        !studio.is_opening() && (studio.has_world() || studio.failure().is_some())
    });
    match studio.failure() {
        Some(failure) => Err(failure),
        None => Ok((studio.notices(), studio.chunks())),
    }
}

/// Heights of 40 × 40 numbers.
fn npy() -> Vec<u8> {
    let head = "{'descr': '<f4', 'fortran_order': False, 'shape': (40, 40), }";
    let head = format!("{head:<117}\n");
    let mut file = b"\x93NUMPY\x01\x00".to_vec();
    file.extend((head.len() as u16).to_le_bytes());
    file.extend(head.as_bytes());
    file.extend((0..1600).flat_map(|i| ((i % 40) as f32 * 0.5).to_le_bytes()));
    file
}

/// A slope of 20 × 20 m, a point every half a metre.
fn cloud(is_compressed: bool) -> Vec<u8> {
    let points: Vec<[u8; 20]> = (0..1600)
        .map(|i| {
            let (x, y) = (25 + 50 * (i % 40), 25 + 50 * (i / 40));
            let mut point = [0; 20];
            for (axis, centimetres) in [x, y, 12_000 + x / 4].into_iter().enumerate() {
                point[4 * axis..4 * axis + 4].copy_from_slice(&i32::to_le_bytes(centimetres));
            }
            (point[14], point[15]) = (0b001_001, 2);
            point
        })
        .collect();
    let items = LazItemRecordBuilder::default_for_point_format_id(0, 0).unwrap();
    let packing = laz::LazVlrBuilder::new(items).with_fixed_chunk_size(500).build();
    let mut record = Vec::new();
    if is_compressed {
        packing.write_to(&mut record).unwrap();
        let mut head = [0; 54];
        head[2..2 + LazVlr::USER_ID.len()].copy_from_slice(LazVlr::USER_ID.as_bytes());
        head[18..20].copy_from_slice(&LazVlr::RECORD_ID.to_le_bytes());
        head[20..22].copy_from_slice(&(record.len() as u16).to_le_bytes());
        record.splice(0..0, head);
    }
    let mut file = vec![0; 227];
    let mut put = |at: usize, bytes: &[u8]| file[at..at + bytes.len()].copy_from_slice(bytes);
    put(0, b"LASF");
    put(24, &[1, 2]);
    put(94, &227_u16.to_le_bytes());
    put(96, &(227 + record.len() as u32).to_le_bytes());
    put(100, &u32::from(is_compressed).to_le_bytes());
    put(104, &[if is_compressed { 0x80 } else { 0 }, 20, 0]);
    put(107, &(points.len() as u32).to_le_bytes());
    (0..3).for_each(|axis| put(131 + 8 * axis, &0.01_f64.to_le_bytes()));
    let bounds = [20.0, 0.0, 20.0, 0.0, 125.0, 120.0_f64];
    bounds.iter().enumerate().for_each(|(i, bound)| put(179 + 8 * i, &bound.to_le_bytes()));
    file.extend(record);
    if !is_compressed {
        file.extend(points.as_flattened());
        return file;
    }
    let mut to = Cursor::new(file);
    to.seek(SeekFrom::End(0)).unwrap();
    {
        let mut compressor = LasZipCompressor::new(&mut to, packing).unwrap();
        points.iter().for_each(|point| compressor.compress_one(point).unwrap());
        compressor.done().unwrap();
    }
    to.into_inner()
}

#[test]
fn grids_of_numbers_open() {
    let folder = Folder::new();
    let file = folder.path("heights.npy");
    fs::write(&file, npy()).unwrap();
    let (said, chunks) = open(file).expect("a world");
    assert!(chunks >= 4 && said.iter().any(|line| line == "heights is open"), "{chunks}, {said:?}");
}

#[test]
fn packed_grids_open() {
    let data = std::env::var_os("TERRAVOX_REAL_DATA").map_or_else(
        || PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../../../shared/data")),
        PathBuf::from,
    );
    let file = data.join("real/jacksboro_fault_dem.npz");
    if !file.exists() {
        return eprintln!("skipped: {} is missing", file.display());
    }
    let (said, chunks) = open(file).expect("a world");
    assert!(chunks > 100, "{chunks}, {said:?}");
}

#[test]
fn point_clouds_open_alone_and_as_a_folder() {
    let folder = Folder::new();
    for (name, is_compressed) in [("a.las", false), ("b.laz", true)] {
        let file = folder.path(name);
        fs::write(&file, cloud(is_compressed)).unwrap();
        let (said, chunks) = open(file).expect(name);
        assert!(chunks > 0 && said.iter().any(|line| line == "1600 points"), "{chunks}, {said:?}");
    }
    fs::create_dir(folder.path("both")).unwrap();
    for name in ["a.las", "b.laz"] {
        fs::rename(folder.path(name), folder.path("both").join(name)).unwrap();
    }
    let (said, _) = open(folder.path("both")).expect("a folder");
    assert!(said.iter().any(|line| line == "3200 points"), "{said:?}");
}

#[test]
fn regions_of_minecraft_open_alone_and_as_a_world() {
    let folder = Folder::new();
    fs::create_dir_all(folder.path("World/region")).unwrap();
    for (name, layout, x) in [("r.0.0.mca", Layout::V18, 0), ("r.1.0.mca", Layout::V16, 1)] {
        let file = folder.path("World/region").join(name);
        fs::write(file, landscape(layout, [x, 0])).unwrap();
    }
    // As the game leaves them.
    fs::write(folder.path("World/region/r.2.0.mca"), b"").unwrap();
    let (_, one) = open(folder.path("World/region/r.0.0.mca")).expect("a region");
    let (_, all) = open(folder.path("World")).expect("a world");
    assert!(one > 0 && all == 2 * one, "{one}, {all}");
}

#[test]
fn damaged_files_are_refused_in_one_sentence_and_leave_nothing() {
    let folder = Folder::new();
    let put = |name: &str, bytes: &[u8]| fs::write(folder.path(name), bytes).unwrap();
    put("cut.npy", &npy()[..90]);
    put("cut.las", &cloud(false)[..3000]);
    put("cut.laz", &cloud(true)[..900]);
    put("empty.mca", &[0; 8192]);
    put("cut.mca", &landscape(Layout::V18, [0, 0])[..9000]);
    fs::create_dir(folder.path("none")).unwrap();
    for (name, part) in [
        ("cut.npy", "grid: "),
        ("cut.las", "point cloud: "),
        ("cut.laz", "point cloud: "),
        ("empty.mca", "has no blocks"),
        ("cut.mca", "get another copy"),
        ("none", "is a folder without"),
    ] {
        let failure = open(folder.path(name)).expect_err(name);
        assert!(failure.contains(name) && failure.contains(part), "{failure}");
        assert!(!failure.contains('\n') && failure.len() < 300, "{failure}");
    }
}
