//! World files byte by byte: every checksum is right, what they say is not. For the tests of this
//! crate, the benchmarks and the fuzz target.
//!
//! `docs/format.md` has the format.

#![allow(dead_code)]

use xxhash_rust::xxh3::{Xxh3, xxh3_64, xxh3_64_with_seed};

const ID: u64 = 77;
pub const DATA_START: usize = 16384;

/// Longest node that is read.
const NODE_BYTES: usize = 16384;

pub const EXTRA: u8 = 1;
pub const CELLS: u8 = 2;
pub const LISTED: u8 = 3;
pub const CHANNELS: u8 = 4;

/// A key and its value, or a reference to what it leads to.
pub type ForgedItem = (Vec<u8>, ForgedContent);

#[derive(Clone)]
pub enum ForgedContent {
    Inline(Vec<u8>),
    /// A reference to a node or a value, as bytes.
    Reference(Vec<u8>),
}

pub fn inline(bytes: &[u8]) -> ForgedContent {
    ForgedContent::Inline(bytes.to_owned())
}

/// A key of three bytes after its table.
pub fn short(table: u8, i: usize) -> ForgedItem {
    ([&[table][..], &(i as u32).to_be_bytes()[1..]].concat(), inline(&[]))
}

/// A chunk with much between it and the next.
pub fn far_cell(i: usize) -> Vec<u8> {
    block(0, (i as u128) << 45)
}

pub fn page(i: usize) -> Vec<u8> {
    let mut key = vec![LISTED];
    key.extend(((0x38 << 72) + i as u128).to_be_bytes()[6..].iter());
    key
}

pub fn long_name(i: usize) -> ForgedItem {
    let mut key = vec![b'a'; 256];
    key[0] = EXTRA;
    key[253..].copy_from_slice(&(i as u32).to_be_bytes()[1..]);
    (key, inline(&[]))
}

/// The key of block `number` of a mip, in Morton order from the origin on.
pub fn block(mip: u8, number: u128) -> Vec<u8> {
    let mut key = vec![CELLS, mip];
    key.extend(&((0x38 << 72) + number).to_be_bytes()[6..]);
    key
}

/// The Morton number of a block, as ten bytes of a key.
pub fn morton(at: [i32; 3]) -> [u8; 10] {
    let spread = |v: i32| {
        let biased = (v.wrapping_add(1 << 25)) as u32;
        (0..26).fold(0u128, |out, bit| out | u128::from(biased >> bit & 1) << (3 * bit))
    };
    let number = spread(at[0]) | spread(at[2]) << 1 | spread(at[1]) << 2;
    let mut bytes = [0; 10];
    bytes.copy_from_slice(&number.to_be_bytes()[6..]);
    bytes
}

/// A chunk of rock, valid.
pub fn rock(key: &[u8]) -> ForgedContent {
    inline(&sealed(key, &[0, 8]))
}

/// A chunk of one material, written as runs and packed: valid, though no encoder writes it.
pub fn rock_runs(key: &[u8], material: u8) -> ForgedContent {
    let run = [material | 0x80, 0xFF];
    // 128 runs of 256 cells; the last six are the tail.
    let mut cells = vec![2];
    cells.extend(256u32.to_le_bytes());
    cells.extend(lz4_repeat(&run, 2, 2 * (128 - 1 - 6), &run.repeat(6)));
    inline(&sealed(key, &cells))
}

/// The value of a block whose codec and body are `cells`.
pub fn sealed(key: &[u8], cells: &[u8]) -> Vec<u8> {
    let mut hash = Xxh3::new();
    hash.update(&key[1..]);
    hash.update(&[1]);
    hash.update(cells);
    [&[1][..], &hash.digest().to_le_bytes(), cells].concat()
}

/// A block that is not uniform, in about 50 bytes: runs of `run` cells, of which the first tell the
/// number `i`, packed.
pub fn rough(key: &[u8], i: usize, run: usize) -> ForgedContent {
    let whole = [0xC8, 77, (run - 1) as u8];
    let runs = 32768 / run;
    let rest = 32768 - (runs - 1) * run;
    // The last run may be shorter than the others, and one more.
    let tail: Vec<u8> = match rest - run {
        0 => [whole, whole].concat(),
        rest => [whole, [0xC8, 77, (rest - 1) as u8]].concat(),
    };
    let first = [i, i >> 8, i >> 16].map(|bits| [0xC8, bits as u8, (run - 1) as u8]).concat();
    let start = [&first[..], &whole].concat();
    let repeated = 3 * (32768 - tail_cells(run)) / run - start.len();
    let length = (start.len() + repeated + tail.len()) as u32;
    let mut cells = vec![2];
    cells.extend(length.to_le_bytes());
    cells.extend(lz4_repeat(&start, 3, repeated, &tail));
    inline(&sealed(key, &cells))
}

/// Cells of the last two runs.
fn tail_cells(run: usize) -> usize {
    match 32768 % run {
        0 => 2 * run,
        rest => run + rest,
    }
}

/// An LZ4 block: `start`, then `bytes` more that repeat those `period` before, then `tail`.
fn lz4_repeat(start: &[u8], period: u16, bytes: usize, tail: &[u8]) -> Vec<u8> {
    assert!(start.len() < 15 && (5..15).contains(&tail.len()) && bytes >= 4 + 15);
    let mut out = vec![(start.len() << 4) as u8 | 15];
    out.extend(start);
    out.extend(period.to_le_bytes());
    let more = bytes - 4 - 15;
    out.extend(vec![255; more / 255]);
    out.push((more % 255) as u8);
    out.push((tail.len() << 4) as u8);
    out.extend(tail);
    out
}

pub fn beyond(i: usize) -> ForgedContent {
    let mut reference = ((1u64 << 40) + 64 * i as u64).to_le_bytes().to_vec();
    reference.extend(50_000u32.to_le_bytes());
    reference.extend(7u64.to_le_bytes());
    ForgedContent::Reference(reference)
}

/// The description of a world that grows from a generator without a maker.
pub fn generated_description() -> Vec<u8> {
    let mut out = 1f64.to_le_bytes().to_vec();
    out.extend([0; 24]);
    out.extend([1, 1, 0]);
    out.extend([0; 1 + 1 + 1 + 3 + 16]);
    // A name, its version and seed, and no saved region.
    out.extend([1, 1, b'x']);
    out.extend([0; 4 + 8 + 1]);
    sealed_description(&out)
}

/// The description of a world of air, or of one that grows.
pub fn description(grows: bool) -> Vec<u8> {
    let mut out = 1f64.to_le_bytes().to_vec();
    out.extend([0; 24]);
    out.extend([grows.into(), 1, 0]);
    out.extend([0; 1 + 1 + 1 + 3 + 16]);
    out.push(0);
    sealed_description(&out)
}

/// The description of such a world with channels: numbers of one byte, of four, and bytes.
pub fn description_with_channels(grows: bool) -> Vec<u8> {
    let described = description(grows);
    let channels = b"\x03\x01a\x01\0\x01b\x04\x04\x01c\0\0";
    sealed_version(4, &[&described[10..], channels].concat())
}

/// A description whose bytes from the voxel size on are these.
pub fn sealed_description(rest: &[u8]) -> Vec<u8> {
    sealed_version(3, rest)
}

fn sealed_version(version: u8, rest: &[u8]) -> Vec<u8> {
    let mut hash = Xxh3::new();
    hash.update(b"world");
    hash.update(&[version, 0]);
    hash.update(rest);
    [&[version, 0][..], &hash.digest().to_le_bytes(), rest].concat()
}

/// A file that is being forged.
pub struct ForgedFile {
    bytes: Vec<u8>,
    /// Whether nodes are written twice, as they should be; else both references say the same place.
    has_copies: bool,
    /// Nodes so far.
    nodes: u8,
    /// Bytes that change before the checksums: number of the node, offset (taken within the node),
    /// byte.
    pub changes: Vec<(u8, u16, u8)>,
}

impl ForgedFile {
    pub fn new(has_copies: bool) -> ForgedFile {
        let changes = Vec::new();
        ForgedFile { bytes: vec![0; DATA_START], has_copies, nodes: 0, changes }
    }

    /// Makes the file longer.
    pub fn pad(&mut self, bytes: usize) {
        self.bytes.resize(self.bytes.len() + bytes, 0);
    }

    pub fn put(&mut self, bytes: &[u8]) -> u64 {
        let at = self.bytes.len().next_multiple_of(64);
        self.bytes.resize(at, 0);
        self.bytes.extend_from_slice(bytes);
        at as u64
    }

    /// Puts a node; returns the item of its parent.
    pub fn node(&mut self, level: u8, items: &[ForgedItem]) -> ForgedItem {
        self.node_of(encode(level, items), items[0].0.clone())
    }

    /// Puts the bytes of a node whose lowest key is `key`.
    fn node_of(&mut self, mut bytes: Vec<u8>, key: Vec<u8>) -> ForgedItem {
        for &(_, at, byte) in self.changes.iter().filter(|(node, ..)| *node == self.nodes) {
            let at = usize::from(at) % bytes.len();
            bytes[at] = byte;
        }
        self.nodes = self.nodes.saturating_add(1);
        let at = self.put(&bytes);
        let copy = if self.has_copies { self.put(&bytes) } else { at };
        let mut reference = [at.to_le_bytes(), copy.to_le_bytes()].concat();
        reference.extend((bytes.len() as u32).to_le_bytes());
        reference.extend(xxh3_64_with_seed(&bytes, ID).to_le_bytes());
        (key, ForgedContent::Reference(reference))
    }

    /// Puts nodes of a level over sorted items; returns the items of their parents.
    pub fn nodes(&mut self, level: u8, items: &[ForgedItem]) -> Vec<ForgedItem> {
        let mut parents = Vec::new();
        let mut rest = items;
        while !rest.is_empty() {
            let (own, next) = rest.split_at(fitting(rest));
            parents.push(self.node(level, own));
            rest = next;
        }
        parents
    }

    /// Puts nodes over sorted items until there is one, and the header.
    pub fn finish(self, items: Vec<ForgedItem>) -> Vec<u8> {
        self.finish_from(0, items)
    }

    /// The same, where the lowest nodes are of `level`.
    pub fn finish_from(mut self, level: u8, mut items: Vec<ForgedItem>) -> Vec<u8> {
        let mut next = level;
        while next == level || items.len() > 1 {
            items = self.nodes(next, &items);
            next += 1;
        }
        self.header(&items[0])
    }

    /// Puts the header over a root.
    pub fn header(mut self, root: &ForgedItem) -> Vec<u8> {
        let end = self.bytes.len().next_multiple_of(64);
        self.bytes.resize(end, 0);
        let mut state = b"\x89TVX\r\n\x1a\n\x03\0\0\0\0\0\0\0".to_vec();
        for number in [ID, 1, end as u64, 9, 9] {
            state.extend(number.to_le_bytes());
        }
        match &root.1 {
            ForgedContent::Reference(root) | ForgedContent::Inline(root) => state.extend(root),
        }
        state.extend([0; 4]);
        state.extend(xxh3_64(&state).to_le_bytes());
        for at in [0, 8192] {
            self.bytes[at..at + state.len()].copy_from_slice(&state);
        }
        self.bytes
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

pub fn encode(level: u8, items: &[ForgedItem]) -> Vec<u8> {
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

/// A complete world of these items, and a description.
pub fn world(items: Vec<ForgedItem>) -> Vec<u8> {
    world_in(ForgedFile::new(false), &description(false), items)
}

/// A world of these items and a description.
pub fn world_in(mut file: ForgedFile, description: &[u8], mut items: Vec<ForgedItem>) -> Vec<u8> {
    for key in [0, 255] {
        items.push((vec![key], value_in(&mut file, description)));
    }
    items.sort_by(|a, b| a.0.cmp(&b.0));
    file.finish(items)
}

/// A value: in its leaf if it is short.
pub fn value_in(file: &mut ForgedFile, value: &[u8]) -> ForgedContent {
    if value.len() <= 96 {
        return inline(value);
    }
    let mut reference = file.put(value).to_le_bytes().to_vec();
    reference.extend((value.len() as u32).to_le_bytes());
    reference.extend(xxh3_64_with_seed(value, ID).to_le_bytes());
    ForgedContent::Reference(reference)
}
