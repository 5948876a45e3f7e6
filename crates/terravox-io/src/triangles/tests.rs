use super::sample::*;
use super::*;
use crate::obj::UpAxis;
use serde_json::json;
use terravox::voxel::{Cell, GridOptions, VoxelGrid, VoxelPos};

fn read_ok(file: &[u8], format: MeshFormat) -> FileMesh {
    read(file, format, &mut ImportBudget::for_input(file.len())).expect("a mesh")
}

fn cells(mesh: &FileMesh, options: &VoxeliseOptions) -> (VoxelisedMesh, VoxelGrid) {
    let (mut grid, mut budget) = (VoxelGrid::default(), ImportBudget::for_input(1000));
    let made = voxelise(mesh, options, &mut budget, &mut grid, |_, _| ()).expect("cells");
    (made, grid)
}

const PLAIN: VoxeliseOptions = VoxeliseOptions { voxels_per_unit: 1.0, up: UpAxis::Y, material: 8 };

#[test]
fn every_format_has_the_same_box() {
    let (positions, triangles) = cuboid([-1.5, 0.25, 2.0], [1.0, 2.5, 8.0]);
    let (p, t) = (&positions[..], &triangles[..]);
    let digest = |file: &[u8], format| {
        let mesh = read_ok(file, format);
        assert!((mesh.volume() - 2.5 * 2.25 * 6.0).abs() < 1e-9, "{format:?}");
        assert_eq!(mesh.bounds(), Some([[-1.5, 0.25, 2.0], [1.0, 2.5, 8.0]]), "{format:?}");
        cells(&mesh, &VoxeliseOptions { voxels_per_unit: 7.3, ..PLAIN }).1.digest().unwrap()
    };
    let obj = digest(&obj(p, t), MeshFormat::Obj);
    assert_eq!(digest(&stl(p, t), MeshFormat::Stl), obj);
    assert_eq!(digest(&stl_text(p, t), MeshFormat::Stl), obj);
    assert_eq!(digest(&ply(p, t, false), MeshFormat::Ply), obj);
    assert_eq!(digest(&ply(p, t, true), MeshFormat::Ply), obj);
    assert_eq!(digest(&ply_text(p, t), MeshFormat::Ply), obj);
    assert_eq!(digest(&glb_of(p, t), MeshFormat::Glb), obj);
}

#[test]
fn formats_are_known_by_extension_and_first_bytes() {
    let of = |extension, start: &[u8]| MeshFormat::of(extension, start);
    assert_eq!(of("obj", b""), Some(MeshFormat::Obj));
    assert_eq!(of("bin", b"glTF\x02\0\0\0"), Some(MeshFormat::Glb));
    assert_eq!(of("", b"ply\r\nformat"), Some(MeshFormat::Ply));
    assert_eq!((of("", b"plywood"), of("gltf", b"{")), (None, None));
}

#[test]
fn faces_of_an_obj_name_vertices_in_every_way() {
    let text = b"# a pyramid of C:\\shapes\\\nmtllib x.mtl\no v\nv -2 0 -2\nv 2 0 -2 1.0\nv 2 0 2 0.5 0.5 0.5\n\
        v -2 0 \\\n 2\nvt 0 0\nvn 0 1 0\nf 1/1/1 2//1 3/1 -1\nv 0 3e0 0\nf 2 1 5\nf -3 2 -1\r\n\
        f 4 3 -1\nf 1 4 5\nl 1 2\nf 1 2\n";
    let mesh = read_ok(text, MeshFormat::Obj);
    assert_eq!((mesh.positions.len(), mesh.triangles.len()), (5, 6));
    assert!((mesh.volume() - 16.0).abs() < 1e-12, "{}", mesh.volume());
}

#[test]
fn nodes_of_a_glb_place_their_meshes() {
    let (positions, triangles) = cuboid([0.0; 3], [1.0, 2.0, 3.0]);
    let half = std::f64::consts::FRAC_1_SQRT_2;
    let nodes = json!([
        { "children": [1, 2], "scale": [2, 2, 2], "mesh": 0 },
        // A quarter turn about y, to the right.
        { "mesh": 0, "rotation": [0, half, 0, half], "translation": [10, 0, 0] },
        // A mirror.
        { "mesh": 0, "matrix": [-1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 20, 0, 1] },
        { "mesh": 0 },
    ]);
    let json = glb_json(positions.len(), triangles.len(), &nodes);
    let mesh = read_ok(&glb(&json, &glb_data(&positions, &triangles)), MeshFormat::Glb);
    assert_eq!(mesh.triangles.len(), 36);
    assert!((mesh.volume() - 3.0 * 48.0).abs() < 1e-9, "{}", mesh.volume());
    let [low, high] = mesh.bounds().expect("bounds");
    let expected = [[-2.0, 0.0, -2.0], [26.0, 44.0, 6.0]];
    (0..3).for_each(|i| {
        assert!((low[i] - expected[0][i]).abs() < 1e-9, "{low:?}");
        assert!((high[i] - expected[1][i]).abs() < 1e-9, "{high:?}");
    });
}

#[test]
fn strips_fans_and_quantised_positions_of_a_glb() {
    // A tetrahedron: four triangles as a strip that goes on around two vertices.
    let bytes = [[0_u8, 0, 0], [255, 0, 0], [0, 255, 0], [0, 0, 255]];
    let mut data: Vec<u8> = bytes.iter().flat_map(|p| [p[0], p[1], p[2], 0]).collect();
    data.extend([0, 2, 1, 3, 0, 2]);
    let json = |mode: u32, count: usize| {
        json!({
            "scenes": [{ "nodes": [0] }], "nodes": [{ "mesh": 0 }],
            "meshes": [{ "primitives": [
                { "mode": mode, "attributes": { "POSITION": 0 }, "indices": 1 },
                { "mode": 0, "attributes": { "POSITION": 0 } },
            ] }],
            "buffers": [{ "byteLength": 22 }],
            "bufferViews": [
                { "buffer": 0, "byteLength": 16, "byteStride": 4 },
                { "buffer": 0, "byteOffset": 16, "byteLength": 6 },
            ],
            "accessors": [
                { "bufferView": 0, "componentType": 5121, "normalized": true, "count": 4, "type": "VEC3" },
                { "bufferView": 1, "componentType": 5121, "count": count, "type": "SCALAR" },
            ],
        })
    };
    let strip = read_ok(&glb(&json(5, 6), &data), MeshFormat::Glb);
    assert_eq!(strip.triangles, [[0, 2, 1], [1, 2, 3], [1, 3, 0], [0, 3, 2]]);
    assert!((strip.volume() - 1.0 / 6.0).abs() < 1e-12);
    let fan = read_ok(&glb(&json(6, 4), &data), MeshFormat::Glb);
    assert_eq!(fan.triangles, [[0, 2, 1], [0, 1, 3]]);
}

#[test]
fn z_of_the_file_becomes_up() {
    let (positions, triangles) = cuboid([0.0, 1.0, 5.0], [2.0, 4.0, 9.0]);
    let mesh = FileMesh { positions, triangles };
    let (made, grid) = cells(&mesh, &VoxeliseOptions { up: UpAxis::Z, ..PLAIN });
    assert!((made.volume_voxels - 24.0).abs() < 1e-9, "{made:?}");
    let full = |x, y, z| grid.cell(VoxelPos::new(x, y, z)).expect("a cell") == Cell::full(8);
    assert!(full(0, 5, -2) && full(1, 8, -4));
    assert!(!full(0, 4, -2) && !full(0, 9, -2) && !full(0, 5, -1) && !full(0, 5, -5));
}

#[test]
fn cells_beyond_many_chunks_are_those_of_one_fill() {
    let (positions, triangles) = cuboid([-70.3, -40.0, -33.1], [66.6, 41.2, 35.5]);
    let (made, grid) =
        cells(&FileMesh { positions: positions.clone(), triangles: triangles.clone() }, &PLAIN);
    let mut whole = terravox::voxel::DenseBox::new(made.region.grow(3));
    terravox::generate::fill_triangles(&mut whole, &positions, &triangles, 8);
    let mut read = terravox::voxel::DenseBox::default();
    grid.read(whole.region(), 0, &mut read).expect("all is held");
    assert!(whole == read);
    let volume = 136.9 * 81.2 * 68.6;
    assert!((made.volume_voxels / volume - 1.0).abs() < 0.002, "{made:?}");
    let uniform = grid.memory().uniform_chunks;
    assert!(uniform > 0 && made.chunks as usize == grid.chunks().len(), "{uniform}");
}

#[test]
fn a_hole_does_not_flood() {
    let (positions, mut triangles) = cuboid([1.0; 3], [29.0; 3]);
    let whole =
        cells(&FileMesh { positions: positions.clone(), triangles: triangles.clone() }, &PLAIN);
    // Without the side at low x, from where rays come, and with a triangle that faces inward.
    triangles.drain(0..2);
    triangles[0].swap(0, 1);
    let (made, grid) = cells(&FileMesh { positions, triangles }, &PLAIN);
    assert_eq!((made.holes, made.widest_hole_voxels), (3, 28.0));
    assert_eq!(grid.digest().unwrap(), whole.1.digest().unwrap());
}

#[test]
fn bad_options_are_refused_before_anything_is_written() {
    let (positions, triangles) = cuboid([0.0; 3], [1.0; 3]);
    let mesh = FileMesh { positions, triangles };
    let refused = |mesh: &FileMesh, options: VoxeliseOptions| {
        let mut grid = VoxelGrid::new(GridOptions::default());
        let mut budget = ImportBudget::for_input(1000);
        let result = voxelise(mesh, &options, &mut budget, &mut grid, |_, _| ());
        assert!(grid.is_empty());
        result.expect_err("an error")
    };
    for voxels_per_unit in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        let error = refused(&mesh, VoxeliseOptions { voxels_per_unit, ..PLAIN });
        assert!(matches!(error, MeshError::VoxelsPerUnit { .. }), "{error}");
    }
    for voxels_per_unit in [1e6, 1e300] {
        let error = refused(&mesh, VoxeliseOptions { voxels_per_unit, ..PLAIN });
        assert!(matches!(error, MeshError::TooLong { .. }), "{error}");
    }
    for material in [0, 200] {
        let error = refused(&mesh, VoxeliseOptions { material, ..PLAIN });
        assert_eq!(error, MeshError::Material { found: material });
    }
    let mut far = mesh.clone();
    far.positions.iter_mut().for_each(|p| p[1] -= 2e9);
    let error = refused(&far, PLAIN);
    assert_eq!(error, MeshError::BeyondLimits { voxel: -2e9 });
    assert_eq!(refused(&FileMesh::default(), PLAIN), MeshError::NoTriangles);
    // 2,000³ full cells from a file of a kilobyte.
    let error = refused(&mesh, VoxeliseOptions { voxels_per_unit: 2000.0, ..PLAIN });
    assert!(matches!(error, MeshError::OverBudget(_)), "{error}");
}
