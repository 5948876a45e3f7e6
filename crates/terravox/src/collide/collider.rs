//! The collider of a world: it owns what queries read and keeps it up to date.
//!
//! Queries take `&self`, from any number of threads. A block is built by the first query that
//! needs it; others wait for that one block only. [`Collider::update`] is the only place where
//! blocks are dropped, so queries read them without a lock. The budget of bytes is enforced
//! there too, and may be exceeded in between.
//!
//! Source: "Voxel Terrain: Physics" (Roblox, 2017).

use super::block::QuadBvh;
use super::broadphase::Broadphase;
use super::counters::ColliderStats;
use super::query::{BuildPolicy, Filter, Hit, MissingData, QueryOutcome, Ray, SurfaceTriangle};
use super::world::CollisionWorld;
use super::{batch, closest, draw, overlap, rays, sweep};
use crate::bits::CollisionBlock;
use crate::geometry::Shape;
use crate::math::{Aabb, DebugLines};
use crate::voxel::{ChangeCursor, ChangeLog, Changes, Snapshot, VoxelGrid};
use glam::DVec3;

/// Options of a [`Collider`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(default))]
pub struct ColliderOptions {
    /// Maximum number of bytes of built blocks that an update leaves in memory. With 0, every
    /// update drops all blocks, and queries build those that they need again.
    pub budget_bytes: usize,
}

impl Default for ColliderOptions {
    /// 64 MiB, about 30,000 blocks.
    fn default() -> ColliderOptions {
        ColliderOptions { budget_bytes: 64 << 20 }
    }
}

/// Finds what rays, boxes, points and moving shapes hit. The [module page](super) explains the
/// terms.
///
/// ```
/// use terravox::collide::{Collider, Filter, Ray};
/// use terravox::voxel::{DenseBox, Region, VoxelGrid};
///
/// let mut grid = VoxelGrid::default();
/// let mut floor = DenseBox::new(Region::new([-8, -8, -8], [8, 0, 8]));
/// floor.fill(8);
/// grid.write(&floor)?;
/// let mut collider = Collider::default();
/// collider.update(&grid);
///
/// let down = Ray::new([0.5, 10.0, 0.5], [0.0, -1.0, 0.0], 100.0);
/// let hit = collider.ray(&down, &Filter::SOLID).found.expect("there is a floor");
/// assert!((hit.distance - 10.0).abs() < 1e-3);
/// assert_eq!(hit.material, 8);
/// # Ok::<(), terravox::voxel::NotHeld>(())
/// ```
pub struct Collider {
    world: CollisionWorld,
    options: ColliderOptions,
    cursor: ChangeCursor,
    /// Change log for callers that cache blocks.
    followed: ChangeLog,
}

/// The surfaces of a block that is built.
#[derive(Clone, Copy, Debug)]
pub struct BlockSurfaces<'a> {
    /// The ground.
    pub solid: Option<&'a QuadBvh>,
    /// Water and other liquids.
    pub liquid: Option<&'a QuadBvh>,
}

impl std::fmt::Debug for Collider {
    /// Prints the statistics.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Collider").field("stats", &self.stats()).finish_non_exhaustive()
    }
}

impl Default for Collider {
    fn default() -> Collider {
        Collider::new(ColliderOptions::default())
    }
}

/// Keeping up with the grid.
impl Collider {
    /// Creates an empty collider. It follows a grid from its first update on.
    pub fn new(options: ColliderOptions) -> Collider {
        Collider {
            world: CollisionWorld::default(),
            options,
            cursor: ChangeCursor::default(),
            followed: ChangeLog::default(),
        }
    }

    /// Follows the grid: updates the masks, drops built blocks that an edit may have changed,
    /// and evicts the least recently used ones beyond the budget.
    pub fn update(&mut self, grid: &VoxelGrid) {
        let changes = grid.changes_since(&mut self.cursor);
        let CollisionWorld { snapshot, broadphase, cache } = &mut self.world;
        if changes != Changes::Regions(Vec::new()) {
            *snapshot = grid.snapshot();
            match &changes {
                Changes::Everything => {
                    *broadphase = Broadphase::new();
                    cache.forget_all();
                    self.followed.forget();
                }
                Changes::Regions(regions) => {
                    let mut affected = regions.clone();
                    broadphase.add_shores(snapshot, &mut affected);
                    affected.iter().for_each(|&region| cache.invalidate(broadphase, region));
                    affected.iter().for_each(|&region| self.followed.push(region));
                }
            }
            broadphase.update(snapshot, &changes);
        }
        cache.keep_budget(broadphase, self.options.budget_bytes);
        cache.epoch += 1;
    }

    /// Returns what updates have followed since `cursor` was last used: the voxels written, and
    /// near water the voxels to which a shore may carry it. For callers that cache data derived
    /// from [`Collider::block`]: cells of a region shape the blocks within
    /// [`PAD`](crate::mesh::PAD) of it.
    pub fn changes_since(&self, cursor: &mut ChangeCursor) -> Changes {
        self.followed.since(cursor)
    }

    /// The state of the grid that queries see.
    pub fn snapshot(&self) -> &Snapshot {
        &self.world.snapshot
    }

    /// The masks.
    pub fn broadphase(&self) -> &Broadphase {
        &self.world.broadphase
    }

    /// Sizes and counters.
    pub fn stats(&self) -> ColliderStats {
        let masks = self.world.broadphase.stats();
        ColliderStats {
            blocks: masks.surface_blocks,
            mask_bytes: masks.bytes,
            ..self.world.cache.counters.stats()
        }
    }

    /// What queries outside this module read.
    pub(crate) fn world(&self) -> &CollisionWorld {
        &self.world
    }

    /// Length of the list of built blocks.
    #[cfg(test)]
    pub(super) fn listed_blocks(&self) -> usize {
        self.world.cache.listed_blocks()
    }
}

/// Queries.
impl Collider {
    /// Returns the first surface that a ray hits.
    pub fn ray(&self, ray: &Ray, filter: &Filter) -> QueryOutcome<Option<Hit>> {
        rays::first_hit(&self.world, ray, filter)
    }

    /// Returns whether a ray hits any surface. Cheaper than finding the first hit.
    pub fn ray_any(&self, ray: &Ray, filter: &Filter) -> QueryOutcome<bool> {
        rays::any_hit(&self.world, ray, filter)
    }

    /// Makes `hits` every surface that a ray hits, near ones first; returns the nearest missing
    /// data. A ray through an edge or vertex may list each triangle there.
    pub fn ray_all(&self, ray: &Ray, filter: &Filter, hits: &mut Vec<Hit>) -> Option<MissingData> {
        rays::all_hits(&self.world, ray, filter, hits)
    }

    /// As [`Collider::ray`] for many rays: makes `outcomes` one for each.
    pub fn rays(
        &self,
        rays: &[Ray],
        filter: &Filter,
        outcomes: &mut Vec<QueryOutcome<Option<Hit>>>,
    ) {
        batch::run(rays, outcomes, |ray| self.ray(ray, filter));
    }

    /// As [`Collider::ray_any`] for many rays: makes `outcomes` one for each.
    pub fn rays_any(&self, rays: &[Ray], filter: &Filter, outcomes: &mut Vec<QueryOutcome<bool>>) {
        batch::run(rays, outcomes, |ray| self.ray_any(ray, filter));
    }

    /// Calls `visit` for every triangle whose bounding box meets `aabb` (voxels); returns
    /// missing data. Invalid boxes (NaN, infinite, inverted) meet nothing.
    pub fn triangles_in(
        &self,
        aabb: &Aabb,
        filter: &Filter,
        visit: impl FnMut(&SurfaceTriangle),
    ) -> Option<MissingData> {
        overlap::triangles_in(&self.world, aabb, filter, visit)
    }

    /// Returns the point of a surface that is closest to `point`, within `max_distance` voxels.
    /// The distance is not signed: it does not tell inside from outside. An infinite `max_distance`
    /// searches the whole world. Blocks that are farther than a surface already found are not built;
    /// with a filter that excludes materials, every block is that lies nearer than the result.
    ///
    /// ```
    /// # use terravox::voxel::{DenseBox, Region, VoxelGrid};
    /// use terravox::collide::{Collider, Filter};
    ///
    /// # let (mut grid, mut collider) = (VoxelGrid::default(), Collider::default());
    /// let mut floor = DenseBox::new(Region::new([-8, -8, -8], [8, 0, 8]));
    /// floor.fill(8);
    /// grid.write(&floor)?;
    /// collider.update(&grid);
    /// let hit = collider.closest_point([0.5, 3.0, 0.5], 10.0, &Filter::SOLID).found;
    /// assert!(hit.is_some_and(|hit| (hit.distance - 3.0).abs() < 1e-3));
    /// # Ok::<(), terravox::voxel::NotHeld>(())
    /// ```
    pub fn closest_point(
        &self,
        point: impl Into<[f64; 3]>,
        max_distance: f64,
        filter: &Filter,
    ) -> QueryOutcome<Option<Hit>> {
        closest::closest_point(&self.world, DVec3::from(point.into()), max_distance, filter)
    }

    /// As [`Collider::closest_point`] for many points: makes `outcomes` one for each.
    pub fn closest_points(
        &self,
        points: &[[f64; 3]],
        max_distance: f64,
        filter: &Filter,
        outcomes: &mut Vec<QueryOutcome<Option<Hit>>>,
    ) {
        batch::run(points, outcomes, |&point| self.closest_point(point, max_distance, filter));
    }

    /// Returns whether a shape at `at` (voxels) touches a surface. A shape that lies wholly
    /// inside the ground touches none; [`WayOut::find`](crate::contacts::WayOut::find) says whether
    /// a point is buried.
    pub fn overlaps(
        &self,
        shape: &Shape<'_>,
        at: impl Into<[f64; 3]>,
        filter: &Filter,
    ) -> QueryOutcome<bool> {
        overlap::overlaps(&self.world, shape, DVec3::from(at.into()), filter)
    }

    /// Returns what a shape first touches when it moves from `from` by `motion` (voxels)
    /// without turning. The hit's distance is along the motion, its normal points from the
    /// ground to the shape. A shape that touches at the start hits at distance 0.
    ///
    /// ```
    /// # use terravox::voxel::{DenseBox, Region, VoxelGrid};
    /// use terravox::{collide::{Collider, Filter}, geometry::Shape};
    ///
    /// # let (mut grid, mut collider) = (VoxelGrid::default(), Collider::default());
    /// let mut floor = DenseBox::new(Region::new([-8, -8, -8], [8, 0, 8]));
    /// floor.fill(8);
    /// grid.write(&floor)?;
    /// collider.update(&grid);
    /// let player = Shape::Capsule { a: [0.0, 0.4, 0.0], b: [0.0, 1.4, 0.0], radius: 0.4 };
    /// let (from, motion) = ([0.5, 5.0, 0.5], [0.0, -9.0, 0.0]); // its feet are 5 above the floor
    /// let hit = collider.cast(&player, from, motion, &Filter::SOLID).found;
    /// assert!(hit.is_some_and(|hit| (hit.distance - 5.0).abs() < 0.01));
    /// # Ok::<(), terravox::voxel::NotHeld>(())
    /// ```
    pub fn cast(
        &self,
        shape: &Shape<'_>,
        from: impl Into<[f64; 3]>,
        motion: impl Into<[f64; 3]>,
        filter: &Filter,
    ) -> QueryOutcome<Option<Hit>> {
        let (from, motion) = (DVec3::from(from.into()), DVec3::from(motion.into()));
        sweep::cast(&self.world, shape, from, motion, filter)
    }

    /// Returns a chunk that is not held at mip 0 and whose cells could shape ground that a box
    /// meets (voxels, grown by [`REACH`](super::REACH)). `None` if the ground there is known.
    pub fn unknown_in(&self, aabb: &Aabb) -> Option<MissingData> {
        self.world.unknown_in(aabb)
    }

    /// Returns the surfaces of a block, for callers that cache derived data, such as shapes of a
    /// physics engine. `None` if the block has no surface.
    ///
    /// # Errors
    /// [`MissingData`] if the block is not held, or not built with [`BuildPolicy::Refuse`].
    pub fn block(
        &self,
        block: CollisionBlock,
        unbuilt: BuildPolicy,
    ) -> Result<Option<BlockSurfaces<'_>>, MissingData> {
        let surfaces = self.world.surfaces_of(block, &Filter { unbuilt, ..Filter::BOTH })?;
        Ok(surfaces.map(|surfaces| {
            let [solid, liquid] = surfaces.map(|surface| surface.map(|surface| surface.tree));
            BlockSurfaces { solid, liquid }
        }))
    }

    /// Returns the blocks that are built, sorted.
    pub fn built_blocks(&self) -> Vec<CollisionBlock> {
        self.world.cache.built_blocks(&self.world.broadphase)
    }

    /// Adds the cubes of all built blocks that meet `within` to `lines`.
    pub fn built_lines(&self, within: &Aabb, lines: &mut DebugLines) {
        draw::built_lines(&self.world, within, lines);
    }

    /// Adds the boxes of the trees of all built blocks that meet `within` to `lines`.
    pub fn tree_lines(&self, within: &Aabb, lines: &mut DebugLines) {
        draw::tree_lines(&self.world, within, lines);
    }
}
