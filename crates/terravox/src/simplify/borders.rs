//! Vertex kinds and border edges: which vertices are locked, and which new edges could clash with
//! a neighbouring block.

use super::quadric::Quadric;
use super::triangle_mesh::TriangleMesh;
use crate::mesh::Surface;
use glam::Vec3;
use rustc_hash::FxHashMap;

/// How far a vertex may lie from the side of its block that it belongs to, in cells, where
/// blocks of mips that differ by one touch.
const SIDE_DISTANCE_CELLS: f32 = 1.5;

/// How the triangles around a vertex are connected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum VertexKind {
    /// A closed fan.
    Manifold,
    /// An open fan, from one border edge to another.
    Border,
    /// Anything else, or no triangle.
    Complex,
}

/// By vertex: its kind, and whether it may move.
#[derive(Default)]
pub(super) struct Borders {
    pub kinds: Vec<VertexKind>,
    /// Vertices that are never removed.
    pub locked: Vec<bool>,
    /// Those locked from the start, which a neighbouring block may share.
    shared: Vec<bool>,
    /// The first vertex at each position.
    by_position: FxHashMap<[u32; 3], u32>,
}

impl Borders {
    /// Classifies the vertices of `surface`, whose triangles are in `mesh`. A free border gets
    /// quadrics that keep its shape.
    pub fn read(
        &mut self,
        surface: &Surface,
        mesh: &mut TriangleMesh,
        positions: &[Vec3],
        free_border: bool,
    ) {
        let vertices = 0..surface.vertex_count() as u32;
        self.kinds.clear();
        self.kinds.extend(vertices.clone().map(|v| kind_of(mesh, v)));
        if free_border {
            let is_border = |v: &u32| self.kinds[*v as usize] == VertexKind::Border;
            vertices.filter(is_border).for_each(|v| add_border_quadrics(mesh, v, positions));
        }
        self.lock(surface, free_border);
    }

    /// Locks border and complex vertices, and those that share their position with another.
    fn lock(&mut self, surface: &Surface, free_border: bool) {
        let is_locked = |kind: &VertexKind| match kind {
            VertexKind::Manifold => false,
            VertexKind::Border => !free_border,
            VertexKind::Complex => true,
        };
        self.locked.clear();
        self.locked.extend(self.kinds.iter().map(is_locked));
        self.by_position.clear();
        for (v, position) in (0..).zip(&surface.positions) {
            let first = *self.by_position.entry(position.map(f32::to_bits)).or_insert(v);
            if first != v {
                self.locked[first as usize] = true;
                self.locked[v as usize] = true;
            }
        }
        self.shared.clone_from(&self.locked);
    }

    /// Whether an edge would run along a side of the block from border to border. The
    /// neighbouring block may have the same one, and then four triangles would share it.
    pub fn may_clash(&self, edge: [u32; 2], positions: &[Vec3], block_size: [f32; 3]) -> bool {
        if !edge.iter().all(|v| self.shared[*v as usize]) {
            return false;
        }
        let [p, q] = edge.map(|v| positions[v as usize]);
        let (low, high) = (p.min(q), p.max(q));
        (0..3).any(|axis| {
            high[axis] <= SIDE_DISTANCE_CELLS || block_size[axis] - low[axis] <= SIDE_DISTANCE_CELLS
        })
    }
}

/// Returns how the triangles around a vertex are connected.
fn kind_of(mesh: &TriangleMesh, vertex: u32) -> VertexKind {
    let edges = || mesh.link(vertex);
    let count = mesh.adjacency.of(vertex).len();
    let next = |from: u32| edges().find(|edge| edge[0] == from).map(|edge| edge[1]);
    let is_end = |v: u32| edges().all(|edge| edge[1] != v);
    let Some(any) = edges().next() else { return VertexKind::Complex };
    let first = edges().map(|edge| edge[0]).find(|&v| is_end(v));
    let (mut at, mut steps) = (first.unwrap_or(any[0]), 0);
    let start = at;
    while let Some(then) = next(at) {
        (at, steps) = (then, steps + 1);
        if at == start || steps > count {
            break;
        }
    }
    match (steps == count, at == start, first) {
        (true, true, None) => VertexKind::Manifold,
        (true, false, Some(_)) => VertexKind::Border,
        _ => VertexKind::Complex,
    }
}

/// Returns the two vertices to which a border vertex has border edges.
pub(super) fn border_neighbours(mesh: &TriangleMesh, vertex: u32) -> [u32; 2] {
    let edges = mesh.link(vertex);
    let is_first = |v: &u32| edges.clone().all(|edge| edge[1] != *v);
    let is_last = |v: &u32| edges.clone().all(|edge| edge[0] != *v);
    let first = edges.clone().map(|edge| edge[0]).find(is_first);
    let last = edges.clone().map(|edge| edge[1]).find(is_last);
    [first, last].map(|v| v.unwrap_or(vertex))
}

/// Adds planes through the border edges of a vertex, perpendicular to their triangles.
fn add_border_quadrics(mesh: &mut TriangleMesh, vertex: u32, positions: &[Vec3]) {
    let at = positions[vertex as usize];
    for end in border_neighbours(mesh, vertex) {
        let has_edge = |t: &&u32| mesh.triangles[**t as usize].contains(&end);
        let Some(&t) = mesh.adjacency.of(vertex).iter().find(has_edge) else { continue };
        let edge = positions[end as usize] - at;
        let normal = edge.cross(mesh.normals[t as usize]).normalize_or_zero();
        let quadric = Quadric::of_plane(at, normal, edge.length_squared());
        mesh.quadrics[vertex as usize].add(&quadric);
        mesh.quadrics[end as usize].add(&quadric);
    }
}
