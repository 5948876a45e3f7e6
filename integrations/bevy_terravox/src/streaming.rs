//! Jobs of terrains on Bevy's task pool: taken, run, brought back.
//!
//! Tasks for the jobs of a frame are spawned when the frame is over. A thread that wakes for a job takes
//! the core of a thread that is needed for the frame, for 3 ms and more at a time, where there are no more
//! cores than threads. Between frames it takes what is idle, and what it made is there in the next one.
//!
//! A terrain of which nothing is left to do is not touched: a quiet frame costs a comparison of
//! viewers.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use bevy::math::DVec3;
use bevy::platform::cell::SyncCell;
use bevy::prelude::*;
use bevy::tasks::AsyncComputeTaskPool;
use terravox::terrain::{Budget, FinishedJob, Job, JobScratch, Viewer};

use crate::chunks::TerrainChunks;
use crate::made_mesh::{MadeMesh, MadeMeshes, MeshStyle};
use crate::plugin::{TerravoxSettings, TerravoxStats, timed};
use crate::terrain::{Fill, Terrain};
use crate::viewer::TerrainViewer;

/// The least share of its budget that planning gets in a frame: what comes back never ends it.
const MIN_PLAN_SHARE: f32 = 0.25;

/// Scratch memory of jobs: as many as ever ran at once.
type Scratch = Arc<Mutex<Vec<JobScratch>>>;

/// Jobs that no task has begun; the first is begun next. There is a task for each.
type Queue = Arc<Mutex<VecDeque<Job>>>;

/// What a task sends back: the result, and its meshes for the renderer. `None` if the generator
/// panicked.
type Outcome = Option<(FinishedJob, Vec<MadeMesh>)>;

/// The jobs of one terrain.
pub(crate) struct Work {
    send: Sender<Outcome>,
    receive: SyncCell<Receiver<Outcome>>,
    scratch: Scratch,
    queue: Queue,
    /// Jobs that no task is spawned for yet.
    not_spawned: usize,
    in_flight: usize,
    /// Those of the last planning, in terrain space.
    viewers: Vec<Viewer>,
    next_viewers: Vec<Viewer>,
    /// Whether something was written since the last planning.
    pub is_dirty: bool,
    pub has_failed: bool,
}

impl Default for Work {
    fn default() -> Work {
        let (send, receive) = channel();
        Work {
            send,
            receive: SyncCell::new(receive),
            scratch: Scratch::default(),
            queue: Queue::default(),
            not_spawned: 0,
            in_flight: 0,
            viewers: Vec::new(),
            next_viewers: Vec::new(),
            is_dirty: true,
            has_failed: false,
        }
    }
}

impl Drop for Work {
    /// Drops the jobs that no task has begun: nothing takes their results back.
    fn drop(&mut self) {
        lock(&self.queue).clear();
    }
}

impl Terrain {
    /// Takes back what tasks finished. What is there when `budget_ms` have passed waits for the next frame.
    fn finish_jobs(&mut self, made: &mut MadeMeshes, start: Instant, budget_ms: f32) {
        let mut is_first = true;
        while self.work.in_flight > 0 && (is_first || elapsed_ms(start) < budget_ms) {
            is_first = false;
            let Ok(outcome) = self.work.receive.get().try_recv() else { return };
            self.work.in_flight -= 1;
            match outcome {
                Some((done, meshes)) => {
                    self.voxels.finish_job(done);
                    meshes.into_iter().for_each(|mesh| made.insert(mesh));
                }
                None => self.work.has_failed = true,
            }
        }
    }

    /// Whether there is nothing to plan for the viewers in `next_viewers`.
    fn is_quiet(&self) -> bool {
        let work = &self.work;
        let is_same = !work.is_dirty && work.viewers == work.next_viewers;
        let lod = self.voxels.lod();
        is_same && work.in_flight == 0 && self.voxels.is_settled() && lod.is_at_rest()
    }

    /// Queues what new edits need, ahead of all that waits.
    fn queue_edit_jobs(&mut self) {
        let jobs = self.voxels.take_edit_jobs();
        self.queue(jobs.into_iter().rev(), VecDeque::push_front);
    }

    /// Plans for some milliseconds, and queues what the plan needs.
    fn queue_jobs(&mut self, settings: &TerravoxSettings, plan_ms: f32) {
        let work = &mut self.work;
        let most = settings.jobs_per_thread * AsyncComputeTaskPool::get().thread_num().max(1);
        let max_jobs = most.saturating_sub(work.in_flight);
        if max_jobs == 0 {
            // Nothing would be planned.
            return;
        }
        std::mem::swap(&mut work.viewers, &mut work.next_viewers);
        work.is_dirty = false;
        let jobs = self.voxels.take_jobs(&work.viewers, Budget::Millis(plan_ms), max_jobs);
        self.queue(jobs.into_iter(), VecDeque::push_back);
    }

    /// Puts jobs into the queue by `push`.
    fn queue(
        &mut self,
        jobs: impl ExactSizeIterator<Item = Job>,
        push: impl Fn(&mut VecDeque<Job>, Job),
    ) {
        let work = &mut self.work;
        let count = jobs.len();
        if count == 0 {
            return;
        }
        let mut queue = lock(&work.queue);
        jobs.for_each(|job| push(&mut queue, job));
        work.in_flight += count;
        work.not_spawned += count;
    }

    /// Spawns a task for each job that has none.
    fn spawn_tasks(&mut self, style: Option<&MeshStyle>) {
        let work = &mut self.work;
        let pool = AsyncComputeTaskPool::get();
        for _ in 0..std::mem::take(&mut work.not_spawned) {
            let (send, queue, scratch) =
                (work.send.clone(), work.queue.clone(), work.scratch.clone());
            let (fill, style) = (self.fill.clone(), style.cloned());
            let run_next = async move {
                // A thread that runs on keeps its core for milliseconds, though one of the frame waits for it.
                std::thread::yield_now();
                let job = lock(&queue).pop_front();
                if let Some(job) = job {
                    // A terrain that was despawned has no receiver any more.
                    drop(send.send(run(job, &scratch, &fill, style.as_ref())));
                }
            };
            pool.spawn(run_next).detach();
        }
    }
}

fn elapsed_ms(start: Instant) -> f32 {
    start.elapsed().as_secs_f32() * 1e3
}

/// What planning gets of a budget of which a part is spent.
fn plan_ms(budget_ms: f32, spent_ms: f32) -> f32 {
    (budget_ms - spent_ms).max(budget_ms * MIN_PLAN_SHARE)
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Runs a job with borrowed scratch memory, and makes its meshes, so that frames need not.
fn run(job: Job, scratch: &Scratch, fill: &Fill, style: Option<&MeshStyle>) -> Outcome {
    let mut own = lock(scratch).pop().unwrap_or_default();
    let block = job.block();
    // Scratch memory of a job that panicked is dropped.
    let done = catch_unwind(AssertUnwindSafe(|| {
        let done = job.run(&mut own, |request| fill(request));
        (done, own)
    }));
    match done {
        Ok((done, own)) => {
            lock(scratch).push(own);
            let made = |style: &MeshStyle| {
                done.meshes().iter().map(|mesh| MadeMesh::of(mesh, style)).collect()
            };
            let made = style.map_or_else(Vec::new, made);
            Some((done, made))
        }
        Err(_) => {
            error!("the generator panicked at {block:?}; this terrain is not streamed any further");
            None
        }
    }
}

/// Streams all terrains in around the viewers.
pub(crate) fn stream(
    mut terrains: Query<(&mut Terrain, &mut TerrainChunks, Ref<GlobalTransform>)>,
    viewers: Query<(&TerrainViewer, Ref<GlobalTransform>)>,
    settings: Res<TerravoxSettings>,
    mut stats: ResMut<TerravoxStats>,
) {
    timed(&mut stats.stream_ms, || {
        for (mut terrain, mut chunks, transform) in &mut terrains {
            // Streaming is not a change that a game wants to hear of.
            let terrain = terrain.bypass_change_detection();
            let chunks = chunks.bypass_change_detection();
            let start = Instant::now();
            terrain.finish_jobs(chunks.made_mut(), start, settings.plan_ms);
            // What was just spawned has no place in the world before transforms are propagated.
            if terrain.work.has_failed || transform.is_added() {
                continue;
            }
            if transform.is_changed() && transform.scale().distance(Vec3::ONE) > 1e-3 {
                warn_once!(
                    "the scale of a terrain must be 1: TerrainOptions::placement has the voxel size"
                );
            }
            let terrain_from_world = transform.affine().as_daffine3().inverse();
            let in_terrain = |(viewer, at): (&TerrainViewer, Ref<GlobalTransform>)| {
                let point: DVec3 = at.translation().as_dvec3();
                let position_m = terrain_from_world.transform_point3(point).to_array();
                let viewer = Viewer { position_m, distance_m: viewer.distance_m.into() };
                (!at.is_added()).then_some(viewer)
            };
            terrain.work.next_viewers.clear();
            terrain.work.next_viewers.extend(viewers.iter().filter_map(in_terrain));
            let work = &mut terrain.work;
            if work.next_viewers.is_empty() {
                // A camera that is replaced is not there for a frame: the view stays. No viewer at
                // all would mean that everything is shown.
                work.next_viewers.clone_from(&work.viewers);
            }
            // While there is much to upload, nothing is planned that would have to wait.
            let has_backlog = chunks.backlog_bytes() > settings.upload_bytes().saturating_mul(2);
            if terrain.is_quiet() {
                continue;
            }
            terrain.queue_edit_jobs();
            if !has_backlog {
                // A frame that takes much back plans less.
                let plan_ms = plan_ms(settings.plan_ms, elapsed_ms(start));
                terrain.queue_jobs(&settings, plan_ms);
            }
        }
    });
}

/// Spawns the tasks of the frame.
pub(crate) fn spawn(
    mut terrains: Query<(&mut Terrain, &TerrainChunks)>,
    mut stats: ResMut<TerravoxStats>,
) {
    timed(&mut stats.stream_ms, || {
        for (mut terrain, chunks) in &mut terrains {
            terrain.bypass_change_detection().spawn_tasks(chunks.style());
        }
    });
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;
    use crate::{EditTerrain, TerravoxPlugin, TerravoxSystems};
    use terravox::edit::EditOp;

    fn app(terrain: Terrain) -> (App, Entity) {
        let mut app = App::new();
        app.add_plugins((MinimalPlugins, TransformPlugin, TerravoxPlugin::default()));
        let terrain = app.world_mut().spawn(terrain).id();
        app.world_mut().spawn((TerrainViewer::new(100.0), Transform::from_xyz(0.0, 5.0, 0.0)));
        (app, terrain)
    }

    fn load(app: &mut App, terrain: Entity) {
        let is_settled = |app: &App| {
            let terrain = app.world().get::<Terrain>(terrain).unwrap();
            terrain.work.in_flight == 0 && terrain.voxels.is_settled()
        };
        app.update();
        while !is_settled(app) {
            app.update();
            std::thread::yield_now();
        }
    }

    #[test]
    fn planning_gets_what_is_left_of_the_budget_and_never_nothing() {
        assert_eq!(plan_ms(1.0, 0.25), 0.75);
        assert_eq!(plan_ms(1.0, 7.0), MIN_PLAN_SHARE);
        assert_eq!(plan_ms(0.0, 7.0), 0.0);
    }

    #[test]
    fn jobs_of_a_terrain_that_is_dropped_are_not_run() {
        // For the task pools.
        App::new().add_plugins(MinimalPlugins);
        let mut terrain = Terrain::new(|request| request.fill_height(2, 0.0..=0.0, |_, _| 0.0));
        terrain.work.next_viewers.push(Viewer { position_m: [0.0; 3], distance_m: 100.0 });
        terrain.queue_jobs(&TerravoxSettings::default(), 100.0);
        let queue = terrain.work.queue.clone();
        assert!(!lock(&queue).is_empty());
        drop(terrain);
        assert!(lock(&queue).is_empty());
    }

    #[test]
    fn jobs_of_a_frame_begin_when_it_is_over() {
        static QUEUED: AtomicUsize = AtomicUsize::new(0);
        let flat = Terrain::new(|request| request.fill_height(2, 0.0..=0.0, |_, _| 0.0));
        let (mut app, terrain) = app(flat);
        load(&mut app, terrain);
        let count = |terrains: Query<&Terrain>| {
            let work = &terrains.single().unwrap().work;
            assert_eq!(work.not_spawned, lock(&work.queue).len());
            QUEUED.store(work.not_spawned, Ordering::Relaxed);
        };
        app.add_systems(PostUpdate, count.after(TerravoxSystems::Ground));
        let op = EditOp::dig_ball([0.0; 3], 4.0);
        app.world_mut().write_message(EditTerrain::new(terrain, op));
        app.update();
        assert!(QUEUED.load(Ordering::Relaxed) > 0);
        assert_eq!(app.world().get::<Terrain>(terrain).unwrap().work.not_spawned, 0);
        assert!(app.world().get::<Terrain>(terrain).unwrap().work.in_flight > 0);
    }
}
