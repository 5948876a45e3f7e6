//! The cache of collision planes that the effects of a world share. Edits drop its stale planes.

use super::placement::Placement;
use crate::mesh::edit_reach_voxels;
use crate::particles::{Effect, PlaneCache};
use crate::voxel::{ChangeCursor, Changes, VoxelGrid, VoxelPos};

pub(super) const EVERYWHERE: ([f32; 3], [f32; 3]) = ([f32::NEG_INFINITY; 3], [f32::INFINITY; 3]);

/// What the effects of a world share.
#[derive(Default)]
pub(super) struct EffectPlanes {
    pub cache: PlaneCache,
    cursor: ChangeCursor,
    /// The origin of the f32 positions of effects, world metres.
    pub origin_m: [f64; 3],
}

impl EffectPlanes {
    /// Moves the origin with the ground, so that nothing moves relative to it.
    pub fn shift(&mut self, by_m: [f64; 3]) {
        self.origin_m = [0, 1, 2].map(|i| self.origin_m[i] + by_m[i]);
    }

    /// Drops the planes of ground that was written since the last call, from the cache and from
    /// the effects.
    pub fn forget_edited(
        &mut self,
        grid: &VoxelGrid,
        placement: Placement,
        effects: &mut [Effect],
    ) {
        let reach = f64::from(edit_reach_voxels(0));
        let corner = |voxel: VoxelPos, by: f64| {
            let corner = placement.world_from_voxel(voxel.to_array().map(|v| f64::from(v) + by));
            [0, 1, 2].map(|i| (corner[i] - self.origin_m[i]) as f32)
        };
        let stale = match grid.changes_since(&mut self.cursor) {
            Changes::Everything => vec![EVERYWHERE],
            Changes::Regions(regions) => regions
                .into_iter()
                .map(|region| (corner(region.min, -reach), corner(region.max, reach)))
                .collect(),
        };
        for (min, max) in stale {
            self.cache.invalidate(min, max);
            effects.iter_mut().for_each(|effect| effect.invalidate(min, max));
        }
    }
}
