//! What the demo's pictures show: the whole world, the tunnel, and the water (or, in a
//! world without any, the tunnel's mouth).

use super::tunnel::Tunnel;
use crate::render::{self, Camera, FOV_DEGREES, Scene, Scratch};
use glam::DVec3;

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

/// Inside, looking out of the nearer end; or, where none was dug, at the land from near.
fn in_tunnel(scene: &Scene, tunnel: &Tunnel, aspect: f64, scratch: &mut Scratch) -> Camera {
    let cell = f64::from(1_u32 << scene.mip());
    let at = |i: usize| DVec3::from(tunnel.centres[i]) / cell;
    let count = tunnel.centres.len();
    if count < 8 {
        return detail(scene, aspect, scratch);
    }
    let eye = at((count / 4).max(6)) + DVec3::Y * (0.8 / cell);
    let target = at(0);
    Camera::looking_at(eye, target, 62.0)
}

/// The land from near, or the whole if there is no spot to look at.
fn detail(scene: &Scene, aspect: f64, scratch: &mut Scratch) -> Camera {
    render::closer(scene, [aspect, FOV_DEGREES], scratch)
        .unwrap_or_else(|| render::overview(scene, aspect, FOV_DEGREES, scratch))
}
