//! Cells as bits: which cells of a row, of a slice or of an 8³ block are solid or liquid.
//!
//! The broadphase, the box colliders and the search for loose pieces all work on words of
//! bits, 32 or 64 cells at a time. [`BlockMask`] is the common format: a bit for every cell
//! of a block. [`block_mask`], [`chunk_masks`] and [`solid_rows`] read the solid cells from
//! the packed rows of the grid; [`Kinds`] classifies one row of materials at a time.
//!
//! `scalar` is the portable version and the twin of the SSE2 code in `simd`.

mod scalar;
#[cfg(all(target_arch = "x86_64", not(terravox_plain)))]
mod simd;
mod solid;

use crate::voxel::{BlockPos, Kind};

#[cfg(any(not(target_arch = "x86_64"), terravox_plain))]
use scalar as fast;
#[cfg(all(target_arch = "x86_64", not(terravox_plain)))]
use simd as fast;

pub(crate) use fast::slices;
pub(crate) use solid::{block_mask, chunk_masks, solid_rows};

/// Log2 of the edge of a collision block, in voxels.
pub const BLOCK_LOG2: u32 = 3;

/// Position of a collision block: a cube of 8³ voxels.
pub type CollisionBlock = BlockPos<BLOCK_LOG2>;

/// A bit for every cell of a block: bit x + 8 z of word y.
pub type BlockMask = [u64; 8];

/// Calls `each` for every set bit, lowest first.
#[inline(always)]
pub(crate) fn for_bits(word: u64, mut each: impl FnMut(u32)) {
    let mut left = word;
    while left != 0 {
        each(left.trailing_zeros());
        left &= left - 1;
    }
}

/// Classifies materials as solid, liquid or neither.
#[derive(Clone, Copy)]
pub(crate) struct Kinds<'a> {
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

/// A word for every bit, all bits set where it is set.
#[inline(always)]
pub(crate) fn spread(bits: u32) -> [u32; 32] {
    // A compare with a constant, since not every machine has per-lane shifts.
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
            prop_assert_eq!(fast::default_kinds(&materials), scalar::default_kinds(&materials));
            prop_assert_eq!(fast::slices(&rows), scalar::slices(&rows));
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
