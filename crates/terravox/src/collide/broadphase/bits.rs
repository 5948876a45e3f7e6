//! Small pieces of work on bits: which materials of a row are solid or liquid, and eight
//! rows of 32 cells as slices of four blocks. Vector code where there is some.

use crate::voxel::Kind;

#[cfg(all(target_arch = "x86_64", not(terravox_plain)))]
pub(super) use super::simd as fast;
#[cfg(any(not(target_arch = "x86_64"), terravox_plain))]
pub(super) use plain as fast;

/// The slow twins of the vector code, and what other architectures use.
pub(super) mod plain {
    use crate::collide::REACH;
    use crate::math::Aabb;
    use crate::voxel::{LIMIT, WATER};

    /// The lowest and highest cells whose faces may touch a box: it grows by the reach and
    /// is rounded outwards, so that a box that ends where a face lies touches it. None if it
    /// is no box, or lies where no cells are.
    #[allow(dead_code)]
    pub(in super::super) fn reached(aabb: &Aabb) -> Option<([i32; 3], [i32; 3])> {
        const FAR: f64 = (LIMIT + 1) as f64;
        let (mut min, mut max) = ([0; 3], [0; 3]);
        for axis in 0..3 {
            let (low, high) = (aabb.min[axis], aabb.max[axis]);
            let finite = low > f64::NEG_INFINITY && high < f64::INFINITY;
            // No NaN gets through this.
            if !(low <= high && low < FAR && high > -FAR && finite) {
                return None;
            }
            // Rounding the sums cannot lose a cell: borders of cells are exact.
            min[axis] = -((f64::from(REACH) - low.max(-FAR)).floor() as i32) - 1;
            max[axis] = (high.min(FAR) + f64::from(REACH)).floor() as i32;
        }
        Some((min, max))
    }

    /// A bit per material: whether it is solid, and whether it is liquid, when air is 0,
    /// water is 1 and all else is solid.
    #[allow(dead_code)]
    pub(in super::super) fn default_kinds(materials: &[u8; 32]) -> [u32; 2] {
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
    pub(in crate::collide) fn slices(rows: &[u32; 8]) -> [u64; 4] {
        let byte = |block: usize, z: usize| u64::from(rows[z] >> (8 * block) & 255) << (8 * z);
        [0, 1, 2, 3].map(|block| (0..8).map(|z| byte(block, z)).sum())
    }
}

pub(in crate::collide) use fast::slices;

/// Tells what materials are.
#[derive(Clone, Copy)]
pub(in crate::collide) struct Kinds<'a> {
    kinds: &'a [Kind; 256],
    /// Whether air is 0, water is 1 and all else is solid, as is usual.
    usual: bool,
}

impl<'a> Kinds<'a> {
    pub fn new(kinds: &'a [Kind; 256]) -> Kinds<'a> {
        let usual = kinds[1] == Kind::Liquid && kinds[2..].iter().all(|&k| k == Kind::Solid);
        Kinds { kinds, usual }
    }

    /// A bit per material: whether it is solid, and whether it is liquid.
    #[inline(always)]
    pub fn of_32(self, materials: &[u8; 32]) -> [u32; 2] {
        if self.usual {
            return fast::default_kinds(materials);
        }
        let mut bits = [0; 2];
        for (x, &material) in materials.iter().enumerate() {
            let [solid, liquid] = self.of(material);
            bits[0] |= solid << x;
            bits[1] |= liquid << x;
        }
        bits
    }

    /// 1 where the material is solid, and where it is liquid, else 0.
    #[inline(always)]
    pub fn of(self, material: u8) -> [u32; 2] {
        let kind = self.kinds[usize::from(material)];
        [u32::from(kind == Kind::Solid), u32::from(kind == Kind::Liquid)]
    }
}

/// All bits of a word for every bit: set where it is.
#[inline(always)]
pub(in crate::collide) fn spread(bits: u32) -> [u32; 32] {
    // A compare with a constant, since not every machine shifts lanes by themselves.
    std::array::from_fn(|z| if bits & 1 << z != 0 { u32::MAX } else { 0 })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn vector_code_and_its_plain_twin_agree(
            materials in proptest::array::uniform32(prop_oneof![0u8..4, any::<u8>()]),
            rows in any::<[u32; 8]>(),
        ) {
            prop_assert_eq!(fast::default_kinds(&materials), plain::default_kinds(&materials));
            prop_assert_eq!(fast::slices(&rows), plain::slices(&rows));
        }

        #[test]
        fn a_table_of_kinds_and_the_usual_one_agree(
            materials in proptest::array::uniform32(prop_oneof![0u8..4, any::<u8>()]),
        ) {
            let mut kinds = [Kind::Solid; 256];
            (kinds[0], kinds[1]) = (Kind::Air, Kind::Liquid);
            let usual = Kinds::new(&kinds);
            assert!(usual.usual);
            let table = Kinds { usual: false, ..usual };
            prop_assert_eq!(usual.of_32(&materials), table.of_32(&materials));
        }

        #[test]
        fn spread_bits_are_words(bits: u32) {
            let words = spread(bits);
            for z in 0..32 {
                prop_assert_eq!(words[z], (bits >> z & 1).wrapping_neg());
            }
        }
    }
}
