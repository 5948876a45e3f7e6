//! Whether work that was handed out is still in progress or was dropped.

use std::sync::{Arc, Weak};

/// Travels with a piece of work. When the last clone is dropped, the work is lost.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ticket(Arc<()>);

/// Kept by the issuer of a [`Ticket`].
#[derive(Debug, Default)]
pub(crate) struct Receipt(Weak<()>);

impl Ticket {
    pub fn receipt(&self) -> Receipt {
        Receipt(Arc::downgrade(&self.0))
    }
}

impl Receipt {
    /// Whether the work was dropped.
    pub fn is_lost(&self) -> bool {
        self.0.strong_count() == 0
    }

    /// Whether this is the receipt of `ticket`.
    pub fn is_of(&self, ticket: &Ticket) -> bool {
        Weak::ptr_eq(&self.0, &Arc::downgrade(&ticket.0))
    }
}
