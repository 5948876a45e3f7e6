//! A leaf of the index: which groups some packs hold, and their hashes.
//!
//! `docs/format.md` has every byte. The name of a leaf is its hash, so one that is not as it was
//! written is found before it is decoded.

use crate::coding::{FormatFault, Input, put_key, put_number};
use crate::group::MAX_RECORD_BYTES;
use ring::digest;

/// First byte of a leaf.
const LEAF_VERSION: u8 = 1;

/// The longest leaf that is read. Those that are written end at an eighth.
pub(crate) const MAX_LEAF_BYTES: usize = 1 << 20;

/// What every pack starts with: magic number and version.
pub(crate) const PACK_HEADER: [u8; 8] = *b"\x89TVP\r\n\x1a\x01";

/// The longest group: the longest value with its key.
const MAX_GROUP_LENGTH: u64 = MAX_RECORD_BYTES + 1024;

/// The name of a pack or leaf: SHA-256 of its bytes.
pub(crate) type ObjectHash = [u8; 32];

/// What the index holds of a group: the first half of its SHA-256.
pub(crate) type GroupHash = [u8; 16];

/// SHA-256.
pub(crate) fn object_hash(bytes: &[u8]) -> ObjectHash {
    let mut hash = [0; 32];
    hash.copy_from_slice(digest::digest(&digest::SHA256, bytes).as_ref());
    hash
}

/// The hash of a group.
pub(crate) fn group_hash(bytes: &[u8]) -> GroupHash {
    let mut hash = [0; 16];
    hash.copy_from_slice(&object_hash(bytes)[..16]);
    hash
}

/// A group in a pack.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct GroupEntry {
    /// The key of its first record.
    pub first: Vec<u8>,
    pub length: u32,
    pub hash: GroupHash,
}

/// A pack with its groups.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PackEntry {
    pub hash: ObjectHash,
    pub groups: Vec<GroupEntry>,
}

impl PackEntry {
    /// Bytes of the pack.
    #[cfg(test)]
    pub fn length(&self) -> u64 {
        let groups = self.groups.iter().map(|group| u64::from(group.length));
        PACK_HEADER.len() as u64 + groups.sum::<u64>()
    }
}

/// Starts a leaf.
pub(crate) fn start_leaf() -> Vec<u8> {
    vec![LEAF_VERSION]
}

/// Adds a pack to a leaf whose last group begins with `before`; it is empty in a new one.
pub(crate) fn put_pack(out: &mut Vec<u8>, before: &[u8], pack: &PackEntry) {
    out.extend_from_slice(&pack.hash);
    put_number(out, pack.groups.len() as u64);
    let mut before = before;
    for group in &pack.groups {
        put_key(out, before, &group.first);
        put_number(out, group.length.into());
        out.extend_from_slice(&group.hash);
        before = &group.first;
    }
}

/// A group as it is looked up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct GroupSpan {
    pub first: Vec<u8>,
    /// Which pack of the leaf.
    pub pack: usize,
    /// Where it begins in the pack.
    pub offset: u64,
    pub length: u32,
    pub hash: GroupHash,
}

/// A leaf: its groups in key order, and the names of their packs.
#[derive(Debug, Default)]
pub(crate) struct Leaf {
    pub packs: Vec<ObjectHash>,
    pub groups: Vec<GroupSpan>,
}

impl Leaf {
    pub fn decode(bytes: &[u8]) -> Result<Leaf, FormatFault> {
        let (mut leaf, mut input) = (Leaf::default(), Input::new(bytes));
        if bytes.len() > MAX_LEAF_BYTES {
            return input.fault("the leaf is too long");
        }
        if input.array()? != [LEAF_VERSION] {
            return Err(FormatFault { at: 0, what: "the leaf is of another version" });
        }
        let mut first = Vec::new();
        while !input.is_at_end() {
            leaf.packs.push(input.array()?);
            // Each takes 20 bytes, so memory is bounded by what is there.
            let groups = input.number(MAX_LEAF_BYTES as u64)?;
            if groups == 0 {
                return input.fault("a pack without groups");
            }
            let mut offset = PACK_HEADER.len() as u64;
            for _ in 0..groups {
                input.next_key(&mut first, leaf.groups.is_empty())?;
                let length = input.number(MAX_GROUP_LENGTH)? as u32;
                let (pack, hash) = (leaf.packs.len() - 1, input.array()?);
                leaf.groups.push(GroupSpan { first: first.clone(), pack, offset, length, hash });
                offset += u64::from(length);
            }
        }
        Ok(leaf)
    }

    /// Bytes that it takes in memory.
    pub fn weight(&self) -> usize {
        let keys: usize = self.groups.iter().map(|group| group.first.len()).sum();
        keys + self.groups.len() * size_of::<GroupSpan>() + self.packs.len() * 32
    }

    /// The group that may hold a key, or the first one.
    pub fn group_of(&self, key: &[u8]) -> usize {
        self.groups.partition_point(|group| *group.first <= *key).saturating_sub(1)
    }

    /// Every pack with its length.
    pub fn pack_lengths(&self) -> impl Iterator<Item = (ObjectHash, u64)> {
        let ends = self.groups.chunk_by(|a, b| a.pack == b.pack).filter_map(<[GroupSpan]>::last);
        ends.map(|last| (self.packs[last.pack], last.offset + u64::from(last.length)))
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use proptest::prelude::*;

    pub fn pack(seed: u8, firsts: &[&[u8]]) -> PackEntry {
        let entry = |first: &&[u8]| GroupEntry {
            first: first.to_vec(),
            length: 300 + u32::from(seed),
            hash: [seed; 16],
        };
        PackEntry { hash: [seed; 32], groups: firsts.iter().map(entry).collect() }
    }

    pub fn encode(packs: &[PackEntry]) -> Vec<u8> {
        let (mut bytes, mut before) = (start_leaf(), Vec::new());
        for pack in packs {
            put_pack(&mut bytes, &before, pack);
            before.clone_from(&pack.groups.last().unwrap().first);
        }
        bytes
    }

    #[test]
    fn the_bytes_of_a_leaf_are_fixed() {
        let bytes = encode(&[pack(7, &[&[2, 0, 5], &[2, 0, 9]]), pack(8, &[&[3]])]);
        assert_eq!((bytes[0], &bytes[1..33], bytes[33]), (1, &[7; 32][..], 2));
        assert_eq!(bytes[34..41], [0, 3, 2, 0, 5, 0xb3, 2]);
        assert_eq!((&bytes[41..57], &bytes[57..62]), (&[7; 16][..], &[2, 1, 9, 0xb3, 2][..]));
        assert_eq!((bytes.len(), bytes[110]), (132, 1));
        assert_eq!(PACK_HEADER, [0x89, 0x54, 0x56, 0x50, 0x0d, 0x0a, 0x1a, 1]);
        // As published for SHA-256 of no bytes.
        assert_eq!(group_hash(b"")[..4], [0xe3, 0xb0, 0xc4, 0x42]);
    }

    #[test]
    fn a_leaf_finds_groups_and_lengths() {
        let packs = [pack(7, &[&[2, 0, 5], &[2, 0, 9]]), pack(8, &[&[3]])];
        let leaf = Leaf::decode(&encode(&packs)).unwrap();
        let found = [&[0][..], &[2, 0, 5], &[2, 0, 8, 8], &[2, 0, 9], &[2, 9], &[3], &[9]];
        assert_eq!(found.map(|key| leaf.group_of(key)), [0, 0, 0, 1, 1, 2, 2]);
        let lengths: Vec<_> = leaf.pack_lengths().collect();
        assert_eq!(lengths, packs.map(|pack| (pack.hash, pack.length())));
        assert_eq!(leaf.groups[1].offset, 8 + 307);
    }

    #[test]
    fn packs_without_groups_and_keys_out_of_order_are_refused() {
        assert!(Leaf::decode(&encode(&[])).unwrap().groups.is_empty());
        assert!(Leaf::decode(&encode(&[pack(1, &[&[5], &[4]])])).is_err());
        assert!(Leaf::decode(&encode(&[pack(1, &[&[5]]), pack(2, &[&[5]])])).is_err());
        assert!(Leaf::decode(&encode(&[pack(1, &[&[]])])).is_err());
        let mut empty = encode(&[pack(1, &[&[5]])]);
        empty[33] = 0;
        assert!(Leaf::decode(&empty).is_err());
        assert!(Leaf::decode(&[2]).is_err() && Leaf::decode(&[]).is_err());
        assert!(Leaf::decode(&vec![1; MAX_LEAF_BYTES + 1]).is_err());
    }

    proptest! {
        #[test]
        fn any_bytes_are_safe_to_decode(mut bytes in prop::collection::vec(any::<u8>(), 1..400)) {
            bytes[0] = LEAF_VERSION;
            if let Ok(leaf) = Leaf::decode(&bytes) {
                prop_assert!(leaf.weight() <= bytes.len() * 20);
            }
        }

        #[test]
        fn changed_and_cut_leaves_are_safe_to_decode(
            at in any::<prop::sample::Index>(), bits in 1..=255u8, is_cut in any::<bool>(),
        ) {
            let mut bytes = encode(&[pack(7, &[&[2, 0, 5], &[2, 0, 9]]), pack(8, &[&[3]])]);
            let at = at.index(bytes.len());
            match is_cut {
                true => bytes.truncate(at),
                false => bytes[at] ^= bits,
            }
            if let Ok(leaf) = Leaf::decode(&bytes) {
                prop_assert!(leaf.groups.is_sorted_by(|a, b| a.first < b.first));
                prop_assert_eq!(leaf.pack_lengths().count(), leaf.packs.len());
            }
        }
    }
}
