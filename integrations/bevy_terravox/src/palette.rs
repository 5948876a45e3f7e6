//! Materials of a terrain as an asset.

use bevy::prelude::*;
use terravox::voxel::MaterialTable;

use crate::chunks::TerrainChunks;
use crate::terrain::Terrain;

/// Names, colours, shapes, friction and densities of the materials of a terrain. Add it to
/// `Assets<TerrainPalette>`: there is no loader for files. When it is added or changed, every terrain
/// with its [`PaletteHandle`] takes it over.
#[derive(Asset, TypePath, Clone, Debug, Default, PartialEq)]
pub struct TerrainPalette {
    /// The materials, by id.
    pub materials: MaterialTable,
    /// How they look, by id. What is missing follows from their names.
    pub looks: Vec<MaterialLook>,
}

/// How a material looks, besides its colour.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MaterialLook {
    /// Layer of the textures (`render::LAYER_NAMES`); above the last, the material is drawn in its
    /// colour alone. `None`: by its name.
    pub layer: Option<u8>,
    /// 0 is a mirror, 1 is chalk. `None`: that of the layer.
    pub roughness: Option<f32>,
}

/// The palette of a terrain. Without one, a terrain uses the table of its options.
#[derive(Component, Clone, Debug, Default, PartialEq, Eq, Deref)]
pub struct PaletteHandle(pub Handle<TerrainPalette>);

/// Has a terrain that comes to an entity with a palette, or replaces another, take it over.
pub(crate) fn on_terrain(terrain: On<Insert, Terrain>, mut handles: Query<&mut PaletteHandle>) {
    if let Ok(mut handle) = handles.get_mut(terrain.entity) {
        handle.set_changed();
    }
}

/// Gives terrains the palettes that were added or changed.
pub(crate) fn apply(
    mut changed: MessageReader<AssetEvent<TerrainPalette>>,
    palettes: Res<Assets<TerrainPalette>>,
    mut terrains: Query<(Entity, &mut Terrain, &mut TerrainChunks, Ref<PaletteHandle>)>,
) {
    let id_of = |event: &AssetEvent<TerrainPalette>| match event {
        AssetEvent::Added { id } | AssetEvent::Modified { id } => Some(*id),
        _ => None,
    };
    let changed: Vec<_> = changed.read().filter_map(id_of).collect();
    for (entity, mut terrain, mut chunks, handle) in &mut terrains {
        if !handle.is_changed() && !changed.contains(&handle.id()) {
            continue;
        }
        let Some(palette) = palettes.get(handle.id()) else { continue };
        let old = terrain.grid().materials();
        if *old == palette.materials {
            continue;
        }
        if old.kinds() != palette.materials.kinds() {
            error!(
                "the palette of terrain {entity} is refused: it makes other materials air, liquid \
                 or solid than the world has"
            );
            continue;
        }
        terrain.grid_mut().set_materials(palette.materials.clone());
        let everything = terrain.reset_mesh_swaps();
        chunks.restart(everything);
    }
}
