//! The header of a PLY file: its coding, and the properties of its elements.

use super::error::{MeshError, shown};
use super::text::{number, words};
use crate::import_budget::ImportBudget;

/// First bytes of a file.
pub(super) const MAGIC: &[u8] = b"ply";

/// Memory of an element or a property, while their lists grow.
const ENTRY_BYTES: u64 = 192;

/// How values are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PlyCoding {
    Text,
    LittleEndian,
    BigEndian,
}

/// The type of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PlyScalar {
    I8,
    U8,
    I16,
    U16,
    I32,
    U32,
    F32,
    F64,
}

/// A property of an element: a value, or a list of them.
#[derive(Debug)]
pub(super) struct PlyProperty<'a> {
    pub name: &'a [u8],
    pub scalar: PlyScalar,
    /// Type of the number of values, if it is a list.
    pub counted_by: Option<PlyScalar>,
}

/// Elements of one kind.
#[derive(Debug)]
pub(super) struct PlyElement<'a> {
    pub name: &'a [u8],
    pub count: u64,
    pub properties: Vec<PlyProperty<'a>>,
}

/// A header.
#[derive(Debug)]
pub(super) struct PlyHeader<'a> {
    pub coding: PlyCoding,
    pub elements: Vec<PlyElement<'a>>,
    /// Offset of the first value.
    pub data: usize,
}

impl PlyScalar {
    /// The type of a name, of 1994 or of later programs.
    fn of(name: &[u8]) -> Option<PlyScalar> {
        Some(match name {
            b"char" | b"int8" => PlyScalar::I8,
            b"uchar" | b"uint8" => PlyScalar::U8,
            b"short" | b"int16" => PlyScalar::I16,
            b"ushort" | b"uint16" => PlyScalar::U16,
            b"int" | b"int32" => PlyScalar::I32,
            b"uint" | b"uint32" => PlyScalar::U32,
            b"float" | b"float32" => PlyScalar::F32,
            b"double" | b"float64" => PlyScalar::F64,
            _ => return None,
        })
    }

    /// Bytes of a value.
    pub fn bytes(self) -> usize {
        match self {
            PlyScalar::I8 | PlyScalar::U8 => 1,
            PlyScalar::I16 | PlyScalar::U16 => 2,
            PlyScalar::I32 | PlyScalar::U32 | PlyScalar::F32 => 4,
            PlyScalar::F64 => 8,
        }
    }

    /// The value of [`PlyScalar::bytes`] bytes.
    pub fn value(self, bytes: &[u8], is_big_endian: bool) -> f64 {
        let mut little = [0; 8];
        let own = &mut little[..bytes.len().min(8)];
        own.copy_from_slice(&bytes[..own.len()]);
        if is_big_endian {
            own.reverse();
        }
        let [a, b, c, d, ..] = little;
        match self {
            PlyScalar::I8 => f64::from(a as i8),
            PlyScalar::U8 => f64::from(a),
            PlyScalar::I16 => f64::from(i16::from_le_bytes([a, b])),
            PlyScalar::U16 => f64::from(u16::from_le_bytes([a, b])),
            PlyScalar::I32 => f64::from(i32::from_le_bytes([a, b, c, d])),
            PlyScalar::U32 => f64::from(u32::from_le_bytes([a, b, c, d])),
            PlyScalar::F32 => f64::from(f32::from_le_bytes([a, b, c, d])),
            PlyScalar::F64 => f64::from_le_bytes(little),
        }
    }
}

impl<'a> PlyHeader<'a> {
    /// Reads the header of a file.
    pub fn read(bytes: &'a [u8], budget: &mut ImportBudget) -> Result<PlyHeader<'a>, MeshError> {
        let (mut coding, mut elements) = (None, Vec::<PlyElement<'_>>::new());
        let mut at = 0;
        for number in 1.. {
            let Some(length) = bytes[at..].iter().position(|byte| *byte == b'\n') else {
                return Err(MeshError::at_byte(bytes.len(), "the file ends within its header"));
            };
            let line = &bytes[at..at + length];
            at += length + 1;
            let wrong = || MeshError::in_line(number, format!("{} is invalid", shown(line)));
            let mut words = words(line);
            let first = words.next().unwrap_or_default();
            match first {
                b"end_header" => break,
                _ if number == 1 && first != MAGIC => return Err(wrong()),
                b"format" => coding = Some(coding_of(words.next()).ok_or_else(wrong)?),
                b"element" => {
                    budget.spend_memory("its header", ENTRY_BYTES)?;
                    let (name, count) = (words.next(), words.next().and_then(whole));
                    let (name, count) = name.zip(count).ok_or_else(wrong)?;
                    elements.push(PlyElement { name, count, properties: Vec::new() });
                }
                b"property" => {
                    budget.spend_memory("its header", ENTRY_BYTES)?;
                    let element = elements.last_mut().ok_or_else(wrong)?;
                    element.properties.push(property_of(&mut words).ok_or_else(wrong)?);
                }
                // The magic, comments, and what programs of others add.
                _ => {}
            }
        }
        let Some(coding) = coding else {
            return Err(MeshError::at_byte(at, "the header does not say the format"));
        };
        Ok(PlyHeader { coding, elements, data: at })
    }
}

fn whole(word: &[u8]) -> Option<u64> {
    number(word)
}

fn coding_of(word: Option<&[u8]>) -> Option<PlyCoding> {
    match word? {
        b"ascii" => Some(PlyCoding::Text),
        b"binary_little_endian" => Some(PlyCoding::LittleEndian),
        b"binary_big_endian" => Some(PlyCoding::BigEndian),
        _ => None,
    }
}

fn property_of<'a>(words: &mut impl Iterator<Item = &'a [u8]>) -> Option<PlyProperty<'a>> {
    let first = words.next()?;
    let counted_by = match first {
        b"list" => Some(PlyScalar::of(words.next()?)?),
        _ => None,
    };
    let scalar = match counted_by {
        Some(_) => PlyScalar::of(words.next()?)?,
        None => PlyScalar::of(first)?,
    };
    Some(PlyProperty { name: words.next()?, scalar, counted_by })
}
