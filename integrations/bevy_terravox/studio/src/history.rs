//! Undo and redo by strokes, each with a name.

use std::collections::{HashMap, VecDeque};

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
    /// Names of the strokes of a server's world, by number, and those that can be undone and redone.
    names: HashMap<u64, String>,
    strokes: [Vec<u64>; 2],
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

    /// Brings the names in line with what a server has: its replies may come after the next stroke began.
    fn follow_server(&mut self, online: &OnlineTerrain) {
        let last = online.last_stroke();
        if !self.next.is_empty() && !self.names.contains_key(&last) {
            self.names.insert(last, std::mem::take(&mut self.next));
        }
        let [done, undone] = &mut self.strokes;
        if online.undoable().eq(done.iter().copied())
            && online.redoable().eq(undone.iter().copied())
        {
            return;
        }
        (*done, *undone) = (online.undoable().collect(), online.redoable().collect());
        let name = |stroke: &u64| match self.names.get(stroke) {
            Some(name) => name.clone(),
            // Sent again after a break of the link.
            None => "earlier".to_owned(),
        };
        (self.done, self.undone) =
            (done.iter().map(name).collect(), undone.iter().map(name).collect());
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
    joined: Query<&OnlineTerrain>,
    mut history: ResMut<History>,
    mut edits: MessageWriter<EditTerrain>,
) {
    let Some(session) = session else { return };
    let is_pending = joined.get(session.terrain).is_ok_and(|online| online.pending_edits() > 0);
    for action in actions.read() {
        // What is shown as done changes with the replies: a second click would count from the wrong one.
        if is_pending && matches!(action, Action::GoTo(_)) {
            continue;
        }
        let done = history.done.len();
        let (undo, redo) = match action {
            Action::Undo => (1, 0),
            Action::Redo => (0, 1),
            Action::GoTo(strokes) => (done.saturating_sub(*strokes), strokes.saturating_sub(done)),
            _ => continue,
        };
        history.held = 0;
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
        history.follow_server(online);
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
        // The budget dropped the two oldest.
        history.follow(stats(2, 0));
        assert_eq!(names(&history), (vec!["Dig", "Fill"], vec![]));
    }
}
