//! Heights from point clouds, LAS and LAZ: the points on the ground, gathered in square cells.

mod gps_time;
mod header;
mod points;
mod raster;
mod refusal;
#[cfg(test)]
mod tests;

use super::error::HeightmapError;
use super::geotiff::GeoReference;
use super::heights::{Heights, check_size};
use crate::import_budget::ImportBudget;
use header::Header;
use points::{Point, PointBudget, each_point};
use raster::{CELL_BYTES, Raster};
use refusal::refuse;
use std::io::{Read, Seek};

/// Units of work of a cell.
const CELL_WORK: u64 = 64;
/// The finest step of heights, in units of a file.
const FINEST_STEP: f64 = 1e-6;
/// Points in a cell of the default size, if they are spread evenly. About half of the points of a
/// scan of trees and houses are on the ground.
const POINTS_PER_CELL: f64 = 4.0;

/// Whether a file is a point cloud, by its first bytes.
pub fn is_point_cloud(start: &[u8]) -> bool {
    start.starts_with(header::MAGIC)
}

/// Heights of a point cloud.
#[derive(Clone, Debug, PartialEq)]
pub struct CloudHeights {
    /// In metres, by the unit that the file gives; 1 is one metre. The first row is the northernmost.
    pub heights: Heights,
    /// Cells without ground, whose heights are filled in from those around them.
    pub filled: u64,
    /// Points beyond the bounds that the headers give; they are left out.
    pub outside: u64,
    /// Number of points in the files.
    pub points: u64,
    /// Where the cells lie.
    pub reference: GeoReference,
}

/// Reads the ground from LAS and LAZ files, versions 1.0 to 1.4 and points of formats 0 to 10, which are
/// parts of one cloud. Cells are `spacing_m` metres wide; without it, such that one has four points or
/// more on average. Clouds in degrees ignore it.
///
/// If points are classified as ground, as key points of it, as water or as roads, the height of a cell is
/// the mean of these; otherwise that of its lowest point. Noise, withheld points and points beyond the
/// bounds that the header gives are left out. The reference system is read from GeoTIFF keys or
/// well-known text. Memory is that of the cells and of some chunks of points, or of all points where a LAZ file has
/// one chunk only.
///
/// # Errors
/// If a file is damaged or of another kind, no point counts, `spacing_m` is not above 0, the cells are more than
/// [`Heights::MAX_SAMPLES`], or exceed the budget.
pub fn read_point_cloud<R: Read + Seek>(
    mut parts: Vec<R>,
    spacing_m: Option<f64>,
    budget: &mut ImportBudget,
) -> Result<CloudHeights, HeightmapError> {
    let read = |part: &mut R| Header::read(part, budget);
    if let Some(spacing_m) = spacing_m.filter(|&m| !(m > 0.0 && m.is_finite())) {
        let what = format!("spacing_m is {spacing_m}; give a number above 0");
        return Err(HeightmapError::Options(what));
    }
    let headers = parts.iter_mut().map(read).collect::<Result<Vec<_>, _>>()?;
    let lattice = Lattice::over(&headers, spacing_m)?;
    let samples =
        check_size(lattice.size[0], lattice.size[1]).map(|()| lattice.size[0] * lattice.size[1])?;
    budget.spend_memory("its cells", CELL_BYTES * samples)?;
    budget.spend_work("its cells", CELL_WORK * samples)?;
    let size = lattice.size.map(|cells| cells as usize);
    let mut raster = Raster::new(size);
    let mut points = PointBudget::new(budget);
    let (mut outside, mut has_ground) = (0, [false; 2]);
    for (part, header) in parts.iter_mut().zip(&headers) {
        let mut is_classified = false;
        each_point(part, header, &mut points, &mut |point| {
            outside += u64::from(!lattice.add(header, point, &mut raster));
            is_classified |= point.is_ground;
        })?;
        has_ground[usize::from(is_classified)] = true;
    }
    if has_ground == [true; 2] {
        return refuse(
            "some of its parts have points that are classified as ground, and others have none; \
             import them one by one",
        );
    }
    let Some((values, filled)) = raster.heights(|height| lattice.metres(height)) else {
        return refuse("none of its points counts: all are noise, withheld, or beyond its bounds");
    };
    Ok(CloudHeights {
        heights: Heights::new(size, values)?,
        filled,
        outside,
        points: lattice.points,
        reference: lattice.reference,
    })
}

/// The next of 1, 1.5, 2, 2.5, 3, 4, 5, 6, 8 and 10 times a power of ten.
fn round_up(length: f64) -> f64 {
    let power = 10_f64.powi(length.log10().floor() as i32);
    let steps = [1.0, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0];
    let fits = steps.into_iter().map(|step| step * power).find(|&step| step >= length);
    fits.unwrap_or(length)
}

/// The cells over all parts.
struct Lattice {
    /// Points of all parts.
    points: u64,
    size: [u64; 2],
    reference: GeoReference,
    /// Heights are whole numbers of this, in units of the files.
    height_step: f64,
    /// Metres of such a unit.
    height_unit_m: f64,
}

impl Lattice {
    fn over(headers: &[Header], spacing_m: Option<f64>) -> Result<Lattice, HeightmapError> {
        let Some(first) = headers.first() else { return Err(HeightmapError::Empty) };
        let is_same = |header: &Header| {
            header.reference.epsg == first.reference.epsg
                && header.reference.unit_m == first.reference.unit_m
                && header.height_unit_m == first.height_unit_m
        };
        if !headers.iter().all(is_same) {
            return refuse(
                "its parts have different reference systems or units; import them one by one",
            );
        }
        let low =
            |axis: usize| headers.iter().map(|part| part.min[axis]).fold(f64::INFINITY, f64::min);
        let high = |axis: usize| {
            headers.iter().map(|part| part.max[axis]).fold(f64::NEG_INFINITY, f64::max)
        };
        let points: u64 = headers.iter().fold(0, |sum, part| sum.saturating_add(part.points));
        let (min, max) = ([low(0), low(1)], [high(0), high(1)]);
        let extent = [max[0] - min[0], max[1] - min[1]];
        let mean = (extent[0] * extent[1] * POINTS_PER_CELL / points as f64).sqrt();
        let spacing = match spacing_m.filter(|_| !first.reference.is_geographic) {
            Some(spacing_m) => spacing_m / first.reference.unit_m,
            // Of points on a line, or a single one.
            None if mean == 0.0 => {
                extent[0].max(extent[1]).max(1.0) * POINTS_PER_CELL / points as f64
            }
            None if first.reference.is_geographic => mean,
            None => round_up(mean * first.reference.unit_m) / first.reference.unit_m,
        };
        // Corners are multiples of the spacing, so that parts that are imported one by one with the
        // same spacing fit together.
        let west = (min[0] / spacing).floor();
        let north = (max[1] / spacing).ceil();
        let cells =
            [(max[0] / spacing).floor() - west + 1.0, north - (min[1] / spacing).ceil() + 1.0];
        if !(spacing > 0.0 && cells.iter().all(|cells| cells.is_finite())) {
            return refuse("its extent is not finite; get another copy");
        }
        // The finest of all parts, and no finer than anybody measures.
        let finest = headers.iter().map(|part| part.scale[2].abs()).fold(f64::INFINITY, f64::min);
        let height_step = finest.max(FINEST_STEP);
        Ok(Lattice {
            points,
            // Casts saturate.
            size: cells.map(|cells| cells as u64),
            reference: GeoReference {
                corner: [west * spacing, north * spacing],
                step: [spacing, -spacing],
                ..first.reference.clone()
            },
            height_step,
            height_unit_m: first.height_unit_m,
        })
    }

    /// Adds a point of a file; returns whether it is inside.
    fn add(&self, header: &Header, point: Point, raster: &mut Raster) -> bool {
        let [x, y, z] =
            [0, 1, 2].map(|i| f64::from(point.at[i]) * header.scale[i] + header.offset[i]);
        let [corner, step] = [self.reference.corner, self.reference.step];
        let cell = [(x - corner[0]) / step[0], (y - corner[1]) / step[1]];
        // As many bounds are rounded, and as far as a step.
        let slack = 1.5 * self.height_step.max(header.scale[2].abs());
        if !(header.min[2] - slack..=header.max[2] + slack).contains(&z) {
            return false;
        }
        // Casts saturate.
        raster.add(cell, (z / self.height_step).round() as i64, point)
    }

    fn metres(&self, height: f64) -> f64 {
        height * self.height_step * self.height_unit_m
    }
}
