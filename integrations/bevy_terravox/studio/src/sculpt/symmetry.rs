//! Mirrors: what is done on one side is done on the other.

use bevy::math::DVec3;
use bevy::prelude::*;
use bevy_terravox::prelude::*;

use super::brush::Place;
use crate::action::{Action, Switch};
use crate::open::Session;
use crate::pointer::Pointer;
use crate::settings::Settings;

/// Where the mirrors stand, metres.
#[derive(Resource, Clone, Copy, Debug, Default, PartialEq)]
pub struct Symmetry {
    /// The plane across x.
    pub x: f64,
    /// The plane across z.
    pub z: f64,
}

/// A mirror that is turned on stands where the cursor is, on or between voxels.
pub(super) fn act(
    mut actions: MessageReader<Action>,
    pointer: Res<Pointer>,
    session: Option<Res<Session>>,
    terrains: Query<&Terrain>,
    mut symmetry: ResMut<Symmetry>,
) {
    for action in actions.read() {
        let (Action::Toggle(switch) | Action::Switch(switch, true)) = action else { continue };
        let Some(hit) = pointer.hit else { continue };
        let terrain = session.as_ref().and_then(|session| terrains.get(session.terrain).ok());
        let Some(placement) = terrain.map(|terrain| terrain.placement()) else { continue };
        let at = placement.voxel_from_world(hit.in_terrain.point_m).map(f64::round);
        let [x, _, z] = placement.world_from_voxel(at);
        match switch {
            Switch::SymmetryX => symmetry.x = x,
            Switch::SymmetryZ => symmetry.z = z,
            _ => {}
        }
    }
}

impl Symmetry {
    /// A place, and those that mirrors make of it.
    pub fn places(&self, settings: &Settings, place: Place) -> Vec<Place> {
        let mut places = vec![place];
        if settings.is_on(Switch::SymmetryX) {
            places.extend(places.clone().iter().map(|place| mirrored(place, 0, self.x)));
        }
        if settings.is_on(Switch::SymmetryZ) {
            places.extend(places.clone().iter().map(|place| mirrored(place, 2, self.z)));
        }
        places
    }
}

/// A place behind the mirror that stands across an axis.
fn mirrored(place: &Place, axis: usize, plane: f64) -> Place {
    let point = |mut p: DVec3| {
        p[axis] = 2.0 * plane - p[axis];
        p
    };
    let way = |mut v: DVec3| {
        v[axis] = -v[axis];
        v
    };
    Place {
        at: point(place.at),
        from: point(place.from),
        level: point(place.level),
        normal: way(place.normal),
        level_normal: way(place.level_normal),
        turn: if axis == 0 { -place.turn } else { 180.0 - place.turn },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_mirrors_make_four_places_and_a_mirror_of_a_mirror_is_the_place() {
        let place = Place {
            at: DVec3::new(3.0, 1.0, 5.0),
            normal: DVec3::new(0.6, 0.8, 0.0),
            from: DVec3::new(1.0, 0.0, 5.0),
            level: DVec3::ZERO,
            level_normal: DVec3::Y,
            turn: 30.0,
        };
        let mut settings = Settings::default();
        let symmetry = Symmetry { x: 1.0, z: -2.0 };
        assert_eq!(symmetry.places(&settings, place), [place]);
        settings.apply(&Action::Switch(Switch::SymmetryX, true));
        settings.apply(&Action::Switch(Switch::SymmetryZ, true));
        let places = symmetry.places(&settings, place);
        assert_eq!(places.len(), 4);
        assert_eq!((places[1].at, places[1].normal.x), (DVec3::new(-1.0, 1.0, 5.0), -0.6));
        assert_eq!(places[3].at, DVec3::new(-1.0, 1.0, -9.0));
        for (axis, plane) in [(0, 1.0), (2, -2.0)] {
            assert_eq!(mirrored(&mirrored(&place, axis, plane), axis, plane), place);
        }
    }

    #[test]
    fn mirrored_ramps_rise_to_the_other_side() {
        // A ramp rises along z, turned about the vertical.
        let rise = |turn: f64| bevy::math::DQuat::from_rotation_y(turn.to_radians()) * DVec3::Z;
        let place = Place {
            at: DVec3::ZERO,
            normal: DVec3::Y,
            from: DVec3::ZERO,
            level: DVec3::ZERO,
            level_normal: DVec3::Y,
            turn: 50.0,
        };
        let x = mirrored(&place, 0, 0.0).turn;
        assert!(rise(x).distance(rise(50.0) * DVec3::new(-1.0, 1.0, 1.0)) < 1e-9);
        let z = mirrored(&place, 2, 0.0).turn;
        assert!(rise(z).distance(rise(50.0) * DVec3::new(1.0, 1.0, -1.0)) < 1e-9);
    }
}
