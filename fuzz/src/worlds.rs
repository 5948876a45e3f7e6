//! The check of world files: a world is forged of what the bytes say, with right checksums, and is
//! then used in every way. The tests of `terravox-store` include this file, and replay seeds.

#[path = "../../crates/terravox-store/tests/it/forge/mod.rs"]
mod forge;

use forge::{
    CELLS, CHANNELS, EXTRA, ForgedContent, ForgedFile, LISTED, description,
    description_with_channels, inline, morton, sealed, sealed_description, value_in, world_in,
};
use std::collections::BTreeMap;
use std::sync::Arc;
use terravox::terrain::{TerrainOptions, UnsavedChanges};
use terravox::voxel::{
    Cell, ChannelSnapshot, ChunkPos, DenseBox, MipBlock, Region, VoxelGrid, VoxelPos,
};
use terravox_store::{MemoryDisk, Store, StoredPart};
use xxhash_rust::xxh3::xxh3_64;

/// Cells of a world that are loaded.
const LOADED_BYTES: u64 = 8 << 20;

/// Names of extra data that have a meaning.
const NAMES: [&str; 4] = ["undo", "bodies", "roblox", "journal/1"];

/// Any bytes: a file as it is, or what a forged world holds.
pub fn world_file(bytes: &[u8]) {
    match bytes.starts_with(b"\x89TVX") {
        true => use_world(bytes.to_vec()),
        false => use_world(forged(bytes)),
    }
}

/// Reads fields from the start of bytes; beyond their end all are zero.
struct Fields<'a>(&'a [u8]);

impl<'a> Fields<'a> {
    fn byte(&mut self) -> u8 {
        let Some((&byte, rest)) = self.0.split_first() else { return 0 };
        self.0 = rest;
        byte
    }

    fn word(&mut self) -> u16 {
        u16::from_le_bytes([self.byte(), self.byte()])
    }

    fn bytes(&mut self, length: usize) -> &'a [u8] {
        let (bytes, rest) = self.0.split_at(length.min(self.0.len()));
        self.0 = rest;
        bytes
    }

    fn position(&mut self) -> [i32; 3] {
        [0; 3].map(|_| i32::from(self.byte() as i8))
    }
}

/// A world: a byte of flags (it grows; its nodes have one copy; it has channels), then entries, each a byte that
/// says its kind, and its fields.
fn forged(bytes: &[u8]) -> Vec<u8> {
    let mut fields = Fields(bytes);
    let flags = fields.byte();
    let mut file = ForgedFile::new(flags & 2 == 0);
    let mut described = match flags & 4 {
        0 => description(flags & 1 != 0),
        _ => description_with_channels(flags & 1 != 0),
    };
    let mut entries: BTreeMap<Vec<u8>, ForgedContent> = BTreeMap::new();
    while !fields.0.is_empty() {
        let kind = fields.byte();
        match kind & 7 {
            // What a channel holds in a chunk, sealed: its number, position, codec and body.
            0 if kind & 8 != 0 => {
                let (channel, at) = (fields.byte() % 5, fields.position());
                let key = [&[CHANNELS][..], &morton(at), &[channel]].concat();
                let length = fields.word().into();
                let value = sealed(&key, fields.bytes(length));
                entries.insert(key, value_in(&mut file, &value));
            }
            // A block, sealed: its mip, position, codec and body.
            0 => {
                let key = block_key(fields.byte() % 10, fields.position());
                let length = fields.word().into();
                let value = sealed(&key, fields.bytes(length));
                entries.insert(key, value_in(&mut file, &value));
            }
            // Which chunks of a page are listed.
            1 => {
                let key = [&[LISTED][..], &morton(fields.position())].concat();
                let length = usize::from(fields.byte() % 80);
                entries.insert(key, inline(fields.bytes(length)));
            }
            // Extra data, perhaps sealed as a history is.
            2 => {
                let name = NAMES[usize::from(fields.byte()) % NAMES.len()];
                let length = fields.word().into();
                let rest = fields.bytes(length);
                let value = match kind & 8 {
                    0 => rest.to_vec(),
                    _ => [&[1][..], &xxh3_64(rest).to_le_bytes(), rest].concat(),
                };
                let key = [&[EXTRA][..], name.as_bytes()].concat();
                entries.insert(key, value_in(&mut file, &value));
            }
            // Any key and value.
            3 => {
                let length = usize::from(fields.byte());
                let key = fields.bytes(length).to_vec();
                let length = usize::from(fields.byte() % 97);
                entries.insert(key, inline(fields.bytes(length)));
            }
            // A uniform block, and the listing of all chunks of its page.
            4 => {
                let (mip, at) = (fields.byte() % 9, fields.position());
                let key = block_key(mip, at);
                let value = sealed(&key, &[0, fields.byte()]);
                entries.insert(key, inline(&value));
                let page = [&[LISTED][..], &morton(at.map(|v| v >> 3))].concat();
                entries.insert(page, inline(&[0xFF; 64]));
            }
            // A byte of a node.
            5 => file.changes.push((fields.byte(), fields.word(), fields.byte())),
            // A description.
            6 => {
                let length = fields.word().into();
                described = sealed_description(fields.bytes(length));
            }
            // A value that is where another one is: most overlap.
            _ => {
                let key = block_key(fields.byte() % 9, fields.position());
                let mut reference = (16384 + 64 * u64::from(fields.word())).to_le_bytes().to_vec();
                reference.extend(fields.bytes(12));
                reference.resize(20, 0);
                entries.insert(key, ForgedContent::Reference(reference));
            }
        }
    }
    entries.retain(|key, _| key != &[0] && key != &[255] && key.len() <= 256);
    world_in(file, &described, entries.into_iter().collect())
}

fn block_key(mip: u8, at: [i32; 3]) -> Vec<u8> {
    [&[CELLS, mip][..], &morton(at)].concat()
}

/// Reads a world, verifies, repairs and edits it, and reads it again.
fn use_world(file: Vec<u8>) {
    let store = match Store::open_on(Arc::new(MemoryDisk::from(file)), "fuzzed") {
        Ok(store) => store,
        Err(error) => return assert!(!error.to_string().contains('\n'), "{error}"),
    };
    read_all(&store);
    let found = store.verify().expect("a disk in memory");
    let (chunks, values) = (readable(&store), readable_values(&store));
    if found.bad.is_empty() {
        assert_eq!(chunks.len(), found.chunks, "a whole world is read");
    }
    let repaired = Arc::new(MemoryDisk::default());
    if let Ok(report) = store.repair_onto(repaired.clone(), 1, |request| request.set_missing()) {
        let repaired = Store::open_on(repaired, "repaired").expect("our own file");
        assert_eq!(repaired.verify().expect("a disk in memory").bad, [], "{found:?}, {report:?}");
        let kept = readable(&repaired);
        assert!(chunks.iter().all(|(at, sum)| kept.get(at) == Some(sum)), "a chunk is lost");
        assert!(has_values(&repaired, &values), "a value is lost");
    }
    // A new chunk, beside what is there.
    let at = ChunkPos::new(1, 1, 1);
    let mut grid = VoxelGrid::default();
    let mut cells = DenseBox::new(at.region());
    cells.set(at.region().min + VoxelPos::new(3, 4, 5), Cell::new(0, 0));
    grid.write(&cells).expect("a whole chunk");
    let unsaved = UnsavedChanges::from(grid.unsaved());
    if store.save(&unsaved, |request| request.set_missing()).is_err() {
        return;
    }
    let after = readable(&store);
    let is_kept = |(other, sum): (&ChunkPos, &u64)| *other == at || after.get(other) == Some(sum);
    assert!(chunks.iter().all(is_kept), "an edit costs another chunk");
    assert!(has_values(&store, &values), "an edit costs a value");
    let lost = |bad: &[terravox_store::BadPart]| {
        bad.iter().filter(|bad| matches!(bad.part, StoredPart::Chunk(_))).count()
    };
    let again = store.verify().expect("a disk in memory");
    assert!(lost(&again.bad) <= lost(&found.bad), "{:?} after {:?}", again.bad, found.bad);
}

/// Reads everything that there is to read.
fn read_all(store: &Store) {
    let mut cells = DenseBox::default();
    let _ =
        (store.stats(), store.chunks(), store.bodies(), store.history(1 << 20), store.channels());
    let _ = store.terrain(TerrainOptions::default());
    for name in store.extra_names().unwrap_or_default() {
        let _ = store.extra(&name);
    }
    for mip in 0..=8 {
        let _ = store.cells(Region::new([-40; 3], [40; 3]), mip, &mut cells);
        let _ = store.block(MipBlock { mip, pos: VoxelPos::ZERO }, &mut cells);
    }
}

/// What channels hold that can be read.
fn readable_values(store: &Store) -> ChannelSnapshot {
    let loaded = store.load_with(LOADED_BYTES, |_, _| {});
    loaded.map(|loaded| loaded.channels.snapshot()).unwrap_or_default()
}

/// Whether the channels of a store hold all that these do.
fn has_values(store: &Store, values: &ChannelSnapshot) -> bool {
    let held = readable_values(store);
    (0..values.channels().len() as u8).all(|channel| {
        let mut chunks = values.chunks(channel).into_iter();
        chunks.all(|chunk| held.chunk(channel, chunk) == values.chunk(channel, chunk))
    })
}

/// A sum of the cells of each chunk that can be read.
fn readable(store: &Store) -> BTreeMap<ChunkPos, u64> {
    let Ok(loaded) = store.load_with(LOADED_BYTES, |_, _| {}) else { return BTreeMap::new() };
    let mut cells = DenseBox::default();
    let mut sum = |chunk: ChunkPos| {
        loaded.grid.read(chunk.region(), 0, &mut cells).expect("a chunk that is held");
        let water: Vec<u8> = cells.water().iter().map(|entry| entry.1).collect();
        xxh3_64(&[cells.materials(), cells.occupancies(), &water].concat())
    };
    loaded.grid.chunks().into_iter().map(|chunk| (chunk, sum(chunk))).collect()
}
