//! Run-length code in bits: for messages of small boxes.
//!
//! Runs are those of [`Rle`](super::Rle), in the order of the box and of any length. The first bits
//! of a box tell its form: `0` runs, `10` one run that fills the box, `11` runs of which some hold
//! water. Then each run is, lowest bits first:
//!
//! ```text
//! material    0, 10, 110, 1110: one of the four last used, the last one first; 1111 and 8 bits: any
//!             other. After air the first of the four, air, is left out. A box begins with 0, 1, 2, 3
//! wet         1 bit, in the form `11`, if the material is solid
//! partial     1 bit, if it is not air; left out, and 1, if a dry run follows a full dry run of the
//!             same material
//! occupancy   8 bits, if it is partial
//! water       8 bits, if it is wet: stored water; the run is one cell
//! count       else cells − 1 by an exponential Golomb code, of order 0 if it is partial, else 2;
//!             left out in the form `10`
//! ```
//!
//! Zeros fill the last byte. Each box has one code: the decoder refuses all others, so equal bytes
//! are equal cells.
//!
//! Sources: Roblox's "Voxel Terrain: Storage" (2017) packs its runs into bits for replication, and
//! does not tell how; exponential Golomb codes are those of J. Teuhola, "A compression method for
//! clustered bit-vectors" (1978).

use super::bit_stream::{BitReader, BitWriter};
use super::encode::run_length;
use super::rle::{DecodeError, DecodeErrorKind};
use crate::voxel::{AIR, Cell, DenseBox, Kind};

/// Materials that have a short code.
const RECENT: usize = 4;

/// Orders of the codes of counts: most partial runs are one cell.
const PARTIAL_ORDER: u32 = 0;
const FULL_ORDER: u32 = 2;

/// The coder of boxes in messages. It needs to know which materials are solid: only these hold
/// water.
///
/// ```
/// use terravox::codec::BitRle;
/// use terravox::voxel::{DenseBox, MaterialTable, Region};
///
/// let materials = MaterialTable::default();
/// let coder = BitRle { kinds: materials.kinds() };
/// let mut cells = DenseBox::new(Region::new([0, 0, 0], [16, 16, 16]));
/// cells.fill(8);
/// let mut bytes = Vec::new();
/// coder.encode_box(&cells, &mut bytes);
/// assert_eq!(bytes.len(), 2);
///
/// let mut decoded = DenseBox::new(cells.region());
/// coder.decode_box(&bytes, &mut decoded)?;
/// assert!(decoded == cells);
/// # Ok::<(), terravox::codec::DecodeError>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct BitRle<'a> {
    /// Kinds of all material ids, as [`crate::voxel::MaterialTable::kinds`] gives them.
    pub kinds: &'a [Kind; 256],
}

/// A run, without its length.
#[derive(Clone, Copy, PartialEq)]
struct CodedCell {
    cell: Cell,
    water: Option<u8>,
}

impl CodedCell {
    fn is_partial(self) -> bool {
        self.cell.material != AIR && self.cell.occupancy != 255
    }

    fn is_dry(self) -> bool {
        self.water.is_none()
    }
}

/// What the code of a run depends on.
struct Context {
    /// The last materials, the last one first.
    recent: [u8; RECENT],
    previous: Option<CodedCell>,
    holds_water: bool,
}

impl Context {
    fn new(holds_water: bool) -> Context {
        Context { recent: [0, 1, 2, 3], previous: None, holds_water }
    }

    /// Number of short codes that no run can have here: after air comes something else.
    fn skipped(&self) -> usize {
        usize::from(self.previous.is_some_and(|run| run.cell.material == AIR))
    }

    /// Whether a dry run of `material` can only be partial here.
    fn implies_partial(&self, material: u8) -> bool {
        self.previous
            .is_some_and(|run| run.is_dry() && !run.is_partial() && run.cell.material == material)
    }

    fn note(&mut self, run: CodedCell) {
        let at = self.recent.iter().position(|&material| material == run.cell.material);
        self.recent[..=at.unwrap_or(RECENT - 1)].rotate_right(1);
        self.recent[0] = run.cell.material;
        self.previous = Some(run);
    }
}

impl BitRle<'_> {
    /// Maximum number of cells of a box.
    pub const MAX_CELLS: usize = 1 << 24;

    /// Appends the code of a box. Occupancy of air, and water of cells that are not solid, are left
    /// out.
    ///
    /// # Panics
    /// If the box has more than [`BitRle::MAX_CELLS`] cells.
    pub fn encode_box(self, cells: &DenseBox, out: &mut Vec<u8>) {
        let (materials, occupancies) = (cells.materials(), cells.occupancies());
        assert!(
            materials.len() <= BitRle::MAX_CELLS,
            "a box of {} cells; at most {} are coded at once",
            materials.len(),
            BitRle::MAX_CELLS
        );
        let is_wet = |&&(at, _): &&(u32, u8)| self.is_solid(materials[at as usize]);
        let mut wet = cells.water().iter().filter(is_wet).peekable();
        let mut bits = BitWriter::new(out);
        let mut context = Context::new(wet.peek().is_some());
        let is_uniform = !materials.is_empty()
            && !context.holds_water
            && run_length(materials, occupancies) == materials.len();
        put_form(&mut bits, is_uniform, context.holds_water);
        let mut at = 0;
        while at < materials.len() {
            let water = wet.next_if(|entry| entry.0 as usize == at).map(|entry| entry.1);
            let end = wet.peek().map_or(materials.len(), |entry| entry.0 as usize);
            let run = CodedCell { cell: Cell::new(materials[at], occupancies[at]), water };
            self.put_run(&mut bits, &context, run);
            let cells = match water {
                Some(_) => 1,
                None => run_length(&materials[at..end], &occupancies[at..end]),
            };
            if run.is_dry() && !is_uniform {
                bits.put_golomb(cells as u32 - 1, count_order(run));
            }
            context.note(run);
            at += cells;
        }
        bits.finish();
    }

    fn put_run(self, bits: &mut BitWriter<'_>, context: &Context, run: CodedCell) {
        let Cell { material, occupancy } = run.cell;
        let skipped = context.skipped();
        match context.recent.iter().position(|&recent| recent == material) {
            Some(place) => {
                let ones = (place - skipped) as u32;
                bits.put((1 << ones) - 1, ones + 1);
            }
            None => {
                let ones = (RECENT - skipped) as u32;
                bits.put((1 << ones) - 1, ones);
                bits.put(u32::from(material), 8);
            }
        }
        if context.holds_water && self.is_solid(material) {
            bits.put(u32::from(!run.is_dry()), 1);
        }
        if material == AIR {
            return;
        }
        if !(run.is_dry() && context.implies_partial(material)) {
            bits.put(u32::from(run.is_partial()), 1);
        }
        if run.is_partial() {
            bits.put(u32::from(occupancy), 8);
        }
        if let Some(water) = run.water {
            bits.put(u32::from(water), 8);
        }
    }

    /// Fills all cells of a box, as large as it is, from the code at the start of `bytes`, and
    /// returns how many bytes it took. Safe for untrusted input: any bytes return cells or an
    /// error. Takes no memory but for water, of which there is at most 8 bytes for every 9 bits.
    ///
    /// # Errors
    /// If the bytes end early, a run does not fit what is left of the box, or the code is not the
    /// one of these cells. The box then has unspecified cells.
    ///
    /// # Panics
    /// If the box has more than [`BitRle::MAX_CELLS`] cells.
    pub fn decode_box(self, bytes: &[u8], cells: &mut DenseBox) -> Result<usize, DecodeError> {
        let mut water = std::mem::take(cells.water_mut());
        water.clear();
        let (materials, occupancies) = cells.arrays_mut();
        let read = self.decode(bytes, materials, occupancies, &mut water);
        *cells.water_mut() = water;
        read
    }

    fn decode(
        self,
        bytes: &[u8],
        materials: &mut [u8],
        occupancies: &mut [u8],
        water: &mut Vec<(u32, u8)>,
    ) -> Result<usize, DecodeError> {
        let length = materials.len();
        assert!(length <= BitRle::MAX_CELLS, "a box of {length} cells");
        let mut bits = BitReader::new(bytes);
        let (is_uniform, holds_water) = take_form(&mut bits);
        let mut context = Context::new(holds_water);
        let mut at = 0;
        while at < length {
            let offset = bits.at / 8;
            let fail = |kind| DecodeError { offset, cell: at, kind };
            let run = self.take_run(&mut bits, &context);
            let left = length - at;
            let cells = match run {
                Ok(CodedCell { water: Some(_), .. }) => Some(1),
                _ if is_uniform => Some(left),
                Ok(run) => bits.take_golomb(count_order(run)).map(|cells| cells as usize + 1),
                Err(_) => Some(0),
            };
            if bits.is_over() {
                return Err(fail(DecodeErrorKind::Truncated { missing: left }));
            }
            let run = run.map_err(|what| fail(DecodeErrorKind::NotCanonical(what)))?;
            let cells = cells.unwrap_or(2 * BitRle::MAX_CELLS);
            if cells > left {
                return Err(fail(DecodeErrorKind::RunTooLong { run: cells, left }));
            }
            if let Some(stored) = run.water {
                water.push((at as u32, stored));
            }
            materials[at..at + cells].fill(run.cell.material);
            occupancies[at..at + cells].fill(run.cell.occupancy);
            if cells == length && run.is_dry() && !is_uniform {
                return Err(fail(DecodeErrorKind::NotCanonical("one run fills the box")));
            }
            context.note(run);
            at += cells;
        }
        let fail = |what| {
            let kind = DecodeErrorKind::NotCanonical(what);
            DecodeError { offset: bytes.len(), cell: length, kind }
        };
        if bits.is_over() {
            let kind = DecodeErrorKind::Truncated { missing: length };
            return Err(DecodeError { kind, ..fail("") });
        }
        if holds_water && water.is_empty() || is_uniform && length == 0 {
            return Err(fail("the form of the box is not that of its cells"));
        }
        bits.finish().ok_or_else(|| fail("bits behind the last run are set"))
    }

    /// Takes a run without its length, or says why no encoder writes it.
    #[inline]
    fn take_run(
        self,
        bits: &mut BitReader<'_>,
        context: &Context,
    ) -> Result<CodedCell, &'static str> {
        let skipped = context.skipped();
        let place = bits.take_ones((RECENT - skipped) as u32) as usize + skipped;
        let material = match context.recent.get(place) {
            Some(&material) => material,
            None => bits.take(8) as u8,
        };
        if place == RECENT && context.recent.contains(&material) {
            return Err("a material of the last four is written out");
        }
        let is_wet = context.holds_water && self.is_solid(material) && bits.take(1) == 1;
        if material == AIR {
            return Ok(CodedCell { cell: Cell::AIR, water: None });
        }
        let is_implied = !is_wet && context.implies_partial(material);
        let is_partial = is_implied || bits.take(1) == 1;
        let occupancy = if is_partial { bits.take(8) as u8 } else { 255 };
        let water = is_wet.then(|| bits.take(8) as u8);
        let run = CodedCell { cell: Cell { material, occupancy }, water };
        if is_partial && occupancy == 255 {
            return Err("a full occupancy is written out");
        }
        if !is_wet && context.previous == Some(run) {
            return Err("two runs of the same cells");
        }
        Ok(run)
    }

    fn is_solid(self, material: u8) -> bool {
        self.kinds[usize::from(material)] == Kind::Solid
    }
}

fn count_order(run: CodedCell) -> u32 {
    if run.is_partial() { PARTIAL_ORDER } else { FULL_ORDER }
}

fn put_form(bits: &mut BitWriter<'_>, is_uniform: bool, holds_water: bool) {
    bits.put(u32::from(is_uniform || holds_water), 1);
    if is_uniform || holds_water {
        bits.put(u32::from(holds_water), 1);
    }
}

fn take_form(bits: &mut BitReader<'_>) -> (bool, bool) {
    let has_form = bits.take(1) == 1;
    let holds_water = has_form && bits.take(1) == 1;
    (has_form && !holds_water, holds_water)
}
