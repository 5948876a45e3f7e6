//! What a tree is built from: vertices and bounds of quads, in forms for vector code.

/// A cross product of edges of at least this size is not 0, despite rounding: the largest is 2³².
pub(super) const MIN_CERTAIN_AREA: f32 = 1024.0;

/// A vertex.
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(C, align(16))]
pub(super) struct BuildVertex {
    /// As [`QuadBounds`], with 0 for the number.
    pub bounds: [i16; 8],
    /// The position, steps; x, y, z.
    pub steps: [f32; 4],
    /// The normal; z, x, y: the order in which vector code makes cross products.
    pub normal: [f32; 4],
}

/// The box of a quad: its min corner, the quad's number in lane 3, and the lowest
/// corner of its mirror image in lanes 4 to 6. So the box of several quads is their minimum.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(16))]
pub(super) struct QuadBounds(pub [i16; 8]);

impl QuadBounds {
    /// Twice the middle along an axis.
    #[inline(always)]
    pub fn middle(&self, axis: usize) -> i32 {
        i32::from(self.0[axis]) - i32::from(self.0[axis + 4])
    }
}

impl BuildVertex {
    #[inline(always)]
    pub fn position(&self) -> [i16; 3] {
        [self.bounds[0], self.bounds[1], self.bounds[2]]
    }
}
