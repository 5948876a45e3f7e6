//! How much of the sky a point of the ground sees: cones through the coarser mips.
//!
//! Source: Crassin et al., "Interactive Indirect Illumination Using Voxel Cone Tracing"
//! (2011). A mip cell holds the mean fill of what it covers, so a cone takes one sample
//! where its width is the cell's edge, and the result has no noise.

use crate::scene::{Scene, floor};
use glam::{DVec3, IVec3, Vec3};
use rustc_hash::FxHashMap;
use terravox::voxel::{DenseBox, Kind, MAX_MIP, Region, Snapshot, VoxelPos};

/// Cells along the edge of a brick; it stores one more on the far sides, so that a
/// sample between eight cells needs one brick.
const EDGE: i32 = 8;

/// Mips coarser than that of the surface that cones look through.
const COARSER: u8 = 5;

/// Most bricks that a thread keeps; 729 bytes each.
const MOST_BRICKS: usize = 1 << 16;

/// Steepness of the outer cones against the normal: sine and cosine.
const TILT: (f32, f32) = (0.829, 0.559);

/// What an even plane blocks of an outer cone by itself, so that open ground counts as
/// open.
const PLANE_BLOCKS: f32 = 0.23;

/// Mean solid fill of 9³ cells, 255 being full.
type Brick = Box<[u8; 729]>;

/// Bricks of solid fill, read from the world when first needed. One a thread.
pub struct Bricks {
    /// Where bricks are in `bricks`, by mip and position.
    places: FxHashMap<(u8, IVec3), u32>,
    bricks: Vec<Brick>,
    /// Position and place of the last brick of each mip: cones stay near each other.
    last: [(IVec3, u32); MAX_MIP as usize + 1],
    cells: DenseBox,
}

/// No brick lies there.
const NOWHERE: (IVec3, u32) = (IVec3::MIN, 0);

impl Default for Bricks {
    fn default() -> Bricks {
        Bricks {
            places: FxHashMap::default(),
            bricks: Vec::new(),
            last: [NOWHERE; MAX_MIP as usize + 1],
            cells: DenseBox::default(),
        }
    }
}

impl Bricks {
    /// Solid fill about a point in cells of mip `mip`, 0 to 1, between the cells' centres.
    fn fill(&mut self, snapshot: &Snapshot, mip: u8, point: DVec3) -> f32 {
        let point = point - 0.5;
        let cell = floor(point);
        let part = (point - cell.as_dvec3()).as_vec3();
        let at = cell >> 3;
        if self.last[usize::from(mip)].0 != at {
            self.last[usize::from(mip)] = (at, self.find(snapshot, mip, at));
        }
        let brick = &self.bricks[self.last[usize::from(mip)].1 as usize];
        let local = (cell - at * EDGE).as_uvec3();
        let base = (local.x + 9 * (local.z + 9 * local.y)) as usize;
        let value = |offset: usize| f32::from(brick[base + offset]);
        let along_x = |offset: usize| {
            let a = value(offset);
            a + (value(offset + 1) - a) * part.x
        };
        let along_z = |offset: usize| {
            let a = along_x(offset);
            a + (along_x(offset + 9) - a) * part.z
        };
        let low = along_z(0);
        (low + (along_z(81) - low) * part.y) / 255.0
    }

    /// The place of a brick, read if it was not.
    fn find(&mut self, snapshot: &Snapshot, mip: u8, at: IVec3) -> u32 {
        if self.bricks.len() >= MOST_BRICKS {
            *self = Bricks::default();
        }
        let Bricks { places, bricks, cells, .. } = self;
        *places.entry((mip, at)).or_insert_with(|| {
            bricks.push(read(snapshot, mip, at, cells));
            bricks.len() as u32 - 1
        })
    }
}

/// Reads the brick at `at`, in bricks of mip `mip`, as well as it is known; what is not
/// counts as air.
fn read(snapshot: &Snapshot, mip: u8, at: IVec3, cells: &mut DenseBox) -> Brick {
    let min = VoxelPos::from((at * EDGE).to_array());
    let region = Region { min, max: min + VoxelPos::splat(EDGE + 1) };
    let mut brick = Box::new([0; 729]);
    snapshot.read_known(region, mip, cells);
    let kinds = snapshot.materials().kinds();
    let values = cells.materials().iter().zip(cells.occupancies());
    for (to, (&material, &occupancy)) in brick.iter_mut().zip(values) {
        let solid = kinds[usize::from(material)] == Kind::Solid;
        *to = if solid { occupancy } else { 0 };
    }
    brick
}

impl Scene {
    /// The share of the sky, 0 to 1, that a point with this normal sees past the ground
    /// within some 40 cells of the mip that is shown there.
    pub(crate) fn sky_seen(&self, point: DVec3, normal: Vec3, bricks: &mut Bricks) -> f32 {
        let level = self.level(point).min(f64::from(MAX_MIP - 1));
        let (mip, part) = (level as u8, level.fract() as f32);
        let fine = self.sky_past(mip, point, normal, bricks);
        if part == 0.0 {
            return fine;
        }
        fine + (self.sky_past(mip + 1, point, normal, bricks) - fine) * part
    }

    /// The same for a surface of mip `mip`.
    fn sky_past(&self, mip: u8, point: DVec3, normal: Vec3, bricks: &mut Bricks) -> f32 {
        let (tangent, bitangent) = normal.any_orthonormal_pair();
        let origin = point + normal.as_dvec3() * (0.6 * f64::from(1_u32 << mip));
        let mut seen = 0.0;
        let mut weights = 0.0;
        for cone in 0..6 {
            let (direction, weight) = match cone {
                0 => (normal, 0.25),
                _ => {
                    let (sin, cos) = (cone as f32 * std::f32::consts::TAU / 5.0).sin_cos();
                    (normal * TILT.1 + (tangent * cos + bitangent * sin) * TILT.0, 0.15)
                }
            };
            // The sky is above: what a cone that points down sees is ground far off.
            let up = (0.5 + 0.75 * direction.y).clamp(0.25, 1.0);
            let open = self.cone(mip, origin, direction, bricks);
            let plane = if cone == 0 { 0.0 } else { PLANE_BLOCKS };
            seen += weight * up * (open / (1.0 - plane)).min(1.0);
            weights += weight * up;
        }
        seen / weights
    }

    /// The share of a cone of 60° that is open.
    fn cone(&self, mip: u8, origin: DVec3, direction: Vec3, bricks: &mut Bricks) -> f32 {
        let mut open = 1.0;
        for coarser in mip + 1..=(mip + COARSER).min(MAX_MIP) {
            if open < 0.02 {
                break;
            }
            let width = f64::from(1_u32 << coarser);
            let at = origin + direction.as_dvec3() * (width * 0.87);
            open *= 1.0 - bricks.fill(&self.snapshot, coarser, at / width);
        }
        open
    }
}
