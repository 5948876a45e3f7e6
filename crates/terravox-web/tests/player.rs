//! A player on ground, in water, at walls and under ground that is built.

use terravox::contacts::WayOut;
use terravox::edit::{Action, Brush, BrushOp, EditOp};
use terravox::terrain::{Budget, Terrain, Viewer};
use terravox::voxel::WATER;
use terravox_web::{Player, Steering};

const FRAME: f64 = 1.0 / 60.0;

/// A floor with its top at 0, and what is built on it.
fn terrain(ops: &[EditOp]) -> Terrain {
    let mut terrain = Terrain::default();
    let viewer = Viewer { position_m: [0.0, 5.0, 0.0], distance_m: 100.0 };
    terrain.update(&[viewer], Budget::Unlimited, |request| request.fill_sdf(8, |[_, y, _]| -y));
    for op in ops {
        terrain.edit(op).expect("a sound edit");
    }
    terrain.update(&[viewer], Budget::Unlimited, |request| request.fill_sdf(8, |[_, y, _]| -y));
    terrain
}

fn fill_box(min: [f64; 3], max: [f64; 3], action: Action) -> EditOp {
    let centre = [0, 1, 2].map(|i| f64::midpoint(min[i], max[i]));
    let half = [0, 1, 2].map(|i| (max[i] - min[i]) / 2.0);
    BrushOp::new(Brush::Box { centre, half, rotation: [0.0, 0.0, 0.0, 1.0] }, action).into()
}

fn walk(player: &mut Player, terrain: &Terrain, steering: &Steering, frames: u32) {
    for _ in 0..frames {
        player.step(terrain, steering, FRAME);
    }
}

const EAST: Steering = Steering { walk: [1.0, 0.0], climb: 0.0, jumps: false, is_fast: false };

#[test]
fn it_stops_at_a_wall_and_slides_along_it() {
    let wall = fill_box([6.0, 0.0, -20.0], [8.0, 5.0, 20.0], Action::Fill { material: 8 });
    let terrain = terrain(&[wall]);
    let mut player = Player::new([0.0, 0.5, 0.0]);
    walk(&mut player, &terrain, &EAST, 240);
    let [x, y, _] = player.feet_m();
    assert!((5.4..5.75).contains(&x) && y.abs() < 0.1, "{x} {y}");
    let along = Steering { walk: [0.7, 0.7], ..EAST };
    walk(&mut player, &terrain, &along, 120);
    let [x, _, z] = player.feet_m();
    assert!(x < 5.8 && z > 4.0, "{x} {z}");
}

#[test]
fn it_climbs_steps_of_half_a_metre_and_no_wall_of_two() {
    for (height, climbs) in [(0.5, true), (2.0, false)] {
        let step = fill_box([3.0, 0.0, -9.0], [12.0, height, 9.0], Action::Fill { material: 8 });
        let terrain = terrain(&[step]);
        let mut player = Player::new([0.0, 0.5, 0.0]);
        walk(&mut player, &terrain, &EAST, 120);
        let [x, y, _] = player.feet_m();
        assert_eq!(x > 4.0 && y > 0.3, climbs, "{height}: {x} {y}");
    }
}

#[test]
fn it_jumps_over_a_metre_and_comes_down_again() {
    let terrain = terrain(&[]);
    let mut player = Player::new([0.0, 0.1, 0.0]);
    walk(&mut player, &terrain, &Steering::default(), 30);
    assert!(player.is_on_ground());
    let mut highest: f64 = 0.0;
    player.step(&terrain, &Steering { jumps: true, ..Steering::default() }, FRAME);
    for _ in 0..90 {
        player.step(&terrain, &Steering::default(), FRAME);
        highest = highest.max(player.feet_m()[1]);
    }
    assert!((1.0..1.6).contains(&highest), "{highest}");
    assert!(player.is_on_ground() && player.feet_m()[1].abs() < 0.1);
}

#[test]
fn it_swims_up_and_does_not_sink_like_a_stone() {
    let pit = fill_box([-8.0, -12.0, -8.0], [8.0, 0.0, 8.0], Action::Dig);
    let water = fill_box([-8.0, -12.0, -8.0], [8.0, -1.0, 8.0], Action::Fill { material: WATER });
    let terrain = terrain(&[pit, water]);
    let mut player = Player::new([0.0, -9.0, 0.0]);
    walk(&mut player, &terrain, &Steering::default(), 60);
    assert!(player.is_in_water() && player.feet_m()[1] > -10.5, "{:?}", player.feet_m());
    walk(&mut player, &terrain, &Steering { jumps: true, ..Steering::default() }, 240);
    assert!(player.feet_m()[1] > -3.5, "{:?}", player.feet_m());
}

#[test]
fn it_rises_out_of_ground_that_is_built_around_it() {
    let terrain = terrain(&[EditOp::fill_ball(8, [0.0, 1.0, 0.0], 3.0)]);
    let mut player = Player::new([0.0, 0.0, 0.0]);
    walk(&mut player, &terrain, &Steering::default(), 240);
    let feet = player.feet_m();
    let head = [feet[0], feet[1] + 1.4, feet[2]];
    let is_free = WayOut::find(terrain.collider(), head).is_none();
    assert!(is_free && feet[1] > -0.1, "{feet:?}");
}

#[test]
fn it_flies_through_nothing_and_waits_where_the_ground_is_not_known() {
    let terrain = terrain(&[]);
    let mut player = Player::new([0.0, 5.0, 0.0]);
    player.is_flying = true;
    walk(&mut player, &terrain, &Steering { climb: -1.0, is_fast: true, ..EAST }, 120);
    assert!(player.feet_m()[1] > -0.1, "{:?}", player.feet_m());
    let mut lost = Player::new([1e6, 5.0, 0.0]);
    walk(&mut lost, &terrain, &EAST, 60);
    assert_eq!(lost.feet_m(), [1e6, 5.0, 0.0]);
}

#[test]
fn the_same_steering_ends_at_the_same_place_with_longer_frames() {
    let hill = EditOp::fill_ball(8, [8.0, -6.0, 0.0], 9.0);
    let terrain = terrain(&[hill]);
    let [mut short, mut long] = [Player::new([0.0, 0.1, 0.0]); 2];
    walk(&mut short, &terrain, &EAST, 240);
    for _ in 0..60 {
        long.step(&terrain, &EAST, 4.0 * FRAME);
    }
    for (a, b) in short.feet_m().into_iter().zip(long.feet_m()) {
        assert!((a - b).abs() < 0.05, "{:?} {:?}", short.feet_m(), long.feet_m());
    }
}

#[test]
fn jumps_and_ways_are_the_same_at_any_frame_rate() {
    let terrain = terrain(&[]);
    let jump = |frames_per_s: u32| {
        let frame = 1.0 / f64::from(frames_per_s);
        let mut player = Player::new([0.0, 0.1, 0.0]);
        for _ in 0..frames_per_s {
            player.step(&terrain, &EAST, frame);
        }
        assert!(player.is_on_ground());
        // Held for one frame, however short that is.
        player.step(&terrain, &Steering { jumps: true, ..EAST }, frame);
        let mut highest: f64 = 0.0;
        for _ in 0..2 * frames_per_s {
            player.step(&terrain, &EAST, frame);
            highest = highest.max(player.feet_m()[1]);
        }
        [highest, player.feet_m()[0]]
    };
    let [height, way] = jump(60);
    assert!((1.0..1.6).contains(&height) && way > 10.0, "{height} {way}");
    for frames_per_s in [30, 75, 144, 240, 1000] {
        let [other_height, other_way] = jump(frames_per_s);
        assert!((other_height - height).abs() < 0.06, "{frames_per_s}: {other_height} {height}");
        assert!((other_way - way).abs() < 0.3, "{frames_per_s}: {other_way} {way}");
    }
}

#[test]
fn short_frames_move_smoothly() {
    let terrain = terrain(&[]);
    let mut player = Player::new([0.0, 0.1, 0.0]);
    walk(&mut player, &terrain, &EAST, 120);
    let mut last = player.feet_m()[0];
    for _ in 0..240 {
        player.step(&terrain, &EAST, 1.0 / 240.0);
        let way = player.feet_m()[0] - last;
        assert!((way - 4.5 / 240.0).abs() < 1e-3, "{way} m in 1/240 s");
        last += way;
    }
}

#[test]
fn who_falls_off_a_world_is_put_back_to_where_there_was_ground() {
    // All beside the floor of 20 m is known to be air.
    let mut terrain = Terrain::new(terravox::terrain::TerrainOptions {
        unlisted: terravox::voxel::UnlistedChunks::Air,
        ..Default::default()
    });
    let floor = fill_box([-10.0, -2.0, -10.0], [10.0, 0.0, 10.0], Action::Fill { material: 8 });
    terrain.edit(&floor).expect("a sound edit");
    let viewer = Viewer { position_m: [0.0, 5.0, 0.0], distance_m: 100.0 };
    terrain.update(&[viewer], Budget::Unlimited, |_| {});
    let mut player = Player::new([8.0, 0.5, 0.0]);
    walk(&mut player, &terrain, &EAST, 240);
    assert!(player.feet_m()[1] < -5.0, "{:?}", player.feet_m());
    let mut lowest: f64 = 0.0;
    for _ in 0..20 * 60 {
        player.step(&terrain, &Steering::default(), FRAME);
        lowest = lowest.min(player.feet_m()[1]);
    }
    let [x, y, _] = player.feet_m();
    assert!(player.is_on_ground() && x < 11.0 && y.abs() < 0.5, "{:?}", player.feet_m());
    assert!(lowest > -1000.0, "{lowest}");
}
