//! Which blocks a guest wants: the nearer, the finer.

use crate::terrain::LodOptions;
use crate::voxel::{MAX_MIP, MipBlock, Region, VoxelPos};
use rustc_hash::FxHashSet;

/// How far a guest sees, and how finely. A guest that requests more blocks than
/// [`HostOptions::max_blocks`](super::HostOptions::max_blocks), 65,536 by default, is disconnected.
/// The number of blocks grows with the cube of `detail`.
///
/// ```
/// use terravox::replicate::Interest;
///
/// let far = Interest { view_voxels: 4000.0, ..Interest::default() };
/// assert!(far.detail >= 1.0);
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Interest {
    /// View distance in voxels; at most 10 edges of the host's coarsest blocks, 81,920 voxels by
    /// default, are seen.
    pub view_voxels: f64,
    /// A block is requested at a finer mip when the viewer is nearer than this many times its edge
    /// length. Below 1, the blocks around a viewer may be coarse.
    pub detail: f64,
    /// Everything within this distance, in voxels, is wanted at mip 0, where physics and edits need
    /// it.
    pub near_voxels: f64,
    /// Everything in view is wanted at this mip or finer.
    pub coarsest_mip: u8,
}

impl Default for Interest {
    /// A view of 1,024 voxels, 64 of them for physics.
    fn default() -> Interest {
        Interest { view_voxels: 1024.0, detail: 1.0, near_voxels: 64.0, coarsest_mip: MAX_MIP }
    }
}

/// Blocks are dropped beyond this multiple of the distances at which they are wanted.
const KEPT: f64 = 1.15;

/// The wanted blocks are computed again when a viewer has moved this far. Blocks that edits and
/// physics need are wanted this much earlier; blocks that are only seen may come this much later.
const STEP_VOXELS: f64 = 2.0;

/// Where viewers were when the wanted blocks were last computed.
pub(super) struct WatchedFrom {
    viewers: Vec<[f64; 3]>,
    interest: Interest,
}

impl WatchedFrom {
    pub fn new(viewers: &[[f64; 3]], interest: &Interest) -> WatchedFrom {
        WatchedFrom { viewers: viewers.to_vec(), interest: *interest }
    }

    pub fn viewers(&self) -> &[[f64; 3]] {
        &self.viewers
    }

    /// Whether the last result is still valid: no viewer has moved more than [`STEP_VOXELS`].
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
    /// Returns the interest that covers all that a terrain with these options shows up to a view
    /// distance in voxels, and what its meshes read beside it. The blocks that are shown at one
    /// moment depend on earlier ones, so the margins are those of the slowest change. The coarsest
    /// blocks are covered whole: with the default `max_mip`, even a small view takes some 33,000 blocks.
    pub fn for_lod(shown: &LodOptions, view_voxels: f64) -> Interest {
        let LodOptions { detail, hysteresis, near_voxels, max_mip, .. } = *shown;
        let lag = 1.0 + f64::from(hysteresis);
        // The coarsest blocks that are shown are shown whole, and read the cells of those beside
        // them.
        let roots = 3.5 * f64::from(32 << max_mip);
        Interest {
            view_voxels: (view_voxels * 1.5 + 64.0).max(view_voxels + roots),
            detail: f64::from(detail) * lag + 1.0,
            near_voxels: f64::from(near_voxels) * lag + 32.0,
            coarsest_mip: max_mip,
        }
    }

    /// Returns the blocks that viewers want, with all coarser ones over them, in no order.
    pub(super) fn wanted(&self, viewers: &[[f64; 3]], max_mip: u8) -> FxHashSet<MipBlock> {
        let mut found = FxHashSet::default();
        let view = self.view_voxels.min(widest_view(max_mip));
        let near = self.near_voxels + STEP_VOXELS;
        let view = view.max(near);
        for viewer in viewers {
            // The end is exclusive.
            let reach = Region { min: at(viewer, -view), max: at(viewer, view + 1.0) };
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
                let is_split = block.mip > self.coarsest_mip
                    || away < self.detail * f64::from(block.edge_voxels());
                if block.mip > 0 && (is_split || away <= near) {
                    open.extend(block.children());
                }
            }
        }
        found
    }

    /// Sorts blocks: coarse ones first, then those that are near a viewer.
    pub(super) fn coarse_first(
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
            coarsest_mip: self.coarsest_mip,
        }
    }
}

/// The view distance beyond which even the coarsest blocks would be too many.
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
            view_voxels in 0.0..500.0f64,
            detail in 1.0..2.0f64,
            near_voxels in 0.0..80.0f64,
        ) {
            let interest = Interest { view_voxels, detail, near_voxels, ..Interest::default() };
            let far = way.iter().map(|v| v * v).sum::<f64>().sqrt().max(1.0);
            let to = [0, 1, 2].map(|i| from[i] + way[i] / far * 0.999 * STEP_VOXELS);
            prop_assert!(WatchedFrom::new(&[from], &interest).holds_for(&[to], &interest));
            let wanted = interest.wanted(&[from], 6);
            let around = Region { min: at(&to, -near_voxels), max: at(&to, near_voxels + 1.0) };
            for chunk in around.blocks::<5>().map(MipBlock::from) {
                prop_assert!(distance(chunk, &to) > near_voxels || wanted.contains(&chunk));
            }
        }
    }

    #[test]
    fn a_block_that_only_the_end_of_the_view_reaches_is_wanted() {
        let interest = Interest { view_voxels: 0.0, near_voxels: 72.2, ..Interest::default() };
        let wanted = interest.wanted(&[[0.0, -73.84, 0.0]], 6);
        assert!(wanted.contains(&MipBlock::new(0, [0; 3])));
    }

    #[test]
    fn the_coarsest_blocks_of_the_widest_view_are_within_the_limit_of_a_host() {
        let interest = Interest { view_voxels: 1e9, ..Interest::default() };
        let most = crate::replicate::HostOptions::default().max_roots;
        for (max_mip, eye) in [(8, [3.0, 40.0, -7.0]), (8, [4096.0; 3]), (4, [256.0, 511.9, 0.0])] {
            let wanted = interest.kept().wanted(&[eye], max_mip);
            let roots = wanted.iter().filter(|block| block.mip == max_mip).count();
            assert!((4000..most * 2 / 3).contains(&roots), "{roots} at {eye:?}");
        }
    }

    #[test]
    fn all_that_a_default_view_of_16_km_keeps_is_within_the_limit_of_a_host() {
        for detail in [1.0, 2.3, 3.0] {
            let lod = LodOptions { detail, ..LodOptions::default() };
            let interest = Interest::for_lod(&lod, 16_000.0);
            let counts = [interest, interest.kept()]
                .map(|interest| interest.wanted(&[[3.0, 40.0, -7.0]], 8).len());
            let most = crate::replicate::HostOptions::default().max_blocks;
            assert!(counts[1] < most, "{counts:?} at detail {detail}");
        }
    }
}
