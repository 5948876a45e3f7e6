//! A little work every frame: cells for what is to be shown, then its meshes.

use super::{Part, Placement, Terrain, TerrainError};
use crate::lod::{LodViewer, MeshJob, MeshScratch, MeshSwap, MeshedBlock};
use crate::lod::{SimplifiedMesh, Simplifier, SimplifyJob};
use crate::voxel::{DenseBox, MipBlock};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Someone who looks at the world.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Viewer {
    /// Where, in world metres.
    pub position_m: [f32; 3],
    /// How far, in metres.
    pub distance_m: f32,
}

impl Viewer {
    /// A viewer who sees eight kilometres far.
    pub fn at(position_m: impl Into<[f32; 3]>) -> Viewer {
        Viewer { position_m: position_m.into(), distance_m: 8192.0 }
    }
}

/// How much work one [`Terrain::update`] may do. At least one block is always filled or
/// meshed, so that every update gets further.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Budget {
    /// Until all is done.
    Unlimited,
    /// So many blocks, filled or meshed; the same on every machine.
    Blocks(usize),
    /// So many milliseconds. Not on targets without a clock (wasm32-unknown-unknown).
    Millis(f32),
}

/// The plan that [`Terrain::update`] works on, and how far it is.
#[derive(Default)]
pub(super) struct Flight {
    jobs: Vec<MeshJob>,
    done: Vec<MeshedBlock>,
    meshing: Spares<MeshScratch>,
    simplifying: Spares<Simplifier>,
}

/// A budget that is being spent.
struct Meter {
    budget: Budget,
    start: Option<Instant>,
    spent: usize,
}

impl Meter {
    fn new(budget: Budget) -> Meter {
        let start = matches!(budget, Budget::Millis(_)).then(Instant::now);
        Meter { budget, start, spent: 0 }
    }

    /// How many blocks may be worked on now.
    fn left(&self) -> usize {
        match self.budget {
            Budget::Unlimited => usize::MAX,
            Budget::Blocks(blocks) => blocks.max(1).saturating_sub(self.spent),
            Budget::Millis(millis) => {
                // NaN is no time at all.
                let seconds = if millis > 0.0 { millis.min(3.6e6) / 1000.0 } else { 0.0 };
                let limit = Duration::from_secs_f32(seconds);
                let over = self.start.is_some_and(|start| start.elapsed() >= limit);
                if over && self.spent > 0 { 0 } else { usize::MAX }
            }
        }
    }
}

impl Terrain {
    /// Shows what the viewers are to see, within the budget: fills what is not in memory by
    /// `fill`, nearest first, and meshes what changed. Changes show when all that they touch
    /// is meshed; what changed meanwhile comes after. Without viewers all chunks that are
    /// held are shown at mip 0, and `fill` is not asked. Nor is it in a world of which
    /// everything is known ([`Unlisted::Air`](crate::voxel::Unlisted)). Eight blocks of a mip
    /// that did not change for 60 updates are drawn as one mesh; where
    /// `LodOptions::simplify` asks for fewer triangles, meshes get those then, if nothing else
    /// is to be done within the budget; with a budget of time other threads have to do that
    /// (`Terrain::plan_simplified`).
    ///
    /// `fill` must give a block the same cells each time it is asked, with all edits that were
    /// [saved](Terrain::mark_saved). Cells with unsaved changes never leave memory.
    pub fn update(
        &mut self,
        viewers: &[Viewer],
        budget: Budget,
        fill: impl Fn(&mut Part<'_>) + Sync,
    ) {
        let mut meter = Meter::new(budget);
        self.work(viewers, &mut meter, fill);
        let swap = self.rest(&meter);
        if !swap.is_empty() {
            self.swaps.push(swap);
        }
    }

    /// Draws meshes that rest by fewer meshes, and triangles: with what is left of the budget
    /// when nothing is to be meshed. A group takes many times a frame, so a budget of time
    /// leaves it to other threads.
    fn rest(&mut self, meter: &Meter) -> MeshSwap {
        if self.lod.options().simplify.is_none() {
            return self.lod.join();
        }
        if matches!(meter.budget, Budget::Millis(_)) {
            return MeshSwap::default();
        }
        let most = if self.lod.is_planned() { 0 } else { meter.left().min(at_once()) };
        let jobs = self.lod.plan_simplified(most);
        let done = self.flight.simplify(jobs);
        self.lod.publish_simplified(done)
    }

    fn work(&mut self, viewers: &[Viewer], meter: &mut Meter, fill: impl Fn(&mut Part<'_>) + Sync) {
        let viewers: Vec<_> = viewers.iter().map(|viewer| self.lod_viewer(viewer)).collect();
        loop {
            if !self.lod.is_planned() {
                self.flight.jobs = self.lod.plan(&mut self.grid, &viewers);
                // Taken from the end.
                self.flight.jobs.reverse();
            }
            let planned = self.lod.is_planned();
            if planned {
                while !self.flight.jobs.is_empty() {
                    match meter.left() {
                        0 => return,
                        left => meter.spent += self.flight.step(left),
                    }
                }
                let done = std::mem::take(&mut self.flight.done);
                self.publish_meshes(done);
            }
            // After every plan: one that waits for cells may be taken back by the next, and
            // those two would take turns for ever.
            let most = if planned { meter.left().max(1) } else { meter.left() };
            let wanted = self.lod.take_wanted(most.min(at_once()));
            meter.spent += wanted.len();
            let further = if wanted.is_empty() { planned } else { self.fill_wanted(wanted, &fill) };
            if !further || meter.left() == 0 {
                return;
            }
        }
    }

    /// Fills blocks; answers whether any could be had.
    fn fill_wanted(
        &mut self,
        wanted: Vec<MipBlock>,
        fill: &(impl Fn(&mut Part<'_>) + Sync),
    ) -> bool {
        let mut any = false;
        for (block, cells) in fill_all(wanted, self.placement, fill) {
            if let Some(cells) = cells {
                self.lod.supply(block, cells);
                any = true;
            }
        }
        any
    }

    fn lod_viewer(&self, viewer: &Viewer) -> LodViewer {
        let distance = f64::from(viewer.distance_m) / f64::from(self.placement.voxel_size_m);
        LodViewer {
            position_voxels: self.placement.voxel_from_world_f64(viewer.position_m),
            distance_voxels: distance,
        }
    }

    /// Asks `fill` for all cells of a box in world metres that are not held at mip 0, and
    /// holds them, so that they can be edited however far away they are.
    ///
    /// # Errors
    /// [`TerrainError::BeyondLimits`], [`TerrainError::TooLarge`]; [`TerrainError::NotHeld`]
    /// if `fill` does not have all of them.
    pub fn hold(
        &mut self,
        min_m: impl Into<[f32; 3]>,
        max_m: impl Into<[f32; 3]>,
        fill: impl Fn(&mut Part<'_>) + Sync,
    ) -> Result<(), TerrainError> {
        let region = self.checked_region(min_m, max_m)?;
        for blocks in self.lod.missing(&mut self.grid, region) {
            for (block, cells) in fill_all(blocks, self.placement, &fill) {
                if let Some(cells) = cells {
                    self.lod.hold(&mut self.grid, block, cells);
                }
            }
        }
        for chunk in region.blocks::<5>() {
            self.grid.chunk(chunk)?;
        }
        Ok(())
    }

    /// Jobs that mesh what comes next, to run on any threads, and whether there is a plan:
    /// none while the last plan has not been published, or while [`Terrain::update`] works
    /// on one. A plan may have no jobs; it is published all the same.
    pub fn plan_meshes(&mut self, viewers: &[Viewer]) -> Option<Vec<MeshJob>> {
        if self.lod.is_planned() {
            return None;
        }
        let viewers: Vec<_> = viewers.iter().map(|viewer| self.lod_viewer(viewer)).collect();
        let jobs = self.lod.plan(&mut self.grid, &viewers);
        self.lod.is_planned().then_some(jobs)
    }

    /// Shows the results of all jobs of the last plan at once.
    ///
    /// # Panics
    /// If they are not the results of every job of the last plan.
    pub fn publish_meshes(&mut self, results: Vec<MeshedBlock>) {
        let swap = self.lod.publish(results);
        if !swap.is_empty() {
            self.swaps.push(swap);
        }
    }

    /// Blocks whose cells are missing for the next plan, nearest first: for those who fill
    /// on threads of their own. What is taken and not [supplied](Terrain::supply) is asked
    /// for again.
    pub fn take_wanted(&mut self, most: usize) -> Vec<MipBlock> {
        self.lod.take_wanted(most)
    }

    /// Takes in the cells of a block that was asked for.
    ///
    /// # Panics
    /// If they are not the block's 32³ cells.
    pub fn supply(&mut self, block: MipBlock, cells: DenseBox) {
        self.lod.supply(block, cells);
    }

    /// Jobs that simplify meshes that rest ([`Lod::plan_simplified`](crate::lod::Lod)), to run
    /// on any threads: to be asked for once a frame, of so many groups of eight blocks at
    /// most, where [`Terrain::update`] is given a budget of time, or not called.
    pub fn plan_simplified(&mut self, most: usize) -> Vec<SimplifyJob> {
        self.lod.plan_simplified(most)
    }

    /// Draws what such jobs made, of any calls, where it is not out of date.
    pub fn publish_simplified(&mut self, results: Vec<SimplifiedMesh>) {
        let swap = self.lod.publish_simplified(results);
        if !swap.is_empty() {
            self.swaps.push(swap);
        }
    }

    /// Takes the changes to what is drawn since the last call, oldest first.
    pub fn mesh_swaps(&mut self) -> impl Iterator<Item = MeshSwap> + use<> {
        std::mem::take(&mut self.swaps).into_iter()
    }

    /// Blocks that are shown as a whole but ought to be shown in parts: what is late.
    pub fn late(&self, viewers: &[Viewer]) -> Vec<MipBlock> {
        let viewers: Vec<_> = viewers.iter().map(|viewer| self.lod_viewer(viewer)).collect();
        self.lod.late(&viewers)
    }
}

/// Blocks that are filled or meshed before the next look at the clock.
#[cfg(not(feature = "parallel"))]
fn at_once() -> usize {
    1
}

/// Blocks that are filled or meshed before the next look at the clock.
#[cfg(feature = "parallel")]
fn at_once() -> usize {
    2 * rayon::current_num_threads()
}

fn fill_all(
    blocks: Vec<MipBlock>,
    placement: Placement,
    fill: &(impl Fn(&mut Part<'_>) + Sync),
) -> Vec<(MipBlock, Option<DenseBox>)> {
    each(blocks, |block| (block, Part::fill(block, placement, fill)))
}

impl Flight {
    /// Runs the next few jobs, at most `most`, and answers how many.
    fn step(&mut self, most: usize) -> usize {
        let count = at_once().min(self.jobs.len()).min(most);
        let jobs = self.jobs.split_off(self.jobs.len() - count);
        self.done.extend(each(jobs, |job| self.meshing.lend(|scratch| job.run(scratch))));
        count
    }

    fn simplify(&self, jobs: Vec<SimplifyJob>) -> Vec<SimplifiedMesh> {
        each(jobs, |job| self.simplifying.lend(|simplifier| job.run(simplifier)))
    }
}

/// What `work` makes of each item, in their order.
#[cfg(not(feature = "parallel"))]
fn each<I, O>(items: Vec<I>, work: impl Fn(I) -> O) -> Vec<O> {
    items.into_iter().map(work).collect()
}

/// What `work` makes of each item, in their order.
#[cfg(feature = "parallel")]
fn each<I: Send, O: Send>(items: Vec<I>, work: impl Fn(I) -> O + Sync + Send) -> Vec<O> {
    use rayon::prelude::*;
    items.into_par_iter().map(work).collect()
}

/// Memory for jobs, reused: as many as ever ran at a time.
#[derive(Default)]
struct Spares<T>(Mutex<Vec<T>>);

impl<T: Default> Spares<T> {
    /// Works in memory that no other job uses just then.
    fn lend<O>(&self, work: impl FnOnce(&mut T) -> O) -> O {
        let lock = || self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut spare = lock().pop().unwrap_or_default();
        let done = work(&mut spare);
        lock().push(spare);
        done
    }
}
