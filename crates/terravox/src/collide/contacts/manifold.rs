//! Where a body touches the ground: every triangle near it is asked for a direction and
//! points, and these are reduced to manifolds. See the [module](super) for the rule.

use super::clip::over;
use super::cone::Sides;
use super::reduce::{Candidate, manifolds};
use crate::collide::block::Triangle;
use crate::collide::collider::{Collider, Side};
use crate::collide::near::corner_of;
use crate::collide::query::{Filter, Missing, TriangleId};
use crate::collide::shape::{Polygon, Shape, ShapeCore};
use crate::collide::{Block, Surfaces};
use crate::math::Aabb;
use crate::voxel::VoxelPos;
use glam::{DVec3, Quat, Vec3};

/// How much less deep than its deepest what lies over a triangle may be for the triangle's
/// normal to be the direction, voxels.
const DEEPEST: f32 = 1e-3;

/// Least cosine of a direction and a triangle's normal for points to be moved along the
/// one onto the other.
const STEEP: f32 = 0.25;

/// Least cosine of the normals of triangles that push a body out from inside together.
const SAME_WAY: f32 = 0.7;

/// A shape of a body.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BodyPart<'a> {
    /// The shape.
    pub shape: Shape<'a>,
    /// Where the shape's origin lies in the body, voxels.
    pub offset: [f32; 3],
    /// Quaternion x, y, z, w of unit length: body from shape.
    pub rotation: [f32; 4],
}

impl<'a> BodyPart<'a> {
    /// A shape at the body's origin.
    pub fn new(shape: Shape<'a>) -> BodyPart<'a> {
        BodyPart { shape, offset: [0.0; 3], rotation: [0.0, 0.0, 0.0, 1.0] }
    }
}

/// Shapes that move as one, where they are.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Body<'a> {
    /// One or more shapes; they may overlap.
    pub parts: &'a [BodyPart<'a>],
    /// The body's origin, voxels.
    pub position: [f64; 3],
    /// Quaternion x, y, z, w of unit length: world from body.
    pub rotation: [f32; 4],
}

/// How contacts are looked for.
#[derive(Clone, Copy, Debug, PartialEq)]
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
    candidates: Vec<Candidate>,
    /// From behind, each with how far the part's middle is behind the triangle; infinite
    /// if it is not over it.
    behind: Vec<(Candidate, f32)>,
    blocks: Vec<Block>,
    /// Points of a hull, turned.
    points: Vec<[f32; 3]>,
}

/// A part of a body, where it is.
pub(in crate::collide) struct PartPose<'a> {
    /// About its own origin, along the world's axes.
    pub core: ShapeCore<'a>,
    /// Its origin, from the body's position.
    pub at: Vec3,
}

/// What a part of a body is asked along with.
struct Probe<'a, 'b> {
    core: ShapeCore<'a>,
    middle: Vec3,
    within: f32,
    part: u16,
    /// Least height of the part's middle above a triangle that it touches from the front.
    front: f32,
    /// The nearest of those that no direction was found for.
    refused: Option<(f32, Candidate)>,
    candidates: &'b mut Vec<Candidate>,
    behind: &'b mut Vec<(Candidate, f32)>,
}

impl Collider {
    /// Makes `out` what a body touches. Answers what could not be looked at. A body that is
    /// none (not a number, a shape that is not valid) touches nothing.
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
        let Contacts { manifolds: found, candidates, behind, blocks, .. } = out;
        (candidates.clear(), behind.clear(), blocks.clear());
        let origin = position + pose.at.as_dvec3();
        let middle = pose.core.middle();
        let mut probe = Probe {
            core: pose.core,
            middle,
            within: options.prediction,
            part: number,
            front: f32::INFINITY,
            refused: None,
            candidates,
            behind,
        };
        let (min, max) = pose.core.bounds();
        let wide = |v: [f32; 3]| (origin + Vec3::from(v).as_dvec3()).to_array();
        let aabb = Aabb { min: wide(min), max: wide(max) }.grow(options.prediction.into());
        let filter = &options.filter;
        let mut visit = |side: Side<'_>| {
            let shift = (corner_of(side.block) - origin).as_vec3();
            let number = blocks.len() as u16;
            blocks.push(side.block);
            self.side_triangles(side, &aabb, filter, |triangle| {
                probe.touch(side, number, triangle, shift);
            });
        };
        let missing = match only {
            None => self.each_side(&aabb, filter, visit),
            Some(block) => self.sides_of(block, filter, &mut visit),
        };
        probe.from_behind();
        if only.is_none() {
            probe.take_refused();
        }
        let none = probe.candidates.is_empty();
        manifolds(candidates, |points| {
            found.push(self.manifold(points, blocks, pose.at, origin));
        });
        let may_be_inside = none && only.is_none() && filter.surfaces != Surfaces::Liquid;
        if may_be_inside && let Some(way) = self.way_out(origin + middle.as_dvec3()) {
            found.push(way.manifold(pose, position, number));
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

    fn manifold(
        &self,
        points: &[Candidate],
        blocks: &[Block],
        at: Vec3,
        origin: DVec3,
    ) -> Manifold {
        let mut manifold = Manifold { count: points.len() as u8, ..Manifold::default() };
        for (to, from) in manifold.points.iter_mut().zip(points) {
            let block = blocks[usize::from(from.side)];
            let [x, y, z] = from.cell.map(i32::from);
            let voxel = block.min_voxel() + VoxelPos::new(x, y, z);
            let (quad, second, vertices) = (from.quad, from.second, from.vertices);
            *to = ContactPoint {
                point: (origin + from.point.as_dvec3()).to_array(),
                offset: (at + from.point).to_array(),
                normal: from.normal.to_array(),
                distance: from.distance,
                part: from.part,
                material: self.material_at(voxel, from.liquid),
                voxel,
                block,
                triangle: TriangleId { quad, second, vertices },
            };
        }
        manifold
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

/// A part of a body that is turned by `turn`; `points` holds a hull's points, turned.
/// `None` if its shape is not valid.
pub(in crate::collide) fn pose<'a>(
    part: &BodyPart<'_>,
    turn: Quat,
    points: &'a mut Vec<[f32; 3]>,
) -> Option<PartPose<'a>> {
    let own = Quat::from_array(part.rotation);
    let offset = Vec3::from(part.offset);
    if (own.length_squared() - 1.0).abs() > 1e-3 || !offset.is_finite() {
        return None;
    }
    let world = turn * own.normalize();
    let turned = |p: [f32; 3]| (world * Vec3::from(p)).to_array();
    let shape = match part.shape {
        Shape::Sphere { radius } => Shape::Sphere { radius },
        Shape::Capsule { a, b, radius } => Shape::Capsule { a: turned(a), b: turned(b), radius },
        Shape::Box { half, rotation } => {
            let rotation = (world * Quat::from_array(rotation)).to_array();
            Shape::Box { half, rotation }
        }
        Shape::Convex { points: own } => {
            points.clear();
            points.extend(own.iter().map(|&p| turned(p)));
            Shape::Convex { points }
        }
    };
    Some(PartPose { core: ShapeCore::new(&shape)?, at: turn * offset })
}

impl Probe<'_, '_> {
    /// Asks a triangle; `shift` leads from its block's corner to the part's origin.
    fn touch(&mut self, side: Side<'_>, number: u16, triangle: &Triangle, shift: Vec3) {
        let info = side.tree.quad(triangle.quad);
        if info.reversed[usize::from(triangle.second)] {
            return;
        }
        let corners = triangle.corners.map(|p| Vec3::from(p) + shift);
        let [a, b, c] = corners;
        let Some(normal) = (b - a).cross(c - a).try_normalize() else { return };
        let facing = self.core.feature(-normal);
        let height = |p: Vec3| normal.dot(p - a);
        let lowest = lowest(&facing, height);
        if lowest - self.core.radius() > self.within {
            return;
        }
        let candidate = Candidate {
            point: Vec3::ZERO,
            normal,
            distance: 0.0,
            part: self.part,
            side: number,
            cell: info.cell,
            liquid: side.liquid,
            quad: triangle.quad,
            second: triangle.second,
            vertices: triangle.vertices,
        };
        let part = over(&facing, &corners, normal);
        let above = height(self.middle);
        if above < 0.0 {
            self.touch_from_behind(candidate, &part, &corners, above);
            return;
        }
        if self::lowest(&part, height) <= lowest + DEEPEST {
            self.front = self.front.min(above);
            self.add(candidate, &part, &corners, normal);
            return;
        }
        let sides = Sides {
            tree: side.tree,
            quad: triangle.quad,
            second: triangle.second,
            angles: info.angles,
            triangle: corners,
            normal,
        };
        if self.touch_aside(candidate, &sides, &part) {
            self.front = self.front.min(above);
        }
    }

    /// Asks a triangle over which the shape's deepest part along the normal does not lie;
    /// `part` of that feature does. Answers whether it gave a point.
    fn touch_aside(&mut self, mut candidate: Candidate, sides: &Sides<'_>, part: &Polygon) -> bool {
        let (corners, normal) = (sides.triangle, sides.normal);
        let arrays = corners.map(|p| p.to_array());
        let Some((distance, way)) = self.core.axis([0.0; 3], &arrays, self.within) else {
            return false;
        };
        if way.dot(normal) < 0.0 {
            return false;
        }
        let direction = sides.clamp(way);
        candidate.normal = direction;
        let before = self.candidates.len();
        if direction == normal {
            self.add(candidate, part, &corners, normal);
        } else if direction.dot(normal) >= STEEP {
            let part = over(&self.core.feature(-direction), &corners, direction);
            self.add(candidate, &part, &corners, normal);
        } else if let Some(near) = self.core.separation([0.0; 3], &arrays, self.within) {
            candidate.point = Vec3::from(near.on_triangle);
            candidate.distance = near.distance;
            self.candidates.push(candidate);
        }
        let found = self.candidates.len() > before;
        if !found && self.refused.is_none_or(|(least, _)| distance < least) {
            self.refuse(candidate, &arrays);
        }
        found
    }

    /// Keeps what the shape meets nearest, in case that no triangle gives any point.
    #[cold]
    fn refuse(&mut self, mut candidate: Candidate, triangle: &[[f32; 3]; 3]) {
        let Some(near) = self.core.separation([0.0; 3], triangle, self.within) else { return };
        if self.refused.is_none_or(|(least, _)| near.distance < least) {
            candidate.point = Vec3::from(near.on_triangle);
            candidate.normal = Vec3::from(near.normal);
            candidate.distance = near.distance;
            self.refused = Some((near.distance, candidate));
        }
    }

    /// Adds the points of `part` that are near enough, seen along the candidate's normal.
    #[inline]
    fn add(&mut self, mut candidate: Candidate, part: &Polygon, corners: &[Vec3; 3], face: Vec3) {
        let direction = candidate.normal;
        let scale = 1.0 / face.dot(direction);
        for &p in part.points() {
            let along = face.dot(p - corners[0]) * scale;
            candidate.distance = along - self.core.radius();
            if candidate.distance <= self.within {
                candidate.point = p - direction * along;
                self.candidates.push(candidate);
            }
        }
    }

    /// Keeps what a triangle says whose back the shape's middle sees.
    #[cold]
    fn touch_from_behind(
        &mut self,
        mut candidate: Candidate,
        part: &Polygon,
        corners: &[Vec3; 3],
        above: f32,
    ) {
        let mut middle = Polygon::EMPTY;
        middle.push(self.middle);
        let is_over = !over(&middle, corners, candidate.normal).points().is_empty();
        let depth = if is_over { -above } else { f32::INFINITY };
        for &p in part.points() {
            let along = candidate.normal.dot(p - corners[0]);
            candidate.distance = along - self.core.radius();
            candidate.point = p - candidate.normal * along;
            self.behind.push((candidate, depth));
        }
    }

    /// Adds what lies behind triangles, if the middle is nearer to those than to any that
    /// it sees the front of: then it is in the ground.
    fn from_behind(&mut self) {
        let mut nearest: Option<&(Candidate, f32)> = None;
        for found in self.behind.iter() {
            if found.1 < nearest.map_or(self.front, |nearest| nearest.1) {
                nearest = Some(found);
            }
        }
        let Some((Candidate { normal, .. }, _)) = nearest else { return };
        let normal = *normal;
        let same_way = self.behind.iter().filter(|(c, _)| c.normal.dot(normal) >= SAME_WAY);
        self.candidates.extend(same_way.map(|(candidate, _)| *candidate));
    }

    /// A body never falls through what it meets: if cones and clipping left nothing, what
    /// it meets nearest stands.
    fn take_refused(&mut self) {
        if let Some((_, candidate)) = self.refused
            && self.candidates.is_empty()
        {
            self.candidates.push(candidate);
        }
    }
}

fn lowest(polygon: &Polygon, height: impl Fn(Vec3) -> f32) -> f32 {
    polygon.points().iter().fold(f32::INFINITY, |least, &p| least.min(height(p)))
}
