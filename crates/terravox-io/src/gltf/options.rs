//! How to write a `.glb`.

use crate::tiles::ExportFrame;

/// How to write a `.glb`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GlbOptions {
    /// Metres per voxel and the origin.
    pub frame: ExportFrame,
    /// Opacity of liquids, 0 to 1.
    pub liquid_alpha: f32,
    /// Whether vertices have the attributes `_MATERIALS` and `_WEIGHTS`, as in
    /// [`Surface::materials`](terravox::mesh::Surface::materials) and
    /// [`Surface::weights`](terravox::mesh::Surface::weights), for shaders that cover the ground
    /// with textures ([`terravox::mesh::shade`]).
    pub materials: bool,
    /// Whether meshes have a morph target, initially of weight 0: the next coarser level of detail,
    /// in blocks that have it ([`Surface::targets`](terravox::mesh::Surface::targets)).
    pub targets: bool,
    /// Whether positions are whole steps of 1/64 voxel, normals have 8 bits and indices 16
    /// (`KHR_mesh_quantization`): files have a bit more than half the bytes. Objects longer than 1,015
    /// voxels, and those with `targets`, have floats all the same.
    pub quantize: bool,
    /// Whether the places of a model are attributes of one node (`EXT_mesh_gpu_instancing`): a draw
    /// call for all, where programs know that, and few bytes. Otherwise each is a node, which all
    /// programs read.
    pub gpu_instancing: bool,
}

impl Default for GlbOptions {
    /// One metre per voxel, from the origin of the world; liquids are two thirds opaque; no
    /// material attributes, morph targets, quantization or extension for instances.
    fn default() -> GlbOptions {
        let frame = ExportFrame::default();
        GlbOptions {
            frame,
            liquid_alpha: 0.66,
            materials: false,
            targets: false,
            quantize: false,
            gpu_instancing: false,
        }
    }
}
