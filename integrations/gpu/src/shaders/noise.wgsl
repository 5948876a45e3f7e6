// Value noise in integers: the same bits on every device. Put this before a density.

// Between -32768 and 32767.
fn fixed_hash(at: vec3<i32>, seed: u32) -> i32 {
    var hash = seed ^ 0x9e3779b9u;
    for (var axis = 0u; axis < 3u; axis++) {
        hash = (hash ^ u32(at[axis])) * 0x85ebca6bu;
        hash = (hash ^ (hash >> 15u)) * 0xc2b2ae35u;
        hash = hash ^ (hash >> 13u);
    }
    return i32(hash >> 16u) - 32768;
}

// The part of a period that a coordinate has passed, smoothed, in 1/4096.
fn fixed_share(at: i32, log_period: u32) -> i32 {
    let passed = u32(at) & ((1u << log_period) - 1u);
    let part = i32(select(passed << (12u - min(log_period, 12u)),
                          passed >> (max(log_period, 12u) - 12u), log_period > 12u));
    return (((part * part) >> 12u) * (12288 - 2 * part)) >> 12u;
}

fn fixed_mix(low: i32, high: i32, share: i32) -> i32 {
    return low + (((high - low) * share) >> 12u);
}

// Noise of the plane, -32768 to 32767, with a period of 2^log_period in the unit of `x` and `z`.
fn fixed_noise2(x: i32, z: i32, log_period: u32, seed: u32) -> i32 {
    let at = vec3<i32>(x >> log_period, 0, z >> log_period);
    let share = fixed_share(x, log_period);
    let near = fixed_mix(fixed_hash(at, seed), fixed_hash(at + vec3<i32>(1, 0, 0), seed), share);
    let far = fixed_mix(fixed_hash(at + vec3<i32>(0, 0, 1), seed),
                        fixed_hash(at + vec3<i32>(1, 0, 1), seed), share);
    return fixed_mix(near, far, fixed_share(z, log_period));
}

// Noise of space, as `fixed_noise2`.
fn fixed_noise3(at: vec3<i32>, log_period: u32, seed: u32) -> i32 {
    let cell = at >> vec3<u32>(log_period);
    let share = fixed_share(at.x, log_period);
    var rows = vec4<i32>(0);
    for (var row = 0u; row < 4u; row++) {
        let low = cell + vec3<i32>(0, i32(row >> 1u), i32(row & 1u));
        rows[row] = fixed_mix(fixed_hash(low, seed),
                              fixed_hash(low + vec3<i32>(1, 0, 0), seed), share);
    }
    let share_z = fixed_share(at.z, log_period);
    return fixed_mix(fixed_mix(rows.x, rows.y, share_z), fixed_mix(rows.z, rows.w, share_z),
                     fixed_share(at.y, log_period));
}
