//! Caves: winding passages between jittered points of a lattice, chambers, and shafts that open in
//! slopes above.
//!
//! A passage is a chain of pieces with a width at each joint, so that it widens and narrows. Its
//! cross-section is an ellipse, wider than high, with a floor of debris that rises towards the walls;
//! where it is steep it is a fissure. Walls are displaced by noise that is flatter than wide, so that
//! ledges run along them. All is a
//! distance from the nearest wall, nearly true, so that cells are filled by it.

use crate::generate::noise::{Noise3, Noise3Cursor, unit};
use crate::math::{dot, sub};
use crate::voxel::Region;

/// Voxels between the lattice points that caves connect.
const SPACING: [f64; 3] = [48.0, 40.0, 48.0];

/// Caves lie between these lattice layers.
const LAYERS: std::ops::Range<i64> = -2..2;

/// Narrowest and widest half of a passage at its joints, and widest of a chamber, voxels.
const MIN_PASSAGE: f64 = 1.9;
const MAX_PASSAGE: f64 = 6.5;
const MAX_CHAMBER: f64 = 13.0;

/// How far from its point a chamber reaches along, voxels.
const CHAMBER_LENGTH: f64 = 6.0;

/// How far a joint lies from the straight line, voxels: along x, y and z.
const BEND: [f64; 3] = [9.0, 3.5, 9.0];

/// Pieces of a passage.
const PIECES: usize = 3;

/// Lattice layers that a shaft passes.
const SHAFT_LAYERS: f64 = 1.7;

/// By how much distances count more across a cave's flat side than along it: passages are wider
/// than high.
const STRETCH: f64 = 1.5;

/// The least share of the distance from the axis that distances from a wall grow by, for any
/// direction, with that [`STRETCH`].
const LEAST_GROWTH: f64 = 0.9;

/// Depth of the floor below the axis, as a share of the radius, and by how much it rises to the
/// walls.
const FLOOR: f64 = 0.3;
const BOWL: f64 = 0.22;

/// How far noise moves walls at most, voxels, and as a share of the radius.
const ROUGHNESS: f64 = 2.5;
const ROUGHNESS_SHARE: f64 = 0.5;

/// The greatest absolute value of the noise that moves walls.
const MAX_NOISE: f64 = 1.2;

/// Periods of that noise, voxels, and the weight of the second.
const LEDGES: [f64; 3] = [13.0, 6.5, 13.0];
const STONES: [f64; 3] = [4.6, 3.1, 4.6];
const STONES_WEIGHT: f64 = 0.4;

/// How far a shaft widens where it opens, voxels, from which depth on.
const FLARE: f32 = 3.0;
const FLARE_DEPTH: f32 = 7.0;

/// Beyond this distance from all walls cells are as without caves, voxels.
const FAR: f64 = 12.0;

/// How far from the lattice points that they begin at caves reach sideways, beyond the next point,
/// voxels.
const ASIDE: f64 = MAX_CHAMBER + CHAMBER_LENGTH;

/// What caves never reach below, voxels.
pub(super) const LOWEST: f64 =
    LAYERS.start as f64 * SPACING[1] - BEND[1] - MAX_CHAMBER - ROUGHNESS * MAX_NOISE;

/// Caves show in mips up to this one. They are some ten voxels wide: for wider cells the distance
/// to a wall does not give the fill.
pub(super) const MAX_MIP: u8 = 3;

/// Directions in which fissures are narrow.
const FISSURES: [[f64; 3]; 8] = {
    const C: f64 = 0.923_879_532_511_286_7;
    const S: f64 = 0.382_683_432_365_089_8;
    const D: f64 = std::f64::consts::FRAC_1_SQRT_2;
    [
        [1.0, 0.0, 0.0],
        [C, 0.0, S],
        [D, 0.0, D],
        [S, 0.0, C],
        [0.0, 0.0, 1.0],
        [-S, 0.0, C],
        [-D, 0.0, D],
        [-C, 0.0, S],
    ]
};

/// A part of a cave around a line, voxels.
pub(super) struct Piece {
    from: [f64; 3],
    /// From one end to the other, and one by the square of its length; 0 for a point.
    along: [f64; 3],
    inverse_square: f64,
    /// Half the width at `from`, and by how much more it is at the other end.
    radius: f64,
    growth: f64,
    /// The direction in which the cave is narrower, a unit vector.
    flat: [f64; 3],
    /// Depth of the floor below the axis, by the radius: none above about 1.
    floor: f64,
    /// Whether it opens where the ground above is not steep.
    is_shaft: bool,
}

/// What caves are at a point.
#[derive(Clone, Copy, Debug)]
pub(super) struct Hollow {
    /// Distance to the nearest wall or floor of a passage and of a shaft, voxels, positive outside.
    pub passage: f32,
    pub shaft: f32,
    /// How far the point lies below the floor of the nearest, voxels; [`f32::INFINITY`] beside
    /// walls.
    pub below_floor: f32,
}

/// The noise of walls and floors.
pub(super) struct Roughness {
    ledges: Noise3Cursor,
    stones: Noise3Cursor,
    /// Whether cells are fine enough for either.
    has: [bool; 2],
}

impl Roughness {
    /// For cells of an edge in voxels.
    pub fn new(seed: u64, edge: f64) -> Roughness {
        Roughness {
            ledges: Noise3::new(seed ^ 7).cursor(),
            stones: Noise3::new(seed ^ 9).cursor(),
            has: [LEDGES, STONES].map(|periods| periods[1] >= 2.0 * edge),
        }
    }

    #[inline]
    fn at(&mut self, p: [f64; 3]) -> f64 {
        let at = |periods: [f64; 3]| [0, 1, 2].map(|axis| p[axis] / periods[axis]);
        let ledges = if self.has[0] { self.ledges.at(at(LEDGES)) } else { 0.0 };
        let stones = if self.has[1] { self.stones.at(at(STONES)) } else { 0.0 };
        (ledges + STONES_WEIGHT * stones).clamp(-MAX_NOISE, MAX_NOISE)
    }
}

impl Piece {
    /// Between two points, half as wide as `radius` there; `turn`, 0 to 1, is the direction of what
    /// is steep.
    fn new(ends: [[f64; 3]; 2], radius: [f64; 2], turn: f64) -> Piece {
        let along = sub(ends[1], ends[0]);
        let square = dot(along, along);
        // Steep passages have no floor.
        let steep = along[1] * along[1] / square.max(1e-9);
        let flat = if steep < 0.5 { [0.0, 1.0, 0.0] } else { FISSURES[(turn * 8.0) as usize % 8] };
        Piece {
            flat,
            from: ends[0],
            along,
            inverse_square: if square > 1e-9 { 1.0 / square } else { 0.0 },
            radius: radius[0],
            growth: radius[1] - radius[0],
            floor: FLOOR + 2.5 * steep,
            is_shaft: false,
        }
    }

    /// From the nearest point of the axis, and where that is along it.
    #[inline]
    fn off_axis(&self, p: [f64; 3]) -> ([f64; 3], f64) {
        let off = sub(p, self.from);
        let t = (dot(off, self.along) * self.inverse_square).clamp(0.0, 1.0);
        (sub(off, self.along.map(|v| v * t)), t)
    }

    fn widest(&self) -> f64 {
        self.radius + self.growth.max(0.0)
    }

    /// Whether the piece changes any cell within `reach` cells of `middle`, in cells of `edge`
    /// voxels. Where its wall, rough as it is, is farther than cave and ground blend over and half a
    /// cell, it does not: either the ground is nearer by more than that, or a cell is full with the
    /// cave and without. Where the ground alone fills all cells and a voxel more, being full with
    /// the cave is enough.
    pub fn matters(&self, middle: [f64; 3], reach: f64, edge: f64, blend: f64) -> bool {
        let (off, _) = self.off_axis(middle);
        let flare = if self.is_shaft { f64::from(FLARE) } else { 0.0 };
        let near = blend + ROUGHNESS * MAX_NOISE + 0.5 * edge + flare;
        let far = near / LEAST_GROWTH + reach * edge + self.widest();
        dot(off, off) < far * far
    }
}

/// What `pieces` are at a point; all those that matter there must be among them.
#[inline]
pub(super) fn hollow(p: [f64; 3], pieces: &[&Piece], roughness: &mut Roughness) -> Hollow {
    let mut hollow = [f64::INFINITY; 2];
    let (mut least, mut below_floor) = (f64::INFINITY, f64::INFINITY);
    let mut noise = None;
    for piece in pieces {
        let (off, t) = piece.off_axis(p);
        let radius = piece.radius + piece.growth * t;
        let square = dot(off, off);
        let narrow = dot(off, piece.flat);
        let narrow = narrow * narrow;
        let nearest = &mut hollow[usize::from(piece.is_shaft)];
        // Beyond `far` from the axis the piece cannot be the nearest.
        let limit = nearest.min(FAR) + ROUGHNESS * MAX_NOISE;
        let far = if limit > 0.0 { limit / LEAST_GROWTH } else { limit } + radius;
        if far <= 0.0 || square > far * far {
            continue;
        }
        const SQUARE: f64 = STRETCH * STRETCH;
        let stretched = (square + (SQUARE - 1.0) * narrow).sqrt().max(1e-6);
        // The slope of the stretched distance, so that it is a true one near the wall.
        let slope = (square + (SQUARE * SQUARE - 1.0) * narrow).sqrt() / stretched;
        let noise = *noise.get_or_insert_with(|| roughness.at(p));
        let rough = (ROUGHNESS_SHARE * radius).min(ROUGHNESS) * noise;
        let wall = (stretched - radius) / slope.max(1.0) + rough;
        let beside = square - off[1] * off[1];
        let floor = -off[1] - piece.floor * radius + BOWL * beside / radius + 0.6 * noise;
        let distance = wall.max(floor);
        *nearest = nearest.min(distance);
        if distance < least {
            least = distance;
            below_floor = if wall < 1.0 { floor } else { f64::INFINITY };
        }
    }
    let [passage, shaft] = hollow.map(|distance| distance as f32);
    Hollow { passage, shaft, below_floor: below_floor as f32 }
}

impl Hollow {
    /// Distance to the nearest wall, voxels, positive outside: where the ground is `depth` voxels
    /// above the point, and passages and shafts keep `roofs` voxels below it.
    #[inline]
    pub fn distance(&self, depth: f32, roofs: [f32; 2]) -> f32 {
        let t = (1.0 - depth / FLARE_DEPTH).clamp(0.0, 1.0);
        let [passage, shaft] = [self.passage, self.shaft - FLARE * t * t];
        (passage + (roofs[0] - depth).max(0.0)).min(shaft + (roofs[1] - depth).max(0.0))
    }
}

/// The pieces of caves within `reach` voxels of a region of cells of `edge` voxels; `share`
/// multiplies how many there are.
pub(super) fn pieces(seed: u64, region: Region, reach: f64, edge: f64, share: f64) -> Vec<Piece> {
    let min = region.min.to_array().map(|v| f64::from(v) * edge - reach);
    let max = region.max.to_array().map(|v| f64::from(v) * edge + reach);
    let lattice = |axis: usize, v: f64| (v / SPACING[axis]).floor() as i64;
    let low = [0, 1, 2].map(|axis| lattice(axis, min[axis] - ASIDE) - 1);
    let high = [0, 1, 2].map(|axis| lattice(axis, max[axis] + ASIDE));
    let mut pieces = Vec::new();
    // Shafts reach up by more than a layer.
    for y in (low[1] - 1).max(LAYERS.start)..=high[1].min(LAYERS.end - 1) {
        for z in low[2]..=high[2] {
            for x in low[0]..=high[0] {
                pieces_from(seed, share, [x, y, z], &mut pieces);
            }
        }
    }
    pieces.retain(|piece| {
        let widest = piece.widest();
        (0..3).all(|axis| {
            let a = piece.from[axis];
            let b = a + piece.along[axis];
            a.min(b) - widest < max[axis] && a.max(b) + widest > min[axis]
        })
    });
    pieces
}

/// Adds what begins at a lattice point.
fn pieces_from(seed: u64, share: f64, at: [i64; 3], pieces: &mut Vec<Piece>) {
    let [x, y, z] = at;
    let random = |salt: u64| unit(seed ^ salt, x, y, z);
    let mut has_chamber = random(0x200) >= 0.5;
    for (axis, step) in [[1, 0, 0], [0, 1, 0], [0, 0, 1]].into_iter().enumerate() {
        let to = [0, 1, 2].map(|i| at[i] + step[i]);
        let salt = 20 + axis as u64;
        if !LAYERS.contains(&to[1]) || random(salt) >= share * [0.5, 0.22, 0.5][axis] {
            continue;
        }
        passage(seed, salt, [at, to], pieces);
        if axis != 1 && !has_chamber {
            has_chamber = true;
            pieces.push(chamber(seed, at));
        }
    }
    if random(0x300) < 0.05 * share {
        let from = node(seed, at);
        let radius = [2.4 + 1.6 * random(0x301), 4.2 + 2.6 * random(0x302)];
        let lean = [0x303, 0x304].map(|salt| 16.0 * (random(salt) - 0.5));
        let top = [from[0] + lean[0], from[1] + SHAFT_LAYERS * SPACING[1], from[2] + lean[1]];
        pieces.push(Piece { is_shaft: true, ..Piece::new([from, top], radius, random(0x305)) });
    }
}

/// Adds the pieces of a passage between two lattice points.
fn passage(seed: u64, salt: u64, ends: [[i64; 3]; 2], pieces: &mut Vec<Piece>) {
    let [x, y, z] = ends[0];
    let random = |what: u64| unit(seed ^ (salt | what << 12), x, y, z);
    let [from, to] = ends.map(|at| node(seed, at));
    let mut last = (from, radius_at(seed, ends[0]));
    for piece in 1..=PIECES {
        let next = if piece == PIECES {
            (to, radius_at(seed, ends[1]))
        } else {
            let t = piece as f64 / PIECES as f64;
            let what = 8 * piece as u64;
            let bend = |axis: usize| BEND[axis] * (2.0 * random(what + axis as u64) - 1.0);
            let at = [0, 1, 2].map(|i| from[i] + t * (to[i] - from[i]) + bend(i));
            // Narrow more often than wide.
            let wide = random(what + 3);
            (at, MIN_PASSAGE + (MAX_PASSAGE - MIN_PASSAGE) * wide * wide)
        };
        let turn = random(8 * piece as u64 + 4);
        pieces.push(Piece::new([last.0, next.0], [last.1, next.1], turn));
        last = next;
    }
}

/// The chamber at a lattice point; passages enter it on its floor.
fn chamber(seed: u64, at: [i64; 3]) -> Piece {
    let [x, y, z] = at;
    let random = |salt: u64| unit(seed ^ (0x400 + salt), x, y, z);
    let middle = node(seed, at);
    let radius = 7.0 + (MAX_CHAMBER - 7.0) * random(0);
    let way = [1, 2].map(|salt| CHAMBER_LENGTH * (2.0 * random(salt) - 1.0));
    let up = FLOOR * (radius - radius_at(seed, at));
    let end = |side: f64| [middle[0] + side * way[0], middle[1] + up, middle[2] + side * way[1]];
    Piece::new([end(-1.0), end(1.0)], [radius, radius * (0.55 + 0.4 * random(3))], 0.0)
}

/// Half the width of passages at a lattice point, voxels.
fn radius_at(seed: u64, [x, y, z]: [i64; 3]) -> f64 {
    2.8 + 2.8 * unit(seed ^ 0x100, x, y, z)
}

/// The jittered lattice point where caves meet, voxels.
fn node(seed: u64, at: [i64; 3]) -> [f64; 3] {
    let [x, y, z] = at;
    let jitter = |salt: u64| 0.15 + 0.7 * unit(seed ^ salt, x, y, z);
    let jitters = [jitter(10), jitter(11), jitter(12)];
    [0, 1, 2].map(|i| (at[i] as f64 + jitters[i]) * SPACING[i])
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Walls without noise.
    fn smooth() -> Roughness {
        Roughness { has: [false; 2], ..Roughness::new(1, 1.0) }
    }

    /// All pieces of a neighbourhood, many of them.
    fn cave(seed: u64) -> Vec<Piece> {
        pieces(seed, Region::new([-60, -90, -60], [60, 80, 60]), 0.0, 1.0, 2.0)
    }

    #[test]
    fn passages_are_wider_than_high_and_have_a_floor() {
        let piece = Piece::new([[0.0, 0.0, 0.0], [40.0, 2.0, 0.0]], [4.0, 4.0], 0.0);
        let at = |y: f64, z: f64| hollow([20.0, 1.0 + y, z], &[&piece], &mut smooth()).passage;
        let wall = |way: [f64; 2]| {
            (0..200).find(|&i| at(way[0] * f64::from(i) / 20.0, way[1] * f64::from(i) / 20.0) > 0.0)
        };
        let [up, down, aside] = [[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0]].map(|way| wall(way).unwrap());
        assert!((50..=56).contains(&up) && (22..=27).contains(&down), "{up} {down}");
        assert!((78..=82).contains(&aside), "{aside}");
    }

    #[test]
    fn steep_pieces_are_fissures_without_a_floor() {
        let piece = Piece::new([[0.0, 0.0, 0.0], [0.0, 40.0, 0.0]], [4.0, 4.0], 0.0);
        let at = |x: f64, z: f64| hollow([x, 20.0, z], &[&piece], &mut smooth()).passage;
        assert!(at(0.0, 0.0) < -2.0 && at(3.0, 0.0) > 0.0 && at(0.0, 3.0) < 0.0);
    }

    #[test]
    fn debris_is_on_floors_only() {
        let piece = Piece::new([[0.0, 0.0, 0.0], [40.0, 0.0, 0.0]], [5.0, 5.0], 0.0);
        let at = |y: f64, z: f64| hollow([20.0, y, z], &[&piece], &mut smooth()).below_floor;
        assert!((0.2..0.8).contains(&at(-2.0, 0.0)));
        assert!(at(3.6, 0.0) < -2.0, "below the ceiling");
        assert_eq!(at(-2.0, 8.0), f32::INFINITY, "beside the wall");
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(60))]

        /// From a point to the next, the distance changes by little more than what they are apart.
        #[test]
        fn distances_are_nearly_true(
            seed in 0..50u64,
            p in (-50.0..50.0f64, -80.0..70.0f64, -50.0..50.0f64),
            step in (-1.0..1.0f64, -1.0..1.0f64, -1.0..1.0f64),
        ) {
            let all = cave(seed);
            let all: Vec<&Piece> = all.iter().collect();
            let at = |p: [f64; 3]| hollow(p, &all, &mut smooth());
            let (p, step) = ([p.0, p.1, p.2], [step.0, step.1, step.2]);
            let far = dot(step, step).sqrt() as f32;
            let (a, b) = (at(p), at([0, 1, 2].map(|i| p[i] + step[i])));
            for (a, b) in [(a.passage, b.passage), (a.shaft, b.shaft)] {
                let is_near = a < 6.0 && b < 6.0;
                prop_assert!(!is_near || (a - b).abs() <= 1.6 * far + 1e-3, "{a} {b} {far}");
            }
        }

        #[test]
        fn pieces_that_do_not_matter_are_far_from_all_cells(
            seed in 0..50u64,
            low in (-60..60i32, -90..80i32, -60..60i32),
            mip in 0u8..=MAX_MIP,
            blend in prop_oneof![Just(1.0), Just(5.0)],
        ) {
            let edge = f64::from(1u32 << mip);
            let low = [low.0, low.1, low.2].map(|v| f64::from(v >> mip) * edge);
            let middle = low.map(|v| v + 2.0 * edge);
            let all = cave(seed);
            let far = all.iter().filter(|piece| !piece.matters(middle, 2.61, edge, blend));
            let far: Vec<&Piece> = far.collect();
            let mut roughness = Roughness::new(seed, edge);
            for i in 0..64 {
                let cell = [i % 4, i / 4 % 4, i / 16].map(|v| (f64::from(v) + 0.5) * edge);
                let p = [0, 1, 2].map(|axis| low[axis] + cell[axis]);
                let open = hollow(p, &far, &mut roughness).distance(0.0, [0.0; 2]);
                prop_assert!(f64::from(open) > blend + 0.5 * edge - 1e-6, "{open} at {p:?}");
            }
        }
    }
}
