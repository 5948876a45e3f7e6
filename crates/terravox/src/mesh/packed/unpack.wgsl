// A vertex of the ground as `PackedVertex` stores it: cells of its mesh from the mesh's corner.
struct UnpackedVertex {
    position: vec3<f32>,   // exact
    normal: vec3<f32>,
    materials: vec4<u32>,
    weights: vec4<f32>,    // sum to 1
}

fn packed_position(word: vec3<u32>) -> vec3<f32> {
    return vec3<f32>(word & vec3<u32>(0x3fffffu)) * 0.000030517578125 - 32.0;
}

fn packed_normal(word: vec2<u32>) -> vec3<f32> {
    let flat = vec2<f32>(word >> vec2<u32>(22u)) - 511.0;
    let y = 511.0 - abs(flat.x) - abs(flat.y);
    let fold = max(-y, 0.0);
    let turned = select(vec2<f32>(fold), vec2<f32>(-fold), flat >= vec2<f32>(0.0));
    return normalize(vec3<f32>(flat.x + turned.x, y, flat.y + turned.y));
}

// Weights, of 255.
fn packed_weights(word: u32) -> vec4<u32> {
    let counts = vec4<u32>(extractBits(word, 22u, 3u) + 1u, extractBits(word, 25u, 3u),
                           extractBits(word, 28u, 2u), word >> 30u);
    var weights = 255u * counts / (counts.x + counts.y + counts.z + counts.w);
    weights.x = 255u - weights.y - weights.z - weights.w;
    return weights;
}

fn unpack_vertex(vertex: vec4<u32>) -> UnpackedVertex {
    let materials = (vec4<u32>(vertex.w) >> vec4<u32>(0u, 8u, 16u, 24u)) & vec4<u32>(255u);
    let weights = vec4<f32>(packed_weights(vertex.z)) / 255.0;
    return UnpackedVertex(packed_position(vertex.xyz), packed_normal(vertex.xy), materials, weights);
}

// Where a vertex lies one mip up, as `PackedTarget` stores it.
struct UnpackedTarget {
    position: vec3<f32>,
    normal: vec3<f32>,
    step: u32,             // steps by which its mip is coarser than its mesh
}

fn unpack_target(packed: vec3<u32>) -> UnpackedTarget {
    return UnpackedTarget(packed_position(packed), packed_normal(packed.xy), packed.z >> 22u);
}
