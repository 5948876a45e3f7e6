//! The steps of a plan, piece by piece: between any two pieces planning may stop. A split is
//! many: the coarser leaves beside it are split first, roots around it are shown, the cells of
//! its parts go into the grid one block at a time.

use super::Lod;
use super::pick::Step;
use super::plan::Draft;
use super::quiet::Change;
use super::tiling::neighbours;
use crate::voxel::{MipBlock, Snapshot, VoxelGrid};

/// A piece of a step.
#[derive(Clone, Copy, Debug)]
pub(super) enum Piece {
    /// Begins to show a leaf in eight parts.
    Split(MipBlock),
    /// Shows a root.
    Root(MipBlock),
    /// Writes the cells of a block that came into the grid.
    Cells(MipBlock),
    /// Shows a leaf in eight parts, whose cells are in the grid.
    Parts(MipBlock),
    /// Shows a node in the place of its children.
    Merge(MipBlock),
}

impl From<Step> for Piece {
    fn from(step: Step) -> Piece {
        match step {
            Step::Split(leaf) => Piece::Split(leaf),
            Step::Merge(inner) => Piece::Merge(inner),
        }
    }
}

impl Lod {
    /// Does a piece of a step, or adds the pieces that it consists of, the next last. Returns
    /// whether a leaf was split or merged.
    pub(super) fn take_piece(
        &mut self,
        grid: &mut VoxelGrid,
        piece: Piece,
        pieces: &mut Vec<Piece>,
        draft: &mut Draft,
    ) -> bool {
        match piece {
            Piece::Split(leaf) => self.begin_split(grid, leaf, pieces, draft),
            Piece::Root(root) => _ = self.show_root(grid, root, draft),
            Piece::Cells(block) => self.residency.commit(grid, block),
            Piece::Parts(leaf) => return self.end_split(grid, leaf, draft),
            Piece::Merge(inner) => return self.merge(grid.as_snapshot(), inner, draft),
        }
        false
    }

    /// Begins to show a leaf in eight parts, and first, whole, what touches it and is coarser
    /// or not shown at all; nothing of it before all cells for that are there.
    fn begin_split(
        &mut self,
        grid: &mut VoxelGrid,
        leaf: MipBlock,
        pieces: &mut Vec<Piece>,
        draft: &mut Draft,
    ) {
        // To split its neighbours first would be wasted if this leaf cannot be split.
        if !self.tiling.is_leaf(leaf) || !self.ready(grid, leaf, draft) {
            return;
        }
        pieces.push(Piece::Parts(leaf));
        if !self.is_unseen {
            // Finer cells change its coarse ones: it is meshed even if the split fails.
            draft.add(leaf);
            pieces.extend(leaf.children().map(Piece::Cells));
        }
        pieces.extend(self.roots_beside(leaf).into_iter().map(Piece::Root));
        pieces.extend(self.coarser_beside(leaf).into_iter().map(Piece::Split));
    }

    /// Shows a leaf in eight parts; returns whether all that it takes was still there.
    fn end_split(&mut self, grid: &VoxelGrid, leaf: MipBlock, draft: &mut Draft) -> bool {
        if !self.tiling.is_leaf(leaf) {
            return false;
        }
        let fits =
            leaf.children().iter().all(|&child| self.residency.has(grid.as_snapshot(), child))
                && self.roots_beside(leaf).iter().all(|&root| self.tiling.has(root))
                && self.coarser_beside(leaf).is_empty();
        if fits {
            self.tiling.split(leaf);
            draft.remove(leaf);
        }
        if self.is_unseen {
            return fits;
        }
        let mip = if fits {
            leaf.children()
                .into_iter()
                .for_each(|child| self.add(grid.as_snapshot(), child, draft));
            leaf.mip - 1
        } else {
            leaf.mip
        };
        self.touch(grid.as_snapshot(), Change { block: leaf, mip, cells: true }, draft);
        self.residency.forget_plain(leaf, self.tiling.top());
        fits
    }

    /// Whether all cells are there that it takes to split a leaf; asks for those that are
    /// not.
    fn ready(&self, grid: &VoxelGrid, leaf: MipBlock, draft: &mut Draft) -> bool {
        if let Some(&ready) = draft.ready.get(&leaf) {
            return ready;
        }
        let before = draft.wanted.len();
        let blocks = leaf.children().into_iter().chain(self.roots_beside(leaf));
        let missing = |block: &MipBlock| {
            !self.tiling.has(*block) && !self.residency.has(grid.as_snapshot(), *block)
        };
        draft.wanted.extend(blocks.filter(missing));
        let mut ready = draft.wanted.len() == before;
        for other in self.coarser_beside(leaf) {
            ready &= self.ready(grid, other, draft);
        }
        draft.ready.insert(leaf, ready);
        ready
    }

    /// Leaves that touch a leaf and are coarser.
    fn coarser_beside(&self, leaf: MipBlock) -> Vec<MipBlock> {
        let mut coarser = Vec::new();
        self.tiling.touching(leaf, |other| {
            if other.mip > leaf.mip {
                coarser.push(other);
            }
        });
        coarser
    }

    /// Roots around the one of a leaf that have to be shown for it to be split.
    fn roots_beside(&self, leaf: MipBlock) -> Vec<MipBlock> {
        let top = self.tiling.top();
        let roots = neighbours(leaf).map(|beside| beside.over(top));
        let mut roots: Vec<MipBlock> =
            roots.filter(|&root| root != leaf.over(top) && root.voxels().within_limits()).collect();
        roots.sort_unstable();
        roots.dedup();
        roots
    }

    /// Shows a node in the place of its children, unless that would touch a block two mips
    /// finer; says whether it did.
    fn merge(&mut self, grid: &Snapshot, inner: MipBlock, draft: &mut Draft) -> bool {
        let mut fits = self.tiling.is_inner(inner)
            && self.residency.has(grid, inner)
            && inner.children().iter().all(|&child| self.tiling.is_leaf(child));
        self.tiling.touching(inner, |leaf| fits &= leaf.mip + 1 >= inner.mip);
        if fits {
            self.tiling.merge(inner);
            inner.children().into_iter().for_each(|child| draft.remove(child));
            self.add(grid, inner, draft);
            self.touch(grid, Change { block: inner, mip: inner.mip, cells: false }, draft);
        }
        fits
    }
}
