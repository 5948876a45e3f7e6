//! How far vertices are on their way to the next coarser level: by their distance alone, so
//! that no block jumps when it is split or merged.
//!
//! Blocks of a mip are on screen up to the distance at which their parent takes over, and
//! there their vertices have arrived on its surface. The parent's own must not have left it
//! anywhere in the block. Both hold if the way begins beyond the far corner of a block that
//! was just merged, and ends where the parent of a block is split; between the two there is
//! room for that from a detail of about 2 on.

use super::pick::ahead;
use crate::voxel::MipBlock;

/// Where the vertices of each level are on their way ([`Lod::morph`](super::Lod::morph)).
/// Holds until the next plan.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Morph {
    pub(super) detail: f64,
    pub(super) hysteresis: f64,
    pub(super) near: f64,
    pub(super) top: u8,
}

impl Morph {
    /// Voxels from the nearest viewer at which vertices of a level begin to move, and at
    /// which they arrive: what a shader needs for each mip. The second is always greater. The
    /// coarsest level stays where it is: both are farther than anything.
    pub fn range_voxels(&self, level: u8) -> [f32; 2] {
        if level >= self.top {
            return [1e30, 2e30];
        }
        let edge = f64::from(MipBlock::EDGE) * f64::from(1u32 << level);
        let splits = |edge: f64| (self.detail * edge).max(self.near);
        let end = splits(2.0 * edge);
        // Nothing is merged into blocks of mip 0.
        let start = match level {
            0 => splits(edge),
            // A viewer may have gone on as far again when the block is merged.
            _ => splits(edge) * (1.0 + self.hysteresis) + 2.0 * ahead(edge) + 3f64.sqrt() * edge,
        };
        [start.min(end * 0.999) as f32, end as f32]
    }

    /// How far a vertex is on its way: 0 at its place, 1 one level up. `level` is the mip of
    /// its block plus its [`steps`](crate::mesh::MorphTargets::steps).
    pub fn factor(&self, level: u8, distance_voxels: f32) -> f32 {
        let [start, end] = self.range_voxels(level);
        if distance_voxels >= end {
            return 1.0;
        }
        if distance_voxels > start { (distance_voxels - start) / (end - start) } else { 0.0 }
    }
}

#[cfg(test)]
mod tests {
    use super::super::pick::{LodViewer, Picker};
    use super::*;
    use proptest::prelude::*;

    fn distance(viewer: [f64; 3], point: [f64; 3]) -> f32 {
        let [x, y, z] = [0, 1, 2].map(|i| viewer[i] - point[i]);
        (x * x + y * y + z * z).sqrt() as f32
    }

    /// The first whole voxel on a way at which something holds; it must hold at its end.
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
        fn when_a_block_is_split_or_merged_its_parts_have_arrived_and_it_has_not_left(
            toward in prop::array::uniform3(-1.0..1.0f64),
            detail in 2.25..8.0f64,
            mip in 1..6u8,
            share in prop::array::uniform3(0.0..=1.0f64),
            gone_on in 0.0..6.9f64,
        ) {
            let block = MipBlock::new(mip, [0; 3]);
            let edge = f64::from(block.edge_voxels());
            let (hysteresis, near) = (0.1, 64.0);
            let length = toward.iter().map(|v| v * v).sum::<f64>().sqrt().max(1e-3);
            let at = |t: f64| toward.map(|v| 0.5 * edge + t * v / length);
            let picker = |t: f64| {
                let viewer = LodViewer { position_voxels: at(t), distance_voxels: 1e9 };
                Picker { viewers: vec![viewer], detail, hysteresis, near, looks_ahead: true }
            };
            let end = 20 * block.edge_voxels();
            // A choice is made anew after less than 8 voxels.
            let split = first(end, |t| !picker(t).splits(block, || false)) - 1.0 - gone_on;
            let merged = first(end, |t| picker(t).merges(block, || false)) + gone_on;
            prop_assert!(picker(split).splits(block, || false));
            let morph = Morph { detail, hysteresis, near, top: 9 };
            let point = share.map(|share| share * edge);
            for t in [split, merged] {
                prop_assert_eq!(morph.factor(mip, distance(at(t), point)), 0.0);
                prop_assert_eq!(morph.factor(mip - 1, distance(at(t), point)), 1.0);
            }
        }
    }

    #[test]
    fn the_way_is_even_and_the_coarsest_level_stays() {
        let morph = Morph { detail: 3.0, hysteresis: 0.1, near: 64.0, top: 2 };
        assert_eq!(morph.range_voxels(0), [96.0, 192.0]);
        let [start, end] = morph.range_voxels(1);
        assert!(start > 192.0 * 1.1 + 64.0 && start < end && end == 384.0);
        assert_eq!(morph.factor(0, 144.0), 0.5);
        assert_eq!((morph.factor(1, start), morph.factor(1, end)), (0.0, 1.0));
        assert_eq!(morph.factor(2, 1e30), 0.0);
    }

    #[test]
    fn without_room_for_a_way_vertices_jump() {
        let morph = Morph { detail: 1.0, hysteresis: 0.1, near: 500.0, top: 4 };
        let [start, end] = morph.range_voxels(1);
        assert_eq!((start, end), (499.5, 500.0));
        assert_eq!((morph.factor(1, 499.5), morph.factor(1, 500.0)), (0.0, 1.0));
    }
}
