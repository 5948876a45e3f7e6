//! Points on the ground for plants, rocks and other things that stand on it: chosen by material,
//! slope, height and noise, at a minimum distance from each other, at every level of detail.
//!
//! - [`ScatterRule`] is the data: where one kind of thing stands, how densely, how large it is.
//! - [`ScatterRules::scatter`] makes the [`Instance`]s of one block from its cells. It is a pure
//!   function of rules and cells: nothing is stored, saved or replicated, any thread makes any
//!   block in any order, and blocks fit at their borders.
//! - [`Scatter`] is the view: it keeps the instances of the blocks that are shown and, after an
//!   edit, recomputes the instances on the ground that changed.
//!
//! How data flows. A pattern of points of the plane (`pattern`) repeats with a period of 64
//! spacings, moved by the seed of each rule; all its points are at least one spacing apart, and
//! it has subsets that are 2, 4 and 8 spacings apart. Each point has a *rank* in 0..1, hashed from
//! seed, period and number of the point. Density, noise and level of detail are
//! thresholds of the rank: a sparser selection is a subset of a denser one, so points neither
//! move nor are swapped when the level changes. The ranks and everything else about a point, but
//! not the pattern itself, are different in each period.
//!
//! The points of a block (`candidates`) become vertical lines, and each triangle of the block's
//! mesh finds the lines that it crosses (`crossings`), exactly, in integers: a line crosses a
//! closed mesh once per surface, so cave floors, ceilings and overhangs have points of their own,
//! and none is found twice or lost where triangles or blocks meet. Each crossing belongs to the
//! block of the cell behind its face. The rules then keep it or not (`rules`).
//!
//! Points lie on the mesh that [`Mesher::mesh`](crate::mesh::Mesher::mesh) makes of the same cells,
//! at most 1/4096 of a cell below it. Beside blocks of other mips, and where a mesh is simplified,
//! the drawn surface may be a fraction of a cell away.
//!
//! `naive` is the slow version for tests: all points of the pattern against all triangles of one
//! large mesh.
//!
//! Sources: dart throwing (Cook, "Stochastic Sampling", 1986) on a torus, hierarchically as in
//! Mitchell's and McCool's progressive point sets; triangles by edge functions (Pineda 1988), ties
//! by symbolic perturbation (Edelsbrunner and Mücke 1990).

mod candidates;
mod crossings;
mod instance;
#[cfg(test)]
mod naive;
mod pattern;
mod rule;
mod rules;
#[cfg(test)]
mod tests;
mod view;

pub use instance::Instance;
pub use rule::{ScatterRule, ScatterRuleError, ScatterWater};
pub use rules::{ScatterRules, ScatterScratch};
pub use view::{Scatter, ScatterUpdate};
