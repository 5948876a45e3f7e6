//! Files made by someone who knows the format: every checksum is right, nothing else is.

use super::super::header::TreeState;
use super::super::node::{
    KeySpan, NodeRef, OwnedItem, TreeNode, ValueRef, checksum_in, encode_node,
};
use super::*;
use proptest::prelude::*;
use std::borrow::Cow;

const ID: u64 = 77;

/// Puts nodes with right checksums into a file.
struct Forger {
    bytes: Vec<u8>,
    dice: Dice,
}

impl Forger {
    fn new(seed: u64) -> Forger {
        Forger { bytes: vec![0; 16384], dice: Dice(seed) }
    }

    fn put(&mut self, bytes: &[u8]) -> u64 {
        let at = self.bytes.len().next_multiple_of(64);
        self.bytes.resize(at, 0);
        self.bytes.extend_from_slice(bytes);
        at as u64
    }

    fn node(&mut self, level: u8, items: &[OwnedItem]) -> NodeRef {
        let bytes = encode_node(level, items);
        let at = self.put(&bytes);
        let second = if self.dice.below(2) == 0 { at } else { self.put(&bytes) };
        let checksum = checksum_in(ID, &bytes);
        NodeRef { copies: [at, second], length: bytes.len() as u32, checksum }
    }

    fn finish(mut self, root: NodeRef) -> Arc<CountingDisk> {
        let end = self.bytes.len().next_multiple_of(64);
        self.bytes.resize(end, 0);
        let numbers = [end as u64, self.dice.roll() >> 4];
        let end = numbers[usize::from(self.dice.below(8) == 0)].max(16384);
        let state = TreeState {
            id: ID,
            sequence: 3,
            end,
            root: Some(root),
            entries: u64::MAX,
            payload_bytes: u64::MAX,
        };
        let disk = CountingDisk::of(self.bytes);
        state.write(&*disk).unwrap();
        disk
    }
}

/// Uses a file in every way.
fn use_all(disk: &Arc<CountingDisk>) {
    let Ok(tree) = Tree::open(disk.clone()) else { return };
    let reader = tree.snapshot();
    let (held, _) = read_all(&reader);
    let mut value = Vec::new();
    for i in 0..50 {
        let _ = reader.get(&key_of(i), &mut value);
    }
    let _ = reader.keys(&key_of(3), &key_of(30));
    let _ = damage_of(&reader);
    let Ok(mut transaction) = tree.begin() else { return };
    for i in 0..20 {
        let _ = transaction.put(&key_of(i), &[i as u8; 200]);
        let _ = transaction.remove(&key_of(i + 30));
    }
    if tree.commit(transaction).is_ok() {
        let mut value = Vec::new();
        for (key, expected) in held.iter().filter(|(key, _)| **key > key_of(300)) {
            assert!(reader.get(key, &mut value).is_err() || value == *expected);
        }
    }
}

/// Some content for a node of this level, on top of nodes that exist.
fn some_content(level: u8, made: &[(u8, NodeRef)], dice: &mut Dice) -> NodeContent<'static> {
    match (level, dice.below(3)) {
        (0, 0) => {
            let bits = dice.below(28);
            let length = (97 + dice.below(1 << bits)) as u32;
            let offset = 16384 + 64 * dice.below(400);
            NodeContent::Stored(ValueRef { offset, length, checksum: dice.roll() })
        }
        (0, _) => NodeContent::Inline(Cow::Owned(vec![1; dice.below(97) as usize])),
        // Mostly a node that is one level below.
        (_, 0) => NodeContent::Child(made[dice.below(made.len() as u64) as usize].1),
        _ => {
            let below = made.iter().rfind(|(own, _)| own + 1 == level);
            NodeContent::Child(below.unwrap_or(&made[0]).1)
        }
    }
}

fn some_items(level: u8, made: &[(u8, NodeRef)], dice: &mut Dice) -> Vec<OwnedItem> {
    let count = 1 + dice.below(9);
    let item = |_| {
        let key = key_of(dice.below(400));
        OwnedItem { key, content: some_content(level, made, dice) }
    };
    let mut items: Vec<OwnedItem> = (0..count).map(item).collect();
    if dice.below(6) > 0 {
        items.sort_by(|a, b| a.key.cmp(&b.key));
        items.dedup_by(|a, b| a.key == b.key);
    }
    items
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn forged_nodes_end_quickly(seed: u64, nodes in 1..60_usize) {
        let mut forger = Forger::new(seed);
        let mut made: Vec<(u8, NodeRef)> = Vec::new();
        for _ in 0..nodes {
            let level = if made.is_empty() { 0 } else { forger.dice.below(5) as u8 };
            let items = some_items(level, &made, &mut forger.dice);
            let node = forger.node(level, &items);
            made.push((level, node));
        }
        let root = made[made.len() - 1].1;
        use_all(&forger.finish(root));
    }

    #[test]
    fn any_bytes_are_a_node_or_an_error(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
        let _ = TreeNode::decode(bytes, None, &KeySpan::default());
    }
}

#[test]
fn a_value_that_all_keys_share_is_read_as_often_as_it_fits_into_the_file() {
    let mut forger = Forger::new(1);
    let long = vec![9; 1 << 20];
    let (offset, checksum) = (forger.put(&long), checksum_in(ID, &long));
    let value = ValueRef { offset, length: 1 << 20, checksum };
    let mut parents = Vec::new();
    for leaf in 0..100 {
        let item = |i| OwnedItem {
            key: (leaf * 200 + i as u32).to_be_bytes().to_vec(),
            content: NodeContent::Stored(value),
        };
        let items: Vec<OwnedItem> = (0..200).map(item).collect();
        let node = forger.node(0, &items);
        let key = items[0].key.clone();
        parents.push(OwnedItem { key, content: NodeContent::Child(node) });
    }
    let root = forger.node(1, &parents);
    let disk = forger.finish(root);
    let length = disk.length().unwrap();
    let tree = Tree::open(disk.clone()).unwrap();
    let (held, lost) = read_all(&tree.snapshot());
    assert_eq!(held.len() + lost, 20_000);
    assert!(damage_of(&tree.snapshot()).len() >= lost);
    assert!(tree.begin().is_err(), "shared space is never written");
    let read = disk.read.load(Ordering::Relaxed);
    assert!(read < 8 * length, "{read} bytes are read of {length}");
}

#[test]
fn a_child_that_all_keys_share_is_read_as_often_as_it_fits_into_the_file() {
    let mut forger = Forger::new(2);
    let entry = OwnedItem { key: vec![0, 0], content: NodeContent::Inline(Cow::Borrowed(&[1])) };
    let mut below = forger.node(0, &[entry]);
    for level in 1..=16 {
        let item = |i: u16| OwnedItem {
            key: i.to_be_bytes().to_vec(),
            content: NodeContent::Child(below),
        };
        let items: Vec<OwnedItem> = (0..400).map(item).collect();
        below = forger.node(level, &items);
    }
    let disk = forger.finish(below);
    let (length, tree) = (disk.length().unwrap(), Tree::open(disk.clone()));
    let Ok(tree) = tree else { return };
    let (held, _) = read_all(&tree.snapshot());
    assert!(held.len() <= 1);
    let read = disk.read.load(Ordering::Relaxed);
    assert!(read <= 3 * length, "{read} bytes are read of {length}");
}
