//! Eight lanes in two registers of WebAssembly, if it is compiled with `simd128`: an engine does
//! not run a module with instructions that it does not know, so nothing is to be detected.
#![allow(unsafe_code)]

use std::arch::wasm32::*;
use std::ops::{Add, Div, Mul, Sub};

use super::vector::{F32x8, Simd, SimdJob, run_apart};

/// The vectors of WebAssembly.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Simd128;

/// Eight f32: the low and the high half.
#[derive(Clone, Copy)]
pub(crate) struct Simd128F32x8(pub(crate) v128, pub(crate) v128);

/// Transposes four rows of four.
#[inline(always)]
pub(crate) fn transpose4(a: v128, b: v128, c: v128, d: v128) -> [v128; 4] {
    let (ab, cd) = (i32x4_shuffle::<0, 4, 1, 5>(a, b), i32x4_shuffle::<0, 4, 1, 5>(c, d));
    let (ab2, cd2) = (i32x4_shuffle::<2, 6, 3, 7>(a, b), i32x4_shuffle::<2, 6, 3, 7>(c, d));
    [
        i64x2_shuffle::<0, 2>(ab, cd),
        i64x2_shuffle::<1, 3>(ab, cd),
        i64x2_shuffle::<0, 2>(ab2, cd2),
        i64x2_shuffle::<1, 3>(ab2, cd2),
    ]
}

macro_rules! operator {
    ($trait:ident, $name:ident, $intrinsic:ident) => {
        impl $trait for Simd128F32x8 {
            type Output = Simd128F32x8;
            #[inline(always)]
            fn $name(self, other: Simd128F32x8) -> Simd128F32x8 {
                Simd128F32x8($intrinsic(self.0, other.0), $intrinsic(self.1, other.1))
            }
        }
    };
}
operator!(Add, add, f32x4_add);
operator!(Sub, sub, f32x4_sub);
operator!(Mul, mul, f32x4_mul);
operator!(Div, div, f32x4_div);

macro_rules! binary {
    ($name:ident, $intrinsic:ident) => {
        #[inline(always)]
        fn $name(self, other: Simd128F32x8) -> Simd128F32x8 {
            Simd128F32x8($intrinsic(self.0, other.0), $intrinsic(self.1, other.1))
        }
    };
}

impl F32x8 for Simd128F32x8 {
    binary!(gt, f32x4_gt);
    binary!(lt, f32x4_lt);
    binary!(and, v128_and);
    binary!(xor, v128_xor);

    #[inline(always)]
    fn store(self, to: &mut [f32; 8]) {
        // SAFETY: eight f32 are written.
        unsafe {
            v128_store(to.as_mut_ptr().cast(), self.0);
            v128_store(to.as_mut_ptr().add(4).cast(), self.1);
        }
    }
    #[inline(always)]
    fn sqrt(self) -> Simd128F32x8 {
        Simd128F32x8(f32x4_sqrt(self.0), f32x4_sqrt(self.1))
    }
    #[inline(always)]
    fn abs(self) -> Simd128F32x8 {
        Simd128F32x8(f32x4_abs(self.0), f32x4_abs(self.1))
    }
    // The first operand is returned unless the second is greater.
    #[inline(always)]
    fn max(self, other: Simd128F32x8) -> Simd128F32x8 {
        Simd128F32x8(f32x4_pmax(other.0, self.0), f32x4_pmax(other.1, self.1))
    }
    // The first operand is returned unless the second is less.
    #[inline(always)]
    fn min(self, other: Simd128F32x8) -> Simd128F32x8 {
        Simd128F32x8(f32x4_pmin(other.0, self.0), f32x4_pmin(other.1, self.1))
    }
    #[inline(always)]
    fn select(self, yes: Simd128F32x8, no: Simd128F32x8) -> Simd128F32x8 {
        Simd128F32x8(v128_bitselect(yes.0, no.0, self.0), v128_bitselect(yes.1, no.1, self.1))
    }
    #[inline(always)]
    fn bitmask(self) -> u8 {
        i32x4_bitmask(self.0) | i32x4_bitmask(self.1) << 4
    }
}

impl Simd for Simd128 {
    type F = Simd128F32x8;
    #[inline(always)]
    fn run<J: SimdJob<Simd128>>(self, job: J) {
        run_apart(self, job);
    }
    #[inline(always)]
    fn splat(self, value: f32) -> Simd128F32x8 {
        Simd128F32x8(f32x4_splat(value), f32x4_splat(value))
    }
    #[inline(always)]
    fn load(self, from: &[f32; 8]) -> Simd128F32x8 {
        // SAFETY: eight f32 are read.
        unsafe {
            let from: *const f32 = from.as_ptr();
            Simd128F32x8(v128_load(from.cast()), v128_load(from.add(4).cast()))
        }
    }
}
