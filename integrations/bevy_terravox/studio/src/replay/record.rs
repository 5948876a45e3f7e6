//! Records input into a file.

use std::fs::File;
use std::io::{self, Write};
use std::path::Path;

use bevy::input::keyboard::KeyboardInput;
use bevy::input::mouse::{MouseButtonInput, MouseMotion, MouseScrollUnit, MouseWheel};
use bevy::prelude::*;
use bevy::window::CursorMoved;

use super::steps::{HEADER, Step, text};
use crate::notices::Notices;
use crate::open::refuse_world;
use crate::pointer::Pointer;

/// A recording in progress.
#[derive(Resource)]
pub struct Recorder {
    file: File,
    steps: Vec<Step>,
    /// Frames of this length that are not written yet.
    frames: (u32, u64),
}

impl Recorder {
    /// Begins a recording.
    ///
    /// # Errors
    /// If the file cannot be made, or is a world.
    pub fn create(path: &Path) -> io::Result<Recorder> {
        refuse_world(path).map_err(io::Error::other)?;
        let mut file = File::create(path)?;
        writeln!(file, "{HEADER}")?;
        Ok(Recorder { file, steps: Vec::new(), frames: (0, 0) })
    }

    /// Adds a step of this frame. Keys and buttons without a name are left out: they do nothing.
    pub fn push(&mut self, step: Step) {
        if step.has_name() {
            self.flush_frames();
            self.steps.push(step);
        }
    }

    fn flush_frames(&mut self) {
        let (count, us) = std::mem::take(&mut self.frames);
        if count > 0 {
            self.steps.push(Step::Frames(count, us));
        }
    }

    /// A frame of so many microseconds ends.
    fn frame(&mut self, us: u64) -> io::Result<()> {
        match &mut self.frames {
            (count, last) if *count > 0 && *last == us => *count += 1,
            _ => {
                self.flush_frames();
                self.frames = (1, us);
            }
        }
        let steps = std::mem::take(&mut self.steps);
        self.file.write_all(text(&steps).as_bytes())
    }
}

/// Records the input of a frame, but for what panels take.
pub(super) fn record(
    mut recorder: ResMut<Recorder>,
    mut keys: MessageReader<KeyboardInput>,
    mut buttons: MessageReader<MouseButtonInput>,
    mut moved: MessageReader<CursorMoved>,
    mut motion: MessageReader<MouseMotion>,
    mut wheel: MessageReader<MouseWheel>,
    pointer: Res<Pointer>,
    time: Res<Time>,
    mut notices: ResMut<Notices>,
    mut commands: Commands,
) {
    for key in keys.read().filter(|key| !key.repeat) {
        // What is released in a panel was pressed before.
        if !pointer.has_keyboard || !key.state.is_pressed() {
            recorder.push(Step::Key(key.key_code, key.state));
        }
    }
    if let Some(last) = moved.read().last() {
        recorder.push(Step::Move(last.position));
    }
    for button in buttons.read() {
        if !pointer.is_over_panel || !button.state.is_pressed() {
            recorder.push(Step::Button(button.button, button.state));
        }
    }
    let delta: Vec2 = motion.read().map(|motion| motion.delta).sum();
    if delta != Vec2::ZERO && pointer.is_looking {
        recorder.push(Step::Motion(delta));
    }
    for scroll in wheel.read().filter(|_| !pointer.is_over_panel) {
        let lines = if scroll.unit == MouseScrollUnit::Line { scroll.y } else { scroll.y / 40.0 };
        recorder.push(Step::Wheel(lines));
    }
    let us = time.delta().as_micros().min(1_000_000) as u64;
    if let Err(error) = recorder.frame(us) {
        notices.fail(format!("the recording ends, since it cannot be written: {error}"));
        commands.remove_resource::<Recorder>();
    }
}
