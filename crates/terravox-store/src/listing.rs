//! The listing of a page: which of its 8³ chunks are stored.
//!
//! It tells which chunks exist without reading cells, for all mips, and which are missing when a
//! part of the file is damaged. It can be rebuilt from the keys.

use crate::value::{SEAL_BYTES, ValueError, check_sealed, seal, start_sealed};
use terravox::voxel::{ChunkPos, PagePos, Region, VoxelPos};

/// Seal and 512 bits.
const LISTING_BYTES: usize = SEAL_BYTES + 64;

/// Chunks of one page, one bit each: x + 8 (z + 8 y), so that a layer is one word.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Listing {
    layers: [u64; 8],
}

impl Listing {
    pub fn is_empty(&self) -> bool {
        self.layers == [0; 8]
    }

    pub fn len(&self) -> usize {
        self.layers.iter().map(|layer| layer.count_ones() as usize).sum()
    }

    pub fn contains(&self, chunk: ChunkPos) -> bool {
        let (layer, bit) = layer_and_bit(chunk);
        self.layers[layer] & bit != 0
    }

    pub fn set(&mut self, chunk: ChunkPos, is_listed: bool) {
        let (layer, bit) = layer_and_bit(chunk);
        if is_listed {
            self.layers[layer] |= bit;
        } else {
            self.layers[layer] &= !bit;
        }
    }

    /// Positions of the chunks in `page`, x fastest, then z, then y.
    pub fn chunks(self, page: PagePos) -> impl Iterator<Item = ChunkPos> {
        let all = Region::one(VoxelPos::new(page.x, page.y, page.z)).finer(3).voxels();
        all.map(|p| ChunkPos::new(p.x, p.y, p.z)).filter(move |&chunk| self.contains(chunk))
    }

    pub fn encode(&self, key: &[u8]) -> Vec<u8> {
        let mut out = Vec::with_capacity(LISTING_BYTES);
        start_sealed(&mut out);
        out.extend(self.layers.iter().flat_map(|layer| layer.to_le_bytes()));
        seal(key, &mut out);
        out
    }

    pub fn decode(key: &[u8], value: &[u8]) -> Result<Listing, ValueError> {
        check_sealed(key, value, LISTING_BYTES, LISTING_BYTES)?;
        let mut listing = Listing::default();
        for (layer, bytes) in listing.layers.iter_mut().zip(value[SEAL_BYTES..].as_chunks::<8>().0)
        {
            *layer = u64::from_le_bytes(*bytes);
        }
        Ok(listing)
    }
}

/// The page that holds a chunk.
pub(crate) fn page_of(chunk: ChunkPos) -> PagePos {
    PagePos::new(chunk.x >> 3, chunk.y >> 3, chunk.z >> 3)
}

/// Layer and bit of a chunk in its page.
fn layer_and_bit(chunk: ChunkPos) -> (usize, u64) {
    let local = |v: i32| (v & 7) as u32;
    (local(chunk.y) as usize, 1 << (local(chunk.x) + 8 * local(chunk.z)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::key::page_bytes;

    #[test]
    fn the_bytes_of_a_listing_are_fixed_and_come_back() {
        let page = PagePos::new(-1, 0, 2);
        let mut listing = Listing::default();
        let chunks = [[-8, 0, 16], [-1, 0, 16], [-8, 0, 17], [-1, 7, 23]]
            .map(|[x, y, z]| ChunkPos::new(x, y, z));
        chunks.iter().for_each(|&chunk| listing.set(chunk, true));
        let key = page_bytes(page);
        let bytes = listing.encode(&key);
        assert_eq!(bytes[0], 1);
        assert_eq!(bytes[9..17], [0x81, 1, 0, 0, 0, 0, 0, 0]);
        assert_eq!(bytes[17..65], [0; 48]);
        assert_eq!(bytes[65..], [0, 0, 0, 0, 0, 0, 0, 0x80]);
        assert_eq!(Listing::decode(&key, &bytes), Ok(listing));
        assert_eq!(listing.chunks(page).collect::<Vec<_>>(), chunks);
        assert_eq!(listing.len(), 4);
        listing.set(chunks[1], false);
        assert!(!listing.contains(chunks[1]) && listing.contains(chunks[0]));
    }

    #[test]
    fn a_changed_or_displaced_listing_is_noticed() {
        let key = page_bytes(PagePos::new(0, 0, 0));
        let bytes = Listing::default().encode(&key);
        for bit in 8..bytes.len() * 8 {
            let mut bad = bytes.clone();
            bad[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(Listing::decode(&key, &bad), Err(ValueError::Checksum));
        }
        let other = page_bytes(PagePos::new(0, 0, 1));
        assert_eq!(Listing::decode(&other, &bytes), Err(ValueError::Checksum));
        assert!(Listing::decode(&key, &bytes[..72]).is_err());
        assert!(Listing::decode(&key, &[]).is_err());
    }
}
