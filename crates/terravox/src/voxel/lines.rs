//! Row-packed cells: 32-cell lines that are either stored or stand for full cells of
//! one material.
//!
//! Source: "Voxel Terrain: Storage" (Roblox, 2017), "Memory format, take two". Three
//! changes make it smaller and keep it canonical (equal cells are equal bytes):
//! whether a line is stored is one bit; a stored line's byte, where others have their
//! material, says where its row lies in a window of 256 rows that its group of 32 lines
//! looks at; and lines that repeat a near one (walls, ridges, cliffs do) share its row.
//! So a line costs 1.2 bytes instead of 2, and there is no free list.

use super::cell::{ROW_CELLS, Row, UNIFORM_ROWS};

/// Rows stored before a group that its lines can share: what a byte reaches, less the
/// group's own 32.
const WINDOW: u16 = 224;

/// A line may share the row of the line so many before it: the next row in Z; the same
/// row one slice lower, in mip 1 and in mip 0. Others repeat too rarely to look for.
const SHARED_WITH: [usize; 3] = [1, 8, 32];

/// `LINES` lines of 32 cells in `GROUPS` (= `LINES` / 32, rounded up) groups, and the
/// water that their solid cells hold.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct PackedLines<const LINES: usize, const GROUPS: usize> {
    /// Material of a line that is not stored; else its row, from the group's window on.
    fill: [u8; LINES],
    /// A bit for every line of the group: whether it is stored.
    stored: [u32; GROUPS],
    /// Number of rows that the groups before this one added.
    start: [u16; GROUPS],
    /// The rows, in the order of the first line that shows each; no room to spare.
    rows: Box<[Row]>,
    /// (cell index, stored water), ascending.
    water: Vec<(u16, u8)>,
}

/// What [`PackedLines::replace`] writes: whole lines, ascending, with all their water.
#[derive(Default)]
pub(crate) struct LineUpdates {
    pub lines: Vec<u16>,
    pub rows: Vec<Row>,
    pub water: Vec<(u16, u8)>,
    /// By line: its number among `rows`, plus one; 0 for a line that is not among them.
    staged: Vec<u16>,
    /// By row: the material, if it is full cells of one.
    uniform: Vec<Option<u8>>,
    /// Where the rows are put together.
    packed: Vec<Row>,
}

/// 32 lines and the window of rows that they look at.
#[derive(Clone, Copy)]
pub(crate) struct Group<'a> {
    fill: &'a [u8],
    stored: u32,
    rows: &'a [Row],
}

/// What the lines of a uniform group have in `fill`.
static UNIFORM_FILLS: [[u8; 32]; 256] = {
    let mut fills = [[0; 32]; 256];
    let mut material = 0;
    while material < 256 {
        fills[material] = [material as u8; 32];
        material += 1;
    }
    fills
};

impl<'a> Group<'a> {
    /// Full cells of one material.
    pub fn uniform(material: u8) -> Group<'a> {
        Group { fill: &UNIFORM_FILLS[usize::from(material)], stored: 0, rows: &[] }
    }

    /// By line: the material that fills it, if it is not stored.
    #[inline]
    pub fn fill(&self) -> &'a [u8] {
        self.fill
    }

    /// A bit for every line: whether it is stored.
    #[inline]
    pub fn stored(&self) -> u32 {
        self.stored
    }

    /// Line `line` of the group, 0 to 31, which must be stored.
    #[inline]
    pub fn stored_line(&self, line: usize) -> &'a Row {
        &self.rows[usize::from(self.fill[line])]
    }

    /// Line `line` of the group, 0 to 31.
    #[inline]
    pub fn line(&self, line: usize) -> &'a Row {
        let fill = usize::from(self.fill[line]);
        if self.stored >> line & 1 != 0 { &self.rows[fill] } else { &UNIFORM_ROWS[fill] }
    }
}

impl LineUpdates {
    pub fn clear(&mut self) {
        for &line in &self.lines {
            if let Some(staged) = self.staged.get_mut(usize::from(line)) {
                *staged = 0;
            }
        }
        self.lines.clear();
        self.rows.clear();
        self.water.clear();
    }

    /// Adds a line, which comes after all others, without its water.
    #[inline]
    pub fn push(&mut self, line: u16, row: Row) {
        self.lines.push(line);
        self.rows.push(row);
        if self.staged.len() <= usize::from(line) {
            self.staged.resize(usize::from(line) + 1, 0);
        }
        self.staged[usize::from(line)] = self.rows.len() as u16;
    }

    /// Adds a line with its water, in place of what it was to be if it is here already.
    pub fn put(&mut self, line: u16, row: Row, water: &[(u16, u8)]) {
        match self.staged(line.into()) {
            None => self.push(line, row),
            Some(at) => {
                self.rows[at] = row;
                self.water.retain(|held| held.0 / ROW_CELLS as u16 != line);
            }
        }
        self.water.extend_from_slice(water);
    }

    /// The number of a line among the rows, if it is to be written.
    #[inline]
    pub fn staged(&self, line: usize) -> Option<usize> {
        let staged = self.staged.get(line).copied().unwrap_or(0);
        usize::from(staged).checked_sub(1)
    }
}

impl<const LINES: usize, const GROUPS: usize> PackedLines<LINES, GROUPS> {
    /// Full cells of `material` everywhere.
    pub fn uniform(material: u8) -> Self {
        const { assert!(GROUPS == LINES.div_ceil(32) && LINES * ROW_CELLS <= 1 << 16) };
        PackedLines {
            fill: [material; LINES],
            stored: [0; GROUPS],
            start: [0; GROUPS],
            rows: Box::default(),
            water: Vec::new(),
        }
    }

    /// Line `line`, without a copy.
    #[inline]
    pub fn line(&self, line: usize) -> &Row {
        match self.is_stored(line) {
            true => &self.rows[self.row_index(line)],
            false => &UNIFORM_ROWS[usize::from(self.fill[line])],
        }
    }

    /// Line `line` as it will be once `updates` are written.
    #[inline]
    pub fn line_after<'a>(&'a self, updates: &'a LineUpdates, line: usize) -> &'a Row {
        match updates.staged(line) {
            Some(at) => &updates.rows[at],
            None => self.line(line),
        }
    }

    /// Whether no cell holds water, before and after `updates` are written.
    #[inline]
    pub fn is_dry_after(&self, updates: &LineUpdates) -> bool {
        self.water.is_empty() && updates.water.is_empty()
    }

    /// Water of the cells `first..first + cells` of one line, as it will be once `updates`
    /// are written.
    pub fn water_after<'a>(
        &'a self,
        updates: &'a LineUpdates,
        first: usize,
        cells: usize,
    ) -> &'a [(u16, u8)] {
        if updates.staged(first / ROW_CELLS).is_none() {
            return self.water_between(first, cells);
        }
        water_of(&updates.water, first, cells)
    }

    /// The lines of one group, for readers of many of them.
    #[inline]
    pub fn group(&self, group: usize) -> Group<'_> {
        let first = group * 32;
        let window = self.window(group);
        Group {
            fill: &self.fill[first..LINES.min(first + 32)],
            stored: self.stored[group],
            rows: &self.rows[window.min(self.rows.len())..],
        }
    }

    #[inline]
    fn is_stored(&self, line: usize) -> bool {
        self.stored[line / 32] >> (line % 32) & 1 != 0
    }

    /// Where the row of a stored line is.
    #[inline]
    fn row_index(&self, line: usize) -> usize {
        self.window(line / 32) + usize::from(self.fill[line])
    }

    /// The first row that the lines of a group can show.
    #[inline]
    fn window(&self, group: usize) -> usize {
        usize::from(self.start[group].saturating_sub(WINDOW))
    }

    /// The material, if all cells are full cells of it and none holds water.
    pub fn uniform_material(&self) -> Option<u8> {
        let first = self.fill[0];
        let uniform = self.rows.is_empty()
            && self.water.is_empty()
            && self.fill.iter().all(|&fill| fill == first);
        uniform.then_some(first)
    }

    /// Water of the cells `first..first + cells`.
    pub fn water_between(&self, first: usize, cells: usize) -> &[(u16, u8)] {
        water_of(&self.water, first, cells)
    }

    /// Stored lines in the first `groups` groups.
    pub fn stored_lines(&self, groups: usize) -> usize {
        self.stored[..groups].iter().map(|bits| bits.count_ones() as usize).sum()
    }

    /// Rows that the first `groups` groups added.
    pub fn rows_before(&self, groups: usize) -> usize {
        self.start.get(groups).map_or(self.rows.len(), |&start| usize::from(start))
    }

    /// Bytes of the water list.
    pub fn water_bytes(&self) -> usize {
        self.water.capacity() * size_of::<(u16, u8)>()
    }

    /// Replaces whole lines and their water. Memory is reallocated at most once.
    pub fn replace(&mut self, updates: &mut LineUpdates) {
        debug_assert!(updates.lines.is_sorted() && updates.lines.len() == updates.rows.len());
        let LineUpdates { lines, rows, uniform, .. } = updates;
        uniform.clear();
        uniform.extend(rows.iter().map(Row::uniform_material));
        let mut first_stored = None;
        for ((&line, row), &uniform) in lines.iter().zip(&*rows).zip(&*uniform) {
            match uniform {
                Some(material) if !self.is_stored(line.into()) => {
                    self.fill[usize::from(line)] = material;
                }
                _ if self.line(line.into()) == row => {}
                _ => drop(first_stored.get_or_insert(usize::from(line))),
            }
        }
        if let Some(line) = first_stored {
            self.pack_from(line / 32, updates);
        }
        self.replace_water(updates);
    }

    /// Packs the lines of all groups from `first` on, with `updates` in place of what is
    /// there. Sharing looks back only, so the groups before it stay as they are.
    fn pack_from(&mut self, first: usize, updates: &mut LineUpdates) {
        let LineUpdates { lines, rows, uniform, packed, .. } = updates;
        let old = std::mem::take(&mut self.rows);
        packed.clear();
        packed.extend_from_slice(&old[..usize::from(self.start[first])]);
        let mut update = lines.partition_point(|&line| usize::from(line) < first * 32);
        for group in first..GROUPS {
            let old_window = self.window(group);
            let old_stored = self.stored[group];
            self.start[group] = packed.len() as u16;
            self.stored[group] = 0;
            for line in group * 32..LINES.min(group * 32 + 32) {
                let updated = lines.get(update).is_some_and(|&next| usize::from(next) == line);
                // What was stored before is not uniform.
                let (row, uniform) = if updated {
                    update += 1;
                    (&rows[update - 1], uniform[update - 1])
                } else if old_stored >> (line % 32) & 1 != 0 {
                    (&old[old_window + usize::from(self.fill[line])], None)
                } else {
                    continue;
                };
                match uniform {
                    Some(material) => self.fill[line] = material,
                    None => self.pack_line(line, row, packed),
                }
            }
        }
        self.rows = packed.as_slice().into();
    }

    /// Makes `line` show `row`: that of a near line if it is the same, else a new one.
    fn pack_line(&mut self, line: usize, row: &Row, packed: &mut Vec<Row>) {
        let group = line / 32;
        let window = self.window(group);
        let near = SHARED_WITH.iter().filter(|&&distance| distance <= line);
        let mut near = near.map(|distance| line - distance);
        let shared = near.find_map(|near| {
            let index = self.is_stored(near).then(|| self.row_index(near))?;
            (index >= window && packed[index] == *row).then_some(index)
        });
        let index = shared.unwrap_or_else(|| {
            packed.push(*row);
            packed.len() - 1
        });
        self.fill[line] = (index - window) as u8;
        self.stored[group] |= 1 << (line % 32);
    }

    fn replace_water(&mut self, updates: &mut LineUpdates) {
        let (Some(&first), Some(&last)) = (updates.lines.first(), updates.lines.last()) else {
            return;
        };
        if self.water.is_empty() && updates.water.is_empty() {
            return;
        }
        if !updates.water.is_sorted_by_key(|entry| entry.0) {
            updates.water.sort_unstable_by_key(|entry| entry.0);
        }
        // Lakes have long lists; what lies before and after the lines stays as it is.
        let line_of = |entry: &(u16, u8)| entry.0 / ROW_CELLS as u16;
        let from = self.water.partition_point(|entry| line_of(entry) < first);
        let to = self.water.partition_point(|entry| line_of(entry) <= last);
        let mut lines = updates.lines.iter().copied().peekable();
        let mut fresh = updates.water.iter().copied().peekable();
        let mut between = Vec::with_capacity(to - from + updates.water.len());
        for held in &self.water[from..to] {
            while lines.next_if(|&line| line < line_of(held)).is_some() {}
            if lines.peek() == Some(&line_of(held)) {
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
fn water_of(water: &[(u16, u8)], first: usize, cells: usize) -> &[(u16, u8)] {
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
                lines.replace(&mut updates);
                for line in 0..70 {
                    prop_assert_eq!(lines.line(line), &model[line]);
                }
                let stored = model.iter().filter(|row| row.uniform_material().is_none()).count();
                prop_assert_eq!(lines.stored_lines(3), stored);
                prop_assert!(lines.rows.len() <= stored);
                prop_assert_eq!(lines.water.clone(), model_water.clone().into_iter().collect::<Vec<_>>());
            }
            // Canonical: the history does not show.
            let mut fresh = Lines::uniform(9);
            fresh.replace(&mut LineUpdates {
                lines: (0..70).collect(),
                rows: model.clone(),
                water: model_water.into_iter().collect(),
                ..LineUpdates::default()
            });
            prop_assert!(fresh == lines);
        }
    }

    fn replace(lines: &mut PackedLines<1024, 32>, line: u16, row: Row) {
        let mut updates = LineUpdates::default();
        updates.lines.push(line);
        updates.rows.push(row);
        lines.replace(&mut updates);
    }

    /// A row that is not uniform, another for every number.
    fn numbered_row(number: u32) -> Row {
        let mut row = Row::uniform(3);
        row.occupancy[..4].copy_from_slice(&number.to_le_bytes());
        row
    }

    #[test]
    fn repeated_rows_are_stored_once_and_part_again() {
        let mut lines = PackedLines::<1024, 32>::uniform(0);
        for line in 0..1024 {
            replace(&mut lines, line, numbered_row(u32::from(line) % 32));
        }
        assert_eq!(lines.rows.len(), 32, "walls: every slice repeats the one below");
        replace(&mut lines, 500, numbered_row(77));
        assert_eq!(lines.rows.len(), 33 + 1, "and the slice above that line needs its row anew");
        assert_eq!(lines.line(500), &numbered_row(77));
        assert_eq!(lines.line(468), &numbered_row(468 % 32));
        assert_eq!(lines.line(532), &numbered_row(532 % 32));
    }

    #[test]
    fn rows_that_are_out_of_the_windows_reach_are_stored_again() {
        let mut lines = PackedLines::<1024, 32>::uniform(0);
        let wall = numbered_row(9);
        let mut expected = Vec::new();
        for line in 0..1024u32 {
            expected.push(if line % 32 == 5 { wall } else { numbered_row(1000 + line) });
        }
        let mut updates = LineUpdates { lines: (0..1024).collect(), ..LineUpdates::default() };
        updates.rows.clone_from(&expected);
        lines.replace(&mut updates);
        for line in 0..1024 {
            assert_eq!(lines.line(line), &expected[line]);
        }
        let walls = lines.rows.iter().filter(|&&row| row == wall).count();
        assert!((2..8).contains(&walls), "the wall is stored {walls} times");
    }

    #[test]
    fn lines_of_one_material_are_uniform_until_one_holds_water() {
        let mut lines = Lines::uniform(7);
        assert_eq!(lines.uniform_material(), Some(7));
        let row = Row::uniform(7);
        lines.replace(&mut LineUpdates {
            lines: vec![3],
            rows: vec![row],
            water: vec![(97, 0)],
            ..LineUpdates::default()
        });
        assert_eq!(lines.uniform_material(), None);
        assert_eq!(lines.water_between(96, 32), &[(97, 0)]);
        assert_eq!(lines.water_between(0, 97), &[]);
    }
}
