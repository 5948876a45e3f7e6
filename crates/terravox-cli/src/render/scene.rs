//! What rays travel through: a world at one mip, its collider, the look of the blocks that
//! were shaded, and solids that stand in it.

use super::camera::Ray;
use super::chunks;
use super::shade;
use super::solids::{Solid, SolidHit, Solids};
use super::vertices::{MeshScratch, Vertex, Vertices};
use glam::{DVec3, IVec3, Vec3};
use terravox::collide::{self, Collider, Filter, Hit};
use terravox::voxel::{
    ChunkPos, DenseBox, GridOptions, Kind, NotHeld, Region, Snapshot, VoxelGrid, VoxelPos,
};

/// Most chunks of several materials that a picture takes at a mip of its own choice;
/// beyond, it takes a coarser one.
const MOST_MIXED_CHUNKS: usize = 4_000;

/// Coarsest mip that a picture takes by itself.
const COARSEST: u8 = 3;

/// A world at one mip, ready for rays. Positions are in cells of that mip.
pub struct Scene {
    /// The cells of that mip as mip 0 of a grid of their own.
    pub(super) snapshot: Snapshot,
    collider: Collider,
    vertices: Vertices,
    solids: Solids,
    /// Linear colours by material id.
    palette: [Vec3; 256],
    mip: u8,
    bounds: Region,
}

impl Scene {
    /// The world at mip `mip`, or at the finest one that keeps the memory bounded.
    ///
    /// # Errors
    /// [`NotHeld`] if a listed chunk is held at a coarser mip only.
    pub fn new(world: &VoxelGrid, mip: Option<u8>) -> Result<Scene, NotHeld> {
        let finest = chunks::classes(world)?;
        let mut at = mip.unwrap_or(0);
        let mut classes = chunks::coarser(&finest, at);
        while mip.is_none() && at < COARSEST && chunks::mixed(&classes) > MOST_MIXED_CHUNKS {
            at += 1;
            classes = chunks::coarser(&finest, at);
        }
        let listed = chunks::with_surface(&classes);
        let bounds = listed.iter().fold(Region::default(), |all, c| all.union(c.region()));
        let mut collider = Collider::default();
        match at {
            0 => collider.update(world),
            _ => collider.update(&coarser_world(world, at, classes.keys())?),
        }
        let snapshot = collider.snapshot().clone();
        let palette = shade::palette(snapshot.materials());
        let vertices = Vertices::new(listed);
        Ok(Scene {
            snapshot,
            collider,
            vertices,
            solids: Solids::default(),
            palette,
            mip: at,
            bounds,
        })
    }

    /// Puts solids into the picture, in place of those that were there.
    pub fn set_solids(&mut self, solids: &[Solid]) {
        self.solids = Solids::new(solids, |colour| Vec3::from(colour.map(shade::linear_from_srgb)));
    }

    /// The mip that the picture shows.
    pub fn mip(&self) -> u8 {
        self.mip
    }

    /// The chunks that can hold a surface lie in here, cells.
    pub fn bounds(&self) -> Region {
        self.bounds
    }

    /// What rays are asked of, in cells.
    pub fn collider(&self) -> &Collider {
        &self.collider
    }

    /// The kind of the cell at a point; air where nothing is held.
    pub fn kind_at(&self, point: DVec3) -> Kind {
        let pos = VoxelPos::from(floor(point).to_array());
        let cell = self.snapshot.cell(pos);
        cell.map_or(Kind::Air, |cell| self.snapshot.materials().kind(cell.material))
    }

    /// The first surface of the world within `reach` cells.
    pub fn closest(&self, ray: &Ray, reach: f64, sees: &Filter) -> Option<Hit> {
        self.collider.ray(&query(ray, reach), sees).found
    }

    /// The corners of the triangle that a ray met.
    pub(super) fn corners(&self, hit: &Hit, scratch: &mut MeshScratch) -> Option<[&Vertex; 3]> {
        self.vertices.corners(hit, &self.snapshot, &self.palette, scratch)
    }

    /// Colour of the material that a ray met, linear.
    pub(super) fn colour(&self, hit: &Hit) -> Vec3 {
        self.palette[usize::from(hit.material)]
    }

    /// The first of the solids within `reach` cells.
    pub(super) fn closest_solid(&self, ray: &Ray, reach: f64) -> Option<SolidHit> {
        self.solids.closest(ray, reach)
    }

    /// The share of the sky that solids leave open over a surface.
    pub(super) fn open_beside_solids(&self, point: DVec3, normal: Vec3) -> f32 {
        self.solids.open(point, normal)
    }

    /// Whether ground or a solid lies within `reach` cells along the ray.
    pub fn blocked(&self, ray: &Ray, reach: f64) -> bool {
        self.solids.block(ray, reach)
            || self.collider.ray_any(&query(ray, reach), &Filter::SOLID).found
    }
}

/// The cells of mip `mip` of some chunks of that mip, as mip 0 of a world.
fn coarser_world<'a>(
    world: &Snapshot,
    mip: u8,
    chunks: impl Iterator<Item = &'a VoxelPos>,
) -> Result<VoxelGrid, NotHeld> {
    let (unlisted, materials) = (world.unlisted(), world.materials().clone());
    let mut grid = VoxelGrid::new(GridOptions { unlisted, materials });
    let mut cells = DenseBox::default();
    for &VoxelPos { x, y, z } in chunks {
        world.read(ChunkPos::new(x, y, z).region(), mip, &mut cells)?;
        grid.write(&cells)?;
    }
    Ok(grid)
}

/// A ray as the collider takes it.
fn query(ray: &Ray, reach: f64) -> collide::Ray {
    collide::Ray::new(ray.origin, ray.direction, reach)
}

/// Each axis rounded down. A conversion and a compare: without SSE 4.1 `f64::floor` is a
/// call.
pub(super) fn floor(point: DVec3) -> IVec3 {
    let near = point.as_ivec3();
    near - IVec3::select(point.cmplt(near.as_dvec3()), IVec3::ONE, IVec3::ZERO)
}
