//! Cameras that nobody had to place: views of a whole world or of one spot of it.
//!
//! Some dozen candidates each take a tiny picture; the one that shows the most land at
//! varied slopes, some sky and no wall before the lens wins.

use super::camera::{Camera, Ray, direction_of};
use super::scene::{Scene, Scratch};
use super::shade::FAR;
use super::walk::Sees;
use glam::{DVec2, DVec3};
use terravox::voxel::{Kind, VoxelPos};

/// Columns and rows of the vertical rays that feel the land out.
const FEELERS: usize = 32;

/// Columns and rows of the tiny picture that rates a candidate.
const TRIAL: [usize; 2] = [32, 18];

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
}

/// A three-quarter view of the whole world from above.
pub fn overview(scene: &Scene, aspect: f64, fov: f64, scratch: &mut Scratch) -> Camera {
    let points = feel(scene, scratch);
    let Some([mut low, mut high]) = extent(&points) else {
        // No column shows land: look at the middle of nothing.
        return Camera::bearing(DVec3::new(0.0, 8.0, 0.0), 0.0, -10.0, fov);
    };
    // A world that is cut off below shows its side, as far as it is not a shaft.
    let side = 0.25 * (high - low).max_element();
    low.y = (low.y - side).max(f64::from(scene.bounds().min.y)).min(low.y);
    // What lies between the last feelers that met land and the first that did not.
    let [x, _, z] = scene.bounds().size().map(|cells| 0.5 * cells as f64 / FEELERS as f64);
    low -= DVec3::new(x, 0.0, z);
    high += DVec3::new(x, 0.0, z);
    let target = (low + high) * 0.5;
    let wish = Wish { target, land: 0.8, in_sight: false };
    let candidates = (0..8).flat_map(|turn| {
        let yaw = 25.0 + 45.0 * f64::from(turn);
        [-22.0, -30.0, -40.0].map(|pitch| fitted(low, high, [yaw, pitch], aspect, fov))
    });
    best(scene, &wish, candidates, aspect, scratch).1
}

/// A view of `target` from about `distance` cells away.
pub fn around(
    scene: &Scene,
    target: DVec3,
    distance: f64,
    [aspect, fov]: [f64; 2],
    scratch: &mut Scratch,
) -> Camera {
    rated_around(scene, target, distance, [aspect, fov], scratch).1
}

fn rated_around(
    scene: &Scene,
    target: DVec3,
    distance: f64,
    [aspect, fov]: [f64; 2],
    scratch: &mut Scratch,
) -> (f64, Camera) {
    let wish = Wish { target, land: 0.75, in_sight: true };
    let candidates = (0..12).flat_map(|turn| {
        let yaw = 30.0 * f64::from(turn);
        [-7.0, -14.0, -24.0, -36.0].map(|pitch| {
            let eye = target - direction_of(yaw, pitch) * distance;
            Camera::looking_at(eye, target, fov)
        })
    });
    best(scene, &wish, candidates, aspect, scratch)
}

/// A view of the most interesting piece of shore; `None` in a world without water.
pub fn shore(scene: &Scene, picture: [f64; 2], scratch: &mut Scratch) -> Option<Camera> {
    let found = felt(scene, scratch);
    let distance = near(scene);
    // Where high land is close by.
    let relief = |at: DVec3| {
        let land = found.iter().filter(|felt| !felt.liquid);
        let close = land.filter(|felt| felt.point.distance(at) < 0.7 * distance);
        close.map(|felt| felt.point.y - at.y).fold(0.0, f64::max)
    };
    let wet = found.iter().filter(|felt| felt.liquid);
    let spots = wet.map(|felt| (relief(felt.point), felt.point)).collect();
    best_of_spots(scene, spots, distance, picture, scratch)
}

/// A view of the ruggedest piece of land from near; `None` where there is no land.
pub fn closer(scene: &Scene, picture: [f64; 2], scratch: &mut Scratch) -> Option<Camera> {
    let points = feel(scene, scratch);
    let distance = near(scene);
    let relief = |at: DVec3| {
        let close = points.iter().filter(|p| p.distance(at) < 0.5 * distance);
        close.map(|p| (p.y - at.y).abs()).fold(0.0, f64::max)
    };
    let spots = points.iter().map(|&at| (relief(at), at)).collect();
    best_of_spots(scene, spots, distance, picture, scratch)
}

/// The best view of the most promising spots.
fn best_of_spots(
    scene: &Scene,
    mut spots: Vec<(f64, DVec3)>,
    distance: f64,
    picture: [f64; 2],
    scratch: &mut Scratch,
) -> Option<Camera> {
    spots.sort_by(|a, b| b.0.total_cmp(&a.0));
    let rated = spots
        .iter()
        .take(SPOTS)
        .map(|&(_, at)| rated_around(scene, at, distance, picture, scratch));
    let best = rated.reduce(|best, next| if next.0 > best.0 { next } else { best });
    best.filter(|best| best.0 > f64::NEG_INFINITY).map(|(_, camera)| camera)
}

/// The middle of the land, cells.
pub fn middle(scene: &Scene, scratch: &mut Scratch) -> DVec3 {
    extent(&feel(scene, scratch)).map_or(DVec3::ZERO, |[low, high]| (low + high) * 0.5)
}

/// Where a vertical ray from above meets land or water.
struct Felt {
    /// Cells.
    point: DVec3,
    liquid: bool,
}

/// Feels the whole world out with vertical rays.
fn felt(scene: &Scene, scratch: &mut Scratch) -> Vec<Felt> {
    let corner = |p: VoxelPos| DVec3::from(p.to_array().map(f64::from));
    let [low, high] = [corner(scene.bounds().min), corner(scene.bounds().max)];
    let mut found = Vec::new();
    for i in 0..FEELERS * FEELERS {
        let [x, z] = [i % FEELERS, i / FEELERS].map(|v| (v as f64 + 0.5) / FEELERS as f64);
        let origin = low + (high - low) * DVec3::new(x, 1.0, z);
        let ray = Ray { origin, direction: DVec3::NEG_Y };
        let hit = scene.closest(&ray, FAR, Sees::Both, scratch);
        found.extend(hit.map(|hit| Felt { point: ray.at(hit.t), liquid: hit.liquid }));
    }
    found
}

fn feel(scene: &Scene, scratch: &mut Scratch) -> Vec<DVec3> {
    felt(scene, scratch).into_iter().map(|felt| felt.point).collect()
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
    let [x, y, z] = [range(0, 0.01)?, range(1, 0.03)?, range(2, 0.01)?];
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
    scratch: &mut Scratch,
) -> (f64, Camera) {
    let rated = candidates.map(|camera| (rate(scene, wish, &camera, aspect, scratch), camera));
    let best = rated.reduce(|best, next| if next.0 > best.0 { next } else { best });
    best.unwrap_or((f64::NEG_INFINITY, Camera::bearing(wish.target, 0.0, 0.0, FOV_DEGREES)))
}

/// How good a picture a camera takes; higher is better.
fn rate(scene: &Scene, wish: &Wish, camera: &Camera, aspect: f64, scratch: &mut Scratch) -> f64 {
    if scene.kind_at(camera.eye) != Kind::Air {
        return f64::NEG_INFINITY;
    }
    let distance = camera.eye.distance(wish.target);
    let [mut land, mut water, mut near, mut cut] = [0.0; 4];
    let [mut slope, mut slope_squared] = [0.0; 2];
    let count = (TRIAL[0] * TRIAL[1]) as f64;
    for i in 0..TRIAL[0] * TRIAL[1] {
        let at = DVec2::new((i % TRIAL[0]) as f64 + 0.5, (i / TRIAL[0]) as f64 + 0.5)
            / DVec2::new(TRIAL[0] as f64, TRIAL[1] as f64);
        let ray = camera.ray(at, aspect);
        let Some(hit) = scene.closest(&ray, FAR, Sees::Both, scratch) else { continue };
        let [a, b, c] = hit.patch.corners(hit.on.triangle).map(|corner| corner.position);
        let up = f64::from((b - a).cross(c - a).normalize_or_zero().y);
        land += 1.0 / count;
        slope += up;
        slope_squared += up * up;
        water += f64::from(u8::from(hit.liquid)) / count;
        near += f64::from(u8::from(hit.t < 0.35 * distance)) / count;
        cut += f64::from(u8::from(wish.in_sight && on_the_side(scene, ray.at(hit.t)))) / count;
    }
    let hits = (land * count).max(1.0);
    let varied = (slope_squared / hits - (slope / hits).powi(2)).max(0.0).sqrt();
    let hidden = wish.in_sight && !in_sight(scene, camera, wish.target, scratch);
    let miss = (land - wish.land).abs();
    varied + 0.8 * water.min(0.3)
        - 1.5 * miss
        - 4.0 * near
        - 4.0 * cut
        - if hidden { 3.0 } else { 0.0 }
}

/// Whether nothing stands between the camera and the target, give or take a cell or two.
fn in_sight(scene: &Scene, camera: &Camera, target: DVec3, scratch: &mut Scratch) -> bool {
    let way = target - camera.eye;
    let ray = Ray { origin: camera.eye, direction: way.normalize() };
    !scene.blocked(&ray, way.length() - 2.5, scratch)
}

/// Whether a point lies on a side where the world is cut off.
fn on_the_side(scene: &Scene, point: DVec3) -> bool {
    let [min, max] = [scene.bounds().min, scene.bounds().max];
    let beside =
        |v: f64, low: i32, high: i32| v < f64::from(low) + 34.0 || v > f64::from(high) - 34.0;
    beside(point.x, min.x, max.x) || beside(point.z, min.z, max.z)
}
