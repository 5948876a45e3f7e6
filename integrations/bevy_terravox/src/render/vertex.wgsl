#define_import_path terravox::vertex

#import bevy_pbr::mesh_functions

// Where vertices move to the next level of detail: metres of the viewers, voxels of the ranges.
struct Morph {
    viewers: array<vec4<f32>, 4>,   // w: 1 if there is one
    ranges: array<vec4<f32>, 5>,    // by mip, two to a vector: from, to
}

struct Moved {
    position: vec3<f32>,    // in cells of the block
    normal: vec3<f32>,
}

fn nearest_viewer(morph: Morph, at: vec3<f32>) -> f32 {
    var nearest = 1e30;
    for (var i = 0u; i < 4u; i++) {
        if (morph.viewers[i].w > 0.5) {
            nearest = min(nearest, distance(at, morph.viewers[i].xyz));
        }
    }
    return nearest;
}

// docs/lod.md: the factor depends on the vertex alone, so that blocks stay closed.
fn morphed(
    morph: Morph,
    world_from_local: mat4x4<f32>,
    voxel_size: f32,
    vertex: Moved,
    goal: vec4<f32>,        // w: mips above the block
    goal_normal: vec3<f32>,
) -> Moved {
    let cell = length(world_from_local[0].xyz);
    let mip = u32(log2(cell / voxel_size) + 0.5) + u32(goal.w + 0.5);
    let two = morph.ranges[min(mip, 9u) >> 1u];
    let range = select(two.zw, two.xy, (mip & 1u) == 0u);
    let at = (world_from_local * vec4<f32>(vertex.position, 1.0)).xyz;
    let voxels = nearest_viewer(morph, at) / voxel_size;
    let factor = saturate((voxels - range.x) / (range.y - range.x));
    let normal = normalize(mix(vertex.normal, goal_normal, factor));
    return Moved(mix(vertex.position, goal.xyz, factor), normal);
}
