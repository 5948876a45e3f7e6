//! Rows of the cells whose class is in a set. A cell's class is mostly its material.

use crate::math::lanes::SimdJob;

use super::bits::RowGrid;
use super::mesh_simd::MeshSimd;

/// A set of classes.
#[derive(Clone, Copy)]
pub(super) enum ClassSet<'a> {
    /// Classes from this one on.
    AtLeast(u8),
    /// This class.
    Only(u8),
    /// Classes whose entry is set.
    Listed(&'a [bool; 256]),
}

#[inline(always)]
fn mask32<M: MeshSimd>(m: M, set: ClassSet<'_>, bytes: &[u8; 32]) -> u64 {
    u64::from(match set {
        ClassSet::AtLeast(least) => m.at_least(bytes, least),
        ClassSet::Only(value) => m.equal(bytes, value),
        ClassSet::Listed(set) => {
            let mut mask = 0;
            for (i, &byte) in bytes.iter().enumerate() {
                mask |= u32::from(set[usize::from(byte)]) << i;
            }
            mask
        }
    })
}

/// Returns the 32 bytes at `at`, with zeros beyond the end.
#[inline(always)]
pub(super) fn bytes32(bytes: &[u8], at: usize) -> [u8; 32] {
    let mut out = [0; 32];
    match bytes.get(at..at + 32) {
        Some(all) => out.copy_from_slice(all),
        None => out[..bytes.len() - at].copy_from_slice(&bytes[at..]),
    }
    out
}

/// Makes rows of the cells whose class is in a set.
pub(super) struct ClassRows<'a, const W: usize> {
    pub grid: &'a RowGrid,
    pub classes: &'a [u8],
    pub set: ClassSet<'a>,
    pub rows: &'a mut Vec<u64>,
}

impl<M: MeshSimd, const W: usize> SimdJob<M> for ClassRows<'_, W> {
    #[inline(always)]
    fn run(self, m: M) {
        let ClassRows { grid, classes, set, rows } = self;
        let sx = grid.size[0];
        rows.clear();
        rows.resize(grid.rows() * W, 0);
        for (r, row) in rows.as_chunks_mut::<W>().0.iter_mut().enumerate() {
            let at = r * sx;
            let low = mask32(m, set, &bytes32(classes, at));
            if W == 2 {
                let middle = mask32(m, set, &bytes32(classes, at + 32));
                let high = mask32(m, set, &bytes32(classes, at + sx - 32));
                row[0] = low | middle << 32;
                row[W - 1] = high >> (96 - sx);
            } else if sx >= 32 {
                row[0] = low | mask32(m, set, &bytes32(classes, at + sx - 32)) << (sx - 32);
            } else {
                row[0] = low & ((1 << sx) - 1);
            }
        }
    }
}
