//! A writer of regions for the tests: chunks as three families of versions write them.

/// How chunks of a version are laid out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layout {
    /// 1.13 to 1.15: indices run on from one number into the next.
    V13,
    /// 1.16 and 1.17: each number holds whole indices.
    V16,
    /// From 1.18 on: without `Level`, indices in `block_states`.
    V18,
}

/// 16³ blocks: a palette of names with properties, and the index of each block.
pub struct Section {
    pub y: i8,
    pub palette: Vec<(&'static str, &'static [(&'static str, &'static str)])>,
    pub indices: Vec<u16>,
}

/// A value with its type and name.
pub fn entry(tag: u8, name: &str, value: &[u8]) -> Vec<u8> {
    [&[tag][..], &text(name), value].concat()
}

pub fn text(text: &str) -> Vec<u8> {
    [&(text.len() as u16).to_be_bytes()[..], text.as_bytes()].concat()
}

pub fn list(tag: u8, elements: &[Vec<u8>]) -> Vec<u8> {
    [&[tag][..], &(elements.len() as i32).to_be_bytes(), &elements.concat()].concat()
}

pub fn compound(entries: &[Vec<u8>]) -> Vec<u8> {
    [&entries.concat()[..], &[0]].concat()
}

/// The numbers that hold indices of a palette of this length.
pub fn packed(indices: &[u16], palette: usize, spans: bool) -> Vec<u64> {
    let bits = (usize::BITS - (palette - 1).leading_zeros()).max(4) as usize;
    let mut words = Vec::new();
    for (i, index) in indices.iter().enumerate() {
        let each = 64 / bits;
        let at = if spans { i * bits } else { i / each * 64 + i % each * bits };
        for bit in 0..bits {
            let (word, shift) = ((at + bit) / 64, (at + bit) % 64);
            words.resize(words.len().max(word + 1), 0);
            words[word] |= u64::from(index >> bit & 1) << shift;
        }
    }
    words
}

/// A chunk: NBT that is not packed.
pub fn chunk(layout: Layout, [x, z]: [i32; 2], status: &str, sections: &[Section]) -> Vec<u8> {
    let mut head = vec![
        entry(3, "xPos", &x.to_be_bytes()),
        entry(3, "zPos", &z.to_be_bytes()),
        entry(8, "Status", &text(status)),
        // What is passed over.
        entry(
            10,
            "Heightmaps",
            &compound(&[entry(12, "WORLD_SURFACE", &[0, 0, 0, 1, 1, 2, 3, 4, 5, 6, 7, 8])]),
        ),
        entry(9, "Entities", &list(10, &[compound(&[entry(6, "Health", &[0; 8])])])),
    ];
    let sections: Vec<Vec<u8>> =
        sections.iter().map(|section| section_of(layout, section)).collect();
    match layout {
        Layout::V18 => {
            head.push(entry(9, "sections", &list(10, &sections)));
            let version = entry(3, "DataVersion", &3465_i32.to_be_bytes());
            entry(10, "", &compound(&[&[version][..], &head].concat()))
        }
        Layout::V13 | Layout::V16 => {
            head.push(entry(9, "Sections", &list(10, &sections)));
            entry(10, "", &compound(&[entry(10, "Level", &compound(&head))]))
        }
    }
}

fn section_of(layout: Layout, section: &Section) -> Vec<u8> {
    let palette: Vec<Vec<u8>> = section
        .palette
        .iter()
        .map(|(name, state)| {
            let mut entries = vec![entry(8, "Name", &text(name))];
            if !state.is_empty() {
                let state: Vec<Vec<u8>> =
                    state.iter().map(|(key, value)| entry(8, key, &text(value))).collect();
                entries.push(entry(10, "Properties", &compound(&state)));
            }
            compound(&entries)
        })
        .collect();
    let words = packed(&section.indices, section.palette.len(), layout == Layout::V13);
    let words: Vec<u8> = words.iter().flat_map(|word| word.to_be_bytes()).collect();
    let words = [&(words.len() as i32 / 8).to_be_bytes()[..], &words].concat();
    let y = entry(1, "Y", &section.y.to_be_bytes());
    let light = entry(7, "SkyLight", &[&2048_i32.to_be_bytes()[..], &[7; 2048]].concat());
    match layout {
        Layout::V18 => {
            let mut states = vec![entry(9, "palette", &list(10, &palette))];
            if palette.len() > 1 {
                states.push(entry(12, "data", &words));
            }
            let biomes = entry(9, "palette", &list(8, &[text("minecraft:plains")]));
            let biomes = entry(10, "biomes", &compound(&[biomes]));
            compound(&[biomes, light, y, entry(10, "block_states", &compound(&states))])
        }
        Layout::V13 | Layout::V16 => compound(&[
            entry(12, "BlockStates", &words),
            entry(9, "Palette", &list(10, &palette)),
            y,
            light,
        ]),
    }
}

/// A region file of chunks: place in the region, way of packing, packed bytes.
pub fn region(chunks: &[([usize; 2], u8, Vec<u8>)]) -> Vec<u8> {
    let mut file = vec![0; 8192];
    for ([x, z], kind, bytes) in chunks {
        let first = file.len() / 4096;
        let count = (bytes.len() + 5).div_ceil(4096);
        let place = (first << 8 | count) as u32;
        file[4 * (x + 32 * z)..][..4].copy_from_slice(&place.to_be_bytes());
        file.extend((bytes.len() as u32 + 1).to_be_bytes());
        file.push(*kind);
        file.extend(bytes);
        file.resize((first + count) * 4096, 0);
    }
    file
}

/// A small landscape: rock, ground, grass, a pond with a slab in it, snow; in the four chunks of the
/// south-east corner of a region, and unpacked.
pub fn landscape(layout: Layout, at: [i32; 2]) -> Vec<u8> {
    let chunks: Vec<_> = [[30, 30], [31, 30], [30, 31], [31, 31]]
        .into_iter()
        .map(|place: [usize; 2]| {
            let world = [0, 1].map(|i| at[i] * 32 + place[i] as i32);
            let sections = [deep(-1), ground(place)];
            let status = if layout == Layout::V18 { "minecraft:full" } else { "full" };
            (place, 3, chunk(layout, world, status, &sections))
        })
        .collect();
    region(&chunks)
}

/// All stone.
pub fn deep(y: i8) -> Section {
    Section { y, palette: vec![("minecraft:stone", &[])], indices: vec![0; 4096] }
}

/// Height of the ground of [`landscape`], in blocks, at a column of a chunk of the region.
pub fn height(place: [usize; 2], [x, z]: [usize; 2]) -> usize {
    let [x, z] = [16 * (place[0] - 30) + x, 16 * (place[1] - 30) + z];
    4 + (x * 5 / 31 + z * 3 / 31)
}

fn ground(place: [usize; 2]) -> Section {
    let palette: Vec<(&'static str, &'static [(&'static str, &'static str)])> = vec![
        ("minecraft:air", &[]),
        ("minecraft:stone", &[]),
        ("minecraft:dirt", &[]),
        ("minecraft:grass_block", &[("snowy", "false")]),
        ("minecraft:water", &[("level", "0")]),
        ("minecraft:oak_slab", &[("type", "bottom"), ("waterlogged", "true")]),
        ("minecraft:snow", &[("layers", "2")]),
        // As many as need five bits, in which the packings differ.
        ("minecraft:poppy", &[]),
        ("minecraft:oak_log", &[("axis", "y")]),
        ("minecraft:oak_leaves", &[]),
        ("minecraft:sand", &[]),
        ("minecraft:gravel", &[]),
        ("minecraft:torch", &[]),
        ("minecraft:clay", &[]),
        ("minecraft:iron_ore", &[]),
        ("minecraft:coal_ore", &[]),
        ("quark:marble", &[]),
    ];
    let mut indices = vec![0; 4096];
    for (i, index) in indices.iter_mut().enumerate() {
        let (x, z, y) = (i & 15, i >> 4 & 15, i >> 8);
        let top = height(place, [x, z]);
        let is_pond = place == [30, 30] && x < 6 && z < 6;
        *index = match (y + 1).cmp(&top) {
            std::cmp::Ordering::Less if y + 3 < top => 1,
            std::cmp::Ordering::Less => 2,
            std::cmp::Ordering::Equal if is_pond => {
                if x == 2 {
                    5
                } else {
                    4
                }
            }
            std::cmp::Ordering::Equal => 3,
            std::cmp::Ordering::Greater if y == top && x == 9 => {
                if z == 3 {
                    16
                } else {
                    6
                }
            }
            std::cmp::Ordering::Greater => 0,
        };
    }
    Section { y: 0, palette, indices }
}
