//! The fast mesher on every instruction set against its naive twin, bit for bit.

use crate::mesh_fixtures::{
    Numbers, hills, noise, shaped_table, solid_water_table, table_of, unusual_table,
};
use proptest::prelude::*;
use terravox::mesh::{BlockMesh, MAX_EDGE, Mesher, PAD, naive};
use terravox::voxel::{Cell, DenseBox, MaterialTable, Region, SurfaceShape};

fn assert_all_agree(cells: &DenseBox, table: &MaterialTable) -> BlockMesh {
    let mut expected = BlockMesh::new();
    naive::mesh_keyed(cells, table, &mut expected);
    let mut mesh = BlockMesh::new();
    for mut mesher in [Mesher::new(), Mesher::portable(), Mesher::plain()] {
        // Twice, to catch state that leaks from one block into the next.
        for _ in 0..2 {
            mesher.mesh_keyed(cells, table, &mut mesh);
            assert_eq!(mesh.block, expected.block);
            assert_eq!(mesh.solid.first_difference(&expected.solid), None);
            assert_eq!(mesh.liquid.first_difference(&expected.liquid), None);
        }
        mesher.mesh(cells, table, &mut mesh);
        assert_eq!(mesh.solid.keys.len() + mesh.liquid.keys.len(), 0);
        mesh.solid.keys.clone_from(&expected.solid.keys);
        mesh.liquid.keys.clone_from(&expected.liquid.keys);
        assert_eq!(mesh.solid.first_difference(&expected.solid), None);
        assert_eq!(mesh.liquid.first_difference(&expected.liquid), None);
    }
    expected
}

fn block(min: [i32; 3], size: [i32; 3]) -> Region {
    Region::new(min, [min[0] + size[0], min[1] + size[1], min[2] + size[2]])
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn random_cells_of_any_size_give_the_same_bits(
        seed in any::<u64>(),
        size in prop::array::uniform3(1..11i32),
        solid in 0..101u64,
        liquid in 0..60u64,
        which in 0..4usize,
    ) {
        let region = block([-3, 17, -1_000_000], size);
        let cells = noise(region.grow(PAD), seed, solid, liquid);
        let table = match which {
            0 => MaterialTable::default(),
            1 => shaped_table(),
            2 => unusual_table(),
            _ => solid_water_table(),
        };
        assert_all_agree(&cells, &table);
    }
}

#[test]
fn long_rows_give_the_same_bits() {
    for (edge, solid) in [(59, 50), (60, 3), (61, 97), (63, 50), (64, 20)] {
        let cells = noise(block([-1, 5, 900], [edge, 3, 2]).grow(PAD), edge as u64, solid, 20);
        assert_all_agree(&cells, &shaped_table());
    }
}

#[test]
fn terrain_with_a_lake_gives_the_same_bits() {
    let cells = hills(block([-32, -16, 7], [64, 32, 24]).grow(PAD), -1.25);
    let mesh = assert_all_agree(&cells, &MaterialTable::default());
    assert!(mesh.solid.quad_count() > 1000 && mesh.liquid.quad_count() > 100);
    let mixed = mesh.solid.weights.iter().filter(|w| w[0] < 255).count();
    assert!(mixed > 500, "{mixed} vertices of several materials");
    assert_all_agree(&cells, &shaped_table());
    for shape in
        [SurfaceShape::Smooth, SurfaceShape::Sharp, SurfaceShape::Blocky, SurfaceShape::Rubble]
    {
        assert_all_agree(&hills(block([0, -8, 7], [8, 16, 8]).grow(PAD), -1.25), &table_of(shape));
    }
}

#[test]
fn air_with_occupancy_is_still_air() {
    let mut cells = noise(block([0; 3], [9; 3]).grow(PAD), 5, 40, 20);
    let expected = assert_all_agree(&cells, &MaterialTable::default());
    let mut numbers = Numbers::new(8);
    let (materials, occupancies) = cells.arrays_mut();
    for (material, occupancy) in materials.iter().zip(occupancies) {
        if *material == 0 {
            *occupancy = numbers.below(256) as u8;
        }
    }
    assert_eq!(assert_all_agree(&cells, &MaterialTable::default()), expected);
}

#[test]
fn water_held_by_cells_that_are_not_solid_is_ignored() {
    let mut cells = noise(block([0; 3], [6; 3]).grow(PAD), 5, 40, 20);
    let expected = assert_all_agree(&cells, &MaterialTable::default());
    for p in cells.region().voxels() {
        if cells.cell(p).material < 2 {
            cells.set_water(p, Some(9));
        }
    }
    assert_eq!(assert_all_agree(&cells, &MaterialTable::default()), expected);
}

#[test]
fn solid_cells_hold_water_even_where_water_itself_is_solid() {
    let mut cells = noise(block([0; 3], [20; 3]).grow(PAD), 9, 40, 30);
    let mesh = assert_all_agree(&cells, &solid_water_table());
    assert!(mesh.liquid.quad_count() > 100 && mesh.liquid.quad_materials.iter().all(|&m| m == 1));
    for p in cells.region().voxels() {
        cells.set_water(p, None);
    }
    let mesh = assert_all_agree(&cells, &solid_water_table());
    assert!(mesh.liquid.is_empty());
}

#[test]
fn blocks_of_one_material_are_empty() {
    let (mut mesher, mut mesh) = (Mesher::new(), BlockMesh::new());
    for material in [0, 1, 2, 200] {
        let mut cells = DenseBox::new(block([0; 3], [MAX_EDGE; 3]).grow(PAD));
        cells.fill(material);
        mesher.mesh(&cells, &MaterialTable::default(), &mut mesh);
        assert!(mesh.solid.is_empty() && mesh.liquid.is_empty());
        let mut uniform = BlockMesh::new();
        mesher.mesh_uniform(mesh.block, &mut uniform);
        assert_eq!(mesh, uniform);
    }
}

#[test]
fn one_mesher_meshes_blocks_of_different_sizes() {
    let (mut mesher, mut mesh, mut expected) = (Mesher::new(), BlockMesh::new(), BlockMesh::new());
    let table = shaped_table();
    for (seed, edge) in [(1, 12), (2, 3), (3, 33), (4, 1), (5, 20)] {
        let cells = noise(block([seed; 3], [edge; 3]).grow(PAD), seed as u64, 30, 30);
        naive::mesh(&cells, &table, &mut expected);
        mesher.mesh(&cells, &table, &mut mesh);
        assert_eq!(mesh.solid.first_difference(&expected.solid), None);
        assert_eq!(mesh.liquid.first_difference(&expected.liquid), None);
    }
}

#[test]
#[should_panic(expected = "block edges")]
fn a_block_that_is_too_long_panics() {
    let cells = DenseBox::new(block([0; 3], [65, 8, 8]).grow(PAD));
    Mesher::new().mesh(&cells, &MaterialTable::default(), &mut BlockMesh::new());
}

#[test]
fn faces_at_the_boundary_belong_to_their_solid_cell() {
    let mut cells = DenseBox::new(block([0; 3], [4; 3]).grow(PAD));
    for p in block([-2, -2, -2], [2, 8, 8]).voxels() {
        cells.set(p, Cell::full(2));
    }
    let mesh = assert_all_agree(&cells, &MaterialTable::default());
    assert!(mesh.solid.is_empty(), "the wall belongs to the neighbour");
}
