//! Eight lanes in a register of AVX2, with BMI and POPCNT.
#![allow(unsafe_code)]

use std::arch::x86_64::*;
use std::ops::{Add, Div, Mul, Sub};

use super::vector::{F32x8, Simd, SimdJob};

/// Exists only where AVX2, BMI1, BMI2 and POPCNT were detected.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Avx2(());

/// Eight f32. Exists only where an [`Avx2`] does.
#[derive(Clone, Copy)]
pub(crate) struct Avx2F32x8(__m256);

impl Avx2 {
    /// Returns the proof if this machine has the instructions.
    pub(crate) fn detect() -> Option<Avx2> {
        let has = std::arch::is_x86_feature_detected!("avx2")
            && std::arch::is_x86_feature_detected!("bmi1")
            && std::arch::is_x86_feature_detected!("bmi2")
            && std::arch::is_x86_feature_detected!("popcnt");
        has.then_some(Avx2(()))
    }
}

impl Avx2F32x8 {
    /// Wraps a register.
    ///
    /// # Safety
    /// The machine must have the features of [`Avx2`].
    #[inline(always)]
    pub(crate) unsafe fn new(register: __m256) -> Avx2F32x8 {
        Avx2F32x8(register)
    }

    /// Returns the register.
    #[inline(always)]
    pub(crate) fn register(self) -> __m256 {
        self.0
    }
}

/// Transposes four rows of four in each half of the registers.
///
/// # Safety
/// The machine must have AVX2.
#[inline(always)]
pub(crate) unsafe fn transpose4x2(a: __m256, b: __m256, c: __m256, d: __m256) -> [__m256; 4] {
    // SAFETY: the caller promises AVX2.
    unsafe {
        let (ab, cd) = (_mm256_unpacklo_ps(a, b), _mm256_unpacklo_ps(c, d));
        let (ab2, cd2) = (_mm256_unpackhi_ps(a, b), _mm256_unpackhi_ps(c, d));
        [
            _mm256_shuffle_ps::<0x44>(ab, cd),
            _mm256_shuffle_ps::<0xee>(ab, cd),
            _mm256_shuffle_ps::<0x44>(ab2, cd2),
            _mm256_shuffle_ps::<0xee>(ab2, cd2),
        ]
    }
}

macro_rules! operator {
    ($trait:ident, $name:ident, $intrinsic:ident) => {
        impl $trait for Avx2F32x8 {
            type Output = Avx2F32x8;
            #[inline(always)]
            fn $name(self, other: Avx2F32x8) -> Avx2F32x8 {
                // SAFETY: an Avx2F32x8 exists only where AVX2 was detected.
                unsafe { Avx2F32x8($intrinsic(self.0, other.0)) }
            }
        }
    };
}
operator!(Add, add, _mm256_add_ps);
operator!(Sub, sub, _mm256_sub_ps);
operator!(Mul, mul, _mm256_mul_ps);
operator!(Div, div, _mm256_div_ps);

macro_rules! binary {
    ($name:ident, $intrinsic:expr) => {
        #[inline(always)]
        fn $name(self, other: Avx2F32x8) -> Avx2F32x8 {
            // SAFETY: an Avx2F32x8 exists only where AVX2 was detected.
            unsafe { Avx2F32x8($intrinsic(self.0, other.0)) }
        }
    };
}

impl F32x8 for Avx2F32x8 {
    binary!(max, _mm256_max_ps);
    binary!(min, _mm256_min_ps);
    binary!(gt, _mm256_cmp_ps::<_CMP_GT_OQ>);
    binary!(lt, _mm256_cmp_ps::<_CMP_LT_OQ>);
    binary!(and, _mm256_and_ps);
    binary!(xor, _mm256_xor_ps);

    #[inline(always)]
    fn store(self, to: &mut [f32; 8]) {
        // SAFETY: an Avx2F32x8 exists only where AVX2 was detected; eight f32 are written.
        unsafe { _mm256_storeu_ps(to.as_mut_ptr(), self.0) }
    }
    #[inline(always)]
    fn sqrt(self) -> Avx2F32x8 {
        // SAFETY: an Avx2F32x8 exists only where AVX2 was detected.
        unsafe { Avx2F32x8(_mm256_sqrt_ps(self.0)) }
    }
    #[inline(always)]
    fn abs(self) -> Avx2F32x8 {
        // SAFETY: an Avx2F32x8 exists only where AVX2 was detected.
        unsafe { Avx2F32x8(_mm256_andnot_ps(_mm256_set1_ps(-0.0), self.0)) }
    }
    #[inline(always)]
    fn select(self, yes: Avx2F32x8, no: Avx2F32x8) -> Avx2F32x8 {
        // SAFETY: an Avx2F32x8 exists only where AVX2 was detected.
        unsafe { Avx2F32x8(_mm256_blendv_ps(no.0, yes.0, self.0)) }
    }
    #[inline(always)]
    fn bitmask(self) -> u8 {
        // SAFETY: an Avx2F32x8 exists only where AVX2 was detected.
        unsafe { _mm256_movemask_ps(self.0) as u8 }
    }
}

/// Runs a job with the features that [`Avx2`] proves.
///
/// # Safety
/// The machine must have them.
#[inline(never)]
#[target_feature(enable = "avx2,bmi1,bmi2,popcnt")]
unsafe fn run_avx2<J: SimdJob<Avx2>>(avx2: Avx2, job: J) {
    job.run(avx2);
}

impl Simd for Avx2 {
    type F = Avx2F32x8;
    #[inline(always)]
    fn run<J: SimdJob<Avx2>>(self, job: J) {
        // SAFETY: an Avx2 exists only where its features were detected.
        unsafe { run_avx2(self, job) }
    }
    #[inline(always)]
    fn splat(self, value: f32) -> Avx2F32x8 {
        // SAFETY: an Avx2 exists only where its features were detected.
        unsafe { Avx2F32x8(_mm256_set1_ps(value)) }
    }
    #[inline(always)]
    fn load(self, from: &[f32; 8]) -> Avx2F32x8 {
        // SAFETY: an Avx2 exists only where its features were detected; eight f32 are read.
        unsafe { Avx2F32x8(_mm256_loadu_ps(from.as_ptr())) }
    }
}
