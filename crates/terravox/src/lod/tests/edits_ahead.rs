//! Edits are shown ahead of what streams in, and the surface stays closed.

use super::*;

/// What happened in some frames.
#[derive(Default)]
pub(super) struct Frames {
    published: usize,
    /// Edit plans that were shown while another plan was in progress.
    ahead: usize,
}

impl Scene {
    /// Runs frames of `jobs` jobs each, as `Terrain::update` does. Stops when nothing is left to do.
    pub(super) fn frames(&mut self, viewer: LodViewer, frames: usize, jobs: usize) -> Frames {
        let (mut scratch, mut done) = (MeshScratch::keyed(), Frames::default());
        for _ in 0..frames {
            self.lod.begin_round();
            self.lod.note_motion(&[viewer]);
            let mut left = jobs;
            while left > 0 {
                self.publish_all(&mut done);
                assert!(self.lod.advance(&mut self.grid, &[viewer], &mut || true));
                if !self.run_job(&mut scratch) {
                    break;
                }
                left -= 1;
            }
            if left == jobs && !self.publish_all(&mut done) && self.lod.is_settled() {
                break;
            }
        }
        done
    }

    fn publish_all(&mut self, done: &mut Frames) -> bool {
        let mut is_any = false;
        loop {
            let is_ahead = self.lod.edit_plan.is_some() && self.lod.active_plan.is_some();
            let Some(swap) = self.lod.publish_complete() else { return is_any };
            is_any = true;
            self.draw(swap);
            done.published += 1;
            done.ahead += usize::from(is_ahead && self.lod.edit_plan.is_none());
            if is_ahead || done.published.is_multiple_of(8) {
                self.assert_closed();
            }
        }
    }

    fn run_job(&mut self, scratch: &mut MeshScratch) -> bool {
        match self.lod.next_job(self.grid.as_snapshot(), &mut || true) {
            Some(NextJob::Mesh(job)) => self.lod.finish_mesh(job.run(scratch)),
            Some(NextJob::Fill(block, ticket)) => {
                self.lod.finish_fill(block, &ticket, Some(cells_of(block)));
            }
            None => return false,
        }
        true
    }

    /// Removes a box of voxels, all of which must be held at mip 0. Returns whether they were.
    fn carve(&mut self, at: [i32; 3], reach: i32, new: Cell) -> bool {
        let region = Region::one(at.into()).grow(reach);
        let mut cells = DenseBox::new(region);
        region.voxels().for_each(|voxel| cells.set(voxel, new));
        self.grid.write(&cells).is_ok()
    }
}

#[test]
fn a_dig_is_shown_before_a_plan_that_was_begun_earlier() {
    let mut scene = Scene::new(LodOptions { near_voxels: 64.0, ..small() });
    let eye = |x: f64| viewer(x, 30.0, 0.0);
    scene.frames(eye(0.0), 10_000, 8);
    // Moves until a plan of some size is in progress.
    let at = (1..200)
        .map(f64::from)
        .find(|&at| {
            scene.frames(eye(at), 1, 1);
            scene.lod.active_plan.as_ref().is_some_and(|plan| plan.queue.len() > 5)
        })
        .expect("moving should stream in something");
    let left = scene.lod.active_plan.as_ref().map_or(0, |plan| plan.queue.len());
    assert!(scene.carve([at as i32 - 20, 12, 0], 3, Cell::AIR));
    let dug = scene.frames(eye(at), 1, 1);
    assert_eq!(dug.published, 0);
    let edits = scene.lod.edit_plan.as_ref().expect("the dig should be planned alone").blocks.len();
    assert!(edits < left, "{edits} blocks of the dig, {left} of the plan before it");
    let dug = scene.frames(eye(at), edits, 1);
    assert_eq!((dug.published, dug.ahead), (1, 1));
    scene.frames(eye(at), 10_000, 8);
    scene.assert_rebuilt();
}

#[test]
fn endless_digs_do_not_stop_the_stream() {
    let mut scene = Scene::new(LodOptions { near_voxels: 32.0, ..small() });
    let eye = viewer(0.0, 30.0, 0.0);
    for round in 0..400 {
        let cell = if round % 2 == 0 { Cell::AIR } else { Cell::full(4) };
        // Not held in the first rounds.
        scene.carve([3, 12, 2], 3, cell);
        scene.frames(eye, 1, 4);
    }
    let wanted = scene.lod.overdue_splits(&[eye]);
    assert!(wanted.is_empty() && scene.drawn.len() > 50, "{wanted:?}");
    scene.frames(eye, 10_000, 8);
    scene.assert_rebuilt();
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1))]

    #[test]
    fn digs_while_flying_slowly_are_closed_at_once_and_equal_a_rebuild_later(
        start in prop::array::uniform3(-100.0..100.0f64),
        moves in prop::collection::vec((prop::array::uniform3(-40.0..40.0f64), 1usize..12), 4..8),
        digs in prop::collection::vec((prop::array::uniform3(-40i32..40), 1i32..6, any::<bool>()), 32),
        morph in any::<bool>(),
        near_voxels in prop::sample::select(vec![16.0f32, 48.0, 80.0]),
    ) {
        let mut scene = Scene::new(LodOptions { near_voxels, morph, ..small() });
        let mut at = start;
        let mut digs = digs.into_iter();
        let eye = |at: [f64; 3]| viewer(at[0], at[1] * 0.2 + 20.0, at[2]);
        scene.frames(eye(at), 60, 8);
        for (step, jobs) in moves {
            for _ in 0..4 {
                at = [0, 1, 2].map(|i| at[i] + step[i] / 4.0);
                scene.frames(eye(at), 3, jobs);
                if let Some((dig, reach, fill)) = digs.next() {
                    let near = [0, 1, 2].map(|i| at[i] as i32 * i32::from(i != 1) + dig[i]);
                    scene.carve(near, reach, if fill { Cell::full(4) } else { Cell::AIR });
                }
                scene.frames(eye(at), 2, jobs);
            }
        }
        scene.frames(eye(at), 10_000, 16);
        scene.assert_closed();
        scene.assert_balanced();
        scene.assert_rebuilt();
    }
}
