//! Worlds of servers in the studio: a real server on loopback, a studio without a renderer.

mod headless_studio;

use std::sync::Arc;

use bevy_terravox::online::terravox_server::{
    AccessList, Right, ServedWorld, Server, ServerOptions,
};
use bevy_terravox::terravox::generate::Hills;
use bevy_terravox::terravox::terrain::{FillRequest, Placement};
use headless_studio::{Folder, Studio};
use terravox_store::{Generator, Overwrite, Store, WorldInfo};
use terravox_studio::action::Action;
use terravox_studio::open::LinkState;
use terravox_studio::state_dir::StateDir;

/// Dragging over the middle of the window.
const STROKE: &str = "move 640 420\nbutton down left\nframes 2 16667\nmove 700 420\nframes 6 16667\n\
                      move 760 430\nframes 6 16667\nbutton up left\nframes 2 16667\n";

type Fill = Arc<dyn Fn(&mut FillRequest<'_>) + Send + Sync>;

/// Serves hills at a port, 0 for any; "look" may only look.
fn serve(folder: &Folder, port: u16) -> Server {
    let hills = Hills::new(7);
    let generate = move |request: &mut FillRequest<'_>| {
        let mip = request.mip();
        hills.fill(request.cells(), mip);
    };
    serve_world(folder, port, Generator::hills(7), Arc::new(generate))
}

fn serve_world(folder: &Folder, port: u16, generator: Generator, generate: Fill) -> Server {
    let path = folder.path("hills.tvx");
    let store = match path.exists() {
        true => Store::open(&path).unwrap(),
        false => {
            let info = WorldInfo::growing(Placement::default(), generator);
            Store::create(&path, &info, Overwrite::No).unwrap().finish().unwrap()
        }
    };
    let world = ServedWorld {
        name: "hills".into(),
        store,
        generate: Some(generate),
        protected: Vec::new(),
        decide: None,
        share: None,
    };
    let mut access = AccessList::default();
    access.add("dig", Right::Edit);
    access.add("look", Right::Look);
    let certificate_folder = folder.path("");
    let options = ServerOptions { port, access, certificate_folder, ..ServerOptions::default() };
    Server::start(vec![world], options).unwrap()
}

/// A studio that has joined, and sees the ground at the origin from near.
fn join(folder: &Folder, server: &Server, token: &str, name: &str) -> Studio {
    let mut studio = Studio::known_as(folder, token, name);
    let address = server.quic_address();
    studio.replay(&format!("do open {address}\nwait\ndo set radius 4\n"));
    // It looks down from 45 m; ground at full detail is nearer.
    let y = studio.home()[1] - 25.0;
    studio.replay(&format!("do view 0 {y} 0 40 -60\nwait\n"));
    studio
}

fn says(studio: &Studio, part: &str) -> bool {
    studio.notices().iter().any(|line| line.contains(part))
}

#[test]
fn a_world_of_a_server_is_dug_and_saved_there() {
    let folder = Folder::new();
    let server = serve(&folder, 0);
    let address = server.quic_address().to_string();
    let mut studio = join(&folder, &server, "dig", "");
    let before = studio.heights();
    studio.replay(&format!("{STROKE}do tool build\n{STROKE}"));
    studio.until("the strokes have replies", Studio::has_all_replies);
    assert_eq!(studio.failure(), None);
    assert_eq!(studio.history()[0], "Dig, 4.0 m");
    assert!(studio.history()[1].starts_with("Build "), "{:?}", studio.history());
    assert!(studio.heights() != before);
    studio.act(Action::Undo);
    studio.until("one is undone", |studio| studio.history().len() == 1);
    studio.act(Action::GoTo(0));
    studio.until("all is undone", |studio| studio.history().is_empty());
    studio
        .until("it is as before", |studio| studio.has_all_replies() && studio.heights() == before);
    studio.act(Action::GoTo(2));
    studio.until("all is redone", |studio| studio.history().len() == 2);
    studio.act(Action::SaveAs(folder.path("mine.tvx")));
    assert!(says(&studio, "the server saves this world"), "{:?}", studio.notices());
    // What is on its way is waited for.
    studio.replay(&format!("{STROKE}do close\nframes 1 16667\n"));
    studio.until("it is closed", |studio| !studio.has_world());
    let state = StateDir::at(folder.path("state"));
    assert_eq!(state.recent(), [address]);
    assert!(
        state.unsaved().is_empty() && !folder.path("mine.tvx").exists(),
        "nothing is kept here"
    );
    server.stop().unwrap();
    let store = Store::open(folder.path("hills.tvx")).unwrap();
    assert!(!store.chunks().unwrap().is_empty(), "what was dug is in the file of the server");
}

#[test]
fn a_refused_edit_vanishes_and_the_reason_is_said() {
    let (folder, other_folder) = (Folder::new(), Folder::new());
    let server = serve(&folder, 0);
    let mut studio = join(&folder, &server, "look", "Ada");
    let mut other = join(&other_folder, &server, "dig", "Bob");
    studio.until("the other one is seen", |studio| {
        other.frame();
        studio.people() == ["Bob"]
    });
    other.until("and sees the first", |other| {
        studio.frame();
        other.people() == ["Ada"]
    });
    let before = studio.heights();
    studio.replay(STROKE);
    studio.until("it is refused", |studio| says(studio, "the server refused that: "));
    studio.until("it vanishes", |studio| studio.has_all_replies() && studio.heights() == before);
    assert!(studio.history().is_empty() && studio.has_world());
}

#[test]
fn a_broken_link_is_made_again_and_that_is_said() {
    let folder = Folder::new();
    let server = serve(&folder, 0);
    let port = server.quic_address().port();
    let mut studio = join(&folder, &server, "dig", "");
    studio.replay(STROKE);
    studio.until("the stroke has a reply", Studio::has_all_replies);
    let dug = studio.heights();
    server.stop().unwrap();
    studio.until("the link breaks", |studio| studio.link() == Some(LinkState::Broken));
    assert!(says(&studio, "connecting again"), "{:?}", studio.notices());
    studio.replay(STROKE);
    assert!(says(&studio, "there is no connection"), "{:?}", studio.notices());
    let server = serve(&folder, port);
    studio.until("it is made again", |studio| studio.link() == Some(LinkState::Up));
    assert!(says(&studio, "connected to"), "{:?}", studio.notices());
    studio
        .until("all ground is there", |studio| studio.has_all_replies() && studio.heights() == dug);
    studio.replay(STROKE);
    studio.until("the stroke has a reply", Studio::has_all_replies);
    assert_eq!(studio.history(), ["Dig, 4.0 m"], "the server has forgotten older ones");
    drop(server);
    // Closing does not wait for a server that is gone.
    studio.until("the link breaks", |studio| studio.link() == Some(LinkState::Broken));
    studio.act(Action::Close);
    studio.until("it is closed", |studio| !studio.has_world());
}

#[test]
fn a_world_of_an_unknown_generator_is_seen_from_above_its_ground() {
    let folder = Folder::new();
    let generator = Generator { name: "plain".into(), version: 1, ..Generator::default() };
    let plain = |request: &mut FillRequest<'_>| {
        request.fill_height(8, -40.0..=-40.0, |_, _| -40.0);
    };
    let server = serve_world(&folder, 0, generator, Arc::new(plain));
    let mut studio = Studio::known_as(&folder, "dig", "");
    studio.act(Action::Open(server.quic_address().to_string()));
    studio.until("it is open", Studio::has_world);
    studio.until("the ground is found", |studio| (studio.home()[1] - 5.0).abs() < 1.0);
}

#[test]
fn a_server_that_cannot_be_joined_is_a_sentence() {
    let folder = Folder::new();
    let server = serve(&folder, 0);
    let address = server.quic_address().to_string();
    let cases = [
        (address.clone(), "guess", "is not known"),
        (format!("{address}/caves"), "dig", "caves"),
        ("localhost:99999".to_owned(), "dig", "invalid port"),
    ];
    for (address, token, part) in cases {
        let mut studio = Studio::known_as(&folder, token, "");
        studio.act(Action::Open(address.clone()));
        studio.until(&address, |studio| studio.failure().is_some() && !studio.is_opening());
        assert!(studio.failure().unwrap().contains(part), "{:?}", studio.notices());
        assert!(!studio.has_world());
    }
    server.stop().unwrap();
    let mut studio = Studio::known_as(&folder, "dig", "");
    studio.act(Action::Open(address.clone()));
    studio.until("it fails", |studio| studio.failure().is_some() && !studio.is_opening());
    assert!(studio.failure().unwrap().contains("nothing listens there"), "{:?}", studio.notices());
    // Waiting can be given up.
    studio.act(Action::Open(address));
    studio.act(Action::Close);
    assert!(!studio.is_opening() && !studio.has_world());
    assert!(StateDir::at(folder.path("state")).recent().is_empty());
}
