//! The slow twin: makes masks cell by cell, and tests a box against every cell of them.

use crate::bits::{BlockMask, CollisionBlock};
use crate::collide::{REACH, Surfaces};
use crate::math::Aabb;
use crate::mesh::{Shores, carried_slowly};
use crate::voxel::{Kind, Region, Snapshot, VoxelPos};

use super::BlockOverlap;

/// What is known of a block, from either implementation.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct NaiveBlock {
    pub solid: Option<BlockMask>,
    pub wet: Option<BlockMask>,
    pub all_solid: bool,
    pub all_liquid: bool,
    pub shows_liquid: bool,
    pub unknown: bool,
}

/// Returns the kind of a cell, and whether it is liquid or holds water. Unknown cells are air.
fn cell(snapshot: &Snapshot, at: VoxelPos) -> (Kind, bool) {
    let Ok(cell) = snapshot.cell(at) else { return (Kind::Air, false) };
    let kind = snapshot.materials().kind(cell.material);
    let held = matches!(snapshot.water(at), Ok(Some(_)));
    (kind, kind == Kind::Liquid || held)
}

fn neighbours(at: VoxelPos) -> impl Iterator<Item = VoxelPos> {
    let steps = [[1, 0, 0], [0, 1, 0], [0, 0, 1]].map(VoxelPos::from);
    steps.into_iter().flat_map(move |step| [at + step, at - step])
}

/// Masks of a block, by visiting its cells.
pub(super) fn block(snapshot: &Snapshot, block: CollisionBlock) -> NaiveBlock {
    let mut out = NaiveBlock::default();
    if snapshot.chunk(block.min_voxel().chunk()).is_err() {
        return NaiveBlock { unknown: true, ..out };
    }
    let (mut solids, mut liquids) = (0, 0);
    let (mut solid, mut wet) = ([0; 8], [0; 8]);
    let carried = carried_slowly(snapshot, 0, block.region());
    for at in block.region().voxels() {
        let (kind, holds) = cell(snapshot, at);
        let is_wet = holds || carried.iter().any(|&(carrying, _)| carrying == at);
        let local = at - block.min_voxel();
        let bit = 1u64 << (local.x + 8 * local.z);
        let around = |other: Kind| neighbours(at).any(|at| cell(snapshot, at).0 == other);
        solids += usize::from(kind == Kind::Solid);
        liquids += usize::from(kind == Kind::Liquid);
        if kind == Kind::Solid && (around(Kind::Air) || around(Kind::Liquid)) {
            solid[local.y as usize] |= bit;
        }
        if is_wet {
            wet[local.y as usize] |= bit;
            out.shows_liquid |= around(Kind::Air);
        }
    }
    (out.all_solid, out.all_liquid) = (solids == 512, liquids == 512);
    out.solid = (solid != [0; 8]).then_some(solid);
    out.wet = (wet != [0; 8] && !out.all_liquid).then_some(wet);
    out
}

/// Panics unless the fast mask has all wet cells and, near water, no others but solid cells with air
/// above.
pub(super) fn assert_wet(
    snapshot: &Snapshot,
    block: CollisionBlock,
    fast: &NaiveBlock,
    slow: &NaiveBlock,
) {
    let (marked, wet) = (fast.wet.unwrap_or_default(), slow.wet.unwrap_or_default());
    let mut shows = slow.shows_liquid;
    for at in block.region().voxels() {
        let local = at - block.min_voxel();
        let has = |mask: &BlockMask| mask[local.y as usize] >> (local.x + 8 * local.z) & 1 == 1;
        assert!(has(&marked) || !has(&wet), "{at} is wet");
        if has(&marked) && !has(&wet) {
            let above = cell(snapshot, at + VoxelPos::new(0, 1, 0)).0;
            assert_eq!((cell(snapshot, at).0, above), (Kind::Solid, Kind::Air), "{at}");
            shows = true;
        }
    }
    if marked != wet {
        let reach = Shores::depends_on(block.min_voxel().chunk().region(), 0).grow(8);
        assert!(reach.voxels().any(|at| cell(snapshot, at).1), "no water is near {block}");
    }
    assert_eq!(fast.shows_liquid, shows, "block {block}");
}

/// What of a block a box may touch, by comparing it with every cell of the masks.
pub(super) fn touch(
    of: &NaiveBlock,
    block: CollisionBlock,
    aabb: &Aabb,
    surfaces: Surfaces,
) -> BlockOverlap {
    if !aabb.is_valid() {
        return BlockOverlap::default();
    }
    let meets = |mask: &BlockMask| {
        block.region().voxels().any(|at| {
            let local = at - block.min_voxel();
            let set = mask[local.y as usize] >> (local.x + 8 * local.z) & 1 == 1;
            set && Aabb::of_region(Region::one(at)).grow(f64::from(REACH)).meets(*aabb)
        })
    };
    let wet = if of.all_liquid { Some([u64::MAX; 8]) } else { of.wet };
    BlockOverlap {
        solid: surfaces.solid() && of.solid.is_some_and(|mask| meets(&mask)),
        liquid: surfaces.liquid() && wet.is_some_and(|mask| meets(&mask)),
    }
}
