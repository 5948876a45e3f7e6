//! The drop in three pictures from one camera: in the air, settled, and after the dig.

use super::super::views::DemoPicture;
use super::super::{PictureReport, StepTimes, write_picture};
use super::{BodyCounts, drop_bodies};
use crate::args::DemoArgs;
use crate::console::Console;
use crate::failure::{CliResult, Failure};
use crate::report::Report;
use crate::world::World;
use terravox::mesh::shade::UNSET;
use terravox::voxel::VoxelGrid;
use terravox_render::Scene;

/// Names of the steps of the pictures, and of their files.
const PICTURES: [DropPicture; 3] = [
    DropPicture { step: "picture drop 1", file: "drop-1-falling.png" },
    DropPicture { step: "picture drop 2", file: "drop-2-settled.png" },
    DropPicture { step: "picture drop 3", file: "drop-3-dug.png" },
];

struct DropPicture {
    step: &'static str,
    file: &'static str,
}

/// Names of the files of the pictures.
pub fn files() -> impl Iterator<Item = &'static str> {
    PICTURES.into_iter().map(|picture| picture.file)
}

/// Elevation of the sun: high enough to shine into the pit.
const SUN_ELEVATION_DEGREES: f64 = 54.0;

/// The result of the drop, for the report.
pub struct DropSummary {
    counts: BodyCounts,
    /// Steps made.
    steps: usize,
}

/// Drops bodies into a grid, a copy of the world in the scene, and appends the pictures; `None`
/// if there is no suitable place or nothing to drop.
///
/// # Errors
/// If a chunk is not held at mip 0, or a picture cannot be written.
pub fn show(
    grid: VoxelGrid,
    world: &World,
    mut before: Scene,
    pictures: &mut Vec<PictureReport>,
    args: &DemoArgs,
    console: &Console,
    times: &mut StepTimes,
) -> CliResult<Option<DropSummary>> {
    if args.bodies == 0 {
        return Ok(None);
    }
    let dropped = times.step("drop", || drop_bodies(grid, args.bodies, console))?;
    let Some(dropped) = dropped else { return Ok(None) };
    let mip = before.mip();
    let mut after = Scene::new(dropped.terrain.grid(), Some(mip)).map_err(Failure::new)?;
    after.set_textures(UNSET);
    let [width, height] = args.size;
    let camera = dropped.camera([&before, &after], width as f64 / height as f64);
    for (i, DropPicture { step, file }) in PICTURES.into_iter().enumerate() {
        let scene = if i < 2 { &mut before } else { &mut after };
        scene.set_solids(&dropped.moments[i].at_mip(mip).solids);
        let view = DemoPicture { step, file, camera, sun: Some(camera.sun(SUN_ELEVATION_DEGREES)) };
        pictures.push(write_picture(world, scene, &view, args, console, times)?);
    }
    Ok(Some(DropSummary { counts: dropped.counts, steps: dropped.steps }))
}

impl DropSummary {
    /// Adds the counts.
    pub fn add_to(&self, report: &mut Report) {
        self.counts.add_to(self.steps, report);
    }
}
