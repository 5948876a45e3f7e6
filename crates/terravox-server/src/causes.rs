//! Who cut a piece off: the edits around which the search for loose pieces has not ended.

use std::collections::VecDeque;
use std::sync::Arc;
use terravox::bodies::LooseBody;
use terravox::edit::{Action, Blend, CopyOp, EditOp, PasteOp};
use terravox::voxel::Region;

/// Maximum number of edits that are remembered.
const MAX_CAUSES: usize = 1024;

/// Cells that are looked at for a piece. Of edits beyond that, it is enough that they reach into the box
/// around it.
const MAX_LOOKS: u64 = 1 << 15;

/// An edit that may have cut something off.
struct Cause {
    region: Region,
    author: Arc<str>,
}

/// Edits that may have cut something off; the latest is the last.
#[derive(Default)]
pub(crate) struct Causes(VecDeque<Cause>);

impl Causes {
    pub fn note(&mut self, region: Region, author: &str) {
        if self.0.len() == MAX_CAUSES {
            self.0.pop_front();
        }
        self.0.push_back(Cause { region, author: author.into() });
    }

    /// Forgets all: the search has ended.
    pub fn clear(&mut self) {
        self.0.clear();
    }

    /// Returns who cut off a piece: the last one who edited at one of its cells.
    pub fn author_of(&self, body: &LooseBody) -> Option<Arc<str>> {
        let (off, mut looks) = (body.origin_voxel, MAX_LOOKS);
        let touches = |cause: &&Cause| {
            let Region { min, max } = cause.region.grow(2);
            let near = Region { min: min - off, max: max - off }.intersect(body.bounds);
            let is_solid = |voxel| body.grid.cell(voxel).is_ok_and(|cell| !cell.is_air());
            let left = looks.checked_sub(near.volume());
            looks = left.unwrap_or(0);
            !near.is_empty() && (left.is_none() || near.voxels().any(is_solid))
        };
        self.0.iter().rev().find(touches).map(|cause| cause.author.clone())
    }
}

/// Whether an operation can take ground away.
pub(crate) fn can_cut(op: &EditOp) -> bool {
    match op {
        EditOp::Brush(op) => !matches!(
            op.action,
            Action::Fill { .. }
                | Action::Paint { .. }
                | Action::Grow { .. }
                | Action::Flood { .. }
                | Action::Drain
        ),
        EditOp::Copy(CopyOp { pose, .. }) | EditOp::Paste(PasteOp { pose, .. }) => {
            pose.blend == Blend::Replace
        }
    }
}
