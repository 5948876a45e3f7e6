//! Telling guests that their edits are saved.

use super::host::Host;
use super::message::ToGuest;
use super::pipe::EDITS;
use crate::voxel::Kind;

/// Which edits of its guests a host had handled at some moment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SavePoint(Vec<(u64, u64)>);

impl Host {
    /// Returns which edits were handled until now: those that are in the grid. Call it where a save
    /// takes its snapshot, and [`Host::note_saved`] once that is on disk.
    pub fn save_point(&self) -> SavePoint {
        let handled = |entry: &u64| Some((*entry, self.guests.get(entry)?.handled_number()));
        SavePoint(self.guests().iter().filter_map(handled).collect())
    }

    /// Tells guests that all their edits are saved: for when nothing of the world is unsaved. An edit that
    /// changes nothing begins no save.
    pub fn note_all_saved(&mut self) {
        let point = self.save_point();
        self.tell_saved(&point);
    }

    /// Tells guests that their edits up to some moment are saved.
    pub fn note_saved(&mut self, point: &SavePoint) {
        self.truth.note_saved();
        self.tell_saved(point);
    }

    fn tell_saved(&mut self, point: &SavePoint) {
        for (guest, number) in &point.0 {
            if let Some(entry) = self.guests.get_mut(guest)
                && entry.saved_number < *number
            {
                entry.saved_number = *number;
                // It has no cells.
                entry.send(EDITS, &ToGuest::Saved { number: *number }, &[Kind::Air; 256]);
            }
        }
    }
}
