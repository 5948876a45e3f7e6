//! Merges boxes of blocks to longer ones across the borders of the blocks.
//!
//! Three passes, along x, z and y. In each, boxes that touch and have the same cross
//! section across the axis become one; each pass works on the output of the one before. The
//! result depends on the cells only. Every pass keeps its boxes sorted, those of a
//! cross section side by side, so that a change looks at the cross sections in which a
//! box came or went, and at nothing else.

use std::ops::Range;

/// A box in a cube of at most 64³: voxels from the cube's lowest, half-open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct LocalBox {
    pub min: [u8; 3],
    pub max: [u8; 3],
}

/// A pass and its sort order. The last 14 bits of its keys are the ends of a box along the
/// axis of the pass, those before are its cross section.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Pass {
    X,
    Z,
    Y,
}

const PASSES: [Pass; 3] = [Pass::X, Pass::Z, Pass::Y];
const ALONG_BITS: u32 = 14;
/// Where a key says in which row of blocks its box begins.
const ROW_SHIFT: u32 = 42;

impl Pass {
    /// The axis of the pass, and the two others as they are sorted by.
    fn axes(self) -> [usize; 3] {
        match self {
            Pass::X => [0, 1, 2],
            Pass::Z => [2, 1, 0],
            Pass::Y => [1, 2, 0],
        }
    }

    #[inline(always)]
    fn key(self, b: LocalBox) -> u64 {
        let [along, first, second] = self.axes();
        let ends = |axis: usize| u64::from(b.min[axis]) << 7 | u64::from(b.max[axis]);
        let blocks = u64::from(b.min[first] >> 3) << 3 | u64::from(b.min[second] >> 3);
        blocks << ROW_SHIFT | ends(first) << 28 | ends(second) << ALONG_BITS | ends(along)
    }

    #[inline(always)]
    fn local(self, key: u64) -> LocalBox {
        let [along, first, second] = self.axes();
        let mut b = LocalBox { min: [0; 3], max: [0; 3] };
        for (axis, shift) in [(along, 0), (second, ALONG_BITS), (first, 28)] {
            b.min[axis] = (key >> (shift + 7) & 127) as u8;
            b.max[axis] = (key >> shift & 127) as u8;
        }
        b
    }
}

/// Boxes that were added and removed.
#[derive(Default)]
pub(super) struct BoxChange {
    pub added: Vec<LocalBox>,
    pub removed: Vec<LocalBox>,
    /// The same on their way through the passes, as keys.
    keys: [Vec<u64>; 2],
    section: Vec<u64>,
}

impl BoxChange {
    pub fn clear(&mut self) {
        self.added.clear();
        self.removed.clear();
        self.keys.iter_mut().for_each(Vec::clear);
    }

    /// Makes the output of a pass the input of `pass`.
    fn hand_on(&mut self, pass: Pass) {
        for (keys, boxes) in self.keys.iter_mut().zip([&mut self.added, &mut self.removed]) {
            keys.clear();
            keys.extend(boxes.drain(..).map(|b| pass.key(b)));
        }
    }
}

/// The inputs of the three passes, sorted.
#[derive(Clone, Default)]
pub(super) struct BoxMerger {
    lists: [Vec<u64>; 3],
}

impl BoxMerger {
    /// Replaces all inputs by `boxes`; makes `boxes` the merged ones.
    pub fn rebuild(&mut self, boxes: &mut Vec<LocalBox>) {
        for (pass, list) in PASSES.into_iter().zip(&mut self.lists) {
            list.clear();
            list.extend(boxes.iter().map(|&b| pass.key(b)));
            list.sort_unstable();
            boxes.clear();
            boxes.extend(chains(list).map(|key| pass.local(key)));
        }
    }

    /// Records in `change` what the block at `at`, in blocks from the cube's lowest, loses and
    /// gains if it consists of the boxes that `boxes` passes.
    pub fn replace_block(
        &self,
        at: [u8; 3],
        boxes: impl FnOnce(&mut dyn FnMut(LocalBox)),
        change: &mut BoxChange,
    ) {
        let [added, removed] = &mut change.keys;
        let first = added.len();
        boxes(&mut |b| added.push(Pass::X.key(b)));
        for old in self.block_keys(at) {
            match added[first..].iter().position(|&new| new == old) {
                Some(same) => drop(added.swap_remove(first + same)),
                None => removed.push(old),
            }
        }
    }

    /// Applies the recorded changes; `change` then holds the changes of the merged boxes.
    pub fn apply(&mut self, change: &mut BoxChange) {
        for (pass, list) in PASSES.into_iter().zip(&mut self.lists) {
            if pass != Pass::X {
                change.hand_on(pass);
            }
            change.keys.iter_mut().for_each(|keys| keys.sort_unstable());
            let BoxChange { added, removed, keys: [came, went], section } = change;
            let (mut came, mut went) = (&came[..], &went[..]);
            while let Some(at) = first_section(came, went) {
                let came = take_section(&mut came, at);
                let went = take_section(&mut went, at);
                let range = section_range(list, at);
                section.clear();
                section.extend(list[range.clone()].iter().filter(|key| !went.contains(key)));
                section.extend_from_slice(came);
                section.sort_unstable();
                diff(
                    chains(&list[range.clone()]),
                    chains(section),
                    |key| removed.push(pass.local(key)),
                    |key| added.push(pass.local(key)),
                );
                replace_range(list, range, section);
            }
        }
    }

    /// The keys of the input boxes in a block.
    fn block_keys(&self, [x, y, z]: [u8; 3]) -> impl Iterator<Item = u64> {
        let row = (u64::from(y) << 3 | u64::from(z)) << ROW_SHIFT;
        let list = &self.lists[0];
        let from = list.partition_point(|&key| key < row);
        let next_row = row + (1 << ROW_SHIFT);
        let keys = list[from..].iter().copied().take_while(move |&key| key < next_row);
        keys.filter(move |key| key >> 10 & 15 == u64::from(x))
    }

    /// Bytes of the lists.
    pub fn bytes(&self) -> usize {
        self.lists.iter().map(|list| list.capacity() * size_of::<u64>()).sum()
    }
}

/// The lowest cross section of any key.
#[inline]
fn first_section(a: &[u64], b: &[u64]) -> Option<u64> {
    let first = a.first().into_iter().chain(b.first()).min()?;
    Some(first >> ALONG_BITS)
}

/// Takes the keys of the lowest cross section, if it is `section`.
#[inline]
fn take_section<'a>(keys: &mut &'a [u64], section: u64) -> &'a [u64] {
    let end = keys.iter().take_while(|&&key| key >> ALONG_BITS == section).count();
    let (taken, rest) = keys.split_at(end);
    *keys = rest;
    taken
}

/// Where the keys of a cross section are.
#[inline]
fn section_range(list: &[u64], section: u64) -> Range<usize> {
    let from = list.partition_point(|&key| key >> ALONG_BITS < section);
    let run = list[from..].iter().take_while(|&&key| key >> ALONG_BITS == section).count();
    from..from + run
}

/// The keys, with boxes that touch and have the same cross section joined.
#[inline]
fn chains(keys: &[u64]) -> impl Iterator<Item = u64> {
    let mut rest = keys;
    std::iter::from_fn(move || {
        let (&first, tail) = rest.split_first()?;
        let (mut chain, mut tail) = (first, tail);
        while let Some((&next, after)) = tail.split_first() {
            let touches = next >> 7 == (chain >> ALONG_BITS << 7 | chain & 127);
            if !touches {
                break;
            }
            chain = chain & !127 | next & 127;
            tail = after;
        }
        rest = tail;
        Some(chain)
    })
}

/// Calls `only_old` and `only_new` for the keys that only one of two sorted sequences has.
#[inline]
fn diff(
    mut old: impl Iterator<Item = u64>,
    mut new: impl Iterator<Item = u64>,
    mut only_old: impl FnMut(u64),
    mut only_new: impl FnMut(u64),
) {
    // Larger than every key.
    const END: u64 = u64::MAX;
    let (mut a, mut b) = (old.next().unwrap_or(END), new.next().unwrap_or(END));
    while a != END || b != END {
        let (old_goes, new_goes) = (a <= b, b <= a);
        if a < b {
            only_old(a);
        }
        if b < a {
            only_new(b);
        }
        if old_goes {
            a = old.next().unwrap_or(END);
        }
        if new_goes {
            b = new.next().unwrap_or(END);
        }
    }
}

/// Replaces a range of `list` by `with`.
#[inline]
fn replace_range(list: &mut Vec<u64>, range: Range<usize>, with: &[u64]) {
    let (old_length, end) = (list.len(), range.start + with.len());
    list.resize(old_length.max(old_length + end - range.end), 0);
    list.copy_within(range.end..old_length, end);
    list.truncate(old_length + end - range.end);
    list[range.start..end].copy_from_slice(with);
}
