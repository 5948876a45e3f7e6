//! Which mips the blocks around a block show, and which features of its boundary touch other
//! mips.
//!
//! The space across a feature is as large as the block, so it is shown by one block of the same
//! mip or coarser, or by finer blocks only: either all cell corners of a feature touch another
//! mip, or none does.

use crate::mesh::rules::boundary::{BOUNDING, BoundaryFeatures, INSIDE, sides};
use crate::voxel::{MipBlock, VoxelPos};

/// Maximum number of mips by which blocks that touch may differ: 8:1.
pub const MAX_MIP_STEPS: u8 = 3;

/// The mips that the blocks around a block show. They are given per *sub-block*, a cube of an
/// eighth of the block's edge, in a layer of sub-blocks around the block. A sub-block lies within
/// one block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NeighbourMips {
    /// 10³ sub-blocks, x fastest, then z, then y; the inner 8³ are the block's.
    mips: [u8; 1000],
}

impl NeighbourMips {
    /// The mip of a sub-block where no cells are known: nothing is shown there.
    pub const UNKNOWN: u8 = 255;

    /// Makes the neighbours of a block of mip `mip` among blocks of its mip.
    #[inline]
    pub fn uniform(mip: u8) -> NeighbourMips {
        NeighbourMips { mips: [mip; 1000] }
    }

    /// Makes the neighbours of a block of mip `mip`; `shown` returns the mip that a sub-block
    /// shows, or [`NeighbourMips::UNKNOWN`]. Sub-blocks are numbered from the block's min corner,
    /// −1 to 8 per axis.
    pub fn from_fn(mip: u8, mut shown: impl FnMut([i32; 3]) -> u8) -> NeighbourMips {
        let mut around = NeighbourMips::uniform(mip);
        for y in -1..9 {
            for z in -1..9 {
                for x in -1..9 {
                    if [x, y, z].iter().any(|at| !(0..8).contains(at)) {
                        around.mips[index([x, y, z])] = shown([x, y, z]);
                    }
                }
            }
        }
        around
    }

    /// As [`NeighbourMips::from_fn`]; `shown` returns the mip that is shown at a voxel.
    pub fn from_voxels(block: MipBlock, mut shown: impl FnMut(VoxelPos) -> u8) -> NeighbourMips {
        let VoxelPos { x, y, z } = block.voxels().min;
        let edge = block.edge_voxels() / 8;
        NeighbourMips::from_fn(block.mip, |at| {
            let offset = VoxelPos::from(at.map(|a| a * edge));
            shown(VoxelPos::new(x, y, z) + offset)
        })
    }

    /// Sets the mip that a sub-block around the block shows.
    ///
    /// # Panics
    /// If `sub_block` is not around the block.
    pub fn set(&mut self, sub_block: [i32; 3], mip: u8) {
        assert!(
            sub_block.iter().all(|at| (-1..9).contains(at)),
            "{sub_block:?} is not around a block"
        );
        assert!(
            sub_block.iter().any(|at| !(0..8).contains(at)),
            "{sub_block:?} is the block's own"
        );
        self.mips[index(sub_block)] = mip;
    }

    /// Returns the mip that a sub-block shows. Coordinates beyond −1 to 8 are clamped.
    #[inline]
    pub fn at(&self, sub_block: [i32; 3]) -> u8 {
        self.mips[index(sub_block.map(|at| at.clamp(-1, 8)))]
    }

    /// Returns the mip that a sub-block in or beside the block shows.
    #[inline]
    pub(super) fn beside(&self, sub_block: [i32; 3]) -> u8 {
        self.mips[index(sub_block)]
    }

    /// Returns the block's own mip.
    #[inline]
    pub fn mip(&self) -> u8 {
        self.at([0; 3])
    }

    /// Whether all blocks around are known and of the block's mip.
    pub fn is_uniform(&self) -> bool {
        self.mips.iter().all(|&mip| mip == self.mip())
    }

    /// Whether a sub-block around is unknown.
    pub(super) fn has_unknown(&self) -> bool {
        self.mips.contains(&NeighbourMips::UNKNOWN)
    }

    /// Returns the coarsest mip that is shown.
    pub(crate) fn coarsest(&self) -> u8 {
        let known = self.mips.iter().filter(|&&mip| mip != NeighbourMips::UNKNOWN);
        known.copied().max().unwrap_or(0)
    }

    /// Whether all known mips are within 8:1 of the block's.
    pub(super) fn is_within_steps(&self) -> bool {
        let near =
            |mip: u8| mip == NeighbourMips::UNKNOWN || mip.abs_diff(self.mip()) <= MAX_MIP_STEPS;
        self.mips.iter().all(|&mip| near(mip))
    }

    /// Returns the mips across a feature, in rows along x.
    fn across(&self, feature: [i32; 3]) -> impl Iterator<Item = &[u8]> {
        let span = |side: i32| match side {
            -1 => -1..0,
            0 => 0..8,
            _ => 8..9,
        };
        let [x, y, z] = feature.map(span);
        y.flat_map(move |y| {
            let x = x.clone();
            z.clone().map(move |z| &self.mips[index([x.start, y, z])..][..x.len()])
        })
    }

    /// Returns which mips lie across each feature.
    ///
    /// # Panics
    /// If mips that touch differ by more than [`MAX_MIP_STEPS`].
    pub(crate) fn boundary_mips(&self) -> BoundaryMips {
        assert!(self.is_within_steps(), "mips that touch differ by more than {MAX_MIP_STEPS}");
        let mut across = [0; 27];
        for (number, steps) in across.iter_mut().enumerate().filter(|at| at.0 != INSIDE) {
            for row in self.across(sides(number)) {
                for &mip in row {
                    *steps |= match mip {
                        NeighbourMips::UNKNOWN => UNKNOWN_BIT,
                        _ => 1 << (mip + MAX_MIP_STEPS - self.mip()),
                    };
                }
            }
        }
        BoundaryMips { across }
    }
}

/// In [`BoundaryMips`]: a sub-block is unknown.
const UNKNOWN_BIT: u8 = 1 << 7;

/// The mips across each feature of a block's boundary.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BoundaryMips {
    /// Bit [`MAX_MIP_STEPS`] for the block's mip, lower ones for finer, higher for coarser.
    across: [u8; 27],
}

impl BoundaryMips {
    /// Whether a mip `steps` coarser than the block's lies across a feature; finer if negative.
    #[inline]
    pub(super) fn has(&self, feature: usize, steps: i32) -> bool {
        self.across[feature] >> (i32::from(MAX_MIP_STEPS) + steps) & 1 == 1
    }

    /// Returns the features that touch another mip or an unknown sub-block.
    pub(crate) fn foreign(&self) -> BoundaryFeatures {
        self.touching(!(1 << MAX_MIP_STEPS))
    }

    /// Returns, by feature, the only mip across it; [`NeighbourMips::UNKNOWN`] if there are
    /// several or a sub-block is unknown. `mip` is the block's.
    pub(super) fn only(&self, mip: u8) -> [u8; 27] {
        self.across.map(|across| match across.is_power_of_two() && across != UNKNOWN_BIT {
            true => mip + across.trailing_zeros() as u8 - MAX_MIP_STEPS,
            false => NeighbourMips::UNKNOWN,
        })
    }

    /// In [`BoundaryMips::finest_steps`]: the finest mip varies along the feature.
    pub(super) const VARIES: u8 = 255;

    /// Returns, by feature, how many steps finer than the block the finest mip is that touches
    /// it, 0 if none is finer; [`BoundaryMips::VARIES`] if that differs along the feature.
    pub(super) fn finest_steps(&self) -> [u8; 27] {
        let mut finest = [0; 27];
        for (&across, bounding) in self.across.iter().zip(BOUNDING) {
            let finer = across & ((1 << MAX_MIP_STEPS) - 1);
            if finer == 0 {
                continue;
            }
            let steps = match across.count_ones() {
                1 => MAX_MIP_STEPS - finer.trailing_zeros() as u8,
                _ => BoundaryMips::VARIES,
            };
            let mut left = bounding;
            while left != 0 {
                let feature = left.trailing_zeros() as usize;
                finest[feature] = steps.max(finest[feature]);
                left &= left - 1;
            }
        }
        finest
    }

    /// Whether a mip `steps` coarser touches the block.
    pub(super) fn touches(&self, steps: u8) -> bool {
        !self.touching(1 << (MAX_MIP_STEPS + steps)).is_empty()
    }

    /// Returns the features that touch another mip and at whose corners a mip `step` coarser than
    /// the block's may be the coarsest, and the features that bound them.
    pub(super) fn where_coarsest(&self, step: u8) -> BoundaryFeatures {
        let mut features = BoundaryFeatures::NONE;
        let foreign = self.foreign();
        for feature in (0..27).filter(|&feature| foreign.has(feature)) {
            // At a corner on this feature the coarsest mip is one of `present`, and no finer than
            // `at_least`: each feature beside it without unknown blocks shows at least its finest.
            let (mut present, mut at_least) = (1 << MAX_MIP_STEPS, MAX_MIP_STEPS);
            for (across, bounding) in self.across.iter().zip(BOUNDING) {
                if bounding >> feature & 1 == 1 && across & !UNKNOWN_BIT != 0 {
                    present |= across;
                    if across & UNKNOWN_BIT == 0 {
                        at_least = at_least.max(across.trailing_zeros() as u8);
                    }
                }
            }
            let bit = MAX_MIP_STEPS + step;
            if bit >= at_least && present >> bit & 1 == 1 {
                features.0 |= BOUNDING[feature];
            }
        }
        features
    }

    /// Returns the features that have any of `mips` across them or across one that they bound.
    fn touching(&self, mips: u8) -> BoundaryFeatures {
        let mut touched = BoundaryFeatures::NONE;
        for (across, bounding) in self.across.iter().zip(BOUNDING) {
            if across & mips != 0 {
                touched.0 |= bounding;
            }
        }
        touched
    }
}

#[inline]
fn index([x, y, z]: [i32; 3]) -> usize {
    ((x + 1) + 10 * ((z + 1) + 10 * (y + 1))) as usize
}

/// By axis of a side: the axis of its rows, along which its cells lie close in memory, and the
/// axis of its columns.
pub(super) const SIDE_AXES: [[usize; 2]; 3] = [[2, 1], [0, 2], [0, 1]];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mesh::rules::boundary::feature_of;
    use crate::voxel::LIMIT;
    use proptest::prelude::*;

    const MIP: u8 = 4;

    /// Mips of the sub-blocks across a feature: one for all, or several that are finer.
    fn across() -> impl Strategy<Value = Vec<u8>> {
        prop_oneof![
            3 => prop_oneof![Just(MIP), MIP - 3..MIP + 4, Just(NeighbourMips::UNKNOWN)]
                .prop_map(|mip| vec![mip]),
            1 => prop::collection::vec(MIP - 3..MIP, 7),
            1 => prop::collection::vec(prop_oneof![MIP - 3..MIP, Just(NeighbourMips::UNKNOWN)], 5),
        ]
    }

    /// Per axis, the side on which a sub-block lies.
    fn side_of(sub_block: [i32; 3]) -> [i32; 3] {
        sub_block.map(|at| i32::from(at == 8) - i32::from(at == -1))
    }

    fn around() -> impl Strategy<Value = NeighbourMips> {
        prop::collection::vec(across(), 27).prop_map(|across| {
            NeighbourMips::from_fn(MIP, |at| {
                let feature = (0..27).find(|&feature| sides(feature) == side_of(at));
                let mips = &across[feature.expect("27 features")];
                mips[(at[0] + 3 * at[1] + 5 * at[2] + 9) as usize % mips.len()]
            })
        })
    }

    /// The sub-blocks of the layer around a block.
    fn layer() -> impl Iterator<Item = [i32; 3]> {
        let all = (0..1000).map(|i| [i % 10 - 1, i / 100 - 1, i / 10 % 10 - 1]);
        all.filter(|&at| side_of(at) != [0; 3])
    }

    /// The mips of all sub-blocks, the block's own among them, that touch a point of the boundary, in
    /// halves of a sub-block.
    fn touching(around: &NeighbourMips, point: [i32; 3]) -> Vec<u8> {
        let range = |v: i32| (v + 1).div_euclid(2) - 1..v.div_euclid(2) + 1;
        let [x, y, z] = point.map(range);
        let all = x.flat_map(|x| {
            let z = z.clone();
            y.clone().flat_map(move |y| z.clone().map(move |z| [x, y, z]))
        });
        all.map(|at| around.at(at)).collect()
    }

    /// Points of the boundary in halves of a sub-block, and their features.
    fn points() -> impl Iterator<Item = ([i32; 3], usize)> {
        let all = (0..17 * 17 * 17).map(|i| [i % 17, i / 289, i / 17 % 17]);
        all.map(|at| (at, feature_of(at, 16))).filter(|&(_, feature)| feature != INSIDE)
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn features_touch_what_the_points_on_them_touch(around in around()) {
            prop_assert!(around.is_within_steps());
            let boundary = around.boundary_mips();
            let (foreign, finest, only) =
                (boundary.foreign(), boundary.finest_steps(), boundary.only(MIP));
            for feature in (0..27).filter(|&feature| feature != INSIDE) {
                let across = layer().filter(|&at| side_of(at) == sides(feature));
                let mut mips = Vec::from_iter(across.map(|at| around.at(at)));
                for steps in -3..=3 {
                    let is_across = mips.contains(&MIP.wrapping_add_signed(steps as i8));
                    prop_assert_eq!(boundary.has(feature, steps), is_across);
                }
                mips.dedup();
                let one = if let [one] = mips[..] { one } else { NeighbourMips::UNKNOWN };
                prop_assert_eq!(only[feature], one);
            }
            let coarsest_at = [0, 1, 2, 3].map(|steps| boundary.where_coarsest(steps));
            let mut is_foreign = [false; 27];
            for (point, feature) in points() {
                let mips = touching(&around, point);
                is_foreign[feature] |= mips.iter().any(|&mip| mip != MIP);
                let known = || mips.iter().copied().filter(|&mip| mip != NeighbourMips::UNKNOWN);
                let steps = MIP - known().min().unwrap_or(MIP).min(MIP);
                if finest[feature] != BoundaryMips::VARIES {
                    prop_assert_eq!(finest[feature], steps, "{:?}", point);
                }
                let coarsest = known().max().unwrap_or(MIP) - MIP;
                if foreign.has(feature) {
                    let is_listed = coarsest_at[usize::from(coarsest)].has(feature);
                    prop_assert!(is_listed, "{:?}: {}", point, coarsest);
                }
            }
            for (feature, is_foreign) in is_foreign.into_iter().enumerate() {
                prop_assert_eq!(foreign.has(feature), is_foreign, "{}", feature);
            }
            for steps in 0..=MAX_MIP_STEPS {
                let is_near = layer().any(|at| around.at(at) == MIP + steps);
                prop_assert_eq!(boundary.touches(steps), is_near);
            }
            let unknown = layer().any(|at| around.at(at) == NeighbourMips::UNKNOWN);
            prop_assert_eq!(around.has_unknown(), unknown);
            prop_assert_eq!(around.is_uniform(), layer().all(|at| around.at(at) == MIP));
        }
    }

    #[test]
    fn blocks_beyond_eight_to_one_are_told_and_unknown_ones_are_not() {
        for (mip, is_allowed) in
            [(0, false), (1, true), (7, true), (8, false), (NeighbourMips::UNKNOWN, true)]
        {
            let mut around = NeighbourMips::uniform(MIP);
            around.set([-1, 8, 3], mip);
            assert_eq!(around.is_within_steps(), is_allowed, "{mip}");
            let coarsest = if mip == NeighbourMips::UNKNOWN { MIP } else { mip.max(MIP) };
            assert_eq!(around.coarsest(), coarsest);
        }
    }

    #[test]
    #[should_panic(expected = "[0, 7, 3] is the block's own")]
    fn a_sub_block_of_the_block_cannot_be_set() {
        NeighbourMips::uniform(0).set([0, 7, 3], 1);
    }

    #[test]
    #[should_panic(expected = "[9, 0, 0] is not around a block")]
    fn a_sub_block_farther_off_cannot_be_set() {
        NeighbourMips::uniform(0).set([9, 0, 0], 1);
    }

    #[test]
    fn blocks_at_the_limits_look_beyond_them() {
        let edge = LIMIT / MipBlock::new(2, [0; 3]).edge_voxels();
        for (at, far) in [([edge - 1; 3], 1), ([-edge; 3], -1)] {
            let block = MipBlock::new(2, at);
            assert!(block.within_limits());
            let around = NeighbourMips::from_voxels(block, |voxel| {
                let is_beyond = |&v: &i32| if far > 0 { v >= LIMIT } else { v < -LIMIT };
                u8::from(voxel.to_array().iter().any(is_beyond))
            });
            let [beyond, within] = if far > 0 { [8, -1] } else { [-1, 8] };
            assert_eq!((around.at([3, beyond, 3]), around.at([3, within, 3])), (1, 0));
            assert_eq!(around.at([within, within, beyond]), 1);
        }
    }

    #[test]
    fn another_mip_across_a_side_touches_its_edges_and_corners() {
        let mut around = NeighbourMips::uniform(4);
        assert!(around.is_uniform() && around.boundary_mips().foreign().is_empty());
        for at in 0..64 {
            around.set([8, at / 8, at % 8], 3);
        }
        let boundary = around.boundary_mips();
        let foreign = boundary.foreign();
        for (feature, finest) in boundary.finest_steps().into_iter().enumerate() {
            assert_eq!(finest, u8::from(foreign.has(feature)));
        }
        assert_eq!(boundary.only(4)[14], 3);
        assert_eq!(boundary.only(4)[12], 4);
        around.set([8, 3, 3], 2);
        assert_eq!(around.boundary_mips().only(4)[14], NeighbourMips::UNKNOWN);
        let finest = around.boundary_mips().finest_steps();
        assert_eq!(
            (finest[14], finest[13], finest[17]),
            (BoundaryMips::VARIES, 0, BoundaryMips::VARIES)
        );
        assert!(!boundary.touches(1) && boundary.has(14, -1) && !boundary.has(14, 0));
        for feature in 0..27 {
            assert_eq!(foreign.has(feature), sides(feature)[0] == 1, "{feature}");
        }
        assert!(!around.is_uniform());
    }

    #[test]
    fn sub_blocks_are_looked_up_by_voxels() {
        let block = MipBlock::new(1, [-1, 0, 2]);
        let around = NeighbourMips::from_voxels(block, |voxel| if voxel.x < -64 { 2 } else { 0 });
        assert_eq!((around.at([-1, 3, 3]), around.at([8, 0, 0]), around.at([7, 7, 7])), (2, 0, 1));
        assert_eq!((around.at([-9, 3, 3]), around.coarsest(), around.mip()), (2, 2, 1));
    }
}
