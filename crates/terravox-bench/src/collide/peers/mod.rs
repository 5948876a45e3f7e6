//! Our indexes and the peers' behind one trait, so that all get the same queries.

#[cfg(cpp_peers)]
mod cpp;
mod obvhs;
mod ours;
mod parry;

#[cfg(cpp_peers)]
pub use self::cpp::{Bullet, Embree};
pub use self::obvhs::{Obvhs2, ObvhsWide};
pub use self::ours::{Kd, Quads};
pub use self::parry::{ParryCubes, ParryEdges, ParryMesh};

use super::blocks::SurfaceBlock;

/// Corners of a triangle.
pub type Triangle = [[f32; 3]; 3];

/// An index of a block's surface.
pub trait Index: Sized {
    /// Name in the tables.
    const NAME: &'static str;
    /// Builds in every n-th round only.
    const BUILD_INTERVAL_ROUNDS: usize = 4;
    /// Whether its triangles are exactly the mesher's.
    const IS_EXACT: bool = true;
    /// Whether it supports queries for the triangles in a box.
    const HAS_BOXES: bool = true;

    /// Builds it from the mesher's output.
    fn build(block: &SurfaceBlock) -> Self;

    /// All bytes, the mesh included.
    fn bytes(&self) -> usize;

    /// Share of the way from `from` to `to` that is before the first hit.
    fn closest(&self, from: [f32; 3], to: [f32; 3]) -> Option<f32>;

    /// Adds the triangles whose bounds overlap the box; none without [`Index::HAS_BOXES`].
    fn in_box(&self, _min: [f32; 3], _max: [f32; 3], _out: &mut Vec<Triangle>) {}
}

/// The vector from `from` to `to`.
fn between(from: [f32; 3], to: [f32; 3]) -> [f32; 3] {
    [0, 1, 2].map(|i| to[i] - from[i])
}

/// Returns whether the bounds of a triangle overlap a box.
fn meets(triangle: &Triangle, min: [f32; 3], max: [f32; 3]) -> bool {
    let [a, b, c] = triangle;
    (0..3).fold(true, |meets, i| {
        let (least, most) = (a[i].min(b[i]).min(c[i]), a[i].max(b[i]).max(c[i]));
        meets & (least <= max[i]) & (most >= min[i])
    })
}
