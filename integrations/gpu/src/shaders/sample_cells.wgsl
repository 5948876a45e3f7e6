// Samples from cells. Follows `points.wgsl`.
//
// A block's cells are words of materials, then words of occupancies, four cells a word. Cells inside
// have their fill in 256ths as density, those outside -256.

@group(0) @binding(0) var<uniform> shape: SearchShape;
@group(0) @binding(1) var<storage, read> cells: array<u32>;
@group(0) @binding(2) var<storage, read_write> samples: array<u32>;
// By material, 16 a word: its class.
@group(0) @binding(3) var<storage, read> classes: array<u32>;

@compute @workgroup_size(256)
fn sample_cells(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(local_invocation_index) thread: u32,
) {
    let edge = shape.points;
    let count = edge * edge * edge;
    let point = group.x * 256u + thread;
    if (point >= count) {
        return;
    }
    let words = (count + 3u) / 4u;
    let first = group.y * 2u * words + point / 4u;
    let shift = (point & 3u) * 8u;
    let material = (cells[first] >> shift) & 255u;
    let occupancy = (cells[first + words] >> shift) & 255u;
    let class_ = (classes[material / 16u] >> ((material & 15u) * 2u)) & 3u;
    let density = select(-256, i32(occupancy) + 1, class_ == INSIDE);
    samples[group.y * count + point] = point_word(density, material, class_);
}
