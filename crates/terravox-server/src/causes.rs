//! Who cut a piece off: the edits around which the search for loose pieces has not ended.

use std::collections::VecDeque;
use std::sync::Arc;
use terravox::bodies::LooseBody;
use terravox::voxel::Region;

/// Maximum number of edits that are remembered.
const MAX_CAUSES: usize = 1024;

/// Of an edit that has more voxels in common with the box around a piece, that is enough.
const MAX_COMMON: u64 = 1 << 12;

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

    /// Returns who cut off a piece: the last one who edited at one of its cells. Looks at some thousand
    /// cells of each edit at most.
    pub fn author_of(&self, body: &LooseBody) -> Option<Arc<str>> {
        let off = body.origin_voxel;
        let touches = |cause: &&Cause| {
            let Region { min, max } = cause.region.grow(2);
            let near = Region { min: min - off, max: max - off }.intersect(body.bounds);
            let is_solid = |voxel| body.grid.cell(voxel).is_ok_and(|cell| !cell.is_air());
            match near.volume() {
                0 => false,
                1..=MAX_COMMON => near.voxels().any(is_solid),
                _ => true,
            }
        };
        self.0.iter().rev().find(touches).map(|cause| cause.author.clone())
    }
}
