//! Pieces that edits cut loose: they fall, come to rest, and are ground again.

use crate::causes::{Causes, can_cut};
use crate::journal::{StoredJournal, unix_seconds};
use crate::log::{error, info, warn};
use crate::physics::FARTHEST_M;
use crate::step_thread::SteppedPhysics;
use crate::thrown::{Thrower, ThrownThings};
use rapier3d::prelude::{Pose, RigidBodyHandle, Rotation, Vector};
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::{Duration, Instant};
use terravox::bodies::{Anchors, BodyPose, LooseBody, LooseCutter, LooseOptions, SavedBody};
use terravox::edit::{ChangedCells, EditError, EditOp, History, JournalFilter, JournalKind};
use terravox::replicate::{Host, HostWorld, SharedBody};
use terravox::terrain::Placement;
use terravox::voxel::{ChunkPos, DenseBox, Region, UnlistedChunks, VoxelGrid, VoxelPos};
use terravox_rapier::{LooseShapeOptions, loose_builders, loose_pose};
use terravox_store::Store;

/// Maximum number of pieces at one time; others wait, in the ground.
const MAX_PIECES: usize = 128;

/// Maximum number of cells of a piece: larger ones stay where they are.
const MAX_CELLS: u64 = 1 << 15;

/// Maximum number of pieces that are cut in a tick.
const CUTS_PER_TICK: u32 = 8;

/// Minimum number of cells of a piece: smaller ones stay where they are.
const MIN_CELLS: u64 = 3;

/// Maximum number of chunks that a piece may span along an axis.
const MAX_SPAN_CHUNKS: u32 = 5;

/// How far the end of a piece moves when that is turned about its centre of mass to lie along the
/// axes, by at most 8°, as a share of its length; and how far all of it moves besides, in voxels.
const SNAP_SHARE: f64 = 0.14;
const SNAP_VOXELS: i32 = 2;

/// Maximum number of pieces of one author at one time; others stay where they are.
const MAX_PIECES_OF_ONE: usize = MAX_PIECES / 2;

/// The author in the journal of a piece that was in the air when the server was started.
const UNKNOWN_AUTHOR: &str = "falling";

/// Search steps of a tick: about half a millisecond.
const STEPS_PER_TICK: u32 = 2_000;

/// Seconds until writing back a piece is tried again.
const RETRY_S: f32 = 2.0;

/// Seconds after which a slow piece that does not come to rest becomes ground.
const LONGEST_FALL_S: f32 = 60.0;
const SLOW_M_S: f32 = 0.5;

/// Time that pieces which become ground may take in a tick, and one more.
const WRITING: Duration = Duration::from_millis(8);

/// Seconds after which a piece may become ground where it is, while there are too many.
const SHORTEST_FALL_S: f32 = 0.5;

/// A piece this far below all ground is removed, in voxels.
const KILL_DEPTH_VOXELS: f64 = 256.0;

/// A piece that has fallen so far is removed, in voxels: there is nothing below it.
const DEEPEST_FALL: f64 = 65_536.0;

/// A piece in the air.
struct Piece {
    body: LooseBody,
    handle: RigidBodyHandle,
    /// Its number among the bodies of the host.
    number: u64,
    /// Where it was after the last step, and how it moved.
    motion: Motion,
    falls_s: f32,
    /// Not written back before this time.
    retry_at_s: f32,
    cut: Cut,
}

/// Where a piece is, in voxels, and how it moves, in metres and radians a second.
#[derive(Clone, Copy)]
struct Motion {
    pose: BodyPose,
    linear: [f64; 3],
    angular: [f64; 3],
}

/// What cut a piece off.
#[derive(Clone)]
struct Cut {
    author: Arc<str>,
    /// Unix time in seconds.
    time: u64,
    /// Its number in the journal.
    entry: Option<u64>,
}

/// All pieces of a world.
pub(crate) struct FallingPieces {
    options: LooseOptions,
    cutter: LooseCutter,
    causes: Causes,
    pieces: Vec<Piece>,
    thrown: ThrownThings,
    physics: SteppedPhysics,
    /// Seconds that passed while a step ran.
    waiting_s: f32,
    lowest_y: f64,
    /// Number of changes of pieces, and how many of them are saved.
    state: u64,
    saved: u64,
}

impl FallingPieces {
    fn new(grid: &VoxelGrid, protected: &[Region]) -> FallingPieces {
        let lowest = match grid.unlisted() {
            UnlistedChunks::Air => lowest_cell(grid),
            // Chunks that are not held anchor what touches them.
            UnlistedChunks::Unknown => None,
        };
        FallingPieces {
            options: LooseOptions {
                anchors: Anchors { below_y: lowest.map(|y| y + 1), regions: protected.to_vec() },
                min_cells: MIN_CELLS,
                max_cells: MAX_CELLS,
                max_span_chunks: MAX_SPAN_CHUNKS,
                cells_per_call: MAX_CELLS,
                // So that each is an entry of the journal.
                bodies_per_call: 1,
                steps_per_call: STEPS_PER_TICK,
                ..LooseOptions::default()
            },
            cutter: LooseCutter::default(),
            causes: Causes::default(),
            pieces: Vec::new(),
            thrown: ThrownThings::default(),
            physics: SteppedPhysics::new(),
            waiting_s: 0.0,
            lowest_y: lowest.map_or(f64::NEG_INFINITY, f64::from),
            state: 0,
            saved: 0,
        }
    }

    /// The pieces that were falling when a world was saved.
    pub fn restored(
        store: &Store,
        host: &mut Host,
        grid: &VoxelGrid,
        protected: &[Region],
    ) -> FallingPieces {
        let mut falling = FallingPieces::new(grid, protected);
        match store.bodies() {
            Ok(saved) => falling.restore(host, store.info().placement(), &saved),
            Err(error) => warn!("left out: {error}"),
        }
        falling
    }

    fn restore(&mut self, host: &mut Host, placement: Placement, saved: &[SavedBody]) {
        for piece in saved {
            let body = piece.to_body().ok();
            let shared = body.as_ref().and_then(|body| SharedBody::loose(body, piece.pose));
            let (Some(body), Some(shared)) = (body, shared) else {
                let at = piece.pose.position_voxels;
                warn!("left out: a saved loose piece at {at:?}, too large or of an invalid pose");
                continue;
            };
            let author = UNKNOWN_AUTHOR.into();
            let cut = Cut { author, time: unix_seconds(), entry: None };
            let handle = self.insert(host, placement, body, shared, cut);
            let rigid = &mut self.physics.world.bodies[handle];
            let position = placement.world_from_voxel(piece.pose.position_voxels);
            let pose = Pose::from_parts(
                position.map(|v| v as f32).into(),
                Rotation::from_array(piece.pose.rotation.map(|v| v as f32)),
            );
            rigid.set_position(pose, true);
            rigid.set_linvel(piece.linear_velocity_m_s.map(|v| v as f32).into(), true);
            rigid.set_angvel(piece.angular_velocity_rad_s.map(|v| v as f32).into(), true);
            let motion = self.motion_of(handle, placement);
            if let Some(piece) = self.pieces.last_mut() {
                piece.motion = motion;
            }
        }
        self.saved = self.state;
    }

    /// Notes an edit of a region, in voxels; without an operation for undo and redo. What is built
    /// in the air stays there until something is dug off it.
    pub fn follow_edit(&mut self, op: Option<&EditOp>, region: Region, author: &str) {
        // One that changed nothing is no cause either.
        if op.is_none_or(can_cut) && !region.is_empty() {
            self.cutter.touch(region);
            self.causes.note(region, author);
        }
    }

    /// Whether all pieces are saved as they are.
    pub fn is_saved(&self) -> bool {
        self.saved == self.state
    }

    /// All pieces, for a save, and the state to be noted when that has succeeded.
    pub fn to_save(&self) -> (Vec<SavedBody>, u64) {
        let save = |Piece { body, motion, .. }: &Piece| SavedBody {
            linear_velocity_m_s: motion.linear,
            angular_velocity_rad_s: motion.angular,
            ..SavedBody::new(body, motion.pose)
        };
        (self.pieces.iter().map(save).collect(), self.state)
    }

    pub fn note_saved(&mut self, state: u64) {
        self.saved = self.saved.max(state);
    }

    /// Runs a tick: shows where the last step moved everything, throws what guests request, cuts off
    /// loose pieces, and begins to move everything for `seconds`. Nothing while the last step still
    /// runs. `cuts` is false while a rollback restores chunk by chunk: what it restores would look
    /// loose.
    pub fn step(
        &mut self,
        host: &mut Host,
        world: &mut HostWorld<'_>,
        journal: &mut StoredJournal,
        seconds: f32,
        cuts: bool,
        throws: &[(Thrower, Vec<u8>)],
    ) {
        self.waiting_s += seconds;
        throws
            .iter()
            .for_each(|(by, request)| self.thrown.take(host, world.placement, by, request));
        if !self.physics.is_here() {
            return;
        }
        let seconds = std::mem::take(&mut self.waiting_s);
        if self.has_bodies() {
            self.follow(host, world, journal);
            let lowest = self.lowest_y - KILL_DEPTH_VOXELS;
            self.thrown.follow(&mut self.physics, host, world.placement, seconds, lowest);
        }
        self.thrown.throw_all(&mut self.physics, host, world.placement);
        if cuts {
            self.cut_loose(host, world, journal);
        }
        self.step_bodies(host, world, seconds);
    }

    fn has_bodies(&self) -> bool {
        !self.pieces.is_empty() || !self.thrown.is_empty()
    }

    /// Searches for what edits have cut loose, and turns it into pieces.
    fn cut_loose(
        &mut self,
        host: &mut Host,
        world: &mut HostWorld<'_>,
        journal: &mut StoredJournal,
    ) {
        for _ in 0..CUTS_PER_TICK {
            if !self.cut(host, world, journal) {
                break;
            }
        }
    }

    /// Begins to move pieces and thrown things for `seconds`.
    fn step_bodies(&mut self, host: &mut Host, world: &mut HostWorld<'_>, seconds: f32) {
        if !self.has_bodies() {
            return self.physics.rest(seconds);
        }
        // In a world that is complete, all ground is held.
        let is_complete = world.grid.unlisted() == UnlistedChunks::Air;
        for at in 0..if is_complete { 0 } else { self.pieces.len() } {
            let chunks = self.chunks_near(&self.pieces[at], world.placement);
            self.physics.hold_ground(host, world, self.pieces[at].handle, None, chunks);
        }
        self.thrown.hold_ground(&mut self.physics, host, world);
        self.physics.follow_ground(world.grid);
        self.physics.begin(world.placement, seconds);
    }

    /// Continues the search, and cuts the next loose piece; returns whether another one is known.
    fn cut(
        &mut self,
        host: &mut Host,
        world: &mut HostWorld<'_>,
        journal: &mut StoredJournal,
    ) -> bool {
        if self.pieces.len() >= MAX_PIECES || self.physics.is_busy() {
            return false;
        }
        let mut history = History::new(usize::MAX);
        let cut = match self.cutter.cut(world.grid, Some(&mut history), &self.options) {
            Ok(cut) => cut,
            Err(error) => {
                warn!("loose pieces: {error}");
                return false;
            }
        };
        let before = ChangedCells::from(history);
        let has_next = cut.has_more && !cut.bodies.is_empty();
        if let Some(body) = cut.bodies.into_iter().next() {
            before.regions().for_each(|region| host.changed(world, region));
            let was = before.region();
            let author = self.causes.author_of(&body).unwrap_or_else(|| UNKNOWN_AUTHOR.into());
            let own = self.pieces.iter().filter(|piece| piece.cut.author == author).count();
            let first = world.placement.world_from_voxel(body.first_pose().position_voxels);
            let is_allowed = own < MAX_PIECES_OF_ONE && first.iter().all(|v| v.abs() <= FARTHEST_M);
            match SharedBody::loose(&body, body.first_pose()).filter(|_| is_allowed) {
                Some(shared) => {
                    info!(cells = body.cells, at = %was, by = %author, "a piece was cut loose");
                    let time = unix_seconds();
                    let entry = journal.record_at(JournalKind::Piece, &author, time, before);
                    self.insert(host, world.placement, body, shared, Cut { author, time, entry });
                }
                // It goes back to where its cells were a moment ago.
                None => {
                    if let Err(why) = Self::write_back(host, world, &body, &body.first_pose()) {
                        error!(at = %was, "a piece of {} cells is lost: {why}", body.cells);
                        journal.record_at(JournalKind::Piece, &author, unix_seconds(), before);
                    }
                }
            }
        }
        let stats = self.cutter.stats();
        if stats.pending == 0 && stats.ready == 0 && stats.searching == 0 {
            self.causes.clear();
        }
        has_next
    }

    /// Writes pieces back to where they were cut loose by edits of which a rollback is ordered: so
    /// they are ground that is rolled back with the rest. One that was cut in part outside of the
    /// region that is rolled back falls on. Returns where they are now; `None`, and does nothing, while a
    /// step runs.
    pub fn put_back(
        &mut self,
        host: &mut Host,
        world: &mut HostWorld<'_>,
        journal: &mut StoredJournal,
        filter: &JournalFilter,
    ) -> Option<Vec<Region>> {
        if !self.physics.is_here() {
            return None;
        }
        let (mut at, mut put_back) = (0, Vec::new());
        while at < self.pieces.len() {
            let Piece { body, cut, .. } = &self.pieces[at];
            let is_meant = cut.entry.is_some_and(|number| {
                journal.lock().entries(number..=number).any(|entry| {
                    let is_inside = |region: Region| region.intersect(entry.region) == entry.region;
                    filter.matches(entry) && filter.region.is_none_or(is_inside)
                })
            });
            let written = is_meant.then(|| Self::write_back(host, world, body, &body.first_pose()));
            match written {
                Some(Ok(before)) => {
                    put_back.push(before.region());
                    journal.record_at(JournalKind::Piece, &cut.author, cut.time, before);
                    self.remove(host, at);
                }
                _ => at += 1,
            }
        }
        Some(put_back)
    }

    fn insert(
        &mut self,
        host: &mut Host,
        placement: Placement,
        body: LooseBody,
        shared: SharedBody,
        cut: Cut,
    ) -> RigidBodyHandle {
        let shape = LooseShapeOptions::default();
        let (rigid, collider) = loose_builders(&body, placement, &shape);
        let (handle, _) = self.physics.world.insert(rigid, collider);
        let number = host.add_body(shared);
        let (falls_s, retry_at_s, motion) = (0.0, 0.0, self.motion_of(handle, placement));
        self.pieces.push(Piece { body, handle, number, motion, falls_s, retry_at_s, cut });
        self.state += 1;
        handle
    }

    /// The box around a piece, in voxels.
    fn extent(&self, piece: &Piece, placement: Placement) -> Region {
        let rigid = &self.physics.world.bodies[piece.handle];
        let colliders =
            rigid.colliders().iter().filter_map(|&at| self.physics.world.colliders.get(at));
        let mut region = Region::default();
        for collider in colliders {
            let bounds = collider.compute_aabb();
            for corner in [bounds.mins, bounds.maxs] {
                let at = placement.voxel_from_world(corner.to_array().map(f64::from));
                let at = VoxelPos::from(at.map(|v| v.floor() as i32));
                region = region.union(Region::one(at));
            }
        }
        region
    }

    /// The chunks where cells of a piece are and will be soon. In the box around a long piece there
    /// are many others.
    fn chunks_near(&self, piece: &Piece, placement: Placement) -> BTreeSet<ChunkPos> {
        let pose = piece.motion.pose;
        let rotation = Rotation::from_array(pose.rotation.map(|v| v as f32));
        let ahead = self.physics.world.bodies[piece.handle].linvel() * 0.1;
        let ahead = ahead.to_array().map(|v| f64::from(v) / placement.voxel_size_m);
        // No farther than two chunks, however fast it is.
        let ahead = ahead.map(|v| v.clamp(-64.0, 64.0));
        let mut near = BTreeSet::new();
        for chunk in piece.body.grid.chunks() {
            let Region { min, max } = chunk.region().intersect(piece.body.bounds);
            let mut region = Region::default();
            for corner in 0..8 {
                let pick = |axis: usize| {
                    let end = if corner >> axis & 1 == 0 { min } else { max };
                    end.to_array()[axis] as f32
                };
                let turned = rotation * Vector::from([0, 1, 2].map(pick));
                let at = turned.to_array().map(f64::from);
                for share in [0.0, 1.0] {
                    let at = [0, 1, 2].map(|i| at[i] + pose.position_voxels[i] + share * ahead[i]);
                    region =
                        region.union(Region::one(VoxelPos::from(at.map(|v| v.floor() as i32))));
                }
            }
            near.extend(region.grow(3).blocks::<5>());
        }
        near
    }

    fn motion_of(&self, piece: RigidBodyHandle, placement: Placement) -> Motion {
        let rigid = &self.physics.world.bodies[piece];
        let (position, rotation) = loose_pose(rigid);
        Motion {
            pose: BodyPose {
                position_voxels: placement.voxel_from_world(position),
                rotation: rotation.map(f64::from),
            },
            linear: rigid.linvel().to_array().map(f64::from),
            angular: rigid.angvel().to_array().map(f64::from),
        }
    }

    /// The speed up to which pieces become ground where they are, in metres a second, since the last
    /// step took too long: the slowest of them go, which touch most.
    fn slow_enough(&mut self) -> f32 {
        let excess = self.physics.excess(self.pieces.len());
        let speed = |piece: &Piece| self.physics.world.bodies[piece.handle].linvel().length();
        let fallen = self.pieces.iter().filter(|piece| piece.falls_s > SHORTEST_FALL_S);
        let mut speeds: Vec<f32> = fallen.map(speed).collect();
        speeds.sort_unstable_by(f32::total_cmp);
        let last = excess.min(speeds.len()).checked_sub(1);
        last.map_or(f32::NEG_INFINITY, |last| speeds[last])
    }

    /// Shows where pieces are, and writes back those that rest.
    fn follow(&mut self, host: &mut Host, world: &mut HostWorld<'_>, journal: &mut StoredJournal) {
        let (slow_enough, stepped_s) = (self.slow_enough(), self.physics.stepped_s());
        let began = Instant::now();
        // By number: a panic on the way must not lose the pieces that come later.
        let mut at = 0;
        while at < self.pieces.len() {
            let motion = self.motion_of(self.pieces[at].handle, world.placement);
            let (piece, pose) = (&mut self.pieces[at], motion.pose);
            piece.motion = motion;
            piece.falls_s += stepped_s;
            let rigid = &self.physics.world.bodies[piece.handle];
            let is_asleep = rigid.is_sleeping();
            let speed = rigid.linvel().length();
            let is_slow = speed < SLOW_M_S && piece.falls_s > LONGEST_FALL_S;
            let is_surplus = speed <= slow_enough && piece.falls_s > SHORTEST_FALL_S;
            let is_valid = host.move_body(piece.number, &pose);
            let fallen = piece.body.first_pose().position_voxels[1] - pose.position_voxels[1];
            let is_below = pose.position_voxels[1] < self.lowest_y - KILL_DEPTH_VOXELS;
            let is_gone = !is_valid || is_below || fallen > DEEPEST_FALL;
            self.state += u64::from(!is_asleep && rigid.is_enabled());
            // It waits for ground that does not come.
            let is_stuck = !rigid.is_enabled() && piece.falls_s > LONGEST_FALL_S;
            let rests = is_asleep || is_slow || is_stuck || is_surplus;
            let ends = rests && piece.falls_s >= piece.retry_at_s && began.elapsed() < WRITING;
            if is_gone {
                let (cells, by) = (piece.body.cells, &piece.cut.author);
                info!(cells, %by, "a piece fell out of the world: it is gone");
                self.remove(host, at);
            } else if !ends || !self.end(host, world, journal, at, &pose) {
                at += 1;
            }
        }
    }

    /// Makes a piece ground; false if that is not possible now. One that lies in a protected region
    /// is gone.
    fn end(
        &mut self,
        host: &mut Host,
        world: &mut HostWorld<'_>,
        journal: &mut StoredJournal,
        at: usize,
        pose: &BodyPose,
    ) -> bool {
        let piece = &self.pieces[at];
        // It may be turned by some degrees to lie along the axes.
        let margin = snap_margin(piece.body.bounds);
        let extent = self.extent(piece, world.placement).grow(margin);
        let mut protected = self.options.anchors.regions.iter();
        if protected.any(|part| !part.intersect(extent).is_empty()) {
            let (cells, by) = (piece.body.cells, &piece.cut.author);
            info!(cells, at = %extent, %by, "a piece came to rest in a protected region: it is gone");
            self.remove(host, at);
            return true;
        }
        match Self::write_back(host, world, &piece.body, pose) {
            Ok(before) => {
                journal.record_at(JournalKind::Piece, &piece.cut.author, piece.cut.time, before);
                self.remove(host, at);
                true
            }
            Err(EditError::BeyondLimits(_)) => {
                warn!(at = %extent, "a loose piece came to rest beyond the limits of the world: it is gone");
                self.remove(host, at);
                true
            }
            Err(why) => {
                if piece.retry_at_s == 0.0 {
                    warn!(at = %extent, "a loose piece cannot become ground yet: {why}");
                }
                self.pieces[at].retry_at_s = piece.falls_s + RETRY_S;
                false
            }
        }
    }

    fn remove(&mut self, host: &mut Host, at: usize) {
        let piece = self.pieces.remove(at);
        host.remove_body(piece.number);
        self.physics.world.remove_body(piece.handle);
        self.state += 1;
    }

    /// Writes the cells of a piece into the world. Returns the cells that were there.
    fn write_back(
        host: &mut Host,
        world: &mut HostWorld<'_>,
        body: &LooseBody,
        pose: &BodyPose,
    ) -> Result<ChangedCells, EditError> {
        let mut history = History::new(usize::MAX);
        body.write_back(world.grid, pose, Some(&mut history))?;
        info!(cells = body.cells, "a piece is ground again");
        let before = ChangedCells::from(history);
        before.regions().for_each(|region| host.changed(world, region));
        Ok(before)
    }
}

/// How far cells of a piece with these bounds may come to lie outside of where it rests, in voxels.
fn snap_margin(bounds: Region) -> i32 {
    let length = bounds.size().iter().map(|&edge| (edge as f64).powi(2)).sum::<f64>().sqrt();
    (length * SNAP_SHARE).ceil() as i32 + SNAP_VOXELS
}

/// The height of the lowest cell that is not air. Layers far below that have less than a hundredth of all
/// chunks do not count: something was built in the void.
fn lowest_cell(grid: &VoxelGrid) -> Option<i32> {
    let chunks = grid.chunks();
    let mut layers: Vec<i32> = chunks.iter().map(|chunk| chunk.y).collect();
    layers.sort_unstable();
    layers.drain(..layers.len() / 100);
    layers.dedup();
    let mut cells = DenseBox::default();
    layers.into_iter().find_map(|layer| {
        let chunks = chunks.iter().filter(|chunk| chunk.y == layer);
        let lowest = chunks.filter_map(|chunk| {
            grid.read(chunk.region(), 0, &mut cells).ok()?;
            let mut voxels = chunk.region().voxels();
            voxels.find(|&voxel| !cells.cell(voxel).is_air()).map(|voxel| voxel.y)
        });
        lowest.min()
    })
}
