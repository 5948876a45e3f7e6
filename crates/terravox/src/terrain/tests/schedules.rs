//! A game, its workers and its saves on threads of their own, in many orders.

use super::*;
use crate::collide::schedule::{self, Mutex, splitmix};
use crate::edit::EditOp;
use std::collections::VecDeque;
use std::sync::atomic::AtomicBool;

const FRAMES: u64 = 30;

/// What the threads share.
#[derive(Default)]
struct Shared {
    jobs: Mutex<VecDeque<Job>>,
    finished: Mutex<Vec<FinishedJob>>,
    unsaved: Mutex<VecDeque<UnsavedChanges>>,
    written: Mutex<Vec<UnsavedChanges>>,
    /// Edited chunks by position; stands in for the world file.
    disk: Mutex<BTreeMap<ChunkPos, DenseBox>>,
    is_over: AtomicBool,
}

impl Shared {
    /// Fills a chunk from the world file, or else from the generator.
    fn fill(&self, request: &mut FillRequest<'_>) {
        let saved = self.disk.lock().unwrap().get(&request.block().voxels().min.chunk()).cloned();
        schedule::pass();
        match saved {
            Some(cells) => *request.cells() = cells,
            None => fill_hills(request),
        }
    }

    fn work(&self) {
        let mut scratch = JobScratch::default();
        while !self.is_over.load(Relaxed) {
            let job = self.jobs.lock().unwrap().pop_front();
            if let Some(job) = job {
                let done = job.run(&mut scratch, |request| self.fill(request));
                self.finished.lock().unwrap().push(done);
            }
        }
    }

    fn save(&self) {
        loop {
            let is_over = self.is_over.load(Relaxed);
            let unsaved = self.unsaved.lock().unwrap().pop_front();
            match unsaved {
                Some(unsaved) => {
                    self.write(&unsaved);
                    self.written.lock().unwrap().push(unsaved);
                }
                None if is_over => return,
                None => {}
            }
        }
    }

    /// Writes a state, as one transaction.
    fn write(&self, unsaved: &UnsavedChanges) {
        let mut disk = self.disk.lock().unwrap();
        for chunk in unsaved.chunks.chunks() {
            let mut cells = DenseBox::default();
            unsaved.chunks.snapshot().read(chunk.region(), 0, &mut cells).unwrap();
            disk.insert(chunk, cells);
        }
    }
}

fn options() -> TerrainOptions {
    // Chunks leave memory as soon as no viewer is near.
    let lod = LodOptions { max_mip: 0, near_voxels: 20.0, max_bytes: 0, ..LodOptions::default() };
    TerrainOptions { lod, ..TerrainOptions::default() }
}

/// Plays, and returns the digs that were not refused.
fn play(shared: &Shared, seed: u64) -> Vec<EditOp> {
    let mut terrain = Terrain::new(options());
    let mut random = seed;
    let mut digs = Vec::new();
    for frame in 0..FRAMES {
        // To and fro, so that dug ground is left and comes back.
        let x = 90.0 * (frame as f64 * 0.4).sin();
        let viewers = [Viewer { position_m: [x, 9.0, -2.0], distance_m: 60.0 }];
        let max_jobs = splitmix(&mut random) as usize % 8;
        let jobs = terrain.take_jobs(&viewers, Budget::Unlimited, max_jobs);
        shared.jobs.lock().unwrap().extend(jobs);
        let finished = std::mem::take(&mut *shared.finished.lock().unwrap());
        finished.into_iter().for_each(|done| terrain.finish_job(done));
        let [dx, dz] = [(); 2].map(|()| (splitmix(&mut random) % 20) as f64 - 10.0);
        let dig = EditOp::dig_ball([x + dx, 0.0, dz], 5.0);
        if terrain.edit(&dig).is_ok() {
            digs.push(dig);
        }
        let edits = terrain.take_edit_jobs();
        shared.jobs.lock().unwrap().extend(edits);
        if splitmix(&mut random).is_multiple_of(3) {
            shared.unsaved.lock().unwrap().push_back(terrain.unsaved());
        }
        let mut written = std::mem::take(&mut *shared.written.lock().unwrap());
        // Even seeds acknowledge saves out of order.
        if seed.is_multiple_of(2) {
            written.reverse();
        }
        written.iter().for_each(|written| terrain.mark_saved(written));
    }
    shared.unsaved.lock().unwrap().push_back(terrain.unsaved());
    shared.is_over.store(true, Relaxed);
    digs
}

#[test]
fn no_dig_is_lost_whatever_the_order_of_threads_slow() {
    let mut dug = 0;
    for seed in 0..40 {
        let shared = Shared::default();
        let digs = Mutex::default();
        schedule::run(
            seed,
            vec![
                Box::new(|| *digs.lock().unwrap() = play(&shared, seed)),
                Box::new(|| shared.work()),
                Box::new(|| shared.work()),
                Box::new(|| shared.save()),
            ],
        );
        let region = ([-120.0, -12.0, -30.0], [120.0, 12.0, 30.0]);
        let mut opened = Terrain::new(options());
        opened.hold(region.0, region.1, |request| shared.fill(request)).unwrap();
        let mut alone = Terrain::new(options());
        alone.hold(region.0, region.1, fill_hills).unwrap();
        for dig in digs.lock().unwrap().iter() {
            alone.edit(dig).unwrap();
            dug += 1;
        }
        assert_eq!(opened.grid().digest(), alone.grid().digest(), "seed {seed}");
    }
    assert!(dug > 200, "{dug}");
}
