//! Cells from a signed distance of bounded slope: few evaluations decide all cells except those at
//! the surface.
//!
//! A distance `d` at a point decides the cells near it for which the slope cannot bring it within
//! half a cell of the surface: they are full (or air). First cubes are decided by the value at
//! their centre, and split in eight where it does not suffice, down to 4³ cells (Lipschitz pruning,
//! as in Kalra and Barr, "Guaranteed Ray Intersections with Implicit Surfaces", 1989). The rest of
//! each column of cells is then narrowed from both ends. For heights, the slope along y is exactly
//! 1, so a column takes little more than its two ends and the cells that the surface cuts; that is
//! why columns come last and slopes may differ by axis.

use super::frame::{Frame, occupancy_units};
use super::height::Deep;
use crate::voxel::{AIR, DenseBox, Region, VoxelPos};

/// The maximum slope of a distance: a Lipschitz constant, in distance per length.
///
/// From a number: the change between any two points is at most that many times their distance.
/// 1 for a true distance; infinity if unknown, in which case every cell is evaluated.
///
/// From three numbers: the maximum slope along each axis; the change between two points is at
/// most the sum over the axes. For `height(x, z) - y` this is `[s, 1.0, s]`, where `s` is the
/// steepest slope of the height along either axis.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Slope {
    /// In any direction.
    Any(f64),
    /// Along each axis.
    Axes([f64; 3]),
}

impl From<f64> for Slope {
    fn from(slope: f64) -> Slope {
        Slope::Any(slope)
    }
}

impl From<[f64; 3]> for Slope {
    fn from(slopes: [f64; 3]) -> Slope {
        Slope::Axes(slopes)
    }
}

impl Slope {
    /// The maximum change of a distance between two points this far apart on each axis.
    #[inline]
    fn reach(self, [x, y, z]: [f64; 3]) -> f64 {
        match self {
            Slope::Any(slope) => slope * (x * x + y * y + z * z).sqrt(),
            Slope::Axes([a, b, c]) => a * x + b * y + c * z,
        }
    }

    /// The maximum change per length along y.
    fn along_y(self) -> f64 {
        match self {
            Slope::Any(slope) | Slope::Axes([_, slope, _]) => slope,
        }
    }

    fn check(self) {
        let valid = match self {
            Slope::Any(slope) => slope >= 0.0,
            Slope::Axes(slopes) => slopes.iter().all(|&slope| slope >= 0.0),
        };
        assert!(valid, "slope {self:?} is invalid: give numbers of at least 0");
    }

    fn is_known(self) -> bool {
        match self {
            Slope::Any(slope) => slope.is_finite(),
            Slope::Axes(slopes) => slopes.iter().all(|slope| slope.is_finite()),
        }
    }
}

/// As [`fill_sdf`](super::fill_sdf) with one material, for a distance whose slope is bounded:
/// the same cells, but whole cubes are decided by one value.
///
/// Where the slope is steeper than stated, cells are wrong. Builds with debug assertions check it
/// by sampling what they skip.
///
/// ```
/// use terravox::generate::fill_sdf_bounded;
/// use terravox::voxel::{Cell, DenseBox, Region, VoxelPos};
///
/// let mut calls = 0;
/// let ball = |[x, y, z]: [f64; 3]| {
///     calls += 1;
///     90.0 - (x * x + y * y + z * z).sqrt()
/// };
/// let mut cells = DenseBox::new(Region::new([-16; 3], [16; 3]));
/// fill_sdf_bounded(&mut cells, 0, 8, 1.0, ball);
/// assert_eq!(cells.cell(VoxelPos::splat(15)), Cell::full(8));
/// assert!(calls < 20); // 32,768 cells: one call, and a few checks of debug builds
/// ```
///
/// # Panics
/// If `mip` is above 31, or a slope is negative or NaN. With debug assertions, if a steeper slope
/// is found.
pub fn fill_sdf_bounded(
    cells: &mut DenseBox,
    mip: u8,
    material: u8,
    slope: impl Into<Slope>,
    distance: impl FnMut([f64; 3]) -> f64,
) {
    let deep = Some(Deep::all(material));
    fill(cells, Frame::voxels(mip), slope.into(), deep, distance, |_| material);
}

/// As [`fill_sdf_bounded`], with materials: `material(p)` is called for every cell that is neither
/// air nor known to be [`Deep`]; air (0) makes the cell air.
///
/// ```
/// use terravox::generate::{Deep, fill_sdf_bounded_with};
/// use terravox::voxel::{DenseBox, Region, VoxelPos};
///
/// let mut cells = DenseBox::new(Region::new([0, -32, 0], [32, 0, 32]));
/// let ground = |p: [f64; 3]| 0.6 * p[0] - 0.8 * p[1] - 20.0; // a plane
/// let material = |p: [f64; 3]| if ground(p) < 2.0 { 2 } else { 8 };
/// let deep = Some(Deep { depth: 2.0, material: 8 });
/// fill_sdf_bounded_with(&mut cells, 0, 1.0, deep, ground, material);
/// assert_eq!(cells.cell(VoxelPos::new(31, -32, 0)).material, 8);
/// ```
///
/// # Panics
/// As [`fill_sdf_bounded`]. With debug assertions also if a material is found that is not that
/// of `deep` at its depth.
pub fn fill_sdf_bounded_with(
    cells: &mut DenseBox,
    mip: u8,
    slope: impl Into<Slope>,
    deep: Option<Deep>,
    distance: impl FnMut([f64; 3]) -> f64,
    material: impl FnMut([f64; 3]) -> u8,
) {
    fill(cells, Frame::voxels(mip), slope.into(), deep, distance, material);
}

/// [`fill_sdf_bounded_with`] in any unit.
pub(crate) fn fill(
    cells: &mut DenseBox,
    frame: Frame,
    slope: Slope,
    deep: Option<Deep>,
    distance: impl FnMut([f64; 3]) -> f64,
    material: impl FnMut([f64; 3]) -> u8,
) {
    slope.check();
    if !slope.is_known() {
        return super::sdf::fill(cells, frame, distance, material);
    }
    let region = cells.region();
    let mut fill = BoundedFill { frame, edge: frame.edge(), slope, deep, distance, material };
    if region.is_empty() {
        return cells.reset(region);
    }
    match fill.decide(region) {
        Decision::Air => cells.reset(region),
        Decision::Deep(material) => cells.fill(material),
        root => {
            cells.reset(region);
            let size = region.size().map(|cells| cells.div_ceil(LEAF as usize));
            let mut open = OpenLeaves { size, leaves: vec![false; size.iter().product()] };
            fill.cube(cells, region, root, &mut open);
            fill.columns(cells, &open);
        }
    }
}

/// Cells along the edge of the smallest cube that is decided as a whole.
const LEAF: i32 = 4;

/// Cubes are split while the distance changes by at most this many times the edge within an eighth
/// of them; steeper ones are faster by columns. Measured on hills.
const STEEP: f64 = 2.5;

/// The leaves whose cells are not decided yet, x fastest, then z, then y.
struct OpenLeaves {
    size: [usize; 3],
    leaves: Vec<bool>,
}

impl OpenLeaves {
    fn index(&self, [x, y, z]: [usize; 3]) -> usize {
        x + self.size[0] * (z + self.size[2] * y)
    }
}

/// What is known of a cube.
enum Decision {
    Air,
    Full,
    /// Full, and all of it of one material.
    Deep(u8),
    /// Undecided; the value at its centre.
    Undecided(f64),
}

/// The inputs of a fill.
struct BoundedFill<D, M> {
    frame: Frame,
    edge: f64,
    slope: Slope,
    deep: Option<Deep>,
    distance: D,
    material: M,
}

impl<D: FnMut([f64; 3]) -> f64, M: FnMut([f64; 3]) -> u8> BoundedFill<D, M> {
    /// Decides a cube by the value at its centre.
    fn decide(&mut self, cube: Region) -> Decision {
        let (first, last) =
            (self.frame.centre(cube.min), self.frame.centre(cube.max - VoxelPos::splat(1)));
        let middle = [0, 1, 2].map(|i| 0.5 * (first[i] + last[i]));
        let reach = self.slope.reach([0, 1, 2].map(|i| 0.5 * (last[i] - first[i])));
        let d = (self.distance)(middle);
        let decided = self.decided(d, reach);
        #[cfg(debug_assertions)]
        if !matches!(decided, Decision::Undecided(_)) {
            let corner =
                |c: usize| [0, 1, 2].map(|i| if c >> i & 1 == 0 { first[i] } else { last[i] });
            self.check(middle, d, [0, 1, 2, 3, 4, 5, 6, 7].map(corner));
        }
        decided
    }

    /// Decides the cells within which the distance changes by at most `reach` from `d`.
    #[inline]
    fn decided(&self, d: f64, reach: f64) -> Decision {
        let half = 0.5 * self.edge;
        if d - reach >= half {
            return match self.deep {
                Some(deep) if d - reach >= deep.depth => Decision::Deep(deep.material),
                _ => Decision::Full,
            };
        }
        if d + reach <= -half { Decision::Air } else { Decision::Undecided(d) }
    }

    /// Checks the slope between a point and others.
    #[cfg(debug_assertions)]
    fn check<const N: usize>(&mut self, from: [f64; 3], d: f64, to: [[f64; 3]; N]) {
        for to in to {
            let (e, off) = ((self.distance)(to), [0, 1, 2].map(|i| (to[i] - from[i]).abs()));
            let (change, most) = ((e - d).abs(), self.slope.reach(off));
            // Values far from the origin are rounded.
            let rounding = 1e-9 * (1.0 + d.abs()) + 1e-3 * self.edge;
            assert!(
                change.is_nan() || change <= most * (1.0 + 1e-9) + rounding,
                "the slope of a distance was stated as {:?}, but from {from:?} to {to:?} it \
                 changes by {change}, and at most {most} is allowed",
                self.slope
            );
        }
    }

    /// Fills what can be decided of a cube, and records the rest in `open`.
    fn cube(
        &mut self,
        cells: &mut DenseBox,
        cube: Region,
        decided: Decision,
        open: &mut OpenLeaves,
    ) {
        let d = match decided {
            Decision::Air => return,
            Decision::Full => return self.fill_cube(cells, cube, None),
            Decision::Deep(material) => return self.fill_cube(cells, cube, Some(material)),
            Decision::Undecided(d) => d,
        };
        let size = cube.size().map(|cells| cells as i32);
        let part = size.map(next_part);
        let reach = self.slope.reach(part.map(|cells| 0.5 * f64::from(cells - 1) * self.edge));
        let edge = f64::from(part.into_iter().max().unwrap_or(1)) * self.edge;
        let worth = reach <= STEEP * edge || d.abs() > 0.5 * reach;
        if part == size || !worth {
            return open.mark(cube, cells.region().min);
        }
        let step = VoxelPos::from(part);
        for y in [cube.min.y, cube.min.y + step.y] {
            for z in [cube.min.z, cube.min.z + step.z] {
                for x in [cube.min.x, cube.min.x + step.x] {
                    let min = VoxelPos::new(x, y, z);
                    let part = Region { min, max: min + step }.intersect(cube);
                    if !part.is_empty() {
                        let decided = self.decide(part);
                        self.cube(cells, part, decided, open);
                    }
                }
            }
        }
    }

    /// Fills a cube of full cells.
    fn fill_cube(&mut self, cells: &mut DenseBox, cube: Region, material: Option<u8>) {
        let width = cube.size()[0];
        for y in cube.min.y..cube.max.y {
            for z in cube.min.z..cube.max.z {
                let start = cells.index(VoxelPos::new(cube.min.x, y, z));
                if let Some(material) = material {
                    let (materials, occupancies) = cells.arrays_mut();
                    materials[start..start + width].fill(material);
                    occupancies[start..start + width].fill(if material == AIR { 0 } else { 255 });
                    continue;
                }
                for x in cube.min.x..cube.max.x {
                    self.put(cells, VoxelPos::new(x, y, z), 256, None);
                }
            }
        }
    }

    /// Writes a cell that was air; `material` is called unless the material is known.
    #[inline]
    fn put(&mut self, cells: &mut DenseBox, pos: VoxelPos, units: u32, known: Option<u8>) {
        if units == 0 {
            return;
        }
        let material = match known {
            Some(material) => material,
            None => (self.material)(self.frame.centre(pos)),
        };
        let at = cells.index(pos);
        let (materials, occupancies) = cells.arrays_mut();
        materials[at] = material;
        occupancies[at] = if material == AIR { 0 } else { (units - 1) as u8 };
    }

    /// Fills all cells of the leaves that are open.
    fn columns(&mut self, cells: &mut DenseBox, open: &OpenLeaves) {
        let Region { min, max } = cells.region();
        let leaf = |v: i32, min: i32| ((v - min) / LEAF) as usize;
        for z in min.z..max.z {
            for x in min.x..max.x {
                let is_open = |y: i32| {
                    open.leaves[open.index([leaf(x, min.x), leaf(y, min.y), leaf(z, min.z)])]
                };
                let mut y = min.y;
                while y < max.y {
                    let start = y;
                    while y < max.y && is_open(y) {
                        y = max.y.min(y + LEAF);
                    }
                    if y > start {
                        self.column(cells, [x, z], [start, y]);
                    } else {
                        y += LEAF;
                    }
                }
            }
        }
    }

    /// Fills the cells `low..high` of a column, from both ends.
    fn column(&mut self, cells: &mut DenseBox, [x, z]: [i32; 2], [mut low, mut high]: [i32; 2]) {
        while low < high {
            low += 1 + self.advance(cells, VoxelPos::new(x, low, z), 1, high - low - 1);
            if low < high {
                high -= 1 + self.advance(cells, VoxelPos::new(x, high - 1, z), -1, high - 1 - low);
            }
        }
    }

    /// Fills the cell at `pos` and what it decides of the next `most` cells in direction `step`
    /// along y. Returns how many those are.
    #[inline]
    fn advance(&mut self, cells: &mut DenseBox, pos: VoxelPos, step: i32, most: i32) -> i32 {
        let p = self.frame.centre(pos);
        let d = (self.distance)(p);
        let known = |deep: Option<Deep>, d: f64| {
            deep.filter(|deep| d >= deep.depth).map(|deep| deep.material)
        };
        let units = occupancy_units(d / self.edge);
        self.put(cells, pos, units, known(self.deep, d));
        #[cfg(debug_assertions)]
        self.check_material(p, d);
        let change = self.slope.along_y() * self.edge;
        // The cast saturates and maps NaN to 0.
        let decided = (((d.abs() - 0.5 * self.edge) / change) as i32).clamp(0, most);
        #[cfg(debug_assertions)]
        if decided > 0 {
            let last = self.frame.centre(pos + VoxelPos::new(0, step * decided, 0));
            self.check(p, d, [last]);
        }
        if d > 0.0 {
            for i in 1..=decided {
                let known = known(self.deep, d - f64::from(i) * change);
                self.put(cells, pos + VoxelPos::new(0, step * i, 0), 256, known);
            }
        }
        decided
    }

    /// Checks the material at a point against [`Deep`].
    #[cfg(debug_assertions)]
    fn check_material(&mut self, p: [f64; 3], d: f64) {
        if let Some(deep) = self.deep.filter(|deep| d >= deep.depth && deep.depth.is_finite()) {
            let material = (self.material)(p);
            assert!(
                material == deep.material,
                "the material {d} deep, at {p:?}, is {material}, but all is said to be {deep:?}"
            );
        }
    }
}

impl OpenLeaves {
    /// Marks the leaves of a cube as open.
    fn mark(&mut self, cube: Region, origin: VoxelPos) {
        let [min, max] = [cube.min - origin, cube.max - origin].map(VoxelPos::to_array);
        let leaves =
            |axis: usize| (min[axis] / LEAF) as usize..((max[axis] + LEAF - 1) / LEAF) as usize;
        for y in leaves(1) {
            for z in leaves(2) {
                for x in leaves(0) {
                    let at = self.index([x, y, z]);
                    self.leaves[at] = true;
                }
            }
        }
    }
}

/// Where to split an edge of `cells` cells: at a power of two of leaves, so that all parts begin at
/// leaves.
fn next_part(cells: i32) -> i32 {
    if cells <= LEAF { cells } else { (cells as u32).next_power_of_two() as i32 / 2 }
}

#[cfg(test)]
mod tests;
