//! Heights that go out as GeoTIFF and come back.

use super::super::{GroundHeights, HeightmapError};
use super::{GeoReference, WorldReference, read_geotiff};
use crate::import_budget::ImportBudget;
use std::io::Cursor;
use std::process::Command;

/// A reference system in metres, EPSG:2056, whose coordinates are those of centres.
fn swiss() -> GeoReference {
    let keys = vec![1, 1, 0, 4, 1024, 0, 1, 1, 1025, 0, 1, 2, 1026, 34737, 9, 0, 3072, 0, 1, 2056];
    GeoReference {
        corner: [2_600_000.0, 1_200_000.0],
        step: [25.0, -25.0],
        keys,
        doubles: vec![],
        text: "CH1903+|".to_owned() + "|",
        ..GeoReference::default()
    }
    .with_meaning()
}

fn ground(low: f64) -> GroundHeights {
    let height = |i: usize| match i % 7 {
        3 => f64::NAN,
        _ => low + f64::from(i as u32) / 256.0,
    };
    let heights: Vec<f64> = (0..300 * 41).map(height).collect();
    GroundHeights::of_rows([-16, 40], 300, &heights)
}

fn heights_of(ground: &GroundHeights) -> Vec<f64> {
    let (mut all, mut row) = (Vec::new(), Vec::new());
    for z in 0..ground.size[1] {
        ground.row(z, &mut row);
        all.extend_from_slice(&row);
    }
    all
}

fn written(ground: &GroundHeights, voxel: f64, y: f64, place: Option<&WorldReference>) -> Vec<u8> {
    let mut file = Cursor::new(Vec::new());
    ground.write_geotiff(voxel, [0.0, y, 0.0], place, &mut file).expect("written");
    file.into_inner()
}

#[test]
fn heights_come_back_with_their_place_and_their_gaps() {
    let place = WorldReference::of(&swiss(), 25.0, 0.5).expect("a place");
    assert_eq!(WorldReference::from_bytes(&place.to_bytes()).as_ref(), Ok(&place));
    for (voxel, place, corner, step) in [
        (2.0, Some(&place), [2_600_000.0 - 32.0, 1_200_000.0 - 80.0], [2.0, -2.0]),
        (0.5, Some(&place), [2_600_000.0 - 8.0, 1_200_000.0 - 20.0], [0.5, -0.5]),
        (2.0, None, [-32.0, -80.0], [2.0, -2.0]),
    ] {
        let (heights, unit) = (ground(-3.0), place.map_or(1.0, |place| place.height_unit_m));
        let file = written(&heights, voxel, 5.0, place);
        let mut budget = ImportBudget::for_input(file.len());
        let read = read_geotiff(vec![Cursor::new(&file)], &mut budget).expect("our own file");
        assert_eq!((read.heights.size(), read.reference.corner), (heights.size, corner));
        assert_eq!(read.reference.step, step);
        assert_eq!(read.reference.epsg, place.map(|_| 2056));
        let gaps = heights_of(&heights).iter().filter(|height| height.is_nan()).count();
        assert_eq!(read.without_data, gaps as u64);
        for (height, value) in heights_of(&heights).iter().zip(&read.heights.values) {
            let expected = ((height * voxel + 5.0) / unit) as f32;
            assert!(height.is_nan() || expected == *value, "{expected} {value}");
        }
    }
}

#[test]
fn heights_far_up_are_written_with_all_digits() {
    let heights = ground(1e9);
    let (near, far) = (written(&ground(0.0), 1.0, 0.0, None), written(&heights, 1.0, 0.0, None));
    let bits = |file: &[u8]| {
        let at = file.windows(4).rposition(|tag| tag == [2, 1, 3, 0]).expect("bits of a sample");
        file[at + 8]
    };
    assert_eq!((bits(&near), bits(&far)), (32, 64));
}

#[test]
fn damaged_places_are_errors() {
    let bytes = WorldReference::of(&swiss(), 25.0, 1.0).expect("a place").to_bytes();
    let error = |bytes: &[u8]| match WorldReference::from_bytes(bytes) {
        Err(HeightmapError::Tiff(line)) => assert!(!line.contains('\n')),
        other => panic!("{other:?}"),
    };
    (0..bytes.len()).for_each(|end| error(&bytes[..end]));
    error(&[&bytes[..], &[0]].concat());
    for (at, byte) in [(0, 2), (8, 0xFF), (41, 0xFF), (44, 0xFF), (52, 0x7F)] {
        let mut changed = bytes.clone();
        changed[at] = byte;
        if at == 8 {
            changed[7] = 0xFF;
        }
        error(&changed);
    }
    let nowhere = GeoReference::default();
    assert_eq!(WorldReference::of(&nowhere, 1.0, 1.0), None);
}

/// What GDAL reads of our files is what is in them.
#[test]
fn slow_gdal_reads_our_heights_as_we_do() {
    if Command::new("gdal_translate").arg("--version").output().is_err() {
        println!("skipped: no gdal_translate (Debian: gdal-bin)");
        return;
    }
    let folder = std::env::temp_dir().join(format!("terravox-geotiff-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    let place = WorldReference::of(&swiss(), 25.0, 1.0).expect("a place");
    for (low, place, kind) in [(0.0, Some(&place), "Float32"), (1e9, None, "Float64")] {
        let (path, back) = (folder.join("ours.tif"), folder.join("gdal.raw"));
        let heights = ground(low);
        let file = written(&heights, 1.0, 0.0, place);
        std::fs::write(&path, &file).expect("written");
        let run = Command::new("gdalinfo").arg(&path).output().expect("gdalinfo");
        let info = String::from_utf8_lossy(&run.stdout).into_owned();
        let words = ["Size is 300, 41", "NoData Value=nan", kind];
        assert!(words.iter().all(|word| info.contains(word)), "{info}");
        assert_eq!(info.contains("CH1903+"), place.is_some(), "{info}");
        let origin = if place.is_some() { "(2599984.0" } else { "(-16.0" };
        assert!(info.contains(origin), "{info}");
        let run = Command::new("gdal_translate")
            .args(["-q", "-of", "ENVI", "-ot", "Float64"])
            .args([&path, &back])
            .output()
            .expect("gdal_translate");
        assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
        let raw = std::fs::read(&back).expect("raw samples");
        let samples = raw.as_chunks::<8>().0.iter().map(|v| f64::from_le_bytes(*v));
        let differences = samples.zip(heights_of(&heights)).filter(|(there, here)| {
            let here = if low == 0.0 { f64::from(*here as f32) } else { *here };
            *there != here && !(there.is_nan() && here.is_nan())
        });
        assert_eq!((raw.len(), differences.count()), (8 * 300 * 41, 0));
    }
    std::fs::remove_dir_all(&folder).expect("removed");
}
