//! A node: its vertex, normal, solid corners and material, quantised.
//!
//! Octants and corners are numbered as everywhere: bits 0, 1, 2 for the high side of x, z, y.

use crate::mesh::{OCTANT_BYTES, SIDE, dominant};

/// Resolution of a vertex offset, per edge of the node.
const PARTS: f32 = 4096.0;

/// Adding and subtracting this rounds a fraction of an edge to 1/4096.
const ROUNDING: f32 = 3072.0;

/// Scale of a quantised normal.
const MOST: f32 = 32767.0;

/// A leaf or an inner node: 12 bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub(super) struct OctreeNode {
    /// Vertex from the node's centre, in 1/4096 of its edge.
    pub offset: [i16; 3],
    /// Unit normal, octahedron-encoded.
    pub normal: [i16; 2],
    /// Solid corners.
    pub inside: u8,
    /// Most frequent material of the solid corners; the lowest id on ties.
    pub material: u8,
}

/// Error of a node that would change the topology.
pub(super) const NEVER: u16 = u16::MAX;

impl OctreeNode {
    /// Creates a node whose vertex lies `offset` cells from its centre; its edge is `size` cells.
    #[inline]
    pub fn new(
        offset: [f32; 3],
        size: f32,
        normal: [f32; 3],
        inside: u8,
        material: u8,
    ) -> OctreeNode {
        let inverse = 1.0 / size;
        let part = |x: f32| (((x * inverse + ROUNDING) - ROUNDING) * PARTS) as i16;
        OctreeNode { offset: offset.map(part), normal: folded(normal), inside, material }
    }

    /// Returns the vertex relative to the centre, in cells, for an edge of `size` cells; exact.
    #[inline]
    pub fn offset(&self, size: f32) -> [f32; 3] {
        self.offset.map(|x| f32::from(x) * (size / PARTS))
    }

    /// Returns the unit normal.
    pub fn normal(&self) -> [f32; 3] {
        unfolded(self.normal)
    }
}

/// Encodes a direction by octahedral projection (Meyer et al., "On Floating-Point Normal Vectors",
/// 2010).
#[inline]
fn folded([x, y, z]: [f32; 3]) -> [i16; 2] {
    let sum = (x.abs() + y.abs()) + z.abs();
    let scale = 1.0 / if sum > 0.0 { sum } else { 1.0 };
    let (u, v) = (x * scale, z * scale);
    let sign = |x: f32| if x < 0.0 { -1.0 } else { 1.0 };
    let (u, v) =
        if y < 0.0 { ((1.0 - v.abs()) * sign(u), (1.0 - u.abs()) * sign(v)) } else { (u, v) };
    let part = |x: f32| (x * MOST + if x < 0.0 { -0.5 } else { 0.5 }) as i16;
    [part(u), part(v)]
}

/// Decodes a direction to a unit vector.
fn unfolded(folded: [i16; 2]) -> [f32; 3] {
    let [u, v] = folded.map(|x| f32::from(x) / MOST);
    let y = (1.0 - u.abs()) - v.abs();
    let sign = |x: f32| if x < 0.0 { -1.0 } else { 1.0 };
    let (x, z) =
        if y < 0.0 { ((1.0 - v.abs()) * sign(u), (1.0 - u.abs()) * sign(v)) } else { (u, v) };
    crate::mesh::unit_normal([x, y, z], [0.0; 3])
}

/// Returns one material at the solid corners and air (0) at the others.
#[inline]
pub(super) fn usual_materials(inside: u8, material: u8) -> [u8; 8] {
    (OCTANT_BYTES[usize::from(inside)] & (u64::from(material) * 0x0101_0101_0101_0101))
        .to_le_bytes()
}

/// Returns the materials with air at corners that are not solid.
#[inline]
pub(super) fn only_inside(inside: u8, materials: [u8; 8]) -> [u8; 8] {
    (OCTANT_BYTES[usize::from(inside)] & u64::from_le_bytes(materials)).to_le_bytes()
}

/// Returns the most frequent material of the solid corners, the lowest id on ties; `None` if no
/// corner is solid.
#[inline]
pub(super) fn material_of(inside: u8, materials: [u8; 8]) -> Option<u8> {
    if inside == 0 {
        return None;
    }
    let first = materials[inside.trailing_zeros() as usize];
    if only_inside(inside, materials) == usual_materials(inside, first) {
        return Some(first);
    }
    let mut ids = [0; 8];
    let mut count = 0;
    for (corner, &material) in materials.iter().enumerate() {
        if inside >> corner & 1 == 1 {
            ids[count] = material;
            count += 1;
        }
    }
    Some(dominant(&ids[..count]))
}

/// Returns 1 if an octant or corner lies on the high side of an axis, else 0.
#[inline]
pub(super) fn side(octant: u8, axis: usize) -> i32 {
    i32::from(octant & SIDE[axis] != 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn normals_come_back_within_a_ten_thousandth() {
        for i in 0..2000i32 {
            let part = |step: i32| ((i * step % 2001) - 1000) as f32;
            let n = crate::mesh::unit_normal([part(7), part(131), part(1009)], [0.0, 1.0, 0.0]);
            let back = unfolded(folded(n));
            for axis in 0..3 {
                assert!((n[axis] - back[axis]).abs() < 1e-4, "{n:?} {back:?}");
            }
        }
        for axis in 0..3 {
            for sign in [-1.0, 1.0] {
                let mut n = [0.0; 3];
                n[axis] = sign;
                assert_eq!(unfolded(folded(n)), n);
            }
        }
    }

    #[test]
    fn vertices_on_the_lattice_come_back_exactly() {
        for part in [-4096i16, -3071, -1, 0, 17, 2048, 4096] {
            let x = f32::from(part) / 4096.0;
            let node = OctreeNode::new([x, -x, 0.0], 1.0, [0.0, 1.0, 0.0], 1, 1);
            assert_eq!(node.offset(1.0), [x, -x, 0.0]);
            assert_eq!(OctreeNode::new([16.0 * x, 0.0, 0.0], 16.0, [1.0; 3], 1, 1).offset[0], part);
        }
        assert_eq!(size_of::<OctreeNode>(), 12);
    }

    #[test]
    fn the_material_is_that_of_most_solid_corners() {
        assert_eq!(material_of(0, [5; 8]), None);
        assert_eq!(material_of(0b1010, [9, 4, 9, 4, 9, 9, 9, 9]), Some(4));
        assert_eq!(material_of(0b1110, [0, 4, 3, 3, 0, 0, 0, 0]), Some(3));
        assert_eq!(material_of(0b0110, [0, 7, 3, 0, 0, 0, 0, 0]), Some(3));
    }
}
