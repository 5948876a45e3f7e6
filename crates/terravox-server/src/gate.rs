//! Which connections are let in, and the worlds that they may ask for.

use crate::access::{AccessList, counted_as};
use crate::world::RunningWorld;
use std::collections::HashMap;
use std::net::IpAddr;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// Connections by address.
pub(crate) type ConnectionCounts = Arc<Mutex<HashMap<IpAddr, usize>>>;

/// What all connections share.
pub(crate) struct Gate {
    pub worlds: Vec<Arc<RunningWorld>>,
    pub access: AccessList,
    pub patience: Duration,
    pub backup_folder: PathBuf,
    /// Whether there are bodies that fall: loose pieces, and what guests throw.
    pub pieces_fall: bool,
    pub max_connections: usize,
    pub max_per_address: usize,
    pub counts: ConnectionCounts,
}

/// The admission of one connection, counted until it is dropped.
pub(crate) struct Pass {
    peer: IpAddr,
    counted_as: IpAddr,
    counts: ConnectionCounts,
}

impl Gate {
    /// Lets a connection in, unless there are too many.
    pub fn admit(&self, peer: IpAddr) -> Option<Pass> {
        let counted_as = counted_as(peer);
        let mut counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        let (all, own) =
            (counts.values().sum::<usize>(), counts.get(&counted_as).copied().unwrap_or(0));
        if all >= self.max_connections || own >= self.max_per_address {
            return None;
        }
        *counts.entry(counted_as).or_default() += 1;
        Some(Pass { peer, counted_as, counts: self.counts.clone() })
    }

    /// How many connections there are.
    pub fn connections(&self) -> usize {
        self.counts.lock().unwrap_or_else(PoisonError::into_inner).values().sum()
    }

    /// The world of a name; the first, if the name is empty.
    pub fn world(&self, name: &[u8]) -> Option<&Arc<RunningWorld>> {
        match name {
            [] => self.worlds.first(),
            name => self.worlds.iter().find(|world| world.name.as_bytes() == name),
        }
    }
}

impl Pass {
    pub fn peer(&self) -> IpAddr {
        self.peer
    }
}

impl Drop for Pass {
    fn drop(&mut self) {
        let mut counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(count) = counts.get_mut(&self.counted_as) {
            *count -= 1;
            if *count == 0 {
                counts.remove(&self.counted_as);
            }
        }
    }
}
