//! Saving: on demand, in the background after every stroke, under another name, and before a world
//! is closed.
//!
//! A world that has a name is saved into its file, with its undo history; one without a name into the
//! folder of the studio. A save begins within a second; killing the studio loses what was not written yet.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use bevy::prelude::*;
use bevy_terravox::online::OnlineTerrain;
use bevy_terravox::prelude::*;
use terravox_store::{Overwrite, Store};

use crate::action::Action;
use crate::background::Background;
use crate::camera::StudioCamera;
use crate::notices::Notices;
use crate::open::{KeepsNothing, LinkState, Session, view_data};
use crate::state_dir::StateDir;

/// Seconds between saves in the background, at least.
const AUTOSAVE_S: f32 = 1.0;

/// What is said where a world of a server is to be saved.
pub(crate) const SAVED_BY_SERVER: &str =
    "the server saves this world; a copy is made there, since only parts of it are here";

/// The action that waits until everything is saved.
#[derive(Clone, Debug, PartialEq)]
enum Then {
    Close,
    Do(Action),
    Quit,
}

impl Then {
    fn act(self, exit: &mut MessageWriter<AppExit>, actions: &mut MessageWriter<Action>) {
        match self {
            Then::Quit => {
                exit.write(AppExit::Success);
            }
            Then::Do(action) => {
                actions.write(action);
            }
            Then::Close => {}
        }
    }
}

/// The progress of saving.
#[derive(Resource, Default)]
pub struct Saver {
    /// A new name for the world, given before `then` is done.
    rename: Option<(PathBuf, Overwrite)>,
    then: Option<Then>,
    /// Whether a request takes effect only at the end of the frame: a save, the end of a stroke.
    waits_a_frame: bool,
    renaming: Option<(PathBuf, Background<Store>)>,
    is_asked: bool,
    since_s: f32,
    failed: Option<String>,
    /// What was not done, since the world could not be saved; the user is asked whether to do it anyway.
    refused: Option<Then>,
    /// Whether a world is closed with changes that are not saved.
    drops_changes: bool,
    /// Whether the user is asked for a name.
    pub asks_name: bool,
    /// A file that would be replaced by the name that was given.
    pub asks_overwrite: Option<PathBuf>,
    /// Whether all is saved, as of the last frame.
    pub is_saved: bool,
}

impl Saver {
    /// Why the last save failed, if it did.
    pub fn failure(&self) -> Option<&str> {
        self.failed.as_deref()
    }

    /// Whether the user is asked to close the world without what could not be saved.
    pub fn asks_to_drop_changes(&self) -> bool {
        self.refused.is_some()
    }

    /// Saves, but not while the world is copied to another name: changes would be in the old file
    /// only. They are saved once the new file is complete.
    fn save(&mut self, terrain: Entity, saves: &mut MessageWriter<SaveTerrain>) {
        if self.renaming.is_none() {
            self.waits_a_frame = true;
            saves.write(SaveTerrain { terrain });
        }
    }

    /// Saves, or asks for a name or whether a file may be replaced.
    fn request(
        &mut self,
        action: &Action,
        session: &Session,
        saves: &mut MessageWriter<SaveTerrain>,
    ) {
        match action {
            Action::Save if session.path.is_none() => self.asks_name = true,
            Action::AskSaveAs => (self.asks_name, self.refused) = (true, None),
            Action::DropChanges if self.refused.is_some() => {
                (self.then, self.drops_changes) = (self.refused.take(), true);
            }
            Action::Cancel => {
                (self.asks_name, self.asks_overwrite, self.refused) = (false, None, None);
            }
            Action::Save => self.save_as_asked(session, saves),
            Action::SaveAs(path) | Action::Overwrite(path) if is_open(session, path) => {
                (self.asks_name, self.asks_overwrite) = (false, None);
                self.save_as_asked(session, saves);
            }
            Action::SaveAs(path) => {
                self.asks_name = false;
                let path = with_extension(path.clone());
                match path.exists() {
                    true => self.asks_overwrite = Some(path),
                    false => self.rename_to(path, Overwrite::No),
                }
            }
            Action::Overwrite(path) => {
                self.asks_overwrite = None;
                self.rename_to(path.clone(), Overwrite::Yes);
            }
            _ => {}
        }
    }

    fn save_as_asked(&mut self, session: &Session, saves: &mut MessageWriter<SaveTerrain>) {
        self.is_asked = true;
        self.save(session.terrain, saves);
    }

    fn rename_to(&mut self, path: PathBuf, overwrite: Overwrite) {
        self.rename = Some((path, overwrite));
        // Not before the stroke ends, which the same action causes.
        self.waits_a_frame = true;
    }

    /// Whether an action waits until everything is saved.
    fn is_awaited(&self) -> bool {
        self.rename.is_some() || self.then.is_some()
    }
}

/// Saves worlds.
pub struct SavePlugin;

impl Plugin for SavePlugin {
    fn build(&self, app: &mut App) {
        app.init_resource::<Saver>().add_systems(
            Update,
            (act, autosave, report, rename, proceed).chain().in_set(crate::StudioSystems::Save),
        );
        app.add_systems(Last, save_at_exit);
    }
}

/// Handles what users request.
fn act(
    mut actions: MessageReader<Action>,
    session: Option<Res<Session>>,
    mut saver: ResMut<Saver>,
    mut saves: MessageWriter<SaveTerrain>,
    mut notices: ResMut<Notices>,
    mut exit: MessageWriter<AppExit>,
) {
    for action in actions.read() {
        let Some(session) = &session else {
            if *action == Action::Quit {
                exit.write(AppExit::Success);
            }
            continue;
        };
        let then = match action {
            Action::Save | Action::AskSaveAs | Action::SaveAs(_) | Action::Overwrite(_)
                if session.link.is_some() =>
            {
                notices.say(SAVED_BY_SERVER);
                continue;
            }
            Action::Close => Then::Close,
            Action::Quit => Then::Quit,
            Action::Open(_) | Action::Recover(_) => Then::Do(action.clone()),
            _ => {
                saver.request(action, session, &mut saves);
                continue;
            }
        };
        (saver.then, saver.refused, saver.drops_changes) = (Some(then), None, false);
        // Not before the stroke ends, which the same action causes.
        saver.waits_a_frame = true;
    }
}

/// Whether a path is that of the world's own file, however it is written.
fn is_open(session: &Session, path: &Path) -> bool {
    let real = |path: &Path| std::fs::canonicalize(path).ok();
    let own = session.shared.get().and_then(|store| real(store.path()));
    own.is_some() && own == real(&with_extension(path.to_owned()))
}

/// The path of a world file: with the extension that it needs.
fn with_extension(path: PathBuf) -> PathBuf {
    match path.extension().is_some_and(|extension| extension == "tvx") {
        true => path,
        false => {
            let mut name = path.into_os_string();
            name.push(".tvx");
            PathBuf::from(name)
        }
    }
}

/// Saves what changed.
fn autosave(
    session: Option<ResMut<Session>>,
    terrains: Query<(&Terrain, &TerrainStore)>,
    mut edited: MessageReader<TerrainEdited>,
    mut saver: ResMut<Saver>,
    mut saves: MessageWriter<SaveTerrain>,
    time: Res<Time<Real>>,
) {
    let has_edits = edited.read().count() > 0;
    let Some(mut session) = session else { return };
    if has_edits && !session.is_edited {
        session.is_edited = true;
    }
    let Ok((terrain, store)) = terrains.get(session.terrain) else { return };
    saver.since_s += time.delta_secs();
    saver.is_saved = terrain.is_saved() && !store.is_saving();
    let is_due = saver.since_s > AUTOSAVE_S && saver.renaming.is_none() && !saver.is_awaited();
    if is_due && !terrain.is_saved() && !store.is_saving() {
        saver.since_s = 0.0;
        saver.save(session.terrain, &mut saves);
    }
}

/// Reports the results of saves.
fn report(
    mut saved: MessageReader<TerrainSaved>,
    session: Option<Res<Session>>,
    mut saver: ResMut<Saver>,
    mut notices: ResMut<Notices>,
) {
    let Some(session) = session else { return };
    for save in saved.read().filter(|save| save.terrain == session.terrain) {
        match &save.error {
            Some(error) => {
                notices.fail(format!("not saved: {error}"));
                saver.failed = Some(error.clone());
                // Nothing is closed, unless the world is being saved to another file.
                if saver.rename.is_none() && saver.renaming.is_none() && !saver.drops_changes {
                    saver.refused = saver.then.take().or(saver.refused.take());
                }
            }
            None => {
                (saver.failed, saver.refused) = (None, None);
                if std::mem::take(&mut saver.is_asked) {
                    notices.say(format!("saved {}", session.name()));
                }
            }
        }
    }
}

/// Switches to the file of the new name, once it is written.
fn rename(
    session: Option<ResMut<Session>>,
    state: Res<StateDir>,
    mut saver: ResMut<Saver>,
    mut notices: ResMut<Notices>,
    mut saves: MessageWriter<SaveTerrain>,
    mut commands: Commands,
) {
    let Some((path, writing)) = &mut saver.renaming else { return };
    let Some(renamed) = writing.poll() else { return };
    let path = path.clone();
    saver.renaming = None;
    let Some(mut session) = session else { return };
    // Saves edits made meanwhile, and those that the old file had no room for.
    saver.save(session.terrain, &mut saves);
    let store = match renamed {
        Ok(store) => TerrainStore::new(store),
        Err(error) => {
            // The action after it would close a world that was not renamed.
            saver.then = None;
            return notices.fail(format!("not saved: {error}"));
        }
    };
    let old = session.shared.get().map(|store| store.path().to_owned());
    session.shared.set(store.store().clone());
    commands.entity(session.terrain).insert(store);
    if let Some(old) = old.filter(|old| state.holds(old)) {
        // All of it is in the new file, or not saved yet.
        drop(std::fs::remove_file(old));
    }
    state.add_recent(
        &std::path::absolute(&path).unwrap_or_else(|_| path.clone()).display().to_string(),
    );
    session.path = Some(path);
    notices.say(format!("saved {}", session.name()));
}

/// Does the action that waited until everything is saved.
fn proceed(
    session: Option<Res<Session>>,
    terrains: Query<(&Terrain, &TerrainStore)>,
    joined: Query<&OnlineTerrain>,
    cameras: Query<&StudioCamera>,
    state: Res<StateDir>,
    keeps_nothing: Res<KeepsNothing>,
    mut saver: ResMut<Saver>,
    mut notices: ResMut<Notices>,
    mut saves: MessageWriter<SaveTerrain>,
    mut exit: MessageWriter<AppExit>,
    mut actions: MessageWriter<Action>,
    mut commands: Commands,
) {
    let Some(session) = session else {
        // A server ended the session meanwhile.
        if let Some(then) = saver.then.take() {
            then.act(&mut exit, &mut actions);
        }
        return;
    };
    let waits = std::mem::take(&mut saver.waits_a_frame);
    if let Some(link) = session.link {
        // A server that cannot be reached may never answer.
        let pending = joined.get(session.terrain).map_or(0, OnlineTerrain::pending_edits);
        if !(waits || link == LinkState::Up && pending > 0)
            && let Some(then) = saver.then.take()
        {
            if pending > 0 {
                notices.fail(may_be_lost(&session.title, pending));
            }
            close(&session, then, &mut exit, &mut actions, &mut commands);
        }
        return;
    }
    let Ok((terrain, store)) = terrains.get(session.terrain) else { return };
    let is_busy = waits || store.is_saving() || saver.renaming.is_some();
    if is_busy || !saver.is_awaited() {
        return;
    }
    // A file that cannot be written is copied as it is; unsaved changes go into the copy.
    let copies_as_is = saver.rename.is_some() && saver.failed.is_some();
    if !terrain.is_saved() && !copies_as_is && !saver.drops_changes {
        // For example, edits made after the last save began.
        return saver.save(session.terrain, &mut saves);
    }
    if let Some((path, overwrite)) = saver.rename.take() {
        let (store, to) = (store.store().clone(), path.clone());
        let writing = Background::begin(move || write_as(&store, &to, overwrite));
        saver.renaming = Some((path, writing));
        return;
    }
    let Some(then) = saver.then.take() else { return };
    saver.drops_changes = false;
    let view = cameras.iter().next().map(StudioCamera::view);
    if let Some(view) = view.filter(|_| !keeps_nothing.0 && session.is_edited) {
        let (name, bytes) = view_data(view);
        // Closes even if the view cannot be saved.
        drop(store.store().set_extra(name, Some(&bytes)));
    }
    let file = store.store().path().to_owned();
    if state.holds(&file) && !session.is_edited {
        drop(std::fs::remove_file(&file));
    }
    close(&session, then, &mut exit, &mut actions, &mut commands);
}

/// What is said where a world is closed while there is no connection.
fn may_be_lost(title: &str, edits: usize) -> String {
    let what = if edits == 1 { "1 edit".to_owned() } else { format!("{edits} edits") };
    format!("{title} was closed without a connection: {what} without a reply may be lost")
}

/// Closes a world of which nothing is unsaved.
fn close(
    session: &Session,
    then: Then,
    exit: &mut MessageWriter<AppExit>,
    actions: &mut MessageWriter<Action>,
    commands: &mut Commands,
) {
    session.shared.clear();
    commands.entity(session.terrain).despawn();
    commands.remove_resource::<Session>();
    then.act(exit, actions);
}

/// Saves what is not saved when the app ends otherwise than by [`Action::Quit`]: by Ctrl-C in its terminal,
/// or since a replay is over.
fn save_at_exit(
    mut exits: MessageReader<AppExit>,
    session: Option<Res<Session>>,
    terrains: Query<(&Terrain, &TerrainStore)>,
    keeps_nothing: Res<KeepsNothing>,
) {
    let Some(session) = session.filter(|_| exits.read().count() > 0 && !keeps_nothing.0) else {
        return;
    };
    let Ok((terrain, store)) = terrains.get(session.terrain) else { return };
    if terrain.is_saved() {
        return;
    }
    let fill = terrain.fill();
    let saved =
        store.store().save(&terrain.unsaved(), |request: &mut FillRequest<'_>| fill(request));
    if let Err(error) = saved {
        eprintln!("terravox-studio: not saved: {error}");
    }
}

/// Writes a world under another name and opens that.
fn write_as(store: &Arc<Store>, path: &Path, overwrite: Overwrite) -> Result<Store, String> {
    store.back_up(path, overwrite).map_err(|error| error.to_string())?;
    Store::open(path).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_get_the_extension_of_worlds() {
        assert_eq!(with_extension("a/b".into()), PathBuf::from("a/b.tvx"));
        assert_eq!(with_extension("a.b".into()), PathBuf::from("a.b.tvx"));
        assert_eq!(with_extension("a.tvx".into()), PathBuf::from("a.tvx"));
    }
}
