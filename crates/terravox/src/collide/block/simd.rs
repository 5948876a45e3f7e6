//! Tests of four boxes or quads at once, in SSE2, which every x86-64 has. The twin in
//! `plain.rs` gives the same answers.
#![allow(unsafe_code)]

use std::arch::x86_64::*;

use super::boxes::BoxQuery;
use super::mesh::{FLAT, LEAF, Leaf};
use super::node::{Node, WIDTH};
use super::ray::{EDGE_SLACK, LocalRay};

/// See `plain::near_boxes`.
#[inline(always)]
pub(super) fn near_boxes(
    node: &Node,
    ray: &LocalRay,
    t_min: f32,
    t_max: f32,
) -> ([f32; WIDTH], u32) {
    // SAFETY: SSE2 is part of x86-64.
    unsafe { near_boxes_sse2(node, ray, t_min, t_max) }
}

/// See `plain::met_triangles`.
#[inline(always)]
pub(super) fn met_triangles<V: Copy + Into<usize>>(
    leaf: &Leaf<V>,
    positions: &[[i16; 3]],
    ray: &LocalRay,
) -> u32 {
    // SAFETY: SSE2 is part of x86-64.
    unsafe { met_triangles_sse2(leaf, positions, ray) }
}

/// See `plain::boxes_in`.
#[inline(always)]
pub(super) fn boxes_in(node: &Node, query: &BoxQuery) -> u32 {
    // SAFETY: SSE2 is part of x86-64.
    unsafe { boxes_in_sse2(node, query) }
}

/// See `plain::triangles_in`.
#[inline(always)]
pub(super) fn triangles_in<V: Copy + Into<usize>>(
    leaf: &Leaf<V>,
    positions: &[[i16; 3]],
    query: &BoxQuery,
) -> u32 {
    // SAFETY: SSE2 is part of x86-64.
    unsafe { triangles_in_sse2(leaf, positions, query) }
}

#[inline]
#[target_feature(enable = "sse2")]
fn near_boxes_sse2(node: &Node, ray: &LocalRay, t_min: f32, t_max: f32) -> ([f32; WIDTH], u32) {
    let (mut near, mut far) = (_mm_set1_ps(t_min), _mm_set1_ps(t_max));
    for axis in 0..3 {
        let side = ray.near_side[axis];
        let byte = _mm_set1_ps(ray.byte[axis]);
        let inward = _mm_mul_ps(bytes(node.sides[side & 1][axis]), byte);
        near = _mm_max_ps(_mm_add_ps(_mm_set1_ps(ray.ends[0][axis]), inward), near);
        let inward = _mm_mul_ps(bytes(node.sides[(side & 1) ^ 1][axis]), byte);
        far = _mm_min_ps(_mm_sub_ps(_mm_set1_ps(ray.ends[1][axis]), inward), far);
    }
    let mask = _mm_movemask_ps(_mm_cmple_ps(near, far)) as u32;
    (lanes(near), mask)
}

/// Four bytes as floats.
#[inline]
#[target_feature(enable = "sse2")]
fn bytes(of: [u8; WIDTH]) -> __m128 {
    let zero = _mm_setzero_si128();
    let packed = _mm_cvtsi32_si128(i32::from_le_bytes(of));
    _mm_cvtepi32_ps(_mm_unpacklo_epi16(_mm_unpacklo_epi8(packed, zero), zero))
}

#[inline]
#[target_feature(enable = "sse2")]
fn lanes(of: __m128) -> [f32; WIDTH] {
    let mut lanes = [0.0; WIDTH];
    // SAFETY: `lanes` has room for four floats.
    unsafe { _mm_storeu_ps(lanes.as_mut_ptr(), of) };
    lanes
}

#[inline]
#[target_feature(enable = "sse2")]
fn met_triangles_sse2<V: Copy + Into<usize>>(
    leaf: &Leaf<V>,
    positions: &[[i16; 3]],
    ray: &LocalRay,
) -> u32 {
    let [a, b, c, d] = leaf.corners.map(|corner| seen(corner_of(corner, positions), ray));
    let diagonal = cross(a, c);
    let undiagonal = _mm_xor_ps(diagonal, _mm_set1_ps(-0.0));
    let first = is_met(cross(a, b), cross(b, c), undiagonal);
    let second = is_met(diagonal, cross(c, d), cross(d, a));
    let words = words_of(leaf);
    let flat = |second: i32| {
        let to_sign = _mm_cvtsi32_si128(31 - FLAT as i32 - second);
        _mm_movemask_ps(_mm_castsi128_ps(_mm_sll_epi32(words, to_sign)))
    };
    let met = _mm_movemask_ps(first) & !flat(0) | (_mm_movemask_ps(second) & !flat(1)) << LEAF;
    met as u32
}

#[inline]
#[target_feature(enable = "sse2")]
fn words_of<V>(leaf: &Leaf<V>) -> __m128i {
    let [a, b, c, d] = leaf.words.map(|word| word as i32);
    _mm_set_epi32(d, c, b, a)
}

/// Four vertices: x in the low and y in the high half, and z in the low half.
#[inline]
#[target_feature(enable = "sse2")]
fn corner_of<V: Copy + Into<usize>>(corner: [V; LEAF], positions: &[[i16; 3]]) -> [__m128i; 2] {
    let [a, b, c, d] = corner.map(|vertex| position(positions, vertex.into()));
    let (ab, cd) = (_mm_unpacklo_epi16(a, b), _mm_unpacklo_epi16(c, d));
    [_mm_unpacklo_epi32(ab, cd), _mm_unpackhi_epi32(ab, cd)]
}

/// A vertex, and 16 bits of the next.
#[inline]
#[target_feature(enable = "sse2")]
fn position(positions: &[[i16; 3]], vertex: usize) -> __m128i {
    let [[x, y, z], [next, ..]] = positions[vertex..vertex + 2] else { unreachable!() };
    let word = |v: i16, at: u32| u64::from(v as u16) << at;
    _mm_cvtsi64_si128((word(x, 0) | word(y, 16) | word(z, 32) | word(next, 48)) as i64)
}

/// Where vertices are seen along a ray.
#[inline]
#[target_feature(enable = "sse2")]
fn seen([xy, z]: [__m128i; 2], ray: &LocalRay) -> [__m128; 2] {
    let low = |v: __m128i| _mm_cvtepi32_ps(_mm_srai_epi32(_mm_unpacklo_epi16(v, v), 16));
    let high = |v: __m128i| _mm_cvtepi32_ps(_mm_srai_epi32(_mm_unpackhi_epi16(v, v), 16));
    let (x, y, z) = (low(xy), high(xy), low(z));
    ray.views.map(|view| {
        let [vx, vy, vz, sum] = view.map(|v| _mm_set1_ps(v));
        let xy = _mm_add_ps(_mm_mul_ps(x, vx), _mm_mul_ps(y, vy));
        _mm_add_ps(_mm_add_ps(xy, _mm_mul_ps(z, vz)), sum)
    })
}

#[inline]
#[target_feature(enable = "sse2")]
fn cross(a: [__m128; 2], b: [__m128; 2]) -> __m128 {
    _mm_sub_ps(_mm_mul_ps(a[0], b[1]), _mm_mul_ps(a[1], b[0]))
}

/// Whether the products of triangles' edges agree in sign.
#[inline]
#[target_feature(enable = "sse2")]
fn is_met(a: __m128, b: __m128, c: __m128) -> __m128 {
    let area = _mm_add_ps(_mm_add_ps(a, b), c);
    let sign = _mm_set1_ps(-0.0);
    let slack = _mm_mul_ps(_mm_andnot_ps(sign, area), _mm_set1_ps(EDGE_SLACK));
    let least = _mm_min_ps(_mm_min_ps(a, b), c);
    let most = _mm_max_ps(_mm_max_ps(a, b), c);
    let agree = _mm_or_ps(_mm_cmpge_ps(least, _mm_xor_ps(slack, sign)), _mm_cmple_ps(most, slack));
    _mm_and_ps(agree, _mm_cmpneq_ps(area, _mm_setzero_ps()))
}

#[inline]
#[target_feature(enable = "sse2")]
fn boxes_in_sse2(node: &Node, query: &BoxQuery) -> u32 {
    let [first, second, third] = six(node.sides);
    let [first_limit, second_limit, third_limit] = six(query.bytes);
    // Saturated differences are 0 where the limit is kept to.
    let over = _mm_or_si128(
        _mm_or_si128(_mm_subs_epu8(first, first_limit), _mm_subs_epu8(second, second_limit)),
        _mm_subs_epu8(third, third_limit),
    );
    let over = _mm_or_si128(over, _mm_srli_si128(over, 4));
    let kept = _mm_cmpeq_epi8(over, _mm_setzero_si128());
    _mm_movemask_epi8(kept) as u32 & 15
}

/// The six sides of four boxes, two in the low half of each.
#[inline]
#[target_feature(enable = "sse2")]
fn six(sides: [[[u8; WIDTH]; 3]; 2]) -> [__m128i; 3] {
    let [[a, b, c], [d, e, f]] = sides.map(|side| side.map(|v| u64::from(u32::from_le_bytes(v))));
    let pair = |low: u64, high: u64| _mm_cvtsi64_si128((low | high << 32) as i64);
    [pair(a, b), pair(c, d), pair(e, f)]
}

#[inline]
#[target_feature(enable = "sse2")]
fn triangles_in_sse2<V: Copy + Into<usize>>(
    leaf: &Leaf<V>,
    positions: &[[i16; 3]],
    query: &BoxQuery,
) -> u32 {
    let [[x, y, z], [mx, my, mz]] = query.limits;
    let limit = _mm_set_epi16(i16::MAX, mz, my, mx, i16::MAX, z, y, x);
    let mut mask = 0;
    for quad in 0..LEAF {
        let both = |vertex: V| {
            let low = position(positions, vertex.into());
            _mm_unpacklo_epi64(low, _mm_sub_epi16(_mm_setzero_si128(), low))
        };
        let [a, b, c, d] = leaf.corners.map(|corner| both(corner[quad]));
        let ac = _mm_min_epi16(a, c);
        let over = |low: __m128i| _mm_movemask_epi8(_mm_cmpgt_epi16(low, limit)) == 0;
        let flat = leaf.words[quad] >> FLAT;
        let first = over(_mm_min_epi16(ac, b)) & (flat & 1 == 0);
        let second = over(_mm_min_epi16(ac, d)) & (flat & 2 == 0);
        mask |= (u32::from(first) | u32::from(second) << 1) << (2 * quad);
    }
    mask
}
