//! Writes vertices and faces one by one, by the rules: what the fast steps leave over at special
//! corners.

use std::array;

use rustc_hash::FxHashMap;

use crate::mesh::rules::blend::{MaterialBlend, blend};
use crate::mesh::rules::cells::SurfaceCells;
use crate::mesh::rules::corner::CornerSheets;
use crate::mesh::rules::face::{Direction, face_corners, octant_of};
use crate::mesh::rules::place::unit_normal;
use crate::mesh::rules::split::{EdgeQuadrant, SPLIT_PUSH, SPLIT_REACH};
use crate::mesh::rules::vertex::BlockCells;
use crate::mesh::surface::{Surface, VertexKey};
use crate::voxel::VoxelPos;

/// Adding and subtracting this rounds a position to 1/4096 of a cell.
const POSITION_ROUNDING: f32 = 3072.0;

/// A surface being written.
pub(super) struct SurfaceWriter<'a, C> {
    pub block: BlockCells<'a, C>,
    /// Whether keys are written.
    pub is_keyed: bool,
    pub out: &'a mut Surface,
}

/// The first of the two vertices of each split edge.
pub(super) type SplitEdges = FxHashMap<EdgeQuadrant, u32>;

/// A face of a cell, in block coordinates.
#[derive(Clone, Copy)]
pub(super) struct CellFace {
    pub cell: [i32; 3],
    pub direction: Direction,
}

/// A vertex that belongs to one cell alone.
struct InnerVertex {
    position: [f32; 3],
    /// Of any length.
    normal: [f32; 3],
    material: u8,
    /// The vertices that it is the mean of.
    of: [u32; 4],
}

impl<C: SurfaceCells> SurfaceWriter<'_, C> {
    /// Appends the vertex of one sheet at a corner.
    pub(super) fn push_vertex(&mut self, at: [i32; 3], corner: &CornerSheets, sheet: u8) {
        let vertex = self.block.vertex(at, corner, sheet);
        let placed = vertex.placed;
        let MaterialBlend { materials, weights } = blend(vertex.materials.get());
        self.out.positions.push(array::from_fn(|a| at[a] as f32 + 0.5 * placed.offset[a]));
        self.out.normals.push(placed.normal);
        self.out.materials.push(materials);
        self.out.weights.push(weights);
        self.push_key(at, 0, sheet);
    }

    /// Appends the key of a vertex, as [`VertexKey`] has it; `at` is in block coordinates.
    fn push_key(&mut self, at: [i32; 3], between: u8, part: u8) {
        if self.is_keyed {
            let corner = self.block.origin + VoxelPos::from(at);
            self.out.keys.push(VertexKey { corner, between, part });
        }
    }

    /// Appends the quad of a face, split along its shorter diagonal.
    fn push_quad(&mut self, v: [u32; 4], face: CellFace) {
        let [a, b, c, d] = self.out.shorter_diagonal_first(v);
        self.out.indices.extend([a, b, c, a, c, d]);
        self.push_face(face);
    }

    /// Appends the material and the face of a quad.
    fn push_face(&mut self, CellFace { cell, direction }: CellFace) {
        let [x, y, z] = cell.map(|c| c as u8);
        self.out.quad_materials.push(self.material(cell));
        self.out.quad_faces.push([x, y, z, direction.number()]);
    }

    fn material(&self, cell: [i32; 3]) -> u8 {
        self.block.cells.material(self.block.index(cell))
    }

    /// Appends a face with a special corner: as a quad, or as several where an edge between two
    /// solids must be split so that no four faces share it. `vertex` returns the number of the
    /// vertex of a sheet at a corner.
    pub(super) fn push_special(
        &mut self,
        face: CellFace,
        split: &mut SplitEdges,
        vertex: impl Fn([i32; 3], u8) -> u32,
    ) {
        let at = face_corners(face.cell, face.direction);
        let corners = at.map(|at| self.block.corner(at));
        let v: [u32; 4] = array::from_fn(|k| {
            let octant = octant_of(face.cell, at[k]);
            vertex(at[k], corners[k].sheet_of_face(face.direction.axis, octant))
        });
        let mut ends = [None; 4];
        for k in 0..4 {
            let next = (k + 1) % 4;
            let along = (0..3).find(|&a| at[k][a] != at[next][a]).unwrap_or(0);
            let is_up = at[next][along] > at[k][along];
            let (low, top) = if is_up { (k, next) } else { (next, k) };
            if corners[low].is_pinched(along, true) && corners[top].is_pinched(along, false) {
                let first = self.split_edge(face.cell, at[low], along, [v[low], v[top]], split);
                ends[k] = Some(if is_up { [first, first + 1] } else { [first + 1, first] });
            }
        }
        if ends.iter().all(Option::is_none) {
            self.push_quad(v, face);
        } else {
            self.push_polygon(face, v, ends);
        }
    }

    /// Returns the first of the two vertices on a split edge of `cell`, and makes them if needed.
    /// `ends` are the vertices at the edge's lower corner `low` and its upper one.
    fn split_edge(
        &mut self,
        cell: [i32; 3],
        low: [i32; 3],
        along: usize,
        ends: [u32; 2],
        split: &mut SplitEdges,
    ) -> u32 {
        let across = EdgeQuadrant::across(along);
        let is_high = across.map(|axis| cell[axis] == low[axis]);
        let edge = EdgeQuadrant::new(low, along, is_high);
        if let Some(&first) = split.get(&edge) {
            return first;
        }
        let first = self.out.positions.len() as u32;
        let [a, b] = ends;
        for upper in [0, 1] {
            let share = if upper == 0 { [3.0, 1.0] } else { [1.0, 3.0] };
            let [p, normal] = [&self.out.positions, &self.out.normals].map(|of| {
                let [a, b] = ends.map(|end| of[end as usize]);
                array::from_fn(|axis| share[0] * a[axis] + share[1] * b[axis])
            });
            let mut position: [f32; 3] = p;
            for axis in 0..3 {
                position[axis] *= 0.25;
            }
            for (axis, is_high) in across.into_iter().zip(is_high) {
                let offset = position[axis] - low[axis] as f32;
                let push = if is_high { SPLIT_PUSH } else { -SPLIT_PUSH };
                position[axis] =
                    low[axis] as f32 + (offset + push).clamp(-SPLIT_REACH, SPLIT_REACH);
            }
            let of = if upper == 0 { [a, a, a, b] } else { [a, b, b, b] };
            self.push_inner(InnerVertex { position, normal, material: self.material(cell), of });
            self.push_key(low, 1 << along, edge.quadrant + 4 * upper);
        }
        split.insert(edge, first);
        first
    }

    fn push_inner(&mut self, vertex: InnerVertex) {
        let InnerVertex { position, normal, material, of } = vertex;
        let MaterialBlend { materials, weights } = MaterialBlend::one(material);
        self.out.inner.push(of);
        self.out.positions.push(position.map(|p| (p + POSITION_ROUNDING) - POSITION_ROUNDING));
        self.out.normals.push(unit_normal(normal, [0.0; 3]));
        self.out.materials.push(materials);
        self.out.weights.push(weights);
    }

    /// Appends a face with split sides: a fan from a corner whose two sides are not split,
    /// or from a vertex in its middle, so that two vertices of a side are only joined along it.
    /// As a split side has two vertices, the triangles pair up as quads.
    fn push_polygon(&mut self, face: CellFace, v: [u32; 4], ends: [Option<[u32; 2]>; 4]) {
        let apex_corner = (0..4).find(|&k| ends[k].is_none() && ends[(k + 3) % 4].is_none());
        let start = apex_corner.unwrap_or(0);
        let mut ring = Vec::with_capacity(13);
        for k in (start..start + 4).map(|k| k % 4) {
            ring.push(v[k]);
            ring.extend(ends[k].into_iter().flatten());
        }
        let apex = if apex_corner.is_some() {
            ring.remove(0)
        } else {
            ring.push(v[start]);
            self.push_centre(face, v)
        };
        for pair in ring.windows(3).step_by(2) {
            self.out.indices.extend([apex, pair[0], pair[1], apex, pair[1], pair[2]]);
            self.push_face(face);
        }
    }

    /// Appends the vertex in the middle of a face, and returns its number.
    fn push_centre(&mut self, face: CellFace, v: [u32; 4]) -> u32 {
        let [p, normal] = [&self.out.positions, &self.out.normals].map(|of| {
            let [a, b, c, d] = v.map(|v| of[v as usize]);
            array::from_fn(|axis| (a[axis] + b[axis]) + (c[axis] + d[axis]))
        });
        let number = self.out.positions.len() as u32;
        let position = p.map(|p: f32| p * 0.25);
        let material = self.material(face.cell);
        self.push_inner(InnerVertex { position, normal, material, of: v });
        let Direction { axis, is_high } = face.direction;
        let low = face_corners(face.cell, face.direction)[0];
        self.push_key(low, 7 ^ 1 << axis, u8::from(is_high));
        number
    }
}
