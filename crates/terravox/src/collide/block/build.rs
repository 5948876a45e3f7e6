//! Builds a tree and a compact mesh from a surface of the mesher.
//!
//! Splits are those of the published terrain tree ("Voxel Terrain: Physics", Roblox, 2017):
//! along the longest axis at the mean of the middles, or in halves by selection where that would
//! leave less than a quarter on a side. Two or three such splits make the children of a node.
//! Both sides are rounded to whole leaves, so that all leaves but the last are full, and a
//! node's last child slots go to ranges that would become nodes with few children.

use super::leaf::{ANGLES, DIRECTION, FLAT, LEAF, Leaves, NO_QUAD, QuadLeaf};
use super::machine;
use super::mesh::CompactMesh;
use super::node::{Child, Node, WIDTH};
use super::vertex::{BuildVertex, QuadBounds};
use super::walk::HALVED_FROM;
use crate::mesh::Surface;

/// Maximum number of quads of a tree: their numbers are stored as `i16`.
const MAX_QUADS: usize = 1 << 15;

/// The bits of triangles that may have no area.
const MAYBE_FLAT: u32 = NO_QUAD;

/// Maximum number of quads of a node whose children are all leaves.
const LOWEST_NODE_QUADS: usize = LEAF * WIDTH;

/// Scratch memory of [`QuadBvh::build`](super::QuadBvh::build). Keep one per thread and reuse
/// it.
#[derive(Debug, Default)]
pub struct BuildScratch {
    vertices: Vec<BuildVertex>,
    quads: Vec<QuadBounds>,
    /// By quad of the mesher.
    words: Vec<u32>,
    nodes: Vec<Node>,
}

/// Quads `start..start + count`, and their bounds.
#[derive(Clone, Copy, Debug)]
struct QuadRange {
    start: usize,
    count: usize,
    /// As [`QuadBounds`].
    bounds: [i16; 8],
    /// Of low and high sides, that is twice the middles, by axis.
    sums: [i32; 4],
}

/// Builds the nodes and the compact mesh of a surface; `None` if no quad has area. See
/// [`QuadBvh::build`](super::QuadBvh::build).
pub(super) fn build(
    surface: &Surface,
    faces: &[[u8; 4]],
    angles: &[u16],
    scratch: &mut BuildScratch,
) -> Option<(Box<[Node]>, CompactMesh)> {
    let count = surface.quad_count();
    let (vertices, normals) = (surface.vertex_count(), surface.normals.len());
    let indices = surface.indices.len();
    assert!(count <= MAX_QUADS, "{count} quads; at most {MAX_QUADS}");
    assert!(vertices < usize::from(u16::MAX), "{vertices} vertices; at most {}", u16::MAX - 1);
    assert!(faces.len() == count, "{} faces for {count} quads", faces.len());
    let has_fitting_angles = angles.is_empty() || angles.len() == count;
    assert!(has_fitting_angles, "{} angles for {count} quads", angles.len());
    assert!(normals == vertices, "{normals} normals for {vertices} vertices");
    assert!(indices == 6 * count, "{indices} indices for {count} quads; {} needed", 6 * count);
    scratch.read_surface(surface, faces, angles);
    if scratch.quads.is_empty() {
        return None;
    }
    scratch.nodes.clear();
    let whole = measure(&scratch.quads, 0);
    scratch.node(whole, 0);
    Some((scratch.nodes.as_slice().into(), scratch.mesh(surface)))
}

impl BuildScratch {
    /// Reads the vertices, and the quads that have area.
    fn read_surface(&mut self, surface: &Surface, faces: &[[u8; 4]], angles: &[u16]) {
        let BuildScratch { vertices, quads, words, .. } = self;
        vertices.clear();
        let attributes = surface.positions.iter().zip(&surface.normals);
        vertices.extend(attributes.map(|(position, normal)| machine::vertex(*position, *normal)));
        quads.clear();
        words.clear();
        words.reserve(faces.len());
        quads.reserve(faces.len());
        for (quad, (indices, face)) in surface.indices.chunks_exact(6).zip(faces).enumerate() {
            let [a, b, c, d] = corners_of(indices).map(|v| &vertices[usize::from(v)]);
            let (mut bounds, mut flags) = machine::quad_bounds(a, b, c, d);
            if flags & MAYBE_FLAT != 0 {
                flags = with_flats(flags, [a, b, c, d]);
            }
            let [x, y, z, direction] = face.map(u32::from);
            let angles = angles.get(quad).map_or(0, |&angles| u32::from(angles));
            let word = x | z << 3 | y << 6 | direction << DIRECTION | angles << ANGLES | flags;
            words.push(word);
            if flags & NO_QUAD != NO_QUAD {
                bounds[3] = quad as i16;
                quads.push(QuadBounds(bounds));
            }
        }
    }

    /// Appends the node of `whole`, and those below it; returns its number.
    fn node(&mut self, whole: QuadRange, depth: usize) -> usize {
        let number = self.nodes.len();
        self.nodes.push(Node::EMPTY);
        let mut ranges = [whole; WIDTH];
        let count = self.open(&mut ranges, depth >= HALVED_FROM);
        for (lane, range) in ranges[..count].iter().enumerate() {
            let child = if range.count <= LEAF {
                Child::Leaf(range.start / LEAF)
            } else {
                Child::Node(self.node(*range, depth + 1))
            };
            let [x, y, z, _, mx, my, mz, _] = range.bounds;
            self.nodes[number].set(lane, [x, y, z], [mx, my, mz], child);
        }
        number
    }

    /// Splits the first of `ranges` into up to four.
    fn open(&mut self, ranges: &mut [QuadRange; WIDTH], halved: bool) -> usize {
        let mut count = 1;
        if ranges[0].count <= LEAF {
            return count;
        }
        while let Some(next) = to_split(&ranges[..count]) {
            let [left, right] = self.split(ranges[next], halved);
            ranges[next] = left;
            ranges[count] = right;
            count += 1;
        }
        count
    }

    /// Splits a range of more than a leaf in two; the first has a whole number of leaves.
    fn split(&mut self, range: QuadRange, halved: bool) -> [QuadRange; 2] {
        let QuadRange { start, count, bounds, sums } = range;
        let extent = |axis: usize| -(i32::from(bounds[axis]) + i32::from(bounds[axis + 4]));
        let [x, y, z] = [0, 1, 2].map(extent);
        let axis = if x >= y && x >= z { 0 } else { if y >= z { 1 } else { 2 } };
        let items = &mut self.quads[start..start + count];
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

    /// The compact mesh, its quads in the order of the tree.
    fn mesh(&self, surface: &Surface) -> CompactMesh {
        let mut positions = Vec::with_capacity(self.vertices.len() + 1);
        positions.extend(self.vertices.iter().map(BuildVertex::position));
        positions.push([0; 3]);
        let leaves = if self.vertices.len() <= 256 {
            Leaves::Narrow(self.leaves(surface, |v| v as u8))
        } else {
            Leaves::Wide(self.leaves(surface, |v| v))
        };
        CompactMesh { positions: positions.into(), leaves, quads: self.quads.len() as u16 }
    }

    #[inline]
    fn leaves<V: Copy + Default>(
        &self,
        surface: &Surface,
        number: impl Fn(u16) -> V,
    ) -> Box<[QuadLeaf<V>]> {
        let leaf = |items: &[QuadBounds]| {
            let mut leaf = QuadLeaf { corners: [[V::default(); LEAF]; 4], words: [NO_QUAD; LEAF] };
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
        self.quads.chunks(LEAF).map(leaf).collect()
    }
}

/// The corners of a quad that is given as two triangles, from an end of its diagonal.
#[inline(always)]
fn corners_of(triangles: &[u32]) -> [u16; 4] {
    [triangles[0], triangles[1], triangles[2], triangles[5]].map(|v| v as u16)
}

/// Replaces the bits of [`MAYBE_FLAT`] by exact tests.
#[cold]
fn with_flats(flags: u32, [a, b, c, d]: [&BuildVertex; 4]) -> u32 {
    let first = is_flat([a, b, c].map(BuildVertex::position));
    let second = is_flat([a, c, d].map(BuildVertex::position));
    flags & !MAYBE_FLAT | u32::from(first) << FLAT | u32::from(second) << (FLAT + 1)
}

/// Whether a triangle has no area, exactly.
fn is_flat(corners: [[i16; 3]; 3]) -> bool {
    let [a, b, c] = corners.map(|corner| corner.map(i64::from));
    let across =
        |u: usize, v: usize| (b[u] - a[u]) * (c[v] - a[v]) == (b[v] - a[v]) * (c[u] - a[u]);
    across(0, 1) && across(1, 2) && across(2, 0)
}

/// Measures some quads.
fn measure(items: &[QuadBounds], start: usize) -> QuadRange {
    let (bounds, sums) = machine::measure(items);
    QuadRange { start, count: items.len(), bounds, sums }
}

/// Returns the range of a node to split next: the largest with more quads than a lowest node, else
/// the smallest that the free child slots can split into single leaves.
fn to_split(ranges: &[QuadRange]) -> Option<usize> {
    let left = WIDTH - ranges.len();
    let largest = (0..ranges.len()).max_by_key(|&i| ranges[i].count)?;
    if left > 0 && ranges[largest].count > LOWEST_NODE_QUADS {
        return Some(largest);
    }
    let fits = |&i: &usize| ranges[i].count > LEAF && ranges[i].count.div_ceil(LEAF) - 1 <= left;
    (0..ranges.len()).filter(fits).min_by_key(|&i| ranges[i].count)
}

/// Moves quads whose doubled middle is at most `most` to the front; returns their number.
fn partition(items: &mut [QuadBounds], axis: usize, most: i32) -> usize {
    let mut below = 0;
    for i in 0..items.len() {
        // Read before the swap, so that no load waits for a store.
        let is_below = items[i].middle(axis) <= most;
        items.swap(i, below);
        below += usize::from(is_below);
    }
    below
}

/// Moves the border between quads that are partitioned along `axis` from `below` to `first`: the
/// quads next to it change sides.
fn shift(items: &mut [QuadBounds], axis: usize, below: usize, first: usize) {
    for border in below..first {
        let least = (border..items.len()).map(|i| ranked(&items[i], axis, i)).min();
        items.swap(border, least.map_or(border, |ranked| ranked as u32 as usize));
    }
    for border in (first..below).rev() {
        let most = (0..=border).map(|i| ranked(&items[i], axis, i)).max();
        items.swap(border, most.map_or(border, |ranked| ranked as u32 as usize));
    }
}

/// A number that sorts quads by their middles, with their index in the low bits.
#[inline(always)]
fn ranked(item: &QuadBounds, axis: usize, at: usize) -> u64 {
    ((item.middle(axis) + (1 << 17)) as u64) << 32 | at as u64
}
