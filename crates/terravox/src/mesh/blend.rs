//! The materials of a vertex: those of the cells around its corner, by number of cells.

/// Up to four materials and their weights, the most cells first, of equals the lowest
/// id. `ids` are the materials of the inside cells, at most 8 and at least one.
pub(crate) fn blend(ids: &[u8]) -> ([u8; 4], [u8; 4]) {
    if ids[1..].iter().all(|&id| id == ids[0]) {
        return ([ids[0], 0, 0, 0], [255, 0, 0, 0]);
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
    (materials, weights)
}

/// The first material of the blend: that of most cells, of equals the lowest id.
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
        assert_eq!(blend(&[7]), ([7, 0, 0, 0], [255, 0, 0, 0]));
        assert_eq!(blend(&[9, 3, 3, 9, 5]), ([3, 9, 5, 0], [102, 102, 51, 0]));
        assert_eq!(blend(&[8, 7, 6, 5, 4, 3, 2, 2]), ([2, 3, 4, 5], [102, 51, 51, 51]));
        assert_eq!(blend(&[2, 2, 3]).1, [170, 85, 0, 0]);
    }

    #[test]
    fn weights_always_sum_to_255() {
        for code in 0..6561u32 {
            let ids: Vec<u8> = (0..8).map(|i| (code / 3u32.pow(i) % 3) as u8 * 5).collect();
            for take in 1..=8 {
                let (materials, weights) = blend(&ids[..take]);
                assert_eq!(materials[0], dominant(&ids[..take]));
                assert_eq!(weights.iter().map(|&w| u32::from(w)).sum::<u32>(), 255);
                assert!(weights.is_sorted_by(|a, b| a >= b));
            }
        }
    }
}
