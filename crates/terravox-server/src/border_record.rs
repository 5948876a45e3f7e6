//! What is saved of a column's borders: operations from here that reach into neighbours, until
//! those have applied them, and up to which one those of each neighbour are applied here.
//! `docs/format.md` has every byte.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use terravox::edit::{BrushOp, EditOp};
use terravox::voxel::{Region, VoxelPos};
use terravox_store::Column;

/// The name of the extra data of a column.
pub(crate) const BORDER: &str = "border";

/// Format 1: each operation applies in full.
const VERSION: u8 = 1;

/// Format 2: each operation has the region within which it applies. Written only where one applies
/// in part.
const VERSION_OF_PARTS: u8 = 2;

/// Maximum number of operations of a column that wait for one neighbour; further ones are refused.
pub(crate) const MAX_WAITING_FOR_ONE: usize = 256;

/// The same for all neighbours together, so that a stuck one leaves room for the others. Records of
/// earlier builds may have more, and are read.
pub(crate) const MAX_WAITING: usize = 384;

/// Numbers are below this, so that a damaged one cannot exhaust the counter.
const NUMBER_END: u64 = 1 << 63;

/// Maximum size in bytes of an operation that reaches over a border.
pub(crate) const MAX_OP_BYTES: usize = 600;

/// An operation that reaches over a border.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct BorderOp {
    /// Its number in the column where it began; they count up by one.
    pub number: u64,
    pub op: Arc<EditOp>,
    /// What is to be changed, in voxels.
    pub region: Region,
    /// Whether that is only a part of what the operation reaches.
    is_part: bool,
    bytes: Arc<[u8]>,
}

impl BorderOp {
    /// The part of an operation within a region, in voxels. `None` for operations that cannot reach
    /// over a border: copies, those that are too long, and those that do not survive encoding
    /// exactly.
    pub fn new(number: u64, op: &EditOp, within: Region) -> Option<BorderOp> {
        let EditOp::Brush(brush) = op else { return None };
        let bytes = brush.to_bytes();
        let is_same = BrushOp::from_bytes(&bytes).is_ok_and(|read| read == *brush);
        is_same.then(|| BorderOp::of_bytes(number, op.clone(), within, &bytes))?
    }

    /// As [`BorderOp::new`], of an operation that has these bytes.
    fn of_bytes(number: u64, op: EditOp, within: Region, bytes: &[u8]) -> Option<BorderOp> {
        let whole = op.region().ok().filter(|_| bytes.len() <= MAX_OP_BYTES)?;
        let region = whole.intersect(within);
        (!region.is_empty()).then(|| BorderOp {
            number,
            op: Arc::new(op),
            region,
            is_part: region != whole,
            bytes: Arc::from(bytes),
        })
    }
}

/// What a column's server knows of its borders.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct BorderRecord {
    /// Number of the last operation that began here.
    pub last: u64,
    /// Operations that began here and that not all neighbours have applied, oldest first.
    pub waiting: VecDeque<BorderOp>,
    /// The last operation of each neighbour that is applied here, by the neighbour's offset in
    /// columns.
    pub applied: BTreeMap<[i8; 2], u64>,
}

/// The offset of a neighbour, in columns; `None` if it is not beside the column.
pub(crate) fn offset(from: Column, to: Column) -> Option<[i8; 2]> {
    let [x, z] = [i64::from(to.x) - i64::from(from.x), i64::from(to.z) - i64::from(from.z)];
    let is_beside = x.abs() <= 1 && z.abs() <= 1 && (x, z) != (0, 0);
    is_beside.then_some([x as i8, z as i8])
}

/// Whether all of a region, in voxels, lies in a column and the eight around it.
pub(crate) fn is_around(column: Column, region: Region) -> bool {
    let is_near = |pos| {
        let to = Column::of_voxel(pos);
        to == column || offset(column, to).is_some()
    };
    region.is_empty() || (is_near(region.min) && is_near(region.max - VoxelPos::new(1, 1, 1)))
}

impl BorderRecord {
    /// The last operation of a neighbour that is applied in a column that this is the record of.
    pub fn applied_of(&self, own: Column, neighbour: Column) -> u64 {
        let offset = offset(own, neighbour);
        offset.and_then(|offset| self.applied.get(&offset)).copied().unwrap_or(0)
    }

    pub fn to_bytes(&self) -> Vec<u8> {
        let has_parts = self.waiting.iter().any(|op| op.is_part);
        let mut bytes = vec![if has_parts { VERSION_OF_PARTS } else { VERSION }];
        bytes.extend(self.last.to_le_bytes());
        bytes.push(self.applied.len() as u8);
        for ([x, z], number) in &self.applied {
            bytes.extend([*x as u8, *z as u8]);
            bytes.extend(number.to_le_bytes());
        }
        bytes.extend((self.waiting.len() as u16).to_le_bytes());
        for op in &self.waiting {
            bytes.extend(op.number.to_le_bytes());
            if has_parts {
                let corners = [op.region.min, op.region.max].map(VoxelPos::to_array);
                bytes.extend(corners.as_flattened().iter().flat_map(|v| v.to_le_bytes()));
            }
            bytes.extend((op.bytes.len() as u16).to_le_bytes());
            bytes.extend_from_slice(&op.bytes);
        }
        bytes
    }

    /// The record of a column.
    ///
    /// # Errors
    /// What is wrong with the bytes.
    pub fn from_bytes(column: Column, bytes: &[u8]) -> Result<BorderRecord, &'static str> {
        let mut input = Input(bytes);
        let [version] = input.array()?;
        if ![VERSION, VERSION_OF_PARTS].contains(&version) {
            return Err("unknown version");
        }
        let mut record = BorderRecord { last: input.number()?, ..BorderRecord::default() };
        let [count] = input.array()?;
        for _ in 0..count {
            let place = input.array::<2>()?.map(|v| v as i8);
            if !place.iter().all(|v| (-1..=1).contains(v)) || place == [0, 0] {
                return Err("a neighbour does not lie beside it");
            }
            if record.applied.insert(place, input.number()?).is_some() {
                return Err("a neighbour is there twice");
            }
        }
        // Each takes some bytes: no count that is made up takes more memory.
        let count = u16::from_le_bytes(input.array()?);
        for _ in 0..count {
            let op = input.border_op(version == VERSION_OF_PARTS)?;
            let before = record.waiting.back().map_or(0, |before| before.number);
            if op.number <= before || op.number > record.last {
                return Err("operations are out of order");
            }
            if !is_around(column, op.region) {
                return Err("an operation reaches beyond the columns beside it");
            }
            record.waiting.push_back(op);
        }
        if !input.0.is_empty() {
            return Err("bytes after the end");
        }
        let has_parts = record.waiting.iter().any(|op| op.is_part);
        match has_parts == (version == VERSION_OF_PARTS) {
            true => Ok(record),
            false => Err("the version is that of parts, and there are none"),
        }
    }
}

/// Bytes that are read.
struct Input<'a>(&'a [u8]);

impl<'a> Input<'a> {
    fn bytes(&mut self, length: usize) -> Result<&'a [u8], &'static str> {
        let (bytes, rest) = self.0.split_at_checked(length).ok_or("it ends early")?;
        self.0 = rest;
        Ok(bytes)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], &'static str> {
        let (bytes, rest) = self.0.split_first_chunk().ok_or("it ends early")?;
        self.0 = rest;
        Ok(*bytes)
    }

    fn number(&mut self) -> Result<u64, &'static str> {
        let number = u64::from_le_bytes(self.array()?);
        if number < NUMBER_END { Ok(number) } else { Err("a number is too large") }
    }

    fn corner(&mut self) -> Result<VoxelPos, &'static str> {
        let mut axis = || self.array().map(i32::from_le_bytes);
        Ok(VoxelPos::new(axis()?, axis()?, axis()?))
    }

    fn border_op(&mut self, has_part: bool) -> Result<BorderOp, &'static str> {
        let number = self.number()?;
        let part = match has_part {
            true => Some(Region { min: self.corner()?, max: self.corner()? }),
            false => None,
        };
        let length = usize::from(u16::from_le_bytes(self.array()?));
        let bytes = self.bytes(length)?;
        let brush = BrushOp::from_bytes(bytes).map_err(|_| "a bad operation")?;
        let op = EditOp::Brush(brush);
        let within = part.or_else(|| op.region().ok()).unwrap_or_default();
        let op = BorderOp::of_bytes(number, op, within, bytes);
        let op = op.ok_or("an operation that reaches over no border")?;
        match op.region == within {
            true => Ok(op),
            false => Err("a part lies outside of its operation"),
        }
    }
}

#[cfg(test)]
mod tests;
