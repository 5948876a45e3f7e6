//! Certificates on a first start, and after one that was killed.

use super::*;

#[test]
fn a_certificate_is_made_once_and_its_key_is_private() {
    let folder = std::env::temp_dir().join(format!("terravox-cert-{}", std::process::id()));
    let first = Certificate::in_folder(&folder).expect("made");
    let second = Certificate::in_folder(&folder).expect("read");
    assert_eq!(fingerprint(&first.chain), fingerprint(&second.chain));
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let mode = fs::metadata(folder.join("server.key")).expect("there").permissions().mode();
        assert_eq!(mode & 0o077, 0);
    }
    fs::remove_dir_all(&folder).expect("removed");
}

#[test]
fn a_first_start_that_was_killed_at_any_step_is_made_up_for() {
    let folder = std::env::temp_dir().join(format!("terravox-killed-{}", std::process::id()));
    let [chain, key] = ["server.crt", "server.key"].map(|name| folder.join(name));
    let [new_chain, new_key] = ["server.crt.new", "server.key.new"].map(|name| folder.join(name));
    let made = Certificate::in_folder(&folder).expect("made");
    fs::rename(&chain, &new_chain).expect("moved");
    let completed = Certificate::in_folder(&folder).expect("completed");
    assert_eq!(fingerprint(&completed.chain), fingerprint(&made.chain));
    fs::rename(&chain, &new_chain).expect("moved");
    fs::write(&new_key, [1]).expect("written");
    fs::remove_file(&key).expect("removed");
    let again = Certificate::in_folder(&folder).expect("made anew");
    assert_ne!(fingerprint(&again.chain), fingerprint(&made.chain));
    assert_eq!(fs::read_dir(&folder).expect("there").count(), 2);
    fs::remove_dir_all(&folder).expect("removed");
}

#[test]
fn servers_that_start_at_once_in_a_new_folder_have_one_certificate() {
    let folder = std::env::temp_dir().join(format!("terravox-at-once-{}", std::process::id()));
    for _ in 0..10 {
        let all = std::sync::Barrier::new(8);
        let fingerprints: Vec<Fingerprint> = std::thread::scope(|scope| {
            let start = || {
                all.wait();
                fingerprint(&Certificate::in_folder(&folder).expect("made or read").chain)
            };
            let threads = [(); 8].map(|()| scope.spawn(start));
            threads.map(|thread| thread.join().expect("no panic")).into()
        });
        assert!(fingerprints.windows(2).all(|pair| pair[0] == pair[1]));
        assert_eq!(fs::read_dir(&folder).expect("there").count(), 2);
        fs::remove_dir_all(&folder).expect("removed");
    }
}

#[test]
fn a_key_of_another_certificate_is_an_error_that_says_what_to_do() {
    let [folder, other] = ["mixed", "other"]
        .map(|name| std::env::temp_dir().join(format!("terravox-{name}-{}", std::process::id())));
    drop(Certificate::in_folder(&folder).expect("made"));
    drop(Certificate::in_folder(&other).expect("made"));
    fs::copy(other.join("server.key"), folder.join("server.key")).expect("copied");
    let error = Certificate::in_folder(&folder).err().expect("they do not fit").to_string();
    assert!(error.contains("delete both") && error.contains("server.key"), "{error}");
    [folder, other].iter().for_each(|folder| fs::remove_dir_all(folder).expect("removed"));
}

#[test]
fn half_a_certificate_is_an_error_that_names_the_missing_file() {
    let folder = std::env::temp_dir().join(format!("terravox-half-{}", std::process::id()));
    for (missing, kept) in [("server.key", "server.crt"), ("server.crt", "server.key")] {
        drop(Certificate::in_folder(&folder).expect("made"));
        let before = fs::read(folder.join(kept)).expect("there");
        fs::remove_file(folder.join(missing)).expect("removed");
        let error = Certificate::in_folder(&folder).err().expect("half of it is missing");
        assert!(error.to_string().contains(missing), "{error}");
        assert_eq!(fs::read(folder.join(kept)).expect("there"), before);
        fs::remove_dir_all(&folder).expect("removed");
    }
}
