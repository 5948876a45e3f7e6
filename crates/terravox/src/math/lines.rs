//! Coloured lines for debug drawing: a renderer only needs a `draw_line`.

use super::Aabb;

/// One line.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DebugLine {
    /// Start, voxels.
    pub from: [f64; 3],
    /// End, voxels.
    pub to: [f64; 3],
    /// sRGB colour.
    pub colour: [u8; 3],
}

/// Lines to draw, in voxels. The caller owns them and clears them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DebugLines {
    /// The lines, unsorted.
    pub lines: Vec<DebugLine>,
}

impl DebugLines {
    /// Adds a line.
    pub fn line(&mut self, from: [f64; 3], to: [f64; 3], colour: [u8; 3]) {
        self.lines.push(DebugLine { from, to, colour });
    }

    /// Adds the twelve edges of a box.
    pub fn aabb(&mut self, aabb: Aabb, colour: [u8; 3]) {
        let corner = |i: usize| {
            [0, 1, 2].map(|axis| if i >> axis & 1 == 1 { aabb.max[axis] } else { aabb.min[axis] })
        };
        for low in 0..8 {
            for axis in (0..3).filter(|axis| low >> axis & 1 == 0) {
                self.line(corner(low), corner(low | 1 << axis), colour);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_box_has_twelve_edges_along_the_axes() {
        let mut lines = DebugLines::default();
        lines.aabb(Aabb::new([0.0; 3], [1.0, 2.0, 3.0]), [255, 0, 0]);
        assert_eq!(lines.lines.len(), 12);
        let length = |line: &DebugLine| (0..3).map(|i| line.to[i] - line.from[i]).sum::<f64>();
        assert_eq!(lines.lines.iter().map(length).sum::<f64>(), 4.0 * (1.0 + 2.0 + 3.0));
    }
}
