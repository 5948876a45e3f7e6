//! A server whose database is far away.

use crate::watched_records::{RecordsCall, WatchedRecords};
use crate::waves::{Folder, Outcome, all_settled, options, quic, until, waves};
use std::collections::BTreeMap;
use std::error::Error;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use terravox::edit::{EditOp, Editor};
use terravox::terrain::{FillRequest, Placement, UnsavedChanges};
use terravox::voxel::{ChunkPos, DenseBox, GridOptions, MipBlock, UnlistedChunks, VoxelGrid};
use terravox_server::{Client, ClientOptions, ServedWorld, Server};
use terravox_store::{Generator, Store, WorldInfo};

/// Records that each message takes some time to reach, and the number of messages that read.
fn far_records(trip: Duration) -> (Arc<WatchedRecords>, Arc<AtomicU64>) {
    let trips = Arc::new(AtomicU64::new(0));
    let count = trips.clone();
    let records = WatchedRecords::new(Arc::default(), move |call| {
        if !matches!(call, RecordsCall::Commit) {
            count.fetch_add(1, Ordering::Relaxed);
        }
        std::thread::sleep(trip);
        Ok(())
    });
    (Arc::new(records), trips)
}

/// A world that was dug all over.
fn dug_world(records: Arc<WatchedRecords>) -> Result<Store, Box<dyn Error>> {
    let generator = Generator { name: "waves".into(), version: 1, ..Generator::default() };
    let info = WorldInfo::growing(Placement::default(), generator);
    let store = Store::create_records(records, "waves", &info)?;
    let unlisted = UnlistedChunks::Unknown;
    let mut grid = VoxelGrid::new(GridOptions { unlisted, ..GridOptions::default() });
    let mut cells = DenseBox::default();
    for x in -5..5 {
        for z in -5..5 {
            for y in -2..2 {
                let block = ChunkPos::new(x, y, z).into();
                FillRequest::fill_block(&mut cells, block, Placement::default(), waves);
                grid.load(&cells);
            }
        }
    }
    for x in -4..4 {
        for z in -4..4 {
            let [x, z] = [x, z].map(|v| 32.0 * f64::from(v) + 16.0);
            let centre = [x, 0.0, z];
            Editor::default().apply(&mut grid, &EditOp::dig_ball(centre, 9.0), None)?;
        }
    }
    store.save(&UnsavedChanges::from(grid.unsaved()), waves)?;
    Ok(store)
}

/// The median time of a tick.
fn median_tick(server: &Server) -> Result<Duration, Box<dyn Error>> {
    let mut stream = TcpStream::connect(server.http_address())?;
    stream.write_all(b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n")?;
    let mut text = String::new();
    stream.read_to_string(&mut text)?;
    let median =
        |line: &str| line.split_once("quantile=\"0.5\"} ").map(|(_, time)| time.to_owned());
    let time = text.lines().find_map(median).ok_or("there is no median")?;
    Ok(Duration::from_micros(time.trim().parse()?))
}

/// What a session of a guest saw and left behind.
struct Session {
    /// The blocks that it saw of what was dug before.
    seen: BTreeMap<MipBlock, DenseBox>,
    /// The digest of what is stored then.
    stored: u128,
    /// Those that were changed.
    dug: usize,
    /// Messages to the database until all was seen.
    trips: u64,
    tick: Duration,
}

/// A guest looks at what was dug, and digs on, there and where nothing is.
fn session(trip: Duration) -> Result<Session, Box<dyn Error>> {
    let (records, trips) = far_records(trip);
    let store = dug_world(records.clone())?;
    let folder = Folder::new(&format!("far-{}", trip.as_millis()));
    let world = ServedWorld {
        name: "waves".into(),
        store,
        generate: Some(Arc::new(waves)),
        protected: vec![],
        decide: None,
        share: None,
    };
    let server = Server::start(vec![world], options(&folder.0))?;
    let before = trips.load(Ordering::Relaxed);
    let mut client = Client::connect(&quic(&server), ClientOptions::default())?;
    until(&mut [&mut client], all_settled)?;
    let trips = trips.load(Ordering::Relaxed) - before;
    let tick = median_tick(&server)?;
    let blocks: Vec<MipBlock> = client.guest().blocks().collect();
    let (mut seen, mut dug) = (BTreeMap::new(), 0);
    for block in blocks {
        let (mut cells, mut made) = (DenseBox::default(), DenseBox::default());
        if client.guest().read(block, waves, &mut cells) {
            FillRequest::fill_block(&mut made, block, Placement::default(), waves);
            dug += usize::from(cells != made);
            seen.insert(block, cells);
        }
    }
    for x in -6..6 {
        let dig = EditOp::dig_ball([32.0 * f64::from(x), -2.0, 8.0], 7.0);
        client.guest().edit(&dig)?;
    }
    until(&mut [&mut client], all_settled)?;
    drop(client);
    server.stop()?;
    let stored = Store::open_records(records, "waves")?.load()?.grid.digest()?;
    Ok(Session { seen, stored, dug, trips, tick })
}

#[test]
fn a_far_database_is_asked_for_many_blocks_at_once_and_ticks_do_not_wait() -> Outcome {
    let trip = Duration::from_millis(60);
    let (near, far) = (session(Duration::ZERO)?, session(trip)?);
    assert!(far.seen == near.seen, "the same blocks, and the same cells in them");
    assert_eq!(far.stored, near.stored);
    let Session { dug, trips, tick, .. } = far;
    eprintln!("{dug} blocks that were dug: {trips} messages, {tick:?} a tick");
    assert!(trips > 0 && trips < dug as u64 / 3 && dug > 100, "{trips} messages for {dug} blocks");
    assert!(tick < trip / 2, "{tick:?}");
    Ok(())
}
