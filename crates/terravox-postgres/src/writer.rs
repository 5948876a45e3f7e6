//! Committing changes: fenced, numbered, and only once even if a reply is lost.
//!
//! A commit raises the head of each zone that it changes, under the condition that epoch and head
//! are what the writer knows. If no row matches, another writer has the zone, or an earlier attempt
//! at this commit succeeded after all: the log tells which. That condition is checked before the
//! commit is sent, and holds until then, since the row is locked.

use crate::batch::Batch;
use crate::connection::{Connection, Connector, begin};
use crate::failure::RequestFailure;
use crate::lease::{self, Claim, HeldZone, LeaseFailure};
use crate::log;
use crate::retry::pause;
use crate::share::{self, Share};
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use terravox_store::{CommitFailure, RecordChanges, Zone};
use tokio::sync::{Mutex, MutexGuard};
use tokio_postgres::types::ToSql;

const FENCE: &str = "
    update terravox_zones set head = terravox_zones.head + 1,
        until = clock_timestamp() + $5::float8 * interval '1 second'
    from unnest($2::bigint[], $3::bigint[], $4::bigint[]) as held(zone, epoch, head)
    where terravox_zones.world = $1 and terravox_zones.zone = held.zone
        and terravox_zones.owner = $6
        and terravox_zones.epoch = held.epoch and terravox_zones.head = held.head";

/// Extends the lease after the changes, which may take longer than a lease. Others wait for the row
/// until the commit.
const EXTEND: &str = "
    update terravox_zones set until = clock_timestamp() + $3::float8 * interval '1 second'
    where world = $1 and zone = $2";

const PUT: &str = "
    insert into terravox_records (world, key, hash, value)
    select $1::bigint, new.key, new.hash, new.value
    from unnest($2::bytea[], $3::bigint[], $4::bytea[]) as new(key, hash, value)
    on conflict (world, key) do update set hash = excluded.hash, value = excluded.value";

const REMOVE: &str = "delete from terravox_records where world = $1 and key = any($2::bytea[])";

const LOG: &str = "
    insert into terravox_log (world, zone, seq, epoch, keys)
    select $1::bigint, new.zone, new.head + 1, new.epoch, new.keys
    from unnest($2::bigint[], $3::bigint[], $4::bigint[], $5::bytea[])
        as new(zone, epoch, head, keys)";

const LOGGED: &str = "
    select seq from terravox_log
    where world = $1 and zone = $2 and seq = $3 and epoch = $4";

/// What writes to a world.
pub(crate) struct Writer {
    pub connector: Arc<Connector>,
    pub world: i64,
    /// A name that no other writer has.
    pub owner: String,
    pub lease: Duration,
    pub takes_over: bool,
    /// `None` if it has the whole world.
    pub share: Option<Share>,
    pub state: Mutex<Holdings>,
    /// Whether another writer has the world, or a column that was held here.
    pub is_lost: AtomicBool,
}

#[derive(Default)]
pub(crate) struct Holdings {
    connection: Option<Arc<Connection>>,
    /// Of a shared world, the columns.
    pub held: BTreeMap<i64, HeldZone>,
    /// Columns that are not held here and may be this writer's in the database: the answer to a
    /// claim was lost, or a release failed.
    pub unsure: BTreeSet<i64>,
}

impl Holdings {
    /// Lets the next request make a connection of its own.
    pub fn drop_connection(&mut self) {
        self.connection = None;
    }
}

/// The outcome of an attempt that did not fail.
enum Attempt {
    Done,
    /// The epoch or the head of a zone has changed.
    NotHeld,
}

/// How an attempt failed.
struct AttemptFailure {
    failure: RequestFailure,
    /// Whether the zones were as expected: then no earlier attempt committed.
    was_held: bool,
    /// Whether the commit was sent, so that it may have taken effect.
    is_unsure: bool,
}

impl Writer {
    pub fn new(
        connector: Arc<Connector>,
        world: i64,
        owner: String,
        lease: Duration,
        takes_over: bool,
        share: Option<Share>,
    ) -> Writer {
        let (state, is_lost) = (Mutex::default(), AtomicBool::new(false));
        Writer { connector, world, owner, lease, takes_over, share, state, is_lost }
    }

    /// The connection, or a new one if it is lost.
    pub async fn connection(
        &self,
        state: &mut Holdings,
    ) -> Result<Arc<Connection>, RequestFailure> {
        if let Some(connection) = state.connection.as_ref().filter(|c| c.is_usable()) {
            return Ok(connection.clone());
        }
        let connection = Arc::new(self.connector.connect().await?);
        state.connection = Some(connection.clone());
        Ok(connection)
    }

    /// Takes the zone of the world itself, or joins the servers that share it.
    pub async fn open(&self) -> Result<(), LeaseFailure> {
        let mut state = self.state.lock().await;
        match &self.share {
            Some(share) => self.join(share, &mut state).await,
            None => self.take(&mut state, &[Zone::WORLD.0]).await,
        }
    }

    /// Takes those of `zones` that are not held.
    async fn take(
        &self,
        state: &mut MutexGuard<'_, Holdings>,
        zones: &[i64],
    ) -> Result<(), LeaseFailure> {
        let is_missing = |zone: &&i64| !state.held.contains_key(zone);
        let missing: Vec<i64> = zones.iter().filter(is_missing).copied().collect();
        if missing.is_empty() {
            return Ok(());
        }
        let connection = self.connection(state).await?;
        let Writer { world, lease, .. } = *self;
        // With the world come all other zones.
        let takes_over = self.takes_over && missing == [Zone::WORLD.0];
        let sql = lease::TAKE;
        let claim = Claim { world, owner: &self.owner, lease, takes_over, sql };
        let taken = lease::take(&connection, claim, &missing).await?;
        state.held.extend(taken);
        Ok(())
    }

    /// Takes zones; retries transient failures.
    async fn take_patiently(
        &self,
        state: &mut MutexGuard<'_, Holdings>,
        zones: &[i64],
    ) -> Result<(), CommitFailure> {
        let end = self.connector.retry_end();
        for attempt in 0.. {
            match self.take(state, zones).await {
                Ok(()) => return Ok(()),
                Err(LeaseFailure::Held { zone, owner }) if state.held.contains_key(&zone) => {
                    return Err(taken_over(&owner, zone));
                }
                Err(LeaseFailure::Held { zone, owner }) => {
                    let what = format!("{} is written by {owner}", Zone(zone));
                    let error = io::Error::new(io::ErrorKind::WouldBlock, what);
                    return Err(CommitFailure::Unchanged(error));
                }
                Err(LeaseFailure::Failed(failure)) => {
                    if !failure.is_transient || Instant::now() > end {
                        return Err(CommitFailure::Unchanged(failure.into_io()));
                    }
                }
            }
            tokio::time::sleep(pause(attempt)).await;
        }
        unreachable!("the time ends")
    }

    /// Makes all changes, or none.
    pub async fn commit(&self, changes: RecordChanges) -> Result<(), CommitFailure> {
        let batch = Batch::of(changes, self.share.is_some()).map_err(CommitFailure::Unchanged)?;
        let zones = batch.zones();
        let mut state = self.state.lock().await;
        match &self.share {
            Some(_) if zones.is_empty() => return Ok(()),
            Some(_) => share::check_held(&state.held, &zones)?,
            None => self.take_patiently(&mut state, &zones).await?,
        }
        let end = self.connector.retry_end();
        // Whether an earlier attempt may have committed.
        let mut is_unsure = false;
        for attempt in 0.. {
            let failure = match self.attempt(&mut state, &zones, &batch).await {
                Ok(Attempt::Done) => {
                    self.advance(&mut state, &zones);
                    return Ok(());
                }
                Ok(Attempt::NotHeld) => match self.verdict(&mut state, &zones, is_unsure).await {
                    Ok(Some(verdict)) => return verdict,
                    Ok(None) => None,
                    Err(failure) => Some(failure),
                },
                Err(failed) => {
                    is_unsure = (is_unsure && !failed.was_held) || failed.is_unsure;
                    Some(failed.failure)
                }
            };
            let is_over = Instant::now() > end;
            let failure = failure.or_else(|| is_over.then(RequestFailure::disturbed));
            if let Some(failure) = failure.filter(|failure| is_over || !failure.is_transient) {
                return Err(match is_unsure {
                    true => CommitFailure::Unsure(failure.into_io()),
                    false => CommitFailure::Unchanged(failure.into_io()),
                });
            }
            tokio::time::sleep(pause(attempt)).await;
        }
        unreachable!("the time ends")
    }

    /// Notes that a commit is done.
    fn advance(&self, state: &mut MutexGuard<'_, Holdings>, zones: &[i64]) {
        for zone in zones {
            if let Some(held) = state.held.get_mut(zone) {
                held.head += 1;
            }
        }
    }

    /// Runs the transaction once.
    async fn attempt(
        &self,
        state: &mut MutexGuard<'_, Holdings>,
        zones: &[i64],
        batch: &Batch,
    ) -> Result<Attempt, AttemptFailure> {
        let before = |failure| AttemptFailure { failure, was_held: false, is_unsure: false };
        let connection = self.connection(state).await.map_err(before)?;
        for sql in [FENCE, PUT, REMOVE, LOG, EXTEND] {
            connection.statement(sql).await.map_err(before)?;
        }
        if self.share.is_some() {
            connection.statement(share::HOLD).await.map_err(before)?;
        }
        let held: Vec<HeldZone> =
            zones.iter().filter_map(|zone| state.held.get(zone)).copied().collect();
        let is_held = match self.send(&connection, zones, &held, batch).await {
            Ok(is_held) => is_held,
            Err(failure) => {
                // The next attempt needs the connection without a transaction.
                if !failure.is_answer || connection.run("rollback").await.is_err() {
                    state.connection = None;
                }
                return Err(before(failure));
            }
        };
        if !is_held {
            if connection.run("rollback").await.is_err() {
                state.connection = None;
            }
            return Ok(Attempt::NotHeld);
        }
        match connection.run("commit").await {
            Ok(()) => Ok(Attempt::Done),
            Err(failure) => {
                let is_unsure = !failure.is_answer;
                state.connection = None;
                Err(AttemptFailure { failure, was_held: true, is_unsure })
            }
        }
    }

    /// Sends all of a transaction but its end, at once; returns whether its zones are held.
    async fn send(
        &self,
        connection: &Connection,
        zones: &[i64],
        held: &[HeldZone],
        batch: &Batch,
    ) -> Result<bool, RequestFailure> {
        let epochs: Vec<i64> = held.iter().map(|held| held.epoch).collect();
        let heads: Vec<i64> = held.iter().map(|held| held.head).collect();
        let log_keys: Vec<&[u8]> = batch.log_keys.values().map(Vec::as_slice).collect();
        let (world, lease) = (self.world, self.lease.as_secs_f64());
        let fence = async {
            let owner = &self.owner;
            let held = [&world as &(dyn ToSql + Sync), &zones, &epochs, &heads, &lease, owner];
            connection.execute(FENCE, &held).await
        };
        let remove = async {
            match batch.removed_keys.is_empty() {
                true => Ok(0),
                false => connection.execute(REMOVE, &[&world, &batch.removed_keys]).await,
            }
        };
        let log = async {
            let values: [&(dyn ToSql + Sync); 5] = [&world, &zones, &epochs, &heads, &log_keys];
            connection.execute_large(LOG, &values, batch.log_bytes()).await
        };
        let parts = batch.put_parts();
        let changes = async {
            let (last, first) = parts.split_last().unzip();
            for part in first.unwrap_or_default() {
                self.put(connection, batch, part).await?;
            }
            let last = async {
                match last {
                    Some(part) => self.put(connection, batch, part).await,
                    None => Ok(()),
                }
            };
            // Deleting needs no order beside the others.
            let (put, removed, logged, extended) =
                tokio::join!(biased; last, remove, log, self.extend(connection));
            put?;
            removed?;
            logged?;
            extended
        };
        // What came outside of a transaction would be kept without the rest.
        connection.run(&self.begin(batch.largest_statement())).await?;
        // In this order, without waiting for each answer.
        let (fenced, changed) = tokio::join!(biased; fence, changes);
        // One row is expected of the last statement; there is none if another writer has a shared
        // world.
        let is_held = fenced? == zones.len() as u64 && changed? != 0;
        if is_held {
            for (&zone, held) in zones.iter().zip(held) {
                log::trim(connection, self.world, zone, held.head, self.idle()).await?;
            }
        }
        Ok(is_held)
    }

    /// Puts some of the records of a batch.
    async fn put(
        &self,
        connection: &Connection,
        batch: &Batch,
        part: &Range<usize>,
    ) -> Result<(), RequestFailure> {
        let [keys, values] = [&batch.put_keys, &batch.put_values].map(|of| &of[part.clone()]);
        let (hashes, bytes) = (&batch.put_hashes[part.clone()], values.iter().map(Vec::len).sum());
        let values: [&(dyn ToSql + Sync); 4] = [&self.world, &keys, &hashes, &values];
        connection.execute_large(PUT, &values, bytes).await.map(drop)
    }

    /// Holds the world until the transaction ends; returns 0 if another writer has a shared one.
    async fn extend(&self, connection: &Connection) -> Result<u64, RequestFailure> {
        let (world, lease) = (self.world, self.lease.as_secs_f64());
        match &self.share {
            Some(share) => share.hold(connection, world).await,
            None => connection.execute(EXTEND, &[&world, &Zone::WORLD.0, &lease]).await,
        }
    }

    /// Begins a transaction, which the server ends after some time without a statement: a writer
    /// that vanishes would lock its zones for as long as TCP waits, and one that stalls would lock
    /// them beyond its lease. Receiving a statement, of which the largest has `bytes`, counts as
    /// that, too.
    pub fn begin(&self, bytes: usize) -> String {
        begin(self.idle(), bytes)
    }

    /// Time without a statement after which the server ends a transaction.
    fn idle(&self) -> Duration {
        self.connector.answer_time().min(self.lease)
    }

    /// Why zones were not as expected: an earlier attempt committed after all, or another writer
    /// has them. `None` if they are as expected now.
    async fn verdict(
        &self,
        state: &mut MutexGuard<'_, Holdings>,
        zones: &[i64],
        is_unsure: bool,
    ) -> Result<Option<Result<(), CommitFailure>>, RequestFailure> {
        let connection = self.connection(state).await?;
        if is_unsure && self.is_logged(&connection, state, zones).await? {
            self.advance(state, zones);
            return Ok(Some(Ok(())));
        }
        if let Some(share) = &self.share
            && let Some(owner) = share.successor(&connection, self.world).await?
        {
            return Ok(Some(Err(taken_over(&owner, Zone::WORLD.0))));
        }
        let rows = lease::look(&connection, self.world, zones).await?;
        for row in &rows {
            let is_held = state.held.get(&row.zone);
            if is_held.is_some_and(|ours| ours.epoch != row.held.epoch || row.owner != self.owner) {
                return Ok(Some(Err(taken_over(&row.owner, row.zone))));
            }
        }
        let is_ours = |zone: &i64| {
            let row = rows.iter().find(|row| row.zone == *zone);
            row.is_some_and(|row| state.held.get(zone) == Some(&row.held))
        };
        if zones.iter().all(is_ours) {
            return Ok(None);
        }
        let what = "the zones of the world were changed by another program".to_owned();
        Ok(Some(Err(CommitFailure::Fenced(what))))
    }

    /// Whether the log has the next entry of this writer: also if another one wrote after it.
    async fn is_logged(
        &self,
        connection: &Connection,
        state: &MutexGuard<'_, Holdings>,
        zones: &[i64],
    ) -> Result<bool, RequestFailure> {
        // All zones of a commit have it, or none.
        let Some((zone, held)) = zones.first().and_then(|zone| state.held.get_key_value(zone))
        else {
            return Ok(false);
        };
        let next = held.head + 1;
        let rows = connection.query(LOGGED, &[&self.world, zone, &next, &held.epoch]).await?;
        Ok(!rows.is_empty())
    }

    /// Renews the lease until another writer has the world, or a column that was held here.
    pub async fn keep(self: Arc<Writer>) {
        let mut connection: Option<Connection> = None;
        let mut failures = 0;
        let interval = self.lease / 3;
        loop {
            let wait = if failures == 0 { interval } else { interval.min(pause(failures)) };
            tokio::time::sleep(wait).await;
            // Within the lease there is time for a second try, on another connection. To make that
            // may take longer than the lease.
            let prefers_own = failures % 2 == 1;
            let renewal = self.renew_once(&mut connection, prefers_own);
            match tokio::time::timeout(interval, renewal).await {
                Ok(Ok(0)) => return self.is_lost.store(true, Ordering::Release),
                Ok(Ok(_)) => {
                    failures = 0;
                    self.give_back_unsure();
                }
                Ok(Err(_)) | Err(_) => failures += 1,
            }
        }
    }

    /// Renews the lease of the world; returns 0 if another writer has it. It takes one round trip
    /// on the connection of the writer, unless that is committing, or `prefers_own`; and about
    /// eight to make one of its own.
    async fn renew_once(
        &self,
        own: &mut Option<Connection>,
        prefers_own: bool,
    ) -> Result<u64, RequestFailure> {
        let state = if prefers_own { None } else { self.state.try_lock().ok() };
        if let Some(mut state) = state
            && let Some(open) = state.connection.take_if(|open| open.is_usable())
        {
            // A connection that fails, or does not answer in time, is not put back.
            let renewed = self.renew_on(&open).await?;
            state.connection = Some(open);
            return Ok(renewed);
        }
        let open = match own.take().filter(Connection::is_usable) {
            Some(open) => open,
            None => {
                let open = self.connector.connect().await?;
                // A commit locks the row that is to be renewed, and renews it itself. The server
                // does not see that a connection which waits for a lock was given up.
                let limit_ms = (self.lease / 4).as_millis();
                open.run(&format!("set lock_timeout = {limit_ms}")).await?;
                open
            }
        };
        let renewed = self.renew_on(&open).await?;
        *own = Some(open);
        Ok(renewed)
    }

    async fn renew_on(&self, open: &Connection) -> Result<u64, RequestFailure> {
        match &self.share {
            Some(share) => self.renew_share(share, open).await,
            None => lease::renew(open, self.world, &self.owner, self.lease.as_secs_f64()).await,
        }
    }

    /// How another writer took the world over, as far as renewing the lease showed.
    pub fn taken_over(&self) -> Option<String> {
        let is_lost = self.is_lost.load(Ordering::Acquire);
        let what = match &self.share {
            Some(_) => "the world or a column of it".to_owned(),
            None => Zone::WORLD.to_string(),
        };
        is_lost.then(|| format!("another program took {what} over"))
    }

    /// Gives the world up.
    pub async fn close(self: Arc<Writer>) {
        let mut state = self.state.lock().await;
        if let Some(share) = &self.share {
            return self.leave(share, &mut state).await;
        }
        if let Ok(connection) = self.connection(&mut state).await {
            // Otherwise the lease ends by itself.
            let _ = lease::renew(&connection, self.world, &self.owner, -1.0).await;
        }
    }
}

/// Why this writer no longer writes.
fn taken_over(owner: &str, zone: i64) -> CommitFailure {
    CommitFailure::Fenced(format!("{owner} took {} over", Zone(zone)))
}
