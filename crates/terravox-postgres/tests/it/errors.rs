//! Errors of a server are one line that says what failed and where, without the password.

use crate::all_stores::{many_chunks, records_of, twin};
use crate::server::{PASSWORD, Server, USER};
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};
use terravox_postgres::{Postgres, PostgresOptions};
use terravox_store::{Store, StoreError, WorldInfo};

fn options() -> PostgresOptions {
    PostgresOptions { retry_time: Duration::from_millis(200), ..PostgresOptions::default() }
}

/// The message of a failure: one line that names the world and keeps the password.
#[track_caller]
fn message(result: Result<Store, StoreError>) -> String {
    let error = result.err().expect("it fails").to_string();
    assert!(error.starts_with("postgres://") && error.contains('#'), "{error}");
    assert_eq!(error.lines().count(), 1, "{error}");
    assert!(!error.contains(PASSWORD) && !error.contains("%40"), "{error}");
    error
}

#[test]
fn each_failure_has_a_name() {
    let Some(server) = Server::start("errors") else { return };
    let mut server = server.run();
    let address = server.address("w");
    let open = |address: &str| message(Postgres::open(address, &options()));

    assert!(open(&address).contains("no tables of terravox"));
    let store = Postgres::create(&address, &WorldInfo::default(), &options()).unwrap();
    store.set_extra("a", Some(b"1")).unwrap();
    let missing = open(&server.address("other"));
    assert!(missing.contains("no world of this name") && missing.ends_with("It has \"w\""));
    let wrong_word = server.address_with("postgres", "w", USER, "guess");
    assert!(open(&wrong_word).contains("check user and password"));
    assert!(open(&server.address_in("nowhere", "w")).contains("\"nowhere\" does not exist"));
    let created = message(Postgres::create(&address, &WorldInfo::default(), &options()));
    assert!(created.contains("written by"), "{created}");
    drop(store);
    let created = message(Postgres::create(&address, &WorldInfo::default(), &options()));
    assert!(created.contains("there is a world of this name already"), "{created}");

    server.sql("update terravox_schema set version = 2");
    let newer = open(&address);
    assert!(newer.contains("schema version 2, newer") && newer.contains("newer terravox"));
    let created = message(Postgres::create(&address, &WorldInfo::default(), &options()));
    assert!(created.contains("schema version 2"), "{created}");
    server.sql("update terravox_schema set version = 1");

    // A user who may look only.
    server.sql("create role guest login password 'g'; grant select on all tables in schema public to guest");
    let guest = server.address_with("postgres", "w", "guest", "g");
    assert!(open(&guest).contains("permission denied"));
    let read = Postgres::open_read_only(&guest, &options()).unwrap();
    assert_eq!(read.extra("a").unwrap().as_deref(), Some(&b"1"[..]));

    let store = Postgres::open(&address, &options()).unwrap();
    server.kill();
    // A process that still has the connection may go on for a moment.
    let written = loop {
        if let Err(error) = store.set_extra("a", Some(b"2")) {
            break error.to_string();
        }
    };
    assert!(written.starts_with("postgres://") && written.lines().count() == 1, "{written}");
    assert!(store.load().is_err(), "a server that is gone is no damage");
    assert!(open(&address).contains("cannot open"));
    server.restart();
    // The server is back; the last write may or may not be done, and the next is.
    drop(store);
    let store = Postgres::open(&address, &options()).unwrap();
    store.set_extra("a", Some(b"3")).unwrap();
    assert_eq!(store.extra("a").unwrap().as_deref(), Some(&b"3"[..]));
}

#[test]
fn a_silent_server_blocks_a_call_no_longer_than_the_options_say() {
    let Some(server) = Server::start("silent") else { return };
    let server = server.run();
    let address = server.address("silent");
    let time = Duration::from_secs(2);
    let patient = PostgresOptions::default();
    let options = PostgresOptions { retry_time: time, answer_time: time, ..patient.clone() };
    let source = twin(&WorldInfo::default());
    many_chunks(&source, 9);
    drop(Postgres::copy(&source, &address, &patient, |_, _| {}).unwrap());
    let store = Postgres::open(&address, &options).unwrap();
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| store.load().unwrap());
        }
    });
    let connections = server.sql("select count(*) from pg_stat_activity where state = 'idle'");
    assert!(connections.parse::<u32>().unwrap() >= 5, "many are idle: {connections}");
    server.freeze();
    let begin = Instant::now();
    let read = store.extra("blob").unwrap_err().to_string();
    let read_time = begin.elapsed();
    let written = store.set_extra("blob", Some(b"2")).unwrap_err().to_string();
    let write_time = begin.elapsed() - read_time;
    server.resume();
    for (error, took) in [(read, read_time), (written, write_time)] {
        assert!(error.contains("the server does not answer"), "{error}");
        // The last try, a connection, a statement, its result and a pause.
        assert!(took < time + 3 * time + Duration::from_secs(3), "{took:?}");
    }
    eprintln!("a read blocked for {read_time:?}, a write for {write_time:?}");
    // What was sent may be done; then the world goes on, or another one has it.
    assert_eq!(Postgres::open_read_only(&address, &patient).unwrap().verify().unwrap().bad, []);
}

#[test]
fn damage_in_the_database_costs_the_record() {
    let Some(server) = Server::start("damage") else { return };
    let server = server.run();
    let source = twin(&WorldInfo::default());
    many_chunks(&source, 8);
    let address = server.address("damaged");
    let (store, _) = Postgres::copy(&source, &address, &options(), |_, _| {}).unwrap();
    let before = records_of(&store).len();
    server.sql(
        "update terravox_records set value = value || '\\x00' where key in (
            select key from terravox_records where key >= '\\x0200' and key < '\\x0201'
            order by key limit 1 offset 100)",
    );
    let loaded = store.load().unwrap();
    assert_eq!(loaded.bad.len(), 1, "{:?}", loaded.bad);
    assert!(!store.verify().unwrap().bad.is_empty());
    assert!(before > 5000);
}

#[test]
fn a_full_disk_is_named_and_the_world_stays() {
    let place = format!("/dev/shm/terravox-full-{}", std::process::id());
    let place = Path::new(&place);
    let _ = std::fs::create_dir_all(place);
    let mut mount = Command::new("mount");
    let mounted = mount.args(["-t", "tmpfs", "-o", "size=24m", "tmpfs"]).arg(place).status();
    if !mounted.is_ok_and(|status| status.success()) {
        eprintln!("SKIPPED: this user cannot mount a small disk");
        return;
    }
    let result = std::panic::catch_unwind(|| fill_the_disk(place));
    let _ = Command::new("umount").arg("-l").arg(place).status();
    let _ = std::fs::remove_dir(place);
    result.unwrap();
}

/// Writes to a database whose tables are on a small disk until it is full.
fn fill_the_disk(place: &Path) {
    let Some(server) = Server::start("full") else { return };
    let server = server.run();
    std::os::unix::fs::chown(place, Some(65534), Some(65534)).unwrap();
    server.sql(&format!("create tablespace small location '{}'", place.display()));
    server.sql("create database small tablespace small");
    let address = server.address_in("small", "full");
    let store = Postgres::create(&address, &WorldInfo::default(), &options()).unwrap();
    let mut random = 1_u64;
    let mut block: Vec<u8> = Vec::new();
    while block.len() < 1 << 20 {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        block.extend((random >> 8).to_le_bytes());
    }
    let mut written = 0;
    let error = loop {
        match store.set_extra(&format!("block {written}"), Some(&block)) {
            Ok(()) => written += 1,
            Err(error) => break error.to_string(),
        }
        assert!(written < 40, "the disk is not full");
    };
    assert!(error.contains("disk is full") && error.lines().count() == 1, "{error}");
    assert_eq!(store.extra_names().unwrap().len(), written);
    // With space again, the world goes on.
    let grown = Command::new("mount").args(["-o", "remount,size=48m"]).arg(place).status();
    assert!(grown.unwrap().success());
    store.set_extra("small", Some(b"fits")).unwrap();
    assert_eq!(store.verify().unwrap().bad, []);
}

#[test]
fn a_connection_with_tls_trusts_only_the_certificates_it_is_told() {
    let place = std::env::temp_dir();
    let settings = ["ssl=on", "ssl_cert_file=FOLDER/server.pem", "ssl_key_file=FOLDER/server.key"];
    let Some(server) = Server::start_in(&place, "tls", &settings) else { return };
    let made = rcgen::generate_simple_self_signed(vec!["127.0.0.1".to_owned()]).unwrap();
    server.add_file("server.pem", &made.cert.pem());
    server.add_file("server.key", &made.signing_key.serialize_pem());
    let other = rcgen::generate_simple_self_signed(vec!["127.0.0.1".to_owned()]).unwrap();
    server.add_file("other.pem", &other.cert.pem());
    let mut server = server.run();
    let address = |root: &str| {
        let file = server.file(root).display().to_string();
        let address = server.address("secure");
        address.replace("#", &format!("?sslmode=require&sslrootcert={file}#"))
    };
    let patient =
        PostgresOptions { retry_time: Duration::from_secs(120), ..PostgresOptions::default() };
    let trusted = address("server.pem");
    let store = Postgres::create(&trusted, &WorldInfo::default(), &patient).unwrap();
    store.set_extra("a", Some(b"1")).unwrap();
    let wrong = message(Postgres::open(&address("other.pem"), &options()));
    assert!(wrong.contains("certificate"), "{wrong}");
    let missing = message(Postgres::open(&address("missing.pem"), &options()));
    assert!(missing.contains("missing.pem"), "{missing}");
    let lines = server.sql("select count(*) from pg_stat_ssl where ssl");
    assert!(lines.parse::<u32>().is_ok());
    // Another server has its place: that does not pass, so nothing is tried again.
    server.kill();
    server.add_file("server.pem", &other.cert.pem());
    server.add_file("server.key", &other.signing_key.serialize_pem());
    server.restart();
    let begin = Instant::now();
    let read = store.extra("a").unwrap_err().to_string();
    let written = store.set_extra("a", Some(b"2")).unwrap_err().to_string();
    assert!(read.contains("certificate") && written.contains("certificate"), "{read}; {written}");
    assert!(begin.elapsed() < patient.retry_time / 2, "{:?}", begin.elapsed());
}
