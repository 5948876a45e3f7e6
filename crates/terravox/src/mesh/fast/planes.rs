//! The planes of all cells that stand around the corners: stencils by segments of 16
//! cells of rows that hold such a cell, planes eight at a time, thin cells one by one.

use std::ops::Range;

use crate::mesh::cells::Cells;
use crate::mesh::plane::{FILLS, Plane};
use crate::mesh::thin::thin_planes;

use super::machine::{Job, Lanes, Machine};
use super::rows::{Bits, Class, Grid, Ranked, and, any, bytes32, down, for_bits, not, or, row, up};

/// Cells in a segment.
const SEGMENT: usize = 16;

/// Cells of a box whose stencil values are computed all at once.
const AT_ONCE: usize = 8192;

/// Bytes that may be read behind a row.
const SLACK: usize = 64;

/// The planes and what they are made from.
#[derive(Debug, Default)]
pub(super) struct Planes {
    /// Stencil values of the rows that were needed, by cell; others are stale.
    values: Vec<u8>,
    /// Whether a row's stencil values are there.
    ready: Vec<bool>,
    /// Cells whose planes are not made yet.
    pending: Pending,
    /// Normal and distance by rank + 1; then eight a thin cell; then pairs for vertices
    /// at thin cells.
    pub planes: Vec<[f32; 4]>,
    /// Thin cells; empty if there is none. Their plane's last component holds the bits
    /// of the number of the first of their eight.
    pub thin: Vec<u64>,
}

/// Where planes come from.
pub(super) struct Source<'a, C> {
    pub grid: &'a Grid,
    pub materials: &'a [u8],
    pub occupancies: &'a [u8],
    /// Which materials are inside.
    pub class: Class<'a>,
    /// The rules, for cells that are out of the ordinary.
    pub cells: &'a C,
    pub inside: &'a [u64],
    /// None where it is all that is not inside.
    pub outside: Option<&'a [u64]>,
    /// Cells that need planes.
    pub wanted: &'a Ranked,
}

/// A plane as a table row.
fn as_row(plane: &Plane) -> [f32; 4] {
    [plane.normal[0], plane.normal[1], plane.normal[2], plane.distance]
}

/// FILLS as table rows.
static FILL_ROWS: [[f32; 4]; 256] = {
    let mut rows = [[0.0; 4]; 256];
    let mut stored = 0;
    while stored < 256 {
        let fill = FILLS[stored];
        rows[stored] = [fill.u, fill.slant, fill.scale, 0.0];
        stored += 1;
    }
    rows
};

impl Planes {
    /// Computes the planes of all wanted cells.
    pub(super) fn compute<M: Machine, C: Cells, const W: usize>(
        &mut self,
        m: M,
        source: &Source<'_, C>,
    ) {
        m.run(Gradients::<C, W> { planes: self, source });
        if source.outside.is_some() {
            self.mend_beside_ground::<C, W>(source);
        }
        self.thin_cells::<C, W>(source);
    }

    /// Planes, by the rules, of the cells that have cells which are neither inside nor
    /// outside around them.
    fn mend_beside_ground<C: Cells, const W: usize>(&mut self, source: &Source<'_, C>) {
        let [sx, _, sz] = source.grid.size;
        let Some(outside) = source.outside else { return };
        for r in 0..source.grid.rows() {
            let wanted: Bits<W> = row(&source.wanted.rows, r);
            if !any(wanted) {
                continue;
            }
            let mut ground = [0; W];
            for dy in 0..3 {
                for dz in 0..3 {
                    let n = r + dy * sz + dz - sz - 1;
                    ground = or(ground, not(or(row(source.inside, n), row(outside, n))));
                }
            }
            let beside = and(wanted, or(ground, or(up(ground), down(ground))));
            for_bits!(beside, |bit, k, b| {
                let at = source.wanted.at::<W>(r, k, b) as usize;
                let i = r * sx + bit;
                let plane = Plane::new(source.cells.gradient(i), source.occupancies[i]);
                self.planes[at + 1] = as_row(&plane);
            });
        }
    }

    /// Finds thin cells and appends their eight planes.
    fn thin_cells<C: Cells, const W: usize>(&mut self, source: &Source<'_, C>) {
        let [sx, _, sz] = source.grid.size;
        self.thin.clear();
        let out = |r: usize| -> Bits<W> {
            match source.outside {
                Some(outside) => row(outside, r),
                None => not(row(source.inside, r)),
            }
        };
        for r in 0..source.grid.rows() {
            let wanted: Bits<W> = row(&source.wanted.rows, r);
            if !any(wanted) {
                continue;
            }
            let level = out(r);
            let bare = or(
                and(up(level), down(level)),
                or(and(out(r - 1), out(r + 1)), and(out(r - sz), out(r + sz))),
            );
            let maybe = and(wanted, bare);
            for_bits!(maybe, |bit, k, b| {
                if let Some(planes) = thin_planes(source.cells, r * sx + bit) {
                    if self.thin.is_empty() {
                        self.thin.resize(source.grid.rows() * W, 0);
                    }
                    self.thin[W * r + k] |= 1 << b;
                    let at = source.wanted.at::<W>(r, k, b) as usize;
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

/// Cells whose gradients are kept until their planes are made, together: few enough for
/// the nearest cache.
const TOGETHER: usize = 256;

/// Gradients and stored occupancies of cells in the order of their ranks; what lies behind
/// `count` means nothing.
#[derive(Debug)]
struct Pending {
    x: [i16; TOGETHER + SEGMENT],
    y: [i16; TOGETHER + SEGMENT],
    z: [i16; TOGETHER + SEGMENT],
    fill: [u32; TOGETHER + SEGMENT],
    count: usize,
}

impl Default for Pending {
    fn default() -> Pending {
        let empty = [0; TOGETHER + SEGMENT];
        Pending { x: empty, y: empty, z: empty, fill: [0; TOGETHER + SEGMENT], count: 0 }
    }
}

/// Computes the planes of all wanted cells, as if every cell were inside or outside.
struct Gradients<'a, 'b, C, const W: usize> {
    planes: &'a mut Planes,
    source: &'a Source<'b, C>,
}

impl<C, const W: usize> Job for Gradients<'_, '_, C, W> {
    #[inline(always)]
    fn run<M: Machine>(self, m: M) {
        let Gradients { planes: Planes { values, ready, pending, planes, .. }, source } = self;
        let [sx, _, sz] = source.grid.size;
        let rows = source.grid.rows();
        let cells = source.materials.len();
        values.resize(cells + SLACK, 0);
        // Small boxes are done at once, of others only the rows that are needed.
        let at_once = cells <= AT_ONCE;
        if at_once {
            stencil_values(m, source, values, 0..cells);
        } else {
            ready.clear();
            ready.resize(rows, false);
        }
        // One before and one behind: of a pair along x, either cell may not be inside.
        planes.resize(1 + (source.wanted.count + 1).next_multiple_of(8), [0.0; 4]);
        planes[0] = [0.0; 4];
        let mut out = &mut planes[1..];
        pending.count = 0;
        for r in 0..rows {
            let wanted: Bits<W> = row(&source.wanted.rows, r);
            if !any(wanted) {
                continue;
            }
            for dy in (0..3).take(if at_once { 0 } else { 3 }) {
                let from = r + dy * sz - sz - 1;
                for row in from..from + 3 {
                    if !ready[row] {
                        ready[row] = true;
                        stencil_values(m, source, values, row * sx..row * sx + sx);
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
                    pending.put(&source.occupancies[at..], segment, here >> first);
                    if pending.count >= TOGETHER {
                        let (full, rest) = out.split_at_mut(TOGETHER);
                        solve(m, pending, full);
                        pending.keep_rest();
                        out = rest;
                    }
                }
            }
        }
        pending.pad();
        solve(m, pending, out);
    }
}

impl Pending {
    /// Appends the cells of a segment that are wanted, at least one of 16.
    #[inline(always)]
    fn put(&mut self, occupancies: &[u8], [x, y, z]: [[i16; SEGMENT]; 3], mut wanted: u64) {
        while wanted != 0 {
            let lane = wanted.trailing_zeros() as usize & (SEGMENT - 1);
            wanted &= wanted - 1;
            self.x[self.count] = x[lane];
            self.y[self.count] = y[lane];
            self.z[self.count] = z[lane];
            self.fill[self.count] = u32::from(occupancies[lane]);
            self.count += 1;
        }
    }

    /// Empty cells behind the last, so that whole vectors can be read.
    fn pad(&mut self) {
        let behind = self.count..(self.count + 8).min(TOGETHER + SEGMENT);
        self.x[behind.clone()].fill(0);
        self.y[behind.clone()].fill(0);
        self.z[behind.clone()].fill(0);
        self.fill[behind].fill(0);
    }

    /// Drops the first cells, which are done.
    fn keep_rest(&mut self) {
        self.x.copy_within(TOGETHER.., 0);
        self.y.copy_within(TOGETHER.., 0);
        self.z.copy_within(TOGETHER.., 0);
        self.fill.copy_within(TOGETHER.., 0);
        self.count -= TOGETHER;
    }
}

/// Computes the stencil values of some cells; what lies behind them in the last 32 bytes
/// comes out right too.
#[inline(always)]
fn stencil_values<M: Machine, C>(
    m: M,
    source: &Source<'_, C>,
    values: &mut [u8],
    cells: Range<usize>,
) {
    let (least, most) = match source.class {
        Class::AtLeast(least) => (least, 255),
        Class::Is(id) => (id, id),
        Class::Table(set) => {
            for i in cells {
                let value = source.occupancies[i].saturating_add(1);
                values[i] = if set[usize::from(source.materials[i])] { value } else { 0 };
            }
            return;
        }
    };
    let mut at = cells.start;
    while at < cells.end {
        let material = bytes32(source.materials, at);
        let stored = bytes32(source.occupancies, at);
        values[at..at + 32].copy_from_slice(&m.stencil(&material, &stored, least, most));
        at += 32;
    }
}

/// Planes from gradients, eight at a time; see [`Plane::new`].
#[inline(always)]
fn solve<M: Machine>(m: M, pending: &Pending, planes: &mut [[f32; 4]]) {
    let one = m.splat(1.0);
    let lists = pending.x.as_chunks::<8>().0.iter().zip(pending.y.as_chunks::<8>().0);
    let lists = lists.zip(pending.z.as_chunks::<8>().0).zip(pending.fill.as_chunks::<8>().0);
    for (out, (((x, y), z), fill)) in planes.as_chunks_mut::<8>().0.iter_mut().zip(lists) {
        let [u, slant, scale, _] = m.rows256(&FILL_ROWS, fill);
        let (x, y, z) = (m.load_i16(x), m.load_i16(y), m.load_i16(z));
        let length = ((x * x + y * y) + z * z).larger(one).sqrt();
        let (ax, ay, az) = (x.magnitude(), y.magnitude(), z.magnitude());
        let most = ax.larger(ay).larger(az);
        let sum = ax + ay + az;
        let spread = (most + (sum - most) * slant).larger(one);
        let k = scale / (length * spread).sqrt();
        m.put_rows([x * k, y * k, z * k, (k * length) * u], out);
    }
}
