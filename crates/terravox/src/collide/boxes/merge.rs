//! Boxes of blocks put together to longer ones across the borders of the blocks.
//!
//! Three passes, along x, z and y. In each, boxes that touch and have the same cross
//! section across the axis become one; a pass works on what the one before it left. What
//! comes out depends on the cells only. Every pass keeps its boxes sorted, those of a
//! cross section side by side, so that a change looks at the cross sections in which a
//! box came or went, and at nothing else.

use std::ops::Range;

/// A box in a cube of at most 64³: voxels from the cube's lowest, half-open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct LocalBox {
    pub min: [u8; 3],
    pub max: [u8; 3],
}

/// The order of a pass. The last 14 bits of its keys are where a box begins and ends
/// along its axis, those before say which cross section it has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Pass {
    X,
    Z,
    Y,
}

const PASSES: [Pass; 3] = [Pass::X, Pass::Z, Pass::Y];
const ALONG_BITS: u32 = 14;

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
        blocks << 42 | ends(first) << 28 | ends(second) << ALONG_BITS | ends(along)
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

/// Boxes that came and went.
#[derive(Default)]
pub(super) struct Change {
    pub added: Vec<LocalBox>,
    pub removed: Vec<LocalBox>,
}

impl Change {
    pub fn clear(&mut self) {
        self.added.clear();
        self.removed.clear();
    }
}

/// Memory of a change.
#[derive(Default)]
pub(super) struct MergeScratch {
    added: Vec<u64>,
    removed: Vec<u64>,
    group: Vec<u64>,
}

/// What goes into each of the three passes, in its order.
#[derive(Clone, Default)]
pub(super) struct Merge {
    lists: [Vec<u64>; 3],
}

impl Merge {
    /// Puts all of `boxes` in the place of what was there; `out` is what comes out.
    pub fn rebuild(&mut self, boxes: &mut Vec<LocalBox>) {
        for (pass, list) in PASSES.into_iter().zip(&mut self.lists) {
            list.clear();
            list.extend(boxes.iter().map(|&b| pass.key(b)));
            list.sort_unstable();
            boxes.clear();
            boxes.extend(chains(list).map(|key| pass.local(key)));
        }
    }

    /// Takes boxes away and adds others; `change` becomes what that does to the merged
    /// ones. The boxes that it removes must be there.
    pub fn apply(&mut self, change: &mut Change, scratch: &mut MergeScratch) {
        for (pass, list) in PASSES.into_iter().zip(&mut self.lists) {
            let MergeScratch { added, removed, group } = scratch;
            for (keys, boxes) in [(&mut *added, &change.added), (&mut *removed, &change.removed)] {
                keys.clear();
                keys.extend(boxes.iter().map(|&b| pass.key(b)));
                keys.sort_unstable();
            }
            change.clear();
            let (mut added, mut removed) = (&added[..], &removed[..]);
            while let Some(section) = first_section(added, removed) {
                let added = take_section(&mut added, section);
                let removed = take_section(&mut removed, section);
                let range = section_range(list, section);
                group.clear();
                group.extend(list[range.clone()].iter().filter(|key| !removed.contains(key)));
                group.extend_from_slice(added);
                group.sort_unstable();
                diff(pass, chains(&list[range.clone()]), chains(group), change);
                list.splice(range, group.iter().copied());
            }
        }
    }

    /// The boxes that went in and lie in the block at `block`, in blocks from the cube's
    /// lowest.
    pub fn boxes_of_block(&self, block: [usize; 3]) -> impl Iterator<Item = LocalBox> {
        let [x, y, z] = block.map(|v| v as u64);
        let row = (y << 3 | z) << 42;
        let list = &self.lists[0];
        let from = list.partition_point(|&key| key < row);
        let to = from + list[from..].partition_point(|&key| key < row + (1 << 42));
        let inside = move |key: &&u64| **key >> 10 & 15 == x;
        list[from..to].iter().filter(inside).map(|&key| Pass::X.local(key))
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

/// The keys, those that touch and have the same cross section as one.
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

/// Adds what is only in one of two sorted sequences to `change`.
#[inline]
fn diff(
    pass: Pass,
    old: impl Iterator<Item = u64>,
    new: impl Iterator<Item = u64>,
    change: &mut Change,
) {
    let (mut old, mut new) = (old.peekable(), new.peekable());
    loop {
        let (a, b) = (old.peek().copied(), new.peek().copied());
        if a.is_none() && b.is_none() {
            return;
        }
        // No key is as large as what stands for the end.
        let (a, b) = (a.unwrap_or(u64::MAX), b.unwrap_or(u64::MAX));
        if a <= b {
            old.next();
        }
        if b <= a {
            new.next();
        }
        if a < b {
            change.removed.push(pass.local(a));
        }
        if b < a {
            change.added.push(pass.local(b));
        }
    }
}
