//! The guest: it holds part of a host's world, and shows its own edits at once.

use super::body_table::Avatar;
use super::guest_event::GuestEvent;
use super::guest_saves::SavedEdits;
use super::held_bodies::HeldBodies;
use super::interest::WatchedFrom;
use super::message::{BodyMessage, MAX_MESSAGE, MAX_TOKEN, PROTOCOL_VERSION, ToGuest, ToHost};
use super::op_wire::{can_be_sent, rounded_op};
use super::pipe::{BULK, EDITS, MAX_PACKET_BYTES, Pipe};
use super::predictions::{MAX_PREDICTIONS, Prediction, Predictions};
use super::reasons::{LinkEnd, Refusal};
use super::replica::{ApplyOutcome, BlockState, Generate, GroundMaker, Replica};
use super::world_info::WorldInfo;
use super::{LinkKind, PipeError};
use crate::edit::{EditError, EditOp, Editor};
use crate::terrain::{FillRequest, Placement};
use crate::voxel::{Cell, DenseBox, MaterialTable, MipBlock, Region, VoxelGrid, VoxelPos};
use std::collections::VecDeque;

/// Work on cells that arrive, and as much on operations, in one update: some milliseconds. The next
/// update goes on.
const MAX_WORK_PER_UPDATE: u64 = 1 << 22;

/// The side that holds part of a world. It does no I/O: pass packets that arrived to
/// [`Guest::receive`], send the packets that [`Guest::transmit`] writes, and call
/// [`Guest::update`], which does the work in between, once a frame. The [module](super) has an
/// example.
pub struct Guest {
    pub(super) pipe: Pipe,
    token: Vec<u8>,
    pub(super) info: Option<Box<WorldInfo>>,
    pub(super) replica: Option<Replica>,
    pub(super) is_started: bool,
    pub(super) predictions: Predictions,
    next_number: u64,
    /// The host of the last welcome; 0 if none has come, or it did not say.
    instance: u64,
    saved: SavedEdits,
    /// Number of messages taken from the stream of edits.
    edits_taken: u64,
    /// Messages about cells that wait for a message about edits, or for the next update.
    parked: VecDeque<ToGuest>,
    /// Blocks from before the link broke that are still to be requested again, coarse ones last.
    pub(super) unasked: Vec<MipBlock>,
    /// Where the viewers were when blocks were last requested; `None` to compute anew what is
    /// wanted.
    pub(super) watched: Option<WatchedFrom>,
    pub(super) bodies: HeldBodies,
    /// The avatar of this guest (the inner `None`: it was cleared), and whether the host still has
    /// to be told.
    pub(super) avatar: Option<(Option<Avatar>, bool)>,
    pub(super) avatar_sent_us: u64,
    /// When something arrived last.
    pub(super) now_us: u64,
    pub(super) events: VecDeque<GuestEvent>,
    editor: Editor,
}

impl Guest {
    /// A guest that says hello with an access token, empty if none is needed.
    ///
    /// # Panics
    /// If the token has more than 256 bytes.
    pub fn new(link: LinkKind, token: &[u8]) -> Guest {
        assert!(token.len() <= Guest::MAX_TOKEN, "a token has at most 256 bytes");
        let mut guest = Guest {
            pipe: Pipe::new(link),
            token: token.to_vec(),
            info: None,
            replica: None,
            is_started: false,
            predictions: Predictions::default(),
            next_number: 1,
            instance: 0,
            saved: SavedEdits::from(1),
            edits_taken: 0,
            parked: VecDeque::new(),
            unasked: Vec::new(),
            watched: None,
            bodies: HeldBodies::default(),
            avatar: None,
            avatar_sent_us: 0,
            now_us: 0,
            events: VecDeque::new(),
            editor: Editor::default(),
        };
        guest.say_hello();
        guest
    }

    /// Begins again over a new link and keeps all blocks: only what changed meanwhile is sent.
    /// Returns the operations without a reply from the host, each only once, even if the new link
    /// breaks before the welcome. They may or may not be part of the world. Those that are not are no
    /// longer shown, except by [`Guest::show_unsent`].
    pub fn reconnect(&mut self, link: LinkKind) -> Vec<EditOp> {
        self.pipe = Pipe::new(link);
        (self.is_started, self.edits_taken) = (false, 0);
        self.parked.clear();
        // Asked for again after the next start, and not before the welcome.
        self.unasked.clear();
        (self.info, self.watched) = (None, None);
        self.events.retain(|event| !matches!(event, GuestEvent::Welcome { .. }));
        let gone = self.bodies.clear().into_iter();
        self.events.extend(gone.map(|body| GuestEvent::BodyRemoved { body }));
        self.avatar.iter_mut().for_each(|(_, is_new)| *is_new = true);
        let lost = self.predictions.end_all();
        self.limit_ended();
        if let Some(replica) = &mut self.replica {
            replica.break_off();
        }
        self.say_hello();
        lost.into_iter().filter_map(|prediction| prediction.op).collect()
    }

    fn say_hello(&mut self) {
        let hello = ToHost::Hello { version: PROTOCOL_VERSION, token: self.token.clone() };
        self.send(EDITS, &hello);
    }

    pub(super) fn send(&mut self, stream: usize, message: &ToHost) {
        let bytes = self.encode(message);
        self.pipe.send(stream, &bytes);
    }

    fn encode(&self, message: &ToHost) -> Vec<u8> {
        let mut bytes = Vec::new();
        let none = MaterialTable::default();
        let materials = self.info.as_ref().map_or(&none, |info| &info.materials);
        message.encode(materials.kinds(), &mut bytes);
        bytes
    }

    /// Takes a packet that arrived from the host.
    ///
    /// # Errors
    /// [`PipeError`] if the host breaks the protocol: give the link up.
    pub fn receive(&mut self, packet: &[u8], now_us: u64) -> Result<(), PipeError> {
        self.now_us = now_us;
        self.pipe.arrive(packet, now_us)
    }

    /// Writes the next packet for the host, at most [`Guest::MAX_PACKET_BYTES`] bytes, to `out`.
    /// Returns false if there is nothing to send now.
    pub fn transmit(&mut self, now_us: u64, out: &mut Vec<u8>) -> bool {
        self.send_avatar(now_us);
        self.pipe.transmit(now_us, out)
    }

    /// Returns the last packet of this guest, which tells the host that it leaves: send it, and
    /// close the link. Operations without a reply may be lost. If the link may lose packets, send
    /// it several times; if it is lost, the host notices only the silence.
    pub fn leave(&self) -> Vec<u8> {
        self.pipe.closing_packet(&LinkEnd::by_game(0, "the guest left"))
    }

    /// Maximum size of an access token in bytes.
    pub const MAX_TOKEN: usize = MAX_TOKEN;

    /// Maximum size of a packet in bytes.
    pub const MAX_PACKET_BYTES: usize = MAX_PACKET_BYTES;

    /// When [`Guest::transmit`] may have something to send although nothing arrives, in microseconds
    /// on your clock; `None` if it waits for nothing.
    pub fn wake_us(&self) -> Option<u64> {
        [self.pipe.wake_us(), self.avatar_due_us()].into_iter().flatten().min()
    }

    /// Returns what happened since the last call, oldest first. Call it after each [`Guest::update`]:
    /// events are kept until then.
    pub fn events(&mut self) -> impl Iterator<Item = GuestEvent> + use<> {
        std::mem::take(&mut self.events).into_iter()
    }

    /// Starts to receive the world, after the [welcome](GuestEvent::Welcome); does nothing before
    /// it. `makes_ground`: whether this side has the generator of the world; otherwise the host
    /// sends all cells.
    pub fn start(&mut self, makes_ground: bool) {
        let Some(info) = self.info.as_ref().filter(|_| !self.is_started) else { return };
        let placement = Placement { voxel_size_m: info.voxel_size_m, origin_m: info.origin_m };
        let maker = GroundMaker { placement, makes_ground };
        let is_same = self.replica.as_ref().is_some_and(|replica| replica.is_of(info, maker));
        if !is_same {
            self.replica = Some(Replica::new(info, maker));
            self.watched = None;
        }
        self.is_started = true;
        let last_number = self.saved.last_before(self.next_number);
        self.send(EDITS, &ToHost::Start { makes_ground, last_number });
        let old = self.replica.iter().flat_map(|replica| replica.blocks.keys().copied());
        self.unasked = old.collect();
        self.unasked.sort_unstable_by(|a, b| a.mip.cmp(&b.mip).then(b.cmp(a)));
    }

    /// Edits the world: the operation, in voxels, is sent to the host and shown at once. Its
    /// lengths are rounded to 1/256 voxel. Returns its number, by which events name it. Beyond what
    /// this guest holds, nothing is shown, but the host applies it.
    ///
    /// # Errors
    /// [`EditError`]; nothing is then sent. [`EditError::Invalid`] also for an operation of more
    /// than 128 KiB or one that copies more than 2,097,152 cells, before [`Guest::start`], and while
    /// 256 operations have no reply.
    pub fn edit(&mut self, op: &EditOp) -> Result<u64, EditError> {
        let op = rounded_op(op);
        let replica = self.check_ready()?;
        let reach = self.editor.reach(&replica.grid, &op)?;
        let number = self.next_number;
        let message = self.encode(&ToHost::Edit { number, op: Box::new(op.clone()) });
        if message.len() > MAX_MESSAGE || !can_be_sent(&op) {
            return Err(EditError::Invalid(
                "the operation takes more than 128 KiB or copies more than 2097152 cells: use several",
            ));
        }
        self.next_number += 1;
        self.pipe.send(EDITS, &message);
        let reads = [reach.read, reach.source.unwrap_or_default()];
        self.predictions.push(Prediction { number, op: Some(op), write: reach.write, reads });
        Ok(number)
    }

    /// Asks the host to undo the last operation of this guest, also one without a reply so far. The
    /// host keeps each operation as a stroke of its own: to undo a whole brush stroke, call this once
    /// for each of its operations. Returns the number of the request. It is not predicted: it shows
    /// when the host has replied. The host refuses if there is nothing to undo: it keeps the history
    /// of a guest for as long as the link lasts.
    ///
    /// # Errors
    /// [`EditError::Invalid`] before [`Guest::start`], and while 256 operations wait for the host;
    /// nothing is then sent.
    pub fn undo(&mut self) -> Result<u64, EditError> {
        self.ask_history(false)
    }

    /// Asks the host to redo the stroke that this guest undid last, as [`Guest::undo`].
    ///
    /// # Errors
    /// As [`Guest::undo`].
    pub fn redo(&mut self) -> Result<u64, EditError> {
        self.ask_history(true)
    }

    fn ask_history(&mut self, is_redo: bool) -> Result<u64, EditError> {
        self.check_ready()?;
        let number = self.next_number;
        self.next_number += 1;
        self.send(EDITS, &ToHost::Undo { number, is_redo });
        let nothing = Region::default();
        self.predictions.push(Prediction { number, op: None, write: nothing, reads: [nothing; 2] });
        Ok(number)
    }

    /// Returns an error unless there is a world that can be edited.
    fn check_ready(&self) -> Result<&Replica, EditError> {
        if self.predictions.len() >= MAX_PREDICTIONS {
            return Err(EditError::Invalid("too many operations wait for the host"));
        }
        let replica = self.replica.as_ref().filter(|_| self.is_started);
        replica.ok_or(EditError::Invalid("not joined: call Guest::start after GuestEvent::Welcome"))
    }

    /// Applies what the host sent, up to a few milliseconds of work, and at least one message: the
    /// first edit in ground that was never edited makes its chunks and a block of each coarser mip.
    /// `generate` fills blocks as the generator of the world makes them.
    ///
    /// # Errors
    /// Why the host ended the link, or how it broke the protocol: give the link up.
    pub fn update(&mut self, generate: impl Fn(&mut FillRequest<'_>)) -> Result<(), LinkEnd> {
        let generate: Generate<'_> = &generate;
        self.take_all(generate).map_err(LinkEnd::protocol)?;
        let replied = self.predictions.oldest().unwrap_or(self.next_number) - 1;
        self.events.extend(self.saved.news(replied));
        self.refresh();
        self.ask_again();
        match self.pipe.closed() {
            Some(end) => Err(end.clone()),
            None => Ok(()),
        }
    }

    /// Takes cells, and operations as far as their time goes.
    fn take_all(&mut self, generate: Generate<'_>) -> Result<(), String> {
        let (mut cells_left, mut edits_left) = (MAX_WORK_PER_UPDATE, MAX_WORK_PER_UPDATE);
        self.take_bulk(&mut cells_left, generate)?;
        while edits_left > 0
            && let Some(message) = self.next(EDITS)?
        {
            let before = self.work();
            self.edits_taken += 1;
            self.take(message, generate)?;
            edits_left = edits_left.saturating_sub(self.work() - before);
            self.take_bulk(&mut cells_left, generate)?;
        }
        Ok(())
    }

    /// Work that was done on cells and operations.
    fn work(&self) -> u64 {
        self.replica.as_ref().map_or(0, |replica| replica.work)
    }

    fn next(&mut self, stream: usize) -> Result<Option<ToGuest>, String> {
        let message = self.pipe.receive(stream).map_err(|error| error.to_string())?;
        let none = MaterialTable::default();
        let materials = self.info.as_ref().map_or(&none, |info| &info.materials);
        message
            .map(|bytes| ToGuest::decode(&bytes, materials.kinds()))
            .transpose()
            .map_err(|error| error.to_string())
    }

    /// Takes cells, up to those that wait for a message about edits, and as far as `left` goes.
    fn take_bulk(&mut self, left: &mut u64, generate: Generate<'_>) -> Result<(), String> {
        let mut goes_on = true;
        // What was read counts as taken at the host, which sends operations on it.
        let must = |guest: &Guest| matches!(guest.parked.front(), Some(ToGuest::Cells { .. }));
        while goes_on && (*left > 0 || must(self)) {
            let before = self.work();
            // Blocks that arrive count on those over them being right.
            goes_on = self.replica.as_mut().is_some_and(|replica| replica.catch_up(generate))
                || self.take_bulk_message(generate)?;
            *left = left.saturating_sub(self.work() - before);
        }
        Ok(())
    }

    /// Takes the next message about cells; false if there is none, or it waits for one about edits.
    fn take_bulk_message(&mut self, generate: Generate<'_>) -> Result<bool, String> {
        let message = match self.parked.pop_front() {
            Some(message) => message,
            None => match self.next(BULK)? {
                Some(message) => message,
                None => return Ok(false),
            },
        };
        let after = match &message {
            ToGuest::Cells { after, .. }
            | ToGuest::Family { after, .. }
            | ToGuest::Unchanged { after, .. }
            | ToGuest::BodyGone { after, .. }
            | ToGuest::Body(BodyMessage { after, .. })
            | ToGuest::Done { after, .. } => *after,
            _ => return Err("a message came in the wrong stream".to_owned()),
        };
        if after > self.edits_taken {
            self.parked.push_front(message);
            return Ok(false);
        }
        let message = match message {
            // Each of its blocks may take a millisecond.
            ToGuest::Family { after, family } if !family.is_one() => {
                let parts = family.split();
                let parts = parts.map(|family| ToGuest::Family { after, family: family.into() });
                self.parked.extend(parts);
                return Ok(true);
            }
            message => message,
        };
        let written = message.written();
        self.take(message, generate)?;
        if let Some(replica) = &mut self.replica {
            replica.note_overdue(after, &written);
        }
        Ok(true)
    }

    fn take(&mut self, message: ToGuest, generate: Generate<'_>) -> Result<(), String> {
        if let ToGuest::Welcome { instance, info } = message {
            return self.take_welcome(instance, info);
        }
        let Some(replica) = &mut self.replica else {
            return Err("a message before the start".to_owned());
        };
        match message {
            ToGuest::Op { author, op, digest } => {
                let applied = replica.apply(self.edits_taken, &op, digest, generate);
                self.note(applied, Some(author));
            }
            ToGuest::Confirm { number, digest } => {
                let Some(Prediction { op: Some(op), .. }) = self.end_prediction(number) else {
                    return Err("an unknown operation was confirmed".to_owned());
                };
                let Some(replica) = &mut self.replica else { return Ok(()) };
                let applied = replica.apply(self.edits_taken, &op, digest, generate);
                self.note(applied, None);
                self.events.push_back(GuestEvent::Confirmed { number, has_changed: true });
            }
            ToGuest::Done { number, has_changed, .. } => {
                if self.end_prediction(number).is_some() {
                    self.events.push_back(GuestEvent::Confirmed { number, has_changed });
                }
            }
            ToGuest::Refuse { number, refusal: Refusal { code, reason } } => {
                if self.end_prediction(number).is_some() {
                    self.events.push_back(GuestEvent::Refused { number, code, reason });
                }
            }
            ToGuest::Cells { block, region, code, .. } => {
                let region = replica.take_cells(block, region, &code, generate)?;
                if !region.is_empty() {
                    self.events.push_back(GuestEvent::CellsChanged { region });
                }
            }
            ToGuest::Family { family, .. } => replica.take_family(&family, generate)?,
            ToGuest::Unchanged { blocks, .. } => replica.take_unchanged(&blocks),
            ToGuest::Body(message) => self.take_body(message)?,
            ToGuest::BodyGone { number, .. } => self.lose_body(number),
            ToGuest::Poses(poses) => self.bodies.set_poses(&poses, self.now_us),
            ToGuest::Saved { number } => self.saved.note(number),
            ToGuest::Game(bytes) => self.events.push_back(GuestEvent::Message { bytes }),
            ToGuest::Welcome { .. } => {}
        }
        Ok(())
    }

    fn take_welcome(&mut self, instance: u64, info: Box<WorldInfo>) -> Result<(), String> {
        if self.is_started {
            return Err("a second welcome".to_owned());
        }
        let placement = Placement { voxel_size_m: info.voxel_size_m, origin_m: info.origin_m };
        placement.check().map_err(|error| error.to_string())?;
        let is_same_host = instance != 0 && instance == self.instance;
        self.instance = instance;
        if !is_same_host {
            self.saved = SavedEdits::from(self.next_number);
        }
        let (guest, generator) = (info.author, info.generator.clone());
        self.events.push_back(GuestEvent::Welcome { guest, generator, is_same_host });
        self.info = Some(info);
        Ok(())
    }

    fn end_prediction(&mut self, number: u64) -> Option<Prediction> {
        let ended = self.predictions.end(number);
        self.limit_ended();
        ended
    }

    /// A guest that nothing shows must not collect regions.
    pub(super) fn limit_ended(&mut self) {
        if self.predictions.forget_if_too_many()
            && let Some(replica) = &mut self.replica
        {
            replica.changed.forget();
        }
    }

    fn note(&mut self, applied: ApplyOutcome, author: Option<u64>) {
        match applied {
            ApplyOutcome::Changed(region) => {
                if let Some(author) = author {
                    self.events.push_back(GuestEvent::Edited { author, region });
                }
            }
            ApplyOutcome::Differs if self.events.back() == Some(&GuestEvent::Corrected) => {}
            ApplyOutcome::Differs => self.events.push_back(GuestEvent::Corrected),
        }
    }

    /// The host's cells of mip 0 that were sent or edited, without this guest's predictions. Chunks
    /// that are as this side's generator makes them are not held: [`Guest::read`] has those, too.
    pub fn grid(&self) -> Option<&VoxelGrid> {
        self.replica.as_ref().map(|replica| &replica.grid)
    }

    /// The host's cell of a voxel, without predictions; `None` if its block is not here at mip 0.
    /// `generate` is as in [`Guest::update`]: in ground that was never edited, it makes 32³ cells.
    pub fn cell(&self, voxel: VoxelPos, generate: impl Fn(&mut FillRequest<'_>)) -> Option<Cell> {
        let (replica, chunk) = (self.replica.as_ref()?, voxel.chunk());
        if let Ok(cell) = replica.grid.cell(voxel) {
            return Some(cell);
        }
        let mut cells = DenseBox::default();
        replica.read(chunk.into(), &generate, &mut cells).then(|| cells.cell(voxel))
    }

    /// Scale and origin of the world; `None` before [`Guest::start`].
    pub fn placement(&self) -> Option<Placement> {
        self.replica.as_ref().map(|replica| replica.maker.placement)
    }

    /// The blocks that are wanted or here.
    pub fn blocks(&self) -> impl Iterator<Item = MipBlock> {
        self.replica.iter().flat_map(|replica| replica.blocks.keys().copied())
    }

    /// Whether the cells of a block are here, or the generator makes them. After a break of the
    /// link, they may be older than the host's.
    pub fn has(&self, block: MipBlock) -> bool {
        let state = self.replica.as_ref().and_then(|replica| replica.blocks.get(&block));
        state.is_some_and(|state| *state != BlockState::Wanted)
    }

    /// Whether all blocks that are wanted are here. Before the first [`Guest::watch`], none is wanted.
    pub fn is_complete(&self) -> bool {
        self.replica.as_ref().is_some_and(Replica::is_complete)
    }

    /// Returns the number of operations in flight: those without a reply from the host.
    pub fn pending_edits(&self) -> usize {
        self.predictions.len()
    }

    /// Makes `out` the host's cells of a block, without predictions; false if they are not here.
    pub fn read(
        &self,
        block: MipBlock,
        generate: impl Fn(&mut FillRequest<'_>),
        out: &mut DenseBox,
    ) -> bool {
        self.replica.as_ref().is_some_and(|replica| replica.read(block, &generate, out))
    }

    /// Bytes of memory.
    pub fn memory(&self) -> usize {
        let cells = self.replica.as_ref().map_or(0, Replica::memory);
        self.pipe.memory() + cells + self.bodies.memory()
    }
}
