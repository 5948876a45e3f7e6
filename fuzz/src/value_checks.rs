//! Checks of the code of channels, and of undo in a world that has some.

use terravox::codec::ValueRle;
use terravox::edit::History;
use terravox::voxel::{Channel, ChannelGrid, ChannelWidth, MipRule, VoxelGrid};

const WIDTHS: [ChannelWidth; 3] = [ChannelWidth::U8, ChannelWidth::U16, ChannelWidth::U32];

/// The first byte is the width of the numbers; their code follows.
pub fn values(bytes: &[u8]) {
    let [width, code @ ..] = bytes else { return };
    let coder = ValueRle { width: WIDTHS[usize::from(width % 3)] };
    let Ok(chunk) = coder.decode(code) else { return };
    assert!(chunk.memory_bytes() <= 8 * code.len());
    let mut encoded = Vec::new();
    coder.encode(&chunk, &mut encoded);
    assert!(encoded.len() <= coder.max_bytes());
    assert_eq!(coder.decode(&encoded).as_ref(), Ok(&chunk));
}

/// Undoes strokes, of which those of channels may not fit the world. An undo is the same after a
/// redo.
pub fn undo(mut history: History, may_not_fit: bool) {
    let (mut grid, mut channels) = (VoxelGrid::default(), channels());
    for _ in 0..history.stats().undoable.min(8) {
        if let Err(error) = history.undo_with(&mut grid, &mut channels) {
            return assert!(may_not_fit, "{error}");
        }
        let undone = (grid.digest(), channels.snapshot());
        history.redo_with(&mut grid, &mut channels).expect("it was undone");
        history.undo_with(&mut grid, &mut channels).expect("it was undone");
        assert_eq!((grid.digest(), channels.snapshot()), undone);
    }
}

/// Channels of all kinds.
fn channels() -> ChannelGrid {
    let mut channels = ChannelGrid::default();
    for number in 0..ChannelGrid::MAX_CHANNELS {
        let name = number.to_string();
        let channel = match WIDTHS.get(number % 4) {
            Some(&width) => Channel::values(name, width, MipRule::Max),
            None => Channel::bytes(name),
        };
        channels.declare(channel).expect("there is room");
    }
    channels
}
