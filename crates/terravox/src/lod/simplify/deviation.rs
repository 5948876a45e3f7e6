//! Whether two surfaces are near each other everywhere, and where they are not.
//!
//! Distance to a triangle is a convex function, so a piece of one surface whose corners are
//! all near one triangle of the other is near it as a whole; pieces for which that cannot be
//! said are cut in halves (the bound of Tang, Lee and Kim, "Interactive Hausdorff Distance
//! Computation for General Polygonal Models", 2009). Triangles are found in a grid of cells.
//! Most of what is kept is near in a simpler way: see [`cover`](super::cover).

use super::cover::Cover;
use super::grid::Grid;
use super::linked::Linked;
use crate::mesh::Surface;
use glam::Vec3;
use rustc_hash::FxHashSet;

/// Triangles that are far.
#[derive(Default)]
pub(super) struct Far {
    /// Of the input, from what is kept.
    pub all: Vec<[u32; 3]>,
    /// Of what is kept, from the input.
    pub few: Vec<[u32; 3]>,
}

/// Looks at two surfaces over the same vertices.
#[derive(Default)]
pub(super) struct Deviation {
    error: f32,
    /// The input, where its vertices are and where they arrive; empty if they stay.
    pub all: [Grid; 2],
    /// What is kept of it.
    few: Grid,
    /// Triangles that were kept and are near the input.
    near: [FxHashSet<[u32; 3]>; 2],
    /// What each triangle of the input was near.
    under: [Under; 2],
    cover: Cover,
    /// Numbers of kept triangles that parts of one are near.
    found: Vec<u32>,
}

/// The kept triangles that each triangle of the input, or its parts, were found near.
#[derive(Default)]
struct Under {
    spans: Vec<[u32; 2]>,
    kept: Vec<[u32; 3]>,
}

impl Under {
    fn read(&mut self, count: usize) {
        self.kept.clear();
        self.spans.clear();
        self.spans.resize(count, [0; 2]);
    }

    fn set(&mut self, triangle: usize, kept: impl Iterator<Item = [u32; 3]>) {
        let start = self.kept.len() as u32;
        self.kept.extend(kept);
        self.spans[triangle] = [start, self.kept.len() as u32];
    }

    /// Whether some are known, and kept.
    fn is_kept(&self, triangle: usize, kept: &FxHashSet<[u32; 3]>) -> bool {
        let [start, end] = self.spans[triangle].map(|at| at as usize);
        start < end && self.kept[start..end].iter().all(|t| kept.contains(t))
    }
}

impl Deviation {
    /// Of this surface others are looked at.
    pub fn read(&mut self, surface: &Surface, error: f32) {
        // Less by far more than rounding is worth.
        self.error = error * 0.9995;
        self.near.iter_mut().for_each(FxHashSet::clear);
        self.cover.read(surface.triangle_count());
        for (at, grid) in self.all.iter_mut().enumerate() {
            let positions = positions(surface, at);
            let triangles = positions
                .into_iter()
                .flat_map(|positions| surface.triangles().map(|t| corners(positions, t)));
            grid.fill(triangles, error);
            self.under[at].read(grid.triangles.len());
        }
    }

    /// Whether no point of the surface is farther than the error from the triangles, nor one
    /// of them from it; lists those that are. `linked` is the surface's. What was near in an
    /// earlier try is not looked at again.
    pub fn is_near(
        &mut self,
        surface: &Surface,
        linked: &Linked,
        kept: &[[u32; 3]],
        far: &mut Far,
    ) -> bool {
        far.all.clear();
        far.few.clear();
        let Deviation { error, all, few, near, under, cover, found } = self;
        for (at, all) in all.iter().enumerate() {
            let Some(positions) = positions(surface, at) else { continue };
            let (near, under) = (&mut near[at], &mut under[at]);
            few.fill(kept.iter().map(|t| corners(positions, *t)), *error);
            let mut last = 0;
            for (&t, own) in kept.iter().zip(&few.triangles) {
                if near.contains(&t) {
                    continue;
                }
                found.clear();
                let within = |below: u32| under.set(below as usize, std::iter::once(t));
                if cover.covers(&all.triangles, linked, t[0], own, *error, within)
                    || all.has_near(own.corners, *error, &mut last, found)
                {
                    near.insert(t);
                } else {
                    far.few.push(t);
                }
            }
            let is_kept: FxHashSet<[u32; 3]> = kept.iter().copied().collect();
            for (at, t) in surface.triangles().enumerate() {
                if under.is_kept(at, &is_kept) {
                    continue;
                }
                found.clear();
                if few.has_near(corners(positions, t), *error, &mut last, found) {
                    under.set(at, found.iter().map(|&t| kept[t as usize]));
                } else {
                    far.all.push(t);
                }
            }
        }
        far.all.is_empty() && far.few.is_empty()
    }

    /// The triangle of the surface that is nearest to the middle of three of its vertices.
    pub fn triangle_under(&self, surface: &Surface, t: [u32; 3]) -> usize {
        let [a, b, c] = corners(&surface.positions, t);
        self.all[0].nearest((a + b + c) / 3.0).unwrap_or(0)
    }
}

/// Where vertices are at first, and where they arrive.
fn positions(surface: &Surface, at: usize) -> Option<&[[f32; 3]]> {
    let positions = [&surface.positions, &surface.targets.positions][at];
    (!positions.is_empty()).then_some(positions.as_slice())
}

fn corners(positions: &[[f32; 3]], t: [u32; 3]) -> [Vec3; 3] {
    t.map(|v| Vec3::from(positions[v as usize]))
}
