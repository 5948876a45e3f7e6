//! A tree is a map, for every snapshot of it, and its file stays small.

use super::*;
use proptest::prelude::*;

fn changes() -> impl Strategy<Value = Vec<(u64, u64)>> {
    proptest::collection::vec((0..400_u64, any::<u64>()), 1..80)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn a_tree_is_a_map_and_snapshots_keep_theirs(commits in proptest::collection::vec(changes(), 1..12)) {
        let disk = CountingDisk::of(Vec::new());
        let mut tree = Tree::create(disk.clone()).unwrap();
        let mut model = Model::new();
        let mut snapshots = Vec::new();
        for (i, commit_changes) in commits.into_iter().enumerate() {
            let changes: Vec<_> = commit_changes
                .into_iter()
                .map(|(key, seed)| (key_of(key), (seed % 3 > 0).then(|| Dice(seed).value())))
                .collect();
            commit(&tree, &mut model, &changes);
            assert_holds(&tree.snapshot(), &model);
            match i % 4 {
                0 => snapshots.push((tree.snapshot(), model.clone())),
                2 => snapshots.clear(),
                3 => {
                    snapshots.clear();
                    tree = Tree::open(disk.clone()).unwrap();
                }
                _ => {}
            }
            for (snapshot, model) in &snapshots {
                assert_holds(snapshot, model);
            }
        }
    }

    #[test]
    fn a_scan_of_a_span_is_a_range_of_the_map(seed: u64, low in 0..1500_u64, length in 0..900_u64) {
        let tree = Tree::create(CountingDisk::of(Vec::new())).unwrap();
        let mut model = Model::new();
        let mut dice = Dice(seed);
        for _ in 0..3 {
            commit(&tree, &mut model, &some_changes(&mut dice, 600, 1200));
        }
        let (low, high) = (key_of(low), key_of(low + length));
        let mut transaction = tree.begin().unwrap();
        let expected = |model: &Model| -> Vec<Vec<u8>> {
            model.keys().filter(|key| **key >= low && **key < high).cloned().collect()
        };
        prop_assert_eq!(transaction.keys(&low, &high).unwrap(), expected(&model));
        for (key, value) in some_changes(&mut dice, 60, 1200) {
            match value {
                Some(value) => {
                    transaction.put(&key, &value).unwrap();
                    let mut read = Vec::new();
                    prop_assert!(transaction.get(&key, &mut read).unwrap());
                    prop_assert_eq!(&read, &value);
                    model.insert(key, value);
                }
                None => {
                    transaction.remove(&key).unwrap();
                    prop_assert!(!transaction.get(&key, &mut Vec::new()).unwrap());
                    model.remove(&key);
                }
            }
        }
        prop_assert_eq!(transaction.keys(&low, &high).unwrap(), expected(&model));
    }
}

#[test]
fn a_change_that_is_dropped_leaves_nothing() {
    let disk = CountingDisk::of(Vec::new());
    let tree = Tree::create(disk.clone()).unwrap();
    let mut model = Model::new();
    let mut dice = Dice(3);
    commit(&tree, &mut model, &some_changes(&mut dice, 500, 900));
    let end = tree.snapshot().state.end;
    for _ in 0..20 {
        let mut transaction = tree.begin().unwrap();
        for (key, value) in some_changes(&mut dice, 300, 900) {
            transaction.put(&key, &value.unwrap_or_default()).unwrap();
        }
        drop(transaction);
        assert_holds(&tree.snapshot(), &model);
    }
    commit(&tree, &mut model, &[(key_of(1), Some(vec![5; 200]))]);
    assert!(tree.snapshot().state.end <= end + 40_000, "dropped space is used again");
}

#[test]
fn an_empty_change_writes_nothing() {
    let disk = CountingDisk::of(Vec::new());
    let tree = Tree::create(disk.clone()).unwrap();
    let before = disk.copy();
    commit(&tree, &mut Model::new(), &[(key_of(4), None)]);
    assert!(disk.copy() == before && disk.syncs.load(Ordering::Relaxed) == 0);
    commit(&tree, &mut Model::new(), &[(key_of(4), Some(vec![]))]);
    assert_eq!(disk.syncs.load(Ordering::Relaxed), 2);
}

#[test]
fn a_file_grows_with_what_it_holds_not_with_what_was_written() {
    let disk = CountingDisk::of(Vec::new());
    let mut tree = Tree::create(disk.clone()).unwrap();
    let mut model = Model::new();
    let mut dice = Dice(8);
    let fill: Vec<_> = (0..4000).map(|i| (key_of(i), Some(dice.value()))).collect();
    commit(&tree, &mut model, &fill);
    for round in 0..1000 {
        let near = dice.below(3900);
        let changes: Vec<_> =
            (0..20).map(|_| (key_of(near + dice.below(100)), Some(dice.value()))).collect();
        commit(&tree, &mut model, &changes);
        if round % 300 == 299 {
            tree = Tree::open(disk.clone()).unwrap();
        }
    }
    assert_holds(&tree.snapshot(), &model);
    let state = &tree.snapshot().state;
    let ratio = disk.copy().len() as f64 / state.payload_bytes as f64;
    println!("{} bytes of payload, file {ratio:.2} times that", state.payload_bytes);
    assert!(ratio < 1.6, "{ratio}");
    let changes: Vec<_> = model.keys().map(|key| (key.clone(), None)).collect();
    commit(&tree, &mut model, &changes);
    assert_holds(&tree.snapshot(), &model);
    assert_eq!(tree.snapshot().state.root, None);
}

#[test]
fn opening_reads_the_header_only() {
    let disk = CountingDisk::of(Vec::new());
    let tree = Tree::create(disk.clone()).unwrap();
    let fill: Vec<_> = (0..3000).map(|i| (key_of(i), Some(vec![1; 300]))).collect();
    commit(&tree, &mut Model::new(), &fill);
    drop(tree);
    disk.read.store(0, Ordering::Relaxed);
    let tree = Tree::open(disk.clone()).unwrap();
    assert!(disk.read.load(Ordering::Relaxed) <= 400);
    let mut value = Vec::new();
    assert!(tree.snapshot().get(&key_of(77), &mut value).unwrap());
    assert!(disk.read.load(Ordering::Relaxed) <= 400 + 4 * 4500);
}

#[test]
fn a_short_value_is_in_its_leaf() {
    let tree = Tree::create(CountingDisk::of(Vec::new())).unwrap();
    commit(
        &tree,
        &mut Model::new(),
        &[(key_of(0), Some(vec![1; 96])), (key_of(1), Some(vec![1; 97]))],
    );
    let content = |key| tree.snapshot().find(&key_of(key)).unwrap().unwrap();
    assert!(matches!(content(0), NodeContent::Inline(_)));
    assert!(matches!(content(1), NodeContent::Stored(_)));
}
