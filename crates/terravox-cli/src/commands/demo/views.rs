//! What the demo's pictures show: the whole world, the tunnel, and the water (or, in a
//! world without any, the tunnel's mouth).

use super::tunnel::Tunnel;
use glam::{DQuat, DVec3};
use std::ops::Range;
use terravox_render::{self as render, Camera, FAR, FOV_DEGREES, Ray, Scene};

/// Balls between the camera in the tunnel and the open.
const WALLS: Range<usize> = 1..5;

/// How far the camera in the tunnel stands above its line, voxels.
const EYE: f64 = 1.2;

/// How far the camera in the tunnel looks beside that way, degrees.
const ASIDE: [f64; 3] = [-20.0, 0.0, 20.0];

/// How steeply the camera in the tunnel looks down, fall over run.
const DOWN: [f64; 3] = [0.0, 0.07, 0.14];

/// What the camera in the tunnel should see is farther off than this, voxels.
const FAR_OFF: f64 = 30.0;

/// Opening angle of that camera, degrees.
const TUNNEL_FOV_DEGREES: f64 = 66.0;

/// A picture to take.
pub struct View {
    /// Name of its step.
    pub step: &'static str,
    /// Name of its file.
    pub file: &'static str,
    /// Where it is taken from.
    pub camera: Camera,
    /// Where the sun stands, if not where it usually does.
    pub sun: Option<[f64; 2]>,
}

/// The three views, in order.
pub fn views(scene: &Scene, tunnel: &Tunnel, aspect: f64) -> Vec<View> {
    let overview = render::overview(scene, aspect, FOV_DEGREES);
    let overview =
        View { step: "picture overview", file: "overview.png", camera: overview, sun: None };
    let tunnel = View {
        step: "picture tunnel",
        file: "tunnel.png",
        camera: in_tunnel(scene, tunnel, aspect),
        sun: None,
    };
    let shore = render::shore(scene, [aspect, FOV_DEGREES]);
    let (step, file, camera) = match shore {
        Some(camera) => ("picture water", "water.png", camera),
        None => ("picture detail", "detail.png", detail(scene, aspect)),
    };
    vec![overview, tunnel, View { step, file, camera, sun: None }]
}

/// Inside, looking out of the end with the better view; or, where none was dug, at the
/// land from near.
fn in_tunnel(scene: &Scene, tunnel: &Tunnel, aspect: f64) -> Camera {
    let cell = f64::from(1_u32 << scene.mip());
    let forward: Vec<DVec3> = tunnel.centres.iter().map(|&c| DVec3::from(c) / cell).collect();
    let backward: Vec<DVec3> = forward.iter().rev().copied().collect();
    let mut cameras = Vec::new();
    for balls in [forward, backward] {
        let roofed = |at: &DVec3| {
            let ray = Ray { origin: *at, direction: DVec3::Y };
            scene.blocked(&ray, FAR)
        };
        let Some(mouth) = balls.iter().position(roofed) else { continue };
        for wall in WALLS {
            let Some(&middle) = balls.get(mouth + wall) else { continue };
            let eye = middle + DVec3::Y * (EYE / cell);
            let out = (balls[0] - middle).normalize_or(DVec3::X);
            for (aside, down) in ASIDE.iter().flat_map(|a| DOWN.iter().map(move |d| (*a, *d))) {
                let way = DQuat::from_rotation_y(f64::to_radians(aside)) * out;
                let target = eye + way - DVec3::Y * down;
                cameras.push(Camera::looking_at(eye, target, TUNNEL_FOV_DEGREES));
            }
        }
    }
    render::outlook(scene, FAR_OFF / cell, cameras.into_iter(), aspect)
        .unwrap_or_else(|| detail(scene, aspect))
}

/// The land from near, or the whole if there is no spot to look at.
fn detail(scene: &Scene, aspect: f64) -> Camera {
    render::closer(scene, [aspect, FOV_DEGREES])
        .unwrap_or_else(|| render::overview(scene, aspect, FOV_DEGREES))
}
