//! Pieces that edits cut loose, as rigid bodies: convex hulls of the surface, cube by cube.

use std::collections::BTreeMap;

use avian3d::parry::math::Pose;
use avian3d::parry::shape::SharedShape;
use avian3d::prelude::*;
use bevy::prelude::*;
use glam_matrix_extras::SymmetricMat3;
use terravox::bodies::LooseBody;

use crate::LoosePiece;

/// Edge of the smallest cubes whose surface becomes a hull, voxels.
const MIN_CUBE_VOXELS: i32 = 4;

/// Most hulls of a piece: larger pieces have larger cubes.
const MAX_HULLS: usize = 64;

/// Makes a piece a dynamic body with the mass of its cells.
pub fn on_piece(piece: On<Add, LoosePiece>, pieces: Query<&LoosePiece>, mut commands: Commands) {
    let Ok(LoosePiece { body, voxel_size_m, .. }) = pieces.get(piece.entity) else { return };
    let voxel_size_m = *voxel_size_m as f32;
    let hulls = hulls(body, voxel_size_m);
    if hulls.is_empty() {
        return;
    }
    let mass = body.mass.scaled(voxel_size_m);
    let [xx, yy, zz, xy, xz, yz] = mass.inertia.map(|v| v as f32);
    // Rows of the upper triangle.
    let tensor = AngularInertiaTensor::from(SymmetricMat3::new(xx, xy, xz, yy, yz, zz));
    let centre = Vec3::from(mass.centre.map(|v| v as f32));
    commands.entity(piece.entity).insert((
        RigidBody::Dynamic,
        Collider::from(SharedShape::compound(hulls)),
        Mass(mass.mass as f32),
        AngularInertia::from_tensor(tensor),
        CenterOfMass(centre),
        (NoAutoMass, NoAutoAngularInertia, NoAutoCenterOfMass),
    ));
}

/// The hulls of a piece, in metres from the min corner of its voxel (0, 0, 0).
fn hulls(body: &LooseBody, voxel_size_m: f32) -> Vec<(Pose, SharedShape)> {
    let mut edge = MIN_CUBE_VOXELS;
    loop {
        let cubes = cubes(body, edge);
        if cubes.len() <= MAX_HULLS {
            let points = |cube: Vec<Vec3>| -> Vec<Vec3> {
                cube.into_iter().map(|point| point * voxel_size_m).collect()
            };
            let hull = |cube| SharedShape::convex_hull(&points(cube));
            let hulls = cubes.into_values().filter_map(hull);
            return hulls.map(|hull| (Pose::IDENTITY, hull)).collect();
        }
        edge *= 2;
    }
}

/// The corners of the triangles whose centre is in each cube of the piece, voxels.
fn cubes(body: &LooseBody, edge: i32) -> BTreeMap<[i32; 3], Vec<Vec3>> {
    let mut cubes: BTreeMap<[i32; 3], Vec<Vec3>> = BTreeMap::new();
    for mesh in &body.meshes {
        let corner = Vec3::from(mesh.block.min.to_array().map(|v| v as f32));
        for triangle in mesh.solid.triangles() {
            let points = triangle.map(|v| corner + Vec3::from(mesh.solid.positions[v as usize]));
            let centre = (points[0] + points[1] + points[2]) / 3.0;
            let cube = centre.to_array().map(|v| (v.floor() as i32).div_euclid(edge));
            cubes.entry(cube).or_default().extend(points);
        }
    }
    for points in cubes.values_mut() {
        points.sort_unstable_by(|a, b| {
            a.to_array().partial_cmp(&b.to_array()).unwrap_or(std::cmp::Ordering::Equal)
        });
        points.dedup();
    }
    cubes
}
