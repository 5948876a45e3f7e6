//! Geomorphing: where the vertices of a block lie one level up, so that a block turns into
//! its coarser parent without a jump.
//!
//! At factor 0 a vertex lies on the surface of its own level, the coarsest mip that touches
//! its corner; at factor 1 on that of the next coarser one, by the rule that puts vertices
//! beside a coarser block onto its surface. Blocks that share a vertex have the same of all
//! that is said here, to the last bit, so whatever factor each vertex has, as long as it
//! depends on the vertex alone, the closed mesh stays closed.

use super::place::unit_normal;
use super::surface::Surface;

/// Adding and subtracting this rounds to 1/32768.
const ROUNDING: f32 = 1.5 * 256.0;

/// Adding and subtracting this rounds to 1/4096.
const INNER_ROUNDING: f32 = 8.0 * ROUNDING;

/// Where the vertices of a surface lie one level up; empty unless the mesher was asked.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MorphTargets {
    /// By vertex: as [`Surface::positions`].
    pub positions: Vec<[f32; 3]>,
    /// By vertex: unit normal.
    pub normals: Vec<[f32; 3]>,
    /// By vertex: mips by which its level is coarser than the block, 0 to
    /// [`MOST_STEPS`](super::MOST_STEPS); what its factor depends on besides its distance.
    pub steps: Vec<u8>,
}

impl MorphTargets {
    /// Whether there is none.
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

/// A vertex so far on its way from `position` to `target`, both in cells of a block: the same
/// bits in every block that shows it. `step` is that of [`MorphTargets::steps`]; the way is
/// gone in whole 1/32768 of a cell of the vertex's level.
///
/// A shader that leaves out the rounding is off by less than what f32 can say of a place
/// farther than 100 cells from the camera.
pub fn morphed(position: [f32; 3], target: [f32; 3], step: u8, factor: f32) -> [f32; 3] {
    let rounding = ROUNDING * f32::from(1u16 << step.min(8));
    [0, 1, 2].map(|axis| {
        let way = (target[axis] - position[axis]) * factor;
        position[axis] + ((way + rounding) - rounding)
    })
}

/// The normal of such a vertex.
pub fn morphed_normal(normal: [f32; 3], target: [f32; 3], factor: f32) -> [f32; 3] {
    unit_normal([0, 1, 2].map(|axis| normal[axis] + (target[axis] - normal[axis]) * factor), normal)
}

impl Surface {
    /// Appends the target of a vertex near the mean of four others: it goes the mean of their
    /// ways, in whole 1/4096 of a cell of the coarsest of their levels.
    pub(super) fn push_inner_target(&mut self, vertex: usize, of: [u32; 4]) {
        let of = of.map(|v| v as usize);
        let step = of.iter().map(|&v| self.targets.steps[v]).max().unwrap_or(0);
        let rounding = INNER_ROUNDING * f32::from(1u16 << step);
        let position = [0, 1, 2].map(|axis| {
            let way = of.map(|v| self.targets.positions[v][axis] - self.positions[v][axis]);
            let mean = 0.25 * ((way[0] + way[1]) + (way[2] + way[3]));
            self.positions[vertex][axis] + ((mean + rounding) - rounding)
        });
        let n = of.map(|v| self.targets.normals[v]);
        let sum = [0, 1, 2].map(|axis| (n[0][axis] + n[1][axis]) + (n[2][axis] + n[3][axis]));
        self.targets.push(position, unit_normal(sum, self.normals[vertex]), step);
    }

    /// Moves all vertices toward their targets; `factor` is told the number of a vertex, its
    /// position and its step ([`MorphTargets::steps`]). Without targets nothing moves.
    pub fn morph(&mut self, mut factor: impl FnMut(usize, [f32; 3], u8) -> f32) {
        for i in 0..self.targets.positions.len() {
            let (position, step) = (self.positions[i], self.targets.steps[i]);
            let factor = factor(i, position, step);
            self.positions[i] = morphed(position, self.targets.positions[i], step, factor);
            self.normals[i] = morphed_normal(self.normals[i], self.targets.normals[i], factor);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ends_of_the_way_are_exact_and_its_middle_is_the_same_in_every_block() {
        let [from, to] = [[3.25, 30.0 + 1.0 / 32768.0, 0.125], [3.5, 28.0 - 5.0 / 32768.0, 0.0]];
        assert_eq!(morphed(from, to, 0, 0.0), from);
        assert_eq!(morphed(from, to, 0, 1.0), to);
        for tenth in 0..=10 {
            let factor = tenth as f32 / 10.0;
            // The same place as a block of the next finer mip sees it, 3 cells along x away.
            let fine = morphed([0.5, from[1] * 2.0, 0.25], [1.0, to[1] * 2.0, 0.0], 1, factor);
            let coarse = morphed(from, to, 0, factor);
            assert_eq!(fine, [(coarse[0] - 3.0) * 2.0, coarse[1] * 2.0, coarse[2] * 2.0]);
        }
    }
}
