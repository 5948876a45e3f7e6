//! Channels against the map of voxels, and what the documentation promises.

use super::chunk::{CHUNK_VOXELS, ChannelChunk, ValueRun};
use super::naive::NaiveChannel;
use super::{Channel, ChannelError, ChannelGrid, ChannelWidth, MipRule};
use crate::voxel::{CHANGE_LOG_LENGTH, ChangeCursor, Changes, ChunkPos, LIMIT, Region, VoxelPos};
use proptest::prelude::*;

const RULES: [MipRule; 5] =
    [MipRule::Max, MipRule::Min, MipRule::Mean, MipRule::MeanPresent, MipRule::MostFrequent];

fn grid_of(rule: MipRule, width: ChannelWidth) -> ChannelGrid {
    let mut grid = ChannelGrid::default();
    assert_eq!(grid.declare(Channel::values("test", width, rule)), Ok(0));
    grid
}

/// A box of values: its lowest voxel, its size, and how values follow from positions.
fn boxes() -> impl Strategy<Value = Vec<([i32; 3], [i32; 3], u32, u32)>> {
    let at = proptest::array::uniform3(-70..70i32);
    let size = proptest::array::uniform3(1..45i32);
    proptest::collection::vec((at, size, 1..6u32, 0..300u32), 1..6)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn reads_at_every_mip_are_those_of_the_slow_twin(
        boxes in boxes(),
        rule in 0..5usize,
        mip in 0..=8u8,
        min in proptest::array::uniform3(-5..3i32),
        size in proptest::array::uniform3(1..5i32),
    ) {
        let (mut grid, mut slow) = (grid_of(RULES[rule], ChannelWidth::U16), NaiveChannel::default());
        for (at, size, every, value) in boxes {
            let region = Region::new(at, [0, 1, 2].map(|i| at[i] + size[i]));
            let of = |pos: VoxelPos| {
                let number = (pos.x.wrapping_mul(31) ^ pos.y.wrapping_mul(7) ^ pos.z) as u32;
                if number.is_multiple_of(every) { value + number % 3 } else { 0 }
            };
            let values: Vec<u32> = region.voxels().map(of).collect();
            grid.write(0, region, &values);
            region.voxels().zip(values).for_each(|(pos, value)| slow.set(pos, value));
        }
        // Few cells at coarse mips: the twin looks at each voxel.
        let edge = if mip > 6 { 1 } else if mip > 4 { 2 } else { 5 };
        let region = Region::new(min, [0, 1, 2].map(|i| min[i] + size[i].min(edge)));
        let mut read = Vec::new();
        grid.read(0, region, mip, &mut read);
        prop_assert_eq!(read, slow.read(region, mip, RULES[rule]));
    }

    #[test]
    fn the_form_of_a_chunk_follows_from_its_values(
        runs in proptest::collection::vec((1..4000usize, 0..3u32), 1..40),
        noise in 0..70_000u32,
    ) {
        let mut values: Vec<u32> =
            runs.into_iter().flat_map(|(count, value)| vec![value; count]).collect();
        values.resize(CHUNK_VOXELS, 0);
        if noise > 1 {
            let noisy = values.iter_mut().take(noise as usize % CHUNK_VOXELS).enumerate();
            noisy.for_each(|(i, value)| *value = (i as u32).wrapping_mul(2_654_435_761) % noise);
        }
        let listed = values.iter().enumerate();
        let listed = listed.map(|(i, &value)| ValueRun { start: i as u16, value }).collect();
        let (chunk, same) = (ChannelChunk::of_values(&values), ChannelChunk::of_runs(listed));
        prop_assert_eq!(&chunk, &same);
        let Some(chunk) = chunk else {
            prop_assert!(values.iter().all(|&value| value == 0));
            return Ok(());
        };
        let mut unpacked = vec![7];
        chunk.unpack(&mut unpacked);
        prop_assert_eq!(&unpacked, &values);
        let mut runs = Vec::new();
        chunk.each_run(|value, count| runs.push((value, count)));
        prop_assert!(runs.windows(2).all(|pair| pair[0].0 != pair[1].0));
        let again: Vec<u32> =
            runs.iter().flat_map(|&(value, count)| vec![value; count]).collect();
        prop_assert_eq!(&again, &values);
        let max = values.iter().max().copied().unwrap_or(0);
        prop_assert_eq!(chunk.max_value(), max);
        prop_assert!((0..CHUNK_VOXELS).step_by(97).all(|i| chunk.value(i) == values[i]));
        prop_assert!(chunk.memory_bytes() <= 8 * runs.len());
        prop_assert!(chunk.memory_bytes() <= 4 * CHUNK_VOXELS);
    }
}

#[test]
fn rules_of_coarse_values_treat_0_as_the_documentation_says() {
    let cases = [
        (MipRule::Max, 9),
        (MipRule::Min, 2),
        (MipRule::Mean, 2),        // 15 / 8 = 1.875
        (MipRule::MeanPresent, 4), // 15 / 4 = 3.75
        (MipRule::MostFrequent, 2),
    ];
    for (rule, expected) in cases {
        let mut grid = grid_of(rule, ChannelWidth::U8);
        grid.write(0, Region::new([-2, -2, -2], [0, 0, 0]), &[0, 2, 9, 0, 2, 0, 2, 0]);
        let mut read = Vec::new();
        grid.read(0, Region::new([-1, -1, -1], [1, 0, 0]), 1, &mut read);
        assert_eq!(read, [expected, 0], "{rule:?}");
    }
    // Half is rounded up; the least of several values wins.
    let mut grid = grid_of(MipRule::Mean, ChannelWidth::U8);
    grid.set(0, VoxelPos::ZERO, 4);
    let mut read = Vec::new();
    grid.read(0, Region::one(VoxelPos::ZERO), 1, &mut read);
    assert_eq!(read, [1]);
    let mut grid = grid_of(MipRule::MostFrequent, ChannelWidth::U32);
    grid.write(0, Region::new([0, 0, 0], [2, 1, 1]), &[u32::MAX, 7]);
    grid.read(0, Region::one(VoxelPos::ZERO), 8, &mut read);
    assert_eq!(read, [7]);
}

#[test]
fn the_largest_values_of_the_largest_cell_do_not_overflow() {
    for (rule, value) in [(MipRule::Mean, u32::MAX), (MipRule::MeanPresent, u32::MAX)] {
        let mut grid = grid_of(rule, ChannelWidth::U32);
        for chunk in Region::new([0; 3], [256; 3]).blocks::<5>() {
            grid.load(0, chunk, ChannelChunk::uniform(value).expect("not 0"));
        }
        let mut read = Vec::new();
        grid.read(0, Region::one(VoxelPos::ZERO), 8, &mut read);
        assert_eq!(read, [value], "{rule:?}");
    }
}

#[test]
fn values_reach_to_the_limits_and_beyond_there_is_nothing() {
    let mut grid = grid_of(MipRule::Max, ChannelWidth::U8);
    let (low, high) = (VoxelPos::splat(-LIMIT), VoxelPos::splat(LIMIT - 1));
    grid.set(0, low, 1);
    grid.set(0, high, 2);
    assert_eq!((grid.value(0, low), grid.value(0, high)), (1, 2));
    assert_eq!(grid.value(0, VoxelPos::splat(LIMIT)), 0);
    assert_eq!(grid.value(0, VoxelPos::splat(i32::MAX)), 0);
    let mut read = Vec::new();
    let around = |pos: VoxelPos| Region::one(pos).grow(1);
    grid.read(0, around(VoxelPos::splat(LIMIT >> 8)), 8, &mut read);
    assert_eq!(read.iter().sum::<u32>(), 2);
    grid.read(0, around(VoxelPos::splat(i32::MIN + 4)), 8, &mut read);
    assert_eq!(read, [0; 27]);
    grid.read(0, Region::default(), 3, &mut read);
    assert!(read.is_empty());
}

#[test]
fn one_voxel_takes_24_bytes_and_removed_values_take_none() {
    let mut grid = grid_of(MipRule::Max, ChannelWidth::U32);
    grid.set(0, VoxelPos::new(5, -3, 40), 1 << 20);
    let chunk = ChunkPos::new(0, -1, 1);
    assert_eq!(grid.chunk(0, chunk).map(ChannelChunk::memory_bytes), Some(24));
    assert_eq!(grid.chunks(0), [chunk]);
    grid.write(0, chunk.region(), &vec![3; CHUNK_VOXELS]);
    assert_eq!(grid.chunk(0, chunk).map(ChannelChunk::memory_bytes), Some(0));
    grid.write(0, chunk.region(), &vec![0; CHUNK_VOXELS]);
    assert_eq!((grid.chunks(0), grid.memory_bytes()), (Vec::new(), 0));
    assert_eq!(grid.snapshot(), grid_of(MipRule::Max, ChannelWidth::U32).snapshot());
}

#[test]
fn declarations_are_checked_and_may_be_repeated() {
    let mut grid = ChannelGrid::default();
    let heat = Channel::values("heat", ChannelWidth::U8, MipRule::Max);
    assert_eq!(grid.declare(heat.clone()), Ok(0));
    assert_eq!(grid.declare(Channel::bytes("spawns")), Ok(1));
    assert_eq!(grid.declare(heat.clone()), Ok(0));
    let wider = Channel::values("heat", ChannelWidth::U16, MipRule::Max);
    assert_eq!(grid.declare(wider.clone()), Err(ChannelError::Declared(heat.clone())));
    assert!(ChannelGrid::of_saved([heat, wider]).is_err());
    assert_eq!(grid.declare(Channel::bytes("")), Err(ChannelError::Name { bytes: 0 }));
    let long = Channel::bytes("é".repeat(33));
    assert_eq!(grid.declare(long), Err(ChannelError::Name { bytes: 66 }));
    for number in 2..ChannelGrid::MAX_CHANNELS {
        assert_eq!(grid.declare(Channel::bytes(number.to_string())), Ok(number as u8));
    }
    let error = grid.declare(Channel::bytes("more")).expect_err("one too many");
    let text = "there is no room for channel \"more\": a world has at most 16 channels";
    assert_eq!(error.to_string(), text);
    assert_eq!((grid.number("15"), grid.number("more")), (Some(15), None));
}

#[test]
fn what_was_written_is_unsaved_until_that_state_is_saved() {
    let mut grid = grid_of(MipRule::Max, ChannelWidth::U8);
    assert!(!grid.is_saved(), "the declaration is not");
    let declared = grid.unsaved();
    assert!(!declared.is_empty());
    assert_eq!(declared.chunks().len(), 0);
    grid.mark_saved(&declared);
    assert!(grid.is_saved());
    grid.set(0, VoxelPos::ZERO, 1);
    let first = grid.unsaved();
    grid.set(0, VoxelPos::ZERO, 2);
    grid.mark_saved(&first);
    assert!(!grid.is_saved(), "it was written again");
    let second = grid.unsaved();
    assert_eq!(second.snapshot().value(0, VoxelPos::ZERO), 2);
    grid_of(MipRule::Max, ChannelWidth::U8).mark_saved(&second); // another grid
    grid.mark_saved(&second);
    assert!(grid.is_saved());
    grid.set(0, VoxelPos::ZERO, 2);
    assert!(grid.is_saved(), "nothing changed");
    let chunk = ChannelChunk::uniform(4).expect("not 0");
    grid.load(0, ChunkPos::new(7, 0, 0), chunk.clone());
    assert!(grid.is_saved(), "a store has it");
    grid.set(0, VoxelPos::ZERO, 3);
    grid.load(0, ChunkPos::new(0, 0, 0), chunk);
    assert_eq!(grid.value(0, VoxelPos::ZERO), 3, "what is unsaved stays");
}

#[test]
fn going_back_to_a_snapshot_leaves_unsaved_what_differs() {
    let mut grid = grid_of(MipRule::Max, ChannelWidth::U8);
    let spawns = grid.declare(Channel::bytes("spawns")).unwrap();
    let [near, far] = [ChunkPos::new(0, 0, 0), ChunkPos::new(-3, 400, 9)];
    grid.set(0, VoxelPos::ZERO, 7);
    grid.set(0, far.min_voxel(), 8);
    grid.set_bytes(spawns, far, b"goats").unwrap();
    let before = grid.snapshot();
    let saved = grid.unsaved();
    grid.mark_saved(&saved);
    let ore = grid.declare(Channel::values("ore", ChannelWidth::U16, MipRule::Mean)).unwrap();
    grid.set(ore, VoxelPos::ZERO, 500);
    grid.set(0, VoxelPos::ZERO, 0);
    grid.set(0, VoxelPos::new(40, 0, 0), 1);
    grid.set_bytes(spawns, near, b"one").unwrap();
    let saved = grid.unsaved();
    grid.mark_saved(&saved);
    grid.restore(&before).unwrap();
    let mut chunks = Vec::from_iter(grid.unsaved().chunks());
    chunks.sort_unstable();
    let changed = [(0, near), (0, ChunkPos::new(1, 0, 0)), (spawns, near), (ore, near)];
    assert_eq!(chunks, changed);
    assert_eq!(grid.channels().len(), 3);
    assert!(grid.chunks(ore).is_empty());
    // A world that had less, and another world.
    let mut new = ChannelGrid::default();
    new.restore(&grid.snapshot()).unwrap();
    assert_eq!(new.snapshot(), grid.snapshot());
    assert!(!new.is_saved());
    let mut other = ChannelGrid::default();
    other.declare(Channel::bytes("notes")).unwrap();
    assert!(matches!(other.restore(&before), Err(ChannelError::Declared(_))));
    assert_eq!(other.channels().len(), 1);
}

#[test]
fn changes_are_told_as_those_of_cells_are() {
    let mut grid = grid_of(MipRule::Max, ChannelWidth::U8);
    let mut cursor = ChangeCursor::default();
    assert_eq!(grid.changes_since(&mut cursor), Changes::Everything);
    grid.set(0, VoxelPos::new(-1, 0, 0), 1);
    let region = ChunkPos::new(-1, 0, 0).region();
    assert_eq!(grid.changes_since(&mut cursor), Changes::Regions(vec![region]));
    for i in 0..=CHANGE_LOG_LENGTH {
        grid.set(0, VoxelPos::ZERO, 1 + i as u32 % 2);
    }
    assert_eq!(grid.changes_since(&mut cursor), Changes::Everything);
}

#[test]
fn bytes_of_a_chunk_are_replaced_whole_and_bounded() {
    let mut grid = ChannelGrid::default();
    let spawns = grid.declare(Channel::bytes("spawns")).expect("there is room");
    let chunk = ChunkPos::new(-3, 0, 2);
    assert_eq!(grid.bytes(spawns, chunk), []);
    grid.set_bytes(spawns, chunk, b"goats").expect("few");
    let before = grid.snapshot();
    grid.set_bytes(spawns, chunk, &[1; ChannelChunk::MAX_BYTES]).expect("as many as there may be");
    let error = grid.set_bytes(spawns, chunk, &[1; ChannelChunk::MAX_BYTES + 1]);
    assert_eq!(error, Err(ChannelError::TooLong { bytes: 65_537 }));
    assert_eq!(
        (before.bytes(spawns, chunk), grid.bytes(spawns, chunk).len()),
        (&b"goats"[..], 65_536)
    );
    grid.set_bytes(spawns, chunk, b"").expect("none");
    assert!(grid.chunks(spawns).is_empty());
}

#[test]
#[should_panic(expected = "a value of 256 in channel 0, which holds 0 to 255")]
fn values_above_the_largest_are_a_bug_of_the_caller() {
    grid_of(MipRule::Max, ChannelWidth::U8).set(0, VoxelPos::ZERO, 256);
}

#[test]
#[should_panic(expected = "there is no channel 1; 1 are declared")]
fn a_channel_that_was_not_declared_is_a_bug_of_the_caller() {
    grid_of(MipRule::Max, ChannelWidth::U8).value(1, VoxelPos::ZERO);
}
