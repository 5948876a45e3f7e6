//! The finaliser of SplitMix64.
//!
//! Source: Steele, Lea and Flood, "Fast splittable pseudorandom number generators" (2014).

/// What a counter is advanced by before each number: an odd number near 2⁶⁴ divided by the golden
/// ratio.
pub const MIXED_STEP: u64 = 0x9e37_79b9_7f4a_7c15;

/// Returns 64 bits of which each depends on every bit of `v`, a different result for each `v`. 0
/// stays 0: hash `v + MIXED_STEP` where small numbers matter.
///
/// ```
/// use terravox::math::{MIXED_STEP, mixed};
///
/// // The first two numbers of SplitMix64 from the seed 1234567.
/// let state = 1_234_567_u64.wrapping_add(MIXED_STEP);
/// assert_eq!(mixed(state), 6_457_827_717_110_365_317);
/// assert_eq!(mixed(state.wrapping_add(MIXED_STEP)), 3_203_168_211_198_807_973);
/// ```
#[inline]
pub fn mixed(v: u64) -> u64 {
    let mut h = v;
    h = (h ^ (h >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    h = (h ^ (h >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    h ^ (h >> 31)
}
