//! Vertices as bytes: 32 in floats, or 20 quantized.
//!
//! Source: KHR_mesh_quantization (Khronos, 2019): positions of 16 bits in the space of the node,
//! which scales them, and normals of 8 bits. All attributes begin at multiples of four bytes.

use super::binary_chunk::{BYTE, FLOAT, UNSIGNED_BYTE, UNSIGNED_SHORT};
use super::block::{BlockSurface, GlbBlock};
use super::colours::{LinearColours, tinted};
use crate::tiles::{ExportFrame, unit};
use serde_json::{Value, json};
use terravox::voxel::{Region, VoxelPos};

/// Steps of a quantized position in a voxel.
const STEPS_PER_VOXEL: f64 = 64.0;
/// Cells beyond the blocks of an object in which vertices may lie.
const MARGIN_CELLS: i32 = 4;

/// How the positions of an object are written.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum PositionFormat {
    /// Floats, in units of the file.
    Float,
    /// Whole steps of 1/64 voxel from a corner. Quantized objects that share vertices have the same
    /// steps, so that they meet without gaps.
    Steps {
        /// The corner.
        corner: VoxelPos,
    },
}

impl PositionFormat {
    /// Steps for an object over some voxels, of cells of up to `max_mip`, if it is small enough for 16
    /// bits.
    pub fn steps(voxels: Region, max_mip: u8) -> PositionFormat {
        let margin = MARGIN_CELLS << max_mip;
        let longest = voxels.grow(margin).size().into_iter().max().unwrap_or(0);
        match longest as f64 * STEPS_PER_VOXEL <= f64::from(u16::MAX) {
            true => PositionFormat::Steps { corner: voxels.min - VoxelPos::splat(margin) },
            false => PositionFormat::Float,
        }
    }

    /// Whether positions are quantized.
    pub fn is_quantized(self) -> bool {
        self != PositionFormat::Float
    }

    /// The frame of the object: its own if it is quantized, else `frame`.
    pub fn frame(self, frame: ExportFrame) -> ExportFrame {
        match self {
            PositionFormat::Float => frame,
            PositionFormat::Steps { corner } => ExportFrame { origin: corner, ..frame },
        }
    }

    /// The scale of the node; `None` for 1.
    pub fn scale(self, frame: ExportFrame) -> Option<f64> {
        self.is_quantized().then(|| frame.voxel_size_m / STEPS_PER_VOXEL)
    }
}

/// Byte offsets of vertex attributes.
#[derive(Clone, Copy, Debug)]
pub(super) struct VertexLayout {
    is_quantized: bool,
    has_materials: bool,
}

impl VertexLayout {
    pub fn new(positions: PositionFormat, has_materials: bool) -> VertexLayout {
        VertexLayout { is_quantized: positions.is_quantized(), has_materials }
    }

    /// Offsets of the normal, the colour and the materials: after three f32 each, or after three u16
    /// and three i8, each padded to a multiple of four bytes.
    fn offsets(self) -> [usize; 3] {
        if self.is_quantized { [8, 12, 20] } else { [12, 24, 32] }
    }

    /// Bytes of a vertex.
    pub fn stride(self) -> usize {
        // Four materials and four weights, a byte each.
        self.offsets()[2] + if self.has_materials { 8 } else { 0 }
    }

    /// The attributes of a view of `count` vertices within `bounds`, as accessors by name.
    pub fn accessors(self, view: usize, count: u64, bounds: Bounds) -> Vec<(&'static str, Value)> {
        let accessor = |offset: usize, kind: u32, shape: &str| {
            json!({
                "bufferView": view, "byteOffset": offset, "count": count,
                "componentType": kind, "type": shape,
            })
        };
        let normalized = |mut accessor: Value| {
            accessor["normalized"] = json!(true);
            accessor
        };
        let [normal_at, colour_at, materials_at] = self.offsets();
        let (mut position, normal) = match self.is_quantized {
            true => {
                (accessor(0, UNSIGNED_SHORT, "VEC3"), normalized(accessor(normal_at, BYTE, "VEC3")))
            }
            false => (accessor(0, FLOAT, "VEC3"), accessor(normal_at, FLOAT, "VEC3")),
        };
        position["min"] = json!(bounds.min.map(f64::from));
        position["max"] = json!(bounds.max.map(f64::from));
        let colour = normalized(accessor(colour_at, UNSIGNED_SHORT, "VEC4"));
        let mut all = vec![("POSITION", position), ("NORMAL", normal), ("COLOR_0", colour)];
        if self.has_materials {
            all.push(("_MATERIALS", accessor(materials_at, UNSIGNED_BYTE, "VEC4")));
            let weights = accessor(materials_at + 4, UNSIGNED_BYTE, "VEC4");
            all.push(("_WEIGHTS", normalized(weights)));
        }
        all
    }
}

/// Bounds of written positions.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bounds {
    pub min: [f32; 3],
    pub max: [f32; 3],
}

/// Writes the vertices of an object.
pub(super) struct VertexWriter<'a> {
    pub positions: PositionFormat,
    /// The frame of the object.
    pub frame: ExportFrame,
    pub colours: &'a LinearColours,
    pub has_materials: bool,
}

impl VertexWriter<'_> {
    /// Returns the bytes of all vertices, interleaved, and the bounds of their positions.
    pub fn write(&self, surfaces: &[BlockSurface<'_>]) -> (Vec<u8>, Bounds) {
        let mut bytes = Vec::new();
        let mut bounds = Bounds { min: [f32::INFINITY; 3], max: [f32::NEG_INFINITY; 3] };
        for BlockSurface { block, surface } in surfaces {
            for i in 0..surface.vertex_count() {
                let written = self.write_position(block, surface.positions[i], &mut bytes);
                for axis in 0..3 {
                    bounds.min[axis] = bounds.min[axis].min(written[axis]);
                    bounds.max[axis] = bounds.max[axis].max(written[axis]);
                }
                self.write_normal(unit(surface.normals[i]), &mut bytes);
                let colour = self.colours.blend(surface.materials[i], surface.weights[i]);
                let colour = block.tint.map_or(colour, |tint| tinted(colour, tint));
                bytes.extend(colour.iter().flat_map(|v| v.to_le_bytes()));
                if self.has_materials {
                    bytes.extend(surface.materials[i]);
                    bytes.extend(surface.weights[i]);
                }
            }
        }
        (bytes, bounds)
    }

    /// Writes a position; returns it as it was written.
    fn write_position(&self, block: &GlbBlock<'_>, at: [f32; 3], out: &mut Vec<u8>) -> [f32; 3] {
        if !self.positions.is_quantized() {
            let position = self.frame.position_at(block.mip, block.mesh.block, at);
            out.extend(position.iter().flat_map(|v| v.to_le_bytes()));
            return position;
        }
        let voxels = self.frame.voxels_at(block.mip, block.mesh.block, at);
        // Casts saturate.
        let steps = voxels.map(|v| (v * STEPS_PER_VOXEL).round() as u16);
        out.extend(steps.iter().flat_map(|v| v.to_le_bytes()));
        out.extend([0; 2]);
        steps.map(f32::from)
    }

    fn write_normal(&self, normal: [f32; 3], out: &mut Vec<u8>) {
        if self.positions.is_quantized() {
            out.extend(normal.map(|v| ((v * 127.0).round() as i8).cast_unsigned()));
            out.push(0);
        } else {
            out.extend(normal.iter().flat_map(|v| v.to_le_bytes()));
        }
    }
}
