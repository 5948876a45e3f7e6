//! Hostile shapes of every format, each for a size n: files that claim much, repeat much or nest
//! much. They are small; what they cost has to grow with their length only.

use super::files::*;
use super::meshes;
use super::shape_list::ShapeList;
pub use super::shape_list::{HostileShape, Importer};
use terravox_io::triangles::MeshFormat;

/// Adds the shapes of one kind.
type AddShapes = fn(&mut ShapeList);

/// Returns all shapes.
pub fn shapes() -> Vec<HostileShape> {
    let mut lists = Vec::new();
    for packing in PACKINGS {
        let mut list = ShapeList::new(format!("rbxm, {packing:?}"), Importer::Roblox);
        for add in [classes, unwanted, wanted, shared_and_unknown] {
            add(packing, &mut list);
        }
        lists.push(list);
    }
    let formats: [(&str, Importer, AddShapes); 13] = [
        ("rbxmx", Importer::Roblox, xml_elements),
        ("rbxmx", Importer::Roblox, xml_values),
        ("rbxmx", Importer::Roblox, xml_shared),
        ("SmoothGrid", Importer::SmoothGrid, smooth_grids),
        ("PNG", Importer::Png, pngs),
        ("raw", Importer::RawHeights, raw_heights),
        ("metadata", Importer::Metadata, metadata),
        ("vox", Importer::Vox, vox_scenes),
        ("vox", Importer::Vox, vox_models),
        ("OBJ", Importer::Mesh(MeshFormat::Obj), meshes::objs),
        ("STL", Importer::Mesh(MeshFormat::Stl), meshes::stls),
        ("PLY", Importer::Mesh(MeshFormat::Ply), meshes::plys),
        ("glTF", Importer::Mesh(MeshFormat::Glb), meshes::glbs),
    ];
    for (prefix, importer, add) in formats {
        let mut list = ShapeList::new(prefix, importer);
        add(&mut list);
        lists.push(list);
    }
    lists.into_iter().flat_map(|list| list.shapes).collect()
}

fn air() -> Vec<u8> {
    smooth_grid([[0; 3]], &full(0))
}

/// Many or large classes.
fn classes(packing: Packing, list: &mut ShapeList) {
    let inst_chunk = move |id, class: &str, count| chunk(packing, b"INST", &inst(id, class, count));
    let terrain = move |count| inst_chunk(7, "Terrain", count);
    list.add_chunks("instances of a class", 40_000, move |n| vec![inst_chunk(1, "Part", n as u32)]);
    list.add_chunks("instances of Terrain", 40_000, move |n| vec![terrain(n as u32)]);
    list.add_chunks("classes", 400, move |n| {
        (0..n).map(|i| inst_chunk(i as u32, "Part", 1)).collect()
    });
    list.add_chunks("classes named Terrain", 400, move |n| {
        (0..n).map(|i| inst_chunk(i as u32, "Terrain", 1)).collect()
    });
    list.add_chunks("classes of one id", 400, move |n| vec![terrain(1); n]);
    list.add_chunks("a long class name", 40_000, move |n| vec![inst_chunk(1, &"P".repeat(n), 1)]);
}

/// Properties that are not wanted.
fn unwanted(packing: Packing, list: &mut ShapeList) {
    let inst_chunk = move |id, class: &str, count| chunk(packing, b"INST", &inst(id, class, count));
    let prop_chunk = move |payload: Vec<u8>| chunk(packing, b"PROP", &payload);
    let terrain = move |count| inst_chunk(7, "Terrain", count);
    list.add_chunks("unwanted properties", 40, move |n| {
        let unwanted = prop_chunk(prop(7, "Tags", &[vec![0; 20_000]]));
        [vec![terrain(1)], vec![unwanted; n]].concat()
    });
    list.add_chunks("a large unwanted property", 200_000, move |n| {
        vec![terrain(1), prop_chunk(prop(7, "Tags", &[vec![0; n]]))]
    });
    list.add_chunks("properties of unknown classes", 400, move |n| {
        let unknown = |i| prop_chunk(prop(i as u32 + 9, "SmoothGrid", &[air()]));
        [vec![terrain(1)], (0..n).map(unknown).collect()].concat()
    });
    list.add_chunks("a SmoothGrid again and again", 100, move |n| {
        [vec![terrain(1)], vec![prop_chunk(prop(7, "SmoothGrid", &[air()])); n]].concat()
    });
}

/// Properties that are.
fn wanted(packing: Packing, list: &mut ShapeList) {
    let inst_chunk = move |id, class: &str, count| chunk(packing, b"INST", &inst(id, class, count));
    let prop_chunk = move |payload: Vec<u8>| chunk(packing, b"PROP", &payload);
    let terrain = move |count| inst_chunk(7, "Terrain", count);
    list.add_chunks("values of many Terrains", 4000, move |n| {
        vec![terrain(n as u32), prop_chunk(prop(7, "SmoothGrid", &vec![vec![1, 5]; n]))]
    });
    list.add_chunks("classes with a SmoothGrid each", 200, move |n| {
        let pair = |i| {
            let grid = prop_chunk(prop(i as u32, "SmoothGrid", &[vec![1, 5]]));
            [inst_chunk(i as u32, "Terrain", 1), grid].concat()
        };
        (0..n).map(pair).collect()
    });
    list.add_chunks("a SmoothGrid of zeros", 100_000, move |n| {
        vec![terrain(1), prop_chunk(prop(7, "SmoothGrid", &[vec![0; n]]))]
    });
    list.add_chunks("large colours", 100_000, move |n| {
        vec![terrain(1), prop_chunk(prop(7, "MaterialColors", &[vec![9; n]]))]
    });
}

/// Shared strings and unknown chunks.
fn shared_and_unknown(packing: Packing, list: &mut ShapeList) {
    let inst_chunk = move |id, class: &str, count| chunk(packing, b"INST", &inst(id, class, count));
    let prop_chunk = move |payload: Vec<u8>| chunk(packing, b"PROP", &payload);
    let terrain = move |count| inst_chunk(7, "Terrain", count);
    list.add_chunks("shared strings", 4000, move |n| {
        let strings = chunk(packing, b"SSTR", &shared(&vec![vec![1, 5]; n]));
        let last = shared_prop(7, "SmoothGrid", 1, n as u32 - 1);
        vec![strings, terrain(1), prop_chunk(last)]
    });
    list.add_chunks("Terrains that share the last of many strings", 2000, move |n| {
        let strings = chunk(packing, b"SSTR", &shared(&vec![air(); n / 8]));
        let last = shared_prop(7, "SmoothGrid", n as u32, n as u32 / 8 - 1);
        vec![strings, terrain(n as u32), prop_chunk(last)]
    });
    list.add_chunks("unused shared strings", 4000, move |n| {
        vec![chunk(packing, b"SSTR", &shared(&vec![vec![0; 9]; n])), terrain(1)]
    });
    list.add_chunks("unknown chunks", 2000, move |n| vec![chunk(packing, b"WHAT", &[0; 99]); n]);
    list.add_chunks("terrain of many uniform chunks", 40, move |n| {
        let grid = smooth_grid((0..n as i32).map(|x| [x, 0, 0]), &full(2));
        vec![terrain(1), prop_chunk(prop(7, "SmoothGrid", &[grid]))]
    });
}

/// Elements, attributes and text.
fn xml_elements(list: &mut ShapeList) {
    list.add_xml("nested elements", 9000, |n| "<a>".repeat(n));
    list.add_xml("nested items", 9000, |n| "<Item class=\"A\">".repeat(n));
    list.add_xml("items", 9000, |n| "<Item class=\"A\"/>".repeat(n));
    list.add_xml("Terrains", 9000, |n| "<Item class=\"Terrain\"/>".repeat(n));
    list.add_xml("classes", 9000, |n| (0..n).map(|i| format!("<Item class=\"{i}\"/>")).collect());
    list.add_xml("a long class", 90_000, |n| format!("<Item class=\"{}\"/>", "A".repeat(n)));
    list.add_xml("attributes of an item", 9000, |n| {
        let attributes: String = (0..n).map(|i| format!(" a{i}=\"\"")).collect();
        format!("<Item{attributes} class=\"A\"/>")
    });
    list.add_xml("comments", 9000, |n| "<!---->".repeat(n));
    list.add_xml("instructions", 9000, |n| "<?a?>".repeat(n));
    list.add_xml("empty elements", 9000, |n| "<a/>".repeat(n));
    list.add_xml("ampersands", 90_000, |n| "&".repeat(n));
    list.add_xml("references", 30_000, |n| "&a;".repeat(n));
    list.add_xml("a reference without an end", 90_000, |n| format!("&{}", "a".repeat(n)));
    list.add_xml("text", 90_000, |n| "a".repeat(n));
    list.add_xml("open angles", 90_000, |n| "<".repeat(n));
    list.add_xml("a comment without an end", 90_000, |n| format!("<!--{}", "-".repeat(n)));
    list.add_xml("quotes", 90_000, |n| format!("<a b=\"{}", "'".repeat(n)));
    list.add("bytes that are not UTF-8", 90_000, |n| [xml(""), vec![0xFF; n]].concat());
}

/// A property of a Terrain.
fn value(kind: &str, text: &str) -> String {
    format!("<{kind} name=\"SmoothGrid\">{text}</{kind}>")
}

/// Values of Terrains.
fn xml_values(list: &mut ShapeList) {
    list.add_xml("values of one property", 2000, move |n| {
        terrain(&value("BinaryString", "AQU=").repeat(n))
    });
    list.add_xml("a value of zeros", 90_000, move |n| {
        terrain(&value("BinaryString", &"A".repeat(n / 4 * 4)))
    });
    list.add_xml("a value of white space", 90_000, move |n| {
        terrain(&value("BinaryString", &"A \n".repeat(n / 12 * 4)))
    });
    list.add_xml("a value in CDATA sections", 9000, move |n| {
        terrain(&value("BinaryString", &"<![CDATA[AQU=]]>".repeat(n)))
    });
}

fn shared_string(hash: usize) -> String {
    format!("<SharedString md5=\"{hash}\">AQU=</SharedString>")
}

/// Values that Terrains share.
fn xml_shared(list: &mut ShapeList) {
    list.add_xml("Terrains with a shared string each", 1000, move |n| {
        let terrains: String =
            (0..n).map(|i| terrain(&value("SharedString", &i.to_string()))).collect();
        let strings: String = (0..n).map(shared_string).collect();
        format!("{terrains}<SharedStrings>{strings}</SharedStrings>")
    });
    list.add_xml(
        "Terrains with one shared string",
        1000,
        move |n| {
            let terrains = terrain(&value("SharedString", "0")).repeat(n);
            let string = base64(&smooth_grid([[0; 3]], &full(2)));
            format!(
                "{terrains}<SharedStrings><SharedString md5=\"0\">{string}</SharedString></SharedStrings>"
            )
        },
    );
    list.add_xml("one hash again and again", 2000, move |n| {
        let terrain = terrain(&value("SharedString", "0"));
        format!("{terrain}<SharedStrings>{}</SharedStrings>", shared_string(0).repeat(n))
    });
    list.add_xml("unused shared strings", 2000, move |n| {
        let strings: String = (0..n).map(shared_string).collect();
        format!("<SharedStrings>{strings}</SharedStrings>")
    });
}

/// Shapes of the terrain itself.
fn smooth_grids(list: &mut ShapeList) {
    let line = |n: usize, step: i32| (0..n as i32).map(move |x| [x * step, 0, 0]);
    let contents = [("air", full(0)), ("rock", full(8)), ("rough", rough()), ("wet", wet())];
    for (name, runs) in contents {
        let n = if runs.len() > 10_000 { 4 } else { 40 };
        for (where_to, step) in [("side by side", 1), ("far apart", 900)] {
            let runs = runs.clone();
            let name = format!("chunks of {name}, {where_to}");
            list.add(&name, n, move |n| smooth_grid(line(n, step), &runs));
        }
    }
    list.add("one chunk again and again", 40, |n| smooth_grid(vec![[1; 3]; n], &full(2)));
    list.add("a chunk beyond the limits behind others", 40, move |n| {
        smooth_grid(line(n, 20_000), &full(2))
    });
    list.add("positions only", 9000, |n| [vec![1, 5], vec![0; n]].concat());
    list.add("runs that are too long", 9000, |n| [vec![1, 5], vec![255; n]].concat());
    list.add("positions whose hashes may collide", 40, |n| {
        smooth_grid((0..n as i32).map(|i| [i << 12, -(i << 11), i << 10]), &full(2))
    });
    list.add("bytes behind the end", 9000, move |n| [air(), vec![9; n]].concat());
}

/// Shapes of heightmaps.
fn pngs(list: &mut ShapeList) {
    use png::{BitDepth, ColorType};
    for (name, colour, depth) in [
        ("1 bit", ColorType::Grayscale, BitDepth::One),
        ("8 bits", ColorType::Grayscale, BitDepth::Eight),
        ("16 bits", ColorType::Grayscale, BitDepth::Sixteen),
        ("colours of 16 bits", ColorType::Rgba, BitDepth::Sixteen),
    ] {
        list.add(&format!("black, {name}"), 60_000, move |n| {
            png([300, (n / 300) as u32], colour, depth)
        });
        list.add(&format!("one row, {name}"), 60_000, move |n| png([n as u32, 1], colour, depth));
    }
    let tiny = || png([1, 1], ColorType::Grayscale, BitDepth::Eight);
    // The header is the first chunk: 8 bytes of magic number, 25 of IHDR.
    let with = move |chunks: Vec<u8>| {
        let tiny = tiny();
        [&tiny[..33], &chunks, &tiny[33..]].concat()
    };
    let text = [&b"a\0\0"[..], &[0x78, 0x01, 0x03, 0x00, 0, 0, 0, 1]].concat();
    list.add("chunks of text", 900, move |n| with(png_chunk(b"zTXt", &text).repeat(n)));
    list.add("a large unknown chunk", 90_000, move |n| with(png_chunk(b"abCd", &vec![0; n])));
    list.add("a large palette", 9000, move |n| with(png_chunk(b"PLTE", &vec![0; n * 3])));
    list.add("empty data chunks", 900, move |n| with(png_chunk(b"IDAT", &[]).repeat(n)));
    list.add("more data than pixels", 90_000, move |n| {
        let large = png([n as u32, 9], ColorType::Grayscale, BitDepth::Eight);
        let mut header = png([1, 1], ColorType::Grayscale, BitDepth::Eight)[..33].to_vec();
        header.extend(&large[33..]);
        header
    });
}

/// Samples without a header.
fn raw_heights(list: &mut ShapeList) {
    list.add("a square", 300, |n| vec![0; 2 * n * n]);
    list.add("no square", 300, |n| vec![0; 2 * n * (n + 1)]);
    list.add("a number of samples that may be prime", 300, |n| vec![0; 2 * (n * n + 1)]);
    list.add("half a sample", 300, |n| vec![0; 2 * n * n + 1]);
}

/// What a world file keeps of a place.
fn metadata(list: &mut ShapeList) {
    list.add("one chunk again and again", 4000, |n| {
        let header = [&[1, 2][..], &(n as u32).to_le_bytes()].concat();
        [header, vec![0; 12 * n]].concat()
    });
    list.add("bytes behind the end", 9000, |n| [vec![1, 0], vec![0; n]].concat());
}

/// Nodes of a MagicaVoxel scene.
fn vox_scenes(list: &mut ShapeList) {
    let dot = || vox_model([1, 1, 1], &[[0, 0, 0, 1]]);
    let scene = move |nodes: Vec<Vec<u8>>| vox(&[vec![dot()], nodes].concat());
    let text = |n: usize| "a".repeat(n);
    list.add("one shape again and again", 4000, move |n| {
        scene(vec![vox_group(0, &vec![1; n]), vox_shape(1, 0)])
    });
    list.add("shapes far apart", 60, move |n| {
        let placed = |i: u32| {
            let at = format!("{} 0 0", i * 9000);
            [vox_transform(2 * i + 1, 2 * i + 2, &[("_t", &at)]), vox_shape(2 * i + 2, 0)].concat()
        };
        let children: Vec<u32> = (0..n as u32).map(|i| 2 * i + 1).collect();
        scene([vec![vox_group(0, &children)], (0..n as u32).map(placed).collect()].concat())
    });
    list.add("groups that double", 40, move |n| {
        let groups = (0..n as u32).map(|id| vox_group(id, &[id + 1, id + 1]));
        scene([groups.collect(), vec![vox_shape(n as u32, 0)]].concat())
    });
    list.add("groups that double above nothing", 40, move |n| {
        let groups = (0..n as u32).map(|id| vox_group(id, &[id + 1, id + 1]));
        scene([groups.collect(), vec![vox_group(n as u32, &[])]].concat())
    });
    list.add("a chain of transforms", 400, move |n| {
        let chain = (0..n as u32).map(|id| vox_transform(id, id + 1, &[("_t", "1 0 0")]));
        scene([chain.collect(), vec![vox_shape(n as u32, 0)]].concat())
    });
    list.add("a group in itself", 4000, move |n| scene(vec![vox_group(0, &vec![0; n])]));
    list.add("a square of empty groups", 600, move |n| {
        let rows = vec![vox_group(0, &vec![1; n]), vox_group(1, &vec![2; n]), vox_group(2, &[])];
        scene(rows)
    });
    list.add("nodes without a parent", 4000, move |n| {
        scene((0..n as u32).map(|id| vox_group(id, &[])).collect())
    });
    list.add("attributes of a node", 9000, move |n| {
        scene(vec![vox_transform(0, 1, &vec![("", ""); n]), vox_shape(1, 0)])
    });
    list.add("a long name", 90_000, move |n| {
        scene(vec![vox_transform(0, 1, &[("_name", &text(n))]), vox_shape(1, 0)])
    });
    list.add("hidden layers", 4000, move |n| {
        let layers = (0..n as u32).map(|id| vox_layer(id, &[("_hidden", "1")]));
        scene([layers.collect(), vec![vox_group(0, &[])]].concat())
    });
}

/// Models and chunks of a MagicaVoxel file.
fn vox_models(list: &mut ShapeList) {
    let small = |n: usize| (0..n).map(|i| [i as u8, (i >> 8) as u8, (i >> 16) as u8, 1]).collect();
    list.add("voxels", 20_000, move |n| {
        let voxels: Vec<[u8; 4]> = small(n);
        vox(&[vox_model([256, 256, 256], &voxels)])
    });
    list.add("one voxel again and again", 20_000, move |n| {
        vox(&[vox_model([256, 256, 256], &vec![[7, 7, 7, 1]; n])])
    });
    list.add("voxels in all chunks", 64, move |n| {
        let voxels: Vec<[u8; 4]> =
            (0..n).map(|i| [(i << 5) as u8, (i >> 3 << 5) as u8, (i >> 6 << 5) as u8, 9]).collect();
        vox(&[vox_model([256, 256, 256], &voxels)])
    });
    list.add("rows of two colours", 1000, move |n| {
        let voxels: Vec<[u8; 4]> = (0..n)
            .flat_map(|i| [[0, i as u8, (i >> 8) as u8, 1], [1, i as u8, (i >> 8) as u8, 2]])
            .collect();
        vox(&[vox_model([256, 256, 256], &voxels)])
    });
    list.add("a large model again and again", 400, move |n| {
        let voxels: Vec<[u8; 4]> = small(4096);
        let model = vox_model([256, 256, 256], &voxels);
        vox(&[model, vox_group(0, &vec![1; n]), vox_shape(1, 0)])
    });
    list.add("empty models", 4000, |n| vox(&vec![vox_model([1, 1, 1], &[]); n]));
    list.add("sizes without voxels", 4000, |n| vox(&vec![vox_chunk(b"SIZE", &[1; 12]); n]));
    list.add("palettes", 100, |n| {
        vox(&[vec![vox_chunk(b"RGBA", &[7; 1024]); n], vec![vox_model([1; 3], &[])]].concat())
    });
    list.add("materials", 4000, |n| {
        let material = vox_chunk(b"MATL", &[0; 8]);
        vox(&[vec![material; n], vec![vox_model([1; 3], &[])]].concat())
    });
    list.add("unknown chunks", 4000, |n| {
        vox(&[vec![vox_chunk(b"what", &[]); n], vec![vox_model([1; 3], &[])]].concat())
    });
    list.add("a large unknown chunk", 90_000, |n| {
        vox(&[vox_chunk(b"what", &vec![0; n]), vox_model([1; 3], &[])])
    });
    list.add("chunks within chunks", 900, |n| {
        let head =
            |below: usize| [&b"MAIN"[..], &[0; 4], &(12 * below as u32).to_le_bytes()].concat();
        let nested = (0..n).rev().flat_map(head).collect();
        vox(&[nested, vox_model([1; 3], &[])])
    });
}
