//! A guest, as its host sees it: its requests, and what is still to be sent to it.

use super::LinkKind;
use super::accounts::{Account, AccountBudget, TickBudget, tick_work};
use super::body_budget::BodyBudget;
use super::body_table::Avatar;
use super::family::Family;
use super::message::{PROTOCOL_VERSION, ToGuest, ToHost};
use super::options::HostOptions;
use super::pipe::{BULK, EDITS, Pipe};
use super::reasons::{LinkEnd, LinkEndCode, Refusal, RefusalCode};
use super::seen_bodies::SeenBodies;
use super::subscription::Subscriptions;
use crate::edit::History;
use crate::voxel::{Kind, MipBlock, Region};
use std::collections::VecDeque;

/// Guests of one account hold at most this many times what one may: enough for a class with one
/// token or a household behind one address; it bounds connections that only look.
const GUESTS_OF_ACCOUNT: usize = 8;

/// Messages of a guest that are handled in a tick: others get their turn.
const MESSAGES_PER_TICK: u32 = 256;

/// Blocks in one list.
const MAX_LIST: usize = 256;

/// While more bytes of messages about edits wait for a guest, its messages are not read.
const MAX_OWED: usize = 128 << 10;

/// While more bytes of cells were not sent yet, its messages are not read: each may add to them.
/// One body beside the cells is within it.
const MAX_UNSENT: u64 = 128 << 10;

/// While the cells of more operations are still to be sent, its messages are not read: an honest guest
/// has fewer on their way.
const MAX_DONE: usize = 1024;

/// One guest.
pub(super) struct HostedGuest {
    pub pipe: Pipe,
    /// The token that it presented, until it is admitted.
    pub token: Option<Vec<u8>>,
    pub is_admitted: bool,
    has_hello: bool,
    /// Whether it makes unedited ground itself; it is sent no cells before this is known.
    pub makes_ground: bool,
    pub has_started: bool,
    pub blocks: Subscriptions,
    pub seen_bodies: SeenBodies,
    pub body_budget: BodyBudget,
    /// Its avatar, if that changed since it was last shown: `Some(None)` if it has none any more.
    /// And the number of that body.
    pub new_avatar: Option<Option<Avatar>>,
    pub avatar: Option<u64>,
    /// Its undo history.
    pub history: History,
    /// Messages sent in the stream of edits.
    pub edits_sent: u64,
    /// Digest after the guest's own operation, if it can apply that itself.
    pub confirmed: Option<u32>,
    /// Operations whose cells are still to be sent.
    done: VecDeque<AppliedEdit>,
    /// The newest operation that was taken, and up to which the guest knows that they are saved.
    last_number: u64,
    pub saved_number: u64,
    /// The operation that was taken last, while it waits for ground.
    held: Option<HeldOperation>,
    /// Work that it has paid for that ground.
    pub prepaid_work: u64,
    /// Ticks in which the next block for it waited for ground.
    pub unread_ticks: u8,
    /// The account whose budget it spends.
    pub account: Account,
    messages: u32,
    /// Blocks that were found to be as the guest has them.
    unchanged: Vec<MipBlock>,
}

/// An operation that was applied, of which the guest is to be told.
struct AppliedEdit {
    number: u64,
    has_changed: bool,
    /// Its cells are sent in this round.
    round: u64,
}

/// An operation that waits for ground.
struct HeldOperation {
    number: u64,
    message: ToHost,
    /// Ticks in which it waited.
    ticks: u8,
}

/// What is left to do of a message.
pub(super) enum Request {
    Joining(Vec<u8>),
    Refused { number: u64, refusal: Refusal },
    Message(ToHost),
}

impl HostedGuest {
    pub fn new(link: LinkKind, account: Account, options: &HostOptions) -> HostedGuest {
        HostedGuest {
            pipe: Pipe::new(link),
            token: None,
            is_admitted: false,
            has_hello: false,
            makes_ground: false,
            has_started: false,
            blocks: Subscriptions::default(),
            seen_bodies: SeenBodies::default(),
            body_budget: BodyBudget::default(),
            new_avatar: None,
            avatar: None,
            history: History::new(options.history_bytes),
            edits_sent: 0,
            confirmed: None,
            done: VecDeque::new(),
            last_number: 0,
            saved_number: 0,
            held: None,
            prepaid_work: 0,
            unread_ticks: 0,
            account,
            messages: 0,
            unchanged: Vec::new(),
        }
    }

    /// Bytes of memory.
    pub fn memory(&self) -> usize {
        self.pipe.memory()
            + self.blocks.memory()
            + self.seen_bodies.memory()
            + self.history.stats().bytes
            + self.unchanged.capacity() * size_of::<MipBlock>()
            + size_of::<HostedGuest>()
    }

    pub fn take_history(&mut self) -> History {
        std::mem::replace(&mut self.history, History::new(0))
    }

    pub fn send(&mut self, stream: usize, message: &ToGuest, kinds: &[Kind; 256]) {
        let mut bytes = Vec::new();
        message.encode(kinds, &mut bytes);
        self.send_bytes(stream, &bytes);
    }

    pub fn send_bytes(&mut self, stream: usize, bytes: &[u8]) {
        self.pipe.send(stream, bytes);
        self.edits_sent += u64::from(stream == EDITS);
    }

    /// Whether the guest has exactly the host's cells of a block, and has taken them in: cells that it
    /// takes after an operation would undo that.
    pub fn has_current(&self, block: MipBlock) -> bool {
        self.blocks.is_current(block, self.pipe.read_by_peer(BULK))
    }

    /// The newest operation that was handled: those up to it were applied or refused.
    pub fn handled_number(&self) -> u64 {
        self.held.as_ref().map_or(self.last_number, |held| held.number - 1)
    }

    /// Holds an operation that was taken until the ground that it needs is at hand.
    pub fn hold(&mut self, number: u64, message: ToHost, ticks: u8) {
        self.messages = 0;
        self.held = Some(HeldOperation { number, message, ticks });
    }

    /// Takes the operation that is held, with the ticks in which it waited.
    pub fn take_held(&mut self) -> Option<(ToHost, u8)> {
        self.held.take().map(|held| (held.message, held.ticks))
    }

    /// Handles messages until one needs the world; `None` if there are no more for now. Decoding
    /// operations spends `left.work`; once that is gone, messages in the stream of operations wait.
    /// Blocks that requests list spend `left.listed`; once that is gone, or while the account owes
    /// blocks that it listed or that were read again, requests wait.
    /// An error ends the connection.
    pub fn request(
        &mut self,
        kinds: &[Kind; 256],
        budget: &mut AccountBudget,
        options: &HostOptions,
        left: &mut TickBudget,
    ) -> Result<Option<Request>, LinkEnd> {
        while self.messages < MESSAGES_PER_TICK {
            let (may_edit, may_ask) = (left.work > 0, left.listed > 0 && budget.may_ask());
            let Some((stream, bytes)) = self.next_message(may_edit, may_ask)? else { break };
            self.messages += 1;
            // Each stream has limits of its own.
            if (stream == BULK) != ToHost::is_about_blocks(&bytes) {
                return Err(LinkEnd::protocol("a message came in the wrong stream"));
            }
            if !self.has_started && !ToHost::is_greeting(&bytes) {
                // Not decoded: that may take work, and no account is known yet that pays for it.
                return Err(self.too_early());
            }
            if let Some((number, work)) = ToHost::operation(&bytes)? {
                // Before it is decoded, which takes time.
                self.check_number(number)?;
                let is_paid = match budget.spend_operation() {
                    true => budget.spend_work(work),
                    false => Err(Refusal::new(RefusalCode::TooMany, "too many operations")),
                };
                if let Err(refusal) = is_paid {
                    return Ok(Some(Request::Refused { number, refusal }));
                }
                left.work -= tick_work(work);
            }
            if let Some(blocks) = ToHost::listed_blocks(&bytes)? {
                budget.owe_listed(blocks);
                left.listed = left.listed.saturating_sub(blocks);
            }
            let message = ToHost::decode(&bytes, kinds)?;
            if let Some(request) = self.take(message, budget, options)? {
                return Ok(Some(request));
            }
        }
        self.messages = 0;
        Ok(None)
    }

    /// Why a message ends the connection that came before its time.
    fn too_early(&self) -> LinkEnd {
        LinkEnd::protocol(match self.is_admitted {
            true => "a message before the start",
            false => "a message before the welcome",
        })
    }

    fn check_number(&mut self, number: u64) -> Result<(), LinkEnd> {
        if number <= self.last_number {
            return Err(LinkEnd::protocol(format_args!("operation {number} was sent before")));
        }
        self.last_number = number;
        Ok(())
    }

    /// Takes the next message, if the guest reads what it is sent.
    fn next_message(
        &mut self,
        may_edit: bool,
        may_ask: bool,
    ) -> Result<Option<(usize, Vec<u8>)>, LinkEnd> {
        if self.pipe.backlog(EDITS) > MAX_OWED
            || self.pipe.unsent(BULK) > MAX_UNSENT
            || self.done.len() > MAX_DONE
        {
            return Ok(None);
        }
        // What is wanted is known only after the start, before which there are no operations.
        let is_read = [!self.has_started || may_edit, self.has_started && may_ask];
        for stream in [EDITS, BULK].into_iter().filter(|&stream| is_read[stream]) {
            if let Some(bytes) = self.pipe.receive(stream)? {
                return Ok(Some((stream, bytes)));
            }
        }
        Ok(None)
    }

    fn take(
        &mut self,
        message: ToHost,
        budget: &mut AccountBudget,
        options: &HostOptions,
    ) -> Result<Option<Request>, LinkEnd> {
        match message {
            ToHost::Hello { version, token } if !self.has_hello => {
                check_version(version)?;
                self.has_hello = true;
                self.token = Some(token.clone());
                return Ok(Some(Request::Joining(token)));
            }
            _ if !self.is_admitted => return Err(self.too_early()),
            ToHost::Start { makes_ground, last_number } if !self.has_started => {
                self.has_started = true;
                // All that it was told of came before this, and is part of the next save.
                self.last_number = last_number;
                self.makes_ground = makes_ground && options.generator.is_some();
            }
            ToHost::Hello { .. } | ToHost::Start { .. } => {
                return Err(LinkEnd::protocol("a greeting came twice"));
            }
            ToHost::Subscribe(blocks) => self.subscribe(blocks, budget, options)?,
            ToHost::Unsubscribe(blocks) => {
                let before = [self.blocks.len(), self.blocks.root_count()];
                blocks.into_iter().for_each(|block| self.blocks.remove(block, options.max_mip));
                budget.blocks -= before[0] - self.blocks.len();
                budget.roots -= before[1] - self.blocks.root_count();
            }
            ToHost::Avatar { pose, bytes } => {
                self.new_avatar = Some(Some(Avatar { pose, bytes }));
            }
            ToHost::NoAvatar => self.new_avatar = Some(None),
            // In the order in which they came: a message may say what the next edit means.
            ToHost::Edit { .. } | ToHost::Undo { .. } | ToHost::Refresh(_) | ToHost::Game(_) => {
                return Ok(Some(Request::Message(message)));
            }
        }
        Ok(None)
    }

    /// Adds blocks to those that are wanted, within what the guest and its account may have.
    fn subscribe(
        &mut self,
        blocks: Vec<(MipBlock, Option<u64>)>,
        budget: &mut AccountBudget,
        options: &HostOptions,
    ) -> Result<(), LinkEnd> {
        for (block, known) in blocks {
            let held = [self.blocks.len(), budget.blocks];
            check_room(held, options.max_blocks, "blocks", "the view distance or the detail")?;
            let roots = [self.blocks.root_count(), budget.roots];
            if block.mip == options.max_mip {
                let what = "blocks of the coarsest mip";
                check_room(roots, options.max_roots, what, "the view distance")?;
            }
            // A block whose parent was just dropped is wanted no more.
            self.blocks.add(block, options.max_mip, known);
            budget.blocks += self.blocks.len() - held[0];
            budget.roots += self.blocks.root_count() - roots[0];
        }
        Ok(())
    }

    /// Tells the guest that its operation was applied: at once if it can apply that itself, else
    /// after the cells.
    pub fn finish_edit(&mut self, number: u64, has_changed: bool, kinds: &[Kind; 256]) {
        let round = self.blocks.next_round();
        match self.confirmed.take() {
            Some(digest) => self.send(EDITS, &ToGuest::Confirm { number, digest }, kinds),
            None => self.done.push_back(AppliedEdit { number, has_changed, round }),
        }
    }

    /// Tells which operations are done: all that they changed is on its way.
    pub fn send_done(&mut self, kinds: &[Kind; 256]) {
        let after = self.edits_sent;
        while let Some(AppliedEdit { number, has_changed, .. }) =
            self.done.pop_front_if(|edit| self.blocks.is_through(edit.round))
        {
            self.send(BULK, &ToGuest::Done { after, number, has_changed }, kinds);
        }
    }

    /// Notes that the guest has the cells of a block.
    pub fn note_unchanged(&mut self, block: MipBlock, kinds: &[Kind; 256]) {
        self.unchanged.push(block);
        if self.unchanged.len() >= MAX_LIST {
            self.flush_unchanged(kinds);
        }
    }

    /// Queues cells of a block that changed.
    pub fn queue_cells(
        &mut self,
        block: MipBlock,
        region: Region,
        code: Vec<u8>,
        kinds: &[Kind; 256],
    ) {
        self.flush_unchanged(kinds);
        let after = self.edits_sent;
        self.send(BULK, &ToGuest::Cells { after, block, region, code }, kinds);
        let end = self.pipe.end(BULK);
        self.blocks.note_sent(block, end);
    }

    /// Queues blocks that were never sent.
    pub fn queue_family(&mut self, family: Family, kinds: &[Kind; 256]) {
        // A block is there only with those over it.
        self.flush_unchanged(kinds);
        let (after, blocks) = (self.edits_sent, family.blocks());
        self.send(BULK, &ToGuest::Family { after, family: family.into() }, kinds);
        let end = self.pipe.end(BULK);
        blocks.into_iter().for_each(|block| self.blocks.note_sent(block, end));
    }

    /// Sends the list of blocks that need no cells; returns whether there were any.
    pub fn flush_unchanged(&mut self, kinds: &[Kind; 256]) -> bool {
        let (after, blocks) = (self.edits_sent, std::mem::take(&mut self.unchanged));
        let has_some = !blocks.is_empty();
        if has_some {
            self.send(BULK, &ToGuest::Unchanged { after, blocks: blocks.clone() }, kinds);
            let end = self.pipe.end(BULK);
            blocks.into_iter().for_each(|block| self.blocks.note_sent(block, end));
        }
        has_some
    }
}

/// Whether a guest that holds so many blocks, with all guests of its account so many, may hold
/// another one.
fn check_room(held: [usize; 2], most: usize, what: &str, lower: &str) -> Result<(), LinkEnd> {
    let most_of_account = most.saturating_mul(GUESTS_OF_ACCOUNT);
    let (most, whose) = match held {
        [own, _] if own >= most => (most, ""),
        [_, all] if all >= most_of_account => {
            (most_of_account, " over all connections of one account")
        }
        _ => return Ok(()),
    };
    let reason = format!("more than {most} {what} wanted{whose}; lower {lower}");
    Err(LinkEnd::new(LinkEndCode::TooManyBlocks, reason))
}

/// Whether both sides speak the same version.
fn check_version(version: u8) -> Result<(), LinkEnd> {
    match version == PROTOCOL_VERSION {
        true => Ok(()),
        false => {
            let reason = format!(
                "protocol version {version} is not supported; this side speaks {PROTOCOL_VERSION}: \
                 update the older one"
            );
            Err(LinkEnd::new(LinkEndCode::OtherVersion, reason))
        }
    }
}
