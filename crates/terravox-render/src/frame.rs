//! Cameras that nobody had to place: views of a whole world or of one spot of it.
//!
//! Some dozen candidates each take a tiny picture; the one that shows the most land at
//! varied slopes, some sky and no wall before the lens wins.

use crate::camera::{Camera, Ray, direction_of};
use crate::scene::Scene;
use crate::shade::FAR;
use glam::{DVec2, DVec3};
use terravox::collide::Filter;
use terravox::voxel::{Kind, VoxelPos};

/// Columns and rows of the vertical rays that feel the land out.
const FEELERS: usize = 32;

/// Columns and rows of the tiny picture that rates a candidate.
const TRIAL: [usize; 2] = [32, 18];
const TRIAL_RAYS: usize = TRIAL[0] * TRIAL[1];

/// How much of an outlook should be its frame.
const NEAR_SHARE: f64 = 0.58;

/// How far towards the nearer edges of the picture an overview reaches.
const FILLED: f64 = 0.97;

/// Spots of which the best view is taken.
const SPOTS: usize = 6;

/// Opening angle of automatic cameras, degrees from bottom to top.
pub const FOV_DEGREES: f64 = 38.0;

/// What a candidate is good for.
struct Wish {
    /// What should be in the middle, cells.
    target: DVec3,
    /// Share of the picture that should show land or water.
    land: f64,
    /// Whether the target must be in sight.
    in_sight: bool,
    /// The box of the land, if the sides where it is cut off should not be seen.
    sides: Option<[DVec3; 2]>,
}

/// A three-quarter view of the whole world from above.
pub fn overview(scene: &Scene, aspect: f64, fov: f64) -> Camera {
    let points = feel(scene);
    let Some([mut low, mut high]) = extent(&points) else {
        // No column shows land: look at the middle of nothing.
        return Camera::bearing(DVec3::new(0.0, 8.0, 0.0), 0.0, -10.0, fov);
    };
    // A world that is cut off below shows its side, as far as it is not a shaft.
    let side = 0.25 * (high - low).max_element();
    let lowest = bounds(scene)[0].y;
    let under = underside(scene, [DVec3::new(low.x, lowest, low.z), high]);
    low.y = (low.y - side).max(under).min(low.y);
    // What lies between the last feelers that met land and the first that did not.
    let beyond = 0.5 * (high - low) / FEELERS as f64 * DVec3::new(1.0, 0.0, 1.0);
    (low, high) = (low - beyond, high + beyond);
    let target = (low + high) * 0.5;
    let wish = Wish { target, land: 0.8, in_sight: false, sides: None };
    let candidates = (0..8).flat_map(|turn| {
        let yaw = 25.0 + 45.0 * f64::from(turn);
        [-22.0, -30.0, -40.0].map(|pitch| fitted(low, high, [yaw, pitch], aspect, fov))
    });
    best(scene, &wish, candidates, aspect).1
}

/// A view of `target` from about `distance` cells away.
pub fn around(scene: &Scene, target: DVec3, distance: f64, [aspect, fov]: [f64; 2]) -> Camera {
    rated_around(scene, target, distance, [aspect, fov]).1
}

fn rated_around(
    scene: &Scene,
    target: DVec3,
    distance: f64,
    [aspect, fov]: [f64; 2],
) -> (f64, Camera) {
    let sides = extent(&feel(scene));
    let wish = Wish { target, land: 0.75, in_sight: true, sides };
    let candidates = (0..12).flat_map(|turn| {
        let yaw = 30.0 * f64::from(turn);
        [-7.0, -14.0, -24.0, -36.0].map(|pitch| {
            let eye = target - direction_of(yaw, pitch) * distance;
            Camera::looking_at(eye, target, fov)
        })
    });
    best(scene, &wish, candidates, aspect)
}

/// The camera, of those given, that sees most land and water farther off than `beyond`
/// cells, with a frame of what is near around it; `None` if there are none.
pub fn outlook(
    scene: &Scene,
    beyond: f64,
    cameras: impl Iterator<Item = Camera>,
    aspect: f64,
) -> Option<Camera> {
    let rated = cameras.map(|camera| {
        let [mut near, mut far] = [0.0; 2];
        for at in trial() {
            let ray = camera.ray(at, aspect);
            match scene.closest(&ray, FAR, &Filter::BOTH) {
                Some(hit) if hit.distance < beyond => near += 1.0 / TRIAL_RAYS as f64,
                Some(hit) => far += if hit.liquid { 1.5 } else { 1.0 } / TRIAL_RAYS as f64,
                None => {}
            }
        }
        (2.0 * far - (near - NEAR_SHARE).abs(), camera)
    });
    rated.reduce(|best, next| if next.0 > best.0 { next } else { best }).map(|best| best.1)
}

/// Points of the tiny picture.
fn trial() -> impl Iterator<Item = DVec2> {
    let size = DVec2::new(TRIAL[0] as f64, TRIAL[1] as f64);
    (0..TRIAL_RAYS)
        .map(move |i| DVec2::new((i % TRIAL[0]) as f64 + 0.5, (i / TRIAL[0]) as f64 + 0.5) / size)
}

/// A view of the most interesting piece of shore; `None` in a world without water.
pub fn shore(scene: &Scene, picture: [f64; 2]) -> Option<Camera> {
    let found = felt(scene);
    let distance = near(scene);
    // Where high land is close by.
    let relief = |at: DVec3| {
        let land = found.iter().filter(|felt| !felt.liquid);
        let close = land.filter(|felt| felt.point.distance(at) < 0.7 * distance);
        close.map(|felt| felt.point.y - at.y).fold(0.0, f64::max)
    };
    let wet = found.iter().filter(|felt| felt.liquid);
    let spots = wet.map(|felt| (relief(felt.point), felt.point)).collect();
    best_of_spots(scene, spots, distance, picture)
}

/// A view of the ruggedest piece of land from near; `None` where there is no land.
pub fn closer(scene: &Scene, picture: [f64; 2]) -> Option<Camera> {
    let points = feel(scene);
    let distance = near(scene);
    let relief = |at: DVec3| {
        let close = points.iter().filter(|p| p.distance(at) < 0.5 * distance);
        close.map(|p| (p.y - at.y).abs()).fold(0.0, f64::max)
    };
    let spots = points.iter().map(|&at| (relief(at), at)).collect();
    best_of_spots(scene, spots, distance, picture)
}

/// The best view of the most promising spots.
fn best_of_spots(
    scene: &Scene,
    mut spots: Vec<(f64, DVec3)>,
    distance: f64,
    picture: [f64; 2],
) -> Option<Camera> {
    spots.sort_by(|a, b| b.0.total_cmp(&a.0));
    let rated = spots.iter().take(SPOTS).map(|&(_, at)| rated_around(scene, at, distance, picture));
    let best = rated.reduce(|best, next| if next.0 > best.0 { next } else { best });
    best.filter(|best| best.0 > f64::NEG_INFINITY).map(|(_, camera)| camera)
}

/// The middle of the land, cells.
pub fn middle(scene: &Scene) -> DVec3 {
    extent(&feel(scene)).map_or(DVec3::ZERO, |[low, high]| (low + high) * 0.5)
}

/// Where a vertical ray from above meets land or water.
struct Felt {
    /// Cells.
    point: DVec3,
    liquid: bool,
}

/// The box that holds what can be met, cells.
fn bounds(scene: &Scene) -> [DVec3; 2] {
    let corner = |p: VoxelPos| DVec3::from(p.to_array().map(f64::from));
    [corner(scene.bounds().min), corner(scene.bounds().max)]
}

/// Feels a box out with vertical rays from above.
fn felt_in(scene: &Scene, within: [DVec3; 2]) -> Vec<Felt> {
    let hits = feelers(within, 1.0, DVec3::NEG_Y).filter_map(|ray| {
        let hit = scene.closest(&ray, FAR, &Filter::BOTH)?;
        Some(Felt { point: ray.at(hit.distance), liquid: hit.liquid })
    });
    hits.collect()
}

/// Feels the land out: the whole world, then again what land there is in it, so that a
/// small island in a large world is felt as well as a whole one.
fn felt(scene: &Scene) -> Vec<Felt> {
    let [least, most] = bounds(scene);
    let coarse: Vec<DVec3> = felt_in(scene, [least, most]).iter().map(|f| f.point).collect();
    let Some([low, high]) = extent(&coarse) else { return Vec::new() };
    let margin = 1.5 * (most - least) / FEELERS as f64;
    let [mut low, mut high] = [(low - margin).max(least), (high + margin).min(most)];
    (low.y, high.y) = (least.y, most.y);
    felt_in(scene, [low, high])
}

fn feel(scene: &Scene) -> Vec<DVec3> {
    felt(scene).into_iter().map(|felt| felt.point).collect()
}

/// Vertical rays all over a box, from a height that is a share of the box's.
fn feelers([low, high]: [DVec3; 2], height: f64, direction: DVec3) -> impl Iterator<Item = Ray> {
    (0..FEELERS * FEELERS).map(move |i| {
        let [x, z] = [i % FEELERS, i / FEELERS].map(|v| (v as f64 + 0.5) / FEELERS as f64);
        Ray { origin: low + (high - low) * DVec3::new(x, height, z), direction }
    })
}

/// The lowest ground that vertical rays from below meet within a box, cells.
fn underside(scene: &Scene, within: [DVec3; 2]) -> f64 {
    let rays = feelers(within, 0.0, DVec3::Y);
    let hits = rays.filter_map(|ray| {
        scene.closest(&ray, FAR, &Filter::SOLID).map(|hit| ray.at(hit.distance).y)
    });
    hits.fold(f64::INFINITY, f64::min)
}

/// From how far a detail is looked at, cells: near enough to see voxels at work.
fn near(scene: &Scene) -> f64 {
    let [x, _, z] = scene.bounds().size();
    (x.max(z) as f64 * 0.2).clamp(24.0, 90.0)
}

/// The box around most of the points; stray bits far off do not count.
fn extent(points: &[DVec3]) -> Option<[DVec3; 2]> {
    let range = |axis: usize, skip: f64| {
        let mut values: Vec<f64> = points.iter().map(|p| p[axis]).collect();
        values.sort_by(f64::total_cmp);
        let drop = (values.len() as f64 * skip) as usize;
        Some((*values.get(drop)?, *values.get(values.len().checked_sub(1 + drop)?)?))
    };
    let [x, y, z] = [range(0, 0.01)?, range(1, 0.004)?, range(2, 0.01)?];
    Some([DVec3::new(x.0, y.0, z.0), DVec3::new(x.1, y.1, z.1)])
}

/// A camera that looks along a bearing and stands where the box just fits.
fn fitted(low: DVec3, high: DVec3, [yaw, pitch]: [f64; 2], aspect: f64, fov: f64) -> Camera {
    let centre = (low + high) * 0.5;
    let corner = |i: usize| {
        DVec3::new(
            if i & 1 == 0 { low.x } else { high.x },
            if i & 2 == 0 { low.y } else { high.y },
            if i & 4 == 0 { low.z } else { high.z },
        )
    };
    let size = low.distance(high).max(16.0);
    let (mut target, mut near, mut far) = (centre, 0.3 * size, 8.0 * size);
    let at = |target: DVec3, distance: f64| {
        let eye = target - direction_of(yaw, pitch) * distance;
        Camera::bearing(eye, yaw, pitch, fov)
    };
    let spread = |camera: &Camera| {
        let mut corners = (0..8).map(|i| camera.in_picture(corner(i), aspect));
        corners.try_fold([DVec2::INFINITY, DVec2::NEG_INFINITY], |[low, high], next| {
            next.map(|next| [low.min(next), high.max(next)])
        })
    };
    for _ in 0..24 {
        let middle = 0.5 * (near + far);
        let camera = at(target, middle);
        // Perspective puts the box off the middle: the target moves until it is centred.
        let fits = spread(&camera).is_some_and(|[low, high]| {
            target += camera.across((low + high) * (0.5 * middle), aspect);
            ((high - low) * 0.5).max_element() <= FILLED
        });
        if fits { far = middle } else { near = middle }
    }
    for _ in 0..8 {
        let camera = at(target, far);
        let off = spread(&camera).map_or(DVec2::ZERO, |[low, high]| (low + high) * 0.5);
        target += camera.across(off * far, aspect);
    }
    at(target, far)
}

/// The candidate that rates highest; the first of equals.
fn best(
    scene: &Scene,
    wish: &Wish,
    candidates: impl Iterator<Item = Camera>,
    aspect: f64,
) -> (f64, Camera) {
    let rated = candidates.map(|camera| (rate(scene, wish, &camera, aspect), camera));
    let best = rated.reduce(|best, next| if next.0 > best.0 { next } else { best });
    best.unwrap_or((f64::NEG_INFINITY, Camera::bearing(wish.target, 0.0, 0.0, FOV_DEGREES)))
}

/// Shares of a tiny picture.
#[derive(Default)]
struct Shares {
    land: f64,
    water: f64,
    /// Lit by the sun.
    lit: f64,
    /// Right before the lens.
    near: f64,
    /// Of the sides where the world is cut off.
    cut: f64,
    /// How much the ground's slope varies.
    varied: f64,
}

/// How good a picture a camera takes; higher is better.
fn rate(scene: &Scene, wish: &Wish, camera: &Camera, aspect: f64) -> f64 {
    if scene.kind_at(camera.eye) != Kind::Air {
        return f64::NEG_INFINITY;
    }
    let shares = shares(scene, wish, camera, aspect);
    let hidden = wish.in_sight && !in_sight(scene, camera, wish.target);
    let miss = (shares.land - wish.land).abs();
    let shown = shares.varied + 0.8 * shares.water.min(0.3) + 0.8 * shares.lit;
    shown - 1.5 * miss - 4.0 * shares.near - 4.0 * shares.cut - if hidden { 3.0 } else { 0.0 }
}

/// Takes the tiny picture.
fn shares(scene: &Scene, wish: &Wish, camera: &Camera, aspect: f64) -> Shares {
    let [yaw, height] = camera.sun(crate::SUN_DEGREES);
    let sun = direction_of(yaw, height);
    let share = 1.0 / TRIAL_RAYS as f64;
    let [mut slope, mut slope_squared] = [0.0; 2];
    let mut shares = Shares::default();
    for at in trial() {
        let ray = camera.ray(at, aspect);
        let Some(hit) = scene.closest(&ray, FAR, &Filter::BOTH) else { continue };
        let normal = DVec3::from(hit.normal.map(f64::from));
        let point = ray.at(hit.distance) + normal * 0.05;
        let facing = normal.dot(sun) > 0.0;
        let lit = facing && !scene.blocked(&Ray { origin: point, direction: sun }, FAR);
        slope += normal.y;
        slope_squared += normal.y * normal.y;
        shares.land += share;
        shares.water += if hit.liquid { share } else { 0.0 };
        shares.lit += if lit { share } else { 0.0 };
        shares.near +=
            if hit.distance < 0.35 * camera.eye.distance(wish.target) { share } else { 0.0 };
        shares.cut +=
            if wish.sides.is_some_and(|land| on_the_side(land, point)) { share } else { 0.0 };
    }
    let hits = (shares.land / share).max(1.0);
    shares.varied = (slope_squared / hits - (slope / hits).powi(2)).max(0.0).sqrt();
    shares
}

/// Whether nothing stands between the camera and the target, give or take a cell or two.
fn in_sight(scene: &Scene, camera: &Camera, target: DVec3) -> bool {
    let way = target - camera.eye;
    let ray = Ray { origin: camera.eye, direction: way.normalize() };
    !scene.blocked(&ray, way.length() - 2.5)
}

/// Whether a point lies beyond the outermost feelers that met land: on or right by a side
/// where the world is cut off.
fn on_the_side(land: [DVec3; 2], point: DVec3) -> bool {
    let [low, high] = land;
    let beside = |v: f64, low: f64, high: f64| v < low || v > high;
    beside(point.x, low.x, high.x) || beside(point.z, low.z, high.z)
}
