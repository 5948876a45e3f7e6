//! The materials of a vertex: those of the cells around its corner, weighted by their number.

/// Up to four materials with their weights, largest first; unused entries are 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct MaterialBlend {
    /// Material ids.
    pub materials: [u8; 4],
    /// Weights, summing to 255.
    pub weights: [u8; 4],
}

impl MaterialBlend {
    /// One material alone.
    #[inline]
    pub(crate) const fn one(material: u8) -> MaterialBlend {
        MaterialBlend { materials: [material, 0, 0, 0], weights: [255, 0, 0, 0] }
    }
}

/// Blends the materials of 1 to 8 cells: those of most cells first, lowest id first among
/// equals.
///
/// # Panics
/// If `ids` is empty or has more than 8 ids.
pub(crate) fn blend(ids: &[u8]) -> MaterialBlend {
    if ids[1..].iter().all(|&id| id == ids[0]) {
        return MaterialBlend::one(ids[0]);
    }
    let mut counted: [(u8, u8); 8] = [(0, 0); 8];
    let mut kinds = 0;
    for &id in ids {
        match counted[..kinds].iter_mut().find(|entry| entry.1 == id) {
            Some(entry) => entry.0 += 1,
            None => {
                counted[kinds] = (1, id);
                kinds += 1;
            }
        }
    }
    let before = |a: (u8, u8), b: (u8, u8)| a.0 > b.0 || (a.0 == b.0 && a.1 < b.1);
    for end in 1..kinds {
        let mut at = end;
        while at > 0 && before(counted[at], counted[at - 1]) {
            counted.swap(at, at - 1);
            at -= 1;
        }
    }
    let kept = &counted[..kinds.min(4)];
    let total: u32 = kept.iter().map(|entry| u32::from(entry.0)).sum();
    let mut materials = [0; 4];
    let mut weights = [0; 4];
    for (slot, &(count, id)) in kept.iter().enumerate() {
        materials[slot] = id;
        weights[slot] = (255 * u32::from(count) / total) as u8;
    }
    weights[0] = 255 - weights[1] - weights[2] - weights[3];
    MaterialBlend { materials, weights }
}

/// By set of octants: a word whose byte `o` is 255 if octant `o` is in the set, else 0.
pub(crate) static OCTANT_BYTES: [u64; 256] = {
    let mut bytes = [0; 256];
    let mut octants = 0;
    while octants < 256 {
        let mut octant = 0;
        while octant < 8 {
            if octants >> octant & 1 == 1 {
                bytes[octants] |= 255 << (8 * octant);
            }
            octant += 1;
        }
        octants += 1;
    }
    bytes
};

/// The lowest bit of every byte.
const LOW_BITS: u64 = 0x0101_0101_0101_0101;
/// The highest bit of every byte.
const HIGH_BITS: u64 = LOW_BITS << 7;

/// [`blend`] of the cells of a non-empty set of octants; byte `o` of `materials` is the
/// material of octant `o`.
#[inline]
pub(crate) fn blend_octants(materials: u64, octants: u8) -> MaterialBlend {
    let counted = OCTANT_BYTES[usize::from(octants)];
    let first = (materials >> (8 * octants.trailing_zeros())) as u8;
    let differ = (materials ^ (u64::from(first) * LOW_BITS)) & counted;
    if differ == 0 {
        return MaterialBlend::one(first);
    }
    // The highest bit of each byte that is not 0.
    let others = (((differ & !HIGH_BITS) + !HIGH_BITS) | differ) & HIGH_BITS;
    let second = (materials >> (others.trailing_zeros() - 7)) as u8;
    if (materials ^ (u64::from(second) * LOW_BITS)) & ((others >> 7) * 255) != 0 {
        return blend_many(materials, octants);
    }
    let (count, total) = (others.count_ones(), octants.count_ones());
    let swap = 2 * count > total || (2 * count == total && second < first);
    let (ids, fewer) =
        if swap { ([second, first], total - count) } else { ([first, second], count) };
    let weight = (255 * fewer / total) as u8;
    MaterialBlend { materials: [ids[0], ids[1], 0, 0], weights: [255 - weight, weight, 0, 0] }
}

/// [`blend_octants`] of any number of materials.
fn blend_many(materials: u64, octants: u8) -> MaterialBlend {
    let mut ids = [0; 8];
    let mut count = 0;
    for (octant, id) in materials.to_le_bytes().into_iter().enumerate() {
        if octants >> octant & 1 == 1 {
            ids[count] = id;
            count += 1;
        }
    }
    blend(&ids[..count])
}

/// Returns the first material of the blend: that of most cells, the lowest id among equals.
#[inline]
pub(crate) fn dominant(ids: &[u8]) -> u8 {
    let mut best = (0, ids[0]);
    for &id in ids {
        let count = ids.iter().filter(|&&other| other == id).count();
        if count > best.0 || (count == best.0 && id < best.1) {
            best = (count, id);
        }
    }
    best.1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn most_cells_come_first_and_ties_go_to_the_lowest_id() {
        let entries = |ids: &[u8]| {
            let MaterialBlend { materials, weights } = blend(ids);
            (materials, weights)
        };
        assert_eq!(entries(&[7]), ([7, 0, 0, 0], [255, 0, 0, 0]));
        assert_eq!(entries(&[9, 3, 3, 9, 5]), ([3, 9, 5, 0], [102, 102, 51, 0]));
        assert_eq!(entries(&[8, 7, 6, 5, 4, 3, 2, 2]), ([2, 3, 4, 5], [102, 51, 51, 51]));
        assert_eq!(entries(&[2, 2, 3]).1, [170, 85, 0, 0]);
    }

    #[test]
    fn weights_always_sum_to_255() {
        for code in 0..6561u32 {
            let ids: Vec<u8> = (0..8).map(|i| (code / 3u32.pow(i) % 3) as u8 * 5).collect();
            for take in 1..=8 {
                let MaterialBlend { materials, weights } = blend(&ids[..take]);
                assert_eq!(materials[0], dominant(&ids[..take]));
                assert_eq!(weights.iter().map(|&w| u32::from(w)).sum::<u32>(), 255);
                assert!(weights.is_sorted_by(|a, b| a >= b));
            }
        }
    }

    #[test]
    fn octants_blend_as_their_materials_do() {
        let mut h = 1u64;
        for round in 0..200_000u64 {
            h = (h ^ round).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(23);
            let kinds = 1 + round % 4;
            let ids: [u8; 8] = std::array::from_fn(|octant| {
                [0, 255, 2, 128][((h >> (4 * octant)) % kinds) as usize]
            });
            let octants = 1.max((h >> 50) as u8);
            let used: Vec<u8> = (0..8).filter(|o| octants >> o & 1 == 1).map(|o| ids[o]).collect();
            let blended = blend_octants(u64::from_le_bytes(ids), octants);
            assert_eq!(blended, blend(&used), "{ids:?} {octants:08b}");
        }
    }
}
