//! The formats of heightmaps, and what all of them say.

use super::cloud::{CloudHeights, is_point_cloud};
use super::geotiff::{GeoHeights, GeoReference, is_tiff};
use super::grid::is_npy;
use super::grid_heights::GridHeights;
use super::heights::Heights;

/// The format of a heightmap file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HeightmapFormat {
    /// A PNG, for [`read_png`](super::read_png).
    Png,
    /// Samples of 16 bits, little-endian, without a header, for
    /// [`read_raw_u16`](super::read_raw_u16).
    Raw,
    /// A GeoTIFF or BigTIFF, for [`read_geotiff`](super::read_geotiff).
    Tiff,
    /// Numbers, an array of NumPy or JSON, for [`read_grid`](super::read_grid).
    Grid,
    /// Points, LAS or LAZ, for [`read_point_cloud`](super::read_point_cloud).
    Points,
}

impl HeightmapFormat {
    /// Detects the format by the lower-case extension of a file and its first bytes; `None` if it is
    /// not a heightmap.
    pub fn of(extension: &str, start: &[u8]) -> Option<HeightmapFormat> {
        match extension {
            "raw" | "r16" => Some(HeightmapFormat::Raw),
            "png" => Some(HeightmapFormat::Png),
            "tif" | "tiff" => Some(HeightmapFormat::Tiff),
            "npy" | "npz" | "json" => Some(HeightmapFormat::Grid),
            "las" | "laz" => Some(HeightmapFormat::Points),
            _ if is_point_cloud(start) => Some(HeightmapFormat::Points),
            _ if is_npy(start) => Some(HeightmapFormat::Grid),
            _ if is_tiff(start) => Some(HeightmapFormat::Tiff),
            _ => start.starts_with(b"\x89PNG\r\n\x1A\n").then_some(HeightmapFormat::Png),
        }
    }
}

/// Heights of any format, and what else a file says of them.
#[derive(Clone, Debug, PartialEq)]
pub struct HeightmapSamples {
    /// The heights: in metres if there is a reference, otherwise shares from 0 to 1.
    pub heights: Heights,
    /// Of a GeoTIFF, of a point cloud, or of a grid of numbers, which has no place.
    pub reference: Option<GeoReference>,
    /// Samples without data.
    pub without_data: u64,
    /// Points of a cloud, and how many of them lie beyond the bounds of its header.
    pub points: Option<[u64; 2]>,
}

impl From<Heights> for HeightmapSamples {
    fn from(heights: Heights) -> HeightmapSamples {
        HeightmapSamples { heights, reference: None, without_data: 0, points: None }
    }
}

impl From<GridHeights> for HeightmapSamples {
    fn from(GridHeights { heights, without_data }: GridHeights) -> HeightmapSamples {
        let reference = Some(GeoReference::default());
        HeightmapSamples { heights, reference, without_data, points: None }
    }
}

impl From<GeoHeights> for HeightmapSamples {
    fn from(GeoHeights { heights, without_data, reference }: GeoHeights) -> HeightmapSamples {
        HeightmapSamples { heights, reference: Some(reference), without_data, points: None }
    }
}

impl From<CloudHeights> for HeightmapSamples {
    fn from(cloud: CloudHeights) -> HeightmapSamples {
        let CloudHeights { heights, filled, points, outside, reference } = cloud;
        let points = Some([points, outside]);
        HeightmapSamples { heights, reference: Some(reference), without_data: filled, points }
    }
}

impl HeightmapSamples {
    /// Returns the metres between samples, if the file says so: the geometric mean of both directions.
    pub fn sample_m(&self) -> Option<f64> {
        let reference = self.reference.as_ref()?;
        let [x, z] = reference.sample_m(self.heights.size()[1])?;
        Some((x * z).sqrt())
    }

    /// Returns what a user should know of its place on the Earth and of missing heights, a line each.
    pub fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        if let (Some(reference), Some(sample_m)) = (&self.reference, self.sample_m()) {
            let system = match reference.epsg {
                Some(code) => format!("EPSG:{code}"),
                None => "a reference system without a code".to_owned(),
            };
            let [x, y] = reference.corner;
            notes.push(format!(
                "{system}; the lowest x and z of the world are at {x}, {y}; samples are \
                 {sample_m:.4} m apart"
            ));
        }
        let without_data = self.without_data;
        match self.points {
            Some([points, outside]) => {
                notes.push(format!("{points} points"));
                if outside > 0 {
                    notes.push(format!(
                        "{outside} of them lie beyond the bounds that the header gives, and are left out"
                    ));
                }
                if without_data > 0 {
                    notes.push(format!(
                        "{without_data} samples have no ground, and are filled from those around them"
                    ));
                }
            }
            None if without_data > 0 => notes
                .push(format!("{without_data} samples have no data, and are as low as the lowest")),
            None => {}
        }
        notes
    }
}
