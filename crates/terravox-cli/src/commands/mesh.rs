//! `mesh`: writes the surface of a world as triangles.

use super::import::add_notes;
use crate::args::{ExportArgs, MeshArgs};
use crate::console::Console;
use crate::export_limits::ExportAllowance;
use crate::failure::{CliResult, Failure};
use crate::octree;
use crate::report::Report;
use crate::triangles::{self, TriangleTarget, check_triangles_path};
use crate::world::{self, World};
use std::time::Instant;
use terravox::mesh::BlockMesh;

pub fn run(args: &MeshArgs, console: &Console) -> CliResult<Report> {
    check_triangles_path(&args.world, &args.file, &args.triangles)?;
    if args.clusters.octree && args.triangles.scatter {
        return Err(Failure::of(
            &args.file,
            "--scatter needs the ground that --octree replaces; omit one of them",
        ));
    }
    let extent = args.part.extent();
    let world = world::open(&args.world, &Default::default(), args.reading, extent, console)?;
    let clusters = args.clusters;
    let args = ExportArgs {
        into: None,
        limit_factor: args.limit_factor,
        location: None,
        world: args.world.clone(),
        file: args.file.clone(),
        part: args.part,
        triangles: args.triangles,
        reading: args.reading,
    };
    if !clusters.octree {
        return triangles("mesh", &world, &args, None, console);
    }
    let (ground, stats) = octree::bake(&world.grid.snapshot(), clusters, &args.world, console)?;
    let mut report = triangles("mesh", &world, &args, Some(ground), console)?;
    stats.add_to(&mut report);
    Ok(report)
}

/// Writes triangles for `mesh` and `export`. The meshes of `ground` replace the ground.
pub fn triangles(
    command: &str,
    world: &World,
    args: &ExportArgs,
    ground: Option<Vec<BlockMesh>>,
    console: &Console,
) -> CliResult<Report> {
    let start = Instant::now();
    let allowed = ExportAllowance::times(args.limit_factor);
    let target = TriangleTarget { world_path: &args.world, file: &args.file, allowed };
    let written = triangles::write(world, target, &args.triangles, ground, console)?;
    let mut report = Report::new(command);
    report.text_line("world", "world", args.world.display().to_string());
    report.text_line("file", "file", args.file.display().to_string());
    report.count("tiles", "tiles", written.tiles);
    report.count("vertices", "vertices", written.vertices);
    report.count("triangles", "triangles", written.triangles);
    if args.triangles.scatter {
        report.count("instances", "plants", written.instances);
    }
    report.bytes("file_bytes", "written", written.file_bytes);
    report.time(&format!("{command}_ms"), command, start.elapsed());
    add_notes(&world.notes, &mut report);
    Ok(report)
}
