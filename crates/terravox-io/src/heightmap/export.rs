//! Exports the height of the ground as a grey PNG of 16 bits, or as a GeoTIFF.

use super::geotiff::{self, GeoReference, WorldReference};
use super::limits::MAX_HEIGHT_SAMPLES;
use std::collections::BTreeMap;
use std::io::{self, Write};
use terravox::voxel::{AIR, ChunkPos, DenseBox, Kind, NotHeld, Region, Snapshot, VoxelPos};

/// The height of the ground in each column of a rectangle; what lies below a roof is not seen.
#[derive(Clone, Debug, PartialEq)]
pub struct GroundHeights {
    /// x and z of the first column, voxels.
    pub corner: [i32; 2],
    /// Columns along x and z.
    pub size: [usize; 2],
    /// One per column, x fastest: the height in voxels; NaN without ground. An f32 would be off by
    /// voxels far from the origin.
    pub heights: Vec<f64>,
}

/// Why heights cannot be exported.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum GroundHeightsError {
    /// No column has ground.
    #[error("there is no ground, and a heightmap needs some; give another part of the world")]
    Empty,
    /// The region has too many columns.
    #[error(
        "{found} columns are too many for a heightmap, at most {MAX_HEIGHT_SAMPLES}; give a smaller part of \
         the world"
    )]
    TooLarge {
        /// Columns of the region.
        found: u64,
    },
    /// A chunk is not held at mip 0.
    #[error("{0}; load the whole world before exporting it")]
    NotHeld(#[from] NotHeld),
}

impl GroundHeights {
    /// Looks down on the cells of `region`: the height of a column is that of its highest full
    /// solid cell, and what partly filled cells above it add. Water is not ground. The rectangle is
    /// the smallest that holds all columns with ground.
    ///
    /// # Errors
    /// If there is no ground, too many columns, or a cell that is not held.
    pub fn of(snapshot: &Snapshot, region: Region) -> Result<GroundHeights, GroundHeightsError> {
        let [wide, _, deep] = region.size();
        let found = wide as u64 * deep as u64;
        if found > MAX_HEIGHT_SAMPLES {
            return Err(GroundHeightsError::TooLarge { found });
        }
        let mut columns: BTreeMap<[i32; 2], Vec<ChunkPos>> = BTreeMap::new();
        for chunk in snapshot.chunks() {
            if !chunk.region().intersect(region).is_empty() {
                columns.entry([chunk.x, chunk.z]).or_default().push(chunk);
            }
        }
        let mut heights = vec![f64::NAN; found as usize];
        for (_, mut chunks) in columns {
            chunks.sort_unstable_by_key(|chunk| std::cmp::Reverse(chunk.y));
            look_down(snapshot, &chunks, region, &mut heights)?;
        }
        let corner = [region.min.x, region.min.z];
        GroundHeights { corner, size: [wide, deep], heights }.cropped()
    }

    /// Cuts off columns without ground at the sides.
    fn cropped(self) -> Result<GroundHeights, GroundHeightsError> {
        let wide = self.size[0];
        let ground = self.heights.iter().enumerate().filter(|(_, height)| !height.is_nan());
        let bounds = ground.map(|(i, _)| [[i % wide, i / wide]; 2]);
        let bounds = bounds.reduce(|[low, high], [at, _]| {
            [[0, 1].map(|i| low[i].min(at[i])), [0, 1].map(|i| high[i].max(at[i]))]
        });
        let [low, high] = bounds.ok_or(GroundHeightsError::Empty)?;
        let row = |z: usize| &self.heights[z * wide + low[0]..=z * wide + high[0]];
        Ok(GroundHeights {
            corner: [0, 1].map(|i| self.corner[i] + low[i] as i32),
            size: [0, 1].map(|i| high[i] + 1 - low[i]),
            heights: (low[1]..=high[1]).flat_map(row).copied().collect(),
        })
    }

    /// Returns the lowest and the highest height, voxels.
    pub fn range(&self) -> [f64; 2] {
        let ground = || self.heights.iter().copied().filter(|height| !height.is_nan());
        [ground().fold(f64::INFINITY, f64::min), ground().fold(f64::NEG_INFINITY, f64::max)]
    }

    /// Writes a grey PNG of 16 bits: black is the lowest height, and columns without ground; white
    /// the highest. `out` should be buffered.
    ///
    /// # Errors
    /// If `out` fails.
    pub fn write_png(&self, out: &mut impl Write) -> io::Result<()> {
        let [low, high] = self.range();
        let scale = if high > low { 65_535.0 / (high - low) } else { 0.0 };
        // The cast makes NaN 0.
        let sample = |height: &f64| ((height - low) * scale).round() as u16;
        let bytes: Vec<u8> = self.heights.iter().map(sample).flat_map(u16::to_be_bytes).collect();
        let [width, depth] = self.size.map(|edge| edge as u32);
        let mut encoder = png::Encoder::new(out, width, depth);
        encoder.set_color(png::ColorType::Grayscale);
        encoder.set_depth(png::BitDepth::Sixteen);
        let mut writer = encoder.write_header().map_err(io::Error::other)?;
        writer.write_image_data(&bytes).map_err(io::Error::other)?;
        writer.finish().map_err(io::Error::other)
    }
}

impl GroundHeights {
    /// Writes a GeoTIFF of floats: heights in metres of a world with voxels of `voxel_size_m` whose voxel
    /// (0, 0, 0) has its lowest corner at `origin_m`, or in the unit that `place` says; NaN without
    /// ground. With a `place` samples lie where it says, in its reference system; without one, at x
    /// and −z of the world. `out` should be buffered.
    ///
    /// # Errors
    /// If `out` fails, or the file would have more than 4 GB.
    pub fn write_geotiff(
        &self,
        voxel_size_m: f64,
        origin_m: [f64; 3],
        place: Option<&WorldReference>,
        out: &mut impl Write,
    ) -> io::Result<()> {
        let at = |i: usize, axis: usize| f64::from(self.corner[i]) * voxel_size_m + origin_m[axis];
        let (x, z) = (at(0, 0), at(1, 2));
        let reference = match place {
            Some(place) => place.at([x, z], voxel_size_m),
            None => GeoReference {
                corner: [x, -z],
                step: [voxel_size_m, -voxel_size_m],
                ..GeoReference::default()
            },
        };
        let unit_m = place.map_or(1.0, |place| place.height_unit_m);
        let heights = self.heights.iter().map(|v| (v * voxel_size_m + origin_m[1]) / unit_m);
        geotiff::write(self.size, &heights.collect::<Vec<_>>(), &reference, out)
    }
}

/// What is known of a column while it is looked down on.
#[derive(Clone, Copy, Default)]
struct ColumnLook {
    /// Fill of the cells that are partly solid, voxels.
    above: f64,
    is_done: bool,
}

/// Finds the heights of the columns of chunks that lie above each other, the highest first.
fn look_down(
    snapshot: &Snapshot,
    chunks: &[ChunkPos],
    region: Region,
    heights: &mut [f64],
) -> Result<(), NotHeld> {
    let mut looks = [ColumnLook::default(); 1024];
    let mut cells = DenseBox::default();
    let mut last_y = i32::MAX;
    for chunk in chunks {
        let part = chunk.region().intersect(region);
        let is_air = snapshot.chunk(*chunk)?.uniform_material() == Some(AIR);
        let is_gap = part.max.y != last_y;
        last_y = part.min.y;
        if !is_air {
            snapshot.read(part, 0, &mut cells)?;
        }
        for (x, z) in
            (part.min.z..part.max.z).flat_map(|z| (part.min.x..part.max.x).map(move |x| (x, z)))
        {
            let look = &mut looks[(x & 31) as usize + 32 * (z & 31) as usize];
            let column =
                (x - region.min.x) as usize + (z - region.min.z) as usize * region.size()[0];
            // Air ends what is partly solid above it.
            if is_gap || is_air {
                look.is_done |= look.above > 0.0;
            }
            if is_air || look.is_done {
                continue;
            }
            for y in (part.min.y..part.max.y).rev() {
                let cell = cells.cell(VoxelPos::new(x, y, z));
                let is_solid = snapshot.materials().kind(cell.material) == Kind::Solid;
                let fill = if is_solid { f64::from(cell.units()) / 256.0 } else { 0.0 };
                if fill == 0.0 && look.above > 0.0 {
                    look.is_done = true;
                    break;
                }
                if fill > 0.0 {
                    look.above += fill;
                    // A thin piece stands on the bottom of its lowest cell.
                    heights[column] = f64::from(y) + look.above;
                    look.is_done = fill == 1.0;
                }
                if look.is_done {
                    break;
                }
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ImportBudget;
    use crate::heightmap::{self, ColourPolicy, HeightmapOptions, Heights};
    use terravox::voxel::{Cell, VoxelGrid};

    #[test]
    fn heights_come_back_from_their_world_and_from_its_picture() {
        let wave = |i: usize| ((i % 48) as f32 * 0.2).sin() * ((i / 48) as f32 * 0.15).cos();
        let values: Vec<f32> = (0..48 * 40).map(|i| 0.5 + 0.5 * wave(i)).collect();
        let heights = Heights::new([48, 40], values.clone()).unwrap();
        let options = HeightmapOptions {
            voxels_per_sample: 1.0,
            height_voxels: 10.0,
            base_voxels: 30.0,
            sea_level: Some(33.0),
            ..HeightmapOptions::default()
        };
        let (mut grid, mut budget) = (VoxelGrid::default(), ImportBudget::for_input(0));
        heightmap::import(&heights, &options, &mut budget, &mut grid, |_, _| {}).unwrap();
        let ground = GroundHeights::of(&grid.snapshot(), grid.bounds()).unwrap();
        assert_eq!((ground.corner, ground.size), ([0, 0], [48, 40]));
        let off = |height: &f64, value: &f32| (height - 30.0 - 10.0 * f64::from(*value)).abs();
        let worst = ground.heights.iter().zip(&values).map(|(h, v)| off(h, v)).fold(0.0, f64::max);
        assert!(worst < 0.15, "{worst}");
        let mut file = Vec::new();
        ground.write_png(&mut file).unwrap();
        let mut budget = ImportBudget::for_input(file.len());
        let read = heightmap::read_png(&file, ColourPolicy::Refuse, &mut budget).unwrap();
        let [low, high] = ground.range();
        assert_eq!(read.size(), [48, 40]);
        for (height, value) in ground.heights.iter().zip(&read.values) {
            assert!((low + f64::from(*value) * (high - low) - height).abs() < 1e-3);
        }
    }

    #[test]
    fn heights_far_out_are_exact() {
        for y in [0, (1 << 30) - 96, 64 - (1 << 30)] {
            let mut grid = VoxelGrid::default();
            let mut cells = DenseBox::new(Region::new([0, y, 0], [3, y + 9, 1]));
            for (x, top) in [(0, 2), (1, 3), (2, 8)] {
                (0..=top).for_each(|up| cells.set(VoxelPos::new(x, y + up, 0), Cell::full(8)));
            }
            cells.set(VoxelPos::new(1, y + 4, 0), Cell::new(8, 63));
            grid.write(&cells).unwrap();
            let ground = GroundHeights::of(&grid.snapshot(), cells.region()).unwrap();
            assert_eq!(ground.heights, [3.0, 4.25, 9.0].map(|height| f64::from(y) + height));
            let mut file = Vec::new();
            ground.write_png(&mut file).unwrap();
            let mut budget = ImportBudget::for_input(file.len());
            let read = heightmap::read_png(&file, ColourPolicy::Refuse, &mut budget).unwrap();
            assert!((read.values[1] - 1.25 / 6.0).abs() < 1e-4, "{:?}", read.values);
        }
    }

    #[test]
    fn thin_plates_gaps_and_empty_columns_are_seen_from_above() {
        let mut grid = VoxelGrid::default();
        let mut cells = DenseBox::new(Region::new([-2, 0, 0], [2, 70, 1]));
        let mut set = |x, y, cell| cells.set(VoxelPos::new(x, y, 0), cell);
        // Water on ground; a plate over a gap; half cells in a pile over two chunks; nothing.
        set(-2, 3, Cell::full(8));
        set(-2, 4, Cell::full(1));
        set(-1, 65, Cell::new(8, 64));
        set(-1, 3, Cell::full(8));
        set(0, 64, Cell::new(8, 64));
        set(0, 63, Cell::new(8, 128));
        set(0, 62, Cell::full(8));
        grid.write(&cells).unwrap();
        let region = Region::new([-2, 0, 0], [2, 70, 1]);
        let ground = GroundHeights::of(&grid.snapshot(), region).unwrap();
        assert_eq!(ground.heights, [4.0, 65.0 + 65.0 / 256.0, 63.0 + 194.0 / 256.0]);
        assert_eq!((ground.corner, ground.size), ([-2, 0], [3, 1]));
        assert_eq!(ground.range(), [4.0, 65.0 + 65.0 / 256.0]);
        let nothing = GroundHeights::of(&grid.snapshot(), Region::new([1, 0, 0], [2, 70, 1]));
        assert_eq!(nothing, Err(GroundHeightsError::Empty));
        let wide = Region::new([-(1 << 20), 0, -(1 << 20)], [1 << 20, 1, 1 << 20]);
        let wide = GroundHeights::of(&grid.snapshot(), wide);
        assert_eq!(wide, Err(GroundHeightsError::TooLarge { found: 1 << 42 }));
    }
}
