//! Geomorphing: how far vertices have moved towards the next coarser mip, as a function of their
//! distance alone, so that no block pops when it is split or merged.
//!
//! Where a block is replaced by its parent, its vertices must have arrived on the parent's surface,
//! and the parent's must not have left it. Both hold if the morph starts beyond the far corner of a
//! block that was just merged, and ends where the parent of a block is split. There is room for
//! that from a detail of about 2.

use super::selection::lookahead_voxels;
use crate::voxel::MipBlock;

/// The distances over which the vertices of each mip morph
/// ([`LodView::morph`](super::LodView::morph)). Valid until the next plan, so read them again in
/// every frame.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MorphRanges {
    pub(super) detail: f64,
    pub(super) hysteresis: f64,
    pub(super) near_voxels: f64,
    pub(super) top: u8,
}

impl MorphRanges {
    /// Returns the distances in voxels from the nearest viewer at which vertices of a mip start
    /// to morph and at which they arrive: what a shader needs for each mip. The second is always
    /// greater. The coarsest mip never morphs: both are beyond any view distance.
    pub fn range_voxels(&self, mip: u8) -> [f32; 2] {
        if mip >= self.top {
            return [1e30, 2e30];
        }
        let edge = f64::from(MipBlock::EDGE) * f64::from(1u32 << mip);
        let splits = |edge: f64| (self.detail * edge).max(self.near_voxels);
        let end = splits(2.0 * edge);
        // Blocks of mip 0 are never the result of a merge.
        let start = match mip {
            0 => splits(edge),
            // The viewer may have moved as far again when the block is merged.
            _ => {
                splits(edge) * (1.0 + self.hysteresis)
                    + 2.0 * lookahead_voxels(edge)
                    + 3f64.sqrt() * edge
            }
        };
        [start.min(end * 0.999) as f32, end as f32]
    }

    /// Returns the morph factor of a vertex: 0 at its own position, 1 at its target. `mip` is the
    /// mip of its block plus its [`steps`](crate::mesh::MorphTargets::steps).
    pub fn factor(&self, mip: u8, distance_voxels: f32) -> f32 {
        let [start, end] = self.range_voxels(mip);
        if distance_voxels >= end {
            return 1.0;
        }
        if distance_voxels > start { (distance_voxels - start) / (end - start) } else { 0.0 }
    }
}

#[cfg(test)]
mod tests {
    use super::super::selection::{LodViewer, Selector};
    use super::*;
    use proptest::prelude::*;

    fn distance(viewer: [f64; 3], point: [f64; 3]) -> f32 {
        let [x, y, z] = [0, 1, 2].map(|i| viewer[i] - point[i]);
        (x * x + y * y + z * z).sqrt() as f32
    }

    /// Returns the first whole voxel from which `holds` is true; it must be true at `end`.
    fn first(end: i32, holds: impl Fn(f64) -> bool) -> f64 {
        let (mut low, mut high) = (0, end);
        assert!(holds(f64::from(end)));
        while low < high {
            let middle = (low + high) / 2;
            (low, high) = if holds(f64::from(middle)) { (low, middle) } else { (middle + 1, high) };
        }
        f64::from(low)
    }

    proptest! {
        #[test]
        fn at_splits_and_merges_children_have_arrived_and_the_parent_has_not_left(
            toward in prop::array::uniform3(-1.0..1.0f64),
            detail in 2.25..8.0f64,
            mip in 1..6u8,
            share in prop::array::uniform3(0.0..=1.0f64),
            moved_on in 0.0..6.9f64,
        ) {
            let block = MipBlock::new(mip, [0; 3]);
            let edge = f64::from(block.edge_voxels());
            let (hysteresis, near_voxels) = (0.1, 64.0);
            let length = toward.iter().map(|v| v * v).sum::<f64>().sqrt().max(1e-3);
            let at = |t: f64| toward.map(|v| 0.5 * edge + t * v / length);
            let selector = |t: f64| {
                let viewer = LodViewer { position_voxels: at(t), distance_voxels: 1e9 };
                Selector {
                    viewers: vec![viewer],
                    ahead: Vec::new(),
                    detail,
                    hysteresis,
                    near_voxels,
                    looks_ahead: true,
                }
            };
            let end = 20 * block.edge_voxels();
            // The choice is made again after less than 8 voxels.
            let split = first(end, |t| !selector(t).splits(block, || false)) - 1.0 - moved_on;
            let merged = first(end, |t| selector(t).merges(block, || false)) + moved_on;
            prop_assert!(selector(split).splits(block, || false));
            let morph = MorphRanges { detail, hysteresis, near_voxels, top: 9 };
            let point = share.map(|share| share * edge);
            for t in [split, merged] {
                prop_assert_eq!(morph.factor(mip, distance(at(t), point)), 0.0);
                prop_assert_eq!(morph.factor(mip - 1, distance(at(t), point)), 1.0);
            }
        }
    }

    #[test]
    fn factors_are_linear_and_the_coarsest_mip_never_morphs() {
        let morph = MorphRanges { detail: 3.0, hysteresis: 0.1, near_voxels: 64.0, top: 2 };
        assert_eq!(morph.range_voxels(0), [96.0, 192.0]);
        let [start, end] = morph.range_voxels(1);
        assert!(start > 192.0 * 1.1 + 64.0 && start < end && end == 384.0);
        assert_eq!(morph.factor(0, 144.0), 0.5);
        assert_eq!((morph.factor(1, start), morph.factor(1, end)), (0.0, 1.0));
        assert_eq!(morph.factor(2, 1e30), 0.0);
    }

    #[test]
    fn without_room_the_range_is_half_a_voxel() {
        let morph = MorphRanges { detail: 1.0, hysteresis: 0.1, near_voxels: 500.0, top: 4 };
        let [start, end] = morph.range_voxels(1);
        assert_eq!((start, end), (499.5, 500.0));
        assert_eq!((morph.factor(1, 499.5), morph.factor(1, 500.0)), (0.0, 1.0));
    }
}
