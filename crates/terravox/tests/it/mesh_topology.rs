//! The solid surface is closed and manifold for any cells, over any blocks.

use std::collections::BTreeSet;

use crate::mesh_fixtures::{WeldedBlocks, blocks, cross, cut, noise, shaped_table, sub};
use terravox::mesh::{BlockMesh, Mesher, PAD, Surface};
use terravox::voxel::{DenseBox, MaterialTable, Region, VoxelPos};

/// Makes random cells in 8³ with air around, and a region that contains all their faces.
fn closed_noise(seed: u64, solid: u64) -> (DenseBox, Region) {
    let region = Region::new([-3, 40, -11], [5, 48, -3]);
    (noise(region, seed, solid, 15), region.grow(1))
}

#[test]
fn random_cells_give_a_closed_manifold_over_blocks_of_any_edge() {
    let table = shaped_table();
    let mut split = 0;
    for seed in 0..60 {
        let (cells, region) = closed_noise(seed, [4, 20, 35, 50, 65, 80, 93][seed as usize % 7]);
        let welded = WeldedBlocks::solid(&cells, region, [10, 5, 3, 4][seed as usize % 4], &table);
        welded.assert_manifold(|_| false);
        split += welded.keys.iter().filter(|key| key.between != 0).count();
        assert!(welded.volume() > 0.0);
    }
    assert!(split > 20, "{split} vertices on split edges: too few to test the rule");
}

#[test]
fn checkerboards_and_lone_cells_are_closed() {
    let region = Region::new([0; 3], [6; 3]);
    for rule in 0..4 {
        let mut cells = DenseBox::new(region);
        for p in Region::new([1; 3], [5; 3]).voxels() {
            let odd = |a: i32| a.rem_euclid(2) == 1;
            let solid = match rule {
                0 => odd(p.x + p.y + p.z),
                1 => odd(p.x + p.z),
                2 => odd(p.x) && odd(p.y) && odd(p.z),
                _ => odd(p.x) == odd(p.y),
            };
            if solid {
                cells.set(p, terravox::voxel::Cell::new(3, 77));
            }
        }
        WeldedBlocks::solid(&cells, region, 6, &MaterialTable::default())
            .assert_manifold(|_| false);
    }
}

#[test]
fn blocks_have_the_vertices_of_the_whole() {
    let table = shaped_table();
    for seed in 100..110 {
        let (cells, region) = closed_noise(seed, 45);
        let whole = WeldedBlocks::solid(&cells, region, 10, &table);
        let parts = WeldedBlocks::solid(&cells, region, 3, &table);
        let sorted = |welded: &WeldedBlocks| {
            let mut vertices: Vec<_> = welded
                .keys
                .iter()
                .zip(&welded.positions)
                .map(|(k, p)| (*k, p.map(f64::to_bits)))
                .collect();
            vertices.sort_unstable();
            vertices
        };
        assert_eq!(sorted(&whole), sorted(&parts));
        assert_eq!(whole.triangles.len(), parts.triangles.len());
    }
}

#[test]
fn liquid_surfaces_of_blocks_fit_and_end_only_at_dry_ground() {
    let table = MaterialTable::default();
    for seed in 200..230 {
        let region = Region::new([-3, 40, -11], [5, 48, -3]);
        let cells = noise(region, seed, 25, [10, 40, 60][seed as usize % 3]);
        let liquid =
            WeldedBlocks::liquid(&cells, region.grow(1), [10, 4][seed as usize % 2], &table);
        let dry = |p: VoxelPos| {
            region.contains(p) && cells.cell(p).material > 1 && cells.water_at(p).is_none()
        };
        liquid.assert_manifold(|edge| {
            let [a, b] = edge.map(|v| liquid.keys[v as usize].corner);
            // The lattice edge, or the whole face if it is split, touches dry ground.
            let low = a.min(b) - VoxelPos::splat(1);
            Region { min: low, max: a.max(b) + VoxelPos::splat(1) }.voxels().any(dry)
        });
    }
}

#[test]
fn far_from_the_origin_the_bits_are_the_same() {
    let table = MaterialTable::default();
    let (mut mesher, mut here, mut there) = (Mesher::new(), BlockMesh::new(), BlockMesh::new());
    let mut cells = noise(Region::new([0; 3], [8; 3]).grow(PAD), 3, 50, 10);
    mesher.mesh(&cells, &table, &mut here);
    cells.move_to(VoxelPos::new(10_000_000, -900_000_000, 1_000_000_000));
    mesher.mesh(&cells, &table, &mut there);
    assert_eq!(here.solid.first_difference(&there.solid), None);
    assert_eq!(here.liquid.first_difference(&there.liquid), None);
}

/// Returns how far a quad's vertices lie beyond the cell behind it; 0 for parts of split faces.
fn reach(surface: &Surface, block: Region, quad: usize) -> f32 {
    let [[a, b, c], [_, _, d]] = surface.quad(quad);
    let keys = [a, b, c, d].map(|v| surface.keys[v as usize]);
    if keys.iter().any(|key| key.between != 0) {
        return 0.0;
    }
    let corners = keys.map(|key| (key.corner - block.min).to_array().map(f64::from));
    let outward = cross(sub(corners[1], corners[0]), sub(corners[2], corners[0]));
    let mut most = 0.0f64;
    for axis in 0..3 {
        let low = corners.iter().map(|c| c[axis]).fold(f64::MAX, f64::min);
        let low = if outward[axis] > 0.0 { low - 1.0 } else { low };
        for v in [a, b, c, d] {
            let at = f64::from(surface.positions[v as usize][axis]);
            most = most.max(low - at).max(at - low - 1.0);
        }
    }
    most as f32
}

#[test]
fn vertices_are_exact_and_stay_near_their_face() {
    let table = shaped_table();
    let (mut mesher, mut mesh) = (Mesher::new(), BlockMesh::new());
    for seed in 0..20 {
        let (cells, region) = closed_noise(seed, 10 + 4 * seed);
        for block in blocks(region, 5) {
            mesher.mesh_keyed(&cut(&cells, block.grow(PAD)), &table, &mut mesh);
            for surface in [&mesh.solid, &mesh.liquid] {
                for p in surface.positions.iter().flatten() {
                    assert_eq!((p * 4096.0).fract(), 0.0);
                }
                for n in &surface.normals {
                    let square: f32 = n.iter().map(|n| n * n).sum();
                    assert!((square - 1.0).abs() < 1e-5, "normal {n:?}");
                }
                for weights in &surface.weights {
                    assert_eq!(weights.iter().map(|&w| u32::from(w)).sum::<u32>(), 255);
                }
                assert_eq!(surface.indices.len(), 6 * surface.quad_count());
                for quad in 0..surface.quad_count() {
                    assert!(reach(surface, block, quad) <= 0.75);
                }
            }
        }
    }
}

#[test]
fn quad_faces_are_the_exposed_sides_of_solid_voxels() {
    let table = MaterialTable::default();
    let (mut mesher, mut mesh) = (Mesher::new(), BlockMesh::new());
    for seed in 0..20 {
        let (cells, region) = closed_noise(seed, 10 + 4 * seed);
        let solid = |p: VoxelPos| cells.region().contains(p) && cells.cell(p).material > 1;
        for block in blocks(region, 5) {
            mesher.mesh(&cut(&cells, block.grow(PAD)), &table, &mut mesh);
            let shown: BTreeSet<[u8; 4]> = mesh.solid.quad_faces.iter().copied().collect();
            assert_eq!(mesh.solid.quad_faces.len(), mesh.solid.quad_count());
            let mut faces = BTreeSet::new();
            for (cell, direction) in
                block.voxels().flat_map(|cell| (0..6u8).map(move |direction| (cell, direction)))
            {
                let mut step = [0; 3];
                step[usize::from(direction / 2)] = if direction % 2 == 0 { -1 } else { 1 };
                if solid(cell) && !solid(cell + VoxelPos::from(step)) {
                    let [x, y, z] = (cell - block.min).to_array().map(|c| c as u8);
                    faces.insert([x, y, z, direction]);
                }
            }
            assert_eq!(shown, faces);
        }
    }
}
