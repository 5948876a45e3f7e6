//! The suite of all stores, where what is read comes from a publication.

use crate::all_stores::{self, Place};
use crate::objects::Objects;
use std::sync::Arc;
use std::time::Duration;
use terravox_s3::{S3, S3Options};
use terravox_store::{CopyStats, MemoryRecords, Store, StoreError, WorldInfo};

/// A world in memory that is published whenever it is opened for reading.
struct Published {
    records: Arc<MemoryRecords>,
    objects: Objects,
}

impl Place for Published {
    fn create(&self, info: &WorldInfo) -> Result<Store, StoreError> {
        Store::create_records(self.records.clone(), "world", info)
    }

    fn open(&self) -> Result<Store, StoreError> {
        Store::open_records(self.records.clone(), "world")
    }

    fn open_read_only(&self) -> Result<Store, StoreError> {
        let world = S3::on(self.objects.shared(), "all/world", &S3Options::default())?;
        let stats = world.publish(&self.open()?, |_, _| {})?;
        let store = world.open_read_only()?;
        assert_eq!(store.stats()?.payload_bytes, stats.payload_bytes);
        Ok(store)
    }

    fn copy(
        &self,
        from: &Store,
        progress: &mut dyn FnMut(u64, u64),
    ) -> Result<(Store, CopyStats), StoreError> {
        from.copy_to_records(self.records.clone(), "world", progress)
    }
}

#[test]
fn a_published_world_reads_like_every_store_slow() {
    all_stores::run(|_| Published {
        records: Arc::default(),
        objects: Objects::new(Duration::ZERO),
    });
}
