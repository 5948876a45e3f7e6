//! Actions of a guest without a reply from the server: in flight, or not sent yet. The unsent are one queue in
//! the order of the player: new actions are at its end; steps of an undo, operations that the server had no
//! budget for, and those without a reply when the link broke, go back to their places.

use std::collections::{BTreeMap, VecDeque};
use std::time::{Duration, Instant};

use terravox::edit::EditError;
use terravox::replicate::{GuestEvent, RefusalCode};

use super::strokes::{Stroke, Strokes};
use crate::TerrainAction;

/// Maximum number of operations of a guest in flight.
pub(super) const MAX_IN_FLIGHT: usize = 256;

/// Maximum number of actions in flight that were queued: about what a host accepts in [`PAUSE`] by default.
const WINDOW: usize = 16;

/// Maximum number of unsent actions.
const MAX_UNSENT: usize = 4096;

/// Delay before sending again after the server had no budget for a queued action.
const PAUSE: Duration = Duration::from_millis(500);

/// Consecutive pauses in which the server accepted nothing, until what it refuses is given up.
const MAX_PAUSES: u32 = 20;

/// Why nothing can be sent.
pub(super) const NO_CONNECTION: EditError =
    EditError::Invalid("there is no connection to the server");

/// An action without a reply from the server.
struct Entry {
    action: TerrainAction,
    /// Its place in the queue. Steps of an undo have the place of that.
    order: u64,
    /// The stroke of a step, or of an operation that was sent.
    stroke: Option<u64>,
    /// Whether it stayed in the queue: if the server has no budget for it, it is sent again. An edit that
    /// was sent at once is refused then, since the player goes on with the brush.
    was_queued: bool,
}

impl Entry {
    /// Whether it is a step of an undo or redo: which of them.
    fn step(&self) -> Option<(bool, u64)> {
        Some((self.reverses()?, self.stroke?))
    }

    /// Whether it is undo (false) or redo (true).
    fn reverses(&self) -> Option<bool> {
        match self.action {
            TerrainAction::Undo => Some(false),
            TerrainAction::Redo => Some(true),
            _ => None,
        }
    }
}

/// Whether an action only begins or ends a stroke: nothing is sent then.
fn is_mark(action: &TerrainAction) -> bool {
    matches!(action, TerrainAction::BeginStroke | TerrainAction::EndStroke)
}

/// Unsent actions, those in flight, and the strokes that can be undone.
#[derive(Default)]
pub(super) struct Outbox {
    pub strokes: Strokes,
    /// The queue, by [`Entry::order`].
    unsent: VecDeque<Entry>,
    /// By the number that the guest gave.
    in_flight: BTreeMap<u64, Entry>,
    next_order: u64,
    paused_until: Option<Instant>,
    /// Pauses since the server last accepted a queued action.
    pauses: u32,
    /// What cannot be done, and why.
    failed: Vec<(TerrainAction, EditError)>,
}

impl Outbox {
    /// Adds an action. While there is no connection, edits fail at once.
    pub fn push(&mut self, action: TerrainAction, is_connected: bool) {
        if !is_mark(&action) && !is_connected {
            return self.failed.push((action, NO_CONNECTION));
        }
        if !is_mark(&action) && self.unsent.len() >= MAX_UNSENT {
            let reason = EditError::Invalid("more than 4096 edits wait for the server");
            return self.failed.push((action, reason));
        }
        // A stroke of which nothing is sent takes no room.
        let begins = |last: &mut Entry| last.action == TerrainAction::BeginStroke;
        if action == TerrainAction::EndStroke && self.unsent.pop_back_if(begins).is_some() {
            return;
        }
        let order = self.next_order;
        self.next_order += 1;
        self.unsent.push_back(Entry { action, order, stroke: None, was_queued: false });
    }

    /// Sends what may be sent: at most `room` actions. `send` returns the number of one. Undo and redo
    /// wait for the replies to all before them, and what follows waits for theirs: how many steps a stroke
    /// has is known only then.
    pub fn send(
        &mut self,
        mut room: usize,
        now: Instant,
        mut send: impl FnMut(&TerrainAction) -> Result<u64, EditError>,
    ) {
        if self.paused_until.is_some_and(|until| now < until) {
            room = 0;
        }
        while let Some(mut entry) = self.take_due(room) {
            match (&entry.action, entry.reverses()) {
                (TerrainAction::BeginStroke, _) => self.strokes.begin(),
                (TerrainAction::EndStroke, _) => self.strokes.end(),
                (_, Some(is_redo)) if entry.stroke.is_none() => self.reverse(entry, is_redo),
                _ => match send(&entry.action) {
                    Ok(number) => {
                        entry.stroke.get_or_insert_with(|| self.strokes.next_operation());
                        self.in_flight.insert(number, entry);
                        room -= 1;
                    }
                    Err(reason) => self.failed.push((entry.action, reason)),
                },
            }
        }
        self.unsent.iter_mut().for_each(|entry| entry.was_queued = true);
    }

    /// Takes the first action if it can be sent now.
    fn take_due(&mut self, room: usize) -> Option<Entry> {
        let first = self.unsent.front()?;
        let resent = || self.in_flight.values().filter(|entry| entry.was_queued).count();
        let is_due = is_mark(&first.action)
            || room > 0
                && match first.reverses() {
                    Some(_) if first.stroke.is_none() => self.in_flight.is_empty(),
                    Some(_) => resent() < WINDOW,
                    None => {
                        let reverses = self.in_flight.values().any(|entry| entry.step().is_some());
                        !reverses && (!first.was_queued || resent() < WINDOW)
                    }
                };
        if is_due { self.unsent.pop_front() } else { None }
    }

    /// Replaces an undo or redo by the steps of the next stroke.
    fn reverse(&mut self, entry: Entry, is_redo: bool) {
        let Some(&Stroke { id, steps }) = self.strokes.ready(is_redo).last() else { return };
        for _ in 0..steps {
            let (action, order) = (entry.action.clone(), entry.order);
            self.put_back(Entry { action, order, stroke: Some(id), was_queued: true });
        }
    }

    /// Puts an action back to its place in the queue.
    fn put_back(&mut self, entry: Entry) {
        let at = self.unsent.partition_point(|other| other.order < entry.order);
        self.unsent.insert(at, entry);
    }

    /// Handles an event of the guest. Returns false if the game is not told, because the action that the
    /// server refused is sent again.
    pub fn handle_event(&mut self, event: &GuestEvent, now: Instant) -> bool {
        let (number, has_changed, refusal) = match *event {
            GuestEvent::Confirmed { number, has_changed } => (number, has_changed, None),
            GuestEvent::Refused { number, code, .. } => (number, false, Some(code)),
            _ => return true,
        };
        let Some(entry) = self.in_flight.remove(&number) else { return true };
        if refusal.is_none() && entry.was_queued {
            self.pauses = 0;
        }
        let is_too_much =
            [RefusalCode::TooMany, RefusalCode::TooMuchWork].map(Some).contains(&refusal);
        if is_too_much && entry.was_queued && self.pause(now) {
            self.put_back(entry);
            return false;
        }
        match (refusal, entry.step(), entry.stroke) {
            (Some(RefusalCode::NothingToUndo), Some((is_redo, id)), _) => {
                self.strokes.forget(is_redo, id);
                self.unsent.retain(|entry| entry.step().is_none());
            }
            (None, Some((is_redo, _)), _) => self.strokes.reverse_step(is_redo),
            (None, None, Some(id)) if has_changed => self.strokes.add_step(id),
            _ => {}
        }
        true
    }

    /// Begins a pause, unless there is one. Returns false after too many in which the server accepted nothing.
    fn pause(&mut self, now: Instant) -> bool {
        let is_paused = self.paused_until.is_some_and(|until| now < until);
        if !is_paused && self.pauses < MAX_PAUSES {
            (self.pauses, self.paused_until) = (self.pauses + 1, Some(now + PAUSE));
            return true;
        }
        is_paused
    }

    /// The link broke: operations in flight go back to their places in the queue, each in its stroke. An
    /// undo or redo of which steps are missing fails: the server has forgotten them.
    pub fn break_off(&mut self) {
        (self.paused_until, self.pauses) = (None, 0);
        self.strokes.forget_all();
        for mut entry in std::mem::take(&mut self.in_flight).into_values() {
            entry.was_queued = true;
            self.put_back(entry);
        }
        let step = self.unsent.iter().find(|entry| entry.step().is_some());
        let reversal = step.map(|step| step.action.clone());
        self.unsent.retain(|entry| entry.step().is_none());
        let reason = EditError::Invalid("the link broke before the server had done all of it");
        self.failed.extend(reversal.map(|action| (action, reason)));
    }

    /// Gives up all actions without a reply: there will be no connection.
    pub fn end(&mut self) {
        self.break_off();
        for entry in std::mem::take(&mut self.unsent) {
            match entry.action {
                TerrainAction::BeginStroke => self.strokes.begin(),
                TerrainAction::EndStroke => self.strokes.end(),
                action => self.failed.push((action, NO_CONNECTION)),
            }
        }
    }

    /// Returns what could not be done since the last call, and why.
    pub fn take_failed(&mut self) -> Vec<(TerrainAction, EditError)> {
        std::mem::take(&mut self.failed)
    }

    /// Returns the number of operations and steps of undo and redo without a reply.
    pub fn without_reply(&self) -> usize {
        self.in_flight.len() + self.unsent.iter().filter(|entry| !is_mark(&entry.action)).count()
    }

    /// Returns the strokes that can be undone or redone, the next one last. One that is being undone or
    /// redone has not left yet.
    pub fn ready(&self, is_redo: bool) -> impl Iterator<Item = u64> {
        let entries = self.unsent.front().into_iter().chain(self.in_flight.values());
        let reversed = entries.filter_map(Entry::step).next();
        let strokes = self.strokes.ready(is_redo).iter().map(|stroke| stroke.id);
        strokes.filter(move |id| reversed != Some((!is_redo, *id)))
    }
}

#[cfg(test)]
mod tests {
    use terravox::edit::EditOp;

    use super::*;
    use TerrainAction::{Apply, BeginStroke, EndStroke, Redo, Undo};

    /// A guest that sends, and what it sent: numbers from 1 on.
    struct Guest {
        outbox: Outbox,
        now: Instant,
        room: usize,
        sent: Vec<TerrainAction>,
    }

    impl Guest {
        fn new() -> Guest {
            let outbox = Outbox::default();
            Guest { outbox, now: Instant::now(), room: MAX_IN_FLIGHT, sent: Vec::new() }
        }

        fn write(&mut self, actions: impl IntoIterator<Item = TerrainAction>) {
            actions.into_iter().for_each(|action| self.outbox.push(action, true));
            self.frame();
        }

        fn frame(&mut self) {
            let sent = &mut self.sent;
            self.outbox.send(self.room, self.now, |action| {
                sent.push(action.clone());
                Ok(sent.len() as u64)
            });
        }

        fn confirm(&mut self, numbers: impl IntoIterator<Item = u64>) {
            for number in numbers {
                let event = GuestEvent::Confirmed { number, has_changed: true };
                assert!(self.outbox.handle_event(&event, self.now));
            }
            self.frame();
        }

        /// Returns whether the game is told.
        fn refuse(&mut self, number: u64, code: RefusalCode) -> bool {
            let reason = String::new();
            self.outbox.handle_event(&GuestEvent::Refused { number, code, reason }, self.now)
        }

        /// Waits until what was refused as too much is sent again.
        fn pause(&mut self) {
            self.frame();
            self.now += PAUSE;
            self.frame();
        }

        fn counts(&self) -> [usize; 3] {
            let [undoable, redoable] = [false, true].map(|redo| self.outbox.ready(redo).count());
            [undoable, redoable, self.outbox.without_reply()]
        }
    }

    fn dig(x: i32) -> TerrainAction {
        Apply(EditOp::dig_ball([f64::from(x), 0.0, 0.0], 1.0))
    }

    fn stroke(digs: std::ops::Range<i32>) -> Vec<TerrainAction> {
        [BeginStroke].into_iter().chain(digs.map(dig)).chain([EndStroke]).collect()
    }

    /// A guest with two strokes: of four operations, of which one changed nothing and one was refused,
    /// and of two.
    fn drawn() -> Guest {
        let mut guest = Guest::new();
        guest.write(stroke(0..4).into_iter().chain(stroke(4..6)));
        let event = GuestEvent::Confirmed { number: 2, has_changed: false };
        guest.outbox.handle_event(&event, guest.now);
        // Of operations in the player's hand the game is told.
        assert!(guest.refuse(3, RefusalCode::TooMany));
        guest.confirm([5, 1, 4, 6]);
        assert_eq!(guest.counts(), [2, 0, 0]);
        guest
    }

    #[test]
    fn a_stroke_is_undone_by_the_steps_that_changed_something() {
        let mut guest = drawn();
        assert!(guest.outbox.ready(false).eq([1, 2]) && guest.outbox.strokes.current() == 2);
        guest.write([Undo]);
        assert_eq!((&guest.sent[6..], guest.counts()), (&[Undo, Undo][..], [2, 0, 2]));
        guest.confirm([7]);
        assert_eq!(guest.counts(), [2, 0, 1], "it leaves as a whole");
        guest.confirm([8]);
        assert_eq!(guest.counts(), [1, 1, 0]);
        guest.write([Undo, Undo]);
        guest.confirm([9, 10]);
        assert_eq!(guest.counts(), [0, 2, 0], "there is nothing more to undo");
        guest.write([Redo, Redo]);
        assert_eq!(guest.sent.len(), 12, "the second one waits");
        guest.confirm([11, 12]);
        guest.confirm([13, 14]);
        assert_eq!((guest.counts(), guest.sent.len()), ([2, 0, 0], 14));
        guest.write([Undo]);
        guest.confirm([15, 16]);
        // What is new ends what could be redone, and is a stroke of its own.
        guest.write([dig(9)]);
        guest.confirm([17]);
        assert_eq!(guest.counts(), [2, 0, 0]);
    }

    #[test]
    fn undo_waits_for_replies_and_what_follows_for_the_undo() {
        let mut guest = Guest::new();
        guest.write([dig(0), Undo, dig(1)]);
        assert_eq!((guest.sent.len(), guest.counts()), (1, [0, 0, 3]));
        guest.confirm([1]);
        assert_eq!(guest.sent[1..], [Undo]);
        guest.confirm([2]);
        assert_eq!(guest.sent[2..], [dig(1)]);
    }

    #[test]
    fn steps_that_the_server_has_no_budget_for_are_sent_again() {
        let mut guest = drawn();
        guest.write([Undo]);
        guest.confirm([7]);
        assert!(!guest.refuse(8, RefusalCode::TooMany));
        guest.frame();
        assert_eq!((guest.sent.len(), guest.counts()), (8, [2, 0, 1]), "after a pause");
        guest.pause();
        guest.confirm([9]);
        assert_eq!(guest.counts(), [1, 1, 0]);
        // What else it refuses stays, unless the server has no more steps.
        guest.write([Undo]);
        guest.confirm([10]);
        assert!(guest.refuse(11, RefusalCode::Game(0)));
        assert_eq!(guest.counts(), [1, 2, 0]);
        guest.write([Undo]);
        assert!(guest.refuse(12, RefusalCode::NothingToUndo));
        assert_eq!(guest.counts(), [0, 2, 0]);
    }

    #[test]
    fn what_the_server_never_accepts_is_given_up() {
        let mut guest = drawn();
        guest.write([Undo]);
        for _ in 0..MAX_PAUSES {
            let numbers = guest.sent.len() as u64 - 1..=guest.sent.len() as u64;
            numbers.for_each(|number| assert!(!guest.refuse(number, RefusalCode::TooMuchWork)));
            guest.pause();
        }
        let last = guest.sent.len() as u64;
        assert!(guest.refuse(last - 1, RefusalCode::TooMuchWork));
        assert!(guest.refuse(last, RefusalCode::TooMuchWork));
        assert_eq!(guest.counts(), [2, 0, 0]);
    }

    #[test]
    fn what_got_no_reply_before_a_break_is_repeated_in_order_and_in_its_stroke() {
        let mut guest = Guest::new();
        guest.write(stroke(0..40));
        guest.write(stroke(40..42));
        guest.confirm(1..=2);
        guest.outbox.break_off();
        assert_eq!(guest.counts(), [0, 0, 40]);
        let mut replied = 42;
        while guest.counts()[2] > 0 {
            guest.pause();
            let (first, last) = (replied + 1, guest.sent.len() as u64);
            assert!(last - replied <= WINDOW as u64);
            // The host accepts one of them at a time.
            for number in first + 1..=last {
                assert!(!guest.refuse(number, RefusalCode::TooMany));
            }
            guest.confirm([first]);
            replied = last;
        }
        assert!(guest.outbox.ready(false).eq([1, 2]));
        assert!(guest.outbox.take_failed().is_empty());
        let digs = guest.outbox.strokes.ready(false).iter().map(|stroke| stroke.steps);
        assert!(digs.eq([38, 2]));
    }

    #[test]
    fn an_undo_that_a_break_cuts_off_fails() {
        let mut guest = drawn();
        guest.write([Undo, dig(9)]);
        guest.confirm([7]);
        guest.outbox.break_off();
        assert_eq!(guest.counts(), [0, 0, 1]);
        assert!(matches!(&guest.outbox.take_failed()[..], [(Undo, _)]));
        guest.frame();
        assert_eq!(guest.sent.last(), Some(&dig(9)));
        guest.outbox.end();
        assert_eq!(guest.counts(), [0, 0, 0]);
        assert!(matches!(&guest.outbox.take_failed()[..], [(Apply(_), _)]));
    }

    #[test]
    fn edits_wait_for_room_and_fail_without_a_connection() {
        let mut guest = Guest::new();
        guest.room = 2;
        guest.write((0..3).map(dig));
        assert_eq!((guest.sent.len(), guest.counts()), (2, [0, 0, 3]));
        for action in [BeginStroke, dig(3), EndStroke, Undo] {
            guest.outbox.push(action, false);
        }
        assert_eq!(guest.outbox.take_failed().len(), 2);
        assert_eq!(guest.outbox.unsent.len(), 1, "an empty stroke takes no room");
    }
}
