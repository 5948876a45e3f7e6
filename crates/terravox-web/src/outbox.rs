//! Operations of the player that the host has not decided about. What a broken link left without a
//! reply, and what was edited meanwhile, is sent as fast as the host takes it: hosts refuse more
//! than a few dozen operations at once. A host that refuses one for its work may take the next,
//! cheaper one. So one that reaches cells of another is sent only when that is decided: what is
//! applied is as if all had been applied in their order.

use std::collections::{BTreeMap, VecDeque};
use terravox::edit::{EditError, EditOp};
use terravox::replicate::{GuestEvent, RefusalCode};
use terravox::voxel::Region;

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
    /// The cells that it writes or reads, in voxels.
    reach: Vec<Region>,
    /// Its place in the queue.
    order: u64,
    /// Whether it waited: if the host has no budget for it, it is sent again. An edit that was sent
    /// at once is refused then, since the player sees it vanish and goes on.
    has_waited: bool,
    /// Whether it is shown while it waits.
    is_shown: bool,
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

    /// Whether operations wait to be sent, or may be refused and wait again.
    pub fn is_undecided(&self) -> bool {
        !self.waiting.is_empty() || self.sent.values().any(|entry| entry.has_waited)
    }

    /// Adds an operation behind all others; `reach` as in [`Outbox::send_at_once`].
    ///
    /// # Errors
    /// If too many wait.
    pub fn push(&mut self, op: EditOp, reach: Vec<Region>) -> Result<(), String> {
        if self.waiting.len() >= MAX_WAITING {
            return Err(format!(
                "{MAX_WAITING} edits wait for the server; wait until it has taken some"
            ));
        }
        let entry = self.entry(op, reach, true);
        self.waiting.push_back(entry);
        Ok(())
    }

    /// Sends an operation at once if nothing waits before it. Returns false if it has to wait.
    /// `reach`: the cells that it writes or reads, in voxels.
    ///
    /// # Errors
    /// That of `send`, which returns the number of an operation.
    pub fn send_at_once(
        &mut self,
        op: &EditOp,
        reach: &[Region],
        in_flight: usize,
        send: impl FnOnce(&EditOp) -> Result<u64, EditError>,
    ) -> Result<bool, EditError> {
        let must_wait = !self.waiting.is_empty() || has_undecided(&self.sent, reach);
        if must_wait || in_flight >= MAX_IN_FLIGHT {
            return Ok(false);
        }
        let number = send(op)?;
        let entry = self.entry(op.clone(), reach.to_vec(), false);
        self.sent.insert(number, entry);
        Ok(true)
    }

    fn entry(&mut self, op: EditOp, reach: Vec<Region>, has_waited: bool) -> Entry {
        self.next_order += 1;
        Entry { op, reach, order: self.next_order, has_waited, is_shown: false }
    }

    /// Lets `show` show the first of those that wait, each once, by its order: so many that no more
    /// than may be in flight are seen.
    pub fn show_waiting(&mut self, in_flight: usize, mut show: impl FnMut(u64, &EditOp)) {
        let room = MAX_IN_FLIGHT.saturating_sub(in_flight);
        for entry in self.waiting.iter_mut().take(room).filter(|entry| !entry.is_shown) {
            show(entry.order, &entry.op);
            entry.is_shown = true;
        }
    }

    /// Sends what waits, as far as the host is likely to take it. `send` is given the order of an
    /// operation, too, which is shown no more as one that waits, and returns its number. Returns why
    /// operations cannot be sent: those are dropped.
    pub fn send_waiting(
        &mut self,
        in_flight: usize,
        now_us: u64,
        mut send: impl FnMut(u64, &EditOp) -> Result<u64, EditError>,
    ) -> Vec<EditError> {
        let mut failed = Vec::new();
        if now_us < self.paused_until_us {
            return failed;
        }
        let resent = self.sent.values().filter(|entry| entry.has_waited).count();
        let room = MAX_IN_FLIGHT.saturating_sub(in_flight).min(WINDOW.saturating_sub(resent));
        for _ in 0..room {
            // Those behind it may have cells in common with it.
            let is_next = |entry: &mut Entry| !has_undecided(&self.sent, &entry.reach);
            let Some(entry) = self.waiting.pop_front_if(is_next) else { break };
            match send(entry.order, &entry.op) {
                Ok(number) => drop(self.sent.insert(number, Entry { is_shown: false, ..entry })),
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

    /// Drops all operations; returns their orders.
    pub fn clear(&mut self) -> Vec<u64> {
        let entries = self.waiting.iter().chain(self.sent.values());
        let orders = entries.map(|entry| entry.order).collect();
        *self = Outbox { next_order: self.next_order, ..Outbox::default() };
        orders
    }
}

/// Whether operations that were sent include one with cells in common with these that the host may
/// still refuse and that is then sent again.
fn has_undecided(sent: &BTreeMap<u64, Entry>, reach: &[Region]) -> bool {
    let mut resent = sent.values().filter(|entry| entry.has_waited);
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
            let failed = self.outbox.send_waiting(0, self.now_us, |_, op| {
                sent.push(centre_x(op));
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
        // Apart from each other, so that many are sent at once.
        assert!((0..40).all(|x| sender.edit(f64::from(8 * x))));
        sender.confirm(1);
        sender.outbox.break_off();
        assert!(!sender.edit(320.0), "it waits behind the others");
        let (mut answered, mut taken) = (40_usize, vec![0.0]);
        while taken.len() <= 40 {
            sender.frame();
            assert_eq!(sender.sent.len() - answered, WINDOW.min(41 - taken.len()));
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
        let is_in_order = |(x, at): (&f64, i32)| (x - f64::from(8 * at)).abs() < 1.1;
        assert!(taken.iter().zip(0..).all(is_in_order), "{taken:?}");
        assert_eq!((sender.outbox.waiting(), sender.outbox.sent.len()), (0, 0));
        assert!(sender.edit(328.0));
    }

    #[test]
    fn what_is_built_into_a_hole_waits_until_the_host_has_decided_about_the_hole() {
        let mut sender = Sender::default();
        let hole = EditOp::dig_ball([0.0; 3], 12.0);
        let pillar = EditOp::fill_ball(8, [2.0, 0.0, 0.0], 3.0);
        let elsewhere = EditOp::dig_ball([100.0, 0.0, 0.0], 3.0);
        assert!([&hole, &pillar, &elsewhere].into_iter().all(|op| sender.edit_by(op)));
        sender.outbox.break_off();
        sender.sent.clear();
        sender.frame();
        // Those behind the one that waits may have cells in common with it.
        assert_eq!(sender.sent, [centre_x(&hole)]);
        assert!(!sender.refuse(1, RefusalCode::TooMuchWork));
        sender.now_us += PAUSE_US;
        sender.frame();
        assert_eq!(sender.sent, [&hole, &hole].map(centre_x), "the hole comes first again");
        sender.confirm(2);
        sender.frame();
        assert_eq!(sender.sent, [&hole, &hole, &pillar, &elsewhere].map(centre_x));
        // All were sent, but the pillar may be refused and sent again.
        assert_eq!(sender.outbox.waiting(), 0);
        assert!(!sender.edit(2.0), "a hole in the pillar");
        assert!(sender.outbox.is_undecided());
        sender.confirm(3);
        sender.frame();
        assert_eq!(sender.sent.len(), 5);
        (4..=5).for_each(|number| sender.confirm(number));
        assert!(!sender.outbox.is_undecided());
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
        assert_eq!(sender.outbox.waiting(), 0);
    }

    #[test]
    fn more_than_may_wait_is_refused_with_a_reason() {
        let mut outbox = Outbox::default();
        let push = |outbox: &mut Outbox| outbox.push(dig(0.0), reach(&dig(0.0)));
        assert!((0..MAX_WAITING).all(|_| push(&mut outbox).is_ok()));
        assert!(push(&mut outbox).is_err_and(|error| error.contains("1024 edits wait")));
        assert!(matches!(outbox.send_at_once(&dig(0.0), &[], 0, |_| Ok(1)), Ok(false)));
    }
}
