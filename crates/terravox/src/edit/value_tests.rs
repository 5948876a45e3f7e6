//! Operations on channels against a voxel at a time, and their undo.

use super::stamp::Stamp;
use super::{
    Brush, EditError, EditLimits, EditOp, Editor, History, HistoryErrorKind, ValueAction, ValueOp,
};
use crate::voxel::{
    Channel, ChannelChunk, ChannelGrid, ChannelSnapshot, ChannelWidth, ChunkPos, GridOptions,
    LIMIT, MipRule, Region, UnlistedChunks, VoxelGrid, VoxelPos,
};
use proptest::prelude::*;

/// A channel of each kind: heat (0 to 255), owner (0 to 65,535), id (u32), and bytes.
fn channels() -> ChannelGrid {
    let mut channels = ChannelGrid::default();
    let widths = [ChannelWidth::U8, ChannelWidth::U16, ChannelWidth::U32];
    for (name, width) in ["heat", "owner", "id"].into_iter().zip(widths) {
        channels.declare(Channel::values(name, width, MipRule::Max)).expect("there is room");
    }
    channels.declare(Channel::bytes("spawns")).expect("there is room");
    channels
}

fn ball(channel: u8, centre: [f64; 3], radius: f64, value: u32) -> ValueOp {
    ValueOp::ball(channel, centre, radius, ValueAction::Set { value })
}

fn apply(channels: &mut ChannelGrid, op: &ValueOp, history: &mut History) -> Region {
    let applied =
        Editor::default().apply_values(&VoxelGrid::default(), channels, op, Some(history));
    applied.expect("the operation is valid")
}

/// The value of a voxel after an operation, from the words of the documentation.
fn naive(op: &ValueOp, grid: &VoxelGrid, before: &ChannelSnapshot, pos: VoxelPos) -> u32 {
    let ValueOp::Brush { channel, brush, action, materials } = op else { panic!("not a brush") };
    let old = before.value(*channel, pos);
    let material = grid.cell(pos).expect("all is held").material;
    let is_accepted = materials.is_empty() || materials.contains(&material);
    let stamp = Stamp::new(brush, 0.0, 1.0).expect("a valid brush");
    if stamp.units_at(pos) < 128 || !is_accepted {
        return old;
    }
    let max = u64::from([255, 65_535, u32::MAX][usize::from(*channel)]);
    let new = match *action {
        ValueAction::Set { value } => value.into(),
        ValueAction::Add { amount } => max.min(u64::from(old) + u64::from(amount)),
        ValueAction::Subtract { amount } => u64::from(old.max(amount) - amount),
        ValueAction::AtLeast { value } => u64::from(if old < value { value } else { old }),
        ValueAction::AtMost { value } => u64::from(if old > value { value } else { old }),
    };
    new as u32
}

fn action() -> impl Strategy<Value = ValueAction> {
    prop_oneof![
        (0..256u32).prop_map(|value| ValueAction::Set { value }),
        (0..256u32).prop_map(|amount| ValueAction::Add { amount }),
        (0..256u32).prop_map(|amount| ValueAction::Subtract { amount }),
        (0..256u32).prop_map(|value| ValueAction::AtLeast { value }),
        (0..256u32).prop_map(|value| ValueAction::AtMost { value }),
    ]
}

fn op() -> impl Strategy<Value = ValueOp> {
    let centre = proptest::array::uniform3(-40.0..40.0f64);
    let shape = (centre, proptest::array::uniform3(0.4..20.0f64), any::<bool>());
    let brush = shape.prop_map(|(centre, half, is_ball)| match is_ball {
        true => Brush::Ball { centre, radius: half[0] },
        false => Brush::Box { centre, half, rotation: Brush::NO_ROTATION },
    });
    let materials = prop_oneof![2 => Just(Vec::new()), 1 => Just(vec![8]), 1 => Just(vec![0, 3])];
    (0..3u8, brush, action(), materials).prop_map(|(channel, brush, action, materials)| {
        ValueOp::Brush { channel, brush, action, materials }
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn operations_change_the_voxels_that_they_say_and_undo_restores_them(
        ops in proptest::collection::vec(op(), 1..5),
    ) {
        let mut grid = VoxelGrid::default();
        let mut editor = Editor::default();
        let rock = EditOp::fill_ball(8, [0.0; 3], 25.0);
        editor.apply(&mut grid, &rock, None).expect("a valid brush");
        let (mut channels, mut history) = (channels(), History::default());
        let mut states = vec![channels.snapshot()];
        for op in &ops {
            let before = channels.snapshot();
            let region = editor.apply_values(&grid, &mut channels, op, &mut history);
            let region = region.expect("the operation is valid");
            let mut changed = Region::default();
            for pos in op.region().expect("within limits").voxels().step_by(3) {
                let expected = naive(op, &grid, &before, pos);
                prop_assert_eq!(channels.value(op.channel(), pos), expected, "{:?}", pos);
            }
            for pos in op.region().expect("within limits").grow(2).voxels() {
                if channels.value(op.channel(), pos) != before.value(op.channel(), pos) {
                    changed = changed.union(Region::one(pos));
                }
            }
            prop_assert_eq!(region, changed);
            if !changed.is_empty() {
                states.push(channels.snapshot());
            }
        }
        let bytes = history.to_bytes();
        let read = History::from_bytes(&bytes, usize::MAX).expect("what was written");
        prop_assert_eq!(read.to_bytes(), &bytes[..]);
        for part in [2, 3, 5] {
            let most = 40 + bytes.len() / part;
            prop_assert!(history.copy().to_bytes(most).len() <= most);
        }
        let mut history = read;
        let last = states.pop().expect("the first");
        for state in states.iter().rev() {
            let undone = history.undo_with(&mut grid, &mut channels).expect("all is there");
            prop_assert!(undone.is_some_and(|region| !region.is_empty()));
            prop_assert_eq!(&channels.snapshot(), state);
        }
        prop_assert_eq!(history.undo_with(&mut grid, &mut channels), Ok(None));
        for _ in &states {
            history.redo_with(&mut grid, &mut channels).expect("all is there");
        }
        prop_assert_eq!(channels.snapshot(), last);
    }

    #[test]
    fn any_change_of_the_bytes_of_a_history_is_a_history_or_an_error(
        at in any::<usize>(), to in any::<u8>(),
    ) {
        let (mut channels, mut history) = (channels(), History::default());
        apply(&mut channels, &ball(1, [3.0; 3], 4.0, 700), &mut history);
        apply(&mut channels, &ball(1, [5.0; 3], 4.0, 3), &mut history);
        let op = ValueOp::Bytes { channel: 3, chunk: ChunkPos::new(1, 2, -3), bytes: vec![7; 9] };
        apply(&mut channels, &op, &mut history);
        let mut bytes = history.to_bytes();
        let at = 9 + at % (bytes.len() - 9);
        bytes[at] = to;
        super::saved::seal(&mut bytes);
        if let Ok(read) = History::from_bytes(&bytes, usize::MAX) {
            let mut history = read;
            let (mut grid, mut steps) = (VoxelGrid::default(), 0);
            // What fits no channel is refused, and nothing panics.
            while steps < 9 && history.undo_with(&mut grid, &mut channels).is_ok() {
                steps += 1;
            }
        }
        let cut = History::from_bytes(&bytes[..at], usize::MAX);
        prop_assert!(cut.is_err());
    }
}

#[test]
fn a_stroke_of_cells_and_values_is_undone_as_one() {
    let (mut grid, mut channels) = (VoxelGrid::default(), channels());
    let (mut editor, mut history) = (Editor::default(), History::default());
    history.begin_stroke();
    editor.apply(&mut grid, &EditOp::fill_ball(8, [0.0; 3], 6.0), &mut history).unwrap();
    for value in [1, 2] {
        let op = ball(0, [0.0; 3], f64::from(value) + 2.0, value);
        editor.apply_values(&grid, &mut channels, &op, &mut history).unwrap();
    }
    history.end_stroke();
    assert_eq!(history.stats().undoable, 1);
    let (cells, values) = (grid.digest().unwrap(), channels.snapshot());

    let refused = history.undo(&mut grid);
    assert!(matches!(refused, Err(EditError::Invalid(_))), "{refused:?}");
    assert_eq!((grid.digest().unwrap(), channels.snapshot()), (cells, values.clone()));
    assert_eq!(history.stats().undoable, 1, "it can be undone later");

    let region = history.undo_with(&mut grid, &mut channels).unwrap();
    assert_eq!(region, Some(Region::new([-6; 3], [6; 3])));
    assert_eq!(grid.digest().unwrap(), VoxelGrid::default().digest().unwrap());
    assert_eq!(channels.snapshot(), self::channels().snapshot());
    assert!(history.redo(&mut grid).is_err());
    history.redo_with(&mut grid, &mut channels).unwrap();
    assert_eq!((grid.digest().unwrap(), channels.snapshot()), (cells, values));
}

#[test]
fn a_stroke_that_cannot_be_undone_changes_neither_cells_nor_values() {
    let unlisted = UnlistedChunks::Unknown;
    let mut grid = VoxelGrid::new(GridOptions { unlisted, ..GridOptions::default() });
    let chunk = ChunkPos::new(0, 0, 0);
    grid.load_uniform(&[(chunk, 8)]);
    let (mut editor, mut history, mut channels) =
        (Editor::default(), History::default(), channels());
    history.begin_stroke();
    editor.apply(&mut grid, &EditOp::dig_ball([16.0; 3], 5.0), &mut history).unwrap();
    let op = ball(0, [16.0; 3], 5.0, 9);
    editor.apply_values(&grid, &mut channels, &op, &mut history).unwrap();
    history.end_stroke();
    grid.mark_saved(&grid.unsaved());
    assert!(grid.forget(chunk));
    let before = channels.snapshot();
    let refused = history.undo_with(&mut grid, &mut channels);
    assert!(matches!(refused, Err(EditError::NotHeld(_))), "{refused:?}");
    assert_eq!(channels.snapshot(), before);
    // And in the channels of another world.
    grid.load_uniform(&[(chunk, 8)]);
    let digest = grid.digest().unwrap();
    let mut other = ChannelGrid::default();
    let refused = history.undo_with(&mut grid, &mut other);
    assert_eq!(refused, Err(EditError::NoChannel { channel: 0, declared: 0 }));
    other.declare(Channel::bytes("heat")).unwrap();
    let refused = history.undo_with(&mut grid, &mut other);
    assert!(matches!(refused, Err(EditError::Invalid(_))), "{refused:?}");
    assert_eq!((grid.digest().unwrap(), history.stats().undoable), (digest, 1));
}

#[test]
fn undo_restores_only_the_values_that_the_stroke_changed() {
    let (mut channels, mut history) = (channels(), History::default());
    apply(&mut channels, &ball(0, [0.0; 3], 4.0, 5), &mut history);
    channels.set(0, VoxelPos::new(30, 0, 0), 7); // another's, in the same chunk
    channels.set(0, VoxelPos::ZERO, 6); // and over the stroke
    history.undo_with(&mut VoxelGrid::default(), &mut channels).unwrap();
    assert_eq!(channels.value(0, VoxelPos::ZERO), 0);
    assert_eq!(channels.value(0, VoxelPos::new(30, 0, 0)), 7);
    history.redo_with(&mut VoxelGrid::default(), &mut channels).unwrap();
    assert_eq!(channels.value(0, VoxelPos::ZERO), 6, "what the undo found");
}

#[test]
fn bytes_of_a_chunk_are_replaced_and_undone() {
    let (mut channels, mut history) = (channels(), History::default());
    let chunk = ChunkPos::new(-1, 0, 9);
    let op = |bytes: &[u8]| ValueOp::Bytes { channel: 3, chunk, bytes: bytes.to_vec() };
    assert_eq!(apply(&mut channels, &op(b"goats"), &mut history), chunk.region());
    assert!(apply(&mut channels, &op(b"goats"), &mut history).is_empty());
    apply(&mut channels, &op(b""), &mut history);
    assert!(channels.chunks(3).is_empty());
    assert_eq!(history.stats().undoable, 2);
    history.undo_with(&mut VoxelGrid::default(), &mut channels).unwrap();
    assert_eq!(channels.bytes(3, chunk), b"goats");
    history.undo_with(&mut VoxelGrid::default(), &mut channels).unwrap();
    assert!(channels.bytes(3, chunk).is_empty());
}

#[test]
fn a_history_without_values_is_written_as_before() {
    let (mut grid, mut channels, mut history) =
        (VoxelGrid::default(), channels(), History::default());
    let fill = EditOp::fill_ball(8, [0.0; 3], 3.0);
    Editor::default().apply(&mut grid, &fill, &mut history).unwrap();
    assert_eq!(history.to_bytes()[0], 1);
    let (cells_only, cells_bytes) = (history.to_bytes(), history.stats().bytes);
    apply(&mut channels, &ball(0, [0.5; 3], 0.6, 5), &mut history);
    assert_eq!(history.to_bytes()[0], 2);
    // The stroke with values is newer, so only it is kept.
    let values_bytes = history.stats().bytes - cells_bytes;
    let short = history.copy().to_bytes(values_bytes + 29);
    assert_eq!(short[0], 2);
    assert_eq!(History::from_bytes(&short, usize::MAX).unwrap().stats().undoable, 1);
    history.undo_with(&mut grid, &mut channels).unwrap();
    history.undo_with(&mut grid, &mut channels).unwrap();
    history.redo(&mut grid).unwrap();
    history.end_stroke();
    assert_eq!(history.to_bytes()[0], 2, "the stroke can be redone");
    let mut alone = History::default();
    Editor::default().apply(&mut VoxelGrid::default(), &fill, &mut alone).unwrap();
    assert_eq!(alone.to_bytes(), cells_only);
}

#[test]
fn the_bytes_of_version_2_are_fixed() {
    let (mut channels, mut history) = (channels(), History::default());
    channels.set(1, VoxelPos::new(-31, 0, 0), 300);
    let brush = Brush::Box {
        centre: [-30.0, 0.5, 0.5],
        half: [2.0, 0.5, 0.5],
        rotation: Brush::NO_ROTATION,
    };
    let op = ValueOp::brush(1, brush, ValueAction::Set { value: 4 });
    apply(&mut channels, &op, &mut history);
    let op = ValueOp::Bytes { channel: 3, chunk: ChunkPos::new(0, 1, 0), bytes: b"ab".to_vec() };
    apply(&mut channels, &op, &mut history);
    let bytes = history.to_bytes();
    let golden = [
        2, 0, // two strokes to undo, none to redo
        0, 1, // no cells, one chunk of values
        1, 2, 1, 0, 0, // channel 1, two bytes a value, chunk (-1, 0, 0)
        3, // runs: voxel 0 was 0, voxel 1 was 300, voxels 2 and 3 were 0
        0, 1, 0, //
        0, 1, 0xac, 2, //
        0, 2, 0, //
        0, 1, // no cells, one chunk of values
        3, 0, 0, 2, 0, // channel 3, bytes, chunk (0, 1, 0)
        0, // there were none
    ];
    assert_eq!(bytes[0], 2);
    assert_eq!(bytes[9..], golden);
    let sum = xxhash_rust::xxh3::xxh3_64(&golden);
    assert_eq!(bytes[1..9], sum.to_le_bytes());
}

#[test]
fn invalid_values_in_a_history_are_told() {
    let sealed = |body: &[u8]| {
        let mut bytes = vec![2; 9];
        bytes.extend_from_slice(body);
        super::saved::seal(&mut bytes);
        History::from_bytes(&bytes, usize::MAX).map(|history| history.stats().undoable)
    };
    let one = |patch: &[u8]| sealed(&[&[1, 0, 0, 1], patch].concat());
    let kind = |patch: &[u8]| one(patch).map_err(|error| error.kind);
    assert_eq!(kind(&[0, 1, 0, 0, 0, 1, 0, 1, 9]), Ok(1));
    assert_eq!(sealed(&[1, 0, 0, 0]).map_err(|e| e.kind), Err(HistoryErrorKind::EmptyStroke));
    let wrong = Err(HistoryErrorKind::Values);
    assert_eq!(kind(&[16, 1, 0, 0, 0, 1, 0, 1, 9]), wrong, "a channel that no world has");
    assert_eq!(kind(&[0, 3, 0, 0, 0, 1, 0, 1, 9]), wrong, "a width that does not exist");
    assert_eq!(kind(&[0, 1, 0x80, 0x80, 0x80, 0x20, 0, 0, 1, 0, 1, 9]), wrong, "beyond the limits");
    assert_eq!(kind(&[0, 1, 0, 0, 0, 0]), wrong, "no runs");
    assert_eq!(kind(&[0, 1, 0, 0, 0, 1, 0, 0, 9]), wrong, "an empty run");
    assert_eq!(kind(&[0, 1, 0, 0, 0, 1, 0xff, 0xff, 1, 2, 9]), wrong, "beyond the chunk");
    assert_eq!(kind(&[0, 1, 0, 0, 0, 1, 0, 1, 0x80, 2]), wrong, "256 in one byte");
    assert_eq!(kind(&[0, 1, 0, 0, 0, 2, 0, 1, 9, 0, 1, 9]), wrong, "two runs that are one");
    let long = [&[3, 0, 0, 0, 0, 0x81, 0x80, 4][..], &[1; 65_537]].concat();
    assert_eq!(kind(&long), wrong, "too many bytes");
}

#[test]
fn operations_that_fit_no_channel_are_refused() {
    let (grid, mut channels, mut editor) = (VoxelGrid::default(), channels(), Editor::default());
    let mut refused = |op: &ValueOp| {
        let before = channels.snapshot();
        let refused = editor.apply_values(&grid, &mut channels, op, None);
        assert_eq!(channels.snapshot(), before);
        refused.expect_err("it does not fit").to_string()
    };
    assert_eq!(
        refused(&ball(4, [0.0; 3], 3.0, 1)),
        "there is no channel 4; 4 are declared, with numbers from 0 on"
    );
    assert_eq!(
        refused(&ball(0, [0.0; 3], 3.0, 256)),
        "the value is 256; it must be 0 to 255, as the channel holds"
    );
    assert!(refused(&ball(3, [0.0; 3], 3.0, 1)).starts_with("the channel holds bytes of chunks"));
    let bytes = |channel, count, x| {
        let chunk = ChunkPos::new(x, 0, 0);
        ValueOp::Bytes { channel, chunk, bytes: vec![1; count] }
    };
    assert!(refused(&bytes(0, 1, 0)).starts_with("the channel holds numbers"));
    assert_eq!(
        refused(&bytes(3, ChannelChunk::MAX_BYTES + 1, 0)),
        "the number of bytes of the chunk is 65537; it must be at most 65536"
    );
    assert!(refused(&bytes(3, 1, i32::MAX)).contains("limits"));
    assert!(refused(&ball(0, [f64::NAN, 0.0, 0.0], 3.0, 1)).contains("finite"));
    assert!(refused(&ball(0, [f64::from(LIMIT), 0.0, 0.0], 3.0, 1)).contains("limits"));
    assert!(refused(&ball(0, [0.0; 3], 2000.0, 1)).contains("cells"));
    // At the limits.
    let corner = ball(0, [f64::from(LIMIT) - 3.0; 3], 3.0, 1);
    let region = editor.apply_values(&grid, &mut channels, &corner, None).unwrap();
    assert_eq!(region.max, VoxelPos::splat(LIMIT));
}

#[test]
fn limits_hold_for_values_as_for_cells() {
    let limits = EditLimits { max_cells: 1 << 12, ..EditLimits::default() };
    let (grid, mut channels, mut editor) = (VoxelGrid::default(), channels(), Editor::new(limits));
    editor.apply_values(&grid, &mut channels, &ball(0, [0.0; 3], 8.0, 1), None).unwrap();
    let refused = editor.apply_values(&grid, &mut channels, &ball(0, [0.0; 3], 8.6, 1), None);
    assert!(matches!(refused, Err(EditError::TooCostly { .. })), "{refused:?}");
    let cost = editor.estimate_values(&ball(0, [0.0; 3], 8.0, 1)).unwrap();
    assert_eq!((cost.cells, cost.chunks), (1 << 12, 8));
    let near = editor.estimate_values(&ball(0, [16.0; 3], 8.0, 1)).unwrap();
    assert!(near.work < cost.work && near.work > 1 << 17, "{near:?}");
}

#[test]
fn materials_need_cells_that_are_held() {
    let unlisted = UnlistedChunks::Unknown;
    let grid = VoxelGrid::new(GridOptions { unlisted, ..GridOptions::default() });
    let (mut channels, mut editor) = (channels(), Editor::default());
    let mut op = ball(0, [0.0; 3], 3.0, 1);
    editor.apply_values(&grid, &mut channels, &op, None).unwrap();
    let ValueOp::Brush { materials, .. } = &mut op else { panic!("it is a brush") };
    materials.push(8);
    let refused = editor.apply_values(&grid, &mut channels, &op, None);
    assert!(matches!(refused, Err(EditError::NotHeld(_))), "{refused:?}");
}

#[test]
fn longer_lists_of_materials_than_there_are_materials_are_refused() {
    let (grid, mut channels) = (VoxelGrid::default(), channels());
    for (count, is_allowed) in [(256, true), (257, false), (130_000, false)] {
        let mut op = ball(0, [0.0; 3], 3.0, 1);
        let ValueOp::Brush { materials, .. } = &mut op else { panic!("it is a brush") };
        *materials = vec![0; count];
        let applied = Editor::default().apply_values(&grid, &mut channels, &op, None);
        assert_eq!(applied.is_ok(), is_allowed, "{count}");
        if let Err(error) = applied {
            assert!(error.to_string().contains("256"), "{error}");
        }
        assert_eq!(channels.value(0, VoxelPos::ZERO), 1, "the first has changed it");
    }
}

#[test]
fn whole_chunks_of_one_value_stay_that() {
    let (mut channels, mut history) = (channels(), History::default());
    let brush = Brush::Box { centre: [0.0; 3], half: [64.0; 3], rotation: Brush::NO_ROTATION };
    apply(&mut channels, &ValueOp::brush(0, brush, ValueAction::Set { value: 3 }), &mut history);
    assert_eq!(channels.chunks(0).len(), 64);
    let held = |chunk: ChunkPos| channels.chunk(0, chunk).and_then(ChannelChunk::uniform_value);
    assert!(channels.chunks(0).into_iter().all(|chunk| held(chunk) == Some(3)));
    assert!(history.stats().bytes < 64 * 150, "{:?}", history.stats());
}
