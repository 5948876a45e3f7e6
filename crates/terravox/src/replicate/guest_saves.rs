//! Which operations of a guest its host has saved, and up to which the game was told so.

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

    /// Returns what to tell the game when the host has replied to all operations up to a number: one
    /// may be saved before its confirmation arrives, and the game is told in order.
    pub fn news(&mut self, replied: u64) -> Option<GuestEvent> {
        let (first, last) = (self.first, self.saved.min(replied));
        let is_new = last >= first && last > self.told;
        is_new.then(|| {
            self.told = last;
            GuestEvent::Saved { first, last }
        })
    }
}
