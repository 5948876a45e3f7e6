//! `serve` and `join`, over loopback, with real processes that are really killed.

use crate::ports::free_port;
use crate::{Folder, text};
use serde_json::Value;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};
use terravox::edit::EditOp;
use terravox::generate::Hills;
use terravox::replicate::{GuestEvent, Interest};
use terravox::terrain::FillRequest;
use terravox::voxel::{DenseBox, VoxelPos};
use terravox_server::{Client, ClientOptions, ServedWorld, Server, ServerOptions, WorldAddress};
use terravox_store::Store;

/// A server in a process of its own, killed at the end.
pub struct Served {
    child: Child,
    port: u16,
}

fn serve(folder: &Folder, world: &str, port: u16) -> Served {
    serve_with(folder, world, port, &[])
}

pub fn serve_with(folder: &Folder, world: &str, port: u16, more: &[&str]) -> Served {
    let mut command = Command::new(env!("CARGO_BIN_EXE_terravox"));
    let port_text = port.to_string();
    let arguments = ["serve", world, "--port", &port_text, "--log", "warn"];
    command
        .args(arguments)
        .args(more)
        .current_dir(&folder.0)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = command.spawn().expect("the program starts");
    let mut lines = BufReader::new(child.stderr.take().expect("standard error")).lines();
    let mut told = String::new();
    while !told.contains("Ctrl-C") {
        told += &lines.next().expect("it says where it is").expect("text");
    }
    assert!(told.contains(&format!("QUIC 127.0.0.1:{port}")), "{told}");
    let name = world.rsplit(['/', '#']).next().unwrap_or(world);
    let name = name.trim_end_matches(".tvx").replace(':', "-");
    assert!(told.contains(&format!("world {name}")), "{told}");
    // The rest is read, so that the server is never blocked.
    std::thread::spawn(move || lines.for_each(drop));
    Served { child, port }
}

impl Served {
    fn metric(&self, name: &str) -> u64 {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).expect("the server listens");
        let request = b"GET /metrics HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
        stream.write_all(request).expect("a request");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("an answer");
        let line = answer.lines().find(|line| line.starts_with(&format!("terravox_{name}{{")));
        let value = line.and_then(|line| line.rsplit(' ').next()).expect("the metric");
        value.parse().expect("a number")
    }

    fn wait_for(&self, name: &str, least: u64) {
        let start = Instant::now();
        while self.metric(name) < least {
            assert!(start.elapsed() < Duration::from_secs(60), "{name} stays below {least}");
            std::thread::yield_now();
        }
    }

    /// Ends it as Ctrl-C and service managers do; returns its report.
    pub fn terminate(mut self) -> String {
        let id = self.child.id().to_string();
        assert!(Command::new("kill").args(["-TERM", &id]).status().expect("kill runs").success());
        let mut report = String::new();
        let mut stdout = self.child.stdout.take().expect("standard output");
        stdout.read_to_string(&mut report).expect("text");
        assert!(self.child.wait().expect("it ends").success());
        report
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn start_join(folder: &Folder, address: &str, arguments: &[&str]) -> Child {
    let mut command = Command::new(env!("CARGO_BIN_EXE_terravox"));
    command.args(["join", address, "--json"]).args(arguments).current_dir(&folder.0);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command.spawn().expect("the program starts")
}

fn report(output: &Output) -> Value {
    assert!(output.status.success(), "{}{}", text(&output.stdout), text(&output.stderr));
    serde_json::from_slice(&output.stdout).expect("a JSON object")
}

pub fn join(folder: &Folder, address: &str, arguments: &[&str]) -> Value {
    let child = start_join(folder, address, arguments);
    report(&child.wait_with_output().expect("it ends"))
}

#[test]
fn two_join_and_dig_the_server_is_killed_and_started_again_and_all_are_equal_slow() {
    let folder = Folder::new();
    let port = free_port();
    let served = serve(&folder, "hills:7", port);
    let (quic, web) = (format!("localhost:{port}"), format!("ws://127.0.0.1:{port}/hills-7"));
    let view = ["--camera", "0,60,0", "--distance", "300", "--detail", "1"];
    let before = join(&folder, &quic, &view)["digest"].clone();
    let dig =
        |at, seconds| [&view[..], &["--dig", at, "--radius", "9", "--seconds", seconds]].concat();
    // They stay until the server runs again, also on a busy machine.
    let ada = start_join(&folder, &quic, &dig("0,40,0", "45"));
    let ben = start_join(&folder, &web, &dig("10,36,-20", "45"));
    served.wait_for("edits_saved_total", 2);
    drop(served);
    let served = serve(&folder, "hills:7", port);
    let [ada, ben] = [ada, ben].map(|child| report(&child.wait_with_output().expect("it ends")));
    let cid = join(&folder, &web, &view);
    assert!(ada["digest"] == ben["digest"] && ben["digest"] == cid["digest"], "{ada} {ben} {cid}");
    assert_ne!(cid["digest"], before);
    assert_eq!([&ada["reconnects"], &ben["reconnects"]], [1, 1]);
    assert_eq!([&ada["confirmed"], &ben["confirmed"]], [1, 1]);
    assert!(served.terminate().contains("everything"));
    let served = serve(&folder, "hills-7.tvx", port);
    assert_eq!(join(&folder, &quic, &view)["digest"], cid["digest"]);
    drop(served);
}

#[test]
fn a_picture_of_a_joined_world_is_that_of_its_file_slow() {
    let folder = Folder::new();
    folder.report(&["generate", "land.tvx", "--size", "128", "--seed", "3"]);
    let port = free_port();
    let served = serve(&folder, "land.tvx", port);
    let view = ["--camera", "0,90,20", "--yaw", "40", "--pitch", "-20", "--size", "160x96"];
    let levels = ["--distance", "300", "--detail", "1"];
    let edit = ["--edit", "fill Rock ball 0,60,-30 r=8"];
    let arguments = [&view[..], &levels, &edit, &["--render", "joined.png"]].concat();
    let joined = join(&folder, &format!("localhost:{port}"), &arguments);
    served.terminate();
    let file = ["render", "land.tvx", "file.png", "--lod"];
    folder.report(&[&file[..], &view, &levels].concat());
    assert!(crate::read(folder.path("joined.png")) == crate::read(folder.path("file.png")));
    // All of it was held at mip 0.
    let all = ["--camera", "0,40,0", "--distance", "160", "--detail", "4"];
    let served = serve(&folder, "land.tvx", port);
    let whole = join(&folder, &format!("ws://localhost:{port}"), &all);
    served.terminate();
    assert_eq!(whole["digest"], folder.report(&["info", "land.tvx"])["digest"], "{joined}");
}

#[test]
fn what_cannot_be_served_or_joined_is_refused_in_one_line() {
    let folder = Folder::new();
    folder.report(&["generate", "land.tvx", "--size", "32"]);
    folder.refused(&["serve", "none.tvx"], &["none.tvx", "cannot be read"]);
    folder.refused(&["serve", "land.tvx", "--address", "0.0.0.0"], &["--token"]);
    folder.refused(
        &["serve", "land.tvx", "--token", "word"],
        &["look:WORD, edit:WORD or administer:WORD"],
    );
    folder.refused(&["serve", "hills:x"], &["the seed is not an integer"]);
    // It leaves no hills-7.tvx.
    let words = ["hills:7", "is not in a database; servers share worlds in databases"];
    folder.refused(&["serve", "hills:7", "--share", "localhost:1"], &words);
    for (share, what) in [("45001", "no host"), ("localhost", "missing"), ("a:0", "port 0")] {
        folder.refused(&["serve", "land.tvx", "--share", share], &["--share", what]);
    }
    // The token is a word of the message.
    let words = ["not a number; see terravox join --help"];
    folder.refused(&["join", "localhost", "--token", "see", "--dig=1,,2"], &words);
    folder.refused(&["join", "http://localhost"], &["ws://HOST:PORT"]);
    let port = free_port();
    folder.refused(&["join", &format!("ws://127.0.0.1:{port}")], &["nothing listens there"]);
    let served = serve(&folder, "land.tvx", port);
    folder.refused(
        &["join", &format!("ws://127.0.0.1:{port}/other")],
        &["there is no world of this name"],
    );
    let wrong = "ab".repeat(32);
    folder
        .refused(&["join", &format!("127.0.0.1:{port}"), "--fingerprint", &wrong], &["ertificate"]);
    folder.put("tokens", b"# who may\nlook:a\nread:b\n");
    folder.refused(&["serve", "land.tvx", "--tokens", "tokens"], &["line 3"]);
    folder.refused(&["serve", "land.tvx", "--tokens", "no.txt"], &["no.txt", "check the name"]);
    drop(served);
    let served = serve_with(&folder, "land.tvx", port, &["--token", "edit:sek1:ada"]);
    let address = format!("127.0.0.1:{port}");
    folder.refused(
        &["join", &address],
        &[&address, "a token is needed here; give it with --token WORD"],
    );
    folder.refused(
        &["join", &address, "--token", "edit:sek1:ada"],
        &["not known here; give only the WORD of RIGHT:WORD[:NAME]"],
    );
    drop(served);
}

pub fn hills(request: &mut FillRequest<'_>) {
    let mip = request.mip();
    Hills::new(7).fill(request.cells(), mip);
}

/// Digs until the server is gone, one ball after the other; returns how many were confirmed.
fn dig_on(port: u16, from: u64, mut is_over: impl FnMut(u64) -> bool) -> Vec<u64> {
    let address: WorldAddress = format!("127.0.0.1:{port}").parse().expect("an address");
    let mut client = Client::connect(&address, ClientOptions::default()).expect("a connection");
    let (mut next, mut confirmed) = (from, Vec::new());
    let mut first = None;
    while client.poll(hills).is_ok() && !is_over(confirmed.len() as u64) {
        let guest = client.guest();
        for event in guest.events() {
            match event {
                GuestEvent::Welcome { .. } => guest.start(true),
                GuestEvent::Confirmed { number, .. } => {
                    confirmed.push(from + number - *first.get_or_insert(number));
                }
                _ => {}
            }
        }
        let interest = Interest { view_voxels: 64.0, ..Interest::default() };
        guest.watch(&[[0.0, 60.0, 0.0]], &interest);
        if guest.is_complete() && guest.pending_edits() < 2 {
            let ball = EditOp::fill_ball(5, place(next).map(f64::from), 2.0);
            next += u64::from(guest.edit(&ball).is_ok());
        }
        std::thread::yield_now();
    }
    confirmed
}

/// Where a ball is, high in the air.
fn place(number: u64) -> [i32; 3] {
    let number = number as i32;
    [number % 20 * 8 - 80, 300 + number / 400 * 8, number / 20 % 20 * 8 - 80]
}

/// `TERRAVOX_KILLS=50` kills more often.
#[test]
fn nothing_that_was_saved_is_lost_when_the_server_is_killed_under_load_slow() {
    let kills: u64 = std::env::var("TERRAVOX_KILLS").map_or(3, |n| n.parse().expect("a number"));
    let folder = Folder::new();
    let port = free_port();
    let mut all: Vec<u64> = Vec::new();
    for kill in 0..kills {
        let mut served = serve(&folder, "hills:7", port);
        let from = 1 + all.last().copied().unwrap_or(0) + 16;
        let mut saved = 0;
        // Just before, during and after the second save.
        let begin = Instant::now();
        let confirmed = dig_on(port, from, |_| {
            let now = served.metric("edits_saved_total");
            saved = saved.max(now);
            let is_due = begin.elapsed() > Duration::from_millis(2100 + kill * 37 % 400);
            if is_due && saved > 0 {
                served.child.kill().expect("killed");
                served.child.wait().expect("gone");
            }
            is_due && saved > 0
        });
        assert!(saved > 0 && saved <= 1 + confirmed.len() as u64 + 2);
        all.extend(confirmed.iter().take(saved as usize));
        let store = Store::open(folder.path("hills-7.tvx")).expect("whole");
        let mut cells = DenseBox::default();
        for &number in &all {
            let pos = VoxelPos::from(place(number));
            let chunk = pos.chunk();
            let is_there = store.block(chunk.into(), &mut cells).expect("whole");
            assert!(
                is_there && cells.cell(pos).material == 5,
                "kill {kill}: ball {number} is lost"
            );
        }
        assert_eq!(store.verify().expect("whole").bad, []);
    }
    println!("{} saved edits after {kills} kills, none lost", all.len());
}

#[test]
fn a_served_world_is_backed_up_by_command_slow() {
    let folder = Folder::new();
    let served = serve(&folder, "hills:3", free_port());
    let address = format!("localhost:{}", served.port);
    let view = ["--camera", "0,60,0", "--distance", "200", "--detail", "1"];
    join(&folder, &address, &[&view[..], &["--dig", "0,40,0", "--radius", "30"]].concat());
    let backup = |address: &str| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_terravox"));
        command.args(["backup", address, "--json"]).current_dir(&folder.0);
        command.output().expect("the program runs")
    };
    let copy = report(&backup(&address))["copy"].as_str().expect("a path").to_owned();
    served.terminate();
    // The copy is a world of its own, with the dig.
    let [copy, world] = [copy.as_str(), "hills-3.tvx"].map(|name| {
        let store = Store::open(folder.0.join(name)).expect("a world");
        store.chunks().expect("its chunks")
    });
    assert!(!copy.is_empty() && copy == world);
    let refused = backup(&address);
    assert!(!refused.status.success() && text(&refused.stdout).contains("\"exit_code\":2"));
}

#[test]
fn who_dug_is_logged_over_a_kill_and_rolled_back_by_command_slow() {
    let folder = Folder::new();
    let port = free_port();
    let served = serve(&folder, "hills:3", port);
    let address = format!("localhost:{port}");
    let view = ["--camera", "0,60,0", "--distance", "200", "--detail", "1"];
    let before = join(&folder, &address, &view)["digest"].clone();
    join(&folder, &address, &[&view[..], &["--dig", "0,40,0", "--radius", "30"]].concat());
    served.wait_for("edits_saved_total", 1);
    drop(served);

    let served = serve(&folder, "hills-3.tvx", port);
    let log = |more: &[&str]| folder.report(&[&["journal", &address], more].concat());
    let edits = log(&[])["edits"].clone();
    assert_eq!(edits.as_array().map(Vec::len), Some(1), "{edits}");
    assert_eq!(edits[0]["author"], "127.0.0.1");
    assert!(edits[0]["cells"].as_u64() > Some(1000), "{edits}");
    assert_eq!(log(&["--author", "ada"])["edits"], Value::Array(vec![]));
    assert_eq!(
        log(&["--in", "-90,0,-90,-80,90,90", "--since", "1h"])["edits"],
        Value::Array(vec![])
    );
    folder.refused(&["rollback", &address], &["--author, --since"]);
    folder.refused(&["rollback", &address, "--since", "soon"], &["90s, 10m, 2h"]);
    folder.refused(&["journal", &format!("{address}/caves")], &["no world of this name"]);
    folder.refused(&["journal", &address, "--in", "0,0,0,0,0,0"], &["lowest corner first"]);

    let author = ["rollback", &address, "--author", "127.0.0.1", "--since", "1h"];
    let done = folder.report(&author);
    assert_eq!((&done["edits"], &done["cells"]), (&1.into(), &edits[0]["cells"]));
    assert_eq!(join(&folder, &address, &view)["digest"], before);
    assert!(log(&["--limit", "1"])["edits"][0]["number"].as_u64() >= Some(2));
    let mut command = Command::new(env!("CARGO_BIN_EXE_terravox"));
    let lines = text(&command.args(["journal", &address]).output().expect("it runs").stdout);
    let lines = Vec::from_iter(lines.lines());
    assert!(
        lines.len() >= 2 && lines[lines.len() - 1].contains("  127.0.0.1  edit  -"),
        "{lines:?}"
    );
    assert!(served.terminate().contains("everything"));
}

#[test]
fn a_port_where_nothing_listens_is_said_at_once_in_one_line() {
    let folder = Folder::new();
    let port = free_port();
    let address = format!("127.0.0.1:{port}");
    let command = format!("terravox serve WORLD --port {port}");
    for arguments in [
        &["journal", &address][..],
        &["rollback", &address, "--since", "1h"],
        &["backup", &address],
        &["join", &address],
        &["join", &format!("ws://{address}")],
    ] {
        let start = Instant::now();
        let told = folder.refused(arguments, &["nothing listens there", &command]);
        assert_eq!(told.trim_end().lines().count(), 1, "{told}");
        // QUIC alone would wait for 10 s.
        assert!(start.elapsed() < Duration::from_secs(8), "{arguments:?}: {:?}", start.elapsed());
    }
}

#[test]
fn a_guest_whose_server_is_gone_is_told_what_became_of_its_edits_slow() {
    let folder = Folder::new();
    let port = free_port();
    let served = serve(&folder, "hills:7", port);
    let address = format!("ws://127.0.0.1:{port}");
    let view = ["--camera", "0,60,0", "--distance", "200", "--detail", "1"];
    let dig = ["--dig", "0,40,0", "--radius", "9", "--seconds", "6"];
    let guest = start_join(&folder, &address, &[&view[..], &dig].concat());
    served.wait_for("edits_saved_total", 1);
    // Its reply is on the way.
    std::thread::sleep(Duration::from_secs(1));
    drop(served);
    let output = guest.wait_with_output().expect("it ends");
    assert_eq!(output.status.code(), Some(3), "a world is changed");
    let told: Value = serde_json::from_slice(&output.stdout).expect("a JSON object");
    assert_eq!((&told["confirmed"], &told["refused"]), (&1.into(), &0.into()), "{told}");
    assert!(told["unsaved"].is_u64(), "{told}");
    let line = told["error"].as_str().expect("a line");
    assert!(line.contains("the server was not reached again"), "{line}");
    assert!(line.contains("nothing listens there; 1 of 1 operations confirmed"), "{line}");
    assert!(!line.contains("terravox serve"), "that is for who runs the server: {line}");
}

#[test]
fn a_server_that_says_much_and_sends_nothing_that_is_wanted_is_left_after_the_timeout_slow() {
    let folder = Folder::new();
    let generator = terravox_store::Generator { name: "no one's".into(), ..Default::default() };
    let info = terravox_store::WorldInfo::growing(Default::default(), generator);
    let path = folder.0.join("empty.tvx");
    let store =
        Store::create(path, &info, terravox_store::Overwrite::No).unwrap().finish().unwrap();
    let world = ServedWorld {
        name: "empty".into(),
        store,
        generate: Some(std::sync::Arc::new(|request: &mut FillRequest<'_>| request.set_missing())),
        protected: vec![],
        decide: None,
        share: None,
    };
    let options =
        ServerOptions { port: 0, certificate_folder: folder.0.clone(), ..ServerOptions::default() };
    let server = Server::start(vec![world], options).unwrap();
    let address = server.quic_address().to_string();
    // Others move, so that bytes come.
    let mut other = Client::connect(&address.parse().unwrap(), ClientOptions::default()).unwrap();
    let mut join = start_join(&folder, &address, &["--timeout", "2"]);
    let mut step = 0.0;
    while join.try_wait().unwrap().is_none() {
        other.poll(|request| request.set_missing()).unwrap();
        let is_let_in = other.guest().events().any(|e| matches!(e, GuestEvent::Welcome { .. }));
        if is_let_in {
            other.guest().start(false);
        }
        step += 0.01;
        let pose = terravox::bodies::BodyPose {
            position_voxels: [step, 40.0, 0.0],
            rotation: [0.0, 0.0, 0.0, 1.0],
        };
        other.guest().set_avatar(&pose, b"other");
        std::thread::yield_now();
    }
    let output = join.wait_with_output().unwrap();
    let said = text(&output.stdout) + &text(&output.stderr);
    assert!(said.contains("waited for all that is seen for 2 s; give more time"), "{said}");
}
