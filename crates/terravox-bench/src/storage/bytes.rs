//! Bytes of worlds in memory: ours by part, compared with the definition of row packing and
//! with the peers' layouts.

use terravox::voxel::{AIR, DenseBox, GridMemory, Row};

use super::dense::DenseWorld;
use super::palette::PaletteWorld;
use crate::report::{AreaReport, Better, ReportRow, detail};
use crate::worlds::World;

/// Bytes of row packing by definition: two bytes for each of the 1024 rows of a
/// listed chunk, and 64 bytes for each row that is not one full material.
const ROW_HEADER: usize = 2;
const ROW_BYTES: usize = 64;

/// Bytes of one world.
struct Bytes {
    memory: GridMemory,
    /// By the definition above.
    defined: usize,
    non_air: usize,
    dense: usize,
    palette: usize,
}

impl Bytes {
    fn of(world: &World) -> Bytes {
        let (mut dense, mut palette) = (DenseWorld::default(), PaletteWorld::default());
        let (mut rows, mut non_air) = (0, 0);
        for chunk in world.chunk_boxes() {
            rows += allocated_rows(&chunk);
            non_air += chunk.materials().iter().filter(|&&m| m != AIR).count();
            dense.add(&chunk);
            palette.add(&chunk);
        }
        let defined = world.chunks.len() * 1024 * ROW_HEADER + rows * ROW_BYTES;
        let memory = world.grid.memory();
        Bytes { memory, defined, non_air, dense: dense.bytes(), palette: palette.bytes() }
    }

    fn per_cell(&self, bytes: usize) -> f64 {
        bytes as f64 / self.non_air as f64
    }
}

/// Rows of a chunk's box that are not all full cells of one material.
fn allocated_rows(chunk: &DenseBox) -> usize {
    let materials = chunk.materials().chunks_exact(Row::CELLS);
    let rows = materials.zip(chunk.occupancies().chunks_exact(Row::CELLS));
    let allocated = |(material, occupancy): &(&[u8], &[u8])| {
        let full = if material[0] == AIR { 0 } else { 255 };
        material.iter().any(|&m| m != material[0]) || occupancy.iter().any(|&o| o != full)
    };
    rows.filter(allocated).count()
}

/// Measures `row_packed_overhead` and `chunk_bytes_all_vs_rows`.
pub fn run(report: &mut AreaReport, real: &Result<Vec<World>, String>, made: &[World]) {
    let mut lines = Vec::new();
    match real {
        Ok(places) => {
            let bytes: Vec<Bytes> = places.iter().map(Bytes::of).collect();
            figures(report, &bytes);
            places
                .iter()
                .zip(&bytes)
                .for_each(|(place, b)| add_lines(report, &mut lines, place, b));
        }
        Err(why) => {
            report.not_measured("row_packed_overhead", why);
            report.not_measured("chunk_bytes_all_vs_rows", why);
        }
    }
    made.iter().for_each(|world| add_lines(report, &mut lines, world, &Bytes::of(world)));
    report.details("bytes in memory, a cell that is not air", lines);
}

fn figures(report: &mut AreaReport, all: &[Bytes]) {
    let sum = |of: fn(&Bytes) -> usize| all.iter().map(of).sum::<usize>() as f64;
    let (mip_0, defined) = (sum(|b| b.memory.mip_0), sum(|b| b.defined));
    let note = format!(
        "{:.2} MB; beside them mips {:.2}, pages {:.2}, hash {:.3}, water {:.3} MB",
        mip_0 / 1e6,
        sum(|b| b.memory.mips) / 1e6,
        sum(|b| b.memory.pages_bytes) / 1e6,
        sum(|b| b.memory.hash) / 1e6,
        sum(|b| b.memory.water) / 1e6,
    );
    report.set_ratio("row_packed_overhead", mip_0 / defined, defined, note);
    let total = sum(|b| b.memory.total());
    let note = format!("{:.2} MB in all; {:.3} of our own mip 0", total / 1e6, total / mip_0);
    report.set_ratio("chunk_bytes_all_vs_rows", total / defined, defined, note);
}

fn add_lines(report: &mut AreaReport, lines: &mut Vec<ReportRow>, world: &World, bytes: &Bytes) {
    let GridMemory { chunks, uniform_chunks, stored_rows, .. } = bytes.memory;
    let mut line = |what: &str, size: usize, note: String| {
        let line = detail(format!("{}: {what}", world.name), bytes.per_cell(size), "B");
        lines.push(line.beside(bytes.per_cell(bytes.dense)).note(note));
    };
    let rows = stored_rows as f64 / (chunks as f64 * 1024.0);
    line(
        "row-packed, mip 0",
        bytes.memory.mip_0,
        format!("{chunks} chunks, {uniform_chunks} uniform, {:.1} % of rows", rows * 100.0),
    );
    let over = bytes.memory.mip_0 as f64 / bytes.defined as f64;
    line("row-packed, all", bytes.memory.total(), format!("mip 0 is {over:.3} of the definition"));
    line("palette 16³", bytes.palette, String::new());
    line("dense 32³", bytes.dense, format!("{} cells are not air", bytes.non_air));
    let what = format!("bytes a cell in memory, mips included, {}", world.name);
    let ours = bytes.per_cell(bytes.memory.total());
    for (name, size) in [("palette 16³", bytes.palette), ("dense 32³", bytes.dense)] {
        report.compare(&what, "B", Better::Less, ours, (name, bytes.per_cell(size)));
    }
}

#[cfg(test)]
mod tests {
    use terravox::voxel::{Cell, ChunkPos, GridOptions, VoxelGrid, VoxelPos};

    use super::*;

    #[test]
    fn rows_are_allocated_unless_all_their_cells_are_full_of_one_material() {
        let mut cells = DenseBox::new(ChunkPos::new(0, 0, 0).region());
        assert_eq!(allocated_rows(&cells), 0);
        cells.fill(4);
        assert_eq!(allocated_rows(&cells), 0);
        cells.set(VoxelPos::new(3, 4, 5), Cell::new(4, 254));
        cells.set(VoxelPos::new(3, 4, 6), Cell::full(5));
        cells.set(VoxelPos::new(9, 4, 6), Cell::AIR);
        assert_eq!(allocated_rows(&cells), 2);
    }

    #[test]
    fn the_definition_counts_listed_chunks_and_allocated_rows() {
        let mut grid = VoxelGrid::new(GridOptions::default());
        for x in 0..3 {
            let mut cells = DenseBox::new(ChunkPos::new(x, 0, 0).region());
            cells.set(VoxelPos::new(32 * x, x, 0), Cell::new(2, 9));
            grid.write(&cells).unwrap();
        }
        let bytes = Bytes::of(&World::new("test", grid));
        assert_eq!(bytes.defined, 3 * 2048 + 3 * 64);
        assert_eq!(bytes.non_air, 3);
        assert!(bytes.dense >= 3 * 65_536);
        assert!(bytes.memory.mip_0 >= 3 * 64);
    }
}
