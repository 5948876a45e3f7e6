//! Connections, with the statements that were prepared on each.

use crate::address::Address;
use crate::failure::{RequestFailure, open_error, refused};
use crate::retry::pause;
use futures_util::TryStreamExt;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use rustls::{ClientConfig, RootCertStore};
use std::collections::HashMap;
use std::io;
use std::pin::pin;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use terravox_store::StoreError;
use tokio::time::timeout;
use tokio_postgres::config::SslMode;
use tokio_postgres::types::ToSql;
use tokio_postgres::{Client, Config, NoTls, Row, Statement};
use tokio_postgres_rustls::MakeRustlsConnect;

/// Connections for reading that are kept.
const MAX_IDLE: usize = 8;

/// Of connections that send slower than this, in bytes per second, large statements are given up.
const MIN_UPLOAD_SPEED: usize = 512 << 10;

/// Parameters of a statement.
pub(crate) type Parameters<'a> = &'a [&'a (dyn ToSql + Sync)];

/// Makes connections to one server.
pub(crate) struct Connector {
    config: Config,
    tls: Option<MakeRustlsConnect>,
    /// Without an answer for so long, a connection counts as lost.
    answer_time: Duration,
    /// How long transient failures are retried.
    retry_time: Duration,
}

impl Connector {
    pub fn new(
        address: &Address,
        answer_time: Duration,
        retry_time: Duration,
    ) -> Result<Connector, StoreError> {
        let mut config = address.config.clone();
        config.application_name("terravox").connect_timeout(answer_time);
        // As other programs take it, so that it need not be in the address.
        if let (None, Ok(word)) = (config.get_password(), std::env::var("PGPASSWORD")) {
            config.password(word);
        }
        let tls = match address.uses_tls {
            true => Some(MakeRustlsConnect::new(tls_config(address)?)),
            false => None,
        };
        config.ssl_mode(if tls.is_some() { SslMode::Require } else { SslMode::Disable });
        Ok(Connector { config, tls, answer_time, retry_time })
    }

    pub async fn connect(&self) -> Result<Connection, RequestFailure> {
        let client = match &self.tls {
            None => {
                let connecting = timeout(self.answer_time, self.config.connect(NoTls)).await;
                let (client, connection) = connecting.map_err(|_| RequestFailure::silence())??;
                tokio::spawn(async move { drop(connection.await) });
                client
            }
            Some(tls) => {
                let connecting = timeout(self.answer_time, self.config.connect(tls.clone())).await;
                let (client, connection) = connecting.map_err(|_| RequestFailure::silence())??;
                tokio::spawn(async move { drop(connection.await) });
                client
            }
        };
        Ok(Connection {
            client,
            statements: Mutex::default(),
            answer_time: self.answer_time,
            sending: AtomicUsize::new(0),
            is_silent: AtomicBool::new(false),
        })
    }

    /// Without an answer for so long, a connection counts as lost.
    pub fn answer_time(&self) -> Duration {
        self.answer_time
    }

    /// Until when something that fails now is tried again.
    pub fn retry_end(&self) -> Instant {
        // The options bound it.
        Instant::now() + self.retry_time
    }
}

/// How long it may take to send some bytes.
pub(crate) fn upload_time(bytes: usize) -> Duration {
    Duration::from_millis((bytes / (MIN_UPLOAD_SPEED / 1000)) as u64)
}

/// Lets the server end the transaction after a time without a statement, and that of moving some bytes.
pub(crate) fn idle_limit(idle: Duration, bytes: usize) -> String {
    let idle_ms = (idle + upload_time(bytes)).as_millis();
    format!("set local idle_in_transaction_session_timeout = {idle_ms}")
}

/// Begins a transaction with such a limit. Whatever the role or the database has as the default: what claims
/// and fences has to see what was committed while it waited for a lock.
pub(crate) fn begin(idle: Duration, bytes: usize) -> String {
    format!("begin isolation level read committed; {}", idle_limit(idle, bytes))
}

/// What certificates are trusted.
fn tls_config(address: &Address) -> Result<ClientConfig, StoreError> {
    let mut roots = RootCertStore::empty();
    match &address.root_certificates {
        Some(file) => {
            let wrong = |why: String| {
                refused(&address.shown, format!("certificates of {}: {why}", file.display()))
            };
            let read = CertificateDer::pem_file_iter(file).map_err(|e| wrong(e.to_string()))?;
            for certificate in read {
                let certificate = certificate.map_err(|error| wrong(error.to_string()))?;
                roots.add(certificate).map_err(|error| wrong(error.to_string()))?;
            }
        }
        None => {
            roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        }
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder =
        ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
    let builder = builder.map_err(|error| {
        open_error(
            &address.shown,
            RequestFailure::permanent(io::ErrorKind::Other, error.to_string()),
        )
    })?;
    Ok(builder.with_root_certificates(roots).with_no_client_auth())
}

/// A connection.
pub(crate) struct Connection {
    client: Client,
    statements: Mutex<HashMap<&'static str, Statement>>,
    answer_time: Duration,
    /// Bytes of large statements that are sent and not answered, and of large results.
    sending: AtomicUsize,
    /// Whether an answer did not come in time.
    is_silent: AtomicBool,
}

impl Connection {
    pub fn is_usable(&self) -> bool {
        !self.client.is_closed() && !self.is_silent.load(Ordering::Relaxed)
    }

    fn statements(&self) -> MutexGuard<'_, HashMap<&'static str, Statement>> {
        self.statements.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for an answer.
    async fn answer<T>(
        &self,
        request: impl Future<Output = Result<T, tokio_postgres::Error>>,
    ) -> Result<T, RequestFailure> {
        let limit = self.answer_time + upload_time(self.sending.load(Ordering::Relaxed));
        match timeout(limit, request).await {
            Ok(answer) => Ok(answer?),
            Err(_) => {
                self.is_silent.store(true, Ordering::Relaxed);
                Err(RequestFailure::silence())
            }
        }
    }

    /// A prepared statement. Prepared again only on a new connection.
    pub async fn statement(&self, sql: &'static str) -> Result<Statement, RequestFailure> {
        let known = self.statements().get(sql).cloned();
        if let Some(statement) = known {
            return Ok(statement);
        }
        let statement = self.answer(self.client.prepare(sql)).await?;
        self.statements().insert(sql, statement.clone());
        Ok(statement)
    }

    pub async fn query(
        &self,
        sql: &'static str,
        parameters: Parameters<'_>,
    ) -> Result<Vec<Row>, RequestFailure> {
        let statement = self.statement(sql).await?;
        let rows = self.client.query_raw(&statement, parameters.iter().copied());
        let mut rows = pin!(self.answer(rows).await?);
        let mut all = Vec::new();
        // However many they are, each comes in time.
        while let Some(row) = self.answer(rows.try_next()).await? {
            all.push(row);
        }
        Ok(all)
    }

    /// As [`Connection::query`], of rows with some bytes: each may take longer.
    pub async fn query_large(
        &self,
        sql: &'static str,
        parameters: Parameters<'_>,
        bytes: usize,
    ) -> Result<Vec<Row>, RequestFailure> {
        self.sending.fetch_add(bytes, Ordering::Relaxed);
        let rows = self.query(sql, parameters).await;
        self.sending.fetch_sub(bytes, Ordering::Relaxed);
        rows
    }

    pub async fn execute(
        &self,
        sql: &'static str,
        parameters: Parameters<'_>,
    ) -> Result<u64, RequestFailure> {
        let statement = self.statement(sql).await?;
        self.answer(self.client.execute(&statement, parameters)).await
    }

    /// Runs a statement with parameters of some bytes: this one, and those that are sent after it,
    /// may take longer.
    pub async fn execute_large(
        &self,
        sql: &'static str,
        parameters: Parameters<'_>,
        bytes: usize,
    ) -> Result<u64, RequestFailure> {
        self.sending.fetch_add(bytes, Ordering::Relaxed);
        let executed = self.execute(sql, parameters).await;
        self.sending.fetch_sub(bytes, Ordering::Relaxed);
        executed
    }

    /// Runs statements without parameters.
    pub async fn run(&self, sql: &str) -> Result<(), RequestFailure> {
        self.answer(self.client.batch_execute(sql)).await
    }
}

/// Connections for reading.
pub(crate) struct ViewPool {
    pub connector: Arc<Connector>,
    idle: Mutex<Vec<Arc<Connection>>>,
}

/// Begins a transaction that sees one moment: the first statement is what fixes it.
const BEGIN_VIEW: &str = "begin isolation level repeatable read, read only; \
                          select version from terravox_schema";

impl ViewPool {
    pub fn new(connector: Arc<Connector>) -> ViewPool {
        ViewPool { connector, idle: Mutex::default() }
    }

    fn idle(&self) -> MutexGuard<'_, Vec<Arc<Connection>>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A connection that is idle, or a new one; and whether it was idle.
    async fn take(&self) -> (Result<Arc<Connection>, RequestFailure>, bool) {
        let idle = self.idle().pop();
        match idle {
            Some(connection) => (Ok(connection), true),
            None => (self.connector.connect().await.map(Arc::new), false),
        }
    }

    fn keep(&self, connection: Arc<Connection>) {
        let mut idle = self.idle();
        if connection.is_usable() && idle.len() < MAX_IDLE {
            idle.push(connection);
        }
    }

    /// A connection in a transaction that sees this moment.
    pub async fn begin_view(&self) -> Result<Arc<Connection>, RequestFailure> {
        let end = self.connector.retry_end();
        for attempt in 0.. {
            let (taken, was_idle) = self.take().await;
            let begun = match taken {
                Ok(connection) => connection.run(BEGIN_VIEW).await.map(|()| connection),
                Err(failure) => Err(failure),
            };
            match begun {
                Ok(connection) => return Ok(connection),
                Err(failure) => self.wait_or_fail(failure, was_idle, attempt, end).await?,
            }
        }
        unreachable!("the time ends")
    }

    /// Runs one query by itself; retries transient failures.
    pub async fn query(
        &self,
        sql: &'static str,
        parameters: Parameters<'_>,
    ) -> Result<Vec<Row>, RequestFailure> {
        let end = self.connector.retry_end();
        for attempt in 0.. {
            let (taken, was_idle) = self.take().await;
            let answer = match &taken {
                Ok(connection) => connection.query(sql, parameters).await,
                Err(failure) => Err(failure.clone()),
            };
            match answer {
                Ok(rows) => {
                    taken.into_iter().for_each(|connection| self.keep(connection));
                    return Ok(rows);
                }
                Err(failure) => self.wait_or_fail(failure, was_idle, attempt, end).await?,
            }
        }
        unreachable!("the time ends")
    }

    /// Ends a view and keeps its connection.
    pub async fn end_view(&self, connection: Arc<Connection>) {
        if connection.run("commit").await.is_ok() {
            self.keep(connection);
        }
    }

    /// Waits before a request is tried again.
    ///
    /// # Errors
    /// The failure, if it lasts or the time is over.
    async fn wait_or_fail(
        &self,
        failure: RequestFailure,
        was_idle: bool,
        attempt: u32,
        end: Instant,
    ) -> Result<(), RequestFailure> {
        if !failure.is_transient || Instant::now() > end {
            return Err(failure);
        }
        if was_idle && !failure.is_answer {
            // The others are of the same time, and would each be waited for: a new one says what is
            // true now.
            self.idle().clear();
            return Ok(());
        }
        tokio::time::sleep(pause(attempt)).await;
        Ok(())
    }
}
