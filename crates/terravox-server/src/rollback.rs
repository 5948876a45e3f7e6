//! A rollback that was ordered, in slices beside the ticks of a world.

use crate::falling::FallingPieces;
use crate::journal::{StoredJournal, oldest_first};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};
use terravox::edit::{ChangedCells, JournalFilter, Rollback};
use terravox::replicate::{Host, HostWorld};
use terravox::voxel::Region;
use tokio::sync::{OwnedMutexGuard, oneshot};
use tracing::warn;

/// Time that a rollback may take in a tick; the last step of a tick may take longer.
const TIME_PER_TICK: Duration = Duration::from_millis(5);

/// What a rollback did.
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

/// A rollback that someone waits for.
pub(crate) struct RollbackOrder {
    pub filter: JournalFilter,
    /// Who ordered it.
    pub author: String,
    pub done: oneshot::Sender<RolledBack>,
    /// Held until the end, even if who ordered it has hung up.
    pub one_at_a_time: OwnedMutexGuard<()>,
}

/// A rollback that is under way in a world. Dropped, it is given up.
pub(crate) struct RunningRollback {
    order: RollbackOrder,
    stage: Stage,
    chunks_left_out: u64,
    /// Where cells were restored.
    restored: Vec<Region>,
}

enum Stage {
    /// On another thread: with many edits it takes longer than a tick.
    Planning(JoinHandle<Rollback>),
    Restoring(Box<Rollback>),
}

/// Begins a rollback that was ordered, or goes on with the one that is under way; returns it unless it
/// is done.
pub(crate) fn go_on(
    running: Option<RunningRollback>,
    order: Option<RollbackOrder>,
    mut falling: Option<&mut FallingPieces>,
    host: &mut Host,
    world: &mut HostWorld<'_>,
    journal: &mut StoredJournal,
) -> Option<RunningRollback> {
    let started = order.and_then(|order| {
        RunningRollback::start(order, falling.as_deref_mut(), host, world, journal)
    });
    started.or(running)?.go_on(falling, host, world, journal)
}

impl RunningRollback {
    /// Begins a rollback. Pieces in the air that the edits cut loose are put back first.
    fn start(
        order: RollbackOrder,
        falling: Option<&mut FallingPieces>,
        host: &mut Host,
        world: &mut HostWorld<'_>,
        journal: &mut StoredJournal,
    ) -> Option<RunningRollback> {
        if let Some(falling) = falling {
            falling.put_back(host, world, journal, &order.filter);
        }
        let (shared, filter) = (journal.shared(), order.filter.clone());
        let planning = thread::Builder::new().name("terravox-rollback".to_owned());
        let planning = planning.spawn(move || Rollback::new(oldest_first(&shared), filter));
        let planning = planning.inspect_err(|error| warn!("a rollback cannot start: {error}"));
        let stage = Stage::Planning(planning.ok()?);
        Some(RunningRollback { order, stage, chunks_left_out: 0, restored: Vec::new() })
    }

    /// Goes on for some time, and tells the guests. Returns itself unless it is done.
    fn go_on(
        mut self,
        falling: Option<&mut FallingPieces>,
        host: &mut Host,
        world: &mut HostWorld<'_>,
        journal: &mut StoredJournal,
    ) -> Option<RunningRollback> {
        let mut job = match self.stage {
            Stage::Planning(plan) if !plan.is_finished() => {
                self.stage = Stage::Planning(plan);
                return Some(self);
            }
            // A panic there is logged by its thread; who ordered it is told that it failed.
            Stage::Planning(plan) => Box::new(plan.join().ok()?),
            Stage::Restoring(job) => job,
        };
        let (start, mut changed) = (Instant::now(), ChangedCells::default());
        let mut is_done = false;
        while !is_done && start.elapsed() < TIME_PER_TICK {
            let step = job.step(&journal.lock(), world.grid);
            match step {
                Ok(None) => is_done = true,
                Ok(Some(before)) if before.is_empty() => {}
                Ok(Some(before)) => {
                    host.changed(world, before.region());
                    self.restored.push(before.region());
                    changed.append(before);
                }
                Err(missing) => {
                    if host.load(world, missing.chunk.region()).is_err() {
                        job.skip_chunk();
                        self.chunks_left_out += 1;
                    }
                }
            }
        }
        journal.record(&self.order.author, changed);
        if !is_done {
            self.stage = Stage::Restoring(job);
            return Some(self);
        }
        if let Some(falling) = falling {
            let author = &self.order.author;
            self.restored.iter().for_each(|&region| falling.follow_edit(None, region, author));
        }
        let (edits, cells) = (job.edits(), job.cells());
        let rolled_back = RolledBack { edits, cells, chunks_left_out: self.chunks_left_out };
        drop(self.order.one_at_a_time);
        // Who ordered it may have hung up.
        let _ = self.order.done.send(rolled_back);
        None
    }
}
