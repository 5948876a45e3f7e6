//! Joins the meshes of touching blocks and welds the vertices between them, so that they are no
//! longer border.

use super::compact::compacted;
use crate::mesh::{BlockMesh, Surface};
use crate::voxel::Region;
use rustc_hash::FxHashMap;

/// Returns the meshes of blocks of one mip as one mesh of `block`, in cells of that mip. Vertices
/// of different blocks are welded if they have the same position and normal, and no block has two
/// such vertices.
///
/// # Panics
/// If a block is not within `block`, or begins more than 255 cells from its min corner.
pub fn join_blocks(block: Region, meshes: &[&BlockMesh]) -> BlockMesh {
    let offset = |mesh: &BlockMesh| {
        assert!(block.contains_region(mesh.block), "{} is not within {block}", mesh.block);
        (mesh.block.min - block.min).to_array().map(|v| {
            assert!(v < 256, "{} begins more than 255 cells from {block}", mesh.block);
            v as u8
        })
    };
    let join = |of: fn(&BlockMesh) -> &Surface| {
        let parts: Vec<_> = meshes.iter().map(|mesh| (of(mesh), offset(mesh))).collect();
        welded(Surface::joined(&parts), parts.iter().map(|(part, _)| part.vertex_count()))
    };
    BlockMesh { block, solid: join(|mesh| &mesh.solid), liquid: join(|mesh| &mesh.liquid) }
}

/// The vertices of one position and normal.
struct WeldGroup {
    first: u32,
    /// The last part that has one.
    last_part: u32,
    /// Whether a part has two, so that none is welded.
    is_ambiguous: bool,
}

/// Makes triangles share the vertices that different parts have in common. `counts` are the
/// vertices of each part.
fn welded(surface: Surface, counts: impl Iterator<Item = usize>) -> Surface {
    let key = |v: usize| {
        let [a, b, c] = surface.positions[v].map(f32::to_bits);
        let [d, e, f] = surface.normals[v].map(f32::to_bits);
        [a, b, c, d, e, f]
    };
    let parts = (0..).zip(counts).flat_map(|(part, count)| std::iter::repeat_n(part, count));
    let mut groups: FxHashMap<[u32; 6], WeldGroup> = FxHashMap::default();
    for (v, part) in (0..).zip(parts) {
        let new = WeldGroup { first: v, last_part: part, is_ambiguous: false };
        let group = groups.entry(key(v as usize)).or_insert(new);
        if group.first != v {
            group.is_ambiguous |= group.last_part == part;
            group.last_part = part;
        }
    }
    let first = |&v: &u32| {
        let group = &groups[&key(v as usize)];
        if group.is_ambiguous { v } else { group.first }
    };
    let indices: Vec<u32> = surface.indices.iter().map(first).collect();
    let used = compacted(&surface, &indices);
    let Surface { quad_materials, quad_faces, loose_materials, .. } = surface;
    Surface { quad_materials, quad_faces, loose_materials, ..used }
}
