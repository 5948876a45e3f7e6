//! Reading boxes of cells at any mip, by rows of the output, each assembled from the sources that
//! it crosses: chunks up to mip 3, pages above.

use super::cell::{AIR, Row};
use super::chunk::{CHUNK_MIPS, ChunkRows};
use super::dense::DenseBox;
use super::mips::MipLayout;
use super::options::{ChunkState, UnlistedChunks};
use super::packed_rows::RowGroup;
use super::page::{FIRST_PAGE_MIP, MAX_MIP, PAGE_MIPS, PageRows, Slot, page_of};
use super::position::{ChunkPos, PagePos, Region, VoxelPos};
use super::snapshot::{NotHeld, Snapshot};

/// Where a part of a row comes from.
#[derive(Clone, Copy)]
enum RowSource<'a> {
    Uniform(u8),
    Chunk(&'a ChunkRows),
    Page(&'a PageRows),
}

/// A source, and the part of each row of the box that it provides.
#[derive(Clone, Copy)]
struct RowPiece<'a> {
    source: RowSource<'a>,
    /// The rows of the current slice; a slice never spans two groups.
    group: RowGroup<'a>,
    /// The source's lowest cell.
    origin: VoxelPos,
    /// First cell in the source, along X.
    x: usize,
    width: usize,
}

/// Rows of up to this many pieces need no allocation.
const FEW: usize = 4;

impl RowPiece<'_> {
    fn nothing(origin: VoxelPos) -> Self {
        let (source, group) = (RowSource::Uniform(AIR), RowGroup::uniform(AIR));
        RowPiece { source, group, origin, x: 0, width: 0 }
    }
}

impl<'a> RowSource<'a> {
    fn group(self, group: usize) -> RowGroup<'a> {
        match self {
            RowSource::Uniform(material) => RowGroup::uniform(material),
            RowSource::Chunk(rows) => rows.group(group),
            RowSource::Page(rows) => rows.group(group),
        }
    }

    fn water_between(self, first: usize, cells: usize) -> &'a [(u16, u8)] {
        match self {
            RowSource::Uniform(_) => &[],
            RowSource::Chunk(rows) => rows.water_between(first, cells),
            RowSource::Page(rows) => rows.water_between(first, cells),
        }
    }
}

impl Snapshot {
    /// Fills `out` with the cells of `region` at mip `mip`, in cells of that mip. Beyond
    /// [`LIMIT`](super::LIMIT) there is air.
    ///
    /// # Errors
    /// [`NotHeld`] if a chunk that is touched is not held at that mip or a finer one;
    /// `out` is then unspecified.
    ///
    /// # Panics
    /// If `mip` is above [`MAX_MIP`].
    pub fn read(&self, region: Region, mip: u8, out: &mut DenseBox) -> Result<(), NotHeld> {
        assert!(mip <= MAX_MIP, "mip {mip}; the coarsest is {MAX_MIP}");
        out.resize(region);
        if region.is_empty() {
            return Ok(());
        }
        let of_chunks = mip < FIRST_PAGE_MIP;
        let layout = match of_chunks {
            true => CHUNK_MIPS[usize::from(mip)],
            false => PAGE_MIPS[usize::from(mip - FIRST_PAGE_MIP)],
        };
        let sources = region.coarser(layout.edge.trailing_zeros());
        let (count, nothing) = (sources.size()[0], RowPiece::nothing(region.min));
        // Frequent reads are small and must not allocate.
        let (mut few, mut many) = ([nothing; FEW], Vec::new());
        let pieces = if count <= FEW {
            &mut few[..count]
        } else {
            many.resize(count, nothing);
            &mut many[..]
        };
        for y in sources.min.y..sources.max.y {
            for z in sources.min.z..sources.max.z {
                for (piece, x) in pieces.iter_mut().zip(sources.min.x..) {
                    let source = match of_chunks {
                        true => self.chunk_source(ChunkPos::new(x, y, z), mip)?,
                        false => self.page_source(PagePos::new(x, y, z), region, mip)?,
                    };
                    let edge = layout.edge as i32;
                    let origin = VoxelPos::new(x * edge, y * edge, z * edge);
                    let from = region.min.x.max(origin.x);
                    let width = (region.max.x.min(origin.x.saturating_add(edge)) - from) as usize;
                    let (group, x) = (source.group(0), (from - origin.x) as usize);
                    *piece = RowPiece { source, group, origin, x, width };
                }
                read_rows(layout, pieces, out);
                pieces.iter().for_each(|piece| read_water(layout, piece, out));
            }
        }
        // Entries are unique; the stable sort would allocate.
        out.water_mut().sort_unstable_by_key(|entry| entry.0);
        Ok(())
    }

    fn chunk_source(&self, chunk: ChunkPos, mip: u8) -> Result<RowSource<'_>, NotHeld> {
        let page = self.page(page_of(chunk));
        match page.map_or(Slot::Unlisted, |page| page.slot(chunk)) {
            Slot::Uniform(material) => return Ok(RowSource::Uniform(material)),
            Slot::Mixed(_) => {
                let stored = page.and_then(|page| page.stored(chunk));
                if let Some(stored) = stored.filter(|stored| stored.finest <= mip) {
                    return Ok(RowSource::Chunk(&stored.rows));
                }
            }
            Slot::Unlisted | Slot::Coarse(_) => {}
        }
        match self.held(chunk) {
            ChunkState::Air => Ok(RowSource::Uniform(AIR)),
            held => Err(NotHeld { chunk, mip, held }),
        }
    }

    fn page_source(
        &self,
        page: PagePos,
        region: Region,
        mip: u8,
    ) -> Result<RowSource<'_>, NotHeld> {
        if !page.within_limits() {
            return Ok(RowSource::Uniform(AIR)); // nothing is ever there
        }
        let found = self.page(page);
        if found.is_none() && self.unlisted() == UnlistedChunks::Air {
            return Ok(RowSource::Uniform(AIR));
        }
        let part = region.intersect(page.region().coarser(mip.into()));
        // Chunks are no smaller than a cell up to mip 5.
        let covered = match mip {
            0..=4 => part.coarser(5 - u32::from(mip)),
            _ => part.finer(u32::from(mip) - 5),
        };
        for chunk in covered.voxels().map(|p| ChunkPos::new(p.x, p.y, p.z)) {
            match self.held(chunk) {
                ChunkState::Air => {}
                ChunkState::Mip(held) if held <= mip => {}
                held => return Err(NotHeld { chunk, mip, held }),
            }
        }
        Ok(found.map_or(RowSource::Uniform(AIR), |page| RowSource::Page(page.mips())))
    }
}

/// Writes the rows of `out` that cross `pieces`, which lie side by side along X.
fn read_rows(layout: MipLayout, pieces: &mut [RowPiece<'_>], out: &mut DenseBox) {
    let (region, origin) = (out.region(), pieces[0].origin);
    let edge = layout.edge as i32;
    let [width, ..] = region.size();
    // Beyond the limits of the grid, up to the last integer.
    let [end_y, end_z] = [origin.y, origin.z].map(|v| v.saturating_add(edge));
    let (z0, z1) = (region.min.z.max(origin.z), region.max.z.min(end_z));
    for y in region.min.y.max(origin.y)..region.max.y.min(end_y) {
        let slice = layout.index(0, (y - origin.y) as usize, 0);
        for piece in pieces.iter_mut() {
            piece.group = piece.source.group(slice / Row::CELLS / 32);
        }
        let cells = out.row_start(y, z0)..out.row_start(y, z1 - 1) + width;
        let (material, occupancy) = out.arrays_mut();
        let (material, occupancy) = (&mut material[cells.clone()], &mut occupancy[cells]);
        let mut from = slice + layout.edge * (z0 - origin.z) as usize;
        if let ([piece], 1) = (&*pieces, width) {
            read_column(piece, (from, layout.edge), material, occupancy);
            continue;
        }
        let rows = material.chunks_exact_mut(width).zip(occupancy.chunks_exact_mut(width));
        for (material, occupancy) in rows {
            read_row(pieces, from, material, occupancy);
            from += layout.edge;
        }
    }
}

/// Writes rows of one cell. The first is cell `from` of the source plus the offset along X; the
/// others follow `step` cells apart.
fn read_column(
    piece: &RowPiece<'_>,
    (mut from, step): (usize, usize),
    material: &mut [u8],
    occupancy: &mut [u8],
) {
    for (material, occupancy) in material.iter_mut().zip(occupancy) {
        let row = piece.group.row(from / Row::CELLS % 32);
        let at = from % Row::CELLS + piece.x;
        (*material, *occupancy) = (row.material[at], row.occupancy[at]);
        from += step;
    }
}

/// Writes one row; `from` is the index of the first cell of the row in each source.
#[inline]
fn read_row(pieces: &[RowPiece<'_>], from: usize, material: &mut [u8], occupancy: &mut [u8]) {
    let mut to = 0;
    for piece in pieces {
        let row = piece.group.row(from / Row::CELLS % 32);
        let at = from % Row::CELLS + piece.x;
        copy_cells(&mut material[to..to + piece.width], &row.material[at..at + piece.width]);
        copy_cells(&mut occupancy[to..to + piece.width], &row.occupancy[at..at + piece.width]);
        to += piece.width;
    }
}

/// A copy that does not call `memcpy` for the widths that meshing and collision ask for:
/// whole chunks and their padding, blocks of 8³ and theirs.
#[inline(always)]
fn copy_cells(to: &mut [u8], from: &[u8]) {
    match to.len() {
        32 => to[..32].copy_from_slice(&from[..32]),
        1 => to[0] = from[0],
        2 => to[..2].copy_from_slice(&from[..2]),
        // Two halves that overlap.
        width @ 8..=16 => {
            to[..8].copy_from_slice(&from[..8]);
            to[width - 8..width].copy_from_slice(&from[width - 8..width]);
        }
        _ => copy_any(to, from),
    }
}

/// Not inlined: the compiler would merge it with the copies of known length, into one `memcpy`.
#[inline(never)]
fn copy_any(to: &mut [u8], from: &[u8]) {
    to.copy_from_slice(from);
}

/// Appends the water of a piece to `out`, unsorted.
fn read_water(layout: MipLayout, piece: &RowPiece<'_>, out: &mut DenseBox) {
    let (region, origin) = (out.region(), piece.origin);
    let edge = layout.edge as i32;
    let log2 = layout.edge.trailing_zeros();
    let end = origin.y.saturating_add(edge);
    let [min, max] = [region.min.y.max(origin.y), region.max.y.min(end)]
        .map(|y| ((y - origin.y) as usize) << (2 * log2));
    for &(cell, held) in piece.source.water_between(layout.first + min, max - min) {
        let at = usize::from(cell) - layout.first;
        let mask = layout.edge - 1;
        let (x, z, y) = (at & mask, at >> log2 & mask, at >> (2 * log2));
        let pos = origin + VoxelPos::new(x as i32, y as i32, z as i32);
        if region.contains(pos) {
            let to = out.index(pos) as u32;
            out.water_mut().push((to, held));
        }
    }
}
