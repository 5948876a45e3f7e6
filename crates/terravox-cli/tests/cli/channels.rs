//! Worlds with channels: listed, edited, undone, copied, compacted and repaired without loss.

use super::{Folder, files};
use serde_json::json;
use terravox::voxel::{
    Channel, ChannelGrid, ChannelSnapshot, ChannelWidth, ChunkPos, MipRule, Region, VoxelPos,
};
use terravox_store::Store;

const HEAT: u8 = 0;

/// A folder with a world of voxels of two metres that has channels.
fn world() -> (Folder, ChannelSnapshot) {
    let folder = Folder::new();
    folder.put("in.smoothgrid", &files::smooth_grid(&[[0, 0, 0]]));
    folder.report(&["import", "in.smoothgrid", "w.tvx", "--voxel-size", "2"]);
    let mut channels = ChannelGrid::default();
    let heat = Channel::values("heat", ChannelWidth::U8, MipRule::Max);
    assert_eq!(channels.declare(heat), Ok(HEAT));
    let spawns = channels.declare(Channel::bytes("spawns")).expect("there is room");
    channels.write(HEAT, Region::new([0; 3], [40, 1, 1]), &[9; 40]);
    channels.set_bytes(spawns, ChunkPos::new(3, 0, 0), b"goats").expect("few");
    let store = Store::open(folder.path("w.tvx")).expect("it was imported");
    store.write_channels(&channels.snapshot()).expect("it is written");
    (folder, channels.snapshot())
}

fn held(folder: &Folder, name: &str) -> ChannelSnapshot {
    let store = Store::open_read_only(folder.path(name)).expect("a world");
    assert_eq!(store.verify().expect("it can be read").bad, []);
    store.channels().expect("they are whole").snapshot()
}

#[test]
fn channels_are_listed_and_survive_every_command() {
    let (folder, before) = world();
    let info = folder.report(&["info", "w.tvx"]);
    let expected = json!([
        { "name": "heat", "bits": 8, "chunks": 2 },
        { "name": "spawns", "bits": null, "chunks": 1 },
    ]);
    assert_eq!(info["channels"], expected, "{info}");
    folder.report(&["edit", "w.tvx", "fill Rock ball 0,0,0 r=6"]);
    folder.report(&["compact", "w.tvx"]);
    folder.report(&["copy", "w.tvx", "copy.tvx"]);
    folder.report(&["repair", "w.tvx"]);
    assert_eq!(held(&folder, "w.tvx"), before);
    assert_eq!(held(&folder, "copy.tvx"), before);
}

#[test]
fn a_script_changes_values_and_undo_restores_them() {
    let (folder, before) = world();
    let script = r#"
# Metres: voxels 10 to 13 along x.
{"values":{"brush":{"channel":0,"brush":{"box":{"centre":[24,1,1],"half":[4,1,1]}},"action":{"add":{"amount":250}}}}}
dig ball 0,0,0 r=4
"#;
    folder.put("ops.jsonl", script.as_bytes());
    let report = folder.report(&["edit", "w.tvx", "--script", "ops.jsonl"]);
    assert_eq!(report["operations"], 2);
    let value = |x| held(&folder, "w.tvx").value(HEAT, VoxelPos::new(x, 0, 0));
    assert_eq!([9, 10, 13, 14].map(value), [9, 255, 255, 9]);
    folder.report(&["edit", "w.tvx", "--undo", "2"]);
    assert_eq!(held(&folder, "w.tvx"), before);
    folder.report(&["edit", "w.tvx", "--redo", "1"]);
    assert_eq!([9, 10].map(value), [9, 255]);
    // A channel that is not there: nothing is done.
    let wrong = script.replace("\"channel\":0", "\"channel\":7");
    folder.put("ops.jsonl", wrong.as_bytes());
    let words = ["line 3", "there is no channel 7; 2 are declared"];
    folder.refused(&["edit", "w.tvx", "--script", "ops.jsonl"], &words);
}
