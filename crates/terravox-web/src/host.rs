//! A host in the same process, for a world without a server.

use std::cell::Cell;
use std::io;
use std::sync::Arc;
use terravox::generate::{Hills, Seeded};
use terravox::replicate::{GeneratorId, Guest, Host, HostEvent, HostOptions, HostWorld, LinkKind};
use terravox::replicate::{PipeError, Verdict};
use terravox::terrain::{FillRequest, UnsavedChanges};
use terravox::voxel::{GridOptions, UnlistedChunks, VoxelGrid};
use terravox_store::{BadPart, Disk, Generator, MemoryDisk, Store, StoreError, WorldInfo};

/// Memory that the cells of a complete world may take: its file can claim a thousand times its
/// size, and WebAssembly has 4 GiB at most.
const MAX_LOCAL_WORLD_BYTES: u64 = 1 << 30;

/// Undo history of the one guest.
const HISTORY_BYTES: usize = 32 << 20;

/// Bytes at the start of a file that are written last: with all else in place, they make it a
/// world. A sector, which disks write whole or not at all.
const START_BYTES: usize = 512;

/// A stored world, and the host that decides about its edits.
pub struct LocalHost {
    host: Host,
    store: Store,
    /// What the store is on.
    disk: Arc<dyn Disk>,
    grid: VoxelGrid,
    /// `None` for a complete world.
    seeded: Option<Seeded>,
    /// Whether a part of the stored world could not be read.
    has_unreadable: bool,
    guest: u64,
    packet: Vec<u8>,
}

impl LocalHost {
    /// Serves the world on a disk to one guest. With a seed, makes a world of hills on an empty disk.
    ///
    /// # Errors
    /// If it is not a world, or grows from a generator other than ours; for a complete world, if
    /// any part is damaged, or it takes more than 1 GiB of memory. Of a world that grows, the
    /// listings are checked; damaged chunks are found when they are read.
    pub fn open(
        disk: Arc<dyn Disk>,
        name: &str,
        seed: Option<u64>,
    ) -> Result<LocalHost, StoreError> {
        let store = match seed {
            Some(seed) => open_or_create(disk.clone(), name, seed)?,
            None => open_existing(disk.clone(), name)?,
        };
        let info = store.info();
        info.placement().check().map_err(|error| {
            let what = error.to_string();
            StoreError::Refused { path: name.into(), what }
        })?;
        let mut options = HostOptions { history_bytes: HISTORY_BYTES, ..HostOptions::default() };
        let (mut seeded, mut edited) = (None, Vec::new());
        let grid = match info.grows() {
            true => {
                seeded = info.generator.as_ref().and_then(Generator::seeded);
                if seeded.is_none() {
                    let seed = info.generator.as_ref().map_or(0, |made| made.seed);
                    store.check_generator(Hills::NAME, Hills::VERSION, seed)?;
                }
                options.generator = seeded.as_ref().map(GeneratorId::of);
                edited = store.chunks()?;
                let (unlisted, materials) = (UnlistedChunks::Unknown, info.materials.clone());
                VoxelGrid::new(GridOptions { unlisted, materials })
            }
            false => {
                let loaded = store.load_with(MAX_LOCAL_WORLD_BYTES, |_, _| {})?;
                if let Some(BadPart { part, what }) = loaded.bad.into_iter().next() {
                    return Err(StoreError::Damaged { path: name.into(), part, what });
                }
                loaded.grid
            }
        };
        let mut host = Host::new(options);
        host.mark_edited(edited);
        let guest = host.connect(LinkKind::Reliable);
        let (has_unreadable, packet) = (false, Vec::new());
        Ok(LocalHost { host, store, disk, grid, seeded, has_unreadable, guest, packet })
    }

    /// Takes what the guest sends, and gives it what the host sends. Returns whether a part of the
    /// stored world could not be read, for the first time.
    pub fn exchange(&mut self, guest: &mut Guest, now_us: u64) -> Result<bool, PipeError> {
        while guest.transmit(now_us, &mut self.packet) {
            // One that breaks the protocol is disconnected.
            let _ = self.host.receive(self.guest, &self.packet, now_us);
        }
        let seeded = self.seeded.as_ref();
        let generated = |request: &mut FillRequest<'_>| fill_ground(seeded, request);
        let had_unreadable = self.has_unreadable;
        let has_unreadable = Cell::new(had_unreadable);
        let ground = |request: &mut FillRequest<'_>| {
            self.store.fill(request, generated);
            has_unreadable.set(has_unreadable.get() || request.is_missing());
        };
        let mut world = HostWorld {
            grid: &mut self.grid,
            placement: self.store.info().placement(),
            ground: &ground,
            generated: &generated,
            prefetch: &|_| true,
            decide: &mut |_, _| Verdict::Accept,
        };
        self.host.tick(&mut world, now_us);
        for event in self.host.events() {
            if let HostEvent::Joining { guest, .. } = event {
                self.host.admit(guest, &world);
            }
        }
        self.has_unreadable = has_unreadable.get();
        while self.host.transmit(self.guest, now_us, &mut self.packet) {
            guest.receive(&self.packet, now_us)?;
        }
        Ok(self.has_unreadable && !had_unreadable)
    }

    /// Whether all edits are stored.
    pub fn is_saved(&self) -> bool {
        self.grid.is_saved()
    }

    /// A copy of the world with all edits, as the bytes of a `.tvx` file.
    pub fn to_bytes(&self) -> Result<Vec<u8>, StoreError> {
        let stored = self.stored_bytes()?;
        if self.is_saved() {
            return Ok(stored);
        }
        let disk = Arc::new(MemoryDisk::from(stored));
        self.save_to(&Store::open_on(disk.clone(), self.store.path())?)?;
        Ok(disk.to_bytes())
    }

    fn stored_bytes(&self) -> Result<Vec<u8>, StoreError> {
        let read = || {
            let mut bytes = vec![0; self.disk.length()? as usize];
            self.disk.read_at(0, &mut bytes).map(|()| bytes)
        };
        let path = self.store.path().to_owned();
        read().map_err(|source| StoreError::Io { path, doing: "read", source })
    }

    /// Stores all edits.
    pub fn save(&mut self) -> Result<(), StoreError> {
        let saved = self.save_to(&self.store)?;
        self.grid.mark_saved(&saved.chunks);
        Ok(())
    }

    /// Writes the edits that are not stored yet into a store of this world; returns them.
    fn save_to(&self, store: &Store) -> Result<UnsavedChanges, StoreError> {
        let unsaved = UnsavedChanges::from(self.grid.unsaved());
        let seeded = self.seeded.as_ref();
        let generated = |request: &mut FillRequest<'_>| fill_ground(seeded, request);
        store.save(&unsaved, |request| store.fill(request, generated))?;
        Ok(unsaved)
    }
}

/// Opens the world on a disk that has to have one.
fn open_existing(disk: Arc<dyn Disk>, name: &str) -> Result<Store, StoreError> {
    let new_bytes = new_world(u64::MAX)?.len();
    Store::open_on(disk.clone(), name).map_err(|error| match is_interrupted(&*disk, new_bytes) {
        Ok(true) => {
            let what = "there is no world in it, or only the start of a new one: delete it";
            StoreError::Refused { path: name.into(), what: what.to_owned() }
        }
        _ => error,
    })
}

/// Opens what is on a disk, or makes a new world of hills where there is none yet.
fn open_or_create(disk: Arc<dyn Disk>, name: &str, seed: u64) -> Result<Store, StoreError> {
    let io_error = |doing| move |source| StoreError::Io { path: name.into(), doing, source };
    let new = new_world(seed)?;
    if disk.length().map_err(io_error("open"))? > 0 {
        let opened = Store::open_on(disk.clone(), name);
        let is_over =
            opened.is_ok() || !is_interrupted(&*disk, new.len()).map_err(io_error("open"))?;
        if is_over {
            return opened;
        }
    }
    write_new(&*disk, &new).map_err(io_error("create the world"))?;
    Store::open_on(disk, name)
}

/// Whether a disk is empty, or what is on it may be a new world of some length whose writing was
/// interrupted. A world with edits is longer.
fn is_interrupted(disk: &dyn Disk, new_bytes: usize) -> io::Result<bool> {
    let length = disk.length()?;
    let mut start = vec![0; START_BYTES.min(length as usize)];
    disk.read_at(0, &mut start)?;
    Ok(length <= new_bytes as u64 && start.iter().all(|byte| *byte == 0))
}

/// The bytes of a new world of hills.
fn new_world(seed: u64) -> Result<Vec<u8>, StoreError> {
    let new = Arc::new(MemoryDisk::default());
    let info = WorldInfo::growing(Default::default(), Generator::hills(seed));
    Store::create_on(new.clone(), "a new world", &info)?;
    Ok(new.to_bytes())
}

/// Writes a new world, its start last: one that is interrupted leaves zeros there.
fn write_new(disk: &dyn Disk, bytes: &[u8]) -> io::Result<()> {
    let (start, rest) = bytes.split_at(START_BYTES.min(bytes.len()));
    disk.write_at(start.len() as u64, rest)?;
    disk.sync()?;
    disk.write_at(0, start)?;
    disk.sync()
}

/// Fills a block as the generator makes it.
pub fn fill_ground(seeded: Option<&Seeded>, request: &mut FillRequest<'_>) {
    match seeded {
        Some(seeded) => {
            let mip = request.mip();
            seeded.fill(request.cells(), mip);
        }
        None => request.set_missing(),
    }
}
