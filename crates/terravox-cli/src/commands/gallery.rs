//! `gallery`: twelve pictures of generated worlds, and a sheet of all.

use super::render::{add_plants, take, write_png};
use crate::args::{GalleryArgs, LevelArgs};
use crate::console::Console;
use crate::failure::{CliResult, Failure};
use crate::lod_view::{self, seeded};
use crate::output::Output;
use crate::report::Report;
use serde_json::json;
use std::fs;
use std::path::Path;
use std::time::Instant;
use terravox::generate::Seeded;
use terravox::mesh::shade::UNSET;
use terravox_render::{Camera, FOV_DEGREES, Image, PictureOptions, Scene, SunPosition};

/// Pictures in a row of the sheet.
const COLUMNS: usize = 3;

/// Between the pictures of the sheet, pixels.
const GAP_PIXELS: usize = 6;

/// Colour between them.
const GAP_COLOUR: [u8; 3] = [24, 26, 30];

/// A picture: where the camera is, and where it looks.
struct View {
    name: &'static str,
    world: &'static str,
    /// Position of the eye, metres; y is above the ground, or above the sea where that is higher.
    eye_m: [f64; 3],
    /// Degrees clockwise from north, and above the horizon.
    bearing: [f64; 2],
    /// How far the world is shown, metres.
    distance_m: f64,
    /// Degrees clockwise from north, and above the horizon.
    sun: [f64; 2],
    /// Whether there are plants and rocks.
    has_plants: bool,
}

const VIEWS: [View; 12] = [
    View {
        name: "volcano",
        world: "world:7:volcanoes",
        eye_m: [300.0, 160.0, -3000.0],
        bearing: [100.0, -6.0],
        distance_m: 5000.0,
        sun: [40.0, 32.0],
        has_plants: false,
    },
    View {
        name: "fjords",
        world: "world:7:fjords",
        eye_m: [2400.0, 260.0, -700.0],
        bearing: [200.0, -10.0],
        distance_m: 7000.0,
        sun: [110.0, 30.0],
        has_plants: false,
    },
    View {
        name: "canyons",
        world: "world:7:canyons",
        eye_m: [600.0, 60.0, -300.0],
        bearing: [250.0, -12.0],
        distance_m: 5000.0,
        sun: [180.0, 34.0],
        has_plants: false,
    },
    View {
        name: "canyon-floor",
        world: "world:7:canyons",
        eye_m: [-1200.0, 14.0, -3300.0],
        bearing: [200.0, 6.0],
        distance_m: 3000.0,
        sun: [140.0, 40.0],
        has_plants: false,
    },
    View {
        name: "alps",
        world: "world:7:alps",
        eye_m: [-1400.0, 140.0, -600.0],
        bearing: [70.0, -6.0],
        distance_m: 6000.0,
        sun: [10.0, 30.0],
        has_plants: false,
    },
    View {
        name: "forest",
        world: "world:7:continents",
        eye_m: [1000.0, 74.0, 200.0],
        bearing: [0.0, -14.0],
        distance_m: 4000.0,
        sun: [290.0, 36.0],
        has_plants: true,
    },
    View {
        name: "dunes",
        world: "world:7:dunes",
        eye_m: [0.0, 30.0, 0.0],
        bearing: [60.0, -5.0],
        distance_m: 4000.0,
        sun: [350.0, 20.0],
        has_plants: false,
    },
    View {
        name: "badlands",
        world: "world:7:badlands",
        eye_m: [0.0, 70.0, 0.0],
        bearing: [40.0, -10.0],
        distance_m: 4000.0,
        sun: [320.0, 28.0],
        has_plants: false,
    },
    View {
        name: "wetlands",
        world: "world:7:wetlands",
        eye_m: [0.0, 26.0, 0.0],
        bearing: [120.0, -8.0],
        distance_m: 3000.0,
        sun: [60.0, 24.0],
        has_plants: true,
    },
    View {
        name: "arctic",
        world: "world:7:arctic",
        eye_m: [0.0, 200.0, 0.0],
        bearing: [150.0, -8.0],
        distance_m: 6000.0,
        sun: [60.0, 24.0],
        has_plants: false,
    },
    View {
        name: "skylands",
        world: "world:7:skylands",
        eye_m: [0.0, 240.0, 0.0],
        bearing: [200.0, -10.0],
        distance_m: 5000.0,
        sun: [110.0, 34.0],
        has_plants: false,
    },
    View {
        name: "hills",
        world: "hills:7",
        eye_m: [0.0, 130.0, 0.0],
        bearing: [40.0, -10.0],
        distance_m: 6000.0,
        sun: [310.0, 30.0],
        has_plants: false,
    },
];

pub fn run(args: &GalleryArgs, console: &Console) -> CliResult<Report> {
    let chosen: Vec<&View> = match &args.only {
        None => VIEWS.iter().collect(),
        Some(name) => VIEWS.iter().filter(|view| view.name == name).collect(),
    };
    if chosen.is_empty() {
        let names = VIEWS.map(|view| view.name).join(", ");
        return Err(Failure::new(format!("--only takes one of {names}")));
    }
    fs::create_dir_all(&args.folder).map_err(Failure::at(&args.folder))?;
    let mut report = Report::new("gallery");
    report.text_line("folder", "folder", args.folder.display().to_string());
    let start = Instant::now();
    let mut sheet = args.only.is_none().then(|| empty_sheet(args.size, chosen.len()));
    for (number, view) in chosen.iter().enumerate() {
        let picture = Instant::now();
        let image = image(view, args, console)?;
        write(&image, &args.folder.join(format!("{}.png", view.name)))?;
        // Only the sheet is kept: all pictures may have gigabytes.
        if let Some(sheet) = &mut sheet {
            add_to_sheet(sheet, number, &image);
        }
        report.time(&format!("{}_ms", view.name), view.name, picture.elapsed());
    }
    report.hidden("pictures", chosen.len() as u64);
    if let Some(sheet) = sheet {
        write(&sheet, &args.folder.join("sheet.png"))?;
        let size = format!("sheet.png, {} × {} pixels", sheet.width, sheet.height);
        report.line("sheet", "sheet", size, json!([sheet.width, sheet.height]));
    }
    report.time("gallery_ms", "all", start.elapsed());
    Ok(report)
}

fn write(image: &Image, file: &Path) -> CliResult<()> {
    let output = Output::create(file)?;
    write_png(output, file, image).map(drop)
}

/// Takes one picture.
fn image(view: &View, args: &GalleryArgs, console: &Console) -> CliResult<Image> {
    let world = Path::new(view.world);
    let [x, up, z] = view.eye_m;
    let ground = match seeded(world)? {
        Some(Seeded::World(world)) => world.ground(x, z).0.max(0.0),
        Some(Seeded::Hills(hills)) => hills.height(x, z),
        None => 0.0,
    };
    let eye_m = [x, ground + up, z];
    let levels = LevelArgs { distance: view.distance_m, detail: 3.0, morph: None, simplify: None };
    let shown = lod_view::show(world, eye_m, levels, Default::default(), console)?;
    let mut scene = Scene::of_shown_meshes(&shown.snapshot, &shown.meshes, shown.viewpoint);
    scene.set_textures(UNSET);
    let [yaw, pitch] = view.bearing;
    let camera = Camera::from_bearing(shown.viewpoint.eye, yaw, pitch, FOV_DEGREES);
    if view.has_plants {
        add_plants(&mut scene, &shown.meshes, &camera, (world, shown.info.voxel_size_m))?;
    }
    let [azimuth_degrees, elevation_degrees] = view.sun;
    let options = PictureOptions {
        width: args.size[0],
        height: args.size[1],
        samples_per_edge: args.samples.into(),
        sun: Some(SunPosition { azimuth_degrees, elevation_degrees }),
        ..PictureOptions::default()
    };
    Ok(take(&scene, &camera, &options, console).image)
}

/// First pixel of a row or column of the sheet, after the gap.
fn along(number: usize, edge: usize) -> usize {
    number * (edge + GAP_PIXELS) + GAP_PIXELS
}

/// A sheet for pictures of one size side by side, each a third as wide.
fn empty_sheet(size: [usize; 2], count: usize) -> Image {
    let [width, height] = size.map(|edge| edge.div_ceil(COLUMNS));
    let rows = count.div_ceil(COLUMNS);
    let mut sheet = Image::new(along(COLUMNS, width), along(rows, height));
    sheet.pixels.fill(GAP_COLOUR);
    sheet
}

/// Puts a picture at its place in the sheet.
fn add_to_sheet(sheet: &mut Image, number: usize, image: &Image) {
    let [width, height] = [image.width, image.height].map(|edge| edge.div_ceil(COLUMNS));
    let (left, top) = (along(number % COLUMNS, width), along(number / COLUMNS, height));
    for (y, x) in (0..height).flat_map(|y| (0..width).map(move |x| (y, x))) {
        sheet.pixels[(top + y) * sheet.width + left + x] = mean(image, [x, y]);
    }
}

/// The mean colour of the pixels that become one of the sheet.
fn mean(image: &Image, [x, y]: [usize; 2]) -> [u8; 3] {
    let range = |v: usize, end: usize| (v * COLUMNS).min(end - 1)..((v + 1) * COLUMNS).min(end);
    let (mut sum, mut count) = ([0u32; 3], 0);
    for row in range(y, image.height) {
        for column in range(x, image.width) {
            let pixel = image.pixels[row * image.width + column];
            (0..3).for_each(|c| sum[c] += u32::from(pixel[c]));
            count += 1;
        }
    }
    sum.map(|v| (v / count) as u8)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sheet_has_every_picture_at_its_place() {
        let mut sheet = empty_sheet([7, 4], 5);
        for number in 0..5 {
            let mut image = Image::new(7, 4);
            image.pixels.fill([10 * number as u8, 3, 200]);
            add_to_sheet(&mut sheet, number, &image);
        }
        assert_eq!([sheet.width, sheet.height], [3 * 9 + 6, 2 * 8 + 6]);
        let at = |x: usize, y: usize| sheet.pixels[y * sheet.width + x];
        assert_eq!(at(6, 6), [0, 3, 200]);
        assert_eq!(at(6 + 9, 6), [10, 3, 200]);
        assert_eq!(at(6 + 9 + 2, 6 + 8 + 1), [40, 3, 200]);
        assert_eq!(at(6 + 18, 6 + 8), GAP_COLOUR);
    }

    #[test]
    fn the_worlds_of_all_views_exist_and_their_names_differ() {
        let mut names: Vec<_> = VIEWS.iter().map(|view| view.name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), VIEWS.len());
        for view in &VIEWS {
            assert!(matches!(seeded(Path::new(view.world)), Ok(Some(_))), "{}", view.world);
        }
    }
}
