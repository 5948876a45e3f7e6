//! Guests of one account, which share a budget.

use super::accounts::{Account, tick_work};
use super::host::{Host, unavailable};
use super::message::ToHost;
use super::reasons::{Refusal, RefusalCode};
use super::truth::{HostWorld, Truth};
use crate::edit::EditOp;
use crate::voxel::{MipBlock, Region};
use rustc_hash::FxHashMap;

/// Up to this work, in the unit of [`EditCost::work`](crate::edit::EditCost::work), an upper bound
/// is charged instead of an estimate.
const ROUGH_WORK: u64 = 2_000_000;

/// Work that is charged for each chunk, or coarse block over one, that has to be made: that of one
/// through which the ground of [`World`](crate::generate::World) passes (`world_fill_ns_cell`).
pub(super) const WORK_PER_BLOCK: u64 = 700_000;

/// Work that is charged for the coarse cells over each chunk that may change.
const WORK_PER_RAISED_CHUNK: u64 = 100_000;

/// Work that is charged for the estimate of an operation that is refused: that of the largest
/// paths.
const ESTIMATE_WORK: u64 = 20_000_000;

/// Work that is charged for each cell that is undone.
const WORK_PER_UNDONE_CELL: u64 = 20;

/// Work of making what a change needs and is not there: chunks of `needed`, and coarse blocks over
/// the region that it may write; and of updating the coarse cells over that.
fn making_work(
    truth: &Truth,
    world: &HostWorld<'_>,
    needed: impl IntoIterator<Item = Region>,
    write: Region,
) -> u64 {
    let missing: u64 = needed.into_iter().map(|region| Truth::missing(world, region)).sum();
    let [made, raised] = truth.coarse_work(world, write);
    (missing + made) * WORK_PER_BLOCK + raised * WORK_PER_RAISED_CHUNK
}

impl Host {
    /// As [`Host::admit`], for an account that may have several guests, such as all connections of
    /// one token or one address: they share what [`HostOptions`](super::HostOptions) allow one
    /// guest of operations and work.
    pub fn admit_as(&mut self, guest: u64, world: &HostWorld<'_>, account: &str) {
        if let Some(entry) = self.guests.get_mut(&guest)
            && entry.token.is_some()
        {
            entry.account = Account::Named(account.into());
        }
        self.admit(guest, world);
    }

    /// Returns the number of an operation of a guest that asks for ground which is not at hand yet. Its
    /// account pays for that ground first, since the game may refuse the operation later.
    pub(super) fn waits_for_ground(
        &mut self,
        guest: u64,
        world: &HostWorld<'_>,
        message: &ToHost,
    ) -> Option<u64> {
        let entry = self.guests.get_mut(&guest)?;
        let (number, missing) = match message {
            ToHost::Edit { number, op } => {
                let reach = self.editor.reach(world.grid, op).ok()?;
                (*number, self.truth.ground_of_change(world, reach.regions(), reach.write))
            }
            ToHost::Undo { number, is_redo } => {
                let region = entry.history.next_region(*is_redo);
                (*number, self.truth.ground_of_change(world, [region], region))
            }
            _ => return None,
        };
        let budget = self.accounts.budget(&entry.account, &self.options);
        let work = missing.len() as u64 * WORK_PER_BLOCK;
        let can_pay = entry.prepaid_work > 0 || budget.has_work(work);
        if missing.is_empty() || !can_pay || (world.prefetch)(&missing) {
            return None;
        }
        if entry.prepaid_work == 0 {
            budget.owe_work(work);
            entry.prepaid_work = work;
        }
        Some(number)
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
        let budget = self.accounts.budget(&entry.account, &self.options);
        let reach = self.editor.reach(world.grid, op)?;
        let loading = making_work(&self.truth, world, reach.regions(), reach.write);
        budget.spend_work(loading.saturating_sub(entry.prepaid_work))?;
        self.left.work -= tick_work(loading);
        for region in reach.regions() {
            self.truth.load(world, region).map_err(unavailable)?;
        }
        let cost = self.editor.price(world.grid, op, ROUGH_WORK).inspect_err(|_| {
            budget.owe_work(ESTIMATE_WORK);
            self.left.work -= tick_work(ESTIMATE_WORK);
        })?;
        let paid = budget.spend_work(cost.work);
        // One that is refused has cost its estimate at most.
        self.left.work -=
            tick_work(if paid.is_ok() { cost.work } else { cost.work.min(ESTIMATE_WORK) });
        paid
    }

    /// Spends the work of undoing or redoing a stroke in a region, in voxels, with that of making
    /// the chunks that it needs. Returns why that is not possible: a debt. Any stroke may make one:
    /// one that is larger than the budget could never be undone.
    pub(super) fn pay_swap(
        &mut self,
        guest: u64,
        world: &HostWorld<'_>,
        region: Region,
    ) -> Result<(), Refusal> {
        let Some(entry) = self.guests.get(&guest) else { return Ok(()) };
        let budget = self.accounts.budget(&entry.account, &self.options);
        budget.spend_work(0)?;
        let making = making_work(&self.truth, world, [region], region);
        let work = making.saturating_add(region.volume().saturating_mul(WORK_PER_UNDONE_CELL));
        self.left.work -= tick_work(work);
        budget.owe_work(work.saturating_sub(entry.prepaid_work));
        Ok(())
    }

    /// Returns the guests in the order in which they are sent cells: one of each account, then
    /// another one of each, so that an account has its turn however many guests others have. Each
    /// time another account is first, and another one of its guests.
    pub(super) fn sending_order(&mut self) -> Vec<u64> {
        let mut place = FxHashMap::default();
        let mut accounts = Vec::<Vec<u64>>::new();
        for &guest in &self.order {
            let Some(entry) = self.guests.get(&guest) else { continue };
            let own = *place.entry(&entry.account).or_insert(accounts.len());
            if own == accounts.len() {
                accounts.push(Vec::new());
            }
            accounts[own].push(guest);
        }
        let count = accounts.len().max(1);
        self.sent_ticks = self.sent_ticks.wrapping_add(1);
        accounts.rotate_left(self.sent_ticks % count);
        for guests in &mut accounts {
            let first = self.sent_ticks / count % guests.len();
            guests.rotate_left(first);
        }
        let most = accounts.iter().map(Vec::len).max().unwrap_or(0);
        let round = |round: usize| accounts.iter().filter_map(move |guests| guests.get(round));
        (0..most).flat_map(round).copied().collect()
    }

    /// Sends blocks again that a guest asks for. Its account pays for each, whether it has to be
    /// read or not: that is known when it is sent.
    pub(super) fn refresh(&mut self, guest: u64, blocks: &[MipBlock]) {
        let Some(entry) = self.guests.get_mut(&guest) else { return };
        let budget = self.accounts.budget(&entry.account, &self.options);
        budget.owe_rereads(blocks.len() as u64);
        for &block in blocks {
            entry.blocks.refresh(block, self.options.max_mip);
        }
    }

    /// Makes sure that all chunks of a region, in voxels, are held, as [`Host::load`], on behalf of
    /// a guest, whose budget of work pays for those that are missing.
    ///
    /// # Errors
    /// Why not; nothing is then loaded, or a part. Of a guest that is gone, nothing is loaded:
    /// [`RefusalCode::TooMuchWork`].
    pub fn load_for(
        &mut self,
        world: &mut HostWorld<'_>,
        guest: u64,
        region: Region,
    ) -> Result<(), Refusal> {
        let loading = Truth::missing(world, region) * WORK_PER_BLOCK;
        if loading > 0 {
            let Some(entry) = self.guests.get(&guest) else {
                let reason = "the guest that is to pay for the chunks is gone";
                return Err(Refusal::new(RefusalCode::TooMuchWork, reason));
            };
            self.accounts.budget(&entry.account, &self.options).spend_work(loading)?;
        }
        self.truth.load(world, region).map_err(unavailable)
    }
}
