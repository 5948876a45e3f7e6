//! The choice of an instruction set.

#[cfg(all(target_arch = "x86_64", not(terravox_plain)))]
use super::avx2::Avx2;
// Elsewhere nothing is wider than the baseline.
#[cfg(any(not(target_arch = "x86_64"), terravox_plain))]
use super::scalar::Scalar as Avx2;
#[cfg(any(
    not(any(target_arch = "x86_64", all(target_arch = "wasm32", target_feature = "simd128"))),
    terravox_plain
))]
use super::scalar::Scalar as Baseline;
// WebAssembly with vectors leaves out plain arrays: a page would carry 100 KB of code that never runs.
#[cfg(any(not(all(target_arch = "wasm32", target_feature = "simd128")), terravox_plain))]
use super::scalar::Scalar as Plain;
#[cfg(all(target_arch = "wasm32", target_feature = "simd128", not(terravox_plain)))]
use super::simd128::{Simd128 as Baseline, Simd128 as Plain};
#[cfg(all(target_arch = "x86_64", not(terravox_plain)))]
use super::sse2::Sse2 as Baseline;
use super::vector::{Simd, SimdJob};

/// The instruction set that jobs run on, chosen at run time.
#[derive(Clone, Copy, Debug)]
pub(crate) enum InstructionSet {
    /// Plain arrays, or the baseline where they are left out.
    Plain,
    /// What every machine of this architecture has: SSE2, the vectors of WebAssembly, or plain
    /// arrays.
    Baseline(Baseline),
    /// x86-64 with AVX2.
    #[cfg(all(target_arch = "x86_64", not(terravox_plain)))]
    Avx2(Avx2),
}

impl InstructionSet {
    /// Runs a job.
    #[inline]
    pub(crate) fn run<J>(self, job: J)
    where
        J: SimdJob<Plain> + SimdJob<Baseline> + SimdJob<Avx2>,
    {
        match self {
            InstructionSet::Plain => Plain.run(job),
            InstructionSet::Baseline(baseline) => baseline.run(job),
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
        InstructionSet::Baseline(Baseline)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math::lanes::{F32x8, Scalar};

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
