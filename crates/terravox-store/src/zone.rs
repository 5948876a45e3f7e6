//! Zones: the parts of a world that are written by one writer each, and columns of them, which are
//! what servers share a world by.

use crate::database::{CELLS, EXTRA, INFO_KEYS, block_of, cell_key, channel_of, page_of_key};
use crate::key::BlockKey;
use std::fmt;
use terravox::voxel::{ChunkPos, LIMIT, MAX_MIP, Region, VoxelPos};

/// Bits of a coordinate of a zone.
const AXIS_BITS: u32 = 18;

const BIAS: i32 = 1 << (AXIS_BITS - 1);

/// The bits of a zone that say which column it is in: z and x.
const COLUMN_MASK: i64 = (1 << (2 * AXIS_BITS)) - 1;

/// The number of the first column; those of the others are below it.
const FIRST_COLUMN: i64 = -2;

/// What the names of extra data begin with that belongs to a column.
const COLUMN_DATA: &str = "column ";

/// A part of a world: the voxels under one block of the coarsest stored mip, 8,192 along each axis,
/// with all blocks and listings there. No write to a chunk changes a record outside of its zone,
/// but for extra data, which is in [`Zone::WORLD`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Zone(pub i64);

impl Zone {
    /// What belongs to no place: the description and all extra data.
    pub const WORLD: Zone = Zone(-1);

    /// The zone at `pos`, in zones; `None` beyond the limits of a world.
    pub fn at(pos: [i32; 3]) -> Option<Zone> {
        if !pos.iter().all(|v| (-BIAS..BIAS).contains(v)) {
            return None;
        }
        let [x, y, z] = pos.map(|v| i64::from(v + BIAS));
        Some(Zone((y << (2 * AXIS_BITS)) | (z << AXIS_BITS) | x))
    }

    /// Where it is, in zones; `None` for [`Zone::WORLD`] and for what belongs to a [`Column`] as a
    /// whole.
    pub fn pos(self) -> Option<[i32; 3]> {
        let axis = |shift: u32| ((self.0 >> shift) & ((1 << AXIS_BITS) - 1)) as i32 - BIAS;
        (self.0 >= 0 && self.0 >> (3 * AXIS_BITS) == 0)
            .then(|| [axis(0), axis(2 * AXIS_BITS), axis(AXIS_BITS)])
    }

    /// The zone of a record; `None` if no world has such a key.
    pub fn of_record(key: &[u8]) -> Option<Zone> {
        if INFO_KEYS.contains(&key) {
            return Some(Zone::WORLD);
        }
        if let Some(name) = key.strip_prefix(&[EXTRA]) {
            let column = str::from_utf8(name).ok().and_then(Column::of_data_name);
            return Some(column.and_then(Column::zone).unwrap_or(Zone::WORLD));
        }
        let of_channel = || channel_of(key).map(|(_, chunk)| BlockKey::chunk(chunk));
        let block = block_of(key).or_else(of_channel).or_else(|| {
            let page = page_of_key(key)?;
            // A page is under one block of mip 3.
            Some(BlockKey { mip: 3, pos: VoxelPos::new(page.x, page.y, page.z) })
        })?;
        block.within_limits().then(|| Zone::at(block.coarser(MAX_MIP).pos.to_array()))?
    }

    /// The chunk whose cells a record has, by its key; `None` for all other records. Each save of a
    /// chunk writes or removes this one.
    pub fn chunk_of_record(key: &[u8]) -> Option<ChunkPos> {
        let block = block_of(key)?;
        (block.mip == 0 && block.within_limits()).then(|| block.as_chunk())
    }

    /// The keys of all such records: from the first up to the second.
    pub fn chunk_keys() -> [Vec<u8>; 2] {
        [0, 1].map(|mip| vec![CELLS, mip])
    }

    /// The column that it is in, or is the number of; `None` for [`Zone::WORLD`].
    pub fn column(self) -> Option<Column> {
        let bits = if self.0 >= 0 { self.0 } else { FIRST_COLUMN - self.0 };
        let is_one = self.pos().is_some() || (0..=COLUMN_MASK).contains(&bits);
        let axis = |shift: u32| ((bits >> shift) & ((1 << AXIS_BITS) - 1)) as i32 - BIAS;
        is_one.then(|| Column { x: axis(0), z: axis(AXIS_BITS) })
    }
}

/// A column of zones: all zones of one x and z, at all heights. Several servers share a world by
/// columns. Every record but those of the whole world belongs to one column: a block of any stored
/// mip lies in one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Column {
    /// In zones.
    pub x: i32,
    /// In zones.
    pub z: i32,
}

impl Column {
    /// Edge of a column along x and z, in voxels.
    pub const EDGE_VOXELS: i32 = 32 << MAX_MIP;

    /// The column of a voxel.
    pub fn of_voxel(pos: VoxelPos) -> Column {
        let [x, z] = [pos.x, pos.z].map(|v| v.div_euclid(Column::EDGE_VOXELS));
        Column { x, z }
    }

    /// The columns that a region, in voxels, touches.
    pub fn touched_by(region: Region) -> impl Iterator<Item = Column> {
        let (low, last) = match region.is_empty() {
            true => (Column { x: 0, z: 0 }, Column { x: -1, z: -1 }),
            false => {
                let last = region.max - VoxelPos::new(1, 1, 1);
                (Column::of_voxel(region.min), Column::of_voxel(last))
            }
        };
        (low.z..=last.z).flat_map(move |z| (low.x..=last.x).map(move |x| Column { x, z }))
    }

    /// Its voxels; empty beyond the limits of a world.
    pub fn region(self) -> Region {
        if self.zone().is_none() {
            return Region::default();
        }
        let [x, z] = [self.x, self.z].map(|v| v * Column::EDGE_VOXELS);
        let max = VoxelPos::new(x + Column::EDGE_VOXELS, LIMIT, z + Column::EDGE_VOXELS);
        Region { min: VoxelPos::new(x, -LIMIT, z), max }
    }

    /// The number under which it is leased and has its log; `None` beyond the limits of a world.
    pub fn zone(self) -> Option<Zone> {
        let bits = Zone::at([self.x, 0, self.z])?.0 & COLUMN_MASK;
        Some(Zone(FIRST_COLUMN - bits))
    }

    /// The keys of all chunks of a zone of this column, from the first up to the second: of the first
    /// zone that has keys from `low` on, and of that only those. `None` if there is no such zone. So
    /// all chunks of a column are read without those of other columns, which lie between its zones.
    pub fn chunk_keys_from(self, low: &[u8]) -> Option<[Vec<u8>; 2]> {
        self.zone()?;
        let key = |y: i32, in_zone: i32| {
            let [x, y, z] = [self.x, y, self.z].map(|v| v << MAX_MIP | in_zone);
            cell_key(&BlockKey::chunk(ChunkPos::new(x, y, z)).bytes()).to_vec()
        };
        let last = |y: i32| key(y, (1 << MAX_MIP) - 1);
        // The keys of zones of one x and z are in the order of y.
        let (mut from, mut to) = (-BIAS, BIAS);
        while from < to {
            let middle = (from + to) >> 1;
            if *last(middle) < *low { from = middle + 1 } else { to = middle }
        }
        let end = || [&last(from)[..], &[0]].concat();
        (from < BIAS).then(|| [key(from, 0).max(low.to_vec()), end()])
    }

    /// The name of extra data that belongs to this column, and is written by the server that has
    /// it.
    pub fn data_name(self, name: &str) -> String {
        let Column { x, z } = self;
        format!("{COLUMN_DATA}{x},{z}/{name}")
    }

    /// Returns the column of extra data by the name of that ([`Column::data_name`]); `None` if it is of no column.
    pub fn of_data_name(name: &str) -> Option<Column> {
        let (place, _) = name.strip_prefix(COLUMN_DATA)?.split_once('/')?;
        let (x, z) = place.split_once(',')?;
        let column = Column { x: x.parse().ok()?, z: z.parse().ok()? };
        // There is one way to write a number.
        let is_same =
            column.data_name("").strip_prefix(COLUMN_DATA)?.strip_suffix('/') == Some(place);
        is_same.then_some(column)
    }
}

impl fmt::Display for Column {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "column {}, {}", self.x, self.z)
    }
}

impl fmt::Display for Zone {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.pos() {
            Some([x, y, z]) => write!(f, "zone {x}, {y}, {z}"),
            None => match self.column() {
                Some(column) => column.fmt(f),
                None => f.write_str("the world's own zone"),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::database::{cell_key, extra_key, listing_key};
    use crate::listing::page_of;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    #[test]
    fn zones_of_known_records_are_fixed() {
        let zone = |chunk: ChunkPos| Zone::of_record(&cell_key(&BlockKey::chunk(chunk).bytes()));
        assert_eq!(zone(ChunkPos::new(0, 0, 0)), Zone::at([0; 3]));
        assert_eq!(zone(ChunkPos::new(-1, 255, 256)), Zone::at([-1, 0, 1]));
        assert_eq!(Zone::at([0; 3]), Some(Zone(0x20_0008_0002_0000)));
        assert_eq!(Zone::of_record(&extra_key("undo")), Some(Zone::WORLD));
        assert_eq!(Zone::of_record(&[0]), Some(Zone::WORLD));
        assert_eq!(Zone::of_record(&[255]), Some(Zone::WORLD));
        assert_eq!((Zone::of_record(&[]), Zone::of_record(&[2, 0, 1])), (None, None));
        assert_eq!((Zone::WORLD.pos(), Zone::at([BIAS, 0, 0])), (None, None));
        assert_eq!(Zone::at([0, -1, 7]).unwrap().to_string(), "zone 0, -1, 7");
    }

    #[test]
    fn the_chunk_of_a_record_is_known_by_its_key() {
        let chunk = ChunkPos::new(-7, 2, 1000);
        let key = cell_key(&BlockKey::chunk(chunk).bytes());
        assert_eq!(Zone::chunk_of_record(&key), Some(chunk));
        let [low, high] = Zone::chunk_keys();
        assert!(key[..] >= low[..] && key[..] < high[..]);
        let coarse = cell_key(&BlockKey::over(chunk, 1).bytes());
        assert!(coarse[..] >= high[..]);
        let listing = listing_key(page_of(chunk));
        for other in [&coarse[..], &listing, b"", &[0], b"\x01undo", &key[..4]] {
            assert_eq!(Zone::chunk_of_record(other), None);
        }
    }

    #[test]
    fn columns_have_numbers_and_names_that_are_fixed() {
        let origin = Column { x: 0, z: 0 };
        assert_eq!(origin.zone(), Some(Zone(-0x8_0002_0002)));
        assert_eq!(origin.region().size()[0], 8192);
        assert_eq!(Column { x: -BIAS, z: -BIAS }.zone(), Some(Zone(-2)));
        assert_eq!(Column { x: BIAS, z: 0 }.zone(), None);
        assert!(Column { x: BIAS, z: 0 }.region().is_empty());
        let last = Column { x: BIAS - 1, z: BIAS - 1 };
        assert_eq!(last.region().max.x, LIMIT);
        assert_eq!(Column::of_voxel(VoxelPos::new(-1, 900, 8192)), Column { x: -1, z: 1 });
        assert_eq!((Zone::WORLD.column(), Zone(i64::MIN).column()), (None, None));
        let column = Column { x: -1, z: 12 };
        assert_eq!(column.data_name("bodies"), "column -1,12/bodies");
        assert_eq!(Zone::of_record(&extra_key("column -1,12/bodies")), column.zone());
        for other in
            ["column -1,12", "column +1,2/a", "column 01,2/a", "column 1, 2/a", "column 131072,0/a"]
        {
            assert_eq!(Zone::of_record(&extra_key(other)), Some(Zone::WORLD), "{other}");
        }
        assert_eq!(column.zone().unwrap().to_string(), "column -1, 12");
    }

    #[test]
    fn the_keys_of_a_column_at_the_limits_of_a_world_are_ranges() {
        let [low, end] = Zone::chunk_keys();
        for corner in [-BIAS, BIAS - 1] {
            let column = Column { x: corner, z: corner };
            let [first, last] = column.chunk_keys_from(&low).unwrap();
            let lowest = ChunkPos::new(corner << 8, -BIAS << 8, corner << 8);
            assert_eq!(Zone::chunk_of_record(&first), Some(lowest));
            let highest = [
                &cell_key(
                    &BlockKey::chunk(ChunkPos::new(
                        (corner << 8) + 255,
                        ((BIAS - 1) << 8) + 255,
                        (corner << 8) + 255,
                    ))
                    .bytes(),
                )[..],
                &[0],
            ]
            .concat();
            assert_eq!(column.chunk_keys_from(&highest[..12]).unwrap()[1], highest);
            assert!(first < last && highest < end);
            assert_eq!(column.chunk_keys_from(&highest), None);
            assert_eq!(column.chunk_keys_from(&end), None);
        }
        assert_eq!(Column { x: BIAS, z: 0 }.chunk_keys_from(&low), None);
    }

    /// The keys that are in a column, found by going from zone to zone.
    fn keys_by_zone(column: Column, all: &BTreeSet<Vec<u8>>) -> Vec<Vec<u8>> {
        let (mut low, mut found) = (Zone::chunk_keys()[0].clone(), Vec::new());
        while let Some([first, last]) = column.chunk_keys_from(&low) {
            let Some(next) = all.range(first..).next() else { break };
            found.extend(all.range(next.clone()..).take_while(|key| **key < last).cloned());
            low = next.clone().max(last);
        }
        found
    }

    proptest! {
        #[test]
        fn the_keys_of_a_column_are_those_that_a_scan_of_the_world_finds(
            chunks in prop::collection::vec(
                ([-700..700i32, -(1 << 25)..(1 << 25i32), -700..700i32], 0..3u8), 0..200),
            x in -3..3i32,
            z in -3..3i32,
        ) {
            // Some heights are those of others.
            let place = |([x, y, z], kind): &([i32; 3], u8)| match kind {
                0 => ChunkPos::new(*x, *y, *z),
                1 => ChunkPos::new(*x, y % 512, *z),
                _ => ChunkPos::new(*x, y >> 16 << 16, *z),
            };
            let key = |chunk| cell_key(&BlockKey::chunk(chunk).bytes()).to_vec();
            let all: BTreeSet<Vec<u8>> = chunks.iter().map(place).map(key).collect();
            let column = Column { x, z };
            let in_column =
                |key: &&Vec<u8>| Zone::of_record(key).and_then(Zone::column) == Some(column);
            let scanned: Vec<Vec<u8>> = all.iter().filter(in_column).cloned().collect();
            prop_assert_eq!(keys_by_zone(column, &all), scanned);
        }

        #[test]
        fn all_zones_over_a_voxel_are_in_its_column(
            x in -LIMIT..LIMIT,
            y in -LIMIT..LIMIT,
            z in -LIMIT..LIMIT,
        ) {
            let voxel = VoxelPos::new(x, y, z);
            let column = Column::of_voxel(voxel);
            prop_assert!(column.region().contains(voxel));
            let zone = Zone::at([x >> 13, y >> 13, z >> 13]).unwrap();
            prop_assert_eq!(zone.column(), Some(column));
            prop_assert_eq!(column.zone().and_then(Zone::column), Some(column));
            prop_assert!(column.zone().unwrap() < Zone::WORLD);
        }

        #[test]
        fn all_that_a_chunk_changes_is_in_its_zone(
            x in -(1 << 25)..(1 << 25i32),
            y in -(1 << 25)..(1 << 25i32),
            z in -(1 << 25)..(1 << 25i32),
        ) {
            let chunk = ChunkPos::new(x, y, z);
            let zone = Zone::at([x >> 8, y >> 8, z >> 8]);
            prop_assert_eq!(zone.and_then(Zone::pos), Some([x >> 8, y >> 8, z >> 8]));
            prop_assert_eq!(Zone::of_record(&listing_key(page_of(chunk))), zone);
            for mip in 0..=MAX_MIP {
                let key = cell_key(&BlockKey::over(chunk, mip).bytes());
                prop_assert_eq!(Zone::of_record(&key), zone, "mip {}", mip);
            }
        }
    }
}
