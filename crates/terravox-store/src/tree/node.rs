//! Nodes of the tree as bytes, and references to nodes and values.
//!
//! A node is a sorted run of items. In a leaf (level 0) an item is a key and its value, either
//! inline or a reference; in a branch it is the lowest key of a child and a reference to it.

use super::fault::TreeError;
use std::borrow::Cow;
use std::ops::Range;
use xxhash_rust::xxh3::xxh3_64_with_seed;

/// Where nodes and values begin: after the header.
pub(crate) const DATA_START: u64 = 16384;

/// Nodes and values begin at multiples of this.
pub(crate) const GRAIN_BYTES: u64 = 64;

/// Longest key: a table byte and a name.
pub(crate) const MAX_KEY_BYTES: usize = 256;

/// Longest value that is stored in its leaf.
pub(crate) const MAX_INLINE_BYTES: usize = 96;

/// Longest value.
pub(crate) const MAX_LONG_VALUE_BYTES: usize = 1 << 27;

/// Nodes are split so that none is longer, but for its last item.
pub(crate) const TARGET_NODE_BYTES: usize = 4096;

/// Longest node that is read.
pub(crate) const MAX_NODE_BYTES: usize = 16384;

/// Highest level; a branch of 50 children at each of them would hold more than any file.
pub(crate) const MAX_LEVEL: u8 = 16;

/// Level, a zero, number of items, length of the common prefix of all keys.
const NODE_HEADER_BYTES: usize = 6;

/// Bytes of a [`NodeRef`].
pub(crate) const NODE_REF_BYTES: usize = 28;

/// Bytes of a [`ValueRef`].
const VALUE_REF_BYTES: usize = 20;

/// In the first two bytes of an item: the low bits are the length of the key without the prefix,
/// the others the length of an inline value.
const SUFFIX_BITS: u32 = 9;

/// The inline length that says that a reference follows.
const STORED: u16 = 127;

/// Offsets beyond this are invalid, so that sums never overflow.
const MAX_OFFSET: u64 = 1 << 60;

/// Bytes that `length` bytes take in the file.
pub(crate) fn grains(length: u64) -> u64 {
    length.div_ceil(GRAIN_BYTES) * GRAIN_BYTES
}

/// Checksum of the bytes of a node or a value of the world `id`.
pub(crate) fn checksum_in(id: u64, bytes: &[u8]) -> u64 {
    xxh3_64_with_seed(bytes, id)
}

fn is_valid_offset(offset: u64) -> bool {
    (DATA_START..MAX_OFFSET).contains(&offset) && offset.is_multiple_of(GRAIN_BYTES)
}

/// A value outside its leaf.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ValueRef {
    pub offset: u64,
    pub length: u32,
    pub checksum: u64,
}

/// A node, in two copies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct NodeRef {
    pub copies: [u64; 2],
    pub length: u32,
    pub checksum: u64,
}

impl NodeRef {
    pub fn put(&self, out: &mut Vec<u8>) {
        self.copies.iter().for_each(|offset| out.extend(offset.to_le_bytes()));
        out.extend(self.length.to_le_bytes());
        out.extend(self.checksum.to_le_bytes());
    }

    /// The reference in these bytes; `None` if it is invalid.
    pub fn take(bytes: &[u8; NODE_REF_BYTES]) -> Option<NodeRef> {
        let node = NodeRef {
            copies: [u64_at(bytes, 0), u64_at(bytes, 8)],
            length: u32_at(bytes, 16),
            checksum: u64_at(bytes, 20),
        };
        let fits = (NODE_HEADER_BYTES..=MAX_NODE_BYTES).contains(&(node.length as usize));
        (fits && node.copies.into_iter().all(is_valid_offset)).then_some(node)
    }
}

impl ValueRef {
    fn put(&self, out: &mut Vec<u8>) {
        out.extend(self.offset.to_le_bytes());
        out.extend(self.length.to_le_bytes());
        out.extend(self.checksum.to_le_bytes());
    }

    fn take(bytes: &[u8; VALUE_REF_BYTES]) -> Option<ValueRef> {
        let value = ValueRef {
            offset: u64_at(bytes, 0),
            length: u32_at(bytes, 8),
            checksum: u64_at(bytes, 12),
        };
        let fits = (MAX_INLINE_BYTES + 1..=MAX_LONG_VALUE_BYTES).contains(&(value.length as usize));
        (fits && is_valid_offset(value.offset)).then_some(value)
    }
}

pub(crate) fn u64_at(bytes: &[u8], at: usize) -> u64 {
    let mut number = [0; 8];
    number.copy_from_slice(&bytes[at..at + 8]);
    u64::from_le_bytes(number)
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    let mut number = [0; 4];
    number.copy_from_slice(&bytes[at..at + 4]);
    u32::from_le_bytes(number)
}

/// Keys from `low` up to `high`, which is outside; up to the last one if there is none.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct KeySpan {
    pub low: Vec<u8>,
    pub high: Option<Vec<u8>>,
}

impl KeySpan {
    pub fn contains(&self, key: &[u8]) -> bool {
        *self.low <= *key && self.high.as_deref().is_none_or(|high| key < high)
    }
}

/// What a key leads to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum NodeContent<'a> {
    /// A short value.
    Inline(Cow<'a, [u8]>),
    /// A long value.
    Stored(ValueRef),
    /// In a branch, a node one level below.
    Child(NodeRef),
}

impl NodeContent<'_> {
    pub fn into_owned(self) -> NodeContent<'static> {
        match self {
            NodeContent::Inline(bytes) => NodeContent::Inline(Cow::Owned(bytes.into_owned())),
            NodeContent::Stored(value) => NodeContent::Stored(value),
            NodeContent::Child(node) => NodeContent::Child(node),
        }
    }

    /// Bytes of a value.
    pub fn value_bytes(&self) -> u64 {
        match self {
            NodeContent::Inline(bytes) => bytes.len() as u64,
            NodeContent::Stored(value) => value.length.into(),
            NodeContent::Child(_) => 0,
        }
    }

    /// Bytes in a node.
    fn node_bytes(&self) -> usize {
        match self {
            NodeContent::Inline(bytes) => bytes.len(),
            NodeContent::Stored(_) => VALUE_REF_BYTES,
            NodeContent::Child(_) => NODE_REF_BYTES,
        }
    }
}

/// An item outside a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct OwnedItem {
    pub key: Vec<u8>,
    pub content: NodeContent<'static>,
}

/// A node whose bytes were checked.
#[derive(Debug)]
pub(crate) struct TreeNode {
    pub level: u8,
    bytes: Vec<u8>,
    /// All keys, one after the other.
    keys: Vec<u8>,
    items: Vec<ItemPlace>,
}

/// Where the parts of an item are.
#[derive(Clone, Debug)]
struct ItemPlace {
    key: Range<usize>,
    inline: Range<usize>,
    reference: Option<ItemRef>,
}

#[derive(Clone, Copy, Debug)]
enum ItemRef {
    Value(ValueRef),
    Node(NodeRef),
}

impl TreeNode {
    pub fn len(&self) -> usize {
        self.items.len()
    }

    /// Work of decoding it, in units of about a nanosecond. Its keys share a prefix, so they may be
    /// a hundred times as long as its bytes.
    pub fn decode_work(&self) -> u64 {
        const ITEM_UNITS: usize = 20;
        (self.keys.len() / 4 + ITEM_UNITS * self.items.len()) as u64
    }

    pub fn key(&self, i: usize) -> &[u8] {
        &self.keys[self.items[i].key.clone()]
    }

    pub fn content(&self, i: usize) -> NodeContent<'_> {
        let item = &self.items[i];
        match item.reference {
            Some(ItemRef::Value(value)) => NodeContent::Stored(value),
            Some(ItemRef::Node(node)) => NodeContent::Child(node),
            None => NodeContent::Inline(Cow::Borrowed(&self.bytes[item.inline.clone()])),
        }
    }

    pub fn item(&self, i: usize) -> OwnedItem {
        OwnedItem { key: self.key(i).to_owned(), content: self.content(i).into_owned() }
    }

    /// Number of items whose key is below `key`.
    pub fn count_below(&self, key: &[u8]) -> usize {
        self.items.partition_point(|item| self.keys[item.key.clone()] < *key)
    }

    /// In a branch, the child whose span holds `key`; `None` if it is below all of them.
    pub fn child_of(&self, key: &[u8]) -> Option<usize> {
        self.items.partition_point(|item| self.keys[item.key.clone()] <= *key).checked_sub(1)
    }

    /// The child with the number `i` and its span, in a branch of this span.
    pub fn child(&self, i: usize, span: &KeySpan) -> Option<(NodeRef, KeySpan)> {
        let Some(ItemRef::Node(node)) = self.items[i].reference else { return None };
        let next = (i + 1 < self.len()).then(|| self.key(i + 1).to_owned());
        let high = next.or_else(|| span.high.clone());
        Some((node, KeySpan { low: self.key(i).to_owned(), high }))
    }

    /// Checks the bytes of a node whose checksum is right. Its level must be `level` if that is
    /// given, and its keys must ascend within `span`: then nothing is reached twice.
    pub fn decode(
        bytes: Vec<u8>,
        level: Option<u8>,
        span: &KeySpan,
    ) -> Result<TreeNode, TreeError> {
        let invalid = Err(TreeError::Damaged("a part of the index is malformed"));
        let mut fields = NodeBytes { bytes: &bytes, at: 0 };
        let (Some([own_level, 0]), Some(count), Some(prefix)) =
            (fields.take::<2>(), fields.u16(), fields.u16())
        else {
            return invalid;
        };
        if own_level > MAX_LEVEL || level.is_some_and(|level| level != own_level) || count == 0 {
            return invalid;
        }
        let Some(prefix) = fields.range(usize::from(prefix)) else { return invalid };
        let mut keys = Vec::with_capacity(bytes.len());
        let mut items: Vec<ItemPlace> = Vec::with_capacity(usize::from(count).min(bytes.len() / 2));
        for _ in 0..count {
            let Some(item) = fields.item(own_level, prefix.clone(), &mut keys) else {
                return invalid;
            };
            let key = &keys[item.key.clone()];
            let ascends = items.last().is_none_or(|last| keys[last.key.clone()] < *key);
            if !ascends || key.len() > MAX_KEY_BYTES || !span.contains(key) {
                return invalid;
            }
            items.push(item);
        }
        if fields.at != bytes.len() {
            return invalid;
        }
        Ok(TreeNode { level: own_level, bytes, keys, items })
    }
}

/// Reads consecutive fields of a node, never beyond its end.
struct NodeBytes<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl NodeBytes<'_> {
    fn range(&mut self, length: usize) -> Option<Range<usize>> {
        let end = self.at.checked_add(length).filter(|&end| end <= self.bytes.len())?;
        let range = self.at..end;
        self.at = end;
        Some(range)
    }

    fn take<const N: usize>(&mut self) -> Option<[u8; N]> {
        let range = self.range(N)?;
        self.bytes[range].first_chunk::<N>().copied()
    }

    fn u16(&mut self) -> Option<u16> {
        self.take().map(u16::from_le_bytes)
    }

    fn item(&mut self, level: u8, prefix: Range<usize>, keys: &mut Vec<u8>) -> Option<ItemPlace> {
        let head = self.u16()?;
        let (suffix, inline) = (head & ((1 << SUFFIX_BITS) - 1), head >> SUFFIX_BITS);
        let suffix = self.range(suffix.into())?;
        let key = keys.len()..keys.len() + prefix.len() + suffix.len();
        keys.extend_from_slice(&self.bytes[prefix]);
        keys.extend_from_slice(&self.bytes[suffix]);
        let (inline, reference) = match (level, inline) {
            (0, STORED) => (0..0, Some(ItemRef::Value(ValueRef::take(&self.take()?)?))),
            (0, length) if usize::from(length) <= MAX_INLINE_BYTES => {
                (self.range(length.into())?, None)
            }
            (1.., STORED) => (0..0, Some(ItemRef::Node(NodeRef::take(&self.take()?)?))),
            _ => return None,
        };
        Some(ItemPlace { key, inline, reference })
    }
}

/// The bytes of a node of sorted items.
pub(crate) fn encode_node(level: u8, items: &[OwnedItem]) -> Vec<u8> {
    let prefix = common_prefix(items);
    let mut out = vec![level, 0];
    out.extend((items.len() as u16).to_le_bytes());
    out.extend((prefix as u16).to_le_bytes());
    out.extend_from_slice(items.first().map_or(&[], |item| &item.key[..prefix]));
    for OwnedItem { key, content } in items {
        let inline = match content {
            NodeContent::Inline(bytes) => bytes.len() as u16,
            _ => STORED,
        };
        out.extend((inline << SUFFIX_BITS | (key.len() - prefix) as u16).to_le_bytes());
        out.extend_from_slice(&key[prefix..]);
        match content {
            NodeContent::Inline(bytes) => out.extend_from_slice(bytes),
            NodeContent::Stored(value) => value.put(&mut out),
            NodeContent::Child(node) => node.put(&mut out),
        }
    }
    out
}

/// Length of the longest prefix that the keys of sorted items share.
fn common_prefix(items: &[OwnedItem]) -> usize {
    let [first, .., last] = items else { return items.first().map_or(0, |item| item.key.len()) };
    first.key.iter().zip(&last.key).take_while(|(a, b)| a == b).count()
}

/// Splits sorted items into runs of about equal length, each of a node.
pub(crate) fn split_items(items: Vec<OwnedItem>) -> Vec<Vec<OwnedItem>> {
    // The runs may share longer prefixes; they are then shorter.
    let prefix = common_prefix(&items);
    let bytes_of = |item: &OwnedItem| 2 + item.key.len() - prefix + item.content.node_bytes();
    let total: usize = items.iter().map(bytes_of).sum();
    let runs = total.div_ceil(TARGET_NODE_BYTES - NODE_HEADER_BYTES - prefix).max(1);
    let target = total.div_ceil(runs);
    let mut out: Vec<Vec<OwnedItem>> = Vec::with_capacity(runs);
    let mut room = 0;
    for item in items {
        let bytes = bytes_of(&item);
        match out.last_mut() {
            Some(run) if room > 0 => run.push(item),
            _ => {
                out.push(vec![item]);
                room = target;
            }
        }
        room = room.saturating_sub(bytes);
    }
    out
}
