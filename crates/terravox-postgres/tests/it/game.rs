//! A game that edits and saves, and knows every state that it saved.

use crate::all_stores::{Numbers, empty_grid, random_edit};
use std::collections::BTreeMap;
use terravox::terrain::UnsavedChanges;
use terravox::voxel::VoxelGrid;
use terravox_store::{Store, StoreError, WorldInfo};

/// A world that is edited, and all states that may be stored.
pub struct Game {
    grid: VoxelGrid,
    numbers: Numbers,
    pub number: u64,
    digests: BTreeMap<u64, u128>,
}

impl Game {
    pub fn new(seed: u64) -> Game {
        let grid = empty_grid(&WorldInfo::default());
        let digests = BTreeMap::from([(0, grid.digest().unwrap())]);
        Game { grid, numbers: Numbers(seed), number: 0, digests }
    }

    /// Edits and saves once.
    pub fn go_on(&mut self, store: &Store) -> Result<(), StoreError> {
        self.number += 1;
        for _ in 0..3 {
            random_edit(&mut self.grid, &mut self.numbers);
        }
        self.digests.insert(self.number, self.grid.digest().unwrap());
        let unsaved =
            UnsavedChanges::from(self.grid.unsaved()).with_data("state", self.number.to_le_bytes());
        store.save(&unsaved, |_| {})?;
        self.grid.mark_saved(&unsaved.chunks);
        Ok(())
    }

    /// The number of the state that is stored, whose cells must be those of that state.
    pub fn check(&self, store: &Store) -> u64 {
        let state = store.extra("state").unwrap();
        let state = state.map_or(0, |bytes| u64::from_le_bytes(bytes.try_into().unwrap()));
        let loaded = store.load().unwrap();
        assert_eq!(loaded.bad, []);
        assert_eq!(loaded.grid.digest().unwrap(), self.digests[&state], "state {state}");
        state
    }
}
