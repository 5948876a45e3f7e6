//! Half-lines through a scene.

use glam::DVec3;

/// Length of rays that reach past any world, cells.
pub const RAY_REACH_CELLS: f64 = 1e10;

/// A half-line, in cells of the scene's mip.
#[derive(Clone, Copy, Debug)]
pub struct SceneRay {
    /// Start, cells.
    pub origin: DVec3,
    /// Unit length.
    pub direction: DVec3,
}

impl SceneRay {
    /// Returns the point `distance` cells along the ray.
    pub fn at(&self, distance: f64) -> DVec3 {
        self.origin + self.direction * distance
    }
}
