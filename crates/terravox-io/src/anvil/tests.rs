//! Regions that are written here, in each packing, and what must be refused.

use super::sample::{
    self, Layout, Section, chunk, compound, deep, entry, landscape, list, region, text,
};
use super::*;
use crate::import_budget::{ImportBudget, ImportLimits};
use proptest::prelude::*;
use std::io::Write;
use std::path::Path;
use terravox::voxel::{Cell, MaterialTable, Region, VoxelGrid, VoxelPos};

const LAYOUTS: [Layout; 3] = [Layout::V13, Layout::V16, Layout::V18];

fn options() -> AnvilOptions {
    AnvilOptions::new(BlockTable::parse("", &MaterialTable::default()).expect("the default"))
}

fn import_with(
    file: &[u8],
    options: &AnvilOptions,
) -> Result<(VoxelGrid, AnvilImport), AnvilError> {
    let (mut grid, mut budget) = (VoxelGrid::default(), ImportBudget::for_input(file.len()));
    import(file, options, &mut budget, &mut grid, |done, all| assert!(done <= all))
        .map(|imported| (grid, imported))
}

fn imported(file: &[u8]) -> (VoxelGrid, AnvilImport) {
    import_with(file, &options()).expect("a region")
}

/// The bytes of a chunk in a way of packing.
fn pack(kind: u8, plain: &[u8]) -> Vec<u8> {
    let level = flate2::Compression::fast();
    match kind {
        1 => {
            let mut encoder = flate2::write::GzEncoder::new(Vec::new(), level);
            encoder.write_all(plain).expect("written");
            encoder.finish().expect("written")
        }
        2 => {
            let mut encoder = flate2::write::ZlibEncoder::new(Vec::new(), level);
            encoder.write_all(plain).expect("written");
            encoder.finish().expect("written")
        }
        3 => plain.to_vec(),
        _ => {
            let mut out = Vec::new();
            for (i, part) in plain.chunks(5000).chain([&[][..]]).enumerate() {
                let packed = lz4_flex::block::compress(part);
                // One block is kept as it is, the last is empty.
                let (token, bytes) = if i == 1 { (0x15, part) } else { (0x25, &packed[..]) };
                let bytes = if part.is_empty() { part } else { bytes };
                out.extend(b"LZ4Block");
                out.push(token);
                out.extend((bytes.len() as u32).to_le_bytes());
                out.extend((part.len() as u32).to_le_bytes());
                let checksum = xxhash_rust::xxh32::xxh32(part, 0x9747_B28C) & 0x0FFF_FFFF;
                out.extend(if part.is_empty() { [0; 4] } else { checksum.to_le_bytes() });
                out.extend(bytes);
            }
            out
        }
    }
}

fn cell(grid: &VoxelGrid, pos: [i32; 3]) -> (String, u32) {
    let cell = grid.cell(VoxelPos::from(pos)).expect("a cell");
    (grid.materials().name(cell.material), cell.units())
}

fn one(material: &str, units: u32) -> (String, u32) {
    (material.to_owned(), units)
}

#[test]
fn blocks_lie_where_they_were_in_every_layout() {
    let mut digests = Vec::new();
    for layout in LAYOUTS {
        let (grid, import) = imported(&landscape(layout, [-1, 2]));
        assert_eq!((import.chunks, import.grid_chunks, import.unfinished), (4, 2, 0));
        assert_eq!(import.unknown_blocks.iter().collect::<Vec<_>>(), ["quark:marble"]);
        let [x0, z0] = [16 * (-32 + 30), 16 * (64 + 30)];
        for (place, at) in [([30, 30], [0, 0]), ([30, 30], [15, 7]), ([31, 31], [15, 15])] {
            let top = sample::height(place, at) as i32;
            let x = x0 + 16 * (place[0] as i32 - 30) + at[0] as i32;
            let z = z0 + 16 * (place[1] as i32 - 30) + at[1] as i32;
            let surface = if at == [0, 0] { one("Water", 256) } else { one("Grass", 256) };
            assert_eq!(cell(&grid, [x, top - 1, z]), surface);
            assert_eq!(cell(&grid, [x, top, z]), one("Air", 0));
            assert_eq!(cell(&grid, [x, top - 2, z]), one("Ground", 256));
            assert_eq!(cell(&grid, [x, 0, z]), one("Rock", 256));
            assert_eq!(cell(&grid, [x, -16, z]), one("Rock", 256));
            assert_eq!(cell(&grid, [x, -17, z]), one("Air", 0));
        }
        // Half a slab under water, and two layers of snow.
        let top = sample::height([30, 30], [2, 1]) as i32;
        assert_eq!(cell(&grid, [x0 + 2, top - 1, z0 + 1]), one("WoodPlanks", 128));
        let water = grid.water(VoxelPos::new(x0 + 2, top - 1, z0 + 1)).expect("a cell");
        assert_eq!(water, Some(Cell::full(1).occupancy));
        let top = sample::height([31, 30], [9, 5]) as i32;
        assert_eq!(cell(&grid, [x0 + 25, top, z0 + 5]), one("Snow", 64));
        digests.push(grid.digest());
    }
    assert_eq!(digests[0], digests[1]);
    assert_eq!(digests[0], digests[2]);
}

#[test]
fn chunks_are_unpacked_in_each_of_the_ways() {
    let plain = chunk(Layout::V18, [5, 7], "full", &[deep(3), deep(-4)]);
    let mut digests: Vec<_> = [1, 2, 3, 4]
        .map(|kind| {
            let (grid, import) = imported(&region(&[([5, 7], kind, pack(kind, &plain))]));
            assert_eq!((import.chunks, import.grid_chunks), (1, 2), "{kind}");
            assert_eq!(cell(&grid, [80, 48, 112]), one("Rock", 256));
            grid.digest()
        })
        .into();
    digests.dedup();
    assert_eq!(digests.len(), 1);
}

#[test]
fn palettes_of_every_length_are_read_in_both_packings() {
    for (count, layout) in
        [1, 2, 16, 17, 33, 64, 65, 200, 4096].into_iter().flat_map(|n| LAYOUTS.map(|l| (n, l)))
    {
        let mut palette: Vec<_> = vec![("air", &[] as &[_]); count];
        palette[count - 1] = ("minecraft:sand", &[]);
        let indices =
            (0..4096).map(|i| if i % 3 == 0 { count as u16 - 1 } else { i % count as u16 });
        let section = Section { y: 0, palette, indices: indices.collect() };
        let sand = |i: &usize| section.indices[*i] == count as u16 - 1;
        let wanted = (0..4096).filter(sand).count();
        let file = region(&[([0, 0], 3, chunk(layout, [0, 0], "full", &[section]))]);
        let (grid, _) = imported(&file);
        let is_sand = |pos: &VoxelPos| grid.cell(*pos).expect("a cell").material == 6;
        let found = Region::new([0, 0, 0], [16, 16, 16]).voxels().filter(is_sand).count();
        assert_eq!(found, wanted, "{count} in {layout:?}");
        assert_eq!(cell(&grid, [3, 0, 0]), one("Sand", 256));
    }
}

#[test]
fn a_part_is_taken_without_what_is_around_it() {
    let file = landscape(Layout::V16, [0, 0]);
    let part = Region::new([490, -3, 500], [500, 4, 520]);
    let (grid, import) = import_with(&file, &AnvilOptions { part, ..options() }).expect("a region");
    assert_eq!(import.chunks, 2);
    let (whole, _) = imported(&file);
    for pos in Region::new([480, -16, 480], [512, 16, 512]).voxels() {
        let expected = if part.contains(pos) { whole.cell(pos).unwrap() } else { Cell::AIR };
        assert_eq!(grid.cell(pos).unwrap_or(Cell::AIR), expected, "{pos}");
    }
    let part = Region::new([0, -3, 0], [400, 4, 400]);
    let (grid, import) = import_with(&file, &AnvilOptions { part, ..options() }).expect("a region");
    assert!(grid.is_empty() && import.chunks == 0);
}

#[test]
fn unfinished_old_and_outsourced_chunks_are_noted() {
    let numbers = entry(7, "Blocks", &[&4096_i32.to_be_bytes()[..], &[1; 4096]].concat());
    let old = compound(&[entry(1, "Y", &[0]), numbers]);
    let level = compound(&[
        entry(3, "xPos", &1_i32.to_be_bytes()),
        entry(3, "zPos", &0_i32.to_be_bytes()),
        entry(9, "Sections", &list(10, &[old])),
    ]);
    let file = region(&[
        ([0, 0], 3, chunk(Layout::V18, [0, 0], "minecraft:noise", &[deep(0)])),
        ([1, 0], 3, entry(10, "", &compound(&[entry(10, "Level", &level)]))),
        ([2, 0], 0x82, vec![]),
        ([3, 0], 3, chunk(Layout::V18, [3, 0], "minecraft:full", &[])),
    ]);
    let (grid, import) = imported(&file);
    assert!(grid.is_empty());
    let counts = (import.chunks, import.unfinished, import.old, import.elsewhere);
    assert_eq!(counts, (1, 1, 1, 1));
    let notes = import.notes();
    assert!(notes.len() == 3 && notes[1].contains("before 1.13"), "{notes:?}");
}

#[test]
fn nothing_is_kept_of_a_chunk_that_is_left_out_as_old() {
    let whole = chunk(Layout::V16, [1, 0], "full", &[deep(0), deep(3)]);
    // The second section gets blocks by number, too.
    let at = whole.windows(11).rposition(|bytes| bytes == b"BlockStates").expect("a section") - 3;
    let mut old = whole.clone();
    old.splice(at..at, entry(7, "Blocks", &0_i32.to_be_bytes()));
    let neighbour = ([0, 0], 3, chunk(Layout::V16, [0, 0], "full", &[deep(1)]));
    let alone = imported(&region(std::slice::from_ref(&neighbour))).0.digest();
    let (grid, import) = imported(&region(&[neighbour.clone(), ([1, 0], 3, old)]));
    assert_eq!((import.chunks, import.old, import.grid_chunks), (1, 1, 1));
    assert_eq!(grid.digest(), alone);
    let (grid, import) = imported(&region(&[neighbour, ([1, 0], 3, whole)]));
    assert_eq!((import.chunks, import.old, import.grid_chunks), (2, 0, 2));
    assert_eq!(cell(&grid, [16, 0, 0]), one("Rock", 256));
}

#[test]
fn files_are_left_out_by_name_if_they_hold_nothing_of_the_part() {
    let part = Region::new([-1, 0, 512], [512, 9, 513]);
    let options = AnvilOptions { part, ..options() };
    for (name, is_taken) in [
        ("r.-1.1.mca", true),
        ("r.0.1.mca", true),
        ("r.1.1.mca", false),
        ("r.-2.1.mca", false),
        ("r.0.0.mca", false),
        ("r.0.2.mca", false),
        ("r.2147483647.-2147483648.mca", false),
        // What the game does not name so.
        ("r.00.0.mca", true),
        ("r.-0.0.mca", true),
        ("r.0.0.MCA", true),
        ("r.2147483648.0.mca", true),
        ("r.0.0_backup.mca", true),
        ("r.0.mca", true),
    ] {
        assert_eq!(options.may_take(&Path::new("World/region").join(name)), is_taken, "{name}");
    }
    let all = self::options();
    assert!(all.may_take(Path::new("r.2097151.-2097152.mca")), "the last of a grid");
    assert!(!all.may_take(Path::new("r.2097152.0.mca")));
}

fn error(file: &[u8]) -> String {
    let error = import_with(file, &options()).expect_err("an error").to_string();
    assert!(!error.contains('\n'), "{error}");
    error
}

#[test]
fn places_that_are_wrong_are_named() {
    let whole = landscape(Layout::V18, [0, 0]);
    assert!(error(&whole[..8191]).contains("the file has 8191 bytes"));
    assert!(error(&whole[..whole.len() - 8192]).contains("sectors from"));
    let with = |at: usize, place: u32| {
        let mut file = whole.clone();
        file[4 * at..4 * at + 4].copy_from_slice(&place.to_be_bytes());
        error(&file)
    };
    // In a ring: the tables, and the bytes of another chunk.
    assert!(with(0, 1 << 8 | 1).contains("chunk 0, 0 shares sectors with the tables"));
    let place = whole[4 * 990..].first_chunk::<4>().expect("a place");
    let shared = with(33, u32::from_be_bytes(*place));
    assert!(shared.contains("chunk 30, 30 shares sectors with the tables or another"));
    assert!(with(0, u32::MAX).contains("in 255 sectors from 16777215 on"));
    assert!(with(0, 2 << 8).contains("in 0 sectors from 2 on"));
    let mut long = whole.clone();
    long[8192..8196].copy_from_slice(&(1_u32 << 20).to_be_bytes());
    assert!(error(&long).contains("chunk 30, 30 claims 1048576 bytes, and has room for"));
    // A chunk that says that it is another.
    let strange = region(&[([3, 3], 3, chunk(Layout::V18, [4, 3], "full", &[]))]);
    assert!(error(&strange).contains("it says that it is chunk 4, 3"));
    let two = region(&[
        ([3, 3], 3, chunk(Layout::V18, [3, 3], "full", &[])),
        ([4, 3], 3, chunk(Layout::V18, [36, 3], "full", &[])),
    ]);
    assert!(error(&two).contains("chunk 4, 3 of the region: it says that it is chunk 36, 3"));
    let far = region(&[([0, 0], 3, chunk(Layout::V18, [1 << 27, 0], "full", &[]))]);
    assert!(error(&far).contains("beyond the world"));
}

/// A region of one chunk with these entries at its top.
fn with_entries(entries: &[Vec<u8>]) -> Vec<u8> {
    let place = [entry(3, "xPos", &[0; 4]), entry(3, "zPos", &[0; 4])].concat();
    region(&[([0, 0], 3, entry(10, "", &compound(&[&[place][..], entries].concat())))])
}

#[test]
fn values_that_are_wrong_are_named() {
    let nested = entry(9, "a", &[9, 0, 0, 0, 1].repeat(600));
    assert!(error(&with_entries(&[nested])).contains("nest more than 512 deep"));
    let nested: Vec<u8> = entry(10, "a", &entry(10, "a", &[]).repeat(600));
    assert!(error(&with_entries(&[nested])).contains("nest more than 512 deep"));
    let endless = entry(9, "a", &[0, 127, 255, 255, 255]);
    assert!(error(&with_entries(&[endless])).contains("2147483647 elements of no type"));
    let long = entry(12, "a", &i32::MAX.to_be_bytes());
    assert!(error(&with_entries(&[long])).contains("a value would take 17179869176 bytes"));
    let negative = entry(7, "a", &(-1_i32).to_be_bytes());
    assert!(error(&with_entries(&[negative])).contains("a list has -1 elements"));
    assert!(error(&with_entries(&[entry(13, "a", &[])])).contains("the unknown type 13"));
    assert!(
        error(&region(&[([0, 0], 3, vec![1, 2, 3])])).contains("does not begin with a compound")
    );
    assert!(error(&region(&[([0, 0], 9, vec![1])])).contains("in the unknown way 9"));
    let nowhere = region(&[([0, 0], 3, entry(10, "", &compound(&[])))]);
    assert!(error(&nowhere).contains("does not say where it is"));

    let section = |entries: &[Vec<u8>]| {
        let y = entry(1, "Y", &[0]);
        let section = compound(&[&[y][..], entries].concat());
        error(&with_entries(&[entry(9, "sections", &list(10, &[section.clone(), section]))]))
    };
    let name = |name: &str| compound(&[entry(8, "Name", &text(name))]);
    let palette = |names: &[&str]| {
        let names: Vec<_> = names.iter().map(|it| name(it)).collect();
        entry(9, "Palette", &list(10, &names))
    };
    assert!(section(&[palette(&["stone"])]).contains("section 0 is there twice"));
    assert!(section(&[palette(&[])]).contains("palette of section 0 is empty"));
    assert!(section(&[palette(&["a", "b"])]).contains("take 0 numbers for a palette of 2"));
    assert!(section(&[palette(&["a\nb"])]).contains("other characters"));
    let words = [&256_i32.to_be_bytes()[..], &[0xFF; 2048]].concat();
    let indices = entry(12, "BlockStates", &words);
    assert!(section(&[palette(&["a", "b"]), indices]).contains("block 15 of a palette of 2"));
    let count = list(10, &vec![compound(&[]); 4097]);
    assert!(section(&[entry(9, "Palette", &count)]).contains("a palette has 4097 entries"));
}

/// A few kilobytes that unpack to gigabytes.
#[test]
fn bombs_are_refused_before_they_are_unpacked_slow() {
    for kind in [1, 2] {
        let bomb = pack(kind, &vec![0; 100 << 20]);
        assert!(bomb.len() < 1 << 20);
        let error = error(&region(&[([0, 0], kind, bomb)]));
        assert!(error.contains("unpacks to more than 32 MiB"), "{error}");
    }
    // Many of them, each allowed: the work is not.
    let padding = [&(28_i32 << 20).to_be_bytes()[..], &vec![0; 28 << 20]].concat();
    let chunks: Vec<_> = (0..8_usize)
        .map(|x| {
            let place = [entry(3, "xPos", &(x as i32).to_be_bytes()), entry(3, "zPos", &[0; 4])];
            let plain = entry(10, "", &compound(&[place.concat(), entry(7, "a", &padding)]));
            ([x, 0], 2, pack(2, &plain))
        })
        .collect();
    let error = error(&region(&chunks));
    assert!(error.contains("million units of work in all"), "{error}");
    let mut lz4 = b"LZ4Block\x25".to_vec();
    lz4.extend([[5, 0, 0, 0], [255; 4], [0; 4]].concat());
    lz4.extend([0; 5]);
    assert!(self::error(&region(&[([0, 0], 4, lz4)])).contains("unpacks to more than 32 MiB"));
}

/// The seed of the fuzz target, and any change of it.
#[test]
fn no_changed_byte_panics() {
    let file = landscape(Layout::V16, [0, 0]);
    for at in (0..file.len()).filter(|at| at % 97 == 0 || (file[*at] != 0 && at % 13 == 0)) {
        let mut changed = file.clone();
        changed[at] ^= 1 << (at % 8);
        if let Err(error) = import_with(&changed, &options()) {
            assert!(!error.to_string().contains('\n'), "{error}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn mutated_regions_never_panic_and_stay_within_their_limits(
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
        kind in 1..5_u8,
    ) {
        let mut plain = chunk(Layout::V13, [0, 0], "full", &[deep(0), deep(1)]);
        for (at, byte) in changes {
            let at = at.index(plain.len());
            plain[at] = byte;
        }
        let file = region(&[([0, 0], kind, pack(kind, &plain))]);
        let limits = ImportLimits { memory_bytes: 4 << 20, work: 1 << 24, depth: 32 };
        let (mut grid, mut budget) = (VoxelGrid::default(), ImportBudget::new(limits));
        if let Err(error) = import(&file, &options(), &mut budget, &mut grid, |_, _| {}) {
            prop_assert!(!error.to_string().contains('\n'), "{}", error);
        }
        let spent = budget.spent();
        prop_assert!(spent.memory_bytes <= limits.memory_bytes && spent.work <= limits.work);
    }
}

/// Hostile chunks: empty blocks of deflate before the content, and checksums that are wrong.
#[test]
fn blocks_that_give_nothing_are_paid_for() {
    let plain = chunk(Layout::V18, [0, 0], "full", &[deep(3)]);
    let with = |bytes: usize| {
        let packed = pack(2, &plain);
        let blocks = crate::inflate::tests::empty_blocks(bytes);
        region(&[([0, 0], 2, [&packed[..2], &blocks, &packed[2..]].concat())])
    };
    let work = |file: &[u8]| {
        let (mut grid, mut budget) = (VoxelGrid::default(), ImportBudget::for_input(file.len()));
        let result = import(file, &options(), &mut budget, &mut grid, |_, _| ());
        (result.map(|import| import.chunks), budget.spent().work)
    };
    let [(few, cheap), (more, dear)] = [100, 50_000].map(|bytes| work(&with(bytes)));
    assert_eq!((few, more), (Ok(1), Ok(1)));
    assert!(dear > cheap + 39_000 * 10_000, "{cheap} {dear}");
    let (refused, _) = work(&with(500_000));
    let line = refused.expect_err("too many blocks").to_string();
    assert!(line.starts_with("its packed blocks: ") && !line.contains('\n'), "{line}");
}

#[test]
fn wrong_checksums_of_lz4_blocks_are_named() {
    let plain = chunk(Layout::V18, [0, 0], "full", &[deep(3)]);
    let packed = pack(4, &plain);
    for at in [17, 20] {
        let mut changed = packed.clone();
        changed[at] ^= 1;
        let error = import_with(&region(&[([0, 0], 4, changed)]), &options()).expect_err("damaged");
        let line = error.to_string();
        assert!(line.contains("chunk 0, 0") && line.contains("the checksum of an LZ4"), "{line}");
    }
}
