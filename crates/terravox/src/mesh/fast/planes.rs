//! The planes of all cells that stand around the corners: stencils by segments of 16
//! cells of rows that hold such a cell, planes eight at a time, thin cells one by one.

use crate::mesh::cells::Cells;
use crate::mesh::plane::{FILLS, Plane};
use crate::mesh::thin::thin_planes;

use super::rows::{Bits, Class, Grid, and, any, down, for_bits, not, or, rank, row, up};
use super::simd::{Lanes, Machine};

/// Cells in a segment.
const SEGMENT: usize = 16;

/// Bytes that may be read behind a row.
const SLACK: usize = 64;

/// The planes and what they are made from.
#[derive(Debug, Default)]
pub(super) struct Planes {
    /// Stencil values of the rows that were needed, by cell; others are stale.
    values: Vec<u8>,
    /// Whether a row's stencil values are there.
    ready: Vec<bool>,
    /// Falling gradients and stored occupancies by rank.
    x: Vec<i16>,
    y: Vec<i16>,
    z: Vec<i16>,
    fill: Vec<u32>,
    /// Normal and distance by rank; then eight a thin cell.
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
    pub wanted: &'a [u64],
    pub ranks: &'a [u32],
    /// How many they are.
    pub count: usize,
}

/// Offset of a plane's 16 bytes as a table row.
#[inline(always)]
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
    #[inline(always)]
    pub(super) fn compute<M: Machine, C: Cells, const W: usize>(
        &mut self,
        m: M,
        source: &Source<'_, C>,
    ) {
        let rows = source.grid.rows();
        self.ready.clear();
        self.ready.resize(rows, false);
        self.values.resize(source.materials.len() + SLACK, 0);
        self.x.clear();
        self.y.clear();
        self.z.clear();
        self.fill.clear();
        for list in [&mut self.x, &mut self.y, &mut self.z] {
            list.reserve(source.count + 8);
        }
        self.fill.reserve(source.count + 8);
        for r in 0..rows {
            let wanted: Bits<W> = row(source.wanted, r);
            if any(wanted) {
                self.row_gradients(source, r, wanted);
            }
        }
        if source.outside.is_some() {
            self.mend_beside_ground::<C, W>(source);
        }
        self.solve(m, source.count);
        self.thin_cells::<C, W>(source);
    }

    /// Gradients of the wanted cells of a row.
    #[inline(always)]
    fn row_gradients<C, const W: usize>(
        &mut self,
        source: &Source<'_, C>,
        r: usize,
        wanted: Bits<W>,
    ) {
        let [sx, _, sz] = source.grid.size;
        for dy in 0..3 {
            for dz in 0..3 {
                self.make_ready(source, r + dy * sz + dz - sz - 1);
            }
        }
        for k in 0..W {
            let mut left = wanted[k];
            while left != 0 {
                let first = left.trailing_zeros() as usize;
                let at = r * sx + 64 * k + first;
                let segment = sobel(&self.values, at, sx, sx * sz);
                let last = first + SEGMENT;
                let mut here = if last >= 64 { left } else { left & ((1 << last) - 1) };
                left &= !here;
                here >>= first;
                while here != 0 {
                    let lane = here.trailing_zeros() as usize & (SEGMENT - 1);
                    here &= here - 1;
                    self.x.push(segment[0][lane]);
                    self.y.push(segment[1][lane]);
                    self.z.push(segment[2][lane]);
                    self.fill.push(u32::from(source.occupancies[at + lane]));
                }
            }
        }
    }

    /// Computes the stencil values of row `r` if they are not there.
    #[inline(always)]
    fn make_ready<C>(&mut self, source: &Source<'_, C>, r: usize) {
        if self.ready[r] {
            return;
        }
        self.ready[r] = true;
        let sx = source.grid.size[0];
        let (from, to) = (r * sx, r * sx + sx);
        let materials = &source.materials[from..to];
        let occupancies = &source.occupancies[from..to];
        let values = &mut self.values[from..to];
        macro_rules! fill_values {
            (|$material:ident| $inside:expr) => {
                for i in 0..sx {
                    let $material = materials[i];
                    let value = occupancies[i].saturating_add(1);
                    values[i] = if $inside { value } else { 0 };
                }
            };
        }
        match source.class {
            Class::AtLeast(least) => fill_values!(|material| material >= least),
            Class::Is(id) => fill_values!(|material| material == id),
            Class::Table(set) => fill_values!(|material| set[usize::from(material)]),
        }
    }

    /// Gradients, by the rules, of the cells that have cells which are neither inside
    /// nor outside around them.
    #[inline(always)]
    fn mend_beside_ground<C: Cells, const W: usize>(&mut self, source: &Source<'_, C>) {
        let [sx, _, sz] = source.grid.size;
        let Some(outside) = source.outside else { return };
        for r in 0..source.grid.rows() {
            let wanted: Bits<W> = row(source.wanted, r);
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
                let at = rank::<W>(source.wanted, source.ranks, r, k, b) as usize;
                let [x, y, z] = source.cells.gradient(r * sx + bit);
                (self.x[at], self.y[at], self.z[at]) = (x as i16, y as i16, z as i16);
            });
        }
    }

    /// Planes from gradients, eight at a time; see [`Plane::new`].
    #[inline(always)]
    fn solve<M: Machine>(&mut self, m: M, count: usize) {
        // One more than there are: the rank behind the last cell is looked up too.
        let padded = (count + 1).next_multiple_of(8);
        for list in [&mut self.x, &mut self.y, &mut self.z] {
            list.resize(padded, 0);
        }
        self.fill.resize(padded, 0);
        self.planes.resize(padded, [0.0; 4]);
        let lists = self.x.as_chunks::<8>().0.iter().zip(self.y.as_chunks::<8>().0);
        let lists = lists.zip(self.z.as_chunks::<8>().0).zip(self.fill.as_chunks::<8>().0);
        for (out, (((x, y), z), fill)) in self.planes.as_chunks_mut::<8>().0.iter_mut().zip(lists) {
            let [u, slant, scale, _] = m.rows(&FILL_ROWS, fill);
            let (x, y, z) = (m.load_i16(x), m.load_i16(y), m.load_i16(z));
            let one = m.splat(1.0);
            let length = ((x * x + y * y) + z * z).larger(one).sqrt();
            let (ax, ay, az) = (x.magnitude(), y.magnitude(), z.magnitude());
            let most = ax.larger(ay).larger(az);
            let sum = ax + ay + az;
            let spread = (most + (sum - most) * slant).larger(one);
            let k = scale / (length * spread).sqrt();
            m.put_rows([x * k, y * k, z * k, (k * length) * u], out);
        }
    }

    /// Finds thin cells and appends their eight planes.
    #[inline(always)]
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
            let wanted: Bits<W> = row(source.wanted, r);
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
                    let at = rank::<W>(source.wanted, source.ranks, r, k, b) as usize;
                    let first = self.planes.len() as u32;
                    self.planes[at] = [0.0, 0.0, 0.0, f32::from_bits(first)];
                    for plane in &planes {
                        self.planes.push(as_row(plane));
                    }
                }
            });
        }
    }
}

/// Falling gradients of the 16 cells from `at` on; see [`Cells::gradient`].
#[inline(always)]
fn sobel(values: &[u8], at: usize, step_z: usize, step_y: usize) -> [[i16; SEGMENT]; 3] {
    let mut g = [[0i16; SEGMENT]; 3];
    for dy in 0..3 {
        let mut along = [0i16; SEGMENT];
        let mut smooth = [0i16; SEGMENT];
        let mut across = [0i16; SEGMENT];
        for dz in 0..3 {
            let from = at + dy * step_y + dz * step_z - step_y - step_z - 1;
            let cells = &values[from..from + SEGMENT + 2];
            for l in 0..SEGMENT {
                let (a, b, c) =
                    (i16::from(cells[l]), i16::from(cells[l + 1]), i16::from(cells[l + 2]));
                let (fall, sum) = (a - c, a + c + 2 * b);
                let weight = if dz == 1 { 2 } else { 1 };
                along[l] += weight * fall;
                smooth[l] += weight * sum;
                across[l] += (1 - dz as i16) * sum;
            }
        }
        for l in 0..SEGMENT {
            let weight = if dy == 1 { 2 } else { 1 };
            g[0][l] += weight * along[l];
            g[1][l] += (1 - dy as i16) * smooth[l];
            g[2][l] += weight * across[l];
        }
    }
    g
}
