//! Bodies that a host shows to its guests.

use super::host::Host;
use super::message::ToGuest;
use super::pipe::{BULK, EDITS};
use super::pose_wire::WirePose;
use super::seen_bodies::BodyRoom;
use super::shared_body::SharedBody;
use crate::bodies::BodyPose;
use crate::voxel::Kind;

/// While more bytes of messages about edits wait for a guest, it is sent no poses.
const POSE_BACKLOG: usize = 4 << 10;

impl Host {
    /// Adds a body, which guests near it see, and returns its number. It stays until
    /// [`Host::remove_body`].
    ///
    /// ```
    /// use terravox::bodies::BodyPose;
    /// use terravox::replicate::{Host, HostOptions, SharedBody, SharedBodyKind};
    ///
    /// let mut host = Host::new(HostOptions::default());
    /// let pose = BodyPose { position_voxels: [4.0, 9.0, 0.5], rotation: [0.0, 0.0, 0.0, 1.0] };
    /// let kind = SharedBodyKind::Game(7); // a crate, say
    /// let number = host.add_body(SharedBody { kind, pose, bytes: b"oak".as_slice().into() });
    /// let higher = BodyPose { position_voxels: [4.0, 9.5, 0.5], ..pose };
    /// assert!(host.move_body(number, &higher)); // in each tick
    /// assert_eq!(host.bodies().count(), 1);
    /// ```
    ///
    /// # Panics
    /// If it has more than [`SharedBody::MAX_BYTES`], or its pose is not finite, beyond the limits
    /// of the grid, or without a rotation.
    pub fn add_body(&mut self, body: SharedBody) -> u64 {
        let bytes = body.bytes.len();
        assert!(bytes <= SharedBody::MAX_BYTES, "a body of {bytes} bytes; at most 65536");
        let pose = WirePose::of(&body.pose);
        let pose = pose.unwrap_or_else(|| panic!("an invalid pose of a body: {:?}", body.pose));
        self.bodies.add(body, pose)
    }

    /// Moves a body. Returns false, and changes nothing, if there is no body of this number, or the
    /// pose is invalid, as after physics that exploded.
    pub fn move_body(&mut self, number: u64, pose: &BodyPose) -> bool {
        WirePose::of(pose).is_some_and(|pose| self.bodies.set_pose(number, pose))
    }

    /// Changes the bytes of a body. Returns false if there is no body of this number.
    ///
    /// # Panics
    /// If they are more than [`SharedBody::MAX_BYTES`].
    pub fn change_body(&mut self, number: u64, bytes: &[u8]) -> bool {
        assert!(bytes.len() <= SharedBody::MAX_BYTES, "a body has at most 65536 bytes");
        self.bodies.set_bytes(number, bytes)
    }

    /// Removes a body, and returns it.
    pub fn remove_body(&mut self, number: u64) -> Option<SharedBody> {
        self.bodies.remove(number)
    }

    /// The bodies by number, in its order, with the avatars of guests among them. Positions are
    /// rounded as guests get them.
    pub fn bodies(&self) -> impl Iterator<Item = (u64, &SharedBody)> {
        self.bodies.iter()
    }

    /// Shows the avatars of guests as they say that they are.
    pub(super) fn follow_avatars(&mut self) {
        for (&guest, entry) in &mut self.guests {
            match entry.new_avatar.take() {
                None => {}
                Some(Some(avatar)) => {
                    entry.avatar = Some(self.bodies.set_avatar(entry.avatar, guest, &avatar));
                }
                Some(None) => {
                    entry
                        .avatar
                        .take()
                        .into_iter()
                        .for_each(|number| drop(self.bodies.remove(number)));
                }
            }
        }
    }

    /// Queues what a guest is to be told of bodies.
    pub(super) fn send_bodies(&mut self, guest: u64, kinds: &[Kind; 256], now_us: u64) {
        let Some(entry) = self.guests.get_mut(&guest) else { return };
        if entry.seen_bodies.is_settled(&self.bodies, &entry.blocks) {
            return;
        }
        let is_idle = entry.pipe.unsent(BULK) == 0 && entry.pipe.unsent(EDITS) == 0;
        entry.body_budget.earn(entry.pipe.carried(), is_idle);
        let has_poses = entry.pipe.backlog(EDITS) < POSE_BACKLOG;
        let room = BodyRoom {
            now_us,
            after: entry.edits_sent,
            read: entry.pipe.read_by_peer(BULK),
            budget: &mut entry.body_budget,
            has_poses,
        };
        let news = entry.seen_bodies.news(guest, &self.bodies, &entry.blocks, room);
        for message in &news.bulk {
            entry.send(BULK, message, kinds);
        }
        entry.seen_bodies.note_sent(&news.bulk, entry.pipe.end(BULK));
        if !news.poses.is_empty() {
            entry.send(EDITS, &ToGuest::Poses(news.poses), kinds);
        }
    }
}
