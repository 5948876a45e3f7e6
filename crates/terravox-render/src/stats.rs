//! Cost of a picture: rays and time.

use std::ops::AddAssign;
use std::time::Duration;

/// Rays by purpose.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RayCounts {
    /// From the eye.
    pub primary: u64,
    /// From surfaces towards the sun.
    pub shadow: u64,
    /// Reflected and refracted by water.
    pub water: u64,
}

impl RayCounts {
    /// Returns the number of rays of all kinds.
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

/// The cost of a picture.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RenderStats {
    /// Rays of all threads.
    pub rays: RayCounts,
    /// CPU time of all threads: casting rays, meshing blocks when they are first hit, shading.
    pub cpu: Duration,
}

impl RenderStats {
    /// Returns rays per second per core; 0 if no time was spent.
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
