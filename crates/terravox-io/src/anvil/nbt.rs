//! Pulls values out of NBT, the tagged binary format of Minecraft, without building a tree.
//!
//! Each value that is passed over takes at least one byte, or is a part of an array that is passed over
//! at once: work is linear in the bytes whatever counts they claim. Nesting is a list, not recursion.

use super::error::ChunkFault;
use crate::import_budget::ImportBudget;

/// Most elements within one another; the game writes at most as many.
const MAX_DEPTH: usize = 512;

/// The type of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Tag {
    End,
    Byte,
    Short,
    Int,
    Long,
    Float,
    Double,
    Bytes,
    Text,
    List,
    Compound,
    Ints,
    Longs,
}

impl Tag {
    const ALL: [Tag; 13] = [
        Tag::End,
        Tag::Byte,
        Tag::Short,
        Tag::Int,
        Tag::Long,
        Tag::Float,
        Tag::Double,
        Tag::Bytes,
        Tag::Text,
        Tag::List,
        Tag::Compound,
        Tag::Ints,
        Tag::Longs,
    ];

    /// Bytes of a value, or of an element of an array; `None` if values differ.
    fn bytes(self) -> Option<usize> {
        match self {
            Tag::Byte | Tag::Bytes => Some(1),
            Tag::Short => Some(2),
            Tag::Int | Tag::Float | Tag::Ints => Some(4),
            Tag::Long | Tag::Double | Tag::Longs => Some(8),
            Tag::End | Tag::Text | Tag::List | Tag::Compound => None,
        }
    }
}

/// A place in NBT.
#[derive(Clone, Copy, Debug)]
pub(super) struct NbtCursor<'a> {
    bytes: &'a [u8],
}

/// What is passed over.
enum Level {
    Compound,
    /// Of so many more elements.
    List(Tag, u32),
}

impl<'a> NbtCursor<'a> {
    pub fn new(bytes: &'a [u8]) -> NbtCursor<'a> {
        NbtCursor { bytes }
    }

    fn take(&mut self, count: usize) -> Result<&'a [u8], ChunkFault> {
        let left = self.bytes.len();
        match self.bytes.split_at_checked(count) {
            Some((taken, rest)) => {
                self.bytes = rest;
                Ok(taken)
            }
            None => {
                ChunkFault::damaged(format!("a value would take {count} bytes, {left} are left"))
            }
        }
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], ChunkFault> {
        let bytes = self.take(N)?.first_chunk::<N>();
        bytes.copied().ok_or_else(|| ChunkFault::Damaged("a value is cut short".to_owned()))
    }

    fn tag(&mut self) -> Result<Tag, ChunkFault> {
        let [id] = self.array()?;
        match Tag::ALL.get(usize::from(id)) {
            Some(tag) => Ok(*tag),
            None => ChunkFault::damaged(format!("a value is of the unknown type {id}")),
        }
    }

    fn count(&mut self) -> Result<u32, ChunkFault> {
        let count = i32::from_be_bytes(self.array()?);
        match u32::try_from(count) {
            Ok(count) => Ok(count),
            Err(_) => ChunkFault::damaged(format!("a list has {count} elements")),
        }
    }

    /// Enters the compound that is the file.
    pub fn root(&mut self) -> Result<(), ChunkFault> {
        match self.tag()? {
            Tag::Compound => self.text().map(drop),
            _ => ChunkFault::damaged("it does not begin with a compound"),
        }
    }

    /// The next entry of a compound: its type and name; `None` at the end.
    pub fn entry(&mut self) -> Result<Option<(Tag, &'a [u8])>, ChunkFault> {
        match self.tag()? {
            Tag::End => Ok(None),
            tag => Ok(Some((tag, self.text()?))),
        }
    }

    /// A text, as bytes.
    pub fn text(&mut self) -> Result<&'a [u8], ChunkFault> {
        let length = u16::from_be_bytes(self.array()?);
        self.take(length.into())
    }

    /// An integer of any width.
    pub fn integer(&mut self, tag: Tag) -> Result<i64, ChunkFault> {
        match tag {
            Tag::Byte => Ok(i8::from_be_bytes(self.array()?).into()),
            Tag::Short => Ok(i16::from_be_bytes(self.array()?).into()),
            Tag::Int => Ok(i32::from_be_bytes(self.array()?).into()),
            Tag::Long => Ok(i64::from_be_bytes(self.array()?)),
            _ => ChunkFault::damaged("a number is of another type"),
        }
    }

    /// Type and number of the elements of a list.
    pub fn list(&mut self) -> Result<(Tag, u32), ChunkFault> {
        let (tag, count) = (self.tag()?, self.count()?);
        if tag == Tag::End && count > 0 {
            return ChunkFault::damaged(format!("a list has {count} elements of no type"));
        }
        Ok((tag, count))
    }

    /// An array of integers of 64 bits, big-endian.
    pub fn longs(&mut self) -> Result<&'a [[u8; 8]], ChunkFault> {
        let count = self.count()? as usize;
        Ok(self.take(count.saturating_mul(8))?.as_chunks::<8>().0)
    }

    /// Passes over a value of this type.
    pub fn skip(&mut self, tag: Tag, budget: &mut ImportBudget) -> Result<(), ChunkFault> {
        let mut levels = Vec::new();
        self.pass(tag, &mut levels)?;
        while let Some(level) = levels.last_mut() {
            let next = match level {
                Level::Compound => self.entry()?.map(|(tag, _)| tag),
                Level::List(_, 0) => None,
                Level::List(tag, left) => {
                    *left -= 1;
                    Some(*tag)
                }
            };
            match next {
                Some(tag) => self.pass(tag, &mut levels)?,
                None => drop(levels.pop()),
            }
            if levels.len() > MAX_DEPTH {
                return ChunkFault::damaged(format!("values nest more than {MAX_DEPTH} deep"));
            }
            budget.reach_depth("its values", levels.len())?;
        }
        Ok(())
    }

    /// Passes over a value, or over the head of one whose elements differ in length.
    fn pass(&mut self, tag: Tag, levels: &mut Vec<Level>) -> Result<(), ChunkFault> {
        match tag {
            Tag::End => {}
            Tag::Text => drop(self.text()?),
            Tag::Compound => levels.push(Level::Compound),
            Tag::Bytes | Tag::Ints | Tag::Longs => {
                let count = self.count()? as usize;
                self.take(count.saturating_mul(tag.bytes().unwrap_or(1)))?;
            }
            Tag::List => {
                let (tag, count) = self.list()?;
                let is_array = matches!(tag, Tag::Bytes | Tag::Ints | Tag::Longs);
                match tag.bytes().filter(|_| !is_array) {
                    Some(bytes) => drop(self.take((count as usize).saturating_mul(bytes))?),
                    None => levels.push(Level::List(tag, count)),
                }
            }
            _ => drop(self.take(tag.bytes().unwrap_or(0))?),
        }
        Ok(())
    }
}
