// Points of blocks, and densities as integers. Follows the density.

struct BlockFrame {
    // Twice the position of its first point, in voxels.
    first: vec3<i32>,
    mip: u32,
}

// Rounds a distance to 1/256 of a cell, halves up, within 31 cells of the surface. No step rounds
// in f32 but the clamped product with a power of two, which is exact, so that the result depends on
// the distance alone, whatever the compiler fuses.
fn sample_units(distance: f32, mip: u32) -> i32 {
    // 2^-mip.
    let cells = distance * bitcast<f32>((127u - mip) << 23u);
    let units = clamp(cells, -31.0, 31.0) * 256.0;
    let whole = floor(units);
    let rounded = i32(whole) + select(0, 1, units - whole >= 0.5);
    // Drivers may assume that there is no NaN, but not about integers.
    let is_nan = (bitcast<u32>(distance) & 0x7fffffffu) > 0x7f800000u;
    return select(rounded, -7936, is_nan);
}

fn sample_at(frame: BlockFrame, point: vec3<u32>) -> DensitySample {
    let doubled = frame.first + (vec3<i32>(point) << vec3<u32>(frame.mip + 1u));
    return density(DensityPoint(doubled, vec3<f32>(doubled) * 0.5, frame.mip));
}
