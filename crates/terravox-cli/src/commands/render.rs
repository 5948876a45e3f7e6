//! `render`: a picture of a world.

use super::import::add_notes;
use super::lod::add_shown;
use super::wire;
use crate::args::{Draw, Morph, Render, Switch, View};
use crate::console::Console;
use crate::failure::{Failure, Outcome};
use crate::far;
use crate::octree;
use crate::output::{Output, check_not_input};
use crate::report::{Report, grouped};
use crate::world::{self, extension};
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
use terravox_cli::meshing::{Meshing, mesh_tile, tiles_of};
use terravox_render::{
    self as render, Camera, FOV_DEGREES, Image, Picture, PictureOptions, RenderStats, Scene,
    Viewpoint,
};
use terravox_store::WorldInfo;

/// Where a camera looks that sees far and was not told: north, degrees above the horizon.
const DOWN: f64 = -5.0;

pub fn run(args: &Render, console: &Console) -> Outcome<Report> {
    if extension(&args.file) != "png" {
        return Err(Failure::of(&args.file, "unknown extension; pictures go to .png"));
    }
    if args.levels.morph == Some(Morph::Targets) {
        return Err(Failure::new(
            "pictures have no morph targets; give --morph 0 to 1, or distance",
        ));
    }
    check_not_input(&args.world, &args.file)?;
    let args = &completed(args)?;
    let start = Instant::now();
    let mut report = Report::new("render");
    report.text_line("world", "world", args.world.display().to_string());
    report.text_line("file", "file", args.file.display().to_string());
    let Subject { mut scene, info, notes, meshes } = subject(args, console, &mut report)?;
    let unset = unset(&info.materials, args.unset.as_deref())?;
    if textured(args) {
        scene.set_textures(unset);
    }
    report.time("open_ms", "open", start.elapsed());
    // Before the work, so that a place that cannot be written costs none.
    let output = Output::create(&args.file)?;
    let start = Instant::now();
    let options = PictureOptions { threads: args.threads.map(usize::from), ..options(&args.view) };
    let camera = camera(&info, &scene, &args.view, options.aspect());
    let Picture { mut image, stats } = take(&scene, &camera, &options, console);
    if let Some(lines) = debug_lines(&scene, &camera, args) {
        render::draw_lines(&mut image, &scene, &camera, &lines);
    }
    if args.wire {
        let _busy = console.busy("edges");
        let edges = match scene.collider() {
            Some(_) => wire::of_cells(scene.snapshot()).map_err(Failure::at(&args.world))?,
            None => wire::of_meshes(&meshes),
        };
        render::draw_wire(&mut image, &scene, &camera, &edges);
    }
    let file_bytes = write_png(output, &args.file, &image)?;
    let size = format!("{} × {} pixels", image.width, image.height);
    report.line("size", "size", size, json!([image.width, image.height]));
    let typed = typed(&info, &scene, &camera);
    report.line("camera", "camera", typed.text, typed.value);
    report.hidden("mip", scene.mip());
    report.bytes("file_bytes", "written", file_bytes);
    add_rays(&stats, &mut report);
    report.time("render_ms", "render", start.elapsed());
    add_notes(&notes, &mut report);
    Ok(report)
}

/// What was typed, with what goes without saying for hills that have no file: a level of
/// detail, since they have no end, and a camera.
///
/// # Errors
/// If it does not fit together.
fn completed(args: &Render) -> Outcome<Render> {
    let mut args = args.clone();
    if far::is_hills(&args.world) {
        let whole = [
            ("--mip", args.view.mip.is_some()),
            ("--octree", args.clusters.octree),
            ("--draw", !args.draw.is_empty()),
        ];
        if let Some((option, _)) = whole.into_iter().find(|(_, given)| *given) {
            let what = format!(
                "{option} needs a whole world, and hills have no end; make a file of some: \
                 terravox generate hills.tvx"
            );
            return Err(Failure::of(&args.world, what));
        }
        args.lod = true;
        let view = &mut args.view;
        if view.camera.is_none() {
            view.camera = Some(far::CAMERA);
            if view.look.is_none() {
                let [yaw, pitch] = far::BEARING;
                (view.yaw, view.pitch) = (Some(yaw), Some(pitch));
            }
        }
    }
    if args.lod && args.view.camera.is_none() {
        let what = "--lod is fine near the camera and coarse far away; give --camera X,Y,Z";
        return Err(Failure::new(what));
    }
    if args.lod_colours && !args.lod {
        return Err(Failure::new("--lod-colours shows levels of detail; give --lod, too"));
    }
    Ok(args)
}

/// Whether the ground is to have textures: not in charts, unless asked for.
fn textured(args: &Render) -> bool {
    let chart = args.lod_colours || args.wire || !args.draw.is_empty();
    args.textures.map_or(!chart, |textures| textures == Switch::On)
}

/// The material that counts as unpainted.
///
/// # Errors
/// If it is named and there is no such material.
fn unset(materials: &MaterialTable, name: Option<&str>) -> Outcome<u8> {
    let Some(name) = name else { return Ok(UNSET) };
    materials.find(name).ok_or_else(|| {
        let known: Vec<&str> = materials.materials().iter().map(|m| m.name.as_str()).collect();
        Failure::new(format!("no material {name:?}; there are: {}", known.join(", ")))
    })
}

/// What a picture is taken of.
struct Subject {
    scene: Scene,
    info: WorldInfo,
    notes: Vec<String>,
    /// Of a scene without a collider.
    meshes: Vec<ShownMesh>,
}

/// The world at one mip, or what a level of detail shows of it from the camera, or clusters.
fn subject(args: &Render, console: &Console, report: &mut Report) -> Outcome<Subject> {
    if let (true, Some(camera)) = (args.lod, args.view.camera) {
        let far = far::show(&args.world, camera, args.levels, args.reading, console)?;
        add_shown(&far, report);
        let scene = Scene::far(&far.snapshot, &far.meshes, far.viewpoint, args.lod_colours);
        return Ok(Subject { scene, info: far.info, notes: far.notes, meshes: far.meshes });
    }
    let world = world::open(&args.world, &Default::default(), args.reading, console)?;
    if args.clusters.octree {
        let snapshot = world.grid.snapshot();
        let baked = octree::bake(&snapshot, args.clusters, console);
        let (ground, kept) = baked.map_err(Failure::at(&args.world))?;
        kept.report(report);
        let liquids = world_liquids(&snapshot).map_err(Failure::at(&args.world))?;
        let meshes: Vec<_> = [ground].into_iter().chain(liquids).map(shown).collect();
        let scene = Scene::far(&snapshot, &meshes, from_anywhere(&snapshot), false);
        return Ok(Subject { scene, info: world.info, notes: world.notes, meshes });
    }
    let busy = console.busy("preparing");
    let scene = Scene::new(&world.grid, args.view.mip);
    drop(busy);
    let scene = scene.map_err(Failure::at(&args.world))?;
    Ok(Subject { scene, info: world.info, notes: world.notes, meshes: Vec::new() })
}

/// The liquid surfaces of a world, chunk by chunk.
fn world_liquids(snapshot: &Snapshot) -> Result<Vec<BlockMesh>, NotHeld> {
    let mut all = Vec::new();
    for tile in tiles_of(snapshot, Meshing::default()) {
        let mut meshes = mesh_tile(snapshot, &tile, 0)?;
        meshes.retain(|mesh| !mesh.liquid.is_empty());
        meshes.iter_mut().for_each(|mesh| mesh.solid.clear());
        all.append(&mut meshes);
    }
    Ok(all)
}

/// A mesh of voxels as a level of detail shows it.
fn shown(mesh: BlockMesh) -> ShownMesh {
    let block = MipBlock::holding(mesh.block.min, 0);
    ShownMesh { block, mip: 0, mesh: Arc::new(mesh) }
}

/// A viewpoint from which all of a world is near, for scenes of one size of cells.
fn from_anywhere(snapshot: &Snapshot) -> Viewpoint {
    let Region { min, max } = snapshot.bounds();
    let [min, max] = [min, max].map(|p| DVec3::from(p.to_array().map(f64::from)));
    let distance = 4.0 * min.distance(max).max(64.0);
    Viewpoint { eye: (min + max) * 0.5, distance, detail: distance }
}

/// Size, rays and light.
fn options(view: &View) -> PictureOptions {
    PictureOptions {
        width: view.size[0],
        height: view.size[1],
        rays_an_edge: view.samples.into(),
        sun: view.sun,
        lamp: view.lamp.map(|lamp| lamp == Switch::On),
        threads: None,
    }
}

/// What the collider holds about what the picture shows in its middle.
fn debug_lines(scene: &Scene, camera: &Camera, args: &Render) -> Option<DebugLines> {
    let collider = scene.collider().filter(|_| !args.draw.is_empty())?;
    let cells = args.draw_radius / f64::from(1_u32 << scene.mip());
    let within = Aabb::around(render::target(scene, camera), [cells; 3]);
    let mut lines = DebugLines::default();
    for what in &args.draw {
        match what {
            Draw::Masks => collider.broadphase().lines(&within, &mut lines),
            Draw::Blocks => collider.built_lines(&within, &mut lines),
            Draw::Trees => collider.tree_lines(&within, &mut lines),
        }
    }
    Some(lines)
}

/// Rays by kind, and how many a core casts and shades a second.
fn add_rays(stats: &RenderStats, report: &mut Report) {
    let rays = stats.rays;
    let rate = (stats.rays_per_second() / 1e4).round() / 1e2;
    let [primary, shadow, water] = [rays.primary, rays.shadow, rays.water].map(grouped);
    let text = format!("{primary} primary, {shadow} shadow, {water} water; {rate} M rays/s a core");
    let value = json!({
        "primary": rays.primary,
        "shadow": rays.shadow,
        "water": rays.water,
        "cpu_ms": stats.cpu.as_secs_f64() * 1e3,
        "mrays_per_second_a_core": rate,
    });
    report.line("rays", "rays", text, value);
}

/// The camera that was asked for, or one that shows the whole world.
fn camera(info: &WorldInfo, scene: &Scene, view: &View, aspect: f64) -> Camera {
    let cells = |point: [f64; 3]| cells_from_metres(info, scene, point);
    let fov = view.fov.unwrap_or(FOV_DEGREES);
    match (view.camera.map(cells), view.look.map(cells)) {
        (Some(eye), Some(target)) => Camera::looking_at(eye, target, fov),
        (Some(eye), None) if view.yaw.is_some() || view.pitch.is_some() => {
            Camera::bearing(eye, view.yaw.unwrap_or(0.0), view.pitch.unwrap_or(0.0), fov)
        }
        (Some(eye), None) if scene.collider().is_none() => Camera::bearing(eye, 0.0, DOWN, fov),
        (Some(eye), None) => Camera::looking_at(eye, render::middle(scene), fov),
        (None, Some(target)) => {
            let overview = render::overview(scene, aspect, fov);
            let distance = overview.eye.distance(render::middle(scene));
            render::around(scene, target, distance * 0.4, [aspect, fov])
        }
        (None, None) => render::overview(scene, aspect, fov),
    }
}

/// A point of the world in cells of the scene's mip.
pub fn cells_from_metres(info: &WorldInfo, scene: &Scene, metres: [f64; 3]) -> DVec3 {
    let cell = info.voxel_size_m * f64::from(1_u32 << scene.mip());
    (DVec3::from(metres) - DVec3::from(info.origin_m)) / cell
}

/// Where a camera stands and looks, in metres.
pub struct Typed {
    /// As it can be typed again.
    pub text: String,
    /// For machines.
    pub value: Value,
}

/// A camera in the words of the command line.
pub fn typed(info: &WorldInfo, scene: &Scene, camera: &Camera) -> Typed {
    let cell = info.voxel_size_m * f64::from(1_u32 << scene.mip());
    let metres = |cells: DVec3| {
        let point = cells * cell + DVec3::from(info.origin_m);
        point.to_array().map(|v| (v * 1e3).round() / 1e3)
    };
    let [eye, look] = [camera.eye, camera.eye + camera.forward() * 100.0].map(metres);
    let words = |[x, y, z]: [f64; 3]| format!("{x},{y},{z}");
    let fov = camera.fov_degrees;
    Typed {
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
    render::render(scene, camera, options, &|| bar.step())
}

/// Writes a picture, whole or not at all; returns its length in bytes.
///
/// # Errors
/// If the file cannot be written.
pub fn write_png(mut output: Output, path: &Path, image: &Image) -> Outcome<u64> {
    image.write_png(output.writer()).map_err(Failure::at(path))?;
    output.finish()
}
