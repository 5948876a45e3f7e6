//! Mesh simplification: edge collapse with locked borders and a verified error bound.
//!
//! Entry: [`Simplifier::simplify`], or [`Simplifier::simplify_block`] for a block that has
//! neighbours. [`join_blocks`] welds touching blocks into one mesh first, so that the borders
//! between them can be simplified, too.
//!
//! Flow:
//! 1. `coplanar` merges level squares of quads, which costs no error.
//! 2. `collapse` collapses edges, cheapest first (`quadric`), on a mesh with `adjacency`. It
//!    keeps `borders` and bounds the error at sample points only.
//! 3. `verify` checks the two-sided Hausdorff distance everywhere. Where it fails, the tolerance
//!    around the failure is tightened and step 2 runs again.
//! 4. `compact` drops unused vertices.
//!
//! Sources: Garland and Heckbert, "Surface Simplification Using Quadric Error Metrics", 1997;
//! the file of each step names the sources of that step.

mod adjacency;
mod attributes;
mod borders;
mod collapse;
mod compact;
mod coplanar;
mod coverage;
mod join;
#[cfg(test)]
mod naive;
mod quadric;
#[cfg(test)]
mod tests;
mod triangle;
mod triangle_grid;
mod triangle_mesh;
mod verify;

pub use join::join_blocks;

use crate::mesh::{BlockMesh, Surface};
use collapse::{Collapse, CollapseLimits};
use coplanar::CoplanarMerger;
use verify::{Failures, Verifier};

/// Rounds of collapse and verification before the input is returned unchanged.
const MAX_ROUNDS: u32 = 12;

/// Index of the last round that does not lock vertices around a failure.
const LOCK_AFTER_ROUNDS: u32 = 3;

/// Larger tolerances are clamped to this: beside borders, which stay, they gain little for many
/// times the work.
const MAX_ERROR_CELLS: f32 = 2.0;

/// How far a surface may be simplified.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct SimplifyOptions {
    /// Largest distance of any point of either surface from the other, in cells of the block.
    /// Finite and above 0, else [`Simplifier::simplify`] panics; values above 2 count as 2.
    pub error: f32,
    /// Whether vertices and edges of the border may be removed. Blocks then no longer fit their
    /// neighbours.
    pub has_free_border: bool,
}

impl SimplifyOptions {
    /// Options with this `error`, in cells, that keep the border.
    pub fn within(error: f32) -> SimplifyOptions {
        SimplifyOptions { error, has_free_border: false }
    }
}

/// Simplifies surfaces. Holds scratch memory, so keep one per thread and reuse it. A group of
/// 10,000 triangles takes 30 to 60 ms.
///
/// ```
/// # use terravox::generate::fill_sdf;
/// # use terravox::mesh::{BlockMesh, Mesher, PAD};
/// # use terravox::voxel::{DenseBox, MaterialTable, Region};
/// use terravox::simplify::{Simplifier, SimplifyOptions};
///
/// # let mut cells = DenseBox::new(Region::new([0; 3], [32; 3]).grow(PAD));
/// # fill_sdf(&mut cells, 0, |[x, y, _]| 10.0 + 0.2 * x - y, |_| 8);
/// let mut mesh = BlockMesh::new(); // of a slope
/// # Mesher::new().mesh(&cells, &MaterialTable::default(), &mut mesh);
/// let few = Simplifier::new().simplify_block(&mesh, SimplifyOptions::within(0.25)); // cells
/// assert!(few.solid.triangle_count() < mesh.solid.triangle_count());
/// ```
#[derive(Default)]
pub struct Simplifier {
    coplanar: CoplanarMerger,
    collapse: Collapse,
    verifier: Verifier,
    triangles: Vec<[u32; 3]>,
    failures: Failures,
}

impl Simplifier {
    /// Creates a simplifier.
    pub fn new() -> Simplifier {
        Simplifier::default()
    }

    /// Returns a surface of fewer triangles, or as many if none can go. No point of either
    /// surface is more than `options.error` from the other; for surfaces with [morph
    /// targets](Surface::targets), both at the start and at the end of the morph.
    ///
    /// The vertices are a subset of the input's, in the same order and with unchanged attributes.
    /// All triangles are loose. Border vertices and edges (edges of a single triangle) are kept,
    /// and so are vertices that share a position. Closed surfaces stay closed, manifold ones
    /// manifold.
    ///
    /// # Panics
    /// If the error is not finite and above 0, or a vertex position is not finite.
    pub fn simplify(&mut self, surface: &Surface, options: SimplifyOptions) -> Surface {
        self.run(surface, options, None)
    }

    /// As [`Simplifier::simplify`]; `block_size`, in cells, is given if neighbouring blocks must
    /// still fit.
    fn run(
        &mut self,
        surface: &Surface,
        options: SimplifyOptions,
        block_size: Option<[f32; 3]>,
    ) -> Surface {
        let error = options.error;
        assert!(
            error.is_finite() && error > 0.0,
            "SimplifyOptions::error is {error} cells; it must be finite and above 0"
        );
        let error = error.min(MAX_ERROR_CELLS);
        let finite = surface.positions.as_flattened().iter().all(|p| p.is_finite());
        assert!(finite, "a vertex position is not finite");
        let Simplifier { coplanar, collapse, verifier, triangles, failures } = self;
        let merged = coplanar.merge(surface, block_size);
        let surface = merged.as_ref().unwrap_or(surface);
        collapse.read(surface, error, options.has_free_border);
        verifier.set_input(surface, error);
        for round in 0..MAX_ROUNDS {
            collapse.run(CollapseLimits { error, block_size }, &verifier.input_grids, triangles);
            if verifier.check(surface, &collapse.input, triangles, failures) {
                return compact::simplified_surface(surface, triangles, verifier);
            }
            collapse.tighten(failures, round > LOCK_AFTER_ROUNDS);
        }
        surface.clone()
    }

    /// Simplifies both surfaces of a block. Unless the border is free, touching blocks still fit,
    /// whether simplified or not: no new edge between border vertices can also be an edge of the
    /// neighbour.
    ///
    /// # Panics
    /// As [`Simplifier::simplify`].
    pub fn simplify_block(&mut self, mesh: &BlockMesh, options: SimplifyOptions) -> BlockMesh {
        let size = (!options.has_free_border).then(|| mesh.block.size().map(|edge| edge as f32));
        BlockMesh {
            block: mesh.block,
            solid: self.run(&mesh.solid, options, size),
            liquid: self.run(&mesh.liquid, options, size),
        }
    }
}
