//! `render`: renders a picture of a world.

use super::import::add_notes;
use super::lod::add_shown;
use super::render_extras::{buried, cut, grid_lines, numbered, surface_chunks, turned};
use super::wire;
use crate::args::{ColliderLayer, MorphChoice, OnOff, RenderArgs, ViewArgs};
use crate::console::Console;
use crate::failure::{CliResult, Failure};
use crate::growth::Extent;
use crate::lod_view::{self, EndlessWorld};
use crate::octree;
use crate::output::{Output, check_not_input};
use crate::report::{Report, grouped};
use crate::world::{self, check_point, extension};
use glam::DVec3;
use serde_json::{Value, json};
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;
use terravox::math::{Aabb, DebugLines};
use terravox::mesh::BlockMesh;
use terravox::mesh::shade::UNSET;
use terravox::terrain::ShownMesh;
use terravox::voxel::{MaterialTable, MipBlock, NotHeld, Region, Snapshot};
use terravox_cli::meshing::{TileMeshOptions, mesh_tile, tiles_of};
use terravox_render::{
    Camera, FOV_DEGREES, Image, Lens, Picture, PictureOptions, RenderStats, SUN_ELEVATION_DEGREES,
    Scene, SunPosition, Viewpoint, demo_solids, framing, overlay,
};
use terravox_store::WorldInfo;

/// Default pitch of a camera with levels of detail.
const LOD_PITCH_DEGREES: f64 = -5.0;

pub fn run(args: &RenderArgs, console: &Console) -> CliResult<Report> {
    if extension(&args.file) != "png" {
        return Err(Failure::of(&args.file, "unsupported extension; use .png"));
    }
    if args.levels.morph == Some(MorphChoice::Targets) {
        return Err(Failure::new(
            "--morph targets is for lod only; give a number from 0 to 1, or distance",
        ));
    }
    check_not_input(&args.world, &args.file)?;
    (0..args.turntable.unwrap_or(0))
        .try_for_each(|number| check_not_input(&args.world, &numbered(&args.file, number)))?;
    let args = &with_defaults(args)?;
    let start = Instant::now();
    let mut report = Report::new("render");
    report.text_line("world", "world", args.world.display().to_string());
    let file = args.turntable.map_or(args.file.clone(), |_| numbered(&args.file, 0));
    report.text_line("file", "file", file.display().to_string());
    // Before the work, so that an unwritable path fails early.
    let output = Output::create(&file)?;
    let Subject { mut scene, info, mut notes, meshes } = subject(args, console, &mut report)?;
    check_view(&args.view, &info)?;
    let unset = unset_material(&info.materials, args.unset.as_deref())?;
    if has_textures(args) {
        scene.set_textures(unset);
    }
    report.time("open_ms", "open", start.elapsed());
    let start = Instant::now();
    let mut options =
        PictureOptions { threads: args.threads.map(usize::from), ..options(&args.view) };
    let camera = camera(&info, &scene, &args.view, options.aspect());
    notes.extend(buried(&info, &scene, camera.eye));
    if args.scatter {
        let count = add_plants(&mut scene, &meshes, &camera, (&args.world, info.voxel_size_m))?;
        report.line("solids", "solids", grouped(count as u64), json!(count));
    }
    let subject = Subject { scene, info, notes, meshes };
    let (image, stats) = picture(args, &subject, &camera, &options, console)?;
    let mut file_bytes = write_png(output, &file, &image)?;
    if let Some(count) = args.turntable {
        options.sun = options.sun.or_else(|| Some(camera.sun(SUN_ELEVATION_DEGREES)));
        file_bytes += turn(args, &subject, &camera, &options, console)?;
        let text = format!("{count} pictures, {} …", file.display());
        report.line("pictures", "turn", text, json!(count));
    }
    let Subject { scene, info, notes, .. } = subject;
    let size = format!("{} × {} pixels", image.width, image.height);
    report.line("size", "size", size, json!([image.width, image.height]));
    let camera_report = camera_report(&info, &scene, &camera);
    report.line("camera", "camera", camera_report.text, camera_report.value);
    report.hidden("mip", scene.mip());
    report.bytes("file_bytes", "written", file_bytes);
    add_rays(&stats, &mut report);
    report.time("render_ms", "render", start.elapsed());
    add_notes(&notes, &mut report);
    Ok(report)
}

/// Writes all but the first of the pictures from all around: the world turns, and not the sun. Returns
/// their bytes.
fn turn(
    args: &RenderArgs,
    subject: &Subject,
    camera: &Camera,
    options: &PictureOptions,
    console: &Console,
) -> CliResult<u64> {
    let Subject { scene, info, .. } = subject;
    let target = match args.view.look {
        Some(point) => cells_from_metres(info, scene, point),
        None => framing::land_centre(scene),
    };
    let count = args.turntable.unwrap_or(0);
    let mut file_bytes = 0;
    for number in 1..count {
        let file = numbered(&args.file, number);
        let output = Output::create(&file)?;
        let camera = turned(camera, target, f64::from(number) / f64::from(count));
        let (image, _) = picture(args, subject, &camera, options, console)?;
        file_bytes += write_png(output, &file, &image)?;
    }
    Ok(file_bytes)
}

/// Takes one picture, and draws over it what the arguments ask for.
fn picture(
    args: &RenderArgs,
    subject: &Subject,
    camera: &Camera,
    options: &PictureOptions,
    console: &Console,
) -> CliResult<(Image, RenderStats)> {
    let Subject { scene, info, meshes, .. } = subject;
    let Picture { mut image, stats } = take(scene, camera, options, console);
    if let Some(spacing_m) = args.grid {
        overlay::draw_wireframe(&mut image, scene, camera, &grid_lines(scene, info, spacing_m));
    }
    if let Some(lines) = debug_lines(scene, camera, args) {
        overlay::draw_lines(&mut image, scene, camera, &lines);
    }
    if args.wire {
        let _busy = console.busy("edges");
        let edges = match scene.collider() {
            Some(_) => wire::of_cells(scene.snapshot()).map_err(Failure::at(&args.world))?,
            None => wire::of_meshes(meshes),
        };
        overlay::draw_wireframe(&mut image, scene, camera, &edges);
    }
    Ok((image, stats))
}

/// Returns the arguments with the defaults of endless worlds: levels of detail and a camera.
///
/// # Errors
/// If arguments exclude each other, or the world cannot be opened.
fn with_defaults(args: &RenderArgs) -> CliResult<RenderArgs> {
    let mut args = args.clone();
    // All that would be asked is answered by the arguments.
    let is_clear = args.lod && args.view.camera.is_some();
    let endless = if is_clear { None } else { EndlessWorld::find(&args.world)? };
    if let Some(endless) = endless {
        let exclusive = [
            ("--mip", args.view.mip.is_some()),
            ("--octree", args.clusters.octree),
            ("--draw", !args.draw.is_empty()),
            ("--cutaway", args.cutaway.is_some()),
            ("--grid", args.grid.is_some()),
            ("--turntable", args.turntable.is_some()),
        ];
        if let Some((option, _)) = exclusive.into_iter().find(|(_, is_given)| *is_given) {
            let what = format!(
                "{option} needs a finite world, and this one is endless; omit it, or generate a \
                 world file: terravox generate world.tvx"
            );
            return Err(Failure::of(&args.world, what));
        }
        args.lod = true;
        let view = &mut args.view;
        if view.camera.is_none() {
            view.camera = Some(endless.camera_m());
            if view.look.is_none() {
                let [yaw, pitch] = lod_view::HILLS_BEARING_DEGREES;
                (view.yaw, view.pitch) = (Some(yaw), Some(pitch));
            }
        }
    }
    if args.lod && args.view.camera.is_none() {
        let what = "--lod needs a viewpoint; give --camera X,Y,Z";
        return Err(Failure::new(what));
    }
    if args.lod_colours && !args.lod {
        return Err(Failure::new("--lod-colours needs --lod; add --lod"));
    }
    Ok(args)
}

/// Returns whether the ground gets textures: by default not in charts.
fn has_textures(args: &RenderArgs) -> bool {
    let is_chart = args.lod_colours || args.wire || !args.draw.is_empty();
    args.textures.map_or(!is_chart, |textures| textures == OnOff::On)
}

/// Returns the material that counts as unpainted.
///
/// # Errors
/// If no material has the name.
fn unset_material(materials: &MaterialTable, name: Option<&str>) -> CliResult<u8> {
    let Some(name) = name else { return Ok(UNSET) };
    materials.find(name).ok_or_else(|| {
        let known: Vec<&str> = materials.materials().iter().map(|m| m.name.as_str()).collect();
        Failure::new(format!("unknown material {name:?}; known are {}", known.join(", ")))
    })
}

/// The scene of a picture.
struct Subject {
    scene: Scene,
    info: WorldInfo,
    notes: Vec<String>,
    /// The meshes of a scene without a collider.
    meshes: Vec<ShownMesh>,
}

/// Opens the scene: a world at one mip, its levels of detail from the camera, or clusters.
fn subject(args: &RenderArgs, console: &Console, report: &mut Report) -> CliResult<Subject> {
    if let (true, Some(camera)) = (args.lod, args.view.camera) {
        let shown = lod_view::show(&args.world, camera, args.levels, args.reading, console)?;
        add_shown(&shown, report);
        let mut scene = Scene::of_shown_meshes(&shown.snapshot, &shown.meshes, shown.viewpoint);
        if args.lod_colours {
            scene.tint_by_mip();
        }
        return Ok(Subject { scene, info: shown.info, notes: shown.notes, meshes: shown.meshes });
    }
    let extent = Extent::Whole { remedy: "add --lod and --camera X,Y,Z" };
    let mut world = world::open(&args.world, &Default::default(), args.reading, extent, console)?;
    if let Some(cutaway) = args.cutaway {
        cut(&mut world, cutaway).map_err(Failure::at(&args.world))?;
    }
    if args.clusters.octree {
        let snapshot = world.grid.snapshot();
        let (ground, stats) = octree::bake(&snapshot, args.clusters, &args.world, console)?;
        stats.add_to(report);
        let liquids = world_liquids(&snapshot).map_err(Failure::at(&args.world))?;
        let meshes: Vec<_> = ground.into_iter().chain(liquids).map(shown).collect();
        let scene = Scene::of_shown_meshes(&snapshot, &meshes, near_everything(&snapshot));
        return Ok(Subject { scene, info: world.info, notes: world.notes, meshes });
    }
    let busy = console.busy("preparing");
    let scene = Scene::new(&world.grid, args.view.mip);
    drop(busy);
    let scene = scene.map_err(Failure::at(&args.world))?;
    Ok(Subject { scene, info: world.info, notes: world.notes, meshes: Vec::new() })
}

/// Puts grass, trees and rocks on the ground of a scene, and returns the number of their solids.
///
/// # Errors
/// If the scene is of a coarser mip.
pub fn add_plants(
    scene: &mut Scene,
    meshes: &[ShownMesh],
    camera: &Camera,
    (world, voxel_size_m): (&Path, f64),
) -> CliResult<usize> {
    let blocks: Vec<MipBlock> = match scene.collider() {
        // A simplified mesh covers eight blocks of its mip.
        None => meshes
            .iter()
            .flat_map(|&ShownMesh { block, mip, .. }| {
                let own = block.voxels().coarser(5 + u32::from(mip)).voxels();
                own.map(move |pos| MipBlock { mip, pos })
            })
            .collect(),
        Some(_) if scene.mip() == 0 => {
            surface_chunks(scene).into_iter().map(MipBlock::from).collect()
        }
        Some(_) => {
            let mip = scene.mip();
            let what = format!(
                "--scatter needs mip 0, and the picture is of mip {mip}; add --lod or --mip 0"
            );
            return Err(Failure::of(world, what));
        }
    };
    let solids = demo_solids(scene.snapshot(), voxel_size_m, &blocks, camera.eye);
    let solids = solids.map_err(Failure::at(world))?;
    scene.set_solids(&solids);
    Ok(solids.len())
}

/// Returns the liquid surfaces of a world.
fn world_liquids(snapshot: &Snapshot) -> Result<Vec<BlockMesh>, NotHeld> {
    let mut all = Vec::new();
    for tile in tiles_of(snapshot, TileMeshOptions::default()) {
        let mut meshes = mesh_tile(snapshot, &tile, 0)?;
        meshes.retain(|mesh| !mesh.liquid.is_empty());
        meshes.iter_mut().for_each(|mesh| mesh.solid.clear());
        all.append(&mut meshes);
    }
    Ok(all)
}

/// Wraps a mesh of mip 0 as a shown mesh.
fn shown(mesh: BlockMesh) -> ShownMesh {
    let block = MipBlock::holding(mesh.block.min, 0);
    ShownMesh { block, mip: 0, mesh: Arc::new(mesh) }
}

/// Returns a viewpoint from which the whole world is near, for scenes of a single mip.
fn near_everything(snapshot: &Snapshot) -> Viewpoint {
    let Region { min, max } = snapshot.bounds();
    let [min, max] = [min, max].map(|p| DVec3::from(p.to_array().map(f64::from)));
    let distance = 4.0 * min.distance(max).max(64.0);
    Viewpoint { eye: (min + max) * 0.5, distance, detail: distance }
}

/// Refuses cameras beyond the world.
///
/// # Errors
/// If the eye or the point that it looks at is.
pub fn check_view(view: &ViewArgs, info: &WorldInfo) -> CliResult<()> {
    [("--camera", view.camera), ("--look", view.look)]
        .into_iter()
        .try_for_each(|(name, point)| point.map_or(Ok(()), |point| check_point(name, point, info)))
}

/// Returns size, rays and light.
pub fn options(view: &ViewArgs) -> PictureOptions {
    PictureOptions {
        width: view.size[0],
        height: view.size[1],
        samples_per_edge: view.samples.into(),
        sun: view.sun.map(|[azimuth_degrees, elevation_degrees]| SunPosition {
            azimuth_degrees,
            elevation_degrees,
        }),
        lamp: view.lamp.map(|lamp| lamp == OnOff::On),
        threads: None,
    }
}

/// Returns the structures of the collider around the middle of the picture.
fn debug_lines(scene: &Scene, camera: &Camera, args: &RenderArgs) -> Option<DebugLines> {
    let collider = scene.collider().filter(|_| !args.draw.is_empty())?;
    let cells = args.draw_radius / f64::from(1_u32 << scene.mip());
    let within = Aabb::around(overlay::focus_point(scene, camera), [cells; 3]);
    let mut lines = DebugLines::default();
    for what in &args.draw {
        match what {
            ColliderLayer::Masks => collider.broadphase().lines(&within, &mut lines),
            ColliderLayer::Blocks => collider.built_lines(&within, &mut lines),
            ColliderLayer::Trees => collider.tree_lines(&within, &mut lines),
        }
    }
    Some(lines)
}

/// Adds rays by kind, and the rate per core, to a report.
fn add_rays(stats: &RenderStats, report: &mut Report) {
    let rays = stats.rays;
    let rate = (stats.rays_per_second() / 1e4).round() / 1e2;
    let [primary, shadow, water] = [rays.primary, rays.shadow, rays.water].map(grouped);
    let text =
        format!("{primary} primary, {shadow} shadow, {water} water; {rate} M rays/s per core");
    let value = json!({
        "primary": rays.primary,
        "shadow": rays.shadow,
        "water": rays.water,
        "cpu_ms": stats.cpu.as_secs_f64() * 1e3,
        "mrays_per_second_a_core": rate,
    });
    report.line("rays", "rays", text, value);
}

/// Returns the camera of the arguments, by default an overview.
pub fn camera(info: &WorldInfo, scene: &Scene, view: &ViewArgs, aspect: f64) -> Camera {
    let cells = |point: [f64; 3]| cells_from_metres(info, scene, point);
    let fov = view.fov.unwrap_or(FOV_DEGREES);
    let lens = Lens { aspect, fov_degrees: fov };
    match (view.camera.map(cells), view.look.map(cells)) {
        (Some(eye), Some(target)) => Camera::looking_at(eye, target, fov),
        (Some(eye), None) if view.yaw.is_some() || view.pitch.is_some() => {
            Camera::from_bearing(eye, view.yaw.unwrap_or(0.0), view.pitch.unwrap_or(0.0), fov)
        }
        (Some(eye), None) if scene.collider().is_none() => {
            Camera::from_bearing(eye, 0.0, LOD_PITCH_DEGREES, fov)
        }
        (Some(eye), None) => Camera::looking_at(eye, framing::land_centre(scene), fov),
        (None, Some(target)) => {
            let overview = framing::overview(scene, lens);
            let distance = overview.eye.distance(framing::land_centre(scene));
            framing::around(scene, target, distance * 0.4, lens)
        }
        (None, None) => framing::overview(scene, lens),
    }
}

/// Converts a point in metres to cells of the scene's mip.
pub fn cells_from_metres(info: &WorldInfo, scene: &Scene, metres: [f64; 3]) -> DVec3 {
    let cell = info.voxel_size_m * f64::from(1_u32 << scene.mip());
    (DVec3::from(metres) - DVec3::from(info.origin_m)) / cell
}

/// A camera in metres, for the report.
pub struct CameraReport {
    /// As arguments of the command line.
    pub text: String,
    /// As JSON.
    pub value: Value,
}

/// Describes a camera.
pub fn camera_report(info: &WorldInfo, scene: &Scene, camera: &Camera) -> CameraReport {
    let cell = info.voxel_size_m * f64::from(1_u32 << scene.mip());
    let metres = |cells: DVec3| {
        let point = cells * cell + DVec3::from(info.origin_m);
        point.to_array().map(|v| (v * 1e3).round() / 1e3)
    };
    let [eye, look] = [camera.eye, camera.eye + camera.forward() * 100.0].map(metres);
    let words = |[x, y, z]: [f64; 3]| format!("{x},{y},{z}");
    let fov = camera.fov_degrees;
    CameraReport {
        text: format!("--camera {} --look {} --fov {fov}", words(eye), words(look)),
        value: json!({ "eye_m": eye, "look_m": look, "fov_degrees": fov }),
    }
}

/// Takes a picture with a progress bar.
pub fn take(
    scene: &Scene,
    camera: &Camera,
    options: &PictureOptions,
    console: &Console,
) -> Picture {
    let bar = console.bar("rendering", options.tiles());
    terravox_render::render(scene, camera, options, &|| bar.step())
}

/// Writes a picture; returns its length in bytes.
///
/// # Errors
/// If the file cannot be written.
pub fn write_png(mut output: Output, path: &Path, image: &Image) -> CliResult<u64> {
    image.write_png(output.writer()).map_err(Failure::at(path))?;
    output.finish()
}
