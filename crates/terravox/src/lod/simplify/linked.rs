//! Triangles, those around each vertex, and their planes.

use super::fans::{Around, Fans, opposite};
use super::quadric::Quadric;
use super::triangle::normal_of;
use crate::mesh::Surface;
use glam::Vec3;

/// No vertex, no triangle.
pub(super) const NONE: u32 = u32::MAX;

/// Triangles, and what is known of them.
#[derive(Clone, Default)]
pub(super) struct Linked {
    /// [`NONE`] three times for those that are gone.
    pub triangles: Vec<[u32; 3]>,
    /// Unit; 0 without area.
    pub normals: Vec<Vec3>,
    pub fans: Fans,
    /// By vertex, of the triangles around.
    pub quadrics: Vec<Quadric>,
}

impl Linked {
    /// Of a surface, whose vertices are there.
    pub fn read(&mut self, surface: &Surface, places: &[Vec3]) {
        self.triangles.clear();
        self.triangles.extend(surface.triangles());
        self.fans.read(places.len(), &self.triangles);
        self.normals.clear();
        self.quadrics.clear();
        self.quadrics.resize(places.len(), Quadric::default());
        for &corners in &self.triangles {
            let [a, b, c] = corners.map(|v| places[v as usize]);
            let normal = normal_of([a, b, c]);
            self.normals.push(normal);
            let quadric = Quadric::of_plane(a, normal, (b - a).cross(c - a).length());
            corners.iter().for_each(|&v| self.quadrics[v as usize].add(&quadric));
        }
    }

    /// How the triangles around a vertex touch.
    pub fn around(&self, vertex: u32) -> Around {
        self.fans.around(vertex, &self.triangles)
    }

    /// The edges of a vertex' triangles that it is not an end of.
    pub fn edges(&self, vertex: u32) -> impl Iterator<Item = [u32; 2]> + Clone + '_ {
        self.fans.of(vertex).iter().map(move |&t| opposite(self.triangles[t as usize], vertex))
    }

    /// The triangle beyond an edge of one, from its corner `k` to the next, and the corner
    /// that it has there.
    pub fn beyond(&self, triangle: u32, k: usize) -> Option<(u32, u32)> {
        let corners = self.triangles[triangle as usize];
        let [a, b] = [corners[k], corners[(k + 1) % 3]];
        self.fans.of(a).iter().find_map(|&t| {
            let [corner, end] = opposite(self.triangles[t as usize], a);
            (end == b).then_some((t, corner))
        })
    }

    /// The two vertices that a vertex of the border has edges of the border to.
    pub fn ends(&self, vertex: u32) -> [u32; 2] {
        let edges = self.edges(vertex);
        let is_first = |v: &u32| edges.clone().all(|edge| edge[1] != *v);
        let is_last = |v: &u32| edges.clone().all(|edge| edge[0] != *v);
        let first = edges.clone().map(|edge| edge[0]).find(is_first);
        let last = edges.clone().map(|edge| edge[1]).find(is_last);
        [first, last].map(|v| v.unwrap_or(vertex))
    }

    /// Planes upright on the edges of the border that end at a vertex.
    pub fn add_rim(&mut self, vertex: u32, places: &[Vec3]) {
        let at = places[vertex as usize];
        for end in self.ends(vertex) {
            let beside = |t: &&u32| self.triangles[**t as usize].contains(&end);
            let Some(&t) = self.fans.of(vertex).iter().find(beside) else { continue };
            let edge = places[end as usize] - at;
            let upright = edge.cross(self.normals[t as usize]).normalize_or_zero();
            let quadric = Quadric::of_plane(at, upright, edge.length_squared());
            self.quadrics[vertex as usize].add(&quadric);
            self.quadrics[end as usize].add(&quadric);
        }
    }
}
