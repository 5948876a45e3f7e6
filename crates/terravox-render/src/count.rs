//! How many rays a picture took, and how long.

use std::ops::AddAssign;
use std::time::Duration;

/// Rays by what they were for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RayCounts {
    /// From the eye.
    pub primary: u64,
    /// From what they met towards the sun.
    pub shadow: u64,
    /// Mirrored by water, and into it.
    pub water: u64,
}

impl RayCounts {
    /// All of them.
    pub fn total(&self) -> u64 {
        self.primary + self.shadow + self.water
    }
}

impl AddAssign for RayCounts {
    fn add_assign(&mut self, other: RayCounts) {
        self.primary += other.primary;
        self.shadow += other.shadow;
        self.water += other.water;
    }
}

/// What a picture took.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RenderStats {
    /// Rays of all threads.
    pub rays: RayCounts,
    /// Time that the threads were at work on a core, together: casting, meshing what is
    /// met first, and shading.
    pub cpu: Duration,
}

impl RenderStats {
    /// Rays a second and core; 0 if there was nothing to do.
    pub fn rays_per_second(&self) -> f64 {
        let seconds = self.cpu.as_secs_f64();
        if seconds > 0.0 { self.rays.total() as f64 / seconds } else { 0.0 }
    }
}

impl AddAssign for RenderStats {
    fn add_assign(&mut self, other: RenderStats) {
        self.rays += other.rays;
        self.cpu += other.cpu;
    }
}
