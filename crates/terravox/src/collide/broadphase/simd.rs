//! Bits of bytes with SSE2, which every x86-64 has: what materials are, 32 at a time,
//! and rows turned into slices.
#![allow(unsafe_code)]

use std::arch::x86_64::*;

use crate::collide::REACH;
use crate::math::Aabb;
use crate::voxel::{LIMIT, WATER};

/// As [`default_kinds`](super::bits::plain::default_kinds).
#[inline(always)]
pub(super) fn default_kinds(materials: &[u8; 32]) -> [u32; 2] {
    // SAFETY: SSE2 is part of x86-64, and both halves lie within the array.
    unsafe {
        let [low, high] =
            [0, 16].map(|at| _mm_loadu_si128(materials.as_ptr().add(at).cast::<__m128i>()));
        let solid = |bytes| {
            let least = _mm_set1_epi8(WATER as i8 + 1);
            _mm_movemask_epi8(_mm_cmpeq_epi8(_mm_max_epu8(bytes, least), bytes)) as u32
        };
        let liquid =
            |bytes| _mm_movemask_epi8(_mm_cmpeq_epi8(bytes, _mm_set1_epi8(WATER as i8))) as u32;
        [solid(low) | solid(high) << 16, liquid(low) | liquid(high) << 16]
    }
}

/// As [`slices`](super::bits::plain::slices).
#[inline(always)]
pub(in crate::collide) fn slices(rows: &[u32; 8]) -> [u64; 4] {
    let mut out = [0; 4];
    // SAFETY: SSE2 is part of x86-64; both arrays are of 32 bytes.
    unsafe {
        let from = rows.as_ptr().cast::<__m128i>();
        let (low, high) = (_mm_loadu_si128(from), _mm_loadu_si128(from.add(1)));
        // Each step interleaves the numbers of rows that are twice as far apart.
        let (a, b) = (_mm_unpacklo_epi8(low, high), _mm_unpackhi_epi8(low, high));
        let (a, b) = (_mm_unpacklo_epi8(a, b), _mm_unpackhi_epi8(a, b));
        let (a, b) = (_mm_unpacklo_epi8(a, b), _mm_unpackhi_epi8(a, b));
        let to = out.as_mut_ptr().cast::<__m128i>();
        _mm_storeu_si128(to, a);
        _mm_storeu_si128(to.add(1), b);
    }
    out
}

/// As [`reached`](super::bits::plain::reached).
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

/// In the two lowest lanes the lowest cell that a box reaches on an axis, bits turned, and
/// the highest; and a mask that is set if the box is one.
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
