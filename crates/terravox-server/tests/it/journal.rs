//! Who changed what: the log of a world and rollbacks.

use crate::waves::{Folder, Outcome, PATIENCE, material, options, waves, waves_world};
use std::error::Error;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::time::Instant;
use terravox::edit::{EditOp, Editor};
use terravox::replicate::{GuestEvent, Interest};
use terravox::terrain::{FillRequest, Placement};
use terravox::voxel::{DenseBox, Region, VoxelGrid};
use terravox_server::{
    AccessList, Client, ClientOptions, JournalQuery, Right, Server, ServerOptions, WorldAddress,
};
use terravox_store::Store;

/// Serves a growing world of waves, which is made on the first start.
fn serve(folder: &Path, access: AccessList) -> Result<Server, Box<dyn Error>> {
    // What is built here floats.
    let options = ServerOptions { access, pieces_fall: false, ..options(folder) };
    Ok(Server::start(vec![waves_world(folder)?], options)?)
}

fn tokens() -> AccessList {
    let mut access = AccessList::default();
    access.add_named("ada's word", Right::Edit, "ada");
    access.add("a word", Right::Edit);
    access.add_named("keeper's word", Right::Administer, "keeper");
    access
}

fn with(token: &str) -> ClientOptions {
    ClientOptions { token: token.into(), ..ClientOptions::default() }
}

fn address(server: &Server) -> WorldAddress {
    format!("ws://{}/waves", server.http_address()).parse().expect("an address")
}

/// Runs a client until all is decided and shown, and a condition holds.
fn settle(client: &mut Client, is_met: impl Fn(&mut Client) -> bool) -> Outcome {
    let start = Instant::now();
    loop {
        client.poll(waves)?;
        let guest = client.guest();
        for event in guest.events() {
            match event {
                GuestEvent::Welcome { .. } => guest.start(true),
                GuestEvent::Refused { reason, .. } => return Err(reason.into()),
                _ => {}
            }
        }
        let interest = Interest { view_voxels: 60.0, ..Interest::default() };
        guest.watch(&[[0.0, 10.0, 0.0]], &interest);
        if guest.is_complete() && guest.pending_edits() == 0 && is_met(client) {
            return Ok(());
        }
        if start.elapsed() > PATIENCE {
            return Err("nothing happened for minutes".into());
        }
        std::thread::yield_now();
    }
}

/// Joins, edits and leaves.
fn edit(server: &Server, token: &str, op: &EditOp) -> Outcome {
    let mut client = Client::connect(&address(server), with(token))?;
    settle(&mut client, |_| true)?;
    client.guest().edit(op)?;
    settle(&mut client, |_| true)
}

const REGION: [[i32; 3]; 2] = [[-32, -32, -32], [32, 64, 32]];

/// The ground with operations on it.
fn expected(ops: &[&EditOp]) -> VoxelGrid {
    let mut grid = VoxelGrid::default();
    let mut cells = DenseBox::default();
    for chunk in Region::new(REGION[0], REGION[1]).blocks::<5>() {
        FillRequest::fill_block(&mut cells, chunk.into(), Placement::default(), waves);
        grid.write(&cells).expect("unlisted chunks are air");
    }
    for op in ops {
        Editor::default().apply(&mut grid, op, None).expect("a sound edit");
    }
    grid
}

/// The cells of a world file; the ground where it has none.
fn stored(folder: &Path) -> Result<VoxelGrid, Box<dyn Error>> {
    let store = Store::open(folder.join("waves.tvx"))?;
    let mut grid = VoxelGrid::default();
    let mut cells = DenseBox::default();
    for chunk in Region::new(REGION[0], REGION[1]).blocks::<5>() {
        let fill = |request: &mut FillRequest<'_>| store.fill(request, waves);
        FillRequest::fill_block(&mut cells, chunk.into(), Placement::default(), fill);
        grid.write(&cells)?;
    }
    Ok(grid)
}

#[test]
fn one_of_two_who_built_at_one_place_is_rolled_back_and_the_log_outlives_the_server_slow() -> Outcome
{
    let folder = Folder::new("overlap");
    let ada_built = EditOp::fill_ball(17, [0.0, 10.0, 0.0], 7.0);
    let bob_built = EditOp::fill_ball(18, [4.0, 16.0, 0.0], 5.0);
    let bob_dug = EditOp::dig_ball([-3.0, 10.0, 0.0], 3.0);
    let server = serve(&folder.0, tokens())?;
    edit(&server, "ada's word", &ada_built)?;
    edit(&server, "a word", &bob_built)?;
    edit(&server, "a word", &bob_dug)?;
    let keeper = with("keeper's word");
    let before = Client::journal(&address(&server), &keeper, &JournalQuery::default())?;
    let authors = Vec::from_iter(before.iter().map(|edit| edit.author.as_str()));
    assert_eq!(authors, ["127.0.0.1", "127.0.0.1", "ada"], "newest first");
    assert!(before[0].number > before[2].number && before[2].cells > 1000);
    let corners = before[2].region_m;
    assert_eq!(corners, Some([[-7.0, 3.0, -7.0], [7.0, 17.0, 7.0]]));
    server.stop()?;

    let server = serve(&folder.0, tokens())?;
    let address_now = address(&server);
    assert_eq!(Client::journal(&address_now, &keeper, &JournalQuery::default())?, before);
    let here = JournalQuery {
        region_m: Some([[8.0, 16.0, 0.0], [20.0, 17.0, 1.0]]),
        ..Default::default()
    };
    assert_eq!(Client::journal(&address_now, &keeper, &here)?, [before[1].clone()]);
    let one = JournalQuery { limit: Some(1), ..JournalQuery::default() };
    assert_eq!(Client::journal(&address_now, &keeper, &one)?, [before[0].clone()]);

    // Someone is there, and sees it.
    let mut guest = Client::connect(&address_now, with("a word"))?;
    settle(&mut guest, |client| material(client, [0, 8, 0]) == Some(17))?;
    let ada = JournalQuery { authors: vec!["ada".into()], ..JournalQuery::default() };
    let rolled_back = Client::roll_back(&address_now, &keeper, &ada)?;
    assert_eq!((rolled_back.edits, rolled_back.chunks_left_out), (1, 0));
    assert!((500..before[2].cells).contains(&rolled_back.cells), "{rolled_back:?}");
    settle(&mut guest, |client| {
        material(client, [0, 8, 0]) == Some(0) && material(client, [4, 16, 0]) == Some(18)
    })?;
    let log = Client::journal(&address_now, &keeper, &JournalQuery::default())?;
    // A large one is logged as several edits, one for each tick.
    let own = log.iter().take_while(|edit| edit.author == "keeper");
    assert_eq!(own.map(|edit| edit.cells).sum::<u64>(), rolled_back.cells);
    drop(guest);
    server.stop()?;

    // What is left is what Bob changed.
    let [mut ground, built] = [expected(&[]), expected(&[&ada_built])];
    let after = expected(&[&ada_built, &bob_built, &bob_dug]);
    for pos in Region::new(REGION[0], REGION[1]).voxels() {
        let (old, new) = (built.cell(pos)?, after.cell(pos)?);
        if old != new {
            let mut one = DenseBox::new(Region::one(pos));
            one.set(pos, new);
            ground.write(&one)?;
        }
    }
    assert_eq!(stored(&folder.0)?.digest()?, ground.digest()?);

    // The rollback is rolled back.
    let server = serve(&folder.0, tokens())?;
    let keepers = JournalQuery { authors: vec!["keeper".into()], ..JournalQuery::default() };
    let again = Client::roll_back(&address(&server), &keeper, &keepers)?;
    assert_eq!(again.cells, rolled_back.cells);
    server.stop()?;
    assert_eq!(stored(&folder.0)?.digest()?, after.digest()?);
    Ok(())
}

/// All that a server says to a request.
fn request(server: &Server, line: &str, headers: &str) -> Result<String, Box<dyn Error>> {
    let mut stream = TcpStream::connect(server.http_address())?;
    let head = format!("{line} HTTP/1.1\r\nHost: localhost\r\n{headers}\r\n");
    stream.write_all(head.as_bytes())?;
    let mut text = String::new();
    stream.read_to_string(&mut text)?;
    Ok(text)
}

#[test]
fn a_second_rollback_of_an_edit_leaves_no_trace_and_its_guest_cannot_bring_it_back_slow() -> Outcome
{
    let folder = Folder::new("twice");
    let server = serve(&folder.0, tokens())?;
    let (address, keeper) = (address(&server), with("keeper's word"));
    let mut ada = Client::connect(&address, with("ada's word"))?;
    settle(&mut ada, |_| true)?;
    ada.guest().edit(&EditOp::fill_ball(17, [0.0, 10.0, 0.0], 4.0))?;
    settle(&mut ada, |client| material(client, [0, 12, 0]) == Some(17))?;
    let log = || Client::journal(&address, &keeper, &JournalQuery::default());
    let of = |number| JournalQuery { number: Some(number), ..JournalQuery::default() };
    let built = of(log()?[0].number);
    let first = Client::roll_back(&address, &keeper, &built)?;
    assert!(first.edits == 1 && first.cells > 100, "{first:?}");
    let after = log()?;
    let second = Client::roll_back(&address, &keeper, &built)?;
    assert_eq!((second.edits, second.cells), (0, 0));
    assert_eq!(log()?, after, "nothing was done");
    // Neither undo nor redo of what was rolled back does anything.
    settle(&mut ada, |client| material(client, [0, 12, 0]) == Some(0))?;
    ada.guest().undo()?;
    let refused = settle(&mut ada, |_| true).expect_err("it is gone").to_string();
    assert!(refused.contains("nothing to undo"), "{refused}");
    assert_eq!(log()?, after);
    // The one rollback is all that stands against the edit.
    let back = Client::roll_back(&address, &keeper, &of(after[0].number))?;
    assert_eq!((back.edits, back.cells), (1, first.cells));
    settle(&mut ada, |client| material(client, [0, 12, 0]) == Some(17))?;
    Ok(server.stop()?)
}

#[test]
fn requests_that_are_invalid_or_not_allowed_are_refused_with_a_reason() -> Outcome {
    let folder = Folder::new("refused");
    let server = serve(&folder.0, tokens())?;
    let keeper = "Authorization: Bearer keeper's word\r\n";
    for (line, headers, status, reason) in [
        ("GET /journal", keeper, 200, ""),
        ("GET /journal/waves?limit=5", keeper, 200, ""),
        ("POST /rollback?author=eve", keeper, 200, "edits 0\ncells 0\n"),
        ("GET /journal", "", 403, "token is needed"),
        ("GET /journal", "Authorization: Bearer a word\r\n", 403, "not for administering"),
        ("GET /journal/caves", keeper, 404, "no world"),
        ("GET /journal?since=yesterday", keeper, 400, "Unix time"),
        ("GET /journal?who=ada", keeper, 400, "who is unknown"),
        ("POST /rollback", keeper, 400, "say what"),
        ("POST /rollback?", keeper, 400, "say what"),
        ("POST /rollback?author=ada&limit=4", keeper, 400, "no limit"),
        ("POST /rollback?in=0,0,0,1,1", keeper, 400, "two corners"),
        ("GET /rollback?author=ada", keeper, 405, ""),
        ("POST /rollback?author=ada", "", 403, "is needed"),
        ("POST /rollback?author=ada", "Origin: https://evil.example\r\n", 403, "may not use"),
        ("GET /journal", "X-Forwarded-For: 192.0.2.7\r\n", 403, "machine of the server"),
    ] {
        let text = request(&server, line, headers)?;
        let is_right = text.starts_with(&format!("HTTP/1.1 {status} ")) && text.contains(reason);
        assert!(is_right, "{line} {headers}: {text}");
    }
    Ok(server.stop()?)
}

#[test]
fn without_tokens_only_loopback_names_may_read_the_log() -> Outcome {
    let folder = Folder::new("rebinding");
    let server = serve(&folder.0, AccessList::default())?;
    edit(&server, "", &EditOp::dig_ball([0.0; 3], 3.0))?;
    let text = request(&server, "GET /journal", "")?;
    assert!(text.contains("\t127.0.0.1\t-3,-3,-3,3,2,3\t"), "{text}");
    let mut stream = TcpStream::connect(server.http_address())?;
    stream.write_all(b"GET /journal HTTP/1.1\r\nHost: evil.example\r\n\r\n")?;
    let mut text = String::new();
    stream.read_to_string(&mut text)?;
    assert!(text.starts_with("HTTP/1.1 403") && !text.contains("127.0.0.1\t"), "{text}");
    Ok(server.stop()?)
}

#[test]
fn a_guest_is_told_when_its_edit_is_saved_slow() -> Outcome {
    let folder = Folder::new("saved");
    let server = serve(&folder.0, AccessList::default())?;
    let mut client = Client::connect(&address(&server), with(""))?;
    settle(&mut client, |_| true)?;
    // One that changes nothing, after which nothing is to be saved, too.
    for at in [[0.0; 3], [0.0, 400.0, 0.0]] {
        let number = client.guest().edit(&EditOp::dig_ball(at, 3.0))?;
        let start = Instant::now();
        let is_saved = |event| matches!(event, GuestEvent::Saved { last, .. } if last >= number);
        loop {
            client.poll(waves)?;
            if client.guest().events().any(is_saved) {
                break;
            }
            assert!(start.elapsed() < PATIENCE, "it was not saved within minutes");
            std::thread::yield_now();
        }
    }
    // What is in the file now is what a server that is killed leaves.
    assert!(request(&server, "GET /metrics", "")?.contains("edits_saved_total{world=\"waves\"} 2"));
    Ok(server.stop()?)
}

#[test]
fn a_rollback_that_runs_is_cancelled_and_takes_back_what_it_restored_slow() -> Outcome {
    let folder = Folder::new("cancelled");
    let server = serve(&folder.0, tokens())?;
    let (keeper, here) = (with("keeper's word"), address(&server));
    let built = EditOp::fill_ball(17, [0.0, 10.0, 0.0], 14.0);
    edit(&server, "ada's word", &built)?;
    edit(&server, "a word", &EditOp::dig_ball([0.0, 10.0, 0.0], 4.0))?;
    let error = Client::cancel_rollback(&here, &keeper).expect_err("none runs");
    assert!(error.to_string().contains("no rollback"), "{error}");
    let log = |client: &ClientOptions| Client::journal(&here, client, &JournalQuery::default());
    let before = log(&keeper)?;
    assert!(before.iter().all(|edit| edit.kind == "edit"), "{before:?}");
    // One of the two is first; either way the world is one that the other order gives, too.
    let ada = JournalQuery { authors: vec!["ada".into()], ..JournalQuery::default() };
    let rolled_back = std::thread::scope(|scope| {
        let rolls_back = scope.spawn(|| Client::roll_back(&here, &keeper, &ada));
        let mut cancelled = Client::cancel_rollback(&here, &keeper);
        for _ in 0..1000 {
            if cancelled.is_ok() || rolls_back.is_finished() {
                break;
            }
            cancelled = Client::cancel_rollback(&here, &keeper);
        }
        let done = rolls_back.join().expect("it does not panic")?;
        assert_eq!(cancelled.is_ok(), done.is_cancelled, "{cancelled:?} {done:?}");
        Ok::<_, terravox_server::ClientError>(done)
    })?;
    let number = log(&keeper)?.iter().find(|edit| edit.kind == "rollback").map(|edit| edit.number);
    if !rolled_back.is_cancelled {
        let again = JournalQuery { number, ..JournalQuery::default() };
        assert_eq!(Client::roll_back(&here, &keeper, &again)?.cells, rolled_back.cells);
    }
    server.stop()?;
    let after = expected(&[&built, &EditOp::dig_ball([0.0, 10.0, 0.0], 4.0)]);
    assert_eq!(stored(&folder.0)?.digest()?, after.digest()?);
    Ok(())
}
