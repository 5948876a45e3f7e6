//! Rays through the world.

use super::Block;
use super::block::{LocalHit, LocalRay};
use super::broadphase::ChunkBlocks;
use super::collider::{Collider, Side};
use super::near::corner_of;
use super::query::{Answer, Filter, Hit, MaterialSet, Missing, Ray};
use super::walk::{Path, Span, Visit, walk};
use crate::voxel::ChunkPos;

/// How far before it enters a block, and after it leaves it, a ray still looks at it,
/// voxels: for rounding. What lies behind the ray's start is never seen.
const SLACK: f64 = 1e-3;

/// A hit, before what only the last one needs.
#[derive(Clone, Copy)]
struct Met<'a> {
    /// Voxels along the ray.
    distance: f64,
    local: LocalHit,
    side: Side<'a>,
}

impl Collider {
    /// The first surface that a ray meets.
    pub fn ray(&self, ray: &Ray, filter: &Filter) -> Answer<Option<Hit>> {
        let Some(path) = self.path(ray) else { return Answer::default() };
        let mut closest = Closest { seen: Seen::new(self, &path, filter), met: None };
        walk(&path, &self.broadphase, &self.snapshot, filter.surfaces, &mut closest);
        let Closest { seen, met } = closest;
        let end = met.as_ref().map_or(path.length, |met| met.distance);
        Answer { found: met.map(|met| self.ray_hit(&path, &met)), missing: seen.finish(end) }
    }

    /// Whether a ray meets any surface: cheaper than finding the first.
    pub fn ray_any(&self, ray: &Ray, filter: &Filter) -> Answer<bool> {
        let Some(path) = self.path(ray) else { return Answer::default() };
        let mut any = Any { seen: Seen::new(self, &path, filter), found: false };
        walk(&path, &self.broadphase, &self.snapshot, filter.surfaces, &mut any);
        let end = if any.found { f64::NEG_INFINITY } else { path.length };
        Answer { found: any.found, missing: any.seen.finish(end) }
    }

    /// Every surface that a ray meets, near ones first, put in `hits`; returns what could
    /// not be looked at. A ray through an edge or vertex may list each triangle there.
    pub fn ray_all(&self, ray: &Ray, filter: &Filter, hits: &mut Vec<Hit>) -> Option<Missing> {
        hits.clear();
        let path = self.path(ray)?;
        let mut all = All { seen: Seen::new(self, &path, filter), hits };
        walk(&path, &self.broadphase, &self.snapshot, filter.surfaces, &mut all);
        let missing = all.seen.finish(path.length);
        hits.sort_by(|a, b| a.distance.total_cmp(&b.distance));
        missing
    }

    fn path(&self, ray: &Ray) -> Option<Path> {
        let path = Path::new(ray.origin, ray.direction, ray.max_distance);
        if path.is_none() {
            self.counters.refused();
        }
        path
    }

    fn ray_hit(&self, path: &Path, met: &Met<'_>) -> Hit {
        let LocalHit { quad, second, u, v, .. } = met.local;
        let mut hit = self.describe(met.side, quad, second, [1.0 - u - v, u, v]);
        (hit.distance, hit.point) = (met.distance, path.at(met.distance).to_array());
        hit
    }
}

/// What all walks of a ray share.
struct Seen<'a> {
    collider: &'a Collider,
    path: &'a Path,
    filter: &'a Filter,
    /// The ray as the block sees it that was entered last.
    local: LocalRay,
    /// Times that a block was found built.
    hits: u64,
    /// The nearest thing that could not be looked at, and where.
    missing: Option<(f64, Missing)>,
}

/// The part of a ray that may meet a block, counted from where it enters: small numbers,
/// so that f32 is exact enough wherever the block lies.
#[derive(Clone, Copy)]
struct BlockRay {
    /// Voxels from the ray's origin to the local ray's.
    start: f64,
    t_min: f32,
    t_max: f32,
}

impl<'a> Seen<'a> {
    fn new(collider: &'a Collider, path: &'a Path, filter: &'a Filter) -> Seen<'a> {
        let local = LocalRay::new([0.0; 3], path.direction.as_vec3().to_array());
        Seen { collider, path, filter, local, hits: 0, missing: None }
    }

    fn miss(&mut self, t: f64, missing: Missing) {
        if self.missing.is_none_or(|(nearest, _)| t < nearest) {
            self.missing = Some((t, missing));
        }
    }

    /// Counts what was met; returns what is missing before `end`.
    fn finish(self, end: f64) -> Option<Missing> {
        self.collider.counters.hits(self.hits);
        self.missing.filter(|&(t, _)| t <= end).map(|(_, missing)| missing)
    }

    /// The surfaces of a block that the filter sees, and the ray for them.
    #[inline]
    fn enter(
        &mut self,
        block: Block,
        chunk: &'a ChunkBlocks,
        span: Span,
    ) -> Option<([Option<Side<'a>>; 2], BlockRay)> {
        match self.collider.sides(block, chunk, self.filter, &mut self.hits) {
            Ok(sides) => {
                let sides = sides?;
                let corner = corner_of(block);
                self.local.move_to((self.path.at(span.enter) - corner).as_vec3().to_array());
                Some((sides, BlockRay::new(self.path, span)))
            }
            Err(missing) => {
                self.miss(span.enter, missing);
                None
            }
        }
    }

    fn of_any_material(&self) -> bool {
        self.filter.materials == MaterialSet::ALL
    }

    /// Whether the filter sees the material behind a hit.
    fn sees(&self, side: Side<'_>, quad: u16) -> bool {
        self.filter.materials.contains(self.collider.material(side, quad))
    }

    /// The first hit on one surface up to `end` voxels from the ray's origin.
    #[inline]
    fn closest(&self, side: Side<'a>, ray: &BlockRay, end: f64) -> Option<Met<'a>> {
        let t_max = ray.up_to(end);
        let mut local = None;
        if self.of_any_material() {
            local = side.tree.closest(&self.local, ray.t_min, t_max);
        } else {
            side.tree.each(&self.local, ray.t_min, t_max, |hit| {
                if local.is_none_or(|best: LocalHit| hit.t < best.t) && self.sees(side, hit.quad) {
                    local = Some(hit);
                }
            });
        }
        local.map(|local| Met { distance: ray.distance(local.t), local, side })
    }
}

impl BlockRay {
    #[inline]
    fn new(path: &Path, span: Span) -> BlockRay {
        let t_min = -SLACK.min(span.enter) as f32;
        let t_max = (span.leave + SLACK).min(path.length) - span.enter;
        BlockRay { start: span.enter, t_min, t_max: t_max as f32 }
    }

    /// As far as `end`, voxels from the ray's origin.
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
struct Closest<'a> {
    seen: Seen<'a>,
    met: Option<Met<'a>>,
}

impl<'a> Visit<'a> for Closest<'a> {
    // Not into the loops of the walk, which need the registers.
    #[inline(never)]
    fn block(&mut self, block: Block, chunk: &'a ChunkBlocks, span: Span) -> f64 {
        let mut end = self.met.map_or(self.seen.path.length, |met| met.distance);
        if let Some((sides, ray)) = self.seen.enter(block, chunk, span) {
            for side in sides.into_iter().flatten() {
                if let Some(met) = self.seen.closest(side, &ray, end) {
                    end = met.distance;
                    self.met = Some(met);
                }
            }
        }
        end
    }

    fn unknown(&mut self, chunk: ChunkPos, t: f64) {
        self.seen.miss(t, Missing::NotHeld(chunk));
    }
}

/// Finds whether there is a hit.
struct Any<'a> {
    seen: Seen<'a>,
    found: bool,
}

impl<'a> Visit<'a> for Any<'a> {
    #[inline(never)]
    fn block(&mut self, block: Block, chunk: &'a ChunkBlocks, span: Span) -> f64 {
        let length = self.seen.path.length;
        let Some((sides, ray)) = self.seen.enter(block, chunk, span) else { return length };
        for side in sides.into_iter().flatten() {
            self.found |= match self.seen.of_any_material() {
                true => side.tree.any(&self.seen.local, ray.t_min, ray.t_max),
                false => self.seen.closest(side, &ray, length).is_some(),
            };
            if self.found {
                return f64::NEG_INFINITY;
            }
        }
        length
    }

    fn unknown(&mut self, chunk: ChunkPos, t: f64) {
        self.seen.miss(t, Missing::NotHeld(chunk));
    }
}

/// Lists all hits.
struct All<'a, 'h> {
    seen: Seen<'a>,
    hits: &'h mut Vec<Hit>,
}

impl<'a> Visit<'a> for All<'a, '_> {
    fn block(&mut self, block: Block, chunk: &'a ChunkBlocks, span: Span) -> f64 {
        let All { seen, hits } = self;
        if let Some((sides, ray)) = seen.enter(block, chunk, span) {
            for side in sides.into_iter().flatten() {
                side.tree.each(&seen.local, ray.t_min, ray.t_max, |local| {
                    if seen.of_any_material() || seen.sees(side, local.quad) {
                        let met = Met { distance: ray.distance(local.t), local, side };
                        hits.push(seen.collider.ray_hit(seen.path, &met));
                    }
                });
            }
        }
        seen.path.length
    }

    fn unknown(&mut self, chunk: ChunkPos, t: f64) {
        self.seen.miss(t, Missing::NotHeld(chunk));
    }
}
