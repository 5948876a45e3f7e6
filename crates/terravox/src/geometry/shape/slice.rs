//! A vertical slice of a hull, perpendicular to z: a convex polygon that gives the interval of
//! every vertical line in it.
//!
//! The corners of a slice lie where lines between two of the hull's points pass through it, so
//! it is the hull of all such points. Source: Andrew, "Another efficient algorithm for
//! convex hulls in two dimensions" (1979): the lower and the upper chain from points sorted
//! by x.

/// The polygon, x and y. Keep one and reuse it.
#[derive(Debug, Default)]
pub(crate) struct Slice {
    places: Vec<[f32; 2]>,
    low: Vec<[f32; 2]>,
    high: Vec<[f32; 2]>,
}

impl Slice {
    /// Cuts the hull of some points at `z`.
    pub fn cut(&mut self, points: &[[f32; 3]], z: f32) {
        let Slice { places, low, high } = self;
        places.clear();
        for &[x, y, depth] in points.iter().filter(|point| point[2] <= z) {
            for other in points.iter().filter(|point| point[2] > z) {
                let share = (z - depth) / (other[2] - depth);
                places.push([x + share * (other[0] - x), y + share * (other[1] - y)]);
            }
        }
        places.sort_unstable_by(|a, b| a[0].total_cmp(&b[0]).then(a[1].total_cmp(&b[1])));
        low.clear();
        high.clear();
        for &place in places.iter() {
            add(low, place, 1.0);
            add(high, place, -1.0);
        }
    }

    /// Lowest and highest point of the line at `x`; `None` if it misses.
    pub fn vertical_span(&self, x: f32) -> Option<[f32; 2]> {
        let (low, high) = (at(&self.low, x)?, at(&self.high, x)?);
        (low < high).then_some([low, high])
    }
}

/// Appends to a chain that turns to one side only: left, or right for a side of −1.
fn add(chain: &mut Vec<[f32; 2]>, place: [f32; 2], side: f32) {
    while let [.., a, b] = chain[..] {
        let turn = (b[0] - a[0]) * (place[1] - a[1]) - (b[1] - a[1]) * (place[0] - a[0]);
        if turn * side > 0.0 {
            break;
        }
        chain.pop();
    }
    chain.push(place);
}

/// The height of a chain at `x`; `None` beside it.
fn at(chain: &[[f32; 2]], x: f32) -> Option<f32> {
    let next = chain.partition_point(|place| place[0] <= x);
    let (a, b) = (chain.get(next.checked_sub(1)?)?, chain.get(next)?);
    Some(a[1] + (b[1] - a[1]) * (x - a[0]) / (b[0] - a[0]))
}
