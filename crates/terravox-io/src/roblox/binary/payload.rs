//! Fields of a decompressed payload, and the columns of values in it.

use super::super::error::RobloxError;
use super::file_chunk::FileChunk;
use crate::import_budget::ImportBudget;
use std::borrow::Cow;
use std::ops::Range;

/// Bytes of the hash of a shared string.
const HASH_BYTES: u64 = 16;
/// Fewest bytes of a shared string: a hash and a length.
const MIN_SHARED_BYTES: u64 = HASH_BYTES + 4;

/// Reads consecutive fields of a payload.
pub(super) struct PayloadFields<'p, 'c> {
    pub chunk: &'p FileChunk<'c>,
    payload: &'p [u8],
    offset: usize,
}

impl<'p, 'c> PayloadFields<'p, 'c> {
    pub fn new(chunk: &'p FileChunk<'c>, payload: &'p [u8], offset: usize) -> Self {
        PayloadFields { chunk, payload, offset }
    }

    pub fn offset(&self) -> usize {
        self.offset
    }

    pub fn read_bytes(&mut self, count: u64) -> Result<Range<usize>, RobloxError> {
        let left = self.payload.len() - self.offset;
        if count > left as u64 {
            return Err(self.chunk.damaged(format!("{count} bytes wanted, {left} are left")));
        }
        let start = self.offset;
        self.offset += count as usize;
        Ok(start..self.offset)
    }

    pub fn read_u32(&mut self) -> Result<u32, RobloxError> {
        let word = &self.payload[self.read_bytes(4)?];
        Ok(u32::from_le_bytes([word[0], word[1], word[2], word[3]]))
    }

    pub fn read_string(&mut self) -> Result<Range<usize>, RobloxError> {
        let length = self.read_u32()?;
        self.read_bytes(length.into())
    }
}

/// The shared strings of a file: u32 version, u32 count, then for each a hash of 16 bytes and a
/// string.
pub(super) struct SharedStrings<'a> {
    pub payload: Cow<'a, [u8]>,
    /// Where each lies in the payload.
    strings: Vec<Range<u32>>,
}

impl<'a> SharedStrings<'a> {
    /// Indexes the strings of an SSTR chunk.
    pub fn index(
        chunk: &FileChunk<'a>,
        payload: Cow<'a, [u8]>,
        budget: &mut ImportBudget,
    ) -> Result<SharedStrings<'a>, RobloxError> {
        let mut fields = PayloadFields::new(chunk, &payload, 0);
        fields.read_u32()?;
        let count = u64::from(fields.read_u32()?);
        let left = (payload.len() - fields.offset()) as u64;
        if count > left / MIN_SHARED_BYTES {
            return Err(chunk.damaged(format!("{count} shared strings in {left} bytes")));
        }
        let memory = count * size_of::<Range<u32>>() as u64;
        budget.spend_memory("its shared strings", memory).map_err(chunk.over_budget())?;
        budget.spend_work("its shared strings", 16 * count).map_err(chunk.over_budget())?;
        let mut strings = Vec::with_capacity(count as usize);
        for _ in 0..count {
            fields.read_bytes(HASH_BYTES)?;
            let string = fields.read_string()?;
            strings.push(string.start as u32..string.end as u32);
        }
        Ok(SharedStrings { payload, strings })
    }

    pub fn get(&self, index: u32) -> Option<Range<usize>> {
        let string = self.strings.get(index as usize)?;
        Some(string.start as usize..string.end as usize)
    }

    pub fn len(&self) -> usize {
        self.strings.len()
    }
}

/// The values of one property, one for each instance of a class.
pub(super) struct PropertyColumn<'a> {
    pub chunk: FileChunk<'a>,
    pub payload: Cow<'a, [u8]>,
    /// Offset of the values in the payload.
    pub start: usize,
    pub is_shared: bool,
}

impl<'a> PropertyColumn<'a> {
    /// Returns where the value of each of `count` instances lies: in this payload, or in that of
    /// the shared strings.
    pub fn values<'p>(
        &'p self,
        count: u32,
        shared: Option<&'p SharedStrings<'a>>,
    ) -> Result<ColumnValues<'p, 'a>, RobloxError> {
        let mut fields = PayloadFields::new(&self.chunk, &self.payload, self.start);
        if !self.is_shared {
            return Ok(ColumnValues::Strings { fields, left: count });
        }
        let Some(shared) = shared else {
            return Err(self.chunk.damaged("shared strings, but the file has no SSTR chunk"));
        };
        let indices = fields.read_bytes(4 * u64::from(count))?;
        let indices = &self.payload[indices];
        Ok(ColumnValues::Shared { chunk: &self.chunk, indices, shared, next: 0 })
    }

    /// Returns the values of `count` instances.
    pub fn strings<'p>(
        &'p self,
        count: u32,
        shared: Option<&'p SharedStrings<'a>>,
    ) -> Result<impl Iterator<Item = Result<&'p [u8], RobloxError>>, RobloxError> {
        let payload = match shared.filter(|_| self.is_shared) {
            Some(shared) => &shared.payload,
            None => &self.payload,
        };
        let values = self.values(count, shared)?;
        Ok(values.map(move |value| Ok(&payload[value?])))
    }
}

/// Yields the values of a column.
pub(super) enum ColumnValues<'p, 'a> {
    Strings {
        fields: PayloadFields<'p, 'a>,
        left: u32,
    },
    /// By index: big-endian u32 with interleaved bytes.
    Shared {
        chunk: &'p FileChunk<'a>,
        indices: &'p [u8],
        shared: &'p SharedStrings<'a>,
        next: usize,
    },
}

impl Iterator for ColumnValues<'_, '_> {
    type Item = Result<Range<usize>, RobloxError>;

    fn next(&mut self) -> Option<Self::Item> {
        match self {
            ColumnValues::Strings { fields, left } => {
                *left = left.checked_sub(1)?;
                Some(fields.read_string())
            }
            ColumnValues::Shared { chunk, indices, shared, next } => {
                let count = indices.len() / 4;
                let i = *next;
                *next += 1;
                let byte = |b: usize| indices[b * count + i];
                let index = || u32::from_be_bytes([byte(0), byte(1), byte(2), byte(3)]);
                let index = (i < count).then(index)?;
                let unknown =
                    || chunk.damaged(format!("shared string {index} of {}", shared.len()));
                Some(shared.get(index).ok_or_else(unknown))
            }
        }
    }
}
