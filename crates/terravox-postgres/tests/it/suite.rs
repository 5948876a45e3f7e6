//! The suite of all stores.

use crate::all_stores::{self, Place};
use crate::server::Server;
use terravox_postgres::{Postgres, PostgresOptions};
use terravox_store::{CopyStats, Store, StoreError, WorldInfo};

struct Table<'a> {
    server: &'a Server,
    world: String,
}

impl Table<'_> {
    fn address(&self) -> String {
        self.server.address(&self.world)
    }
}

impl Place for Table<'_> {
    fn create(&self, info: &WorldInfo) -> Result<Store, StoreError> {
        Postgres::create(&self.address(), info, &PostgresOptions::default())
    }

    fn open(&self) -> Result<Store, StoreError> {
        Postgres::open(&self.address(), &PostgresOptions::default())
    }

    fn open_read_only(&self) -> Result<Store, StoreError> {
        Postgres::open_read_only(&self.address(), &PostgresOptions::default())
    }

    fn copy(
        &self,
        from: &Store,
        progress: &mut dyn FnMut(u64, u64),
    ) -> Result<(Store, CopyStats), StoreError> {
        Postgres::copy(from, &self.address(), &PostgresOptions::default(), progress)
    }
}

#[test]
fn a_database_does_what_every_store_does_slow() {
    let Some(server) = Server::start("suite") else { return };
    let server = server.run();
    all_stores::run(|name| Table { server: &server, world: name.to_owned() });
}

#[test]
fn a_world_is_the_same_after_a_copy_to_a_file_and_back() {
    let Some(server) = Server::start("round") else { return };
    let server = server.run();
    let options = PostgresOptions::default();
    let file = server.file("world.tvx");
    let source = all_stores::twin(&WorldInfo::default());
    all_stores::many_chunks(&source, 3);
    let (there, stats) =
        Postgres::copy(&source, &server.address("there"), &options, |_, _| {}).unwrap();
    assert_eq!((stats.kept, stats.records), (0, all_stores::records_of(&source).len() as u64 - 2));
    let (file, _) = there.copy_to_file(&file, |_, _| {}).unwrap();
    let (back, _) = Postgres::copy(&file, &server.address("back"), &options, |_, _| {}).unwrap();
    let records = all_stores::records_of(&source);
    assert!([&there, &file, &back].iter().all(|store| all_stores::records_of(store) == records));
    // Both worlds are in one database, and do not meet.
    there.set_extra("only", Some(b"there")).unwrap();
    assert_eq!(back.extra("only").unwrap(), None);
}
