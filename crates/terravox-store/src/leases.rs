//! Sharing a world by columns: what a server needs of a database for that.

use crate::zone::Column;
use std::io;
use terravox::voxel::ChunkPos;

/// Who has a column of a world that several servers share.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ColumnOwner {
    /// The column.
    pub column: Column,
    /// The address of its server, as that gave it.
    pub server: String,
    /// Grows with each claim of the column.
    pub epoch: u64,
    /// Whether the lease of the server lasts. If not, the column may be claimed.
    pub is_alive: bool,
    /// Whether that server is the one that asks.
    pub is_own: bool,
}

/// What others saved in a world that several servers share.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ColumnChanges {
    /// Chunks, sorted; it may have some that did not change.
    pub chunks: Vec<ChunkPos>,
    /// The columns in which something was saved, also extra data alone, in no order.
    pub columns: Vec<Column>,
}

/// A server's share of a world that several write: the columns that it has claimed. The calls wait
/// for the database, and come from one thread.
pub trait ColumnLeases: Send {
    /// Claims columns: those that no server has, or whose server's lease has ended. Returns those
    /// that are held now. What others saved in them can be read from then on, and
    /// [`ColumnLeases::changes`] has it.
    ///
    /// # Errors
    /// If the database cannot be reached, another program took the whole world, or the store is
    /// gone. Then no more columns are held than before; those that were claimed all the same are
    /// given back once the database is back, if they are not claimed again.
    fn claim(&self, columns: &[Column]) -> io::Result<Vec<Column>>;

    /// Gives columns up, so that others may claim them at once. Save first: what is unsaved in them
    /// is refused afterwards.
    ///
    /// # Errors
    /// If the database cannot be reached. The columns then count as given up here, and for others
    /// once the database is back.
    fn release(&self, columns: &[Column]) -> io::Result<()>;

    /// All columns that a server has, also this one: as many as there are in the whole world.
    ///
    /// # Errors
    /// If the database cannot be reached.
    fn owners(&self) -> io::Result<Vec<ColumnOwner>>;

    /// Those of some columns.
    ///
    /// # Errors
    /// If the database cannot be reached.
    fn owners_of(&self, columns: &[Column]) -> io::Result<Vec<ColumnOwner>>;

    /// What others saved in `watched` columns since it was last asked for these, or since the world
    /// was opened; and, in columns that were claimed since the last call, before the claim.
    ///
    /// # Errors
    /// If the database cannot be reached; the next call has it.
    fn changes(&self, watched: &[Column]) -> io::Result<ColumnChanges>;
}
