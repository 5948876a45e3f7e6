//! World files byte by byte: every checksum is right, what they say is not.
//!
//! `docs/format.md` has the format.

use xxhash_rust::xxh3::{Xxh3, xxh3_64, xxh3_64_with_seed};

const ID: u64 = 77;
const DATA_START: usize = 16384;

/// Longest node that is read.
const NODE_BYTES: usize = 16384;

const EXTRA: u8 = 1;
const CELLS: u8 = 2;
const LISTED: u8 = 3;

/// A key and its value, or a reference to what it leads to.
type ForgedItem = (Vec<u8>, ForgedContent);

#[derive(Clone)]
enum ForgedContent {
    Inline(Vec<u8>),
    /// A reference to a node or a value, as bytes.
    Reference(Vec<u8>),
}

/// Makes a file of a size.
type MakeFile = fn(usize) -> Vec<u8>;

/// Hostile worlds of a size, with their names.
pub const SHAPES: [(&str, MakeFile); 12] = [
    ("world: keys that are no positions", |n| world((0..n).map(|i| short(CELLS, i)).collect())),
    ("world: damaged chunks", |n| world((0..n).map(|i| (cell(0, i), inline(&[]))).collect())),
    ("world: damaged coarse blocks", |n| {
        world((0..n).map(|i| (cell(3, i), inline(&[]))).collect())
    }),
    ("world: chunks that are not listed", |n| {
        world((0..n).map(|i| (cell(0, i), rock(&cell(0, i)))).collect())
    }),
    ("world: uniform chunks", |n| listed_world(n, 0xFF)),
    ("world: listings of missing chunks", |n| {
        world((0..n).map(|i| (page(i), inline(&[0xFF; 64]))).collect())
    }),
    ("world: damaged listings", |n| world((0..n).map(|i| (page(i), inline(&[1]))).collect())),
    ("world: long names", |n| world((0..n).map(long_name).collect())),
    ("world: values beyond the end", |n| world((0..n).map(|i| (cell(0, i), beyond(i))).collect())),
    ("world: one value for all", shared_value),
    ("world: one node for all", shared_node),
    ("world: far pages", |n| world((0..n).map(|i| (far_cell(i), rock(&far_cell(i)))).collect())),
];

fn inline(bytes: &[u8]) -> ForgedContent {
    ForgedContent::Inline(bytes.to_owned())
}

/// A key of three bytes after its table.
fn short(table: u8, i: usize) -> ForgedItem {
    ([&[table][..], &(i as u32).to_be_bytes()[1..]].concat(), inline(&[]))
}

/// The key of a block of a mip, in Morton order from the origin on.
fn cell(mip: u8, i: usize) -> Vec<u8> {
    let mut key = vec![CELLS, mip, 0x38, 0, 0, 0, 0, 0];
    key.extend((i as u32).to_be_bytes());
    key
}

/// A chunk with much between it and the next.
fn far_cell(i: usize) -> Vec<u8> {
    let mut key = vec![CELLS, 0];
    key.extend(((0x38 << 72) + ((i as u128) << 45)).to_be_bytes()[6..].iter());
    key
}

fn page(i: usize) -> Vec<u8> {
    let mut key = vec![LISTED];
    key.extend(((0x38 << 72) + i as u128).to_be_bytes()[6..].iter());
    key
}

fn long_name(i: usize) -> ForgedItem {
    let mut key = vec![b'a'; 256];
    key[0] = EXTRA;
    key[253..].copy_from_slice(&(i as u32).to_be_bytes()[1..]);
    (key, inline(&[]))
}

/// A chunk of rock, valid.
fn rock(key: &[u8]) -> ForgedContent {
    let mut value = vec![1; 9];
    value.extend([0, 8]);
    let mut hash = Xxh3::new();
    hash.update(&key[1..]);
    hash.update(&value[..1]);
    hash.update(&value[9..]);
    value[1..9].copy_from_slice(&hash.digest().to_le_bytes());
    ForgedContent::Inline(value)
}

fn beyond(i: usize) -> ForgedContent {
    let mut reference = ((1u64 << 40) + 64 * i as u64).to_le_bytes().to_vec();
    reference.extend(50_000u32.to_le_bytes());
    reference.extend(7u64.to_le_bytes());
    ForgedContent::Reference(reference)
}

/// The description of a world of air.
fn description() -> Vec<u8> {
    let mut out = vec![3, 0, 0, 0, 0, 0, 0, 0, 0, 0];
    out.extend(1f64.to_le_bytes());
    out.extend([0; 24]);
    out.extend([0, 1, 0]);
    out.extend([0; 1 + 1 + 1 + 3 + 16]);
    out.push(0);
    let mut hash = Xxh3::new();
    hash.update(b"world");
    hash.update(&out[..2]);
    hash.update(&out[10..]);
    out[2..10].copy_from_slice(&hash.digest().to_le_bytes());
    out
}

/// A file that is being forged.
struct ForgedFile(Vec<u8>);

impl ForgedFile {
    fn put(&mut self, bytes: &[u8]) -> u64 {
        let at = self.0.len().next_multiple_of(64);
        self.0.resize(at, 0);
        self.0.extend_from_slice(bytes);
        at as u64
    }

    /// Puts a node, in one place for both copies; returns the item of its parent.
    fn node(&mut self, level: u8, items: &[ForgedItem]) -> ForgedItem {
        let bytes = encode(level, items);
        let at = self.put(&bytes);
        let mut reference = [at.to_le_bytes(), at.to_le_bytes()].concat();
        reference.extend((bytes.len() as u32).to_le_bytes());
        reference.extend(xxh3_64_with_seed(&bytes, ID).to_le_bytes());
        (items[0].0.clone(), ForgedContent::Reference(reference))
    }

    /// Puts nodes over sorted items until there is one, and the header.
    fn finish(mut self, mut items: Vec<ForgedItem>) -> Vec<u8> {
        let mut level = 0;
        while level == 0 || items.len() > 1 {
            let mut parents = Vec::new();
            let mut rest = &items[..];
            while !rest.is_empty() {
                let (own, next) = rest.split_at(fitting(rest));
                parents.push(self.node(level, own));
                rest = next;
            }
            (items, level) = (parents, level + 1);
        }
        self.header(&items[0])
    }

    /// Puts the header over a root.
    fn header(mut self, root: &ForgedItem) -> Vec<u8> {
        let end = self.0.len().next_multiple_of(64);
        self.0.resize(end, 0);
        let mut state = b"\x89TVX\r\n\x1a\n\x03\0\0\0\0\0\0\0".to_vec();
        for number in [ID, 3, end as u64, 9, 9] {
            state.extend(number.to_le_bytes());
        }
        match &root.1 {
            ForgedContent::Reference(root) | ForgedContent::Inline(root) => state.extend(root),
        }
        state.extend([0; 4]);
        state.extend(xxh3_64(&state).to_le_bytes());
        for at in [0, 8192] {
            self.0[at..at + state.len()].copy_from_slice(&state);
        }
        self.0
    }
}

/// Bytes of the prefix that sorted keys share.
fn prefix_of(items: &[ForgedItem]) -> usize {
    let (first, last) = (&items[0].0, &items[items.len() - 1].0);
    first.iter().zip(last).take_while(|(a, b)| a == b).count()
}

/// The number of items that fit into a node, by halves.
fn fitting(items: &[ForgedItem]) -> usize {
    let mut count = items.len().min(8192);
    while count > 1 && encode(0, &items[..count]).len() > NODE_BYTES {
        count = count * 3 / 4;
    }
    count
}

fn encode(level: u8, items: &[ForgedItem]) -> Vec<u8> {
    let prefix = prefix_of(items);
    let mut out = vec![level, 0];
    out.extend((items.len() as u16).to_le_bytes());
    out.extend((prefix as u16).to_le_bytes());
    out.extend_from_slice(&items[0].0[..prefix]);
    for (key, content) in items {
        let (length, bytes) = match content {
            ForgedContent::Inline(bytes) => (bytes.len() as u16, bytes),
            ForgedContent::Reference(bytes) => (127, bytes),
        };
        out.extend((length << 9 | (key.len() - prefix) as u16).to_le_bytes());
        out.extend_from_slice(&key[prefix..]);
        out.extend_from_slice(bytes);
    }
    out
}

/// A world of these items and a description.
fn world(items: Vec<ForgedItem>) -> Vec<u8> {
    world_in(ForgedFile(vec![0; DATA_START]), items)
}

fn world_in(mut file: ForgedFile, mut items: Vec<ForgedItem>) -> Vec<u8> {
    let description = description();
    for key in [0, 255] {
        let content = match description.len() {
            0..=96 => inline(&description),
            _ => value_in(&mut file, &description),
        };
        items.push((vec![key], content));
    }
    items.sort_by(|a, b| a.0.cmp(&b.0));
    file.finish(items)
}

fn value_in(file: &mut ForgedFile, value: &[u8]) -> ForgedContent {
    let mut reference = file.put(value).to_le_bytes().to_vec();
    reference.extend((value.len() as u32).to_le_bytes());
    reference.extend(xxh3_64_with_seed(value, ID).to_le_bytes());
    ForgedContent::Reference(reference)
}

/// Chunks of rock with their listings.
fn listed_world(n: usize, bits: u8) -> Vec<u8> {
    let chunks = (0..n).map(|i| (cell(0, i), rock(&cell(0, i))));
    let pages = (0..n.div_ceil(512)).map(|i| (page(i), inline(&[bits; 64])));
    world(chunks.chain(pages).collect())
}

/// Chunks whose value is one long one.
fn shared_value(n: usize) -> Vec<u8> {
    let mut file = ForgedFile(vec![0; DATA_START]);
    let value = value_in(&mut file, &vec![9; (n * 24).max(97)]);
    world_in(file, (0..n).map(|i| (cell(0, i), value.clone())).collect())
}

/// Levels of branches, all of whose items lead to the same child.
fn shared_node(n: usize) -> Vec<u8> {
    let mut file = ForgedFile(vec![0; DATA_START]);
    let leaf: Vec<ForgedItem> = (0..n.min(700)).map(|i| (cell(0, i), inline(&[]))).collect();
    let mut below = file.node(0, &leaf);
    let described = vec![(vec![0], inline(&description()))];
    let mut first = file.node(0, &described);
    for level in 1..16 {
        let items: Vec<ForgedItem> =
            (0..n.min(300)).map(|i| (cell(0, i), below.1.clone())).collect();
        below = file.node(level, &items);
        first = file.node(level, &[first]);
    }
    let root = file.node(16, &[first, below]);
    // As long as the size asks for.
    file.0.resize(file.0.len() + 64 * n, 0);
    file.header(&root)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trust::folder::BenchFolder;
    use terravox_store::Store;

    #[test]
    fn forged_worlds_open_and_hold_what_was_forged() {
        let folder = BenchFolder::in_memory("forged").unwrap();
        let path = folder.file("world.tvx");
        for (name, file) in SHAPES {
            std::fs::write(&path, file(1200)).unwrap();
            let store = Store::open_read_only(&path).unwrap_or_else(|e| panic!("{name}: {e}"));
            let bad = store.verify().unwrap().bad;
            assert!(!bad.is_empty(), "{name}");
        }
        std::fs::write(&path, listed_world(1024, 0xFF)).unwrap();
        let store = Store::open_read_only(&path).unwrap();
        assert_eq!(store.chunks().unwrap().len(), 1024);
        let loaded = store.load().unwrap();
        assert_eq!((loaded.bad.len(), loaded.grid.chunks().len()), (0, 1024));
    }
}
