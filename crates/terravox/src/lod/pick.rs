//! Which blocks ought to be shown: the finer the nearer.
//!
//! A block is shown in eight parts from a distance of `detail` times its edge on inward,
//! and as a whole again a little farther out than that, so that a viewer who goes back and
//! forth changes nothing. With `detail` of at least 1 the rings of each mip are wide enough
//! that blocks that touch differ by one mip, all but where data is late.

use super::tiling::Tiling;
use crate::voxel::{LIMIT, MipBlock, Region, VoxelPos};
use std::collections::BTreeSet;

/// Someone who looks at the world, in voxels.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct LodViewer {
    /// Where.
    pub position_voxels: [f64; 3],
    /// How far.
    pub distance_voxels: f64,
}

/// No viewer sees more roots than this in a row; coarser roots are for that.
const MOST_ROOTS: f64 = 16.0;

/// How far a viewer may go before the choice is made anew, voxels. Blocks are split for all
/// places that far ahead: none is late, and steps that lie side by side are taken together.
const AHEAD: f64 = 8.0;

/// The same in edges of a block: the coarse ones come many at a time.
const AHEAD_EDGES: f64 = 1.0 / 32.0;

/// How far ahead of the viewers a block is chosen, voxels: at least what they may go before the
/// choice is made anew.
pub(crate) fn ahead(edge_voxels: f64) -> f64 {
    AHEAD.max(AHEAD_EDGES * edge_voxels)
}

/// A change to the tiling that leads from one closed surface to another.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Step {
    /// A leaf into eight.
    Split(MipBlock),
    /// Eight leaves into their parent.
    Merge(MipBlock),
}

impl Step {
    /// The block that is shown in parts before or after it.
    pub fn block(self) -> MipBlock {
        match self {
            Step::Split(block) | Step::Merge(block) => block,
        }
    }
}

/// The viewers and how much they are shown.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Picker {
    pub viewers: Vec<LodViewer>,
    /// In edges of a block.
    pub detail: f64,
    /// Share by which the way out is longer than the way in.
    pub hysteresis: f64,
    /// Everything within is shown at mip 0, voxels.
    pub near: f64,
    /// Whether it is for all places where the viewers may go before it is made anew.
    pub looks_ahead: bool,
}

impl Picker {
    /// Whether the choice would hardly differ.
    pub fn is_near(&self, other: &Picker) -> bool {
        let close = |(a, b): (&LodViewer, &LodViewer)| {
            let [x, y, z] = [0, 1, 2].map(|i| a.position_voxels[i] - b.position_voxels[i]);
            x * x + y * y + z * z < AHEAD * AHEAD && a.distance_voxels == b.distance_voxels
        };
        self.viewers.len() == other.viewers.len()
            && (self.detail, self.near) == (other.detail, other.near)
            && self.viewers.iter().zip(&other.viewers).all(close)
    }

    /// The same viewers, who see no farther than they can touch.
    pub fn near(&self) -> Picker {
        let mut near = self.clone();
        for viewer in &mut near.viewers {
            viewer.distance_voxels = viewer.distance_voxels.min(near.near);
        }
        near
    }

    /// Voxels from the nearest viewer to a block, 0 inside; infinite without viewers.
    pub fn distance(&self, block: MipBlock) -> f64 {
        let square = |viewer: &LodViewer| square_distance(viewer, block);
        self.viewers.iter().map(square).fold(f64::INFINITY, f64::min).sqrt()
    }

    fn ahead(&self, block: MipBlock) -> f64 {
        if self.looks_ahead { ahead(block.edge_voxels().into()) } else { 0.0 }
    }

    /// Whether some viewer is so near to a block that it is shown in parts; `slack` is by how
    /// much farther that is.
    fn is_within(&self, block: MipBlock, slack: f64, plain: impl FnOnce() -> bool) -> bool {
        let reach = self.detail * f64::from(block.edge_voxels());
        let ahead = self.ahead(block);
        let any = |limit: &dyn Fn(&LodViewer) -> f64| {
            self.viewers.iter().any(|viewer| {
                (square_distance(viewer, block).sqrt() - ahead) / slack < limit(viewer)
            })
        };
        any(&|_| self.near) || any(&|viewer| reach.min(viewer.distance_voxels)) && !plain()
    }

    /// Blocks of mip `top` that some viewer sees, nearest first.
    pub fn roots(&self, top: u8) -> Vec<MipBlock> {
        let edge = f64::from(MipBlock::EDGE << top);
        let limit = LIMIT >> (5 + top);
        let mut roots = BTreeSet::new();
        for viewer in &self.viewers {
            let ahead = if self.looks_ahead { ahead(edge) } else { 0.0 };
            let reach = (viewer.distance_voxels + ahead).clamp(0.0, MOST_ROOTS * edge);
            // The casts saturate.
            let at = |step: f64| viewer.position_voxels.map(|v| ((v + step) / edge).floor() as i32);
            let near = Region::new(at(-reach), at(reach))
                .intersect(Region::new([-limit; 3], [limit - 1; 3]));
            let near = Region { max: near.max + VoxelPos::splat(1), ..near };
            let blocks = near.voxels().map(|pos| MipBlock::new(top, pos));
            roots.extend(blocks.filter(|&block| sees(viewer, block, 1.0, ahead)));
        }
        let mut roots: Vec<_> = roots.into_iter().collect();
        roots.sort_by(|&a, &b| self.distance(a).total_cmp(&self.distance(b)));
        roots
    }

    /// Whether no viewer sees a root any longer.
    pub fn lost(&self, root: MipBlock) -> bool {
        let (slack, ahead) = (1.0 + self.hysteresis, self.ahead(root));
        !self.viewers.iter().any(|viewer| sees(viewer, root, slack, ahead))
    }

    /// Whether a block is to be shown in parts; `plain` tells whether it has no surface.
    pub fn splits(&self, block: MipBlock, plain: impl FnOnce() -> bool) -> bool {
        block.mip > 0 && self.is_within(block, 1.0, plain)
    }

    /// Whether a block that is shown in parts is to be shown as a whole.
    pub fn merges(&self, block: MipBlock, plain: impl FnOnce() -> bool) -> bool {
        !self.is_within(block, 1.0 + self.hysteresis, plain)
    }

    /// Returns the step that a node of a tiling wants, and how many edges away it is. Without
    /// one, the children of a node that is no leaf may want some.
    pub fn step_at(
        &self,
        tiling: &Tiling,
        node: MipBlock,
        mut plain: impl FnMut(MipBlock) -> bool,
    ) -> Option<(f64, Step)> {
        if tiling.is_leaf(node) {
            let splits = self.splits(node, || plain(node));
            return splits.then(|| (self.edges(node), Step::Split(node)));
        }
        let whole = node.children().iter().all(|&child| tiling.is_leaf(child));
        let merges = whole && self.merges(node, || plain(node));
        merges.then(|| (self.edges(node), Step::Merge(node)))
    }

    /// Edges of a block from the nearest viewer to it: how large it looks.
    pub fn edges(&self, block: MipBlock) -> f64 {
        self.distance(block) / f64::from(block.edge_voxels())
    }

    /// All steps that the tiling wants below its roots, what looks largest first.
    pub fn steps(&self, tiling: &Tiling, mut plain: impl FnMut(MipBlock) -> bool) -> Vec<Step> {
        let mut steps = Vec::new();
        let mut nodes: Vec<MipBlock> = tiling.roots().collect();
        while let Some(node) = nodes.pop() {
            match self.step_at(tiling, node, &mut plain) {
                Some(step) => steps.push(step),
                None if tiling.is_leaf(node) => {}
                None => nodes.extend(node.children()),
            }
        }
        steps.sort_unstable_by(|(a, x), (b, y)| a.total_cmp(b).then(x.block().cmp(&y.block())));
        steps.into_iter().map(|(_, step)| step).collect()
    }
}

fn sees(viewer: &LodViewer, block: MipBlock, slack: f64, ahead: f64) -> bool {
    let reach = viewer.distance_voxels * slack + ahead;
    viewer.distance_voxels > 0.0 && square_distance(viewer, block) < reach * reach
}

pub(crate) fn square_distance(viewer: &LodViewer, block: MipBlock) -> f64 {
    let region = block.voxels();
    let (min, max) = (region.min.to_array(), region.max.to_array());
    let axis = |i: usize| {
        let at = viewer.position_voxels[i];
        (f64::from(min[i]) - at).max(at - f64::from(max[i])).max(0.0)
    };
    let [x, y, z] = [axis(0), axis(1), axis(2)];
    x * x + y * y + z * z
}
