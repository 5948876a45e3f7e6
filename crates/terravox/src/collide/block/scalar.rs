//! Tests of four boxes or quads at once, portable: the twin of `simd`, and what other
//! architectures run.

use super::box_query::BoxQuery;
use super::leaf::{FLAT, LEAF, QuadLeaf, REVERSED, cells_of, step_of};
use super::local_ray::{EDGE_SLACK, LocalRay, TriangleRay, cross};
use super::node::{Node, WIDTH};
use super::vertex::{BuildVertex, MIN_CERTAIN_AREA, QuadBounds};
use super::walk::{QueuedChild, queued};

/// The boxes of a node that the ray hits at `t_min..=t_max`, and a mask of them.
pub(super) fn near_boxes(
    node: &Node,
    ray: &LocalRay,
    t_min: f32,
    t_max: f32,
) -> ([QueuedChild; WIDTH], u32) {
    let (mut children, mut mask) = ([0; WIDTH], 0);
    for lane in 0..WIDTH {
        let (mut near, mut far) = (t_min, t_max);
        for axis in 0..3 {
            let side = usize::from(ray.direction[axis].is_sign_negative());
            let inward = |side: usize| f32::from(node.sides[side][axis][lane]) * ray.byte[axis];
            near = near.max(ray.ends[0][axis] + inward(side));
            far = far.min(ray.ends[1][axis] - inward(1 - side));
        }
        if near <= far {
            children[lane] = queued(near, node.children[lane]);
            mask |= 1 << lane;
        }
    }
    (children, mask)
}

/// The triangles of a leaf that the ray's line hits: first ones in bits 0 to 3, second
/// ones in bits 4 to 7.
pub(super) fn hit_triangles<V: Copy + Into<usize>>(
    leaf: &QuadLeaf<V>,
    positions: &[[i16; 3]],
    ray: &TriangleRay,
) -> u32 {
    let mut mask = 0;
    for quad in 0..LEAF {
        let [a, b, c, d] =
            leaf.corners.map(|corner| ray.project(positions[corner[quad].into()].map(f32::from)));
        let diagonal = cross(a, c);
        let first = [cross(a, b), cross(b, c), -diagonal];
        let second = [diagonal, cross(c, d), cross(d, a)];
        let flat = leaf.words[quad] >> FLAT;
        mask |= u32::from(flat & 1 == 0 && is_hit(first)) << quad;
        mask |= u32::from(flat & 2 == 0 && is_hit(second)) << (quad + LEAF);
    }
    mask
}

/// Whether the products of a triangle's edges agree in sign.
fn is_hit([a, b, c]: [f32; 3]) -> bool {
    let area = (a + b) + c;
    let slack = area.abs() * EDGE_SLACK;
    let (least, most) = (a.min(b).min(c), a.max(b).max(c));
    area != 0.0 && (least >= -slack || most <= slack)
}

/// A mask of the boxes of a node that meet a box.
pub(super) fn boxes_in(node: &Node, query: &BoxQuery) -> u32 {
    let meets = |lane: usize| {
        let within = |side: usize, axis: usize| {
            node.sides[side][axis][lane] <= query.bytes[side][axis][lane]
        };
        (0..2).all(|side| (0..3).all(|axis| within(side, axis)))
    };
    (0..WIDTH).map(|lane| u32::from(meets(lane)) << lane).sum()
}

/// The triangles of a leaf whose boxes meet a box: bit 2·quad the first of a quad, the
/// next bit its second.
pub(super) fn triangles_in<V: Copy + Into<usize>>(
    leaf: &QuadLeaf<V>,
    positions: &[[i16; 3]],
    query: &BoxQuery,
) -> u32 {
    let mut mask = 0;
    for quad in 0..LEAF {
        let [a, b, c, d] = leaf.corners.map(|corner| positions[corner[quad].into()]);
        let flat = leaf.words[quad] >> FLAT;
        mask |= u32::from(flat & 1 == 0 && meets([a, b, c], query)) << (2 * quad);
        mask |= u32::from(flat & 2 == 0 && meets([a, c, d], query)) << (2 * quad + 1);
    }
    mask
}

/// Whether the box of a triangle meets a box.
fn meets([a, b, c]: [[i16; 3]; 3], query: &BoxQuery) -> bool {
    (0..3).all(|axis| {
        let (low, high) = (a[axis].min(b[axis]).min(c[axis]), a[axis].max(b[axis]).max(c[axis]));
        low <= query.limits[0][axis] && -high <= query.limits[1][axis]
    })
}

/// The bounds of some quads, and the sums of their doubled middles.
pub(super) fn measure(quads: &[QuadBounds]) -> ([i16; 8], [i32; 4]) {
    let mut bounds = [i16::MAX; 8];
    let mut sums = [0; 4];
    for quad in quads {
        for lane in 0..8 {
            bounds[lane] = bounds[lane].min(quad.0[lane]);
        }
        for axis in 0..4 {
            sums[axis] += quad.middle(axis);
        }
    }
    (bounds, sums)
}

/// Converts a vertex.
pub(super) fn vertex(position: [f32; 3], normal: [f32; 3]) -> BuildVertex {
    let [x, y, z] = position.map(step_of);
    let [nx, ny, nz] = normal;
    BuildVertex {
        bounds: [x, y, z, 0, -x, -y, -z, 0],
        steps: [f32::from(x), f32::from(y), f32::from(z), 0.0],
        normal: [nz, nx, ny, 0.0],
    }
}

/// The bounds of a quad; and in bits of its word which triangles are reversed, and which may
/// have no area.
pub(super) fn quad_bounds(
    a: &BuildVertex,
    b: &BuildVertex,
    c: &BuildVertex,
    d: &BuildVertex,
) -> ([i16; 8], u32) {
    let least =
        |lane: usize| a.bounds[lane].min(b.bounds[lane]).min(c.bounds[lane].min(d.bounds[lane]));
    let flags = flags(a, b, c) | flags(a, c, d) << 1;
    (std::array::from_fn(least), flags)
}

/// The bits of one triangle, at the place of the first of a quad.
fn flags(a: &BuildVertex, b: &BuildVertex, c: &BuildVertex) -> u32 {
    let u: [f32; 3] = std::array::from_fn(|i| b.steps[i] - a.steps[i]);
    let v: [f32; 3] = std::array::from_fn(|i| c.steps[i] - a.steps[i]);
    let (mut along, mut size) = (0.0, 0.0);
    for i in 0..3 {
        let across = u[i] * v[(i + 1) % 3] - u[(i + 1) % 3] * v[i];
        along += across * ((a.normal[i] + c.normal[i]) + b.normal[i]);
        size += across.abs();
    }
    u32::from(along < 0.0) << REVERSED | u32::from(size < MIN_CERTAIN_AREA) << FLAT
}

/// Three vertices in cells.
pub(super) fn corners(positions: &[[i16; 3]], vertices: [usize; 3]) -> [[f32; 3]; 3] {
    vertices.map(|vertex| cells_of(positions[vertex]))
}
