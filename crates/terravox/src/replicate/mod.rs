//! Multiplayer: a host that owns the world, and guests (clients) that hold the part that they see.
//!
//! Both take and return bytes, and you pass in the time: there are no threads, sockets or async
//! here, so it fits any game's netcode, a server, and a browser. A [`Host`] decides about edits and
//! sends each [`Guest`] the blocks that it requests. A guest predicts its own edits, and shows the
//! world in a [`Terrain`](crate::Terrain).
//!
//! A world that is all in the grid, and a guest without a network between:
//!
//! ```
//! use terravox::edit::EditOp;
//! use terravox::replicate::{
//!     Guest, GuestEvent, Host, HostEvent, HostOptions, HostWorld, Interest, LinkKind, Verdict,
//! };
//! use terravox::terrain::{FillRequest, Placement};
//! use terravox::voxel::{GridOptions, VoxelGrid, VoxelPos};
//!
//! let no_ground = |request: &mut FillRequest<'_>| request.set_missing();
//! let mut grid = VoxelGrid::new(GridOptions::default());
//! let mut host = Host::new(HostOptions::default());
//! let mut guest = Guest::new(LinkKind::Reliable, b"a token");
//! let number = host.connect(LinkKind::Reliable);
//! let mut packet = Vec::new();
//! for tick in 0..60 {
//!     let now_us = tick * 16_000;
//!     while guest.transmit(now_us, &mut packet) {
//!         host.receive(number, &packet, now_us)?;
//!     }
//!     let mut world = HostWorld {
//!         grid: &mut grid,
//!         placement: Placement::default(),
//!         ground: &no_ground,
//!         generated: &no_ground,
//!         prefetch: &|_| true,
//!         decide: &mut |_guest, _op| Verdict::Accept,
//!     };
//!     host.tick(&mut world, now_us);
//!     for event in host.events() {
//!         if let HostEvent::Joining { guest, .. } = event {
//!             host.admit(guest, &world);
//!         }
//!     }
//!     while host.transmit(number, now_us, &mut packet) {
//!         guest.receive(&packet, now_us)?;
//!     }
//!     guest.update(no_ground)?;
//!     for event in guest.events() {
//!         if let GuestEvent::Welcome { .. } = event {
//!             guest.start(false); // it has no generator: all cells are sent
//!         }
//!     }
//!     guest.watch(&[[0.0; 3]], &Interest::default()); // where its player looks from
//!     if tick == 30 {
//!         guest.edit(&EditOp::fill_ball(8, [0.0; 3], 6.0))?;
//!         assert_eq!(guest.pending_edits(), 1); // shown at once, not decided yet
//!     }
//! }
//! assert!(guest.is_complete() && guest.pending_edits() == 0);
//! assert_eq!(grid.cell(VoxelPos::ZERO)?.material, 8);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! `docs/online.md` has a longer program, with generated ground and rules, and says what is promised.
//! The example `multiplayer` runs two players over bad links.
//!
//! - Unedited ground is not sent if the guest has the generator with the same [`GeneratorId`].
//! - Guests that hold everything that an edit reads receive the operation and a digest of the
//!   result; all others receive the changed cells. Both sides compute the coarse cells over an
//!   edit.
//! - Coarse blocks are sent first. Operations have a stream of their own, and go first in every
//!   packet: they wait for cells only while the link is full.
//! - A guest that reads slowly gets the latest cells, not a queue of all changes.
//!
//! `docs/format.md` has every byte of every message.

mod accounts;
mod body_budget;
mod body_size;
mod body_table;
mod delta;
mod encoded;
mod family;
mod generator_id;
mod guest;
mod guest_bodies;
mod guest_cache;
mod guest_event;
mod guest_requests;
mod guest_saves;
mod guest_terrain;
mod held_bodies;
mod host;
mod host_accounts;
mod host_bodies;
mod host_cells;
mod host_event;
mod host_ground;
mod host_messages;
mod host_saves;
mod hosted;
mod interest;
mod link;
mod message;
mod op_wire;
mod options;
mod pipe;
mod pose_wire;
mod predictions;
mod reasons;
mod receiving;
mod replica;
mod seen_bodies;
mod shared_body;
mod subscription;
#[cfg(test)]
mod tests;
mod truth;
mod wire;
mod world_info;

pub use generator_id::GeneratorId;
pub use guest::Guest;
pub use guest_event::GuestEvent;
pub use host::Host;
pub use host_event::HostEvent;
pub use host_saves::SavePoint;
pub use interest::Interest;
pub use link::{LinkOptions, VirtualLink};
pub use message::PROTOCOL_VERSION;
pub use options::HostOptions;
pub use pipe::LinkKind;
pub use reasons::{LinkEnd, LinkEndCode, Refusal, RefusalCode};
pub use shared_body::{SharedBody, SharedBodyKind};
pub use truth::HostWorld;
pub use wire::{MessageError, printable};

use crate::edit::EditOp;
use crate::voxel::Region;
use std::fmt;

/// What a game decides about an operation of a guest.
#[derive(Clone, Debug, PartialEq)]
pub enum Verdict {
    /// It is applied, unless it exceeds the guest's budget of work or needs a chunk that is not
    /// available: act on [`HostEvent::Edited`], not in `decide`.
    Accept,
    /// Another operation is applied in its place. The guest is told that its operation was
    /// confirmed, and is sent what was applied instead. To tell the player why, send a message of
    /// your own.
    Replace(Box<EditOp>),
    /// Only the part of an operation within a region, in voxels, is applied. The guest is told that
    /// its operation was confirmed, and is sent the changed cells. In a world that servers share, the
    /// part also holds for the servers beyond a border; with one host, the rest is dropped.
    Part(Box<EditOp>, Region),
    /// Nothing is applied; the guest is told why. A text is enough:
    /// `Verdict::Refuse("too deep".into())`.
    Refuse(Refusal),
}

/// How a peer broke the protocol of packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum PipeError {
    /// A packet is not valid.
    Invalid,
    /// A message is longer than allowed.
    TooLong,
    /// More bytes were sent than this side allowed.
    Flooded,
}

impl fmt::Display for PipeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            PipeError::Invalid => "the peer sent an invalid packet",
            PipeError::TooLong => "the peer sent a message of more than 128 KiB",
            PipeError::Flooded => "the peer sent more than it was allowed to",
        })
    }
}

impl std::error::Error for PipeError {}
