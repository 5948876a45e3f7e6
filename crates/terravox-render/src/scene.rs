//! What rays travel through: a world at one mip, its collider and the look of the blocks
//! that were shaded; or what a level of detail shows; and solids that stand in it.

use crate::camera::Ray;
use crate::chunks;
use crate::far::{FarGround, FarHit, Viewpoint};
use crate::shade;
use crate::solids::{Solid, SolidHit, Solids};
use crate::texture::Textures;
use crate::vertices::{MeshScratch, Vertex, Vertices};
use glam::{DVec3, IVec3, Vec3};
use terravox::collide::{self, Collider, Filter};
use terravox::terrain::ShownMesh;
use terravox::voxel::{
    ChunkPos, DenseBox, GridOptions, Kind, NotHeld, Region, Snapshot, VoxelGrid, VoxelPos,
};

/// Most chunks of several materials that a picture takes at a mip of its own choice;
/// beyond, it takes a coarser one.
const MOST_MIXED_CHUNKS: usize = 4_000;

/// Coarsest mip that a picture takes by itself.
const COARSEST: u8 = 3;

/// Haze of a far view, by its distance.
const FAR_HAZE: f64 = 0.6;

/// A world, ready for rays. Positions are in cells of the scene's mip.
pub struct Scene {
    /// The cells of that mip as mip 0 of a grid of their own; of a far view the world's.
    pub(crate) snapshot: Snapshot,
    ground: Ground,
    solids: Solids,
    /// Linear colours by material id.
    palette: [Vec3; 256],
    /// What covers the ground in place of the colours.
    textures: Option<Box<Textures>>,
    mip: u8,
    bounds: Region,
}

/// The surfaces of a scene.
enum Ground {
    /// At one mip.
    Even { collider: Box<Collider>, vertices: Vertices },
    /// Fine nearby and coarse far away.
    Far(FarGround),
}

/// The first surface on a ray.
#[derive(Clone, Debug)]
pub struct Hit {
    /// Cells along the ray.
    pub distance: f64,
    /// Unit normal of the triangle, out of the ground or liquid.
    pub normal: [f32; 3],
    /// Whether it is a liquid's surface.
    pub liquid: bool,
    place: Place,
}

#[derive(Clone, Debug)]
enum Place {
    Even(collide::Hit),
    Far(FarHit),
}

/// The triangle that a ray met.
pub(crate) struct Face<'a> {
    /// Where its corners count from, cells.
    pub origin: DVec3,
    /// Its corners; `None` if they are not known.
    pub corners: Option<[&'a Vertex; 3]>,
    /// Of the corners at the point that was met.
    pub weights: [f32; 3],
    /// Linear colour if the corners are not known.
    pub colour: Vec3,
    /// Material if the corners are not known.
    pub material: u8,
}

impl Scene {
    /// The world at mip `mip`, or at the finest one that keeps the memory bounded.
    ///
    /// # Errors
    /// [`NotHeld`] if a listed chunk is held at a coarser mip only.
    pub fn new(world: &VoxelGrid, mip: Option<u8>) -> Result<Scene, NotHeld> {
        let finest = chunks::classes(world.as_snapshot())?;
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
            _ => collider.update(&coarser_world(world.as_snapshot(), at, classes.keys())?),
        }
        let snapshot = collider.snapshot().clone();
        let palette = shade::palette(snapshot.materials());
        let ground = Ground::Even { collider: Box::new(collider), vertices: Vertices::new(listed) };
        let (solids, textures) = (Solids::default(), None);
        Ok(Scene { snapshot, ground, solids, palette, textures, mip: at, bounds })
    }

    /// What is shown of a world from a viewpoint, in voxels. With `tinted` the ground is
    /// coloured by the mips that show it.
    pub fn far(world: &Snapshot, shown: &[ShownMesh], viewpoint: Viewpoint, tinted: bool) -> Scene {
        let palette = shade::palette(world.materials());
        let ground = Ground::Far(FarGround::new(shown, viewpoint, &palette, tinted));
        // The casts saturate.
        let corner = |by: f64| VoxelPos::from((viewpoint.eye + by).to_array().map(|v| v as i32));
        let voxels = |shown: &ShownMesh| shown.mesh.block.finer(shown.mip.into());
        let all = shown.iter().fold(Region::default(), |all, mesh| all.union(voxels(mesh)));
        let seen = Region { min: corner(-viewpoint.distance), max: corner(viewpoint.distance) };
        let solids = Solids::default();
        Scene {
            snapshot: world.clone(),
            ground,
            solids,
            palette,
            textures: None,
            mip: 0,
            bounds: all.intersect(seen),
        }
    }

    /// Puts solids into the picture, in place of those that were there.
    pub fn set_solids(&mut self, solids: &[Solid]) {
        self.solids = Solids::new(solids, |colour| Vec3::from(colour.map(shade::linear_from_srgb)));
    }

    /// Covers the ground with textures in the place of even colours: the material `unset` by
    /// its slope with grass and rock. The mips of a tinted scene do not show then.
    pub fn set_textures(&mut self, unset: u8) {
        self.textures = Some(Box::new(Textures::new(self.snapshot.materials(), unset)));
    }

    /// What covers the ground, if not even colours.
    pub(crate) fn textures(&self) -> Option<&Textures> {
        self.textures.as_deref()
    }

    /// The cells that the picture shows, those of its mip as mip 0; of a far view the world's.
    pub fn snapshot(&self) -> &Snapshot {
        &self.snapshot
    }

    /// The mip that the picture shows.
    pub fn mip(&self) -> u8 {
        self.mip
    }

    /// The chunks that can hold a surface lie in here, cells.
    pub fn bounds(&self) -> Region {
        self.bounds
    }

    /// What rays are asked of, in cells; `None` in a far view.
    pub fn collider(&self) -> Option<&Collider> {
        match &self.ground {
            Ground::Even { collider, .. } => Some(collider),
            Ground::Far(_) => None,
        }
    }

    /// Which mip, counted from the scene's, light and shadow at a point are made for: not
    /// whole in a far view, so that the light does not change where the mip does.
    pub(crate) fn level(&self, point: DVec3) -> f64 {
        match &self.ground {
            Ground::Even { .. } => 0.0,
            Ground::Far(far) => far.viewpoint.level(point),
        }
    }

    /// Distance at which haze has taken two thirds of the light of the ground, cells.
    pub(crate) fn haze_distance(&self, eye: DVec3) -> f64 {
        match &self.ground {
            Ground::Even { .. } => 2.2 * self.reach(eye),
            Ground::Far(far) => FAR_HAZE * far.viewpoint.distance,
        }
    }

    /// Distance from the eye to the far end of the world, cells.
    fn reach(&self, eye: DVec3) -> f64 {
        let corner = |p: VoxelPos| DVec3::from(p.to_array().map(f64::from));
        let [low, high] = [corner(self.bounds.min), corner(self.bounds.max)];
        (eye - low).abs().max((eye - high).abs()).length().max(64.0)
    }

    /// The kind of the cell at a point, as well as it is known; air where nothing is.
    pub fn kind_at(&self, point: DVec3) -> Kind {
        let pos = VoxelPos::from(floor(point).to_array());
        let mut cell = DenseBox::default();
        self.snapshot.read_known(Region::one(pos), 0, &mut cell);
        self.snapshot.materials().kind(cell.cell(pos).material)
    }

    /// The first surface of the world within `reach` cells.
    pub fn closest(&self, ray: &Ray, reach: f64, sees: &Filter) -> Option<Hit> {
        match &self.ground {
            Ground::Even { collider, .. } => {
                let hit = collider.ray(&query(ray, reach), sees).found?;
                let (distance, normal, liquid) = (hit.distance, hit.normal, hit.liquid);
                Some(Hit { distance, normal, liquid, place: Place::Even(hit) })
            }
            Ground::Far(far) => {
                let hit = far.closest(ray, reach, sees)?;
                let (distance, normal, liquid) = (hit.distance, far.normal(&hit), hit.liquid);
                Some(Hit { distance, normal, liquid, place: Place::Far(hit) })
            }
        }
    }

    /// The triangle that a ray met.
    pub(crate) fn face(&self, hit: &Hit, scratch: &mut MeshScratch) -> Face<'_> {
        match (&self.ground, &hit.place) {
            (Ground::Even { vertices, .. }, Place::Even(hit)) => Face {
                origin: DVec3::from(hit.block.min_voxel().to_array().map(f64::from)),
                corners: vertices.corners(hit, &self.snapshot, &self.palette, scratch),
                weights: hit.weights,
                colour: self.palette[usize::from(hit.material)],
                material: hit.material,
            },
            (Ground::Far(far), Place::Far(hit)) => {
                let (origin, corners) = far.corners(hit);
                let (corners, weights) = (Some(corners), hit.weights);
                Face { origin, corners, weights, colour: Vec3::ZERO, material: 0 }
            }
            _ => unreachable!("a hit is asked of the scene that it comes from"),
        }
    }

    /// The first of the solids within `reach` cells.
    pub(crate) fn closest_solid(&self, ray: &Ray, reach: f64) -> Option<SolidHit> {
        self.solids.closest(ray, reach)
    }

    /// The share of the sky that solids leave open over a surface.
    pub(crate) fn open_beside_solids(&self, point: DVec3, normal: Vec3) -> f32 {
        self.solids.open(point, normal)
    }

    /// Whether ground or a solid lies within `reach` cells along the ray.
    pub fn blocked(&self, ray: &Ray, reach: f64) -> bool {
        self.solids.block(ray, reach)
            || match &self.ground {
                Ground::Even { collider, .. } => {
                    collider.ray_any(&query(ray, reach), &Filter::SOLID).found
                }
                Ground::Far(far) => far.blocked(ray, reach),
            }
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
pub(crate) fn floor(point: DVec3) -> IVec3 {
    let near = point.as_ivec3();
    near - IVec3::select(point.cmplt(near.as_dvec3()), IVec3::ONE, IVec3::ZERO)
}
