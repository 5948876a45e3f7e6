// Samples from a density. Follows `points.wgsl` and `sample.wgsl`.

@group(0) @binding(0) var<uniform> shape: SearchShape;
@group(0) @binding(1) var<storage, read> blocks: array<BlockFrame>;
@group(0) @binding(2) var<storage, read_write> samples: array<u32>;

@compute @workgroup_size(256)
fn sample_density(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(local_invocation_index) thread: u32,
) {
    let edge = shape.points;
    let count = edge * edge * edge;
    let point = group.x * 256u + thread;
    if (point >= count) {
        return;
    }
    let frame = blocks[group.y];
    let at = vec3<u32>(point % edge, point / (edge * edge), point / edge % edge);
    let found = sample_at(frame, at);
    let units = sample_units(found.distance, frame.mip);
    let class_ = select(OUTSIDE, INSIDE, units > 0);
    samples[group.y * count + point] = point_word(units, found.material & 255u, class_);
}
