//! Far blocks: 32³ cells of a coarse mip, kept without the chunks beneath them.
//!
//! A view of many kilometres shows blocks whose chunks are not in memory. So a grid keeps, besides
//! its pages, a sparse table of such blocks at any mip from 1 on. A block is one material or
//! row-packed. The table shares groups of 4³ blocks, so that a write after a snapshot copies a few
//! hundred pointers and the group that it touches.

use super::cell::{AIR, Row, UNIFORM_ROWS};
use super::dense::{DenseBox, copy_cells};
use super::gather::gather_updates;
use super::material::Kind;
use super::mip_block::MipBlock;
use super::mips::{MipLayout, coarsen_row};
use super::packed_rows::{PackedRows, RowUpdates};
use super::page::uniform_source;
use super::position::{Region, VoxelPos};
use rustc_hash::FxHashMap;
use std::sync::Arc;

/// The coarsest mip of far blocks: 131,072 voxels an edge.
pub const MAX_FAR_MIP: u8 = 12;

/// Row (y, z) of a far block has index 32 y + z.
pub(crate) type FarRows = PackedRows<1024, 32>;

/// The cells of a far block as [`coarsen_row`] sees them.
const LAYOUT: MipLayout = MipLayout { edge: Row::CELLS, first: 0 };

/// Blocks along the edge of a group, as a power of two.
const GROUP_LOG2: u32 = 2;

/// The cells of a far block.
#[derive(Clone)]
pub(crate) enum FarCells {
    /// Full cells of one material.
    Uniform(u8),
    /// Cells of several materials or fills.
    Mixed(Arc<FarRows>),
}

impl FarCells {
    /// The cells of a whole block.
    pub fn new(cells: &DenseBox, kinds: &[Kind; 256], updates: &mut RowUpdates) -> FarCells {
        let region = cells.region();
        if let Some(material) = uniform_source(cells, region) {
            return FarCells::Uniform(material);
        }
        let mut rows = FarRows::uniform(AIR);
        let all = Region::new([0; 3], [MipBlock::EDGE; 3]);
        gather_updates(&rows, region.min, all, cells, kinds, false, updates);
        rows.replace(updates);
        FarCells::of_rows(rows)
    }

    fn of_rows(rows: FarRows) -> FarCells {
        match rows.uniform_material() {
            Some(material) => FarCells::Uniform(material),
            None => FarCells::Mixed(Arc::new(rows)),
        }
    }

    fn row(&self, index: usize) -> &Row {
        match self {
            FarCells::Uniform(material) => &UNIFORM_ROWS[usize::from(*material)],
            FarCells::Mixed(rows) => rows.row(index),
        }
    }

    /// Fills `out` with the cells of `region` in the block whose lowest cell is `origin`.
    pub fn read(&self, origin: VoxelPos, region: Region, out: &mut DenseBox) {
        out.resize(region);
        self.append_to(origin, region, out);
    }

    /// Writes the cells of `region` to `out`, which holds no water there; the list of water
    /// is left unsorted if it had entries.
    pub fn append_to(&self, origin: VoxelPos, region: Region, out: &mut DenseBox) {
        let local = Region { min: region.min - origin, max: region.max - origin };
        let (x0, [width, ..]) = (local.min.x as usize, local.size());
        let in_row = (region.min.x - out.region().min.x) as usize;
        for y in local.min.y..local.max.y {
            for z in local.min.z..local.max.z {
                let row = self.row(Row::CELLS * y as usize + z as usize);
                let to = out.row_start(origin.y + y, origin.z + z) + in_row;
                let (material, occupancy) = out.arrays_mut();
                copy_cells(&mut material[to..to + width], &row.material[x0..x0 + width]);
                copy_cells(&mut occupancy[to..to + width], &row.occupancy[x0..x0 + width]);
            }
        }
        let FarCells::Mixed(rows) = self else { return };
        let slice = Row::CELLS * Row::CELLS;
        let [from, to] = [local.min.y, local.max.y].map(|y| y as usize * slice);
        for &(cell, held) in rows.water_between(from, to - from) {
            let [x, z, y] = [cell & 31, cell >> 5 & 31, cell >> 10].map(i32::from);
            let pos = VoxelPos::new(x, y, z);
            if local.contains(pos) {
                let index = out.index(origin + pos) as u32;
                out.water_mut().push((index, held));
            }
        }
    }

    /// Makes `out` the coarser cells of `region`, in cells of the mip above, that stand for
    /// cells of this block; `origin` is the lowest of them.
    pub fn coarsen(
        &self,
        origin: VoxelPos,
        region: Region,
        kinds: &[Kind; 256],
        out: &mut DenseBox,
    ) {
        out.resize(region);
        let rows = match self {
            FarCells::Uniform(material) => return out.fill(*material),
            FarCells::Mixed(rows) => rows,
        };
        let x0 = (region.min.x - origin.x) as usize;
        let width = region.size()[0];
        let (mut to, mut water) = (0, std::mem::take(out.water_mut()));
        let (material, occupancy) = out.arrays_mut();
        let mut row_water = Vec::new();
        for y in region.min.y - origin.y..region.max.y - origin.y {
            for z in region.min.z - origin.z..region.max.z - origin.z {
                let mut row = UNIFORM_ROWS[0];
                row_water.clear();
                let at = [y as usize, z as usize];
                let xs = x0..x0 + width;
                coarsen_row(rows, LAYOUT, at, kinds, &mut row, xs.clone(), &mut row_water);
                material[to..to + width].copy_from_slice(&row.material[xs.clone()]);
                occupancy[to..to + width].copy_from_slice(&row.occupancy[xs]);
                water.extend(row_water.iter().map(|w| ((to + usize::from(w.0) - x0) as u32, w.1)));
                to += width;
            }
        }
        *out.water_mut() = water;
    }

    /// The block with the cells of `part` in place of its own, or `None` if they are the
    /// same; `origin` is its lowest cell.
    fn with_part(
        &self,
        origin: VoxelPos,
        part: &DenseBox,
        kinds: &[Kind; 256],
        updates: &mut RowUpdates,
    ) -> Option<FarCells> {
        let region = part.region();
        let local = Region { min: region.min - origin, max: region.max - origin };
        let fresh;
        let rows = match self {
            FarCells::Uniform(material) if uniform_source(part, region) == Some(*material) => {
                return None;
            }
            FarCells::Uniform(material) => {
                fresh = Arc::new(FarRows::uniform(*material));
                &fresh
            }
            FarCells::Mixed(rows) => rows,
        };
        gather_updates(rows, origin, local, part, kinds, false, updates);
        if updates.indices.is_empty() {
            return None;
        }
        let mut rows = FarRows::clone(rows);
        rows.replace(updates);
        Some(FarCells::of_rows(rows))
    }

    /// Bytes besides the word in the table: rows and reference counts; water.
    fn bytes(&self) -> [usize; 2] {
        match self {
            FarCells::Uniform(_) => [0, 0],
            FarCells::Mixed(rows) => {
                let stored = rows.stored_rows(usize::MAX) * size_of::<Row>();
                let counts = 2 * size_of::<usize>();
                [size_of::<FarRows>() + counts + stored, rows.water_bytes()]
            }
        }
    }
}

/// 4³ blocks of one mip, x fastest, then z, then y.
#[derive(Clone)]
struct FarGroup {
    blocks: [Option<FarCells>; 64],
}

/// All far blocks.
#[derive(Clone, Default)]
pub(crate) struct FarTable {
    /// By the position of the group, in groups of that mip.
    groups: FxHashMap<MipBlock, Arc<FarGroup>>,
}

/// The group of a block, and the index of the block in it.
fn place(block: MipBlock) -> (MipBlock, usize) {
    let local = |v: i32| (v & 3) as usize;
    let MipBlock { mip, pos } = block;
    let at = local(pos.x) + 4 * (local(pos.z) + 4 * local(pos.y));
    (MipBlock { mip, pos: pos.coarser(GROUP_LOG2) }, at)
}

impl FarTable {
    pub fn is_empty(&self) -> bool {
        self.groups.is_empty()
    }

    pub fn get(&self, block: MipBlock) -> Option<&FarCells> {
        let (group, at) = place(block);
        self.groups.get(&group)?.blocks[at].as_ref()
    }

    pub fn set(&mut self, block: MipBlock, cells: FarCells) {
        let (group, at) = place(block);
        let empty = || Arc::new(FarGroup { blocks: [const { None }; 64] });
        let group = self.groups.entry(group).or_insert_with(empty);
        Arc::make_mut(group).blocks[at] = Some(cells);
    }

    pub fn remove(&mut self, block: MipBlock) {
        let (key, at) = place(block);
        if let Some(group) = self.groups.get_mut(&key) {
            let group = Arc::make_mut(group);
            group.blocks[at] = None;
            if group.blocks.iter().all(Option::is_none) {
                self.groups.remove(&key);
            }
        }
    }

    /// Returns the block with the cells of `part` written into it; `None` if there is no such block
    /// or nothing would change.
    pub fn changed(
        &self,
        block: MipBlock,
        part: &DenseBox,
        kinds: &[Kind; 256],
        updates: &mut RowUpdates,
    ) -> Option<FarCells> {
        self.get(block)?.with_part(block.cells().min, part, kinds, updates)
    }

    /// All blocks, unsorted.
    pub fn blocks(&self) -> impl Iterator<Item = MipBlock> {
        self.groups.iter().flat_map(|(key, group)| {
            let first = key.pos.finer(GROUP_LOG2);
            group.blocks.iter().enumerate().filter(|(_, cells)| cells.is_some()).map(
                move |(at, _)| {
                    let [x, z, y] = [at & 3, at >> 2 & 3, at >> 4].map(|v| v as i32);
                    MipBlock { mip: key.mip, pos: first + VoxelPos::new(x, y, z) }
                },
            )
        })
    }

    /// Blocks, their bytes with the table's, and those of water.
    pub fn memory(&self) -> [usize; 3] {
        const COUNTS: usize = 2 * size_of::<usize>();
        let entry = size_of::<(MipBlock, Arc<FarGroup>)>() + 1;
        let mut memory = [0, self.groups.capacity() * 8 / 7 * entry, 0];
        for group in self.groups.values() {
            memory[1] += size_of::<FarGroup>() + COUNTS;
            for cells in group.blocks.iter().flatten() {
                let [bytes, water] = cells.bytes();
                memory[0] += 1;
                memory[1] += bytes;
                memory[2] += water;
            }
        }
        memory
    }
}
