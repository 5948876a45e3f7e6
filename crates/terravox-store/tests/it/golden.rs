//! Files as they were first written are read for ever.

use crate::scratch::{Folder, Numbers, fill};
use std::path::{Path, PathBuf};
use terravox::edit::{EditOp, ValueAction, ValueOp};
use terravox::terrain::{Terrain, TerrainOptions};
use terravox::voxel::{
    Cell, Channel, ChannelWidth, ChunkPos, DenseBox, GridOptions, MAX_MIP, Material, MaterialTable,
    MipRule, Region, SurfaceShape, UnlistedChunks, VoxelGrid, VoxelPos,
};
use terravox_store::{FORMAT_VERSION, Generator, Overwrite, Store, WorldInfo};

/// Digest of the golden world.
const DIGEST: u128 = 0xb10900a3ae5a1abe8c30522e95da83b5;

fn golden_file(version: u16) -> PathBuf {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data");
    folder.join(format!("golden-{version}.tvx"))
}

/// The description of the golden world: every field that there is.
fn golden_info() -> WorldInfo {
    let mut materials = MaterialTable::default().materials()[..9].to_vec();
    let rock = materials[8].clone();
    materials.push(Material {
        shape: SurfaceShape::Rubble,
        name: "Gült".into(),
        hardness: 2.5,
        ..rock
    });
    WorldInfo {
        voxel_size_m: 0.25,
        origin_m: [100.0, -0.5, 4e6],
        materials: MaterialTable::new(materials),
        generator: Some(Generator {
            name: "golden".into(),
            version: 1,
            seed: 77,
            saved_region: Some(Region::new([-64, -32, -32], [32, 64, 64])),
        }),
        ..WorldInfo::default()
    }
}

/// The cells of the golden world: uniform, mixed, wet, listed air, noise, far away.
fn golden_grid() -> VoxelGrid {
    let info = golden_info();
    let options = GridOptions { unlisted: info.unlisted, materials: info.materials };
    let mut grid = VoxelGrid::new(options);
    fill(&mut grid, Region::new([-64, -32, -32], [32, 0, 32]), 8);
    let mut cells = DenseBox::new(Region::new([-9, -5, -11], [5, 6, 3]));
    let mut numbers = Numbers(77);
    for pos in cells.region().voxels() {
        let material = (numbers.next() % 12) as u8;
        cells.set(pos, Cell::new(if material == 11 { 240 } else { material }, pos.x as u8));
        if material > 1 && numbers.below(9) == 0 {
            cells.set_water(pos, Some((pos.y * 7) as u8));
        }
    }
    grid.write(&cells).unwrap();
    grid.write(&DenseBox::new(ChunkPos::new(5, 1, -1).region())).unwrap();
    let far = VoxelPos::new(-(1 << 30), (1 << 30) - 1, 12_345_678);
    fill(&mut grid, Region::one(far), 9);
    grid
}

fn assert_golden(path: &Path, info: &WorldInfo) {
    let store = Store::open(path).unwrap();
    let grid = golden_grid();
    assert_eq!(*store.info(), *info);
    assert_eq!(store.extra_names().unwrap(), ["roblox", "ünused"]);
    assert_eq!(store.extra("roblox").unwrap(), Some((0..=255).collect()));
    assert_eq!(store.extra("ünused").unwrap(), Some(vec![]));
    let loaded = store.load().unwrap();
    assert_eq!(loaded.bad, []);
    assert_eq!(loaded.grid.chunks(), grid.chunks());
    assert_eq!(loaded.grid.digest(), Ok(DIGEST));
    let (mut stored, mut held) = (DenseBox::default(), DenseBox::default());
    for mip in 0..=MAX_MIP {
        let region = Region::new([-64, -32, -32], [64, 32, 32]).coarser(mip.into());
        store.cells(region, mip, &mut stored).unwrap();
        grid.read(region, mip, &mut held).unwrap();
        assert!(stored == held, "mip {mip}");
    }
    assert_eq!(store.verify().unwrap().bad, []);
}

/// A copy of the golden file of a format version, since opening a store writes to it.
fn copy(version: u16, folder: &Folder) -> PathBuf {
    let copy = folder.file("golden.tvx");
    std::fs::copy(golden_file(version), &copy).unwrap();
    copy
}

#[test]
fn the_third_format_is_read_for_ever() {
    assert_eq!(FORMAT_VERSION, 3, "a new version needs a golden file of its own beside this");
    let folder = Folder::new("golden-3");
    assert_golden(&copy(3, &folder), &golden_info());
    assert_eq!(golden_grid().digest(), Ok(DIGEST));
}

#[test]
fn what_is_written_today_is_the_golden_world_too() {
    let folder = Folder::new("golden-today");
    write_golden(&folder.file("today.tvx"));
    assert_golden(&folder.file("today.tvx"), &golden_info());
}

fn write_golden(path: &Path) {
    let draft = Store::create(path, &golden_info(), Overwrite::No).unwrap();
    let all: Vec<u8> = (0..=255).collect();
    draft.set_extra("roblox", Some(&all)).unwrap();
    draft.set_extra("ünused", Some(&[])).unwrap();
    draft.write_all(golden_grid().as_snapshot(), |_, _| {}).unwrap();
    drop(draft.finish().unwrap());
}

/// A world with channels, whose description is of version 4: a rock, and strokes that changed cells
/// and values.
fn golden_terrain() -> Terrain {
    let unlisted = UnlistedChunks::Air;
    let mut terrain = Terrain::new(TerrainOptions { unlisted, ..TerrainOptions::default() });
    let channels = terrain.channels_mut();
    let heat = Channel::values("heat", ChannelWidth::U8, MipRule::MeanPresent);
    let heat = channels.declare(heat).unwrap();
    let spawns = channels.declare(Channel::bytes("Gült")).unwrap();
    let owner = Channel::values("owner", ChannelWidth::U32, MipRule::MostFrequent);
    let owner = channels.declare(owner).unwrap();
    let wide = Channel::values("wide", ChannelWidth::U16, MipRule::Min);
    let wide = channels.declare(wide).unwrap();
    let noise = Region::new([-40, 3, -7], [-30, 13, 3]);
    let mut numbers = Numbers(4);
    let values: Vec<u32> = noise
        .voxels()
        .map(|_| (numbers.next() as u32).wrapping_mul(numbers.below(5) as u32))
        .collect();
    channels.write(owner, noise, &values);
    let far = ChunkPos::new(-(1 << 25), (1 << 25) - 1, 77);
    channels.write(wide, far.region(), &[65_535; 1 << 15]);
    channels.set_bytes(spawns, far, &[7; 900]).unwrap();
    terrain.history_mut().begin_stroke();
    terrain.edit(&EditOp::fill_ball(8, [0.0; 3], 9.0)).unwrap();
    let add = |radius| ValueOp::ball(heat, [3.0; 3], radius, ValueAction::Add { amount: 90 });
    terrain.edit_values(&add(12.0)).unwrap();
    terrain.edit_values(&add(5.0)).unwrap();
    terrain.history_mut().end_stroke();
    let (chunk, bytes) = (ChunkPos::new(0, -1, 0), b"goats".to_vec());
    terrain.edit_values(&ValueOp::Bytes { channel: spawns, chunk, bytes }).unwrap();
    terrain
}

fn write_golden_terrain(path: &Path) {
    let store = Store::create(path, &WorldInfo::default(), Overwrite::No).unwrap();
    store.save(&golden_terrain().unsaved(), |_| {}).unwrap();
    drop(store.finish().unwrap());
}

fn assert_golden_terrain(path: &Path) {
    let (store, mut terrain) = (Store::open(path).unwrap(), golden_terrain());
    assert_eq!(store.verify().unwrap().bad, []);
    let mut read = store.load_terrain(TerrainOptions::default()).unwrap().0;
    for _ in 0..3 {
        assert_eq!(read.channels().snapshot(), terrain.channels().snapshot());
        assert_eq!(read.grid().digest(), terrain.grid().digest());
        assert_eq!(read.undo().unwrap(), terrain.undo().unwrap());
    }
}

#[test]
fn worlds_with_channels_are_read_for_ever() {
    let folder = Folder::new("golden-4");
    assert_golden_terrain(&copy(4, &folder));
    let today = folder.file("today.tvx");
    write_golden_terrain(&today);
    assert_golden_terrain(&today);
}

/// How the golden files were made: once each, and never again for the same version.
#[test]
#[ignore = "writes the golden file of a new format version"]
fn write_the_golden_file() {
    let writers = [(FORMAT_VERSION, write_golden as fn(&Path)), (4, write_golden_terrain)];
    let mut new = writers.iter().filter(|(version, _)| !golden_file(*version).exists()).peekable();
    assert!(new.peek().is_some(), "a golden file is never written again");
    new.for_each(|(version, write)| write(&golden_file(*version)));
    println!("digest {:#034x}", golden_grid().digest().unwrap());
}
