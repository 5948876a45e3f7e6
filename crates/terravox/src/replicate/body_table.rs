//! The bodies of a host.

use super::body_size::BodySize;
use super::pose_wire::WirePose;
use super::shared_body::{SharedBody, SharedBodyKind};
use std::collections::BTreeMap;
use std::sync::Arc;

/// A body, and when it changed last.
pub(super) struct HostedBody {
    pub body: SharedBody,
    pub size: BodySize,
    /// Its pose as guests get it.
    pub pose: WirePose,
    /// State of the table at which the pose changed last.
    pub moved: u64,
    /// State of the table at which the bytes changed last.
    pub changed: u64,
}

/// All bodies, by number.
#[derive(Default)]
pub(super) struct BodyTable {
    bodies: BTreeMap<u64, HostedBody>,
    last_number: u64,
    /// Counts changes.
    state: u64,
}

impl BodyTable {
    /// A number that differs after each change.
    pub fn state(&self) -> u64 {
        self.state
    }

    pub fn len(&self) -> usize {
        self.bodies.len()
    }

    pub fn get(&self, number: u64) -> Option<&HostedBody> {
        self.bodies.get(&number)
    }

    pub fn iter(&self) -> impl Iterator<Item = (u64, &SharedBody)> {
        self.bodies.iter().map(|(&number, entry)| (number, &entry.body))
    }

    /// The bodies from a number on, then those before it.
    pub fn round_from(&self, number: u64) -> impl Iterator<Item = (u64, &HostedBody)> {
        let round = self.bodies.range(number..).chain(self.bodies.range(..number));
        round.map(|(&number, entry)| (number, entry))
    }

    pub fn add(&mut self, body: SharedBody, pose: WirePose) -> u64 {
        let body = SharedBody { pose: pose.pose(), ..body };
        self.last_number += 1;
        self.state += 1;
        let (size, moved, changed) = (BodySize::of(&body), self.state, self.state);
        self.bodies.insert(self.last_number, HostedBody { body, size, pose, moved, changed });
        self.last_number
    }

    /// Moves a body; false if it is not there.
    pub fn set_pose(&mut self, number: u64, pose: WirePose) -> bool {
        let Some(entry) = self.bodies.get_mut(&number) else { return false };
        if entry.pose != pose {
            self.state += 1;
            entry.moved = self.state;
        }
        (entry.pose, entry.body.pose) = (pose, pose.pose());
        true
    }

    pub fn set_bytes(&mut self, number: u64, bytes: &[u8]) -> bool {
        let Some(entry) = self.bodies.get_mut(&number) else { return false };
        if *entry.body.bytes != *bytes {
            self.state += 1;
            entry.changed = self.state;
            entry.body.bytes = Arc::from(bytes);
            entry.size = BodySize::of(&entry.body);
        }
        true
    }

    pub fn remove(&mut self, number: u64) -> Option<SharedBody> {
        let removed = self.bodies.remove(&number)?;
        self.state += 1;
        Some(removed.body)
    }

    /// Shows the avatar of a guest, and returns its number.
    pub fn set_avatar(&mut self, known: Option<u64>, guest: u64, avatar: &Avatar) -> u64 {
        if let Some(number) = known
            && self.set_pose(number, avatar.pose)
        {
            self.set_bytes(number, &avatar.bytes);
            return number;
        }
        let (kind, bytes) = (SharedBodyKind::Avatar(guest), Arc::from(&*avatar.bytes));
        self.add(SharedBody { kind, pose: avatar.pose.pose(), bytes }, avatar.pose)
    }

    /// Bytes of memory.
    pub fn memory(&self) -> usize {
        let bytes: usize = self.bodies.values().map(|entry| entry.body.bytes.len()).sum();
        bytes + self.bodies.len() * size_of::<(u64, HostedBody)>()
    }
}

/// What a guest says of its avatar.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Avatar {
    pub pose: WirePose,
    pub bytes: Vec<u8>,
}
