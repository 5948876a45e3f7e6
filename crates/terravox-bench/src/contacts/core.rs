//! The library's own contacts, with a minimal integrator: bumps of rolling and sliding bodies at
//! inner edges, support of bodies that are set down, recovery of bodies in the ground, floating
//! depth of crates, and the cost of a manifold.

use glam::{DVec3, EulerRot, Mat3, Quat, Vec3};
use terravox::collide::{Collider, ColliderOptions, CollisionBlock, Filter, Ray};
use terravox::contacts::{Body, BodyPart, ContactOptions, Contacts, Submersion};
use terravox::generate::{Hills, fill_sdf};
use terravox::geometry::Shape;
use terravox::voxel::{DenseBox, GridOptions, Region, VoxelGrid, WATER};

use super::integrator::{GRAVITY, Integrator, Rigid, STEP};
use crate::harness::{Entrant, RoundBudget, contest};
use crate::report::{AreaReport, detail};
use crate::worlds::generated;
use crate::worlds::random::Lcg;

const ROCK: u8 = 8;
const NO_ROTATION: [f32; 4] = [0.0, 0.0, 0.0, 1.0];
const BALL: Shape<'static> = Shape::Sphere { radius: 0.5 };
const CRATE: Shape<'static> = Shape::Box { half: [0.5; 3], rotation: NO_ROTATION };
const CAPSULE: Shape<'static> =
    Shape::Capsule { a: [0.0, -0.5, 0.0], b: [0.0, 0.5, 0.0], radius: 0.3 };

/// Bodies that are set down.
const SET_DOWN: usize = 3600;

/// Queries in an item: one alone is too short for the clock.
const QUERIES_PER_ITEM: usize = 16;

/// Measures `ghost_core_vy`, `float_depth_error`, `core_manifold_ns`, and support and recovery as
/// details.
pub fn run(report: &mut AreaReport) {
    ghosts(report);
    over_noise(report);
    support(report);
    inside(report);
    floating(report);
    cost(report);
}

fn collider_of(grid: &VoxelGrid) -> Collider {
    let mut collider = Collider::new(ColliderOptions::default());
    collider.update(grid);
    collider
}

fn ground(region: Region, distance: impl Fn([f32; 3]) -> f32) -> Collider {
    let mut grid = VoxelGrid::new(GridOptions::default());
    let mut cells = DenseBox::new(region);
    fill_sdf(&mut cells, 0, |p| f64::from(distance(p.map(|v| v as f32))), |_| ROCK);
    let Ok(()) = grid.write(&cells) else { unreachable!("unlisted chunks are air") };
    collider_of(&grid)
}

/// Hills of waves, with a slope of up to about `slope`.
fn hills(seed: u32, slope: f32) -> Collider {
    let turn = seed as f32 * 1.7;
    let height = move |x: f32, z: f32| {
        let wave = |k: f32, a: f32| ((x * a.cos() + z * a.sin()) * k + turn).sin() / k;
        0.4 * (wave(0.11, 0.3 + turn) + wave(0.29, 1.4 - turn) + wave(0.8, 2.6) + wave(1.7, turn))
    };
    let scale = 1.0 / (1.0 + slope * slope).sqrt();
    ground(Region::new([-40, -32, -40], [40, 32, 40]), move |[x, y, z]| {
        (slope * height(x, z) - y) * scale
    })
}

/// Hills of noise in five octaves, as steep as the generated world's, four times as rough.
fn noise(seed: u64) -> Collider {
    const HALF: i32 = 40;
    let hills = Hills::new(seed);
    let height = |x: f64, z: f64| 0.25 * hills.height(4.0 * x, 4.0 * z);
    let middle = height(0.0, 0.0);
    let side = -HALF..HALF;
    let columns: Vec<(f64, f64)> = side
        .clone()
        .flat_map(|z| side.clone().map(move |x| (f64::from(x) + 0.5, f64::from(z) + 0.5)))
        .map(|(x, z)| {
            let slope_x = height(x + 0.5, z) - height(x - 0.5, z);
            let slope_z = height(x, z + 0.5) - height(x, z - 0.5);
            let normal_y = 1.0 / (1.0 + slope_x * slope_x + slope_z * slope_z).sqrt();
            (height(x, z) - middle, normal_y)
        })
        .collect();
    ground(Region::new([-HALF, -32, -HALF], [HALF, 32, HALF]), |[x, y, z]| {
        let column = |v: f32| (v.floor() as i32 + HALF) as usize;
        let (height, normal_y) = columns[column(x) + 2 * HALF as usize * column(z)];
        ((height - f64::from(y)) * normal_y) as f32
    })
}

/// Bodies without friction that slide over hills of noise: contacts only stop them, so they gain
/// speed by falling only, unless a bump at an inner edge throws them.
fn over_noise(report: &mut AreaReport) {
    let mut integrator = Integrator::default();
    let worlds = [noise(1), noise(2), noise(3)];
    let mut lines = Vec::new();
    for (name, shape) in [("ball", BALL), ("box", CRATE), ("capsule", CAPSULE)] {
        let (mut max_gain, mut max_change) = (0.0_f32, 0.0_f32);
        for lane in 0..24 {
            let hills = &worlds[lane % worlds.len()];
            let way = Quat::from_rotation_y(0.26 * lane as f32) * Vec3::X;
            let at = -20.0 * way;
            let height = touches_at(hills, &shape, at.x.into(), at.z.into());
            let Some(height) = height else { continue };
            let start = DVec3::new(at.x.into(), height + 0.01, at.z.into());
            let mut body = Rigid::new(BodyPart::new(shape), start);
            body.velocity = way * 5.0;
            for _ in 0..300 {
                let (before, speed) = (body.velocity, body.velocity.length());
                integrator.step(hills, &mut body);
                max_gain = max_gain.max(body.velocity.length() - speed - GRAVITY * STEP);
                max_change = max_change.max((body.velocity - before).length());
            }
        }
        let note = format!("a step changes the velocity by at most {max_change:.2} m/s");
        lines.push(detail(name, max_gain.into(), "m/s").note(note));
    }
    report.details(
        "core contacts: over hills of noise at 5 m/s, most speed gained from contacts",
        lines,
    );
}

/// The height at which a shape that falls straight down touches the ground.
fn touches_at(collider: &Collider, shape: &Shape<'_>, x: f64, z: f64) -> Option<f64> {
    let hit = collider.cast(shape, [x, 40.0, z], [0.0, -90.0, 0.0], &Filter::SOLID).found?;
    Some(40.0 - hit.distance)
}

/// Bodies over 100 flat blocks at 20 m/s.
fn ghosts(report: &mut AreaReport) {
    let flat = ground(Region::new([-8, -8, -16], [816, 8, 24]), |[_, y, _]| -y);
    let mut integrator = Integrator::default();
    let (mut max_vy, mut drift, mut lines) = (0.0_f32, 0.0_f64, Vec::new());
    for (name, shape, height) in
        [("ball", BALL, 0.5), ("box", CRATE, 0.5), ("capsule", CAPSULE, 0.8)]
    {
        let (mut own, mut own_drift) = (0.0_f32, 0.0_f64);
        for lane in 0..8 {
            let z = 0.37 * f64::from(lane) + 2.1;
            let mut body = Rigid::new(BodyPart::new(shape), DVec3::new(0.5, height, z));
            body.velocity.x = 20.0;
            if name == "ball" {
                // Inertia of a ball of mass 1.
                body = Rigid { friction: 0.6, ..body.with_inertia(Vec3::splat(0.1)) };
                body.spin.z = -40.0;
            } else if name == "box" {
                body.rotation = Quat::from_rotation_y(0.13 * lane as f32);
                body = body.with_inertia(Vec3::splat(1.0 / 6.0));
            }
            for _ in 0..(780.0 / 20.0 / STEP) as usize {
                let before = body.position.y;
                integrator.step(&flat, &mut body);
                let moved = (body.position.y - before) as f32 / STEP;
                own = own.max(body.velocity.y.abs()).max(moved.abs());
            }
            own_drift = own_drift.max((body.position.z - z).abs());
        }
        lines.push(detail(name, own.into(), "m/s").note(format!("{own_drift:.4} m sideways")));
        (max_vy, drift) = (max_vy.max(own), drift.max(own_drift));
    }
    report.set(
        "ghost_core_vy",
        max_vy.into(),
        format!("ball, box, capsule; {drift:.4} m sideways"),
    );
    report.details("core contacts: over 100 flat blocks at 20 m/s, most vertical speed", lines);
}

/// Bodies that only move up and down, set on borders of blocks and on edges.
fn support(report: &mut AreaReport) {
    let mut integrator = Integrator::default();
    let mut random = Lcg(11);
    let (mut set, mut lost, mut worst) = (0, 0, 0.0_f64);
    let waves = [0.05, 0.3, 1.0, 2.5].into_iter().zip(0..).map(|(slope, seed)| hills(seed, slope));
    let worlds: Vec<_> = waves.chain([noise(4), noise(5)]).collect();
    for (world, hills) in worlds.iter().enumerate() {
        while set < SET_DOWN * (world + 1) / worlds.len() {
            let [x, z] = [0; 2].map(|_| f64::from(random.unit()) * 60.0 - 30.0);
            let (x, z) = match set % 3 {
                0 => ((x / 8.0).round() * 8.0, z),
                1 => (x, (z / 8.0).round() * 8.0),
                // On the side of a triangle.
                _ => on_edge(hills, &mut random, x, z),
            };
            let shape = [BALL, CAPSULE, CRATE][set / 3 % 3];
            set += 1;
            let Some(height) = touches_at(hills, &shape, x, z) else { continue };
            let mut body = Rigid::new(BodyPart::new(shape), DVec3::new(x, height + 0.01, z));
            body.is_vertical_only = true;
            for _ in 0..60 {
                integrator.step(hills, &mut body);
            }
            let sunk = height - body.position.y;
            worst = worst.max(sunk);
            lost += usize::from(sunk > 0.02);
        }
    }
    let line = detail("lost", lost as f64, "bodies").note(format!("deepest {worst:.4} m"));
    report
        .details(format!("core contacts: {SET_DOWN} bodies set on edges and borders"), vec![line]);
}

/// The middle of a random side of the triangle below.
fn on_edge(collider: &Collider, random: &mut Lcg, x: f64, z: f64) -> (f64, f64) {
    let down = Ray::new([x, 40.0, z], [0.0, -1.0, 0.0], 90.0);
    let Some(hit) = collider.ray(&down, &Filter::SOLID).found else { return (x, z) };
    let Ok(Some(block)) = collider.block(hit.block, Default::default()) else { return (x, z) };
    let Some(tree) = block.solid else { return (x, z) };
    let triangle = tree.triangle(hit.triangle.quad, hit.triangle.second);
    let side = random.below(3);
    let (a, b) = (triangle.corners[side], triangle.corners[(side + 1) % 3]);
    let corner = hit.block.min_voxel().to_array().map(f64::from);
    let middle = |axis: usize| corner[axis] + 0.5 * f64::from(a[axis] + b[axis]);
    (middle(0), middle(2))
}

/// Bodies that start in the ground.
fn inside(report: &mut AreaReport) {
    let mut integrator = Integrator::default();
    let mut random = Lcg(5);
    let (mut started, mut out) = (0, 0);
    let mut lines = Vec::new();
    let waves = [0.0, 0.3, 1.0].into_iter().zip(20..).map(|(slope, seed)| hills(seed, slope));
    let worlds: Vec<_> = waves.chain([noise(6)]).collect();
    for depth in [0.3, 0.6, 1.0, 2.0, 4.0] {
        let (mut own_started, mut own_out) = (0, 0);
        for hills in &worlds {
            for index in 0..60 {
                let [x, z] = [0; 2].map(|_| f64::from(random.unit()) * 50.0 - 25.0);
                let shape = [BALL, CRATE, CAPSULE][index % 3];
                let Some(height) = touches_at(hills, &shape, x, z) else { continue };
                let at = DVec3::new(x, height - depth, z);
                let body = Rigid::new(BodyPart::new(shape), at);
                let mut body = Rigid { friction: 1.0, ..body };
                for _ in 0..120 {
                    integrator.step(hills, &mut body);
                }
                let manifolds = integrator.contacts(hills, &body, 0.0);
                let overlap = manifolds.iter().flat_map(|m| m.points()).map(|p| p.distance);
                let overlap = overlap.fold(0.0, f32::min);
                let above = is_above(hills, &body);
                own_started += 1;
                own_out += usize::from(overlap > -0.05 && above);
            }
        }
        let share = own_out as f64 / own_started as f64;
        lines.push(detail(format!("from {depth} m"), share, "share"));
        if depth == 0.3 {
            (started, out) = (own_started, own_out);
        }
    }
    lines.push(detail("inside_recovered", out as f64 / started as f64, "share"));
    report.details("core contacts: balls, boxes, capsules that start inside and come out", lines);
}

/// Returns whether a body is above the ground.
fn is_above(collider: &Collider, body: &Rigid) -> bool {
    let ray = Ray::new(body.position, [0.0, 1.0, 0.0], 100.0);
    // From inside, the ray leaves the first surface that it hits.
    let hit = collider.ray(&ray, &Filter::SOLID).found;
    hit.is_none_or(|hit| hit.normal[1] < 0.0)
}

/// Crates of five densities in a lake.
fn floating(report: &mut AreaReport) {
    let mut grid = VoxelGrid::new(GridOptions::default());
    let mut lake = DenseBox::new(Region::new([-24, -12, -24], [24, 4, 24]));
    fill_sdf(&mut lake, 0, |[_, y, _]| 0.3 - y, |_| WATER);
    let Ok(()) = grid.write(&lake) else { unreachable!("unlisted chunks are air") };
    let collider = collider_of(&grid);
    let mut integrator = Integrator::default();
    let (mut worst, mut lines) = (0.0_f64, Vec::new());
    for density in [0.1_f32, 0.3, 0.5, 0.7, 0.9] {
        let mut body = Rigid::new(BodyPart::new(CRATE), DVec3::new(0.3, 1.5, -2.6));
        body.mass = density;
        body = body.with_inertia(Vec3::splat(density / 6.0));
        // Tilted, so that it can find its pose. A cube of middle density floats on an edge, so the
        // depth is measured by volume.
        body.rotation = Quat::from_euler(EulerRot::XYZ, 0.4, 0.3, 0.2);
        let mut submerged = Submersion::default();
        for _ in 0..3600 {
            submerged = integrator.float(&collider, &mut body);
        }
        worst = worst.max(f64::from((submerged.share() - density).abs()));
        let up_cos = Mat3::from_quat(body.rotation).row(1).abs().max_element();
        let note = format!(
            "under water; a side leans by {:.0}°, speed {:.4} m/s, spin {:.4} 1/s",
            up_cos.min(1.0).acos().to_degrees(),
            body.velocity.length(),
            body.spin.length()
        );
        lines.push(
            detail(format!("density {density}"), submerged.share().into(), "share").note(note),
        );
    }
    report.set(
        "float_depth_error",
        worst,
        "share of volume; crates of 1 m, of five densities, free to turn",
    );
    report.details("core water: submerged share of floating crates", lines);
}

/// A pose in which a box touches the ground.
struct TouchingPose {
    position: [f64; 3],
    rotation: Quat,
    block: CollisionBlock,
}

/// Boxes that touch the ground of the generated world.
fn cost(report: &mut AreaReport) {
    let world = generated::world();
    let collider = collider_of(&world.grid);
    let mut random = Lcg(3);
    let mut poses = Vec::new();
    while poses.len() < 1000 {
        let [x, z] = [0; 2].map(|_| f64::from(random.unit()) * 600.0 - 300.0);
        let rotation = Quat::from_scaled_axis(Vec3::from([0; 3].map(|_| random.unit() - 0.5)));
        let shape = Shape::Box { half: [0.5; 3], rotation: rotation.to_array() };
        let from = [x, 400.0, z];
        let hit = collider.cast(&shape, from, [0.0, -900.0, 0.0], &Filter::SOLID).found;
        if let Some(hit) = hit {
            let position = [x, 400.0 - hit.distance - 0.01, z];
            poses.push(TouchingPose { position, rotation, block: hit.block });
        }
    }
    let mut lines = Vec::new();
    let mut by_shape = |name: &str, shape: Shape<'static>| {
        let [block, all] = query_times(&collider, shape, &poses);
        for (what, times) in [("all blocks", all), ("one block", block)] {
            let note = format!("mean {:.0} ns", times.mean_ns);
            lines.push(detail(format!("{name}, {what}"), times.median_ns, "ns").note(note));
        }
        block.median_ns
    };
    let ns = by_shape("box", CRATE);
    by_shape("ball", BALL);
    by_shape("capsule", CAPSULE);
    report.set("core_manifold_ns", ns, "box that touches a block of the generated world");
    report.details("core contacts: cost of a query, median over 1000 poses", lines);
}

/// Times of a query, over all poses.
#[derive(Clone, Copy)]
struct QueryTimes {
    median_ns: f64,
    mean_ns: f64,
}

/// Times a query of the touched block, and one of all blocks.
fn query_times(
    collider: &Collider,
    shape: Shape<'static>,
    poses: &[TouchingPose],
) -> [QueryTimes; 2] {
    let parts = [BodyPart::new(shape)];
    let options = ContactOptions::default();
    let [mut one, mut all] = [Contacts::default(), Contacts::default()];
    let body = |pose: &TouchingPose| Body {
        parts: &parts,
        position: pose.position,
        rotation: pose.rotation.to_array(),
    };
    let budget = RoundBudget { min_rounds: 7, warm: true, ..RoundBudget::seconds(0.0) };
    // Pose by pose: the median is over the poses.
    let mut by_pose = [Vec::new(), Vec::new()];
    for pose in poses {
        let timings = contest(
            1,
            budget,
            [
                Entrant::new("block", |_| {
                    (0..QUERIES_PER_ITEM).for_each(|_| {
                        one.find_in_block(collider, pose.block, &body(pose), &options);
                    });
                    one.manifolds.len() as u64
                }),
                Entrant::new("all", |_| {
                    (0..QUERIES_PER_ITEM).for_each(|_| {
                        all.find(collider, &body(pose), &options);
                    });
                    all.manifolds.len() as u64
                }),
            ],
        );
        for (timing, times) in timings.iter().zip(&mut by_pose) {
            times.push(timing.median / QUERIES_PER_ITEM as f64 * 1e9);
        }
    }
    by_pose.map(|mut times| {
        times.sort_by(f64::total_cmp);
        QueryTimes {
            median_ns: times[times.len() / 2],
            mean_ns: times.iter().sum::<f64>() / times.len() as f64,
        }
    })
}
