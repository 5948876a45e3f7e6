//! Our indexes.

use std::cell::RefCell;

use terravox::collide::{BuildScratch, LocalRay, QuadBvh};
use terravox::geometry::{KdBuilder, KdTree, PositionGrid};

use super::super::blocks::SurfaceBlock;
use super::{Index, Triangle, between};

thread_local! {
    static BUILDER: RefCell<KdBuilder> = RefCell::new(KdBuilder::new());
    static SCRATCH: RefCell<BuildScratch> = RefCell::new(BuildScratch::default());
}

/// The loose k-d tree.
pub struct Kd(pub KdTree);

impl Index for Kd {
    const NAME: &'static str = "k-d tree";
    const BUILD_INTERVAL_ROUNDS: usize = 1;

    fn build(block: &SurfaceBlock) -> Kd {
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

    fn in_box(&self, min: [f32; 3], max: [f32; 3], out: &mut Vec<Triangle>) {
        self.0.triangles_in(min, max, |triangle| out.push(triangle.corners));
    }
}

/// The default index: four boxes of bytes a node.
pub struct Quads(pub QuadBvh);

impl Index for Quads {
    const NAME: &'static str = "quad BVH";
    const BUILD_INTERVAL_ROUNDS: usize = 1;

    fn build(block: &SurfaceBlock) -> Quads {
        let SurfaceBlock { surface, faces, angles, .. } = block;
        let tree = SCRATCH.with_borrow_mut(|s| QuadBvh::build(surface, faces, angles, s));
        Quads(tree.expect("the block has a surface"))
    }

    fn bytes(&self) -> usize {
        self.0.bytes()
    }

    fn closest(&self, from: [f32; 3], to: [f32; 3]) -> Option<f32> {
        let ray = LocalRay::new(from, between(from, to));
        self.0.first_hit(&ray, 0.0, 1.0).map(|hit| hit.t)
    }

    fn in_box(&self, min: [f32; 3], max: [f32; 3], out: &mut Vec<Triangle>) {
        self.0.triangles_in(min, max, |triangle| out.push(triangle.corners));
    }
}
