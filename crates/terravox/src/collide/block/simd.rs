//! Tests of four boxes or quads at once with SSE2, which every x86-64 has. The results are those
//! of the twin in `plain`.
#![allow(unsafe_code)]

use std::arch::x86_64::*;

use glam::Vec4;

use super::box_query::BoxQuery;
use super::leaf::{FLAT, LEAF, MAX_POSITION, MIDDLE, QuadLeaf, REVERSED, STEPS};
use super::local_ray::{EDGE_SLACK, LocalRay, TriangleRay};
use super::node::{Node, WIDTH};
use super::vertex::{BuildVertex, MIN_CERTAIN_AREA, QuadBounds};
use super::walk::QueuedChild;

/// See `scalar::near_boxes`.
#[inline(always)]
pub(super) fn near_boxes(
    node: &Node,
    ray: &LocalRay,
    t_min: f32,
    t_max: f32,
) -> ([QueuedChild; WIDTH], u32) {
    // SAFETY: SSE2 is part of x86-64.
    unsafe { near_boxes_sse2(node, ray, t_min, t_max) }
}

/// See `scalar::hit_triangles`.
#[inline(always)]
pub(super) fn hit_triangles<V: Copy + Into<usize>>(
    leaf: &QuadLeaf<V>,
    positions: &[[i16; 3]],
    ray: &TriangleRay,
) -> u32 {
    // SAFETY: SSE2 is part of x86-64.
    unsafe { hit_triangles_sse2(leaf, positions, ray) }
}

/// See `scalar::boxes_in`.
#[inline(always)]
pub(super) fn boxes_in(node: &Node, query: &BoxQuery) -> u32 {
    // SAFETY: SSE2 is part of x86-64.
    unsafe { boxes_in_sse2(node, query) }
}

/// See `scalar::triangles_in`.
#[inline(always)]
pub(super) fn triangles_in<V: Copy + Into<usize>>(
    leaf: &QuadLeaf<V>,
    positions: &[[i16; 3]],
    query: &BoxQuery,
) -> u32 {
    // SAFETY: SSE2 is part of x86-64.
    unsafe { triangles_in_sse2(leaf, positions, query) }
}

/// See `scalar::vertex`.
#[inline(always)]
pub(super) fn vertex(position: [f32; 3], normal: [f32; 3]) -> BuildVertex {
    // SAFETY: SSE2 is part of x86-64.
    unsafe { vertex_sse2(position, normal) }
}

/// See `scalar::quad_bounds`.
#[inline(always)]
pub(super) fn quad_bounds(
    a: &BuildVertex,
    b: &BuildVertex,
    c: &BuildVertex,
    d: &BuildVertex,
) -> ([i16; 8], u32) {
    // SAFETY: SSE2 is part of x86-64.
    unsafe { quad_bounds_sse2(a, b, c, d) }
}

/// See `scalar::corners`.
#[inline(always)]
pub(super) fn corners(positions: &[[i16; 3]], vertices: [usize; 3]) -> [[f32; 3]; 3] {
    // SAFETY: SSE2 is part of x86-64.
    unsafe { corners_sse2(positions, vertices) }
}

/// See `scalar::measure`.
#[inline(always)]
pub(super) fn measure(quads: &[QuadBounds]) -> ([i16; 8], [i32; 4]) {
    // SAFETY: SSE2 is part of x86-64.
    unsafe { measure_sse2(quads) }
}

#[inline]
#[target_feature(enable = "sse2")]
fn vertex_sse2([x, y, z]: [f32; 3], [nx, ny, nz]: [f32; 3]) -> BuildVertex {
    let from_middle = _mm_sub_ps(_mm_set_ps(MIDDLE, z, y, x), _mm_set1_ps(MIDDLE));
    let end = _mm_set1_ps(f32::from(MAX_POSITION));
    let steps = _mm_mul_ps(from_middle, _mm_set1_ps(STEPS));
    let steps = _mm_min_ps(_mm_max_ps(steps, _mm_sub_ps(_mm_setzero_ps(), end)), end);
    let whole = _mm_cvttps_epi32(steps);
    let negated = _mm_sub_epi32(_mm_setzero_si128(), whole);
    BuildVertex {
        bounds: halves(_mm_packs_epi32(whole, negated)),
        steps: lanes(_mm_cvtepi32_ps(whole)),
        normal: [nz, nx, ny, 0.0],
    }
}

#[inline]
#[target_feature(enable = "sse2")]
fn quad_bounds_sse2(
    a: &BuildVertex,
    b: &BuildVertex,
    c: &BuildVertex,
    d: &BuildVertex,
) -> ([i16; 8], u32) {
    let [a_box, b_box, c_box, d_box] =
        [load(&a.bounds), load(&b.bounds), load(&c.bounds), load(&d.bounds)];
    let least = _mm_min_epi16(_mm_min_epi16(a_box, b_box), _mm_min_epi16(c_box, d_box));
    let start = floats(&a.steps);
    let u = _mm_sub_ps(floats(&b.steps), start);
    let v = _mm_sub_ps(floats(&c.steps), start);
    let w = _mm_sub_ps(floats(&d.steps), start);
    let ends = _mm_add_ps(floats(&a.normal), floats(&c.normal));
    let (first, second) = (across(u, v), across(v, w));
    let along = sums(
        _mm_mul_ps(first, _mm_add_ps(ends, floats(&b.normal))),
        _mm_mul_ps(second, _mm_add_ps(ends, floats(&d.normal))),
    );
    let sign = _mm_set1_ps(-0.0);
    let size = sums(_mm_andnot_ps(sign, first), _mm_andnot_ps(sign, second));
    let reversed = _mm_movemask_ps(_mm_cmplt_ps(along, _mm_setzero_ps())) as u32 & 3;
    let small = _mm_movemask_ps(_mm_cmplt_ps(size, _mm_set1_ps(MIN_CERTAIN_AREA))) as u32 & 3;
    (halves(least), reversed << REVERSED | small << FLAT)
}

/// The cross product, as z, x, y.
#[inline]
#[target_feature(enable = "sse2")]
fn across(u: __m128, v: __m128) -> __m128 {
    let next_u = _mm_shuffle_ps(u, u, 0b11_00_10_01);
    let next_v = _mm_shuffle_ps(v, v, 0b11_00_10_01);
    _mm_sub_ps(_mm_mul_ps(u, next_v), _mm_mul_ps(next_u, v))
}

/// The sums of each of two, in the lowest lanes.
#[inline]
#[target_feature(enable = "sse2")]
fn sums(a: __m128, b: __m128) -> __m128 {
    let low = _mm_unpacklo_ps(a, b);
    _mm_add_ps(_mm_add_ps(low, _mm_movehl_ps(low, low)), _mm_unpackhi_ps(a, b))
}

#[inline]
#[target_feature(enable = "sse2")]
fn load(of: &[i16; 8]) -> __m128i {
    // SAFETY: they are 16 bytes.
    unsafe { _mm_loadu_si128(of.as_ptr().cast()) }
}

#[inline]
#[target_feature(enable = "sse2")]
fn floats(of: &[f32; 4]) -> __m128 {
    // SAFETY: they are four floats.
    unsafe { _mm_loadu_ps(of.as_ptr()) }
}

#[inline]
#[target_feature(enable = "sse2")]
fn halves(of: __m128i) -> [i16; 8] {
    let mut halves = [0; 8];
    // SAFETY: `halves` has room for 16 bytes.
    unsafe { _mm_storeu_si128(halves.as_mut_ptr().cast(), of) };
    halves
}

#[inline]
#[target_feature(enable = "sse2")]
fn corners_sse2(positions: &[[i16; 3]], [a, b, c]: [usize; 3]) -> [[f32; 3]; 3] {
    [cells(positions, a), cells(positions, b), cells(positions, c)]
}

/// A vertex in cells.
#[inline]
#[target_feature(enable = "sse2")]
fn cells(positions: &[[i16; 3]], vertex: usize) -> [f32; 3] {
    let packed = position(positions, vertex);
    let steps = _mm_cvtepi32_ps(_mm_srai_epi32(_mm_unpacklo_epi16(packed, packed), 16));
    let from_middle = _mm_mul_ps(steps, _mm_set1_ps(1.0 / STEPS));
    let [x, y, z, _] = lanes(_mm_add_ps(from_middle, _mm_set1_ps(MIDDLE)));
    [x, y, z]
}

#[inline]
#[target_feature(enable = "sse2")]
fn measure_sse2(quads: &[QuadBounds]) -> ([i16; 8], [i32; 4]) {
    let mut least = _mm_set1_epi16(i16::MAX);
    let mut sums = _mm_setzero_si128();
    let signs = _mm_set1_epi32(0xffff_0001_u32 as i32);
    for quad in quads {
        let quad = load(&quad.0);
        least = _mm_min_epi16(least, quad);
        let pairs = _mm_unpacklo_epi16(quad, _mm_unpackhi_epi64(quad, quad));
        sums = _mm_add_epi32(sums, _mm_madd_epi16(pairs, signs));
    }
    let mut total = [0; 4];
    // SAFETY: `total` has room for 16 bytes.
    unsafe { _mm_storeu_si128(total.as_mut_ptr().cast(), sums) };
    (halves(least), total)
}

#[inline]
#[target_feature(enable = "sse2")]
fn near_boxes_sse2(
    node: &Node,
    ray: &LocalRay,
    t_min: f32,
    t_max: f32,
) -> ([QueuedChild; WIDTH], u32) {
    let (low, high) = sides_of(node);
    // By axis four bytes that say whether the high side is the near one.
    let is_near = _mm_srai_epi32(_mm_castps_si128(ray.direction.into()), 31);
    let near_sides = _mm_or_si128(_mm_andnot_si128(is_near, low), _mm_and_si128(is_near, high));
    let far_sides = _mm_xor_si128(_mm_xor_si128(low, high), near_sides);
    let [near_x, near_y, near_z] = inward(near_sides, ray);
    let [far_x, far_y, far_z] = inward(far_sides, ray);
    let [x, y, z, _] = ray.ends[0].to_array();
    let near = _mm_max_ps(_mm_add_ps(_mm_set1_ps(x), near_x), _mm_set1_ps(t_min));
    let near = _mm_max_ps(_mm_add_ps(_mm_set1_ps(y), near_y), near);
    let near = _mm_max_ps(_mm_add_ps(_mm_set1_ps(z), near_z), near);
    let [x, y, z, _] = ray.ends[1].to_array();
    let far = _mm_min_ps(_mm_sub_ps(_mm_set1_ps(x), far_x), _mm_set1_ps(t_max));
    let far = _mm_min_ps(_mm_sub_ps(_mm_set1_ps(y), far_y), far);
    let far = _mm_min_ps(_mm_sub_ps(_mm_set1_ps(z), far_z), far);
    let hit = _mm_cmple_ps(near, far);
    let near = _mm_castps_si128(_mm_and_ps(near, hit));
    let [a, b, c, d] = node.children;
    let low = u64::from(a) | u64::from(b) << 16;
    let packed = _mm_cvtsi64_si128((low | u64::from(c) << 32 | u64::from(d) << 48) as i64);
    let children = _mm_unpacklo_epi16(packed, _mm_setzero_si128());
    let children = _mm_and_si128(children, _mm_castps_si128(hit));
    let mut queued = [0; WIDTH];
    // SAFETY: `queued` has room for 32 bytes.
    unsafe {
        let to: *mut __m128i = queued.as_mut_ptr().cast();
        _mm_storeu_si128(to, _mm_unpacklo_epi32(children, near));
        _mm_storeu_si128(to.add(1), _mm_unpackhi_epi32(children, near));
    }
    (queued, _mm_movemask_ps(hit) as u32)
}

/// The low and the high sides of a node's boxes, by axis; the last four bytes are others.
#[inline]
#[target_feature(enable = "sse2")]
fn sides_of(node: &Node) -> (__m128i, __m128i) {
    let bytes: *const u8 = std::ptr::from_ref(node).cast();
    // SAFETY: a node is 32 bytes, its high sides begin at the 12th.
    unsafe { (_mm_loadu_si128(bytes.cast()), _mm_loadu_si128(bytes.add(12).cast())) }
}

/// How far along the ray sides lie from the ends of the block, by axis.
#[inline]
#[target_feature(enable = "sse2")]
fn inward(sides: __m128i, ray: &LocalRay) -> [__m128; 3] {
    let zero = _mm_setzero_si128();
    let (xy, z) = (_mm_unpacklo_epi8(sides, zero), _mm_unpackhi_epi8(sides, zero));
    let x = _mm_cvtepi32_ps(_mm_unpacklo_epi16(xy, zero));
    let y = _mm_cvtepi32_ps(_mm_unpackhi_epi16(xy, zero));
    let z = _mm_cvtepi32_ps(_mm_unpacklo_epi16(z, zero));
    let [step_x, step_y, step_z, _] = ray.byte.to_array();
    [
        _mm_mul_ps(x, _mm_set1_ps(step_x)),
        _mm_mul_ps(y, _mm_set1_ps(step_y)),
        _mm_mul_ps(z, _mm_set1_ps(step_z)),
    ]
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
fn hit_triangles_sse2<V: Copy + Into<usize>>(
    leaf: &QuadLeaf<V>,
    positions: &[[i16; 3]],
    ray: &TriangleRay,
) -> u32 {
    let a = project(corner_of(leaf.corners[0], positions), ray);
    let b = project(corner_of(leaf.corners[1], positions), ray);
    let c = project(corner_of(leaf.corners[2], positions), ray);
    let d = project(corner_of(leaf.corners[3], positions), ray);
    let diagonal = cross(a, c);
    let undiagonal = _mm_xor_ps(diagonal, _mm_set1_ps(-0.0));
    let first = is_hit(cross(a, b), cross(b, c), undiagonal);
    let second = is_hit(diagonal, cross(c, d), cross(d, a));
    let words = words_of(leaf);
    let first_flat = _mm_castsi128_ps(_mm_slli_epi32(words, 31 - FLAT as i32));
    let second_flat = _mm_castsi128_ps(_mm_slli_epi32(words, 30 - FLAT as i32));
    let first = _mm_movemask_ps(_mm_andnot_ps(first_flat, first));
    let second = _mm_movemask_ps(_mm_andnot_ps(second_flat, second));
    (first | second << LEAF) as u32
}

#[inline]
#[target_feature(enable = "sse2")]
fn words_of<V>(leaf: &QuadLeaf<V>) -> __m128i {
    let [a, b, c, d] = leaf.words;
    _mm_set_epi32(d as i32, c as i32, b as i32, a as i32)
}

/// Four vertices: x in the low and y in the high half, and z in the low half.
#[inline]
#[target_feature(enable = "sse2")]
fn corner_of<V: Copy + Into<usize>>(corner: [V; LEAF], positions: &[[i16; 3]]) -> [__m128i; 2] {
    let [a, b, c, d] = corner;
    let ab = _mm_unpacklo_epi16(position(positions, a.into()), position(positions, b.into()));
    let cd = _mm_unpacklo_epi16(position(positions, c.into()), position(positions, d.into()));
    [_mm_unpacklo_epi32(ab, cd), _mm_unpackhi_epi32(ab, cd)]
}

/// A vertex, and 16 bits of the next.
#[inline]
#[target_feature(enable = "sse2")]
fn position(positions: &[[i16; 3]], vertex: usize) -> __m128i {
    let [[x, y, z], [next, _, _]] = positions[vertex..vertex + 2] else { unreachable!() };
    let low = u64::from(x as u16) | u64::from(y as u16) << 16;
    let high = u64::from(z as u16) << 32 | u64::from(next as u16) << 48;
    _mm_cvtsi64_si128((low | high) as i64)
}

/// Projects vertices along a ray.
#[inline]
#[target_feature(enable = "sse2")]
fn project([xy, z]: [__m128i; 2], ray: &TriangleRay) -> [__m128; 2] {
    let x = _mm_cvtepi32_ps(_mm_srai_epi32(_mm_unpacklo_epi16(xy, xy), 16));
    let y = _mm_cvtepi32_ps(_mm_srai_epi32(_mm_unpackhi_epi16(xy, xy), 16));
    let z = _mm_cvtepi32_ps(_mm_srai_epi32(_mm_unpacklo_epi16(z, z), 16));
    [view([x, y, z], ray.views[0]), view([x, y, z], ray.views[1])]
}

#[inline]
#[target_feature(enable = "sse2")]
fn view([x, y, z]: [__m128; 3], view: Vec4) -> __m128 {
    let x = _mm_mul_ps(x, _mm_set1_ps(view.x));
    let y = _mm_mul_ps(y, _mm_set1_ps(view.y));
    let z = _mm_mul_ps(z, _mm_set1_ps(view.z));
    _mm_add_ps(_mm_add_ps(_mm_add_ps(x, y), z), _mm_set1_ps(view.w))
}

#[inline]
#[target_feature(enable = "sse2")]
fn cross(a: [__m128; 2], b: [__m128; 2]) -> __m128 {
    _mm_sub_ps(_mm_mul_ps(a[0], b[1]), _mm_mul_ps(a[1], b[0]))
}

/// Whether the products of triangles' edges agree in sign.
#[inline]
#[target_feature(enable = "sse2")]
fn is_hit(a: __m128, b: __m128, c: __m128) -> __m128 {
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
    let [[a, b, c], [d, e, f]] = sides;
    [pair(a, b), pair(c, d), pair(e, f)]
}

#[inline]
#[target_feature(enable = "sse2")]
fn pair(low: [u8; WIDTH], high: [u8; WIDTH]) -> __m128i {
    let (low, high) = (u32::from_le_bytes(low), u32::from_le_bytes(high));
    _mm_cvtsi64_si128((u64::from(low) | u64::from(high) << 32) as i64)
}

#[inline]
#[target_feature(enable = "sse2")]
fn triangles_in_sse2<V: Copy + Into<usize>>(
    leaf: &QuadLeaf<V>,
    positions: &[[i16; 3]],
    query: &BoxQuery,
) -> u32 {
    let [[x, y, z], [mx, my, mz]] = query.limits;
    let limit = _mm_set_epi16(i16::MAX, mz, my, mx, i16::MAX, z, y, x);
    let mut mask = 0;
    for quad in 0..LEAF {
        let a = both(positions, leaf.corners[0][quad].into());
        let b = both(positions, leaf.corners[1][quad].into());
        let c = both(positions, leaf.corners[2][quad].into());
        let d = both(positions, leaf.corners[3][quad].into());
        let ac = _mm_min_epi16(a, c);
        let first_over = _mm_cmpgt_epi16(_mm_min_epi16(ac, b), limit);
        let second_over = _mm_cmpgt_epi16(_mm_min_epi16(ac, d), limit);
        // A byte a half-lane, the second triangle's in the high half.
        let over = _mm_movemask_epi8(_mm_packs_epi16(first_over, second_over));
        let in_box = u32::from(over & 0xff == 0) | u32::from(over >> 8 == 0) << 1;
        mask |= (in_box & !(leaf.words[quad] >> FLAT)) << (2 * quad);
    }
    mask
}

/// A vertex in the low half, its mirror image in the high half.
#[inline]
#[target_feature(enable = "sse2")]
fn both(positions: &[[i16; 3]], vertex: usize) -> __m128i {
    let low = position(positions, vertex);
    _mm_unpacklo_epi64(low, _mm_sub_epi16(_mm_setzero_si128(), low))
}
