//! The slow twin: angles in f64, from a mesh that also shows what lies around the block,
//! by the keys of its vertices.

use glam::DVec3;
use rustc_hash::FxHashMap;

use crate::mesh::{Surface, VertexKey};

use super::LEAST_AREA;
use super::pair::corners;

/// What is across a quad's side.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Side {
    /// Angle to the triangle there, positive if convex, radians; `None` where the surface
    /// ends or where a triangle has no direction.
    pub angle: Option<f64>,
    /// Whether that triangle is of the same block.
    pub own: bool,
    /// Whether another triangle stands for one of the two: it leaves the edge.
    pub through: bool,
}

/// What is across the sides of all quads of `surface`. `around` shows them and at least
/// all faces that share an edge with one. Both have keys.
pub fn sides(surface: &Surface, around: &Surface) -> Vec<[Side; 4]> {
    let edges = directed_edges(around);
    let own = directed_edges(surface);
    let side = |quad: usize, normals: &[DVec3; 2], k: usize| {
        let corners = quad_corners(surface, quad);
        let (from, to) = (corners[k], corners[(k + 1) % 4]);
        let key = [surface.keys[to], surface.keys[from]];
        let along = position(surface, to) - position(surface, from);
        let other = edges.get(&key).copied().unwrap_or_default();
        let through = [normals[k / 2], other].iter().any(|n| n.dot(along).abs() > 1e-9);
        let angle = angle(normals[k / 2], along, other);
        Side { angle, own: own.contains_key(&key), through }
    };
    let quads = (0..surface.quad_count()).map(|quad| (quad, guides(surface, quad)));
    quads.map(|(quad, normals)| std::array::from_fn(|k| side(quad, &normals, k))).collect()
}

/// Normals of the triangles at all sides of quads, by the keys of the side's ends.
fn directed_edges(surface: &Surface) -> FxHashMap<[VertexKey; 2], DVec3> {
    let mut edges = FxHashMap::default();
    for quad in 0..surface.quad_count() {
        let normals = guides(surface, quad);
        let keys = quad_corners(surface, quad).map(|v| surface.keys[v]);
        for k in 0..4 {
            edges.insert([keys[k], keys[(k + 1) % 4]], normals[k / 2]);
        }
    }
    edges
}

/// The unit normals of a quad's triangles, or what stands for them.
fn guides(surface: &Surface, quad: usize) -> [DVec3; 2] {
    let corners = quad_corners(surface, quad);
    let [a, b, c, d] = corners.map(|v| position(surface, v));
    let [na, nb, nc, nd] = corners.map(|v| DVec3::from(surface.normals[v].map(f64::from)));
    let unit = |n: DVec3| {
        if n.length_squared() <= f64::from(LEAST_AREA) { DVec3::ZERO } else { n.normalize() }
    };
    let mut normals = [unit((b - a).cross(c - a)), unit((c - a).cross(d - a))];
    if normals[0].dot(normals[1]) < 0.0 {
        let outward = [na + nb + nc, na + nc + nd];
        for (normal, outward) in normals.iter_mut().zip(outward) {
            if normal.dot(outward) < 0.0 {
                *normal = DVec3::ZERO;
            }
        }
    }
    let [n, m] = normals;
    [if n == DVec3::ZERO { m } else { n }, if m == DVec3::ZERO { n } else { m }]
}

/// Angle between the guides of a triangle and of the one across its side `along`,
/// positive where that bends away.
fn angle(normal: DVec3, along: DVec3, other: DVec3) -> Option<f64> {
    if normal == DVec3::ZERO || other == DVec3::ZERO {
        return None;
    }
    let angle = normal.cross(other).length().atan2(normal.dot(other));
    Some(if along.cross(normal).dot(other) > 0.0 { angle } else { -angle })
}

fn position(surface: &Surface, vertex: usize) -> DVec3 {
    DVec3::from(surface.positions[vertex].map(f64::from))
}

fn quad_corners(surface: &Surface, quad: usize) -> [usize; 4] {
    corners(&surface.indices[6 * quad..6 * quad + 6])
}
