//! Particles per second, and compared with one ray per particle and update.

use glam::Vec3;
use terravox::particles::{
    CachedPlane, CollisionPlane, Effect, EffectOptions, Emitter, ParticleHit, ParticleRay,
    PlaneCache, PlaneSource,
};

use super::ground::{Ground, STEP_S};
use crate::harness::{Entrant, RoundBudget, contest, repeat};
use crate::report::{AreaReport, detail};
use crate::worlds::random::Rng;
use crate::worlds::{generated, places};

const MANY: usize = 100_000;

/// Measures `particles_per_s` and `particles_vs_ray_each`.
pub fn run(report: &mut AreaReport) {
    flight(report);
    let world = places::world("Caves").unwrap_or_else(|why| {
        eprintln!("the generated world instead: {why}");
        generated::world()
    });
    against_rays(report, &Ground::new(&world), world.name);
}

/// The code that moves particles.
#[derive(Clone, Copy, PartialEq)]
enum CodePath {
    Vector,
    Portable,
}

impl CodePath {
    fn effect(self, options: EffectOptions) -> Effect {
        match self {
            CodePath::Vector => Effect::new(options),
            CodePath::Portable => Effect::portable(options),
        }
    }
}

/// Particles high above their planes.
fn high(planes: PlaneSource, path: CodePath) -> Effect {
    let options = EffectOptions {
        max_particles: MANY,
        gravity: [0.0, -1e-3, 0.0],
        planes,
        ..EffectOptions::default()
    };
    let mut effect = path.effect(options);
    let start = [0.0, 1000.0, 0.0];
    effect.burst(&Emitter { speed_m_s: [0.0; 2], ..Emitter::at(start) }, MANY);
    // All find the plane far below in the cache.
    let mut cache = PlaneCache::default();
    let plane = CollisionPlane::through([0.0; 3], [0.0, 1.0, 0.0]);
    cache.insert(start, [0.0, -1.0, 0.0], CachedPlane { plane, point_m: [0.0; 3] });
    effect.update(1e-5, &mut cache, |_| None);
    if let PlaneSource::Rays { .. } = planes {
        assert!((0..MANY).all(|at| effect.planes(at).next().is_some()), "a plane each");
    }
    effect
}

/// Returns millions of updates per second of one kind.
fn rate(planes: PlaneSource, path: CodePath) -> f64 {
    let (mut effect, mut cache) = (high(planes, path), PlaneCache::default());
    let budget = RoundBudget { min_rounds: 30, max_rounds: 400, ..RoundBudget::seconds(1.0) };
    let update = |_| {
        effect.update(1e-5, &mut cache, |_| None);
        effect.len() as u64
    };
    let [timing] = contest(1, budget, [Entrant::new("update", update)]);
    MANY as f64 / timing.min / 1e6
}

fn flight(report: &mut AreaReport) {
    let rays = |planes| PlaneSource::Rays { per_update: 1.0, planes };
    let fixed = PlaneSource::Fixed(CollisionPlane::through([0.0; 3], [0.0, 1.0, 0.0]));
    let kinds = [("one plane each", rays(1)), ("three planes each", rays(3))];
    let kinds = kinds.into_iter().chain([("one for all", fixed), ("no plane", PlaneSource::None)]);
    let mut rows = Vec::new();
    for (name, planes) in kinds {
        let [wide, portable] =
            [CodePath::Vector, CodePath::Portable].map(|path| rate(planes, path));
        rows.push(detail(name, wide, "M/s").beside(portable).note("beside portable code"));
    }
    let bits_are_equal = are_bits_equal();
    report.set(
        "particles_per_s",
        if bits_are_equal { rows[0].value } else { f64::NAN },
        "100,000 in flight, one plane and one ray an update; vector and portable bits equal",
    );
    report.details("particles in flight, millions a second", rows);
}

/// Returns whether vector and portable code give the same bits over bounces.
fn are_bits_equal() -> bool {
    let run = |path: CodePath| {
        let options = EffectOptions { max_particles: MANY, ..EffectOptions::debris() };
        let mut effect = path.effect(options);
        effect.burst(&Emitter { radius_m: 5.0, ..Emitter::at([0.0, 6.0, 0.0]) }, 20_000);
        let mut cache = PlaneCache::default();
        for _ in 0..400 {
            effect.update(STEP_S, &mut cache, |ray: &ParticleRay| {
                let distance = -ray.origin_m[1] / ray.direction[1];
                let point = Vec3::from(ray.origin_m) + distance * Vec3::from(ray.direction);
                let (point_m, normal) = (point.to_array(), [0.0, 1.0, 0.0]);
                let hit = ParticleHit { point_m, normal, is_moving: false };
                (0.0..ray.length_m).contains(&distance).then_some(hit)
            });
        }
        effect.positions().map(|axis| axis.iter().map(|v| v.to_bits()).collect::<Vec<_>>())
    };
    run(CodePath::Vector) == run(CodePath::Portable)
}

/// Debris in its first second, compared with one ray per particle.
fn against_rays(report: &mut AreaReport, ground: &Ground, name: &str) {
    const UPDATES: usize = 60;
    let mut rows = Vec::new();
    for rays in [100.0, 1000.0, 10.0] {
        let mut rng = Rng::new(4);
        let mut effect = Effect::new(EffectOptions {
            max_particles: MANY,
            lifetime_s: None,
            planes: PlaneSource::Rays { per_update: rays, planes: 1 },
            ..EffectOptions::debris()
        });
        while effect.len() < MANY {
            let spot = ground.free_spot(&mut rng);
            effect.burst(&Emitter::debris(spot, [0.0, 1.0, 0.0], 0.2), 100);
        }
        let start = || (effect.clone(), PlaneCache::default());
        let ours = repeat("planes", 3, start, |(effect, cache)| {
            (0..UPDATES).for_each(|_| effect.update(STEP_S, cache, |ray| ground.ray(ray)));
            effect.stats().bounces
        });
        let start = || (plain_particles(&effect), effect.options().gravity);
        let each = repeat("a ray each", 1, start, |(particles, gravity)| {
            (0..UPDATES).for_each(|_| ray_each(ground, particles, Vec3::from(*gravity)));
            particles.len() as u64
        });
        let ratio = each.min / ours.min;
        let [ours, each] = [ours.min, each.min].map(|seconds| seconds / UPDATES as f64 * 1e3);
        let note = format!("{ours:.2} ms an update, {each:.2} ms with a ray each");
        rows.push(detail(format!("{rays} rays an update"), ratio, "×").note(note));
    }
    let note = format!("{name}, debris for a second, 100 rays an update; {}", rows[0].note);
    report.set("particles_vs_ray_each", rows[0].value, note);
    report.details("a ray for each of 100,000 particles, over planes", rows);
}

/// A particle without planes.
struct PlainParticle {
    position: Vec3,
    velocity: Vec3,
}

fn plain_particles(effect: &Effect) -> Vec<PlainParticle> {
    let ([x, y, z], [u, v, w]) = (effect.positions(), effect.velocities());
    let particle = |at| PlainParticle {
        position: Vec3::new(x[at], y[at], z[at]),
        velocity: Vec3::new(u[at], v[at], w[at]),
    };
    (0..effect.len()).map(particle).collect()
}

/// One update in which every particle casts a ray along its way: the cost that planes save.
fn ray_each(ground: &Ground, particles: &mut [PlainParticle], gravity: Vec3) {
    for PlainParticle { position, velocity } in particles {
        *velocity += gravity * STEP_S;
        let way = *velocity * STEP_S;
        let length_m = way.length();
        let direction = (way / length_m).to_array();
        let origin_m = position.to_array();
        match ground.ray(&ParticleRay { origin_m, direction, length_m: length_m + 0.01 }) {
            None => *position += way,
            Some(hit) => {
                let normal = Vec3::from(hit.normal);
                *position = Vec3::from(hit.point_m) + 0.01 * normal;
                *velocity = 0.4 * (*velocity - 1.75 * velocity.dot(normal) * normal);
            }
        }
    }
}
