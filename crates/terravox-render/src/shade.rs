//! The colour of what a ray meets: ground in sun, shadow and sky light, and the sky.
//!
//! Source of the shadow origin: Hanika, "Hacking the Shadow Terminator" (Ray Tracing
//! Gems II, 2021): on coarse triangles with smooth normals, shadow rays start from where
//! the curved surface would be, so that no triangle shadows itself.

use crate::camera::Ray;
use crate::count::RayCounts;
use crate::grain;
use crate::occlusion::Bricks;
use crate::scene::{Face, Hit, Scene};
use crate::sky::Sky;
use crate::solids::SolidHit;
use crate::texture::{Shares, Textures};
use crate::vertices::{MeshScratch, Vertex};
use glam::{DVec3, Vec3};
use terravox::collide::Filter;
use terravox::voxel::MaterialTable;

/// Rays look this far, cells: past any world.
pub const FAR: f64 = 1e10;

/// Shadow rays start this far off the ground where the sun stands square to it, cells.
const LIFT: f32 = 0.02;

/// And so much farther where it grazes the ground: what rises less than this over even
/// ground throws no shadow, which would be the shadow of single triangles.
const GRAZING_LIFT: f32 = 0.35;

/// Ground that is seen at a flatter angle than of this sine is textured as if it were not.
const FLATTEST: f32 = 0.06;

/// A scene under a sky, seen by pixels of a size.
pub(crate) struct Look<'a> {
    pub scene: &'a Scene,
    pub sky: Sky,
    /// Width of a pixel at a distance of one cell, cells.
    pub pixel_edge: f64,
    /// Brightness of a lamp at the camera; 0 by day.
    pub lamp: f32,
    /// What all light is multiplied with before it is shown.
    pub exposure: f32,
}

/// A point of a surface, ready to be lit.
pub(crate) struct Spot {
    /// Cells.
    pub point: DVec3,
    /// Smooth normal towards the viewer, unit length.
    pub normal: Vec3,
    /// Normal of the triangle towards the viewer, unit length.
    pub face: Vec3,
    /// Where shadow rays start, cells.
    pub shadow_origin: DVec3,
    /// Linear colour.
    pub colour: Vec3,
    /// Whether the surface is seen from its back.
    pub from_behind: bool,
    /// The share of the sky that it sees, if its corners know.
    pub open: Option<f32>,
    /// Whether it is even and of one colour, as ground never is.
    pub plain: bool,
}

/// The first thing that a ray met.
pub(crate) struct Met {
    /// Cells from the ray's origin.
    pub distance: f64,
    /// Whether it is water or another liquid.
    pub liquid: bool,
    /// Where.
    pub spot: Spot,
}

/// Memory that one thread needs to shade.
#[derive(Default)]
pub(crate) struct Scratch {
    pub meshing: MeshScratch,
    pub bricks: Bricks,
    pub last_open: Option<Open>,
    /// Rays cast so far.
    pub rays: RayCounts,
    /// Where rays are noted, if they are wanted.
    pub recorded: Option<RecordedRays>,
}

/// The rays of a picture.
#[derive(Clone, Debug, Default)]
pub struct RecordedRays {
    /// From the eye; they see ground and liquids.
    pub primary: Vec<Ray>,
    /// Towards the sun; they see ground, and any will do.
    pub shadow: Vec<Ray>,
}

/// The share of the sky that the last spot of this square saw.
pub(crate) struct Open {
    point: DVec3,
    normal: Vec3,
    open: f32,
}

/// Linear colours of the 256 material ids.
pub(crate) fn palette(materials: &MaterialTable) -> [Vec3; 256] {
    std::array::from_fn(|id| Vec3::from(materials.colour(id as u8).map(linear_from_srgb)))
}

/// A channel of sRGB as linear light, 0 to 1.
pub(crate) fn linear_from_srgb(value: u8) -> f32 {
    let v = f32::from(value) / 255.0;
    if v <= 0.04045 { v / 12.92 } else { ((v + 0.055) / 1.055).powf(2.4) }
}

impl Look<'_> {
    /// Linear light that arrives along a ray from the camera.
    pub fn seen(&self, ray: &Ray, scratch: &mut Scratch) -> Vec3 {
        let direction = ray.direction.as_vec3();
        scratch.rays.primary += 1;
        if let Some(recorded) = &mut scratch.recorded {
            recorded.primary.push(*ray);
        }
        let Some(met) = self.met(ray, &Filter::BOTH, scratch) else {
            return self.sky.seen(direction);
        };
        let colour = if met.liquid {
            self.water(ray, &met, scratch)
        } else {
            let lamp = self.lamp_light(&met.spot, direction, met.distance);
            self.ground(&met.spot, met.distance, Vec3::ONE, scratch) + lamp
        };
        self.sky.haze(colour, direction, met.distance)
    }

    /// The first solid, or surface that the filter lets pass.
    pub fn met(&self, ray: &Ray, sees: &Filter, scratch: &mut Scratch) -> Option<Met> {
        let hit = self.scene.closest(ray, FAR, sees);
        let reach = hit.as_ref().map_or(FAR, |hit| hit.distance);
        if let Some(solid) = self.scene.closest_solid(ray, reach) {
            let spot = solid_spot(ray, &solid);
            return Some(Met { distance: solid.distance, liquid: false, spot });
        }
        let hit = hit?;
        let spot = self.spot(ray, &hit, scratch);
        Some(Met { distance: hit.distance, liquid: hit.liquid, spot })
    }

    /// What the surface is like where a ray meets it.
    pub fn spot(&self, ray: &Ray, hit: &Hit, scratch: &mut Scratch) -> Spot {
        let Face { origin, corners, weights, colour, material } =
            self.scene.face(hit, &mut scratch.meshing);
        let face = Vec3::from(hit.normal);
        let here = ray.at(hit.distance);
        let flat = Vertex::new((here - origin).as_vec3(), face, colour)
            .of_materials([material, 0, 0, 0], [255, 0, 0, 0]);
        let corners = corners.unwrap_or([&flat; 3]);
        let cell = self.scene.level(here).exp2();
        let blend =
            |of: fn(&Vertex) -> Vec3| -> Vec3 { (0..3).map(|i| of(corners[i]) * weights[i]).sum() };
        let direction = ray.direction.as_vec3();
        let from_behind = face.dot(direction) > 0.0;
        let side = if from_behind { -1.0 } else { 1.0 };
        let local = blend(|vertex| vertex.position);
        let face = face * side;
        let outward = blend(|vertex| vertex.normal).normalize_or(face * side);
        let normal = towards(outward * side, face);
        let square = normal.dot(self.sky.sun).clamp(0.0, 1.0);
        let lift = cell as f32 * (LIFT + GRAZING_LIFT * (1.0 - square) * (1.0 - square));
        let near = !hit.liquid && !from_behind && hit.distance * self.pixel_edge < cell;
        let open = near.then(|| {
            let mut sky = |vertex: &Vertex| {
                let point = origin + vertex.position.as_dvec3();
                vertex.sky(|| self.scene.sky_seen(point, vertex.normal, &mut scratch.bricks))
            };
            let [a, b, c] = corners;
            sky(a) * weights[0] + sky(b) * weights[1] + sky(c) * weights[2]
        });
        let point = origin + local.as_dvec3();
        let colour = match self.scene.textures() {
            Some(textures) if !hit.liquid => {
                let width = hit.distance * self.pixel_edge;
                let along = f64::from(face.dot(direction).abs().max(FLATTEST).sqrt());
                self.textured(textures, point, outward, width / along, (&corners, weights))
            }
            _ => blend(|vertex| vertex.colour),
        };
        let curved = curved_point(&corners, weights, local, side, cell as f32);
        Spot {
            point,
            normal,
            face,
            shadow_origin: origin + (curved + normal * lift).as_dvec3(),
            colour,
            from_behind,
            open,
            plain: false,
        }
    }

    /// The colour of textured ground at a point of a triangle, in pixels of a width in cells.
    fn textured(
        &self,
        textures: &Textures,
        point: DVec3,
        normal: Vec3,
        width: f64,
        (corners, weights): (&[&Vertex; 3], [f32; 3]),
    ) -> Vec3 {
        let mut shares = Shares::default();
        for (corner, weight) in corners.iter().zip(weights) {
            shares.add(corner.materials, corner.weights, weight);
        }
        let voxels = f64::from(1_u32 << self.scene.mip());
        textures.colour(point * voxels, normal, width * voxels, &shares)
    }

    /// Ground lit by sun and sky; `filter` is what is left of light that came through
    /// water. `t` is the distance to the viewer, cells.
    pub fn ground(&self, spot: &Spot, t: f64, filter: Vec3, scratch: &mut Scratch) -> Vec3 {
        let footprint = t * self.pixel_edge;
        let (normal, tint) = match spot.plain {
            true => (spot.normal, Vec3::ONE),
            false => (
                grain::rough(spot.point, spot.normal, footprint),
                grain::tint(spot.point, footprint),
            ),
        };
        let sun = self.sunlight(spot, normal, scratch);
        let beside = self.scene.open_beside_solids(spot.point, spot.normal);
        let open = self.open(spot, t, scratch) * beside;
        spot.colour * tint * filter * (sun + self.sky.ambient(normal, open))
    }

    /// The share of the sky that a spot sees: what its corners see where a pixel shows one
    /// cell at most; else rays of one square that follow each other and meet about the
    /// same spot share an answer.
    fn open(&self, spot: &Spot, t: f64, scratch: &mut Scratch) -> f32 {
        if let Some(open) = spot.open {
            return open;
        }
        if let Some(near) = &scratch.last_open
            && near.point.distance(spot.point) < (2.0 * t * self.pixel_edge).min(0.5)
            && near.normal.dot(spot.normal) > 0.97
        {
            return near.open;
        }
        let open = self.scene.sky_seen(spot.point, spot.normal, &mut scratch.bricks);
        scratch.last_open = Some(Open { point: spot.point, normal: spot.normal, open });
        open
    }

    /// Light of the sun on a spot whose normal, roughness and all, is `normal`.
    fn sunlight(&self, spot: &Spot, normal: Vec3, scratch: &mut Scratch) -> Vec3 {
        let smooth = spot.normal.dot(self.sky.sun);
        if smooth <= 0.0 || self.in_shadow(spot, scratch) {
            return Vec3::ZERO;
        }
        // Roughness must not light what is turned away, nor end the light in a line.
        self.sky.sunlight * normal.dot(self.sky.sun).max(0.0).min(4.0 * smooth)
    }

    /// Whether ground stands between a spot and the sun.
    pub fn in_shadow(&self, spot: &Spot, scratch: &mut Scratch) -> bool {
        let ray = Ray { origin: spot.shadow_origin, direction: self.sky.sun.as_dvec3() };
        scratch.rays.shadow += 1;
        if let Some(recorded) = &mut scratch.recorded {
            recorded.shadow.push(ray);
        }
        self.scene.blocked(&ray, FAR)
    }

    /// Light of the lamp at the camera, `t` cells away.
    fn lamp_light(&self, spot: &Spot, direction: Vec3, t: f64) -> Vec3 {
        let facing = spot.normal.dot(-direction).max(0.0);
        let reach = 1.0 + (t as f32 / 14.0).powi(2);
        spot.colour * Vec3::new(1.0, 0.86, 0.66) * (self.lamp * facing / reach)
    }

    /// Ground as a mirror or water shows it: without what the eye would not notice.
    pub fn seen_in_water(&self, ray: &Ray, scratch: &mut Scratch) -> Vec3 {
        let direction = ray.direction.as_vec3();
        scratch.rays.water += 1;
        let Some(Met { distance, spot, .. }) = self.met(ray, &Filter::SOLID, scratch) else {
            return self.sky.seen(direction);
        };
        let facing = spot.normal.dot(self.sky.sun).max(0.0);
        let light = self.sky.sunlight * facing + self.sky.ambient(spot.normal, 0.8);
        self.sky.haze(spot.colour * light, direction, distance)
    }
}

/// What a solid is like where a ray meets it.
fn solid_spot(ray: &Ray, hit: &SolidHit) -> Spot {
    let point = ray.at(hit.distance);
    Spot {
        point,
        normal: hit.normal,
        face: hit.normal,
        shadow_origin: point + (hit.normal * LIFT).as_dvec3(),
        colour: hit.colour,
        from_behind: false,
        open: None,
        plain: true,
    }
}

/// `normal`, turned towards `face` if it leaves it by more than some 65 degrees: on thin
/// edges the normals of the corners point every way.
fn towards(normal: Vec3, face: Vec3) -> Vec3 {
    const LEAST: f32 = 0.42;
    let along = normal.dot(face);
    if along >= LEAST {
        return normal;
    }
    let across = (normal - face * along).normalize_or_zero();
    (across * (1.0 - LEAST * LEAST).sqrt() + face * LEAST).normalize_or(face)
}

/// The point of the curved surface that the corners' normals describe, at or above the
/// triangle; in the block's cells.
fn curved_point(
    corners: &[&Vertex; 3],
    weights: [f32; 3],
    point: Vec3,
    side: f32,
    cell: f32,
) -> Vec3 {
    let shift = (0..3).map(|i| {
        let normal = corners[i].normal * side;
        let below = (point - corners[i].position).dot(normal).min(0.0);
        normal * (-below * weights[i])
    });
    // On a crease the planes of the corners lie far apart; half a cell is a surface's bend.
    point + shift.sum::<Vec3>().clamp_length_max(0.5 * cell)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn vertex(position: Vec3, normal: Vec3) -> Vertex {
        Vertex::new(position, normal, Vec3::ONE)
    }

    #[test]
    fn flat_triangles_keep_their_points_and_bent_ones_rise() {
        let place = [Vec3::ZERO, Vec3::Z, Vec3::X];
        let flat = place.map(|p| vertex(p, Vec3::Y));
        let third = [1.0 / 3.0; 3];
        let centre = (place[0] + place[1] + place[2]) / 3.0;
        assert_eq!(curved_point(&flat.each_ref(), third, centre, 1.0, 1.0), centre);
        let bent = place.map(|p| vertex(p, (Vec3::Y + (p - centre) * 0.5).normalize()));
        assert!(curved_point(&bent.each_ref(), third, centre, 1.0, 1.0).y > 0.02);
    }

    #[test]
    fn srgb_becomes_linear() {
        assert_eq!([0, 255].map(linear_from_srgb), [0.0, 1.0]);
        assert!((linear_from_srgb(188) - 0.5).abs() < 0.01);
    }
}
