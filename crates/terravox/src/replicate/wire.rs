//! Numbers as bytes: what messages are made of.
//!
//! Every number has one code; [`Input`] refuses all others, so equal bytes are equal messages.

use crate::voxel::{LIMIT, MipBlock, Region, VoxelPos};
use std::fmt;

/// Positions and lengths are short if they are multiples of 1/256 voxel.
const STEPS_PER_VOXEL: f64 = 256.0;

/// Maximum number of steps of a short number: 2³² voxels.
const MAX_STEPS: f64 = (1u64 << 40) as f64;

/// Why bytes are not a valid message, and where.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MessageError {
    /// Offset of the invalid data in the message.
    pub offset: usize,
    /// What is wrong with it.
    pub what: &'static str,
}

impl fmt::Display for MessageError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "message, byte {}: {}", self.offset, self.what)
    }
}

impl std::error::Error for MessageError {}

/// Appends a number, 7 bits a byte, lowest first.
pub(super) fn put_varint(mut value: u64, out: &mut Vec<u8>) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// Zigzag: small numbers of either sign are short.
pub(super) fn put_signed(value: i64, out: &mut Vec<u8>) {
    put_varint(((value << 1) ^ (value >> 63)) as u64, out);
}

/// Appends a multiple of 1/256 in a few bytes, any other number in nine.
pub(super) fn put_number(value: f64, out: &mut Vec<u8>) {
    match steps_of(value) {
        Some(steps) => put_varint((((steps << 1) ^ (steps >> 63)) as u64) << 1, out),
        None => {
            out.push(1);
            out.extend_from_slice(&value.to_le_bytes());
        }
    }
}

/// The number in steps of 1/256, if it is a multiple of that. Negative zero is not.
fn steps_of(value: f64) -> Option<i64> {
    let steps = value * STEPS_PER_VOXEL;
    let is_whole = steps.abs() <= MAX_STEPS && steps == steps.floor();
    (is_whole && !(value == 0.0 && value.is_sign_negative())).then_some(steps as i64)
}

/// Returns the nearest number that is short in a message.
pub(super) fn rounded(value: f64) -> f64 {
    let steps = (value * STEPS_PER_VOXEL).round();
    match steps.abs() <= MAX_STEPS {
        // Not negative zero.
        true => steps / STEPS_PER_VOXEL + 0.0,
        false => value,
    }
}

pub(super) fn put_bytes(bytes: &[u8], out: &mut Vec<u8>) {
    put_varint(bytes.len() as u64, out);
    out.extend_from_slice(bytes);
}

pub(super) fn put_block(block: MipBlock, out: &mut Vec<u8>) {
    out.push(block.mip);
    block.pos.to_array().iter().for_each(|&v| put_signed(i64::from(v), out));
}

/// Maximum size of a text in bytes.
pub(super) const MAX_TEXT: usize = 200;

pub(super) fn put_text(text: &str, out: &mut Vec<u8>) {
    let mut end = text.len().min(MAX_TEXT);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    put_bytes(&text.as_bytes()[..end], out);
}

pub(super) fn take_text(input: &mut Input<'_>) -> Result<String, MessageError> {
    let bytes = input.bytes(MAX_TEXT)?;
    match std::str::from_utf8(bytes) {
        Ok(text) => Ok(text.to_owned()),
        Err(_) => input.wrong("a text is not UTF-8"),
    }
}

/// A text for people, in one line.
pub(super) fn take_line(input: &mut Input<'_>) -> Result<String, MessageError> {
    Ok(printable(&take_text(input)?))
}

/// A text of another side as it may be printed: in one line, with spaces for control characters,
/// which could end it or change a terminal, and for characters that reverse the text around them or
/// are not seen (bidirectional marks, zero-width characters, separators of lines).
///
/// ```
/// use terravox::replicate::printable;
///
/// assert_eq!(printable("gone\n\u{202E}\u{1b}[2J"), "gone   [2J");
/// ```
pub fn printable(text: &str) -> String {
    let is_unseen = |c: char| {
        c.is_control()
            || matches!(c, '\u{AD}' | '\u{61C}' | '\u{180E}' | '\u{FEFF}' | '\u{FFF9}'..='\u{FFFB}')
            || matches!(c, '\u{200B}'..='\u{200F}' | '\u{2028}'..='\u{202E}' | '\u{2060}'..='\u{206F}')
            || matches!(c, '\u{E0000}'..='\u{E007F}')
    };
    text.chars().map(|c| if is_unseen(c) { ' ' } else { c }).collect()
}

/// Bytes that are read from the start.
#[derive(Clone)]
pub(super) struct Input<'a> {
    bytes: &'a [u8],
    offset: usize,
}

impl<'a> Input<'a> {
    pub fn new(bytes: &'a [u8]) -> Input<'a> {
        Input { bytes, offset: 0 }
    }

    pub fn wrong<T>(&self, what: &'static str) -> Result<T, MessageError> {
        Err(MessageError { offset: self.offset, what })
    }

    pub fn is_empty(&self) -> bool {
        self.offset == self.bytes.len()
    }

    /// How many bytes were read.
    pub fn offset(&self) -> usize {
        self.offset
    }

    /// What was read since an offset.
    pub fn since(&self, offset: usize) -> &'a [u8] {
        &self.bytes[offset..self.offset]
    }

    /// How many bytes are left.
    pub fn len(&self) -> usize {
        self.bytes.len() - self.offset
    }

    pub fn finish(&self) -> Result<(), MessageError> {
        match self.is_empty() {
            true => Ok(()),
            false => self.wrong("bytes follow the end of the message"),
        }
    }

    pub fn take(&mut self, count: usize) -> Result<&'a [u8], MessageError> {
        match self.bytes.get(self.offset..).and_then(|left| left.get(..count)) {
            Some(taken) => {
                self.offset += count;
                Ok(taken)
            }
            None => self.wrong("the message ends early"),
        }
    }

    /// Bytes that were not taken yet.
    pub fn left(&self) -> usize {
        self.bytes.len() - self.offset
    }

    pub fn rest(&mut self) -> &'a [u8] {
        let rest = &self.bytes[self.offset..];
        self.offset = self.bytes.len();
        rest
    }

    pub fn byte(&mut self) -> Result<u8, MessageError> {
        Ok(self.take(1)?[0])
    }

    pub fn array<const N: usize>(&mut self) -> Result<[u8; N], MessageError> {
        let mut array = [0; N];
        array.copy_from_slice(self.take(N)?);
        Ok(array)
    }

    pub fn varint(&mut self) -> Result<u64, MessageError> {
        let mut value = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            let bits = u64::from(byte & 0x7F);
            if shift == 63 && bits > 1 {
                return self.wrong("a number has more than 64 bits");
            }
            value |= bits << shift;
            if byte < 0x80 {
                let is_shortest = byte > 0 || shift == 0;
                return if is_shortest { Ok(value) } else { self.wrong("a number is padded") };
            }
        }
        self.wrong("a number has more than 64 bits")
    }

    pub fn signed(&mut self) -> Result<i64, MessageError> {
        let value = self.varint()?;
        Ok((value >> 1) as i64 ^ -((value & 1) as i64))
    }

    pub fn number(&mut self) -> Result<f64, MessageError> {
        let code = self.varint()?;
        if code & 1 == 0 {
            let zigzag = code >> 1;
            let steps = (zigzag >> 1) as i64 ^ -((zigzag & 1) as i64);
            let value = steps as f64 / STEPS_PER_VOXEL;
            return match steps_of(value) == Some(steps) {
                true => Ok(value),
                false => self.wrong("a short number is too large"),
            };
        }
        if code != 1 {
            return self.wrong("an unknown form of a number");
        }
        let value = f64::from_le_bytes(self.array()?);
        match steps_of(value) {
            None => Ok(value),
            Some(_) => self.wrong("a number that has a short form is long"),
        }
    }

    pub fn numbers<const N: usize>(&mut self) -> Result<[f64; N], MessageError> {
        let mut numbers = [0.0; N];
        for number in &mut numbers {
            *number = self.number()?;
        }
        Ok(numbers)
    }

    pub fn bytes(&mut self, max: usize) -> Result<&'a [u8], MessageError> {
        let count = self.varint()?;
        match usize::try_from(count) {
            Ok(count) if count <= max => self.take(count),
            _ => self.wrong("a field is longer than allowed"),
        }
    }

    /// A number of elements, of which each takes `bytes_each` or more.
    pub fn count(&mut self, bytes_each: usize) -> Result<usize, MessageError> {
        let count = self.varint()?;
        match count <= (self.len() / bytes_each) as u64 {
            true => Ok(count as usize),
            false => self.wrong("there are fewer bytes than elements"),
        }
    }

    pub fn voxel(&mut self) -> Result<VoxelPos, MessageError> {
        let mut at = [0; 3];
        for v in &mut at {
            let value = self.signed()?;
            if value.unsigned_abs() > LIMIT as u64 {
                return self.wrong("a position is beyond the limits of the grid");
            }
            *v = value as i32;
        }
        Ok(at.into())
    }

    /// Differences of two positions.
    pub fn voxel_offset(&mut self) -> Result<[i32; 3], MessageError> {
        let mut off = [0; 3];
        for v in &mut off {
            let value = self.signed()?;
            let Ok(value) = i32::try_from(value) else {
                return self.wrong("a position is beyond the limits of the grid");
            };
            *v = value;
        }
        Ok(off)
    }

    pub fn flag(&mut self) -> Result<bool, MessageError> {
        match self.byte()? {
            0 => Ok(false),
            1 => Ok(true),
            _ => self.wrong("a flag is neither 0 nor 1"),
        }
    }

    pub fn block(&mut self) -> Result<MipBlock, MessageError> {
        let mip = self.byte()?;
        let block = MipBlock { mip, pos: self.voxel()? };
        match mip <= crate::voxel::MAX_FAR_MIP && block.within_limits() {
            true => Ok(block),
            false => self.wrong("a block is beyond the limits of the grid"),
        }
    }

    /// A chunk by its position.
    pub fn chunk(&mut self) -> Result<MipBlock, MessageError> {
        let chunk = MipBlock { mip: 0, pos: self.voxel()? };
        match chunk.within_limits() {
            true => Ok(chunk),
            false => self.wrong("a chunk is beyond the limits of the grid"),
        }
    }

    /// A box of cells within a block, which is within the limits of the grid.
    pub fn region_in(&mut self, block: MipBlock) -> Result<Region, MessageError> {
        let (min, size): ([u8; 3], [u8; 3]) = (self.array()?, self.array()?);
        let is_inside =
            |axis: usize| size[axis] > 0 && min[axis] < 32 && size[axis] <= 32 - min[axis];
        if !(0..3).all(is_inside) {
            return self.wrong("a box of cells reaches beyond its block");
        }
        let min = block.cells().min + VoxelPos::from(min.map(i32::from));
        Ok(Region { min, max: min + VoxelPos::from(size.map(i32::from)) })
    }
}

/// Appends a box of cells within a block, which [`Input::region_in`] reads.
pub(super) fn put_region_in(block: MipBlock, region: Region, out: &mut Vec<u8>) {
    let local = region.min - block.cells().min;
    out.extend(local.to_array().map(|v| v as u8));
    out.extend(region.size().map(|v| v as u8));
}
