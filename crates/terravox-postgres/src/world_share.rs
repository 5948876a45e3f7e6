//! One server's share of a world that several servers write.

use crate::address::Address;
use crate::failure::{RequestFailure, refused};
use crate::postgres::{Postgres, PostgresOptions, Purpose};
use crate::share::{self, ColumnOwner, Share};
use crate::view::WorldAccess;
use crate::writer::Writer;
use std::io;
use std::sync::Arc;
use terravox_store::{Column, Store, StoreError, Zone};

/// Longest address of a server, in bytes.
const MAX_SERVER_BYTES: usize = 255;

/// A server's share of a world that several write: the columns that it has claimed. The store that came with
/// it reads all of the world, and saves what lies in these columns; a save that has a chunk elsewhere is
/// refused whole. Extra data is saved under names of [`Column::data_name`]; the description does not change.
///
/// A column is claimed, written, and given up with [`WorldShare::release`]. If the program dies or is cut off,
/// others may claim its columns when its lease ends. When it comes back, and another server has the world or
/// one of its columns, it writes nothing any more: the next save and [`Store::check_writer`] say so. It has
/// to open the world again.
///
/// When the store is dropped, all columns are given up.
#[derive(Clone)]
pub struct WorldShare {
    access: Arc<WorldAccess>,
    writer: Arc<Writer>,
}

impl Postgres {
    /// Opens a world that several servers write at a time. `server` is the address of this one, which the
    /// others see. It has no columns at first.
    ///
    /// ```no_run
    /// use terravox_postgres::{Postgres, PostgresOptions};
    /// use terravox_store::Column;
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
    /// As [`Postgres::open`]; if one program writes all of the world ([`StoreError::InUse`]); if `server` is
    /// empty or has more than 255 bytes.
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
        let store = Store::open_records(Arc::new(records), path)?;
        Ok((store, WorldShare { access, writer }))
    }
}

impl WorldShare {
    /// Claims columns: those that no server has, or whose server's lease has ended. Returns those that are
    /// held now. What others saved in them is in the store from then on.
    ///
    /// # Errors
    /// If the database cannot be reached, another program took the whole world, or the store is gone.
    pub fn claim(&self, columns: &[Column]) -> io::Result<Vec<Column>> {
        let numbers = numbers(columns);
        let held = self.wait(move |writer| async move {
            let share = writer.share.as_ref().ok_or_else(not_shared)?;
            writer.claim(share, &numbers).await
        })?;
        Ok(held.into_iter().filter_map(|number| Zone(number).column()).collect())
    }

    /// Gives columns up, so that others may claim them at once. Save first: what is unsaved in them is
    /// refused afterwards.
    ///
    /// # Errors
    /// If the database cannot be reached. The columns then count as given up here, and for others only when this
    /// program ends.
    pub fn release(&self, columns: &[Column]) -> io::Result<()> {
        let numbers = numbers(columns);
        self.wait(move |writer| async move {
            let share = writer.share.as_ref().ok_or_else(not_shared)?;
            writer.release(share, &numbers).await
        })
    }

    /// The columns that are held here, in no order.
    pub fn held(&self) -> Vec<Column> {
        self.writer.share.as_ref().map_or(Vec::new(), Share::held)
    }

    /// All columns that a server has, also this one.
    ///
    /// # Errors
    /// If the database cannot be reached.
    pub fn owners(&self) -> io::Result<Vec<ColumnOwner>> {
        let (pool, world) = (self.access.pool.clone(), self.access.world);
        let found =
            self.access.background.wait(async move { share::owners(&pool, world).await })?;
        found.map_err(RequestFailure::into_io)
    }

    fn wait<T: Send + 'static, F: Future<Output = Result<T, RequestFailure>> + Send + 'static>(
        &self,
        request: impl FnOnce(Arc<Writer>) -> F,
    ) -> io::Result<T> {
        self.access.background.wait(request(self.writer.clone()))?.map_err(RequestFailure::into_io)
    }
}

fn numbers(columns: &[Column]) -> Vec<i64> {
    columns.iter().filter_map(|column| column.zone()).map(|zone| zone.0).collect()
}

fn not_shared() -> RequestFailure {
    RequestFailure::permanent(io::ErrorKind::InvalidInput, "the world is not shared".to_owned())
}
