//! A new view normally appears as a whole, coarse in the distance. If its coarsest blocks do not
//! arrive, the chunks near the viewers are shown alone first, as an island, while the next tiling,
//! which will cover everything in view, is chosen without being shown.

use super::chosen::ChosenFor;
use super::draft::{HasTime, PlanDraft};
use super::neighbour_change::NeighbourChange;
use super::selection::Selector;
use super::tiling::Tiling;
use super::view::LodView;
use crate::voxel::{MipBlock, UnlistedChunks, VoxelGrid};

/// Share of the near distance within which the next tiling must be as fine as the island that it
/// replaces, if the viewer moves.
const INNER_SHARE: f64 = 0.25;

/// Updates after which a view whose coarsest blocks are not there yet shows an island. This crate
/// has no clock; at 60 a second it is 5 s, which slow generators within a small budget may take.
const MAX_EMPTY_ROUNDS: u64 = 300;

impl LodView {
    /// Exchanges the tiling that is shown and the next one.
    pub(super) fn swap_tilings(&mut self) {
        if let Some(next) = &mut self.next_tiling {
            std::mem::swap(&mut self.tiling, next);
        }
    }

    /// Whether nothing is shown yet and coarsest blocks are about to come.
    pub(super) fn awaits_roots(&self) -> bool {
        let awaits = |next: &Tiling| self.fills.awaits_mip(next.top());
        self.tiling.len() == 0
            && self.fills.rounds() - self.first_round < MAX_EMPTY_ROUNDS
            && self.next_tiling.as_ref().is_some_and(awaits)
    }

    /// Whether the next tiling can be shown without an island before it.
    pub(super) fn needs_no_island(&self, near: &Selector) -> bool {
        let covers = |next: &Tiling| {
            next.len() > 0 && near.roots(next.top()).into_iter().all(|root| next.has(root))
        };
        self.tiling.len() == 0 && self.next_tiling.as_ref().is_some_and(covers)
    }

    /// Shows chunks near the viewers that are held and removes those left behind, while there is
    /// time. Returns whether it finished.
    pub(super) fn update_island(
        &mut self,
        grid: &mut VoxelGrid,
        near: &Selector,
        draft: &mut PlanDraft,
        has_time: HasTime<'_>,
    ) -> bool {
        for root in near.roots(0) {
            if !self.tiling.has(root) && self.residency.has(grid.as_snapshot(), root) {
                self.show_root(grid, root, draft);
                if !has_time() {
                    return false;
                }
            }
        }
        let left: Vec<MipBlock> =
            self.tiling.roots().filter(|&root| near.is_out_of_view(root)).collect();
        self.has_left_island |= !left.is_empty();
        for root in left {
            self.tiling.remove(root, &mut |leaf| draft.remove(leaf));
            draft.retiled.add(root);
            self.invalidate_neighbours(grid.as_snapshot(), NeighbourChange::of(root), draft);
            if !has_time() {
                return false;
            }
        }
        true
    }

    /// Whether the next tiling can replace the island.
    pub(super) fn can_replace_island(&self, grid: &VoxelGrid, near: &Selector) -> bool {
        let Some(next) = &self.next_tiling else { return false };
        let is_listed = self.fills.has_no_near_left() || grid.unlisted() == UnlistedChunks::Air;
        // The choice lags behind a moving viewer by some frames: then the nearest part is enough.
        let share = if self.has_left_island { INNER_SHARE } else { 1.0 };
        let matters = |leaf: &MipBlock| near.distance(*leaf) <= share * near.near_voxels;
        let covers = is_listed && self.tiling.leaves().filter(matters).all(|leaf| next.has(leaf));
        // Where finer cells are unavailable, show what there is, unless all viewers would stand on
        // nothing.
        let is_stuck = is_listed
            && !self.fills.is_waiting()
            && (near.own_roots(next.top()).next().is_none()
                || near.own_roots(next.top()).any(|root| next.has(root)));
        // A viewer outside of the world sees nothing, and has no island either.
        (next.len() > 0 || self.tiling.len() == 0) && (covers || is_stuck)
    }

    /// Shows the next tiling in place of the island.
    pub(super) fn replace_island(&mut self, draft: &mut PlanDraft) {
        self.tiling.leaves().for_each(|leaf| draft.remove(leaf));
        self.tiling = self.next_tiling.take().unwrap_or_default();
        draft.retiled.add_all();
        self.has_left_island = false;
        self.tiling.leaves().for_each(|leaf| draft.add(leaf));
        self.chosen_for = ChosenFor::Unfinished;
        self.residency.forget_all_surfaceless();
    }

    /// Drops the next tiling's choice: it may rely on cells that are gone.
    pub(super) fn restart_next_tiling(&mut self) {
        if let Some(next) = &mut self.next_tiling {
            *next = Tiling::new(next.top());
            self.is_choice_stale = true;
        }
    }
}
