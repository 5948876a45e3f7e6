//! A chunk: 32³ cells with their mips 16³, 8³ and 4³, row-packed.

use super::cell::{Cell, Row, UNIFORM_ROWS};
use super::dense::DenseBox;
use super::gather::gather_updates;
use super::material::Kind;
use super::mips::{MipLayout, coarsen};
use super::packed_rows::{PackedRows, RowGroup, RowUpdates};
use super::position::{Region, VoxelPos};

/// Cells along the edge of a chunk.
pub(crate) const CHUNK_EDGE: usize = 32;

/// Mips 0 to 3.
pub(crate) const CHUNK_MIPS: [MipLayout; 4] = [
    MipLayout { edge: 32, first: 0 },
    MipLayout { edge: 16, first: 32_768 },
    MipLayout { edge: 8, first: 36_864 },
    MipLayout { edge: 4, first: 37_376 },
];

const ROWS: usize = 1024 + 128 + 16 + 2;
const GROUPS: usize = ROWS.div_ceil(32);
const MIP_0_ROWS: usize = 1024;

pub(crate) type ChunkRows = PackedRows<ROWS, GROUPS>;

/// The stored form of a chunk that is not uniform. Chunks of one material are only a
/// word in their page.
#[derive(Clone)]
pub(crate) struct Chunk {
    pub rows: ChunkRows,
    /// The finest mip that is held; finer mips are unspecified.
    pub finest: u8,
}

impl Chunk {
    /// Full cells of `material`, held at mip `finest` and coarser.
    pub fn uniform(material: u8, finest: u8) -> Chunk {
        Chunk { rows: ChunkRows::uniform(material), finest }
    }

    /// Row (y, z) of mip 0.
    #[inline]
    pub fn row(&self, y: usize, z: usize) -> &Row {
        self.rows.row(CHUNK_EDGE * y + z)
    }

    /// Writes mip 0 of `region` (absolute, inside the chunk at `origin`) from `source`
    /// and updates the mips. Mip 0 is held from then on.
    pub fn write(
        &mut self,
        origin: VoxelPos,
        region: Region,
        source: &DenseBox,
        kinds: &[Kind; 256],
        updates: &mut RowUpdates,
    ) {
        let local = Region { min: region.min - origin, max: region.max - origin };
        // Mips of a coarse chunk were given; mip 0 is unspecified until now, so all are computed
        // anew.
        let all = self.finest != 0;
        gather_updates(&self.rows, origin, local, source, kinds, all, updates);
        self.finest = 0;
        for mip in 1..CHUNK_MIPS.len() {
            let [fine, coarse] = [CHUNK_MIPS[mip - 1], CHUNK_MIPS[mip]];
            let dirty = local.coarser(mip as u32);
            coarsen(&self.rows, fine, coarse, dirty, kinds, updates);
        }
        self.rows.replace(updates);
    }

    /// Sets mip `mip` of the whole chunk from `source` (in cells of that mip; `origin` is
    /// the chunk's lowest one) and brings the coarser mips up to date.
    pub fn write_mip(
        &mut self,
        mip: u8,
        origin: VoxelPos,
        source: &DenseBox,
        kinds: &[Kind; 256],
        updates: &mut RowUpdates,
    ) {
        let layout = CHUNK_MIPS[usize::from(mip)];
        updates.clear();
        for index in layout.first / Row::CELLS..(layout.first + layout.edge.pow(3)) / Row::CELLS {
            let mut row = Row::uniform(0);
            for x in 0..Row::CELLS {
                let at = index * Row::CELLS + x - layout.first;
                let (cx, cz, cy) =
                    (at % layout.edge, at / layout.edge % layout.edge, at / layout.edge.pow(2));
                let pos = origin + VoxelPos::new(cx as i32, cy as i32, cz as i32);
                row.set(x, source.cell(pos));
                if let Some(water) = source.water_at(pos)
                    && kinds[usize::from(row.material[x])] == Kind::Solid
                {
                    updates.water.push(((index * Row::CELLS + x) as u16, water));
                }
            }
            updates.push(index as u16, row);
        }
        updates.water.sort_unstable_by_key(|entry| entry.0);
        for mip in usize::from(mip) + 1..CHUNK_MIPS.len() {
            let [fine, coarse] = [CHUNK_MIPS[mip - 1], CHUNK_MIPS[mip]];
            let all = Region::new([0; 3], [coarse.edge as i32; 3]);
            coarsen(&self.rows, fine, coarse, all, kinds, updates);
        }
        self.rows.replace(updates);
    }

    /// Rows of mip 0 that are not full cells of one material.
    pub fn mixed_rows(&self) -> usize {
        self.rows.mixed_rows(MIP_0_ROWS / 32)
    }

    /// Rows in memory: of mip 0, and of the mips above it.
    pub fn stored_rows(&self) -> [usize; 2] {
        let mip_0 = self.rows.stored_rows(MIP_0_ROWS / 32);
        [mip_0, self.rows.stored_rows(GROUPS) - mip_0]
    }

    /// Bytes of row headers that belong to the mips above 0: fill, bits and bases.
    pub const MIP_HEADER_BYTES: usize = (ROWS - MIP_0_ROWS) + (GROUPS - MIP_0_ROWS / 32) * 6;
}

impl ChunkView<'static> {
    /// A chunk of full cells of `material`.
    pub(crate) fn uniform(material: u8) -> ChunkView<'static> {
        ChunkView(ChunkCells::Uniform(material))
    }
}

/// A chunk for reading, at mip 0.
#[derive(Clone, Copy)]
pub struct ChunkView<'a>(pub(crate) ChunkCells<'a>);

#[derive(Clone, Copy)]
pub(crate) enum ChunkCells<'a> {
    Uniform(u8),
    Mixed(&'a Chunk),
}

impl<'a> ChunkView<'a> {
    /// Row (y, z) of the chunk, each 0..32. Constant time, borrowed without a copy;
    /// `_scratch` is there so that a denser layout can unpack into it.
    ///
    /// # Panics
    /// If `y` or `z` is 32 or more.
    #[inline]
    pub fn row<'r>(self, y: usize, z: usize, _scratch: &'r mut Row) -> &'r Row
    where
        'a: 'r,
    {
        assert!(y < CHUNK_EDGE && z < CHUNK_EDGE, "row ({y}, {z}) of a chunk of 32");
        match self.0 {
            ChunkCells::Uniform(material) => &UNIFORM_ROWS[usize::from(material)],
            ChunkCells::Mixed(chunk) => chunk.row(y, z),
        }
    }

    /// The cell at (x, y, z) of the chunk, each 0..32.
    #[inline]
    pub fn cell(self, x: usize, y: usize, z: usize) -> Cell {
        assert!(x < CHUNK_EDGE && y < CHUNK_EDGE && z < CHUNK_EDGE);
        match self.0 {
            ChunkCells::Uniform(material) => Cell::full(material),
            ChunkCells::Mixed(chunk) => chunk.row(y, z).cell(x),
        }
    }

    /// The 32 rows of slice `y`, 0..32, as they are packed.
    #[inline]
    pub(crate) fn slice(self, y: usize) -> RowGroup<'a> {
        debug_assert!(y < CHUNK_EDGE);
        match self.0 {
            ChunkCells::Uniform(material) => RowGroup::uniform(material),
            ChunkCells::Mixed(chunk) => chunk.rows.group(y),
        }
    }

    /// The material, if the chunk is full cells of one and holds no water in them.
    pub fn uniform_material(self) -> Option<u8> {
        match self.0 {
            ChunkCells::Uniform(material) => Some(material),
            ChunkCells::Mixed(_) => None,
        }
    }

    /// Water that solid cells hold: (x + 32 z + 1024 y, stored water), ascending.
    pub fn water(self) -> &'a [(u16, u8)] {
        match self.0 {
            ChunkCells::Uniform(_) => &[],
            ChunkCells::Mixed(chunk) => chunk.rows.water_between(0, MIP_0_ROWS * Row::CELLS),
        }
    }

    /// Rows that are not full cells of one material, of 1024.
    pub fn mixed_rows(self) -> usize {
        match self.0 {
            ChunkCells::Uniform(_) => 0,
            ChunkCells::Mixed(chunk) => chunk.mixed_rows(),
        }
    }
}
