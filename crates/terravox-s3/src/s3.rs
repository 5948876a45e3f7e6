//! A place for a published world, in S3 or any other store of objects.

use crate::address::Address;
use crate::background::Background;
use crate::client::Connector;
use crate::collect::{self, CollectOptions, CollectStats};
use crate::failure::refused;
use crate::manifest::Manifest;
use crate::publish::{self, PublishStats};
use crate::records::PublishedRecords;
use crate::world::PublishedWorld;
use crate::world_objects::WorldObjects;
use object_store::aws::{AmazonS3Builder, AmazonS3ConfigKey, S3ConditionalPut};
use object_store::{ObjectStore, RetryConfig};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use terravox_store::{Store, StoreError};

/// How a published world is read and written.
#[derive(Clone, Debug)]
pub struct S3Options {
    /// Memory for records that were read.
    pub cache_bytes: usize,
    /// How long transient failures are retried. A day at most.
    pub retry_time: Duration,
    /// How long a service may be silent before a connection counts as lost. From 0.1 seconds to an
    /// hour.
    pub answer_time: Duration,
    /// Uploads every object again, and replaces a damaged manifest: repairs a damaged publication.
    pub rewrites_all: bool,
}

impl Default for S3Options {
    fn default() -> S3Options {
        S3Options {
            cache_bytes: 64 << 20,
            retry_time: Duration::from_secs(20),
            answer_time: Duration::from_secs(10),
            rewrites_all: false,
        }
    }
}

impl S3Options {
    /// What is out of its range.
    fn fault(&self) -> Option<String> {
        let valid = Duration::from_millis(100)..=Duration::from_secs(3600);
        if !valid.contains(&self.answer_time) {
            let (low, high) = valid.into_inner();
            return Some(format!(
                "answer_time is {:?}; it may be from {low:?} to {high:?}",
                self.answer_time
            ));
        }
        let limit = Duration::from_secs(24 * 3600);
        let time = self.retry_time;
        (time > limit).then(|| format!("retry_time is {time:?}; it may be at most {limit:?}"))
    }
}

/// A location in S3 where a world is published, or will be.
pub struct S3 {
    objects: Arc<WorldObjects>,
    options: S3Options,
}

impl S3 {
    /// Whether a text is meant as an address of S3.
    pub fn is_address(text: &str) -> bool {
        Address::is_one(text)
    }

    /// The place at an address, `s3://BUCKET/PATH`. Keys and region come from the variables that
    /// all programs for S3 use, or from the machine it runs on. Sends no request.
    ///
    /// Parameters after a `?`, with `&` between them: `endpoint=https://…`, of a service that is
    /// not Amazon's; `region=…`; `anonymous=true`, for buckets that everybody may read.
    ///
    /// # Errors
    /// If the address or an option is invalid.
    pub fn at(address: &str, options: &S3Options) -> Result<S3, StoreError> {
        let address = Address::parse(address)?;
        let wrong = |what: String| refused(&address.shown, what);
        options.fault().map_or(Ok(()), |what| Err(wrong(what)))?;
        let store = connect(&address, options).map_err(wrong)?;
        S3::in_objects(store, &address.path, address.shown, options)
    }

    /// The place at a path in any store of objects, such as one in memory, in tests.
    ///
    /// # Errors
    /// If an option is invalid, or no thread can be started.
    pub fn on(
        store: Arc<dyn ObjectStore>,
        path: &str,
        options: &S3Options,
    ) -> Result<S3, StoreError> {
        if let Some(what) = options.fault() {
            return Err(refused(Path::new(path), what));
        }
        S3::in_objects(store, path, PathBuf::from(path), options)
    }

    fn in_objects(
        store: Arc<dyn ObjectStore>,
        path: &str,
        shown: PathBuf,
        options: &S3Options,
    ) -> Result<S3, StoreError> {
        let started = Background::start();
        let background = started.map_err(|source| StoreError::Io {
            path: shown.clone(),
            doing: "open",
            source,
        })?;
        let prefix = path.trim_matches('/').to_owned();
        let objects = Arc::new(WorldObjects { store, prefix, shown, background });
        Ok(S3 { objects, options: options.clone() })
    }

    /// The address without its parameters.
    pub fn path(&self) -> &Path {
        &self.objects.shown
    }

    fn error(&self, doing: &'static str, source: io::Error) -> StoreError {
        StoreError::Io { path: self.objects.shown.clone(), doing, source }
    }

    /// Opens the state that is published now, for reading: what is published later does not change
    /// it. Reads one object, the manifest.
    ///
    /// # Errors
    /// If there is no world, the manifest is damaged or of another version, or it cannot be read.
    pub fn open_read_only(&self) -> Result<Store, StoreError> {
        let read = self.objects.wait(self.objects.clone().manifest());
        let stored = read.map_err(|error| self.error("open", error))?;
        let path = || self.objects.shown.clone();
        let Some(stored) = stored else {
            let why = "nothing is published there; publish a world with terravox copy".to_owned();
            return Err(StoreError::NotAWorld { path: path(), why });
        };
        let manifest = Manifest::decode(&stored.bytes)
            .map_err(|fault| refused(&self.objects.shown, fault.to_string()))?;
        let world = PublishedWorld::new(self.objects.clone(), manifest, self.options.cache_bytes);
        let world = world.map_err(|error| self.error("open", error))?;
        Store::open_records_read_only(Arc::new(PublishedRecords(Arc::new(world))), path())
    }

    /// Publishes a world as it was saved when this was called, in place of what is published there,
    /// and now and then calls `progress` with the number of records done and in all.
    ///
    /// Uploads only what is not there yet, so a publication that was interrupted resumes when it is
    /// started again. Readers see either the old state or the new one. If two programs publish at
    /// once, the first one wins, and the other one does not change what is published.
    ///
    /// # Errors
    /// If a part of the world is damaged; if it cannot be uploaded, or another program published
    /// meanwhile.
    pub fn publish(
        &self,
        from: &Store,
        progress: impl FnMut(u64, u64),
    ) -> Result<PublishStats, StoreError> {
        publish::publish(from, self.objects.clone(), self.options.rewrites_all, progress)
    }

    /// Removes objects that no kept state names. Kept are the last `states`, the published one
    /// among them, and all that were replaced less than `age` ago. Until its state is outside of
    /// all three, a reader finds all that it reads; then its error says to open the world again.
    /// Also safe while others publish, read and collect.
    ///
    /// # Errors
    /// If an option is out of its range, or something cannot be read, or not removed.
    pub fn collect_garbage(&self, options: &CollectOptions) -> Result<CollectStats, StoreError> {
        if let Some(what) = options.fault() {
            return Err(refused(&self.objects.shown, what));
        }
        collect::collect(&self.objects, options)
            .map_err(|error| self.error("collect garbage", error))
    }
}

/// A client for an address.
///
/// # Errors
/// What is wrong with the address or the environment.
fn connect(address: &Address, options: &S3Options) -> Result<Arc<dyn ObjectStore>, String> {
    let retry = RetryConfig { retry_timeout: options.retry_time, ..RetryConfig::default() };
    let connector = Connector::new(options.answer_time);
    let mut builder = AmazonS3Builder::from_env()
        .with_bucket_name(&address.bucket)
        .with_conditional_put(S3ConditionalPut::ETagMatch)
        .with_retry(retry)
        .with_http_connector(connector);
    if let Some(endpoint) = &address.endpoint {
        builder = builder
            .with_endpoint(endpoint)
            .with_allow_http(endpoint.starts_with("http://"))
            .with_virtual_hosted_style_request(false);
    }
    if let Some(region) = &address.region {
        builder = builder.with_region(region);
    } else if builder.get_config_value(&AmazonS3ConfigKey::Region).is_none() {
        builder = builder.with_region(address.usual_region());
    }
    if address.is_anonymous {
        builder = builder.with_skip_signature(true);
    }
    let built = builder.build().map_err(|error| error.to_string())?;
    Ok(Arc::new(built))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_out_of_their_range_are_refused_by_name() {
        let usual = S3Options::default;
        let (none, all) = (Duration::ZERO, Duration::MAX);
        for (name, options) in [
            ("answer_time", S3Options { answer_time: none, ..usual() }),
            ("answer_time", S3Options { answer_time: all, ..usual() }),
            ("retry_time", S3Options { retry_time: all, ..usual() }),
        ] {
            let error = S3::at("s3://worlds/a", &options).err().unwrap();
            assert!(error.to_string().contains(&format!("a: {name} is ")), "{error}");
        }
        assert_eq!(S3Options { retry_time: none, ..usual() }.fault(), None);
    }
}
