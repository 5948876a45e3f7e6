//! Eight lanes of f32: algorithms are written once and run on the vector unit of the machine.
//!
//! [`Simd`] is an instruction set: AVX2 where it is detected, SSE2 on every other x86-64, the
//! vectors of WebAssembly where it is compiled with them, plain arrays elsewhere. All give the same
//! bits.
//!
//! Code that is generic over [`Simd`] must be `#[inline(always)]` from [`SimdJob::run`] down,
//! without closures that would stay calls: only then is it compiled with the features of the
//! instruction set.

#[cfg(all(target_arch = "x86_64", not(terravox_plain)))]
#[path = "avx2/simd.rs"]
mod avx2;
mod dispatch;
mod scalar;
#[cfg(all(target_arch = "wasm32", target_feature = "simd128", not(terravox_plain)))]
#[path = "simd128/simd.rs"]
mod simd128;
#[cfg(all(target_arch = "x86_64", not(terravox_plain)))]
#[path = "sse2/simd.rs"]
mod sse2;
mod vector;

#[cfg(all(target_arch = "x86_64", not(terravox_plain)))]
pub(crate) use avx2::{Avx2, Avx2F32x8, transpose4x2};
pub(crate) use dispatch::InstructionSet;
pub(crate) use scalar::{Scalar, ScalarF32x8, TRUE_LANE};
#[cfg(all(target_arch = "wasm32", target_feature = "simd128", not(terravox_plain)))]
pub(crate) use simd128::{Simd128, Simd128F32x8, transpose4};
#[cfg(all(target_arch = "x86_64", not(terravox_plain)))]
pub(crate) use sse2::{Sse2, Sse2F32x8, transpose4};
pub(crate) use vector::{F32x8, Simd, SimdJob};
