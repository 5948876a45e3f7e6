//! A world in a database that another program takes over.

use crate::waves::{Folder, Outcome, all_settled, options, quic, until, waves, waves_world};
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use terravox::edit::EditOp;
use terravox::terrain::Placement;
use terravox_server::{Client, ClientError, ClientOptions, ServedWorld, Server, ServerReason};
use terravox_store::{
    CommitFailure, Generator, MemoryRecords, RecordChanges, Records, RecordsView, Store, WorldInfo,
};

/// Records that another program can take over.
#[derive(Default)]
struct Contested {
    records: MemoryRecords,
    is_taken: Arc<AtomicBool>,
}

impl Records for Contested {
    fn view(&self) -> io::Result<Box<dyn RecordsView>> {
        self.records.view()
    }

    fn taken_over(&self) -> Option<String> {
        self.is_taken.load(Ordering::Acquire).then(|| "another program took it over".to_owned())
    }

    fn commit(&self, changes: RecordChanges) -> Result<(), CommitFailure> {
        match self.taken_over() {
            Some(what) => Err(CommitFailure::Fenced(what)),
            None => self.records.commit(changes),
        }
    }
}

#[test]
fn a_server_ends_when_its_last_world_is_taken_over_and_its_guests_may_come_back() -> Outcome {
    let folder = Folder::new("taken-over");
    let generator = Generator { name: "waves".into(), version: 1, ..Generator::default() };
    let info = WorldInfo::growing(Placement::default(), generator);
    let records = Arc::new(Contested::default());
    let store = Store::create_records(records.clone(), "waves", &info)?;
    let generate = Some(Arc::new(waves) as _);
    let name = "waves".to_owned();
    let world = ServedWorld { name, store, generate, protected: vec![], decide: None, share: None };
    let server = Server::start(vec![world], options(&folder.0))?;
    let mut ada = Client::connect(&quic(&server), ClientOptions::default())?;
    until(&mut [&mut ada], all_settled)?;
    ada.guest().edit(&EditOp::fill_ball(17, [0.0, 20.0, 0.0], 4.0))?;
    until(&mut [&mut ada], all_settled)?;
    // Without an edit it is noticed, too.
    records.is_taken.store(true, Ordering::Release);
    let running = std::thread::spawn(move || server.run());
    let told = until(&mut [&mut ada], |_| false).expect_err("the world is elsewhere now");
    let told = told.downcast_ref::<ClientError>().expect("the link ended");
    assert!(told.is_transient(), "{told}");
    let reason = told.link_end().and_then(ServerReason::of_link_end);
    assert_eq!(reason, Some(ServerReason::ServerEnds), "{told}");
    let ended = running.join().expect("no panic").expect_err("it was not told to end");
    assert!(["not saved", "no world is left"].iter().any(|why| ended.to_string().contains(why)));
    Ok(())
}

#[test]
fn a_world_that_stops_is_closed_while_the_server_serves_others() -> Outcome {
    let folder = Folder::new("closed");
    let generator = Generator { name: "waves".into(), version: 1, ..Generator::default() };
    let info = WorldInfo::growing(Placement::default(), generator);
    let records = Arc::new(Contested::default());
    // A database gives its leases up when it is dropped.
    let (is_taken, kept) = (records.is_taken.clone(), Arc::downgrade(&records));
    let store = Store::create_records(records, "contested", &info)?;
    let generate = Some(Arc::new(waves) as _);
    let name = "contested".to_owned();
    let first = ServedWorld { name, store, generate, protected: vec![], decide: None, share: None };
    let server = Server::start(vec![waves_world(&folder.0)?, first], options(&folder.0))?;
    let mut ada = Client::connect(&quic(&server), ClientOptions::default())?;
    until(&mut [&mut ada], all_settled)?;
    assert!(kept.strong_count() > 0);
    is_taken.store(true, Ordering::Release);
    until(&mut [&mut ada], |_| kept.strong_count() == 0)?;
    ada.guest().edit(&EditOp::fill_ball(17, [0.0, 20.0, 0.0], 4.0))?;
    until(&mut [&mut ada], all_settled)?;
    // Nothing of either is unsaved.
    Ok(server.stop()?)
}
