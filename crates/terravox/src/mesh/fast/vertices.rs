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

/// Sums over the planes of eight vertices.
struct PlaneSums8<F> {
    /// The symmetric matrix A: xx, xy, xz, yy, yz, zz.
    matrix: [F; 6],
    /// The vector b.
    vector: [F; 3],
    normal: [F; 3],
    feet: [F; 3],
    trace: F,
    inverse_trace: F,
}

impl<F: F32x8> PlaneSums8<F> {
    #[inline(always)]
    fn new<M: MeshSimd<F = F>>(m: M, batch: &VertexBatch, planes: &RowPairs<'_>) -> PlaneSums8<F> {
        let low = sums4(m, batch, planes, 0);
        let high = sums4(m, batch, planes, 1);
        let mut sums = [m.splat(0.0); 15];
        for i in 0..15 {
            sums[i] = m.add_halves(low[i], high[i]);
        }
        let [xx, xy, xz, yy, yz, zz, bx, by, bz, nx, ny, nz, fx, fy, fz] = sums;
        let trace = (xx + yy) + zz;
        PlaneSums8 {
            matrix: [xx, xy, xz, yy, yz, zz],
            vector: [bx, by, bz],
            normal: [nx, ny, nz],
            feet: [fx, fy, fz],
            trace,
            inverse_trace: m.splat(1.0) / trace.max(m.splat(MIN_TRACE)),
        }
    }

    /// Returns A v.
    #[inline(always)]
    fn times(&self, v: [F; 3]) -> [F; 3] {
        let [xx, xy, xz, yy, yz, zz] = self.matrix;
        [dot!([xx, xy, xz], v), dot!([xy, yy, yz], v), dot!([xz, yz, zz], v)]
    }
}

#[inline(always)]
fn place8<M: MeshSimd>(
    m: M,
    batch: &VertexBatch,
    planes: &RowPairs<'_>,
    firmness: Option<Firmness>,
    out: &mut Placed8,
) {
    let sums = PlaneSums8::new(m, batch, planes);
    let [dx, dy, dz, _] = m.rows256(&DIRECTIONS, &batch.inside);
    let normal = unit_normal(m, sums.normal, [dx, dy, dz]);
    let start = meeting_point(m, batch, &sums, firmness);
    let settled = settle(m, batch, &sums, firmness, start, normal);
    let [x, y, z] = positions(m, batch, firmness, settled);
    let zero = m.splat(0.0);
    m.store_rows([x, y, z, zero], &mut out[0]);
    m.store_rows([normal[0], normal[1], normal[2], zero], &mut out[1]);
}

/// Returns the unit normals: of the mean, of the direction where that is 0, or upwards.
#[inline(always)]
fn unit_normal<M: MeshSimd>(m: M, mean: [M::F; 3], direction: [M::F; 3]) -> [M::F; 3] {
    let (zero, one) = (m.splat(0.0), m.splat(1.0));
    let has_mean = dot!(mean, mean).gt(zero);
    let mut raw = [zero; 3];
    for axis in 0..3 {
        raw[axis] = has_mean.select(mean[axis], direction[axis]);
    }
    let square = dot!(raw, raw);
    let has_length = square.gt(zero);
    let inverse = one / square.sqrt();
    [
        has_length.select(raw[0] * inverse, zero),
        has_length.select(raw[1] * inverse, one),
        has_length.select(raw[2] * inverse, zero),
    ]
}

/// Returns the offsets at which the planes meet.
#[inline(always)]
fn meeting_point<M: MeshSimd>(
    m: M,
    batch: &VertexBatch,
    sums: &PlaneSums8<M::F>,
    firmness: Option<Firmness>,
) -> [M::F; 3] {
    let [xx, xy, xz, yy, yz, zz] = sums.matrix;
    let [bx, by, bz] = sums.vector;
    let [mx, my, mz, _] = m.rows256(&MIDDLES, &batch.inside);
    let at = sums.times([mx, my, mz]);
    let q = [
        mx + (bx - at[0]) * sums.inverse_trace,
        my + (by - at[1]) * sums.inverse_trace,
        mz + (bz - at[2]) * sums.inverse_trace,
    ];
    let at = sums.times(q);
    let r = [bx - at[0], by - at[1], bz - at[2]];
    let third = match firmness {
        Some(Firmness { softness_third: None, .. }) => return q,
        Some(Firmness { softness_third: Some(third), .. }) => m.splat(third),
        None => m.load(&batch.shapes.softness_third),
    };
    let soft = sums.trace * third;
    let (sx, sy, sz) = (xx + soft, yy + soft, zz + soft);
    let c00 = sy * sz - yz * yz;
    let c01 = xz * yz - xy * sz;
    let c02 = xy * yz - xz * sy;
    let c11 = sx * sz - xz * xz;
    let c12 = xy * xz - sx * yz;
    let c22 = sx * sy - xy * xy;
    let determinant = (sx * c00 + xy * c01) + xz * c02;
    let over = m.splat(1.0) / determinant.max(m.splat(MIN_DETERMINANT));
    let mut start = [
        q[0] + dot!([c00, c01, c02], r) * over,
        q[1] + dot!([c01, c11, c12], r) * over,
        q[2] + dot!([c02, c12, c22], r) * over,
    ];
    if firmness.is_none() {
        let smooth = m.any_bits(&batch.shapes.smooth, 1);
        for axis in 0..3 {
            start[axis] = smooth.select(q[axis], start[axis]);
        }
    }
    start
}

/// Returns the offsets after the moves relative to the feet: along the normal, and across it.
#[inline(always)]
fn settle<M: MeshSimd>(
    m: M,
    batch: &VertexBatch,
    sums: &PlaneSums8<M::F>,
    firmness: Option<Firmness>,
    start: [M::F; 3],
    normal: [M::F; 3],
) -> [M::F; 3] {
    let (zero, one, inverse) = (m.splat(0.0), m.splat(1.0), sums.inverse_trace);
    let ridge = match firmness {
        Some(firmness) => m.splat(firmness.ridge),
        None => m.load(&batch.shapes.ridge),
    };
    let parallel = dot!(sums.times(normal), normal) * inverse;
    let smooth = (parallel - m.splat(CREASE_COSINE)) * m.splat(SMOOTHNESS_SCALE);
    let smooth = smooth.max(zero).min(one);
    let thin = m.any_bits(&batch.thin, 1);
    let ridge = thin.select(zero, ridge);
    let slide = thin.select(zero, m.splat(SLIDE));
    let across = smooth * (m.splat(PULL_BACK) + ridge) - ridge;
    let mut away = [zero; 3];
    for axis in 0..3 {
        away[axis] = sums.feet[axis] * inverse - start[axis];
    }
    let step = (across - slide) * dot!(away, normal);
    let has_planes = sums.trace.gt(zero);
    let mut settled = [zero; 3];
    for axis in 0..3 {
        let moved = start[axis] + (slide * away[axis] + step * normal[axis]);
        settled[axis] = has_planes.select(moved, start[axis]);
    }
    settled
}

/// Returns the positions in the block: offsets are clamped to the cells and rounded.
#[inline(always)]
fn positions<M: MeshSimd>(
    m: M,
    batch: &VertexBatch,
    firmness: Option<Firmness>,
    offsets: [M::F; 3],
) -> [M::F; 3] {
    let zero = m.splat(0.0);
    let centres = m.rows256(&CENTRES, &batch.inside);
    let mut positions = [zero; 3];
    for axis in 0..3 {
        let mut x = offsets[axis];
        if firmness.is_none() {
            let blocky = m.any_bits(&batch.shapes.blocky, 1);
            x = blocky.select(zero, x) + m.load(&batch.shapes.push[axis]);
        }
        // Cells on one side: that side's unit cell; on both: three quarters either way.
        let reach = m.splat(1.5) - m.splat(0.5) * centres[axis].abs();
        let x = x.max(centres[axis] - reach).min(centres[axis] + reach);
        let rounding = m.splat(ROUNDING);
        let offset = (x + rounding) - rounding;
        positions[axis] = m.load(&batch.corner[axis]) + m.splat(0.5) * offset;
    }
    positions
}
