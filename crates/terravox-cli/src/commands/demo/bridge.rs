//! A bridge that is cut at both ends and in its middle: four moments of its fall in one picture.
//! Each scene has the falling pieces written back into the terrain.

use super::super::render::{camera_report, take, write_png};
use super::{PictureReport, StepTimes};
use crate::args::DemoArgs;
use crate::console::Console;
use crate::failure::{CliResult, Failure};
use crate::output::Output;
use glam::DVec3;
use rapier3d::prelude::{PhysicsWorld, RigidBodyHandle};
use terravox::bodies::{LooseBody, LooseOptions};
use terravox::edit::EditOp;
use terravox::mesh::shade::UNSET;
use terravox::terrain::{FillRequest, Terrain, TerrainError, TerrainOptions};
use terravox::voxel::{DenseBox, GridOptions, NotHeld, UnlistedChunks, VoxelGrid};
use terravox_rapier::{LooseShapeOptions, TerrainColliders, loose_builders, loose_pose};
use terravox_render::{Camera, Image, PictureOptions, Scene};
use terravox_store::WorldInfo;

const GRASS: u8 = 2;
const BRICK: u8 = 5;
const ROCK: u8 = 8;
const COBBLESTONE: u8 = 17;

/// Min and max corner of the valley.
const BOUNDS_M: [[f32; 3]; 2] = [[-64.0, -32.0, -64.0], [64.0, 32.0, 64.0]];

/// Positions of the cuts along the bridge.
const CUTS_M: [f32; 3] = [-25.0, 1.0, 25.0];

/// Steps of 1/60 s at which the two pictures of the fall are taken; the last picture is taken
/// at rest.
const PICTURE_STEPS: [usize; 2] = [54, 100];

/// Limit of the steps until all bodies rest.
const MAX_STEPS: usize = 900;

/// Eye and target of the camera.
const CAMERA_M: [[f64; 3]; 2] = [[-15.0, 9.0, 56.0], [1.0, -5.0, 0.0]];
const FOV_DEGREES: f64 = 50.0;

/// Builds the bridge, cuts it and takes the picture.
///
/// # Errors
/// If the picture cannot be written.
pub fn show(
    args: &DemoArgs,
    console: &Console,
    times: &mut StepTimes,
) -> CliResult<Vec<PictureReport>> {
    let grids = times.step("bridge", fall)?;
    let info = WorldInfo::default();
    let camera = Camera::looking_at(CAMERA_M[0].into(), CAMERA_M[1].into(), FOV_DEGREES);
    let size = args.size.map(|edge| (edge / 2).max(1));
    let path = args.out.join("bridge.png");
    let output = Output::create(&path)?;
    let whole = times.step("picture bridge", || four_pictures(&grids, &camera, size, console))?;
    write_png(output, &path, &whole)?;
    let last = Scene::new(&grids[3], Some(0)).map_err(Failure::new)?;
    let camera = camera_report(&info, &last, &camera).value;
    Ok(vec![PictureReport { file: "bridge.png", camera }])
}

/// Takes the four pictures as one.
fn four_pictures(
    grids: &[VoxelGrid],
    camera: &Camera,
    [width, height]: [usize; 2],
    console: &Console,
) -> CliResult<Image> {
    let mut whole = Image::new(2 * width, 2 * height);
    for (number, grid) in grids.iter().enumerate() {
        let mut scene = Scene::new(grid, Some(0)).map_err(Failure::new)?;
        scene.set_textures(UNSET);
        let options = PictureOptions { width, height, ..PictureOptions::default() };
        let picture = take(&scene, camera, &options, console);
        copy_quarter(&picture.image, &mut whole, [number % 2, number / 2]);
    }
    Ok(whole)
}

/// Copies a picture into a quarter of another.
fn copy_quarter(picture: &Image, whole: &mut Image, [column, row]: [usize; 2]) {
    for (y, line) in picture.pixels.chunks_exact(picture.width).enumerate() {
        let at = column * picture.width + whole.width * (row * picture.height + y);
        whole.pixels[at..at + picture.width].copy_from_slice(line);
    }
}

/// Simulates the fall; returns the world at four moments.
fn fall() -> CliResult<[VoxelGrid; 4]> {
    let mut terrain = valley().map_err(Failure::new)?;
    let mut grids = vec![with_bodies(&terrain, &PhysicsWorld::new(), &[])?];
    for along in CUTS_M {
        cut(&mut terrain, along)?;
    }
    let loose = LooseOptions::floor(BOUNDS_M[0][1] as i32 + 1);
    let cut = terrain.cut_loose(&loose).map_err(Failure::new)?;
    let (mut world, mut ground) = (PhysicsWorld::new(), TerrainColliders::default());
    let mut bodies = Vec::new();
    for body in cut.bodies {
        let shape = LooseShapeOptions::default();
        let (rigid, collider) = loose_builders(&body, terrain.placement(), &shape);
        let (handle, _) = world.insert(rigid, collider);
        bodies.push(FallingPiece { body, handle });
    }
    for step in 0..MAX_STEPS {
        if PICTURE_STEPS.contains(&step) {
            grids.push(with_bodies(&terrain, &world, &bodies)?);
        }
        ground.sync(&terrain, &mut world.bodies, &mut world.colliders, &mut world.islands);
        world.step();
        let rests = |handle: RigidBodyHandle| world.bodies[handle].is_sleeping();
        if grids.len() > PICTURE_STEPS.len() && bodies.iter().all(|body| rests(body.handle)) {
            break;
        }
    }
    grids.push(with_bodies(&terrain, &world, &bodies)?);
    let Ok(grids) = grids.try_into() else {
        unreachable!("the loop passes both moments of the fall")
    };
    Ok(grids)
}

/// Builds a gorge with an arch of brick and a road over it.
fn valley() -> Result<Terrain, TerrainError> {
    let unlisted = UnlistedChunks::Air; // air around the filled region
    let mut terrain = Terrain::new(TerrainOptions { unlisted, ..TerrainOptions::default() });
    let [min, max] = BOUNDS_M;
    let material = |p: [f64; 3]| match bridge(p) {
        [_, deck] if deck > -0.8 => COBBLESTONE,
        [arch, _] if arch > -0.8 => BRICK,
        _ if p[1] > 3.5 => GRASS,
        _ => ROCK,
    };
    let fill = |request: &mut FillRequest<'_>| {
        request.fill_sdf_with(|p| bridge(p).into_iter().fold(gorge(p), f64::max), material);
    };
    terrain.fill(min.map(f64::from), max.map(f64::from), fill)?;
    Ok(terrain)
}

/// Returns the signed distance to the ground, inside positive, metres.
fn gorge([x, y, z]: [f64; 3]) -> f64 {
    let bend = 2.0 * (z * 0.09).sin();
    let rough = 0.8 * (x * 0.31 + z * 0.17).sin() * (z * 0.37 - x * 0.11).cos();
    let side = (x - bend).abs() - 27.0 + rough;
    let top = 5.0 + 0.8 * (x * 0.07).sin() * (z * 0.08).cos() + 0.15 * rough;
    let floor = (-22.0 + 0.014 * (x - bend) * (x - bend)).min(-12.0) + rough;
    // Walls rise by two for one.
    let wall = (2.0 * side - 4.0 - y) / 5f64.sqrt();
    wall.min(top - y).max(floor - y)
}

/// Returns the signed distances to the arch and to the deck, inside positive, metres.
fn bridge([x, y, z]: [f64; 3]) -> [f64; 2] {
    let wide = |half: f64| half - z.abs();
    let deck = 8.2 - 0.0022 * x * x;
    let arch = 6.0 - 0.014 * x * x;
    let ends = 38.0 - x.abs();
    // Columns stand on the arch, 7 m apart.
    let column = 1.1 - ((x + 3.5).rem_euclid(7.0) - 3.5).abs();
    let column = column.min(y - arch).min(deck - y).min(wide(3.4));
    let rib = (1.5 - (y - arch).abs() / (1.0 + (0.028 * x).powi(2)).sqrt()).min(wide(4.2));
    [rib.max(column).min(ends), (1.3 - (y - deck).abs()).min(wide(5.5)).min(ends)]
}

/// Cuts the bridge across its whole width.
fn cut(terrain: &mut Terrain, along: f32) -> CliResult<()> {
    for number in 0..35u8 {
        let [across, up] = [number % 5, number / 5].map(|v| 3.0 * f32::from(v));
        let centre = [along, up - 6.0, across - 6.0].map(f64::from);
        terrain.edit(&EditOp::dig_ball(centre, 3.1)).map_err(Failure::new)?;
    }
    Ok(())
}

/// A piece of the bridge, and its body in Rapier.
struct FallingPiece {
    body: LooseBody,
    handle: RigidBodyHandle,
}

/// Returns the world with its bodies written back at their poses.
fn with_bodies(
    terrain: &Terrain,
    world: &PhysicsWorld,
    bodies: &[FallingPiece],
) -> CliResult<VoxelGrid> {
    let grid = copy(terrain.grid()).map_err(Failure::new)?;
    let mut terrain = Terrain::from_grid(grid, terrain.placement());
    for FallingPiece { body, handle } in bodies {
        let (position, rotation) = loose_pose(&world.bodies[*handle]);
        // Pieces that fell out of the world are not drawn.
        if DVec3::from(position).length() < 200.0 {
            terrain.write_back(body, position, rotation).map_err(Failure::new)?;
        }
    }
    Ok(terrain.into_grid())
}

fn copy(grid: &VoxelGrid) -> Result<VoxelGrid, NotHeld> {
    let mut copy = VoxelGrid::new(GridOptions::default());
    let mut cells = DenseBox::default();
    for chunk in grid.chunks() {
        grid.read(chunk.region(), 0, &mut cells)?;
        copy.write(&cells)?;
    }
    Ok(copy)
}

#[cfg(test)]
mod tests {
    use super::*;
    use terravox::voxel::Kind;

    #[test]
    fn the_bridge_falls_into_the_gorge_in_two_and_nothing_is_lost() -> CliResult<()> {
        let grids = fall()?;
        // Volume of brick and cobblestone, and its mean height.
        let brick = |grid: &VoxelGrid| {
            let (mut units, mut height) = (0.0, 0.0);
            for voxel in grid.bounds().voxels() {
                let cell = grid.cell(voxel).unwrap_or_default();
                if matches!(cell.material, BRICK | COBBLESTONE) {
                    units += f64::from(cell.fraction());
                    height += f64::from(cell.fraction()) * f64::from(voxel.y);
                }
            }
            [units, height / units]
        };
        let [whole, falling, lower, rest] = [0, 1, 2, 3].map(|i| brick(&grids[i]));
        assert!(whole[1] > falling[1] && falling[1] > lower[1] && lower[1] > rest[1]);
        assert!(whole[1] - rest[1] > 8.0, "{whole:?} to {rest:?}");
        assert!(rest[0] > 0.9 * falling[0], "{falling:?} to {rest:?}");
        // The first picture has the bridge, the last has air in its place.
        let kind = |grid: &VoxelGrid, voxel: [i32; 3]| {
            grid.cell(voxel.into()).map(|cell| grid.materials().kind(cell.material))
        };
        assert_eq!(kind(&grids[0], [12, 7, 0]).ok(), Some(Kind::Solid));
        assert_eq!(kind(&grids[3], [12, 7, 0]).ok(), Some(Kind::Air));
        Ok(())
    }
}
