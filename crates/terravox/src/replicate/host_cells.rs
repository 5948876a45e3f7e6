//! Which cells a host sends: first the changes of blocks that a guest holds, then blocks that it
//! does not hold yet, coarse ones first, with those beside them that lie below the same one.

use super::body_budget::BULK_BACKLOG;
use super::delta::part_of;
use super::encoded::{EncodedBlock, is_air_in};
use super::family::{Family, FamilyChild, MAX_SENT};
use super::host::{Host, MAX_WAITING_TICKS};
use super::hosted::HostedGuest;
use super::pipe::BULK;
use super::subscription::NextBlock;
use super::truth::HostWorld;
use crate::codec::BitRle;
use crate::voxel::{MipBlock, Region};

/// Maximum number of blocks of one guest that are read in a tick.
const MAX_READS: u32 = 32;

/// Reads that a refined block counts as: it takes about a millisecond.
const READS_PER_REFINEMENT: u32 = 4;

/// Reads of a guest that the ground is told of: those of two ticks.
const PREFETCHED_READS: u32 = 2 * MAX_READS;

/// Bytes of cells from which on a message gets no further block.
const FULL_FAMILY: usize = 8 << 10;

/// Maximum number of bytes of cells in a message of several blocks: one that would exceed it is not
/// added.
const MOST_FAMILY: usize = 32 << 10;

/// One message of blocks, while it is put together.
struct FamilyDraft {
    family: Family,
    /// Whether `Host::coarser` has the cells of the parent; `None` before it was read.
    has_coarser: Option<bool>,
    /// How many more blocks below those that are ground may be sent.
    room: usize,
    bytes: usize,
}

impl Host {
    /// Tells the ground which blocks a guest is sent next, at most `left`.
    pub(super) fn prefetch_cells(&self, guest: u64, world: &HostWorld<'_>, left: &mut u32) {
        let Some(entry) = self.guests.get(&guest) else { return };
        if world.is_known() || entry.pipe.unsent(BULK) >= BULK_BACKLOG {
            return;
        }
        let most = (PREFETCHED_READS / reads_of(entry)).min(*left) as usize;
        let upcoming = entry.blocks.upcoming(PREFETCHED_READS as usize);
        let wanted = upcoming.flat_map(|next| self.ground_reads(entry, world, next)).take(most);
        let wanted: Vec<MipBlock> = wanted.collect();
        *left -= wanted.len() as u32;
        (world.prefetch)(&wanted);
    }

    /// The blocks that are read from the ground when this is sent.
    fn ground_reads(
        &self,
        entry: &HostedGuest,
        world: &HostWorld<'_>,
        next: NextBlock,
    ) -> impl Iterator<Item = MipBlock> + use<> {
        let (NextBlock::Whole(block, _) | NextBlock::Part(block, _)) = next;
        let is_whole = matches!(next, NextBlock::Whole(..));
        let is_encoded = is_whole && self.encoded.get((block, entry.makes_ground)).is_some();
        let is_read = !is_encoded && !self.makes_block(entry, block);
        let is_below = is_whole && !entry.makes_ground && block.mip < self.options.max_mip;
        let own = is_read && self.truth.asks_ground(world, block);
        let coarser = is_read && is_below && self.truth.asks_ground(world, block.parent());
        let over = coarser.then(|| block.parent());
        own.then_some(block).into_iter().chain(over)
    }

    /// Whether what is next can be sent without waiting for the ground.
    fn is_at_hand(&self, entry: &HostedGuest, world: &HostWorld<'_>, next: NextBlock) -> bool {
        let reads: Vec<MipBlock> = self.ground_reads(entry, world, next).collect();
        reads.is_empty() || (world.prefetch)(&reads)
    }

    /// Queues cells for a guest, as far as its link keeps up.
    pub(super) fn send_cells(&mut self, guest: u64, world: &HostWorld<'_>, reads: &mut u32) {
        let Some(mut entry) = self.guests.remove(&guest) else { return };
        let kinds = world.grid.materials().kinds();
        let mut own_reads = (*reads).min(MAX_READS);
        *reads -= own_reads;
        while entry.pipe.unsent(BULK) < BULK_BACKLOG && own_reads > 0 {
            entry.send_done(kinds);
            let Some(next) = entry.blocks.next() else {
                // Those below them follow.
                if entry.flush_unchanged(kinds) {
                    continue;
                }
                break;
            };
            if entry.unread_ticks < MAX_WAITING_TICKS && !self.is_at_hand(&entry, world, next) {
                // In its turn, since the order matters.
                entry.blocks.put_back(next);
                entry.unread_ticks += 1;
                break;
            }
            entry.unread_ticks = 0;
            let is_sent = match next {
                NextBlock::Part(block, region) => {
                    self.send_part(&mut entry, world, (block, region), &mut own_reads)
                }
                NextBlock::Whole(block, None) => {
                    self.send_family(&mut entry, world, block, &mut own_reads)
                }
                NextBlock::Whole(block, Some(known)) => {
                    self.send_known(&mut entry, world, (block, known), &mut own_reads)
                }
            };
            if !is_sent {
                // Reading it may have taken long. The others have their turn in the next tick.
                entry.blocks.put_aside(next);
                break;
            }
        }
        *reads += own_reads;
        entry.send_done(kinds);
        entry.flush_unchanged(kinds);
        self.guests.insert(guest, entry);
    }

    /// Queues cells that changed; false if they are not available now.
    fn send_part(
        &mut self,
        entry: &mut HostedGuest,
        world: &HostWorld<'_>,
        (block, region): (MipBlock, Region),
        reads: &mut u32,
    ) -> bool {
        if self.send_ground(entry, world, block) {
            return true;
        }
        *reads = reads.saturating_sub(reads_of(entry));
        let is_read = self.truth.read(world, block, &mut self.cells);
        if is_read {
            let kinds = world.grid.materials().kinds();
            let mut code = Vec::new();
            BitRle { kinds }.encode_box(&part_of(&self.cells, region), &mut code);
            entry.queue_cells(block, region, code, kinds);
        }
        is_read
    }

    /// Tells a guest to make a block, whatever it has of it, if it makes what the host would; false if
    /// it needs cells.
    fn send_ground(&self, entry: &mut HostedGuest, world: &HostWorld<'_>, block: MipBlock) -> bool {
        let makes_it = self.makes_block(entry, block);
        if makes_it {
            let kinds = world.grid.materials().kinds();
            entry.queue_family(Family::of_one(block, FamilyChild::Ground), kinds);
        }
        makes_it
    }

    /// Returns whether a guest makes a block and all below it as the host would.
    fn makes_block(&self, entry: &HostedGuest, block: MipBlock) -> bool {
        entry.makes_ground && !self.truth.is_edited(block)
    }

    /// Queues what a guest needs of a block of which it has cells, given their digest; false if its
    /// cells are not available now.
    fn send_known(
        &mut self,
        entry: &mut HostedGuest,
        world: &HostWorld<'_>,
        (block, known): (MipBlock, u64),
        reads: &mut u32,
    ) -> bool {
        if self.send_ground(entry, world, block) {
            return true;
        }
        let kinds = world.grid.materials().kinds();
        let mut gathering = FamilyDraft::over(block);
        let Some(encoded) = self.encoded(entry, world, block, &mut gathering, reads) else {
            return false;
        };
        match encoded.digest == known {
            true => entry.note_unchanged(block, kinds),
            false => {
                let family = Family::of_one(block, encoded.child.clone());
                entry.queue_family(family, kinds);
            }
        }
        true
    }

    /// Queues a block that a guest does not have, and others below the same one; false if its cells
    /// are not available now.
    fn send_family(
        &mut self,
        entry: &mut HostedGuest,
        world: &HostWorld<'_>,
        block: MipBlock,
        reads: &mut u32,
    ) -> bool {
        let mut gathering = FamilyDraft::over(block);
        if !self.gather(entry, world, block, &mut gathering, reads) {
            return false;
        }
        for other in block.parent().children() {
            if *reads == 0 || gathering.bytes >= FULL_FAMILY {
                break;
            }
            // One that is not available is tried again when it is its turn.
            if other != block
                && entry.blocks.was_never_sent(other)
                && self.is_at_hand(entry, world, NextBlock::Whole(other, None))
            {
                self.gather(entry, world, other, &mut gathering, reads);
            }
        }
        entry.queue_family(gathering.family, world.grid.materials().kinds());
        true
    }

    /// Adds a block to a message; false if its cells are not available now, or too many for it.
    fn gather(
        &mut self,
        entry: &HostedGuest,
        world: &HostWorld<'_>,
        block: MipBlock,
        gathering: &mut FamilyDraft,
        reads: &mut u32,
    ) -> bool {
        let child = if self.check_ground(entry, world, block, gathering, reads) {
            // So is all below it.
            entry.blocks.ground_over(block, &mut gathering.room)
        } else {
            let Some(encoded) = self.encoded(entry, world, block, gathering, reads) else {
                return false;
            };
            match &encoded.child {
                // Coarse air lies over nothing but air where coarse cells are computed from finer
                // ones.
                FamilyChild::Ground if !entry.makes_ground && world.is_known() => {
                    entry.blocks.ground_over(block, &mut gathering.room)
                }
                child => child.clone(),
            }
        };
        // A message of several blocks is far below the limit, one of a single block always fits.
        let is_first = gathering.bytes == 0;
        gathering.bytes += child.code_bytes();
        if !is_first && gathering.bytes > MOST_FAMILY {
            return false;
        }
        gathering.family.put(block, child);
        true
    }

    /// Checks whether a guest makes a block and all below it itself, as far as that shows without
    /// reading the block. May read its parent, which counts as one of `reads`.
    fn check_ground(
        &mut self,
        entry: &HostedGuest,
        world: &HostWorld<'_>,
        block: MipBlock,
        gathering: &mut FamilyDraft,
        reads: &mut u32,
    ) -> bool {
        if entry.makes_ground {
            return self.makes_block(entry, block);
        }
        let is_air = world.is_known()
            && self.encoded.get((block, false)).is_none()
            && self.read_coarser(world, block, gathering, reads)
            && is_air_in(&self.coarser, block.cells().coarser(1));
        if is_air {
            self.encoded.insert((block, false), EncodedBlock::air(world, block));
        }
        is_air
    }

    /// Reads the cells of the parent of the blocks of a message, once, and returns whether they are
    /// there: the coarsest blocks have no parent.
    fn read_coarser(
        &mut self,
        world: &HostWorld<'_>,
        block: MipBlock,
        gathering: &mut FamilyDraft,
        reads: &mut u32,
    ) -> bool {
        *gathering.has_coarser.get_or_insert_with(|| {
            let is_below = block.mip < self.options.max_mip;
            *reads = reads.saturating_sub(u32::from(is_below));
            is_below && self.truth.read(world, block.parent(), &mut self.coarser)
        })
    }

    /// What guests like this one are sent of a block; `None` if its cells are not available now.
    fn encoded(
        &mut self,
        entry: &HostedGuest,
        world: &HostWorld<'_>,
        block: MipBlock,
        gathering: &mut FamilyDraft,
        reads: &mut u32,
    ) -> Option<&EncodedBlock> {
        let key = (block, entry.makes_ground);
        if self.encoded.get(key).is_none() {
            if !self.truth.read(world, block, &mut self.cells) {
                return None;
            }
            *reads = reads.saturating_sub(reads_of(entry));
            // Guests that make the ground are sent little besides what was edited.
            let has_coarser =
                !entry.makes_ground && self.read_coarser(world, block, gathering, reads);
            let coarser = has_coarser.then_some(&self.coarser);
            let (cells, under) = (&mut self.cells, &mut self.under);
            let encoded = EncodedBlock::new(world, key, cells, coarser, under);
            self.encoded.insert(key, encoded);
        }
        self.encoded.get(key)
    }
}

/// Reads that a block counts as that is encoded for a guest.
fn reads_of(entry: &HostedGuest) -> u32 {
    if entry.makes_ground { 1 } else { READS_PER_REFINEMENT }
}

impl FamilyDraft {
    /// A message about the blocks beside one.
    fn over(block: MipBlock) -> FamilyDraft {
        let family = Family::new(block.parent());
        FamilyDraft { family, has_coarser: None, room: MAX_SENT - 8, bytes: 0 }
    }
}
