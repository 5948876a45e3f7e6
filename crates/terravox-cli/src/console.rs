//! What goes to the terminal while a command runs, and its report at the end.

use crate::failure::{Failure, Outcome};
use crate::report::Report;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::io::{ErrorKind, IsTerminal, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Work that is done sooner shows no bar.
const PATIENCE: Duration = Duration::from_millis(700);

/// Where progress and reports go.
#[derive(Clone, Copy, Debug)]
pub struct Console {
    json: bool,
    bars: bool,
}

impl Console {
    /// `json`: reports are one JSON object on standard output. Bars show only where
    /// standard error is a terminal.
    pub fn new(json: bool) -> Console {
        Console { json, bars: std::io::stderr().is_terminal() }
    }

    /// A bar for `steps` steps of something; it shows when the work takes long.
    pub fn bar(&self, what: &str, steps: usize) -> Bar {
        let bar = ProgressBar::with_draw_target(Some(steps as u64), ProgressDrawTarget::hidden());
        let template = "{msg:10} {wide_bar} {percent:>3} %  {elapsed}, {eta} left";
        // The template is ours; one that did not parse would leave the plain bar.
        if let Ok(style) = ProgressStyle::with_template(template) {
            bar.set_style(style);
        }
        bar.set_message(what.to_owned());
        Bar { bar, start: Instant::now(), show: AtomicBool::new(self.bars) }
    }

    /// A count of `unit`, of which nobody knows how many there will be.
    pub fn counter(&self, what: &str, unit: &str) -> Bar {
        let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::hidden());
        let template = format!("{{msg:10}} {{pos}} {unit}  {{elapsed}}");
        if let Ok(style) = ProgressStyle::with_template(&template) {
            bar.set_style(style);
        }
        bar.set_message(what.to_owned());
        Bar { bar, start: Instant::now(), show: AtomicBool::new(self.bars) }
    }

    /// A sign that work without steps goes on, such as bringing a file to disk; it shows when
    /// that takes long.
    pub fn busy(&self, what: &str) -> Option<Busy> {
        self.bars.then(|| Busy::new(what.to_owned()))
    }

    /// Prints the report of a command. A reader that went away is not an error.
    ///
    /// # Errors
    /// If standard output cannot be written for another reason.
    pub fn finish(&self, report: &Report) -> Outcome<()> {
        let text = if self.json { format!("{}\n", report.json()) } else { report.text() };
        let mut out = std::io::stdout().lock();
        match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
            Err(error) if error.kind() != ErrorKind::BrokenPipe => {
                Err(Failure::new(format!("standard output: {error}")))
            }
            _ => Ok(()),
        }
    }
}

/// A sign that something goes on, of which nobody knows how far it is; it goes when it is
/// dropped.
pub struct Busy {
    /// Dropped to end the thread that draws.
    end: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Busy {
    fn new(what: String) -> Busy {
        let (end, ended) = channel::<()>();
        let draw = move || {
            if ended.recv_timeout(PATIENCE) != Err(RecvTimeoutError::Timeout) {
                return;
            }
            let target = ProgressDrawTarget::stderr_with_hz(8);
            let bar = ProgressBar::with_draw_target(None, target);
            if let Ok(style) = ProgressStyle::with_template("{msg:10} {spinner} {elapsed}") {
                bar.set_style(style);
            }
            bar.set_message(what);
            while ended.recv_timeout(Duration::from_millis(125)) == Err(RecvTimeoutError::Timeout) {
                bar.tick();
            }
            bar.finish_and_clear();
        };
        let thread = std::thread::Builder::new().spawn(draw).ok();
        Busy { end: Some(end), thread }
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        self.end = None;
        if let Some(thread) = self.thread.take() {
            // A sign that could not be drawn is no reason to fail.
            let _ = thread.join();
        }
    }
}

/// A progress bar that any thread may move.
pub struct Bar {
    bar: ProgressBar,
    start: Instant,
    /// Whether it waits to be shown.
    show: AtomicBool,
}

impl Bar {
    /// One step further.
    pub fn step(&self) {
        self.bar.inc(1);
        self.show_if_due();
    }

    /// So many steps further.
    pub fn add(&self, steps: usize) {
        self.bar.inc(steps as u64);
        self.show_if_due();
    }

    /// `done` of `all` steps.
    pub fn set(&self, done: usize, all: usize) {
        self.bar.set_length(all as u64);
        self.bar.set_position(done.min(all) as u64);
        self.show_if_due();
    }

    fn show_if_due(&self) {
        if self.start.elapsed() > PATIENCE && self.show.swap(false, Ordering::Relaxed) {
            self.bar.set_draw_target(ProgressDrawTarget::stderr_with_hz(8));
        }
    }
}

impl Drop for Bar {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}
