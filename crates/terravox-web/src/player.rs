//! A player on foot, swimming or flying: a capsule that slides along the ground.

use terravox::collide::{Collider, Filter};
use terravox::contacts::WayOut;
use terravox::geometry::Shape;
use terravox::terrain::Terrain;
use terravox::voxel::Kind;

/// Size of the capsule, metres.
const RADIUS_M: f64 = 0.35;
const HEIGHT_M: f64 = 1.8;
const EYE_M: f64 = 1.65;

/// Metres per second; fast is with the key for it held.
const WALK: f64 = 4.5;
const RUN: f64 = 8.0;
const FLY: f64 = 12.0;
const FLY_FAST: f64 = 60.0;
const SWIM: f64 = 3.0;
const JUMP: f64 = 6.5;
const FASTEST_FALL: f64 = 55.0;

/// Metres per second squared.
const GRAVITY: f64 = 18.0;

/// How soon velocity follows the steering, per second.
const GRIP: f64 = 12.0;
const GRIP_IN_AIR: f64 = 2.5;
const GRIP_IN_WATER: f64 = 4.0;

/// A step up that needs no jump, and a step down without leaving the ground, metres.
const STEP_M: f64 = 0.55;

/// Ground is walked on up to this slope: the normal's y, 50°.
const WALKABLE: f64 = 0.64;

/// Left between the capsule and the ground, metres.
const SKIN_M: f64 = 0.01;

/// Time of a step, and the longest that is moved in one call, seconds. All steps are equally long,
/// so that how high a jump goes does not depend on the frame rate.
const STEP_S: f64 = 1.0 / 60.0;
const LONGEST_S: f64 = 0.25;

/// Longest fall, seconds: some 700 m. Below a complete world there is nothing to land on.
const LONGEST_FALL_S: f64 = 15.0;

type V3 = [f64; 3];

/// What the player wants in one frame.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Steering {
    /// The direction in the world along x and z, of length up to 1.
    pub walk: [f64; 2],
    /// Up and down, −1 to 1, while flying or swimming.
    pub climb: f64,
    /// Whether to jump.
    pub jumps: bool,
    /// Whether to run, or to fly fast.
    pub is_fast: bool,
}

/// A player in a terrain: where it is, and how it moves.
///
/// ```
/// use terravox::terrain::{Budget, Terrain, Viewer};
/// use terravox_web::{Player, Steering};
///
/// let mut terrain = Terrain::default();
/// let viewer = Viewer { position_m: [0.0, 5.0, 0.0], distance_m: 100.0 };
/// terrain.update(&[viewer], Budget::Unlimited, |request| request.fill_sdf(8, |[_, y, _]| -y));
/// let mut player = Player::new([0.0, 5.0, 0.0]);
/// for _frame in 0..120 {
///     player.step(&terrain, &Steering { walk: [1.0, 0.0], ..Steering::default() }, 1.0 / 60.0);
/// }
/// assert!(player.is_on_ground() && player.feet_m()[1].abs() < 0.1);
/// assert!(player.feet_m()[0] > 3.0);
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Player {
    /// After the last step, and before it.
    feet_m: V3,
    before_m: V3,
    /// Time since the last step, less than [`STEP_S`].
    spare_s: f64,
    velocity: V3,
    /// Whether a jump was asked for since the last step: a frame may be shorter.
    is_to_jump: bool,
    /// Where it stood last, or was put, and seconds that it has fallen.
    safe_m: V3,
    fallen_s: f64,
    /// Whether it flies, and falls no more.
    pub is_flying: bool,
    is_on_ground: bool,
    is_in_water: bool,
}

impl Player {
    /// A player whose feet are at a point, at rest.
    pub fn new(feet_m: V3) -> Player {
        Player {
            feet_m,
            before_m: feet_m,
            spare_s: 0.0,
            velocity: [0.0; 3],
            is_to_jump: false,
            safe_m: feet_m,
            fallen_s: 0.0,
            is_flying: false,
            is_on_ground: false,
            is_in_water: false,
        }
    }

    /// Where its feet are shown, metres: between its places before and after the last step, which
    /// is 1/60 s long.
    pub fn feet_m(&self) -> V3 {
        let share = self.spare_s / STEP_S;
        [0, 1, 2].map(|i| self.before_m[i] + (self.feet_m[i] - self.before_m[i]) * share)
    }

    /// Where its eyes are, metres.
    pub fn eye_m(&self) -> V3 {
        add(self.feet_m(), [0.0, EYE_M, 0.0])
    }

    /// Whether it stands on ground.
    pub fn is_on_ground(&self) -> bool {
        self.is_on_ground
    }

    /// Whether it is in water up to the chest.
    pub fn is_in_water(&self) -> bool {
        self.is_in_water
    }

    /// Moves it to a point, at rest.
    pub fn teleport(&mut self, feet_m: V3) {
        let is_flying = self.is_flying;
        *self = Player { is_flying, ..Player::new(feet_m) };
    }

    /// Moves it for some seconds, at most a quarter, in steps of 1/60 s; what is left of them counts
    /// in the next call. It waits where the ground is not known yet. One that has fallen for 15 s is
    /// put back to where it stood.
    pub fn step(&mut self, terrain: &Terrain, steering: &Steering, seconds: f64) {
        self.is_to_jump |= steering.jumps;
        if seconds > 0.0 {
            self.spare_s += seconds.min(LONGEST_S);
        }
        // Frames of a sixtieth are rounded.
        while self.spare_s > STEP_S - 1e-6 {
            self.spare_s = (self.spare_s - STEP_S).max(0.0);
            let steering = Steering { jumps: self.is_to_jump, ..*steering };
            self.step_once(terrain, &steering, STEP_S);
            self.is_to_jump = false;
            self.end_long_fall(STEP_S);
        }
    }

    /// Puts it back to where it stood after a long fall.
    fn end_long_fall(&mut self, seconds: f64) {
        if self.is_on_ground {
            self.safe_m = self.feet_m;
        }
        let falls = !self.is_on_ground && !self.is_in_water && !self.is_flying;
        let is_falling = falls && self.velocity[1] < 0.0;
        self.fallen_s = if is_falling { self.fallen_s + seconds } else { 0.0 };
        if self.fallen_s > LONGEST_FALL_S {
            self.teleport(self.safe_m);
        }
    }

    fn step_once(&mut self, terrain: &Terrain, steering: &Steering, seconds: f64) {
        self.before_m = self.feet_m;
        let body = Body::new(terrain);
        self.is_in_water = is_liquid(terrain, add(self.feet_m, [0.0, 0.6 * HEIGHT_M, 0.0]));
        if self.is_flying {
            let speed = if steering.is_fast { FLY_FAST } else { FLY };
            let [x, z] = steering.walk;
            self.approach([x * speed, steering.climb * speed, z * speed], GRIP * seconds);
        } else {
            if !body.is_known(self.feet_m) {
                self.velocity = [0.0; 3];
                return;
            }
            self.walk_or_swim(steering, seconds);
        }
        let motion = scale(self.velocity, seconds);
        let was_on_ground = self.is_on_ground;
        self.is_on_ground = false;
        self.slide(&body, motion, was_on_ground);
        if was_on_ground && !self.is_on_ground && self.velocity[1] <= 0.0 && !self.is_flying {
            self.stay_on_ground(&body);
        }
        self.leave_the_ground(&body, seconds);
    }

    fn walk_or_swim(&mut self, steering: &Steering, seconds: f64) {
        let [x, z] = steering.walk;
        if self.is_in_water {
            let rise = if steering.jumps { 1.0 } else { steering.climb };
            let wish = [x * SWIM, rise * SWIM - 0.3, z * SWIM];
            self.approach(wish, GRIP_IN_WATER * seconds);
            return;
        }
        let speed = if steering.is_fast { RUN } else { WALK };
        let grip = if self.is_on_ground { GRIP } else { GRIP_IN_AIR };
        let fall = self.velocity[1];
        self.approach([x * speed, fall, z * speed], grip * seconds);
        self.velocity[1] = (fall - GRAVITY * seconds).max(-FASTEST_FALL);
        if steering.jumps && self.is_on_ground {
            self.velocity[1] = JUMP;
            self.is_on_ground = false;
        }
    }

    fn approach(&mut self, wish: V3, share: f64) {
        let share = share.min(1.0);
        self.velocity = [0, 1, 2].map(|i| self.velocity[i] + (wish[i] - self.velocity[i]) * share);
    }

    /// Moves along what is in the way.
    fn slide(&mut self, body: &Body<'_>, motion: V3, can_step: bool) {
        let mut left = motion;
        for _ in 0..4 {
            if dot(left, left) < 1e-12 {
                return;
            }
            let Some((share, normal)) = body.cast(self.feet_m, left) else {
                self.feet_m = add(self.feet_m, left);
                return;
            };
            let is_wall = normal[1] < WALKABLE && normal[1] > -0.3;
            if is_wall && can_step && self.step_up(body, left) {
                return;
            }
            self.feet_m = add(self.feet_m, scale(left, share));
            left = scale(left, 1.0 - share);
            if normal[1] >= WALKABLE {
                self.is_on_ground = true;
                // Standing still on a slope does not slide.
                if self.velocity[0].hypot(self.velocity[2]) < 0.3 && !self.is_flying {
                    self.velocity = [0.0; 3];
                    return;
                }
            }
            left = without(left, normal);
            self.velocity = without(self.velocity, normal);
        }
    }

    /// Climbs a step; false if there is none that leads farther.
    fn step_up(&mut self, body: &Body<'_>, motion: V3) -> bool {
        let flat = [motion[0], 0.0, motion[2]];
        let up = [0.0, STEP_M, 0.0];
        if dot(flat, flat) < 1e-10 || body.cast(self.feet_m, up).is_some() {
            return false;
        }
        let raised = add(self.feet_m, up);
        // A little farther than it moves, or the edge of the step holds it.
        let ahead = add(flat, scale(flat, 0.1 / dot(flat, flat).sqrt()));
        if body.cast(raised, ahead).is_some() {
            return false;
        }
        let Some((share, normal)) = body.cast(add(raised, ahead), [0.0, -STEP_M, 0.0]) else {
            return false;
        };
        if normal[1] < WALKABLE {
            return false;
        }
        self.feet_m = add(add(raised, ahead), [0.0, -STEP_M * share, 0.0]);
        (self.is_on_ground, self.velocity[1]) = (true, 0.0);
        true
    }

    /// Follows ground that falls away.
    fn stay_on_ground(&mut self, body: &Body<'_>) {
        if let Some((share, normal)) = body.cast(self.feet_m, [0.0, -STEP_M, 0.0])
            && normal[1] >= WALKABLE
        {
            self.feet_m[1] -= STEP_M * share;
            self.is_on_ground = true;
            self.velocity[1] = 0.0;
        }
    }

    /// Rises out of ground that was built around it.
    fn leave_the_ground(&mut self, body: &Body<'_>, seconds: f64) {
        for height in [RADIUS_M, HEIGHT_M - RADIUS_M] {
            let Some(out) = body.way_out(add(self.feet_m, [0.0, height, 0.0])) else { continue };
            let fastest = 8.0 * seconds / dot(out, out).sqrt().max(1e-9);
            self.feet_m = add(self.feet_m, scale(out, fastest.min(1.0)));
            self.velocity = [0.0; 3];
        }
    }
}

/// The capsule in a terrain, with lengths in metres.
struct Body<'a> {
    terrain: &'a Terrain,
    collider: &'a Collider,
    voxel_m: f64,
}

impl<'a> Body<'a> {
    fn new(terrain: &'a Terrain) -> Body<'a> {
        let voxel_m = terrain.placement().voxel_size_m;
        Body { terrain, collider: terrain.collider(), voxel_m }
    }

    fn capsule(&self) -> Shape<'static> {
        let voxels = |m: f64| (m / self.voxel_m) as f32;
        let a = [0.0, voxels(RADIUS_M), 0.0];
        let b = [0.0, voxels(HEIGHT_M - RADIUS_M), 0.0];
        Shape::Capsule { a, b, radius: voxels(RADIUS_M) }
    }

    fn is_known(&self, feet_m: V3) -> bool {
        let voxel = self.terrain.placement().voxel_at(feet_m);
        self.terrain.grid().cell(voxel).is_ok()
    }

    /// Returns the share of a motion until the capsule touches ground, and the normal there.
    fn cast(&self, feet_m: V3, motion_m: V3) -> Option<(f64, V3)> {
        let from = self.terrain.placement().voxel_from_world(feet_m);
        let motion = scale(motion_m, 1.0 / self.voxel_m);
        let hit = self.collider.cast(&self.capsule(), from, motion, &Filter::SOLID).found?;
        let length_m = dot(motion_m, motion_m).sqrt();
        let normal = hit.normal.map(f64::from);
        // Away from ground that it touches, it may move.
        if hit.distance <= 0.0 && dot(normal, motion_m) >= 0.0 {
            return None;
        }
        let free = hit.distance * self.voxel_m - SKIN_M;
        Some(((free / length_m).clamp(0.0, 1.0), normal))
    }

    /// Returns the way out of the ground, metres.
    fn way_out(&self, point_m: V3) -> Option<V3> {
        let point = self.terrain.placement().voxel_from_world(point_m);
        let out = WayOut::find(self.collider, point)?;
        Some(scale(out.direction.map(f64::from), (f64::from(out.distance) + 0.02) * self.voxel_m))
    }
}

/// Whether a point is in a liquid.
fn is_liquid(terrain: &Terrain, point_m: V3) -> bool {
    let grid = terrain.grid();
    let cell = grid.cell(terrain.placement().voxel_at(point_m));
    cell.is_ok_and(|cell| grid.materials().kinds()[usize::from(cell.material)] == Kind::Liquid)
}

fn add(a: V3, b: V3) -> V3 {
    [0, 1, 2].map(|i| a[i] + b[i])
}

fn scale(a: V3, by: f64) -> V3 {
    a.map(|v| v * by)
}

fn dot(a: V3, b: V3) -> f64 {
    (0..3).map(|i| a[i] * b[i]).sum()
}

/// Takes the part against a normal out of a vector.
fn without(a: V3, normal: V3) -> V3 {
    let into = dot(a, normal).min(0.0);
    add(a, scale(normal, -into))
}
