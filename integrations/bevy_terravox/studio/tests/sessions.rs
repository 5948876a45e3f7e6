//! Sessions of the studio without a renderer: opening, strokes, undo, saving, being killed.

mod headless_studio;

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use headless_studio::{Folder, Studio};
use terravox_store::Store;
use terravox_studio::action::{Action, Field, Shape, Tool};
use terravox_studio::replay::Recorder;
use terravox_studio::state_dir::StateDir;

/// Dragging over the middle of the window.
const STROKE: &str = "move 640 420\nbutton down left\nframes 2 16667\nmove 700 420\nframes 6 16667\n\
                      move 760 430\nframes 6 16667\nbutton up left\nframes 2 16667\n";

fn dig(then: &str) -> String {
    format!("do open hills:7\nwait\ndo set radius 4\n{STROKE}{then}")
}

#[test]
fn the_same_input_gives_the_same_world() {
    let mut digests = Vec::new();
    for _ in 0..5 {
        let folder = Folder::new();
        let mut studio = Studio::new(&folder);
        studio.replay(&dig("do tool smooth\nmove 600 400\nbutton down left\nframes 9 16667\nbutton up left\nframes 2 16667\nkey down w\nframes 40 16667\nkey up w\nframes 20 16667\ndo tool build\nbutton down left\nframes 3 16667\nmove 560 380\nframes 5 16667\nbutton up left\nframes 2 16667\ndigest\n"));
        digests.push(studio.digest().expect("a digest"));
    }
    assert!(digests.iter().all(|digest| *digest == digests[0]), "{digests:x?}");
}

#[test]
fn a_stroke_is_one_step_of_undo_and_has_a_name() {
    let folder = Folder::new();
    let mut studio = Studio::new(&folder);
    studio.replay(&dig("digest\n"));
    let dug = studio.digest();
    assert_eq!(studio.history(), ["Dig, 4.0 m"]);
    studio.replay("key down ctrl\nkey down z\nframes 2 16667\nkey up z\nkey up ctrl\nframes 2 16667\ndigest\n");
    assert!(studio.history().is_empty());
    assert_ne!(studio.digest(), dug);
    studio.replay("key down ctrl\nkey down y\nframes 2 16667\nkey up y\nkey up ctrl\nframes 2 16667\ndigest\n");
    assert_eq!((studio.digest(), studio.history()), (dug, vec!["Dig, 4.0 m".to_owned()]));
}

#[test]
fn every_tool_and_shape_changes_the_ground_with_the_mouse() {
    let folder = Folder::new();
    let mut studio = Studio::new(&folder);
    studio.replay("do open hills:7\nwait\ndo set radius 5\ndo set strength 1\n");
    let tools =
        Tool::ALL.iter().filter(|tool| !matches!(tool, Tool::Select | Tool::Paste | Tool::Drain));
    let mut strokes = 0;
    for tool in tools {
        // What is painted or replaced has to be of another material.
        let material = if *tool == Tool::Paint { 2 } else { 8 };
        studio.replay(&format!("do set material {material}\n"));
        for shape in [Shape::Ball, Shape::Box, Shape::Cylinder, Shape::Wedge, Shape::Path] {
            let (tool, shape) = (tool.name(), shape.name());
            studio.replay(&format!("do tool {tool}\ndo shape {shape}\n{STROKE}"));
            let now = studio.history().len();
            // What is dug or flattened already need not change again.
            strokes = now.max(strokes);
        }
        assert!(
            studio.history().iter().any(|name| name.starts_with(tool.label())),
            "{tool:?}: {:?}",
            studio.history()
        );
    }
    assert!(strokes > 30, "{strokes}");
}

#[test]
fn what_is_selected_can_be_copied_turned_and_pasted() {
    let folder = Folder::new();
    let mut studio = Studio::new(&folder);
    studio.replay(&format!("do open hills:7\nwait\ndo set radius 4\ndo tool select\n{STROKE}do copy\nframes 2 16667\ndo rotate y\nmove 400 500\nbutton down left\nframes 3 16667\nbutton up left\nframes 3 16667\n"));
    assert_eq!(studio.history(), ["Paste"], "{:?}", studio.notices());
}

#[test]
fn a_world_without_a_name_is_kept_and_saved_under_one() {
    let folder = Folder::new();
    let state = StateDir::at(folder.path("state"));
    let mut studio = Studio::new(&folder);
    studio.replay(&dig("frames 4 16667\n"));
    studio.until("it is kept", |studio| studio.is_saved());
    assert_eq!(state.unsaved().len(), 1);
    let file = folder.path("mine");
    studio.act(Action::SaveAs(file.clone()));
    let file = file.with_extension("tvx");
    studio.until("it has a name", |studio| studio.path().as_ref() == Some(&file));
    assert!(state.unsaved().is_empty(), "all of it is in the new file");
    // Its own file is not replaced, however its name is written.
    for own in [file.clone(), folder.path("state/../mine")] {
        studio.act(Action::SaveAs(own));
        studio.until("it is saved", |studio| {
            studio.is_saved() && studio.notices().iter().any(|line| line == "saved mine.tvx")
        });
        assert_eq!((studio.failure(), studio.asks_overwrite()), (None, None));
        assert_eq!(studio.path().as_ref(), Some(&file));
    }
    // Later strokes go there.
    studio.replay(STROKE);
    assert_eq!(studio.failure(), None);
    studio.act(Action::Close);
    studio.until("it is closed", |studio| !studio.has_world());
    let saved = Store::open(&file).unwrap().history(1 << 26).unwrap().unwrap();
    assert_eq!(saved.stats().undoable, 2);
    assert_eq!(state.recent()[0], file.display().to_string());
}

#[test]
fn a_world_that_was_only_looked_at_leaves_nothing() {
    let folder = Folder::new();
    let mut studio = Studio::new(&folder);
    studio.replay("do open hills:7\nwait\n");
    studio.act(Action::Close);
    studio.until("it is closed", |studio| !studio.has_world());
    assert!(StateDir::at(folder.path("state")).unsaved().is_empty());
}

#[test]
fn what_cannot_be_opened_is_said_in_one_sentence() {
    let folder = Folder::new();
    let mut studio = Studio::new(&folder);
    let damaged = folder.path("damaged.tvx");
    fs::write(&damaged, b"\x89TVX\r\n\x1A\nnothing of a world").unwrap();
    let odd = folder.path("odd.xyz");
    fs::write(&odd, b"what is this").unwrap();
    let (damaged, odd) = (damaged.display().to_string(), odd.display().to_string());
    let missing = folder.path("missing.tvx").display().to_string();
    let cases = [
        (&*missing, "cannot be read"),
        (&*damaged, "damaged.tvx"),
        (&*odd, "unknown file type"),
        ("world:7:moon", "world:7:moon"),
        ("hills:x", "hills:x"),
    ];
    for (what, part) in cases {
        studio.act(Action::Open(what.to_owned()));
        studio.until(what, |studio| {
            !studio.is_opening() && studio.failure().is_some_and(|line| line.contains(part))
        });
        let line = studio.failure().unwrap();
        assert!(!line.contains('\n') && !studio.has_world(), "{line}");
    }
}

#[test]
fn a_world_that_another_studio_has_open_is_refused() {
    let folder = Folder::new();
    let mut first = Studio::new(&folder);
    first.replay(&dig(""));
    first.act(Action::SaveAs(folder.path("ours.tvx")));
    first.until("it has a name", |studio| studio.path().is_some());
    let mut second = Studio::new(&folder);
    second.act(Action::Open(folder.path("ours.tvx").display().to_string()));
    second.until("it is refused", |studio| {
        studio.failure().is_some_and(|line| line.contains("open in another studio"))
    });
    assert!(!second.has_world());
    first.act(Action::Quit);
    first.until("it is closed", |studio| !studio.has_world());
    second.act(Action::Open(folder.path("ours.tvx").display().to_string()));
    second.until("it opens", Studio::has_world);
    assert_eq!(second.history(), ["earlier"]);
}

#[test]
fn walking_and_throwing_work_on_the_ground() {
    let folder = Folder::new();
    let mut studio = Studio::new(&folder);
    studio.replay("do open hills:7\nwait\ndo mode play\nframes 260 16667\nkey down f\nframes 2 16667\nkey up f\nframes 30 16667\nkey down w\nframes 60 16667\nkey up w\nframes 2 16667\n");
    let (walked, stands, bodies) = studio.walker();
    assert!(walked > 2.0 && stands, "walked {walked} m, stands: {stands}");
    assert_eq!(bodies, 1);
    studio.act(Action::Set(Field::Body, 2.0));
    studio.act(Action::Mode(terravox_studio::action::Mode::Sculpt));
    studio.until("the person is gone", |studio| studio.walkers() == 0);
}

#[test]
fn a_world_that_is_open_elsewhere_is_not_deleted() {
    let folder = Folder::new();
    let mut first = Studio::new(&folder);
    first.replay(&dig(""));
    first.until("it is kept", |studio| studio.is_saved());
    let state = StateDir::at(folder.path("state"));
    let world = state.unsaved().remove(0);
    assert!(world.is_open);
    let mut second = Studio::new(&folder);
    second.act(Action::Discard(world.path.clone()));
    let refusal = second.failure().expect("it is refused");
    assert!(refusal.contains("open in another studio") && world.path.exists(), "{refusal}");
    first.act(Action::Close);
    first.until("it is closed", |studio| !studio.has_world());
    second.until("it is deleted", |studio| {
        studio.act(Action::Discard(world.path.clone()));
        !world.path.exists()
    });
    assert!(state.unsaved().is_empty());
}

#[test]
fn closing_during_a_stroke_ends_it_and_saves_all_of_it() {
    let folder = Folder::new();
    let mut studio = Studio::new(&folder);
    studio.replay(&dig(""));
    let file = folder.path("stroke.tvx");
    studio.act(Action::SaveAs(file.clone()));
    studio.until("it has a name", |studio| studio.path().is_some());
    // The button is still down.
    studio.replay("move 500 430\nbutton down left\nframes 9 16667\nmove 560 430\nframes 3 16667\n");
    studio.act(Action::Close);
    studio.until("it is closed", |studio| !studio.has_world());
    let saved = Store::open(&file).unwrap().history(1 << 26).unwrap().unwrap();
    assert_eq!(saved.stats().undoable, 2);
    assert!(studio.failure().is_none(), "{:?}", studio.notices());
}

#[test]
fn a_world_is_named_before_it_is_closed() {
    let folder = Folder::new();
    let mut studio = Studio::new(&folder);
    studio.replay(&dig(""));
    let file = folder.path("named.tvx");
    studio.replay(&format!("do save-as {}\ndo close\nframes 1 16667\n", file.display()));
    studio.until("it is closed", |studio| !studio.has_world());
    let saved = Store::open(&file).unwrap().history(1 << 26).unwrap().unwrap();
    assert_eq!(saved.stats().undoable, 1);
    assert!(StateDir::at(folder.path("state")).unsaved().is_empty());
}

#[test]
fn what_cannot_be_saved_is_saved_under_another_name() {
    let folder = Folder::new();
    let mut studio = Studio::new(&folder);
    studio.replay(&dig(""));
    studio.until("it is kept", |studio| studio.is_saved());
    let old = StateDir::at(folder.path("state")).unsaved().remove(0).path;
    // One more stroke, of which the old file gets nothing: the copy begins in the same second.
    studio.replay(STROKE);
    studio.fail_save();
    let file = folder.path("elsewhere.tvx");
    studio.act(Action::SaveAs(file.clone()));
    studio.until("it has a name", |studio| studio.path().as_ref() == Some(&file));
    assert!(!old.exists());
    studio.act(Action::Close);
    studio.until("it is closed", |studio| !studio.has_world());
    let saved = Store::open(&file).unwrap().history(1 << 26).unwrap().unwrap();
    assert_eq!(saved.stats().undoable, 2);
}

#[test]
fn a_world_that_cannot_be_saved_is_closed_only_if_the_user_says_so() {
    let folder = Folder::new();
    let mut studio = Studio::new(&folder);
    studio.replay(&dig(""));
    studio.until("it is kept", |studio| studio.is_saved());
    let refuse_close = |studio: &mut Studio| {
        studio.act(Action::Close);
        studio.fail_save();
        studio.frame();
        assert!(studio.has_world() && studio.asks_to_drop_changes());
    };
    refuse_close(&mut studio);
    studio.act(Action::Cancel);
    studio.frame();
    assert!(studio.has_world() && !studio.asks_to_drop_changes());
    refuse_close(&mut studio);
    studio.act(Action::DropChanges);
    studio.until("it is closed", |studio| !studio.has_world());
}

#[test]
fn a_click_that_is_shorter_than_a_frame_is_a_stroke() {
    let folder = Folder::new();
    let mut studio = Studio::new(&folder);
    studio.replay(&dig(""));
    let before = studio.history().len();
    studio
        .replay("move 700 470\nframes 2 16667\nbutton down left\nbutton up left\nframes 4 16667\n");
    assert_eq!(studio.history().len(), before + 1, "{:?}", studio.history());
}

#[test]
fn what_was_done_last_is_saved_when_the_app_ends_by_itself() {
    let folder = Folder::new();
    let mut studio = Studio::new(&folder);
    // Its end is the end of an app, as Ctrl-C is.
    studio.replay(&dig(""));
    let path = StateDir::at(folder.path("state")).unsaved().remove(0).path;
    drop(studio);
    let saved = Store::open(&path).unwrap().history(1 << 26).unwrap().unwrap();
    assert_eq!(saved.stats().undoable, 1);
}

#[test]
fn a_world_that_opens_at_once_stays_open() {
    let folder = Folder::new();
    let mut studio = Studio::new(&folder);
    studio.replay(&dig(""));
    let file = folder.path("quick.tvx");
    studio.act(Action::SaveAs(file.clone()));
    studio.until("it has a name", |studio| studio.path().is_some());
    studio.act(Action::Close);
    studio.until("it is closed", |studio| !studio.has_world());
    studio.act(Action::Open(file.display().to_string()));
    studio.until("it opens", Studio::has_world);
    for _ in 0..60 {
        studio.frame();
        assert!(studio.has_world() && !studio.is_opening());
    }
}

#[test]
fn the_history_goes_back_many_strokes_at_once() {
    let folder = Folder::new();
    let mut studio = Studio::new(&folder);
    studio.replay("do open hills:7\nwait\ndo set radius 2\n");
    for i in 0..12 {
        let x = 400 + 40 * i;
        studio.replay(&format!(
            "move {x} 420\nbutton down left\nframes 2 16667\nbutton up left\nframes 2 16667\n"
        ));
    }
    assert_eq!(studio.history().len(), 12);
    studio.act(Action::GoTo(0));
    studio.until("all is undone", |studio| studio.history().is_empty());
    studio.act(Action::GoTo(12));
    studio.until("all is redone", |studio| studio.history().len() == 12);
}

#[test]
fn a_recording_replaces_no_world() {
    let folder = Folder::new();
    let file = folder.path("world.tvx");
    fs::write(&file, b"\x89TVX\r\n\x1A\nall of a world").unwrap();
    assert!(Recorder::create(&file).is_err_and(|error| error.to_string().contains("is a world")));
    assert_eq!(fs::read(&file).unwrap().len(), 22);
    assert!(Recorder::create(&folder.path("input.txt")).is_ok());
}

/// The unsaved world of a folder of the studio, closed or not.
fn unsaved(folder: &Folder) -> Option<PathBuf> {
    StateDir::at(folder.path("state")).unsaved().first().map(|world| world.path.clone())
}

#[test]
fn a_studio_that_is_killed_loses_nothing_that_was_done() {
    let folder = Folder::new();
    let replay = folder.path("replay.txt");
    let text = format!(
        "terravox-replay 1\n{}frames 9000000 16667\n",
        dig(&format!("digest\n{STROKE}digest\n"))
    );
    fs::write(&replay, text).unwrap();
    let mut studio = Command::new(env!("CARGO_BIN_EXE_terravox-studio"))
        .args(["--headless", "--replay"])
        .arg(&replay)
        .arg("--state")
        .arg(folder.path("state"))
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    // Until both strokes are in the file: at most a second after they ended.
    let start = Instant::now();
    let mut strokes = 0;
    while strokes < 2 {
        assert!(start.elapsed() < Duration::from_secs(120), "{strokes} strokes are kept");
        std::thread::sleep(Duration::from_millis(300));
        let copy = folder.path("copy.tvx");
        // The file is locked; its bytes are what a kill would leave.
        strokes = unsaved(&folder)
            .and_then(|file| fs::copy(file, &copy).ok())
            .and_then(|_| Store::open(&copy).ok()?.history(1 << 26).ok()?)
            .map_or(0, |history| history.stats().undoable);
    }
    studio.kill().unwrap();
    studio.wait().unwrap();
    let file = unsaved(&folder).expect("the world is there");
    let mut again = Studio::new(&folder);
    again.act(Action::Recover(file));
    again.until("it opens", Studio::has_world);
    assert_eq!(again.history(), ["earlier", "earlier"]);
    again.replay(
        "wait\nkey down ctrl\nkey down z\nframes 2 16667\nkey up z\nkey up ctrl\nframes 9 16667\n",
    );
    assert_eq!(again.history(), ["earlier"], "{:?}", again.notices());
}
