//! Operations of the player that the host has not decided about. What a broken link left without a
//! reply, and what was edited meanwhile, is sent in its order as fast as the host takes it: hosts
//! refuse more than a few dozen operations at once.

use std::collections::{BTreeMap, VecDeque};
use terravox::edit::{EditError, EditOp};
use terravox::replicate::{GuestEvent, RefusalCode};

/// Maximum number of operations that a guest has in flight.
const MAX_IN_FLIGHT: usize = 256;

/// Maximum number of operations in flight that waited: about what a host takes in [`PAUSE_US`] by
/// default.
const WINDOW: usize = 16;

/// Maximum number of operations that wait: minutes of a held mouse button.
const MAX_WAITING: usize = 1024;

/// Delay before sending again after the host had no budget for what waited, microseconds.
const PAUSE_US: u64 = 500_000;

/// Consecutive pauses in which the host took nothing, until what it refuses is given up.
const MAX_PAUSES: u32 = 20;

struct Entry {
    op: EditOp,
    /// Its place in the queue.
    order: u64,
    /// Whether it waited: if the host has no budget for it, it is sent again. An edit that was sent
    /// at once is refused then, since the player sees it vanish and goes on.
    has_waited: bool,
}

/// See the [module](self).
#[derive(Default)]
pub struct Outbox {
    /// By [`Entry::order`].
    waiting: VecDeque<Entry>,
    /// By the number that the guest gave.
    sent: BTreeMap<u64, Entry>,
    next_order: u64,
    paused_until_us: u64,
    /// Pauses since the host last took something that had waited.
    pauses: u32,
}

impl Outbox {
    /// How many operations wait to be sent.
    pub fn waiting(&self) -> usize {
        self.waiting.len()
    }

    /// Adds an operation behind all others.
    ///
    /// # Errors
    /// If too many wait.
    pub fn push(&mut self, op: EditOp) -> Result<(), String> {
        if self.waiting.len() >= MAX_WAITING {
            return Err(format!(
                "{MAX_WAITING} edits wait for the server; wait until it has taken some"
            ));
        }
        let entry = self.entry(op, true);
        self.waiting.push_back(entry);
        Ok(())
    }

    /// Sends an operation at once if nothing waits before it. Returns false if it has to wait.
    ///
    /// # Errors
    /// That of `send`, which returns the number of an operation.
    pub fn send_at_once(
        &mut self,
        op: &EditOp,
        in_flight: usize,
        send: impl FnOnce(&EditOp) -> Result<u64, EditError>,
    ) -> Result<bool, EditError> {
        if !self.waiting.is_empty() || in_flight >= MAX_IN_FLIGHT {
            return Ok(false);
        }
        let number = send(op)?;
        let entry = self.entry(op.clone(), false);
        self.sent.insert(number, entry);
        Ok(true)
    }

    fn entry(&mut self, op: EditOp, has_waited: bool) -> Entry {
        self.next_order += 1;
        Entry { op, order: self.next_order, has_waited }
    }

    /// Sends what waits, as far as the host is likely to take it. `send` returns the number of an
    /// operation. Returns why operations cannot be sent: those are dropped.
    pub fn send_waiting(
        &mut self,
        in_flight: usize,
        now_us: u64,
        mut send: impl FnMut(&EditOp) -> Result<u64, EditError>,
    ) -> Vec<EditError> {
        let mut failed = Vec::new();
        if now_us < self.paused_until_us {
            return failed;
        }
        let resent = self.sent.values().filter(|entry| entry.has_waited).count();
        let room = MAX_IN_FLIGHT.saturating_sub(in_flight).min(WINDOW.saturating_sub(resent));
        for _ in 0..room {
            let Some(entry) = self.waiting.pop_front() else { break };
            match send(&entry.op) {
                Ok(number) => drop(self.sent.insert(number, entry)),
                Err(error) => failed.push(error),
            }
        }
        failed
    }

    /// Takes an event of the guest. Returns false if the player is not to be told: what the host
    /// refused is sent again.
    pub fn take(&mut self, event: &GuestEvent, now_us: u64) -> bool {
        let (number, refusal) = match event {
            GuestEvent::Confirmed { number, .. } => (number, None),
            GuestEvent::Refused { number, code, .. } => (number, Some(code)),
            _ => return true,
        };
        let Some(entry) = self.sent.remove(number) else { return true };
        let is_too_much = matches!(refusal, Some(RefusalCode::TooMany | RefusalCode::TooMuchWork));
        if entry.has_waited && is_too_much && self.pause(now_us) {
            self.put_back(entry);
            return false;
        }
        if entry.has_waited && refusal.is_none() {
            self.pauses = 0;
        }
        true
    }

    /// Begins a pause, unless there is one. Returns false after too many in which the host took
    /// nothing.
    fn pause(&mut self, now_us: u64) -> bool {
        let is_paused = now_us < self.paused_until_us;
        if !is_paused && self.pauses < MAX_PAUSES {
            (self.pauses, self.paused_until_us) = (self.pauses + 1, now_us + PAUSE_US);
            return true;
        }
        is_paused
    }

    fn put_back(&mut self, entry: Entry) {
        let at = self.waiting.partition_point(|other| other.order < entry.order);
        self.waiting.insert(at, entry);
    }

    /// The link broke: operations without a reply go back to their places.
    pub fn break_off(&mut self) {
        (self.paused_until_us, self.pauses) = (0, 0);
        for entry in std::mem::take(&mut self.sent).into_values() {
            self.put_back(Entry { has_waited: true, ..entry });
        }
    }

    /// Drops all operations; returns how many there were.
    pub fn clear(&mut self) -> usize {
        let count = self.waiting.len() + self.sent.len();
        *self = Outbox { next_order: self.next_order, ..Outbox::default() };
        count
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An outbox, and the centres of what it sent: their numbers count from 1.
    #[derive(Default)]
    struct Sender {
        outbox: Outbox,
        sent: Vec<f64>,
        now_us: u64,
    }

    fn dig(x: f64) -> EditOp {
        EditOp::dig_ball([x, 0.0, 0.0], 1.0)
    }

    impl Sender {
        fn edit(&mut self, x: f64) -> bool {
            let number = self.sent.len() as u64 + 1;
            let is_sent = self.outbox.send_at_once(&dig(x), 0, |_| Ok(number));
            let is_sent = is_sent.expect("it can be sent");
            match is_sent {
                true => self.sent.push(x),
                false => self.outbox.push(dig(x)).expect("it can wait"),
            }
            is_sent
        }

        fn frame(&mut self) {
            let sent = &mut self.sent;
            let failed = self.outbox.send_waiting(0, self.now_us, |op| {
                let region = op.region().expect("it is valid");
                sent.push(f64::midpoint(f64::from(region.min.x), f64::from(region.max.x)));
                Ok(sent.len() as u64)
            });
            assert!(failed.is_empty());
        }

        fn confirm(&mut self, number: u64) {
            let event = GuestEvent::Confirmed { number, has_changed: true };
            assert!(self.outbox.take(&event, self.now_us));
        }

        /// Returns whether the player is told.
        fn refuse(&mut self, number: u64, code: RefusalCode) -> bool {
            let event = GuestEvent::Refused { number, code, reason: String::new() };
            self.outbox.take(&event, self.now_us)
        }
    }

    #[test]
    fn a_host_that_takes_one_at_a_time_gets_all_in_order_after_a_break() {
        let mut sender = Sender::default();
        assert!((0..40).all(|x| sender.edit(f64::from(x))));
        sender.confirm(1);
        sender.outbox.break_off();
        assert!(!sender.edit(40.0), "it waits behind the others");
        let (mut answered, mut taken) = (40_usize, vec![0.0]);
        while taken.len() <= 40 {
            sender.frame();
            assert!((1..=WINDOW).contains(&(sender.sent.len() - answered)));
            let numbers = answered as u64 + 1..=sender.sent.len() as u64;
            sender.confirm(numbers.clone().next().expect("one was sent"));
            taken.push(sender.sent[answered]);
            for number in numbers.skip(1) {
                assert!(!sender.refuse(number, RefusalCode::TooMany));
            }
            answered = sender.sent.len();
            let before = sender.sent.len();
            sender.frame();
            assert_eq!(sender.sent.len(), before, "it pauses");
            sender.now_us += PAUSE_US;
        }
        assert!(taken.iter().zip(0..).all(|(x, at)| (x - f64::from(at)).abs() < 1.1), "{taken:?}");
        assert_eq!((sender.outbox.waiting(), sender.outbox.sent.len()), (0, 0));
        assert!(sender.edit(41.0));
    }

    #[test]
    fn what_is_refused_otherwise_or_for_ever_is_told() {
        let mut sender = Sender::default();
        assert!(sender.edit(0.0));
        assert!(sender.refuse(1, RefusalCode::TooMany), "one that was sent at once");
        assert!(sender.edit(1.0) && sender.edit(2.0));
        sender.outbox.break_off();
        sender.frame();
        assert!(sender.refuse(4, RefusalCode::Game(17)));
        for _ in 0..MAX_PAUSES {
            let last = sender.sent.len() as u64;
            assert!(!sender.refuse(last, RefusalCode::TooMuchWork));
            sender.now_us += PAUSE_US;
            sender.frame();
        }
        assert!(sender.refuse(sender.sent.len() as u64, RefusalCode::TooMuchWork));
        assert_eq!(sender.outbox.waiting(), 0);
    }

    #[test]
    fn more_than_may_wait_is_refused_with_a_reason() {
        let mut outbox = Outbox::default();
        assert!((0..MAX_WAITING).all(|_| outbox.push(dig(0.0)).is_ok()));
        assert!(outbox.push(dig(0.0)).is_err_and(|error| error.contains("1024 edits wait")));
        assert!(matches!(outbox.send_at_once(&dig(0.0), 0, |_| Ok(1)), Ok(false)));
    }
}
