//! Level squares of quads as few triangles, before anything is measured: what lies in one
//! plane of the lattice, with one material and one normal, is the same surface by whatever
//! triangles it is drawn.
//!
//! Squares of 2, 4 and 8 quads an edge, as large as fit, become a fan around the vertex in
//! their middle. A vertex on the rim of a square goes if it goes from all squares around it, so
//! that nothing opens; vertices of the border stay. (The idea is that of restricted quadtrees:
//! Von Herzen and Barr, "Accurate Triangulations of Deformed, Intersecting Surfaces", 1987;
//! fans of any count make the restriction needless.)

use super::left::with_used_vertices;
use crate::mesh::Surface;
use rustc_hash::FxHashMap;

/// Quads along the edge of the largest square, a power of two.
const EDGE: usize = 8;

/// Vertices along that edge.
const ROW: usize = EDGE + 1;

/// No quad, no vertex.
const NONE: u32 = u32::MAX;

/// Planes so near a side of a block, in cells, are left alone: edges along it have to be those
/// that the block beyond expects.
const FROM_SIDE: f32 = 2.0;

/// Finds level squares. Holds scratch memory.
#[derive(Default)]
pub(super) struct Flat {
    /// Quads of the lattice, sorted by plane and square.
    quads: Vec<LatticeQuad>,
    squares: Vec<Square>,
    /// By vertex: quads and loose triangles around it; quads of squares on whose rim it lies.
    uses: Vec<u8>,
    rim_uses: Vec<u8>,
    /// By vertex: whether it may not go.
    stays: Vec<bool>,
    /// By quad: whether a square has it.
    taken: Vec<bool>,
    places: FxHashMap<[u32; 3], u32>,
}

/// A quad that is a unit square of the lattice in an axis' plane.
#[derive(Clone, Copy)]
struct LatticeQuad {
    plane: Plane,
    /// The square of [`EDGE`] that it lies in.
    square: [i32; 2],
    /// Its place there.
    at: [u8; 2],
    number: u32,
    /// By corner: low, then along the first axis, then along the second.
    corners: [u32; 4],
}

/// A plane upright on an axis.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Plane {
    axis: u8,
    /// Whether it faces along the axis.
    up: bool,
    /// Bits of where it lies.
    at: u32,
}

/// A square that becomes a fan.
struct Square {
    middle: u32,
    material: u8,
    /// The vertices around, counter-clockwise as seen from outside.
    rim: [u32; 4 * EDGE],
    /// Quads along its edge; the rim has four times as many vertices.
    edge: usize,
}

impl Flat {
    /// The same surface with level squares as few triangles, all loose; `None` if there are
    /// hardly any. `block`: its size, if it is a block that others touch. Surfaces with
    /// targets are left alone: what is level may not be where it arrives.
    pub fn merged(&mut self, surface: &Surface, block: Option<[f32; 3]>) -> Option<Surface> {
        if !surface.targets.positions.is_empty() {
            return None;
        }
        self.list(surface, block);
        // Fewer gain nothing.
        if self.quads.len() * 8 < surface.quad_count() {
            return None;
        }
        self.read_uses(surface);
        self.find_squares(surface);
        (!self.squares.is_empty()).then(|| self.surface(surface))
    }

    /// Lists the quads of the lattice.
    fn list(&mut self, surface: &Surface, block: Option<[f32; 3]>) {
        self.quads.clear();
        let numbers = 0..surface.quad_count() as u32;
        self.quads.extend(numbers.filter_map(|number| lattice_quad(surface, number, block)));
        self.quads.sort_unstable_by_key(|quad| (quad.plane, quad.square, quad.number));
    }

    /// Counts what is around each vertex, and finds those that share their place.
    fn read_uses(&mut self, surface: &Surface) {
        let count = surface.vertex_count();
        for uses in [&mut self.uses, &mut self.rim_uses] {
            uses.clear();
            uses.resize(count, 0);
        }
        self.stays.clear();
        self.stays.resize(count, false);
        self.taken.clear();
        self.taken.resize(surface.quad_count(), false);
        let add = |uses: &mut Vec<u8>, v: u32| {
            uses[v as usize] = uses[v as usize].saturating_add(1);
        };
        let quads = surface.quad_count();
        for quad in 0..quads {
            corners_of(surface, quad as u32).into_iter().for_each(|v| add(&mut self.uses, v));
        }
        surface.indices[6 * quads..].iter().for_each(|&v| self.stays[v as usize] = true);
        self.places.clear();
        for (v, place) in (0..).zip(&surface.positions) {
            let first = *self.places.entry(place.map(f32::to_bits)).or_insert(v);
            if first != v {
                self.stays[first as usize] = true;
                self.stays[v as usize] = true;
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
            let mut table = [NONE; EDGE * EDGE];
            for (i, quad) in (0..).zip(group) {
                let [u, w] = quad.at.map(usize::from);
                table[u + EDGE * w] = i;
            }
            self.divide(surface, group, &table, [0, 0], EDGE);
        }
        self.quads = quads;
    }

    /// Makes a square if all of it is there and of one kind; else looks at its quarters.
    fn divide(
        &mut self,
        surface: &Surface,
        group: &[LatticeQuad],
        table: &[u32; EDGE * EDGE],
        [u, w]: [usize; 2],
        edge: usize,
    ) {
        if let Some(square) = self.square(surface, group, table, [u, w], edge) {
            for (i, &v) in square.rim[..4 * edge].iter().enumerate() {
                if i % edge == 0 {
                    self.stays[v as usize] = true;
                }
                self.rim_uses[v as usize] += 2;
            }
            for at in (w..w + edge).flat_map(|w| (u..u + edge).map(move |u| u + EDGE * w)) {
                self.taken[group[table[at] as usize].number as usize] = true;
            }
            self.squares.push(square);
        } else if edge > 2 {
            let half = edge / 2;
            for [du, dw] in [[0, 0], [half, 0], [0, half], [half, half]] {
                self.divide(surface, group, table, [u + du, w + dw], half);
            }
        }
    }

    /// The square with this low corner, if its quads are there, of one kind, and hang together.
    fn square(
        &self,
        surface: &Surface,
        group: &[LatticeQuad],
        table: &[u32; EDGE * EDGE],
        [u0, w0]: [usize; 2],
        edge: usize,
    ) -> Option<Square> {
        let first = group.get(*table.get(u0 + EDGE * w0)? as usize)?;
        let kind = (surface.quad_materials[first.number as usize], said(surface, first.corners[0]));
        let mut vertices = [NONE; ROW * ROW];
        for (w, u) in (0..edge).flat_map(|w| (0..edge).map(move |u| (w, u))) {
            let quad = group.get(table[u0 + u + EDGE * (w0 + w)] as usize)?;
            if surface.quad_materials[quad.number as usize] != kind.0 {
                return None;
            }
            let steps = [[0, 0], [1, 0], [0, 1], [1, 1]];
            for (corner, [du, dw]) in quad.corners.into_iter().zip(steps) {
                let own = &mut vertices[u + du + ROW * (w + dw)];
                if (*own != NONE && *own != corner) || said(surface, corner) != kind.1 {
                    return None;
                }
                *own = corner;
            }
        }
        let at = |u: usize, w: usize| vertices[u + ROW * w];
        let free = |v: u32| self.uses[v as usize] == 4 && !self.stays[v as usize];
        let middle = edge / 2;
        let inner = (1..edge).flat_map(|w| (1..edge).map(move |u| (u, w)));
        let mut gone = inner.filter(|&at| at != (middle, middle));
        if !gone.all(|(u, w)| free(at(u, w))) || self.uses[at(middle, middle) as usize] != 4 {
            return None;
        }
        let mut rim = [NONE; 4 * EDGE];
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

    /// The surface of what no square has, and fans.
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
        let goes = |v: u32| {
            let v = v as usize;
            !self.stays[v] && self.uses[v] == 4 && self.rim_uses[v] == 4
        };
        let mut left = Vec::with_capacity(4 * EDGE);
        for square in &self.squares {
            left.clear();
            left.extend(square.rim[..4 * square.edge].iter().filter(|&&v| !goes(v)));
            for (i, &v) in left.iter().enumerate() {
                indices.extend([square.middle, v, left[(i + 1) % left.len()]]);
                materials.push(square.material);
            }
        }
        let out = with_used_vertices(surface, &indices);
        Surface { loose_materials: materials, ..out }
    }
}

/// What is said of a vertex besides its place.
fn said(surface: &Surface, v: u32) -> ([f32; 3], [u8; 4], [u8; 4]) {
    let v = v as usize;
    (surface.normals[v], surface.materials[v], surface.weights[v])
}

/// The four corners of a quad, in the order of its rim.
fn corners_of(surface: &Surface, number: u32) -> [u32; 4] {
    let [first, second] = surface.quad(number as usize);
    let other = second.into_iter().find(|v| !first.contains(v)).unwrap_or(second[0]);
    // It lies across the edge that both triangles have.
    let across = first.into_iter().position(|v| !second.contains(&v)).unwrap_or(0);
    let [a, b, c] = [0, 1, 2].map(|i| first[(across + i) % 3]);
    [a, b, other, c]
}

/// The quad as one of the lattice, if it is one.
fn lattice_quad(surface: &Surface, number: u32, block: Option<[f32; 3]>) -> Option<LatticeQuad> {
    let rim = corners_of(surface, number);
    let places = rim.map(|v| surface.positions[v as usize]);
    let is_level = |axis: usize| places.iter().all(|p| p[axis] == places[0][axis]);
    let axis = (0..3).find(|&axis| is_level(axis))?;
    let at = places[0][axis];
    if block.is_some_and(|size| at < FROM_SIDE || size[axis] - at < FROM_SIDE) {
        return None;
    }
    let [first, second] = [(axis + 1) % 3, (axis + 2) % 3];
    let low = [first, second].map(|axis| places.iter().fold(f32::MAX, |low, p| low.min(p[axis])));
    if low.iter().any(|v| v.fract() != 0.0 || v.abs() > 1e6) {
        return None;
    }
    let mut corners = [NONE; 4];
    for (&v, place) in rim.iter().zip(&places) {
        let steps = [place[first] - low[0], place[second] - low[1]];
        if steps.iter().any(|step| *step != 0.0 && *step != 1.0) {
            return None;
        }
        corners[steps[0] as usize + 2 * steps[1] as usize] = v;
    }
    if corners.contains(&NONE) {
        return None;
    }
    // Around the rim the second axis follows the first where the quad faces along its axis.
    let turn = |i: usize, axis: usize| places[(i + 1) % 4][axis] - places[i][axis];
    let up = turn(0, first) * turn(1, second) - turn(0, second) * turn(1, first) > 0.0;
    let low = low.map(|v| v as i32);
    Some(LatticeQuad {
        plane: Plane { axis: axis as u8, up, at: at.to_bits() },
        square: low.map(|v| v.div_euclid(EDGE as i32)),
        at: low.map(|v| v.rem_euclid(EDGE as i32) as u8),
        number,
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

    /// Terraces of two materials with holes, as `heights` of 8 × 8 columns say, in a box of air.
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

    /// Area by axis, where it lies, way and material; of what is level only.
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
    fn a_level_square_becomes_four_triangles() {
        let mesh = terraces(&[9; 16], &[]);
        let merged = Flat::default().merged(&mesh.solid, None).expect("much is level");
        // Rims are round, and keep all vertices.
        let [before, after] = [&mesh.solid, &merged].map(|s| s.triangle_count());
        assert!(after * 3 < before * 2, "{after} of {before}");
        assert_eq!(deviation(&mesh.solid, &merged, 2), 0.0);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(12))]
        #[test]
        fn level_squares_are_the_same_surface(
            heights in prop::array::uniform16(prop_oneof![Just(6_u8), Just(6), Just(7), 1..30_u8]),
            holes in prop::collection::vec(prop::array::uniform3(0..32_u8), 0..20),
        ) {
            let mesh = terraces(&heights, &holes);
            let mut flat = Flat::default();
            weld(&mesh.solid).assert_manifold(|_| false);
            if let Some(merged) = flat.merged(&mesh.solid, None) {
                prop_assert!(merged.triangle_count() < mesh.solid.triangle_count());
                prop_assert_eq!(areas(&merged), areas(&mesh.solid));
                weld(&merged).assert_manifold(|_| false);
                // Again, from scratch memory that was used.
                prop_assert_eq!(flat.merged(&mesh.solid, None), Some(merged));
            }
        }
    }

    #[test]
    fn planes_beside_a_side_that_another_block_touches_are_left_alone() {
        let mesh = terraces(&[1; 16], &[]);
        let near = Flat::default().merged(&mesh.solid, Some([32.0; 3]));
        let alone = Flat::default().merged(&mesh.solid, None).expect("much is level");
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
