//! Placeholder until edge data is merged.
use crate::mesh::Surface;
/// Scratch.
#[derive(Default)]
pub struct EdgeScratch;
/// Angles.
pub fn edge_angles(_: &Surface, _: &mut EdgeScratch, out: &mut Vec<u16>) {
    out.clear();
}
