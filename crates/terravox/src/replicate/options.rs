//! Options of a host.

use super::generator_id::GeneratorId;
use crate::edit::EditLimits;

/// Options of a [`Host`](super::Host).
#[derive(Clone, Debug, PartialEq)]
pub struct HostOptions {
    /// A unique number of this run of the host, such as a random one; 0 if there is none. By it, a
    /// guest that reconnects knows whether its confirmed operations are still part of the world,
    /// and is told when they are [saved](super::GuestEvent::Saved).
    pub instance: u64,
    /// The coarsest mip that guests see: blocks of it are the roots of what they hold. At most 12,
    /// and at most 8 in a world where unlisted chunks are air. 8 by default.
    pub max_mip: u8,
    /// The generator of the ground. Guests that know it make the ground themselves.
    pub generator: Option<GeneratorId>,
    /// Maximum number of blocks that one guest may hold, 65,536 by default. Guests of [one
    /// account](super::Host::admit_as) may hold eight times as many together.
    pub max_blocks: usize,
    /// Maximum number of blocks of the coarsest mip that one guest may hold, 8,192 by default: the
    /// widest view of an [`Interest`](super::Interest) has some 5,200 of them. Raise it if guests
    /// have several viewers far from each other. Guests of [one account](super::Host::admit_as) may
    /// hold eight times as many together.
    pub max_roots: usize,
    /// What one operation may cost, of a guest or of [`Host::edit`](super::Host::edit).
    pub edit_limits: EditLimits,
    /// Operations per second that a guest may send on average, 30 by default; up to twice as many at
    /// once. Guests
    /// of [one account](super::Host::admit_as) share this budget.
    pub edits_per_s: u32,
    /// Work per second of a guest's operations, in the units of
    /// [`EditCost::work`](crate::edit::EditCost::work), including the work of making the chunks
    /// that they need; up to twice as much at once. Guests of [one account](super::Host::admit_as)
    /// share this budget.
    pub edit_work_per_s: u64,
    /// Work of the operations of all guests in a tick, in the same units; further operations wait
    /// for later ticks. The next one is always of the account that has received the least work
    /// while others waited. The last operation of a tick may exceed the limit.
    pub edit_work_per_tick: u64,
    /// Blocks that are read in a tick for all guests together; further blocks wait for the next
    /// tick. A block for a guest that does not make the ground itself counts as four.
    pub max_reads_per_tick: u32,
    /// Bytes of undo history of each guest, 1 MiB by default. With 0, guests cannot undo.
    pub history_bytes: usize,
}

impl Default for HostOptions {
    fn default() -> HostOptions {
        let edit_limits = EditLimits { max_cells: 1 << 21, max_chunks: 512, max_work: 200_000_000 };
        HostOptions {
            instance: 0,
            max_mip: 8,
            generator: None,
            max_blocks: 1 << 16,
            max_roots: 1 << 13,
            edit_limits,
            edits_per_s: 30,
            edit_work_per_s: 200_000_000,
            edit_work_per_tick: 20_000_000,
            max_reads_per_tick: 64,
            history_bytes: 1 << 20,
        }
    }
}
