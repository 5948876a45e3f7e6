use super::*;
use proptest::prelude::*;
use terravox::voxel::{Cell, Region};

fn body(numbers: &[(u8, u8)], at: [i32; 3]) -> SavedBody {
    let mut grid = VoxelGrid::default();
    let at = VoxelPos::from(at);
    let mut cells = DenseBox::new(Region { min: at, max: at + VoxelPos::new(5, 3, 4) });
    for (pos, &(material, occupancy)) in cells.region().voxels().zip(numbers) {
        cells.set(pos, Cell::new(material, occupancy));
    }
    grid.write(&cells).unwrap();
    SavedBody {
        cells: grid.snapshot(),
        origin_voxel: VoxelPos::new(-64, 32, 1 << 29),
        pose: BodyPose { position_voxels: [1.5, -2.25, 1e8], rotation: [0.0, 0.6, 0.0, 0.8] },
        linear_velocity_m_s: [0.0, -9.81, 0.5],
        angular_velocity_rad_s: [3.0, 0.0, -1.0],
    }
}

fn kinds() -> MaterialTable {
    MaterialTable::default()
}

fn same(a: &SavedBody, b: &SavedBody) -> bool {
    let motion = |body: &SavedBody| {
        (body.origin_voxel, body.pose, body.linear_velocity_m_s, body.angular_velocity_rad_s)
    };
    motion(a) == motion(b)
        && a.cells.chunks() == b.cells.chunks()
        && a.cells.digest() == b.cells.digest()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn bodies_come_back_as_they_were(
        cells in prop::collection::vec(prop::collection::vec((0..30u8, any::<u8>()), 0..60), 0..4),
        at in prop::array::uniform3(-40..40i32),
        cut: prop::sample::Index,
    ) {
        let bodies: Vec<_> = cells.iter().map(|cells| body(cells, at)).collect();
        let bytes = encode(&bodies, kinds().kinds()).unwrap();
        let read = decode(&bytes, &kinds()).unwrap();
        prop_assert_eq!(read.len(), bodies.len());
        prop_assert!(read.iter().zip(&bodies).all(|(a, b)| same(a, b)));
        let cut = cut.index(bytes.len());
        prop_assert!(decode(&bytes[..cut], &kinds()).is_err(), "cut at {}", cut);
    }

    #[test]
    fn any_bytes_are_bodies_or_an_error(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        let _ = decode(&bytes, &kinds());
        let mut versioned = vec![VERSION, 1, 0, 0, 0];
        versioned.extend(bytes);
        let _ = decode(&versioned, &kinds());
    }

    #[test]
    fn damaged_bodies_never_panic(
        cells in prop::collection::vec((0..30u8, any::<u8>()), 60),
        damage in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..5),
    ) {
        let mut bytes = encode(&[body(&cells, [30; 3])], kinds().kinds()).unwrap();
        for (at, xor) in damage {
            let at = at.index(bytes.len());
            bytes[at] ^= xor;
        }
        let _ = decode(&bytes, &kinds());
    }
}

#[test]
fn counts_are_bounded_before_memory_is_taken() {
    let mut bytes = vec![VERSION];
    bytes.extend(u32::MAX.to_le_bytes());
    let error = decode(&bytes, &kinds()).unwrap_err();
    assert!(matches!(error, ValueError::Field { at: 4, .. }), "{error}");
    let many = vec![body(&[], [0; 3]); MAX_BODIES + 1];
    assert!(encode(&many, kinds().kinds()).unwrap_err().contains("at most 65536"));
}

#[test]
fn memory_of_far_chunks_and_of_empty_bodies_counts() {
    // Each in a page of its own, in 27 bytes.
    let chunks = |n: i32| {
        let mut grid = VoxelGrid::default();
        for i in 0..n {
            let mut cells = DenseBox::new(ChunkPos::new(8 * i, 0, 0).region());
            cells.fill(8);
            grid.write(&cells).unwrap();
        }
        let cells = grid.snapshot();
        encode(&[SavedBody { cells, ..body(&[], [0; 3]) }], kinds().kinds()).unwrap()
    };
    let limit = 100 * (PAGE_BYTES + 64) + BODY_BYTES;
    assert_eq!(decode_within(&chunks(100), &kinds(), limit).unwrap().len(), 1);
    let error = decode_within(&chunks(101), &kinds(), limit).unwrap_err().to_string();
    assert!(error.contains("more memory"), "{error}");
    let empty = SavedBody { cells: VoxelGrid::default().snapshot(), ..body(&[], [0; 3]) };
    let many = encode(&vec![empty; 11], kinds().kinds()).unwrap();
    assert!(decode_within(&many, &kinds(), 10 * BODY_BYTES).is_err());
    assert_eq!(decode_within(&many, &kinds(), 11 * BODY_BYTES).unwrap().len(), 11);
}

#[test]
fn poses_that_are_not_finite_are_refused() {
    let mut odd = body(&[(8, 255)], [0; 3]);
    odd.pose.position_voxels[1] = f64::NAN;
    assert!(encode(&[odd], kinds().kinds()).is_err());
    let mut bytes = encode(&[body(&[(8, 255)], [0; 3])], kinds().kinds()).unwrap();
    bytes[17..25].copy_from_slice(&f64::INFINITY.to_le_bytes());
    assert!(matches!(decode(&bytes, &kinds()).unwrap_err(), ValueError::Field { at: 24, .. }));
}

/// The bytes that this version writes, for ever: see `docs/format.md`.
#[test]
fn the_golden_bodies_are_read_and_written() {
    let bodies = [body(&[(8, 255), (2, 7), (0, 0), (8, 100)], [-1, 0, 31]), body(&[], [0; 3])];
    let bytes = encode(&bodies, kinds().kinds()).unwrap();
    let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    assert_eq!(hex, GOLDEN);
    let read = decode(&bytes, &kinds()).unwrap();
    assert!(read.iter().zip(&bodies).all(|(a, b)| same(a, b)));
}

const GOLDEN: &str = "0102000000c0ffffff2000000000000020000000000000f83f00000000000002c00000000084d79741000000\
    0000000000333333333333e33f00000000000000009a9999999999e93f00000000000000001f85eb51b89e23\
    c0000000000000e03f00000000000008400000000000000000000000000000f0bf04000000ffffffff000000\
    000000000023000000017622401a79e6997002010100002180ff020021fe0807000f0200da6080ff80ff80ff\
    ffffffff00000000010000000b00000001b941651aaff5f73d00000000000000000000000000002700000001\
    a55714b9838d2e7b02070100002180ff020061df42070048640b000f0200dc6080ff80ff801c000000000000\
    0000010000000b00000001d359f8ae4729cf630000c0ffffff2000000000000020000000000000f83f000000\
    00000002c00000000084d797410000000000000000333333333333e33f00000000000000009a9999999999e9\
    3f00000000000000001f85eb51b89e23c0000000000000e03f00000000000008400000000000000000000000\
    000000f0bf010000000000000000000000000000000b000000011812e1f50cd15d730000";
