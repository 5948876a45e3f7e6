//! Edges between two solids that touch there, split so that no four faces share an edge.
//!
//! Each solid gets two vertices of its own on the edge, at a quarter and at three quarters,
//! moved into its cell.

/// How far the vertices of a split edge move into their cell, each axis, in cells.
pub(crate) const SPLIT_PUSH: f32 = 0.125;

/// Farthest that they may lie from the edge, each axis, in cells.
pub(crate) const SPLIT_REACH: f32 = 0.75;

/// One of the four cells around an edge between two neighbouring corners.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct EdgeQuadrant {
    /// The lower corner.
    pub low: [i32; 3],
    /// The axis of the edge.
    pub axis: usize,
    /// Bit 0 and 1: whether the cell is on the high side along the first and second axis after
    /// `axis`.
    pub quadrant: u8,
}

impl EdgeQuadrant {
    /// Makes it from whether the cell is on the high side of the edge along the next two axes.
    #[inline]
    pub(crate) fn new(low: [i32; 3], axis: usize, is_high: [bool; 2]) -> EdgeQuadrant {
        let quadrant = u8::from(is_high[0]) + 2 * u8::from(is_high[1]);
        EdgeQuadrant { low, axis, quadrant }
    }

    /// The two axes across the edge.
    #[inline]
    pub(crate) fn across(axis: usize) -> [usize; 2] {
        [(axis + 1) % 3, (axis + 2) % 3]
    }
}
