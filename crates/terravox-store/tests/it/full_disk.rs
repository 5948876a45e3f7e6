//! A disk that is full and a folder that cannot be written: one error, and the old world
//! stays whole.
//!
//! A full disk is simulated by a limit on the size of files, set by the shell for a second
//! run of this test binary.
use crate::scratch::{Folder, Numbers, save};
use std::path::Path;
use std::process::Command;
use terravox::voxel::{Cell, ChunkPos, DenseBox, VoxelGrid};
use terravox_store::{Overwrite, Store, StoreError, WorldInfo};

const FILE: &str = "TERRAVOX_STORE_FULL_DISK_FILE";

/// Chunks of noise: about 100 kB each on disk.
fn noise(chunks: i32) -> VoxelGrid {
    let mut grid = VoxelGrid::default();
    let mut numbers = Numbers(1);
    for x in 0..chunks {
        let mut cells = DenseBox::new(ChunkPos::new(x, 0, 0).region());
        for pos in cells.region().voxels() {
            let bits = numbers.next();
            cells.set(pos, Cell::new(2 + (bits % 20) as u8, (bits >> 32) as u8));
        }
        grid.write(&cells).unwrap();
    }
    grid
}

/// Runs a test of this binary with files limited to `kilobytes`; returns what it printed.
fn run_limited(test: &str, file: &Path, kilobytes: u32) -> String {
    // Blocks of 512 bytes by the standard; some shells count in 1024.
    let script = format!("trap '' XFSZ; ulimit -f {} && exec \"$0\" \"$@\"", kilobytes * 2);
    let output = Command::new("sh")
        .args(["-c", &script])
        .arg(std::env::current_exe().unwrap())
        .args(["--exact", test, "--nocapture", "--test-threads=1"])
        .env(FILE, file)
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{text}{errors}");
    assert!(!errors.contains("panicked"), "{errors}");
    text
}

/// The one line with the error that the limited run printed.
fn failure(text: &str) -> &str {
    let lines: Vec<_> = text.lines().filter_map(|line| line.strip_prefix("failed: ")).collect();
    let [line] = lines[..] else { panic!("one error is expected:\n{text}") };
    line
}

fn report(result: Result<impl Sized, StoreError>) {
    match result {
        Ok(_) => println!("\nsaved"),
        Err(error) => println!("\nfailed: {error}"),
    }
}

/// A small world at `path`.
fn old_world(path: &Path) -> VoxelGrid {
    let grid = noise(2);
    let draft = Store::create(path, &WorldInfo::default(), Overwrite::Yes).unwrap();
    draft.write_all(grid.as_snapshot(), |_, _| {}).unwrap();
    drop(draft.finish().unwrap());
    grid
}

fn assert_whole(path: &Path, grid: &VoxelGrid) {
    let store = Store::open(path).unwrap();
    assert_eq!(store.load().unwrap().grid.digest(), grid.digest());
    assert_eq!(store.verify().unwrap().bad, []);
}

#[test]
fn saver_of_a_new_world() {
    let Ok(file) = std::env::var(FILE) else { return };
    let save = || -> Result<(), StoreError> {
        let draft = Store::create(&file, &WorldInfo::default(), Overwrite::Yes)?;
        draft.write_all(noise(60).as_snapshot(), |_, _| {})?;
        draft.finish()?;
        Ok(())
    };
    report(save());
}

#[test]
fn a_full_disk_leaves_the_old_world_whole_and_nothing_else() {
    let folder = Folder::new("full-new");
    let path = folder.file("world.tvx");
    let failed = run_limited("full_disk::saver_of_a_new_world", &path, 3000);
    assert!(failure(&failed).contains("world.tvx: cannot"), "{failed}");
    assert_eq!(folder.names(), [""; 0], "a first save that failed leaves nothing");
    let old = old_world(&path);
    for kilobytes in [0, 20, 700, 1100, 3000] {
        let failed = run_limited("full_disk::saver_of_a_new_world", &path, kilobytes);
        assert!(failure(&failed).contains("world.tvx: cannot"), "{failed}");
        assert_eq!(folder.names(), ["world.tvx"]);
        assert_whole(&path, &old);
    }
    let saved = run_limited("full_disk::saver_of_a_new_world", &path, 100_000);
    assert!(saved.lines().any(|line| line == "saved"), "{saved}");
    assert_whole(&path, &noise(60));
}

#[test]
fn saver_of_changes() {
    let Ok(file) = std::env::var(FILE) else { return };
    let store = Store::open(&file).unwrap();
    let mut grid = noise(60);
    report(save(&store, &mut grid));
    let stored = store.chunks().unwrap().len();
    assert!(if grid.is_saved() { stored == 60 } else { grid.unsaved_count() == 60 });
    let second = save(&store, &mut grid);
    assert!(second.is_err() || store.chunks().unwrap().len() == 60);
}

#[test]
fn changes_that_do_not_fit_leave_the_world_as_it_was() {
    let folder = Folder::new("full-changes");
    let path = folder.file("world.tvx");
    let old = old_world(&path);
    for kilobytes in [700, 1500, 3000] {
        let failed = run_limited("full_disk::saver_of_changes", &path, kilobytes);
        assert!(failure(&failed).contains("world.tvx: cannot write"), "{failed}");
        assert_whole(&path, &old);
    }
    let saved = run_limited("full_disk::saver_of_changes", &path, 100_000);
    assert!(saved.lines().any(|line| line == "saved"), "{saved}");
    assert_whole(&path, &noise(60));
}

#[test]
fn a_folder_that_cannot_be_written_is_named() {
    use std::os::unix::fs::PermissionsExt;
    let folder = Folder::new("read-only");
    let path = folder.file("world.tvx");
    let old = old_world(&path);
    let set = |mode| {
        std::fs::set_permissions(&folder, std::fs::Permissions::from_mode(mode)).unwrap();
    };
    set(0o555);
    let root = std::fs::write(folder.file("probe"), []).is_ok();
    if root {
        println!("skipped for folders by permission: this user may write everywhere");
        set(0o755);
    } else {
        let error = Store::create(&path, &WorldInfo::default(), Overwrite::Yes).err().unwrap();
        set(0o755);
        assert!(error.to_string().contains("world.tvx: cannot create: "), "{error}");
    }
    assert_whole(&path, &old);
    // A folder in which no file can be made.
    for place in ["/proc/world.tvx", "/dev/null/world.tvx"] {
        let error = Store::create(place, &WorldInfo::default(), Overwrite::No).err().unwrap();
        assert!(error.to_string().starts_with(&format!("{place}: cannot create: ")), "{error}");
    }
    // A file that may only be read is opened for reading only.
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o444)).unwrap();
    let store = Store::open_read_only(&path).unwrap();
    assert_eq!(store.load().unwrap().grid.digest(), old.digest());
    drop(store);
    if !root {
        let error = Store::open(&path).err().unwrap();
        assert!(matches!(error, StoreError::ReadOnly { .. }), "{error}");
    }
}
