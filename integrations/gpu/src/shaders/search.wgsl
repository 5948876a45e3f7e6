// Active voxels and crossed edges of blocks of samples. Follows `points.wgsl`.
//
// A point owns the edges from it along x, y and z, and the voxel whose min corner it is. `count`
// counts what the points of each 256 own, `scan` sums that up within each block, `emit` writes it
// all in the order of the points: no result depends on which thread runs first.

@group(0) @binding(0) var<uniform> shape: SearchShape;
@group(0) @binding(1) var<storage, read> samples: array<u32>;
// By 256 points: active voxels and crossed edges; after `scan`, of the block before them.
@group(0) @binding(2) var<storage, read_write> parts: array<vec2<u32>>;
// By block: active voxels and crossed edges.
@group(0) @binding(3) var<storage, read_write> totals: array<vec2<u32>>;
// By block of a dispatch of `emit`: where its voxels and edges begin.
@group(0) @binding(4) var<storage, read> bases: array<vec2<u32>>;
@group(0) @binding(5) var<storage, read_write> voxels: array<vec4<u32>>;
// Five words an edge.
@group(0) @binding(6) var<storage, read_write> edges: array<u32>;

var<workgroup> sums: array<vec2<u32>, 256>;

fn points_of_block() -> u32 {
    return shape.points * shape.points * shape.points;
}

fn place(point: u32) -> vec3<u32> {
    let edge = shape.points;
    return vec3<u32>(point % edge, point / (edge * edge), point / edge % edge);
}

fn index(block: u32, at: vec3<u32>) -> u32 {
    return block * points_of_block() + (at.y * shape.points + at.z) * shape.points + at.x;
}

fn class_of(sample: u32) -> u32 {
    return sample >> 24u;
}

// Octants and corners are numbered by bits: x, z, y.
fn octant(corner: u32) -> vec3<u32> {
    return vec3<u32>(corner & 1u, corner >> 2u, (corner >> 1u) & 1u);
}

fn is_crossed(from_: u32, to: u32) -> bool {
    // One is inside and the other outside; neither is 2.
    return (class_of(from_) ^ class_of(to)) == 1u;
}

// By axis: whether the edge from a point is crossed, as bits.
fn crossed_from(block: u32, at: vec3<u32>) -> u32 {
    let own = samples[index(block, at)];
    var crossed = 0u;
    for (var axis = 0u; axis < 3u; axis++) {
        var next = at;
        next[axis] += 1u;
        if (next[axis] < shape.points && is_crossed(own, samples[index(block, next)])) {
            crossed |= (1u << axis);
        }
    }
    return crossed;
}

struct FoundVoxel {
    // Corners inside, and outside.
    inside: u32,
    outside: u32,
    // Crossed edges: along x from octants 0, 2, 4, 6, along z from 0, 1, 4, 5, along y from 0 to 3.
    crossed: u32,
}

fn voxel_at(block: u32, at: vec3<u32>) -> FoundVoxel {
    var found = FoundVoxel(0u, 0u, 0u);
    if (max(at.x, max(at.y, at.z)) + 1u >= shape.points) {
        return found;
    }
    for (var corner = 0u; corner < 8u; corner++) {
        let class_ = class_of(samples[index(block, at + octant(corner))]);
        found.inside |= (select(0u, 1u, class_ == INSIDE) << corner);
        found.outside |= (select(0u, 1u, class_ == OUTSIDE) << corner);
    }
    for (var edge = 0u; edge < 12u; edge++) {
        // By group of four: the bits of its low octants, and the bit of its axis.
        let n = edge & 3u;
        let low = select(select(n, (n & 1u) | ((n & 2u) << 1u), edge < 8u), n << 1u, edge < 4u);
        let high = low | select(select(4u, 2u, edge < 8u), 1u, edge < 4u);
        let ends = ((found.inside >> low) & (found.outside >> high))
            | ((found.outside >> low) & (found.inside >> high));
        found.crossed |= ((ends & 1u) << edge);
    }
    return found;
}

// What a point owns.
fn owned(block: u32, point: u32) -> vec2<u32> {
    if (point >= points_of_block()) {
        return vec2<u32>(0u);
    }
    let at = place(point);
    let is_active = voxel_at(block, at).crossed != 0u;
    return vec2<u32>(select(0u, 1u, is_active), countOneBits(crossed_from(block, at)));
}

// Returns the sum of the values of all threads before this one; the sum of all is `sums[255]` after.
fn sum_before(thread: u32, value: vec2<u32>) -> vec2<u32> {
    sums[thread] = value;
    workgroupBarrier();
    for (var distance = 1u; distance < 256u; distance = distance * 2u) {
        var sum = sums[thread];
        if (thread >= distance) {
            sum += sums[thread - distance];
        }
        workgroupBarrier();
        sums[thread] = sum;
        workgroupBarrier();
    }
    return sums[thread] - value;
}

fn parts_of_block() -> u32 {
    return (points_of_block() + 255u) / 256u;
}

@compute @workgroup_size(256)
fn count(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(local_invocation_index) thread: u32,
) {
    sum_before(thread, owned(group.y, group.x * 256u + thread));
    if (thread == 0u) {
        parts[group.y * parts_of_block() + group.x] = sums[255];
    }
}

@compute @workgroup_size(256)
fn scan(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(local_invocation_index) thread: u32,
) {
    let part_count = parts_of_block();
    let first = group.y * part_count;
    var before = vec2<u32>(0u);
    for (var part = 0u; part < part_count; part += 256u) {
        var value = vec2<u32>(0u);
        if (part + thread < part_count) {
            value = parts[first + part + thread];
        }
        let sum = sum_before(thread, value);
        if (part + thread < part_count) {
            parts[first + part + thread] = before + sum;
        }
        before += sums[255];
        workgroupBarrier();
    }
    if (thread == 0u) {
        totals[group.y] = before;
    }
}

fn density_at(block: u32, at: vec3<u32>) -> i32 {
    return bitcast<i32>(samples[index(block, at)] << 16u) >> 16u;
}

// Next density less the one before, along each axis; on the boundary twice the one-sided difference.
fn rise(block: u32, at: vec3<u32>) -> vec3<i32> {
    var rises = vec3<i32>(0);
    for (var axis = 0u; axis < 3u; axis++) {
        var low = at;
        var high = at;
        low[axis] = select(at[axis] - 1u, 0u, at[axis] == 0u);
        high[axis] = min(at[axis] + 1u, shape.points - 1u);
        let difference = density_at(block, high) - density_at(block, low);
        rises[axis] = difference * select(2, 1, high[axis] - low[axis] == 2u);
    }
    return rises;
}

fn pair(low: i32, high: i32) -> u32 {
    return (u32(low) & 0xffffu) | (u32(high) << 16u);
}

fn write_edge(to: u32, block: u32, at: vec3<u32>, axis: u32) {
    var next = at;
    next[axis] += 1u;
    let low = rise(block, at);
    let high = rise(block, next);
    edges[to] = at.x | (at.y << 7u) | (at.z << 14u) | (axis << 21u);
    edges[to + 1u] = pair(density_at(block, at), density_at(block, next));
    edges[to + 2u] = pair(low.x, low.y);
    edges[to + 3u] = pair(low.z, high.x);
    edges[to + 4u] = pair(high.y, high.z);
}

fn write_voxel(to: u32, block: u32, at: vec3<u32>, found: FoundVoxel) {
    var materials = vec2<u32>(0u);
    for (var corner = 0u; corner < 8u; corner++) {
        let material = (samples[index(block, at + octant(corner))] >> 16u) & 255u;
        materials[corner >> 2u] |= (material << (8u * (corner & 3u)));
    }
    voxels[to] = vec4<u32>(
        at.x | (at.y << 6u) | (at.z << 12u) | (found.crossed << 18u),
        found.inside | (found.outside << 8u),
        materials.x,
        materials.y,
    );
}

@compute @workgroup_size(256)
fn emit(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(local_invocation_index) thread: u32,
) {
    let block = shape.first_block + group.y;
    let point = group.x * 256u + thread;
    let own = owned(block, point);
    let to = bases[group.y] + parts[block * parts_of_block() + group.x] + sum_before(thread, own);
    if (point >= points_of_block()) {
        return;
    }
    let at = place(point);
    if (own.x != 0u) {
        write_voxel(to.x, block, at, voxel_at(block, at));
    }
    var edge = to.y * 5u;
    let crossed = crossed_from(block, at);
    for (var axis = 0u; axis < 3u; axis++) {
        if (((crossed >> axis) & 1u) != 0u) {
            write_edge(edge, block, at, axis);
            edge += 5u;
        }
    }
}
