//! Opening on any thread: a store, and what fills blocks from it.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};
use std::time::{Duration, Instant};

use bevy_terravox::terravox;
use terravox::generate::{Hills, Seeded};
use terravox::terrain::{Budget, FillRequest, Placement, TerrainOptions, Viewer};
use terravox::voxel::{AIR, DenseBox, Region};
use terravox_store::{Generator, Overwrite, Store, StoreError, WorldInfo};

use super::{Source, import};
use crate::state_dir::StateDir;

/// Name of the extra data with the camera.
const VIEW_NAME: &str = "studio-view";
/// After this long, what is there is shown.
const MAX_FIRST_GROUND: Duration = Duration::from_secs(3);
/// Mip at which the ground below the first view is looked for.
const PROBE_MIP: u8 = 3;

/// A world that was opened.
pub struct Opened {
    /// Its file, shared with the jobs that fill blocks.
    pub shared: SharedStore,
    /// The file, not in use yet by a terrain.
    pub store: Store,
    /// The terrain, empty.
    pub voxels: terravox::Terrain,
    /// A short name.
    pub title: String,
    /// The file's path, if it has a name of the user's.
    pub path: Option<PathBuf>,
    /// What it generates where nothing is stored.
    pub generator: Option<Seeded>,
    /// Position in metres, yaw and pitch in degrees of the first view.
    pub view: [f32; 5],
    /// What is to be said about it.
    pub notes: Vec<String>,
}

impl Opened {
    /// Loads ground until some of it can be drawn, while the renderer starts or the window shows a bar.
    pub fn load_first_ground(&mut self, distance_m: f32) {
        let [x, y, z, ..] = self.view.map(f64::from);
        let viewer = Viewer { position_m: [x, y, z], distance_m: distance_m.into() };
        let Opened { voxels, shared, store, generator, .. } = self;
        let fill = |request: &mut FillRequest<'_>| {
            shared.fill_from(store, generator.as_ref(), request);
        };
        let start = Instant::now();
        while voxels.lod().triangles() == 0
            && !voxels.is_settled()
            && start.elapsed() < MAX_FIRST_GROUND
        {
            voxels.update(&[viewer], Budget::Millis(20.0), fill);
        }
    }
}

/// How far the opening is.
#[derive(Default, Debug)]
pub struct Reading {
    done: AtomicUsize,
    total: AtomicUsize,
}

impl Reading {
    /// The share that is done, 0 to 1.
    pub fn share(&self) -> f32 {
        let total = self.total.load(Ordering::Relaxed).max(1);
        self.done.load(Ordering::Relaxed) as f32 / total as f32
    }

    fn set(&self, done: usize, total: usize) {
        self.done.store(done, Ordering::Relaxed);
        self.total.store(total, Ordering::Relaxed);
    }
}

/// The file that a terrain is filled from; `Save as` exchanges it.
#[derive(Clone, Default)]
pub struct SharedStore(Arc<SharedParts>);

#[derive(Default)]
struct SharedParts {
    store: RwLock<Option<Arc<Store>>>,
    faults: Mutex<Faults>,
}

/// What could not be read.
#[derive(Default)]
struct Faults {
    untold: Option<String>,
    /// Blocks are asked for again and again: the same fault is told once.
    last: String,
}

impl SharedStore {
    /// Fills from another store from now on.
    pub fn set(&self, store: Arc<Store>) {
        *self.0.store.write().unwrap_or_else(PoisonError::into_inner) = Some(store);
    }

    /// Fills nothing any more: the file may be closed.
    pub fn clear(&self) {
        *self.0.store.write().unwrap_or_else(PoisonError::into_inner) = None;
    }

    /// The store.
    pub fn get(&self) -> Option<Arc<Store>> {
        self.0.store.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The last fault of reading that was not taken yet, unless it is the one before it again.
    pub fn take_fault(&self) -> Option<String> {
        self.faults().untold.take()
    }

    fn note_fault(&self, fault: String) {
        let mut faults = self.faults();
        if faults.last != fault {
            (faults.untold, faults.last) = (Some(fault.clone()), fault);
        }
    }

    fn faults(&self) -> MutexGuard<'_, Faults> {
        self.0.faults.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Fills a block: what is stored, else what is generated. Damaged cells become air, and are
    /// reported; a file that cannot be read is asked again.
    pub fn fill(&self, generator: Option<&Seeded>, request: &mut FillRequest<'_>) {
        match self.get() {
            Some(store) => self.fill_from(&store, generator, request),
            None => request.set_missing(),
        }
    }

    fn fill_from(&self, store: &Store, generator: Option<&Seeded>, request: &mut FillRequest<'_>) {
        let block = request.block();
        match store.block(block, request.cells()) {
            Ok(true) => {}
            Ok(false) => {
                if let Some(seeded) = generator {
                    let mip = request.mip();
                    seeded.fill(request.cells(), mip);
                }
            }
            Err(error) => {
                let is_damage =
                    matches!(error, StoreError::Damaged { .. } | StoreError::Index { .. });
                self.note_fault(match is_damage {
                    true => format!("{error}; it is shown as air, terravox repair keeps the rest"),
                    false => format!("{error}; the ground there is missing until it can be read"),
                });
                request.cells().reset(block.cells());
                if !is_damage {
                    request.set_missing();
                }
            }
        }
    }
}

/// Opens a world. What is no world file yet becomes one in the folder of the studio.
///
/// # Errors
/// A sentence that says what is wrong, and what to do.
pub fn open(
    source: &Source,
    state: &StateDir,
    options: TerrainOptions,
    reading: &Reading,
) -> Result<Opened, String> {
    match source {
        Source::File(path) if path.is_file() && is_world_file(path)? => {
            open_world(path, source.title(), state, options)
        }
        Source::File(path) => {
            let target = state.new_unsaved(&source.title()).map_err(no_folder(state))?;
            let set = &mut |done, total| reading.set(done, total);
            let (store, notes) = import::import(path, &target, set)?;
            finish(store, None, source.title(), options, notes)
        }
        Source::Seeded(seeded) => {
            let target = state.new_unsaved(&source.title()).map_err(no_folder(state))?;
            let info = WorldInfo::growing(Placement::default(), Generator::of(seeded));
            let draft = Store::create(&target, &info, Overwrite::No).map_err(text)?;
            finish(draft.finish().map_err(text)?, None, source.title(), options, Vec::new())
        }
    }
}

fn text(error: StoreError) -> String {
    error.to_string()
}

fn no_folder(state: &StateDir) -> impl Fn(std::io::Error) -> String {
    let folder = state.folder().display().to_string();
    move |error| {
        format!(
            "{folder}: cannot keep unsaved worlds there: {error}; set TERRAVOX_STUDIO_STATE to a folder"
        )
    }
}

fn is_world_file(path: &Path) -> Result<bool, String> {
    Ok(import::is_world(&import::first_bytes(path)?) || import::extension(path) == "tvx")
}

/// Opens a world file, alone: a second studio is refused.
fn open_world(
    path: &Path,
    title: String,
    state: &StateDir,
    options: TerrainOptions,
) -> Result<Opened, String> {
    let store = match Store::open(path) {
        Err(error) if is_unwritable(&error) => return open_copy(path, title, state, options),
        opened => opened,
    };
    let store = store.map_err(|error| match error {
        StoreError::InUse { .. } => {
            format!(
                "{}: the world is open in another studio or program; close it there first",
                path.display()
            )
        }
        StoreError::Damaged { .. } => format!("{error}; terravox repair keeps all that is whole"),
        _ => error.to_string(),
    })?;
    let is_named = !state.holds(path);
    let title = match title.rsplit_once('.') {
        Some((title, _)) if !is_named => title.to_owned(),
        _ => title,
    };
    finish(store, is_named.then(|| path.to_owned()), title, options, Vec::new())
}

/// Whether a world cannot be opened since it may only be read.
fn is_unwritable(error: &StoreError) -> bool {
    let StoreError::Io { source, .. } = error else { return false };
    matches!(source.kind(), ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem)
}

/// Opens a copy, without a name, of a world that may only be read.
fn open_copy(
    path: &Path,
    title: String,
    state: &StateDir,
    options: TerrainOptions,
) -> Result<Opened, String> {
    let target = state.new_unsaved(&title).map_err(no_folder(state))?;
    let world = Store::open_read_only(path).map_err(text)?;
    world.back_up(&target, Overwrite::No).map_err(text)?;
    let note = format!("{} may only be read: this is a copy without a name", path.display());
    finish(Store::open(&target).map_err(text)?, None, title, options, vec![note])
}

fn finish(
    store: Store,
    path: Option<PathBuf>,
    title: String,
    options: TerrainOptions,
    notes: Vec<String>,
) -> Result<Opened, String> {
    let generator = generator_of(&store)?;
    let voxels = store.terrain(options).map_err(text)?;
    let saved = store.extra(VIEW_NAME).ok().flatten().and_then(|bytes| view_of(&bytes));
    let view = match saved {
        Some(view) => view,
        None => first_view(&store, generator.as_ref()),
    };
    Ok(Opened {
        shared: SharedStore::default(),
        store,
        voxels,
        title,
        path,
        generator,
        view,
        notes,
    })
}

/// The generator of a world that grows.
fn generator_of(store: &Store) -> Result<Option<Seeded>, String> {
    let info = store.info();
    let Some(generator) = info.generator.as_ref().filter(|_| info.grows()) else { return Ok(None) };
    match generator.seeded() {
        Some(seeded) => Ok(Some(seeded)),
        None => store
            .check_generator(Hills::NAME, Hills::VERSION, generator.seed)
            .map(|()| None)
            .map_err(text),
    }
}

/// The bytes of a view that a save adds.
pub(crate) fn view_data(view: [f32; 5]) -> (&'static str, Vec<u8>) {
    (VIEW_NAME, view.iter().flat_map(|value| value.to_le_bytes()).collect())
}

fn view_of(bytes: &[u8]) -> Option<[f32; 5]> {
    let (values, rest) = bytes.as_chunks::<4>();
    let view: [f32; 5] =
        values.iter().map(|v| f32::from_le_bytes(*v)).collect::<Vec<_>>().try_into().ok()?;
    (rest.is_empty() && view.iter().all(|v| v.is_finite())).then_some(view)
}

/// Where a world is seen from first: a small one as a whole, an endless one from above its origin.
pub fn first_view(store: &Store, generator: Option<&Seeded>) -> [f32; 5] {
    let placement = store.info().placement();
    let metres = |voxel: [f64; 3]| placement.world_from_voxel(voxel).map(|v| v as f32);
    if let Some(seeded) = generator {
        return view_above_ground(seeded, placement);
    }
    let chunks = store.chunks().unwrap_or_default();
    let boxes = chunks.iter().map(|chunk| {
        let min = chunk.min_voxel().to_array();
        (min, min.map(|v| v + 32))
    });
    let bounds = boxes.reduce(|(min, max), (a, b)| {
        ([0, 1, 2].map(|i| min[i].min(a[i])), [0, 1, 2].map(|i| max[i].max(b[i])))
    });
    let Some((min, max)) = bounds else { return [0.0, 20.0, 30.0, 0.0, -25.0] };
    let middle = [0, 1, 2].map(|i| (f64::from(min[i]) + f64::from(max[i])) / 2.0);
    let size = [0, 1, 2].map(|i| f64::from(max[i] - min[i]));
    // All of a small world; of a large one a part, since it would be a map.
    let far = (0.6 * size[0].max(size[2]).max(size[1])).clamp(12.0, 340.0);
    let (yaw, pitch) = (30_f64.to_radians(), -24_f64.to_radians());
    let along = [yaw.sin() * pitch.cos(), pitch.sin(), -yaw.cos() * pitch.cos()];
    let eye = [0, 1, 2].map(|i| middle[i] - far * along[i]);
    let [x, y, z] = metres(eye);
    [x, y, z, 30.0, -24.0]
}

/// The first view of a generated world.
pub(super) fn view_above_ground(seeded: &Seeded, placement: Placement) -> [f32; 5] {
    view_above([0.0, ground_voxels(seeded, 0, 0), 0.0], placement)
}

/// A view from above a point of the ground, voxels.
pub(super) fn view_above([x, y, z]: [f64; 3], placement: Placement) -> [f32; 5] {
    let [x, y, z] = placement.world_from_voxel([x, y + 45.0, z]).map(|v| v as f32);
    [x, y, z, 40.0, -14.0]
}

/// Height of the ground or water of a generated world at a column, voxels, to some voxels.
fn ground_voxels(seeded: &Seeded, x: i32, z: i32) -> f64 {
    let heights = seeded.heights();
    let [low, high] = [heights.start, heights.end].map(|y| y >> PROBE_MIP);
    let at = [x >> PROBE_MIP, z >> PROBE_MIP];
    let mut cells =
        DenseBox::new(Region::new([at[0], low, at[1]], [at[0] + 1, high + 1, at[1] + 1]));
    seeded.fill(&mut cells, PROBE_MIP);
    let is_there = |y: &i32| cells.cell([at[0], *y, at[1]].into()).material != AIR;
    let top = (low..=high).rev().find(is_there).map_or(0, |y| y + 1);
    f64::from(top << PROBE_MIP)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn views_read_what_they_write() {
        let view = [1.5, -2.0, 3e6, 40.0, -8.0];
        assert_eq!(view_of(&view_data(view).1), Some(view));
        assert_eq!(view_of(&view_data([f32::NAN; 5]).1), None);
        assert_eq!(view_of(&[0; 19]), None);
    }

    #[test]
    fn a_world_that_may_only_be_read_is_opened_as_a_copy() {
        let folder = std::env::temp_dir().join(format!("studio-copy-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let state = StateDir::at(folder.join("state"));
        let seeded: Seeded = "hills:7".parse().unwrap();
        let info = WorldInfo::growing(Placement::default(), Generator::of(&seeded));
        let path = folder.join("mine.tvx");
        drop(Store::create(&path, &info, Overwrite::No).unwrap().finish().unwrap());
        let before = std::fs::read(&path).unwrap();
        let denied = StoreError::Io {
            path: path.clone(),
            doing: "open",
            source: ErrorKind::PermissionDenied.into(),
        };
        assert!(is_unwritable(&denied));
        let title = Source::File(path.clone()).title();
        let opened = open_copy(&path, title, &state, TerrainOptions::default()).unwrap();
        assert_eq!((opened.title.as_str(), opened.path), ("mine", None));
        assert!(state.holds(opened.store.path()) && opened.notes[0].contains("may only be read"));
        assert_eq!(std::fs::read(&path).unwrap(), before);
        drop(opened.store);
        std::fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn each_fault_is_told_once_in_a_row() {
        let store = SharedStore::default();
        let told = |fault: &str| {
            store.note_fault(fault.to_owned());
            store.take_fault()
        };
        assert_eq!(told("one"), Some("one".to_owned()));
        assert_eq!(told("one"), None);
        assert_eq!(told("another"), Some("another".to_owned()));
    }

    #[test]
    fn the_first_view_of_a_generated_world_is_above_the_ground() {
        for name in ["hills:7", "world:7:alps", "world:3:skylands"] {
            let seeded: Seeded = name.parse().unwrap();
            let ground = ground_voxels(&seeded, 0, 0);
            assert!(seeded.heights().contains(&(ground as i32 - 1)), "{name}: {ground}");
        }
    }
}
