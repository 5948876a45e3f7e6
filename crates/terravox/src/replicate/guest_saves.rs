//! Which operations of a guest its host has saved, and the game was told so.

use super::guest_event::GuestEvent;

/// The operations that one host was sent, over all links to it without another host between.
pub(super) struct SavedEdits {
    /// The number of the first.
    first: u64,
    /// Up to which they are saved.
    saved: u64,
    /// Up to which the game was told so.
    told: u64,
}

impl SavedEdits {
    /// Of a host whose first operation will have a number. What an earlier one has saved is not known.
    pub fn from(first: u64) -> SavedEdits {
        SavedEdits { first, saved: 0, told: 0 }
    }

    /// Returns the number of the last operation of before a break that was sent to this host, or 0 if
    /// there is none.
    pub fn last_before(&self, next_number: u64) -> u64 {
        if self.first < next_number { next_number - 1 } else { 0 }
    }

    /// Notes that the host has saved all up to a number.
    pub fn note(&mut self, number: u64) {
        self.saved = self.saved.max(number);
    }

    /// Returns what the game is to be told, if all up to a number are answered: what is confirmed after
    /// its cells may be saved before that, and is told in order.
    pub fn news(&mut self, answered: u64) -> Option<GuestEvent> {
        let (first, last) = (self.first, self.saved.min(answered));
        let is_new = last >= first && last > self.told;
        is_new.then(|| {
            self.told = last;
            GuestEvent::Saved { first, last }
        })
    }
}
