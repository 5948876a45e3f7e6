//! Poses in messages: the position in steps of 1/64 voxel, the rotation in four bytes.
//!
//! Of a unit quaternion, the component of the largest magnitude is left out: it follows from the
//! others, which lie between ±√½ and take ten bits each ("Snapshot Compression", G. Fiedler, 2015).

use super::wire::{Input, MessageError, put_signed};
use crate::bodies::BodyPose;
use crate::voxel::LIMIT;
use std::f64::consts::FRAC_1_SQRT_2;

const STEPS_PER_VOXEL: f64 = 64.0;

const MAX_STEPS: i64 = LIMIT as i64 * 64;

/// The largest value of a component that is written: an even one, so that zero is exact.
const MAX_COMPONENT: u32 = 1022;

/// A pose, as messages have it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct WirePose {
    steps: [i64; 3],
    /// From the lowest bit: three components, ten bits each, then which one is left out.
    rotation: u32,
}

impl WirePose {
    /// Rounds a pose; `None` if it is not finite, beyond the limits of the grid, or without a
    /// rotation.
    pub fn of(pose: &BodyPose) -> Option<WirePose> {
        let mut steps = [0; 3];
        for (step, v) in steps.iter_mut().zip(pose.position_voxels) {
            let scaled = (v * STEPS_PER_VOXEL).round();
            if !scaled.is_finite() || scaled.abs() > MAX_STEPS as f64 {
                return None;
            }
            *step = scaled as i64;
        }
        Some(WirePose { steps, rotation: pack(pose.rotation)? })
    }

    pub fn pose(self) -> BodyPose {
        let position_voxels = self.steps.map(|v| v as f64 / STEPS_PER_VOXEL);
        BodyPose { position_voxels, rotation: unpack(self.rotation) }
    }

    pub fn put(self, out: &mut Vec<u8>) {
        self.steps.iter().for_each(|&v| put_signed(v, out));
        out.extend(self.rotation.to_le_bytes());
    }

    pub fn take(input: &mut Input<'_>) -> Result<WirePose, MessageError> {
        let mut steps = [0; 3];
        for v in &mut steps {
            *v = input.signed()?;
            if v.unsigned_abs() > MAX_STEPS as u64 {
                return input.wrong("a position is beyond the limits of the grid");
            }
        }
        Ok(WirePose { steps, rotation: u32::from_le_bytes(input.array()?) })
    }
}

fn pack(rotation: [f64; 4]) -> Option<u32> {
    let length = rotation.iter().map(|v| v * v).sum::<f64>().sqrt();
    if !(length > 1e-3 && length < 1e3) {
        return None;
    }
    let largest = (0..4).max_by(|&a, &b| rotation[a].abs().total_cmp(&rotation[b].abs()))?;
    // A quaternion and its negative are one rotation.
    let scale = length.copysign(rotation[largest]);
    let mut packed = (largest as u32) << 30;
    let others = (0..4).filter(|&i| i != largest);
    for (at, i) in others.enumerate() {
        let share = (rotation[i] / scale / FRAC_1_SQRT_2 + 1.0) / 2.0;
        let component = (share * f64::from(MAX_COMPONENT)).round() as u32;
        packed |= component.min(MAX_COMPONENT) << (10 * at);
    }
    Some(packed)
}

/// Returns the unit quaternion; every value has one.
fn unpack(packed: u32) -> [f64; 4] {
    let largest = (packed >> 30) as usize;
    let mut rotation = [0.0; 4];
    let others = (0..4).filter(|&i| i != largest);
    for (at, i) in others.enumerate() {
        let component = packed >> (10 * at) & 1023;
        let share = f64::from(component) / f64::from(MAX_COMPONENT);
        rotation[i] = (share * 2.0 - 1.0) * FRAC_1_SQRT_2;
    }
    let square: f64 = rotation.iter().map(|v| v * v).sum();
    rotation[largest] = (1.0 - square).max(0.0).sqrt();
    let length = square.max(1.0).sqrt();
    rotation.map(|v| v / length)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_pose_comes_back_nearly_as_it_was(
            position_voxels in prop::array::uniform3(-1e9..1e9f64),
            rotation in prop::array::uniform4(-1.0..1.0f64),
        ) {
            let pose = BodyPose { position_voxels, rotation };
            let Some(wire) = WirePose::of(&pose) else { return Ok(()) };
            let mut bytes = Vec::new();
            wire.put(&mut bytes);
            let mut input = Input::new(&bytes);
            prop_assert_eq!(WirePose::take(&mut input), Ok(wire));
            prop_assert!(input.is_empty());
            let back = wire.pose();
            for (a, b) in back.position_voxels.iter().zip(position_voxels) {
                prop_assert!((a - b).abs() <= 0.5 / STEPS_PER_VOXEL);
            }
            let length = rotation.iter().map(|v| v * v).sum::<f64>().sqrt();
            let dot: f64 = back.rotation.iter().zip(rotation).map(|(a, b)| a * b / length).sum();
            // Three components are off by half a step each. The largest follows from them: where
            // all four are equal, it is off by as much as the three together. The last factor is
            // for terms of second order.
            let half_step = FRAC_1_SQRT_2 / f64::from(MAX_COMPONENT);
            let bound = 2.0 * (3.0_f64 + 9.0).sqrt() * half_step * 1.01;
            // The cosine of half the angle between them.
            prop_assert!(2.0 * dot.abs().min(1.0).acos() < bound, "{}", dot);
        }

        #[test]
        fn every_code_of_a_rotation_is_a_unit_quaternion(packed: u32) {
            let length: f64 = unpack(packed).iter().map(|v| v * v).sum();
            prop_assert!((length - 1.0).abs() < 1e-9);
        }
    }

    #[test]
    fn what_is_no_pose_is_not_sent() {
        let unit = [0.0, 0.0, 0.0, 1.0];
        for position_voxels in [[f64::NAN, 0.0, 0.0], [0.0, f64::INFINITY, 0.0], [0.0, 0.0, 3e9]] {
            assert_eq!(WirePose::of(&BodyPose { position_voxels, rotation: unit }), None);
        }
        for rotation in [[0.0; 4], [f64::NAN; 4], [f64::INFINITY, 0.0, 0.0, 0.0]] {
            assert_eq!(WirePose::of(&BodyPose { position_voxels: [0.0; 3], rotation }), None);
        }
    }
}
