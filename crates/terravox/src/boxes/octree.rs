//! The octree of solid volumes of a cube of the world, as bits: a word a slice of every
//! 8³ block, and the same again for which blocks are solid throughout.
//!
//! Source: Hadden, "Voxels, Octrees, and Collision" (2012). There the octree is how
//! cells are stored, and finding its solid nodes is a walk of pointers. Here it is built
//! upward: a node is solid if its eight children are, which is an AND of words.

use crate::bits::{BLOCK_LOG2, BlockMask, block_mask, chunk_masks, for_bits};
use crate::voxel::{NotHeld, Region, Snapshot, VoxelPos};

/// The largest edge of a cube, as a power of two.
pub(super) const MAX_LOG2: u32 = 6;

/// The solid nodes of an aligned cube of 8³ to 64³ voxels.
///
/// ```
/// use terravox::boxes::SolidOctree;
/// use terravox::voxel::{DenseBox, Region, VoxelGrid};
///
/// let mut grid = VoxelGrid::default();
/// let mut floor = DenseBox::new(Region::new([0, 0, 0], [32, 17, 32]));
/// floor.fill(8);
/// grid.write(&floor)?;
/// let mut octree = SolidOctree::default();
/// octree.read(grid.as_snapshot(), Region::new([0, 0, 0], [32, 32, 32]))?;
/// assert_eq!(octree.volumes().count(), 4 + 32 * 32);
/// # Ok::<(), terravox::voxel::NotHeld>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct SolidOctree {
    cube: Region,
    /// Blocks along an edge.
    edge: usize,
    /// Solid cells by block: x + edge (z + edge y).
    masks: Vec<BlockMask>,
    /// Blocks that are all solid: bit x + 8 z of word y.
    full: BlockMask,
    /// Blocks that are neither all solid nor without a solid cell.
    mixed: BlockMask,
}

impl SolidOctree {
    /// Reads a cube, whose edge is 8, 16, 32 or 64 voxels and whose corner is a multiple of that.
    ///
    /// # Errors
    /// [`NotHeld`] names the first chunk that is not held at mip 0. The cells of such
    /// chunks count as not solid; all others are read.
    ///
    /// # Panics
    /// If the cube is not aligned as above, or reaches beyond [`LIMIT`](crate::voxel::LIMIT).
    pub fn read(&mut self, snapshot: &Snapshot, cube: Region) -> Result<(), NotHeld> {
        let log2 = cube_log2(cube);
        assert!(
            log2.is_some() && cube.within_limits(),
            "{cube} is not an aligned cube of 8 to 64 voxels"
        );
        let mut masks = std::mem::take(&mut self.masks);
        let edge = cube.size()[0] / 8;
        masks.clear();
        masks.resize(edge.pow(3), [0; 8]);
        *self = SolidOctree { cube, edge, masks, ..SolidOctree::default() };
        match edge {
            4.. => self.read_chunks(snapshot),
            _ => self.read_blocks(snapshot),
        }
    }

    fn read_chunks(&mut self, snapshot: &Snapshot) -> Result<(), NotHeld> {
        let mut missing = Ok(());
        for chunk in self.cube.blocks::<5>() {
            let [x, y, z] = self.place(chunk.min_voxel());
            let add = |at: [usize; 3]| [x + at[0], y + at[1], z + at[2]];
            let read = chunk_masks(snapshot, chunk, |at, mask| self.set(add(at), mask));
            missing = missing.and(read);
        }
        missing
    }

    fn read_blocks(&mut self, snapshot: &Snapshot) -> Result<(), NotHeld> {
        let mut missing = Ok(());
        for block in self.cube.blocks::<3>() {
            match block_mask(snapshot, block) {
                Ok(mask) => self.set(self.place(block.min_voxel()), mask),
                Err(error) => missing = missing.and(Err(error)),
            }
        }
        missing
    }

    /// The block, from the cube's lowest, that holds a voxel.
    fn place(&self, voxel: VoxelPos) -> [usize; 3] {
        (voxel - self.cube.min).to_array().map(|v| v as usize >> 3)
    }

    fn set(&mut self, [x, y, z]: [usize; 3], mask: BlockMask) {
        self.masks[x + self.edge * (z + self.edge * y)] = mask;
        let all = mask.iter().fold(u64::MAX, |all, word| all & word);
        let any = mask.iter().fold(0, |any, word| any | word);
        let bit = x + 8 * z;
        self.full[y] |= u64::from(all == u64::MAX) << bit;
        self.mixed[y] |= u64::from(any != 0 && all != u64::MAX) << bit;
    }

    /// The cube.
    pub fn cube(&self) -> Region {
        self.cube
    }

    /// The solid nodes whose parents are not solid, half-open: cubes of 64 voxels down to
    /// single ones, which cover the solid cells exactly. Those of 8 and more come first.
    pub fn volumes(&self) -> impl Iterator<Item = Region> + '_ {
        let node = |min: VoxelPos, at: [u8; 3], edge: i32, unit: i32| {
            let at = at.map(|v| i32::from(v) * unit);
            let min = min + VoxelPos::from(at);
            Region { min, max: min + VoxelPos::splat(edge * unit) }
        };
        let cube = self.cube.min;
        let coarse = leaves(&self.full).map(move |(at, edge)| node(cube, at, edge, 8));
        let fine = self.mixed_blocks().flat_map(move |(at, mask)| {
            let block = node(cube, at, 1, 8).min;
            leaves(mask).map(move |(at, edge)| node(block, at, edge, 1))
        });
        coarse.chain(fine)
    }

    /// Number of solid cells.
    pub fn solid_cells(&self) -> u64 {
        let count =
            |mask: &BlockMask| mask.iter().map(|word| u64::from(word.count_ones())).sum::<u64>();
        self.masks.iter().map(count).sum()
    }

    /// Blocks, from the cube's lowest, that are all solid.
    pub(super) fn full_blocks(&self) -> impl Iterator<Item = [u8; 3]> + use<> {
        bits(self.full)
    }

    /// Blocks that are solid in part, and their solid cells.
    pub(super) fn mixed_blocks(&self) -> impl Iterator<Item = ([u8; 3], &BlockMask)> {
        bits(self.mixed).map(|at| {
            let [x, y, z] = at.map(usize::from);
            (at, &self.masks[x + self.edge * (z + self.edge * y)])
        })
    }
}

/// The logarithm of the edge of an aligned cube of 8 to 64 voxels.
pub(super) fn cube_log2(cube: Region) -> Option<u32> {
    (BLOCK_LOG2..=MAX_LOG2).find(|&log2| {
        let min = cube.min.coarser(log2);
        Region::one(min).finer(log2) == cube
    })
}

/// The places (x, y, z) of the set bits.
pub(super) fn bits(mask: BlockMask) -> impl Iterator<Item = [u8; 3]> {
    mask.into_iter().enumerate().flat_map(|(y, word)| {
        let mut left = word;
        std::iter::from_fn(move || {
            let bit = (left != 0).then(|| left.trailing_zeros() as u8)?;
            left &= left - 1;
            Some([bit & 7, y as u8, bit >> 3])
        })
    })
}

/// The full nodes of 8³ bits whose parents are not full, largest first: where, and edge.
fn leaves(mask: &BlockMask) -> impl Iterator<Item = ([u8; 3], i32)> + use<> {
    let twos = half(mask);
    let fours = half(&twos);
    let eights = half(&fours);
    [eights, fours, twos, *mask]
        .into_iter()
        .zip([[0; 8], eights, fours, twos])
        .zip([8, 4, 2, 1])
        .flat_map(|((nodes, parents), edge)| {
            let is_leaf = move |at: &[u8; 3]| {
                let [x, y, z] = at.map(|v| v >> 1);
                parents[usize::from(y)] >> (x + 8 * z) & 1 == 0
            };
            bits(nodes).filter(is_leaf).map(move |at| (at.map(|v| v * edge as u8), edge))
        })
}

/// A bit for every 2×2×2 bits: whether all are set. Sits in the lowest quarter.
fn half(mask: &BlockMask) -> BlockMask {
    let mut out = [0; 8];
    for y in 0..4 {
        let pair = mask[2 * y] & mask[2 * y + 1];
        let square = pair & pair >> 1 & pair >> 8 & pair >> 9;
        let mut squeezed = 0;
        for_bits(square & 0x0055_0055_0055_0055, |bit| {
            squeezed |= 1 << ((bit & 7) / 2 + 8 * (bit >> 4));
        });
        out[y] = squeezed;
    }
    out
}
