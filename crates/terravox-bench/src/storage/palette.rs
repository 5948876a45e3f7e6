//! A peer in memory: 16³ sections, each with the list of its different cells and
//! as many bits per cell as its length needs.
//!
//! Source: the layout that block games made common (the paletted container of
//! Minecraft: indices packed in 64-bit words, none across two words), here on
//! two-byte cells and without its smallest and largest palette sizes.

use rustc_hash::FxHashMap;
use terravox::voxel::{BlockPos, Cell, DenseBox, Row, VoxelPos};

/// Position of a 16³ section.
pub type SectionPos = BlockPos<4>;

/// Cells of a section.
const CELLS: usize = 16 * 16 * 16;

/// 16³ cells.
#[derive(Debug)]
pub struct Section {
    palette: Box<[Cell]>,
    /// 0 where the palette has one entry.
    bits: u32,
    words: Box<[u64]>,
}

impl Section {
    /// Packs the cells of `section` out of a box that holds them.
    ///
    /// # Panics
    /// If the box does not hold all of them.
    pub fn pack(cells: &DenseBox, section: SectionPos) -> Section {
        let mut palette = Vec::new();
        let mut known: FxHashMap<Cell, u64> = FxHashMap::default();
        let mut indices = Vec::with_capacity(CELLS);
        for p in section.region().voxels() {
            let cell = cells.cell(p);
            let index = *known.entry(cell).or_insert_with(|| {
                palette.push(cell);
                palette.len() as u64 - 1
            });
            indices.push(index);
        }
        let bits = usize::BITS - (palette.len() - 1).leading_zeros();
        let words = pack_words(&indices, bits);
        Section { palette: palette.into(), bits, words }
    }

    /// The cell at index `x + 16 z + 256 y`.
    #[inline]
    pub fn cell(&self, index: usize) -> Cell {
        if self.bits == 0 {
            return self.palette[0];
        }
        let per_word = 64 / self.bits as usize;
        let word = self.words[index / per_word];
        let shift = (index % per_word) as u32 * self.bits;
        self.palette[(word >> shift & ((1 << self.bits) - 1)) as usize]
    }

    /// Writes the sixteen cells from index `first` on into `row` from `x` on.
    pub fn unpack_row(&self, first: usize, row: &mut Row, x: usize) {
        for i in 0..16 {
            let cell = self.cell(first + i);
            row.material[x + i] = cell.material;
            row.occupancy[x + i] = cell.occupancy;
        }
    }

    /// Bytes on the heap and in the table's slot.
    pub fn bytes(&self) -> usize {
        size_of::<(SectionPos, Section)>() + self.palette.len() * 2 + self.words.len() * 8
    }
}

fn pack_words(indices: &[u64], bits: u32) -> Box<[u64]> {
    if bits == 0 {
        return Box::default();
    }
    let per_word = 64 / bits as usize;
    let word = |part: &[u64]| {
        part.iter().enumerate().fold(0, |word, (i, &index)| word | index << (i as u32 * bits))
    };
    indices.chunks(per_word).map(word).collect()
}

/// A world of sections in a hash table.
#[derive(Default)]
pub struct PaletteWorld {
    sections: FxHashMap<SectionPos, Section>,
}

impl PaletteWorld {
    /// Adds the eight sections of a chunk's box.
    pub fn add(&mut self, chunk: &DenseBox) {
        for section in chunk.region().blocks::<4>() {
            self.sections.insert(section, Section::pack(chunk, section));
        }
    }

    /// The cell at `p`; air where there is no section.
    #[inline]
    pub fn cell(&self, p: VoxelPos) -> Cell {
        let Some(section) = self.sections.get(&p.block::<4>()) else { return Cell::AIR };
        section.cell((p.x & 15) as usize | ((p.z & 15) << 4 | (p.y & 15) << 8) as usize)
    }

    /// Bytes of all sections, and of the free slots of a table that is at most 7/8 full.
    pub fn bytes(&self) -> usize {
        let free = self.sections.capacity() - self.sections.len();
        let slot = size_of::<(SectionPos, Section)>();
        self.sections.values().map(Section::bytes).sum::<usize>() + free * slot
    }

    /// The section at `pos`.
    pub fn section(&self, pos: SectionPos) -> Option<&Section> {
        self.sections.get(&pos)
    }
}

#[cfg(test)]
mod tests {
    use terravox::voxel::{ChunkPos, Region};

    use super::*;
    use crate::worlds::random::Rng;

    /// A chunk of random cells out of `kinds` different ones.
    fn chunk(kinds: u32, seed: u64) -> DenseBox {
        let mut rng = Rng::new(seed);
        let mut cells = DenseBox::new(ChunkPos::new(-1, 0, 2).region());
        for p in cells.region().voxels() {
            let kind = rng.below(kinds);
            cells.set(p, Cell::new(1 + (kind % 22) as u8, (kind / 22) as u8));
        }
        cells
    }

    #[test]
    fn packed_cells_read_as_they_were_for_every_width() {
        for kinds in [1, 2, 3, 4, 5, 17, 300, 4000] {
            let cells = chunk(kinds, u64::from(kinds));
            let mut world = PaletteWorld::default();
            world.add(&cells);
            for p in cells.region().voxels() {
                assert_eq!(world.cell(p), cells.cell(p), "{kinds} kinds at {p}");
            }
            assert_eq!(world.cell(VoxelPos::new(0, 0, 0)), Cell::AIR);
        }
    }

    #[test]
    fn sections_of_one_cell_have_no_words() {
        let mut world = PaletteWorld::default();
        world.add(&chunk(1, 0));
        assert!(world.sections.values().all(|section| section.words.is_empty()));
        assert_eq!(world.sections.len(), 8);
    }

    #[test]
    fn twice_the_bits_are_twice_the_words() {
        let words = |kinds| {
            let section = Section::pack(&chunk(kinds, 9), SectionPos::new(-2, 0, 4));
            section.words.len()
        };
        assert_eq!(words(2), CELLS / 64);
        assert_eq!(words(4), CELLS / 32);
        assert_eq!(words(8), CELLS.div_ceil(21));
        assert_eq!(Region::new([0; 3], [32; 3]).blocks::<4>().count(), 8);
    }
}
