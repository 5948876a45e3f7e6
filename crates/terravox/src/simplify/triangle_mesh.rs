//! A triangle mesh with adjacency, normals and vertex quadrics.

use super::adjacency::{Adjacency, opposite_edge};
use super::quadric::Quadric;
use super::triangle::normal_of;
use crate::mesh::Surface;
use glam::Vec3;

/// Stands for no vertex, triangle or page.
pub(super) const NONE: u32 = u32::MAX;

#[derive(Clone, Default)]
pub(super) struct TriangleMesh {
    /// Vertices of each triangle; a removed triangle has [`NONE`] three times.
    pub triangles: Vec<[u32; 3]>,
    /// Unit normals by triangle; 0 without area.
    pub normals: Vec<Vec3>,
    pub adjacency: Adjacency,
    /// By vertex: the planes of the triangles around it.
    pub quadrics: Vec<Quadric>,
}

impl TriangleMesh {
    /// Reads the triangles of a surface.
    pub fn read(&mut self, surface: &Surface, positions: &[Vec3]) {
        self.triangles.clear();
        self.triangles.extend(surface.triangles());
        self.adjacency.build(positions.len(), &self.triangles);
        self.normals.clear();
        self.quadrics.clear();
        self.quadrics.resize(positions.len(), Quadric::default());
        for &corners in &self.triangles {
            let [a, b, c] = corners.map(|v| positions[v as usize]);
            let normal = normal_of([a, b, c]);
            self.normals.push(normal);
            let quadric = Quadric::of_plane(a, normal, (b - a).cross(c - a).length());
            corners.iter().for_each(|&v| self.quadrics[v as usize].add(&quadric));
        }
    }

    /// Returns the link of a vertex: the edges opposite to it in its triangles.
    pub fn link(&self, vertex: u32) -> impl Iterator<Item = [u32; 2]> + Clone + '_ {
        let opposite = move |&t: &u32| opposite_edge(self.triangles[t as usize], vertex);
        self.adjacency.of(vertex).iter().map(opposite)
    }

    /// Returns the triangle across the edge from corner `k` of a triangle to the next, and the
    /// corner of it that is not on that edge.
    pub fn across(&self, triangle: u32, k: usize) -> Option<(u32, u32)> {
        let corners = self.triangles[triangle as usize];
        let [a, b] = [corners[k], corners[(k + 1) % 3]];
        self.adjacency.of(a).iter().find_map(|&t| {
            let [corner, end] = opposite_edge(self.triangles[t as usize], a);
            (end == b).then_some((t, corner))
        })
    }
}
