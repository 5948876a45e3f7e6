//! Seeded random numbers.
//!
//! Source: SplitMix64 ([`crate::math::mixed`]).

use crate::math::{MIXED_STEP, mixed};
use glam::Vec3;

/// A seeded generator.
#[derive(Clone, Debug)]
pub(super) struct Random(pub u64);

impl Random {
    /// Returns the next 64 bits.
    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(MIXED_STEP);
        mixed(self.0)
    }

    /// Returns a number in 0..1.
    pub fn unit(&mut self) -> f32 {
        (self.bits() >> 40) as f32 / (1u32 << 24) as f32
    }

    /// Returns a number between the two.
    pub fn between(&mut self, ends: [f32; 2]) -> f32 {
        ends[0] + (ends[1] - ends[0]) * self.unit()
    }

    /// Returns a uniformly distributed point of the unit ball, excluding its centre.
    pub fn in_ball(&mut self) -> Vec3 {
        loop {
            let point = Vec3::from([0; 3].map(|_| 2.0 * self.unit() - 1.0));
            if (1e-4..=1.0).contains(&point.length_squared()) {
                return point;
            }
        }
    }

    /// Returns a uniformly distributed point of the unit disc.
    pub fn in_disc(&mut self) -> [f32; 2] {
        loop {
            let [x, y] = [0; 2].map(|_| 2.0 * self.unit() - 1.0);
            if x * x + y * y <= 1.0 {
                return [x, y];
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn points_are_inside_ball_and_disc_and_centred() {
        let mut random = Random(4);
        let mut sum = Vec3::ZERO;
        for _ in 0..4000 {
            let point = random.in_ball();
            assert!(point.length() <= 1.0);
            sum += point;
            let [x, y] = random.in_disc();
            assert!(x * x + y * y <= 1.0);
        }
        assert!(sum.length() < 150.0, "{sum}");
    }
}
