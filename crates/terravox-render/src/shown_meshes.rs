//! Rays against the meshes that a level-of-detail view shows: ground to the horizon.
//!
//! The origin of a mesh is a whole voxel and its corners are relative to that, so meshes that share
//! a corner place it identically, whatever their mips.
//!
//! Source of the triangle test: Woop, Benthin and Wald, "Watertight Ray/Triangle
//! Intersection" (2013): the sign of an edge is the same for both triangles that share it,
//! so no ray passes between them.

use crate::block_vertices::{SurfaceVertex, vertices_of};
use crate::box_tree::{BoxTree, Corners};
use crate::colour::linear_from_srgb;
use crate::ray::SceneRay;
use glam::{DVec3, Vec3};
use rayon::prelude::*;
use terravox::collide::{Filter, Surfaces};
use terravox::mesh::Surface;
use terravox::terrain::ShownMesh;
use terravox::voxel::VoxelPos;

/// Share of the mip's colour in a tinted vertex.
const MIP_COLOUR_SHARE: f32 = 0.6;

/// Colours of mips, sRGB, finest first; they repeat after the last.
const MIP_COLOURS: [[u8; 3]; 7] = [
    [214, 62, 56],
    [240, 150, 46],
    [236, 214, 62],
    [96, 178, 74],
    [58, 172, 190],
    [66, 96, 200],
    [150, 78, 190],
];

/// Returns the colour of a mip in scenes that are tinted by mip, sRGB.
pub fn mip_colour(mip: u8) -> [u8; 3] {
    MIP_COLOURS[usize::from(mip) % MIP_COLOURS.len()]
}

/// The eye for which meshes were selected, the view distance and the detail; lengths in voxels.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Viewpoint {
    /// Position of the eye.
    pub eye: DVec3,
    /// View distance.
    pub distance: f64,
    /// A block nearer than this many of its edges is shown as finer blocks.
    pub detail: f64,
}

impl Viewpoint {
    /// Returns about which mip is shown at a point; continuous in the distance.
    pub fn mip_at(&self, point: DVec3) -> f64 {
        let blocks = self.eye.distance(point) / (32.0 * self.detail);
        blocks.max(1.0).log2()
    }
}

/// The shown meshes, in bounding volume hierarchies.
pub(crate) struct ShownGround {
    pub viewpoint: Viewpoint,
    /// Origin of the tree of surfaces, whole voxels.
    base: DVec3,
    meshes: Vec<GroundMesh>,
    /// Surfaces that have triangles.
    surfaces: Vec<SurfaceIndex>,
    /// Over the surfaces.
    tree: BoxTree,
}

#[derive(Clone, Copy)]
struct SurfaceIndex {
    mesh: u32,
    is_liquid: bool,
}

struct GroundMesh {
    /// The min corner of the block, voxels.
    origin: DVec3,
    mip: u8,
    solid: TriangleTree,
    liquid: TriangleTree,
}

/// A surface, in voxels relative to its block's min corner.
#[derive(Default)]
struct TriangleTree {
    vertices: Box<[SurfaceVertex]>,
    triangles: Box<[[u32; 3]]>,
    tree: BoxTree,
}

/// Where a ray hits a mesh.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct MeshHit {
    /// Voxels along the ray.
    pub distance: f64,
    pub is_liquid: bool,
    /// Barycentric: of the corners; they sum to 1.
    pub weights: [f32; 3],
    mesh: u32,
    triangle: u32,
}

impl ShownGround {
    /// `palette` holds the linear colours of the materials.
    pub fn new(shown: &[ShownMesh], viewpoint: Viewpoint, palette: &[Vec3; 256]) -> ShownGround {
        let base = viewpoint.eye.floor();
        let mesh = |shown: &ShownMesh| GroundMesh::new(shown, palette);
        let meshes: Vec<GroundMesh> = shown.par_iter().map(mesh).collect();
        let (mut surfaces, mut boxes) = (Vec::new(), Vec::new());
        for (number, mesh) in meshes.iter().enumerate() {
            for is_liquid in [false, true] {
                if let Some(bounds) = mesh.surface(is_liquid).bounds(mesh.origin - base) {
                    surfaces.push(SurfaceIndex { mesh: number as u32, is_liquid });
                    boxes.push(bounds);
                }
            }
        }
        ShownGround { viewpoint, base, meshes, surfaces, tree: BoxTree::new(&boxes) }
    }

    /// Tints all vertices with the colours of their mips.
    pub fn tint_by_mip(&mut self) {
        self.meshes.par_iter_mut().for_each(|mesh| {
            let colour = Vec3::from(mip_colour(mesh.mip).map(linear_from_srgb));
            for vertex in mesh.solid.vertices.iter_mut().chain(&mut mesh.liquid.vertices) {
                vertex.colour = vertex.colour.lerp(colour, MIP_COLOUR_SHARE);
            }
        });
    }

    /// Returns the first surface within `reach` voxels.
    pub fn closest(&self, ray: &SceneRay, reach: f64, filter: &Filter) -> Option<MeshHit> {
        let mut best = None;
        self.walk(ray, reach, filter.surfaces, |hit, reach| {
            *reach = hit.distance;
            best = Some(hit);
            false
        });
        best
    }

    /// Returns whether ground lies within `reach` voxels along the ray.
    pub fn is_blocked(&self, ray: &SceneRay, reach: f64) -> bool {
        self.walk(ray, reach, Surfaces::Solid, |_, _| true)
    }

    /// Calls `visit` with the hits of a ray until it returns true.
    fn walk(
        &self,
        ray: &SceneRay,
        mut reach: f64,
        filter: Surfaces,
        mut visit: impl FnMut(MeshHit, &mut f64) -> bool,
    ) -> bool {
        let from_base = SceneRay { origin: ray.origin - self.base, direction: ray.direction };
        self.tree.walk(&from_base, &mut reach, |number, reach| {
            let SurfaceIndex { mesh: index, is_liquid } = self.surfaces[number as usize];
            let passes = if is_liquid { filter.liquid() } else { filter.solid() };
            let mesh = &self.meshes[index as usize];
            let surface = mesh.surface(is_liquid);
            let local = SceneRay { origin: ray.origin - mesh.origin, direction: ray.direction };
            passes
                && surface.tree.walk(&local, reach, |triangle, reach| {
                    match surface.hit(&local, triangle, *reach) {
                        Some((distance, weights)) => visit(
                            MeshHit { distance, is_liquid, weights, mesh: index, triangle },
                            reach,
                        ),
                        None => false,
                    }
                })
        })
    }

    /// Returns the unit normal of the hit triangle, out of the ground or liquid.
    pub fn normal(&self, hit: &MeshHit) -> [f32; 3] {
        let [a, b, c] = self.corners(hit).1.map(|vertex| vertex.position);
        (b - a).cross(c - a).normalize_or(Vec3::Y).to_array()
    }

    /// Returns the min corner of the hit block, voxels, and the triangle's corners.
    pub fn corners(&self, hit: &MeshHit) -> (DVec3, [&SurfaceVertex; 3]) {
        let mesh = &self.meshes[hit.mesh as usize];
        let surface = mesh.surface(hit.is_liquid);
        let corners = surface.triangles[hit.triangle as usize];
        (mesh.origin, corners.map(|corner| &surface.vertices[corner as usize]))
    }
}

impl GroundMesh {
    fn new(shown: &ShownMesh, palette: &[Vec3; 256]) -> GroundMesh {
        let VoxelPos { x, y, z } = shown.mesh.block.min;
        let scale = f64::from(1_u32 << shown.mip);
        let surface = |surface: &Surface| {
            let mut vertices = vertices_of(surface, palette);
            for vertex in &mut vertices {
                vertex.position *= scale as f32;
            }
            TriangleTree::new(vertices, surface.triangles().collect())
        };
        GroundMesh {
            origin: DVec3::new(x.into(), y.into(), z.into()) * scale,
            mip: shown.mip,
            solid: surface(&shown.mesh.solid),
            liquid: surface(&shown.mesh.liquid),
        }
    }

    fn surface(&self, is_liquid: bool) -> &TriangleTree {
        if is_liquid { &self.liquid } else { &self.solid }
    }
}

impl TriangleTree {
    fn new(vertices: Box<[SurfaceVertex]>, triangles: Box<[[u32; 3]]>) -> TriangleTree {
        let bounds = |corners: &[u32; 3]| {
            let [a, b, c] = corners.map(|corner| vertices[corner as usize].position);
            [a.min(b).min(c), a.max(b).max(c)]
        };
        let tree = BoxTree::new(&triangles.iter().map(bounds).collect::<Vec<Corners>>());
        TriangleTree { vertices, triangles, tree }
    }

    /// Returns the bounds, moved by `offset` voxels and rounded outward; `None` if empty.
    fn bounds(&self, offset: DVec3) -> Option<Corners> {
        let [low, high] = self.tree.bounds()?.map(|v| v.as_dvec3() + offset);
        // More than the rounding error of f32.
        let slack = low.abs().max(high.abs()) * 1e-6;
        Some([(low - slack).as_vec3(), (high + slack).as_vec3()])
    }

    /// Returns the distance and barycentric weights at which a ray hits a triangle, from either
    /// side.
    fn hit(&self, ray: &SceneRay, triangle: u32, reach: f64) -> Option<(f64, [f32; 3])> {
        let corners = self.triangles[triangle as usize];
        let [a, b, c] =
            corners.map(|corner| self.vertices[corner as usize].position.as_dvec3() - ray.origin);
        let side = |from: DVec3, to: DVec3| ray.direction.dot(from.cross(to));
        let sides = DVec3::new(side(b, c), side(c, a), side(a, b));
        let all = sides.element_sum();
        let inside = sides.cmpge(DVec3::ZERO).all() || sides.cmple(DVec3::ZERO).all();
        if !inside || all == 0.0 {
            return None;
        }
        let weights = sides / all;
        let point = a * weights.x + b * weights.y + c * weights.z;
        let distance = point.dot(ray.direction);
        let is_hit = distance > 0.0 && distance <= reach;
        is_hit.then(|| (distance, weights.as_vec3().to_array()))
    }
}
