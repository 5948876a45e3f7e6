//! Messages: each has one code, and any bytes are a message or an error.

use super::simulation::{Random, random_op};
use crate::bodies::BodyPose;
use crate::edit::{
    Action, Blend, Brush, BrushOp, Clip, CopyOp, EditMask, EditOp, HalfSpace, PasteOp, PastePose,
};
use crate::replicate::GeneratorId;
use crate::replicate::family::{Children, Family, FamilyChild, MAX_SENT};
use crate::replicate::message::{BodyMessage, ToGuest, ToHost};
use crate::replicate::op_wire::{put_op, rounded_op};
use crate::replicate::pose_wire::WirePose;
use crate::replicate::truth::digest_of;
use crate::replicate::world_info::{WorldInfo, materials_digest};
use crate::replicate::{Refusal, RefusalCode, SharedBodyKind};
use crate::voxel::{AIR, DenseBox, MaterialTable, MipBlock, Region, VoxelGrid, VoxelPos};
use proptest::prelude::*;

fn brushes() -> Vec<Brush> {
    let (centre, half, rotation) = ([1.5, -2.25, 1e-7], [3.0, 4.0, 5.0], [0.1, 0.2, 0.3, 0.9]);
    vec![
        Brush::Ball { centre, radius: 4.0 },
        Brush::Box { centre, half, rotation },
        Brush::Cylinder { centre, radius: -0.0, half_height: f64::INFINITY, rotation },
        Brush::Wedge { centre, half, rotation },
        Brush::Path { points: vec![centre, half], radius: 2.0 },
        Brush::Convex { planes: vec![HalfSpace { normal: centre, offset: 1e300 }; 4] },
        Brush::Mesh { vertices: vec![centre, half, [0.0; 3]], triangles: vec![[0, 1, 2]] },
        Brush::Heights { corner: centre, spacing: 1.0, width: 2, heights: vec![0.5; 4] },
    ]
}

fn ops() -> Vec<EditOp> {
    let actions = [
        Action::Fill { material: 8 },
        Action::Dig,
        Action::Paint { material: 255 },
        Action::Replace { from: 1, to: 2 },
        Action::Smooth,
        Action::Flatten { point: [1.0; 3], normal: [0.0, 1.0, 0.0], material: Some(3) },
        Action::Flatten { point: [1.0; 3], normal: [0.0, 1.0, 0.0], material: None },
        Action::Grow { amount: 0.5 },
        Action::Erode { amount: 0.3 },
        Action::Roughen { amount: 0.3, size: 4.0, seed: u64::MAX },
        Action::Flood { material: 1 },
        Action::Drain,
    ];
    let mut ops = Vec::new();
    for (at, brush) in brushes().into_iter().cycle().take(24).enumerate() {
        let mut op = BrushOp::new(brush, actions[at % actions.len()].clone());
        if at % 2 == 1 {
            (op.falloff, op.strength) = (0.75, 0.1);
        }
        if at % 3 == 1 {
            let (heights, slope) = (Some([-1.0, 5.0]), (at % 2 == 0).then_some([0.0, 1.0]));
            op.mask = EditMask { materials: vec![8; at % 4], heights, slope };
        }
        ops.push(op.into());
    }
    let pose = PastePose {
        at: [-9, 1 << 30, 3],
        mirror: [true, false, true],
        quarter_turns: [0, 3, 1],
        scale: -2,
        blend: Blend::Add,
    };
    ops.push(EditOp::Copy(CopyOp { from: [-5, -5, -5], to: [5, 6, 7], pose }));
    let mut cells = DenseBox::new(Region::new([0; 3], [4, 3, 2]));
    cells.fill(8);
    cells.set_water([1, 1, 1].into(), Some(90));
    ops.push(EditOp::Paste(PasteOp { clip: Clip::new(cells).expect("it is small"), pose }));
    ops
}

fn refusals() -> impl Iterator<Item = ToGuest> {
    let codes = [
        RefusalCode::Game(0),
        RefusalCode::Invalid,
        RefusalCode::TooLarge,
        RefusalCode::TooMany,
        RefusalCode::TooMuchWork,
        RefusalCode::NotAvailable,
        RefusalCode::NothingToUndo,
    ];
    codes.into_iter().map(|code| {
        let refusal = Refusal { code, reason: String::new() };
        ToGuest::Refuse { number: 2, refusal }
    })
}

#[test]
fn golden_bytes_of_refusals() {
    let materials = MaterialTable::default();
    let codes = refusals().map(|message| {
        let mut bytes = Vec::new();
        message.encode(materials.kinds(), &mut bytes);
        assert_eq!(bytes[..2], [4, 2]);
        bytes[2..].to_vec()
    });
    let codes = Vec::from_iter(codes);
    assert_eq!(codes[0], [0, 0, 0]);
    assert_eq!(codes[1..], [[1, 0], [2, 0], [3, 0], [4, 0], [5, 0], [6, 0]]);
}

fn pose() -> WirePose {
    let pose = BodyPose { position_voxels: [-1.5, 9e8, 0.25], rotation: [0.1, -0.9, 0.2, 0.4] };
    WirePose::of(&pose).expect("it is valid")
}

fn bodies() -> impl Iterator<Item = ToGuest> {
    let kinds =
        [SharedBodyKind::Loose, SharedBodyKind::Avatar(1 << 40), SharedBodyKind::Game(u16::MAX)];
    kinds.into_iter().map(|kind| {
        let bytes = vec![1, 2, 3].into();
        ToGuest::Body(BodyMessage { after: 4, number: 300, kind, pose: pose(), bytes })
    })
}

/// A family of every kind of block.
fn family() -> Family {
    let mut family = Family::new(MipBlock::new(3, [-4, 0, 7]));
    let [.., refined, empty, made] = family.parent.children();
    let Region { min, .. } = made.cells();
    let region = Region { min: min + [1, 2, 3].into(), max: min + [4, 32, 5].into() };
    family.put(refined, FamilyChild::Refined { check: 513, code: vec![7; 200] });
    family.put(empty, FamilyChild::Refined { check: 0, code: vec![] });
    family.put(made, FamilyChild::Made { marker: 9, region, code: vec![2, 3] });
    let mut below = Children::default();
    below[3] = FamilyChild::Ground;
    let mut over = Children::default();
    over[7] = FamilyChild::GroundOver(Box::new(below));
    family.children[0] = FamilyChild::GroundOver(Box::new(over));
    family.children[2] = FamilyChild::Ground;
    family
}

/// Tables of materials, some of them like the default ones.
fn tables() -> Vec<MaterialTable> {
    let default = MaterialTable::default().materials().to_vec();
    let (mut changed, mut longer, shorter) = (default.clone(), default.clone(), &default[..3]);
    changed[3].friction = 0.25;
    changed[4].name = "clay".into();
    changed[7].colour = [1, 2, 3];
    longer.extend_from_slice(&changed[3..5]);
    let tables =
        [changed.clone(), longer, shorter.to_vec(), [&default[..1], &default[2..]].concat()];
    tables.into_iter().map(|table| MaterialTable::try_from(table).expect("valid")).collect()
}

#[test]
fn default_materials_take_a_few_bytes_and_stay_as_they_are_in_a_version_of_the_protocol() {
    // If this changes, so must the version of the protocol.
    assert_eq!(format!("{:08x}", materials_digest(&MaterialTable::default())), "863e25e5");
    let mut bytes = Vec::new();
    let info = WorldInfo { author: 1, max_mip: 8, voxel_size_m: 1.0, ..WorldInfo::default() };
    let materials = MaterialTable::default();
    ToGuest::Welcome { instance: 7, info: Box::new(info) }.encode(materials.kinds(), &mut bytes);
    assert!(bytes.len() < 53, "{} bytes", bytes.len());
    // Another digest; materials that equal the default ones written out.
    let at = bytes.len() - 6;
    bytes[at] ^= 1;
    let error = ToGuest::decode(&bytes, materials.kinds()).expect_err("other materials");
    assert!(error.what.contains("update the older one"), "{error}");
    bytes[at] ^= 1;
    assert!(ToGuest::decode(&bytes, materials.kinds()).is_ok());
    let last = bytes.len() - 1;
    for (same, what) in [(bytes[last] - 1, "ends early"), (bytes[last] + 1, "not so many")] {
        bytes[last] = same;
        let error = ToGuest::decode(&bytes, materials.kinds()).expect_err(what);
        assert!(error.what.contains(what), "{error}");
        bytes[last] = materials.materials().len() as u8;
    }
}

fn to_guest() -> Vec<ToGuest> {
    let block = MipBlock::new(3, [-4, 0, 7]);
    let cells = block.cells();
    let region = Region { min: cells.min, max: cells.max };
    let generator = GeneratorId { name: "hills".into(), version: 3, parameters: vec![7; 8] };
    let info = WorldInfo {
        author: 9,
        max_mip: 8,
        voxel_size_m: 0.5,
        origin_m: [1.0, -2.0, 1e9],
        generator: Some(generator),
        materials: MaterialTable::default(),
    };
    let blocks = vec![block, MipBlock::new(0, [1 << 24, -(1 << 25), 0]), block];
    let mut messages = vec![
        ToGuest::Welcome { instance: 7, info: Box::new(info.clone()) },
        ToGuest::Welcome {
            instance: 7,
            info: Box::new(WorldInfo { generator: None, ..info.clone() }),
        },
        ToGuest::Refuse { number: 1, refusal: Refusal::by_game(300, "too deep — später") },
        ToGuest::Confirm { number: 1 << 40, digest: 5 },
        ToGuest::Done { after: 0, number: 300, has_changed: true },
        ToGuest::Cells { after: 3, block, region, code: vec![2, 3] },
        ToGuest::Family { after: u64::MAX, family: family().into() },
        ToGuest::Family { after: 0, family: Family::of_one(block, FamilyChild::Ground).into() },
        ToGuest::Family {
            after: 0,
            family: Family::of_one(MipBlock::new(12, [-1, 0, 0]), FamilyChild::Ground).into(),
        },
        ToGuest::Unchanged { after: 1, blocks },
        ToGuest::BodyGone { after: 2, number: u64::MAX },
        ToGuest::Poses(vec![(1, pose()), (300, pose())]),
        ToGuest::Saved { number: 1 << 20 },
        ToGuest::Game(b"the gate is open".to_vec()),
    ];
    messages.extend(tables().into_iter().map(|materials| ToGuest::Welcome {
        instance: 7,
        info: Box::new(WorldInfo { materials, ..info.clone() }),
    }));
    messages.extend(refusals());
    messages.extend(bodies());
    let brushes = ops().into_iter().filter(|op| matches!(op, EditOp::Brush(_)));
    messages.extend(brushes.map(|op| ToGuest::Op { author: 4, op, digest: 77 }));
    messages
}

fn to_host() -> Vec<ToHost> {
    let blocks = vec![MipBlock::new(12, [-1, 0, 1]), MipBlock::new(0, [5, 5, 5])];
    let mut messages = vec![
        ToHost::Hello { version: 1, token: vec![1, 2, 3] },
        ToHost::Start { makes_ground: true, last_number: 300 },
        ToHost::Subscribe(vec![(blocks[0], None), (blocks[1], Some(u64::MAX))]),
        ToHost::Unsubscribe(blocks.clone()),
        ToHost::Undo { number: 4, is_redo: true },
        ToHost::Refresh(blocks),
        ToHost::Avatar { pose: pose(), bytes: b"anna".to_vec() },
        ToHost::Game(b"a crate, please".to_vec()),
        ToHost::NoAvatar,
    ];
    messages.extend(ops().into_iter().map(|op| ToHost::Edit { number: 12, op: Box::new(op) }));
    messages
}

#[test]
fn a_host_sends_copies_as_cells_and_nothing_else() {
    let materials = MaterialTable::default();
    for op in ops().into_iter().filter(|op| !matches!(op, EditOp::Brush(_))) {
        let mut bytes = Vec::new();
        ToGuest::Op { author: 4, op, digest: 77 }.encode(materials.kinds(), &mut bytes);
        let error = ToGuest::decode(&bytes, materials.kinds()).expect_err("it is no brush");
        assert!(error.to_string().contains("as cells"), "{error}");
    }
}

#[test]
fn messages_are_read_as_they_were_written() {
    let materials = MaterialTable::default();
    let kinds = materials.kinds();
    for message in to_guest() {
        let mut bytes = Vec::new();
        message.encode(kinds, &mut bytes);
        assert_eq!(ToGuest::decode(&bytes, kinds).as_ref(), Ok(&message));
    }
    for message in to_host() {
        let mut bytes = Vec::new();
        message.encode(kinds, &mut bytes);
        assert_eq!(ToHost::decode(&bytes, kinds).as_ref(), Ok(&message));
    }
}

#[test]
fn a_cut_message_is_refused() {
    let materials = MaterialTable::default();
    let kinds = materials.kinds();
    for message in to_host() {
        let mut bytes = Vec::new();
        message.encode(kinds, &mut bytes);
        for length in 0..bytes.len() {
            assert!(ToHost::decode(&bytes[..length], kinds).is_err(), "{message:?} at {length}");
        }
    }
}

#[test]
fn a_dig_takes_fifteen_bytes() {
    let materials = MaterialTable::default();
    let mut random = Random(3);
    let mut total = 0;
    for _ in 0..1000 {
        let centre = [0; 3].map(|_| random.between(-2000.0, 2000.0));
        let mut bytes = Vec::new();
        let op = rounded_op(&EditOp::dig_ball(centre, 4.0));
        put_op(&op, materials.kinds(), &mut bytes);
        total += bytes.len();
    }
    assert!(total <= 15_000, "{total} bytes");
}

#[test]
fn golden_bytes_of_a_dig() {
    let materials = MaterialTable::default();
    let mut bytes = Vec::new();
    let message =
        ToHost::Edit { number: 5, op: Box::new(EditOp::dig_ball([1.5, -2.0, 1000.0], 4.0)) };
    message.encode(materials.kinds(), &mut bytes);
    assert_eq!(bytes, [4, 5, 0, 128, 12, 254, 15, 128, 192, 62, 128, 32, 1]);
}

#[test]
fn golden_bytes_of_a_welcome() {
    let info = WorldInfo { author: 1, max_mip: 8, voxel_size_m: 1.0, ..WorldInfo::default() };
    let mut bytes = Vec::new();
    ToGuest::Welcome { instance: 7, info: Box::new(info) }
        .encode(MaterialTable::default().kinds(), &mut bytes);
    let place = [[0; 6].as_slice(), &[0xF0, 0x3F], &[0; 24]].concat();
    let materials = [0xE5, 0x25, 0x3E, 0x86, 23, 23];
    let instance = [7, 0, 0, 0, 0, 0, 0, 0];
    assert_eq!(bytes, [&[0], &instance[..], &[1, 8], &place[..], &[0], &materials].concat());
}

#[test]
fn golden_digest_of_a_dig() {
    let (at, mut grid) = (VoxelPos::new(1, 2, 3), VoxelGrid::default());
    let region = Region::one(at);
    let mut cells = DenseBox::new(region);
    cells.fill(8);
    grid.write(&cells).expect("unlisted chunks are air");
    cells.fill(AIR);
    grid.write(&cells).expect("unlisted chunks are air");
    let digest = digest_of(&grid, region, &mut DenseBox::default());
    assert_eq!(digest.to_le_bytes(), [0x4D, 0x10, 0x3F, 0x4C]);
}

#[test]
fn golden_bytes_of_a_family() {
    let materials = MaterialTable::default();
    let (mut bytes, mut family) = (Vec::new(), family());
    family.children[5] = FamilyChild::Refined { check: 513, code: vec![7, 8] };
    ToGuest::Family { after: 300, family: family.into() }.encode(materials.kinds(), &mut bytes);
    let blocks = [6, 0xAC, 2, 2, 7, 0, 14, 0b0100_0010, 0b1000_0000, 0b1000_1101];
    let below = [0, 0, 0b0100_0000, 0, 2, 0];
    let cells = [1, 2, 2, 7, 8, 0, 0, 0, 9, 1, 2, 3, 3, 30, 2, 2, 2, 3];
    assert_eq!(bytes, [&blocks[..], &below, &cells].concat());
}

/// A message about blocks below one of mip 9, in which all eight blocks of each are told.
fn wide_family(levels: u32) -> Vec<u8> {
    fn put(levels: u32, out: &mut Vec<u8>) {
        let kind = if levels > 1 { 2 } else { 1 };
        let kinds = (0..8).fold(0, |all, at| all | kind << (3 * at));
        out.extend(&u32::to_le_bytes(kinds)[..3]);
        (0..8).filter(|_| levels > 1).for_each(|_| put(levels - 1, out));
    }
    let mut bytes = vec![6, 0, 8, 0, 0, 0];
    put(levels, &mut bytes);
    bytes
}

#[test]
fn a_family_brings_a_bounded_number_of_blocks_and_no_cells_below_ground() {
    let materials = MaterialTable::default();
    let decode = |bytes: &[u8]| ToGuest::decode(bytes, materials.kinds());
    let Ok(ToGuest::Family { family, .. }) = decode(&wide_family(3)) else { panic!("it is valid") };
    assert_eq!(family.blocks().len(), 8 + 64 + 512);
    let error = decode(&wide_family(4)).expect_err("4,680 blocks");
    assert!(error.what.contains("4096") && 4680 > MAX_SENT, "{error}");
    for (bytes, what) in [
        // Nothing is told; nothing below one block; blocks below mip 0; refined cells below ground.
        (&[6, 0, 8, 0, 0, 0, 0, 0, 0][..], "empty"),
        (&[6, 0, 8, 0, 0, 0, 2, 0, 0, 0, 0, 0], "empty"),
        (&[6, 0, 0, 0, 0, 0, 2, 0, 0, 1, 0, 0], "unknown kind of block"),
        (&[6, 0, 8, 0, 0, 0, 2, 0, 0, 3, 0, 0, 0, 0, 0], "below a block"),
        (&[6, 0, 8, 0, 0, 0, 5, 0, 0], "unknown kind of block"),
        (&[6, 0, 13, 0, 0, 0, 1, 0, 0], "limits"),
        (&[6, 0, 12, 0x80, 0x80, 0x80, 0x80, 1, 0, 0, 1, 0, 0], "limits"),
    ] {
        let error = decode(bytes).expect_err(what);
        assert!(error.what.contains(what), "{bytes:?}: {error}");
    }
}

proptest! {
    #[test]
    fn any_bytes_are_a_message_or_an_error(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        check(&bytes);
    }

    #[test]
    fn changed_messages_are_a_message_or_an_error(
        at in 0usize..100,
        place in any::<prop::sample::Index>(),
        value in any::<u8>(),
    ) {
        let materials = MaterialTable::default();
        let mut bytes = Vec::new();
        match at % 2 {
            0 => to_guest()[at / 2 % to_guest().len()].encode(materials.kinds(), &mut bytes),
            _ => to_host()[at / 2 % to_host().len()].encode(materials.kinds(), &mut bytes),
        }
        let place = place.index(bytes.len());
        bytes[place] = value;
        check(&bytes);
    }

    #[test]
    fn random_operations_are_read_as_they_were_written(seed in any::<u64>()) {
        let materials = MaterialTable::default();
        let op = random_op(&mut Random(seed), [1e6, -1e6, 0.0]);
        let mut bytes = Vec::new();
        ToHost::Edit { number: 1, op: Box::new(op.clone()) }.encode(materials.kinds(), &mut bytes);
        let read = ToHost::decode(&bytes, materials.kinds());
        prop_assert_eq!(read, Ok(ToHost::Edit { number: 1, op: Box::new(op) }));
    }
}

/// What is read is written as it was.
fn check(bytes: &[u8]) {
    let materials = MaterialTable::default();
    let kinds = materials.kinds();
    let mut again = Vec::new();
    if let Ok(message) = ToHost::decode(bytes, kinds) {
        message.encode(kinds, &mut again);
        assert_eq!(again, bytes);
    }
    again.clear();
    if let Ok(message) = ToGuest::decode(bytes, kinds) {
        message.encode(kinds, &mut again);
        match &message {
            // Control characters became spaces.
            ToGuest::Refuse { .. } => assert_eq!(ToGuest::decode(&again, kinds), Ok(message)),
            _ => assert_eq!(again, bytes),
        }
    }
}
