//! Bottom-up construction: parents from leaves, level by level, without pointers or hashing.
//!
//! The leaves are sorted by Morton code, so siblings are adjacent, and the code of a parent is
//! theirs without the last octant. One pass over a level makes the next: QEFs are summed, corners
//! are taken from the children. LargerLeaf leaves are merged in at their level. Source: bottom-up
//! construction from active voxels, as published for dual-contoured chunks (2015), where parents
//! are found by hashing.
//!
//! Whether a node can replace its children is the topology test of "Dual Contouring of Hermite
//! Data" (Ju et al. 2002).

use std::ops::Range;

use crate::mesh::CORNERS;

use super::links::Links;
use super::node::{NEVER, OctreeNode, material_of, usual_materials};
use super::qef::Qef;
use super::tree::{Leaf, MixedCorners, Octree};

/// All levels during construction: one entry per node in each array, except that the finest level
/// has none in `octants` and `errors`.
#[derive(Debug, Default)]
pub(super) struct OctreeDraft {
    /// Morton codes in nodes of their level.
    pub keys: Vec<u32>,
    pub nodes: Vec<OctreeNode>,
    /// Materials of the corners.
    pub materials: Vec<[u8; 8]>,
    /// Planes, relative to the parent's centre.
    pub qefs: Vec<Qef>,
    /// By node: the octants that have a child, as bits; 0 for leaves.
    octants: Vec<u8>,
    errors: Vec<u16>,
    /// First node of each level.
    starts: Vec<u32>,
}

/// Slots for the finest leaves.
pub(super) struct LeafSlots<'a> {
    keys: &'a [u32],
    nodes: &'a mut [OctreeNode],
    materials: &'a mut [[u8; 8]],
    qefs: &'a mut [Qef],
}

impl LeafSlots<'_> {
    /// Sets a leaf. Its planes are relative to its own centre.
    #[inline]
    pub fn set(&mut self, place: usize, node: OctreeNode, materials: [u8; 8], qef: &Qef) {
        self.nodes[place] = node;
        self.materials[place] = materials;
        self.qefs[place] = qef.seen_from(from_parent(self.keys[place], 0));
    }
}

/// A leaf above the finest level.
pub(super) struct LargerLeaf {
    pub level: u8,
    /// Its Morton code, in nodes of its level.
    pub key: u32,
    pub leaf: Leaf,
}

impl OctreeDraft {
    /// Removes all nodes but keeps the memory.
    pub fn clear(&mut self) {
        self.keys.clear();
        self.nodes.clear();
        self.materials.clear();
        self.qefs.clear();
        self.octants.clear();
        self.errors.clear();
        self.starts.clear();
    }

    /// Removes all nodes and makes room for finest leaves with these codes, in the same order.
    pub fn leaves(&mut self, keys: impl Iterator<Item = u32>) -> LeafSlots<'_> {
        self.clear();
        self.keys.extend(keys);
        let count = self.keys.len();
        self.nodes.resize(count, OctreeNode::default());
        self.materials.resize(count, [0; 8]);
        self.qefs.resize(count, Qef::default());
        LeafSlots {
            keys: &self.keys,
            nodes: &mut self.nodes,
            materials: &mut self.materials,
            qefs: &mut self.qefs,
        }
    }

    /// Appends a finest leaf, in the order of codes. Its planes are relative to its parent's
    /// centre.
    #[inline]
    pub fn push(&mut self, key: u32, node: OctreeNode, materials: [u8; 8], qef: Qef) {
        self.keys.push(key);
        self.nodes.push(node);
        self.materials.push(materials);
        self.qefs.push(qef);
    }

    /// Builds all levels up to a root of `1 << levels` cells over the finest leaves, merging in
    /// `larger` leaves, which must be sorted.
    ///
    /// # Panics
    /// If leaves overlap.
    pub fn build(&mut self, levels: u8, mut larger: &[LargerLeaf]) {
        self.starts.clear();
        self.octants.clear();
        self.errors.clear();
        self.starts.push(0);
        for level in 1..=levels {
            let count = larger.iter().take_while(|leaf| leaf.level == level).count();
            let (here, rest) = larger.split_at(count);
            larger = rest;
            self.parents(level, here);
        }
        self.starts.push(self.nodes.len() as u32);
    }

    /// Removes all but the finest leaves.
    pub fn keep_leaves(&mut self) {
        let count = self.starts.get(1).map_or(0, |&count| count as usize);
        self.keys.truncate(count);
        self.nodes.truncate(count);
        self.materials.truncate(count);
        self.qefs.truncate(count);
    }

    /// Makes the nodes of a level from those below.
    fn parents(&mut self, level: u8, mut leaves: &[LargerLeaf]) {
        let first = self.starts[usize::from(level) - 1] as usize;
        let end = self.nodes.len();
        self.starts.push(end as u32);
        let mut at = first;
        while at < end {
            let key = self.keys[at] >> 3;
            let mut next = at + 1;
            while next < end && self.keys[next] >> 3 == key {
                next += 1;
            }
            while let [leaf, rest @ ..] = leaves
                && leaf.key < key
            {
                self.push_larger(leaf);
                leaves = rest;
            }
            assert!(leaves.first().is_none_or(|leaf| leaf.key != key), "two leaves overlap");
            self.parent(level, key, at..next);
            at = next;
        }
        leaves.iter().for_each(|leaf| self.push_larger(leaf));
    }

    fn push_larger(&mut self, LargerLeaf { level, key, leaf }: &LargerLeaf) {
        let error = if CORNERS[usize::from(leaf.inside)].is_special() { NEVER } else { 0 };
        self.octants.push(0);
        self.errors.push(error);
        let qef = leaf.qef.seen_from(from_parent(*key, *level));
        self.push(*key, leaf.node(*level), leaf.materials, qef);
    }

    /// Makes a node from its children.
    #[inline]
    fn parent(&mut self, level: u8, key: u32, range: Range<usize>) {
        let edge = (1u32 << level) as f32;
        // An octant without a child is on one side only, that of the middle, which every child has
        // as its innermost corner.
        let inmost = 7 ^ (self.keys[range.start] & 7) as usize;
        let middle = self.nodes[range.start].inside >> inmost & 1 == 1;
        let mut materials = [self.materials[range.start][inmost]; 8];
        let mut points = if middle { ALL_POINTS } else { 0 };
        let (mut inside, mut children, mut worst) = (if middle { 255 } else { 0 }, 0u8, 0);
        let mut qef = Qef::default();
        for child in range.clone() {
            let octant = (self.keys[child] & 7) as u8;
            let node = self.nodes[child];
            let bit = 1 << octant;
            children |= bit;
            inside = inside & !bit | node.inside & bit;
            materials[usize::from(octant)] = self.materials[child][usize::from(octant)];
            let place = PLACES[usize::from(octant)];
            points = points & !(SPREAD[255] << place) | SPREAD[usize::from(node.inside)] << place;
            qef.add(&self.qefs[child]);
            worst = worst.max(match level {
                1 if CORNERS[usize::from(node.inside)].is_special() => NEVER,
                1 => 0,
                _ => self.errors[child - self.starts[1] as usize],
            });
        }
        let offset = qef.least(0.5 * edge);
        let special = CORNERS[usize::from(inside)].is_special();
        let error = match special || changes_topology(points) {
            true => NEVER,
            false => worst.max(error_units(qef.error(offset))),
        };
        let other = self.nodes[range.start].material;
        let material = material_of(inside, materials).unwrap_or(other);
        let node = OctreeNode::new(offset, edge, qef.normal(), inside, material);
        self.octants.push(children);
        self.errors.push(error);
        self.push(key, node, materials, qef.seen_from(from_parent(key, level)));
    }

    /// Returns the finished octree, without the QEFs.
    pub fn finish(&self, levels: u8) -> Octree {
        let mixed = |(at, (node, materials)): (usize, (&OctreeNode, &[u8; 8]))| {
            (usual_materials(node.inside, node.material) != *materials)
                .then_some(MixedCorners { node: at as u32, materials: *materials })
        };
        let mixed = self.nodes.iter().zip(&self.materials).enumerate().filter_map(mixed);
        Octree {
            levels,
            starts: self.starts.as_slice().into(),
            nodes: self.nodes.as_slice().into(),
            links: Links::new(&self.octants),
            errors: self.errors.as_slice().into(),
            mixed: mixed.collect(),
            ..Octree::default()
        }
    }
}

impl Leaf {
    /// Returns the node of a leaf at a level.
    pub(super) fn node(&self, level: u8) -> OctreeNode {
        let edge = (1u32 << level) as f32;
        let material = material_of(self.inside, self.materials).unwrap_or(self.materials[0]);
        let offset = self.position.map(|p| p.clamp(-edge, edge));
        OctreeNode::new(offset, edge, self.normal, self.inside, material)
    }
}

/// Returns an error in 1/256 cells, rounded up.
#[inline]
fn error_units(error: f32) -> u16 {
    let units = error * 256.0;
    let whole = units as u16;
    whole.saturating_add(u16::from(f32::from(whole) < units))
}

/// Returns the offset from the parent's centre to a node's, in cells.
#[inline]
pub(super) fn from_parent(key: u32, level: u8) -> [f32; 3] {
    let half = 0.5 * (1u32 << level) as f32;
    CENTRES[(key & 7) as usize].map(|step| step * half)
}

/// Offsets from a parent's centre to those of its octants, in halves of the octants' edge.
const CENTRES: [[f32; 3]; 8] = {
    let mut centres = [[0.0; 3]; 8];
    let mut octant = 0;
    while octant < 8 {
        centres[octant] = [
            if octant & 1 == 0 { -1.0 } else { 1.0 },
            if octant & 4 == 0 { -1.0 } else { 1.0 },
            if octant & 2 == 0 { -1.0 } else { 1.0 },
        ];
        octant += 1;
    }
    centres
};

/// All points of a 3³ lattice: bit x + 3 z + 9 y.
const ALL_POINTS: u32 = (1 << 27) - 1;

/// Lattice point of each octant's first corner.
const PLACES: [u32; 8] = {
    let mut places = [0; 8];
    let mut octant = 0;
    while octant < 8 {
        places[octant] = place(octant as u32);
        octant += 1;
    }
    places
};

/// By set of corners: the same corners of the first octant as lattice points.
static SPREAD: [u32; 256] = {
    let mut spread = [0; 256];
    let mut corners = 0;
    while corners < 256 {
        let mut corner = 0;
        while corner < 8 {
            if corners >> corner & 1 == 1 {
                spread[corners] |= 1 << place(corner);
            }
            corner += 1;
        }
        corners += 1;
    }
    spread
};

const fn place(corner: u32) -> u32 {
    (corner & 1) + 3 * (corner >> 1 & 1) + 9 * (corner >> 2 & 1)
}

/// The first lattice points of an edge, a face or the cube, and the steps to its middle and
/// corners.
struct LatticeSpan {
    starts: u32,
    middle: u32,
    corners: &'static [u32],
}

const fn points(list: &[u32]) -> u32 {
    let mut bits = 0;
    let mut at = 0;
    while at < list.len() {
        bits |= 1 << list[at];
        at += 1;
    }
    bits
}

/// Edges along x, z, y; faces perpendicular to y, z, x; the cube.
const LATTICE_SPANS: [LatticeSpan; 7] = [
    LatticeSpan { starts: points(&[0, 6, 18, 24]), middle: 1, corners: &[0, 2] },
    LatticeSpan { starts: points(&[0, 2, 18, 20]), middle: 3, corners: &[0, 6] },
    LatticeSpan { starts: points(&[0, 2, 6, 8]), middle: 9, corners: &[0, 18] },
    LatticeSpan { starts: points(&[0, 18]), middle: 4, corners: &[0, 2, 6, 8] },
    LatticeSpan { starts: points(&[0, 6]), middle: 10, corners: &[0, 2, 18, 20] },
    LatticeSpan { starts: points(&[0, 2]), middle: 12, corners: &[0, 6, 18, 24] },
    LatticeSpan { starts: points(&[0]), middle: 13, corners: &[0, 2, 6, 8, 18, 20, 24, 26] },
];

/// Whether the middle of an edge, a face or the cube is on another side than all of its corners:
/// then dropping the children would change the topology.
#[inline]
fn changes_topology(points: u32) -> bool {
    if points == 0 || points == ALL_POINTS {
        return false;
    }
    let mut wrong = 0;
    for LatticeSpan { starts, middle, corners } in &LATTICE_SPANS {
        let mut differs = *starts;
        for corner in *corners {
            differs &= (points >> middle) ^ (points >> corner);
        }
        wrong |= differs;
    }
    wrong != 0
}

/// Returns a Morton code with bits ordered x, z, y.
#[inline]
pub(super) fn morton(at: [u32; 3]) -> u32 {
    spread_bits(at[0]) | spread_bits(at[2]) << 1 | spread_bits(at[1]) << 2
}

/// Spreads ten bits, two zeros between each.
#[inline]
fn spread_bits(x: u32) -> u32 {
    let x = (x | x << 16) & 0x0300_00ff;
    let x = (x | x << 8) & 0x0300_f00f;
    let x = (x | x << 4) & 0x030c_30c3;
    (x | x << 2) & 0x0924_9249
}

/// Radix-sorts numbers whose high half is a Morton code of `3 * levels` bits, stably.
pub(super) fn sort_by_code(list: &mut Vec<u64>, spare: &mut Vec<u64>, levels: u8) {
    const DIGIT: u32 = 9;
    spare.clear();
    spare.resize(list.len(), 0);
    for pass in 0..(3 * u32::from(levels)).div_ceil(DIGIT) {
        let digit = |entry: u64| (entry >> (32 + DIGIT * pass)) as usize & ((1 << DIGIT) - 1);
        let mut ends = [0u32; 1 << DIGIT];
        list.iter().for_each(|&entry| ends[digit(entry)] += 1);
        let mut sum = 0;
        for end in &mut ends {
            (*end, sum) = (sum, sum + *end);
        }
        for &entry in list.iter() {
            let place = &mut ends[digit(entry)];
            spare[*place as usize] = entry;
            *place += 1;
        }
        std::mem::swap(list, spare);
    }
}

#[cfg(test)]
mod tests {
    use super::super::node::side;
    use super::*;

    /// Decodes a Morton code.
    fn place_of(key: u32) -> [u32; 3] {
        let mut at = [0; 3];
        for level in 0..10 {
            let octant = (key >> (3 * level) & 7) as u8;
            for axis in 0..3 {
                at[axis] |= (side(octant, axis) as u32) << level;
            }
        }
        at
    }

    #[test]
    fn codes_count_x_then_z_then_y() {
        assert_eq!([[1, 0, 0], [0, 0, 1], [0, 1, 0]].map(morton), [1, 2, 4]);
        for at in [[0, 0, 0], [63, 1, 62], [1023, 512, 7], [5, 1000, 333]] {
            assert_eq!(place_of(morton(at)), at);
        }
    }

    #[test]
    fn sorting_by_code_is_sorting() {
        let mut list: Vec<u64> =
            (0..5000u64).map(|i| (i * 7919 % 262_144) << 32 | (i ^ 77)).collect();
        let mut sorted = list.clone();
        sorted.sort_by_key(|entry| entry >> 32);
        sort_by_code(&mut list, &mut Vec::new(), 6);
        assert_eq!(list, sorted);
    }

    #[test]
    fn a_middle_unlike_its_corners_changes_the_topology() {
        assert!(!changes_topology(0) && !changes_topology(ALL_POINTS));
        // The lower half, without and with a pillar to the top at the middle of an edge.
        let low = ALL_POINTS >> 9;
        assert!(!changes_topology(low & 0x1ff));
        assert!(changes_topology(low & 0x1ff | 1 << 19));
        // A single point: the centre, of a face, of edges, and a corner.
        for (point, wrong) in [(13, true), (4, true), (1, true), (9, true), (26, false)] {
            assert_eq!(changes_topology(1 << point), wrong, "{point}");
            assert_eq!(changes_topology(ALL_POINTS & !(1 << point)), wrong, "{point}");
        }
    }
}
