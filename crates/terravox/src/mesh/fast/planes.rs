//! The planes of all cells around corners: gradients by segments of 16 cells, planes eight at a
//! time, thin cells one by one.

use std::ops::Range;

use crate::math::lanes::{F32x8, SimdJob};
use crate::mesh::rules::cells::SurfaceCells;
use crate::mesh::rules::plane::{CellPlane, OCCUPANCY_TERMS};
use crate::mesh::rules::thin::thin_planes;

use super::bits::{Bits, RankedRows, RowGrid, and, any, down, for_bits, not, or, row, up};
use super::class_rows::{ClassSet, bytes32};
use super::mesh_simd::MeshSimd;

/// Cells in a segment.
const SEGMENT: usize = 16;

/// Cells of the largest box whose stencil values are all computed.
const MAX_WHOLE_BOX_CELLS: usize = 8192;

/// Bytes that may be read after the last row.
const SLACK_BYTES: usize = 64;

/// The planes of cells, and memory to compute them.
#[derive(Debug, Default)]
pub(super) struct PlaneTable {
    /// Stencil values by cell, of the rows that were needed; others are stale.
    values: Vec<u8>,
    /// Whether a row's stencil values are computed.
    is_row_ready: Vec<bool>,
    /// Cells whose planes are not computed yet.
    pending: PendingCells,
    /// Normal and distance by rank + 1; then eight for each thin cell; then pairs for vertices
    /// at thin cells.
    pub planes: Vec<[f32; 4]>,
    /// Rows of thin cells; empty if no bit is set. The last component of such a cell's plane
    /// holds, as bits, the number of the first of its eight.
    pub thin: Vec<u64>,
}

/// The cells whose planes are computed.
pub(super) struct PlaneInput<'a, C> {
    pub grid: &'a RowGrid,
    pub classes: &'a [u8],
    pub occupancies: &'a [u8],
    /// Which classes are inside.
    pub set: ClassSet<'a>,
    /// For the rules, in special cases.
    pub cells: &'a C,
    pub inside: &'a [u64],
    /// `None` where it is all that is not inside.
    pub outside: Option<&'a [u64]>,
    /// Cells that need planes.
    pub wanted: &'a RankedRows,
}

/// Returns a plane as a table row.
fn as_row(plane: &CellPlane) -> [f32; 4] {
    [plane.normal[0], plane.normal[1], plane.normal[2], plane.distance]
}

/// [`OCCUPANCY_TERMS`] as table rows.
static OCCUPANCY_ROWS: [[f32; 4]; 256] = {
    let mut rows = [[0.0; 4]; 256];
    let mut stored = 0;
    while stored < 256 {
        let terms = OCCUPANCY_TERMS[stored];
        rows[stored] = [terms.u, terms.slant, terms.scale, 0.0];
        stored += 1;
    }
    rows
};

impl PlaneTable {
    /// Computes the planes of all wanted cells.
    pub(super) fn compute<M: MeshSimd, C: SurfaceCells, const W: usize>(
        &mut self,
        m: M,
        input: &PlaneInput<'_, C>,
    ) {
        m.run(ComputePlanes::<C, W> { table: self, input });
        if input.outside.is_some() {
            self.fix_beside_ground::<C, W>(input);
        }
        self.add_thin_cells::<C, W>(input);
    }

    /// Recomputes by the rules the planes of cells beside cells that are neither inside nor
    /// outside.
    fn fix_beside_ground<C: SurfaceCells, const W: usize>(&mut self, input: &PlaneInput<'_, C>) {
        let [sx, _, sz] = input.grid.size;
        let Some(outside) = input.outside else { return };
        for r in 0..input.grid.rows() {
            let wanted: Bits<W> = row(&input.wanted.rows, r);
            if !any(wanted) {
                continue;
            }
            let mut ground = [0; W];
            for dy in 0..3 {
                for dz in 0..3 {
                    let n = r + dy * sz + dz - sz - 1;
                    ground = or(ground, not(or(row(input.inside, n), row(outside, n))));
                }
            }
            let beside = and(wanted, or(ground, or(up(ground), down(ground))));
            for_bits!(beside, |bit, k, b| {
                let at = input.wanted.rank::<W>(r, k, b) as usize;
                let i = r * sx + bit;
                let plane = CellPlane::new(input.cells.gradient(i), input.occupancies[i]);
                self.planes[at + 1] = as_row(&plane);
            });
        }
    }

    /// Finds thin cells and appends their eight planes.
    fn add_thin_cells<C: SurfaceCells, const W: usize>(&mut self, input: &PlaneInput<'_, C>) {
        let [sx, _, sz] = input.grid.size;
        self.thin.clear();
        let out = |r: usize| -> Bits<W> {
            match input.outside {
                Some(outside) => row(outside, r),
                None => not(row(input.inside, r)),
            }
        };
        for r in 0..input.grid.rows() {
            let wanted: Bits<W> = row(&input.wanted.rows, r);
            if !any(wanted) {
                continue;
            }
            let level = out(r);
            let exposed = or(
                and(up(level), down(level)),
                or(and(out(r - 1), out(r + 1)), and(out(r - sz), out(r + sz))),
            );
            let candidates = and(wanted, exposed);
            for_bits!(candidates, |bit, k, b| {
                if let Some(planes) = thin_planes(input.cells, r * sx + bit) {
                    if self.thin.is_empty() {
                        self.thin.resize(input.grid.rows() * W, 0);
                    }
                    self.thin[W * r + k] |= 1 << b;
                    let at = input.wanted.rank::<W>(r, k, b) as usize;
                    let first = self.planes.len() as u32;
                    self.planes[at + 1] = [0.0, 0.0, 0.0, f32::from_bits(first)];
                    for plane in &planes {
                        self.planes.push(as_row(plane));
                    }
                }
            });
        }
    }
}

/// Cells whose planes are computed at a time: few enough for the L1 cache.
const CELLS_AT_ONCE: usize = 256;

/// Gradients and stored occupancies of cells in the order of their ranks; entries from `count`
/// on are unused.
#[derive(Debug)]
struct PendingCells {
    x: [i16; CELLS_AT_ONCE + SEGMENT],
    y: [i16; CELLS_AT_ONCE + SEGMENT],
    z: [i16; CELLS_AT_ONCE + SEGMENT],
    stored: [u32; CELLS_AT_ONCE + SEGMENT],
    count: usize,
}

impl Default for PendingCells {
    fn default() -> PendingCells {
        let empty = [0; CELLS_AT_ONCE + SEGMENT];
        PendingCells {
            x: empty,
            y: empty,
            z: empty,
            stored: [0; CELLS_AT_ONCE + SEGMENT],
            count: 0,
        }
    }
}

/// Computes the planes of all wanted cells, as if every cell were inside or outside.
struct ComputePlanes<'a, 'b, C, const W: usize> {
    table: &'a mut PlaneTable,
    input: &'a PlaneInput<'b, C>,
}

impl<M: MeshSimd, C, const W: usize> SimdJob<M> for ComputePlanes<'_, '_, C, W> {
    #[inline(always)]
    fn run(self, m: M) {
        let ComputePlanes { table, input } = self;
        let PlaneTable { values, is_row_ready, pending, planes, .. } = table;
        let [sx, _, sz] = input.grid.size;
        let rows = input.grid.rows();
        let cells = input.classes.len();
        values.resize(cells + SLACK_BYTES, 0);
        // Of large boxes only the rows that are needed.
        let is_whole_box = cells <= MAX_WHOLE_BOX_CELLS;
        if is_whole_box {
            stencil_values(m, input, values, 0..cells);
        } else {
            is_row_ready.clear();
            is_row_ready.resize(rows, false);
        }
        // One before and one after: of a pair along x, either cell may not be inside.
        planes.resize(1 + (input.wanted.count + 1).next_multiple_of(8), [0.0; 4]);
        planes[0] = [0.0; 4];
        let mut out = &mut planes[1..];
        pending.count = 0;
        for r in 0..rows {
            let wanted: Bits<W> = row(&input.wanted.rows, r);
            if !any(wanted) {
                continue;
            }
            for dy in (0..3).take(if is_whole_box { 0 } else { 3 }) {
                let from = r + dy * sz - sz - 1;
                for row in from..from + 3 {
                    if !is_row_ready[row] {
                        is_row_ready[row] = true;
                        stencil_values(m, input, values, row * sx..row * sx + sx);
                    }
                }
            }
            for k in 0..W {
                let mut left = wanted[k];
                while left != 0 {
                    let first = left.trailing_zeros() as usize;
                    let at = r * sx + 64 * k + first;
                    let around = &values[at - sx * sz - sx - 1..];
                    let segment = m.sobel(around, [sx, sx * sz]);
                    let last = first + SEGMENT;
                    let here = if last >= 64 { left } else { left & ((1 << last) - 1) };
                    left &= !here;
                    pending.push(&input.occupancies[at..], segment, here >> first);
                    if pending.count >= CELLS_AT_ONCE {
                        let (full, rest) = out.split_at_mut(CELLS_AT_ONCE);
                        planes_of(m, pending, full);
                        pending.remove_done();
                        out = rest;
                    }
                }
            }
        }
        pending.pad();
        planes_of(m, pending, out);
    }
}

impl PendingCells {
    /// Appends the wanted cells of a segment.
    #[inline(always)]
    fn push(&mut self, occupancies: &[u8], [x, y, z]: [[i16; SEGMENT]; 3], mut wanted: u64) {
        while wanted != 0 {
            let lane = wanted.trailing_zeros() as usize & (SEGMENT - 1);
            wanted &= wanted - 1;
            self.x[self.count] = x[lane];
            self.y[self.count] = y[lane];
            self.z[self.count] = z[lane];
            self.stored[self.count] = u32::from(occupancies[lane]);
            self.count += 1;
        }
    }

    /// Adds empty cells after the last, so that whole vectors can be read.
    fn pad(&mut self) {
        let after = self.count..(self.count + 8).min(CELLS_AT_ONCE + SEGMENT);
        self.x[after.clone()].fill(0);
        self.y[after.clone()].fill(0);
        self.z[after.clone()].fill(0);
        self.stored[after].fill(0);
    }

    /// Removes the first [`CELLS_AT_ONCE`] cells.
    fn remove_done(&mut self) {
        self.x.copy_within(CELLS_AT_ONCE.., 0);
        self.y.copy_within(CELLS_AT_ONCE.., 0);
        self.z.copy_within(CELLS_AT_ONCE.., 0);
        self.stored.copy_within(CELLS_AT_ONCE.., 0);
        self.count -= CELLS_AT_ONCE;
    }
}

/// Computes the stencil values of some cells, and correctly those after them up to a multiple
/// of 32.
#[inline(always)]
fn stencil_values<M: MeshSimd, C>(
    m: M,
    input: &PlaneInput<'_, C>,
    values: &mut [u8],
    cells: Range<usize>,
) {
    let (least, most) = match input.set {
        ClassSet::AtLeast(least) => (least, 255),
        ClassSet::Only(id) => (id, id),
        ClassSet::Listed(set) => {
            for i in cells {
                let value = input.occupancies[i].saturating_add(1);
                values[i] = if set[usize::from(input.classes[i])] { value } else { 0 };
            }
            return;
        }
    };
    let mut at = cells.start;
    while at < cells.end {
        let class = bytes32(input.classes, at);
        let stored = bytes32(input.occupancies, at);
        values[at..at + 32].copy_from_slice(&m.stencil(&class, &stored, least, most));
        at += 32;
    }
}

/// Computes planes from gradients, eight at a time, as [`CellPlane::new`] does.
#[inline(always)]
fn planes_of<M: MeshSimd>(m: M, pending: &PendingCells, planes: &mut [[f32; 4]]) {
    let one = m.splat(1.0);
    let lists = pending.x.as_chunks::<8>().0.iter().zip(pending.y.as_chunks::<8>().0);
    let lists = lists.zip(pending.z.as_chunks::<8>().0).zip(pending.stored.as_chunks::<8>().0);
    for (out, (((x, y), z), stored)) in planes.as_chunks_mut::<8>().0.iter_mut().zip(lists) {
        let [u, slant, scale, _] = m.rows256(&OCCUPANCY_ROWS, stored);
        let (x, y, z) = (m.load_i16(x), m.load_i16(y), m.load_i16(z));
        let length = ((x * x + y * y) + z * z).max(one).sqrt();
        let (ax, ay, az) = (x.abs(), y.abs(), z.abs());
        let most = ax.max(ay).max(az);
        let sum = ax + ay + az;
        let spread = (most + (sum - most) * slant).max(one);
        let k = scale / (length * spread).sqrt();
        m.store_rows([x * k, y * k, z * k, (k * length) * u], out);
    }
}
