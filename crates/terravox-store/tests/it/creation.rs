//! Where worlds come to lie: new files, overwriting, and files that are no worlds.

use crate::scratch::{Folder, fill, small_world};
use std::fs;
use terravox::voxel::{GridOptions, Region, VoxelGrid};
use terravox_store::{Overwrite, Store, StoreError, WorldInfo};

fn error_of(result: Result<impl Sized, StoreError>) -> String {
    let Err(error) = result else { panic!("this must fail") };
    let text = error.to_string();
    assert_eq!(text.lines().count(), 1, "{text}");
    text
}

#[test]
fn an_existing_world_is_replaced_only_when_told_and_only_when_complete() {
    let folder = Folder::new("replace");
    let path = folder.file("world.tvx");
    let old = small_world();
    let draft = Store::create(&path, &WorldInfo::default(), Overwrite::No).unwrap();
    draft.write_all(old.as_snapshot(), |_, _| {}).unwrap();
    assert!(!path.exists(), "nothing is there before it is complete");
    drop(draft.finish().unwrap());
    let refused = error_of(Store::create(&path, &WorldInfo::default(), Overwrite::No));
    assert!(refused.contains("world.tvx: the file already exists"), "{refused}");

    let mut new = VoxelGrid::new(GridOptions::default());
    fill(&mut new, Region::new([0; 3], [40; 3]), 7);
    let draft = Store::create(&path, &WorldInfo::default(), Overwrite::Yes).unwrap();
    draft.write_all(new.as_snapshot(), |_, _| {}).unwrap();
    let [_, partial] = &folder.names()[..] else { panic!("{:?}", folder.names()) };
    assert!(partial.starts_with("world.tvx.") && partial.ends_with(".partial"), "{partial}");
    let digest = |path| Store::open(path).unwrap().load().unwrap().grid.digest().unwrap();
    assert_eq!(digest(&path), old.digest().unwrap(), "the old world is there meanwhile");
    drop(draft);
    assert_eq!(folder.names(), ["world.tvx"], "what was not finished goes away");
    assert_eq!(digest(&path), old.digest().unwrap());

    let draft = Store::create(&path, &WorldInfo::default(), Overwrite::Yes).unwrap();
    draft.write_all(new.as_snapshot(), |_, _| {}).unwrap();
    drop(draft.finish().unwrap());
    assert_eq!(digest(&path), new.digest().unwrap());
    assert_eq!(folder.names(), ["world.tvx"]);
}

#[test]
fn partial_files_of_others_are_left_alone() {
    let folder = Folder::new("left-over");
    let path = folder.file("world.tvx");
    let other = vec![9; 100_000];
    fs::write(folder.file("world.tvx.partial"), &other).unwrap();
    let first = Store::create(&path, &WorldInfo::default(), Overwrite::No).unwrap();
    let second = Store::create(&path, &WorldInfo::default(), Overwrite::No).unwrap();
    assert_eq!(folder.names().len(), 3);
    let store = first.finish().unwrap();
    assert!(error_of(second.finish()).contains("the file already exists"));
    assert_eq!(folder.names(), ["world.tvx", "world.tvx.partial"]);
    assert!(fs::read(folder.file("world.tvx.partial")).unwrap() == other);
    store.set_extra("a", Some(&[1])).unwrap();
}

#[test]
fn an_open_world_is_neither_opened_twice_nor_replaced() {
    let folder = Folder::new("open-twice");
    let path = folder.file("world.tvx");
    let draft = Store::create(&path, &WorldInfo::default(), Overwrite::No).unwrap();
    let store = draft.finish().unwrap();
    for error in [
        error_of(Store::open(&path)),
        error_of(Store::open_read_only(&path)),
        error_of(Store::create(&path, &WorldInfo::default(), Overwrite::Yes)),
    ] {
        assert!(error.contains("world.tvx: the world is open in another program"), "{error}");
    }
    drop(store);
    Store::open(&path).unwrap();
}

#[test]
fn what_is_no_world_is_named_and_never_replaced() {
    let folder = Folder::new("no-world");
    let write = |name: &str, bytes: &[u8]| {
        fs::write(folder.file(name), bytes).unwrap();
        folder.file(name)
    };
    let notes = write("notes.txt", b"remember the milk, and then some more of it");
    let short = write("short.tvx", b"redb");
    let empty = write("empty.tvx", b"");
    let old = write("old.tvx", b"redb\x1a\x0a\xa9\x0d\x0a and nothing else");
    let head = write("head.tvx", b"\x89TVX\r\n\x1a\n\x03\x00 and nothing else");
    for (path, part) in [
        (&notes, "notes.txt: not a terravox world: byte 0: it is a file of another program"),
        (&short, "short.tvx: not a terravox world: byte 0: it is a file of another program"),
        (&empty, "empty.tvx: not a terravox world: the file is empty"),
        (&head, "head.tvx: cannot open the world: its header is damaged"),
        (&old, "old.tvx: the world is of the format before 0.1"),
        (&folder.file("none.tvx"), "none.tvx: cannot open: "),
        (&folder.as_ref().to_owned(), "it is a directory"),
        (&notes.join("world.tvx"), "notes.txt/world.tvx: cannot open: "),
    ] {
        let before = fs::read(path).ok();
        for error in [error_of(Store::open(path)), error_of(Store::open_read_only(path))] {
            assert!(error.contains(part), "{error}");
        }
        assert!(fs::read(path).ok() == before, "opening what is no world leaves it alone");
    }
    let create = |path: &std::path::Path| {
        error_of(Store::create(path, &WorldInfo::default(), Overwrite::Yes))
    };
    assert!(create(&notes).contains("another program"));
    assert!(create(&old).contains("before 0.1"));
    assert!(create(folder.as_ref()).contains("directory"));
    assert!(create(&folder.file("no/such/folder.tvx")).contains("cannot create"));
    assert!(create(&notes.join("below.tvx")).contains("cannot create"));
    let draft = Store::create(&empty, &WorldInfo::default(), Overwrite::Yes).unwrap();
    drop(draft.finish().unwrap());
    Store::open(&empty).unwrap();
}

#[test]
fn a_world_of_a_later_version_is_refused_by_its_number() {
    let folder = Folder::new("later");
    let path = folder.file("world.tvx");
    let draft = Store::create(&path, &WorldInfo::default(), Overwrite::No).unwrap();
    drop(draft.finish().unwrap());
    let mut bytes = fs::read(&path).unwrap();
    for copy in [0, 4096, 8192, 12288] {
        bytes[copy + 8] = 4;
    }
    fs::write(&path, &bytes).unwrap();
    let error = error_of(Store::open(&path));
    assert!(error.contains("world.tvx: format version 4 is newer"), "{error}");
}

#[cfg(unix)]
#[test]
fn a_link_stays_a_link() {
    let folder = Folder::new("link");
    let real = folder.file("real.tvx");
    let link = folder.file("link.tvx");
    let draft = Store::create(&real, &WorldInfo::default(), Overwrite::No).unwrap();
    drop(draft.finish().unwrap());
    std::os::unix::fs::symlink(&real, &link).unwrap();
    let draft = Store::create(&link, &WorldInfo::default(), Overwrite::Yes).unwrap();
    draft.set_extra("new", Some(&[1])).unwrap();
    drop(draft.finish().unwrap());
    assert!(fs::symlink_metadata(&link).unwrap().file_type().is_symlink());
    assert_eq!(Store::open(&real).unwrap().extra("new").unwrap(), Some(vec![1]));
}

#[test]
fn a_world_at_a_place_that_no_terrain_takes_is_refused_by_name() {
    let folder = Folder::new("placement");
    for info in [
        WorldInfo { voxel_size_m: 1e-7, ..WorldInfo::default() },
        WorldInfo { origin_m: [1e300, 0.0, 0.0], ..WorldInfo::default() },
    ] {
        let path = folder.file("world.tvx");
        let error = Store::create(&path, &info, Overwrite::Yes).err().expect("it is refused");
        assert!(matches!(error, StoreError::Refused { .. }), "{error}");
        let store = Store::create(&path, &WorldInfo::default(), Overwrite::Yes).unwrap();
        let error = store.finish().unwrap().set_info(&info).unwrap_err();
        assert!(matches!(error, StoreError::Refused { .. }), "{error}");
    }
}

#[cfg(unix)]
#[test]
fn a_private_world_stays_private_when_it_is_written_anew() {
    use std::os::unix::fs::PermissionsExt;
    let folder = Folder::new("private");
    let path = folder.file("world.tvx");
    let create = |overwrite| Store::create(&path, &WorldInfo::default(), overwrite);
    create(Overwrite::No).unwrap().finish().unwrap();
    let mode = || std::fs::metadata(&path).unwrap().permissions().mode() & 0o777;
    std::fs::set_permissions(&path, PermissionsExt::from_mode(0o600)).unwrap();
    Store::open(&path).unwrap().compact().unwrap();
    assert_eq!(mode(), 0o600);
    create(Overwrite::Yes).unwrap().finish().unwrap();
    assert_eq!(mode(), 0o600);
}
