//! Terrain that is written into a place: all else in the file stays, byte for byte.

use super::tests::*;
use super::*;
use crate::import_budget::{ImportBudget, ImportLimits};
use base64::Engine;
use proptest::prelude::*;
use terravox::voxel::{Cell, DenseBox, GridOptions, Region, VoxelGrid};

/// A world that is not the one of [`blob`].
fn world() -> VoxelGrid {
    let mut grid = VoxelGrid::new(GridOptions::default());
    let mut cells = DenseBox::new(Region::new([-40, -3, 5], [20, 9, 70]));
    for (i, at) in cells.region().voxels().enumerate() {
        cells.set(at, Cell::new(2 + (i % 5) as u8, (i * 7 % 256) as u8));
    }
    grid.write(&cells).unwrap();
    grid
}

fn into(place: &[u8]) -> Result<Vec<u8>, ExportError> {
    let mut budget = ImportBudget::for_input(place.len());
    export_into(world().as_snapshot(), &RobloxMetadata::default(), place, &mut budget)
}

/// Asserts that `place` holds the world afterwards, and that nothing but the bytes between its
/// first `start` and its last `end` changed.
fn assert_replaced(place: &[u8], start: usize, end: usize) {
    let after = into(place).unwrap();
    assert_eq!(after[..start], place[..start]);
    assert_eq!(after[after.len() - end..], place[place.len() - end..]);
    let (mut grid, _) = imported(&after).unwrap();
    // The place keeps its colours.
    grid.set_materials(world().materials().clone());
    assert_eq!(grid.digest(), world().digest());
    // Once more, nothing changes.
    assert_eq!(into(&after).unwrap(), after);
}

/// Asserts that only the chunk `changed` of a binary file is another afterwards, or that one is
/// inserted before it.
fn assert_chunk_replaced(chunks: &[Vec<u8>], changed: usize, is_insertion: bool) {
    let start = 32 + chunks[..changed].concat().len();
    let end = chunks[changed + usize::from(!is_insertion)..].concat().len();
    assert_replaced(&binary_file(chunks), start, end);
}

#[test]
fn in_a_binary_place_only_the_chunk_of_the_terrain_changes() {
    let lz4 = prop_payload(7, "SmoothGrid", &[&[1, 5], &blob()]);
    let chunks = [
        raw_chunk(b"META", b"whatever"),
        inst(0, "Workspace", 1),
        inst(7, "Terrain", 2),
        inst(3, "TerrainRegion", 1),
        raw_chunk(b"WHAT", &[1, 2, 3]),
        prop(3, "SmoothGrid", &[b"not a Terrain's"]),
        prop(7, "PhysicsGrid", &[b"", b"\x02\x03"]),
        packed_chunk(b"PROP", &lz4_flex::block::compress(&lz4), lz4.len()),
        prop(7, "MaterialColors", &[&[9; 69], &colours()]),
        raw_chunk(b"PRNT", &[0; 13]),
        end(),
        b"bytes behind the end".to_vec(),
    ];
    assert_chunk_replaced(&chunks, 7, false);
    let (_, imported) = imported(&into(&binary_file(&chunks)).unwrap()).unwrap();
    assert_eq!(imported.metadata.colours, Some(colours()), "the second Terrain is still the one");
}

#[test]
fn a_terrain_without_a_smooth_grid_gets_one_behind_the_properties() {
    let chunks = [
        inst(7, "Terrain", 3),
        prop(7, "Name", &[b"a", b"b", b"c"]),
        raw_chunk(b"PRNT", &[0; 13]),
        end(),
    ];
    assert_chunk_replaced(&chunks, 2, true);
    assert_chunk_replaced(&[inst(7, "Terrain", 1), end()], 1, true);
}

#[test]
fn shared_strings_stay_and_other_terrains_keep_theirs() {
    let mut shared = vec![0, 0, 0, 0, 2, 0, 0, 0];
    shared.extend(
        [[3; 16].to_vec(), string(b"\x01\x05"), [4; 16].to_vec(), string(&blob())].concat(),
    );
    let mut by_index = 7u32.to_le_bytes().to_vec();
    by_index.extend(string(b"SmoothGrid"));
    // Two big-endian indices, their bytes interleaved: 0, the one without chunks, and 1.
    by_index.extend([0x1C, 0, 0, 0, 0, 0, 0, 0, 1]);
    let chunks =
        [raw_chunk(b"SSTR", &shared), inst(7, "Terrain", 2), raw_chunk(b"PROP", &by_index), end()];
    assert_chunk_replaced(&chunks, 2, false);
}

#[test]
fn shared_strings_that_many_terrains_use_are_not_copied_beyond_the_budget() {
    let mut shared = vec![0, 0, 0, 0, 1, 0, 0, 0];
    shared.extend([[4; 16].to_vec(), string(&blob().repeat(200))].concat());
    let count = 50_000u32;
    let mut by_index = 7u32.to_le_bytes().to_vec();
    by_index.extend(string(b"SmoothGrid"));
    by_index.push(0x1C);
    by_index.extend(vec![0; 4 * count as usize]);
    let place = binary_file(&[
        raw_chunk(b"SSTR", &shared),
        inst(7, "Terrain", count),
        raw_chunk(b"PROP", &by_index),
        end(),
    ]);
    let error = into(&place).unwrap_err().to_string();
    assert!(error.contains("its Terrains") && !error.contains('\n'), "{error}");
}

fn xml_place(terrain: &str) -> Vec<u8> {
    let value = base64::engine::general_purpose::STANDARD.encode(blob());
    let mut file = format!(
        r#"<?xml version="1.0"?><roblox version="4"><Item class="Workspace"><Properties>
        <BinaryString name="SmoothGrid">!!!</BinaryString></Properties>{terrain}
        <Item class="Script"><Properties><string name="Source">~ a &lt; b</string></Properties></Item>
        </Item><SharedStrings><SharedString md5="h">{value}</SharedString></SharedStrings></roblox>"#
    )
    .into_bytes();
    // Bytes that are not UTF-8.
    let bytes: Vec<usize> = (0..file.len()).filter(|&i| file[i] == b'~').collect();
    bytes.into_iter().for_each(|i| file[i] = 0xF0);
    file
}

#[test]
fn in_an_xml_place_only_the_element_of_the_terrain_changes() {
    let value = base64::engine::general_purpose::STANDARD.encode(blob());
    let own = format!("<BinaryString name='SmoothGrid'> {value} </BinaryString>");
    for (element, inner) in [
        (own.as_str(), own.as_str()),
        ("<SharedString name=\"SmoothGrid\">h</SharedString>", "<SharedString name"),
        ("<BinaryString name=\"SmoothGrid\"/>", "<BinaryString name=\"SmoothGrid\"/>"),
        ("", "</Properties><!-- here -->"),
    ] {
        for mark in [&b""[..], b"\xEF\xBB\xBF"] {
            let terrain = format!(
                "<Item class=\"Terrain\"><Item class=\"Folder\"><Properties/></Item><Properties>\
                 <string name=\"Name\">~~x~</string>{element}</Properties><!-- here --></Item>"
            );
            let place = [mark, &xml_place(&terrain)].concat();
            let find = |what: &str| {
                place.windows(what.len()).rposition(|window| window == what.as_bytes()).unwrap()
            };
            let start = find(inner);
            assert_replaced(&place, start, place.len() - start - element.len());
        }
    }
}

#[test]
fn names_in_xml_are_the_same_with_references() {
    let value = base64::engine::general_purpose::STANDARD.encode(blob());
    let terrain = |element: &str| {
        format!(
            "<Item class=\"Terr&#x61;in\"><Properties>{element}<string name=\"A&unknown;B\">x</string>\
             </Properties></Item>"
        )
    };
    let own = format!("<BinaryString name=\"Smooth&#71;rid\">{value}</BinaryString>");
    let place = xml_place(&terrain(&own));
    let find = |what: &str| {
        place.windows(what.len()).position(|window| window == what.as_bytes()).unwrap()
    };
    let start = find(&own);
    assert_replaced(&place, start, place.len() - start - own.len());
    let after = String::from_utf8_lossy(&into(&place).unwrap()).into_owned();
    assert_eq!(after.matches("rid\"><![CDATA[").count(), 1, "one SmoothGrid");
}

#[test]
fn places_without_terrain_or_properties_say_so_in_a_line() {
    let error = |place: &[u8]| into(place).unwrap_err().to_string();
    assert!(error(&binary_file(&[inst(1, "Workspace", 1), end()])).contains("holds no Terrain"));
    assert!(error(&xml_place("")).contains("holds no Terrain"));
    assert!(error(&xml_place("<Item class=\"Terrain\"/>")).contains("no property"));
    assert!(error(b"").contains("empty"));
    assert!(error(b"PNG").contains("not a Roblox file"));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn damaged_places_never_panic(at in any::<prop::sample::Index>(), bit in 0u8..8, cut in any::<prop::sample::Index>()) {
        let grid = world();
        let metadata = RobloxMetadata::default();
        for container in [Container::Binary, Container::Xml] {
            let mut place = export(grid.as_snapshot(), &metadata, container).unwrap();
            let i = at.index(place.len());
            place[i] ^= 1 << bit;
            let limits = ImportLimits::for_input(place.len());
            let _ = export_into(grid.as_snapshot(), &metadata, &place, &mut ImportBudget::new(limits));
            place.truncate(cut.index(place.len()));
            let _ = export_into(grid.as_snapshot(), &metadata, &place, &mut ImportBudget::new(limits));
        }
    }
}
