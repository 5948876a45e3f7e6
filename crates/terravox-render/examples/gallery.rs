//! Renders pictures of generated worlds: those of `docs/generate.md` and `docs/scatter.md`.
//!
//! `cargo run --release -p terravox-render --example gallery -- FOLDER [NAME…]`, or with
//! `--view world:7:alps X,UP,Z YAW PITCH DISTANCE FILE`: UP voxels above the ground.

use std::error::Error;
use std::fs::File;
use std::path::Path;

use glam::DVec3;
use terravox::generate::Seeded;
use terravox::lod::LodOptions;
use terravox::mesh::shade::UNSET;
use terravox::terrain::{Budget, ShownMesh, Terrain, TerrainOptions, Viewer};
use terravox::voxel::MipBlock;
use terravox_render::{
    Camera, FOV_DEGREES, Image, PictureOptions, Scene, Viewpoint, demo_solids, render,
};

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
    /// Whether there are plants and rocks.
    plants: bool,
}

const VIEWS: &[View] = &[
    View {
        name: "world-volcano",
        world: "world:7:volcanoes",
        eye: [300.0, 160.0, -3000.0],
        yaw: 100.0,
        pitch: -6.0,
        distance: 5000.0,
        plants: false,
    },
    View {
        name: "world-fjords",
        world: "world:7:fjords",
        eye: [2400.0, 260.0, -700.0],
        yaw: 20.0,
        pitch: -12.0,
        distance: 7000.0,
        plants: false,
    },
    View {
        name: "world-canyons",
        world: "world:7:canyons",
        eye: [600.0, 60.0, -300.0],
        yaw: 250.0,
        pitch: -12.0,
        distance: 5000.0,
        plants: false,
    },
    View {
        name: "world-canyon-floor",
        world: "world:7:canyons",
        eye: [-1200.0, 14.0, -3300.0],
        yaw: 200.0,
        pitch: 6.0,
        distance: 3000.0,
        plants: false,
    },
    View {
        name: "world-alps",
        world: "world:7:alps",
        eye: [1200.0, 60.0, 400.0],
        yaw: 40.0,
        pitch: -10.0,
        distance: 4000.0,
        plants: false,
    },
    View {
        name: "world-forest",
        world: "world:7:continents",
        eye: [1000.0, 74.0, 200.0],
        yaw: 0.0,
        pitch: -14.0,
        distance: 4000.0,
        plants: true,
    },
];

const SIZE: [usize; 2] = [720, 405];

/// Colours of a picture's palette: a third of the bytes of three per pixel.
const COLOURS: usize = 256;

fn main() -> Result<(), Box<dyn Error>> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let number = |text: &str| text.trim().parse::<f64>();
    if let [option, world, eye, yaw, pitch, distance, file] = args.as_slice()
        && option == "--view"
    {
        let eye: Vec<f64> = eye.split(',').map(number).collect::<Result<_, _>>()?;
        let eye = <[f64; 3]>::try_from(eye).map_err(|_| "give X,UP,Z")?;
        let looks = [number(yaw)?, number(pitch)?];
        return picture(world, eye, looks, number(distance)?, false, Path::new(file));
    }
    let Some((folder, names)) = args.split_first() else {
        return Err("give a folder".into());
    };
    for view in VIEWS.iter().filter(|view| names.is_empty() || names.iter().any(|n| n == view.name))
    {
        let file = Path::new(folder).join(format!("{}.png", view.name));
        let looks = [view.yaw, view.pitch];
        picture(view.world, view.eye, looks, view.distance, view.plants, &file)?;
    }
    Ok(())
}

fn picture(
    world: &str,
    [x, up, z]: [f64; 3],
    [yaw, pitch]: [f64; 2],
    distance: f64,
    plants: bool,
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
    let viewer = Viewer { position_m: eye.to_array(), distance_m: distance };
    terrain.update(&[viewer], Budget::Unlimited, |request| {
        let mip = request.mip();
        world.fill(request.cells(), mip);
    });
    let lod = terrain.lod();
    let shown = |block: MipBlock| {
        let mesh = lod.mesh(block)?.clone();
        Some(ShownMesh { block, mip: block.mip, mesh })
    };
    let meshes: Vec<_> = lod.meshed_blocks().into_iter().filter_map(shown).collect();
    let viewpoint = Viewpoint { eye, distance, detail: 3.0 };
    let mut scene = Scene::of_shown_meshes(&terrain.grid().snapshot(), &meshes, viewpoint);
    scene.set_textures(UNSET);
    if plants {
        let blocks: Vec<MipBlock> = meshes.iter().map(|shown| shown.block).collect();
        scene.set_solids(&demo_solids(scene.snapshot(), 1.0, &blocks, eye)?);
    }
    let options = PictureOptions { width: SIZE[0], height: SIZE[1], ..PictureOptions::default() };
    let camera = Camera::from_bearing(eye, yaw, pitch, FOV_DEGREES);
    let picture = render(&scene, &camera, &options, &|| ());
    write_png(&picture.image, File::create(file)?)?;
    println!("{} {eye:?}", file.display());
    Ok(())
}

/// Writes a picture with a palette. Neighbouring pixels share the error (Floyd and Steinberg), so
/// that skies stay smooth.
fn write_png(image: &Image, out: File) -> Result<(), Box<dyn Error>> {
    let palette = palette(&image.pixels);
    let mut encoder = png::Encoder::new(out, image.width as u32, image.height as u32);
    encoder.set_color(png::ColorType::Indexed);
    encoder.set_depth(png::BitDepth::Eight);
    encoder.set_palette(palette.as_flattened());
    encoder.set_compression(png::Compression::High);
    let mut rows = vec![[0_i32; 3]; image.width * (image.height + 1) + 1];
    let mut indices = Vec::with_capacity(image.pixels.len());
    for (i, pixel) in image.pixels.iter().enumerate() {
        let wanted = [0, 1, 2].map(|c| i32::from(pixel[c]) + rows[i][c] / 16);
        let off = |colour: &[u8; 3]| -> i32 {
            (0..3).map(|c| (wanted[c] - i32::from(colour[c])).pow(2)).sum()
        };
        let nearest = (0..palette.len()).min_by_key(|&i| off(&palette[i])).unwrap_or(0);
        for c in 0..3 {
            let error = (wanted[c] - i32::from(palette[nearest][c])) / 2;
            rows[i + 1][c] += 7 * error;
            rows[i + image.width - 1][c] += 3 * error;
            rows[i + image.width][c] += 5 * error;
            rows[i + image.width + 1][c] += error;
        }
        indices.push(nearest as u8);
    }
    let mut writer = encoder.write_header()?;
    writer.write_image_data(&indices)?;
    writer.finish()?;
    Ok(())
}

/// Colours of a picture: boxes of colours, the widest split at its median (Heckbert, 1982).
fn palette(pixels: &[[u8; 3]]) -> Vec<[u8; 3]> {
    let spread = |pixels: &[[u8; 3]]| {
        let range = |c: usize| {
            let values = pixels.iter().map(|p| p[c]);
            values.clone().max().unwrap_or(0) - values.min().unwrap_or(0)
        };
        (0..3).map(|c| (range(c), c)).max().unwrap_or((0, 0))
    };
    let mut boxes = vec![pixels.to_vec()];
    while boxes.len() < COLOURS {
        let weight =
            |part: &Vec<[u8; 3]>| f64::from(spread(part).0) * (part.len() as f64).powf(0.3);
        let widest =
            (0..boxes.len()).max_by(|&a, &b| weight(&boxes[a]).total_cmp(&weight(&boxes[b])));
        let Some(widest) = widest.filter(|&i| spread(&boxes[i]).0 > 0) else { break };
        let mut part = boxes.swap_remove(widest);
        let (_, c) = spread(&part);
        part.sort_unstable_by_key(|p| p[c]);
        let middle = part.len() / 2;
        boxes.push(part.split_off(middle));
        boxes.push(part);
    }
    let mean = |part: &Vec<[u8; 3]>| {
        [0, 1, 2].map(|c| {
            let sum: usize = part.iter().map(|p| usize::from(p[c])).sum();
            (sum / part.len().max(1)) as u8
        })
    };
    boxes.iter().filter(|part| !part.is_empty()).map(mean).collect()
}
