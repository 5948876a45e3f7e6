//! Meshes of blocks: of one mip, among other mips, with shores, simplified and packed.

use super::scene::{EDGE, config, corner, moved, pair};
use proptest::prelude::*;
use terravox::mesh::{BlockMesh, Mesher, NeighbourMips, PAD, PackedSurface, Shores};
use terravox::simplify::{Simplifier, SimplifyOptions, join_blocks};
use terravox::voxel::{DenseBox, MipBlock, Region, Snapshot, VoxelPos};

/// Meshes a block with its shores.
fn mesh(snapshot: &Snapshot, block: Region, mip: u8) -> BlockMesh {
    let (mut cells, mut mesh) = (DenseBox::default(), BlockMesh::new());
    Shores::default().read(snapshot, block.grow(PAD), mip, &mut cells).expect("air around");
    Mesher::new().mesh(&cells, snapshot.materials(), &mut mesh);
    mesh
}

/// Meshes a block beside coarser ones.
fn mesh_mixed(snapshot: &Snapshot, block: MipBlock) -> BlockMesh {
    let around = NeighbourMips::from_fn(block.mip, |[x, y, _]| match x < 0 || y > 7 {
        true => block.mip + 1,
        false => block.mip,
    });
    let read = |mip: u8, region: Region, cells: &mut DenseBox| {
        snapshot.read_known(region, mip, cells);
    };
    let mut mesh = BlockMesh::new();
    Mesher::new().mesh_mixed(block, &around, read, snapshot.materials(), true, &mut mesh);
    mesh
}

fn assert_same(origin: &BlockMesh, far: &BlockMesh, by: VoxelPos) {
    assert_eq!(moved(origin.block, by), far.block);
    assert_eq!(origin.solid.first_difference(&far.solid), None, "at {}", far.block);
    assert_eq!(origin.liquid.first_difference(&far.liquid), None, "at {}", far.block);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2, ..config() })]

    #[test]
    fn blocks_are_those_at_the_origin(seed: u8, at in corner(EDGE * 4)) {
        let [origin, far] = pair(seed, at);
        let mut triangles = 0;
        for mip in 0..3u8 {
            let by = at.coarser(mip.into());
            let blocks = Region::new([0; 3], [EDGE >> mip; 3]).coarser(5).grow(1);
            let mut meshes = [const { Vec::new() }; 2];
            for block in blocks.voxels() {
                let block = Region::one(block).finer(5);
                meshes[0].push(mesh(origin.as_snapshot(), block, mip));
                meshes[1].push(mesh(far.as_snapshot(), moved(block, by), mip));
            }
            for (origin, far) in meshes[0].iter().zip(&meshes[1]) {
                assert_same(origin, far, by);
                triangles += origin.solid.triangle_count();
            }
            if mip != 2 {
                continue;
            }
            let whole = blocks.finer(5);
            let [origin, far] = [(0, VoxelPos::ZERO), (1, by)].map(|(i, by)| {
                let parts: Vec<&BlockMesh> = meshes[i].iter().collect();
                let joined = join_blocks(moved(whole, by), &parts);
                Simplifier::new().simplify_block(&joined, SimplifyOptions::within(0.2))
            });
            assert_same(&origin, &far, by);
            let [mut near_packed, mut far_packed] = [PackedSurface::default(), PackedSurface::default()];
            meshes[0][21].solid.pack(&mut near_packed);
            meshes[1][21].solid.pack(&mut far_packed);
            prop_assert!(near_packed == far_packed);
        }
        prop_assert!(triangles > 3000, "{} triangles", triangles);
    }

    #[test]
    fn blocks_among_coarser_ones_are_those_at_the_origin(seed: u8, at in corner(EDGE * 4)) {
        let [origin, far] = pair(seed, at);
        for mip in 0..2u8 {
            for pos in Region::new([0; 3], [2 >> mip; 3]).voxels() {
                let by = at.coarser(u32::from(mip) + 5);
                let near = mesh_mixed(origin.as_snapshot(), MipBlock::new(mip, pos));
                let mut mesh = mesh_mixed(far.as_snapshot(), MipBlock::new(mip, pos + by));
                for key in mesh.solid.keys.iter_mut().chain(&mut mesh.liquid.keys) {
                    key.corner = key.corner - at;
                }
                assert_same(&near, &mesh, at.coarser(mip.into()));
            }
        }
    }
}
