//! The log of a server, on standard error. Lines are written by a thread of their own, and dropped
//! while too many wait for it: a reader that stalls, or is gone, must neither delay nor end a world.

use crate::secrets::redacted;
use std::backtrace::{Backtrace, BacktraceStatus};
use std::io::{self, Write};
use std::mem;
use std::panic;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;
use tracing_subscriber::filter::LevelFilter;

/// Maximum number of bytes that wait to be written.
const MAX_WAITING: usize = 1 << 20;

/// How long the last lines may take.
const LAST_LINES: Duration = Duration::from_secs(1);

/// A log; copies share it.
#[derive(Clone, Default)]
pub struct Log(Arc<Shared>);

#[derive(Default)]
struct Shared {
    waiting: Mutex<Waiting>,
    changed: Condvar,
}

/// What is not written yet.
#[derive(Default)]
struct Waiting {
    text: Vec<u8>,
    dropped_lines: u64,
    is_writing: bool,
}

impl Waiting {
    fn is_empty(&self) -> bool {
        self.text.is_empty() && self.dropped_lines == 0
    }
}

impl Log {
    /// Starts a log that writes to standard error without passwords, with what `tracing` is told
    /// and with panics.
    ///
    /// # Errors
    /// If the system has no thread left.
    pub fn start(level: LevelFilter) -> io::Result<Log> {
        let log = Log::default();
        let written = log.clone();
        let named = thread::Builder::new().name("log".to_owned());
        named.spawn(move || written.write_to(io::stderr()))?;
        let lines = log.clone();
        let subscriber = tracing_subscriber::fmt().with_writer(move || lines.clone());
        // By default, it tells of them on standard error, and panics if that is closed.
        let subscriber = subscriber.log_internal_errors(false).with_ansi(false);
        subscriber.with_max_level(level).with_target(false).init();
        let panics = log.clone();
        panic::set_hook(Box::new(move |panic| {
            let trace = Backtrace::capture();
            let has_trace = trace.status() == BacktraceStatus::Captured;
            let trace = if has_trace { format!("{trace}\n") } else { String::new() };
            let name = thread::current().name().unwrap_or("unnamed").to_owned();
            panics.push(&format!("thread {name} {panic}\n{trace}"));
            panics.flush();
        }));
        Ok(log)
    }

    /// Adds lines, unless too much waits.
    pub fn push(&self, lines: &str) {
        let mut waiting = self.lock();
        if waiting.text.len() + lines.len() > MAX_WAITING {
            waiting.dropped_lines += 1;
        } else {
            waiting.text.extend_from_slice(lines.as_bytes());
        }
        drop(waiting);
        self.0.changed.notify_all();
    }

    /// Waits until all is written, for a moment: it may have no reader.
    pub fn flush(&self) {
        let is_busy = |waiting: &mut Waiting| waiting.is_writing || !waiting.is_empty();
        drop(self.0.changed.wait_timeout_while(self.lock(), LAST_LINES, is_busy));
    }

    /// Writes what is added, for ever. What cannot be written is lost.
    fn write_to(&self, mut target: impl Write) {
        loop {
            let idle = self.0.changed.wait_while(self.lock(), |waiting| waiting.is_empty());
            let mut waiting = idle.unwrap_or_else(PoisonError::into_inner);
            let (text, dropped) =
                (mem::take(&mut waiting.text), mem::take(&mut waiting.dropped_lines));
            waiting.is_writing = true;
            drop(waiting);
            let mut text = redacted(&String::from_utf8_lossy(&text));
            if dropped > 0 {
                text += &format!("lines that were not read in time and are left out: {dropped}\n");
            }
            let _ = target.write_all(text.as_bytes());
            self.lock().is_writing = false;
            self.0.changed.notify_all();
        }
    }

    fn lock(&self) -> MutexGuard<'_, Waiting> {
        self.0.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A line of the subscriber. Never fails.
impl Write for Log {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        self.push(&String::from_utf8_lossy(line));
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc::{Sender, channel};

    /// Standard error as its reader sees it.
    struct Pipe(Sender<String>);

    impl Write for Pipe {
        fn write(&mut self, text: &[u8]) -> io::Result<usize> {
            let text = String::from_utf8_lossy(text).into_owned();
            let length = text.len();
            self.0.send(text).map_err(|_| io::ErrorKind::BrokenPipe)?;
            Ok(length)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn lines_beyond_what_may_wait_are_counted_and_those_before_are_written() {
        let log = Log::default();
        let line = "a line of some bytes\n";
        let fitting = MAX_WAITING / line.len();
        (0..fitting + 3).for_each(|_| log.push(line));
        let (pipe, reader) = channel();
        let written = log.clone();
        thread::spawn(move || written.write_to(Pipe(pipe)));
        log.flush();
        let text: String = reader.try_iter().collect();
        assert_eq!(text.matches(line).count(), fitting);
        assert!(text.ends_with("are left out: 3\n"), "{}", &text[text.len() - 99..]);
        log.push("later\n");
        assert_eq!(reader.recv().as_deref(), Ok("later\n"));
    }

    #[test]
    fn a_log_that_is_closed_takes_lines_as_before() {
        let log = Log::default();
        let (pipe, reader) = channel();
        drop(reader);
        let written = log.clone();
        thread::spawn(move || written.write_to(Pipe(pipe)));
        for _ in 0..2 {
            log.clone().write_all(b"a line\n").expect("it never fails");
            log.flush();
            assert!(log.lock().is_empty(), "written, or lost");
        }
    }
}
