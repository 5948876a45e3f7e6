// Depth and shadows: positions as in the main pass.

#import bevy_pbr::{
    mesh_functions,
    prepass_io::{VertexOutput},
    view_transformations::position_world_to_clip,
}
#import terravox::vertex::{Morph, Moved, morphed}

#ifdef TERRAVOX_MORPH
@group(#{MATERIAL_BIND_GROUP}) @binding(110) var<storage, read> morph: Morph;
@group(#{MATERIAL_BIND_GROUP}) @binding(111) var<uniform> voxel: vec4<f32>;
#endif

struct TerrainVertex {
    @builtin(instance_index) instance_index: u32,
    @location(0) position: vec3<f32>,
#ifdef NORMAL_PREPASS_OR_DEFERRED_PREPASS
    @location(3) normal: vec3<f32>,
#endif
#ifdef VERTEX_COLORS
    @location(7) color: vec4<f32>,
#endif
#ifdef TERRAVOX_MORPH
    @location(12) goal: vec4<f32>,
    @location(13) goal_normal: vec3<f32>,
#endif
}

@vertex
fn vertex(in: TerrainVertex) -> VertexOutput {
    var out: VertexOutput;
    let world_from_local = mesh_functions::get_world_from_local(in.instance_index);
    var moved = Moved(in.position, vec3<f32>(0.0, 1.0, 0.0));
#ifdef NORMAL_PREPASS_OR_DEFERRED_PREPASS
    moved.normal = in.normal;
#endif
#ifdef TERRAVOX_MORPH
    moved = morphed(morph, world_from_local, voxel.x, moved, in.goal, in.goal_normal);
#endif
    out.world_position = mesh_functions::mesh_position_local_to_world(
        world_from_local, vec4<f32>(moved.position, 1.0));
    out.position = position_world_to_clip(out.world_position.xyz);
#ifdef UNCLIPPED_DEPTH_ORTHO_EMULATION
    out.unclipped_depth = out.position.z;
    out.position.z = min(out.position.z, 1.0);
#endif
#ifdef NORMAL_PREPASS_OR_DEFERRED_PREPASS
    out.world_normal = mesh_functions::mesh_normal_local_to_world(moved.normal, in.instance_index);
#endif
#ifdef VERTEX_COLORS
    out.color = in.color;
#endif
#ifdef MOTION_VECTOR_PREPASS
    let before = mesh_functions::get_previous_world_from_local(in.instance_index);
    out.previous_world_position = mesh_functions::mesh_position_local_to_world(
        before, vec4<f32>(moved.position, 1.0));
#endif
#ifdef VERTEX_OUTPUT_INSTANCE_INDEX
    out.instance_index = in.instance_index;
#endif
#ifdef VISIBILITY_RANGE_DITHER
    out.visibility_range_dither = mesh_functions::get_visibility_range_dither_level(
        in.instance_index, world_from_local[3]);
#endif
    return out;
}
