//! Ground to the horizon: the meshes that a level of detail shows, met by rays as they are.
//!
//! Every mesh keeps its place in whole voxels and its corners from there, so that two
//! meshes that share a corner have it at the same place, whatever their mips.
//!
//! Source of the triangle test: Woop, Benthin and Wald, "Watertight Ray/Triangle
//! Intersection" (2013): the sign of an edge is the same for both triangles that share it,
//! so no ray passes between them.

use crate::camera::Ray;
use crate::shade::linear_from_srgb;
use crate::tree::{Box3, Tree};
use crate::vertices::{Vertex, of};
use glam::{DVec3, Vec3};
use rayon::prelude::*;
use terravox::collide::{Filter, Surfaces};
use terravox::mesh::Surface;
use terravox::terrain::ShownMesh;
use terravox::voxel::VoxelPos;

/// How much of a vertex's colour is its mip's, where mips are told by colour.
const TINT: f32 = 0.6;

/// Colours of mips, sRGB, the finest first; they come again after the last.
const TINTS: [[u8; 3]; 7] = [
    [214, 62, 56],
    [240, 150, 46],
    [236, 214, 62],
    [96, 178, 74],
    [58, 172, 190],
    [66, 96, 200],
    [150, 78, 190],
];

/// The colour that tells a mip, sRGB.
pub fn tint(mip: u8) -> [u8; 3] {
    TINTS[usize::from(mip) % TINTS.len()]
}

/// Who looks, and how far and finely: voxels.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Viewpoint {
    /// Where.
    pub eye: DVec3,
    /// How far the ground is shown.
    pub distance: f64,
    /// Edges of a block within which it is shown in finer parts.
    pub detail: f64,
}

impl Viewpoint {
    /// About which mip is shown at a point; it grows evenly with the distance.
    pub fn level(&self, point: DVec3) -> f64 {
        let blocks = self.eye.distance(point) / (32.0 * self.detail);
        blocks.max(1.0).log2()
    }
}

/// All meshes, under trees.
pub(crate) struct FarGround {
    pub viewpoint: Viewpoint,
    /// The voxel corner that the trees count from.
    base: DVec3,
    meshes: Vec<FarMesh>,
    /// The surfaces that have triangles: number of the mesh, and whether it is the liquid.
    parts: Vec<(u32, bool)>,
    /// Over the parts.
    tree: Tree,
}

struct FarMesh {
    /// The lowest corner of the block, voxels.
    origin: DVec3,
    solid: FarSurface,
    liquid: FarSurface,
}

/// A surface, in voxels from its block's lowest corner.
#[derive(Default)]
struct FarSurface {
    vertices: Box<[Vertex]>,
    triangles: Box<[[u32; 3]]>,
    tree: Tree,
}

/// Where a ray meets a mesh.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct FarHit {
    /// Voxels along the ray.
    pub distance: f64,
    pub liquid: bool,
    /// Of the corners; they sum to 1.
    pub weights: [f32; 3],
    mesh: u32,
    triangle: u32,
}

impl FarGround {
    /// `palette` has the linear colours of the materials; with `tinted` meshes are coloured
    /// by their mips.
    pub fn new(
        shown: &[ShownMesh],
        viewpoint: Viewpoint,
        palette: &[Vec3; 256],
        tinted: bool,
    ) -> FarGround {
        let base = viewpoint.eye.floor();
        let mesh = |shown: &ShownMesh| FarMesh::new(shown, palette, tinted);
        let meshes: Vec<FarMesh> = shown.par_iter().map(mesh).collect();
        let (mut parts, mut boxes) = (Vec::new(), Vec::new());
        for (number, mesh) in meshes.iter().enumerate() {
            for liquid in [false, true] {
                if let Some(bounds) = mesh.surface(liquid).bounds(mesh.origin - base) {
                    parts.push((number as u32, liquid));
                    boxes.push(bounds);
                }
            }
        }
        FarGround { viewpoint, base, meshes, parts, tree: Tree::new(&boxes) }
    }

    /// The first surface within `reach` voxels.
    pub fn closest(&self, ray: &Ray, reach: f64, sees: &Filter) -> Option<FarHit> {
        let mut best = None;
        self.walk(ray, reach, sees.surfaces, |hit, reach| {
            *reach = hit.distance;
            best = Some(hit);
            false
        });
        best
    }

    /// Whether ground lies within `reach` voxels along the ray.
    pub fn blocked(&self, ray: &Ray, reach: f64) -> bool {
        self.walk(ray, reach, Surfaces::Solid, |_, _| true)
    }

    /// Calls `visit` with what a ray meets, until it returns true.
    fn walk(
        &self,
        ray: &Ray,
        mut reach: f64,
        surfaces: Surfaces,
        mut visit: impl FnMut(FarHit, &mut f64) -> bool,
    ) -> bool {
        let from_base = Ray { origin: ray.origin - self.base, direction: ray.direction };
        self.tree.walk(&from_base, &mut reach, |number, reach| {
            let (place, liquid) = self.parts[number as usize];
            let seen = if liquid { surfaces.liquid() } else { surfaces.solid() };
            let mesh = &self.meshes[place as usize];
            let surface = mesh.surface(liquid);
            let local = Ray { origin: ray.origin - mesh.origin, direction: ray.direction };
            seen && surface.tree.walk(&local, reach, |triangle, reach| {
                match surface.meets(&local, triangle, *reach) {
                    Some((distance, weights)) => {
                        visit(FarHit { distance, liquid, weights, mesh: place, triangle }, reach)
                    }
                    None => false,
                }
            })
        })
    }

    /// Unit normal of the triangle that was met, out of the ground or liquid.
    pub fn normal(&self, hit: &FarHit) -> [f32; 3] {
        let [a, b, c] = self.corners(hit).1.map(|vertex| vertex.position);
        (b - a).cross(c - a).normalize_or(Vec3::Y).to_array()
    }

    /// The lowest corner of the block that was met, voxels, and the triangle's corners.
    pub fn corners(&self, hit: &FarHit) -> (DVec3, [&Vertex; 3]) {
        let mesh = &self.meshes[hit.mesh as usize];
        let surface = mesh.surface(hit.liquid);
        let corners = surface.triangles[hit.triangle as usize];
        (mesh.origin, corners.map(|corner| &surface.vertices[corner as usize]))
    }
}

impl FarMesh {
    fn new(shown: &ShownMesh, palette: &[Vec3; 256], tinted: bool) -> FarMesh {
        let VoxelPos { x, y, z } = shown.mesh.block.min;
        let scale = f64::from(1_u32 << shown.mip);
        let colour = Vec3::from(tint(shown.mip).map(linear_from_srgb));
        let surface = |surface: &Surface| {
            let mut vertices = of(surface, palette);
            for vertex in &mut vertices {
                vertex.position *= scale as f32;
                if tinted {
                    vertex.colour = vertex.colour.lerp(colour, TINT);
                }
            }
            FarSurface::new(vertices, surface.triangles().collect())
        };
        FarMesh {
            origin: DVec3::new(x.into(), y.into(), z.into()) * scale,
            solid: surface(&shown.mesh.solid),
            liquid: surface(&shown.mesh.liquid),
        }
    }

    fn surface(&self, liquid: bool) -> &FarSurface {
        if liquid { &self.liquid } else { &self.solid }
    }
}

impl FarSurface {
    fn new(vertices: Box<[Vertex]>, triangles: Box<[[u32; 3]]>) -> FarSurface {
        let bounds = |corners: &[u32; 3]| {
            let [a, b, c] = corners.map(|corner| vertices[corner as usize].position);
            [a.min(b).min(c), a.max(b).max(c)]
        };
        let tree = Tree::new(&triangles.iter().map(bounds).collect::<Vec<Box3>>());
        FarSurface { vertices, triangles, tree }
    }

    /// Its box if it lies `offset` voxels off, rounded outward; `None` without triangles.
    fn bounds(&self, offset: DVec3) -> Option<Box3> {
        let [low, high] = self.tree.bounds()?.map(|v| v.as_dvec3() + offset);
        // More than what is lost in f32.
        let slack = low.abs().max(high.abs()) * 1e-6;
        Some([(low - slack).as_vec3(), (high + slack).as_vec3()])
    }

    /// Where a ray meets a triangle, from either side: the distance, and the weights of
    /// its corners.
    fn meets(&self, ray: &Ray, triangle: u32, reach: f64) -> Option<(f64, [f32; 3])> {
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
        let met = distance > 0.0 && distance <= reach;
        met.then(|| (distance, weights.as_vec3().to_array()))
    }
}
