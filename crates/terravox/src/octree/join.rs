//! Octrees side by side as one: another octree above their roots.
//!
//! What is shown of one is then sewn to what is shown of the next, whatever their sizes. The
//! nodes are copied: the parts stay as they are.

use crate::voxel::VoxelPos;

use super::Octree;
use super::links::Links;
use super::node::{NEVER, Node};

impl Octree {
    /// One octree over many of the same edge that do not overlap and lie whole edges apart, in
    /// any order; empty ones may be left out. Their nodes can be shown, those above cannot.
    ///
    /// # Panics
    /// If their edges, or what they are made of, differ, or two are at one place.
    pub fn joined(parts: &[&Octree]) -> Octree {
        let parts: Vec<_> = parts.iter().filter(|part| !part.is_empty()).collect();
        let Some(first) = parts.first() else { return Octree::default() };
        let (levels, shift) = (first.levels, first.shift);
        let same = parts.iter().all(|part| part.levels == levels && part.shift == shift);
        assert!(same, "octrees that differ are joined");
        let min = parts.iter().fold(first.min, |min, part| min.min(part.min));
        let mut sorted: Vec<(u64, &Octree)> = Vec::with_capacity(parts.len());
        for part in &parts {
            let step = part.min - min;
            let whole = step.to_array().iter().all(|s| s & ((1 << levels) - 1) == 0);
            assert!(whole, "octrees at {} and {min} are no whole edges apart", part.min);
            sorted.push((wide_morton(step.coarser(levels.into())), part));
        }
        sorted.sort_by_key(|part| part.0);
        assert!(sorted.windows(2).all(|two| two[0].0 < two[1].0), "two octrees at one place");
        let mut joined = Joined::default();
        for level in 0..=levels {
            joined.copy_level(&sorted, usize::from(level));
        }
        let mut keys: Vec<u64> = sorted.iter().map(|part| part.0).collect();
        let mut above = 0;
        while keys.len() > 1 {
            keys = joined.parents(&keys);
            above += 1;
        }
        joined.starts.push(joined.nodes.len() as u32);
        Octree {
            min,
            shift,
            levels: levels + above,
            shown: levels,
            starts: joined.starts.into(),
            nodes: joined.nodes.into(),
            links: Links::new(&joined.octants),
            errors: joined.errors.into(),
            mixed: joined.mixed.into(),
        }
    }
}

/// Levels of an octree that is put together.
#[derive(Default)]
struct Joined {
    starts: Vec<u32>,
    nodes: Vec<Node>,
    octants: Vec<u8>,
    errors: Vec<u16>,
    mixed: Vec<super::Mixed>,
}

impl Joined {
    /// Appends the nodes of one level of all parts.
    fn copy_level(&mut self, parts: &[(u64, &Octree)], level: usize) {
        self.starts.push(self.nodes.len() as u32);
        for (_, part) in parts {
            let [start, end] = [part.starts[level], part.starts[level + 1]];
            let range = start as usize..end as usize;
            let moved = self.nodes.len() as u32;
            let mixed = part.mixed.iter().filter(|mixed| range.contains(&(mixed.node as usize)));
            self.mixed.extend(
                mixed.map(|mixed| super::Mixed { node: mixed.node - start + moved, ..*mixed }),
            );
            self.nodes.extend_from_slice(&part.nodes[range.clone()]);
            if level > 0 {
                let [first, end] = [start, end].map(|node| node - part.starts[1]);
                self.octants.extend((first..end).map(|node| part.links.octants(node)));
                self.errors.extend_from_slice(&part.errors[first as usize..end as usize]);
            }
        }
    }

    /// Makes the parents of the last level, whose codes are given; returns theirs.
    fn parents(&mut self, keys: &[u64]) -> Vec<u64> {
        self.starts.push(self.nodes.len() as u32);
        let mut parents = Vec::new();
        for children in keys.chunk_by(|a, b| a >> 3 == b >> 3) {
            let octants = children.iter().map(|key| 1u8 << (key & 7)).sum();
            self.octants.push(octants);
            self.errors.push(NEVER);
            self.nodes.push(Node::default());
            parents.push(children[0] >> 3);
        }
        parents
    }
}

/// Morton code of a place of up to 21 bits an axis.
fn wide_morton(at: VoxelPos) -> u64 {
    let spread = |x: i32| (0..21).map(|bit| (x as u64 >> bit & 1) << (3 * bit)).sum::<u64>();
    spread(at.x) | spread(at.z) << 1 | spread(at.y) << 2
}
