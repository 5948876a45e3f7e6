//! Work as plain data: blocks to fill, to mesh and to simplify, on any thread.

use super::fill_request::{FillRequest, filled};
use super::placement::Placement;
use crate::lod::{FillTicket, MeshJob, MeshScratch, MeshedBlock, SimplifiedMeshes, SimplifyJob};
use crate::mesh::BlockMesh;
use crate::simplify::Simplifier;
use crate::voxel::{DenseBox, MipBlock};
use std::sync::Arc;

/// What a [`Job`] does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum JobKind {
    /// Asks a generator or a store for the cells of a block.
    Fill,
    /// Makes the mesh of a block.
    Mesh,
    /// Simplifies the mesh of one block, or of eight joined blocks.
    Simplify,
}

/// A piece of work of [`Terrain::take_jobs`](super::Terrain::take_jobs): `Send` data, to be run on
/// any thread.
///
/// A job that is dropped is handed out again by a later call.
#[derive(Debug)]
#[must_use = "a job that is not run is handed out again"]
pub struct Job(pub(super) Work);

#[derive(Debug)]
pub(super) enum Work {
    Fill { block: MipBlock, placement: Placement, ticket: FillTicket },
    Mesh(Box<MeshJob>),
    Simplify(SimplifyJob),
}

/// The result of a [`Job`], for [`Terrain::finish_job`](super::Terrain::finish_job).
#[derive(Debug)]
#[must_use = "the result is lost, and the job handed out again"]
pub struct FinishedJob(pub(super) Finished);

#[derive(Debug)]
pub(super) enum Finished {
    Fill { block: MipBlock, ticket: FillTicket, cells: Option<DenseBox> },
    Mesh(MeshedBlock),
    Simplify(SimplifiedMeshes),
}

impl FinishedJob {
    /// Returns the meshes that the job made, as [`ShownMesh::mesh`](super::ShownMesh::mesh) will have
    /// them if they are shown. For programs that convert meshes on the thread of the job.
    pub fn meshes(&self) -> &[Arc<BlockMesh>] {
        match &self.0 {
            Finished::Fill { .. } => &[],
            Finished::Mesh(meshed) => meshed.mesh.as_slice(),
            Finished::Simplify(simplified) => simplified.meshes(),
        }
    }
}

/// Memory that jobs reuse; keep one per thread.
#[derive(Default)]
pub struct JobScratch {
    mesh: MeshScratch,
    simplifier: Simplifier,
}

impl JobScratch {
    pub(super) fn simplify(&mut self, job: SimplifyJob) -> SimplifiedMeshes {
        job.run(&mut self.simplifier)
    }
}

impl Job {
    /// Returns what the job does.
    pub fn kind(&self) -> JobKind {
        match self.0 {
            Work::Fill { .. } => JobKind::Fill,
            Work::Mesh(_) => JobKind::Mesh,
            Work::Simplify(_) => JobKind::Simplify,
        }
    }

    /// Returns the block to fill or mesh, or the parent of the blocks to simplify.
    pub fn block(&self) -> MipBlock {
        match &self.0 {
            Work::Fill { block, .. } => *block,
            Work::Mesh(job) => job.block(),
            Work::Simplify(job) => job.block(),
        }
    }

    /// Does the work. `fill` is the closure that [`Terrain::update`](super::Terrain::update) takes;
    /// only jobs of kind [`JobKind::Fill`] call it, once each.
    pub fn run(self, scratch: &mut JobScratch, fill: impl Fn(&mut FillRequest<'_>)) -> FinishedJob {
        self.run_filled(scratch, &fill)
    }

    fn run_filled(
        self,
        scratch: &mut JobScratch,
        fill: &dyn Fn(&mut FillRequest<'_>),
    ) -> FinishedJob {
        FinishedJob(match self.0 {
            Work::Fill { block, placement, ticket } => {
                Finished::Fill { block, ticket, cells: filled(block, placement, fill) }
            }
            Work::Mesh(job) => Finished::Mesh(job.run(&mut scratch.mesh)),
            Work::Simplify(job) => Finished::Simplify(job.run(&mut scratch.simplifier)),
        })
    }
}
