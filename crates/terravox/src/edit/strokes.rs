//! A list of strokes that is copied in microseconds at any length: blocks of strokes are shared,
//! and copied on write.

use super::patch::Patch;
use super::value_patch::ValuePatch;
use crate::voxel::Region;
use std::collections::VecDeque;
use std::sync::Arc;

/// Strokes in a block: how many reference counts the first change after a copy costs.
const BLOCK: usize = 128;

/// The patches of one stroke, in the order in which they were made. Those of cells and those of
/// channels do not depend on each other.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Stroke {
    pub patches: Arc<Vec<Patch>>,
    pub values: Arc<Vec<ValuePatch>>,
}

impl Stroke {
    pub fn of_cells(patches: Vec<Patch>) -> Stroke {
        Stroke { patches: Arc::new(patches), values: Arc::default() }
    }

    pub fn of_values(values: Vec<ValuePatch>) -> Stroke {
        Stroke { patches: Arc::default(), values: Arc::new(values) }
    }

    pub fn is_empty(&self) -> bool {
        self.patches.is_empty() && self.values.is_empty()
    }

    pub fn bytes(&self) -> usize {
        size_of::<Stroke>()
            + self.patches.iter().map(Patch::bytes).sum::<usize>()
            + self.values.iter().map(ValuePatch::bytes).sum::<usize>()
    }

    /// The regions that it changes, in voxels.
    pub fn regions(&self) -> impl Iterator<Item = Region> {
        let cells = self.patches.iter().map(|patch| patch.region);
        cells.chain(self.values.iter().map(ValuePatch::region))
    }

    /// Adds what was done later.
    pub fn append(&mut self, later: Stroke) {
        if !later.patches.is_empty() {
            Arc::make_mut(&mut self.patches).extend(later.patches.iter().cloned());
        }
        if !later.values.is_empty() {
            Arc::make_mut(&mut self.values).extend(later.values.iter().cloned());
        }
    }
}

/// Strokes in order.
#[derive(Clone, Debug, Default)]
pub(super) struct Strokes {
    /// Never empty.
    blocks: VecDeque<Arc<VecDeque<Stroke>>>,
    len: usize,
}

impl Strokes {
    pub fn len(&self) -> usize {
        self.len
    }

    pub fn iter(&self) -> impl Iterator<Item = &Stroke> + Clone {
        self.blocks.iter().flat_map(|block| block.iter())
    }

    pub fn back(&self) -> Option<&Stroke> {
        self.blocks.back()?.back()
    }

    pub fn push_back(&mut self, stroke: Stroke) {
        self.len += 1;
        match self.blocks.back_mut().filter(|block| block.len() < BLOCK) {
            Some(block) => Arc::make_mut(block).push_back(stroke),
            None => self.blocks.push_back(Arc::new(VecDeque::from([stroke]))),
        }
    }

    pub fn pop_back(&mut self) -> Option<Stroke> {
        let block = Arc::make_mut(self.blocks.back_mut()?);
        let stroke = block.pop_back();
        if block.is_empty() {
            self.blocks.pop_back();
        }
        self.len -= 1;
        stroke
    }

    pub fn pop_front(&mut self) -> Option<Stroke> {
        let block = Arc::make_mut(self.blocks.front_mut()?);
        let stroke = block.pop_front();
        if block.is_empty() {
            self.blocks.pop_front();
        }
        self.len -= 1;
        stroke
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn stroke(number: usize) -> Stroke {
        let bytes: Arc<[u8]> = number.to_le_bytes().as_slice().into();
        Stroke::of_cells(vec![Patch {
            region: Region::default(),
            rows: bytes.clone(),
            cells: bytes,
        }])
    }

    proptest! {
        #[test]
        fn strokes_are_a_deque_and_copies_do_not_change(steps in prop::collection::vec(0..9u8, 0..900)) {
            let (mut strokes, mut deque) = (Strokes::default(), VecDeque::new());
            let mut copies = Vec::new();
            for (i, step) in steps.into_iter().enumerate() {
                match step {
                    0 => prop_assert_eq!(strokes.pop_front(), deque.pop_front()),
                    1 => prop_assert_eq!(strokes.pop_back(), deque.pop_back()),
                    2 if i % 40 == 0 => copies.push((strokes.clone(), deque.clone())),
                    _ => {
                        strokes.push_back(stroke(i));
                        deque.push_back(stroke(i));
                    }
                }
                prop_assert_eq!(strokes.len(), deque.len());
            }
            copies.push((strokes, deque));
            for (strokes, deque) in copies {
                prop_assert!(strokes.iter().eq(deque.iter()));
            }
        }
    }
}
