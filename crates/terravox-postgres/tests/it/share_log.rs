//! The log of a busy column: whatever a server missed, it learns what changed since, and little else.

use crate::all_stores::{Numbers, empty_grid};
use crate::proxy::Proxy;
use crate::server::Server;
use std::collections::BTreeSet;
use std::time::Duration;
use terravox::terrain::UnsavedChanges;
use terravox::voxel::{ChunkPos, DenseBox, Region, VoxelGrid};
use terravox_postgres::{Postgres, PostgresOptions, WorldShare};
use terravox_store::{Column, ColumnLeases, Store, WorldInfo};

/// Commits to a column: enough that entries are merged twice.
const COMMITS: usize = 2600;

const HOME: Column = Column { x: -2, z: 5 };

/// A chunk of the column, at some height. Those near in number are apart.
fn chunk(number: usize) -> ChunkPos {
    let [x, y, z] = [number * 37 % 256, number * 11 % 700, number * 53 % 256].map(|v| v as i32);
    ChunkPos::new(HOME.x * 256 + x, y - 350, HOME.z * 256 + z)
}

/// Changes a cell of each of some chunks and saves that.
fn save(store: &Store, grid: &mut VoxelGrid, chunks: &[ChunkPos], material: u8) {
    for chunk in chunks {
        let min = chunk.region().min;
        let mut cells = DenseBox::new(Region { min, max: min + [1, 1, 1].into() });
        cells.fill(material);
        grid.write(&cells).unwrap();
    }
    let unsaved = UnsavedChanges::from(grid.unsaved());
    store.save(&unsaved, |_| {}).unwrap();
    grid.mark_saved(&unsaved.chunks);
}

fn changed(share: &WorldShare) -> BTreeSet<ChunkPos> {
    BTreeSet::from_iter(share.changes(&[HOME]).unwrap().chunks)
}

#[test]
fn whatever_a_server_missed_of_a_busy_column_it_reads_what_changed_since_slow() {
    let Some(server) = Server::start("busy") else { return };
    let server = server.run();
    let address = server.address("busy");
    let options = PostgresOptions::default();
    drop(Postgres::create(&address, &WorldInfo::default(), &options).unwrap());
    let open = |name: String| Postgres::share(&address, &options, &name).unwrap();
    let writers = ["a:1", "b:1"].map(|name| open(name.to_owned()));
    let mut grid = empty_grid(&writers[0].0.info());
    // Other columns, beside it and between its zones, and chunks that stay as they are.
    let beside = [Column { x: -1, z: 5 }, Column { x: -2, z: 4 }, Column { x: 300, z: -9 }];
    assert_eq!(writers[0].1.claim(&beside).unwrap().len(), 3);
    let near = |column: Column| {
        (-9..9).map(move |y| ChunkPos::new(column.x * 256 + 3, y * 40, column.z * 256))
    };
    let others: Vec<ChunkPos> = beside.into_iter().flat_map(near).collect();
    save(&writers[0].0, &mut grid, &others, 2);
    let resting: Vec<ChunkPos> = (5000..5200).map(chunk).collect();
    let (mut numbers, mut history, mut followers) = (Numbers(4), vec![resting.clone()], Vec::new());
    for commit in 1..=COMMITS {
        // The column changes hands.
        let holds = commit / 700 % 2;
        if commit % 700 == 0 {
            writers[1 - holds].1.release(&[HOME]).unwrap();
        }
        if commit % 700 == 0 || commit == 1 {
            assert_eq!(writers[holds].1.claim(&[HOME]).unwrap(), [HOME]);
        }
        if commit == 1 {
            save(&writers[holds].0, &mut grid, &resting, 3);
        }
        let chunks: Vec<ChunkPos> =
            (0..2).map(|_| chunk(commit / 8 + numbers.below(4) as usize)).collect();
        save(&writers[holds].0, &mut grid, &chunks, 4 + (commit % 200) as u8);
        history.push(chunks);
        if [1, 100, 900, 1400, 1500, 1570, 1580, 2000, 2590].contains(&commit) {
            followers.push((commit, open(format!("follower-{commit}:1"))));
        }
    }
    let head = server.sql("select max(head) from terravox_zones where zone < -1");
    assert_eq!(head, (COMMITS + 1).to_string());
    let since = |commit: usize| BTreeSet::from_iter(history[commit..].iter().flatten().copied());
    for (commit, (_, share)) in &followers {
        let found = changed(share);
        assert!(found.is_superset(&since(commit + 1)), "since {commit}: something is missing");
        let before = (COMMITS - commit) / 16 + 1;
        let most = since((commit + 1).saturating_sub(before));
        assert!(found.is_subset(&most), "since {commit}: {} of {}", found.len(), most.len());
        assert_eq!(changed(share), BTreeSet::new());
    }
    let count = |what: &str| -> usize {
        let sql = format!("select count(*) from terravox_log where zone < -1 and {what}");
        server.sql(&sql).parse().unwrap()
    };
    assert!((1024..1200).contains(&count("epoch > 0")), "{}", count("epoch > 0"));
    assert!((10..40).contains(&count("epoch < 0")), "{}", count("epoch < 0"));
    // Where entries are gone, all of that column may have changed, and nothing else.
    let (_late, late) = open("late:1".to_owned());
    let (store, own) = (&writers[COMMITS / 700 % 2].0, chunk(9000));
    save(store, &mut grid, &[own], 9);
    server.sql(&format!("delete from terravox_log where seq = {}", COMMITS + 2));
    let in_home = |chunk: &ChunkPos| Column::of_voxel(chunk.region().min) == HOME;
    let stored: BTreeSet<_> = store.chunks().unwrap().into_iter().filter(in_home).collect();
    assert!(stored.len() > 400 && stored.contains(&own));
    assert!(changed(&late) == stored);
}

#[test]
fn a_log_with_too_much_is_not_read_and_the_lease_is_renewed_meanwhile() {
    let Some(server) = Server::start("long-log") else { return };
    let server = server.run();
    let address = server.address("long");
    let options =
        PostgresOptions { lease: Duration::from_millis(1500), ..PostgresOptions::default() };
    drop(Postgres::create(&address, &WorldInfo::default(), &options).unwrap());
    let (store, share) = Postgres::share(&address, &options, "writer:1").unwrap();
    let beside = Column { x: HOME.x + 1, z: HOME.z };
    assert_eq!(share.claim(&[HOME, beside]).unwrap().len(), 2);
    let (mut grid, chunks) = (empty_grid(&store.info()), [chunk(1), chunk(2)]);
    let east = chunks.map(|chunk| ChunkPos::new(chunk.x + 256, chunk.y, chunk.z));
    for commit in 0..2 {
        save(&store, &mut grid, &[chunks[commit], east[commit]], 4);
    }
    let (follower, follow) = Postgres::share(&address, &options, "follower:1").unwrap();
    // As after thousands of commits that changed the chunk of the second one: 1.1 MB for each 64 of them.
    let home = HOME.zone().unwrap().0;
    server.sql(&format!(
        "insert into terravox_log (world, zone, seq, epoch, keys)
        select world, zone, 2 + 64 * number, -64,
            decode(repeat(encode(keys, 'hex'), 1100000 / length(keys)), 'hex')
        from terravox_log, generate_series(1, 20) as number
        where zone < -1 and seq = 2 and (zone = {home} or number <= 10);
        update terravox_zones set head = 2 + 64 * case when zone = {home} then 20 else 10 end
        where zone < -1"
    ));
    let found = std::thread::scope(|scope| {
        let looking = scope.spawn(|| follow.changes(&[HOME, beside]).unwrap().chunks);
        while !looking.is_finished() {
            let is_alive = server.sql(
                "select until > clock_timestamp() from terravox_servers where address = 'follower:1'",
            );
            assert_eq!(is_alive, "t");
        }
        BTreeSet::from_iter(looking.join().unwrap())
    });
    // Of the one with 22 MB, all that is stored.
    assert_eq!(found, BTreeSet::from([chunks[0], chunks[1], east[1]]));
    follower.check_writer().unwrap();
}

#[test]
fn large_entries_are_merged_over_a_slow_line() {
    let Some(server) = Server::start("slow-line") else { return };
    let server = server.run();
    let proxy = Proxy::slow(server.port(), 600_000.0);
    let time = Duration::from_millis(600);
    let options = PostgresOptions { lease: time, answer_time: time, ..PostgresOptions::default() };
    drop(Postgres::create(&server.address("line"), &WorldInfo::default(), &options).unwrap());
    let through = server.address_at(proxy.port, "line");
    let (store, share) = Postgres::share(&through, &options, "slow:1").unwrap();
    let mut grid = empty_grid(&store.info());
    assert_eq!(share.claim(&[HOME]).unwrap(), [HOME]);
    save(&store, &mut grid, &[chunk(1)], 4);
    share.release(&[HOME]).unwrap();
    // The next commit merges 64 entries. One of them has 560 kB, which takes longer each way than an answer or
    // an idle transaction may.
    server.sql(
        "insert into terravox_log (world, zone, seq, epoch, keys)
        select world, zone, number, 1, (
            select string_agg(decode('0c0002003800000000000000' || lpad(to_hex(key), 4, '0'), 'hex'), '')
            from generate_series(0, case number when 65 then 39999 else 0 end) as key)
        from terravox_zones, generate_series(65, 128) as number where zone < -1;
        update terravox_zones set head = 1152 where zone < -1",
    );
    assert_eq!(share.claim(&[HOME]).unwrap(), [HOME]);
    save(&store, &mut grid, &[chunk(2)], 5);
    let merged = "select seq, epoch, length(keys) from terravox_log
        where zone < -1 and seq > 64 and seq <= 128";
    assert_eq!(server.sql(merged), "128|-64|560000");
}
