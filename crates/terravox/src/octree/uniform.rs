//! Polygons between nodes of one size, without recursion: each node looks up the nodes around the
//! three edges at its min corner in a table.
//!
//! In Morton order, lower nodes come first on every axis, so one pass is enough. The slow twin is
//! the recursion of [`contour`](super::contour).

use crate::mesh::{CORNERS, SIDE};

use super::node::side;
use super::polygon::{ContourDraft, ContourPolygon};
use super::tree::{NodeCube, Octree};

/// Maximum number of nodes along an edge for which the table is used.
const MOST: u32 = 64;

/// Finds the polygons between the nodes of a level. Returns false, without any, if a leaf is larger
/// or the table would be too large.
pub(super) fn find(octree: &Octree, level: u8, found: &mut ContourDraft) -> bool {
    let Some(along) = octree.levels.checked_sub(level).filter(|&above| 1 << above <= MOST) else {
        return false;
    };
    if !min_corners(octree, level, &mut found.corners, &mut found.spare) {
        return false;
    }
    let ContourDraft { table, corners, .. } = found;
    table.clear();
    table.resize(1 << (3 * along), u32::MAX);
    for (number, &corner) in corners.iter().enumerate() {
        table[index(unpacked(corner), along)] = number as u32;
    }
    polygons(octree, level, along, found);
    number(octree, level, found);
    true
}

/// Numbers the nodes that have a vertex.
fn number(octree: &Octree, level: u8, found: &mut ContourDraft) {
    let ContourDraft { spare: numbers, corners, cubes, rough, polygons, .. } = found;
    numbers.clear();
    numbers.resize(corners.len(), 0);
    for corner in polygons.iter().flat_map(|polygon| polygon.corners) {
        numbers[corner as usize] = 1;
    }
    let first = octree.starts[usize::from(level)];
    for ((number, &corner), node) in numbers.iter_mut().zip(corners.iter()).zip(first..) {
        if *number == 1 {
            *number = cubes.len() as u32;
            cubes.push(NodeCube {
                node,
                level,
                min: unpacked(corner).map(|a| (a << level) as i32),
            });
            let inside = octree.nodes[node as usize].inside;
            rough.push(CORNERS[usize::from(inside)].is_special());
        }
    }
    for corner in polygons.iter_mut().flat_map(|polygon| &mut polygon.corners) {
        *corner = numbers[*corner as usize];
    }
}

/// Unpacks a position from a byte per axis.
fn unpacked(corner: u32) -> [u32; 3] {
    [corner & 255, corner >> 8 & 255, corner >> 16]
}

fn index([x, y, z]: [u32; 3], along: u8) -> usize {
    (x | z << along | y << (2 * along)) as usize
}

/// Lists the min corners of the nodes of a level, in nodes, a byte per axis. Returns false if a
/// leaf is larger.
fn min_corners(octree: &Octree, level: u8, corners: &mut Vec<u32>, spare: &mut Vec<u32>) -> bool {
    corners.clear();
    corners.extend((!octree.is_empty()).then_some(0));
    for above in (level + 1..=octree.levels).rev() {
        spare.clear();
        let first = octree.starts[usize::from(above)] - octree.starts[1];
        for (mut children, corner) in octree.links.octants_from(first).zip(corners.iter()) {
            if children == 0 {
                return false;
            }
            while children != 0 {
                let octant = children.trailing_zeros() as u8;
                children &= children - 1;
                let [x, y, z] = [0, 1, 2].map(|axis| side(octant, axis) as u32);
                spare.push(2 * corner + (x | y << 8 | z << 16));
            }
        }
        std::mem::swap(corners, spare);
    }
    true
}

fn polygons(octree: &Octree, level: u8, along: u8, found: &mut ContourDraft) {
    let ContourDraft { table, corners, polygons, .. } = found;
    let first = octree.starts[usize::from(level)];
    let steps = [1, 1 << (2 * along), 1 << along];
    let mut mixed = octree.mixed_from(first);
    for (number, &corner) in corners.iter().enumerate() {
        let at = unpacked(corner);
        let own = index(at, along);
        let node = octree.nodes[first as usize + number];
        let materials = mixed.next_of(first + number as u32);
        for axis in 0..3 {
            let ends = [node.inside & 1, node.inside >> SIDE[axis] & 1];
            let (u, v) = ((axis + 1) % 3, (axis + 2) % 3);
            if ends[0] == ends[1] || at[u] == 0 || at[v] == 0 {
                continue;
            }
            let around =
                [own - steps[u] - steps[v], own - steps[v], own, own - steps[u]].map(|i| table[i]);
            if around.contains(&u32::MAX) {
                continue;
            }
            let up = ends[0] == 1;
            let solid = if up { 0 } else { SIDE[axis] };
            let material = materials.map_or(node.material, |m| m[usize::from(solid)]);
            let at = at.map(|a| (a << level) as i32);
            polygons.push(ContourPolygon {
                corners: around,
                axis: axis as u8,
                up,
                level,
                at,
                material,
            });
        }
    }
}
