//! How much of a body is under water, and where: what buoyancy and drag follow from.
//!
//! The water of a column of cells is a pile of intervals: a liquid cell is wet up to its
//! fill, a solid cell up to the water that it holds, and both are whole if there is water
//! above them.
//! Solid cells at a shore hold what the liquid surface shows over them ([`Shores`]).
//! A body is cut into upright lines, each of which is a stretch of the body and the water
//! in it; these are added up. A body whose blocks are all tagged as liquid is under as a
//! whole, and one that the masks keep apart from water is dry: no cell is read for either.
//!
//! Source of the tags: "Voxel Terrain: Physics" (Roblox, 2017).

mod lines;
#[cfg(test)]
mod tests;

use super::body::{Body, PartPose, pose};
use crate::collide::{Answer, BLOCK_LOG2, Broadphase, Collider, Missing, Surfaces};
use crate::math::Aabb;
use crate::mesh::Shores;
use crate::voxel::{DenseBox, Kind, LIMIT, MaterialTable, Region, VoxelPos};
use glam::{DVec3, Quat, Vec3};
use lines::Lines;

/// Largest region of cells that a query reads.
const MOST_CELLS: u64 = 1 << 24;

/// What of a body is under water. Volumes in voxels³, areas in voxels².
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
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
    /// Points of a hull, turned.
    points: Vec<[f32; 3]>,
    room: Room,
}

/// What one part takes.
#[derive(Debug, Default)]
struct Room {
    cells: DenseBox,
    shores: Shores,
    lines: Lines,
    columns: Columns,
}

impl Collider {
    /// How much of a body is under water. An invalid body is dry, and so is what the
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
        let WaterScratch { points, room } = scratch;
        for part in body.parts {
            let Some(pose) = pose(part, turn.normalize(), points) else {
                self.counters.refused();
                continue;
            };
            let missing = self.part_submersion(&pose, position, room, &mut answer.found);
            answer.missing = answer.missing.or(missing);
        }
        answer
    }

    fn part_submersion(
        &self,
        pose: &PartPose<'_>,
        position: DVec3,
        Room { cells, shores, lines, columns }: &mut Room,
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
        let wetness = wetness(&self.broadphase, &aabb);
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
                return Some(Missing::NotHeld(chunk));
            }
            Wetness::Partly => {
                if let Err(missing) = shores.read(&self.snapshot, region, 0, cells) {
                    sum.body_volume += lines.volume();
                    return Some(Missing::NotHeld(missing.chunk));
                }
                columns.fill(&Water { cells, materials: self.snapshot.materials() });
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

#[derive(Clone, Copy, Debug, PartialEq)]
enum Wetness {
    Dry,
    Partly,
    Under,
    Unknown(crate::voxel::ChunkPos),
}

/// How wet a box is, by the masks and tags alone.
fn wetness(masks: &Broadphase, aabb: &Aabb) -> Wetness {
    let region = aabb.voxels();
    if masks.has_unknown() {
        let chunks = region.blocks::<5>();
        if let Some(chunk) = chunks.into_iter().find(|&chunk| masks.is_unknown(chunk)) {
            return Wetness::Unknown(chunk);
        }
    }
    let mut meets = false;
    masks.blocks_in(aabb, Surfaces::Liquid, |_, _| meets = true);
    if !meets {
        return Wetness::Dry;
    }
    let mut blocks = region.blocks::<BLOCK_LOG2>();
    match blocks.all(|block| masks.block(block).all_liquid) {
        true => Wetness::Under,
        false => Wetness::Partly,
    }
}

/// The cells around a body.
struct Water<'a> {
    cells: &'a DenseBox,
    materials: &'a MaterialTable,
}

/// The wet intervals of all columns of a region.
#[derive(Debug, Default)]
struct Columns {
    region: Region,
    /// Where each column's end in `wet`, x fastest.
    ends: Vec<usize>,
    /// Lowest and highest point, voxels.
    wet: Vec<[f64; 2]>,
}

impl Columns {
    fn fill(&mut self, water: &Water<'_>) {
        self.region = water.cells.region();
        let Region { min, max } = self.region;
        self.ends.clear();
        self.wet.clear();
        for z in min.z..max.z {
            for x in min.x..max.x {
                water.column(x, z, |low, high| self.wet.push([low, high]));
                self.ends.push(self.wet.len());
            }
        }
    }

    /// Those of the column at (x, z), voxels, from above.
    fn at(&self, x: f64, z: f64) -> &[[f64; 2]] {
        let Region { min, max } = self.region;
        let x = (x.floor() as i32).clamp(min.x, max.x - 1) - min.x;
        let z = (z.floor() as i32).clamp(min.z, max.z - 1) - min.z;
        let column = (x + z * (max.x - min.x)) as usize;
        let start = column.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.wet[start..self.ends[column]]
    }
}

impl Water<'_> {
    /// Calls for the wet intervals of a column of cells, from above; what touches is one.
    fn column(&self, x: i32, z: i32, mut visit: impl FnMut(f64, f64)) {
        let Region { min, max } = self.cells.region();
        let mut is_under = false;
        // The interval that may go on below.
        let mut open: Option<[f64; 2]> = None;
        for y in (min.y..max.y).rev() {
            let height = self.height(VoxelPos::new(x, y, z), is_under);
            is_under = height > 0.0;
            let [low, high] = [f64::from(y), f64::from(y) + f64::from(height)];
            match &mut open {
                Some(above) if is_under && above[0] <= high => above[0] = low,
                _ => {
                    if let Some([low, high]) = open.take() {
                        visit(low, high);
                    }
                    open = is_under.then_some([low, high]);
                }
            }
        }
        if let Some([low, high]) = open {
            visit(low, high);
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
