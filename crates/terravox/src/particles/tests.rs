//! Comparison with the slow twins, and each rule by itself.

use super::cache::CacheKey;
use super::columns::LANES;
use super::step::{BlockEvent, StepParams, step};
use super::*;
use crate::math::lanes::InstructionSet;
use glam::Vec3;
use proptest::prelude::*;
use std::collections::HashMap;

const STEP: f32 = 1.0 / 60.0;
const UP: [f32; 3] = [0.0, 1.0, 0.0];

fn no_rays(_: &ParticleRay) -> Option<ParticleHit> {
    None
}

/// Returns the rays of a world whose ground is the union of the insides of some planes.
fn inside_any(planes: &[CollisionPlane]) -> impl Fn(&ParticleRay) -> Option<ParticleHit> + '_ {
    move |ray| {
        let (origin, direction) = (Vec3::from(ray.origin_m), Vec3::from(ray.direction));
        let on_boundary = |plane: &CollisionPlane| {
            let t = -plane.distance_m(origin) / Vec3::from(plane.normal).dot(direction);
            let point = origin + t * direction;
            let is_exposed =
                planes.iter().all(|other| other == plane || other.distance_m(point) >= 0.0);
            ((0.0..=ray.length_m).contains(&t) && is_exposed).then_some((t, point, plane.normal))
        };
        let first = planes.iter().filter_map(on_boundary).min_by(|a, b| a.0.total_cmp(&b.0));
        first.map(|(_, point, normal)| ParticleHit {
            point_m: point.to_array(),
            normal,
            is_moving: false,
        })
    }
}

fn rays(per_update: f32, planes: u8) -> PlaneSource {
    PlaneSource::Rays { per_update, planes }
}

prop_compose! {
    fn any_plane()(x in -1.0f32..1.0, y in -1.0f32..1.0, z in -1.0f32..1.0, offset in -2.0f32..2.0)
    -> CollisionPlane {
        let normal = Vec3::new(x, y, z).try_normalize().unwrap_or(Vec3::Y);
        CollisionPlane { normal: normal.to_array(), offset_m: offset }
    }
}

prop_compose! {
    fn any_step()(
        seconds in prop_oneof![Just(STEP), 0.001f32..0.5],
        gravity_speed in prop_oneof![Just([0.0, -0.1635, 0.0]), Just([0.0; 3])],
        speed_kept in prop_oneof![Just(1.0f32), 0.5f32..1.0],
        restitution in 0.0f32..=1.0,
        friction in prop_oneof![Just(0.0f32), 0.0f32..2.0],
        rest_speed in prop_oneof![Just(0.0f32), 0.0f32..1.0],
        kill_below in prop_oneof![Just(f32::NEG_INFINITY), -3.0f32..0.0],
        fixed in proptest::option::of(any_plane()),
    ) -> StepParams {
        let clock = 1.0;
        StepParams { seconds, gravity_speed, speed_kept, restitution, friction, rest_speed, kill_below, clock, fixed }
    }
}

/// Returns columns of particles, each with its own planes, death and look-up time.
fn columns_of(
    slots: usize,
    particles: &[([f32; 3], [f32; 3], CollisionPlane, f32)],
) -> columns::ParticleColumns {
    let mut columns = columns::ParticleColumns::new(slots, true);
    for (at, (position, velocity, plane, time)) in particles.iter().enumerate() {
        columns.push(Vec3::from(*position), Vec3::from(*velocity), *time);
        for slot in 0..slots {
            let mut turned = *plane;
            turned.normal.rotate_right(slot);
            columns.set_plane(slot, at, turned, false);
        }
        if slots > 0 {
            columns.look_up_times.set(at, 2.0 - time);
        }
    }
    columns
}

proptest! {
    #[test]
    fn eight_at_a_time_equals_one_at_a_time(
        same in any_step(),
        slots in 0usize..=3,
        particles in proptest::collection::vec(
            (
                prop_oneof![[-2.0f32..2.0, -2.0f32..2.0, -2.0f32..2.0],
                    Just([0.0, f32::INFINITY, 0.0]), Just([9e8, 0.0, 9e8])],
                [-3.0f32..3.0, -3.0f32..3.0, -3.0f32..3.0],
                any_plane(),
                0.0f32..2.0,
            ), 1..40),
    ) {
        let same = if slots > 0 { StepParams { fixed: None, ..same } } else { same };
        let before = columns_of(slots, &particles);
        for instructions in [InstructionSet::Plain, InstructionSet::widest()] {
            let (mut after, mut events) = (before.clone(), Vec::new());
            step(&mut after, &same, 0..particles.len().div_ceil(LANES), instructions, &mut events);
            for at in 0..particles.len() {
                let mut naive = naive::particle(&before, at);
                let result = naive::step(&mut naive, &same);
                let same_bits = |a: Vec3, b: Vec3| (0..3).all(|i| {
                    // Only the sign of zero may differ.
                    a[i] == b[i] || a[i].to_bits() == b[i].to_bits() || a[i].is_nan() && b[i].is_nan()
                });
                prop_assert!(same_bits(naive.position, after.position(at)), "{instructions:?} {naive:?}");
                prop_assert!(same_bits(naive.velocity, after.velocity(at)), "{instructions:?} {naive:?}");
                let event = events.iter().find(|event| event.block == at / LANES);
                let bit = |of: fn(&BlockEvent) -> u8| event.is_some_and(|e| of(e) >> (at % LANES) & 1 == 1);
                let found = naive::StepResult {
                    bounced: bit(|e| e.bounced),
                    awake: bit(|e| e.awake),
                    dead: bit(|e| e.dead),
                };
                prop_assert_eq!(found, result);
            }
            let unused = events.last().filter(|e| e.block == particles.len() / LANES);
            let bits = unused.map_or(0, |e| e.bounced | e.awake | e.dead);
            prop_assert_eq!(u32::from(bits) >> (particles.len() % LANES), 0, "events of unused lanes");
        }
    }

    #[test]
    fn simd_and_portable_effects_are_bit_identical(
        seed in any::<u64>(), per_update in 0.0f32..20.0, planes in 1u8..=3, count in 1usize..60,
    ) {
        let ground = [CollisionPlane::through([0.0; 3], UP),
            CollisionPlane::through([2.0, 0.0, 0.0], [-0.8, 0.6, 0.0])];
        let options = EffectOptions {
            seed,
            planes: rays(per_update, planes),
            lifetime_s: Some([0.3, 1.5]),
            drag: 0.3,
            ..EffectOptions::default()
        };
        let run = |mut effect: Effect| {
            let mut cache = PlaneCache::default();
            for frame in 0..60 {
                if frame % 20 == 0 {
                    effect.burst(&Emitter::at([0.0, 0.5, 0.0]), count);
                }
                effect.update(STEP, &mut cache, inside_any(&ground));
            }
            let bits = effect.positions().map(|axis| axis.iter().map(|v| v.to_bits()).collect::<Vec<_>>());
            (bits, effect.stats(), cache.len())
        };
        prop_assert_eq!(run(Effect::new(options)), run(Effect::portable(options)));
    }

    #[test]
    fn the_cache_equals_its_slow_twin(
        capacity in 0usize..12,
        writes in proptest::collection::vec(([-3i32..3, -2i32..2, -3i32..3], 0u8..6, any_plane(), 0u8..8), 1..80),
    ) {
        let bytes = capacity * 80;
        let mut cache = PlaneCache::new(PlaneCacheOptions { max_bytes: bytes, ..Default::default() });
        prop_assert_eq!(cache.capacity(), capacity);
        let mut naive = naive::NaiveCache { capacity, planes: HashMap::new(), order: Default::default() };
        for (cell, direction, plane, what) in writes {
            let key = CacheKey { cell, direction, level: 0 };
            let point_m = [cell[0] as f32 + 3.0, 0.5, cell[2] as f32];
            if what == 0 {
                let (min, max) = ([-1.0, -1.0, -1.0], [0.25, 0.25, 0.25]);
                cache.invalidate(min, max);
                naive.invalidate(|key, found| (0..3).all(|i| {
                    let size = [0.5, 2.0, 0.5][i];
                    let cell = key.cell[i] as f32 * size;
                    found.point_m[i].min(cell) <= max[i] && found.point_m[i].max(cell + size) >= min[i]
                }));
            }
            cache.put(key, CachedPlane { plane, point_m });
            naive.put(key, CachedPlane { plane, point_m });
            prop_assert!(cache.bytes() <= bytes);
            prop_assert_eq!(cache.len(), naive.planes.len());
            for key in naive.order.iter().flatten() {
                prop_assert_eq!(cache.get(key), naive.planes.get(key).copied());
            }
        }
        cache.clear();
        prop_assert!(cache.is_empty() && naive.order.iter().flatten().all(|key| cache.get(key).is_none()));
    }
}

#[test]
fn cells_are_floored_on_both_sides_of_the_origin() {
    let cache = PlaneCache::default();
    let cell = |p: [f32; 3]| cache.key(p.into(), Some(3), 0).unwrap().cell;
    assert_eq!(cell([0.1, 0.1, 0.6]), [0, 0, 1]);
    assert_eq!(cell([-0.1, -0.1, -0.6]), [-1, -1, -2]);
    assert_eq!(cell([-0.5, -2.0, 0.5]), [-1, -1, 1]);
    let directions = [[1.0, 0.5, 0.5], [-1.0, 0.5, 0.5], [0.5, 1.0, 0.5], [0.5, -1.0, 0.5]];
    let rest = [[0.5, 0.5, 1.0], [0.5, 0.5, -1.0]];
    let number = |d: &[f32; 3]| cache::direction_of(*d).unwrap();
    let numbers: Vec<u8> = directions.iter().chain(&rest).map(number).collect();
    assert_eq!(numbers, [0, 1, 2, 3, 4, 5]);
    assert_eq!(cache::direction_of([0.0; 3]), None);
    assert!(cache.key(Vec3::new(f32::NAN, 0.0, 0.0), Some(2), 0).is_none());
    assert_eq!(cache::direction_of([f32::NAN, 0.0, 0.0]), None);
}

#[test]
fn rays_respect_the_budget_and_are_distributed_evenly() {
    let options = EffectOptions { gravity: [0.0; 3], planes: rays(0.25, 1), ..Default::default() };
    let mut effect = Effect::new(options);
    for at in 0..10 {
        effect.emit([at as f32 * 1000.0, 0.0, 0.0], [0.0, 0.0, 1.0]);
    }
    let (mut cache, mut picked) = (PlaneCache::default(), [0; 10]);
    for _ in 0..16_000 {
        effect.update(1e-4, &mut cache, |ray| {
            picked[(ray.origin_m[0] / 1000.0).round() as usize] += 1;
            let point_m = [ray.origin_m[0], -5.0, ray.origin_m[2]];
            Some(ParticleHit { point_m, normal: UP, is_moving: false })
        });
    }
    assert_eq!(picked.iter().sum::<i32>(), 4000);
    assert_eq!(effect.stats().rays, 4000);
    // Five standard deviations.
    assert!(picked.iter().all(|count| (305..495).contains(count)), "{picked:?}");
}

#[test]
fn one_ray_serves_particles_on_the_same_path() {
    let floor = [CollisionPlane::through([0.0; 3], UP)];
    let mut cache = PlaneCache::default();
    let fall = |effect: &mut Effect, cache: &mut PlaneCache, per_update: f32| {
        let asked = std::cell::Cell::new(0);
        for _ in 0..60 {
            effect.update(STEP, cache, |ray| {
                asked.set(asked.get() + 1);
                inside_any(&floor)(ray)
            });
        }
        assert!(per_update > 0.0 || asked.get() == 0);
    };
    let drop = |per_update: f32| {
        let options = EffectOptions { planes: rays(per_update, 1), ..Default::default() };
        let mut effect = Effect::new(options);
        effect.burst(
            &Emitter { radius_m: 0.2, speed_m_s: [0.0; 2], ..Emitter::at([0.25, 1.0, 0.25]) },
            40,
        );
        effect
    };
    let low = |effect: &Effect| effect.positions()[1].iter().filter(|y| **y < -0.01).count();
    let mut without = drop(0.0);
    fall(&mut without, &mut PlaneCache::default(), 0.0);
    assert_eq!(low(&without), 40, "the floor is unknown");
    let mut one = drop(1.0);
    fall(&mut one, &mut cache, 1.0);
    assert_eq!(low(&one), 0);
    let mut later = drop(0.0);
    fall(&mut later, &mut cache, 0.0);
    assert_eq!(low(&later), 0, "what the first found, the others use");
    cache.invalidate([-1.0; 3], [1.0; 3]);
    let mut too_late = drop(0.0);
    fall(&mut too_late, &mut cache, 0.0);
    assert_eq!(low(&too_late), 40, "an edit takes it away");
}

#[test]
fn casings_rest_in_a_groove_and_in_a_corner() {
    let v = [Vec3::new(0.7, 0.6, 0.0), Vec3::new(-0.5, 0.9, 0.1)];
    let corner = [Vec3::new(0.7, 0.6, 0.3), Vec3::new(-0.5, 0.9, 0.2), Vec3::new(0.1, 0.6, -0.9)];
    for normals in [&v[..], &corner] {
        let through_0 = |n: &Vec3| CollisionPlane::through([0.0; 3], n.normalize());
        let planes: Vec<CollisionPlane> = normals.iter().map(through_0).collect();
        let options = EffectOptions { lifetime_s: None, ..EffectOptions::shell_casings() };
        let mut effect = Effect::new(options);
        let emitter =
            Emitter { radius_m: 0.3, speed_m_s: [0.0, 1.0], ..Emitter::at([0.0, 1.0, 0.0]) };
        effect.burst(&emitter, 20);
        let mut cache = PlaneCache::default();
        for _ in 0..600 {
            effect.update(STEP, &mut cache, inside_any(&planes));
        }
        for at in 0..20 {
            let point = effect.columns.position(at);
            let off = planes.iter().map(|plane| plane.distance_m(point)).fold(f32::MAX, f32::min);
            let speed = effect.columns.velocity(at).length();
            assert!(off.abs() < 0.01 && speed < 0.05, "{point} {off} m off, {speed} m/s");
        }
    }
}

#[test]
fn particles_die_of_age_depth_and_distance() {
    let options = EffectOptions {
        lifetime_s: Some([0.5, 0.5]),
        kill_below_m: -1.0,
        planes: PlaneSource::None,
        ..Default::default()
    };
    let mut effect = Effect::new(options);
    effect.emit([0.0; 3], [0.0; 3]);
    effect.emit([0.0, -0.99, 0.0], [0.0, -10.0, 0.0]);
    effect.emit([0.0; 3], [0.0, 1e12, 0.0]);
    let mut cache = PlaneCache::default();
    effect.update(STEP, &mut cache, no_rays);
    assert_eq!((effect.len(), effect.stats().died), (1, 2));
    let left = effect.seconds_left().unwrap().next().unwrap();
    assert!((left - (0.5 - STEP)).abs() < 1e-6);
    (0..30).for_each(|_| effect.update(STEP, &mut cache, no_rays));
    assert!(effect.is_empty());
}

#[test]
fn setting_the_clock_back_changes_nothing() {
    let options = EffectOptions {
        lifetime_s: Some([1500.0; 2]),
        gravity: [0.0; 3],
        planes: rays(0.0, 1),
        ..Default::default()
    };
    let mut effect = Effect::new(options);
    effect.emit([0.0; 3], [0.0; 3]);
    let mut cache = PlaneCache::default();
    (0..1499).for_each(|_| effect.update(1.0, &mut cache, no_rays));
    assert_eq!(effect.len(), 1);
    assert!(effect.clock < 1100.0);
    (0..3).for_each(|_| effect.update(1.0, &mut cache, no_rays));
    assert!(effect.is_empty());
}

#[test]
fn fixed_planes_and_no_planes_use_no_memory_and_no_rays() {
    for planes in [PlaneSource::None, PlaneSource::Fixed(CollisionPlane::through([0.0; 3], UP))] {
        let mut effect = Effect::new(EffectOptions { planes, ..Default::default() });
        effect.burst(&Emitter::at([0.0, 1.0, 0.0]), 30);
        for _ in 0..200 {
            effect.update(STEP, &mut PlaneCache::default(), |_| panic!("no ray is cast"));
        }
        assert!(effect.columns.planes.is_empty() && effect.columns.ends.is_none());
        assert!(effect.columns.look_up_times.0.is_empty() && effect.columns.moving.is_empty());
        let low = effect.positions()[1].iter().filter(|y| **y < -1e-4).count();
        assert_eq!(low, if planes == PlaneSource::None { 30 } else { 0 });
    }
}

#[test]
fn invalid_input_emits_nothing_and_is_counted() {
    let mut effect = Effect::new(EffectOptions { max_particles: 100, ..Default::default() });
    let good = Emitter::at([0.0; 3]);
    let nowhere = Spread::Cone { direction: [0.0; 3], radius_at_1_m: 1.0 };
    let bad = [
        Emitter::at([f32::NAN, 0.0, 0.0]),
        Emitter { speed_m_s: [0.0, f32::INFINITY], ..good },
        Emitter { velocity_m_s: [1e30; 3], ..good },
        Emitter { spread: nowhere, ..good },
        Emitter { spread: Spread::Hemisphere { normal: [f32::NAN; 3] }, ..good },
    ];
    bad.iter().for_each(|emitter| effect.burst(emitter, 10));
    effect.stream(&good, f32::NAN, 1.0);
    effect.stream(&good, -1.0, 1.0);
    effect.emit([0.0; 3], [f32::NAN; 3]);
    effect.update(f32::NAN, &mut PlaneCache::default(), no_rays);
    effect.update(-1.0, &mut PlaneCache::default(), no_rays);
    assert_eq!((effect.len(), effect.stats().refused), (0, 10));
    effect.burst(&good, usize::MAX);
    assert_eq!((effect.len(), effect.stats().dropped), (100, usize::MAX as u64 - 100));
    effect.stream(&good, f32::MAX, 1.0);
    assert_eq!(effect.len(), 100);
}

#[test]
fn non_finite_hits_are_ignored() {
    let mut effect = Effect::new(EffectOptions { planes: rays(10.0, 1), ..Default::default() });
    effect.burst(&Emitter::at([0.0; 3]), 10);
    let mut cache = PlaneCache::default();
    for bad in [f32::NAN, f32::INFINITY, 0.0, 7.0] {
        let hit = ParticleHit { point_m: [0.0; 3], normal: [0.0, bad, 0.0], is_moving: false };
        effect.update(STEP, &mut cache, |_| Some(hit));
    }
    effect.update(f32::INFINITY, &mut cache, no_rays);
    assert!(cache.is_empty());
    assert!(effect.positions().iter().flat_map(|axis| axis.iter()).all(|v| v.is_finite()));
    assert_eq!(effect.stats().hits, 0);
}

#[test]
fn fractions_of_a_stream_accumulate() {
    let mut effect = Effect::new(EffectOptions::rain());
    let rain = Emitter::rain([0.0, 10.0, 0.0], 4.0);
    (0..90).for_each(|_| effect.stream(&rain, 100.0, 1.0 / 300.0));
    assert_eq!(effect.len(), 30);
    assert!(effect.velocities()[1].iter().all(|v| (-9.01..-7.9).contains(v)));
}

#[test]
fn cones_and_hemispheres_limit_directions() {
    let mut effect = Effect::new(EffectOptions { planes: PlaneSource::None, ..Default::default() });
    let direction = [3.0, 4.0, 0.0];
    effect.burst(&Emitter::sparks([0.0; 3], direction), 500);
    let velocity = |at: usize| effect.columns.velocity(at);
    let axis = Vec3::new(0.6, 0.8, 0.0);
    for at in 0..500 {
        let (along, speed) = (velocity(at).dot(axis), velocity(at).length());
        assert!((2.999..8.001).contains(&speed));
        assert!((velocity(at) - along * axis).length() <= 0.9001 * along);
    }
    let mut effect = Effect::new(EffectOptions { planes: PlaneSource::None, ..Default::default() });
    effect.burst(&Emitter::debris([0.0; 3], direction, 2.0), 500);
    for at in 0..500 {
        assert!(effect.columns.velocity(at).dot(axis) >= 0.0);
        assert!(effect.columns.position(at).length() <= 2.0);
    }
}

#[test]
#[should_panic(expected = "planes is 4; it must be 1 to 3")]
fn more_than_three_planes_panic() {
    Effect::new(EffectOptions { planes: rays(1.0, 4), ..Default::default() });
}

#[test]
fn a_cell_keeps_the_nearest_hit() {
    let mut cache = PlaneCache::default();
    let found = |x: f32| CachedPlane {
        plane: CollisionPlane::through([x, 0.0, 0.25], [0.0, 1.0, 0.0]),
        point_m: [x, 0.0, 0.25],
    };
    let (at, down) = ([0.25, 0.1, 0.25], [0.0, -1.0, 0.0]);
    for (x, kept) in [(3.0, 3.0), (1.0, 1.0), (2.0, 1.0), (0.1, 0.1), (0.4, 0.4), (0.6, 0.4)] {
        cache.insert(at, down, found(x));
        assert_eq!(cache.look_up(at, down), Some(found(kept)), "after {x}");
    }
}

/// Rays of a floor at height 0.
fn level(ray: &ParticleRay) -> Option<ParticleHit> {
    let distance = -ray.origin_m[1] / ray.direction[1];
    let point_m = [0, 1, 2].map(|i| ray.origin_m[i] + distance * ray.direction[i]);
    let hit = ParticleHit { point_m, normal: [0.0, 1.0, 0.0], is_moving: false };
    (0.0..ray.length_m).contains(&distance).then_some(hit)
}

#[test]
fn rays_go_to_particles_without_planes() {
    // Half of them rest on a known floor; the others fall without a plane.
    let options = EffectOptions {
        planes: PlaneSource::Rays { per_update: 100.0, planes: 1 },
        ..EffectOptions::default()
    };
    let mut effect = Effect::new(options);
    let mut cache = PlaneCache::default();
    (0..100).for_each(|i| effect.emit([i as f32, 0.01, 0.0], [0.0; 3]));
    for _ in 0..60 {
        effect.update(1.0 / 60.0, &mut cache, level);
    }
    (0..100).for_each(|i| effect.emit([50.0 * i as f32, 30.0, 900.0], [0.0; 3]));
    let before = effect.stats();
    effect.update(1.0 / 60.0, &mut cache, level);
    let told = (100..200).filter(|&i| effect.planes(i).next().is_some()).count();
    let rays = effect.stats().rays - before.rays;
    assert!(rays <= 110 && told >= 35, "{told} told by {rays} rays");
}

/// Returns the distance of a point from a floor at height 0 with balls on it.
fn off_balls(point: Vec3) -> f32 {
    BALLS.iter().map(|(at, r)| (point - *at).length() - r).fold(point.y, f32::min)
}

const BALLS: [(Vec3, f32); 5] = [
    (Vec3::new(0.0, 0.3, 0.0), 0.9),
    (Vec3::new(1.2, -0.2, 0.4), 1.0),
    (Vec3::new(-0.4, 0.9, 1.0), 0.6),
    (Vec3::new(-1.3, 0.2, -0.2), 0.7),
    (Vec3::new(0.3, -0.5, -1.6), 1.3),
];

/// Rays of the floor and the balls: crests, and creases between them.
fn balls(ray: &ParticleRay) -> Option<ParticleHit> {
    let (origin, direction) = (Vec3::from(ray.origin_m), Vec3::from(ray.direction));
    let mut crossings = vec![(-origin.y / direction.y, Vec3::Y)];
    for (at, radius) in BALLS {
        let (to, along) = (origin - at, (origin - at).dot(direction));
        let square = along * along - to.length_squared() + radius * radius;
        for t in [-along - square.sqrt(), -along + square.sqrt()] {
            crossings.push((t, (to + t * direction) / radius));
        }
    }
    let seen = |(t, _): &(f32, Vec3)| {
        (0.0..=ray.length_m).contains(t) && off_balls(origin + *t * direction) > -1e-3
    };
    let (t, normal) = crossings.into_iter().filter(seen).min_by(|a, b| a.0.total_cmp(&b.0))?;
    let point_m = (origin + t * direction).to_array();
    Some(ParticleHit { point_m, normal: normal.normalize().to_array(), is_moving: false })
}

#[test]
fn traced_particles_never_pass_through_the_ground() {
    for (planes, seed) in (1..=3).flat_map(|planes| (0..60).map(move |seed| (planes, seed))) {
        let options =
            EffectOptions { seed, planes: rays(2.0, planes), ..EffectOptions::shell_casings() };
        let mut effect = Effect::new(options);
        let from = Emitter { radius_m: 1.5, speed_m_s: [0.0, 6.0], ..Emitter::at([0.0, 3.2, 0.0]) };
        effect.burst(&from, 2);
        let mut cache = PlaneCache::default();
        for update in 0..300 {
            effect.update(STEP, &mut cache, balls);
            for at in 0..2 {
                let point = effect.columns.position(at);
                assert!(off_balls(point) > -0.02, "{planes} {seed}: {point} in update {update}");
            }
        }
        assert!(effect.stats().rays < 3 * 600, "{} rays", effect.stats().rays);
    }
}

#[test]
fn batched_look_ups_equal_single_ones() {
    for planes in 1..=3 {
        let options = EffectOptions { planes: rays(40.0, planes), ..Default::default() };
        let mut effect = Effect::new(options);
        let from = Emitter { radius_m: 4.0, ..Emitter::at([0.0, 5.0, 0.0]) };
        let mut cache = PlaneCache::default();
        effect.burst(&from, 100);
        (0..40).for_each(|_| effect.update(STEP, &mut cache, balls));
        effect.burst(&from, 100);
        let mut single = effect.clone();
        effect.lookers = (0..200).collect();
        effect.look_up_all(&cache);
        (0..200).for_each(|particle| single.look_up(particle, &cache));
        let all = |effect: &Effect| {
            let planes = |at| effect.planes(at).collect::<Vec<_>>();
            let look_up_times =
                (0..200).map(|at| effect.columns.look_up_times.get(at)).collect::<Vec<_>>();
            ((0..200).map(planes).collect::<Vec<_>>(), look_up_times)
        };
        assert_eq!(all(&effect), all(&single));
        assert!((100..200).any(|at| effect.planes(at).next().is_some()));
    }
}

#[test]
fn may_know_is_true_wherever_there_is_an_entry() {
    let places = (0..200).map(|at| Vec3::new(7.3 * at as f32, 1.0, -3.1 * at as f32));
    let down = [0.3, -1.0, 0.0];
    for (capacity, told) in [(10_000, 200..201), (100, 50..201)] {
        let options = PlaneCacheOptions { max_bytes: 80 * capacity, ..Default::default() };
        let mut cache = PlaneCache::new(options);
        let count = |cache: &PlaneCache| places.clone().filter(|p| cache.may_know(*p)).count();
        assert_eq!(count(&cache), 0);
        for (at, place) in places.clone().enumerate() {
            let plane = CollisionPlane::through(place, UP);
            cache.insert(place, down, CachedPlane { plane, point_m: place.into() });
            let known = |place: &Vec3| cache.look_up_coarse(*place, down).is_some();
            assert!(places.clone().filter(known).all(|place| cache.may_know(place)));
            assert!(at != 20 || capacity < 200 || count(&cache) < 50, "{}", count(&cache));
        }
        assert!(told.contains(&count(&cache)), "{} of {capacity}", count(&cache));
        cache.invalidate([-1e6; 3], [1e6; 3]);
        assert!(cache.is_empty() && count(&cache) == 0);
    }
}
