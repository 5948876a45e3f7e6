//! Cameras of the demo's pictures: the whole world, the tunnel, and the water (or, in a world
//! without any, a detail of the land).

use super::tunnel::Tunnel;
use glam::{DQuat, DVec3};
use std::ops::Range;
use terravox_render::framing;
use terravox_render::{Camera, FOV_DEGREES, Lens, RAY_REACH_CELLS, Scene, SceneRay, SunPosition};

/// Balls of the tunnel between its mouth and the camera.
const BALLS_INSIDE: Range<usize> = 1..5;

/// Height of the camera above the tunnel's axis, voxels.
const EYE_HEIGHT_VOXELS: f64 = 1.2;

/// Yaw of the camera from the tunnel's axis, degrees.
const YAW_DEGREES: [f64; 3] = [-20.0, 0.0, 20.0];

/// Downward slope of the camera's view, fall over run.
const DOWN_SLOPES: [f64; 3] = [0.0, 0.07, 0.14];

/// Surfaces beyond this distance count as the view out of the tunnel, voxels.
const OUTSIDE_VOXELS: f64 = 30.0;

/// Vertical field of view of the camera in the tunnel.
const TUNNEL_FOV_DEGREES: f64 = 66.0;

const OVERVIEW: &str = "overview.png";
const TUNNEL: &str = "tunnel.png";
const WATER: &str = "water.png";
const DETAIL: &str = "detail.png";

/// Names of all files that [`pictures`] may name.
pub const FILES: [&str; 4] = [OVERVIEW, TUNNEL, WATER, DETAIL];

/// A picture to take.
pub struct DemoPicture {
    /// Name of its step.
    pub step: &'static str,
    /// Name of its file.
    pub file: &'static str,
    /// Its camera.
    pub camera: Camera,
    /// Position of the sun; by default over the camera's left shoulder.
    pub sun: Option<SunPosition>,
}

/// Returns the three pictures, in order.
pub fn pictures(scene: &Scene, tunnel: &Tunnel, aspect: f64) -> Vec<DemoPicture> {
    let lens = Lens { aspect, fov_degrees: FOV_DEGREES };
    let overview = framing::overview(scene, lens);
    let overview =
        DemoPicture { step: "picture overview", file: OVERVIEW, camera: overview, sun: None };
    let tunnel = DemoPicture {
        step: "picture tunnel",
        file: TUNNEL,
        camera: in_tunnel(scene, tunnel, lens),
        sun: None,
    };
    let shore = framing::shore(scene, lens);
    let (step, file, camera) = match shore {
        Some(camera) => ("picture water", WATER, camera),
        None => ("picture detail", DETAIL, detail(scene, lens)),
    };
    vec![overview, tunnel, DemoPicture { step, file, camera, sun: None }]
}

/// Returns a camera in the tunnel that looks out of the end with the better view; without a
/// tunnel, [`detail`].
fn in_tunnel(scene: &Scene, tunnel: &Tunnel, lens: Lens) -> Camera {
    let cell = f64::from(1_u32 << scene.mip());
    let forward: Vec<DVec3> = tunnel.centres.iter().map(|&c| DVec3::from(c) / cell).collect();
    let backward: Vec<DVec3> = forward.iter().rev().copied().collect();
    let mut cameras = Vec::new();
    for balls in [forward, backward] {
        let has_roof = |at: &DVec3| {
            let ray = SceneRay { origin: *at, direction: DVec3::Y };
            scene.is_blocked(&ray, RAY_REACH_CELLS)
        };
        let Some(mouth) = balls.iter().position(has_roof) else { continue };
        for ball in BALLS_INSIDE {
            let Some(&middle) = balls.get(mouth + ball) else { continue };
            let eye = middle + DVec3::Y * (EYE_HEIGHT_VOXELS / cell);
            let out = (balls[0] - middle).normalize_or(DVec3::X);
            for (aside, down) in
                YAW_DEGREES.iter().flat_map(|a| DOWN_SLOPES.iter().map(move |d| (*a, *d)))
            {
                let forward = DQuat::from_rotation_y(f64::to_radians(aside)) * out;
                let target = eye + forward - DVec3::Y * down;
                cameras.push(Camera::looking_at(eye, target, TUNNEL_FOV_DEGREES));
            }
        }
    }
    framing::outlook(scene, OUTSIDE_VOXELS / cell, cameras.into_iter(), lens.aspect)
        .unwrap_or_else(|| detail(scene, lens))
}

/// Returns a close-up of the land, or an overview without land.
fn detail(scene: &Scene, lens: Lens) -> Camera {
    framing::close_up(scene, lens).unwrap_or_else(|| framing::overview(scene, lens))
}
