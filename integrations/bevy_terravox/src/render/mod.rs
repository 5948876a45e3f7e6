//! How terrain looks. Everything that names Bevy's renderer is in this module.
//!
//! Chunks and pieces get a material when they are spawned: the textured [`GroundMaterial`] or the
//! [`WaterMaterial`] of their terrain, or what its [`TerrainMaterials`] say.

mod folder;
mod looks;
mod materials;
mod noise;
mod patterns;
mod surface;
mod textures;
mod warm_up;

use bevy::light::NotShadowCaster;
use bevy::pbr::PbrPlugin;
use bevy::prelude::*;

use crate::chunks::{TerrainChunk, TerrainChunks};
use crate::loose::PieceMesh;
use crate::plugin::TerravoxSystems;
use crate::terrain::Terrain;

pub use looks::{LAYER_NAMES, LAYERS};
pub use materials::{GroundExtension, GroundMaterial, WaterExtension, WaterLook, WaterMaterial};
pub use surface::{TerrainSurface, TerrainTextures, TextureSet};

/// Materials of a game in place of ours, for ground and water of a terrain. Vertex colours are
/// those of the palette. They may be inserted, changed and removed at any time: chunks are made again with
/// the new ones, within the upload budget. Pieces that were cut loose keep what they have.
#[derive(Component, Clone, Debug, Default, PartialEq, Eq)]
pub struct TerrainMaterials {
    /// Of ground and of pieces cut loose.
    pub solid: Handle<StandardMaterial>,
    /// Of liquids.
    pub liquid: Handle<StandardMaterial>,
}

/// Gives terrain its materials. Part of [`TerravoxPlugin`](crate::TerravoxPlugin).
pub(crate) struct TerrainRenderPlugin;

impl Plugin for TerrainRenderPlugin {
    fn build(&self, app: &mut App) {
        // A server built with this feature has no renderer.
        if !app.is_plugin_added::<PbrPlugin>() {
            return;
        }
        app.add_plugins(MaterialPlugin::<GroundMaterial>::default());
        app.add_plugins(MaterialPlugin::<WaterMaterial>::default());
        app.register_type::<WaterLook>().init_resource::<TerrainTextures>();
        app.add_observer(surface::on_terrain).add_observer(surface::on_removal);
        app.add_observer(on_chunk).add_observer(on_piece);
        app.add_systems(Startup, surface::start_textures);
        app.add_systems(
            PostUpdate,
            (
                surface::take_textures,
                surface::look,
                surface::morph,
                follow_materials,
                warm_up::begin,
                warm_up::end,
            )
                .chain()
                .after(TerravoxSystems::Stream)
                .before(TerravoxSystems::Draw),
        );
    }

    fn finish(&self, app: &mut App) {
        if !app.is_plugin_added::<PbrPlugin>() {
            return;
        }
        if let Some(mut shaders) = app.world_mut().get_resource_mut::<Assets<Shader>>() {
            materials::add_shaders(&mut shaders);
        }
        if !app.world().contains_resource::<Assets<GroundMaterial>>() {
            error!("terrain is not drawn: add TerravoxPlugin after DefaultPlugins");
        }
    }
}

/// What terrains are drawn with.
type Looks = (Option<&'static TerrainSurface>, Option<&'static TerrainMaterials>);

fn on_chunk(
    chunk: On<Insert, TerrainChunk>,
    chunks: Query<&TerrainChunk>,
    terrains: Query<Looks>,
    mut commands: Commands,
) {
    let Ok(part) = chunks.get(chunk.entity) else { return };
    let Ok(looks) = terrains.get(part.terrain) else { return };
    insert_material(&mut commands.entity(chunk.entity), looks, part.is_liquid);
}

/// Gives what is drawn of a terrain the material of its ground or water.
fn insert_material(
    entity: &mut EntityCommands,
    (surface, own): (Option<&TerrainSurface>, Option<&TerrainMaterials>),
    is_liquid: bool,
) {
    match (own, surface, is_liquid) {
        (Some(own), _, true) => {
            entity.try_insert(MeshMaterial3d(own.liquid.clone()));
        }
        (Some(own), _, false) => {
            entity.try_insert(MeshMaterial3d(own.solid.clone()));
        }
        (None, Some(surface), true) => {
            entity.try_insert((MeshMaterial3d(surface.water.clone()), NotShadowCaster));
        }
        (None, Some(surface), false) => {
            entity.try_insert(MeshMaterial3d(surface.ground.clone()));
        }
        (None, None, _) => {}
    }
}

/// Has the chunks of terrains made again whose materials a game inserted, changed or removed.
fn follow_materials(
    changed: Query<Entity, Changed<TerrainMaterials>>,
    mut removed: RemovedComponents<TerrainMaterials>,
    mut terrains: Query<(&mut Terrain, &mut TerrainChunks)>,
    mut commands: Commands,
) {
    for entity in changed.iter().chain(removed.read()) {
        let Ok((mut terrain, mut chunks)) = terrains.get_mut(entity) else { continue };
        if chunks.shown_count() == 0 && chunks.is_complete() {
            continue;
        }
        let everything = terrain.reset_mesh_swaps();
        chunks.respawn(everything, &mut commands);
    }
}

fn on_piece(
    piece: On<Add, PieceMesh>,
    pieces: Query<&PieceMesh>,
    terrains: Query<Looks>,
    mut commands: Commands,
) {
    let Ok(part) = pieces.get(piece.entity) else { return };
    let Ok(looks) = terrains.get(part.terrain) else { return };
    insert_material(&mut commands.entity(piece.entity), looks, false);
}
