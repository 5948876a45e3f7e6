//! What a pass over a whole file may cost.
//!
//! A block takes 40 bytes to 40 kB in a file, but about the same time to decode and to compare with
//! the finer ones either way. So the time of a pass that looks at cells is not bounded by the
//! length of the file: it spends from a budget that is.

use crate::key::BlockKey;
use crate::reader::StoreReader;
use crate::tree::{ReadTree, TreeError};
use crate::value::ValueCoder;
use std::cell::Cell;

/// Work of any pass, in units of about a nanosecond.
const BASE_UNITS: u64 = 1 << 29;

/// Work for each byte of the file. Hills and noise need at most a quarter of it, small balls far
/// apart, of which every block is nearly empty, up to nine tenths (`work_tests.rs`).
const UNITS_PER_BYTE: u64 = 512;

/// Work of a decoded block, besides its runs: 32³ cells are filled.
const DECODE_UNITS: u64 = 8_000;

/// Work for each byte of runs.
const RUN_BYTE_UNITS: u64 = 2;

/// Work of making a coarse block of what it is made of, and of comparing it.
const COMPARE_UNITS: u64 = 12_000;

/// Work of each block that it is made of, besides decoding.
const SOURCE_UNITS: u64 = 20_000;

/// Work of each chunk or page that is replaced in a block of a world that grows.
const REPLACE_UNITS: u64 = 500;

/// Work of making the cells of a block with a generator, about that of hills.
const GENERATE_UNITS: u64 = 400_000;

/// Work of writing a block that was made again, besides making it.
const WRITE_UNITS: u64 = 2_500;

/// Units of work that a pass has left. What reads and what makes blocks spends from the same one,
/// through shared references.
#[derive(Clone, Debug)]
pub(crate) struct PassBudget {
    left: Cell<u64>,
    spent: Cell<u64>,
}

/// A tree whose reads spend from a budget; with nothing left, it reads no more.
pub(crate) struct BudgetedTree<'a> {
    tree: &'a StoreReader,
    budget: &'a PassBudget,
}

impl BudgetedTree<'_> {
    fn check(&self) -> Result<(), TreeError> {
        match self.budget.left.get() {
            0 => Err(TreeError::TooMuchWork),
            _ => Ok(()),
        }
    }
}

impl ReadTree for BudgetedTree<'_> {
    fn get(&self, key: &[u8], out: &mut Vec<u8>) -> Result<bool, TreeError> {
        self.check()?;
        let found = self.tree.get(key, out);
        self.budget.spend_reads(self.tree);
        found
    }

    fn keys(&self, low: &[u8], high: &[u8]) -> Result<Vec<Vec<u8>>, TreeError> {
        self.check()?;
        let keys = self.tree.keys(low, high);
        self.budget.spend_reads(self.tree);
        keys
    }
}

impl PassBudget {
    /// What a pass over a file of `file_bytes` may spend, `factor` times.
    pub fn of(file_bytes: u64, factor: u32) -> PassBudget {
        let once = BASE_UNITS.saturating_add(file_bytes.saturating_mul(UNITS_PER_BYTE));
        PassBudget { left: once.saturating_mul(factor.into()).into(), spent: 0.into() }
    }

    /// What making blocks again may spend after a verification that left this: what is left, and
    /// once more what any pass may.
    pub fn for_repair(self, factor: u32) -> PassBudget {
        let again = BASE_UNITS.saturating_mul(factor.into());
        PassBudget { left: self.left.get().saturating_add(again).into(), ..self }
    }

    /// The same tree, with reads that spend from this.
    pub fn over<'a>(&'a self, tree: &'a StoreReader) -> BudgetedTree<'a> {
        BudgetedTree { tree, budget: self }
    }

    /// Charges the reads since the last call, at most what is left. One read is bounded by the
    /// longest value, and one walk by the length of the file.
    pub fn spend_reads(&self, tree: &StoreReader) {
        let units = tree.take_read_work().min(self.left.get());
        self.spend(units);
    }

    /// Units that were spent.
    #[cfg(test)]
    pub fn spent(&self) -> u64 {
        self.spent.get()
    }

    /// Spends the work of decoding a value. Returns `false`, and spends nothing, if less is left.
    pub fn try_spend_decode(&self, value: &[u8]) -> bool {
        self.spend(DECODE_UNITS + RUN_BYTE_UNITS * ValueCoder::run_bytes(value))
    }

    /// Spends the work of making the block `key` again and of comparing it, without its sources, if
    /// `chunks` chunks are replaced in it. Returns `false`, and spends nothing, if less is left.
    pub fn try_spend_compare(&self, key: BlockKey, chunks: usize) -> bool {
        // Mips 6 to 8 are made of mip 5, in one to three steps.
        let steps_from_mip_5 = u64::from(key.mip.saturating_sub(5));
        self.spend(COMPARE_UNITS * (1 + steps_from_mip_5) + REPLACE_UNITS * chunks as u64)
    }

    /// Spends the work of decoding a block and of making a part of a coarser one from it. Returns
    /// `false` if less is left; the work of decoding may then be spent.
    pub fn try_spend_raise(&self, value: &[u8]) -> bool {
        self.try_spend_decode(value) && self.spend(SOURCE_UNITS)
    }

    /// Spends the work of generating a block. Returns `false`, and spends nothing, if less is left.
    pub fn try_spend_generate(&self) -> bool {
        self.spend(GENERATE_UNITS)
    }

    /// Spends the work of writing a block. Returns `false`, and spends nothing, if less is left.
    pub fn try_spend_write(&self) -> bool {
        self.spend(WRITE_UNITS)
    }

    /// Spends units. Returns `false`, and spends nothing, if less is left.
    pub fn spend(&self, units: u64) -> bool {
        let left = self.left.get().checked_sub(units);
        if let Some(left) = left {
            self.left.set(left);
            self.spent.set(self.spent.get() + units);
        }
        left.is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_budget_is_linear_in_the_file_and_never_overdrawn() {
        let budget = |left: u64| PassBudget { left: left.into(), spent: 9.into() };
        let units = |bytes| PassBudget::of(bytes, 1).left.get();
        assert_eq!(units(2000) - units(1000), 1000 * UNITS_PER_BYTE);
        assert_eq!(PassBudget::of(1000, 3).left.get(), 3 * units(1000));
        assert_eq!(PassBudget::of(u64::MAX, u32::MAX).left.get(), u64::MAX);
        assert_eq!(budget(7).for_repair(2).left.get(), 7 + 2 * BASE_UNITS);
        let budget = budget(DECODE_UNITS);
        assert!(budget.try_spend_decode(&[0; 11]) && !budget.try_spend_decode(&[0; 11]));
        assert_eq!((budget.left.get(), budget.spent()), (0, 9 + DECODE_UNITS));
    }
}
