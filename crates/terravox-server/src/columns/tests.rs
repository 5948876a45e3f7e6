//! Columns that are claimed and released.

use super::*;
use std::fmt::Debug;
use std::sync::atomic::{AtomicU64, Ordering};
use terravox_store::{ColumnChanges, MemoryDisk, WorldInfo};
use tracing::field::{Field, Visit};
use tracing::{Event, Metadata, Subscriber, span};

/// A database in which no column is held, but for those of a server that is gone.
#[derive(Default)]
struct NoLeases {
    gone: Option<ColumnOwner>,
}

impl ColumnLeases for NoLeases {
    fn claim(&self, columns: &[Column]) -> io::Result<Vec<Column>> {
        Ok(columns.to_vec())
    }

    fn release(&self, _columns: &[Column]) -> io::Result<()> {
        Ok(())
    }

    fn owners(&self) -> io::Result<Vec<ColumnOwner>> {
        Ok(self.gone.iter().cloned().collect())
    }

    fn owners_of(&self, _columns: &[Column]) -> io::Result<Vec<ColumnOwner>> {
        self.owners()
    }

    fn changes(&self, watched: &[Column]) -> io::Result<ColumnChanges> {
        Ok(ColumnChanges { columns: watched.to_vec(), chunks: Vec::new() })
    }
}

/// What is logged.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<String>>>, Arc<AtomicU64>);

impl Visit for Log {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        if field.name() == "message" {
            self.0.lock().unwrap().push(format!("{value:?}"));
        }
    }
}

impl Subscriber for Log {
    fn enabled(&self, _metadata: &Metadata<'_>) -> bool {
        true
    }

    fn new_span(&self, _attributes: &span::Attributes<'_>) -> span::Id {
        span::Id::from_u64(1 + self.1.fetch_add(1, Ordering::Relaxed))
    }

    fn record(&self, _span: &span::Id, _values: &span::Record<'_>) {}

    fn record_follows_from(&self, _span: &span::Id, _follows: &span::Id) {}

    fn event(&self, event: &Event<'_>) {
        event.record(&mut self.clone());
    }

    fn enter(&self, _span: &span::Id) {}

    fn exit(&self, _span: &span::Id) {}
}

#[test]
fn a_damaged_record_is_said_once_by_name_with_what_to_do() {
    let disk = Arc::new(MemoryDisk::default());
    let store = Arc::new(Store::create_on(disk, "world", &WorldInfo::default()).unwrap());
    let (home, east) = (Column { x: 0, z: 0 }, Column { x: 1, z: 0 });
    store.set_extra(&east.data_name(BORDER), Some(&[7])).unwrap();
    let (shared, leases) = (Arc::default(), Box::new(NoLeases::default()));
    let mut keeper = ColumnKeeper::new(shared, leases, store.clone(), "test".to_owned());
    let orders = ColumnOrders {
        wanted: BTreeSet::from([home]),
        watched: BTreeSet::from([east]),
        near: BTreeSet::from([east]),
    };
    let log = Log::default();
    tracing::subscriber::with_default(log.clone(), || {
        for _ in 0..5 {
            // It is read again, too.
            keeper.looked_at_damaged = None;
            keeper.look(&orders, &[]).unwrap();
        }
        let lines = log.0.lock().unwrap().clone();
        let of_damage = || lines.iter().filter(|line| line.contains("damaged"));
        assert_eq!(of_damage().count(), 1, "{lines:?}");
        let line = of_damage().next().unwrap();
        assert!(line.contains("column 1, 0 is damaged: unknown version"), "{line}");
        assert!(line.contains("extra data column 1,0/border is restored from a backup"), "{line}");
        assert_eq!((keeper.held.len(), keeper.damaged.len()), (1, 1));
        // Mended, and damaged again: both are said.
        store.set_extra(&east.data_name(BORDER), None).unwrap();
        keeper.look(&orders, &[]).unwrap();
        assert!(keeper.damaged.is_empty());
        assert!(log.0.lock().unwrap().last().unwrap().contains("can be read again"));
        store.set_extra(&east.data_name(BORDER), Some(&[7])).unwrap();
        keeper.look(&orders, &[]).unwrap();
        assert_eq!(keeper.damaged, BTreeSet::from([east]));
    });
}

#[test]
fn a_claim_says_which_server_had_the_column_if_one_had() {
    let disk = Arc::new(MemoryDisk::default());
    let store = Arc::new(Store::create_on(disk, "world", &WorldInfo::default()).unwrap());
    let [home, east] = [0, 1].map(|x| Column { x, z: 0 });
    let server = "other:1".to_owned();
    let gone = ColumnOwner { column: home, server, epoch: 1, is_alive: false, is_own: false };
    let leases = Box::new(NoLeases { gone: Some(gone) });
    let mut keeper = ColumnKeeper::new(Arc::default(), leases, store, "test".to_owned());
    let wanted = BTreeSet::from([home, east]);
    let log = Log::default();
    tracing::subscriber::with_default(log.clone(), || {
        keeper.look(&ColumnOrders { wanted, ..ColumnOrders::default() }, &[]).unwrap();
    });
    let mut lines = log.0.lock().unwrap().clone();
    lines.sort_unstable();
    let from_other = "claimed column 0, 0, taken over from other:1: its lease has ended";
    assert_eq!(lines, [from_other, "claimed column 1, 0"]);
}
