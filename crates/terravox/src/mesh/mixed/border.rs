//! The faces of a block that touch another mip, one by one.
//!
//! A face lies between two cells and has the size of the smaller; its sides are cut into
//! pieces as long as the smallest of the four cells around them, so that whatever shares
//! a side cuts it alike. How the pieces connect is told by the eight cells shown at each
//! corner, as in the flat mesh ([`corner`](crate::mesh::corner)).

use rustc_hash::FxHashMap;

use crate::mesh::PAD;
use crate::mesh::blend::{blend, blend_octants};
use crate::mesh::cells::Cells;
use crate::mesh::corner::{CORNERS, Corner, SIDE, face_at};
use crate::mesh::fast::Fast;
use crate::mesh::place::unit_normal;
use crate::mesh::surface::{Surface, VertexKey};
use crate::mesh::vertex::{DIRECTIONS, face_corners};
use crate::voxel::VoxelPos;

use super::around::{Around, Features, INNER, MOST_STEPS, Neighbours, ROWS, feature_of, side_of};
use super::boxes::{Seen, View};
use super::corners::{BorderCorner, Corners, NONE_YET};
use super::frame::{QUANTA, round};
use super::levels::{Levels, Place, Point};
use super::polygon::Ring;

/// Vertices of a split side move into their cell by an eighth of the piece, each axis.
const PUSH: i64 = QUANTA as i64 / 8;

/// Farthest that they may lie from the side, each axis, of the piece's length: ¾.
const REACH: i64 = QUANTA as i64 * 3 / 4;

/// Reused between blocks.
#[derive(Debug, Default)]
pub(super) struct Scratch {
    pub levels: Levels,
    corners: Corners,
    /// First of the two vertices of split pieces: by lowest corner, axis and quadrant.
    split: FxHashMap<([i32; 3], usize, u8), u32>,
    ring: Ring,
    /// Loose triangles.
    loose: Vec<[u32; 3]>,
    loose_materials: Vec<u8>,
    faces: Vec<(u32, u8)>,
}

/// The inside cells of one place of a side: from `cell` on, in a row of the side across
/// `axis`, with their indices.
fn of_place<C: Cells>(
    view: &View<'_, C>,
    mut cell: [i32; 3],
    axis: usize,
) -> impl Iterator<Item = ([i32; 3], usize)> {
    let (own, u) = (&view.own, ROWS[axis][0]);
    let steps = own.steps();
    let mut i = (0..3).map(|a| (cell[a] + PAD) as usize * steps[a]).sum::<usize>();
    (0..view.frame.cells / 8).filter_map(move |_| {
        let found = (cell, i);
        (cell[u], i) = (cell[u] + 1, i + steps[u]);
        own.inside(found.1).then_some(found)
    })
}

/// One surface's border being written.
pub(super) struct Border<'a, C> {
    pub view: &'a View<'a, C>,
    pub place: Place<'a>,
    /// Features that touch another mip.
    pub foreign: Features,
    /// By feature: steps to the finest mip that touches it, if it is the same all along;
    /// [`Neighbours::MANY`](super::around::Neighbours::MANY) else.
    pub finest: [u8; 27],
    /// By feature: the mip across it, if it is the same all along; [`Around::NONE`] else.
    pub only: [u8; 27],
    /// The flat mesh, whose vertices are used where it has any.
    pub flat: &'a Fast,
    /// The block's min corner, in voxels.
    pub min_voxel: VoxelPos,
    pub keyed: bool,
    /// The mip beyond which nothing is morphed, if anything is.
    pub morph_to: Option<u8>,
    pub out: &'a mut Surface,
    pub scratch: &'a mut Scratch,
}

/// A face to be written.
#[derive(Clone, Copy)]
struct Face {
    /// The block's cell behind it.
    cell: [i32; 3],
    /// Axis, and whether on its high side.
    direction: (usize, bool),
    /// Lowest corner and edge, units.
    low: [i32; 3],
    size: i32,
    material: u8,
}

impl<C: Cells> Border<'_, C> {
    /// Writes all faces of the border.
    pub(super) fn write(&mut self) {
        self.scratch.corners.clear(&self.view.frame, self.foreign, &self.finest);
        self.scratch.split.clear();
        self.scratch.loose.clear();
        self.scratch.loose_materials.clear();
        let mut faces = std::mem::take(&mut self.scratch.faces);
        faces.clear();
        faces.extend_from_slice(self.flat.left_out());
        for &(i, direction) in &faces {
            self.own_face(i as usize, DIRECTIONS[usize::from(direction)]);
        }
        self.scratch.faces = faces;
        for direction in DIRECTIONS {
            if self.is_foreign_side(direction) {
                self.side(direction);
            }
        }
        self.out.indices.extend(self.scratch.loose.as_flattened());
        self.out.loose_materials.extend(&self.scratch.loose_materials);
    }

    /// Whether what lies across a side is of another mip.
    fn is_foreign_side(&self, (axis, high): (usize, bool)) -> bool {
        let mut corner = [1; 3];
        corner[axis] = if high { self.view.frame.edge() } else { 0 };
        self.foreign.has(feature_of(corner, self.view.frame.edge()))
    }

    /// Writes the face of the padded own cell `i`, unless it lies on a foreign side.
    fn own_face(&mut self, i: usize, direction: (usize, bool)) {
        let [sx, _, sz] = self.view.own.size();
        let padded = [i % sx, i / (sx * sz), i / sx % sz];
        let cell = padded.map(|at| at as i32 - PAD);
        let (axis, high) = direction;
        let outer = if high { self.view.frame.cells - 1 } else { 0 };
        if cell[axis] == outer && self.is_foreign_side(direction) {
            return;
        }
        self.whole_face(cell, i, direction);
    }

    /// Writes a face of the size of the block's cells.
    fn whole_face(&mut self, cell: [i32; 3], i: usize, direction: (usize, bool)) {
        let size = self.view.frame.size(self.view.frame.mip);
        let mut low = cell.map(|c| c * size);
        low[direction.0] += if direction.1 { size } else { 0 };
        let material = self.view.own.material(i);
        self.face(Face { cell, direction, low, size, material });
    }

    /// Writes the faces on a side across which another mip is shown.
    fn side(&mut self, direction: (usize, bool)) {
        let (axis, high) = direction;
        let [u, v] = ROWS[axis];
        let frame = self.view.frame;
        let shift = frame.cells.trailing_zeros() - 3;
        let mut cell = [0; 3];
        cell[axis] = if high { frame.cells - 1 } else { 0 };
        let mut place = [if high { 8 } else { -1 }; 3];
        for b in 0..frame.cells {
            (cell[v], place[v]) = (b, b >> shift);
            for a in 0..8 {
                (cell[u], place[u]) = (a << shift, a);
                let mip = frame.around.beside(place);
                if mip < frame.mip {
                    self.small_faces(cell, direction, mip);
                } else if mip != Around::NONE {
                    self.whole_faces(cell, direction);
                }
            }
        }
    }

    /// Writes the faces between the inside cells of a place of a side and coarser cells.
    fn whole_faces(&mut self, first: [i32; 3], direction: (usize, bool)) {
        let view = self.view;
        for (cell, i) in of_place(view, first, direction.0) {
            if self.is_bare(cell, direction) {
                self.whole_face(cell, i, direction);
            }
        }
    }

    /// Whether a cell that is shown beyond a side is outside.
    fn is_bare(&self, cell: [i32; 3], (axis, high): (usize, bool)) -> bool {
        let size = self.view.frame.size(self.view.frame.mip);
        let mut beyond = cell.map(|c| c * size);
        beyond[axis] += if high { size } else { -1 };
        self.view.state(self.view.octant(beyond)).1
    }

    /// Writes the faces between the inside cells of a place of a side and cells of the finer
    /// `mip`.
    fn small_faces(&mut self, first: [i32; 3], direction: (usize, bool), mip: u8) {
        let (axis, high) = direction;
        let [u, v] = ROWS[axis];
        let view = self.view;
        let frame = view.frame;
        let feature = INNER as i32 + if high { 1 } else { -1 } * [1, 9, 3][axis];
        let Some((layer, start)) = view.layer(feature as usize, mip) else { return };
        let steps = layer.steps();
        let shift = frame.shift(frame.mip) - frame.shift(mip);
        let (count, size) = (1 << shift, frame.size(mip));
        for (cell, i) in of_place(view, first, axis) {
            let low = cell.map(|at| at << shift);
            let beyond = |a: usize| (low[a] - start[a]) as usize * steps[a];
            let first = beyond(u) + beyond(v);
            for (on_v, on_u) in (0..count).flat_map(|v| (0..count).map(move |u| (v, u))) {
                if !layer.outside(first + on_u as usize * steps[u] + on_v as usize * steps[v]) {
                    continue;
                }
                let mut corner = [0; 3];
                corner[axis] = if high { frame.edge() } else { 0 };
                (corner[u], corner[v]) = ((low[u] + on_u) * size, (low[v] + on_v) * size);
                let material = view.own.material(i);
                self.face(Face { cell, direction, low: corner, size, material });
            }
        }
    }

    /// Writes a face.
    fn face(&mut self, face: Face) {
        let at = face_corners([0; 3], face.direction.0, face.direction.1);
        let mut corners = at.map(|at| [0, 1, 2].map(|a| face.low[a] + at[a] * face.size));
        for corner in &mut corners {
            corner[face.direction.0] = face.low[face.direction.0];
        }
        let ends = corners.map(|at| self.end(at, &face));
        let is_pinched = ends.iter().any(|end| end.1);
        if !is_pinched && self.is_whole(&face, corners) {
            return self.push_quad(ends.map(|end| end.0), &face);
        }
        let numbers = corners.map(|at| self.corner(at));
        let mut ring = std::mem::take(&mut self.scratch.ring);
        ring.clear();
        for k in 0..4 {
            ring.corners[k] = ring.vertices.len();
            let next = (k + 1) % 4;
            let ends = [k, next].map(|k| (numbers[k], ends[k].0));
            self.ring_side(&face, ends, &mut ring.vertices);
        }
        if ring.is_quad() {
            self.push_quad(ring.quad(), &face);
        } else {
            let apex = ring.apex();
            let centre = if apex.is_none() { self.push_centre(ring.quad(), &face) } else { 0 };
            self.push_fan(ring.fan(apex, centre), &face);
        }
        self.scratch.ring = ring;
    }

    /// The vertex of a face at a corner, and whether sides that end there may be split.
    fn end(&mut self, at: [i32; 3], face: &Face) -> (u32, bool) {
        let frame = self.view.frame;
        if !self.foreign.has(feature_of(at, frame.edge())) {
            let own = at.map(|a| a >> frame.shift(frame.mip));
            if let Some(vertex) = self.flat.plain_vertex(self.view.own.size(), own) {
                return (vertex, false);
            }
        }
        let number = self.corner(at);
        (self.face_vertex(number, face), self.scratch.corners.all[number].corner.pinched != 0)
    }

    /// Whether the sides of a face are not cut.
    fn is_whole(&self, face: &Face, corners: [[i32; 3]; 4]) -> bool {
        let (axis, high) = face.direction;
        let sides = if high { [axis + 1, axis + 2] } else { [axis + 2, axis + 1] };
        (0..4).all(|k| self.piece(corners[k], sides[k % 2] % 3, k < 2, face.size) == face.size)
    }

    /// Appends the vertices of a side of a face, from one corner up to, not including,
    /// the next; both are given by their number and vertex.
    fn ring_side(&mut self, face: &Face, ends: [(usize, u32); 2], ring: &mut Vec<u32>) {
        let [from, to] = ends.map(|end| self.scratch.corners.all[end.0].at);
        let along = (0..3).find(|&axis| from[axis] != to[axis]).unwrap_or(0);
        let up = to[along] > from[along];
        let mut at = ends[0];
        loop {
            let mut next = self.scratch.corners.all[at.0].at;
            let length = self.piece(next, along, up, face.size);
            next[along] += if up { length } else { -length };
            let next = if next == to {
                ends[1]
            } else {
                let number = self.corner(next);
                (number, self.face_vertex(number, face))
            };
            ring.push(at.1);
            let (low, top) = if up { (at, next) } else { (next, at) };
            let pinched = |end: (usize, u32), side: usize| {
                self.scratch.corners.all[end.0].corner.pinched >> (2 * along + side) & 1 == 1
            };
            if pinched(low, 1) && pinched(top, 0) {
                let low_at = self.scratch.corners.all[low.0].at;
                let first = self.split_piece(face, low_at, along, length, [low.1, top.1]);
                ring.extend(if up { [first, first + 1] } else { [first + 1, first] });
            }
            if next.0 == ends[1].0 {
                return;
            }
            at = next;
        }
    }

    /// Length of the piece that starts at `at`, of a side of a face of size `size`: the
    /// largest that no cell around is smaller than.
    fn piece(&self, at: [i32; 3], along: usize, up: bool, size: i32) -> i32 {
        let frame = self.view.frame;
        let mut on = at;
        on[along] = 1;
        let finest = self.finest[feature_of(on, frame.edge())];
        if finest != Neighbours::MANY {
            return size.min(frame.size(frame.mip - finest));
        }
        let mut middle = at;
        middle[along] = if up { at[along] } else { at[along] - 1 };
        let (u, v) = ((along + 1) % 3, (along + 2) % 3);
        let mut length = size;
        for quadrant in 0..4 {
            let mut beside = middle;
            beside[u] -= quadrant & 1;
            beside[v] -= quadrant >> 1;
            let mip = frame.mip_at(beside);
            if mip != Around::NONE {
                length = length.min(frame.size(mip));
            }
        }
        length
    }

    /// Number of the border's corner at a place.
    fn corner(&mut self, at: [i32; 3]) -> usize {
        let feature = feature_of(at, self.view.frame.edge());
        let count = self.scratch.corners.all.len() as u32;
        let number = self.scratch.corners.number(at, feature);
        if *number != u32::MAX {
            return *number as usize;
        }
        *number = count;
        let corner = self.new_corner(at, feature);
        self.scratch.corners.all.push(corner);
        count as usize
    }

    /// Looks up what is shown around a corner.
    fn new_corner(&self, at: [i32; 3], feature: usize) -> BorderCorner {
        let (view, frame) = (self.view, self.view.frame);
        if !self.foreign.has(feature) {
            let own = at.map(|a| a >> frame.shift(frame.mip));
            let corner = self.place.site(view, frame.mip).corner(own);
            return BorderCorner { at, corner, mips: [0; 2], materials: 0, numbers: NONE_YET };
        }
        let only = self.only[feature];
        let seen = match side_of(feature) {
            Some(side) if only != Around::NONE => view.seen_on_side(at, side, only),
            _ => view.seen(at),
        };
        let Seen { inside, outside, mips: [finest, coarsest], materials } = seen;
        assert!(coarsest - finest <= MOST_STEPS, "blocks of mips {finest} and {coarsest} touch");
        let corner = match inside | outside {
            255 => CORNERS[usize::from(inside)],
            _ => Corner::new(inside, outside),
        };
        BorderCorner { at, corner, mips: [finest, coarsest], materials, numbers: NONE_YET }
    }

    /// The vertex of a face at one of its corners.
    fn face_vertex(&mut self, number: usize, face: &Face) -> u32 {
        let BorderCorner { at, corner, .. } = &self.scratch.corners.all[number];
        let (axis, high) = face.direction;
        let mut octant = 0;
        for a in 0..3 {
            let is_high = if a == axis { !high } else { 2 * (at[a] - face.low[a]) < face.size };
            octant |= if is_high { SIDE[a] } else { 0 };
        }
        let sheet = corner.face_sheet[usize::from(face_at(axis, octant))];
        let vertex = self.scratch.corners.all[number].numbers[usize::from(sheet)];
        if vertex != u32::MAX {
            return vertex;
        }
        let vertex = self.make_vertex(number, sheet);
        self.scratch.corners.all[number].numbers[usize::from(sheet)] = vertex;
        vertex
    }

    fn make_vertex(&mut self, number: usize, sheet: u8) -> u32 {
        let BorderCorner { at, corner, .. } = self.scratch.corners.all[number];
        let frame = self.view.frame;
        if self.foreign.has(feature_of(at, frame.edge())) {
            return self.foreign_vertex(number, at, &corner, sheet);
        }
        let own = at.map(|a| a >> frame.shift(frame.mip));
        if let Some(vertex) = self.flat.vertex(self.view.own.size(), own, sheet) {
            return vertex;
        }
        let site = self.place.site(self.view, frame.mip);
        let (placed, used) = self.scratch.levels.vertex(&site, 0, own, &corner, sheet);
        let quanta = frame.quanta() / 2;
        let offset = placed.offset.map(|offset| (offset * quanta as f32) as i32);
        let position = [0, 1, 2].map(|a| at[a] * QUANTA + offset[a]);
        let point = Point { position, normal: placed.normal };
        self.push_target(at, [frame.mip; 2], corner.sheet(sheet).direction, point);
        self.push_vertex(point, blend(used.get()), (at, 0, sheet))
    }

    /// Makes the vertex of a sheet at a corner that touches another mip.
    fn foreign_vertex(&mut self, number: usize, at: [i32; 3], corner: &Corner, sheet: u8) -> u32 {
        let of = corner.sheet(sheet);
        let BorderCorner { mips, materials, .. } = self.scratch.corners.all[number];
        let levels = &mut self.scratch.levels;
        let point = levels.point((self.view, self.flat), &self.place, at, mips, of.direction);
        self.push_target(at, mips, of.direction, point);
        self.push_vertex(point, blend_octants(materials, of.planes), (at, 0, sheet))
    }

    /// Appends where a vertex at `point` lies one level up.
    fn push_target(
        &mut self,
        at: [i32; 3],
        [finest, coarsest]: [u8; 2],
        direction: [f32; 3],
        point: Point,
    ) {
        let Some(top) = self.morph_to else { return };
        let (by, levels) = ((self.view, self.flat), &mut self.scratch.levels);
        let target = match coarsest < top {
            true => levels.on_level(by, &self.place, at, [finest, coarsest + 1], || direction),
            false => None,
        };
        let step = coarsest - self.view.frame.mip;
        target.unwrap_or(point).push_to(&self.view.frame, step, &mut self.out.targets);
    }

    /// Appends where a vertex that was just made from others lies one level up.
    fn push_inner_target(&mut self, of: [u32; 4]) {
        if self.morph_to.is_some() {
            self.out.push_inner_target(self.out.positions.len() - 1, of);
        }
    }

    /// Appends a vertex; the key is of a corner in units, `between` and `part`.
    fn push_vertex(
        &mut self,
        point: Point,
        (materials, weights): ([u8; 4], [u8; 4]),
        (at, between, part): ([i32; 3], u8, u8),
    ) -> u32 {
        let scale = 1.0 / self.view.frame.quanta() as f32;
        let number = self.out.positions.len() as u32;
        self.out.positions.push(point.position.map(|p| p as f32 * scale));
        self.out.normals.push(point.normal);
        self.out.materials.push(materials);
        self.out.weights.push(weights);
        if self.keyed {
            let corner = self.min_voxel + VoxelPos::from(at.map(|a| a << self.view.frame.unit));
            self.out.keys.push(VertexKey { corner, between, part });
        }
        number
    }

    /// Position of a vertex in quanta.
    fn position(&self, vertex: u32) -> [i64; 3] {
        let quanta = self.view.frame.quanta() as f32;
        self.out.positions[vertex as usize].map(|p| (p * quanta) as i64)
    }

    /// First of the two vertices of a piece that two solids touch along, on the side of
    /// the face's cell.
    fn split_piece(
        &mut self,
        face: &Face,
        low: [i32; 3],
        along: usize,
        length: i32,
        ends: [u32; 2],
    ) -> u32 {
        let across = [(along + 1) % 3, (along + 2) % 3];
        let size = self.view.frame.size(self.view.frame.mip);
        let high = across.map(|axis| face.cell[axis] * size == low[axis]);
        let quadrant = u8::from(high[0]) + 2 * u8::from(high[1]);
        if let Some(&first) = self.scratch.split.get(&(low, along, quadrant)) {
            return first;
        }
        let first = self.out.positions.len() as u32;
        let [a, b] = ends.map(|end| self.position(end));
        let [na, nb] = ends.map(|end| self.out.normals[end as usize]);
        for upper in [0, 1] {
            let share = [3 - 2 * upper, 1 + 2 * upper];
            let mut sum = [0, 1, 2].map(|axis| share[0] * a[axis] + share[1] * b[axis]);
            for (axis, high) in across.into_iter().zip(high) {
                let (from, length) = (4 * i64::from(low[axis] * QUANTA), 4 * i64::from(length));
                let push = if high { PUSH * length } else { -PUSH * length };
                let offset = sum[axis] - from + push;
                sum[axis] = from + offset.clamp(-REACH * length, REACH * length);
            }
            let share = share.map(|share| share as f32);
            let normal = [0, 1, 2].map(|axis| share[0] * na[axis] + share[1] * nb[axis]);
            let point = Point {
                position: sum.map(|sum| round(sum, 4, i64::from(length))),
                normal: unit_normal(normal, [0.0; 3]),
            };
            let key = (low, [1, 2, 4][along], quadrant + 4 * upper as u8);
            self.push_vertex(point, ([face.material, 0, 0, 0], [255, 0, 0, 0]), key);
            let [a, b] = ends;
            self.push_inner_target(if upper == 0 { [a, a, a, b] } else { [a, b, b, b] });
        }
        self.scratch.split.insert((low, along, quadrant), first);
        first
    }

    /// Appends a vertex in the middle of a face.
    fn push_centre(&mut self, v: [u32; 4], face: &Face) -> u32 {
        let p = v.map(|v| self.position(v));
        let n = v.map(|v| self.out.normals[v as usize]);
        let sum = [0, 1, 2].map(|a| (p[0][a] + p[1][a]) + (p[2][a] + p[3][a]));
        let normal = [0, 1, 2].map(|a| (n[0][a] + n[1][a]) + (n[2][a] + n[3][a]));
        let point = Point {
            position: sum.map(|sum| round(sum, 4, i64::from(face.size))),
            normal: unit_normal(normal, [0.0; 3]),
        };
        let (axis, high) = face.direction;
        let key = (face.low, 7 ^ [1, 2, 4][axis], u8::from(high));
        let centre = self.push_vertex(point, ([face.material, 0, 0, 0], [255, 0, 0, 0]), key);
        self.push_inner_target(v);
        centre
    }

    /// Appends a quad, split along its shorter diagonal.
    fn push_quad(&mut self, v: [u32; 4], face: &Face) {
        let p = v.map(|v| self.out.positions[v as usize]);
        let length = |a: usize, b: usize| {
            let d = [0, 1, 2].map(|axis| p[a][axis] - p[b][axis]);
            (d[0] * d[0] + d[1] * d[1]) + d[2] * d[2]
        };
        let [a, b, c, d] = if length(0, 2) <= length(1, 3) { v } else { [v[1], v[2], v[3], v[0]] };
        self.out.indices.extend([a, b, c, a, c, d]);
        self.push_face(face);
    }

    /// Appends what a quad says about the face that it shows.
    fn push_face(&mut self, face: &Face) {
        let [x, y, z] = face.cell.map(|c| c as u8);
        let direction = 2 * face.direction.0 as u8 + u8::from(face.direction.1);
        self.out.quad_materials.push(face.material);
        self.out.quad_faces.push([x, y, z, direction]);
    }

    /// Appends the triangles of a fan: in pairs, as quads; one that is left over is loose.
    fn push_fan(&mut self, mut fan: impl Iterator<Item = [u32; 3]>, face: &Face) {
        while let Some(first) = fan.next() {
            if let Some(second) = fan.next() {
                self.out.indices.extend(first);
                self.out.indices.extend(second);
                self.push_face(face);
            } else {
                self.scratch.loose.push(first);
                self.scratch.loose_materials.push(face.material);
            }
        }
    }
}
