// Cells of blocks from a density. Follows `sample.wgsl`.
//
// A block's cells are 8,192 words of materials and 8,192 words of occupancies, four cells a word, x
// fastest, then z, then y: the order of a `DenseBox`.

@group(0) @binding(0) var<storage, read> blocks: array<BlockFrame>;
@group(0) @binding(1) var<storage, read_write> cells: array<u32>;
// By block: the largest value of any cell, and the largest complement: the least value. They begin
// as 0. A value is 256 times the material, plus the occupancy.
@group(0) @binding(2) var<storage, read_write> extremes: array<atomic<u32>>;

var<workgroup> greatest: atomic<u32>;
var<workgroup> greatest_complement: atomic<u32>;

@compute @workgroup_size(64)
fn fill(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(local_invocation_index) thread: u32,
) {
    let block = group.y;
    let word = group.x * 64u + thread;
    let frame = blocks[block];
    var materials = 0u;
    var occupancies = 0u;
    var most = 0u;
    var least = 0xffffu;
    for (var i = 0u; i < 4u; i++) {
        let cell = word * 4u + i;
        let found = sample_at(frame, vec3<u32>(cell & 31u, cell >> 10u, (cell >> 5u) & 31u));
        // 256ths of the cell that are full.
        let units = clamp(sample_units(found.distance, frame.mip) + 128, 0, 256);
        let material = select(found.material & 255u, 0u, units == 0);
        let occupancy = select(u32(units - 1), 0u, material == 0u);
        materials |= (material << (8u * i));
        occupancies |= (occupancy << (8u * i));
        let value = (material << 8u) | occupancy;
        most = max(most, value);
        least = min(least, value);
    }
    atomicMax(&greatest, most);
    atomicMax(&greatest_complement, 0xffffu - least);
    cells[block * 16384u + word] = materials;
    cells[block * 16384u + 8192u + word] = occupancies;
    workgroupBarrier();
    if (thread == 0u) {
        atomicMax(&extremes[2u * block], atomicLoad(&greatest));
        atomicMax(&extremes[2u * block + 1u], atomicLoad(&greatest_complement));
    }
}
