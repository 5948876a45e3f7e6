//! A page: 8³ chunk slots, what each of them holds, and the mips above the chunk
//! (16³ cells of mip 4 down to one cell of mip 8).

use super::cell::{AIR, Cell, Row};
use super::chunk::{CHUNK_MIPS, Chunk, ChunkCells, ChunkView};
use super::dense::DenseBox;
use super::material::Kind;
use super::mips::{MipLayout, coarsen, coarser_cell};
use super::packed_rows::{PackedRows, RowUpdates};
use super::position::{ChunkPos, PagePos, Region, VoxelPos};
use std::sync::Arc;

/// Chunks along the edge of a page.
pub(crate) const PAGE_EDGE: i32 = 8;

/// The coarsest mip that a grid keeps: one cell a page.
pub const MAX_MIP: u8 = 8;

/// The finest mip that pages keep.
pub(crate) const FIRST_PAGE_MIP: u8 = 4;

/// Mips 4 to 8.
pub(crate) const PAGE_MIPS: [MipLayout; 5] = [
    MipLayout { edge: 16, first: 0 },
    MipLayout { edge: 8, first: 4096 },
    MipLayout { edge: 4, first: 4608 },
    MipLayout { edge: 2, first: 4672 },
    MipLayout { edge: 1, first: 4680 },
];

const ROWS: usize = 128 + 16 + 2 + 1;
pub(crate) type PageRows = PackedRows<ROWS, { ROWS.div_ceil(32) }>;

/// What a chunk slot holds, as decoded from its word.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Slot {
    /// Never written: air or unknown, by [`UnlistedChunks`](super::UnlistedChunks).
    Unlisted,
    /// Full cells of one material.
    Uniform(u8),
    /// Index in its octant of the page.
    Mixed(usize),
    /// Only the page's mips hold it, from this mip (4 or 5) on.
    Coarse(u8),
}

/// A slot in two bytes: an array of pointers would be four times as large.
#[derive(Clone, Copy, PartialEq, Eq)]
struct SlotWord(u16);

impl SlotWord {
    const UNLISTED: SlotWord = SlotWord(0xffff);

    fn slot(self) -> Slot {
        match self.0 >> 8 {
            0xff => Slot::Unlisted,
            0x80 => Slot::Uniform(self.0 as u8),
            0x40 => Slot::Coarse(self.0 as u8),
            _ => Slot::Mixed(usize::from(self.0)),
        }
    }

    fn new(slot: Slot) -> SlotWord {
        SlotWord(match slot {
            Slot::Unlisted => 0xffff,
            Slot::Uniform(material) => 0x8000 | u16::from(material),
            Slot::Coarse(mip) => 0x4000 | u16::from(mip),
            Slot::Mixed(index) => index as u16,
        })
    }
}

/// 8³ chunk slots and the mips above them.
///
/// The stored chunks are kept by octant (4³ slots), so that a write to a page that a
/// snapshot shares copies the references of at most 64 chunks for each octant written, not
/// of all 512: incrementing each reference count is a cache miss.
#[derive(Clone)]
pub(crate) struct Page {
    slots: [SlotWord; 512],
    octants: [Option<Arc<Octant>>; 8],
    mips: PageRows,
}

/// Stored chunks of an octant, unsorted.
type Octant = Vec<Arc<Chunk>>;

/// Index of a chunk's slot in its page.
fn slot_index(chunk: ChunkPos) -> usize {
    let local = |v: i32| (v & (PAGE_EDGE - 1)) as usize;
    local(chunk.x) + 8 * (local(chunk.z) + 8 * local(chunk.y))
}

/// Index of the octant of a chunk's page that has the chunk.
fn octant_index(chunk: ChunkPos) -> usize {
    let half = |v: i32| (v >> 2 & 1) as usize;
    half(chunk.x) + 2 * (half(chunk.z) + 2 * half(chunk.y))
}

/// Indices of the slots of an octant.
fn slots_of(octant: usize) -> impl Iterator<Item = usize> {
    let [x, z, y] = [octant & 1, octant >> 1 & 1, octant >> 2].map(|half| 4 * half);
    let row = move |i: usize| x + 8 * (z + (i & 3) + 8 * (y + (i >> 2)));
    (0..16).flat_map(move |i| row(i)..row(i) + 4)
}

/// The cells of mip 4 or 5 that overlap a region of one page, in voxels; relative to the page's min
/// corner.
fn cells_of(region: Region, mip: u8) -> Region {
    let cells = region.coarser(mip.into());
    let edge = PAGE_EDGE << (5 - mip);
    let min = VoxelPos::from(cells.min.to_array().map(|v| v & (edge - 1)));
    Region { min, max: min + (cells.max - cells.min) }
}

/// The page that holds a chunk.
#[inline]
pub(crate) fn page_of(chunk: ChunkPos) -> PagePos {
    PagePos::new(chunk.x >> 3, chunk.y >> 3, chunk.z >> 3)
}

impl Page {
    pub fn new() -> Page {
        let mips = PageRows::uniform(AIR);
        Page { slots: [SlotWord::UNLISTED; 512], octants: Default::default(), mips }
    }

    /// Whether no chunk is listed.
    pub fn is_unlisted(&self) -> bool {
        self.slots.iter().all(|&word| word == SlotWord::UNLISTED)
    }

    pub fn slot(&self, chunk: ChunkPos) -> Slot {
        self.slots[slot_index(chunk)].slot()
    }

    /// What is stored of a chunk, if its slot is mixed.
    #[inline]
    pub fn stored(&self, chunk: ChunkPos) -> Option<&Chunk> {
        let Slot::Mixed(index) = self.slot(chunk) else { return None };
        let octant = self.octants[octant_index(chunk)].as_deref()?;
        Some(&octant[index])
    }

    /// All stored chunks.
    pub fn chunks(&self) -> impl Iterator<Item = &Chunk> {
        self.octants.iter().flatten().flat_map(|octant| octant.iter().map(|chunk| &**chunk))
    }

    /// Positions of the listed chunks of the page at `page`, sorted.
    pub fn listed(&self, page: PagePos) -> impl Iterator<Item = ChunkPos> {
        (0..512)
            .map(|i| (i >> 6, i >> 3 & 7, i & 7))
            .map(move |(x, y, z)| ChunkPos::new(page.x * 8 + x, page.y * 8 + y, page.z * 8 + z))
            .filter(|&chunk| self.slot(chunk) != Slot::Unlisted)
    }

    /// The chunk at mip 0, if it is listed and held there.
    #[inline]
    pub fn view(&self, chunk: ChunkPos) -> Option<ChunkView<'_>> {
        match self.slot(chunk) {
            Slot::Uniform(material) => Some(ChunkView(ChunkCells::Uniform(material))),
            _ => {
                let stored = self.stored(chunk).filter(|stored| stored.finest == 0)?;
                Some(ChunkView(ChunkCells::Mixed(stored)))
            }
        }
    }

    /// The finest mip that is held of a chunk; `None` if it is not listed.
    pub fn finest_mip(&self, chunk: ChunkPos) -> Option<u8> {
        match self.slot(chunk) {
            Slot::Unlisted => None,
            Slot::Uniform(_) => Some(0),
            Slot::Mixed(_) => self.stored(chunk).map(|stored| stored.finest),
            Slot::Coarse(mip) => Some(mip),
        }
    }

    /// Writes the part of `source` that lies in `chunk`. The page's mips are then to be
    /// refreshed, once for all chunks of a write.
    pub fn write(
        &mut self,
        chunk: ChunkPos,
        source: &DenseBox,
        kinds: &[Kind; 256],
        updates: &mut RowUpdates,
    ) {
        let region = chunk.region().intersect(source.region());
        let whole = region == chunk.region();
        if let Some(material) = uniform_source(source, region) {
            let slot = self.slot(chunk);
            if whole || slot == Slot::Uniform(material) {
                return self.set_slot(chunk, Slot::Uniform(material));
            }
        }
        let stored = self.expand(chunk, 0);
        stored.write(chunk.min_voxel(), region, source, kinds, updates);
        if let Some(material) = stored.rows.uniform_material() {
            self.set_slot(chunk, Slot::Uniform(material));
        }
    }

    /// [`Page::write`] of whole chunks that are full cells of one material each.
    pub fn write_uniform(&mut self, chunks: &[(ChunkPos, u8)]) {
        for &(chunk, material) in chunks {
            self.set_slot(chunk, Slot::Uniform(material));
        }
    }

    /// Whether the page's mips over a region, in voxels, follow from its chunks: no chunk there is
    /// held only at mip 4 or 5.
    pub fn has_mips_of_chunks(&self, region: Region) -> bool {
        region.blocks::<5>().all(|chunk| !matches!(self.slot(chunk), Slot::Coarse(_)))
    }

    /// Sets mip `mip` (1 to 5) of a whole chunk from `source`, which holds it in cells of
    /// that mip.
    pub fn write_mip(
        &mut self,
        chunk: ChunkPos,
        mip: u8,
        source: &DenseBox,
        kinds: &[Kind; 256],
        updates: &mut RowUpdates,
    ) {
        let origin = chunk.min_voxel().coarser(mip.into());
        if mip < FIRST_PAGE_MIP {
            let stored = self.expand(chunk, mip);
            stored.finest = mip;
            stored.write_mip(mip, origin, source, kinds, updates);
            return self.refresh_mips(chunk.region(), kinds, updates);
        }
        self.set_slot(chunk, Slot::Coarse(mip));
        let cells = cells_of(chunk.region(), mip);
        let read = |at: VoxelPos| {
            let at = origin + at - cells.min;
            (source.cell(at), source.water_at(at))
        };
        self.stage_cells(cells, mip, read, kinds, updates);
        self.coarsen_above(cells, mip, kinds, updates);
    }

    /// Makes a chunk unlisted.
    pub fn forget(&mut self, chunk: ChunkPos, kinds: &[Kind; 256], updates: &mut RowUpdates) {
        self.set_slot(chunk, Slot::Unlisted);
        self.refresh_mips(chunk.region(), kinds, updates);
    }

    /// The stored chunk of a slot. If the slot has none, stores one, with the cells of a uniform
    /// slot, else of air.
    fn expand(&mut self, chunk: ChunkPos, finest: u8) -> &mut Chunk {
        let slot = self.slot(chunk);
        let octant = Arc::make_mut(self.octants[octant_index(chunk)].get_or_insert_default());
        let index = match slot {
            Slot::Mixed(index) => index,
            Slot::Uniform(_) | Slot::Unlisted | Slot::Coarse(_) => {
                let material = if let Slot::Uniform(material) = slot { material } else { AIR };
                let index = octant.len();
                octant.reserve_exact(1);
                octant.push(Arc::new(Chunk::uniform(material, finest)));
                self.slots[slot_index(chunk)] = SlotWord::new(Slot::Mixed(index));
                index
            }
        };
        Arc::make_mut(&mut octant[index])
    }

    /// Sets a slot and drops the chunk that it stored.
    fn set_slot(&mut self, chunk: ChunkPos, slot: Slot) {
        let (at, octant) = (slot_index(chunk), octant_index(chunk));
        let freed = self.slots[at].slot();
        self.slots[at] = SlotWord::new(slot);
        let (Slot::Mixed(index), Some(chunks)) = (freed, &mut self.octants[octant]) else { return };
        let chunks = Arc::make_mut(chunks);
        chunks.swap_remove(index);
        let moved = SlotWord::new(Slot::Mixed(chunks.len()));
        if chunks.is_empty() {
            self.octants[octant] = None;
        } else if let Some(at) = slots_of(octant).find(|&at| self.slots[at] == moved) {
            self.slots[at] = SlotWord::new(Slot::Mixed(index));
        }
    }

    /// Recomputes the page's mips over a region of it, in voxels.
    pub fn refresh_mips(&mut self, region: Region, kinds: &[Kind; 256], updates: &mut RowUpdates) {
        let cells = cells_of(region, FIRST_PAGE_MIP);
        let read = |at: VoxelPos| self.coarse_cell(at, kinds);
        self.stage_cells(cells, FIRST_PAGE_MIP, read, kinds, updates);
        self.coarsen_above(cells, FIRST_PAGE_MIP, kinds, updates);
    }

    /// The cell of mip 4 at `at` in the page, from its chunk, and the water that it holds.
    fn coarse_cell(&self, at: VoxelPos, kinds: &[Kind; 256]) -> (Cell, Option<u8>) {
        let chunk = at.coarser(1);
        let chunk = ChunkPos::new(chunk.x, chunk.y, chunk.z);
        let Some(stored) = self.stored(chunk) else {
            let Slot::Uniform(material) = self.slot(chunk) else { return (Cell::AIR, None) };
            return (Cell::full(material), None);
        };
        let first = [at.x, at.y, at.z].map(|v| (v & 1) as usize * 2);
        let mut octet = [(Cell::AIR, 0); 8];
        for (i, child) in octet.iter_mut().enumerate() {
            let [x, y, z] = [first[0] + (i & 1), first[1] + (i >> 2), first[2] + (i >> 1 & 1)];
            let cell = CHUNK_MIPS[3].index(x, y, z);
            let water = stored.rows.water_between(cell, 1).first();
            *child = (
                stored.rows.row(cell / Row::CELLS).cell(cell % Row::CELLS),
                water.map_or(0, |w| u32::from(w.1) + 1),
            );
        }
        coarser_cell(&octet, kinds)
    }

    /// Makes `updates` the rows of mip `mip` with the cells `cells` of the page as `read` returns
    /// them.
    fn stage_cells(
        &self,
        cells: Region,
        mip: u8,
        read: impl Fn(VoxelPos) -> (Cell, Option<u8>),
        kinds: &[Kind; 256],
        updates: &mut RowUpdates,
    ) {
        let layout = PAGE_MIPS[usize::from(mip - FIRST_PAGE_MIP)];
        updates.clear();
        for pos in cells.voxels() {
            let at = layout.index(pos.x as usize, pos.y as usize, pos.z as usize);
            let index = (at / Row::CELLS) as u16;
            if updates.indices.last() != Some(&index) {
                updates.push(index, *self.mips.row(index.into()));
                let old = self.mips.water_between(usize::from(index) * Row::CELLS, Row::CELLS);
                updates.water.extend(old);
            }
            let (cell, water) = read(pos);
            updates.water.retain(|w| usize::from(w.0) != at);
            if kinds[usize::from(cell.material)] == Kind::Solid {
                updates.water.extend(water.map(|water| (at as u16, water)));
            }
            let last = updates.rows.len() - 1;
            updates.rows[last].set(at % Row::CELLS, cell);
        }
        updates.water.sort_unstable_by_key(|entry| entry.0);
    }

    /// Writes the rows of mip `mip` that are staged in `updates`, and recomputes the coarser mips
    /// over `cells`, which are of mip `mip`.
    fn coarsen_above(
        &mut self,
        cells: Region,
        mip: u8,
        kinds: &[Kind; 256],
        updates: &mut RowUpdates,
    ) {
        for coarse in mip + 1..=MAX_MIP {
            let dirty = cells.coarser(u32::from(coarse - mip));
            let [fine, coarse] = [coarse - 1, coarse].map(|m| PAGE_MIPS[usize::from(m - 4)]);
            coarsen(&self.mips, fine, coarse, dirty, kinds, updates);
        }
        self.mips.replace(updates);
    }

    /// The mips 4 to 8.
    pub fn mips(&self) -> &PageRows {
        &self.mips
    }

    /// Bytes of slots, tables of chunks and everything else but the mips.
    pub fn slot_bytes(&self) -> usize {
        let tables = self.octants.iter().flatten().map(|octant| {
            size_of::<Octant>() + 2 * size_of::<usize>() + octant.capacity() * size_of::<usize>()
        });
        size_of::<Page>() - size_of::<PageRows>() + tables.sum::<usize>()
    }

    /// Bytes of the page's mips without their water.
    pub fn mip_bytes(&self) -> usize {
        size_of::<PageRows>() + self.mips.stored_rows(ROWS) * size_of::<Row>()
    }

    /// Bytes of the water list of the page's mips.
    pub fn water_bytes(&self) -> usize {
        self.mips.water_bytes()
    }
}

/// The material, if all cells of `region` (inside `source`) are full cells of it.
pub(crate) fn uniform_source(source: &DenseBox, region: Region) -> Option<u8> {
    let first = source.cell(region.min);
    let water = source.water();
    if first != Cell::full(first.material) || (!water.is_empty() && !first.is_air()) {
        return None;
    }
    let width = (region.max.x - region.min.x) as usize;
    let x = (region.min.x - source.region().min.x) as usize;
    for y in region.min.y..region.max.y {
        for z in region.min.z..region.max.z {
            let at = source.row_start(y, z) + x;
            let material = &source.materials()[at..at + width];
            let occupancy = &source.occupancies()[at..at + width];
            let mut differs = 0;
            for (m, o) in material.iter().zip(occupancy) {
                // The occupancy of air is ignored.
                let o = if *m == AIR { 0 } else { *o };
                differs |= (m ^ first.material) | (o ^ first.occupancy);
            }
            if differs != 0 {
                return None;
            }
        }
    }
    Some(first.material)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_slot_is_in_its_octant() {
        for octant in 0..8 {
            assert_eq!(slots_of(octant).count(), 64);
            for slot in slots_of(octant) {
                let [x, z, y] = [slot & 7, slot >> 3 & 7, slot >> 6].map(|v| v as i32);
                let chunk = ChunkPos::new(x - 8, y + 16, z);
                assert_eq!((slot_index(chunk), octant_index(chunk)), (slot, octant));
            }
        }
    }

    #[test]
    fn slot_words_hold_every_slot() {
        let mixed = (0..512).map(Slot::Mixed);
        let uniform = (0..=255).map(Slot::Uniform);
        let rest = [Slot::Unlisted, Slot::Coarse(4), Slot::Coarse(5)];
        for slot in mixed.chain(uniform).chain(rest) {
            assert_eq!(SlotWord::new(slot).slot(), slot);
        }
    }
}
