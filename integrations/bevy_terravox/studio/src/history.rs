//! Undo and redo by strokes, each with a name.

use std::collections::VecDeque;

use bevy::prelude::*;
use bevy_terravox::online::OnlineTerrain;
use bevy_terravox::prelude::*;
use bevy_terravox::{EditTerrain, TerrainAction, TerrainEditFailed, terravox};
use terravox::edit::{EditError, HistoryStats};
use terravox::voxel::ChunkPos;

use crate::action::Action;
use crate::notices::Notices;
use crate::open::Session;

/// Chunks that one step of undo may have to load.
const MAX_HELD: u32 = 512;

/// What was done, by stroke.
#[derive(Resource, Default, Debug)]
pub struct History {
    done: VecDeque<String>,
    /// The next one to redo comes last.
    undone: Vec<String>,
    /// What the next stroke is called.
    pub next: String,
    has_changed: bool,
    /// Chunks loaded for the step in progress.
    held: u32,
    stats: HistoryStats,
}

impl History {
    /// Strokes that can be undone, oldest first.
    pub fn done(&self) -> impl DoubleEndedIterator<Item = &str> + ExactSizeIterator {
        self.done.iter().map(String::as_str)
    }

    /// Strokes that can be redone, the next one first.
    pub fn undone(&self) -> impl Iterator<Item = &str> {
        self.undone.iter().rev().map(String::as_str)
    }

    /// Bytes that it takes.
    pub fn bytes(&self) -> usize {
        self.stats.bytes
    }

    fn undo(&mut self) {
        let label = self.done.pop_back();
        self.undone.extend(label);
    }

    fn redo(&mut self) {
        let label = self.undone.pop();
        self.done.extend(label);
    }

    /// Brings the names in line with what the terrain has.
    fn follow(&mut self, stats: HistoryStats) {
        self.stats = stats;
        self.follow_moves(stats);
        // A new stroke ends what could be redone; the budget drops those that come last.
        while self.undone.len() > stats.redoable {
            self.undone.remove(0);
        }
        while self.undone.len() < stats.redoable {
            self.undone.insert(0, "earlier".to_owned());
        }
        let is_new = self.done.len() < stats.undoable && !self.next.is_empty();
        while self.done.len() + usize::from(is_new) < stats.undoable {
            self.done.push_front("earlier".to_owned());
        }
        if is_new {
            self.done.push_back(std::mem::take(&mut self.next));
        }
        while self.done.len() > stats.undoable {
            self.done.pop_front();
        }
    }

    /// What a server undid or redid is seen only by the numbers: a stroke went from one side to the other.
    fn follow_moves(&mut self, stats: HistoryStats) {
        let lost = |have: usize, now: usize| have.saturating_sub(now);
        let undone =
            lost(self.done.len(), stats.undoable).min(lost(stats.redoable, self.undone.len()));
        (0..undone).for_each(|_| self.undo());
        // A new stroke ends what could be redone, and looks the same.
        if self.next.is_empty() {
            let redone =
                lost(self.undone.len(), stats.redoable).min(lost(stats.undoable, self.done.len()));
            (0..redone).for_each(|_| self.redo());
        }
    }
}

/// Names strokes, undoes and redoes.
pub struct HistoryPlugin;

impl Plugin for HistoryPlugin {
    fn build(&self, app: &mut App) {
        app.init_resource::<History>()
            .add_systems(Update, act.in_set(crate::StudioSystems::Act))
            .add_systems(PostUpdate, (retry, follow).chain().after(TerravoxSystems::Edit));
    }
}

fn act(
    mut actions: MessageReader<Action>,
    session: Option<Res<Session>>,
    mut history: ResMut<History>,
    mut edits: MessageWriter<EditTerrain>,
) {
    let Some(session) = session else { return };
    for action in actions.read() {
        let done = history.done.len();
        let (undo, redo) = match action {
            Action::Undo => (1, 0),
            Action::Redo => (0, 1),
            Action::GoTo(strokes) => (done.saturating_sub(*strokes), strokes.saturating_sub(done)),
            _ => continue,
        };
        history.held = 0;
        if redo > 0 {
            // A stroke that changed nothing gives no name to what is redone.
            history.next.clear();
        }
        edits.write_batch((0..undo).map(|_| EditTerrain::undo(session.terrain)));
        edits.write_batch((0..redo).map(|_| EditTerrain::redo(session.terrain)));
    }
}

/// Loads ground that an undo needs and that has left memory, and tries again.
fn retry(
    mut failed: MessageReader<TerrainEditFailed>,
    mut terrains: Query<&mut Terrain>,
    mut history: ResMut<History>,
    mut edits: MessageWriter<EditTerrain>,
    mut notices: ResMut<Notices>,
) {
    let mut is_counted = false;
    for failure in failed.read() {
        let is_step = matches!(failure.action, TerrainAction::Undo | TerrainAction::Redo);
        let EditError::NotHeld(missing) = failure.error.reason else {
            notices.fail(failure.error.to_string());
            continue;
        };
        let Ok(mut terrain) = terrains.get_mut(failure.terrain) else { continue };
        // Of many steps at once, all fail in the same frame, for the chunk that the first one needs.
        history.held += u32::from(is_step && !std::mem::replace(&mut is_counted, true));
        let is_there = |terrain: &mut Terrain| {
            terrain.grid().chunk(missing.chunk).is_ok() || hold(terrain, missing.chunk)
        };
        if !is_step || history.held > MAX_HELD || !is_there(&mut terrain) {
            notices.fail("the ground there is not loaded yet; try again in a moment");
            continue;
        }
        edits.write(EditTerrain { terrain: failure.terrain, action: failure.action.clone() });
    }
}

/// Loads a chunk; returns whether it is there.
pub(crate) fn hold(terrain: &mut Terrain, chunk: ChunkPos) -> bool {
    let (region, placement, fill) = (chunk.region(), terrain.placement(), terrain.fill());
    let corner = |at: [i32; 3]| placement.world_from_voxel(at.map(f64::from));
    let (min, max) = (corner(region.min.to_array()), corner(region.max.to_array()));
    terrain.hold(min, max, |request| fill(request)).is_ok()
}

/// Follows what was done.
fn follow(
    mut edited: MessageReader<TerrainEdited>,
    session: Option<Res<Session>>,
    mut terrains: Query<(&mut Terrain, Option<&OnlineTerrain>)>,
    mut history: ResMut<History>,
) {
    let Some(session) = session else {
        edited.clear();
        return;
    };
    if session.is_added() {
        *history = History { has_changed: true, ..History::default() };
    }
    for edit in edited.read() {
        history.has_changed = true;
        match edit.action {
            TerrainAction::Undo => history.undo(),
            TerrainAction::Redo => history.redo(),
            _ => continue,
        }
        history.held = 0;
    }
    let Ok((mut terrain, online)) = terrains.get_mut(session.terrain) else { return };
    if let Some(online) = online {
        let (undoable, redoable) = (online.undoable(), online.redoable());
        history.follow(HistoryStats { undoable, redoable, ..HistoryStats::default() });
    } else if std::mem::take(&mut history.has_changed) {
        // Reading its numbers changes nothing of the terrain.
        history.follow(terrain.bypass_change_detection().history_mut().stats());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stats(undoable: usize, redoable: usize) -> HistoryStats {
        HistoryStats { undoable, redoable, ..HistoryStats::default() }
    }

    fn names(history: &History) -> (Vec<&str>, Vec<&str>) {
        (history.done().collect(), history.undone().collect())
    }

    #[test]
    fn names_follow_strokes() {
        let mut history = History::default();
        history.follow(stats(2, 0));
        assert_eq!(names(&history), (vec!["earlier", "earlier"], vec![]));
        history.next = "Dig".into();
        history.follow(stats(3, 0));
        // The same stroke goes on.
        history.next = "Dig".into();
        history.follow(stats(3, 0));
        history.next = "Paint".into();
        history.follow(stats(4, 0));
        assert_eq!(names(&history), (vec!["earlier", "earlier", "Dig", "Paint"], vec![]));
        history.undo();
        history.undo();
        history.follow(stats(2, 2));
        assert_eq!(names(&history), (vec!["earlier", "earlier"], vec!["Dig", "Paint"]));
        history.redo();
        history.follow(stats(3, 1));
        assert_eq!(names(&history), (vec!["earlier", "earlier", "Dig"], vec!["Paint"]));
        history.next = "Fill".into();
        history.follow(stats(4, 0));
        assert_eq!(names(&history), (vec!["earlier", "earlier", "Dig", "Fill"], vec![]));
        // A server undoes, and redoes.
        history.follow(stats(3, 1));
        assert_eq!(names(&history), (vec!["earlier", "earlier", "Dig"], vec!["Fill"]));
        history.follow(stats(4, 0));
        assert_eq!(names(&history), (vec!["earlier", "earlier", "Dig", "Fill"], vec![]));
        // The budget dropped the two oldest.
        history.follow(stats(2, 0));
        assert_eq!(names(&history), (vec!["Dig", "Fill"], vec![]));
    }
}
