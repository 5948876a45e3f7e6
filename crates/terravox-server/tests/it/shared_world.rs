//! Servers that share a world, over records in memory: what one of them meets that is damaged, or
//! that panics.

use crate::watched_records::{RecordsCall, WatchedRecords};
use crate::waves::{Folder, options, quic, waves};
use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use terravox::edit::{Action, BrushOp, EditOp};
use terravox::replicate::{GuestEvent, Interest, Verdict};
use terravox::terrain::Placement;
use terravox::voxel::{Region, VoxelPos};
use terravox_server::{
    Client, ClientOptions, Decide, JournalQuery, ServedWorld, Server, ServerOptions,
};
use terravox_store::{
    Column, ColumnChanges, ColumnLeases, ColumnOwner, Generator, MemoryRecords, Store, WorldInfo,
};

const PATIENCE: Duration = Duration::from_secs(60);

/// The column that guests edit, and those beside it at x = 0 and at z = 0.
const HOME: Column = Column { x: 0, z: 0 };
const WEST: Column = Column { x: -1, z: 0 };
const NORTH: Column = Column { x: 0, z: -1 };

/// What guests fill with; and at which the rules of a game panic.
const MATERIAL: u8 = 17;
const PANICS: u8 = 66;

/// A world, and which server has which column of it.
struct Shared {
    records: Arc<MemoryRecords>,
    owners: Arc<Mutex<BTreeMap<Column, String>>>,
    folder: Folder,
}

struct Leases {
    server: String,
    owners: Arc<Mutex<BTreeMap<Column, String>>>,
}

impl ColumnLeases for Leases {
    fn claim(&self, columns: &[Column]) -> io::Result<Vec<Column>> {
        let mut owners = self.owners.lock().unwrap();
        let is_free = |column: &&Column| owners.get(column).is_none_or(|own| *own == self.server);
        let free: Vec<Column> = columns.iter().filter(is_free).copied().collect();
        owners.extend(free.iter().map(|column| (*column, self.server.clone())));
        Ok(free)
    }

    fn release(&self, columns: &[Column]) -> io::Result<()> {
        let mut owners = self.owners.lock().unwrap();
        owners.retain(|column, server| *server != self.server || !columns.contains(column));
        Ok(())
    }

    fn owners(&self) -> io::Result<Vec<ColumnOwner>> {
        let owners = self.owners.lock().unwrap();
        let owner = |(&column, server): (&Column, &String)| ColumnOwner {
            column,
            server: server.clone(),
            epoch: 1,
            is_alive: true,
            is_own: *server == self.server,
        };
        Ok(owners.iter().map(owner).collect())
    }

    fn owners_of(&self, columns: &[Column]) -> io::Result<Vec<ColumnOwner>> {
        let is_one = |owner: &ColumnOwner| columns.contains(&owner.column);
        Ok(self.owners()?.into_iter().filter(is_one).collect())
    }

    /// It says that something was saved everywhere.
    fn changes(&self, watched: &[Column]) -> io::Result<ColumnChanges> {
        Ok(ColumnChanges { columns: watched.to_vec(), chunks: Vec::new() })
    }
}

impl Shared {
    fn new(name: &str) -> Shared {
        let generator = Generator { name: "waves".into(), version: 1, ..Generator::default() };
        let info = WorldInfo::growing(Placement::default(), generator);
        let records = Arc::new(MemoryRecords::default());
        drop(Store::create_records(records.clone(), "waves", &info).unwrap());
        Shared { records, owners: Arc::default(), folder: Folder::new(name) }
    }

    fn open(&self) -> Store {
        Store::open_records(self.records.clone(), "waves").unwrap()
    }

    fn serve(&self, server: &str, decide: Option<Decide>) -> Server {
        let world = ServedWorld { decide, ..self.served(server, self.open()) };
        Server::start(vec![world], options(&self.folder.0)).unwrap()
    }

    fn served(&self, server: &str, store: Store) -> ServedWorld {
        let leases = Leases { server: server.to_owned(), owners: self.owners.clone() };
        ServedWorld {
            name: "waves".into(),
            store,
            generate: Some(Arc::new(waves)),
            protected: vec![],
            decide: None,
            share: Some(Box::new(leases)),
        }
    }

    fn give(&self, column: Column, server: &str) {
        self.owners.lock().unwrap().insert(column, server.to_owned());
    }

    fn owner(&self, column: Column) -> Option<String> {
        self.owners.lock().unwrap().get(&column).cloned()
    }

    /// The material that is stored at a voxel; `None` if nothing is stored there.
    fn stored(&self, voxel: [i32; 3]) -> Option<u8> {
        let (grid, pos) = (self.open().load().unwrap().grid, VoxelPos::from(voxel));
        let mut cells = terravox::voxel::DenseBox::default();
        grid.read(Region::new(voxel, voxel.map(|v| v + 1)), 0, &mut cells).ok()?;
        Some(cells.cell(pos).material)
    }
}

/// A guest that keeps what it is told.
struct Player {
    client: Client,
    refused: BTreeMap<u64, String>,
    saved: u64,
    confirmed: u64,
}

impl Player {
    fn new(server: &Server) -> Player {
        let client = Client::connect(&quic(server), ClientOptions::default()).unwrap();
        let mut player = Player { client, refused: BTreeMap::new(), saved: 0, confirmed: 0 };
        let begin = Instant::now();
        while !player.client.guest().is_complete() {
            assert!(begin.elapsed() < PATIENCE && player.frame());
        }
        player
    }

    /// Whether the link holds.
    fn frame(&mut self) -> bool {
        let is_alive = self.client.poll(waves).is_ok();
        let guest = self.client.guest();
        for event in guest.events() {
            match event {
                GuestEvent::Welcome { .. } => guest.start(true),
                GuestEvent::Refused { number, reason, .. } => {
                    self.refused.insert(number, reason);
                }
                GuestEvent::Confirmed { number, .. } => self.confirmed = number,
                GuestEvent::Saved { last, .. } => self.saved = last,
                _ => {}
            }
        }
        let interest = Interest { view_voxels: 100.0, ..Interest::default() };
        guest.watch(&[[0.0, 10.0, 30.0]], &interest);
        std::thread::sleep(Duration::from_millis(2));
        is_alive
    }

    /// Makes an operation; returns why it was refused, if it was.
    fn edit(&mut self, op: &EditOp) -> Option<String> {
        let (number, begin) = (self.client.guest().edit(op).unwrap(), Instant::now());
        while self.confirmed < number && !self.refused.contains_key(&number) {
            assert!(begin.elapsed() < PATIENCE && self.frame());
        }
        self.refused.get(&number).cloned()
    }

    /// Makes an operation until it is taken and saved.
    fn insist(&mut self, op: &EditOp) {
        let begin = Instant::now();
        while let Some(reason) = self.edit(op) {
            assert!(begin.elapsed() < PATIENCE, "{reason}");
            (0..30).for_each(|_| assert!(self.frame()));
        }
        while self.saved < self.confirmed {
            assert!(begin.elapsed() < PATIENCE && self.frame());
        }
    }

    /// Goes on until a condition holds.
    fn wait(&mut self, mut is_met: impl FnMut() -> bool) {
        let begin = Instant::now();
        while !is_met() {
            assert!(begin.elapsed() < PATIENCE && self.frame());
        }
    }
}

fn ball(material: u8, centre: [f64; 3]) -> EditOp {
    EditOp::fill_ball(material, centre, 6.0)
}

/// The rules of a game that panic at one material.
fn panics() -> Decide {
    Box::new(|_, op| match op {
        EditOp::Brush(BrushOp { action: Action::Fill { material: PANICS }, .. }) => {
            panic!("the rules of a game panic: a test")
        }
        _ => Verdict::Accept,
    })
}

#[test]
fn a_panic_within_a_tick_saves_cells_and_the_note_of_their_border_or_neither() {
    let shared = Shared::new("panics");
    shared.give(WEST, "other:1");
    let server = shared.serve("own:1", Some(panics()));
    let mut ada = Player::new(&server);
    ada.insist(&EditOp::dig_ball([60.0, 0.0, 60.0], 3.0));
    // Both come with one tick: the first one is applied.
    ada.client.guest().edit(&ball(MATERIAL, [1.0, 30.0, 30.0])).unwrap();
    ada.client.guest().edit(&ball(PANICS, [40.0, 30.0, 30.0])).unwrap();
    let begin = Instant::now();
    while ada.frame() {
        assert!(begin.elapsed() < PATIENCE);
    }
    drop(server);
    assert_eq!(shared.stored([60, -1, 60]), Some(0), "what was saved before");
    let has_cells = shared.stored([1, 30, 30]) == Some(MATERIAL);
    let note = shared.open().extra(&HOME.data_name("border")).unwrap();
    assert_eq!(has_cells, note.is_some(), "cells, and the note of them: {note:?}");
}

#[test]
fn a_damaged_record_of_a_neighbour_stops_nothing_else() {
    for has_wrong_hash in [false, true] {
        let shared = Shared::new(&format!("damaged-{has_wrong_hash}"));
        shared.give(WEST, "other:1");
        let name = WEST.data_name("border");
        shared.open().set_extra(&name, Some(b"what no server writes")).unwrap();
        if has_wrong_hash {
            let key = |first: u8| [&[first], name.as_bytes()].concat();
            assert!((0..255).any(|first| shared.records.damage(&key(first), |v| v[0] ^= 1)));
        }
        let server = shared.serve("own:1", None);
        let mut ada = Player::new(&server);
        // Columns are claimed beside it, and an operation reaches into it.
        ada.insist(&ball(MATERIAL, [60.0, 30.0, 60.0]));
        ada.insist(&ball(MATERIAL, [60.0, 30.0, -40.0]));
        ada.insist(&ball(MATERIAL, [1.0, 30.0, 30.0]));
        assert_eq!([HOME, NORTH].map(|c| shared.owner(c)), [0, 1].map(|_| Some("own:1".into())));
        // What another one notes is read.
        assert!(shared.open().extra(&HOME.data_name("border")).unwrap().is_some());
    }
}

#[test]
fn a_column_with_a_damaged_record_is_not_served_until_that_is_mended() {
    let shared = Shared::new("damaged-own");
    let name = WEST.data_name("border");
    shared.open().set_extra(&name, Some(b"what no server writes")).unwrap();
    let server = shared.serve("own:1", None);
    let mut ada = Player::new(&server);
    let (west, home) = (ball(MATERIAL, [-40.0, 30.0, 30.0]), ball(MATERIAL, [60.0, 30.0, 60.0]));
    let begin = Instant::now();
    let mut reason = String::new();
    while !reason.contains("damaged") {
        assert!(begin.elapsed() < PATIENCE, "{reason}");
        (0..30).for_each(|_| assert!(ada.frame()));
        reason = ada.edit(&west).expect("it is not taken");
    }
    ada.insist(&home);
    assert_eq!([WEST, HOME].map(|c| shared.owner(c)), [None, Some("own:1".into())]);
    let kept = shared.open().extra(&name).unwrap();
    assert_eq!(kept.as_deref(), Some(&b"what no server writes"[..]), "it is not written over");
    shared.open().set_extra(&name, None).unwrap();
    ada.insist(&west);
    assert_eq!(shared.stored([-40, 30, 30]), Some(MATERIAL));
}

#[test]
fn a_game_lets_a_part_of_an_operation_over_a_border_be_applied_on_both_sides() {
    let shared = Shared::new("parts");
    let upper: Decide = Box::new(|_, op| {
        let above = Region::new([-9999, 30, -9999], [9999, 9999, 9999]);
        Verdict::Part(Box::new(op.clone()), above)
    });
    let servers = [shared.serve("own:1", Some(upper)), shared.serve("other:1", None)];
    let [mut ada, mut bob] = [0, 1].map(|i| Player::new(&servers[i]));
    bob.insist(&ball(MATERIAL, [-60.0, 50.0, 60.0]));
    ada.insist(&ball(MATERIAL, [60.0, 50.0, 60.0]));
    ada.insist(&ball(MATERIAL, [1.0, 30.0, 30.0]));
    ada.wait(|| shared.stored([-2, 32, 30]) == Some(MATERIAL));
    let at = |x, y| shared.stored([x, y, 30]);
    assert_eq!([at(2, 32), at(2, 27), at(-2, 27)], [Some(MATERIAL), Some(0), Some(0)]);
    // Of what reaches over no border, a part is a part, and nothing is noted.
    let note = || shared.open().extra(&HOME.data_name("border")).unwrap().unwrap();
    bob.wait(|| note()[10..12] == [0, 0]);
    let before = note();
    ada.insist(&ball(MATERIAL, [60.0, 30.0, 30.0]));
    assert_eq!([at(60, 32), at(60, 27)], [Some(MATERIAL), Some(0)]);
    assert_eq!(note(), before);
}

/// What `/metrics` says: values by name, without labels.
fn metrics(server: &Server) -> BTreeMap<String, String> {
    let mut stream = TcpStream::connect(server.http_address()).unwrap();
    stream.write_all(b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n").unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    let line = |line: &str| {
        let (name, value) = line.split_once(' ')?;
        let name = name.split('{').next().unwrap_or_default();
        name.starts_with("terravox_").then(|| (name.to_owned(), value.to_owned()))
    };
    text.lines().filter_map(line).collect()
}

#[test]
fn metrics_count_the_columns_that_are_held_or_damaged_and_the_operations_that_wait() {
    let shared = Shared::new("metrics");
    shared.give(WEST, "other:1");
    shared.open().set_extra(&WEST.data_name("border"), Some(b"damaged")).unwrap();
    let server = shared.serve("own:1", None);
    let mut ada = Player::new(&server);
    ada.insist(&ball(MATERIAL, [60.0, 30.0, 60.0]));
    ada.insist(&ball(MATERIAL, [1.0, 30.0, 30.0]));
    let is = |name: &str, value: &str| metrics(&server)[&format!("terravox_{name}")] == value;
    ada.wait(|| is("columns_held", "1") && is("columns_damaged", "1"));
    ada.wait(|| is("border_operations_waiting", "1"));
    assert!(is("columns_failed_looks_total", "0") && is("stopped", "0"));
    assert!(!is("save_microseconds_total", "0"));
}

#[test]
fn a_world_that_servers_share_has_no_journal_and_says_so() {
    let server = Shared::new("journal").serve("own:1", None);
    let address = format!("ws://{}", server.http_address()).parse().unwrap();
    let options = ClientOptions::default();
    let all = JournalQuery::default();
    let ada = JournalQuery { authors: vec!["ada".to_owned()], ..JournalQuery::default() };
    let refused = [
        Client::journal(&address, &options, &all).map(drop),
        Client::roll_back(&address, &options, &ada).map(drop),
        Client::cancel_rollback(&address, &options).map(drop),
    ];
    for refused in refused {
        let refused = refused.expect_err("there is none").to_string();
        assert!(refused.contains("servers share this world, so it has no journal"), "{refused}");
    }
}

/// Names of metrics in a text.
fn metric_names(text: &str) -> BTreeSet<String> {
    let is_part = |c: char| c.is_ascii_lowercase() || c == '_';
    let words = text.split(|c| !is_part(c)).filter(|word| word.starts_with("terravox_"));
    words.map(str::to_owned).collect()
}

#[test]
fn alerts_and_the_dashboard_use_metrics_that_a_server_has() {
    let deploy = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../deploy");
    if !deploy.is_dir() {
        eprintln!("SKIPPED: there is no folder deploy here");
        return;
    }
    let server = Shared::new("names").serve("own:1", None);
    let known: BTreeSet<String> = metrics(&server).into_keys().collect();
    for file in ["prometheus/alerts.yaml", "grafana/terravox.json"] {
        let used = metric_names(&std::fs::read_to_string(deploy.join(file)).unwrap());
        assert!(used.len() > 5, "{file} uses {used:?}");
        let unknown: Vec<&String> = used.difference(&known).collect();
        assert!(unknown.is_empty(), "{file} uses {unknown:?}; a server has {known:?}");
    }
}

#[test]
fn while_saves_fail_they_are_rare_and_so_much_may_be_unsaved() {
    let shared = Shared::new("unsaved");
    let (is_full, commits) = (Arc::new(AtomicBool::new(false)), Arc::new(Mutex::new(Vec::new())));
    let (full, failed) = (is_full.clone(), commits.clone());
    let records = WatchedRecords::new(shared.records.clone(), move |call| {
        if matches!(call, RecordsCall::Commit) && full.load(Ordering::Acquire) {
            failed.lock().unwrap().push(Instant::now());
            return Err(io::ErrorKind::StorageFull.into());
        }
        Ok(())
    });
    let store = Store::open_records(Arc::new(records), "waves").unwrap();
    let options = ServerOptions { max_unsaved_chunks: 4, ..options(&shared.folder.0) };
    let server = Server::start(vec![shared.served("own:1", store)], options).unwrap();
    let mut ada = Player::new(&server);
    let in_chunk = |x: i32, y: i32| {
        let [x, y] = [x, y].map(|v| f64::from(32 * v + 16));
        ball(MATERIAL, [x, y, 48.0])
    };
    ada.insist(&in_chunk(0, 1));
    is_full.store(true, Ordering::Release);
    let chunks = (0..3).flat_map(|x| (0..3).map(move |y| [x, y]));
    let edits: Vec<_> = chunks.map(|[x, y]| ada.edit(&in_chunk(x, y))).collect();
    let refused: Vec<_> = edits.iter().flatten().collect();
    assert!(refused.len() >= 4 && refused.len() < edits.len(), "{edits:?}");
    assert!(refused.iter().all(|why| why.contains("not saved yet")), "{refused:?}");
    ada.wait(|| commits.lock().unwrap().len() >= 2);
    is_full.store(false, Ordering::Release);
    let commits = commits.lock().unwrap().clone();
    assert!(commits[1] - commits[0] > Duration::from_millis(990), "{commits:?}");
    ada.insist(&in_chunk(2, 2));
    assert_eq!(shared.stored([80, 80, 48]), Some(MATERIAL));
    assert_eq!(shared.stored([16, 16, 48]), Some(MATERIAL), "what was confirmed meanwhile");
}
