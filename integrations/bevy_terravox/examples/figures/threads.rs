//! What the threads of a frame got of the processor, as Linux counts it.

use std::path::Path;

/// The beginnings of the names of threads that do not take part in frames.
const OTHERS: [&str; 2] = ["Async Compute", "IO Task"];

/// Milliseconds of all threads that take part in frames, since they began.
#[derive(Clone, Copy, Default)]
pub struct ThreadTimes {
    /// In which they ran.
    pub ran_ms: f64,
    /// In which they could have run, and another thread had the core.
    pub waited_ms: f64,
}

impl ThreadTimes {
    /// Those of this process; zero elsewhere than on Linux.
    pub fn now() -> ThreadTimes {
        let mut sum = ThreadTimes::default();
        for thread in std::fs::read_dir("/proc/self/task").into_iter().flatten().flatten() {
            let Some([ran_ms, waited_ms]) = of_thread(&thread.path()) else { continue };
            sum.ran_ms += ran_ms;
            sum.waited_ms += waited_ms;
        }
        sum
    }

    /// Those since an earlier moment.
    pub fn since(self, before: ThreadTimes) -> ThreadTimes {
        let ran_ms = self.ran_ms - before.ran_ms;
        ThreadTimes { ran_ms, waited_ms: self.waited_ms - before.waited_ms }
    }
}

/// Milliseconds in which a thread ran, and in which it waited for a core; `None` if it takes no part in frames.
fn of_thread(folder: &Path) -> Option<[f64; 2]> {
    let name = std::fs::read_to_string(folder.join("comm")).ok()?;
    if OTHERS.iter().any(|other| name.starts_with(other)) {
        return None;
    }
    let text = std::fs::read_to_string(folder.join("schedstat")).ok()?;
    let mut nanoseconds = text.split_whitespace().map_while(|word| word.parse::<u64>().ok());
    Some([nanoseconds.next()?, nanoseconds.next()?].map(|ns| ns as f64 / 1e6))
}
