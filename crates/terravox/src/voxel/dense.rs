//! A dense box of cells: how regions are read from and written to the grid, and
//! what generators, importers, codecs and meshers work on.
//!
//! Structure of arrays, x fastest, then z, then y. Water that solid cells hold
//! (shorelines) is rare, so it is a sorted list beside the arrays.

use super::cell::{AIR, Cell, full_occupancy, normal_occupancy};
use super::position::{Region, VoxelPos};
use xxhash_rust::xxh3::Xxh3;

/// Cells of a region at one mip, dense. Reusable: [`DenseBox::reset`] keeps its memory.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DenseBox {
    region: Region,
    material: Vec<u8>,
    occupancy: Vec<u8>,
    /// (cell index, stored water), ascending by index.
    water: Vec<(u32, u8)>,
}

impl DenseBox {
    /// Maximum number of cells of a [`DenseBox`].
    pub const MAX_CELLS: u64 = 1 << 30;

    /// A box of air over `region`, in voxels of whichever mip it is used for.
    ///
    /// # Panics
    /// If the region has more than [`DenseBox::MAX_CELLS`] cells.
    pub fn new(region: Region) -> DenseBox {
        let mut cells = DenseBox::default();
        cells.reset(region);
        cells
    }

    /// Makes this a box of air over `region`, reusing the memory.
    ///
    /// # Panics
    /// If the region has more than [`DenseBox::MAX_CELLS`] cells.
    pub fn reset(&mut self, region: Region) {
        self.resize(region);
        self.material.fill(AIR);
        self.occupancy.fill(0);
    }

    /// Makes this a box over `region` with unspecified cells and no water: for
    /// callers that write every cell.
    pub(crate) fn resize(&mut self, region: Region) {
        let volume = region.volume();
        assert!(volume <= DenseBox::MAX_CELLS, "a box over {region} has too many cells");
        self.region = region;
        self.material.resize(volume as usize, AIR);
        self.occupancy.resize(volume as usize, 0);
        self.water.clear();
    }

    /// Moves the box to `min` without touching its cells.
    pub fn move_to(&mut self, min: VoxelPos) {
        let [x, y, z] = self.region.size();
        self.region = Region { min, max: min + VoxelPos::new(x as i32, y as i32, z as i32) };
    }

    /// The region of the box.
    pub fn region(&self) -> Region {
        self.region
    }

    /// Number of cells.
    pub fn len(&self) -> usize {
        self.material.len()
    }

    /// Whether the box has no cells.
    pub fn is_empty(&self) -> bool {
        self.material.is_empty()
    }

    /// Material ids of all cells.
    pub fn materials(&self) -> &[u8] {
        &self.material
    }

    /// Stored occupancies of all cells.
    pub fn occupancies(&self) -> &[u8] {
        &self.occupancy
    }

    /// Materials and occupancies, mutable. The occupancy of air need not be cleared: writing the
    /// box to the grid does.
    pub fn arrays_mut(&mut self) -> (&mut [u8], &mut [u8]) {
        (&mut self.material, &mut self.occupancy)
    }

    /// Water held by solid cells: (cell index, stored water), ascending by index.
    pub fn water(&self) -> &[(u32, u8)] {
        &self.water
    }

    /// Replaces the water of all cells; entries are sorted, of equal indices the last stays.
    ///
    /// # Panics
    /// If an index is not a cell of the box.
    pub fn set_all_water(&mut self, mut entries: Vec<(u32, u8)>) {
        entries.sort_by_key(|entry| entry.0);
        entries.reverse();
        entries.dedup_by_key(|entry| entry.0);
        entries.reverse();
        assert!(entries.last().is_none_or(|entry| (entry.0 as usize) < self.len()));
        self.water = entries;
    }

    /// The list itself, for writers that keep it sorted.
    pub(crate) fn water_mut(&mut self) -> &mut Vec<(u32, u8)> {
        &mut self.water
    }

    /// Index of `pos` in the arrays.
    ///
    /// # Panics
    /// If `pos` is outside.
    #[inline]
    pub fn index(&self, pos: VoxelPos) -> usize {
        assert!(self.region.contains(pos), "{pos} is outside {}", self.region);
        let [sx, _, sz] = self.region.size();
        let at = pos - self.region.min;
        at.x as usize + sx * (at.z as usize + sz * at.y as usize)
    }

    /// The cell at `pos`.
    ///
    /// # Panics
    /// If `pos` is outside.
    #[inline]
    pub fn cell(&self, pos: VoxelPos) -> Cell {
        let i = self.index(pos);
        Cell { material: self.material[i], occupancy: self.occupancy[i] }
    }

    /// Sets the cell at `pos`; its entry in the water list stays.
    ///
    /// # Panics
    /// If `pos` is outside.
    #[inline]
    pub fn set(&mut self, pos: VoxelPos, cell: Cell) {
        let i = self.index(pos);
        self.material[i] = cell.material;
        self.occupancy[i] = normal_occupancy(cell.material, cell.occupancy);
    }

    /// Stored water that the solid cell at `pos` holds, a fill of `(w + 1) / 256`.
    pub fn water_at(&self, pos: VoxelPos) -> Option<u8> {
        let i = self.index(pos) as u32;
        self.water.binary_search_by_key(&i, |entry| entry.0).ok().map(|at| self.water[at].1)
    }

    /// Sets or clears the water that the solid cell at `pos` holds.
    pub fn set_water(&mut self, pos: VoxelPos, water: Option<u8>) {
        let i = self.index(pos) as u32;
        match (self.water.binary_search_by_key(&i, |entry| entry.0), water) {
            (Ok(at), Some(water)) => self.water[at].1 = water,
            (Ok(at), None) => drop(self.water.remove(at)),
            (Err(at), Some(water)) => self.water.insert(at, (i, water)),
            (Err(_), None) => {}
        }
    }

    /// XXH3 (128 bits) of the box: its region, its cells and their water. Equal boxes have equal
    /// digests, on all machines, for comparing what two of them hold. It is no protection against
    /// forgery, and may change between versions.
    ///
    /// ```
    /// use terravox::voxel::{Cell, DenseBox, Region, VoxelPos};
    ///
    /// let mut server = DenseBox::new(Region::new([0, 0, 0], [16, 16, 16]));
    /// server.fill(8);
    /// let mut client = server.clone();
    /// assert_eq!(server.digest(), client.digest());
    /// client.set(VoxelPos::new(1, 2, 3), Cell::AIR);
    /// assert_ne!(server.digest(), client.digest());
    /// ```
    pub fn digest(&self) -> u128 {
        let mut hash = Xxh3::new();
        let Region { min, max } = self.region;
        [min, max].iter().flat_map(|at| at.to_array()).for_each(|v| hash.update(&v.to_le_bytes()));
        hash.update(&self.material);
        // The occupancy of air means nothing.
        let mut fills = [0; 256];
        for (materials, occupancies) in self.material.chunks(256).zip(self.occupancy.chunks(256)) {
            for (fill, (&material, &occupancy)) in
                fills.iter_mut().zip(materials.iter().zip(occupancies))
            {
                *fill = normal_occupancy(material, occupancy);
            }
            hash.update(&fills[..materials.len()]);
        }
        for &(cell, held) in &self.water {
            hash.update(&cell.to_le_bytes());
            hash.update(&[held]);
        }
        hash.digest128()
    }

    /// Fills the whole box with full cells of `material`, without water.
    pub fn fill(&mut self, material: u8) {
        self.material.fill(material);
        self.occupancy.fill(full_occupancy(material));
        self.water.clear();
    }

    /// Copies the cells that both boxes hold, with their water, from `from`.
    pub fn copy_from(&mut self, from: &DenseBox) {
        let common = self.region.intersect(from.region);
        self.retain_water(|pos| !common.contains(pos));
        let before = self.water.len();
        self.append_from(from);
        if self.water.len() > before {
            self.water.sort_unstable_by_key(|entry| entry.0);
        }
    }

    /// Clears the water of cells for which `keep` returns false.
    pub(crate) fn retain_water(&mut self, keep: impl Fn(VoxelPos) -> bool) {
        let mut water = std::mem::take(&mut self.water);
        water.retain(|entry| keep(self.position(entry.0)));
        self.water = water;
    }

    /// [`DenseBox::copy_from`] for cells that hold no water yet; the list is left unsorted.
    pub(crate) fn append_from(&mut self, from: &DenseBox) {
        let common = self.region.intersect(from.region);
        if common.is_empty() {
            return;
        }
        let width = (common.max.x - common.min.x) as usize;
        for y in common.min.y..common.max.y {
            for z in common.min.z..common.max.z {
                let row = VoxelPos::new(common.min.x, y, z);
                let (to, at) = (self.index(row), from.index(row));
                copy_cells(&mut self.material[to..to + width], &from.material[at..at + width]);
                copy_cells(&mut self.occupancy[to..to + width], &from.occupancy[at..at + width]);
            }
        }
        let mut water = std::mem::take(&mut self.water);
        let copied = from.water.iter().map(|&(i, held)| (from.position(i), held));
        let copied = copied.filter(|entry| common.contains(entry.0));
        water.extend(copied.map(|(pos, held)| (self.index(pos) as u32, held)));
        self.water = water;
    }

    /// The position of the cell at an index of the arrays.
    pub(crate) fn position(&self, index: u32) -> VoxelPos {
        let ([sx, _, sz], i) = (self.region.size(), index as usize);
        let [x, z, y] = [i % sx, i / sx % sz, i / sx / sz].map(|v| v as i32);
        self.region.min + VoxelPos::new(x, y, z)
    }

    /// Index of the first cell of the row at absolute (y, z).
    #[inline]
    pub(crate) fn row_start(&self, y: i32, z: i32) -> usize {
        let [sx, _, sz] = self.region.size();
        sx * ((z - self.region.min.z) as usize + sz * (y - self.region.min.y) as usize)
    }
}

/// `to.copy_from_slice(from)` for parts of rows: at the sides of a box they are so short that a
/// call to `memcpy` costs more than the copy.
#[inline]
pub(crate) fn copy_cells(to: &mut [u8], from: &[u8]) {
    if to.len() > 4 {
        return to.copy_from_slice(from);
    }
    for (to, from) in to.iter_mut().zip(from) {
        *to = *from;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_are_x_then_z_then_y() {
        let mut cells = DenseBox::new(Region::new([-1, -1, -1], [2, 1, 3]));
        assert_eq!(cells.len(), 3 * 2 * 4);
        assert_eq!(cells.index(VoxelPos::new(-1, -1, -1)), 0);
        assert_eq!(cells.index(VoxelPos::new(0, -1, -1)), 1);
        assert_eq!(cells.index(VoxelPos::new(-1, -1, 0)), 3);
        assert_eq!(cells.index(VoxelPos::new(-1, 0, -1)), 12);
        cells.set(VoxelPos::new(1, 0, 2), Cell::new(4, 9));
        assert_eq!(cells.cell(VoxelPos::new(1, 0, 2)), Cell::new(4, 9));
        assert_eq!(cells.row_start(0, 2), 21);
    }

    #[test]
    fn water_is_kept_sorted_and_the_last_word_counts() {
        let mut cells = DenseBox::new(Region::new([0; 3], [4; 3]));
        cells.set_water(VoxelPos::new(3, 0, 0), Some(7));
        cells.set_water(VoxelPos::new(1, 0, 0), Some(0));
        cells.set_water(VoxelPos::new(3, 0, 0), Some(9));
        assert_eq!(cells.water(), &[(1, 0), (3, 9)]);
        cells.set_water(VoxelPos::new(1, 0, 0), None);
        assert_eq!(cells.water_at(VoxelPos::new(1, 0, 0)), None);
        cells.set_all_water(vec![(5, 1), (2, 2), (5, 3)]);
        assert_eq!(cells.water(), &[(2, 2), (5, 3)]);
    }

    #[test]
    fn a_copy_takes_what_both_boxes_hold_and_its_water() {
        let mut to = DenseBox::new(Region::new([-2, 0, -1], [3, 4, 3]));
        to.fill(3);
        to.set_water(VoxelPos::new(-2, 0, 0), Some(1));
        to.set_water(VoxelPos::new(1, 2, 1), Some(2));
        let mut from = DenseBox::new(Region::new([0, 1, 0], [9, 9, 2]));
        from.fill(8);
        from.set_water(VoxelPos::new(2, 3, 0), Some(5));
        from.set_water(VoxelPos::new(8, 8, 1), Some(6));
        let before = to.clone();
        to.copy_from(&from);
        for pos in to.region().voxels() {
            let source = if from.region().contains(pos) { &from } else { &before };
            assert_eq!(to.cell(pos), source.cell(pos));
            assert_eq!(to.water_at(pos), source.water_at(pos));
        }
    }

    #[test]
    #[should_panic(expected = "outside")]
    fn a_position_outside_is_the_callers_bug() {
        DenseBox::new(Region::new([0; 3], [4; 3])).cell(VoxelPos::new(4, 0, 0));
    }
}
