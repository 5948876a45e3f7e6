//! A density: a function of space in WGSL, and the same in Rust for when there is no device.
//!
//! WGSL does not fix the last bits of f32: `sqrt`, `sin` and `/` may be a few units in the last place
//! off, and `a * b + c` may be fused. So what comes back from a device are cells, integers, and they
//! are the truth from then on. A density that computes with integers, such as by
//! [`FIXED_NOISE_WGSL`](crate::noise::FIXED_NOISE_WGSL), gives the same cells everywhere.

use std::sync::Arc;

use terravox::generate::occupancy_units;
use terravox::terrain::FillRequest;
use terravox::voxel::{Cell, DenseBox, MipBlock, VoxelPos};

/// What a density in WGSL is asked for and returns: `DensityPoint`, `DensitySample`.
pub const DENSITY_WGSL: &str = include_str!("shaders/density.wgsl");

/// A point that a density is asked for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DensityPoint {
    /// Twice its position, in voxels: exact, also at the centres of cells.
    pub doubled: [i32; 3],
    /// Its position in voxels: exact within 2²³ voxels of the origin.
    pub position: [f32; 3],
    /// Mip of the cells; their edge is 2^mip voxels.
    pub mip: u8,
}

/// The value of a density at a point.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DensitySample {
    /// Voxels from the surface, positive inside. NaN is outside.
    pub distance: f32,
    /// The material there, if it is inside; 0 makes air.
    pub material: u8,
}

/// A density as a closure.
pub type DensityFn = dyn Fn(DensityPoint) -> DensitySample + Send + Sync;

/// A density in WGSL, and the same function in Rust for where there is no device.
#[derive(Clone)]
pub struct Density {
    wgsl: Arc<str>,
    cpu: Arc<DensityFn>,
}

impl std::fmt::Debug for Density {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Density").field("wgsl", &self.wgsl).finish_non_exhaustive()
    }
}

impl Density {
    /// A density. `wgsl` defines `fn density(at: DensityPoint) -> DensitySample`
    /// ([`DENSITY_WGSL`] is before it); `cpu` is the same function.
    pub fn new(
        wgsl: impl Into<Arc<str>>,
        cpu: impl Fn(DensityPoint) -> DensitySample + Send + Sync + 'static,
    ) -> Density {
        Density { wgsl: wgsl.into(), cpu: Arc::new(cpu) }
    }

    /// Returns its WGSL.
    pub fn wgsl(&self) -> &str {
        &self.wgsl
    }

    /// Returns the sample at a point of a block, as the CPU computes it.
    pub fn sample(&self, frame: BlockFrame, point: [u32; 3]) -> DensitySample {
        (self.cpu)(frame.point(point))
    }

    /// Fills a block of a world on the CPU, with the result of a [`GpuFiller`](crate::GpuFiller).
    pub fn fill(&self, request: &mut FillRequest<'_>) {
        self.fill_cells(request.block(), request.cells());
    }

    /// Fills the cells of a block on the CPU.
    pub fn fill_cells(&self, block: MipBlock, cells: &mut DenseBox) {
        let frame = BlockFrame::of_cells(block);
        cells.reset(block.cells());
        let min = block.cells().min;
        for (y, z) in (0..32).flat_map(|y| (0..32).map(move |z| (y, z))) {
            for x in 0..32 {
                let DensitySample { distance, material } = self.sample(frame, [x, y, z]);
                let units = (sample_units(distance, frame.mip) + 128).clamp(0, 256);
                if units > 0 {
                    let at = min + VoxelPos::new(x as i32, y as i32, z as i32);
                    cells.set(at, Cell::new(material, (units - 1) as u8));
                }
            }
        }
    }
}

/// Where the points of a block lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockFrame {
    /// Twice the position of the first point, in voxels.
    pub first: [i32; 3],
    /// Points are 2^mip voxels apart.
    pub mip: u8,
}

/// Coarsest mip of a block that a device fills or searches: beyond it, positions would not fit in
/// 32 bits. Blocks there have 2^25 voxels along the edge.
pub const MAX_GPU_MIP: u8 = 20;

impl BlockFrame {
    /// The centres of a block's cells.
    ///
    /// # Panics
    /// If the mip is above [`MAX_GPU_MIP`].
    pub fn of_cells(block: MipBlock) -> BlockFrame {
        BlockFrame::at(block, 1)
    }

    /// The min corners of a block's cells.
    ///
    /// # Panics
    /// If the mip is above [`MAX_GPU_MIP`].
    pub fn of_corners(block: MipBlock) -> BlockFrame {
        BlockFrame::at(block, 0)
    }

    fn at(block: MipBlock, halves: i32) -> BlockFrame {
        let mip = block.mip;
        assert!(mip <= MAX_GPU_MIP, "{block}: at most mip {MAX_GPU_MIP}");
        let min = block.cells().min.to_array();
        BlockFrame { first: min.map(|cell| (2 * cell + halves) << mip), mip }
    }

    /// Returns a point, in points from the first.
    pub fn point(&self, point: [u32; 3]) -> DensityPoint {
        let doubled = [0, 1, 2]
            .map(|axis| self.first[axis].wrapping_add((point[axis] as i32) << (self.mip + 1)));
        DensityPoint { doubled, position: doubled.map(|v| v as f32 * 0.5), mip: self.mip }
    }
}

/// Frames as the device reads them.
pub(crate) fn frame_bytes(frames: impl Iterator<Item = BlockFrame>) -> Vec<u8> {
    frames
        .flat_map(|frame| {
            let [x, y, z] = frame.first;
            [x, y, z, i32::from(frame.mip)]
        })
        .flat_map(i32::to_le_bytes)
        .collect()
}

/// Maximum of what [`sample_units`] returns: 31 cells.
pub const MAX_SAMPLE_UNITS: i32 = 31 * 256;

/// Returns a distance in voxels as 1/256 of a cell of a mip, rounded, halves up, within
/// [`MAX_SAMPLE_UNITS`]; the least for NaN. As in `sample.wgsl`.
pub fn sample_units(distance: f32, mip: u8) -> i32 {
    if distance.is_nan() {
        return -MAX_SAMPLE_UNITS;
    }
    let cells = distance * f32::from_bits((127 - u32::from(mip)) << 23);
    let units = cells.clamp(-31.0, 31.0) * 256.0;
    let whole = units.floor();
    whole as i32 + i32::from(units - whole >= 0.5)
}

/// Returns the fill in 256ths that [`terravox::generate`] gives a cell at this distance, in voxels.
/// The same as by [`sample_units`]; tests compare them.
pub fn generated_units(distance: f32, mip: u8) -> u32 {
    occupancy_units(f64::from(distance) / f64::from(1u32 << mip))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_have_the_fill_that_generators_give_them() {
        let mut distances =
            vec![f32::NAN, f32::INFINITY, f32::NEG_INFINITY, 0.0, -0.0, 1e-40, -1e-40];
        for i in 0..200_000u32 {
            let bits = i.wrapping_mul(0x9e37_79b9);
            distances.push(f32::from_bits(bits));
            distances.push((f64::from(bits as i32) / f64::from(1 << 29)) as f32);
            // Halfway between two fills, and the numbers beside it.
            let half = (f64::from(i % 600) - 299.5) as f32 / 256.0;
            distances.extend([half, half.next_up(), half.next_down()]);
        }
        for distance in distances {
            for mip in [0, 3, 11] {
                let units = (sample_units(distance, mip) + 128).clamp(0, 256) as u32;
                assert_eq!(units, generated_units(distance, mip), "{distance:e}, mip {mip}");
            }
        }
    }

    #[test]
    fn points_far_away_are_exact() {
        let frame = BlockFrame::of_cells(MipBlock::new(0, [(1 << 25) - 1, 0, -(1 << 25)]));
        assert_eq!(frame.point([31, 0, 0]).doubled, [i32::MAX, 1, i32::MIN + 1]);
        let coarse = BlockFrame::of_corners(MipBlock::new(3, [-1, 2, 0]));
        assert_eq!(coarse.point([1, 0, 32]).position, [-248.0, 512.0, 256.0]);
    }
}
