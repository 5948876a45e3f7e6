//! The host: it has the world, decides about edits, and sends each guest what it wants to see.

use super::accounts::{Account, Accounts, LISTED_PER_TICK, TickBudget, Turn};
use super::body_table::BodyTable;
use super::encoded::EncodedBlocks;
use super::host_event::HostEvent;
use super::hosted::{HostedGuest, Request};
use super::message::{ToGuest, ToHost};
use super::options::HostOptions;
use super::pipe::EDITS;
use super::reasons::{LinkEnd, Refusal, RefusalCode};
use super::truth::{HostWorld, Truth, digest_of};
use super::world_info::{WorldInfo, check_generator};
use super::{LinkKind, PipeError, Verdict};
use crate::edit::{ChangedCells, EditError, EditOp, EditSummary, Editor, History};
use crate::voxel::{ChunkPos, DenseBox, MAX_FAR_MIP, MAX_MIP, MipBlock, Region, UnlistedChunks};
use rustc_hash::FxHashMap;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

/// Bytes of messages about edits that wait for a guest; beyond, it gets cells instead.
const EDIT_BACKLOG: usize = 64 << 10;

/// Operations of more bytes are sent as the cells that they changed.
const MAX_OP_BYTES: usize = 600;

/// Operations that read more cells, or touch more chunks, are sent as cells, too.
pub(super) const MAX_OP_CELLS: u64 = 1 << 21;
pub(super) const MAX_OP_CHUNKS: u64 = 512;

/// Maximum number of bytes that a guest may send before it is admitted: more than a token needs.
const MAX_GREETING: u64 = 4 << 10;

/// Ticks in which an operation, or the next block for a guest, waits for ground that was asked for, at
/// most: longer than ground that comes takes. Then the tick waits for it, in case it changes all the time.
pub(super) const MAX_WAITING_TICKS: u8 = 64;

/// Blocks that the ground is told of in a tick for each that is read: of a guest that is served now,
/// those of the next tick, and those of the guests that come first then.
const PREFETCHES_PER_READ: u32 = 4;

/// Maximum number of disconnected guests whose last packet is kept.
const MAX_LEAVING: usize = 1024;

/// The side that owns the world. It does no I/O: pass packets that arrived to [`Host::receive`],
/// send the packets that [`Host::transmit`] writes, and call [`Host::tick`], which does the work in
/// between. The [module](super) has an example.
pub struct Host {
    pub(super) options: HostOptions,
    pub(super) truth: Truth,
    pub(super) encoded: EncodedBlocks,
    pub(super) editor: Editor,
    pub(super) bodies: BodyTable,
    pub(super) guests: FxHashMap<u64, HostedGuest>,
    pub(super) accounts: Accounts,
    /// In the order in which they came.
    pub(super) order: Vec<u64>,
    next_guest: u64,
    /// What guests that are gone have added to [`Host::watched_state`].
    pub(super) gone_watched: u64,
    /// The last packet for each guest that is gone.
    leaving: VecDeque<(u64, Vec<u8>)>,
    /// Counts ticks in which guests were sent cells: not always the same one is first.
    pub(super) sent_ticks: usize,
    pub(super) events: VecDeque<HostEvent>,
    pub(super) cells: DenseBox,
    pub(super) coarser: DenseBox,
    pub(super) under: DenseBox,
    message: Vec<u8>,
    /// What guests may still do in this tick.
    pub(super) left: TickBudget,
}

impl Host {
    /// A host without guests.
    ///
    /// # Panics
    /// If the coarsest mip is above 12; if the name of the generator has more than 200 bytes, or
    /// its parameters more than 4,096.
    pub fn new(options: HostOptions) -> Host {
        let max_mip = options.max_mip;
        assert!(max_mip <= MAX_FAR_MIP, "HostOptions::max_mip is {max_mip}; at most 12");
        options.generator.iter().for_each(check_generator);
        Host {
            truth: Truth::new(max_mip),
            encoded: EncodedBlocks::default(),
            editor: Editor::new(options.edit_limits),
            options,
            bodies: BodyTable::default(),
            guests: FxHashMap::default(),
            accounts: Accounts::default(),
            order: Vec::new(),
            next_guest: 1,
            gone_watched: 0,
            leaving: VecDeque::new(),
            sent_ticks: 0,
            events: VecDeque::new(),
            cells: DenseBox::default(),
            coarser: DenseBox::default(),
            under: DenseBox::default(),
            message: Vec::new(),
            left: TickBudget::default(),
        }
    }

    /// Notes that chunks differ from what the generator makes. Call it with the chunks of a saved
    /// world before the first guest connects. Not needed in a world without a generator.
    pub fn mark_edited(&mut self, chunks: impl IntoIterator<Item = ChunkPos>) {
        chunks.into_iter().for_each(|chunk| self.truth.mark_edited(chunk));
    }

    /// Adds a guest, which has to say hello first, and returns its number. A host never times a
    /// guest out: call [`Host::disconnect`] for one that is gone or does not say hello.
    pub fn connect(&mut self, link: LinkKind) -> u64 {
        let guest = self.next_guest;
        self.next_guest += 1;
        let entry = HostedGuest::new(link, Account::Guest(guest), &self.options);
        self.guests.insert(guest, entry);
        self.order.push(guest);
        guest
    }

    /// Takes a packet that arrived from a guest. Packets of guests that are gone are ignored.
    ///
    /// # Errors
    /// [`PipeError`] if the guest breaks the protocol: it is then disconnected, and
    /// [`HostEvent::Left`] says why. A message that is invalid ends the connection in
    /// [`Host::tick`].
    pub fn receive(&mut self, guest: u64, packet: &[u8], now_us: u64) -> Result<(), PipeError> {
        let Some(entry) = self.guests.get_mut(&guest) else { return Ok(()) };
        let mut taken = entry.pipe.arrive(packet, now_us);
        if !entry.is_admitted && entry.pipe.unread() > MAX_GREETING {
            taken = Err(PipeError::Flooded);
        }
        let has_left = entry.pipe.closed().is_some();
        if let Err(error) = &taken {
            self.end_link(guest, (*error).into());
        } else if has_left {
            // Not the guest's own text, with which it could tell others anything.
            self.end_link(guest, LinkEnd::by_game(0, "the guest left"));
        }
        taken
    }

    /// Admits a guest that is [joining](HostEvent::Joining); otherwise does nothing.
    pub fn admit(&mut self, guest: u64, world: &HostWorld<'_>) {
        let info = WorldInfo {
            author: guest,
            max_mip: self.options.max_mip,
            voxel_size_m: world.placement.voxel_size_m,
            origin_m: world.placement.origin_m,
            generator: self.options.generator.clone(),
            materials: world.grid.materials().clone(),
        };
        if let Some(entry) = self.guests.get_mut(&guest)
            && entry.token.take().is_some()
        {
            entry.is_admitted = true;
            let (instance, info) = (self.options.instance, Box::new(info));
            let welcome = ToGuest::Welcome { instance, info };
            entry.send(EDITS, &welcome, world.grid.materials().kinds());
        }
    }

    /// Disconnects a guest. [`Host::transmit`] writes one more packet for it, which tells it the
    /// reason: a text, or [one with a number](LinkEnd::by_game).
    pub fn disconnect(&mut self, guest: u64, end: impl Into<LinkEnd>) {
        self.end_link(guest, end.into());
    }

    fn end_link(&mut self, guest: u64, end: LinkEnd) {
        if let Some(entry) = self.guests.remove(&guest) {
            if let Some(number) = entry.avatar {
                self.bodies.remove(number);
            }
            self.gone_watched += entry.blocks.roots_state() + 1;
            let budget = self.accounts.budget(&entry.account, &self.options);
            budget.blocks -= entry.blocks.len();
            budget.roots -= entry.blocks.root_count();
            self.order.retain(|&other| other != guest);
            if self.leaving.len() == MAX_LEAVING {
                self.leaving.pop_front();
            }
            self.leaving.push_back((guest, entry.pipe.closing_packet(&end)));
            let LinkEnd { code, reason } = end;
            self.events.push_back(HostEvent::Left { guest, code, reason });
        }
    }

    /// Returns what happened since the last call, oldest first. Call it after each [`Host::tick`]:
    /// events are kept until then.
    pub fn events(&mut self) -> impl Iterator<Item = HostEvent> + use<> {
        std::mem::take(&mut self.events).into_iter()
    }

    /// The guests, in the order in which they came.
    pub fn guests(&self) -> &[u64] {
        &self.order
    }

    /// Returns the bytes of memory that a guest takes; 0 if it is gone.
    pub fn guest_memory(&self, guest: u64) -> usize {
        self.guests.get(&guest).map_or(0, HostedGuest::memory)
    }

    /// Returns the bytes of memory that the host takes, without the grid and the guests.
    pub fn memory(&self) -> usize {
        self.truth.memory() + self.encoded.memory() + self.bodies.memory()
    }

    /// Writes the next packet for a guest to `out`. Returns false if there is nothing to send to it
    /// now.
    pub fn transmit(&mut self, guest: u64, now_us: u64, out: &mut Vec<u8>) -> bool {
        out.clear();
        if let Some(entry) = self.guests.get_mut(&guest) {
            return entry.pipe.transmit(now_us, out);
        }
        let Some(at) = self.leaving.iter().position(|entry| entry.0 == guest) else { return false };
        self.leaving.remove(at).is_some_and(|(_, packet)| {
            *out = packet;
            true
        })
    }

    /// Handles the requests of guests, and queues what is to be sent to them. Its time is
    /// proportional to the number of edits and to what the links can carry, within the limits of
    /// [`HostOptions`].
    ///
    /// # Panics
    /// If [`HostOptions::max_mip`] is above 8 and unlisted chunks of the grid are air.
    pub fn tick(&mut self, world: &mut HostWorld<'_>, now_us: u64) {
        let most = if world.grid.unlisted() == UnlistedChunks::Air { MAX_MIP } else { MAX_FAR_MIP };
        assert!(self.options.max_mip <= most, "the coarsest mip of this world is {most}");
        self.truth.trim(world.grid);
        self.trim_coarse(world);
        if let Some(chunk) = self.truth.raise_again(world, now_us) {
            self.mark_changed(chunk.region());
        }
        self.accounts.pass(now_us);
        self.serve_all(world);
        self.follow_avatars();
        let order = self.sending_order();
        let mut reads = self.options.max_reads_per_tick;
        let mut prefetches = reads.saturating_mul(PREFETCHES_PER_READ);
        for guest in order {
            self.send_bodies(guest, world.grid.materials().kinds(), now_us);
            self.prefetch_cells(guest, world, &mut prefetches);
            self.send_cells(guest, world, &mut reads);
        }
    }

    /// Tells all guests of a change that the game made to the grid itself, in voxels. Without it,
    /// guests who are here keep the old cells, and guests who come later may get them. Chunks that
    /// are not held count as unchanged.
    pub fn changed(&mut self, world: &HostWorld<'_>, region: Region) {
        let parts = self.truth.follow(world, region);
        parts.into_iter().for_each(|part| self.mark_changed(part));
    }

    /// Sends the cells of a region, in voxels, to all guests again, at every mip.
    pub(super) fn mark_changed(&mut self, region: Region) {
        self.encoded.forget(region, self.options.max_mip);
        for entry in self.guests.values_mut() {
            entry.blocks.mark(region, self.options.max_mip);
        }
    }

    /// Makes sure that all chunks of a region, in voxels, are held at mip 0, for a change by the
    /// game itself. In a world that grows, chunks that were loaded and not changed are evicted once
    /// thousands of others were loaded.
    ///
    /// # Errors
    /// The first chunk that is not available now.
    pub fn load(&mut self, world: &mut HostWorld<'_>, region: Region) -> Result<(), ChunkPos> {
        self.truth.load(world, region)
    }

    /// Applies an operation of the game itself, in voxels, and tells all guests.
    /// [`HostOptions::edit_limits`] apply to it, too. [`HostEvent::Edited`] reports it with guest
    /// 0.
    ///
    /// # Errors
    /// Why it was refused; nothing is then changed.
    pub fn edit(&mut self, world: &mut HostWorld<'_>, op: &EditOp) -> Result<EditSummary, Refusal> {
        self.edit_part(world, op, None)
    }

    /// [`Host::edit`], or the part within a region.
    pub(super) fn edit_part(
        &mut self,
        world: &mut HostWorld<'_>,
        op: &EditOp,
        within: Option<Region>,
    ) -> Result<EditSummary, Refusal> {
        let mut history = History::new(0);
        let applied = self.apply(world, op, within, Some(&mut history))?;
        self.announce(world, Author { guest: 0, has_op: false }, op, &applied);
        let before = history.take_last_change();
        self.events.push_back(edited(0, op.clone(), within, &applied.summary, before));
        Ok(applied.summary)
    }

    /// Fills `out` with the cells of a block as guests see it; false if they are not available now.
    pub fn read(&self, world: &HostWorld<'_>, block: MipBlock, out: &mut DenseBox) -> bool {
        self.truth.read(world, block, out)
    }

    /// Handles what guests sent, one request at a time: next is always the account for which least
    /// was done. Operations that the work of a tick does not suffice for wait for the next.
    fn serve_all(&mut self, world: &mut HostWorld<'_>) {
        let work = i64::try_from(self.options.edit_work_per_tick).unwrap_or(i64::MAX);
        self.left = TickBudget { work, listed: LISTED_PER_TICK };
        let waiting = self.order.iter().enumerate();
        let mut queue: BinaryHeap<_> = waiting
            .filter_map(|(at, &guest)| Some(Reverse((self.turn_of(guest)?, at, guest))))
            .collect();
        while let Some(Reverse((known, at, guest))) = queue.pop() {
            let Some(now) = self.turn_of(guest) else { continue };
            // Another guest of the same account was served.
            if now > known {
                queue.push(Reverse((now, at, guest)));
                continue;
            }
            match self.serve(guest, world) {
                Ok(true) => queue.push(Reverse((self.turn_of(guest).unwrap_or(now), at, guest))),
                Ok(false) => {}
                Err(end) => self.end_link(guest, end),
            }
        }
        if self.left.work > 0 {
            self.accounts.note_all_served();
        }
    }

    fn turn_of(&self, guest: u64) -> Option<Turn> {
        self.guests.get(&guest).map(|entry| self.accounts.turn(&entry.account))
    }

    /// Handles a request of a guest. Returns whether there may be more in this tick; an error ends the
    /// connection.
    fn serve(&mut self, guest: u64, world: &mut HostWorld<'_>) -> Result<bool, LinkEnd> {
        let Some(entry) = self.guests.get_mut(&guest) else { return Ok(false) };
        let (account, before) = (entry.account.clone(), self.left.work);
        let budget = self.accounts.budget(&account, &self.options);
        let kinds = world.grid.materials().kinds();
        let (request, ticks) = match entry.take_held() {
            Some((message, ticks)) => (Some(Request::Message(message)), ticks),
            None => (entry.request(kinds, budget, &self.options, &mut self.left)?, 0),
        };
        match request {
            None => return Ok(false),
            Some(Request::Message(message))
                if ticks < MAX_WAITING_TICKS
                    && let Some(number) = self.waits_for_ground(guest, world, &message) =>
            {
                // Those after it wait with it.
                self.guests.entry(guest).and_modify(|entry| entry.hold(number, message, ticks + 1));
                return Ok(false);
            }
            Some(Request::Joining(token)) => {
                self.events.push_back(HostEvent::Joining { guest, token });
            }
            Some(Request::Refused { number, refusal }) => {
                self.refuse(guest, world, number, refusal);
            }
            Some(Request::Message(ToHost::Edit { number, op })) => {
                self.guest_edit(guest, world, number, &op);
            }
            Some(Request::Message(ToHost::Undo { number, is_redo })) => {
                self.guest_undo(guest, world, number, is_redo);
            }
            Some(Request::Message(ToHost::Refresh(blocks))) => self.refresh(guest, &blocks),
            Some(Request::Message(ToHost::Game(bytes))) => {
                self.events.push_back(HostEvent::Message { guest, bytes });
            }
            Some(Request::Message(_)) => {}
        }
        self.guests.entry(guest).and_modify(|entry| entry.prepaid_work = 0);
        let work = (before - self.left.work).max(0).unsigned_abs();
        if work > 0 {
            self.accounts.note_served(&account, work, &self.options);
        }
        Ok(true)
    }

    fn refuse(&mut self, guest: u64, world: &HostWorld<'_>, number: u64, refusal: Refusal) {
        if let Some(entry) = self.guests.get_mut(&guest) {
            let refused = ToGuest::Refuse { number, refusal };
            entry.send(EDITS, &refused, world.grid.materials().kinds());
        }
    }

    fn guest_edit(&mut self, guest: u64, world: &mut HostWorld<'_>, number: u64, op: &EditOp) {
        // The game is asked only about what is valid.
        if let Err(error) = self.editor.reach(world.grid, op) {
            return self.refuse(guest, world, number, error.into());
        }
        let (op, is_changed, within) = match (world.decide)(guest, op) {
            Verdict::Accept => (op.clone(), false, None),
            Verdict::Replace(other) => (*other, true, None),
            Verdict::Part(other, within) => (*other, true, Some(within)),
            Verdict::Refuse(refusal) => return self.refuse(guest, world, number, refusal),
        };
        let mut history = self.guests.get_mut(&guest).map(|entry| entry.take_history());
        let paid = self.pay(guest, world, &op);
        let applied = paid.and_then(|()| self.apply(world, &op, within, history.as_mut()));
        let before = history.as_mut().map(History::take_last_change).unwrap_or_default();
        if let (Some(entry), Some(history)) = (self.guests.get_mut(&guest), history) {
            entry.history = history;
        }
        match applied {
            Err(refusal) => self.refuse(guest, world, number, refusal),
            Ok(applied) => {
                let author = Author { guest, has_op: !is_changed };
                self.announce(world, author, &op, &applied);
                let (kinds, region) = (*world.grid.materials().kinds(), applied.summary.region);
                if let Some(entry) = self.guests.get_mut(&guest) {
                    entry.finish_edit(number, !region.is_empty(), &kinds);
                }
                self.events.push_back(edited(guest, op, within, &applied.summary, before));
            }
        }
    }

    fn guest_undo(&mut self, guest: u64, world: &mut HostWorld<'_>, number: u64, is_redo: bool) {
        let Some(entry) = self.guests.get_mut(&guest) else { return };
        let mut history = entry.take_history();
        let paid = self.pay_swap(guest, world, history.next_region(is_redo));
        let swapped = paid.and_then(|()| self.swap(world, &mut history, is_redo));
        let before = history.take_last_change();
        let [removed, added] = history.take_last_volumes();
        if let Some(entry) = self.guests.get_mut(&guest) {
            entry.history = history;
        }
        match swapped {
            Err(refusal) => self.refuse(guest, world, number, refusal),
            Ok(None) => {
                let what = if is_redo { "redo" } else { "undo" };
                let reason = format!("there is nothing to {what}");
                let refusal = Refusal::new(RefusalCode::NothingToUndo, reason);
                self.refuse(guest, world, number, refusal);
            }
            Ok(Some(region)) => {
                self.changed(world, region);
                let (op, within) = (None, None);
                let edited =
                    HostEvent::Edited { guest, op, region, within, removed, added, before };
                self.events.push_back(edited);
                let kinds = *world.grid.materials().kinds();
                if let Some(entry) = self.guests.get_mut(&guest) {
                    entry.finish_edit(number, !region.is_empty(), &kinds);
                }
            }
        }
    }

    /// Undoes or redoes a stroke; chunks that it needs are loaded.
    fn swap(
        &mut self,
        world: &mut HostWorld<'_>,
        history: &mut History,
        is_redo: bool,
    ) -> Result<Option<Region>, Refusal> {
        loop {
            let swapped = match is_redo {
                false => history.undo(world.grid),
                true => history.redo(world.grid),
            };
            match swapped {
                // Each chunk once: it is then held, at least until the next tick.
                Err(EditError::NotHeld(missing)) => {
                    self.truth.load(world, missing.chunk.region()).map_err(unavailable)?;
                }
                swapped => return Ok(swapped?),
            }
        }
    }

    /// Applies an operation, or the part of it within a region.
    fn apply(
        &mut self,
        world: &mut HostWorld<'_>,
        op: &EditOp,
        within: Option<Region>,
        history: Option<&mut History>,
    ) -> Result<AppliedOp, Refusal> {
        let reach = self.editor.reach(world.grid, op)?;
        for region in reach.regions() {
            self.truth.load(world, region).map_err(unavailable)?;
        }
        let summary = match within {
            None => self.editor.apply(world.grid, op, history)?,
            Some(within) => self.editor.apply_within(world.grid, op, within, history)?,
        };
        self.encoded.forget(summary.region, self.options.max_mip);
        self.truth.follow(world, summary.region);
        Ok(AppliedOp { summary, read: reach.read, is_whole: within.is_none() })
    }

    /// Tells all guests of an operation: guests that hold all that it read get the operation, all
    /// others the cells.
    fn announce(
        &mut self,
        world: &HostWorld<'_>,
        author: Author,
        op: &EditOp,
        applied: &AppliedOp,
    ) {
        let (region, read) = (applied.summary.region, applied.read);
        if region.is_empty() {
            return;
        }
        // Not if it was applied in part: guests would apply all of it.
        let digest =
            applied.is_whole.then(|| self.encode_op(world, author.guest, op, region, read));
        let digest = digest.flatten();
        for guest in &self.order {
            let Some(entry) = self.guests.get_mut(guest) else { continue };
            let keeps_up = entry.pipe.backlog(EDITS) <= EDIT_BACKLOG;
            let digest = digest.filter(|_| {
                keeps_up && read.blocks::<5>().all(|chunk| entry.has_current(chunk.into()))
            });
            entry.confirmed = None;
            match digest {
                None => entry.blocks.mark(region, self.options.max_mip),
                Some(_) if *guest == author.guest && author.has_op => entry.confirmed = digest,
                Some(_) => entry.send_bytes(EDITS, &self.message),
            }
        }
    }

    /// Makes `message` what guests are sent of an operation that changed a region, and returns the
    /// digest of that; `None` if it is better sent as cells.
    fn encode_op(
        &mut self,
        world: &HostWorld<'_>,
        author: u64,
        op: &EditOp,
        region: Region,
        read: Region,
    ) -> Option<u32> {
        let is_small = matches!(op, EditOp::Brush(_))
            && read.volume() <= MAX_OP_CELLS
            && read.coarser(5).volume() <= MAX_OP_CHUNKS;
        if !is_small {
            return None;
        }
        let digest = digest_of(world.grid, region, &mut self.cells);
        self.message.clear();
        let message = ToGuest::Op { author, op: op.clone(), digest };
        message.encode(world.grid.materials().kinds(), &mut self.message);
        (self.message.len() <= MAX_OP_BYTES).then_some(digest)
    }
}

pub(super) fn unavailable(chunk: ChunkPos) -> Refusal {
    let reason = format!("chunk {chunk} is not available now; try again");
    Refusal::new(RefusalCode::NotAvailable, reason)
}

/// What came of an operation.
struct AppliedOp {
    summary: EditSummary,
    /// The region that it read.
    read: Region,
    /// Whether all of it was applied, not a part.
    is_whole: bool,
}

/// Returns the event of an operation that was applied.
fn edited(
    guest: u64,
    op: EditOp,
    within: Option<Region>,
    summary: &EditSummary,
    before: ChangedCells,
) -> HostEvent {
    let EditSummary { region, removed, added } = summary.clone();
    HostEvent::Edited { guest, op: Some(Box::new(op)), region, within, removed, added, before }
}

/// Who made an operation.
#[derive(Clone, Copy)]
struct Author {
    /// A guest, or 0: the game.
    guest: u64,
    /// Whether the guest has the operation as it was applied.
    has_op: bool,
}
