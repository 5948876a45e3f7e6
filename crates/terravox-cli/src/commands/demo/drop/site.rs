//! The site of the drop, the pit, and the camera.

use glam::{DVec2, DVec3};
use terravox::collide::{Collider, Filter, Ray};
use terravox::voxel::{Kind, Region};
use terravox_render::{Camera, FOV_DEGREES, Scene, SceneRay, direction_from_bearing};

/// Radius of the disc over which bodies fall.
pub const RADIUS_VOXELS: f64 = 31.0;

/// Distance from one probe to the next.
const PROBE_SPACING_VOXELS: f64 = 4.0;

/// Limit of the site's distance from the middle of the world, per axis.
const SEARCH_VOXELS: f64 = 384.0;

/// Desired share of water.
const WATER_SHARE: f64 = 0.45;

/// Pitch and distance of the candidate cameras.
const CAMERAS: [CameraCandidate; 3] = [
    CameraCandidate { pitch_degrees: -28.0, distance_voxels: 86.0 },
    CameraCandidate { pitch_degrees: -35.0, distance_voxels: 84.0 },
    CameraCandidate { pitch_degrees: -42.0, distance_voxels: 82.0 },
];

struct CameraCandidate {
    pitch_degrees: f64,
    distance_voxels: f64,
}

/// Radius of the pit.
pub const PIT_RADIUS_VOXELS: f64 = 8.0;

/// The surface of a column, probed from above.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SurfaceProbe {
    /// Position, voxels.
    pub point: DVec3,
    /// Depth of the water there, voxels; 0 on land.
    pub depth: f64,
    /// The y component of the ground's normal.
    pub normal_y: f64,
}

/// Probes a column from above; `None` without a surface.
pub fn probe(ground: &Collider, bounds: Region, [x, z]: [f64; 2]) -> Option<SurfaceProbe> {
    let top = f64::from(bounds.max.y) + 2.0;
    let ray = Ray::new([x, top, z], [0.0, -1.0, 0.0], 1e9);
    let first = ground.ray(&ray, &Filter::BOTH).found?;
    let solid = match first.is_liquid {
        true => ground.ray(&ray, &Filter::SOLID).found,
        false => Some(first),
    };
    let depth = solid.as_ref().map_or(1e3, |hit| hit.distance - first.distance);
    let normal_y = solid.map_or(0.0, |hit| f64::from(hit.normal[1]));
    Some(SurfaceProbe { point: DVec3::from(first.point), depth, normal_y })
}

/// Returns the centre of the best disc to drop bodies on: part land and part deep water, the
/// land not too steep; `None` in an empty world.
pub fn find(ground: &Collider, bounds: Region) -> Option<DVec3> {
    let range = |low: i32, high: i32| {
        let [low, high] = [low, high].map(f64::from);
        let middle = 0.5 * (low + high);
        let low = low.max(middle - SEARCH_VOXELS) + 0.5;
        (low, ((high.min(middle + SEARCH_VOXELS) - low) / PROBE_SPACING_VOXELS) as usize)
    };
    let (x, columns) = range(bounds.min.x, bounds.max.x);
    let (z, rows) = range(bounds.min.z, bounds.max.z);
    let column_at = |i: usize| {
        [
            x + PROBE_SPACING_VOXELS * (i % columns) as f64,
            z + PROBE_SPACING_VOXELS * (i / columns) as f64,
        ]
    };
    let probes: Vec<Option<SurfaceProbe>> =
        (0..columns * rows).map(|i| probe(ground, bounds, column_at(i))).collect();
    let reach = (RADIUS_VOXELS / PROBE_SPACING_VOXELS).ceil() as i32;
    let rated = (0..probes.len()).filter_map(|i| {
        let middle = probes[i]?;
        let around = (-reach..=reach).flat_map(|row| (-reach..=reach).map(move |c| [c, row]));
        let at = |[column, row]: [i32; 2]| {
            let column = (i % columns) as i32 + column;
            let row = (i / columns) as i32 + row;
            let within = (0..columns as i32).contains(&column) && (0..rows as i32).contains(&row);
            if within { probes[row as usize * columns + column as usize] } else { None }
        };
        Some((rate(around.map(at)), middle.point))
    });
    rated.reduce(|best, next| if next.0 > best.0 { next } else { best }).map(|best| best.1)
}

/// Rates a site from its probes.
fn rate(probes: impl Iterator<Item = Option<SurfaceProbe>>) -> f64 {
    let [mut count, mut gone, mut wet, mut deep, mut land, mut level, mut rough] = [0.0; 7];
    for probe in probes {
        count += 1.0;
        let Some(probe) = probe else {
            gone += 1.0;
            continue;
        };
        if probe.depth > 0.0 {
            wet += 1.0;
            deep += probe.depth.min(6.0) / 6.0;
        } else {
            land += 1.0;
            level += probe.normal_y;
            rough += if probe.normal_y < 0.8 { 1.0 } else { 0.0 };
        }
    }
    let miss = (wet / count - WATER_SHARE).abs();
    let [wet, land] = [wet, land].map(|n: f64| n.max(1.0));
    // Bodies are lost over the edge of the world: sites beyond it rate below all others.
    -20.0 * gone - 3.0 * miss + 0.6 * deep / wet + level / land - rough / land
}

/// Returns where to dig: under most of the bodies that rest on dry land, away from water.
pub fn pit(ground: &Collider, bounds: Region, resting: &[DVec3]) -> Option<SurfaceProbe> {
    let flat = |a: DVec3, b: DVec3| DVec2::new(a.x - b.x, a.z - b.z).length();
    let count =
        |at: DVec3| resting.iter().filter(|other| flat(at, **other) < PIT_RADIUS_VOXELS).count();
    let mut rated: Vec<(usize, DVec3)> = resting.iter().map(|&at| (count(at), at)).collect();
    rated.sort_by_key(|(count, _)| std::cmp::Reverse(*count));
    rated.iter().find_map(|&(_, at)| {
        let mut around = (0..32).map(|i| {
            let reach = if i % 2 == 0 { PIT_RADIUS_VOXELS } else { PIT_RADIUS_VOXELS + 3.0 };
            let (sin, cos) = (f64::from(i) * std::f64::consts::TAU / 32.0).sin_cos();
            probe(ground, bounds, [at.x + reach * cos, at.z + reach * sin])
        });
        let dry = |probe: Option<SurfaceProbe>| probe.is_some_and(|probe| probe.depth == 0.0);
        let middle = probe(ground, bounds, [at.x, at.z])?;
        (around.all(dry) && middle.depth == 0.0).then_some(middle)
    })
}

/// Returns the candidate camera around a point, in cells, that `rate` rates highest.
pub fn camera(scene: &Scene, middle: DVec3, rate: impl Fn(&Camera) -> f64) -> Camera {
    let cell = f64::from(1_u32 << scene.mip());
    let mut best = (f64::NEG_INFINITY, Camera::looking_at(middle + DVec3::ONE, middle, 40.0));
    for CameraCandidate { pitch_degrees, distance_voxels } in CAMERAS {
        for turn in 0..24 {
            let forward = direction_from_bearing(15.0 * f64::from(turn), pitch_degrees);
            let eye = middle - forward * (distance_voxels / cell);
            if scene.kind_at(eye) != Kind::Air {
                continue;
            }
            let camera = Camera::looking_at(eye, middle, FOV_DEGREES);
            let rating = rate(&camera);
            if rating > best.0 {
                best = (rating, camera);
            }
        }
    }
    best.1
}

/// Returns whether a camera sees a point, in cells: not hidden by ground, and away from the edge
/// of the picture.
pub fn sees(scene: &Scene, camera: &Camera, point: DVec3, aspect: f64) -> bool {
    let at = camera.project(point, aspect);
    let offset = point - camera.eye;
    let ray = SceneRay { origin: camera.eye, direction: offset.normalize() };
    at.is_some_and(|at| at.abs().max_element() < 0.95)
        && !scene.is_blocked(&ray, offset.length() - 1.0)
}
