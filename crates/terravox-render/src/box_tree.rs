//! A bounding volume hierarchy over boxes, traversed by rays nearest first.
//!
//! Source: Kay and Kajiya, "Ray Tracing Complex Scenes" (1986); split in halves along the
//! longest axis of the boxes' centres.

use crate::ray::SceneRay;
use glam::{DVec3, Vec3};

/// Limit of the boxes in a leaf.
const LEAF_SIZE: usize = 4;

/// Min and max corner.
pub(crate) type Corners = [Vec3; 2];

/// Boxes, found by rays.
#[derive(Clone, Debug, Default)]
pub(crate) struct BoxTree {
    /// The first is the root; a parent directly precedes its first child.
    nodes: Vec<BoxTreeNode>,
    /// Indices of the boxes, in the order of the leaves.
    order: Vec<u32>,
}

#[derive(Clone, Debug)]
struct BoxTreeNode {
    bounds: Corners,
    /// Leaf: its start in `order`. Parent: its second child.
    link: u32,
    /// Boxes of a leaf; 0 in a parent.
    count: u32,
}

/// A node still to be visited.
#[derive(Clone, Copy, Default)]
struct PendingNode {
    /// At which the ray enters it.
    distance: f64,
    index: u32,
}

impl BoxTree {
    /// Builds a tree.
    ///
    /// # Panics
    /// Panics if there are more than 2³² boxes.
    pub fn new(boxes: &[Corners]) -> BoxTree {
        assert!(u32::try_from(boxes.len()).is_ok(), "box indices have 32 bits");
        let mut order: Vec<u32> = (0..boxes.len() as u32).collect();
        let mut nodes = Vec::with_capacity(boxes.len() / 2 + 1);
        if !boxes.is_empty() {
            build(boxes, &mut order, 0, &mut nodes);
        }
        BoxTree { nodes, order }
    }

    /// Returns the bounds of all boxes; `None` without boxes.
    pub fn bounds(&self) -> Option<Corners> {
        self.nodes.first().map(|root| root.bounds)
    }

    /// Calls `visit` with the index of every box that a ray enters within `reach`, roughly
    /// nearest first. `visit` may shorten the reach; returning true ends the walk. Returns
    /// whether `visit` ended it.
    pub fn walk(
        &self,
        ray: &SceneRay,
        reach: &mut f64,
        mut visit: impl FnMut(u32, &mut f64) -> bool,
    ) -> bool {
        let inverse = ray.direction.recip();
        let enter = |index: u32, reach: f64| -> Option<PendingNode> {
            let bounds = &self.nodes[index as usize].bounds;
            let distance = entry_distance(ray.origin, inverse, bounds, reach)?;
            Some(PendingNode { distance, index })
        };
        // No tree of 2³² boxes that is split in halves is deeper.
        let mut pending = [PendingNode::default(); 40];
        let mut count = 0;
        let mut next = self.nodes.first().and_then(|_| enter(0, *reach));
        while let Some(PendingNode { distance, index }) = next {
            let node = &self.nodes[index as usize];
            let mut down = None;
            if distance > *reach {
            } else if node.count > 0 {
                let leaf = node.link as usize..(node.link + node.count) as usize;
                for &item in &self.order[leaf] {
                    if visit(item, reach) {
                        return true;
                    }
                }
            } else {
                down = match (enter(index + 1, *reach), enter(node.link, *reach)) {
                    (Some(a), Some(b)) => {
                        let [near, far] = if a.distance <= b.distance { [a, b] } else { [b, a] };
                        pending[count] = far;
                        count += 1;
                        Some(near)
                    }
                    (one, other) => one.or(other),
                };
            }
            next = down.or_else(|| {
                count = count.checked_sub(1)?;
                Some(pending[count])
            });
        }
        false
    }
}

/// Builds the node of the boxes in `order`, which starts at `first` in the tree's order, and
/// its subtree.
fn build(boxes: &[Corners], order: &mut [u32], first: u32, nodes: &mut Vec<BoxTreeNode>) {
    let start = [Vec3::INFINITY, Vec3::NEG_INFINITY];
    let union = |all: Corners, one: Corners| [all[0].min(one[0]), all[1].max(one[1])];
    let middle = |number: u32| {
        let [low, high] = boxes[number as usize];
        low + high
    };
    let bounds = order.iter().fold(start, |all, &number| union(all, boxes[number as usize]));
    let number = nodes.len();
    nodes.push(BoxTreeNode { bounds, link: first, count: order.len() as u32 });
    if order.len() > LEAF_SIZE {
        let middles = order.iter().fold(start, |all, &one| union(all, [middle(one); 2]));
        let axis = (middles[1] - middles[0]).max_position();
        let half = order.len() / 2;
        order.select_nth_unstable_by(half, |&a, &b| {
            middle(a)[axis].total_cmp(&middle(b)[axis]).then(a.cmp(&b))
        });
        let (left, right) = order.split_at_mut(half);
        build(boxes, left, first, nodes);
        nodes[number] = BoxTreeNode { bounds, link: nodes.len() as u32, count: 0 };
        build(boxes, right, first + half as u32, nodes);
    }
}

/// Returns the distance at which a ray enters a box within `reach`; 0 if it starts inside.
#[inline]
fn entry_distance(origin: DVec3, inverse: DVec3, [low, high]: &Corners, reach: f64) -> Option<f64> {
    let (mut enter, mut leave) = (0.0_f64, reach);
    for axis in 0..3 {
        // Not by `map` over both sides: that is a call for each box, a tenth of a picture's time.
        let a = (f64::from(low[axis]) - origin[axis]) * inverse[axis];
        let b = (f64::from(high[axis]) - origin[axis]) * inverse[axis];
        // A ray within a face gives 0 × ∞ = NaN, which f64's min and max ignore.
        enter = enter.max(a.min(b));
        leave = leave.min(a.max(b));
    }
    // A flat box is entered and left at one distance, up to rounding.
    (enter <= leave * (1.0 + 1e-12)).then_some(enter)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    fn vector(reach: f32) -> impl Strategy<Value = Vec3> {
        prop::array::uniform3(-reach..reach).prop_map(Vec3::from)
    }

    fn boxes() -> impl Strategy<Value = Vec<Corners>> {
        let one = (vector(9.0), vector(3.0)).prop_map(|(low, size)| [low, low + size.abs()]);
        // Integers: flat boxes, and faces that rays run along.
        let round = (vector(4.0), vector(2.0))
            .prop_map(|(low, size)| [low.round(), low.round() + size.abs().round()]);
        prop::collection::vec(prop_oneof![one, round], 0..60)
    }

    proptest! {
        #[test]
        fn a_walk_visits_all_boxes_on_the_ray(
            boxes in boxes(),
            origin in vector(12.0),
            way in prop_oneof![vector(1.0), Just(Vec3::X), Just(Vec3::NEG_Y)],
            reach in 0.0..30.0,
        ) {
            let Some(direction) = way.as_dvec3().try_normalize() else { return Ok(()) };
            let ray = SceneRay { origin: origin.as_dvec3(), direction };
            let tree = BoxTree::new(&boxes);
            let mut found = BTreeSet::new();
            let mut within = reach;
            tree.walk(&ray, &mut within, |item, _| {
                assert!(found.insert(item), "box {item} visited twice");
                false
            });
            let inverse = direction.recip();
            for (number, bounds) in boxes.iter().enumerate() {
                let is_hit = entry_distance(ray.origin, inverse, bounds, reach).is_some();
                prop_assert!(!is_hit || found.contains(&(number as u32)), "box {number}");
            }
        }
    }

    #[test]
    fn a_walk_ends_on_request_and_skips_boxes_beyond_a_shortened_reach() {
        let at = |x: f32| [Vec3::new(x, -1.0, -1.0), Vec3::new(x + 0.5, 1.0, 1.0)];
        let boxes: Vec<Corners> = (0..100).map(|i| at(i as f32)).collect();
        let ray = SceneRay { origin: DVec3::NEG_X, direction: DVec3::X };
        let tree = BoxTree::new(&boxes);
        let (mut reach, mut seen) = (1e9, 0);
        let stopped = tree.walk(&ray, &mut reach, |item, reach| {
            *reach = reach.min(f64::from(item) + 1.0);
            seen += 1;
            false
        });
        assert!(!stopped && seen <= LEAF_SIZE, "{seen}");
        assert!(tree.walk(&ray, &mut 1e9, |_, _| true));
        assert!(!BoxTree::new(&[]).walk(&ray, &mut 1e9, |_, _| true));
        assert_eq!(BoxTree::new(&[]).bounds(), None);
    }
}
