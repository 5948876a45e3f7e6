//! Pieces that edits cut loose, as bodies of Rapier: their collision shape, their mass, and
//! where they lie.
//!
//! A piece of blocky cells becomes its merged boxes, exactly. Any other becomes convex hulls:
//! parry's approximate convex decomposition (V-HACD: Mamou and Ghorbel, "A simple and
//! efficient approach for 3D mesh approximate convex decomposition", 2009) says which parts,
//! and each part's hull is that of the mesh's own vertices in it, so that faces lie where
//! they are seen.

use rapier3d::math::{Matrix, Vector};
use rapier3d::parry::transformation::vhacd::{VHACD, VHACDParameters};
use rapier3d::parry::transformation::voxelization::VoxelSet;
use rapier3d::prelude::{
    ColliderBuilder, MassProperties, Pose, RigidBody, RigidBodyBuilder, SharedShape,
};
use rustc_hash::FxHashMap;
use terravox::bodies::LooseBody;
use terravox::collide::{SolidBoxes, SolidOctree};
use terravox::terrain::Placement;
use terravox::voxel::{DenseBox, Kind, Shape};

/// How the collision shape of a piece is made.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LooseShapeOptions {
    /// Cells along the longest edge in which the piece is taken apart. Time grows with its
    /// cube.
    pub resolution: u32,
    /// Share of the volume by which a part may differ from its hull.
    pub concavity: f32,
    /// Most convex parts.
    pub most_parts: u32,
}

impl Default for LooseShapeOptions {
    /// 32 along the longest edge, 2 %, 24 parts.
    fn default() -> LooseShapeOptions {
        LooseShapeOptions { resolution: 32, concavity: 0.02, most_parts: 24 }
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
    let at = placement.world_from_voxel_f64(body.from.to_array().map(f64::from));
    let counts = Counts::of(body);
    let shape = shape_of(body, placement.voxel_size_m, options, &counts);
    let rigid = RigidBodyBuilder::dynamic()
        .translation(at.into())
        .additional_mass_properties(mass_of(body, placement.voxel_size_m));
    let material = body.grid.materials().get(counts.most);
    let [friction, restitution] =
        material.map_or([0.7, 0.0], |material| [material.friction, material.restitution]);
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
pub fn loose_pose(body: &RigidBody) -> ([f32; 3], [f32; 4]) {
    let pose = body.position();
    (pose.translation.to_array(), pose.rotation.to_array())
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
        let blocky = |m: &u8| materials.shape(*m) == Shape::Blocky;
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
        if octree.read(&body.grid, chunk.region()).is_err() {
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

/// The surface as one mesh, metres.
fn surface(body: &LooseBody, voxel_size_m: f32) -> (Vec<Vector>, Vec<[u32; 3]>) {
    let (mut points, mut triangles) = (Vec::new(), Vec::new());
    for mesh in &body.meshes {
        let corner = mesh.block.min.to_array().map(|v| v as f32);
        let first = points.len() as u32;
        let place =
            |p: &[f32; 3]| Vector::from([0, 1, 2].map(|i| (p[i] + corner[i]) * voxel_size_m));
        points.extend(mesh.solid.positions.iter().map(place));
        let indices = mesh.solid.indices.chunks_exact(3);
        triangles.extend(indices.map(|t| [t[0] + first, t[1] + first, t[2] + first]));
    }
    (points, triangles)
}

/// The piece as convex hulls; none if it is too small to be taken apart.
fn hulls(
    body: &LooseBody,
    voxel_size_m: f32,
    options: &LooseShapeOptions,
) -> Vec<(Pose, SharedShape)> {
    let (points, triangles) = surface(body, voxel_size_m);
    if triangles.is_empty() {
        return Vec::new();
    }
    let parameters = VHACDParameters {
        resolution: options.resolution.clamp(8, 256),
        concavity: options.concavity,
        max_convex_hulls: options.most_parts.max(1),
        ..VHACDParameters::default()
    };
    let apart = VHACD::decompose(&parameters, &points, &triangles, false);
    let parts = Parts::new(apart.voxel_parts());
    let mut inside = parts.corners();
    for &point in &points {
        parts.each_near(point, |part| inside[part].push(point));
    }
    let hull = |points: &Vec<Vector>| SharedShape::convex_hull(&outermost(points));
    inside.iter().filter_map(hull).map(|hull| (Pose::IDENTITY, hull)).collect()
}

/// Which part holds each cell of the decomposition.
struct Parts<'a> {
    sets: &'a [VoxelSet],
    owners: FxHashMap<[i32; 3], usize>,
}

impl<'a> Parts<'a> {
    fn new(sets: &'a [VoxelSet]) -> Parts<'a> {
        let mut owners = FxHashMap::default();
        for (part, set) in sets.iter().enumerate() {
            let cells = set.voxels().iter().map(|voxel| (<[i32; 3]>::from(voxel.coords), part));
            owners.extend(cells);
        }
        Parts { sets, owners }
    }

    /// For every part the corners of the faces that it shares with others.
    fn corners(&self) -> Vec<Vec<Vector>> {
        let mut corners = vec![Vec::new(); self.sets.len()];
        for (part, set) in self.sets.iter().enumerate() {
            let half = Vector::splat(set.scale / 2.0);
            for voxel in set.voxels() {
                let at = <[i32; 3]>::from(voxel.coords);
                for side in 0..6 {
                    let (axis, step) = (side / 2, if side % 2 == 0 { -1 } else { 1 });
                    let mut next = at;
                    next[axis] += step;
                    let other = self.owners.get(&next);
                    if other.is_none_or(|&other| other == part) {
                        continue;
                    }
                    for corner in 0..8 {
                        let sign = |i: usize| if corner >> i & 1 == 0 { -1.0 } else { 1.0 };
                        if sign(axis) == step as f32 {
                            let sign = Vector::new(sign(0), sign(1), sign(2));
                            corners[part].push(set.get_voxel_point(voxel) + half * sign);
                        }
                    }
                }
            }
        }
        corners
    }

    /// The parts that hold a cell at a point, or one beside it.
    fn each_near(&self, point: Vector, mut each: impl FnMut(usize)) {
        let Some(set) = self.sets.first() else { return };
        let mut known = [usize::MAX; 8];
        let mut count = 0;
        for corner in 0..8 {
            let off = |i: usize| if corner >> i & 1 == 0 { -0.01 } else { 0.01 };
            let at = (point - set.origin) / set.scale;
            let cell = [0, 1, 2].map(|i| (at[i] + off(i)).round() as i32);
            if let Some(&part) = self.owners.get(&cell)
                && !known[..count].contains(&part)
            {
                known[count] = part;
                count += 1;
                each(part);
            }
        }
    }
}

/// Directions in which a hull keeps its outermost point: the corners and the middles of the
/// edges and faces of nested cubes, so that the hulls of boxes are exact.
const STEPS: [f32; 5] = [-1.0, -0.5, 0.0, 0.5, 1.0];

/// The points that are outermost in some direction: hulls of few points are quick to meet.
fn outermost(points: &[Vector]) -> Vec<Vector> {
    let mut kept: Vec<usize> = Vec::new();
    for (x, y, z) in
        STEPS.iter().flat_map(|x| STEPS.iter().flat_map(move |y| STEPS.map(|z| (*x, *y, z))))
    {
        let direction = Vector::new(x, y, z);
        // The surface of the cube: each direction once.
        if direction.abs().max_element() < 1.0 {
            continue;
        }
        let far = |i: &usize| points[*i].dot(direction);
        let most = (0..points.len()).max_by(|a, b| far(a).total_cmp(&far(b)));
        kept.extend(most);
    }
    kept.sort_unstable();
    kept.dedup();
    kept.into_iter().map(|i| points[i]).collect()
}
