//! Two ordered streams of messages over packets that may be lost, doubled, delayed or reordered.
//!
//! A packet has a number of its own, never used twice; streams are sent in frames, each with its
//! offset. What a lost packet carried is sent again in a later one. Edits go before bulk in every
//! packet. Bytes in flight are bounded by a window that grows while little is lost.
//!
//! Source: loss detection by number and time, and round-trip times, as in QUIC (RFC 9002, 2021);
//! the window here shrinks only where more than a tenth is lost, since links without wires lose
//! some.

use super::PipeError;
use super::message::MAX_MESSAGE;
use super::reasons::{LinkEnd, LinkEndCode};
use super::receiving::{ReceiveStream, WINDOW};
use super::wire::{Input, put_text, put_varint, take_line};
use std::collections::VecDeque;
use std::ops::Range;

/// Maximum size of a packet in bytes, so that it fits a datagram anywhere.
pub const MAX_PACKET_BYTES: usize = 1200;

/// Streams: messages about edits, which go first, and cells in bulk.
pub(super) const EDITS: usize = 0;
pub(super) const BULK: usize = 1;
pub(super) const STREAMS: usize = 2;

/// Instead of a stream: a text and a code follow, why the peer ended the link.
const CLOSED: u8 = 2;

/// A packet counts as lost once one that was sent this many packets after it is acknowledged.
const REORDER_PACKETS: u64 = 16;

/// Packets that are remembered after they seemed lost: they may be late.
const MAX_LATE: usize = 512;

const FIRST_ROUND_TRIP_US: u64 = 200_000;
const MIN_TIMEOUT_US: u64 = 60_000;
const MAX_TIMEOUT_US: u64 = 10_000_000;
const FIRST_FLIGHT: u64 = 48 << 10;
const MIN_FLIGHT: u64 = 8 << 10;

/// Ranges of packet numbers that one acknowledgement names, and that are remembered.
const MAX_RANGES: usize = 32;

/// How a link delivers packets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LinkKind {
    /// Each once, in order, as WebSocket and QUIC streams do.
    #[default]
    Reliable,
    /// Some not at all, some twice, in any order, as UDP does.
    Datagrams,
}

/// One end of a link.
pub(super) struct Pipe {
    kind: LinkKind,
    sending: [SendStream; STREAMS],
    receiving: [ReceiveStream; STREAMS],
    /// Packets that carried something and are neither acknowledged nor lost, by number.
    in_flight: VecDeque<SentPacket>,
    /// Packets that seem lost, and may be acknowledged yet, in the order in which they seemed so.
    late: VecDeque<SentPacket>,
    next_number: u64,
    largest_acked: Option<u64>,
    /// Numbers of packets that arrived, newest last, at most [`MAX_RANGES`].
    arrived: Vec<Range<u64>>,
    must_ack: bool,
    round_trip_us: Option<u64>,
    variation_us: u64,
    timeouts: u32,
    flight_bytes: u64,
    max_flight: u64,
    /// When the last packet left.
    sent_us: u64,
    /// Bytes acknowledged and lost since the window was last set, and the packet after which it is
    /// set again.
    sample: LossSample,
    /// Why the peer ended the link.
    closed: Option<LinkEnd>,
}

#[derive(Default)]
struct LossSample {
    acked: u64,
    lost: u64,
    end: u64,
}

#[derive(Default)]
struct SentPacket {
    number: u64,
    sent_us: u64,
    bytes: u64,
    frames: Vec<(usize, Range<u64>)>,
}

#[derive(Default)]
struct SendStream {
    /// Bytes from `acked` on.
    bytes: VecDeque<u8>,
    acked: u64,
    /// The next byte that was never sent.
    next: u64,
    /// Sent and lost, in order.
    lost: Vec<Range<u64>>,
    /// Sent and acknowledged, beyond `acked`.
    acked_later: Vec<Range<u64>>,
    /// How far the peer may be sent.
    limit: u64,
}

/// Removes a range from sorted disjoint ones.
fn remove_range(ranges: &mut Vec<Range<u64>>, old: &Range<u64>) {
    let from = ranges.partition_point(|range| range.end <= old.start);
    let to = ranges.partition_point(|range| range.start < old.end);
    let rest = ranges[from..to].iter().flat_map(|range| {
        [range.start..range.end.min(old.start), range.start.max(old.end)..range.end]
    });
    let rest: Vec<_> = rest.filter(|range| range.start < range.end).collect();
    ranges.splice(from..to, rest);
}

/// Adds a range to sorted disjoint ones.
fn add_range(ranges: &mut Vec<Range<u64>>, new: Range<u64>) {
    let from = ranges.partition_point(|range| range.end < new.start);
    let to = ranges.partition_point(|range| range.start <= new.end);
    let mut merged = new;
    for range in &ranges[from..to] {
        merged = merged.start.min(range.start)..merged.end.max(range.end);
    }
    ranges.splice(from..to, [merged]);
}

impl SendStream {
    /// Takes the next bytes to send, at most `most`.
    fn take(&mut self, most: u64) -> Option<Range<u64>> {
        if let Some(first) = self.lost.first_mut() {
            let taken = first.start..first.end.min(first.start + most);
            first.start = taken.end;
            if first.is_empty() {
                self.lost.remove(0);
            }
            return (!taken.is_empty()).then_some(taken);
        }
        let end = (self.acked + self.bytes.len() as u64).min(self.limit).min(self.next + most);
        let taken = self.next..end.max(self.next);
        self.next = taken.end;
        (!taken.is_empty()).then_some(taken)
    }

    fn has_next(&self) -> bool {
        !self.lost.is_empty() || self.next < (self.acked + self.bytes.len() as u64).min(self.limit)
    }

    /// Whether the peer allows no more.
    fn is_blocked(&self) -> bool {
        self.lost.is_empty()
            && self.next == self.limit
            && self.next < self.acked + self.bytes.len() as u64
    }

    fn acknowledge(&mut self, range: Range<u64>) {
        remove_range(&mut self.lost, &range);
        add_range(&mut self.acked_later, range);
        if let Some(first) = self.acked_later.first()
            && first.start <= self.acked
        {
            let count = first.end.saturating_sub(self.acked);
            self.bytes.drain(..count as usize);
            self.acked = self.acked.max(first.end);
            self.acked_later.remove(0);
        }
    }

    /// Marks what a lost packet carried to be sent again, except what another one brought.
    fn lose(&mut self, range: Range<u64>) {
        let mut at = range.start.max(self.acked);
        for known in &self.acked_later {
            if known.start > at && at < range.end {
                add_range(&mut self.lost, at..known.start.min(range.end));
            }
            at = at.max(known.end);
        }
        if at < range.end {
            add_range(&mut self.lost, at..range.end);
        }
    }

    fn copy(&self, range: Range<u64>, out: &mut Vec<u8>) {
        let local = |offset: u64| (offset - self.acked) as usize;
        out.extend(self.bytes.range(local(range.start)..local(range.end)));
    }
}

impl Pipe {
    pub fn new(kind: LinkKind) -> Pipe {
        let sending = || SendStream { limit: WINDOW, ..SendStream::default() };
        Pipe {
            kind,
            sending: [sending(), sending()],
            receiving: Default::default(),
            in_flight: VecDeque::new(),
            late: VecDeque::new(),
            next_number: 0,
            largest_acked: None,
            arrived: Vec::new(),
            must_ack: false,
            round_trip_us: None,
            variation_us: 0,
            timeouts: 0,
            flight_bytes: 0,
            sent_us: 0,
            max_flight: FIRST_FLIGHT,
            sample: LossSample::default(),
            closed: None,
        }
    }

    /// A packet that ends the link, the last of this side.
    pub fn closing_packet(&self, end: &LinkEnd) -> Vec<u8> {
        let mut out = Vec::new();
        put_varint(self.next_number, &mut out);
        out.extend([0, CLOSED]);
        put_text(&end.reason, &mut out);
        end.code.put(&mut out);
        out
    }

    /// Why the peer ended the link, if it did.
    pub fn closed(&self) -> Option<&LinkEnd> {
        self.closed.as_ref()
    }

    /// Queues a message.
    pub fn send(&mut self, stream: usize, message: &[u8]) {
        debug_assert!(message.len() <= MAX_MESSAGE);
        let mut length = Vec::new();
        put_varint(message.len() as u64, &mut length);
        let bytes = &mut self.sending[stream].bytes;
        bytes.extend(length);
        bytes.extend(message);
    }

    /// Bytes of a stream that the peer has not acknowledged.
    pub fn backlog(&self, stream: usize) -> usize {
        self.sending[stream].bytes.len()
    }

    /// Bytes of a stream that were never sent.
    pub fn unsent(&self, stream: usize) -> u64 {
        let sending = &self.sending[stream];
        sending.acked + sending.bytes.len() as u64 - sending.next
    }

    /// Bytes of all streams that were sent, each once.
    pub fn carried(&self) -> u64 {
        self.sending.iter().map(|sending| sending.next).sum()
    }

    /// The offset behind the last byte that was queued.
    pub fn end(&self, stream: usize) -> u64 {
        let sending = &self.sending[stream];
        sending.acked + sending.bytes.len() as u64
    }

    /// The offset up to which the peer has read everything, not only received it.
    pub fn read_by_peer(&self, stream: usize) -> u64 {
        self.sending[stream].limit.saturating_sub(WINDOW)
    }

    /// Bytes of memory.
    pub fn memory(&self) -> usize {
        let sending: usize = self.sending.iter().map(|stream| stream.bytes.capacity()).sum();
        let later =
            |stream: &ReceiveStream| stream.later.values().map(Vec::capacity).sum::<usize>();
        let receiving = self.receiving.iter().map(|stream| stream.bytes.capacity() + later(stream));
        let packets = self.in_flight.capacity() + self.late.capacity();
        let in_flight = packets * (size_of::<SentPacket>() + 32);
        sending + receiving.sum::<usize>() + in_flight + size_of::<Pipe>()
    }

    /// Bytes of streams that arrived and were not read.
    pub fn unread(&self) -> u64 {
        self.receiving.iter().map(|stream| stream.bytes.len() as u64 + stream.later_bytes).sum()
    }

    /// Takes the next whole message of a stream.
    pub fn receive(&mut self, stream: usize) -> Result<Option<Vec<u8>>, PipeError> {
        let message = self.receiving[stream].message()?;
        let ReceiveStream { read, told, .. } = self.receiving[stream];
        // Half of the window is free again; or all was read, which the peer wants to know.
        let is_told = read <= told.saturating_sub(WINDOW);
        self.must_ack |= read + WINDOW > told + WINDOW / 2 || message.is_none() && !is_told;
        Ok(message)
    }

    /// Takes a packet that arrived.
    pub fn arrive(&mut self, packet: &[u8], now_us: u64) -> Result<(), PipeError> {
        let invalid = |_| PipeError::Invalid;
        let mut input = Input::new(packet);
        let number = input.varint().map_err(invalid)?;
        let has_ack = input.flag().map_err(invalid)?;
        if has_ack {
            self.take_ack(&mut input, now_us)?;
        }
        // Numbers that were forgotten count as seen.
        let is_old = self.arrived.len() == MAX_RANGES && number < self.arrived[0].start;
        if is_old || self.arrived.iter().any(|range| range.contains(&number)) {
            // The peer may have missed the acknowledgement.
            self.must_ack |= !input.is_empty();
            return Ok(());
        }
        self.must_ack |= !input.is_empty();
        while !input.is_empty() {
            let stream = input.byte().map_err(invalid)?;
            if stream == CLOSED {
                let reason = take_line(&mut input).map_err(invalid)?;
                let code = LinkEndCode::take(&mut input).map_err(invalid)?;
                self.closed = Some(LinkEnd { code, reason });
                continue;
            }
            let offset = input.varint().map_err(invalid)?;
            let bytes = input.bytes(MAX_PACKET_BYTES).map_err(invalid)?;
            let receiving = self.receiving.get_mut(usize::from(stream));
            let receiving = receiving.ok_or(PipeError::Invalid)?;
            if !receiving.put(offset, bytes) {
                return Err(PipeError::Flooded);
            }
        }
        add_range(&mut self.arrived, number..number.saturating_add(1));
        if self.arrived.len() > MAX_RANGES {
            self.arrived.remove(0);
        }
        Ok(())
    }

    fn take_ack(&mut self, input: &mut Input<'_>, now_us: u64) -> Result<(), PipeError> {
        let invalid = |_| PipeError::Invalid;
        for sending in &mut self.sending {
            let limit = input.varint().map_err(invalid)?;
            sending.limit = sending.limit.max(limit);
        }
        let count = input.count(2).map_err(invalid)?;
        // Each is looked for among the packets in flight.
        if count > MAX_RANGES {
            return Err(PipeError::Invalid);
        }
        // From the newest range down: a gap, then a length.
        let mut end = None;
        for _ in 0..count {
            let (gap, length) =
                (input.varint().map_err(invalid)?, input.varint().map_err(invalid)?);
            let last = match end {
                None => gap.checked_add(1),
                Some(end) => u64::checked_sub(end, gap),
            };
            let start = last.and_then(|last| last.checked_sub(length));
            let (Some(start), Some(last)) = (start, last) else { return Err(PipeError::Invalid) };
            if length == 0 || last > self.next_number {
                return Err(PipeError::Invalid);
            }
            self.acknowledge(start..last, now_us);
            end = Some(start);
        }
        if self.kind == LinkKind::Datagrams {
            self.find_lost(now_us);
        }
        Ok(())
    }

    fn acknowledge(&mut self, numbers: Range<u64>, now_us: u64) {
        let from = self.in_flight.partition_point(|packet| packet.number < numbers.start);
        let to = self.in_flight.partition_point(|packet| packet.number < numbers.end);
        let newest = numbers.end.checked_sub(1);
        let is_newest = newest > self.largest_acked;
        self.largest_acked = self.largest_acked.max(newest);
        let mut acked: Vec<_> = self.in_flight.drain(from..to).collect();
        for packet in &acked {
            self.flight_bytes -= packet.bytes;
            self.sample.acked += packet.bytes;
        }
        self.late.retain_mut(|packet| {
            let is_acked = numbers.contains(&packet.number);
            if is_acked {
                acked.push(std::mem::take(packet));
            }
            !is_acked
        });
        for packet in acked {
            self.timeouts = 0;
            if is_newest && Some(packet.number) == newest {
                self.note_round_trip(now_us.saturating_sub(packet.sent_us));
            }
            for (stream, range) in packet.frames {
                self.sending[stream].acknowledge(range);
            }
        }
        self.adapt_window();
    }

    fn note_round_trip(&mut self, sample_us: u64) {
        match &mut self.round_trip_us {
            None => {
                self.round_trip_us = Some(sample_us);
                self.variation_us = sample_us / 2;
            }
            Some(smooth) => {
                self.variation_us = (3 * self.variation_us + smooth.abs_diff(sample_us)) / 4;
                *smooth = (7 * *smooth + sample_us) / 8;
            }
        }
    }

    /// Once a round trip: grows the window by half, or shrinks it where more than a tenth is lost.
    fn adapt_window(&mut self) {
        if self.largest_acked.is_none_or(|acked| acked < self.sample.end) {
            return;
        }
        let LossSample { acked, lost, .. } = self.sample;
        if lost * 10 > acked + lost {
            self.max_flight = (self.max_flight * 7 / 10).max(MIN_FLIGHT);
        } else if acked * 2 > self.max_flight {
            self.max_flight = (self.max_flight * 3 / 2).min(WINDOW);
        }
        self.sample = LossSample { acked: 0, lost: 0, end: self.next_number };
    }

    fn timeout_us(&self) -> u64 {
        let smooth = self.round_trip_us.unwrap_or(FIRST_ROUND_TRIP_US);
        let once = (smooth + 4 * self.variation_us).max(MIN_TIMEOUT_US);
        (once << self.timeouts.min(6)).min(MAX_TIMEOUT_US)
    }

    /// Finds packets that are lost: much older than one that arrived, or without a sign for too
    /// long.
    fn find_lost(&mut self, now_us: u64) {
        let timeout = self.timeout_us();
        let acked = self.largest_acked.unwrap_or(0);
        let mut is_late = false;
        let mut kept = VecDeque::with_capacity(self.in_flight.len());
        for packet in std::mem::take(&mut self.in_flight) {
            let is_overtaken = packet.number + REORDER_PACKETS < acked;
            let is_old = now_us.saturating_sub(packet.sent_us) >= timeout;
            if !is_overtaken && !is_old {
                kept.push_back(packet);
                continue;
            }
            is_late |= !is_overtaken;
            self.flight_bytes -= packet.bytes;
            self.sample.lost += packet.bytes;
            for (stream, range) in &packet.frames {
                self.sending[*stream].lose(range.clone());
            }
            if self.late.len() == MAX_LATE {
                self.late.pop_front();
            }
            self.late.push_back(packet);
        }
        self.in_flight = kept;
        self.timeouts += u32::from(is_late);
    }

    /// Writes the next packet to send, or returns false: nothing is to be sent now.
    pub fn transmit(&mut self, now_us: u64, out: &mut Vec<u8>) -> bool {
        out.clear();
        if self.kind == LinkKind::Datagrams {
            self.find_lost(now_us);
        }
        let may_send = self.flight_bytes < self.max_flight;
        let has_frames = may_send && self.sending.iter().any(SendStream::has_next);
        let is_probe = self.must_probe(now_us);
        if !has_frames && !self.must_ack && !is_probe {
            return false;
        }
        self.sent_us = now_us;
        put_varint(self.next_number, out);
        out.push(u8::from(self.must_ack));
        if std::mem::take(&mut self.must_ack) {
            self.put_ack(out);
        }
        let mut frames = Vec::new();
        for stream in 0..STREAMS {
            // A frame's stream, offset and length take at most 13 bytes.
            while may_send && out.len() + 16 < MAX_PACKET_BYTES {
                let room = (MAX_PACKET_BYTES - 16 - out.len()) as u64;
                let Some(range) = self.sending[stream].take(room) else { break };
                out.push(stream as u8);
                put_varint(range.start, out);
                put_varint(range.end - range.start, out);
                self.sending[stream].copy(range.clone(), out);
                frames.push((stream, range));
            }
        }
        if is_probe {
            // An empty frame: the reply says how far may be sent.
            out.extend([0, 0, 0]);
        }
        if !frames.is_empty() {
            let (number, bytes) = (self.next_number, out.len() as u64);
            self.flight_bytes += bytes;
            self.in_flight.push_back(SentPacket { number, sent_us: now_us, bytes, frames });
        }
        self.next_number += 1;
        true
    }

    /// Whether the peer has to be asked how far may be sent, since its last word on that may be
    /// lost.
    fn must_probe(&self, now_us: u64) -> bool {
        self.kind == LinkKind::Datagrams
            && self.in_flight.is_empty()
            && self.sending.iter().any(SendStream::is_blocked)
            && now_us.saturating_sub(self.sent_us) >= self.timeout_us()
    }

    fn put_ack(&mut self, out: &mut Vec<u8>) {
        for receiving in &mut self.receiving {
            receiving.told = receiving.read + WINDOW;
            put_varint(receiving.told, out);
        }
        put_varint(self.arrived.len() as u64, out);
        let mut end = None;
        for range in self.arrived.iter().rev() {
            let gap = end.map_or(range.end - 1, |end: u64| end - range.end);
            put_varint(gap, out);
            put_varint(range.end - range.start, out);
            end = Some(range.start);
        }
    }

    /// When [`Pipe::transmit`] may have something to send without anything arriving.
    pub fn wake_us(&self) -> Option<u64> {
        if self.kind == LinkKind::Reliable {
            return None;
        }
        let is_blocked = self.sending.iter().any(SendStream::is_blocked);
        let oldest = self.in_flight.front().map(|packet| packet.sent_us);
        let since = oldest.or(is_blocked.then_some(self.sent_us))?;
        Some(since + self.timeout_us())
    }
}
