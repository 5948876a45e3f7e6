//! One server's share of a world that several servers write.

use crate::address::Address;
use crate::failure::{RequestFailure, refused};
use crate::log::{self, LogPart};
use crate::postgres::{Postgres, PostgresOptions, Purpose};
use crate::share::{self, Share};
use crate::view::WorldAccess;
use crate::writer::Writer;
use std::collections::BTreeMap;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use terravox_store::{Column, ColumnChanges, ColumnLeases, ColumnOwner, Store, StoreError, Zone};

/// Longest address of a server, in bytes.
const MAX_SERVER_BYTES: usize = 255;

/// A server's share of a world that several write: the columns that it has claimed. The store that
/// came with it reads all of the world, and saves what lies in these columns; a save that has a
/// chunk elsewhere is refused whole. Extra data is saved under names of [`Column::data_name`]; the
/// description does not change.
///
/// If the program dies or is cut off, others may claim its columns when its lease ends. When it
/// comes back, and another server has the world or one of its columns, it can no longer write: the
/// next save and [`Store::check_writer`] return an error. It has to open the world again.
///
/// When the store is dropped, all columns are given up.
pub struct WorldShare {
    access: Arc<WorldAccess>,
    writer: Arc<Writer>,
    follow: Mutex<Follow>,
}

/// What others changed, as far as it is known here.
#[derive(Default)]
struct Follow {
    /// The last commit of each column that was noticed.
    seen: BTreeMap<i64, i64>,
    /// What was noticed, and is still to be read.
    due: Vec<LogPart>,
}

impl Postgres {
    /// Opens a world that several servers write at a time. `server` is the address of this one,
    /// which the others see. It has no columns at first.
    ///
    /// ```no_run
    /// use terravox_postgres::{Postgres, PostgresOptions};
    /// use terravox_store::{Column, ColumnLeases};
    ///
    /// let (address, options) = ("postgres://me@localhost/worlds#caves", PostgresOptions::default());
    /// let (store, share) = Postgres::share(address, &options, "dig.example.org:4077")?;
    /// if share.claim(&[Column { x: 0, z: 0 }])?.is_empty() {
    ///     for other in share.owners()? {
    ///         println!("{} is served by {}", other.column, other.server);
    ///     }
    /// }
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As [`Postgres::open`]; if one program writes all of the world ([`StoreError::InUse`]); if
    /// `server` is empty or has more than 255 bytes.
    pub fn share(
        address: &str,
        options: &PostgresOptions,
        server: &str,
    ) -> Result<(Store, WorldShare), StoreError> {
        if server.is_empty() || server.len() > MAX_SERVER_BYTES {
            let what = format!(
                "the address of the server has {} bytes; it may have 1 to {MAX_SERVER_BYTES}",
                server.len()
            );
            return Err(refused(&Address::parse(address)?.shown, what));
        }
        let share = Share::new(server.to_owned());
        let records = Postgres::connect(address, options, Purpose::Write, Some(share))?;
        let path = records.address.shown.clone();
        let access = records.access.clone();
        let Some(writer) = records.writer.clone() else {
            return Err(refused(&path, "it was opened for reading only".to_owned()));
        };
        let share = WorldShare { access, writer, follow: Mutex::default() };
        // Before anything else is read.
        let io_error = |source| StoreError::Io { path: path.clone(), doing: "open", source };
        let heads = share.foreign_heads(None).map_err(io_error)?;
        share.follow().seen.extend(heads);
        let store = Store::open_records(Arc::new(records), path)?;
        Ok((store, share))
    }
}

impl WorldShare {
    /// The columns that are held here, in no order.
    pub fn held(&self) -> Vec<Column> {
        self.writer.share.as_ref().map_or(Vec::new(), Share::held)
    }

    fn follow(&self) -> MutexGuard<'_, Follow> {
        self.follow.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Columns that others may write, all or some, with the numbers of their last commits.
    fn foreign_heads(&self, columns: Option<Vec<i64>>) -> io::Result<Vec<(i64, i64)>> {
        let (access, writer) = (self.access.clone(), self.writer.clone());
        let heads = self.access.background.wait(async move {
            let columns = columns.as_deref();
            share::foreign_heads(&access.pool, access.world, &writer.owner, columns).await
        })?;
        heads.map_err(RequestFailure::into_io)
    }

    /// Who has which column, all or some.
    fn find_owners(&self, columns: Option<Vec<i64>>) -> io::Result<Vec<ColumnOwner>> {
        let (access, writer) = (self.access.clone(), self.writer.clone());
        let found = self.access.background.wait(async move {
            share::owners(&access.pool, access.world, &writer.owner, columns.as_deref()).await
        })?;
        found.map_err(RequestFailure::into_io)
    }
}

impl ColumnLeases for WorldShare {
    fn claim(&self, columns: &[Column]) -> io::Result<Vec<Column>> {
        let (writer, columns) = (self.writer.clone(), numbers(columns));
        let claimed = self.access.background.wait(async move {
            let share = writer.share.as_ref().ok_or_else(not_shared)?;
            writer.claim(share, &columns).await
        })?;
        let claimed = claimed.map_err(RequestFailure::into_io)?;
        let mut follow = self.follow();
        for (column, high) in claimed.heads {
            let low = follow.seen.insert(column, high).unwrap_or(0);
            follow.due.push(LogPart { column, low, high });
        }
        Ok(claimed.held.into_iter().filter_map(|number| Zone(number).column()).collect())
    }

    fn release(&self, columns: &[Column]) -> io::Result<()> {
        let (writer, columns) = (self.writer.clone(), numbers(columns));
        let (heads, released) = self.access.background.wait(async move {
            match &writer.share {
                Some(share) => writer.release(share, &columns).await,
                None => (Vec::new(), Err(not_shared())),
            }
        })?;
        // Writes of this program are not changes by others.
        self.follow().seen.extend(heads);
        released.map_err(RequestFailure::into_io)
    }

    fn owners(&self) -> io::Result<Vec<ColumnOwner>> {
        self.find_owners(None)
    }

    fn owners_of(&self, columns: &[Column]) -> io::Result<Vec<ColumnOwner>> {
        match columns {
            [] => Ok(Vec::new()),
            columns => self.find_owners(Some(numbers(columns))),
        }
    }

    fn changes(&self, watched: &[Column]) -> io::Result<ColumnChanges> {
        let heads = match watched {
            [] => Vec::new(),
            watched => self.foreign_heads(Some(numbers(watched)))?,
        };
        let mut follow = self.follow();
        for (column, high) in heads {
            let low = follow.seen.insert(column, high).unwrap_or(0);
            if low < high {
                follow.due.push(LogPart { column, low, high });
            }
        }
        follow.due.retain(|part| part.low < part.high);
        if follow.due.is_empty() {
            return Ok(ColumnChanges::default());
        }
        let changed = log::changed_chunks(&self.access, &follow.due)?;
        let columns = follow.due.drain(..).filter_map(|part| Zone(part.column).column());
        Ok(ColumnChanges { columns: columns.collect(), chunks: changed.into_iter().collect() })
    }
}

fn numbers(columns: &[Column]) -> Vec<i64> {
    columns.iter().filter_map(|column| column.zone()).map(|zone| zone.0).collect()
}

fn not_shared() -> RequestFailure {
    RequestFailure::permanent(io::ErrorKind::InvalidInput, "the world is not shared".to_owned())
}
