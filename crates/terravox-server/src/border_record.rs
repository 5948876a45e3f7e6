//! What is saved of a column's borders: operations from here that reach into neighbours, until those have applied them,
//! and up to which one those of each neighbour are applied here. `docs/format.md` has every byte.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use terravox::edit::{BrushOp, EditOp};
use terravox::voxel::Region;
use terravox_store::Column;

/// The name of the extra data of a column.
pub(crate) const BORDER: &str = "border";

const VERSION: u8 = 1;

/// Operations of a column that wait for neighbours; beyond, more are refused.
pub(crate) const MAX_WAITING: usize = 256;

/// Bytes of an operation that may reach over a border.
pub(crate) const MAX_OP_BYTES: usize = 600;

/// An operation that reaches over a border.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct BorderOp {
    /// Its number in the column where it began; they count up by one.
    pub number: u64,
    pub op: Arc<EditOp>,
    /// What it reaches, in voxels.
    pub region: Region,
    bytes: Arc<[u8]>,
}

impl BorderOp {
    /// `None` for an operation that cannot reach over a border: copies, and those of many bytes.
    pub fn new(number: u64, op: &EditOp) -> Option<BorderOp> {
        let EditOp::Brush(brush) = op else { return None };
        let (region, bytes) = (op.region().ok()?, Arc::from(brush.to_bytes()));
        let bytes: Arc<[u8]> = bytes;
        (bytes.len() <= MAX_OP_BYTES).then(|| BorderOp {
            number,
            op: Arc::new(op.clone()),
            region,
            bytes,
        })
    }
}

/// What a column's server knows of its borders.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct BorderRecord {
    /// Number of the last operation that began here.
    pub last: u64,
    /// Those of them that not all neighbours have applied, oldest first.
    pub waiting: VecDeque<BorderOp>,
    /// The last operation of each neighbour that is applied here, by where that lies, in columns.
    pub applied: BTreeMap<[i8; 2], u64>,
}

/// Where a neighbour lies, in columns; `None` if it does not lie beside it.
pub(crate) fn offset(from: Column, to: Column) -> Option<[i8; 2]> {
    let [x, z] = [i64::from(to.x) - i64::from(from.x), i64::from(to.z) - i64::from(from.z)];
    let is_beside = x.abs() <= 1 && z.abs() <= 1 && (x, z) != (0, 0);
    is_beside.then_some([x as i8, z as i8])
}

impl BorderRecord {
    /// The last operation of a neighbour that is applied in a column that this is the record of.
    pub fn applied_of(&self, own: Column, neighbour: Column) -> u64 {
        let offset = offset(own, neighbour);
        offset.and_then(|offset| self.applied.get(&offset)).copied().unwrap_or(0)
    }

    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = vec![VERSION];
        bytes.extend(self.last.to_le_bytes());
        bytes.push(self.applied.len() as u8);
        for ([x, z], number) in &self.applied {
            bytes.extend([*x as u8, *z as u8]);
            bytes.extend(number.to_le_bytes());
        }
        bytes.extend((self.waiting.len() as u16).to_le_bytes());
        for op in &self.waiting {
            bytes.extend(op.number.to_le_bytes());
            bytes.extend((op.bytes.len() as u16).to_le_bytes());
            bytes.extend_from_slice(&op.bytes);
        }
        bytes
    }

    /// # Errors
    /// What is wrong with the bytes.
    pub fn from_bytes(bytes: &[u8]) -> Result<BorderRecord, &'static str> {
        let mut input = Input(bytes);
        if input.array::<1>()? != [VERSION] {
            return Err("the version is another one");
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
        let count = usize::from(u16::from_le_bytes(input.array()?));
        if count > MAX_WAITING {
            return Err("too many operations");
        }
        let mut before = 0;
        for _ in 0..count {
            let number = input.number()?;
            if number <= before || number > record.last {
                return Err("operations are out of order");
            }
            before = number;
            let length = usize::from(u16::from_le_bytes(input.array()?));
            let brush = BrushOp::from_bytes(input.bytes(length)?).map_err(|_| "a bad operation")?;
            let op = BorderOp::new(number, &EditOp::Brush(brush));
            record.waiting.push_back(op.ok_or("an operation that reaches over no border")?);
        }
        if !input.0.is_empty() {
            return Err("bytes after the end");
        }
        Ok(record)
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
        self.array().map(u64::from_le_bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record() -> BorderRecord {
        let op = |number, x| BorderOp::new(number, &EditOp::dig_ball([x, 1.0, 2.0], 4.0)).unwrap();
        BorderRecord {
            last: 300,
            waiting: VecDeque::from([op(7, 0.0), op(300, 0.3)]),
            applied: BTreeMap::from([([-1, 0], 5), ([1, 1], 1 << 40)]),
        }
    }

    #[test]
    fn bytes_of_a_record_are_fixed() {
        let bytes = record().to_bytes();
        assert_eq!(BorderRecord::from_bytes(&bytes), Ok(record()));
        let small = BorderRecord {
            last: 1,
            waiting: VecDeque::from([
                BorderOp::new(1, &EditOp::dig_ball([0.0, 1.0, 2.0], 4.0)).unwrap()
            ]),
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
    fn bad_bytes_are_refused() {
        let bytes = record().to_bytes();
        for length in 0..bytes.len() {
            assert!(BorderRecord::from_bytes(&bytes[..length]).is_err(), "{length}");
        }
        assert!(BorderRecord::from_bytes(&[&bytes[..], &[0]].concat()).is_err());
        for at in 0..bytes.len() {
            for bit in 0..8 {
                let mut other = bytes.clone();
                other[at] ^= 1 << bit;
                // It never panics, and what it takes it writes as it was.
                if let Ok(record) = BorderRecord::from_bytes(&other) {
                    assert_eq!(record.to_bytes().len(), other.len(), "{at}");
                }
            }
        }
    }

    #[test]
    fn what_cannot_reach_over_a_border_is_known() {
        let region = Region::new([0; 3], [4; 3]);
        assert_eq!(BorderOp::new(1, &EditOp::copy(region, [9, 0, 0].into())), None);
        let points = vec![[0.1; 3]; 90];
        let path = terravox::edit::Brush::Path { points, radius: 2.0 };
        let long = BrushOp::new(path, terravox::edit::Action::Dig).into();
        assert_eq!(BorderOp::new(1, &long), None);
        let at = |x, z| Column { x, z };
        assert_eq!(offset(at(3, -2), at(2, -1)), Some([-1, 1]));
        assert_eq!((offset(at(0, 0), at(0, 0)), offset(at(0, 0), at(2, 0))), (None, None));
        assert_eq!(offset(at(i32::MIN, 0), at(i32::MAX, 0)), None);
    }
}
