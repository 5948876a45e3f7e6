//! A store of objects in memory that counts requests, takes time for each, has a clock of its own,
//! and can be damaged.

#![allow(dead_code)]

use async_trait::async_trait;
use futures_util::StreamExt;
use futures_util::stream::BoxStream;
use object_store::memory::InMemory;
use object_store::path::Path;
use object_store::{
    CopyOptions, Error, GetOptions, GetResult, ListResult, MultipartUpload, ObjectMeta,
    ObjectStore, ObjectStoreExt, PutMultipartOptions, PutOptions, PutPayload, PutResult, Result,
};
use std::collections::HashMap;
use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// The objects. Clones are the same.
#[derive(Clone, Debug, Default)]
pub struct Objects(Arc<State>);

#[derive(Debug, Default)]
struct State {
    inner: InMemory,
    latency: Duration,
    gets: AtomicU64,
    puts: AtomicU64,
    put_bytes: AtomicU64,
    /// Requests to write until one fails; negative for never.
    puts_left: AtomicI64,
    /// Whether requests that fail are done all the same.
    loses_answers: AtomicBool,
    /// Whether a collector removes each pack as soon as it is written.
    collects: AtomicBool,
    /// Seconds that pass with each look at the clock.
    clock_step_s: AtomicU64,
    /// How far the clock is ahead, and how far it was when an object was written.
    clock: Mutex<Clock>,
}

#[derive(Debug, Default)]
struct Clock {
    ahead: Duration,
    written: HashMap<Path, Duration>,
}

impl Objects {
    /// Objects of which each request takes so long.
    pub fn new(latency: Duration) -> Objects {
        let puts_left = AtomicI64::new(-1);
        Objects(Arc::new(State { latency, puts_left, ..State::default() }))
    }

    pub fn shared(&self) -> Arc<dyn ObjectStore> {
        Arc::new(self.clone())
    }

    pub fn gets(&self) -> u64 {
        self.0.gets.load(Ordering::SeqCst)
    }

    pub fn puts(&self) -> u64 {
        self.0.puts.load(Ordering::SeqCst)
    }

    pub fn put_bytes(&self) -> u64 {
        self.0.put_bytes.load(Ordering::SeqCst)
    }

    /// Lets requests to write fail after so many.
    pub fn fail_after(&self, puts: Option<u32>) {
        self.0.puts_left.store(puts.map_or(-1, i64::from), Ordering::SeqCst);
    }

    /// Whether requests that fail are done, so that only their answer is lost.
    pub fn lose_answers(&self, are_lost: bool) {
        self.0.loses_answers.store(are_lost, Ordering::SeqCst);
    }

    /// Whether a collector, which saw that all packs are old, removes each as soon as it is written
    /// again.
    pub fn collect_packs(&self, are_removed: bool) {
        self.0.collects.store(are_removed, Ordering::SeqCst);
    }

    /// Lets time pass with each look at the clock of the service.
    pub fn hurry(&self, seconds: u64) {
        self.0.clock_step_s.store(seconds, Ordering::SeqCst);
    }

    /// Lets time pass.
    pub fn advance(&self, hours: u64) {
        self.0.clock.lock().unwrap().ahead += Duration::from_secs(hours * 3600);
    }

    fn run<T>(request: impl Future<Output = T>) -> T {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(request)
    }

    /// The names of all objects, sorted.
    pub fn names(&self) -> Vec<String> {
        let listed = Self::run(self.0.inner.list(None).collect::<Vec<_>>());
        let mut names: Vec<String> =
            listed.into_iter().map(|meta| meta.unwrap().location.to_string()).collect();
        names.sort();
        names
    }

    /// Names of the packs.
    pub fn packs(&self) -> Vec<String> {
        let mut names = self.names();
        names.retain(|name| name.contains("/packs/"));
        names
    }

    /// Bytes of all objects.
    pub fn stored_bytes(&self) -> u64 {
        let listed = Self::run(self.0.inner.list(None).collect::<Vec<_>>());
        listed.into_iter().map(|meta| meta.unwrap().size).sum()
    }

    pub fn bytes(&self, name: &str) -> Vec<u8> {
        let path = Path::from(name);
        Self::run(async { self.0.inner.get(&path).await.unwrap().bytes().await.unwrap() }).to_vec()
    }

    /// Changes the bytes of an object, at the same time of its clock.
    pub fn change(&self, name: &str, change: impl FnOnce(&mut Vec<u8>)) {
        let mut bytes = self.bytes(name);
        change(&mut bytes);
        let path = Path::from(name);
        Self::run(async { self.0.inner.put(&path, bytes.into()).await }).unwrap();
    }

    pub fn remove(&self, name: &str) {
        let path = Path::from(name);
        Self::run(async { self.0.inner.delete(&path).await }).unwrap();
    }

    async fn pause(&self) {
        if !self.0.latency.is_zero() {
            tokio::time::sleep(self.0.latency).await;
        }
    }
}

impl State {
    fn aged(&self, mut meta: ObjectMeta) -> ObjectMeta {
        let clock = self.clock.lock().unwrap();
        meta.last_modified += clock.written.get(&meta.location).copied().unwrap_or_default();
        meta
    }
}

impl fmt::Display for Objects {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("objects of a test")
    }
}

/// The error of what worlds do not need of a store.
fn not_supported(what: &str) -> Error {
    Error::NotSupported { source: what.into() }
}

#[async_trait]
impl ObjectStore for Objects {
    async fn put_opts(
        &self,
        location: &Path,
        payload: PutPayload,
        opts: PutOptions,
    ) -> Result<PutResult> {
        self.pause().await;
        let left = self.0.puts_left.load(Ordering::SeqCst);
        if left == 0 {
            if self.0.loses_answers.load(Ordering::SeqCst) {
                self.0.inner.put_opts(location, payload, opts).await?;
            }
            return Err(Error::Generic { store: "test", source: "the network is down".into() });
        }
        self.0.puts_left.store((left - 1).max(-1), Ordering::SeqCst);
        let length = payload.content_length() as u64;
        let result = self.0.inner.put_opts(location, payload, opts).await?;
        self.0.puts.fetch_add(1, Ordering::SeqCst);
        self.0.put_bytes.fetch_add(length, Ordering::SeqCst);
        if self.0.collects.load(Ordering::SeqCst) && location.as_ref().contains("/packs/") {
            self.0.inner.delete(location).await?;
        }
        let clock = &mut *self.0.clock.lock().unwrap();
        if location.as_ref().ends_with("/clock") {
            clock.ahead += Duration::from_secs(self.0.clock_step_s.load(Ordering::SeqCst));
        }
        clock.written.insert(location.clone(), clock.ahead);
        Ok(result)
    }

    async fn put_multipart_opts(
        &self,
        _location: &Path,
        _opts: PutMultipartOptions,
    ) -> Result<Box<dyn MultipartUpload>> {
        Err(not_supported("uploads in parts: packs are uploaded whole"))
    }

    async fn get_opts(&self, location: &Path, options: GetOptions) -> Result<GetResult> {
        self.pause().await;
        self.0.gets.fetch_add(1, Ordering::SeqCst);
        let mut result = self.0.inner.get_opts(location, options).await?;
        result.meta = self.0.aged(result.meta);
        Ok(result)
    }

    fn delete_stream(
        &self,
        locations: BoxStream<'static, Result<Path>>,
    ) -> BoxStream<'static, Result<Path>> {
        self.0.inner.delete_stream(locations)
    }

    fn list(&self, prefix: Option<&Path>) -> BoxStream<'static, Result<ObjectMeta>> {
        let state = self.0.clone();
        Box::pin(self.0.inner.list(prefix).map(move |meta| meta.map(|meta| state.aged(meta))))
    }

    async fn list_with_delimiter(&self, _prefix: Option<&Path>) -> Result<ListResult> {
        Err(not_supported("listing one level: folders are listed whole"))
    }

    async fn copy_opts(&self, _from: &Path, _to: &Path, _options: CopyOptions) -> Result<()> {
        Err(not_supported("copying: nothing is copied"))
    }
}
