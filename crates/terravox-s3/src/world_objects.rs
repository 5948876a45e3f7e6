//! The objects of one published world, by what they are.

use crate::background::Background;
use crate::failure::{io_error, is_no_bucket};
use crate::leaf::ObjectHash;
use crate::manifest::MAX_MANIFEST_BYTES;
use bytes::Bytes;
use futures_util::TryStreamExt;
use object_store::path::Path;
use object_store::{
    Error, GetOptions, GetRange, ObjectMeta, ObjectStore, PutMode, PutOptions, UpdateVersion,
};
use std::future::Future;
use std::io;
use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::SystemTime;

/// An object of a world.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum ObjectName {
    /// What is published: the only one whose content changes.
    Manifest,
    /// Written to see the time of the service.
    Clock,
    /// A manifest that was replaced, by its hash.
    OldManifest(ObjectHash),
    Pack(ObjectHash),
    Leaf(ObjectHash),
}

/// Folders of objects that have their hash as name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Folder {
    OldManifests,
    Packs,
    Leaves,
}

impl Folder {
    fn name(self) -> &'static str {
        match self {
            Folder::OldManifests => "manifests",
            Folder::Packs => "packs",
            Folder::Leaves => "index",
        }
    }

    fn object(self, hash: ObjectHash) -> ObjectName {
        match self {
            Folder::OldManifests => ObjectName::OldManifest(hash),
            Folder::Packs => ObjectName::Pack(hash),
            Folder::Leaves => ObjectName::Leaf(hash),
        }
    }
}

impl ObjectName {
    /// The name below the path of the world.
    pub fn text(self) -> String {
        let (folder, hash) = match self {
            ObjectName::Manifest => return "manifest".to_owned(),
            ObjectName::Clock => return "clock".to_owned(),
            ObjectName::OldManifest(hash) => (Folder::OldManifests, hash),
            ObjectName::Pack(hash) => (Folder::Packs, hash),
            ObjectName::Leaf(hash) => (Folder::Leaves, hash),
        };
        let digits: String = hash.iter().map(|byte| format!("{byte:02x}")).collect();
        format!("{}/{digits}", folder.name())
    }
}

/// The hash of a name of 64 hexadecimal digits.
fn parse_hash(digits: &str) -> Option<ObjectHash> {
    let is_digit = |c: u8| c.is_ascii_digit() || (b'a'..=b'f').contains(&c);
    if digits.len() != 64 || !digits.bytes().all(is_digit) {
        return None;
    }
    let mut hash = [0; 32];
    for (i, byte) in hash.iter_mut().enumerate() {
        *byte = u8::from_str_radix(&digits[2 * i..2 * i + 2], 16).ok()?;
    }
    Some(hash)
}

/// An object that is there.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ListedObject {
    pub name: ObjectName,
    pub length: u64,
    /// When it was written, by the clock of the service.
    pub written: SystemTime,
}

/// The bytes of the manifest, and what names exactly these.
#[derive(Clone, Debug)]
pub(crate) struct StoredManifest {
    pub bytes: Bytes,
    pub version: UpdateVersion,
}

/// How a change of the manifest ended.
#[derive(Debug)]
pub(crate) enum Swap {
    Done,
    /// Another program changed it.
    Lost,
    /// The service refused the change.
    Refused(io::Error),
}

/// Where a world is published.
pub(crate) struct WorldObjects {
    pub store: Arc<dyn ObjectStore>,
    /// Before the names of all objects; empty, or without a slash at its end.
    pub prefix: String,
    /// The path in errors.
    pub shown: PathBuf,
    pub background: Background,
}

impl WorldObjects {
    fn path(&self, name: &str) -> Path {
        match self.prefix.is_empty() {
            true => Path::from(name),
            false => Path::from(format!("{}/{name}", self.prefix)),
        }
    }

    /// The name of an object in messages.
    pub fn shown(&self, name: ObjectName) -> String {
        self.path(&name.text()).to_string()
    }

    /// Runs a request on the thread of the requests.
    pub fn wait<T: Send + 'static>(
        &self,
        request: impl Future<Output = io::Result<T>> + Send + 'static,
    ) -> io::Result<T> {
        self.background.wait(request)?
    }

    /// Runs several requests at once.
    pub fn wait_all<T: Send + 'static>(
        &self,
        requests: Vec<impl Future<Output = io::Result<T>> + Send + 'static>,
    ) -> io::Result<Vec<io::Result<T>>> {
        self.background.wait(futures_util::future::join_all(requests))
    }

    /// Reads the manifest; `None` if nothing is published.
    pub async fn manifest(self: Arc<WorldObjects>) -> io::Result<Option<StoredManifest>> {
        let path = self.path(&ObjectName::Manifest.text());
        match self.store.get_opts(&path, GetOptions::default()).await {
            // No manifest is a world that is not there, but no bucket is an error.
            Err(error @ Error::NotFound { .. }) if !is_no_bucket(&error) => Ok(None),
            Err(error) => Err(io_error(&error)),
            Ok(found) if found.meta.size > MAX_MANIFEST_BYTES => {
                let what = "the manifest is too long to be one";
                Err(io::Error::new(io::ErrorKind::InvalidData, what))
            }
            Ok(found) => {
                let ObjectMeta { e_tag, version, .. } = found.meta.clone();
                let bytes = found.bytes().await.map_err(|error| io_error(&error))?;
                Ok(Some(StoredManifest { bytes, version: UpdateVersion { e_tag, version } }))
            }
        }
    }

    /// Reads a part of an object, or all of it.
    pub async fn read(
        self: Arc<WorldObjects>,
        name: ObjectName,
        range: Option<Range<u64>>,
    ) -> io::Result<Bytes> {
        let options = GetOptions { range: range.map(GetRange::Bounded), ..Default::default() };
        let found = self.store.get_opts(&self.path(&name.text()), options).await;
        let found = found.map_err(|error| io_error(&error))?;
        found.bytes().await.map_err(|error| io_error(&error))
    }

    /// Writes an object, over one of that name.
    pub async fn write(self: Arc<WorldObjects>, name: ObjectName, bytes: Bytes) -> io::Result<()> {
        let path = self.path(&name.text());
        let put = self.store.put_opts(&path, bytes.into(), PutOptions::default()).await;
        put.map(drop).map_err(|error| io_error(&error))
    }

    /// Replaces the manifest if it is still `old`, or if there is still none.
    ///
    /// # Errors
    /// If it is unknown whether that was done.
    pub async fn swap_manifest(
        self: Arc<WorldObjects>,
        old: Option<UpdateVersion>,
        new: Bytes,
    ) -> io::Result<Swap> {
        let mode = old.map_or(PutMode::Create, PutMode::Update);
        let options = PutOptions { mode, ..Default::default() };
        let path = self.path(&ObjectName::Manifest.text());
        match self.store.put_opts(&path, new.clone().into(), options).await {
            Ok(_) => Ok(Swap::Done),
            Err(
                Error::Precondition { .. } | Error::AlreadyExists { .. } | Error::NotFound { .. },
            ) => {
                // An earlier attempt whose answer was lost may be what is in the way.
                let found = self.manifest().await?;
                let is_ours = found.is_some_and(|found| found.bytes == new);
                Ok(if is_ours { Swap::Done } else { Swap::Lost })
            }
            Err(
                error @ (Error::PermissionDenied { .. }
                | Error::Unauthenticated { .. }
                | Error::NotImplemented { .. }
                | Error::NotSupported { .. }),
            ) => Ok(Swap::Refused(io_error(&error))),
            Err(error) => {
                // Even then it may be done: the service may have answered what did not arrive.
                let found = self.manifest().await;
                let is_ours =
                    found.is_ok_and(|found| found.is_some_and(|found| found.bytes == new));
                if is_ours { Ok(Swap::Done) } else { Err(io_error(&error)) }
            }
        }
    }

    /// The time, by the clock of the service.
    pub async fn service_time(self: Arc<WorldObjects>) -> io::Result<SystemTime> {
        let path = self.path(&ObjectName::Clock.text());
        self.clone().write(ObjectName::Clock, Bytes::new()).await?;
        let options = GetOptions { head: true, ..Default::default() };
        let found = self.store.get_opts(&path, options).await;
        Ok(found.map_err(|error| io_error(&error))?.meta.last_modified.into())
    }

    /// All objects of a folder.
    pub async fn list(self: Arc<WorldObjects>, folder: Folder) -> io::Result<Vec<ListedObject>> {
        let prefix = self.path(folder.name());
        let listed = self.store.list(Some(&prefix)).map_err(|error| io_error(&error));
        let of = |meta: ObjectMeta| {
            let hash = parse_hash(meta.location.filename()?)?;
            let written = meta.last_modified.into();
            Some(ListedObject { name: folder.object(hash), length: meta.size, written })
        };
        listed.try_filter_map(|meta| std::future::ready(Ok(of(meta)))).try_collect().await
    }

    /// Removes an object; one that is not there is removed already.
    pub async fn remove(self: Arc<WorldObjects>, name: ObjectName) -> io::Result<()> {
        let path = self.path(&name.text());
        let paths = futures_util::stream::iter([Ok(path)]);
        let mut removed = self.store.delete_stream(Box::pin(paths));
        match removed.try_next().await {
            Ok(_) | Err(Error::NotFound { .. }) => Ok(()),
            Err(error) => Err(io_error(&error)),
        }
    }
}
