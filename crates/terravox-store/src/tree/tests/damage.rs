//! Flipped bytes and cut files: at most one value is lost, every loss is found, nothing lies.

use super::*;

/// A small tree after some commits, and its file.
fn small_tree() -> (Vec<u8>, Model) {
    let disk = CountingDisk::of(Vec::new());
    let tree = Tree::create(disk.clone()).unwrap();
    let mut model = Model::new();
    let mut dice = Dice(21);
    let fill: Vec<_> = (0..60).map(|i| (key_of(i * 5), Some(dice.value()))).collect();
    commit(&tree, &mut model, &fill);
    for _ in 0..3 {
        commit(&tree, &mut model, &some_changes(&mut dice, 6, 300));
    }
    (disk.copy(), model)
}

/// Asserts that a damaged file reads as `model` but for at most `lost` parts, which a check finds.
fn assert_harmless(disk: &Arc<CountingDisk>, model: &Model, most: usize, what: &str) {
    let tree = Tree::open(disk.clone()).unwrap_or_else(|fault| panic!("{what}: {fault:?}"));
    let reader = tree.snapshot();
    let (held, lost) = read_all(&reader);
    let missing = model.len() - held.len();
    assert!(held.iter().all(|(key, value)| model.get(key) == Some(value)), "{what}: it lies");
    assert!(missing <= most && (lost > 0) == (missing > 0), "{what}: {missing} values are lost");
    let damage = damage_of(&reader);
    let is_loss =
        |damage: &&TreeDamage| !matches!(damage, TreeDamage::HeaderCopy | TreeDamage::NodeCopy);
    assert_eq!(damage.iter().filter(is_loss).count(), lost, "{what}: {damage:?}");
    drop(reader);
    // Writing does not make it worse.
    let mut held = held;
    commit(&tree, &mut held, &[(key_of(1_000_000), Some(vec![1; 500]))]);
    let (after, _) = read_all(&tree.snapshot());
    assert!(after == held, "{what}: a write made it worse");
}

fn flip_every(stride: usize) {
    let (bytes, model) = small_tree();
    // The zeros of the header are not part of anything.
    let (mut tried, data) = (0, super::super::node::DATA_START as usize);
    for at in (0..bytes.len()).filter(|at| at % 4096 < 96 || *at >= data).step_by(stride) {
        let disk = CountingDisk::of(bytes.clone());
        disk.flip(at);
        assert_harmless(&disk, &model, 1, &format!("byte {at}"));
        tried += 1;
    }
    println!("{tried} of {} bytes", bytes.len());
}

#[test]
fn a_flipped_byte_costs_at_most_one_value_and_is_found() {
    flip_every(23);
}

#[test]
fn slow_many_flipped_bytes_cost_at_most_one_value_and_are_found() {
    flip_every(2);
}

#[test]
fn a_cut_file_keeps_what_is_whole_and_is_not_written() {
    let (bytes, model) = small_tree();
    for length in (0..bytes.len()).step_by(509) {
        let disk = CountingDisk::of(bytes[..length].to_owned());
        let Ok(tree) = Tree::open(disk.clone()) else {
            assert!(length < 12_288 + 96, "{length}: both states are lost");
            continue;
        };
        let (held, lost) = read_all(&tree.snapshot());
        assert!(held.iter().all(|(key, value)| model.get(key) == Some(value)));
        assert!(held.len() == model.len() || lost > 0);
        assert!(lost == 0 || !damage_of(&tree.snapshot()).is_empty(), "{length}");
        assert!(tree.begin().is_err() || damage_of(&tree.snapshot()).is_empty(), "{length}");
        assert!(disk.copy().len() == length);
    }
}

#[test]
fn a_lost_part_of_the_index_costs_its_entries_and_forbids_writing() {
    let disk = CountingDisk::of(Vec::new());
    let tree = Tree::create(disk.clone()).unwrap();
    let mut model = Model::new();
    let fill: Vec<_> = (0..3000).map(|i| (key_of(i), Some(vec![i as u8; 20]))).collect();
    commit(&tree, &mut model, &fill);
    drop(tree);
    let bytes = disk.copy();
    // Both copies of some node below the root, found by their equal bytes.
    let step = 64;
    let node = |at: usize| &bytes[at..at + 2000];
    let starts: Vec<usize> = (16384..bytes.len() - 2000).step_by(step).collect();
    let pair = starts
        .iter()
        .find_map(|&a| starts.iter().find(|&&b| b > a && node(a) == node(b)).map(|&b| (a, b)));
    let (a, b) = pair.unwrap();
    disk.flip(a + 100);
    disk.flip(b + 100);
    let tree = Tree::open(disk).unwrap();
    let reader = tree.snapshot();
    let (held, lost) = read_all(&reader);
    assert_eq!(lost, 1);
    assert!(held.len() > 2500 && held.iter().all(|(key, value)| model[key] == *value));
    let [TreeDamage::Node(lost)] = &damage_of(&reader)[..] else { panic!("one node") };
    let missing = model.keys().filter(|key| lost.span.contains(key)).count();
    assert_eq!(missing, model.len() - held.len());
    let refused = tree.begin().err().unwrap().to_string();
    assert!(refused.contains("repair"), "{refused}");
}

#[test]
fn an_older_copy_of_a_value_and_a_part_of_another_file_are_noticed() {
    let value = |i: u8| vec![i; 300];
    let file = |last: u8| {
        let disk = CountingDisk::of(Vec::new());
        let tree = Tree::create(disk.clone()).unwrap();
        for i in 1..=last {
            commit(&tree, &mut Model::new(), &[(key_of(1), Some(value(i)))]);
        }
        disk
    };
    let at =
        |bytes: &[u8], i: u8| bytes.windows(300).position(|window| window == value(i)).unwrap();
    let disk = file(2);
    let bytes = disk.copy();
    let (old, new) = (at(&bytes, 1), at(&bytes, 2));
    disk.bytes.lock().unwrap().copy_within(old..old + 300, new);
    let tree = Tree::open(disk).unwrap();
    assert!(tree.snapshot().get(&key_of(1), &mut Vec::new()).is_err());
    // The whole of two files is the same but for the id.
    let (a, b) = (file(2).copy(), file(2).copy());
    assert_ne!(a[16..24], b[16..24]);
    let mixed = [&a[..16384], &b[16384..]].concat();
    let tree = Tree::open(CountingDisk::of(mixed)).unwrap();
    assert!(tree.snapshot().get(&key_of(1), &mut Vec::new()).is_err());
}

/// A tree of three commits on a disk in memory.
fn three_commits() -> (Arc<CountingDisk>, Vec<u8>) {
    let disk = CountingDisk::of(Vec::new());
    let tree = Tree::create(disk.clone()).unwrap();
    let mut before = Vec::new();
    for number in 0..3u8 {
        before = disk.copy();
        let mut transaction = tree.begin().unwrap();
        transaction.put(&[number], &[number; 500]).unwrap();
        tree.commit(transaction).unwrap();
    }
    (disk, before)
}

#[test]
fn a_process_killed_between_the_copies_of_a_header_leaves_no_damage() {
    let (disk, before) = three_commits();
    let whole = disk.copy();
    for copy in 0..4 {
        let place = 4096 * copy..4096 * copy + 96;
        let mut bytes = whole.clone();
        bytes[place.clone()].copy_from_slice(&before[place.clone()]);
        let tree = Tree::open(CountingDisk::of(bytes)).ok().unwrap();
        assert!(damage_of(&tree.snapshot()).is_empty(), "copy {copy}");
        let mut bytes = whole.clone();
        bytes[place.start + 20] ^= 1;
        let tree = Tree::open(CountingDisk::of(bytes)).ok().unwrap();
        let (id, found) = (tree.snapshot().state.sequence, damage_of(&tree.snapshot()));
        assert!(found.len() <= 1, "copy {copy} of {id}: {found:?}");
    }
}

#[test]
fn a_file_without_its_free_end_is_whole_and_can_be_written() {
    let disk = CountingDisk::of(Vec::new());
    let tree = Tree::create(disk.clone()).unwrap();
    for value in [vec![1; 9000], vec![2; 9000], vec![3; 10], vec![4; 10], vec![5; 10]] {
        let mut transaction = tree.begin().unwrap();
        transaction.put(b"key", &value).unwrap();
        tree.commit(transaction).unwrap();
    }
    drop(tree);
    let whole = disk.copy();
    let (mut written, mut refused) = (0, 0);
    for cut in (64..whole.len() - 16384).step_by(64) {
        let disk = CountingDisk::of(whole[..whole.len() - cut].to_vec());
        let tree = Tree::open(disk).ok().unwrap();
        let is_whole = damage_of(&tree.snapshot()).is_empty();
        assert_eq!(tree.begin().is_ok(), is_whole, "{cut} bytes cut off");
        if is_whole {
            let mut transaction = tree.begin().unwrap();
            transaction.put(b"other", &[6; 9000]).unwrap();
            tree.commit(transaction).unwrap();
            assert!(damage_of(&tree.snapshot()).is_empty(), "{cut} bytes cut off");
            written += 1;
        } else {
            refused += 1;
        }
    }
    assert!(refused > 0, "{written} written, {refused} refused");
}

#[test]
fn the_last_state_that_can_be_numbered_is_reported_and_not_written() {
    let (disk, _) = three_commits();
    let mut state = Tree::open(disk.clone()).ok().unwrap().snapshot().state.clone();
    state.sequence = (1 << 62) - 1;
    state.write(&*disk).unwrap();
    let tree = Tree::open(disk).ok().unwrap();
    assert!(matches!(damage_of(&tree.snapshot())[..], [TreeDamage::Space(_)]));
    assert!(tree.begin().is_err());
}

#[test]
fn zeros_in_the_place_of_a_header_copy_are_damage() {
    let (bytes, model) = small_tree();
    for offset in [0, 4096, 8192, 12288] {
        let mut file = bytes.clone();
        file[offset..offset + 4096].fill(0);
        let disk = CountingDisk::of(file);
        let damage = damage_of(&Tree::open(disk.clone()).unwrap().snapshot());
        assert!(matches!(damage[..], [TreeDamage::HeaderCopy]), "{offset}: {damage:?}");
        assert_harmless(&disk, &model, 0, &format!("zeros at {offset}"));
    }
    // A first creation that was interrupted between its copies.
    let disk = CountingDisk::of(Vec::new());
    drop(Tree::create(disk.clone()).unwrap());
    let mut file = disk.copy();
    assert!(damage_of(&Tree::open(disk).unwrap().snapshot()).is_empty());
    file[8192..12288].fill(0);
    assert!(damage_of(&Tree::open(CountingDisk::of(file)).unwrap().snapshot()).is_empty());
}
