//! Fills a [`Terrain`](terravox::Terrain) from batches on the graphics card.
//!
//! Each frame, jobs go in and filled jobs come out:
//!
//! ```text
//! Terrain::take_jobs -> TerrainFiller::take -> (meshes: to your threads)
//!                       TerrainFiller::advance -> FilledJob::run -> Terrain::finish_job
//! ```

use std::collections::HashMap;

use terravox::terrain::{FillRequest, FinishedJob, Job, JobKind, JobScratch};

use crate::batch::BatchId;
use crate::fill::{FilledBlock, GpuFiller};

/// Keeps the jobs of a terrain whose cells a [`GpuFiller`] computes.
pub struct TerrainFiller {
    filler: GpuFiller,
    /// Jobs that are in no batch yet.
    waiting: Vec<Job>,
    in_flight: HashMap<BatchId, Vec<Job>>,
}

/// A job whose cells are known, or left to the CPU.
#[derive(Debug)]
#[must_use = "a job that is not run is handed out again"]
pub struct FilledJob {
    job: Job,
    block: FilledBlock,
}

impl FilledJob {
    /// Whether the device computed the cells. Else [`FilledJob::run`] takes as long as the CPU does.
    pub fn is_from_gpu(&self) -> bool {
        self.block.is_from_gpu()
    }

    /// Makes the result for [`Terrain::finish_job`](terravox::Terrain::finish_job), on any thread.
    pub fn run(self, scratch: &mut JobScratch) -> FinishedJob {
        self.run_with(scratch, |_| ())
    }

    /// As [`FilledJob::run`], with more to do to the cells, such as
    /// [`FillRequest::fill_air_below`].
    pub fn run_with(
        self,
        scratch: &mut JobScratch,
        then: impl Fn(&mut FillRequest<'_>),
    ) -> FinishedJob {
        let FilledJob { job, block } = self;
        job.run(scratch, |request| {
            block.fill(request);
            then(request);
        })
    }
}

impl TerrainFiller {
    /// A filler of one terrain.
    pub fn new(filler: GpuFiller) -> TerrainFiller {
        TerrainFiller { filler, waiting: Vec::new(), in_flight: HashMap::new() }
    }

    /// Returns what fills.
    pub fn filler(&self) -> &GpuFiller {
        &self.filler
    }

    /// Returns how many jobs are not filled yet. Take fewer new ones when there are many, since what
    /// a viewer needs may have changed by the time that they are done.
    pub fn pending(&self) -> usize {
        self.waiting.len() + self.in_flight.values().map(Vec::len).sum::<usize>()
    }

    /// Keeps the jobs that fill blocks; returns the others.
    pub fn take(&mut self, jobs: Vec<Job>) -> Vec<Job> {
        let (fill, others) = jobs.into_iter().partition(|job| job.kind() == JobKind::Fill);
        self.waiting.extend::<Vec<Job>>(fill);
        others
    }

    /// Submits what is waiting and returns the jobs that are filled, without waiting for any. Call it
    /// once a frame, after [`TerrainFiller::take`].
    pub fn advance(&mut self) -> Vec<FilledJob> {
        let mut filled = self.collect();
        while !self.waiting.is_empty() {
            let count = self.waiting.len().min(self.filler.batch_blocks());
            let blocks = self.waiting[..count].iter().map(Job::block).collect();
            let Ok(id) = self.filler.submit(blocks) else { break };
            self.in_flight.insert(id, self.waiting.drain(..count).collect());
        }
        // What the CPU has to do is there at once.
        filled.extend(self.collect());
        filled
    }

    fn collect(&mut self) -> Vec<FilledJob> {
        let mut filled = Vec::new();
        for batch in self.filler.poll() {
            let jobs = self.in_flight.remove(&batch.id).unwrap_or_default();
            let pairs = jobs.into_iter().zip(batch.blocks);
            filled.extend(pairs.map(|(job, block)| FilledJob { job, block }));
        }
        filled
    }
}
