//! What a collider holds, as lines.

use super::block::QuadTree;
use super::collider::Collider;
use crate::math::{Aabb, DebugLines};

const SOLID_BLOCK: [u8; 3] = [255, 170, 40];
const LIQUID_BLOCK: [u8; 3] = [60, 170, 255];
/// Colours of tree nodes, by depth; the last for all deeper ones.
const DEPTHS: [[u8; 3]; 4] = [[250, 90, 90], [240, 200, 60], [110, 220, 110], [150, 150, 255]];

impl Collider {
    /// Adds the cubes of all built blocks whose cubes meet `within`.
    pub fn built_lines(&self, within: &Aabb, lines: &mut DebugLines) {
        self.each_built(within, |cube, _, liquid| {
            lines.aabb(cube, if liquid { LIQUID_BLOCK } else { SOLID_BLOCK });
        });
    }

    /// Adds the boxes of the trees of all built blocks whose cubes meet `within`.
    pub fn tree_lines(&self, within: &Aabb, lines: &mut DebugLines) {
        self.each_built(within, |cube, tree, _| {
            tree.boxes(|depth, low, high| {
                let world = |v: [f32; 3]| [0, 1, 2].map(|i| cube.min[i] + f64::from(v[i]));
                let colour = DEPTHS[usize::min(depth, DEPTHS.len() - 1)];
                lines.aabb(Aabb::new(world(low), world(high)), colour);
            });
        });
    }

    /// Calls `visit` with the cube of every built block that meets `within` and each of its
    /// surfaces, and whether it is a liquid's.
    fn each_built(&self, within: &Aabb, mut visit: impl FnMut(Aabb, &QuadTree, bool)) {
        for block in self.built_blocks() {
            let cube = Aabb::of_region(block.region());
            let Some(shape) = self.built_shape(block).filter(|_| cube.meets(*within)) else {
                continue;
            };
            let liquid = shape.built_liquid().and_then(Option::as_ref);
            for (tree, liquid) in [(shape.solid.as_ref(), false), (liquid, true)] {
                if let Some(tree) = tree {
                    visit(cube, tree, liquid);
                }
            }
        }
    }
}
