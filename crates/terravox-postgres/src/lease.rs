//! The right to write a zone: a row with an epoch, which is raised when the zone is taken over.
//!
//! A writer says with every commit in which epoch it writes ([`crate::writer`]), so nothing that an
//! earlier one sends, however late, changes anything. The time of the lease only says when a zone
//! may be taken; it is the server's time, so that no other clock matters.

use crate::connection::{Connection, begin};
use crate::failure::RequestFailure;
use std::collections::BTreeMap;
use std::time::{Duration, Instant};
use terravox_store::Zone;

/// What a writer knows of a zone that it holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct HeldZone {
    pub epoch: i64,
    /// Number of the last entry of its log.
    pub head: i64,
}

/// Why a zone was not taken.
#[derive(Debug)]
pub(crate) enum LeaseFailure {
    /// Another writer has it: it renewed its lease, or its lease did not end in time.
    Held {
        zone: i64,
        owner: String,
    },
    Failed(RequestFailure),
}

impl From<RequestFailure> for LeaseFailure {
    fn from(failure: RequestFailure) -> LeaseFailure {
        LeaseFailure::Failed(failure)
    }
}

// The owner of zone -1 may take every other zone, and no other writer may, however old their leases are: a
// statement of an earlier writer may arrive late. Taking -1 raises its epoch, so commits of the earlier
// writer are fenced.
pub(crate) const TAKE: &str = "
    insert into terravox_zones (world, zone, epoch, head, owner, until)
    select $1::bigint, taken.zone, 1, 0, $3::text, clock_timestamp() + $4::float8 * interval '1 second'
    from unnest($2::bigint[]) as taken(zone)
    on conflict (world, zone) do update set epoch = terravox_zones.epoch + 1,
        owner = excluded.owner, until = excluded.until
        where $5::boolean
            or terravox_zones.zone = -1 and (terravox_zones.owner = excluded.owner
                or terravox_zones.until < clock_timestamp())
            or terravox_zones.zone <> -1 and exists (
                select 1 from terravox_zones as whole
                where whole.world = $1 and whole.zone = -1 and whole.owner = $3)
    returning zone, epoch, head";

// For the zone of the world of a shared world: all servers that share it have the same owner there,
// and a server that joins must not fence the others.
pub(crate) const JOIN: &str = "
    insert into terravox_zones (world, zone, epoch, head, owner, until)
    select $1::bigint, taken.zone, 1, 0, $3::text, clock_timestamp() + $4::float8 * interval '1 second'
    from unnest($2::bigint[]) as taken(zone)
    on conflict (world, zone) do update set owner = excluded.owner,
        epoch = terravox_zones.epoch
            + case when terravox_zones.owner = excluded.owner then 0 else 1 end,
        until = case when terravox_zones.owner = excluded.owner
            then greatest(terravox_zones.until, excluded.until) else excluded.until end
        where $5::boolean or terravox_zones.owner = excluded.owner
            or terravox_zones.until < clock_timestamp()
    returning zone, epoch, head";

/// Waits until no transaction locks these zones, not even the shared lock of
/// [`HOLD`](crate::share::HOLD).
pub(crate) const LOCK: &str = "
    select zone from terravox_zones where world = $1 and zone = any($2::bigint[])
    order by zone for update";

/// Whether servers already share the world. Joining them fences no writer, so it waits for none.
const IS_SHARED: &str = "
    select zone from terravox_zones where world = $1 and zone = -1 and owner = $2";

const LOOK: &str = "
    select zone, epoch, head, owner, extract(epoch from until)::float8
    from terravox_zones where world = $1 and zone = any($2::bigint[])";

const RENEW: &str = "
    update terravox_zones set until = clock_timestamp() + $3::float8 * interval '1 second'
    where world = $1 and zone = -1 and owner = $2";

/// A zone as the database has it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ZoneRow {
    pub zone: i64,
    pub held: HeldZone,
    pub owner: String,
    /// When its lease ends, in seconds.
    until: f64,
}

/// Reads zones.
pub(crate) async fn look(
    connection: &Connection,
    world: i64,
    zones: &[i64],
) -> Result<Vec<ZoneRow>, RequestFailure> {
    let rows = connection.query(LOOK, &[&world, &zones]).await?;
    let zone_row = |row: &tokio_postgres::Row| ZoneRow {
        zone: row.get(0),
        held: HeldZone { epoch: row.get(1), head: row.get(2) },
        owner: row.get(3),
        until: row.get(4),
    };
    Ok(rows.iter().map(zone_row).collect())
}

/// A writer that asks for zones, and how long its lease is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Claim<'a> {
    pub world: i64,
    pub owner: &'a str,
    pub lease: Duration,
    /// Whether to take zones from other writers.
    pub takes_over: bool,
    /// The statement that takes them: [`TAKE`] or [`JOIN`].
    pub sql: &'static str,
}

/// How long to wait for leases of others to end, in lengths of a lease.
const MAX_WAIT_LEASES: u32 = 3;

/// Longest pause between attempts to take zones.
const MAX_PAUSE: Duration = Duration::from_secs(1);

/// Takes zones. Those that another writer holds are taken when its lease ends; if it renews one
/// meanwhile, it is alive. A zone that this writer already owns is taken again under a new epoch:
/// the reply to an earlier attempt may have been lost.
pub(crate) async fn take(
    connection: &Connection,
    claim: Claim<'_>,
    zones: &[i64],
) -> Result<BTreeMap<i64, HeldZone>, LeaseFailure> {
    let Claim { world, owner, lease, .. } = claim;
    let end = Instant::now() + lease * MAX_WAIT_LEASES;
    let mut taken = BTreeMap::new();
    let mut seen: Option<Vec<ZoneRow>> = None;
    loop {
        let missing: Vec<i64> =
            zones.iter().copied().filter(|zone| !taken.contains_key(zone)).collect();
        if missing.is_empty() {
            return Ok(taken);
        }
        // A writer that lost the world may not take other zones.
        if !zones.contains(&Zone::WORLD.0) {
            let rows = look(connection, world, &[Zone::WORLD.0]).await?;
            if let Some(row) = rows.into_iter().find(|row| row.owner != owner) {
                return Err(LeaseFailure::Held { zone: row.zone, owner: row.owner });
            }
        }
        taken.extend(take_once(connection, claim, &missing).await?);
        let mut others = look(connection, world, &missing).await?;
        others.retain(|row| !taken.contains_key(&row.zone));
        let before = seen.get_or_insert_with(|| others.clone());
        // A writer that closes sets the end to the past, which is no renewal.
        let is_renewed =
            |row: &&ZoneRow| before.iter().any(|old| old.zone == row.zone && old.until < row.until);
        let is_late = Instant::now() > end;
        if let Some(row) = others.iter().find(|row| is_late || is_renewed(row)) {
            let (zone, owner) = (row.zone, row.owner.clone());
            return Err(LeaseFailure::Held { zone, owner });
        }
        if !others.is_empty() {
            tokio::time::sleep((lease / 20).min(MAX_PAUSE)).await;
        }
    }
}

/// Takes those of some zones that are free. With the world come all other zones, so its row is
/// locked first.
async fn take_once(
    connection: &Connection,
    claim: Claim<'_>,
    zones: &[i64],
) -> Result<BTreeMap<i64, HeldZone>, RequestFailure> {
    let Claim { world, owner, lease, takes_over, sql } = claim;
    let is_joined =
        sql == JOIN && !connection.query(IS_SHARED, &[&world, &owner]).await?.is_empty();
    let locks = zones.contains(&Zone::WORLD.0) && !is_joined;
    if locks {
        // If the connection dies now, the server would hold the lock until TCP times out.
        connection.run(&begin(lease, 0)).await?;
    }
    let taken = async {
        if locks {
            connection.query(LOCK, &[&world, &zones]).await?;
        }
        let seconds = lease.as_secs_f64();
        let parameters: [&(dyn tokio_postgres::types::ToSql + Sync); 5] =
            [&world, &zones, &owner, &seconds, &takes_over];
        connection.query(sql, &parameters).await
    };
    let taken = taken.await;
    if locks {
        let end = if taken.is_ok() { "commit" } else { "rollback" };
        let ended = connection.run(end).await;
        if taken.is_ok() {
            ended?;
        }
    }
    let held =
        |row: &tokio_postgres::Row| (row.get(0), HeldZone { epoch: row.get(1), head: row.get(2) });
    Ok(taken?.iter().map(held).collect())
}

/// Holds the world for `lease_seconds` from now on; a time below 0 gives it up. With it come all
/// other zones. Returns 0 if another writer has it.
pub(crate) async fn renew(
    connection: &Connection,
    world: i64,
    owner: &str,
    lease_seconds: f64,
) -> Result<u64, RequestFailure> {
    connection.execute(RENEW, &[&world, &owner, &lease_seconds]).await
}
