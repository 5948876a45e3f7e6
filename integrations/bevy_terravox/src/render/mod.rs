//! How terrain looks. Everything that names Bevy's renderer is in this module.
//!
//! Chunks and pieces get a material when they are spawned: that of the
//! [`TerrainMaterials`] of their terrain. Vertex colours are those of the palette.

use bevy::prelude::*;

use crate::chunks::TerrainChunk;
use crate::loose::PieceMesh;
use crate::terrain::Terrain;

/// The materials of a terrain, for its ground and for its water.
#[derive(Component, Clone, Debug, Default, PartialEq, Eq)]
pub struct TerrainMaterials {
    /// Of ground and of pieces cut loose.
    pub solid: Handle<StandardMaterial>,
    /// Of liquids.
    pub liquid: Handle<StandardMaterial>,
}

/// The materials of terrains that have none of their own.
#[derive(Resource, Clone, Debug)]
pub struct DefaultTerrainMaterials(pub TerrainMaterials);

/// Gives terrain its materials. Part of [`TerravoxPlugin`](crate::TerravoxPlugin).
pub(crate) struct TerrainRenderPlugin;

impl Plugin for TerrainRenderPlugin {
    fn build(&self, app: &mut App) {
        app.add_observer(on_chunk).add_observer(on_piece);
    }

    fn finish(&self, app: &mut App) {
        let Some(mut materials) = app.world_mut().get_resource_mut::<Assets<StandardMaterial>>()
        else {
            return;
        };
        let solid = materials.add(StandardMaterial {
            perceptual_roughness: 0.95,
            reflectance: 0.2,
            ..default()
        });
        let liquid = materials.add(StandardMaterial {
            perceptual_roughness: 0.1,
            alpha_mode: AlphaMode::Blend,
            ..default()
        });
        app.insert_resource(DefaultTerrainMaterials(TerrainMaterials { solid, liquid }));
    }
}

fn materials_of<'a>(
    terrain: Entity,
    own: &'a Query<&TerrainMaterials, With<Terrain>>,
    default: &'a Option<Res<DefaultTerrainMaterials>>,
) -> Option<&'a TerrainMaterials> {
    own.get(terrain).ok().or_else(|| default.as_ref().map(|default| &default.0))
}

/// A chunk that is used again may have been water.
fn on_chunk(
    chunk: On<Insert, TerrainChunk>,
    chunks: Query<&TerrainChunk>,
    own: Query<&TerrainMaterials, With<Terrain>>,
    default: Option<Res<DefaultTerrainMaterials>>,
    mut commands: Commands,
) {
    let Ok(part) = chunks.get(chunk.entity) else { return };
    let Some(materials) = materials_of(part.terrain, &own, &default) else { return };
    let material = if part.is_liquid { &materials.liquid } else { &materials.solid };
    commands.entity(chunk.entity).insert(MeshMaterial3d(material.clone()));
}

fn on_piece(
    piece: On<Add, PieceMesh>,
    pieces: Query<&PieceMesh>,
    own: Query<&TerrainMaterials, With<Terrain>>,
    default: Option<Res<DefaultTerrainMaterials>>,
    mut commands: Commands,
) {
    let Ok(part) = pieces.get(piece.entity) else { return };
    let Some(materials) = materials_of(part.terrain, &own, &default) else { return };
    commands.entity(piece.entity).insert(MeshMaterial3d(materials.solid.clone()));
}
