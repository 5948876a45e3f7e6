//! What is known of a world that several servers share, and the statements for it.
//!
//! Each server has a row with the time of its lease, so that renewing costs the same however many
//! columns it has; the row of a column has its owner and an epoch. A column may be claimed if its
//! owner's lease has ended, or has none. As with [`crate::writer`], the epoch fences, and time only
//! says when to take over. The zone of the world belongs to all servers that share it: a commit
//! holds its row, so that a writer that takes the whole world fences all of them at once.

use crate::connection::{Connection, ViewPool};
use crate::failure::RequestFailure;
use crate::lease::HeldZone;
use std::collections::BTreeMap;
use std::io;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use terravox_store::{Column, ColumnOwner, CommitFailure, Zone};

/// The owner of the zone of a world that is shared.
pub(crate) const SHARED: &str = "several servers";

pub(crate) const REGISTER: &str = "
    insert into terravox_servers (world, owner, address, until)
    values ($1, $2, $3, clock_timestamp() + $4::float8 * interval '1 second')
    on conflict (world, owner) do update set until = excluded.until";

/// Takes the address of a server, which one of them has at a time: a row of its own, so that of two
/// that start at once one gets it. Its owner is [`address_row`], its address is the owner of the
/// server.
pub(crate) const TAKE_ADDRESS: &str = "
    insert into terravox_servers (world, owner, address, until)
    values ($1, $2, $3, clock_timestamp() + $4::float8 * interval '1 second')
    on conflict (world, owner) do update set address = excluded.address,
        until = clock_timestamp() + $4::float8 * interval '1 second'
        where terravox_servers.address = excluded.address
            or terravox_servers.until < clock_timestamp()
    returning owner";

/// Which server has an address.
pub(crate) const NAMESAKE: &str = "
    select address from terravox_servers where world = $1 and owner = $2";

/// Rows of servers that ended without leaving.
pub(crate) const REMOVE_DEAD: &str = "
    delete from terravox_servers
    where world = $1 and until < clock_timestamp() - interval '1 hour'";

/// Removes the rows of earlier servers of an address, once that is this one's: they were killed or
/// cut off. No server has their columns then. It is fenced for them as for any whose row is gone.
pub(crate) const REMOVE_PREDECESSORS: &str = "
    delete from terravox_servers
    where world = $1 and owner <> $2 and address = $3 and until < clock_timestamp()";

/// Removes the rows of columns that were never written, of servers that ended without leaving. No
/// late commit is let through by that: it names its owner.
pub(crate) const REMOVE_UNWRITTEN: &str = "
    delete from terravox_zones where world = $1 and zone < -1 and head = 0 and not exists (
        select 1 from terravox_servers
        where terravox_servers.world = terravox_zones.world
            and terravox_servers.owner = terravox_zones.owner)";

/// Holds the zone of the world as it was joined until the transaction ends. Renewing its lease does
/// not wait for that; a program that takes the world locks the row before ([`crate::lease::LOCK`]),
/// and does.
pub(crate) const HOLD: &str = "
    select zone from terravox_zones where world = $1 and zone = -1 and epoch = $2 for key share";

const SUCCESSOR: &str = "
    select owner from terravox_zones where world = $1 and zone = -1 and epoch <> $2";

/// Makes the rows of columns that have none. Rows of columns that were never written come and go:
/// the first epoch is the time in microseconds, so that none is there twice, and the log tells a
/// commit from one of an earlier row.
pub(crate) const ADD_COLUMNS: &str = "
    insert into terravox_zones (world, zone, epoch, head, owner, until)
    select $1::bigint, new.zone, (extract(epoch from clock_timestamp()) * 1000000)::bigint, 0, '',
        clock_timestamp()
    from unnest($2::bigint[]) as new(zone)
    on conflict (world, zone) do nothing";

/// Locks the rows of columns for a claim, but not those that a transaction has: what commits to a
/// column is alive, and this writer's own commits do not wait for it.
pub(crate) const LOCK_FREE: &str = "
    select zone from terravox_zones where world = $1 and zone = any($2::bigint[])
    order by zone for update skip locked";

/// Takes columns whose rows are locked ([`LOCK_FREE`]): only a statement that begins after that
/// sees who renewed a lease meanwhile.
pub(crate) const CLAIM: &str = "
    update terravox_zones set epoch = terravox_zones.epoch + 1, owner = $3::text,
        until = clock_timestamp()
    where terravox_zones.world = $1 and terravox_zones.zone = any($2::bigint[])
        and (terravox_zones.owner = $3::text or not exists (
            select 1 from terravox_servers
            where terravox_servers.world = terravox_zones.world
                and terravox_servers.owner = terravox_zones.owner
                and terravox_servers.until >= clock_timestamp()))
    returning zone, epoch, head";

/// Before [`RELEASE`]: a column that was never written needs no row.
pub(crate) const RELEASE_UNWRITTEN: &str = "
    delete from terravox_zones using unnest($2::bigint[], $4::bigint[]) as held(zone, epoch)
    where terravox_zones.world = $1 and terravox_zones.zone = held.zone
        and terravox_zones.epoch = held.epoch
        and terravox_zones.owner = $3 and terravox_zones.head = 0";

/// Of one that comes late, the columns may have been claimed again: it names their epochs.
pub(crate) const RELEASE: &str = "
    update terravox_zones set owner = ''
    from unnest($2::bigint[], $4::bigint[]) as held(zone, epoch)
    where terravox_zones.world = $1 and terravox_zones.zone = held.zone
        and terravox_zones.epoch = held.epoch and terravox_zones.owner = $3";

pub(crate) const RELEASE_ALL_UNWRITTEN: &str = "
    delete from terravox_zones where world = $1 and zone < -1 and owner = $2 and head = 0";

pub(crate) const RELEASE_ALL: &str = "
    update terravox_zones set owner = '' where world = $1 and zone < -1 and owner = $2";

/// Gives up the rows of a server: its own, and that of its address if it still has it.
pub(crate) const UNREGISTER: &str = "
    delete from terravox_servers
    where world = $1 and (owner = $2 or owner = $3 and address = $2)";

/// Before [`LEAVE`], which sees then who joined meanwhile. Commits do not keep it waiting.
pub(crate) const LOCK_WORLD: &str = "
    select zone from terravox_zones where world = $1 and zone = -1 for no key update";

/// The last one gives the world up.
pub(crate) const LEAVE: &str = "
    update terravox_zones set until = clock_timestamp() - interval '1 second'
    where world = $1 and zone = -1 and owner = $2 and epoch = $3 and not exists (
        select 1 from terravox_servers
        where terravox_servers.world = $1 and terravox_servers.until >= clock_timestamp())";

/// Both rows of a server.
pub(crate) const RENEW: &str = "
    update terravox_servers set until = clock_timestamp() + $3::float8 * interval '1 second'
    where world = $1 and (owner = $2 or owner = $4 and address = $2)";

/// Not each time: all who share a world renew this row. One of them does when a third of the lease has
/// passed, which is how often each renews: a stall of all may take the other two. It waits for no
/// commit ([`HOLD`]).
pub(crate) const RENEW_WORLD: &str = "
    update terravox_zones set until = clock_timestamp() + $3::float8 * interval '1 second'
    where world = $1 and zone = -1 and epoch = $2
        and until < clock_timestamp() + $3::float8 * interval '700 milliseconds'";

/// The zone of the world, if it is as it was joined, and the columns that are held.
pub(crate) const STILL_HELD: &str = "
    select zone from terravox_zones where world = $1
        and (zone = -1 and epoch = $2 or zone = any($3::bigint[]) and owner = $4)";

const OWNERS: &str = "
    select held.zone, held.epoch, server.address, server.until >= clock_timestamp(), held.owner = $2
    from terravox_zones as held join terravox_servers as server
        on server.world = held.world and server.owner = held.owner
    where held.world = $1 and held.zone < -1 order by held.zone desc";

const OWNERS_OF: &str = "
    select held.zone, held.epoch, server.address, server.until >= clock_timestamp(), held.owner = $2
    from terravox_zones as held join terravox_servers as server
        on server.world = held.world and server.owner = held.owner
    where held.world = $1 and held.zone = any($3::bigint[]) order by held.zone desc";

const ALL_HEADS: &str = "
    select zone, head from terravox_zones where world = $1 and zone < -1 and owner <> $2";

const FOREIGN_HEADS: &str = "
    select zone, head from terravox_zones
    where world = $1 and owner <> $2 and zone = any($3::bigint[])";

/// What a writer knows of the world that it shares.
pub(crate) struct Share {
    /// The address of this server.
    pub address: String,
    /// The epoch of the zone of the world.
    pub epoch: AtomicI64,
    /// The columns that are held, with the number of the claim; each is this server's in the
    /// database for as long as it is here.
    columns: Mutex<BTreeMap<i64, u64>>,
    /// Claims so far.
    claims: AtomicU64,
    pub has_left: AtomicBool,
}

/// The owner of the row of an address. No writer has such a name.
pub(crate) fn address_row(address: &str) -> String {
    format!("address {address}")
}

impl Share {
    pub fn new(address: String) -> Share {
        let (columns, has_left) = (Mutex::default(), AtomicBool::new(false));
        let (epoch, claims) = (AtomicI64::new(0), AtomicU64::new(0));
        Share { address, epoch, columns, claims, has_left }
    }

    pub fn columns(&self) -> MutexGuard<'_, BTreeMap<i64, u64>> {
        self.columns.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes that a column was claimed.
    pub fn add(&self, column: i64) {
        let number = self.claims.fetch_add(1, Ordering::Relaxed);
        self.columns().insert(column, number);
    }

    /// The row of the address.
    pub fn address_row(&self) -> String {
        address_row(&self.address)
    }

    pub fn epoch(&self) -> i64 {
        self.epoch.load(Ordering::Acquire)
    }

    /// Holds the world until the transaction ends; returns 0 if another writer has it.
    pub async fn hold(&self, connection: &Connection, world: i64) -> Result<u64, RequestFailure> {
        let rows = connection.query(HOLD, &[&world, &self.epoch()]).await?;
        Ok(rows.len() as u64)
    }

    /// Who has taken the whole world.
    pub async fn successor(
        &self,
        connection: &Connection,
        world: i64,
    ) -> Result<Option<String>, RequestFailure> {
        let rows = connection.query(SUCCESSOR, &[&world, &self.epoch()]).await?;
        Ok(rows.first().map(|row| row.get(0)))
    }

    /// The columns that are held.
    pub fn held(&self) -> Vec<Column> {
        self.columns().keys().filter_map(|&number| Zone(number).column()).collect()
    }
}

/// Who has which column of a world, or of some columns of it; `own` asks.
pub(crate) async fn owners(
    pool: &ViewPool,
    world: i64,
    own: &str,
    columns: Option<&[i64]>,
) -> Result<Vec<ColumnOwner>, RequestFailure> {
    let rows = match columns {
        None => pool.query(OWNERS, &[&world, &own]).await?,
        Some(columns) => pool.query(OWNERS_OF, &[&world, &own, &columns]).await?,
    };
    let owner = |row: &tokio_postgres::Row| {
        Some(ColumnOwner {
            column: Zone(row.get(0)).column()?,
            server: row.get(2),
            epoch: row.get::<_, i64>(1) as u64,
            is_alive: row.get(3),
            is_own: row.get(4),
        })
    };
    Ok(rows.iter().filter_map(owner).collect())
}

/// Columns that others may write, with the numbers of their last commits: all that were ever
/// written, or those of some columns.
pub(crate) async fn foreign_heads(
    pool: &ViewPool,
    world: i64,
    owner: &str,
    columns: Option<&[i64]>,
) -> Result<Vec<(i64, i64)>, RequestFailure> {
    let rows = match columns {
        None => pool.query(ALL_HEADS, &[&world, &owner]).await?,
        Some(columns) => pool.query(FOREIGN_HEADS, &[&world, &owner, &columns]).await?,
    };
    Ok(rows.iter().map(|row| (row.get(0), row.get(1))).collect())
}

/// Refuses a commit to columns that are not held.
pub(crate) fn check_held(
    held: &BTreeMap<i64, HeldZone>,
    columns: &[i64],
) -> Result<(), CommitFailure> {
    let Some(&missing) = columns.iter().find(|column| !held.contains_key(column)) else {
        return Ok(());
    };
    let what = format!("{} was not claimed here, so nothing is written to it", Zone(missing));
    Err(CommitFailure::Unchanged(io::Error::new(io::ErrorKind::PermissionDenied, what)))
}
