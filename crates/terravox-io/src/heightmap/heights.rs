//! A grid of height samples.

use super::error::HeightmapError;
use super::limits::MAX_HEIGHT_SAMPLES;

/// A grid of heights, as fractions of the full height: 0 to 1.
#[derive(Clone, Debug, PartialEq)]
pub struct Heights {
    pub(super) size: [usize; 2],
    pub(super) values: Vec<f32>,
    /// Quantization step of the values; 0 if they are exact.
    pub(super) step: f32,
}

impl Heights {
    /// Maximum number of samples of a heightmap.
    pub const MAX_SAMPLES: u64 = MAX_HEIGHT_SAMPLES;

    /// Creates heights from `values`, row by row. `size` is [samples per row (along x), rows (along
    /// z)]. 1 is the full height; values may lie outside 0 to 1.
    ///
    /// # Errors
    /// If there are no values, their number does not match `size` or exceeds
    /// [`Heights::MAX_SAMPLES`], or one is NaN or infinite.
    pub fn new(size: [usize; 2], values: Vec<f32>) -> Result<Heights, HeightmapError> {
        check_size(size[0] as u64, size[1] as u64)?;
        if values.len() != size[0] * size[1] {
            let [w, d] = size;
            return Err(HeightmapError::Options(format!(
                "{} heights are not {w} × {d} samples",
                values.len()
            )));
        }
        match values.iter().position(|value| !value.is_finite()) {
            Some(i) => Err(HeightmapError::Options(format!("height {i} is not a finite number"))),
            None => Ok(Heights { size, values, step: 0.0 }),
        }
    }

    /// Returns [samples per row (along x), rows (along z)].
    pub fn size(&self) -> [usize; 2] {
        self.size
    }

    /// Returns the lowest and the highest value.
    pub fn range(&self) -> [f32; 2] {
        let low = self.values.iter().copied().fold(f32::INFINITY, f32::min);
        let high = self.values.iter().copied().fold(f32::NEG_INFINITY, f32::max);
        [low, high]
    }
}

/// Refuses empty and too large heightmaps.
pub(super) fn check_size(width: u64, depth: u64) -> Result<(), HeightmapError> {
    let samples = width.saturating_mul(depth);
    match samples {
        0 => Err(HeightmapError::Empty),
        1..=MAX_HEIGHT_SAMPLES => Ok(()),
        _ => {
            let what = "samples of the heightmap";
            Err(HeightmapError::TooLarge { what, found: samples, limit: MAX_HEIGHT_SAMPLES })
        }
    }
}
