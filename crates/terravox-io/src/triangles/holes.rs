//! Welds the vertices of a mesh that lie at one place, and closes its holes.
//!
//! The edges that are used more often in one direction than in the other form loops. Each loop is
//! closed by a fan from the mean of its vertices, so that every point has a whole winding number
//! again: a hole is where its rim is, and nothing floods through it. The same makes good for
//! triangles that face the wrong way, as their rim counts twice.
//!
//! Source: the winding number with a hole is that of the closed mesh less the solid angle of the
//! lid, and where it passes ½ is near a lid that is flat (Jacobson, Kavan, Sorkine, "Robust
//! inside-outside segmentation using generalized winding numbers", 2013).

use super::error::MeshError;
use crate::import_budget::ImportBudget;
use rayon::prelude::*;

/// Vertices are rounded to multiples of 1 / PARTS of a voxel, as where distances are computed.
const PARTS: f64 = 4096.0;

/// Memory of a vertex: rounded, sorted, and its new number.
const VERTEX_BYTES: u64 = 48;
/// Units of work of a vertex.
const VERTEX_WORK: u64 = 128;
/// Memory of a triangle: a copy, and its edges.
const TRIANGLE_BYTES: u64 = 60;
/// Units of work of a triangle.
const TRIANGLE_WORK: u64 = 256;
/// Memory of an edge of a hole, and of the triangle that closes it.
const RIM_BYTES: u64 = 160;
/// Units of work of an edge of a hole.
const RIM_WORK: u64 = 256;

/// A closed mesh in voxels.
#[derive(Debug, Default)]
pub(super) struct ClosedMesh {
    /// Multiples of 1 / 4096.
    pub vertices: Vec<[f64; 3]>,
    pub triangles: Vec<[u32; 3]>,
    /// Loops of unmatched edges that were closed; a reversed triangle counts twice.
    pub holes: u64,
    /// Edges of all these loops.
    pub rim_edges: u64,
    /// The longest side of the bounding box of one of them, voxels.
    pub widest_hole: f64,
}

impl ClosedMesh {
    /// Welds and closes a mesh in voxels. Coordinates from `origin`, which are whole, are at most
    /// 2^16.
    pub fn new(
        positions: &[[f64; 3]],
        triangles: &[[u32; 3]],
        origin: [f64; 3],
        budget: &mut ImportBudget,
    ) -> Result<ClosedMesh, MeshError> {
        let count = positions.len() as u64;
        budget.spend_memory("its vertices", VERTEX_BYTES.saturating_mul(count))?;
        budget.spend_work("its vertices", VERTEX_WORK.saturating_mul(count))?;
        let count = triangles.len() as u64;
        budget.spend_memory("its triangles", TRIANGLE_BYTES.saturating_mul(count))?;
        budget.spend_work("its triangles", TRIANGLE_WORK.saturating_mul(count))?;
        // The casts saturate where a vertex that no triangle uses is far away or NaN.
        let part = |p: &[f64; 3]| [0, 1, 2].map(|i| ((p[i] - origin[i]) * PARTS).round() as i32);
        let parts: Vec<[i32; 3]> = positions.iter().map(part).collect();
        let numbers = numbers_by_place(&parts);
        let mut whole = Vec::with_capacity(triangles.len());
        let triangles = triangles.iter().map(|corners| corners.map(|v| numbers[v as usize]));
        whole.extend(triangles.filter(|&[a, b, c]| a != b && b != c && c != a));
        let place = |part: &[i32; 3]| [0, 1, 2].map(|i| f64::from(part[i]) / PARTS + origin[i]);
        let vertices = parts.iter().map(place).collect();
        let mut closed = ClosedMesh { vertices, triangles: whole, ..ClosedMesh::default() };
        let missing = closed.missing_edges();
        let count = missing.len() as u64;
        budget.spend_memory("its holes", RIM_BYTES.saturating_mul(count))?;
        budget.spend_work("its holes", RIM_WORK.saturating_mul(count))?;
        closed.rim_edges = count;
        for_each_loop(&missing, |rim| closed.close(rim));
        Ok(closed)
    }

    /// Returns the directed edges that would close the mesh, sorted.
    fn missing_edges(&self) -> Vec<[u32; 2]> {
        let sides = |&[a, b, c]: &[u32; 3]| [[a, b], [b, c], [c, a]];
        let mut edges: Vec<[u32; 3]> = Vec::with_capacity(3 * self.triangles.len());
        let sides = self.triangles.iter().flat_map(sides);
        edges.extend(sides.map(|[a, b]| [a.min(b), a.max(b), u32::from(a < b)]));
        edges.par_sort_unstable();
        let mut missing = Vec::new();
        for uses in edges.chunk_by(|p, q| p[..2] == q[..2]) {
            let [low, high, _] = uses[0];
            let rising = uses.iter().filter(|edge| edge[2] == 1).count();
            let falling = uses.len() - rising;
            missing.extend(std::iter::repeat_n([high, low], rising.saturating_sub(falling)));
            missing.extend(std::iter::repeat_n([low, high], falling.saturating_sub(rising)));
        }
        missing.sort_unstable();
        missing
    }

    /// Closes a hole with this rim: each vertex goes to the next, the last to the first.
    fn close(&mut self, rim: &[u32]) {
        let at = |v: u32| self.vertices[v as usize];
        let [mut low, mut high, mut sum] = [at(rim[0]), at(rim[0]), [0.0; 3]];
        for &v in rim {
            let p = at(v);
            low = [0, 1, 2].map(|i| low[i].min(p[i]));
            high = [0, 1, 2].map(|i| high[i].max(p[i]));
            sum = [0, 1, 2].map(|i| sum[i] + p[i]);
        }
        let width = (0..3).map(|i| high[i] - low[i]).fold(0.0, f64::max);
        self.widest_hole = self.widest_hole.max(width);
        self.holes += 1;
        if let &[a, b, c] = rim {
            self.triangles.push([a, b, c]);
            return;
        }
        let round = |v: f64| (v / rim.len() as f64 * PARTS).round() / PARTS;
        let middle = self.vertices.len() as u32;
        self.vertices.push(sum.map(round));
        for (i, &a) in rim.iter().enumerate() {
            self.triangles.push([a, rim[(i + 1) % rim.len()], middle]);
        }
    }
}

/// Returns for each vertex the number of the first one at its place.
fn numbers_by_place(parts: &[[i32; 3]]) -> Vec<u32> {
    let mut order: Vec<u32> = (0..parts.len() as u32).collect();
    order.par_sort_unstable_by_key(|&v| (parts[v as usize], v));
    let mut numbers = vec![0; parts.len()];
    for same in order.chunk_by(|&p, &q| parts[p as usize] == parts[q as usize]) {
        same.iter().for_each(|&v| numbers[v as usize] = same[0]);
    }
    numbers
}

/// Calls `each` with the loops of sorted directed edges, of which as many end as begin at each
/// vertex. A loop passes no vertex twice.
fn for_each_loop(edges: &[[u32; 2]], mut each: impl FnMut(&[u32])) {
    let first_of = |v: u32| edges.partition_point(|edge| edge[0] < v);
    // By place of the first edge of a vertex: the next edge to take, and the vertex's place in the
    // path.
    let mut next: Vec<u32> = (0..edges.len() as u32).collect();
    let mut places = vec![u32::MAX; edges.len()];
    let (mut path, mut firsts): (Vec<u32>, Vec<usize>) = (Vec::new(), Vec::new());
    for start in 0..edges.len() {
        let mut vertex = edges[start][0];
        loop {
            let first = first_of(vertex);
            if places[first] != u32::MAX {
                let begin = places[first] as usize;
                each(&path[begin..]);
                firsts[begin..].iter().for_each(|&first| places[first] = u32::MAX);
                path.truncate(begin);
                firsts.truncate(begin);
            }
            let edge = next[first] as usize;
            if edges.get(edge).is_none_or(|edge| edge[0] != vertex) {
                // All edges are taken: the path is empty, since every loop was closed.
                break;
            }
            next[first] += 1;
            places[first] = path.len() as u32;
            path.push(vertex);
            firsts.push(first);
            vertex = edges[edge][1];
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn loops(mut edges: Vec<[u32; 2]>) -> Vec<Vec<u32>> {
        edges.sort_unstable();
        let mut all = Vec::new();
        for_each_loop(&edges, |rim| all.push(rim.to_vec()));
        all
    }

    fn closed(positions: &[[f64; 3]], triangles: &[[u32; 3]]) -> ClosedMesh {
        let mut budget = ImportBudget::for_input(1000);
        ClosedMesh::new(positions, triangles, [0.0; 3], &mut budget).unwrap()
    }

    #[test]
    fn loops_that_touch_in_a_vertex_are_two() {
        assert!(loops(Vec::new()).is_empty());
        let edges = vec![[1, 2], [2, 3], [3, 1], [3, 4], [4, 5], [5, 3]];
        assert_eq!(loops(edges), [vec![1, 2, 3], vec![3, 4, 5]]);
        // Twice the same loop.
        assert_eq!(loops(vec![[7, 8], [8, 9], [9, 7], [7, 8], [8, 9], [9, 7]]).len(), 2);
    }

    proptest! {
        #[test]
        fn any_triangles_become_a_closed_mesh(
            triangles in prop::collection::vec([0..12_u32, 0..12, 0..12], 1..40),
        ) {
            // Some vertices lie at one place.
            let place = |v: u32| [f64::from(v % 5), f64::from(v % 3), f64::from(v / 6)];
            let positions: Vec<_> = (0..12).map(place).collect();
            let mesh = closed(&positions, &triangles);
            prop_assert!(mesh.missing_edges().is_empty());
        }
    }

    #[test]
    fn a_wrongly_turned_triangle_is_turned_and_a_hole_of_four_gets_a_middle() {
        let positions = [[0.0; 3], [4.0, 0.0, 0.0], [0.0, 4.0, 0.0], [0.0, 0.0, 4.0]];
        let turned = [[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 3, 2]];
        let mesh = closed(&positions, &turned);
        let uses = |t: [u32; 3]| {
            mesh.triangles
                .iter()
                .filter(|u| (0..3).any(|i| [u[i], u[(i + 1) % 3], u[(i + 2) % 3]] == t))
                .count()
        };
        assert_eq!((uses([1, 3, 2]), uses([1, 2, 3]), mesh.holes), (1, 2, 2));
        // A pyramid without its floor, of vertices that are there twice.
        let corner = |i: u32| [f64::from(i & 1), 0.0, f64::from(i >> 1 & 1)];
        let mut positions: Vec<_> = (0..8).map(|i| corner(i % 4)).collect();
        positions.push([0.5, 1.0, 0.5]);
        let mesh = closed(&positions, &[[0, 8, 1], [5, 8, 3], [7, 8, 6], [2, 8, 4]]);
        assert_eq!((mesh.holes, mesh.rim_edges, mesh.triangles.len()), (1, 4, 8));
        assert_eq!(mesh.vertices.last(), Some(&[0.5, 0.0, 0.5]));
        assert_eq!(mesh.widest_hole, 1.0);
    }
}
