// What a density is asked for and returns. The density of a game follows this text.

// A point in the world.
struct DensityPoint {
    // Twice its position, in voxels: exact, also at the centres of cells.
    doubled: vec3<i32>,
    // Its position in voxels: exact within 2^23 voxels of the origin.
    position: vec3<f32>,
    // Mip of the cells; their edge is 2^mip voxels.
    mip: u32,
}

struct DensitySample {
    // Voxels from the surface, positive inside. Never NaN.
    distance: f32,
    // Material, of which the low 8 bits count.
    material: u32,
}
