//! Records input and repeats it: the same input gives the same world.
//!
//! A recording is a text file, a line a step:
//!
//! ```text
//! terravox-replay 1
//! do open hills:7         an action of a panel, or of the command line
//! wait                    until the ground of the view is there
//! frames 30 16667         so many frames, of so many microseconds each
//! key down w              and key up w
//! button down left        and button up left; first, the ground is waited for
//! move 640 360            the mouse, in pixels of the window
//! motion 3 -1             of the mouse, while it turns the camera
//! wheel 1                 in lines
//! digest                  prints a digest of all chunks that were changed
//! expect 0f3a…            fails unless the digest is this
//! ```
//!
//! Lines that begin with `#` are comments.

mod record;
mod steps;

pub use record::Recorder;
pub use steps::{Step, parse};

use std::collections::{BTreeSet, VecDeque};
use std::time::Duration;

use bevy::input::ButtonState;
use bevy::input::keyboard::{Key, KeyboardInput};
use bevy::input::mouse::{MouseButtonInput, MouseMotion, MouseScrollUnit, MouseWheel};
use bevy::input::touch::TouchPhase;
use bevy::prelude::*;
use bevy::time::TimeUpdateStrategy;
use bevy::window::{CursorMoved, PrimaryWindow};
use bevy_terravox::prelude::*;
use bevy_terravox::{TerrainChunks, terravox};
use terravox::voxel::{ChunkPos, DenseBox, Snapshot};

use crate::action::{Action, PanelActions};
use crate::notices::Notices;
use crate::open::{Opening, Session};

/// Frames for which the ground has to be there.
const SETTLED_FRAMES: u32 = 4;
/// Frames without a world, and without one being opened, after which waiting is in vain.
const MOST_IDLE_FRAMES: u32 = 8;

/// What is repeated.
#[derive(Resource, Debug, Default)]
pub struct Replay {
    steps: VecDeque<Step>,
    /// What happens in the next frame.
    now: Vec<Step>,
    frames_left: u32,
    frame_us: u64,
    is_waiting: bool,
    settled: u32,
    /// Frames waited for an opening that did not begin.
    idle: u32,
}

/// The chunks that were changed since the start.
#[derive(Resource, Debug, Default)]
pub struct ChangedChunks {
    chunks: BTreeSet<ChunkPos>,
    /// Their digest when it was asked for last.
    pub digest: Option<u64>,
}

impl Replay {
    /// Repeats steps.
    pub fn new(steps: Vec<Step>) -> Replay {
        Replay { steps: steps.into(), ..Replay::default() }
    }

    /// A frame of waiting. Returns whether it is in vain.
    fn wait(&mut self, is_there: bool, may_come: bool) -> bool {
        self.settled = if is_there { self.settled + 1 } else { 0 };
        self.idle = if may_come { 0 } else { self.idle + 1 };
        self.is_waiting = self.settled < SETTLED_FRAMES;
        self.idle > MOST_IDLE_FRAMES
    }

    /// The next step of this frame; `None` if the rest is for later frames.
    fn next(&mut self, has_world: bool) -> Option<Step> {
        let step = self.steps.pop_front()?;
        // Rays hit the same ground in every replay only if all of it is there.
        let needs_ground = matches!(step, Step::Button(MouseButton::Left, ButtonState::Pressed))
            && self.settled < SETTLED_FRAMES
            && has_world;
        match step {
            Step::Frames(count, us) => {
                (self.frames_left, self.frame_us, self.settled) = (count, us, 0);
                None
            }
            step if needs_ground => {
                self.steps.push_front(step);
                (self.is_waiting, self.settled) = (true, 0);
                None
            }
            Step::Wait => {
                (self.is_waiting, self.settled) = (true, 0);
                None
            }
            step => {
                // What moves the camera or opens another world makes other ground needed.
                let keeps = matches!(step, Step::Move(_) | Step::Button(..));
                self.settled = if keeps { self.settled } else { 0 };
                Some(step)
            }
        }
    }

    /// Whether nothing is left.
    pub fn is_over(&self) -> bool {
        self.steps.is_empty() && self.now.is_empty() && self.frames_left == 0 && !self.is_waiting
    }
}

/// Records and repeats.
pub struct ReplayPlugin;

impl Plugin for ReplayPlugin {
    fn build(&self, app: &mut App) {
        app.init_resource::<ChangedChunks>()
            .add_systems(
                PreUpdate,
                inject.before(bevy::input::InputSystems).run_if(resource_exists::<Replay>),
            )
            .add_systems(PreUpdate, record::record.run_if(resource_exists::<Recorder>))
            .add_systems(PostUpdate, note_changes.after(TerravoxSystems::Edit))
            .add_systems(Last, advance.run_if(resource_exists::<Replay>));
    }
}

/// Panel actions become messages, and are recorded.
pub(crate) fn flush_panels(
    mut panels: ResMut<PanelActions>,
    mut recorder: Option<ResMut<Recorder>>,
    mut actions: MessageWriter<Action>,
) {
    for action in panels.0.drain(..) {
        if let Some(recorder) = &mut recorder {
            recorder.push(Step::Do(action.clone()));
        }
        actions.write(action);
    }
}

fn note_changes(mut edited: MessageReader<TerrainEdited>, mut changed: ResMut<ChangedChunks>) {
    for edit in edited.read() {
        changed.chunks.extend(edit.region.blocks::<5>());
    }
}

/// A digest of the cells of chunks; those that have left memory count by their position.
pub fn digest(cells: &Snapshot, chunks: impl Iterator<Item = ChunkPos>) -> u64 {
    // FNV-1a.
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    let mut add = |bytes: &[u8]| {
        for byte in bytes {
            hash = (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
    };
    let mut out = DenseBox::default();
    for chunk in chunks {
        [chunk.x, chunk.y, chunk.z].iter().for_each(|v| add(&v.to_le_bytes()));
        if cells.read(chunk.region(), 0, &mut out).is_ok() {
            for pos in chunk.region().voxels() {
                let cell = out.cell(pos);
                add(&[cell.material, if cell.is_air() { 0 } else { cell.occupancy }]);
            }
            out.water().iter().for_each(|(at, level)| {
                add(&at.to_le_bytes());
                add(&[*level]);
            });
        }
    }
    hash
}

/// The digest of the chunks that were changed; those that have left memory are read again.
fn digest_of(terrain: &mut Terrain, changed: &ChangedChunks) -> u64 {
    for chunk in &changed.chunks {
        if terrain.grid().chunk(*chunk).is_err() {
            crate::history::hold(terrain, *chunk);
        }
    }
    digest(terrain.grid().as_snapshot(), changed.chunks.iter().copied())
}

/// Plans the next frame.
fn advance(
    mut replay: ResMut<Replay>,
    opening: Option<Res<Opening>>,
    session: Option<Res<Session>>,
    mut terrains: Query<(&mut Terrain, &TerrainChunks)>,
    mut changed: ResMut<ChangedChunks>,
    notices: Res<Notices>,
    mut strategy: ResMut<TimeUpdateStrategy>,
    mut exit: MessageWriter<AppExit>,
) {
    let replay = &mut *replay;
    let frame = |us: u64| TimeUpdateStrategy::ManualDuration(Duration::from_micros(us));
    let mut terrain = session.as_ref().and_then(|session| terrains.get_mut(session.terrain).ok());
    if replay.is_waiting {
        let is_there = opening.is_none()
            && terrain
                .as_ref()
                .is_some_and(|(terrain, chunks)| terrain.is_settled() && chunks.is_complete());
        // No time passes: nothing moves meanwhile.
        *strategy = frame(0);
        if replay.wait(is_there, opening.is_some() || terrain.is_some()) {
            let why = notices.last_failure().unwrap_or("nothing was opened");
            println!("the replay waits for a world, and no world is open: {why}");
            exit.write(AppExit::error());
        }
        if replay.is_waiting {
            return;
        }
    }
    if replay.frames_left > 1 {
        replay.frames_left -= 1;
        return;
    }
    replay.frames_left = 0;
    while let Some(step) = replay.next(terrain.is_some()) {
        if !matches!(step, Step::Digest | Step::Expect(_)) {
            replay.now.push(step);
            continue;
        }
        let found = terrain.as_mut().map_or(0, |(terrain, _)| digest_of(terrain, &changed));
        changed.digest = Some(found);
        if !is_expected(&step, found, changed.chunks.len()) {
            exit.write(AppExit::error());
        }
    }
    *strategy = frame(if replay.is_waiting { 0 } else { replay.frame_us });
    if replay.is_over() {
        exit.write(AppExit::Success);
    }
}

/// Prints a digest; whether a recording expects it.
fn is_expected(step: &Step, found: u64, chunks: usize) -> bool {
    println!("digest {found:016x} of {chunks} chunks");
    match step {
        Step::Expect(wanted) if *wanted != found => {
            println!("the recording expects {wanted:016x}");
            false
        }
        _ => true,
    }
}

/// Writes the input of the frame.
fn inject(
    mut replay: ResMut<Replay>,
    window: Single<Entity, With<PrimaryWindow>>,
    mut keys: MessageWriter<KeyboardInput>,
    mut buttons: MessageWriter<MouseButtonInput>,
    mut moved: MessageWriter<CursorMoved>,
    mut motion: MessageWriter<MouseMotion>,
    mut wheel: MessageWriter<MouseWheel>,
    mut panels: ResMut<PanelActions>,
) {
    let window = *window;
    for step in std::mem::take(&mut replay.now) {
        match step {
            Step::Do(action) => panels.0.push(action),
            Step::Key(key_code, state) => {
                let logical_key = Key::Unidentified(bevy::input::keyboard::NativeKey::Unidentified);
                keys.write(KeyboardInput {
                    key_code,
                    logical_key,
                    state,
                    text: None,
                    repeat: false,
                    window,
                });
            }
            Step::Button(button, state) => {
                buttons.write(MouseButtonInput { button, state, window });
            }
            Step::Move(position) => {
                moved.write(CursorMoved { window, position, delta: None });
            }
            Step::Motion(delta) => {
                motion.write(MouseMotion { delta });
            }
            Step::Wheel(y) => {
                let (unit, phase) = (MouseScrollUnit::Line, TouchPhase::Moved);
                wheel.write(MouseWheel { unit, x: 0.0, y, window, phase });
            }
            Step::Wait | Step::Frames(..) | Step::Digest | Step::Expect(_) => {}
        }
    }
}
