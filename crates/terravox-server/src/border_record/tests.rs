//! The bytes of operations that cross a border.

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
    assert!(BorderRecord::from_bytes(far, &record().to_bytes()).unwrap_err().contains("beyond"));
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
