//! Mesh changes queued for the renderer.

use crate::lod::MeshSwap;

/// Swaps that wait to be taken; beyond, they become one, so that a game that never draws keeps no
/// more than what is shown.
const MAX_SWAPS: usize = 256;

/// Swaps that were not taken yet, oldest first.
#[derive(Default)]
pub(super) struct SwapQueue(Vec<MeshSwap>);

impl SwapQueue {
    pub fn push(&mut self, swap: MeshSwap) {
        if swap.is_empty() {
            return;
        }
        self.0.push(swap);
        if self.0.len() > MAX_SWAPS {
            let merged = self.0.drain(..).reduce(|mut all, next| {
                all.extend(next);
                all
            });
            self.0.extend(merged);
        }
    }

    pub fn take(&mut self) -> Vec<MeshSwap> {
        std::mem::take(&mut self.0)
    }

    pub fn clear(&mut self) {
        self.0.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::voxel::MipBlock;

    fn removing(x: i32) -> MeshSwap {
        MeshSwap { removed: vec![MipBlock::new(0, [x, 0, 0])], ..MeshSwap::default() }
    }

    #[test]
    fn swaps_come_in_order_and_empty_ones_never() {
        let mut queue = SwapQueue::default();
        queue.push(removing(1));
        queue.push(MeshSwap::default());
        queue.push(removing(2));
        let removed: Vec<_> = queue.take().into_iter().map(|swap| swap.removed[0].pos.x).collect();
        assert_eq!(removed, [1, 2]);
        assert!(queue.take().is_empty());
    }

    #[test]
    fn too_many_swaps_become_one() {
        let mut queue = SwapQueue::default();
        (0..=MAX_SWAPS as i32).for_each(|x| queue.push(removing(x)));
        let swaps = queue.take();
        assert_eq!(swaps.len(), 1);
        assert_eq!(swaps[0].removed.len(), MAX_SWAPS + 1);
    }
}
