//! The angle of the surface at each side of a quad. Contacts need it so that a body that slides
//! over an inner edge gets no bump, and one on a ridge is held.
//!
//! For each side the angle to the triangle across, positive where convex, is rounded up
//! to a code of four bits (0 where flat or concave). After the contact rule of Jolt's
//! active edges and the signed angles measured for this project.
//!
//! **Inside a block** the angle is exact. The two sides of a mesh edge find each other in the
//! slots of that lattice edge, one for each direction along it: all quads have the same
//! winding, so the two pass their edge in opposite directions. Where several sheets touch a corner
//! (rare), sides are paired by their vertices instead.
//!
//! **Across the block's border** the other triangle is unknown. Twice the angle from the
//! triangle to the mean of its two vertex normals replaces it, all projected along the edge
//! (180° where that mean is at more than a right angle to the triangle).
//! Vertices have the same normals in all blocks, so of the two triangles at a border edge
//! one lies at least half the angle from that mean: **one of the two blocks gives at
//! least the exact angle** (unless another triangle replaces one of the two, see below).
//! A contact on the edge is found in both. On generated hills and in real caves 12 % of
//! all sides are on the border; of these 6 and 13 % get less than the exact angle from
//! their own block, 0.6 and 3.5 % by 5° and more, 1 and 4 % get more than 4° where the
//! exact angle is 0. Exact neighbours would need meshes of 10³ cells for blocks of 8³: 50 % more
//! time for the mesher, more than everything here.
//!
//! A triangle without area, or one that folds back (it is at more than a right angle to the
//! other of its quad, and against its vertices' normals), is replaced by the other triangle of
//! its quad. Where both are so, the angles at their sides are 0 on both sides of the edges.

#[doc(hidden)]
pub mod naive;
mod pair;
#[cfg(test)]
mod tests;

use glam::{Mat4, Vec4, Vec4Swizzles};

use crate::geometry::{codes_of, codes_of_halves};
use crate::mesh::Surface;
use crate::voxel::Region;

use pair::{Pairing, corners};

/// Scratch memory of [`edge_angles`]. Keep one per thread and reuse it.
#[derive(Debug, Default)]
pub struct EdgeScratch {
    /// The vertices' positions.
    points: Vec<Vec4>,
    /// The normal that stands for each triangle: its own unit normal, or that of the other one of
    /// its quad; 0 if both have none.
    guides: Vec<Vec4>,
    pairing: Pairing,
}

/// A doubled area, squared, up to which a triangle has no direction, voxels⁴.
const LEAST_AREA: f32 = 1e-8;

/// Makes `out` the codes of the sides of all quads of a surface of `block`, four bits
/// each from the lowest on: side `k` lies between corners `k` and `k + 1` of the quad's
/// vertices a, b, c, d, whose triangles are a, b, c and a, c, d. Sides 0 and 1 belong to
/// the first, 2 and 3 to the second. [`EdgeAngle`](crate::geometry::EdgeAngle) decodes them.
///
/// # Panics
/// If the surface is not one of a mesh of that block.
pub fn edge_angles(
    surface: &Surface,
    block: Region,
    scratch: &mut EdgeScratch,
    out: &mut Vec<u16>,
) {
    let EdgeScratch { points, guides, pairing } = scratch;
    points.clear();
    points.extend(surface.positions.iter().map(|p| vector(*p)));
    let quads = surface.quad_count();
    // The last one stands for missing triangles.
    guides.clear();
    guides.resize(2 * quads + 1, Vec4::ZERO);
    let each = guides.as_chunks_mut::<2>().0;
    for (guides, i) in each.iter_mut().zip(surface.indices.chunks_exact(6)) {
        *guides = guides_of(surface, points, corners(i));
    }
    let guides = guides.as_slice();
    out.clear();
    out.resize(quads, 0);
    let whole = surface.plain_quads == quads;
    pairing.plain(surface, block, |quad, at, across, open| {
        let own = [guides[2 * quad], guides[2 * quad + 1]];
        let mut codes = inner_codes(points, at, own, across.map(|side| guides[side / 2]));
        if whole && open != 0 {
            codes |= border_codes(surface, points, at, own) & open;
        }
        out[quad] = codes;
    });
    if !whole {
        others(surface, scratch, out);
    }
}

/// The codes of special quads and of what adjoins them, and of the border with these.
#[cold]
fn others(surface: &Surface, scratch: &mut EdgeScratch, out: &mut [u16]) {
    let EdgeScratch { points, guides, pairing } = scratch;
    let quad_at = |side: usize| corners(&surface.indices[6 * (side / 4)..6 * (side / 4) + 6]);
    pairing.others(surface, |first, second| {
        for (side, other) in [(first, second), (second, first)] {
            let mut across = [Vec4::ZERO; 4];
            across[side % 4] = guides[other / 2];
            let own = [guides[side / 2]; 2];
            out[side / 4] |= inner_codes(points, quad_at(side), own, across);
        }
    });
    for &side in &pairing.open {
        let side = side as usize;
        let own = [guides[side / 2]; 2];
        let codes = border_codes(surface, points, quad_at(side), own);
        out[side / 4] |= codes & 15 << (4 * (side % 4));
    }
}

/// The guides of a quad's triangles.
#[inline(always)]
fn guides_of(surface: &Surface, points: &[Vec4], at: [usize; 4]) -> [Vec4; 2] {
    let [a, b, c, d] = at.map(|v| points[v]);
    let diagonal = c - a;
    let normals = [cross(b - a, diagonal), cross(diagonal, d - a)];
    let areas = normals.map(|n| n.dot(n));
    let ordinary = (areas[0].min(areas[1]) > LEAST_AREA) & (normals[0].dot(normals[1]) >= 0.0);
    if !ordinary {
        return stand_ins(surface, at, normals);
    }
    [normals[0] * (1.0 / areas[0].sqrt()), normals[1] * (1.0 / areas[1].sqrt())]
}

/// The guides of a quad of which a triangle has no area or one folds back.
#[cold]
fn stand_ins(surface: &Surface, at: [usize; 4], normals: [Vec4; 2]) -> [Vec4; 2] {
    let [a, b, c, d] = at.map(|v| vector(surface.normals[v]));
    let outward = [a + b + c, a + c + d];
    let area = normals.map(|n| n.dot(n));
    let folded = normals[0].dot(normals[1]) < 0.0 && area[0].min(area[1]) > LEAST_AREA;
    let guide = |i: usize| {
        let back = folded && normals[i].dot(outward[i]) < 0.0;
        (area[i] > LEAST_AREA && !back).then(|| normals[i] * (1.0 / area[i].sqrt()))
    };
    let [first, second] = [guide(0), guide(1)];
    [first.or(second), second.or(first)].map(Option::unwrap_or_default)
}

/// Values of the four sides of a quad, by axis.
type Lanes = [Vec4; 3];

/// The axes of four vectors.
#[inline(always)]
fn lanes(vectors: [Vec4; 4]) -> Lanes {
    let [a, b, c, d] = vectors;
    let turned = Mat4::from_cols(a, b, c, d).transpose();
    [turned.x_axis, turned.y_axis, turned.z_axis]
}

/// The sides of a quad, each from its corner to the next.
#[inline(always)]
fn sides_of(points: &[Vec4], at: [usize; 4]) -> Lanes {
    lanes(at.map(|v| points[v])).map(|x| x.yzwx() - x)
}

/// Codes of a quad's sides, from the guides of its triangles and of those across.
#[inline(always)]
fn inner_codes(points: &[Vec4], at: [usize; 4], own: [Vec4; 2], across: [Vec4; 4]) -> u16 {
    let own = lanes([own[0], own[0], own[1], own[1]]);
    let across = lanes(across);
    let outward = dots(crosses(sides_of(points, at), own), across);
    codes_of(dots(own, across), outward)
}

/// Codes of sides whose other triangles are missing, from the guides of a quad's own.
fn border_codes(surface: &Surface, points: &[Vec4], at: [usize; 4], own: [Vec4; 2]) -> u16 {
    let own = lanes([own[0], own[0], own[1], own[1]]);
    let edges = sides_of(points, at);
    let means = lanes(at.map(|v| vector(surface.normals[v]))).map(|x| x + x.yzwx());
    // Seen along the edge.
    let along = dots(means, edges) / dots(edges, edges).max(Vec4::splat(f32::MIN_POSITIVE));
    let means: Lanes = std::array::from_fn(|axis| means[axis] - edges[axis] * along);
    let length = dots(means, means).max(Vec4::splat(f32::MIN_POSITIVE)).sqrt();
    let cos = dots(own, means) / length;
    let inward = dots(own, own).cmpgt(Vec4::ZERO) & cos.cmple(Vec4::ZERO);
    codes_of_halves(cos, dots(crosses(edges, own), means), inward)
}

#[inline(always)]
fn vector(v: [f32; 3]) -> Vec4 {
    Vec4::new(v[0], v[1], v[2], 0.0)
}

#[inline(always)]
fn cross(a: Vec4, b: Vec4) -> Vec4 {
    (a * b.yzxw() - a.yzxw() * b).yzxw()
}

#[inline(always)]
fn dots(a: Lanes, b: Lanes) -> Vec4 {
    (a[0] * b[0] + a[1] * b[1]) + a[2] * b[2]
}

#[inline(always)]
fn crosses(a: Lanes, b: Lanes) -> Lanes {
    [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]
}
