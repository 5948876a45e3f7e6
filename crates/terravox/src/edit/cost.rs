//! What an operation costs, before any of its cells is changed.
//!
//! The price is a sum of amounts (rows to read, cells to evaluate, chunks to write), each times a
//! constant that was fitted to measured times. How many cells change depends on what is there, so
//! the coarse cells of a mip are sampled ([`super::samples`]), down to single voxels for small
//! operations. All amounts are sums and products in a fixed order: the same on every machine.

use super::cellwise::padding;
use super::op::ONE_BOX;
use super::prices::{EditWork, WORKS, WorkAmounts};
use super::samples::{
    ClipContent, CoarseSample, EditTarget, MAX_SAMPLED_CHUNKS, SampleSums, row_parts,
};
use super::shape::{bounds, region_of};
use super::stamp::Stamp;
use super::{Action, Brush, BrushOp, CopyOp, EditCost, EditError, EditOp, PastePose};
use crate::math::{cross, dot, sub};
use crate::voxel::{Kind, Region, Snapshot};

/// Returns the cost of an operation in voxels, or why [`super::Editor::apply`] refuses it.
pub(super) fn estimate(op: &EditOp, grid: &Snapshot) -> Result<EditCost, EditError> {
    let mut work = WorkAmounts([0.0; WORKS]);
    work.add(EditWork::Once, 1.0);
    let (mut cells, mut chunks) = (0, 0);
    let (region, padding) = match op {
        EditOp::Brush(op) => {
            op.check(grid.materials())?;
            (region_of(bounds(&op.brush)?)?, padding(op))
        }
        EditOp::Copy(CopyOp { from, to, pose }) => {
            let source = Region::new(*from, *to);
            super::Clip::check_source(source)?;
            grid.check_held(source)?;
            cells += source.volume();
            chunks += source.coarser(5).volume();
            work.add(EditWork::Chunks, chunks as f64);
            work.add(EditWork::RowParts, row_parts(source));
            work.add(EditWork::CopiedCells, source.volume() as f64);
            (pose.region(source.size())?, 0)
        }
        EditOp::Paste(op) => (op.pose.region(op.clip.cells().region().size())?, 0),
    };
    let needed = region.grow(padding);
    if !needed.within_limits() {
        return Err(EditError::BeyondLimits(needed));
    }
    if region.volume() > EditOp::MAX_CELLS {
        return Err(EditError::TooLarge { region, max_cells: EditOp::MAX_CELLS });
    }
    cells += region.volume();
    chunks += needed.coarser(5).volume();
    let target = EditTarget { region, padding, grid, is_one_box: region.volume() <= ONE_BOX };
    match op {
        EditOp::Brush(op) => BrushEstimate::new(op, &target)?.add_to(&mut work)?,
        EditOp::Copy(CopyOp { from, to, pose }) => {
            let source = Region::new(*from, *to);
            let clip = ClipContent::of_region(source, grid)?;
            target.add_paste(source.size(), clip, pose, &mut work)?;
        }
        EditOp::Paste(op) => {
            let cells = op.clip.cells();
            let clip = ClipContent::of_cells(cells);
            target.add_paste(cells.region().size(), clip, &op.pose, &mut work)?;
        }
    }
    Ok(EditCost { cells, chunks, work: work.units() })
}

/// A cheap upper bound of the cost of an operation with a ball, box or cylinder, without reading
/// the world: for the digs of a game, where an estimate would take a sixth of the time. `None` for
/// other operations.
pub(super) fn upper_bound(op: &EditOp) -> Option<EditCost> {
    let EditOp::Brush(op) = op else { return None };
    let (Brush::Ball { .. } | Brush::Box { .. } | Brush::Cylinder { .. }) = op.brush else {
        return None;
    };
    let region = bounds(&op.brush).and_then(region_of).ok()?;
    let needed = region.grow(padding(op));
    if !needed.within_limits() || region.volume() > EditOp::MAX_CELLS {
        return None;
    }
    let chunks = needed.coarser(5).volume();
    let work = 10_000 + 25_000 * chunks + 1_000 * needed.volume();
    Some(EditCost { cells: region.volume(), chunks, work })
}

/// Cells of a chunk that hold water are priced up to this number: more cost little more.
const MAX_PRICED_WATER: usize = 2048;

/// Nodes and segments that a cell visits for each level of the tree of a path that does not fold
/// onto itself. Fitted: with it, the estimate of such paths is what was measured. Folded ones visit
/// more.
const VISITS_PER_LEVEL: f64 = 8.0;

impl EditTarget<'_> {
    /// Adds reading and comparing.
    fn add_reads(&self, sums: &SampleSums, work: &mut WorkAmounts) {
        let needed = self.needed();
        let (chunks, rows, cells) = match self.is_one_box {
            true => (needed.coarser(5).volume() as f64, row_parts(needed), needed.volume() as f64),
            false => (sums.chunks, sums.row_parts, sums.cells),
        };
        work.add(EditWork::Chunks, chunks);
        work.add(EditWork::RowParts, rows);
        work.add(EditWork::Cells, cells);
        work.add(EditWork::ReplacedChunks, sums.replaced);
        work.add(EditWork::SkippedChunks, sums.skipped);
    }

    /// Adds comparing, remembering and writing what changes.
    fn add_writes(&self, sums: &SampleSums, work: &mut WorkAmounts) {
        let written = sums.written;
        work.add(EditWork::LiquidCells, sums.liquid);
        work.add(EditWork::ChangedCells, sums.changed);
        // How likely it is that anything changes.
        let likely = sums.changed.min(1.0);
        if !written.is_empty() {
            work.add(EditWork::Changes, likely);
            work.add(EditWork::WrittenChunks, likely * written.coarser(5).volume() as f64);
            work.add(EditWork::WrittenRows, likely * row_parts(written));
            work.add(EditWork::WrittenCells, likely * written.volume() as f64);
            if written.coarser(5).volume() <= MAX_SAMPLED_CHUNKS {
                for chunk in written.blocks::<5>().filter_map(|chunk| self.grid.chunk(chunk).ok()) {
                    work.add(EditWork::StoredRows, likely * chunk.mixed_rows() as f64);
                    let water = chunk.water().len().min(MAX_PRICED_WATER);
                    work.add(EditWork::StoredWater, likely * water as f64);
                }
            }
        }
    }

    /// Adds the work of pasting a copy of `size`.
    fn add_paste(
        &self,
        size: [usize; 3],
        clip: ClipContent,
        pose: &PastePose,
        work: &mut WorkAmounts,
    ) -> Result<(), EditError> {
        let [source, target] = [size.iter().product::<usize>() as f64, self.region.volume() as f64];
        let mirrors = pose.mirror.iter().filter(|mirror| **mirror).count();
        let turns: usize = pose.quarter_turns.iter().map(|turns| usize::from(turns % 4)).sum();
        work.add(EditWork::Pastes, 1.0);
        work.add(EditWork::Moves, (mirrors + turns) as f64);
        work.add(EditWork::MovedCells, source * (mirrors + turns) as f64);
        match pose.scale {
            2.. => work.add(EditWork::LargerCells, target),
            ..0 => work.add(EditWork::SmallerCells, source),
            _ => work.add(EditWork::CopiedCells, source),
        }
        let mut sums = SampleSums::default();
        self.sample(|sample| {
            let changed = sample.cells() * clip.changed(pose.blend, sample);
            sums.changed += changed;
            sums.liquid += sample.cells() * sample.liquid;
            if changed > 0.0 {
                sums.written = sums.written.union(sample.part);
            }
            sums.read(sample, self.padding);
        })?;
        work.add(EditWork::PastedCells, target);
        self.add_reads(&sums, work);
        self.add_writes(&sums, work);
        Ok(())
    }
}

/// The properties of a brush that an estimate needs.
struct BrushEstimate<'a> {
    op: &'a BrushOp,
    target: &'a EditTarget<'a>,
    /// Exact coverage; `None` for meshes and height maps, where it is not cheap.
    stamp: Option<Stamp>,
    /// Share of the region in the brush: used instead where there is no stamp.
    share: f64,
}

impl<'a> BrushEstimate<'a> {
    fn new(op: &'a BrushOp, target: &'a EditTarget<'a>) -> Result<BrushEstimate<'a>, EditError> {
        let cells = target.region.volume() as f64;
        let (stamp, volume) = match &op.brush {
            Brush::Mesh { vertices, triangles } => {
                super::shape::check_field(target.region, op.falloff)?;
                (None, mesh_volume(vertices, triangles))
            }
            Brush::Heights { spacing, heights, .. } => {
                let sum: f64 = heights.iter().map(|&h| f64::from(h.max(0.0))).sum();
                (None, sum * spacing * spacing)
            }
            _ => (Some(Stamp::unweighed(&op.brush, op.falloff)?), cells),
        };
        let share = (volume / cells).clamp(0.0, 1.0);
        Ok(BrushEstimate { op, target, stamp, share })
    }

    /// Share of a sample that the brush covers, and what one of its cells looks at of a path.
    fn covered(&self, sample: &CoarseSample) -> (f64, u32) {
        let Some(stamp) = &self.stamp else { return (self.share, 0) };
        let (depth, visits) = stamp.depth_and_visits(sample.centre()).unwrap_or_default();
        ((f64::from(depth) / sample.edge() + 0.5).clamp(0.0, 1.0), visits)
    }

    /// Share of the covered cells of a sample that change.
    fn changed(&self, sample: &CoarseSample) -> f64 {
        let materials = self.target.grid.materials();
        let CoarseSample { solid, liquid, cell, .. } = *sample;
        match self.op.action {
            Action::Fill { material } if materials.kind(material) == Kind::Solid => 1.0 - solid,
            Action::Fill { material } | Action::Flood { material } => {
                if cell.material == material {
                    1.0 - liquid
                } else {
                    1.0 - solid
                }
            }
            Action::Dig => solid,
            Action::Drain => liquid,
            Action::Paint { material } => {
                if cell.material == material {
                    0.0
                } else {
                    solid
                }
            }
            Action::Replace { from, .. } => {
                if cell.material == from {
                    solid + liquid
                } else {
                    0.0
                }
            }
            Action::Flatten { point, normal, .. } => {
                let long = dot(normal, normal).sqrt();
                let depth = dot(sub(point, sample.centre()), normal) / long;
                let below = (depth / sample.edge() + 0.5).clamp(0.0, 1.0);
                below * (1.0 - solid) + (1.0 - below) * solid
            }
            Action::Smooth
            | Action::Grow { .. }
            | Action::Erode { .. }
            | Action::Roughen { .. } => sample.surface(),
        }
    }

    /// Whether a sample may change, of which the brush covers the share `covered`. Exact for single
    /// voxels; always `true` for coarse samples and where only a mean share is known.
    fn may_change(&self, sample: &CoarseSample, covered: f64) -> bool {
        // Of other shapes, only a mean share is known.
        if self.stamp.is_none() || !sample.is_voxel {
            return true;
        }
        let whole = matches!(self.op.action, Action::Paint { .. } | Action::Replace { .. });
        let covered = if whole { covered } else { covered * self.op.strength };
        let rest = 1.0 - covered;
        match self.op.action {
            Action::Fill { material } if self.target.is_solid(material) => covered > sample.solid,
            Action::Fill { .. } | Action::Flood { .. } => {
                sample.solid < 1.0 && covered > sample.liquid
            }
            Action::Dig => sample.solid > rest,
            Action::Drain => sample.liquid > rest,
            Action::Paint { .. } | Action::Replace { .. } => covered >= 0.5,
            Action::Grow { .. } => covered > 0.0 && sample.solid < 1.0,
            Action::Erode { .. } => covered > 0.0 && sample.solid > 0.0,
            Action::Flatten { .. } | Action::Smooth | Action::Roughen { .. } => covered > 0.0,
        }
    }

    /// Share of the covered cells of a sample that the mask accepts.
    fn accepted(&self, sample: &CoarseSample) -> f64 {
        let mask = &self.op.mask;
        let y = sample.centre()[1];
        if mask.heights.is_some_and(|[low, high]| y < low || high < y) {
            return 0.0;
        }
        let material = mask.materials.is_empty() || mask.materials.contains(&sample.cell.material);
        let material = match material {
            true => 1.0,
            false if sample.is_voxel => 0.0,
            // A coarse sample has one material; some of its cells may have another. A guess.
            false => 0.1,
        };
        match mask.slope {
            Some(_) => material * sample.surface(),
            None => material,
        }
    }

    fn sums(&self) -> Result<SampleSums, EditError> {
        let mut sums = SampleSums::default();
        self.target.sample(|sample| {
            let (covered, visits) = self.covered(sample);
            let cells = sample.cells() * covered;
            let accepted = cells * self.accepted(sample);
            let changed = match self.may_change(sample, covered) {
                true => accepted * self.changed(sample),
                false => 0.0,
            };
            if !self.target.is_one_box && covered == 0.0 {
                sums.skipped += 1.0;
                return;
            }
            if !self.target.is_one_box && self.is_replaced(sample, covered) {
                match changed > 0.0 {
                    true => sums.replaced += 1.0,
                    false => sums.skipped += 1.0,
                }
                return;
            }
            sums.read(sample, self.target.padding);
            sums.inside += cells;
            if covered > 0.0 && covered < 1.0 {
                let thick = 2.0 + self.op.falloff;
                let band = sample.cells() * (thick / sample.edge()).min(1.0);
                sums.band += band;
                sums.path_visits += band * f64::from(visits);
            }
            sums.changed += changed;
            sums.surface += accepted * sample.surface();
            sums.liquid += sample.cells() * sample.liquid;
            if changed > 0.0 {
                sums.written = sums.written.union(sample.part);
            }
        })?;
        Ok(sums)
    }

    /// Whether a chunk of one material is not read.
    fn is_replaced(&self, sample: &CoarseSample, covered: f64) -> bool {
        // A full coarse cell may be of several materials.
        let is_uniform = || {
            let chunk = self.target.grid.chunk(sample.part.min.chunk());
            chunk.is_ok_and(|chunk| chunk.uniform_material().is_some())
        };
        covered == 1.0
            && self.op.mask.accepts_all()
            && sample.part.volume() == 1 << 15
            && matches!(self.op.action, Action::Fill { .. } | Action::Dig)
            && is_uniform()
    }

    fn add_to(&self, work: &mut WorkAmounts) -> Result<(), EditError> {
        let sums = self.sums()?;
        self.add_shape(&sums, work);
        self.add_action(&sums, work);
        self.target.add_reads(&sums, work);
        self.target.add_writes(&sums, work);
        Ok(())
    }

    /// Adds making the brush, and computing its share of cells.
    fn add_shape(&self, sums: &SampleSums, work: &mut WorkAmounts) {
        let region = self.target.region;
        let [_, high, deep] = region.size();
        let part = match self.target.is_one_box {
            true => 1.0,
            false => (sums.cells / region.volume() as f64).min(1.0),
        };
        let times =
            if Stamp::is_weighed(&self.op.brush, region, self.op.falloff) { 2.0 } else { 1.0 };
        let rows = (high * deep) as f64 * part * times;
        let cells = region.volume() as f64 * part * times;
        work.add(EditWork::BrushRows, rows / times);
        match &self.op.brush {
            Brush::Ball { .. } => {
                work.add(EditWork::BallRows, rows);
                work.add(EditWork::BallCells, sums.inside * times);
            }
            Brush::Box { .. } => {
                work.add(EditWork::BoxRows, rows);
                work.add(EditWork::BoxCells, cells);
            }
            Brush::Cylinder { .. } => {
                work.add(EditWork::CylinderRows, rows);
                work.add(EditWork::CylinderCells, cells);
            }
            Brush::Wedge { .. } => {
                work.add(EditWork::WedgeRows, rows);
                work.add(EditWork::WedgeCells, cells);
            }
            Brush::Path { points, .. } => {
                // As for a path that leads somewhere; more for one that stays in one place.
                let usual = f64::from(points.len().ilog2() + 1);
                let visited = sums.path_visits / sums.band.max(1.0);
                let levels = usual.max(visited / VISITS_PER_LEVEL);
                work.add(EditWork::PathPoints, points.len() as f64 * usual);
                work.add(EditWork::PathRows, rows * levels);
                work.add(EditWork::PathCells, sums.band * levels);
            }
            Brush::Convex { planes } => {
                let planes = planes.len() as f64;
                work.add(EditWork::ConvexCorners, planes * planes * planes);
                work.add(EditWork::ConvexRows, rows);
                work.add(EditWork::ConvexPlanes, cells * planes);
            }
            Brush::Mesh { vertices, triangles } => {
                work.add(EditWork::MeshBrushRows, rows);
                self.add_mesh(vertices, triangles, work);
            }
            Brush::Heights { heights, .. } => {
                work.add(EditWork::HeightSamples, heights.len() as f64);
                work.add(EditWork::HeightsRows, rows);
                work.add(EditWork::HeightsCells, cells);
            }
        }
    }

    /// Adds computing the distances of all cells to a mesh.
    fn add_mesh(&self, vertices: &[[f64; 3]], triangles: &[[u32; 3]], work: &mut WorkAmounts) {
        let (region, reach) = (self.target.region, 1.0 + self.op.falloff);
        for triangle in triangles {
            let corners = triangle.map(|v| vertices[v as usize]);
            add_triangle(corners, reach, region.size(), work);
        }
        work.add(EditWork::MeshTriangles, triangles.len() as f64);
        work.add(EditWork::MeshCells, region.volume() as f64);
    }

    /// Adds what the action does to the cells of the brush.
    fn add_action(&self, sums: &SampleSums, work: &mut WorkAmounts) {
        let mask = &self.op.mask;
        let inside = sums.inside;
        work.add(EditWork::Brushes, 1.0);
        let read = match self.target.is_one_box {
            true => self.target.needed().volume() as f64,
            false => sums.cells,
        };
        let materials = self.target.grid.materials();
        let by_rows = super::rows::row_action(self.op, materials.kinds()).is_some();
        if by_rows {
            work.add(EditWork::RowCells, inside);
            if self.op.action == Action::Dig {
                work.add(EditWork::FilmCells, read);
            }
            return;
        }
        work.add(EditWork::Splits, 1.0);
        work.add(EditWork::SplitCells, read);
        if !mask.accepts_all() {
            work.add(
                if mask.slope.is_some() { EditWork::SlopeCells } else { EditWork::MaskedCells },
                inside,
            );
        }
        let kind = match self.op.action {
            Action::Smooth => EditWork::SmoothCells,
            Action::Grow { .. } | Action::Erode { .. } => EditWork::OffsetCells,
            Action::Roughen { .. } => EditWork::RoughenCells,
            Action::Flatten { .. } => EditWork::FlattenCells,
            _ => EditWork::PlainCells,
        };
        work.add(kind, inside);
        work.add(EditWork::SurfaceCells, sums.surface);
    }
}

/// Volume of a closed mesh.
fn mesh_volume(vertices: &[[f64; 3]], triangles: &[[u32; 3]]) -> f64 {
    let Some(from) = vertices.first() else { return 0.0 };
    let corner = |v: u32| sub(vertices[v as usize], *from);
    let six = |t: &[u32; 3]| dot(corner(t[0]), cross(corner(t[1]), corner(t[2])));
    (triangles.iter().map(six).sum::<f64>() / 6.0).abs()
}

/// Adds what a triangle of a mesh brush costs: see [`crate::math::MeshDistance`].
fn add_triangle([a, b, c]: [[f64; 3]; 3], reach: f64, size: [usize; 3], work: &mut WorkAmounts) {
    let normal = cross(sub(b, a), sub(c, a));
    let extent = |i: usize| a[i].max(b[i]).max(c[i]) - a[i].min(b[i]).min(c[i]);
    let near = |extent: f64, axis: usize| (extent + 2.0 * reach).min(size[axis] as f64);
    let steep = |axis: usize| normal.iter().all(|v| v.abs() <= normal[axis].abs());
    let along = (0..3).find(|&axis| steep(axis)).unwrap_or_default();
    let [outer, inner] = [(along + 1) % 3, (along + 2) % 3];
    let slices = near(extent(outer), outer);
    let rows = slices * near(0.5 * extent(inner), inner);
    work.add(EditWork::MeshSlices, slices);
    work.add(EditWork::MeshRows, rows);
    work.add(EditWork::MeshNearCells, rows * near(0.0, along));
    work.add(EditWork::MeshCrossings, (extent(1) + 1.0) * (0.5 * extent(2) + 1.0));
}
