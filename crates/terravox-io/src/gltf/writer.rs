//! Collecting tiles and writing the file.

use super::binary_chunk::{
    ARRAY_BUFFER, BinaryChunk, ELEMENT_ARRAY_BUFFER, UNSIGNED_INT, UNSIGNED_SHORT,
};
use super::block::{BlockSurface, GlbBlock};
use super::colours::LinearColours;
use super::nodes::Nodes;
use super::options::GlbOptions;
use super::targets::{TARGET_BYTES, add_target};
use super::vertices::{PositionFormat, VertexLayout, VertexWriter};
use crate::tiles::{ExportFrame, TrianglesByMaterial};
use serde_json::{Value, json};
use std::io::Write;
use terravox::mesh::{BlockMesh, Surface};
use terravox::voxel::{MaterialTable, Region};

/// Bytes of an index of 32 bits.
const MAX_INDEX_BYTES: usize = 4;
const FILE_HEADER_BYTES: u64 = 12;
const CHUNK_HEADER_BYTES: u64 = 8;
/// Memory of an entry of a list in the JSON, about.
const LISTED_BYTES: u64 = 1024;

/// Why a `.glb` could not be written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum GlbError {
    /// The lengths of the format are 32 bits.
    #[error("the .glb would have {bytes} bytes, at most {} fit; export fewer chunks", u32::MAX)]
    TooLarge {
        /// Bytes that it would have.
        bytes: u64,
    },
    /// The file could not be written.
    #[error("{0}")]
    Io(#[from] std::io::Error),
}

/// Counts of a written `.glb`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct GlbStats {
    /// Tiles that have triangles.
    pub tiles: u64,
    /// Vertices of all tiles.
    pub vertices: u64,
    /// Triangles of all tiles.
    pub triangles: u64,
    /// Places of models.
    pub instances: u64,
    /// Bytes of the file.
    pub bytes: u64,
}

/// Collects tiles and writes the file.
///
/// ```
/// use terravox::mesh::{BlockMesh, Mesher, PAD};
/// use terravox::voxel::{DenseBox, MaterialTable, Region};
/// use terravox_io::gltf::{GlbOptions, GlbWriter};
///
/// let mut cells = DenseBox::new(Region::new([0; 3], [8; 3]).grow(PAD));
/// cells.set([3, 3, 3].into(), terravox::voxel::Cell::full(2));
/// let (table, mut mesh) = (MaterialTable::default(), BlockMesh::new());
/// Mesher::new().mesh(&cells, &table, &mut mesh);
///
/// let mut writer = GlbWriter::new(GlbOptions::default(), &table);
/// writer.add_tile("tile 0 0 0", [&mesh]).unwrap();
/// let mut file = Vec::new();
/// let stats = writer.finish(&mut file).unwrap();
/// assert_eq!(stats.triangles, 12);
/// assert!(file.starts_with(b"glTF"));
/// ```
pub struct GlbWriter {
    pub(super) options: GlbOptions,
    table: MaterialTable,
    colours: LinearColours,
    pub(super) binary: BinaryChunk,
    pub(super) materials: Vec<Value>,
    /// glTF material of a solid or liquid surface's material id.
    material_index: [[Option<usize>; 256]; 2],
    /// That of models.
    pub(super) model_material: Option<usize>,
    pub(super) meshes: Vec<Value>,
    /// Those of objects and of places of models.
    pub(super) nodes: Nodes,
    by_material: TrianglesByMaterial,
    /// Whether an object has quantized positions.
    is_quantized: bool,
    /// Whether the places of a model are attributes of a node.
    pub(super) is_instanced: bool,
    pub(super) stats: GlbStats,
}

/// Where an object lies, and how its positions are written.
#[derive(Clone, Copy)]
struct ObjectPlace {
    positions: PositionFormat,
    frame: ExportFrame,
}

/// The kind of a surface that is written.
#[derive(Clone, Copy, PartialEq)]
enum SurfaceKind {
    Solid,
    Liquid,
}

impl GlbWriter {
    /// Starts an empty file.
    pub fn new(options: GlbOptions, table: &MaterialTable) -> GlbWriter {
        GlbWriter {
            options,
            table: table.clone(),
            colours: LinearColours::new(table),
            binary: BinaryChunk::default(),
            materials: Vec::new(),
            material_index: [[None; 256]; 2],
            model_material: None,
            meshes: Vec::new(),
            nodes: Nodes::default(),
            by_material: TrianglesByMaterial::default(),
            is_quantized: false,
            is_instanced: false,
            stats: GlbStats::default(),
        }
    }

    /// Adds the meshes of blocks, at mip 0, as one object. Adds nothing if they have no triangles.
    ///
    /// # Errors
    /// [`GlbError::TooLarge`] if the file would exceed 4 GiB.
    pub fn add_tile<'m>(
        &mut self,
        name: &str,
        blocks: impl IntoIterator<Item = &'m BlockMesh>,
    ) -> Result<(), GlbError> {
        self.add_blocks(name, blocks.into_iter().map(|mesh| GlbBlock { mesh, mip: 0, tint: None }))
    }

    /// Adds the meshes of blocks, each at its own mip, as one object. Adds nothing if they have no
    /// triangles.
    ///
    /// # Errors
    /// [`GlbError::TooLarge`] if the file would exceed 4 GiB.
    pub fn add_blocks<'m>(
        &mut self,
        name: &str,
        blocks: impl IntoIterator<Item = GlbBlock<'m>>,
    ) -> Result<(), GlbError> {
        let blocks: Vec<GlbBlock<'m>> = blocks.into_iter().collect();
        let surfaces = |surface: fn(&BlockMesh) -> &Surface| -> Vec<BlockSurface<'m>> {
            let all =
                blocks.iter().map(|&block| BlockSurface { block, surface: surface(block.mesh) });
            all.filter(|part| !part.surface.is_empty()).collect()
        };
        let place = self.place_of(&blocks);
        let mut primitives = Vec::new();
        let (solid, liquid) = (surfaces(|mesh| &mesh.solid), surfaces(|mesh| &mesh.liquid));
        self.add_surfaces(SurfaceKind::Solid, place, &solid, &mut primitives)?;
        self.add_surfaces(SurfaceKind::Liquid, place, &liquid, &mut primitives)?;
        if !primitives.is_empty() {
            let mut mesh = json!({ "name": name, "primitives": primitives });
            if self.options.targets {
                mesh["weights"] = json!([0.0]);
                mesh["extras"] = json!({ "targetNames": ["next level"] });
            }
            self.meshes.push(mesh);
            self.nodes.push(&self.object_node(name, place));
            self.is_quantized |= place.positions.is_quantized();
            self.stats.tiles += 1;
        }
        Ok(())
    }

    /// The node of the last mesh.
    fn object_node(&self, name: &str, place: ObjectPlace) -> Value {
        let frame = self.options.frame;
        let mut node = json!({ "name": name, "mesh": self.meshes.len() - 1 });
        if place.frame.origin != frame.origin {
            node["translation"] = json!(frame.way_to(&place.frame));
        }
        if let Some(scale) = place.positions.scale(frame) {
            node["scale"] = json!([scale, scale, scale]);
        }
        node
    }

    /// Where the object of some blocks lies, and how its positions are written.
    fn place_of(&self, blocks: &[GlbBlock<'_>]) -> ObjectPlace {
        let voxels = blocks.iter().map(|block| block.mesh.block.finer(block.mip.into()));
        let origin = self.options.frame.origin;
        let voxels = voxels.reduce(Region::union).unwrap_or(Region { min: origin, max: origin });
        let max_mip = blocks.iter().map(|block| block.mip).max().unwrap_or(0);
        // Targets are differences in units of the file.
        let positions = match self.options.quantize && !self.options.targets {
            true => PositionFormat::steps(voxels, max_mip),
            false => PositionFormat::Float,
        };
        let frame = positions.frame(self.options.frame.of_object(voxels.min));
        ObjectPlace { positions, frame }
    }

    /// Adds vertices and indices of the solid or liquid surfaces of an object, and a primitive per
    /// material.
    fn add_surfaces(
        &mut self,
        kind: SurfaceKind,
        place: ObjectPlace,
        surfaces: &[BlockSurface<'_>],
        primitives: &mut Vec<Value>,
    ) -> Result<(), GlbError> {
        let vertices: u64 = surfaces.iter().map(|part| part.surface.vertex_count() as u64).sum();
        let indices: u64 = surfaces.iter().map(|part| part.surface.indices.len() as u64).sum();
        if indices == 0 {
            return Ok(());
        }
        let target_bytes = if self.options.targets { TARGET_BYTES } else { 0 };
        let layout = VertexLayout::new(place.positions, self.options.materials);
        let vertex_bytes = (layout.stride() + target_bytes) as u64;
        self.check_size(vertex_bytes * vertices + MAX_INDEX_BYTES as u64 * indices)?;
        self.stats.vertices += vertices;
        self.stats.triangles += indices / 3;
        let mut primitive = json!({ "attributes": self.add_vertices(place, surfaces) });
        if self.options.targets {
            primitive["targets"] = json!([add_target(&mut self.binary, place.frame, surfaces)]);
        }
        self.by_material.clear();
        let mut first = 0;
        for BlockSurface { surface, .. } in surfaces {
            self.by_material.add(surface, first);
            first += surface.vertex_count() as u32;
        }
        // 65,535 is the index of primitive restart.
        let is_short = place.positions.is_quantized() && vertices <= u64::from(u16::MAX);
        self.add_indices(kind, is_short, &primitive, primitives);
        Ok(())
    }

    /// Adds a view of interleaved vertices; returns the attributes of the primitives.
    fn add_vertices(&mut self, place: ObjectPlace, surfaces: &[BlockSurface<'_>]) -> Value {
        let has_materials = self.options.materials;
        let ObjectPlace { positions, frame } = place;
        let writer = VertexWriter { positions, frame, colours: &self.colours, has_materials };
        let (bytes, bounds) = writer.write(surfaces);
        let layout = VertexLayout::new(positions, has_materials);
        let (stride, count) = (layout.stride(), (bytes.len() / layout.stride()) as u64);
        let view =
            self.binary.add_view(bytes, json!({ "byteStride": stride, "target": ARRAY_BUFFER }));
        let mut attributes = json!({});
        for (name, accessor) in layout.accessors(view, count, bounds) {
            attributes[name] = json!(self.binary.add_accessor(accessor));
        }
        attributes
    }

    /// Adds a view of the indices, of 16 bits or of 32, sorted by material, and a primitive per
    /// material.
    fn add_indices(
        &mut self,
        kind: SurfaceKind,
        is_short: bool,
        vertices: &Value,
        primitives: &mut Vec<Value>,
    ) {
        let lists = std::mem::take(&mut self.by_material);
        let mut bytes = Vec::new();
        let view = self.binary.views.len();
        for (material, list) in lists.iter() {
            let indices = self.binary.add_accessor(json!({
                "bufferView": view, "byteOffset": bytes.len(), "count": list.len(),
                "componentType": if is_short { UNSIGNED_SHORT } else { UNSIGNED_INT },
                "type": "SCALAR",
            }));
            match is_short {
                true => bytes.extend(list.iter().flat_map(|&index| (index as u16).to_le_bytes())),
                false => bytes.extend(list.iter().flat_map(|index| index.to_le_bytes())),
            }
            let mut primitive = vertices.clone();
            primitive["indices"] = json!(indices);
            primitive["material"] = json!(self.material(kind, material));
            primitives.push(primitive);
        }
        bytes.resize(bytes.len().next_multiple_of(4), 0);
        self.binary.add_view(bytes, json!({ "target": ELEMENT_ARRAY_BUFFER }));
        self.by_material = lists;
    }

    /// Returns the glTF material of a material id, created on first use. Vertices hold its colour.
    fn material(&mut self, kind: SurfaceKind, id: u8) -> usize {
        let slot = &mut self.material_index[kind as usize][usize::from(id)];
        if let Some(index) = *slot {
            return index;
        }
        *slot = Some(self.materials.len());
        let name = self.table.name(id);
        self.materials.push(match kind {
            SurfaceKind::Solid => json!({
                "name": name,
                "pbrMetallicRoughness": { "metallicFactor": 0.0, "roughnessFactor": 0.95 },
            }),
            SurfaceKind::Liquid => json!({
                "name": name,
                "pbrMetallicRoughness": {
                    "baseColorFactor": [1.0, 1.0, 1.0, f64::from(self.liquid_alpha())],
                    "metallicFactor": 0.0, "roughnessFactor": 0.1,
                },
                "alphaMode": "BLEND", "doubleSided": true,
            }),
        });
        self.materials.len() - 1
    }

    fn liquid_alpha(&self) -> f32 {
        let alpha = self.options.liquid_alpha;
        if alpha.is_nan() { 1.0 } else { alpha.clamp(0.0, 1.0) }
    }

    /// Returns the memory that the file takes until it is written, bytes, about.
    pub fn memory_bytes(&self) -> u64 {
        let listed = self.binary.views.len() + self.binary.accessors.len() + self.meshes.len();
        self.binary.length + self.nodes.bytes() + LISTED_BYTES * listed as u64
    }

    pub(super) fn check_size(&self, more: u64) -> Result<(), GlbError> {
        let bytes = self.binary.length.saturating_add(self.nodes.bytes()).saturating_add(more);
        if bytes > u64::from(u32::MAX) { Err(GlbError::TooLarge { bytes }) } else { Ok(()) }
    }

    /// Writes the file to `out`, which should be buffered.
    ///
    /// # Errors
    /// [`GlbError::TooLarge`] if the file would exceed 4 GiB, [`GlbError::Io`] if `out` fails.
    pub fn finish(mut self, out: &mut impl Write) -> Result<GlbStats, GlbError> {
        let mut json = self.document().into_bytes();
        json.resize(json.len().next_multiple_of(4), b' ');
        let binary =
            if self.binary.length > 0 { CHUNK_HEADER_BYTES + self.binary.length } else { 0 };
        self.stats.bytes = FILE_HEADER_BYTES + CHUNK_HEADER_BYTES + json.len() as u64 + binary;
        let Ok(bytes) = u32::try_from(self.stats.bytes) else {
            return Err(GlbError::TooLarge { bytes: self.stats.bytes });
        };
        out.write_all(b"glTF")?;
        out.write_all(&2u32.to_le_bytes())?;
        out.write_all(&bytes.to_le_bytes())?;
        out.write_all(&(json.len() as u32).to_le_bytes())?;
        out.write_all(b"JSON")?;
        out.write_all(&json)?;
        if binary > 0 {
            out.write_all(&(self.binary.length as u32).to_le_bytes())?;
            out.write_all(b"BIN\0")?;
            for piece in &self.binary.pieces {
                out.write_all(piece)?;
            }
        }
        Ok(self.stats)
    }

    fn document(&mut self) -> String {
        let frame = self.options.frame;
        let origin = frame.origin.to_array();
        let mut root = json!({ "name": "terrain" });
        if origin != [0; 3] {
            let metres = origin.map(|v| f64::from(v) * frame.voxel_size_m);
            root["translation"] = json!(metres);
        }
        let mut document = json!({ "asset": { "version": "2.0", "generator": "terravox" } });
        let extensions = [
            (self.is_quantized, "KHR_mesh_quantization"),
            (self.is_instanced, "EXT_mesh_gpu_instancing"),
        ];
        let used: Vec<&str> =
            extensions.iter().filter(|(is_used, _)| *is_used).map(|(_, name)| *name).collect();
        if !used.is_empty() {
            document["extensionsUsed"] = json!(used);
            document["extensionsRequired"] = json!(used);
        }
        if self.binary.length > 0 {
            document["buffers"] = json!([{ "byteLength": self.binary.length }]);
            document["bufferViews"] = Value::Array(std::mem::take(&mut self.binary.views));
            document["accessors"] = Value::Array(std::mem::take(&mut self.binary.accessors));
            document["materials"] = Value::Array(std::mem::take(&mut self.materials));
            document["meshes"] = Value::Array(std::mem::take(&mut self.meshes));
        }
        self.nodes.in_document(&root, document)
    }
}
