//! Vertices, eight at a time: the planes of their cells are found by the ranks of bits,
//! summed octant by octant and solved in lanes, as [`place`](crate::mesh::place) does
//! one by one.

use crate::mesh::corner::CORNERS;
use crate::mesh::place::{
    CREASE, EVEN, EVENNESS_SCALE, LEAST_DETERMINANT, LEAST_TRACE, ROUNDING, SLIDE,
};

use super::simd::{Job, Lanes, Machine, Picked};

/// Per inside octants: where the vertex of the only sheet starts, the sheet's
/// direction, and the centre of what it may reach.
static MIDDLES: [[f32; 4]; 256] = sheet_rows(0);
static DIRECTIONS: [[f32; 4]; 256] = sheet_rows(1);
static CENTRES: [[f32; 4]; 256] = sheet_rows(2);

const fn sheet_rows(which: u8) -> [[f32; 4]; 256] {
    let mut rows = [[0.0; 4]; 256];
    let mut inside = 0;
    while inside < 256 {
        let sheet = &CORNERS[inside].sheets[0];
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
pub(super) struct Batch {
    /// Inside octants.
    pub inside: [u32; 8],
    /// Number of the plane of each octant, by octant; of those not inside, any.
    pub planes: [[u32; 8]; 8],
    /// Corner in the block, x, y, z.
    pub corner: [[f32; 8]; 3],
    /// 1 where a cell is thin, else 0.
    pub thin: [u32; 8],
    /// A third of the softness.
    pub softness_third: [f32; 8],
    /// See [`Firmness`](crate::mesh::place::Firmness).
    pub ridge: [f32; 8],
    /// 1 where the softness is infinite, else 0.
    pub smooth: [u32; 8],
    /// Added to the offset, for rubble.
    pub push: [[f32; 8]; 3],
    /// 1 where the vertex stays at its corner, else 0.
    pub blocky: [u32; 8],
    /// Whether any of the last two is set.
    pub shaped: bool,
}

impl Batch {
    pub(super) const fn new() -> Batch {
        Batch {
            inside: [0; 8],
            planes: [[0; 8]; 8],
            corner: [[0.0; 8]; 3],
            thin: [0; 8],
            softness_third: [0.0; 8],
            ridge: [0.0; 8],
            smooth: [0; 8],
            push: [[0.0; 8]; 3],
            blocky: [0; 8],
            shaped: false,
        }
    }
}

/// Positions and normals of eight vertices; the fourth components mean nothing.
pub(super) type Placed8 = [[[f32; 4]; 8]; 2];

macro_rules! dot {
    ($a:expr, $b:expr) => {
        ($a[0] * $b[0] + $a[1] * $b[1]) + $a[2] * $b[2]
    };
}

/// Places eight vertices.
pub(super) struct Place8<'a> {
    pub batch: &'a Batch,
    pub planes: &'a [[f32; 4]],
    pub out: &'a mut Placed8,
}

impl Job for Place8<'_> {
    #[inline(always)]
    fn run<M: Machine>(self, m: M) {
        place8(m, self.batch, &Picked::new(self.planes, &self.batch.planes), self.out);
    }
}

#[inline(always)]
fn place8<M: Machine>(m: M, batch: &Batch, planes: &Picked<'_>, out: &mut Placed8) {
    let zero = m.splat(0.0);
    let one = m.splat(1.0);
    let [mx, my, mz, _] = m.rows256(&MIDDLES, &batch.inside);
    let [dx, dy, dz, _] = m.rows256(&DIRECTIONS, &batch.inside);
    let middle = [mx, my, mz];

    let (mut xx, mut xy, mut xz, mut yy, mut yz, mut zz) = (zero, zero, zero, zero, zero, zero);
    let (mut bx, mut by, mut bz) = (zero, zero, zero);
    let (mut nx, mut ny, mut nz) = (zero, zero, zero);
    let (mut fx, mut fy, mut fz) = (zero, zero, zero);
    macro_rules! octant {
        ($octant:expr, $x:tt, $y:tt, $z:tt) => {
            let [x, y, z, d] = m.rows(planes, $octant);
            let facing = ((x * dx + y * dy) + z * dz).above(zero);
            let used = facing.and(m.any_bits(&batch.inside, 1 << $octant));
            let (x, y, z, d) = (x.and(used), y.and(used), z.and(used), d.and(used));
            let along = d + (((zero $x x) $y y) $z z);
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
            fx = fx + (x * d $x weight);
            fy = fy + (y * d $y weight);
            fz = fz + (z * d $z weight);
        };
    }
    octant!(0, -, -, -);
    octant!(1, +, -, -);
    octant!(2, -, -, +);
    octant!(3, +, -, +);
    octant!(4, -, +, -);
    octant!(5, +, +, -);
    octant!(6, -, +, +);
    octant!(7, +, +, +);

    // The unit normal.
    let has = dot!([nx, ny, nz], [nx, ny, nz]).above(zero);
    let raw = [nx.or_else(has, dx), ny.or_else(has, dy), nz.or_else(has, dz)];
    let square = dot!(raw, raw);
    let has = square.above(zero);
    let inverse = one / square.sqrt();
    let normal = [
        (raw[0] * inverse).or_else(has, zero),
        (raw[1] * inverse).or_else(has, one),
        (raw[2] * inverse).or_else(has, zero),
    ];

    // Where the planes meet.
    macro_rules! turned {
        ($v:expr) => {
            [dot!([xx, xy, xz], $v), dot!([xy, yy, yz], $v), dot!([xz, yz, zz], $v)]
        };
    }
    let trace = (xx + yy) + zz;
    let inverse = one / trace.larger(m.splat(LEAST_TRACE));
    let at = turned!(middle);
    let q = [
        middle[0] + (bx - at[0]) * inverse,
        middle[1] + (by - at[1]) * inverse,
        middle[2] + (bz - at[2]) * inverse,
    ];
    let at = turned!(q);
    let r = [bx - at[0], by - at[1], bz - at[2]];
    let soft = trace * m.load(&batch.softness_third);
    let (sx, sy, sz) = (xx + soft, yy + soft, zz + soft);
    let c00 = sy * sz - yz * yz;
    let c01 = xz * yz - xy * sz;
    let c02 = xy * yz - xz * sy;
    let c11 = sx * sz - xz * xz;
    let c12 = xy * xz - sx * yz;
    let c22 = sx * sy - xy * xy;
    let determinant = (sx * c00 + xy * c01) + xz * c02;
    let over = one / determinant.larger(m.splat(LEAST_DETERMINANT));
    let smooth = m.any_bits(&batch.smooth, 1);
    let met = [
        q[0].or_else(smooth, q[0] + dot!([c00, c01, c02], r) * over),
        q[1].or_else(smooth, q[1] + dot!([c01, c11, c12], r) * over),
        q[2].or_else(smooth, q[2] + dot!([c02, c12, c22], r) * over),
    ];

    // Settling by the feet.
    let parallel = dot!(turned!(normal), normal) * inverse;
    let even = ((parallel - m.splat(CREASE)) * m.splat(EVENNESS_SCALE)).larger(zero).smaller(one);
    let thin = m.any_bits(&batch.thin, 1);
    let ridge = zero.or_else(thin, m.load(&batch.ridge));
    let slide = zero.or_else(thin, m.splat(SLIDE));
    let across = even * (m.splat(EVEN) + ridge) - ridge;
    let away = [fx * inverse - met[0], fy * inverse - met[1], fz * inverse - met[2]];
    let step = (across - slide) * dot!(away, normal);
    let any = trace.above(zero);
    let centres = m.rows256(&CENTRES, &batch.inside);
    let mut position = [zero; 4];
    for axis in 0..3 {
        let settled = met[axis] + (slide * away[axis] + step * normal[axis]);
        let mut x = settled.or_else(any, met[axis]);
        if batch.shaped {
            x = zero.or_else(m.any_bits(&batch.blocky, 1), x) + m.load(&batch.push[axis]);
        }
        // One side only: that side's unit cell; both: three quarters either way.
        let reach = m.splat(1.5) - m.splat(0.5) * centres[axis].magnitude();
        let x = x.larger(centres[axis] - reach).smaller(centres[axis] + reach);
        let rounding = m.splat(ROUNDING);
        let offset = (x + rounding) - rounding;
        position[axis] = m.load(&batch.corner[axis]) + m.splat(0.5) * offset;
    }
    m.put_rows(position, &mut out[0]);
    m.put_rows([normal[0], normal[1], normal[2], zero], &mut out[1]);
}
