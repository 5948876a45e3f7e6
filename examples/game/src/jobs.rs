//! The game's own threads, which fill and mesh the ground around the player.

use cpu_time::ThreadTime;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::Duration;
use terravox::terrain::{Budget, FillRequest, FinishedJob, Job, JobScratch, Terrain, Viewer};

const THREADS: usize = 2;
/// Largest number of jobs that wait or run: few, so that the next ones fit the player's new
/// position.
const MAX_IN_FLIGHT: usize = 12;
/// Time for choosing jobs, each frame.
const PLANNING: Budget = Budget::Millis(2.0);

pub struct Workers {
    /// `None` once the threads shall end.
    jobs: Option<Sender<Job>>,
    results: Receiver<thread::Result<FinishedJob>>,
    threads: Vec<JoinHandle<()>>,
    in_flight: usize,
    /// CPU time of the main thread in each frame.
    pub frame_cpu: Vec<Duration>,
}

impl Workers {
    pub fn start(fill: impl Fn(&mut FillRequest<'_>) + Send + Clone + 'static) -> Workers {
        let (jobs, work) = mpsc::channel::<Job>();
        let (done, results) = mpsc::channel();
        let work = Arc::new(Mutex::new(work));
        let start = |_| {
            let (work, done, fill) = (work.clone(), done.clone(), fill.clone());
            thread::spawn(move || {
                let mut scratch = JobScratch::default();
                loop {
                    let Ok(job) = work.lock().expect("recv does not panic").recv() else { return };
                    // A panic goes to the main thread, which would wait for a lost job for ever.
                    let run = AssertUnwindSafe(|| job.run(&mut scratch, &fill));
                    if done.send(catch_unwind(run)).is_err() {
                        return;
                    }
                }
            })
        };
        let threads = (0..THREADS).map(start).collect();
        Workers { jobs: Some(jobs), results, threads, in_flight: 0, frame_cpu: Vec::new() }
    }

    /// Takes finished jobs and hands out new ones: once a frame.
    pub fn frame(&mut self, terrain: &mut Terrain, viewer: Viewer) {
        let start = ThreadTime::now();
        while let Ok(done) = self.results.try_recv() {
            self.finish(terrain, done);
        }
        for job in terrain.take_jobs(&[viewer], PLANNING, MAX_IN_FLIGHT - self.in_flight) {
            let jobs = self.jobs.as_ref().expect("there until dropped");
            jobs.send(job).expect("the threads go on as long");
            self.in_flight += 1;
        }
        self.frame_cpu.push(start.elapsed());
        if self.in_flight == MAX_IN_FLIGHT {
            self.wait(terrain); // no screen slows this game down: keep step with the threads
        }
    }

    /// Waits for a result, if any is to come.
    pub fn wait(&mut self, terrain: &mut Terrain) {
        if self.in_flight > 0 {
            let done = self.results.recv().expect("the threads go on as long");
            self.finish(terrain, done);
        }
    }

    fn finish(&mut self, terrain: &mut Terrain, done: thread::Result<FinishedJob>) {
        self.in_flight -= 1;
        terrain.finish_job(done.unwrap_or_else(|panic| resume_unwind(panic)));
    }
}

impl Drop for Workers {
    fn drop(&mut self) {
        self.jobs = None;
        self.threads.drain(..).for_each(|thread| drop(thread.join()));
    }
}
