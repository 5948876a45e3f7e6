//! Joins adjacent octrees below a new root, so that a contour is seamless across them, whatever
//! node sizes are shown. The nodes are copied; the parts stay unchanged.

use crate::voxel::VoxelPos;

use super::links::Links;
use super::node::{NEVER, OctreeNode};
use super::tree::{MixedCorners, Octree};

impl Octree {
    /// The most cells that joined octrees may span along an axis, 2¹⁷: contours have f32 positions
    /// from one corner, which place a vertex to 1/128 of a cell up to there.
    pub const MAX_JOINED_CELLS: i32 = 1 << 17;

    /// Returns one octree over `parts`, in any order. They have the same edge, do not overlap and
    /// lie a whole number of edges apart; empty ones can be omitted. Nodes above them cannot be
    /// shown. Parts that touch need one octree to be meshed without gaps; others are better meshed
    /// on their own.
    ///
    /// # Panics
    /// If the parts differ in edge or kind (cells or densities), overlap, are misaligned, or span
    /// more than [`Octree::MAX_JOINED_CELLS`] along an axis.
    pub fn joined(parts: &[&Octree]) -> Octree {
        let parts: Vec<_> = parts.iter().filter(|part| !part.is_empty()).collect();
        let Some(first) = parts.first() else { return Octree::default() };
        let (levels, shift) = (first.levels, first.shift);
        let same = parts.iter().all(|part| part.levels == levels && part.shift == shift);
        assert!(same, "joined octrees differ in edge or kind");
        let min = parts.iter().fold(first.min, |min, part| min.min(part.min));
        check_span(min, parts.iter().fold(first.min, |max, part| max.max(part.min)), levels);
        let mut sorted: Vec<(u64, &Octree)> = Vec::with_capacity(parts.len());
        for part in &parts {
            let step = part.min - min;
            let whole = step.to_array().iter().all(|s| s & ((1 << levels) - 1) == 0);
            assert!(
                whole,
                "octrees at {} and {min} are not a whole number of edges apart",
                part.min
            );
            sorted.push((morton_of_part(step.coarser(levels.into())), part));
        }
        sorted.sort_by_key(|part| part.0);
        assert!(sorted.windows(2).all(|two| two[0].0 < two[1].0), "two octrees overlap");
        let mut joined = JoinedDraft::default();
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

/// Arrays of the joined octree.
#[derive(Default)]
struct JoinedDraft {
    starts: Vec<u32>,
    nodes: Vec<OctreeNode>,
    octants: Vec<u8>,
    errors: Vec<u16>,
    mixed: Vec<MixedCorners>,
}

impl JoinedDraft {
    /// Appends the nodes of one level of all parts.
    fn copy_level(&mut self, parts: &[(u64, &Octree)], level: usize) {
        self.starts.push(self.nodes.len() as u32);
        for (_, part) in parts {
            let [start, end] = [part.starts[level], part.starts[level + 1]];
            let range = start as usize..end as usize;
            let moved = self.nodes.len() as u32;
            let mixed = part.mixed.iter().filter(|mixed| range.contains(&(mixed.node as usize)));
            self.mixed.extend(
                mixed.map(|mixed| MixedCorners { node: mixed.node - start + moved, ..*mixed }),
            );
            self.nodes.extend_from_slice(&part.nodes[range.clone()]);
            if level > 0 {
                let [first, end] = [start, end].map(|node| node - part.starts[1]);
                self.octants.extend((first..end).map(|node| part.links.octants(node)));
                self.errors.extend_from_slice(&part.errors[first as usize..end as usize]);
            }
        }
    }

    /// Makes the parents of the last level, given its codes. Returns their codes.
    fn parents(&mut self, keys: &[u64]) -> Vec<u64> {
        self.starts.push(self.nodes.len() as u32);
        let mut parents = Vec::new();
        for children in keys.chunk_by(|a, b| a >> 3 == b >> 3) {
            let octants = children.iter().map(|key| 1u8 << (key & 7)).sum();
            self.octants.push(octants);
            self.errors.push(NEVER);
            self.nodes.push(OctreeNode::default());
            parents.push(children[0] >> 3);
        }
        parents
    }
}

/// Panics if parts whose min corners lie between two corners span too many cells.
fn check_span(min: VoxelPos, max: VoxelPos, levels: u8) {
    for (low, high) in min.to_array().into_iter().zip(max.to_array()) {
        let cells = i64::from(high) - i64::from(low) + (1 << levels);
        assert!(
            cells <= Octree::MAX_JOINED_CELLS.into(),
            "joined octrees span {cells} cells along an axis; they may span 2^17 (131072), so \
             join those that touch and mesh the others on their own"
        );
    }
}

/// Returns the Morton code of the position of a part, in parts: at most 17 bits per axis.
fn morton_of_part(at: VoxelPos) -> u64 {
    let spread = |x: i32| (0..17).map(|bit| (x as u64 >> bit & 1) << (3 * bit)).sum::<u64>();
    spread(at.x) | spread(at.z) << 1 | spread(at.y) << 2
}
