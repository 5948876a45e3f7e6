//! The pattern: points of a torus that are apart from each other, with sparser subsets.
//!
//! Hierarchical dart throwing: points 8 spacings apart first, until few more fit, then among them
//! those that are 4 spacings from all, and so on. Integers only, so that all machines have the
//! same pattern. Its seed is fixed; rules move it.

use crate::math::{MIXED_STEP, mixed};

/// Units of a spacing.
pub(super) const UNITS: i64 = 1024;

/// Binary logarithm of the edge of the pattern in spacings.
const EDGE_LOG2: u32 = 6;

/// Units along an edge: what fits a `u16`.
pub(super) const PERIOD: i64 = UNITS << EDGE_LOG2;

/// Subsets: of level k are points that are 2^k spacings apart.
pub(super) const LEVELS: usize = 4;

/// Units that points are further apart than asked, for what rounding to a cell's quanta takes.
const SLACK: i64 = 3;

/// Darts per square of the level's distance; with 16 the pattern has 0.62 points in each, where
/// no more than 0.7 fit.
const DARTS: u64 = 16;

/// A point of the pattern.
#[derive(Clone, Copy, Debug)]
pub(super) struct PatternPoint {
    /// Units.
    pub x: u16,
    /// Units.
    pub z: u16,
    /// Number in the pattern.
    pub index: u16,
    /// The sparsest subset that has it.
    pub level: u8,
}

/// The points of a level and of all sparser ones, by square.
#[derive(Debug)]
pub(super) struct PatternLevel {
    /// Units along a square's edge: the distance of the level.
    pub square: i64,
    /// First point of each square, x fastest, and the end.
    starts: Vec<u16>,
    points: Vec<PatternPoint>,
}

/// All levels, densest first.
#[derive(Debug)]
pub(super) struct Pattern {
    pub levels: [PatternLevel; LEVELS],
}

impl PatternLevel {
    fn new(level: usize, all: &[PatternPoint]) -> PatternLevel {
        let square = UNITS << level;
        let edge = (PERIOD / square) as usize;
        let of = |p: &PatternPoint| {
            let [x, z] = [p.x, p.z].map(|v| (i64::from(v) / square) as usize);
            x + edge * z
        };
        let mut points: Vec<_> =
            all.iter().copied().filter(|p| usize::from(p.level) >= level).collect();
        points.sort_by_key(of);
        let mut starts = vec![0; edge * edge + 1];
        points.iter().for_each(|p| starts[of(p) + 1] += 1);
        for i in 0..edge * edge {
            starts[i + 1] += starts[i];
        }
        PatternLevel { square, starts, points }
    }

    /// Squares along an edge of the pattern.
    pub fn edge(&self) -> i64 {
        PERIOD / self.square
    }

    /// The points in square (x, z) of the pattern.
    #[inline]
    pub fn points_in(&self, x: usize, z: usize) -> &[PatternPoint] {
        let at = x + self.edge() as usize * z;
        &self.points[usize::from(self.starts[at])..usize::from(self.starts[at + 1])]
    }

    /// All points of the level.
    #[cfg(test)]
    pub fn points(&self) -> &[PatternPoint] {
        &self.points
    }
}

impl Pattern {
    pub fn new() -> Pattern {
        let mut points = Vec::new();
        for level in (0..LEVELS).rev() {
            throw(level, &mut points);
        }
        Pattern { levels: std::array::from_fn(|level| PatternLevel::new(level, &points)) }
    }
}

/// Adds points of a level to those of sparser ones.
fn throw(level: usize, points: &mut Vec<PatternPoint>) {
    let apart = (UNITS << level) + SLACK;
    // Squares of two distances, so that all points within one lie in 3 × 3 of them.
    let log2 = UNITS.trailing_zeros() + 1 + level as u32;
    let edge = (PERIOD >> log2) as usize;
    let mut squares = vec![Vec::new(); edge * edge];
    let square = |v: u16| usize::from(v) >> log2;
    for p in &*points {
        squares[square(p.x) + edge * square(p.z)].push([p.x, p.z]);
    }
    let darts = DARTS << (2 * (EDGE_LOG2 - level as u32));
    for dart in 0..darts {
        let h = hash((level as u64) << 32 | dart);
        let [x, z] = [h as u16, (h >> 16) as u16];
        // On a torus the difference of two positions wraps as integers of 16 bits do.
        let is_near = |p: &[u16; 2]| {
            let [dx, dz] =
                [x.wrapping_sub(p[0]), z.wrapping_sub(p[1])].map(|d| i64::from(d as i16));
            dx * dx + dz * dz < apart * apart
        };
        let around = [edge - 1, 0, 1];
        let has_near = around.iter().any(|dz| {
            around.iter().any(|dx| {
                let [sx, sz] = [square(x) + dx, square(z) + dz].map(|v| v % edge);
                squares[sx + edge * sz].iter().any(is_near)
            })
        });
        if !has_near {
            squares[square(x) + edge * square(z)].push([x, z]);
            points.push(PatternPoint { x, z, index: points.len() as u16, level: level as u8 });
        }
    }
}

/// A number of SplitMix64: every bit of it depends on every bit of `v`.
#[inline]
pub(super) fn hash(v: u64) -> u64 {
    mixed(v.wrapping_add(MIXED_STEP))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn points_of_each_level_are_apart_and_leave_no_gap() {
        let pattern = Pattern::new();
        for (k, level) in pattern.levels.iter().enumerate() {
            let distance = UNITS << k;
            let points = level.points();
            let apart = points.iter().enumerate().map(|(i, a)| {
                let others = points[..i].iter();
                let square = |b: &PatternPoint| {
                    let [x, z] =
                        [a.x.wrapping_sub(b.x), a.z.wrapping_sub(b.z)].map(|d| i64::from(d as i16));
                    x * x + z * z
                };
                others.map(square).min().unwrap_or(i64::MAX)
            });
            let nearest = apart.min().expect("there are points");
            assert!(nearest > distance * distance, "level {k}: {nearest}");
            let each = points.len() as i64 * distance * distance;
            let share = each as f64 / (PERIOD * PERIOD) as f64;
            assert!((0.58..0.7).contains(&share), "level {k}: {share}");
        }
    }

    #[test]
    fn squares_hold_their_points_and_all_of_them() {
        for level in &Pattern::new().levels {
            let mut found = 0;
            for (x, z) in (0..level.edge()).flat_map(|x| (0..level.edge()).map(move |z| (x, z))) {
                for p in level.points_in(x as usize, z as usize) {
                    assert_eq!([p.x, p.z].map(|v| i64::from(v).div_euclid(level.square)), [x, z]);
                    found += 1;
                }
            }
            assert_eq!(found, level.points().len());
        }
    }
}
