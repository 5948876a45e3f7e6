//! The records of a world at one moment: a transaction that reads.

use crate::background::Background;
use crate::connection::{Connection, ViewPool};
use crate::failure::RequestFailure;
use std::io;
use std::sync::Arc;
use terravox_store::{RecordTotals, RecordsView, WorldRecord};
use tokio_postgres::Row;
use tokio_postgres::types::ToSql;

const GET: &str = "select key, hash, value from terravox_records where world = $1 and key = $2";

const GET_MANY: &str =
    "select key, hash, value from terravox_records where world = $1 and key = any($2::bytea[])";

const SCAN: &str = "
    select key, hash, value from terravox_records
    where world = $1 and key >= $2 and key < $3 order by key limit $4";

const SCAN_KEYS: &str = "
    select key, hash, ''::bytea from terravox_records
    where world = $1 and key >= $2 and key < $3 order by key limit $4";

const TOTALS: &str = "
    select count(*), coalesce(sum(length(key) + length(value)), 0)::bigint
    from terravox_records where world = $1";

/// After all keys.
const END: &[u8] = &[255, 255];

/// A parameter that a query on the other thread owns.
pub(crate) type Parameter = Box<dyn ToSql + Sync + Send>;

/// What views share with their records.
pub(crate) struct WorldAccess {
    /// The number of the world.
    pub world: i64,
    pub pool: Arc<ViewPool>,
    pub background: Background,
}

/// Reads records: in a transaction of its own, or, for a writer, in one for each query.
pub(crate) struct View {
    access: Arc<WorldAccess>,
    /// The transaction of a view that sees one moment. Its connection goes back to the pool.
    transaction: Option<Arc<Connection>>,
}

impl View {
    /// Begins a view that sees this moment.
    pub fn begin(access: Arc<WorldAccess>) -> io::Result<View> {
        let pool = access.pool.clone();
        let begun = access.background.wait(async move { pool.begin_view().await })?;
        let transaction = Some(begun.map_err(RequestFailure::into_io)?);
        Ok(View { access, transaction })
    }

    /// A view for a writer, beside which nothing else writes. It costs no transaction, and lasts
    /// longer than a connection.
    pub fn latest(access: Arc<WorldAccess>) -> View {
        View { access, transaction: None }
    }

    /// Runs a query; the first parameter is the world.
    pub fn query(&self, sql: &'static str, parameters: Vec<Parameter>) -> io::Result<Vec<Row>> {
        let (transaction, pool) = (self.transaction.clone(), self.access.pool.clone());
        let world = self.access.world;
        let answer = self.access.background.wait(async move {
            let mut all: Vec<&(dyn ToSql + Sync)> = vec![&world];
            all.extend(parameters.iter().map(|parameter| &**parameter as &(dyn ToSql + Sync)));
            match transaction {
                Some(connection) => connection.query(sql, &all).await,
                None => pool.query(sql, &all).await,
            }
        })?;
        answer.map_err(RequestFailure::into_io)
    }
}

impl Drop for View {
    fn drop(&mut self) {
        if let Some(connection) = self.transaction.take() {
            let pool = self.access.pool.clone();
            self.access.background.spawn(async move { pool.end_view(connection).await });
        }
    }
}

fn record(row: &Row) -> WorldRecord {
    WorldRecord { key: row.get(0), hash: row.get::<_, i64>(1) as u64, value: row.get(2) }
}

impl RecordsView for View {
    fn get(&self, keys: &[&[u8]]) -> io::Result<Vec<WorldRecord>> {
        let rows = match keys {
            [] => return Ok(Vec::new()),
            [key] => self.query(GET, vec![Box::new(key.to_vec())])?,
            keys => {
                let keys: Vec<Vec<u8>> = keys.iter().map(|key| key.to_vec()).collect();
                self.query(GET_MANY, vec![Box::new(keys)])?
            }
        };
        Ok(rows.iter().map(record).collect())
    }

    fn scan(
        &self,
        low: &[u8],
        high: Option<&[u8]>,
        limit: usize,
        with_values: bool,
    ) -> io::Result<Vec<WorldRecord>> {
        let (low, high) = (low.to_vec(), high.unwrap_or(END).to_vec());
        let sql = if with_values { SCAN } else { SCAN_KEYS };
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        let rows = self.query(sql, vec![Box::new(low), Box::new(high), Box::new(limit)])?;
        Ok(rows.iter().map(record).collect())
    }

    fn totals(&self) -> io::Result<RecordTotals> {
        let rows = self.query(TOTALS, Vec::new())?;
        let count = |column| rows.first().map_or(0, |row| row.get::<_, i64>(column) as u64);
        Ok(RecordTotals { records: count(0), payload_bytes: count(1) })
    }
}
