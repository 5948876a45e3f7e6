//! A host in the same process, for a world without a server.

use terravox::generate::Hills;
use terravox::replicate::{GeneratorId, Guest, Host, HostEvent, HostOptions, HostWorld, LinkKind};
use terravox::replicate::{PipeError, Verdict};
use terravox::terrain::{FillRequest, Placement};
use terravox::voxel::{GridOptions, UnlistedChunks, VoxelGrid};

/// Undo history of the one guest.
const HISTORY_BYTES: usize = 32 << 20;

/// A generated world, and the host that decides about its edits.
pub struct OwnHost {
    host: Host,
    grid: VoxelGrid,
    hills: Hills,
    guest: u64,
    unit: Vec<u8>,
}

impl OwnHost {
    pub fn new(seed: u64) -> OwnHost {
        let generator = Some(GeneratorId::of_hills(seed));
        let unlisted = UnlistedChunks::Unknown;
        let history_bytes = HISTORY_BYTES;
        let mut host =
            Host::new(HostOptions { generator, history_bytes, ..HostOptions::default() });
        let guest = host.connect(LinkKind::Reliable);
        OwnHost {
            host,
            grid: VoxelGrid::new(GridOptions { unlisted, ..GridOptions::default() }),
            hills: Hills::new(seed),
            guest,
            unit: Vec::new(),
        }
    }

    /// Takes what the guest sends, and gives it what the host sends.
    pub fn exchange(&mut self, guest: &mut Guest, now_us: u64) -> Result<(), PipeError> {
        while guest.transmit(now_us, &mut self.unit) {
            // One that breaks the protocol is disconnected.
            let _ = self.host.receive(self.guest, &self.unit, now_us);
        }
        let hills = &self.hills;
        let ground = |request: &mut FillRequest<'_>| {
            let mip = request.mip();
            hills.fill(request.cells(), mip);
        };
        let mut world = HostWorld {
            grid: &mut self.grid,
            placement: Placement::default(),
            ground: &ground,
            generated: &ground,
            decide: &mut |_, _| Verdict::Accept,
        };
        self.host.tick(&mut world, now_us);
        for event in self.host.events() {
            if let HostEvent::Joining { guest, .. } = event {
                self.host.admit(guest, &world);
            }
        }
        while self.host.transmit(self.guest, now_us, &mut self.unit) {
            guest.receive(&self.unit, now_us)?;
        }
        Ok(())
    }
}
