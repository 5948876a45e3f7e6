//! The world of one player: what is held of it, and what is shown.

use crate::clipboard::{Clipboard, clearing};
use crate::host::{LocalHost, fill_ground};
use crate::outbox::Outbox;
use std::collections::VecDeque;
use std::sync::Arc;
use terravox::bodies::{BodyPose, LooseBody};
use terravox::edit::{EditError, EditOp, Editor};
use terravox::generate::Seeded;
use terravox::lod::{LodOptions, MeshSwap, ShownMesh};
use terravox::replicate::{GeneratorId, Guest, GuestEvent, Interest, LinkKind, SharedBody};
use terravox::terrain::{Budget, Clock, FillRequest, RayHit, Terrain, TerrainOptions, Viewer};
use terravox::voxel::{MAX_MIP, MipBlock, Region, VoxelPos};
use terravox_io::gltf::{GlbBlock, GlbOptions, GlbWriter};
use terravox_io::tiles::ExportFrame;
use terravox_store::{Disk, MemoryDisk};

/// Maximum number of events that wait to be taken.
const MAX_NEWS: usize = 64;

/// Options of a [`PlayerWorld`].
#[derive(Clone, Debug)]
pub struct PlayerWorldOptions {
    /// View distance, metres.
    pub view_m: f64,
    /// Level of detail. Of [`LodOptions::max_mip`], as much is used as the view distance needs.
    pub lod: LodOptions,
    /// A clock for [`Budget::Millis`], where the target has none.
    pub clock: Option<Clock>,
}

impl Default for PlayerWorldOptions {
    /// A view of 2 km with geomorphing.
    fn default() -> PlayerWorldOptions {
        let lod = LodOptions { morph: true, detail: 2.3, ..LodOptions::default() };
        PlayerWorldOptions { view_m: 2000.0, lod, clock: None }
    }
}

/// What the player is told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum News {
    /// The world is here, and can be edited.
    Joined,
    /// An operation was refused: why.
    Refused(String),
    /// A part of a local world cannot be read, and stays missing. It is told once.
    Unreadable,
    /// The game at the host said something: [`GuestEvent::Message`].
    Message(Vec<u8>),
}

/// The world of one player.
pub struct PlayerWorld {
    options: PlayerWorldOptions,
    guest: Guest,
    /// `None` if a server has it.
    host: Option<LocalHost>,
    clipboard: Option<Clipboard>,
    /// The generator of the world; and as one that makes its ground, if this crate has it.
    generator: Option<GeneratorId>,
    seeded: Option<Seeded>,
    /// `None` until the host has let this guest in.
    terrain: Option<Terrain>,
    now_us: u64,
    /// Whether edits can be sent.
    is_joined: bool,
    /// Operations in voxels.
    outbox: Outbox,
    /// Whether all meshes that were taken so far are to be dropped.
    has_new_meshes: bool,
    /// All meshes, where they were asked for again.
    all_meshes: Option<MeshSwap>,
    news: VecDeque<News>,
}

impl PlayerWorld {
    /// Joins the world of a server with an access token, empty if none is needed.
    ///
    /// # Errors
    /// If the token has more than [`Guest::MAX_TOKEN`] bytes.
    pub fn join(token: &[u8], options: PlayerWorldOptions) -> Result<PlayerWorld, String> {
        if token.len() > Guest::MAX_TOKEN {
            return Err(format!(
                "the token has {} bytes; at most {}",
                token.len(),
                Guest::MAX_TOKEN
            ));
        }
        Ok(PlayerWorld::new(Guest::new(LinkKind::Reliable, token), options))
    }

    /// Makes a local world of hills in memory.
    ///
    /// # Panics
    /// If there is no memory for some kilobytes.
    pub fn new_in_memory(seed: u64, options: PlayerWorldOptions) -> PlayerWorld {
        let disk = Arc::new(MemoryDisk::default());
        let made = PlayerWorld::open_or_create(disk, "a new world", seed, options);
        made.expect("memory takes a new world")
    }

    /// Opens a local world on a disk; on an empty disk, makes a world of hills. Edits are written by
    /// [`PlayerWorld::save`].
    ///
    /// # Errors
    /// If what is there is no world, is damaged, or grows from a generator other than
    /// ours; the text begins with `name`.
    pub fn open_or_create(
        disk: Arc<dyn Disk>,
        name: &str,
        seed: u64,
        options: PlayerWorldOptions,
    ) -> Result<PlayerWorld, String> {
        PlayerWorld::open(disk, name, Some(seed), options)
    }

    /// Opens a local world on a disk as [`PlayerWorld::open_or_create`], but never makes one.
    ///
    /// # Errors
    /// As [`PlayerWorld::open_or_create`], and if there is nothing, or only a part of a new world.
    pub fn open_existing(
        disk: Arc<dyn Disk>,
        name: &str,
        options: PlayerWorldOptions,
    ) -> Result<PlayerWorld, String> {
        PlayerWorld::open(disk, name, None, options)
    }

    fn open(
        disk: Arc<dyn Disk>,
        name: &str,
        seed: Option<u64>,
        options: PlayerWorldOptions,
    ) -> Result<PlayerWorld, String> {
        let host = LocalHost::open(disk, name, seed).map_err(|error| error.to_string())?;
        let world = PlayerWorld::new(Guest::new(LinkKind::Reliable, b""), options);
        Ok(PlayerWorld { host: Some(host), ..world })
    }

    fn new(guest: Guest, options: PlayerWorldOptions) -> PlayerWorld {
        PlayerWorld {
            options,
            guest,
            host: None,
            clipboard: None,
            generator: None,
            seeded: None,
            terrain: None,
            now_us: 0,
            is_joined: false,
            outbox: Outbox::default(),
            has_new_meshes: false,
            all_meshes: None,
            news: VecDeque::new(),
        }
    }

    /// Whether all edits of a local world are written; true with a server, which saves them itself.
    pub fn is_saved(&self) -> bool {
        self.host.as_ref().is_none_or(|host| host.is_saved() && self.pending_edits() == 0)
    }

    /// Writes the edits of a local world that [`PlayerWorld::update`] has passed on; its file is
    /// consistent at any moment.
    ///
    /// # Errors
    /// If they cannot be written: they stay in memory, and the next call tries again.
    pub fn save(&mut self) -> Result<(), String> {
        match &mut self.host {
            Some(host) if !host.is_saved() => host.save().map_err(|error| error.to_string()),
            _ => Ok(()),
        }
    }

    /// Returns a local world, with all edits that [`PlayerWorld::update`] has passed on, as the bytes
    /// of a `.tvx` file; `None` with a server.
    ///
    /// # Errors
    /// If they cannot be read.
    pub fn to_bytes(&self) -> Result<Option<Vec<u8>>, String> {
        let bytes = self.host.as_ref().map(LocalHost::to_bytes).transpose();
        bytes.map_err(|error| error.to_string())
    }

    /// Takes a packet that came from the server.
    ///
    /// # Errors
    /// If the server breaks the protocol: give the link up.
    pub fn receive(&mut self, packet: &[u8], now_us: u64) -> Result<(), String> {
        self.guest.receive(packet, now_us).map_err(|error| error.to_string())
    }

    /// Writes the next packet for the server, or returns false: nothing is to be sent now.
    pub fn transmit(&mut self, now_us: u64, out: &mut Vec<u8>) -> bool {
        self.host.is_none() && self.guest.transmit(now_us, out)
    }

    /// Begins again over a new link, with all that is held: call it when that is open. Until then,
    /// [`PlayerWorld::update_terrain`] shows what is held, and edits go on; they stay in sight
    /// however many links break before the server lets this guest in. Operations without a reply
    /// are sent again once it has let this guest in, some in each update; one that had arrived is
    /// then applied twice. Undo and redo without a reply are dropped. If the server has another
    /// world now (another placement, other materials or another generator), all operations are
    /// dropped, and so is what was copied. Complete worlds that differ in none of these cannot be
    /// told apart.
    pub fn reconnect(&mut self) {
        let in_flight = self.guest.pending_edits();
        let lost_edits = self.guest.reconnect(LinkKind::Reliable).len();
        self.outbox.break_off();
        self.is_joined = false;
        self.show_unsent();
        if in_flight > lost_edits {
            let what = "the connection broke before the server replied to an undo or redo";
            self.tell(News::Refused(what.to_owned()));
        }
    }

    /// Applies what arrived, and updates terrain and meshes for the view from `eye_m`, within a
    /// budget. Call it once a frame.
    ///
    /// # Errors
    /// Why the server ended the connection, or how it broke the protocol.
    pub fn update(&mut self, now_us: u64, eye_m: [f64; 3], budget: Budget) -> Result<(), String> {
        self.now_us = now_us;
        let exchanged = self.host.as_mut().map(|host| host.exchange(&mut self.guest, now_us));
        if exchanged.transpose().map_err(|error| error.to_string())? == Some(true) {
            self.tell(News::Unreadable);
        }
        let seeded = self.seeded;
        let ground = |request: &mut FillRequest<'_>| fill_ground(seeded.as_ref(), request);
        let updated = self.guest.update(ground);
        for event in self.guest.events() {
            self.follow(event);
        }
        updated?;
        self.send_unsent();
        self.update_terrain(eye_m, budget);
        Ok(())
    }

    fn send_unsent(&mut self) {
        if !self.is_joined {
            return;
        }
        let (in_flight, guest) = (self.guest.pending_edits(), &mut self.guest);
        let failed = self.outbox.send_unsent(in_flight, self.now_us, |order, op| {
            let sent = guest.edit(op);
            guest.hide_unsent(order);
            sent
        });
        // They were valid before the break, but cells that they read may be gone.
        for error in failed {
            self.tell(News::Refused(explained(&error)));
        }
        self.show_unsent();
    }

    /// Shows operations that are not sent yet.
    fn show_unsent(&mut self) {
        let (in_flight, guest) = (self.guest.pending_edits(), &mut self.guest);
        self.outbox.show_unsent(in_flight, |order, op| {
            // It was checked when it was made.
            let _ = guest.show_unsent(order, op);
        });
    }

    /// Updates terrain and meshes only, within a budget, and leaves what arrived for
    /// [`PlayerWorld::update`]: so that edits are meshed before they are applied to the host's cells.
    pub fn update_terrain(&mut self, eye_m: [f64; 3], budget: Budget) {
        let seeded = self.seeded;
        let ground = |request: &mut FillRequest<'_>| fill_ground(seeded.as_ref(), request);
        let Some(terrain) = &mut self.terrain else { return };
        let placement = terrain.placement();
        let view_voxels = self.options.view_m / placement.voxel_size_m;
        let interest = Interest::for_lod(terrain.lod().options(), view_voxels);
        self.guest.watch(&[placement.voxel_from_world(eye_m)], &interest);
        let viewer = Viewer { position_m: eye_m, distance_m: self.options.view_m };
        // Before the update, so that what changed is meshed in it.
        self.guest.show(terrain, ground);
        let guest = &self.guest;
        terrain.update(&[viewer], budget, |request| guest.fill(request, ground));
    }

    fn follow(&mut self, event: GuestEvent) {
        if !self.outbox.handle_event(&event, self.now_us) {
            return;
        }
        let news = match event {
            GuestEvent::Welcome { generator, .. } => {
                self.seeded = generator.as_ref().and_then(GeneratorId::seeded);
                self.guest.start(self.seeded.is_some());
                self.start(generator);
                self.is_joined = true;
                News::Joined
            }
            GuestEvent::Refused { reason, .. } => News::Refused(reason),
            GuestEvent::Message { bytes } => News::Message(bytes),
            _ => return,
        };
        self.tell(news);
    }

    fn tell(&mut self, news: News) {
        if self.news.len() == MAX_NEWS {
            self.news.pop_front();
        }
        self.news.push_back(news);
    }

    /// Makes the terrain, unless that of an earlier link is the same.
    fn start(&mut self, generator: Option<GeneratorId>) {
        let (Some(placement), Some(grid)) = (self.guest.placement(), self.guest.grid()) else {
            return;
        };
        let materials = grid.materials();
        let is_same = self.terrain.as_ref().is_some_and(|terrain| {
            let is_placed = terrain.placement() == placement;
            is_placed && terrain.grid().materials() == materials && self.generator == generator
        });
        self.generator = generator;
        if is_same {
            return;
        }
        let mut lod = self.options.lod.clone();
        let view_voxels = self.options.view_m / placement.voxel_size_m;
        lod.max_mip = lod.max_mip.min(coarsest_mip(view_voxels, lod.detail));
        let terrain = Terrain::new(TerrainOptions {
            placement,
            materials: materials.clone(),
            lod,
            clock: self.options.clock,
            ..TerrainOptions::default()
        });
        self.all_meshes = None;
        if self.terrain.replace(terrain).is_some() {
            self.has_new_meshes = true;
            self.drop_of_another_world();
        }
    }

    /// Drops what was edited and copied in the world before, and tells the player.
    fn drop_of_another_world(&mut self) {
        let dropped = self.outbox.clear();
        dropped.iter().for_each(|order| self.guest.hide_unsent(*order));
        let (edits, has_copy) = (dropped.len(), self.clipboard.take().is_some());
        if edits > 0 || has_copy {
            self.tell(News::Refused(format!(
                "the server has another world now: {edits} edits of the one before without a reply \
                 are dropped, and so is what was copied there"
            )));
        }
    }

    /// The terrain that is shown; `None` until the world is here.
    pub fn terrain(&self) -> Option<&Terrain> {
        self.terrain.as_ref()
    }

    /// Whether all meshes that were taken so far are to be dropped before the next ones are taken:
    /// the server has another world now, or [`PlayerWorld::reset_mesh_swaps`] was called. Each time
    /// that is said once.
    pub fn take_mesh_reset(&mut self) -> bool {
        std::mem::take(&mut self.has_new_meshes)
    }

    /// Lets [`PlayerWorld::mesh_swaps`] return all meshes again, for a graphics card that was lost.
    pub fn reset_mesh_swaps(&mut self) {
        if let Some(terrain) = &mut self.terrain {
            self.all_meshes = Some(terrain.reset_mesh_swaps());
            self.has_new_meshes = true;
        }
    }

    /// Takes what changed of the meshes that are shown.
    pub fn mesh_swaps(&mut self) -> Vec<MeshSwap> {
        let changed = self.terrain.iter_mut().flat_map(Terrain::mesh_swaps);
        self.all_meshes.take().into_iter().chain(changed).collect()
    }

    /// What is shown, at its levels of detail and with the colours of its materials, as the bytes
    /// of a `.glb` file; lengths are metres, and the origin is voxel (0, 0, 0).
    ///
    /// # Errors
    /// If there is nothing yet, or it would have more than 4 GiB.
    pub fn to_glb(&self) -> Result<Vec<u8>, String> {
        let terrain = self.terrain.as_ref().ok_or("the world is not here yet")?;
        let voxel_size_m = terrain.placement().voxel_size_m;
        let frame = ExportFrame { voxel_size_m, ..ExportFrame::default() };
        let options = GlbOptions { frame, ..GlbOptions::default() };
        let mut writer = GlbWriter::new(options, terrain.grid().materials());
        let lod = terrain.lod();
        for mip in 0..=lod.options().max_mip {
            let of_mip = lod.meshed_blocks().into_iter().filter(|block| block.mip == mip);
            let meshes = of_mip.filter_map(|block| lod.mesh(block));
            let blocks = meshes.map(|mesh| GlbBlock { mesh, mip, tint: None });
            writer.add_blocks(&format!("level {mip}"), blocks).map_err(|e| e.to_string())?;
        }
        let mut bytes = Vec::new();
        writer.finish(&mut bytes).map_err(|error| error.to_string())?;
        Ok(bytes)
    }

    /// Edits the world: the operation, in metres, is sent to the host and shown at once. While
    /// earlier ones are unsent, after a break of the link, it is queued behind them: the first 256
    /// are shown, and at most 1,024 are kept. Returns the voxels that it may change.
    ///
    /// # Errors
    /// Why it is not possible, for the player to read; nothing is then changed.
    pub fn edit(&mut self, op: &EditOp) -> Result<Region, String> {
        let terrain = self.terrain.as_ref().ok_or("the world is not here yet")?;
        let op = terrain.placement().op_in_voxels(op);
        let region = op.region().map_err(|error| explained(&error))?;
        let reach = Editor::default().cells_needed(terrain.grid(), &op);
        let mut reach = reach.map_err(|error| explained(&error))?;
        // The guest rounds lengths.
        reach.iter_mut().for_each(|region| *region = region.grow(1));
        let (in_flight, guest) = (self.guest.pending_edits(), &mut self.guest);
        let is_sent = self.is_joined
            && self
                .outbox
                .send_at_once(&op, &reach, in_flight, |op| guest.edit(op))
                .map_err(|error| explained(&error))?;
        if !is_sent {
            self.outbox.push(op, reach)?;
            self.show_unsent();
        }
        let seeded = self.seeded;
        if let Some(terrain) = &mut self.terrain {
            self.guest.show(terrain, |request| fill_ground(seeded.as_ref(), request));
        }
        Ok(region)
    }

    /// Asks the host to undo the last stroke of this player.
    ///
    /// # Errors
    /// Why it is not possible, for the player to read.
    pub fn undo(&mut self) -> Result<(), String> {
        self.check_history()?;
        self.guest.undo().map(drop).map_err(|error| explained(&error))
    }

    /// Asks the host to redo the stroke that was undone last.
    ///
    /// # Errors
    /// Why it is not possible, for the player to read.
    pub fn redo(&mut self) -> Result<(), String> {
        self.check_history()?;
        self.guest.redo().map(drop).map_err(|error| explained(&error))
    }

    fn check_history(&self) -> Result<(), String> {
        match (self.terrain.is_some(), self.is_joined && !self.outbox.has_queued()) {
            (false, _) => Err("the world is not here yet".to_owned()),
            (true, true) => Ok(()),
            (true, false) => Err("earlier edits wait for the server; try again then".to_owned()),
        }
    }

    /// Copies the voxels of a region, up to 32 along an edge, for [`PlayerWorld::paste`]; returns
    /// their meshes, in voxels from the lowest corner. `is_cut` removes them as well.
    ///
    /// # Errors
    /// Why it is not possible, for the player to read; nothing is then changed.
    pub fn copy(&mut self, region: Region, is_cut: bool) -> Result<Vec<ShownMesh>, String> {
        let terrain = self.terrain.as_ref().ok_or("the world is not here yet")?;
        let size = (region.max - region.min).to_array();
        if size.iter().any(|edge| *edge > Clipboard::MAX_EDGE) {
            return Err(format!("a copy has at most {} voxels along an edge", Clipboard::MAX_EDGE));
        }
        let copied = Clipboard::copy(terrain.grid(), region).map_err(|error| explained(&error))?;
        let meshes = copied.meshes(terrain.grid().materials());
        if is_cut {
            self.edit(&clearing(region).map_err(|error| explained(&error))?)?;
        }
        self.clipboard = Some(copied);
        Ok(meshes)
    }

    /// Size of what was copied last, voxels.
    pub fn copied_size(&self) -> Option<[i32; 3]> {
        self.clipboard.as_ref().map(Clipboard::size)
    }

    /// Pastes what was copied last with its lowest voxel at `at`, after `turns` quarter turns about
    /// the vertical axis. Returns the voxels that it may change.
    ///
    /// # Errors
    /// Why it is not possible, for the player to read; nothing is then changed.
    pub fn paste(&mut self, at: VoxelPos, turns: u8) -> Result<Region, String> {
        let op = self.clipboard.as_ref().map(|copied| copied.paste(at, turns));
        self.edit(&op.ok_or("nothing was copied yet")?)
    }

    /// Tells the game at the server something: see [`Guest::send_message`]. Returns whether it was
    /// sent.
    pub fn send_message(&mut self, bytes: &[u8]) -> bool {
        self.guest.send_message(&bytes[..bytes.len().min(Guest::MAX_MESSAGE_BYTES)])
    }

    /// Returns where a ray first meets ground that is held, metres.
    pub fn ray(&self, from_m: [f64; 3], direction: [f32; 3], max_m: f64) -> Option<RayHit> {
        self.terrain.as_ref()?.ray(from_m, direction, max_m).hit()
    }

    /// Takes the next line for the player.
    pub fn take_news(&mut self) -> Option<News> {
        self.news.pop_front()
    }

    /// Whether all that is to be seen is here and shown, and no edit is without a reply.
    pub fn is_settled(&self) -> bool {
        self.guest.is_complete()
            && self.pending_edits() == 0
            && self.terrain.as_ref().is_some_and(Terrain::is_settled)
    }

    /// Returns the number of operations without a reply: in flight, or not sent yet.
    pub fn pending_edits(&self) -> usize {
        self.guest.pending_edits() + self.outbox.unsent()
    }

    /// Shows others where this player is: the eye, the rotation (quaternion x, y, z, w) and some
    /// bytes, such as a name. Of more than [`Guest::MAX_AVATAR_BYTES`], the first count.
    pub fn set_avatar(&mut self, eye_m: [f64; 3], rotation: [f64; 4], bytes: &[u8]) {
        let Some(terrain) = &self.terrain else { return };
        let position_voxels = terrain.placement().voxel_from_world(eye_m);
        let bytes = &bytes[..bytes.len().min(Guest::MAX_AVATAR_BYTES)];
        self.guest.set_avatar(&BodyPose { position_voxels, rotation }, bytes);
    }

    /// The bodies that are seen: number, body, position in metres and rotation now.
    pub fn bodies(&self) -> impl Iterator<Item = (u64, &SharedBody, [f64; 3], [f64; 4])> {
        let placement = self.terrain.as_ref().map(Terrain::placement).unwrap_or_default();
        self.guest.bodies().filter_map(move |(number, body)| {
            let pose = self.guest.body_pose(number, self.now_us)?;
            let position_m = placement.world_from_voxel(pose.position_voxels);
            Some((number, body, position_m, pose.rotation))
        })
    }

    /// Returns one of the [bodies](PlayerWorld::bodies).
    pub fn body(&self, number: u64) -> Option<&SharedBody> {
        self.guest.body(number)
    }

    /// Returns the loose piece that a body is, with meshes.
    pub fn loose(&self, body: &SharedBody) -> Option<LooseBody> {
        body.to_loose(self.terrain.as_ref()?.grid().materials()).ok()
    }

    /// Bytes of memory of cells and messages.
    pub fn memory(&self) -> usize {
        let terrain = self.terrain.as_ref().map_or(0, |terrain| terrain.grid().memory().total());
        self.guest.memory() + terrain
    }
}

/// Why an operation is not possible, for a player.
fn explained(error: &EditError) -> String {
    match error {
        EditError::NotHeld(_) | EditError::NotFilled(_) => "the ground there is not loaded yet",
        EditError::TooLarge { .. } | EditError::TooCostly { .. } => {
            "it is too large; choose a smaller size"
        }
        EditError::BeyondLimits(_) => "it is beyond the end of the world",
        EditError::WrongKind { .. } => "this material cannot be used for that",
        error => return error.to_string(),
    }
    .to_owned()
}

/// Returns the coarsest mip that is needed at this view distance. Coarser blocks would reach far
/// beyond it, since blocks are shown whole.
fn coarsest_mip(view_voxels: f64, detail: f32) -> u8 {
    let edges = view_voxels / (f64::from(detail) * f64::from(MipBlock::EDGE));
    edges.log2().ceil().clamp(0.0, f64::from(MAX_MIP)) as u8
}
