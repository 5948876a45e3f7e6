//! A real mesh, in three formats. Skipped, aloud, where it is not there.

use std::path::PathBuf;
use terravox::voxel::VoxelGrid;
use terravox_io::ImportBudget;
use terravox_io::obj::UpAxis;
use terravox_io::triangles::{self, FileMesh, MeshFormat, VoxeliseOptions, VoxelisedMesh};

fn bunny(extension: &str) -> Option<FileMesh> {
    let folder = std::env::var_os("TERRAVOX_REAL_DATA").map_or_else(
        || PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/data")),
        PathBuf::from,
    );
    let path = folder.join("real/bunny").with_extension(extension);
    let Ok(bytes) = std::fs::read(&path) else {
        eprintln!("skipped: no mesh at {}", path.display());
        return None;
    };
    let format = MeshFormat::of(extension, &bytes).expect("a format");
    Some(
        triangles::read(&bytes, format, &mut ImportBudget::for_input(bytes.len())).expect("a mesh"),
    )
}

fn voxelised(mesh: &FileMesh) -> (VoxelisedMesh, VoxelGrid) {
    let (mut grid, mut budget) = (VoxelGrid::default(), ImportBudget::for_input(100_000));
    // 79 voxels along the longest edge.
    let options = VoxeliseOptions { voxels_per_unit: 8.0, up: UpAxis::Y, material: 8 };
    let made = triangles::voxelise(mesh, &options, &mut budget, &mut grid, |_, _| ());
    (made.expect("cells"), grid)
}

#[test]
fn the_bunny_has_its_volume_in_every_format_and_with_holes() {
    let mut all = Vec::new();
    for extension in ["obj", "stl", "glb"] {
        let Some(mesh) = bunny(extension) else { return };
        let (made, grid) = voxelised(&mesh);
        assert_eq!(made.holes, 0, "{extension}");
        let exact = mesh.volume() * 512.0;
        assert!((made.volume_voxels / exact - 1.0).abs() < 0.01, "{extension}: {made:?}, {exact}");
        assert_eq!(grid.chunks().len() as u64, made.chunks);
        all.push((mesh, made));
    }
    let [(mesh, closed), _, _] = &all[..] else { unreachable!("three formats") };
    // Every 40th triangle is missing, and 20 in a row.
    let mut open = mesh.clone();
    open.triangles.drain(1000..1020);
    let kept = open.triangles.iter().enumerate().filter(|(i, _)| i % 40 != 0);
    open.triangles = kept.map(|(_, triangle)| *triangle).collect();
    let (made, _) = voxelised(&open);
    assert!(made.holes > 80, "{made:?}");
    assert!((made.volume_voxels / closed.volume_voxels - 1.0).abs() < 0.01, "{made:?}");
}
