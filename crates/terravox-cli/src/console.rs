//! Progress on the terminal while a command runs, and its report at the end.

use crate::failure::{CliResult, Failure};
use crate::report::Report;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::io::{ErrorKind, IsTerminal, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Work that takes less time shows no progress.
const PROGRESS_DELAY: Duration = Duration::from_millis(700);

/// Destination of progress and reports.
#[derive(Clone, Copy, Debug)]
pub struct Console {
    json: bool,
    shows_progress: bool,
}

impl Console {
    /// If `json`, reports are one JSON object on standard output. Bars show only if standard error
    /// is a terminal.
    pub fn new(json: bool) -> Console {
        Console { json, shows_progress: std::io::stderr().is_terminal() }
    }

    /// Returns a progress bar of `steps` steps; it shows after [`PROGRESS_DELAY`].
    pub fn bar(&self, what: &str, steps: usize) -> Bar {
        let bar = ProgressBar::with_draw_target(Some(steps as u64), ProgressDrawTarget::hidden());
        let template = "{msg:10} {wide_bar} {percent:>3} %  {elapsed}, {eta} left";
        // If the template did not parse, the default bar would show.
        if let Ok(style) = ProgressStyle::with_template(template) {
            bar.set_style(style);
        }
        bar.set_message(what.to_owned());
        Bar { bar, start: Instant::now(), is_pending: AtomicBool::new(self.shows_progress) }
    }

    /// Returns a counter of `unit`, for an unknown number of steps.
    pub fn counter(&self, what: &str, unit: &str) -> Bar {
        let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::hidden());
        let template = format!("{{msg:10}} {{pos}} {unit}  {{elapsed}}");
        if let Ok(style) = ProgressStyle::with_template(&template) {
            bar.set_style(style);
        }
        bar.set_message(what.to_owned());
        Bar { bar, start: Instant::now(), is_pending: AtomicBool::new(self.shows_progress) }
    }

    /// Returns a spinner for work without steps, such as syncing a file. It shows after
    /// [`PROGRESS_DELAY`]; `None` if progress is not shown.
    pub fn busy(&self, what: &str) -> Option<Spinner> {
        self.shows_progress.then(|| Spinner::new(what.to_owned()))
    }

    /// Prints the report of a command. A closed pipe is an error only if the command changed a
    /// world: then the user has to know.
    ///
    /// # Errors
    /// If standard output cannot be written.
    pub fn finish(&self, report: &Report) -> CliResult<()> {
        let text = if self.json { format!("{}\n", report.json()) } else { report.text() };
        let mut out = std::io::stdout().lock();
        let written = out.write_all(text.as_bytes()).and_then(|()| out.flush());
        match (written, report.changed_world()) {
            (Ok(()), _) => Ok(()),
            (Err(error), Some(world)) => {
                let what = format!("the world is changed, but the report is not printed: {error}");
                Err(Failure::of(world, what).after_change())
            }
            (Err(error), None) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
            (Err(error), None) => Err(Failure::new(format!("standard output: {error}"))),
        }
    }
}

/// A spinner; dropping it removes it.
pub struct Spinner {
    /// Dropped to end the thread that draws.
    end: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Spinner {
    fn new(what: String) -> Spinner {
        let (end, ended) = channel::<()>();
        let draw = move || {
            if ended.recv_timeout(PROGRESS_DELAY) != Err(RecvTimeoutError::Timeout) {
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
        Spinner { end: Some(end), thread }
    }
}

impl Drop for Spinner {
    fn drop(&mut self) {
        self.end = None;
        if let Some(thread) = self.thread.take() {
            // A spinner that cannot be drawn is no reason to fail.
            let _ = thread.join();
        }
    }
}

/// A progress bar that any thread may advance.
pub struct Bar {
    bar: ProgressBar,
    start: Instant,
    /// Whether the bar is still hidden and may show.
    is_pending: AtomicBool,
}

impl Bar {
    /// Advances by one step.
    pub fn step(&self) {
        self.bar.inc(1);
        self.show_if_due();
    }

    /// Advances by a number of steps.
    pub fn add(&self, steps: usize) {
        self.bar.inc(steps as u64);
        self.show_if_due();
    }

    /// Sets the position: `done` of `all` steps.
    pub fn set(&self, done: usize, all: usize) {
        self.bar.set_length(all as u64);
        self.bar.set_position(done.min(all) as u64);
        self.show_if_due();
    }

    fn show_if_due(&self) {
        if self.start.elapsed() > PROGRESS_DELAY && self.is_pending.swap(false, Ordering::Relaxed) {
            self.bar.set_draw_target(ProgressDrawTarget::stderr_with_hz(8));
        }
    }
}

impl Drop for Bar {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}
