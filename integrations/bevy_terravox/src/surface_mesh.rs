//! Surfaces as meshes of Bevy: positions, normals, colours of the palette, in parts that fit into
//! the upload budget.

use bevy::asset::RenderAssetUsages;
use bevy::camera::primitives::Aabb;
use bevy::mesh::{
    Indices, MeshVertexAttribute, PrimitiveTopology, VertexAttributeValues, VertexFormat,
};
use bevy::prelude::*;
use terravox::mesh::Surface;
use terravox::voxel::{Kind, MaterialTable};

use crate::made_mesh::MeshStyle;

/// Up to four materials of a vertex.
pub(crate) const ATTRIBUTE_MATERIALS: MeshVertexAttribute =
    MeshVertexAttribute::new("Terravox_Materials", 0x7e77_a000, VertexFormat::Uint8x4);
/// Their weights.
pub(crate) const ATTRIBUTE_WEIGHTS: MeshVertexAttribute =
    MeshVertexAttribute::new("Terravox_Weights", 0x7e77_a001, VertexFormat::Unorm8x4);
/// Where a vertex lies one mip up, and by how many steps its mip is above the block's.
pub(crate) const ATTRIBUTE_GOAL: MeshVertexAttribute =
    MeshVertexAttribute::new("Terravox_Goal", 0x7e77_a002, VertexFormat::Float32x4);
/// Its normal one mip up.
pub(crate) const ATTRIBUTE_GOAL_NORMAL: MeshVertexAttribute =
    MeshVertexAttribute::new("Terravox_GoalNormal", 0x7e77_a003, VertexFormat::Float32x3);

/// Bytes of a vertex: position, normal, colour, materials, weights.
const VERTEX_BYTES: usize = 12 + 12 + 16 + 4 + 4;
/// Bytes of where it lies one mip up.
const GOAL_BYTES: usize = 16 + 12;
const INDEX_BYTES: usize = 4;

/// How opaque liquids are.
const LIQUID_ALPHA: f32 = 0.7;

/// Linear colours by material.
pub(crate) struct Colours([[f32; 4]; 256]);

impl Colours {
    /// Those of a table.
    pub fn of(table: &MaterialTable) -> Colours {
        Colours(std::array::from_fn(|id| {
            let id = id as u8;
            let [r, g, b] = table.colour(id);
            let alpha = if table.kind(id) == Kind::Liquid { LIQUID_ALPHA } else { 1.0 };
            Color::srgb_u8(r, g, b).to_linear().with_alpha(alpha).to_f32_array()
        }))
    }

    /// The colour of a vertex.
    fn mixed(&self, materials: [u8; 4], weights: [u8; 4]) -> [f32; 4] {
        // Most vertices have one material.
        if weights[1..] == [0; 3] {
            return self.0[usize::from(materials[0])];
        }
        let mut sum = [0.0; 4];
        let mut total = 0.0;
        for (material, weight) in materials.into_iter().zip(weights) {
            let (colour, weight) = (self.0[usize::from(material)], f32::from(weight));
            (0..4).for_each(|i| sum[i] += weight * colour[i]);
            total += weight;
        }
        sum.map(|v| v / total.max(1.0))
    }
}

/// Bytes of a surface as one mesh.
pub(crate) fn surface_bytes(surface: &Surface) -> usize {
    bytes_of(surface, surface.vertex_count(), surface.indices.len())
}

/// Bytes of some vertices and indices of a surface.
fn bytes_of(surface: &Surface, vertices: usize, indices: usize) -> usize {
    let goal = if surface.targets.is_empty() { 0 } else { GOAL_BYTES };
    vertices * (VERTEX_BYTES + goal) + indices * INDEX_BYTES
}

/// A mesh and what it takes.
pub(crate) struct SurfaceMesh {
    pub mesh: Mesh,
    pub bounds: Aabb,
    pub bytes: usize,
}

/// The triangles `from..` of a surface as a mesh of at most the bytes of a style, in cells of its
/// block. Returns the mesh, and the triangle at which the next part begins, if there is one.
pub(crate) fn part_from(
    surface: &Surface,
    from: usize,
    style: &MeshStyle,
) -> (SurfaceMesh, Option<usize>) {
    let MeshStyle { colours, max_bytes, usage } = style;
    let (max_bytes, usage) = (*max_bytes, *usage);
    if from == 0 && surface_bytes(surface) <= max_bytes {
        return (whole(surface, colours, usage), None);
    }
    let mut new_of_old = vec![u32::MAX; surface.vertex_count()];
    let (mut old, mut indices) = (Vec::new(), Vec::new());
    let mut next = from;
    for triangle in surface.triangles().skip(from) {
        if bytes_of(surface, old.len() + 3, indices.len() + 3) > max_bytes && !indices.is_empty() {
            break;
        }
        for vertex in triangle {
            let new = &mut new_of_old[vertex as usize];
            if *new == u32::MAX {
                *new = old.len() as u32;
                old.push(vertex as usize);
            }
            indices.push(*new);
        }
        next += 1;
    }
    let mesh = mesh_of(surface, old.into_iter(), indices, colours, usage);
    (mesh, (next < surface.triangle_count()).then_some(next))
}

fn whole(surface: &Surface, colours: &Colours, usage: RenderAssetUsages) -> SurfaceMesh {
    mesh_of(surface, 0..surface.vertex_count(), surface.indices.clone(), colours, usage)
}

/// These vertices of a surface as a mesh.
fn mesh_of(
    surface: &Surface,
    vertices: impl ExactSizeIterator<Item = usize> + Clone,
    indices: Vec<u32>,
    colours: &Colours,
    usage: RenderAssetUsages,
) -> SurfaceMesh {
    let bytes = bytes_of(surface, vertices.len(), indices.len());
    let (mut min, mut max) = (Vec3::INFINITY, Vec3::NEG_INFINITY);
    for vertex in vertices.clone() {
        let position = Vec3::from(surface.positions[vertex]);
        (min, max) = (min.min(position), max.max(position));
    }
    let colour = |v: usize| colours.mixed(surface.materials[v], surface.weights[v]);
    let take = |of: &[[f32; 3]]| vertices.clone().map(|v| of[v]).collect::<Vec<_>>();
    let bytes4 = |of: &[[u8; 4]]| vertices.clone().map(|v| of[v]).collect::<Vec<_>>();
    let mut mesh = Mesh::new(PrimitiveTopology::TriangleList, usage)
        .with_inserted_attribute(Mesh::ATTRIBUTE_POSITION, take(&surface.positions))
        .with_inserted_attribute(Mesh::ATTRIBUTE_NORMAL, take(&surface.normals))
        .with_inserted_attribute(
            Mesh::ATTRIBUTE_COLOR,
            vertices.clone().map(colour).collect::<Vec<_>>(),
        )
        .with_inserted_attribute(
            ATTRIBUTE_MATERIALS,
            VertexAttributeValues::Uint8x4(bytes4(&surface.materials)),
        )
        .with_inserted_attribute(
            ATTRIBUTE_WEIGHTS,
            VertexAttributeValues::Unorm8x4(bytes4(&surface.weights)),
        );
    let targets = &surface.targets;
    if !targets.is_empty() {
        let goal = |v: usize| {
            let [x, y, z] = targets.positions[v];
            [x, y, z, f32::from(targets.steps[v])]
        };
        mesh.insert_attribute(ATTRIBUTE_GOAL, vertices.clone().map(goal).collect::<Vec<_>>());
        mesh.insert_attribute(ATTRIBUTE_GOAL_NORMAL, take(&targets.normals));
        // Vertices move up to the goal: what is drawn stays within both.
        for position in vertices.clone().map(|v| Vec3::from(targets.positions[v])) {
            (min, max) = (min.min(position), max.max(position));
        }
    }
    mesh.insert_indices(Indices::U32(indices));
    SurfaceMesh { mesh, bounds: Aabb::from_min_max(min, max), bytes }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use terravox::mesh::{BlockMesh, Mesher, PAD};
    use terravox::voxel::{DenseBox, Region};

    fn hill() -> Surface {
        let mut cells = DenseBox::new(Region::new([0; 3], [32; 3]).grow(PAD));
        terravox::generate::fill_sdf(
            &mut cells,
            0,
            |[x, y, _]| 6.0 + 0.02 * x * x - y,
            |[x, ..]| if x < 9.0 { 2 } else { 8 },
        );
        let mut mesh = BlockMesh::new();
        Mesher::new().mesh(&cells, &MaterialTable::default(), &mut mesh);
        mesh.solid
    }

    /// The corners of all triangles, in order.
    fn corners(mesh: &Mesh) -> Vec<([f32; 3], [f32; 4])> {
        let positions = mesh.attribute(Mesh::ATTRIBUTE_POSITION).unwrap().as_float3().unwrap();
        let Some(bevy::mesh::VertexAttributeValues::Float32x4(colours)) =
            mesh.attribute(Mesh::ATTRIBUTE_COLOR)
        else {
            panic!("colours are missing");
        };
        mesh.indices().unwrap().iter().map(|i| (positions[i], colours[i])).collect()
    }

    #[test]
    fn parts_have_the_triangles_of_the_whole_and_fit_into_the_budget() {
        let (surface, colours) = (hill(), Colours::of(&MaterialTable::default()));
        let (colours, usage) = (Arc::new(colours), RenderAssetUsages::default());
        let style = MeshStyle { colours, max_bytes: usize::MAX, usage };
        let (one, rest) = part_from(&surface, 0, &style);
        let style = MeshStyle { max_bytes: 9000, ..style };
        assert_eq!((rest, one.bytes), (None, surface_bytes(&surface)));
        let (mut all, mut from, mut parts) = (Vec::new(), Some(0), 0);
        while let Some(start) = from {
            let (part, next) = part_from(&surface, start, &style);
            assert!(part.bytes <= 9000);
            all.extend(corners(&part.mesh));
            (from, parts) = (next, parts + 1);
        }
        assert!(parts > 5);
        assert_eq!(all, corners(&one.mesh));
    }

    #[test]
    fn vertices_between_two_materials_have_a_colour_between() {
        let table = MaterialTable::default();
        let colours = Colours::of(&table);
        let (grass, rock) = (colours.0[2], colours.0[8]);
        assert_eq!(colours.mixed([2, 0, 0, 0], [255, 0, 0, 0]), grass);
        let half = colours.mixed([2, 8, 0, 0], [128, 127, 0, 0]);
        assert!((0..4).all(|i| (half[i] - (grass[i] + rock[i]) / 2.0).abs() < 0.01));
        assert_eq!(colours.0[1][3], LIQUID_ALPHA);
    }
}
