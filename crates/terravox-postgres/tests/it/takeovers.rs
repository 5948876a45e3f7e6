//! A writer, in a process of its own, that stands still or whose network fails until another one
//! has taken what it writes. Counts what it still wrote when it came back.

use super::proxy::{Network, Proxy};
use super::server::Server;
use std::io::{BufRead, BufReader};
use std::process::{Child, ChildStdout, Command};
use std::thread;
use std::time::{Duration, Instant};
use terravox::edit::{EditOp, Editor};
use terravox::terrain::UnsavedChanges;
use terravox::voxel::VoxelGrid;
use terravox_postgres::{Postgres, PostgresOptions, WorldShare};
use terravox_store::{Column, ColumnLeases, Store, StoreError, WorldInfo};

/// After this long, something hangs.
const PATIENCE: Duration = Duration::from_secs(60);

/// Short, as each takeover waits for the end of one; long enough to be renewed on a busy machine.
const LEASE: Duration = Duration::from_millis(400);

/// The longest time that a writer writes before it fails.
const MAX_WRITING_US: u64 = 90_000;

/// The column that is written, of a world that is shared.
const HOME: Column = Column { x: 0, z: 0 };

/// How a writer fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failure {
    /// Its process stands still.
    Stopped,
    /// What it and the database send arrives late.
    Stalled,
    /// Its connections break, and it gets no new ones.
    CutOff,
}

/// All kinds.
const FAILURES: [Failure; 3] = [Failure::Stopped, Failure::Stalled, Failure::CutOff];

/// What is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Written {
    /// A world that has one writer.
    World,
    /// A column of a world that several share.
    Column,
}

/// What came of takeovers.
#[derive(Debug, Default)]
pub struct TakeoverCounts {
    pub takeovers: u64,
    /// Takeovers after which the old writer changed something.
    pub stale_writes: u64,
    /// Takeovers after which a state was missing that the old writer had saved.
    pub lost: u64,
    /// States that were saved.
    pub saved: u64,
}

fn options() -> PostgresOptions {
    let answer_time = Duration::from_secs(2);
    PostgresOptions { lease: LEASE, answer_time, ..PostgresOptions::default() }
}

impl Written {
    fn name(self) -> &'static str {
        match self {
            Written::World => "world",
            Written::Column => "column",
        }
    }

    /// The name of the state that is saved last.
    fn state_name(self) -> String {
        match self {
            Written::World => "state".to_owned(),
            Written::Column => HOME.data_name("state"),
        }
    }

    /// Waits until no other program writes it, and takes it.
    fn take(self, address: &str, name: &str) -> (Store, Option<WorldShare>) {
        let begin = Instant::now();
        let share = match self {
            Written::World => None,
            Written::Column => {
                Some(Postgres::share(address, &options(), name).unwrap_or_else(fails))
            }
        };
        if let Some((store, share)) = share {
            while share.claim(&[HOME]).unwrap_or_else(fails).is_empty() {
                assert!(begin.elapsed() < PATIENCE, "the column is never free");
                thread::sleep(LEASE / 40);
            }
            return (store, Some(share));
        }
        loop {
            match Postgres::open(address, &options()) {
                Ok(store) => return (store, None),
                Err(StoreError::InUse { .. }) => thread::sleep(LEASE / 40),
                Err(error) => fails(error),
            }
            assert!(begin.elapsed() < PATIENCE, "the world is never free");
        }
    }
}

fn fails<T>(error: impl std::fmt::Display) -> T {
    panic!("{error}")
}

fn state_of(store: &Store, written: Written) -> u64 {
    let bytes = store.extra(&written.state_name()).unwrap_or_else(fails).unwrap_or_default();
    bytes.try_into().map_or(0, u64::from_le_bytes)
}

/// Not a test, but what the process of a writer does: saves until that fails, and prints the number
/// of each state that was saved, and how it ended.
pub fn write_until_that_fails(address: &str, written: &str, first: u64) {
    let written = if written == "world" { Written::World } else { Written::Column };
    let (store, share) = written.take(address, &format!("writer-{first}:1"));
    let (mut grid, mut editor) = (VoxelGrid::default(), Editor::default());
    for state in first.. {
        let [x, y, z] = [3, 5, 7].map(|step| (30 + state * step % 60) as f64);
        let op = match state % 2 {
            0 => EditOp::fill_ball(3, [x, y, z], 6.0),
            _ => EditOp::dig_ball([x, y, z], 5.0),
        };
        editor.apply(&mut grid, &op, None).unwrap_or_else(|error| panic!("{error}"));
        let unsaved = UnsavedChanges::from(grid.unsaved());
        let unsaved = unsaved.with_data(written.state_name(), state.to_le_bytes());
        match store.save(&unsaved, |_| {}) {
            Ok(_) => println!("SAID {state}"),
            Err(error) => {
                let is_fenced = matches!(error, StoreError::Fenced { .. });
                println!("SAID {} {error}", if is_fenced { "fenced" } else { "failed" });
                break;
            }
        }
        grid.mark_saved(&unsaved.chunks);
    }
    // It never comes back.
    let late = store.set_extra(&written.state_name(), Some(b"late"));
    assert!(matches!(late, Err(StoreError::Fenced { .. })), "{late:?}");
    drop((store, share));
}

/// The process of a writer.
struct Writer {
    child: Child,
    lines: BufReader<ChildStdout>,
}

impl Writer {
    fn new(mut child: Child) -> Writer {
        let stdout = child.stdout.take().unwrap_or_else(|| unreachable!("it is piped"));
        Writer { child, lines: BufReader::new(stdout) }
    }

    /// What it says next.
    fn next(&mut self) -> Option<String> {
        let mut line = String::new();
        while self.lines.read_line(&mut line).unwrap_or(0) > 0 {
            // The harness of tests may have begun the line.
            if let Some((_, said)) = line.split_once("SAID ") {
                return Some(said.trim().to_owned());
            }
            line.clear();
        }
        None
    }

    fn signal(&self, signal: &str) {
        let sent = Command::new("kill").args([signal, &self.child.id().to_string()]).status();
        assert!(sent.is_ok_and(|status| status.success()), "kill {signal}");
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Takes a world, or a column, from one writer after the other, each of which fails in one of the
/// ways. `start` starts the process of a writer, which calls [`write_until_that_fails`] with an
/// address, a name of what is written, and a number.
pub fn run(
    server: &Server,
    written: Written,
    takeovers: u64,
    start: impl Fn(&str, &str, u64) -> Child,
) -> TakeoverCounts {
    let world = format!("taken-{}", written.name());
    let address = server.address(&world);
    drop(Postgres::create(&address, &WorldInfo::default(), &options()).unwrap_or_else(fails));
    let proxy = Proxy::start(server.port());
    let through = server.address_at(proxy.port, &world);
    // All that is stored of the world, and of its log.
    let digest = format!(
        "select count(*), md5(string_agg(md5(key || value) || hash, ',' order by key)),
            (select count(*) || ' ' || sum(seq) || ' ' || max(epoch) from terravox_log
                where world = (select id from terravox_worlds where name = '{world}'))
        from terravox_records where world = (select id from terravox_worlds where name = '{world}')"
    );
    let mut counts = TakeoverCounts::default();
    for takeover in 1..=takeovers {
        let failure = FAILURES[takeover as usize % FAILURES.len()];
        let first = takeover << 32;
        let mut writer = Writer::new(start(&through, written.name(), first));
        let Some(mut last) = writer.next().and_then(|said| said.parse::<u64>().ok()) else {
            panic!("takeover {takeover}: the writer saves nothing")
        };
        thread::sleep(Duration::from_micros(takeover * 7919 % MAX_WRITING_US));
        fail(failure, &writer, &proxy);
        let (store, share) = written.take(&address, &format!("taker-{takeover}:1"));
        store
            .set_extra(&HOME.data_name("taker"), Some(&takeover.to_le_bytes()))
            .unwrap_or_else(fails);
        let (state, before) = (state_of(&store, written), server.sql(&digest));
        come_back(failure, &writer, &proxy);
        let mut end = String::new();
        while let Some(said) = writer.next() {
            match said.parse() {
                Ok(number) => last = number,
                Err(_) => end = said,
            }
        }
        let status = writer.child.wait().unwrap_or_else(|error| panic!("{error}"));
        assert!(end.starts_with("fenced") && status.success(), "{failure:?}: {end}");
        counts.takeovers += 1;
        counts.saved += last - first + 1;
        counts.lost += u64::from(state < last);
        counts.stale_writes += u64::from(server.sql(&digest) != before);
        drop((store, share));
    }
    counts
}

fn fail(failure: Failure, writer: &Writer, proxy: &Proxy) {
    match failure {
        Failure::Stopped => writer.signal("-STOP"),
        Failure::Stalled => proxy.set(Network::Stalled),
        Failure::CutOff => proxy.set(Network::Down),
    }
}

fn come_back(failure: Failure, writer: &Writer, proxy: &Proxy) {
    match failure {
        Failure::Stopped => writer.signal("-CONT"),
        Failure::Stalled | Failure::CutOff => proxy.set(Network::Up),
    }
}
