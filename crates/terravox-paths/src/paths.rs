//! The view: tiles of the ground, rebuilt where edits touch them, and searches on them.

use std::collections::VecDeque;
use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};
use terravox::math::{Aabb, DebugLines};
use terravox::terrain::Placement;
use terravox::voxel::{
    ChangeCursor, Changes, ChunkPos, FarChanges, LIMIT, Region, Snapshot, VoxelGrid,
};
use xxhash_rust::xxh3::Xxh3;

use crate::agent::{AgentError, Gauge, PathOptions};
use crate::ground::{Ground, RectId, distance};
use crate::line::{LinePoint, line};
use crate::outcome::{PartialReason, Path, PathOutcome};
use crate::search::{Corridor, End, search};
use crate::tile::{Tile, TileMaker};

/// One tile in this many is new while others are edited.
const NEW_TURNS: u32 = 4;

/// Lines leave out points that are within this much of them in height, voxels.
const TOLERANCE_VOXELS: f64 = 0.125;

/// Colours of rectangles in [`Paths::lines`]: dry, under water.
const COLOURS: [[u8; 3]; 2] = [[40, 220, 120], [60, 140, 255]];

/// The navigation mesh of an agent, and paths on it.
///
/// ```
/// use terravox::{EditOp, Terrain, TerrainOptions};
/// use terravox_paths::{PathOptions, PathOutcome, Paths};
///
/// const ROCK: u8 = 8;
///
/// // Level ground with a wall across it.
/// let mut terrain = Terrain::new(TerrainOptions::default());
/// terrain.fill([-64.0; 3], [64.0; 3], |request| {
///     request.fill_sdf(ROCK, |[x, y, z]| {
///         let wall = (2.0 - x.abs()).min(8.0 - y).min(24.0 - z.abs());
///         wall.max(-y)
///     })
/// })?;
///
/// let placement = terrain.placement();
/// let mut paths = Paths::new(PathOptions::default(), placement.voxel_size_m)?;
/// paths.cover(placement.region([-32.0; 3], [32.0; 3]).blocks::<5>());
/// paths.update(terrain.grid(), usize::MAX);
///
/// let (a, b) = ([-20.0, 0.0, 0.0], [20.0, 0.0, 0.0]);
/// let PathOutcome::Complete(around) = paths.find(&placement, a, b) else { panic!("a way") };
/// assert!(around.length_m > 60.0, "{}", around.length_m);
///
/// // Through the wall.
/// terrain.edit(&EditOp::dig_ball([0.0, 6.0, 0.0], 6.2))?;
/// let done = paths.update(terrain.grid(), usize::MAX);
/// assert!(done.renewed.len() <= 8);
/// let PathOutcome::Complete(through) = paths.find(&placement, a, b) else { panic!("a way") };
/// assert!(through.length_m < 45.0, "{}", through.length_m);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Paths {
    options: PathOptions,
    voxel_size_m: f64,
    gauge: Gauge,
    cursor: ChangeCursor,
    far_cursor: ChangeCursor,
    /// The tiles that are covered; none where the ground is unknown or not made yet.
    tiles: FxHashMap<ChunkPos, Option<Arc<Tile>>>,
    /// New tiles to make, in this order.
    queue: VecDeque<ChunkPos>,
    /// Edited tiles to make, those that wait longest first.
    edited: VecDeque<ChunkPos>,
    /// Counts tiles that were taken.
    turn: u32,
    #[cfg(not(feature = "parallel"))]
    maker: TileMaker,
}

/// What an update did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PathUpdate {
    /// Tiles that changed, sorted. Paths through them may be stale.
    pub renewed: Vec<ChunkPos>,
    /// Tiles that were made, also those that came out the same.
    pub made: usize,
    /// Tiles that the limit left for the next update.
    pub left: usize,
}

impl Paths {
    /// Creates a view that covers nothing, of a world with voxels of this size.
    ///
    /// # Errors
    /// [`AgentError`] if a value is out of its range.
    pub fn new(options: PathOptions, voxel_size_m: f64) -> Result<Paths, AgentError> {
        let gauge = Gauge::new(&options, voxel_size_m)?;
        Ok(Paths {
            options,
            voxel_size_m,
            gauge,
            cursor: ChangeCursor::default(),
            far_cursor: ChangeCursor::default(),
            tiles: FxHashMap::default(),
            queue: VecDeque::new(),
            edited: VecDeque::new(),
            turn: 0,
            #[cfg(not(feature = "parallel"))]
            maker: TileMaker::default(),
        })
    }

    /// The options.
    pub fn options(&self) -> &PathOptions {
        &self.options
    }

    /// Sets the tiles that are covered, in the order in which new ones are to be made: chunks of 32³
    /// voxels, such as those around the agent, also above and below. Ground level with the top of a
    /// chunk is in the chunk above. Drops all others; keeps those that were covered before.
    pub fn cover(&mut self, tiles: impl IntoIterator<Item = ChunkPos>) {
        let mut before = std::mem::take(&mut self.tiles);
        for tile in tiles {
            if self.tiles.contains_key(&tile) || !tile.within_limits() {
                continue;
            }
            let known = before.remove(&tile);
            if known.is_none() {
                self.queue.push_back(tile);
            }
            self.tiles.insert(tile, known.flatten());
        }
        let covered = &self.tiles;
        self.queue.retain(|tile| covered.contains_key(tile));
        self.edited.retain(|tile| covered.contains_key(tile));
    }

    /// The tiles that are covered, sorted.
    pub fn tiles(&self) -> Vec<ChunkPos> {
        let mut tiles: Vec<_> = self.tiles.keys().copied().collect();
        tiles.sort_unstable();
        tiles
    }

    /// Whether a tile is covered and its ground known.
    pub fn is_made(&self, tile: ChunkPos) -> bool {
        self.tiles.get(&tile).is_some_and(Option::is_some)
    }

    /// Follows the grid: makes at most `limit` tiles, edited ones first, but every fourth is new. For
    /// another world make another view. A tile whose ground is unknown, or known only at a coarser
    /// mip, up to some voxels beyond its own, is made when it comes.
    ///
    /// With the feature `parallel` tiles are made on rayon's threads; the result is the same.
    pub fn update(&mut self, grid: &VoxelGrid, limit: usize) -> PathUpdate {
        self.follow(grid);
        let mut next = Vec::new();
        while next.len() < limit {
            let Some(tile) = self.next_tile() else { break };
            next.push(tile);
        }
        let mut done = PathUpdate { made: next.len(), ..PathUpdate::default() };
        for (at, tile) in self.make(grid.as_snapshot(), &next) {
            let before = self.tiles.insert(at, tile.map(Arc::new)).flatten();
            if before != self.tiles[&at] {
                done.renewed.push(at);
            }
        }
        done.renewed.sort_unstable();
        done.left = self.edited.len() + self.queue.len();
        done
    }

    #[cfg(not(feature = "parallel"))]
    fn make(&mut self, snapshot: &Snapshot, tiles: &[ChunkPos]) -> Vec<(ChunkPos, Option<Tile>)> {
        let (gauge, maker) = (&self.gauge, &mut self.maker);
        tiles.iter().map(|&tile| (tile, maker.make(gauge, snapshot, tile))).collect()
    }

    #[cfg(feature = "parallel")]
    fn make(&mut self, snapshot: &Snapshot, tiles: &[ChunkPos]) -> Vec<(ChunkPos, Option<Tile>)> {
        use rayon::prelude::*;
        let gauge = &self.gauge;
        let made = tiles
            .par_iter()
            .map_init(TileMaker::default, |maker, &tile| (tile, maker.make(gauge, snapshot, tile)));
        made.collect()
    }

    /// Takes the next tile: one that was edited, but every fourth is new, so that endless edits do
    /// not stop what streams in.
    fn next_tile(&mut self) -> Option<ChunkPos> {
        self.turn = self.turn.wrapping_add(1);
        let (first, second) = match self.turn.is_multiple_of(NEW_TURNS) {
            true => (&mut self.queue, &mut self.edited),
            false => (&mut self.edited, &mut self.queue),
        };
        first.pop_front().or_else(|| second.pop_front())
    }

    /// Queues what the grid's change logs have.
    fn follow(&mut self, grid: &VoxelGrid) {
        let changes = grid.changes_since(&mut self.cursor);
        let far = grid.far_changes_since(&mut self.far_cursor);
        let mut changed = Vec::new();
        match (changes, far) {
            (Changes::Regions(regions), FarChanges::Blocks(blocks)) => {
                let far = blocks.iter().filter(|block| block.mip == 0).map(|block| block.voxels());
                for region in regions.iter().copied().chain(far) {
                    self.add_reached(region, &mut changed);
                }
            }
            _ => changed.extend(self.tiles.keys().copied()),
        }
        if changed.is_empty() {
            return;
        }
        // The order of a hash map is arbitrary.
        changed.sort_unstable();
        changed.dedup();
        // What waits already keeps its place.
        let waits: FxHashSet<ChunkPos> = self.queue.iter().chain(&self.edited).copied().collect();
        self.edited.extend(changed.into_iter().filter(|tile| !waits.contains(tile)));
    }

    /// Lists the covered tiles that depend on the cells of a region.
    fn add_reached(&self, region: Region, changed: &mut Vec<ChunkPos>) {
        let reached = self.gauge.tiles_of(region);
        if reached.volume() > self.tiles.len() as u64 {
            let inside = |tile: &&ChunkPos| reached.contains([tile.x, tile.y, tile.z].into());
            changed.extend(self.tiles.keys().filter(inside));
            return;
        }
        let tiles = reached.voxels().map(|pos| ChunkPos::new(pos.x, pos.y, pos.z));
        changed.extend(tiles.filter(|tile| self.tiles.contains_key(tile)));
    }

    /// Finds the path from one point to another, both in metres and up to
    /// [`snap_m`](PathOptions::snap_m) from the ground. Both ends are moved off the borders of
    /// their path cells, by ¼ of a path cell at most along x and z.
    ///
    /// The tiles are those as of the last update: while that [`left`](PathUpdate::left) some, agents
    /// near edits should stop.
    ///
    /// # Panics
    /// With debug assertions, if the placement has voxels of another size than the view.
    pub fn find(
        &self,
        placement: &Placement,
        start_m: impl Into<[f64; 3]>,
        goal_m: impl Into<[f64; 3]>,
    ) -> PathOutcome {
        self.check_size(placement);
        let voxels = [start_m.into(), goal_m.into()].map(|point| placement.voxel_from_world(point));
        let Some(scale) = self.scale(voxels[0]) else { return PathOutcome::StartOffMesh };
        if self.scale(voxels[1]).is_none() {
            return PathOutcome::GoalOffMesh;
        }
        let mut ground = self.ground(scale.base);
        let [start, goal] = voxels.map(|point| scale.path_cells(point));
        let radius = self.options.snap_m / self.voxel_size_m * scale.per_voxel;
        let mut end = |point| {
            ground.has_met_unknown = false;
            let found = ground.nearest(point, radius);
            found.map(|(rect, point)| End { rect, point }).ok_or(ground.has_met_unknown)
        };
        let start = match end(start) {
            Ok(start) => start,
            Err(true) => return PathOutcome::StartNotLoaded,
            Err(false) => return PathOutcome::StartOffMesh,
        };
        let goal = match end(goal) {
            Ok(goal) => goal,
            Err(true) => return PathOutcome::GoalNotLoaded,
            Err(false) => return PathOutcome::GoalOffMesh,
        };
        ground.has_met_unknown = false;
        let corridor = search(&mut ground, start, goal, self.options.max_rects);
        let tolerance = TOLERANCE_VOXELS * scale.per_voxel;
        let points = line(&ground, start.point, &corridor, tolerance);
        let path = scale.path(placement, &points, &corridor);
        match corridor {
            Corridor { is_complete: true, .. } => PathOutcome::Complete(path),
            Corridor { is_cut_short: true, .. } => {
                PathOutcome::Partial(path, PartialReason::SearchLimit)
            }
            _ if ground.has_met_unknown => PathOutcome::Partial(path, PartialReason::NotLoaded),
            _ => PathOutcome::Partial(path, PartialReason::Unreachable),
        }
    }

    /// Returns the ground that can be walked on nearest to a point, up to
    /// [`snap_m`](PathOptions::snap_m) from it; all in metres. The point is moved off the borders of
    /// its path cell, as the ends of paths are.
    ///
    /// # Panics
    /// With debug assertions, if the placement has voxels of another size than the view.
    pub fn nearest(&self, placement: &Placement, point_m: impl Into<[f64; 3]>) -> Option<[f64; 3]> {
        self.check_size(placement);
        let voxels = placement.voxel_from_world(point_m);
        let scale = self.scale(voxels)?;
        let mut ground = self.ground(scale.base);
        let radius = self.options.snap_m / self.voxel_size_m * scale.per_voxel;
        let (_, point) = ground.nearest(scale.path_cells(voxels), radius)?;
        Some(placement.world_from_voxel(scale.voxels(point)))
    }

    /// Returns the highest ground that can be walked on at x and z, of all tiles; all in metres.
    ///
    /// # Panics
    /// With debug assertions, if the placement has voxels of another size than the view.
    pub fn highest(&self, placement: &Placement, x_m: f64, z_m: f64) -> Option<[f64; 3]> {
        self.check_size(placement);
        let voxels = placement.voxel_from_world([x_m, placement.origin_m[1], z_m]);
        let scale = self.scale(voxels)?;
        let mut ground = self.ground(scale.base);
        let mut heights: Vec<i32> = self.tiles.keys().map(|tile| tile.y).collect();
        heights.sort_unstable();
        heights.dedup();
        let [x, _, z] = scale.path_cells(voxels);
        let path_cell = [x, z].map(|v| v.floor() as usize);
        heights.into_iter().rev().find_map(|y| {
            let slot = ground.slot(ChunkPos { y, ..scale.base })?;
            let floor = ground.tile(slot).of(path_cell[0], path_cell[1]).next_back()?;
            let id = RectId { slot, rect: ground.tile(slot).rect_of(floor) };
            let point = [x, ground.height_in(id, [x, z]), z];
            Some(placement.world_from_voxel(scale.voxels(point)))
        })
    }

    fn check_size(&self, placement: &Placement) {
        let [own, other] = [self.voxel_size_m, placement.voxel_size_m];
        debug_assert!(own == other, "the view has voxels of {own} m, the placement of {other} m");
    }

    /// Path cells counted from the tile of a point in voxels, if that is within the limits.
    fn scale(&self, voxels: [f64; 3]) -> Option<PathCellScale> {
        let is_inside = voxels.iter().all(|v| v.abs() < f64::from(LIMIT));
        let [x, y, z] = voxels.map(|v| (v.floor() as i32) >> 5);
        let (base, per_voxel) = (ChunkPos::new(x, y, z), f64::from(self.gauge.per_voxel));
        is_inside.then_some(PathCellScale { base, per_voxel })
    }

    /// The ground, counted from a tile.
    fn ground<'a>(&'a self, base: ChunkPos) -> Ground<'a, impl Fn(ChunkPos) -> Option<&'a Tile>> {
        let tile_at = |at: ChunkPos| self.tiles.get(&at).and_then(Option::as_deref);
        Ground::new(&self.gauge, base, tile_at)
    }

    /// A digest of all tiles: equal for equal cells, options and covered tiles, whatever the order
    /// of edits and the number of threads, once an update has left none.
    pub fn digest(&self) -> u128 {
        let mut hash = Xxh3::new();
        for at in self.tiles() {
            [at.x, at.y, at.z].iter().for_each(|v| hash.update(&v.to_le_bytes()));
            match &self.tiles[&at] {
                None => hash.update(&[0]),
                Some(tile) => {
                    hash.update(&[1]);
                    tile.digest(|bytes| hash.update(bytes));
                }
            }
        }
        hash.digest128()
    }

    /// Number of rectangles and of floors of all tiles.
    pub fn counts(&self) -> [usize; 2] {
        let made = self.tiles.values().flatten();
        made.fold([0, 0], |[rects, floors], tile| {
            [rects + tile.rects().len(), floors + tile.floor_count()]
        })
    }

    /// Draws the outlines of the rectangles in the tiles that a box touches, all in voxels.
    pub fn lines(&self, within: &Aabb, lines: &mut DebugLines) {
        for at in self.tiles() {
            let Region { min, max } = at.region();
            let corners = [min, max].map(|p| p.to_array().map(f64::from));
            let [low, high] = corners;
            let is_near = (0..3).all(|i| low[i] <= within.max[i] && within.min[i] <= high[i]);
            let Some(tile) = self.tiles[&at].as_deref().filter(|_| is_near) else { continue };
            let tile_at = |pos: ChunkPos| (pos == at).then_some(tile);
            let mut ground = Ground::new(&self.gauge, at, tile_at);
            let Some(slot) = ground.slot(at) else { continue };
            let scale = PathCellScale { base: at, per_voxel: f64::from(self.gauge.per_voxel) };
            for rect in 0..tile.rects().len() as u32 {
                scale.outline(&ground, RectId { slot, rect }, lines);
            }
        }
    }
}

/// Converts path cells from a base to voxels and back.
struct PathCellScale {
    base: ChunkPos,
    per_voxel: f64,
}

impl PathCellScale {
    fn path_cells(&self, voxels: [f64; 3]) -> [f64; 3] {
        let base = self.base.min_voxel().to_array();
        [0, 1, 2].map(|i| (voxels[i] - f64::from(base[i])) * self.per_voxel)
    }

    fn voxels(&self, path_cells: [f64; 3]) -> [f64; 3] {
        let base = self.base.min_voxel().to_array();
        [0, 1, 2].map(|i| path_cells[i] / self.per_voxel + f64::from(base[i]))
    }

    /// A line as a path in metres.
    fn path(&self, placement: &Placement, points: &[LinePoint], corridor: &Corridor) -> Path {
        let mut path = Path { looked_at: corridor.looked_at, ..Path::default() };
        let metres = |point: &LinePoint| placement.world_from_voxel(self.voxels(point.at));
        path.points_m.extend(points.iter().map(metres));
        let metres_per_path_cell = placement.voxel_size_m / self.per_voxel;
        for pair in points.windows(2) {
            let length_m = distance(pair[0].at, pair[1].at) * metres_per_path_cell;
            path.length_m += length_m;
            path.wet_m += if pair[0].is_wet { length_m } else { 0.0 };
        }
        path
    }

    /// Draws the outline of a rectangle, on the ground.
    fn outline<'a, T: Fn(ChunkPos) -> Option<&'a Tile>>(
        &self,
        ground: &Ground<'a, T>,
        id: RectId,
        lines: &mut DebugLines,
    ) {
        let rect = ground.tile(id.slot).rects()[id.rect as usize];
        let colour = COLOURS[usize::from(rect.is_wet)];
        let [min, last] = [rect.min, rect.last].map(|p| p.map(f64::from));
        let max = last.map(|v| v + 1.0);
        // Slightly within, so that those of two rectangles show.
        let inset = 0.06;
        let corners = [
            [min[0] + inset, min[1] + inset],
            [max[0] - inset, min[1] + inset],
            [max[0] - inset, max[1] - inset],
            [min[0] + inset, max[1] - inset],
        ];
        for i in 0..4 {
            let (from, to) = (corners[i], corners[(i + 1) % 4]);
            let steps = (to[0] - from[0]).abs().max((to[1] - from[1]).abs()).ceil().max(1.0);
            let at = |step: f64| {
                let [x, z] = [0, 1].map(|axis| from[axis] + (to[axis] - from[axis]) * step / steps);
                self.voxels([x, ground.height_in(id, [x, z]) + 0.1, z])
            };
            for step in 0..steps as u32 {
                lines.line(at(f64::from(step)), at(f64::from(step) + 1.0), colour);
            }
        }
    }
}
