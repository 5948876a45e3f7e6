//! `copy`: a world from one store to another, of files and databases.

use crate::args::CopyArgs;
use crate::console::Console;
use crate::failure::{CliResult, Failure};
use crate::report::Report;
use crate::world::{check_file, check_world_path, store_failure};
use std::path::Path;
use terravox_store::{CopyStats, Store};

/// What addresses of databases start with.
const SCHEMES: [&str; 2] = ["postgres://", "postgresql://"];

/// Copies a world; goes on with a copy that was interrupted.
pub fn run(args: &CopyArgs, console: &Console) -> CliResult<Report> {
    let from = match address(&args.from) {
        Some(address) => database::open(address)?,
        None => {
            check_world_path(&args.from)?;
            check_file(&args.from)?;
            Store::open_read_only(&args.from).map_err(store_failure)?
        }
    };
    let bar = console.bar("copying", 1);
    let progress = |done: u64, all: u64| bar.set(done as usize, all as usize);
    let (to, stats) = match address(&args.to) {
        Some(address) => database::copy(&from, address, progress)?,
        None => {
            check_world_path(&args.to)?;
            // Options to overwrite are for worlds that are made anew in one piece.
            if args.to.exists() {
                return Err(Failure::of(&args.to, "already exists; give another name"));
            }
            from.copy_to_file(&args.to, progress).map_err(store_failure)?
        }
    };
    drop(bar);
    Ok(report(&from, &to, stats))
}

fn report(from: &Store, to: &Store, stats: CopyStats) -> Report {
    // The paths of stores have no passwords.
    let mut report = Report::of_change("copy", to.path());
    report.text_line("from", "from", from.path().display().to_string());
    report.text_line("to", "to", to.path().display().to_string());
    report.count("records", "records", stats.records);
    report.count("kept", "there before", stats.kept);
    report.bytes("written_bytes", "written", stats.written_bytes);
    report
}

/// The address of a database, if it is one.
fn address(path: &Path) -> Option<&str> {
    path.to_str().filter(|text| SCHEMES.iter().any(|scheme| text.starts_with(scheme)))
}

/// Worlds in PostgreSQL.
#[cfg(feature = "postgres")]
mod database {
    use super::*;
    use terravox_postgres::{Postgres, PostgresOptions};

    pub fn open(address: &str) -> CliResult<Store> {
        let options = PostgresOptions::default();
        Postgres::open_read_only(address, &options).map_err(store_failure)
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

    pub fn open(_address: &str) -> CliResult<Store> {
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
