//! An open world: its cells in memory, or in their store only, and where it is saved.

use crate::failure::{Failure, Outcome, bad_value};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use terravox::terrain::{Terrain, TerrainOptions, UnsavedChanges};
use terravox::voxel::{DenseBox, MaterialTable, Region, Snapshot};
use terravox_store::{BadPart, Overwrite, Store, StoreError, WorldInfo};

/// Where the cells of an open world are.
pub enum Cells {
    /// All of them in memory.
    Loaded(Box<Terrain>),
    /// In the store only; each read takes what it needs.
    Stored,
}

/// An open world.
pub struct Opened {
    pub cells: Cells,
    /// Where it is saved; `None` for a world in memory.
    pub store: Option<Store>,
    pub is_read_only: bool,
    /// Parts that could not be read when it was loaded.
    pub damaged: Vec<BadPart>,
    /// Whether the outcome of a write is unknown: the store takes no more.
    is_unsure: AtomicBool,
}

/// What reads cells: a state that stays as it is, or the store.
pub enum Reader<'a> {
    Loaded(Snapshot),
    Stored(&'a Store),
}

impl Reader<'_> {
    /// Fills `out` with the cells of a region at a mip.
    pub fn read(&self, region: Region, mip: u8, out: &mut DenseBox) -> Outcome<()> {
        match self {
            Reader::Loaded(snapshot) => Ok(snapshot.read(region, mip, out)?),
            Reader::Stored(store) => Ok(store.cells(region, mip, out)?),
        }
    }
}

impl Opened {
    /// A new world in memory.
    pub fn in_memory(info: &WorldInfo) -> Outcome<Opened> {
        Ok(Opened {
            cells: Cells::Loaded(Box::new(empty_terrain(info)?)),
            store: None,
            is_read_only: false,
            damaged: Vec::new(),
            is_unsure: false.into(),
        })
    }

    /// A new world in a file or a database; it exists when this returns.
    pub fn create(path: &str, info: &WorldInfo, overwrite: bool, load: bool) -> Outcome<Opened> {
        let terrain = empty_terrain(info)?;
        let store = create_store(path, info, overwrite)?;
        let cells = if load { Cells::Loaded(Box::new(terrain)) } else { Cells::Stored };
        Ok(Opened::stored(cells, store, false, Vec::new()))
    }

    /// Opens a world.
    pub fn open(path: &str, is_read_only: bool, load: bool) -> Outcome<Opened> {
        let store = open_store(path, is_read_only)?;
        let info = store.info();
        if info.grows() && !is_read_only {
            let what = format!(
                "{}: the world grows from a generator, which this package does not have; \
                 open it with read_only=True",
                store.path().display()
            );
            return Err(Failure::World(what));
        }
        let (cells, damaged) = match load {
            true => {
                let (terrain, damaged) = store.load_terrain(TerrainOptions::default())?;
                (Cells::Loaded(Box::new(terrain)), damaged)
            }
            false => (Cells::Stored, Vec::new()),
        };
        Ok(Opened::stored(cells, store, is_read_only, damaged))
    }

    fn stored(cells: Cells, store: Store, is_read_only: bool, damaged: Vec<BadPart>) -> Opened {
        Opened { cells, store: Some(store), is_read_only, damaged, is_unsure: false.into() }
    }

    /// What reads its cells.
    pub fn reader(&self) -> Outcome<Reader<'_>> {
        match (&self.cells, &self.store) {
            (Cells::Loaded(terrain), _) => Ok(Reader::Loaded(terrain.grid().snapshot())),
            (Cells::Stored, Some(store)) => Ok(Reader::Stored(store)),
            (Cells::Stored, None) => Err(Failure::Internal("a world without cells".to_owned())),
        }
    }

    /// The world in memory, for `doing`.
    pub fn loaded(&self, doing: &str) -> Outcome<&Terrain> {
        match &self.cells {
            Cells::Loaded(terrain) => Ok(terrain),
            Cells::Stored => Err(not_loaded(doing)),
        }
    }

    /// The world in memory, to be changed by `doing`.
    pub fn writable(&mut self, doing: &str) -> Outcome<&mut Terrain> {
        self.check_writable(doing)?;
        match &mut self.cells {
            Cells::Loaded(terrain) => Ok(terrain),
            Cells::Stored => Err(not_loaded(doing)),
        }
    }

    /// Refuses `doing` in a world that was opened for reading.
    pub fn check_writable(&self, doing: &str) -> Outcome<()> {
        match self.is_read_only {
            true => Err(Failure::ReadOnly(format!(
                "{doing} changes the world, which was opened with read_only=True"
            ))),
            false => Ok(()),
        }
    }

    /// The outcome of a write to the store, of which it is noted if that is unknown.
    pub fn written<T>(&self, outcome: Result<T, StoreError>) -> Outcome<T> {
        if outcome.is_ok() {
            self.is_unsure.store(false, Ordering::Relaxed);
        }
        outcome.map_err(|error| {
            if self.is_unsure.load(Ordering::Relaxed) {
                let what = format!(
                    "the outcome of an earlier write is still unknown: {error}; save_as keeps what \
                     is in memory, and opening the world again shows what was saved"
                );
                return Failure::Unsure(what);
            }
            let is_unsure = matches!(error, StoreError::Unsure { .. });
            self.is_unsure.store(is_unsure, Ordering::Relaxed);
            error.into()
        })
    }

    /// The file or database of the world.
    pub fn store(&self) -> Outcome<&Store> {
        self.store.as_ref().ok_or_else(|| {
            Failure::World("the world is in memory only; save_as gives it a file".to_owned())
        })
    }

    /// Its description as it is now.
    pub fn info(&self) -> WorldInfo {
        let stored = self.store.as_ref().map(|store| (*store.info()).clone());
        match &self.cells {
            Cells::Loaded(terrain) => WorldInfo {
                materials: terrain.grid().materials().clone(),
                ..stored.unwrap_or_else(|| WorldInfo::complete(terrain.placement()))
            },
            Cells::Stored => stored.unwrap_or_default(),
        }
    }

    /// The materials of the world.
    pub fn materials(&self) -> MaterialTable {
        self.info().materials
    }

    /// Writes all that is unsaved in one transaction. Returns the number of chunks.
    pub fn save(&mut self) -> Outcome<usize> {
        self.check_writable("save")?;
        let store = self.store()?;
        let Cells::Loaded(terrain) = &self.cells else {
            return Ok(0); // What is written to a store is saved at once.
        };
        let unsaved = terrain.unsaved();
        if unsaved.is_empty() {
            return Ok(0);
        }
        let saved = self.written(store.save(&unsaved, |_| {}))?;
        if let Cells::Loaded(terrain) = &mut self.cells {
            terrain.mark_saved(&unsaved);
        }
        Ok(saved.written)
    }

    /// Writes a copy of the world to a new file. Returns why stored data besides the cells was left
    /// out, if any was: a copy without it is better than none.
    pub fn save_as(&self, path: &str, overwrite: bool) -> Outcome<Vec<String>> {
        if is_database(path) {
            // Not with the address, which may hold a password.
            return bad_value(
                "save_as writes a file, and path is the address of a database: make a world there by \
                 World.create, and merge a file into it",
            );
        }
        let overwrite = if overwrite { Overwrite::Yes } else { Overwrite::No };
        let info = self.info();
        let terrain = match &self.cells {
            Cells::Loaded(terrain) if !info.grows() => terrain,
            // Worlds that grow are only open for reading.
            _ => {
                self.store()?.back_up(path, overwrite)?;
                return Ok(Vec::new());
            }
        };
        let draft = Store::create(path, &info, overwrite)?;
        draft.write_all(terrain.grid().as_snapshot(), |_, _| {})?;
        draft.write_channels(&terrain.channels().snapshot())?;
        let mut besides = empty_terrain(&info)?.unsaved().with_history(terrain.history());
        let left_out =
            self.store.as_ref().map_or(Vec::new(), |store| add_stored(store, &mut besides));
        draft.save(&besides, |_| {})?;
        draft.finish()?;
        Ok(left_out)
    }
}

/// Names that a store has its own data under, besides those that begin with `journal/`.
pub const OWN_DATA: [&str; 2] = ["undo", "bodies"];

/// Adds loose bodies, the journal and data of users. Returns why some could not be read.
fn add_stored(store: &Store, to: &mut UnsavedChanges) -> Vec<String> {
    let mut left_out = Vec::new();
    let mut note = |error: StoreError| left_out.push(error.to_string());
    match store.extra_names() {
        Err(error) => note(error),
        Ok(names) => {
            for name in names.into_iter().filter(|name| !OWN_DATA.contains(&name.as_str())) {
                match store.extra(&name) {
                    Ok(bytes) => to.data.push((name, bytes)),
                    Err(error) => note(error),
                }
            }
            match store.bodies() {
                Ok(bodies) => to.bodies = Some(bodies),
                Err(error) => note(error),
            }
        }
    }
    left_out
}

fn not_loaded(doing: &str) -> Failure {
    Failure::World(format!(
        "{doing} needs the cells in memory, and the world was opened with load=False"
    ))
}

fn empty_terrain(info: &WorldInfo) -> Outcome<Terrain> {
    info.placement().check()?;
    let options = TerrainOptions {
        placement: info.placement(),
        materials: info.materials.clone(),
        unlisted: info.unlisted,
        ..TerrainOptions::default()
    };
    Ok(Terrain::new(options))
}

/// Whether a path is an address of a world in a database.
pub fn is_database(path: &str) -> bool {
    path.starts_with("postgres://") || path.starts_with("postgresql://")
}

#[cfg(feature = "postgres")]
fn create_store(path: &str, info: &WorldInfo, overwrite: bool) -> Outcome<Store> {
    use terravox_postgres::{Postgres, PostgresOptions};
    if !is_database(path) {
        return create_file(path, info, overwrite);
    }
    if overwrite {
        let what = "worlds in a database are not overwritten; choose another name".to_owned();
        return Err(Failure::Value(what));
    }
    Ok(Postgres::create(path, info, &PostgresOptions::default())?)
}

#[cfg(feature = "postgres")]
pub fn open_store(path: &str, is_read_only: bool) -> Outcome<Store> {
    use terravox_postgres::{Postgres, PostgresOptions};
    let options = PostgresOptions::default();
    Ok(match (is_database(path), is_read_only) {
        (false, _) => return open_file(path, is_read_only),
        (true, true) => Postgres::open_read_only(path, &options)?,
        (true, false) => Postgres::open(path, &options)?,
    })
}

#[cfg(not(feature = "postgres"))]
fn create_store(path: &str, info: &WorldInfo, overwrite: bool) -> Outcome<Store> {
    if is_database(path) { Err(no_postgres()) } else { create_file(path, info, overwrite) }
}

/// Opens the store of a world.
#[cfg(not(feature = "postgres"))]
pub fn open_store(path: &str, is_read_only: bool) -> Outcome<Store> {
    if is_database(path) { Err(no_postgres()) } else { open_file(path, is_read_only) }
}

#[cfg(not(feature = "postgres"))]
fn no_postgres() -> Failure {
    let what = "this build of the package has no PostgreSQL; build it with the feature postgres: \
                maturin build --features postgres";
    Failure::World(what.to_owned())
}

fn create_file(path: &str, info: &WorldInfo, overwrite: bool) -> Outcome<Store> {
    let overwrite = if overwrite { Overwrite::Yes } else { Overwrite::No };
    Ok(Store::create(Path::new(path), info, overwrite)?.finish()?)
}

fn open_file(path: &str, is_read_only: bool) -> Outcome<Store> {
    Ok(if is_read_only { Store::open_read_only(path)? } else { Store::open(path)? })
}
