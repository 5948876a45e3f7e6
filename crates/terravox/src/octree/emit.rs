//! Vertices and triangles of a contour.
//!
//! A quad is cut along its shorter diagonal, but only one that ends at a smallest node: that node
//! has the edge to itself, so no other polygon can connect the same two vertices. A polygon with
//! vertices between its corners becomes a fan around its centre.

use crate::mesh::{MaterialBlend, Surface, blend, unit_normal};

use super::polygon::{ContourDraft, ContourPolygon, ContourStats};
use super::sheets::{EdgeVertex, separate};
use super::tree::{NodeCube, Octree};

/// Writes a contour. `uniform`: all nodes have one size and are in order.
pub(super) fn write(
    octree: &Octree,
    found: &mut ContourDraft,
    uniform: bool,
    out: &mut Surface,
) -> ContourStats {
    out.clear();
    let mut mixed = octree.mixed_from(found.cubes.first().map_or(0, |cube| cube.node));
    for &cube in &found.cubes {
        let materials = match uniform {
            true => mixed.next_of(cube.node),
            false => octree.mixed_of(cube.node),
        };
        push_vertex(octree, cube, materials, out);
    }
    let mut shown =
        ContourStats { nodes: found.cubes.len(), split: 0, polygons: found.polygons.len() };
    // Before corners are renumbered for further sheets.
    let cuts: Vec<u8> = match uniform {
        true => Vec::new(),
        false => found.polygons.iter().map(|p| diagonals(p, &found.cubes)).collect(),
    };
    let mut middles = Vec::new();
    if found.rough.contains(&true) {
        (middles, shown.split) = separate(octree, found, out);
    }
    out.indices.reserve(6 * found.polygons.len());
    out.loose_materials.reserve(2 * found.polygons.len());
    let mut middles = middles.as_slice();
    for (number, polygon) in found.polygons.iter().enumerate() {
        let count = middles.iter().take_while(|middle| middle.polygon == number as u32).count();
        let (own, rest) = middles.split_at(count);
        middles = rest;
        if own.is_empty() {
            push_polygon(polygon, cuts.get(number).copied().unwrap_or(3), out);
        } else {
            push_fan(polygon, own, out);
        }
    }
    shown
}

/// Appends the vertex of a node. `materials` are given if its solid corners differ.
fn push_vertex(octree: &Octree, cube: NodeCube, materials: Option<[u8; 8]>, out: &mut Surface) {
    let node = &octree.nodes[cube.node as usize];
    let edge = (1u32 << cube.level) as f32;
    let offset = node.offset(edge);
    let centre = 0.5 * edge + octree.shift;
    out.positions.push([0, 1, 2].map(|axis| (cube.min[axis] as f32 + centre) + offset[axis]));
    out.normals.push(node.normal());
    let (mut ids, mut count) = ([0; 8], 0);
    for (corner, material) in materials.into_iter().flatten().enumerate() {
        if node.inside >> corner & 1 == 1 {
            ids[count] = material;
            count += 1;
        }
    }
    let MaterialBlend { materials, weights } = match count {
        0 => MaterialBlend::one(node.material),
        count => blend(&ids[..count]),
    };
    out.materials.push(materials);
    out.weights.push(weights);
}

/// Returns the diagonals along which a quad may be cut: bit 0 from its first corner, bit 1 from its
/// second.
fn diagonals(polygon: &ContourPolygon, cubes: &[NodeCube]) -> u8 {
    let smallest = |k: usize| cubes[polygon.corners[k] as usize].level == polygon.level;
    u8::from(smallest(0) || smallest(2)) | u8::from(smallest(1) || smallest(3)) << 1
}

fn push_polygon(polygon: &ContourPolygon, diagonals: u8, out: &mut Surface) {
    let (ring, count) = polygon.ring();
    let [a, b, c, d] = ring;
    if count == 3 {
        push_triangle(polygon, [a, b, c], out);
        return;
    }
    let length = |from: u32, to: u32| {
        let [p, q] = [from, to].map(|v| out.positions[v as usize]);
        let d: [f32; 3] = std::array::from_fn(|axis| p[axis] - q[axis]);
        (d[0] * d[0] + d[1] * d[1]) + d[2] * d[2]
    };
    let first = diagonals & 2 == 0 || diagonals & 1 == 1 && length(a, c) <= length(b, d);
    for triangle in if first { [[a, b, c], [a, c, d]] } else { [[b, c, d], [b, d, a]] } {
        push_triangle(polygon, triangle, out);
    }
}

/// Appends a triangle with corners in the order of the polygon's.
fn push_triangle(polygon: &ContourPolygon, [a, b, c]: [u32; 3], out: &mut Surface) {
    out.indices.extend(if polygon.up { [a, b, c] } else { [a, c, b] });
    out.loose_materials.push(polygon.material);
}

/// Appends a polygon with vertices between its corners, as a fan around its centre.
fn push_fan(polygon: &ContourPolygon, middles: &[EdgeVertex], out: &mut Surface) {
    let (ring, count) = polygon.ring();
    let mut around = Vec::with_capacity(8);
    for k in 0..count {
        let (from, to) = (ring[k], ring[(k + 1) % count]);
        around.push(from);
        let ends = if polygon.up { [from, to] } else { [to, from] };
        let between = middles.iter().filter(|middle| middle.between == ends);
        around.extend(between.map(|middle| middle.vertex));
    }
    let share = 1.0 / around.len() as f32;
    let mean = |of: &[[f32; 3]]| -> [f32; 3] {
        std::array::from_fn(|axis| {
            around.iter().map(|&v| of[v as usize][axis]).sum::<f32>() * share
        })
    };
    let (position, normal) = (mean(&out.positions), mean(&out.normals));
    let centre = out.positions.len() as u32;
    out.positions.push(position);
    out.normals.push(unit_normal(normal, [0.0; 3]));
    out.materials.push([polygon.material, 0, 0, 0]);
    out.weights.push([255, 0, 0, 0]);
    for k in 0..around.len() {
        push_triangle(polygon, [around[k], around[(k + 1) % around.len()], centre], out);
    }
}
