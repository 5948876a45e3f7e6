//! Bodies dropped on land and water: they settle and float, the ground is dug away under
//! some, and those fall on.
//!
//! A voxel counts as a metre, whatever its size: the bodies suit the voxels.

mod counts;
mod kinds;
mod pictures;
mod site;
#[cfg(test)]
mod tests;

pub use counts::Counts;
pub use pictures::show;

use super::tunnel::dig_ball;
use crate::console::Console;
use crate::failure::{Failure, Outcome};
use glam::DVec3;
use rapier3d::prelude::{
    ColliderHandle, PhysicsWorld, Pose, RigidBodyBuilder, RigidBodyHandle, Vector,
};
use site::Felt;
use std::f64::consts::TAU;
use terravox::terrain::{Placement, Terrain};
use terravox::voxel::{DenseBox, Region, VoxelGrid};
use terravox_rapier::{Buoyancy, TerrainColliders, WaterOptions};
use terravox_render::{Camera, Form, Scene, Solid};

/// Most steps that bodies get to settle, and to settle again after the dig.
const STEPS: [usize; 2] = [1800, 900];

/// Steps between looks whether most is calm.
const LOOK: usize = 30;

/// Share of the bodies that is to be calm, and at how many looks in a row. Balls roll down
/// the bed of a lake for minutes.
const CALM: (f64, usize) = (0.95, 4);

/// Metres from the ground or water to the lowest body, and from one layer to the next.
const HEIGHTS: [f64; 2] = [4.0, 2.4];

/// Layers that bodies fall in. Neighbours in a sunflower differ by Fibonacci numbers, few
/// of which this divides, so neighbours are in different layers.
const LAYERS: usize = 7;

/// Balls that the pit is dug of, from the top, and how far each lies under the last.
const PIT: (i32, f64) = (3, 1.2);

/// So many times as much as another counts a body in the pit that a camera sees.
const IN_PIT: f64 = 8.0;

/// A body that has fallen this far under the world will not come back, metres.
const LOST: f32 = 24.0;

/// Terrain with bodies in it.
struct Drop {
    terrain: Terrain,
    ground: TerrainColliders,
    buoyancy: Buoyancy,
    world: PhysicsWorld,
    bodies: Vec<Body>,
    bounds: Region,
    /// Steps made.
    steps: usize,
}

/// A body in the world.
#[derive(Clone, Copy)]
struct Body {
    /// What it is: see [`kinds`].
    number: usize,
    handle: RigidBodyHandle,
    collider: ColliderHandle,
}

/// Where bodies are at a moment, in voxels.
#[derive(Clone, Debug, Default)]
pub struct Moment {
    /// Their middles, by number.
    pub places: Vec<DVec3>,
    /// Their forms and colours.
    pub solids: Vec<Solid>,
}

/// What a drop came to.
pub struct Dropped {
    /// In the air; settled; and settled again after the dig.
    pub moments: [Moment; 3],
    /// The middle of where they fell, voxels.
    pub middle: DVec3,
    /// The ground after the dig.
    pub terrain: Terrain,
    /// How the bodies are in the end.
    pub counts: Counts,
    /// Which of them fell after the dig.
    pub fell: Vec<bool>,
    /// Steps made.
    pub steps: usize,
}

/// Drops so many bodies into a world; `None` if it has no place for them.
///
/// # Errors
/// If a chunk under them is not held at mip 0.
pub fn drop_bodies(grid: VoxelGrid, count: usize, console: &Console) -> Outcome<Option<Dropped>> {
    let bounds = grid.bounds();
    let terrain = Terrain::from_grid(grid, Placement::default());
    let Some(middle) = site::find(terrain.collider(), bounds) else { return Ok(None) };
    // Rapier's places are f32: near the origin they are fine.
    let origin_m = middle.round().to_array().map(|v| -v);
    let placement = Placement { voxel_size_m: 1.0, origin_m };
    let grid = terrain.into_grid();
    let mut drop = Drop::new(Terrain::from_grid(grid, placement), bounds);
    let bar = console.bar("dropping", STEPS.iter().sum());
    drop.add(middle, site::RADIUS, count);
    let falling = drop.moment();
    drop.settle(STEPS[0], &|| bar.step());
    let settled = drop.moment();
    drop.dig()?;
    drop.settle(STEPS[1], &|| bar.step());
    let last = drop.moment();
    let fell: Vec<bool> =
        settled.places.iter().zip(&last.places).map(|(a, b)| a.y - b.y > 1.0).collect();
    let counts = drop.count(&fell);
    let Drop { terrain, steps, .. } = drop;
    Ok(Some(Dropped { moments: [falling, settled, last], middle, terrain, counts, fell, steps }))
}

impl Drop {
    fn new(terrain: Terrain, bounds: Region) -> Drop {
        Drop {
            terrain,
            ground: TerrainColliders::default(),
            buoyancy: Buoyancy::default(),
            world: PhysicsWorld::new(),
            bodies: Vec::new(),
            bounds,
            steps: 0,
        }
    }

    /// Hangs bodies in the air over a round, like the seeds of a sunflower.
    fn add(&mut self, middle: DVec3, radius: f64, count: usize) {
        let placement = self.terrain.placement();
        for number in 0..count {
            let radius = radius * ((number as f64 + 0.5) / count as f64).sqrt();
            let (sin, cos) = (TAU * 0.381_966 * number as f64).sin_cos();
            let [x, z] = [middle.x + radius * cos, middle.z + radius * sin];
            let felt = site::feel(self.terrain.collider(), self.bounds, [x, z]);
            let (Some(felt), Some(collider)) = (felt, kinds::collider(number)) else { continue };
            let height = HEIGHTS[0] + HEIGHTS[1] * (number % LAYERS) as f64;
            let at = placement.world_from_voxel([x, felt.point.y + height, z]);
            let turn = [20, 21, 22].map(|purpose| 6.0 * kinds::noise(number, purpose));
            let body = RigidBodyBuilder::dynamic()
                .translation(at.map(|v| v as f32).into())
                .rotation(turn.into())
                // In place of the ground's resistance to rolling, which Rapier does not know.
                .angular_damping(3.0);
            let (handle, collider) = self.world.insert(body, collider);
            self.bodies.push(Body { number, handle, collider });
        }
    }

    fn step(&mut self) {
        let Drop { terrain, ground, buoyancy, world, .. } = self;
        let PhysicsWorld { bodies, colliders, islands, integration_parameters, .. } = world;
        ground.sync(terrain, bodies, colliders, islands);
        let (placement, dt) = (terrain.placement(), integration_parameters.dt);
        let options = WaterOptions::default();
        buoyancy.apply(terrain.collider(), placement, bodies, colliders, dt, &options);
        world.step();
        self.steps += 1;
    }

    /// Steps until nearly all bodies are calm, or so many times.
    fn settle(&mut self, most: usize, progress: &dyn Fn()) {
        let mut calm_looks = 0;
        for step in 1..=most {
            self.step();
            progress();
            if step % LOOK == 0 {
                self.give_up_lost();
                let calm = self.bodies.iter().filter(|body| self.is_calm(body)).count();
                let most_calm = calm as f64 >= CALM.0 * self.bodies.len() as f64;
                calm_looks = if most_calm { calm_looks + 1 } else { 0 };
                if calm_looks == CALM.1 {
                    break;
                }
            }
        }
    }

    /// Stops what fell off the edge of the world.
    fn give_up_lost(&mut self) {
        let bottom = f64::from(self.bounds.min.y);
        let floor = self.terrain.placement().world_from_voxel([0.0, bottom, 0.0]);
        for body in &self.bodies {
            let body = &mut self.world.bodies[body.handle];
            if body.is_enabled() && body.translation().y < floor[1] as f32 - LOST {
                body.set_enabled(false);
            }
        }
    }

    /// Digs a pit under bodies that rest on land, if there are such.
    fn dig(&mut self) -> Outcome<()> {
        let states = self.states();
        let moment = self.moment();
        let resting = moment.places.iter().zip(&states);
        let resting = resting.filter(|(_, state)| **state == counts::State::Resting);
        let resting: Vec<DVec3> = resting.map(|(&at, _)| at).collect();
        let bounds = self.bounds;
        let Some(Felt { point, .. }) = site::pit(self.terrain.collider(), bounds, &resting) else {
            return Ok(());
        };
        let mut cells = DenseBox::default();
        for ball in 0..PIT.0 {
            let down = f64::from(ball) * PIT.1;
            let radius = site::PIT - 0.5 * f64::from(ball);
            // The world's bottom stays closed.
            let y = (point.y - down).max(f64::from(bounds.min.y) + radius + 3.0);
            dig_ball(&mut self.terrain.grid_mut(), [point.x, y, point.z], radius, &mut cells)
                .map_err(Failure::new)?;
        }
        Ok(())
    }

    /// The middle of a body, voxels.
    fn place(&self, body: &Body) -> DVec3 {
        let at = self.world.bodies[body.handle].translation();
        self.terrain.placement().voxel_from_world(at.to_array().map(f64::from)).into()
    }

    /// Where all bodies are now.
    fn moment(&self) -> Moment {
        let placement = self.terrain.placement();
        let place =
            |at: Vector| DVec3::from(placement.voxel_from_world(at.to_array().map(f64::from)));
        let mut moment = Moment::default();
        let mut forms: Vec<Form> = Vec::new();
        for body in &self.bodies {
            moment.places.push(self.place(body));
            let pose: Pose = *self.world.bodies[body.handle].position();
            let shape = self.world.colliders[body.collider].shape();
            kinds::forms(shape, pose, &place, &mut forms);
            let colour = kinds::colour_of(body.number);
            moment.solids.extend(forms.drain(..).map(|form| Solid { form, colour }));
        }
        moment
    }
}

impl Moment {
    /// The same in cells of a mip.
    pub fn at_mip(&self, mip: u8) -> Moment {
        let by = 1.0 / f64::from(1_u32 << mip);
        let form = |form: &Form| match form {
            Form::Ball { centre, radius } => {
                Form::Ball { centre: *centre * by, radius: radius * by }
            }
            Form::Capsule { ends, radius } => {
                Form::Capsule { ends: ends.map(|end| end * by), radius: radius * by }
            }
            Form::Hull(points) => Form::Hull(points.iter().map(|point| *point * by).collect()),
        };
        let solid = |solid: &Solid| Solid { form: form(&solid.form), colour: solid.colour };
        Moment {
            places: self.places.iter().map(|&place| place * by).collect(),
            solids: self.solids.iter().map(solid).collect(),
        }
    }
}

impl Dropped {
    /// The camera from which all three moments are taken, in cells of the scenes, which
    /// show the ground before and after the dig: it sees most of the bodies when they have
    /// settled, and above all of those that fell into the pit.
    pub fn camera(&self, [before, after]: [&Scene; 2], aspect: f64) -> Camera {
        let mip = before.mip();
        let [_, settled, last] = self.moments.each_ref().map(|moment| moment.at_mip(mip).places);
        let fell = last.iter().zip(&self.fell).filter(|(_, fell)| **fell);
        let fell: Vec<DVec3> = fell.map(|(&place, _)| place).collect();
        let middle = self.middle / f64::from(1_u32 << mip);
        site::camera(before, middle, |camera| {
            let count = |scene, places: &[DVec3]| {
                places.iter().filter(|&&at| site::sees(scene, camera, at, aspect)).count() as f64
            };
            count(before, &settled) + IN_PIT * count(after, &fell)
        })
    }
}
