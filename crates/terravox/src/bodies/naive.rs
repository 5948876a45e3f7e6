//! The slow twin: floods the whole grid cell by cell.

use super::Anchors;
use crate::voxel::{ChunkState, Kind, Region, Snapshot, VoxelPos};
use std::collections::{BTreeSet, HashMap};

/// Whether a cell is solid; `None` if it is not held.
fn solid(grid: &Snapshot, at: VoxelPos) -> Option<bool> {
    let kind = |cell: crate::voxel::Cell| grid.materials().kind(cell.material);
    grid.cell(at).ok().map(|cell| kind(cell) == Kind::Solid)
}

/// Returns all pieces without an anchor that have a cell in one of the regions, each as a set of
/// cells; sorted.
pub fn loose_pieces(
    grid: &Snapshot,
    anchors: &Anchors,
    touched: &[Region],
) -> Vec<BTreeSet<[i32; 3]>> {
    let mut seen: HashMap<[i32; 3], ()> = HashMap::new();
    let mut pieces = Vec::new();
    let held = grid.chunks().into_iter().filter(|&chunk| grid.held(chunk) == ChunkState::Mip(0));
    for start in held.flat_map(|chunk| chunk.region().voxels()) {
        if solid(grid, start) != Some(true) || seen.contains_key(&start.to_array()) {
            continue;
        }
        let (mut piece, mut queue, mut anchored) = (BTreeSet::new(), vec![start], false);
        seen.insert(start.to_array(), ());
        while let Some(at) = queue.pop() {
            piece.insert(at.to_array());
            anchored |= anchors.holds(at);
            for axis in 0..3 {
                for step in [-1, 1] {
                    let mut next = at.to_array();
                    next[axis] += step;
                    match solid(grid, next.into()) {
                        None => anchored = true,
                        Some(false) => {}
                        Some(true) => {
                            if seen.insert(next, ()).is_none() {
                                queue.push(next.into());
                            }
                        }
                    }
                }
            }
        }
        let is_touched = |at: &[i32; 3]| touched.iter().any(|r| r.contains((*at).into()));
        if !anchored && piece.iter().any(is_touched) {
            pieces.push(piece);
        }
    }
    pieces.sort();
    pieces
}
