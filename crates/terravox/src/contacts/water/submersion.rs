//! The result: how much of a body is under water.

use glam::Vec3;

/// How much of a body is under water, and where. Volumes in voxels³, areas in voxels².
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Submersion {
    /// Volume of the whole body; where parts overlap it counts twice.
    pub body_volume: f32,
    /// Volume under water.
    pub volume: f32,
    /// Centre of the volume under water, relative to the body's position: where buoyancy acts.
    pub centre: [f32; 3],
    /// Area under water as seen along x, y and z: what drag acts on, by the components of the
    /// velocity. For several parts it is the sum.
    pub area: [f32; 3],
}

impl Submersion {
    /// Returns the share of the body's volume that is under water, 0 to 1.
    pub fn share(&self) -> f32 {
        if self.body_volume > 0.0 { (self.volume / self.body_volume).min(1.0) } else { 0.0 }
    }

    /// Adds a part.
    pub(super) fn add(&mut self, part: Submersion) {
        self.body_volume += part.body_volume;
        let volume = self.volume + part.volume;
        if part.volume > 0.0 {
            let share = part.volume / volume;
            self.centre = Vec3::from(self.centre).lerp(part.centre.into(), share).to_array();
        }
        self.volume = volume;
        self.area = [0, 1, 2].map(|i| self.area[i] + part.area[i]);
    }
}
