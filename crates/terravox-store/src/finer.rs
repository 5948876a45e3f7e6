//! Makes a coarse block from the finer ones without a grid, which would pack all rows and make all
//! mips of each block. Tests compare it with [`rebuild`](crate::pyramid::rebuild), which uses one.

use crate::key::BlockKey;
use crate::pyramid::source_mip;
use terravox::voxel::{AIR, DenseBox, Kind};

/// A block that is being made; the cells of finer blocks that are not added are air.
pub(crate) struct FinerBlocks<'a> {
    kinds: &'a [Kind; 256],
    /// By how many mips the blocks are finer: at most 3.
    steps: u8,
    out: &'a mut DenseBox,
    between: [DenseBox; 2],
}

impl FinerBlocks<'_> {
    /// Makes `out` the block `key` (mip 1 or more), of air.
    pub fn new<'a>(
        key: BlockKey,
        kinds: &'a [Kind; 256],
        out: &'a mut DenseBox,
    ) -> FinerBlocks<'a> {
        out.reset(key.region());
        FinerBlocks {
            kinds,
            steps: key.mip - source_mip(key.mip),
            out,
            between: Default::default(),
        }
    }

    /// Adds a finer block.
    pub fn add(&mut self, block: &DenseBox) {
        let FinerBlocks { kinds, steps, out, between: [first, second] } = self;
        let coarser = |to: &mut DenseBox, from: &DenseBox| {
            to.reset(from.region().coarser(1));
            to.coarsen_from(from, kinds);
        };
        match steps {
            1 => out.coarsen_from(block, kinds),
            2 => {
                coarser(first, block);
                out.coarsen_from(first, kinds);
            }
            _ => {
                coarser(first, block);
                coarser(second, first);
                out.coarsen_from(second, kinds);
            }
        }
    }

    /// Adds the finer block `key`, which is full cells of one material.
    pub fn add_uniform(&mut self, key: BlockKey, material: u8) {
        if material == AIR {
            return;
        }
        let region = key.region().coarser(self.steps.into());
        let width = region.size()[0];
        for y in region.min.y..region.max.y {
            for z in region.min.z..region.max.z {
                let first = self.out.index([region.min.x, y, z].into());
                let (materials, occupancies) = self.out.arrays_mut();
                materials[first..first + width].fill(material);
                occupancies[first..first + width].fill(255);
            }
        }
    }
}
