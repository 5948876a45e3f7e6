//! What an instruction set does with eight lanes.

use std::ops::{Add, Div, Mul, Sub};

/// Eight f32. Comparisons give masks: all bits of a lane set, or none.
pub(crate) trait F32x8:
    Copy + Add<Output = Self> + Sub<Output = Self> + Mul<Output = Self> + Div<Output = Self>
{
    /// Writes the lanes to memory.
    fn store(self, to: &mut [f32; 8]);
    /// Square roots.
    fn sqrt(self) -> Self;
    /// Absolute values.
    fn abs(self) -> Self;
    /// The larger of each lane; `other` if they are equal or either is NaN.
    fn max(self, other: Self) -> Self;
    /// The smaller of each lane; `other` if they are equal or either is NaN.
    fn min(self, other: Self) -> Self;
    /// Mask of the lanes in which `self` is greater.
    fn gt(self, other: Self) -> Self;
    /// Mask of the lanes in which `self` is less.
    fn lt(self, other: Self) -> Self;
    /// Bitwise and.
    fn and(self, mask: Self) -> Self;
    /// Bitwise exclusive or: flips the signs of the lanes in which `signs` is −0.0, not +0.0.
    fn xor(self, signs: Self) -> Self;
    /// For a mask: `yes` in the lanes that are set, `no` in the others.
    fn select(self, yes: Self, no: Self) -> Self;
    /// For a mask: bit `i` is set if lane `i` is.
    fn bitmask(self) -> u8;
}

/// An instruction set. A value of such a type proves that the machine has it.
pub(crate) trait Simd: Copy {
    /// Eight f32.
    type F: F32x8;
    /// Runs a job compiled for this instruction set.
    fn run<J: SimdJob<Self>>(self, job: J);
    /// The same value in all lanes.
    fn splat(self, value: f32) -> Self::F;
    /// Reads the lanes from memory.
    fn load(self, from: &[f32; 8]) -> Self::F;
}

/// Work for an instruction set.
pub(crate) trait SimdJob<S: Simd> {
    /// Does the work. Must be `#[inline(always)]`.
    fn run(self, simd: S);
}

/// Runs a job with the features that are always enabled. A function of its own, so that every
/// job has all registers.
#[inline(never)]
pub(super) fn run_apart<S: Simd, J: SimdJob<S>>(simd: S, job: J) {
    job.run(simd);
}
