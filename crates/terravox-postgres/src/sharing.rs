//! The requests of a server that shares a world: it joins the others, claims and releases columns,
//! renews its lease, and leaves.

use crate::connection::Connection;
use crate::failure::RequestFailure;
use crate::lease::{self, Claim, HeldZone, LeaseFailure};
use crate::schema;
use crate::share::{
    ADD_COLUMNS, CLAIM, LEAVE, LOCK_FREE, LOCK_WORLD, NAMESAKE, REGISTER, RELEASE, RELEASE_ALL,
    RELEASE_ALL_UNWRITTEN, RELEASE_UNWRITTEN, REMOVE_DEAD, REMOVE_PREDECESSORS, REMOVE_UNWRITTEN,
    RENEW, RENEW_WORLD, SHARED, STILL_HELD, Share, TAKE_ADDRESS, UNREGISTER,
};
use crate::writer::{Holdings, Writer};
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};
use terravox_store::Zone;
use tokio_postgres::types::ToSql;

/// What came of a claim.
pub(crate) struct ClaimOutcome {
    pub held: Vec<i64>,
    /// The numbers of the last commits of the columns that are new.
    pub heads: Vec<(i64, i64)>,
}

fn has_left() -> RequestFailure {
    RequestFailure::permanent(io::ErrorKind::NotConnected, "the world is closed".to_owned())
}

impl Writer {
    /// Joins the servers that share the world; waits for the lease of a writer that has it alone.
    pub async fn join(&self, share: &Share, state: &mut Holdings) -> Result<(), LeaseFailure> {
        let connection = self.connection(state).await?;
        let (world, lease) = (self.world, self.lease);
        schema::make_servers(&connection).await?;
        connection.execute(REMOVE_DEAD, &[&world]).await?;
        connection.execute(REMOVE_UNWRITTEN, &[&world]).await?;
        let (takes_over, sql) = (self.takes_over, lease::JOIN);
        let claim = Claim { world, owner: SHARED, lease, takes_over, sql };
        let joined = self.join_as(share, &connection, claim).await;
        match joined {
            Ok(epoch) => {
                share.epoch.store(epoch, Ordering::Release);
                Ok(())
            }
            Err(failure) => {
                // If this fails, the rows end by themselves.
                self.unregister(share, &connection).await;
                Err(failure)
            }
        }
    }

    /// Takes the address and joins under it; returns the epoch of the world.
    async fn join_as(
        &self,
        share: &Share,
        connection: &Connection,
        claim: Claim<'_>,
    ) -> Result<i64, LeaseFailure> {
        let seconds = self.lease.as_secs_f64();
        let row: [&(dyn ToSql + Sync); 4] = [&self.world, &self.owner, &share.address, &seconds];
        // First, so that one that leaves meanwhile does not give the world up.
        connection.execute(REGISTER, &row).await?;
        self.wait_for_address(share, connection, self.lease * 3 / 2).await?;
        let taken = lease::take(connection, claim, &[Zone::WORLD.0]).await?;
        // Waiting for the world may have taken longer than a lease: then another one may have the
        // address.
        self.wait_for_address(share, connection, Duration::ZERO).await?;
        connection.execute(REGISTER, &row).await?;
        connection.execute(REMOVE_PREDECESSORS, &row[..3]).await?;
        Ok(taken.get(&Zone::WORLD.0).map_or(0, |held| held.epoch))
    }

    /// Takes the address of this server, once no other one has it: one that was killed and started
    /// again is gone after its lease. Two that live are a mistake, and one of them is refused, also
    /// if they start at once.
    async fn wait_for_address(
        &self,
        share: &Share,
        connection: &Connection,
        patience: Duration,
    ) -> Result<(), LeaseFailure> {
        let (end, seconds) = (Instant::now() + patience, self.lease.as_secs_f64());
        let address_row = share.address_row();
        loop {
            let row = [&self.world as &(dyn ToSql + Sync), &address_row, &self.owner, &seconds];
            if !connection.query(TAKE_ADDRESS, &row).await?.is_empty() {
                return Ok(());
            }
            if Instant::now() > end {
                let rows = connection.query(NAMESAKE, &[&self.world, &address_row]).await?;
                let owner: String = rows.first().map_or(String::new(), |row| row.get(0));
                let owner = format!(
                    "{owner} under this address, {} (each server needs its own: --share HOST:PORT)",
                    share.address
                );
                return Err(LeaseFailure::Held { zone: Zone::WORLD.0, owner });
            }
            tokio::time::sleep(self.lease / 20).await;
        }
    }

    /// Removes the rows of this server.
    async fn unregister(&self, share: &Share, connection: &Connection) {
        let rows = [&self.world as &(dyn ToSql + Sync), &self.owner, &share.address_row()];
        // If it fails, they end by themselves, with the lease.
        let _ = connection.execute(UNREGISTER, &rows).await;
    }

    /// Claims columns; returns those that are held now, and what is new. Columns of earlier claims
    /// without an answer are claimed with them, and given back: what became of those claims is
    /// known then, also if one is still under way.
    pub async fn claim(
        &self,
        share: &Share,
        columns: &[i64],
    ) -> Result<ClaimOutcome, RequestFailure> {
        let mut state = self.state.lock().await;
        if share.has_left.load(Ordering::Acquire) {
            return Err(has_left());
        }
        let is_new =
            |column: &&i64| !state.held.contains_key(column) && !state.unsure.contains(column);
        let new: Vec<i64> = columns.iter().filter(is_new).copied().collect();
        let wanted: BTreeSet<i64> = columns.iter().copied().collect();
        let mut heads = Vec::new();
        if !(new.is_empty() && state.unsure.is_empty()) {
            let unsure: Vec<i64> = state.unsure.iter().copied().collect();
            let connection = self.connection(&mut state).await?;
            let mut is_unsure = false;
            let asked = [&unsure[..], &new[..]];
            let taken = self.claim_in(share, &connection, asked, &mut is_unsure).await;
            if taken.is_err() {
                // It may be in a transaction.
                state.drop_connection();
            }
            if is_unsure {
                state.unsure.extend(&new);
            }
            let (taken, strays): (BTreeMap<_, _>, BTreeMap<_, _>) =
                taken?.into_iter().partition(|(column, _)| wanted.contains(column));
            for (column, held) in taken {
                heads.push((column, held.head));
                state.held.insert(column, held);
                share.add(column);
            }
            state.unsure = strays.keys().copied().collect();
            // If it fails, it is tried again.
            if !strays.is_empty() && self.release_in(&connection, &strays).await.is_ok() {
                state.unsure.clear();
            }
        }
        let is_held = |column: &&i64| state.held.contains_key(column);
        let held = columns.iter().filter(is_held).copied().collect();
        Ok(ClaimOutcome { held, heads })
    }

    /// Gives columns back of claims without an answer and of releases that failed, if there are
    /// some, without waiting for that.
    pub fn give_back_unsure(self: &Arc<Writer>) {
        let is_due = self.state.try_lock().is_ok_and(|state| !state.unsure.is_empty());
        if is_due {
            let writer = self.clone();
            tokio::spawn(async move {
                if let Some(share) = &writer.share {
                    // It is tried again after the next renewal.
                    drop(writer.claim(share, &[]).await);
                }
            });
        }
    }

    /// The transaction of a claim: of columns of which an earlier claim or release may be under way,
    /// and of new ones. Notes whether the commit was sent and had no answer.
    async fn claim_in(
        &self,
        share: &Share,
        connection: &Connection,
        [unsure, new]: [&[i64]; 2],
        is_unsure: &mut bool,
    ) -> Result<Vec<(i64, HeldZone)>, RequestFailure> {
        connection.run(&self.begin(0)).await?;
        if share.hold(connection, self.world).await? == 0 {
            let what = "another program took the world over".to_owned();
            return Err(RequestFailure::permanent(io::ErrorKind::PermissionDenied, what));
        }
        let all = [unsure, new].concat();
        connection.execute(ADD_COLUMNS, &[&self.world, &all]).await?;
        // What became of the earlier requests has to be known.
        connection.query(lease::LOCK, &[&self.world, &unsure]).await?;
        let free = connection.query(LOCK_FREE, &[&self.world, &new]).await?;
        let locked: Vec<i64> =
            unsure.iter().copied().chain(free.iter().map(|row| row.get(0))).collect();
        let rows = connection.query(CLAIM, &[&self.world, &locked, &self.owner]).await?;
        let committed = connection.run("commit").await;
        *is_unsure = committed.as_ref().is_err_and(|failure| !failure.is_answer);
        committed?;
        let held = |row: &tokio_postgres::Row| HeldZone { epoch: row.get(1), head: row.get(2) };
        Ok(rows.iter().map(|row| (row.get(0), held(row))).collect())
    }

    /// Lets others claim columns.
    async fn release_in(
        &self,
        connection: &Connection,
        held: &BTreeMap<i64, HeldZone>,
    ) -> Result<(), RequestFailure> {
        let columns: Vec<i64> = held.keys().copied().collect();
        let epochs: Vec<i64> = held.values().map(|held| held.epoch).collect();
        let rows = [&self.world as &(dyn ToSql + Sync), &columns, &self.owner, &epochs];
        connection.execute(RELEASE_UNWRITTEN, &rows).await?;
        connection.execute(RELEASE, &rows).await.map(drop)
    }

    /// Gives columns up, after all commits to them: others may claim them at once. Returns the
    /// numbers of the last commits, and whether it is done.
    pub async fn release(
        &self,
        share: &Share,
        columns: &[i64],
    ) -> (Vec<(i64, i64)>, Result<(), RequestFailure>) {
        let mut state = self.state.lock().await;
        let mut ended = BTreeMap::new();
        // From now on nothing is written to them, also if this fails: then it is tried again with
        // the next renewal.
        for column in columns {
            ended.extend(state.held.remove(column).map(|held| (*column, held)));
            share.columns().remove(column);
        }
        let released = async {
            let connection = self.connection(&mut state).await?;
            self.release_in(&connection, &ended).await
        };
        let released = released.await;
        // Of others it is not known whether the database has them as this writer's.
        let is_unsure = |column: &&i64| released.is_err() || !ended.contains_key(column);
        state.unsure.extend(columns.iter().filter(is_unsure));
        (ended.into_iter().map(|(column, held)| (column, held.head)).collect(), released)
    }

    /// Renews the lease of this server; returns 0 if another writer has the world or a column that
    /// is held here.
    pub async fn renew_share(
        &self,
        share: &Share,
        connection: &Connection,
    ) -> Result<u64, RequestFailure> {
        let (world, seconds) = (self.world, self.lease.as_secs_f64());
        let (epoch, address_row) = (share.epoch(), share.address_row());
        let claims = share.columns().clone();
        let columns: Vec<i64> = claims.keys().copied().collect();
        let (renewed, whole, held) = tokio::join!(biased;
            async {
                let rows = [&world as &(dyn ToSql + Sync), &self.owner, &seconds, &address_row];
                connection.execute(RENEW, &rows).await
            },
            async { connection.execute(RENEW_WORLD, &[&world, &epoch, &seconds]).await },
            async { connection.query(STILL_HELD, &[&world, &epoch, &columns, &self.owner]).await });
        let (renewed, _, held) = (renewed?, whole?, held?);
        let held: BTreeSet<i64> = held.iter().map(|row| row.get(0)).collect();
        // One that was given up meanwhile is not lost, also if it has been claimed again since.
        let is_kept = |(column, claim): (&i64, &u64)| {
            held.contains(column) || share.columns().get(column) != Some(claim)
        };
        let is_held = held.contains(&Zone::WORLD.0) && claims.iter().all(is_kept);
        // Two rows: another server under this address is a takeover, too.
        Ok(u64::from(renewed == 2 && is_held))
    }

    /// Gives all columns up, and the world if no other server shares it.
    pub async fn leave(&self, share: &Share, state: &mut Holdings) {
        share.has_left.store(true, Ordering::Release);
        state.held.clear();
        share.columns().clear();
        let Ok(connection) = self.connection(state).await else { return };
        let (world, owner) = (self.world, &self.owner);
        // What fails ends by itself, with the lease.
        let _ = connection.execute(RELEASE_ALL_UNWRITTEN, &[&world, owner]).await;
        let _ = connection.execute(RELEASE_ALL, &[&world, owner]).await;
        self.unregister(share, &connection).await;
        let _ = self.leave_world(share, &connection).await;
    }

    /// Gives the world up if no other server shares it.
    async fn leave_world(
        &self,
        share: &Share,
        connection: &Connection,
    ) -> Result<(), RequestFailure> {
        connection.run(&self.begin(0)).await?;
        connection.query(LOCK_WORLD, &[&self.world]).await?;
        connection.execute(LEAVE, &[&self.world, &SHARED, &share.epoch()]).await?;
        connection.run("commit").await
    }
}
