//! A tunnel of balls through a hill: its route, and digging it.
//!
//! A ball's share of a cell is b = clamp(½ + d), d the signed distance from the cell's
//! centre to the ball's surface in voxels, inside positive. Digging leaves min(old, 1 − b);
//! then, in the ball's band (0 < b < 1), cells at most half full that touch no fuller cell
//! are removed, or a film would stay.

use crate::failure::{CliResult, Failure};
use glam::{DVec2, DVec3};
use terravox::voxel::{Cell, DenseBox, Kind, Region, Snapshot, VoxelGrid, VoxelPos};

/// Columns and rows of points at which the ground's height is sampled.
const SAMPLES_PER_EDGE: usize = 40;

/// Shortest and longest tunnel.
const LENGTH_VOXELS: std::ops::RangeInclusive<f64> = 24.0..=130.0;

/// Radius of a ball.
const RADIUS_VOXELS: f64 = 5.2;

/// Distance from one ball to the next.
const SPACING_VOXELS: f64 = 2.5;

/// Steps of 16 voxels in which the land in front of the tunnel is sampled.
const OUTLOOK_STEPS: u32 = 12;

/// Length of the cuttings beyond the tunnel's ends.
const CUTTING_VOXELS: f64 = 2.0 * RADIUS_VOXELS;

/// A tunnel that was dug.
#[derive(Clone, Debug, Default)]
pub struct Tunnel {
    /// Centres of the balls, voxels, from one end to the other.
    pub centres: Vec<[f64; 3]>,
    /// Cells that lost ground.
    pub cells: u64,
}

/// The ground at a column.
#[derive(Clone, Copy, Debug)]
struct ColumnTop {
    x: f64,
    z: f64,
    /// Top of the highest solid cell, voxels.
    height: f64,
    /// Whether there is no water above it.
    dry: bool,
}

/// Digs a tunnel through the most suitable hill.
///
/// # Errors
/// If a chunk on its way is not held at mip 0.
pub fn dig(grid: &mut VoxelGrid) -> CliResult<Tunnel> {
    let ground = sample_heights(grid.as_snapshot())?;
    let mut tunnel = Tunnel { centres: route(&ground), cells: 0 };
    let mut cells = DenseBox::default();
    for (i, &centre) in tunnel.centres.iter().enumerate() {
        // Slightly uneven, as if dug by hand.
        let radius = RADIUS_VOXELS + 0.7 * (i as f64 * 0.9).sin();
        tunnel.cells += dig_ball(grid, centre, radius, &mut cells).map_err(Failure::new)?;
    }
    Ok(tunnel)
}

/// Samples the ground's height over the whole world, row by row; `None` without ground.
fn sample_heights(snapshot: &Snapshot) -> CliResult<Vec<Option<ColumnTop>>> {
    let bounds = snapshot.bounds();
    let mut column = DenseBox::default();
    let mut ground = Vec::with_capacity(SAMPLES_PER_EDGE * SAMPLES_PER_EDGE);
    for i in 0..SAMPLES_PER_EDGE * SAMPLES_PER_EDGE {
        let along = |low: i32, high: i32, i: usize| {
            let share = (i as f64 + 0.5) / SAMPLES_PER_EDGE as f64;
            low + (f64::from(high - low) * share) as i32
        };
        let x = along(bounds.min.x, bounds.max.x, i % SAMPLES_PER_EDGE);
        let z = along(bounds.min.z, bounds.max.z, i / SAMPLES_PER_EDGE);
        ground.push(top(snapshot, bounds, [x, z], &mut column)?);
    }
    Ok(ground)
}

/// Finds the highest solid cell of a column, in pieces from above.
fn top(
    snapshot: &Snapshot,
    bounds: Region,
    [x, z]: [i32; 2],
    column: &mut DenseBox,
) -> CliResult<Option<ColumnTop>> {
    let kinds = *snapshot.materials().kinds();
    let mut dry = true;
    let mut high = bounds.max.y;
    while high > bounds.min.y {
        let low = (high - 32).max(bounds.min.y);
        let piece = Region::new([x, low, z], [x + 1, high, z + 1]);
        snapshot.read(piece, 0, column).map_err(Failure::new)?;
        for (i, &material) in column.materials().iter().enumerate().rev() {
            match kinds[usize::from(material)] {
                Kind::Air => {}
                Kind::Liquid => dry = false,
                Kind::Solid => {
                    let [x, z] = [x, z].map(|v| f64::from(v) + 0.5);
                    return Ok(Some(ColumnTop {
                        x,
                        z,
                        height: f64::from(low) + i as f64 + 1.0,
                        dry,
                    }));
                }
            }
        }
        high = low;
    }
    Ok(None)
}

/// The sampled ground, row by row.
struct HeightSamples<'a>(&'a [Option<ColumnTop>]);

impl HeightSamples<'_> {
    /// Returns the ground at a column and row; `None` outside.
    fn at(&self, [column, row]: [f64; 2]) -> Option<ColumnTop> {
        let edge = SAMPLES_PER_EDGE as f64 - 0.5;
        let within = |v: f64| (-0.5..edge).contains(&v);
        if !(within(column) && within(row)) {
            return None;
        }
        self.0[row.round() as usize * SAMPLES_PER_EDGE + column.round() as usize]
    }
}

/// Returns the centres of the balls of the best tunnel; empty without a suitable hill.
fn route(ground: &[Option<ColumnTop>]) -> Vec<[f64; 3]> {
    let land = HeightSamples(ground);
    let mut best = (0.0, None);
    for from in 0..ground.len() {
        for to in 0..ground.len() {
            let [Some(a), Some(b)] = [ground[from], ground[to]] else { continue };
            if !a.dry || !b.dry || (a.height - b.height).abs() > 9.0 {
                continue;
            }
            let length = DVec2::new(a.x - b.x, a.z - b.z).length();
            if !LENGTH_VOXELS.contains(&length) {
                continue;
            }
            let [ca, cb] =
                [from, to].map(|i| [(i % SAMPLES_PER_EDGE) as f64, (i / SAMPLES_PER_EDGE) as f64]);
            let rating = rate(&land, [a, b], [ca, cb], length);
            if rating > best.0 {
                best = (rating, Some((a, b)));
            }
        }
    }
    best.1.map_or_else(Vec::new, |(a, b)| line(a, b))
}

/// Rates how well a tunnel from `a` to `b` is covered and how far the view from its first end
/// reaches; 0 if it does not go through a hill.
fn rate(land: &HeightSamples, [a, b]: [ColumnTop; 2], [ca, cb]: [[f64; 2]; 2], length: f64) -> f64 {
    const SAMPLES: usize = 8;
    let at = |share: f64| land.at([0, 1].map(|i| ca[i] + (cb[i] - ca[i]) * share));
    let mut cover = 0.0;
    for i in 1..SAMPLES {
        let share = i as f64 / SAMPLES as f64;
        let Some(over) = at(share) else { return 0.0 };
        let roof = over.height - (a.height + (b.height - a.height) * share);
        if !over.dry || roof < 0.0 {
            return 0.0;
        }
        cover += roof.min(24.0) / SAMPLES as f64;
    }
    // The hillside must fall away beyond both ends.
    let ahead = 16.0 / length;
    let (Some(before), Some(after)) = (at(-ahead), at(1.0 + ahead)) else { return 0.0 };
    let [drop_a, drop_b] = [a.height - before.height, b.height - after.height];
    if cover < 6.0 || drop_a < 1.5 || drop_b < 1.5 {
        return 0.0;
    }
    // The first end should look over lower land, not over the edge of the world.
    let ahead = (1..=OUTLOOK_STEPS).filter(|step| {
        let ground = at(-16.0 * f64::from(*step) / length);
        ground.is_some_and(|ground| ground.height < a.height - 3.0)
    });
    let outlook = ahead.count() as f64 / f64::from(OUTLOOK_STEPS);
    let drops = 0.8 * drop_a.min(10.0) + 0.4 * drop_b.min(10.0);
    0.5 * cover.min(16.0) + drops + 16.0 * outlook - 0.05 * length
}

/// Returns the centres of the balls from one end to the other, in a gentle bend.
fn line(a: ColumnTop, b: ColumnTop) -> Vec<[f64; 3]> {
    // Floor at ground level: the ends are half open.
    let [a, b] = [a, b].map(|g| DVec3::new(g.x, g.height + 0.55 * RADIUS_VOXELS, g.z));
    let ahead = (b - a).normalize();
    let side = DVec3::new(-ahead.z, 0.0, ahead.x);
    // Continue past both ends, out of the hillside.
    let [from, to] = [a - ahead * CUTTING_VOXELS, b + ahead * CUTTING_VOXELS];
    let count = (from.distance(to) / SPACING_VOXELS).ceil() as usize;
    let balls = (0..=count).map(|i| {
        let share = i as f64 / count as f64;
        let bend = (share * std::f64::consts::PI).sin().powi(2) * 0.04 * from.distance(to);
        (from.lerp(to, share) + side * bend).to_array()
    });
    balls.collect()
}

/// Digs a ball, in voxels; returns the number of cells that lost ground. Liquids stay.
pub fn dig_ball(
    grid: &mut VoxelGrid,
    centre: [f64; 3],
    radius: f64,
    cells: &mut DenseBox,
) -> Result<u64, terravox::voxel::NotHeld> {
    let bound = |v: f64, by: f64| (v + by).floor() as i32;
    let low = centre.map(|v| bound(v, -radius - 1.0));
    let high = centre.map(|v| bound(v, radius + 1.0) + 1);
    let region = Region::new(low, high);
    grid.read(region.grow(1), 0, cells)?;
    let kinds = *grid.materials().kinds();
    let solid = |cell: Cell| kinds[usize::from(cell.material)] == Kind::Solid;
    let share = |pos: VoxelPos| {
        let middle = DVec3::from(pos.to_array().map(|v| f64::from(v) + 0.5));
        (0.5 + radius - middle.distance(DVec3::from(centre))).clamp(0.0, 1.0)
    };
    let mut dug = 0;
    for pos in region.voxels() {
        let cell = cells.cell(pos);
        let left = ((1.0 - share(pos)) * 256.0).round() as u32;
        if solid(cell) && left < cell.units() {
            dug += 1;
            let occupancy = left.checked_sub(1).map(|stored| stored as u8);
            cells.set(pos, occupancy.map_or(Cell::AIR, |o| Cell::new(cell.material, o)));
            if left == 0 {
                cells.set_water(pos, None);
            }
        }
    }
    let full = |cell: Cell| solid(cell) && cell.units() > 128;
    let films: Vec<VoxelPos> = region
        .voxels()
        .filter(|&pos| {
            let cell = cells.cell(pos);
            let band = share(pos) > 0.0 && share(pos) < 1.0;
            band && solid(cell) && !full(cell) && !neighbours(pos).any(|at| full(cells.cell(at)))
        })
        .collect();
    for pos in films {
        cells.set(pos, Cell::AIR);
        cells.set_water(pos, None);
    }
    grid.write(cells)?;
    Ok(dug)
}

/// Returns the six voxels that share a face with `pos`.
fn neighbours(pos: VoxelPos) -> impl Iterator<Item = VoxelPos> {
    let steps = [[1, 0, 0], [-1, 0, 0], [0, 1, 0], [0, -1, 0], [0, 0, 1], [0, 0, -1]];
    steps.into_iter().map(move |step| pos + VoxelPos::from(step))
}

#[cfg(test)]
mod tests {
    use super::*;
    use terravox::voxel::GridOptions;

    /// Rock of 96 × 64 × 96 voxels with a ridge along x in the middle.
    fn ridge() -> VoxelGrid {
        let mut grid = VoxelGrid::new(GridOptions::default());
        let mut cells = DenseBox::new(Region::new([0; 3], [96, 64, 96]));
        for pos in cells.region().voxels() {
            let height = 12 + (24 - (pos.z - 48).abs()).max(0);
            if pos.y < height {
                cells.set(pos, Cell::full(8));
            }
        }
        assert!(grid.write(&cells).is_ok());
        grid
    }

    #[test]
    fn a_tunnel_goes_through_the_ridge_and_is_open_all_the_way() -> CliResult<()> {
        let mut grid = ridge();
        let tunnel = dig(&mut grid)?;
        assert!(tunnel.centres.len() > 10 && tunnel.cells > 1000);
        for centre in &tunnel.centres {
            let at = VoxelPos::from(centre.map(|v| v.floor() as i32));
            assert_eq!(grid.cell(at), Ok(Cell::AIR), "{at}");
        }
        let [first, last] = [tunnel.centres[0], tunnel.centres[tunnel.centres.len() - 1]];
        assert!((first[2] - 48.0) * (last[2] - 48.0) < 0.0, "{first:?} {last:?}");
        Ok(())
    }

    #[test]
    fn flat_land_has_no_hill_to_dig_through() -> CliResult<()> {
        let mut grid = VoxelGrid::new(GridOptions::default());
        assert!(dig(&mut grid)?.centres.is_empty());
        let mut cells = DenseBox::new(Region::new([0; 3], [64, 8, 64]));
        cells.fill(8);
        assert!(grid.write(&cells).is_ok());
        assert!(dig(&mut grid)?.centres.is_empty());
        Ok(())
    }

    #[test]
    fn digging_twice_is_digging_once() {
        let mut grid = ridge();
        let mut cells = DenseBox::default();
        let ball = |grid: &mut VoxelGrid, cells: &mut DenseBox| {
            dig_ball(grid, [40.3, 20.1, 44.7], 6.4, cells)
        };
        assert!(ball(&mut grid, &mut cells).is_ok_and(|dug| dug > 500));
        let once = grid.digest();
        assert_eq!(ball(&mut grid, &mut cells), Ok(0));
        assert_eq!(grid.digest(), once);
    }
}
