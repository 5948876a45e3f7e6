//! How blocks differ from what a guest has already.

use crate::codec::BitRle;
use crate::voxel::{DenseBox, Kind, Region, VoxelPos};
use xxhash_rust::xxh3::xxh3_64;

/// The smallest region in which two boxes over the same region differ, if they do.
pub(super) fn difference(a: &DenseBox, b: &DenseBox) -> Option<Region> {
    let region = b.region();
    debug_assert_eq!(a.region(), region);
    let mut found: Option<Region> = None;
    let mut add = |cells: Region| {
        found = Some(found.map_or(cells, |found| found.union(cells)));
    };
    let [width, _, depth] = region.size();
    let pieces = a.materials().chunks(width).zip(b.materials().chunks(width));
    let fills = a.occupancies().chunks(width).zip(b.occupancies().chunks(width));
    for (row, ((ma, mb), (oa, ob))) in pieces.zip(fills).enumerate() {
        if ma == mb && oa == ob {
            continue;
        }
        let differs = |x: &usize| ma[*x] != mb[*x] || oa[*x] != ob[*x];
        let (Some(first), Some(last)) = ((0..width).find(differs), (0..width).rev().find(differs))
        else {
            continue;
        };
        let [y, z] = [row / depth, row % depth].map(|v| v as i32);
        let min = region.min + VoxelPos::new(first as i32, y, z);
        add(Region { min, max: min + VoxelPos::new((last - first) as i32 + 1, 1, 1) });
    }
    if a.water() != b.water() {
        for &(at, _) in a.water().iter().chain(b.water()) {
            let pos = b.position(at);
            if a.water_at(pos) != b.water_at(pos) {
                add(Region::one(pos));
            }
        }
    }
    found
}

/// The cells of a region of a box.
pub(super) fn part_of(cells: &DenseBox, region: Region) -> DenseBox {
    let mut part = DenseBox::new(region);
    part.copy_from(cells);
    part
}

/// Digest of all cells of a block, by which a guest that comes back says what it has.
pub(super) fn block_digest(cells: &DenseBox, kinds: &[Kind; 256]) -> u64 {
    let mut code = Vec::new();
    BitRle { kinds }.encode_box(cells, &mut code);
    xxh3_64(&code)
}
