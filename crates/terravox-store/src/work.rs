//! What a pass over a whole file may cost.
//!
//! A block takes 40 bytes of a file or 40 kilobytes, and about the same time to decode and to compare
//! with the finer ones. So the time of a pass that looks at cells is not bounded by the length of the
//! file: it spends from a budget that is.

use crate::key::BlockKey;
use crate::value::ValueCoder;

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

/// Units of work that a pass has left.
#[derive(Clone, Debug)]
pub(crate) struct PassBudget {
    left: u64,
    spent: u64,
}

impl PassBudget {
    /// What a pass over a file of `file_bytes` may spend, `factor` times.
    pub fn of(file_bytes: u64, factor: u32) -> PassBudget {
        let once = BASE_UNITS.saturating_add(file_bytes.saturating_mul(UNITS_PER_BYTE));
        PassBudget { left: once.saturating_mul(factor.into()), spent: 0 }
    }

    /// What making blocks again may spend after a verification that left this: what is left, and
    /// once more what any pass may.
    pub fn for_repair(self, factor: u32) -> PassBudget {
        let again = BASE_UNITS.saturating_mul(factor.into());
        PassBudget { left: self.left.saturating_add(again), ..self }
    }

    /// Units that were spent.
    #[cfg(test)]
    pub fn spent(&self) -> u64 {
        self.spent
    }

    /// Takes the work of decoding a value; `false` if that is more than is left.
    pub fn may_decode(&mut self, value: &[u8]) -> bool {
        self.spend(DECODE_UNITS + RUN_BYTE_UNITS * ValueCoder::run_bytes(value))
    }

    /// Takes the work of making the block `key` again and of comparing it, without its sources;
    /// so many `chunks` are replaced in it.
    pub fn may_compare(&mut self, key: BlockKey, chunks: usize) -> bool {
        // Mips 6 to 8 are made of mip 5, in one to three steps.
        let steps_from_mip_5 = u64::from(key.mip.saturating_sub(5));
        self.spend(COMPARE_UNITS * (1 + steps_from_mip_5) + REPLACE_UNITS * chunks as u64)
    }

    /// Takes the work of decoding a block and of making a part of a coarser one of it.
    pub fn may_raise(&mut self, value: &[u8]) -> bool {
        let is_uniform = ValueCoder::run_bytes(value) == 0;
        self.may_decode(value) && (is_uniform || self.spend(SOURCE_UNITS))
    }

    /// Takes the work of generating a block.
    pub fn may_generate(&mut self) -> bool {
        self.spend(GENERATE_UNITS)
    }

    /// Takes units; `false`, and none are taken, if they are more than what is left.
    pub fn spend(&mut self, units: u64) -> bool {
        match self.left.checked_sub(units) {
            Some(left) => {
                self.left = left;
                self.spent += units;
                true
            }
            None => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_budget_is_linear_in_the_file_and_never_overdrawn() {
        let units = |bytes| PassBudget::of(bytes, 1).left;
        assert_eq!(units(2000) - units(1000), 1000 * UNITS_PER_BYTE);
        assert_eq!(PassBudget::of(1000, 3).left, 3 * units(1000));
        assert_eq!(PassBudget::of(u64::MAX, u32::MAX).left, u64::MAX);
        assert_eq!(PassBudget { left: 7, spent: 9 }.for_repair(2).left, 7 + 2 * BASE_UNITS);
        let mut budget = PassBudget { left: DECODE_UNITS, spent: 0 };
        assert!(budget.may_decode(&[0; 11]) && !budget.may_decode(&[0; 11]));
        assert_eq!((budget.left, budget.spent()), (0, DECODE_UNITS));
    }
}
