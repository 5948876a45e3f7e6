//! Box colliders of 64³ pieces of cubic terrain: boxes per solid cell, the share reused when one
//! cell is dug or filled, and the cost of such an update compared with a rebuild.

use terravox::boxes::{BoxColliders, BoxList, SolidOctree};
use terravox::generate::Hills;
use terravox::voxel::{
    Cell, Changes, DenseBox, GridOptions, Kind, Region, Snapshot, VoxelGrid, VoxelPos,
};

use crate::harness::{Entrant, RoundBudget, Timing, contest};
use crate::report::{AreaReport, detail};
use crate::worlds::{random::Lcg, rough};

/// Edge of a cube of boxes, as a power of two: what the library advises.
const CUBE_LOG2: u32 = 5;

/// Edits of one cell that a piece of terrain gets.
const EDITS: usize = 64;

/// Positions of the pieces of the hills, in pieces.
const PLACES: [[i32; 2]; 6] = [[0, 0], [3, -5], [-7, 2], [5, 6], [-2, -9], [11, 4]];

/// A 64³ piece of a world, moved to the origin, and edits of it.
struct TerrainPiece {
    name: String,
    before: Snapshot,
    solid_cells: u64,
    /// The cell that an edit writes, and the piece after that edit alone.
    edits: Vec<(Region, Snapshot)>,
}

impl TerrainPiece {
    fn new(name: String, grid: VoxelGrid) -> TerrainPiece {
        let mut octree = SolidOctree::default();
        let Ok(()) = octree.read(grid.as_snapshot(), cube_at([0; 3])) else {
            unreachable!("the piece is held whole")
        };
        let mut piece = TerrainPiece {
            name,
            before: grid.snapshot(),
            solid_cells: octree.solid_cells(),
            edits: Vec::new(),
        };
        piece.make_edits(grid);
        piece
    }

    /// Alternately digs random surface cells and fills random air cells next to the surface.
    fn make_edits(&mut self, mut grid: VoxelGrid) {
        let mut numbers = Lcg(7);
        let mut next = || numbers.bits() as i32 & 63;
        while self.edits.len() < EDITS {
            let at = VoxelPos::new(next(), next(), next());
            let solid = self.is_solid(at);
            let wanted = self.edits.len().is_multiple_of(2);
            let sides = [[1, 0, 0], [-1, 0, 0], [0, 1, 0], [0, -1, 0], [0, 0, 1], [0, 0, -1]];
            let beside = sides.map(|side| at + VoxelPos::from(side));
            let surface =
                beside.iter().any(|&p| cube_at([0; 3]).contains(p) && self.is_solid(p) != solid);
            if solid != wanted || !surface {
                continue;
            }
            let mut cell = DenseBox::new(Region::one(at));
            cell.set(at, if solid { Cell::AIR } else { Cell::full(8) });
            let mut old = DenseBox::default();
            let Ok(()) = grid.read(cell.region(), 0, &mut old) else { unreachable!() };
            let Ok(()) = grid.write(&cell) else { unreachable!("the piece is held whole") };
            self.edits.push((cell.region(), grid.snapshot()));
            let Ok(()) = grid.write(&old) else { unreachable!("the piece is held whole") };
        }
    }

    fn is_solid(&self, at: VoxelPos) -> bool {
        let Ok(cell) = self.before.cell(at) else { unreachable!("the piece is held whole") };
        self.before.materials().kind(cell.material) == Kind::Solid
    }

    /// All boxes, from nothing.
    fn build(&self, cube_log2: u32) -> (BoxColliders<u32>, BoxList) {
        let (mut colliders, mut list) = (BoxColliders::new(cube_log2), BoxList::default());
        colliders.update(&self.before, &Changes::Everything, &mut list);
        (colliders, list)
    }

    fn volumes(&self) -> usize {
        let mut octree = SolidOctree::default();
        let Ok(()) = octree.read(&self.before, cube_at([0; 3])) else { unreachable!() };
        octree.volumes().count()
    }
}

/// Pieces of the hills around their ground, and of the rough world with its caves.
fn pieces() -> Vec<TerrainPiece> {
    let hills = Hills::new(2026);
    let mut pieces = Vec::new();
    for [x, z] in PLACES {
        let ground = hills.height(f64::from(64 * x + 32), f64::from(64 * z + 32)) as i32;
        let cube = cube_at([64 * x, (ground - 32) >> 5 << 5, 64 * z]);
        let mut grid = VoxelGrid::new(GridOptions::default());
        let mut cells = DenseBox::new(cube);
        hills.fill(&mut cells, 0);
        cells.move_to(VoxelPos::ZERO);
        let Ok(()) = grid.write(&cells) else { unreachable!("unlisted chunks are air") };
        pieces.push(TerrainPiece::new(format!("hills {x}, {z}"), grid));
    }
    let rough = rough::grid([4, 4, 4]);
    for [x, z] in [[0, 0], [64, 64]] {
        let cube = cube_at([x, 64, z]);
        let mut cells = DenseBox::default();
        let Ok(()) = rough.read(cube, 0, &mut cells) else { unreachable!("it is held whole") };
        cells.move_to(VoxelPos::ZERO);
        let mut grid = VoxelGrid::new(GridOptions::default());
        let Ok(()) = grid.write(&cells) else { unreachable!("unlisted chunks are air") };
        pieces.push(TerrainPiece::new(format!("rough {x}, {z}"), grid));
    }
    pieces
}

fn cube_at(min: [i32; 3]) -> Region {
    let min = VoxelPos::from(min);
    Region { min, max: min + VoxelPos::splat(64) }
}

/// Statistics of the boxes of a piece.
struct BoxCounts {
    boxes: usize,
    per_solid_cell: f64,
    /// Mean over the edits of the share of boxes that stay.
    reused: f64,
    least_reused: f64,
    /// Mean number of calls of the sink for an edit.
    calls: f64,
}

fn count_boxes(piece: &TerrainPiece, cube_log2: u32) -> BoxCounts {
    let (mut colliders, mut list) = piece.build(cube_log2);
    let boxes = list.len();
    let (mut reused, mut least, mut calls) = (0.0, 1.0f64, 0);
    for (region, after) in &piece.edits {
        let changes = Changes::Regions(vec![*region]);
        let done = colliders.update(after, &changes, &mut list);
        let share = 1.0 - done.removed as f64 / boxes as f64;
        reused += share / piece.edits.len() as f64;
        least = least.min(share);
        calls += done.added + done.removed;
        colliders.update(&piece.before, &changes, &mut list);
    }
    BoxCounts {
        boxes,
        per_solid_cell: boxes as f64 / piece.solid_cells as f64,
        reused,
        least_reused: least,
        calls: calls as f64 / piece.edits.len() as f64,
    }
}

/// Times of a piece.
struct PieceTimes {
    /// Of all boxes.
    build: Timing,
    /// Of one edit.
    edit: Timing,
}

fn time(piece: &TerrainPiece, cube_log2: u32) -> PieceTimes {
    let (mut colliders, mut list) = piece.build(cube_log2);
    let edits: Vec<(Changes, &Snapshot)> = piece
        .edits
        .iter()
        .map(|(region, after)| (Changes::Regions(vec![*region]), after))
        .collect();
    let update = |_| {
        let mut calls = 0;
        for (changes, after) in &edits {
            for snapshot in [after, &piece.before] {
                let done = colliders.update(snapshot, changes, &mut list);
                calls += done.added + done.removed;
            }
        }
        calls as u64
    };
    let rebuild = |_| piece.build(cube_log2).1.len() as u64;
    let budget = RoundBudget { warm: true, ..RoundBudget::seconds(0.3) };
    let [build, mut edit] =
        contest(1, budget, [Entrant::new("all", rebuild), Entrant::new("edit", update)]);
    edit.min /= 2.0 * EDITS as f64;
    edit.median /= 2.0 * EDITS as f64;
    PieceTimes { build, edit }
}

/// Microseconds of making all boxes of a piece and of one edit, means over the pieces.
fn means(times: &[PieceTimes]) -> [f64; 2] {
    let mean = |of: fn(&PieceTimes) -> &Timing| {
        times.iter().map(|times| of(times).min * 1e6).sum::<f64>() / times.len() as f64
    };
    [mean(|times| &times.build), mean(|times| &times.edit)]
}

/// The largest of some values, and the name of its piece.
fn largest<'a>(values: impl Iterator<Item = (&'a TerrainPiece, f64)>) -> (&'a str, f64) {
    values.fold(
        ("", f64::MIN),
        |worst, (piece, value)| {
            if value > worst.1 { (&piece.name, value) } else { worst }
        },
    )
}

/// Measures this part.
pub fn run(report: &mut AreaReport) {
    let pieces = pieces();
    let found: Vec<BoxCounts> = pieces.iter().map(|piece| count_boxes(piece, CUBE_LOG2)).collect();
    let times: Vec<PieceTimes> = pieces.iter().map(|piece| time(piece, CUBE_LOG2)).collect();
    let each = || pieces.iter().zip(&found);
    let (name, value) = largest(each().map(|(piece, found)| (piece, found.per_solid_cell)));
    report.set("boxes_per_solid_cell", value, format!("{name}, the most of {}", pieces.len()));
    let (name, lost) = largest(each().map(|(piece, found)| (piece, 1.0 - found.reused)));
    let (least_name, least) =
        largest(each().map(|(piece, found)| (piece, 1.0 - found.least_reused)));
    let note = format!("{name}, the least of all; of one edit {:.4}, {least_name}", 1.0 - least);
    report.set("boxes_reused_share", 1.0 - lost, note);
    let ratio = |times: &PieceTimes| times.edit.min / times.build.min;
    let (name, worst) = largest(pieces.iter().zip(&times).map(|(p, t)| (p, ratio(t))));
    let [all, edit] = means(&times);
    let note = format!("{edit:.2} of {all:.1} µs, all pieces; {worst:.4} for {name}, the worst");
    report.set("boxes_update_vs_rebuild", edit / all, note);
    let lines = each().zip(&times).map(|((piece, found), PieceTimes { build, edit })| {
        let BoxCounts { boxes, calls, .. } = found;
        let note = format!(
            "{boxes} boxes, {} octree volumes, {} solid cells; all in {:.1} µs, an edit in {:.2} µs \
             with {calls:.1} calls; reused {:.4}, least {:.4}",
            piece.volumes(), piece.solid_cells, build.min * 1e6, edit.min * 1e6, found.reused,
            found.least_reused,
        );
        detail(piece.name.clone(), found.per_solid_cell, "boxes/cell").note(note)
    });
    report.details("box colliders of 64³ pieces, in cubes of 32³", lines.collect());
    cube_sizes(report, &pieces);
}

/// Measures the effect of the size of cubes, over all pieces.
fn cube_sizes(report: &mut AreaReport, pieces: &[TerrainPiece]) {
    let lines = (3..=6).map(|log2| {
        let found: Vec<BoxCounts> = pieces.iter().map(|piece| count_boxes(piece, log2)).collect();
        let times: Vec<PieceTimes> = pieces.iter().map(|piece| time(piece, log2)).collect();
        let boxes: usize = found.iter().map(|found| found.boxes).sum();
        let cells: u64 = pieces.iter().map(|piece| piece.solid_cells).sum();
        let reused = found.iter().map(|found| found.reused).fold(1.0, f64::min);
        let [all, edit] = means(&times);
        let note = format!(
            "{boxes} boxes; all of a piece in {all:.1} µs, an edit in {edit:.2} µs; reused {reused:.4} \
             at least"
        );
        detail(format!("cubes of {}³", 1 << log2), boxes as f64 / cells as f64, "boxes/cell")
            .note(note)
    });
    report.details("box colliders by size of cube, all pieces", lines.collect());
}
