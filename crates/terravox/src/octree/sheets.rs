//! Splits nodes into sheets, which makes the contour of any nodes manifold.
//!
//! The polygons around a node are connected through its faces. A face with two crossed edges
//! connects two polygons; where more are crossed, crossings are paired around the solid between
//! them, so that solids that touch stay apart, in the same way on both sides of the face. Connected
//! polygons are a sheet, and every sheet has its own vertex. If the same two vertices are then
//! connected by several edges, each edge gets a vertex in its middle. Compare "Manifold Dual
//! Contouring" (Schaefer, Ju, Warren 2007) and the mesher's rule for corners, which this
//! generalises to nodes of any size.

use crate::mesh::{Surface, unit_normal};

use super::polygon::{ContourDraft, ContourPolygon};
use super::tree::{NodeCube, Octree};

/// A vertex in the middle of an edge of a polygon.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct EdgeVertex {
    pub polygon: u32,
    /// The ends of the edge, in the order of the polygon.
    pub between: [u32; 2],
    pub vertex: u32,
}

/// A face between two nodes with more than two crossed edges, and the polygons paired there.
struct AmbiguousFace {
    nodes: [u32; 2],
    pairs: Vec<[u32; 2]>,
}

/// A crossing of the face between a node and another: the other's vertex, whether the polygon leads
/// there, and the index of the polygon among the node's.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct FaceCrossing {
    other: u32,
    out: bool,
    at: usize,
}

/// Gives every sheet of the rough nodes its own vertex, in the polygons and in `out`. Returns the
/// edge vertices by polygon, and the number of nodes with several sheets.
// Inlined, it costs the clustering 8 %.
#[inline(never)]
pub(super) fn separate(
    octree: &Octree,
    found: &mut ContourDraft,
    out: &mut Surface,
) -> (Vec<EdgeVertex>, usize) {
    let ContourDraft { cubes, rough, polygons, .. } = found;
    let mut uses: Vec<[u32; 2]> = Vec::new();
    for (number, polygon) in polygons.iter().enumerate() {
        let (ring, count) = polygon.ring();
        let rough = ring[..count].iter().filter(|&&vertex| rough[vertex as usize]);
        uses.extend(rough.map(|&vertex| [vertex, number as u32]));
    }
    uses.sort_unstable();
    let mut ambiguous = Vec::new();
    let mut moves = Vec::new();
    let mut split = 0;
    for node in uses.chunk_by(|a, b| a[0] == b[0]) {
        let sheets = sheets_of(node, cubes, polygons, &mut ambiguous);
        let count = sheets.iter().max().map_or(0, |most| most + 1);
        if count < 2 {
            continue;
        }
        split += 1;
        for sheet in 0..count {
            let of = node.iter().zip(&sheets).filter(|(_, of)| **of == sheet);
            let of: Vec<u32> = of.map(|(use_, _)| use_[1]).collect();
            let vertex = place_sheet(octree, cubes, node[0][0], sheet, &of, polygons, out);
            moves.extend(of.into_iter().map(|polygon| (polygon, node[0][0], vertex)));
        }
    }
    for &(polygon, from, to) in &moves {
        let corners = &mut polygons[polygon as usize].corners;
        corners.iter_mut().filter(|corner| **corner == from).for_each(|corner| *corner = to);
    }
    (middles(ambiguous, &moves, polygons, out), split)
}

/// Returns the sheet of each polygon of a node, numbered from 0.
fn sheets_of(
    node: &[[u32; 2]],
    cubes: &[NodeCube],
    polygons: &[ContourPolygon],
    ambiguous: &mut Vec<AmbiguousFace>,
) -> Vec<usize> {
    let vertex = node[0][0];
    let mut crossings = Vec::with_capacity(2 * node.len());
    for (at, &[_, polygon]) in node.iter().enumerate() {
        let [before, after] = polygons[polygon as usize].beside(vertex);
        crossings.push(FaceCrossing { other: before, out: false, at });
        crossings.push(FaceCrossing { other: after, out: true, at });
    }
    crossings.sort_unstable();
    let mut sheets: Vec<usize> = (0..node.len()).collect();
    for face in crossings.chunk_by(|a, b| a.other == b.other) {
        if let [a, b] = face {
            join(&mut sheets, a.at, b.at);
            continue;
        }
        let other = face[0].other;
        let of = |crossing: &FaceCrossing| node[crossing.at][1];
        let pairs =
            paired([vertex, other].map(|v| cubes[v as usize]), face, |c| &polygons[of(c) as usize]);
        for [a, b] in &pairs {
            join(&mut sheets, a.at, b.at);
        }
        if vertex < other {
            let pairs = pairs.iter().map(|pair| pair.map(|c| of(&c))).collect();
            ambiguous.push(AmbiguousFace { nodes: [vertex, other], pairs });
        }
    }
    number(&mut sheets);
    sheets
}

/// Merges the sheets of two polygons.
fn join(sheets: &mut [usize], a: usize, b: usize) {
    let (from, to) = (sheets[a].max(sheets[b]), sheets[a].min(sheets[b]));
    sheets.iter_mut().filter(|sheet| **sheet == from).for_each(|sheet| *sheet = to);
}

/// Renumbers sheets from 0 without gaps.
fn number(sheets: &mut [usize]) {
    let mut names: Vec<usize> = sheets.to_vec();
    names.sort_unstable();
    names.dedup();
    for sheet in sheets {
        *sheet = names.partition_point(|name| name < sheet);
    }
}

/// Pairs the crossings of the face between two nodes: those at both ends of each solid stretch of
/// its rim.
fn paired<'a>(
    nodes: [NodeCube; 2],
    face: &[FaceCrossing],
    polygon: impl Fn(&FaceCrossing) -> &'a ContourPolygon,
) -> Vec<[FaceCrossing; 2]> {
    let rim = FaceRim::between(nodes);
    let mut around: Vec<(i32, bool, FaceCrossing)> = face
        .iter()
        .map(|crossing| {
            let (at, leaves) = rim.place(polygon(crossing));
            (at, leaves, *crossing)
        })
        .collect();
    around.sort_unstable_by_key(|crossing| crossing.0);
    let count = around.len();
    let enters = (0..count).filter(|&i| !around[i].1);
    enters.map(|i| [around[i].2, around[(i + 1) % count].2]).collect()
}

/// The rim of the face between two nodes: that of the smaller.
struct FaceRim {
    axis: usize,
    /// Twice its centre, in cells.
    centre: [i32; 3],
    /// Its edge, in cells.
    edge: i32,
}

impl FaceRim {
    fn between([a, b]: [NodeCube; 2]) -> FaceRim {
        let (small, large) = if a.level <= b.level { (a, b) } else { (b, a) };
        let (edge, reach) = (1 << small.level, 1 << large.level);
        let touches = |axis: usize| {
            let low = small.min[axis] == large.min[axis] + reach;
            low || small.min[axis] + edge == large.min[axis]
        };
        let axis = (0..3).find(|&axis| touches(axis)).unwrap_or(0);
        let mut centre = small.min.map(|m| 2 * m + edge);
        centre[axis] += if small.min[axis] < large.min[axis] { edge } else { -edge };
        FaceRim { axis, centre, edge }
    }

    /// Returns the position of a polygon's edge around the rim, and whether the solid ends there.
    fn place(&self, polygon: &ContourPolygon) -> (i32, bool) {
        let (u, v) = ((self.axis + 1) % 3, (self.axis + 2) % 3);
        let middle = polygon.middle();
        let (du, dv, h) = (middle[u] - self.centre[u], middle[v] - self.centre[v], self.edge);
        let (at, forward) = if dv == -h {
            (du + h, true)
        } else if du == h {
            (3 * h + dv, true)
        } else if dv == h {
            (5 * h - du, false)
        } else {
            (7 * h - dv, false)
        };
        (at, forward == polygon.up)
    }
}

/// Places the vertex of a sheet at the mean of the edges that it crosses. The first sheet takes the
/// node's vertex, others get new ones.
fn place_sheet(
    octree: &Octree,
    cubes: &[NodeCube],
    node: u32,
    sheet: usize,
    of: &[u32],
    polygons: &[ContourPolygon],
    out: &mut Surface,
) -> u32 {
    let (mut sum, mut normal) = ([0i64; 3], [0.0; 3]);
    for &polygon in of {
        let polygon = &polygons[polygon as usize];
        let middle = polygon.middle();
        for axis in 0..3 {
            sum[axis] += i64::from(middle[axis]);
        }
        normal[usize::from(polygon.axis)] += if polygon.up { 1.0 } else { -1.0 };
    }
    // In 1/4096 of the node's edge.
    let edge = 1i64 << cubes[node as usize].level;
    let parts = sum.map(|s| (s * 2048).div_euclid(edge * of.len() as i64));
    let position = parts.map(|p| p as f32 * (edge as f32 / 4096.0) + octree.shift);
    let normal = unit_normal(normal, [0.0; 3]);
    let at = node as usize;
    if sheet == 0 {
        (out.positions[at], out.normals[at]) = (position, normal);
        return node;
    }
    out.positions.push(position);
    out.normals.push(normal);
    out.materials.push(out.materials[at]);
    out.weights.push(out.weights[at]);
    out.positions.len() as u32 - 1
}

/// Makes the vertices in the middle of edges that connect the same two vertices several times.
fn middles(
    ambiguous: Vec<AmbiguousFace>,
    moves: &[(u32, u32, u32)],
    polygons: &[ContourPolygon],
    out: &mut Surface,
) -> Vec<EdgeVertex> {
    let mut middles = Vec::new();
    let mut moves = moves.to_vec();
    moves.sort_unstable();
    let now = |polygon: u32, node: u32| {
        let at = moves.partition_point(|m| (m.0, m.1) < (polygon, node));
        moves.get(at).filter(|m| (m.0, m.1) == (polygon, node)).map_or(node, |m| m.2)
    };
    for AmbiguousFace { nodes, pairs } in ambiguous {
        let ends = |pair: &[u32; 2]| nodes.map(|node| now(pair[0], node));
        for pair in &pairs {
            let [a, b] = ends(pair);
            if pairs.iter().filter(|other| ends(other) == [a, b]).count() < 2 {
                continue;
            }
            let vertex = push_middle([a, b], pair.map(|p| polygons[p as usize].middle()), out);
            for &polygon in pair {
                let forward = polygons[polygon as usize].beside(a)[1] == b;
                let between = if forward { [a, b] } else { [b, a] };
                middles.push(EdgeVertex { polygon, between, vertex });
            }
        }
    }
    middles.sort_unstable();
    middles
}

/// Appends a vertex halfway between two vertices, moved halfway to the crossed edges of its two
/// polygons, so that it is away from those of others.
fn push_middle(ends: [u32; 2], edges: [[i32; 3]; 2], out: &mut Surface) -> u32 {
    let [a, b] = ends.map(|end| end as usize);
    let position = std::array::from_fn(|axis| {
        let edge = (edges[0][axis] + edges[1][axis]) as f32 * 0.25;
        0.5 * (0.5 * (out.positions[a][axis] + out.positions[b][axis]) + edge)
    });
    let normal = std::array::from_fn(|axis| out.normals[a][axis] + out.normals[b][axis]);
    out.positions.push(position);
    out.normals.push(unit_normal(normal, out.normals[a]));
    out.materials.push(out.materials[a]);
    out.weights.push(out.weights[a]);
    out.positions.len() as u32 - 1
}
