//! What an operation costs, and what it may cost, as plain data.

/// What one operation may cost. A costlier operation is refused with
/// [`EditError::TooCostly`](super::EditError::TooCostly) before it changes anything. Undo and redo
/// have no limit.
///
/// ```
/// use terravox::edit::{EditError, EditLimits, EditOp, Editor};
/// use terravox::voxel::VoxelGrid;
///
/// // A player digs up to 10 voxels around; the default is for editors.
/// let limits = EditLimits { max_cells: 1 << 17, max_chunks: 64, max_work: 10_000_000 };
/// let mut editor = Editor::new(limits);
/// let mut grid = VoxelGrid::default();
/// editor.apply(&mut grid, &EditOp::fill_ball(8, [0.0; 3], 10.0), None)?;
/// let refused = editor.apply(&mut grid, &EditOp::dig_ball([0.0; 3], 100.0), None);
/// assert!(matches!(refused, Err(EditError::TooCostly { .. })));
/// # Ok::<(), EditError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(default, deny_unknown_fields))]
pub struct EditLimits {
    /// Maximum number of cells. The limit [`EditOp::MAX_CELLS`](super::EditOp::MAX_CELLS) applies
    /// in any case.
    pub max_cells: u64,
    /// Maximum number of chunks.
    pub max_chunks: u64,
    /// Maximum work, in the unit of [`EditCost::work`].
    pub max_work: u64,
}

impl Default for EditLimits {
    /// For an editor on one's own machine: a box of 512³ cells, 16,384 chunks, some two seconds.
    fn default() -> EditLimits {
        EditLimits { max_cells: 1 << 27, max_chunks: 1 << 14, max_work: 4_000_000_000 }
    }
}

impl EditLimits {
    /// Returns the limits multiplied by `factor`.
    pub fn times(self, factor: u32) -> EditLimits {
        let times = |limit: u64| limit.saturating_mul(factor.into());
        EditLimits {
            max_cells: times(self.max_cells),
            max_chunks: times(self.max_chunks),
            max_work: times(self.max_work),
        }
    }

    /// Returns whether an operation of this cost is allowed.
    pub fn allow(&self, cost: &EditCost) -> bool {
        cost.cells <= self.max_cells && cost.chunks <= self.max_chunks && cost.work <= self.max_work
    }
}

/// The cost of an operation: upper bounds of its cells and chunks, and an estimate of its work. See
/// [`Editor::estimate`](super::Editor::estimate).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct EditCost {
    /// Number of cells in the boxes that it changes or copies; no other cells are changed.
    pub cells: u64,
    /// Number of chunks that it reads or writes, listed or not.
    pub chunks: u64,
    /// Work in units of about half a nanosecond on one core of the machine of `docs/benchmarks.md`
    /// (`edit_estimate_error`: 2.1 units a nanosecond); the same number on every machine.
    pub work: u64,
}
