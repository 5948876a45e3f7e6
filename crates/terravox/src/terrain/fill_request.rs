//! Requests to a generator or a store for the cells of one block.

use std::ops::RangeBounds;

use super::Placement;
use crate::generate::placed::{self, Frame, HeightFill, ROW};
use crate::generate::{Deep, GroundColumn, RowPoints, Slope};
use crate::voxel::{DenseBox, MipBlock};

/// A block of the world for a generator to fill: 32³ cells of mip n, each 2ⁿ voxels wide.
///
/// All points, lengths and distances are in world metres, f64, so that ground far from the origin
/// is as exact as near it. The functions given to a fill may be `FnMut`, to keep caches
/// such as [`Noise2::cursor`](crate::generate::Noise2::cursor), but must depend on their
/// arguments only: a block is filled again when it comes back into view.
///
/// ```
/// use terravox::generate::Fractal;
/// use terravox::terrain::{FillRequest, Terrain, TerrainOptions};
///
/// let hills = Fractal::new(7, 90.0, 6.0);
/// let max = hills.max_2d();
/// let fill = |request: &mut FillRequest<'_>| {
///     let mut near = hills.cursor_2d();
///     request.fill_height(8, -max..=max, |x, z| near.at(x, z));
/// };
/// let mut terrain = Terrain::new(TerrainOptions::default());
/// terrain.fill([-32.0; 3], [32.0; 3], fill)?;
/// # Ok::<(), terravox::terrain::TerrainError>(())
/// ```
pub struct FillRequest<'a> {
    cells: &'a mut DenseBox,
    block: MipBlock,
    placement: Placement,
    /// Whether [`FillRequest::set_missing`] was called.
    missing: bool,
    /// Whether the cells have been written; until then they are unspecified.
    is_written: bool,
}

/// A function that fills blocks, of one type for all closures: what a terrain does with it is compiled once.
pub(super) type BlockFiller<'a> = dyn Fn(&mut FillRequest<'_>) + Sync + 'a;

impl FillRequest<'_> {
    /// Fills a block without a [`Terrain`](super::Terrain), on any thread, with the closure that
    /// [`Terrain::update`](super::Terrain::update) takes. `cells` become those of the block; their
    /// memory is reused. Returns false if `fill` called [`FillRequest::set_missing`].
    ///
    /// ```
    /// use terravox::terrain::{FillRequest, Placement};
    /// use terravox::voxel::{DenseBox, MipBlock};
    ///
    /// let ground = |request: &mut FillRequest<'_>| request.fill_height(8, 0.0..=0.0, |_, _| 0.0);
    /// let (mut cells, block) = (DenseBox::default(), MipBlock::new(0, [0, -1, 0]));
    /// assert!(FillRequest::fill_block(&mut cells, block, Placement::default(), ground));
    /// assert!(cells.materials().iter().all(|&material| material == 8));
    /// ```
    ///
    /// # Panics
    /// If the block's mip is above 31, or `fill` moves the cells to another region.
    pub fn fill_block(
        cells: &mut DenseBox,
        block: MipBlock,
        placement: Placement,
        fill: impl FnOnce(&mut FillRequest<'_>),
    ) -> bool {
        let mut request = FillRequest::begin(cells, block, placement);
        fill(&mut request);
        request.end()
    }

    fn begin(cells: &mut DenseBox, block: MipBlock, placement: Placement) -> FillRequest<'_> {
        // Not cleared: every fill method writes every cell.
        cells.resize(block.cells());
        FillRequest { cells, block, placement, missing: false, is_written: false }
    }

    /// Returns whether the cells are available.
    fn end(mut self) -> bool {
        let block = self.block;
        // A fill may have replaced the box; its region must still be that of the block.
        assert_eq!(
            self.cells().region(),
            block.cells(),
            "FillRequest::cells must keep the region of the block"
        );
        !self.missing
    }

    /// The block, with the mip of its cells.
    pub fn block(&self) -> MipBlock {
        self.block
    }

    /// The mip n of its cells, which are 2ⁿ voxels wide.
    pub fn mip(&self) -> u8 {
        self.block.mip
    }

    /// The placement of the world's voxels.
    pub fn placement(&self) -> Placement {
        self.placement
    }

    /// Edge of a cell in metres.
    ///
    /// ```
    /// # use terravox::terrain::{FillRequest, Placement};
    /// # use terravox::voxel::{DenseBox, MipBlock};
    /// # FillRequest::fill_block(
    /// #     &mut DenseBox::default(),
    /// #     MipBlock::new(3, [1, 0, -1]),
    /// #     Placement::default(),
    /// #     |request| {
    /// // The request for MipBlock::new(3, [1, 0, -1]), in voxels of a metre:
    /// assert_eq!((request.mip(), request.cell_size_m()), (3, 8.0));
    /// assert_eq!(request.bounds_m(), ([256.0, 0.0, -256.0], [512.0, 256.0, 0.0]));
    /// # });
    /// ```
    pub fn cell_size_m(&self) -> f64 {
        self.frame().edge()
    }

    /// The min and max corner of the block in world metres.
    pub fn bounds_m(&self) -> ([f64; 3], [f64; 3]) {
        let (frame, cells) = (self.frame(), self.block.cells());
        (frame.corner(cells.min), frame.corner(cells.max))
    }

    /// The cells to fill, air at first, in cells of the block's mip.
    pub fn cells(&mut self) -> &mut DenseBox {
        if !std::mem::replace(&mut self.is_written, true) {
            self.cells.reset(self.block.cells());
        }
        self.cells
    }

    /// The cells for a fill that writes all of them.
    fn unwritten(&mut self) -> &mut DenseBox {
        self.is_written = true;
        self.cells
    }

    /// Reports that the cells are not available now (a store failed, a server has not replied).
    /// They are requested again later; what is shown stays as it is.
    ///
    /// ```
    /// # use terravox::terrain::{FillRequest, Placement};
    /// # use terravox::voxel::{DenseBox, MipBlock};
    /// # let replies = std::collections::BTreeMap::<MipBlock, u8>::new();
    /// # let (block, placement) = (MipBlock::new(0, [0; 3]), Placement::default());
    /// # let mut cells = DenseBox::default();
    /// # let is_filled = FillRequest::fill_block(&mut cells, block, placement, |request| {
    /// match replies.get(&request.block()) {
    ///     Some(&material) => request.fill(material),
    ///     None => request.set_missing(), // until the server replies
    /// }
    /// # });
    /// # assert!(!is_filled);
    /// ```
    pub fn set_missing(&mut self) {
        self.missing = true;
    }

    /// Whether [`FillRequest::set_missing`] was called.
    pub fn is_missing(&self) -> bool {
        self.missing
    }

    /// Fills the block with full cells of one material; 0 is air.
    ///
    /// ```
    /// # use terravox::terrain::{FillRequest, Placement};
    /// # use terravox::voxel::{Cell, DenseBox, MipBlock, VoxelPos};
    /// # let (block, placement) = (MipBlock::new(0, [0; 3]), Placement::default());
    /// # FillRequest::fill_block(&mut DenseBox::default(), block, placement, |request| {
    /// request.fill(8);
    /// assert_eq!(request.cells().cell(VoxelPos::ZERO), Cell::full(8));
    /// # });
    /// ```
    pub fn fill(&mut self, material: u8) {
        self.unwritten().fill(material);
    }

    /// Fills the block with one material below `height_m(x, z)`, metres.
    ///
    /// `height_m` is called once per column of cells, and once per column beside the block, for the
    /// slopes. `heights_m` is the range of its results, or `..` if unknown: blocks outside of the
    /// range are filled without a call, in a microsecond. A result of NaN means no ground, and is
    /// allowed only in ranges without a lower end (`..=8.0`).
    ///
    /// ```
    /// # use terravox::terrain::{FillRequest, Placement};
    /// # use terravox::voxel::{DenseBox, MipBlock};
    /// # let (block, placement) = (MipBlock::new(0, [0; 3]), Placement::default());
    /// # FillRequest::fill_block(&mut DenseBox::default(), block, placement, |request| {
    /// request.fill_height(8, -8.0..=8.0, |x, _z| 8.0 * (x * 0.05).sin());
    /// # });
    /// ```
    ///
    /// # Panics
    /// With debug assertions, if a height outside of the range is found.
    pub fn fill_height(
        &mut self,
        material: u8,
        heights_m: impl RangeBounds<f64>,
        height_m: impl FnMut(f64, f64) -> f64,
    ) {
        self.ground(&heights_m, None).fill_one(self.unwritten(), material, height_m);
    }

    /// As [`FillRequest::fill_height`], with materials.
    ///
    /// `material(column)` is called once per column and returns a function of that column, which
    /// returns the material at a height `y` and a depth straight below the ground, both in metres;
    /// the depth is negative in cells whose centre lies above the ground. That function is called
    /// only for cells that are not air, and not for those that are `deep`: [`Deep`] promises that
    /// everything below its depth is of one material. If it returns air (0), the cell becomes air.
    ///
    /// ```
    /// # use terravox::terrain::{FillRequest, Placement};
    /// # use terravox::voxel::{DenseBox, MipBlock};
    /// # let (block, placement) = (MipBlock::new(0, [0; 3]), Placement::default());
    /// # FillRequest::fill_block(&mut DenseBox::default(), block, placement, |request| {
    /// # let height = |x: f64, z: f64| (x - z).clamp(-9.0, 9.0);
    /// use terravox::generate::Deep;
    ///
    /// const GRASS: u8 = 2;
    /// const ROCK: u8 = 8;
    /// const SOIL: u8 = 14;
    /// let deep = Some(Deep { depth: 4.0, material: ROCK });
    /// request.fill_height_with(-9.0..=9.0, deep, height, |column| {
    ///     let grass = if column.normal_y < 0.7 { ROCK } else { GRASS }; // cliffs are bare
    ///     move |_y, depth| match depth {
    ///         d if d < 1.0 => grass,
    ///         d if d < 4.0 => SOIL,
    ///         _ => ROCK,
    ///     }
    /// });
    /// # });
    /// ```
    ///
    /// # Panics
    /// As [`FillRequest::fill_height`]. With debug assertions also if a material is found that is
    /// not that of `deep` at its depth.
    pub fn fill_height_with<M: Fn(f64, f64) -> u8>(
        &mut self,
        heights_m: impl RangeBounds<f64>,
        deep: Option<Deep>,
        height_m: impl FnMut(f64, f64) -> f64,
        material: impl FnMut(GroundColumn) -> M,
    ) {
        self.ground(&heights_m, deep).fill(self.unwritten(), height_m, material);
    }

    /// Fills the block with one material where `distance_m(p)`, the signed distance of a point from
    /// the surface in metres, is positive: inside the ground. Only values near the surface need be
    /// true distances. It is called for each of the 32,768 cells; if its slope is bounded,
    /// [`FillRequest::fill_sdf_bounded`] calls it for only a few of them.
    ///
    /// ```
    /// # use terravox::terrain::{FillRequest, Placement};
    /// # use terravox::voxel::{DenseBox, MipBlock};
    /// # let (block, placement) = (MipBlock::new(0, [0; 3]), Placement::default());
    /// # FillRequest::fill_block(&mut DenseBox::default(), block, placement, |request| {
    /// request.fill_sdf(8, |[x, y, z]| 10.0 - (x * x + y * y + z * z).sqrt()); // a ball
    /// # });
    /// ```
    pub fn fill_sdf(&mut self, material: u8, distance_m: impl FnMut([f64; 3]) -> f64) {
        self.fill_sdf_with(distance_m, |_| material);
    }

    /// As [`FillRequest::fill_sdf`], with a material for every point that is not air.
    pub fn fill_sdf_with(
        &mut self,
        distance_m: impl FnMut([f64; 3]) -> f64,
        material: impl FnMut([f64; 3]) -> u8,
    ) {
        let frame = self.frame();
        placed::fill(self.unwritten(), frame, distance_m, material);
    }

    /// As [`FillRequest::fill_sdf`], with the same cells bit for bit, for a distance with a known
    /// Lipschitz constant, so that one call can decide a whole cube of cells. The [`Slope`] is 1.0
    /// for a true distance, and `[s, 1.0, s]` for `height(x, z) - y` if the height has a slope of
    /// at most `s`. Where the distance is steeper than that, cells are wrong; builds with debug
    /// assertions check this by sampling.
    ///
    /// ```
    /// # use terravox::terrain::{FillRequest, Placement};
    /// # use terravox::voxel::{DenseBox, MipBlock};
    /// # let (block, placement) = (MipBlock::new(0, [0; 3]), Placement::default());
    /// # FillRequest::fill_block(&mut DenseBox::default(), block, placement, |request| {
    /// request.fill_sdf_bounded(8, 1.0, |[x, y, z]| 10.0 - (x * x + y * y + z * z).sqrt());
    /// request.fill_sdf_bounded(8, [0.4, 1.0, 0.0], |[x, y, _]| 8.0 * (x * 0.05).sin() - y);
    /// # });
    /// ```
    ///
    /// # Panics
    /// If the slope is negative or NaN. With debug assertions, if the distance is found to be
    /// steeper.
    pub fn fill_sdf_bounded(
        &mut self,
        material: u8,
        slope: impl Into<Slope>,
        distance_m: impl FnMut([f64; 3]) -> f64,
    ) {
        let deep = Some(Deep::all(material));
        self.fill_sdf_bounded_with(slope, deep, distance_m, |_| material);
    }

    /// As [`FillRequest::fill_sdf_bounded`], with a material for every point that is not air and
    /// not `deep`: [`Deep`] promises that everything farther inside than its depth is of one
    /// material.
    ///
    /// ```
    /// # use terravox::terrain::{FillRequest, Placement};
    /// # use terravox::voxel::{DenseBox, MipBlock};
    /// # let (block, placement) = (MipBlock::new(0, [0; 3]), Placement::default());
    /// # FillRequest::fill_block(&mut DenseBox::default(), block, placement, |request| {
    /// use terravox::generate::Deep;
    ///
    /// let ball = |[x, y, z]: [f64; 3]| 10.0 - (x * x + y * y + z * z).sqrt();
    /// let deep = Some(Deep { depth: 2.0, material: 8 });
    /// request.fill_sdf_bounded_with(1.0, deep, ball, |p| if ball(p) < 2.0 { 2 } else { 8 });
    /// # });
    /// ```
    ///
    /// # Panics
    /// As [`FillRequest::fill_sdf_bounded`]. With debug assertions also if a material is found that
    /// is not that of `deep` at its distance.
    pub fn fill_sdf_bounded_with(
        &mut self,
        slope: impl Into<Slope>,
        deep: Option<Deep>,
        distance_m: impl FnMut([f64; 3]) -> f64,
        material: impl FnMut([f64; 3]) -> u8,
    ) {
        let frame = self.frame();
        let slope = slope.into();
        placed::fill_bounded(self.unwritten(), frame, slope, deep, distance_m, material);
    }

    /// Fills the block by rows of 32 cells along x ([`RowPoints`]), for SIMD code.
    ///
    /// `distances_m(row, to)` writes the distance at each centre of the row, in ascending x, as in
    /// [`FillRequest::fill_sdf`]. `materials(row, to)` writes their materials; it is called for
    /// rows that are not all air, and what it writes for cells of air is ignored. The 1,024 rows
    /// come in ascending z, then y.
    ///
    /// ```
    /// # use terravox::terrain::{FillRequest, Placement};
    /// # use terravox::voxel::{DenseBox, MipBlock};
    /// # let (block, placement) = (MipBlock::new(0, [0; 3]), Placement::default());
    /// # FillRequest::fill_block(&mut DenseBox::default(), block, placement, |request| {
    /// request.fill_rows(
    ///     |row, to| {
    ///         let [x, y, z] = row.first_m;
    ///         let (x, step) = (x as f32, row.step_m as f32); // relative to a point nearby, if far
    ///         let off = (y * y + z * z) as f32;
    ///         for (i, to) in to.iter_mut().enumerate() {
    ///             let x = x + i as f32 * step;
    ///             *to = 10.0 - (x * x + off).sqrt();
    ///         }
    ///     },
    ///     |_, to| *to = [8; 32],
    /// );
    /// # });
    /// ```
    pub fn fill_rows(
        &mut self,
        distances_m: impl FnMut(RowPoints, &mut [f32; ROW]),
        materials: impl FnMut(RowPoints, &mut [u8; ROW]),
    ) {
        let frame = self.frame();
        placed::fill_rows(self.unwritten(), frame, distances_m, materials);
    }

    /// Replaces air below a level, metres, by a material: a sea, after the ground was filled.
    /// Caves below the level are flooded, too.
    ///
    /// ```
    /// # use terravox::terrain::{FillRequest, Placement};
    /// # use terravox::voxel::{DenseBox, MipBlock, WATER};
    /// # let (block, placement) = (MipBlock::new(0, [0; 3]), Placement::default());
    /// # FillRequest::fill_block(&mut DenseBox::default(), block, placement, |request| {
    /// request.fill_height(6, -8.0..=8.0, |x, _z| 8.0 * (x * 0.05).sin());
    /// request.fill_air_below(WATER, 1.5);
    /// # });
    /// ```
    pub fn fill_air_below(&mut self, material: u8, level_m: f64) {
        let frame = self.frame();
        placed::fill_air_below(self.cells(), frame, material, level_m);
    }

    fn frame(&self) -> Frame {
        let Placement { voxel_size_m, origin_m } = self.placement;
        Frame::placed(self.block.mip, voxel_size_m, origin_m)
    }

    fn ground(&self, heights_m: &impl RangeBounds<f64>, deep: Option<Deep>) -> HeightFill {
        HeightFill { frame: self.frame(), range: placed::range(heights_m), deep }
    }
}

/// Returns the cells of a block as `fill` makes them; `None` if it reports them missing.
pub(super) fn filled(
    block: MipBlock,
    placement: Placement,
    fill: &dyn Fn(&mut FillRequest<'_>),
) -> Option<DenseBox> {
    let mut cells = DenseBox::default();
    FillRequest::fill_block(&mut cells, block, placement, fill).then_some(cells)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::voxel::{Cell, Region};

    const FAR: f64 = 1e7;

    /// A block of voxels of half a metre, ten thousand kilometres away.
    fn far(fill: impl FnOnce(&mut FillRequest<'_>)) -> DenseBox {
        let placement = Placement { voxel_size_m: 0.5, origin_m: [0.0, 4.0, 0.0] };
        let block = MipBlock::new(0, [625_000, 0, -625_000]);
        let mut cells = DenseBox::new(Region::new([0; 3], [3; 3]));
        cells.fill(99);
        assert!(FillRequest::fill_block(&mut cells, block, placement, fill));
        cells
    }

    #[test]
    fn points_far_away_are_as_exact_as_those_beside_the_origin() {
        // A plane that a point in f32, whole metres there, could not follow.
        let height = |x: f64, z: f64| 12.0 + 0.37 * (x - FAR) + 0.23 * (z + FAR);
        let slope = 1.0 / f64::sqrt(1.0 + 0.37 * 0.37 + 0.23 * 0.23);
        let distance = |[x, y, z]: [f64; 3]| (height(x, z) - y) * slope;
        let all = [
            far(|request| request.fill_height(8, .., height)),
            far(|request| request.fill_sdf(8, distance)),
            far(|request| request.fill_sdf_bounded(8, 1.0, distance)),
            far(|request| {
                assert_eq!(request.bounds_m(), ([FAR, 4.0, -FAR], [FAR + 16.0, 20.0, 16.0 - FAR]));
                request.fill_rows(
                    |row, to| {
                        for (i, to) in to.iter_mut().enumerate() {
                            *to = distance(row.point_m(i)) as f32;
                        }
                    },
                    |_, to| to.fill(8),
                );
            }),
        ];
        let mut seen = std::collections::BTreeSet::new();
        for pos in all[0].region().voxels() {
            let [x, y, z] = pos.to_array().map(|v| (f64::from(v) + 0.5) * 0.5);
            let expected = crate::generate::occupancy_units(distance([x, y + 4.0, z]) / 0.5);
            for cells in &all {
                assert!(cells.cell(pos).units().abs_diff(expected) <= 1, "{pos}");
            }
            seen.insert(expected);
        }
        assert!(seen.len() > 20, "{}", seen.len());
    }

    #[test]
    fn unfilled_blocks_are_air_and_fill_writes_one_material() {
        assert!(far(|_| ()).materials().iter().all(|&material| material == 0));
        let looked_at = far(|request| assert_eq!(request.cells().materials()[77], 0));
        assert!(looked_at.materials().iter().all(|&material| material == 0));
        let full = far(|request| request.fill(3));
        assert!(full.region().voxels().all(|pos| full.cell(pos) == Cell::full(3)));
    }

    #[test]
    fn missing_blocks_are_reported() {
        let (mut cells, block) = (DenseBox::default(), MipBlock::new(0, [0; 3]));
        let fill = |request: &mut FillRequest<'_>| request.set_missing();
        assert!(!FillRequest::fill_block(&mut cells, block, Placement::default(), fill));
        assert!(filled(block, Placement::default(), &fill).is_none());
    }
}
