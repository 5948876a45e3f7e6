//! Queries and their results, as plain data.

use crate::bits::CollisionBlock;
use crate::voxel::{ChunkPos, VoxelPos};

/// How far the surface of a cell may reach beyond the cell, on each axis, in voxels. The
/// mesher keeps to it.
pub const REACH: f32 = crate::mesh::SURFACE_REACH;

/// Which surfaces a query sees.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Surfaces {
    /// The ground: solid cells.
    #[default]
    Solid,
    /// Water and other liquids.
    Liquid,
    /// Both.
    Both,
}

impl Surfaces {
    /// Whether the ground is seen.
    pub fn solid(self) -> bool {
        self != Surfaces::Liquid
    }

    /// Whether liquids are seen.
    pub fn liquid(self) -> bool {
        self != Surfaces::Solid
    }
}

/// A set of material ids: 256 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct MaterialSet([u64; 4]);

impl MaterialSet {
    /// Every material.
    pub const ALL: MaterialSet = MaterialSet([u64::MAX; 4]);
    /// No material.
    pub const NONE: MaterialSet = MaterialSet([0; 4]);

    /// The set of one material.
    pub const fn only(id: u8) -> MaterialSet {
        MaterialSet::NONE.with(id)
    }

    /// Adds a material.
    pub const fn with(mut self, id: u8) -> MaterialSet {
        self.0[(id >> 6) as usize] |= 1 << (id & 63);
        self
    }

    /// Removes a material.
    pub const fn without(mut self, id: u8) -> MaterialSet {
        self.0[(id >> 6) as usize] &= !(1 << (id & 63));
        self
    }

    /// Whether the set contains a material.
    pub const fn contains(self, id: u8) -> bool {
        self.0[(id >> 6) as usize] >> (id & 63) & 1 == 1
    }
}

impl Default for MaterialSet {
    fn default() -> MaterialSet {
        MaterialSet::ALL
    }
}

/// What a query does about blocks that are not built yet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum BuildPolicy {
    /// Builds them, some microseconds each.
    #[default]
    Build,
    /// Skips them and reports the first ([`MissingData::NotBuilt`]).
    Refuse,
}

/// Which surfaces a query sees, and whether it may build blocks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Filter {
    /// Ground, liquids or both.
    pub surfaces: Surfaces,
    /// Materials of the voxel behind the surface.
    pub materials: MaterialSet,
    /// What to do about blocks that are not built.
    pub unbuilt: BuildPolicy,
}

impl Filter {
    /// The ground: solid cells of any material.
    pub const SOLID: Filter = Filter::of(Surfaces::Solid);
    /// Liquids.
    pub const LIQUID: Filter = Filter::of(Surfaces::Liquid);
    /// Ground and liquids.
    pub const BOTH: Filter = Filter::of(Surfaces::Both);

    /// These surfaces of any material; unbuilt blocks are built.
    pub const fn of(surfaces: Surfaces) -> Filter {
        Filter { surfaces, materials: MaterialSet::ALL, unbuilt: BuildPolicy::Build }
    }
}

/// Data that a query needed and did not have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum MissingData {
    /// A chunk that is not held at mip 0.
    NotHeld(ChunkPos),
    /// A block that is not built, with [`BuildPolicy::Refuse`].
    NotBuilt(CollisionBlock),
}

/// The result of a query, and whether it is complete.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct QueryOutcome<T> {
    /// What the query found in the data that was there.
    pub found: T,
    /// Missing data that may change the result; for rays the nearest. `None` if the result is
    /// complete.
    pub missing: Option<MissingData>,
}

/// A ray in voxels. Distances along it are voxels too, whatever the length of `direction`.
///
/// Invalid rays (NaN, infinite origin or direction, zero direction, `max_distance` not above
/// 0) hit nothing, nor do those whose origin is more than 2⁴⁰ voxels away on an axis, where f64
/// rounds positions to 1/4096 of a voxel and more.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Ray {
    /// Start, voxels.
    pub origin: [f64; 3],
    /// Direction, of any length but 0.
    pub direction: [f64; 3],
    /// Length in voxels; may be infinite.
    pub max_distance: f64,
}

impl Ray {
    /// The ray from `origin` along `direction` over `max_distance` voxels.
    pub fn new(
        origin: impl Into<[f64; 3]>,
        direction: impl Into<[f64; 3]>,
        max_distance: f64,
    ) -> Ray {
        Ray { origin: origin.into(), direction: direction.into(), max_distance }
    }
}

/// A hit of a ray, a moving shape or a closest-point query, in voxels: where on which face of
/// which voxel.
///
/// Not to be confused with [`RayHit`](crate::RayHit), which [`Terrain::ray`](crate::Terrain::ray)
/// makes of it: in world metres, and without the triangle.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Hit {
    /// Voxels from the start of the ray or of the motion, or from the query point.
    pub distance: f64,
    /// Position, voxels.
    pub point: [f64; 3],
    /// Unit normal of the triangle, out of the ground or liquid. Against the ray where it
    /// comes from outside, along it where it comes from inside.
    pub normal: [f32; 3],
    /// Whether it is a liquid's surface.
    pub is_liquid: bool,
    /// Material of the voxel.
    pub material: u8,
    /// The voxel whose face it is.
    pub voxel: VoxelPos,
    /// The block that holds the voxel.
    pub block: CollisionBlock,
    /// Which triangle of the block's surface, for callers that hold its mesh.
    pub triangle: TriangleId,
    /// Weights of the triangle's corners at the point, summing to 1.
    pub weights: [f32; 3],
}

/// A triangle of the surface, in voxels of the world.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SurfaceTriangle {
    /// Corners, voxels; counter-clockwise from outside.
    pub corners: [[f64; 3]; 3],
    /// Whether it is of a liquid's surface.
    pub is_liquid: bool,
    /// The voxel whose face it is part of.
    pub voxel: VoxelPos,
    /// The block that holds the voxel.
    pub block: CollisionBlock,
    /// Which triangle of the block's surface it is.
    pub triangle: TriangleId,
}

/// Identifies a triangle of a block's surface. Vertices have the numbers that the mesher gives
/// them for that block of 8³ voxels.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct TriangleId {
    /// Number of the quad in its [`QuadBvh`](super::QuadBvh).
    pub quad: u16,
    /// Whether it is the second triangle of the quad.
    pub second: bool,
    /// Vertex numbers.
    pub vertices: [u16; 3],
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn material_sets_hold_what_is_put_in() {
        let set = MaterialSet::only(200).with(3).with(64);
        assert!([3, 64, 200].iter().all(|&id| set.contains(id)));
        assert!([0, 2, 63, 65, 199, 255].iter().all(|&id| !set.contains(id)));
        assert_eq!(set.without(3).without(64).without(200), MaterialSet::NONE);
        assert!((0..=255).all(|id| MaterialSet::ALL.contains(id)));
    }
}
