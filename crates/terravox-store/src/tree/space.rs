//! The space of a file that no state needs: never stored, only derived.

use super::node::grains;
use std::collections::{BTreeMap, BTreeSet};

/// The copies of a node begin at least this far apart, so that a bad sector costs one of them.
const COPY_DISTANCE: u64 = 8192;

/// A part of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Extent {
    pub offset: u64,
    /// A multiple of the grain.
    pub bytes: u64,
}

impl Extent {
    pub fn of(offset: u64, length: u32) -> Extent {
        Extent { offset, bytes: grains(length.into()) }
    }

    pub fn end(self) -> u64 {
        self.offset + self.bytes
    }
}

/// Free extents of a file, none of which touch.
#[derive(Debug, Default)]
pub(crate) struct FreeSpace {
    by_offset: BTreeMap<u64, u64>,
    by_bytes: BTreeSet<(u64, u64)>,
    /// Extents that only older states use, with the number of the last of them.
    retired: Vec<(u64, Extent)>,
    end: u64,
}

impl FreeSpace {
    /// The gaps from `start` on between extents that are sorted and do not overlap.
    pub fn between(used: &[Extent], start: u64) -> FreeSpace {
        let mut space = FreeSpace { end: start, ..FreeSpace::default() };
        for extent in used {
            if space.end < extent.offset {
                space.insert(space.end, extent.offset - space.end);
            }
            space.end = space.end.max(extent.end());
        }
        space
    }

    /// Where the space in use ends.
    pub fn end(&self) -> u64 {
        self.end
    }

    /// Bytes that are free or used by older states only.
    pub fn spare_bytes(&self) -> u64 {
        let retired = self.retired.iter().map(|(_, extent)| extent.bytes);
        self.by_offset.values().sum::<u64>() + retired.sum::<u64>()
    }

    fn insert(&mut self, offset: u64, bytes: u64) {
        self.by_offset.insert(offset, bytes);
        self.by_bytes.insert((bytes, offset));
    }

    fn remove(&mut self, offset: u64, bytes: u64) {
        self.by_offset.remove(&offset);
        self.by_bytes.remove(&(bytes, offset));
    }

    /// Takes the smallest free extent that is long enough, else the end of the file.
    pub fn allocate(&mut self, length: u32) -> Extent {
        let bytes = grains(length.into());
        match self.by_bytes.range((bytes, 0)..).next() {
            Some(&(free, offset)) => self.cut(Extent { offset, bytes: free }, offset, bytes),
            None => self.append(bytes),
        }
    }

    /// The same, far from `other`.
    pub fn allocate_apart(&mut self, length: u32, other: Extent) -> Extent {
        let bytes = grains(length.into());
        let is_apart = |offset: u64| offset.abs_diff(other.offset) >= COPY_DISTANCE;
        let fitting = self.by_bytes.range((bytes, 0)..).find_map(|&(free, offset)| {
            // The start or the end of a free extent.
            let places = [offset, offset + free - bytes];
            let at = places.into_iter().find(|&at| is_apart(at))?;
            Some((Extent { offset, bytes: free }, at))
        });
        match fitting {
            Some((free, at)) => self.cut(free, at, bytes),
            None if is_apart(self.end) => self.append(bytes),
            None => {
                // What lies between stays free for values.
                let at = other.offset + COPY_DISTANCE;
                self.insert(self.end, at - self.end);
                self.end = at;
                self.append(bytes)
            }
        }
    }

    fn cut(&mut self, free: Extent, at: u64, bytes: u64) -> Extent {
        self.remove(free.offset, free.bytes);
        if free.offset < at {
            self.insert(free.offset, at - free.offset);
        }
        if at + bytes < free.end() {
            self.insert(at + bytes, free.end() - at - bytes);
        }
        Extent { offset: at, bytes }
    }

    fn append(&mut self, bytes: u64) -> Extent {
        let extent = Extent { offset: self.end, bytes };
        self.end += bytes;
        extent
    }

    /// Gives an extent back.
    pub fn free(&mut self, extent: Extent) {
        let Extent { mut offset, mut bytes } = extent;
        let before = self.by_offset.range(..offset).next_back().map(|(&at, &free)| (at, free));
        if let Some((at, free)) = before.filter(|(at, free)| at + free == offset) {
            self.remove(at, free);
            (offset, bytes) = (at, bytes + free);
        }
        if let Some(&free) = self.by_offset.get(&(offset + bytes)) {
            self.remove(offset + bytes, free);
            bytes += free;
        }
        if offset + bytes == self.end {
            self.end = offset;
        } else {
            self.insert(offset, bytes);
        }
    }

    /// Notes that an extent is used last by the state with the number `last_use`.
    pub fn retire(&mut self, extent: Extent, last_use: u64) {
        self.retired.push((last_use, extent));
    }

    /// Frees what only states before `oldest` use.
    pub fn reclaim(&mut self, oldest: u64) {
        let (free, kept) = self.retired.drain(..).partition(|&(last_use, _)| last_use < oldest);
        self.retired = kept;
        let free: Vec<(u64, Extent)> = free;
        free.into_iter().for_each(|(_, extent)| self.free(extent));
    }
}
