//! Geomorphing: where the vertices of a block lie one mip up, so that a block turns into
//! its coarser parent without popping.
//!
//! At factor 0 a vertex lies on the surface of its own mip, the coarsest mip that touches
//! its corner; at factor 1 on that of the next coarser one, by the rule that puts vertices
//! beside a coarser block onto its surface. Blocks that share a vertex agree bit for bit on its
//! position, target and step. So the mesh stays closed for any factors that depend on the vertex
//! alone.

use super::rules::place::unit_normal;

/// Adding and subtracting this rounds to 1/32768.
const ROUNDING: f32 = 1.5 * 256.0;

/// Where the vertices of a surface lie one mip up; empty unless the mesher was asked for it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MorphTargets {
    /// By vertex: as [`Surface::positions`](super::Surface::positions).
    pub positions: Vec<[f32; 3]>,
    /// By vertex: unit normal.
    pub normals: Vec<[f32; 3]>,
    /// By vertex: steps by which its mip is coarser than the block, 0 to
    /// [`MAX_MIP_STEPS`](super::MAX_MIP_STEPS). Its factor depends on this and on its distance.
    pub steps: Vec<u8>,
}

/// Rounds a move of a vertex between others to 1/4096 of a cell of its mip.
pub(super) fn rounded_move(offset: f32, step: u8) -> f32 {
    let rounding = 8.0 * ROUNDING * f32::from(1u16 << step);
    (offset + rounding) - rounding
}

impl MorphTargets {
    /// Whether there are no targets.
    pub fn is_empty(&self) -> bool {
        self.positions.is_empty()
    }

    pub(super) fn clear(&mut self) {
        self.positions.clear();
        self.normals.clear();
        self.steps.clear();
    }

    pub(super) fn push(&mut self, position: [f32; 3], normal: [f32; 3], step: u8) {
        self.positions.push(position);
        self.normals.push(normal);
        self.steps.push(step);
    }
}

/// Interpolates between `position` at factor 0 and `target` at 1, both in cells of a block. The
/// result has the same bits in every block that has the vertex: the vertex moves by whole
/// 1/32768 of a cell of its mip. `step` is that of [`MorphTargets::steps`].
///
/// A shader may leave out the rounding: farther than 100 cells from the camera the error is below
/// the precision of f32.
pub fn morphed(position: [f32; 3], target: [f32; 3], step: u8, factor: f32) -> [f32; 3] {
    let rounding = ROUNDING * f32::from(1u16 << step.min(8));
    [0, 1, 2].map(|axis| {
        let offset = (target[axis] - position[axis]) * factor;
        position[axis] + ((offset + rounding) - rounding)
    })
}

/// Interpolates between two unit normals, as [`morphed`] between positions.
pub fn morphed_normal(normal: [f32; 3], target: [f32; 3], factor: f32) -> [f32; 3] {
    unit_normal([0, 1, 2].map(|axis| normal[axis] + (target[axis] - normal[axis]) * factor), normal)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn factors_0_and_1_are_exact_and_those_between_are_the_same_in_every_block() {
        let [from, to] = [[3.25, 30.0 + 1.0 / 32768.0, 0.125], [3.5, 28.0 - 5.0 / 32768.0, 0.0]];
        assert_eq!(morphed(from, to, 0, 0.0), from);
        assert_eq!(morphed(from, to, 0, 1.0), to);
        for tenth in 0..=10 {
            let factor = tenth as f32 / 10.0;
            // The same vertex in a block of the next finer mip, whose corner is 3 cells away in x.
            let fine = morphed([0.5, from[1] * 2.0, 0.25], [1.0, to[1] * 2.0, 0.0], 1, factor);
            let coarse = morphed(from, to, 0, factor);
            assert_eq!(fine, [(coarse[0] - 3.0) * 2.0, coarse[1] * 2.0, coarse[2] * 2.0]);
        }
    }
}
