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
mod tests {
    use super::*;

    const HOME: Column = Column { x: 0, z: 0 };

    fn border_op(number: u64, x: f64) -> BorderOp {
        let op = EditOp::dig_ball([x, 1.0, 2.0], 4.0);
        BorderOp::new(number, &op, op.region().unwrap()).unwrap()
    }

    fn record() -> BorderRecord {
        BorderRecord {
            last: 300,
            waiting: VecDeque::from([border_op(7, 0.0), border_op(300, 0.3)]),
            applied: BTreeMap::from([([-1, 0], 5), ([1, 1], 1 << 40)]),
        }
    }

    /// One of which the upper half is to be applied.
    fn record_of_part() -> BorderRecord {
        let op = EditOp::dig_ball([0.0, 1.0, 2.0], 4.0);
        let upper = Region::new([-100, 1, -100], [100, 100, 100]);
        let part = BorderOp::new(8, &op, upper).unwrap();
        assert_eq!(part.region, op.region().unwrap().intersect(upper));
        let mut record = record();
        record.waiting.insert(1, part);
        record
    }

    #[test]
    fn bytes_of_a_record_are_fixed() {
        let bytes = record().to_bytes();
        assert_eq!(BorderRecord::from_bytes(HOME, &bytes), Ok(record()));
        let small = BorderRecord {
            last: 1,
            waiting: VecDeque::from([border_op(1, 0.0)]),
            applied: BTreeMap::from([([-1, 1], 2)]),
        };
        let op = &small.waiting[0].bytes;
        let mut golden = vec![1, 1, 0, 0, 0, 0, 0, 0, 0, 1, 255, 1, 2, 0, 0, 0, 0, 0, 0, 0, 1, 0];
        golden.extend([1, 0, 0, 0, 0, 0, 0, 0, op.len() as u8, 0]);
        golden.extend_from_slice(op);
        assert_eq!(small.to_bytes(), golden);
        assert_eq!(BorderRecord::default().to_bytes().len(), 12);
    }

    #[test]
    fn bytes_of_a_record_with_a_part_are_fixed() {
        let bytes = record_of_part().to_bytes();
        assert_eq!(BorderRecord::from_bytes(HOME, &bytes), Ok(record_of_part()));
        let part = record_of_part().waiting[1].clone();
        let op = part.bytes.clone();
        let small = BorderRecord { last: 8, waiting: VecDeque::from([part]), ..Default::default() };
        let mut golden = vec![2, 8, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 8, 0, 0, 0, 0, 0, 0, 0];
        for corner in [-4i32, 1, -2, 4, 5, 6] {
            golden.extend(corner.to_le_bytes());
        }
        golden.extend([op.len() as u8, 0]);
        golden.extend_from_slice(&op);
        assert_eq!(small.to_bytes(), golden);
    }

    #[test]
    fn a_record_with_more_operations_than_may_wait_is_read() {
        let count = MAX_WAITING as u64 + 90;
        let waiting = (1..=count).map(|number| border_op(number, 0.5)).collect();
        let long = BorderRecord { last: count, waiting, ..BorderRecord::default() };
        assert_eq!(BorderRecord::from_bytes(HOME, &long.to_bytes()), Ok(long));
        // A count that is made up takes no memory.
        let mut bytes = record().to_bytes();
        let count = 10 + 2 * 10;
        bytes[count..count + 2].copy_from_slice(&u16::MAX.to_le_bytes());
        assert_eq!(BorderRecord::from_bytes(HOME, &bytes), Err("it ends early"));
    }

    #[test]
    fn bad_bytes_are_refused() {
        for bytes in [record().to_bytes(), record_of_part().to_bytes()] {
            for length in 0..bytes.len() {
                assert!(BorderRecord::from_bytes(HOME, &bytes[..length]).is_err(), "{length}");
            }
            assert!(BorderRecord::from_bytes(HOME, &[&bytes[..], &[0]].concat()).is_err());
            for at in 0..bytes.len() {
                for bit in 0..8 {
                    let mut other = bytes.clone();
                    other[at] ^= 1 << bit;
                    // It never panics, and what it takes it writes as it was.
                    if let Ok(record) = BorderRecord::from_bytes(HOME, &other) {
                        assert_eq!(record.to_bytes(), other, "{at}");
                    }
                }
            }
        }
        let mut bytes = record().to_bytes();
        bytes[1..9].fill(255);
        assert!(BorderRecord::from_bytes(HOME, &bytes).unwrap_err().contains("too large"));
        // All columns of a world would be looked at for it.
        let far = Column { x: 2, z: 0 };
        assert!(
            BorderRecord::from_bytes(far, &record().to_bytes()).unwrap_err().contains("beyond")
        );
        let wide = EditOp::dig_ball([0.0; 3], 1e6);
        let wide = BorderOp::new(1, &wide, wide.region().unwrap()).unwrap();
        let wide = BorderRecord { last: 1, waiting: VecDeque::from([wide]), ..Default::default() };
        assert!(BorderRecord::from_bytes(HOME, &wide.to_bytes()).unwrap_err().contains("beyond"));
    }

    #[test]
    fn what_cannot_reach_over_a_border_is_known() {
        let region = Region::new([0; 3], [4; 3]);
        let all = Region::new([-9999; 3], [9999; 3]);
        assert_eq!(BorderOp::new(1, &EditOp::copy(region, [9, 0, 0].into()), all), None);
        let points = vec![[0.1; 3]; 90];
        let path = terravox::edit::Brush::Path { points, radius: 2.0 };
        let long = BrushOp::new(path, terravox::edit::Action::Dig).into();
        assert_eq!(BorderOp::new(1, &long, all), None);
        let ball = EditOp::dig_ball([0.0; 3], 4.0);
        assert_eq!(BorderOp::new(1, &ball, Region::new([50; 3], [60; 3])), None, "no part of it");
        let at = |x, z| Column { x, z };
        assert_eq!(offset(at(3, -2), at(2, -1)), Some([-1, 1]));
        assert_eq!((offset(at(0, 0), at(0, 0)), offset(at(0, 0), at(2, 0))), (None, None));
        assert_eq!(offset(at(i32::MIN, 0), at(i32::MAX, 0)), None);
    }
}
