//! Reading cells: whole rows in order, and cells at random, from the grid, from a
//! hash of dense chunks and from bit-packed palettes that hold the same world.

use std::ops::Range;

use terravox::voxel::{Cell, ChunkPos, Row, VoxelPos};

use super::dense::DenseWorld;
use super::palette::{PaletteWorld, SectionPos};
use crate::harness::{Entrant, RoundBudget, Timing, contest};
use crate::report::{AreaReport, Better, ReportRow, detail};
use crate::worlds::World;
use crate::worlds::random::Rng;

/// Chunks of one item of the row contest.
const CHUNKS_PER_ITEM: usize = 64;
/// Chunks that are read again and again, 2 MB dense: what stays in a cache.
const HOT_CHUNKS: usize = 32;
/// Random reads of one item.
const READS_PER_ITEM: usize = 1 << 18;
/// Bytes of a chunk's cells.
const CHUNK_BYTES: f64 = 65_536.0;

/// The same world in three layouts.
struct Layouts<'a> {
    world: &'a World,
    dense: DenseWorld,
    palette: PaletteWorld,
}

/// Measures `row_read_ratio` and `random_read_ratio` on the first of `worlds`, the
/// others as details.
pub fn run(report: &mut AreaReport, worlds: &[World]) {
    let (mut row_lines, mut random_lines) = (Vec::new(), Vec::new());
    for (at, world) in worlds.iter().enumerate() {
        let layouts = Layouts::of(world);
        rows(report, at == 0, &layouts, &mut row_lines);
        random(report, at == 0, &layouts, &mut random_lines);
    }
    report.details("row reads, all rows in order", row_lines);
    report.details("random cell reads", random_lines);
}

impl<'a> Layouts<'a> {
    fn of(world: &'a World) -> Layouts<'a> {
        let (mut dense, mut palette) = (DenseWorld::default(), PaletteWorld::default());
        for chunk in world.chunk_boxes() {
            dense.add(&chunk);
            palette.add(&chunk);
        }
        Layouts { world, dense, palette }
    }
}

impl Layouts<'_> {
    fn rows_of_grid(&self, chunks: Range<usize>) -> u64 {
        let mut scratch = Row::uniform(0);
        let mut sum = 0;
        for &chunk in &self.world.chunks[chunks] {
            let Ok(view) = self.world.grid.chunk(chunk) else { unreachable!("held whole") };
            for y in 0..32 {
                for z in 0..32 {
                    sum ^= fold(view.row(y, z, &mut scratch));
                }
            }
        }
        sum
    }

    fn rows_of_dense(&self, chunks: Range<usize>) -> u64 {
        let chunks = self.world.chunks[chunks].iter();
        let rows = chunks.filter_map(|&chunk| self.dense.chunk(chunk)).flat_map(|rows| rows.iter());
        rows.fold(0, |sum, row| sum ^ fold(row))
    }

    fn rows_of_palette(&self, chunks: Range<usize>) -> u64 {
        let mut row = Row::uniform(0);
        let mut sum = 0;
        for chunk in &self.world.chunks[chunks] {
            for index in 0..1024 {
                let (y, z) = (index >> 5, index & 31);
                for half in 0..2usize {
                    let section = SectionPos::new(
                        2 * chunk.x + half as i32,
                        2 * chunk.y + (y >> 4),
                        2 * chunk.z + (z >> 4),
                    );
                    let Some(section) = self.palette.section(section) else { continue };
                    let first = ((z & 15) << 4 | (y & 15) << 8) as usize;
                    section.unpack_row(first, &mut row, 16 * half);
                }
                sum ^= fold(&row);
            }
        }
        sum
    }
}

/// All 64 bytes of a row, folded into one word: the cheapest use of every byte.
#[inline(always)]
fn fold(row: &Row) -> u64 {
    let words = row.material.as_chunks::<8>().0.iter().chain(row.occupancy.as_chunks::<8>().0);
    words.fold(0, |sum, word| sum ^ u64::from_le_bytes(*word))
}

fn rows(report: &mut AreaReport, sets_figure: bool, layouts: &Layouts, lines: &mut Vec<ReportRow>) {
    let chunks = layouts.world.chunks.len();
    let chunks_of =
        |item: usize| item * CHUNKS_PER_ITEM..((item + 1) * CHUNKS_PER_ITEM).min(chunks);
    let cold = row_contest(layouts, chunks.div_ceil(CHUNKS_PER_ITEM), chunks_of);
    // Of all its spans of that length, the one with the most stored rows.
    let busiest = busiest_chunks(layouts.world);
    let hot = row_contest(layouts, 1, |_| busiest..(busiest + HOT_CHUNKS).min(chunks));
    let bandwidth = |chunks: usize, seconds: f64| chunks as f64 * CHUNK_BYTES / seconds / 1e9;
    if sets_figure {
        let [ours, dense] = [bandwidth(chunks, cold[0].min), bandwidth(chunks, cold[1].min)];
        let note = format!("{ours:.1} GB/s of a world of {chunks} chunks; baseline dense");
        report.set_ratio("row_read_ratio", ours / dense, dense, note);
    }
    for (place, timings, chunks) in
        [("whole world", &cold, chunks), ("32 busy chunks in cache", &hot, HOT_CHUNKS.min(chunks))]
    {
        let dense = bandwidth(chunks, timings[1].min);
        for timing in timings {
            let name = format!("{}: {}, {place}", layouts.world.name, timing.name);
            let median = bandwidth(chunks, timing.median);
            let line = detail(name, bandwidth(chunks, timing.min), "GB/s").beside(dense);
            lines.push(line.note(format!("median {median:.1}")));
        }
        let what = format!("row reads, {}, {place}", layouts.world.name);
        let ours = bandwidth(chunks, timings[0].min);
        for peer in &timings[1..] {
            let peer = (peer.name, bandwidth(chunks, peer.min));
            report.compare(&what, "GB/s", Better::More, ours, peer);
        }
    }
}

/// Returns the start of the [`HOT_CHUNKS`] consecutive chunks with the fewest uniform ones.
fn busiest_chunks(world: &World) -> usize {
    let mixed = |chunk: &ChunkPos| {
        let Ok(view) = world.grid.chunk(*chunk) else { unreachable!("held whole") };
        view.uniform_material().is_none()
    };
    let mixed: Vec<bool> = world.chunks.iter().map(mixed).collect();
    let count = |at: usize| mixed[at..].iter().take(HOT_CHUNKS).filter(|&&mixed| mixed).count();
    (0..mixed.len()).step_by(HOT_CHUNKS).max_by_key(|&at| count(at)).unwrap_or(0)
}

fn row_contest(
    layouts: &Layouts,
    items: usize,
    chunks_of_item: impl Fn(usize) -> Range<usize> + Copy,
) -> [Timing; 3] {
    let run = |read: fn(&Layouts, Range<usize>) -> u64| {
        move |item: usize| read(layouts, chunks_of_item(item))
    };
    let entrants = [
        Entrant::new("row-packed", run(|layouts, chunks| layouts.rows_of_grid(chunks))),
        Entrant::new("dense", run(|layouts, chunks| layouts.rows_of_dense(chunks))),
        Entrant::new("palette 16³", run(|layouts, chunks| layouts.rows_of_palette(chunks)))
            .every(4),
    ];
    contest(items, RoundBudget::seconds(6.0), entrants)
}

fn random(
    report: &mut AreaReport,
    sets_figure: bool,
    layouts: &Layouts,
    lines: &mut Vec<ReportRow>,
) {
    let region = layouts.world.grid.bounds();
    let [x, y, z] = region.size().map(|n| n as u32);
    let mut rng = Rng::new(77);
    let mut position = || {
        let at = [rng.below(x) as i32, rng.below(y) as i32, rng.below(z) as i32];
        region.min + VoxelPos::from(at)
    };
    let items: Vec<Vec<VoxelPos>> =
        (0..4).map(|_| (0..READS_PER_ITEM).map(|_| position()).collect()).collect();
    let add = |sum: u64, cell: Cell| sum + u64::from(cell.material) + u64::from(cell.occupancy);
    let grid = |i: usize| {
        let read = |&p: &VoxelPos| layouts.world.grid.cell(p).unwrap_or(Cell::AIR);
        items[i].iter().map(read).fold(0, add)
    };
    let dense = |i: usize| items[i].iter().map(|&p| layouts.dense.cell(p)).fold(0, add);
    let palette = |i: usize| items[i].iter().map(|&p| layouts.palette.cell(p)).fold(0, add);
    let entrants = [
        Entrant::new("row-packed", grid),
        Entrant::new("dense", dense),
        Entrant::new("palette 16³", palette),
    ];
    let timings = contest(items.len(), RoundBudget::seconds(6.0), entrants);
    let nanoseconds = |seconds: f64| seconds * 1e9 / (items.len() * READS_PER_ITEM) as f64;
    let each = timings.each_ref().map(|timing| nanoseconds(timing.min));
    if sets_figure {
        let note = format!("{:.1} ns a cell, hash and cell; baseline dense", each[0]);
        report.set_ratio("random_read_ratio", each[0] / each[1], each[1], note);
    }
    for (timing, &ns) in timings.iter().zip(&each) {
        let name = format!("{}: {}", layouts.world.name, timing.name);
        let median = nanoseconds(timing.median);
        lines.push(detail(name, ns, "ns").beside(each[1]).note(format!("median {median:.1}")));
        let what = format!("random cell reads, {}", layouts.world.name);
        report.compare(&what, "ns", Better::Less, each[0], (timing.name, ns));
    }
}

#[cfg(test)]
mod tests {
    use terravox::voxel::{GridOptions, VoxelGrid};

    use super::*;
    use crate::worlds::random::closed_grid;

    #[test]
    fn all_layouts_read_the_same_rows() {
        let mut grid = VoxelGrid::new(GridOptions::default());
        for seed in 0..6 {
            let mut cells = closed_grid(seed, 32);
            cells.move_to(ChunkPos::new(seed as i32 - 3, 1, -2).min_voxel());
            grid.write(&cells).unwrap();
        }
        let world = World::new("test", grid);
        let layouts = Layouts::of(&world);
        for chunk in 0..6 {
            let expected = layouts.rows_of_dense(chunk..chunk + 1);
            assert_ne!(expected, 0);
            assert_eq!(layouts.rows_of_grid(chunk..chunk + 1), expected);
            assert_eq!(layouts.rows_of_palette(chunk..chunk + 1), expected);
        }
    }
}
