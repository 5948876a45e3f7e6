//! A local world, and one of a host.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use terravox::edit::EditOp;
use terravox::lod::LodOptions;
use terravox::terrain::{Budget, Placement, Terrain, TerrainOptions};
use terravox::voxel::{Region, UnlistedChunks};
use terravox_store::{Disk, Generator, MemoryDisk, Store, WorldInfo};
use terravox_web::{News, PlayerWorld, PlayerWorldOptions, import_world};

const EYE_M: [f64; 3] = [0.0, 60.0, 0.0];

fn options() -> PlayerWorldOptions {
    let lod = LodOptions { detail: 1.2, max_mip: 3, ..PlayerWorldOptions::default().lod };
    PlayerWorldOptions { view_m: 80.0, lod, clock: None }
}

fn settle(world: &mut PlayerWorld, now_us: &mut u64) {
    for _ in 0..400 {
        *now_us += 16_000;
        world.update(*now_us, EYE_M, Budget::Unlimited).expect("the host is honest");
        if world.is_settled() {
            return;
        }
    }
    panic!("not settled after 400 frames");
}

fn depth(world: &PlayerWorld) -> f64 {
    world.ray(EYE_M, [0.0, -1.0, 0.0], 200.0).expect("there is ground").distance_m
}

#[test]
fn a_world_alone_is_dug_undone_and_redone() {
    let (mut world, mut now_us) = (PlayerWorld::new_in_memory(7, options()), 0);
    settle(&mut world, &mut now_us);
    assert_eq!(world.take_news(), Some(News::Joined));
    let triangles = |world: &mut PlayerWorld| -> usize {
        let swaps = world.mesh_swaps().into_iter().flat_map(|swap| swap.added);
        swaps.map(|shown| shown.mesh.solid.triangle_count()).sum()
    };
    assert!(triangles(&mut world) > 10_000);
    let whole = depth(&world);
    let point = [0.0, EYE_M[1] - whole, 0.0];
    world.edit(&EditOp::dig_ball(point, 4.0)).expect("it can be dug");
    assert!(depth(&world) > whole + 3.0, "shown at once");
    settle(&mut world, &mut now_us);
    assert!(triangles(&mut world) > 100);
    world.undo().expect("the world is here");
    settle(&mut world, &mut now_us);
    assert!((depth(&world) - whole).abs() < 1e-9);
    world.redo().expect("the world is here");
    settle(&mut world, &mut now_us);
    assert!(depth(&world) > whole + 3.0);
}

#[test]
fn an_own_world_is_as_it_was_when_it_is_opened_again() {
    let disk = Arc::new(MemoryDisk::default());
    let open =
        |disk: &Arc<MemoryDisk>| PlayerWorld::open_or_create(disk.clone(), "mine", 7, options());
    let (mut world, mut now_us) = (open(&disk).expect("an empty disk"), 0);
    settle(&mut world, &mut now_us);
    let whole = depth(&world);
    world.edit(&EditOp::dig_ball([0.0, EYE_M[1] - whole, 0.0], 4.0)).expect("it can be dug");
    settle(&mut world, &mut now_us);
    assert!(!world.is_saved());
    // What could not be saved is in a download, too.
    let unsaved = world.to_bytes().expect("it is read").expect("it is a local world");
    world.save().expect("memory has room");
    assert!(world.is_saved());
    let bytes = world.to_bytes().expect("it is read").expect("it is a local world");
    let dug = depth(&world);
    drop(world);
    for disk in [disk, Arc::new(MemoryDisk::from(bytes)), Arc::new(MemoryDisk::from(unsaved))] {
        let mut again = open(&disk).expect("it was saved");
        settle(&mut again, &mut now_us);
        assert!((depth(&again) - dug).abs() < 1e-9 && again.is_saved());
    }
    let error = open(&Arc::new(MemoryDisk::from(b"a picture".to_vec()))).err();
    assert!(error.is_some_and(|error| error.starts_with("mine: not a terravox world")));
}

/// A disk that fails after some writes, as where a tab is closed, or cannot be read any more.
struct FailingDisk {
    disk: MemoryDisk,
    writes_left: AtomicU32,
    has_failed: AtomicBool,
}

impl Disk for FailingDisk {
    fn length(&self) -> io::Result<u64> {
        self.disk.length()
    }

    fn read_at(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        match self.has_failed.load(Ordering::Relaxed) {
            true => Err(io::Error::other("the disk has failed")),
            false => self.disk.read_at(offset, out),
        }
    }

    fn write_at(&self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        match self.writes_left.load(Ordering::Relaxed) {
            0 => Err(io::Error::other("the tab is closed")),
            left => {
                self.writes_left.store(left - 1, Ordering::Relaxed);
                self.disk.write_at(offset, bytes)
            }
        }
    }

    fn sync(&self) -> io::Result<()> {
        self.disk.sync()
    }
}

#[test]
fn a_new_world_whose_making_was_interrupted_is_made_again() {
    for writes in 0..6 {
        let (disk, writes_left) = (MemoryDisk::default(), writes.into());
        let disk = Arc::new(FailingDisk { disk, writes_left, has_failed: false.into() });
        let first = PlayerWorld::open_or_create(disk.clone(), "new", 7, options());
        assert_eq!(first.is_err(), writes < 2, "{writes} writes");
        drop(first);
        let bytes = disk.disk.to_bytes();
        let again =
            PlayerWorld::open_or_create(Arc::new(MemoryDisk::from(bytes)), "new", 7, options());
        assert!(again.is_ok(), "{writes} writes: {:?}", again.err());
    }
}

#[test]
fn where_no_world_is_none_is_made_unless_a_seed_is_given() {
    let whole = Arc::new(MemoryDisk::default());
    assert!(PlayerWorld::open_or_create(whole.clone(), "new.tvx", 7, options()).is_ok());
    assert!(PlayerWorld::open_existing(whole.clone(), "new.tvx", options()).is_ok());
    let length = whole.to_bytes().len();
    for bytes in [Vec::new(), vec![0; 600], vec![0; length]] {
        let disk = Arc::new(MemoryDisk::from(bytes.clone()));
        let error = PlayerWorld::open_existing(disk.clone(), "new.tvx", options()).err();
        let error = error.expect("there is no world");
        assert!(error.starts_with("new.tvx: ") && error.contains("no world in it"), "{error}");
        assert!(disk.to_bytes() == bytes, "it was written to");
        assert!(PlayerWorld::open_or_create(disk, "new.tvx", 7, options()).is_ok());
    }
}

#[test]
fn a_world_without_its_start_is_opened_and_one_without_header_stays_as_it_is() {
    let disk = Arc::new(MemoryDisk::default());
    let open =
        |disk: &Arc<MemoryDisk>| PlayerWorld::open_or_create(disk.clone(), "mine", 7, options());
    let mut world = open(&disk).expect("a new world");
    let mut now_us = 0;
    settle(&mut world, &mut now_us);
    let ground = depth(&world);
    world.edit(&EditOp::dig_ball([0.0, EYE_M[1] - ground, 0.0], 4.0)).expect("it can be dug");
    settle(&mut world, &mut now_us);
    world.save().expect("memory has room");
    let dug = depth(&world);
    assert!(dug > ground + 1.0);
    drop(world);
    let mut bytes = disk.to_bytes();
    assert!(import_world("mine.tvx", bytes.clone()).is_ok(), "a check finds nothing");
    bytes[..512].fill(0);
    let mut again =
        open(&Arc::new(MemoryDisk::from(bytes.clone()))).expect("three headers are whole");
    settle(&mut again, &mut now_us);
    assert!((depth(&again) - dug).abs() < 1e-9);
    bytes[..16_384].fill(0);
    let damaged = Arc::new(MemoryDisk::from(bytes.clone()));
    assert!(open(&damaged).is_err());
    assert!(damaged.to_bytes() == bytes, "a new world was written over it");
}

#[test]
fn complete_worlds_with_a_damaged_chunk_or_that_nothing_shows_are_refused() {
    let disk = Arc::new(MemoryDisk::default());
    let store = Store::create_on(disk.clone(), "made", &WorldInfo::default()).expect("a new one");
    let unlisted = UnlistedChunks::Air;
    let mut terrain = Terrain::new(TerrainOptions { unlisted, ..TerrainOptions::default() });
    terrain.edit(&EditOp::fill_ball(8, [5.0; 3], 20.0)).expect("it is air");
    store.save(&terrain.unsaved(), |_| {}).expect("memory has room");
    drop(store);
    let open = |bytes: Vec<u8>| {
        PlayerWorld::open_or_create(Arc::new(MemoryDisk::from(bytes)), "made", 7, options()).err()
    };
    let bytes = disk.to_bytes();
    assert_eq!(open(bytes.clone()), None);
    let is_refused = |at: usize| {
        let mut damaged = bytes.clone();
        damaged[at] ^= 0x20;
        open(damaged).is_some_and(|error| error.contains("made: ") && error.contains("damaged"))
    };
    assert!((16_384..bytes.len()).any(is_refused), "one of the bytes is a cell's");
    let generator = Generator { name: "of a game".into(), ..Generator::default() };
    let info = WorldInfo::growing(Placement::default(), generator);
    let disk = Arc::new(MemoryDisk::default());
    drop(Store::create_on(disk.clone(), "made", &info).expect("a new one"));
    assert!(open(disk.to_bytes()).is_some_and(|error| error.contains("of a game")));
}

#[test]
fn an_own_world_with_a_chunk_that_cannot_be_read_says_so_once() {
    let disk = Arc::new(MemoryDisk::default());
    let mut world =
        PlayerWorld::open_or_create(disk.clone(), "mine", 7, options()).expect("a new world");
    let mut now_us = 0;
    settle(&mut world, &mut now_us);
    let point = [0.0, EYE_M[1] - depth(&world), 0.0];
    world.edit(&EditOp::dig_ball(point, 4.0)).expect("it can be dug");
    settle(&mut world, &mut now_us);
    world.save().expect("memory has room");
    drop(world);
    let (disk, writes_left) = (MemoryDisk::from(disk.to_bytes()), u32::MAX.into());
    let disk = Arc::new(FailingDisk { disk, writes_left, has_failed: false.into() });
    let mut world =
        PlayerWorld::open_existing(disk.clone(), "mine", options()).expect("it was saved");
    disk.has_failed.store(true, Ordering::Relaxed);
    for _ in 0..200 {
        now_us += 16_000;
        world.update(now_us, EYE_M, Budget::Unlimited).expect("the host is honest");
    }
    let news = std::iter::from_fn(|| world.take_news()).collect::<Vec<_>>();
    assert_eq!(news.iter().filter(|news| **news == News::Unreadable).count(), 1, "{news:?}");
    assert!(!world.is_settled());
}

#[test]
fn what_is_cut_is_pasted_elsewhere_and_turned() {
    let (mut world, mut now_us) = (PlayerWorld::new_in_memory(7, options()), 0);
    assert!(world.copied_size().is_none() && world.paste([0, 0, 0].into(), 0).is_err());
    settle(&mut world, &mut now_us);
    let ground = EYE_M[1] - depth(&world);
    let low = ground.floor() as i32 - 6;
    let region = Region::new([-4, low, -3], [4, low + 9, 3]);
    assert!(world.copy(Region::new([0, 0, 0], [33, 1, 1]), true).is_err());
    let meshes = world.copy(region, true).expect("it is held");
    assert!(meshes.iter().map(|mesh| mesh.mesh.solid.triangle_count()).sum::<usize>() > 100);
    assert_eq!(world.copied_size(), Some([8, 9, 6]));
    settle(&mut world, &mut now_us);
    assert!(depth(&world) > EYE_M[1] - ground + 4.0, "it is cut out");
    world.paste([-3, low, -4].into(), 1).expect("it fits");
    settle(&mut world, &mut now_us);
    assert!(depth(&world) < EYE_M[1] - ground + 1.5, "it is back, turned");
}

#[test]
fn edits_before_the_world_is_here_and_long_tokens_are_refused_with_a_reason() {
    let mut world = PlayerWorld::new_in_memory(7, options());
    let error = world.edit(&EditOp::dig_ball([0.0; 3], 4.0)).expect_err("there is no world");
    assert!(error.contains("not here yet"), "{error}");
    assert!(PlayerWorld::join(&[b'a'; 300], options()).is_err_and(|error| error.contains("256")));
}

#[test]
fn an_edit_counts_as_unsaved_before_the_host_has_it_and_is_in_the_next_save() {
    let disk = Arc::new(MemoryDisk::default());
    let open =
        |disk: &Arc<MemoryDisk>| PlayerWorld::open_or_create(disk.clone(), "mine", 7, options());
    let (mut world, mut now_us) = (open(&disk).expect("an empty disk"), 0);
    settle(&mut world, &mut now_us);
    let whole = depth(&world);
    assert!(world.is_saved());
    world.edit(&EditOp::dig_ball([0.0, EYE_M[1] - whole, 0.0], 4.0)).expect("it can be dug");
    assert!(!world.is_saved(), "the host does not have it yet");
    world.update(now_us + 1000, EYE_M, Budget::Millis(0.0)).expect("the host is honest");
    world.save().expect("memory has room");
    drop(world);
    let mut again = open(&disk).expect("it was saved");
    settle(&mut again, &mut now_us);
    assert!(depth(&again) > whole + 3.0);
}
