//! Options of a host.

use super::generator_id::GeneratorId;
use crate::edit::EditLimits;

/// Options of a [`Host`](super::Host).
#[derive(Clone, Debug, PartialEq)]
pub struct HostOptions {
    /// A number of this run of the host that no other has, such as a random one; 0 if there is none. A
    /// guest that comes back knows by it whether what was confirmed before the break is still there,
    /// and is told when it is [saved](super::GuestEvent::Saved).
    pub instance: u64,
    /// The coarsest mip that guests see: blocks of it are the roots of what they hold. At most 12,
    /// and at most 8 in a world where unlisted chunks are air.
    pub max_mip: u8,
    /// The generator of the ground. Guests that know it make the ground themselves.
    pub generator: Option<GeneratorId>,
    /// Maximum number of blocks that one guest may hold. Guests of [one
    /// person](super::Host::admit_as) may hold eight times as many together.
    pub max_blocks: usize,
    /// What one operation may cost, of a guest or of [`Host::edit`](super::Host::edit).
    pub edit_limits: EditLimits,
    /// Operations a second that a guest may send for long; twice as many at once. Guests of
    /// [one person](super::Host::admit_as) share them.
    pub edits_per_s: u32,
    /// Work of a guest's operations a second, in the units of
    /// [`EditCost::work`](crate::edit::EditCost::work), with that of making the chunks that they
    /// need; twice as much at once. Guests of [one person](super::Host::admit_as) share it.
    pub edit_work_per_s: u64,
    /// Work of the operations of all guests in a tick, in the same units; what is beyond it waits
    /// for later ticks. Next is always the person for whom least was done while others waited. One
    /// operation can exceed it.
    pub edit_work_per_tick: u64,
    /// Blocks that are read in a tick, of all guests together; others wait for the next tick. One
    /// for a guest that does not make the ground counts as four.
    pub max_reads_per_tick: u32,
    /// Bytes of undo history of each guest.
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
            edit_limits,
            edits_per_s: 30,
            edit_work_per_s: 200_000_000,
            edit_work_per_tick: 20_000_000,
            max_reads_per_tick: 64,
            history_bytes: 1 << 20,
        }
    }
}
