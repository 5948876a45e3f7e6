//! The slow twin of meshing among other mips: the faces of a block in a tiling one by one, in
//! absolute coordinates. Every cell is looked up among the shown blocks, and no result is kept.
//!
//! Corners are in voxels, positions in 1/4096 of a voxel.

use rustc_hash::FxHashMap;

use crate::mesh::rules::blend::{MaterialBlend, blend};
use crate::mesh::rules::block::PAD;
use crate::mesh::rules::cells::{LiquidCells, SolidCells, SurfaceCells};
use crate::mesh::rules::corner::{CornerSheets, SIDE};
use crate::mesh::rules::face::{Direction, face_corners};
use crate::mesh::rules::place::{PlacedVertex, unit_normal};
use crate::mesh::rules::vertex::BlockCells;
use crate::mesh::surface::VertexKey;
use crate::voxel::{DenseBox, Kind, MaterialTable, Region, VoxelPos, WATER};

use super::cells::fill_unknown;
use super::neighbours::NeighbourMips;
use super::ring::FaceRing;
use super::tilings::{TestLeaf, TestTiling};

/// A vertex of the tiling.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct TwinVertex {
    pub position: [i64; 3],
    pub normal_bits: [u32; 3],
    pub blend: MaterialBlend,
    pub target: TwinTarget,
}

/// Where a vertex lies one mip up.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct TwinTarget {
    pub position: [i64; 3],
    pub normal_bits: [u32; 3],
    /// The vertex's mip.
    pub mip: u8,
}

/// One surface of a block: vertices by key, and triangles that begin with their least key,
/// sorted.
#[derive(Debug, Default, PartialEq)]
pub(super) struct TwinSurface {
    pub vertices: FxHashMap<VertexKey, TwinVertex>,
    pub triangles: Vec<[VertexKey; 3]>,
}

impl TwinSurface {
    pub(super) fn push(&mut self, t: [VertexKey; 3]) {
        let first = (0..3).min_by_key(|&k| t[k]).unwrap_or(0);
        self.triangles.push([t[first], t[(first + 1) % 3], t[(first + 2) % 3]]);
    }
}

/// One surface of a tiling.
pub(super) struct MixedTwin<'a> {
    pub tiling: &'a TestTiling,
    pub table: &'a MaterialTable,
    pub liquid: bool,
    /// The coarsest mip that vertices morph to.
    pub top: u8,
}

/// A shown cell: mip and position in cells.
type MipCell = (u8, VoxelPos);

/// A face.
#[derive(Clone, Copy)]
struct TwinFace {
    /// The cell behind it.
    cell: MipCell,
    /// The min corner.
    low: [i32; 3],
    /// The edge, voxels.
    size: i32,
    direction: Direction,
}

/// Position and unit normal.
type PositionNormal = ([i64; 3], [f32; 3]);

impl MixedTwin<'_> {
    /// Meshes a block.
    pub(super) fn block(&self, leaf: TestLeaf) -> TwinSurface {
        let mut out = TwinSurface::default();
        for pos in self.tiling.cells_of(leaf).voxels() {
            let cell = (leaf.0, pos);
            if self.state(cell).0 {
                for direction in Direction::ALL {
                    let mut low = Region::one(pos).finer(leaf.0.into()).min.to_array();
                    low[direction.axis] += i32::from(direction.is_high) << leaf.0;
                    let face = TwinFace { cell, low, size: 1 << leaf.0, direction };
                    self.faces(face, &mut out);
                }
            }
        }
        out.triangles.sort_unstable();
        out
    }

    /// Whether a cell is inside, and whether outside.
    fn state(&self, (mip, pos): MipCell) -> (bool, bool) {
        let (cell, water) = self.tiling.cell(mip, pos);
        let kind = self.table.kind(cell.material);
        match self.liquid {
            false => (kind == Kind::Solid, kind != Kind::Solid),
            true => (
                kind == Kind::Liquid || (kind == Kind::Solid && water.is_some()),
                kind == Kind::Air,
            ),
        }
    }

    fn material(&self, (mip, pos): MipCell) -> u8 {
        let material = self.tiling.cell(mip, pos).0.material;
        let is_held_water = self.liquid && self.table.kind(material) == Kind::Solid;
        if is_held_water { WATER } else { material }
    }

    /// Returns the cell shown at a voxel.
    fn shown(&self, voxel: [i32; 3]) -> Option<MipCell> {
        let voxel = VoxelPos::from(voxel);
        let mip = self.tiling.shown(voxel);
        (mip != NeighbourMips::UNKNOWN).then(|| (mip, voxel.coarser(mip.into())))
    }

    /// Adds the faces within a square of an inside cell's side.
    fn faces(&self, face: TwinFace, out: &mut TwinSurface) {
        let Direction { axis, is_high } = face.direction;
        let mut beyond = face.low;
        beyond[axis] -= i32::from(!is_high);
        let Some(cell) = self.shown(beyond) else { return };
        if 1 << cell.0 >= face.size {
            if self.state(cell).1 {
                self.face(&face, out);
            }
            return;
        }
        let half = face.size / 2;
        for (a, b) in [(0, 0), (half, 0), (0, half), (half, half)] {
            let mut low = face.low;
            low[(axis + 1) % 3] += a;
            low[(axis + 2) % 3] += b;
            self.faces(TwinFace { low, size: half, ..face }, out);
        }
    }

    /// Adds a face.
    fn face(&self, face: &TwinFace, out: &mut TwinSurface) {
        let axis = face.direction.axis;
        let corners = face_corners([0; 3], face.direction).map(|at| {
            let mut corner = [0, 1, 2].map(|a| face.low[a] + at[a] * face.size);
            corner[axis] = face.low[axis];
            corner
        });
        let (mut ring, mut keys) = (FaceRing::default(), Vec::new());
        for k in 0..4 {
            ring.corners[k] = keys.len();
            let mut ends = vec![corners[k]];
            self.cut(corners[k], corners[(k + 1) % 4], &mut ends);
            for pair in ends.windows(2) {
                let v = [pair[0], pair[1]].map(|at| self.vertex(at, face, out));
                keys.push(v[0]);
                self.split(face, [pair[0], pair[1]], v, out, &mut keys);
            }
        }
        ring.vertices = (0..keys.len() as u32).collect();
        if ring.is_quad() {
            let p = [0, 1, 2, 3].map(|k| self.relative(face, out.vertices[&keys[k]].position));
            let length = |a: usize, b: usize| {
                let d = [0, 1, 2].map(|axis| p[a][axis] - p[b][axis]);
                (d[0] * d[0] + d[1] * d[1]) + d[2] * d[2]
            };
            let turn = usize::from(length(0, 2) > length(1, 3));
            let [a, b, c, d] = [0, 1, 2, 3].map(|k| keys[(k + turn) % 4]);
            out.push([a, b, c]);
            out.push([a, c, d]);
            return;
        }
        let apex = ring.apex();
        if apex.is_none() {
            keys.push(self.centre(face, ring.quad().map(|at| keys[at as usize]), out));
        }
        for t in ring.fan(apex, keys.len() as u32 - 1) {
            out.push(t.map(|at| keys[at as usize]));
        }
    }

    /// Returns a position as the block's mesh stores it.
    fn relative(&self, face: &TwinFace, position: [i64; 3]) -> [f32; 3] {
        let (mip, pos) = face.cell;
        let shift = self.tiling.edge.trailing_zeros();
        let min = Region::one(pos.coarser(shift)).finer(shift + u32::from(mip)).min.to_array();
        [0, 1, 2].map(|a| {
            let offset = position[a] - 4096 * i64::from(min[a]);
            offset as f32 / (4096 << mip) as f32
        })
    }

    /// Appends the ends of the pieces of a side: halves it while a cell around is smaller.
    fn cut(&self, from: [i32; 3], to: [i32; 3], ends: &mut Vec<[i32; 3]>) {
        let along = (0..3).find(|&axis| from[axis] != to[axis]).unwrap();
        let low = [0, 1, 2].map(|a| from[a].min(to[a]));
        let length = (from[along] - to[along]).abs();
        let smaller = (0..4).any(|quadrant| {
            let mut voxel = low;
            voxel[(along + 1) % 3] -= quadrant & 1;
            voxel[(along + 2) % 3] -= quadrant >> 1;
            self.shown(voxel).is_some_and(|cell| 1 << cell.0 < length)
        });
        if smaller {
            let mut middle = from;
            middle[along] = (from[along] + to[along]) / 2;
            self.cut(from, middle, ends);
            self.cut(middle, to, ends);
        } else {
            ends.push(to);
        }
    }

    fn octants(&self, at: [i32; 3]) -> [Option<MipCell>; 8] {
        std::array::from_fn(|octant| {
            let low = |a: usize| i32::from(octant as u8 & SIDE[a] == 0);
            self.shown([0, 1, 2].map(|a| at[a] - low(a)))
        })
    }

    fn corner(&self, at: [i32; 3]) -> CornerSheets {
        let states = self.octants(at).map(|cell| cell.map_or((false, false), |c| self.state(c)));
        let bits = |is: fn(&(bool, bool)) -> bool| {
            (0..8).map(|o| u8::from(is(&states[o])) << o).sum::<u8>()
        };
        CornerSheets::new(bits(|state| state.0), bits(|state| state.1))
    }

    /// Returns the vertex of a face at a corner, and adds it if needed.
    fn vertex(&self, at: [i32; 3], face: &TwinFace, out: &mut TwinSurface) -> VertexKey {
        let Direction { axis, is_high } = face.direction;
        let mut octant = 0;
        for a in 0..3 {
            let is_high = if a == axis { !is_high } else { 2 * (at[a] - face.low[a]) < face.size };
            octant |= if is_high { SIDE[a] } else { 0 };
        }
        let corner = self.corner(at);
        let sheet = corner.sheet_of_face(axis, octant);
        let key = VertexKey { corner: VoxelPos::from(at), between: 0, part: sheet };
        out.vertices.entry(key).or_insert_with(|| self.place(at, &corner, sheet));
        key
    }

    fn place(&self, at: [i32; 3], corner: &CornerSheets, sheet: u8) -> TwinVertex {
        let octants = self.octants(at);
        let of = corner.sheet(sheet);
        let ids: Vec<u8> = (0..8)
            .filter(|octant| of.planes >> octant & 1 == 1)
            .map(|octant| self.material(octants[octant].unwrap()))
            .collect();
        let mips: Vec<u8> = octants.iter().flatten().map(|cell| cell.0).collect();
        let (finest, coarsest) = (*mips.iter().min().unwrap(), *mips.iter().max().unwrap());
        let is_flat = octants.iter().all(|cell| cell.is_some()) && finest == coarsest;
        let (position, normal) = if is_flat {
            self.of_mip(at, finest, |_| Some(sheet)).unwrap()
        } else {
            self.place_on_coarsest_mip(at, [finest, coarsest], of.direction).unwrap_or_else(|| {
                (at.map(|a| 4096 * i64::from(a)), unit_normal([0.0; 3], of.direction))
            })
        };
        let is_morphed = coarsest < self.top;
        let up = is_morphed
            .then(|| self.place_on_coarsest_mip(at, [finest, coarsest + 1], of.direction));
        let (target_position, target_normal) = up.flatten().unwrap_or((position, normal));
        TwinVertex {
            position,
            normal_bits: normal.map(f32::to_bits),
            blend: blend(&ids),
            target: TwinTarget {
                position: target_position,
                normal_bits: target_normal.map(f32::to_bits),
                mip: coarsest,
            },
        }
    }

    /// Returns the vertex at a corner on the surface of the cells of mip `coarsest`.
    fn place_on_coarsest_mip(
        &self,
        at: [i32; 3],
        [finest, coarsest]: [u8; 2],
        direction: [f32; 3],
    ) -> Option<PositionNormal> {
        let facing = |corner: &CornerSheets| {
            let dot = |sheet: u8| {
                let d = corner.sheet(sheet).direction;
                (0..3).map(|a| (d[a] * direction[a]) as i32).sum::<i32>()
            };
            (0..corner.count).max_by_key(|&sheet| (dot(sheet), std::cmp::Reverse(sheet)))
        };
        let size = 1i32 << coarsest;
        let (mut sum, mut normals, mut count) = ([0i64; 3], [0f32; 3], 0i64);
        for number in 0..8 {
            let mut corner = at;
            let mut weight = 1;
            for a in 0..3 {
                let share = at[a].rem_euclid(size);
                let high = number >> a & 1;
                corner[a] += if high == 1 { size - share } else { -share };
                weight *= if high == 1 { share } else { size - share };
            }
            if weight == 0 {
                continue;
            }
            if let Some((p, n)) = self.of_mip(corner, coarsest, facing) {
                count += i64::from(weight);
                for a in 0..3 {
                    sum[a] += i64::from(weight) * p[a];
                    normals[a] += weight as f32 * n[a];
                }
                if weight == size * size * size {
                    return Some((p, n));
                }
            }
        }
        let p = sum.map(|sum| rounded(sum, (count << finest).max(1)) << finest);
        (count > 0).then(|| (p, unit_normal(normals, direction)))
    }

    /// Returns the vertex that the cells of one mip alone give a corner of their lattice.
    fn of_mip(
        &self,
        at: [i32; 3],
        mip: u8,
        pick: impl Fn(&CornerSheets) -> Option<u8>,
    ) -> Option<PositionNormal> {
        let origin = VoxelPos::from(at).coarser(mip.into());
        let mut cells = DenseBox::default();
        let reach = VoxelPos::splat(PAD);
        self.tiling.read(mip, Region { min: origin - reach, max: origin + reach }, &mut cells);
        let none = Region { min: origin, max: origin };
        fill_unknown(&mut cells, none, |pos| {
            self.tiling.shown(Region::one(pos).finer(mip.into()).min) != NeighbourMips::UNKNOWN
        });
        let PlacedVertex { offset, normal } = match self.liquid {
            false => self.placed(&SolidCells::new(&cells, self.table), origin, pick)?,
            true => self.placed(&LiquidCells::new(&cells, self.table), origin, pick)?,
        };
        let quanta = |a: usize| (f64::from(offset[a]) * 2048.0) as i64;
        Some(([0, 1, 2].map(|a| 4096 * i64::from(at[a]) + (quanta(a) << mip)), normal))
    }

    fn placed<C: SurfaceCells>(
        &self,
        cells: &C,
        origin: VoxelPos,
        pick: impl Fn(&CornerSheets) -> Option<u8>,
    ) -> Option<PlacedVertex> {
        let block = BlockCells { cells, table: self.table, origin };
        let corner = block.corner([0; 3]);
        let sheet = pick(&corner)?;
        Some(block.vertex([0; 3], &corner, sheet).placed)
    }

    /// Adds the two vertices of a piece along which two solids touch, if it is one.
    fn split(
        &self,
        face: &TwinFace,
        ends: [[i32; 3]; 2],
        v: [VertexKey; 2],
        out: &mut TwinSurface,
        keys: &mut Vec<VertexKey>,
    ) {
        let along = (0..3).find(|&axis| ends[0][axis] != ends[1][axis]).unwrap();
        let up = ends[1][along] > ends[0][along];
        let (low, top) = if up { (0, 1) } else { (1, 0) };
        let is_pinched = self.corner(ends[low]).is_pinched(along, true)
            && self.corner(ends[top]).is_pinched(along, false);
        if !is_pinched {
            return;
        }
        let length = i64::from(ends[top][along] - ends[low][along]);
        let cell = Region::one(face.cell.1).finer(face.cell.0.into()).min.to_array();
        let [a, b] = [low, top].map(|end| out.vertices[&v[end]]);
        let mut made = Vec::new();
        for upper in 0..2u8 {
            let share = if upper == 0 { [3, 1] } else { [1, 3] };
            let (mut p, mut n, mut quadrant) = ([0; 3], [0.0; 3], 0);
            for axis in 0..3 {
                p[axis] = share[0] * a.position[axis] + share[1] * b.position[axis];
                let [na, nb] = [a.normal_bits[axis], b.normal_bits[axis]].map(f32::from_bits);
                n[axis] = share[0] as f32 * na + share[1] as f32 * nb;
            }
            for (bit, axis) in [(along + 1) % 3, (along + 2) % 3].into_iter().enumerate() {
                let from = 4 * 4096 * i64::from(ends[low][axis]);
                let high = cell[axis] == ends[low][axis];
                quadrant += u8::from(high) << bit;
                let push = if high { 2048 * length } else { -2048 * length };
                let most = 3 * 4096 * length;
                p[axis] = from + (p[axis] - from + push).clamp(-most, most);
            }
            let corner = VoxelPos::from(ends[low]);
            let key = VertexKey { corner, between: 1 << along, part: quadrant + 4 * upper };
            let p = p.map(|p| rounded(p, 4 * length) * length);
            let of = if upper == 0 { [a, a, a, b] } else { [a, b, b, b] };
            out.vertices.insert(key, self.inner(p, n, face, of));
            made.push(key);
        }
        if !up {
            made.reverse();
        }
        keys.extend(made);
    }

    /// Adds the vertex in the middle of a face.
    fn centre(&self, face: &TwinFace, v: [VertexKey; 4], out: &mut TwinSurface) -> VertexKey {
        let of = v.map(|key| out.vertices[&key]);
        let size = i64::from(face.size);
        let p = [0, 1, 2].map(|i| rounded(of.iter().map(|v| v.position[i]).sum(), 4 * size) * size);
        let n = [0, 1, 2].map(|i| {
            let [a, b, c, d] = of.map(|v| f32::from_bits(v.normal_bits[i]));
            (a + b) + (c + d)
        });
        let Direction { axis, is_high } = face.direction;
        let key = VertexKey {
            corner: VoxelPos::from(face.low),
            between: 7 - (1 << axis),
            part: u8::from(is_high),
        };
        out.vertices.insert(key, self.inner(p, n, face, of));
        key
    }

    /// Returns a vertex that is the mean of four others.
    fn inner(&self, p: [i64; 3], n: [f32; 3], face: &TwinFace, of: [TwinVertex; 4]) -> TwinVertex {
        let material = self.material(face.cell);
        let normal = unit_normal(n, [0.0; 3]);
        let mip = of.map(|v| v.target.mip).into_iter().max().unwrap();
        let moved = |a: usize| of.iter().map(|v| v.target.position[a] - v.position[a]).sum::<i64>();
        let target = [0, 1, 2].map(|a| p[a] + (rounded(moved(a), 4 << mip) << mip));
        let n = of.map(|v| v.target.normal_bits.map(f32::from_bits));
        let sum = [0, 1, 2].map(|a| (n[0][a] + n[1][a]) + (n[2][a] + n[3][a]));
        TwinVertex {
            position: p,
            normal_bits: normal.map(f32::to_bits),
            blend: MaterialBlend::one(material),
            target: TwinTarget {
                position: target,
                normal_bits: unit_normal(sum, normal).map(f32::to_bits),
                mip,
            },
        }
    }
}

/// Rounds `sum / step` to the nearest whole number, halves to even.
fn rounded(sum: i64, step: i64) -> i64 {
    let low = sum.div_euclid(step);
    match (2 * sum.rem_euclid(step)).cmp(&step) {
        std::cmp::Ordering::Less => low,
        std::cmp::Ordering::Greater => low + 1,
        std::cmp::Ordering::Equal => low + low.rem_euclid(2),
    }
}
