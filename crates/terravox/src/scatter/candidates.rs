//! The points of the pattern over a part of a block, by column of cells.

use crate::voxel::Region;

use super::instance::{QUANTA, QUANTA_LOG2};
use super::pattern::{PERIOD, Pattern, PatternPoint, UNITS, hash};
use super::rule::{ScatterRule, level, level_share};

/// Cells beyond the part in which a triangle of it may lie: surfaces reach ¾ of a cell.
const BESIDE: i32 = 1;

/// A vertical line on which a thing may stand.
#[derive(Clone, Copy, Debug)]
pub(super) struct VerticalLine {
    /// Quanta from the block's min corner; odd.
    pub x: i32,
    /// Quanta from the block's min corner; odd.
    pub z: i32,
    /// See [`Instance::rank`](super::Instance::rank).
    pub rank: f32,
    /// Number of the rule.
    pub rule: u8,
    /// See [`Instance::id`](super::Instance::id).
    pub id: u64,
}

/// A part of a block.
#[derive(Clone, Copy, Debug)]
pub(super) struct Part {
    pub mip: u8,
    /// The block, in cells of the mip.
    pub block: Region,
    /// The part of it whose faces count.
    pub cells: Region,
}

/// Candidates by column. Reusable.
#[derive(Debug, Default)]
pub(super) struct Candidates {
    found: Vec<VerticalLine>,
    /// `found`, ordered by column.
    sorted: Vec<VerticalLine>,
    /// First of each column, x fastest, and the end.
    starts: Vec<u32>,
    /// The columns, in cells from the block's min corner.
    min: [i32; 2],
    size: [i32; 2],
}

impl Candidates {
    /// Finds the candidates of all rules.
    pub fn find(&mut self, rules: &[ScatterRule], pattern: &Pattern, part: Part) {
        self.found.clear();
        let near = part.cells.grow(BESIDE);
        let from = near.min - part.block.min;
        self.min = [from.x, from.z];
        self.size = [near.max.x - near.min.x, near.max.z - near.min.z];
        for (number, rule) in rules.iter().enumerate() {
            let share = rule.share(part.mip);
            if share > 0.0 {
                self.find_of(rule, number as u8, share, pattern, part);
            }
        }
        self.sort();
    }

    /// Those over the columns `x` of row `z`, in cells from the block's min corner; columns that
    /// are further outside have none.
    #[inline]
    pub fn row(&self, x: [i32; 2], z: i32) -> &[VerticalLine] {
        let low = (x[0] - self.min[0]).clamp(0, self.size[0]);
        let high = (x[1] + 1 - self.min[0]).clamp(0, self.size[0]);
        let z = z - self.min[1];
        if !(0..self.size[1]).contains(&z) {
            return &[];
        }
        let row = z * self.size[0];
        let from = self.starts[(row + low) as usize] as usize;
        let to = self.starts[(row + high) as usize] as usize;
        &self.sorted[from..to]
    }

    fn find_of(
        &mut self,
        rule: &ScatterRule,
        number: u8,
        share: f32,
        pattern: &Pattern,
        part: Part,
    ) {
        let frame = PatternFrame::new(rule, part.mip);
        let level = &pattern.levels[level(share)];
        let min = part.block.min;
        let origin = [min.x, min.z].map(|v| i64::from(v) * i64::from(QUANTA));
        let within = [0, 1].map(|axis| {
            let from = origin[axis] + i64::from(self.min[axis]) * i64::from(QUANTA);
            [from, from + i64::from(self.size[axis]) * i64::from(QUANTA)]
        });
        let [xs, zs] = [0, 1].map(|axis| frame.squares(within[axis], axis, level.square));
        for square_z in zs[0]..=zs[1] {
            for square_x in xs[0]..=xs[1] {
                let at = [square_x, square_z];
                let period = at.map(|v| v.div_euclid(level.edge()));
                let [x, z] = at.map(|v| v.rem_euclid(level.edge()) as usize);
                for point in level.points_in(x, z) {
                    let [x, z] = frame.place(point, period);
                    let is_in =
                        |v: i64, axis: usize| (within[axis][0]..within[axis][1]).contains(&v);
                    if !is_in(x, 0) || !is_in(z, 1) {
                        continue;
                    }
                    let id = frame.id(point, period);
                    let rank = rank(point, id);
                    if rank < share {
                        let [x, z] = [x - origin[0], z - origin[1]].map(|v| v as i32);
                        self.found.push(VerticalLine { x, z, rank, rule: number, id });
                    }
                }
            }
        }
    }

    /// Orders the candidates by column: counts, then places.
    fn sort(&mut self) {
        let columns = (self.size[0] * self.size[1]) as usize;
        self.starts.clear();
        self.starts.resize(columns + 1, 0);
        self.sorted.clear();
        self.sorted
            .resize(self.found.len(), VerticalLine { x: 0, z: 0, rank: 0.0, rule: 0, id: 0 });
        let ([min_x, min_z], width) = (self.min, self.size[0]);
        let column = |c: &VerticalLine| {
            (((c.x >> QUANTA_LOG2) - min_x) + width * ((c.z >> QUANTA_LOG2) - min_z)) as usize
        };
        // Counted one ahead, so that placing the candidates leaves the starts.
        self.found.iter().for_each(|c| self.starts[column(c)] += 1);
        let mut end = 0;
        for start in &mut self.starts {
            end += *start;
            *start = end;
        }
        for c in self.found.iter().rev() {
            let at = &mut self.starts[column(c)];
            *at -= 1;
            self.sorted[*at as usize] = *c;
        }
    }
}

/// Where the pattern of a rule lies among the cells of a mip.
#[derive(Clone, Copy, Debug)]
pub(super) struct PatternFrame {
    /// Quanta of the mip per unit of the pattern.
    quanta: f64,
    /// Units by which the pattern is moved, x and z.
    moved: [i64; 2],
    seed: u64,
}

impl PatternFrame {
    pub fn new(rule: &ScatterRule, mip: u8) -> PatternFrame {
        let seed = hash(rule.seed);
        let moved = [seed, seed >> 32].map(|bits| (bits & (PERIOD as u64 - 1)) as i64);
        let voxels = f64::from(rule.spacing_voxels) / UNITS as f64;
        // Powers of two are exact: points of all mips have the same bits before rounding.
        let quanta = voxels * f64::from(QUANTA) / f64::from(1u32 << mip);
        PatternFrame { quanta, moved, seed }
    }

    /// The squares, from and to, that hold all points of a range of quanta, along x or z.
    fn squares(&self, within: [i64; 2], axis: usize, square: i64) -> [i64; 2] {
        // A unit of slack for rounding on each side.
        let unit = |quanta: i64| floor(quanta as f64 / self.quanta) - self.moved[axis];
        [unit(within[0]) - 2, unit(within[1]) + 2].map(|v| v.div_euclid(square))
    }

    /// Where a point lies in a period of the pattern, in odd quanta of the world, x and z.
    pub fn place(&self, point: &PatternPoint, period: [i64; 2]) -> [i64; 2] {
        let place = |axis: usize, v: u16| {
            let units = period[axis] * PERIOD + i64::from(v) + self.moved[axis];
            floor(units as f64 * self.quanta) | 1
        };
        [place(0, point.x), place(1, point.z)]
    }

    /// The id of a point.
    pub fn id(&self, point: &PatternPoint, [x, z]: [i64; 2]) -> u64 {
        let place = (x as u64) << 32 ^ z as u64 & 0xffff_ffff;
        hash(hash(self.seed ^ place) ^ u64::from(point.index))
    }
}

/// The greatest integer up to `v`. Without SSE 4.1 `f64::floor` is a call.
#[inline]
pub(super) fn floor(v: f64) -> i64 {
    let toward_zero = v as i64;
    toward_zero - i64::from(toward_zero as f64 > v)
}

/// The rank of a point, of the ranks of its level, by its id.
pub(super) fn rank(point: &PatternPoint, id: u64) -> f32 {
    // 22 bits, so that 1 + 3 h is exact in an f32.
    let h = (id >> 42) as f32 / (1u32 << 22) as f32;
    let above = level_share(usize::from(point.level) + 1);
    match usize::from(point.level) + 1 == super::pattern::LEVELS {
        true => h * 4.0 * above,
        false => (1.0 + 3.0 * h) * above,
    }
}
