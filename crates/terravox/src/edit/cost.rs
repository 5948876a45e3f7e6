//! What an operation costs, before any of its cells is changed.
//!
//! The price is a sum of amounts (rows to read, cells to evaluate, chunks to write), each times a
//! constant that was fitted to measured times. How many cells change depends on what is there, so
//! the coarse cells of a mip are sampled, at most [`MAX_SAMPLES`] of them unless more chunks are
//! touched. All amounts are sums and products in a fixed order: the same on every machine.

use super::cellwise::{FACES, padding};
use super::op::ONE_BOX;
use super::prices::{EditWork, WORKS, WorkAmounts};
use super::shape::{bounds, region_of};
use super::stamp::Stamp;
use super::{Action, Blend, Brush, BrushOp, CopyOp, EditCost, EditError, EditOp, PastePose};
use crate::math::{cross, dot, sub};
use crate::voxel::{AIR, Cell, ChunkView, DenseBox, Kind, Region, Snapshot, VoxelPos};

/// Coarse cells that are looked at, unless more chunks are touched.
const MAX_SAMPLES: u64 = 512;

/// Chunks that are looked at. Where an operation touches more, all are taken as full of ground.
const MAX_SAMPLED_CHUNKS: u64 = 1 << 16;

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
        return Err(EditError::BeyondLimits(region));
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
            target.add_paste(Region::new(*from, *to).size(), pose, &mut work)?;
        }
        EditOp::Paste(op) => {
            target.add_paste(op.clip.cells().region().size(), &op.pose, &mut work)?;
        }
    }
    Ok(EditCost { cells, chunks, work: work.units() })
}

/// Returns a cost that is no less than that of an operation with a simple brush, without a look at
/// the world: enough for the digs of a game, of which an estimate would take a sixth of the time.
/// `None` for other operations.
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
    let work = 10_000 + 10_000 * chunks + 1_000 * needed.volume();
    Some(EditCost { cells: region.volume(), chunks, work })
}

/// Parts of rows in a region, each of one chunk.
fn row_parts(region: Region) -> f64 {
    let [_, high, deep] = region.size();
    (high * deep) as f64 * region.coarser(5).size()[0] as f64
}

/// What an operation changes at most, and how.
struct EditTarget<'a> {
    region: Region,
    padding: i32,
    grid: &'a Snapshot,
    /// Whether it is read whole, not chunk by chunk.
    is_one_box: bool,
}

/// A coarse cell, and the part of the region in it.
struct CoarseSample {
    part: Region,
    /// Share of it that is solid.
    solid: f64,
    /// Share of it that is liquid.
    liquid: f64,
    cell: Cell,
    /// Whether a surface is in it, or beside it.
    is_surface: bool,
}

impl CoarseSample {
    fn cells(&self) -> f64 {
        self.part.volume() as f64
    }

    fn centre(&self) -> [f64; 3] {
        let [min, max] = [self.part.min, self.part.max].map(VoxelPos::to_array);
        [0, 1, 2].map(|i| (f64::from(min[i]) + f64::from(max[i])) * 0.5)
    }

    /// Mean length of its edges.
    fn edge(&self) -> f64 {
        self.part.size().iter().sum::<usize>() as f64 / 3.0
    }

    /// Share of its cells at a surface.
    fn surface(&self) -> f64 {
        match self.is_surface {
            true => (3.0 / self.edge()).min(1.0),
            false => 0.0,
        }
    }
}

/// Nodes and segments that a cell looks at for each level of the tree of a path that leads
/// somewhere: with this, one that does costs what it was measured to.
const VISITS_PER_LEVEL: f64 = 8.0;

/// What is summed over the samples, in cells.
#[derive(Default)]
struct SampleSums {
    inside: f64,
    band: f64,
    changed: f64,
    surface: f64,
    liquid: f64,
    /// Nodes and segments of a path that cells of the band look at.
    path_visits: f64,
    /// The box about all samples that change.
    written: Region,
    /// Chunks that are neither passed over nor replaced, the cells of them that are read, and
    /// the parts of rows.
    chunks: f64,
    cells: f64,
    row_parts: f64,
    replaced: f64,
    skipped: f64,
}

impl EditTarget<'_> {
    /// A solid material.
    fn ground(&self) -> u8 {
        let solid = |id: &u8| self.grid.materials().kind(*id) == Kind::Solid;
        (0..=255).find(solid).unwrap_or(AIR)
    }

    fn needed(&self) -> Region {
        self.region.grow(self.padding)
    }

    /// Calls `each` with the coarse cells of the region.
    fn sample(&self, mut each: impl FnMut(&CoarseSample)) -> Result<(), EditError> {
        let kinds = self.grid.materials().kinds();
        let units = |cell: Cell, kind: Kind| match kinds[usize::from(cell.material)] == kind {
            true => f64::from(cell.units()) / 256.0,
            false => 0.0,
        };
        let mut look = |part: Region, cell: Cell, is_surface: bool| {
            let [solid, liquid] = [Kind::Solid, Kind::Liquid].map(|kind| units(cell, kind));
            each(&CoarseSample { part, solid, liquid, cell, is_surface });
        };
        if self.needed().coarser(5).volume() > MAX_SAMPLED_CHUNKS {
            look(self.region, Cell::full(self.ground()), true);
            return Ok(());
        }
        self.grid.check_held(self.needed())?;
        let count = |mip: u32| self.region.coarser(mip).volume();
        let fine = (0..5).find(|&mip| self.is_one_box && count(mip) <= MAX_SAMPLES);
        let mip = fine.unwrap_or(5);
        let mut cells = DenseBox::default();
        self.grid.read(self.needed().coarser(mip), mip as u8, &mut cells)?;
        let is_solid = |cell: Cell| units(cell, Kind::Solid) > 0.5;
        for pos in self.region.coarser(mip).voxels() {
            let cell = cells.cell(pos);
            let differs = |side: [i32; 3]| {
                let beside = pos + side.into();
                cells.region().contains(beside) && is_solid(cells.cell(beside)) != is_solid(cell)
            };
            let solid = units(cell, Kind::Solid);
            let is_surface = solid > 0.0 && solid < 1.0 || FACES.into_iter().any(differs);
            look(Region::one(pos).finer(mip).intersect(self.region), cell, is_surface);
        }
        Ok(())
    }

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
        if !written.is_empty() {
            work.add(EditWork::WrittenChunks, written.coarser(5).volume() as f64);
            work.add(EditWork::WrittenRows, row_parts(written));
            work.add(EditWork::WrittenCells, written.volume() as f64);
            if written.coarser(5).volume() <= MAX_SAMPLED_CHUNKS {
                let stored = |chunk| self.grid.chunk(chunk).map_or(0, ChunkView::mixed_rows);
                let rows: usize = written.blocks::<5>().map(stored).sum();
                work.add(EditWork::StoredRows, rows as f64);
            }
        }
    }

    /// Adds the work of pasting a copy of `size`.
    fn add_paste(
        &self,
        size: [usize; 3],
        pose: &PastePose,
        work: &mut WorkAmounts,
    ) -> Result<(), EditError> {
        let [source, target] = [size.iter().product::<usize>() as f64, self.region.volume() as f64];
        let mirrors = pose.mirror.iter().filter(|mirror| **mirror).count();
        let turns: usize = pose.quarter_turns.iter().map(|turns| usize::from(turns % 4)).sum();
        work.add(EditWork::MovedCells, source * (mirrors + turns) as f64);
        match pose.scale {
            2.. => work.add(EditWork::LargerCells, target),
            ..0 => work.add(EditWork::SmallerCells, source),
            _ => work.add(EditWork::CopiedCells, source),
        }
        let mut sums = SampleSums::default();
        self.sample(|sample| {
            let changed = match pose.blend {
                Blend::Replace => 1.0,
                Blend::Over | Blend::Add => 0.5,
            };
            sums.changed += sample.cells() * changed;
            sums.liquid += sample.cells() * sample.liquid;
            sums.written = sums.written.union(sample.part);
            sums.read(sample, self.padding);
        })?;
        work.add(EditWork::PastedCells, target);
        self.add_reads(&sums, work);
        self.add_writes(&sums, work);
        Ok(())
    }
}

impl SampleSums {
    /// Counts a chunk that is read.
    fn read(&mut self, sample: &CoarseSample, padding: i32) {
        let padded = sample.part.grow(padding);
        self.chunks += padded.coarser(5).volume() as f64;
        self.cells += padded.volume() as f64;
        self.row_parts += row_parts(padded);
    }
}

/// A brush, as far as it is needed for an estimate.
struct BrushEstimate<'a> {
    op: &'a BrushOp,
    target: &'a EditTarget<'a>,
    /// Distances, if they are cheap.
    stamp: Option<Stamp>,
    /// Share of the region in the brush, where they are not.
    share: f64,
}

impl<'a> BrushEstimate<'a> {
    fn new(op: &'a BrushOp, target: &'a EditTarget<'a>) -> Result<BrushEstimate<'a>, EditError> {
        let cells = target.region.volume() as f64;
        let (stamp, volume) = match &op.brush {
            Brush::Wedge { half, .. } => (None, half.iter().product::<f64>() * 4.0),
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

    /// Share of the covered cells of a sample that the mask accepts.
    fn accepted(&self, sample: &CoarseSample) -> f64 {
        let mask = &self.op.mask;
        let y = sample.centre()[1];
        if mask.heights.is_some_and(|[low, high]| y < low || high < y) {
            return 0.0;
        }
        let material = mask.materials.is_empty() || mask.materials.contains(&sample.cell.material);
        let material = if material { 1.0 } else { 0.1 };
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
            let changed = accepted * self.changed(sample);
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
        let uniform = matches!(sample.solid + sample.liquid, 0.0 | 1.0);
        uniform
            && covered == 1.0
            && self.op.mask.accepts_all()
            && sample.part.volume() == 1 << 15
            && matches!(self.op.action, Action::Fill { .. } | Action::Dig)
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
        work.add(EditWork::BrushRows, rows);
        match &self.op.brush {
            Brush::Ball { .. } => work.add(EditWork::BallCells, sums.inside * times),
            Brush::Box { .. } => work.add(EditWork::BoxCells, cells),
            Brush::Cylinder { .. } => work.add(EditWork::CylinderCells, cells),
            Brush::Wedge { .. } => work.add(EditWork::WedgeCells, cells),
            Brush::Path { points, .. } => {
                // As many as a path takes that leads somewhere, or more for one that stays in a place.
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
                work.add(EditWork::ConvexPlanes, cells * planes);
            }
            Brush::Mesh { vertices, triangles } => {
                let reach = 1.0 + self.op.falloff;
                for triangle in triangles {
                    let corners = triangle.map(|v| vertices[v as usize]);
                    add_triangle(corners, reach, region.size(), work);
                }
                work.add(EditWork::MeshTriangles, triangles.len() as f64);
                work.add(EditWork::MeshCells, region.volume() as f64);
            }
            Brush::Heights { heights, .. } => {
                work.add(EditWork::HeightSamples, heights.len() as f64);
                work.add(EditWork::HeightsCells, cells);
            }
        }
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
