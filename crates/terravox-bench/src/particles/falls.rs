//! Share of particles that fall through real ground, by the number of rays.

use terravox::particles::{Effect, EffectOptions, Emitter, PlaneCache, PlaneSource};

use super::ground::{FallCounts, Ground, STEP_S};
use crate::report::{AreaReport, ReportRow, detail};
use crate::worlds::places;
use crate::worlds::random::Rng;

/// Particles of the large effect, all places together.
const MANY: usize = 100_000;

/// Particles of a burst.
const BURST: usize = 1000;

/// Bursts of a place.
const BURSTS: usize = 10;

/// Runs of a single particle, all places together.
const ALONE: usize = 10_000;

/// Updates, after which all particles rest or have fallen.
const UPDATES: usize = 300;

/// Updates between checks for particles inside the ground.
const UPDATES_PER_CHECK: usize = 6;

/// Measures the shares that fell through: of a large effect, bursts and single particles.
pub fn run(report: &mut AreaReport) {
    let worlds = match places::all() {
        Ok(worlds) => worlds,
        Err(why) => {
            for id in [
                "particles_fell_through",
                "burst_fell_through_cold",
                "burst_fell_through_warm",
                "single_particle_fell_through",
            ] {
                report.not_measured(id, why.clone());
            }
            return;
        }
    };
    let (mut many, mut cold, mut warm, mut alone) = (0.0, 0.0, 0.0, 0);
    let (mut rows, count) = (Vec::new(), worlds.len());
    for world in &worlds {
        let ground = Ground::new(world);
        let own_many = fall_many(&ground, MANY / count);
        let [own_cold, own_warm] = fall_in_bursts(&ground);
        let own_alone = fall_alone(&ground, ALONE.div_ceil(count));
        let note = format!("bursts {own_cold:.3} cold, {own_warm:.4} warm; alone {own_alone}");
        rows.push(detail(world.name, own_many, "share").note(note));
        many += own_many / count as f64;
        cold += own_cold / count as f64;
        warm += own_warm / count as f64;
        alone += own_alone;
    }
    report.set(
        "particles_fell_through",
        many,
        "deeper than 0.25 m inside at some time in 5 s; debris, three planes each, a ray each 100 updates",
    );
    report.set("burst_fell_through_cold", cold, "1000 debris, one ray an update, empty cache");
    report.set("burst_fell_through_warm", warm, "another burst from the same place, same cache");
    report.set(
        "single_particle_fell_through",
        alone as f64,
        "10,000 casings with three planes, one at a time, a ray each update",
    );
    let rays: Vec<ReportRow> = [1000.0, 300.0, 100.0, 30.0, 10.0]
        .into_iter()
        .map(|updates| {
            let share = fall_with(&Ground::new(&worlds[count - 1]), 10_000, 1.0 / updates);
            detail(format!("a ray each {updates} updates"), share, "share")
        })
        .collect();
    report.details("particles that fell through, by place", rows);
    report.details(format!("particles that fell through, {}", worlds[count - 1].name), rays);
}

fn debris(per_update: f32, seed: u64) -> Effect {
    Effect::new(EffectOptions {
        seed,
        max_particles: MANY,
        lifetime_s: None,
        planes: PlaneSource::Rays { per_update, planes: 3 },
        ..EffectOptions::debris()
    })
}

/// Runs an effect; returns the number of particles that fell through.
fn run_effect(ground: &Ground, effect: &mut Effect, cache: &mut PlaneCache) -> usize {
    let mut fallen = FallCounts::default();
    for update in 0..UPDATES {
        effect.update(STEP_S, cache, |ray| ground.ray(ray));
        if update % UPDATES_PER_CHECK == UPDATES_PER_CHECK - 1 {
            fallen.check(ground, effect);
        }
    }
    fallen.count()
}

fn fall_many(ground: &Ground, count: usize) -> f64 {
    fall_with(ground, count, 0.01)
}

/// Returns the share of debris that fell through, 100 from each spot, by rays per particle.
fn fall_with(ground: &Ground, count: usize, rays_each: f32) -> f64 {
    let mut rng = Rng::new(7);
    let mut effect = debris(rays_each * count as f32, 1);
    while effect.len() < count {
        let emitter = Emitter::debris(ground.free_spot(&mut rng), [0.0, 1.0, 0.0], 0.2);
        effect.burst(&emitter, 100.min(count - effect.len()));
    }
    let mut cache = PlaneCache::new(Default::default());
    run_effect(ground, &mut effect, &mut cache) as f64 / count as f64
}

/// Returns the shares that fell through of a burst with an empty cache, and of another with a
/// warm one.
fn fall_in_bursts(ground: &Ground) -> [f64; 2] {
    let mut rng = Rng::new(8);
    let mut shares = [0.0; 2];
    for burst in 0..BURSTS {
        let emitter = Emitter::debris(ground.free_spot(&mut rng), [0.0, 1.0, 0.0], 0.2);
        let mut cache = PlaneCache::default();
        for (run, share) in shares.iter_mut().enumerate() {
            let mut effect = debris(1.0, (2 * burst + run) as u64);
            effect.burst(&emitter, BURST);
            let fell = run_effect(ground, &mut effect, &mut cache);
            *share += fell as f64 / (BURST * BURSTS) as f64;
        }
    }
    shares
}

/// Returns the number of casings that fell through, each alone in the world.
fn fall_alone(ground: &Ground, runs: usize) -> usize {
    let mut rng = Rng::new(9);
    let mut fell = 0;
    let mut cache = PlaneCache::default();
    for run in 0..runs {
        let mut effect = Effect::new(EffectOptions {
            seed: run as u64,
            lifetime_s: None,
            planes: PlaneSource::Rays { per_update: 1.0, planes: 3 },
            ..EffectOptions::shell_casings()
        });
        let sideways = rng.direction().as_vec3().to_array();
        effect.burst(&Emitter::shell_casings(ground.free_spot(&mut rng), sideways), 1);
        cache.clear();
        fell += run_effect(ground, &mut effect, &mut cache);
    }
    fell
}
