//! Water that ground carries at a shore: how far a liquid surface continues over solid cells.
//!
//! Files store water in cells that contain water only. A beach rises slowly, so the ground of many
//! cells beside the last water cell is still lower than the water. A surface that ended at the
//! water's own cells would follow their corners and be jagged where the beach is flat. So solid
//! cells beside water hold it too, at the same level, until the ground has risen.
//!
//! The rule, at one mip:
//! - *Sources* are cells of water, and solid ones that hold water, with air above them.
//! - A solid cell can *carry* water if it has air above it, has no air below it nor at its four
//!   sides (the water would fall there), and holds no water. At coarse mips it may hold some: the
//!   mean of finer cells, which is less than the level.
//! - In steps along x and z from the sources, up to [`Shores::reach_cells`], a cell that can carry
//!   water takes the highest level among its neighbours that took theirs one step before. If its
//!   ground is lower than that, it keeps the level and passes it on. Else the shore ends in it,
//!   unless a higher level arrives later.
//! - Ground one layer higher, with air above and none below, ends the shore too: if the water
//!   beside it, a layer lower, fills at least 7/8 of its cell, it takes the lowest level and passes
//!   nothing on. Otherwise thin ground above the water, or the first step of a terrace, would show
//!   the edge of the water's surface where the ground has not risen yet.
//!
//! So the result depends on cells of one mip alone, and not on the box that is read.

use crate::voxel::{
    DenseBox, Kind, Knowledge, MAX_FAR_MIP, MaterialTable, NotHeld, Region, Snapshot, VoxelPos,
    WATER,
};
use std::ops::Range;

/// Lowest level, 1 to 256, of water that continues into ground one layer higher.
const MIN_CLIMB_LEVEL: u16 = 224;

/// Mips coarser than the requested one at which a region is searched for water.
const SEARCH_STEPS: u8 = 3;

/// Mips coarser than the requested one at which a region is searched first: most dry regions are
/// recognised there, and for voxels those cells lie together in pages.
const FIRST_SEARCH_STEPS: u8 = 4;

/// Maximum number of cells that [`Shores::is_dry`] searches: larger regions are not worth it.
const MAX_SEARCHED_CELLS: u64 = 1 << 18;

/// Finds the water that solid cells carry. Holds scratch memory, so keep one per thread and reuse
/// it.
///
/// ```
/// use terravox::mesh::{BlockMesh, Mesher, PAD, Shores};
/// use terravox::voxel::{Cell, DenseBox, GridOptions, Region, VoxelGrid, VoxelPos};
///
/// // Water beside ground that is half as high: its surface continues over the ground.
/// let mut grid = VoxelGrid::new(GridOptions::default());
/// let mut cells = DenseBox::new(Region::new([0, 0, 0], [8, 2, 8]));
/// for p in cells.region().voxels() {
///     let ground = if p.y == 0 { Cell::full(6) } else { Cell::new(6, 127) };
///     cells.set(p, if p.y == 1 && p.x < 4 { Cell::full(1) } else { ground });
/// }
/// grid.write(&cells)?;
///
/// let (mut shores, mut mesh) = (Shores::default(), BlockMesh::new());
/// let block = Region::new([0, 0, 0], [8, 8, 8]);
/// shores.read(grid.as_snapshot(), block.grow(PAD), 0, &mut cells)?;
/// assert_eq!(cells.water_at(VoxelPos::new(5, 1, 4)), Some(255));
/// Mesher::new().mesh(&cells, grid.materials(), &mut mesh);
/// # Ok::<(), terravox::voxel::NotHeld>(())
/// ```
#[derive(Debug, Default)]
pub struct Shores {
    /// The cells that are searched, or that water spreads over.
    wide: DenseBox,
    /// By cell of `wide`: its level, 1 to 256, 0 for none, and flags.
    levels: Vec<u16>,
    /// Cells that took their level at the last step and pass it on, with the level.
    front: Vec<(u32, u16)>,
    /// Cells that took a level at this step.
    next: Vec<u32>,
    /// All cells that took a level.
    taken: Vec<u32>,
    carried: Vec<(VoxelPos, u8)>,
}

impl Shores {
    /// Returns the cells of `mip` on which the water carried in `region` depends; these are also
    /// the cells whose carried water depends on cells in `region`, since both reach equally far.
    pub fn depends_on(region: Region, mip: u8) -> Region {
        let (min, max) = (region.min.to_array(), region.max.to_array());
        let reach = Shores::reach_cells(mip) + 1;
        Region::new(
            [min[0] - reach, min[1] - 2, min[2] - reach],
            [max[0] + reach, max[1] + 2, max[2] + reach],
        )
    }

    /// Returns the number of cells over which shores of a mip carry water, counted in steps along x
    /// and z: 12 voxels, at least one cell. So all cells on which a block's vertices depend lie in
    /// the blocks that touch it, which are at least 32 voxels or four of these cells wide.
    pub const fn reach_cells(mip: u8) -> i32 {
        match mip {
            0..=3 => 12 >> mip,
            _ => 1,
        }
    }

    /// Reads the cells of `region` at mip `mip` into `out`, with the water that shores carry.
    ///
    /// # Errors
    /// As [`Snapshot::read`]. Unknown cells beyond the region carry no water into it.
    ///
    /// # Panics
    /// As [`Snapshot::read`], for the region grown by 13 cells along x and z and 2 along y.
    pub fn read(
        &mut self,
        snapshot: &Snapshot,
        region: Region,
        mip: u8,
        out: &mut DenseBox,
    ) -> Result<(), NotHeld> {
        snapshot.read(region, mip, out)?;
        self.soak(snapshot, mip, out);
        Ok(())
    }

    /// Adds the water that shores carry to a box of cells of a mip, read from `snapshot`.
    /// Cells of the box that differ from the snapshot's stay as they are; the shore may then end
    /// earlier below them.
    ///
    /// # Panics
    /// If `mip` is above [`MAX_FAR_MIP`], or the box, grown by 13 cells along x and z and 2
    /// along y, has more than [`DenseBox::MAX_CELLS`](crate::voxel::DenseBox::MAX_CELLS).
    pub fn soak(&mut self, snapshot: &Snapshot, mip: u8, cells: &mut DenseBox) {
        self.soak_by(snapshot, mip, cells, |around, wide| {
            snapshot.read_known(around, mip, wide);
        });
    }

    /// As [`Shores::soak`], with the cells around from `read`: those shown may be coarser than
    /// those known.
    pub(crate) fn soak_by(
        &mut self,
        snapshot: &Snapshot,
        mip: u8,
        cells: &mut DenseBox,
        read: impl FnOnce(Region, &mut DenseBox),
    ) {
        self.find_carried(snapshot, mip, cells, read);
        if self.carried.is_empty() {
            return;
        }
        let old_len = cells.water().len();
        for &(at, level) in &self.carried {
            if cells.cell(at) != self.wide.cell(at) {
                continue;
            }
            let entry = (cells.index(at) as u32, level);
            let water = cells.water_mut();
            match water[..old_len].binary_search_by_key(&entry.0, |old| old.0) {
                Ok(old) => water[old] = entry,
                Err(_) => water.push(entry),
            }
        }
        cells.water_mut().sort_unstable_by_key(|entry| entry.0);
    }

    /// Whether there is no water in `region`, in cells of `mip`. Conservative: may return false
    /// for a dry region.
    pub(crate) fn is_dry(&mut self, snapshot: &Snapshot, mip: u8, region: Region) -> bool {
        if region.coarser(SEARCH_STEPS.into()).volume() > MAX_SEARCHED_CELLS {
            return false;
        }
        let is_first_dry = mip + FIRST_SEARCH_STEPS <= MAX_FAR_MIP
            && self.read_wide(snapshot, mip, FIRST_SEARCH_STEPS, region)
            && self.wet_cells(snapshot).next().is_none();
        is_first_dry || {
            self.search(snapshot, mip, region);
            self.wet_cells(snapshot).next().is_none()
        }
    }

    /// Whether a write of `region`, in voxels, from `old` to `new` left the water unchanged in the
    /// cells that [`Shores::is_dry`] searches. Conservative: may return false although it did.
    pub(crate) fn leaves_water(&mut self, old: &Snapshot, new: &Snapshot, region: Region) -> bool {
        let mut wet = |snapshot| {
            self.read_wide(snapshot, 0, SEARCH_STEPS, region);
            self.wet_cells(snapshot).collect::<Vec<_>>()
        };
        region.coarser(SEARCH_STEPS.into()).volume() <= MAX_SEARCHED_CELLS && wet(old) == wet(new)
    }

    /// Returns the cells with water in `region`, in cells of `mip`: the coarser cells that
    /// [`Shores::is_dry`] searches, and how many mips coarser they are. An edit has at most
    /// [`EditOp::MAX_CELLS`](crate::edit::EditOp::MAX_CELLS), so that about 2²¹ are read.
    pub(crate) fn wet_cubes(
        &mut self,
        snapshot: &Snapshot,
        mip: u8,
        region: Region,
    ) -> (Vec<VoxelPos>, u8) {
        let steps = self.search(snapshot, mip, region);
        (self.wet_cells(snapshot).collect(), steps)
    }

    /// Reads the cells of `region`, in cells of `mip`, into `wide` at a coarser mip, where a cell
    /// is wet if one of its finer cells is; at `mip` itself if the coarser ones are not all
    /// known. Returns how many mips coarser.
    fn search(&mut self, snapshot: &Snapshot, mip: u8, region: Region) -> u8 {
        let steps = SEARCH_STEPS.min(MAX_FAR_MIP - mip);
        if self.read_wide(snapshot, mip, steps, region) {
            return steps;
        }
        snapshot.read_known(region, mip, &mut self.wide);
        0
    }

    /// Reads the cells of `region`, in cells of `mip`, into `wide`, `steps` mips coarser. Returns
    /// whether they cover all cells known at `mip`: always for voxels, which are known by chunks
    /// alone, and whose coarser mips follow from them.
    fn read_wide(&mut self, snapshot: &Snapshot, mip: u8, steps: u8, region: Region) -> bool {
        let coarse = region.coarser(steps.into());
        let known = snapshot.read_known(coarse, mip + steps, &mut self.wide);
        known == Knowledge::AtMip || mip == 0
    }

    /// Returns the cells of `wide` that are liquid or hold water, unsorted.
    fn wet_cells<'a>(&'a self, snapshot: &'a Snapshot) -> impl Iterator<Item = VoxelPos> + 'a {
        let (kinds, wide) = (snapshot.materials().kinds(), &self.wide);
        let holding = wide.water().iter().map(|&(i, _)| i);
        let liquid = (0..).zip(wide.materials()).filter_map(|(i, &material)| {
            (kinds[usize::from(material)] == Kind::Liquid).then_some(i)
        });
        holding.chain(liquid).map(|i| wide.position(i))
    }

    /// Returns a box of cells of `mip` that contains all cells with water in `region`; `None` if
    /// there are none.
    fn wet_bounds(&mut self, snapshot: &Snapshot, mip: u8, region: Region) -> Option<Region> {
        if region.coarser(SEARCH_STEPS.into()).volume() > MAX_SEARCHED_CELLS {
            return Some(region);
        }
        let steps = self.search(snapshot, mip, region);
        let bounds = self.wet_cells(snapshot).map(Region::one).reduce(Region::union)?;
        // Cells that are read may be shown at a coarser mip than was searched.
        Some(bounds.finer(steps.into()).coarser(SEARCH_STEPS.into()).finer(SEARCH_STEPS.into()))
    }

    /// Returns the solid cells of `region` that carry water, with their levels, unsorted.
    #[cfg(test)]
    pub(crate) fn carried(
        &mut self,
        snapshot: &Snapshot,
        mip: u8,
        region: Region,
    ) -> &[(VoxelPos, u8)] {
        let mut cells = DenseBox::default();
        snapshot.read_known(region, mip, &mut cells);
        self.find_carried(snapshot, mip, &cells, |around, wide| {
            snapshot.read_known(around, mip, wide);
        });
        &self.carried
    }

    /// Finds those of `cells` that carry water, from the cells around them. `read` is called once
    /// at most, for the region that can matter.
    fn find_carried(
        &mut self,
        snapshot: &Snapshot,
        mip: u8,
        cells: &DenseBox,
        read: impl FnOnce(Region, &mut DenseBox),
    ) {
        self.carried.clear();
        let region = cells.region();
        if region.is_empty() {
            return;
        }
        let around = Shores::depends_on(region, mip);
        let Some(wet) = self.wet_bounds(snapshot, mip, around) else { return };
        // Water is carried within its layer, and ends in the one above.
        let layers = wet.min.y..wet.max.y + 1;
        let Some(ground) = ground_layers(cells, snapshot.materials(), layers) else { return };
        let mut around = Shores::depends_on(wet, mip).intersect(around);
        around.min.y = around.min.y.max(ground.start - 2);
        around.max.y = around.max.y.min(ground.end + 1);
        read(around, &mut self.wide);
        self.carry(snapshot.materials(), mip, region);
    }

    /// Finds the cells of `region` that carry water, from the cells in `wide`.
    fn carry(&mut self, materials: &MaterialTable, mip: u8, region: Region) {
        if materials.kind(WATER) != Kind::Liquid {
            return;
        }
        let Shores { wide, levels, front, next, taken, carried } = self;
        let ground = ShoreCells::new(wide, materials, mip);
        ground.sources(levels, front);
        for _ in 0..Shores::reach_cells(mip) {
            for &(from, level) in front.iter() {
                for (to, level) in ground.offers(from as usize, level) {
                    let here = levels[to];
                    if here & SETTLED == 0 && here & LEVEL_MASK < level {
                        if here & FRESH == 0 {
                            next.push(to as u32);
                        }
                        if here & CARRIED == 0 {
                            taken.push(to as u32);
                        }
                        levels[to] = CARRIED | FRESH | level;
                    }
                }
            }
            front.clear();
            for at in next.drain(..) {
                let here = &mut levels[at as usize];
                *here &= !FRESH;
                let level = *here & LEVEL_MASK;
                if ground.lies_below(at as usize, level) {
                    *here |= SETTLED;
                    front.push((at, level));
                }
            }
        }
        for at in taken.drain(..) {
            let position = ground.position(at as usize);
            if region.contains(position) {
                carried.push((position, ((levels[at as usize] & LEVEL_MASK) - 1) as u8));
            }
        }
    }
}

/// Returns the range from the first to the last of `layers` (y of cells) in which there may be
/// ground with air above it; any ground in the topmost layer of `cells` may have air above it.
/// `None` if there is no such layer.
fn ground_layers(
    cells: &DenseBox,
    materials: &MaterialTable,
    layers: Range<i32>,
) -> Option<Range<i32>> {
    let (region, kinds) = (cells.region(), materials.kinds());
    let [sx, sy, sz] = region.size();
    let kind = |material: &u8| kinds[usize::from(*material)];
    let has_ground = |y: &i32| {
        let from = (y - region.min.y) as usize * sx * sz;
        let (layer, above) = cells.materials()[from..].split_at(sx * sz);
        let is_ground = |material: &u8| kind(material) == Kind::Solid;
        match (y - region.min.y) as usize + 1 < sy {
            true => layer
                .iter()
                .zip(above)
                .any(|(cell, above)| is_ground(cell) && kind(above) == Kind::Air),
            false => layer.iter().any(is_ground),
        }
    };
    let mut layers = layers.start.max(region.min.y)..layers.end.min(region.max.y);
    let first = layers.find(has_ground)?;
    let last = layers.rev().find(has_ground).unwrap_or(first);
    Some(first..last + 1)
}

/// The bits of a level: 256ths of a cell.
const LEVEL_MASK: u16 = 0x3ff;
/// Flag: the cell carries water that it does not hold.
const CARRIED: u16 = 0x400;
/// Flag: it took its level at this step.
const FRESH: u16 = 0x800;
/// Flag: it keeps its level, and passes it on in the next step.
const SETTLED: u16 = 0x1000;

/// A box of cells over which water spreads.
struct ShoreCells<'a> {
    cells: &'a DenseBox,
    kinds: &'a [Kind; 256],
    /// Whether cells that hold water may carry more: at coarse mips they hold a mean.
    holds_means: bool,
    size: [usize; 3],
}

impl<'a> ShoreCells<'a> {
    fn new(cells: &'a DenseBox, materials: &'a MaterialTable, mip: u8) -> ShoreCells<'a> {
        let size = cells.region().size();
        ShoreCells { cells, kinds: materials.kinds(), holds_means: mip > 0, size }
    }

    fn kind(&self, i: usize) -> Kind {
        self.kinds[usize::from(self.cells.materials()[i])]
    }

    /// Returns the index steps to the next cell along x, z, y.
    fn steps(&self) -> [usize; 3] {
        [1, self.size[0], self.size[0] * self.size[2]]
    }

    fn position(&self, i: usize) -> VoxelPos {
        let [sx, _, sz] = self.size;
        let at = [i % sx, i / (sx * sz), i / sx % sz].map(|at| at as i32);
        self.cells.region().min + VoxelPos::from(at)
    }

    /// Whether a cell has neighbours on all sides in the box.
    fn is_inner(&self, i: usize) -> bool {
        let [sx, sy, sz] = self.size;
        let (x, y, z) = (i % sx, i / (sx * sz), i / sx % sz);
        x > 0 && x + 1 < sx && y > 0 && y + 1 < sy && z > 0 && z + 1 < sz
    }

    /// Returns the inner cells at the four sides of an inner one.
    fn beside(&self, i: usize) -> impl Iterator<Item = usize> + '_ {
        let [x, z, _] = self.steps();
        [i - x, i + x, i - z, i + z].into_iter().filter(|&at| self.is_inner(at))
    }

    /// Returns the cells that may take water of `level` from `from`, with the level they take.
    fn offers(&self, from: usize, level: u16) -> impl Iterator<Item = (usize, u16)> + '_ {
        let above = self.steps()[2];
        let beside = self.beside(from).filter(|&to| self.can_carry(to)).map(move |to| (to, level));
        let climbs =
            self.beside(from).filter(move |_| level >= MIN_CLIMB_LEVEL).map(move |to| to + above);
        beside.chain(climbs.filter(|&to| self.can_end(to)).map(|to| (to, 1)))
    }

    /// Writes the levels of all sources, and lists those beside solid cells.
    fn sources(&self, levels: &mut Vec<u16>, front: &mut Vec<(u32, u16)>) {
        levels.clear();
        levels.resize(self.cells.len(), 0);
        front.clear();
        let above = self.steps()[2];
        let (materials, end) = (self.cells.materials(), self.cells.len() - above);
        let mut add = |i: usize, level: u8| {
            // Most water is below more water.
            if self.kind(i + above) == Kind::Air && self.is_inner(i) {
                levels[i] = u16::from(level) + 1;
                let is_solid = |at: usize| self.kind(at) == Kind::Solid;
                if self.beside(i).any(|at| is_solid(at) || is_solid(at + above)) {
                    front.push((i as u32, levels[i]));
                }
            }
        };
        for i in (above..end).filter(|&i| materials[i] == WATER) {
            add(i, self.cells.occupancies()[i]);
        }
        for &(i, level) in self.cells.water() {
            if (i as usize) < end && self.kind(i as usize) == Kind::Solid {
                add(i as usize, level);
            }
        }
    }

    /// Whether the ground in a cell is lower than water of `level`.
    fn lies_below(&self, i: usize, level: u16) -> bool {
        u16::from(self.cells.occupancies()[i]) + 1 < level
    }

    /// Whether the inner cell `i`, beside water, can carry it.
    fn can_carry(&self, i: usize) -> bool {
        let [x, z, _] = self.steps();
        self.can_end(i) && [i - x, i + x, i - z, i + z].iter().all(|&at| self.kind(at) != Kind::Air)
    }

    /// Whether a shore can end in cell `i`, on top of one beside water.
    fn can_end(&self, i: usize) -> bool {
        let above = self.steps()[2];
        self.kind(i) == Kind::Solid
            && self.is_inner(i)
            && self.kind(i + above) == Kind::Air
            && self.kind(i - above) != Kind::Air
            && (self.holds_means
                || self.cells.water().binary_search_by_key(&(i as u32), |w| w.0).is_err())
    }
}

#[cfg(test)]
pub(crate) mod naive;
#[cfg(test)]
mod tests;
