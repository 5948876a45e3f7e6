//! A writer that fails in any way writes nothing once another one has taken over.

use crate::server::Server;
use crate::takeovers::{self, Written};
use std::process::{Child, Command, Stdio};

/// Where the process of a writer finds its world.
const CHILD: &str = "TERRAVOX_STALE_CHILD";

/// Takeovers of each kind: two of each failure. `terravox-bench cluster --full` makes 1,000.
const TAKEOVERS: u64 = 6;

fn start(address: &str, written: &str, first: u64) -> Child {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "stale::a_child_writes_until_that_fails", "--nocapture"]);
    command.env(CHILD, format!("{written} {first} {address}")).stdout(Stdio::piped());
    command.spawn().unwrap()
}

/// Not a test, but the program that [`start`] runs.
#[test]
fn a_child_writes_until_that_fails() {
    let Ok(asked) = std::env::var(CHILD) else { return };
    let [written, first, address] = asked.splitn(3, ' ').collect::<Vec<_>>()[..] else { return };
    takeovers::write_until_that_fails(address, written, first.parse().unwrap());
}

#[test]
fn a_writer_that_stood_still_or_was_cut_off_writes_nothing_when_it_is_back_slow() {
    let Some(server) = Server::start("stale-writers") else { return };
    let server = server.run();
    for written in [Written::World, Written::Column] {
        let counts = takeovers::run(&server, written, TAKEOVERS, start);
        eprintln!("{written:?}: {counts:?}");
        assert_eq!((counts.stale_writes, counts.lost), (0, 0));
        assert_eq!(counts.takeovers, TAKEOVERS);
        assert!(counts.saved >= TAKEOVERS);
    }
}
