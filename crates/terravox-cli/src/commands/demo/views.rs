//! What the demo's pictures show: the whole world, the tunnel, and the water (or, in a
//! world without any, the tunnel's mouth).

use super::tunnel::{PAST, STEP, Tunnel};
use crate::render::{self, Camera, FOV_DEGREES, Scene, Scratch};
use glam::DVec3;

/// Tunnel between the camera in it and the open, voxels.
const WALL: f64 = 9.0;

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
    // A few voxels of wall around the view.
    let inside = ((PAST + WALL) / STEP) as usize;
    if inside >= tunnel.centres.len() {
        return detail(scene, aspect, scratch);
    }
    let eye = at(inside) + DVec3::Y * (0.6 / cell);
    Camera::looking_at(eye, at(inside - 3) - DVec3::Y * (0.5 / cell), 68.0)
}

/// The land from near, or the whole if there is no spot to look at.
fn detail(scene: &Scene, aspect: f64, scratch: &mut Scratch) -> Camera {
    render::closer(scene, [aspect, FOV_DEGREES], scratch)
        .unwrap_or_else(|| render::overview(scene, aspect, FOV_DEGREES, scratch))
}
