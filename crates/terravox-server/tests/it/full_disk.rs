//! Disks that cannot be written: what is not saved is said, and saved once there is room.

use crate::failing_disk::FullDisk;
use crate::waves::{Folder, Outcome, frame, options, quic};
use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use terravox::edit::EditOp;
use terravox::terrain::Placement;
use terravox_server::{Client, ClientOptions, ServedWorld, Server};
use terravox_store::{MemoryDisk, Store, StoreError, WorldInfo};

fn health(server: &Server) -> Result<String, io::Error> {
    let mut stream = TcpStream::connect(server.http_address())?;
    stream.write_all(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")?;
    let mut text = String::new();
    stream.read_to_string(&mut text)?;
    Ok(text)
}

#[test]
fn failing_saves_make_the_server_unwell_and_the_last_one_is_tried_again_slow() -> Outcome {
    let folder = Folder::new("full");
    let disk = Arc::new(FullDisk::default());
    let info = WorldInfo::complete(Placement::default());
    let store = Store::create_on(disk.clone(), "full", &info)?;
    let world = ServedWorld {
        name: "full".into(),
        store,
        generate: None,
        protected: vec![],
        decide: None,
        share: None,
    };
    let server = Server::start(vec![world], options(&folder.0))?;
    assert!(health(&server)?.ends_with("ok\n"));
    disk.fail(0, u64::MAX);
    let mut client = Client::connect(&quic(&server), ClientOptions::default())?;
    let mut has_edited = false;
    let unwell = loop {
        frame(&mut client)?;
        if client.guest().is_complete() && !has_edited {
            client.guest().edit(&EditOp::fill_ball(8, [0.0, 8.0, 0.0], 3.0))?;
            has_edited = true;
        }
        let text = health(&server)?;
        if !text.ends_with("ok\n") {
            break text;
        }
    };
    assert!(unwell.starts_with("HTTP/1.1 503"), "{unwell}");
    assert!(
        unwell.contains("saving the world full stopped") && unwell.contains("1 edits"),
        "{unwell}"
    );
    // Others may read it: what a disk or a database says of an error is for the log.
    assert!(unwell.ends_with("edits are only in memory; the log says why\n"), "{unwell}");
    drop(client);
    // The next save fails, too; then there is room.
    disk.fail(0, 1);
    server.stop()?;
    let stored = Store::open_on(Arc::new(MemoryDisk::from(disk.disk.to_bytes())), "full")?;
    assert!(!stored.chunks()?.is_empty());
    Ok(())
}

/// A complete world with both copies of a part of its index damaged.
fn world_that_cannot_be_written() -> Result<ServedWorld, StoreError> {
    let disk = Arc::new(MemoryDisk::default());
    let info = WorldInfo::complete(Placement::default());
    let store = Store::create_on(disk.clone(), "damaged", &info)?;
    // So many that the index has several nodes, in which short values are.
    let value = |number: u8| [number, !number].repeat(20);
    for number in 0..200 {
        store.set_extra(&format!("name {number}"), Some(&value(number)))?;
    }
    drop(store);
    let mut bytes = disk.to_bytes();
    let damaged = value(100);
    for at in 0..bytes.len() - damaged.len() {
        if bytes[at..].starts_with(&damaged) {
            bytes[at] ^= 1;
        }
    }
    let store = Store::open_on(Arc::new(MemoryDisk::from(bytes)), "damaged")?;
    let name = "damaged".into();
    Ok(ServedWorld { name, store, generate: None, protected: vec![], decide: None, share: None })
}

#[test]
fn a_world_that_no_save_could_write_is_refused_with_what_to_do() -> Outcome {
    let folder = Folder::new("index");
    let error = Server::start(vec![world_that_cannot_be_written()?], options(&folder.0)).err();
    let told = error.map(|error| error.to_string()).unwrap_or_default();
    assert!(told.contains("damaged") && told.contains("terravox repair"), "{told}");
    Ok(())
}

#[test]
fn a_server_runs_until_the_program_ends_it() -> Outcome {
    let folder = Folder::new("ender");
    let info = WorldInfo::complete(Placement::default());
    let store = Store::create_on(Arc::new(MemoryDisk::default()), "world", &info)?;
    let name = "world".into();
    let world =
        ServedWorld { name, store, generate: None, protected: vec![], decide: None, share: None };
    let server = Server::start(vec![world], options(&folder.0))?;
    let end = server.ender();
    // Also before it runs.
    end();
    Ok(server.run()?)
}
