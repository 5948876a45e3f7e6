//! Heights from arrays of NumPy: `.npy`, and the largest one of two dimensions in an `.npz`.
//!
//! Source: "numpy.lib.format", versions 1.0 to 3.0; "APPNOTE.TXT, .ZIP File Format Specification" (PKWARE).

use super::error::HeightmapError;
use super::grid_heights::{GridHeights, gathered, spend_grid};
use super::heights::check_size;
use crate::import_budget::ImportBudget;
use crate::inflate::{DeflateFormat, InflateError, Inflater};
use flate2::Crc;

/// First bytes of a `.npy`.
pub(super) const NPY_MAGIC: &[u8] = b"\x93NUMPY";
/// First bytes of a `.npz`, which is a ZIP.
pub(super) const ZIP_MAGIC: &[u8] = b"PK\x03\x04";
/// Longest header of an array.
const MAX_HEADER_BYTES: usize = 1 << 16;
/// Bytes of elements that are read at a time.
const STEP_BYTES: usize = 1 << 16;
/// Units of work of an unpacked byte.
const BYTE_WORK: u64 = 8;
/// Units of work to look at a file of a ZIP: its header is unpacked, and what inflating needs is set up.
/// The blocks of the header come on top.
const MEMBER_WORK: u64 = 1 << 17;
/// Memory of unpacking, and of the list of files.
const STATE_BYTES: u64 = 1 << 18;
/// Bytes of the end of a ZIP, and of an entry of its directory, without names.
const END_BYTES: usize = 22;
const ENTRY_BYTES: usize = 46;
/// Longest comment of a ZIP.
const MAX_COMMENT_BYTES: usize = 65_535;

fn wrong<T>(what: impl Into<String>) -> Result<T, HeightmapError> {
    Err(HeightmapError::Grid(what.into()))
}

/// What an element is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Float,
    Signed,
    Unsigned,
}

/// The header of an array of two dimensions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct ArrayHeader {
    kind: Kind,
    bytes: usize,
    is_big_endian: bool,
    is_fortran: bool,
    rows: u64,
    columns: u64,
}

/// Reads an array.
pub(super) fn read_npy(
    bytes: &[u8],
    budget: &mut ImportBudget,
) -> Result<GridHeights, HeightmapError> {
    budget.spend_memory("its header", STATE_BYTES)?;
    let mut reader = MemberReader::new(MemberBytes::Stored(bytes));
    match ArrayHeader::read(&mut reader, budget)? {
        Ok(header) => header.heights(&mut reader, budget),
        Err(what) => wrong(what),
    }
}

/// Reads the array of two dimensions with the most elements; of equal ones the first.
pub(super) fn read_npz(
    bytes: &[u8],
    budget: &mut ImportBudget,
) -> Result<GridHeights, HeightmapError> {
    budget.spend_memory("its files", STATE_BYTES)?;
    let mut best: Option<(ArrayHeader, Member<'_>)> = None;
    let (mut unfit, mut claimed) = (None, 0);
    for member in members(bytes)? {
        budget.spend_work("its files", MEMBER_WORK)?;
        let Some(member) = member? else { continue };
        claimed += member.bytes.len();
        if claimed > bytes.len() {
            return wrong(
                "files of the ZIP share bytes, which no program writes; write it anew with \
                 numpy.savez_compressed",
            );
        }
        match ArrayHeader::read(&mut member.reader(), budget)? {
            Ok(header) => {
                let samples = |header: &ArrayHeader| header.rows.saturating_mul(header.columns);
                if best.as_ref().is_none_or(|(known, _)| samples(&header) > samples(known)) {
                    best = Some((header, member));
                }
            }
            Err(what) => unfit = unfit.or(Some(what)),
        }
    }
    let Some((header, member)) = best else {
        let what = unfit.map_or(String::new(), |what| format!("; the first: {what}"));
        return wrong(format!("it holds no array of two dimensions with numbers{what}"));
    };
    let mut reader = member.reader();
    let again = ArrayHeader::read(&mut reader, budget)?;
    assert_eq!(again.as_ref(), Ok(&header), "the same bytes");
    let heights = header.heights(&mut reader, budget)?;
    reader.check_to_end(member.crc, budget)?;
    Ok(heights)
}

impl ArrayHeader {
    /// Reads a header; the inner error says why the array cannot be heights.
    fn read(
        from: &mut MemberReader<'_>,
        budget: &mut ImportBudget,
    ) -> Result<Result<ArrayHeader, String>, HeightmapError> {
        let cut = |error| match error {
            InflateError::Damaged => {
                HeightmapError::Grid("the header of an array is cut short".to_owned())
            }
            InflateError::OverBudget(error) => error.into(),
        };
        let mut start = [0; 8];
        from.read_exact(&mut start, budget).map_err(cut)?;
        if !start.starts_with(NPY_MAGIC) {
            return wrong("a file in it is no array of NumPy");
        }
        let length = match start[6] {
            1 => {
                let mut length = [0; 2];
                from.read_exact(&mut length, budget).map_err(cut)?;
                u16::from_le_bytes(length).into()
            }
            2 | 3 => {
                let mut length = [0; 4];
                from.read_exact(&mut length, budget).map_err(cut)?;
                u32::from_le_bytes(length) as usize
            }
            version => return wrong(format!("version {version} of an array is not known")),
        };
        if length > MAX_HEADER_BYTES {
            return wrong(format!("the header of an array has {length} bytes, at most 65536"));
        }
        let mut text = vec![0; length];
        from.read_exact(&mut text, budget).map_err(cut)?;
        Ok(ArrayHeader::parse(&String::from_utf8_lossy(&text)))
    }

    /// Parses what Python prints of a dictionary with `descr`, `fortran_order` and `shape`.
    fn parse(text: &str) -> Result<ArrayHeader, String> {
        let value = |key: &str| {
            let (_, rest) = text.split_once(&format!("'{key}':"))?;
            Some(rest.trim_start())
        };
        let missing = |key: &str| format!("the header of an array has no {key}");
        let name = value("descr").ok_or_else(|| missing("descr"))?;
        let name = name.strip_prefix('\'').and_then(|rest| rest.split_once('\''));
        let name = name.map(|(name, _)| name).ok_or("its elements are records")?;
        let order = value("fortran_order").ok_or_else(|| missing("fortran_order"))?;
        let shape = value("shape").ok_or_else(|| missing("shape"))?;
        let shape = shape.strip_prefix('(').and_then(|rest| rest.split_once(')'));
        let (shape, _) = shape.ok_or_else(|| missing("shape"))?;
        let sizes = shape.split(',').map(str::trim).filter(|size| !size.is_empty());
        let sizes: Vec<Option<u64>> = sizes.take(3).map(|size| size.parse().ok()).collect();
        let [Some(rows), Some(columns)] = sizes[..] else {
            let short: String = shape.chars().filter(|c| !c.is_control()).take(40).collect();
            return Err(format!("an array of shape ({short}) is no map; it needs two dimensions"));
        };
        let (is_big_endian, kind) = match name.split_at_checked(1) {
            Some((">", kind)) => (true, kind),
            Some(("<" | "|" | "=", kind)) => (false, kind),
            _ => (false, name),
        };
        let (kind, bytes) = match kind {
            "f4" => (Kind::Float, 4),
            "f8" => (Kind::Float, 8),
            "i1" => (Kind::Signed, 1),
            "i2" => (Kind::Signed, 2),
            "i4" => (Kind::Signed, 4),
            "u1" => (Kind::Unsigned, 1),
            "u2" => (Kind::Unsigned, 2),
            "u4" => (Kind::Unsigned, 4),
            _ => {
                let short: String = name.chars().filter(|c| !c.is_control()).take(20).collect();
                return Err(format!(
                    "elements of type {short} are not read; integers of 8 to 32 bits and floats of 32 \
                     and 64 are"
                ));
            }
        };
        let is_fortran = order.starts_with("True");
        Ok(ArrayHeader { kind, bytes, is_big_endian, is_fortran, rows, columns })
    }

    /// Reads the elements, which follow the header.
    fn heights(
        self,
        from: &mut MemberReader<'_>,
        budget: &mut ImportBudget,
    ) -> Result<GridHeights, HeightmapError> {
        let ArrayHeader { rows, columns, bytes, .. } = self;
        check_size(columns, rows)?;
        let samples = rows * columns;
        spend_grid(samples, budget)?;
        budget.spend_work("its elements", BYTE_WORK * samples * bytes as u64)?;
        let mut values = vec![f32::NAN; samples as usize];
        let mut step = vec![0; STEP_BYTES];
        let mut done = 0;
        while done < values.len() {
            let count = (STEP_BYTES / bytes).min(values.len() - done);
            let part = &mut step[..count * bytes];
            from.read_exact(part, budget).map_err(|error| match error {
                InflateError::Damaged => {
                    let wanted = samples * bytes as u64;
                    HeightmapError::Grid(format!(
                        "its elements are cut short or damaged; it needs {wanted} bytes"
                    ))
                }
                InflateError::OverBudget(error) => error.into(),
            })?;
            for (i, element) in (done..).zip(part.chunks_exact(bytes)) {
                let to = match self.is_fortran {
                    true => i / rows as usize + i % rows as usize * columns as usize,
                    false => i,
                };
                values[to] = self.number(element);
            }
            done += count;
        }
        gathered([columns as usize, rows as usize], values)
    }

    fn number(self, element: &[u8]) -> f32 {
        let mut word = [0; 8];
        for (i, byte) in element.iter().enumerate() {
            word[if self.is_big_endian { self.bytes - 1 - i } else { i }] = *byte;
        }
        let bits = u64::from_le_bytes(word);
        let unused = 64 - 8 * self.bytes as u32;
        match (self.kind, self.bytes) {
            (Kind::Float, 4) => f32::from_bits(bits as u32),
            (Kind::Float, _) => f64::from_bits(bits) as f32,
            (Kind::Signed, _) => ((bits << unused) as i64 >> unused) as f32,
            (Kind::Unsigned, _) => bits as f32,
        }
    }
}

/// A file in a ZIP.
#[derive(Clone, Copy)]
struct Member<'a> {
    bytes: &'a [u8],
    is_deflated: bool,
    /// CRC-32 of what is unpacked, as the directory says.
    crc: u32,
}

/// The bytes of a file, unpacked as they are read.
struct MemberReader<'a> {
    bytes: MemberBytes<'a>,
    /// Of what was read.
    crc: Crc,
}

enum MemberBytes<'a> {
    Stored(&'a [u8]),
    Deflated(Box<Inflater<'a>>),
}

impl<'a> MemberReader<'a> {
    fn new(bytes: MemberBytes<'a>) -> MemberReader<'a> {
        MemberReader { bytes, crc: Crc::new() }
    }

    /// Fills `out`; it is an error if there are fewer bytes.
    fn read_exact(
        &mut self,
        out: &mut [u8],
        budget: &mut ImportBudget,
    ) -> Result<(), InflateError> {
        match &mut self.bytes {
            MemberBytes::Stored(bytes) => {
                let (taken, rest) =
                    bytes.split_at_checked(out.len()).ok_or(InflateError::Damaged)?;
                out.copy_from_slice(taken);
                *bytes = rest;
            }
            MemberBytes::Deflated(inflater) => inflater.read_exact(out, budget)?,
        }
        self.crc.update(out);
        Ok(())
    }

    /// Reads the rest, and compares the CRC-32 of all bytes.
    fn check_to_end(
        mut self,
        wanted: u32,
        budget: &mut ImportBudget,
    ) -> Result<(), HeightmapError> {
        let damaged = || {
            let what = "the CRC-32 of its array is wrong; the file is damaged, get another copy";
            HeightmapError::Grid(what.to_owned())
        };
        match self.bytes {
            MemberBytes::Stored(rest) => {
                budget.spend_work("its elements", BYTE_WORK * rest.len() as u64)?;
                self.crc.update(rest);
            }
            MemberBytes::Deflated(mut inflater) => {
                let mut step = vec![0; STEP_BYTES];
                loop {
                    let read = inflater.read(&mut step, budget).map_err(|error| match error {
                        InflateError::Damaged => damaged(),
                        InflateError::OverBudget(error) => error.into(),
                    });
                    let count = read?;
                    if count == 0 {
                        break;
                    }
                    budget.spend_work("its elements", BYTE_WORK * count as u64)?;
                    self.crc.update(&step[..count]);
                }
            }
        }
        if self.crc.sum() == wanted { Ok(()) } else { Err(damaged()) }
    }
}

impl<'a> Member<'a> {
    fn reader(&self) -> MemberReader<'a> {
        MemberReader::new(match self.is_deflated {
            true => MemberBytes::Deflated(Box::new(Inflater::new(self.bytes, DeflateFormat::Raw))),
            false => MemberBytes::Stored(self.bytes),
        })
    }
}

fn short_at(bytes: &[u8], at: usize) -> Option<usize> {
    bytes.get(at..)?.first_chunk().map(|v| u16::from_le_bytes(*v).into())
}

fn long_at(bytes: &[u8], at: usize) -> Option<usize> {
    bytes.get(at..)?.first_chunk().map(|v| u32::from_le_bytes(*v) as usize)
}

/// The files named `.npy` in a ZIP, by its directory; `None` for other files.
fn members(
    file: &[u8],
) -> Result<impl Iterator<Item = Result<Option<Member<'_>>, HeightmapError>>, HeightmapError> {
    let first = file.len().saturating_sub(END_BYTES + MAX_COMMENT_BYTES);
    let end = (first..file.len()).rev().find(|at| file[*at..].starts_with(b"PK\x05\x06"));
    let directory = end.and_then(|at| Some((short_at(file, at + 10)?, long_at(file, at + 16)?)));
    let Some((count, mut at)) = directory else {
        return wrong(
            "the directory of the ZIP is missing; the file is cut short, get another copy",
        );
    };
    Ok((0..count).map(move |_| {
        let damaged = || {
            let what = "the directory of the ZIP is damaged, or of a ZIP of more than 4 GB";
            HeightmapError::Grid(what.to_owned())
        };
        let entry = file.get(at..).filter(|entry| entry.starts_with(b"PK\x01\x02"));
        let (entry, next) = entry.and_then(|entry| Member::of(file, entry)).ok_or_else(damaged)?;
        at += next;
        Ok(entry)
    }))
}

impl<'a> Member<'a> {
    /// The file of an entry, and the length of the entry.
    fn of(file: &'a [u8], entry: &[u8]) -> Option<(Option<Member<'a>>, usize)> {
        let [flags, method, name, extra, comment] =
            [8, 10, 28, 30, 32].map(|at| short_at(entry, at));
        let (crc, length, place) = (long_at(entry, 16)?, long_at(entry, 20)?, long_at(entry, 42)?);
        let length_of_entry = ENTRY_BYTES + name? + extra? + comment?;
        let name = entry.get(ENTRY_BYTES..ENTRY_BYTES + name?)?;
        let is_readable = flags? & 1 == 0 && matches!(method?, 0 | 8);
        if !name.ends_with(b".npy") || !is_readable {
            return Some((None, length_of_entry));
        }
        let local = file.get(place..).filter(|local| local.starts_with(ZIP_MAGIC))?;
        let start = place + 30 + short_at(local, 26)? + short_at(local, 28)?;
        let bytes = file.get(start..start.checked_add(length)?)?;
        let member = Member { bytes, is_deflated: method? == 8, crc: crc as u32 };
        Some((Some(member), length_of_entry))
    }
}
