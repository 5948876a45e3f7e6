//! Heights of a grid of numbers, and what they cost.

use super::error::HeightmapError;
use super::heights::Heights;
use crate::import_budget::{BudgetError, ImportBudget};

/// Memory of a sample: its height, and a copy of it that smoothing takes.
const SAMPLE_BYTES: u64 = 8;
/// Units of work of a sample.
const SAMPLE_WORK: u64 = 32;

/// Heights of a grid of numbers.
#[derive(Clone, Debug, PartialEq)]
pub struct GridHeights {
    /// The numbers as they are: 1 is one unit. Where a number is NaN or infinite, or `null` in JSON, the
    /// lowest of the rest.
    pub heights: Heights,
    /// Samples without data.
    pub without_data: u64,
}

/// Spends what the samples of a grid cost.
pub(super) fn spend_grid(samples: u64, budget: &mut ImportBudget) -> Result<(), BudgetError> {
    budget.spend_memory("its samples", SAMPLE_BYTES * samples)?;
    budget.spend_work("its samples", SAMPLE_WORK * samples)
}

/// Puts the lowest height where there is none.
pub(super) fn gathered(
    size: [usize; 2],
    mut values: Vec<f32>,
) -> Result<GridHeights, HeightmapError> {
    let finite = values.iter().copied().filter(|value| value.is_finite());
    let lowest = finite.fold(f32::INFINITY, f32::min);
    if lowest == f32::INFINITY {
        return Err(HeightmapError::Grid("no number in it is finite".to_owned()));
    }
    let mut without_data = 0;
    for value in values.iter_mut().filter(|value| !value.is_finite()) {
        *value = lowest;
        without_data += 1;
    }
    Ok(GridHeights { heights: Heights::new(size, values)?, without_data })
}
