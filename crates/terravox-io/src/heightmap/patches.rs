//! Noise by which the materials of a heightmap meet in patches and not along contour lines.

use terravox::generate::{Noise2, Noise2Cursor};

/// Widths of patches, voxels, and how much each counts.
const OCTAVES: [(f64, f64); 3] = [(47.0, 0.5), (17.0, 0.35), (6.0, 0.25)];

/// By how much patches move slopes, as a share, and heights, as a share of their range.
const SLOPE_SHARE: f64 = 0.35;
const HEIGHT_SHARE: f64 = 0.09;

/// Moves the heights and slopes that rules see.
pub(super) struct Patches {
    amount: f64,
    /// Lowest to highest sample, voxels.
    range: f64,
    noises: [[Noise2Cursor; 3]; 2],
}

impl Patches {
    /// `amount` is 0 for none to 1.
    pub(super) fn new(amount: f64, [low, high]: [f64; 2]) -> Patches {
        let noises = [0x51, 0x61]
            .map(|seed: u64| [0, 1, 2].map(|octave| Noise2::new(seed + octave).cursor()));
        Patches { amount, range: high - low, noises }
    }

    /// Returns the height and the slope at a column as rules see them, voxels and rise over run.
    pub(super) fn moved(&mut self, column: [i64; 2], height: f64, slope: f64) -> [f64; 2] {
        if self.amount == 0.0 {
            return [height, slope];
        }
        let [x, z] = column.map(|v| v as f64);
        let [by_height, by_slope] = self.noises.each_mut().map(|noises| -> f64 {
            let octaves = noises.iter_mut().zip(OCTAVES);
            octaves.map(|(noise, (period, weight))| weight * noise.at(x / period, z / period)).sum()
        });
        [
            height + self.amount * HEIGHT_SHARE * self.range * by_height,
            slope * (1.0 + self.amount * SLOPE_SHARE * by_slope).max(0.0),
        ]
    }
}
