//! Eight lanes in two registers of SSE2, the baseline of x86-64.
#![allow(unsafe_code)]

use std::arch::x86_64::*;
use std::ops::{Add, Div, Mul, Sub};

use super::vector::{F32x8, Simd, SimdJob, run_apart};

/// The baseline of x86-64.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sse2;

/// Eight f32: the low and the high half.
#[derive(Clone, Copy)]
pub(crate) struct Sse2F32x8(pub(crate) __m128, pub(crate) __m128);

/// Transposes four rows of four.
#[inline(always)]
pub(crate) fn transpose4(a: __m128, b: __m128, c: __m128, d: __m128) -> [__m128; 4] {
    // SAFETY: SSE2 is part of x86-64.
    unsafe {
        let (ab, cd) = (_mm_unpacklo_ps(a, b), _mm_unpacklo_ps(c, d));
        let (ab2, cd2) = (_mm_unpackhi_ps(a, b), _mm_unpackhi_ps(c, d));
        [
            _mm_movelh_ps(ab, cd),
            _mm_movehl_ps(cd, ab),
            _mm_movelh_ps(ab2, cd2),
            _mm_movehl_ps(cd2, ab2),
        ]
    }
}

macro_rules! operator {
    ($trait:ident, $name:ident, $intrinsic:ident) => {
        impl $trait for Sse2F32x8 {
            type Output = Sse2F32x8;
            #[inline(always)]
            fn $name(self, other: Sse2F32x8) -> Sse2F32x8 {
                // SAFETY: SSE2 is part of x86-64.
                unsafe { Sse2F32x8($intrinsic(self.0, other.0), $intrinsic(self.1, other.1)) }
            }
        }
    };
}
operator!(Add, add, _mm_add_ps);
operator!(Sub, sub, _mm_sub_ps);
operator!(Mul, mul, _mm_mul_ps);
operator!(Div, div, _mm_div_ps);

macro_rules! binary {
    ($name:ident, $intrinsic:ident) => {
        #[inline(always)]
        fn $name(self, other: Sse2F32x8) -> Sse2F32x8 {
            // SAFETY: SSE2 is part of x86-64.
            unsafe { Sse2F32x8($intrinsic(self.0, other.0), $intrinsic(self.1, other.1)) }
        }
    };
}

impl F32x8 for Sse2F32x8 {
    binary!(max, _mm_max_ps);
    binary!(min, _mm_min_ps);
    binary!(gt, _mm_cmpgt_ps);
    binary!(lt, _mm_cmplt_ps);
    binary!(and, _mm_and_ps);
    binary!(xor, _mm_xor_ps);

    #[inline(always)]
    fn store(self, to: &mut [f32; 8]) {
        // SAFETY: SSE2 is part of x86-64; eight f32 are written.
        unsafe {
            _mm_storeu_ps(to.as_mut_ptr(), self.0);
            _mm_storeu_ps(to.as_mut_ptr().add(4), self.1);
        }
    }
    #[inline(always)]
    fn sqrt(self) -> Sse2F32x8 {
        // SAFETY: SSE2 is part of x86-64.
        unsafe { Sse2F32x8(_mm_sqrt_ps(self.0), _mm_sqrt_ps(self.1)) }
    }
    #[inline(always)]
    fn abs(self) -> Sse2F32x8 {
        // SAFETY: SSE2 is part of x86-64.
        unsafe {
            let sign = _mm_set1_ps(-0.0);
            Sse2F32x8(_mm_andnot_ps(sign, self.0), _mm_andnot_ps(sign, self.1))
        }
    }
    #[inline(always)]
    fn select(self, yes: Sse2F32x8, no: Sse2F32x8) -> Sse2F32x8 {
        // SAFETY: SSE2 is part of x86-64.
        unsafe {
            Sse2F32x8(
                _mm_or_ps(_mm_and_ps(self.0, yes.0), _mm_andnot_ps(self.0, no.0)),
                _mm_or_ps(_mm_and_ps(self.1, yes.1), _mm_andnot_ps(self.1, no.1)),
            )
        }
    }
    #[inline(always)]
    fn bitmask(self) -> u8 {
        // SAFETY: SSE2 is part of x86-64.
        unsafe { (_mm_movemask_ps(self.0) | _mm_movemask_ps(self.1) << 4) as u8 }
    }
}

impl Simd for Sse2 {
    type F = Sse2F32x8;
    #[inline(always)]
    fn run<J: SimdJob<Sse2>>(self, job: J) {
        run_apart(self, job);
    }
    #[inline(always)]
    fn splat(self, value: f32) -> Sse2F32x8 {
        // SAFETY: SSE2 is part of x86-64.
        unsafe { Sse2F32x8(_mm_set1_ps(value), _mm_set1_ps(value)) }
    }
    #[inline(always)]
    fn load(self, from: &[f32; 8]) -> Sse2F32x8 {
        // SAFETY: SSE2 is part of x86-64; eight f32 are read.
        unsafe { Sse2F32x8(_mm_loadu_ps(from.as_ptr()), _mm_loadu_ps(from.as_ptr().add(4))) }
    }
}
