//! What the demo's pictures show: the whole world, the tunnel, and the water (or, in a
//! world without any, the tunnel's mouth).

use super::tunnel::{STEP, Tunnel};
use crate::render::{self, Camera, FAR, FOV_DEGREES, Ray, Scene, Scratch};
use glam::DVec3;

/// Tunnel between the camera in it and the open, voxels.
const WALL: f64 = 8.0;

/// Opening angle of the camera in the tunnel, degrees.
const TUNNEL_FOV_DEGREES: f64 = 72.0;

/// A picture to take.
pub struct View {
    /// Name of its step.
    pub step: &'static str,
    /// Name of its file.
    pub file: &'static str,
    /// Where it is taken from.
    pub camera: Camera,
}

/// The three views, in order.
pub fn views(scene: &Scene, tunnel: &Tunnel, aspect: f64) -> Vec<View> {
    let mut scratch = Scratch::default();
    let overview = render::overview(scene, aspect, FOV_DEGREES, &mut scratch);
    let overview = View { step: "picture overview", file: "overview.png", camera: overview };
    let tunnel = View {
        step: "picture tunnel",
        file: "tunnel.png",
        camera: in_tunnel(scene, tunnel, aspect, &mut scratch),
    };
    let shore = render::shore(scene, [aspect, FOV_DEGREES], &mut scratch);
    let (step, file, camera) = match shore {
        Some(camera) => ("picture water", "water.png", camera),
        None => ("picture detail", "detail.png", detail(scene, aspect, &mut scratch)),
    };
    vec![overview, tunnel, View { step, file, camera }]
}

/// Inside, looking out of the end with the better view; or, where none was dug, at the
/// land from near.
fn in_tunnel(scene: &Scene, tunnel: &Tunnel, aspect: f64, scratch: &mut Scratch) -> Camera {
    let cell = f64::from(1_u32 << scene.mip());
    let at = |i: usize| DVec3::from(tunnel.centres[i]) / cell;
    let roofed = |i: &usize| {
        let ray = Ray { origin: at(*i), direction: DVec3::Y };
        scene.blocked(&ray, FAR, scratch)
    };
    // A few voxels of wall around the view.
    let wall = (WALL / STEP) as usize;
    let eye = (0..tunnel.centres.len()).find(roofed).map(|mouth| mouth + wall);
    match eye.filter(|&eye| eye < tunnel.centres.len()) {
        Some(eye) => Camera::looking_at(at(eye), at(eye - wall - 1), TUNNEL_FOV_DEGREES),
        None => detail(scene, aspect, scratch),
    }
}

/// The land from near, or the whole if there is no spot to look at.
fn detail(scene: &Scene, aspect: f64, scratch: &mut Scratch) -> Camera {
    render::closer(scene, [aspect, FOV_DEGREES], scratch)
        .unwrap_or_else(|| render::overview(scene, aspect, FOV_DEGREES, scratch))
}
