//! Debug lines of the blocks that are built, and of their trees.

use super::block::QuadBvh;
use super::block_cache::built_block;
use super::world::CollisionWorld;
use crate::math::{Aabb, DebugLines};

const SOLID_BLOCK: [u8; 3] = [255, 170, 40];
const LIQUID_BLOCK: [u8; 3] = [60, 170, 255];
/// Colours of tree nodes, by depth; the last for all deeper ones.
const DEPTHS: [[u8; 3]; 4] = [[250, 90, 90], [240, 200, 60], [110, 220, 110], [150, 150, 255]];

/// Adds the cubes of all built blocks that meet `within`.
pub(super) fn built_lines(world: &CollisionWorld, within: &Aabb, lines: &mut DebugLines) {
    each_built(world, within, |cube, _, liquid| {
        lines.aabb(cube, if liquid { LIQUID_BLOCK } else { SOLID_BLOCK });
    });
}

/// Adds the boxes of the trees of all built blocks that meet `within`.
pub(super) fn tree_lines(world: &CollisionWorld, within: &Aabb, lines: &mut DebugLines) {
    each_built(world, within, |cube, tree, _| {
        tree.boxes(|depth, low, high| {
            let world = |v: [f32; 3]| [0, 1, 2].map(|i| cube.min[i] + f64::from(v[i]));
            let colour = DEPTHS[usize::min(depth, DEPTHS.len() - 1)];
            lines.aabb(Aabb::new(world(low), world(high)), colour);
        });
    });
}

/// Calls `visit` for each surface of every built block that meets `within`: with the block's
/// cube, the surface, and whether it is a liquid's.
fn each_built(world: &CollisionWorld, within: &Aabb, mut visit: impl FnMut(Aabb, &QuadBvh, bool)) {
    for block in world.cache.built_blocks(&world.broadphase) {
        let cube = Aabb::of_region(block.region());
        let built = built_block(&world.broadphase, block).filter(|_| cube.meets(*within));
        let Some(built) = built else { continue };
        let liquid = built.built_liquid().and_then(Option::as_ref);
        for (tree, liquid) in [(built.solid.as_ref(), false), (liquid, true)] {
            if let Some(tree) = tree {
                visit(cube, tree, liquid);
            }
        }
    }
}
