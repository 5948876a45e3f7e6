//! Pieces that edits cut loose, as bodies of Rapier: their collision shape, their mass, and
//! where they lie.
//!
//! A piece of blocky cells becomes its merged boxes, exactly; any other becomes convex hulls
//! of the vertices of its mesh, so that faces lie where they are seen.

mod hulls;

use hulls::hulls;
use rapier3d::math::{Matrix, Vector};
use rapier3d::prelude::{
    ColliderBuilder, MassProperties, Pose, RigidBody, RigidBodyBuilder, SharedShape,
};
use terravox::bodies::LooseBody;
use terravox::boxes::{SolidBoxes, SolidOctree};
use terravox::terrain::Placement;
use terravox::voxel::{DenseBox, Kind, SurfaceShape};

use crate::ground::{Coefficients, coefficients};

/// How the collision shape of a smooth piece is made.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LooseShapeOptions {
    /// Share of its volume by which all hulls together may be too large.
    pub concavity: f32,
    /// Most hulls.
    pub most_parts: usize,
}

impl Default for LooseShapeOptions {
    /// 5 %, 24 hulls.
    fn default() -> LooseShapeOptions {
        LooseShapeOptions { concavity: 0.05, most_parts: 24 }
    }
}

/// Body and collider of a piece, where it was when it was cut loose: the body's own lengths
/// are metres from the lowest corner of its voxel (0, 0, 0). Mass and inertia are those of
/// its cells; friction and restitution those of the material that it has most of.
pub fn loose_builders(
    body: &LooseBody,
    placement: Placement,
    options: &LooseShapeOptions,
) -> (RigidBodyBuilder, ColliderBuilder) {
    let at = placement.world_from_voxel(body.from.to_array().map(f64::from));
    let voxel_size_m = placement.voxel_size_m as f32;
    let counts = Counts::of(body);
    let shape = shape_of(body, voxel_size_m, options, &counts);
    let rigid = RigidBodyBuilder::dynamic()
        .translation(at.map(|v| v as f32).into())
        .additional_mass_properties(mass_of(body, voxel_size_m));
    let Coefficients { friction, restitution } = coefficients(body.grid.as_snapshot(), counts.most);
    let collider =
        ColliderBuilder::new(shape).density(0.0).friction(friction).restitution(restitution);
    (rigid, collider)
}

/// The collision shape of a piece, metres from the lowest corner of its voxel (0, 0, 0).
pub fn loose_shape(
    body: &LooseBody,
    voxel_size_m: f32,
    options: &LooseShapeOptions,
) -> SharedShape {
    shape_of(body, voxel_size_m, options, &Counts::of(body))
}

/// Where a body of [`loose_builders`] lies, as
/// [`Terrain::write_back`](terravox::terrain::Terrain::write_back) takes it: its place in
/// metres, and its rotation.
pub fn loose_pose(body: &RigidBody) -> ([f64; 3], [f32; 4]) {
    let pose = body.position();
    (pose.translation.to_array().map(f64::from), pose.rotation.to_array())
}

fn mass_of(body: &LooseBody, voxel_size_m: f32) -> MassProperties {
    let mass = body.mass.scaled(voxel_size_m);
    let [xx, yy, zz, xy, xz, yz] = mass.inertia.map(|v| v as f32);
    let inertia = Matrix::from_cols(
        Vector::new(xx, xy, xz),
        Vector::new(xy, yy, yz),
        Vector::new(xz, yz, zz),
    );
    let centre = Vector::from(mass.centre.map(|v| v as f32));
    MassProperties::with_inertia_matrix(centre, mass.mass as f32, inertia)
}

/// What a piece is made of.
struct Counts {
    /// The material of most cells.
    most: u8,
    /// Whether most cells are blocky.
    blocky: bool,
}

impl Counts {
    fn of(body: &LooseBody) -> Counts {
        let (mut by_material, mut cells) = ([0u32; 256], DenseBox::default());
        for chunk in body.grid.chunks() {
            // A body holds all of its cells.
            if body.grid.read(chunk.region(), 0, &mut cells).is_ok() {
                cells.materials().iter().for_each(|&m| by_material[usize::from(m)] += 1);
            }
        }
        let materials = body.grid.materials();
        let solid = (0..=255u8).filter(|&m| materials.kind(m) == Kind::Solid);
        let count = |m: u8| by_material[usize::from(m)];
        let blocky = |m: &u8| materials.shape(*m) == SurfaceShape::Blocky;
        let blocky: u32 = solid.clone().filter(blocky).map(count).sum();
        // Of equal counts the lowest.
        let most = solid.rev().max_by_key(|&m| count(m)).unwrap_or(0);
        Counts { most, blocky: 2 * u64::from(blocky) > body.cells }
    }
}

fn shape_of(
    body: &LooseBody,
    voxel_size_m: f32,
    options: &LooseShapeOptions,
    counts: &Counts,
) -> SharedShape {
    let hulls = if counts.blocky { Vec::new() } else { hulls(body, voxel_size_m, options) };
    let parts = if hulls.is_empty() { boxes(body, voxel_size_m) } else { hulls };
    SharedShape::compound(parts)
}

/// The solid cells as few boxes.
fn boxes(body: &LooseBody, voxel_size_m: f32) -> Vec<(Pose, SharedShape)> {
    let mut octree = SolidOctree::default();
    let mut parts = Vec::new();
    for chunk in body.grid.chunks() {
        // A body holds all of its cells.
        if octree.read(body.grid.as_snapshot(), chunk.region()).is_err() {
            continue;
        }
        for region in SolidBoxes::of(&octree).iter() {
            let corner = |v: [i32; 3]| Vector::from(v.map(|v| v as f32 * voxel_size_m));
            let [min, max] = [region.min, region.max].map(|v| corner(v.to_array()));
            let half = (max - min) / 2.0;
            let pose = Pose::from_translation((min + max) / 2.0);
            parts.push((pose, SharedShape::cuboid(half.x, half.y, half.z)));
        }
    }
    parts
}
