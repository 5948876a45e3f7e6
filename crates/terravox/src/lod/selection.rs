//! Which blocks should be shown: the nearer, the finer.
//!
//! A block is split when a viewer is nearer than `detail` of its edges, and merged again a little
//! farther out (hysteresis), so that a viewer moving back and forth changes nothing. With a
//! `detail` of at least 1 the rings of each mip are wide enough that touching blocks differ by at
//! most one mip, except where data is late.

use super::tiling::Tiling;
use crate::voxel::{LIMIT, MipBlock, Region, VoxelPos};
use std::cmp::Ordering;
use std::collections::BTreeSet;

/// A viewer, in voxels.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct LodViewer {
    /// Position.
    pub position_voxels: [f64; 3],
    /// View distance.
    pub distance_voxels: f64,
}

/// The view distance is clamped to this many roots; farther views need coarser roots.
const MAX_REACH_ROOTS: f64 = 16.0;

/// How far a viewer may move before the choice is made again. Blocks are split for all positions
/// within that distance: none is late, and adjacent steps are taken together.
const MOVE_VOXELS: f64 = 8.0;

/// The same in edges of a block: coarse blocks are split many at a time.
const MOVE_EDGES: f64 = 1.0 / 32.0;

/// Returns how far ahead of the viewers a block is chosen: at least how far they may move before
/// the choice is made again.
pub(crate) fn lookahead_voxels(edge_voxels: f64) -> f64 {
    MOVE_VOXELS.max(MOVE_EDGES * edge_voxels)
}

/// A change to the tiling that leads from one closed surface to another.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum LodStep {
    /// A leaf into its eight children.
    Split(MipBlock),
    /// Eight leaves into their parent.
    Merge(MipBlock),
    /// A root appears beside finer leaves, which were split without it.
    ShowLateRoot(MipBlock),
}

impl LodStep {
    /// Returns the parent of the blocks that are shown before or after it.
    pub fn block(self) -> MipBlock {
        match self {
            LodStep::Split(block) | LodStep::Merge(block) | LodStep::ShowLateRoot(block) => block,
        }
    }
}

/// A step and its priority.
#[derive(Clone, Copy, Debug)]
pub(super) struct RankedStep {
    /// Edges of the block from the nearest viewer to it. The least comes first.
    pub distance_edges: f64,
    pub step: LodStep,
}

impl RankedStep {
    pub fn order(&self, other: &RankedStep) -> Ordering {
        let nearer = self.distance_edges.total_cmp(&other.distance_edges);
        nearer.then(self.step.block().cmp(&other.step.block()))
    }
}

/// Viewers, and the distances at which blocks are split and merged.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Selector {
    pub viewers: Vec<LodViewer>,
    /// Where moving viewers will soon be: blocks near those positions are split as well.
    pub ahead: Vec<LodViewer>,
    /// In edges of a block.
    pub detail: f64,
    /// Share by which merging is farther out than splitting.
    pub hysteresis: f64,
    /// Everything within this distance is shown at mip 0.
    pub near_voxels: f64,
    /// Whether it covers all positions that the viewers may reach before the next choice.
    pub looks_ahead: bool,
}

impl Selector {
    /// Whether the choice would barely differ.
    pub fn is_near(&self, other: &Selector) -> bool {
        let close = |(a, b): (&LodViewer, &LodViewer)| {
            let [x, y, z] = [0, 1, 2].map(|i| a.position_voxels[i] - b.position_voxels[i]);
            x * x + y * y + z * z < MOVE_VOXELS * MOVE_VOXELS
                && a.distance_voxels == b.distance_voxels
        };
        self.viewers.len() == other.viewers.len()
            && self.ahead.len() == other.ahead.len()
            && (self.detail, self.near_voxels) == (other.detail, other.near_voxels)
            && self.viewers.iter().zip(&other.viewers).all(close)
            && self.ahead.iter().zip(&other.ahead).all(close)
    }

    /// Returns the same viewers with their view distance limited to `near_voxels`.
    pub fn limited_to_near(&self) -> Selector {
        let mut near = self.clone();
        for viewer in near.viewers.iter_mut().chain(&mut near.ahead) {
            viewer.distance_voxels = viewer.distance_voxels.min(near.near_voxels);
        }
        near
    }

    /// Returns the distance in voxels from the nearest viewer to a block: 0 inside, infinity
    /// without viewers.
    pub fn distance(&self, block: MipBlock) -> f64 {
        let square = |viewer: &LodViewer| distance_squared(viewer, block);
        self.viewers.iter().map(square).fold(f64::INFINITY, f64::min).sqrt()
    }

    fn lookahead(&self, block: MipBlock) -> f64 {
        if self.looks_ahead { lookahead_voxels(block.edge_voxels().into()) } else { 0.0 }
    }

    /// Whether a viewer is near enough to a block for it to be split. `slack` multiplies the
    /// distance.
    fn is_within(&self, block: MipBlock, slack: f64, surfaceless: impl FnOnce() -> bool) -> bool {
        let reach = self.detail * f64::from(block.edge_voxels());
        let ahead = self.lookahead(block);
        let any = |limit: &dyn Fn(&LodViewer) -> f64| {
            self.viewers.iter().chain(&self.ahead).any(|viewer| {
                (distance_squared(viewer, block).sqrt() - ahead) / slack < limit(viewer)
            })
        };
        any(&|_| self.near_voxels)
            || any(&|viewer| reach.min(viewer.distance_voxels)) && !surfaceless()
    }

    /// Returns the blocks of mip `top` that hold a viewer.
    pub fn own_roots(&self, top: u8) -> impl Iterator<Item = MipBlock> {
        let edge = f64::from(MipBlock::EDGE << top);
        // The casts saturate.
        let at =
            move |viewer: &LodViewer| viewer.position_voxels.map(|v| (v / edge).floor() as i32);
        let limit = LIMIT >> (5 + top);
        let all = Region::new([-limit; 3], [limit; 3]);
        let holding = self.viewers.iter().map(move |viewer| VoxelPos::from(at(viewer)));
        holding.filter(move |&pos| all.contains(pos)).map(move |pos| MipBlock::new(top, pos))
    }

    /// Returns the blocks of mip `top` in view of any viewer, nearest first.
    pub fn roots(&self, top: u8) -> Vec<MipBlock> {
        let edge = f64::from(MipBlock::EDGE << top);
        let limit = LIMIT >> (5 + top);
        let mut roots = BTreeSet::new();
        for viewer in &self.viewers {
            let ahead = if self.looks_ahead { lookahead_voxels(edge) } else { 0.0 };
            let reach = (viewer.distance_voxels + ahead).clamp(0.0, MAX_REACH_ROOTS * edge);
            // Casts saturate.
            let at = |step: f64| viewer.position_voxels.map(|v| ((v + step) / edge).floor() as i32);
            let near = Region::new(at(-reach), at(reach))
                .intersect(Region::new([-limit; 3], [limit - 1; 3]));
            let near = Region { max: near.max + VoxelPos::splat(1), ..near };
            let blocks = near.voxels().map(|pos| MipBlock::new(top, pos));
            roots.extend(blocks.filter(|&block| is_in_view(viewer, block, 1.0, ahead)));
        }
        let mut roots: Vec<_> = roots.into_iter().collect();
        roots.sort_by(|&a, &b| self.distance(a).total_cmp(&self.distance(b)));
        roots
    }

    /// Whether a root is out of view of all viewers, with hysteresis.
    pub fn is_out_of_view(&self, root: MipBlock) -> bool {
        let (slack, ahead) = (1.0 + self.hysteresis, self.lookahead(root));
        !self.viewers.iter().any(|viewer| is_in_view(viewer, root, slack, ahead))
    }

    /// Whether a block should be split; `surfaceless` returns whether it has no surface.
    pub fn splits(&self, block: MipBlock, surfaceless: impl FnOnce() -> bool) -> bool {
        block.mip > 0 && self.is_within(block, 1.0, surfaceless)
    }

    /// Whether the children of a block should be merged.
    pub fn merges(&self, block: MipBlock, surfaceless: impl FnOnce() -> bool) -> bool {
        !self.is_within(block, 1.0 + self.hysteresis, surfaceless)
    }

    /// Returns the step that a node of a tiling needs. If there is none and the node is not a leaf,
    /// its children may need some.
    pub fn step_at(
        &self,
        tiling: &Tiling,
        node: MipBlock,
        mut surfaceless: impl FnMut(MipBlock) -> bool,
    ) -> Option<RankedStep> {
        let ranked = |step: LodStep| RankedStep { distance_edges: self.distance_edges(node), step };
        if tiling.is_leaf(node) {
            let splits = self.splits(node, || surfaceless(node));
            return splits.then(|| ranked(LodStep::Split(node)));
        }
        let merges = tiling.shows_children(node) && self.merges(node, || surfaceless(node));
        merges.then(|| ranked(LodStep::Merge(node)))
    }

    /// Returns the distance from the nearest viewer to a block, in edges of the block.
    pub fn distance_edges(&self, block: MipBlock) -> f64 {
        self.distance(block) / f64::from(block.edge_voxels())
    }

    /// Returns all steps that a tiling needs, nearest first.
    pub fn steps(
        &self,
        tiling: &Tiling,
        mut surfaceless: impl FnMut(MipBlock) -> bool,
    ) -> Vec<LodStep> {
        let mut steps = Vec::new();
        let mut nodes: Vec<MipBlock> = tiling.roots().collect();
        while let Some(node) = nodes.pop() {
            match self.step_at(tiling, node, &mut surfaceless) {
                Some(step) => steps.push(step),
                None if tiling.is_leaf(node) => {}
                None => nodes.extend(node.children()),
            }
        }
        steps.sort_unstable_by(RankedStep::order);
        steps.into_iter().map(|ranked| ranked.step).collect()
    }
}

fn is_in_view(viewer: &LodViewer, block: MipBlock, slack: f64, ahead: f64) -> bool {
    let reach = viewer.distance_voxels * slack + ahead;
    viewer.distance_voxels > 0.0 && distance_squared(viewer, block) < reach * reach
}

pub(crate) fn distance_squared(viewer: &LodViewer, block: MipBlock) -> f64 {
    let region = block.voxels();
    let (min, max) = (region.min.to_array(), region.max.to_array());
    let axis = |i: usize| {
        let at = viewer.position_voxels[i];
        (f64::from(min[i]) - at).max(at - f64::from(max[i])).max(0.0)
    };
    let [x, y, z] = [axis(0), axis(1), axis(2)];
    x * x + y * y + z * z
}
