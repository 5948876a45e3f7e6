//! `serve` whose log is not read, and what signals leave behind.

use crate::Folder;
use crate::online::join;
use crate::ports::free_port;
use std::io::{BufRead, BufReader, PipeReader, PipeWriter, Read, Write, pipe};
use std::net::TcpStream;
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};
use terravox_store::Store;

/// A server in a process of its own, killed at the end, and its log.
struct Logged {
    child: Child,
    address: String,
    log: BufReader<PipeReader>,
    /// Another end of the log.
    writer: PipeWriter,
}

/// Serves `hills:7` until it has told where it is.
fn serve(folder: &Folder, level: &str) -> Logged {
    let (reader, writer) = pipe().expect("a pipe");
    let port = free_port();
    let mut command = Command::new(env!("CARGO_BIN_EXE_terravox"));
    command
        .args(["serve", "hills:7", "--json", "--log", level, "--port", &port.to_string()])
        .current_dir(&folder.0)
        .stdout(Stdio::piped())
        .stderr(writer.try_clone().expect("a pipe"));
    let child = command.spawn().expect("the program starts");
    let mut log = BufReader::new(reader);
    let mut told = String::new();
    while !told.contains("Ctrl-C") {
        assert_ne!(log.read_line(&mut told).expect("text"), 0, "it ended: {told}");
    }
    Logged { child, address: format!("ws://127.0.0.1:{port}"), log, writer }
}

fn terminate(child: &Child) {
    let id = child.id().to_string();
    assert!(Command::new("kill").args(["-TERM", &id]).status().expect("kill runs").success());
}

/// Waits for the end, of which there is one report on standard output.
fn assert_ends_well(child: &mut Child) {
    let mut report = String::new();
    child.stdout.take().expect("standard output").read_to_string(&mut report).expect("text");
    assert!(child.wait().expect("it ends").success(), "{report}");
    let report: serde_json::Value = serde_json::from_str(&report).expect("a JSON object");
    assert_eq!(report["command"], "serve");
}

/// Edits as a guest that leaves again.
fn dig(folder: &Folder, address: &str) {
    let view = ["--camera", "0,60,0", "--distance", "100", "--detail", "1"];
    let joined =
        join(folder, address, &[&view[..], &["--dig", "0,40,0", "--radius", "30"]].concat());
    assert_eq!(joined["confirmed"], 1, "{joined}");
}

fn assert_saved(folder: &Folder) {
    let store = Store::open(folder.path("hills-7.tvx")).expect("whole");
    assert!(!store.chunks().expect("its chunks").is_empty(), "the dig is lost");
}

impl Drop for Logged {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn a_server_whose_log_is_closed_serves_and_saves_as_before_slow() {
    let folder = Folder::new();
    let mut served = serve(&folder, "debug");
    let (reader, writer) = pipe().expect("a pipe");
    // Now a line of the log is an error.
    (served.log, served.writer) = (BufReader::new(reader), writer);
    let address = served.address.clone();
    dig(&folder, &address);
    dig(&folder, &address);
    terminate(&served.child);
    assert_ends_well(&mut served.child);
    assert_saved(&folder);
}

#[test]
fn a_server_whose_log_is_not_read_serves_and_ends_as_before_slow() {
    let folder = Folder::new();
    let mut served = serve(&folder, "debug");
    let mut writer = served.writer.try_clone().expect("a pipe");
    // Until the pipe is full, then for ever, until there is no reader.
    let filling = thread::spawn(move || while writer.write_all(&[b'\n'; 512]).is_ok() {});
    let address = served.address.clone();
    dig(&folder, &address);
    terminate(&served.child);
    assert_ends_well(&mut served.child);
    assert_saved(&folder);
    drop(served);
    filling.join().expect("no panic");
}

#[test]
fn strangers_that_come_and_go_leave_nothing_in_the_log_slow() {
    let folder = Folder::new();
    let mut served = serve(&folder, "debug");
    let mut stranger = TcpStream::connect(&served.address["ws://".len()..]).expect("a connection");
    let request = b"GET /link HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\n\
        Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\n\
        Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n";
    stranger.write_all(request).expect("a request");
    let mut answer = String::new();
    BufReader::new(&stranger).read_line(&mut answer).expect("an answer");
    assert!(answer.contains("101"), "{answer}");
    drop(stranger);
    let leaving = |served: &mut Logged| loop {
        let mut line = String::new();
        assert_ne!(served.log.read_line(&mut line).expect("text"), 0, "it ended");
        if line.contains(" left") {
            break line;
        }
    };
    let line = leaving(&mut served);
    assert!(line.contains("DEBUG left before it was let in"), "{line}");
    let address = served.address.clone();
    dig(&folder, &address);
    let line = leaving(&mut served);
    assert!(line.contains("INFO left"), "{line}");
}

#[test]
fn an_import_of_serve_that_is_stopped_leaves_no_file_slow() {
    let folder = Folder::new();
    // So large that the import takes seconds.
    let side = 3072;
    let path = folder.path("dem.png");
    let mut encoder = png::Encoder::new(std::fs::File::create(&path).expect("a file"), side, side);
    encoder.set_color(png::ColorType::Grayscale);
    let pixels: Vec<u8> =
        (0..side * side).map(|at| (at % side / 8 + at / side / 8) as u8).collect();
    encoder.write_header().expect("a picture").write_image_data(&pixels).expect("a picture");
    let mut command = Command::new(env!("CARGO_BIN_EXE_terravox"));
    command.args(["serve", "dem.png", "--port", "0"]).current_dir(&folder.0);
    let mut child = command.stderr(Stdio::null()).spawn().expect("the program starts");
    let start = Instant::now();
    while !folder.listing().iter().any(|(name, _)| name.ends_with(".partial")) {
        assert!(start.elapsed() < Duration::from_secs(60), "{:?}", folder.listing());
        assert_eq!(child.try_wait().expect("a child"), None, "{:?}", folder.listing());
        thread::yield_now();
    }
    terminate(&child);
    assert_eq!(child.wait().expect("it ends").signal(), Some(15));
    let names: Vec<String> = folder.listing().into_iter().map(|(name, _)| name).collect();
    assert_eq!(names, ["dem.png"]);
}
