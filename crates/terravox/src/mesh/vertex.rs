//! One vertex or quad at a time, from the rules alone: what the naive twin is made of,
//! and what the fast path uses where a corner is out of the ordinary.

use std::array;

use rustc_hash::FxHashMap;

use crate::voxel::{MaterialTable, VoxelPos};

use super::PAD;
use super::blend::{blend, dominant};
use super::cells::{Cells, SolidCells};
use super::corner::{CORNERS, Corner, SIDE, face_at, toward};
use super::place::{Placed, place, unit_normal};
use super::plane::{Plane, smaller};
use super::surface::{Surface, VertexKey};
use super::thin::thin_planes;

/// The six directions of faces, in the order in which a row's quads are written:
/// axis, and whether the cell's high side.
pub(crate) const DIRECTIONS: [(usize, bool); 6] =
    [(0, false), (0, true), (1, false), (1, true), (2, false), (2, true)];

/// Adding and subtracting this rounds a position to 1/4096 of a cell.
const POSITION_ROUNDING: f32 = 3072.0;

/// How far the vertices of a split edge move into their cell, each axis, in cells.
const SPLIT_PUSH: f32 = 0.125;

/// Farthest that they may lie from the edge, each axis, in cells.
const SPLIT_REACH: f32 = 0.75;

/// Padded cells around a block's corners, and where they lie.
pub(crate) struct Site<'a, C> {
    /// The padded cells.
    pub cells: &'a C,
    /// Shapes.
    pub table: &'a MaterialTable,
    /// The block's min corner, absolute, in cells.
    pub origin: VoxelPos,
}

impl<C> Clone for Site<'_, C> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<C> Copy for Site<'_, C> {}

/// A surface being written: its cells, where they lie, and the buffers.
pub(crate) struct Writer<'a, C> {
    /// The padded cells.
    pub cells: &'a C,
    /// Shapes.
    pub table: &'a MaterialTable,
    /// The block's min corner, absolute.
    pub origin: VoxelPos,
    /// Whether keys are written.
    pub keyed: bool,
    /// The buffers.
    pub out: &'a mut Surface,
}

/// Up to eight material ids.
#[derive(Default)]
pub(crate) struct Ids {
    ids: [u8; 8],
    count: usize,
}

impl Ids {
    pub(crate) fn push(&mut self, id: u8) {
        self.ids[self.count] = id;
        self.count += 1;
    }

    pub(crate) fn get(&self) -> &[u8] {
        &self.ids[..self.count]
    }
}

/// First of the two vertices of split edges, by lowest corner, axis and quadrant.
pub(crate) type SplitEdges = FxHashMap<([i32; 3], usize, u8), u32>;

/// The four corners of the face of `cell` (block coordinates) across `axis`,
/// counter-clockwise seen from outside.
pub(crate) fn face_corners(cell: [i32; 3], axis: usize, high: bool) -> [[i32; 3]; 4] {
    let (u, v) = if high { (1, 2) } else { (2, 1) };
    let (u, v) = ((axis + u) % 3, (axis + v) % 3);
    let mut corners = [cell; 4];
    for corner in &mut corners {
        corner[axis] += i32::from(high);
    }
    corners[1][u] += 1;
    corners[2][u] += 1;
    corners[2][v] += 1;
    corners[3][v] += 1;
    corners
}

/// The octant, seen from `corner`, in which `cell` lies.
pub(crate) fn octant_of(cell: [i32; 3], corner: [i32; 3]) -> u8 {
    (0..3).map(|axis| if cell[axis] == corner[axis] { SIDE[axis] } else { 0 }).sum()
}

impl<C: Cells> Site<'_, C> {
    /// Index in the padded box of a cell in block coordinates.
    pub(crate) fn index(&self, cell: [i32; 3]) -> usize {
        let steps = self.cells.steps();
        (0..3).map(|axis| (cell[axis] + PAD) as usize * steps[axis]).sum()
    }

    /// Indices of the eight cells around a corner.
    pub(crate) fn octants(&self, corner: [i32; 3]) -> [usize; 8] {
        let steps = self.cells.steps();
        let low = self.index(corner.map(|c| c - 1));
        array::from_fn(|o| {
            low + (0..3).filter(|&a| o as u8 & SIDE[a] != 0).map(|a| steps[a]).sum::<usize>()
        })
    }

    /// How the faces at a corner connect.
    pub(crate) fn corner(&self, corner: [i32; 3]) -> Corner {
        let (mut inside, mut outside) = (0, 0);
        for (octant, i) in self.octants(corner).into_iter().enumerate() {
            inside |= u8::from(self.cells.inside(i)) << octant;
            outside |= u8::from(self.cells.outside(i)) << octant;
        }
        if inside | outside == 255 {
            CORNERS[usize::from(inside)]
        } else {
            Corner::new(inside, outside)
        }
    }

    /// Places the vertex of one sheet at a corner, and lists the materials of the cells that
    /// it is placed by. `plane` sets the plane of an inside cell for a corner that sees it
    /// as an octant, and says whether the cell is thin, as [`Site::plane`] does.
    pub(crate) fn vertex(
        &self,
        at: [i32; 3],
        corner: &Corner,
        sheet: u8,
        mut plane: impl FnMut(usize, usize, &mut Plane) -> bool,
    ) -> (Placed, Ids) {
        let of = corner.sheet(sheet);
        let mut planes = [Plane::default(); 8];
        let mut thin = false;
        let (mut all, mut used) = (Ids::default(), Ids::default());
        for (octant, i) in self.octants(at).into_iter().enumerate() {
            if !self.cells.inside(i) {
                continue;
            }
            all.push(self.cells.material(i));
            if of.planes >> octant & 1 == 1 {
                used.push(self.cells.material(i));
                thin |= plane(i, octant, &mut planes[octant]);
            }
        }
        let shape = self.table.shape(dominant(all.get()));
        let absolute = (self.origin + VoxelPos::from(at)).to_array();
        let mut placed = place(&planes, &of, shape, thin, absolute);
        if of.open
            && let Some(ground) = self.cells.ground()
        {
            self.lower_to_ground(at, corner, ground, &mut placed);
        }
        (placed, used)
    }

    /// Moves the end of a liquid surface to where the ground around has risen to the liquid's
    /// level; onto the ground's surface where it has not.
    fn lower_to_ground(
        &self,
        at: [i32; 3],
        corner: &Corner,
        ground: SolidCells<'_>,
        placed: &mut Placed,
    ) {
        const LOWER: u8 = 0b0000_1111;
        if corner.outside & !LOWER != !LOWER {
            return;
        }
        let octants = self.octants(at);
        let stored = |octant: u8| self.cells.stored(octants[usize::from(octant)]);
        let is_in = |set: u8| (0..4u8).filter(move |octant| set >> octant & 1 == 1);
        let level = is_in(corner.inside).map(stored).max().unwrap_or(0);
        let has_risen = |octant: &u8| {
            let i = octants[usize::from(*octant)];
            ground.inside(i) && ground.stored(i) >= level
        };
        let risen = is_in(LOWER).filter(has_risen).fold(0, |set, octant| set | 1 << octant);
        let dry = LOWER & !(corner.inside | corner.outside);
        if dry & !risen == 0 {
            return;
        }
        if risen != 0 {
            // Between two that lie crosswise is neither.
            let [x, _, z] = match toward(risen) {
                [0.0, _, 0.0] => toward(risen & risen.wrapping_neg()),
                between => between,
            };
            placed.offset = [x, placed.offset[1], z];
            return;
        }
        let site = Site { cells: &ground, table: self.table, origin: self.origin };
        let corner = site.corner(at);
        let up = |sheet: &u8| corner.sheet(*sheet).direction[1];
        // The first of equals.
        let Some(sheet) = (0..corner.count).rev().max_by(|a, b| up(a).total_cmp(&up(b))) else {
            return;
        };
        let plane = |i: usize, octant: usize, plane: &mut Plane| site.plane(i, octant, plane);
        let (end, _) = site.vertex(at, &corner, sheet, plane);
        let [x, y, z] = end.offset;
        placed.offset = [x.clamp(-1.5, 1.5), smaller(y, placed.offset[1]), z.clamp(-1.5, 1.5)];
    }

    /// Sets the plane of the inside cell `i` for a corner that sees it as `octant`; says
    /// whether the cell is thin.
    pub(crate) fn plane(&self, i: usize, octant: usize, plane: &mut Plane) -> bool {
        let thin = thin_planes(self.cells, i);
        *plane = match thin {
            Some(planes) => planes[7 ^ octant],
            None => Plane::new(self.cells.gradient(i), self.cells.stored(i)),
        };
        thin.is_some()
    }

    /// Appends the plane of the inside cell `i`, or those of its eight corners if it is
    /// thin; says whether it is.
    pub(crate) fn planes(&self, i: usize, out: &mut Vec<Plane>) -> bool {
        let thin = thin_planes(self.cells, i);
        match &thin {
            Some(planes) => out.extend(planes),
            None => out.push(Plane::new(self.cells.gradient(i), self.cells.stored(i))),
        }
        thin.is_some()
    }
}

impl<C: Cells> Writer<'_, C> {
    fn site(&self) -> Site<'_, C> {
        Site { cells: self.cells, table: self.table, origin: self.origin }
    }

    /// Index in the padded box of a cell in block coordinates.
    pub(crate) fn index(&self, cell: [i32; 3]) -> usize {
        self.site().index(cell)
    }

    /// How the faces at a corner connect.
    pub(crate) fn corner(&self, corner: [i32; 3]) -> Corner {
        self.site().corner(corner)
    }

    /// Appends the vertex of one sheet at a corner.
    pub(crate) fn push_vertex(&mut self, at: [i32; 3], corner: &Corner, sheet: u8) {
        let site = self.site();
        let plane = |i: usize, octant: usize, plane: &mut Plane| site.plane(i, octant, plane);
        let (placed, used) = site.vertex(at, corner, sheet, plane);
        let (materials, weights) = blend(used.get());
        self.out.positions.push(array::from_fn(|a| at[a] as f32 + 0.5 * placed.offset[a]));
        self.out.normals.push(placed.normal);
        self.out.materials.push(materials);
        self.out.weights.push(weights);
        self.push_key(at, 0, sheet);
    }

    fn push_key(&mut self, at: [i32; 3], between: u8, part: u8) {
        if self.keyed {
            let corner = self.origin + VoxelPos::from(at);
            self.out.keys.push(VertexKey { corner, between, part });
        }
    }

    /// Appends the quad of a face of `cell`, split along its shorter diagonal.
    pub(crate) fn push_quad(&mut self, v: [u32; 4], cell: [i32; 3], direction: (usize, bool)) {
        let p = v.map(|v| self.out.positions[v as usize]);
        let length = |a: usize, b: usize| {
            let d: [f32; 3] = array::from_fn(|axis| p[a][axis] - p[b][axis]);
            (d[0] * d[0] + d[1] * d[1]) + d[2] * d[2]
        };
        let [a, b, c, d] = if length(0, 2) <= length(1, 3) { v } else { [v[1], v[2], v[3], v[0]] };
        self.out.indices.extend([a, b, c, a, c, d]);
        self.push_face(cell, direction);
    }

    /// Appends what a quad says about the face that it shows.
    fn push_face(&mut self, cell: [i32; 3], (axis, high): (usize, bool)) {
        let [x, y, z] = cell.map(|c| c as u8);
        self.out.quad_materials.push(self.cells.material(self.index(cell)));
        self.out.quad_faces.push([x, y, z, 2 * axis as u8 + u8::from(high)]);
    }

    /// Appends the face of `cell` in a direction when one of its corners is special:
    /// as a quad, or as several where an edge between two solids must be split lest
    /// four faces share it. `vertex` numbers the vertex of a sheet at a corner.
    pub(crate) fn push_special(
        &mut self,
        cell: [i32; 3],
        (axis, high): (usize, bool),
        split: &mut SplitEdges,
        vertex: impl Fn([i32; 3], u8) -> u32,
    ) {
        let at = face_corners(cell, axis, high);
        let corners = at.map(|at| self.corner(at));
        let v: [u32; 4] = array::from_fn(|k| {
            let face = face_at(axis, octant_of(cell, at[k]));
            vertex(at[k], corners[k].face_sheet[usize::from(face)])
        });
        let material = self.cells.material(self.index(cell));
        let mut ends = [None; 4];
        for k in 0..4 {
            let next = (k + 1) % 4;
            let along = (0..3).find(|&a| at[k][a] != at[next][a]).unwrap_or(0);
            let up = at[next][along] > at[k][along];
            let (low, top) = if up { (k, next) } else { (next, k) };
            let pinched = corners[low].pinched >> (2 * along + 1) & 1 == 1
                && corners[top].pinched >> (2 * along) & 1 == 1;
            if pinched {
                let first =
                    self.split_edge(cell, at[low], along, [v[low], v[top]], material, split);
                ends[k] = Some(if up { [first, first + 1] } else { [first + 1, first] });
            }
        }
        if ends.iter().all(Option::is_none) {
            self.push_quad(v, cell, (axis, high));
        } else {
            self.push_polygon(cell, (axis, high), v, ends);
        }
    }

    /// First of the two vertices on a split edge of `cell`, made if they are not there.
    fn split_edge(
        &mut self,
        cell: [i32; 3],
        low: [i32; 3],
        along: usize,
        ends: [u32; 2],
        material: u8,
        split: &mut SplitEdges,
    ) -> u32 {
        let across = [(along + 1) % 3, (along + 2) % 3];
        let high = across.map(|axis| cell[axis] == low[axis]);
        let quadrant = u8::from(high[0]) + 2 * u8::from(high[1]);
        if let Some(&first) = split.get(&(low, along, quadrant)) {
            return first;
        }
        let first = self.out.positions.len() as u32;
        for upper in [0, 1] {
            let share = if upper == 0 { [3.0, 1.0] } else { [1.0, 3.0] };
            let [p, n] = [&self.out.positions, &self.out.normals].map(|of| {
                let [a, b] = ends.map(|end| of[end as usize]);
                array::from_fn(|axis| share[0] * a[axis] + share[1] * b[axis])
            });
            let mut position: [f32; 3] = p;
            for axis in 0..3 {
                position[axis] *= 0.25;
            }
            for (axis, high) in across.into_iter().zip(high) {
                let offset = position[axis] - low[axis] as f32;
                let push = if high { SPLIT_PUSH } else { -SPLIT_PUSH };
                position[axis] =
                    low[axis] as f32 + (offset + push).clamp(-SPLIT_REACH, SPLIT_REACH);
            }
            let [a, b] = ends;
            self.push_inner(
                position,
                n,
                material,
                if upper == 0 { [a, a, a, b] } else { [a, b, b, b] },
            );
            self.push_key(low, [1, 2, 4][along], quadrant + 4 * upper);
        }
        split.insert((low, along, quadrant), first);
        first
    }

    /// Appends a vertex that belongs to one cell alone, near the mean of others.
    fn push_inner(&mut self, position: [f32; 3], normal: [f32; 3], material: u8, of: [u32; 4]) {
        self.out.inner.push(of);
        self.out.positions.push(position.map(|p| (p + POSITION_ROUNDING) - POSITION_ROUNDING));
        self.out.normals.push(unit_normal(normal, [0.0; 3]));
        self.out.materials.push([material, 0, 0, 0]);
        self.out.weights.push([255, 0, 0, 0]);
    }

    /// Appends a face with split sides: a fan from a corner whose two sides are whole,
    /// or from a vertex in its middle, so that no two vertices of a side are joined
    /// but along it. As a split side has two vertices, the triangles pair up as quads.
    fn push_polygon(
        &mut self,
        cell: [i32; 3],
        (axis, high): (usize, bool),
        v: [u32; 4],
        ends: [Option<[u32; 2]>; 4],
    ) {
        let whole = (0..4).find(|&k| ends[k].is_none() && ends[(k + 3) % 4].is_none());
        let start = whole.unwrap_or(0);
        let mut around = Vec::with_capacity(13);
        for k in (start..start + 4).map(|k| k % 4) {
            around.push(v[k]);
            around.extend(ends[k].into_iter().flatten());
        }
        let apex = if whole.is_some() {
            around.remove(0)
        } else {
            let [p, n] = [&self.out.positions, &self.out.normals].map(|of| {
                let [a, b, c, d] = v.map(|v| of[v as usize]);
                array::from_fn(|axis| (a[axis] + b[axis]) + (c[axis] + d[axis]))
            });
            let centre = self.out.positions.len() as u32;
            let material = self.cells.material(self.index(cell));
            self.push_inner(p.map(|p: f32| p * 0.25), n, material, v);
            self.push_key(face_corners(cell, axis, high)[0], 7 ^ [1, 2, 4][axis], u8::from(high));
            around.push(v[start]);
            centre
        };
        for pair in around.windows(3).step_by(2) {
            self.out.indices.extend([apex, pair[0], pair[1], apex, pair[1], pair[2]]);
            self.push_face(cell, (axis, high));
        }
    }
}
