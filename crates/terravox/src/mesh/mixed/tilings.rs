//! Tilings of space by blocks of different mips, and cells for them, for tests.

use std::collections::BTreeSet;

use crate::mesh::mesher::Mesher;
use crate::mesh::surface::BlockMesh;
use crate::voxel::{Cell, DenseBox, MaterialTable, Region, VoxelPos};

use super::mesher::MixedRequest;
use super::neighbours::NeighbourMips;

/// Xorshift random numbers, the same on every machine.
pub(crate) struct Numbers(u64);

impl Numbers {
    pub(crate) fn new(seed: u64) -> Numbers {
        Numbers(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    /// Returns 53 random bits.
    pub(crate) fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 11
    }

    pub(super) fn below(&mut self, n: u64) -> u64 {
        self.next() % n
    }
}

/// The kind of cells of a tiling, at every mip.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum TestCells {
    /// Rolling ground.
    Terrain,
    /// Rolling ground that lies higher at coarser mips.
    Shifted,
    /// Sheets as thin as a cell.
    Sheets,
    /// Every other cell.
    Checkers,
    /// Random cells, different at each mip: percent solid, percent liquid.
    Noise(u64, u64),
    /// Voxels at the corners of blocks.
    Lone,
    /// All solid.
    Solid,
}

/// A shown block: its mip and its position in blocks of that mip.
pub(super) type TestLeaf = (u8, VoxelPos);

/// A tiling: which blocks are shown, and the cells.
pub(super) struct TestTiling {
    pub data: TestCells,
    pub seed: u64,
    /// Cells along a block's edge.
    pub edge: i32,
    pub leaves: BTreeSet<TestLeaf>,
    /// The finest and the coarsest mip.
    pub mips: [u8; 2],
    /// The shown space, in voxels.
    pub bounds: Region,
}

/// A box of blocks.
#[derive(Clone, Copy)]
pub(super) struct BlockRange {
    pub first: VoxelPos,
    /// Blocks along each axis.
    pub size: [i32; 3],
}

impl TestTiling {
    /// Makes a tiling of blocks of mip `mips[1]`, of which random ones are split `splits` times,
    /// often one that was just made.
    pub(super) fn random(
        data: TestCells,
        seed: u64,
        edge: i32,
        mips: [u8; 2],
        BlockRange { first, size }: BlockRange,
        splits: usize,
    ) -> TestTiling {
        let blocks = Region { min: first, max: first + VoxelPos::from(size) };
        let shift = edge.trailing_zeros() + u32::from(mips[1]);
        let bounds = blocks.finer(shift);
        let leaves = blocks.voxels().map(|pos| (mips[1], pos)).collect();
        let mut tiling = TestTiling { data, seed, edge, leaves, mips, bounds };
        let mut numbers = Numbers::new(seed);
        let mut last: Option<TestLeaf> = None;
        for _ in 0..splits {
            let all: Vec<_> = tiling.leaves.iter().copied().filter(|l| l.0 > mips[0]).collect();
            if all.is_empty() {
                break;
            }
            let within = |leaf: &&TestLeaf| match last {
                Some((mip, pos)) => leaf.0 < mip && leaf.1.coarser((mip - leaf.0).into()) == pos,
                None => false,
            };
            let fresh: Vec<_> = all.iter().filter(within).copied().collect();
            let from = if numbers.below(2) == 0 || fresh.is_empty() { &all } else { &fresh };
            let leaf = from[numbers.below(from.len() as u64) as usize];
            tiling.split(leaf);
            last = Some(leaf);
        }
        tiling
    }

    /// Replaces a block by its children.
    pub(super) fn split(&mut self, (mip, pos): TestLeaf) {
        assert!(self.leaves.remove(&(mip, pos)));
        let children = Region::one(pos).finer(1);
        self.leaves.extend(children.voxels().map(|child| (mip - 1, child)));
    }

    /// Returns the mip that is shown at a voxel.
    pub(super) fn shown(&self, voxel: VoxelPos) -> u8 {
        let shift = self.edge.trailing_zeros();
        (self.mips[0]..=self.mips[1])
            .find(|&mip| self.leaves.contains(&(mip, voxel.coarser(shift + u32::from(mip)))))
            .unwrap_or(NeighbourMips::UNKNOWN)
    }

    /// Returns the mips around a block.
    pub(super) fn around(&self, (mip, pos): TestLeaf) -> NeighbourMips {
        let min = Region::one(pos).finer(self.edge.trailing_zeros() + u32::from(mip)).min;
        let edge = (self.edge << mip) / 8;
        NeighbourMips::from_fn(mip, |at| self.shown(min + VoxelPos::from(at.map(|a| a * edge))))
    }

    /// Returns a cell of a mip, and the water that it holds if it is solid. Near the rim of the
    /// tiling all cells are air.
    pub(super) fn cell(&self, mip: u8, pos: VoxelPos) -> (Cell, Option<u8>) {
        let covers = Region::one(pos).finer(mip.into());
        let margin = 1 << self.mips[1];
        if !self.bounds.grow(-margin).contains_region(covers) {
            return (Cell::AIR, None);
        }
        let mut numbers = Numbers::new(
            self.seed
                ^ hash(pos)
                ^ if self.data == TestCells::Lone { 0 } else { u64::from(mip) << 57 },
        );
        let cell = self.solid(mip, pos, &mut numbers);
        match self.data {
            TestCells::Noise(_, liquid) if liquid > 0 => {
                let water = numbers.below(256) as u8;
                if cell.is_air() {
                    let wet = numbers.below(100) < liquid;
                    (if wet { Cell::new(1, water) } else { cell }, None)
                } else {
                    (cell, (numbers.below(6) == 0).then_some(water))
                }
            }
            _ => (cell, None),
        }
    }

    fn solid(&self, mip: u8, pos: VoxelPos, numbers: &mut Numbers) -> Cell {
        let size = f64::from(1 << mip);
        let min = self.bounds.min;
        let cell = [pos.x, pos.y, pos.z].map(|p| f64::from(p) + 0.5);
        let start = [min.x, min.y, min.z].map(f64::from);
        let [x, y, z] = [0, 1, 2].map(|a| cell[a] * size - start[a]);
        let middle = f64::from(self.bounds.size()[1] as i32) * 0.5;
        let wave = |f: f64| (x * f + self.seed as f64).sin() + (z * f * 1.3).cos();
        let height = middle + 5.0 * wave(0.09) + 1.5 * wave(0.37);
        let material = 2 + numbers.below(4) as u8;
        let occupancy = numbers.below(256) as u8;
        let full = |is: bool| if is { Cell::new(material, occupancy) } else { Cell::AIR };
        match self.data {
            TestCells::Terrain => filled(material, (height - y) / size),
            TestCells::Shifted => filled(material, (height + 3.0 * f64::from(mip) - y) / size),
            TestCells::Sheets => {
                let near = |d: f64| d.abs() <= 0.5 * size;
                full(near(height - y) || near(x - z + 3.0 * wave(0.2)))
            }
            TestCells::Checkers => full((pos.x + pos.y + pos.z + self.seed as i32) & 1 == 0),
            TestCells::Noise(solid, _) => full(numbers.below(100) < solid),
            TestCells::Lone => {
                let step = self.edge << self.mips[0];
                let voxels = Region::one(pos).finer(mip.into());
                let near = |a: i32, b: i32| {
                    (a + 1).div_euclid(step) < (b + 1 + step - 1).div_euclid(step)
                        && (a..b).any(|p| (p + 1).rem_euclid(step) < 2)
                };
                let (a, b) = (voxels.min, voxels.max);
                full(near(a.x, b.x) && near(a.y, b.y) && near(a.z, b.z) && occupancy & 1 == 0)
            }
            TestCells::Solid => Cell::full(material),
        }
    }

    /// Fills a box.
    pub(super) fn read(&self, mip: u8, region: Region, out: &mut DenseBox) {
        out.reset(region);
        for pos in region.voxels() {
            let (cell, water) = self.cell(mip, pos);
            if !cell.is_air() {
                out.set(pos, cell);
                if water.is_some() {
                    out.set_water(pos, water);
                }
            }
        }
    }

    /// Returns the region of a block, in cells of its mip.
    pub(super) fn cells_of(&self, leaf: TestLeaf) -> Region {
        Region::one(leaf.1).finer(self.edge.trailing_zeros())
    }

    /// Meshes a block.
    pub(super) fn mesh(
        &self,
        mesher: &mut Mesher,
        leaf: TestLeaf,
        table: &MaterialTable,
        morph_to: Option<u8>,
        out: &mut BlockMesh,
    ) {
        let around = self.around(leaf);
        let own = self.cells_of(leaf);
        let request = MixedRequest { own, around: &around, table, is_keyed: true, morph_to };
        let mut cells = |mip: u8, region: Region, out: &mut DenseBox| self.read(mip, region, out);
        mesher.mesh_among(&request, &mut cells, out);
    }
}

fn hash(pos: VoxelPos) -> u64 {
    let mut h = 0u64;
    for c in pos.to_array() {
        h = (h ^ c as u32 as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        h ^= h >> 29;
    }
    h
}

/// Returns the cell whose centre is `distance` cells inside the surface.
fn filled(material: u8, distance: f64) -> Cell {
    let units = ((0.5 + distance).clamp(0.0, 1.0) * 256.0).round() as i32;
    if units < 1 { Cell::AIR } else { Cell::new(material, (units - 1) as u8) }
}
