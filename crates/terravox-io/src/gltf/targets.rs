//! Morph targets: where vertices lie at the next coarser level of detail, as differences.
//!
//! Source: the glTF 2.0 specification, "Morph Targets": all primitives of a mesh have the same
//! number of targets, and accessors of positions state their bounds.

use super::binary_chunk::{ARRAY_BUFFER, BinaryChunk, FLOAT};
use super::block::{BlockSurface, GlbBlock};
use crate::tiles::{ExportFrame, unit};
use serde_json::{Value, json};
use terravox::mesh::Surface;

/// Bytes of a vertex: differences of position and normal (3 f32 each).
pub(super) const TARGET_BYTES: usize = 24;

/// Adds a view of the targets of all vertices; returns the morph target of the primitives. Vertices
/// without a target stay where they are.
pub(super) fn add_target(
    binary: &mut BinaryChunk,
    frame: ExportFrame,
    surfaces: &[BlockSurface<'_>],
) -> Value {
    let (mut bytes, mut count) = (Vec::new(), 0);
    let (mut min, mut max) = ([f32::INFINITY; 3], [f32::NEG_INFINITY; 3]);
    for BlockSurface { block, surface } in surfaces {
        for i in 0..surface.vertex_count() {
            let VertexOffset { position, normal } = vertex_offset(frame, block, surface, i);
            for axis in 0..3 {
                min[axis] = min[axis].min(position[axis]);
                max[axis] = max[axis].max(position[axis]);
            }
            let values = [position, normal];
            bytes.extend(values.as_flattened().iter().flat_map(|v| v.to_le_bytes()));
            count += 1;
        }
    }
    let view =
        binary.add_view(bytes, json!({ "byteStride": TARGET_BYTES, "target": ARRAY_BUFFER }));
    let accessor = |offset: usize| {
        json!({
            "bufferView": view, "byteOffset": offset, "count": count,
            "componentType": FLOAT, "type": "VEC3",
        })
    };
    let (mut position, normal) = (accessor(0), accessor(12));
    position["min"] = json!(min.map(f64::from));
    position["max"] = json!(max.map(f64::from));
    let [position, normal] = [position, normal].map(|accessor| binary.add_accessor(accessor));
    json!({ "POSITION": position, "NORMAL": normal })
}

/// By how much a vertex changes.
#[derive(Default)]
struct VertexOffset {
    position: [f32; 3],
    normal: [f32; 3],
}

fn vertex_offset(
    frame: ExportFrame,
    block: &GlbBlock<'_>,
    surface: &Surface,
    vertex: usize,
) -> VertexOffset {
    let targets = &surface.targets;
    if targets.is_empty() {
        return VertexOffset::default();
    }
    let in_file = |p| frame.position_at(block.mip, block.mesh.block, p);
    // Differences of the written values, so that all blocks that share a vertex write the same
    // bits.
    let difference = |to: [f32; 3], from: [f32; 3]| [0, 1, 2].map(|axis| to[axis] - from[axis]);
    VertexOffset {
        position: difference(
            in_file(targets.positions[vertex]),
            in_file(surface.positions[vertex]),
        ),
        normal: difference(unit(targets.normals[vertex]), unit(surface.normals[vertex])),
    }
}
