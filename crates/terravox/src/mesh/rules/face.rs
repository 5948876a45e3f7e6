//! Faces of cells: their directions and corners.

use super::corner::SIDE;

/// The direction that a face looks in, out of the cell behind it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Direction {
    /// 0 x, 1 y, 2 z.
    pub axis: usize,
    /// Whether the face is on the high side of its cell.
    pub is_high: bool,
}

impl Direction {
    /// The six directions, by number: −x, +x, −y, +y, −z, +z. The quads of a row are written in
    /// this order.
    pub(crate) const ALL: [Direction; 6] = [
        Direction { axis: 0, is_high: false },
        Direction { axis: 0, is_high: true },
        Direction { axis: 1, is_high: false },
        Direction { axis: 1, is_high: true },
        Direction { axis: 2, is_high: false },
        Direction { axis: 2, is_high: true },
    ];

    /// Returns the index in [`Direction::ALL`].
    #[inline]
    pub(crate) const fn number(self) -> u8 {
        2 * self.axis as u8 + self.is_high as u8
    }
}

/// Returns the four corners of the face of `cell` in a direction, counter-clockwise seen from
/// outside. Both are in block coordinates; corner p is the low corner of cell p.
#[inline]
pub(crate) fn face_corners(cell: [i32; 3], direction: Direction) -> [[i32; 3]; 4] {
    let Direction { axis, is_high } = direction;
    let (u, v) = if is_high { (1, 2) } else { (2, 1) };
    let (u, v) = ((axis + u) % 3, (axis + v) % 3);
    let mut corners = [cell; 4];
    for corner in &mut corners {
        corner[axis] += i32::from(is_high);
    }
    corners[1][u] += 1;
    corners[2][u] += 1;
    corners[2][v] += 1;
    corners[3][v] += 1;
    corners
}

/// Returns the octant of `corner` that `cell`, one of the eight around it, fills.
#[inline]
pub(crate) fn octant_of(cell: [i32; 3], corner: [i32; 3]) -> u8 {
    (0..3).map(|axis| if cell[axis] == corner[axis] { SIDE[axis] } else { 0 }).sum()
}
