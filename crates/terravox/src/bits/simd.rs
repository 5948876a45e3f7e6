//! Rows of materials and bits with SSE2, which every x86-64 has.
#![allow(unsafe_code)]

use std::arch::x86_64::*;

use crate::voxel::WATER;

/// As [`default_kinds`](super::scalar::default_kinds).
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

/// As [`slices`](super::scalar::slices).
#[inline(always)]
pub(crate) fn slices(rows: &[u32; 8]) -> [u64; 4] {
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
