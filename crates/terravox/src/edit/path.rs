//! The nearest segment of a path, by a tree of boxes over its segments.

use crate::math::{dot, sub};
use std::ops::Range;

/// Pieces in a leaf, at most.
const LEAF: usize = 4;

/// Pieces that a segment of average length is cut into: a long one along no axis would have a box
/// that is much larger than it is.
const PIECES: f32 = 8.0;

/// A path of segments as a brush of round cross-section evaluates it.
pub(super) struct PathTree {
    /// The segment of each piece, in the order of the leaves.
    segments: Vec<[[f32; 3]; 2]>,
    /// The root first; a node's lower half follows it.
    nodes: Vec<PathNode>,
}

/// A part of a segment.
#[derive(Clone, Copy)]
struct PathPiece {
    ends: [[f32; 3]; 2],
    segment: [[f32; 3]; 2],
}

/// A box about some of the pieces.
struct PathNode {
    min: [f32; 3],
    max: [f32; 3],
    pieces: PathNodeKind,
}

enum PathNodeKind {
    /// A range of `segments`.
    Leaf(u32, u32),
    /// The node of the upper half.
    Halves(u32),
}

impl PathTree {
    /// The tree of a path of one point or more.
    pub fn new(points: &[[f32; 3]]) -> PathTree {
        let length = |ends: &[[f32; 3]; 2]| {
            let along = sub(ends[1], ends[0]);
            dot(along, along).sqrt()
        };
        let segments = points.windows(2).map(|ends| [ends[0], ends[1]]);
        let average = segments.clone().map(|ends| length(&ends)).sum::<f32>() / points.len() as f32;
        // The first point on its own, for a path without segments.
        let first = [points[0]; 2];
        let mut pieces = vec![PathPiece { ends: first, segment: first }];
        // A pen that rests gives the same point many times.
        for segment in segments.filter(|ends| ends[0] != ends[1]) {
            let count =
                (PIECES * length(&segment) / average.max(f32::MIN_POSITIVE)).ceil().max(1.0);
            let along = sub(segment[1], segment[0]);
            let end = |i: f32| [0, 1, 2].map(|axis| segment[0][axis] + along[axis] * (i / count));
            pieces.extend((0..count as u32).map(|i| {
                let (from, to) = (end(i as f32), end((i + 1) as f32));
                PathPiece { ends: [from, to], segment }
            }));
        }
        let far = points.iter().flatten().fold(0.0f32, |far, v| far.max(v.abs()));
        let mut tree = PathTree { segments: Vec::new(), nodes: Vec::new() };
        // Distances are rounded by less, so no node is passed over wrongly.
        tree.build(&mut pieces, 8.0 * f32::EPSILON * (far + 1.0));
        tree
    }

    fn build(&mut self, pieces: &mut [PathPiece], margin: f32) {
        let fold = |axis: usize, f: fn(f32, f32) -> f32| {
            let ends = pieces.iter().flat_map(|piece| piece.ends);
            ends.map(|end| end[axis]).reduce(f).unwrap_or_default()
        };
        let min = [0, 1, 2].map(|axis| fold(axis, f32::min) - margin);
        let max = [0, 1, 2].map(|axis| fold(axis, f32::max) + margin);
        let first = self.segments.len() as u32;
        let node = self.nodes.len();
        let leaf = PathNodeKind::Leaf(first, first + pieces.len() as u32);
        self.nodes.push(PathNode { min, max, pieces: leaf });
        if pieces.len() <= LEAF {
            self.segments.extend(pieces.iter().map(|piece| piece.segment));
            return;
        }
        let edges = sub(max, min);
        let longest = |axis: usize| edges.iter().all(|&edge| edge <= edges[axis]);
        let axis = (0..3).find(|&axis| longest(axis)).unwrap_or_default();
        let middle = |piece: &PathPiece| piece.ends[0][axis] + piece.ends[1][axis];
        let half = pieces.len() / 2;
        pieces.select_nth_unstable_by(half, |a, b| middle(a).total_cmp(&middle(b)));
        let (low, high) = pieces.split_at_mut(half);
        self.build(low, margin);
        self.nodes[node].pieces = PathNodeKind::Halves(self.nodes.len() as u32);
        self.build(high, margin);
    }

    /// Returns the distance from the nearest segment, or the end of `range` if that is less, or
    /// from any segment that is nearer than its start.
    pub fn distance(&self, p: [f32; 3], range: Range<f32>) -> f32 {
        self.distance_visiting(p, range, |_| {})
    }

    /// Returns the exact distance from the nearest segment, and how many nodes and segments that
    /// looks at. Few for a path that leads somewhere; all, if all its points lie in one place.
    pub fn distance_and_visits(&self, p: [f32; 3]) -> (f32, u32) {
        let mut visits = 0;
        let distance = self.distance_visiting(p, 0.0..f32::MAX.sqrt(), |more| visits += more);
        (distance, visits)
    }

    /// [`PathTree::distance`]; `visit` is told of the nodes and segments that are looked at.
    #[inline(always)]
    fn distance_visiting(&self, p: [f32; 3], range: Range<f32>, mut visit: impl FnMut(u32)) -> f32 {
        let mut nearest = range.end * range.end;
        let enough = if range.start > 0.0 { range.start * range.start } else { 0.0 };
        // The tree is balanced: one of 2^31 pieces would be 30 deep.
        let mut waiting = [(0u32, 0.0f32); 32];
        let mut count = 1;
        waiting[0] = (0, self.nodes[0].distance_squared(p));
        while count > 0 && nearest >= enough {
            count -= 1;
            let (node, squared) = waiting[count];
            if squared > nearest {
                continue;
            }
            match self.nodes[node as usize].pieces {
                PathNodeKind::Leaf(first, end) => {
                    visit(end - first);
                    for segment in &self.segments[first as usize..end as usize] {
                        let squared = segment_distance_squared(p, segment);
                        nearest = if squared < nearest { squared } else { nearest };
                    }
                }
                PathNodeKind::Halves(upper) => {
                    visit(2);
                    let halves = [node + 1, upper]
                        .map(|half| (half, self.nodes[half as usize].distance_squared(p)));
                    let [near, far] = match halves[0].1 <= halves[1].1 {
                        true => halves,
                        false => [halves[1], halves[0]],
                    };
                    waiting[count] = far;
                    waiting[count + 1] = near;
                    count += 2;
                }
            }
        }
        nearest.sqrt()
    }
}

impl PathNode {
    #[inline(always)]
    fn distance_squared(&self, p: [f32; 3]) -> f32 {
        let off = [0, 1, 2].map(|i| (self.min[i] - p[i]).max(p[i] - self.max[i]).max(0.0));
        dot(off, off)
    }
}

#[inline(always)]
fn segment_distance_squared(p: [f32; 3], ends: &[[f32; 3]; 2]) -> f32 {
    let (along, from) = (sub(ends[1], ends[0]), sub(p, ends[0]));
    let length = dot(along, along);
    let t = if length > 0.0 { (dot(along, from) / length).clamp(0.0, 1.0) } else { 0.0 };
    let off = [0, 1, 2].map(|i| from[i] - along[i] * t);
    dot(off, off)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_tree_finds_the_distance_that_all_segments_give(
            cluster in -30_000..30_000i32,
            scale in prop::sample::select(vec![0.0f32, 0.01, 1.0, 60.0, 3000.0]),
            points in prop::collection::vec([-1.0..1.0f32, -1.0..1.0f32, -1.0..1.0f32], 1..200),
            from in prop::collection::vec([-2.0..2.0f32, -2.0..2.0f32, -2.0..2.0f32], 20),
            limit in prop::sample::select(vec![0.5f32, 5.0, 1e9]),
        ) {
            let place = |p: &[f32; 3]| p.map(|v| v * scale + cluster as f32);
            let points: Vec<_> = points.iter().map(place).collect();
            let tree = PathTree::new(&points);
            for p in from.iter().map(place) {
                let start = segment_distance_squared(p, &[points[0]; 2]);
                let all = points.windows(2).map(|s| segment_distance_squared(p, &[s[0], s[1]]));
                let slow = all.fold(start, f32::min).min(limit * limit).sqrt();
                prop_assert_eq!(tree.distance(p, 0.0..limit).to_bits(), slow.to_bits());
                let enough = 0.5 * limit;
                let any = tree.distance(p, enough..limit);
                prop_assert!(any.to_bits() == slow.to_bits() || slow <= any && any < enough);
            }
        }
    }
}
