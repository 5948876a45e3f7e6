//! A host in the same process, for a world without a server.

use std::sync::Arc;
use terravox::generate::Hills;
use terravox::replicate::{GeneratorId, Guest, Host, HostEvent, HostOptions, HostWorld, LinkKind};
use terravox::replicate::{PipeError, Verdict};
use terravox::terrain::{FillRequest, UnsavedChanges};
use terravox::voxel::{GridOptions, UnlistedChunks, VoxelGrid};
use terravox_store::{Generator, Store, StoreError, WorldInfo};

/// Undo history of the one guest.
const HISTORY_BYTES: usize = 32 << 20;

/// A stored world, and the host that decides about its edits.
pub struct OwnHost {
    host: Host,
    store: Store,
    grid: VoxelGrid,
    /// `None` for a complete world.
    hills: Option<Hills>,
    guest: u64,
    unit: Vec<u8>,
}

impl OwnHost {
    /// Serves a stored world to one guest.
    ///
    /// # Errors
    /// If it grows from a generator other than [`Hills`], or a part of it is damaged.
    pub fn new(store: Store) -> Result<OwnHost, StoreError> {
        let info = store.info();
        let mut options = HostOptions { history_bytes: HISTORY_BYTES, ..HostOptions::default() };
        let (mut hills, mut edited) = (None, Vec::new());
        let grid = match &info.generator {
            Some(made) if info.grows() => {
                store.check_generator(Hills::NAME, Hills::VERSION, made.seed)?;
                hills = Some(Hills::new(made.seed));
                options.generator = Some(GeneratorId::of_hills(made.seed));
                edited = store.chunks()?;
                let (unlisted, materials) = (UnlistedChunks::Unknown, info.materials.clone());
                VoxelGrid::new(GridOptions { unlisted, materials })
            }
            _ => store.load()?.grid,
        };
        let mut host = Host::new(options);
        host.mark_edited(edited);
        let guest = host.connect(LinkKind::Reliable);
        Ok(OwnHost { host, store, grid, hills, guest, unit: Vec::new() })
    }

    /// Takes what the guest sends, and gives it what the host sends.
    pub fn exchange(&mut self, guest: &mut Guest, now_us: u64) -> Result<(), PipeError> {
        while guest.transmit(now_us, &mut self.unit) {
            // One that breaks the protocol is disconnected.
            let _ = self.host.receive(self.guest, &self.unit, now_us);
        }
        let hills = self.hills.as_ref();
        let generated = |request: &mut FillRequest<'_>| fill_ground(hills, request);
        let ground = |request: &mut FillRequest<'_>| self.store.fill(request, generated);
        let mut world = HostWorld {
            grid: &mut self.grid,
            placement: self.store.info().placement(),
            ground: &ground,
            generated: &generated,
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

    /// Whether all edits are stored.
    pub fn is_saved(&self) -> bool {
        self.grid.is_saved()
    }

    /// Stores all edits.
    pub fn save(&mut self) -> Result<(), StoreError> {
        let unsaved = UnsavedChanges::from(self.grid.unsaved());
        let hills = self.hills.as_ref();
        let generated = |request: &mut FillRequest<'_>| fill_ground(hills, request);
        self.store.save(&unsaved, |request| self.store.fill(request, generated))?;
        self.grid.mark_saved(&unsaved.chunks);
        Ok(())
    }
}

/// Opens what is on a disk, or makes a new world of hills on an empty one.
pub fn open_or_create(
    disk: Arc<dyn terravox_store::Disk>,
    name: &str,
    seed: u64,
) -> Result<Store, StoreError> {
    match disk.length() {
        Ok(0) => {
            let info = WorldInfo::growing(Default::default(), Generator::hills(seed));
            Store::create_on(disk, name, &info)
        }
        _ => Store::open_on(disk, name),
    }
}

/// Fills a block as the generator makes it.
pub fn fill_ground(hills: Option<&Hills>, request: &mut FillRequest<'_>) {
    match hills {
        Some(hills) => {
            let mip = request.mip();
            hills.fill(request.cells(), mip);
        }
        None => request.set_missing(),
    }
}
