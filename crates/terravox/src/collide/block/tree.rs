//! The quad tree: its data and its queries.

use super::box_query::BoxQuery;
use super::boxes::triangles_in;
use super::build::{BuildScratch, build};
use super::closest::{LocalPoint, closest_point};
use super::leaf::FLAT;
use super::local_ray::{LocalHit, LocalRay};
use super::mesh::{BlockTriangle, CompactMesh, QuadInfo};
use super::node::{Child, Node, WIDTH};
use super::ray::hits;
use crate::mesh::Surface;

/// One surface of one block, with queries for rays, boxes and points.
///
/// Quads are numbered `0..quad_count()` in the order of the tree. Quads without area are left
/// out, and so is a triangle without area of a quad that has some.
#[derive(Clone, Debug, PartialEq)]
pub struct QuadBvh {
    /// The root first; a node before its children.
    pub(super) nodes: Box<[Node]>,
    pub(super) mesh: CompactMesh,
}

impl QuadBvh {
    /// Builds the tree of one surface of an 8³ block; `None` if no quad has area.
    ///
    /// `faces` has one entry a quad: the cell that owns it, x, y, z from the block's lowest
    /// corner, and the direction of its face. `angles` has one entry a quad, four bits a side,
    /// or is empty: all 0.
    ///
    /// # Panics
    /// If there are more than 32,768 quads or 65,534 vertices, which no 8³ block has; if `faces`, or
    /// `angles` that are not empty, do not have one entry per quad; or if the surface does not have
    /// one normal per vertex and six indices per quad.
    pub fn build(
        surface: &Surface,
        faces: &[[u8; 4]],
        angles: &[u16],
        scratch: &mut BuildScratch,
    ) -> Option<QuadBvh> {
        let (nodes, mesh) = build(surface, faces, angles, scratch)?;
        Some(QuadBvh { nodes, mesh })
    }

    /// Returns the nearest triangle that the ray hits at `t_min..=t_max`.
    pub fn first_hit(&self, ray: &LocalRay, t_min: f32, t_max: f32) -> Option<LocalHit> {
        let mut nearest = None;
        hits(&self.nodes, &self.mesh, ray, [t_min, t_max], |hit, _| {
            nearest = Some(hit);
            hit.t
        });
        nearest
    }

    /// Returns whether the ray hits a triangle at `t_min..=t_max`.
    pub fn any(&self, ray: &LocalRay, t_min: f32, t_max: f32) -> bool {
        let mut is_hit = false;
        hits(&self.nodes, &self.mesh, ray, [t_min, t_max], |_, _| {
            is_hit = true;
            f32::NEG_INFINITY
        });
        is_hit
    }

    /// Calls `visit` for every triangle that the ray hits at `t_min..=t_max`, in arbitrary order.
    pub fn each(&self, ray: &LocalRay, t_min: f32, t_max: f32, mut visit: impl FnMut(LocalHit)) {
        hits(&self.nodes, &self.mesh, ray, [t_min, t_max], |hit, limit| {
            visit(hit);
            limit
        });
    }

    /// Calls `visit` for every triangle whose axis-aligned box meets the box from `min` to `max`,
    /// cells from the block's min corner; touching counts. An invalid box (inverted, NaN)
    /// meets nothing.
    pub fn triangles_in(&self, min: [f32; 3], max: [f32; 3], visit: impl FnMut(BlockTriangle)) {
        let Some(query) = BoxQuery::new(min, max) else { return };
        triangles_in(&self.nodes, &self.mesh, &query, visit);
    }

    /// Returns the point of the surface that is closest to `point`, within `max_distance` cells
    /// (infinity is allowed).
    pub fn closest_point(&self, point: [f32; 3], max_distance: f32) -> Option<LocalPoint> {
        closest_point(&self.nodes, &self.mesh, point, max_distance)
    }

    /// Number of quads.
    pub fn quad_count(&self) -> usize {
        usize::from(self.mesh.quads)
    }

    /// Number of triangles with area.
    pub fn triangle_count(&self) -> usize {
        let words = (0..self.quad_count()).map(|quad| self.mesh.word(quad));
        words.map(|word| 2 - (word >> FLAT & 3).count_ones() as usize).sum()
    }

    /// Returns a quad.
    ///
    /// # Panics
    /// If there is no such quad.
    pub fn quad(&self, quad: u16) -> QuadInfo {
        self.mesh.info(quad)
    }

    /// Returns the first or the second triangle of a quad.
    ///
    /// # Panics
    /// If there is no such quad.
    pub fn triangle(&self, quad: u16, second: bool) -> BlockTriangle {
        self.mesh.triangle(quad, second)
    }

    /// Bytes that the tree takes, its own fields included.
    pub fn bytes(&self) -> usize {
        size_of::<QuadBvh>() + self.heap_bytes()
    }

    /// Bytes on the heap.
    pub(crate) fn heap_bytes(&self) -> usize {
        size_of_val(&*self.nodes) + self.mesh.bytes()
    }

    /// Calls `visit` for the boxes of the tree: depth from 0, min and max corner, cells.
    pub fn boxes(&self, mut visit: impl FnMut(usize, [f32; 3], [f32; 3])) {
        self.boxes_below(0, 0, &mut visit);
    }

    fn boxes_below(
        &self,
        node: usize,
        depth: usize,
        visit: &mut impl FnMut(usize, [f32; 3], [f32; 3]),
    ) {
        let node = &self.nodes[node];
        for lane in 0..WIDTH {
            let Some((min, max)) = node.bounds(lane) else { continue };
            visit(depth, min, max);
            if let Child::Node(child) = node.child(lane) {
                self.boxes_below(child, depth + 1, visit);
            }
        }
    }
}
