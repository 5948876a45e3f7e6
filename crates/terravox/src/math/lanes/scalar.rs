//! Eight lanes in plain arrays, which compilers may turn into vectors.

use std::ops::{Add, Div, Mul, Sub};

use super::vector::{F32x8, Simd, SimdJob, run_apart};

/// No instruction set of our own.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Scalar;

/// Eight f32 in an array.
#[derive(Clone, Copy)]
pub(crate) struct ScalarF32x8(pub(crate) [f32; 8]);

/// A lane of a mask that is set.
pub(crate) const TRUE_LANE: f32 = f32::from_bits(u32::MAX);

macro_rules! operator {
    ($trait:ident, $name:ident, $op:tt) => {
        impl $trait for ScalarF32x8 {
            type Output = ScalarF32x8;
            #[inline(always)]
            fn $name(self, other: ScalarF32x8) -> ScalarF32x8 {
                let mut out = self.0;
                for lane in 0..8 {
                    out[lane] = self.0[lane] $op other.0[lane];
                }
                ScalarF32x8(out)
            }
        }
    };
}
operator!(Add, add, +);
operator!(Sub, sub, -);
operator!(Mul, mul, *);
operator!(Div, div, /);

macro_rules! lanes {
    ($a:expr, $b:expr, |$x:ident, $y:ident| $value:expr) => {{
        let (a, b) = ($a.0, $b.0);
        let mut out = a;
        for lane in 0..8 {
            let ($x, $y) = (a[lane], b[lane]);
            out[lane] = $value;
        }
        ScalarF32x8(out)
    }};
}

impl F32x8 for ScalarF32x8 {
    #[inline(always)]
    fn store(self, to: &mut [f32; 8]) {
        *to = self.0;
    }
    #[inline(always)]
    fn sqrt(self) -> ScalarF32x8 {
        lanes!(self, self, |x, _y| x.sqrt())
    }
    #[inline(always)]
    fn abs(self) -> ScalarF32x8 {
        lanes!(self, self, |x, _y| x.abs())
    }
    #[inline(always)]
    fn max(self, other: ScalarF32x8) -> ScalarF32x8 {
        lanes!(self, other, |x, y| if x > y { x } else { y })
    }
    #[inline(always)]
    fn min(self, other: ScalarF32x8) -> ScalarF32x8 {
        lanes!(self, other, |x, y| if x < y { x } else { y })
    }
    #[inline(always)]
    fn gt(self, other: ScalarF32x8) -> ScalarF32x8 {
        lanes!(self, other, |x, y| if x > y { TRUE_LANE } else { 0.0 })
    }
    #[inline(always)]
    fn lt(self, other: ScalarF32x8) -> ScalarF32x8 {
        lanes!(self, other, |x, y| if x < y { TRUE_LANE } else { 0.0 })
    }
    #[inline(always)]
    fn and(self, mask: ScalarF32x8) -> ScalarF32x8 {
        lanes!(self, mask, |x, y| f32::from_bits(x.to_bits() & y.to_bits()))
    }
    #[inline(always)]
    fn xor(self, signs: ScalarF32x8) -> ScalarF32x8 {
        lanes!(self, signs, |x, y| f32::from_bits(x.to_bits() ^ y.to_bits()))
    }
    #[inline(always)]
    fn select(self, yes: ScalarF32x8, no: ScalarF32x8) -> ScalarF32x8 {
        let mut out = self.0;
        for lane in 0..8 {
            let mask = self.0[lane].to_bits();
            let (yes, no) = (yes.0[lane].to_bits(), no.0[lane].to_bits());
            out[lane] = f32::from_bits((yes & mask) | (no & !mask));
        }
        ScalarF32x8(out)
    }
    #[inline(always)]
    fn bitmask(self) -> u8 {
        let mut bits = 0;
        for lane in 0..8 {
            bits |= u8::from(self.0[lane].to_bits() != 0) << lane;
        }
        bits
    }
}

impl Simd for Scalar {
    type F = ScalarF32x8;
    #[inline(always)]
    fn run<J: SimdJob<Scalar>>(self, job: J) {
        run_apart(self, job);
    }
    #[inline(always)]
    fn splat(self, value: f32) -> ScalarF32x8 {
        ScalarF32x8([value; 8])
    }
    #[inline(always)]
    fn load(self, from: &[f32; 8]) -> ScalarF32x8 {
        ScalarF32x8(*from)
    }
}
