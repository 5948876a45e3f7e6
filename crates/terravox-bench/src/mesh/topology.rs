//! Whether meshes are closed: vertices welded by exact integer key across blocks, every
//! edge used once in each direction, every vertex ringed by one cycle of triangles.
//!
//! Source: the usual definition of a closed, oriented 2-manifold; no tolerance is
//! involved anywhere.

use rustc_hash::FxHashMap;

use super::surface::{Surface, VertexId};

/// Size of a welded mesh, and its defects.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Topology {
    /// Triangles.
    pub triangles: u64,
    /// Welded vertices.
    pub vertices: u64,
    /// Edges used by a single triangle.
    pub open_edges: u64,
    /// Edges used by more than two triangles, or by two in the same direction.
    pub nonmanifold_edges: u64,
    /// Vertices whose triangles do not form one cycle around them.
    pub bad_links: u64,
    /// Triangles that use a vertex twice.
    pub collapsed: u64,
}

impl Topology {
    /// Adds the counts of another mesh.
    pub fn add(&mut self, other: Topology) {
        self.triangles += other.triangles;
        self.vertices += other.vertices;
        self.open_edges += other.open_edges;
        self.nonmanifold_edges += other.nonmanifold_edges;
        self.bad_links += other.bad_links;
        self.collapsed += other.collapsed;
    }
}

/// Joins the meshes of blocks and counts the defects of the whole.
#[derive(Default)]
pub struct Weld {
    ids: FxHashMap<VertexId, u32>,
    triangles: Vec<[u32; 3]>,
}

impl Weld {
    /// Adds a block's triangles.
    pub fn add(&mut self, surface: &Surface) {
        let welded: Vec<u32> = surface.keys.iter().map(|&key| self.id(key)).collect();
        self.triangles.extend(surface.triangles.iter().map(|t| t.map(|v| welded[v as usize])));
    }

    fn id(&mut self, key: VertexId) -> u32 {
        let next = self.ids.len() as u32;
        assert!(next < 1 << 31, "too many vertices to weld");
        *self.ids.entry(key).or_insert(next)
    }

    /// Counts the defects.
    pub fn count_defects(&self) -> Topology {
        let mut topology = Topology {
            triangles: self.triangles.len() as u64,
            vertices: self.ids.len() as u64,
            ..Topology::default()
        };
        let mut edges = Vec::with_capacity(self.triangles.len() * 3);
        let mut wedges = Vec::with_capacity(self.triangles.len() * 3);
        for &[a, b, c] in &self.triangles {
            topology.collapsed += u64::from(a == b || b == c || c == a);
            for (vertex, from, to) in [(a, b, c), (b, c, a), (c, a, b)] {
                edges.push(edge_use(vertex, from));
                wedges.push(Wedge { vertex, from, to });
            }
        }
        count_edges(&mut edges, &mut topology);
        wedges.sort_unstable();
        let links = wedges.chunk_by(|a, b| a.vertex == b.vertex);
        topology.bad_links = links.filter(|wedges| !is_one_cycle(wedges)).count() as u64;
        topology
    }
}

/// A corner of a triangle: its vertex, and the next two around the triangle.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Wedge {
    vertex: u32,
    from: u32,
    to: u32,
}

/// One use of an edge, sortable so that all uses of an edge are neighbours: both
/// ends, the lower first, and whether it is used from the higher to the lower.
fn edge_use(from: u32, to: u32) -> u64 {
    u64::from(from.min(to)) << 32 | u64::from(from.max(to)) << 1 | u64::from(from > to)
}

fn count_edges(edges: &mut [u64], topology: &mut Topology) {
    edges.sort_unstable();
    for uses in edges.chunk_by(|a, b| a >> 1 == b >> 1) {
        match uses {
            [_] => topology.open_edges += 1,
            [forward, back] if forward != back => {}
            _ => topology.nonmanifold_edges += 1,
        }
    }
}

/// Returns whether the wedges of one vertex, sorted, lead through all of them once and back to the
/// first.
fn is_one_cycle(wedges: &[Wedge]) -> bool {
    let mut at = 0;
    for step in 1..=wedges.len() {
        let to = wedges[at].to;
        let Ok(next) = wedges.binary_search_by_key(&to, |wedge| wedge.from) else { return false };
        let twice = wedges.get(next + 1).is_some_and(|wedge| wedge.from == to)
            || (next > 0 && wedges[next - 1].from == to);
        if twice {
            return false;
        }
        at = next;
        if at == 0 {
            return step == wedges.len();
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::super::surface::tests::sphere;
    use super::*;
    use glam::DVec3;

    fn judge(surfaces: &[&Surface]) -> Topology {
        let mut weld = Weld::default();
        surfaces.iter().for_each(|surface| weld.add(surface));
        weld.count_defects()
    }

    fn by_keys(triangles: &[[i32; 3]]) -> Surface {
        let mut surface = Surface::default();
        for triangle in triangles {
            let base = surface.keys.len() as u32;
            surface.keys.extend(triangle.map(|v| [v, 0, 0, 0]));
            surface.triangles.push([base, base + 1, base + 2]);
        }
        surface
    }

    const TETRAHEDRON: [[i32; 3]; 4] = [[0, 2, 1], [0, 1, 3], [1, 2, 3], [2, 0, 3]];

    #[test]
    fn a_sphere_is_closed_though_its_triangles_share_no_vertex_but_by_key() {
        let found = judge(&[&sphere(DVec3::ZERO, 5.0, 4)]);
        let good = Topology { triangles: 2048, vertices: 1026, ..Topology::default() };
        assert_eq!(found, good);
    }

    #[test]
    fn blocks_are_welded_by_key() {
        let whole = by_keys(&TETRAHEDRON);
        assert_eq!(judge(&[&whole]).open_edges, 0);
        let parts = [by_keys(&TETRAHEDRON[..1]), by_keys(&TETRAHEDRON[1..])];
        assert_eq!(judge(&[&parts[0], &parts[1]]), judge(&[&whole]));
        assert_eq!(judge(&[&parts[1]]).open_edges, 3);
    }

    #[test]
    fn a_torn_mesh_has_open_edges_and_bad_links() {
        let mut torn = sphere(DVec3::ZERO, 5.0, 3);
        torn.triangles.remove(17);
        let found = judge(&[&torn]);
        assert_eq!((found.open_edges, found.nonmanifold_edges, found.bad_links), (3, 0, 3));
    }

    #[test]
    fn a_key_that_differs_between_blocks_tears_the_mesh() {
        let mut torn = by_keys(&TETRAHEDRON);
        torn.keys[1][3] = 1;
        assert!(judge(&[&torn]).open_edges > 0);
    }

    #[test]
    fn a_flipped_triangle_is_not_manifold() {
        let mut flipped = by_keys(&TETRAHEDRON);
        flipped.triangles[2].swap(0, 1);
        let found = judge(&[&flipped]);
        assert_eq!((found.open_edges, found.nonmanifold_edges), (0, 3));
        assert!(found.bad_links >= 3);
    }

    #[test]
    fn two_bodies_that_share_an_edge_are_not_manifold_there() {
        let other = TETRAHEDRON.map(|t| t.map(|v| if v < 2 { v } else { v + 10 }));
        let found = judge(&[&by_keys(&TETRAHEDRON), &by_keys(&other)]);
        assert_eq!((found.open_edges, found.nonmanifold_edges, found.bad_links), (0, 1, 2));
    }

    #[test]
    fn two_bodies_that_share_a_vertex_are_pinched_there() {
        let other = TETRAHEDRON.map(|t| t.map(|v| if v < 1 { v } else { v + 10 }));
        let found = judge(&[&by_keys(&TETRAHEDRON), &by_keys(&other)]);
        assert_eq!((found.open_edges, found.nonmanifold_edges, found.bad_links), (0, 0, 1));
    }

    #[test]
    fn a_triangle_that_names_a_vertex_twice_is_counted() {
        assert_eq!(judge(&[&by_keys(&[[1, 1, 2]])]).collapsed, 1);
    }
}
