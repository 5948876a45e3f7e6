//! What all queries read: a snapshot, its masks, and the blocks built so far.
//!
//! The queries in `rays`, `overlap`, `closest` and `sweep` are functions over a
//! [`CollisionWorld`]. Each asks the broadphase for candidate blocks, gets their surfaces
//! here, and searches those.

use super::block::{BlockTriangle, QuadBvh};
use super::block_cache::BlockCache;
use super::broadphase::{Broadphase, ChunkBlocks, block_bit};
use super::query::{
    BuildPolicy, Filter, Hit, MaterialSet, MissingData, REACH, Surfaces, TriangleId,
};
use super::slots::BuiltBlock;
use crate::bits::CollisionBlock;
use crate::math::Aabb;
use crate::voxel::{AIR, ChunkPos, Kind, Snapshot, UnlistedChunks, VoxelPos, WATER};
use glam::{DVec3, Vec3};
use std::ops::ControlFlow;

/// Regions of more chunks than this are searched for unknown ones page by page.
const MAX_LISTED_CHUNKS: u64 = 512;

/// The data of a collider that queries read.
#[derive(Default)]
pub(crate) struct CollisionWorld {
    pub snapshot: Snapshot,
    pub broadphase: Broadphase,
    pub cache: BlockCache,
}

/// One surface of one block.
#[derive(Clone, Copy)]
pub(crate) struct BlockSurface<'a> {
    pub tree: &'a QuadBvh,
    pub block: CollisionBlock,
    pub is_liquid: bool,
}

impl BlockSurface<'_> {
    /// The voxel that owns the face of a quad.
    pub fn voxel(self, quad: u16) -> VoxelPos {
        let [x, y, z] = self.tree.quad(quad).cell.map(i32::from);
        self.block.min_voxel() + VoxelPos::new(x, y, z)
    }

    /// The position in the world of a point of the block.
    pub fn world_from_local(self, point: [f32; 3]) -> [f64; 3] {
        (min_corner(self.block) + Vec3::from(point).as_dvec3()).to_array()
    }
}

/// The solid and the liquid surface of a block, as far as a filter sees them.
type SurfacePair<'a> = [Option<BlockSurface<'a>>; 2];

/// The min corner of a block, voxels.
pub(crate) fn min_corner(block: CollisionBlock) -> DVec3 {
    DVec3::from(block.min_voxel().to_array().map(f64::from))
}

impl CollisionWorld {
    /// Counts a rejected query.
    #[cold]
    pub fn count_refused(&self) {
        self.cache.counters.refused();
    }

    /// Returns the surfaces of a block that a filter sees; `None` if it sees none. Adds to
    /// `hits` if the block was already built.
    ///
    /// # Errors
    /// The data that is missing.
    #[inline]
    pub(super) fn surfaces<'a>(
        &'a self,
        block: CollisionBlock,
        chunk: &'a ChunkBlocks,
        filter: &Filter,
        hits: &mut u64,
    ) -> Result<Option<SurfacePair<'a>>, MissingData> {
        let bit = block_bit(block);
        if !chunk.shows(bit, filter.surfaces) {
            return Ok(None);
        }
        let rank = chunk.slot(bit).0;
        let sees_liquid = filter.surfaces.liquid() && chunk.shows(bit, Surfaces::Liquid);
        let is_complete = |built: &&BuiltBlock| {
            !sees_liquid || built.missing.is_some() || built.built_liquid().is_some()
        };
        let built = match chunk.slots.get(rank).filter(is_complete) {
            Some(built) => {
                *hits += 1;
                built
            }
            None if filter.unbuilt == BuildPolicy::Refuse => {
                return Err(MissingData::NotBuilt(block));
            }
            None => self.cache.build(&self.snapshot, block, chunk, sees_liquid),
        };
        built.touch(self.cache.epoch);
        if let Some(missing) = built.missing {
            return Err(MissingData::NotHeld(missing.chunk));
        }
        let surface = |tree: Option<&'a QuadBvh>, liquid: bool| {
            tree.map(|tree| BlockSurface { tree, block, is_liquid: liquid })
        };
        let solid = built.solid.as_ref().filter(|_| filter.surfaces.solid());
        let liquid = built.built_liquid().and_then(Option::as_ref).filter(|_| sees_liquid);
        Ok(Some([surface(solid, false), surface(liquid, true)]))
    }

    /// As [`CollisionWorld::surfaces`], for any block.
    ///
    /// # Errors
    /// The data that is missing.
    pub fn surfaces_of(
        &self,
        block: CollisionBlock,
        filter: &Filter,
    ) -> Result<Option<SurfacePair<'_>>, MissingData> {
        let Some((record, _)) = self.broadphase.record(block) else {
            let chunk = block.min_voxel().chunk();
            return match self.broadphase.is_unknown(chunk) {
                true => Err(MissingData::NotHeld(chunk)),
                false => Ok(None),
            };
        };
        let mut hits = 0;
        let surfaces = self.surfaces(block, record, filter, &mut hits);
        self.cache.counters.hits(hits);
        surfaces
    }

    /// Calls `visit` for the surfaces of all blocks that a valid box may touch; returns the
    /// first missing data.
    pub fn surfaces_in<'a>(
        &'a self,
        aabb: &Aabb,
        filter: &Filter,
        mut visit: impl FnMut(BlockSurface<'a>),
    ) -> Option<MissingData> {
        self.surfaces_until(aabb, filter, |surface| {
            visit(surface);
            ControlFlow::Continue(())
        })
    }

    /// As [`CollisionWorld::surfaces_in`] until `visit` breaks; no block is built after that.
    pub fn surfaces_until<'a>(
        &'a self,
        aabb: &Aabb,
        filter: &Filter,
        mut visit: impl FnMut(BlockSurface<'a>) -> ControlFlow<()>,
    ) -> Option<MissingData> {
        let (mut hits, mut missing) = (0, None);
        let mut goes_on = true;
        self.broadphase.records_in(aabb, filter.surfaces, |block, chunk| {
            if !goes_on {
                return;
            }
            match self.surfaces(block, chunk, filter, &mut hits) {
                Ok(surfaces) => {
                    let mut surfaces = surfaces.into_iter().flatten().flatten();
                    goes_on = surfaces.try_for_each(&mut visit).is_continue();
                }
                Err(what) => drop(missing.get_or_insert(what)),
            }
        });
        self.cache.counters.hits(hits);
        missing.or_else(|| self.unknown_in(aabb))
    }

    /// Calls `visit` for the triangles of one surface whose boxes meet `aabb` and that the
    /// filter sees.
    pub fn triangles_of(
        &self,
        surface: BlockSurface<'_>,
        aabb: &Aabb,
        filter: &Filter,
        mut visit: impl FnMut(&BlockTriangle),
    ) {
        let corner = min_corner(surface.block);
        let local = |v: [f64; 3]| (DVec3::from(v) - corner).as_vec3().to_array();
        surface.tree.triangles_in(local(aabb.min), local(aabb.max), |triangle| {
            if self.sees(filter, surface, triangle.quad) {
                visit(&triangle);
            }
        });
    }

    fn sees(&self, filter: &Filter, surface: BlockSurface<'_>, quad: u16) -> bool {
        filter.materials == MaterialSet::ALL
            || filter.materials.contains(self.material(surface, quad))
    }

    /// The material behind a quad: that of its voxel, or water where that holds some.
    pub(super) fn material(&self, surface: BlockSurface<'_>, quad: u16) -> u8 {
        self.material_at(surface.voxel(quad), surface.is_liquid)
    }

    /// The material behind a face of a voxel, of its liquid surface or its solid one.
    pub fn material_at(&self, voxel: VoxelPos, liquid: bool) -> u8 {
        let material = self.snapshot.cell(voxel).map_or(AIR, |cell| cell.material);
        let is_shore = liquid && self.snapshot.materials().kind(material) != Kind::Liquid;
        if is_shore { WATER } else { material }
    }

    /// A hit on a triangle, without its distance and point.
    pub(super) fn hit(
        &self,
        surface: BlockSurface<'_>,
        quad: u16,
        second: bool,
        weights: [f32; 3],
    ) -> Hit {
        let triangle = surface.tree.triangle(quad, second);
        let [a, b, c] = triangle.corners.map(Vec3::from);
        Hit {
            distance: 0.0,
            point: [0.0; 3],
            normal: (b - a).cross(c - a).normalize_or_zero().to_array(),
            is_liquid: surface.is_liquid,
            material: self.material(surface, quad),
            voxel: surface.voxel(quad),
            block: surface.block,
            triangle: TriangleId { quad, second, vertices: triangle.vertices },
            weights,
        }
    }

    /// The box around all triangles of the world; `None` if there are none.
    pub fn ground_bounds(&self) -> Option<Aabb> {
        let pages = self.broadphase.page_bounds();
        (!pages.is_empty()).then(|| Aabb::of_region(pages.finer(8)).grow(REACH.into()))
    }

    /// Returns a chunk that is not held at mip 0 and whose cells could shape ground that a
    /// box meets (voxels, grown by [`REACH`]); `None` if the ground there is known.
    pub fn unknown_in(&self, aabb: &Aabb) -> Option<MissingData> {
        if !self.broadphase.has_unknown() {
            return None;
        }
        let listed = self.broadphase.page_bounds().finer(3);
        let chunks = aabb.grow(REACH.into()).voxels().coarser(5);
        let inside = chunks.intersect(listed);
        let chunk = |p: VoxelPos| ChunkPos::new(p.x, p.y, p.z);
        if self.snapshot.unlisted() == UnlistedChunks::Unknown && inside != chunks {
            let last = chunks.max - VoxelPos::splat(1);
            let outside = if listed.contains(chunks.min) { last } else { chunks.min };
            return Some(MissingData::NotHeld(chunk(outside)));
        }
        if inside.volume() > MAX_LISTED_CHUNKS {
            return self.broadphase.unknown_chunk_in(inside).map(MissingData::NotHeld);
        }
        let mut chunks = inside.voxels().map(chunk);
        chunks.find(|&chunk| self.broadphase.is_unknown(chunk)).map(MissingData::NotHeld)
    }
}

/// Barycentric weights of a triangle's corners at a point of it; those of its first corner
/// where the triangle has no area. They sum to 1.
pub(super) fn weights_at(point: [f32; 3], corners: [[f32; 3]; 3]) -> [f32; 3] {
    let (point, [a, b, c]) = (Vec3::from(point), corners.map(Vec3::from));
    let normal = (b - a).cross(c - a);
    let area = normal.length_squared();
    if area <= 0.0 {
        return [1.0, 0.0, 0.0];
    }
    let weight = |from: Vec3, to: Vec3| (from - point).cross(to - point).dot(normal) / area;
    let (u, v) = (weight(c, a).clamp(0.0, 1.0), weight(a, b).clamp(0.0, 1.0));
    // Beside the edge of a sliver, rounding takes the two beyond 1.
    let sum = (u + v).max(1.0);
    [(1.0 - u - v).max(0.0), u / sum, v / sum]
}
