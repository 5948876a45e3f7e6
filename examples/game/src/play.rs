//! The game itself: a player walks, digs, builds, and undoes.

use crate::bodies::Bodies;
use crate::jobs::Workers;
use crate::save::{Saver, State};
use crate::strokes::Stroke;
use crate::world::{Land, ROCK, local_from_map, map_from_local};
use crate::{Result, WORLD, ensure};
use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;
use terravox::lod::{LodOptions, ShownMesh};
use terravox::terrain::{FillRequest, Placement, RayOutcome, Terrain, TerrainOptions, Viewer};
use terravox::voxel::{Kind, MipBlock};
use terravox_store::Store;

/// A frame's way: 9 m/s at 60 Hz.
const STEP_M: f64 = 9.0 / 60.0;
/// The eyes above the feet.
const EYES_M: f64 = 1.7;
/// How far the tool reaches.
const REACH_M: f64 = 25.0;
const SIGHT_M: f64 = 400.0;
/// The origin follows the player, since physics are f32.
const FAR_M: f64 = 4096.0;
/// Distance that the player walks before he leaves a place.
const WALK_M: f64 = 60.0;
const ELSEWHERE_M: [f64; 3] = [1e6, 0.0, -1e6];
const BODIES: usize = 36;
/// Frames back home in which all comes to rest.
const LAST_FRAMES: u64 = 240;
/// Frames after which a game counts as hanging.
const TOO_MANY_FRAMES: u64 = 100_000;

/// What happened, by number.
#[derive(Debug, Default)]
struct EventCounts {
    hits: u32,
    misses: u32,
    unknown: u32,
    undos: u32,
    redos: u32,
    woken: usize,
    origins: u32,
}

#[derive(Clone, Copy)]
enum Stage {
    Home,
    Elsewhere { walked_before_m: f64 },
    Back { since_frame: u64 },
}

/// A body whose ground was dug away, and how high it lay.
#[derive(Clone, Copy)]
enum Undermined {
    NotYet,
    Falls(usize, f64),
    Fell,
}

struct Game<F> {
    terrain: Terrain,
    fill: F,
    workers: Workers,
    saver: Saver,
    bodies: Bodies,
    /// What was saved, and where the feet and the count of strokes are now.
    state: State,
    highest: f64,
    frame: u64,
    walked: f64,
    stage: Stage,
    undermined: Undermined,
    /// What a renderer would have on the graphics card.
    shown: HashMap<MipBlock, ShownMesh>,
    counts: EventCounts,
}

/// Plays on in the world of a folder: for ever, or until every kind of event happened.
pub fn play(folder: &Path, for_ever: bool) -> Result<()> {
    let (store, land) = (Arc::new(Store::open(folder.join(WORLD))?), Land::new());
    let of = Land::generator();
    store.check_generator(&of.name, of.version, of.seed)?;
    let lod = LodOptions { max_mip: 4, ..LodOptions::default() };
    let terrain = store.terrain(TerrainOptions { lod, ..TerrainOptions::default() })?;
    let highest = land.highest();
    let new = State { player: [0.5, highest, 0.5], ..State::default() };
    let state = State::load(&store)?.unwrap_or(new);
    println!("resumed {}", state.strokes);
    let mut bodies = Bodies::default();
    state.bodies.iter().for_each(|&at| bodies.drop_at(terrain.placement(), at));
    let saver = Saver::start(store.clone(), land.clone());
    let fill =
        move |request: &mut FillRequest<'_>| store.fill(request, |request| land.fill(request));
    let mut game = Game {
        terrain,
        workers: Workers::start(fill.clone()),
        fill,
        saver,
        bodies,
        state,
        highest,
        frame: 0,
        walked: 0.0,
        stage: Stage::Home,
        undermined: Undermined::NotYet,
        shown: HashMap::new(),
        counts: EventCounts::default(),
    };
    while for_ever || !game.is_over() {
        game.frame()?;
        ensure(for_ever || game.frame < TOO_MANY_FRAMES, "the game hangs")?;
    }
    game.end()
}

impl<F: Fn(&mut FillRequest<'_>) + Sync> Game<F> {
    fn frame(&mut self) -> Result<()> {
        self.frame += 1;
        self.look();
        self.travel();
        if self.frame.is_multiple_of(10) && self.walked > 1.0 {
            self.drop_bodies();
        }
        if self.frame.is_multiple_of(9) {
            self.use_tool(self.frame / 9)?;
        }
        self.undermine()?;
        self.counts.woken += self.bodies.step(&self.terrain).woken;
        self.saver.poll(&mut self.terrain, false)?;
        if self.frame.is_multiple_of(60) && !self.saver.is_busy {
            self.save();
        }
        Ok(())
    }

    fn placement(&self) -> Placement {
        self.terrain.placement()
    }

    /// In local metres, as all positions of the terrain.
    fn eyes(&self) -> [f64; 3] {
        let [x, y, z] = local_from_map(self.placement(), self.state.player);
        [x, y + EYES_M, z]
    }

    /// Updates the meshes for this view.
    fn look(&mut self) {
        let viewer = Viewer { position_m: self.eyes(), distance_m: SIGHT_M };
        self.workers.frame(&mut self.terrain, viewer);
        for swap in self.terrain.mesh_swaps() {
            for block in swap.removed {
                self.shown.remove(&block);
            }
            self.shown.extend(swap.added.into_iter().map(|mesh| (mesh.block, mesh)));
        }
    }

    /// A walk at home, one elsewhere, and back to the bodies; the origin follows.
    fn travel(&mut self) {
        match (self.stage, self.undermined) {
            (Stage::Home, Undermined::Fell) if self.walked > WALK_M => {
                self.stage = Stage::Elsewhere { walked_before_m: self.walked };
                self.state.player = [ELSEWHERE_M[0], self.highest, ELSEWHERE_M[2]];
            }
            (Stage::Elsewhere { walked_before_m }, _) if self.walked > walked_before_m + WALK_M => {
                self.stage = Stage::Back { since_frame: self.frame };
                self.state.player = self.bodies.places()[0];
            }
            (Stage::Back { .. }, _) => {}
            _ => self.walk(),
        }
        let local = local_from_map(self.placement(), self.state.player).map(f64::round);
        if local.iter().any(|v| v.abs() > FAR_M) {
            let origin = self.placement().origin_m;
            self.terrain.set_origin([0, 1, 2].map(|i| origin[i] - local[i]));
            self.bodies.follow_origin(self.placement());
            self.counts.origins += 1;
        }
    }

    /// A step onto the ground ahead. Where that has not come yet, the player stands.
    fn walk(&mut self) {
        let heading = self.heading();
        let ahead = [STEP_M * heading.cos(), 3.0, STEP_M * heading.sin()];
        let from = local_from_map(self.placement(), self.state.player);
        let from: [f64; 3] = std::array::from_fn(|i| from[i] + ahead[i]);
        if self.is_buried(from) {
            self.state.player[1] = self.highest; // back on top
            return;
        }
        match self.terrain.ray(from, [0.0, -1.0, 0.0], 200.0) {
            RayOutcome::Hit(hit) => {
                self.state.player = map_from_local(self.placement(), hit.point_m);
                self.walked += STEP_M;
            }
            RayOutcome::Miss => self.state.player[1] = self.highest,
            RayOutcome::Unknown(_) => {
                self.counts.unknown += 1;
                self.workers.wait(&mut self.terrain);
            }
        }
    }

    /// Whether a point is in the ground: a ray from there would hit nothing of it.
    fn is_buried(&self, local: [f64; 3]) -> bool {
        let grid = self.terrain.grid();
        let cell = grid.cell(self.placement().voxel_at(local));
        cell.is_ok_and(|cell| grid.materials().kind(cell.material) == Kind::Solid)
    }

    fn heading(&self) -> f64 {
        0.3 + 0.02 * self.walked
    }

    fn drop_bodies(&mut self) {
        let [x, y, z] = self.state.player;
        let has = self.bodies.places().len();
        for i in 0..4.min(BODIES - has) {
            let side = i as f64 * 1.5 - 2.25;
            self.bodies.drop_at(self.placement(), [x + side, y + 5.0 + i as f64, z - side]);
        }
    }

    /// Digs or builds where the player looks, or takes it back.
    fn use_tool(&mut self, turn: u64) -> Result<()> {
        match turn % 16 {
            // The pit stays until the body is in it.
            5 | 13 if matches!(self.undermined, Undermined::Falls(..)) => return Ok(()),
            5 | 13 => {
                self.counts.undos += u32::from(self.act(Stroke::Undo)?);
                return Ok(());
            }
            6 => {
                self.counts.redos += u32::from(self.act(Stroke::Redo)?);
                return Ok(());
            }
            _ => {}
        }
        let (yaw, down) = (self.heading() + turn as f64 * 0.7, 0.9 - (turn % 7) as f64 * 0.25);
        let look = [yaw.cos(), -down, yaw.sin()].map(|v| v as f32);
        match self.terrain.ray(self.eyes(), look, REACH_M) {
            RayOutcome::Hit(hit) => {
                self.counts.hits += 1;
                let (material, radius_m) =
                    if turn.is_multiple_of(3) { (ROCK, 1.5) } else { (0, 2.0) };
                self.act(Stroke::ball(&self.terrain, material, hit.point_m, radius_m))?;
            }
            RayOutcome::Miss => self.counts.misses += 1,
            RayOutcome::Unknown(_) => self.counts.unknown += 1, // nothing to work on yet
        }
        Ok(())
    }

    /// Digs the ground away under a body that rests, and sees it fall.
    fn undermine(&mut self) -> Result<()> {
        match self.undermined {
            Undermined::NotYet => {
                if let Some(body) = self.bodies.resting() {
                    let [x, y, z] = self.bodies.places()[body];
                    let below = local_from_map(self.placement(), [x, y - 1.5, z]);
                    self.act(Stroke::ball(&self.terrain, 0, below, 2.5))?;
                    self.undermined = Undermined::Falls(body, y);
                }
            }
            Undermined::Falls(body, from) if self.bodies.places()[body][1] < from - 1.0 => {
                self.undermined = Undermined::Fell;
            }
            _ => {}
        }
        Ok(())
    }

    /// Does a stroke and prints it, so that it can be repeated from the log.
    fn act(&mut self, stroke: Stroke) -> Result<bool> {
        let is_done = stroke.apply(&mut self.terrain, &self.fill)?;
        if is_done {
            self.state.strokes += 1;
            let numbers = stroke.to_numbers().iter().map(|v| format!(" {v}")).collect::<String>();
            println!("stroke{numbers}");
        }
        Ok(is_done)
    }

    fn save(&mut self) {
        self.state.save += 1;
        self.state.bodies = self.bodies.places().to_vec();
        self.saver.save(&self.terrain, &self.state);
    }

    fn is_over(&self) -> bool {
        let has_waited = match self.stage {
            Stage::Back { since_frame } => self.frame > since_frame + LAST_FRAMES,
            _ => false,
        };
        let sees_far = self.shown.keys().any(|block| block.mip > 2);
        has_waited && sees_far && !self.bodies.are_waiting()
    }

    /// The last save, and whether all was as it should be.
    fn end(mut self) -> Result<()> {
        self.saver.poll(&mut self.terrain, true)?;
        self.save();
        self.saver.poll(&mut self.terrain, true)?;
        ensure(self.terrain.is_saved(), "something is not saved")?;
        ensure(self.saver.completed > 1, "nothing was saved meanwhile")?;
        let counts = &self.counts;
        eprintln!("  {} frames, {} strokes, {counts:?}", self.frame, self.state.strokes);
        self.workers.frame_cpu.sort();
        let time = |i: usize| self.workers.frame_cpu[i * (self.workers.frame_cpu.len() - 1) / 100];
        eprintln!(
            "  finish_job and take_jobs, CPU a frame: p50 {:.1?}, p99 {:.1?}, max {:.1?}",
            time(50),
            time(99),
            time(100)
        );
        ensure(
            counts.hits > 0 && counts.misses > 0 && counts.unknown > 0,
            "rays found too little",
        )?;
        ensure(counts.undos > 0 && counts.redos > 0, "nothing was taken back")?;
        ensure(counts.woken > 0, "nothing was woken by digging")?;
        ensure(counts.origins == 2, "the origin did not follow")?;
        let triangles = self.shown.values().map(|shown| shown.mesh.solid.indices.len() / 3).sum();
        ensure(self.terrain.lod().triangles() == triangles, "the swaps do not add up")?;
        self.check_bodies()
    }

    /// Checks that all bodies lie on the ground.
    fn check_bodies(&self) -> Result<()> {
        ensure(self.bodies.places().len() == BODIES, "bodies are missing")?;
        for &at in self.bodies.places() {
            let at = local_from_map(self.placement(), at);
            let below = self.terrain.ray(at, [0.0, -1.0, 0.0], 30.0);
            // From inside the ground, the first surface below is the ceiling of a cave.
            let is_over = below.hit().is_some_and(|hit| hit.normal[1] > 0.0);
            ensure(is_over, &format!("the body at {at:?} fell through: {below:?}"))?;
        }
        Ok(())
    }
}
