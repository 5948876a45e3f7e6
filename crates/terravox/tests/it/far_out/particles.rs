//! Effects over the ground: positions are f32, metres from the effect origin.

use super::scene::{EDGE, config, corner, grid, ground, point_at};
use proptest::prelude::*;
use terravox::particles::{
    CachedPlane, CollisionPlane, Effect, EffectOptions, Emitter, PlaneCache, PlaneSource,
};
use terravox::terrain::{Placement, Terrain};
use terravox::voxel::{UnlistedChunks, VoxelPos};

/// Heights above the scene's corner of particles that fell for two seconds, metres.
fn fallen(seed: u8, at: VoxelPos, size: f64) -> Vec<f32> {
    let placement = Placement { voxel_size_m: size, origin_m: [0.0; 3] };
    let mut terrain = Terrain::from_grid(grid(seed, at, UnlistedChunks::Air), placement);
    terrain.set_effect_origin(placement.world_from_voxel(point_at([0.0; 3], at)));
    let options = EffectOptions {
        lifetime_s: None,
        planes: PlaneSource::Rays { per_update: 1000.0, planes: 2 },
        restitution: 0.0,
        friction: 1.0,
        ..EffectOptions::default()
    };
    let mut effects = [Effect::new(options)];
    for (x, z) in (0..8).flat_map(|x| (0..8).map(move |z| (x, z))) {
        let column = [f64::from(x) * 7.0 + 4.25, f64::from(z) * 7.0 + 3.75];
        let top =
            (0..64).rev().map(f64::from).find(|&y| ground(seed, [column[0], y, column[1]]) > 0.0);
        let from = [column[0], top.unwrap_or(0.0) + 6.0, column[1]].map(|v| (v * size) as f32);
        effects[0].emit(from, [0.0; 3]);
    }
    for _ in 0..120 {
        terrain.update_effects(&mut effects, 1.0 / 60.0);
    }
    effects[0].positions()[1].to_vec()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 6, ..config() })]

    #[test]
    fn particles_fall_as_at_the_origin(
        seed: u8, at in corner(EDGE), size in prop::sample::select(vec![0.25, 1.0, 1.12]),
    ) {
        let (near, far) = (fallen(seed, VoxelPos::ZERO, size), fallen(seed, at, size));
        prop_assert_eq!(near.len(), far.len());
        // Rounding may let a particle slip off another edge.
        let same = near.iter().zip(&far).filter(|(a, b)| (*a - *b).abs() < 0.02).count();
        prop_assert!(same + 3 >= near.len(), "{} of {}", same, near.len());
    }
}

#[test]
fn values_beyond_all_grids_are_refused_or_lost_but_nothing_else_moves() {
    for value in [1e9f32, 1e30, f32::MAX, f32::INFINITY, f32::NAN] {
        let mut effect =
            Effect::new(EffectOptions { kill_below_m: -1e30, ..EffectOptions::default() });
        effect.emit([value, 0.0, 0.0], [0.0, value, 0.0]);
        effect.burst(&Emitter::at([value; 3]), 5);
        effect.emit([0.0; 3], [0.0; 3]);
        let mut cache = PlaneCache::default();
        effect.update(0.1, &mut cache, |_| None);
        let plane = CollisionPlane::through([value; 3], [0.0, 1.0, 0.0]);
        let hit = CachedPlane { plane, point_m: [value; 3] };
        cache.insert([value; 3], [0.0, -1.0, 0.0], hit);
        let known = cache.look_up([value; 3], [0.0, -1.0, 0.0]);
        assert!(known.is_none_or(|known| known == hit));
        effect.invalidate([value; 3], [value; 3]);
        cache.invalidate([-value; 3], [value; 3]);
        let heights = effect.positions()[1];
        assert!(heights.iter().any(|y| *y <= 0.0 && *y > -1.0), "{heights:?}");
    }
}

#[test]
fn planes_have_the_distance_of_the_plane_along_the_normal() {
    let plane = CollisionPlane::through([5.0, 3.0, -2.0], [0.0, 1.0, 0.0]);
    assert_eq!(plane.offset_m, 3.0);
    assert_eq!(plane.distance_m([7.0, 4.5, 1.0]), 1.5);
    assert_eq!(plane.distance_m([7.0, 1.0, 1.0]), -2.0);
}
