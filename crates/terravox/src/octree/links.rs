//! Child links in a byte and a half per node.
//!
//! Nodes are stored level by level in Morton order, so the children of all inner nodes in sequence
//! are all nodes but the root. A byte per inner node has a bit for each octant with a child; the
//! rank of a bit is the index of the child. Prefix sums for every eighth node reduce that to one
//! word: a succinct tree (Jacobson, "Space-efficient Static Trees and Graphs", 1989).

/// Nodes per word.
const WORD: usize = 8;

/// The links of all nodes above the finest level, leaves included, in order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Links {
    count: usize,
    /// A byte per node: the octants that have a child; 0 for leaves.
    words: Box<[u64]>,
    /// By word: the number of children of all nodes before it.
    before: Box<[u32]>,
}

impl Links {
    /// Builds the links from the octants of each node that have a child.
    pub fn new(octants: &[u8]) -> Links {
        let mut sum = 0;
        let word = |part: &[u8]| {
            let mut bytes = [0; WORD];
            bytes[..part.len()].copy_from_slice(part);
            u64::from_le_bytes(bytes)
        };
        let words: Box<[u64]> = octants.chunks(WORD).map(word).collect();
        let before = |word: &u64| {
            let before = sum;
            sum += word.count_ones();
            before
        };
        Links { count: octants.len(), before: words.iter().map(before).collect(), words }
    }

    /// Returns the octants of a node that have a child.
    #[inline]
    pub fn octants(&self, node: u32) -> u8 {
        (self.words[node as usize / WORD] >> shift(node)) as u8
    }

    /// Returns the octants of each node from `node` on.
    pub fn octants_from(&self, node: u32) -> impl Iterator<Item = u8> {
        (node..self.count as u32).map(|node| self.octants(node))
    }

    /// Returns the child of a node in an octant.
    #[inline]
    pub fn child(&self, node: u32, octant: u8) -> Option<u32> {
        let word = self.words[node as usize / WORD];
        let bit = 1u64 << (shift(node) + u32::from(octant));
        let before = self.before[node as usize / WORD] + (word & (bit - 1)).count_ones();
        (word & bit != 0).then_some(before)
    }

    /// Returns the bytes on the heap.
    pub fn memory(&self) -> usize {
        size_of_val(&*self.words) + size_of_val(&*self.before)
    }
}

/// Returns where the byte of a node starts in its word.
#[inline]
fn shift(node: u32) -> u32 {
    node % WORD as u32 * 8
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn children_are_numbered_in_the_order_of_their_parents(
            octants in proptest::collection::vec(any::<u8>(), 0..40),
        ) {
            let links = Links::new(&octants);
            let mut next = 0;
            for (node, &own) in octants.iter().enumerate() {
                let node = node as u32;
                prop_assert_eq!(links.octants(node), own);
                for octant in 0..8 {
                    let child = (own >> octant & 1 == 1).then_some(next);
                    prop_assert_eq!(links.child(node, octant), child);
                    next += u32::from(child.is_some());
                }
                prop_assert!(links.octants_from(node).eq(octants[node as usize..].iter().copied()));
            }
        }
    }
}
