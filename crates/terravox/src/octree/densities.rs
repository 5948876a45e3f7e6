//! Leaves from a density function: where lattice edges cross its surface, and the normals there.
//!
//! A crossing is where the linearly interpolated density is 0; its normal is the negative gradient,
//! interpolated between central differences at the ends. Crossings are computed once, layer by
//! layer, and shared by up to four leaves. NaN densities are not solid; a crossing without a
//! gradient faces along its edge.

use crate::mesh::{SIDE, unit_normal};
use crate::voxel::{AIR, VoxelPos};

use super::build::{LeafSlots, morton};
use super::node::{OctreeNode, material_of, only_inside};
use super::qef::Qef;
use super::tree::Leaf;

/// Samples at the points, x fastest, then z, then y.
#[derive(Debug, Default)]
pub(super) struct Samples {
    /// Points along an edge.
    points: usize,
    densities: Vec<f32>,
    materials: Vec<u8>,
    /// By row of x: solid points as bits.
    rows: Vec<u128>,
    crossings: Vec<EdgeCrossing>,
    /// By low end: indices of the crossings of one layer, along x and z at its lower points, x and
    /// z at its upper points, and y. Entries without a crossing are stale.
    numbers: [Vec<u32>; 5],
    /// By leaf, in the order of discovery: its position in Morton order.
    places: Vec<u32>,
}

/// A crossing: its fraction from the low end, and the unit normal.
#[derive(Clone, Copy, Debug)]
struct EdgeCrossing {
    share: f32,
    normal: [f32; 3],
}

impl EdgeCrossing {
    /// Returns the crossing between the densities at the ends of an edge along `axis`, given
    /// [`Samples::rise`] there.
    #[inline]
    fn between(axis: usize, [low, high]: [f32; 2], [from, to]: [[f32; 3]; 2]) -> EdgeCrossing {
        let share = low / (low - high);
        let share = if (0.0..=1.0).contains(&share) { share } else { 0.5 };
        let normal = [0, 1, 2].map(|i| -(from[i] + (to[i] - from[i]) * share));
        let square = (normal[0] * normal[0] + normal[1] * normal[1]) + normal[2] * normal[2];
        let mut along = [0.0; 3];
        along[axis] = if low > 0.0 { 1.0 } else { -1.0 };
        let sound = square > 0.0 && square < f32::INFINITY;
        EdgeCrossing { share, normal: unit_normal(if sound { normal } else { along }, along) }
    }

    /// Returns the plane at the crossing, relative to the cube's centre.
    #[inline]
    fn plane(&self, edge: &CubeEdge) -> Qef {
        let point = [0, 1, 2].map(|i| edge.from[i] + edge.along[i] * self.share);
        Qef::plane(point, self.normal)
    }
}

/// The densities at one edge of a cube that the surface crosses, for [`Leaf::at_edges`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct EdgeSamples {
    /// Number of the edge, 0 to 11: along x from octants 0, 2, 4, 6, along z from 0, 1, 4, 5,
    /// along y from 0, 1, 2, 3.
    pub edge: u8,
    /// Density at its low and its high end.
    pub densities: [f32; 2],
    /// Next density less previous one along x, y, z, at the low and the high end. On the boundary
    /// of the samples, where one of the two is missing, twice the one-sided difference.
    pub rises: [[f32; 3]; 2],
}

impl Leaf {
    /// Returns the leaf of one cell that [`OctreeBuilder::densities`](super::OctreeBuilder::densities)
    /// makes, bit for bit, from what a search elsewhere found, such as on a graphics card: its min
    /// corner in cells from that of the root, its solid corners, the materials of all corners and
    /// its crossed edges in ascending order.
    ///
    /// # Panics
    /// If the number of an edge is above 11.
    pub fn at_edges(
        min: [u32; 3],
        inside: u8,
        materials: [u8; 8],
        edges: impl IntoIterator<Item = EdgeSamples>,
    ) -> Leaf {
        let mut qef = Qef::default();
        for EdgeSamples { edge, densities, rises } in edges {
            let edge = &EDGES[usize::from(edge)];
            qef.add(&EdgeCrossing::between(edge.axis, densities, rises).plane(edge));
        }
        let (position, normal) = (qef.least(0.5), qef.normal());
        let materials = only_inside(inside, materials);
        Leaf { min, level: 0, position, normal, inside, materials, qef }
    }
}

/// An edge of a cube.
#[derive(Clone, Copy)]
struct CubeEdge {
    axis: usize,
    /// Octant of its low end.
    low: u8,
    /// Its list in [`Samples::numbers`].
    list: usize,
    /// Its low end, in cells from the cube's centre.
    from: [f32; 3],
    /// Direction to its high end.
    along: [f32; 3],
}

const fn edge(axis: usize, low: u8, list: usize) -> CubeEdge {
    let mut along = [0.0; 3];
    along[axis] = 1.0;
    let mut from = [-0.5; 3];
    let mut i = 0;
    while i < 3 {
        if low & SIDE[i] != 0 {
            from[i] = 0.5;
        }
        i += 1;
    }
    CubeEdge { axis, low, list, from, along }
}

const EDGES: [CubeEdge; 12] = [
    edge(0, 0, 0),
    edge(0, 2, 0),
    edge(0, 4, 2),
    edge(0, 6, 2),
    edge(2, 0, 1),
    edge(2, 1, 1),
    edge(2, 4, 3),
    edge(2, 5, 3),
    edge(1, 0, 4),
    edge(1, 1, 4),
    edge(1, 2, 4),
    edge(1, 3, 4),
];

/// By solid corners: the edges whose ends differ, as bits.
static CROSSED: [u16; 256] = {
    let mut crossed = [0; 256];
    let mut inside = 0;
    while inside < 256 {
        let mut edge = 0;
        while edge < 12 {
            let CubeEdge { axis, low, .. } = EDGES[edge];
            let ends = (inside >> low ^ inside >> (low | SIDE[axis])) & 1;
            crossed[inside] |= (ends as u16) << edge;
            edge += 1;
        }
        inside += 1;
    }
    crossed
};

/// Returns the solid points of a row.
#[inline]
fn solid_points(densities: &[f32]) -> u128 {
    let mut row = 0;
    for (part, densities) in densities.chunks(32).enumerate() {
        let mut bits = 0u32;
        for (x, &density) in densities.iter().enumerate() {
            bits |= u32::from(density > 0.0) << x;
        }
        row |= u128::from(bits) << (32 * part);
    }
    row
}

impl Samples {
    /// Samples all points.
    pub fn take(
        &mut self,
        min: VoxelPos,
        points: usize,
        mut sample: impl FnMut(VoxelPos) -> (f32, u8),
    ) {
        self.points = points;
        self.densities.resize(points * points * points, 0.0);
        self.materials.resize(points * points * points, AIR);
        self.rows.clear();
        let edge = points as i32;
        let rows = self.densities.chunks_exact_mut(points);
        for (r, (densities, materials)) in
            rows.zip(self.materials.chunks_exact_mut(points)).enumerate()
        {
            let (y, z) = (r as i32 / edge, r as i32 % edge);
            let at = min + VoxelPos::new(0, y, z);
            for (x, (density, material)) in densities.iter_mut().zip(materials).enumerate() {
                (*density, *material) = sample(at + VoxelPos::new(x as i32, 0, 0));
            }
            self.rows.push(solid_points(densities));
        }
    }

    /// Lists the Morton codes of all leaves, with their order of discovery in the low half.
    pub fn find(&self, order: &mut Vec<u64>) {
        let cubes = self.points - 1;
        order.clear();
        for (y, z) in (0..cubes).flat_map(|y| (0..cubes).map(move |z| (y, z))) {
            let row_code = morton([0, y as u32, z as u32]);
            let mut active = self.active(y, z);
            while active != 0 {
                let code = row_code | morton([active.trailing_zeros(), 0, 0]);
                active &= active - 1;
                order.push(u64::from(code) << 32 | order.len() as u64);
            }
        }
    }

    /// Stores the position of each leaf in Morton order.
    pub fn place(&mut self, order: &[u64]) {
        self.places.resize(order.len(), 0);
        for (place, &entry) in order.iter().enumerate() {
            self.places[entry as u32 as usize] = place as u32;
        }
    }

    pub fn fill(&mut self, mut leaves: LeafSlots<'_>) {
        let points = self.points;
        self.crossings.clear();
        for numbers in &mut self.numbers {
            numbers.resize(points * points, 0);
        }
        self.cross_level(0);
        let mut made = 0;
        for y in 0..points - 1 {
            self.numbers.swap(0, 2);
            self.numbers.swap(1, 3);
            self.cross_level(y + 1);
            self.cross_upward(y);
            for z in 0..points - 1 {
                made += self.fill_row(y, z, &self.places[made..], &mut leaves);
            }
        }
    }

    /// Returns the four rows of points around a row of cubes.
    fn around(&self, y: usize, z: usize) -> [usize; 4] {
        let first = y * self.points + z;
        [first, first + 1, first + self.points, first + self.points + 1]
    }

    /// Returns the cubes of a row that are leaves.
    fn active(&self, y: usize, z: usize) -> u128 {
        let rows = self.around(y, z).map(|row| self.rows[row]);
        let any = (rows[0] | rows[1]) | (rows[2] | rows[3]);
        let all = (rows[0] & rows[1]) & (rows[2] & rows[3]);
        let inner = (1u128 << (self.points - 1)) - 1;
        (any | any >> 1) & !(all & all >> 1) & inner
    }

    /// Adds crossings along x and z at height `y`, as those of the upper points.
    fn cross_level(&mut self, y: usize) {
        let points = self.points;
        let inner = (1u128 << (points - 1)) - 1;
        for z in 0..points {
            let row = self.rows[y * points + z];
            self.cross_row(0, 2, y, z, (row ^ row >> 1) & inner);
            if z + 1 < points {
                self.cross_row(2, 3, y, z, row ^ self.rows[y * points + z + 1]);
            }
        }
    }

    /// Adds crossings along y between heights `y` and `y + 1`.
    fn cross_upward(&mut self, y: usize) {
        let points = self.points;
        for z in 0..points {
            let crossed = self.rows[y * points + z] ^ self.rows[(y + 1) * points + z];
            self.cross_row(1, 4, y, z, crossed);
        }
    }

    /// Adds the crossings of a row along an axis, at the points set in `crossed`.
    fn cross_row(&mut self, axis: usize, list: usize, y: usize, z: usize, mut crossed: u128) {
        while crossed != 0 {
            let x = crossed.trailing_zeros() as usize;
            crossed &= crossed - 1;
            self.numbers[list][z * self.points + x] = self.crossings.len() as u32;
            let crossing = self.crossing(axis, [x, y, z]);
            self.crossings.push(crossing);
        }
    }

    fn index(&self, [x, y, z]: [usize; 3]) -> usize {
        (y * self.points + z) * self.points + x
    }

    /// Returns the index steps along x, y and z.
    fn steps(&self) -> [usize; 3] {
        [1, self.points * self.points, self.points]
    }

    fn crossing(&self, axis: usize, at: [usize; 3]) -> EdgeCrossing {
        let mut next = at;
        next[axis] += 1;
        let densities = [self.densities[self.index(at)], self.densities[self.index(next)]];
        EdgeCrossing::between(axis, densities, [self.rise(at), self.rise(next)])
    }

    /// Returns central differences at a point, doubled; one-sided at the boundary.
    #[inline]
    fn rise(&self, at: [usize; 3]) -> [f32; 3] {
        let (i, last, steps) = (self.index(at), self.points - 1, self.steps());
        if at.iter().all(|at| at.wrapping_sub(1) < last - 1) {
            let [x, y, z] = steps;
            let around = &self.densities[i - y..=i + y];
            let rise = |step: usize| around[y + step] - around[y - step];
            return [rise(x), rise(y), rise(z)];
        }
        std::array::from_fn(|axis| {
            let (down, up) = (at[axis] > 0, at[axis] < last);
            let below = self.densities[if down { i - steps[axis] } else { i }];
            let above = self.densities[if up { i + steps[axis] } else { i }];
            if down && up { above - below } else { 2.0 * (above - below) }
        })
    }

    /// Makes the leaves of a row of cubes and returns how many.
    fn fill_row(&self, y: usize, z: usize, places: &[u32], leaves: &mut LeafSlots<'_>) -> usize {
        let around = self.around(y, z);
        let mut active = self.active(y, z);
        let mut made = 0;
        while active != 0 {
            let x = active.trailing_zeros() as usize;
            active &= active - 1;
            let (mut inside, mut materials) = (0, [0; 8]);
            for (j, &row) in around.iter().enumerate() {
                inside |= (((self.rows[row] >> x) & 3) as u8) << (2 * j);
                let i = row * self.points + x;
                materials[2 * j..2 * j + 2].copy_from_slice(&self.materials[i..i + 2]);
            }
            let materials = only_inside(inside, materials);
            let qef = self.planes(x, z, inside);
            let offset = qef.least(0.5);
            let material = material_of(inside, materials).unwrap_or(AIR);
            let node = OctreeNode::new(offset, 1.0, qef.normal(), inside, material);
            leaves.set(places[made] as usize, node, materials, &qef);
            made += 1;
        }
        made
    }

    /// Returns the planes at the crossings of a cube's edges, relative to its centre.
    #[inline]
    fn planes(&self, x: usize, z: usize, inside: u8) -> Qef {
        let mut crossed = CROSSED[usize::from(inside)];
        let first = z * self.points + x;
        let mut qef = Qef::default();
        while crossed != 0 {
            let edge = &EDGES[crossed.trailing_zeros() as usize % 12];
            crossed &= crossed - 1;
            let low = usize::from(edge.low);
            let at = first + (low >> 1 & 1) * self.points + (low & 1);
            qef.add(&self.crossings[self.numbers[edge.list][at] as usize].plane(edge));
        }
        qef
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::octree::OctreeBuilder;

    const POINTS: i32 = 17;

    fn density(at: VoxelPos) -> (f32, u8) {
        let [x, y, z] = at.to_array().map(|v| v as f32 - 8.0);
        let bumps = ((at.x * 7 + at.y * 5 + at.z * 3) % 11) as f32 - 5.0;
        let material = if at.x % 3 == 0 { 2 } else { 8 };
        (((36.0 - (x * x + y * y + z * z)) * 4.0 + bumps * 9.0).round(), material)
    }

    /// Returns twice the gradient at a point: one-sided on the boundary.
    fn rise(at: VoxelPos) -> [f32; 3] {
        [0, 1, 2].map(|axis| {
            let mut ends = [at.to_array(); 2];
            ends[0][axis] = (ends[0][axis] - 1).max(0);
            ends[1][axis] = (ends[1][axis] + 1).min(POINTS - 1);
            let [low, high] = ends.map(|end| density(VoxelPos::from(end)).0);
            (high - low) * if ends[1][axis] - ends[0][axis] == 2 { 1.0 } else { 2.0 }
        })
    }

    fn leaf(min: VoxelPos) -> Option<Leaf> {
        let corner = |octant: u8| {
            let on = |axis: usize| i32::from(octant & SIDE[axis] != 0);
            min + VoxelPos::new(on(0), on(1), on(2))
        };
        let corners: [_; 8] = std::array::from_fn(|octant| density(corner(octant as u8)));
        let inside = (0..8).fold(0, |bits, i| bits | u8::from(corners[i].0 > 0.0) << i);
        let edges = (0..12u8).filter_map(|number| {
            let CubeEdge { axis, low, .. } = EDGES[usize::from(number)];
            let ends = [corner(low), corner(low | SIDE[axis])];
            let densities = ends.map(|end| density(end).0);
            let is_crossed = (densities[0] > 0.0) != (densities[1] > 0.0);
            let rises = ends.map(rise);
            is_crossed.then_some(EdgeSamples { edge: number, densities, rises })
        });
        let materials = corners.map(|(_, material)| material);
        let at = min.to_array().map(|v| v as u32);
        (inside != 0 && inside != 255).then(|| Leaf::at_edges(at, inside, materials, edges))
    }

    #[test]
    fn leaves_from_crossed_edges_give_the_octree_of_the_densities() {
        let cubes = (0..16i32.pow(3)).map(|i| VoxelPos::new(i % 16, i / 256, i / 16 % 16));
        let leaves: Vec<_> = cubes.filter_map(leaf).collect();
        assert!(leaves.len() > 300, "{}", leaves.len());
        let mut builder = OctreeBuilder::new();
        let min = VoxelPos::new(5, -40, 3);
        let expected = builder.densities(min, 4, |at| density(at - min));
        assert!(builder.leaves(min, 4, &leaves) == expected);
    }
}
