//! The range of cells that a box reaches, with SSE2, which every x86-64 has.
#![allow(unsafe_code)]

use std::arch::x86_64::*;

use crate::collide::REACH;
use crate::math::Aabb;
use crate::voxel::LIMIT;

/// As [`reached`](super::scalar::reached).
#[inline(always)]
pub(super) fn reached(aabb: &Aabb) -> Option<([i32; 3], [i32; 3])> {
    // SAFETY: SSE2 is part of x86-64.
    unsafe { reached_sse2(aabb) }
}

#[inline]
#[target_feature(enable = "sse2")]
fn reached_sse2(Aabb { min, max }: &Aabb) -> Option<([i32; 3], [i32; 3])> {
    let (x, x_valid) = reached_on_axis(min[0], max[0]);
    let (y, y_valid) = reached_on_axis(min[1], max[1]);
    let (z, z_valid) = reached_on_axis(min[2], max[2]);
    let valid = _mm_and_pd(_mm_and_pd(x_valid, y_valid), z_valid);
    if _mm_movemask_pd(valid) != 3 {
        return None;
    }
    let ends = |of: __m128i| {
        let both = _mm_cvtsi128_si64(of);
        (!(both as i32), (both >> 32) as i32)
    };
    let [x, y, z] = [ends(x), ends(y), ends(z)];
    Some(([x.0, y.0, z.0], [x.1, y.1, z.1]))
}

/// In the two lowest lanes the lowest cell that a box reaches on an axis, bits inverted, and
/// the highest; and a mask that is set if the box is valid.
#[inline]
#[target_feature(enable = "sse2")]
fn reached_on_axis(min: f64, max: f64) -> (__m128i, __m128d) {
    const FAR: f64 = (LIMIT + 1) as f64;
    // In sums with this the last bit is worth 1, and the low bits are the whole number.
    const WHOLE: f64 = 6_755_399_441_055_744.0;
    // Both ends as if they were upper ones: -(floor(reach - min) + 1) is !floor(…).
    let ends = _mm_xor_pd(_mm_set_pd(max, min), _mm_set_pd(0.0, -0.0));
    let sum = _mm_add_pd(ends, _mm_shuffle_pd::<1>(ends, ends));
    let valid = _mm_and_pd(
        _mm_cmpge_pd(sum, _mm_setzero_pd()),
        _mm_and_pd(
            _mm_cmpgt_pd(ends, _mm_set1_pd(-FAR)),
            _mm_cmplt_pd(ends, _mm_set1_pd(f64::INFINITY)),
        ),
    );
    let near = _mm_min_pd(ends, _mm_set1_pd(FAR));
    let grown = _mm_add_pd(near, _mm_set1_pd(REACH as f64));
    let sum = _mm_add_pd(grown, _mm_set1_pd(WHOLE));
    let above = _mm_cmpgt_pd(_mm_sub_pd(sum, _mm_set1_pd(WHOLE)), grown);
    let whole = _mm_add_epi32(_mm_castpd_si128(sum), _mm_castpd_si128(above));
    (_mm_shuffle_epi32::<0b10_00_10_00>(whole), valid)
}
