//! What is shown around a block, and which parts of the block's hull that concerns.
//!
//! The hull of a block has 6 sides, 12 edges and 8 corners: its features. The place
//! across one of them is as large as the block, so it is one block of the same mip or
//! coarser, or finer blocks only: all cell corners of a feature are alike in whether
//! they touch another mip.

use crate::voxel::{MipBlock, VoxelPos};

/// Finest and coarsest blocks that may touch differ by this many mips: 8:1.
pub const MOST_STEPS: u8 = 3;

/// Which mips the blocks around a block show: of every place of an eighth of the
/// block's edge within it and one such place beyond. A place lies within one block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Around {
    /// 10³ places, x fastest, then z, then y; the inner 8³ are the block's.
    lods: [u8; 1000],
}

impl Around {
    /// At a place: nothing is known, and nothing shown.
    pub const NONE: u8 = 255;

    /// A block of mip `mip` among blocks of its mip.
    pub fn same(mip: u8) -> Around {
        Around { lods: [mip; 1000] }
    }

    /// A block of mip `mip`; `shown` says what each place around it shows, or
    /// [`Around::NONE`]. Places count from the block's min corner, −1 to 8 an axis.
    pub fn from_fn(mip: u8, mut shown: impl FnMut([i32; 3]) -> u8) -> Around {
        let mut around = Around::same(mip);
        for y in -1..9 {
            for z in -1..9 {
                for x in -1..9 {
                    if [x, y, z].iter().any(|at| !(0..8).contains(at)) {
                        around.lods[index([x, y, z])] = shown([x, y, z]);
                    }
                }
            }
        }
        around
    }

    /// As [`Around::from_fn`]; `shown` is asked for the mip that is shown at a voxel.
    pub fn look(block: MipBlock, mut shown: impl FnMut(VoxelPos) -> u8) -> Around {
        let VoxelPos { x, y, z } = block.voxels().min;
        let place = block.edge_voxels() / 8;
        Around::from_fn(block.mip, |at| {
            let offset = VoxelPos::from(at.map(|a| a * place));
            shown(VoxelPos::new(x, y, z) + offset)
        })
    }

    /// Sets what a place around the block shows.
    ///
    /// # Panics
    /// If `place` is not around the block.
    pub fn set(&mut self, place: [i32; 3], mip: u8) {
        assert!(place.iter().all(|at| (-1..9).contains(at)), "{place:?} is not around a block");
        assert!(place.iter().any(|at| !(0..8).contains(at)), "{place:?} is the block's own");
        self.lods[index(place)] = mip;
    }

    /// What a place shows; beyond those known, what the nearest one does.
    pub fn at(&self, place: [i32; 3]) -> u8 {
        self.lods[index(place.map(|at| at.clamp(-1, 8)))]
    }

    /// What a place in or beside the block shows.
    #[inline]
    pub(super) fn beside(&self, place: [i32; 3]) -> u8 {
        self.lods[index(place)]
    }

    /// The block's own mip.
    pub fn mip(&self) -> u8 {
        self.at([0; 3])
    }

    /// Whether all blocks around are there and of the block's mip.
    pub fn is_uniform(&self) -> bool {
        self.lods.iter().all(|&mip| mip == self.mip())
    }

    /// Whether something around is not known.
    pub(super) fn has_unknown(&self) -> bool {
        self.lods.contains(&Around::NONE)
    }

    /// The coarsest mip that is shown.
    pub(crate) fn coarsest(&self) -> u8 {
        let known = self.lods.iter().filter(|&&mip| mip != Around::NONE);
        known.copied().max().unwrap_or(0)
    }

    /// Whether what is known lies within 8:1 of the block's mip.
    pub(super) fn is_fit(&self) -> bool {
        let near = |mip: u8| mip == Around::NONE || mip.abs_diff(self.mip()) <= MOST_STEPS;
        self.lods.iter().all(|&mip| near(mip))
    }

    /// The mips across a feature, in rows along x.
    fn across(&self, feature: [i32; 3]) -> impl Iterator<Item = &[u8]> {
        let span = |side: i32| match side {
            -1 => -1..0,
            0 => 0..8,
            _ => 8..9,
        };
        let [x, y, z] = feature.map(span);
        y.flat_map(move |y| {
            let x = x.clone();
            z.clone().map(move |z| &self.lods[index([x.start, y, z])..][..x.len()])
        })
    }

    /// Which mips lie across each feature.
    pub(super) fn neighbours(&self) -> Neighbours {
        let mut across = [0; 27];
        for (number, steps) in across.iter_mut().enumerate().filter(|at| at.0 != INNER) {
            for row in self.across(sides(number)) {
                for &mip in row {
                    *steps |= match mip {
                        Around::NONE => UNKNOWN,
                        _ => 1 << (mip + MOST_STEPS - self.mip()),
                    };
                }
            }
        }
        Neighbours { across }
    }
}

/// In [`Neighbours`]: something is not known.
const UNKNOWN: u8 = 1 << 7;

/// What lies across each feature of a block's hull.
#[derive(Clone, Copy, Debug)]
pub(super) struct Neighbours {
    /// Bit [`MOST_STEPS`] for the block's mip, lower ones for finer, higher for coarser.
    across: [u8; 27],
}

impl Neighbours {
    /// Whether a mip so many steps coarser than the block's lies across a feature.
    pub(super) fn has(&self, feature: usize, steps: i32) -> bool {
        self.across[feature] >> (i32::from(MOST_STEPS) + steps) & 1 == 1
    }

    /// The features that touch another mip, or what is not known.
    pub(super) fn foreign(&self) -> Features {
        self.touching(!(1 << MOST_STEPS))
    }

    /// By feature: the mip that lies across all of it; [`Around::NONE`] if there are
    /// several or something is not known. `mip` is the block's.
    pub(super) fn only(&self, mip: u8) -> [u8; 27] {
        self.across.map(|across| match across.is_power_of_two() && across != UNKNOWN {
            true => mip + across.trailing_zeros() as u8 - MOST_STEPS,
            false => Around::NONE,
        })
    }

    /// In [`Neighbours::finest`]: here this mip, there another.
    pub(super) const MANY: u8 = 255;

    /// By feature: how many steps finer than the block the finest mip is that touches it,
    /// 0 if none is finer; [`Neighbours::MANY`] if that is not the same all along.
    pub(super) fn finest(&self) -> [u8; 27] {
        std::array::from_fn(|feature| {
            let mut finest = 0;
            for (across, bounding) in self.across.iter().zip(BOUNDING) {
                let finer = across & ((1 << MOST_STEPS) - 1);
                if bounding >> feature & 1 == 0 || finer == 0 {
                    continue;
                }
                if across.count_ones() > 1 {
                    return Neighbours::MANY;
                }
                finest = finest.max(MOST_STEPS - finer.trailing_zeros() as u8);
            }
            finest
        })
    }

    /// Whether a mip so many steps coarser touches the block.
    pub(super) fn touches(&self, steps: u8) -> bool {
        !self.touching(1 << (MOST_STEPS + steps)).is_empty()
    }

    /// The features of the hull at whose corners a mip `step` steps coarser than the block's
    /// may be the coarsest, if they touch another mip; and those that bound such.
    pub(super) fn levels(&self, step: u8) -> Features {
        let mut features = Features::NONE;
        let foreign = self.foreign();
        for feature in (0..27).filter(|&feature| foreign.has(feature)) {
            let (mut all, mut least) = (1 << MOST_STEPS, MOST_STEPS);
            for (across, bounding) in self.across.iter().zip(BOUNDING) {
                if bounding >> feature & 1 == 1 && across & !UNKNOWN != 0 {
                    all |= across;
                    if across & UNKNOWN == 0 {
                        least = least.max(across.trailing_zeros() as u8);
                    }
                }
            }
            let step = MOST_STEPS + step;
            if step >= least && all >> step & 1 == 1 {
                features.0 |= BOUNDING[feature];
            }
        }
        features
    }

    /// The features that have any of `mips` across them or across one that they bound.
    fn touching(&self, mips: u8) -> Features {
        let mut touched = Features::NONE;
        for (across, bounding) in self.across.iter().zip(BOUNDING) {
            if across & mips != 0 {
                touched.0 |= bounding;
            }
        }
        touched
    }
}

/// By feature: itself and those that bound it.
const BOUNDING: [u32; 27] = {
    let mut bounding = [0; 27];
    let mut of = 0;
    while of < 27 {
        let mut by = 0;
        while by < 27 {
            let (a, b) = (sides(of), sides(by));
            let mut bounds = true;
            let mut axis = 0;
            while axis < 3 {
                bounds = bounds && (a[axis] == 0 || a[axis] == b[axis]);
                axis += 1;
            }
            if bounds {
                bounding[of] |= 1 << by;
            }
            by += 1;
        }
        of += 1;
    }
    bounding
};

#[inline]
fn index([x, y, z]: [i32; 3]) -> usize {
    ((x + 1) + 10 * ((z + 1) + 10 * (y + 1))) as usize
}

/// Number of the inside of a block among its features.
pub(crate) const INNER: usize = 13;

/// On which sides a feature lies, each axis: −1 low, 1 high, 0 neither.
pub(crate) const fn sides(feature: usize) -> [i32; 3] {
    let f = feature as i32;
    [f % 3 - 1, f / 9 - 1, f / 3 % 3 - 1]
}

/// Axis of the side that a feature is, and whether it is the high one.
#[inline]
pub(super) const fn side_of(feature: usize) -> Option<(usize, bool)> {
    match feature {
        12 => Some((0, false)),
        14 => Some((0, true)),
        4 => Some((1, false)),
        22 => Some((1, true)),
        10 => Some((2, false)),
        16 => Some((2, true)),
        _ => None,
    }
}

/// The axes of the rows of a side, with its cells next to each other in memory or nearly
/// so, and of its columns.
pub(super) const ROWS: [[usize; 2]; 3] = [[2, 1], [0, 2], [0, 1]];

/// Number of the feature of a block of edge `edge` on which a corner lies.
#[inline]
pub(crate) fn feature_of(corner: [i32; 3], edge: i32) -> usize {
    let side = |at: i32| if at == 0 { 0 } else { 1 + usize::from(at == edge) };
    side(corner[0]) + 3 * side(corner[2]) + 9 * side(corner[1])
}

/// A set of features of a block's hull.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Features(pub u32);

impl Features {
    /// None.
    pub(crate) const NONE: Features = Features(0);
    /// All, and the inside of the block.
    pub(crate) const ALL: Features = Features((1 << 27) - 1);

    /// Whether there is none.
    #[inline]
    pub(crate) fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Whether a feature is in the set.
    #[inline]
    pub(crate) fn has(self, feature: usize) -> bool {
        self.0 >> feature & 1 == 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_side_concerns_its_edges_and_corners() {
        let mut around = Around::same(4);
        assert!(around.is_uniform() && around.neighbours().foreign().is_empty());
        for at in 0..64 {
            around.set([8, at / 8, at % 8], 3);
        }
        let neighbours = around.neighbours();
        let found = neighbours.foreign();
        for (feature, finest) in neighbours.finest().into_iter().enumerate() {
            assert_eq!(finest, u8::from(found.has(feature)));
        }
        assert_eq!(neighbours.only(4)[14], 3);
        assert_eq!(neighbours.only(4)[12], 4);
        around.set([8, 3, 3], 2);
        assert_eq!(around.neighbours().only(4)[14], Around::NONE);
        let finest = around.neighbours().finest();
        assert_eq!((finest[14], finest[13], finest[17]), (Neighbours::MANY, 0, Neighbours::MANY));
        assert!(!neighbours.touches(1) && neighbours.has(14, -1) && !neighbours.has(14, 0));
        for feature in 0..27 {
            assert_eq!(found.has(feature), sides(feature)[0] == 1, "{feature}");
        }
        assert!(!around.is_uniform());
    }

    #[test]
    fn features_are_numbered_as_corners_lie_on_them() {
        for feature in 0..27 {
            let corner = sides(feature).map(|side| [0, 5, 32][(side + 1) as usize]);
            assert_eq!(feature_of(corner, 32), feature);
            let axes: Vec<usize> = (0..3).filter(|&axis| sides(feature)[axis] != 0).collect();
            let side = (axes.len() == 1).then(|| (axes[0], sides(feature)[axes[0]] == 1));
            assert_eq!(side_of(feature), side);
        }
        assert_eq!(feature_of([1, 31, 7], 32), INNER);
    }

    #[test]
    fn places_are_looked_up_by_voxels() {
        let block = MipBlock::new(1, [-1, 0, 2]);
        let around = Around::look(block, |voxel| if voxel.x < -64 { 2 } else { 0 });
        assert_eq!((around.at([-1, 3, 3]), around.at([8, 0, 0]), around.at([7, 7, 7])), (2, 0, 1));
        assert_eq!((around.at([-9, 3, 3]), around.coarsest(), around.mip()), (2, 2, 1));
    }
}
