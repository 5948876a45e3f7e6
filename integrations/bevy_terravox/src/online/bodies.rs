//! What a server shows beside its ground: falling pieces, other players, bodies of the game.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Instant;

use bevy::asset::RenderAssetUsages;
use bevy::prelude::*;
use bevy::tasks::{AsyncComputeTaskPool, Task, block_on};
use terravox::bodies::{BodyPose, LooseBody};
use terravox::replicate::{GuestEvent, SharedBody, SharedBodyKind};
use terravox::terrain::Placement;
use terravox_server::Client;

use super::OnlineTerrain;
use super::link::lock;
use crate::loose::spawn_meshes;
use crate::made_mesh::MeshStyle;
use crate::plugin::{TerravoxStats, ms_since};
use crate::surface_mesh::Colours;
use crate::terrain::Terrain;

/// A body that a server shows, a child of its terrain: a falling piece of the world, which has
/// meshes, the avatar of another player, or what the game of the server added. Its `Transform`
/// follows the server smoothly. Give avatars a mesh by an observer of `On<Add, OnlineBody>`.
#[derive(Component, Clone, Debug, PartialEq)]
#[require(Transform, Visibility)]
pub struct OnlineBody {
    /// The terrain.
    pub terrain: Entity,
    /// Its number at the server.
    pub number: u64,
    /// What it is.
    pub kind: SharedBodyKind,
    /// What the other side says about it, up to 64 KiB that a player may have made up.
    pub bytes: Arc<[u8]>,
}

/// On the entity of this player: others see an [`OnlineBody`] of [`SharedBodyKind::Avatar`] where
/// its `GlobalTransform` is, until the component is removed. Of several for one terrain, the first is shown.
#[derive(Component, Clone, Debug, PartialEq, Eq)]
#[require(Transform)]
pub struct OnlineAvatar {
    /// The terrain, with [`OnlineTerrain`].
    pub terrain: Entity,
    /// What others need to know of it, such as a name; more than 256 bytes panic.
    pub bytes: Vec<u8>,
}

/// Decodes a falling piece.
#[derive(Component)]
pub(super) struct PieceTask(Task<Option<LooseBody>>);

/// The entities of bodies, by number.
pub(super) type BodyEntities = HashMap<u64, Entity>;

/// Follows what an event says about bodies.
pub(super) fn follow(
    event: &GuestEvent,
    terrain: Entity,
    client: &mut Client,
    entities: &mut BodyEntities,
    commands: &mut Commands,
) {
    match *event {
        GuestEvent::BodyAdded { body } => {
            let Some(shared) = body_of(client, body) else { return };
            let SharedBody { kind, bytes, .. } = shared.clone();
            let part = OnlineBody { terrain, number: body, kind, bytes };
            let mut entity = commands.spawn((part, ChildOf(terrain)));
            if kind == SharedBodyKind::Loose
                && let Some(grid) = client.guest().grid()
            {
                let materials = grid.materials().clone();
                let pool = AsyncComputeTaskPool::get();
                let decode = async move { shared.to_loose(&materials).ok() };
                entity.insert(PieceTask(pool.spawn(decode)));
            }
            entities.insert(body, entity.id());
        }
        GuestEvent::BodyChanged { body } => {
            let (entity, shared) = (entities.get(&body), body_of(client, body));
            if let (Some(&entity), Some(SharedBody { kind, bytes, .. })) = (entity, shared) {
                let part = OnlineBody { terrain, number: body, kind, bytes };
                commands.entity(entity).try_insert(part);
            }
        }
        GuestEvent::BodyRemoved { body } => {
            if let Some(entity) = entities.remove(&body) {
                commands.entity(entity).try_despawn();
            }
        }
        _ => {}
    }
}

/// Removes all bodies.
pub(super) fn remove_all(entities: &mut BodyEntities, commands: &mut Commands) {
    entities.drain().for_each(|(_, entity)| commands.entity(entity).try_despawn());
}

fn body_of(client: &mut Client, number: u64) -> Option<SharedBody> {
    client.guest().bodies().find(|&(other, _)| other == number).map(|(_, body)| body.clone())
}

/// Moves bodies to where the server has them.
pub(super) fn place(
    terrains: Query<&OnlineTerrain>,
    mut bodies: Query<&mut Transform, With<OnlineBody>>,
    mut stats: ResMut<TerravoxStats>,
) {
    let start = Instant::now();
    for terrain in terrains.iter().filter(|terrain| !terrain.bodies.is_empty()) {
        // Once for all bodies: a task may hold it.
        let mut client = lock(terrain.link.client());
        let Some(client) = client.as_mut() else { continue };
        let now_us = client.now_us();
        let guest = client.guest();
        let Some(placement) = guest.placement() else { continue };
        for (&number, &entity) in &terrain.bodies {
            let (Ok(mut transform), Some(pose)) =
                (bodies.get_mut(entity), guest.body_pose(number, now_us))
            else {
                continue;
            };
            let at = placement.world_from_voxel(pose.position_voxels).map(|v| v as f32);
            let [x, y, z, w] = pose.rotation.map(|v| v as f32);
            let rotation = Quat::from_xyzw(x, y, z, w).normalize();
            transform.set_if_neq(Transform { translation: at.into(), rotation, scale: Vec3::ONE });
        }
    }
    stats.online_ms += ms_since(start);
}

/// Gives falling pieces their meshes.
pub(super) fn draw_pieces(
    mut pieces: Query<(Entity, &OnlineBody, &mut PieceTask)>,
    terrains: Query<&Terrain>,
    mut meshes: ResMut<Assets<Mesh>>,
    mut commands: Commands,
    mut stats: ResMut<TerravoxStats>,
) {
    let start = Instant::now();
    for (entity, body, mut task) in &mut pieces {
        if !task.0.is_finished() {
            continue;
        }
        commands.entity(entity).try_remove::<PieceTask>();
        let (Ok(terrain), Some(piece)) = (terrains.get(body.terrain), block_on(&mut task.0)) else {
            continue;
        };
        let style = MeshStyle {
            colours: Arc::new(Colours::of(terrain.grid().materials())),
            max_bytes: usize::MAX,
            usage: RenderAssetUsages::RENDER_WORLD,
        };
        let voxel_size_m = terrain.placement().voxel_size_m as f32;
        spawn_meshes(
            entity,
            body.terrain,
            &piece,
            voxel_size_m,
            &style,
            &mut meshes,
            &mut commands,
        );
    }
    stats.online_ms += ms_since(start);
}

/// The pose of an avatar, in voxels of a terrain.
pub(super) fn avatar_pose(
    avatar: &GlobalTransform,
    terrain: &GlobalTransform,
    placement: Placement,
) -> BodyPose {
    let local = avatar.reparented_to(terrain);
    let at = local.translation.to_array().map(f64::from);
    let position_voxels = placement.voxel_from_world(at);
    BodyPose { position_voxels, rotation: local.rotation.to_array().map(f64::from) }
}
