//! Ground under pointers, for Bevy's picking: the entity of a terrain gets `Pointer<Click>`, `Pointer<Over>`
//! and all others. It needs Bevy's `DefaultPickingPlugins`.
//!
//! ```
//! use bevy::picking::events::{Click, Pointer};
//! use bevy::prelude::*;
//! use bevy_terravox::prelude::*;
//!
//! fn dig(click: On<Pointer<Click>>, mut edits: MessageWriter<EditTerrain>) {
//!     let hit = click.hit.extra_as::<TerrainHit>();
//!     edits.write_batch(hit.map(|hit| EditTerrain::dig(hit, 3.0)));
//! }
//!
//! fn set_up(mut commands: Commands) {
//!     let terrain = Terrain::new(|request| request.fill_height(2, 0.0..=0.0, |_, _| 0.0));
//!     commands.spawn(terrain).observe(dig);
//! }
//! # bevy::ecs::system::assert_is_system(set_up);
//! ```

use bevy::picking::PickingSystems;
use bevy::picking::backend::ray::RayMap;
use bevy::picking::backend::{HitData, PointerHits};
use bevy::prelude::*;

use crate::queries::Terrains;

/// How far pointers reach, metres: what is drawn is nearer.
const REACH_M: f32 = 1e6;

pub(crate) fn build(app: &mut App) {
    app.add_message::<PointerHits>();
    let is_used = resource_exists::<RayMap>;
    app.add_systems(PreUpdate, pick.in_set(PickingSystems::Backend).run_if(is_used));
}

/// Reports the nearest ground under each pointer. The hit data has the
/// [`TerrainHit`](crate::TerrainHit).
fn pick(
    rays: Res<RayMap>,
    cameras: Query<&Camera>,
    pickables: Query<&Pickable>,
    terrains: Terrains,
    mut hits: MessageWriter<PointerHits>,
) {
    for (&id, &ray) in rays.iter() {
        let Ok(camera) = cameras.get(id.camera) else { continue };
        let Some(hit) = terrains.ray_shown(ray, REACH_M) else { continue };
        let is_ignored = pickables.get(hit.terrain).is_ok_and(|pickable| !pickable.is_hoverable);
        if is_ignored {
            continue;
        }
        let (point, normal) = (Some(hit.point), Some(hit.normal));
        let data = HitData::new_with_extra(id.camera, hit.distance, point, normal, hit);
        hits.write(PointerHits::new(id.pointer, vec![(hit.terrain, data)], camera.order as f32));
    }
}

#[cfg(test)]
mod tests {
    use bevy::picking::backend::ray::RayId;
    use bevy::picking::pointer::PointerId;

    use super::*;
    use crate::prelude::*;

    #[test]
    fn a_pointer_over_ground_hits_its_terrain() {
        let mut app = App::new();
        app.add_plugins((MinimalPlugins, TransformPlugin, TerravoxPlugin::default()));
        app.init_resource::<RayMap>();
        let flat = Terrain::new(|request| request.fill_height(2, 0.0..=0.0, |_, _| 0.0));
        let terrain = app.world_mut().spawn(flat).id();
        let at = Transform::from_xyz(0.0, 5.0, 0.0);
        let camera = app.world_mut().spawn((Camera::default(), TerrainViewer::new(100.0), at)).id();
        app.update();
        while !app.world().get::<Terrain>(terrain).unwrap().is_settled() {
            app.update();
            std::thread::yield_now();
        }
        let pointed = |app: &mut App, direction: Dir3| {
            let ray = Ray3d::new(Vec3::new(1.0, 5.0, 2.0), direction);
            let mut rays = app.world_mut().resource_mut::<RayMap>();
            rays.map.insert(RayId::new(camera, PointerId::Mouse), ray);
            app.world_mut().resource_mut::<Messages<PointerHits>>().clear();
            app.update();
            let messages = app.world_mut().resource_mut::<Messages<PointerHits>>();
            messages.iter_current_update_messages().cloned().collect::<Vec<_>>()
        };
        let hits = pointed(&mut app, Dir3::NEG_Y);
        let [PointerHits { picks, .. }] = &hits[..] else { panic!("{hits:?}") };
        let (entity, data) = &picks[0];
        assert_eq!((*entity, picks.len()), (terrain, 1));
        assert!((data.depth - 5.0).abs() < 0.01 && data.normal.unwrap().y > 0.99);
        assert_eq!(data.extra_as::<TerrainHit>().unwrap().in_terrain.material, 2);
        assert!(pointed(&mut app, Dir3::Y).is_empty());
        app.world_mut().entity_mut(terrain).insert(Pickable::IGNORE);
        assert!(pointed(&mut app, Dir3::NEG_Y).is_empty(), "it is ignored");
    }
}
