//! The protocol of S3, by a server that speaks it; publishers that are killed.
//!
//! Keys come from variables, so what needs them is this test binary again, run by the tests below.

use crate::all_stores::{self, Numbers};
use crate::moto::Moto;
use crate::publishing::{edit, publish, world};
use std::io::{BufRead, BufReader, Lines, Write};
use std::process::{Child, ChildStdout, Stdio};
use std::time::Duration;
use terravox::voxel::ChunkPos;
use terravox_s3::{CollectOptions, S3, S3Options};
use terravox_store::{Store, StoreError};

/// The address that the parent process gives.
fn address() -> Option<String> {
    std::env::var("TERRAVOX_S3_ADDRESS").ok()
}

fn place(address: &str) -> S3 {
    let retry_time = Duration::from_secs(2);
    S3::at(address, &S3Options { retry_time, ..S3Options::default() }).unwrap()
}

/// Runs a test of this binary, with keys, to its end.
fn run(moto: &Moto, test: &str, variables: &[(&str, &str)]) {
    let status = moto.run(test).envs(variables.iter().copied()).status().unwrap();
    assert!(status.success(), "{test}: {}", moto.log());
}

#[test]
fn child_publishes_reads_and_collects() {
    let Some(address) = address() else { return };
    let place = place(&address);
    assert!(matches!(place.open_read_only(), Err(StoreError::NotAWorld { .. })));
    let store = world(1);
    let first = publish(&place, &store);
    assert_eq!((first.state, first.uploaded_packs), (1, first.packs));
    let reader = place.open_read_only().unwrap();
    assert!(all_stores::records_of(&reader) == all_stores::records_of(&store));
    assert!(publish(&place, &store).is_unchanged);
    edit(&store, ChunkPos::new(1, 1, 1), 5);
    let mut is_other_done = false;
    let theirs = world(2);
    let lost = place.publish(&store, |done, all| {
        if done == all && !is_other_done {
            is_other_done = true;
            assert_eq!(publish(&place, &theirs).state, 2);
        }
    });
    let lost = lost.unwrap_err().to_string();
    assert!(lost.contains("another program published the world meanwhile"), "{lost}");
    let third = publish(&place, &store);
    assert!(third.state == 3 && third.uploaded_packs <= 4, "{third:?}");
    let now = place.open_read_only().unwrap();
    assert!(all_stores::records_of(&now) == all_stores::records_of(&store));
    assert_eq!(now.verify().unwrap().bad, []);
    let collected = place.collect_garbage(&CollectOptions::default()).unwrap();
    assert_eq!((collected.states, collected.removed_objects), (3, 0));
}

/// Reads the world of `child_publishes_reads_and_collects`; says what is wrong.
#[test]
fn child_reads_a_damaged_bucket() {
    let (Some(address), Ok(expected)) = (address(), std::env::var("TERRAVOX_S3_ERROR")) else {
        return;
    };
    let error = match place(&address).open_read_only() {
        Err(error) => error.to_string(),
        Ok(reader) => match reader.load() {
            Err(error) => error.to_string(),
            Ok(loaded) => loaded.bad.first().expect("something is wrong").to_string(),
        },
    };
    assert!(error.contains(&expected), "{error}");
    assert_eq!(error.lines().count(), 1);
    assert!(!error.contains("s3cret"), "{error}");
}

#[test]
fn a_real_protocol_publishes_reads_and_names_what_is_wrong_slow() {
    let Some(moto) = Moto::start("protocol", false) else { return };
    run(&moto, "protocol::child_publishes_reads_and_collects", &[]);
    let damaged = |error: &str| {
        run(&moto, "protocol::child_reads_a_damaged_bucket", &[("TERRAVOX_S3_ERROR", error)]);
    };
    // Listed, and gone; then there, and another.
    let copies = moto.file("packs").display().to_string();
    moto.python(&format!(
        "import pickle\npacks = {{}}\n\
         for o in s3.list_objects_v2(Bucket='worlds', Prefix='hills/packs/')['Contents']:\n  \
         name = o['Key']\n  packs[name] = s3.get_object(Bucket='worlds', Key=name)['Body'].read()\n  \
         s3.delete_object(Bucket='worlds', Key=name)\n\
         pickle.dump(packs, open('{copies}', 'wb'))"
    ));
    damaged("is gone, though the manifest names it: the bucket lost it; publish the world again");
    moto.python(&format!(
        "import pickle\nfor name, value in pickle.load(open('{copies}', 'rb')).items():\n  \
         value = bytearray(value)\n  value[len(value) // 2] ^= 1\n  \
         s3.put_object(Bucket='worlds', Key=name, Body=value)"
    ));
    damaged(" is damaged from byte ");
    moto.check_keys();
    damaged("check AWS_ACCESS_KEY_ID");
}

#[test]
fn no_bucket_and_no_server_are_named() {
    let options = S3Options { retry_time: Duration::ZERO, ..S3Options::default() };
    let place = S3::at("s3://worlds/a?endpoint=http://127.0.0.1:1&anonymous=true", &options);
    let error = place.unwrap().open_read_only().err().unwrap().to_string();
    assert!(
        error.starts_with("s3://worlds/a: cannot open: ") && error.contains("refused"),
        "{error}"
    );
}

#[test]
fn child_opens_with_tls() {
    let (Some(address), Ok(expected)) = (address(), std::env::var("TERRAVOX_S3_TLS")) else {
        return;
    };
    let opened = place(&address).open_read_only();
    let error = opened.err().expect("nothing is published").to_string();
    assert!(error.contains(&expected), "{error}");
}

#[test]
fn certificates_are_checked_slow() {
    let Some(moto) = Moto::start("tls", true) else { return };
    let test = "protocol::child_opens_with_tls";
    run(&moto, test, &[("TERRAVOX_S3_TLS", "invalid peer certificate")]);
    let certificate = moto.certificate().display().to_string();
    let trusts = ("SSL_CERT_FILE", &*certificate);
    run(&moto, test, &[trusts, ("TERRAVOX_S3_TLS", "nothing is published there")]);
}

/// The world of a number.
fn numbered(number: u64) -> Store {
    let store = world(7);
    edit(&store, ChunkPos::new(2, 2, 2), number);
    store.set_extra("number", Some(&number.to_le_bytes())).unwrap();
    store
}

fn number_of_child() -> Option<u64> {
    std::env::var("TERRAVOX_S3_NUMBER").ok()?.parse().ok()
}

#[test]
fn child_publishes_until_it_is_killed() {
    let (Some(address), Some(number)) = (address(), number_of_child()) else { return };
    let (place, store) = (place(&address), numbered(number));
    println!("\nbegins");
    std::io::stdout().flush().unwrap();
    publish(&place, &store);
    println!("\npublished");
}

#[test]
fn child_checks_what_is_published() {
    let (Some(address), Some(number)) = (address(), number_of_child()) else { return };
    let store = match place(&address).open_read_only() {
        // Nothing was published yet.
        Err(StoreError::NotAWorld { .. }) if number == 0 => return println!("\nnumber 0"),
        store => store.unwrap(),
    };
    let bytes = store.extra("number").unwrap().unwrap();
    let found = u64::from_le_bytes(bytes.try_into().unwrap());
    assert!([number, number + 1].contains(&found), "{found} is neither before nor after");
    assert!(all_stores::records_of(&store) == all_stores::records_of(&numbered(found)));
    println!("\nnumber {found}");
}

/// What a process prints.
type Printed = Lines<BufReader<ChildStdout>>;

fn printed(child: &mut Child) -> Printed {
    BufReader::new(child.stdout.take().unwrap()).lines()
}

/// Waits until a process prints a line that begins with a text.
fn wait_for(printed: &mut Printed, text: &str) -> Option<String> {
    printed.find_map(|line| line.ok().filter(|line| line.starts_with(text)))
}

#[test]
fn killed_publishers_leave_the_state_before_or_after_and_go_on_slow() {
    let Some(moto) = Moto::start("kills", false) else { return };
    let kills = std::env::var("TERRAVOX_KILLS").map_or(3, |kills| kills.parse().unwrap());
    let (mut numbers, mut published, mut changed) = (Numbers(3), 0u64, 0);
    for kill in 0..=kills {
        let number = ("TERRAVOX_S3_NUMBER", (published + 1).to_string());
        let mut command = moto.run("protocol::child_publishes_until_it_is_killed");
        let mut child = command.envs([number]).stdout(Stdio::piped()).spawn().unwrap();
        let mut lines = printed(&mut child);
        if kill < kills {
            assert!(wait_for(&mut lines, "begins").is_some());
            std::thread::sleep(Duration::from_millis(numbers.below(250)));
            child.kill().unwrap();
            child.wait().unwrap();
        } else {
            assert!(wait_for(&mut lines, "published").is_some(), "the last one is not killed");
            lines.for_each(drop);
            child.wait().unwrap();
        }
        let mut command = moto.run("protocol::child_checks_what_is_published");
        let number = ("TERRAVOX_S3_NUMBER", published.to_string());
        let mut child = command.envs([number]).stdout(Stdio::piped()).spawn().unwrap();
        let mut lines = printed(&mut child);
        let line = wait_for(&mut lines, "number ").expect("the check passes");
        lines.for_each(drop);
        assert!(child.wait().unwrap().success());
        let found: u64 = line["number ".len()..].trim().parse().unwrap();
        changed += u64::from(found != published);
        published = found;
    }
    assert!(changed > 0);
    println!("{kills} kills, {changed} publications that were complete");
}
