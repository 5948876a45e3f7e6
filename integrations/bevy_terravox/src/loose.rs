//! Pieces that edits cut loose, as entities.

use std::sync::Arc;

use bevy::asset::RenderAssetUsages;
use bevy::camera::visibility::NoAutoAabb;
use bevy::prelude::*;
use terravox::bodies::{LooseBody, LooseOptions};

use crate::made_mesh::MeshStyle;
use crate::plugin::{TerravoxStats, timed};
use crate::surface_mesh::{Colours, part_from};
use crate::terrain::Terrain;

/// On a terrain: ground that an edit leaves without support becomes an entity with
/// [`LoosePiece`]. With physics it falls.
#[derive(Component, Clone, Debug, Default, PartialEq, Eq)]
pub struct LoosePieces {
    /// What is anchored, and limits for each frame.
    pub options: LooseOptions,
    /// Whether there is more to look for.
    has_more: bool,
}

impl LoosePieces {
    /// With these options.
    pub fn new(options: LooseOptions) -> LoosePieces {
        LoosePieces { options, has_more: false }
    }
}

/// A piece that was cut loose: the entity's position is the min corner of voxel (0, 0, 0) of the
/// piece. Its meshes are children.
#[derive(Component)]
#[require(Transform, Visibility)]
pub struct LoosePiece {
    /// The terrain that it was a part of.
    pub terrain: Entity,
    /// Its cells, mass and meshes.
    pub body: LooseBody,
    /// Edge of its voxels, metres.
    pub voxel_size_m: f64,
}

/// Sent when a piece was cut loose, and triggered on its entity.
#[derive(Message, EntityEvent, Clone, Copy, Debug, PartialEq, Eq)]
pub struct PieceCutLoose {
    /// The entity with [`LoosePiece`].
    #[event_target]
    pub piece: Entity,
    /// The terrain that it was a part of.
    pub terrain: Entity,
}

/// Looks for pieces after edits.
pub(crate) fn cut(
    mut terrains: Query<(Entity, &mut Terrain, &mut LoosePieces, &GlobalTransform)>,
    mut edited: MessageReader<crate::TerrainEdited>,
    mut cut_loose: MessageWriter<PieceCutLoose>,
    mut meshes: Option<ResMut<Assets<Mesh>>>,
    mut commands: Commands,
    mut stats: ResMut<TerravoxStats>,
) {
    for edit in edited.read() {
        if let Ok((_, _, mut pieces, _)) = terrains.get_mut(edit.terrain) {
            pieces.has_more = true;
        }
    }
    for (entity, mut terrain, mut pieces, at) in &mut terrains {
        if !pieces.has_more {
            continue;
        }
        let cut = timed(&mut stats.edit_ms, || terrain.cut_loose(&pieces.options));
        let cut = match cut {
            Ok(cut) => cut,
            Err(error) => {
                warn!("pieces of terrain {entity} stay where they are: {error}");
                pieces.has_more = false;
                continue;
            }
        };
        pieces.has_more = cut.has_more;
        for body in cut.bodies {
            let voxel_size_m = terrain.placement().voxel_size_m;
            let style = MeshStyle {
                colours: Arc::new(Colours::of(terrain.grid().materials())),
                max_bytes: usize::MAX,
                usage: RenderAssetUsages::RENDER_WORLD,
            };
            let min_m = terrain.original_position_m(&body);
            let mut place = at.compute_transform();
            place.translation = at.transform_point(Vec3::from(min_m.map(|v| v as f32)));
            let piece = commands.spawn(place).id();
            if let Some(meshes) = &mut meshes {
                spawn_meshes(
                    piece,
                    entity,
                    &body,
                    voxel_size_m as f32,
                    &style,
                    meshes,
                    &mut commands,
                );
            }
            commands.entity(piece).insert(LoosePiece { terrain: entity, body, voxel_size_m });
            let message = PieceCutLoose { piece, terrain: entity };
            commands.trigger(message);
            cut_loose.write(message);
        }
    }
}

/// Spawns the meshes of a piece as children.
pub(crate) fn spawn_meshes(
    piece: Entity,
    terrain: Entity,
    body: &LooseBody,
    voxel_size_m: f32,
    style: &MeshStyle,
    meshes: &mut Assets<Mesh>,
    commands: &mut Commands,
) {
    for mesh in body.meshes.iter().filter(|mesh| !mesh.solid.is_empty()) {
        let (part, _) = part_from(&mesh.solid, 0, style);
        let corner = mesh.block.min.to_array().map(|v| v as f32 * voxel_size_m);
        let transform =
            Transform::from_translation(corner.into()).with_scale(Vec3::splat(voxel_size_m));
        commands.spawn((
            PieceMesh { terrain },
            Mesh3d(meshes.add(part.mesh)),
            (part.bounds, NoAutoAabb),
            transform,
            Visibility::Inherited,
            ChildOf(piece),
        ));
    }
}

/// The mesh of a block of a [`LoosePiece`].
#[derive(Component, Clone, Copy, Debug)]
pub(crate) struct PieceMesh {
    /// The terrain that it was a part of.
    #[cfg_attr(not(feature = "render"), allow(dead_code))]
    pub terrain: Entity,
}
