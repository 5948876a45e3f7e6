//! What the fuzz target of meshes checks. The tests of `terravox-io` include this file, and replay
//! seeds.

use std::collections::BTreeMap;
use terravox::voxel::VoxelGrid;
use terravox_io::obj::UpAxis;
use terravox_io::printing::{PrintFrame, PrintSurface, write_stl};
use terravox_io::triangles::{self, MeshFormat, VoxeliseOptions};
use terravox_io::{ExportLimit, ImportBudget, ImportLimits};

/// Voxels along the longest edge.
const EDGE_VOXELS: f64 = 20.0;

/// A mesh behind a byte that tells its format: OBJ, STL, PLY, binary glTF, or JSON behind its
/// length in two bytes and the data of such a file. What is accepted becomes cells, and their
/// ground a closed surface that reads back.
pub fn triangles(bytes: &[u8]) {
    let [kind, file @ ..] = bytes else { return };
    let formats = [MeshFormat::Obj, MeshFormat::Stl, MeshFormat::Ply, MeshFormat::Glb];
    let (format, file) = match formats.get(usize::from(kind % 5)) {
        Some(format) => (*format, file.to_vec()),
        None => (MeshFormat::Glb, packed(file)),
    };
    let limits = ImportLimits { memory_bytes: 16 << 20, work: 1 << 26, depth: 64 };
    let mut budget = ImportBudget::new(limits);
    let mesh = match triangles::read(&file, format, &mut budget) {
        Ok(mesh) => mesh,
        Err(error) => return assert!(!error.to_string().contains('\n'), "{error}"),
    };
    let [low, high] = mesh.bounds().expect("a mesh has triangles");
    let longest = (0..3).map(|i| high[i] - low[i]).fold(0.0, f64::max);
    let options = VoxeliseOptions {
        voxels_per_unit: if longest > 0.0 { EDGE_VOXELS / longest } else { 1.0 },
        up: UpAxis::Z,
        material: 8,
    };
    let mut grid = VoxelGrid::default();
    let made = triangles::voxelise(&mesh, &options, &mut budget, &mut grid, |_, _| ());
    let made = match made {
        Ok(made) => made,
        Err(error) => return assert!(!error.to_string().contains('\n'), "{error}"),
    };
    let limit = ExportLimit { memory_bytes: u64::MAX };
    let bounds = made.region.volume() as f64;
    assert!((0.0..=bounds).contains(&made.volume_voxels), "{made:?}");
    let surface = PrintSurface::of(&grid.snapshot(), grid.bounds(), 0, limit, &|_, _| ());
    let surface = surface.expect("all is held");
    let mut edges: BTreeMap<[u32; 2], i32> = BTreeMap::new();
    for &[a, b, c] in &surface.triangles {
        for [p, q] in [[a, b], [b, c], [c, a]] {
            *edges.entry([p.min(q), p.max(q)]).or_default() += if p < q { 1 } else { -1 };
        }
    }
    assert!(edges.values().all(|uses| *uses == 0), "the surface is open");
    if surface.triangles.is_empty() {
        return;
    }
    let mut stl = Vec::new();
    write_stl(&mut stl, &surface, PrintFrame::default()).expect("memory");
    let mut budget = ImportBudget::for_input(stl.len());
    let again = triangles::read(&stl, MeshFormat::Stl, &mut budget).expect("our own file");
    assert_eq!(again.triangles.len(), surface.triangles.len());
}

/// A binary glTF file of JSON behind its length, and data.
fn packed(bytes: &[u8]) -> Vec<u8> {
    let [low, high, rest @ ..] = bytes else { return Vec::new() };
    let length = usize::from(u16::from_le_bytes([*low, *high])).min(rest.len());
    let (json, data) = rest.split_at(length);
    let chunk = |kind: &[u8; 4], content: &[u8]| {
        [&(content.len() as u32).to_le_bytes()[..], kind, content].concat()
    };
    let chunks = [chunk(b"JSON", json), chunk(b"BIN\0", data)].concat();
    [&b"glTF\x02\0\0\0"[..], &(12 + chunks.len() as u32).to_le_bytes(), &chunks].concat()
}
