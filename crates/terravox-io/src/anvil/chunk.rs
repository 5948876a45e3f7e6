//! Reads a chunk: where it is, how far it is generated, and the blocks of its sections.

use super::blocks::{Block, BlockState, BlockTable, KnownBlocks, MAX_NAME_BYTES};
use super::columns::{Columns, SECTION_BLOCKS};
use super::error::ChunkFault;
use super::nbt::{NbtCursor, Tag};
use crate::import_budget::ImportBudget;

/// Least bits of an index into a palette.
const MIN_BITS: usize = 4;
/// Memory of a name that was looked up.
const NAME_BYTES: u64 = 256;
/// Steps of generation before the ground has its materials.
const EARLY_STEPS: [&[u8]; 6] =
    [b"empty", b"structure_starts", b"structure_references", b"biomes", b"noise", b"heightmaps"];

/// What a chunk says of itself; its sections are read later.
pub(super) struct ChunkHead<'a> {
    /// x and z in chunks of the world.
    pub position: [i32; 2],
    /// Whether its ground is there.
    pub is_generated: bool,
    /// Whether a section has blocks by number, as before 1.13, which cannot be read.
    pub is_old: bool,
    /// At the list of sections.
    sections: Option<NbtCursor<'a>>,
}

/// Reads names and their meaning; reused for all chunks of a file.
pub(super) struct BlockReader<'t> {
    pub table: &'t BlockTable,
    pub known: KnownBlocks,
    palette: Vec<Block>,
}

impl<'a> ChunkHead<'a> {
    pub fn read(bytes: &'a [u8], budget: &mut ImportBudget) -> Result<ChunkHead<'a>, ChunkFault> {
        let mut nbt = NbtCursor::new(bytes);
        nbt.root()?;
        let mut found = Found::default();
        found.read(&mut nbt, true, budget)?;
        let [Some(x), Some(z)] = found.position else {
            return ChunkFault::damaged("it does not say where it is");
        };
        let step = found.status.strip_prefix(b"minecraft:").unwrap_or(found.status);
        let is_generated = !EARLY_STEPS.contains(&step);
        let Found { is_old, sections, .. } = found;
        Ok(ChunkHead { position: [x, z], is_generated, is_old, sections })
    }
}

/// Entries of a chunk: at its top, or until 1.17 in the compound `Level`.
#[derive(Default)]
struct Found<'a> {
    position: [Option<i32>; 2],
    status: &'a [u8],
    is_old: bool,
    sections: Option<NbtCursor<'a>>,
}

impl<'a> Found<'a> {
    fn read(
        &mut self,
        nbt: &mut NbtCursor<'a>,
        is_top: bool,
        budget: &mut ImportBudget,
    ) -> Result<(), ChunkFault> {
        while let Some((tag, name)) = nbt.entry()? {
            match (name, tag) {
                (b"xPos", Tag::Int) => self.position[0] = Some(nbt.integer(tag)? as i32),
                (b"zPos", Tag::Int) => self.position[1] = Some(nbt.integer(tag)? as i32),
                (b"Status", Tag::Text) => self.status = nbt.text()?,
                (b"sections" | b"Sections", Tag::List) => {
                    self.sections = Some(*nbt);
                    self.is_old = skip_sections(nbt, budget)?;
                }
                (b"Level", Tag::Compound) if is_top => self.read(nbt, false, budget)?,
                _ => nbt.skip(tag, budget)?,
            }
        }
        Ok(())
    }
}

/// Passes over a list of sections. Returns whether one of them has blocks by number.
fn skip_sections(nbt: &mut NbtCursor<'_>, budget: &mut ImportBudget) -> Result<bool, ChunkFault> {
    let mut sections = *nbt;
    let (tag, count) = sections.list()?;
    if tag != Tag::Compound {
        nbt.skip(Tag::List, budget)?;
        return Ok(false);
    }
    *nbt = sections;
    let mut is_old = false;
    for _ in 0..count {
        while let Some((tag, name)) = nbt.entry()? {
            is_old |= name == b"Blocks" && tag == Tag::Bytes;
            nbt.skip(tag, budget)?;
        }
    }
    Ok(is_old)
}

/// What is found in a section.
#[derive(Default)]
struct Section<'a> {
    y: Option<i8>,
    has_palette: bool,
    indices: Option<&'a [[u8; 8]]>,
}

impl<'t> BlockReader<'t> {
    pub fn new(table: &'t BlockTable) -> BlockReader<'t> {
        BlockReader { table, known: KnownBlocks::new(), palette: Vec::new() }
    }

    /// Places the blocks of a chunk that is not [old](ChunkHead::is_old), the one at `at` of 2 × 2.
    pub fn place(
        &mut self,
        chunk: &ChunkHead<'_>,
        at: [u8; 2],
        columns: &mut Columns,
        budget: &mut ImportBudget,
    ) -> Result<(), ChunkFault> {
        let Some(mut nbt) = chunk.sections else { return Ok(()) };
        let mut is_there = [false; 256];
        let (tag, count) = nbt.list()?;
        if tag != Tag::Compound {
            return match count {
                0 => Ok(()),
                _ => ChunkFault::damaged("its sections are of another type"),
            };
        }
        for _ in 0..count {
            let mut section = Section::default();
            self.palette.clear();
            self.section(&mut section, &mut nbt, true, budget)?;
            // Others hold light.
            let (Some(y), true) = (section.y, section.has_palette) else { continue };
            let is_there = &mut is_there[usize::from(y.cast_unsigned())];
            if std::mem::replace(is_there, true) {
                return ChunkFault::damaged(format!("section {y} is there twice"));
            }
            self.place_section(&section, y, at, columns, budget)?;
        }
        Ok(())
    }

    /// Reads the entries of a section, and from 1.18 on of its compound `block_states`.
    fn section<'a>(
        &mut self,
        section: &mut Section<'a>,
        nbt: &mut NbtCursor<'a>,
        is_top: bool,
        budget: &mut ImportBudget,
    ) -> Result<(), ChunkFault> {
        while let Some((tag, name)) = nbt.entry()? {
            match (name, tag) {
                (b"Y", Tag::Byte | Tag::Int) => {
                    let y = nbt.integer(tag)?;
                    let Ok(y) = i8::try_from(y) else {
                        return ChunkFault::damaged(format!("a section is at height {y}"));
                    };
                    section.y = Some(y);
                }
                (b"Palette" | b"palette", Tag::List) => {
                    section.has_palette = true;
                    self.read_palette(nbt, budget)?;
                }
                (b"BlockStates" | b"data", Tag::Longs) => section.indices = Some(nbt.longs()?),
                (b"block_states", Tag::Compound) if is_top => {
                    self.section(section, nbt, false, budget)?;
                }
                _ => nbt.skip(tag, budget)?,
            }
        }
        Ok(())
    }

    fn read_palette(
        &mut self,
        nbt: &mut NbtCursor<'_>,
        budget: &mut ImportBudget,
    ) -> Result<(), ChunkFault> {
        let (tag, count) = nbt.list()?;
        if count as usize > SECTION_BLOCKS || (count > 0 && tag != Tag::Compound) {
            return ChunkFault::damaged(format!("a palette has {count} entries of type {tag:?}"));
        }
        self.palette.clear();
        for _ in 0..count {
            let (mut name, mut state) = (None, BlockState::default());
            while let Some((tag, entry)) = nbt.entry()? {
                match (entry, tag) {
                    (b"Name", Tag::Text) => name = Some(nbt.text()?),
                    (b"Properties", Tag::Compound) => state = read_state(nbt, budget)?,
                    _ => nbt.skip(tag, budget)?,
                }
            }
            let Some(name) = name else {
                return ChunkFault::damaged("a block has no name");
            };
            let block = self.block(name, state, budget)?;
            self.palette.push(block);
        }
        Ok(())
    }

    fn block(
        &mut self,
        name: &[u8],
        state: BlockState,
        budget: &mut ImportBudget,
    ) -> Result<Block, ChunkFault> {
        let is_plain = name.len() <= MAX_NAME_BYTES && name.iter().all(u8::is_ascii_graphic);
        let Some(name) = str::from_utf8(name).ok().filter(|_| is_plain) else {
            return ChunkFault::damaged("the name of a block is too long, or has other characters");
        };
        if let Some(known) = self.known.get(name) {
            return Ok(known.in_state(state));
        }
        budget.spend_memory("its palettes", NAME_BYTES + 2 * name.len() as u64)?;
        budget.spend_work("its palettes", self.table.find_work(name.len()))?;
        let known = self.table.find(name);
        self.known.insert(name.to_owned(), known);
        Ok(known.in_state(state))
    }

    fn place_section(
        &self,
        section: &Section<'_>,
        y: i8,
        at: [u8; 2],
        columns: &mut Columns,
        budget: &mut ImportBudget,
    ) -> Result<(), ChunkFault> {
        let palette = &self.palette[..];
        let Some(&first) = palette.first() else {
            return ChunkFault::damaged(format!("the palette of section {y} is empty"));
        };
        let words = section.indices.unwrap_or(&[]);
        if palette.len() == 1 && (words.is_empty() || words.iter().all(|word| *word == [0; 8])) {
            if first == Block::default() {
                return Ok(());
            }
            return columns.place(at, y, |_| Ok(first), budget);
        }
        let packing = IndexPacking::of(palette.len(), words.len()).ok_or_else(|| {
            let (count, words) = (palette.len(), words.len());
            ChunkFault::Damaged(format!(
                "the blocks of section {y} take {words} numbers for a palette of {count}"
            ))
        })?;
        let block = |i| {
            let index = packing.index(words, i);
            palette.get(index).copied().ok_or_else(|| {
                let count = palette.len();
                ChunkFault::Damaged(format!("block {index} of a palette of {count} in section {y}"))
            })
        };
        columns.place(at, y, block, budget)
    }
}

fn read_state(
    nbt: &mut NbtCursor<'_>,
    budget: &mut ImportBudget,
) -> Result<BlockState, ChunkFault> {
    let mut state = BlockState::default();
    while let Some((tag, name)) = nbt.entry()? {
        if tag != Tag::Text {
            nbt.skip(tag, budget)?;
            continue;
        }
        let value = nbt.text()?;
        let number = || str::from_utf8(value).ok()?.parse::<u8>().ok().map(u32::from);
        match name {
            b"waterlogged" => state.is_waterlogged = value == b"true",
            b"type" => {
                (state.is_double, state.is_half) =
                    (value == b"double", value == b"bottom" || value == b"top")
            }
            b"layers" => state.layers = number(),
            b"level" => state.level = number(),
            _ => {}
        }
    }
    Ok(state)
}

/// How indices lie in numbers of 64 bits, the first at the lowest bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct IndexPacking {
    bits: usize,
    /// Whether an index may begin in one number and end in the next, as until 1.15.
    spans: bool,
}

impl IndexPacking {
    /// The packing of so many indices. Where both take equally many numbers, they are the same.
    fn of(palette: usize, words: usize) -> Option<IndexPacking> {
        let needed = palette.next_power_of_two().trailing_zeros() as usize;
        let bits = needed.max(MIN_BITS);
        let whole = SECTION_BLOCKS.div_ceil(64 / bits);
        let spanning = SECTION_BLOCKS * bits / 64;
        let is_known = words == whole || words == spanning;
        is_known.then_some(IndexPacking { bits, spans: words != whole })
    }

    fn index(self, words: &[[u8; 8]], i: usize) -> usize {
        let word = |at: usize| words.get(at).map_or(0, |word| u64::from_be_bytes(*word));
        let mask = (1 << self.bits) - 1;
        if !self.spans {
            let each = 64 / self.bits;
            return (word(i / each) >> (self.bits * (i % each)) & mask) as usize;
        }
        let (at, shift) = (i * self.bits / 64, i * self.bits % 64);
        let both = u128::from(word(at)) | u128::from(word(at + 1)) << 64;
        ((both >> shift) as u64 & mask) as usize
    }
}
