//! Reading the best cells available: at the requested mip, or else coarser.

use super::cell::{Cell, Row};
use super::dense::DenseBox;
use super::far::MAX_FAR_MIP;
use super::mip_block::MipBlock;
use super::mips::coarser_cell;
use super::options::UnlistedChunks;
use super::page::{FIRST_PAGE_MIP, MAX_MIP, PAGE_EDGE, PAGE_MIPS};
use super::position::{ChunkPos, PagePos, Region, VoxelPos};
use super::snapshot::Snapshot;

/// The resolution at which cells are known, best first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Knowledge {
    /// At the requested mip.
    #[default]
    AtMip,
    /// Coarser only in places: cells there repeat the coarse cell that covers them.
    Coarser,
    /// Unknown in places: cells there are air.
    Unknown,
}

/// Buffers of a read.
#[derive(Default)]
struct Scratch {
    read: DenseBox,
}

impl Snapshot {
    /// Reads the cells of `region` at mip `mip` into `out`, in cells of that mip, as well as they
    /// are known. Returns how well the worst one is.
    ///
    /// A cell comes from the far block of that mip; else from the chunks beneath, if they are held
    /// at the mip or finer (above mip 5: all of them, or any if unlisted means air); else from the
    /// finest coarser far block or coarser chunk, whichever is finer; else it is air, which is
    /// known if unlisted means air, and beyond [`LIMIT`](super::LIMIT).
    ///
    /// # Panics
    /// If `mip` is above [`MAX_FAR_MIP`].
    pub fn read_known(&self, region: Region, mip: u8, out: &mut DenseBox) -> Knowledge {
        assert!(mip <= MAX_FAR_MIP, "mip {mip}; the coarsest is {MAX_FAR_MIP}");
        if self.only_chunks_count(region, mip) && self.read(region, mip, out).is_ok() {
            return Knowledge::AtMip;
        }
        out.reset(region);
        let mut scratch = Scratch::default();
        let mut known = Knowledge::AtMip;
        for pos in region.coarser(5).voxels() {
            let block = MipBlock { mip, pos };
            let part = region.intersect(block.cells());
            known = known.max(self.read_block_part(block, part, &mut scratch, out));
        }
        out.water_mut().sort_unstable_by_key(|entry| entry.0);
        known
    }

    /// Whether chunks alone decide the cells of a region, if all of them are held.
    fn only_chunks_count(&self, region: Region, mip: u8) -> bool {
        if mip > MAX_MIP {
            return false;
        }
        let mut blocks = region.coarser(5).voxels();
        self.far().is_empty()
            || (self.unlisted() == UnlistedChunks::Unknown
                && !blocks.any(|pos| self.has_far(MipBlock { mip, pos })))
    }

    /// Writes the cells of `part`, which lies in `block`, to `out`, which is air there.
    fn read_block_part(
        &self,
        block: MipBlock,
        part: Region,
        scratch: &mut Scratch,
        out: &mut DenseBox,
    ) -> Knowledge {
        if !block.within_limits() {
            return Knowledge::AtMip; // nothing is ever there
        }
        if let Some(far) = self.far().get(block) {
            far.append_to(block.cells().min, part, out);
            return Knowledge::AtMip;
        }
        // For cells that no chunk has.
        let coarser = (block.mip + 1..=MAX_FAR_MIP).map(|mip| block.over(mip));
        let coarser = coarser.into_iter().find_map(|over| Some((over, self.far().get(over)?)));
        let rest = match (coarser, self.unlisted()) {
            (Some(_), _) => Knowledge::Coarser,
            (None, UnlistedChunks::Air) => Knowledge::AtMip,
            (None, UnlistedChunks::Unknown) => Knowledge::Unknown,
        };
        if let Some((over, far)) = coarser {
            let shift = u32::from(over.mip - block.mip);
            far.read(over.cells().min, part.coarser(shift), &mut scratch.read);
            append_repeated(&scratch.read, shift, part, out);
        }
        let finest_far = coarser.map_or(u8::MAX, |(over, _)| over.mip);
        let (at_mip, at_coarser) = match block.mip {
            0..=5 => self.read_chunks(part, block.mip, finest_far, scratch, out),
            6..=MAX_MIP => (self.read_pages(part, block.mip, scratch, out), 0),
            mip => (self.read_above_pages(part, mip, out), 0),
        };
        match part.volume() - at_mip - at_coarser {
            0 if at_coarser == 0 => Knowledge::AtMip,
            0 => Knowledge::Coarser,
            _ if at_coarser > 0 => rest.max(Knowledge::Coarser),
            _ => rest,
        }
    }

    /// Writes what listed chunks know of `part`, at mip 0 to 5, if it is finer than
    /// `finest_far`. Returns the cells known at the mip, and coarser.
    fn read_chunks(
        &self,
        part: Region,
        mip: u8,
        finest_far: u8,
        scratch: &mut Scratch,
        out: &mut DenseBox,
    ) -> (u64, u64) {
        let (mut at_mip, mut at_coarser) = (0, 0);
        for (chunk, held) in self.listed_in(part.finer(mip.into())) {
            let common = chunk.region().coarser(mip.into()).intersect(part);
            if held <= mip {
                if self.read(common, mip, &mut scratch.read).is_ok() {
                    out.copy_from(&scratch.read);
                    at_mip += common.volume();
                }
            } else if held < finest_far {
                let shift = u32::from(held - mip);
                if self.read(common.coarser(shift), held, &mut scratch.read).is_ok() {
                    out.retain_water(|pos| !common.contains(pos));
                    append_repeated(&scratch.read, shift, common, out);
                    at_coarser += common.volume();
                }
            }
        }
        (at_mip, at_coarser)
    }

    /// Writes what pages know of `part`, at mip 6 to 8. Returns the cells known.
    fn read_pages(&self, part: Region, mip: u8, scratch: &mut Scratch, out: &mut DenseBox) -> u64 {
        let mut known = 0;
        let shift = u32::from(mip);
        for at in part.finer(shift).coarser(8).voxels() {
            let page_pos = PagePos::new(at.x, at.y, at.z);
            let Some(page) = self.page(page_pos) else { continue };
            for cell in part.intersect(page_pos.region().coarser(shift)).voxels() {
                let cell = Region::one(cell);
                let mut chunks = cell.finer(shift - 5).voxels();
                let listed = |p| page.finest_mip(chunk_at(p)).is_some();
                let held = match self.unlisted() {
                    UnlistedChunks::Air => chunks.any(listed),
                    UnlistedChunks::Unknown => chunks.all(listed),
                };
                if held && self.read(cell, mip, &mut scratch.read).is_ok() {
                    out.copy_from(&scratch.read);
                    known += 1;
                }
            }
        }
        known
    }

    /// Writes what pages know of `part`, at a mip above theirs. Returns the cells known:
    /// those with a listed chunk, where unlisted means air.
    fn read_above_pages(&self, part: Region, mip: u8, out: &mut DenseBox) -> u64 {
        if self.unlisted() == UnlistedChunks::Unknown {
            return 0;
        }
        let mut cells: Vec<_> = self.page_cells(part.finer(u32::from(mip - MAX_MIP))).collect();
        for _ in MAX_MIP..mip {
            cells.sort_unstable_by_key(|&(pos, ..)| pos.coarser(1));
            let coarser = cells.chunk_by(|a, b| a.0.coarser(1) == b.0.coarser(1)).map(|children| {
                let mut octet = [(Cell::AIR, 0); 8];
                for (to, &(_, cell, water)) in octet.iter_mut().zip(children) {
                    *to = (cell, water.map_or(0, |held| u32::from(held) + 1));
                }
                let (cell, water) = coarser_cell(&octet, self.materials().kinds());
                (children[0].0.coarser(1), cell, water)
            });
            cells = coarser.collect();
        }
        // The box has no water there yet.
        for &(pos, cell, water) in &cells {
            out.set(pos, cell);
            let index = out.index(pos) as u32;
            out.water_mut().extend(water.map(|held| (index, held)));
        }
        cells.len() as u64
    }

    /// The cells of mip 8 in `region`, in such cells, of pages with a listed chunk.
    fn page_cells(&self, region: Region) -> impl Iterator<Item = (VoxelPos, Cell, Option<u8>)> {
        let first = PAGE_MIPS[usize::from(MAX_MIP - FIRST_PAGE_MIP)].first;
        self.page_positions().filter_map(move |position| {
            let pos = VoxelPos::new(position.x, position.y, position.z);
            let page = self.page(position).filter(|_| region.contains(pos))?;
            page.listed(position).next()?;
            let mips = page.mips();
            let cell = mips.row(first / Row::CELLS).cell(first % Row::CELLS);
            Some((pos, cell, mips.water_between(first, 1).first().map(|entry| entry.1)))
        })
    }

    /// The listed chunks that intersect `region`, in voxels, and the finest mip held of each.
    pub(super) fn listed_in(&self, region: Region) -> impl Iterator<Item = (ChunkPos, u8)> {
        let chunks = region.coarser(5);
        let pages = chunks.coarser(PAGE_EDGE.trailing_zeros()).voxels();
        pages.flat_map(move |at| {
            let position = PagePos::new(at.x, at.y, at.z);
            let page = self.page(position);
            let part = match page {
                Some(_) => position.region().coarser(5).intersect(chunks),
                None => Region::default(),
            };
            part.voxels()
                .map(chunk_at)
                .filter_map(move |chunk| Some((chunk, page?.finest_mip(chunk)?)))
        })
    }
}

fn chunk_at(p: VoxelPos) -> ChunkPos {
    ChunkPos::new(p.x, p.y, p.z)
}

/// Writes the cells of a part of `out`, each like the cell `shift` mips coarser that covers it.
/// The part holds no water before; the list of water is left unsorted.
pub(crate) fn append_repeated(coarse: &DenseBox, shift: u32, part: Region, out: &mut DenseBox) {
    let x = |x: i32| ((x >> shift) - coarse.region().min.x) as usize;
    let width = (part.max.x - part.min.x) as usize;
    for y in part.min.y..part.max.y {
        for z in part.min.z..part.max.z {
            let row = coarse.row_start(y >> shift, z >> shift);
            let to = out.index(VoxelPos::new(part.min.x, y, z));
            let (material, occupancy) = out.arrays_mut();
            let cells = material[to..to + width].iter_mut().zip(&mut occupancy[to..to + width]);
            for (at, (material, occupancy)) in (part.min.x..).zip(cells) {
                *material = coarse.materials()[row + x(at)];
                *occupancy = coarse.occupancies()[row + x(at)];
            }
        }
    }
    for &(i, held) in coarse.water() {
        let finer = Region::one(coarse.position(i)).finer(shift).intersect(part);
        for pos in finer.voxels() {
            let index = out.index(pos) as u32;
            out.water_mut().push((index, held));
        }
    }
}
