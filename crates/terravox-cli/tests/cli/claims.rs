//! `join` in a world that servers share: parts of it have no server yet. The leases are in memory.

use crate::Folder;
use crate::online::{hills, join};
use std::collections::BTreeSet;
use std::io;
use std::sync::{Arc, Mutex};
use terravox::generate::Hills;
use terravox::terrain::Placement;
use terravox_server::{ServedWorld, Server, ServerError, ServerOptions};
use terravox_store::{
    Column, ColumnChanges, ColumnLeases, ColumnOwner, Generator, Overwrite, Store, WorldInfo,
};

/// The leases of the only server of a world. `refuses`: claims get nothing, as if the database said
/// that another one is about to have each column.
struct Leases {
    refuses: bool,
    held: Mutex<BTreeSet<Column>>,
}

impl ColumnLeases for Leases {
    fn claim(&self, columns: &[Column]) -> io::Result<Vec<Column>> {
        let claimed = if self.refuses { &columns[..0] } else { columns };
        self.held.lock().unwrap().extend(claimed);
        Ok(claimed.to_vec())
    }

    fn release(&self, columns: &[Column]) -> io::Result<()> {
        self.held.lock().unwrap().retain(|column| !columns.contains(column));
        Ok(())
    }

    fn owners(&self) -> io::Result<Vec<ColumnOwner>> {
        let owner = |&column: &Column| ColumnOwner {
            column,
            server: "this one".to_owned(),
            epoch: 1,
            is_alive: true,
            is_own: true,
        };
        Ok(self.held.lock().unwrap().iter().map(owner).collect())
    }

    fn owners_of(&self, columns: &[Column]) -> io::Result<Vec<ColumnOwner>> {
        let all = self.owners()?.into_iter();
        Ok(all.filter(|owner| columns.contains(&owner.column)).collect())
    }

    fn changes(&self, _watched: &[Column]) -> io::Result<ColumnChanges> {
        Ok(ColumnChanges { columns: Vec::new(), chunks: Vec::new() })
    }
}

fn growing() -> WorldInfo {
    let (name, version) = (Hills::NAME.to_owned(), Hills::VERSION);
    let generator = Generator { name, version, seed: 7, ..Generator::default() };
    WorldInfo::growing(Placement::default(), generator)
}

fn share(folder: &Folder, info: &WorldInfo, refuses: bool) -> Result<Server, ServerError> {
    let draft = Store::create(folder.path("w.tvx"), info, Overwrite::No).expect("a new world");
    let world = ServedWorld {
        name: "w".into(),
        store: draft.finish().expect("it is in place"),
        generate: Some(Arc::new(hills)),
        protected: vec![],
        decide: None,
        share: Some(Box::new(Leases { refuses, held: Mutex::default() })),
    };
    let options =
        ServerOptions { port: 0, certificate_folder: folder.0.clone(), ..ServerOptions::default() };
    Server::start(vec![world], options)
}

const VIEW: [&str; 6] = ["--camera", "0,300,0", "--distance", "100", "--detail", "1"];

#[test]
fn operations_in_a_part_without_a_server_are_sent_again_and_in_their_order() {
    let folder = Folder::new();
    let server = share(&folder, &growing(), false).expect("it starts");
    let address = server.quic_address().to_string();
    // In two columns. In any other order one of each three changes nothing, or rock stays.
    let mut edits = Vec::new();
    for x in [40, -40] {
        for edit in ["fill Rock", "dig", "fill Rock"] {
            edits.extend(["--edit".to_owned(), format!("{edit} ball {x},300,40 r=6")]);
        }
    }
    let edits = edits.iter().map(String::as_str);
    let joined = join(&folder, &address, &VIEW.into_iter().chain(edits).collect::<Vec<_>>());
    assert_eq!((&joined["confirmed"], &joined["refused"]), (&6.into(), &0.into()), "{joined}");
    assert_eq!(joined["without_effect"], 0, "{joined}");
}

#[test]
fn a_part_that_gets_no_server_is_given_up_after_some_seconds_slow() {
    let folder = Folder::new();
    let server = share(&folder, &growing(), true).expect("it starts");
    let address = server.quic_address().to_string();
    let dig = ["--edit", "fill Rock ball 40,300,40 r=6", "--edit", "dig ball 40,300,40 r=6"];
    let arguments = [&["join", &address][..], &VIEW, &dig].concat();
    folder.refused(&arguments, &["refused 2 of 2 operations", "not served yet"]);
    let failed = folder.run(&[&["join", &address][..], &VIEW, &dig[..2], &["--json"]].concat());
    let told: serde_json::Value = serde_json::from_slice(&failed.stdout).expect("a JSON object");
    let counts = ["confirmed", "unsaved", "refused"].map(|name| told[name].as_u64());
    assert_eq!(counts, [Some(0), Some(0), Some(1)], "{told}");
}

#[test]
fn a_complete_world_is_not_shared_and_the_message_says_how_to_make_one_that_is() {
    let folder = Folder::new();
    let Err(error) = share(&folder, &WorldInfo::default(), false) else { panic!("it is served") };
    let told = error.to_string();
    assert!(told.contains("terravox generate FILE --sparse"), "{told}");
}
