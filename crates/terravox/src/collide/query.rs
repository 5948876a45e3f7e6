//! Queries and their results.

use super::Block;
use super::Surfaces;
use crate::voxel::{ChunkPos, VoxelPos};

/// Materials by id: 256 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct MaterialSet([u64; 4]);

impl MaterialSet {
    /// Every material.
    pub const ALL: MaterialSet = MaterialSet([u64::MAX; 4]);
    /// No material.
    pub const NONE: MaterialSet = MaterialSet([0; 4]);

    /// One material.
    pub const fn only(id: u8) -> MaterialSet {
        MaterialSet::NONE.with(id)
    }

    /// With one more.
    pub const fn with(mut self, id: u8) -> MaterialSet {
        self.0[(id >> 6) as usize] |= 1 << (id & 63);
        self
    }

    /// With one less.
    pub const fn without(mut self, id: u8) -> MaterialSet {
        self.0[(id >> 6) as usize] &= !(1 << (id & 63));
        self
    }

    /// Whether a material is among them.
    pub const fn contains(self, id: u8) -> bool {
        self.0[(id >> 6) as usize] >> (id & 63) & 1 == 1
    }
}

impl Default for MaterialSet {
    fn default() -> MaterialSet {
        MaterialSet::ALL
    }
}

/// What to do about blocks that no query has met yet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Unbuilt {
    /// Build them, some microseconds each.
    #[default]
    Build,
    /// Leave them out, and say so ([`Missing::NotBuilt`]).
    Refuse,
}

/// What a query sees.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Filter {
    /// Ground, liquids or both.
    pub surfaces: Surfaces,
    /// Of what material: that of the voxel behind the surface.
    pub materials: MaterialSet,
    /// What to do about blocks that are not built.
    pub unbuilt: Unbuilt,
}

impl Filter {
    /// Ground of any material.
    pub const SOLID: Filter = Filter::of(Surfaces::Solid);
    /// Liquids.
    pub const LIQUID: Filter = Filter::of(Surfaces::Liquid);
    /// Ground and liquids.
    pub const BOTH: Filter = Filter::of(Surfaces::Both);

    /// All of some surfaces.
    pub const fn of(surfaces: Surfaces) -> Filter {
        Filter { surfaces, materials: MaterialSet::ALL, unbuilt: Unbuilt::Build }
    }
}

/// What a query could not look at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Missing {
    /// A chunk that is not held at mip 0.
    NotHeld(ChunkPos),
    /// A block that is not built, if the filter refuses to build.
    NotBuilt(Block),
}

/// A result, and whether it is complete.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Answer<T> {
    /// What was found in what could be looked at.
    pub found: T,
    /// Something that could not be looked at and may change the result; the nearest, for
    /// rays.
    pub missing: Option<Missing>,
}

/// A ray. Distances along it are voxels, whatever the length of `direction`.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Ray {
    /// Where it starts, voxels.
    pub origin: [f64; 3],
    /// Where it goes, of any length but 0.
    pub direction: [f64; 3],
    /// Where it ends, voxels from its origin; may be infinite.
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

/// Where a surface was met: which face of which voxel.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Hit {
    /// Voxels from the start of the ray, of the motion, or from the point asked about.
    pub distance: f64,
    /// Where, voxels.
    pub point: [f64; 3],
    /// Unit normal of the triangle, out of the ground or liquid. Against the ray where it
    /// comes from outside, along it where it comes from inside.
    pub normal: [f32; 3],
    /// Whether it is a liquid's surface.
    pub liquid: bool,
    /// Material of the voxel.
    pub material: u8,
    /// The voxel whose face it is.
    pub voxel: VoxelPos,
    /// The block that holds the voxel.
    pub block: Block,
    /// Which triangle of the block's surface, for callers that hold its mesh.
    pub triangle: TriangleId,
    /// Weights of the triangle's corners at the point, summing to 1.
    pub weights: [f32; 3],
}

/// A triangle that a box meets.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Found {
    /// Its corners, voxels; counter-clockwise from outside.
    pub corners: [[f64; 3]; 3],
    /// Whether it is of a liquid's surface.
    pub liquid: bool,
    /// The voxel whose face it is part of.
    pub voxel: VoxelPos,
    /// The block that holds the voxel.
    pub block: Block,
    /// Which triangle of the block it is.
    pub triangle: TriangleId,
}

/// A triangle of the surface of a block: the numbers of its corners as the mesher gives
/// them for that block of 8³ voxels.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct TriangleId {
    /// Number of the quad in the collider's order.
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
