//! Vectors of three numbers as plain arrays. Sums are taken in the order x, y, z, so that
//! results have the same bits wherever they are computed.

use std::ops::{Add, Mul, Sub};

#[inline(always)]
pub(crate) fn sub<T: Copy + Sub<Output = T>>(a: [T; 3], b: [T; 3]) -> [T; 3] {
    [a[0] - b[0], a[1] - b[1], a[2] - b[2]]
}

#[inline(always)]
pub(crate) fn dot<T: Copy + Add<Output = T> + Mul<Output = T>>(a: [T; 3], b: [T; 3]) -> T {
    a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
}

#[inline(always)]
pub(crate) fn cross<T: Copy + Sub<Output = T> + Mul<Output = T>>(a: [T; 3], b: [T; 3]) -> [T; 3] {
    [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]
}
