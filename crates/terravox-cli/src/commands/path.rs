//! `path`: the way that a walker takes, as a report and as a line on a picture.

use super::import::add_notes;
use super::render::{camera, check_view, options, take, write_png};
use super::render_extras::buried;
use crate::args::{PathArgs, PathEnd};
use crate::console::Console;
use crate::failure::{CliResult, Failure};
use crate::growth::{Extent, make_chunks};
use crate::lod_view::seeded;
use crate::output::{Output, check_not_input};
use crate::report::{Report, grouped};
use crate::world::{self, World, check_point, extension};
use glam::DVec3;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::ops::Range;
use std::path::Path as FilePath;
use std::time::Instant;
use terravox::generate::Seeded;
use terravox::math::{Aabb, DebugLines};
use terravox::voxel::{ChunkPos, GridOptions, Region, VoxelGrid, VoxelPos};
use terravox_paths::{Agent, PartialReason, Path, PathOptions, PathOutcome, Paths};
use terravox_render::{Camera, FOV_DEGREES, Image, Lens, Scene, framing, overlay};
use terravox_store::WorldInfo;

/// Ends in endless worlds are at most this far apart, metres: all ground between is generated.
const MAX_ENDLESS_M: f64 = 2048.0;

/// The source of worlds without a file.
const GENERATED: &str = "generated";

/// Generated beyond `--around`, metres: a chunk, on which tiles within depend.
const MARGIN_M: f64 = 32.0;

/// Lines are drawn this far above the ground, voxels.
const LIFT_VOXELS: f64 = 0.4;

/// Colours of the path, and of the line from its end to the goal that it does not reach.
const COLOURS: [[u8; 3]; 2] = [[255, 60, 30], [255, 190, 40]];

pub fn run(args: &PathArgs, console: &Console) -> CliResult<Report> {
    if let Some(file) = &args.render {
        if extension(file) != "png" {
            return Err(Failure::of(file, "unsupported extension; use .png"));
        }
        check_not_input(&args.world, file)?;
    }
    let world = match seeded(&args.world)? {
        Some(seeded) => generated(&seeded, args)?,
        None => opened(args, console)?,
    };
    for (name, end) in [("FROM", args.from), ("TO", args.to)] {
        let point = match end {
            PathEnd::Highest([x, z]) => [x, world.info.origin_m[1], z],
            PathEnd::Near(point) => point,
        };
        check_point(name, point, &world.info)?;
    }
    check_view(&args.view, &world.info)?;
    let mut report = Report::new("path");
    report.hidden("world", args.world.display().to_string());
    let placement = world.info.placement();
    let start = Instant::now();
    let busy = console.busy("looking where one can walk");
    let mut paths = paths(args, &world)?;
    paths.cover(tiles(&world));
    paths.update(&world.grid, usize::MAX);
    drop(busy);
    let made = start.elapsed();
    let start = Instant::now();
    let ends = [args.from, args.to].map(|end| point(&paths, &world, end));
    let outcome = match ends {
        [None, _] => PathOutcome::StartOffMesh,
        [_, None] => PathOutcome::GoalOffMesh,
        [Some(from), Some(to)] => known(&world, paths.find(&placement, from, to)),
    };
    let found = start.elapsed();
    add_outcome(&outcome, ends, &mut report);
    let [rects, floors] = paths.counts();
    let tiles = paths.tiles().len() as u64;
    let text = format!("{} rectangles in {} tiles", grouped(rects as u64), grouped(tiles));
    report.line("rectangles", "ground", text, json!(rects));
    report.hidden("tiles", tiles);
    report.hidden("floors", floors as u64);
    report.time("make_ms", "made", made);
    report.time("find_ms", "found", found);
    if let Some(file) = &args.render {
        let lines = PictureLines { path: outcome.path(), goal: ends[1], paths: &paths };
        render(args, file, &world, &lines, console, &mut report)?;
    }
    add_notes(&world.notes, &mut report);
    Ok(report)
}

/// Opens a world; of one that grows, the ground around both ends is generated.
fn opened(args: &PathArgs, console: &Console) -> CliResult<World> {
    let (heightmap, extent) = (Default::default(), Extent::OnDemand);
    let mut world = world::open(&args.world, &heightmap, args.reading, extent, console)?;
    if let Some(mut growth) = world.growth.take() {
        let Range { start, end } = growth.heights();
        // The tiles with ground also depend on the chunks above and below, which are unknown else.
        let region = region_around(args, &world.info, start - 32..end + 32)?;
        let mut regions = vec![region];
        let built = around_built(&world.grid.chunks(), region);
        regions.extend(built.into_iter().map(ChunkPos::region));
        growth.make(&mut world.grid, &regions, console)?;
        world.source = GENERATED;
    }
    Ok(world)
}

/// The chunks around those that are stored in the columns of a region, above and below it: what was
/// built there may be walked on, and its tiles depend on them. A floor may reach into the chunk above
/// its own, whose tile depends on one more.
fn around_built(stored: &[ChunkPos], region: Region) -> BTreeSet<ChunkPos> {
    let Region { min, max } = region.coarser(5);
    let is_in_column =
        |chunk: &ChunkPos| (min.x..max.x).contains(&chunk.x) && (min.z..max.z).contains(&chunk.z);
    let around = |chunk: &ChunkPos| {
        let Region { min, max } = chunk.region().grow(1);
        Region { min, max: max + VoxelPos::new(0, 32, 0) }.blocks::<5>()
    };
    let is_outside = |chunk: &ChunkPos| !(min.y..max.y).contains(&chunk.y);
    let built = stored.iter().filter(|chunk| is_in_column(chunk)).flat_map(around);
    built.filter(|chunk| is_in_column(chunk) && is_outside(chunk)).collect()
}

/// Generates the ground around both ends.
fn generated(seeded: &Seeded, args: &PathArgs) -> CliResult<World> {
    let info = WorldInfo::default();
    let region = region_around(args, &info, seeded.heights())?;
    let mut grid = VoxelGrid::new(GridOptions::default());
    let chunks: Vec<_> = region.blocks::<5>().filter(|chunk| chunk.within_limits()).collect();
    make_chunks(
        &chunks,
        |cells| seeded.fill(cells, 0),
        |cells| grid.write(cells).map(drop).map_err(Failure::at(&args.world)),
    )?;
    let (roblox, notes) = (Default::default(), Vec::new());
    Ok(World {
        grid,
        info,
        roblox,
        source: GENERATED,
        file_bytes: 0,
        notes,
        growth: None,
        channels: Default::default(),
    })
}

/// Returns the voxels of an endless world around both ends, as high as its ground is.
fn region_around(args: &PathArgs, info: &WorldInfo, heights: Range<i32>) -> CliResult<Region> {
    let ends = [args.from, args.to].map(|end| match end {
        PathEnd::Highest(point) => point,
        PathEnd::Near([x, _, z]) => [x, z],
    });
    let apart = (ends[0][0] - ends[1][0]).hypot(ends[0][1] - ends[1][1]);
    if apart + 2.0 * args.around > MAX_ENDLESS_M {
        let what = format!(
            "FROM and TO are {apart:.0} m apart; in an endless world that and twice --around may be \
             {MAX_ENDLESS_M} m"
        );
        return Err(Failure::of(&args.world, what));
    }
    for [x, z] in ends {
        check_point("FROM or TO", [x, info.origin_m[1], z], info)?;
    }
    let around = args.around + MARGIN_M;
    let corner = |far: f64| {
        let bound = |axis: usize| {
            let [a, b] = ends.map(|end| end[axis]);
            far + if far < 0.0 { a.min(b) } else { a.max(b) }
        };
        info.placement().voxel_from_world([bound(0), info.origin_m[1], bound(1)])
    };
    let ([x0, _, z0], [x1, _, z1]) = (corner(-around), corner(around));
    let low = [x0.floor() as i32, heights.start, z0.floor() as i32];
    Ok(Region::new(low, [x1.floor() as i32 + 1, heights.end, z1.floor() as i32 + 1]))
}

/// The tiles that may have ground: chunks and those beside them, into which surfaces reach. In a
/// generated world not those at the border, beyond which the world continues.
fn tiles(world: &World) -> BTreeSet<ChunkPos> {
    let chunks = world.grid.chunks();
    if world.source != GENERATED {
        let around = |chunk: &ChunkPos| chunk.region().grow(1).blocks::<5>();
        return chunks.iter().flat_map(around).collect();
    }
    let Region { min, max } = world.grid.bounds().coarser(5);
    let is_inner = |chunk: &ChunkPos| {
        (min.x + 1..max.x - 1).contains(&chunk.x) && (min.z + 1..max.z - 1).contains(&chunk.z)
    };
    chunks.into_iter().filter(is_inner).collect()
}

/// Converts outcomes about unloaded ground: of a world file, all ground is known.
fn known(world: &World, outcome: PathOutcome) -> PathOutcome {
    if world.source == GENERATED {
        return outcome;
    }
    match outcome {
        PathOutcome::Partial(path, PartialReason::NotLoaded) => {
            PathOutcome::Partial(path, PartialReason::Unreachable)
        }
        PathOutcome::StartNotLoaded => PathOutcome::StartOffMesh,
        PathOutcome::GoalNotLoaded => PathOutcome::GoalOffMesh,
        other => other,
    }
}

/// The view of a world for the walker of the arguments.
fn paths(args: &PathArgs, world: &World) -> CliResult<Paths> {
    let voxel_size_m = world.info.voxel_size_m;
    let agent = Agent {
        radius_m: args.radius,
        height_m: args.height,
        climb_m: args.climb,
        slope_degrees: args.slope,
        wade_m: args.wade,
        water: args.water,
    };
    let options = PathOptions {
        agent,
        cells_per_voxel: args.cells_per_voxel,
        snap_m: args.snap.unwrap_or(8.0 * voxel_size_m),
        max_rects: usize::MAX,
    };
    Paths::new(options, voxel_size_m).map_err(Failure::new)
}

/// Returns an end in metres; `None` if there is no ground to walk on at its x and z.
fn point(paths: &Paths, world: &World, end: PathEnd) -> Option<[f64; 3]> {
    let [x, z] = match end {
        PathEnd::Near(point) => return Some(point),
        PathEnd::Highest(point) => point,
    };
    paths.highest(&world.info.placement(), x, z)
}

/// Adds what was found.
fn add_outcome(outcome: &PathOutcome, ends: [Option<[f64; 3]>; 2], report: &mut Report) {
    let (name, text) = match outcome {
        PathOutcome::Complete(_) => ("complete", "leads to the goal"),
        PathOutcome::Partial(_, PartialReason::Unreachable) => {
            ("unreachable", "does not reach the goal: no ground leads there")
        }
        PathOutcome::Partial(_, PartialReason::NotLoaded) => {
            ("edge", "does not reach the goal: the ground that is there ends before")
        }
        PathOutcome::Partial(_, PartialReason::SearchLimit) => ("limit", "does not reach the goal"),
        PathOutcome::StartOffMesh => (
            "start_off_mesh",
            "no ground to walk on at FROM: none, too steep, or in deeper water than --water",
        ),
        PathOutcome::GoalOffMesh => (
            "goal_off_mesh",
            "no ground to walk on at TO: none, too steep, or in deeper water than --water",
        ),
        PathOutcome::StartNotLoaded => ("start_not_loaded", "FROM is beyond the ground"),
        PathOutcome::GoalNotLoaded => ("goal_not_loaded", "TO is beyond the ground"),
    };
    report.line("outcome", "path", text, json!(name));
    let millis = |v: f64| (v * 1e3).round() / 1e3 + 0.0;
    let point = |p: [f64; 3]| p.map(millis);
    let words = |p: [f64; 3]| {
        let [x, y, z] = point(p);
        format!("{x},{y},{z}")
    };
    let Some(path) = outcome.path() else { return };
    let [Some(&first), Some(&last)] = [path.points_m.first(), path.points_m.last()] else { return };
    report.line("from_m", "from", format!("{} m", words(first)), json!(point(first)));
    report.line("to_m", "to", format!("{} m", words(last)), json!(point(last)));
    let straight = DVec3::from(first).distance(DVec3::from(last));
    let wet = match path.wet_m > 0.0 {
        true => format!(", {:.1} m of it in water", path.wet_m),
        false => String::new(),
    };
    let text = format!("{:.1} m, {straight:.1} m in a straight line{wet}", path.length_m);
    report.line("length_m", "length", text, json!(millis(path.length_m)));
    report.hidden("straight_m", millis(straight));
    report.hidden("wet_m", millis(path.wet_m));
    if let (false, Some(goal)) = (outcome.is_complete(), ends[1]) {
        let left = DVec3::from(last).distance(DVec3::from(goal));
        report.line("left_m", "left", format!("{left:.1} m to the goal"), json!(millis(left)));
    }
    report.hidden("looked_at", path.looked_at as u64);
    let points: Vec<Value> = path.points_m.iter().map(|&p| json!(point(p))).collect();
    report.line("points_m", "points", grouped(points.len() as u64), json!(points));
}

/// What is drawn over the picture.
struct PictureLines<'a> {
    path: Option<&'a Path>,
    goal: Option<[f64; 3]>,
    paths: &'a Paths,
}

/// What is drawn over the picture of a scene, in cells of it.
struct PictureWay {
    /// The path, above the ground.
    points: Vec<DVec3>,
    /// The goal, if the path ends away from it.
    missed_goal: Option<DVec3>,
    /// Cells in a voxel.
    cell: f64,
}

impl PictureWay {
    fn of(world: &World, scene: &Scene, lines: &PictureLines<'_>) -> PictureWay {
        let placement = world.info.placement();
        let cell = f64::from(1_u32 << scene.mip());
        let lifted = |point: [f64; 3]| {
            (DVec3::from(placement.voxel_from_world(point)) + DVec3::Y * LIFT_VOXELS) / cell
        };
        let path = lines.path.iter().flat_map(|path| path.points_m.iter().copied());
        let points: Vec<DVec3> = path.map(lifted).collect();
        let goal = lines.goal.map(lifted).zip(points.last().copied());
        let missed_goal = goal.filter(|(goal, last)| last.distance(*goal) > 2.0).map(|way| way.0);
        PictureWay { points, missed_goal, cell }
    }

    /// A camera that sees all of it.
    fn camera(&self, scene: &Scene, lens: Lens) -> Camera {
        let far = (DVec3::INFINITY, DVec3::NEG_INFINITY);
        let (min, max) = self.points.iter().fold(far, |(min, max), &p| (min.min(p), max.max(p)));
        let size = (max - min).length().max(16.0);
        framing::around(scene, (min + max) / 2.0, size * 1.1, lens)
    }

    /// Draws it, in ribbons of some pixels.
    fn draw(&self, image: &mut Image, scene: &Scene, camera: &Camera, width: f64) {
        if let (Some(goal), Some(&last)) = (self.missed_goal, self.points.last()) {
            let way = [last, goal];
            overlay::draw_ribbon(image, scene, camera, &way, width / 2.0, COLOURS[1]);
        }
        overlay::draw_ribbon(image, scene, camera, &self.points, width, COLOURS[0]);
    }

    /// The edges of the ground where one can walk.
    fn rectangles(&self, paths: &Paths) -> DebugLines {
        let mut rectangles = DebugLines::default();
        paths.lines(&Aabb::new([f64::MIN; 3], [f64::MAX; 3]), &mut rectangles);
        for line in &mut rectangles.lines {
            for end in [&mut line.from, &mut line.to] {
                *end = (DVec3::from(*end) / self.cell + DVec3::Y * 0.1).to_array();
            }
        }
        rectangles
    }
}

/// Renders the world with the path.
fn render(
    args: &PathArgs,
    file: &FilePath,
    world: &World,
    lines: &PictureLines<'_>,
    console: &Console,
    report: &mut Report,
) -> CliResult<()> {
    let start = Instant::now();
    let output = Output::create(file)?;
    let busy = console.busy("preparing");
    let scene = Scene::new(&world.grid, args.view.mip);
    drop(busy);
    let mut scene = scene.map_err(Failure::at(&args.world))?;
    scene.set_textures(terravox::mesh::shade::UNSET);
    let options = options(&args.view);
    let way = PictureWay::of(world, &scene, lines);
    let lens = Lens { aspect: options.aspect(), fov_degrees: args.view.fov.unwrap_or(FOV_DEGREES) };
    let camera = match (args.view.camera, args.view.look, way.points.len()) {
        (None, None, 1..) => way.camera(&scene, lens),
        _ => camera(&world.info, &scene, &args.view, options.aspect()),
    };
    if let Some(note) = buried(&world.info, &scene, camera.eye) {
        report.text_only("note", &note);
    }
    let mut picture = take(&scene, &camera, &options, console);
    if args.rectangles {
        let rectangles = way.rectangles(lines.paths);
        overlay::draw_wireframe(&mut picture.image, &scene, &camera, &rectangles);
    }
    way.draw(&mut picture.image, &scene, &camera, (options.height as f64 / 160.0).max(3.0));
    let file_bytes = write_png(output, file, &picture.image)?;
    report.text_line("file", "file", file.display().to_string());
    report.bytes("file_bytes", "written", file_bytes);
    report.time("render_ms", "render", start.elapsed());
    Ok(())
}
