//! Sky visibility (ambient occlusion) by cone tracing through the coarser mips.
//!
//! Source: Crassin et al., "Interactive Indirect Illumination Using Voxel Cone Tracing"
//! (2011). A mip cell holds the mean fill of what it covers, so a cone takes one sample
//! where its width is the cell's edge, and the result has no noise.

use crate::lattice::{cell_of, is_within_limits};
use glam::{DVec3, IVec3, Vec3};
use rustc_hash::FxHashMap;
use terravox::voxel::{DenseBox, Kind, MAX_MIP, Region, Snapshot, VoxelPos};

/// Cells along the edge of a block. It stores one more at the max sides, so that a sample
/// between eight cells needs only one block.
const BLOCK_EDGE: i32 = 8;

/// Samples along its edge.
const SAMPLES: usize = BLOCK_EDGE as usize + 1;

const BLOCK_SAMPLES: usize = SAMPLES * SAMPLES * SAMPLES;

/// Samples of a cone, each one mip coarser than the last.
const CONE_MIPS: u8 = 5;

/// Limit of the blocks that a thread caches; 729 bytes each.
const MAX_BLOCKS: usize = 1 << 16;

/// Sine of the angle between the outer cones and the normal.
const TILT_SINE: f32 = 0.829;
/// Cosine of that angle.
const TILT_COSINE: f32 = 0.559;

/// Share of an outer cone that a plane blocks; divided out, so that flat ground counts as fully
/// open.
const BLOCKED_BY_PLANE: f32 = 0.23;

/// Mean solid fill of 9³ cells, 255 being full.
type FillBlock = Box<[u8; BLOCK_SAMPLES]>;

/// Cache of blocks of solid fill, read from the world when first needed. One per thread.
pub(crate) struct FillBlocks {
    /// Indices into `blocks`, by mip and position.
    indices: FxHashMap<(u8, IVec3), u32>,
    blocks: Vec<FillBlock>,
    /// The last block of each mip: successive samples are close to each other.
    last: [LastBlock; MAX_MIP as usize + 1],
    cells: DenseBox,
}

/// A block, by its position in blocks of its mip.
#[derive(Clone, Copy)]
struct LastBlock {
    position: IVec3,
    /// Index in [`FillBlocks::blocks`].
    index: u32,
}

/// A block at a position that no cell has.
const NO_BLOCK: LastBlock = LastBlock { position: IVec3::MIN, index: 0 };

impl Default for FillBlocks {
    fn default() -> FillBlocks {
        FillBlocks {
            indices: FxHashMap::default(),
            blocks: Vec::new(),
            last: [NO_BLOCK; MAX_MIP as usize + 1],
            cells: DenseBox::default(),
        }
    }
}

impl FillBlocks {
    /// Returns the solid fill, 0 to 1, at a point in cells of mip `mip`: trilinear between the
    /// cells' centres.
    fn fill(&mut self, snapshot: &Snapshot, mip: u8, point: DVec3) -> f32 {
        let point = point - 0.5;
        let cell = cell_of(point);
        let part = (point - cell.as_dvec3()).as_vec3();
        let at = cell >> BLOCK_EDGE.ilog2();
        if self.last[usize::from(mip)].position != at {
            let index = self.index_of(snapshot, mip, at);
            self.last[usize::from(mip)] = LastBlock { position: at, index };
        }
        let block = &self.blocks[self.last[usize::from(mip)].index as usize];
        let local = (cell - at * BLOCK_EDGE).as_uvec3();
        let [x, y, z] = local.to_array().map(|v| v as usize);
        let base = x + SAMPLES * (z + SAMPLES * y);
        let value = |offset: usize| f32::from(block[base + offset]);
        let along_x = |offset: usize| {
            let a = value(offset);
            a + (value(offset + 1) - a) * part.x
        };
        let along_z = |offset: usize| {
            let a = along_x(offset);
            a + (along_x(offset + SAMPLES) - a) * part.z
        };
        let low = along_z(0);
        (low + (along_z(SAMPLES * SAMPLES) - low) * part.y) / 255.0
    }

    /// Returns the index of a block; reads it if it is not cached.
    fn index_of(&mut self, snapshot: &Snapshot, mip: u8, at: IVec3) -> u32 {
        if self.blocks.len() >= MAX_BLOCKS {
            *self = FillBlocks::default();
        }
        let FillBlocks { indices, blocks, cells, .. } = self;
        *indices.entry((mip, at)).or_insert_with(|| {
            blocks.push(read_block(snapshot, mip, at, cells));
            blocks.len() as u32 - 1
        })
    }

    /// Returns the share of the sky, 0 to 1, that a point with this normal sees past the
    /// ground within some 40 cells of mip `level`; interpolated between two whole mips. All of it
    /// beyond the limits of the grid, where there is no ground.
    pub fn sky_visibility(
        &mut self,
        snapshot: &Snapshot,
        level: f64,
        point: DVec3,
        normal: Vec3,
    ) -> f32 {
        if !is_within_limits(point) {
            return 1.0;
        }
        let level = level.min(f64::from(MAX_MIP - 1));
        let (mip, part) = (level as u8, level.fract() as f32);
        let fine = self.sky_at_mip(snapshot, mip, point, normal);
        if part == 0.0 {
            return fine;
        }
        fine + (self.sky_at_mip(snapshot, mip + 1, point, normal) - fine) * part
    }

    /// [`FillBlocks::sky_visibility`] for a surface of one mip.
    fn sky_at_mip(&mut self, snapshot: &Snapshot, mip: u8, point: DVec3, normal: Vec3) -> f32 {
        let (tangent, bitangent) = normal.any_orthonormal_pair();
        let origin = point + normal.as_dvec3() * (0.6 * f64::from(1_u32 << mip));
        let mut visible = 0.0;
        let mut weights = 0.0;
        for cone in 0..6 {
            let (direction, weight) = match cone {
                0 => (normal, 0.25),
                _ => {
                    let (sin, cos) = (cone as f32 * std::f32::consts::TAU / 5.0).sin_cos();
                    let across = tangent * cos + bitangent * sin;
                    (normal * TILT_COSINE + across * TILT_SINE, 0.15)
                }
            };
            // The sky is above: cones that point down see distant ground.
            let up = (0.5 + 0.75 * direction.y).clamp(0.25, 1.0);
            let open = self.cone_openness(snapshot, mip, origin, direction);
            let plane = if cone == 0 { 0.0 } else { BLOCKED_BY_PLANE };
            visible += weight * up * (open / (1.0 - plane)).min(1.0);
            weights += weight * up;
        }
        visible / weights
    }

    /// Returns the share of a cone of 60° that is not blocked.
    fn cone_openness(
        &mut self,
        snapshot: &Snapshot,
        mip: u8,
        origin: DVec3,
        direction: Vec3,
    ) -> f32 {
        let mut open = 1.0;
        for coarser in mip + 1..=(mip + CONE_MIPS).min(MAX_MIP) {
            if open < 0.02 {
                break;
            }
            let width = f64::from(1_u32 << coarser);
            let at = origin + direction.as_dvec3() * (width * 0.87);
            open *= 1.0 - self.fill(snapshot, coarser, at / width);
        }
        open
    }
}

/// Reads the block at `at`, in blocks of mip `mip`. Unknown cells count as air.
fn read_block(snapshot: &Snapshot, mip: u8, at: IVec3, cells: &mut DenseBox) -> FillBlock {
    let min = VoxelPos::from((at * BLOCK_EDGE).to_array());
    let region = Region { min, max: min + VoxelPos::splat(BLOCK_EDGE + 1) };
    let mut block = Box::new([0; BLOCK_SAMPLES]);
    snapshot.read_known(region, mip, cells);
    let kinds = snapshot.materials().kinds();
    let values = cells.materials().iter().zip(cells.occupancies());
    for (to, (&material, &occupancy)) in block.iter_mut().zip(values) {
        let solid = kinds[usize::from(material)] == Kind::Solid;
        *to = if solid { occupancy } else { 0 };
    }
    block
}
