//! Meshes of blocks that touch as one, whose vertices between blocks are one, too: what was
//! border between them is not any more.

use super::left::with_used_vertices;
use crate::mesh::{BlockMesh, Surface};
use crate::voxel::Region;
use rustc_hash::FxHashMap;

/// The meshes of blocks of one mip as one; `block`, in cells of their mip, has them all.
/// Vertices of different blocks are one if they have the same place and normal and no other
/// vertex has.
///
/// # Panics
/// If a block is not within `block`, or begins more than 255 cells from its lowest corner.
pub fn joined(block: Region, meshes: &[&BlockMesh]) -> BlockMesh {
    let offset = |mesh: &BlockMesh| {
        assert!(block.contains_region(mesh.block), "{} is not within {block}", mesh.block);
        (mesh.block.min - block.min).to_array().map(|v| {
            assert!(v < 256, "{} begins too far from {block}", mesh.block);
            v as u8
        })
    };
    let join = |of: fn(&BlockMesh) -> &Surface| {
        let parts: Vec<_> = meshes.iter().map(|mesh| (of(mesh), offset(mesh))).collect();
        welded(Surface::joined(&parts), parts.iter().map(|(part, _)| part.vertex_count()))
    };
    BlockMesh { block, solid: join(|mesh| &mesh.solid), liquid: join(|mesh| &mesh.liquid) }
}

/// The first vertex of a place and normal, the last part that has one, and whether a part has
/// two.
struct Seen {
    first: u32,
    part: u32,
    twice: bool,
}

/// Has triangles use the first of vertices of different parts that are the same.
fn welded(surface: Surface, counts: impl Iterator<Item = usize>) -> Surface {
    let key = |v: usize| {
        let [a, b, c] = surface.positions[v].map(f32::to_bits);
        let [d, e, f] = surface.normals[v].map(f32::to_bits);
        [a, b, c, d, e, f]
    };
    let parts = (0..).zip(counts).flat_map(|(part, count)| std::iter::repeat_n(part, count));
    let mut seen: FxHashMap<[u32; 6], Seen> = FxHashMap::default();
    for (v, part) in (0..).zip(parts) {
        let found = seen.entry(key(v as usize)).or_insert(Seen { first: v, part, twice: false });
        if found.first != v {
            found.twice |= found.part == part;
            found.part = part;
        }
    }
    let first = |&v: &u32| {
        let found = &seen[&key(v as usize)];
        if found.twice { v } else { found.first }
    };
    let indices: Vec<u32> = surface.indices.iter().map(first).collect();
    let used = with_used_vertices(&surface, &indices);
    let Surface { quad_materials, quad_faces, loose_materials, .. } = surface;
    Surface { quad_materials, quad_faces, loose_materials, ..used }
}
