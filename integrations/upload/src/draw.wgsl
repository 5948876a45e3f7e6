// After terravox::mesh::UNPACK_WGSL.

struct Frame {
    clip_from_voxel: mat4x4<f32>,    // voxels from the origin of the frame
    eye: vec4<f32>,
    palette: array<vec4<f32>, 256>,  // linear colour of each material
}
@group(0) @binding(0) var<uniform> frame: Frame;

struct Corner {
    @builtin(position) clip: vec4<f32>,
    @location(0) place: vec3<f32>,
    @location(1) normal: vec3<f32>,
    @location(2) colour: vec3<f32>,
}

// `place` is the mesh's MeshTransform, one an instance.
@vertex
fn corner(@location(0) packed: vec4<u32>, @location(1) place: vec4<f32>) -> Corner {
    let vertex = unpack_vertex(packed);
    let voxel = vertex.position * place.w + place.xyz;
    var colour = vec3<f32>(0.0);
    for (var i = 0u; i < 4u; i++) {
        colour += vertex.weights[i] * frame.palette[vertex.materials[i]].rgb;
    }
    return Corner(frame.clip_from_voxel * vec4<f32>(voxel, 1.0), voxel, vertex.normal, colour);
}

const SUN = vec3<f32>(0.52, 0.62, 0.58);

fn lit(colour: vec3<f32>, normal: vec3<f32>) -> vec3<f32> {
    let sky = mix(vec3<f32>(0.16, 0.14, 0.12), vec3<f32>(0.34, 0.42, 0.55), 0.5 + 0.5 * normal.y);
    let sun = max(dot(normal, normalize(SUN)), 0.0) * vec3<f32>(1.9, 1.75, 1.5);
    return colour * (sky + sun);
}

fn hazy(colour: vec3<f32>, place: vec3<f32>) -> vec3<f32> {
    let way = place - frame.eye.xyz;
    let haze = 1.0 - exp(-length(way) / 2600.0);
    return mix(colour, vec3<f32>(0.50, 0.62, 0.78), haze * haze);
}

@fragment
fn ground(at: Corner) -> @location(0) vec4<f32> {
    return vec4<f32>(hazy(lit(at.colour, normalize(at.normal)), at.place), 1.0);
}

@fragment
fn water(at: Corner) -> @location(0) vec4<f32> {
    let normal = normalize(at.normal);
    let seen = normalize(frame.eye.xyz - at.place);
    let mirrored = pow(1.0 - saturate(dot(normal, seen)), 4.0);
    let colour = mix(vec3<f32>(0.03, 0.12, 0.16), vec3<f32>(0.45, 0.58, 0.75), mirrored);
    return vec4<f32>(hazy(colour, at.place), 0.72 + 0.25 * mirrored);
}
