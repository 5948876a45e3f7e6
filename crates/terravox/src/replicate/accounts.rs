//! Budgets of accounts. All guests of an account, such as the connections of one token, share a
//! budget, so a second connection adds nothing.

use super::options::HostOptions;
use super::reasons::{Refusal, RefusalCode};
use rustc_hash::FxHashMap;
use std::sync::Arc;

const SECOND_US: i64 = 1_000_000;

/// Blocks per second that are sent again on request, per account; up to twice as many at once.
/// Only guests whose cells differ request blocks again: at most some
/// hundreds after one operation.
const REREADS_PER_S: u64 = 64;

/// Blocks per second that are listed in requests, per account; up to twice as many at once: what
/// two guests of a host with default options may hold.
const LISTED_PER_S: u64 = 1 << 16;

/// Blocks that are listed in the requests of all guests in a tick, and one request more: each takes
/// up to a microsecond. They are not work of operations, which wait for their turn.
pub(super) const LISTED_PER_TICK: u64 = 1 << 14;

/// Clamps work to 2⁴⁸, so that a tick can add 2¹⁵ amounts of it without overflow.
pub(super) fn tick_work(work: u64) -> i64 {
    i64::try_from(work).unwrap_or(i64::MAX).min(1 << 48)
}

/// A rate limit: an amount per second, and up to twice that at once (a token bucket that allows debts).
struct TokenBucket {
    /// The amount that is left, in millionths; negative for a debt.
    left: i64,
    /// Maximum of `left`.
    most: i64,
}

impl TokenBucket {
    fn new(per_s: u64) -> TokenBucket {
        let mut bucket = TokenBucket { left: i64::MAX, most: 0 };
        bucket.set_rate(per_s);
        bucket
    }

    /// Changes the amount per second. `left` is at most what is earned in two seconds.
    fn set_rate(&mut self, per_s: u64) {
        let per_s = i64::try_from(per_s).unwrap_or(i64::MAX);
        self.most = per_s.saturating_mul(2 * SECOND_US);
        self.left = self.left.min(self.most);
    }

    fn pass(&mut self, elapsed_us: u64) {
        let elapsed = i64::try_from(elapsed_us).unwrap_or(i64::MAX);
        let earned = elapsed.saturating_mul(self.most / (2 * SECOND_US));
        self.left = self.left.saturating_add(earned).min(self.most);
    }

    fn has(&self, amount: u64) -> bool {
        let amount = i64::try_from(amount).unwrap_or(i64::MAX);
        amount.saturating_mul(SECOND_US) <= self.left
    }

    /// Returns what was spent and is not earned again yet, in millionths.
    fn spent(&self) -> i64 {
        self.most.saturating_sub(self.left)
    }

    /// Spends an amount, also if that is more than there is.
    fn spend(&mut self, amount: u64) {
        let amount = i64::try_from(amount).unwrap_or(i64::MAX);
        self.left = self.left.saturating_sub(amount.saturating_mul(SECOND_US));
    }
}

/// What all guests together may still do in a tick.
#[derive(Default)]
pub(super) struct TickBudget {
    /// Work of their operations; below 0 if the last one took more.
    pub work: i64,
    /// Blocks that their requests list.
    pub listed: u64,
}

/// Whose budget a guest spends.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Account {
    /// The guest's own.
    Guest(u64),
    /// That of all guests whom the game admits under this name.
    Named(Arc<str>),
}

/// What an account may still do.
pub(super) struct AccountBudget {
    operations: TokenBucket,
    work: TokenBucket,
    rereads: TokenBucket,
    listed: TokenBucket,
    /// Start tag: the virtual time at which it was served last, plus the work done then.
    start_tag: u64,
    /// When it was last served.
    served_us: u64,
    /// Blocks that its guests want or have, and how many of them have the coarsest mip.
    pub blocks: usize,
    pub roots: usize,
}

impl AccountBudget {
    fn new(options: &HostOptions) -> AccountBudget {
        AccountBudget {
            operations: TokenBucket::new(options.edits_per_s.into()),
            work: TokenBucket::new(options.edit_work_per_s),
            rereads: TokenBucket::new(REREADS_PER_S),
            listed: TokenBucket::new(LISTED_PER_S),
            start_tag: 0,
            served_us: 0,
            blocks: 0,
            roots: 0,
        }
    }

    /// Whether it equals a new budget.
    fn is_unused(&self) -> bool {
        let buckets = [&self.operations, &self.work, &self.rereads, &self.listed];
        buckets.iter().all(|bucket| bucket.spent() <= 0) && self.blocks == 0
    }

    /// Counts an operation; false if there were too many.
    pub fn spend_operation(&mut self) -> bool {
        let has_left = self.operations.has(1);
        if has_left {
            self.operations.spend(1);
        }
        has_left
    }

    /// Spends work on an operation, or returns why that is too much for now.
    pub fn spend_work(&mut self, units: u64) -> Result<(), Refusal> {
        if !self.has_work(units) {
            let reason = "the operations take too much work: wait, or do less at once";
            return Err(Refusal::new(RefusalCode::TooMuchWork, reason));
        }
        self.work.spend(units);
        Ok(())
    }

    /// Whether [`AccountBudget::spend_work`] succeeds.
    pub fn has_work(&self, units: u64) -> bool {
        self.work.has(units)
    }

    /// Whether requests for blocks are read.
    pub fn may_ask(&self) -> bool {
        self.rereads.has(1) && self.listed.has(1)
    }

    /// Spends blocks that a request lists, even if that leaves a debt.
    pub fn owe_listed(&mut self, blocks: u64) {
        self.listed.spend(blocks);
    }

    /// Spends blocks that are read again, even if that leaves a debt.
    pub fn owe_rereads(&mut self, blocks: u64) {
        self.rereads.spend(blocks);
    }

    /// Spends work that was done.
    pub fn owe_work(&mut self, units: u64) {
        self.work.spend(units);
    }
}

/// The budgets of all accounts that spent something lately, or hold blocks.
#[derive(Default)]
pub(super) struct Accounts {
    budgets: FxHashMap<Account, AccountBudget>,
    now_us: u64,
    /// The virtual time: the start tag of what was served last (start-time fair queueing: Goyal, Vin
    /// and Cheng, 1996).
    virtual_time: u64,
}

/// The order in which accounts are served, smallest first: the start tag, then the time of the last
/// service.
pub(super) type Turn = (u64, u64);

impl Accounts {
    /// Advances the clock and refills all budgets.
    pub fn pass(&mut self, now_us: u64) {
        let elapsed = now_us.saturating_sub(self.now_us);
        self.now_us = self.now_us.max(now_us);
        let virtual_time = self.virtual_time;
        self.budgets.retain(|_, budget| {
            budget.operations.pass(elapsed);
            budget.work.pass(elapsed);
            budget.rereads.pass(elapsed);
            budget.listed.pass(elapsed);
            // The start tag is kept until the others catch up, even if everything is earned again.
            !budget.is_unused() || budget.start_tag > virtual_time
        });
    }

    /// Returns how much work an account has spent and not earned again yet.
    #[cfg(test)]
    pub fn spent_work(&self, account: &Account) -> i64 {
        self.budgets.get(account).map_or(0, |budget| budget.work.spent())
    }

    /// Returns when an account is served: by its start tag, then by the time of its last service.
    pub fn turn(&self, account: &Account) -> Turn {
        let of =
            |budget: &AccountBudget| (budget.start_tag.max(self.virtual_time), budget.served_us);
        self.budgets.get(account).map_or((self.virtual_time, 0), of)
    }

    /// Notes that work was done for an account.
    pub fn note_served(&mut self, account: &Account, work: u64, options: &HostOptions) {
        let (turn, _) = self.turn(account);
        self.virtual_time = self.virtual_time.max(turn);
        let now_us = self.now_us;
        let budget = self.budget(account, options);
        budget.start_tag = turn.saturating_add(work);
        budget.served_us = now_us;
    }

    /// Notes that no guest waits: resets the order of accounts.
    pub fn note_all_served(&mut self) {
        let most = self.budgets.values().map(|budget| budget.start_tag).max();
        self.virtual_time = self.virtual_time.max(most.unwrap_or_default());
    }

    /// Returns the budget of an account, a new one if it has none, with the current rates.
    pub fn budget(&mut self, account: &Account, options: &HostOptions) -> &mut AccountBudget {
        let new = || AccountBudget::new(options);
        let budget = self.budgets.entry(account.clone()).or_insert_with(new);
        budget.operations.set_rate(options.edits_per_s.into());
        budget.work.set_rate(options.edit_work_per_s);
        budget
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[derive(Clone, Copy, Debug)]
    enum Step {
        Pass(u64),
        Spend(u64),
        SetRate(u64),
    }

    fn step() -> impl Strategy<Value = Step> {
        prop_oneof![
            (0..3_000_000u64).prop_map(Step::Pass),
            (0..3000u64).prop_map(Step::Spend),
            (0..1000u64).prop_map(Step::SetRate),
        ]
    }

    proptest! {
        #[test]
        fn a_bucket_holds_what_the_slow_twin_does(
            first in 0..1000u64, steps in prop::collection::vec(step(), 0..30),
            asked in 0..3000u64,
        ) {
            let (mut bucket, mut rate) = (TokenBucket::new(first), i128::from(first));
            // Millionths.
            let mut left = 2_000_000 * rate;
            for step in steps {
                match step {
                    Step::Pass(us) => {
                        bucket.pass(us);
                        left = (left + rate * i128::from(us)).min(2_000_000 * rate);
                    }
                    Step::Spend(amount) => {
                        bucket.spend(amount);
                        left -= 1_000_000 * i128::from(amount);
                    }
                    Step::SetRate(per_s) => {
                        bucket.set_rate(per_s);
                        rate = per_s.into();
                        left = left.min(2_000_000 * rate);
                    }
                }
                prop_assert_eq!(i128::from(bucket.spent()), 2_000_000 * rate - left);
                prop_assert_eq!(bucket.has(asked), i128::from(asked) * 1_000_000 <= left);
            }
        }
    }

    #[test]
    fn a_bucket_of_extreme_rates_times_and_amounts_neither_overflows_nor_gives_for_nothing() {
        let mut bucket = TokenBucket::new(u64::MAX);
        assert!(bucket.has(u64::MAX) && bucket.has(1));
        bucket.pass(u64::MAX);
        bucket.spend(u64::MAX);
        assert!(!bucket.has(1), "all is spent");
        for _ in 0..3 {
            bucket.spend(u64::MAX);
        }
        bucket.pass(1);
        assert!(!bucket.has(1), "a debt is paid before anything else");
        bucket.pass(u64::MAX);
        bucket.pass(u64::MAX);
        assert!(bucket.has(1));
        let mut none = TokenBucket::new(0);
        none.pass(u64::MAX);
        assert!(none.has(0) && !none.has(1));
        none.set_rate(5);
        assert!(!none.has(1), "a new rate gives nothing at once");
        none.pass(200_000);
        assert!(none.has(1) && !none.has(2));
    }

    #[test]
    fn rereads_are_owed_and_a_refused_operation_costs_nothing() {
        let options = HostOptions { edit_work_per_s: 50, ..HostOptions::default() };
        let mut accounts = Accounts::default();
        let ada = Account::Named("ada".into());
        let budget = accounts.budget(&ada, &options);
        assert!(budget.may_ask());
        budget.owe_rereads(10 * REREADS_PER_S);
        assert!(!budget.may_ask());
        let refused = budget.spend_work(101).expect_err("it is twice a second's and one more");
        assert_eq!(refused.code, RefusalCode::TooMuchWork);
        assert_eq!(accounts.spent_work(&ada), 0);
        // What a tick did is owed even beyond what there was.
        accounts.budget(&ada, &options).owe_work(150);
        assert_eq!(accounts.spent_work(&ada), 150 * SECOND_US);
        accounts.pass(1_000_000);
        assert!(accounts.budget(&ada, &options).spend_work(1).is_err());
        accounts.pass(2_000_000);
        assert!(accounts.budget(&ada, &options).spend_work(50).is_ok());
        assert!(!accounts.budget(&ada, &options).may_ask());
        accounts.pass(8_100_000);
        assert!(accounts.budget(&ada, &options).may_ask());
        // A clock that goes back gives nothing.
        accounts.budget(&ada, &options).owe_work(100);
        let spent = accounts.spent_work(&ada);
        accounts.pass(0);
        assert_eq!(accounts.spent_work(&ada), spent);
    }

    #[test]
    fn guests_of_one_account_share_what_it_may_do_and_leaving_gives_nothing_back() {
        let options = HostOptions { edits_per_s: 3, edit_work_per_s: 50, ..HostOptions::default() };
        let mut accounts = Accounts::default();
        let [ada, bob] = ["ada", "bob"].map(|name| Account::Named(name.into()));
        accounts.pass(1000);
        assert!((0..6).all(|_| accounts.budget(&ada, &options).spend_operation()));
        assert!(!accounts.budget(&ada, &options).spend_operation());
        assert!(accounts.budget(&bob, &options).spend_operation());
        assert!(accounts.budget(&Account::Guest(7), &options).spend_work(100).is_ok());
        assert!(accounts.budget(&Account::Guest(7), &options).spend_work(1).is_err());
        // A third of a second later.
        accounts.pass(1000 + 334_000);
        assert!(accounts.budget(&ada, &options).spend_operation());
        assert!(!accounts.budget(&ada, &options).spend_operation());
        // Nothing is kept of accounts that have spent nothing lately.
        accounts.pass(10_000_000);
        assert!(accounts.budgets.is_empty());
    }

    /// Serves accounts that always want more, one operation at a time, until one with an operation
    /// of work 1 had its turn. Returns how many operations of others were before it.
    fn wait(accounts: &mut Accounts, greedy: &[Account], light: &Account, work: u64) -> u32 {
        let options = HostOptions::default();
        for before in 0.. {
            let next = greedy.iter().chain([light]).min_by_key(|account| accounts.turn(account));
            if next == Some(light) {
                accounts.note_served(light, 1, &options);
                return before;
            }
            accounts.note_served(next.unwrap_or(light), work, &options);
            // All is earned again before the next tick.
            accounts.pass(accounts.now_us + 10_000_000);
        }
        0
    }

    #[test]
    fn one_who_wants_little_waits_for_no_more_than_one_operation_of_each_other() {
        let greedy: Vec<Account> = (0..40).map(Account::Guest).collect();
        let mut accounts = Accounts::default();
        accounts.pass(1);
        let [ada, late] = ["ada", "late"].map(|name| Account::Named(name.into()));
        assert!(wait(&mut accounts, &greedy, &ada, 20_000_000) <= 40);
        for _ in 0..100 {
            assert!(wait(&mut accounts, &greedy, &ada, 20_000_000) <= 1, "it had little so far");
        }
        // A new account begins level with the others.
        assert!(wait(&mut accounts, &greedy, &late, 20_000_000) <= 1);
        // No guest waits any more: nothing of it is kept.
        accounts.note_all_served();
        accounts.pass(100_000_000_000);
        assert!(accounts.budgets.is_empty());
    }
}
