//! Faults of the disk at every operation: the store's own tests, which put a disk that fails
//! under its tree, and count.

use crate::report::AreaReport;
use std::process::Command;

const ID: &str = "fault_points_failed";

/// Measures `fault_points_failed`.
pub fn run(report: &mut AreaReport) {
    match count() {
        Ok((failed, points)) => report.set(ID, failed, format!("{points} points")),
        Err(why) => report.not_measured(ID, why),
    }
}

/// Runs the tests; returns how many points failed, and how many there are.
fn count() -> Result<(f64, f64), String> {
    let manifest = concat!(env!("CARGO_MANIFEST_DIR"), "/../../Cargo.toml");
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = Command::new(cargo)
        .args(["test", "--manifest-path", manifest, "--package", "terravox-store", "--lib"])
        .args(["--offline", "--", "faults::", "--nocapture", "--test-threads=1"])
        .output()
        .map_err(|error| format!("cargo test did not start: {error}"))?;
    let text = String::from_utf8_lossy(&output.stdout);
    let counts = counts_in(&text);
    if counts.1 == 0.0 {
        let words = String::from_utf8_lossy(&output.stderr);
        return Err(format!("cargo test: {}", words.lines().last().unwrap_or("failed")));
    }
    Ok(counts)
}

/// Adds what the lines of tests say: `0 of 12 fault points failed`.
fn counts_in(text: &str) -> (f64, f64) {
    let (mut failed, mut points) = (0.0, 0.0);
    for line in text.lines().filter_map(|line| line.strip_suffix(" fault points failed")) {
        // The name of the test stands before it.
        let words: Vec<&str> = line.split_whitespace().collect();
        let [.., own_failed, "of", own_points] = words[..] else { continue };
        failed += own_failed.parse().unwrap_or(f64::NAN);
        points += own_points.parse().unwrap_or(0.0);
    }
    (failed, points)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_of_all_tests_are_added() {
        let text = "test a ... 0 of 12 fault points failed\nok\n1 of 30 fault points failed\n";
        assert_eq!(counts_in(text), (1.0, 42.0));
    }
}
