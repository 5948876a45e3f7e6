//! Files that become local worlds, and what is shown as a file of another program.

use std::sync::Arc;
use terravox::edit::EditOp;
use terravox::generate::Hills;
use terravox::lod::LodOptions;
use terravox::terrain::{Budget, Placement, Terrain, TerrainOptions};
use terravox::voxel::{DenseBox, GridOptions, Region, UnlistedChunks, VoxelGrid};
use terravox_io::roblox::{self, Container, RobloxMetadata};
use terravox_store::{Generator, MemoryDisk, Store, WorldInfo};
use terravox_web::{ImportedWorld, PlayerWorld, PlayerWorldOptions, import_world};

fn options() -> PlayerWorldOptions {
    let lod = LodOptions { detail: 1.2, max_mip: 3, ..PlayerWorldOptions::default().lod };
    PlayerWorldOptions { view_m: 150.0, lod, clock: None }
}

/// Opens an imported world, and waits until all of it is shown from its start.
fn visit(imported: &ImportedWorld) -> PlayerWorld {
    let disk = Arc::new(MemoryDisk::from(imported.bytes.clone()));
    let mut world =
        PlayerWorld::open_or_create(disk, "imported", 0, options()).expect("it is a world");
    let eye_m = imported.start_m.expect("it was imported");
    for frame in 0..400 {
        world.update(frame * 16_000, eye_m, Budget::Unlimited).expect("its host is honest");
        if world.is_settled() {
            return world;
        }
    }
    panic!("not settled after 400 frames");
}

/// Hills of 3 × 4 × 3 chunks, in a Roblox model.
fn model(container: Container) -> (Vec<u8>, VoxelGrid) {
    let mut grid = VoxelGrid::new(GridOptions::default());
    let mut cells = DenseBox::new(Region::new([0, -64, 0], [96, 64, 96]));
    Hills::new(3).fill(&mut cells, 0);
    grid.write(&cells).expect("whole chunks");
    let metadata = RobloxMetadata::default();
    let bytes = roblox::export(grid.as_snapshot(), &metadata, container).expect("it is small");
    (bytes, grid)
}

/// A PNG of a slope of 64 × 64 samples, in 8 bits.
fn slope(colour: png::ColorType) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut encoder = png::Encoder::new(&mut bytes, 64, 64);
    encoder.set_color(colour);
    let samples = (0..64 * 64).flat_map(|i| {
        let shade = (i % 64 * 4) as u8;
        if colour == png::ColorType::Rgb { vec![shade, 9, 200] } else { vec![shade] }
    });
    let samples: Vec<u8> = samples.collect();
    let mut writer = encoder.write_header().expect("it is small");
    writer.write_image_data(&samples).expect("as many as there are pixels");
    writer.finish().expect("all was written");
    bytes
}

#[test]
fn roblox_models_become_worlds_with_the_same_cells() {
    for container in [Container::Binary, Container::Xml] {
        let (bytes, grid) = model(container);
        let imported = import_world("a model", bytes).expect("it is one of ours");
        let disk = Arc::new(MemoryDisk::from(imported.bytes.clone()));
        let store = Store::open_on(disk, "imported").expect("it is a world");
        assert_eq!(store.load().expect("it is whole").grid.digest(), grid.digest());
        assert!((store.info().voxel_size_m - 1.12).abs() < 1e-6);
        assert!(store.extra(RobloxMetadata::EXTRA_NAME).expect("it is whole").is_some());
        let world = visit(&imported);
        let start_m = imported.start_m.expect("it was imported");
        let hit = world.ray(start_m, [0.0, -1.0, 0.0], 100.0).expect("there is ground below");
        // Some of it is water, which the ray passes.
        assert!((20.0..60.0).contains(&hit.distance_m), "{} m", hit.distance_m);
    }
}

#[test]
fn grey_pictures_become_land_and_others_are_refused() {
    let imported = import_world("slope.png", slope(png::ColorType::Grayscale)).expect("it is grey");
    let world = visit(&imported);
    let height = |x: f64| {
        100.0 - world.ray([x, 100.0, 32.0], [0.0, -1.0, 0.0], 200.0).expect("land").distance_m
    };
    // An eighth as high as wide.
    assert!((height(60.0) - height(4.0) - 7.0).abs() < 0.5, "{} {}", height(4.0), height(60.0));
    let error = import_world("photo.png", slope(png::ColorType::Rgb)).expect_err("it has colours");
    assert!(error.starts_with("photo.png: "), "{error}");
}

#[test]
fn what_is_no_world_is_refused_with_a_sentence() {
    let (model, _) = model(Container::Binary);
    let slope = slope(png::ColorType::Grayscale);
    let cut = |bytes: &[u8]| bytes[..bytes.len() / 2].to_vec();
    let cases: [(&str, Vec<u8>); 5] = [
        ("empty.tvx", Vec::new()),
        ("text.rbxl", b"Here is no place.".to_vec()),
        ("cut.rbxm", cut(&model)),
        ("cut.png", cut(&slope)),
        ("cut.tvx", b"\x89TVX\r\n\x1A\nand no more".to_vec()),
    ];
    for (name, bytes) in cases {
        let Err(error) = import_world(name, bytes) else { panic!("{name} was taken") };
        assert!(
            error.starts_with(&format!("{name}: ")) && error.len() > name.len() + 10,
            "{error}"
        );
    }
}

#[test]
fn a_world_is_opened_as_it_is() {
    let (bytes, _) = model(Container::Binary);
    let imported = import_world("a model", bytes).expect("it is one of ours");
    let again = import_world("kept.tvx", imported.bytes.clone()).expect("it is a world");
    assert_eq!(again, ImportedWorld { bytes: imported.bytes, start_m: None, notes: Vec::new() });
}

#[test]
fn a_world_that_grows_is_checked_whole_when_it_is_dropped() {
    let disk = Arc::new(MemoryDisk::default());
    let info = WorldInfo::growing(Placement::default(), Generator::hills(7));
    let store = Store::create_on(disk.clone(), "made", &info).expect("a new one");
    let mut terrain =
        Terrain::new(TerrainOptions { unlisted: UnlistedChunks::Air, ..TerrainOptions::default() });
    terrain.edit(&EditOp::fill_ball(8, [5.0; 3], 20.0)).expect("it is air");
    store.save(&terrain.unsaved(), |_| {}).expect("memory has room");
    drop(store);
    let bytes = disk.to_bytes();
    assert!(import_world("grown.tvx", bytes.clone()).is_ok());
    let refusal = |at: usize| {
        let mut damaged = bytes.clone();
        damaged[at] ^= 0x20;
        import_world("grown.tvx", damaged).err()
    };
    let refusals: Vec<String> = (16_384..bytes.len()).step_by(61).filter_map(refusal).collect();
    assert!(refusals.iter().all(|error| error.starts_with("grown.tvx: ")));
    assert!(refusals.iter().any(|error| error.contains("terravox repair")), "{refusals:?}");
    // It is opened where it is kept: the damaged chunk is found when it is read.
    let is_found_later = |at: usize| {
        let mut damaged = bytes.clone();
        damaged[at] ^= 0x20;
        let disk = Arc::new(MemoryDisk::from(damaged));
        PlayerWorld::open_or_create(disk, "grown", 7, options()).is_ok() && refusal(at).is_some()
    };
    assert!((16_384..bytes.len()).step_by(61).any(is_found_later));
}

#[test]
fn what_is_shown_is_a_glb_with_as_many_triangles() {
    let (bytes, _) = model(Container::Binary);
    let world = visit(&import_world("a model", bytes).expect("it is one of ours"));
    let glb = world.to_glb().expect("the world is here");
    assert!(glb.starts_with(b"glTF"));
    let length = u32::from_le_bytes([glb[12], glb[13], glb[14], glb[15]]) as usize;
    let json: serde_json::Value = serde_json::from_slice(&glb[20..20 + length]).expect("JSON");
    let indices = json["meshes"].as_array().expect("meshes").iter().flat_map(|mesh| {
        let primitives = mesh["primitives"].as_array().expect("primitives").iter();
        primitives.map(|primitive| primitive["indices"].as_u64().expect("an accessor") as usize)
    });
    let count = |accessor: usize| json["accessors"][accessor]["count"].as_u64().expect("a count");
    let triangles = indices.map(count).sum::<u64>() / 3;
    let shown = world.terrain().expect("the world is here").lod().triangles() as u64;
    assert!(shown > 10_000);
    assert_eq!(triangles, shown);
}

/// A chunk of a scene of MagicaVoxel.
fn chunk(name: &[u8; 4], content: &[u8]) -> Vec<u8> {
    [name, &(content.len() as u32).to_le_bytes()[..], &[0; 4], content].concat()
}

/// A scene of MagicaVoxel: one model of a voxel of colour 1, with a palette of reds, and more chunks.
fn scene_with(nodes: &[u8]) -> Vec<u8> {
    let size = [1u32, 1, 1].map(u32::to_le_bytes).concat();
    let voxels = [1, 0, 0, 0, 0, 0, 0, 1];
    let palette = [[255, 0, 0, 255]; 256].concat();
    let model = [chunk(b"SIZE", &size), chunk(b"XYZI", &voxels)].concat();
    let chunks = [&model[..], nodes, &chunk(b"RGBA", &palette)].concat();
    let main = [&b"MAIN"[..], &[0; 4], &(chunks.len() as u32).to_le_bytes(), &chunks].concat();
    [&b"VOX "[..], &150u32.to_le_bytes(), &main].concat()
}

fn scene() -> Vec<u8> {
    scene_with(&[])
}

/// The model twice: moved by these texts, such as `0 0 9`; the third number is up.
fn scene_of_two(moves: [&str; 2]) -> Vec<u8> {
    let numbers = |values: &[u32]| values.iter().flat_map(|v| v.to_le_bytes()).collect::<Vec<_>>();
    let text = |text: &str| [&numbers(&[text.len() as u32])[..], text.as_bytes()].concat();
    let transform = |id: u32, frame: &[u8]| {
        let head = numbers(&[id, 0, id + 1, u32::MAX, 0, 1]);
        chunk(b"nTRN", &[&head, frame].concat())
    };
    let moved = |by: &str| [numbers(&[1]), text("_t"), text(by)].concat();
    let shape = |id: u32| chunk(b"nSHP", &numbers(&[id, 0, 1, 0, 0]));
    scene_with(
        &[
            transform(0, &numbers(&[0])),
            chunk(b"nGRP", &numbers(&[1, 0, 2, 2, 4])),
            transform(2, &moved(moves[0])),
            shape(3),
            transform(4, &moved(moves[1])),
            shape(5),
        ]
        .concat(),
    )
}

#[test]
fn a_visit_begins_at_a_model_however_far_they_are_apart() {
    // Between them are two milliards of cells, and nothing is in the middle.
    let scene = scene_of_two(["0 0 -1000000000", "300 0 1000000000"]);
    let imported = import_world("apart.vox", scene).expect("a small scene");
    let [x, y, _] = imported.start_m.expect("it has ground");
    assert!((-32.0..=32.0).contains(&x) || (268.0..=332.0).contains(&x), "x is {x}");
    assert!((1e9 - 64.0..=1e9 + 64.0).contains(&y.abs()), "y is {y}");
    // In one column, above the upper one.
    let imported = import_world("above.vox", scene_of_two(["0 0 -1000000000", "0 0 1000000000"]));
    let [_, y, _] = imported.expect("a small scene").start_m.expect("it has ground");
    assert!((1e9..=1e9 + 64.0).contains(&y), "y is {y}");
}

#[test]
fn a_scene_becomes_a_world_and_a_damaged_one_is_refused() {
    let imported = import_world("house.vox", scene()).expect("a scene");
    let start = imported.start_m.expect("it has ground");
    assert!(start[1] > 20.0, "{start:?}");
    assert_eq!(imported.notes, Vec::<String>::new());
    let world = visit(&imported);
    assert!(world.terrain().expect("the world is here").lod().triangles() >= 12);
    let cut = scene()[..60].to_vec();
    let error = import_world("cut.vox", cut).expect_err("it is cut short");
    assert!(error.starts_with("cut.vox: ") && error.contains("byte "), "{error}");
}
