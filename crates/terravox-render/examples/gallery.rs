//! Renders pictures of generated worlds: those of `docs/generate.md`.
//!
//! `cargo run --release -p terravox-render --example gallery -- FOLDER [NAME…]`, or with
//! `--view world:7:alps X,UP,Z YAW PITCH DISTANCE FILE`: UP voxels above the ground.

use std::collections::BTreeMap;
use std::error::Error;
use std::fs::File;
use std::path::Path;

use glam::DVec3;
use terravox::generate::Seeded;
use terravox::lod::LodOptions;
use terravox::mesh::shade::UNSET;
use terravox::terrain::{Budget, Terrain, TerrainOptions, Viewer};
use terravox_render::{Camera, FOV_DEGREES, PictureOptions, Scene, Viewpoint, render};

/// A picture: where the camera is, and where it looks.
struct View {
    name: &'static str,
    world: &'static str,
    /// Position of the eye; y is above the ground, voxels.
    eye: [f64; 3],
    yaw: f64,
    pitch: f64,
    /// How far the world is shown, voxels.
    distance: f64,
}

const VIEWS: &[View] = &[
    View {
        name: "world-alps",
        world: "world:7:alps",
        eye: [0.0, 60.0, 0.0],
        yaw: 40.0,
        pitch: -6.0,
        distance: 6000.0,
    },
    View {
        name: "world-fjords",
        world: "world:7:fjords",
        eye: [1900.0, 110.0, -900.0],
        yaw: 30.0,
        pitch: -9.0,
        distance: 7000.0,
    },
    View {
        name: "world-canyons",
        world: "world:7:canyons",
        eye: [600.0, 60.0, -300.0],
        yaw: 250.0,
        pitch: -12.0,
        distance: 5000.0,
    },
    View {
        name: "world-volcanoes",
        world: "world:7:volcanoes",
        eye: [-1200.0, 120.0, 200.0],
        yaw: 60.0,
        pitch: -8.0,
        distance: 6000.0,
    },
    View {
        name: "world-dunes",
        world: "world:7:dunes",
        eye: [300.0, 30.0, 300.0],
        yaw: 60.0,
        pitch: -6.0,
        distance: 4000.0,
    },
    View {
        name: "world-badlands",
        world: "world:7:badlands",
        eye: [300.0, 40.0, 300.0],
        yaw: 60.0,
        pitch: -10.0,
        distance: 4000.0,
    },
    View {
        name: "world-wetlands",
        world: "world:7:wetlands",
        eye: [300.0, 30.0, 300.0],
        yaw: 60.0,
        pitch: -10.0,
        distance: 4000.0,
    },
    View {
        name: "world-skylands",
        world: "world:7:skylands",
        eye: [300.0, 90.0, 300.0],
        yaw: 60.0,
        pitch: 6.0,
        distance: 4000.0,
    },
    View {
        name: "world-arctic",
        world: "world:7:arctic",
        eye: [300.0, 60.0, 300.0],
        yaw: 60.0,
        pitch: -6.0,
        distance: 4000.0,
    },
    View {
        name: "world-continents",
        world: "world:7:continents",
        eye: [-1800.0, 150.0, 900.0],
        yaw: 20.0,
        pitch: -9.0,
        distance: 8000.0,
    },
];

const SIZE: [usize; 2] = [960, 540];

fn main() -> Result<(), Box<dyn Error>> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let number = |text: &str| text.trim().parse::<f64>();
    if let [option, world, eye, yaw, pitch, distance, file] = args.as_slice()
        && option == "--view"
    {
        let eye: Vec<f64> = eye.split(',').map(number).collect::<Result<_, _>>()?;
        let eye = <[f64; 3]>::try_from(eye).map_err(|_| "give X,UP,Z")?;
        let looks = [number(yaw)?, number(pitch)?];
        return picture(world, eye, looks, number(distance)?, Path::new(file));
    }
    let Some((folder, names)) = args.split_first() else {
        return Err("give a folder".into());
    };
    for view in VIEWS.iter().filter(|view| names.is_empty() || names.iter().any(|n| n == view.name))
    {
        let file = Path::new(folder).join(format!("{}.png", view.name));
        picture(view.world, view.eye, [view.yaw, view.pitch], view.distance, &file)?;
    }
    Ok(())
}

fn picture(
    world: &str,
    [x, up, z]: [f64; 3],
    [yaw, pitch]: [f64; 2],
    distance: f64,
    file: &Path,
) -> Result<(), Box<dyn Error>> {
    let world: Seeded = world.parse()?;
    let ground = match &world {
        Seeded::World(world) => world.ground(x, z).0.max(0.0),
        Seeded::Hills(hills) => hills.height(x, z),
    };
    let eye = DVec3::new(x, ground + up, z);
    let max_mip = (distance / 64.0).log2().clamp(0.0, 8.0) as u8;
    let lod = LodOptions { detail: 3.0, max_mip, ..LodOptions::default() };
    let mut terrain = Terrain::new(TerrainOptions { lod, ..TerrainOptions::default() });
    let mut shown = BTreeMap::new();
    let viewer = Viewer { position_m: eye.to_array(), distance_m: distance };
    loop {
        terrain.update(&[viewer], Budget::Blocks(256), |request| {
            let mip = request.mip();
            world.fill(request.cells(), mip);
        });
        let swaps: Vec<_> = terrain.mesh_swaps().collect();
        if swaps.is_empty() && !terrain.lod().is_planned() {
            break;
        }
        for swap in swaps {
            swap.removed.iter().for_each(|block| drop(shown.remove(block)));
            shown.extend(swap.added.into_iter().map(|mesh| (mesh.block, mesh)));
        }
    }
    let meshes: Vec<_> = shown.into_values().collect();
    let viewpoint = Viewpoint { eye, distance, detail: 3.0 };
    let mut scene = Scene::of_shown_meshes(&terrain.grid().snapshot(), &meshes, viewpoint);
    scene.set_textures(UNSET);
    let options = PictureOptions { width: SIZE[0], height: SIZE[1], ..PictureOptions::default() };
    let camera = Camera::from_bearing(eye, yaw, pitch, FOV_DEGREES);
    let picture = render(&scene, &camera, &options, &|| ());
    picture.image.write_png(File::create(file)?)?;
    println!("{} {eye:?}", file.display());
    Ok(())
}
