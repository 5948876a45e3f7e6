//! A tree and a compact mesh from what the mesher wrote.
//!
//! Split as the published terrain tree is ("Voxel Terrain: Physics", Roblox, 2017): the
//! longest axis, at the mean of the middles, and in halves by selection where that would
//! leave less than a quarter on a side. Two such splits, or three, make the children of
//! a node. The sides are rounded to whole leaves, so that all leaves but the last are
//! full, and a node's last places go to what would else be a node with few children.

use super::mesh::{ANGLES, DIRECTION, FLAT, LEAF, Leaf, Leaves, Mesh, NO_QUAD};
use super::node::{Child, Node, WIDTH};
use super::walk::HALVED_FROM;
use super::{QuadTree, machine};
use crate::mesh::Surface;

/// Most quads of a tree: numbers of leaves and nodes have 15 bits.
const MOST_QUADS: usize = 1 << 15;

/// A product of edges this large is not 0, whatever its roundings: 2³² is the largest.
pub(super) const SURELY_AREA: f32 = 1024.0;

/// Bits of triangles that may have no area.
const MAYBE_FLAT: u32 = NO_QUAD;

/// Quads of a node whose children are leaves.
const LOWEST: usize = LEAF * WIDTH;

/// Memory of [`QuadTree::build`]. Keep one per thread and reuse it.
#[derive(Debug, Default)]
pub struct BuildScratch {
    corners: Vec<Corner>,
    items: Vec<Item>,
    /// By quad of the mesher.
    words: Vec<u32>,
    nodes: Vec<Node>,
}

/// A vertex in the forms that quads need.
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(C, align(16))]
pub(super) struct Corner {
    /// As [`Item`], 0 for the number.
    pub bounds: [i16; 8],
    /// The position, steps; x, y, z.
    pub steps: [f32; 4],
    /// The normal; z, x, y, as the vectors' cross products come out.
    pub normal: [f32; 4],
}

/// The box of a quad: its lowest corner, the quad's number in lane 3, and the lowest
/// corner of its mirror image in lanes 4 to 6. So the box of several is their least.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(16))]
pub(super) struct Item(pub [i16; 8]);

/// Items `start..start + count` and what is known of them together.
#[derive(Clone, Copy, Debug)]
struct Group {
    start: usize,
    count: usize,
    /// As [`Item`].
    bounds: [i16; 8],
    /// Of low and high sides, that is twice the middles, by axis.
    sums: [i32; 4],
}

impl Item {
    /// Twice the middle along an axis.
    #[inline(always)]
    pub fn middle(&self, axis: usize) -> i32 {
        i32::from(self.0[axis]) - i32::from(self.0[axis + 4])
    }
}

impl QuadTree {
    /// Builds the tree of one surface of an 8³ block.
    ///
    /// `faces` has one entry a quad: the cell that owns it, x, y, z from the block's lowest
    /// corner, and the direction of its face. `angles` has one entry a quad, four bits a
    /// side, or is empty: all 0. None if no quad has any area.
    ///
    /// # Panics
    /// If `faces`, or `angles` that are not empty, do not have one entry a quad, or there
    /// are more than 32,768 quads or 65,535 vertices, which no 8³ block has.
    pub fn build(
        surface: &Surface,
        faces: &[[u8; 4]],
        angles: &[u16],
        scratch: &mut BuildScratch,
    ) -> Option<QuadTree> {
        let count = surface.quad_count();
        assert!(faces.len() == count, "{} faces of {count} quads", faces.len());
        assert!(angles.is_empty() || angles.len() == count, "{} angles of {count}", angles.len());
        assert!(count <= MOST_QUADS, "{count} quads in a block");
        assert!(surface.normals.len() == surface.vertex_count(), "a normal a vertex");
        assert!(surface.indices.len() == 6 * count, "six indices a quad");
        assert!(surface.vertex_count() < usize::from(u16::MAX), "too many vertices in a block");
        scratch.take(surface, faces, angles);
        if scratch.items.is_empty() {
            return None;
        }
        scratch.nodes.clear();
        let whole = measure(&scratch.items, 0);
        scratch.node(whole, 0);
        Some(QuadTree { nodes: scratch.nodes.as_slice().into(), mesh: scratch.mesh(surface) })
    }
}

impl BuildScratch {
    /// Takes over the vertices, and the quads that have area.
    fn take(&mut self, surface: &Surface, faces: &[[u8; 4]], angles: &[u16]) {
        let BuildScratch { corners, items, words, .. } = self;
        corners.clear();
        let vertices = surface.positions.iter().zip(&surface.normals);
        corners.extend(vertices.map(|(position, normal)| machine::corner(*position, *normal)));
        items.clear();
        words.clear();
        words.reserve(faces.len());
        items.reserve(faces.len());
        for (quad, (vertices, face)) in surface.indices.chunks_exact(6).zip(faces).enumerate() {
            let [a, b, c, d] = corners_of(vertices).map(|v| &corners[usize::from(v)]);
            let (mut bounds, mut flags) = machine::quad(a, b, c, d);
            if flags & MAYBE_FLAT != 0 {
                flags = with_flats(flags, [a, b, c, d]);
            }
            let [x, y, z, direction] = face.map(u32::from);
            let angles = angles.get(quad).map_or(0, |&angles| u32::from(angles));
            let word = x | z << 3 | y << 6 | direction << DIRECTION | angles << ANGLES | flags;
            words.push(word);
            if flags & NO_QUAD != NO_QUAD {
                bounds[3] = quad as i16;
                items.push(Item(bounds));
            }
        }
    }

    /// Appends the node of `whole`, and those below it; returns its number.
    fn node(&mut self, whole: Group, depth: usize) -> usize {
        let number = self.nodes.len();
        self.nodes.push(Node::EMPTY);
        let mut groups = [whole; WIDTH];
        let count = self.open(&mut groups, depth >= HALVED_FROM);
        for (lane, group) in groups[..count].iter().enumerate() {
            let child = if group.count <= LEAF {
                Child::Leaf(group.start / LEAF)
            } else {
                Child::Node(self.node(*group, depth + 1))
            };
            let [x, y, z, _, mx, my, mz, _] = group.bounds;
            self.nodes[number].set(lane, [x, y, z], [mx, my, mz], child);
        }
        number
    }

    /// Splits the first of `groups` into up to four.
    fn open(&mut self, groups: &mut [Group; WIDTH], halved: bool) -> usize {
        let mut count = 1;
        if groups[0].count <= LEAF {
            return count;
        }
        while let Some(next) = to_split(&groups[..count]) {
            let [left, right] = self.split(groups[next], halved);
            groups[next] = left;
            groups[count] = right;
            count += 1;
        }
        count
    }

    /// Splits a group of more than a leaf in two; the first is a whole number of leaves.
    fn split(&mut self, group: Group, halved: bool) -> [Group; 2] {
        let Group { start, count, bounds, sums } = group;
        let extent = |axis: usize| -(i32::from(bounds[axis]) + i32::from(bounds[axis + 4]));
        let [x, y, z] = [0, 1, 2].map(extent);
        let axis = if x >= y && x >= z { 0 } else { if y >= z { 1 } else { 2 } };
        let items = &mut self.items[start..start + count];
        let mean = sums[axis].div_euclid(count as i32);
        let below = partition(items, axis, mean);
        let skewed = halved || 4 * below < count || 4 * below > 3 * count;
        let wanted = if skewed { count / 2 } else { below };
        let first = ((wanted + LEAF / 2) / LEAF * LEAF).clamp(LEAF, (count - 1) / LEAF * LEAF);
        if skewed {
            items.select_nth_unstable_by_key(first, |item| item.middle(axis));
        } else {
            shift(items, axis, below, first);
        }
        let (left, right) = items.split_at(first);
        [measure(left, start), measure(right, start + first)]
    }

    /// The compact mesh, its quads in the order of the items.
    fn mesh(&self, surface: &Surface) -> Mesh {
        let mut positions = Vec::with_capacity(self.corners.len() + 1);
        positions.extend(self.corners.iter().map(Corner::position));
        positions.push([0; 3]);
        let leaves = if self.corners.len() <= 256 {
            Leaves::Narrow(self.leaves(surface, |v| v as u8))
        } else {
            Leaves::Wide(self.leaves(surface, |v| v))
        };
        Mesh { positions: positions.into(), leaves, quads: self.items.len() as u16 }
    }

    #[inline]
    fn leaves<V: Copy + Default>(
        &self,
        surface: &Surface,
        number: impl Fn(u16) -> V,
    ) -> Box<[Leaf<V>]> {
        let leaf = |items: &[Item]| {
            let mut leaf = Leaf { corners: [[V::default(); LEAF]; 4], words: [NO_QUAD; LEAF] };
            for (lane, item) in items.iter().enumerate() {
                let quad = usize::from(item.0[3] as u16);
                leaf.words[lane] = self.words[quad];
                let corners = corners_of(&surface.indices[6 * quad..6 * quad + 6]);
                for k in 0..4 {
                    leaf.corners[k][lane] = number(corners[k]);
                }
            }
            leaf
        };
        self.items.chunks(LEAF).map(leaf).collect()
    }
}

impl Corner {
    #[inline(always)]
    fn position(&self) -> [i16; 3] {
        [self.bounds[0], self.bounds[1], self.bounds[2]]
    }
}

/// The corners of a quad that is given as two triangles, from an end of its diagonal.
#[inline(always)]
fn corners_of(triangles: &[u32]) -> [u16; 4] {
    [triangles[0], triangles[1], triangles[2], triangles[5]].map(|v| v as u16)
}

/// Puts the truth for the bits of [`MAYBE_FLAT`].
#[cold]
fn with_flats(flags: u32, [a, b, c, d]: [&Corner; 4]) -> u32 {
    let first = is_flat([a, b, c].map(Corner::position));
    let second = is_flat([a, c, d].map(Corner::position));
    flags & !MAYBE_FLAT | u32::from(first) << FLAT | u32::from(second) << (FLAT + 1)
}

/// Whether a triangle has no area, exactly.
fn is_flat(corners: [[i16; 3]; 3]) -> bool {
    let [a, b, c] = corners.map(|corner| corner.map(i64::from));
    let across =
        |u: usize, v: usize| (b[u] - a[u]) * (c[v] - a[v]) == (b[v] - a[v]) * (c[u] - a[u]);
    across(0, 1) && across(1, 2) && across(2, 0)
}

/// What is known of some items together.
fn measure(items: &[Item], start: usize) -> Group {
    let (bounds, sums) = machine::measure(items);
    Group { start, count: items.len(), bounds, sums }
}

/// Which of a node's groups is split next: the largest that is more than the lowest nodes
/// hold, else one that the places left suffice to turn into leaves.
fn to_split(groups: &[Group]) -> Option<usize> {
    let left = WIDTH - groups.len();
    let largest = (0..groups.len()).max_by_key(|&i| groups[i].count)?;
    if left > 0 && groups[largest].count > LOWEST {
        return Some(largest);
    }
    let fits = |&i: &usize| groups[i].count > LEAF && groups[i].count.div_ceil(LEAF) - 1 <= left;
    (0..groups.len()).filter(fits).min_by_key(|&i| groups[i].count)
}

/// Puts items whose doubled middle is at most `most` first; returns how many they are.
fn partition(items: &mut [Item], axis: usize, most: i32) -> usize {
    let mut below = 0;
    for i in 0..items.len() {
        // Asked before the swap, so that no load waits for a store.
        let is_below = items[i].middle(axis) <= most;
        items.swap(i, below);
        below += usize::from(is_below);
    }
    below
}

/// Moves the border between items that are partitioned along `axis` from `below` to
/// `first`: the items next to it change sides.
fn shift(items: &mut [Item], axis: usize, below: usize, first: usize) {
    for border in below..first {
        let least = (border..items.len()).map(|i| ranked(&items[i], axis, i)).min();
        items.swap(border, least.map_or(border, |ranked| ranked as u32 as usize));
    }
    for border in (first..below).rev() {
        let most = (0..=border).map(|i| ranked(&items[i], axis, i)).max();
        items.swap(border, most.map_or(border, |ranked| ranked as u32 as usize));
    }
}

/// A number that orders items by their middles, and says where they are.
#[inline(always)]
fn ranked(item: &Item, axis: usize, at: usize) -> u64 {
    ((item.middle(axis) + (1 << 17)) as u64) << 32 | at as u64
}
