//! Where a body touches the ground: every triangle near it is asked for a direction and
//! points, and these are reduced to manifolds. See the [module](super) for the rule.

use super::body::{Body, PartPose, pose};
use super::probe::{Found, Probe, Touched};
use super::reduce::manifolds;
use crate::collide::{Block, Collider, Filter, Missing, Side, TriangleId, corner_of};
use crate::math::Aabb;
use crate::voxel::VoxelPos;
use glam::{DVec3, Quat, Vec3};

/// How contacts are looked for.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(default))]
pub struct ContactOptions {
    /// How far apart things still give contacts, voxels: what a body may move in a step,
    /// within reason.
    pub prediction: f32,
    /// What is seen.
    pub filter: Filter,
}

impl Default for ContactOptions {
    /// The ground, 0.05 voxels.
    fn default() -> ContactOptions {
        ContactOptions { prediction: 0.05, filter: Filter::SOLID }
    }
}

/// A point where a body meets the ground.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct ContactPoint {
    /// On the ground, voxels. The body's point is `distance * normal` from it.
    pub point: [f64; 3],
    /// The same about the body's position, voxels.
    pub offset: [f32; 3],
    /// Unit, from the ground to the body.
    pub normal: [f32; 3],
    /// Voxels along the normal; negative where the two overlap.
    pub distance: f32,
    /// Number of the body's part.
    pub part: u16,
    /// Material of the voxel.
    pub material: u8,
    /// The voxel whose face is touched.
    pub voxel: VoxelPos,
    /// The block that holds the voxel.
    pub block: Block,
    /// Which triangle of the block's surface. Of no meaning where a body is so deep inside
    /// that it meets no triangle.
    pub triangle: TriangleId,
}

/// Up to four points of one part whose normals are alike, the deepest first; those of most
/// area where there were more.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Manifold {
    points: [ContactPoint; 4],
    count: u8,
    /// Whether the part is so deep inside the ground that only the cells tell the way out.
    pub inside: bool,
}

impl Manifold {
    /// Its points: one to four.
    pub fn points(&self) -> &[ContactPoint] {
        &self.points[..usize::from(self.count)]
    }
}

/// What a body touches, and the memory to find it. Keep one per thread and reuse it.
#[derive(Debug, Default)]
pub struct Contacts {
    /// The manifolds, the deepest of each part first.
    pub manifolds: Vec<Manifold>,
    found: Found,
    /// The surfaces that were visited, and whether they are liquid.
    places: Vec<(Block, bool)>,
    /// Points of a hull, turned.
    points: Vec<[f32; 3]>,
}

impl Collider {
    /// Makes `out` what a body touches. Returns what could not be looked at. A body that is
    /// invalid (non-finite, or with an invalid shape) touches nothing.
    pub fn contacts(
        &self,
        body: &Body<'_>,
        options: &ContactOptions,
        out: &mut Contacts,
    ) -> Option<Missing> {
        self.contacts_of(body, options, None, out)
    }

    /// As [`Collider::contacts`], with the triangles of one block only. What lies wholly
    /// inside the ground touches none of these.
    pub fn block_contacts(
        &self,
        block: Block,
        body: &Body<'_>,
        options: &ContactOptions,
        out: &mut Contacts,
    ) -> Option<Missing> {
        self.contacts_of(body, options, Some(block), out)
    }

    fn contacts_of(
        &self,
        body: &Body<'_>,
        options: &ContactOptions,
        only: Option<Block>,
        out: &mut Contacts,
    ) -> Option<Missing> {
        out.manifolds.clear();
        let turn = Quat::from_array(body.rotation);
        let position = DVec3::from(body.position);
        let valid = (turn.length_squared() - 1.0).abs() <= 1e-3
            && position.is_finite()
            && options.prediction >= 0.0
            && options.prediction.is_finite();
        let mut points = std::mem::take(&mut out.points);
        let (mut refused, mut missing) = (!valid, None);
        for (number, part) in body.parts.iter().enumerate().filter(|_| valid) {
            let number = number as u16;
            match pose(part, turn.normalize(), &mut points) {
                Some(pose) => {
                    let seen = self.part_contacts(&pose, position, options, only, number, out);
                    missing = missing.or(seen);
                }
                None => refused = true,
            }
        }
        out.points = points;
        if refused {
            self.counters.refused();
        }
        missing
    }

    /// The manifolds of one part.
    fn part_contacts(
        &self,
        pose: &PartPose<'_>,
        position: DVec3,
        options: &ContactOptions,
        only: Option<Block>,
        number: u16,
        out: &mut Contacts,
    ) -> Option<Missing> {
        let Contacts { manifolds: out, found, places, .. } = out;
        places.clear();
        let origin = position + pose.at.as_dvec3();
        let mut probe = Probe::new(&pose.core, options.prediction, found);
        let (min, max) = pose.core.bounds();
        let wide = |v: [f32; 3]| (origin + Vec3::from(v).as_dvec3()).to_array();
        let aabb = Aabb { min: wide(min), max: wide(max) }.grow(options.prediction.into());
        let filter = &options.filter;
        let mut visit = |side: Side<'_>| {
            let shift = probe.back * (corner_of(side.block) - origin).as_vec3();
            let place = places.len() as u32;
            places.push((side.block, side.liquid));
            self.side_triangles(side, &aabb, filter, |triangle| {
                probe.touch(side, place, triangle, shift);
            });
        };
        let missing = match only {
            None => self.each_side(&aabb, filter, visit),
            Some(block) => self.sides_of(block, filter, &mut visit),
        };
        probe.take_behind();
        if only.is_none() {
            probe.take_refused();
        }
        let axes = probe.axes;
        let none = found.candidates.is_empty();
        let touched = &found.touched;
        manifolds(&mut found.candidates, |points| {
            out.push(Manifold::default());
            let Some(manifold) = out.last_mut() else { return };
            manifold.count = points.len() as u8;
            for (to, from) in manifold.points.iter_mut().zip(points) {
                let Touched { side, cell: [x, y, z], id } = touched[from.triangle as usize];
                let (block, liquid) = places[side as usize];
                let point = axes * from.point;
                to.point = (origin + point.as_dvec3()).to_array();
                to.offset = (pose.at + point).to_array();
                to.normal = (axes * from.normal).to_array();
                (to.distance, to.part) = (from.distance, number);
                (to.block, to.triangle) = (block, id);
                to.voxel = block.min_voxel() + VoxelPos::new(x.into(), y.into(), z.into());
                to.material = self.material_at(to.voxel, liquid);
            }
        });
        let may_be_inside = none && only.is_none() && options.filter.surfaces.solid();
        if may_be_inside {
            let middle = origin + pose.core.middle().as_dvec3();
            let way = self.way_out(middle.to_array());
            out.extend(way.map(|way| way.manifold(pose, position, number)));
        }
        missing
    }

    /// The surfaces of one block.
    fn sides_of<'a>(
        &'a self,
        block: Block,
        filter: &Filter,
        visit: &mut impl FnMut(Side<'a>),
    ) -> Option<Missing> {
        let Some((chunk, _)) = self.broadphase.record(block) else {
            let chunk = block.min_voxel().chunk();
            return self.broadphase.is_unknown(chunk).then_some(Missing::NotHeld(chunk));
        };
        let mut hits = 0;
        let sides = self.sides(block, chunk, filter, &mut hits);
        self.counters.hits(hits);
        match sides {
            Ok(sides) => sides.into_iter().flatten().flatten().for_each(visit),
            Err(missing) => return Some(missing),
        }
        None
    }
}

impl Manifold {
    /// Of one point.
    pub(super) fn single(point: ContactPoint, inside: bool) -> Manifold {
        let mut manifold = Manifold { count: 1, inside, ..Manifold::default() };
        manifold.points[0] = point;
        manifold
    }
}
