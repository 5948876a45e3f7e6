//! A box, rounded inward to the grid of positions.

use super::leaf::{MAX_POSITION, MIDDLE, STEPS};
use super::node::{WIDTH, byte_of};

/// A box on the grid of positions.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct BoxQuery {
    /// Upper limits for the low corner of a box and for that of its mirror image.
    pub limits: [[i16; 3]; 2],
    /// The same for bytes of nodes, each repeated four times.
    pub bytes: [[[u8; WIDTH]; 3]; 2],
}

impl BoxQuery {
    /// The box from `min` to `max`, cells; `None` if it is invalid or out of reach of a block.
    pub fn new(min: [f32; 3], max: [f32; 3]) -> Option<BoxQuery> {
        let end = f32::from(MAX_POSITION);
        let mut limits = [[0; 3]; 2];
        for axis in 0..3 {
            let low = ((min[axis] - MIDDLE) * STEPS).ceil();
            let high = ((max[axis] - MIDDLE) * STEPS).floor();
            // False for NaN.
            if !(min[axis] <= max[axis] && high >= -end && low <= end) {
                return None;
            }
            limits[0][axis] = high.min(end) as i16;
            limits[1][axis] = -(low.max(-end) as i16);
        }
        let bytes = limits.map(|corner| corner.map(|limit| [byte_of(limit); WIDTH]));
        Some(BoxQuery { limits, bytes })
    }
}
