//! Where a body touches the ground: every triangle near it is probed for a direction and
//! points, and these are reduced to manifolds. See the [module](super) for the rule.

use super::body::{Body, PartPose, pose};
use super::probe::{Probe, ProbeResults, ProbedTriangle};
use super::reduce::manifolds;
use super::way_out::WayOut;
use crate::collide::{
    BlockSurface, Collider, CollisionBlock, CollisionWorld, Filter, MissingData, TriangleId,
    min_corner,
};
use crate::math::Aabb;
use crate::voxel::VoxelPos;
use glam::{DVec3, Mat3, Quat, Vec3};

/// Options of [`Contacts::find`].
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(default))]
pub struct ContactOptions {
    /// Largest distance that still makes a contact, voxels: about what a body moves in a step.
    pub prediction_voxels: f32,
    /// Which surfaces are seen.
    pub filter: Filter,
}

impl Default for ContactOptions {
    /// The ground, within 0.05 voxels.
    fn default() -> ContactOptions {
        ContactOptions { prediction_voxels: 0.05, filter: Filter::SOLID }
    }
}

/// A point where a body touches the ground.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct ContactPoint {
    /// Position on the ground, voxels. The body's point is `distance * normal` from it.
    pub point: [f64; 3],
    /// The same relative to the body's position, voxels.
    pub offset: [f32; 3],
    /// Unit, from the ground to the body.
    pub normal: [f32; 3],
    /// Voxels along the normal; negative where the two overlap.
    pub distance: f32,
    /// Number of the body's part.
    pub part: u16,
    /// Material of the voxel.
    pub material: u8,
    /// The voxel whose face is touched.
    pub voxel: VoxelPos,
    /// The block that holds the voxel.
    pub block: CollisionBlock,
    /// Which triangle of the block's surface. Meaningless if the manifold is
    /// [`is_inside`](Manifold::is_inside).
    pub triangle: TriangleId,
}

/// Up to four points of one part with similar normals, the deepest first; of more points those
/// that span the largest area.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Manifold {
    points: [ContactPoint; 4],
    count: u8,
    /// Whether the part is too deep in the ground to touch a triangle.
    pub is_inside: bool,
}

impl Manifold {
    /// Its points: one to four.
    pub fn points(&self) -> &[ContactPoint] {
        &self.points[..usize::from(self.count)]
    }
}

/// The contacts of a body, and the memory to find them. Keep one per thread and reuse it.
///
/// ```
/// use terravox::collide::Collider;
/// use terravox::contacts::{Body, BodyPart, ContactOptions, Contacts};
/// use terravox::geometry::Shape;
/// use terravox::voxel::{DenseBox, Region, VoxelGrid};
///
/// let mut grid = VoxelGrid::default();
/// let mut floor = DenseBox::new(Region::new([-8, -8, -8], [8, 0, 8]));
/// floor.fill(8);
/// grid.write(&floor)?;
/// let mut collider = Collider::default();
/// collider.update(&grid);
///
/// let ball = [BodyPart::new(Shape::Sphere { radius: 0.5 })];
/// let body = Body { parts: &ball, position: [0.3, 0.48, 0.3], rotation: [0.0, 0.0, 0.0, 1.0] };
/// let mut contacts = Contacts::default();
/// contacts.find(&collider, &body, &ContactOptions::default());
/// let point = contacts.manifolds[0].points()[0];
/// assert!((point.distance + 0.02).abs() < 1e-3 && point.normal[1] > 0.999);
/// # Ok::<(), terravox::voxel::NotHeld>(())
/// ```
#[derive(Debug, Default)]
pub struct Contacts {
    /// The manifolds, the deepest of each part first.
    pub manifolds: Vec<Manifold>,
    results: ProbeResults,
    /// The surfaces that were probed.
    surfaces: Vec<SurfaceId>,
    /// Rotated points of a hull.
    points: Vec<[f32; 3]>,
}

/// A surface of a block.
#[derive(Clone, Copy, Debug)]
struct SurfaceId {
    block: CollisionBlock,
    liquid: bool,
}

/// What to search for one part of a body.
#[derive(Clone, Copy)]
struct PartQuery<'a> {
    world: &'a CollisionWorld,
    options: &'a ContactOptions,
    /// The only block to search, if not all.
    only: Option<CollisionBlock>,
    /// Position of the body.
    position: DVec3,
    /// Number of the part.
    part: u16,
}

impl Contacts {
    /// Finds the contacts of a body and puts them in [`Contacts::manifolds`]. Returns missing
    /// data. An invalid body (non-finite, or with an invalid shape) has no contacts.
    pub fn find(
        &mut self,
        collider: &Collider,
        body: &Body<'_>,
        options: &ContactOptions,
    ) -> Option<MissingData> {
        self.find_in(collider, None, body, options)
    }

    /// As [`Contacts::find`], with the triangles of one block only. A body that lies wholly
    /// inside of the ground has no contacts then.
    pub fn find_in_block(
        &mut self,
        collider: &Collider,
        block: CollisionBlock,
        body: &Body<'_>,
        options: &ContactOptions,
    ) -> Option<MissingData> {
        self.find_in(collider, Some(block), body, options)
    }

    fn find_in(
        &mut self,
        collider: &Collider,
        only: Option<CollisionBlock>,
        body: &Body<'_>,
        options: &ContactOptions,
    ) -> Option<MissingData> {
        self.manifolds.clear();
        let world = collider.world();
        let turn = Quat::from_array(body.rotation);
        let position = DVec3::from(body.position);
        let valid = (turn.length_squared() - 1.0).abs() <= 1e-3
            && position.is_finite()
            && options.prediction_voxels >= 0.0
            && options.prediction_voxels.is_finite();
        let mut points = std::mem::take(&mut self.points);
        let (mut refused, mut missing) = (!valid, None);
        for (number, part) in body.parts.iter().enumerate().filter(|_| valid) {
            match pose(part, turn.normalize(), &mut points) {
                Some(pose) => {
                    let part = number as u16;
                    let query = PartQuery { world, options, only, position, part };
                    let missing_here = self.find_part(collider, &query, &pose);
                    missing = missing.or(missing_here);
                }
                None => refused = true,
            }
        }
        self.points = points;
        if refused {
            world.count_refused();
        }
        missing
    }

    /// Adds the manifolds of one part.
    fn find_part(
        &mut self,
        collider: &Collider,
        query: &PartQuery<'_>,
        pose: &PartPose<'_>,
    ) -> Option<MissingData> {
        let PartQuery { options, only, position, part, .. } = *query;
        let origin = position + pose.at.as_dvec3();
        let (missing, axes) = self.probe_part(query, pose, origin);
        let Contacts { manifolds: out, results, surfaces, .. } = self;
        let is_free = results.candidates.is_empty();
        let triangles = &results.triangles;
        manifolds(&mut results.candidates, |points| {
            out.push(Manifold::default());
            let Some(manifold) = out.last_mut() else { return };
            manifold.count = points.len() as u8;
            for (to, from) in manifold.points.iter_mut().zip(points) {
                let ProbedTriangle { surface, cell: [x, y, z], id } =
                    triangles[from.triangle as usize];
                let SurfaceId { block, liquid } = surfaces[surface as usize];
                let point = axes * from.point;
                to.point = (origin + point.as_dvec3()).to_array();
                to.offset = (pose.at + point).to_array();
                to.normal = (axes * from.normal).to_array();
                (to.distance, to.part) = (from.distance, part);
                (to.block, to.triangle) = (block, id);
                to.voxel = block.min_voxel() + VoxelPos::new(x.into(), y.into(), z.into());
                to.material = query.world.material_at(to.voxel, liquid);
            }
        });
        let may_be_inside = is_free && only.is_none() && options.filter.surfaces.solid();
        if may_be_inside {
            let middle = origin + pose.core.middle().as_dvec3();
            let way = WayOut::find(collider, middle.to_array());
            out.extend(way.map(|way| way_out_manifold(&way, pose, position, part)));
        }
        missing
    }

    /// Probes the triangles near a part whose origin is at `origin`. Returns missing data, and
    /// the axes of the results.
    fn probe_part(
        &mut self,
        query: &PartQuery<'_>,
        pose: &PartPose<'_>,
        origin: DVec3,
    ) -> (Option<MissingData>, Mat3) {
        let PartQuery { world, options, only, .. } = *query;
        let Contacts { results, surfaces, .. } = self;
        surfaces.clear();
        let mut probe = Probe::new(&pose.core, options.prediction_voxels, results);
        let (min, max) = pose.core.bounds();
        let wide = |v: [f32; 3]| (origin + Vec3::from(v).as_dvec3()).to_array();
        let aabb = Aabb { min: wide(min), max: wide(max) }.grow(options.prediction_voxels.into());
        let filter = &options.filter;
        let mut visit = |surface: BlockSurface<'_>| {
            let shift = probe.back * (min_corner(surface.block) - origin).as_vec3();
            let number = surfaces.len() as u32;
            surfaces.push(SurfaceId { block: surface.block, liquid: surface.is_liquid });
            world.triangles_of(surface, &aabb, filter, |triangle| {
                probe.probe(surface, number, triangle, shift);
            });
        };
        let missing = match only {
            None => world.surfaces_in(&aabb, filter, visit),
            Some(block) => match world.surfaces_of(block, filter) {
                Ok(found) => {
                    found.into_iter().flatten().flatten().for_each(&mut visit);
                    None
                }
                Err(missing) => Some(missing),
            },
        };
        probe.accept_backfaces();
        if only.is_none() {
            probe.accept_nearest_rejected();
        }
        (missing, probe.axes)
    }
}

/// The manifold of a part that is pushed along a way out until all of it is outside.
fn way_out_manifold(way: &WayOut, pose: &PartPose<'_>, position: DVec3, part: u16) -> Manifold {
    let direction = Vec3::from(way.direction);
    let middle = pose.at + pose.core.middle();
    let behind = pose.core.reach(-direction) + direction.dot(pose.core.middle());
    let offset = middle + direction * way.distance;
    let mut manifold = Manifold { count: 1, is_inside: true, ..Manifold::default() };
    manifold.points[0] = ContactPoint {
        point: (position + offset.as_dvec3()).to_array(),
        offset: offset.to_array(),
        normal: direction.to_array(),
        distance: -(way.distance + behind),
        part,
        material: way.material,
        voxel: way.voxel,
        block: way.voxel.block(),
        triangle: Default::default(),
    };
    manifold
}
