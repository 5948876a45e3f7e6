//! Whether two surfaces are near each other everywhere, and where they are not.
//!
//! Distance to a triangle is a convex function, so a piece of one surface whose corners are
//! all near one triangle of the other is near it as a whole; pieces for which that cannot be
//! said are cut in halves (the bound of Tang, Lee and Kim, "Interactive Hausdorff Distance
//! Computation for General Polygonal Models", 2009). Triangles are found in a grid of cells.

use super::border::Rings;
use crate::mesh::Surface;
use glam::Vec3;

/// A piece whose longest edge is this share of the error is not cut any further.
const SMALLEST: f32 = 0.5;

/// Cells that a grid may have.
const MAX_CELLS: f32 = 2e6;

/// Looks at two surfaces over the same vertices.
#[derive(Default)]
pub(super) struct Deviation {
    error: f32,
    /// Whether of the vertices that are far only the farthest are locked, not all.
    pub peaks_only: bool,
    /// The input, where its vertices are and where they arrive.
    all: [Grid; 2],
    /// What is kept of it.
    few: Grid,
    /// Vertices beside one that is locked.
    covered: Vec<bool>,
    /// Vertices of the input that are far from what is kept.
    far: Vec<bool>,
}

/// The triangles that are near each cell.
#[derive(Default)]
struct Grid {
    triangles: Vec<Triangle>,
    min: Vec3,
    edge: f32,
    size: [usize; 3],
    /// First entry of each cell in `near`; then their number.
    starts: Vec<u32>,
    near: Vec<u32>,
    /// Longest edge of a triangle.
    longest: f32,
    pairs: Vec<[u32; 2]>,
}

/// A triangle, ready to be asked for distances.
#[derive(Clone, Copy)]
struct Triangle {
    corners: [Vec3; 3],
    /// Unit; 0 without area.
    normal: Vec3,
    /// In its plane, out of it across the edge from each corner; unit, 0 without area.
    outward: [Vec3; 3],
}

impl Triangle {
    fn new(corners: [Vec3; 3]) -> Triangle {
        let [a, b, c] = corners;
        let normal = (b - a).cross(c - a).normalize_or_zero();
        let outward = [b - a, c - b, a - c].map(|edge| edge.cross(normal).normalize_or_zero());
        Triangle { corners, normal, outward }
    }

    /// Squared distance of a point; may be any larger number where it is more than `most`.
    fn distance_squared(&self, p: Vec3, most: f32) -> f32 {
        let height = self.normal.dot(p - self.corners[0]);
        let over = [0, 1, 2].map(|k| self.outward[k].dot(p - self.corners[k]));
        let beyond = over[0].max(over[1]).max(over[2]);
        let least = height * height;
        if beyond <= 0.0 && self.normal != Vec3::ZERO {
            return least;
        }
        if least + beyond * beyond > most {
            return f32::INFINITY;
        }
        let side = |a: Vec3, b: Vec3| {
            let (ab, ap) = (b - a, p - a);
            let length = ab.length_squared();
            let along = if length > 0.0 { (ab.dot(ap) / length).clamp(0.0, 1.0) } else { 0.0 };
            (ap - ab * along).length_squared()
        };
        let [a, b, c] = self.corners;
        side(a, b).min(side(b, c)).min(side(c, a))
    }

    /// Whether a point may be no farther than `most`.
    fn may_be_near(&self, p: Vec3, most: f32) -> bool {
        self.normal.dot(p - self.corners[0]).abs() <= most
            && (0..3).all(|k| self.outward[k].dot(p - self.corners[k]) <= most)
    }

    /// Whether all corners of a piece are no farther than the root of `most`.
    fn is_near(&self, piece: &[Vec3; 3], most: f32) -> bool {
        piece.iter().all(|&p| self.distance_squared(p, most) <= most)
    }
}

impl Deviation {
    /// Of this surface others are looked at.
    pub fn read(&mut self, surface: &Surface, error: f32) {
        // Less by far more than rounding is worth.
        self.error = error * 0.9995;
        for (at, grid) in self.all.iter_mut().enumerate() {
            if let Some(positions) = positions(surface, at) {
                grid.fill(surface.triangles().map(|t| corners(positions, t)), error);
            }
        }
    }

    /// Whether no point of the surface is farther than the error from the triangles, nor one
    /// of them from it. If not, locks vertices where it is so. What is quick to see is looked
    /// at first, and the rest only if there is nothing to be seen.
    pub fn is_near(
        &mut self,
        surface: &Surface,
        kept: &[[u32; 3]],
        rings: &Rings,
        locked: &mut [bool],
    ) -> bool {
        for at in 0..2 {
            let Some(positions) = positions(surface, at) else { continue };
            self.few.fill(kept.iter().map(|t| corners(positions, *t)), 2.0 * self.error);
            let far_vertices = self.lock_far_vertices(positions, rings, locked);
            let far = |t: &[u32; 3]| {
                t.iter().all(|&v| !self.far[v as usize])
                    && !self.few.has_near(corners(positions, *t), self.error)
            };
            if lock_all(surface.triangles().filter(far).flatten(), locked) || far_vertices {
                return false;
            }
        }
        for (at, all) in self.all.iter().enumerate() {
            let Some(positions) = positions(surface, at) else { continue };
            let far = |t: &&[u32; 3]| !all.has_near(corners(positions, **t), self.error);
            let rings = kept.iter().filter(far).flatten().flat_map(|&v| rings.of(v));
            if lock_all(rings, locked) {
                return false;
            }
        }
        true
    }

    /// Locks the vertices that are far from what is kept, or those of them which are farther
    /// than all around them. Says whether any is far.
    fn lock_far_vertices(
        &mut self,
        positions: &[[f32; 3]],
        rings: &Rings,
        locked: &mut [bool],
    ) -> bool {
        let most = self.error * self.error;
        let far = |v: u32| {
            let squared = self.few.distance_squared(Vec3::from(positions[v as usize]), most);
            (squared > most).then_some((squared, v))
        };
        let mut all: Vec<(f32, u32)> = rings.used().filter_map(far).collect();
        all.sort_unstable_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        self.covered.clear();
        self.covered.resize(positions.len(), false);
        self.far.clear();
        self.far.resize(positions.len(), false);
        for &(_, v) in &all {
            self.far[v as usize] = true;
            if !self.peaks_only || !self.covered[v as usize] {
                rings.of(v).for_each(|v| self.covered[v as usize] = true);
                locked[v as usize] = true;
            }
        }
        !all.is_empty()
    }

    /// The triangle of the surface that is nearest to the middle of three of its vertices.
    pub fn triangle_under(&self, surface: &Surface, t: [u32; 3]) -> usize {
        let [a, b, c] = corners(&surface.positions, t);
        self.all[0].nearest((a + b + c) / 3.0).unwrap_or(0)
    }
}

/// Locks vertices; says whether there are any.
fn lock_all(vertices: impl Iterator<Item = u32>, locked: &mut [bool]) -> bool {
    vertices.map(|v| locked[v as usize] = true).count() > 0
}

/// Where vertices are at first, and where they arrive.
fn positions(surface: &Surface, at: usize) -> Option<&[[f32; 3]]> {
    let positions = [&surface.positions, &surface.targets.positions][at];
    (!positions.is_empty()).then_some(positions.as_slice())
}

fn corners(positions: &[[f32; 3]], t: [u32; 3]) -> [Vec3; 3] {
    t.map(|v| Vec3::from(positions[v as usize]))
}

/// Square of the longest edge and the corner opposite to it.
fn longest_edge(&[a, b, c]: &[Vec3; 3]) -> (f32, usize) {
    let squared = [b.distance_squared(c), c.distance_squared(a), a.distance_squared(b)];
    let at = if squared[0] >= squared[1] && squared[0] >= squared[2] {
        0
    } else if squared[1] >= squared[2] {
        1
    } else {
        2
    };
    (squared[at], at)
}

/// The two halves of a piece.
fn halves(piece: &[Vec3; 3], opposite: usize) -> [[Vec3; 3]; 2] {
    let [a, b, c] = [0, 1, 2].map(|i| piece[(opposite + i) % 3]);
    let middle = (b + c) * 0.5;
    [[a, b, middle], [a, middle, c]]
}

impl Grid {
    /// Lists triangles by cells that are no farther than `reach`.
    fn fill(&mut self, triangles: impl Iterator<Item = [Vec3; 3]>, reach: f32) {
        self.triangles.clear();
        self.triangles.extend(triangles.map(Triangle::new));
        self.longest = 0.0;
        let (mut min, mut max) = (Vec3::MAX, Vec3::MIN);
        for triangle in &self.triangles {
            self.longest = self.longest.max(longest_edge(&triangle.corners).0);
            for corner in triangle.corners {
                (min, max) = (min.min(corner), max.max(corner));
            }
        }
        self.longest = self.longest.sqrt();
        if self.triangles.is_empty() {
            (min, max) = (Vec3::ZERO, Vec3::ZERO);
        }
        self.min = min - reach;
        let span = max - min + 2.0 * reach;
        self.edge = 1.0;
        let count = |edge: f32| ((span / edge).floor() + 1.0).element_product();
        while count(self.edge) > MAX_CELLS {
            self.edge *= 2.0;
        }
        self.size = (span / self.edge).to_array().map(|v| v as usize + 1);
        self.pairs.clear();
        for at in 0..self.triangles.len() {
            let first = self.pairs.len();
            self.list(at as u32, self.triangles[at].corners, reach);
            self.pairs[first..].sort_unstable();
        }
        self.pairs.dedup();
        self.sort();
    }

    /// Lists a piece of a triangle in the cells that its box touches; cuts it first while
    /// those are many.
    fn list(&mut self, triangle: u32, piece: [Vec3; 3], reach: f32) {
        let (low, high) =
            (piece[0].min(piece[1]).min(piece[2]), piece[0].max(piece[1]).max(piece[2]));
        if (high - low).max_element() > 4.0 * self.edge {
            let halves = halves(&piece, longest_edge(&piece).1);
            halves.into_iter().for_each(|half| self.list(triangle, half, reach));
            return;
        }
        let (low, high) = (self.cell(low - reach), self.cell(high + reach));
        // From the middle of a cell to its corner and on.
        let own = self.triangles[triangle as usize];
        let most = reach + 0.8661 * self.edge;
        for y in low[1]..=high[1] {
            for z in low[2]..=high[2] {
                for x in low[0]..=high[0] {
                    let middle =
                        self.min + (Vec3::new(x as f32, y as f32, z as f32) + 0.5) * self.edge;
                    if own.may_be_near(middle, most) {
                        self.pairs.push([self.index([x, y, z]), triangle]);
                    }
                }
            }
        }
    }

    /// Sorts what was listed by cell.
    fn sort(&mut self) {
        self.starts.clear();
        self.starts.resize(self.size.iter().product::<usize>() + 1, 0);
        for pair in &self.pairs {
            self.starts[pair[0] as usize] += 1;
        }
        let mut end = 0;
        for start in &mut self.starts {
            end += *start;
            *start = end;
        }
        self.near.clear();
        self.near.resize(self.pairs.len(), 0);
        for &[cell, triangle] in self.pairs.iter().rev() {
            let start = &mut self.starts[cell as usize];
            *start -= 1;
            self.near[*start as usize] = triangle;
        }
    }

    /// The cell of a point; the nearest if it is beyond.
    fn cell(&self, p: Vec3) -> [usize; 3] {
        let at = ((p - self.min) / self.edge).to_array();
        [0, 1, 2].map(|i| (at[i].max(0.0) as usize).min(self.size[i] - 1))
    }

    fn index(&self, [x, y, z]: [usize; 3]) -> u32 {
        (x + self.size[0] * (z + self.size[2] * y)) as u32
    }

    /// Triangles that are listed where a point is.
    fn near(&self, p: Vec3) -> &[u32] {
        let cell = self.index(self.cell(p)) as usize;
        &self.near[self.starts[cell] as usize..self.starts[cell + 1] as usize]
    }

    /// The triangle nearest to a point, of those that are listed there.
    fn nearest(&self, p: Vec3) -> Option<usize> {
        let each = self
            .near(p)
            .iter()
            .map(|&t| (self.triangles[t as usize].distance_squared(p, f32::INFINITY), t as usize));
        each.min_by(|a, b| a.0.total_cmp(&b.0)).map(|found| found.1)
    }

    /// The squared distance of the nearest triangle, or of any that is not more than `enough`;
    /// infinite beyond reach.
    fn distance_squared(&self, p: Vec3, enough: f32) -> f32 {
        let mut least = f32::INFINITY;
        for &t in self.near(p) {
            least = least.min(self.triangles[t as usize].distance_squared(p, least));
            if least <= enough {
                break;
            }
        }
        least
    }

    /// Whether no point of a piece is farther than `error` from all triangles.
    fn has_near(&self, piece: [Vec3; 3], error: f32) -> bool {
        let (length, opposite) = longest_edge(&piece);
        let fits = self.longest + 2.0 * error;
        if length <= fits * fits {
            let near = self.near((piece[0] + piece[1] + piece[2]) / 3.0);
            if near.iter().any(|&t| self.triangles[t as usize].is_near(&piece, error * error)) {
                return true;
            }
            let smallest = SMALLEST * error;
            if near.is_empty() || length < smallest * smallest {
                return false;
            }
        }
        halves(&piece, opposite).into_iter().all(|half| self.has_near(half, error))
    }
}
