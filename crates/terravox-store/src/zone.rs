//! Zones: the parts of a world that are written by one writer each.

use crate::database::{EXTRA, INFO_KEYS, block_of, page_of_key};
use crate::key::BlockKey;
use std::fmt;
use terravox::voxel::{MAX_MIP, VoxelPos};

/// Bits of a coordinate of a zone.
const AXIS_BITS: u32 = 18;

const BIAS: i32 = 1 << (AXIS_BITS - 1);

/// A part of a world: the voxels under one block of the coarsest stored mip, 8,192 along each axis, with
/// all blocks and listings there. No write to a chunk changes a record outside of its zone, but
/// for extra data, which is in [`Zone::WORLD`].
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

    /// Where it is, in zones; `None` for [`Zone::WORLD`].
    pub fn pos(self) -> Option<[i32; 3]> {
        let axis = |shift: u32| ((self.0 >> shift) & ((1 << AXIS_BITS) - 1)) as i32 - BIAS;
        (self.0 >= 0 && self.0 >> (3 * AXIS_BITS) == 0)
            .then(|| [axis(0), axis(2 * AXIS_BITS), axis(AXIS_BITS)])
    }

    /// The zone of a record; `None` if no world has such a key.
    pub fn of_record(key: &[u8]) -> Option<Zone> {
        if INFO_KEYS.contains(&key) || key.first() == Some(&EXTRA) {
            return Some(Zone::WORLD);
        }
        let block = block_of(key).or_else(|| {
            let page = page_of_key(key)?;
            // A page is under one block of mip 3.
            Some(BlockKey { mip: 3, pos: VoxelPos::new(page.x, page.y, page.z) })
        })?;
        block.within_limits().then(|| Zone::at(block.coarser(MAX_MIP).pos.to_array()))?
    }
}

impl fmt::Display for Zone {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.pos() {
            Some([x, y, z]) => write!(f, "zone {x}, {y}, {z}"),
            None => f.write_str("the world's own zone"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::database::{cell_key, extra_key, listing_key};
    use crate::listing::page_of;
    use proptest::prelude::*;
    use terravox::voxel::ChunkPos;

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

    proptest! {
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
