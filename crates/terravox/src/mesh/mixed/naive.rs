//! The slow twin: one face after the other of a block in a tiling, every cell looked up by
//! itself among the blocks shown, in absolute coordinates, with nothing kept.
//!
//! Corners are in voxels, positions in 1/4096 of a voxel.

use rustc_hash::FxHashMap;

use crate::mesh::PAD;
use crate::mesh::VertexKey;
use crate::mesh::blend::blend;
use crate::mesh::cells::{Cells, LiquidCells, SolidCells};
use crate::mesh::corner::{Corner, SIDE, face_at};
use crate::mesh::place::unit_normal;
use crate::mesh::vertex::{DIRECTIONS, Site, face_corners};
use crate::voxel::{DenseBox, Kind, MaterialTable, Region, VoxelPos, WATER};

use super::Around;
use super::boxes::fill_unknown;
use super::polygon::Ring;
use super::tilings::World;

/// A vertex: its position, the bits of its normal, its materials and their weights, and where
/// it lies one level up.
pub(super) type Vertex = ([i64; 3], [u32; 3], [u8; 4], [u8; 4], Target);

/// Position, bits of the normal, and the vertex's level.
pub(super) type Target = ([i64; 3], [u32; 3], u8);

/// What a block shows of one surface: vertices by key, and triangles that begin with
/// their least key, sorted.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Shown {
    pub vertices: FxHashMap<VertexKey, Vertex>,
    pub triangles: Vec<[VertexKey; 3]>,
}

impl Shown {
    pub(super) fn push(&mut self, t: [VertexKey; 3]) {
        let first = (0..3).min_by_key(|&k| t[k]).unwrap_or(0);
        self.triangles.push([t[first], t[(first + 1) % 3], t[(first + 2) % 3]]);
    }
}

/// One surface of a tiling.
pub(super) struct Twin<'a> {
    pub world: &'a World,
    pub table: &'a MaterialTable,
    pub liquid: bool,
    /// The mip beyond which nothing is morphed.
    pub top: u8,
}

/// A shown cell: mip and position in cells.
type Cell = (u8, VoxelPos);

/// A face: the cell behind it, the low corner, the edge in voxels, the direction.
#[derive(Clone, Copy)]
struct Face {
    cell: Cell,
    low: [i32; 3],
    size: i32,
    direction: (usize, bool),
}

impl Twin<'_> {
    /// The surface that a block shows.
    pub(super) fn block(&self, leaf: (u8, VoxelPos)) -> Shown {
        let mut shown = Shown::default();
        for pos in self.world.cells_of(leaf).voxels() {
            let cell = (leaf.0, pos);
            if self.state(cell).0 {
                for direction in DIRECTIONS {
                    let mut low = Region::one(pos).finer(leaf.0.into()).min.to_array();
                    low[direction.0] += i32::from(direction.1) << leaf.0;
                    self.faces(Face { cell, low, size: 1 << leaf.0, direction }, &mut shown);
                }
            }
        }
        shown.triangles.sort_unstable();
        shown
    }

    /// Whether a cell is inside, and whether outside.
    fn state(&self, (mip, pos): Cell) -> (bool, bool) {
        let (cell, water) = self.world.cell(mip, pos);
        let kind = self.table.kind(cell.material);
        match self.liquid {
            false => (kind == Kind::Solid, kind != Kind::Solid),
            true => (
                kind == Kind::Liquid || (kind == Kind::Solid && water.is_some()),
                kind == Kind::Air,
            ),
        }
    }

    fn material(&self, (mip, pos): Cell) -> u8 {
        let material = self.world.cell(mip, pos).0.material;
        let soaked = self.liquid && self.table.kind(material) == Kind::Solid;
        if soaked { WATER } else { material }
    }

    /// The cell shown at a voxel.
    fn shown(&self, voxel: [i32; 3]) -> Option<Cell> {
        let voxel = VoxelPos::from(voxel);
        let mip = self.world.shown(voxel);
        (mip != Around::NONE).then(|| (mip, voxel.coarser(mip.into())))
    }

    /// Adds the faces within a square of an inside cell's side.
    fn faces(&self, face: Face, shown: &mut Shown) {
        let (axis, high) = face.direction;
        let mut beyond = face.low;
        beyond[axis] -= i32::from(!high);
        let Some(cell) = self.shown(beyond) else { return };
        if 1 << cell.0 >= face.size {
            if self.state(cell).1 {
                self.face(&face, shown);
            }
            return;
        }
        let half = face.size / 2;
        for (a, b) in [(0, 0), (half, 0), (0, half), (half, half)] {
            let mut low = face.low;
            low[(axis + 1) % 3] += a;
            low[(axis + 2) % 3] += b;
            self.faces(Face { low, size: half, ..face }, shown);
        }
    }

    /// Adds a face.
    fn face(&self, face: &Face, shown: &mut Shown) {
        let (axis, high) = face.direction;
        let corners = face_corners([0; 3], axis, high).map(|at| {
            let mut corner = [0, 1, 2].map(|a| face.low[a] + at[a] * face.size);
            corner[axis] = face.low[axis];
            corner
        });
        let (mut ring, mut keys) = (Ring::default(), Vec::new());
        for k in 0..4 {
            ring.corners[k] = keys.len();
            let mut ends = vec![corners[k]];
            self.cut(corners[k], corners[(k + 1) % 4], &mut ends);
            for pair in ends.windows(2) {
                let v = [pair[0], pair[1]].map(|at| self.vertex(at, face, shown));
                keys.push(v[0]);
                self.split(face, [pair[0], pair[1]], v, shown, &mut keys);
            }
        }
        ring.vertices = (0..keys.len() as u32).collect();
        if ring.is_quad() {
            let p = [0, 1, 2, 3].map(|k| self.relative(face, shown.vertices[&keys[k]].0));
            let length = |a: usize, b: usize| {
                let d = [0, 1, 2].map(|axis| p[a][axis] - p[b][axis]);
                (d[0] * d[0] + d[1] * d[1]) + d[2] * d[2]
            };
            let turn = usize::from(length(0, 2) > length(1, 3));
            let [a, b, c, d] = [0, 1, 2, 3].map(|k| keys[(k + turn) % 4]);
            shown.push([a, b, c]);
            shown.push([a, c, d]);
            return;
        }
        let apex = ring.apex();
        if apex.is_none() {
            keys.push(self.centre(face, ring.quad().map(|at| keys[at as usize]), shown));
        }
        for t in ring.fan(apex, keys.len() as u32 - 1) {
            shown.push(t.map(|at| keys[at as usize]));
        }
    }

    /// A position as the block's mesh holds it.
    fn relative(&self, face: &Face, position: [i64; 3]) -> [f32; 3] {
        let (mip, pos) = face.cell;
        let shift = self.world.edge.trailing_zeros();
        let min = Region::one(pos.coarser(shift)).finer(shift + u32::from(mip)).min.to_array();
        [0, 1, 2].map(|a| {
            let offset = position[a] - 4096 * i64::from(min[a]);
            offset as f32 / (4096 << mip) as f32
        })
    }

    /// Appends where a piece of a side ends, halving it while a cell around is smaller.
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

    fn octants(&self, at: [i32; 3]) -> [Option<Cell>; 8] {
        std::array::from_fn(|octant| {
            let low = |a: usize| i32::from(octant as u8 & SIDE[a] == 0);
            self.shown([0, 1, 2].map(|a| at[a] - low(a)))
        })
    }

    fn corner(&self, at: [i32; 3]) -> Corner {
        let states = self.octants(at).map(|cell| cell.map_or((false, false), |c| self.state(c)));
        let bits = |is: fn(&(bool, bool)) -> bool| {
            (0..8).map(|o| u8::from(is(&states[o])) << o).sum::<u8>()
        };
        Corner::new(bits(|state| state.0), bits(|state| state.1))
    }

    /// The vertex of a face at a corner, added if it is not there.
    fn vertex(&self, at: [i32; 3], face: &Face, shown: &mut Shown) -> VertexKey {
        let (axis, high) = face.direction;
        let mut octant = 0;
        for a in 0..3 {
            let is_high = if a == axis { !high } else { 2 * (at[a] - face.low[a]) < face.size };
            octant |= if is_high { SIDE[a] } else { 0 };
        }
        let corner = self.corner(at);
        let sheet = corner.face_sheet[usize::from(face_at(axis, octant))];
        let key = VertexKey { corner: VoxelPos::from(at), between: 0, part: sheet };
        shown.vertices.entry(key).or_insert_with(|| self.place(at, &corner, sheet));
        key
    }

    fn place(&self, at: [i32; 3], corner: &Corner, sheet: u8) -> Vertex {
        let octants = self.octants(at);
        let of = corner.sheet(sheet);
        let ids: Vec<u8> = (0..8)
            .filter(|octant| of.planes >> octant & 1 == 1)
            .map(|octant| self.material(octants[octant].unwrap()))
            .collect();
        let (materials, weights) = blend(&ids);
        let mips: Vec<u8> = octants.iter().flatten().map(|cell| cell.0).collect();
        let (finest, coarsest) = (*mips.iter().min().unwrap(), *mips.iter().max().unwrap());
        if octants.iter().all(|cell| cell.is_some()) && finest == coarsest {
            let (p, n) = self.level(at, finest, |_| Some(sheet)).unwrap();
            let n = n.map(f32::to_bits);
            let target = self.target(at, [finest, coarsest], of.direction, (p, n));
            return (p, n, materials, weights, target);
        }
        let found = self.on_level(at, [finest, coarsest], of.direction);
        let (p, n) = found.unwrap_or_else(|| {
            (at.map(|a| 4096 * i64::from(a)), unit_normal([0.0; 3], of.direction))
        });
        let n = n.map(f32::to_bits);
        let target = self.target(at, [finest, coarsest], of.direction, (p, n));
        (p, n, materials, weights, target)
    }

    /// One level up.
    fn target(
        &self,
        at: [i32; 3],
        [finest, coarsest]: [u8; 2],
        direction: [f32; 3],
        (p, n): ([i64; 3], [u32; 3]),
    ) -> Target {
        if coarsest < self.top
            && let Some((p, n)) = self.on_level(at, [finest, coarsest + 1], direction)
        {
            return (p, n.map(f32::to_bits), coarsest);
        }
        (p, n, coarsest)
    }

    /// On the surface of the cells of mip `coarsest`.
    fn on_level(
        &self,
        at: [i32; 3],
        [finest, coarsest]: [u8; 2],
        direction: [f32; 3],
    ) -> Option<([i64; 3], [f32; 3])> {
        let facing = |corner: &Corner| {
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
            if let Some((p, n)) = self.level(corner, coarsest, facing) {
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

    /// The vertex that the cells of one mip alone give a corner of their lattice.
    fn level(
        &self,
        at: [i32; 3],
        mip: u8,
        pick: impl Fn(&Corner) -> Option<u8>,
    ) -> Option<([i64; 3], [f32; 3])> {
        let origin = VoxelPos::from(at).coarser(mip.into());
        let mut cells = DenseBox::default();
        let reach = VoxelPos::splat(PAD);
        self.world.read(mip, Region { min: origin - reach, max: origin + reach }, &mut cells);
        let none = Region { min: origin, max: origin };
        fill_unknown(&mut cells, none, |pos| {
            self.world.shown(Region::one(pos).finer(mip.into()).min) != Around::NONE
        });
        let (offset, normal) = match self.liquid {
            false => self.placed(&SolidCells::new(&cells, self.table), origin, pick)?,
            true => self.placed(&LiquidCells::new(&cells, self.table), origin, pick)?,
        };
        let quanta = |a: usize| (f64::from(offset[a]) * 2048.0) as i64;
        Some(([0, 1, 2].map(|a| 4096 * i64::from(at[a]) + (quanta(a) << mip)), normal))
    }

    fn placed<C: Cells>(
        &self,
        cells: &C,
        origin: VoxelPos,
        pick: impl Fn(&Corner) -> Option<u8>,
    ) -> Option<([f32; 3], [f32; 3])> {
        let site = Site { cells, table: self.table, origin };
        let corner = site.corner([0; 3]);
        let sheet = pick(&corner)?;
        let (placed, _) = site.vertex([0; 3], &corner, sheet, |i, o, p| site.plane(i, o, p));
        Some((placed.offset, placed.normal))
    }

    /// Adds the two vertices of a piece along which two solids touch, if it is one.
    fn split(
        &self,
        face: &Face,
        ends: [[i32; 3]; 2],
        v: [VertexKey; 2],
        shown: &mut Shown,
        keys: &mut Vec<VertexKey>,
    ) {
        let along = (0..3).find(|&axis| ends[0][axis] != ends[1][axis]).unwrap();
        let up = ends[1][along] > ends[0][along];
        let (low, top) = if up { (0, 1) } else { (1, 0) };
        let pinched = self.corner(ends[low]).pinched >> (2 * along + 1) & 1 == 1
            && self.corner(ends[top]).pinched >> (2 * along) & 1 == 1;
        if !pinched {
            return;
        }
        let length = i64::from(ends[top][along] - ends[low][along]);
        let cell = Region::one(face.cell.1).finer(face.cell.0.into()).min.to_array();
        let [a, b] = [low, top].map(|end| shown.vertices[&v[end]]);
        let mut made = Vec::new();
        for upper in 0..2u8 {
            let share = if upper == 0 { [3, 1] } else { [1, 3] };
            let (mut p, mut n, mut quadrant) = ([0; 3], [0.0; 3], 0);
            for axis in 0..3 {
                p[axis] = share[0] * a.0[axis] + share[1] * b.0[axis];
                let [na, nb] = [a.1[axis], b.1[axis]].map(f32::from_bits);
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
            shown.vertices.insert(key, self.inner(p, n, face, of));
            made.push(key);
        }
        if !up {
            made.reverse();
        }
        keys.extend(made);
    }

    fn centre(&self, face: &Face, v: [VertexKey; 4], shown: &mut Shown) -> VertexKey {
        let of = v.map(|key| shown.vertices[&key]);
        let [a, b, c, d] = of;
        let size = i64::from(face.size);
        let p = [0, 1, 2].map(|i| rounded(a.0[i] + b.0[i] + c.0[i] + d.0[i], 4 * size) * size);
        let n = [0, 1, 2].map(|i| {
            let [a, b, c, d] = [a, b, c, d].map(|v| f32::from_bits(v.1[i]));
            (a + b) + (c + d)
        });
        let (axis, high) = face.direction;
        let key = VertexKey {
            corner: VoxelPos::from(face.low),
            between: 7 - (1 << axis),
            part: u8::from(high),
        };
        shown.vertices.insert(key, self.inner(p, n, face, of));
        key
    }

    fn inner(&self, p: [i64; 3], n: [f32; 3], face: &Face, of: [Vertex; 4]) -> Vertex {
        let material = self.material(face.cell);
        let normal = unit_normal(n, [0.0; 3]);
        let level = of.map(|v| v.4.2).into_iter().max().unwrap();
        let way = |a: usize| of.iter().map(|v| v.4.0[a] - v.0[a]).sum::<i64>();
        let target = [0, 1, 2].map(|a| p[a] + (rounded(way(a), 4 << level) << level));
        let n = of.map(|v| v.4.1.map(f32::from_bits));
        let sum = [0, 1, 2].map(|a| (n[0][a] + n[1][a]) + (n[2][a] + n[3][a]));
        let target = (target, unit_normal(sum, normal).map(f32::to_bits), level);
        (p, normal.map(f32::to_bits), [material, 0, 0, 0], [255, 0, 0, 0], target)
    }
}

/// `sum / step` to the nearest whole number, halves to the even one.
fn rounded(sum: i64, step: i64) -> i64 {
    let low = sum.div_euclid(step);
    match (2 * sum.rem_euclid(step)).cmp(&step) {
        std::cmp::Ordering::Less => low,
        std::cmp::Ordering::Greater => low + 1,
        std::cmp::Ordering::Equal => low + low.rem_euclid(2),
    }
}
