//! Records in memory of which a test sees each call before it is made: to count calls, and to let them
//! wait or fail.

use std::io;
use std::sync::Arc;
use terravox_store::{
    CommitFailure, MemoryRecords, RecordChanges, RecordTotals, Records, RecordsView, WorldRecord,
};

/// What is called.
#[derive(Clone, Copy, Debug)]
pub enum RecordsCall {
    Get,
    Scan,
    Totals,
    Commit,
}

/// Is called before each call. If it returns an error, the call fails with that.
type Watch = Arc<dyn Fn(RecordsCall) -> io::Result<()> + Send + Sync>;

pub struct WatchedRecords {
    records: Arc<MemoryRecords>,
    watch: Watch,
}

struct WatchedView {
    view: Box<dyn RecordsView>,
    watch: Watch,
}

impl WatchedRecords {
    pub fn new(
        records: Arc<MemoryRecords>,
        watch: impl Fn(RecordsCall) -> io::Result<()> + Send + Sync + 'static,
    ) -> WatchedRecords {
        WatchedRecords { records, watch: Arc::new(watch) }
    }
}

impl Records for WatchedRecords {
    fn view(&self) -> io::Result<Box<dyn RecordsView>> {
        Ok(Box::new(WatchedView { view: self.records.view()?, watch: self.watch.clone() }))
    }

    fn commit(&self, changes: RecordChanges) -> Result<(), CommitFailure> {
        (self.watch)(RecordsCall::Commit).map_err(CommitFailure::Unchanged)?;
        self.records.commit(changes)
    }
}

impl RecordsView for WatchedView {
    fn get(&self, keys: &[&[u8]]) -> io::Result<Vec<WorldRecord>> {
        (self.watch)(RecordsCall::Get)?;
        self.view.get(keys)
    }

    fn scan(
        &self,
        low: &[u8],
        high: Option<&[u8]>,
        limit: usize,
        with_values: bool,
    ) -> io::Result<Vec<WorldRecord>> {
        (self.watch)(RecordsCall::Scan)?;
        self.view.scan(low, high, limit, with_values)
    }

    fn totals(&self) -> io::Result<RecordTotals> {
        (self.watch)(RecordsCall::Totals)?;
        self.view.totals()
    }
}
