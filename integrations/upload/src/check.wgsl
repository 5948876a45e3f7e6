// After terravox::mesh::UNPACK_WGSL: what the card makes of each vertex.

struct Unpacked {
    voxel: vec3<f32>,
    materials: u32,
    position: vec3<f32>,
    weights: u32,
    normal: vec3<f32>,
    unused: u32,
}
@group(0) @binding(0) var<storage, read> vertices: array<vec4<u32>>;
@group(0) @binding(1) var<storage, read> mesh_of: array<u32>;
@group(0) @binding(2) var<storage, read> places: array<vec4<f32>>;
@group(0) @binding(3) var<storage, read_write> out: array<Unpacked>;

@compute @workgroup_size(64)
fn unpack(@builtin(global_invocation_id) id: vec3<u32>) {
    let i = id.x + id.y * 4194240u;
    if (i >= arrayLength(&vertices)) { return; }
    let vertex = unpack_vertex(vertices[i]);
    let place = places[mesh_of[i]];
    let voxel = vertex.position * place.w + place.xyz;
    let m = vertex.materials;
    let w = vec4<u32>(vertex.weights * 255.0 + 0.5);
    out[i] = Unpacked(voxel, m.x | (m.y << 8u) | (m.z << 16u) | (m.w << 24u), vertex.position,
                      w.x | (w.y << 8u) | (w.z << 16u) | (w.w << 24u), vertex.normal, 0u);
}
