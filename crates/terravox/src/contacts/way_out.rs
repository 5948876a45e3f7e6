//! The way out of the ground: towards the nearest surface. A point that follows it gets nearer
//! to the air with every step, so it arrives, whatever the ground is like.

use crate::collide::{Collider, Filter, Ray};
use crate::voxel::{Kind, LIMIT, VoxelPos};
use glam::{DVec3, Vec3};

/// Largest distance at which a surface is searched, voxels; deeper the way is up.
const MAX_DISTANCE: f64 = 16.0;

/// A point inside sees the back of the surface along all of these. Several, since one ray may
/// run through an edge.
const PROBE_DIRECTIONS: [[f64; 3]; 2] = [[0.021, 1.0, 0.013], [-0.31, 1.0, 0.24]];

/// Length of a probe ray, voxels.
const PROBE_LENGTH: f64 = 4096.0;

/// The shortest way out of the ground from a point.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct WayOut {
    /// Unit.
    pub direction: [f32; 3],
    /// Voxels from the point to the surface; a lower bound if no surface was found.
    pub distance: f32,
    /// Material of the voxel that the point is in.
    pub material: u8,
    /// That voxel.
    pub voxel: VoxelPos,
}

impl WayOut {
    /// Returns the shortest way out of the ground from a point in voxels, or `None` if the point
    /// is outside or its cell is not held. Deeper than 16 voxels it points up. Fast if the point's
    /// cell is not solid.
    ///
    /// ```
    /// # use terravox::voxel::{DenseBox, Region, VoxelGrid};
    /// use terravox::{collide::Collider, contacts::WayOut};
    ///
    /// # let (mut grid, mut collider) = (VoxelGrid::default(), Collider::default());
    /// let mut floor = DenseBox::new(Region::new([-8, -8, -8], [8, 0, 8]));
    /// floor.fill(8);
    /// grid.write(&floor)?;
    /// collider.update(&grid);
    /// let way = WayOut::find(&collider, [0.5, -2.0, 0.5]).expect("the point is buried");
    /// assert!((way.distance - 2.0).abs() < 0.01 && way.direction[1] > 0.99);
    /// assert!(WayOut::find(&collider, [0.5, 2.0, 0.5]).is_none());
    /// # Ok::<(), terravox::voxel::NotHeld>(())
    /// ```
    pub fn find(collider: &Collider, from: impl Into<[f64; 3]>) -> Option<WayOut> {
        let from = DVec3::from(from.into());
        let floor = from.floor();
        let within = floor.abs().max_element() < f64::from(LIMIT - 16);
        let voxel =
            within.then(|| VoxelPos::new(floor.x as i32, floor.y as i32, floor.z as i32))?;
        let snapshot = collider.snapshot();
        let material = snapshot.cell(voxel).ok()?.material;
        if snapshot.materials().kind(material) != Kind::Solid {
            return None;
        }
        let nearest = collider.closest_point(from.to_array(), MAX_DISTANCE, &Filter::SOLID).found;
        let Some(hit) = nearest else {
            let (direction, distance) = (Vec3::Y.to_array(), MAX_DISTANCE as f32);
            return Some(WayOut { direction, distance, material, voxel });
        };
        // The normal there does not tell: at a sharp edge it may be either side's.
        if !PROBE_DIRECTIONS.iter().all(|&probe| sees_back(collider, from, probe)) {
            return None;
        }
        let way = (DVec3::from(hit.point) - from).as_vec3();
        let direction = way.normalize_or(hit.normal.into()).to_array();
        Some(WayOut { direction, distance: way.length(), material, voxel })
    }
}

/// Whether a ray from a point first hits the back of a surface.
fn sees_back(collider: &Collider, from: DVec3, direction: [f64; 3]) -> bool {
    let ray = Ray::new(from.to_array(), direction, PROBE_LENGTH);
    let hit = collider.ray(&ray, &Filter::SOLID).found;
    let along = |normal: [f32; 3]| DVec3::from(direction).dot(Vec3::from(normal).as_dvec3());
    hit.is_some_and(|hit| along(hit.normal) > 0.0)
}
