//! The plane that a surface cell contributes to the vertices around it.
//!
//! The normal is the falling direction of the 3³ Sobel stencil (Youngs' normal, 1982).
//! Cells are filled like a clamped distance, so the plane lies occupancy − ½ from the
//! cell's centre. Slanted planes of nearly full or nearly empty cells, whose occupancy
//! determines them poorly, weigh less: `1 / (m + 5 (s − m) u⁴)` with m the largest and
//! s the sum of the normal's absolute components and u = 2 occupancy − 1; a full cell,
//! whose plane may lie anywhere farther out, weighs an eighth.
//!
//! Planes are stored ready for normal equations in doubled offsets: `√w / 2` times the
//! unit normal, and `√w` times the distance.

/// Scaled normal and distance; all zero has no weight.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[repr(C, align(16))]
pub(crate) struct CellPlane {
    /// `√w / 2` × unit normal.
    pub normal: [f32; 3],
    /// `√w` × distance from the cell's centre, cells.
    pub distance: f32,
}

/// The terms of a plane that depend on the cell's stored occupancy alone.
#[derive(Clone, Copy)]
#[repr(C, align(16))]
pub(crate) struct OccupancyTerms {
    /// `u = 2 occupancy − 1`, exact.
    pub u: f32,
    /// `5 u⁴`.
    pub slant: f32,
    /// `√w / 2` for w = 1: ½, for a full cell ½ / √8.
    pub scale: f32,
    /// Pads to a power of two.
    pub unused: f32,
}

/// By stored occupancy.
pub(crate) static OCCUPANCY_TERMS: [OccupancyTerms; 256] = {
    let mut terms = [OccupancyTerms { u: 0.0, slant: 0.0, scale: 0.5, unused: 0.0 }; 256];
    let mut stored = 0;
    while stored < 256 {
        let u = (stored as f32 - 127.0) / 128.0;
        terms[stored].u = u;
        terms[stored].slant = 5.0 * ((u * u) * (u * u));
        stored += 1;
    }
    terms[255].scale = 0.176_776_7;
    terms
};

/// Returns the stencil value of an inside cell: 1 to 255. Other cells have 0.
#[inline]
pub(crate) const fn stencil_value(stored: u8) -> i32 {
    if stored == 255 { 255 } else { stored as i32 + 1 }
}

impl CellPlane {
    /// Makes the plane of an inside cell from its negative gradient (Sobel sums, at most ±4080)
    /// and stored occupancy.
    #[inline]
    pub(crate) fn new(gradient: [i32; 3], stored: u8) -> CellPlane {
        let terms = OCCUPANCY_TERMS[usize::from(stored)];
        let [x, y, z] = gradient.map(|g| g as f32);
        let length = larger((x * x + y * y) + z * z, 1.0).sqrt();
        let (sum, most) = sum_and_most(gradient.map(i32::abs));
        let spread = larger(most as f32 + (sum - most) as f32 * terms.slant, 1.0);
        let k = terms.scale / (length * spread).sqrt();
        CellPlane { normal: [x * k, y * k, z * k], distance: (k * length) * terms.u }
    }

    /// Makes a plane with normal along `gradient` through `point` (cells from the cell's
    /// centre), weighted as [`CellPlane::new`] does but never as a full cell.
    #[inline]
    pub(crate) fn through(gradient: [i32; 3], point: [f32; 3], stored: u8) -> CellPlane {
        let terms = OCCUPANCY_TERMS[usize::from(stored)];
        let [x, y, z] = gradient.map(|g| g as f32);
        let length = larger((x * x + y * y) + z * z, 1.0).sqrt();
        let (sum, most) = sum_and_most(gradient.map(i32::abs));
        let spread = larger(most as f32 + (sum - most) as f32 * terms.slant, 1.0);
        let k = 0.5 / (length * spread).sqrt();
        let normal = [x * k, y * k, z * k];
        let along = (normal[0] * point[0] + normal[1] * point[1]) + normal[2] * point[2];
        CellPlane { normal, distance: 2.0 * along }
    }
}

fn sum_and_most([x, y, z]: [i32; 3]) -> (i32, i32) {
    (x + y + z, x.max(y).max(z))
}

/// Returns the larger of two numbers; the second if they are equal or unordered, as vector
/// units do.
#[inline]
pub(crate) fn larger(a: f32, b: f32) -> f32 {
    if a > b { a } else { b }
}

/// Returns the smaller of two numbers; the second if they are equal or unordered, as vector
/// units do.
#[inline]
pub(crate) fn smaller(a: f32, b: f32) -> f32 {
    if a < b { a } else { b }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flat_plane_lies_occupancy_minus_half_from_the_centre() {
        for stored in [0, 1, 100, 127, 200, 254, 255] {
            let plane = CellPlane::new([0, 4080, 0], stored);
            let w = plane.normal[1] * 2.0;
            let expected = (f32::from(stored) + 1.0) / 256.0 - 0.5;
            assert!((plane.distance / w - expected).abs() < 1e-6, "{stored}");
        }
    }

    #[test]
    fn a_cell_without_a_gradient_has_no_weight() {
        assert_eq!(CellPlane::new([0; 3], 200).normal, [0.0; 3]);
    }

    #[test]
    fn slanted_full_cells_weigh_little() {
        let size = |p: CellPlane| p.normal.iter().map(|n| n * n).sum::<f32>();
        let half = size(CellPlane::new([2000, 2000, 0], 127));
        assert!(size(CellPlane::new([2000, 2000, 0], 255)) < 0.1 * half);
        assert!(size(CellPlane::new([0, 2000, 0], 255)) < 0.3 * half);
    }
}
