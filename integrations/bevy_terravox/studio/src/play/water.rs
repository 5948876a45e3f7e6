//! Water carries bodies: as much of its weight as they displace.

use avian3d::prelude::*;
use bevy::prelude::*;
use bevy_terravox::prelude::*;
use bevy_terravox::terravox;
use terravox::voxel::Kind;

use super::bodies::Thrown;

/// Fraction of the speed through water that is left after a second.
const DRAG: f32 = 0.12;
const GRAVITY_M_S2: f32 = 9.81;
/// Heights in a body at which water is looked for, in halves of its height.
const PROBES: [f32; 5] = [-0.9, -0.45, 0.0, 0.45, 0.9];

/// Whether there is water at a point.
pub(super) fn is_liquid(terrains: &Terrains, tables: &Query<&Terrain>, at: Vec3) -> bool {
    terrains.material_at(at).is_some_and(|(terrain, material)| {
        tables
            .get(terrain)
            .is_ok_and(|terrain| terrain.grid().materials().kind(material) == Kind::Liquid)
    })
}

/// Lifts what is in water.
pub(super) fn float(
    terrains: Terrains,
    tables: Query<&Terrain>,
    mut bodies: Query<
        (&Thrown, &Position, &mut LinearVelocity, &mut AngularVelocity),
        Without<Sleeping>,
    >,
    time: Res<Time>,
) {
    let seconds = time.delta_secs();
    for (thrown, position, mut linear, mut angular) in &mut bodies {
        let (half_m, density) = thrown.kind.half_height_and_density();
        let is_wet =
            |share: &&f32| is_liquid(&terrains, &tables, position.0 + Vec3::Y * **share * half_m);
        let share = PROBES.iter().filter(is_wet).count() as f32 / PROBES.len() as f32;
        if share > 0.0 {
            let left = DRAG.powf(seconds * share);
            linear.y += GRAVITY_M_S2 * share / density * seconds;
            linear.0 *= left;
            angular.0 *= left;
        }
    }
}
