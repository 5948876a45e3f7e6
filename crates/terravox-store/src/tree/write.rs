//! Changing a tree: changes are collected, then merged into the nodes that they touch.
//!
//! Long values are written at once, into free space; nodes when the change is committed, from the
//! leaves up. Nothing that a state uses is overwritten, so until the header names the new root
//! nothing has happened.

use super::fault::TreeError;
use super::header::TreeState;
use super::node::{
    KeySpan, MAX_INLINE_BYTES, MAX_KEY_BYTES, MAX_LONG_VALUE_BYTES, NodeContent, NodeRef,
    OwnedItem, TARGET_NODE_BYTES, TreeNode, ValueRef, checksum_in, encode_node, split_items,
};
use super::space::{Extent, FreeSpace};
use super::walk::{ReadTree, TreeReader};
use crate::disk::Disk;
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::ops::Bound;
use std::sync::MutexGuard;

/// Runs of items shorter than this are joined with the next node.
const MIN_NODE_BYTES: usize = TARGET_NODE_BYTES / 4;

/// What only the writer knows.
#[derive(Debug, Default)]
pub(crate) struct WriterState {
    /// `None` until the first write.
    pub space: Option<FreeSpace>,
    /// Whether the header of the current state is durable for certain.
    pub is_header_durable: bool,
    /// A state of which it is unknown whether it is durable.
    pub unsure: Option<UnsureState>,
}

/// A state whose nodes are durable, and whose header may be.
#[derive(Debug)]
pub(crate) struct UnsureState {
    pub state: TreeState,
    /// Space that the state before uses and this one does not.
    replaced: Vec<Extent>,
}

impl WriterState {
    /// Called when a state is durable: what it replaced is used by older ones only.
    fn settle(&mut self, state: &TreeState, replaced: Vec<Extent>) {
        if let Some(space) = &mut self.space {
            let last_use = state.sequence - 1;
            replaced.into_iter().for_each(|extent| space.retire(extent, last_use));
        }
    }

    /// Writes the header of the unsure state again, if there is one, and returns that state. Its
    /// nodes were synced before, so that after another sync it is durable, whatever failed.
    pub fn resolve(&mut self, disk: &dyn Disk) -> io::Result<Option<TreeState>> {
        let Some(unsure) = &self.unsure else { return Ok(None) };
        unsure.state.write(disk)?;
        disk.sync()?;
        let Some(UnsureState { state, replaced }) = self.unsure.take() else { return Ok(None) };
        self.settle(&state, replaced);
        Ok(Some(state))
    }
}

/// New contents by key; `None` removes.
type TreeChange = (Vec<u8>, Option<NodeContent<'static>>);

/// Changes to a tree. Dropping it forgets them.
pub(crate) struct Transaction<'a> {
    pub base: TreeReader,
    pub writer: MutexGuard<'a, WriterState>,
    changes: BTreeMap<Vec<u8>, Option<NodeContent<'static>>>,
    /// Space that the new state uses and the base does not.
    allocated: BTreeSet<Extent>,
    /// Space that the base uses and the new state does not.
    replaced: Vec<Extent>,
    entries: u64,
    payload_bytes: u64,
}

impl Drop for Transaction<'_> {
    fn drop(&mut self) {
        for extent in std::mem::take(&mut self.allocated) {
            self.give_back(extent);
        }
    }
}

impl<'a> Transaction<'a> {
    /// Changes on top of `base`, whose free space is known.
    pub fn new(base: TreeReader, writer: MutexGuard<'a, WriterState>) -> Transaction<'a> {
        let (entries, payload_bytes) = (base.state.entries, base.state.payload_bytes);
        let (changes, allocated, replaced) = (BTreeMap::new(), BTreeSet::new(), Vec::new());
        Transaction { base, writer, changes, allocated, replaced, entries, payload_bytes }
    }

    /// Whether there is nothing to commit.
    pub fn is_empty(&self) -> bool {
        self.changes.is_empty()
    }

    fn space(&mut self) -> Result<&mut FreeSpace, TreeError> {
        self.writer.space.as_mut().ok_or(TreeError::NeedsRepair("the free space is unknown"))
    }

    fn give_back(&mut self, extent: Extent) {
        if let Some(space) = &mut self.writer.space {
            space.free(extent);
        }
    }

    /// Stores a value under a key.
    ///
    /// # Errors
    /// If a long value cannot be written.
    ///
    /// # Panics
    /// If key or value are longer than any.
    pub fn put(&mut self, key: &[u8], value: &[u8]) -> Result<(), TreeError> {
        assert!(key.len() <= MAX_KEY_BYTES, "a key of {} bytes", key.len());
        assert!(value.len() <= MAX_LONG_VALUE_BYTES, "a value of {} bytes", value.len());
        let content = match value.len() {
            0..=MAX_INLINE_BYTES => NodeContent::Inline(Cow::Owned(value.to_owned())),
            _ => {
                let extent = self.space()?.allocate(value.len() as u32);
                self.allocated.insert(extent);
                self.base.disk.write_at(extent.offset, value)?;
                let (length, checksum) =
                    (value.len() as u32, checksum_in(self.base.state.id, value));
                NodeContent::Stored(ValueRef { offset: extent.offset, length, checksum })
            }
        };
        self.change(key, Some(content));
        Ok(())
    }

    /// Removes a key; returns whether it was there.
    ///
    /// # Errors
    /// If its leaf cannot be read.
    pub fn remove(&mut self, key: &[u8]) -> Result<bool, TreeError> {
        let is_there = self.content(key)?.is_some();
        if is_there {
            self.change(key, None);
        }
        Ok(is_there)
    }

    fn change(&mut self, key: &[u8], content: Option<NodeContent<'static>>) {
        if let Some(Some(NodeContent::Stored(value))) = self.changes.insert(key.to_owned(), content)
        {
            // Written earlier in this transaction, so that no state uses it.
            let extent = Extent::of(value.offset, value.length);
            self.allocated.remove(&extent);
            self.give_back(extent);
        }
    }

    fn content(&self, key: &[u8]) -> Result<Option<NodeContent<'static>>, TreeError> {
        match self.changes.get(key) {
            Some(content) => Ok(content.clone()),
            None => self.base.find(key),
        }
    }

    /// Writes the nodes of the new state and returns it. It is not durable, and no header names
    /// it.
    ///
    /// # Errors
    /// If a node cannot be read or written.
    pub fn build(&mut self) -> Result<TreeState, TreeError> {
        let changes: Vec<TreeChange> = std::mem::take(&mut self.changes).into_iter().collect();
        let (mut level, mut items) = match self.base.state.root {
            Some(root) => self.rewrite(&root, None, &KeySpan::default(), &changes)?,
            None => (0, self.merge_leaf(None, &changes)),
        };
        let root = loop {
            if let [OwnedItem { content: NodeContent::Child(child), .. }] = items[..] {
                break Some(child);
            }
            if items.is_empty() {
                break None;
            }
            items = self.write_nodes(level, items)?;
            level += 1;
        };
        let TreeState { id, sequence, .. } = self.base.state;
        let (entries, payload_bytes) = (self.entries, self.payload_bytes);
        let end = self.space()?.end();
        Ok(TreeState { id, sequence: sequence + 1, end, root, entries, payload_bytes })
    }

    /// Called when the state of [`Transaction::build`] is durable: its space is in use.
    pub fn settle(&mut self, state: &TreeState) {
        self.allocated.clear();
        self.writer.settle(state, std::mem::take(&mut self.replaced));
    }

    /// Called when it is unknown whether the state of [`Transaction::build`] is durable: neither its
    /// space nor that of the state before is used for anything else.
    pub fn keep_unsure(&mut self, state: TreeState) {
        self.allocated.clear();
        let replaced = std::mem::take(&mut self.replaced);
        self.writer.unsure = Some(UnsureState { state, replaced });
    }

    /// The items of a node after the changes, with their level. The node itself is given up.
    fn rewrite(
        &mut self,
        at: &NodeRef,
        level: Option<u8>,
        span: &KeySpan,
        changes: &[TreeChange],
    ) -> Result<(u8, Vec<OwnedItem>), TreeError> {
        let node = self.base.node(at, level, span)?;
        self.replaced.extend(at.copies.map(|offset| Extent::of(offset, at.length)));
        match node.level {
            0 => Ok((0, self.merge_leaf(Some(&node), changes))),
            level => Ok((level, self.children(&node, span, changes)?)),
        }
    }

    /// The children of a branch after the changes. Those that became short are joined with the
    /// next.
    fn children(
        &mut self,
        node: &TreeNode,
        span: &KeySpan,
        mut changes: &[TreeChange],
    ) -> Result<Vec<OwnedItem>, TreeError> {
        let below = node.level - 1;
        let (mut children, mut run) = (Vec::with_capacity(node.len() + 1), Vec::new());
        for i in 0..node.len() {
            let Some((at, mut child_span)) = node.child(i, span) else { continue };
            if i == 0 {
                // Keys below the first child's go there.
                child_span.low.clone_from(&span.low);
            }
            let high = child_span.high.as_deref();
            let count = changes.partition_point(|(key, _)| high.is_none_or(|high| **key < *high));
            let (own, rest) = changes.split_at(count);
            changes = rest;
            if own.is_empty() && (run.is_empty() || encoded_length(&run) >= MIN_NODE_BYTES) {
                children.extend(self.write_nodes(below, std::mem::take(&mut run))?);
                children.push(node.item(i));
                continue;
            }
            run.extend(self.rewrite(&at, Some(below), &child_span, own)?.1);
        }
        children.extend(self.write_nodes(below, run)?);
        Ok(children)
    }

    /// The entries of a leaf after the changes.
    fn merge_leaf(&mut self, leaf: Option<&TreeNode>, changes: &[TreeChange]) -> Vec<OwnedItem> {
        let mut items = Vec::with_capacity(leaf.map_or(0, TreeNode::len) + changes.len());
        let mut changes = changes.iter().peekable();
        for i in 0..leaf.map_or(0, TreeNode::len) {
            let Some(item) = leaf.map(|leaf| leaf.item(i)) else { break };
            while let Some((key, content)) = changes.next_if(|(key, _)| *key < item.key) {
                self.add(key, content, &mut items);
            }
            match changes.next_if(|(key, _)| *key == item.key) {
                Some((key, content)) => {
                    self.drop_entry(&item);
                    self.add(key, content, &mut items);
                }
                None => items.push(item),
            }
        }
        for (key, content) in changes {
            self.add(key, content, &mut items);
        }
        items
    }

    fn add(
        &mut self,
        key: &[u8],
        content: &Option<NodeContent<'static>>,
        items: &mut Vec<OwnedItem>,
    ) {
        let Some(content) = content else { return };
        // The counts of a hostile header may be anything.
        self.entries = self.entries.saturating_add(1);
        let bytes = key.len() as u64 + content.value_bytes();
        self.payload_bytes = self.payload_bytes.saturating_add(bytes);
        items.push(OwnedItem { key: key.to_owned(), content: content.clone() });
    }

    fn drop_entry(&mut self, item: &OwnedItem) {
        self.entries = self.entries.saturating_sub(1);
        let bytes = item.key.len() as u64 + item.content.value_bytes();
        self.payload_bytes = self.payload_bytes.saturating_sub(bytes);
        if let NodeContent::Stored(value) = &item.content {
            self.replaced.push(Extent::of(value.offset, value.length));
        }
    }

    /// Writes items as nodes and returns the items of their parent.
    fn write_nodes(
        &mut self,
        level: u8,
        items: Vec<OwnedItem>,
    ) -> Result<Vec<OwnedItem>, TreeError> {
        if items.is_empty() {
            return Ok(items);
        }
        let mut parents = Vec::new();
        for run in split_items(items) {
            let bytes = encode_node(level, &run);
            let length = bytes.len() as u32;
            let space = self.space()?;
            let first = space.allocate(length);
            let second = space.allocate_apart(length, first);
            self.allocated.extend([first, second]);
            for copy in [first, second] {
                self.base.disk.write_at(copy.offset, &bytes)?;
            }
            let checksum = checksum_in(self.base.state.id, &bytes);
            let node = NodeRef { copies: [first.offset, second.offset], length, checksum };
            let Some(OwnedItem { key, .. }) = run.into_iter().next() else { continue };
            parents.push(OwnedItem { key, content: NodeContent::Child(node) });
        }
        Ok(parents)
    }
}

/// Bytes of a node of these items.
fn encoded_length(items: &[OwnedItem]) -> usize {
    encode_node(0, items).len()
}

impl ReadTree for Transaction<'_> {
    fn get(&self, key: &[u8], out: &mut Vec<u8>) -> Result<bool, TreeError> {
        match self.content(key)? {
            Some(content) => self.base.value(&content, out).map(|()| true),
            None => Ok(false),
        }
    }

    fn keys(&self, low: &[u8], high: &[u8]) -> Result<Vec<Vec<u8>>, TreeError> {
        if low >= high {
            return Ok(Vec::new());
        }
        let mut keys = self.base.keys(low, high)?;
        keys.retain(|key| !self.changes.contains_key(key));
        let span = (Bound::Included(low), Bound::Excluded(high));
        let added = self.changes.range::<[u8], _>(span).filter(|(_, content)| content.is_some());
        keys.extend(added.map(|(key, _)| key.clone()));
        keys.sort_unstable();
        Ok(keys)
    }
}
