//! The bodies that a guest sees, and its own avatar.

use super::body_table::Avatar;
use super::guest::Guest;
use super::guest_event::GuestEvent;
use super::message::{
    BodyMessage, GAME_MESSAGE_BACKLOG, MAX_AVATAR_BYTES, MAX_GAME_MESSAGE, ToHost,
};
use super::pipe::EDITS;
use super::pose_wire::WirePose;
use super::shared_body::SharedBody;
use crate::bodies::BodyPose;

/// Between two messages about the avatar of this guest, in microseconds.
const AVATAR_INTERVAL_US: u64 = 50_000;

/// The avatar is not sent while more bytes of messages than this wait.
const AVATAR_BACKLOG: usize = 1 << 10;

impl Guest {
    /// Takes a body. An error ends the connection.
    pub(super) fn take_body(&mut self, message: BodyMessage) -> Result<(), String> {
        let body = message.number;
        self.events.push_back(match self.bodies.put(message, self.now_us)? {
            true => GuestEvent::BodyAdded { body },
            false => GuestEvent::BodyChanged { body },
        });
        Ok(())
    }

    pub(super) fn lose_body(&mut self, body: u64) {
        if self.bodies.remove(body) {
            self.events.push_back(GuestEvent::BodyRemoved { body });
        }
    }

    pub(super) fn send_avatar(&mut self, now_us: u64) {
        let is_due = self.is_started
            && now_us.saturating_sub(self.avatar_sent_us) >= AVATAR_INTERVAL_US
            && self.pipe.backlog(EDITS) < AVATAR_BACKLOG;
        if let Some((avatar, is_new)) = self.avatar.as_mut().filter(|(_, is_new)| is_due && *is_new)
        {
            *is_new = false;
            let message = match avatar.clone() {
                Some(Avatar { pose, bytes }) => ToHost::Avatar { pose, bytes },
                None => ToHost::NoAvatar,
            };
            self.avatar_sent_us = now_us;
            self.send(EDITS, &message);
        }
    }

    /// When a changed avatar may be sent.
    pub(super) fn avatar_due_us(&self) -> Option<u64> {
        let is_new = self.is_started && self.avatar.as_ref().is_some_and(|(_, is_new)| *is_new);
        is_new.then(|| self.avatar_sent_us.saturating_add(AVATAR_INTERVAL_US))
    }

    /// Shows others where this guest is: its pose, and bytes that the game understands, such as a
    /// name and what it points at. Others see a [`SharedBody`] of
    /// [`SharedBodyKind::Avatar`](super::SharedBodyKind::Avatar). Call it once a frame: it is sent
    /// 20 times a second at most, and only if it changed. A pose that is not finite is ignored. It may
    /// be called before [`Guest::start`]. Others see it until [`Guest::clear_avatar`],
    /// [`Guest::leave`], or until the host drops the link: a player who leaves in silence stands
    /// there until then.
    ///
    /// # Panics
    /// If there are more than [`Guest::MAX_AVATAR_BYTES`].
    pub fn set_avatar(&mut self, pose: &BodyPose, bytes: &[u8]) {
        assert!(bytes.len() <= MAX_AVATAR_BYTES, "an avatar has at most 256 bytes");
        let Some(pose) = WirePose::of(pose) else { return };
        let known = self.avatar.as_ref().and_then(|(avatar, _)| avatar.as_ref());
        if known.is_none_or(|known| known.pose != pose || known.bytes != bytes) {
            self.avatar = Some((Some(Avatar { pose, bytes: bytes.to_vec() }), true));
        }
    }

    /// Takes the avatar of this guest away: others see it no more.
    pub fn clear_avatar(&mut self) {
        if self.avatar.as_ref().is_some_and(|(avatar, _)| avatar.is_some()) {
            self.avatar = Some((None, true));
        }
    }

    /// Tells the game at the host something, such as that this player throws a ball. It arrives,
    /// once, as [`HostEvent::Message`](super::HostEvent::Message), after the edits before it; one
    /// that is on its way when the link breaks is lost. Returns false, and sends nothing, before
    /// [`Guest::start`] and while 64 KiB of messages and edits wait for the link.
    ///
    /// # Panics
    /// If there are more than [`Guest::MAX_MESSAGE_BYTES`].
    pub fn send_message(&mut self, bytes: &[u8]) -> bool {
        assert!(bytes.len() <= MAX_GAME_MESSAGE, "a message has at most 1024 bytes");
        let may_send = self.is_started && self.pipe.backlog(EDITS) < GAME_MESSAGE_BACKLOG;
        if may_send {
            self.send(EDITS, &ToHost::Game(bytes.to_vec()));
        }
        may_send
    }

    /// Maximum size of a message to the game in bytes.
    pub const MAX_MESSAGE_BYTES: usize = MAX_GAME_MESSAGE;

    /// Maximum size of an avatar in bytes, besides its pose.
    pub const MAX_AVATAR_BYTES: usize = MAX_AVATAR_BYTES;

    /// The bodies that are seen, by number, each at the newest pose that came, in voxels.
    pub fn bodies(&self) -> impl Iterator<Item = (u64, &SharedBody)> {
        self.bodies.iter()
    }

    /// The body of a number, as [`Guest::bodies`] has it; `None` if it is not seen.
    pub fn body(&self, number: u64) -> Option<&SharedBody> {
        self.bodies.get(number)
    }

    /// The pose at which a body is to be shown: it moves from pose to pose without a jump, and is
    /// behind by the time between two of them. `now_us` is the clock of [`Guest::receive`].
    pub fn body_pose(&self, body: u64, now_us: u64) -> Option<BodyPose> {
        self.bodies.pose_at(body, now_us)
    }
}
