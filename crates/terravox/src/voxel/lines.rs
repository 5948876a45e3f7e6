//! Row-packed cells: 32-cell lines that are either stored or stand for full cells of
//! one material.
//!
//! Source: "Voxel Terrain: Storage" (Roblox, 2017), "Memory format, take two". Two
//! changes make it smaller and keep it canonical: whether a line is stored is one bit,
//! and stored lines lie in line order, so a line's place is the base of its group of 32
//! plus its rank in the group. The rank needs no byte of its own: it takes the place
//! that the material has for a line that is not stored. (1.2 bytes a line instead of 2,
//! no free list, and equal cells are equal bytes.)

use super::cell::{ROW_CELLS, Row, UNIFORM_ROWS};

/// `LINES` lines of 32 cells in `GROUPS` (= `LINES` / 32, rounded up) groups, and the
/// water that their solid cells hold.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct PackedLines<const LINES: usize, const GROUPS: usize> {
    /// Material of a line that is not stored; else its rank among its group's stored ones.
    fill: [u8; LINES],
    /// A bit for every line of the group: whether it is stored.
    stored: [u32; GROUPS],
    /// Index in `rows` of the group's first stored line.
    base: [u16; GROUPS],
    /// The stored lines, ascending; capacity is exact after every write.
    rows: Vec<Row>,
    /// (cell index, stored water), ascending.
    water: Vec<(u16, u8)>,
}

/// What [`PackedLines::replace`] writes: whole lines, ascending, with all their water.
#[derive(Default)]
pub(crate) struct LineUpdates {
    pub lines: Vec<u16>,
    pub rows: Vec<Row>,
    pub water: Vec<(u16, u8)>,
}

impl LineUpdates {
    pub fn clear(&mut self) {
        self.lines.clear();
        self.rows.clear();
        self.water.clear();
    }
}

impl<const LINES: usize, const GROUPS: usize> PackedLines<LINES, GROUPS> {
    /// Full cells of `material` everywhere.
    pub fn uniform(material: u8) -> Self {
        const { assert!(GROUPS == LINES.div_ceil(32) && LINES * ROW_CELLS <= 1 << 16) };
        PackedLines {
            fill: [material; LINES],
            stored: [0; GROUPS],
            base: [0; GROUPS],
            rows: Vec::new(),
            water: Vec::new(),
        }
    }

    /// Line `line`, without a copy.
    #[inline]
    pub fn line(&self, line: usize) -> &Row {
        let fill = usize::from(self.fill[line]);
        if self.is_stored(line) {
            &self.rows[usize::from(self.base[line / 32]) + fill]
        } else {
            &UNIFORM_ROWS[fill]
        }
    }

    #[inline]
    fn is_stored(&self, line: usize) -> bool {
        self.stored[line / 32] >> (line % 32) & 1 != 0
    }

    /// The material of line `line` if it is not stored, which means full cells of it.
    #[inline]
    pub fn line_material(&self, line: usize) -> Option<u8> {
        (!self.is_stored(line)).then_some(self.fill[line])
    }

    /// The material, if all cells of lines `0..lines` are full cells of it and no line
    /// holds water.
    pub fn uniform_material(&self) -> Option<u8> {
        let first = self.fill[0];
        let uniform = self.rows.is_empty()
            && self.water.is_empty()
            && self.fill.iter().all(|&fill| fill == first);
        uniform.then_some(first)
    }

    /// Water of the cells `first..first + cells`.
    pub fn water_between(&self, first: usize, cells: usize) -> &[(u16, u8)] {
        if self.water.is_empty() {
            return &[];
        }
        let from = self.water.partition_point(|w| usize::from(w.0) < first);
        let to = self.water.partition_point(|w| usize::from(w.0) < first + cells);
        &self.water[from..to]
    }

    /// Stored lines among `lines`.
    pub fn stored_in(&self, lines: std::ops::Range<usize>) -> usize {
        self.rank_before(lines.end) - self.rank_before(lines.start)
    }

    /// Bytes on the heap.
    pub fn heap_bytes(&self) -> usize {
        self.rows.capacity() * size_of::<Row>() + self.water_bytes()
    }

    /// Bytes of the water list.
    pub fn water_bytes(&self) -> usize {
        self.water.capacity() * size_of::<(u16, u8)>()
    }

    /// Number of stored lines before `line`.
    fn rank_before(&self, line: usize) -> usize {
        let group = line / 32;
        if group == GROUPS {
            return self.rows.len();
        }
        let below = self.stored[group] & ((1u32 << (line % 32)) - 1);
        usize::from(self.base[group]) + below.count_ones() as usize
    }

    /// Replaces whole lines and their water. Memory is reallocated at most once.
    pub fn replace(&mut self, updates: &LineUpdates) {
        debug_assert!(updates.lines.is_sorted() && updates.lines.len() == updates.rows.len());
        let mut grown = 0isize;
        for (&line, row) in updates.lines.iter().zip(&updates.rows) {
            let stored = row.uniform_material().is_none();
            grown += isize::from(stored) - isize::from(self.is_stored(usize::from(line)));
        }
        let moved = updates.lines.iter().zip(&updates.rows).any(|(&line, row)| {
            row.uniform_material().is_none() != self.is_stored(usize::from(line))
        });
        if moved {
            self.merge(updates, (self.rows.len() as isize + grown) as usize);
        } else {
            self.overwrite(updates);
        }
        self.replace_water(updates);
    }

    /// Writes lines none of which becomes or ceases to be stored.
    fn overwrite(&mut self, updates: &LineUpdates) {
        for (&line, row) in updates.lines.iter().zip(&updates.rows) {
            let line = usize::from(line);
            if self.is_stored(line) {
                let at = usize::from(self.base[line / 32]) + usize::from(self.fill[line]);
                self.rows[at] = *row;
            } else {
                self.fill[line] = row.material[0];
            }
        }
    }

    /// Writes lines by merging them with the stored ones into a new allocation.
    fn merge(&mut self, updates: &LineUpdates, stored: usize) {
        let mut rows = Vec::with_capacity(stored);
        let mut copied = 0;
        for (&line, row) in updates.lines.iter().zip(&updates.rows) {
            let line = usize::from(line);
            let here = self.rank_before(line);
            rows.extend_from_slice(&self.rows[copied..here]);
            copied = here + usize::from(self.is_stored(line));
            if row.uniform_material().is_none() {
                rows.push(*row);
            }
        }
        rows.extend_from_slice(&self.rows[copied..]);
        for (&line, row) in updates.lines.iter().zip(&updates.rows) {
            let (group, bit) = (usize::from(line) / 32, 1u32 << (line % 32));
            match row.uniform_material() {
                Some(material) => {
                    self.stored[group] &= !bit;
                    self.fill[usize::from(line)] = material;
                }
                None => self.stored[group] |= bit,
            }
        }
        self.rows = rows;
        self.number();
    }

    /// Numbers the stored lines from the bits.
    fn number(&mut self) {
        let mut base = 0;
        for group in 0..GROUPS {
            self.base[group] = base;
            let mut bits = self.stored[group];
            for rank in 0..bits.count_ones() as u8 {
                self.fill[group * 32 + bits.trailing_zeros() as usize] = rank;
                bits &= bits - 1;
            }
            base += self.stored[group].count_ones() as u16;
        }
    }

    fn replace_water(&mut self, updates: &LineUpdates) {
        if self.water.is_empty() && updates.water.is_empty() {
            return;
        }
        let line_of = |cell: u16| cell / ROW_CELLS as u16;
        let mut water = std::mem::take(&mut self.water);
        water.retain(|&(cell, _)| updates.lines.binary_search(&line_of(cell)).is_err());
        water.reserve_exact(updates.water.len());
        water.extend_from_slice(&updates.water);
        water.sort_unstable_by_key(|entry| entry.0);
        water.shrink_to_fit();
        self.water = water;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::voxel::Cell;
    use proptest::prelude::*;

    type Lines = PackedLines<70, 3>;

    fn arb_row() -> impl Strategy<Value = Row> {
        (0u8..4, proptest::collection::vec((0usize..32, 0u8..4, any::<u8>()), 0..3)).prop_map(
            |(material, cells)| {
                let mut row = Row::uniform(material);
                cells.iter().for_each(|&(x, m, o)| row.set(x, Cell::new(m, o)));
                row
            },
        )
    }

    proptest! {
        #[test]
        fn packed_lines_read_back_what_was_written(
            writes in proptest::collection::vec(
                proptest::collection::btree_map(0u16..70, (arb_row(), proptest::option::of(any::<u8>())), 1..20),
                1..12,
            )
        ) {
            let mut lines = Lines::uniform(2);
            let mut model = vec![Row::uniform(2); 70];
            let mut model_water = std::collections::BTreeMap::new();
            for write in &writes {
                let mut updates = LineUpdates::default();
                for (&line, (row, water)) in write {
                    updates.lines.push(line);
                    updates.rows.push(*row);
                    model[usize::from(line)] = *row;
                    model_water.retain(|cell, _| cell / 32 != line);
                    if let Some(water) = water {
                        updates.water.push((line * 32 + 5, *water));
                        model_water.insert(line * 32 + 5, *water);
                    }
                }
                lines.replace(&updates);
                for line in 0..70 {
                    prop_assert_eq!(lines.line(line), &model[line]);
                }
                let stored = model.iter().filter(|row| row.uniform_material().is_none()).count();
                prop_assert_eq!(lines.rows.len(), stored);
                prop_assert_eq!(lines.rows.capacity(), stored);
                prop_assert_eq!(lines.stored_in(0..70), stored);
                prop_assert_eq!(lines.water.clone(), model_water.clone().into_iter().collect::<Vec<_>>());
            }
            // Canonical: the history does not show.
            let mut fresh = Lines::uniform(9);
            fresh.replace(&LineUpdates {
                lines: (0..70).collect(),
                rows: model.clone(),
                water: model_water.into_iter().collect(),
            });
            prop_assert!(fresh == lines);
        }
    }

    #[test]
    fn lines_of_one_material_are_uniform_until_one_holds_water() {
        let mut lines = Lines::uniform(7);
        assert_eq!(lines.uniform_material(), Some(7));
        let row = Row::uniform(7);
        lines.replace(&LineUpdates { lines: vec![3], rows: vec![row], water: vec![(97, 0)] });
        assert_eq!(lines.uniform_material(), None);
        assert_eq!(lines.water_between(96, 32), &[(97, 0)]);
        assert_eq!(lines.water_between(0, 97), &[]);
    }
}
