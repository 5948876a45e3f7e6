//! Eight lanes of f32 in a register of AVX2.
#![allow(unsafe_code)]

use std::arch::x86_64::*;
use std::ops::Range;

use super::columns::{Columns, LANES};
use super::step::{Event, Lanes, Step, step_blocks};

/// Exists only where AVX2 was detected.
#[derive(Clone, Copy, Debug)]
pub(super) struct Avx2(());

/// Made only below [`Avx2::step_blocks`].
#[derive(Clone, Copy)]
struct Avx8(__m256);

impl Avx2 {
    /// The proof, if this machine has the instructions.
    pub(super) fn detect() -> Option<Avx2> {
        std::arch::is_x86_feature_detected!("avx2").then_some(Avx2(()))
    }

    /// As [`step_blocks`] of plain arrays.
    pub(super) fn step_blocks(
        self,
        columns: &mut Columns,
        step: &Step,
        blocks: Range<usize>,
        events: &mut Vec<Event>,
    ) {
        // SAFETY: an Avx2 exists only where AVX2 was detected.
        unsafe { step_blocks_avx2(columns, step, blocks, events) }
    }
}

#[target_feature(enable = "avx2")]
fn step_blocks_avx2(
    columns: &mut Columns,
    step: &Step,
    blocks: Range<usize>,
    events: &mut Vec<Event>,
) {
    step_blocks::<Avx8>(columns, step, blocks, events);
}

/// Says that an item will be read soon; one that there is not may be named.
pub(super) fn prefetch<T>(items: &[T], at: usize) {
    let item = items.as_ptr().wrapping_add(at);
    // SAFETY: no memory is read, whatever the address.
    unsafe { _mm_prefetch::<_MM_HINT_T0>(item.cast()) }
}

macro_rules! binary {
    ($name:ident, $intrinsic:expr) => {
        #[inline(always)]
        fn $name(self, other: Avx8) -> Avx8 {
            // SAFETY: an Avx8 exists only where AVX2 was detected.
            unsafe { Avx8($intrinsic(self.0, other.0)) }
        }
    };
}

impl Lanes for Avx8 {
    binary!(add, _mm256_add_ps);
    binary!(sub, _mm256_sub_ps);
    binary!(mul, _mm256_mul_ps);
    binary!(div, _mm256_div_ps);
    binary!(larger, _mm256_max_ps);
    binary!(below, _mm256_cmp_ps::<_CMP_LT_OQ>);
    binary!(and, _mm256_and_ps);

    #[inline(always)]
    fn splat(value: f32) -> Avx8 {
        // SAFETY: only called below `step_blocks_avx2`.
        unsafe { Avx8(_mm256_set1_ps(value)) }
    }
    #[inline(always)]
    fn load(from: &[f32; LANES]) -> Avx8 {
        // SAFETY: only called below `step_blocks_avx2`; eight numbers are read.
        unsafe { Avx8(_mm256_loadu_ps(from.as_ptr())) }
    }
    #[inline(always)]
    fn store(self, to: &mut [f32; LANES]) {
        // SAFETY: an Avx8 exists only where AVX2 was detected; eight numbers are written.
        unsafe { _mm256_storeu_ps(to.as_mut_ptr(), self.0) }
    }
    #[inline(always)]
    fn sqrt(self) -> Avx8 {
        // SAFETY: an Avx8 exists only where AVX2 was detected.
        unsafe { Avx8(_mm256_sqrt_ps(self.0)) }
    }
    #[inline(always)]
    fn magnitude(self) -> Avx8 {
        // SAFETY: an Avx8 exists only where AVX2 was detected.
        unsafe { Avx8(_mm256_andnot_ps(_mm256_set1_ps(-0.0), self.0)) }
    }
    #[inline(always)]
    fn or_else(self, mask: Avx8, other: Avx8) -> Avx8 {
        // SAFETY: an Avx8 exists only where AVX2 was detected.
        unsafe { Avx8(_mm256_blendv_ps(other.0, self.0, mask.0)) }
    }
    #[inline(always)]
    fn bits(self) -> u8 {
        // SAFETY: an Avx8 exists only where AVX2 was detected.
        unsafe { _mm256_movemask_ps(self.0) as u8 }
    }
}
