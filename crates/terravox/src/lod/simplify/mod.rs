//! Meshes of fewer triangles: border-locked edge collapse, its deviation verified.
//!
//! A collapse that would lose more than it may is not done, judged by points. What comes out
//! is then looked at everywhere; where a point of either surface is too far from the other,
//! all about has to stay nearer in another try.

mod attributes;
mod collapse;
mod cover;
mod deviation;
mod fans;
mod flat;
mod grid;
mod join;
mod left;
mod linked;
#[cfg(test)]
mod naive;
mod quadric;
#[cfg(test)]
mod tests;
mod triangle;

pub use join::joined;

use crate::mesh::{BlockMesh, Surface};
use collapse::{Collapse, Limits};
use deviation::{Deviation, Far};
use flat::Flat;

/// Tries before the input is given back, and those after which vertices about stay.
const TRIES: u32 = 12;
const STAY_AFTER: u32 = 3;

/// A larger error counts as this, cells: beside borders that stay it would gain little, for
/// many times the work.
const MOST_ERROR: f32 = 2.0;

/// What a simplified surface has to keep.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Simplify {
    /// How far any point of the simplified surface may lie from the surface that it came
    /// from, and any of that from it: in cells of the block. Finite and above 0; more than 2
    /// counts as 2.
    pub error: f32,
    /// Whether vertices and edges of the border may go, too. Blocks then no longer fit.
    pub free_border: bool,
}

impl Simplify {
    /// Within so many cells; the border is kept.
    pub fn within(error: f32) -> Simplify {
        Simplify { error, free_border: false }
    }
}

/// Simplifies surfaces. Holds scratch memory, so keep one per thread and reuse it.
#[derive(Default)]
pub struct Simplifier {
    flat: Flat,
    collapse: Collapse,
    deviation: Deviation,
    kept: Vec<[u32; 3]>,
    far: Far,
}

impl Simplifier {
    /// Scratch memory.
    pub fn new() -> Simplifier {
        Simplifier::default()
    }

    /// A surface of fewer triangles, or as many if there are none to spare: no point of either
    /// is more than `error` from the other. Where the surface moves along with
    /// [targets](Surface::targets) this holds before it has left and when it has arrived.
    ///
    /// Vertices are some of those that were there, in their order, with all that is said of
    /// them. All triangles are loose, of the material of the triangle that was there. Vertices
    /// of the border, that is of edges that one triangle uses, and those edges are kept; so
    /// are vertices at one place. Closed surfaces stay closed, and manifold ones manifold.
    ///
    /// # Panics
    /// If the error is not finite and above 0, or a vertex' place is not finite.
    pub fn simplify(&mut self, surface: &Surface, how: Simplify) -> Surface {
        self.run(surface, how, None)
    }

    /// As [`Simplifier::simplify`]; of a block of so many cells, if it is one that others touch.
    fn run(&mut self, surface: &Surface, how: Simplify, block: Option<[f32; 3]>) -> Surface {
        let error = how.error;
        assert!(error.is_finite() && error > 0.0, "an error of {error} cells");
        let error = error.min(MOST_ERROR);
        let finite = surface.positions.as_flattened().iter().all(|p| p.is_finite());
        assert!(finite, "a vertex whose place is not finite");
        let Simplifier { flat, collapse, deviation, kept, far } = self;
        let merged = flat.merged(surface, block);
        let surface = merged.as_ref().unwrap_or(surface);
        collapse.read(surface, error, how.free_border);
        deviation.read(surface, error);
        for round in 0..TRIES {
            collapse.run(Limits { error, block }, &deviation.all, kept);
            if deviation.is_near(surface, &collapse.whole, kept, far) {
                return left::left(surface, kept, deviation);
            }
            collapse.forbid(far, round > STAY_AFTER);
        }
        surface.clone()
    }

    /// Both surfaces of a block, so that those of blocks that touch it fit as they did, be they
    /// simplified or not: no new edge between vertices of the border can be that of another
    /// block, too.
    ///
    /// # Panics
    /// As [`Simplifier::simplify`].
    pub fn simplify_block(&mut self, mesh: &BlockMesh, how: Simplify) -> BlockMesh {
        let size = (!how.free_border).then(|| mesh.block.size().map(|edge| edge as f32));
        BlockMesh {
            block: mesh.block,
            solid: self.run(&mesh.solid, how, size),
            liquid: self.run(&mesh.liquid, how, size),
        }
    }
}
