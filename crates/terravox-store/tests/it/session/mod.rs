//! A session of a game at random: edits by every path, updates, saves on other threads while
//! the game goes on, failures, crashes. A twin world in memory, which nothing is ever saved or
//! loaded of, says what every state was; whatever is loaded later must be one of those states,
//! whole, and no older than the last save that was acknowledged.
//!
//! The benchmark plays the same sessions, many more of them.

#![allow(dead_code)]

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::thread::JoinHandle;
use terravox::bodies::{LooseBody, SavedBody};
use terravox::edit::{EditOp, History, HistoryCopy};
use terravox::terrain::{
    Budget, FillRequest, LodOptions, Placement, Terrain, TerrainOptions, UnsavedChanges, Viewer,
};
use terravox::voxel::{
    Cell, ChunkState, DenseBox, GridOptions, MipBlock, Region, Snapshot, VoxelGrid, VoxelPos,
};
use terravox_store::{Generator, Overwrite, Store, StoreError, WorldInfo};

/// Where all edits are, in voxels: eight chunks around the origin.
const PLACE: Region = Region { min: VoxelPos::splat(-32), max: VoxelPos::splat(32) };

/// Name of the bytes that say of which state a file is.
const STATE: &str = "state";

/// What happened in sessions.
#[derive(Clone, Copy, Debug, Default)]
pub struct Tally {
    pub edits: u64,
    pub saves: u64,
    /// Saves that failed or panicked half way.
    pub failures: u64,
    /// Times that the game ended without notice and was started again.
    pub crashes: u64,
    /// Edited places that left memory, in chunks.
    pub left: u64,
    /// States that were compared with what was loaded or held.
    pub compared: u64,
    /// Edits that were not there; 0.
    pub lost: u64,
}

/// How a world is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Streamed, from a generator where nothing was edited.
    Grown,
    /// Streamed, all of it stored.
    Streamed,
    /// Read whole.
    Whole,
}

/// Rock below, air above; right at every mip up to 5.
fn generate(request: &mut FillRequest<'_>) {
    if request.block().pos.y < 0 {
        request.cells().fill(8);
    }
}

/// The world before any edit, as the twin and complete worlds have it.
pub fn first_state() -> Terrain {
    let mut terrain = Terrain::from_grid(VoxelGrid::default(), Placement::default());
    terrain.fill([-32.0; 3], [32.0; 3], generate).unwrap();
    terrain
}

/// Makes the file of a world in which nothing was edited.
pub fn create(path: &Path, kind: Kind) {
    let placement = Placement::default();
    let info = match kind {
        Kind::Grown => {
            let generator = Generator { name: "flat".into(), version: 1, ..Generator::default() };
            WorldInfo::growing(placement, generator)
        }
        _ => WorldInfo::complete(placement),
    };
    let draft = Store::create(path, &info, Overwrite::Yes).unwrap();
    if kind != Kind::Grown {
        draft.write_all(first_state().grid().as_snapshot(), |_, _| {}).unwrap();
    }
    draft.set_extra(STATE, Some(&0u64.to_le_bytes())).unwrap();
    drop(draft.finish().unwrap());
}

/// SplitMix64, as everywhere in our tests.
#[derive(Clone)]
struct Numbers(u64);

impl Numbers {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    fn below(&mut self, end: u64) -> u64 {
        self.next() % end
    }

    fn place(&mut self) -> [i16; 3] {
        [0; 3].map(|_| self.below(40) as i16 - 20)
    }
}

/// The edit of a step: the same for the same seed and step, whatever happened before.
fn edit(terrain: &mut Terrain, seed: u64, step: u64) {
    let mut numbers = Numbers(seed ^ step.wrapping_mul(0x1234_5677));
    let at = numbers.place();
    let centre = at.map(f64::from);
    let voxel = VoxelPos::from(at.map(i32::from));
    let radius = 2.0 + numbers.below(4) as f64;
    match numbers.below(10) {
        0..=2 => {
            terrain.edit(&EditOp::dig_ball(centre, radius)).unwrap();
        }
        3 => {
            terrain.edit(&EditOp::fill_ball(9, centre, radius)).unwrap();
        }
        4 => {
            terrain.undo().unwrap();
        }
        5 => {
            terrain.redo().unwrap();
        }
        6 => {
            let max = centre.map(|v| v + 3.0);
            let new = Cell::new(2 + (step % 9) as u8, (step * 7) as u8);
            terrain.edit_cells(centre, max, |_, _| new).unwrap();
        }
        7 => {
            let mut cells = DenseBox::new(Region::one(voxel).grow(1));
            cells.fill(10 + (step % 5) as u8);
            terrain.grid_mut().write(&cells).unwrap();
        }
        8 => {
            let body = body();
            terrain.write_back(&body, centre, [0.0, 0.0, 0.0, 1.0]).unwrap();
        }
        _ => {
            let mut materials = terrain.grid().materials().clone();
            materials.set_colour(8, [step as u8, 7, 7]);
            terrain.grid_mut().set_materials(materials);
        }
    }
    // A stroke of several edits, now and then.
    match numbers.below(8) {
        0 => terrain.history_mut().begin_stroke(),
        1 => terrain.history_mut().end_stroke(),
        _ => {}
    }
}

/// A cube of three voxels.
fn body() -> LooseBody {
    let mut grid = VoxelGrid::default();
    let mut cells = DenseBox::new(Region::new([0; 3], [3; 3]));
    cells.fill(12);
    grid.write(&cells).unwrap();
    LooseBody::new(grid, VoxelPos::ZERO).unwrap()
}

/// What the world was after a step.
struct State {
    cells: Snapshot,
    history: HistoryCopy,
}

impl State {
    fn of(terrain: &mut Terrain) -> State {
        State { cells: terrain.grid().snapshot(), history: terrain.history_mut().copy() }
    }

    /// A twin that goes on from here.
    fn terrain(&self) -> Terrain {
        let grid = VoxelGrid::from_snapshot(&self.cells);
        let mut terrain = Terrain::from_grid(grid, Placement::default());
        let bytes = self.history.to_bytes(usize::MAX);
        terrain.restore_history(History::from_bytes(&bytes, 64 << 20).unwrap());
        terrain
    }
}

/// How a save ends.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Fate {
    Done,
    /// The generator cannot give a block, or bytes are refused.
    Fails,
    /// The generator panics within the transaction.
    Panics,
}

/// A save on another thread: what it saves, and whether that was done.
type Saving = JoinHandle<(UnsavedChanges, u64, Result<(), StoreError>)>;

struct Session<'a> {
    path: &'a Path,
    seed: u64,
    kind: Kind,
    numbers: Numbers,
    /// Edits so far, which is the number of the state.
    step: u64,
    /// There until the file is closed to be opened anew.
    store: Option<Arc<Store>>,
    terrain: Terrain,
    twin: Terrain,
    /// States that may be in the file, by number.
    states: BTreeMap<u64, State>,
    /// The newest state that was acknowledged.
    acknowledged: u64,
    saving: Vec<Saving>,
    /// What was saved and not yet marked.
    saved: Vec<UnsavedChanges>,
    tally: Tally,
}

/// Plays a session of so many steps in the world at `path`, which [`create`] made of this kind,
/// and ends with a save.
pub fn play(path: &Path, kind: Kind, seed: u64, steps: u32) -> Tally {
    let mut session = Session::new(path, kind, seed);
    for _ in 0..steps {
        session.go_on();
        if session.numbers.below(20) == 0 {
            session.crash();
        }
    }
    session.end();
    session.tally
}

/// Plays on in the world at `path` until the process is killed; `acknowledge` is told the
/// number of each state that was saved.
pub fn play_on(path: &Path, kind: Kind, seed: u64, mut acknowledge: impl FnMut(u64)) {
    let mut session = Session::new(path, kind, seed);
    loop {
        let before = session.acknowledged;
        session.go_on();
        assert_eq!(session.tally.lost, 0, "within the process");
        if session.acknowledged > before {
            acknowledge(session.acknowledged);
        }
    }
}

/// Checks a world whose process was killed: it must be a state that came after the last
/// acknowledged one. `twin` was state `from`; returns the number of the state that it is now.
pub fn check_killed(
    path: &Path,
    seed: u64,
    twin: &mut Terrain,
    from: u64,
    acknowledged: u64,
) -> u64 {
    let store = Store::open(path).unwrap();
    let number = number_of(&store);
    assert!(number >= acknowledged.max(from), "state {number}, {acknowledged} was acknowledged");
    for step in from + 1..=number {
        edit(twin, seed, step);
    }
    twin.history_mut().end_stroke();
    assert!(!differs(&store, twin.grid().as_snapshot(), number), "state {number}");
    let history = store.history(64 << 20).unwrap();
    assert!(history.is_none_or(|history| history.to_bytes() == twin.history_mut().to_bytes()));
    number
}

fn number_of(store: &Store) -> u64 {
    u64::from_le_bytes(store.extra(STATE).unwrap().unwrap().try_into().unwrap())
}

/// The world as it is stored, all of it in memory.
fn twin_of(store: &Store) -> Terrain {
    let materials = store.info().materials.clone();
    let mut grid = VoxelGrid::new(GridOptions { materials, ..GridOptions::default() });
    for chunk in PLACE.blocks::<5>() {
        grid.load(&stored(store, chunk.into()));
    }
    let mut twin = Terrain::from_grid(grid, Placement::default());
    store.history(64 << 20).unwrap().into_iter().for_each(|history| twin.restore_history(history));
    twin
}

/// The cells of a block as a game gets them.
fn stored(store: &Store, block: MipBlock) -> DenseBox {
    let fill = |request: &mut FillRequest<'_>| store.fill(request, generate);
    let mut cells = DenseBox::default();
    assert!(FillRequest::fill_block(&mut cells, block, Placement::default(), fill));
    cells
}

/// Whether what is stored, near and far, is another state than `cells`, of this number.
fn differs(store: &Store, cells: &Snapshot, number: u64) -> bool {
    let mut held = DenseBox::default();
    let mut differs = *cells.materials() != store.info().materials;
    for mip in 0..=3u8 {
        for pos in PLACE.coarser(5 + u32::from(mip)).voxels() {
            let found = stored(store, MipBlock::new(mip, pos));
            let part = PLACE.coarser(mip.into()).intersect(found.region());
            cells.read(part, mip, &mut held).unwrap();
            let mut expected = found.clone();
            expected.copy_from(&held);
            differs |= expected != found;
        }
    }
    differs || (number > 0 && store.bodies().unwrap().len() as u64 != number % 3)
}

fn open(store: &Store, kind: Kind) -> Terrain {
    let lod = LodOptions {
        detail: 1.0,
        max_mip: 2,
        max_bytes: 0,
        near_voxels: 0.0,
        ..LodOptions::default()
    };
    let options = TerrainOptions { lod, ..TerrainOptions::default() };
    match kind {
        Kind::Whole => store.load_terrain(options).unwrap().0,
        _ => store.terrain(options).unwrap(),
    }
}

impl Session<'_> {
    fn new(path: &Path, kind: Kind, seed: u64) -> Session<'_> {
        let store = Arc::new(Store::open(path).unwrap());
        let number = number_of(&store);
        let mut twin = twin_of(&store);
        let states = BTreeMap::from([(number, State::of(&mut twin))]);
        Session {
            path,
            seed,
            kind,
            numbers: Numbers(seed ^ number),
            step: number,
            terrain: open(&store, kind),
            store: Some(store),
            twin,
            states,
            acknowledged: number,
            saving: Vec::new(),
            saved: Vec::new(),
            tally: Tally::default(),
        }
    }

    fn store(&self) -> Arc<Store> {
        self.store.clone().expect("it is open")
    }

    fn go_on(&mut self) {
        match self.numbers.below(19) {
            0..=8 => self.edit(),
            9..=11 => self.update(),
            12..=15 => self.start_save(),
            16..=17 => self.finish_saves(),
            _ => self.mark(),
        }
        self.compare_memory();
    }

    fn edit(&mut self) {
        let store = self.store();
        let fill = |request: &mut FillRequest<'_>| store.fill(request, generate);
        self.terrain.hold([-31.5; 3], [31.5; 3], fill).unwrap();
        self.step += 1;
        self.tally.edits += 1;
        edit(&mut self.terrain, self.seed, self.step);
        edit(&mut self.twin, self.seed, self.step);
    }

    /// Looks at the place, or goes far away so that it leaves memory.
    fn update(&mut self) {
        let store = self.store();
        let x = [0.0, 0.0, 700.0, -900.0][self.numbers.below(4) as usize];
        let viewers = [Viewer { position_m: [x, 5.0, 0.0], distance_m: 40.0 }];
        let budget = Budget::Blocks(16 << (2 * self.numbers.below(3)));
        let held = |terrain: &Terrain| {
            let chunks = PLACE.blocks::<5>();
            chunks.filter(|&chunk| terrain.grid().held(chunk) == ChunkState::Mip(0)).count()
        };
        let before = held(&self.terrain);
        self.terrain.update(&viewers, budget, |request| store.fill(request, generate));
        self.tally.left += before.saturating_sub(held(&self.terrain)) as u64;
    }

    /// Saves on another thread, while the game goes on; several at once, too.
    fn start_save(&mut self) {
        if self.saving.len() == 2 {
            self.finish_saves();
        }
        let number = self.step;
        self.states.insert(number, State::of(&mut self.twin));
        let mut unsaved = self.terrain.unsaved().with_data(STATE, number.to_le_bytes());
        let at = body().first_pose();
        unsaved = unsaved.with_bodies(vec![SavedBody::new(&body(), at); number as usize % 3]);
        let fate = match self.numbers.below(8) {
            0 => Fate::Fails,
            1 => Fate::Panics,
            _ => Fate::Done,
        };
        if fate == Fate::Fails && self.kind != Kind::Grown {
            unsaved = unsaved.with_data("x".repeat(300), [1]);
        }
        self.tally.saves += 1;
        let store = self.store();
        self.saving.push(std::thread::spawn(move || {
            let fill = |request: &mut FillRequest<'_>| match fate {
                Fate::Done => store.fill(request, generate),
                Fate::Fails => request.set_missing(),
                Fate::Panics => std::panic::resume_unwind(Box::new("the generator panics")),
            };
            let done = store.save(&unsaved, fill).map(drop);
            (unsaved, number, done)
        }));
    }

    /// Waits for saves; those that were done are marked now, or later.
    fn finish_saves(&mut self) {
        for saving in std::mem::take(&mut self.saving) {
            match saving.join() {
                Ok((unsaved, number, Ok(()))) => {
                    self.acknowledged = self.acknowledged.max(number);
                    self.saved.push(unsaved);
                }
                Ok((_, _, Err(_))) | Err(_) => self.tally.failures += 1,
            }
        }
        if self.numbers.below(2) == 0 {
            self.mark();
        }
    }

    /// Marks what was saved, in any order, some of it twice.
    fn mark(&mut self) {
        while !self.saved.is_empty() {
            let i = self.numbers.below(self.saved.len() as u64) as usize;
            let saved = self.saved.swap_remove(i);
            self.terrain.mark_saved(&saved);
            if self.numbers.below(3) == 0 {
                self.terrain.mark_saved(&saved);
            }
        }
    }

    /// Ends without notice: what is in memory is gone. A thread that saves just then may or
    /// may not come through, without an error.
    fn crash(&mut self) {
        self.tally.crashes += 1;
        for saving in std::mem::take(&mut self.saving) {
            drop(saving.join());
        }
        // What was taken of the old terrain may be marked on the new one: that does nothing.
        self.reopen();
    }

    /// Opens the file anew, and compares it with the state that it says it is.
    fn reopen(&mut self) {
        // The file is closed with the last handle.
        let closed = self.store.take().and_then(Arc::into_inner);
        drop(closed.expect("all threads have ended"));
        let store = Arc::new(Store::open(self.path).unwrap());
        self.store = Some(store.clone());
        let number = number_of(&store);
        self.tally.lost += self.acknowledged.saturating_sub(number);
        self.tally.compared += 1;
        self.tally.lost += u64::from(differs(&store, &self.states[&number].cells, number));
        self.terrain = open(&store, self.kind);
        let state = &self.states[&number];
        self.twin = state.terrain();
        let [ours, twins] = [&mut self.terrain, &mut self.twin].map(|t| t.history_mut().to_bytes());
        self.tally.lost += u64::from(ours != twins);
        self.step = number;
        self.acknowledged = number;
    }

    /// Compares what is held with the twin.
    fn compare_memory(&mut self) {
        let (mut ours, mut twins) = (DenseBox::default(), DenseBox::default());
        for chunk in PLACE.blocks::<5>() {
            if self.terrain.grid().held(chunk) == ChunkState::Mip(0) {
                self.terrain.grid().read(chunk.region(), 0, &mut ours).unwrap();
                self.twin.grid().read(chunk.region(), 0, &mut twins).unwrap();
                self.tally.lost += u64::from(ours != twins);
            } else {
                self.tally.lost += u64::from(self.terrain.grid().is_unsaved(chunk));
            }
        }
    }

    /// Saves all, and looks at the file once more.
    fn end(&mut self) {
        self.finish_saves();
        self.mark();
        let number = self.step;
        self.states.insert(number, State::of(&mut self.twin));
        let bodies = vec![SavedBody::new(&body(), body().first_pose()); number as usize % 3];
        let unsaved = self.terrain.unsaved().with_data(STATE, number.to_le_bytes());
        let unsaved = unsaved.with_bodies(bodies);
        let store = self.store();
        store.save(&unsaved, |request| store.fill(request, generate)).unwrap();
        drop(store);
        self.terrain.mark_saved(&unsaved);
        self.tally.lost += u64::from(!self.terrain.is_saved());
        self.acknowledged = number;
        self.reopen();
    }
}
