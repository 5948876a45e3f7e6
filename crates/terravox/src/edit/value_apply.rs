//! Applying an operation to a channel: chunk by chunk, read, change, compare, remember, write.

use super::op::EditOp;
use super::stamp::{Coverage, Stamp};
use super::strokes::Stroke;
use super::value_op::{ValueAction, ValueOp};
use super::value_patch::{PatchRun, PatchValues, ValuePatch, changed_runs};
use super::{Action, Brush, BrushOp, EditCost, EditError, Editor, History, cost};
use crate::voxel::{
    CHUNK_VOXELS, ChannelChunk, ChannelGrid, ChannelWidth, ChunkPos, NotHeld, Region, VoxelGrid,
    VoxelPos, index_in_chunk,
};

/// Work of unpacking, comparing and packing the values of a chunk, and of a voxel of the brush, in
/// the unit of [`EditCost::work`].
const CHUNK_WORK: u64 = 250_000;
const VOXEL_WORK: u64 = 10;

/// A brush that changes values, ready to be applied.
struct PreparedValues<'a> {
    channel: u8,
    width: ChannelWidth,
    stamp: Stamp,
    action: ValueAction,
    materials: &'a [u8],
}

impl Editor {
    /// Applies an operation on a channel, in voxels. `history`, if given, records what was there: in
    /// the open stroke, which may have edits of cells, too, else as a stroke of its own. Returns the
    /// smallest region of voxels that holds all values that changed; empty if none did.
    ///
    /// The cells of `grid` are read only if the operation asks for materials.
    ///
    /// # Errors
    /// [`EditError`], [`EditError::TooCostly`] before any work on values; nothing is then changed.
    pub fn apply_values<'h>(
        &mut self,
        grid: &VoxelGrid,
        channels: &mut ChannelGrid,
        op: &ValueOp,
        history: impl Into<Option<&'h mut History>>,
    ) -> Result<Region, EditError> {
        self.check_values(channels, op)?;
        let patches = match op {
            ValueOp::Bytes { channel, chunk, bytes } => {
                replace_bytes(channels, *channel, *chunk, bytes)
            }
            ValueOp::Brush { channel, brush, action, materials } => {
                let stamp = Stamp::new(brush, 0.0, 1.0)?;
                if !materials.is_empty() {
                    grid.as_snapshot().check_held(stamp.region)?;
                }
                let (channel, action) = (*channel, *action);
                let kind = super::value_op::kind_of(channels, channel)?;
                let width = kind.width().unwrap_or(ChannelWidth::U32);
                let prepared = PreparedValues { channel, width, stamp, action, materials };
                self.paint_values(grid, channels, &prepared)?
            }
        };
        let region = patches.iter().map(ValuePatch::region).fold(Region::default(), Region::union);
        if let Some(history) = history.into() {
            history.record(Stroke::of_values(patches));
        }
        Ok(region)
    }

    /// Checks that an operation on a channel fits the channel and is within the limits, before its
    /// cells are there.
    ///
    /// # Errors
    /// As [`Editor::apply_values`], except for cells that are not held.
    pub fn check_values(&self, channels: &ChannelGrid, op: &ValueOp) -> Result<(), EditError> {
        op.check(channels)?;
        let (cost, limits) = (self.estimate_values(op)?, self.limits);
        match limits.allow(&cost) {
            true => Ok(()),
            false => Err(EditError::TooCostly { cost, limits }),
        }
    }

    /// Returns what an operation on a channel costs, in voxels: the same number on every machine.
    /// Ignores the limits of the editor.
    ///
    /// # Errors
    /// If a number of the shape is invalid, or the operation is beyond the limits of the grid or
    /// larger than any that is allowed.
    pub fn estimate_values(&self, op: &ValueOp) -> Result<EditCost, EditError> {
        let region = op.region()?;
        let ValueOp::Brush { brush, .. } = op else {
            return Ok(EditCost { cells: 0, chunks: 1, work: CHUNK_WORK });
        };
        let (cells, chunks) = (region.volume(), region.coarser(5).volume());
        if cells > EditOp::MAX_CELLS {
            return Err(EditError::TooLarge { region, max_cells: EditOp::MAX_CELLS });
        }
        let work = brush_work(brush)?
            .saturating_add(CHUNK_WORK * chunks)
            .saturating_add(VOXEL_WORK * cells);
        Ok(EditCost { cells, chunks, work })
    }

    /// Changes the values under a brush. What has to be held is.
    fn paint_values(
        &mut self,
        grid: &VoxelGrid,
        channels: &mut ChannelGrid,
        op: &PreparedValues<'_>,
    ) -> Result<Vec<ValuePatch>, NotHeld> {
        let mut patches = Vec::new();
        for chunk in op.stamp.region.blocks::<5>() {
            let piece = chunk.region().intersect(op.stamp.region);
            let cover = op.stamp.cover(piece);
            if cover == Coverage::None {
                continue;
            }
            let is_whole = cover == Coverage::All && op.materials.is_empty();
            let runs =
                match op.uniform(channels, chunk).filter(|_| is_whole && piece == chunk.region()) {
                    Some((old, new)) if old == new => Vec::new(),
                    Some((old, new)) => {
                        channels.replace(op.channel, chunk, ChannelChunk::uniform(new));
                        vec![PatchRun { first: 0, last: (CHUNK_VOXELS - 1) as u16, value: old }]
                    }
                    None => self.paint_chunk(grid, channels, op, chunk)?,
                };
            if !runs.is_empty() {
                let before = PatchValues::Numbers { width: op.width, runs: runs.into() };
                patches.push(ValuePatch { channel: op.channel, chunk, before });
            }
        }
        Ok(patches)
    }

    /// Changes the values of one chunk, voxel by voxel. Returns what those that changed were.
    fn paint_chunk(
        &mut self,
        grid: &VoxelGrid,
        channels: &mut ChannelGrid,
        op: &PreparedValues<'_>,
        chunk: ChunkPos,
    ) -> Result<Vec<PatchRun>, NotHeld> {
        let piece = chunk.region().intersect(op.stamp.region);
        if !op.materials.is_empty() {
            grid.read(piece, 0, &mut self.old)?;
        }
        let [before, after] = &mut self.values;
        channels.unpack(op.channel, chunk, before);
        after.clone_from(before);
        let max = op.width.max_value();
        let width = piece.size()[0];
        let mut units = [0; 32];

        for (number, [y, z]) in rows_of(piece).enumerate() {
            let covered = op.stamp.row(y, z, piece.min.x, &mut units[..width]);
            let first = index_in_chunk(VoxelPos::new(piece.min.x, y, z));
            for x in covered {
                // A row of the box of cells is a row of the piece.
                let accepts =
                    |materials: &[u8]| op.materials.contains(&materials[number * width + x]);
                let is_accepted = op.materials.is_empty() || accepts(self.old.materials());
                if units[x] >= 128 && is_accepted {
                    after[first + x] = op.action.apply(before[first + x], max);
                }
            }
        }
        let runs = changed_runs(before, after);
        if !runs.is_empty() {
            channels.replace(op.channel, chunk, ChannelChunk::of_values(after));
        }
        Ok(runs)
    }
}

impl PreparedValues<'_> {
    /// For a chunk of one value that the brush covers whole: the value before and after.
    fn uniform(&self, channels: &ChannelGrid, chunk: ChunkPos) -> Option<(u32, u32)> {
        let old = match channels.chunk(self.channel, chunk) {
            None => 0,
            Some(held) => held.uniform_value()?,
        };
        Some((old, self.action.apply(old, self.width.max_value())))
    }
}

/// Replaces the bytes of a chunk.
fn replace_bytes(
    channels: &mut ChannelGrid,
    channel: u8,
    chunk: ChunkPos,
    bytes: &[u8],
) -> Vec<ValuePatch> {
    let held = channels.bytes(channel, chunk);
    if held == bytes {
        return Vec::new();
    }
    let before = PatchValues::Bytes(held.into());
    channels.replace(channel, chunk, ChannelChunk::from_bytes(bytes));
    vec![ValuePatch { channel, chunk, before }]
}

/// The work of a brush itself, as [`Editor::estimate`] prices a paint with it in empty space.
fn brush_work(brush: &Brush) -> Result<u64, EditError> {
    // Any solid: paint reads no cells beside those of the brush.
    let op = BrushOp::new(brush.clone(), Action::Paint { material: u8::MAX }).into();
    Ok(cost::estimate(&op, VoxelGrid::default().as_snapshot())?.work)
}

/// (y, z) of the rows of a region, z faster.
fn rows_of(region: Region) -> impl Iterator<Item = [i32; 2]> {
    let Region { min, max } = region;
    (min.y..max.y).flat_map(move |y| (min.z..max.z).map(move |z| [y, z]))
}
