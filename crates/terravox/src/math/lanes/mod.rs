//! Eight lanes of f32: algorithms are written once and run on the vector unit of the machine.
//!
//! [`Simd`] is an instruction set: AVX2 where it is detected, SSE2 on every other x86-64, plain
//! arrays elsewhere. All give the same bits.
//!
//! Code that is generic over [`Simd`] must be `#[inline(always)]` from [`SimdJob::run`] down,
//! without closures that would stay calls: only then is it compiled with the features of the
//! instruction set.

#[cfg(all(target_arch = "x86_64", not(terravox_plain)))]
#[path = "avx2/simd.rs"]
mod avx2;
mod scalar;
#[cfg(all(target_arch = "x86_64", not(terravox_plain)))]
#[path = "sse2/simd.rs"]
mod sse2;

use std::ops::{Add, Div, Mul, Sub};

#[cfg(all(target_arch = "x86_64", not(terravox_plain)))]
pub(crate) use avx2::{Avx2, Avx2F32x8, transpose4x2};
pub(crate) use scalar::{Scalar, ScalarF32x8, TRUE_LANE};
#[cfg(all(target_arch = "x86_64", not(terravox_plain)))]
pub(crate) use sse2::{Sse2, Sse2F32x8, transpose4};

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

/// The instruction set that jobs run on, chosen at run time.
#[derive(Clone, Copy, Debug)]
pub(crate) enum InstructionSet {
    /// Plain arrays.
    Scalar,
    /// The baseline of x86-64.
    #[cfg(all(target_arch = "x86_64", not(terravox_plain)))]
    Sse2,
    /// x86-64 with AVX2.
    #[cfg(all(target_arch = "x86_64", not(terravox_plain)))]
    Avx2(Avx2),
}

/// Work for any instruction set.
#[cfg(all(target_arch = "x86_64", not(terravox_plain)))]
pub(crate) trait AnySimdJob: SimdJob<Scalar> + SimdJob<Sse2> + SimdJob<Avx2> {}
#[cfg(all(target_arch = "x86_64", not(terravox_plain)))]
impl<J: SimdJob<Scalar> + SimdJob<Sse2> + SimdJob<Avx2>> AnySimdJob for J {}

/// Work for any instruction set.
#[cfg(any(not(target_arch = "x86_64"), terravox_plain))]
pub(crate) trait AnySimdJob: SimdJob<Scalar> {}
#[cfg(any(not(target_arch = "x86_64"), terravox_plain))]
impl<J: SimdJob<Scalar>> AnySimdJob for J {}

impl InstructionSet {
    /// Runs a job.
    #[inline]
    pub(crate) fn run(self, job: impl AnySimdJob) {
        match self {
            InstructionSet::Scalar => Scalar.run(job),
            #[cfg(all(target_arch = "x86_64", not(terravox_plain)))]
            InstructionSet::Sse2 => Sse2.run(job),
            #[cfg(all(target_arch = "x86_64", not(terravox_plain)))]
            InstructionSet::Avx2(avx2) => avx2.run(job),
        }
    }

    /// Returns the widest of this machine.
    pub(crate) fn widest() -> InstructionSet {
        #[cfg(all(target_arch = "x86_64", not(terravox_plain)))]
        if let Some(avx2) = Avx2::detect() {
            return InstructionSet::Avx2(avx2);
        }
        InstructionSet::baseline()
    }

    /// Returns what every machine of this architecture has.
    pub(crate) fn baseline() -> InstructionSet {
        #[cfg(all(target_arch = "x86_64", not(terravox_plain)))]
        return InstructionSet::Sse2;
        #[cfg(any(not(target_arch = "x86_64"), terravox_plain))]
        return InstructionSet::Scalar;
    }
}

/// Runs a job with the features that are always enabled. A function of its own, so that every
/// job has all registers.
#[inline(never)]
fn run_apart<S: Simd, J: SimdJob<S>>(simd: S, job: J) {
    job.run(simd);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// All operations on pairs of awkward numbers, as bits.
    struct Operations<'a> {
        out: &'a mut Vec<u32>,
    }

    impl<S: Simd> SimdJob<S> for Operations<'_> {
        #[inline(always)]
        fn run(self, simd: S) {
            let values = [0.0, -0.0, 1.5, -2.25, f32::MAX, f32::INFINITY, 1e-40, f32::NAN];
            let a = simd.load(&values);
            for value in values {
                let b = simd.splat(value);
                let mask = a.gt(b);
                let results = [
                    (a + b, true),
                    (a - b, true),
                    (a * b, true),
                    (a / b, true),
                    (a.sqrt(), true),
                    (a.abs(), true),
                    (a.max(b), true),
                    (a.min(b), true),
                    (mask, false),
                    (a.lt(b), false),
                    (a.and(mask), false),
                    (a.xor(simd.splat(-0.0)), true),
                    (mask.select(a, b), true),
                ];
                for (result, is_number) in results {
                    let mut lanes = [0.0; 8];
                    result.store(&mut lanes);
                    // The bits of a NaN that is computed are not specified.
                    let bits = |v: f32| if is_number && v.is_nan() { 1 } else { v.to_bits() };
                    self.out.extend(lanes.map(bits));
                }
                self.out.push(mask.bitmask().into());
            }
        }
    }

    #[test]
    fn all_instruction_sets_give_the_same_bits() {
        let mut expected = Vec::new();
        Scalar.run(Operations { out: &mut expected });
        for set in [InstructionSet::baseline(), InstructionSet::widest()] {
            let mut out = Vec::new();
            set.run(Operations { out: &mut out });
            assert_eq!(out, expected, "{set:?}");
        }
    }
}
