//! Places vertices eight at a time: the planes of their cells are looked up, summed octant by
//! octant and solved in lanes, as [`place`](crate::mesh::rules::place) does one by one.

use crate::math::lanes::{F32x8, SimdJob};
use crate::mesh::rules::corner::SHEETS;
use crate::mesh::rules::place::{
    CREASE_COSINE, Firmness, MIN_DETERMINANT, MIN_TRACE, PULL_BACK, ROUNDING, SLIDE,
    SMOOTHNESS_SCALE,
};

use super::mesh_simd::{MeshSimd, RowPairs};

// By inside octants: the initial offset of the vertex of the only sheet, the sheet's
// direction, and the centre of the offset's bounds.
static MIDDLES: [[f32; 4]; 256] = sheet_rows(0);
static DIRECTIONS: [[f32; 4]; 256] = sheet_rows(1);
static CENTRES: [[f32; 4]; 256] = sheet_rows(2);

const fn sheet_rows(which: u8) -> [[f32; 4]; 256] {
    let mut rows = [[0.0; 4]; 256];
    let mut inside = 0;
    while inside < 256 {
        let sheet = &SHEETS[inside][0];
        let mut axis = 0;
        while axis < 3 {
            rows[inside][axis] = match which {
                0 => sheet.middle[axis],
                1 => sheet.direction[axis],
                _ => 0.5 * (sheet.low[axis] + sheet.high[axis]),
            };
            axis += 1;
        }
        inside += 1;
    }
    rows
}

/// Eight vertices to be placed.
#[derive(Clone, Copy)]
pub(super) struct VertexBatch {
    /// Inside octants.
    pub inside: [u32; 8],
    /// By row around the corner: the number of the plane of the cell at low x, one less than
    /// that of the cell at high x. Any for cells that are not inside.
    pub planes: [[u32; 8]; 4],
    /// Corner in the block, x, y, z.
    pub corner: [[f32; 8]; 3],
    /// 1 where a cell is thin, else 0.
    pub thin: [u32; 8],
    /// Used if the shapes differ.
    pub shapes: BatchShapes,
}

/// How the shapes of eight vertices place them.
#[derive(Clone, Copy)]
pub(super) struct BatchShapes {
    /// A third of the softness; 0 where it is infinite.
    pub softness_third: [f32; 8],
    /// See [`Firmness`].
    pub ridge: [f32; 8],
    /// 1 where the softness is infinite, else 0.
    pub smooth: [u32; 8],
    /// 1 where the vertex stays at its corner, else 0.
    pub blocky: [u32; 8],
    /// Added to the doubled offset, for rubble.
    pub push: [[f32; 8]; 3],
}

impl VertexBatch {
    pub(super) const EMPTY: VertexBatch = VertexBatch {
        inside: [0; 8],
        planes: [[0; 8]; 4],
        corner: [[0.0; 8]; 3],
        thin: [0; 8],
        shapes: BatchShapes {
            softness_third: [0.0; 8],
            ridge: [0.0; 8],
            smooth: [0; 8],
            blocky: [0; 8],
            push: [[0.0; 8]; 3],
        },
    };
}

/// Positions and normals of eight vertices; the fourth components are unused.
pub(super) type Placed8 = [[[f32; 4]; 8]; 2];

macro_rules! dot {
    ($a:expr, $b:expr) => {
        ($a[0] * $b[0] + $a[1] * $b[1]) + $a[2] * $b[2]
    };
}

/// Places batches of vertices.
pub(super) struct PlaceBatches<'a> {
    pub batches: &'a [VertexBatch],
    pub planes: &'a [[f32; 4]],
    /// Of the shape of all vertices, if they have the same; `None` for rubble and blocky.
    pub firmness: Option<Firmness>,
    pub out: &'a mut [Placed8],
}

impl<M: MeshSimd> SimdJob<M> for PlaceBatches<'_> {
    #[inline(always)]
    fn run(self, m: M) {
        for (batch, out) in self.batches.iter().zip(self.out) {
            let pairs = RowPairs::new(self.planes, &batch.planes);
            place8(m, batch, &pairs, self.firmness, out);
        }
    }
}

/// Returns the sums of four vertices, over octants at low x in the low lanes, at high x in the
/// high lanes: A, b, normal, feet.
#[inline(always)]
fn sums4<M: MeshSimd>(m: M, batch: &VertexBatch, planes: &RowPairs<'_>, half: usize) -> [M::F; 15] {
    let zero = m.splat(0.0);
    let low_negative = m.load(&[-0.0, -0.0, -0.0, -0.0, 0.0, 0.0, 0.0, 0.0]);
    let [dx, dy, dz, _] = m.rows256_twice(&DIRECTIONS, &batch.inside, half);
    let (mut xx, mut xy, mut xz, mut yy, mut yz, mut zz) = (zero, zero, zero, zero, zero, zero);
    let (mut bx, mut by, mut bz) = (zero, zero, zero);
    let (mut nx, mut ny, mut nz) = (zero, zero, zero);
    let (mut fx, mut fy, mut fz) = (zero, zero, zero);
    macro_rules! row {
        ($row:expr, $y:tt, $z:tt) => {
            let [x, y, z, d] = m.pairs(planes, $row, half);
            let facing = ((x * dx + y * dy) + z * dz).gt(zero);
            let bits = [1 << (2 * $row), 2 << (2 * $row)];
            let used = facing.and(m.any_bits_twice(&batch.inside, half, bits));
            let (x, y, z, d) = (x.and(used), y.and(used), z.and(used), d.and(used));
            let along = d + ((x.xor(low_negative) $y y) $z z);
            let (x2, y2, z2) = (x * x, y * y, z * z);
            let weight = (x2 + y2) + z2;
            xx = xx + x2;
            xy = xy + x * y;
            xz = xz + x * z;
            yy = yy + y2;
            yz = yz + y * z;
            zz = zz + z2;
            bx = bx + x * along;
            by = by + y * along;
            bz = bz + z * along;
            nx = nx + x;
            ny = ny + y;
            nz = nz + z;
            fx = fx + (x * d + weight.xor(low_negative));
            fy = fy + (y * d $y weight);
            fz = fz + (z * d $z weight);
        };
    }
    row!(0, -, -);
    row!(1, -, +);
    row!(2, +, -);
    row!(3, +, +);
    [xx, xy, xz, yy, yz, zz, bx, by, bz, nx, ny, nz, fx, fy, fz]
}

#[inline(always)]
fn place8<M: MeshSimd>(
    m: M,
    batch: &VertexBatch,
    planes: &RowPairs<'_>,
    firmness: Option<Firmness>,
    out: &mut Placed8,
) {
    let zero = m.splat(0.0);
    let one = m.splat(1.0);
    let low = sums4(m, batch, planes, 0);
    let high = sums4(m, batch, planes, 1);
    let mut sums = [zero; 15];
    for i in 0..15 {
        sums[i] = m.add_halves(low[i], high[i]);
    }
    let [xx, xy, xz, yy, yz, zz, bx, by, bz, nx, ny, nz, fx, fy, fz] = sums;
    let [mx, my, mz, _] = m.rows256(&MIDDLES, &batch.inside);
    let [dx, dy, dz, _] = m.rows256(&DIRECTIONS, &batch.inside);
    let middle = [mx, my, mz];

    // The unit normal.
    let has_mean = dot!([nx, ny, nz], [nx, ny, nz]).gt(zero);
    let raw = [has_mean.select(nx, dx), has_mean.select(ny, dy), has_mean.select(nz, dz)];
    let square = dot!(raw, raw);
    let has_length = square.gt(zero);
    let inverse = one / square.sqrt();
    let normal = [
        has_length.select(raw[0] * inverse, zero),
        has_length.select(raw[1] * inverse, one),
        has_length.select(raw[2] * inverse, zero),
    ];

    // Where the planes meet.
    macro_rules! turned {
        ($v:expr) => {
            [dot!([xx, xy, xz], $v), dot!([xy, yy, yz], $v), dot!([xz, yz, zz], $v)]
        };
    }
    let trace = (xx + yy) + zz;
    let inverse = one / trace.max(m.splat(MIN_TRACE));
    let at = turned!(middle);
    let q = [
        middle[0] + (bx - at[0]) * inverse,
        middle[1] + (by - at[1]) * inverse,
        middle[2] + (bz - at[2]) * inverse,
    ];
    let at = turned!(q);
    let r = [bx - at[0], by - at[1], bz - at[2]];
    let third = match firmness {
        Some(firmness) => m.splat(firmness.softness_third.unwrap_or(0.0)),
        None => m.load(&batch.shapes.softness_third),
    };
    let soft = trace * third;
    let (sx, sy, sz) = (xx + soft, yy + soft, zz + soft);
    let c00 = sy * sz - yz * yz;
    let c01 = xz * yz - xy * sz;
    let c02 = xy * yz - xz * sy;
    let c11 = sx * sz - xz * xz;
    let c12 = xy * xz - sx * yz;
    let c22 = sx * sy - xy * xy;
    let determinant = (sx * c00 + xy * c01) + xz * c02;
    let over = one / determinant.max(m.splat(MIN_DETERMINANT));
    let mut start = [
        q[0] + dot!([c00, c01, c02], r) * over,
        q[1] + dot!([c01, c11, c12], r) * over,
        q[2] + dot!([c02, c12, c22], r) * over,
    ];
    let ridge = match firmness {
        Some(firmness) => {
            if firmness.softness_third.is_none() {
                start = q;
            }
            m.splat(firmness.ridge)
        }
        None => {
            let smooth = m.any_bits(&batch.shapes.smooth, 1);
            for axis in 0..3 {
                start[axis] = smooth.select(q[axis], start[axis]);
            }
            m.load(&batch.shapes.ridge)
        }
    };

    // Moves relative to the feet.
    let parallel = dot!(turned!(normal), normal) * inverse;
    let smooth = (parallel - m.splat(CREASE_COSINE)) * m.splat(SMOOTHNESS_SCALE);
    let smooth = smooth.max(zero).min(one);
    let thin = m.any_bits(&batch.thin, 1);
    let ridge = thin.select(zero, ridge);
    let slide = thin.select(zero, m.splat(SLIDE));
    let across = smooth * (m.splat(PULL_BACK) + ridge) - ridge;
    let away = [fx * inverse - start[0], fy * inverse - start[1], fz * inverse - start[2]];
    let step = (across - slide) * dot!(away, normal);
    let has_planes = trace.gt(zero);
    let centres = m.rows256(&CENTRES, &batch.inside);
    let mut position = [zero; 4];
    for axis in 0..3 {
        let settled = start[axis] + (slide * away[axis] + step * normal[axis]);
        let mut x = has_planes.select(settled, start[axis]);
        if firmness.is_none() {
            let blocky = m.any_bits(&batch.shapes.blocky, 1);
            x = blocky.select(zero, x) + m.load(&batch.shapes.push[axis]);
        }
        // Cells on one side: that side's unit cell; on both: three quarters either way.
        let reach = m.splat(1.5) - m.splat(0.5) * centres[axis].abs();
        let x = x.max(centres[axis] - reach).min(centres[axis] + reach);
        let rounding = m.splat(ROUNDING);
        let offset = (x + rounding) - rounding;
        position[axis] = m.load(&batch.corner[axis]) + m.splat(0.5) * offset;
    }
    m.store_rows(position, &mut out[0]);
    m.store_rows([normal[0], normal[1], normal[2], zero], &mut out[1]);
}
