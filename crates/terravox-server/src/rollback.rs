//! A rollback that was ordered, in slices beside the ticks of a world.

use crate::falling::FallingPieces;
use crate::journal::{SharedJournal, StoredJournal, oldest_first};
use crate::log::{info, warn};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};
use terravox::edit::{ChangedCells, JournalFilter, Rollback};
use terravox::replicate::{Host, HostWorld, printable};
use terravox::voxel::Region;
use tokio::sync::{OwnedMutexGuard, oneshot};

/// Time that a rollback may take in a tick; the last step of a tick may take longer.
const TIME_PER_TICK: Duration = Duration::from_millis(5);

/// Ticks that a rollback waits for a chunk that is not available, before it leaves it out.
const MAX_TRIES: u32 = 60;

/// What a rollback did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RolledBack {
    /// How many edits matched that were not rolled back before.
    pub edits: u64,
    /// How many cells were restored.
    pub cells: u64,
    /// How many chunks could not be loaded, or had edits that the journal dropped at once, and were
    /// left as they are.
    pub chunks_left_out: u64,
    /// Whether it was [cancelled](crate::Client::cancel_rollback): what it had restored was taken
    /// back.
    pub is_cancelled: bool,
    /// How many edits of which authors matched and stayed, since the journal has forgotten what was
    /// there before them.
    pub forgotten: Vec<(String, u64)>,
}

impl RolledBack {
    /// Writes it as a response.
    pub(crate) fn to_text(&self) -> String {
        let RolledBack { edits, cells, chunks_left_out, is_cancelled, forgotten } = self;
        let cancelled = u8::from(*is_cancelled);
        let mut text = format!(
            "edits {edits}\ncells {cells}\nchunks_left_out {chunks_left_out}\n\
             cancelled {cancelled}\n"
        );
        for (author, count) in forgotten {
            // A file can hold any text.
            text += &format!("forgotten {count} {}\n", printable(author));
        }
        text
    }

    /// Reads a response.
    pub(crate) fn from_text(text: &str) -> Option<RolledBack> {
        let value = |name: &str| -> Option<u64> {
            let mut lines = text.lines().filter_map(|line| line.split_once(' '));
            lines.find(|(key, _)| *key == name)?.1.parse().ok()
        };
        let forgotten = text.lines().filter_map(|line| line.strip_prefix("forgotten "));
        let forgotten = forgotten.map(|line| {
            let (count, author) = line.split_once(' ')?;
            Some((author.to_owned(), count.parse().ok()?))
        });
        Some(RolledBack {
            edits: value("edits")?,
            cells: value("cells")?,
            chunks_left_out: value("chunks_left_out")?,
            is_cancelled: value("cancelled")? != 0,
            forgotten: forgotten.collect::<Option<_>>()?,
        })
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

/// Someone who wants the rollback that runs to be cancelled, and waits until it is.
pub(crate) struct CancelOrder {
    pub author: String,
    /// Gets the number of cells that were reverted, or nothing if no rollback was running.
    pub done: oneshot::Sender<u64>,
}

/// What was ordered since the last tick.
#[derive(Default)]
pub(crate) struct RollbackOrders {
    pub begin: Option<RollbackOrder>,
    pub cancel: Vec<CancelOrder>,
}

/// A rollback that is under way in a world. Dropped, it is given up.
pub(crate) struct RunningRollback {
    waiting: Waiting,
    /// Ticks in which the next chunk was not available.
    tries: u32,
    stage: Stage,
    chunks_left_out: u64,
    /// Where cells were restored.
    restored: Vec<Region>,
    /// Its first entry in the journal.
    number: Option<u64>,
}

/// Who waits for the end of a rollback.
struct Waiting {
    order: RollbackOrder,
    /// Who cancelled it, once it is being reverted.
    cancelled: Vec<CancelOrder>,
}

impl Waiting {
    /// Under whose name cells are restored now.
    fn author(&self) -> &str {
        self.cancelled.first().map_or(&self.order.author, |order| &order.author)
    }

    /// Tells them that it is done, or reverted. Some may have hung up.
    fn finish(self, done: RolledBack) {
        let (is_cancelled, cells) = (!self.cancelled.is_empty(), done.cells);
        let done = match is_cancelled {
            true => RolledBack { edits: 0, cells: 0, is_cancelled, forgotten: Vec::new(), ..done },
            false => done,
        };
        drop(self.order.one_at_a_time);
        let _ = self.order.done.send(done);
        for order in self.cancelled {
            let _ = order.done.send(cells);
        }
    }
}

enum Stage {
    /// Pieces in the air that the edits cut loose are put back, once no step moves them.
    PuttingBack,
    /// On another thread: with many edits it takes longer than a tick.
    Planning(JoinHandle<Rollback>),
    Restoring(Box<Rollback>),
}

/// Begins a rollback that was ordered, or continues the one that is running; returns it unless it
/// is done.
pub(crate) fn step(
    running: Option<RunningRollback>,
    orders: RollbackOrders,
    mut falling: Option<&mut FallingPieces>,
    host: &mut Host,
    world: &mut HostWorld<'_>,
    journal: &mut StoredJournal,
) -> Option<RunningRollback> {
    let started = orders.begin.map(RunningRollback::new);
    let mut running = started.or(running)?;
    if !orders.cancel.is_empty() {
        running = running.cancel(orders.cancel, falling.as_deref_mut(), journal)?;
    }
    running.step(falling, host, world, journal)
}

/// Tells guests that a region, in voxels, was restored.
fn follow(region: Region, host: &mut Host, world: &mut HostWorld<'_>) {
    host.changed(world, region);
    // What is undone or redone there would bring back what was rolled back.
    host.forget_strokes(region);
}

/// Plans a rollback on another thread.
fn plan(journal: SharedJournal, filter: JournalFilter) -> Option<Stage> {
    let planning = thread::Builder::new().name("terravox-rollback".to_owned());
    let planning = planning.spawn(move || Rollback::new(oldest_first(&journal), filter));
    let planning = planning.inspect_err(|error| warn!("a rollback cannot start: {error}"));
    planning.ok().map(Stage::Planning)
}

impl RunningRollback {
    fn new(order: RollbackOrder) -> RunningRollback {
        RunningRollback {
            waiting: Waiting { order, cancelled: Vec::new() },
            tries: 0,
            stage: Stage::PuttingBack,
            chunks_left_out: 0,
            restored: Vec::new(),
            number: None,
        }
    }

    /// Puts back pieces in the air that the edits cut loose, and begins to plan. Returns itself unless it
    /// cannot be planned.
    fn put_back(
        mut self,
        falling: Option<&mut FallingPieces>,
        host: &mut Host,
        world: &mut HostWorld<'_>,
        journal: &mut StoredJournal,
    ) -> Option<RunningRollback> {
        let filter = &self.waiting.order.filter;
        if let Some(falling) = falling {
            let Some(restored) = falling.put_back(host, world, journal, filter) else {
                return Some(self);
            };
            self.restored = restored;
        }
        self.stage = plan(journal.shared(), filter.clone())?;
        Some(self)
    }

    /// Takes back what was restored until now, by a rollback of this one: so what others did
    /// meanwhile stays. Pieces in the air that were put back are ground now, and fall again.
    fn cancel(
        mut self,
        mut orders: Vec<CancelOrder>,
        falling: Option<&mut FallingPieces>,
        journal: &mut StoredJournal,
    ) -> Option<RunningRollback> {
        let cancelled = &mut self.waiting.cancelled;
        let is_first = cancelled.is_empty();
        cancelled.append(&mut orders);
        if !is_first {
            return Some(self);
        }
        info!(by = self.waiting.author(), "a rollback is cancelled");
        if let Some(number) = self.number {
            let filter = JournalFilter { number: Some(number), ..JournalFilter::default() };
            self.stage = plan(journal.shared(), filter)?;
            return Some(self);
        }
        let_fall(&self.restored, falling, self.waiting.author());
        self.waiting.finish(RolledBack::default());
        None
    }

    /// Goes on for some time, and tells the guests. Returns itself unless it is done.
    fn step(
        mut self,
        falling: Option<&mut FallingPieces>,
        host: &mut Host,
        world: &mut HostWorld<'_>,
        journal: &mut StoredJournal,
    ) -> Option<RunningRollback> {
        let mut job = match self.stage {
            Stage::PuttingBack => return self.put_back(falling, host, world, journal),
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
                    follow(before.region(), host, world);
                    self.restored.push(before.region());
                    changed.append(before);
                }
                Err(missing) => match host.load(world, missing.chunk.region()) {
                    Ok(()) => self.tries = 0,
                    Err(_) if self.tries < MAX_TRIES => {
                        // A slow database may have it in the next tick.
                        self.tries += 1;
                        break;
                    }
                    Err(_) => {
                        job.skip_chunk();
                        (self.chunks_left_out, self.tries) = (self.chunks_left_out + 1, 0);
                    }
                },
            }
        }
        let author = self.waiting.author();
        // Of one that finds all rolled back already, nothing is kept. It may restore chunks that
        // the earlier one had to leave out.
        if job.edits() > 0 || !changed.is_empty() {
            let number = journal.record(job.kind(), author, changed);
            self.number = self.number.or(number);
        }
        if !is_done {
            self.stage = Stage::Restoring(job);
            return Some(self);
        }
        let_fall(&self.restored, falling, author);
        self.waiting.finish(rolled_back(&job, self.chunks_left_out));
        None
    }
}

/// Lets the search find what is loose in what was restored.
fn let_fall(restored: &[Region], falling: Option<&mut FallingPieces>, author: &str) {
    if let Some(falling) = falling {
        restored.iter().for_each(|&region| falling.follow_edit(None, region, author));
    }
}

/// What a rollback did that is done, if this many chunks were not available.
fn rolled_back(job: &Rollback, chunks_left_out: u64) -> RolledBack {
    let forgotten = job.forgotten().map(|(author, count)| (author.to_owned(), count));
    RolledBack {
        edits: job.edits(),
        cells: job.cells(),
        chunks_left_out: chunks_left_out + job.chunks_left_out(),
        is_cancelled: false,
        forgotten: forgotten.collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_rollback_did_is_read_as_it_was_written() {
        let done = RolledBack {
            edits: 3,
            cells: 1 << 40,
            chunks_left_out: 1,
            is_cancelled: false,
            forgotten: vec![("eve of the hill".into(), 7), ("::1".into(), 1)],
        };
        assert_eq!(RolledBack::from_text(&done.to_text()), Some(done));
        assert_eq!(RolledBack::from_text("edits 3\n"), None);
    }
}
