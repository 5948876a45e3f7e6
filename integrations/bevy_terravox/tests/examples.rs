//! Every example runs without a window, and does what it says.

use std::path::PathBuf;
use std::process::Command;

/// Runs an example for some frames; returns what it printed.
fn run(name: &str, arguments: &[&str]) -> String {
    // Cargo builds the examples with the tests, beside the folder of the tests.
    let tests = std::env::current_exe().unwrap();
    let folder: PathBuf = tests.ancestors().nth(2).unwrap().join("examples");
    let output = Command::new(folder.join(name)).args(arguments).output().unwrap();
    let (out, err) =
        (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{name}: {out}{err}");
    out.into_owned()
}

#[test]
fn dig_digs_where_one_clicks_in_40_lines() {
    let printed = run("dig", &["--frames", "120", "--click", "90"]);
    assert_eq!(printed.lines().filter(|line| line.starts_with("edited Region")).count(), 1);
    assert!(run("dig", &["--frames", "100"]).is_empty(), "there was no click");
    assert!(include_str!("../examples/dig.rs").lines().count() <= 40);
}

#[test]
fn two_terrains_digs_into_the_island() {
    let printed = run("two_terrains", &["--frames", "160", "--click", "150"]);
    assert_eq!(printed, "dug into the island\n");
}

#[test]
fn generator_makes_ground() {
    let printed = run("generator", &["--frames", "150"]);
    assert!(printed.starts_with("ground at Some("), "{printed}");
}

#[cfg(feature = "store")]
#[test]
fn save_saves_what_was_dug_and_opens_it_again() {
    let path = std::env::temp_dir().join(format!("bevy-example-{}.tvx", std::process::id()));
    let file = path.to_str().unwrap();
    let arguments = ["--world", file, "--frames", "160", "--click", "90"];
    assert_eq!(run("save", &arguments), "saved: all\n");
    assert_eq!(run("save", &arguments), "saved: all\n");
    std::fs::remove_file(path).unwrap();
}

#[cfg(feature = "avian")]
#[test]
fn balls_come_to_rest() {
    let printed = run("balls", &["--frames", "500", "--click", "250"]);
    let number = |word: &str| -> usize {
        let before = printed.split(word).next().unwrap().trim();
        before.rsplit(' ').next().unwrap().parse().unwrap()
    };
    assert!(number("asleep") >= 30, "{printed}");
    assert_eq!((number("waiting"), number("below")), (0, 0), "{printed}");
}

#[cfg(feature = "avian")]
#[test]
fn the_character_walks_on_the_ground() {
    let printed = run("character", &["--frames", "400"]);
    let words: Vec<&str> = printed.split([' ', '\n']).collect();
    let [walked, above] = [words[1], words[3]].map(|word| word.parse::<f32>().unwrap());
    assert!(walked > 10.0, "{printed}");
    assert!((-0.1..0.3).contains(&above), "{printed}");
}

#[cfg(all(feature = "online", feature = "store"))]
#[test]
fn multiplayer_serves_joins_and_digs_slow() {
    let folder = std::env::temp_dir().join(format!("bevy-multiplayer-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let world = folder.join("hills.tvx");
    let arguments = ["--world", world.to_str().unwrap(), "--frames", "600", "--click", "500"];
    let printed = run("multiplayer", &arguments);
    let said: Vec<&str> = printed.lines().collect();
    assert!(said[0].starts_with("others join at 127.0.0.1:"), "{printed}");
    assert_eq!(said[1..], ["joined as number 1", "dug"], "{printed}");
    std::fs::remove_dir_all(folder).unwrap();
}

#[cfg(all(feature = "online", feature = "store"))]
#[test]
fn headless_server_serves_slow() {
    let folder = std::env::temp_dir().join(format!("bevy-headless-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let world = folder.join("hills.tvx");
    let printed = run("headless_server", &["--world", world.to_str().unwrap(), "--frames", "60"]);
    assert!(printed.starts_with("serving at 127.0.0.1:"), "{printed}");
    std::fs::remove_dir_all(folder).unwrap();
}
