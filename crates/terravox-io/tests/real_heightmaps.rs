//! A real elevation model, as PNG and as raw samples. Skipped, aloud, where it is not there.

use std::path::PathBuf;
use terravox::voxel::{GridOptions, VoxelGrid, VoxelPos};
use terravox_io::ImportBudget;
use terravox_io::heightmap::{
    self, ColourPolicy, HeightmapError, HeightmapOptions, Heights, read_png, read_raw_u16,
};

fn real_data(name: &str) -> Option<Vec<u8>> {
    let folder = std::env::var_os("TERRAVOX_REAL_DATA").map_or_else(
        || PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/data")),
        PathBuf::from,
    );
    let path = folder.join("real").join(name);
    let bytes = std::fs::read(&path).ok();
    if bytes.is_none() {
        eprintln!("skipped: no elevation model at {}", path.display());
    }
    bytes
}

fn made(heights: &Heights, options: &HeightmapOptions) -> VoxelGrid {
    let mut grid = VoxelGrid::new(GridOptions::default());
    heightmap::import(heights, options, &mut ImportBudget::for_input(0), &mut grid, |_, _| {})
        .unwrap();
    grid
}

#[test]
fn a_real_elevation_model_is_the_same_from_png_and_raw() {
    let Some(png) = real_data("jacksboro_dem_16.png") else { return };
    let Some(raw) = real_data("jacksboro_dem_16.raw") else { return };
    let from_png =
        read_png(&png, ColourPolicy::Refuse, &mut ImportBudget::for_input(png.len())).unwrap();
    let mut budget = ImportBudget::for_input(raw.len());
    let Err(HeightmapError::RawNotSquare { hint, .. }) = read_raw_u16(&raw, None, &mut budget)
    else {
        panic!("403 × 344 is not a square")
    };
    assert_eq!(hint, ", perhaps 403x344 or 344x403");
    let from_raw = read_raw_u16(&raw, Some([403, 344]), &mut budget).unwrap();
    assert_eq!(from_png, from_raw);
    assert_eq!(from_png.range(), [0.0, 1.0]);

    let options = HeightmapOptions {
        height_voxels: 60.0,
        sea_level: Some(8.5),
        ..HeightmapOptions::default()
    }
    .with_natural_land(&from_png);
    let grid = made(&from_png, &options);
    assert_eq!(grid.digest(), made(&from_raw, &options).digest());
    let bounds = grid.bounds();
    assert_eq!(bounds.size(), [416, 96, 352]);
    // Every column has ground, and nothing floats: from the top down, air, water, solid.
    for z in (0..344).step_by(7) {
        for x in (0..403).step_by(5) {
            let column = (bounds.min.y..bounds.max.y).rev();
            let kinds: Vec<u8> = column
                .map(|y| grid.cell(VoxelPos::new(x, y, z)).unwrap().material.min(2))
                .collect();
            let ground = &kinds[..kinds.len() - (-8 - bounds.min.y) as usize];
            assert!(ground.is_sorted() && ground.ends_with(&[2]), "column {x}, {z}");
        }
    }
}
