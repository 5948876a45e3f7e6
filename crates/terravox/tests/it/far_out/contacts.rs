//! Contacts, ways out of the ground, and buoyancy: equal to 1e-4 voxels.

use super::collide::colliders;
use super::scene::{EDGE, assert_near, assert_near_points, config, corner, local, pair, point_at};
use proptest::prelude::*;
use terravox::collide::Collider;
use terravox::contacts::{
    Body, BodyPart, ContactOptions, ContactPoint, Contacts, WaterScratch, WayOut,
};
use terravox::geometry::Shape;
use terravox::voxel::VoxelPos;

const TOLERANCE: f64 = 1e-4;

/// Places in 1/64 of a voxel, far enough from the limits for ways out of the ground.
fn place() -> impl Strategy<Value = [f64; 3]> {
    prop::array::uniform3(18 * 64..46 * 64).prop_map(|p| p.map(|v| f64::from(v) / 64.0))
}

/// Below the ball of the scene, and at three of its sides.
const TOUCHING: [[f64; 3]; 4] =
    [[40.0, 37.0, 30.0], [31.0, 45.0, 30.0], [40.0, 45.0, 21.0], [40.0, 45.0, 39.0]];

fn points(collider: &Collider, body: &Body<'_>) -> Vec<ContactPoint> {
    let mut contacts = Contacts::default();
    let options = ContactOptions { prediction_voxels: 0.25, ..ContactOptions::default() };
    contacts.find(collider, body, &options);
    contacts.manifolds.iter().flat_map(|manifold| manifold.points().to_vec()).collect()
}

fn deepest(points: &[ContactPoint]) -> f64 {
    points.iter().map(|point| f64::from(point.distance)).fold(0.25, f64::min)
}

fn assert_same_way(near: Option<WayOut>, far: Option<WayOut>, at: VoxelPos) {
    assert_eq!(near.is_some(), far.is_some());
    let (Some(near), Some(far)) = (near, far) else { return };
    assert_near(near.distance.into(), far.distance.into(), TOLERANCE, "way out");
    assert_eq!((near.voxel + at, near.material), (far.voxel, far.material));
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn bodies_touch_and_float_as_at_the_origin(
        seed: u8, at in corner(EDGE), places in prop::collection::vec(place(), 40),
    ) {
        let [origin, far] = colliders(&pair(seed, at));
        let shapes = [
            BodyPart::new(Shape::Box { half: [0.8, 0.5, 1.2], rotation: [0.0, 0.0, 0.0, 1.0] }),
            BodyPart { offset: [0.0, 1.0, 0.0], ..BodyPart::new(Shape::Sphere { radius: 0.75 }) },
        ];
        let rotation = [0.0, 0.382_683_43, 0.0, 0.923_879_5];
        let mut touching = 0;
        for position in places.into_iter().chain(TOUCHING) {
            let body = |position: [f64; 3]| Body { parts: &shapes, position, rotation };
            let there = point_at(position, at);
            let (near, found) = (points(&origin, &body(position)), points(&far, &body(there)));
            assert_near(deepest(&near), deepest(&found), TOLERANCE, "deepest contact");
            touching += usize::from(!near.is_empty());
            for (near, found) in near.iter().zip(&found) {
                if near.part == found.part && near.voxel + at == found.voxel {
                    assert_near_points(near.point, local(found.point, at), 1e-2, "contact");
                }
            }
            let wet = |collider: &Collider, body: &Body<'_>| {
                WaterScratch::default().submersion(collider, body).found
            };
            let (near, found) = (wet(&origin, &body(position)), wet(&far, &body(there)));
            assert_near(near.volume.into(), found.volume.into(), 1e-2, "volume under water");
            assert_same_way(WayOut::find(&origin, position), WayOut::find(&far, there), at);
        }
        prop_assert!(touching > 2);
    }
}

#[test]
fn bodies_at_values_beyond_all_grids_touch_nothing() {
    let [_, far] = colliders(&pair(1, VoxelPos::splat((1 << 30) - EDGE)));
    for value in [3e9, 1e30, 1e308, f64::INFINITY, f64::NAN] {
        let parts = [BodyPart::new(Shape::Sphere { radius: 2.0 })];
        let body = Body {
            parts: &parts,
            position: [value, -value, value],
            rotation: [0.0, 0.0, 0.0, 1.0],
        };
        assert!(points(&far, &body).is_empty());
        assert_eq!(WaterScratch::default().submersion(&far, &body).found.volume, 0.0);
        assert!(WayOut::find(&far, body.position).is_none());
    }
}
