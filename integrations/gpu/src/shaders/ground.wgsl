// Hills with caves, in integers. Follows `noise.wgsl`. Heights and distances are in 1/256 voxels.

fn ground_height(x: i32, z: i32) -> i32 {
    let seed = GROUND_SEED;
    return ((fixed_noise2(x, z, 10u, seed) * 64) >> 7u)
        + ((fixed_noise2(x, z, 8u, seed + 1u) * 16) >> 7u)
        + ((fixed_noise2(x, z, 6u, seed + 2u) * 4) >> 7u)
        + ((fixed_noise2(x, z, 5u, seed + 3u) * 3) >> 8u);
}

fn density(at: DensityPoint) -> DensitySample {
    // Far above and below it is enough to know that; within 2^24, f32 is exact.
    let y = clamp(at.doubled.y, -65536, 65536);
    let depth = ground_height(at.doubled.x, at.doubled.z) - y * 128;
    var distance = depth;
    if (at.mip <= 3u && abs(depth) < 65536) {
        let cave = fixed_noise3(at.doubled, 6u, GROUND_SEED + 4u);
        distance = min(depth, ((abs(cave) - 4096) * 21) >> 8u);
    }
    let material = select(select(8u, 14u, depth < 1024), 2u, depth < 256);
    return DensitySample(f32(distance) * 0.00390625, material);
}
