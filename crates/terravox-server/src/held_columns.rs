//! Which columns of a shared world guests may edit here, and which are to be claimed and released.

use crate::columns::{ColumnThread, SharedColumns};
use crate::server_reason::ServerReason;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::{Duration, Instant};
use terravox::replicate::{Host, Refusal};
use terravox::voxel::{ChunkPos, Region, VoxelPos};
use terravox_store::Column;

/// Between two looks at where guests are.
const LOOK_INTERVAL: Duration = Duration::from_millis(250);

/// A guest is in a column if one in so many of the chunks that it wants at mip 0 lie there. Columns that it merely
/// sees are left to the servers of others.
const LEAST_SHARE: usize = 8;

/// A column that no guest was in for so long is released.
const IDLE_TIME: Duration = Duration::from_secs(10);

/// A column that is about to be released: nothing is edited in it any more.
struct ClosingColumn {
    /// It may go when so many edits are saved.
    edits: u64,
    /// Whether the thread was told to release it.
    is_sent: bool,
}

/// The columns of a world, for the thread of the world.
pub(crate) struct HeldColumns {
    thread: ColumnThread,
    held: BTreeSet<Column>,
    closing: BTreeMap<Column, ClosingColumn>,
    /// The servers of the others.
    servers: BTreeMap<Column, String>,
    /// When a guest was last in a column, or edited it.
    used: BTreeMap<Column, Instant>,
    /// Columns that operations reached since the last look, and that no other server has.
    demanded: BTreeSet<Column>,
    looked: Option<Instant>,
}

impl HeldColumns {
    pub fn new(thread: ColumnThread) -> HeldColumns {
        HeldColumns {
            thread,
            held: BTreeSet::new(),
            closing: BTreeMap::new(),
            servers: BTreeMap::new(),
            used: BTreeMap::new(),
            demanded: BTreeSet::new(),
            looked: None,
        }
    }

    pub fn shared(&self) -> &Arc<SharedColumns> {
        &self.thread.shared
    }

    /// Notes which columns are held. Returns the chunks that others changed, which have to be read anew before
    /// anything is edited.
    pub fn take_news(&mut self) -> BTreeSet<ChunkPos> {
        let Some(news) = self.shared().take_news() else { return BTreeSet::new() };
        self.closing.retain(|column, _| news.held.contains(column));
        self.held = news.held;
        let others = news.owners.into_iter().filter(|owner| owner.is_alive && !owner.is_own);
        self.servers = others.map(|owner| (owner.column, owner.server)).collect();
        news.changed
    }

    /// Refuses an operation that reaches beyond the columns that are held. Those that no server has are claimed then.
    pub fn check(&mut self, region: Region) -> Result<(), Refusal> {
        let servers = &self.servers;
        self.demanded.extend(
            columns_of(region)
                .filter(|column| !servers.contains_key(column) || self.held.contains(column)),
        );
        let may_change =
            |column: &Column| self.held.contains(column) && !self.closing.contains_key(column);
        let Some(other) = columns_of(region).find(|column| !may_change(column)) else {
            return Ok(());
        };
        let what = match self.servers.get(&other) {
            Some(server) if !self.held.contains(&other) => {
                format!("this part of the world is served by {server}")
            }
            _ => "this part of the world is not served yet; try again".to_owned(),
        };
        Err(ServerReason::OtherServer.refusal(&what))
    }

    /// Looks now and then at where guests are. `edits` were applied, of which `saved` are saved.
    pub fn look(&mut self, host: &mut Host, now: Instant, edits: u64, saved: u64) {
        if self.looked.is_some_and(|looked| now - looked < LOOK_INTERVAL) {
            return;
        }
        self.looked = Some(now);
        let sees_others = self.find_guests(host, now);
        let demanded = std::mem::take(&mut self.demanded);
        self.used.extend(demanded.into_iter().map(|column| (column, now)));
        // One that was just claimed has its time, too.
        for column in self.held.iter().filter(|column| !self.closing.contains_key(column)) {
            self.used.entry(*column).or_insert(now);
        }
        self.used.retain(|_, used| now - *used < IDLE_TIME);
        let used = &self.used;
        // Guests that come back in time keep it.
        self.closing.retain(|column, closing| closing.is_sent || !used.contains_key(column));
        let idle = self.held.iter().filter(|column| !used.contains_key(column));
        for column in idle.copied().collect::<Vec<_>>() {
            self.closing.entry(column).or_insert_with(|| {
                host.forget_strokes();
                ClosingColumn { edits, is_sent: false }
            });
        }
        let mut released = Vec::new();
        for (column, closing) in &mut self.closing {
            if !closing.is_sent && saved >= closing.edits {
                closing.is_sent = true;
                released.push(*column);
            }
        }
        let wanted = used.keys().filter(|column| !self.closing.contains_key(column));
        let wanted = wanted.copied().collect();
        self.shared().tell(wanted, sees_others, released);
    }

    /// Notes which columns guests are in; returns whether they see others that are not held.
    fn find_guests(&mut self, host: &Host, now: Instant) -> bool {
        let mut sees_others = false;
        for &guest in host.guests() {
            let (mut counts, mut all) = (BTreeMap::<Column, usize>::new(), 0);
            for chunk in host.watched_chunks(guest) {
                *counts.entry(Column::of_voxel(chunk.region().min)).or_default() += 1;
                all += 1;
            }
            sees_others |= counts.keys().any(|column| !self.held.contains(column));
            counts.retain(|_, count| *count * LEAST_SHARE >= all);
            self.used.extend(counts.into_keys().map(|column| (column, now)));
        }
        sees_others
    }
}

/// The columns that a region, in voxels, touches.
fn columns_of(region: Region) -> impl Iterator<Item = Column> {
    let (low, last) = match region.is_empty() {
        true => (Column { x: 0, z: 0 }, Column { x: -1, z: -1 }),
        false => {
            let last = region.max - VoxelPos::new(1, 1, 1);
            (Column::of_voxel(region.min), Column::of_voxel(last))
        }
    };
    (low.z..=last.z).flat_map(move |z| (low.x..=last.x).map(move |x| Column { x, z }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_region_touches_the_columns_that_hold_a_voxel_of_it() {
        let columns = |min: [i32; 3], max: [i32; 3]| -> Vec<[i32; 2]> {
            columns_of(Region::new(min, max)).map(|column| [column.x, column.z]).collect()
        };
        assert_eq!(columns([0, -9, 0], [8192, 9, 1]), [[0, 0]]);
        assert_eq!(columns([-1, 0, 8191], [1, 1, 8193]), [[-1, 0], [0, 0], [-1, 1], [0, 1]]);
        assert_eq!(columns([5, 5, 5], [5, 9, 9]), [[0; 2]; 0]);
    }
}
