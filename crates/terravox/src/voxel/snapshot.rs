//! Snapshots: a consistent state of a grid, cheap to take.

use super::cell::{Cell, Row};
use super::chunk::{Chunk, ChunkView};
use super::far::{FarCells, FarTable};
use super::material::{Kind, MaterialTable, SurfaceShape};
use super::mip_block::MipBlock;
use super::options::{ChunkState, UnlistedChunks};
use super::page::{Page, Slot, page_of};
use super::position::{ChunkPos, PagePos, Region, VoxelPos};
use super::tables::Tables;
use std::fmt;
use std::sync::Arc;
use xxhash_rust::xxh3::Xxh3;

/// The state of a grid at one moment, for reading. Cloning it costs a few reference counts.
#[derive(Clone, Default)]
pub struct Snapshot {
    /// Only the grid that owns a snapshot changes its tables.
    pub(super) tables: Tables,
}

/// A chunk that a read or write needs is not held at the needed mip.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NotHeld {
    /// The first such chunk.
    pub chunk: ChunkPos,
    /// The mip that is needed.
    pub mip: u8,
    /// What is held of it.
    pub held: ChunkState,
}

impl fmt::Display for NotHeld {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let NotHeld { chunk, mip, held } = self;
        match held {
            ChunkState::Mip(held) => {
                write!(f, "chunk {chunk} is held at mip {held}; mip {mip} of it is needed")
            }
            _ => write!(f, "chunk {chunk} is not held; mip {mip} of it is needed"),
        }
    }
}

impl std::error::Error for NotHeld {}

/// The memory of a grid, in bytes as requested from the allocator, reference counts included.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct GridMemory {
    /// Listed chunks.
    pub chunks: usize,
    /// Listed chunks of one material.
    pub uniform_chunks: usize,
    /// Pages.
    pub pages: usize,
    /// Rows of mip 0 that are not full cells of one material.
    pub mixed_rows: usize,
    /// Rows of mip 0 in memory: fewer, since repeated ones are shared.
    pub stored_rows: usize,
    /// Bytes of mip 0: rows, their headers, the chunk's own fields.
    pub mip_0: usize,
    /// Bytes of the mips 1 to 8.
    pub mips: usize,
    /// Bytes of the slots of pages.
    pub pages_bytes: usize,
    /// Bytes of the hash table of pages.
    pub hash: usize,
    /// Bytes of the water that solid cells hold, all mips, far blocks with them.
    pub water: usize,
    /// Far blocks.
    pub far_blocks: usize,
    /// Bytes of the far blocks and their table.
    pub far: usize,
}

impl GridMemory {
    /// All bytes.
    pub fn total(&self) -> usize {
        self.mip_0 + self.mips + self.pages_bytes + self.hash + self.water + self.far
    }
}

impl fmt::Debug for Snapshot {
    /// Prints counts, not cells: a world is large.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Snapshot")
            .field("pages", &self.tables.pages().len())
            .field("far_blocks", &self.tables.far().blocks().count())
            .field("materials", &self.tables.materials().materials().len())
            .field("unlisted", &self.unlisted())
            .finish()
    }
}

impl Snapshot {
    pub(crate) fn page(&self, page: PagePos) -> Option<&Page> {
        self.tables.pages().get(&page).map(|page| &**page)
    }

    /// Positions of all pages, unsorted.
    pub(crate) fn page_positions(&self) -> impl Iterator<Item = PagePos> {
        self.tables.pages().keys().copied()
    }

    pub(super) fn far(&self) -> &FarTable {
        self.tables.far()
    }

    /// What the material ids mean.
    pub fn materials(&self) -> &MaterialTable {
        self.tables.materials()
    }

    /// What unlisted chunk positions mean.
    pub fn unlisted(&self) -> UnlistedChunks {
        self.tables.unlisted()
    }

    /// Whether nothing was ever written, and there are no far blocks.
    pub fn is_empty(&self) -> bool {
        self.tables.pages().is_empty() && self.tables.far().is_empty()
    }

    /// Whether a far block was written and not forgotten.
    pub fn has_far(&self, block: MipBlock) -> bool {
        self.tables.far().get(block).is_some()
    }

    /// The material of a far block that is full cells of one (or air).
    pub fn far_material(&self, block: MipBlock) -> Option<u8> {
        match self.tables.far().get(block)? {
            FarCells::Uniform(material) => Some(*material),
            FarCells::Mixed(_) => None,
        }
    }

    /// All far blocks, sorted by mip and position.
    pub fn far_blocks(&self) -> Vec<MipBlock> {
        let mut blocks: Vec<_> = self.tables.far().blocks().collect();
        blocks.sort_unstable();
        blocks
    }

    /// Whether a chunk was written (also with air) and not forgotten.
    pub fn is_listed(&self, chunk: ChunkPos) -> bool {
        self.finest_mip(chunk).is_some()
    }

    /// The finest mip that is held of a chunk; `None` if it is not listed.
    pub(super) fn finest_mip(&self, chunk: ChunkPos) -> Option<u8> {
        self.tables.pages().get(&page_of(chunk))?.finest_mip(chunk)
    }

    /// Positions of all listed chunks, sorted by x, y, z.
    pub fn chunks(&self) -> Vec<ChunkPos> {
        let listed = self.tables.pages().iter().flat_map(|(&at, page)| page.listed(at));
        let mut chunks: Vec<_> = listed.collect();
        chunks.sort_unstable();
        chunks
    }

    /// Positions of all chunks that are held at mip 0, unsorted.
    pub(crate) fn fine_chunks(&self) -> impl Iterator<Item = ChunkPos> {
        self.tables.pages().iter().flat_map(|(&at, page)| {
            page.listed(at).filter(|&chunk| page.finest_mip(chunk) == Some(0))
        })
    }

    /// The smallest region of whole chunks that holds all listed ones.
    pub fn bounds(&self) -> Region {
        let chunks = self.tables.pages().iter().flat_map(|(&at, page)| page.listed(at));
        chunks.fold(Region::default(), |bounds, chunk| bounds.union(chunk.region()))
    }

    /// What a chunk position holds; air beyond [`LIMIT`](super::LIMIT).
    pub fn held(&self, chunk: ChunkPos) -> ChunkState {
        match self.finest_mip(chunk) {
            Some(mip) => ChunkState::Mip(mip),
            None if self.unlisted() == UnlistedChunks::Air || !chunk.within_limits() => {
                ChunkState::Air
            }
            None => ChunkState::Unknown,
        }
    }

    /// Returns an error unless every chunk that touches `region`, in voxels, is held at mip 0 or
    /// air.
    pub(crate) fn check_held(&self, region: Region) -> Result<(), NotHeld> {
        for chunk in region.blocks::<5>() {
            let held = self.held(chunk);
            if matches!(held, ChunkState::Unknown | ChunkState::Mip(1..)) {
                return Err(NotHeld { chunk, mip: 0, held });
            }
        }
        Ok(())
    }

    /// A chunk for reading at mip 0.
    ///
    /// # Errors
    /// [`NotHeld`] if it is not held at mip 0.
    #[inline]
    pub fn chunk(&self, chunk: ChunkPos) -> Result<ChunkView<'_>, NotHeld> {
        let page = self.tables.pages().get(&page_of(chunk));
        match page.and_then(|page| page.view(chunk)) {
            Some(view) => Ok(view),
            None => match self.held(chunk) {
                ChunkState::Air => Ok(ChunkView(super::chunk::ChunkCells::Uniform(super::AIR))),
                held => Err(NotHeld { chunk, mip: 0, held }),
            },
        }
    }

    /// The cell at `pos`, at mip 0.
    ///
    /// # Errors
    /// [`NotHeld`] if its chunk is not held at mip 0.
    #[inline]
    pub fn cell(&self, pos: VoxelPos) -> Result<Cell, NotHeld> {
        let local = |v: i32| (v & 31) as usize;
        Ok(self.chunk(pos.chunk())?.cell(local(pos.x), local(pos.y), local(pos.z)))
    }

    /// Stored water that the solid cell at `pos` holds, at mip 0.
    ///
    /// # Errors
    /// [`NotHeld`] if its chunk is not held at mip 0.
    pub fn water(&self, pos: VoxelPos) -> Result<Option<u8>, NotHeld> {
        let local = |v: i32| (v & 31) as u16;
        let cell = local(pos.x) + 32 * (local(pos.z) + 32 * local(pos.y));
        let water = self.chunk(pos.chunk())?.water();
        Ok(water.binary_search_by_key(&cell, |entry| entry.0).ok().map(|at| water[at].1))
    }

    /// XXH3 (128 bits) of all cells, their water and the material table. Equal worlds
    /// have equal digests, whatever their history; listed air does not count.
    ///
    /// # Errors
    /// [`NotHeld`] if a listed chunk is not held at mip 0.
    pub fn digest(&self) -> Result<u128, NotHeld> {
        let mut hash = Xxh3::new();
        let mut scratch = Row::uniform(0);
        for position in self.chunks() {
            let chunk = self.chunk(position)?;
            if chunk.uniform_material() == Some(super::AIR) {
                continue;
            }
            [position.x, position.y, position.z].iter().for_each(|v| hash.update(&v.to_le_bytes()));
            for index in 0..Row::CELLS * Row::CELLS {
                let row = chunk.row(index / Row::CELLS, index % Row::CELLS, &mut scratch);
                hash.update(&row.material);
                hash.update(&row.occupancy);
            }
            hash.update(&(chunk.water().len() as u32).to_le_bytes());
            for &(cell, held) in chunk.water() {
                hash.update(&cell.to_le_bytes());
                hash.update(&[held]);
            }
        }
        digest_materials(&mut hash, self.tables.materials());
        Ok(hash.digest128())
    }

    /// The memory in use.
    pub fn memory(&self) -> GridMemory {
        const COUNTS: usize = 2 * size_of::<usize>();
        let entry = size_of::<(PagePos, Arc<Page>)>() + 1;
        let mut memory = GridMemory { pages: self.tables.pages().len(), ..GridMemory::default() };
        memory.hash = self.tables.pages().capacity() * 8 / 7 * entry;
        [memory.far_blocks, memory.far, memory.water] = self.tables.far().memory();
        for (&position, page) in self.tables.pages().iter() {
            for chunk in page.listed(position) {
                memory.chunks += 1;
                memory.uniform_chunks += usize::from(matches!(page.slot(chunk), Slot::Uniform(_)));
            }
            memory.pages_bytes += page.slot_bytes() + COUNTS;
            memory.mips += page.mip_bytes();
            memory.water += page.water_bytes();
            for chunk in page.chunks() {
                let [rows, mip_rows] = chunk.stored_rows();
                let header = size_of::<Chunk>() + COUNTS - Chunk::MIP_HEADER_BYTES;
                memory.mixed_rows += chunk.mixed_rows();
                memory.stored_rows += rows;
                memory.mip_0 += header + rows * size_of::<Row>();
                memory.mips += Chunk::MIP_HEADER_BYTES + mip_rows * size_of::<Row>();
                memory.water += chunk.rows.water_bytes();
            }
        }
        memory
    }
}

fn digest_materials(hash: &mut Xxh3, materials: &MaterialTable) {
    for material in materials.materials() {
        hash.update(&(material.name.len() as u32).to_le_bytes());
        hash.update(material.name.as_bytes());
        let kind = match material.kind {
            Kind::Air => 0,
            Kind::Liquid => 1,
            Kind::Solid => 2,
        };
        let shape = match material.shape {
            SurfaceShape::Default => 0,
            SurfaceShape::Smooth => 1,
            SurfaceShape::Sharp => 2,
            SurfaceShape::Blocky => 3,
            SurfaceShape::Rubble => 4,
        };
        hash.update(&[kind, shape]);
        hash.update(&material.colour);
        for value in [material.friction, material.restitution, material.density] {
            hash.update(&value.to_bits().to_le_bytes());
        }
    }
}
