//! Our indexes.

use std::cell::RefCell;

use terravox::collide::{KdBuilder, KdTree, PositionGrid};

use super::super::blocks::Block;
use super::{Index, Triangle, between};

thread_local! {
    static BUILDER: RefCell<KdBuilder> = RefCell::new(KdBuilder::new());
}

/// The loose kD tree.
pub struct Kd(pub KdTree);

impl Index for Kd {
    const NAME: &'static str = "kD tree";

    fn build(block: &Block) -> Kd {
        let surface = &block.surface;
        let (positions, indices) = (&surface.positions, &surface.indices);
        let tree = BUILDER.with_borrow_mut(|builder| {
            builder.quads(PositionGrid::BLOCK, positions, indices, &block.payloads)
        });
        Kd(tree.expect("the mesher's output is fine"))
    }

    fn bytes(&self) -> usize {
        self.0.bytes()
    }

    fn closest(&self, from: [f32; 3], to: [f32; 3]) -> Option<f32> {
        self.0.closest(from, between(from, to), 1.0).map(|hit| hit.t)
    }

    fn boxed(&self, min: [f32; 3], max: [f32; 3], out: &mut Vec<Triangle>) {
        self.0.triangles_in(min, max, |triangle| out.push(triangle.corners));
    }
}
