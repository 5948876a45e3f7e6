//! Rays through the world: the first hit, any hit, all hits.
//!
//! [`walk`](super::walk) finds the blocks along the ray, near ones first; each query is a
//! [`RayVisitor`] that searches the surfaces of one block after the other.

use super::block::{LocalHit, LocalRay};
use super::broadphase::ChunkBlocks;
use super::query::{Filter, Hit, MaterialSet, MissingData, QueryOutcome, Ray};
use super::walk::{RayPath, RaySpan, RayVisitor, walk};
use super::world::{BlockSurface, CollisionWorld, min_corner};
use crate::bits::CollisionBlock;
use crate::voxel::ChunkPos;

/// How far before it enters a block, and after it leaves it, a ray still searches it, in
/// voxels: for rounding. Nothing behind the ray's start is ever hit.
const SLACK: f64 = 1e-3;

/// A hit in a block, without what only the final one needs.
#[derive(Clone, Copy)]
struct BlockHit<'a> {
    /// Voxels along the ray.
    distance: f64,
    local: LocalHit,
    surface: BlockSurface<'a>,
}

/// Returns the first surface that a ray hits.
pub(super) fn first_hit(
    world: &CollisionWorld,
    ray: &Ray,
    filter: &Filter,
) -> QueryOutcome<Option<Hit>> {
    let Some(path) = path(world, ray) else { return QueryOutcome::default() };
    let mut nearest = NearestHit { query: RayQuery::new(world, &path, filter), hit: None };
    walk(&path, &world.broadphase, &world.snapshot, filter.surfaces, &mut nearest);
    let NearestHit { query, hit } = nearest;
    let end = hit.as_ref().map_or(path.length, |hit| hit.distance);
    QueryOutcome { found: hit.map(|hit| world_hit(world, &path, &hit)), missing: query.finish(end) }
}

/// Returns whether a ray hits any surface.
pub(super) fn any_hit(world: &CollisionWorld, ray: &Ray, filter: &Filter) -> QueryOutcome<bool> {
    let Some(path) = path(world, ray) else { return QueryOutcome::default() };
    let mut any = AnyHit { query: RayQuery::new(world, &path, filter), is_hit: false };
    walk(&path, &world.broadphase, &world.snapshot, filter.surfaces, &mut any);
    let end = if any.is_hit { f64::NEG_INFINITY } else { path.length };
    QueryOutcome { found: any.is_hit, missing: any.query.finish(end) }
}

/// Makes `hits` all hits of a ray, near ones first; returns the nearest missing data.
pub(super) fn all_hits(
    world: &CollisionWorld,
    ray: &Ray,
    filter: &Filter,
    hits: &mut Vec<Hit>,
) -> Option<MissingData> {
    hits.clear();
    let path = path(world, ray)?;
    let mut all = AllHits { query: RayQuery::new(world, &path, filter), hits };
    walk(&path, &world.broadphase, &world.snapshot, filter.surfaces, &mut all);
    let missing = all.query.finish(path.length);
    hits.sort_by(|a, b| a.distance.total_cmp(&b.distance));
    missing
}

fn path(world: &CollisionWorld, ray: &Ray) -> Option<RayPath> {
    let path = RayPath::new(ray.origin, ray.direction, ray.max_distance);
    if path.is_none() {
        world.count_refused();
    }
    path
}

fn world_hit(world: &CollisionWorld, path: &RayPath, block_hit: &BlockHit<'_>) -> Hit {
    let LocalHit { quad, second, u, v, .. } = block_hit.local;
    let mut hit = world.hit(block_hit.surface, quad, second, [1.0 - u - v, u, v]);
    (hit.distance, hit.point) = (block_hit.distance, path.at(block_hit.distance).to_array());
    hit
}

/// The state that all ray queries share.
struct RayQuery<'a> {
    world: &'a CollisionWorld,
    path: &'a RayPath,
    filter: &'a Filter,
    /// The ray in the space of the block that was entered last.
    local: LocalRay,
    /// Times that a block was found built.
    hits: u64,
    /// The nearest missing data, and its distance.
    missing: Option<(f64, MissingData)>,
}

/// The part of a ray that may hit a block, counted from where it enters: small numbers, so
/// that f32 is exact enough wherever the block lies.
#[derive(Clone, Copy)]
struct BlockRay {
    /// Voxels from the ray's origin to the local ray's.
    start: f64,
    t_min: f32,
    t_max: f32,
}

impl<'a> RayQuery<'a> {
    fn new(world: &'a CollisionWorld, path: &'a RayPath, filter: &'a Filter) -> RayQuery<'a> {
        let local = LocalRay::new([0.0; 3], path.direction.as_vec3().to_array());
        RayQuery { world, path, filter, local, hits: 0, missing: None }
    }

    fn add_missing(&mut self, t: f64, missing: MissingData) {
        if self.missing.is_none_or(|(nearest, _)| t < nearest) {
            self.missing = Some((t, missing));
        }
    }

    /// Counts the blocks found built; returns the data that is missing before `end`.
    fn finish(self, end: f64) -> Option<MissingData> {
        self.world.cache.counters.hits(self.hits);
        self.missing.filter(|&(t, _)| t <= end).map(|(_, missing)| missing)
    }

    /// Returns the surfaces of a block that the filter sees, and the ray for them.
    #[inline]
    fn enter(
        &mut self,
        block: CollisionBlock,
        chunk: &'a ChunkBlocks,
        span: RaySpan,
    ) -> Option<([Option<BlockSurface<'a>>; 2], BlockRay)> {
        match self.world.surfaces(block, chunk, self.filter, &mut self.hits) {
            Ok(surfaces) => {
                let surfaces = surfaces?;
                let corner = min_corner(block);
                self.local.move_to((self.path.at(span.enter) - corner).as_vec3().to_array());
                Some((surfaces, BlockRay::new(self.path, span)))
            }
            Err(missing) => {
                self.add_missing(span.enter, missing);
                None
            }
        }
    }

    fn sees_any_material(&self) -> bool {
        self.filter.materials == MaterialSet::ALL
    }

    /// Whether the filter sees the material behind a quad.
    fn sees(&self, surface: BlockSurface<'_>, quad: u16) -> bool {
        self.filter.materials.contains(self.world.material(surface, quad))
    }

    /// Returns the first hit on one surface up to `end` voxels from the ray's origin.
    #[inline]
    fn nearest(&self, surface: BlockSurface<'a>, ray: &BlockRay, end: f64) -> Option<BlockHit<'a>> {
        let t_max = ray.up_to(end);
        let mut local = None;
        if self.sees_any_material() {
            local = surface.tree.first_hit(&self.local, ray.t_min, t_max);
        } else {
            surface.tree.each(&self.local, ray.t_min, t_max, |hit| {
                let is_nearer = local.is_none_or(|best: LocalHit| hit.t < best.t);
                if is_nearer && self.sees(surface, hit.quad) {
                    local = Some(hit);
                }
            });
        }
        local.map(|local| BlockHit { distance: ray.distance(local.t), local, surface })
    }
}

impl BlockRay {
    #[inline]
    fn new(path: &RayPath, span: RaySpan) -> BlockRay {
        let t_min = -SLACK.min(span.enter) as f32;
        let t_max = (span.leave + SLACK).min(path.length) - span.enter;
        BlockRay { start: span.enter, t_min, t_max: t_max as f32 }
    }

    /// The end of the local ray, clamped to `end`, voxels from the ray's origin.
    #[inline]
    fn up_to(&self, end: f64) -> f32 {
        self.t_max.min((end - self.start) as f32)
    }

    /// Voxels from the ray's origin.
    #[inline]
    fn distance(&self, t: f32) -> f64 {
        (self.start + f64::from(t)).max(0.0)
    }
}

/// Finds the first hit.
struct NearestHit<'a> {
    query: RayQuery<'a>,
    hit: Option<BlockHit<'a>>,
}

impl<'a> RayVisitor<'a> for NearestHit<'a> {
    // Not inlined into the loops of the walk, which need the registers.
    #[inline(never)]
    fn block(&mut self, block: CollisionBlock, chunk: &'a ChunkBlocks, span: RaySpan) -> f64 {
        let mut end = self.hit.map_or(self.query.path.length, |hit| hit.distance);
        if let Some((surfaces, ray)) = self.query.enter(block, chunk, span) {
            for surface in surfaces.into_iter().flatten() {
                if let Some(hit) = self.query.nearest(surface, &ray, end) {
                    end = hit.distance;
                    self.hit = Some(hit);
                }
            }
        }
        end
    }

    fn unknown(&mut self, chunk: ChunkPos, t: f64) {
        self.query.add_missing(t, MissingData::NotHeld(chunk));
    }
}

/// Finds whether there is a hit.
struct AnyHit<'a> {
    query: RayQuery<'a>,
    is_hit: bool,
}

impl<'a> RayVisitor<'a> for AnyHit<'a> {
    #[inline(never)]
    fn block(&mut self, block: CollisionBlock, chunk: &'a ChunkBlocks, span: RaySpan) -> f64 {
        let length = self.query.path.length;
        let Some((surfaces, ray)) = self.query.enter(block, chunk, span) else { return length };
        for surface in surfaces.into_iter().flatten() {
            self.is_hit |= match self.query.sees_any_material() {
                true => surface.tree.any(&self.query.local, ray.t_min, ray.t_max),
                false => self.query.nearest(surface, &ray, length).is_some(),
            };
            if self.is_hit {
                return f64::NEG_INFINITY;
            }
        }
        length
    }

    fn unknown(&mut self, chunk: ChunkPos, t: f64) {
        self.query.add_missing(t, MissingData::NotHeld(chunk));
    }
}

/// Lists all hits.
struct AllHits<'a, 'h> {
    query: RayQuery<'a>,
    hits: &'h mut Vec<Hit>,
}

impl<'a> RayVisitor<'a> for AllHits<'a, '_> {
    fn block(&mut self, block: CollisionBlock, chunk: &'a ChunkBlocks, span: RaySpan) -> f64 {
        let AllHits { query, hits } = self;
        if let Some((surfaces, ray)) = query.enter(block, chunk, span) {
            for surface in surfaces.into_iter().flatten() {
                surface.tree.each(&query.local, ray.t_min, ray.t_max, |local| {
                    if query.sees_any_material() || query.sees(surface, local.quad) {
                        let hit = BlockHit { distance: ray.distance(local.t), local, surface };
                        hits.push(world_hit(query.world, query.path, &hit));
                    }
                });
            }
        }
        query.path.length
    }

    fn unknown(&mut self, chunk: ChunkPos, t: f64) {
        self.query.add_missing(t, MissingData::NotHeld(chunk));
    }
}
