//! Triangles in a box, and the boxes of the tree itself for looking at.
//!
//! The box is first rounded inwards to the lattice, which is exact since all positions
//! lie on it; from there all is comparing integers. A node descends only where a plane
//! allows; space along the other axes was narrowed further up.

use super::{KdTree, KdTriangle, LEAF, MAX_DEPTH, Parts, Step, has_half, step};

impl KdTree {
    /// Calls `visit` with every triangle whose box meets the closed box from `min` to
    /// `max`. Boxes that are inverted or hold NaN meet nothing; infinite ends are fine.
    pub fn triangles_in(
        &self,
        min: impl Into<[f32; 3]>,
        max: impl Into<[f32; 3]>,
        mut visit: impl FnMut(KdTriangle),
    ) {
        let Some([low, high]) = self.grid.points_in(min.into(), max.into()) else { return };
        let apart = |i: usize| low[i] > self.bounds[1][i] || high[i] < self.bounds[0][i];
        if self.is_empty() || (0..3).any(apart) {
            return;
        }
        let parts = self.parts();
        let mut stack = [0u32; MAX_DEPTH + 1];
        let (mut at, mut top) = (0, 0);
        loop {
            match step(parts.nodes, at) {
                Step::Leaf { first, count } => {
                    let count = count.min(LEAF);
                    self.leaf_in(&parts, first..first + count, [low, high], &mut visit);
                }
                Step::Branch { ends, begins, axis, left, right } => {
                    let (in_left, in_right) = (ends >= low[axis], begins <= high[axis]);
                    if in_left || in_right {
                        stack[top] = right as u32;
                        top += usize::from(in_left && in_right);
                        at = if in_left { left } else { right };
                        continue;
                    }
                }
            }
            if top == 0 {
                return;
            }
            top -= 1;
            at = stack[top] as usize;
        }
    }

    /// Visits the triangles of some quads whose boxes meet the box of lattice points.
    #[inline]
    fn leaf_in(
        &self,
        parts: &Parts,
        quads: std::ops::Range<usize>,
        [low, high]: [[u16; 3]; 2],
        visit: &mut impl FnMut(KdTriangle),
    ) {
        for quad in quads {
            let corners = parts.corners(quad);
            let points = corners.map(|corner| parts.vertices[corner as usize]);
            let [a, b, c, d] = points;
            for (half, [p, q, r]) in [(0, [a, b, c]), (1, [a, c, d])] {
                // Without short cuts: which axis parts them cannot be foretold.
                let meets = (0..3).fold(true, |meets, i| {
                    let (least, most) = (p[i].min(q[i]).min(r[i]), p[i].max(q[i]).max(r[i]));
                    meets & (least <= high[i]) & (most >= low[i])
                });
                if meets && has_half(corners, half) {
                    visit(self.triangle(parts, quad, corners, half));
                }
            }
        }
    }

    /// Calls `visit(level, min, max)` with the space of every node, as far as planes
    /// further up bound it: leaves and branches, the root first, level 0.
    pub fn boxes(&self, mut visit: impl FnMut(usize, [f32; 3], [f32; 3])) {
        if self.is_empty() {
            return;
        }
        let nodes = self.parts().nodes;
        let mut open = vec![(0, 0, self.bounds)];
        while let Some((at, level, bounds)) = open.pop() {
            let [min, max] = bounds.map(|point| self.grid.position(point));
            visit(level, min, max);
            if let Step::Branch { ends, begins, axis, left, right } = step(nodes, at) {
                let (mut low, mut high) = (bounds, bounds);
                low[1][axis] = ends;
                high[0][axis] = begins;
                open.push((right, level + 1, high));
                open.push((left, level + 1, low));
            }
        }
    }
}
