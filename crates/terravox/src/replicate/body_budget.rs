//! How much of a link bodies may take: half of what it carries while anything waits for it. So
//! bodies that come, change and go all the time do not hold back cells and edits.

/// Bytes of cells that wait to be sent to a guest; what changes meanwhile is sent once.
pub(super) const BULK_BACKLOG: u64 = 24 << 10;

/// Maximum number of bytes that may be saved up.
const MOST: i64 = BULK_BACKLOG as i64 / 2;

/// What is earned besides while nothing waits. Not all at once: a guest that joins waits for blocks
/// between its requests, and bodies would fill the link each time.
const IDLE: i64 = MOST / 16;

/// What one guest may still be sent of bodies, in bytes.
#[derive(Default)]
pub(super) struct BodyBudget {
    /// Less than 0 after a message that was larger than what was left.
    left: i64,
    /// What the link had carried when this was looked at last.
    carried: u64,
}

impl BodyBudget {
    /// Earns half of what the link carried since the last call; if nothing waits, all of it and a
    /// little more, and any debt is cancelled.
    pub fn earn(&mut self, carried: u64, is_idle: bool) {
        let since = carried.saturating_sub(self.carried);
        self.carried = carried;
        self.left = match is_idle {
            true => self.left.saturating_add_unsigned(since).max(0).saturating_add(IDLE),
            false => self.left.saturating_add_unsigned(since / 2),
        };
        self.left = self.left.min(MOST);
    }

    /// Whether something may be sent.
    pub fn is_open(&self) -> bool {
        self.left > 0
    }

    /// Spends bytes, even if that leaves a debt: no message is larger than a body.
    pub fn spend(&mut self, bytes: usize) {
        self.left = self.left.saturating_sub_unsigned(bytes as u64);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bodies_get_half_of_a_link_that_is_never_idle() {
        let (mut budget, mut carried, mut spent) = (BodyBudget::default(), 0, 0);
        (0..20).for_each(|_| budget.earn(carried, true));
        for tick in 0..10_000 {
            carried += 200;
            budget.earn(carried, false);
            while budget.is_open() {
                let bytes = if tick % 7 == 0 { 65_000 } else { 30 };
                budget.spend(bytes);
                spent += bytes as u64;
            }
        }
        // What was saved up, and the last message.
        assert!(spent <= carried / 2 + MOST as u64 + 65_000, "{spent} of {carried}");
        assert!(spent + 30 >= carried / 2, "{spent} of {carried}");
    }
}
