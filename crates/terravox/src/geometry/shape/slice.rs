//! Slices of a hull, perpendicular to z: convex polygons that give the interval of every vertical
//! line in them.
//!
//! A slice is known by its extreme points in a number of directions. Those of one direction lie
//! on one polyline for all slices: the upper chain of the hull's points, seen as z and their
//! distance along the direction. So the faces and edges of the hull need not be known, and all slices of a
//! hull of n points take O(n log n). Source of the chains: Andrew, "Another efficient algorithm for
//! convex hulls in two dimensions" (1979).

/// Number of directions, evenly around the hull's bounds scaled to a square. A round slice loses up
/// to 0.12 % of its radius, an angle of almost 180° between two directions up to 10 % of its
/// shorter side.
pub(super) const DIRECTIONS: usize = 64;

/// Cosine and sine of the angle between two directions. Constants, so that all targets compute the
/// same.
const TURN: [f32; 2] = [0.995_184_7, 0.098_017_14];

/// Slices of a hull. Keep one and reuse it.
#[derive(Debug, Default)]
pub(crate) struct Slices {
    /// The hull's points, by z.
    points: Vec<[f32; 3]>,
    /// The points that are extreme in one direction: z, the distance along it, x and y.
    extreme: Vec<[f32; 4]>,
    /// Extreme points of the slices, x and y, [`DIRECTIONS`] each; NaN where there is no slice.
    corners: Vec<[f32; 2]>,
    /// The lower and the upper side of the selected slice, by x.
    low: Vec<[f32; 2]>,
    high: Vec<[f32; 2]>,
}

impl Slices {
    /// Cuts the hull of some points at each of `depths`, which ascend.
    pub fn cut(&mut self, points: &[[f32; 3]], depths: &[f32]) {
        self.points.clear();
        self.points.extend(points);
        self.points.sort_unstable_by(|a, b| a[2].total_cmp(&b[2]));
        self.corners.clear();
        self.corners.resize(depths.len() * DIRECTIONS, [f32::NAN; 2]);
        let scale = [0, 1].map(|axis| {
            let along = points.iter().map(|point| point[axis]);
            let min = along.clone().fold(f32::INFINITY, f32::min);
            let max = along.fold(f32::NEG_INFINITY, f32::max);
            1.0 / (max - min).max(f32::MIN_POSITIVE)
        });
        let [mut cos, mut sin] = [1.0, 0.0];
        for direction in 0..DIRECTIONS {
            self.cut_along(direction, [cos * scale[0], sin * scale[1]], depths);
            [cos, sin] = [cos * TURN[0] - sin * TURN[1], sin * TURN[0] + cos * TURN[1]];
        }
    }

    /// Finds the extreme points of all slices in one direction.
    fn cut_along(&mut self, direction: usize, along: [f32; 2], depths: &[f32]) {
        let Slices { points, extreme, corners, .. } = self;
        extreme.clear();
        for &[x, y, z] in points.iter() {
            add(extreme, [z, x * along[0] + y * along[1], x, y]);
        }
        let mut below = 0;
        for (&z, corners) in depths.iter().zip(corners.chunks_exact_mut(DIRECTIONS)) {
            while extreme.get(below + 1).is_some_and(|point| point[0] <= z) {
                below += 1;
            }
            let (Some(&[from, _, x, y]), Some(&[to, _, next_x, next_y])) =
                (extreme.get(below), extreme.get(below + 1))
            else {
                continue;
            };
            if from <= z {
                let share = (z - from) / (to - from);
                corners[direction] = [x + share * (next_x - x), y + share * (next_y - y)];
            }
        }
    }

    /// Makes [`Slices::vertical_span`] use the slice at one of the depths, by its number.
    pub fn select(&mut self, number: usize) {
        let Slices { corners, low, high, .. } = self;
        // From the rightmost around over the highest, the leftmost and the lowest.
        let corners = &corners[number * DIRECTIONS..][..DIRECTIONS];
        low.clear();
        high.clear();
        // A slice has extreme points in all directions or in none: all chains end at the same z.
        if !corners[0][0].is_nan() {
            low.extend(&corners[DIRECTIONS / 2..]);
            low.push(corners[0]);
            high.extend(corners[..=DIRECTIONS / 2].iter().rev());
        }
    }

    /// Lowest and highest point of the line at `x` in the selected slice; `None` if it misses.
    pub fn vertical_span(&self, x: f32) -> Option<[f32; 2]> {
        let (low, high) = (at(&self.low, x)?, at(&self.high, x)?);
        (low < high).then_some([low, high])
    }
}

/// Appends to an upper chain: its first two coordinates turn right only.
fn add(chain: &mut Vec<[f32; 4]>, point: [f32; 4]) {
    while let [.., a, b] = chain[..] {
        if (b[0] - a[0]) * (point[1] - a[1]) < (b[1] - a[1]) * (point[0] - a[0]) {
            break;
        }
        chain.pop();
    }
    chain.push(point);
}

/// The height of a chain at `x`; `None` beside it.
fn at(chain: &[[f32; 2]], x: f32) -> Option<f32> {
    let next = chain.partition_point(|corner| corner[0] <= x);
    let (a, b) = (chain.get(next.checked_sub(1)?)?, chain.get(next)?);
    Some(a[1] + (b[1] - a[1]) * (x - a[0]) / (b[0] - a[0]))
}
