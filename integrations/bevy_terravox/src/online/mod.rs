//! Terrains served by a server. A thread connects, and reconnects after a break; the guest lives on the
//! main thread, and tasks read its cells.

mod bodies;
mod link;
mod outbox;
mod strokes;

use std::cell::Cell;
use std::sync::Arc;
use std::time::Instant;

use bevy::prelude::*;
use terravox::replicate::{GeneratorId, GuestEvent, Interest};
use terravox::terrain::{FillRequest, LodOptions, Placement, TerrainError, TerrainOptions};
use terravox::voxel::{MaterialTable, UnlistedChunks};
use terravox_server::{Client, ClientError, ClientOptions, WorldAddress};

pub use bodies::{OnlineAvatar, OnlineBody};
/// The server and its client, which this feature is built on.
pub use terravox_server;

use crate::edits::EditedElsewhere;
use crate::plugin::{TerravoxStats, TerravoxSystems, ms_since, timed};
use crate::queries::in_terrain;
use crate::terrain::{Fill, Terrain};
use crate::{EditTerrain, TerrainAction, TerrainEditFailed, TerrainViewer};
use bodies::{BodyEntities, avatar_pose};
use link::{GuestLink, SharedClient, lock};
use outbox::{MAX_IN_FLIGHT, NO_CONNECTION, Outbox};

/// Finds what makes the ground of a world, by the name that its server gives.
type Generators = Arc<dyn Fn(&GeneratorId) -> Option<Fill> + Send + Sync>;

/// Joins a world that a server has. Once the server lets it in, its entity is a [`Terrain`] like any
/// other: rays, colliders, [`EditTerrain`]. Edits show at once, and vanish if the server refuses them
/// ([`OnlineEvent`]). After a break of the link it reconnects, with all that is here, and repeats edits
/// without a reply. Despawning the entity, or the end of the app, leaves the server.
///
/// ```
/// use bevy::prelude::*;
/// use bevy_terravox::online::OnlineTerrain;
/// use bevy_terravox::online::terravox_server::{ClientOptions, WorldAddress};
/// use bevy_terravox::prelude::*;
///
/// fn join(mut commands: Commands) -> Result {
///     let address: WorldAddress = "localhost:4077/hills".parse()?;
///     commands.spawn(OnlineTerrain::join(address, ClientOptions::default()));
///     commands.spawn((TerrainViewer::new(300.0), Transform::from_xyz(0.0, 30.0, 0.0)));
///     Ok(())
/// }
/// # App::new().add_systems(Startup, join);
/// ```
#[derive(Component)]
#[require(Transform, Visibility, EditedElsewhere)]
pub struct OnlineTerrain {
    link: GuestLink,
    options: TerrainOptions,
    generators: Generators,
    /// What makes the ground of the world, if this side can, and what the server calls that.
    generate: Option<Fill>,
    generator: Option<GeneratorId>,
    /// What fills the terrain of this client.
    fill: Option<Fill>,
    /// What the server had its materials be when the terrain was made; a palette may have replaced them.
    materials: Option<MaterialTable>,
    bodies: BodyEntities,
    /// Whether the server has let this guest in, over this connection.
    is_joined: bool,
    /// Whether the server was given an avatar.
    has_avatar: bool,
    outbox: Outbox,
}

impl OnlineTerrain {
    /// Connects on a thread of its own. [`OnlineFailed`] says if that fails.
    ///
    /// # Panics
    /// If the token has more than 256 bytes.
    pub fn join(address: WorldAddress, options: ClientOptions) -> OnlineTerrain {
        let is_valid = options.token.len() <= terravox_server::AccessList::MAX_TOKEN;
        assert!(is_valid, "a token has at most 256 bytes");
        let lod = LodOptions { max_mip: 5, ..LodOptions::default() };
        OnlineTerrain {
            link: GuestLink::connect(address, options),
            options: TerrainOptions { lod, ..TerrainOptions::default() },
            generators: Arc::new(built_in),
            generate: None,
            generator: None,
            fill: None,
            materials: None,
            bodies: BodyEntities::default(),
            is_joined: false,
            has_avatar: false,
            outbox: Outbox::default(),
        }
    }

    /// Sets the options of the terrain; placement and materials are those of the server, and chunks
    /// that are not listed are unknown. Without it they are those of [`Terrain::new`].
    pub fn with_options(mut self, options: TerrainOptions) -> OnlineTerrain {
        self.options = options;
        self
    }

    /// Sets what finds the generator of a world, so that only edited ground is sent: it must make
    /// the very cells that the server's makes. Without it, worlds of `terravox::generate` are made
    /// here, and all others are sent whole.
    pub fn with_generators(
        mut self,
        find: impl Fn(&GeneratorId) -> Option<Arc<dyn Fn(&mut FillRequest<'_>) + Send + Sync>>
        + Send
        + Sync
        + 'static,
    ) -> OnlineTerrain {
        self.generators = Arc::new(find);
        self
    }

    /// Calls `use_client` with the client, for what has no message here: messages of the game,
    /// a cache on disk. `None` while there is no connection. Tasks that fill blocks wait meanwhile.
    /// Edits go through [`EditTerrain`]: others would not be known to undo, nor repeated after a break.
    pub fn with_client<R>(&self, use_client: impl FnOnce(&mut Client) -> R) -> Option<R> {
        lock(self.link.client()).as_mut().map(use_client)
    }

    /// Returns the number of the last stroke: it grows with each [`TerrainAction::BeginStroke`], and with
    /// each operation outside of one.
    pub fn last_stroke(&self) -> u64 {
        self.outbox.strokes.current()
    }

    /// Returns the numbers of the strokes that can be undone, the next one last. Those that changed
    /// nothing, or have no reply yet, are not among them. The server remembers strokes for
    /// as long as the link lasts.
    pub fn undoable(&self) -> impl Iterator<Item = u64> {
        self.outbox.ready(false)
    }

    /// Returns the numbers of the strokes that can be redone, the next one last.
    pub fn redoable(&self) -> impl Iterator<Item = u64> {
        self.outbox.ready(true)
    }

    /// Returns the number of edits, with steps of undo and redo, without a reply from the server.
    pub fn pending_edits(&self) -> usize {
        self.outbox.without_reply()
    }
}

/// The generators of `terravox::generate`.
fn built_in(id: &GeneratorId) -> Option<Fill> {
    let seeded = id.seeded()?;
    Some(Arc::new(move |request: &mut FillRequest<'_>| {
        let mip = request.mip();
        seeded.fill(request.cells(), mip);
    }))
}

/// What a server said: sent, and triggered on the entity of the terrain.
#[derive(Message, EntityEvent, Clone, Debug, PartialEq)]
pub struct OnlineEvent {
    /// The terrain.
    #[event_target]
    pub terrain: Entity,
    /// What happened. Regions are in voxels.
    pub event: GuestEvent,
}

/// Sent when a link breaks, or a first connection fails, and triggered on the entity of the terrain.
#[derive(Message, EntityEvent, Clone, Debug, PartialEq, Eq)]
pub struct OnlineFailed {
    /// The terrain.
    #[event_target]
    pub terrain: Entity,
    /// Why.
    pub error: ClientError,
    /// Whether it reconnects; false for a first connection. Then spawn another [`OnlineTerrain`] to try
    /// again.
    pub is_retried: bool,
}

pub(crate) fn build(app: &mut App) {
    app.add_message::<OnlineEvent>().add_message::<OnlineFailed>();
    app.add_systems(
        PostUpdate,
        (poll, watch, edit, show, bodies::place)
            .chain()
            .in_set(TerravoxSystems::Edit)
            .before(crate::edits::apply),
    );
    app.add_systems(
        PostUpdate,
        bodies::draw_pieces.run_if(resource_exists::<Assets<Mesh>>).in_set(TerravoxSystems::Draw),
    );
    app.add_systems(Last, leave).add_observer(forget);
}

/// Removes the bodies of a terrain that has another server now, or none.
fn forget(
    discarded: On<Discard, OnlineTerrain>,
    mut terrains: Query<&mut OnlineTerrain>,
    mut commands: Commands,
) {
    if let Ok(mut online) = terrains.get_mut(discarded.entity) {
        bodies::remove_all(&mut online.bodies, &mut commands);
    }
}

/// When the app ends, the process may be gone before a thread has told a server that it leaves.
fn leave(mut exits: MessageReader<AppExit>, mut terrains: Query<&mut OnlineTerrain>) {
    if exits.read().count() == 0 {
        return;
    }
    terrains.iter_mut().for_each(|mut terrain| terrain.link.wait_at_end());
}

/// Takes what arrived, and sends what is to be sent.
fn poll(
    mut terrains: Query<(Entity, &mut OnlineTerrain, Option<&Terrain>)>,
    mut said: MessageWriter<OnlineEvent>,
    mut failed: MessageWriter<OnlineFailed>,
    mut commands: Commands,
    mut stats: ResMut<TerravoxStats>,
) {
    timed(&mut stats.online_ms, || {
        for (entity, mut online, terrain) in &mut terrains {
            let outcome = online.poll(entity, terrain, &mut commands);
            let events = outcome.events.into_iter();
            for event in events.map(|event| OnlineEvent { terrain: entity, event }) {
                commands.trigger(event.clone());
                said.write(event);
            }
            if let Some((error, is_retried)) = outcome.error {
                let failure = OnlineFailed { terrain: entity, error, is_retried };
                commands.trigger(failure.clone());
                failed.write(failure);
            }
        }
    });
}

/// What a poll brought.
#[derive(Default)]
struct Polled {
    events: Vec<GuestEvent>,
    error: Option<(ClientError, bool)>,
}

impl OnlineTerrain {
    fn poll(
        &mut self,
        entity: Entity,
        terrain: Option<&Terrain>,
        commands: &mut Commands,
    ) -> Polled {
        let mut polled = Polled::default();
        if let Some(error) = self.link.failure() {
            self.end(commands);
            polled.error = Some((error, false));
            return polled;
        }
        let shared = self.link.client().clone();
        let mut client = lock(&shared);
        let Some(connected) = client.as_mut() else { return polled };
        let generate = self.generate.clone();
        let ended = connected.poll(|request| match &generate {
            Some(generate) => generate(request),
            None => request.set_missing(),
        });
        let now = Instant::now();
        for event in connected.guest().events() {
            let is_told = self.outbox.handle_event(&event, now);
            if let GuestEvent::Welcome { generator, .. } = &event {
                self.start(generator.as_ref(), connected, &shared, entity, terrain, commands);
            }
            bodies::follow(&event, entity, connected, &mut self.bodies, commands);
            polled.events.extend(is_told.then_some(event));
        }
        drop(client);
        if let Err(error) = ended {
            let is_retried = error.is_transient();
            match is_retried {
                true => {
                    self.is_joined = false;
                    self.outbox.break_off();
                    self.link.reconnect();
                }
                false => self.end(commands),
            }
            polled.error = Some((error, is_retried));
        }
        polled
    }

    /// Ends for good: bodies are removed, edits without a reply fail, and the ground stays.
    fn end(&mut self, commands: &mut Commands) {
        self.is_joined = false;
        self.link.end();
        self.outbox.end();
        bodies::remove_all(&mut self.bodies, commands);
    }

    /// Begins after a welcome: the entity gets its terrain, or keeps it if the world is the same.
    fn start(
        &mut self,
        generator: Option<&GeneratorId>,
        client: &mut Client,
        shared: &SharedClient,
        entity: Entity,
        terrain: Option<&Terrain>,
        commands: &mut Commands,
    ) {
        let is_same_ground = self.generator.as_ref() == generator;
        self.generator = generator.cloned();
        self.generate = generator.and_then(|id| (self.generators)(id));
        let guest = client.guest();
        guest.start(self.generate.is_some());
        self.is_joined = true;
        let (Some(placement), Some(grid)) = (guest.placement(), guest.grid()) else { return };
        let materials = grid.materials().clone();
        let is_same = terrain.is_some_and(|terrain| {
            let fill = self.fill.as_ref();
            is_same_ground
                // A terrain of another client, or of the game's own, shows nothing of this one.
                && fill.is_some_and(|fill| Arc::ptr_eq(fill, &terrain.fill))
                && terrain.placement() == placement
                && self.materials.as_ref() == Some(&materials)
        });
        if !is_same {
            let unlisted = UnlistedChunks::Unknown;
            self.materials = Some(materials.clone());
            let options = TerrainOptions { placement, materials, unlisted, ..self.options.clone() };
            let fill = fill_from(shared.clone(), self.generate.clone());
            let terrain = Terrain::with_options(options, fill);
            self.fill = Some(terrain.fill());
            commands.entity(entity).try_insert(terrain);
        }
    }
}

/// Fills blocks with what a guest has. Unedited ground is made without holding its lock.
fn fill_from(client: SharedClient, generate: Option<Fill>) -> impl Fn(&mut FillRequest<'_>) {
    move |request| {
        let is_ground = Cell::new(false);
        match lock(&client).as_mut() {
            Some(client) => client.guest().fill(request, |_| is_ground.set(true)),
            None => request.set_missing(),
        }
        if let (true, Some(generate)) = (is_ground.get(), &generate) {
            generate(request);
        }
    }
}

/// Says what is to be seen, and where this player is.
fn watch(
    mut terrains: Query<(Entity, &mut OnlineTerrain, &Terrain, &GlobalTransform)>,
    viewers: Query<(&TerrainViewer, &GlobalTransform)>,
    avatars: Query<(&OnlineAvatar, &GlobalTransform)>,
    mut stats: ResMut<TerravoxStats>,
) {
    let start = Instant::now();
    for (entity, mut online, terrain, at) in &mut terrains {
        let placement = terrain.placement();
        let eyes: Vec<[f64; 3]> = viewers
            .iter()
            .map(|(_, viewer)| placement.voxel_from_world(in_terrain(at, viewer.translation())))
            .collect();
        let farthest_m = viewers.iter().map(|(viewer, _)| viewer.distance_m).fold(0.0, f32::max);
        let view_voxels = f64::from(farthest_m) / placement.voxel_size_m;
        let interest = Interest::for_lod(&online.options.lod, view_voxels);
        let mut own = avatars.iter().filter(|(avatar, _)| avatar.terrain == entity);
        let avatar = own.next();
        if own.next().is_some() {
            warn_once!("{entity} has several OnlineAvatar: only the first is shown to others");
        }
        // A game may have given the client an avatar of its own.
        let is_cleared = avatar.is_none() && online.has_avatar;
        let is_told = online.with_client(|client| {
            let guest = client.guest();
            if !eyes.is_empty() {
                guest.watch(&eyes, &interest);
            }
            if let Some((avatar, place)) = avatar {
                guest.set_avatar(&avatar_pose(place, at, placement), &avatar.bytes);
            } else if is_cleared {
                guest.clear_avatar();
            }
        });
        if is_told.is_some() {
            online.has_avatar = avatar.is_some();
        }
    }
    stats.online_ms += ms_since(start);
}

/// Sends what is to be edited to the server.
fn edit(
    mut edits: MessageReader<EditTerrain>,
    mut terrains: Query<(Entity, &mut OnlineTerrain, Option<&Terrain>)>,
    mut failed: MessageWriter<TerrainEditFailed>,
    mut commands: Commands,
    mut stats: ResMut<TerravoxStats>,
) {
    let start = Instant::now();
    for EditTerrain { terrain, action } in edits.read() {
        if let Ok((_, mut online, _)) = terrains.get_mut(*terrain) {
            let is_joined = online.is_joined;
            online.outbox.push(action.clone(), is_joined);
        }
    }
    for (terrain, mut online, voxels) in &mut terrains {
        let placement = voxels.map(|voxels| voxels.placement()).unwrap_or_default();
        online.send(placement);
        for (action, reason) in online.outbox.take_failed() {
            let error = TerrainError::new(reason, placement);
            let refused = TerrainEditFailed { terrain, action, error };
            commands.trigger(refused.clone());
            failed.write(refused);
        }
    }
    stats.online_ms += ms_since(start);
}

impl OnlineTerrain {
    /// Sends unsent actions, as far as the guest has room for them.
    fn send(&mut self, placement: Placement) {
        let now = Instant::now();
        let mut client = lock(self.link.client());
        let Some(client) = client.as_mut().filter(|_| self.is_joined) else {
            return self.outbox.send(0, now, |_| Err(NO_CONNECTION));
        };
        let guest = client.guest();
        let room = MAX_IN_FLIGHT.saturating_sub(guest.pending_edits());
        self.outbox.send(room, now, |action| match action {
            TerrainAction::Apply(op) => guest.edit(&placement.op_in_voxels(op)),
            TerrainAction::Undo => guest.undo(),
            TerrainAction::Redo => guest.redo(),
            TerrainAction::BeginStroke | TerrainAction::EndStroke => {
                unreachable!("nothing is sent")
            }
        });
    }
}

/// Shows what the guest has: the server's cells, with this player's edits on top.
fn show(mut terrains: Query<(&OnlineTerrain, &mut Terrain)>, mut stats: ResMut<TerravoxStats>) {
    timed(&mut stats.online_ms, || {
        for (online, mut terrain) in &mut terrains {
            let generate = online.generate.clone();
            let terrain = terrain.bypass_change_detection();
            let before = terrain.grid().version();
            online.with_client(|client| {
                client.guest().show(&mut terrain.voxels, |request| match &generate {
                    Some(generate) => generate(request),
                    None => request.set_missing(),
                });
            });
            terrain.work.is_dirty |= terrain.grid().version() != before;
        }
    });
}
