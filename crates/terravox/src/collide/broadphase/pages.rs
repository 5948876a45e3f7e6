//! The pages of a broadphase by position: a table over their bounds where these are small, as
//! in most worlds, and a hash table for worlds that are spread out.

use super::page::PageBlocks;
use crate::voxel::{PagePos, Region, VoxelPos};
use rustc_hash::FxHashMap;

/// Maximum number of entries of the table, 64 KB; worlds with larger bounds use the hash table.
const MAX_TABLE_LENGTH: u64 = 1 << 14;

/// Entry of the table without a page.
const NONE: u32 = u32::MAX;

/// Pages by position.
#[derive(Debug, Default)]
pub(super) struct Pages {
    list: Vec<(PagePos, Box<PageBlocks>)>,
    index: FxHashMap<PagePos, u32>,
    /// Bounds of all pages, in pages.
    bounds: Region,
    /// For every page in `bounds` its index in `list`, x fastest, then z, then y; empty if
    /// there are too many.
    table: Box<[u32]>,
    /// Edges of `bounds`, if there is a table.
    edges: [u32; 3],
    /// Whether pages were added or removed since the table was made.
    stale: bool,
}

impl Pages {
    /// The page at `page`; misses pages added since [`Pages::tabulate`].
    #[inline(always)]
    pub fn get(&self, page: PagePos) -> Option<&PageBlocks> {
        let min = self.bounds.min;
        let x = page.x.wrapping_sub(min.x) as u32;
        let y = page.y.wrapping_sub(min.y) as u32;
        let z = page.z.wrapping_sub(min.z) as u32;
        let [edge_x, edge_y, edge_z] = self.edges;
        if x < edge_x && y < edge_y && z < edge_z {
            let place = self.table[((y * edge_z + z) * edge_x + x) as usize];
            return self.list.get(place as usize).map(|(_, page)| &**page);
        }
        if edge_x == 0 { self.get_hashed(page) } else { None }
    }

    #[cold]
    fn get_hashed(&self, page: PagePos) -> Option<&PageBlocks> {
        self.index.get(&page).map(|&place| &*self.list[place as usize].1)
    }

    /// As [`Pages::get`], mutable; finds pages added since [`Pages::tabulate`] too.
    pub fn get_mut(&mut self, page: PagePos) -> Option<&mut PageBlocks> {
        self.index.get(&page).map(|&place| &mut *self.list[place as usize].1)
    }

    /// The page at `page`; `make` creates it if it does not exist.
    pub fn get_or_insert(
        &mut self,
        page: PagePos,
        make: impl FnOnce() -> PageBlocks,
    ) -> &mut PageBlocks {
        let place = match self.index.get(&page) {
            Some(&place) => place as usize,
            None => {
                self.list.push((page, Box::new(make())));
                self.index.insert(page, self.list.len() as u32 - 1);
                self.stale = true;
                self.list.len() - 1
            }
        };
        &mut self.list[place].1
    }

    /// Removes the page at `page`, if it exists.
    pub fn remove(&mut self, page: PagePos) {
        let Some(place) = self.index.remove(&page) else { return };
        self.stale = true;
        self.list.swap_remove(place as usize);
        if let Some((moved, _)) = self.list.get(place as usize) {
            self.index.insert(*moved, place);
        }
    }

    /// Removes all pages.
    pub fn clear(&mut self) {
        *self = Pages::default();
    }

    /// Updates bounds and table after pages were added or removed.
    pub fn tabulate(&mut self) {
        if !std::mem::take(&mut self.stale) {
            return;
        }
        let one = |page: PagePos| Region::one(VoxelPos::new(page.x, page.y, page.z));
        let positions = self.list.iter().map(|entry| entry.0);
        self.bounds = positions.fold(Region::default(), |all, page| all.union(one(page)));
        (self.table, self.edges) = (Box::default(), [0; 3]);
        if self.bounds.volume() > MAX_TABLE_LENGTH {
            return;
        }
        self.table = vec![NONE; self.bounds.volume() as usize].into();
        let [x, y, z] = self.bounds.size().map(|edge| edge as u32);
        self.edges = [x, y, z];
        for (place, (page, _)) in self.list.iter().enumerate() {
            let at = VoxelPos::new(page.x, page.y, page.z) - self.bounds.min;
            let [at_x, at_y, at_z] = at.to_array().map(|v| v as u32);
            self.table[((at_y * z + at_z) * x + at_x) as usize] = place as u32;
        }
    }

    /// Bounds of all pages, in pages.
    pub fn bounds(&self) -> Region {
        self.bounds
    }

    /// Number of pages.
    pub fn len(&self) -> usize {
        self.list.len()
    }

    /// All pages with their positions, in arbitrary order.
    pub fn iter(&self) -> impl Iterator<Item = (PagePos, &PageBlocks)> {
        self.list.iter().map(|(at, page)| (*at, &**page))
    }

    /// Bytes of pages and tables.
    pub fn bytes(&self) -> usize {
        let entry = size_of::<(PagePos, u32)>() + 1;
        let pages = self.list.iter().map(|(_, page)| page.bytes());
        pages.sum::<usize>()
            + self.list.capacity() * size_of::<(PagePos, Box<PageBlocks>)>()
            + self.index.capacity() * 8 / 7 * entry
            + size_of_val(&*self.table)
    }
}
