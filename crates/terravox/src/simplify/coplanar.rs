//! Merges level squares of quads into fans, at no error: quads in one lattice plane with the same
//! material and vertex attributes are the same surface however they are triangulated.
//!
//! Squares of 2, 4 and 8 quads along the edge, as large as fit, become a fan around their middle
//! vertex. A vertex on the rim of a square goes only if it goes from all squares around it, so no
//! crack opens; border vertices stay. (The idea is that of restricted quadtrees: Von Herzen and
//! Barr, "Accurate Triangulations of Deformed, Intersecting Surfaces", 1987; fans of any count make
//! the restriction unnecessary.)

use super::compact::compacted;
use crate::mesh::Surface;
use rustc_hash::FxHashMap;

/// Quads along the edge of the largest square, a power of two.
const MAX_SQUARE_QUADS: usize = 8;

/// Vertices along the edge of the largest square.
const ROW_VERTICES: usize = MAX_SQUARE_QUADS + 1;

/// Stands for no quad or vertex.
const NONE: u32 = u32::MAX;

/// Planes this near a side of the block, in cells, are not merged: the neighbouring block expects
/// the edges along it.
const SIDE_DISTANCE_CELLS: f32 = 2.0;

/// Scratch memory of the merge.
#[derive(Default)]
pub(super) struct CoplanarMerger {
    /// Quads of the lattice, sorted by plane and square.
    quads: Vec<LatticeQuad>,
    squares: Vec<Square>,
    /// By vertex: quads around it.
    uses: Vec<u8>,
    /// By vertex: quads around it whose squares have it on their rim.
    rim_uses: Vec<u8>,
    /// By vertex: whether it must stay.
    locked: Vec<bool>,
    /// By quad: whether it is part of a square.
    taken: Vec<bool>,
    /// The first vertex at each position.
    by_position: FxHashMap<[u32; 3], u32>,
}

/// A quad that is a unit square of the lattice, in a plane perpendicular to an axis.
#[derive(Clone, Copy)]
struct LatticeQuad {
    plane: LatticePlane,
    /// The largest square that it lies in, and its position there.
    square: [i32; 2],
    at: [u8; 2],
    /// Its index in the surface.
    quad: u32,
    /// Vertices, the first axis fastest.
    corners: [u32; 4],
}

/// A plane perpendicular to an axis.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct LatticePlane {
    axis: u8,
    /// Whether it faces in the positive direction.
    up: bool,
    /// Bits of its coordinate.
    at: u32,
}

/// A square that becomes a fan.
struct Square {
    middle: u32,
    material: u8,
    /// The vertices around it, counter-clockwise as seen from outside.
    rim: [u32; 4 * MAX_SQUARE_QUADS],
    /// Quads along its edge; the rim has four times as many vertices.
    edge: usize,
}

impl CoplanarMerger {
    /// Returns the surface with level squares merged and all triangles loose; `None` if there are
    /// too few to gain from. `block_size` is given if neighbouring blocks must still fit. Surfaces
    /// with morph targets are not merged: their targets may not be level.
    pub fn merge(&mut self, surface: &Surface, block_size: Option<[f32; 3]>) -> Option<Surface> {
        if !surface.targets.positions.is_empty() {
            return None;
        }
        self.list_quads(surface, block_size);
        // Fewer are not worth it.
        if self.quads.len() * 8 < surface.quad_count() {
            return None;
        }
        self.read_uses(surface);
        self.find_squares(surface);
        (!self.squares.is_empty()).then(|| self.surface(surface))
    }

    /// Lists the lattice quads.
    fn list_quads(&mut self, surface: &Surface, block_size: Option<[f32; 3]>) {
        self.quads.clear();
        let quads = 0..surface.quad_count() as u32;
        self.quads.extend(quads.filter_map(|quad| lattice_quad(surface, quad, block_size)));
        self.quads.sort_unstable_by_key(|quad| (quad.plane, quad.square, quad.quad));
    }

    /// Counts the quads around each vertex. Locks vertices of loose triangles and those that share
    /// their position with another.
    fn read_uses(&mut self, surface: &Surface) {
        let count = surface.vertex_count();
        for uses in [&mut self.uses, &mut self.rim_uses] {
            uses.clear();
            uses.resize(count, 0);
        }
        self.locked.clear();
        self.locked.resize(count, false);
        self.taken.clear();
        self.taken.resize(surface.quad_count(), false);
        let add = |uses: &mut Vec<u8>, v: u32| {
            uses[v as usize] = uses[v as usize].saturating_add(1);
        };
        let quads = surface.quad_count();
        for quad in 0..quads {
            corners_of(surface, quad as u32).into_iter().for_each(|v| add(&mut self.uses, v));
        }
        surface.indices[6 * quads..].iter().for_each(|&v| self.locked[v as usize] = true);
        self.by_position.clear();
        for (v, position) in (0..).zip(&surface.positions) {
            let first = *self.by_position.entry(position.map(f32::to_bits)).or_insert(v);
            if first != v {
                self.locked[first as usize] = true;
                self.locked[v as usize] = true;
            }
        }
    }

    fn find_squares(&mut self, surface: &Surface) {
        self.squares.clear();
        let quads = std::mem::take(&mut self.quads);
        let is_same = |a: &LatticeQuad, b: &LatticeQuad| (a.plane, a.square) == (b.plane, b.square);
        for group in quads.chunk_by(is_same) {
            if group.len() < 4 {
                continue;
            }
            let mut table = [NONE; MAX_SQUARE_QUADS * MAX_SQUARE_QUADS];
            for (i, quad) in (0..).zip(group) {
                let [u, w] = quad.at.map(usize::from);
                table[u + MAX_SQUARE_QUADS * w] = i;
            }
            self.divide(surface, group, &table, [0, 0], MAX_SQUARE_QUADS);
        }
        self.quads = quads;
    }

    /// Adds this square if all of it matches; else tries its quarters.
    fn divide(
        &mut self,
        surface: &Surface,
        group: &[LatticeQuad],
        table: &[u32; MAX_SQUARE_QUADS * MAX_SQUARE_QUADS],
        [u, w]: [usize; 2],
        edge: usize,
    ) {
        if let Some(square) = self.square(surface, group, table, [u, w], edge) {
            for (i, &v) in square.rim[..4 * edge].iter().enumerate() {
                if i % edge == 0 {
                    self.locked[v as usize] = true;
                }
                self.rim_uses[v as usize] += 2;
            }
            for at in
                (w..w + edge).flat_map(|w| (u..u + edge).map(move |u| u + MAX_SQUARE_QUADS * w))
            {
                self.taken[group[table[at] as usize].quad as usize] = true;
            }
            self.squares.push(square);
        } else if edge > 2 {
            let half = edge / 2;
            for [du, dw] in [[0, 0], [half, 0], [0, half], [half, half]] {
                self.divide(surface, group, table, [u + du, w + dw], half);
            }
        }
    }

    /// Returns the square with this min corner, if all its quads exist, match and are connected.
    fn square(
        &self,
        surface: &Surface,
        group: &[LatticeQuad],
        table: &[u32; MAX_SQUARE_QUADS * MAX_SQUARE_QUADS],
        [u0, w0]: [usize; 2],
        edge: usize,
    ) -> Option<Square> {
        let first = group.get(*table.get(u0 + MAX_SQUARE_QUADS * w0)? as usize)?;
        let kind =
            (surface.quad_materials[first.quad as usize], attributes(surface, first.corners[0]));
        let mut vertices = [NONE; ROW_VERTICES * ROW_VERTICES];
        for (w, u) in (0..edge).flat_map(|w| (0..edge).map(move |u| (w, u))) {
            let quad = group.get(table[u0 + u + MAX_SQUARE_QUADS * (w0 + w)] as usize)?;
            if surface.quad_materials[quad.quad as usize] != kind.0 {
                return None;
            }
            let steps = [[0, 0], [1, 0], [0, 1], [1, 1]];
            for (corner, [du, dw]) in quad.corners.into_iter().zip(steps) {
                let own = &mut vertices[u + du + ROW_VERTICES * (w + dw)];
                if (*own != NONE && *own != corner) || attributes(surface, corner) != kind.1 {
                    return None;
                }
                *own = corner;
            }
        }
        let at = |u: usize, w: usize| vertices[u + ROW_VERTICES * w];
        let free = |v: u32| self.uses[v as usize] == 4 && !self.locked[v as usize];
        let middle = edge / 2;
        let inner = (1..edge).flat_map(|w| (1..edge).map(move |u| (u, w)));
        let mut gone = inner.filter(|&at| at != (middle, middle));
        if !gone.all(|(u, w)| free(at(u, w))) || self.uses[at(middle, middle) as usize] != 4 {
            return None;
        }
        let mut rim = [NONE; 4 * MAX_SQUARE_QUADS];
        for i in 0..edge {
            let sides = [at(i, 0), at(edge, i), at(edge - i, edge), at(0, edge - i)];
            for (side, v) in sides.into_iter().enumerate() {
                rim[i + side * edge] = v;
            }
        }
        if !first.plane.up {
            rim[..4 * edge].reverse();
            // A corner first, as before.
            rim[..4 * edge].rotate_right(1);
        }
        Some(Square { middle: at(middle, middle), material: kind.0, rim, edge })
    }

    /// Returns the surface of the fans and of all triangles outside the squares.
    fn surface(&self, surface: &Surface) -> Surface {
        let mut indices = Vec::with_capacity(surface.indices.len());
        let mut materials = Vec::with_capacity(surface.indices.len() / 3);
        let known = (0..).zip(surface.triangles().zip(surface.triangle_materials()));
        for (at, (triangle, material)) in known {
            if !self.taken.get(at / 2).is_some_and(|taken| *taken) {
                indices.extend(triangle);
                materials.push(material);
            }
        }
        let is_removed = |v: u32| {
            let v = v as usize;
            !self.locked[v] && self.uses[v] == 4 && self.rim_uses[v] == 4
        };
        let mut rim = Vec::with_capacity(4 * MAX_SQUARE_QUADS);
        for square in &self.squares {
            rim.clear();
            rim.extend(square.rim[..4 * square.edge].iter().filter(|&&v| !is_removed(v)));
            for (i, &v) in rim.iter().enumerate() {
                indices.extend([square.middle, v, rim[(i + 1) % rim.len()]]);
                materials.push(square.material);
            }
        }
        let out = compacted(surface, &indices);
        Surface { loose_materials: materials, ..out }
    }
}

/// Returns the attributes of a vertex.
fn attributes(surface: &Surface, v: u32) -> ([f32; 3], [u8; 4], [u8; 4]) {
    let v = v as usize;
    (surface.normals[v], surface.materials[v], surface.weights[v])
}

/// Returns the four vertices of a quad in winding order.
fn corners_of(surface: &Surface, quad: u32) -> [u32; 4] {
    let [first, second] = surface.quad(quad as usize);
    let other = second.into_iter().find(|v| !first.contains(v)).unwrap_or(second[0]);
    // It lies across the edge that both triangles share.
    let across = first.into_iter().position(|v| !second.contains(&v)).unwrap_or(0);
    let [a, b, c] = [0, 1, 2].map(|i| first[(across + i) % 3]);
    [a, b, other, c]
}

/// Returns a quad as a lattice quad, if it is one and not near a side of the block.
fn lattice_quad(surface: &Surface, quad: u32, block_size: Option<[f32; 3]>) -> Option<LatticeQuad> {
    let rim = corners_of(surface, quad);
    let positions = rim.map(|v| surface.positions[v as usize]);
    let is_level = |axis: usize| positions.iter().all(|p| p[axis] == positions[0][axis]);
    let axis = (0..3).find(|&axis| is_level(axis))?;
    let at = positions[0][axis];
    if block_size
        .is_some_and(|size| at < SIDE_DISTANCE_CELLS || size[axis] - at < SIDE_DISTANCE_CELLS)
    {
        return None;
    }
    let [first, second] = [(axis + 1) % 3, (axis + 2) % 3];
    let low =
        [first, second].map(|axis| positions.iter().fold(f32::MAX, |low, p| low.min(p[axis])));
    if low.iter().any(|v| v.fract() != 0.0 || v.abs() > 1e6) {
        return None;
    }
    let mut corners = [NONE; 4];
    for (&v, position) in rim.iter().zip(&positions) {
        let steps = [position[first] - low[0], position[second] - low[1]];
        if steps.iter().any(|step| *step != 0.0 && *step != 1.0) {
            return None;
        }
        corners[steps[0] as usize + 2 * steps[1] as usize] = v;
    }
    if corners.contains(&NONE) {
        return None;
    }
    // The quad faces in the positive direction if the winding goes from the first axis to the
    // second.
    let turn = |i: usize, axis: usize| positions[(i + 1) % 4][axis] - positions[i][axis];
    let up = turn(0, first) * turn(1, second) - turn(0, second) * turn(1, first) > 0.0;
    let low = low.map(|v| v as i32);
    Some(LatticeQuad {
        plane: LatticePlane { axis: axis as u8, up, at: at.to_bits() },
        square: low.map(|v| v.div_euclid(MAX_SQUARE_QUADS as i32)),
        at: low.map(|v| v.rem_euclid(MAX_SQUARE_QUADS as i32) as u8),
        quad,
        corners,
    })
}

#[cfg(test)]
mod tests {
    use super::super::naive::deviation;
    use super::*;
    use crate::mesh::{BlockMesh, Mesher, PAD, Welded};
    use crate::voxel::{Cell, DenseBox, MaterialTable, Region, VoxelPos};
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    /// Returns terraces of two materials, each of 8 × 8 columns of one height, with holes.
    fn terraces(heights: &[u8; 16], holes: &[[u8; 3]]) -> BlockMesh {
        let block = Region::new([0; 3], [32; 3]);
        let mut cells = DenseBox::new(block.grow(PAD));
        for at in Region::new([0; 3], [32, 32, 32]).voxels() {
            let height = heights[(at.x / 8 + 4 * (at.z / 8)) as usize];
            if at.y < i32::from(height) {
                cells.set(at, Cell::full(if at.x < 19 { 3 } else { 8 }));
            }
        }
        for hole in holes {
            let [x, y, z] = hole.map(i32::from);
            cells.set(VoxelPos::new(x, y, z), Cell::AIR);
        }
        let mut mesh = BlockMesh::new();
        Mesher::new().mesh_keyed(&cells, &MaterialTable::default(), &mut mesh);
        mesh
    }

    /// Returns the level area by axis, coordinate, direction and material.
    fn areas(surface: &Surface) -> BTreeMap<(usize, u32, bool, u8), f64> {
        let mut areas = BTreeMap::new();
        for (t, material) in surface.triangles().zip(surface.triangle_materials()) {
            let [a, b, c] = t.map(|v| surface.positions[v as usize].map(f64::from));
            for axis in 0..3 {
                if a[axis] == b[axis] && b[axis] == c[axis] {
                    let [i, j] = [(axis + 1) % 3, (axis + 2) % 3];
                    let double = (b[i] - a[i]) * (c[j] - a[j]) - (b[j] - a[j]) * (c[i] - a[i]);
                    let at = (a[axis] as f32).to_bits();
                    *areas.entry((axis, at, double > 0.0, material)).or_default() += double / 2.0;
                }
            }
        }
        areas
    }

    fn weld(surface: &Surface) -> Welded {
        let mut welded = Welded::default();
        welded.add(VoxelPos::ZERO, 0, surface);
        welded
    }

    #[test]
    fn level_squares_become_fans() {
        let mesh = terraces(&[9; 16], &[]);
        let merge = CoplanarMerger::default().merge(&mesh.solid, None).expect("squares are level");
        // The rim of the whole is rounded, and keeps all vertices.
        let [before, after] = [&mesh.solid, &merge].map(|s| s.triangle_count());
        assert!(after * 3 < before * 2, "{after} of {before}");
        assert_eq!(deviation(&mesh.solid, &merge, 2), 0.0);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(12))]
        #[test]
        fn merging_keeps_the_surface(
            heights in prop::array::uniform16(prop_oneof![Just(6_u8), Just(6), Just(7), 1..30_u8]),
            holes in prop::collection::vec(prop::array::uniform3(0..32_u8), 0..20),
        ) {
            let mesh = terraces(&heights, &holes);
            let mut flat = CoplanarMerger::default();
            weld(&mesh.solid).assert_manifold(|_| false);
            if let Some(merge) = flat.merge(&mesh.solid, None) {
                prop_assert!(merge.triangle_count() < mesh.solid.triangle_count());
                prop_assert_eq!(areas(&merge), areas(&mesh.solid));
                weld(&merge).assert_manifold(|_| false);
                // Again, with used scratch memory.
                prop_assert_eq!(flat.merge(&mesh.solid, None), Some(merge));
            }
        }
    }

    #[test]
    fn planes_near_a_shared_side_are_not_merged() {
        let mesh = terraces(&[1; 16], &[]);
        let near = CoplanarMerger::default().merge(&mesh.solid, Some([32.0; 3]));
        let alone = CoplanarMerger::default().merge(&mesh.solid, None).expect("squares are level");
        let level = |surface: &Surface| {
            let rim = surface
                .triangles()
                .filter(|t| t.iter().all(|&v| surface.positions[v as usize][1] == 1.0));
            rim.count()
        };
        assert!(near.as_ref().is_none_or(|near| level(near) == level(&mesh.solid)));
        assert!(level(&alone) < level(&mesh.solid));
    }
}
