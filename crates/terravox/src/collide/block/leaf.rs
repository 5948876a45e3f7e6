//! Leaves of four quads, and the format of their positions and words.
//!
//! A position is a signed multiple of 1/4096 of a cell from the middle of an 8³ block:
//! exact for the mesher's output, and the same grid in every block, so that neighbours fit.
//! The word of a quad holds its cell (bits 0–8: x, z, y), the direction of its face (9–11), the
//! angles at its four sides (12–27), and for each of its triangles whether it is flat, without
//! area (28, 29), and whether it is reversed (30, 31).

/// Steps of a position per cell.
pub(super) const STEPS: f32 = 4096.0;

/// The middle of a block, cells: where positions are 0.
pub(super) const MIDDLE: f32 = 4.0;

/// Largest distance of a position from the middle, steps: ¾ of a cell beyond the block.
pub(super) const MAX_POSITION: i16 = 19456;

/// Quads in a leaf.
pub(super) const LEAF: usize = 4;

/// First bit of the direction in a quad's word.
pub(super) const DIRECTION: u32 = 9;
/// First bit of the angles.
pub(super) const ANGLES: u32 = 12;
/// First of the two bits that say whether a triangle has no area.
pub(super) const FLAT: u32 = 28;
/// First of the two bits that say whether a triangle is reversed.
pub(super) const REVERSED: u32 = 30;

/// The word of an unused lane of the last leaf: both triangles without area.
pub(super) const NO_QUAD: u32 = 3 << FLAT;

/// Four quads.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct QuadLeaf<V> {
    /// Vertex numbers by corner, then by quad. Triangles are corners 0, 1, 2 and 0, 2, 3.
    pub corners: [[V; LEAF]; 4],
    /// Words by quad.
    pub words: [u32; LEAF],
}

/// Leaves, by the size of their vertex numbers.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Leaves {
    /// For up to 256 vertices.
    Narrow(Box<[QuadLeaf<u8>]>),
    /// For up to 65,536.
    Wide(Box<[QuadLeaf<u16>]>),
}

/// A position in cells from the block's min corner. Exact.
#[inline(always)]
pub(super) fn cells_of(position: [i16; 3]) -> [f32; 3] {
    position.map(|p| MIDDLE + f32::from(p) * (1.0 / STEPS))
}

/// The position of a coordinate, cells. Exact for the mesher's output; clamped to
/// [`MAX_POSITION`].
#[inline(always)]
pub(super) fn step_of(cells: f32) -> i16 {
    let end = f32::from(MAX_POSITION);
    ((cells - MIDDLE) * STEPS).max(-end).min(end) as i16
}

impl<V: Copy + Into<u16>> QuadLeaf<V> {
    /// Vertices of a quad of this leaf.
    pub fn vertices(&self, quad: u16) -> [u16; 4] {
        self.corners.map(|corner| corner[usize::from(quad) % LEAF].into())
    }
}
