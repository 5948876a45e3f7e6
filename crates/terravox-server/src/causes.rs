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
            // A copy that wins may be less full than what it covers.
            pose.blend != Blend::Add
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use terravox::edit::{Clip, PastePose};
    use terravox::voxel::DenseBox;

    #[test]
    fn a_paste_can_cut_unless_it_only_adds() {
        let clip = Clip::new(DenseBox::new(Region::new([0; 3], [2; 3]))).expect("it is small");
        for (blend, cuts) in [(Blend::Over, true), (Blend::Replace, true), (Blend::Add, false)] {
            let pose = PastePose { blend, ..PastePose::default() };
            let op = EditOp::Paste(PasteOp { clip: clip.clone(), pose });
            assert_eq!(can_cut(&op), cuts, "{blend:?}");
        }
    }
}
