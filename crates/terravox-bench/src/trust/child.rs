//! This program as a process of its own: for what may abort, what is killed, and what is measured
//! by the memory of a whole process.

use cpu_time::ProcessTime;
use std::process::{Child, Command, Stdio};

/// The first argument of such a process.
pub const CHILD: &str = "child";

/// What a process used.
#[derive(Clone, Copy, Debug, Default)]
pub struct ProcessCost {
    /// CPU time of all threads, without the start of the process.
    pub seconds: f64,
    /// The most memory at one time.
    pub peak_mib: f64,
}

/// Starts this program again; what it prints is piped.
pub fn start(arguments: &[&str]) -> std::io::Result<Child> {
    let mut command = Command::new(std::env::current_exe()?);
    command.arg(CHILD).args(arguments).stdin(Stdio::null()).stdout(Stdio::piped());
    command.spawn()
}

/// Prints what `work` used and what it said.
pub fn report_cost(work: impl FnOnce() -> String) {
    let start = ProcessTime::now();
    let said = work();
    let seconds = start.elapsed().as_secs_f64();
    println!("{seconds} {} {}", peak_mib().unwrap_or(f64::NAN), said.replace('\n', " / "));
}

/// Parses what a process printed by [`report_cost`].
pub fn cost_of(line: &str) -> Option<(ProcessCost, &str)> {
    let mut words = line.splitn(3, ' ');
    let seconds = words.next()?.parse().ok()?;
    let peak_mib = words.next()?.parse().ok()?;
    Some((ProcessCost { seconds, peak_mib }, words.next()?.trim()))
}

/// The most memory that this process had, by the system.
fn peak_mib() -> Option<f64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kib: f64 = line.trim().trim_end_matches("kB").trim().parse().ok()?;
    Some(kib / 1024.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cost_is_read_as_it_was_printed() {
        let (cost, said) = cost_of("0.25 12.5 byte 3: it ends early\n").unwrap();
        assert_eq!((cost.seconds, cost.peak_mib, said), (0.25, 12.5, "byte 3: it ends early"));
        assert!(cost_of("killed").is_none());
    }
}
