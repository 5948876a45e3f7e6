//! obvhs: its binary tree and its compressed wide one, at the setting that its author
//! calls very fast to build. Its triangles are kept in the order of the leaves, as its
//! examples advise.

use std::time::Duration;

use glam::Vec3A;
use obvhs::BvhBuildParams;
use obvhs::aabb::Aabb;
use obvhs::bvh2::{Bvh2, builder::build_bvh2_from_tris};
use obvhs::cwbvh::{CwBvh, builder::build_cwbvh_from_tris};
use obvhs::ray::{Ray, RayHit};
use obvhs::rt_triangle::RtTriangle;
use obvhs::triangle::Triangle as Input;

use super::super::blocks::SurfaceBlock;
use super::{Index, Triangle, between, meets};

fn triangles(block: &SurfaceBlock) -> Vec<Input> {
    let corner = |v: u32| Vec3A::from(block.surface.positions[v as usize]);
    let triangle = |[a, b, c]: [u32; 3]| Input { v0: corner(a), v1: corner(b), v2: corner(c) };
    block.surface.triangles().map(triangle).collect()
}

/// `triangles` in the order in which the leaves name them.
fn ordered(order: &[u32], triangles: &[Input]) -> Vec<RtTriangle> {
    order.iter().map(|&at| RtTriangle::from(&triangles[at as usize])).collect()
}

fn ray(from: [f32; 3], to: [f32; 3]) -> Ray {
    Ray::new(from.into(), between(from, to).into(), 0.0, 1.0)
}

/// The binary tree.
pub struct Obvhs2 {
    tree: Bvh2,
    triangles: Vec<RtTriangle>,
}

impl Index for Obvhs2 {
    const NAME: &'static str = "obvhs Bvh2";

    fn build(block: &SurfaceBlock) -> Obvhs2 {
        let input = triangles(block);
        let settings = BvhBuildParams::very_fast_build();
        let tree = build_bvh2_from_tris(&input, settings, &mut Duration::default());
        let triangles = ordered(&tree.primitive_indices, &input);
        Obvhs2 { tree, triangles }
    }

    fn bytes(&self) -> usize {
        size_of::<Obvhs2>()
            + size_of_val(&*self.tree.nodes)
            + self.tree.primitive_indices.len() * 4
            + self.triangles.len() * size_of::<RtTriangle>()
    }

    fn closest(&self, from: [f32; 3], to: [f32; 3]) -> Option<f32> {
        let mut hit = RayHit::none();
        let triangle = |ray: &Ray, at: usize| self.triangles[at].intersect(ray);
        self.tree.ray_traverse(ray(from, to), &mut hit, triangle).then_some(hit.t)
    }

    fn in_box(&self, min: [f32; 3], max: [f32; 3], out: &mut Vec<Triangle>) {
        let aabb = Aabb::new(min.into(), max.into());
        self.tree.aabb_traverse(aabb, |tree, node| {
            let node = &tree.nodes[node as usize];
            for at in node.first_index..node.first_index + node.prim_count {
                let RtTriangle { v0, e1, e2, .. } = self.triangles[at as usize];
                let corners = [v0, v0 - e1, v0 + e2].map(|p| p.to_array());
                if meets(&corners, min, max) {
                    out.push(corners);
                }
            }
            true
        });
    }
}

/// The compressed wide tree.
pub struct ObvhsWide {
    tree: CwBvh,
    triangles: Vec<RtTriangle>,
}

impl Index for ObvhsWide {
    const NAME: &'static str = "obvhs CwBvh";
    const HAS_BOXES: bool = false;

    fn build(block: &SurfaceBlock) -> ObvhsWide {
        let input = triangles(block);
        let settings = BvhBuildParams::very_fast_build();
        let tree = build_cwbvh_from_tris(&input, settings, &mut Duration::default());
        let triangles = ordered(&tree.primitive_indices, &input);
        ObvhsWide { tree, triangles }
    }

    fn bytes(&self) -> usize {
        size_of::<ObvhsWide>()
            + size_of_val(&*self.tree.nodes)
            + self.tree.primitive_indices.len() * 4
            + self.triangles.len() * size_of::<RtTriangle>()
    }

    fn closest(&self, from: [f32; 3], to: [f32; 3]) -> Option<f32> {
        let mut hit = RayHit::none();
        let triangle = |ray: &Ray, at: usize| self.triangles[at].intersect(ray);
        self.tree.ray_traverse(ray(from, to), &mut hit, triangle).then_some(hit.t)
    }
}
