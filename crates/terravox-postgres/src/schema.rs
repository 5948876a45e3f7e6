//! The tables, their version, and the worlds in them.
//!
//! Only SQL that PostgreSQL, YugabyteDB and CockroachDB share: no sequences, no extensions, no
//! advisory locks, no notifications; and only types of a named width, since `int` has 64 bits in CockroachDB.

use crate::connection::Connection;
use crate::failure::{RequestFailure, refused};
use crate::random::random_number;
use std::path::Path;
use terravox_store::StoreError;

/// Version of the tables that this program makes, and the only one that it uses.
pub(crate) const SCHEMA_VERSION: i32 = 1;

/// The tables of version 1.
const TABLES: [&str; 5] = [
    "create table if not exists terravox_worlds (
        id bigint primary key,
        name text not null unique)",
    "create table if not exists terravox_zones (
        world bigint not null, zone bigint not null,
        epoch bigint not null, head bigint not null,
        owner text not null, until timestamptz not null,
        primary key (world, zone))",
    "create table if not exists terravox_records (
        world bigint not null, key bytea not null,
        hash bigint not null, value bytea not null,
        primary key (world, key))",
    "create table if not exists terravox_log (
        world bigint not null, zone bigint not null, seq bigint not null,
        epoch bigint not null, keys bytea not null,
        primary key (world, zone, seq))",
    // Created last: a database that has this table has all.
    "create table if not exists terravox_schema (version int4 primary key)",
];

/// The table of the servers that share worlds, which the first one makes. Programs that do not know
/// it are kept out by the zones, so it needs no version.
const SERVERS: &str = "create table if not exists terravox_servers (
    world bigint not null, owner text not null,
    address text not null, until timestamptz not null,
    primary key (world, owner))";

/// Names of worlds that a message has, at most.
pub(crate) const MAX_SHOWN_NAMES: usize = 10;

/// Attempts at making the tables, since another program may make them at the same time.
const ATTEMPTS: u32 = 5;

/// The version of the tables; `None` if the database has none.
///
/// # Errors
/// If it cannot be read.
async fn version(connection: &Connection) -> Result<Option<i32>, RequestFailure> {
    match connection.query("select max(version)::int4 from terravox_schema", &[]).await {
        Ok(rows) => Ok(rows.first().and_then(|row| row.get::<_, Option<i32>>(0))),
        Err(failure) if failure.is_no_table => Ok(None),
        Err(failure) => Err(failure),
    }
}

/// Checks the version of the tables, and makes them if there are none and `may_make`.
///
/// # Errors
/// If there are none, or they are of another version.
pub(crate) async fn check(
    connection: &Connection,
    may_make: bool,
    path: &Path,
) -> Result<(), StoreError> {
    let open_error = |failure| crate::failure::open_error(path, failure);
    for attempt in 1.. {
        match version(connection).await.map_err(open_error)? {
            Some(SCHEMA_VERSION) => return Ok(()),
            Some(other) => {
                let (age, what) = match other > SCHEMA_VERSION {
                    true => ("newer", "use a newer terravox"),
                    false => ("older", "use an older terravox"),
                };
                return Err(refused(
                    path,
                    format!(
                        "the tables are of schema version {other}, {age} than the one of this \
                         program ({SCHEMA_VERSION}); {what}"
                    ),
                ));
            }
            None if may_make => match make(connection).await {
                Ok(()) => {}
                Err(failure) if attempt == ATTEMPTS || failure.kind == PERMISSION => {
                    return Err(open_error(failure));
                }
                // Another program makes them at the same time.
                Err(_) => tokio::time::sleep(crate::retry::pause(attempt)).await,
            },
            None => {
                let why = "the database has no tables of terravox; terravox copy makes them";
                let path = path.to_owned();
                return Err(StoreError::NotAWorld { path, why: why.to_owned() });
            }
        }
    }
    unreachable!("the last attempt returns")
}

const PERMISSION: std::io::ErrorKind = std::io::ErrorKind::PermissionDenied;

async fn make(connection: &Connection) -> Result<(), RequestFailure> {
    for table in TABLES {
        connection.execute(table, &[]).await?;
    }
    let version = "insert into terravox_schema (version) values ($1::int4) on conflict do nothing";
    connection.execute(version, &[&SCHEMA_VERSION]).await.map(drop)
}

/// Makes the table of servers, if there is none.
pub(crate) async fn make_servers(connection: &Connection) -> Result<(), RequestFailure> {
    for attempt in 1.. {
        let found = connection.query("select count(*) from terravox_servers", &[]).await;
        match found {
            Err(failure) if failure.is_no_table => {}
            found => return found.map(drop),
        }
        match connection.execute(SERVERS, &[]).await {
            Err(failure) if attempt == ATTEMPTS || failure.kind == PERMISSION => {
                return Err(failure);
            }
            // Another server may make it at the same time.
            made => {
                if made.is_err() {
                    tokio::time::sleep(crate::retry::pause(attempt)).await;
                }
            }
        }
    }
    unreachable!("the last attempt returns")
}

/// The number of a world; `None` if there is none of this name.
pub(crate) async fn find_world(
    connection: &Connection,
    name: &str,
) -> Result<Option<i64>, RequestFailure> {
    let query = "select id from terravox_worlds where name = $1";
    let rows = connection.query(query, &[&name]).await?;
    Ok(rows.first().map(|row| row.get(0)))
}

/// Names of worlds, sorted; one more than a message has at most.
pub(crate) async fn world_names(connection: &Connection) -> Result<Vec<String>, RequestFailure> {
    let query = "select name from terravox_worlds order by name limit $1";
    let rows = connection.query(query, &[&(MAX_SHOWN_NAMES as i64 + 1)]).await?;
    Ok(rows.iter().map(|row| row.get(0)).collect())
}

/// The number of a world, which is made if there is none of this name.
pub(crate) async fn make_world(connection: &Connection, name: &str) -> Result<i64, RequestFailure> {
    let id = (random_number() >> 1) as i64;
    let insert = "insert into terravox_worlds (id, name) values ($1, $2) on conflict do nothing";
    connection.execute(insert, &[&id, &name]).await?;
    let found = find_world(connection, name).await?;
    let gone = || {
        RequestFailure::permanent(std::io::ErrorKind::NotFound, "the world was removed".to_owned())
    };
    found.ok_or_else(gone)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tables_have_no_type_that_differs_between_databases() {
        for table in TABLES.into_iter().chain([SERVERS]) {
            let words = table.split(|c: char| !c.is_alphanumeric() && c != '_');
            let differs = |word: &&str| ["int", "integer", "serial", "smallint"].contains(word);
            assert_eq!(words.clone().find(differs), None, "{table}");
            assert!(words.clone().any(|word| ["int4", "bigint"].contains(&word)), "{table}");
        }
    }
}
