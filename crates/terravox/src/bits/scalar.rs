//! Portable code for rows of materials and bits: the twin of `simd`, and what other
//! architectures run.

use crate::voxel::WATER;

/// A bit per material: whether it is solid, and whether it is liquid, when air is 0,
/// water is 1 and all else is solid.
#[allow(dead_code)]
pub(super) fn default_kinds(materials: &[u8; 32]) -> [u32; 2] {
    let mut bits = [0; 2];
    for (x, &material) in materials.iter().enumerate() {
        bits[0] |= u32::from(material > WATER) << x;
        bits[1] |= u32::from(material == WATER) << x;
    }
    bits
}

/// Byte `b` of each row, in the order of the rows: where the rows are eight in Z of
/// 32 cells along X, the Y slices of the four blocks side by side.
#[allow(dead_code)]
pub(crate) fn slices(rows: &[u32; 8]) -> [u64; 4] {
    let byte = |block: usize, z: usize| u64::from(rows[z] >> (8 * block) & 255) << (8 * z);
    [0, 1, 2, 3].map(|block| (0..8).map(|z| byte(block, z)).sum())
}
