//! The records of a world in PostgreSQL, for a [`Store`].

use crate::address::Address;
use crate::background::Background;
use crate::connection::{Connector, ViewPool};
use crate::failure::{RequestFailure, open_error, refused};
use crate::lease::LeaseFailure;
use crate::log::logged_keys;
use crate::random::random_number;
use crate::schema::{self, MAX_SHOWN_NAMES};
use crate::share::{SHARED, Share};
use crate::view::{View, WorldAccess};
use crate::writer::Writer;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use terravox_store::{
    CommitFailure, CopyStats, RecordChanges, Records, RecordsView, Store, StoreError, WorldInfo,
    Zone,
};
use tokio::task::AbortHandle;

/// How a world in a database is written.
#[derive(Clone, Debug)]
pub struct PostgresOptions {
    /// How long the right to write lasts without renewal: after that another program may take a
    /// world from one that is dead or cut off. From 0.1 seconds to an hour.
    pub lease: Duration,
    /// How long transient failures are retried, such as while a server restarts. A day at most.
    pub retry_time: Duration,
    /// How long an answer may take before the connection counts as lost. From 0.1 seconds to an
    /// hour.
    pub answer_time: Duration,
    /// Whether to take the world from the program that writes it, which then writes nothing any
    /// more.
    pub takes_over: bool,
}

impl Default for PostgresOptions {
    fn default() -> PostgresOptions {
        PostgresOptions {
            lease: Duration::from_secs(3),
            retry_time: Duration::from_secs(20),
            answer_time: Duration::from_secs(5),
            takes_over: false,
        }
    }
}

/// The shortest lease and time for an answer: less is less than a busy server takes.
const MIN_TIME: Duration = Duration::from_millis(100);

/// The longest lease and time for an answer.
const MAX_TIME: Duration = Duration::from_secs(3600);

/// The longest time that something is tried again.
const MAX_RETRY_TIME: Duration = Duration::from_secs(24 * 3600);

impl PostgresOptions {
    /// What is out of its range.
    fn fault(&self) -> Option<String> {
        let times = [
            ("lease", self.lease, MIN_TIME, MAX_TIME),
            ("answer_time", self.answer_time, MIN_TIME, MAX_TIME),
            ("retry_time", self.retry_time, Duration::ZERO, MAX_RETRY_TIME),
        ];
        let wrong = times.into_iter().find(|(_, time, low, high)| !(low..=high).contains(&time));
        wrong.map(|(name, time, low, high)| {
            format!("{name} is {time:?}; it may be from {low:?} to {high:?}")
        })
    }
}

/// An entry of the log of a zone: what one commit changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogEntry {
    /// Its number; they count up by one.
    pub seq: u64,
    /// The epoch of the writer.
    pub epoch: u64,
    /// Keys of the records that it changed or removed.
    pub keys: Vec<Vec<u8>>,
}

/// Entries of the log that one call returns, at most.
const MAX_LOG_ENTRIES: i64 = 1000;

/// Not those that were merged.
const LOG_AFTER: &str = "
    select seq, epoch, keys from terravox_log
    where world = $1 and zone = $2 and seq > $3 and epoch > 0 order by seq limit $4";

/// How long giving up a world may take at the end.
const CLOSE_TIME: Duration = Duration::from_secs(1);

/// The records of a world in PostgreSQL.
pub struct Postgres {
    pub(crate) access: Arc<WorldAccess>,
    pub(crate) writer: Option<Arc<Writer>>,
    /// The task that renews leases.
    keeper: Option<AbortHandle>,
    pub(crate) address: Address,
}

/// What is to be done with a world.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Purpose {
    Read,
    Write,
    /// Write a new one, and make the tables if there are none.
    Create,
}

impl Postgres {
    /// Opens a world for reading and writing.
    ///
    /// # Errors
    /// If the server cannot be reached or refuses, the database is not of terravox or of another
    /// version, there is no such world, or another program writes it ([`StoreError::InUse`]).
    pub fn open(address: &str, options: &PostgresOptions) -> Result<Store, StoreError> {
        let records = Postgres::connect(address, options, Purpose::Write, None)?;
        let shown = records.address.shown.clone();
        Store::open_records(Arc::new(records), shown)
    }

    /// Opens a world for reading, also while another program writes it.
    ///
    /// # Errors
    /// As [`Postgres::open`].
    pub fn open_read_only(address: &str, options: &PostgresOptions) -> Result<Store, StoreError> {
        let records = Postgres::connect(address, options, Purpose::Read, None)?;
        let shown = records.address.shown.clone();
        Store::open_records_read_only(Arc::new(records), shown)
    }

    /// Makes a new world, and the tables if the database has none.
    ///
    /// # Errors
    /// As [`Postgres::open`], and if there is a world of this name.
    pub fn create(
        address: &str,
        info: &WorldInfo,
        options: &PostgresOptions,
    ) -> Result<Store, StoreError> {
        let records = Postgres::connect(address, options, Purpose::Create, None)?;
        let shown = records.address.shown.clone();
        Store::create_records(Arc::new(records), shown, info)
    }

    /// Copies a world to a new one in a database, as [`Store::copy_to_records`] does; makes the
    /// tables if there are none.
    ///
    /// # Errors
    /// As [`Postgres::create`] and [`Store::copy_to_records`].
    pub fn copy(
        from: &Store,
        address: &str,
        options: &PostgresOptions,
        progress: impl FnMut(u64, u64),
    ) -> Result<(Store, CopyStats), StoreError> {
        let records = Postgres::connect(address, options, Purpose::Create, None)?;
        let shown = records.address.shown.clone();
        from.copy_to_records(Arc::new(records), shown, progress)
    }

    /// The records of an existing world, for reading its log while another program writes it.
    ///
    /// # Errors
    /// As [`Postgres::open`].
    pub fn follow(address: &str, options: &PostgresOptions) -> Result<Postgres, StoreError> {
        Postgres::connect(address, options, Purpose::Read, None)
    }

    /// `share`: what is known of a world that is not written by this program alone.
    pub(crate) fn connect(
        address: &str,
        options: &PostgresOptions,
        purpose: Purpose,
        share: Option<Share>,
    ) -> Result<Postgres, StoreError> {
        let address = Address::parse(address)?;
        if let Some(what) = options.fault() {
            return Err(refused(&address.shown, what));
        }
        let io_error =
            |source| StoreError::Io { path: address.shown.clone(), doing: "open", source };
        let connector =
            Arc::new(Connector::new(&address, options.answer_time, options.retry_time)?);
        let background = Background::start().map_err(io_error)?;
        let world = {
            let (connector, address) = (connector.clone(), address.clone());
            let found = background.wait(async move { find(&connector, &address, purpose).await });
            found.map_err(io_error)??
        };
        let pool = Arc::new(ViewPool::new(connector.clone()));
        let access = Arc::new(WorldAccess { world, pool, background });
        let mut records = Postgres { access, writer: None, keeper: None, address };
        if purpose != Purpose::Read {
            // A new world cannot be created where others write.
            let takes_over = options.takes_over && purpose != Purpose::Create;
            records.take_world(connector, options.lease, takes_over, share)?;
        }
        Ok(records)
    }

    /// Takes the right to write.
    fn take_world(
        &mut self,
        connector: Arc<Connector>,
        lease: Duration,
        takes_over: bool,
        share: Option<Share>,
    ) -> Result<(), StoreError> {
        let path = &self.address.shown;
        let (world, owner) = (self.access.world, owner_name());
        let writer = Arc::new(Writer::new(connector, world, owner, lease, takes_over, share));
        let taken = {
            let writer = writer.clone();
            self.access.background.wait(async move { writer.open().await })
        };
        let taken =
            taken.map_err(|source| StoreError::Io { path: path.clone(), doing: "open", source })?;
        taken.map_err(|failure| match failure {
            LeaseFailure::Held { owner, .. } => {
                let how = "which share it (serve --share HOST:PORT joins them)";
                let is_shared = owner == SHARED;
                let writer = if is_shared { format!("{SHARED}, {how}") } else { owner };
                StoreError::InUse { path: path.clone(), writer: Some(writer) }
            }
            LeaseFailure::Failed(failure) => open_error(path, failure),
        })?;
        self.keeper = Some(self.access.background.spawn(writer.clone().keep()));
        self.writer = Some(writer);
        Ok(())
    }

    /// The address without its password.
    pub fn path(&self) -> &Path {
        &self.address.shown
    }

    /// What commits changed in a zone after the one of number `seq`, in order; at most a thousand
    /// of them. The last thousand of a zone, at least, are kept: if the first that is returned is
    /// not `seq + 1`, what lay between is gone, and the zone is to be read anew.
    ///
    /// # Errors
    /// If the log cannot be read.
    pub fn log_after(&self, zone: Zone, seq: u64) -> io::Result<Vec<LogEntry>> {
        let view = View::begin(self.access.clone())?;
        let seq = i64::try_from(seq).unwrap_or(i64::MAX);
        let rows = view
            .query(LOG_AFTER, vec![Box::new(zone.0), Box::new(seq), Box::new(MAX_LOG_ENTRIES)])?;
        let entry = |row: &tokio_postgres::Row| {
            let keys = logged_keys(row.get(2))?;
            let [seq, epoch] = [0, 1].map(|column| row.get::<_, i64>(column) as u64);
            Some(LogEntry { seq, epoch, keys })
        };
        let entries: Option<Vec<LogEntry>> = rows.iter().map(entry).collect();
        entries.ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, "the log is damaged"))
    }
}

/// A name that no other writer has, and that tells people where it runs.
fn owner_name() -> String {
    let host = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    let host = if host.trim().is_empty() { "a machine" } else { host.trim() };
    format!("{host}, process {} ({:016x})", std::process::id(), random_number())
}

/// The number of the world at an address.
async fn find(
    connector: &Connector,
    address: &Address,
    purpose: Purpose,
) -> Result<i64, StoreError> {
    let failed = |failure: RequestFailure| open_error(&address.shown, failure);
    let connection = connector.connect().await.map_err(failed)?;
    schema::check(&connection, purpose == Purpose::Create, &address.shown).await?;
    if purpose == Purpose::Create {
        return schema::make_world(&connection, &address.world).await.map_err(failed);
    }
    if let Some(world) = schema::find_world(&connection, &address.world).await.map_err(failed)? {
        return Ok(world);
    }
    let names = schema::world_names(&connection).await.map_err(failed)?;
    let what = "the database has no world of this name; copy one there with terravox copy";
    let why = format!("{what}. It has {}", shown_names(&names));
    Err(StoreError::NotAWorld { path: address.shown.clone(), why })
}

/// Names of worlds in a line: at most as many as it has place for.
fn shown_names(names: &[String]) -> String {
    let shown = names.iter().take(MAX_SHOWN_NAMES).map(|name| format!("{name:?}"));
    let shown = shown.collect::<Vec<_>>().join(", ");
    match names.len() {
        0 => "none".to_owned(),
        1..=MAX_SHOWN_NAMES => shown,
        _ => format!("{shown} and others"),
    }
}

impl Records for Postgres {
    fn view(&self) -> io::Result<Box<dyn RecordsView>> {
        Ok(Box::new(View::begin(self.access.clone())?))
    }

    fn latest(&self) -> io::Result<Box<dyn RecordsView>> {
        Ok(Box::new(View::latest(self.access.clone())))
    }

    fn taken_over(&self) -> Option<String> {
        self.writer.as_ref().and_then(|writer| writer.taken_over())
    }

    fn commit(&self, changes: RecordChanges) -> Result<(), CommitFailure> {
        let Some(writer) = self.writer.clone() else {
            let what = "the world was opened for reading only";
            let error = io::Error::new(io::ErrorKind::PermissionDenied, what);
            return Err(CommitFailure::Unchanged(error));
        };
        let done = self.access.background.wait(async move { writer.commit(changes).await });
        // The thread is gone with an answer that may have been a success.
        done.unwrap_or_else(|error| Err(CommitFailure::Unsure(error)))
    }
}

impl Drop for Postgres {
    fn drop(&mut self) {
        if let Some(keeper) = self.keeper.take() {
            keeper.abort();
        }
        if let Some(writer) = self.writer.take() {
            // If it fails, the leases end by themselves.
            let _ = self.access.background.wait(async move {
                drop(tokio::time::timeout(CLOSE_TIME, writer.close()).await);
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_names_the_worlds_that_there_are_on_one_line() {
        let shown = |count: usize| {
            shown_names(&Vec::from_iter((0..count).map(|number| format!("w{number}"))))
        };
        assert_eq!([shown(0), shown(2)], ["none", "\"w0\", \"w1\""]);
        assert!(shown(MAX_SHOWN_NAMES).ends_with(", \"w9\""));
        assert!(shown(MAX_SHOWN_NAMES + 1).ends_with("\"w9\" and others"));
        assert_eq!(shown_names(&["a\nb".to_owned()]), "\"a\\nb\"");
    }

    #[test]
    fn where_nothing_listens_the_message_asks_for_postgresql() {
        let options = PostgresOptions { retry_time: Duration::ZERO, ..PostgresOptions::default() };
        // Where no ordinary program may listen.
        let error = Postgres::open("postgres://me@127.0.0.1:1/w#a", &options).err().unwrap();
        let advice = "is PostgreSQL running there? check host and port";
        assert!(error.to_string().ends_with(advice), "{error}");
    }

    #[test]
    fn times_out_of_their_range_are_refused_by_name() {
        let usual = PostgresOptions::default;
        assert_eq!(usual().fault(), None);
        let (none, all) = (Duration::ZERO, Duration::MAX);
        for (name, options) in [
            ("lease", PostgresOptions { lease: none, ..usual() }),
            ("lease", PostgresOptions { lease: all, ..usual() }),
            ("answer_time", PostgresOptions { answer_time: none, ..usual() }),
            ("answer_time", PostgresOptions { answer_time: all, ..usual() }),
            ("retry_time", PostgresOptions { retry_time: all, ..usual() }),
        ] {
            let error = Postgres::open("postgres://localhost:1/w#a", &options).err().unwrap();
            assert!(error.to_string().contains(&format!("a: {name} is ")), "{error}");
        }
        assert_eq!(PostgresOptions { retry_time: none, ..usual() }.fault(), None);
    }
}
