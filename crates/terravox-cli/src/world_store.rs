//! Stores of worlds: files, and worlds in PostgreSQL by their address.

use crate::failure::{CliResult, Failure};
use crate::world::{check_file, check_world_path, store_failure};
use std::path::{Path, PathBuf};
use terravox_store::{CopyStats, Store, StoreError};

/// What addresses of databases start with.
const SCHEMES: [&str; 2] = ["postgres://", "postgresql://"];

/// Opens a world for reading.
///
/// # Errors
/// If there is none, or it cannot be opened.
pub fn open_read_only(world: &Path) -> CliResult<Store> {
    match address(world) {
        Some(address) => database::open_read_only(address),
        None => {
            check_world_path(world)?;
            check_file(world)?;
            Store::open_read_only(world).map_err(store_failure)
        }
    }
}

/// Opens a world for reading and writing.
///
/// # Errors
/// If there is none, it cannot be opened, or another program writes it.
pub fn open(world: &Path) -> CliResult<Store> {
    if address(world).is_some() {
        return try_open(world)?.map_err(store_failure);
    }
    check_world_path(world)?;
    check_file(world)?;
    Store::open(world).map_err(store_failure)
}

/// Opens a world of a database for reading and writing; the inner error is the database's.
///
/// # Errors
/// If it is not the address of a database, or this program has no PostgreSQL.
pub fn try_open(world: &Path) -> CliResult<Result<Store, StoreError>> {
    let address = address(world).ok_or_else(|| Failure::of(world, "is in no database"))?;
    database::open(address)
}

/// Copies a world to one that is not there yet, or goes on with a copy that was interrupted.
///
/// # Errors
/// If there is a world already, or it cannot be written.
pub fn copy(
    from: &Store,
    to: &Path,
    progress: impl FnMut(u64, u64),
) -> CliResult<(Store, CopyStats)> {
    if let Some(address) = address(to) {
        return database::copy(from, address, progress);
    }
    check_world_path(to)?;
    // Options to overwrite are for worlds that are made anew in one piece.
    if to.exists() {
        return Err(Failure::of(to, "already exists; give another name"));
    }
    from.copy_to_file(to, progress).map_err(store_failure)
}

/// Whether a world is in a database.
pub fn is_address(world: &Path) -> bool {
    address(world).is_some()
}

/// The name of a world: that of its file without the extension, or its name in a database.
#[cfg(feature = "server")]
pub fn name(world: &Path) -> String {
    let in_database = address(world).and_then(|address| address.rsplit_once('#'));
    match in_database {
        Some((_, name)) => name.to_owned(),
        None => world.file_stem().unwrap_or_default().to_string_lossy().into_owned(),
    }
}

/// How messages and reports name a world: an address without its password and parameters.
pub fn shown(world: &Path) -> PathBuf {
    let parts = address(world).and_then(|address| address.split_once("://"));
    let Some((scheme, rest)) = parts else { return world.to_owned() };
    // A password may have any characters, so the last @ ends it.
    let (user, rest) = match rest.rsplit_once('@') {
        Some((credentials, rest)) => (credentials.split(':').next().unwrap_or_default(), rest),
        None => ("", rest),
    };
    let (place, name) = rest.rsplit_once('#').unwrap_or((rest, ""));
    let place = place.split('?').next().unwrap_or_default();
    let [at, mark] =
        [(user, "@"), (name, "#")].map(|(of, sign)| if of.is_empty() { "" } else { sign });
    PathBuf::from(format!("{scheme}://{user}{at}{place}{mark}{name}"))
}

fn address(world: &Path) -> Option<&str> {
    world.to_str().filter(|text| SCHEMES.iter().any(|scheme| text.starts_with(scheme)))
}

/// Worlds in PostgreSQL.
#[cfg(feature = "postgres")]
mod database {
    use super::*;
    use terravox_postgres::{Postgres, PostgresOptions};

    pub fn open_read_only(address: &str) -> CliResult<Store> {
        let options = PostgresOptions::default();
        Postgres::open_read_only(address, &options).map_err(store_failure)
    }

    pub fn open(address: &str) -> CliResult<Result<Store, StoreError>> {
        Ok(Postgres::open(address, &PostgresOptions::default()))
    }

    pub fn copy(
        from: &Store,
        address: &str,
        progress: impl FnMut(u64, u64),
    ) -> CliResult<(Store, CopyStats)> {
        let options = PostgresOptions::default();
        Postgres::copy(from, address, &options, progress).map_err(store_failure)
    }
}

/// Without PostgreSQL.
#[cfg(not(feature = "postgres"))]
mod database {
    use super::*;

    fn missing() -> Failure {
        Failure::new(
            "worlds in a database need a terravox with PostgreSQL; build it with \
             cargo install terravox-cli --features postgres",
        )
    }

    pub fn open_read_only(_address: &str) -> CliResult<Store> {
        Err(missing())
    }

    pub fn open(_address: &str) -> CliResult<Result<Store, StoreError>> {
        Err(missing())
    }

    pub fn copy(
        _from: &Store,
        _address: &str,
        _progress: impl FnMut(u64, u64),
    ) -> CliResult<(Store, CopyStats)> {
        Err(missing())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_shown_without_passwords_and_files_as_they_are() {
        for (given, expected) in [
            ("caves.tvx", "caves.tvx"),
            ("a@b:c#d.tvx", "a@b:c#d.tvx"),
            ("postgres://localhost/worlds#caves", "postgres://localhost/worlds#caves"),
            (
                "postgres://me:p@ss#wo?rd@db.example:5432/worlds?sslmode=disable#caves",
                "postgres://me@db.example:5432/worlds#caves",
            ),
            ("postgresql://me@db/worlds", "postgresql://me@db/worlds"),
        ] {
            assert_eq!(shown(Path::new(given)), Path::new(expected));
        }
    }
}
