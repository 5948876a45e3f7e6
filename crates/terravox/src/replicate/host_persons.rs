//! Guests of one person, which share a budget.

use super::host::{Host, unavailable};
use super::persons::Person;
use super::reasons::Refusal;
use super::truth::{HostWorld, Truth};
use crate::edit::EditOp;
use crate::voxel::Region;

/// Up to this work, in the unit of [`EditCost::work`](crate::edit::EditCost::work), an upper bound
/// is charged instead of an estimate.
const ROUGH_WORK: u64 = 2_000_000;

/// Work that is charged for each missing chunk.
const WORK_PER_CHUNK: u64 = 300_000;

/// Work that is charged for the estimate of an operation that is refused: that of the largest
/// paths.
const ESTIMATE_WORK: u64 = 20_000_000;

impl Host {
    /// As [`Host::admit`], of a person who may have several guests, such as all connections of one
    /// token or one address: they share what [`HostOptions`](super::HostOptions) allow one guest of
    /// operations and work.
    pub fn admit_as(&mut self, guest: u64, world: &HostWorld<'_>, person: &str) {
        if let Some(entry) = self.guests.get_mut(&guest) {
            entry.person = Person::Named(person.into());
        }
        self.admit(guest, world);
    }

    /// Spends the work of an operation, with that of making the chunks that it needs, which are
    /// then there. Returns why that is not possible.
    pub(super) fn pay(
        &mut self,
        guest: u64,
        world: &mut HostWorld<'_>,
        op: &EditOp,
    ) -> Result<(), Refusal> {
        let Some(entry) = self.guests.get(&guest) else { return Ok(()) };
        let budget = self.persons.budget(&entry.person, &self.options);
        let reach = self.editor.reach(world.grid, op)?;
        let missing: u64 = reach.regions().map(|region| Truth::missing(world, region)).sum();
        let loading = missing * WORK_PER_CHUNK;
        budget.spend_work(loading)?;
        for region in reach.regions() {
            self.truth.load(world, region).map_err(unavailable)?;
        }
        let cost = self.editor.price(world.grid, op, ROUGH_WORK);
        let cost = cost.inspect_err(|_| budget.owe_work(ESTIMATE_WORK))?;
        self.work_left = self.work_left.saturating_sub(loading.saturating_add(cost.work));
        budget.spend_work(cost.work)
    }

    /// Makes sure that all chunks of a region, in voxels, are held, as [`Host::load`], on behalf of
    /// a guest, whose budget of work pays for those that are missing.
    ///
    /// # Errors
    /// Why not; nothing is then loaded, or a part.
    pub fn load_for(
        &mut self,
        world: &mut HostWorld<'_>,
        guest: u64,
        region: Region,
    ) -> Result<(), Refusal> {
        let loading = Truth::missing(world, region) * WORK_PER_CHUNK;
        if loading > 0
            && let Some(entry) = self.guests.get(&guest)
        {
            self.persons.budget(&entry.person, &self.options).spend_work(loading)?;
        }
        self.truth.load(world, region).map_err(unavailable)
    }
}
