//! A roll back that was ordered, in slices beside the ticks of a world.

use crate::journal::StoredJournal;
use std::time::{Duration, Instant};
use terravox::edit::{ChangedCells, RollBack};
use terravox::replicate::{Host, HostWorld};
use tokio::sync::{OwnedMutexGuard, oneshot};

/// Time that a roll back may take in a tick; the last step of a tick may take longer.
const TIME_PER_TICK: Duration = Duration::from_millis(5);

/// What a roll back did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RolledBack {
    /// How many edits matched.
    pub edits: u64,
    /// How many cells were restored.
    pub cells: u64,
    /// How many chunks could not be loaded and were left as they are.
    pub chunks_left_out: u64,
}

impl RolledBack {
    /// Writes it as a response.
    pub(crate) fn to_text(self) -> String {
        let RolledBack { edits, cells, chunks_left_out } = self;
        format!("edits {edits}\ncells {cells}\nchunks_left_out {chunks_left_out}\n")
    }

    /// Reads a response.
    pub(crate) fn from_text(text: &str) -> Option<RolledBack> {
        let value = |name: &str| {
            let mut lines = text.lines().filter_map(|line| line.split_once(' '));
            lines.find(|(key, _)| *key == name)?.1.parse().ok()
        };
        let (edits, cells) = (value("edits")?, value("cells")?);
        Some(RolledBack { edits, cells, chunks_left_out: value("chunks_left_out")? })
    }
}

/// A roll back that someone waits for.
pub(crate) struct RollBackOrder {
    pub job: RollBack,
    /// Who ordered it.
    pub author: String,
    pub chunks_left_out: u64,
    pub done: oneshot::Sender<RolledBack>,
    /// Held until the end, even if who ordered it has hung up.
    pub one_at_a_time: OwnedMutexGuard<()>,
}

impl RollBackOrder {
    /// Goes on for some time, and tells the guests. Returns itself unless it is done.
    pub fn go_on(
        mut self,
        host: &mut Host,
        world: &mut HostWorld<'_>,
        journal: &mut StoredJournal,
    ) -> Option<RollBackOrder> {
        let (start, mut changed) = (Instant::now(), ChangedCells::default());
        let mut is_done = false;
        while !is_done && start.elapsed() < TIME_PER_TICK {
            let step = self.job.step(&journal.lock(), world.grid);
            match step {
                Ok(None) => is_done = true,
                Ok(Some(before)) if before.is_empty() => {}
                Ok(Some(before)) => {
                    host.changed(world, before.region());
                    changed.append(before);
                }
                Err(missing) => {
                    if host.load(world, missing.chunk.region()).is_err() {
                        self.job.skip_chunk();
                        self.chunks_left_out += 1;
                    }
                }
            }
        }
        journal.record(&self.author, changed);
        if !is_done {
            return Some(self);
        }
        let (edits, cells) = (self.job.edits(), self.job.cells());
        // Who ordered it may have hung up.
        let _ = self.done.send(RolledBack { edits, cells, chunks_left_out: self.chunks_left_out });
        drop(self.one_at_a_time);
        None
    }
}
