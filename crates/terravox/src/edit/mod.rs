//! Editing: brushes and their actions, copies, and undo.
//!
//! An edit is plain data, an [`EditOp`]: it can be stored, sent, replayed and undone, and gives the
//! same cells on every machine. [`Editor`] applies it to a grid; a [`History`] records the previous
//! cells, for undo. A [`Journal`] also records the author, for a [`Rollback`]. Operations use only
//! the public API, so you can write tools of your own (`examples/custom_tool.rs`).
//!
//! ```
//! use terravox::edit::{EditOp, Editor, History};
//! use terravox::voxel::{GridOptions, VoxelGrid};
//!
//! let mut grid = VoxelGrid::new(GridOptions::default());
//! let (mut editor, mut history) = (Editor::default(), History::default());
//! let rock = editor.apply(&mut grid, &EditOp::fill_ball(8, [0.0; 3], 6.0), &mut history)?;
//! let dug = editor.apply(&mut grid, &EditOp::dig_ball([4.0, 0.0, 0.0], 3.0), &mut history)?;
//! assert!(dug.removed.units(8) < rock.added.units(8));
//! history.undo(&mut grid)?;
//! history.undo(&mut grid)?;
//! assert_eq!(grid.digest()?, VoxelGrid::default().digest()?);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod apply;
mod brush;
mod cellwise;
mod changed;
mod clip;
mod cost;
mod error;
mod journal;
mod journal_shares;
mod limits;
mod mask;
#[cfg(test)]
mod naive;
mod op;
mod patch;
mod path;
mod prices;
mod rollback;
mod rollback_cells;
mod rollback_records;
mod rows;
mod samples;
mod saved;
mod saved_journal;
mod shape;
mod stamp;
mod strokes;
mod swap;
#[cfg(test)]
mod tests;
mod undo;
mod value_apply;
mod value_op;
mod value_patch;
#[cfg(test)]
mod value_tests;
mod volume;

pub use apply::{EditSummary, Editor};
pub use brush::{Brush, HalfSpace};
pub use changed::ChangedCells;
pub use clip::{Blend, Clip, PastePose, QuarterTurns};
pub use error::EditError;
pub(crate) use error::{CellCount, PlainNumber};
pub use journal::{Journal, JournalEntry, JournalFilter, JournalKind, RollbackMark};
pub use limits::{EditCost, EditLimits};
pub use mask::EditMask;
pub use op::{Action, BrushOp, CopyOp, EditOp, PasteOp};
pub use rollback::Rollback;
pub use saved::{HistoryError, HistoryErrorKind};
pub use saved_journal::JournalError;
pub(crate) use undo::HistoryStamp;
pub use undo::{History, HistoryCopy, HistoryStats};
pub use value_op::{ValueAction, ValueOp};
pub use volume::Volume;
