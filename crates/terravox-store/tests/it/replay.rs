//! Runs the seeds and findings of the fuzz target of world files, without a fuzzer.

#[path = "../../../../fuzz/src/worlds.rs"]
mod worlds;

use std::fs;
use std::path::PathBuf;
use terravox::edit::{EditOp, Editor, History};
use terravox::voxel::VoxelGrid;

fn seeds() -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../fuzz/seeds/world_file"))
}

#[test]
#[ignore = "writes the seeds of the fuzz target"]
fn write_seeds() {
    let put = |name: &str, entries: &[&[u8]]| {
        fs::create_dir_all(seeds()).unwrap();
        fs::write(seeds().join(name), entries.concat()).unwrap();
    };
    // Runs of 256 cells of rock, whose first have another occupancy.
    let runs: Vec<u8> = (0..128).flat_map(|i| [0xC8, if i < 3 { 77 } else { 255 }, 255]).collect();
    let block = |mip: u8, at: [u8; 3], cells: &[u8]| {
        let length = (cells.len() as u16).to_le_bytes();
        [&[0, mip], &at[..], &length, cells].concat()
    };
    let rough = [&[1][..], &runs].concat();
    let uniform = [4, 0, 0, 0, 0, 8];
    put("uniform", &[&[0], &uniform, &[4, 0, 1, 0, 0, 0]]);
    put("rough", &[&[0], &block(0, [0; 3], &rough), &uniform, &block(1, [0; 3], &rough)]);
    put("grows", &[&[1], &block(0, [0; 3], &rough), &uniform, &block(1, [0; 3], &rough)]);
    put("listing", &[&[0], &[1, 0, 0, 0, 64], &[0xAA; 64], &uniform]);
    put("node", &[&[0], &uniform, &[5, 0, 2, 0, 7], &[3, 2, 9, 9, 3, 1, 2, 3]]);
    let (mut grid, mut history) = (VoxelGrid::default(), History::new(1 << 20));
    let ball = EditOp::fill_ball(8, [3.0; 3], 2.0);
    Editor::default().apply(&mut grid, &ball, &mut history).unwrap();
    let undo = &history.to_bytes()[9..];
    let extra = [&[10, 0], &(undo.len() as u16).to_le_bytes()[..], undo].concat();
    let bodies = [&[2, 1, 117, 0, 1, 1, 0, 0, 0][..], &[0; 112]].concat();
    let channel = |number: u8, body: &[u8]| {
        let length = (body.len() as u16).to_le_bytes();
        [&[8, number, 0, 0, 0], &length[..], body].concat()
    };
    let narrow = channel(0, &[1, 0, 9, 0xFF, 0x7D, 0x7F, 0]);
    let wide = channel(1, &[1, 0xFF, 0x7E, 0x7F, 1, 2, 3, 4]);
    put("channels", &[&[4], &narrow, &wide, &channel(2, b"\x01goats"), &uniform]);
    put("extras", &[&[0], &extra, &bodies, &uniform]);
}

#[test]
fn seeds_and_findings_of_world_files_pass_their_check() {
    let mut count = 0;
    for file in fs::read_dir(seeds()).expect("there are seeds") {
        let path = file.unwrap().path();
        eprintln!("{}", path.display());
        let bytes = fs::read(&path).unwrap();
        worlds::world_file(&bytes);
        for at in (0..bytes.len()).step_by(1 + bytes.len() / 12) {
            worlds::world_file(&bytes[..at]);
            let mut changed = bytes.clone();
            changed[at] ^= 1 << (at % 8);
            worlds::world_file(&changed);
        }
        count += 1;
    }
    assert!(count > 0);
}
