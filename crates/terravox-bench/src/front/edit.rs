//! From an edit to the first contact: `Terrain::edit`, which updates the collider, and the first
//! query for triangles at the dug floor.

use cpu_time::ThreadTime;
use terravox::collide::Filter;
use terravox::edit::EditOp;
use terravox::math::Aabb;
use terravox::terrain::{Placement, Terrain};
use terravox::voxel::VoxelGrid;

use crate::collide::world::surface_points;
use crate::harness::median_of_sorted;
use crate::report::AreaReport;
use crate::worlds::{World, generated, places};

const DIGS: usize = 200;
/// Radius of a dig, voxels.
const RADIUS: f64 = 4.0;

/// Measures `edit_to_collidable_us`.
pub fn run(report: &mut AreaReport) {
    let mut worlds = vec![generated::world()];
    worlds.extend(places::world("Caves"));
    let medians = worlds.iter().map(|world| (world.name, median_us(world)));
    let slowest = medians.max_by(|a, b| a.1.total_cmp(&b.1));
    if let Some((name, us)) = slowest {
        let note = format!("median of {DIGS} digs of radius {RADIUS}, {name}");
        report.set("edit_to_collidable_us", us, note);
    }
}

fn median_us(world: &World) -> f64 {
    let grid = VoxelGrid::from_snapshot(&world.grid.snapshot());
    let mut terrain = Terrain::from_grid(grid, Placement::default());
    let points = surface_points(world, terrain.collider(), DIGS);
    let mut times = Vec::new();
    for point in points {
        // Build the blocks around, as for a body that stands there.
        let stand = Aabb::around(point, [6.0; 3]);
        terrain.collider().triangles_in(&stand, &Filter::SOLID, |_| ());
        let start = ThreadTime::now();
        let dug = terrain.edit(&EditOp::dig_ball(point, RADIUS));
        let floor = [point[0], point[1] - RADIUS, point[2]];
        let mut triangles = 0;
        let at_floor = Aabb::around(floor, [0.5; 3]);
        terrain.collider().triangles_in(&at_floor, &Filter::SOLID, |_| triangles += 1);
        times.push(start.elapsed().as_secs_f64() * 1e6);
        assert!(dug.is_ok(), "the world is held");
    }
    times.sort_by(f64::total_cmp);
    median_of_sorted(&times)
}
