//! What a search finds: active voxels and crossed edges of a block, in the words that the device
//! writes.

use terravox::octree::{EdgeSamples, Leaf, Octree, OctreeBuilder};
use terravox::voxel::VoxelPos;

/// A cube between eight points, of which some edge is crossed. Corners and octants are numbered by
/// bits: 1, 2, 4 for the high side of x, z, y.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ActiveVoxel(pub [u32; 4]);

impl ActiveVoxel {
    /// Packs a voxel: its min corner, in points, below 64; its crossed edges as bits; its corners
    /// inside and outside as bits; their materials.
    pub fn pack(min: [u32; 3], crossed: u32, corners: [u8; 2], materials: [u8; 8]) -> ActiveVoxel {
        let [low, high] = [0, 4].map(|at| {
            u32::from_le_bytes([
                materials[at],
                materials[at + 1],
                materials[at + 2],
                materials[at + 3],
            ])
        });
        let place = min[0] | min[1] << 6 | min[2] << 12 | crossed << 18;
        ActiveVoxel([place, u32::from(corners[0]) | u32::from(corners[1]) << 8, low, high])
    }

    /// Returns its min corner, in points of the block.
    pub fn min(self) -> [u32; 3] {
        [0, 6, 12].map(|shift| self.0[0] >> shift & 63)
    }

    /// Returns its crossed edges as bits: along x from octants 0, 2, 4, 6, along z from 0, 1, 4, 5,
    /// along y from 0, 1, 2, 3.
    pub fn crossed(self) -> u32 {
        self.0[0] >> 18
    }

    /// Returns its corners inside the surface, as bits.
    pub fn inside(self) -> u8 {
        self.0[1] as u8
    }

    /// Returns its corners outside of the surface, as bits. In a search for the liquid surface, solid
    /// corners are neither.
    pub fn outside(self) -> u8 {
        (self.0[1] >> 8) as u8
    }

    /// Returns the materials of its corners.
    pub fn materials(self) -> [u8; 8] {
        (u64::from(self.0[2]) | u64::from(self.0[3]) << 32).to_le_bytes()
    }
}

/// An edge between two points, one inside and the other outside.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct CrossedEdge(pub [u32; 5]);

impl CrossedEdge {
    /// Packs an edge: its low end, in points; its axis, 0 to 2 for x, y, z; the densities at its
    /// ends; the rises of the density there.
    pub fn pack(
        low: [u32; 3],
        axis: u32,
        densities: [i32; 2],
        rises: [[i32; 3]; 2],
    ) -> CrossedEdge {
        let pair = |low: i32, high: i32| low as u32 & 0xffff | (high as u32) << 16;
        let [from, to] = rises;
        CrossedEdge([
            low[0] | low[1] << 7 | low[2] << 14 | axis << 21,
            pair(densities[0], densities[1]),
            pair(from[0], from[1]),
            pair(from[2], to[0]),
            pair(to[1], to[2]),
        ])
    }

    /// Returns its low end, in points of the block.
    pub fn low(self) -> [u32; 3] {
        [0, 7, 14].map(|shift| self.0[0] >> shift & 127)
    }

    /// Returns its axis: 0, 1, 2 for x, y, z.
    pub fn axis(self) -> usize {
        (self.0[0] >> 21) as usize
    }

    /// Returns the densities at its low and its high end, in 1/256 of a cell, positive inside.
    pub fn densities(self) -> [i16; 2] {
        halves(self.0[1])
    }

    /// Returns the next density less the one before along x, y, z, at the low and the high end;
    /// on the boundary of the block twice the one-sided difference.
    pub fn rises(self) -> [[i16; 3]; 2] {
        let [[a, b], [c, d], [e, f]] = [self.0[2], self.0[3], self.0[4]].map(halves);
        [[a, b, c], [d, e, f]]
    }
}

fn halves(word: u32) -> [i16; 2] {
    [word as i16, (word >> 16) as i16]
}

/// The surface in a block: what a search returns.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SurfaceSearch {
    /// Points along an edge of the block.
    pub points: u32,
    /// In the order of their min corners: x fastest, then z, then y.
    pub voxels: Vec<ActiveVoxel>,
    /// In the order of their low ends, then x, y, z.
    pub edges: Vec<CrossedEdge>,
}

/// Axis of each edge of a voxel, and octant of its low end.
pub(crate) const VOXEL_EDGES: [(usize, u32); 12] = [
    (0, 0),
    (0, 2),
    (0, 4),
    (0, 6),
    (2, 0),
    (2, 1),
    (2, 4),
    (2, 5),
    (1, 0),
    (1, 1),
    (1, 2),
    (1, 3),
];

/// Returns the octant's offset in points.
pub(crate) fn octant(corner: u32) -> [u32; 3] {
    [corner & 1, corner >> 2, corner >> 1 & 1]
}

impl SurfaceSearch {
    /// Builds the octree of the surface, over `1 << levels` cells from `min`: bit for bit that of
    /// [`OctreeBuilder::densities`] of the same samples. For searches of the solid surface.
    ///
    /// # Panics
    /// If the block does not have `(1 << levels) + 1` points along an edge, or the root reaches beyond
    /// the limits of the grid.
    pub fn octree(
        &self,
        builder: &mut OctreeBuilder,
        min: impl Into<VoxelPos>,
        levels: u8,
    ) -> Octree {
        assert_eq!(self.points, (1 << levels) + 1, "an octree of {levels} levels");
        builder.leaves(min, levels, &self.leaves())
    }

    /// Returns the leaves of the octree, in the order of the voxels.
    pub fn leaves(&self) -> Vec<Leaf> {
        let index = |[x, y, z]: [u32; 3]| (x + self.points * (z + self.points * y)) as usize;
        // By point: its first edge. Points without any are never looked up.
        let mut first = vec![0u32; (self.points as usize).pow(3)];
        for (number, edge) in self.edges.iter().enumerate().rev() {
            first[index(edge.low())] = number as u32;
        }
        let leaf = |voxel: &ActiveVoxel| {
            let min = voxel.min();
            let crossed = (0..12u8).filter(|edge| voxel.crossed() >> edge & 1 == 1);
            let edges = crossed.map(|number| {
                let (axis, low) = VOXEL_EDGES[usize::from(number)];
                let offset = octant(low);
                let at = index([0, 1, 2].map(|i| min[i] + offset[i]));
                let own = &self.edges[first[at] as usize..];
                let edge = own.iter().find(|edge| edge.axis() == axis);
                let edge = edge.expect("a search lists the edges of its voxels");
                EdgeSamples {
                    edge: number,
                    densities: edge.densities().map(f32::from),
                    rises: edge.rises().map(|rise| rise.map(f32::from)),
                }
            });
            Leaf::at_edges(min, voxel.inside(), voxel.materials(), edges)
        };
        self.voxels.iter().map(leaf).collect()
    }
}
