//! Builds a loose k-d tree: splits primitives at the mean of their centres along the longest axis
//! of their box. Where that leaves less than a quarter on one side, it splits at the median centre
//! instead, found by selection. The two planes of a node are where the box of the lower part ends
//! and the box of the upper part begins. After "Voxel Terrain: Physics" (Roblox, 2017).
//!
//! The items that are moved are boxes of 16 bytes: the low corner, and the complement of the high
//! corner, so that the union of two boxes is one lane-wise minimum.

use super::KdTree;
use super::grid::PositionGrid;
use super::nodes::{KdNode, LEAF, MAX_DEPTH, NARROW, narrow, wide};
use super::view::words_a_quad;

/// Why a tree cannot be built.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum KdError {
    /// A position lies outside the lattice or is not finite.
    Position {
        /// Which vertex.
        vertex: usize,
    },
    /// An index is out of range.
    Index {
        /// Which primitive.
        primitive: usize,
    },
    /// More than 2³² - 2¹⁶ vertices or 2³¹ primitives.
    TooMany,
}

impl std::fmt::Display for KdError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            KdError::Position { vertex } => {
                write!(f, "the position of vertex {vertex} is outside the lattice or not finite")
            }
            KdError::Index { primitive } => {
                write!(f, "primitive {primitive} has a vertex index out of range")
            }
            KdError::TooMany => write!(f, "more vertices or primitives than a tree can hold"),
        }
    }
}

impl std::error::Error for KdError {}

/// The box of a primitive and the primitive's number: low corner, low word of the number,
/// complement of the high corner, high word. Coordinates are lattice points less 2¹⁵, so that they
/// are signed.
type PrimitiveBox = [i16; 8];

/// The identity of the minimum: an empty box.
const EMPTY: PrimitiveBox = [i16::MAX; 8];

/// Builds trees. Scratch memory: keep one per thread and reuse it.
#[derive(Debug, Default)]
pub struct KdBuilder {
    /// The vertices as boxes of one point.
    points: Vec<PrimitiveBox>,
    items: Vec<PrimitiveBox>,
    /// The box around all items.
    bounds: PrimitiveBox,
    /// Vertex numbers by primitive, with halves without area marked.
    corners: Vec<[u32; 4]>,
    nodes: Vec<KdNode>,
    depth: usize,
}

impl KdBuilder {
    /// Creates a builder.
    pub fn new() -> KdBuilder {
        KdBuilder::default()
    }

    /// As [`KdTree::from_triangles`].
    ///
    /// # Errors
    /// As there.
    pub fn triangles(
        &mut self,
        positions: &[[f32; 3]],
        indices: &[[u32; 3]],
    ) -> Result<KdTree, KdError> {
        let grid = PositionGrid::fit(positions);
        self.take_positions(grid, positions)?;
        self.take_quads(indices.iter().map(|&[a, b, c]| [a, b, c, c]), indices.len())?;
        Ok(self.finish(grid, |primitive| primitive as u32))
    }

    /// A tree over quads of `positions` on `grid`. `indices` has six a quad, as the mesher
    /// writes them: two triangles `[a, b, c, a, c, d]`; `payloads` has one a quad.
    /// Halves without area, after rounding, are left out.
    ///
    /// # Errors
    /// If a position is not on the lattice, an index has no vertex, or there are too many.
    ///
    /// # Panics
    /// If `indices` has not six for each of `payloads`.
    pub fn quads(
        &mut self,
        grid: PositionGrid,
        positions: &[[f32; 3]],
        indices: &[u32],
        payloads: &[u32],
    ) -> Result<KdTree, KdError> {
        assert_eq!(indices.len(), 6 * payloads.len(), "six indices and one payload a quad");
        self.take_positions(grid, positions)?;
        let quads = indices.as_chunks::<6>().0.iter().map(|&[a, b, c, _, _, d]| [a, b, c, d]);
        self.take_quads(quads, payloads.len())?;
        Ok(self.finish(grid, |primitive| payloads[primitive]))
    }

    /// Rounds the positions to the lattice.
    fn take_positions(
        &mut self,
        grid: PositionGrid,
        positions: &[[f32; 3]],
    ) -> Result<(), KdError> {
        if positions.len() > (u32::MAX - 0xffff) as usize {
            return Err(KdError::TooMany);
        }
        self.points.clear();
        let in_grid = |v: f32| (-0.5..=65535.5).contains(&v);
        let mut inside = true;
        self.points.extend(positions.iter().map(|&position| {
            let [x, y, z] = grid.steps(position).map(|v| {
                inside &= in_grid(v);
                (((v + 0.5) as i32).min(0xffff) - 0x8000) as i16
            });
            [x, y, z, 0, !x, !y, !z, 0]
        }));
        if inside {
            return Ok(());
        }
        let is_inside = |&p: &[f32; 3]| grid.steps(p).into_iter().all(in_grid);
        let vertex = positions.iter().take_while(|position| is_inside(position)).count();
        Err(KdError::Position { vertex })
    }

    /// Checks the primitives, and lists those with area by their boxes.
    fn take_quads(
        &mut self,
        quads: impl Iterator<Item = [u32; 4]>,
        count: usize,
    ) -> Result<(), KdError> {
        if count > 1 << 31 {
            return Err(KdError::TooMany);
        }
        self.items.clear();
        self.items.reserve(count);
        self.bounds = EMPTY;
        self.corners.clear();
        self.corners.reserve(count);
        for (primitive, quad) in quads.enumerate() {
            let at = |corner: u32| self.points.get(corner as usize).copied();
            let [Some(a), Some(b), Some(c), Some(d)] = quad.map(at) else {
                return Err(KdError::Index { primitive });
            };
            let (quad, points) = match (has_area([a, b, c]), has_area([a, c, d])) {
                (true, true) => (quad, [a, b, c, d]),
                (false, true) => ([quad[0], quad[0], quad[2], quad[3]], [a, a, c, d]),
                (true, false) => ([quad[0], quad[1], quad[2], quad[2]], [a, b, c, c]),
                (false, false) => {
                    self.corners.push(quad);
                    continue;
                }
            };
            self.corners.push(quad);
            let [a, b, c, d] = points;
            let mut item = least(least(a, b), least(c, d));
            self.bounds = least(self.bounds, item);
            [item[3], item[7]] = narrow(primitive as u32).map(|word| word as i16);
            self.items.push(item);
        }
        Ok(())
    }

    /// Builds the nodes and packs everything into the tree.
    fn finish(&mut self, grid: PositionGrid, payload: impl Fn(usize) -> u32) -> KdTree {
        self.nodes.clear();
        self.depth = 0;
        let bounds = self.bounds;
        if !self.items.is_empty() {
            split(&mut self.items, bounds, &mut self.nodes, 0, &mut self.depth);
        }
        let empty = self.items.is_empty();
        let vertices = if empty { &[][..] } else { &self.points[..] };
        let a_quad = words_a_quad(vertices.len());
        let count = 3 * (self.nodes.len() + vertices.len()) + (a_quad + 2) * self.items.len();
        let mut words = vec![0; count].into_boxed_slice();
        let (nodes, rest) = words.split_at_mut(3 * self.nodes.len());
        let (points, rest) = rest.split_at_mut(3 * vertices.len());
        let (quads, payloads) = rest.split_at_mut(a_quad * self.items.len());
        nodes.copy_from_slice(self.nodes.as_flattened());
        for (out, point) in points.as_chunks_mut().0.iter_mut().zip(vertices) {
            *out = [0, 1, 2].map(|i| unsigned(point[i]));
        }
        self.pack_quads(quads, a_quad);
        for (out, item) in payloads.as_chunks_mut().0.iter_mut().zip(&self.items) {
            *out = narrow(payload(number(item)));
        }
        KdTree {
            grid,
            bounds: [
                [0, 1, 2].map(|i| unsigned(bounds[i])),
                [4, 5, 6].map(|i| unsigned(!bounds[i])),
            ],
            node_count: self.nodes.len() as u32,
            vertex_count: vertices.len() as u32,
            quad_count: self.items.len() as u32,
            depth: self.depth as u8,
            words,
        }
    }
}

impl KdBuilder {
    /// Writes the vertex numbers in the order of the leaves, `a_quad` words each.
    fn pack_quads(&self, words: &mut [u16], a_quad: usize) {
        let corners = self.items.iter().map(|item| self.corners[number(item)]);
        match a_quad {
            2 => {
                for (out, [a, b, c, d]) in words.as_chunks_mut().0.iter_mut().zip(corners) {
                    *out = [a | b << 8, c | d << 8].map(|word| word as u16);
                }
            }
            4 => {
                for (out, corners) in words.as_chunks_mut().0.iter_mut().zip(corners) {
                    *out = corners.map(|corner| corner as u16);
                }
            }
            _ => {
                for (out, corners) in words.as_chunks_mut::<8>().0.iter_mut().zip(corners) {
                    out.copy_from_slice(corners.map(narrow).as_flattened());
                }
            }
        }
    }
}

/// Appends the nodes of some primitives in `bounds`, and sorts the primitives by leaf.
fn split(
    items: &mut [PrimitiveBox],
    bounds: PrimitiveBox,
    nodes: &mut Vec<KdNode>,
    level: usize,
    depth: &mut usize,
) {
    split_from(items, 0, bounds, nodes, level, depth);
}

fn split_from(
    items: &mut [PrimitiveBox],
    first: usize,
    bounds: PrimitiveBox,
    nodes: &mut Vec<KdNode>,
    level: usize,
    depth: &mut usize,
) {
    if items.len() <= LEAF {
        let [low, high] = narrow(first as u32);
        nodes.push([low, high, 3 | (items.len() as u16 - 1) << 2]);
        *depth = level.max(*depth);
        return;
    }
    debug_assert!(level < MAX_DEPTH);
    let axis = longest_axis(&bounds);
    let (left, left_bounds, right_bounds) = partition(items, axis);
    let (left_items, right_items) = items.split_at_mut(left);
    let at = nodes.len();
    nodes.push([unsigned(!left_bounds[axis + 4]), unsigned(right_bounds[axis]), axis as u16]);
    // A part has fewer nodes than primitives.
    let is_narrow = left < NARROW;
    if !is_narrow {
        nodes.push([0; 3]);
    }
    split_from(left_items, first, left_bounds, nodes, level + 1, depth);
    let offset = nodes.len() - at;
    if is_narrow {
        nodes[at][2] |= (offset as u16) << 2;
    } else {
        let [low, high] = narrow(offset as u32);
        nodes[at + 1] = [low, high, 0];
    }
    split_from(right_items, first + left, right_bounds, nodes, level + 1, depth);
}

/// Moves the primitives of the left part to the front; returns their number, and the box of each
/// part.
fn partition(items: &mut [PrimitiveBox], axis: usize) -> (usize, PrimitiveBox, PrimitiveBox) {
    let count = items.len();
    let sum: i64 = items.iter().map(|item| i64::from(middle(item, axis))).sum();
    // Middles below the mean are those at most this.
    let mean = sum.div_euclid(count as i64) as i32;
    let (mut left, mut left_bounds, mut right_bounds) = (0, EMPTY, EMPTY);
    // Always swaps, and counts the left part: a branch would be mispredicted half of the time.
    // The boxes grow in this loop too, since in one of its own the compiler splits the lanes.
    for i in 0..count {
        let item = items[i];
        let stays = middle(&item, axis) <= mean;
        items.swap(i, left);
        left += usize::from(stays);
        left_bounds = least(left_bounds, item.map(|v| if stays { v } else { i16::MAX }));
        right_bounds = least(right_bounds, item.map(|v| if stays { i16::MAX } else { v }));
    }
    if 4 * left >= count && 4 * (count - left) >= count {
        return (left, left_bounds, right_bounds);
    }
    let half = count / 2;
    items.select_nth_unstable_by_key(half, |item| middle(item, axis));
    (half, union(&items[..half]), union(&items[half..]))
}

/// Twice the middle of a box along an axis.
#[inline]
fn middle(item: &PrimitiveBox, axis: usize) -> i32 {
    i32::from(item[axis]) + i32::from(!item[axis + 4])
}

fn longest_axis(bounds: &PrimitiveBox) -> usize {
    let extent = |axis: usize| i32::from(!bounds[axis + 4]) - i32::from(bounds[axis]);
    let (x, y, z) = (extent(0), extent(1), extent(2));
    if x >= y && x >= z {
        0
    } else if y >= z {
        1
    } else {
        2
    }
}

#[inline]
fn least(a: PrimitiveBox, b: PrimitiveBox) -> PrimitiveBox {
    std::array::from_fn(|lane| a[lane].min(b[lane]))
}

fn union(items: &[PrimitiveBox]) -> PrimitiveBox {
    items.iter().fold(EMPTY, |all, item| least(all, *item))
}

/// The number of a box's primitive.
fn number(item: &PrimitiveBox) -> usize {
    wide([item[3] as u16, item[7] as u16]) as usize
}

/// A coordinate as a lattice point.
fn unsigned(v: i16) -> u16 {
    v as u16 ^ 0x8000
}

/// Whether three points are not on one line; exact.
#[inline]
fn has_area([a, b, c]: [PrimitiveBox; 3]) -> bool {
    let from = |p: PrimitiveBox, i: usize| i64::from(p[i]) - i64::from(a[i]);
    let cross = |u: usize, v: usize| from(b, u) * from(c, v) - from(b, v) * from(c, u);
    (cross(0, 1) | cross(1, 2) | cross(2, 0)) != 0
}

impl KdTree {
    /// Builds a tree over triangles of `positions`, on a lattice fitted to them. Payloads are
    /// their numbers. Triangles without area, after rounding, are left out.
    ///
    /// # Errors
    /// If a position is not finite, an index has no vertex, or there are too many.
    pub fn from_triangles(positions: &[[f32; 3]], indices: &[[u32; 3]]) -> Result<KdTree, KdError> {
        KdBuilder::new().triangles(positions, indices)
    }

    /// Builds a tree over quads of `positions` on `grid`; six indices a quad, as the mesher
    /// writes them: `[a, b, c, a, c, d]`. `payloads` has one a quad. See
    /// [`KdBuilder::quads`].
    ///
    /// # Errors
    /// If a position is not on the lattice, an index has no vertex, or there are too many.
    ///
    /// # Panics
    /// If `indices` or `payloads` have another length.
    pub fn from_quads(
        grid: PositionGrid,
        positions: &[[f32; 3]],
        indices: &[u32],
        payloads: &[u32],
    ) -> Result<KdTree, KdError> {
        KdBuilder::new().quads(grid, positions, indices, payloads)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn vertex_numbers_are_as_wide_as_they_must_be() {
        assert_eq!([words_a_quad(256), words_a_quad(257), words_a_quad(65537)], [2, 4, 8]);
    }
}
