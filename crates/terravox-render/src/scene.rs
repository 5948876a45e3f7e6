//! The scene of a picture: a world at one mip, as its collider, or the meshes that a
//! level-of-detail view shows; and solids.

use crate::block_vertices::{RemeshScratch, SurfaceVertex, VertexCache};
use crate::colour::{self, linear_from_srgb};
use crate::lattice::{cell_of, is_within_limits};
use crate::occlusion::FillBlocks;
use crate::ray::SceneRay;
use crate::shown_meshes::{MeshHit, ShownGround, Viewpoint};
use crate::solids::{Solid, SolidHit, Solids};
use crate::surface_chunks;
use crate::texture::Textures;
use glam::{DVec3, Vec3};
use terravox::collide::{self, Collider, Filter};
use terravox::terrain::ShownMesh;
use terravox::voxel::{
    ChunkPos, DenseBox, GridOptions, Kind, NotHeld, Region, Snapshot, VoxelGrid, VoxelPos,
};

/// Maximum number of mixed chunks at an automatic mip; with more, the next coarser mip is used.
const MAX_MIXED_CHUNKS: usize = 4_000;

/// Coarsest automatic mip.
const MAX_AUTOMATIC_MIP: u8 = 3;

/// Haze distance of a scene of shown meshes, as a share of the view distance.
const SHOWN_HAZE_SHARE: f64 = 0.6;

/// Haze distance of a scene at one mip, as a multiple of the distance to its far end.
const HAZE_TO_FAR_END: f64 = 2.2;

/// A world prepared for rays. Positions are in cells of the scene's mip.
pub struct Scene {
    /// At one mip: its cells as mip 0 of a grid of their own. Shown meshes: the world.
    snapshot: Snapshot,
    ground: SceneGround,
    solids: Solids,
    /// Linear colours by material id.
    palette: [Vec3; 256],
    /// Replace the palette on the ground.
    textures: Option<Box<Textures>>,
    mip: u8,
    bounds: Region,
}

enum SceneGround {
    OneMip { collider: Box<Collider>, vertices: VertexCache },
    Shown(ShownGround),
}

/// The first surface on a ray.
#[derive(Clone, Debug)]
pub struct SceneHit {
    /// Cells along the ray.
    pub distance: f64,
    /// Unit normal of the triangle, out of the ground or liquid.
    pub normal: [f32; 3],
    /// Whether it is the surface of a liquid.
    pub is_liquid: bool,
    source: HitSource,
}

#[derive(Clone, Debug)]
enum HitSource {
    OneMip(collide::Hit),
    Shown(MeshHit),
}

/// The triangle of a [`SceneHit`].
pub(crate) struct HitTriangle<'a> {
    /// Origin of the corners' positions, cells.
    pub origin: DVec3,
    /// Corners, if known.
    pub corners: Option<[&'a SurfaceVertex; 3]>,
    /// Barycentric weights of the hit.
    pub weights: [f32; 3],
    /// Linear colour if the corners are not known.
    pub colour: Vec3,
    /// Material if the corners are not known.
    pub material: u8,
}

impl Scene {
    /// Returns the scene of a world at mip `mip`; by default at the finest mip that keeps memory
    /// bounded, at most 3.
    ///
    /// # Errors
    /// [`NotHeld`] if a listed chunk is held at a coarser mip only.
    ///
    /// # Panics
    /// Panics if `mip` exceeds [`terravox::voxel::MAX_MIP`].
    pub fn new(world: &VoxelGrid, mip: Option<u8>) -> Result<Scene, NotHeld> {
        let finest = surface_chunks::chunk_contents(world.as_snapshot())?;
        let mut at = mip.unwrap_or(0);
        let mut contents = surface_chunks::coarser_contents(&finest, at);
        while mip.is_none()
            && at < MAX_AUTOMATIC_MIP
            && surface_chunks::count_mixed(&contents) > MAX_MIXED_CHUNKS
        {
            at += 1;
            contents = surface_chunks::coarser_contents(&finest, at);
        }
        let listed = surface_chunks::chunks_with_surface(&contents);
        let bounds = listed.iter().fold(Region::default(), |all, c| all.union(c.region()));
        let mut collider = Collider::default();
        match at {
            0 => collider.update(world),
            _ => collider.update(&world_at_mip(world.as_snapshot(), at, contents.keys())?),
        }
        let snapshot = collider.snapshot().clone();
        let palette = colour::palette(snapshot.materials());
        let vertices = VertexCache::new(listed);
        let ground = SceneGround::OneMip { collider: Box::new(collider), vertices };
        let (solids, textures) = (Solids::default(), None);
        Ok(Scene { snapshot, ground, solids, palette, textures, mip: at, bounds })
    }

    /// Returns the scene of the meshes that a level-of-detail view shows of a world from a
    /// viewpoint, in voxels.
    ///
    /// # Panics
    /// If the eye of the viewpoint is not finite.
    pub fn of_shown_meshes(world: &Snapshot, shown: &[ShownMesh], viewpoint: Viewpoint) -> Scene {
        assert!(
            viewpoint.eye.is_finite(),
            "Viewpoint::eye is {}; it must be finite",
            viewpoint.eye
        );
        let palette = colour::palette(world.materials());
        let ground = SceneGround::Shown(ShownGround::new(shown, viewpoint, &palette));
        // The casts saturate.
        let corner = |by: f64| VoxelPos::from((viewpoint.eye + by).to_array().map(|v| v as i32));
        let voxels = |shown: &ShownMesh| shown.mesh.block.finer(shown.mip.into());
        let all = shown.iter().fold(Region::default(), |all, mesh| all.union(voxels(mesh)));
        let in_view = Region { min: corner(-viewpoint.distance), max: corner(viewpoint.distance) };
        let solids = Solids::default();
        Scene {
            snapshot: world.clone(),
            ground,
            solids,
            palette,
            textures: None,
            mip: 0,
            bounds: all.intersect(in_view),
        }
    }

    /// Tints shown meshes by their mips, see [`mip_colour`](crate::mip_colour). A scene at one mip
    /// is left as it is.
    pub fn tint_by_mip(&mut self) {
        if let SceneGround::Shown(shown) = &mut self.ground {
            shown.tint_by_mip();
        }
    }

    /// Replaces the solids of the scene. Those with a non-finite position or size are left out.
    pub fn set_solids(&mut self, solids: &[Solid]) {
        self.solids = Solids::new(solids, |colour| Vec3::from(colour.map(linear_from_srgb)));
    }

    /// Covers the ground with textures instead of plain colours. The material `unset` becomes grass
    /// where flat and rock where steep. Textures hide the tint of [`Scene::tint_by_mip`].
    pub fn set_textures(&mut self, unset: u8) {
        self.textures = Some(Box::new(Textures::new(self.snapshot.materials(), unset)));
    }

    /// Returns the textures of the ground, if set.
    pub(crate) fn textures(&self) -> Option<&Textures> {
        self.textures.as_deref()
    }

    /// Returns the cells of the scene: those of its mip, as mip 0; of shown meshes, the world's.
    pub fn snapshot(&self) -> &Snapshot {
        &self.snapshot
    }

    /// Returns the mip of the scene's cells; 0 for shown meshes.
    pub fn mip(&self) -> u8 {
        self.mip
    }

    /// Returns the bounds of the chunks that can hold a surface, cells.
    pub fn bounds(&self) -> Region {
        self.bounds
    }

    /// Returns the collider, in cells; `None` for shown meshes.
    pub fn collider(&self) -> Option<&Collider> {
        match &self.ground {
            SceneGround::OneMip { collider, .. } => Some(collider),
            SceneGround::Shown(_) => None,
        }
    }

    /// Returns the mip, relative to the scene's, that light at a point is computed for. It is
    /// continuous for shown meshes, so that light does not jump where the mip changes.
    pub(crate) fn light_mip(&self, point: DVec3) -> f64 {
        match &self.ground {
            SceneGround::OneMip { .. } => 0.0,
            SceneGround::Shown(shown) => shown.viewpoint.mip_at(point),
        }
    }

    /// Returns the distance at which haze has absorbed two thirds of the ground's light, cells.
    pub(crate) fn haze_distance(&self, eye: DVec3) -> f64 {
        match &self.ground {
            SceneGround::OneMip { .. } => HAZE_TO_FAR_END * self.far_end(eye),
            SceneGround::Shown(shown) => SHOWN_HAZE_SHARE * shown.viewpoint.distance,
        }
    }

    /// Returns the distance from the eye to the farthest corner of the bounds, cells.
    fn far_end(&self, eye: DVec3) -> f64 {
        let corner = |p: VoxelPos| DVec3::from(p.to_array().map(f64::from));
        let [low, high] = [corner(self.bounds.min), corner(self.bounds.max)];
        (eye - low).abs().max((eye - high).abs()).length().max(64.0)
    }

    /// Returns the kind of the cell at a point, as far as known; air where unknown, and beyond the
    /// [limits](terravox::voxel::LIMIT) of a grid.
    pub fn kind_at(&self, point: DVec3) -> Kind {
        if !is_within_limits(point) {
            return Kind::Air;
        }
        let pos = VoxelPos::from(cell_of(point).to_array());
        let mut cell = DenseBox::default();
        self.snapshot.read_known(Region::one(pos), 0, &mut cell);
        self.snapshot.materials().kind(cell.cell(pos).material)
    }

    /// Returns the share of the sky, 0 to 1, that a point with a normal sees past the ground.
    pub(crate) fn sky_visibility(
        &self,
        point: DVec3,
        normal: Vec3,
        blocks: &mut FillBlocks,
    ) -> f32 {
        blocks.sky_visibility(&self.snapshot, self.light_mip(point), point, normal)
    }

    /// Returns the first surface of ground or liquid within `reach` cells. Invalid rays
    /// (non-finite, zero direction) never hit.
    pub fn closest(&self, ray: &SceneRay, reach: f64, filter: &Filter) -> Option<SceneHit> {
        match &self.ground {
            SceneGround::OneMip { collider, .. } => {
                let hit = collider.ray(&collider_ray(ray, reach), filter).found?;
                let (distance, normal, is_liquid) = (hit.distance, hit.normal, hit.is_liquid);
                Some(SceneHit { distance, normal, is_liquid, source: HitSource::OneMip(hit) })
            }
            SceneGround::Shown(shown) => {
                let hit = shown.closest(ray, reach, filter)?;
                let (distance, normal, is_liquid) =
                    (hit.distance, shown.normal(&hit), hit.is_liquid);
                Some(SceneHit { distance, normal, is_liquid, source: HitSource::Shown(hit) })
            }
        }
    }

    /// Returns the triangle of a hit of this scene.
    pub(crate) fn triangle(&self, hit: &SceneHit, scratch: &mut RemeshScratch) -> HitTriangle<'_> {
        match (&self.ground, &hit.source) {
            (SceneGround::OneMip { vertices, .. }, HitSource::OneMip(hit)) => HitTriangle {
                origin: DVec3::from(hit.block.min_voxel().to_array().map(f64::from)),
                corners: vertices.corners(hit, &self.snapshot, &self.palette, scratch),
                weights: hit.weights,
                colour: self.palette[usize::from(hit.material)],
                material: hit.material,
            },
            (SceneGround::Shown(shown), HitSource::Shown(hit)) => {
                let (origin, corners) = shown.corners(hit);
                let (corners, weights) = (Some(corners), hit.weights);
                HitTriangle { origin, corners, weights, colour: Vec3::ZERO, material: 0 }
            }
            _ => unreachable!("a hit belongs to the scene that returned it"),
        }
    }

    /// Returns the first solid within `reach` cells.
    pub(crate) fn closest_solid(&self, ray: &SceneRay, reach: f64) -> Option<SolidHit> {
        self.solids.closest(ray, reach)
    }

    /// Returns the share of the sky that solids leave visible from a surface point.
    pub(crate) fn sky_past_solids(&self, point: DVec3, normal: Vec3) -> f32 {
        self.solids.sky_visibility(point, normal)
    }

    /// Returns whether ground or a solid lies within `reach` cells along the ray.
    pub fn is_blocked(&self, ray: &SceneRay, reach: f64) -> bool {
        self.solids.is_blocked(ray, reach)
            || match &self.ground {
                SceneGround::OneMip { collider, .. } => {
                    collider.ray_any(&collider_ray(ray, reach), &Filter::SOLID).found
                }
                SceneGround::Shown(shown) => shown.is_blocked(ray, reach),
            }
    }
}

/// Returns the cells of mip `mip` of some chunks of that mip, as mip 0 of a world.
fn world_at_mip<'a>(
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

fn collider_ray(ray: &SceneRay, reach: f64) -> collide::Ray {
    collide::Ray::new(ray.origin, ray.direction, reach)
}
