//! Terrain of real places: every file decodes to the cells that its index names and
//! comes out again byte by byte. Skipped, aloud, where the files are not there.

use sha2::{Digest, Sha256};
use std::path::PathBuf;
use terravox::voxel::{DenseBox, GridOptions, MaterialTable, VoxelGrid};
use terravox_io::ImportBudget;
use terravox_io::roblox::{self, Container, ImportOptions, RobloxMetadata, SmoothGridReader};

fn real_data() -> PathBuf {
    std::env::var_os("TERRAVOX_REAL_DATA").map_or_else(
        || PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/data")),
        PathBuf::from,
    )
}

/// Name, blob hash, decoded hash and number of chunks of each entry of the index.
fn index() -> Vec<(String, String, String, u64)> {
    let path = real_data().join("roblox/INDEX.json");
    let Ok(text) = std::fs::read_to_string(&path) else {
        eprintln!("skipped: no real places at {}", path.display());
        return Vec::new();
    };
    // One `"key": value` a line is all that is read of the JSON.
    let values = |key: &str| -> Vec<String> {
        let key = format!("\"{key}\":");
        let values = text.lines().filter_map(|line| line.trim().strip_prefix(&key));
        values.map(|v| v.trim().trim_end_matches(',').trim_matches('"').to_owned()).collect()
    };
    let (names, blobs) = (values("name"), values("sha256"));
    let (decoded, chunks) = (values("decoded_sha256"), values("chunks"));
    assert!(
        !names.is_empty() && [&blobs, &decoded, &chunks].iter().all(|v| v.len() == names.len())
    );
    let entry = |i: usize| {
        (names[i].clone(), blobs[i].clone(), decoded[i].clone(), chunks[i].parse().unwrap())
    };
    (0..names.len()).map(entry).collect()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn decoded_hash(blob: &[u8]) -> String {
    let table = MaterialTable::default();
    let mut reader = SmoothGridReader::new(blob, table.kinds()).unwrap();
    let mut budget = ImportBudget::for_input(blob.len());
    let (mut hash, mut cells) = (Sha256::new(), DenseBox::default());
    let mut bytes = Vec::new();
    while let Some(chunk) = reader.next_chunk(&mut cells, &mut budget).unwrap() {
        bytes.clear();
        bytes.extend([chunk.x, chunk.y, chunk.z].iter().flat_map(|v| v.to_le_bytes()));
        let start = bytes.len();
        let cell = cells.materials().iter().zip(cells.occupancies());
        bytes.extend(cell.flat_map(|(&material, &occupancy)| [material, occupancy, 0]));
        for &(cell, water) in cells.water() {
            bytes[start + 3 * cell as usize + 2] = water;
        }
        hash.update(&bytes);
    }
    hex(&hash.finalize())
}

#[test]
fn every_real_place_decodes_to_the_cells_of_its_index() {
    for (name, blob_hash, decoded, _) in index() {
        let blob = std::fs::read(real_data().join("roblox").join(&name)).unwrap();
        assert_eq!(hex(&Sha256::digest(&blob)), blob_hash, "{name}");
        assert_eq!(decoded_hash(&blob), decoded, "{name}");
    }
}

#[test]
fn every_real_place_comes_out_of_the_grid_byte_by_byte() {
    for (name, blob_hash, _, chunks) in index() {
        let stem = name.trim_end_matches("smoothgrid");
        for extension in ["smoothgrid", "rbxm", "rbxmx"] {
            let path = real_data().join("roblox").join(format!("{stem}{extension}"));
            let Ok(bytes) = std::fs::read(&path) else { continue };
            let mut grid = VoxelGrid::new(GridOptions::default());
            let imported = roblox::import(&bytes, &ImportOptions::default(), &mut grid).unwrap();
            assert_eq!(imported.chunks, chunks, "{}", path.display());
            assert_eq!(imported.notes, Vec::<String>::new());
            assert_eq!(imported.metadata.colours.is_some(), extension != "smoothgrid");
            let kept = RobloxMetadata::from_bytes(&imported.metadata.to_bytes()).unwrap();
            let blob = roblox::export(grid.as_snapshot(), &kept, Container::SmoothGrid).unwrap();
            assert_eq!(hex(&Sha256::digest(&blob)), blob_hash, "{}", path.display());
            if extension != "smoothgrid" && blob.len() < 400_000 {
                round_trip_model(&grid, &kept);
                replace_terrain(&bytes, &mut grid, &kept);
            }
        }
    }
}

/// An edited grid goes into the file that it came from, of which nothing else changes.
fn replace_terrain(file: &[u8], grid: &mut VoxelGrid, metadata: &RobloxMetadata) {
    let first = grid.chunks()[0];
    let mut cells = DenseBox::new(first.region());
    cells.fill(3);
    grid.write(&cells).unwrap();
    let mut budget = ImportBudget::for_input(file.len());
    let after = roblox::export_into(grid.as_snapshot(), metadata, file, &mut budget).unwrap();
    assert_eq!(without_smooth_grid(&after), without_smooth_grid(file), "other bytes changed");
    let mut again = VoxelGrid::new(GridOptions::default());
    roblox::import(&after, &ImportOptions::default(), &mut again).unwrap();
    assert_eq!(again.digest(), grid.digest());
}

/// Returns a file without the chunk or element of its SmoothGrid.
fn without_smooth_grid(file: &[u8]) -> Vec<u8> {
    if file.starts_with(b"<roblox!") {
        let (mut out, mut at) = (file[..32].to_vec(), 32);
        while at < file.len() {
            let word = |i: usize| u32::from_le_bytes(file[at + i..at + i + 4].try_into().unwrap());
            let (packed, length) = (word(4) as usize, word(8) as usize);
            let end = at + 16 + if packed == 0 { length } else { packed };
            // The first bytes of a block are literals.
            let start = &file[at..end.min(at + 48)];
            let is_terrain = start.windows(10).any(|window| window == b"SmoothGrid");
            out.extend(if is_terrain { &[][..] } else { &file[at..end] });
            at = end;
        }
        return out;
    }
    let find = |what: &[u8], from: usize| {
        from + file[from..].windows(what.len()).position(|window| window == what).unwrap()
    };
    let start = find(b"<BinaryString name=\"SmoothGrid\"", 0);
    let end = find(b"</BinaryString>", start);
    [&file[..start], &file[end..]].concat()
}

/// A model of ours holds the same grid and colours as the file it came from.
fn round_trip_model(grid: &VoxelGrid, metadata: &RobloxMetadata) {
    for container in [Container::Binary, Container::Xml] {
        let model = roblox::export(grid.as_snapshot(), metadata, container).unwrap();
        let mut again = VoxelGrid::new(GridOptions::default());
        let imported = roblox::import(&model, &ImportOptions::default(), &mut again).unwrap();
        assert_eq!(&imported.metadata, metadata, "MaterialColors come out byte by byte");
        assert_eq!(again.digest(), grid.digest());
    }
}
