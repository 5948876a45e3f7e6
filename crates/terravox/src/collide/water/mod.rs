//! How much of a body is under water, and where: what buoyancy and drag follow from.
//!
//! The water of a column of cells is a pile of intervals: a liquid cell is wet up to its
//! fill, a solid cell up to the water that it holds, and both are whole if there is water
//! above them.
//! A body is cut into upright lines, each of which is a stretch of the body and the water
//! in it; these are added up. A body whose blocks are all tagged as liquid is under as a
//! whole, and one that the masks keep apart from water is dry: no cell is read for either.
//!
//! Source of the tags: "Voxel Terrain: Physics" (Roblox, 2017).

mod lines;
#[cfg(test)]
mod tests;

use super::broadphase::Broadphase;
use super::collider::Collider;
use super::contacts::{Body, PartPose, pose};
use super::query::{Answer, Missing};
use super::{BLOCK_LOG2, Surfaces};
use crate::math::Aabb;
use crate::voxel::{DenseBox, Kind, LIMIT, MaterialTable, Region, VoxelPos};
use glam::{DVec3, Quat, Vec3};
use lines::Lines;

/// Largest region of cells that a query reads.
const MOST_CELLS: u64 = 1 << 24;

/// What of a body is under water. Volumes in voxels³, areas in voxels².
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Submersion {
    /// Of the whole body; parts that overlap count twice.
    pub body_volume: f32,
    /// Of what is under water.
    pub volume: f32,
    /// Middle of what is under water, from the body's position: where buoyancy acts.
    pub centre: [f32; 3],
    /// What is under water as seen along x, y and z: what drag acts on, by the velocity's
    /// parts. Of parts it is the sum.
    pub area: [f32; 3],
}

impl Submersion {
    /// Share of the body's volume that is under water, 0 to 1.
    pub fn share(&self) -> f32 {
        if self.body_volume > 0.0 { (self.volume / self.body_volume).min(1.0) } else { 0.0 }
    }

    /// Adds a part.
    fn add(&mut self, part: Submersion) {
        self.body_volume += part.body_volume;
        let volume = self.volume + part.volume;
        if part.volume > 0.0 {
            let share = part.volume / volume;
            self.centre = Vec3::from(self.centre).lerp(part.centre.into(), share).to_array();
        }
        self.volume = volume;
        self.area = [0, 1, 2].map(|i| self.area[i] + part.area[i]);
    }
}

/// Memory of [`Collider::submersion`]. Keep one per thread and reuse it.
#[derive(Debug, Default)]
pub struct WaterScratch {
    cells: DenseBox,
    /// Points of a hull, turned.
    points: Vec<[f32; 3]>,
    lines: Lines,
}

impl Collider {
    /// How much of a body is under water. A body that is none is dry, and so is what the
    /// answer could not look at. The volume of spheres, capsules and boxes is right to a
    /// hundredth or so in a level lake.
    pub fn submersion(&self, body: &Body<'_>, scratch: &mut WaterScratch) -> Answer<Submersion> {
        let turn = Quat::from_array(body.rotation);
        let position = DVec3::from(body.position);
        let mut answer = Answer::default();
        let is_far = position.abs().max_element() > f64::from(LIMIT);
        if (turn.length_squared() - 1.0).abs() > 1e-3 || !position.is_finite() || is_far {
            self.counters.refused();
            return answer;
        }
        let WaterScratch { cells, points, lines } = scratch;
        for part in body.parts {
            let Some(pose) = pose(part, turn.normalize(), points) else {
                self.counters.refused();
                continue;
            };
            let missing = self.part_submersion(&pose, position, cells, lines, &mut answer.found);
            answer.missing = answer.missing.or(missing);
        }
        answer
    }

    fn part_submersion(
        &self,
        pose: &PartPose<'_>,
        position: DVec3,
        cells: &mut DenseBox,
        lines: &mut Lines,
        sum: &mut Submersion,
    ) -> Option<Missing> {
        let origin = position + pose.at.as_dvec3();
        let (min, max) = pose.core.bounds();
        let world = |v: [f32; 3]| (origin + Vec3::from(v).as_dvec3()).to_array();
        let aabb = Aabb { min: world(min), max: world(max) };
        // One more above: water there makes what is below whole.
        let mut region = aabb.voxels();
        region.max.y += 1;
        if region.volume() > MOST_CELLS {
            self.counters.refused();
            return None;
        }
        lines.cut(&pose.core);
        let mut part = match self.broadphase.wetness(&aabb) {
            Wetness::Dry => Submersion { body_volume: lines.volume(), ..Submersion::default() },
            Wetness::Under => lines.sum(|_, _, visit| visit(f32::NEG_INFINITY, f32::INFINITY)),
            Wetness::Unknown(chunk) => {
                sum.body_volume += lines.volume();
                return Some(Missing::NotHeld(chunk));
            }
            Wetness::Partly => {
                if let Err(missing) = self.snapshot.read(region, 0, cells) {
                    sum.body_volume += lines.volume();
                    return Some(Missing::NotHeld(missing.chunk));
                }
                let water = Water { cells, materials: self.snapshot.materials() };
                lines.sum(|x, z, visit| {
                    water.column(origin.x + f64::from(x), origin.z + f64::from(z), |low, high| {
                        visit((low - origin.y) as f32, (high - origin.y) as f32);
                    });
                })
            }
        };
        part.centre = (pose.at + Vec3::from(part.centre)).to_array();
        sum.add(part);
        None
    }
}

/// What the masks and tags tell of a box.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Wetness {
    Dry,
    Partly,
    Under,
    Unknown(crate::voxel::ChunkPos),
}

impl Broadphase {
    fn wetness(&self, aabb: &Aabb) -> Wetness {
        let region = aabb.voxels();
        if self.has_unknown() {
            let chunks = region.blocks::<5>();
            if let Some(chunk) = chunks.into_iter().find(|&chunk| self.is_unknown(chunk)) {
                return Wetness::Unknown(chunk);
            }
        }
        let mut meets = false;
        self.blocks_in(aabb, Surfaces::Liquid, |_, _| meets = true);
        if !meets {
            return Wetness::Dry;
        }
        let mut blocks = region.blocks::<BLOCK_LOG2>();
        match blocks.all(|block| self.block(block).all_liquid) {
            true => Wetness::Under,
            false => Wetness::Partly,
        }
    }
}

/// The cells around a body.
struct Water<'a> {
    cells: &'a DenseBox,
    materials: &'a MaterialTable,
}

impl Water<'_> {
    /// Calls for the wet intervals of the column at (x, z), voxels, from above.
    fn column(&self, x: f64, z: f64, mut visit: impl FnMut(f64, f64)) {
        let Region { min, max } = self.cells.region();
        let (x, z) = (x.floor() as i32, z.floor() as i32);
        let (x, z) = (x.clamp(min.x, max.x - 1), z.clamp(min.z, max.z - 1));
        let mut is_under = false;
        for y in (min.y..max.y).rev() {
            let height = self.height(VoxelPos::new(x, y, z), is_under);
            is_under = height > 0.0;
            if is_under {
                visit(y.into(), f64::from(y) + f64::from(height));
            }
        }
    }

    /// How high water stands in a cell, 0 to 1. With water above it, it is full of it; what
    /// a body fills of a solid cell there is not ground but the water beside that.
    fn height(&self, at: VoxelPos, is_under: bool) -> f32 {
        let cell = self.cells.cell(at);
        match self.materials.kind(cell.material) {
            Kind::Air => 0.0,
            _ if is_under => 1.0,
            Kind::Liquid => cell.fraction(),
            Kind::Solid => self.cells.water_at(at).map_or(0.0, |w| (f32::from(w) + 1.0) / 256.0),
        }
    }
}
