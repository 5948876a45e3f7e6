//! Pipelines of a terrain are asked for before its first ground is there.
//!
//! Bevy compiles a pipeline when something is drawn with it first, which takes seconds in software. So each
//! terrain has two triangles without area, one of ground and one of water, until it shows ground.

use bevy::asset::RenderAssetUsages;
use bevy::camera::visibility::NoFrustumCulling;
use bevy::prelude::*;
use std::sync::Arc;
use terravox::mesh::Surface;

use super::{Looks, TerrainSurface, insert_material};
use crate::chunks::TerrainChunks;
use crate::made_mesh::MeshStyle;
use crate::surface_mesh::{Colours, part_from};
use crate::terrain::Terrain;

/// The triangles of a terrain; empty once it has shown ground.
#[derive(Component)]
pub(super) struct WarmUp(Vec<Entity>);

/// Spawns the triangles of new terrains.
pub(super) fn begin(
    terrains: Query<(Entity, &Terrain, Looks), (With<TerrainSurface>, Without<WarmUp>)>,
    mut meshes: ResMut<Assets<Mesh>>,
    mut commands: Commands,
) {
    for (terrain, voxels, looks) in &terrains {
        let mesh = meshes.add(triangle(voxels));
        let triangles = [false, true].map(|is_liquid| {
            let parts = (Mesh3d(mesh.clone()), NoFrustumCulling, ChildOf(terrain));
            let mut triangle = commands.spawn(parts);
            insert_material(&mut triangle, looks, is_liquid);
            triangle.id()
        });
        commands.entity(terrain).try_insert(WarmUp(triangles.to_vec()));
    }
}

/// Removes the triangles of terrains that show ground.
pub(super) fn end(mut terrains: Query<(&TerrainChunks, &mut WarmUp)>, mut commands: Commands) {
    for (chunks, mut warm_up) in &mut terrains {
        if warm_up.0.is_empty() || chunks.shown_count() == 0 {
            continue;
        }
        for triangle in warm_up.0.drain(..) {
            commands.entity(triangle).try_despawn();
        }
    }
}

/// A triangle without area, with the attributes of the chunks of a terrain: they choose the pipeline.
fn triangle(terrain: &Terrain) -> Mesh {
    let mut surface = Surface::default();
    surface.positions = vec![[0.0; 3]; 3];
    surface.normals = vec![[0.0, 1.0, 0.0]; 3];
    surface.materials = vec![[0; 4]; 3];
    surface.weights = vec![[255, 0, 0, 0]; 3];
    surface.indices = vec![0, 1, 2];
    if terrain.lod().options().morph {
        surface.targets.positions = surface.positions.clone();
        surface.targets.normals = surface.normals.clone();
        surface.targets.steps = vec![1; 3];
    }
    let style = MeshStyle {
        colours: Arc::new(Colours::of(terrain.grid().materials())),
        max_bytes: usize::MAX,
        usage: RenderAssetUsages::RENDER_WORLD,
    };
    part_from(&surface, 0, &style).0.mesh
}
