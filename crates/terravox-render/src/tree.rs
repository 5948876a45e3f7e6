//! A tree of boxes: finds what a ray may meet, nearest first.
//!
//! Source: Kay and Kajiya, "Ray Tracing Complex Scenes" (1986); halved along the longest
//! axis of the boxes' middles.

use crate::camera::Ray;
use glam::{DVec3, Vec3};

/// Most boxes in a leaf.
const LEAF: usize = 4;

/// Lowest and highest corner.
pub(crate) type Box3 = [Vec3; 2];

/// Boxes by number.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tree {
    /// The first is the root; a parent comes right before its first child.
    nodes: Vec<Node>,
    /// Numbers of the boxes, in the order of the leaves.
    order: Vec<u32>,
}

#[derive(Clone, Debug)]
struct Node {
    bounds: Box3,
    /// Where a leaf starts in `order`; in a parent the second child.
    at: u32,
    /// Boxes of a leaf; 0 in a parent.
    count: u32,
}

/// Something that waits to be looked at, and from which distance on.
type Waiting = (f64, u32);

impl Tree {
    /// A tree of some boxes.
    ///
    /// # Panics
    /// If there are more than 2³² of them.
    pub fn new(boxes: &[Box3]) -> Tree {
        assert!(u32::try_from(boxes.len()).is_ok(), "boxes have numbers of 32 bits");
        let mut order: Vec<u32> = (0..boxes.len() as u32).collect();
        let mut nodes = Vec::with_capacity(boxes.len() / 2 + 1);
        if !boxes.is_empty() {
            build(boxes, &mut order, 0, &mut nodes);
        }
        Tree { nodes, order }
    }

    /// The bounds of all boxes; `None` if there are none.
    pub fn bounds(&self) -> Option<Box3> {
        self.nodes.first().map(|root| root.bounds)
    }

    /// Calls `visit` with the number of every box that a ray meets within `reach`, nearly
    /// nearest first; `visit` may shorten the reach, and ends it all by returning true.
    /// Returns whether it did.
    pub fn walk(
        &self,
        ray: &Ray,
        reach: &mut f64,
        mut visit: impl FnMut(u32, &mut f64) -> bool,
    ) -> bool {
        let inverse = ray.direction.recip();
        let enter = |number: u32, reach: f64| -> Option<Waiting> {
            let [low, high] = self.nodes[number as usize].bounds.map(|v| v.as_dvec3());
            entered(ray.origin, inverse, [low, high], reach).map(|at| (at, number))
        };
        // Halving lets no tree in memory grow deeper than this.
        let mut waiting = [(0.0, 0); 40];
        let mut count = 0;
        let mut next = self.nodes.first().and_then(|_| enter(0, *reach));
        while let Some((at, number)) = next {
            let node = &self.nodes[number as usize];
            let mut down = None;
            if at > *reach {
            } else if node.count > 0 {
                let leaf = node.at as usize..(node.at + node.count) as usize;
                for &item in &self.order[leaf] {
                    if visit(item, reach) {
                        return true;
                    }
                }
            } else {
                let both = [number + 1, node.at].map(|child| enter(child, *reach));
                down = match both {
                    [Some(a), Some(b)] => {
                        let [near, far] = if a.0 <= b.0 { [a, b] } else { [b, a] };
                        waiting[count] = far;
                        count += 1;
                        Some(near)
                    }
                    [one, other] => one.or(other),
                };
            }
            next = down.or_else(|| {
                count = count.checked_sub(1)?;
                Some(waiting[count])
            });
        }
        false
    }
}

/// Makes the node of some boxes, whose numbers start at `first`, and all below it.
fn build(boxes: &[Box3], order: &mut [u32], first: u32, nodes: &mut Vec<Node>) {
    let start = [Vec3::INFINITY, Vec3::NEG_INFINITY];
    let union = |all: Box3, one: Box3| [all[0].min(one[0]), all[1].max(one[1])];
    let middle = |number: u32| {
        let [low, high] = boxes[number as usize];
        low + high
    };
    let bounds = order.iter().fold(start, |all, &number| union(all, boxes[number as usize]));
    let number = nodes.len();
    nodes.push(Node { bounds, at: first, count: order.len() as u32 });
    if order.len() > LEAF {
        let middles = order.iter().fold(start, |all, &one| union(all, [middle(one); 2]));
        let axis = (middles[1] - middles[0]).max_position();
        let half = order.len() / 2;
        order.select_nth_unstable_by(half, |&a, &b| {
            middle(a)[axis].total_cmp(&middle(b)[axis]).then(a.cmp(&b))
        });
        let (left, right) = order.split_at_mut(half);
        build(boxes, left, first, nodes);
        nodes[number] = Node { bounds, at: nodes.len() as u32, count: 0 };
        build(boxes, right, first + half as u32, nodes);
    }
}

/// Where a ray enters a box, if it does within `reach`; 0 if it starts inside.
fn entered(origin: DVec3, inverse: DVec3, [low, high]: [DVec3; 2], reach: f64) -> Option<f64> {
    let (mut enter, mut leave) = (0.0_f64, reach);
    for axis in 0..3 {
        let [a, b] = [low[axis], high[axis]].map(|side| (side - origin[axis]) * inverse[axis]);
        // A ray within a side gives 0 × ∞, which f64's min and max pass over.
        enter = enter.max(a.min(b));
        leave = leave.min(a.max(b));
    }
    // Flat boxes are entered and left at once: rounding must not part the two.
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

    fn boxes() -> impl Strategy<Value = Vec<Box3>> {
        let one = (vector(9.0), vector(3.0)).prop_map(|(low, size)| [low, low + size.abs()]);
        // Whole numbers: flat boxes, and sides that rays run along.
        let round = (vector(4.0), vector(2.0))
            .prop_map(|(low, size)| [low.round(), low.round() + size.abs().round()]);
        prop::collection::vec(prop_oneof![one, round], 0..60)
    }

    proptest! {
        #[test]
        fn a_walk_visits_what_asking_all_boxes_finds(
            boxes in boxes(),
            origin in vector(12.0),
            way in prop_oneof![vector(1.0), Just(Vec3::X), Just(Vec3::NEG_Y)],
            reach in 0.0..30.0,
        ) {
            let Some(direction) = way.as_dvec3().try_normalize() else { return Ok(()) };
            let ray = Ray { origin: origin.as_dvec3(), direction };
            let tree = Tree::new(&boxes);
            let mut found = BTreeSet::new();
            let mut within = reach;
            tree.walk(&ray, &mut within, |item, _| {
                assert!(found.insert(item), "box {item} came twice");
                false
            });
            let inverse = direction.recip();
            for (number, bounds) in boxes.iter().enumerate() {
                let bounds = bounds.map(|v| v.as_dvec3());
                let met = entered(ray.origin, inverse, bounds, reach).is_some();
                prop_assert!(!met || found.contains(&(number as u32)), "box {number}");
            }
        }
    }

    #[test]
    fn a_walk_ends_when_told_and_leaves_out_what_lies_beyond_a_shortened_reach() {
        let at = |x: f32| [Vec3::new(x, -1.0, -1.0), Vec3::new(x + 0.5, 1.0, 1.0)];
        let boxes: Vec<Box3> = (0..100).map(|i| at(i as f32)).collect();
        let ray = Ray { origin: DVec3::NEG_X, direction: DVec3::X };
        let tree = Tree::new(&boxes);
        let (mut reach, mut seen) = (1e9, 0);
        let stopped = tree.walk(&ray, &mut reach, |item, reach| {
            *reach = reach.min(f64::from(item) + 1.0);
            seen += 1;
            false
        });
        assert!(!stopped && seen <= LEAF, "{seen}");
        assert!(tree.walk(&ray, &mut 1e9, |_, _| true));
        assert!(!Tree::new(&[]).walk(&ray, &mut 1e9, |_, _| true));
        assert_eq!(Tree::new(&[]).bounds(), None);
    }
}
