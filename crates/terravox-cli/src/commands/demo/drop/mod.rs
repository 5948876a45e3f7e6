//! Bodies dropped on land and water: they settle and float, then the ground is dug away under
//! some of them, which fall further.
//!
//! A voxel counts as a metre, whatever its size, so that bodies match the voxels.

mod counts;
mod kinds;
mod pictures;
mod site;
#[cfg(test)]
mod tests;

pub use counts::BodyCounts;
pub use pictures::{files, show};

use super::tunnel::dig_ball;
use crate::console::Console;
use crate::failure::{CliResult, Failure};
use glam::DVec3;
use rapier3d::prelude::{
    ColliderHandle, PhysicsWorld, Pose, RigidBodyBuilder, RigidBodyHandle, Vector,
};
use site::SurfaceProbe;
use std::f64::consts::TAU;
use terravox::terrain::{Placement, Terrain};
use terravox::voxel::{DenseBox, Region, VoxelGrid};
use terravox_rapier::{Buoyancy, TerrainColliders, WaterOptions};
use terravox_render::{Camera, Scene, Solid, SolidShape};

/// Limits of the steps until bodies settle, and settle again after the dig.
const MAX_STEPS: [usize; 2] = [1800, 900];

/// Steps between checks whether bodies are calm.
const CHECK_STEPS: usize = 30;

/// Bodies have settled once this share is calm: balls roll down the bed of a lake for minutes.
const CALM_SHARE: f64 = 0.95;

/// ... at this many checks in a row.
const CALM_CHECKS: usize = 4;

/// Height of the lowest body above the surface, and of one layer above the next.
const HEIGHTS_M: [f64; 2] = [4.0, 2.4];

/// Layers in which bodies fall. Neighbours in a sunflower differ by Fibonacci numbers, few of
/// which are divisible by this, so neighbours are in different layers.
const LAYERS: usize = 7;

/// Balls of the pit, from the top, and the depth from one to the next.
const PIT_BALLS: i32 = 3;
const PIT_BALL_SPACING_VOXELS: f64 = 1.2;

/// Weight of bodies in the pit when cameras are rated.
const PIT_WEIGHT: f64 = 8.0;

/// Bodies this far below the world are lost.
const LOST_DEPTH_M: f32 = 24.0;

/// Terrain with bodies in it.
struct Drop {
    terrain: Terrain,
    ground: TerrainColliders,
    buoyancy: Buoyancy,
    world: PhysicsWorld,
    bodies: Vec<DroppedBody>,
    bounds: Region,
    /// Number of steps so far.
    steps: usize,
}

/// A body in the world.
#[derive(Clone, Copy)]
struct DroppedBody {
    /// Selects its kind, density and size: see [`kinds`].
    number: usize,
    handle: RigidBodyHandle,
    collider: ColliderHandle,
}

/// Positions of the bodies at a moment, voxels.
#[derive(Clone, Debug, Default)]
pub struct Moment {
    /// Centres, by number.
    pub positions: Vec<DVec3>,
    /// Shapes and colours.
    pub solids: Vec<Solid>,
}

/// The result of a drop.
pub struct DropResult {
    /// In the air; settled; and settled again after the dig.
    pub moments: [Moment; 3],
    /// Centre of the disc over which they fell, voxels.
    pub middle: DVec3,
    /// The ground after the dig.
    pub terrain: Terrain,
    /// Bodies by their state at the end.
    pub counts: BodyCounts,
    /// Whether each body fell after the dig.
    pub fell: Vec<bool>,
    /// Number of steps so far.
    pub steps: usize,
}

/// Drops bodies into a world; `None` if it has no suitable place.
///
/// # Errors
/// If a chunk under them is not held at mip 0.
pub fn drop_bodies(
    grid: VoxelGrid,
    count: usize,
    console: &Console,
) -> CliResult<Option<DropResult>> {
    let bounds = grid.bounds();
    let terrain = Terrain::from_grid(grid, Placement::default());
    let Some(middle) = site::find(terrain.collider(), bounds) else { return Ok(None) };
    // Rapier's positions are f32, which are precise near the origin.
    let origin_m = middle.round().to_array().map(|v| -v);
    let placement = Placement { voxel_size_m: 1.0, origin_m };
    let grid = terrain.into_grid();
    let mut drop = Drop::new(Terrain::from_grid(grid, placement), bounds);
    let bar = console.bar("dropping", MAX_STEPS.iter().sum());
    drop.add(middle, site::RADIUS_VOXELS, count);
    let falling = drop.moment();
    drop.settle(MAX_STEPS[0], &|| bar.step());
    let settled = drop.moment();
    drop.dig()?;
    drop.settle(MAX_STEPS[1], &|| bar.step());
    let last = drop.moment();
    let fell: Vec<bool> =
        settled.positions.iter().zip(&last.positions).map(|(a, b)| a.y - b.y > 1.0).collect();
    let counts = drop.count(&fell);
    let Drop { terrain, steps, .. } = drop;
    Ok(Some(DropResult { moments: [falling, settled, last], middle, terrain, counts, fell, steps }))
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

    /// Places bodies in the air over a disc, like the seeds of a sunflower.
    fn add(&mut self, middle: DVec3, radius: f64, count: usize) {
        let placement = self.terrain.placement();
        for number in 0..count {
            let radius = radius * ((number as f64 + 0.5) / count as f64).sqrt();
            let (sin, cos) = (TAU * 0.381_966 * number as f64).sin_cos();
            let [x, z] = [middle.x + radius * cos, middle.z + radius * sin];
            let probe = site::probe(self.terrain.collider(), self.bounds, [x, z]);
            let (Some(probe), Some(collider)) = (probe, kinds::collider(number)) else { continue };
            let height = HEIGHTS_M[0] + HEIGHTS_M[1] * (number % LAYERS) as f64;
            let at = placement.world_from_voxel([x, probe.point.y + height, z]);
            let turn = [20, 21, 22].map(|purpose| 6.0 * kinds::noise(number, purpose));
            let body = RigidBodyBuilder::dynamic()
                .translation(at.map(|v| v as f32).into())
                .rotation(turn.into())
                // Stands in for rolling resistance, which Rapier lacks.
                .angular_damping(3.0);
            let (handle, collider) = self.world.insert(body, collider);
            self.bodies.push(DroppedBody { number, handle, collider });
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

    /// Steps until nearly all bodies are calm, at most `max_steps` times.
    fn settle(&mut self, max_steps: usize, progress: &dyn Fn()) {
        let mut calm_checks = 0;
        for step in 1..=max_steps {
            self.step();
            progress();
            if step % CHECK_STEPS == 0 {
                self.disable_lost();
                let calm = self.bodies.iter().filter(|body| self.is_calm(body)).count();
                let is_calm = calm as f64 >= CALM_SHARE * self.bodies.len() as f64;
                calm_checks = if is_calm { calm_checks + 1 } else { 0 };
                if calm_checks == CALM_CHECKS {
                    break;
                }
            }
        }
    }

    /// Disables bodies that fell off the edge of the world.
    fn disable_lost(&mut self) {
        let bottom = f64::from(self.bounds.min.y);
        let floor = self.terrain.placement().world_from_voxel([0.0, bottom, 0.0]);
        for body in &self.bodies {
            let body = &mut self.world.bodies[body.handle];
            if body.is_enabled() && body.translation().y < floor[1] as f32 - LOST_DEPTH_M {
                body.set_enabled(false);
            }
        }
    }

    /// Digs a pit under bodies that rest on land, if there are any.
    fn dig(&mut self) -> CliResult<()> {
        let states = self.states();
        let moment = self.moment();
        let resting = moment.positions.iter().zip(&states);
        let resting = resting.filter(|(_, state)| **state == counts::BodyState::Resting);
        let resting: Vec<DVec3> = resting.map(|(&at, _)| at).collect();
        let bounds = self.bounds;
        let Some(SurfaceProbe { point, .. }) = site::pit(self.terrain.collider(), bounds, &resting)
        else {
            return Ok(());
        };
        let mut cells = DenseBox::default();
        for ball in 0..PIT_BALLS {
            let down = f64::from(ball) * PIT_BALL_SPACING_VOXELS;
            let radius = site::PIT_RADIUS_VOXELS - 0.5 * f64::from(ball);
            // Keep the bottom of the world closed.
            let y = (point.y - down).max(f64::from(bounds.min.y) + radius + 3.0);
            dig_ball(&mut self.terrain.grid_mut(), [point.x, y, point.z], radius, &mut cells)
                .map_err(Failure::new)?;
        }
        Ok(())
    }

    /// Returns the centre of a body, voxels.
    fn position(&self, body: &DroppedBody) -> DVec3 {
        let at = self.world.bodies[body.handle].translation();
        self.terrain.placement().voxel_from_world(at.to_array().map(f64::from)).into()
    }

    /// Returns the positions of all bodies.
    fn moment(&self) -> Moment {
        let placement = self.terrain.placement();
        let to_voxels =
            |at: Vector| DVec3::from(placement.voxel_from_world(at.to_array().map(f64::from)));
        let mut moment = Moment::default();
        let mut shapes: Vec<SolidShape> = Vec::new();
        for body in &self.bodies {
            moment.positions.push(self.position(body));
            let pose: Pose = *self.world.bodies[body.handle].position();
            let shape = self.world.colliders[body.collider].shape();
            kinds::add_solid_shapes(shape, pose, &to_voxels, &mut shapes);
            let colour = kinds::colour_of(body.number);
            moment.solids.extend(shapes.drain(..).map(|shape| Solid { shape, colour }));
        }
        moment
    }
}

impl Moment {
    /// Converts to cells of a mip.
    pub fn at_mip(&self, mip: u8) -> Moment {
        let by = 1.0 / f64::from(1_u32 << mip);
        let scaled = |shape: &SolidShape| match shape {
            SolidShape::Ball { centre, radius } => {
                SolidShape::Ball { centre: *centre * by, radius: radius * by }
            }
            SolidShape::Capsule { ends, radius } => {
                SolidShape::Capsule { ends: ends.map(|end| end * by), radius: radius * by }
            }
            SolidShape::Hull(points) => {
                SolidShape::Hull(points.iter().map(|point| *point * by).collect())
            }
        };
        let solid = |solid: &Solid| Solid { shape: scaled(&solid.shape), colour: solid.colour };
        Moment {
            positions: self.positions.iter().map(|&position| position * by).collect(),
            solids: self.solids.iter().map(solid).collect(),
        }
    }
}

impl DropResult {
    /// Returns the camera of all three pictures, in cells of the scenes before and after the dig:
    /// it sees most of the settled bodies, and above all of those that fell into the pit.
    pub fn camera(&self, [before, after]: [&Scene; 2], aspect: f64) -> Camera {
        let mip = before.mip();
        let [_, settled, last] = self.moments.each_ref().map(|moment| moment.at_mip(mip).positions);
        let fell = last.iter().zip(&self.fell).filter(|(_, fell)| **fell);
        let fell: Vec<DVec3> = fell.map(|(&position, _)| position).collect();
        let middle = self.middle / f64::from(1_u32 << mip);
        site::camera(before, middle, |camera| {
            let count = |scene, positions: &[DVec3]| {
                positions.iter().filter(|&&at| site::sees(scene, camera, at, aspect)).count() as f64
            };
            count(before, &settled) + PIT_WEIGHT * count(after, &fell)
        })
    }
}
