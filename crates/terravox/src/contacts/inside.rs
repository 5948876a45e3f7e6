//! The way out of the ground: to the surface that is nearest. A point that goes there comes
//! nearer to the air by every step that it takes, so it arrives, whatever the ground is like.

use super::body::PartPose;
use super::manifold::{ContactPoint, Manifold};
use crate::collide::{Collider, Filter, Ray};
use crate::voxel::{Cell, Kind, VoxelPos};
use glam::{DVec3, Vec3};

/// How far a surface is looked for, voxels; deeper the way is up.
const FARTHEST: f64 = 16.0;

/// What is inside sees the back of the surface along all of these. More than one, as a ray
/// may run through an edge.
const LOOKS: [[f64; 3]; 2] = [[0.021, 1.0, 0.013], [-0.31, 1.0, 0.24]];

/// How far a look goes, voxels.
const LOOK: f64 = 4096.0;

/// Where it is free.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct WayOut {
    /// Unit.
    pub direction: [f32; 3],
    /// Voxels from the point that was asked about to the surface; at least so far if no
    /// surface was found.
    pub distance: f32,
    /// Material of the voxel that the point is in.
    pub material: u8,
    /// That voxel.
    pub voxel: VoxelPos,
}

impl Collider {
    /// The shortest way out of the ground from a point, voxels; `None` if the point is not
    /// inside, or in cells that are not held. More than 16 voxels deep the way is up. Quick
    /// where the point's cell is not solid.
    pub fn way_out(&self, from: impl Into<[f64; 3]>) -> Option<WayOut> {
        let from = DVec3::from(from.into());
        let floor = from.floor();
        let within = floor.abs().max_element() < f64::from(crate::voxel::LIMIT - 16);
        let voxel =
            within.then(|| VoxelPos::new(floor.x as i32, floor.y as i32, floor.z as i32))?;
        let cell = self.snapshot.cell(voxel).ok()?;
        if !self.is_solid(cell) {
            return None;
        }
        let (material, up) = (cell.material, Vec3::Y.to_array());
        let nearest = self.closest_point(from.to_array(), FARTHEST, &Filter::SOLID).found;
        let Some(hit) = nearest else {
            return Some(WayOut { direction: up, distance: FARTHEST as f32, material, voxel });
        };
        // The normal there does not tell: at a sharp edge either side's may be seen.
        if !LOOKS.iter().all(|&look| self.sees_back(from, look)) {
            return None;
        }
        let way = (DVec3::from(hit.point) - from).as_vec3();
        let direction = way.normalize_or(hit.normal.into()).to_array();
        Some(WayOut { direction, distance: way.length(), material, voxel })
    }

    /// Whether what is first met from a point is seen from behind.
    fn sees_back(&self, from: DVec3, direction: [f64; 3]) -> bool {
        let hit = self.ray(&Ray::new(from.to_array(), direction, LOOK), &Filter::SOLID).found;
        let along = |normal: [f32; 3]| DVec3::from(direction).dot(Vec3::from(normal).as_dvec3());
        hit.is_some_and(|hit| along(hit.normal) > 0.0)
    }

    fn is_solid(&self, cell: Cell) -> bool {
        self.snapshot.materials().kind(cell.material) == Kind::Solid
    }
}

impl WayOut {
    /// The manifold of a part that is pushed along this way until all of it is out.
    pub(super) fn manifold(&self, pose: &PartPose<'_>, position: DVec3, part: u16) -> Manifold {
        let WayOut { distance, .. } = *self;
        let direction = Vec3::from(self.direction);
        let middle = pose.at + pose.core.middle();
        let behind = pose.core.reach(-direction) + direction.dot(pose.core.middle());
        let offset = middle + direction * distance;
        let point = ContactPoint {
            point: (position + offset.as_dvec3()).to_array(),
            offset: offset.to_array(),
            normal: direction.to_array(),
            distance: -(distance + behind),
            part,
            material: self.material,
            voxel: self.voxel,
            block: self.voxel.block(),
            triangle: Default::default(),
        };
        Manifold::single(point, true)
    }
}
