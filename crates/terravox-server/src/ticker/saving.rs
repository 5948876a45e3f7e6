//! How the thread of a world saves: in the background while it runs, and all at the end.

use super::Ticker;
use crate::error::ServerError;
use crate::falling::FallingPieces;
use crate::log::{error, warn};
use crate::saver::{FinishedSave, SaveJob, tell};
use std::sync::atomic::Ordering;
use std::thread;
use std::time::{Duration, Instant};
use terravox::terrain::UnsavedChanges;

/// How long the last save is tried again, and the pause between two tries. Each try lasts as long
/// as the store tries: with a silent database up to 37 s, or 74 s if it writes to a new zone, and
/// the first may wait as long for a save that is under way (docs/scale.md).
const LAST_SAVES: Duration = Duration::from_secs(20);
const RETRY_PAUSE: Duration = Duration::from_secs(1);

impl Ticker {
    /// Notes what was saved, and begins the next save if it is time.
    pub(super) fn save_in_background(&mut self) {
        if let Some(saved) = self.saver.finished() {
            self.note_saved(saved);
        }
        self.replace_dead_saver();
        self.waiting_for_save.append(&mut self.running.take_waiting());
        let counters = &self.running.counters;
        let edits = counters.edits_applied.load(Ordering::Relaxed);
        if self.is_saved() {
            counters.edits_saved.store(edits, Ordering::Release);
            self.host.note_all_saved();
            tell(std::mem::take(&mut self.waiting_for_save), &Ok(()));
        } else if self.saver.is_ready(!self.waiting_for_save.is_empty()) {
            self.begin_save(edits);
        }
    }

    pub(super) fn is_saved(&self) -> bool {
        let are_pieces_saved = self.falling.as_ref().is_none_or(FallingPieces::is_saved);
        let [borders, saved_borders] = self.rules.borders().states();
        self.grid.is_saved()
            && self.journal.is_saved()
            && are_pieces_saved
            && borders == saved_borders
    }

    fn begin_save(&mut self, edits: u64) {
        let waiting = std::mem::take(&mut self.waiting_for_save);
        let mut unsaved = UnsavedChanges::from(self.grid.unsaved());
        unsaved.data = self.journal.begin_save();
        let mut pieces = 0;
        if let Some(falling) = self.falling.as_ref().filter(|falling| !falling.is_saved()) {
            let (bodies, state) = falling.to_save();
            (unsaved.bodies, pieces) = (Some(bodies), state);
        }
        let (borders, records) = self.rules.borders().to_save();
        unsaved.data.extend(records);
        let point = self.host.save_point();
        self.stored_ground.note_save(unsaved.chunks.chunks());
        self.saver.begin(SaveJob { unsaved, edits, pieces, borders, point, waiting });
    }

    /// Saves all that is unsaved; returns whether that succeeded. A save that fails is tried again
    /// for some time, as when a disk is full; what is lost then is logged.
    pub(super) fn save_all(&mut self) -> bool {
        let until = Instant::now() + LAST_SAVES;
        let mut is_saved = self.try_save_all();
        while !is_saved && self.cannot_save().is_none() && Instant::now() < until {
            warn!(world = self.running.name, "the last save failed; trying again");
            thread::sleep(RETRY_PAUSE);
            is_saved = self.try_save_all();
        }
        if !is_saved {
            let (edits, chunks) =
                (self.running.counters.unsaved_edits(), self.grid.unsaved_chunks().len());
            let reason = self.running.counters.save_failure().map(|failure| failure.reason);
            let reason = reason.unwrap_or_default();
            error!(world = self.running.name, edits, chunks, reason, "not saved, and lost");
        }
        is_saved
    }

    /// Saves all that is unsaved; returns whether that succeeded.
    fn try_save_all(&mut self) -> bool {
        // One that was begun earlier may fail: what it was to save is saved below.
        if let Some(saved) = self.saver.wait() {
            self.note_saved(saved);
        }
        self.replace_dead_saver();
        loop {
            if let Some(saved) = self.saver.wait()
                && !self.note_saved(saved)
            {
                return false;
            }
            if self.replace_dead_saver() {
                return false;
            }
            if self.is_saved() {
                return true;
            }
            self.begin_save(self.running.counters.edits_applied.load(Ordering::Relaxed));
        }
    }

    /// Counts a save, and tells who waited for it. Returns whether it succeeded.
    fn note_saved(&mut self, saved: FinishedSave) -> bool {
        let counters = &self.running.counters;
        let FinishedSave { job, result, took } = saved;
        self.journal.end_save(result.is_ok());
        match &result {
            Ok(()) => {
                self.grid.mark_saved(&job.unsaved.chunks);
                // What was requested while it ran may lack it.
                self.stored_ground.note_save(job.unsaved.chunks.chunks());
                self.host.note_saved(&job.point);
                if let Some(falling) = &mut self.falling {
                    falling.note_saved(job.pieces);
                }
                self.rules.note_borders_saved(job.borders);
                counters.edits_saved.store(job.edits, Ordering::Release);
                counters.count_save(took);
            }
            Err(reason) => {
                error!(world = self.running.name, %reason, "a save failed");
                counters.count_failed_save(reason);
            }
        }
        let is_saved = result.is_ok();
        tell(job.waiting, &result.map_err(|reason| reason.to_string()));
        is_saved
    }

    /// Starts another thread for saves if the last one panicked, for example in the generator; what it
    /// was to save is still unsaved. Returns whether it did.
    pub(super) fn replace_dead_saver(&mut self) -> bool {
        let is_dead = self.saver.has_died();
        if is_dead {
            error!(world = self.running.name, "a save ended by a panic");
            self.running.counters.count_failed_save(&ServerError::new("it ended by a panic"));
            self.journal.end_save(false);
            self.saver.restart();
        }
        is_dead
    }
}
