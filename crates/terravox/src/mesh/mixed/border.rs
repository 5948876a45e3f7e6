//! The faces of a block that touch another mip, one by one.
//!
//! A face lies between two cells and has the size of the smaller. Its sides are cut into pieces
//! as long as the smallest of the four cells around them, so that all faces that share a side
//! cut it alike. The eight cells shown at each corner determine how the pieces connect, as among
//! blocks of one mip ([`corner`](crate::mesh::rules::corner)).

use rustc_hash::FxHashMap;

use crate::mesh::fast::LeftOutFace;
use crate::mesh::rules::blend::{MaterialBlend, blend, blend_octants};
use crate::mesh::rules::block::PAD;
use crate::mesh::rules::boundary::{BoundaryFeatures, feature_of, side_direction, side_feature};
use crate::mesh::rules::cells::SurfaceCells;
use crate::mesh::rules::corner::{CORNERS, CornerSheets, SIDE};
use crate::mesh::rules::face::{Direction, face_corners};
use crate::mesh::rules::place::unit_normal;
use crate::mesh::rules::split::EdgeQuadrant;
use crate::mesh::surface::{Surface, VertexKey};
use crate::voxel::VoxelPos;

use super::cells::{CornerCells, FineLayer};
use super::corners::{BorderCorner, BorderCorners, NO_CORNER, NO_VERTEX, NO_VERTICES};
use super::foreign_vertices::{ForeignVertices, LatticePoint, MipSources};
use super::lattice::{MipSpan, QUANTA, round};
use super::neighbours::{BoundaryMips, MAX_MIP_STEPS, NeighbourMips, SIDE_AXES};
use super::ring::FaceRing;

/// [`SPLIT_PUSH`](crate::mesh::rules::split::SPLIT_PUSH), as quanta per unit of the piece's length.
const PUSH: i64 = QUANTA as i64 / 8;

/// [`SPLIT_REACH`](crate::mesh::rules::split::SPLIT_REACH), likewise.
const REACH: i64 = QUANTA as i64 * 3 / 4;

/// Reused between blocks.
#[derive(Debug, Default)]
pub(super) struct BorderScratch {
    pub vertices: ForeignVertices,
    corners: BorderCorners,
    /// First of the two vertices of split pieces.
    split: FxHashMap<EdgeQuadrant, u32>,
    ring: FaceRing,
    loose_triangles: Vec<[u32; 3]>,
    loose_materials: Vec<u8>,
    faces: Vec<LeftOutFace>,
}

/// Writes the border of one surface.
pub(super) struct BorderWriter<'a, C> {
    /// Its fast mesh has vertices that the border shares.
    pub sources: MipSources<'a, C>,
    /// Features that touch another mip, as in all names with "foreign" below.
    pub foreign: BoundaryFeatures,
    /// See [`BoundaryMips::finest_steps`].
    pub finest_steps: [u8; 27],
    /// See [`BoundaryMips::only`].
    pub only: [u8; 27],
    /// The block's min corner, in voxels.
    pub min_voxel: VoxelPos,
    pub is_keyed: bool,
    /// The coarsest mip that vertices morph to, if targets are written.
    pub morph_to: Option<u8>,
    pub out: &'a mut Surface,
    pub scratch: &'a mut BorderScratch,
}

/// A face to be written.
#[derive(Clone, Copy)]
struct BorderFace {
    /// The block's cell behind it.
    cell: [i32; 3],
    direction: Direction,
    /// Lowest corner, units.
    low: [i32; 3],
    /// Edge, units.
    size: i32,
    material: u8,
}

/// The vertex of a face at one of its corners.
#[derive(Clone, Copy)]
struct FaceEnd {
    vertex: u32,
    /// Whether a side that ends there may be [pinched](CornerSheets::pinched), and then split.
    is_pinched: bool,
}

/// An end of a side of a face.
#[derive(Clone, Copy)]
struct SideEnd {
    /// Index of the corner.
    corner: usize,
    /// The face's vertex there.
    vertex: u32,
}

/// A vertex's place in a [`VertexKey`], in units.
#[derive(Clone, Copy)]
struct LocalKey {
    at: [i32; 3],
    between: u8,
    part: u8,
}

/// A piece of a side along which two solids touch.
#[derive(Clone, Copy)]
struct PinchedPiece {
    low: [i32; 3],
    along: usize,
    /// Units.
    length: i32,
    /// Vertices at its lower and upper end.
    ends: [u32; 2],
}

impl<C: SurfaceCells> BorderWriter<'_, C> {
    /// Writes all faces of the border.
    pub(super) fn write(&mut self) {
        let lattice = self.sources.cells.lattice;
        self.scratch.corners.clear(&lattice, self.foreign, &self.finest_steps);
        self.scratch.split.clear();
        self.scratch.loose_triangles.clear();
        self.scratch.loose_materials.clear();
        let mut faces = std::mem::take(&mut self.scratch.faces);
        faces.clear();
        faces.extend_from_slice(self.sources.fast.left_out());
        for &LeftOutFace { cell, direction } in &faces {
            self.write_own_face(cell as usize, Direction::ALL[usize::from(direction)]);
        }
        self.scratch.faces = faces;
        for direction in Direction::ALL {
            if self.is_foreign_side(direction) {
                self.write_side(direction);
            }
        }
        self.out.indices.extend(self.scratch.loose_triangles.as_flattened());
        self.out.loose_materials.extend(&self.scratch.loose_materials);
    }

    /// Whether another mip is shown across a side.
    fn is_foreign_side(&self, direction: Direction) -> bool {
        let edge = self.sources.cells.lattice.edge();
        let mut corner = [1; 3];
        corner[direction.axis] = if direction.is_high { edge } else { 0 };
        self.foreign.has(feature_of(corner, edge))
    }

    /// Writes the face of the padded own cell `i`, unless it lies on a foreign side.
    fn write_own_face(&mut self, i: usize, direction: Direction) {
        let cells = self.sources.cells;
        let [sx, _, sz] = cells.own.size();
        let padded = [i % sx, i / (sx * sz), i / sx % sz];
        let cell = padded.map(|at| at as i32 - PAD);
        let outer = if direction.is_high { cells.lattice.cells - 1 } else { 0 };
        if cell[direction.axis] == outer && self.is_foreign_side(direction) {
            return;
        }
        self.write_full_face(cell, i, direction);
    }

    /// Writes a face of the size of the block's cells.
    fn write_full_face(&mut self, cell: [i32; 3], i: usize, direction: Direction) {
        let cells = self.sources.cells;
        let size = cells.lattice.cell_units(cells.lattice.mip);
        let mut low = cell.map(|c| c * size);
        low[direction.axis] += if direction.is_high { size } else { 0 };
        let material = cells.own.material(i);
        self.write_face(BorderFace { cell, direction, low, size, material });
    }

    /// Writes the faces on a side across which another mip is shown.
    fn write_side(&mut self, direction: Direction) {
        let Direction { axis, is_high } = direction;
        let [u, v] = SIDE_AXES[axis];
        let lattice = self.sources.cells.lattice;
        let shift = lattice.cells.trailing_zeros() - 3;
        let mut cell = [0; 3];
        cell[axis] = if is_high { lattice.cells - 1 } else { 0 };
        let mut sub_block = [if is_high { 8 } else { -1 }; 3];
        for b in 0..lattice.cells {
            (cell[v], sub_block[v]) = (b, b >> shift);
            for a in 0..8 {
                (cell[u], sub_block[u]) = (a << shift, a);
                let mip = lattice.around.beside(sub_block);
                if mip < lattice.mip {
                    self.write_fine_faces(cell, direction, mip);
                } else if mip != NeighbourMips::UNKNOWN {
                    self.write_full_faces(cell, direction);
                }
            }
        }
    }

    /// Writes the faces between the inside cells of a sub-block on a side and coarser cells.
    fn write_full_faces(&mut self, first: [i32; 3], direction: Direction) {
        let cells = self.sources.cells;
        for (cell, i) in cells.inside_own_cells(first, direction.axis) {
            if self.is_exposed(cell, direction) {
                self.write_full_face(cell, i, direction);
            }
        }
    }

    /// Whether the cell that is shown across a side of an own cell is outside.
    fn is_exposed(&self, cell: [i32; 3], direction: Direction) -> bool {
        let cells = self.sources.cells;
        let size = cells.lattice.cell_units(cells.lattice.mip);
        let mut beyond = cell.map(|c| c * size);
        beyond[direction.axis] += if direction.is_high { size } else { -1 };
        cells.is_outside(cells.shown_cell(beyond))
    }

    /// Writes the faces between the inside cells of a sub-block on a side and cells of the finer
    /// `mip`.
    fn write_fine_faces(&mut self, first: [i32; 3], direction: Direction, mip: u8) {
        let Direction { axis, is_high } = direction;
        let [u, v] = SIDE_AXES[axis];
        let cells = self.sources.cells;
        let lattice = cells.lattice;
        let feature = side_feature(direction);
        let Some(FineLayer { cells: layer, low: start }) = cells.layer(feature, mip) else {
            return;
        };
        let steps = layer.steps();
        let shift = lattice.cell_log2(lattice.mip) - lattice.cell_log2(mip);
        let (count, size) = (1 << shift, lattice.cell_units(mip));
        for (cell, i) in cells.inside_own_cells(first, axis) {
            let fine_low = cell.map(|at| at << shift);
            let index_along = |a: usize| (fine_low[a] - start[a]) as usize * steps[a];
            let first_index = index_along(u) + index_along(v);
            for (on_v, on_u) in (0..count).flat_map(|v| (0..count).map(move |u| (v, u))) {
                let index = first_index + on_u as usize * steps[u] + on_v as usize * steps[v];
                if !layer.outside(index) {
                    continue;
                }
                let mut low = [0; 3];
                low[axis] = if is_high { lattice.edge() } else { 0 };
                (low[u], low[v]) = ((fine_low[u] + on_u) * size, (fine_low[v] + on_v) * size);
                let material = cells.own.material(i);
                self.write_face(BorderFace { cell, direction, low, size, material });
            }
        }
    }

    /// Writes a face.
    fn write_face(&mut self, face: BorderFace) {
        let axis = face.direction.axis;
        let corners = face_corners([0; 3], face.direction).map(|on_unit_cube| {
            let mut at = [0, 1, 2].map(|a| face.low[a] + on_unit_cube[a] * face.size);
            // `low` lies on the face's plane already.
            at[axis] = face.low[axis];
            at
        });
        // One by one: `map` is not inlined here, which costs the border 5 %.
        let mut ends = [FaceEnd { vertex: NO_VERTEX, is_pinched: false }; 4];
        for (end, at) in ends.iter_mut().zip(corners) {
            *end = self.face_end(at, &face);
        }
        let is_pinched = ends.iter().any(|end| end.is_pinched);
        if !is_pinched && self.is_uncut(&face, corners) {
            return self.push_quad(ends.map(|end| end.vertex), &face);
        }
        let indices = corners.map(|at| self.corner_index(at));
        let mut ring = std::mem::take(&mut self.scratch.ring);
        ring.clear();
        for k in 0..4 {
            ring.corners[k] = ring.vertices.len();
            let ends =
                [k, (k + 1) % 4].map(|k| SideEnd { corner: indices[k], vertex: ends[k].vertex });
            self.push_ring_side(&face, ends, &mut ring.vertices);
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

    /// Returns the vertex of a face at a corner.
    #[inline]
    fn face_end(&mut self, at: [i32; 3], face: &BorderFace) -> FaceEnd {
        let cells = self.sources.cells;
        let lattice = cells.lattice;
        if !self.foreign.has(feature_of(at, lattice.edge())) {
            let own = at.map(|a| a >> lattice.cell_log2(lattice.mip));
            if let Some(vertex) = self.sources.fast.plain_vertex(cells.own.size(), own) {
                return FaceEnd { vertex, is_pinched: false };
            }
        }
        let index = self.corner_index(at);
        let vertex = self.face_vertex(index, face);
        FaceEnd { vertex, is_pinched: self.scratch.corners.all[index].sheets.pinched != 0 }
    }

    /// Whether no side of a face is cut.
    fn is_uncut(&self, face: &BorderFace, corners: [[i32; 3]; 4]) -> bool {
        let Direction { axis, is_high } = face.direction;
        let sides = if is_high { [axis + 1, axis + 2] } else { [axis + 2, axis + 1] };
        (0..4)
            .all(|k| self.piece_length(corners[k], sides[k % 2] % 3, k < 2, face.size) == face.size)
    }

    /// Appends the vertices of a side of a face, from one corner up to, not including, the next.
    fn push_ring_side(&mut self, face: &BorderFace, ends: [SideEnd; 2], ring: &mut Vec<u32>) {
        let [from, to] = ends.map(|end| self.scratch.corners.all[end.corner].at);
        let along = (0..3).find(|&axis| from[axis] != to[axis]).unwrap_or(0);
        let is_up = to[along] > from[along];
        let mut start = ends[0];
        loop {
            let mut at = self.scratch.corners.all[start.corner].at;
            let length = self.piece_length(at, along, is_up, face.size);
            at[along] += if is_up { length } else { -length };
            let end = if at == to {
                ends[1]
            } else {
                let corner = self.corner_index(at);
                SideEnd { corner, vertex: self.face_vertex(corner, face) }
            };
            ring.push(start.vertex);
            let (low, top) = if is_up { (start, end) } else { (end, start) };
            let corners = &self.scratch.corners.all;
            let (low_corner, top_corner) = (&corners[low.corner], &corners[top.corner]);
            if low_corner.sheets.is_pinched(along, true)
                && top_corner.sheets.is_pinched(along, false)
            {
                let ends = [low.vertex, top.vertex];
                let piece = PinchedPiece { low: low_corner.at, along, length, ends };
                let first = self.split_piece(face, piece);
                ring.extend(if is_up { [first, first + 1] } else { [first + 1, first] });
            }
            if end.corner == ends[1].corner {
                return;
            }
            start = end;
        }
    }

    /// Returns the length of the piece that starts at `at`, of a side of a face of size `size`:
    /// that of the smallest cell around.
    fn piece_length(&self, at: [i32; 3], along: usize, is_up: bool, size: i32) -> i32 {
        let lattice = self.sources.cells.lattice;
        let mut inside_edge = at; // any corner between its ends has the edge's feature
        inside_edge[along] = 1;
        let finest = self.finest_steps[feature_of(inside_edge, lattice.edge())];
        if finest != BoundaryMips::VARIES {
            return size.min(lattice.cell_units(lattice.mip - finest));
        }
        let mut middle = at;
        middle[along] = if is_up { at[along] } else { at[along] - 1 };
        let (u, v) = ((along + 1) % 3, (along + 2) % 3);
        let mut length = size;
        for quadrant in 0..4 {
            let mut beside = middle;
            beside[u] -= quadrant & 1;
            beside[v] -= quadrant >> 1;
            let mip = lattice.mip_at(beside);
            if mip != NeighbourMips::UNKNOWN {
                length = length.min(lattice.cell_units(mip));
            }
        }
        length
    }

    /// Returns the index of the border's corner at a position, which it adds if it is new.
    fn corner_index(&mut self, at: [i32; 3]) -> usize {
        let feature = feature_of(at, self.sources.cells.lattice.edge());
        let count = self.scratch.corners.all.len() as u32;
        let index = self.scratch.corners.index(at, feature);
        if *index != NO_CORNER {
            return *index as usize;
        }
        *index = count;
        let corner = self.new_corner(at, feature);
        self.scratch.corners.all.push(corner);
        count as usize
    }

    /// Looks up the cells around a corner.
    fn new_corner(&self, at: [i32; 3], feature: usize) -> BorderCorner {
        let cells = self.sources.cells;
        let lattice = cells.lattice;
        if !self.foreign.has(feature) {
            let own = at.map(|a| a >> lattice.cell_log2(lattice.mip));
            let sheets = self.sources.block_cells(lattice.mip).corner(own);
            let mips = MipSpan { finest: lattice.mip, coarsest: lattice.mip };
            return BorderCorner { at, sheets, mips, materials: 0, vertices: NO_VERTICES };
        }
        let only = self.only[feature];
        let around = match side_direction(feature) {
            Some(side) if only != NeighbourMips::UNKNOWN => {
                cells.corner_cells_on_side(at, side, only)
            }
            _ => cells.corner_cells(at),
        };
        let CornerCells { inside, outside, mips, materials } = around;
        let MipSpan { finest, coarsest } = mips;
        assert!(coarsest - finest <= MAX_MIP_STEPS, "blocks of mips {finest} and {coarsest} touch");
        let sheets = match inside | outside {
            255 => CORNERS[usize::from(inside)],
            _ => CornerSheets::new(inside, outside),
        };
        BorderCorner { at, sheets, mips, materials, vertices: NO_VERTICES }
    }

    /// Returns the vertex of a face at one of its corners.
    fn face_vertex(&mut self, index: usize, face: &BorderFace) -> u32 {
        let BorderCorner { at, sheets, .. } = &self.scratch.corners.all[index];
        let Direction { axis, is_high } = face.direction;
        let mut octant = 0;
        for a in 0..3 {
            let is_high = if a == axis { !is_high } else { 2 * (at[a] - face.low[a]) < face.size };
            octant |= if is_high { SIDE[a] } else { 0 };
        }
        let sheet = sheets.sheet_of_face(axis, octant);
        let vertex = self.scratch.corners.all[index].vertices[usize::from(sheet)];
        if vertex != NO_VERTEX {
            return vertex;
        }
        let vertex = self.make_vertex(index, sheet);
        self.scratch.corners.all[index].vertices[usize::from(sheet)] = vertex;
        vertex
    }

    /// Returns the vertex of a sheet at a corner: one of the fast mesh, or a new one.
    fn make_vertex(&mut self, index: usize, sheet_number: u8) -> u32 {
        let at = self.scratch.corners.all[index].at;
        let cells = self.sources.cells;
        let lattice = cells.lattice;
        if self.foreign.has(feature_of(at, lattice.edge())) {
            return self.make_foreign_vertex(index, sheet_number);
        }
        let sheets = self.scratch.corners.all[index].sheets;
        let own = at.map(|a| a >> lattice.cell_log2(lattice.mip));
        if let Some(vertex) = self.sources.fast.vertex(cells.own.size(), own, sheet_number) {
            return vertex;
        }
        let block = self.sources.block_cells(lattice.mip);
        let vertex = self.scratch.vertices.vertex(&block, 0, own, &sheets, sheet_number);
        let quanta = lattice.cell_quanta() / 2;
        let offset = vertex.placed.offset.map(|offset| (offset * quanta as f32) as i32);
        let position = [0, 1, 2].map(|a| at[a] * QUANTA + offset[a]);
        let point = LatticePoint { position, normal: vertex.placed.normal };
        let mips = MipSpan { finest: lattice.mip, coarsest: lattice.mip };
        self.push_target(at, mips, sheets.sheet(sheet_number).direction, point);
        let key = LocalKey { at, between: 0, part: sheet_number };
        self.push_vertex(point, blend(vertex.materials.get()), key)
    }

    /// Makes the vertex of a sheet at a corner that touches another mip.
    fn make_foreign_vertex(&mut self, index: usize, sheet_number: u8) -> u32 {
        let corner = &self.scratch.corners.all[index];
        let (at, mips, materials) = (corner.at, corner.mips, corner.materials);
        let sheet = corner.sheets.sheet(sheet_number);
        let point = self.scratch.vertices.place(&self.sources, at, mips, sheet.direction);
        self.push_target(at, mips, sheet.direction, point);
        let blend = blend_octants(materials, sheet.planes);
        self.push_vertex(point, blend, LocalKey { at, between: 0, part: sheet_number })
    }

    /// Appends the target of a vertex at `point` that faces `direction`.
    fn push_target(
        &mut self,
        at: [i32; 3],
        mips: MipSpan,
        direction: [f32; 3],
        point: LatticePoint,
    ) {
        let Some(top) = self.morph_to else { return };
        let MipSpan { finest, coarsest } = mips;
        let target = match coarsest < top {
            true => {
                let mips = MipSpan { finest, coarsest: coarsest + 1 };
                self.scratch.vertices.place_on_coarsest_mip(&self.sources, at, mips, || direction)
            }
            false => None,
        };
        let lattice = self.sources.cells.lattice;
        let step = coarsest - lattice.mip;
        target.unwrap_or(point).push_to(&lattice, step, &mut self.out.targets);
    }

    /// Appends the target of the last vertex, made from others.
    fn push_inner_target(&mut self, of: [u32; 4]) {
        if self.morph_to.is_some() {
            self.out.push_inner_target(self.out.positions.len() - 1, of);
        }
    }

    /// Appends a vertex, and returns its number.
    fn push_vertex(&mut self, point: LatticePoint, blend: MaterialBlend, key: LocalKey) -> u32 {
        let lattice = self.sources.cells.lattice;
        let scale = 1.0 / lattice.cell_quanta() as f32;
        let number = self.out.positions.len() as u32;
        self.out.positions.push(point.position.map(|p| p as f32 * scale));
        self.out.normals.push(point.normal);
        self.out.materials.push(blend.materials);
        self.out.weights.push(blend.weights);
        if self.is_keyed {
            let LocalKey { at, between, part } = key;
            let corner = self.min_voxel + VoxelPos::from(at.map(|a| a << lattice.unit));
            self.out.keys.push(VertexKey { corner, between, part });
        }
        number
    }

    /// Returns the position of a vertex in quanta.
    fn position(&self, vertex: u32) -> [i64; 3] {
        let quanta = self.sources.cells.lattice.cell_quanta() as f32;
        self.out.positions[vertex as usize].map(|p| (p * quanta) as i64)
    }

    /// Returns the first of the two vertices on a pinched piece for the face's cell, and makes
    /// them if needed.
    fn split_piece(&mut self, face: &BorderFace, piece: PinchedPiece) -> u32 {
        let PinchedPiece { low, along, length, ends } = piece;
        let lattice = self.sources.cells.lattice;
        let across = EdgeQuadrant::across(along);
        let size = lattice.cell_units(lattice.mip);
        let is_high = across.map(|axis| face.cell[axis] * size == low[axis]);
        let edge = EdgeQuadrant::new(low, along, is_high);
        if let Some(&first) = self.scratch.split.get(&edge) {
            return first;
        }
        let first = self.out.positions.len() as u32;
        let [pa, pb] = ends.map(|end| self.position(end));
        let [na, nb] = ends.map(|end| self.out.normals[end as usize]);
        for upper in [0, 1] {
            let share = [3 - 2 * upper, 1 + 2 * upper];
            let mut sum = [0, 1, 2].map(|axis| share[0] * pa[axis] + share[1] * pb[axis]);
            for (axis, is_high) in across.into_iter().zip(is_high) {
                let (from, length4) = (4 * i64::from(low[axis] * QUANTA), 4 * i64::from(length));
                let push = if is_high { PUSH * length4 } else { -PUSH * length4 };
                let offset = sum[axis] - from + push;
                sum[axis] = from + offset.clamp(-REACH * length4, REACH * length4);
            }
            let share = share.map(|share| share as f32);
            let normal = [0, 1, 2].map(|axis| share[0] * na[axis] + share[1] * nb[axis]);
            let point = LatticePoint {
                position: sum.map(|sum| round(sum, 4, i64::from(length))),
                normal: unit_normal(normal, [0.0; 3]),
            };
            let part = edge.quadrant + 4 * upper as u8;
            let key = LocalKey { at: low, between: 1 << along, part };
            self.push_vertex(point, MaterialBlend::one(face.material), key);
            // The mean of four: at a quarter and at three quarters.
            let [a, b] = ends;
            self.push_inner_target(if upper == 0 { [a, a, a, b] } else { [a, b, b, b] });
        }
        self.scratch.split.insert(edge, first);
        first
    }

    /// Appends a vertex in the middle of a face.
    fn push_centre(&mut self, v: [u32; 4], face: &BorderFace) -> u32 {
        let p = v.map(|v| self.position(v));
        let n = v.map(|v| self.out.normals[v as usize]);
        let sum = [0, 1, 2].map(|a| (p[0][a] + p[1][a]) + (p[2][a] + p[3][a]));
        let normal = [0, 1, 2].map(|a| (n[0][a] + n[1][a]) + (n[2][a] + n[3][a]));
        let point = LatticePoint {
            position: sum.map(|sum| round(sum, 4, i64::from(face.size))),
            normal: unit_normal(normal, [0.0; 3]),
        };
        let Direction { axis, is_high } = face.direction;
        let key = LocalKey { at: face.low, between: 7 ^ 1 << axis, part: u8::from(is_high) };
        let centre = self.push_vertex(point, MaterialBlend::one(face.material), key);
        self.push_inner_target(v);
        centre
    }

    /// Appends a quad, split along its shorter diagonal.
    fn push_quad(&mut self, v: [u32; 4], face: &BorderFace) {
        let [a, b, c, d] = self.out.shorter_diagonal_first(v);
        self.out.indices.extend([a, b, c, a, c, d]);
        self.push_face(face);
    }

    /// Appends the material and the face of a quad.
    fn push_face(&mut self, face: &BorderFace) {
        let [x, y, z] = face.cell.map(|c| c as u8);
        self.out.quad_materials.push(face.material);
        self.out.quad_faces.push([x, y, z, face.direction.number()]);
    }

    /// Appends the triangles of a fan: in pairs, as quads; the last of an odd number is loose.
    fn push_fan(&mut self, mut fan: impl Iterator<Item = [u32; 3]>, face: &BorderFace) {
        while let Some(first) = fan.next() {
            if let Some(second) = fan.next() {
                self.out.indices.extend(first);
                self.out.indices.extend(second);
                self.push_face(face);
            } else {
                self.scratch.loose_triangles.push(first);
                self.scratch.loose_materials.push(face.material);
            }
        }
    }
}
