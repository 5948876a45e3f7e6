//! The slow twin of the mesher, for tests and benchmarks alone: visits every cell and corner.
//!
//! Shares with the mesher the rules that define a surface, and no code that finds, numbers or
//! writes anything. It also defines the order of the output. Vertices: for each
//! corner that a face of the block touches (x fastest, then z, then y) its first used sheet; then
//! all other used sheets in the same order; then what split edges and faces add. Quads: by cell
//! row (z, then y), direction (−x, +x, −y, +y, −z, +z) and x, those with a special corner after
//! all others.

use rustc_hash::FxHashMap;

use crate::voxel::{DenseBox, MaterialTable, VoxelPos};

use super::rules::blend::{MaterialBlend, blend};
use super::rules::block::block_in;
use super::rules::cells::{LiquidCells, SolidCells, SurfaceCells};
use super::rules::corner::CornerSheets;
use super::rules::face::{Direction, face_corners, octant_of};
use super::rules::place::unit_normal;
use super::rules::split::{SPLIT_PUSH, SPLIT_REACH};
use super::rules::vertex::BlockCells;
use super::surface::{BlockMesh, Surface, VertexKey};

/// Meshes as [`Mesher::mesh`](super::Mesher::mesh), slowly.
///
/// # Panics
/// As that does.
pub fn mesh(cells: &DenseBox, materials: &MaterialTable, out: &mut BlockMesh) {
    mesh_keyed(cells, materials, out);
    out.solid.keys.clear();
    out.liquid.keys.clear();
}

/// Meshes as [`Mesher::mesh_keyed`](super::Mesher::mesh_keyed), slowly.
///
/// # Panics
/// As that does.
pub fn mesh_keyed(cells: &DenseBox, materials: &MaterialTable, out: &mut BlockMesh) {
    out.clear();
    out.block = block_in(cells.region());
    let size = out.block.size().map(|edge| edge as i32);
    let origin = out.block.min;
    let solid = SolidCells::new(cells, materials);
    let block = BlockCells { cells: &solid, table: materials, origin };
    FlatTwin::new(block, size, &mut out.solid).write();
    let liquid = LiquidCells::new(cells, materials);
    let block = BlockCells { cells: &liquid, table: materials, origin };
    FlatTwin::new(block, size, &mut out.liquid).write();
}

/// A face that the block owns.
#[derive(Clone, Copy)]
struct OwnFace {
    cell: [i32; 3],
    direction: Direction,
    corners: [[i32; 3]; 4],
}

/// A corner that own faces touch.
struct UsedCorner {
    sheets: CornerSheets,
    /// Sheets that have an own face, a bit for each.
    used: u8,
}

/// One surface of a block.
struct FlatTwin<'a, C> {
    block: BlockCells<'a, C>,
    /// Edges of the block, cells.
    size: [i32; 3],
    corners: FxHashMap<[i32; 3], UsedCorner>,
    /// By corner and sheet.
    numbers: FxHashMap<([i32; 3], u8), u32>,
    /// Vertices on split edges.
    split: FxHashMap<VertexKey, u32>,
    out: &'a mut Surface,
}

impl<'a, C: SurfaceCells> FlatTwin<'a, C> {
    fn new(block: BlockCells<'a, C>, size: [i32; 3], out: &'a mut Surface) -> FlatTwin<'a, C> {
        let (corners, numbers, split) = Default::default();
        FlatTwin { block, size, corners, numbers, split, out }
    }

    fn write(&mut self) {
        let faces = self.own_faces();
        for face in &faces {
            for at in face.corners {
                let sheets = self.block.corner(at);
                let corner = self.corners.entry(at).or_insert(UsedCorner { sheets, used: 0 });
                let octant = octant_of(face.cell, at);
                corner.used |= 1 << sheets.sheet_of_face(face.direction.axis, octant);
            }
        }
        self.corner_vertices(|sheet, used| sheet == used.trailing_zeros());
        self.corner_vertices(|sheet, used| sheet != used.trailing_zeros());
        let (special, plain): (Vec<_>, Vec<_>) = faces
            .into_iter()
            .partition(|face| face.corners.iter().any(|at| self.corners[at].sheets.is_special()));
        for face in plain {
            self.face(face);
        }
        self.out.plain_quads = self.out.quad_count();
        for face in special {
            self.face(face);
        }
    }

    /// Returns the block's own faces, in the order of the quads.
    fn own_faces(&self) -> Vec<OwnFace> {
        let is_face = |cell: [i32; 3], direction: Direction| {
            let mut beyond = cell;
            beyond[direction.axis] += if direction.is_high { 1 } else { -1 };
            let cells = self.block.cells;
            cells.inside(self.block.index(cell)) && cells.outside(self.block.index(beyond))
        };
        let [sx, sy, sz] = self.size;
        let mut faces = Vec::new();
        for (y, z) in (0..sy).flat_map(|y| (0..sz).map(move |z| (y, z))) {
            for direction in Direction::ALL {
                let cells = (0..sx).map(|x| [x, y, z]).filter(|&cell| is_face(cell, direction));
                faces.extend(cells.map(|cell| OwnFace {
                    cell,
                    direction,
                    corners: face_corners(cell, direction),
                }));
            }
        }
        faces
    }

    /// Writes the vertices of the used sheets that `is_next` selects, given a sheet and all used
    /// ones.
    fn corner_vertices(&mut self, is_next: impl Fn(u32, u8) -> bool) {
        let [sx, sy, sz] = self.size;
        let rows = (0..=sy).flat_map(|y| (0..=sz).map(move |z| (y, z)));
        for at in rows.flat_map(|(y, z)| (0..=sx).map(move |x| [x, y, z])) {
            let Some(&UsedCorner { sheets, used }) = self.corners.get(&at) else { continue };
            for sheet in (0..8u8).filter(|&s| used >> s & 1 == 1 && is_next(s.into(), used)) {
                let vertex = self.block.vertex(at, &sheets, sheet);
                let p = [0, 1, 2].map(|a| at[a] as f32 + 0.5 * vertex.placed.offset[a]);
                let key = self.key(at, 0, sheet);
                let blend = blend(vertex.materials.get());
                let number = self.push(key, p, vertex.placed.normal, blend);
                self.numbers.insert((at, sheet), number);
            }
        }
    }

    fn key(&self, at: [i32; 3], between: u8, part: u8) -> VertexKey {
        VertexKey { corner: self.block.origin + VoxelPos::from(at), between, part }
    }

    fn push(&mut self, key: VertexKey, p: [f32; 3], normal: [f32; 3], of: MaterialBlend) -> u32 {
        self.out.keys.push(key);
        self.out.positions.push(p);
        self.out.normals.push(normal);
        self.out.materials.push(of.materials);
        self.out.weights.push(of.weights);
        self.out.positions.len() as u32 - 1
    }

    /// Writes a face: a polygon of its corners' vertices and those of its split sides.
    fn face(&mut self, face: OwnFace) {
        let v = face.corners.map(|at| {
            let octant = octant_of(face.cell, at);
            let sheet = self.corners[&at].sheets.sheet_of_face(face.direction.axis, octant);
            self.numbers[&(at, sheet)]
        });
        // The vertices of each side, from its corner on.
        let sides: [Vec<u32>; 4] = [0, 1, 2, 3].map(|k| {
            let next = (k + 1) % 4;
            let mut side = vec![v[k]];
            side.extend(self.split_side(
                &face,
                [face.corners[k], face.corners[next]],
                [v[k], v[next]],
            ));
            side
        });
        if sides.iter().all(|side| side.len() == 1) {
            let p = v.map(|v| self.out.positions[v as usize]);
            let square = |a: [f32; 3], b: [f32; 3]| {
                let d = [0, 1, 2].map(|axis| a[axis] - b[axis]);
                (d[0] * d[0] + d[1] * d[1]) + d[2] * d[2]
            };
            let start = usize::from(square(p[0], p[2]) > square(p[1], p[3]));
            let rest = [1, 2, 3].map(|k| v[(start + k) % 4]);
            return self.fan(v[start], &rest, &face);
        }
        let is_whole = |k: usize| sides[k % 4].len() == 1;
        match (0..4).find(|&k| is_whole(k) && is_whole(k + 3)) {
            Some(k) => {
                let ring: Vec<u32> = (k..k + 4).flat_map(|k| sides[k % 4].clone()).collect();
                self.fan(ring[0], &ring[1..], &face);
            }
            None => {
                let centre = self.centre(&face, v);
                let mut ring = sides.concat();
                ring.push(v[0]);
                self.fan(centre, &ring, &face);
            }
        }
    }

    /// Writes triangles from `apex` to all others; each two count as a quad.
    fn fan(&mut self, apex: u32, others: &[u32], face: &OwnFace) {
        for pair in others.windows(2) {
            self.out.indices.extend([apex, pair[0], pair[1]]);
        }
        let [x, y, z] = face.cell.map(|c| c as u8);
        for _ in 0..(others.len() - 1) / 2 {
            self.out.quad_materials.push(self.material(face));
            self.out.quad_faces.push([x, y, z, face.direction.number()]);
        }
    }

    fn material(&self, face: &OwnFace) -> u8 {
        self.block.cells.material(self.block.index(face.cell))
    }

    /// Returns the vertices on a side between two corners of a face, if two solids touch along
    /// it: at a quarter and three quarters, pushed into the face's cell.
    fn split_side(&mut self, face: &OwnFace, at: [[i32; 3]; 2], v: [u32; 2]) -> Vec<u32> {
        let along = (0..3).find(|&a| at[0][a] != at[1][a]).unwrap_or(0);
        let is_up = at[1][along] > at[0][along];
        let (low, top) = if is_up { (0, 1) } else { (1, 0) };
        let is_pinched =
            |end: usize, is_high: bool| self.corners[&at[end]].sheets.is_pinched(along, is_high);
        if !is_pinched(low, true) || !is_pinched(top, false) {
            return Vec::new();
        }
        let corner = at[low];
        let is_high =
            [1, 2].map(|step| face.cell[(along + step) % 3] == corner[(along + step) % 3]);
        let quadrant = u8::from(is_high[0]) + 2 * u8::from(is_high[1]);
        let mut pair: Vec<u32> = (0..2)
            .map(|upper| {
                let key = self.key(corner, 1 << along, quadrant + 4 * upper);
                if let Some(&number) = self.split.get(&key) {
                    return number;
                }
                let (near, far) = if upper == 0 { (v[low], v[top]) } else { (v[top], v[low]) };
                let [a, b] = [v[low], v[top]].map(|v| v as usize);
                let shares = if upper == 0 { [3.0, 1.0] } else { [1.0, 3.0] };
                let mix = |of: &[[f32; 3]]| {
                    [0, 1, 2].map(|axis| shares[0] * of[a][axis] + shares[1] * of[b][axis])
                };
                let normal = unit_normal(mix(&self.out.normals), [0.0; 3]);
                let mut p = mix(&self.out.positions).map(|p| f64::from(p) / 4.0);
                for (step, is_high) in [1, 2].into_iter().zip(is_high) {
                    let axis = (along + step) % 3;
                    let push = f64::from(if is_high { SPLIT_PUSH } else { -SPLIT_PUSH });
                    let offset = p[axis] - f64::from(corner[axis]) + push;
                    let reach = f64::from(SPLIT_REACH);
                    p[axis] = f64::from(corner[axis]) + offset.clamp(-reach, reach);
                }
                let of = if upper == 0 { [near, near, near, far] } else { [far, near, near, near] };
                let number = self.inner(key, p, normal, of, face);
                self.split.insert(key, number);
                number
            })
            .collect();
        if !is_up {
            pair.reverse();
        }
        pair
    }

    /// Writes the vertex in the middle of a face.
    fn centre(&mut self, face: &OwnFace, v: [u32; 4]) -> u32 {
        let sum = |of: &[[f32; 3]]| {
            let [a, b, c, d] = v.map(|v| of[v as usize]);
            [0, 1, 2].map(|axis| (a[axis] + b[axis]) + (c[axis] + d[axis]))
        };
        let normal = unit_normal(sum(&self.out.normals), [0.0; 3]);
        let p = sum(&self.out.positions).map(|p| f64::from(p) / 4.0);
        let Direction { axis, is_high } = face.direction;
        let key = self.key(face.corners[0], 7 - (1 << axis), is_high.into());
        self.inner(key, p, normal, v, face)
    }

    /// Writes a vertex of one cell alone, in whole 1/4096 of a cell.
    fn inner(
        &mut self,
        key: VertexKey,
        p: [f64; 3],
        normal: [f32; 3],
        of: [u32; 4],
        face: &OwnFace,
    ) -> u32 {
        self.out.inner.push(of);
        // Rounding gives -0.0 where a sum with a large number gives 0.0.
        let p = p.map(|p| ((p * 4096.0).round_ties_even() / 4096.0 + 0.0) as f32);
        self.push(key, p, normal, MaterialBlend::one(self.material(face)))
    }
}
