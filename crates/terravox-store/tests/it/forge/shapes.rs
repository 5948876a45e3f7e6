//! Hostile worlds, by size.

use super::forge::*;

/// Makes a file of a size.
pub type MakeFile = fn(usize) -> Vec<u8>;

/// Hostile worlds of a size, with their names.
pub const SHAPES: [(&str, MakeFile); 29] = [
    ("world: keys that are no positions", |n| world((0..n).map(|i| short(CELLS, i)).collect())),
    ("world: damaged chunks", |n| {
        world((0..n).map(|i| (block(0, i as u128), inline(&[]))).collect())
    }),
    ("world: damaged coarse blocks", |n| {
        world((0..n).map(|i| (block(3, i as u128), inline(&[]))).collect())
    }),
    ("world: chunks that are not listed", |n| {
        world((0..n).map(|i| (block(0, i as u128), rock(&block(0, i as u128)))).collect())
    }),
    ("world: uniform chunks", |n| listed_world(n, 0xFF)),
    ("world: uniform chunks as runs", |n| {
        let chunk = |i| (block(0, i as u128), rock_runs(&block(0, i as u128), 8));
        world((0..n).map(chunk).chain(listings(n)).collect())
    }),
    ("world: uniform chunks of several materials", |n| {
        let chunk = |i| {
            let key = block(0, i as u128);
            let value = inline(&sealed(&key, &[0, 2 + (i * i % 61 % 7) as u8]));
            (key, value)
        };
        world((0..n).map(chunk).chain(listings(n)).collect())
    }),
    ("world: listings of missing chunks", |n| {
        world((0..n).map(|i| (page(i), inline(&[0xFF; 64]))).collect())
    }),
    ("world: damaged listings", |n| world((0..n).map(|i| (page(i), inline(&[1]))).collect())),
    ("world: long names", |n| world((0..n).map(long_name).collect())),
    ("world: long keys of blocks", |n| world((0..n).map(long_cell).collect())),
    ("world: values beyond the end", |n| {
        world((0..n).map(|i| (block(0, i as u128), beyond(i))).collect())
    }),
    ("world: one value for all", shared_value),
    ("world: one node for all", shared_node),
    ("world: far pages", |n| world((0..n).map(|i| (far_cell(i), rock(&far_cell(i)))).collect())),
    ("world: rough blocks of mip 3", |n| world((0..n).map(|i| rough_block(3, i, 256)).collect())),
    ("world: rough blocks of mip 8", |n| world((0..n).map(|i| rough_block(8, i, 256)).collect())),
    ("world: rough chunks", |n| rough_chunks(n, 17)),
    ("world: chunks of long runs", |n| rough_chunks(n, 256)),
    ("world: equal rough chunks", equal_chunks),
    ("world: chains from a chunk to mip 8", |n| {
        world_in(ForgedFile::new(false), &description(false), chains(n))
    }),
    ("world: chains in a world that grows", |n| {
        world_in(ForgedFile::new(false), &description(true), chains(n))
    }),
    ("world: uniform chunks of a world that grows", |n| {
        world_in(ForgedFile::new(false), &description(true), uniform_chunks(n, 0xFF))
    }),
    ("world: bodies far apart", far_bodies),
    ("world: coarse blocks of one long value", coarse_blocks_of_one_value),
    ("world: chunks under a damaged index", chunks_under_damaged_index),
    ("world: lost parts of extra data", |n| lost_parts(EXTRA, n)),
    ("world: lost parts with long keys of blocks", |n| lost_parts(CELLS, n)),
    ("world: damaged extra data with long names", |n| {
        world((0..n).map(|i| (long_name(i).0, beyond(i))).collect())
    }),
];

/// Length of a value that is shared: nearly the longest of a block.
const SHARED_BYTES: usize = 150_000;

/// Coarse blocks whose value is one long one.
fn coarse_blocks_of_one_value(n: usize) -> Vec<u8> {
    let mut file = ForgedFile::new(false);
    let value = value_in(&mut file, &vec![9; SHARED_BYTES]);
    let blocks = (0..n).map(|i| (block(3, i as u128), value.clone()));
    world_in(file, &description(false), blocks.collect())
}

/// A chunk far from others, with its listing. A block of mip 8 has 2^24 chunks.
fn far_chunk(i: usize) -> [ForgedItem; 2] {
    let number = (i as u128) << 24;
    let key = block(0, number);
    let content = rock(&key);
    let mut listing = [0; 64];
    listing[0] = 1;
    [(key, content), (page_of_chunk(number), inline(&listing))]
}

fn page_of_chunk(number: u128) -> Vec<u8> {
    let mut key = page(0);
    key[1..].copy_from_slice(&block(0, number >> 9)[2..]);
    key
}

/// Chunks far apart, over which all coarse blocks are in one node that is malformed, and long.
fn chunks_under_damaged_index(n: usize) -> Vec<u8> {
    let mut file = ForgedFile::new(false);
    let outside: Vec<ForgedItem> = (0..160).map(|i| (short(254, i).0, inline(&[7; 90]))).collect();
    let broken = file.node(0, &outside).1;
    let (mut first, mut last) = (vec![(vec![0], inline(&description(false)))], Vec::new());
    for i in 0..n {
        let [chunk, listing] = far_chunk(i);
        first.push(chunk);
        last.push(listing);
    }
    last.push((vec![255], inline(&description(false))));
    let mut parents = file.nodes(0, &first);
    parents.push((vec![CELLS, 1], broken));
    parents.extend(file.nodes(0, &last));
    file.finish_from(1, parents)
}

/// A branch whose children lie beyond the end, under names as long as they may be.
fn lost_parts(table: u8, n: usize) -> Vec<u8> {
    let mut file = ForgedFile::new(false);
    let lost = |i: usize| {
        let mut key = long_name(i).0;
        (key[0], key[1]) = (table, 1);
        let at = (1u64 << 40) + 64 * i as u64;
        let mut reference = [at.to_le_bytes(), at.to_le_bytes()].concat();
        reference.extend(4000u32.to_le_bytes());
        reference.extend(7u64.to_le_bytes());
        (key, ForgedContent::Reference(reference))
    };
    let described = file.nodes(0, &[(vec![0], inline(&description(false)))]);
    file.finish_from(1, described.into_iter().chain((0..n).map(lost)).collect())
}

/// A key of 256 bytes in the table of blocks.
fn long_cell(i: usize) -> ForgedItem {
    let (mut key, content) = long_name(i);
    (key[0], key[1]) = (CELLS, 0);
    (key, content)
}

/// A block of a mip in about 50 bytes.
fn rough_block(mip: u8, i: usize, run: usize) -> ForgedItem {
    let key = block(mip, i as u128);
    let value = rough(&key, i, run);
    (key, value)
}

fn listings(chunks: usize) -> impl Iterator<Item = ForgedItem> {
    (0..chunks.div_ceil(512)).map(|i| (page(i), inline(&[0xFF; 64])))
}

/// Chunks that are not uniform, all different, with their listings.
fn rough_chunks(n: usize, run: usize) -> Vec<u8> {
    world((0..n).map(|i| rough_block(0, i, run)).chain(listings(n)).collect())
}

/// Chunks that are not uniform, all equal.
fn equal_chunks(n: usize) -> Vec<u8> {
    let chunk = |i| (block(0, i as u128), rough(&block(0, i as u128), 0, 17));
    world((0..n).map(chunk).chain(listings(n)).collect())
}

/// A chunk and a block of each coarser mip over it, far from the next ones.
fn chains(n: usize) -> Vec<ForgedItem> {
    let mut items = Vec::new();
    for i in 0..n {
        // A block of mip 8 has 2^24 chunks.
        let number = (i as u128) << 24;
        for mip in 0..=8 {
            let key = block(mip, number >> (3 * mip));
            let value = rough(&key, 9 * i + usize::from(mip), 17);
            items.push((key, value));
        }
        let mut listing = [0; 64];
        listing[0] = 1;
        items.push((page_of_chunk(number), inline(&listing)));
    }
    items
}

/// A body, all of whose chunks are in pages of their own.
fn far_bodies(n: usize) -> Vec<u8> {
    let mut bodies = vec![1, 1, 0, 0, 0];
    bodies.extend([0; 12 + 13 * 8]);
    bodies.extend((n as u32).to_le_bytes());
    for i in 0..n as i32 {
        let mut key = vec![CELLS, 0];
        let at = [i % 1000, i / 1000 % 1000, i / 1_000_000].map(|v| 8 * v);
        key.extend(morton(at));
        at.iter().for_each(|v| bodies.extend(v.to_le_bytes()));
        let value = sealed(&key, &[0, 8]);
        bodies.extend((value.len() as u32).to_le_bytes());
        bodies.extend(value);
    }
    let mut file = ForgedFile::new(true);
    let value = value_in(&mut file, &bodies);
    world_in(file, &description(false), vec![([&[EXTRA][..], b"bodies"].concat(), value)])
}

/// Chunks of rock with their listings.
pub fn listed_world(n: usize, bits: u8) -> Vec<u8> {
    world(uniform_chunks(n, bits))
}

fn uniform_chunks(n: usize, bits: u8) -> Vec<ForgedItem> {
    let chunks = (0..n).map(|i| (block(0, i as u128), rock(&block(0, i as u128))));
    let pages = (0..n.div_ceil(512)).map(|i| (page(i), inline(&[bits; 64])));
    chunks.chain(pages).collect()
}

/// Chunks whose value is one long one.
fn shared_value(n: usize) -> Vec<u8> {
    let mut file = ForgedFile::new(false);
    let value = value_in(&mut file, &vec![9; (n * 24).max(97)]);
    world_in(
        file,
        &description(false),
        (0..n).map(|i| (block(0, i as u128), value.clone())).collect(),
    )
}

/// Levels of branches, all of whose items lead to the same child.
fn shared_node(n: usize) -> Vec<u8> {
    let mut file = ForgedFile::new(false);
    let leaf: Vec<ForgedItem> =
        (0..n.min(700)).map(|i| (block(0, i as u128), inline(&[]))).collect();
    let mut below = file.node(0, &leaf);
    let described = vec![(vec![0], inline(&description(false)))];
    let mut first = file.node(0, &described);
    for level in 1..16 {
        let items: Vec<ForgedItem> =
            (0..n.min(300)).map(|i| (block(0, i as u128), below.1.clone())).collect();
        below = file.node(level, &items);
        first = file.node(level, &[first]);
    }
    let root = file.node(16, &[first, below]);
    // As long as the size asks for.
    file.pad(64 * n);
    file.header(&root)
}
