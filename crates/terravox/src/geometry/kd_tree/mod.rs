//! The loose k-d tree: rays and boxes against any triangles, in few bytes.
//!
//! Build a [`KdTree`] once, with [`KdTree::from_triangles`] or a [`KdBuilder`]; then query it
//! with [`KdTree::closest`], [`KdTree::any`], [`KdTree::each`] and [`KdTree::triangles_in`].
//!
//! A node splits along one axis and keeps two planes: its left part ends at the first, its
//! right part begins at the second; they may overlap or leave a gap. No triangle is cut, and a
//! node needs two numbers where a box needs six. From "Voxel Terrain: Physics" (Roblox, 2017),
//! in the compact form that it names as future work: positions of 16 bits on a lattice, nodes
//! of 6 bytes, quads as leaf primitives.
//!
//! Positions are rounded once, when the tree is built. Queries are exact for the rounded
//! positions: boxes to the bit, rays to f32 rounding.

mod boxes;
mod build;
mod grid;
#[cfg(test)]
mod naive;
mod nodes;
mod ray;
#[cfg(test)]
mod tests;
mod view;

pub use build::{KdBuilder, KdError};
pub use grid::PositionGrid;
pub use ray::KdHit;
pub use view::KdTriangle;

use ray::{KdRay, Segment, hits};
use view::{QuadVertices, TreeView, has_half, words_a_quad};

/// A static index over triangles and quads.
///
/// ```
/// use terravox::geometry::KdTree;
///
/// let floor = [[0.0, 0.0, 0.0], [0.0, 0.0, 9.0], [9.0, 0.0, 9.0]];
/// let tree = KdTree::from_triangles(&floor, &[[0, 1, 2]])?;
/// let hit = tree.closest([2.0, 5.0, 4.0], [0.0, -1.0, 0.0], 100.0).unwrap();
/// assert_eq!((hit.t, hit.triangle.payload), (5.0, 0));
/// # Ok::<(), terravox::geometry::KdError>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct KdTree {
    grid: PositionGrid,
    /// Lowest and highest lattice point of all primitives.
    bounds: [[u16; 3]; 2],
    node_count: u32,
    vertex_count: u32,
    quad_count: u32,
    depth: u8,
    /// One allocation: nodes, vertices, quads in the order of the leaves, payloads.
    words: Box<[u16]>,
}

impl KdTree {
    /// Whether the tree has no primitive.
    pub fn is_empty(&self) -> bool {
        self.quad_count == 0
    }

    /// Number of quads and triangles, without those left out.
    pub fn primitive_count(&self) -> usize {
        self.quad_count as usize
    }

    /// Levels below the root.
    pub fn depth(&self) -> usize {
        usize::from(self.depth)
    }

    /// Number of nodes.
    pub fn node_count(&self) -> usize {
        self.node_count as usize
    }

    /// Bytes of the tree, its own struct included.
    pub fn bytes(&self) -> usize {
        size_of::<KdTree>() + size_of_val(&*self.words)
    }

    /// The lattice of its positions.
    pub fn grid(&self) -> PositionGrid {
        self.grid
    }

    /// The box of all primitives, min and max corner; `None` if the tree is empty.
    pub fn bounds(&self) -> Option<[[f32; 3]; 2]> {
        (!self.is_empty()).then(|| self.bounds.map(|point| self.grid.position(point)))
    }

    /// Calls `visit` with every triangle.
    pub fn triangles(&self, mut visit: impl FnMut(KdTriangle)) {
        let view = self.view();
        for quad in 0..view.payloads.len() {
            let corners = view.corners(quad);
            for half in (0..2).filter(|&half| has_half(corners, half)) {
                visit(view.triangle(quad, corners, half));
            }
        }
    }

    /// Returns the nearest triangle that the ray from `origin` along `direction` hits, from
    /// either side, at most `t_max` lengths of `direction` away; `t_max` may be infinite.
    /// Triangles that the ray lies in are not hit. `None` if an argument is NaN, the origin or
    /// direction is not finite, the direction is zero or `t_max` negative.
    pub fn closest(
        &self,
        origin: impl Into<[f32; 3]>,
        direction: impl Into<[f32; 3]>,
        t_max: f32,
    ) -> Option<KdHit> {
        let ray = KdRay { origin: origin.into(), direction: direction.into(), t_max };
        let segment = self.segment(&ray)?;
        let view = self.view();
        let mut best = None;
        hits(&view, self.depth(), &segment, |hit| {
            best = Some(hit);
            hit.length
        });
        Some(segment.world_hit(&view, ray.direction, best?))
    }

    /// Returns whether the ray hits any triangle; see [`KdTree::closest`].
    pub fn any(
        &self,
        origin: impl Into<[f32; 3]>,
        direction: impl Into<[f32; 3]>,
        t_max: f32,
    ) -> bool {
        let ray = KdRay { origin: origin.into(), direction: direction.into(), t_max };
        let Some(segment) = self.segment(&ray) else { return false };
        let mut is_hit = false;
        hits(&self.view(), self.depth(), &segment, |_| {
            is_hit = true;
            f32::NEG_INFINITY
        });
        is_hit
    }

    /// Calls `visit` with every triangle that the ray hits, in arbitrary order; a ray through an
    /// edge hits both triangles there. See [`KdTree::closest`].
    pub fn each(
        &self,
        origin: impl Into<[f32; 3]>,
        direction: impl Into<[f32; 3]>,
        t_max: f32,
        mut visit: impl FnMut(KdHit),
    ) {
        let ray = KdRay { origin: origin.into(), direction: direction.into(), t_max };
        let Some(segment) = self.segment(&ray) else { return };
        let view = self.view();
        hits(&view, self.depth(), &segment, |hit| {
            visit(segment.world_hit(&view, ray.direction, hit));
            segment.end
        });
    }

    fn segment(&self, ray: &KdRay) -> Option<Segment> {
        if self.is_empty() { None } else { Segment::new(&self.grid, &self.bounds, ray) }
    }

    /// Calls `visit` with every triangle whose box meets the closed box from `min` to `max`.
    /// Invalid boxes (inverted, NaN) meet nothing; infinite ends are allowed.
    pub fn triangles_in(
        &self,
        min: impl Into<[f32; 3]>,
        max: impl Into<[f32; 3]>,
        visit: impl FnMut(KdTriangle),
    ) {
        let Some([low, high]) = self.grid.points_in(min.into(), max.into()) else { return };
        let apart = |i: usize| low[i] > self.bounds[1][i] || high[i] < self.bounds[0][i];
        if self.is_empty() || (0..3).any(apart) {
            return;
        }
        boxes::triangles_in(&self.view(), [low, high], visit);
    }

    /// Calls `visit(level, min, max)` with the space of every node, as far as planes further up
    /// bound it: leaves and branches, the root first, level 0.
    pub fn boxes(&self, visit: impl FnMut(usize, [f32; 3], [f32; 3])) {
        if !self.is_empty() {
            boxes::node_boxes(&self.view(), self.bounds, visit);
        }
    }

    /// The stored arrays.
    fn view(&self) -> TreeView<'_> {
        let (nodes, rest) = self.words.split_at(3 * self.node_count as usize);
        let (vertices, rest) = rest.split_at(3 * self.vertex_count as usize);
        let (quads, payloads) = rest.split_at(rest.len() - 2 * self.quad_count as usize);
        TreeView {
            grid: self.grid,
            nodes: nodes.as_chunks().0,
            vertices: vertices.as_chunks().0,
            quads: match words_a_quad(self.vertex_count as usize) {
                2 => QuadVertices::Bytes(quads.as_chunks().0),
                4 => QuadVertices::Words(quads.as_chunks().0),
                _ => QuadVertices::Doubles(quads.as_chunks().0),
            },
            payloads: payloads.as_chunks().0,
        }
    }
}
