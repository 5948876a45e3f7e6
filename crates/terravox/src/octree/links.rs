//! Which nodes are whose children, in a byte and a half a node.
//!
//! Nodes lie level by level in Morton order, so the children of all inner nodes, one after
//! the other, are all nodes in their order but the root. A byte an inner node says in which
//! octants it has children; how many bits are set before one is the number of that child.
//! Sums for every eighth node make it a matter of one word: a tree by rank (Jacobson,
//! "Space-efficient Static Trees and Graphs", 1989).

/// Nodes whose octants make a word.
const WORD: usize = 8;

/// Inner nodes, and leaves that are larger than the finest, in their order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Links {
    count: usize,
    /// Octants that have a child, a byte a node; none of a leaf.
    words: Box<[u64]>,
    /// Children of all nodes before a word.
    before: Box<[u32]>,
}

impl Links {
    /// From the octants of each node that have a child.
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

    /// The octants of a node that have a child.
    #[inline]
    pub fn octants(&self, node: u32) -> u8 {
        (self.words[node as usize / WORD] >> shift(node)) as u8
    }

    /// The octants of each node from one on.
    pub fn octants_from(&self, node: u32) -> impl Iterator<Item = u8> {
        (node..self.count as u32).map(|node| self.octants(node))
    }

    /// The child of a node in an octant, if it has one there.
    #[inline]
    pub fn child(&self, node: u32, octant: u8) -> Option<u32> {
        let word = self.words[node as usize / WORD];
        let bit = 1u64 << (shift(node) + u32::from(octant));
        let before = self.before[node as usize / WORD] + (word & (bit - 1)).count_ones();
        (word & bit != 0).then_some(before)
    }

    /// Bytes on the heap.
    pub fn memory(&self) -> usize {
        size_of_val(&*self.words) + size_of_val(&*self.before)
    }
}

/// Where the byte of a node begins in its word.
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
