//! Where the cells of a box lie in the unit of the generator that fills it: voxels, or world
//! metres for a [`FillRequest`](crate::terrain::FillRequest).

use crate::voxel::VoxelPos;

/// Fill in 256ths (0 to 256) of a cell whose centre lies `distance` cells inside the
/// surface. 0, for air, where `distance` is NaN.
///
/// The fill is `clamp(½ + distance)`; meshing such cells gives back planes exactly.
#[inline]
pub fn occupancy_units(distance: f64) -> u32 {
    // The cast saturates and maps NaN to 0.
    ((distance + 0.5) * 256.0 + 0.5).clamp(0.0, 256.0) as u32
}

/// Cells of one mip in the unit of a generator. Positions are f64, so that cells far from the
/// origin are as distinct as those beside it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Frame {
    edge_voxels: f64,
    voxel_size: f64,
    origin: [f64; 3],
}

impl Frame {
    /// Cells of `mip` in voxels.
    ///
    /// # Panics
    /// If `mip` is above 31.
    pub fn voxels(mip: u8) -> Frame {
        Frame::placed(mip, 1.0, [0.0; 3])
    }

    /// Cells of `mip` in a unit of which a voxel has `voxel_size`, with voxel (0, 0, 0) at
    /// `origin`.
    ///
    /// # Panics
    /// If `mip` is above 31.
    pub fn placed(mip: u8, voxel_size: f64, origin: [f64; 3]) -> Frame {
        assert!(mip <= 31, "mip {mip} is invalid: at most 31");
        Frame { edge_voxels: f64::from(1u32 << mip), voxel_size, origin }
    }

    /// Edge of a cell.
    #[inline]
    pub fn edge(&self) -> f64 {
        self.edge_voxels * self.voxel_size
    }

    /// Coordinate on `axis` of a cell's lower side (`at` = 0), centre (½) or upper side (1).
    #[inline]
    fn on_axis(&self, axis: usize, cell: i32, at: f64) -> f64 {
        (f64::from(cell) + at) * self.edge_voxels * self.voxel_size + self.origin[axis]
    }

    /// Coordinate on `axis` of the centre of a cell.
    #[inline]
    pub fn centre_on(&self, axis: usize, cell: i32) -> f64 {
        self.on_axis(axis, cell, 0.5)
    }

    /// Centre of a cell.
    #[inline]
    pub fn centre(&self, cell: VoxelPos) -> [f64; 3] {
        let cell = cell.to_array();
        [0, 1, 2].map(|axis| self.centre_on(axis, cell[axis]))
    }

    /// Lowest corner of a cell.
    pub fn corner(&self, cell: VoxelPos) -> [f64; 3] {
        let cell = cell.to_array();
        [0, 1, 2].map(|axis| self.on_axis(axis, cell[axis], 0.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nan_and_infinity_are_air_and_full() {
        assert_eq!(occupancy_units(f64::NAN), 0);
        assert_eq!(occupancy_units(f64::INFINITY), 256);
        assert_eq!(occupancy_units(f64::NEG_INFINITY), 0);
    }

    #[test]
    fn cells_ten_thousand_kilometres_away_are_distinct() {
        let frame = Frame::placed(0, 0.25, [1e7, -1e7, 0.5]);
        let [x, y, z] = frame.centre(VoxelPos::new(1, 0, -1));
        assert_eq!([x, y, z], [1e7 + 0.375, -1e7 + 0.125, 0.375]);
        assert_eq!(frame.corner(VoxelPos::ZERO), [1e7, -1e7, 0.5]);
    }
}
