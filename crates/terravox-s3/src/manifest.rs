//! The manifest of a published world: one small object that names everything else.
//!
//! `docs/format.md` has every byte. It is the only object that changes; a change says which one
//! it replaces.

use crate::coding::{FormatFault, Input, MAX_KEY_BYTES, put_key, put_number};
use crate::leaf::{Leaf, MAX_LEAF_BYTES, ObjectHash};
use std::fmt;
use terravox_store::RecordTotals;
use xxhash_rust::xxh3::Xxh3;

const MAGIC: [u8; 8] = *b"\x89TVS\r\n\x1a\n";

/// The version that this code writes and reads.
const MANIFEST_VERSION: u16 = 1;

/// The longest manifest that is read: it names leaves of more than 100 TB.
pub(crate) const MAX_MANIFEST_BYTES: u64 = 16 << 20;

/// The longest description of a world.
const MAX_DESCRIPTION_BYTES: u64 = 128 << 10;

/// Where the checksum is.
const CHECKSUM: std::ops::Range<usize> = 10..18;

const INLINE: u8 = 0;
const LEAVES: u8 = 1;

/// A leaf of the index, as a manifest names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct LeafEntry {
    /// The key of its first record.
    pub first: Vec<u8>,
    pub length: u32,
    pub hash: ObjectHash,
}

/// The top of the index.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum IndexTop {
    /// The only leaf, inside the manifest instead of an object.
    Inline(Vec<u8>),
    Leaves(Vec<LeafEntry>),
}

/// A published state of a world.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Manifest {
    /// Its number: it counts up from 1.
    pub state: u64,
    /// When, in seconds of Unix time by the publisher's clock. Nothing depends on it.
    pub time_unix_s: u64,
    /// Hash of the manifest that it replaced; zeros if there was none.
    pub replaced: ObjectHash,
    /// The description counts as the two records that it is in other stores.
    pub totals: RecordTotals,
    /// The description of the world.
    pub description: Vec<u8>,
    pub index: IndexTop,
}

/// Why a manifest cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ManifestFault {
    Foreign,
    Version(u16),
    Damaged(FormatFault),
}

impl fmt::Display for ManifestFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ManifestFault::Foreign => f.write_str("the manifest is an object of another program"),
            ManifestFault::Version(version) => write!(
                f,
                "the manifest is of version {version}, this program reads {MANIFEST_VERSION}; use \
                 a newer terravox"
            ),
            ManifestFault::Damaged(fault) => write!(f, "the manifest is damaged: {fault}"),
        }
    }
}

impl From<FormatFault> for ManifestFault {
    fn from(fault: FormatFault) -> ManifestFault {
        ManifestFault::Damaged(fault)
    }
}

/// XXH3-64 of a manifest without its checksum.
fn checksum(bytes: &[u8]) -> u64 {
    let mut hash = Xxh3::new();
    hash.update(&bytes[..CHECKSUM.start]);
    hash.update(&bytes[CHECKSUM.end..]);
    hash.digest()
}

impl Manifest {
    pub fn encode(&self) -> Vec<u8> {
        let mut out = MAGIC.to_vec();
        out.extend_from_slice(&MANIFEST_VERSION.to_le_bytes());
        out.extend_from_slice(&[0; 8]);
        let RecordTotals { records, payload_bytes } = self.totals;
        out.extend_from_slice(&self.state.to_le_bytes());
        out.extend_from_slice(&self.time_unix_s.to_le_bytes());
        out.extend_from_slice(&self.replaced);
        out.extend_from_slice(&records.to_le_bytes());
        out.extend_from_slice(&payload_bytes.to_le_bytes());
        put_number(&mut out, self.description.len() as u64);
        out.extend_from_slice(&self.description);
        match &self.index {
            IndexTop::Inline(leaf) => {
                out.push(INLINE);
                out.extend_from_slice(leaf);
            }
            IndexTop::Leaves(leaves) => {
                out.push(LEAVES);
                let mut before: &[u8] = &[];
                for leaf in leaves {
                    put_key(&mut out, before, &leaf.first);
                    put_number(&mut out, leaf.length.into());
                    out.extend_from_slice(&leaf.hash);
                    before = &leaf.first;
                }
            }
        }
        let sum = checksum(&out);
        out[CHECKSUM].copy_from_slice(&sum.to_le_bytes());
        out
    }

    pub fn decode(bytes: &[u8]) -> Result<Manifest, ManifestFault> {
        let mut input = Input::new(bytes);
        if !bytes.starts_with(&MAGIC) {
            return Err(ManifestFault::Foreign);
        }
        input.take(MAGIC.len())?;
        let version = u16::from_le_bytes(input.array()?);
        if version != MANIFEST_VERSION {
            return Err(ManifestFault::Version(version));
        }
        if input.u64()? != checksum(bytes) {
            let what = "its checksum does not match: it changed after it was written";
            return Err(FormatFault { at: CHECKSUM.start, what }.into());
        }
        let (state, time_unix_s, replaced) = (input.u64()?, input.u64()?, input.array()?);
        let totals = RecordTotals { records: input.u64()?, payload_bytes: input.u64()? };
        let length = input.number(MAX_DESCRIPTION_BYTES)? as usize;
        let description = input.take(length)?.to_vec();
        let index = decode_top(&mut input)?;
        Ok(Manifest { state, time_unix_s, replaced, totals, description, index })
    }

    /// The inline leaf, decoded; `None` if all leaves are objects.
    pub fn inline_leaf(&self) -> Result<Option<Leaf>, ManifestFault> {
        match &self.index {
            IndexTop::Inline(leaf) => Ok(Some(Leaf::decode(leaf)?)),
            IndexTop::Leaves(_) => Ok(None),
        }
    }

    /// Whether it describes the same world as another one, whenever that was published.
    pub fn is_same_world(&self, other: &Manifest) -> bool {
        (self.totals, &self.description, &self.index)
            == (other.totals, &other.description, &other.index)
    }
}

fn decode_top(input: &mut Input<'_>) -> Result<IndexTop, FormatFault> {
    match input.array()? {
        [INLINE] => Ok(IndexTop::Inline(input.rest().to_vec())),
        [LEAVES] => {
            let (mut leaves, mut first) = (Vec::new(), Vec::with_capacity(MAX_KEY_BYTES));
            while !input.is_at_end() {
                input.next_key(&mut first, leaves.is_empty())?;
                let length = input.number(MAX_LEAF_BYTES as u64)? as u32;
                leaves.push(LeafEntry { first: first.clone(), length, hash: input.array()? });
            }
            if leaves.is_empty() {
                return input.fault("the list of leaves is empty");
            }
            Ok(IndexTop::Leaves(leaves))
        }
        _ => input.fault("the index is of another kind"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::leaf::tests::{encode, pack};
    use proptest::prelude::*;

    fn manifest(index: IndexTop) -> Manifest {
        Manifest {
            state: 3,
            time_unix_s: 1_764_122_400,
            replaced: [5; 32],
            totals: RecordTotals { records: 77, payload_bytes: 9999 },
            description: vec![3, 0, 42],
            index,
        }
    }

    fn leaves() -> IndexTop {
        let leaf =
            |first: &[u8], n: u8| LeafEntry { first: first.to_vec(), length: 65, hash: [n; 32] };
        IndexTop::Leaves(vec![leaf(&[1, 97], 1), leaf(&[2, 0, 3], 2)])
    }

    #[test]
    fn the_bytes_of_a_manifest_are_fixed() {
        let bytes = manifest(IndexTop::Inline(encode(&[pack(7, &[&[2]])]))).encode();
        assert_eq!(bytes[..10], [0x89, 0x54, 0x56, 0x53, 0x0d, 0x0a, 0x1a, 0x0a, 1, 0]);
        assert_eq!(bytes[10..18], [38, 72, 188, 126, 214, 10, 216, 75]);
        assert_eq!((bytes[18], &bytes[34..66], bytes[66]), (3, &[5; 32][..], 77));
        assert_eq!(bytes[82..90], [3, 3, 0, 42, 0, 1, 7, 7]);
        let bytes = manifest(leaves()).encode();
        assert_eq!(bytes[86..92], [1, 0, 2, 1, 97, 65]);
        assert_eq!((bytes[92], &bytes[124..130], bytes.len()), (1, &[0, 3, 2, 0, 3, 65][..], 162));
    }

    #[test]
    fn another_version_is_named_before_anything_else_is_read() {
        let mut bytes = manifest(leaves()).encode();
        bytes[8] = 2;
        let error = Manifest::decode(&bytes).unwrap_err();
        assert_eq!(error, ManifestFault::Version(2));
        assert!(error.to_string().contains("version 2, this program reads 1"));
        assert_eq!(Manifest::decode(b"<html>").unwrap_err(), ManifestFault::Foreign);
        assert_eq!(Manifest::decode(b"").unwrap_err(), ManifestFault::Foreign);
    }

    proptest! {
        #[test]
        fn every_changed_or_missing_byte_is_found(
            at in any::<prop::sample::Index>(), bits in 1..=255u8, is_cut in any::<bool>(),
            is_inline in any::<bool>(),
        ) {
            let index = if is_inline { IndexTop::Inline(vec![1]) } else { leaves() };
            let whole = manifest(index);
            let mut bytes = whole.encode();
            prop_assert_eq!(Manifest::decode(&bytes), Ok(whole));
            let at = at.index(bytes.len());
            match is_cut {
                true => bytes.truncate(at),
                false => bytes[at] ^= bits,
            }
            prop_assert!(Manifest::decode(&bytes).is_err());
        }

        #[test]
        fn any_bytes_with_a_right_checksum_are_safe_to_decode(
            body in prop::collection::vec(any::<u8>(), 0..300),
        ) {
            let mut bytes = manifest(leaves()).encode();
            bytes.truncate(82);
            bytes.extend_from_slice(&body);
            let sum = checksum(&bytes);
            bytes[CHECKSUM].copy_from_slice(&sum.to_le_bytes());
            if let Ok(manifest) = Manifest::decode(&bytes) {
                let _ = manifest.inline_leaf();
                prop_assert_eq!(Manifest::decode(&manifest.encode()), Ok(manifest));
            }
        }
    }
}
