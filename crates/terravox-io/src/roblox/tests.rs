//! Whole files, built here byte by byte: all containers, valid and damaged.

use super::import::set_colours;
use super::*;
use crate::import_budget::{ImportBudget, ImportLimits};
use base64::Engine;
use proptest::prelude::*;
use terravox::voxel::{Cell, ChunkPos, DenseBox, GridOptions, VoxelGrid, VoxelPos};

/// A SmoothGrid of two chunks out of order, one of them air, with a shoreline.
pub(super) fn blob() -> Vec<u8> {
    let kinds = *VoxelGrid::new(GridOptions::default()).materials().kinds();
    let mut writer = SmoothGridWriter::new(&kinds);
    let mut cells = DenseBox::new(ChunkPos::new(3, -1, 0).region());
    let min = cells.region().min;
    cells.set(min, Cell::new(8, 77));
    cells.set_water(min, Some(12));
    cells.set(min + VoxelPos::new(5, 6, 7), Cell::full(1));
    cells.set(min + VoxelPos::new(6, 6, 7), Cell::full(63));
    writer.push(&cells).unwrap();
    writer.push(&DenseBox::new(ChunkPos::new(-2, 0, 0).region())).unwrap();
    writer.finish()
}

pub(super) fn colours() -> Vec<u8> {
    (0..69).map(|i| i * 3).collect()
}

pub(super) fn imported(bytes: &[u8]) -> Result<(VoxelGrid, RobloxImport), RobloxError> {
    imported_with(bytes, ImportLimits::for_input(bytes.len()))
}

fn imported_with(
    bytes: &[u8],
    limits: ImportLimits,
) -> Result<(VoxelGrid, RobloxImport), RobloxError> {
    let mut grid = VoxelGrid::new(GridOptions::default());
    let mut budget = ImportBudget::new(limits);
    let options = ImportOptions::default();
    let imported = import_with_progress(bytes, &options, &mut budget, &mut grid, |_, _| {})?;
    Ok((grid, imported))
}

pub(super) fn error_of(bytes: &[u8]) -> String {
    imported(bytes).expect_err("an error").to_string()
}

/// Returns the SmoothGrid of an export.
pub(super) fn exported(grid: &VoxelGrid, imported: &RobloxImport) -> Vec<u8> {
    export(grid.as_snapshot(), &imported.metadata, Container::SmoothGrid).unwrap()
}

/// A binary file of these chunks.
pub(super) fn binary_file(chunks: &[Vec<u8>]) -> Vec<u8> {
    let mut out = b"<roblox!\x89\xff\r\n\x1a\n".to_vec();
    out.extend([0, 0, 3, 0, 0, 0, 9, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
    out.extend(chunks.concat());
    out
}

pub(super) fn raw_chunk(name: &[u8; 4], payload: &[u8]) -> Vec<u8> {
    let mut out = name.to_vec();
    out.extend([0; 4]);
    out.extend((payload.len() as u32).to_le_bytes());
    out.extend([0; 4]);
    out.extend(payload);
    out
}

pub(super) fn packed_chunk(name: &[u8; 4], packed: &[u8], length: usize) -> Vec<u8> {
    let mut out = name.to_vec();
    out.extend((packed.len() as u32).to_le_bytes());
    out.extend((length as u32).to_le_bytes());
    out.extend([0; 4]);
    out.extend(packed);
    out
}

/// A zstd frame that claims `length` bytes, up to its first block, which is raw, not the last one
/// and holds `content`.
fn zstd_header(content: &[u8], length: u64) -> Vec<u8> {
    // A window of 8 MiB, a content size of 8 bytes.
    let mut out = vec![0x28, 0xB5, 0x2F, 0xFD, 0xC0, 13 << 3];
    out.extend(length.to_le_bytes());
    out.extend(&((content.len() as u32) << 3).to_le_bytes()[..3]);
    out
}

pub(super) fn string(value: &[u8]) -> Vec<u8> {
    [&(value.len() as u32).to_le_bytes(), value].concat()
}

pub(super) fn inst(id: u32, class: &str, count: u32) -> Vec<u8> {
    let mut payload = id.to_le_bytes().to_vec();
    payload.extend(string(class.as_bytes()));
    payload.push(0);
    payload.extend(count.to_le_bytes());
    payload.extend(vec![0; 4 * count as usize]);
    raw_chunk(b"INST", &payload)
}

pub(super) fn prop_payload(id: u32, name: &str, values: &[&[u8]]) -> Vec<u8> {
    let mut payload = id.to_le_bytes().to_vec();
    payload.extend(string(name.as_bytes()));
    payload.push(1);
    payload.extend(values.iter().flat_map(|value| string(value)));
    payload
}

pub(super) fn prop(id: u32, name: &str, values: &[&[u8]]) -> Vec<u8> {
    raw_chunk(b"PROP", &prop_payload(id, name, values))
}

pub(super) fn end() -> Vec<u8> {
    raw_chunk(b"END\0", b"</roblox>")
}

#[test]
fn every_container_round_trips_terrain_and_colours() {
    let (grid, first) = imported(&blob()).unwrap();
    assert_eq!(first.container, Container::SmoothGrid);
    assert_eq!(first.chunks, 2);
    assert_eq!(exported(&grid, &first), blob());
    let metadata = RobloxMetadata { colours: Some(colours()), ..first.metadata };
    let mut grid = grid;
    set_colours(&colours(), &mut grid).unwrap();
    for container in [Container::Binary, Container::Xml] {
        let file = export(grid.as_snapshot(), &metadata, container).unwrap();
        assert_eq!(detect(&file), Some(container));
        let (again, imported) = imported(&file).unwrap();
        assert_eq!(imported.container, container);
        assert_eq!(imported.metadata, metadata);
        assert_eq!(imported.notes, Vec::<String>::new());
        assert_eq!(exported(&again, &imported), blob());
        assert_eq!(again.digest(), grid.digest());
        assert_eq!(again.materials().colour(2), [18, 21, 24]);
        assert!(again.is_listed(ChunkPos::new(-2, 0, 0)), "all-air chunks stay listed");
        assert_eq!(export(again.as_snapshot(), &imported.metadata, container).unwrap(), file);
    }
}

#[test]
fn progress_reaches_its_end() {
    let (mut steps, mut grid) = (Vec::new(), VoxelGrid::new(GridOptions::default()));
    let options = ImportOptions::default();
    let mut budget = ImportBudget::for_input(0);
    let progress = |done, all| steps.push((done, all));
    import_with_progress(&blob(), &options, &mut budget, &mut grid, progress).unwrap();
    assert_eq!(steps.len(), 2);
    assert_eq!(steps[1], (blob().len(), blob().len()));
}

#[test]
fn edited_worlds_keep_the_order_of_the_file_and_append_to_it() {
    let (mut grid, imported) = imported(&blob()).unwrap();
    grid.write(&DenseBox::new(ChunkPos::new(0, 0, 0).region())).unwrap();
    grid.write(&DenseBox::new(ChunkPos::new(-9, 0, 0).region())).unwrap();
    grid.forget(ChunkPos::new(3, -1, 0));
    let blob = exported(&grid, &imported);
    let kinds = *grid.materials().kinds();
    let mut reader = SmoothGridReader::new(&blob, &kinds).unwrap();
    let mut budget = ImportBudget::for_input(blob.len());
    let mut cells = DenseBox::default();
    let order: Vec<i32> =
        std::iter::from_fn(|| reader.next_chunk(&mut cells, &mut budget).unwrap())
            .map(|c| c.x)
            .collect();
    assert_eq!(order, [-2, -9, 0]);
}

#[test]
fn a_binary_place_with_unrelated_content_is_imported() {
    let blob = blob();
    let lz4 = prop_payload(7, "SmoothGrid", &[&[1, 5], &blob]);
    let file = binary_file(&[
        raw_chunk(b"META", b"whatever"),
        raw_chunk(b"SSTR", &[0, 0, 0, 0, 0, 0, 0, 0]),
        inst(0, "Workspace", 1),
        inst(7, "Terrain", 2),
        inst(3, "TerrainRegion", 1),
        raw_chunk(b"WHAT", &[1, 2, 3]),
        prop(3, "SmoothGrid", &[b"not a Terrain's"]),
        prop(0, "Name", &[b"Workspace"]),
        prop(7, "PhysicsGrid", &[b"", b"\x02\x03"]),
        packed_chunk(b"PROP", &lz4_flex::block::compress(&lz4), lz4.len()),
        prop(7, "MaterialColors", &[&[9; 69], &colours()]),
        end(),
        b"bytes behind the end".to_vec(),
    ]);
    let (grid, imported) = imported(&file).unwrap();
    assert_eq!(exported(&grid, &imported), blob);
    assert_eq!(imported.metadata.colours, Some(colours()));
}

#[test]
fn zstd_and_shared_strings_are_read() {
    let blob = blob();
    // A zstd frame by hand: magic, one segment with a two-byte length, one raw block.
    let payload = prop_payload(7, "MaterialColors", &[&colours()]);
    let mut zstd = vec![0x28, 0xB5, 0x2F, 0xFD, 0x20, payload.len() as u8];
    zstd.extend(((payload.len() as u32) << 3 | 1).to_le_bytes()[..3].iter());
    zstd.extend(&payload);
    let mut shared = vec![0, 0, 0, 0, 2, 0, 0, 0];
    shared.extend([[3; 16].to_vec(), string(b"other"), [4; 16].to_vec(), string(&blob)].concat());
    let mut by_index = 7u32.to_le_bytes().to_vec();
    by_index.extend(string(b"SmoothGrid"));
    by_index.extend([0x1C, 0, 0, 0, 1]);
    let chunks = [
        raw_chunk(b"SSTR", &shared),
        inst(7, "Terrain", 1),
        raw_chunk(b"PROP", &by_index),
        packed_chunk(b"PROP", &zstd, payload.len()),
        end(),
    ];
    let (grid, imported) = imported(&binary_file(&chunks)).unwrap();
    assert_eq!(exported(&grid, &imported), blob);
    assert_eq!(imported.metadata.colours, Some(colours()));
    assert!(error_of(&binary_file(&chunks[1..])).contains("no SSTR chunk"));
    let mut wrong = chunks.clone();
    wrong[2][16 + 4 + 4 + 10 + 1 + 3] = 2;
    assert!(error_of(&binary_file(&wrong)).contains("shared string 2 of 2"));
}

#[test]
fn an_xml_place_with_unrelated_content_is_imported() {
    let blob = blob();
    let base64 = base64::engine::general_purpose::STANDARD;
    let encoded = base64.encode(&blob);
    let (a, b) = encoded.split_at(101);
    let mut file = b"\xEF\xBB\xBF<?xml version=\"1.0\"?>\n<!-- a place -->\n".to_vec();
    file.extend(
        format!(
            r#"<roblox xmlns:xmime="x" version="4"><Meta name="M">true</Meta><External>null</External>
            <Item class="Workspace" referent="1"><Properties><string name="Name">a &amp; b &#10; &odd;</string>
            <BinaryString name="SmoothGrid">!!!</BinaryString></Properties>
              <Item class="TerrainRegion" referent="2"><Properties>
                <BinaryString name="SmoothGrid">AQU=</BinaryString></Properties></Item>
              <Item class="Terrain" referent="3">
                <Item class="Folder" referent="4"><Properties/></Item>
                <Properties><Vector3 name="size"><X>1</X><SmoothGrid/></Vector3>
                <BinaryString name="MaterialColors">{}</BinaryString>
                <SharedString name="SmoothGrid"> hash== </SharedString></Properties></Item></Item>
            <Item class="Terrain" referent="5"/>
            <SharedStrings><SharedString md5="none">????</SharedString>
            <SharedString md5="hash==">{a}
            <![CDATA[{b}]]></SharedString></SharedStrings></roblox>"#,
            base64.encode(colours())
        )
        .into_bytes(),
    );
    // A name that is not UTF-8.
    let name = file.windows(9).position(|w| w == b"a &amp; b").unwrap();
    file[name] = 0xFF;
    let (grid, imported) = imported(&file).unwrap();
    assert_eq!(imported.container, Container::Xml);
    assert_eq!(exported(&grid, &imported), blob);
    assert_eq!(imported.metadata.colours, Some(colours()));
}

#[test]
fn an_empty_terrain_is_an_empty_world() {
    for values in [&[1, 5][..], &[]] {
        let file = binary_file(&[inst(0, "Terrain", 1), prop(0, "SmoothGrid", &[values]), end()]);
        let (grid, imported) = imported(&file).unwrap();
        assert_eq!((imported.chunks, grid.is_empty()), (0, true));
        assert_eq!(imported.notes, ["the Terrain is empty"]);
    }
    let bare = "<roblox version=\"4\"><Item class=\"Terrain\" referent=\"0\"/></roblox>";
    assert_eq!(imported(bare.as_bytes()).unwrap().1.chunks, 0);
}

#[test]
fn of_two_terrains_the_first_is_imported_with_a_note() {
    let mut other = blob();
    other[2 + 8] ^= 1;
    let values: [&[u8]; 3] = [&[1, 5], &blob(), &other];
    let file = binary_file(&[inst(0, "Terrain", 3), prop(0, "SmoothGrid", &values), end()]);
    let (grid, imported) = imported(&file).unwrap();
    assert_eq!(exported(&grid, &imported), blob());
    assert!(imported.notes[0].contains("2 Terrains"));
}

#[test]
fn odd_colours_are_a_note_not_an_error() {
    let values = blob();
    let file = binary_file(&[
        inst(0, "Terrain", 1),
        prop(0, "SmoothGrid", &[&values]),
        prop(0, "MaterialColors", &[&[1, 2]]),
        end(),
    ]);
    let (_, imported) = imported(&file).unwrap();
    assert_eq!(imported.metadata.colours, None);
    assert!(imported.notes[0].contains("2 bytes"), "{:?}", imported.notes);
}

#[test]
fn runs_that_roblox_would_write_otherwise_are_read_and_noted() {
    let mut bytes = vec![1, 5, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
    // Two cells of grass as two runs, one with a redundant occupancy byte.
    bytes.extend([0x02, 0x42, 255, 0x80, 253]);
    bytes.extend([0x80, 255].repeat(127));
    let (grid, imported) = imported(&bytes).unwrap();
    assert_eq!(grid.cell(VoxelPos::new(1, 0, 0)), Ok(Cell::full(2)));
    assert!(imported.notes[0].contains("not as Roblox writes them"), "{:?}", imported.notes);
    assert_ne!(exported(&grid, &imported), bytes);
}

#[test]
fn files_without_a_terrain_say_so_in_a_line() {
    let file = binary_file(&[inst(0, "Workspace", 2), inst(1, "FilePart", 3), end()]);
    let error = error_of(&file);
    assert!(error.contains("no Terrain: 5 instances of 2 classes"), "{error}");
    let xml = "<roblox version=\"4\"><Item class=\"FilePart\" referent=\"0\"></Item></roblox>";
    assert!(error_of(xml.as_bytes()).contains("no Terrain: 1 instances of 1 classes"));
    assert_eq!(error_of(&[]), "the file is empty");
    assert!(error_of(b"\x89PNG\r\n").contains("starts with bytes 89 50 4e 47 0d 0a"));
}

#[test]
fn wrong_versions_are_named() {
    let mut file = binary_file(&[end()]);
    file[14] = 1;
    assert!(error_of(&file).contains("byte 14: version 1, but only version 0"));
    assert!(error_of(b"<roblox version=\"5\"></roblox>").contains("version 5, but only version 4"));
    assert!(error_of(b"<roblox></roblox>").contains("version (none)"));
    let options = ImportOptions { container: Some(Container::SmoothGrid) };
    let error = import(&[9, 5], &options, &mut VoxelGrid::default()).unwrap_err();
    assert!(error.to_string().contains("version 9"));
}

#[test]
fn false_lengths_are_refused_before_memory_is_allocated() {
    // Behind a Terrain, so that what claims to be its SmoothGrid is unpacked.
    let with_false_length =
        |chunk: Vec<u8>| error_of(&binary_file(&[inst(0, "Terrain", 1), chunk, end()]));
    assert!(
        with_false_length(packed_chunk(b"PROP", &[0; 20], 100_000))
            .contains("cannot unpack to 100000")
    );
    let value = prop_payload(0, "SmoothGrid", &[&[0; 2000]]);
    let packed = lz4_flex::block::compress(&value);
    assert!(
        with_false_length(packed_chunk(b"PROP", &packed, value.len() - 1))
            .contains("chunk PROP: LZ4")
    );
    let false_length = with_false_length(packed_chunk(b"PROP", &packed, value.len() + 1));
    assert!(false_length.contains("2023 bytes where 2024 are claimed"), "{false_length}");
    assert!(with_false_length(packed_chunk(b"PROP", &[0x10, 7], 5)).contains("chunk PROP"));
    let zstd = [0x28, 0xB5, 0x2F, 0xFD, 0x20, 1, 9, 0, 0, 7];
    assert!(
        with_false_length(packed_chunk(b"PROP", &zstd, 5)).contains("1 bytes where 5 are claimed")
    );
    assert!(with_false_length(packed_chunk(b"PROP", &zstd[..8], 5)).contains("zstd"));
    // A property of 256 GiB in a run of one byte.
    let bomb = [&zstd_header(&value, 1 << 38)[..], &value].concat();
    let error = with_false_length(packed_chunk(b"PROP", &bomb, u32::MAX as usize));
    assert!(error.contains("a chunk to unpack: ") && error.contains("of memory in all"), "{error}");
    let mut false_inst = inst(0, "Terrain", 1);
    false_inst[16 + 4 + 4 + 7 + 1 + 3] = 255;
    assert!(with_false_length(false_inst).contains("bytes wanted"));
    assert!(
        error_of(&binary_file(&[packed_chunk(b"PROP", &[0; 9], 9)])[..50]).contains("claims 9")
    );
    assert!(error_of(&binary_file(&[])).contains("END"));
    assert!(error_of(&binary_file(&[])[..20]).contains("cut short after 20"));
}

#[test]
fn what_a_file_claims_is_refused_before_it_is_unpacked() {
    let limits = ImportLimits { memory_bytes: 1000, work: 1 << 20, depth: 8 };
    let payload = prop_payload(0, "SmoothGrid", &[&[0; 600]]);
    let packed = lz4_flex::block::compress(&payload);
    let prop = packed_chunk(b"PROP", &packed, payload.len());
    let file = binary_file(&[inst(0, "Terrain", 1), prop, end()]);
    let error = imported_with(&file, limits).err().unwrap().to_string();
    let words = "file, byte 72: a chunk to unpack: 1.1 kB of memory in all, at most 1.0 kB";
    assert!(error.starts_with(words), "{error}");
    let value = base64::engine::general_purpose::STANDARD.encode([0; 600]);
    let xml = format!(
        "<roblox version=\"4\"><Item class=\"Terrain\"><Properties><BinaryString name=\"SmoothGrid\">{value}</BinaryString></Properties></Item></roblox>"
    );
    let error = imported_with(xml.as_bytes(), limits).err().unwrap().to_string();
    assert!(error.contains("a value: 2.5 kB of memory in all"), "{error}");
    let deep = format!("<roblox version=\"4\">{}", "<Item class=\"A\">".repeat(8));
    let error = imported_with(deep.as_bytes(), limits).err().unwrap().to_string();
    assert!(error.contains("elements: nested 9 deep, at most 8"), "{error}");
}

#[test]
fn terrains_that_share_a_value_do_not_copy_it() {
    let item = "<Item class=\"Terrain\"><Properties><SharedString name=\"SmoothGrid\">h</SharedString></Properties></Item>";
    let value = base64::engine::general_purpose::STANDARD.encode(blob());
    let xml = format!(
        "<roblox version=\"4\">{}<SharedStrings><SharedString md5=\"h\">{value}</SharedString></SharedStrings></roblox>",
        item.repeat(1000)
    );
    let mut budget = ImportBudget::for_input(xml.len());
    let mut grid = VoxelGrid::default();
    let options = ImportOptions::default();
    let imported =
        import_with_progress(xml.as_bytes(), &options, &mut budget, &mut grid, |_, _| {}).unwrap();
    assert!(imported.notes[0].contains("1000 Terrains"), "{:?}", imported.notes);
    assert!(budget.spent().memory_bytes < 400_000, "{:?}", budget.spent());
}

#[test]
fn parts_without_terrain_are_skipped_whatever_they_claim() {
    let blob = blob();
    let mut chunks = vec![inst(0, "Workspace", 1), inst(7, "Terrain", 1)];
    // Properties of other classes, unpacked never; the last bytes are damaged.
    for id in [0, 9, 7] {
        let payload = prop_payload(id, "Tags", &[&[5; 4000]]);
        let mut packed = lz4_flex::block::compress(&payload);
        packed.truncate(packed.len() - 4);
        chunks.push(packed_chunk(b"PROP", &packed, payload.len()));
    }
    // Of this many instances nothing but the number is read.
    let mut many = 3u32.to_le_bytes().to_vec();
    many.extend(string(b"Part"));
    many.push(0);
    many.extend(67_000_000_u32.to_le_bytes());
    let length = many.len() + 4 * 67_000_000;
    many.extend([0; 128]);
    chunks.push(packed_chunk(b"INST", &[&zstd_header(&many, 1 << 30)[..], &many].concat(), length));
    chunks.extend([prop(7, "SmoothGrid", &[&blob]), end()]);
    let (grid, imported) = imported(&binary_file(&chunks)).unwrap();
    assert_eq!(exported(&grid, &imported), blob);
    assert_eq!(imported.skipped.parts, 5);
}

#[test]
fn damaged_xml_is_an_error_with_an_offset() {
    let wrapped = |inner: &str| {
        format!(
            "<roblox version=\"4\"><Item class=\"Terrain\"><Properties>{inner}</Properties></Item></roblox>"
        )
    };
    let error = |inner: &str| error_of(wrapped(inner).as_bytes());
    let value = "<BinaryString name=\"SmoothGrid\">";
    assert!(
        error(&format!("{value}AQ*=</BinaryString>"))
            .contains("byte 54: the value of this element is not base64")
    );
    assert!(error(&format!("{value}<X/></BinaryString>")).contains("an element X inside"));
    assert!(error("<int name=\"SmoothGrid\">5</int>").contains("is of type int, not BinaryString"));
    assert!(
        error("<SharedString name=\"SmoothGrid\">zz</SharedString>")
            .contains("string zz, which is not")
    );
    assert!(error("</Item>").contains("XML"));
    assert!(
        error_of(b"<roblox version=\"4\"><Item class=\"Terrain\">").contains("2 elements open")
    );
    assert!(error_of(b"<?xml version=\"1.0\"?><html></html>").contains("root element is html"));
    assert!(error_of(b"<?xml version=\"1.0\"?>").contains("0 elements open"));
}

#[test]
fn truncated_models_are_errors() {
    let (grid, first) = imported(&blob()).unwrap();
    for container in [Container::Binary, Container::Xml] {
        let file = export(grid.as_snapshot(), &first.metadata, container).unwrap();
        let length = if container == Container::Binary { file.len() } else { file.len() - 1 };
        // Bytes after the name of the END chunk are not read.
        let needed = length - if container == Container::Binary { 9 } else { 0 };
        for end in 0..needed {
            assert!(imported(&file[..end]).is_err(), "{container:?} cut at {end}");
        }
    }
}

#[test]
fn flipped_bits_in_models_never_panic() {
    let (grid, first) = imported(&blob()).unwrap();
    for container in [Container::Binary, Container::Xml] {
        let file = export(grid.as_snapshot(), &first.metadata, container).unwrap();
        for bit in (0..file.len() * 8).step_by(3) {
            let mut flipped = file.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            let limits = ImportLimits { memory_bytes: 2 << 20, work: 1 << 24, depth: 64 };
            if let Err(error) = imported_with(&flipped, limits) {
                assert!(!error.to_string().contains('\n'), "one line: {error}");
            }
        }
    }
}

proptest! {
    #[test]
    fn any_bytes_after_a_valid_start_never_panic(
        start in prop_oneof![
            Just(b"<roblox!\x89\xff\r\n\x1a\n\0\0".to_vec()),
            Just(binary_file(&[inst(0, "Terrain", 1)])),
            Just(b"<roblox version=\"4\"><Item class=\"Terrain\"><Properties>".to_vec()),
            Just(vec![1, 5]),
            Just(vec![]),
        ],
        rest in proptest::collection::vec(0..=255u8, 0..300),
    ) {
        let limits = ImportLimits { memory_bytes: 2 << 20, work: 1 << 24, depth: 64 };
        let bytes = [start, rest].concat();
        if let Err(error) = imported_with(&bytes, limits) {
            prop_assert!(!error.to_string().is_empty());
        }
        let options = ImportOptions { container: Some(Container::Xml) };
        let _ = import(&bytes, &options, &mut VoxelGrid::default());
    }
}

/// A SmoothGrid in zstd whose blocks bring three tables and give three bytes, the first of them short.
#[test]
fn tables_of_zstd_blocks_are_paid_for_once_each() {
    let block = crate::zstd_blocks::tests::costly_block();
    let cost = |blocks: usize| {
        let value = 60 + 3 * blocks as u32;
        let head = prop_payload(7, "SmoothGrid", &[]);
        let first = [&head[..], &value.to_le_bytes(), &[1, 5], &[0; 58]].concat();
        let mut frame = vec![0x28, 0xB5, 0x2F, 0xFD, 0, 3 << 3];
        frame.extend(&((first.len() as u32) << 3).to_le_bytes()[..3]);
        frame.extend([&first[..], &block.repeat(blocks), &[1, 0, 0]].concat());
        let length = first.len() + 3 * blocks;
        let file =
            binary_file(&[inst(7, "Terrain", 1), packed_chunk(b"PROP", &frame, length), end()]);
        let mut budget = ImportBudget::for_input(file.len());
        let mut grid = VoxelGrid::new(GridOptions::default());
        let options = ImportOptions::default();
        let made = import_with_progress(&file, &options, &mut budget, &mut grid, |_, _| {});
        (budget.spent().work, made.map(drop).map_err(|error| error.to_string()))
    };
    // The first block is shorter than what shows what a chunk is, so all are unpacked to know.
    let [one, two] = [100, 200].map(|blocks| cost(blocks).0);
    let tables = 100 * 24_000;
    assert!(two >= one + tables && two < one + tables * 5 / 4, "{one} {two}");
    let line = cost(60_000).1.expect_err("too many");
    assert!(line.contains("million units of work") && !line.contains('\n'), "{line}");
}
