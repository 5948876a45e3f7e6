//! Meshes of fewer triangles: border-locked edge collapse, its deviation verified.
//!
//! Edges collapse in the order of the error that quadrics and attributes promise (Garland and
//! Heckbert, "Surface Simplification Using Quadric Error Metrics", 1997; Hoppe, "New Quadric
//! Metric for Simplifying Meshes with Appearance Attributes", 1999; by meshoptimizer). A
//! quadric's error is a mean, often half of the true one, and no collapse is asked whether
//! the mesh stays manifold. So what comes out is looked at: if a point of either surface is
//! too far from the other, or an edge is not used as it ought to be, the vertices about are
//! kept in another try; in the later tries the error is halved, too.

mod border;
mod collapse;
mod deviation;
mod join;
#[cfg(test)]
mod naive;
#[cfg(test)]
mod tests;

pub use join::joined;

use crate::mesh::{BlockMesh, Surface};
use border::Rings;
use collapse::Collapse;
use deviation::Deviation;

/// What is asked for at first, as a share of the error: with all of it, too much would have to
/// be kept in the next try.
const FIRST: f32 = 0.6;

/// Tries at the first error; then it is halved for each.
const FULL_TRIES: u32 = 16;

/// Tries in which of the vertices that are far only those are kept that are farther than all
/// around them.
const PEAKS_ONLY: u32 = 5;

/// Tries before the input is given back.
const TRIES: u32 = 20;

/// What a simplified surface has to keep.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Simplify {
    /// How far any point of the simplified surface may lie from the surface that it came
    /// from, and any of that from it: in cells of the block. Finite and above 0.
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
    collapse: Collapse,
    rings: Rings,
    deviation: Deviation,
    /// Vertices that stay.
    locked: Vec<bool>,
    kept: Vec<[u32; 3]>,
    torn: Vec<u32>,
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
        let finite = surface.positions.as_flattened().iter().all(|p| p.is_finite());
        assert!(finite, "a vertex whose place is not finite");
        self.rings.read(surface);
        self.locked.clear();
        self.locked.resize(surface.vertex_count(), false);
        if !how.free_border {
            self.rings.lock_border(surface, &mut self.locked);
        }
        self.collapse.read(surface);
        self.collapse.lock_fixed(&mut self.locked);
        self.deviation.read(surface, error);
        let mut asked = error * FIRST;
        for round in 0..TRIES {
            if round >= FULL_TRIES {
                asked *= 0.5;
            }
            self.collapse.run(surface, &self.locked, asked, &mut self.kept);
            self.deviation.peaks_only = round < PEAKS_ONLY;
            if self.is_fine(surface, how, block) {
                return collapse::kept(surface, &self.kept, &self.deviation);
            }
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

    /// Whether what is kept is all that it must be; if not, vertices about are locked.
    fn is_fine(&mut self, surface: &Surface, how: Simplify, block: Option<[f32; 3]>) -> bool {
        let Simplifier { rings, deviation, locked, kept, torn, .. } = self;
        torn.clear();
        rings.find_torn(kept, how.free_border, torn);
        if let Some(size) = block {
            rings.find_chords(surface, size, torn);
        }
        let about = torn.iter().flat_map(|&vertex| rings.of(vertex));
        about.for_each(|v| locked[v as usize] = true);
        deviation.is_near(surface, kept, rings, locked) && torn.is_empty()
    }
}
