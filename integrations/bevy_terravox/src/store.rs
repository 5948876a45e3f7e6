//! Worlds on disk: terrain from a store, saved on another thread.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};

use bevy::platform::cell::SyncCell;
use bevy::prelude::*;
use bevy::tasks::IoTaskPool;
use terravox::terrain::{FillRequest, Placement, TerrainOptions, UnsavedChanges};
use terravox_store::{Generator, Overwrite, Store, StoreError, WorldInfo};

use crate::plugin::TerravoxSystems;
use crate::terrain::Terrain;

/// The store of a terrain, on its entity.
///
/// ```
/// use bevy::prelude::*;
/// use bevy_terravox::prelude::*;
///
/// fn spawn(mut commands: Commands) -> Result {
///     let hills = |request: &mut FillRequest<'_>| request.fill_height(2, 0.0..=0.0, |_, _| 0.0);
///     # let path = std::env::temp_dir().join(format!("bevy-store-{}.tvx", std::process::id()));
///     let store = TerrainStore::open_or_create(&path, "hills", 1, 0)?;
///     commands.spawn((store.terrain(TerrainOptions::default(), hills)?, store));
///     # std::fs::remove_file(&path)?;
///     Ok(())
/// }
///
/// fn save(terrains: Query<Entity, With<TerrainStore>>, mut saves: MessageWriter<SaveTerrain>) {
///     saves.write_batch(terrains.iter().map(|terrain| SaveTerrain { terrain }));
/// }
/// # let mut app = App::new();
/// # app.add_message::<SaveTerrain>().add_systems(Startup, spawn).add_systems(Last, save);
/// # app.update();
/// ```
#[derive(Component)]
pub struct TerrainStore {
    store: Arc<Store>,
    send: Sender<Saved>,
    receive: SyncCell<Receiver<Saved>>,
    is_saving: bool,
    /// Whether it is to be saved again after this save.
    is_requested: bool,
}

/// Why a save failed that panicked.
const PANICKED: &str = "the save panicked, most likely in the generator of the terrain, which it calls for \
    what was edited: nothing was saved; the message of the panic is in the output";

/// What a save sends back.
type Saved = (UnsavedChanges, Result<(), String>);

impl TerrainStore {
    /// Opens the world at a path, or creates one that grows from a generator: it holds what was
    /// edited.
    ///
    /// # Errors
    /// If the file cannot be opened or created, or its chunks come from another generator, version
    /// or seed.
    pub fn open_or_create(
        path: impl AsRef<Path>,
        generator: &str,
        version: u32,
        seed: u64,
    ) -> Result<TerrainStore, StoreError> {
        let path = path.as_ref();
        let store = if path.exists() {
            Store::open(path)?
        } else {
            let generator =
                Generator { name: generator.into(), version, seed, ..Generator::default() };
            let info = WorldInfo::growing(Placement::default(), generator);
            Store::create(path, &info, Overwrite::No)?.finish()?
        };
        store.check_generator(generator, version, seed)?;
        Ok(TerrainStore::new(store))
    }

    /// Uses a store that is open.
    pub fn new(store: Store) -> TerrainStore {
        let (send, receive) = channel();
        TerrainStore {
            store: Arc::new(store),
            send,
            receive: SyncCell::new(receive),
            is_saving: false,
            is_requested: false,
        }
    }

    /// The store.
    pub fn store(&self) -> &Arc<Store> {
        &self.store
    }

    /// The terrain in the store; `generate` fills what is not stored. Placement and materials of
    /// `options` are replaced by those of the world, and what can be undone comes back.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub fn terrain(
        &self,
        options: TerrainOptions,
        generate: impl Fn(&mut FillRequest<'_>) + Send + Sync + 'static,
    ) -> Result<Terrain, StoreError> {
        let (voxels, store) = (self.store.terrain(options)?, self.store.clone());
        let fill = move |request: &mut FillRequest<'_>| store.fill(request, &generate);
        Ok(Terrain::from_voxels(voxels, fill))
    }

    /// Whether a save is on its way to the disk.
    pub fn is_saving(&self) -> bool {
        self.is_saving || self.is_requested
    }
}

/// A request to save a terrain with a [`TerrainStore`], in one transaction on another thread. Edits
/// made meanwhile stay unsaved. A request during a save has it saved once more.
#[derive(Message, Clone, Copy, Debug, PartialEq, Eq)]
pub struct SaveTerrain {
    /// The terrain.
    pub terrain: Entity,
}

/// Sent when a save ended.
#[derive(Message, Clone, Debug, PartialEq, Eq)]
pub struct TerrainSaved {
    /// The terrain.
    pub terrain: Entity,
    /// Why nothing was saved, if it failed or the generator panicked; everything stays unsaved then.
    pub error: Option<String>,
}

pub(crate) fn build(app: &mut App) {
    app.add_message::<SaveTerrain>()
        .add_message::<TerrainSaved>()
        .add_systems(PostUpdate, save.after(TerravoxSystems::Edit).before(TerravoxSystems::Stream));
}

/// Starts and ends saves.
fn save(
    mut requests: MessageReader<SaveTerrain>,
    mut stores: Query<(Entity, &mut TerrainStore, &mut Terrain)>,
    mut saved: MessageWriter<TerrainSaved>,
) {
    for request in requests.read() {
        match stores.get_mut(request.terrain) {
            Ok((_, mut store, _)) => store.is_requested = true,
            Err(_) => {
                let error = Some("the entity has no Terrain with a TerrainStore".to_owned());
                saved.write(TerrainSaved { terrain: request.terrain, error });
            }
        }
    }
    for (entity, mut store, mut terrain) in &mut stores {
        if !store.is_saving() {
            continue;
        }
        let store = &mut *store;
        if let Ok((changes, outcome)) = store.receive.get().try_recv() {
            store.is_saving = false;
            if outcome.is_ok() {
                terrain.bypass_change_detection().voxels.mark_saved(&changes);
            }
            saved.write(TerrainSaved { terrain: entity, error: outcome.err() });
        }
        if store.is_requested && !store.is_saving {
            (store.is_requested, store.is_saving) = (false, true);
            let (changes, fill) = (terrain.unsaved(), terrain.fill());
            let (file, send) = (store.store.clone(), store.send.clone());
            let work = async move {
                // After a panic only the store is used again: it drops its transaction.
                let outcome = catch_unwind(AssertUnwindSafe(|| file.save(&changes, |r| fill(r))));
                let outcome = match outcome {
                    Ok(outcome) => outcome.map(drop).map_err(|error| error.to_string()),
                    Err(_) => Err(PANICKED.to_owned()),
                };
                // A terrain that was despawned has no receiver any more.
                drop(send.send((changes, outcome)));
            };
            IoTaskPool::get().spawn(work).detach();
        }
    }
}
