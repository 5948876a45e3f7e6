//! The way out for a body so deep in the ground that it meets no triangle: to the nearest
//! surface if there is one, else along the gradient of the cells' fill.

use super::manifold::{ContactPoint, Manifold, PartPose};
use crate::collide::Collider;
use crate::collide::query::Filter;
use crate::voxel::{Cell, Kind, Region, VoxelPos};
use glam::{DVec3, Vec3};

/// How far a surface is looked for, voxels.
const NEAR: f64 = 2.0;

/// How far free cells are looked for, voxels, one after the other.
const RADII: [i32; 3] = [2, 4, 8];

/// Where it is free.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct WayOut {
    /// Unit.
    pub direction: Vec3,
    /// Voxels from the point that was asked about.
    pub distance: f32,
    pub material: u8,
    pub voxel: VoxelPos,
}

impl Collider {
    /// The way out of the ground from a point; `None` if it is not inside.
    pub(super) fn way_out(&self, from: DVec3) -> Option<WayOut> {
        let floor = from.floor();
        let within = floor.abs().max_element() < f64::from(crate::voxel::LIMIT - 16);
        let voxel =
            within.then(|| VoxelPos::new(floor.x as i32, floor.y as i32, floor.z as i32))?;
        let cell = self.snapshot.cell(voxel).ok()?;
        if !self.is_solid(cell) {
            return None;
        }
        let found = WayOut { direction: Vec3::Y, distance: 0.0, material: cell.material, voxel };
        if let Some(hit) = self.closest_point(from, NEAR, &Filter::SOLID).found {
            let way = (DVec3::from(hit.point) - from).as_vec3();
            let normal = Vec3::from(hit.normal);
            let direction = way.normalize_or(normal);
            // Seen from the front, the point is outside, though its cell is solid.
            return (direction.dot(normal) > 0.0).then_some(WayOut {
                direction,
                distance: way.length(),
                ..found
            });
        }
        let (direction, distance) = self.along_gradient(from, voxel);
        Some(WayOut { direction, distance, ..found })
    }

    /// The direction in which there is least ground, and how far it is till it is free.
    fn along_gradient(&self, from: DVec3, voxel: VoxelPos) -> (Vec3, f32) {
        for radius in RADII {
            let mut gradient = Vec3::ZERO;
            let mut is_free = false;
            for at in Region::one(voxel).grow(radius).voxels() {
                let Ok(cell) = self.snapshot.cell(at) else { continue };
                let filled = if self.is_solid(cell) { cell.fraction() } else { 0.0 };
                let [x, y, z] = (at - voxel).to_array().map(|v| v as f32);
                gradient -= Vec3::new(x, y, z) * filled;
                is_free |= filled == 0.0;
            }
            if is_free {
                let direction = gradient.normalize_or(Vec3::Y);
                return (direction, self.free_at(from, direction, 2 * radius));
            }
        }
        let [.., farthest] = RADII;
        (Vec3::Y, farthest as f32)
    }

    /// Distance of the first cell along a direction that is not solid, half a voxel
    /// accurate, at most `most`.
    fn free_at(&self, from: DVec3, direction: Vec3, most: i32) -> f32 {
        for step in 1..=2 * most {
            let distance = 0.5 * step as f32;
            let at = (from + (direction * distance).as_dvec3()).floor();
            let voxel = VoxelPos::new(at.x as i32, at.y as i32, at.z as i32);
            if !self.snapshot.cell(voxel).is_ok_and(|cell| self.is_solid(cell)) {
                return distance;
            }
        }
        most as f32
    }

    fn is_solid(&self, cell: Cell) -> bool {
        self.snapshot.materials().kind(cell.material) == Kind::Solid
    }
}

impl WayOut {
    /// The manifold of a part that is pushed along this way until all of it is out.
    pub fn manifold(&self, pose: &PartPose<'_>, position: DVec3, part: u16) -> Manifold {
        let WayOut { direction, distance, .. } = *self;
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
