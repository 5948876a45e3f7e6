//! A ray's way through the scene: block after block, over whatever is empty at a stride.
//!
//! Source: Amanatides and Woo, "A Fast Voxel Traversal Algorithm for Ray Tracing"
//! (1987), with steps of the largest empty cube around the ray.

use super::block::{BLOCK_LOG2, Block, BlockSurface};
use super::camera::Ray;
use super::scene::{Node, Scene, Scratch};
use super::triangles::{LocalRay, Patch, PatchHit};
use glam::{DVec3, IVec3};

/// Distances along the ray are compared with this slack, cells.
const SLACK: f32 = 1e-3;

/// Which surfaces a ray sees.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sees {
    /// The ground only.
    Solid,
    /// The ground, and liquid from above or below.
    Both,
}

/// Where a ray meets a surface.
#[derive(Clone, Copy, Debug)]
pub struct Hit<'a> {
    /// Cells along the ray.
    pub t: f64,
    /// Whether the surface is a liquid's.
    pub liquid: bool,
    /// Lowest corner of the block that the patch belongs to, cells.
    pub block_min: DVec3,
    /// The triangles of the block.
    pub patch: &'a Patch,
    /// Which of them, and where on it.
    pub on: PatchHit,
}

/// A stretch of a ray inside one block.
struct Stretch<'a> {
    surface: &'a BlockSurface,
    block_min: DVec3,
    enter: f64,
    leave: f64,
}

impl Stretch<'_> {
    /// The ray from where it enters, and the distances in which the block answers.
    fn local(&self, ray: &Ray) -> (LocalRay, f32, f32) {
        // Behind the start of the ray there is nothing to see.
        let t_min = if self.enter > 0.0 { -SLACK } else { 0.0 };
        let t_max = (self.leave - self.enter) as f32 + SLACK;
        (LocalRay::new(ray, self.enter, self.block_min), t_min, t_max)
    }
}

impl Scene {
    /// The first surface within `reach` cells.
    pub fn closest(
        &self,
        ray: &Ray,
        reach: f64,
        sees: Sees,
        scratch: &mut Scratch,
    ) -> Option<Hit<'_>> {
        let mut found = None;
        self.walk(ray, reach, scratch, |at| {
            let (local, t_min, t_max) = at.local(ray);
            let solid = at.surface.solid.nearest(&local, t_min, t_max);
            let limit = solid.map_or(t_max, |hit| hit.t);
            let liquid = match sees {
                Sees::Both => at.surface.liquid.nearest(&local, t_min, limit),
                Sees::Solid => None,
            };
            let hit = |on: PatchHit, patch, liquid| Hit {
                t: at.enter + f64::from(on.t),
                liquid,
                block_min: at.block_min,
                patch,
                on,
            };
            found = match (liquid, solid) {
                (Some(on), _) => Some(hit(on, &at.surface.liquid, true)),
                (None, Some(on)) => Some(hit(on, &at.surface.solid, false)),
                (None, None) => None,
            };
            found.is_some()
        });
        found
    }

    /// Whether ground lies within `reach` cells along the ray.
    pub fn blocked(&self, ray: &Ray, reach: f64, scratch: &mut Scratch) -> bool {
        let mut blocked = false;
        self.walk(ray, reach, scratch, |at| {
            let (local, t_min, t_max) = at.local(ray);
            blocked = at.surface.solid.any(&local, t_min, t_max);
            blocked
        });
        blocked
    }

    /// Calls `visit` for every block with a surface along the ray, near to far, until it
    /// answers that it has seen enough.
    fn walk<'a>(
        &'a self,
        ray: &Ray,
        reach: f64,
        scratch: &mut Scratch,
        mut visit: impl FnMut(Stretch<'a>) -> bool,
    ) {
        let corner = |p: terravox::voxel::VoxelPos| IVec3::from(p.to_array());
        let bounds = [corner(self.bounds().min), corner(self.bounds().max)];
        let Some((mut t, end)) = clip(ray, reach, bounds) else { return };
        let lowest = bounds[0] >> BLOCK_LOG2;
        let highest = (bounds[1] >> BLOCK_LOG2) - 1;
        let mut block = block_at(ray.at(t)).clamp(lowest, highest);
        let inverse = ray.direction.recip();
        let mut last = None;
        loop {
            let node = self.node(Block::new(block.x, block.y, block.z), &mut last, scratch);
            let log2 = if let Node::Empty(log2) = node { log2 } else { BLOCK_LOG2 };
            let low = ((block << BLOCK_LOG2) >> log2) << log2;
            let (axis, leave) = exit(ray, inverse, low, log2);
            let leave = leave.max(t);
            if let Node::Surface(surface) = node {
                let block_min = low.as_dvec3();
                if visit(Stretch { surface, block_min, enter: t, leave: leave.min(end) }) {
                    return;
                }
            }
            if leave >= end {
                return;
            }
            // The axis of exit steps exactly; the others stay within the cube that is left.
            let first = low >> BLOCK_LOG2;
            let last = first + (1 << (log2 - BLOCK_LOG2)) - 1;
            let mut next = block_at(ray.at(leave)).clamp(first, last);
            next[axis] = if ray.direction[axis] > 0.0 { last[axis] + 1 } else { first[axis] - 1 };
            if next.cmplt(lowest).any() || next.cmpgt(highest).any() {
                return;
            }
            block = next;
            t = leave;
        }
    }
}

/// The stretch of a ray from its start to `reach` that lies in a box, cells.
fn clip(ray: &Ray, reach: f64, [low, high]: [IVec3; 2]) -> Option<(f64, f64)> {
    let (mut enter, mut leave) = (0.0_f64, reach);
    for axis in 0..3 {
        let [origin, direction] = [ray.origin[axis], ray.direction[axis]];
        let [low, high] = [f64::from(low[axis]), f64::from(high[axis])];
        if direction == 0.0 {
            if !(low..high).contains(&origin) {
                return None;
            }
            continue;
        }
        let [a, b] = [(low - origin) / direction, (high - origin) / direction];
        enter = enter.max(a.min(b));
        leave = leave.min(a.max(b));
    }
    // Written so that a NaN in the ray finds nothing.
    if enter < leave { Some((enter, leave)) } else { None }
}

/// Each axis rounded down. A conversion and a compare: without SSE 4.1 `f64::floor` is a
/// call.
pub(super) fn floor(point: DVec3) -> IVec3 {
    let near = point.as_ivec3();
    near - IVec3::select(point.cmplt(near.as_dvec3()), IVec3::ONE, IVec3::ZERO)
}

/// The block that holds a point.
fn block_at(point: DVec3) -> IVec3 {
    floor(point / f64::from(1 << BLOCK_LOG2))
}

/// The axis on which a ray leaves the cube of `1 << log2` cells at `low`, and where;
/// `inverse` is one over its direction.
fn exit(ray: &Ray, inverse: DVec3, low: IVec3, log2: u32) -> (usize, f64) {
    let mut first = (0, f64::INFINITY);
    for axis in 0..3 {
        let direction = ray.direction[axis];
        if direction != 0.0 {
            let side = i64::from(low[axis]) + if direction > 0.0 { 1 << log2 } else { 0 };
            let t = (side as f64 - ray.origin[axis]) * inverse[axis];
            if t < first.1 {
                first = (axis, t);
            }
        }
    }
    first
}
