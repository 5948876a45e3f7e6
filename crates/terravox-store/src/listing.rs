//! The listing of a page: which of its 8³ chunks are stored.
//!
//! It tells which chunks exist without reading cells, for all mips, and which are missing when a
//! part of the file is damaged. It can be rebuilt from the keys.

use crate::database::CELLS;
use crate::reader::StoreReader;
use crate::value::ValueError;
use terravox::voxel::{ChunkPos, PagePos, Region, VoxelPos};

const LISTING_BYTES: usize = 64;

/// Maximum number of chunks that are listed but not stored: beyond it, they are not reported one by
/// one, and a list of all chunks is refused. A forged file may list billions.
pub(crate) const MAX_MISSING_CHUNKS: usize = 1 << 16;

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

    /// The chunks that are in both listings.
    pub fn and(self, other: Listing) -> Listing {
        Listing { layers: std::array::from_fn(|y| self.layers[y] & other.layers[y]) }
    }

    /// The chunks of this listing that another one lacks.
    pub fn without(self, other: Listing) -> Listing {
        Listing { layers: std::array::from_fn(|y| self.layers[y] & !other.layers[y]) }
    }

    pub fn encode(&self) -> [u8; LISTING_BYTES] {
        let mut out = [0; LISTING_BYTES];
        for (bytes, layer) in out.as_chunks_mut::<8>().0.iter_mut().zip(self.layers) {
            *bytes = layer.to_le_bytes();
        }
        out
    }

    pub fn decode(value: &[u8]) -> Result<Listing, ValueError> {
        let (bytes, least) = (value.len(), LISTING_BYTES);
        if bytes < least {
            return Err(ValueError::TooShort { bytes, least });
        }
        if bytes > least {
            return Err(ValueError::Trailing { bytes: bytes - least });
        }
        let mut listing = Listing::default();
        for (layer, bytes) in listing.layers.iter_mut().zip(value.as_chunks::<8>().0) {
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

/// Fails if more than 65,536 listed chunks are not stored: 64 bytes can list 512.
pub(crate) fn check_listed_count(
    tree: &StoreReader,
    listings: &[(PagePos, Listing)],
) -> Result<(), ValueError> {
    let listed: usize = listings.iter().map(|(_, listing)| listing.len()).sum();
    if listed <= MAX_MISSING_CHUNKS {
        return Ok(());
    }
    // Without memory for each; lost parts of the index count as empty.
    let stored = tree.scan_keys(&[CELLS, 0], Some(&[CELLS, 1])).filter(Result::is_ok).count();
    if listed <= stored + MAX_MISSING_CHUNKS {
        return Ok(());
    }
    let what = format!("it lists {listed} chunks, of which at most {stored} are stored");
    Err(ValueError::Unreadable(what.into()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bytes_of_a_listing_are_fixed_and_come_back() {
        let page = PagePos::new(-1, 0, 2);
        let mut listing = Listing::default();
        let chunks = [[-8, 0, 16], [-1, 0, 16], [-8, 0, 17], [-1, 7, 23]]
            .map(|[x, y, z]| ChunkPos::new(x, y, z));
        chunks.iter().for_each(|&chunk| listing.set(chunk, true));
        let bytes = listing.encode();
        assert_eq!(bytes[..8], [0x81, 1, 0, 0, 0, 0, 0, 0]);
        assert_eq!(bytes[8..56], [0; 48]);
        assert_eq!(bytes[56..], [0, 0, 0, 0, 0, 0, 0, 0x80]);
        assert_eq!(Listing::decode(&bytes), Ok(listing));
        assert_eq!(listing.chunks(page).collect::<Vec<_>>(), chunks);
        assert_eq!(listing.len(), 4);
        let all = listing;
        listing.set(chunks[1], false);
        assert!(!listing.contains(chunks[1]) && listing.contains(chunks[0]));
        assert_eq!(all.without(listing).chunks(page).collect::<Vec<_>>(), [chunks[1]]);
        assert_eq!((all.and(listing), listing.without(all).is_empty()), (listing, true));
    }

    #[test]
    fn a_listing_of_another_length_is_refused() {
        let bytes = Listing::default().encode();
        let short = Listing::decode(&bytes[..63]);
        assert_eq!(short, Err(ValueError::TooShort { bytes: 63, least: 64 }));
        let long = Listing::decode(&[&bytes[..], &[0]].concat());
        assert_eq!(long, Err(ValueError::Trailing { bytes: 1 }));
    }
}
