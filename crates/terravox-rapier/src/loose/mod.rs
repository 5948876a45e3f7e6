//! Pieces that edits cut loose, as bodies of Rapier: collision shape, mass and pose.
//!
//! A piece with mostly blocky cells becomes merged boxes of its solid cells. Any other becomes convex
//! hulls of the vertices of its mesh, so that collision matches what is drawn, or boxes if there are
//! no hulls.

mod hulls;

use hulls::convex_hulls;
use rapier3d::math::{Matrix, Vector};
use rapier3d::prelude::{
    ColliderBuilder, MassProperties, Pose, RigidBody, RigidBodyBuilder, SharedShape,
};
use terravox::bodies::LooseBody;
use terravox::boxes::{SolidBoxes, SolidOctree};
use terravox::terrain::Placement;
use terravox::voxel::{DenseBox, Kind, SurfaceShape};

use crate::ground::{Coefficients, coefficients};
use crate::options::LooseShapeOptions;

/// Body and collider of a piece, at the position where it was cut loose: the body's local origin is
/// the min corner of its voxel (0, 0, 0), in metres. Mass and inertia are those of its cells;
/// friction and restitution those of its most frequent material. Positions of Rapier are f32: at
/// 10⁶ m they are rounded to 1/16 m.
///
/// # Panics
/// If the piece has no solid cell.
pub fn loose_builders(
    body: &LooseBody,
    placement: Placement,
    options: &LooseShapeOptions,
) -> (RigidBodyBuilder, ColliderBuilder) {
    let position = placement.world_from_voxel(body.origin_voxel.to_array().map(f64::from));
    let voxel_size_m = placement.voxel_size_m as f32;
    let counts = MaterialCounts::of(body);
    let shape = shape_of(body, voxel_size_m, options, &counts);
    let rigid = RigidBodyBuilder::dynamic()
        .translation(position.map(|v| v as f32).into())
        .additional_mass_properties(mass_of(body, voxel_size_m));
    let Coefficients { friction, restitution } =
        coefficients(body.grid.as_snapshot(), counts.most_frequent);
    let collider =
        ColliderBuilder::new(shape).density(0.0).friction(friction).restitution(restitution);
    (rigid, collider)
}

/// The collision shape of a piece, metres from the min corner of its voxel (0, 0, 0).
///
/// # Panics
/// If the piece has no solid cell.
pub fn loose_shape(
    body: &LooseBody,
    voxel_size_m: f32,
    options: &LooseShapeOptions,
) -> SharedShape {
    shape_of(body, voxel_size_m, options, &MaterialCounts::of(body))
}

/// The pose of a body of [`loose_builders`], for
/// [`Terrain::write_back`](terravox::terrain::Terrain::write_back): position in metres and rotation
/// as a quaternion (x, y, z, w).
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

/// Materials of a piece.
struct MaterialCounts {
    most_frequent: u8,
    /// Whether more than half of all cells are blocky.
    is_blocky: bool,
}

impl MaterialCounts {
    fn of(body: &LooseBody) -> MaterialCounts {
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
        let is_blocky = |m: &u8| materials.shape(*m) == SurfaceShape::Blocky;
        let blocky_cells: u32 = solid.clone().filter(is_blocky).map(count).sum();
        // The lowest id on ties.
        let most_frequent = solid.rev().max_by_key(|&m| count(m)).unwrap_or(0);
        MaterialCounts { most_frequent, is_blocky: 2 * u64::from(blocky_cells) > body.cells }
    }
}

fn shape_of(
    body: &LooseBody,
    voxel_size_m: f32,
    options: &LooseShapeOptions,
    counts: &MaterialCounts,
) -> SharedShape {
    let hulls =
        if counts.is_blocky { Vec::new() } else { convex_hulls(body, voxel_size_m, options) };
    let parts = if hulls.is_empty() { boxes(body, voxel_size_m) } else { hulls };
    SharedShape::compound(parts)
}

/// The solid cells as merged boxes.
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
