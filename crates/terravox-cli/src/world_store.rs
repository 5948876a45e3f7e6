//! Stores of worlds: files, and worlds in PostgreSQL and S3 by their address.

use crate::failure::{CliResult, Failure};
use crate::output::check_folder;
use crate::secrets::shown_address;
use crate::world::{check_file, check_has_records, check_world_path, store_failure};
use std::path::{Path, PathBuf};
#[cfg(feature = "server")]
use terravox_store::ColumnLeases;
use terravox_store::{CopyStats, Store, StoreError};

/// Where a world is.
enum WorldLocation<'a> {
    File,
    /// PostgreSQL, with the address.
    Database(&'a str),
    /// S3, with the address.
    Bucket(&'a str),
}

impl WorldLocation<'_> {
    fn of(world: &Path) -> WorldLocation<'_> {
        match world.to_str() {
            Some(text) if text.starts_with("s3://") => WorldLocation::Bucket(text),
            Some(text) if ["postgres://", "postgresql://"].iter().any(|s| text.starts_with(s)) => {
                WorldLocation::Database(text)
            }
            _ => WorldLocation::File,
        }
    }
}

/// Opens a world for reading.
///
/// # Errors
/// If there is none, or it cannot be opened.
pub fn open_read_only(world: &Path) -> CliResult<Store> {
    match WorldLocation::of(world) {
        WorldLocation::Database(address) => database::open_read_only(address),
        WorldLocation::Bucket(address) => bucket::open_read_only(address),
        WorldLocation::File => {
            check_has_records(world)?;
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
        return open_database(world)?.map_err(store_failure);
    }
    check_world_path(world)?;
    check_file(world)?;
    Store::open(world).map_err(store_failure)
}

/// Opens a world of a database for reading and writing. The inner result is that of opening it, for
/// callers that wait while another program has it.
///
/// # Errors
/// If it is not in a database, or this program has no PostgreSQL.
pub fn open_database(world: &Path) -> CliResult<Result<Store, StoreError>> {
    match WorldLocation::of(world) {
        WorldLocation::Database(address) => database::open(address),
        WorldLocation::Bucket(_) => {
            let what =
                "is published for reading only; copy it to a file or a database to change it";
            Err(Failure::of(world, what))
        }
        WorldLocation::File => Err(Failure::of(world, "is not in a database")),
    }
}

/// A store, and the columns of it that are written here.
#[cfg(feature = "server")]
pub type SharedStore = (Store, Box<dyn ColumnLeases>);

/// Refuses to share a world that is not in a database.
///
/// # Errors
/// If it is not in one.
#[cfg(feature = "server")]
pub fn check_shareable(world: &Path) -> CliResult<()> {
    match WorldLocation::of(world) {
        WorldLocation::Database(_) => Ok(()),
        _ => Err(not_shareable(world)),
    }
}

#[cfg(feature = "server")]
fn not_shareable(world: &Path) -> Failure {
    Failure::of(world, "is not in a database; servers share worlds in databases")
}

/// Opens a world of a database that several servers share; `server` is the address of this one. As
/// [`open_database`].
///
/// # Errors
/// As [`open_database`].
#[cfg(feature = "server")]
pub fn share_database(world: &Path, server: &str) -> CliResult<Result<SharedStore, StoreError>> {
    match WorldLocation::of(world) {
        WorldLocation::Database(address) => database::share(address, server),
        _ => Err(not_shareable(world)),
    }
}

/// What a copy did.
pub struct CopyCounts {
    pub records: u64,
    /// Records that an earlier, interrupted copy had written.
    pub kept: u64,
    pub written_bytes: u64,
}

impl From<CopyStats> for CopyCounts {
    fn from(stats: CopyStats) -> CopyCounts {
        let CopyStats { records, kept, written_bytes, .. } = stats;
        CopyCounts { records, kept, written_bytes }
    }
}

/// Copies a world to one that is not there yet, or resumes a copy that was interrupted; publishes
/// it, also in place of another state, if `to` is in S3. `rewrites_all`: also what is in S3
/// already.
///
/// # Errors
/// If there is a world already, or it cannot be written.
pub fn copy(
    from: &Store,
    to: &Path,
    rewrites_all: bool,
    progress: impl FnMut(u64, u64),
) -> CliResult<(Store, CopyCounts)> {
    match WorldLocation::of(to) {
        WorldLocation::Database(address) => {
            let (store, stats) = database::copy(from, address, progress)?;
            Ok((store, stats.into()))
        }
        WorldLocation::Bucket(address) => bucket::publish(from, address, rewrites_all, progress),
        WorldLocation::File => {
            check_world_path(to)?;
            check_folder(to)?;
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
pub struct GarbageCounts {
    pub objects: u64,
    pub bytes: u64,
}

/// Removes what no reader of a published world needs; `None` if the world is not in S3.
///
/// # Errors
/// If that fails, or this program has no S3.
pub fn collect_garbage(world: &Path) -> CliResult<Option<GarbageCounts>> {
    match WorldLocation::of(world) {
        WorldLocation::Bucket(address) => bucket::collect_garbage(address).map(Some),
        _ => Ok(None),
    }
}

/// Whether a world is in a database or in S3.
pub fn is_address(world: &Path) -> bool {
    !matches!(WorldLocation::of(world), WorldLocation::File)
}

/// The name of a world: that of its file without the extension, its name in a database, or the end
/// of its path in S3.
#[cfg(feature = "server")]
pub fn name(world: &Path) -> String {
    let shown = shown(world);
    let text = shown.to_string_lossy();
    match WorldLocation::of(world) {
        WorldLocation::Database(_) => text.rsplit('#').next().unwrap_or_default().to_owned(),
        WorldLocation::Bucket(_) => text.rsplit('/').next().unwrap_or_default().to_owned(),
        WorldLocation::File => world.file_stem().unwrap_or_default().to_string_lossy().into_owned(),
    }
}

/// How messages and reports name a world: an address without its password and parameters.
pub fn shown(world: &Path) -> PathBuf {
    match WorldLocation::of(world) {
        WorldLocation::Database(address) | WorldLocation::Bucket(address) => {
            shown_address(address).into()
        }
        WorldLocation::File => world.to_owned(),
    }
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

    #[cfg(feature = "server")]
    pub fn share(address: &str, server: &str) -> CliResult<Result<SharedStore, StoreError>> {
        let shared = Postgres::share(address, &PostgresOptions::default(), server);
        Ok(shared.map(|(store, share)| (store, Box::new(share) as Box<dyn ColumnLeases>)))
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
             cargo install --path crates/terravox-cli --features postgres",
        )
    }

    pub fn open_read_only(_address: &str) -> CliResult<Store> {
        Err(missing())
    }

    pub fn open(_address: &str) -> CliResult<Result<Store, StoreError>> {
        Err(missing())
    }

    #[cfg(feature = "server")]
    pub fn share(_address: &str, _server: &str) -> CliResult<Result<SharedStore, StoreError>> {
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
        rewrites_all: bool,
        progress: impl FnMut(u64, u64),
    ) -> CliResult<(Store, CopyCounts)> {
        let options = S3Options { rewrites_all, ..S3Options::default() };
        let world = S3::at(address, &options).map_err(store_failure)?;
        let done = world.publish(from, progress).map_err(store_failure)?;
        let written_bytes = done.uploaded_bytes;
        // Of what is there, packs are counted and not records.
        let stats = CopyCounts { records: done.records, kept: 0, written_bytes };
        Ok((world.open_read_only().map_err(store_failure)?, stats))
    }

    pub fn collect_garbage(address: &str) -> CliResult<GarbageCounts> {
        let done = at(address)?.collect_garbage(&CollectOptions::default());
        let done = done.map_err(store_failure)?;
        Ok(GarbageCounts { objects: done.removed_objects, bytes: done.removed_bytes })
    }
}

/// Without S3.
#[cfg(not(feature = "s3"))]
mod bucket {
    use super::*;

    fn missing() -> Failure {
        Failure::new(
            "worlds in S3 need a terravox with S3; build it with \
             cargo install --path crates/terravox-cli --features s3",
        )
    }

    pub fn open_read_only(_address: &str) -> CliResult<Store> {
        Err(missing())
    }

    pub fn publish(
        _from: &Store,
        _address: &str,
        _rewrites_all: bool,
        _progress: impl FnMut(u64, u64),
    ) -> CliResult<(Store, CopyCounts)> {
        Err(missing())
    }

    pub fn collect_garbage(_address: &str) -> CliResult<GarbageCounts> {
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
            ("s3://key:secret@worlds/hills", "s3://worlds/hills"),
        ] {
            assert_eq!(shown(Path::new(given)), Path::new(expected));
        }
    }
}
