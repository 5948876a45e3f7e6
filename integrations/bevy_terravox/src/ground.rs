//! Tells entities when the ground around them is there.

use bevy::prelude::*;

use crate::plugin::{TerravoxStats, timed};
use crate::queries::is_ready;
use crate::terrain::Terrain;

/// Waits until the ground around its entity is held; is removed then, and [`GroundReady`] sent.
/// A loading screen ends with it: `on_ready: On<GroundReady>, mut next: ResMut<NextState<…>>`.
#[derive(Component, Clone, Copy, Debug, PartialEq, Reflect)]
#[reflect(Component, Default)]
#[require(Transform)]
pub struct WaitForGround {
    /// Metres around the entity.
    pub radius_m: f32,
    /// The terrain whose ground is awaited; `None` for that of all terrains.
    pub terrain: Option<Entity>,
}

impl Default for WaitForGround {
    /// Ten metres, of all terrains.
    fn default() -> WaitForGround {
        WaitForGround { radius_m: 10.0, terrain: None }
    }
}

/// Sent when the ground around an entity with [`WaitForGround`] is held, and triggered on it.
#[derive(Message, EntityEvent, Clone, Copy, Debug, PartialEq, Eq)]
pub struct GroundReady {
    /// The entity that waited.
    pub entity: Entity,
}

/// Looks whether the ground is there.
pub(crate) fn announce(
    waiting: Query<(Entity, &WaitForGround, Ref<GlobalTransform>)>,
    terrains: Query<(Entity, &Terrain, Ref<GlobalTransform>)>,
    mut ready: MessageWriter<GroundReady>,
    mut commands: Commands,
    mut stats: ResMut<TerravoxStats>,
) {
    timed(&mut stats.ground_ms, || {
        for (entity, wait, at) in &waiting {
            let mut awaited = terrains
                .iter()
                .filter(|(terrain, ..)| wait.terrain.is_none_or(|only| only == *terrain))
                .peekable();
            // With no terrain at all there is nothing to stand on yet.
            let exists = awaited.peek().is_some();
            let is_ready = |(_, terrain, place): (Entity, &Terrain, Ref<GlobalTransform>)| {
                !place.is_added() && is_ready(terrain, &place, at.translation(), wait.radius_m)
            };
            // What was just spawned has no place in the world before transforms are propagated.
            if exists && !at.is_added() && awaited.all(is_ready) {
                commands.entity(entity).try_remove::<WaitForGround>();
                commands.trigger(GroundReady { entity });
                ready.write(GroundReady { entity });
            }
        }
    });
}
