//! Stores of worlds: files, and worlds in PostgreSQL and S3 by their address.

use crate::failure::{CliResult, Failure};
use crate::world::{check_file, check_world_path, store_failure};
use std::path::{Path, PathBuf};
use terravox_store::{CopyStats, Store, StoreError};

/// Where a world is.
enum Place<'a> {
    File,
    /// PostgreSQL, with the address.
    Database(&'a str),
    /// S3, with the address.
    Bucket(&'a str),
}

impl Place<'_> {
    fn of(world: &Path) -> Place<'_> {
        match world.to_str() {
            Some(text) if text.starts_with("s3://") => Place::Bucket(text),
            Some(text) if ["postgres://", "postgresql://"].iter().any(|s| text.starts_with(s)) => {
                Place::Database(text)
            }
            _ => Place::File,
        }
    }
}

/// Opens a world for reading.
///
/// # Errors
/// If there is none, or it cannot be opened.
pub fn open_read_only(world: &Path) -> CliResult<Store> {
    match Place::of(world) {
        Place::Database(address) => database::open_read_only(address),
        Place::Bucket(address) => bucket::open_read_only(address),
        Place::File => {
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
    if is_address(world) {
        return try_open(world)?.map_err(store_failure);
    }
    check_world_path(world)?;
    check_file(world)?;
    Store::open(world).map_err(store_failure)
}

/// Opens a world of a database for reading and writing; the inner error is the database's.
///
/// # Errors
/// If it is not in a database, or this program has no PostgreSQL.
pub fn try_open(world: &Path) -> CliResult<Result<Store, StoreError>> {
    match Place::of(world) {
        Place::Database(address) => database::open(address),
        Place::Bucket(_) => {
            let what =
                "is published for reading only; copy it to a file or a database to change it";
            Err(Failure::of(world, what))
        }
        Place::File => Err(Failure::of(world, "is in no database")),
    }
}

/// What a copy did.
pub struct Copied {
    pub records: u64,
    /// Records that an earlier, interrupted copy had written.
    pub kept: u64,
    pub written_bytes: u64,
}

impl From<CopyStats> for Copied {
    fn from(stats: CopyStats) -> Copied {
        let CopyStats { records, kept, written_bytes, .. } = stats;
        Copied { records, kept, written_bytes }
    }
}

/// Copies a world to one that is not there yet, or goes on with a copy that was interrupted; publishes it,
/// also in place of another state, if `to` is in S3.
///
/// # Errors
/// If there is a world already, or it cannot be written.
pub fn copy(from: &Store, to: &Path, progress: impl FnMut(u64, u64)) -> CliResult<(Store, Copied)> {
    match Place::of(to) {
        Place::Database(address) => {
            let (store, stats) = database::copy(from, address, progress)?;
            Ok((store, stats.into()))
        }
        Place::Bucket(address) => bucket::publish(from, address, progress),
        Place::File => {
            check_world_path(to)?;
            // Options to overwrite are for worlds that are made anew in one piece.
            if to.exists() {
                return Err(Failure::of(to, "already exists; give another name"));
            }
            let (store, stats) = from.copy_to_file(to, progress).map_err(store_failure)?;
            Ok((store, stats.into()))
        }
    }
}

/// What collecting the garbage of a published world removed.
pub struct Collected {
    pub objects: u64,
    pub bytes: u64,
}

/// Removes what no reader of a published world needs; `None` if the world is not in S3.
///
/// # Errors
/// If that fails, or this program has no S3.
pub fn collect_garbage(world: &Path) -> CliResult<Option<Collected>> {
    match Place::of(world) {
        Place::Bucket(address) => bucket::collect_garbage(address).map(Some),
        _ => Ok(None),
    }
}

/// Whether a world is in a database or in S3.
pub fn is_address(world: &Path) -> bool {
    !matches!(Place::of(world), Place::File)
}

/// The name of a world: that of its file without the extension, its name in a database, or the end of its
/// path in S3.
#[cfg(feature = "server")]
pub fn name(world: &Path) -> String {
    let shown = shown(world);
    let text = shown.to_string_lossy();
    match Place::of(world) {
        Place::Database(_) => text.rsplit('#').next().unwrap_or_default().to_owned(),
        Place::Bucket(_) => text.rsplit('/').next().unwrap_or_default().to_owned(),
        Place::File => world.file_stem().unwrap_or_default().to_string_lossy().into_owned(),
    }
}

/// How messages and reports name a world: an address without its password and parameters.
pub fn shown(world: &Path) -> PathBuf {
    let (Place::Database(address) | Place::Bucket(address)) = Place::of(world) else {
        return world.to_owned();
    };
    let (scheme, rest) = address.split_once("://").unwrap_or_default();
    // A password may have any characters, so the last @ ends it.
    let (user, rest) = match rest.rsplit_once('@') {
        Some((credentials, rest)) => (credentials.split(':').next().unwrap_or_default(), rest),
        None => ("", rest),
    };
    let (place, name) = rest.rsplit_once('#').unwrap_or((rest, ""));
    let place = place.split('?').next().unwrap_or_default();
    let sign = |of: &str, sign: &'static str| if of.is_empty() { "" } else { sign };
    PathBuf::from(format!("{scheme}://{user}{}{place}{}{name}", sign(user, "@"), sign(name, "#")))
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

/// Worlds in S3.
#[cfg(feature = "s3")]
mod bucket {
    use super::*;
    use terravox_s3::{CollectOptions, S3, S3Options};

    fn at(address: &str) -> CliResult<S3> {
        S3::at(address, &S3Options::default()).map_err(store_failure)
    }

    pub fn open_read_only(address: &str) -> CliResult<Store> {
        at(address)?.open_read_only().map_err(store_failure)
    }

    pub fn publish(
        from: &Store,
        address: &str,
        progress: impl FnMut(u64, u64),
    ) -> CliResult<(Store, Copied)> {
        let world = at(address)?;
        let done = world.publish(from, progress).map_err(store_failure)?;
        let written_bytes = done.uploaded_bytes;
        // Of what is there, packs are counted and not records.
        let stats = Copied { records: done.records, kept: 0, written_bytes };
        Ok((world.open_read_only().map_err(store_failure)?, stats))
    }

    pub fn collect_garbage(address: &str) -> CliResult<Collected> {
        let done = at(address)?.collect_garbage(&CollectOptions::default());
        let done = done.map_err(store_failure)?;
        Ok(Collected { objects: done.removed_objects, bytes: done.removed_bytes })
    }
}

/// Without S3.
#[cfg(not(feature = "s3"))]
mod bucket {
    use super::*;

    fn missing() -> Failure {
        Failure::new(
            "worlds in S3 need a terravox with S3; build it with \
             cargo install terravox-cli --features s3",
        )
    }

    pub fn open_read_only(_address: &str) -> CliResult<Store> {
        Err(missing())
    }

    pub fn publish(
        _from: &Store,
        _address: &str,
        _progress: impl FnMut(u64, u64),
    ) -> CliResult<(Store, Copied)> {
        Err(missing())
    }

    pub fn collect_garbage(_address: &str) -> CliResult<Collected> {
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
            ("s3://worlds/hills?region=eu-1", "s3://worlds/hills"),
            ("s3://key:secret@worlds/hills", "s3://key@worlds/hills"),
        ] {
            assert_eq!(shown(Path::new(given)), Path::new(expected));
        }
    }
}
