//! Which blocks a guest wants: the nearer, the finer.

use crate::voxel::{MipBlock, Region, VoxelPos};
use rustc_hash::FxHashSet;

/// How far a guest sees, and how finely: as [`LodOptions`](crate::terrain::LodOptions), so that what is
/// shown is held.
///
/// ```
/// use terravox::replicate::Interest;
///
/// let far = Interest { view_voxels: 4000.0, ..Interest::default() };
/// assert!(far.detail >= 1.0);
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Interest {
    /// View distance: of at most some 10 blocks of the host's coarsest mip.
    pub view_voxels: f64,
    /// A block is wanted finer when the viewer is nearer than this many of its edges; at least 1.
    pub detail: f64,
    /// Everything within this distance is wanted at mip 0, where physics and edits need it.
    pub near_voxels: f64,
}

impl Default for Interest {
    /// A view of 1,024 voxels, 64 of them for physics.
    fn default() -> Interest {
        Interest { view_voxels: 1024.0, detail: 1.0, near_voxels: 64.0 }
    }
}

/// Blocks beyond these distances are dropped, as a share of those at which they are wanted.
const KEPT: f64 = 1.25;

/// What is wanted is found again when a viewer has moved so far. Blocks that edits and physics need are
/// wanted so much earlier; those that are merely seen can come a step later.
const STEP_VOXELS: f64 = 2.0;

/// Where viewers were when what they want was found last.
pub(super) struct WatchedFrom {
    viewers: Vec<[f64; 3]>,
    interest: Interest,
}

impl WatchedFrom {
    pub fn new(viewers: &[[f64; 3]], interest: &Interest) -> WatchedFrom {
        WatchedFrom { viewers: viewers.to_vec(), interest: *interest }
    }

    /// Whether these viewers want no other blocks.
    pub fn holds_for(&self, viewers: &[[f64; 3]], interest: &Interest) -> bool {
        let is_near = |(a, b): (&[f64; 3], &[f64; 3])| {
            let off = [0, 1, 2].map(|i| a[i] - b[i]);
            off.iter().map(|v| v * v).sum::<f64>() <= STEP_VOXELS * STEP_VOXELS
        };
        self.interest == *interest
            && self.viewers.len() == viewers.len()
            && self.viewers.iter().zip(viewers).all(is_near)
    }
}

impl Interest {
    /// Returns the blocks that viewers want, with all coarser ones over them, in no order.
    pub(super) fn wanted(&self, viewers: &[[f64; 3]], max_mip: u8) -> FxHashSet<MipBlock> {
        let mut found = FxHashSet::default();
        let view = self.view_voxels.min(widest_view(max_mip));
        let near = self.near_voxels + STEP_VOXELS;
        for viewer in viewers {
            let reach = Region { min: at(viewer, -view), max: at(viewer, view) };
            let mut open: Vec<_> = reach
                .coarser(5 + u32::from(max_mip))
                .voxels()
                .map(|pos| MipBlock { mip: max_mip, pos })
                .collect();
            while let Some(block) = open.pop() {
                let away = distance(block, viewer);
                if away > view || !block.within_limits() {
                    continue;
                }
                found.insert(block);
                let is_split = away < self.detail * f64::from(block.edge_voxels());
                if block.mip > 0 && (is_split || away <= near) {
                    open.extend(block.children());
                }
            }
        }
        found
    }

    /// Sorts blocks: coarse ones first, then those that are near a viewer.
    pub(super) fn in_order(
        blocks: impl Iterator<Item = MipBlock>,
        viewers: &[[f64; 3]],
    ) -> Vec<MipBlock> {
        let nearest = |block: MipBlock| {
            viewers.iter().map(|viewer| distance(block, viewer)).fold(f64::INFINITY, f64::min)
        };
        let mut blocks: Vec<_> = blocks.map(|block| (nearest(block), block)).collect();
        blocks.sort_unstable_by(|(a, p), (b, q)| {
            q.mip.cmp(&p.mip).then(a.total_cmp(b)).then(p.cmp(q))
        });
        blocks.into_iter().map(|entry| entry.1).collect()
    }

    /// The interest that covers what is kept.
    pub(super) fn kept(&self) -> Interest {
        Interest {
            view_voxels: self.view_voxels * KEPT,
            detail: self.detail * KEPT,
            near_voxels: self.near_voxels * KEPT,
        }
    }
}

/// The view distance at which the coarsest blocks are some 8,000.
fn widest_view(max_mip: u8) -> f64 {
    10.0 * f64::from(32 << max_mip)
}

/// The voxel of a position moved by an offset on each axis, within the limits.
fn at(viewer: &[f64; 3], off: f64) -> VoxelPos {
    let limit = f64::from(crate::voxel::LIMIT);
    VoxelPos::from(viewer.map(|v| (v + off).clamp(-limit, limit - 1.0).floor() as i32))
}

/// Distance in voxels from a position to a block, 0 inside.
fn distance(block: MipBlock, viewer: &[f64; 3]) -> f64 {
    let Region { min, max } = block.voxels();
    let (min, max) = (min.to_array().map(f64::from), max.to_array().map(f64::from));
    let off = [0, 1, 2].map(|i| (min[i] - viewer[i]).max(viewer[i] - max[i]).max(0.0));
    off.iter().map(|v| v * v).sum::<f64>().sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn what_is_near_within_a_step_was_wanted_before(
            from in prop::array::uniform3(-300.0..300.0f64),
            way in prop::array::uniform3(-1.0..1.0f64),
            detail in 1.0..2.0f64,
            near_voxels in 0.0..80.0f64,
        ) {
            let interest = Interest { view_voxels: 500.0, detail, near_voxels };
            let far = way.iter().map(|v| v * v).sum::<f64>().sqrt().max(1.0);
            let to = [0, 1, 2].map(|i| from[i] + way[i] / far * STEP_VOXELS);
            prop_assert!(WatchedFrom::new(&[from], &interest).holds_for(&[to], &interest));
            let wanted = interest.wanted(&[from], 6);
            let all = wanted.iter().filter(|block| block.mip > 0 && !wanted.contains(&block.children()[0]));
            for block in all {
                let away = distance(*block, &to);
                prop_assert!(away > near_voxels);
            }
        }
    }
}
