//! The world of one player: what is held of it, and what is shown.

use crate::host::OwnHost;
use std::collections::VecDeque;
use terravox::bodies::{BodyPose, LooseBody};
use terravox::edit::EditOp;
use terravox::generate::Hills;
use terravox::lod::{LodOptions, MeshSwap};
use terravox::replicate::{Guest, GuestEvent, Interest, LinkKind, SharedBody};
use terravox::terrain::{Budget, Clock, FillRequest, RayHit, Terrain, TerrainOptions, Viewer};

/// Most lines of text for the player that are kept.
const MAX_NEWS: usize = 64;

/// Options of a [`World`].
#[derive(Clone, Debug)]
pub struct WorldOptions {
    /// View distance, metres.
    pub view_m: f64,
    /// Level of detail.
    pub lod: LodOptions,
    /// A clock for [`Budget::Millis`], where the target has none.
    pub clock: Option<Clock>,
}

impl Default for WorldOptions {
    /// A view of 2 km with geomorphing.
    fn default() -> WorldOptions {
        let lod = LodOptions { morph: true, detail: 2.3, ..LodOptions::default() };
        WorldOptions { view_m: 2000.0, lod, clock: None }
    }
}

/// What the player is told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum News {
    /// The world is here, and can be edited.
    Joined,
    /// An operation was refused: why.
    Refused(String),
}

/// The world of one player.
pub struct World {
    options: WorldOptions,
    guest: Guest,
    /// `None` if a server has it.
    host: Option<OwnHost>,
    /// The generator of the world, if this crate has it.
    hills: Option<Hills>,
    /// `None` until the host has let this guest in.
    terrain: Option<Terrain>,
    now_us: u64,
    /// Operations, in voxels, that are sent again after a break.
    unanswered: Vec<EditOp>,
    news: VecDeque<News>,
}

impl World {
    /// Joins the world of a server with an access token, empty if none is needed.
    ///
    /// # Errors
    /// If the token has more than [`Guest::MAX_TOKEN`] bytes.
    pub fn join(token: &[u8], options: WorldOptions) -> Result<World, String> {
        if token.len() > Guest::MAX_TOKEN {
            return Err(format!(
                "the token has {} bytes; at most {}",
                token.len(),
                Guest::MAX_TOKEN
            ));
        }
        Ok(World::new(Guest::new(LinkKind::Reliable, token), None, options))
    }

    /// Makes a world of hills without a server.
    pub fn alone(seed: u64, options: WorldOptions) -> World {
        World::new(Guest::new(LinkKind::Reliable, b""), Some(OwnHost::new(seed)), options)
    }

    fn new(guest: Guest, host: Option<OwnHost>, options: WorldOptions) -> World {
        let (hills, terrain, now_us) = (None, None, 0);
        let (unanswered, news) = (Vec::new(), VecDeque::new());
        World { options, guest, host, hills, terrain, now_us, unanswered, news }
    }

    /// Takes a unit that came from the server.
    ///
    /// # Errors
    /// If the server breaks the protocol: give the link up.
    pub fn receive(&mut self, unit: &[u8], now_us: u64) -> Result<(), String> {
        self.guest.receive(unit, now_us).map_err(|error| error.to_string())
    }

    /// Writes the next unit for the server, or returns false: nothing is to be sent now.
    pub fn transmit(&mut self, now_us: u64, out: &mut Vec<u8>) -> bool {
        self.host.is_none() && self.guest.transmit(now_us, out)
    }

    /// Begins again over a new link, with all that is held. Operations that the server did not answer
    /// are sent again once it has let this guest in; one that had arrived is then applied twice.
    pub fn reconnect(&mut self) {
        self.unanswered.extend(self.guest.reconnect(LinkKind::Reliable));
    }

    /// Does what arrived, and what there is to be done for the view from `eye_m`, within a budget. Call
    /// it once a frame.
    ///
    /// # Errors
    /// Why the server ended the connection, or how it broke the protocol.
    pub fn update(&mut self, now_us: u64, eye_m: [f64; 3], budget: Budget) -> Result<(), String> {
        self.now_us = now_us;
        if let Some(host) = &mut self.host {
            host.exchange(&mut self.guest, now_us).map_err(|error| error.to_string())?;
        }
        let hills = self.hills;
        let ground = |request: &mut FillRequest<'_>| fill_ground(hills.as_ref(), request);
        let updated = self.guest.update(ground);
        for event in self.guest.events() {
            self.follow(event);
        }
        updated?;
        let Some(terrain) = &mut self.terrain else { return Ok(()) };
        let placement = terrain.placement();
        let view_voxels = self.options.view_m / placement.voxel_size_m;
        let interest = Interest::for_lod(&self.options.lod, view_voxels);
        self.guest.watch(&[placement.voxel_from_world(eye_m)], &interest);
        let viewer = Viewer { position_m: eye_m, distance_m: self.options.view_m };
        let guest = &self.guest;
        terrain.update(&[viewer], budget, |request| guest.fill(request, ground));
        self.guest.show(terrain, ground);
        Ok(())
    }

    fn follow(&mut self, event: GuestEvent) {
        let news = match event {
            GuestEvent::Welcome { generator, .. } => {
                self.hills = generator.and_then(|made| made.hills());
                self.guest.start(self.hills.is_some());
                self.start();
                for op in std::mem::take(&mut self.unanswered) {
                    // It was valid before the break.
                    let _ = self.guest.edit(&op);
                }
                News::Joined
            }
            GuestEvent::Refused { reason, .. } => News::Refused(reason),
            _ => return,
        };
        if self.news.len() == MAX_NEWS {
            self.news.pop_front();
        }
        self.news.push_back(news);
    }

    /// Makes the terrain, unless that of an earlier link is the same.
    fn start(&mut self) {
        let (Some(placement), Some(grid)) = (self.guest.placement(), self.guest.grid()) else {
            return;
        };
        let is_same = self.terrain.as_ref().is_some_and(|terrain| {
            terrain.placement() == placement && terrain.grid().materials() == grid.materials()
        });
        if !is_same {
            self.terrain = Some(Terrain::new(TerrainOptions {
                placement,
                materials: grid.materials().clone(),
                lod: self.options.lod.clone(),
                clock: self.options.clock,
                ..TerrainOptions::default()
            }));
        }
    }

    /// The terrain that is shown; `None` until the world is here.
    pub fn terrain(&self) -> Option<&Terrain> {
        self.terrain.as_ref()
    }

    /// Takes what changed of the meshes that are shown.
    pub fn mesh_swaps(&mut self) -> Vec<MeshSwap> {
        self.terrain.as_mut().map(|terrain| terrain.mesh_swaps().collect()).unwrap_or_default()
    }

    /// Edits the world: the operation, in metres, is shown at once and sent to the host.
    ///
    /// # Errors
    /// Why it is not possible, for the player to read; nothing is then changed.
    pub fn edit(&mut self, op: &EditOp) -> Result<(), String> {
        let terrain = self.terrain.as_mut().ok_or("the world is not here yet")?;
        let op = terrain.placement().op_in_voxels(op);
        self.guest.edit(&op).map_err(|error| error.to_string())?;
        let hills = &self.hills;
        self.guest.show(terrain, |request| fill_ground(hills.as_ref(), request));
        Ok(())
    }

    /// Asks the host to undo the last stroke of this player.
    ///
    /// # Errors
    /// Why it is not possible, for the player to read.
    pub fn undo(&mut self) -> Result<(), String> {
        self.guest.undo().map(drop).map_err(|error| error.to_string())
    }

    /// Asks the host to redo the stroke that was undone last.
    ///
    /// # Errors
    /// Why it is not possible, for the player to read.
    pub fn redo(&mut self) -> Result<(), String> {
        self.guest.redo().map(drop).map_err(|error| error.to_string())
    }

    /// Returns where a ray first meets ground that is held, metres.
    pub fn ray(&self, from_m: [f64; 3], direction: [f32; 3], max_m: f64) -> Option<RayHit> {
        self.terrain.as_ref()?.ray(from_m, direction, max_m).hit()
    }

    /// Takes the next line for the player.
    pub fn take_news(&mut self) -> Option<News> {
        self.news.pop_front()
    }

    /// Whether all that is to be seen is here and shown, and the host has decided about all edits.
    pub fn is_settled(&self) -> bool {
        self.guest.is_complete()
            && self.guest.pending_edits() == 0
            && self.terrain.as_ref().is_some_and(Terrain::is_settled)
    }

    /// How many operations wait for the host.
    pub fn pending_edits(&self) -> usize {
        self.guest.pending_edits()
    }

    /// Shows others where this player is: the eye, the rotation (quaternion x, y, z, w) and some bytes,
    /// such as a name. Of more than [`Guest::MAX_FIGURE_BYTES`], the first count.
    pub fn set_figure(&mut self, eye_m: [f64; 3], rotation: [f64; 4], bytes: &[u8]) {
        let Some(terrain) = &self.terrain else { return };
        let position_voxels = terrain.placement().voxel_from_world(eye_m);
        let bytes = &bytes[..bytes.len().min(Guest::MAX_FIGURE_BYTES)];
        self.guest.set_figure(&BodyPose { position_voxels, rotation }, bytes);
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

/// Fills a block as the generator makes it.
fn fill_ground(hills: Option<&Hills>, request: &mut FillRequest<'_>) {
    match hills {
        Some(hills) => {
            let mip = request.mip();
            hills.fill(request.cells(), mip);
        }
        None => request.set_missing(),
    }
}
