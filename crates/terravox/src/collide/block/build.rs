//! A tree and a compact mesh from what the mesher wrote.
//!
//! Split as the published terrain tree is ("Voxel Terrain: Physics", Roblox, 2017): the
//! longest axis, at the mean of the middles, and in halves by selection where that would
//! leave less than a quarter on a side. Two such splits, or three, make the children of
//! a node. The sides are rounded to whole leaves, so that all leaves but the last are
//! full, and a node's last places go to what would else be a node with few children.

use super::QuadTree;
use super::mesh::{ANGLES, DIRECTION, FLAT, LEAF, Leaf, Leaves, Mesh, NO_QUAD, REVERSED, step_of};
use super::node::{Child, Node, WIDTH};
use crate::mesh::Surface;

/// Most quads of a tree: numbers of leaves and nodes have 15 bits.
const MOST_QUADS: usize = 1 << 15;

/// Quads of a node whose children are leaves.
const LOWEST: usize = LEAF * WIDTH;

/// Memory of [`QuadTree::build`]. Keep one per thread and reuse it.
#[derive(Debug, Default)]
pub struct BuildScratch {
    positions: Vec<[i16; 3]>,
    items: Vec<Item>,
    quads: Vec<([u16; 4], u32)>,
    nodes: Vec<Node>,
}

/// The box of a quad: its lowest corner, the quad's number in lane 3, and the lowest
/// corner of its mirror image in lanes 4 to 6. So the box of several is their least.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(16))]
struct Item([i16; 8]);

/// Items `start..start + count` and what is known of them together.
#[derive(Clone, Copy, Debug)]
struct Group {
    start: usize,
    count: usize,
    /// As [`Item`].
    bounds: [i16; 8],
    /// Of low and high sides, that is twice the middles, by axis.
    sums: [i32; 3],
}

impl Item {
    /// Twice the middle along an axis.
    #[inline(always)]
    fn middle(&self, axis: usize) -> i32 {
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
        assert!(surface.vertex_count() < usize::from(u16::MAX), "too many vertices in a block");
        scratch.take(surface, faces, angles);
        if scratch.items.is_empty() {
            return None;
        }
        scratch.nodes.clear();
        let whole = measure(&scratch.items, 0);
        scratch.node(whole);
        Some(QuadTree { nodes: scratch.nodes.as_slice().into(), mesh: scratch.mesh() })
    }
}

impl BuildScratch {
    /// Takes over positions, and the quads that have area.
    fn take(&mut self, surface: &Surface, faces: &[[u8; 4]], angles: &[u16]) {
        self.positions.clear();
        self.positions.extend(surface.positions.iter().map(|p| p.map(step_of)));
        self.items.clear();
        self.quads.clear();
        for (quad, i) in surface.indices.chunks_exact(6).enumerate() {
            let corners = [i[0], i[1], i[2], i[5]].map(|v| v as u16);
            let flags = self.flags(corners, surface);
            if flags & NO_QUAD == NO_QUAD {
                continue;
            }
            let [x, y, z, direction] = faces[quad].map(u32::from);
            let angles = angles.get(quad).map_or(0, |&angles| u32::from(angles));
            let word = x | z << 3 | y << 6 | direction << DIRECTION | angles << ANGLES | flags;
            let number = self.quads.len() as i16;
            self.items.push(self.item(corners, number));
            self.quads.push((corners, word));
        }
    }

    fn item(&self, corners: [u16; 4], number: i16) -> Item {
        let [a, b, c, d] = corners.map(|v| {
            let [x, y, z] = self.positions[usize::from(v)];
            [x, y, z, 0, -x, -y, -z, 0]
        });
        let mut bounds = least(least(a, b), least(c, d));
        bounds[3] = number;
        Item(bounds)
    }

    /// Which triangles of a quad are flat or reversed, as bits of its word.
    fn flags(&self, corners: [u16; 4], surface: &Surface) -> u32 {
        let [a, b, c, d] = corners.map(usize::from);
        let mut flags = 0;
        for (second, [a, b, c]) in [[a, b, c], [a, c, d]].into_iter().enumerate() {
            let [pa, pb, pc] = [a, b, c].map(|v| self.positions[v].map(i64::from));
            let [u, v] = [pb, pc].map(|p| [p[0] - pa[0], p[1] - pa[1], p[2] - pa[2]]);
            let face =
                [u[1] * v[2] - u[2] * v[1], u[2] * v[0] - u[0] * v[2], u[0] * v[1] - u[1] * v[0]];
            let [na, nb, nc] = [a, b, c].map(|v| surface.normals[v]);
            let along = (0..3).map(|i| face[i] as f32 * (na[i] + nb[i] + nc[i])).sum::<f32>();
            flags |= u32::from(face == [0; 3]) << (FLAT + second as u32);
            flags |= u32::from(along < 0.0) << (REVERSED + second as u32);
        }
        flags
    }

    /// Appends the node of `whole`, and those below it; answers its number.
    fn node(&mut self, whole: Group) -> usize {
        let number = self.nodes.len();
        self.nodes.push(Node::EMPTY);
        let mut groups = [whole; WIDTH];
        let count = self.open(&mut groups);
        for (lane, group) in groups[..count].iter().enumerate() {
            let child = if group.count <= LEAF {
                Child::Leaf(group.start / LEAF)
            } else {
                Child::Node(self.node(*group))
            };
            let [x, y, z, _, mx, my, mz, _] = group.bounds;
            self.nodes[number].set(lane, [x, y, z], [mx, my, mz], child);
        }
        number
    }

    /// Splits the first of `groups` into up to four.
    fn open(&mut self, groups: &mut [Group; WIDTH]) -> usize {
        let mut count = 1;
        if groups[0].count <= LEAF {
            return count;
        }
        while let Some(next) = to_split(&groups[..count]) {
            let [left, right] = self.split(groups[next]);
            groups[next] = left;
            groups[count] = right;
            count += 1;
        }
        count
    }

    /// Splits a group of more than a leaf in two; the first is a whole number of leaves.
    fn split(&mut self, group: Group) -> [Group; 2] {
        let Group { start, count, bounds, sums } = group;
        let extent = |axis: usize| -(i32::from(bounds[axis]) + i32::from(bounds[axis + 4]));
        let [x, y, z] = [0, 1, 2].map(extent);
        let axis = if x >= y && x >= z { 0 } else { if y >= z { 1 } else { 2 } };
        let items = &mut self.items[start..start + count];
        let mean = sums[axis].div_euclid(count as i32);
        let below = partition(items, axis, mean);
        let skewed = 4 * below < count || 4 * below > 3 * count;
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
    fn mesh(&self) -> Mesh {
        let mut positions = Vec::with_capacity(self.positions.len() + 1);
        positions.extend_from_slice(&self.positions);
        positions.push([0; 3]);
        let leaves = if self.positions.len() <= 256 {
            Leaves::Narrow(self.leaves(|v| v as u8))
        } else {
            Leaves::Wide(self.leaves(|v| v))
        };
        Mesh { positions: positions.into(), leaves, quads: self.items.len() as u16 }
    }

    fn leaves<V: Copy + Default>(&self, number: impl Fn(u16) -> V) -> Box<[Leaf<V>]> {
        let leaf = |items: &[Item]| {
            let mut leaf = Leaf { corners: [[V::default(); LEAF]; 4], words: [NO_QUAD; LEAF] };
            for (lane, item) in items.iter().enumerate() {
                let (corners, word) = self.quads[item.0[3] as usize];
                leaf.words[lane] = word;
                for k in 0..4 {
                    leaf.corners[k][lane] = number(corners[k]);
                }
            }
            leaf
        };
        self.items.chunks(LEAF).map(leaf).collect()
    }
}

/// The lane-wise least.
#[inline(always)]
fn least(a: [i16; 8], b: [i16; 8]) -> [i16; 8] {
    std::array::from_fn(|lane| a[lane].min(b[lane]))
}

/// What is known of some items together.
fn measure(items: &[Item], start: usize) -> Group {
    let mut bounds = [i16::MAX; 8];
    let mut sums = [0; 3];
    for item in items {
        bounds = least(bounds, item.0);
        for axis in 0..3 {
            sums[axis] += item.middle(axis);
        }
    }
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

/// Puts items whose doubled middle is at most `most` first; answers how many they are.
fn partition(items: &mut [Item], axis: usize, most: i32) -> usize {
    let mut below = 0;
    for i in 0..items.len() {
        let item = items[i];
        items[i] = items[below];
        items[below] = item;
        below += usize::from(item.middle(axis) <= most);
    }
    below
}

/// Moves the border between items that are partitioned along `axis` from `below` to
/// `first`: the items next to it change sides.
fn shift(items: &mut [Item], axis: usize, below: usize, first: usize) {
    for border in below..first {
        let least = (border..items.len()).min_by_key(|&i| items[i].middle(axis));
        items.swap(border, least.unwrap_or(border));
    }
    for border in (first..below).rev() {
        let most = (0..=border).max_by_key(|&i| items[i].middle(axis));
        items.swap(border, most.unwrap_or(border));
    }
}
