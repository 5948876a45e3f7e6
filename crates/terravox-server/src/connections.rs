//! How many connections there are: in all, of each address, and of strangers.

use crate::access::counted_as;
use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// All connections of a server.
pub(crate) struct Connections {
    max: usize,
    max_per_address: usize,
    counts: Arc<Mutex<Counts>>,
}

#[derive(Default)]
struct Counts {
    by_address: HashMap<IpAddr, usize>,
    /// Those that no world has let in, or not yet.
    strangers: usize,
}

/// One connection, counted until this is dropped.
pub(crate) struct Pass {
    peer: IpAddr,
    is_stranger: AtomicBool,
    counts: Arc<Mutex<Counts>>,
}

impl Connections {
    pub fn new(max: usize, max_per_address: usize) -> Connections {
        Connections { max, max_per_address, counts: Arc::default() }
    }

    /// Admits a connection, unless there are too many. Only half of all may be of strangers, so that
    /// these leave room for guests: see [`Pass::let_in`].
    pub fn admit(&self, peer: IpAddr) -> Option<Pass> {
        let mut counts = lock(&self.counts);
        let own = counts.by_address.get(&counted_as(peer)).copied().unwrap_or(0);
        if counts.all() >= self.max
            || own >= self.max_per_address
            || counts.strangers >= self.max.div_ceil(2)
        {
            return None;
        }
        *counts.by_address.entry(counted_as(peer)).or_default() += 1;
        counts.strangers += 1;
        Some(Pass { peer, is_stranger: AtomicBool::new(true), counts: self.counts.clone() })
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        lock(&self.counts).all()
    }
}

impl Pass {
    pub fn peer(&self) -> IpAddr {
        self.peer
    }

    /// Notes that a world has let it in.
    pub fn let_in(&self) {
        if self.is_stranger.swap(false, Ordering::AcqRel) {
            lock(&self.counts).strangers -= 1;
        }
    }
}

impl Drop for Pass {
    fn drop(&mut self) {
        self.let_in();
        let (mut counts, counted_as) = (lock(&self.counts), counted_as(self.peer));
        if let Some(count) = counts.by_address.get_mut(&counted_as) {
            *count -= 1;
            if *count == 0 {
                counts.by_address.remove(&counted_as);
            }
        }
    }
}

impl Counts {
    fn all(&self) -> usize {
        self.by_address.values().sum()
    }
}

fn lock(counts: &Mutex<Counts>) -> MutexGuard<'_, Counts> {
    counts.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strangers_leave_half_of_the_connections_to_guests() {
        let connections = Connections::new(7, 6);
        let [home, away] = [[192, 0, 2, 1], [192, 0, 2, 2]].map(IpAddr::from);
        let mut passes: Vec<Pass> = (0..9).map_while(|_| connections.admit(home)).collect();
        assert_eq!(passes.len(), 4, "half of seven");
        assert!(connections.admit(away).is_none(), "they are in the way of everyone new");
        // Two are let in, one of them twice.
        [0, 1, 1].into_iter().for_each(|at| passes[at].let_in());
        passes.extend((0..9).map_while(|_| connections.admit(home)));
        assert_eq!(passes.len(), 6, "so many of one address");
        passes[2].let_in();
        passes.extend(connections.admit(away));
        assert!(passes.len() == 7 && connections.count() == 7);
        passes.iter().for_each(Pass::let_in);
        assert!(connections.admit(away).is_none(), "there are seven");
        drop(passes);
        assert_eq!(connections.count(), 0);
        let passes: Vec<Pass> = (0..9).map_while(|_| connections.admit(home)).collect();
        assert_eq!(passes.len(), 4, "no stranger is left of those before");
    }
}
