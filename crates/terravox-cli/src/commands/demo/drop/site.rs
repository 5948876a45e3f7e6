//! Where the bodies fall, where the ground is dug away, and from where it is looked at.

use glam::{DVec2, DVec3};
use terravox::collide::{Collider, Filter, Ray};
use terravox::voxel::{Kind, Region};
use terravox_render::{self as render, Camera, FOV_DEGREES, Scene, direction_of};

/// Radius of the round in which bodies fall, voxels.
pub const RADIUS: f64 = 31.0;

/// Voxels from one feeler to the next.
const STEP: f64 = 4.0;

/// The site is looked for no farther than this from the middle of the world, voxels.
const SEARCH: f64 = 384.0;

/// Share of the round that should be water.
const WATER: f64 = 0.45;

/// Degrees above the horizon and voxels away of the cameras that are tried.
const AROUND: [(f64, f64); 3] = [(-28.0, 86.0), (-35.0, 84.0), (-42.0, 82.0)];

/// Radius of the pit, voxels.
pub const PIT: f64 = 8.0;

/// The surface as felt from above.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Felt {
    /// Where, voxels.
    pub point: DVec3,
    /// Depth of the water there, voxels; 0 on land.
    pub depth: f64,
    /// The upward part of the ground's normal.
    pub up: f64,
}

/// Feels a column from above; `None` where nothing is.
pub fn feel(ground: &Collider, bounds: Region, [x, z]: [f64; 2]) -> Option<Felt> {
    let top = f64::from(bounds.max.y) + 2.0;
    let ray = Ray::new([x, top, z], [0.0, -1.0, 0.0], 1e9);
    let first = ground.ray(&ray, &Filter::BOTH).found?;
    let solid = match first.liquid {
        true => ground.ray(&ray, &Filter::SOLID).found,
        false => Some(first),
    };
    let depth = solid.as_ref().map_or(1e3, |hit| hit.distance - first.distance);
    let up = solid.map_or(0.0, |hit| f64::from(hit.normal[1]));
    Some(Felt { point: DVec3::from(first.point), depth, up })
}

/// The middle of the round that is best to drop bodies on: part land and part deep water,
/// the land not too steep; `None` where there is nothing at all.
pub fn find(ground: &Collider, bounds: Region) -> Option<DVec3> {
    let range = |low: i32, high: i32| {
        let [low, high] = [low, high].map(f64::from);
        let middle = 0.5 * (low + high);
        let low = low.max(middle - SEARCH) + 0.5;
        (low, ((high.min(middle + SEARCH) - low) / STEP) as usize)
    };
    let (x, columns) = range(bounds.min.x, bounds.max.x);
    let (z, rows) = range(bounds.min.z, bounds.max.z);
    let place = |i: usize| [x + STEP * (i % columns) as f64, z + STEP * (i / columns) as f64];
    let felt: Vec<Option<Felt>> =
        (0..columns * rows).map(|i| feel(ground, bounds, place(i))).collect();
    let reach = (RADIUS / STEP).ceil() as i32;
    let rated = (0..felt.len()).filter_map(|i| {
        let middle = felt[i]?;
        let around = (-reach..=reach).flat_map(|row| (-reach..=reach).map(move |c| [c, row]));
        let at = |[column, row]: [i32; 2]| {
            let column = (i % columns) as i32 + column;
            let row = (i / columns) as i32 + row;
            let within = (0..columns as i32).contains(&column) && (0..rows as i32).contains(&row);
            if within { felt[row as usize * columns + column as usize] } else { None }
        };
        Some((rate(around.map(at)), middle.point))
    });
    rated.reduce(|best, next| if next.0 > best.0 { next } else { best }).map(|best| best.1)
}

/// How good a site is: what was felt all over it.
fn rate(felt: impl Iterator<Item = Option<Felt>>) -> f64 {
    let [mut count, mut gone, mut wet, mut deep, mut land, mut level, mut rough] = [0.0; 7];
    for felt in felt {
        count += 1.0;
        let Some(felt) = felt else {
            gone += 1.0;
            continue;
        };
        if felt.depth > 0.0 {
            wet += 1.0;
            deep += felt.depth.min(6.0) / 6.0;
        } else {
            land += 1.0;
            level += felt.up;
            rough += if felt.up < 0.8 { 1.0 } else { 0.0 };
        }
    }
    let miss = (wet / count - WATER).abs();
    let [wet, land] = [wet, land].map(|n: f64| n.max(1.0));
    // Over the edge of the world bodies are lost: no site that reaches it is as good as one
    // that does not.
    -20.0 * gone - 3.0 * miss + 0.6 * deep / wet + level / land - rough / land
}

/// Where to dig: under most of the bodies that rest on dry land, far from water.
pub fn pit(ground: &Collider, bounds: Region, resting: &[DVec3]) -> Option<Felt> {
    let flat = |a: DVec3, b: DVec3| DVec2::new(a.x - b.x, a.z - b.z).length();
    let count = |at: DVec3| resting.iter().filter(|other| flat(at, **other) < PIT).count();
    let mut rated: Vec<(usize, DVec3)> = resting.iter().map(|&at| (count(at), at)).collect();
    rated.sort_by_key(|(count, _)| std::cmp::Reverse(*count));
    rated.iter().find_map(|&(_, at)| {
        let mut around = (0..32).map(|i| {
            let reach = if i % 2 == 0 { PIT } else { PIT + 3.0 };
            let (sin, cos) = (f64::from(i) * std::f64::consts::TAU / 32.0).sin_cos();
            feel(ground, bounds, [at.x + reach * cos, at.z + reach * sin])
        });
        let dry = |felt: Option<Felt>| felt.is_some_and(|felt| felt.depth == 0.0);
        let middle = feel(ground, bounds, [at.x, at.z])?;
        (around.all(dry) && middle.depth == 0.0).then_some(middle)
    })
}

/// The camera, of many around a place in cells, for which `rate` returns most.
pub fn camera(scene: &Scene, middle: DVec3, rate: impl Fn(&Camera) -> f64) -> Camera {
    let cell = f64::from(1_u32 << scene.mip());
    let mut best = (f64::NEG_INFINITY, Camera::looking_at(middle + DVec3::ONE, middle, 40.0));
    for (pitch, distance) in AROUND {
        for turn in 0..24 {
            let way = direction_of(15.0 * f64::from(turn), pitch);
            let eye = middle - way * (distance / cell);
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

/// Whether a camera sees a place, in cells: no ground is before it, and it is not at the
/// edge of the picture.
pub fn sees(scene: &Scene, camera: &Camera, place: DVec3, aspect: f64) -> bool {
    let at = camera.in_picture(place, aspect);
    let way = place - camera.eye;
    let ray = render::Ray { origin: camera.eye, direction: way.normalize() };
    at.is_some_and(|at| at.abs().max_element() < 0.95) && !scene.blocked(&ray, way.length() - 1.0)
}
