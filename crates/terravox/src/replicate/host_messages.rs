//! What the games at both ends of a link tell each other.

use super::host::Host;
use super::message::{GAME_MESSAGE_BACKLOG, MAX_GAME_MESSAGE, ToGuest};
use super::pipe::EDITS;
use crate::voxel::Kind;

impl Host {
    /// Tells a guest something, such as that it has won. It arrives, once, as
    /// [`GuestEvent::Message`](super::GuestEvent::Message), after what was sent about edits before; one
    /// that is on its way when the link breaks is lost. Returns false, and sends nothing, if the guest is
    /// not here or has not [started](super::Guest::start), and while 64 KiB of messages about edits wait for
    /// its link.
    ///
    /// ```
    /// use terravox::replicate::{Guest, GuestEvent, Host, HostEvent, HostOptions, HostWorld, LinkKind};
    /// # use terravox::edit::EditOp;
    /// # use terravox::replicate::Verdict;
    /// # use terravox::terrain::{FillRequest, Placement};
    /// # use terravox::voxel::VoxelGrid;
    ///
    /// let mut host = Host::new(HostOptions::default());
    /// let (number, mut guest) = (host.connect(LinkKind::Reliable), Guest::new(LinkKind::Reliable, b""));
    /// # let (mut grid, mut packet) = (VoxelGrid::default(), Vec::new());
    /// # let air = |request: &mut FillRequest<'_>| request.fill(0);
    /// # let mut decide = |_: u64, _: &EditOp| Verdict::Accept;
    /// # let (placement, grid) = (Placement::default(), &mut grid);
    /// # let mut world =
    /// #     HostWorld { grid, placement, ground: &air, generated: &air, prefetch: &|_| true, decide: &mut decide };
    /// let (mut is_sent, mut heard) = (false, Vec::new());
    /// for now_us in (0..100_000).step_by(10_000) {
    ///     while guest.transmit(now_us, &mut packet) {
    ///         host.receive(number, &packet, now_us)?;
    ///     }
    ///     host.tick(&mut world, now_us);
    ///     for event in host.events() {
    ///         if let HostEvent::Joining { guest, .. } = event {
    ///             host.admit(guest, &world);
    ///         }
    ///     }
    ///     is_sent = is_sent || host.send_message(number, b"the gate is open");
    ///     while host.transmit(number, now_us, &mut packet) {
    ///         guest.receive(&packet, now_us)?;
    ///     }
    ///     guest.update(air)?;
    ///     for event in guest.events() {
    ///         match event {
    ///             GuestEvent::Welcome { .. } => guest.start(false),
    ///             GuestEvent::Message { bytes } => heard.push(bytes),
    ///             _ => {}
    ///         }
    ///     }
    /// }
    /// assert_eq!(heard, [b"the gate is open"]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Panics
    /// If there are more than [`Host::MAX_MESSAGE_BYTES`].
    pub fn send_message(&mut self, guest: u64, bytes: &[u8]) -> bool {
        assert!(bytes.len() <= MAX_GAME_MESSAGE, "a message has at most 1024 bytes");
        let Some(entry) = self.guests.get_mut(&guest) else { return false };
        let may_send = entry.has_started && entry.pipe.backlog(EDITS) < GAME_MESSAGE_BACKLOG;
        if may_send {
            // It has no cells.
            entry.send(EDITS, &ToGuest::Game(bytes.to_vec()), &[Kind::Air; 256]);
        }
        may_send
    }

    /// Maximum size of a message to a guest in bytes.
    pub const MAX_MESSAGE_BYTES: usize = MAX_GAME_MESSAGE;
}
