//! How much of a body is under water, and where: the input of buoyancy and drag.
//!
//! The water of a column of cells is a pile of intervals: a liquid cell is wet up to its fill,
//! a solid cell up to the water that it holds, and both are full if there is water above them.
//! Solid cells at a shore hold what the liquid surface shows over them ([`Shores`]).
//! A body is cut into vertical lines (`lines`); each is an interval of the body and the water
//! intervals in it (`columns`), and these are summed up. A body whose blocks are all tagged as
//! liquid is under water as a whole, and one that touches no block with water is dry: no cell is
//! read for either.
//!
//! Source of the tags: "Voxel Terrain: Physics" (Roblox, 2017).

mod columns;
mod lines;
mod submersion;
#[cfg(test)]
mod tests;

pub use submersion::Submersion;

use super::body::{Body, PartPose, pose};
use crate::collide::{
    BLOCK_LOG2, Broadphase, Collider, CollisionWorld, MissingData, QueryOutcome, Surfaces,
};
use crate::math::Aabb;
use crate::mesh::Shores;
use crate::voxel::{ChunkPos, DenseBox, LIMIT};
use columns::{WaterCells, WaterColumns};
use glam::{DVec3, Quat, Vec3};
use lines::BodyLines;

/// Maximum number of cells in the bounds of a part.
const MAX_CELLS: u64 = 1 << 24;

/// Finds how much of a body is under water. Scratch memory: keep one per thread and reuse it.
#[derive(Debug, Default)]
pub struct WaterScratch {
    /// Rotated points of a hull.
    points: Vec<[f32; 3]>,
    part: PartScratch,
}

/// Memory for one part.
#[derive(Debug, Default)]
struct PartScratch {
    cells: DenseBox,
    shores: Shores,
    lines: BodyLines,
    columns: WaterColumns,
}

impl WaterScratch {
    /// Returns how much of a body is under water. Invalid bodies are dry, as is a part whose bounds
    /// cover more than 2²⁴ cells. A part that touches chunks which are not held counts as dry as a
    /// whole, and one of the chunks is returned as missing. Volumes are in cubic voxels; for spheres,
    /// capsules and boxes in a level lake they are right to about 1 %.
    ///
    /// ```
    /// # use terravox::{collide::Collider, geometry::Shape};
    /// # use terravox::voxel::{DenseBox, Region, VoxelGrid, WATER};
    /// use terravox::contacts::{Body, BodyPart, WaterScratch};
    ///
    /// # let (mut grid, mut collider) = (VoxelGrid::default(), Collider::default());
    /// # let mut lake = DenseBox::new(Region::new([-8, -8, -8], [8, 0, 8]));
    /// # lake.fill(WATER);
    /// # grid.write(&lake)?;
    /// collider.update(&grid); // a lake with its surface at y = 0
    /// let parts = [BodyPart::new(Shape::Sphere { radius: 1.0 })];
    /// let rotation = [0.0, 0.0, 0.0, 1.0];
    /// let body = Body { parts: &parts, position: [0.5, 0.0, 0.5], rotation };
    /// let wet = WaterScratch::default().submersion(&collider, &body).found;
    /// assert!((wet.share() - 0.5).abs() < 0.05);
    /// let newtons = 1000.0 * 9.81 * wet.volume; // buoyancy at wet.centre, for voxels of 1 m
    /// assert!(newtons > 18_000.0);
    /// # Ok::<(), terravox::voxel::NotHeld>(())
    /// ```
    pub fn submersion(&mut self, collider: &Collider, body: &Body<'_>) -> QueryOutcome<Submersion> {
        let world = collider.world();
        let turn = Quat::from_array(body.rotation);
        let position = DVec3::from(body.position);
        let mut outcome = QueryOutcome::default();
        let is_far = position.abs().max_element() > f64::from(LIMIT);
        if (turn.length_squared() - 1.0).abs() > 1e-3 || !position.is_finite() || is_far {
            world.count_refused();
            return outcome;
        }
        let WaterScratch { points, part: scratch } = self;
        for part in body.parts {
            let Some(pose) = pose(part, turn.normalize(), points) else {
                world.count_refused();
                continue;
            };
            let missing = scratch.add_part(world, &pose, position, &mut outcome.found);
            outcome.missing = outcome.missing.or(missing);
        }
        outcome
    }
}

impl PartScratch {
    /// Adds one part of a body at `position` to `sum`; returns missing data.
    fn add_part(
        &mut self,
        world: &CollisionWorld,
        pose: &PartPose<'_>,
        position: DVec3,
        sum: &mut Submersion,
    ) -> Option<MissingData> {
        let PartScratch { cells, shores, lines, columns } = self;
        let origin = position + pose.at.as_dvec3();
        let (min, max) = pose.core.bounds();
        let wide = |v: [f32; 3]| (origin + Vec3::from(v).as_dvec3()).to_array();
        let aabb = Aabb { min: wide(min), max: wide(max) };
        // One more above: water there makes the cells below full.
        let mut region = aabb.voxels();
        region.max.y = region.max.y.saturating_add(1);
        if region.volume() > MAX_CELLS {
            world.count_refused();
            return None;
        }
        let wetness = wetness(&world.broadphase, &aabb);
        if let (Wetness::Dry, Some(volume)) = (wetness, pose.core.volume()) {
            sum.body_volume += volume;
            return None;
        }
        lines.cut(&pose.core);
        let mut part = match wetness {
            Wetness::Dry => Submersion { body_volume: lines.volume(), ..Submersion::default() },
            Wetness::Under => lines.sum(|_, _, visit| visit(f32::NEG_INFINITY, f32::INFINITY)),
            Wetness::Unknown(chunk) => {
                sum.body_volume += lines.volume();
                return Some(MissingData::NotHeld(chunk));
            }
            Wetness::Partly => {
                if let Err(missing) = shores.read(&world.snapshot, region, 0, cells) {
                    sum.body_volume += lines.volume();
                    return Some(MissingData::NotHeld(missing.chunk));
                }
                columns.fill(&WaterCells { cells, materials: world.snapshot.materials() });
                lines.sum(|x, z, visit| {
                    let [x, z] = [origin.x + f64::from(x), origin.z + f64::from(z)];
                    for &[low, high] in columns.at(x, z) {
                        visit((low - origin.y) as f32, (high - origin.y) as f32);
                    }
                })
            }
        };
        part.centre = (pose.at + Vec3::from(part.centre)).to_array();
        sum.add(part);
        None
    }
}

/// How wet a box is, by the masks and tags alone.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Wetness {
    Dry,
    Partly,
    Under,
    Unknown(ChunkPos),
}

/// Tells how wet a box is.
fn wetness(masks: &Broadphase, aabb: &Aabb) -> Wetness {
    let region = aabb.voxels();
    if masks.has_unknown() {
        // A body is in few chunks: looking through pages takes longer.
        let mut chunks = region.blocks::<5>();
        if let Some(chunk) = chunks.find(|&chunk| masks.is_unknown(chunk)) {
            return Wetness::Unknown(chunk);
        }
    }
    let mut meets = false;
    masks.blocks_in(aabb, Surfaces::Liquid, |_, _| meets = true);
    if !meets {
        return Wetness::Dry;
    }
    // One more above: the highest cells of a block of liquid may be filled in part.
    let mut with_above = region;
    with_above.max.y = with_above.max.y.saturating_add(1);
    let mut blocks = with_above.blocks::<BLOCK_LOG2>();
    match blocks.all(|block| masks.block(block).all_liquid) {
        true => Wetness::Under,
        false => Wetness::Partly,
    }
}
