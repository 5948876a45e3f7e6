//! The slow twins: the same boxes cell by cell and pair by pair, and the octree by
//! asking every cell of every node.

use std::collections::BTreeSet;

use crate::voxel::{Kind, Region, Snapshot, VoxelPos};

/// The solid cells of a region; what is not held is not solid.
pub fn solid_cells(snapshot: &Snapshot, region: Region) -> BTreeSet<VoxelPos> {
    let kinds = snapshot.materials();
    let solid = |at: &VoxelPos| {
        snapshot.cell(*at).is_ok_and(|cell| kinds.kind(cell.material) == Kind::Solid)
    };
    region.voxels().filter(solid).collect()
}

/// The largest aligned cubes of solid cells in a cube.
pub fn volumes(cells: &BTreeSet<VoxelPos>, cube: Region) -> Vec<Region> {
    if cube.voxels().all(|at| cells.contains(&at)) {
        return vec![cube];
    }
    let half = cube.size()[0] as i32 / 2;
    if half == 0 {
        return Vec::new();
    }
    let corners = Region::new([0; 3], [2; 3]).finer(half.trailing_zeros()).voxels();
    let corners = corners.filter(|p| p.to_array().iter().all(|v| v % half == 0));
    let child = |at: VoxelPos| {
        let min = cube.min + at;
        Region { min, max: min + VoxelPos::splat(half) }
    };
    corners.flat_map(|at| volumes(cells, child(at))).collect()
}

/// The boxes of one block: the lowest cell (y, z, x) grows along x, z, y.
fn block_boxes(cells: &BTreeSet<VoxelPos>, block: Region) -> Vec<Region> {
    let mut left: BTreeSet<VoxelPos> =
        cells.iter().copied().filter(|&at| block.contains(at)).collect();
    let mut boxes = Vec::new();
    while let Some(&min) = left.iter().min_by_key(|at| (at.y, at.z, at.x)) {
        let mut grown = Region::one(min);
        for step in [[1, 0, 0], [0, 0, 1], [0, 1, 0]] {
            loop {
                let larger = Region { min, max: grown.max + VoxelPos::from(step) };
                if !larger.voxels().all(|at| left.contains(&at)) {
                    break;
                }
                grown = larger;
            }
        }
        left.retain(|&at| !grown.contains(at));
        boxes.push(grown);
    }
    boxes
}

/// `a` and `b` as one, if they touch along `axis` and are the same across it.
fn joined(a: Region, b: Region, axis: usize) -> Option<Region> {
    let same = |i: usize| {
        a.min.to_array()[i] == b.min.to_array()[i] && a.max.to_array()[i] == b.max.to_array()[i]
    };
    let across = (0..3).filter(|&i| i != axis).all(same);
    (across && a.max.to_array()[axis] == b.min.to_array()[axis])
        .then_some(Region { min: a.min, max: b.max })
}

/// The boxes of a cube: those of its blocks, joined pair by pair, along x, z, y.
pub fn boxes(cells: &BTreeSet<VoxelPos>, cube: Region) -> Vec<Region> {
    let mut boxes: Vec<Region> =
        cube.blocks::<3>().flat_map(|block| block_boxes(cells, block.region())).collect();
    for axis in [0, 2, 1] {
        let pair = |boxes: &[Region]| {
            let all = (0..boxes.len()).flat_map(|a| (0..boxes.len()).map(move |b| (a, b)));
            all.filter_map(|(a, b)| Some((a, b, joined(boxes[a], boxes[b], axis)?))).next()
        };
        while let Some((a, b, one)) = pair(&boxes) {
            boxes[a] = one;
            boxes.swap_remove(b);
        }
    }
    boxes
}
