//! Computes the surface point of a hit, ready to be lit: position, smooth normal, colour.
//!
//! Source of the shadow origin: Hanika, "Hacking the Shadow Terminator" (Ray Tracing
//! Gems II, 2021): on coarse triangles with smooth normals, shadow rays start from where
//! the curved surface would be, so that no triangle shadows itself.

use crate::block_vertices::{RemeshScratch, SurfaceVertex};
use crate::occlusion::FillBlocks;
use crate::ray::{RAY_REACH_CELLS, SceneRay};
use crate::scene::{HitTriangle, Scene, SceneHit};
use crate::solids::SolidHit;
use crate::texture::{MaterialWeights, Textures};
use glam::{DVec3, Vec3};
use terravox::collide::Filter;

/// Offset of shadow rays from ground that faces the sun, cells.
const SHADOW_OFFSET: f32 = 0.02;

/// Further offset at grazing sun: ground that rises less than this above a flat surface casts no
/// shadow, which would show single triangles.
const GRAZING_SHADOW_OFFSET: f32 = 0.35;

/// Sine of the flattest angle for which textures are filtered.
const MIN_TEXTURE_SINE: f32 = 0.06;

/// Cosine of the largest angle between a shading normal and that of its triangle, about 65°.
const MIN_NORMAL_COSINE: f32 = 0.42;

/// A surface point, ready to be lit.
pub(crate) struct SurfacePoint {
    /// Cells.
    pub point: DVec3,
    /// Smooth normal towards the viewer, unit length.
    pub normal: Vec3,
    /// Normal of the triangle towards the viewer, unit length.
    pub face_normal: Vec3,
    /// Start of shadow rays, cells.
    pub shadow_origin: DVec3,
    /// Linear colour.
    pub colour: Vec3,
    /// Whether the ray hit the back of the surface.
    pub is_back_face: bool,
    /// Sky visibility, if interpolated from the corners.
    pub sky_visibility: Option<f32>,
    /// Whether the surface gets no grain: solids.
    pub is_smooth: bool,
}

/// The first surface on a ray.
pub(crate) struct SurfaceHit {
    /// Cells from the ray's origin.
    pub distance: f64,
    /// Whether it is a liquid.
    pub is_liquid: bool,
    pub surface: SurfacePoint,
}

/// Scratch memory of one thread.
#[derive(Default)]
pub(crate) struct SurfaceScratch {
    pub remesh: RemeshScratch,
    pub blocks: FillBlocks,
}

/// Finds the surface points of a scene.
pub(crate) struct SurfaceSampler<'a> {
    pub scene: &'a Scene,
    /// Towards the sun, unit length.
    pub sun: Vec3,
    /// Edge of a pixel at a distance of one cell, cells.
    pub pixel_edge: f64,
}

impl SurfaceSampler<'_> {
    /// Returns the first surface on a ray: of a solid, or one that the filter passes.
    pub fn closest(
        &self,
        ray: &SceneRay,
        filter: &Filter,
        scratch: &mut SurfaceScratch,
    ) -> Option<SurfaceHit> {
        let hit = self.scene.closest(ray, RAY_REACH_CELLS, filter);
        let reach = hit.as_ref().map_or(RAY_REACH_CELLS, |hit| hit.distance);
        if let Some(solid) = self.scene.closest_solid(ray, reach) {
            let surface = point_on_solid(ray, &solid);
            return Some(SurfaceHit { distance: solid.distance, is_liquid: false, surface });
        }
        let hit = hit?;
        let surface = self.surface_point(ray, &hit, scratch);
        Some(SurfaceHit { distance: hit.distance, is_liquid: hit.is_liquid, surface })
    }

    /// Returns the surface point of a hit of the scene.
    pub fn surface_point(
        &self,
        ray: &SceneRay,
        hit: &SceneHit,
        scratch: &mut SurfaceScratch,
    ) -> SurfacePoint {
        let HitTriangle { origin, corners, weights, colour, material } =
            self.scene.triangle(hit, &mut scratch.remesh);
        let face = Vec3::from(hit.normal);
        let at = ray.at(hit.distance);
        let flat = SurfaceVertex::new((at - origin).as_vec3(), face, colour)
            .with_materials([material, 0, 0, 0], [255, 0, 0, 0]);
        let triangle = Triangle { corners: corners.unwrap_or([&flat; 3]), weights };
        let cell = self.scene.light_mip(at).exp2();
        let direction = ray.direction.as_vec3();
        let outward = triangle.blend(|vertex| vertex.normal).normalize_or(face);
        let is_away = face.dot(direction) > 0.0;
        // Where the surface is folded, a triangle faces away and its vertices do not: it is the front.
        let is_back_face = is_away && outward.dot(direction) > 0.0;
        let side = if is_back_face { -1.0 } else { 1.0 };
        let local = triangle.blend(|vertex| vertex.position);
        let face_normal = if is_away { -face } else { face };
        let normal = limited_normal(outward * side, face_normal);
        let sun_cosine = normal.dot(self.sun).clamp(0.0, 1.0);
        let grazing = GRAZING_SHADOW_OFFSET * (1.0 - sun_cosine) * (1.0 - sun_cosine);
        let offset = cell as f32 * (SHADOW_OFFSET + grazing);
        let near = !hit.is_liquid && !is_back_face && hit.distance * self.pixel_edge < cell;
        let sky_visibility =
            near.then(|| self.sky_of_corners(&triangle, origin, &mut scratch.blocks));
        let point = origin + local.as_dvec3();
        let colour = match self.scene.textures() {
            Some(textures) if !hit.is_liquid => {
                let width = hit.distance * self.pixel_edge;
                let sine = f64::from(face_normal.dot(direction).abs().max(MIN_TEXTURE_SINE).sqrt());
                self.texture_colour(textures, point, outward, width / sine, &triangle)
            }
            _ => triangle.blend(|vertex| vertex.colour),
        };
        let curved = curved_point(&triangle, local, side, cell as f32);
        SurfacePoint {
            point,
            normal,
            face_normal,
            shadow_origin: origin + (curved + normal * offset).as_dvec3(),
            colour,
            is_back_face,
            sky_visibility,
            is_smooth: false,
        }
    }

    /// Returns the sky visibility interpolated from the corners.
    fn sky_of_corners(&self, triangle: &Triangle, origin: DVec3, blocks: &mut FillBlocks) -> f32 {
        let mut sky = |vertex: &SurfaceVertex| {
            let point = origin + vertex.position.as_dvec3();
            vertex.sky_visibility(|| self.scene.sky_visibility(point, vertex.normal, blocks))
        };
        let Triangle { corners: [a, b, c], weights } = triangle;
        sky(a) * weights[0] + sky(b) * weights[1] + sky(c) * weights[2]
    }

    /// Returns the colour of textured ground; `width` is that of a pixel there, cells.
    fn texture_colour(
        &self,
        textures: &Textures,
        point: DVec3,
        normal: Vec3,
        width: f64,
        triangle: &Triangle,
    ) -> Vec3 {
        let mut materials = MaterialWeights::default();
        for (corner, weight) in triangle.corners.iter().zip(triangle.weights) {
            materials.add(corner.materials, corner.weights, weight);
        }
        let voxels = f64::from(1_u32 << self.scene.mip());
        textures.colour(point * voxels, normal, width * voxels, &materials)
    }
}

/// Corners, and the barycentric weights of a point.
struct Triangle<'a> {
    corners: [&'a SurfaceVertex; 3],
    weights: [f32; 3],
}

impl Triangle<'_> {
    /// Interpolates an attribute of the corners.
    fn blend(&self, attribute: impl Fn(&SurfaceVertex) -> Vec3) -> Vec3 {
        (0..3).map(|i| attribute(self.corners[i]) * self.weights[i]).sum()
    }
}

fn point_on_solid(ray: &SceneRay, hit: &SolidHit) -> SurfacePoint {
    let point = ray.at(hit.distance);
    SurfacePoint {
        point,
        normal: hit.normal,
        face_normal: hit.normal,
        shadow_origin: point + (hit.normal * SHADOW_OFFSET).as_dvec3(),
        colour: hit.colour,
        is_back_face: false,
        sky_visibility: None,
        is_smooth: true,
    }
}

/// Turns `normal` towards `face` up to the angle of [`MIN_NORMAL_COSINE`]: on thin edges the
/// normals of the corners point anywhere.
fn limited_normal(normal: Vec3, face: Vec3) -> Vec3 {
    let along = normal.dot(face);
    if along >= MIN_NORMAL_COSINE {
        return normal;
    }
    let across = (normal - face * along).normalize_or_zero();
    (across * (1.0 - MIN_NORMAL_COSINE * MIN_NORMAL_COSINE).sqrt() + face * MIN_NORMAL_COSINE)
        .normalize_or(face)
}

/// Returns the point of the curved surface that the corners' normals describe, at or above
/// the triangle, relative to the corners' origin.
fn curved_point(triangle: &Triangle, point: Vec3, side: f32, cell: f32) -> Vec3 {
    let shift = (0..3).map(|i| {
        let normal = triangle.corners[i].normal * side;
        let below = (point - triangle.corners[i].position).dot(normal).min(0.0);
        normal * (-below * triangle.weights[i])
    });
    // On a crease the planes of the corners lie far apart; limit the bend to half a cell.
    point + shift.sum::<Vec3>().clamp_length_max(0.5 * cell)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flat_triangles_keep_their_points_and_bent_ones_rise() {
        let positions = [Vec3::ZERO, Vec3::Z, Vec3::X];
        let centre = (positions[0] + positions[1] + positions[2]) / 3.0;
        let curved_centre = |normal: &dyn Fn(Vec3) -> Vec3| {
            let corners = positions.map(|p| SurfaceVertex::new(p, normal(p), Vec3::ONE));
            let triangle = Triangle { corners: corners.each_ref(), weights: [1.0 / 3.0; 3] };
            curved_point(&triangle, centre, 1.0, 1.0)
        };
        assert_eq!(curved_centre(&|_| Vec3::Y), centre);
        assert!(curved_centre(&|p| (Vec3::Y + (p - centre) * 0.5).normalize()).y > 0.02);
    }
}
