//! Automatic cameras: views of a whole world or of one spot of it.
//!
//! A few dozen candidates are rated by trial pictures of a few hundred rays; the best shows much
//! surface (land or water) of varied slope, some sky, and nothing right in front of the lens.

use crate::camera::{Camera, FOV_DEGREES, Lens, SUN_ELEVATION_DEGREES, direction_from_bearing};
use crate::ray::{RAY_REACH_CELLS, SceneRay};
use crate::scene::Scene;
use glam::{DVec2, DVec3};
use terravox::collide::Filter;
use terravox::voxel::{Kind, VoxelPos};

/// Columns and rows of the vertical rays that probe the surface.
const PROBES: usize = 32;

/// Columns and rows of the trial picture that rates a candidate.
const TRIAL: [usize; 2] = [32, 18];
const TRIAL_RAYS: usize = TRIAL[0] * TRIAL[1];

/// Desired share of nearby surfaces, which frame an outlook.
const FRAME_SHARE: f64 = 0.58;

/// Share of the picture's width or height that an overview fills.
const FILLED_SHARE: f64 = 0.97;

/// Number of the most promising spots that are rated with cameras.
const RATED_SPOTS: usize = 6;

/// Criteria by which candidates are rated.
struct FramingGoal {
    /// Middle of the picture, cells.
    target: DVec3,
    /// Desired share of land and water.
    surface_share: f64,
    /// Whether the target must be in sight.
    needs_sight: bool,
    /// Bounds of land and water, if the sides where the world is cut off should not be seen.
    surface_bounds: Option<[DVec3; 2]>,
}

/// Returns a three-quarter view of the whole world from above.
pub fn overview(scene: &Scene, lens: Lens) -> Camera {
    let points = probed_points(scene);
    let Some([mut low, mut high]) = extent(&points) else {
        // An empty world.
        return Camera::from_bearing(DVec3::new(0.0, 8.0, 0.0), 0.0, -10.0, lens.fov_degrees);
    };
    // Show the side of a world that is cut off below, unless it is deep.
    let side = 0.5 * (high - low).max_element();
    let lowest = bounds(scene)[0].y;
    let under = underside(scene, [DVec3::new(low.x, lowest, low.z), high]);
    low.y = (low.y - side).max(under).min(low.y);
    // The surface may extend half the spacing of the probes beyond the outermost hits.
    let beyond = 0.5 * (high - low) / PROBES as f64 * DVec3::new(1.0, 0.0, 1.0);
    (low, high) = (low - beyond, high + beyond);
    let target = (low + high) * 0.5;
    let goal = FramingGoal { target, surface_share: 0.8, needs_sight: false, surface_bounds: None };
    let candidates = (0..8).flat_map(|turn| {
        let yaw = 25.0 + 45.0 * f64::from(turn);
        [-22.0, -30.0, -40.0].map(|pitch| fit_camera([low, high], [yaw, pitch], lens))
    });
    best(scene, &goal, candidates, lens.aspect).1
}

/// Returns the best view of `target` from `distance` cells away.
pub fn around(scene: &Scene, target: DVec3, distance: f64, lens: Lens) -> Camera {
    rated_around(scene, target, distance, lens).1
}

/// As [`around`], with the rating.
fn rated_around(scene: &Scene, target: DVec3, distance: f64, lens: Lens) -> (f64, Camera) {
    let surface_bounds = extent(&probed_points(scene));
    let goal = FramingGoal { target, surface_share: 0.75, needs_sight: true, surface_bounds };
    let candidates = (0..12).flat_map(|turn| {
        let yaw = 30.0 * f64::from(turn);
        [-7.0, -14.0, -24.0, -36.0].map(|pitch| {
            let eye = target - direction_from_bearing(yaw, pitch) * distance;
            Camera::looking_at(eye, target, lens.fov_degrees)
        })
    });
    best(scene, &goal, candidates, lens.aspect)
}

/// Returns the camera that sees the most land and water beyond `beyond` cells, framed by nearer
/// surfaces; `None` without cameras.
pub fn outlook(
    scene: &Scene,
    beyond: f64,
    cameras: impl Iterator<Item = Camera>,
    aspect: f64,
) -> Option<Camera> {
    let rated = cameras.map(|camera| {
        let [mut near, mut far] = [0.0; 2];
        for at in trial_points() {
            let ray = camera.ray(at, aspect);
            match scene.closest(&ray, RAY_REACH_CELLS, &Filter::BOTH) {
                Some(hit) if hit.distance < beyond => near += 1.0 / TRIAL_RAYS as f64,
                Some(hit) => far += if hit.is_liquid { 1.5 } else { 1.0 } / TRIAL_RAYS as f64,
                None => {}
            }
        }
        (2.0 * far - (near - FRAME_SHARE).abs(), camera)
    });
    rated.reduce(|best, next| if next.0 > best.0 { next } else { best }).map(|best| best.1)
}

/// Returns the points of a trial picture.
fn trial_points() -> impl Iterator<Item = DVec2> {
    let size = DVec2::new(TRIAL[0] as f64, TRIAL[1] as f64);
    (0..TRIAL_RAYS)
        .map(move |i| DVec2::new((i % TRIAL[0]) as f64 + 0.5, (i / TRIAL[0]) as f64 + 0.5) / size)
}

/// Returns a view of water near high land; `None` in a world without water.
pub fn shore(scene: &Scene, lens: Lens) -> Option<Camera> {
    let hits = probe_surface(scene);
    let distance = detail_distance(scene);
    // Prefer high land close by.
    let relief = |at: DVec3| {
        let land = hits.iter().filter(|hit| !hit.is_liquid);
        let close = land.filter(|hit| hit.point.distance(at) < 0.7 * distance);
        close.map(|hit| hit.point.y - at.y).fold(0.0, f64::max)
    };
    let wet = hits.iter().filter(|hit| hit.is_liquid);
    let spots = wet.map(|hit| (relief(hit.point), hit.point)).collect();
    best_of_spots(scene, spots, distance, lens)
}

/// Returns a close view of the most rugged surface; `None` in an empty world.
pub fn close_up(scene: &Scene, lens: Lens) -> Option<Camera> {
    let points = probed_points(scene);
    let distance = detail_distance(scene);
    let relief = |at: DVec3| {
        let close = points.iter().filter(|p| p.distance(at) < 0.5 * distance);
        close.map(|p| (p.y - at.y).abs()).fold(0.0, f64::max)
    };
    let spots = points.iter().map(|&at| (relief(at), at)).collect();
    best_of_spots(scene, spots, distance, lens)
}

/// Returns the best view of the spots of highest relief.
fn best_of_spots(
    scene: &Scene,
    mut spots: Vec<(f64, DVec3)>,
    distance: f64,
    lens: Lens,
) -> Option<Camera> {
    spots.sort_by(|a, b| b.0.total_cmp(&a.0));
    let rated =
        spots.iter().take(RATED_SPOTS).map(|&(_, at)| rated_around(scene, at, distance, lens));
    let best = rated.reduce(|best, next| if next.0 > best.0 { next } else { best });
    best.filter(|best| best.0 > f64::NEG_INFINITY).map(|(_, camera)| camera)
}

/// Returns the middle of land and water, cells.
pub fn land_centre(scene: &Scene) -> DVec3 {
    extent(&probed_points(scene)).map_or(DVec3::ZERO, |[low, high]| (low + high) * 0.5)
}

/// Where a vertical ray from above hits land or water.
struct ProbeHit {
    /// Cells.
    point: DVec3,
    is_liquid: bool,
}

/// Returns the bounds of all surfaces, cells.
fn bounds(scene: &Scene) -> [DVec3; 2] {
    let corner = |p: VoxelPos| DVec3::from(p.to_array().map(f64::from));
    [corner(scene.bounds().min), corner(scene.bounds().max)]
}

/// Probes a box with vertical rays from above.
fn probe_box(scene: &Scene, within: [DVec3; 2]) -> Vec<ProbeHit> {
    let hits = probe_rays(within, 1.0, DVec3::NEG_Y).filter_map(|ray| {
        let hit = scene.closest(&ray, RAY_REACH_CELLS, &Filter::BOTH)?;
        Some(ProbeHit { point: ray.at(hit.distance), is_liquid: hit.is_liquid })
    });
    hits.collect()
}

/// Probes the whole world, then again the bounds of the surface in it, so that a small island in
/// a large world gets as many hits as a full one.
fn probe_surface(scene: &Scene) -> Vec<ProbeHit> {
    let [min, max] = bounds(scene);
    let coarse: Vec<DVec3> = probe_box(scene, [min, max]).iter().map(|hit| hit.point).collect();
    let Some([low, high]) = extent(&coarse) else { return Vec::new() };
    let margin = 1.5 * (max - min) / PROBES as f64;
    let [mut low, mut high] = [(low - margin).max(min), (high + margin).min(max)];
    (low.y, high.y) = (min.y, max.y);
    probe_box(scene, [low, high])
}

fn probed_points(scene: &Scene) -> Vec<DVec3> {
    probe_surface(scene).into_iter().map(|hit| hit.point).collect()
}

/// Returns a grid of vertical rays over a box that start at a share of its height.
fn probe_rays(
    [low, high]: [DVec3; 2],
    height: f64,
    direction: DVec3,
) -> impl Iterator<Item = SceneRay> {
    (0..PROBES * PROBES).map(move |i| {
        let [x, z] = [i % PROBES, i / PROBES].map(|v| (v as f64 + 0.5) / PROBES as f64);
        SceneRay { origin: low + (high - low) * DVec3::new(x, height, z), direction }
    })
}

/// Returns the lowest ground in a box that vertical rays from below hit, cells.
fn underside(scene: &Scene, within: [DVec3; 2]) -> f64 {
    let rays = probe_rays(within, 0.0, DVec3::Y);
    let hits = rays.filter_map(|ray| {
        scene.closest(&ray, RAY_REACH_CELLS, &Filter::SOLID).map(|hit| ray.at(hit.distance).y)
    });
    hits.fold(f64::INFINITY, f64::min)
}

/// Returns the viewing distance of a detail, cells: near enough to see single voxels.
fn detail_distance(scene: &Scene) -> f64 {
    let [x, _, z] = scene.bounds().size();
    (x.max(z) as f64 * 0.2).clamp(24.0, 90.0)
}

/// Returns the bounds of the points without the outermost percent, so that outliers do not count.
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

/// Returns the nearest camera along a bearing that sees the whole box.
fn fit_camera([low, high]: [DVec3; 2], [yaw, pitch]: [f64; 2], lens: Lens) -> Camera {
    let Lens { aspect, fov_degrees } = lens;
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
        let eye = target - direction_from_bearing(yaw, pitch) * distance;
        Camera::from_bearing(eye, yaw, pitch, fov_degrees)
    };
    let spread = |camera: &Camera| {
        let mut corners = (0..8).map(|i| camera.project(corner(i), aspect));
        corners.try_fold([DVec2::INFINITY, DVec2::NEG_INFINITY], |[low, high], next| {
            next.map(|next| [low.min(next), high.max(next)])
        })
    };
    for _ in 0..24 {
        let middle = 0.5 * (near + far);
        let camera = at(target, middle);
        // Perspective moves the box off the middle: move the target until it is centred.
        let fits = spread(&camera).is_some_and(|[low, high]| {
            target += camera.image_plane_offset((low + high) * (0.5 * middle), aspect);
            ((high - low) * 0.5).max_element() <= FILLED_SHARE
        });
        if fits { far = middle } else { near = middle }
    }
    for _ in 0..8 {
        let camera = at(target, far);
        let off = spread(&camera).map_or(DVec2::ZERO, |[low, high]| (low + high) * 0.5);
        target += camera.image_plane_offset(off * far, aspect);
    }
    at(target, far)
}

/// Returns the candidate with the highest rating, the first of equals.
fn best(
    scene: &Scene,
    goal: &FramingGoal,
    candidates: impl Iterator<Item = Camera>,
    aspect: f64,
) -> (f64, Camera) {
    let rated = candidates.map(|camera| (rate(scene, goal, &camera, aspect), camera));
    let best = rated.reduce(|best, next| if next.0 > best.0 { next } else { best });
    best.unwrap_or((f64::NEG_INFINITY, Camera::from_bearing(goal.target, 0.0, 0.0, FOV_DEGREES)))
}

/// Statistics of a trial picture, as shares of it.
#[derive(Default)]
struct TrialPicture {
    /// Land and water.
    surface: f64,
    water: f64,
    /// Lit by the sun.
    sunlit: f64,
    /// Right in front of the lens.
    near: f64,
    /// Sides where the world is cut off.
    cut: f64,
    /// Standard deviation of the ground's slope.
    slope_variation: f64,
}

/// Returns how good a camera's picture is; higher is better.
fn rate(scene: &Scene, goal: &FramingGoal, camera: &Camera, aspect: f64) -> f64 {
    if scene.kind_at(camera.eye) != Kind::Air {
        return f64::NEG_INFINITY;
    }
    let trial = trial_picture(scene, goal, camera, aspect);
    let hidden = goal.needs_sight && !is_in_sight(scene, camera, goal.target);
    let miss = (trial.surface - goal.surface_share).abs();
    let shown = trial.slope_variation + 0.8 * trial.water.min(0.3) + 0.8 * trial.sunlit;
    shown - 1.5 * miss - 4.0 * trial.near - 4.0 * trial.cut - if hidden { 3.0 } else { 0.0 }
}

fn trial_picture(scene: &Scene, goal: &FramingGoal, camera: &Camera, aspect: f64) -> TrialPicture {
    let sun = camera.sun(SUN_ELEVATION_DEGREES).direction();
    let share = 1.0 / TRIAL_RAYS as f64;
    let [mut slope, mut slope_squared] = [0.0; 2];
    let mut picture = TrialPicture::default();
    for at in trial_points() {
        let ray = camera.ray(at, aspect);
        let Some(hit) = scene.closest(&ray, RAY_REACH_CELLS, &Filter::BOTH) else { continue };
        let normal = DVec3::from(hit.normal.map(f64::from));
        let point = ray.at(hit.distance) + normal * 0.05;
        let facing = normal.dot(sun) > 0.0;
        let lit = facing
            && !scene.is_blocked(&SceneRay { origin: point, direction: sun }, RAY_REACH_CELLS);
        slope += normal.y;
        slope_squared += normal.y * normal.y;
        picture.surface += share;
        picture.water += if hit.is_liquid { share } else { 0.0 };
        picture.sunlit += if lit { share } else { 0.0 };
        picture.near +=
            if hit.distance < 0.35 * camera.eye.distance(goal.target) { share } else { 0.0 };
        picture.cut += if goal.surface_bounds.is_some_and(|bounds| is_on_side(bounds, point)) {
            share
        } else {
            0.0
        };
    }
    let hits = (picture.surface / share).max(1.0);
    picture.slope_variation = (slope_squared / hits - (slope / hits).powi(2)).max(0.0).sqrt();
    picture
}

/// Returns whether the target is visible, up to a tolerance of 2.5 cells.
fn is_in_sight(scene: &Scene, camera: &Camera, target: DVec3) -> bool {
    let way = target - camera.eye;
    let ray = SceneRay { origin: camera.eye, direction: way.normalize() };
    !scene.is_blocked(&ray, way.length() - 2.5)
}

/// Returns whether a point lies beyond the outermost probes that hit land or water: on or close to
/// a side where the world is cut off.
fn is_on_side([low, high]: [DVec3; 2], point: DVec3) -> bool {
    let beside = |v: f64, low: f64, high: f64| v < low || v > high;
    beside(point.x, low.x, high.x) || beside(point.z, low.z, high.z)
}
