//! What a server does that shares a world: it joins the others, claims and releases columns, renews its lease, and
//! leaves.

use crate::connection::Connection;
use crate::failure::RequestFailure;
use crate::lease::{self, Claim, HeldZone, LeaseFailure};
use crate::schema;
use crate::share::{
    CLAIM, COUNT_HELD, LEAVE, NAMESAKES, REGISTER, RELEASE, RELEASE_ALL, REMOVE_DEAD, RENEW,
    RENEW_WORLD, SHARED, Share, UNREGISTER,
};
use crate::writer::{Holdings, Writer};
use std::io;
use std::sync::atomic::Ordering;
use std::time::Instant;
use terravox_store::Zone;
use tokio_postgres::types::ToSql;

/// What came of a claim.
pub(crate) struct Claimed {
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
        // First, so that one that leaves meanwhile does not give the world up.
        let seconds = lease.as_secs_f64();
        let row: [&(dyn ToSql + Sync); 4] = [&world, &self.owner, &share.address, &seconds];
        connection.execute(REGISTER, &row).await?;
        let (takes_over, sql) = (self.takes_over, lease::JOIN);
        let claim = Claim { world, owner: SHARED, lease, takes_over, sql };
        let taken = match self.wait_for_namesake(share, &connection).await {
            Ok(()) => lease::take(&connection, claim, &[Zone::WORLD.0]).await,
            Err(failure) => Err(failure),
        };
        match taken {
            Ok(taken) => {
                let epoch = taken.get(&Zone::WORLD.0).map_or(0, |held| held.epoch);
                share.epoch.store(epoch, Ordering::Release);
                // Waiting for the world may have taken longer than a lease.
                connection.execute(REGISTER, &row).await?;
                Ok(())
            }
            Err(failure) => {
                // If this fails, the row ends by itself.
                let _ = connection.execute(UNREGISTER, &[&world, &self.owner]).await;
                Err(failure)
            }
        }
    }

    /// Waits until no other server has the address of this one: one that was killed and started again is gone
    /// after its lease. Two that live are a mistake.
    async fn wait_for_namesake(
        &self,
        share: &Share,
        connection: &Connection,
    ) -> Result<(), LeaseFailure> {
        let end = Instant::now() + self.lease * 3 / 2;
        loop {
            let named = [&self.world as &(dyn ToSql + Sync), &self.owner, &share.address];
            let rows = connection.query(NAMESAKES, &named).await?;
            match rows.first() {
                None => return Ok(()),
                Some(row) if Instant::now() > end => {
                    let owner: String = row.get(0);
                    let owner = format!("{owner} under this address, {}", share.address);
                    return Err(LeaseFailure::Held { zone: Zone::WORLD.0, owner });
                }
                Some(_) => tokio::time::sleep(self.lease / 20).await,
            }
        }
    }

    /// Claims columns; returns those that are held now, and what is new.
    pub async fn claim(&self, share: &Share, columns: &[i64]) -> Result<Claimed, RequestFailure> {
        let mut state = self.state.lock().await;
        if share.has_left.load(Ordering::Acquire) {
            return Err(has_left());
        }
        let is_new = |column: &&i64| !state.held.contains_key(column);
        let new: Vec<i64> = columns.iter().filter(is_new).copied().collect();
        let mut heads = Vec::new();
        if !new.is_empty() {
            let connection = self.connection(&mut state).await?;
            let taken = self.claim_in(share, &connection, &new).await;
            if taken.is_err() {
                // It may be in a transaction.
                state.drop_connection();
            }
            for (column, held) in taken? {
                heads.push((column, held.head));
                state.held.insert(column, held);
                share.columns().insert(column);
            }
        }
        let is_held = |column: &&i64| state.held.contains_key(column);
        let held = columns.iter().filter(is_held).copied().collect();
        Ok(Claimed { held, heads })
    }

    /// The transaction of a claim.
    async fn claim_in(
        &self,
        share: &Share,
        connection: &Connection,
        columns: &[i64],
    ) -> Result<Vec<(i64, HeldZone)>, RequestFailure> {
        connection.run(&self.begin()).await?;
        if share.hold(connection, self.world).await? == 0 {
            let what = "another program took the world over".to_owned();
            return Err(RequestFailure::permanent(io::ErrorKind::PermissionDenied, what));
        }
        let rows = connection.query(CLAIM, &[&self.world, &columns, &self.owner]).await?;
        connection.run("commit").await?;
        let held = |row: &tokio_postgres::Row| HeldZone { epoch: row.get(1), head: row.get(2) };
        Ok(rows.iter().map(|row| (row.get(0), held(row))).collect())
    }

    /// Gives columns up, after all commits to them: others may claim them at once. Returns the numbers of
    /// the last commits, and whether it is done.
    pub async fn release(
        &self,
        share: &Share,
        columns: &[i64],
    ) -> (Vec<(i64, i64)>, Result<(), RequestFailure>) {
        let mut state = self.state.lock().await;
        let mut heads = Vec::new();
        // From now on nothing is written to them, also if this fails: then it is tried again.
        for column in columns {
            heads.extend(state.held.remove(column).map(|held| (*column, held.head)));
            share.columns().remove(column);
        }
        let released = async {
            let connection = self.connection(&mut state).await?;
            connection.execute(RELEASE, &[&self.world, &columns, &self.owner]).await.map(drop)
        };
        let released = released.await;
        (heads, released)
    }

    /// Renews the lease of this server; returns 0 if another writer has the world or a column that
    /// is held here.
    pub async fn renew_share(
        &self,
        share: &Share,
        connection: &Connection,
    ) -> Result<u64, RequestFailure> {
        let (world, seconds) = (self.world, self.lease.as_secs_f64());
        let epoch = share.epoch();
        let columns: Vec<i64> = share.columns().iter().copied().collect();
        let (renewed, whole, counted) = tokio::join!(biased;
            async { connection.execute(RENEW, &[&world, &self.owner, &seconds]).await },
            async { connection.execute(RENEW_WORLD, &[&world, &epoch, &seconds]).await },
            async { connection.query(COUNT_HELD, &[&world, &epoch, &columns, &self.owner]).await });
        let (renewed, _, counted) = (renewed?, whole?, counted?);
        let count = |column| counted.first().map_or(0, |row| row.get::<_, i64>(column));
        // Those that were given up meanwhile count as held still.
        let gone = |column: &i64| !share.columns().contains(column);
        let given_up = columns.iter().filter(|column| gone(column)).count() as i64;
        let is_held = count(0) == 1 && count(1) + given_up >= columns.len() as i64;
        Ok(u64::from(renewed == 1 && is_held))
    }

    /// Gives all columns up, and the world if no other server shares it.
    pub async fn leave(&self, share: &Share, state: &mut Holdings) {
        share.has_left.store(true, Ordering::Release);
        state.held.clear();
        share.columns().clear();
        let Ok(connection) = self.connection(state).await else { return };
        let (world, owner) = (self.world, &self.owner);
        // What fails ends by itself, with the lease.
        let _ = connection.execute(RELEASE_ALL, &[&world, owner]).await;
        let _ = connection.execute(UNREGISTER, &[&world, owner]).await;
        let _ = connection.execute(LEAVE, &[&world, &SHARED, &share.epoch()]).await;
    }
}
