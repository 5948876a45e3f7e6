//! The bodies that one guest sees, as its host knows it.
//!
//! A guest sees the bodies in blocks that it wants up to some mip, so that the level of detail
//! decides about them, too. Nearer bodies, in finer blocks, are sent more often. A body comes in
//! the stream of cells, after what was cut from these; poses come in the stream of edits, once the
//! guest has the body, and while little waits there: what is not sent now is sent later, as it is
//! then. All of it is paid from a budget of bytes, so that bodies that come and go leave room for
//! cells and edits.

use super::body_budget::BodyBudget;
use super::body_size::BodySize;
use super::body_table::{BodyTable, HostedBody};
use super::message::{BodyMessage, ToGuest};
use super::pose_wire::WirePose;
use super::shared_body::SharedBodyKind;
use super::subscription::Subscriptions;
use std::collections::BTreeMap;

/// Maximum number of bodies that one guest sees.
pub(super) const MAX_SEEN: usize = 4096;

/// Times between two poses of a body, by the finest mip that is wanted there, in microseconds.
/// Beyond, bodies are not seen.
const INTERVAL_US: [u64; 5] = [50_000, 50_000, 100_000, 200_000, 400_000];

/// Bodies that are looked at in a tick, besides those that are seen.
const MAX_LOOKED_AT: usize = 64;

/// Maximum number of poses of a message.
const MAX_POSES: usize = 48;

/// What messages take besides the bytes of a body, about: with its kind and its pose, with its
/// number alone, and for each pose.
const BODY_HEADER: usize = 32;
const GONE_BYTES: usize = 12;
const POSE_BYTES: usize = 16;

/// What a guest has of a body.
struct SeenBody {
    /// Where the message that brought it ends in the stream of bulk.
    end: u64,
    /// States of the table of which it has the bytes and the pose.
    changed: u64,
    moved: u64,
    sent_us: u64,
    size: BodySize,
}

/// All bodies that a guest sees, by number.
#[derive(Default)]
pub(super) struct SeenBodies {
    seen: BTreeMap<u64, SeenBody>,
    size: BodySize,
    /// Where the next look begins, among all bodies and among those that are seen.
    next: u64,
    next_seen: u64,
    /// Whether it is the turn of those that are not seen yet.
    is_look_first: bool,
    /// States of bodies and blocks, and how many bodies were looked at since.
    state: (u64, u64),
    looked_at: usize,
    /// Whether the guest has, or is being sent, all of what it sees.
    is_current: bool,
}

/// What is to be sent.
#[derive(Default)]
pub(super) struct BodyNews {
    /// In the stream of bulk, in this order.
    pub bulk: Vec<ToGuest>,
    /// In the stream of edits.
    pub poses: Vec<(u64, WirePose)>,
}

/// What a guest may be sent now.
pub(super) struct BodyRoom<'a> {
    pub now_us: u64,
    /// Messages about edits that were sent before.
    pub after: u64,
    /// How far the guest has read in the stream of bulk.
    pub read: u64,
    pub budget: &'a mut BodyBudget,
    pub has_poses: bool,
}

impl SeenBodies {
    /// Bytes of memory.
    pub fn memory(&self) -> usize {
        self.seen.len() * (size_of::<(u64, SeenBody)>() + 16)
    }

    /// Whether nothing has changed since all was sent.
    pub fn is_settled(&self, table: &BodyTable, blocks: &Subscriptions) -> bool {
        self.state == (table.state(), blocks.state())
            && self.looked_at >= table.len()
            && self.is_current
    }

    /// Finds what is to be sent to a guest.
    pub fn news(
        &mut self,
        guest: u64,
        table: &BodyTable,
        blocks: &Subscriptions,
        mut room: BodyRoom<'_>,
    ) -> BodyNews {
        let mut news = BodyNews::default();
        let is_look_first = self.is_look_first;
        self.is_look_first = !is_look_first;
        if is_look_first {
            self.look(guest, table, blocks, &mut room, &mut news);
        }
        self.follow(table, blocks, &mut room, &mut news);
        if !is_look_first {
            self.look(guest, table, blocks, &mut room, &mut news);
        }
        self.is_current = self
            .seen
            .iter()
            .all(|(&number, seen)| table.get(number).is_some_and(|entry| seen.has_all(entry)));
        news
    }

    /// Finds what changed of the bodies that are seen.
    fn follow(
        &mut self,
        table: &BodyTable,
        blocks: &Subscriptions,
        room: &mut BodyRoom<'_>,
        news: &mut BodyNews,
    ) {
        let (mut due, mut gone, mut unpaid) = (Vec::new(), Vec::new(), None);
        let start = self.next_seen;
        for range in [start..u64::MAX, 0..start] {
            for (&number, seen) in self.seen.range_mut(range) {
                let Some(entry) = table.get(number) else {
                    gone.push(number);
                    continue;
                };
                let waited = room.now_us.saturating_sub(seen.sent_us);
                if seen.has_all(entry) || waited < INTERVAL_US[0] {
                    continue;
                }
                let Some(interval) = interval_us(entry, blocks) else {
                    gone.push(number);
                    continue;
                };
                if waited < interval {
                    continue;
                }
                if seen.changed != entry.changed && room.budget.is_open() {
                    let size = self.size.without(seen.size).with(entry.size);
                    if size.check().is_err() {
                        gone.push(number);
                        continue;
                    }
                    self.size = size;
                    *seen = SeenBody::new(entry, room);
                    news.bulk.push(message_of(number, entry, room.after));
                    continue;
                }
                if seen.changed != entry.changed {
                    unpaid = unpaid.or(Some(number));
                }
                if seen.end <= room.read && seen.moved != entry.moved {
                    due.push((waited as f64 / interval as f64, number));
                }
            }
        }
        for number in gone {
            if !self.forget(number, room, news) {
                unpaid = Some(number);
                break;
            }
        }
        self.next_seen = unpaid.unwrap_or_default();
        self.send_poses(table, due, room, news);
    }

    /// Sends the poses that are overdue most, of bodies with their times waited in intervals.
    fn send_poses(
        &mut self,
        table: &BodyTable,
        mut due: Vec<(f64, u64)>,
        room: &mut BodyRoom<'_>,
        news: &mut BodyNews,
    ) {
        if !room.has_poses || !room.budget.is_open() {
            return;
        }
        due.sort_unstable_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        due.truncate(MAX_POSES);
        due.sort_unstable_by_key(|entry| entry.1);
        for (_, number) in due {
            if let (Some(seen), Some(entry)) = (self.seen.get_mut(&number), table.get(number)) {
                (seen.moved, seen.sent_us) = (entry.moved, room.now_us);
                news.poses.push((number, entry.pose));
            }
        }
        room.budget.spend(news.poses.len() * POSE_BYTES);
    }

    /// Looks at some bodies: which are to be seen, and which no longer.
    fn look(
        &mut self,
        guest: u64,
        table: &BodyTable,
        blocks: &Subscriptions,
        room: &mut BodyRoom<'_>,
        news: &mut BodyNews,
    ) {
        let state = (table.state(), blocks.state());
        if std::mem::replace(&mut self.state, state) != state {
            self.looked_at = 0;
        }
        for (number, entry) in table.round_from(self.next).take(MAX_LOOKED_AT.min(table.len())) {
            if self.looked_at >= table.len() {
                break;
            }
            let is_wanted = entry.body.kind != SharedBodyKind::Avatar(guest)
                && interval_us(entry, blocks).is_some();
            match (is_wanted, self.seen.contains_key(&number)) {
                // It is looked at again, first.
                (false, true) | (true, false) if !room.budget.is_open() => {
                    self.next = number;
                    return;
                }
                (false, true) => drop(self.forget(number, room, news)),
                (true, false) => {
                    let size = self.size.with(entry.size);
                    if self.seen.len() < MAX_SEEN && size.check().is_ok() {
                        self.size = size;
                        self.seen.insert(number, SeenBody::new(entry, room));
                        news.bulk.push(message_of(number, entry, room.after));
                    }
                }
                _ => {}
            }
            self.looked_at += 1;
            self.next = number + 1;
        }
    }

    /// Tells the guest that it no longer sees a body; false if that has to wait.
    fn forget(&mut self, number: u64, room: &mut BodyRoom<'_>, news: &mut BodyNews) -> bool {
        if !room.budget.is_open() {
            return false;
        }
        if let Some(seen) = self.seen.remove(&number) {
            self.size = self.size.without(seen.size);
            room.budget.spend(GONE_BYTES);
            news.bulk.push(ToGuest::BodyGone { after: room.after, number });
        }
        true
    }

    /// Notes where the messages that were just queued end.
    pub fn note_sent(&mut self, messages: &[ToGuest], end: u64) {
        for message in messages {
            if let ToGuest::Body(body) = message
                && let Some(seen) = self.seen.get_mut(&body.number)
            {
                seen.end = end;
            }
        }
    }
}

impl SeenBody {
    /// What a guest has of a body whose message is about to be queued.
    fn new(entry: &HostedBody, room: &mut BodyRoom<'_>) -> SeenBody {
        let HostedBody { changed, moved, size, .. } = *entry;
        room.budget.spend(BODY_HEADER + size.bytes());
        SeenBody { end: u64::MAX, changed, moved, sent_us: room.now_us, size }
    }

    fn has_all(&self, entry: &HostedBody) -> bool {
        (self.changed, self.moved) == (entry.changed, entry.moved)
    }
}

/// How often a body is sent to a guest with these blocks; `None` if it is not seen.
fn interval_us(entry: &HostedBody, blocks: &Subscriptions) -> Option<u64> {
    let coarsest = INTERVAL_US.len() as u8 - 1;
    let mip = blocks.finest_at(entry.body.pose.position_voxels, coarsest)?;
    Some(INTERVAL_US[usize::from(mip)])
}

fn message_of(number: u64, entry: &HostedBody, after: u64) -> ToGuest {
    let HostedBody { body, pose, .. } = entry;
    let (kind, bytes) = (body.kind, body.bytes.clone());
    ToGuest::Body(BodyMessage { after, number, kind, pose: *pose, bytes })
}
