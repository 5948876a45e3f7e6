//! Row-packed cells: each row of 32 cells is either uniform (full cells of one material) or
//! mixed, and then stored; a row equal to one close before it shares that one's storage.
//!
//! Source: "Voxel Terrain: Storage" (Roblox, 2017), "Memory format, take two". Three changes
//! make it smaller and canonical (equal cells are equal bytes). One bit says whether a row is
//! mixed. The byte that holds the material of a uniform row holds, for a mixed one, its place
//! in a window of 256 stored rows that its group of 32 rows looks at. Rows that repeat a near one
//! (walls, ridges, cliffs do) share its place. So a row costs 1.2 bytes besides its cells instead
//! of 2, and there is no free list.

use super::cell::{Row, UNIFORM_ROWS};

/// How many rows stored before a group its rows can share: what a byte reaches, less the
/// group's own 32.
const WINDOW: u16 = 224;

/// How many rows back to look for an equal row: the next one in Z; the same one a slice lower,
/// in mip 1 and in mip 0. Others repeat too rarely to look for.
const SHARED_WITH: [usize; 3] = [1, 8, 32];

/// `ROWS` rows of 32 cells in `GROUPS` (= `ROWS` / 32, rounded up) groups, and the
/// water that their solid cells hold.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct PackedRows<const ROWS: usize, const GROUPS: usize> {
    /// Material of a uniform row; place of a mixed one in its group's window.
    fill: [u8; ROWS],
    /// A bit for every row: whether it is mixed.
    mixed: [u32; GROUPS],
    /// By group: how many stored rows the groups before it added.
    start: [u16; GROUPS],
    /// The stored rows, in the order of the first row that shows each; without spare capacity.
    stored: Box<[Row]>,
    /// (cell index, stored water), ascending.
    water: Vec<(u16, u8)>,
}

/// What [`PackedRows::replace`] writes: whole rows, ascending, with all their water.
#[derive(Default)]
pub(crate) struct RowUpdates {
    pub indices: Vec<u16>,
    pub rows: Vec<Row>,
    pub water: Vec<(u16, u8)>,
    /// By row: its number among `rows`, plus one; 0 for a row that is not among them.
    staged: Vec<u16>,
    /// By row: the material, if it is full cells of one.
    uniform: Vec<Option<u8>>,
    /// Where the rows are put together.
    packed: Vec<Row>,
}

/// 32 rows and the window of stored rows that they look at.
#[derive(Clone, Copy)]
pub(crate) struct RowGroup<'a> {
    fill: &'a [u8],
    mixed: u32,
    stored: &'a [Row],
}

/// The `fill` of a uniform group.
static UNIFORM_FILLS: [[u8; 32]; 256] = {
    let mut fills = [[0; 32]; 256];
    let mut material = 0;
    while material < 256 {
        fills[material] = [material as u8; 32];
        material += 1;
    }
    fills
};

impl<'a> RowGroup<'a> {
    /// Full cells of one material.
    pub fn uniform(material: u8) -> RowGroup<'a> {
        RowGroup { fill: &UNIFORM_FILLS[usize::from(material)], mixed: 0, stored: &[] }
    }

    /// By row: the material of a uniform one.
    #[inline]
    pub fn fill(&self) -> &'a [u8] {
        self.fill
    }

    /// A bit for every row: whether it is mixed.
    #[inline]
    pub fn mixed(&self) -> u32 {
        self.mixed
    }

    /// Row `index` of the group, 0 to 31, which must be mixed.
    #[inline]
    pub fn mixed_row(&self, index: usize) -> &'a Row {
        &self.stored[usize::from(self.fill[index])]
    }

    /// Row `index` of the group, 0 to 31.
    #[inline]
    pub fn row(&self, index: usize) -> &'a Row {
        let fill = usize::from(self.fill[index]);
        if self.mixed >> index & 1 != 0 { &self.stored[fill] } else { &UNIFORM_ROWS[fill] }
    }
}

impl RowUpdates {
    pub fn clear(&mut self) {
        for &index in &self.indices {
            if let Some(staged) = self.staged.get_mut(usize::from(index)) {
                *staged = 0;
            }
        }
        self.indices.clear();
        self.rows.clear();
        self.water.clear();
    }

    /// Adds a row, which comes after all others, without its water.
    #[inline]
    pub fn push(&mut self, index: u16, row: Row) {
        self.indices.push(index);
        self.rows.push(row);
        if self.staged.len() <= usize::from(index) {
            self.staged.resize(usize::from(index) + 1, 0);
        }
        self.staged[usize::from(index)] = self.rows.len() as u16;
    }

    /// Adds a row with its water, in place of what it was to be if it is here already.
    pub fn put(&mut self, index: u16, row: Row, water: &[(u16, u8)]) {
        match self.staged(index.into()) {
            None => self.push(index, row),
            Some(at) => {
                self.rows[at] = row;
                self.water.retain(|held| held.0 / Row::CELLS as u16 != index);
            }
        }
        self.water.extend_from_slice(water);
    }

    /// The number of a row among the rows, if it is to be written.
    #[inline]
    pub fn staged(&self, index: usize) -> Option<usize> {
        let staged = self.staged.get(index).copied().unwrap_or(0);
        usize::from(staged).checked_sub(1)
    }
}

impl<const ROWS: usize, const GROUPS: usize> PackedRows<ROWS, GROUPS> {
    /// Full cells of `material` everywhere.
    pub fn uniform(material: u8) -> Self {
        const { assert!(GROUPS == ROWS.div_ceil(32) && ROWS * Row::CELLS <= 1 << 16) };
        PackedRows {
            fill: [material; ROWS],
            mixed: [0; GROUPS],
            start: [0; GROUPS],
            stored: Box::default(),
            water: Vec::new(),
        }
    }

    /// Row `index`, without a copy.
    #[inline]
    pub fn row(&self, index: usize) -> &Row {
        match self.is_mixed(index) {
            true => &self.stored[self.stored_index(index)],
            false => &UNIFORM_ROWS[usize::from(self.fill[index])],
        }
    }

    /// Row `index` as it will be once `updates` are written.
    #[inline]
    pub fn row_after<'a>(&'a self, updates: &'a RowUpdates, index: usize) -> &'a Row {
        match updates.staged(index) {
            Some(at) => &updates.rows[at],
            None => self.row(index),
        }
    }

    /// Whether no cell holds water, before and after `updates` are written.
    #[inline]
    pub fn is_dry_after(&self, updates: &RowUpdates) -> bool {
        self.water.is_empty() && updates.water.is_empty()
    }

    /// Water of the cells `first..first + cells` of one row, as it will be once `updates`
    /// are written.
    pub fn water_after<'a>(
        &'a self,
        updates: &'a RowUpdates,
        first: usize,
        cells: usize,
    ) -> &'a [(u16, u8)] {
        if updates.staged(first / Row::CELLS).is_none() {
            return self.water_between(first, cells);
        }
        water_of(&updates.water, first, cells)
    }

    /// The rows of one group, for readers of many of them.
    #[inline]
    pub fn group(&self, group: usize) -> RowGroup<'_> {
        let first = group * 32;
        let window = self.window(group);
        RowGroup {
            fill: &self.fill[first..ROWS.min(first + 32)],
            mixed: self.mixed[group],
            stored: &self.stored[window.min(self.stored.len())..],
        }
    }

    #[inline]
    fn is_mixed(&self, index: usize) -> bool {
        self.mixed[index / 32] >> (index % 32) & 1 != 0
    }

    /// The place of a mixed row among the stored ones.
    #[inline]
    fn stored_index(&self, index: usize) -> usize {
        self.window(index / 32) + usize::from(self.fill[index])
    }

    /// The first stored row that the rows of a group can show.
    #[inline]
    fn window(&self, group: usize) -> usize {
        usize::from(self.start[group].saturating_sub(WINDOW))
    }

    /// The material, if all cells are full cells of it and none holds water.
    pub fn uniform_material(&self) -> Option<u8> {
        let first = self.fill[0];
        let uniform = self.stored.is_empty()
            && self.water.is_empty()
            && self.fill.iter().all(|&fill| fill == first);
        uniform.then_some(first)
    }

    /// Water of the cells `first..first + cells`.
    pub fn water_between(&self, first: usize, cells: usize) -> &[(u16, u8)] {
        water_of(&self.water, first, cells)
    }

    /// Mixed rows in the first `groups` groups.
    pub fn mixed_rows(&self, groups: usize) -> usize {
        self.mixed[..groups].iter().map(|bits| bits.count_ones() as usize).sum()
    }

    /// Stored rows that the first `groups` groups added.
    pub fn stored_rows(&self, groups: usize) -> usize {
        self.start.get(groups).map_or(self.stored.len(), |&start| usize::from(start))
    }

    /// Bytes of the water list.
    pub fn water_bytes(&self) -> usize {
        self.water.capacity() * size_of::<(u16, u8)>()
    }

    /// Replaces whole rows and their water. Memory is reallocated at most once.
    pub fn replace(&mut self, updates: &mut RowUpdates) {
        debug_assert!(updates.indices.is_sorted() && updates.indices.len() == updates.rows.len());
        let RowUpdates { indices, rows, uniform, .. } = updates;
        uniform.clear();
        uniform.extend(rows.iter().map(Row::uniform_material));
        let mut first_mixed = None;
        for ((&index, row), &uniform) in indices.iter().zip(&*rows).zip(&*uniform) {
            match uniform {
                Some(material) if !self.is_mixed(index.into()) => {
                    self.fill[usize::from(index)] = material;
                }
                _ if self.row(index.into()) == row => {}
                _ => drop(first_mixed.get_or_insert(usize::from(index))),
            }
        }
        if let Some(index) = first_mixed {
            self.pack_from(index / 32, updates);
        }
        self.replace_water(updates);
    }

    /// Packs the rows of all groups from `first` on, with `updates` in place of what is
    /// there. Sharing looks back only, so the groups before it stay as they are.
    fn pack_from(&mut self, first: usize, updates: &mut RowUpdates) {
        let RowUpdates { indices, rows, uniform, packed, .. } = updates;
        let old = std::mem::take(&mut self.stored);
        packed.clear();
        packed.extend_from_slice(&old[..usize::from(self.start[first])]);
        let mut update = indices.partition_point(|&index| usize::from(index) < first * 32);
        for group in first..GROUPS {
            let old_window = self.window(group);
            let old_mixed = self.mixed[group];
            self.start[group] = packed.len() as u16;
            self.mixed[group] = 0;
            for index in group * 32..ROWS.min(group * 32 + 32) {
                let updated = indices.get(update).is_some_and(|&next| usize::from(next) == index);
                let (row, uniform) = if updated {
                    update += 1;
                    (&rows[update - 1], uniform[update - 1])
                } else if old_mixed >> (index % 32) & 1 != 0 {
                    (&old[old_window + usize::from(self.fill[index])], None)
                } else {
                    continue;
                };
                match uniform {
                    Some(material) => self.fill[index] = material,
                    None => self.pack_row(index, row, packed),
                }
            }
        }
        self.stored = packed.as_slice().into();
    }

    /// Stores `row` as row `index`: shared with a near row if that is the same, else added.
    fn pack_row(&mut self, index: usize, row: &Row, packed: &mut Vec<Row>) {
        let group = index / 32;
        let window = self.window(group);
        let near = SHARED_WITH.iter().filter(|&&distance| distance <= index);
        let mut near = near.map(|distance| index - distance);
        let shared = near.find_map(|near| {
            let at = self.is_mixed(near).then(|| self.stored_index(near))?;
            (at >= window && packed[at] == *row).then_some(at)
        });
        let at = shared.unwrap_or_else(|| {
            packed.push(*row);
            packed.len() - 1
        });
        self.fill[index] = (at - window) as u8;
        self.mixed[group] |= 1 << (index % 32);
    }

    fn replace_water(&mut self, updates: &mut RowUpdates) {
        let (Some(&first), Some(&last)) = (updates.indices.first(), updates.indices.last()) else {
            return;
        };
        if self.water.is_empty() && updates.water.is_empty() {
            return;
        }
        if !updates.water.is_sorted_by_key(|entry| entry.0) {
            updates.water.sort_unstable_by_key(|entry| entry.0);
        }
        // Lakes have long lists; what lies before and after the rows stays as it is.
        let row_of = |entry: &(u16, u8)| entry.0 / Row::CELLS as u16;
        let from = self.water.partition_point(|entry| row_of(entry) < first);
        let to = self.water.partition_point(|entry| row_of(entry) <= last);
        let mut indices = updates.indices.iter().copied().peekable();
        let mut fresh = updates.water.iter().copied().peekable();
        let mut between = Vec::with_capacity(to - from + updates.water.len());
        for held in &self.water[from..to] {
            while indices.next_if(|&index| index < row_of(held)).is_some() {}
            if indices.peek() == Some(&row_of(held)) {
                continue;
            }
            while let Some(fresh) = fresh.next_if(|fresh| fresh.0 < held.0) {
                between.push(fresh);
            }
            between.push(*held);
        }
        between.extend(fresh);
        if between != self.water[from..to] {
            self.water = [&self.water[..from], &between, &self.water[to..]].concat();
        }
    }
}

/// The entries of the cells `first..first + cells`.
pub(crate) fn water_of(water: &[(u16, u8)], first: usize, cells: usize) -> &[(u16, u8)] {
    if water.is_empty() {
        return &[];
    }
    let from = water.partition_point(|w| usize::from(w.0) < first);
    let to = water.partition_point(|w| usize::from(w.0) < first + cells);
    &water[from..to]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::voxel::Cell;
    use proptest::prelude::*;

    type Rows = PackedRows<70, 3>;

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
        fn packed_rows_read_back_what_was_written(
            writes in proptest::collection::vec(
                proptest::collection::btree_map(0u16..70, (arb_row(), proptest::option::of(any::<u8>())), 1..20),
                1..12,
            )
        ) {
            let mut rows = Rows::uniform(2);
            let mut model = vec![Row::uniform(2); 70];
            let mut model_water = std::collections::BTreeMap::new();
            for write in &writes {
                let mut updates = RowUpdates::default();
                for (&index, (row, water)) in write {
                    updates.indices.push(index);
                    updates.rows.push(*row);
                    model[usize::from(index)] = *row;
                    model_water.retain(|cell, _| cell / 32 != index);
                    if let Some(water) = water {
                        updates.water.push((index * 32 + 5, *water));
                        model_water.insert(index * 32 + 5, *water);
                    }
                }
                rows.replace(&mut updates);
                for index in 0..70 {
                    prop_assert_eq!(rows.row(index), &model[index]);
                }
                let stored = model.iter().filter(|row| row.uniform_material().is_none()).count();
                prop_assert_eq!(rows.mixed_rows(3), stored);
                prop_assert!(rows.stored.len() <= stored);
                prop_assert_eq!(rows.water.clone(), model_water.clone().into_iter().collect::<Vec<_>>());
            }
            // Canonical: the history does not show.
            let mut fresh = Rows::uniform(9);
            fresh.replace(&mut RowUpdates {
                indices: (0..70).collect(),
                rows: model.clone(),
                water: model_water.into_iter().collect(),
                ..RowUpdates::default()
            });
            prop_assert!(fresh == rows);
        }
    }

    fn replace(rows: &mut PackedRows<1024, 32>, index: u16, row: Row) {
        let mut updates = RowUpdates::default();
        updates.indices.push(index);
        updates.rows.push(row);
        rows.replace(&mut updates);
    }

    /// A row that is not uniform, another for every number.
    fn numbered_row(number: u32) -> Row {
        let mut row = Row::uniform(3);
        row.occupancy[..4].copy_from_slice(&number.to_le_bytes());
        row
    }

    #[test]
    fn repeated_rows_are_stored_once_and_part_again() {
        let mut rows = PackedRows::<1024, 32>::uniform(0);
        for index in 0..1024 {
            replace(&mut rows, index, numbered_row(u32::from(index) % 32));
        }
        assert_eq!(rows.stored.len(), 32, "walls: every slice repeats the one below");
        replace(&mut rows, 500, numbered_row(77));
        assert_eq!(rows.stored.len(), 33 + 1, "and the slice above that row needs its row anew");
        assert_eq!(rows.row(500), &numbered_row(77));
        assert_eq!(rows.row(468), &numbered_row(468 % 32));
        assert_eq!(rows.row(532), &numbered_row(532 % 32));
    }

    #[test]
    fn rows_that_are_out_of_the_windows_reach_are_stored_again() {
        let mut rows = PackedRows::<1024, 32>::uniform(0);
        let wall = numbered_row(9);
        let mut expected = Vec::new();
        for index in 0..1024u32 {
            expected.push(if index % 32 == 5 { wall } else { numbered_row(1000 + index) });
        }
        let mut updates = RowUpdates { indices: (0..1024).collect(), ..RowUpdates::default() };
        updates.rows.clone_from(&expected);
        rows.replace(&mut updates);
        for index in 0..1024 {
            assert_eq!(rows.row(index), &expected[index]);
        }
        let walls = rows.stored.iter().filter(|&&row| row == wall).count();
        assert!((2..8).contains(&walls), "the wall is stored {walls} times");
    }

    #[test]
    fn rows_of_one_material_are_uniform_until_one_holds_water() {
        let mut rows = Rows::uniform(7);
        assert_eq!(rows.uniform_material(), Some(7));
        let row = Row::uniform(7);
        rows.replace(&mut RowUpdates {
            indices: vec![3],
            rows: vec![row],
            water: vec![(97, 0)],
            ..RowUpdates::default()
        });
        assert_eq!(rows.uniform_material(), None);
        assert_eq!(rows.water_between(96, 32), &[(97, 0)]);
        assert_eq!(rows.water_between(0, 97), &[]);
    }
}
