//! Exports the height of the ground as a grey PNG of 16 bits, or as a GeoTIFF.

use super::geotiff::{self, GeoReference, WorldReference};
use super::limits::MAX_HEIGHT_SAMPLES;
use crate::export_limit::{ExportLimit, ExportTooLarge};
use std::collections::BTreeMap;
use std::io::{self, Seek, Write};
use terravox::voxel::{AIR, ChunkPos, DenseBox, Kind, NotHeld, Region, Snapshot, VoxelPos};

/// The height of the ground in each column of a rectangle; what lies below a roof is not seen. Takes 8
/// kB of memory for each column of chunks with ground, and nothing between them.
#[derive(Clone, Debug, PartialEq)]
pub struct GroundHeights {
    /// x and z of the first column, voxels.
    pub corner: [i32; 2],
    /// Columns along x and z.
    pub size: [usize; 2],
    /// By z and x of the chunks.
    tiles: BTreeMap<[i32; 2], Tile>,
}

/// The heights of a column of chunks, voxels, x fastest; NaN without ground. An f32 would be off by
/// voxels far from the origin.
type Tile = Box<[f64; 1024]>;

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
    /// The heights would take more memory than their [`ExportLimit`].
    #[error(transparent)]
    OverLimit(#[from] ExportTooLarge),
}

impl GroundHeights {
    /// Looks down on the cells of `region`: the height of a column is that of its highest full
    /// solid cell, and what partly filled cells above it add. Water is not ground. The rectangle is
    /// the smallest that holds all columns with ground.
    ///
    /// # Errors
    /// If there is no ground, too many columns or too little memory, or a cell is not held.
    pub fn of(
        snapshot: &Snapshot,
        region: Region,
        limit: ExportLimit,
    ) -> Result<GroundHeights, GroundHeightsError> {
        let [wide, _, deep] = region.size();
        let found = wide as u64 * deep as u64;
        if found > MAX_HEIGHT_SAMPLES {
            return Err(GroundHeightsError::TooLarge { found });
        }
        let mut columns: BTreeMap<[i32; 2], Vec<ChunkPos>> = BTreeMap::new();
        for chunk in snapshot.chunks() {
            if !chunk.region().intersect(region).is_empty() {
                columns.entry([chunk.z, chunk.x]).or_default().push(chunk);
            }
        }
        let bytes = (columns.len() * size_of::<[f64; 1024]>()) as u64;
        limit.check("the heights", bytes, [1, 1])?;
        let mut tiles = BTreeMap::new();
        for (at, mut chunks) in columns {
            chunks.sort_unstable_by_key(|chunk| std::cmp::Reverse(chunk.y));
            let mut tile = Box::new([f64::NAN; 1024]);
            look_down(snapshot, &chunks, region, &mut tile)?;
            if tile.iter().any(|height| !height.is_nan()) {
                tiles.insert(at, tile);
            }
        }
        GroundHeights::cropped(tiles)
    }

    /// The rectangle is the smallest that holds all columns with ground.
    fn cropped(tiles: BTreeMap<[i32; 2], Tile>) -> Result<GroundHeights, GroundHeightsError> {
        let columns = tiles.iter().flat_map(|([z, x], tile)| {
            let ground = tile.iter().enumerate().filter(|(_, height)| !height.is_nan());
            ground.map(move |(i, _)| [32 * x + (i & 31) as i32, 32 * z + (i >> 5) as i32])
        });
        let bounds = columns.map(|at| [at; 2]).reduce(|[low, high], [at, _]| {
            [[0, 1].map(|i| low[i].min(at[i])), [0, 1].map(|i| high[i].max(at[i]))]
        });
        let [low, high] = bounds.ok_or(GroundHeightsError::Empty)?;
        let size = [0, 1].map(|i| (high[i] - low[i]) as usize + 1);
        Ok(GroundHeights { corner: low, size, tiles })
    }

    /// Replaces `out` with the heights of row `z`, counted from the corner, voxels; NaN without
    /// ground.
    ///
    /// # Panics
    /// If there are no more than `z` rows.
    pub fn row(&self, z: usize, out: &mut Vec<f64>) {
        assert!(z < self.size[1], "row {z} of {}", self.size[1]);
        out.clear();
        out.resize(self.size[0], f64::NAN);
        let [x, z] = [self.corner[0], self.corner[1] + z as i32];
        let last = x + (self.size[0] - 1) as i32;
        for ([_, tile_x], tile) in self.tiles.range([z >> 5, x >> 5]..=[z >> 5, last >> 5]) {
            let heights = &tile[32 * (z & 31) as usize..][..32];
            for (at, height) in (32 * tile_x..).zip(heights).filter(|(_, height)| !height.is_nan())
            {
                out[(at - x) as usize] = *height;
            }
        }
    }

    /// Returns the lowest and the highest height, voxels.
    pub fn range(&self) -> [f64; 2] {
        let all = self.tiles.values().flat_map(|tile| tile.iter().copied());
        // NaN is never the lower or the higher one.
        all.fold([f64::INFINITY, f64::NEG_INFINITY], |[low, high], v| [low.min(v), high.max(v)])
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
        let [width, depth] = self.size.map(|edge| edge as u32);
        let mut encoder = png::Encoder::new(out, width, depth);
        encoder.set_color(png::ColorType::Grayscale);
        encoder.set_depth(png::BitDepth::Sixteen);
        let mut writer = encoder.write_header().map_err(io::Error::other)?;
        let mut rows = writer.stream_writer().map_err(io::Error::other)?;
        let (mut heights, mut bytes) = (Vec::new(), Vec::new());
        for z in 0..self.size[1] {
            self.row(z, &mut heights);
            bytes.clear();
            bytes.extend(heights.iter().map(sample).flat_map(u16::to_be_bytes));
            rows.write_all(&bytes)?;
        }
        rows.finish().map_err(io::Error::other)?;
        writer.finish().map_err(io::Error::other)
    }
}

impl GroundHeights {
    /// Writes a GeoTIFF of floats: heights in metres of a world with voxels of `voxel_size_m` whose voxel
    /// (0, 0, 0) has its lowest corner at `origin_m`, or in the unit that `place` says; NaN without
    /// ground. With a `place` samples lie where it says, in its reference system; without one, at x
    /// and −z of the world. Rows are written as they are packed, their places behind them. `out` should be
    /// buffered.
    ///
    /// # Errors
    /// If `out` fails, or the file would have more than 4 GB.
    pub fn write_geotiff(
        &self,
        voxel_size_m: f64,
        origin_m: [f64; 3],
        place: Option<&WorldReference>,
        out: &mut (impl Write + Seek),
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
        let in_file = |height: f64| (height * voxel_size_m + origin_m[1]) / unit_m;
        let range = self.range().map(in_file);
        let row = |z: usize, out: &mut Vec<f64>| {
            self.row(z, out);
            out.iter_mut().for_each(|height| *height = in_file(*height));
        };
        geotiff::write(self.size, range, row, &reference, out)
    }
}

#[cfg(test)]
impl GroundHeights {
    /// Heights of rows of `wide` columns.
    pub(super) fn of_rows(corner: [i32; 2], wide: usize, heights: &[f64]) -> GroundHeights {
        let mut tiles = BTreeMap::<[i32; 2], Tile>::new();
        for (i, height) in heights.iter().enumerate() {
            let [x, z] = [corner[0] + (i % wide) as i32, corner[1] + (i / wide) as i32];
            let tile = tiles.entry([z >> 5, x >> 5]).or_insert_with(|| Box::new([f64::NAN; 1024]));
            tile[(x & 31) as usize + 32 * (z & 31) as usize] = *height;
        }
        GroundHeights { corner, size: [wide, heights.len() / wide], tiles }
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
    heights: &mut [f64; 1024],
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
            let column = (x & 31) as usize + 32 * (z & 31) as usize;
            let look = &mut looks[column];
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

    fn of(grid: &VoxelGrid, region: Region) -> Result<GroundHeights, GroundHeightsError> {
        GroundHeights::of(&grid.snapshot(), region, ExportLimit::default())
    }

    fn heights_of(ground: &GroundHeights) -> Vec<f64> {
        let (mut all, mut row) = (Vec::new(), Vec::new());
        for z in 0..ground.size[1] {
            ground.row(z, &mut row);
            all.extend_from_slice(&row);
        }
        all
    }

    /// Two pieces of ground 8,000 voxels apart.
    fn far_pieces() -> VoxelGrid {
        let mut grid = VoxelGrid::default();
        for at in [0, 8000] {
            let mut cells = DenseBox::new(Region::new([at, 0, at], [at + 40, 1, at + 1]));
            cells.fill(8);
            grid.write(&cells).unwrap();
        }
        grid
    }

    #[test]
    fn heights_take_memory_where_there_is_ground_only() {
        let grid = far_pieces();
        let ground = of(&grid, grid.bounds()).unwrap();
        assert_eq!((ground.corner, ground.size, ground.tiles.len()), ([0; 2], [8040, 8001], 4));
        let mut row = Vec::new();
        ground.row(8000, &mut row);
        assert_eq!(row.iter().position(|height| *height == 1.0), Some(8000));
        assert_eq!(row.iter().filter(|height| height.is_nan()).count(), 8000);
        let mut file = std::io::Cursor::new(Vec::new());
        ground.write_geotiff(1.0, [0.0; 3], None, &mut file).unwrap();
        assert!(file.get_ref().len() < 1 << 20, "{}", file.get_ref().len());
        let few = ExportLimit { memory_bytes: 3 * 8192 };
        let error = GroundHeights::of(&grid.snapshot(), grid.bounds(), few).unwrap_err();
        let GroundHeightsError::OverLimit(error) = error else { panic!("{error}") };
        assert_eq!((error.wanted, error.factor()), (4 * 8192, 2));
    }

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
        let ground =
            GroundHeights::of(&grid.snapshot(), grid.bounds(), ExportLimit::default()).unwrap();
        assert_eq!((ground.corner, ground.size), ([0, 0], [48, 40]));
        let off = |height: &f64, value: &f32| (height - 30.0 - 10.0 * f64::from(*value)).abs();
        let worst =
            heights_of(&ground).iter().zip(&values).map(|(h, v)| off(h, v)).fold(0.0, f64::max);
        assert!(worst < 0.15, "{worst}");
        let mut file = Vec::new();
        ground.write_png(&mut file).unwrap();
        let mut budget = ImportBudget::for_input(file.len());
        let read = heightmap::read_png(&file, ColourPolicy::Refuse, &mut budget).unwrap();
        let [low, high] = ground.range();
        assert_eq!(read.size(), [48, 40]);
        for (height, value) in heights_of(&ground).iter().zip(&read.values) {
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
            let ground =
                GroundHeights::of(&grid.snapshot(), cells.region(), ExportLimit::default())
                    .unwrap();
            assert_eq!(heights_of(&ground), [3.0, 4.25, 9.0].map(|height| f64::from(y) + height));
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
        let ground = of(&grid, region).unwrap();
        assert_eq!(heights_of(&ground), [4.0, 65.0 + 65.0 / 256.0, 63.0 + 194.0 / 256.0]);
        assert_eq!((ground.corner, ground.size), ([-2, 0], [3, 1]));
        assert_eq!(ground.range(), [4.0, 65.0 + 65.0 / 256.0]);
        let nothing = of(&grid, Region::new([1, 0, 0], [2, 70, 1]));
        assert_eq!(nothing, Err(GroundHeightsError::Empty));
        let wide = Region::new([-(1 << 20), 0, -(1 << 20)], [1 << 20, 1, 1 << 20]);
        let wide = of(&grid, wide);
        assert_eq!(wide, Err(GroundHeightsError::TooLarge { found: 1 << 42 }));
    }
}
