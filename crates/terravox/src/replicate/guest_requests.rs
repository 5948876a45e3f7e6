//! Which blocks a guest asks for: what viewers are interested in, what it held before the link broke,
//! and what may be wrong.

use super::delta::block_digest;
use super::guest::Guest;
use super::interest::{Interest, WatchedFrom};
use super::message::ToHost;
use super::pipe::BULK;
use super::replica::{BlockState, Generate};
use crate::voxel::{DenseBox, MipBlock};

/// Maximum number of blocks named in one message.
const BLOCKS_PER_MESSAGE: usize = 200;

/// Maximum number of blocks of which a digest is made in one update, to request them again after the
/// link broke.
const MAX_DIGESTS_PER_UPDATE: usize = 64;

/// No blocks are requested while more bytes than this wait to be sent.
const MAX_UNSENT: u64 = 16 << 10;

impl Guest {
    /// Asks for some blocks from before the link broke, coarse ones first: as many as the link takes,
    /// few of which it has to make a digest.
    pub(super) fn ask_again(&mut self) {
        let mut digests = MAX_DIGESTS_PER_UPDATE;
        while digests > 0 && self.pipe.unsent(BULK) < MAX_UNSENT {
            let known = self.take_unasked(&mut digests);
            if known.is_empty() {
                break;
            }
            if self.unasked.is_empty() {
                // What else is wanted was not asked for yet.
                self.watched = None;
            }
            self.send(BULK, &ToHost::Subscribe(known));
        }
    }

    /// Takes blocks for one message, each with the digest of its cells if they are there. Ends early
    /// when as many digests were made as are left.
    fn take_unasked(&mut self, digests: &mut usize) -> Vec<(MipBlock, Option<u64>)> {
        let Some(replica) = &self.replica else { return Vec::new() };
        let kinds = replica.grid.materials().kinds();
        let no_ground: Generate<'_> = &|request| request.set_missing();
        let (mut cells, mut known) = (DenseBox::default(), Vec::new());
        while known.len() < BLOCKS_PER_MESSAGE
            && *digests > 0
            && let Some(block) = self.unasked.pop()
        {
            // Unedited ground is not read: the host says so without its cells.
            let is_read = replica.read(block, no_ground, &mut cells);
            *digests -= usize::from(is_read);
            known.push((block, is_read.then(|| block_digest(&cells, kinds))));
        }
        known
    }

    /// Asks for blocks that may be wrong to be sent again.
    pub(super) fn refresh(&mut self) {
        while let Some(replica) = &mut self.replica
            && !replica.outdated.is_empty()
            && self.pipe.unsent(BULK) < MAX_UNSENT
        {
            let some: Vec<_> = replica.outdated.iter().copied().take(BLOCKS_PER_MESSAGE).collect();
            for block in &some {
                replica.outdated.remove(block);
            }
            self.send(BULK, &ToHost::Refresh(some));
        }
    }

    /// Requests the blocks that viewers at these positions, in voxels, are interested in, and drops
    /// others. Call it once a frame; it takes time only when a viewer has moved by two voxels.
    pub fn watch(&mut self, viewers: &[[f64; 3]], interest: &Interest) {
        // Earlier requests go first.
        let has_room = self.pipe.unsent(BULK) < MAX_UNSENT;
        let Some(replica) = self.replica.as_mut().filter(|_| self.is_started && has_room) else {
            return;
        };
        if self.watched.as_ref().is_some_and(|from| from.holds_for(viewers, interest)) {
            return;
        }
        self.watched = Some(WatchedFrom::new(viewers, interest));
        let kept = interest.kept().wanted(viewers, replica.max_mip);
        // After a break, first what was there and is still of interest is asked for again.
        let gone: Vec<_> = self.unasked.extract_if(.., |block| !kept.contains(block)).collect();
        replica.forget(&gone);
        if !self.unasked.is_empty() {
            return;
        }
        let mut dropped: Vec<_> =
            replica.blocks.keys().copied().filter(|block| !kept.contains(block)).collect();
        dropped.sort_unstable();
        let wanted = interest.wanted(viewers, replica.max_mip).into_iter();
        let new = wanted.filter(|block| !replica.blocks.contains_key(block));
        let new = Interest::coarse_first(new, viewers);
        replica.forget(&dropped);
        for &block in &new {
            replica.blocks.insert(block, BlockState::Wanted);
        }
        for part in dropped.chunks(BLOCKS_PER_MESSAGE) {
            self.send(BULK, &ToHost::Unsubscribe(part.to_vec()));
        }
        for part in new.chunks(BLOCKS_PER_MESSAGE) {
            let blocks = part.iter().map(|&block| (block, None)).collect();
            self.send(BULK, &ToHost::Subscribe(blocks));
        }
    }
}
