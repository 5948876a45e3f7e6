//! The materials of each terrain: made with it, changed with its palette, its textures and its
//! viewers.

use std::path::PathBuf;

use bevy::ecs::system::SystemParam;
use bevy::material::OpaqueRendererMethod;
use bevy::prelude::*;
use bevy::render::storage::ShaderBuffer;
use bevy::tasks::futures::check_ready;
use bevy::tasks::{AsyncComputeTaskPool, Task};

use super::looks::GroundTable;
use super::materials::{GroundExtension, GroundMaterial, WaterExtension, WaterLook, WaterMaterial};
use super::textures::{self, Layers};
use crate::palette::{PaletteHandle, TerrainPalette};
use crate::terrain::Terrain;
use crate::viewer::TerrainViewer;

/// Most viewers whose distance the shader takes into account.
const MAX_VIEWERS: usize = 4;

/// What the shader reads to morph: four viewers, then the ranges of mips, two to a vector.
type MorphTable = [Vec4; 9];

/// The materials of a terrain. Every terrain has this where there is a renderer.
#[derive(Component, Clone, Debug)]
pub struct TerrainSurface {
    /// Of ground and of pieces cut loose.
    pub ground: Handle<GroundMaterial>,
    /// Of liquids.
    pub water: Handle<WaterMaterial>,
    morph: Handle<ShaderBuffer>,
    /// What `morph` has.
    table: MorphTable,
}

/// The textures of ground. Insert it before the app runs.
#[derive(Resource, Clone, Debug, Default, PartialEq, Eq)]
pub enum TerrainTextures {
    /// Ours, which are made when the app starts.
    #[default]
    Ours,
    /// Those of a folder: square PNG files `grass.png` (colour, and height as alpha) and
    /// `grass_surface.png` (normal along u and up, roughness about ½, and occlusion), named as
    /// [`LAYER_NAMES`](super::LAYER_NAMES), all of one size, a power of two. Layers that the folder lacks
    /// are ours; if it has none that can be read, ground is drawn in the colours of the palette.
    Folder(PathBuf),
    /// No textures: ground is drawn in the colours of the palette.
    None,
}

/// The textures that terrains are drawn with.
#[derive(Resource)]
pub struct TextureSet {
    colour: Handle<Image>,
    surface: Handle<Image>,
    means: Option<Vec<Vec3>>,
    task: Option<Task<Result<Layers, String>>>,
}

impl TextureSet {
    /// Whether they are there, or will not come.
    pub fn is_ready(&self) -> bool {
        self.task.is_none()
    }

    /// Whether ground has textures, and not colours alone.
    pub fn has_textures(&self) -> bool {
        self.means.is_some()
    }
}

/// Starts to make or load textures.
pub(super) fn start_textures(
    textures: Res<TerrainTextures>,
    mut images: ResMut<Assets<Image>>,
    mut commands: Commands,
) {
    let pool = AsyncComputeTaskPool::get();
    let task = match textures.clone() {
        TerrainTextures::Ours => Some(pool.spawn(async { Ok(textures::ours()) })),
        TerrainTextures::Folder(folder) => {
            Some(pool.spawn(async move { super::folder::read(&folder) }))
        }
        TerrainTextures::None => None,
    };
    let [colour, surface] = textures::empty_images().map(|image| images.add(image));
    commands.insert_resource(TextureSet { colour, surface, means: None, task });
}

/// Takes the textures when they are there.
pub(super) fn take_textures(set: Option<ResMut<TextureSet>>, mut images: ResMut<Assets<Image>>) {
    let Some(mut set) = set else { return };
    let Some(done) = set.bypass_change_detection().task.as_mut().and_then(check_ready) else {
        return;
    };
    set.task = None;
    match done {
        Ok(layers) => {
            [set.colour, set.surface] = textures::images(&layers).map(|image| images.add(image));
            set.means = Some(layers.layers.iter().map(|layer| layer.mean).collect());
        }
        Err(error) => warn!("ground is drawn in colours, without textures: {error}"),
    }
}

/// What the materials of a terrain are made of.
#[derive(SystemParam)]
pub(super) struct SurfaceAssets<'w> {
    images: ResMut<'w, Assets<Image>>,
    ground: ResMut<'w, Assets<GroundMaterial>>,
    water: ResMut<'w, Assets<WaterMaterial>>,
    buffers: ResMut<'w, Assets<ShaderBuffer>>,
}

/// A terrain, and what changes its materials.
type SurfaceParts<'w> = (
    &'w Terrain,
    Ref<'w, TerrainSurface>,
    Option<Ref<'w, PaletteHandle>>,
    Option<Ref<'w, WaterLook>>,
);

/// Makes the materials of a terrain, which may replace another.
pub(super) fn on_terrain(
    terrain: On<Insert, Terrain>,
    terrains: Query<&Terrain>,
    set: Option<Res<TextureSet>>,
    assets: SurfaceAssets,
    mut commands: Commands,
) {
    let SurfaceAssets { mut images, mut ground, mut water, mut buffers } = assets;
    let Ok(voxels) = terrains.get(terrain.entity) else { return };
    let voxel_size_m = voxels.placement().voxel_size_m as f32;
    let morphing = morph_table(voxels, &[Vec4::ZERO; MAX_VIEWERS]);
    let morph = buffers.add(ShaderBuffer::from(morphing));
    let [colour, surface] = match set {
        Some(set) => [set.colour.clone(), set.surface.clone()],
        None => textures::empty_images().map(|image| images.add(image)),
    };
    let voxel = Vec4::splat(voxel_size_m);
    let table = GroundTable::new(voxels.grid().materials(), &[], None, voxel_size_m);
    let base = StandardMaterial {
        reflectance: 0.3,
        opaque_render_method: OpaqueRendererMethod::Forward,
        ..default()
    };
    let extension = GroundExtension { table, colour, surface, morph: morph.clone(), voxel };
    let ground = ground.add(GroundMaterial { base, extension });
    let base = StandardMaterial { alpha_mode: AlphaMode::Blend, reflectance: 0.25, ..default() };
    let extension =
        WaterExtension { water: WaterLook::default().table(), morph: morph.clone(), voxel };
    let water = water.add(WaterMaterial { base, extension });
    let surface = TerrainSurface { ground, water, morph, table: morphing };
    commands.entity(terrain.entity).try_insert(surface);
}

/// Drops the materials of a terrain that is removed.
pub(super) fn on_removal(terrain: On<Remove, Terrain>, mut commands: Commands) {
    commands.entity(terrain.entity).try_remove::<TerrainSurface>();
}

/// Brings palettes, textures and looks of water into the materials.
pub(super) fn look(
    terrains: Query<SurfaceParts<'static>>,
    mut changed: MessageReader<AssetEvent<TerrainPalette>>,
    palettes: Res<Assets<TerrainPalette>>,
    set: Option<Res<TextureSet>>,
    mut ground: ResMut<Assets<GroundMaterial>>,
    mut water: ResMut<Assets<WaterMaterial>>,
) {
    let Some(set) = set else { return };
    let any_palette = changed.read().count() > 0;
    for (terrain, surface, palette, water_look) in &terrains {
        // Also that of a terrain that replaced another.
        let is_new = surface.is_changed();
        if (is_new || water_look.as_ref().is_some_and(|look| look.is_changed()))
            && let Some(mut material) = water.get_mut(&surface.water)
        {
            material.extension.water =
                water_look.map_or_else(WaterLook::default, |look| *look).table();
        }
        let other = palette.as_ref().is_some_and(|handle| handle.is_changed());
        if !(is_new || any_palette || other || set.is_changed()) {
            continue;
        }
        let Some(mut material) = ground.get_mut(&surface.ground) else { continue };
        let looks = palette.and_then(|handle| palettes.get(handle.id()));
        let looks = looks.map_or(&[][..], |palette| &palette.looks);
        let voxel_size_m = terrain.placement().voxel_size_m as f32;
        material.extension.table =
            GroundTable::new(terrain.grid().materials(), looks, set.means.as_deref(), voxel_size_m);
        material.extension.colour = set.colour.clone();
        material.extension.surface = set.surface.clone();
    }
}

/// Tells the shaders where the viewers are, if vertices move with their distance.
pub(super) fn morph(
    mut terrains: Query<(&Terrain, &mut TerrainSurface)>,
    viewers: Query<&GlobalTransform, With<TerrainViewer>>,
    mut buffers: ResMut<Assets<ShaderBuffer>>,
) {
    let mut all = [Vec4::ZERO; MAX_VIEWERS];
    for (place, viewer) in all.iter_mut().zip(&viewers) {
        *place = viewer.translation().extend(1.0);
    }
    for (terrain, mut surface) in &mut terrains {
        if !terrain.lod().options().morph {
            continue;
        }
        // Ranges change while viewers stand still, too.
        let table = morph_table(terrain, &all);
        if surface.table == table {
            continue;
        }
        surface.bypass_change_detection().table = table;
        if let Some(mut buffer) = buffers.get_mut(&surface.morph) {
            buffer.set_data(table);
        }
    }
}

fn morph_table(terrain: &Terrain, viewers: &[Vec4; MAX_VIEWERS]) -> MorphTable {
    let ranges = terrain.lod().morph();
    std::array::from_fn(|i| match viewers.get(i) {
        Some(viewer) => *viewer,
        None => {
            let mip = 2 * (i - MAX_VIEWERS) as u8;
            let ([a, b], [c, d]) = (ranges.range_voxels(mip), ranges.range_voxels(mip + 1));
            Vec4::new(a, b, c, d)
        }
    })
}
