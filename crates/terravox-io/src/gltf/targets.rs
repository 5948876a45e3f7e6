//! A morph target of a part of a tile: where its vertices lie one level up, as differences.
//!
//! Source: the glTF 2.0 specification, "Morph Targets": all primitives of a mesh have as
//! many, and accessors of positions say their bounds.

use super::{ARRAY_BUFFER, FLOAT, GlbBlock, GlbWriter};
use crate::tiles::unit;
use serde_json::{Value, json};
use terravox::mesh::Surface;

/// Bytes of a vertex: differences of position and normal (3 f32 each).
pub(super) const TARGET_BYTES: usize = 24;

impl GlbWriter {
    /// Adds a view of the targets of all vertices; returns the morph target of a primitive.
    /// Vertices without a target stay where they are.
    pub(super) fn add_target(&mut self, surfaces: &[(GlbBlock<'_>, &Surface)]) -> Value {
        let (mut bytes, mut count) = (Vec::new(), 0);
        let (mut min, mut max) = ([f32::INFINITY; 3], [f32::NEG_INFINITY; 3]);
        for (block, surface) in surfaces {
            for i in 0..surface.vertex_count() {
                let way = self.way(block, surface, i);
                for axis in 0..3 {
                    min[axis] = min[axis].min(way[0][axis]);
                    max[axis] = max[axis].max(way[0][axis]);
                }
                bytes.extend(way.as_flattened().iter().flat_map(|v| v.to_le_bytes()));
                count += 1;
            }
        }
        let view =
            self.add_view(bytes, json!({ "byteStride": TARGET_BYTES, "target": ARRAY_BUFFER }));
        let accessor = |offset: usize| {
            json!({
                "bufferView": view, "byteOffset": offset, "count": count,
                "componentType": FLOAT, "type": "VEC3",
            })
        };
        let (mut position, normal) = (accessor(0), accessor(12));
        position["min"] = json!(min.map(f64::from));
        position["max"] = json!(max.map(f64::from));
        let [position, normal] = [position, normal].map(|accessor| self.add_accessor(accessor));
        json!({ "POSITION": position, "NORMAL": normal })
    }

    /// By how much the position of a vertex and its normal change.
    fn way(&self, block: &GlbBlock<'_>, surface: &Surface, vertex: usize) -> [[f32; 3]; 2] {
        let targets = &surface.targets;
        if targets.is_empty() {
            return [[0.0; 3]; 2];
        }
        let place = |p| self.options.frame.position_at(block.mip, block.mesh.block, p);
        // Of what is written, so that all blocks that show a vertex write the same bits.
        let less = |to: [f32; 3], from: [f32; 3]| [0, 1, 2].map(|axis| to[axis] - from[axis]);
        [
            less(place(targets.positions[vertex]), place(surface.positions[vertex])),
            less(unit(targets.normals[vertex]), unit(surface.normals[vertex])),
        ]
    }
}
