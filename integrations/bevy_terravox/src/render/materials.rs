//! The materials of ground and water: Bevy's, extended by shaders of ours.

use bevy::asset::uuid_handle;
use bevy::mesh::MeshVertexBufferLayoutRef;
use bevy::pbr::{
    ExtendedMaterial, MaterialExtension, MaterialExtensionKey, MaterialExtensionPipeline,
};
use bevy::prelude::*;
use bevy::render::render_resource::{
    AsBindGroup, RenderPipelineDescriptor, ShaderType, SpecializedMeshPipelineError,
};
use bevy::render::storage::ShaderBuffer;
use bevy::shader::ShaderRef;

use super::looks::GroundTable;
use crate::surface_mesh::{
    ATTRIBUTE_GOAL, ATTRIBUTE_GOAL_NORMAL, ATTRIBUTE_MATERIALS, ATTRIBUTE_WEIGHTS,
};

const VERTEX: Handle<Shader> = uuid_handle!("6d3f3f0e-52a3-4b39-9a31-5f6a0c0d1a01");
const PREPASS: Handle<Shader> = uuid_handle!("6d3f3f0e-52a3-4b39-9a31-5f6a0c0d1a02");
const GROUND: Handle<Shader> = uuid_handle!("6d3f3f0e-52a3-4b39-9a31-5f6a0c0d1a03");
const WATER: Handle<Shader> = uuid_handle!("6d3f3f0e-52a3-4b39-9a31-5f6a0c0d1a04");

/// What draws ground.
pub type GroundMaterial = ExtendedMaterial<StandardMaterial, GroundExtension>;
/// What draws water.
pub type WaterMaterial = ExtendedMaterial<StandardMaterial, WaterExtension>;

/// Adds the shaders.
pub(super) fn add_shaders(shaders: &mut Assets<Shader>) {
    let all = [
        (VERTEX, include_str!("vertex.wgsl"), "terravox/vertex.wgsl"),
        (PREPASS, include_str!("prepass.wgsl"), "terravox/prepass.wgsl"),
        (GROUND, include_str!("ground.wgsl"), "terravox/ground.wgsl"),
        (WATER, include_str!("water.wgsl"), "terravox/water.wgsl"),
    ];
    for (handle, source, path) in all {
        // Handles made of constants always exist.
        if shaders.insert(&handle, Shader::from_wgsl(source, path)).is_err() {
            error!("the shader {path} cannot be added");
        }
    }
}

/// Textures of ground, blended by the weights of vertices.
#[derive(Asset, AsBindGroup, TypePath, Clone, Debug)]
pub struct GroundExtension {
    #[uniform(100)]
    pub(super) table: GroundTable,
    #[texture(101, dimension = "2d_array")]
    #[sampler(102)]
    pub(super) colour: Handle<Image>,
    #[texture(103, dimension = "2d_array")]
    pub(super) surface: Handle<Image>,
    #[storage(110, read_only, visibility(vertex))]
    pub(super) morph: Handle<ShaderBuffer>,
    /// Metres per voxel.
    #[uniform(111)]
    pub(super) voxel: Vec4,
}

/// Depth, shore, waves and reflection of water.
#[derive(Asset, AsBindGroup, TypePath, Clone, Debug)]
pub struct WaterExtension {
    #[uniform(100)]
    pub(super) water: WaterTable,
    #[storage(110, read_only, visibility(vertex))]
    pub(super) morph: Handle<ShaderBuffer>,
    /// Metres per voxel.
    #[uniform(111)]
    pub(super) voxel: Vec4,
}

/// What the shader of water reads.
#[derive(ShaderType, Clone, Copy, Debug, PartialEq)]
pub(super) struct WaterTable {
    shallow: Vec4,
    deep: Vec4,
    horizon: Vec4,
    zenith: Vec4,
}

/// How water of a terrain looks. Depth and foam at shores need a `DepthPrepass` on the camera;
/// without one, all water looks `depth_m` deep.
#[derive(Component, Clone, Copy, Debug, PartialEq, Reflect)]
#[reflect(Component, Default)]
pub struct WaterLook {
    /// Its colour where it is shallow.
    pub shallow: Color,
    /// Its colour where it is deep.
    pub deep: Color,
    /// The sky that it mirrors, level and straight up.
    pub horizon: Color,
    /// The sky straight up.
    pub zenith: Color,
    /// Metres through which about a third of the light passes.
    pub clear_m: f32,
    /// Strength of the waves: 1 is a light breeze, 0 is calm.
    pub waves: f32,
    /// Depth of the strip of foam at shores, metres.
    pub foam_m: f32,
    /// How deep water looks if the depth is not known, metres.
    pub depth_m: f32,
}

impl Default for WaterLook {
    fn default() -> WaterLook {
        WaterLook {
            shallow: Color::srgb_u8(74, 150, 150),
            deep: Color::srgb_u8(14, 58, 80),
            horizon: Color::srgb(0.66, 0.78, 0.9),
            zenith: Color::srgb(0.3, 0.5, 0.78),
            clear_m: 4.0,
            waves: 1.0,
            foam_m: 0.35,
            depth_m: 6.0,
        }
    }
}

impl WaterLook {
    pub(super) fn table(&self) -> WaterTable {
        let with = |colour: Color, w: f32| colour.to_linear().to_vec3().extend(w);
        WaterTable {
            shallow: with(self.shallow, self.clear_m.max(0.01)),
            deep: with(self.deep, self.waves),
            horizon: with(self.horizon, self.foam_m.max(0.01)),
            zenith: with(self.zenith, self.depth_m),
        }
    }
}

/// Adds the attributes of our vertices to a pipeline.
fn add_attributes(
    descriptor: &mut RenderPipelineDescriptor,
    layout: &MeshVertexBufferLayoutRef,
) -> Result<(), SpecializedMeshPipelineError> {
    let mut attributes =
        vec![ATTRIBUTE_MATERIALS.at_shader_location(10), ATTRIBUTE_WEIGHTS.at_shader_location(11)];
    if layout.0.contains(ATTRIBUTE_GOAL) {
        attributes.push(ATTRIBUTE_GOAL.at_shader_location(12));
        attributes.push(ATTRIBUTE_GOAL_NORMAL.at_shader_location(13));
        descriptor.vertex.shader_defs.push("TERRAVOX_MORPH".into());
        if let Some(fragment) = &mut descriptor.fragment {
            fragment.shader_defs.push("TERRAVOX_MORPH".into());
        }
    }
    let ours = layout.0.get_layout(&attributes)?;
    if let Some(buffer) = descriptor.vertex.buffers.first_mut() {
        buffer.attributes.extend(ours.attributes);
    }
    Ok(())
}

impl MaterialExtension for GroundExtension {
    fn vertex_shader() -> ShaderRef {
        GROUND.into()
    }

    fn fragment_shader() -> ShaderRef {
        GROUND.into()
    }

    fn prepass_vertex_shader() -> ShaderRef {
        PREPASS.into()
    }

    fn specialize(
        _: &MaterialExtensionPipeline,
        descriptor: &mut RenderPipelineDescriptor,
        layout: &MeshVertexBufferLayoutRef,
        _: MaterialExtensionKey<Self>,
    ) -> Result<(), SpecializedMeshPipelineError> {
        add_attributes(descriptor, layout)
    }
}

impl MaterialExtension for WaterExtension {
    fn vertex_shader() -> ShaderRef {
        WATER.into()
    }

    fn fragment_shader() -> ShaderRef {
        WATER.into()
    }

    fn enable_prepass() -> bool {
        false
    }

    fn enable_shadows() -> bool {
        false
    }

    fn specialize(
        _: &MaterialExtensionPipeline,
        descriptor: &mut RenderPipelineDescriptor,
        layout: &MeshVertexBufferLayoutRef,
        _: MaterialExtensionKey<Self>,
    ) -> Result<(), SpecializedMeshPipelineError> {
        // Seen from below, too.
        descriptor.primitive.cull_mode = None;
        add_attributes(descriptor, layout)
    }
}
