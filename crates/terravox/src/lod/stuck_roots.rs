//! Which late roots wait for cells that are unavailable, and since when.

use crate::voxel::MipBlock;
use rustc_hash::FxHashMap;

/// Rounds for which a root waits for finer cells that are unavailable, four seconds of a game: most
/// come a moment later, and fine ground near a viewer should not flicker.
const PATIENCE_ROUNDS: u64 = 240;

/// Late roots that wait for unavailable cells.
#[derive(Default)]
pub(super) struct StuckRoots {
    /// The rounds since which they wait.
    since: FxHashMap<MipBlock, u64>,
    /// Those for which splits beside them waited in the last pass, in view or not.
    blocking: Vec<MipBlock>,
}

impl StuckRoots {
    /// Whether a root has waited long enough in a round. The first call for a root starts its time.
    pub fn is_due(&mut self, root: MipBlock, round: u64) -> bool {
        round - *self.since.entry(root).or_insert(round) >= PATIENCE_ROUNDS
    }

    /// Whether any root has waited long enough.
    pub fn is_any_due(&self, round: u64) -> bool {
        self.since.values().any(|since| round - since >= PATIENCE_ROUNDS)
    }

    /// Returns the roots that stop splits.
    pub fn blocking(&self) -> &[MipBlock] {
        &self.blocking
    }

    /// Replaces the roots that stop splits.
    pub fn set_blocking(&mut self, blocking: Vec<MipBlock>) {
        self.blocking = blocking;
    }

    /// Forgets all roots that are not late any more.
    pub fn retain(&mut self, is_late: impl Fn(MipBlock) -> bool) {
        self.since.retain(|&root, _| is_late(root));
    }
}
