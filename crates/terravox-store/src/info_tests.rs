//! Descriptions: golden bytes, round trips, and any bytes.

use super::*;
use proptest::prelude::*;

fn small() -> WorldInfo {
    let material = |name: &str, kind, shape| Material {
        name: name.to_owned(),
        kind,
        shape,
        colour: [1, 2, 3],
        friction: 0.5,
        restitution: 0.25,
        density: 1000.0,
        hardness: 2.0,
    };
    let materials = vec![
        material("Air", Kind::Air, SurfaceShape::Default),
        material("Öl", Kind::Liquid, SurfaceShape::Smooth),
        material("Erz", Kind::Solid, SurfaceShape::Rubble),
    ];
    WorldInfo {
        voxel_size_m: 4.0,
        origin_m: [0.5, -1.0, 1e7],
        unlisted: UnlistedChunks::Unknown,
        materials: MaterialTable::new(materials),
        generator: Some(Generator {
            name: "hills".to_owned(),
            version: 3,
            seed: 0x0102_0304_0506_0708,
            saved_region: Some(Region::new([-1, 0, 1], [2, 3, 4])),
        }),
        channels: Vec::new(),
    }
}

fn resealed(mut bytes: Vec<u8>) -> Vec<u8> {
    if bytes.len() >= 10 {
        bytes[..2].copy_from_slice(&FORMAT_VERSION.to_le_bytes());
        let sum = info_checksum(&bytes);
        bytes[2..10].copy_from_slice(&sum.to_le_bytes());
    }
    bytes
}

/// The bytes of `small`.
fn golden(friction: [u8; 4], checksum: u64) -> Vec<u8> {
    let mut golden = vec![3, 0];
    golden.extend(checksum.to_le_bytes());
    golden.extend([0, 0, 0, 0, 0, 0, 0x10, 0x40]); // 4.0
    golden.extend([0, 0, 0, 0, 0, 0, 0xe0, 0x3f]); // 0.5
    golden.extend([0, 0, 0, 0, 0, 0, 0xf0, 0xbf]); // -1.0
    golden.extend([0, 0, 0, 0, 0xd0, 0x12, 0x63, 0x41]); // 1e7
    golden.extend([1, 3, 0]); // unknown, three materials
    let mut material = |start: &[u8]| {
        golden.extend(start);
        golden.extend([1, 2, 3]);
        golden.extend(friction);
        golden.extend([0, 0, 0x80, 0x3e, 0, 0, 0x7a, 0x44]);
        golden.extend([0, 0, 0, 0x40]);
    };
    material(b"\x03Air\x00\x00");
    material(b"\x03\xc3\x96l\x01\x01");
    material(b"\x03Erz\x02\x04");
    golden.extend(b"\x01\x05hills\x03\0\0\0\x08\x07\x06\x05\x04\x03\x02\x01\x01");
    golden.extend([255, 255, 255, 255, 0, 0, 0, 0, 1, 0, 0, 0]);
    golden.extend([2, 0, 0, 0, 3, 0, 0, 0, 4, 0, 0, 0]);
    golden
}

const HALF: [u8; 4] = [0, 0, 0, 0x3f];

#[test]
fn the_bytes_of_a_description_are_fixed() {
    let golden = golden(HALF, GOLDEN_CHECKSUM);
    assert_eq!(small().encode(), golden);
    assert_eq!(WorldInfo::decode(&golden), Ok(small()));
}

#[test]
fn a_material_with_an_impossible_number_is_refused() {
    let mut wild = golden(f32::NAN.to_le_bytes(), 0);
    let sum = info_checksum(&wild);
    wild[2..10].copy_from_slice(&sum.to_le_bytes());
    let what = "a number of a material is out of its range";
    let field = |error| match error {
        InfoError::Value(ValueError::Field { what, .. }) => what,
        error => panic!("{error:?}"),
    };
    assert_eq!(WorldInfo::decode(&wild).map_err(field), Err(what));
}

#[test]
fn descriptions_come_back() {
    let plain = WorldInfo::default();
    assert_eq!(WorldInfo::decode(&plain.encode()), Ok(plain.clone()));
    let mut full = plain;
    let longest = Material { name: "é".repeat(127), ..full.materials.materials()[5].clone() };
    let mut materials = full.materials.materials().to_vec();
    materials.resize(256, longest);
    full.materials = MaterialTable::new(materials);
    full.generator = Some(Generator { name: "x".repeat(255), ..Generator::default() });
    assert_eq!(full.fault(), None);
    let bytes = full.encode();
    assert!(bytes.len() <= MAX_INFO_BYTES);
    assert_eq!(WorldInfo::decode(&bytes), Ok(full));
}

/// [`small`] with channels.
fn small_with_channels() -> WorldInfo {
    let channels = vec![
        Channel::values("heat", ChannelWidth::U8, MipRule::MeanPresent),
        Channel::bytes("Öl"),
        Channel::values("id", ChannelWidth::U32, MipRule::MostFrequent),
    ];
    WorldInfo { channels, ..small() }
}

#[test]
fn the_bytes_of_channels_are_fixed_and_their_faults_told() {
    let bytes = small_with_channels().encode();
    let mut golden = golden(HALF, 0);
    golden[0] = 4;
    golden.extend(b"\x03\x04heat\x01\x03\x03\xc3\x96l\0\0\x02id\x04\x04");
    let sum = info_checksum(&golden);
    golden[2..10].copy_from_slice(&sum.to_le_bytes());
    assert_eq!(bytes, golden);
    assert_eq!(WorldInfo::decode(&bytes), Ok(small_with_channels()));
    let changed = |at_end: usize, byte: u8| {
        let mut bytes = golden.clone();
        let at = bytes.len() - at_end;
        bytes[at] = byte;
        let sum = info_checksum(&bytes);
        bytes[2..10].copy_from_slice(&sum.to_le_bytes());
        match WorldInfo::decode(&bytes) {
            Err(InfoError::Value(ValueError::Field { what, .. })) => what,
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(changed(19, 0), "no channels, or more than 16");
    assert_eq!(changed(19, 17), "no channels, or more than 16");
    assert_eq!(changed(2, 3), "a width of values that does not exist");
    assert_eq!(changed(1, 5), "a rule of coarse values that does not exist");
    assert_eq!(changed(6, 1), "a rule of coarse values that does not exist");
    let mut twice = small_with_channels();
    twice.channels[2].name = "heat".to_owned();
    assert!(twice.fault().is_some());
    let error = WorldInfo::decode(&twice.encode());
    let what = "a channel without a name of its own, of 1 to 64 bytes";
    assert!(
        matches!(error, Err(InfoError::Value(ValueError::Field { what: w, .. })) if w == what),
        "{error:?}"
    );
    for end in 0..golden.len() {
        let mut cut = golden[..end].to_vec();
        if end >= 10 {
            let sum = info_checksum(&cut);
            cut[2..10].copy_from_slice(&sum.to_le_bytes());
        }
        assert!(WorldInfo::decode(&cut).is_err());
    }
}

#[test]
fn impossible_descriptions_are_refused_before_they_are_written() {
    let with = |change: fn(&mut WorldInfo)| {
        let mut info = small();
        change(&mut info);
        info.fault()
    };
    assert!(with(|info| info.voxel_size_m = 0.0).is_some());
    assert_eq!(
        with(|info| info.voxel_size_m = 1e-9).as_deref(),
        Some("the voxel size is 1e-9 m; it must be 1e-6 to 1e9"),
        "no terrain could be placed by it",
    );
    assert!(with(|info| info.voxel_size_m = f64::NAN).is_some());
    assert!(with(|info| info.origin_m[1] = f64::INFINITY).is_some());
    let long = |info: &mut WorldInfo| {
        info.generator = Some(Generator { name: "x".repeat(256), ..Generator::default() });
    };
    assert!(with(long).is_some());
    assert_eq!(with(|_| ()), None);
}

#[test]
fn each_way_to_be_wrong_has_its_error() {
    let error = |bytes: &[u8]| WorldInfo::decode(bytes).err();
    let good = small().encode();
    let changed = |at: usize, byte: u8| {
        let mut bytes = good.clone();
        bytes[at] = byte;
        error(&resealed(bytes))
    };
    let field = |at, what| Some(ValueError::Field { at, what }.into());
    assert_eq!(error(&[5, 0]), Some(InfoError::Version(5)));
    assert_eq!(error(&[2, 0]), field(1, "a format version that is no longer read"));
    assert!(matches!(error(&[1]), Some(InfoError::Value(ValueError::TooShort { .. }))));
    assert_eq!(changed(42, 2), field(42, "neither air nor unknown"));
    assert_eq!(changed(44, 9), field(44, "more than 256 materials"));
    assert_eq!(changed(49, 1), field(49, "only material 0 is air"));
    assert_eq!(changed(74, 0), field(74, "only material 0 is air"));
    assert_eq!(changed(71, 0xff), field(71, "a name that is not UTF-8"));
    assert_eq!(changed(50, 5), field(50, "a shape that does not exist"));
    let impossible = field(10, "the voxel size or the origin is out of its range");
    assert_eq!(changed(17, 0xc0), impossible, "a negative size");
    let long = resealed([&good[..], &[0]].concat());
    assert_eq!(error(&long), Some(ValueError::Trailing { bytes: 1 }.into()));
    let limit = MAX_INFO_BYTES;
    let bytes = limit + 1;
    assert_eq!(error(&vec![1; bytes]), Some(ValueError::TooLong { bytes, limit }.into()));
    for end in 0..good.len() {
        assert!(error(&good[..end]).is_some());
        assert!(error(&resealed(good[..end].to_vec())).is_some());
    }
    for bit in 0..good.len() * 8 {
        let mut bad = good.clone();
        bad[bit / 8] ^= 1 << (bit % 8);
        assert!(error(&bad).is_some(), "bit {bit}");
    }
}

proptest! {
    #[test]
    fn any_bytes_with_a_right_checksum_never_panic(
        changes in proptest::collection::vec((0..usize::MAX, 0..=255u8), 0..8),
        random in proptest::collection::vec(0..=255u8, 0..400),
    ) {
        let mut bytes = small().encode();
        for (at, byte) in changes {
            let at = at % bytes.len();
            bytes[at] = byte;
        }
        for bytes in [bytes, random] {
            if let Ok(info) = WorldInfo::decode(&resealed(bytes.clone())) {
                prop_assert_eq!(info.fault(), None);
                prop_assert!(info.materials.materials().len() * 20 <= bytes.len());
            }
            let _ = WorldInfo::decode(&bytes);
        }
    }
}

const GOLDEN_CHECKSUM: u64 = 0x2add_7d2a_eb97_0682;
