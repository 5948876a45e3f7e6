//! Renders voxel terrain by casting rays on the CPU: no GPU, no driver.
//!
//! How a picture is made:
//!
//! 1. A [`Scene`] holds a world at one mip, as the library's collider, or the meshes that a
//!    level-of-detail view shows. [`Solid`]s and textures can be added.
//! 2. A [`Camera`] is placed by hand, or by [`framing`], which rates candidates by tiny
//!    pictures.
//! 3. [`render`] sets sky, lamp and exposure, and hands tiles of pixels to threads. Where a
//!    ray hits, the surface point (position, smooth normal, colour) is lit by the sun, unless a
//!    shadow ray is blocked, and by the visible share of the sky; water casts reflected and
//!    refracted rays. Haze, tone mapping and sRGB conversion give the pixel.
//! 4. [`overlay`] draws lines over the [`Image`], which [`Image::write_png`] writes.
//!
//! Lengths are in cells of the scene's mip, colours are sRGB, Y is up, and north is -z. Every
//! pixel is a pure function of scene, camera and options, so pictures do not depend on the
//! number of threads.
//!
//! ```
//! use terravox::voxel::{DenseBox, GridOptions, Region, VoxelGrid};
//! use terravox_render::{FOV_DEGREES, Lens, PictureOptions, Scene, framing, render};
//!
//! let mut grid = VoxelGrid::new(GridOptions::default());
//! let mut cells = DenseBox::new(Region::new([0, 0, 0], [32, 8, 32]));
//! cells.fill(2); // grass
//! grid.write(&cells)?;
//!
//! let scene = Scene::new(&grid, None)?;
//! let options = PictureOptions { width: 64, height: 36, ..PictureOptions::default() };
//! let lens = Lens { aspect: options.aspect(), fov_degrees: FOV_DEGREES };
//! let picture = render(&scene, &framing::overview(&scene, lens), &options, &|| ());
//!
//! let mut png = Vec::new();
//! picture.image.write_png(&mut png)?;
//! assert!(png.starts_with(b"\x89PNG"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod block_vertices;
mod box_tree;
mod camera;
mod colour;
pub mod framing;
mod grain;
mod image;
mod lattice;
#[cfg(test)]
mod naive;
mod occlusion;
pub mod overlay;
mod pattern;
mod picture;
mod plants;
mod ray;
mod scene;
mod shade;
mod shown_meshes;
mod sky;
mod solid_triangles;
mod solids;
mod stats;
mod surface;
mod surface_chunks;
#[cfg(test)]
mod tests;
mod texture;
mod water;

pub use camera::{
    Camera, FOV_DEGREES, Lens, SUN_ELEVATION_DEGREES, SunPosition, direction_from_bearing,
};
pub use image::Image;
pub use picture::{Picture, PictureOptions, record_rays, render};
pub use plants::{DemoThing, PlacedThing, demo_rules, demo_solids, demo_things};
pub use ray::{RAY_REACH_CELLS, SceneRay};
pub use scene::{Scene, SceneHit};
pub use shade::RecordedRays;
pub use shown_meshes::{Viewpoint, mip_colour};
pub use solid_triangles::SolidTriangles;
pub use solids::{Solid, SolidShape};
pub use stats::{RayCounts, RenderStats};

/// The code in the README compiles and runs.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
