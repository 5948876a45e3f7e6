//! Whether two surfaces are within an error of each other everywhere, and where they are not.
//!
//! Distance to a triangle is convex, so a piece whose corners are all near one triangle is near it
//! everywhere; pieces without such a triangle are halved (the bound of Tang, Lee and Kim,
//! "Interactive Hausdorff Distance Computation for General Polygonal Models", 2009). A grid finds
//! the triangles. Most triangles pass a simpler test first: see [`coverage`](super::coverage).

use super::coverage::CoverageTest;
use super::triangle_grid::TriangleGrid;
use super::triangle_mesh::TriangleMesh;
use crate::mesh::Surface;
use glam::Vec3;
use rustc_hash::FxHashSet;

/// Triangles that are too far from the other surface. One may be listed twice: by its positions and by
/// its morph targets.
#[derive(Default)]
pub(super) struct Failures {
    pub input: Vec<[u32; 3]>,
    pub simplified: Vec<[u32; 3]>,
}

/// Compares an input surface with simplified ones over the same vertices. Pairs of arrays are for
/// positions and morph targets.
#[derive(Default)]
pub(super) struct Verifier {
    error: f32,
    pub input_grids: [TriangleGrid; 2],
    simplified_grid: TriangleGrid,
    /// Simplified triangles that are near the input.
    near: [FxHashSet<[u32; 3]>; 2],
    witnesses: [Witnesses; 2],
    coverage: CoverageTest,
    near_indices: Vec<u32>,
}

/// By input triangle: the simplified triangles that its parts were found near. As long as all of
/// them remain, so does the result.
#[derive(Default)]
struct Witnesses {
    ranges: Vec<[u32; 2]>,
    triangles: Vec<[u32; 3]>,
}

impl Witnesses {
    fn reset(&mut self, input_count: usize) {
        self.triangles.clear();
        self.ranges.clear();
        self.ranges.resize(input_count, [0; 2]);
    }

    /// Replaces the witnesses of an input triangle. The old ones stay in `triangles` until `reset`.
    fn set(&mut self, input: usize, triangles: impl Iterator<Item = [u32; 3]>) {
        let start = self.triangles.len() as u32;
        self.triangles.extend(triangles);
        self.ranges[input] = [start, self.triangles.len() as u32];
    }

    /// Whether an input triangle has witnesses, all of them in `simplified`.
    fn hold(&self, input: usize, simplified: &FxHashSet<[u32; 3]>) -> bool {
        let [start, end] = self.ranges[input].map(|at| at as usize);
        start < end && self.triangles[start..end].iter().all(|t| simplified.contains(t))
    }
}

impl Verifier {
    /// Sets the input and the error in cells.
    pub fn set_input(&mut self, surface: &Surface, error: f32) {
        // The margin is much larger than any rounding.
        self.error = error * 0.9995;
        self.near.iter_mut().for_each(FxHashSet::clear);
        self.coverage.reset(surface.triangle_count());
        for (at, grid) in self.input_grids.iter_mut().enumerate() {
            let positions = positions(surface, at);
            let triangles = positions
                .into_iter()
                .flat_map(|positions| surface.triangles().map(|t| corners(positions, t)));
            grid.fill(triangles, error);
            self.witnesses[at].reset(grid.triangles.len());
        }
    }

    /// Whether no point of the input is farther than the error from the simplified triangles, nor
    /// the reverse. Lists the triangles that are. `input` is the mesh of `surface`. Results of
    /// earlier calls are reused.
    pub fn check(
        &mut self,
        surface: &Surface,
        input: &TriangleMesh,
        simplified: &[[u32; 3]],
        failures: &mut Failures,
    ) -> bool {
        failures.input.clear();
        failures.simplified.clear();
        let Verifier {
            error,
            input_grids,
            simplified_grid,
            near,
            witnesses,
            coverage,
            near_indices,
        } = self;
        for (pair, input_grid) in input_grids.iter().enumerate() {
            let Some(positions) = positions(surface, pair) else { continue };
            let (near, witnesses) = (&mut near[pair], &mut witnesses[pair]);
            simplified_grid.fill(simplified.iter().map(|t| corners(positions, *t)), *error);
            // The triangle that was found last: a hint, for either grid.
            let mut last = 0;
            for (&t, own) in simplified.iter().zip(&simplified_grid.triangles) {
                if near.contains(&t) {
                    continue;
                }
                near_indices.clear();
                let within = |covered: u32| witnesses.set(covered as usize, std::iter::once(t));
                if coverage.covers(&input_grid.triangles, input, t[0], own, *error, within)
                    || input_grid.has_near(own.corners, *error, &mut last, near_indices)
                {
                    near.insert(t);
                } else {
                    failures.simplified.push(t);
                }
            }
            let remaining: FxHashSet<[u32; 3]> = simplified.iter().copied().collect();
            for (number, t) in surface.triangles().enumerate() {
                if witnesses.hold(number, &remaining) {
                    continue;
                }
                near_indices.clear();
                let piece = corners(positions, t);
                if simplified_grid.has_near(piece, *error, &mut last, near_indices) {
                    witnesses.set(number, near_indices.iter().map(|&t| simplified[t as usize]));
                } else {
                    failures.input.push(t);
                }
            }
        }
        failures.input.is_empty() && failures.simplified.is_empty()
    }

    /// Returns the input triangle nearest to the centroid of a simplified one; 0 if none is near.
    pub fn nearest_input_triangle(&self, surface: &Surface, t: [u32; 3]) -> usize {
        let [a, b, c] = corners(&surface.positions, t);
        self.input_grids[0].nearest((a + b + c) / 3.0).unwrap_or(0)
    }
}

/// Returns the positions (0) or the morph targets (1) of a surface, if there are any.
fn positions(surface: &Surface, at: usize) -> Option<&[[f32; 3]]> {
    let positions = [&surface.positions, &surface.targets.positions][at];
    (!positions.is_empty()).then_some(positions.as_slice())
}

fn corners(positions: &[[f32; 3]], t: [u32; 3]) -> [Vec3; 3] {
    t.map(|v| Vec3::from(positions[v as usize]))
}
