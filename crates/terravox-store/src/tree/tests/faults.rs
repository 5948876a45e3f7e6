//! Every operation on the disk fails in every way: what is found afterwards is the state before or
//! the one after, never anything else.

use super::super::CommitError;
use super::*;
use crate::disk::Disk;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// How an operation fails.
#[derive(Clone, Copy, Debug, PartialEq)]
enum DiskFault {
    /// A write ends in its middle.
    Short,
    /// Nothing is written.
    Full,
    /// Nothing is written, and a sync forgets what it should have made durable, while reading
    /// still returns it.
    Broken,
    /// The process ends.
    Killed,
}

const FAULTS: [DiskFault; 4] =
    [DiskFault::Short, DiskFault::Full, DiskFault::Broken, DiskFault::Killed];

/// A disk with a cache that loses power.
#[derive(Default)]
struct FaultyDisk(Mutex<FaultyBytes>);

#[derive(Default)]
struct FaultyBytes {
    /// As reading returns them.
    now: Vec<u8>,
    /// As they survive a power cut.
    durable: Vec<u8>,
    /// Writes since the last sync.
    pending: Vec<(u64, Vec<u8>)>,
    operations: u64,
    /// Which operation fails, and how.
    fault: Option<(u64, DiskFault)>,
}

impl FaultyBytes {
    /// Counts an operation; returns how it fails.
    fn step(&mut self) -> Option<DiskFault> {
        self.operations += 1;
        match self.fault {
            Some((at, DiskFault::Killed)) if self.operations > at => Some(DiskFault::Killed),
            Some((at, fault)) if self.operations == at => Some(fault),
            _ => None,
        }
    }

    fn put(&mut self, offset: u64, bytes: &[u8]) {
        write_into(&mut self.now, offset, bytes);
        self.pending.push((offset, bytes.to_owned()));
    }

    /// What is left after a power cut that loses some of the writes, or parts of them.
    fn after_cut(&self, dice: &mut Dice) -> Vec<u8> {
        let mut bytes = self.durable.clone();
        let keep = dice.below(4);
        for (offset, write) in &self.pending {
            for (i, sector) in write.chunks(512).enumerate() {
                if dice.below(3) < keep {
                    write_into(&mut bytes, offset + 512 * i as u64, sector);
                }
            }
        }
        bytes
    }
}

impl Disk for FaultyDisk {
    fn length(&self) -> io::Result<u64> {
        Ok(self.0.lock().unwrap().now.len() as u64)
    }

    fn read_at(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        read_from(&self.0.lock().unwrap().now, offset, out)
    }

    fn write_at(&self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        let mut disk = self.0.lock().unwrap();
        match disk.step() {
            None => {
                disk.put(offset, bytes);
                Ok(())
            }
            Some(DiskFault::Short) => {
                disk.put(offset, &bytes[..bytes.len() / 2]);
                Err(io::ErrorKind::StorageFull.into())
            }
            Some(_) => Err(io::ErrorKind::StorageFull.into()),
        }
    }

    fn sync(&self) -> io::Result<()> {
        let mut disk = self.0.lock().unwrap();
        match disk.step() {
            None => {
                for (offset, bytes) in std::mem::take(&mut disk.pending) {
                    write_into(&mut disk.durable, offset, &bytes);
                }
                Ok(())
            }
            Some(DiskFault::Broken) => {
                disk.pending.clear();
                Err(io::Error::other("the disk is broken"))
            }
            Some(_) => Err(io::Error::other("the disk is gone")),
        }
    }
}

type TreeChanges = Vec<(Vec<u8>, Option<Vec<u8>>)>;

/// Applies changes until one fails; returns the error.
fn try_commit(tree: &Tree, changes: &TreeChanges) -> Result<(), CommitError> {
    let mut transaction = tree.begin().map_err(CommitError::Before)?;
    for (key, value) in changes {
        let done = match value {
            Some(value) => transaction.put(key, value),
            None => transaction.remove(key).map(drop),
        };
        done.map_err(CommitError::Before)?;
    }
    tree.commit(transaction)
}

fn apply(model: &mut Model, changes: &TreeChanges) {
    for (key, value) in changes {
        match value {
            Some(value) => drop(model.insert(key.clone(), value.clone())),
            None => drop(model.remove(key)),
        }
    }
}

/// Asserts that the bytes hold one of the models, and that it can be written to.
fn assert_one_of(bytes: Vec<u8>, models: &[&Model], what: &str) {
    let tree =
        Tree::open(CountingDisk::of(bytes)).unwrap_or_else(|fault| panic!("{what}: {fault:?}"));
    let (held, lost) = read_all(&tree.snapshot());
    assert_eq!(lost, 0, "{what}");
    let mut model = held;
    assert!(models.contains(&&model), "{what}: another state");
    for _ in 0..3 {
        commit(&tree, &mut model, &[(key_of(7), Some(vec![7; 150]))]);
    }
    assert_holds(&tree.snapshot(), &model);
}

/// Runs commits on a disk that fails, reopening it now and then.
fn run_with(fault: Option<(u64, DiskFault)>, dice: &mut Dice) -> u64 {
    let disk = Arc::new(FaultyDisk::default());
    let mut tree = Tree::create(disk.clone()).unwrap();
    disk.sync().unwrap();
    let mut plan = Dice(99);
    let (mut before, mut after) = (Model::new(), Model::new());
    // After the last known state was lost from the disk by a broken sync.
    let mut last_unsure = None;
    let start = disk.0.lock().unwrap().operations;
    disk.0.lock().unwrap().fault = fault.map(|(at, fault)| (at + start, fault));
    for round in 0..6 {
        let changes = some_changes(&mut plan, 40, 60);
        apply(&mut after, &changes);
        let what = format!("{fault:?} in round {round}");
        match try_commit(&tree, &changes) {
            Ok(()) => {
                last_unsure = None;
                before.clone_from(&after);
            }
            Err(CommitError::Before(_)) => after.clone_from(&before),
            Err(CommitError::Unsure(_)) => {
                // The same program goes on, or another one opens what it left.
                if fault.is_some_and(|(at, _)| at % 2 == 0) && tree.begin().is_ok() {
                    last_unsure = None;
                    before.clone_from(&after);
                    assert_holds(&tree.snapshot(), &after);
                    continue;
                }
                last_unsure = Some(before.clone());
                tree = Tree::open(disk.clone()).unwrap();
                let (held, _) = read_all(&tree.snapshot());
                assert!(held == before || held == after, "{what}");
                (before, after) = (held.clone(), held);
            }
        }
        assert_holds(&tree.snapshot(), &after);
        let mut models = vec![&before];
        models.extend(&last_unsure);
        if last_unsure.is_some() {
            models.push(&after);
        }
        let now = disk.0.lock().unwrap().now.clone();
        assert_one_of(now, &models, &what);
        for _ in 0..2 {
            let cut = disk.0.lock().unwrap().after_cut(dice);
            assert_one_of(cut, &models, &format!("{what}, then a power cut"));
        }
        if round == 3 {
            tree = Tree::open(disk.clone()).unwrap();
        }
    }
    disk.0.lock().unwrap().operations - start
}

#[test]
fn every_fault_at_every_operation_leaves_the_state_before_or_after() {
    let mut dice = Dice(1);
    let operations = run_with(None, &mut dice);
    let (mut points, mut failed) = (0, 0);
    for at in 1..=operations {
        for fault in FAULTS {
            let point = AssertUnwindSafe(|| run_with(Some((at, fault)), &mut dice));
            failed += u32::from(catch_unwind(point).is_err());
            points += 1;
        }
    }
    // The benchmark reads this line.
    println!("{failed} of {points} fault points failed");
    assert_eq!(failed, 0);
}

#[test]
fn a_power_cut_at_every_operation_leaves_the_state_before_or_after() {
    let mut dice = Dice(2);
    for at in 0.. {
        let disk = Arc::new(FaultyDisk::default());
        let tree = Tree::create(disk.clone()).unwrap();
        let mut plan = Dice(5);
        let (mut before, mut after) = (Model::new(), Model::new());
        for _ in 0..3 {
            let changes = some_changes(&mut plan, 30, 60);
            apply(&mut before, &changes);
            try_commit(&tree, &changes).unwrap();
        }
        after.clone_from(&before);
        let start = disk.0.lock().unwrap().operations;
        disk.0.lock().unwrap().fault = Some((start + at, DiskFault::Killed));
        let changes = some_changes(&mut plan, 30, 60);
        apply(&mut after, &changes);
        let done = try_commit(&tree, &changes).is_ok();
        for _ in 0..6 {
            let cut = disk.0.lock().unwrap().after_cut(&mut dice);
            let models = if done { vec![&after] } else { vec![&before, &after] };
            assert_one_of(cut, &models, &format!("cut after {at} operations"));
        }
        if done {
            return;
        }
    }
}
