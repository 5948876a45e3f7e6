//! The log of a zone: the keys that each commit changed. By it servers that share a world learn
//! what others saved in a column, and a writer whether a commit without an answer was made.
//!
//! The newest entries of a zone are of one commit each. The older ones of a column are merged, each
//! of twice as many commits as those that are half as old, so they name each chunk once:
//!
//! ```text
//! commits ago              0         1024      2048      4096      8192 ...
//! commits of an entry          1          64       128       256
//! ```
//!
//! So whatever a server has missed, it reads again what changed since, and what changed in a
//! sixteenth of that time before; and a column has 1,088 entries and some twenty for each doubling.

use crate::connection::{Connection, ViewPool, idle_limit};
use crate::failure::RequestFailure;
use crate::view::WorldAccess;
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::sync::Arc;
use std::time::Duration;
use terravox::voxel::ChunkPos;
use terravox_store::{Column, Zone};
use tokio_postgres::Row;
use tokio_postgres::types::ToSql;

/// Commits of which each has an entry of its own, at least.
const SINGLE_COMMITS: i64 = 1024;

/// Commits of the smallest entry that was merged, and between two times that entries are.
const MERGED_COMMITS: i64 = 64;

/// Keys of an entry that was merged, at most: 3.7 MB. If more chunks changed, all of a column is
/// read.
const MAX_MERGED_KEYS: usize = 1 << 18;

/// Bytes of the entries that are merged at once, at most: those of two that were merged are less. If they
/// have more, they are removed, as above.
const MAX_MERGED_BYTES: i64 = 2 * 16 * MAX_MERGED_KEYS as i64;

/// Keys of a column that are read at once.
const KEYS_PER_PAGE: i64 = 10_000;

/// Bytes of the entries of a column that are read, at most. If they have more, all of the column is
/// read.
const MAX_READ_BYTES: i64 = 16 << 20;

/// Columns of which the entries are read at once.
const COLUMNS_PER_PAGE: usize = 16;

/// The entries of some commits, in order.
const ENTRIES: &str = "
    select seq, epoch, keys from terravox_log
    where world = $1 and zone = $2 and seq > $3 and seq <= $4 order by seq";

/// The size of those.
const ENTRIES_SIZE: &str = "
    select coalesce(sum(length(keys)), 0)::bigint from terravox_log
    where world = $1 and zone = $2 and seq > $3 and seq <= $4";

const REMOVE_ENTRIES: &str =
    "delete from terravox_log where world = $1 and zone = $2 and seq > $3 and seq <= $4";

const REPLACE_ENTRY: &str =
    "update terravox_log set epoch = $4, keys = $5 where world = $1 and zone = $2 and seq = $3";

/// The entries of which a commit is in a part, the newest ones of each zone up to a number of bytes. One
/// that was merged may have commits beside it.
const PARTS: &str = "
    select seq, epoch, keys, zone from (
        select log.seq, log.epoch, log.keys, log.zone,
            sum(length(log.keys)) over (partition by log.zone order by log.seq desc) as bytes
        from terravox_log as log
        join unnest($2::bigint[], $3::bigint[], $4::bigint[]) as part(zone, low, high)
            on log.zone = part.zone
        where log.world = $1 and log.seq > part.low
            and log.seq + least(log.epoch, -1) < part.high) as entry
    where bytes <= $5::bigint order by zone, seq";

/// The keys of some chunks of a world.
const CHUNK_KEYS: &str = "
    select key from terravox_records where world = $1 and key >= $2 and key < $3
    order by key limit $4";

/// An entry of the log of a zone.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Entry {
    /// The number of its last commit.
    seq: i64,
    /// The epoch in which that was made; of one that was merged, the number of its commits, below 0.
    epoch: i64,
    keys: Vec<u8>,
}

impl Entry {
    fn of(row: &Row) -> Entry {
        Entry { seq: row.get(0), epoch: row.get(1), keys: row.get(2) }
    }

    /// The number of the commit before its first one.
    fn low(&self) -> i64 {
        self.seq.saturating_sub(self.epoch.saturating_neg().max(1))
    }
}

/// Adds a key to those of an entry.
pub(crate) fn log_key(keys: &mut Vec<u8>, key: &[u8]) {
    keys.extend((key.len() as u16).to_le_bytes());
    keys.extend_from_slice(key);
}

/// The keys of an entry; `None` if it is damaged.
pub(crate) fn logged_keys(mut bytes: &[u8]) -> Option<Vec<Vec<u8>>> {
    let mut keys = Vec::new();
    while let Some((length, rest)) = bytes.split_first_chunk::<2>() {
        let (key, rest) = rest.split_at_checked(u16::from_le_bytes(*length).into())?;
        keys.push(key.to_vec());
        bytes = rest;
    }
    bytes.is_empty().then_some(keys)
}

/// Adds the keys of the chunks that entries name, which are in order. Returns whether they have all
/// commits after `low` up to `high`.
fn add_keys(entries: &[Entry], [low, high]: [i64; 2], chunks: &mut BTreeSet<Vec<u8>>) -> bool {
    let (mut known, mut is_whole) = (low, true);
    for entry in entries {
        // One that is damaged counts as missing.
        if let Some(keys) = logged_keys(&entry.keys) {
            chunks.extend(keys.into_iter().filter(|key| Zone::chunk_of_record(key).is_some()));
            is_whole &= entry.low() <= known;
            known = entry.seq;
        }
    }
    is_whole && known >= high
}

/// Merges old entries of a column, and removes those of other zones, which no server follows. `head` is
/// that of the zone before a commit, in the transaction of that commit, which the server ends after the
/// time `idle` without a statement.
pub(crate) async fn trim(
    connection: &Connection,
    world: i64,
    zone: i64,
    head: i64,
    idle: Duration,
) -> Result<(), RequestFailure> {
    for commits in due_merges(head) {
        if zone >= Zone::WORLD.0 {
            let old: [&(dyn ToSql + Sync); 4] = [&world, &zone, &0i64, &commits[1]];
            return connection.execute(REMOVE_ENTRIES, &old).await.map(drop);
        }
        merge(connection, world, zone, commits, idle).await?;
    }
    Ok(())
}

/// The commits of which entries are merged when a zone has this head: after the first number up to
/// the second. As many as the smallest merged entry has, each time; and of the larger ones, each of
/// twice as many as the one before, one at a time.
fn due_merges(head: i64) -> impl Iterator<Item = [i64; 2]> {
    let count = head / MERGED_COMMITS;
    let is_due = head > SINGLE_COMMITS && head % MERGED_COMMITS == 0;
    let doublings = [0, count.trailing_zeros() + 1].into_iter().filter(move |_| is_due);
    doublings.filter_map(move |doublings| {
        if head >> doublings <= SINGLE_COMMITS {
            return None;
        }
        let commits = MERGED_COMMITS << doublings;
        let high = (head - (SINGLE_COMMITS << doublings)) / commits * commits;
        (high > 0).then_some([high - commits, high])
    })
}

/// Makes one entry of those of some commits.
async fn merge(
    connection: &Connection,
    world: i64,
    zone: i64,
    commits: [i64; 2],
    idle: Duration,
) -> Result<(), RequestFailure> {
    let [low, high] = commits;
    let part: [&(dyn ToSql + Sync); 4] = [&world, &zone, &low, &high];
    let size = connection.query(ENTRIES_SIZE, &part).await?;
    let size: i64 = size.first().map_or(0, |row| row.get(0));
    let (mut entries, mut chunks) = (Vec::new(), BTreeSet::new());
    if size <= MAX_MERGED_BYTES {
        // They are received and sent again. The server waits for that, also over a slow line.
        let size = size as usize;
        connection.run(&idle_limit(idle, 2 * size)).await?;
        let rows = connection.query_large(ENTRIES, &part, size).await?;
        entries.extend(rows.iter().map(Entry::of));
    }
    let is_whole = add_keys(&entries, commits, &mut chunks);
    if !is_whole || chunks.len() > MAX_MERGED_KEYS {
        // Nor do those before them help any more.
        return connection.execute(REMOVE_ENTRIES, &[&world, &zone, &0i64, &high]).await.map(drop);
    }
    let mut keys = Vec::new();
    chunks.iter().for_each(|key| log_key(&mut keys, key));
    let (before, epoch) = (high - 1, low - high);
    let merged: [&(dyn ToSql + Sync); 4] = [&world, &zone, &low, &before];
    let values: [&(dyn ToSql + Sync); 5] = [&world, &zone, &high, &epoch, &keys];
    let (removed, replaced) = tokio::join!(biased;
        connection.execute(REMOVE_ENTRIES, &merged),
        connection.execute_large(REPLACE_ENTRY, &values, keys.len()));
    removed.and(replaced).map(drop)
}

/// A part of the log of a column: commits after `low` up to `high`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LogPart {
    pub column: i64,
    pub low: i64,
    pub high: i64,
}

/// The chunks that commits changed; if the log does not reach so far back, or has too much, all of
/// that column. They are decoded here, by the caller: the thread of the database renews the lease.
pub(crate) fn changed_chunks(
    access: &Arc<WorldAccess>,
    parts: &[LogPart],
) -> io::Result<BTreeSet<ChunkPos>> {
    let mut wanted = BTreeMap::<i64, [i64; 2]>::new();
    for part in parts {
        // Those of one column follow each other.
        let [low, high] = wanted.entry(part.column).or_insert([part.low, part.high]);
        (*low, *high) = (part.low.min(*low), part.high.max(*high));
    }
    let wanted = Vec::from_iter(wanted);
    let mut chunks = BTreeSet::new();
    for page in wanted.chunks(COLUMNS_PER_PAGE) {
        let mut entries = BTreeMap::<i64, Vec<Entry>>::new();
        for row in read_parts(access, page)? {
            entries.entry(row.get(3)).or_default().push(Entry::of(&row));
        }
        for &(column, part) in page {
            let (entries, mut keys) =
                (entries.remove(&column).unwrap_or_default(), BTreeSet::new());
            let is_whole = add_keys(&entries, part, &mut keys);
            if let Some(column) = Zone(column).column().filter(|_| !is_whole) {
                keys.extend(read_stored(access, column)?);
            }
            chunks.extend(keys.iter().filter_map(|key| Zone::chunk_of_record(key)));
        }
    }
    Ok(chunks)
}

/// Reads entries of the log of some columns.
fn read_parts(access: &Arc<WorldAccess>, parts: &[(i64, [i64; 2])]) -> io::Result<Vec<Row>> {
    let columns: Vec<i64> = parts.iter().map(|(column, _)| *column).collect();
    let [lows, highs] = [0, 1].map(|at| Vec::from_iter(parts.iter().map(|(_, part)| part[at])));
    let shared = access.clone();
    let rows = access.background.wait(async move {
        let WorldAccess { world, pool, .. } = &*shared;
        pool.query(PARTS, &[world, &columns, &lows, &highs, &MAX_READ_BYTES]).await
    })?;
    rows.map_err(RequestFailure::into_io)
}

/// Reads the keys of all stored chunks of a column.
fn read_stored(access: &Arc<WorldAccess>, column: Column) -> io::Result<BTreeSet<Vec<u8>>> {
    let shared = access.clone();
    let keys = access.background.wait(async move {
        let mut keys = BTreeSet::new();
        let stored = add_stored(&shared.pool, shared.world, column, &mut keys).await;
        stored.map(|()| keys)
    })?;
    keys.map_err(RequestFailure::into_io)
}

/// Adds the keys of all stored chunks of a column. Those of its zones are apart, with other columns
/// between them, which are passed over.
async fn add_stored(
    pool: &ViewPool,
    world: i64,
    column: Column,
    keys: &mut BTreeSet<Vec<u8>>,
) -> Result<(), RequestFailure> {
    let [mut low, end] = Zone::chunk_keys();
    while let Some([first, last]) = column.chunk_keys_from(&low) {
        let rows = pool.query(CHUNK_KEYS, &[&world, &first, &end, &1i64]).await?;
        let Some(next) = rows.first() else { break };
        low = next.get(0);
        while low < last {
            let rows = pool.query(CHUNK_KEYS, &[&world, &low, &last, &KEYS_PER_PAGE]).await?;
            keys.extend(rows.iter().map(|row| row.get::<_, Vec<u8>>(0)));
            low = match rows.last() {
                Some(row) => [row.get::<_, &[u8]>(0), &[0]].concat(),
                None => last.clone(),
            };
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A key of a chunk.
    fn key(x: u8) -> Vec<u8> {
        vec![2, 0, 0x38, 0, 0, 0, 0, 0, 0, 0, 0, x]
    }

    fn entry(seq: i64, epoch: i64, chunks: &[u8]) -> Entry {
        let mut keys = Vec::new();
        log_key(&mut keys, b"\x01column 0,0/state");
        chunks.iter().for_each(|&x| log_key(&mut keys, &key(x)));
        Entry { seq, epoch, keys }
    }

    #[test]
    fn entries_tell_whether_they_have_all_commits_of_a_part() {
        let found = |entries: &[Entry], part| {
            let mut keys = BTreeSet::new();
            let is_whole = add_keys(entries, part, &mut keys);
            (is_whole, keys.into_iter().map(|key| key[11]).collect::<Vec<_>>())
        };
        let all = [entry(128, -128, &[1, 2]), entry(129, 7, &[2]), entry(130, 8, &[3])];
        assert_eq!(found(&all, [0, 130]), (true, vec![1, 2, 3]));
        assert_eq!(found(&all, [100, 130]), (true, vec![1, 2, 3]), "more than changed since");
        assert_eq!(found(&all[1..], [128, 130]), (true, vec![2, 3]));
        assert_eq!(found(&all[1..], [127, 130]), (false, vec![2, 3]));
        assert_eq!(found(&all, [100, 131]), (false, vec![1, 2, 3]));
        assert_eq!(found(&[], [5, 6]), (false, vec![]));
        assert_eq!(found(&[], [5, 5]), (true, vec![]));
        let gap = [all[0].clone(), all[2].clone()];
        assert_eq!(found(&gap, [0, 130]), (false, vec![1, 2, 3]));
        let mut damaged = all.clone();
        damaged[1].keys.pop();
        assert_eq!(found(&damaged, [0, 130]), (false, vec![1, 2, 3]));
        // Damaged numbers.
        for (seq, epoch) in [(i64::MIN, i64::MAX), (i64::MAX, i64::MIN), (i64::MIN, i64::MIN)] {
            found(&[entry(seq, epoch, &[1])], [0, 1]);
        }
    }

    /// What the merges of many commits leave, as a list of the commits of each entry.
    #[test]
    fn entries_are_merged_once_each_and_are_as_large_as_they_are_old() {
        let mut entries: Vec<[i64; 2]> = Vec::new();
        for head in 0..300_000 {
            entries.push([head, head + 1]);
            let merges: Vec<_> = due_merges(head).collect();
            assert!(merges.len() <= 2, "a save does not wait for many: {merges:?}");
            for merged in merges {
                let is_in = |entry: &[i64; 2]| entry[0] >= merged[0] && entry[1] <= merged[1];
                let from = entries.iter().position(is_in).unwrap();
                let to = from + entries[from..].iter().take_while(|entry| is_in(entry)).count();
                let size = merged[1] - merged[0];
                assert_eq!(to - from, if size == MERGED_COMMITS { 64 } else { 2 }, "{merged:?}");
                assert_eq!([entries[from][0], entries[to - 1][1]], merged);
                entries.splice(from..to, [merged]);
            }
            assert_eq!(entries.last(), Some(&[head, head + 1]));
        }
        assert!(entries.windows(2).all(|pair| pair[0][1] == pair[1][0]) && entries[0][0] == 0);
        for [low, high] in &entries {
            assert!((high - low == 1) || (high - low) * 16 <= 300_000 - high, "{low} to {high}");
        }
        let singles = entries.iter().filter(|entry| entry[1] - entry[0] == 1).count();
        assert!((1024..=1088).contains(&singles), "{singles}");
        assert!(entries.len() - singles < 9 * 20, "{} of them are merged", entries.len() - singles);
    }

    #[test]
    fn extreme_heads_do_not_overflow() {
        for head in [i64::MIN, -64, 0, 63, 1024, 1 << 62, i64::MAX, i64::MAX - 63] {
            for [low, high] in due_merges(head) {
                assert!(0 <= low && low < high && high <= head - SINGLE_COMMITS);
            }
        }
    }
}
