//! Operations of the player without a reply from the host: in flight, or not sent yet. Those that a
//! broken link left without a reply, and those made meanwhile, are sent as fast as the host accepts
//! them: hosts refuse more than a few dozen operations at once. A host that refuses one for its work
//! may accept the next, cheaper one. So an operation that overlaps an earlier one is sent only after
//! the reply to that one: the result is as if all had been applied in their order.

use std::collections::{BTreeMap, VecDeque};
use terravox::edit::{EditError, EditOp};
use terravox::replicate::{GuestEvent, RefusalCode};
use terravox::voxel::Region;

/// Maximum number of operations that a guest has in flight.
const MAX_IN_FLIGHT: usize = 256;

/// Maximum number of operations in flight that were queued: about what a host accepts in
/// [`PAUSE_US`] by default.
const WINDOW: usize = 16;

/// Maximum number of unsent operations: minutes of a held mouse button.
const MAX_UNSENT: usize = 1024;

/// Delay before sending again after the host had no budget for a queued operation, microseconds.
const PAUSE_US: u64 = 500_000;

/// Consecutive pauses in which the host accepted nothing, until what it refuses is given up.
const MAX_PAUSES: u32 = 20;

struct Entry {
    op: EditOp,
    /// The cells that it writes or reads, in voxels.
    reach: Vec<Region>,
    /// Its place in the queue.
    order: u64,
    /// Whether it was ever in the queue: if the host has no budget for it, it is sent again. An edit
    /// that was sent at once is refused then, since the player sees it vanish and goes on.
    was_queued: bool,
    /// Whether it is shown while it is unsent.
    is_shown: bool,
}

/// See the [module](self).
#[derive(Default)]
pub struct Outbox {
    /// The queue, by [`Entry::order`].
    unsent: VecDeque<Entry>,
    /// By the number that the guest gave.
    in_flight: BTreeMap<u64, Entry>,
    next_order: u64,
    paused_until_us: u64,
    /// Pauses since the host last accepted a queued operation.
    pauses: u32,
}

impl Outbox {
    /// Returns the number of unsent operations.
    pub fn unsent(&self) -> usize {
        self.unsent.len()
    }

    /// Whether operations are unsent, or in flight and would be queued again if refused.
    pub fn has_queued(&self) -> bool {
        !self.unsent.is_empty() || self.in_flight.values().any(|entry| entry.was_queued)
    }

    /// Queues an operation behind all others; `reach` as in [`Outbox::send_at_once`].
    ///
    /// # Errors
    /// If the queue is full.
    pub fn push(&mut self, op: EditOp, reach: Vec<Region>) -> Result<(), String> {
        if self.unsent.len() >= MAX_UNSENT {
            return Err(format!(
                "{MAX_UNSENT} edits wait for the server; wait until it has accepted some"
            ));
        }
        let entry = self.entry(op, reach, true);
        self.unsent.push_back(entry);
        Ok(())
    }

    /// Sends an operation at once if nothing is queued before it. Returns false if it must be
    /// queued. `reach`: the cells that it writes or reads, in voxels. `guest_in_flight`: operations
    /// of the guest without a reply, undo and redo included.
    ///
    /// # Errors
    /// That of `send`, which returns the number of an operation.
    pub fn send_at_once(
        &mut self,
        op: &EditOp,
        reach: &[Region],
        guest_in_flight: usize,
        send: impl FnOnce(&EditOp) -> Result<u64, EditError>,
    ) -> Result<bool, EditError> {
        let must_wait = !self.unsent.is_empty() || overlaps_queued(&self.in_flight, reach);
        if must_wait || guest_in_flight >= MAX_IN_FLIGHT {
            return Ok(false);
        }
        let number = send(op)?;
        let entry = self.entry(op.clone(), reach.to_vec(), false);
        self.in_flight.insert(number, entry);
        Ok(true)
    }

    fn entry(&mut self, op: EditOp, reach: Vec<Region>, was_queued: bool) -> Entry {
        self.next_order += 1;
        Entry { op, reach, order: self.next_order, was_queued, is_shown: false }
    }

    /// Calls `show` once for each of the first unsent operations, with its order. No more operations
    /// are shown, those in flight included, than may be in flight.
    pub fn show_unsent(&mut self, guest_in_flight: usize, mut show: impl FnMut(u64, &EditOp)) {
        let room = MAX_IN_FLIGHT.saturating_sub(guest_in_flight);
        for entry in self.unsent.iter_mut().take(room).filter(|entry| !entry.is_shown) {
            show(entry.order, &entry.op);
            entry.is_shown = true;
        }
    }

    /// Sends unsent operations, as far as the host is likely to accept them. `send` also gets the
    /// order of the operation, must hide its preview, and returns the number from `Guest::edit`.
    /// Returns why operations cannot be sent: those are dropped.
    pub fn send_unsent(
        &mut self,
        guest_in_flight: usize,
        now_us: u64,
        mut send: impl FnMut(u64, &EditOp) -> Result<u64, EditError>,
    ) -> Vec<EditError> {
        let mut failed = Vec::new();
        if now_us < self.paused_until_us {
            return failed;
        }
        let resent = self.in_flight.values().filter(|entry| entry.was_queued).count();
        let room = MAX_IN_FLIGHT.saturating_sub(guest_in_flight).min(WINDOW.saturating_sub(resent));
        for _ in 0..room {
            // Those behind it may have cells in common with it.
            let is_next = |entry: &mut Entry| !overlaps_queued(&self.in_flight, &entry.reach);
            let Some(entry) = self.unsent.pop_front_if(is_next) else { break };
            match send(entry.order, &entry.op) {
                Ok(number) => {
                    drop(self.in_flight.insert(number, Entry { is_shown: false, ..entry }))
                }
                Err(error) => failed.push(error),
            }
        }
        failed
    }

    /// Handles an event of the guest. Returns false if the player is not told, because the operation
    /// that the host refused is sent again.
    pub fn handle_event(&mut self, event: &GuestEvent, now_us: u64) -> bool {
        let (number, refusal) = match event {
            GuestEvent::Confirmed { number, .. } => (number, None),
            GuestEvent::Refused { number, code, .. } => (number, Some(code)),
            _ => return true,
        };
        let Some(entry) = self.in_flight.remove(number) else { return true };
        let is_too_much = matches!(refusal, Some(RefusalCode::TooMany | RefusalCode::TooMuchWork));
        if entry.was_queued && is_too_much && self.pause(now_us) {
            self.put_back(entry);
            return false;
        }
        if entry.was_queued && refusal.is_none() {
            self.pauses = 0;
        }
        true
    }

    /// Begins a pause, unless there is one. Returns false after too many in which the host accepted
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
        let at = self.unsent.partition_point(|other| other.order < entry.order);
        self.unsent.insert(at, entry);
    }

    /// The link broke: operations in flight go back to their places in the queue.
    pub fn break_off(&mut self) {
        (self.paused_until_us, self.pauses) = (0, 0);
        for entry in std::mem::take(&mut self.in_flight).into_values() {
            self.put_back(Entry { was_queued: true, ..entry });
        }
    }

    /// Drops all operations; returns their orders.
    pub fn clear(&mut self) -> Vec<u64> {
        let entries = self.unsent.iter().chain(self.in_flight.values());
        let orders = entries.map(|entry| entry.order).collect();
        *self = Outbox { next_order: self.next_order, ..Outbox::default() };
        orders
    }
}

/// Whether an operation in flight that would be sent again if refused has cells in common with
/// these.
fn overlaps_queued(in_flight: &BTreeMap<u64, Entry>, reach: &[Region]) -> bool {
    let mut resent = in_flight.values().filter(|entry| entry.was_queued);
    resent.any(|entry| {
        let mut regions = entry.reach.iter();
        regions.any(|own| reach.iter().any(|region| !own.intersect(*region).is_empty()))
    })
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

    fn reach(op: &EditOp) -> Vec<Region> {
        vec![op.region().expect("it is valid")]
    }

    fn centre_x(op: &EditOp) -> f64 {
        let Region { min, max } = op.region().expect("it is valid");
        f64::midpoint(f64::from(min.x), f64::from(max.x))
    }

    impl Sender {
        fn edit(&mut self, x: f64) -> bool {
            self.edit_by(&dig(x))
        }

        fn edit_by(&mut self, op: &EditOp) -> bool {
            let number = self.sent.len() as u64 + 1;
            let is_sent = self.outbox.send_at_once(op, &reach(op), 0, |_| Ok(number));
            let is_sent = is_sent.expect("it can be sent");
            match is_sent {
                true => self.sent.push(centre_x(op)),
                false => self.outbox.push(op.clone(), reach(op)).expect("it can wait"),
            }
            is_sent
        }

        fn frame(&mut self) {
            let sent = &mut self.sent;
            let failed = self.outbox.send_unsent(0, self.now_us, |_, op| {
                sent.push(centre_x(op));
                Ok(sent.len() as u64)
            });
            assert!(failed.is_empty());
        }

        fn confirm(&mut self, number: u64) {
            let event = GuestEvent::Confirmed { number, has_changed: true };
            assert!(self.outbox.handle_event(&event, self.now_us));
        }

        /// Returns whether the player is told.
        fn refuse(&mut self, number: u64, code: RefusalCode) -> bool {
            let event = GuestEvent::Refused { number, code, reason: String::new() };
            self.outbox.handle_event(&event, self.now_us)
        }
    }

    #[test]
    fn a_host_that_accepts_one_at_a_time_gets_all_in_order_after_a_break() {
        let mut sender = Sender::default();
        // Apart from each other, so that many are sent at once.
        assert!((0..40).all(|x| sender.edit(f64::from(8 * x))));
        sender.confirm(1);
        sender.outbox.break_off();
        assert!(!sender.edit(320.0), "it waits behind the others");
        let (mut replied, mut accepted) = (40_usize, vec![0.0]);
        while accepted.len() <= 40 {
            sender.frame();
            assert_eq!(sender.sent.len() - replied, WINDOW.min(41 - accepted.len()));
            let numbers = replied as u64 + 1..=sender.sent.len() as u64;
            sender.confirm(numbers.clone().next().expect("one was sent"));
            accepted.push(sender.sent[replied]);
            for number in numbers.skip(1) {
                assert!(!sender.refuse(number, RefusalCode::TooMany));
            }
            replied = sender.sent.len();
            let before = sender.sent.len();
            sender.frame();
            assert_eq!(sender.sent.len(), before, "it pauses");
            sender.now_us += PAUSE_US;
        }
        let is_in_order = |(x, at): (&f64, i32)| (x - f64::from(8 * at)).abs() < 1.1;
        assert!(accepted.iter().zip(0..).all(is_in_order), "{accepted:?}");
        assert_eq!((sender.outbox.unsent(), sender.outbox.in_flight.len()), (0, 0));
        assert!(sender.edit(328.0));
    }

    #[test]
    fn what_is_built_into_a_hole_waits_for_the_reply_about_the_hole() {
        let mut sender = Sender::default();
        let hole = EditOp::dig_ball([0.0; 3], 12.0);
        let pillar = EditOp::fill_ball(8, [2.0, 0.0, 0.0], 3.0);
        let elsewhere = EditOp::dig_ball([100.0, 0.0, 0.0], 3.0);
        assert!([&hole, &pillar, &elsewhere].into_iter().all(|op| sender.edit_by(op)));
        sender.outbox.break_off();
        sender.sent.clear();
        sender.frame();
        // The pillar must wait, and those behind it may have cells in common with it.
        assert_eq!(sender.sent, [centre_x(&hole)]);
        assert!(!sender.refuse(1, RefusalCode::TooMuchWork));
        sender.now_us += PAUSE_US;
        sender.frame();
        assert_eq!(sender.sent, [&hole, &hole].map(centre_x), "the hole comes first again");
        sender.confirm(2);
        sender.frame();
        assert_eq!(sender.sent, [&hole, &hole, &pillar, &elsewhere].map(centre_x));
        // All were sent, but the pillar may be refused and sent again.
        assert_eq!(sender.outbox.unsent(), 0);
        assert!(!sender.edit(2.0), "a hole in the pillar");
        assert!(sender.outbox.has_queued());
        sender.confirm(3);
        sender.frame();
        assert_eq!(sender.sent.len(), 5);
        (4..=5).for_each(|number| sender.confirm(number));
        assert!(!sender.outbox.has_queued());
    }

    #[test]
    fn what_is_refused_otherwise_or_for_ever_is_told() {
        let mut sender = Sender::default();
        assert!(sender.edit(0.0));
        assert!(sender.refuse(1, RefusalCode::TooMany), "one that was sent at once");
        assert!(sender.edit(10.0) && sender.edit(20.0));
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
        assert_eq!(sender.outbox.unsent(), 0);
    }

    #[test]
    fn an_edit_beyond_a_full_queue_is_refused_with_a_reason() {
        let mut outbox = Outbox::default();
        let push = |outbox: &mut Outbox| outbox.push(dig(0.0), reach(&dig(0.0)));
        assert!((0..MAX_UNSENT).all(|_| push(&mut outbox).is_ok()));
        assert!(push(&mut outbox).is_err_and(|error| error.contains("1024 edits wait")));
        assert!(matches!(outbox.send_at_once(&dig(0.0), &[], 0, |_| Ok(1)), Ok(false)));
    }
}
