//! Where the samples of a GeoTIFF lie on the Earth, and the keys that say so.
//!
//! Source: "OGC GeoTIFF standard", version 1.1 (OGC 19-008r4).

use super::super::error::HeightmapError;
use super::directory::{Directory, TiffSource};
use crate::import_budget::ImportBudget;
use std::io::{Read, Seek};

/// Metres of a degree along a meridian, on a sphere of the Earth's size.
const DEGREE_M: f64 = 111_195.0;

/// Where the samples of a GeoTIFF lie, and in which coordinate reference system. The keys are kept
/// as they are in the file, so that they can be written again.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct GeoReference {
    /// Outer corner of the first sample, in units of the reference system: x (east), y (north).
    pub corner: [f64; 2],
    /// From a sample to the next of its row along x, and from a row to the next along y, which is
    /// below 0 where the first row is the northernmost.
    pub step: [f64; 2],
    /// EPSG code of the reference system; `None` if it has none or the file does not say.
    pub epsg: Option<u16>,
    /// Whether coordinates are degrees of longitude and latitude.
    pub is_geographic: bool,
    /// Metres of a unit of the coordinates, if they are not degrees.
    pub unit_m: f64,
    /// GeoKeyDirectoryTag, GeoDoubleParamsTag and GeoAsciiParamsTag.
    pub keys: Vec<u16>,
    /// See `keys`.
    pub doubles: Vec<f64>,
    /// See `keys`.
    pub text: String,
}

impl GeoReference {
    /// Metres from a sample to the next, along a row and from row to row; degrees are converted at
    /// the middle of `rows` rows. `None` if the file has no place on the Earth.
    pub fn sample_m(&self, rows: usize) -> Option<[f64; 2]> {
        let [x, y] = self.step.map(f64::abs);
        if !(x > 0.0 && y > 0.0) {
            return None;
        }
        if !self.is_geographic {
            return Some([x * self.unit_m, y * self.unit_m]);
        }
        let latitude = self.corner[1] + 0.5 * rows as f64 * self.step[1];
        let narrow = latitude.clamp(-85.0, 85.0).to_radians().cos();
        Some([x * DEGREE_M * narrow, y * DEGREE_M])
    }

    pub(super) fn read<R: Read + Seek>(
        directory: &Directory,
        source: &mut TiffSource<R>,
        budget: &mut ImportBudget,
    ) -> Result<GeoReference, HeightmapError> {
        let scale = directory.doubles(source, 33550, budget)?;
        let tie = directory.doubles(source, 33922, budget)?;
        let matrix = directory.doubles(source, 34264, budget)?;
        let keys = directory.integers(source, 34735, budget)?;
        let mut reference = GeoReference {
            unit_m: 1.0,
            keys: keys.into_iter().map(|key| key as u16).collect(),
            doubles: directory.doubles(source, 34736, budget)?,
            text: directory.text(source, 34737, budget)?,
            ..GeoReference::default()
        };
        if let ([x, y, ..], [column, row, _, east, north, ..]) = (&scale[..], &tie[..]) {
            reference.step = [*x, -y];
            reference.corner = [east - column * x, north + row * y];
        } else if let [x, row_x, _, east, column_y, y, _, north, ..] = matrix[..] {
            if (row_x, column_y) != (0.0, 0.0) {
                return Err(HeightmapError::Tiff(
                    "it is rotated; save it with its rows from west to east first".to_owned(),
                ));
            }
            reference.step = [x, y];
            reference.corner = [east, north];
        }
        // 2: the coordinates are those of the centres of samples.
        if reference.key(1025) == Some(2) {
            let [x, y] = reference.step;
            reference.corner = [reference.corner[0] - 0.5 * x, reference.corner[1] - 0.5 * y];
        }
        if reference.corner.iter().chain(&reference.step).any(|v| !v.is_finite()) {
            (reference.corner, reference.step) = ([0.0; 2], [0.0; 2]);
        }
        Ok(reference.with_meaning())
    }

    /// Fills in what the keys say.
    pub(in super::super) fn with_meaning(mut self) -> GeoReference {
        let reference = &mut self;
        reference.is_geographic = reference.key(1024) == Some(2);
        let code = reference.key(if reference.is_geographic { 2048 } else { 3072 });
        // Codes from 32767 on are the user's own.
        reference.epsg = code.filter(|&code| (1..32767).contains(&code));
        reference.unit_m = reference.linear_unit_m(3076).unwrap_or(1.0);
        self
    }

    /// Metres of a unit of height, if the keys say it.
    pub(in super::super) fn height_unit_m(&self) -> Option<f64> {
        self.linear_unit_m(4099)
    }

    /// Metres of the unit that a key names: metres, feet or feet of the US survey.
    fn linear_unit_m(&self, key: u16) -> Option<f64> {
        match self.key(key)? {
            9001 => Some(1.0),
            9002 => Some(0.3048),
            9003 => Some(1200.0 / 3937.0),
            _ => None,
        }
    }

    /// The value of a key that is stored in the directory of keys.
    fn key(&self, id: u16) -> Option<u16> {
        let entries = self.keys.get(4..)?.chunks_exact(4);
        let mut entries = entries.filter(|entry| entry[0] == id && entry[1] == 0);
        entries.next().map(|entry| entry[3])
    }
}
