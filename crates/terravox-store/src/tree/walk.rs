//! Reading a tree: by key, in order, and every part of it.
//!
//! A node is read from its first copy that is whole. Its keys must lie in the span that its parent
//! gives, and its level must be one below, so a walk ends on any file and meets nothing twice.

use super::fault::TreeError;
use super::header::TreeState;
use super::node::{
    KeySpan, MAX_LEVEL, NodeContent, NodeRef, OwnedItem, TreeNode, ValueRef, checksum_in, grains,
};
use super::space::Extent;
use crate::disk::Disk;
use crate::value::longest_value;
use std::collections::HashSet;
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// Reads from a tree or from a change to it.
pub(crate) trait ReadTree {
    /// Replaces `out` with the value of a key; returns `false` if there is none.
    fn get(&self, key: &[u8], out: &mut Vec<u8>) -> Result<bool, TreeError>;

    /// The keys from `low` up to `high`, which is outside.
    fn keys(&self, low: &[u8], high: &[u8]) -> Result<Vec<Vec<u8>>, TreeError>;
}

/// One state of a tree.
#[derive(Clone)]
pub(crate) struct TreeReader {
    pub disk: Arc<dyn Disk>,
    pub state: TreeState,
    recent: Arc<Mutex<Vec<RecentNode>>>,
    /// Work of reads since [`TreeReader::take_read_work`].
    read_work: Arc<AtomicU64>,
}

/// Work of a read of any length, in units of about a nanosecond; a byte is one more, read and
/// summed.
const READ_UNITS: u64 = 500;

/// Nodes that searches met last and that stay in memory: most searches are near the one before. So
/// many that the ways to two keys of the highest tree stay.
const RECENT_NODES: usize = 2 * (MAX_LEVEL as usize + 1);

/// Most memory of the keys that one call lists: in a node they share a prefix, so they may be a
/// hundred times as long as the file.
const MAX_LISTED_KEY_BYTES: usize = 1 << 26;

/// A node that a search visited, with its reference and the keys that it may hold.
struct RecentNode {
    at: NodeRef,
    span: KeySpan,
    node: Arc<TreeNode>,
}

/// A part of the tree that cannot be read.
#[derive(Debug)]
pub(crate) struct LostSpan {
    /// The keys that lie in it.
    pub span: KeySpan,
    pub what: TreeError,
}

/// A node, the next of its items, and its span.
struct ScanFrame {
    node: TreeNode,
    next: usize,
    span: KeySpan,
}

/// The entries of a span in order, without the values that are long.
pub(crate) struct Scan<'a> {
    reader: &'a TreeReader,
    low: Vec<u8>,
    high: Option<Vec<u8>>,
    stack: Vec<ScanFrame>,
    /// The root, until it is read.
    root: Option<NodeRef>,
    /// Bytes that may still be read: all parts together fit into the file.
    budget: u64,
}

/// What is wrong in a tree.
#[derive(Debug)]
pub(crate) enum TreeDamage {
    /// One copy of the header; the other is whole.
    HeaderCopy,
    /// One copy of a node; the other is whole.
    NodeCopy,
    /// Both copies of a node, and everything below.
    Node(LostSpan),
    /// A value.
    Value { key: Vec<u8>, what: TreeError },
    /// The space of its parts, or the number of its state, is invalid, and this says why.
    Space(&'static str),
}

impl TreeReader {
    pub fn new(disk: Arc<dyn Disk>, state: TreeState) -> TreeReader {
        TreeReader { disk, state, recent: Arc::default(), read_work: Arc::default() }
    }

    /// Returns the work of all reads since the last call: of nodes, but for those in memory, and of
    /// long values.
    pub fn take_read_work(&self) -> u64 {
        self.read_work.swap(0, Ordering::Relaxed)
    }

    /// Reads from the disk, and counts it.
    fn read_at(&self, offset: u64, bytes: &mut [u8]) -> Result<(), TreeError> {
        self.read_work.fetch_add(READ_UNITS + bytes.len() as u64, Ordering::Relaxed);
        self.disk.read_at(offset, bytes).map_err(TreeError::of_read)
    }

    /// A node on the way to a key.
    fn searched(
        &self,
        at: &NodeRef,
        level: Option<u8>,
        span: &KeySpan,
    ) -> Result<Arc<TreeNode>, TreeError> {
        let lock = || self.recent.lock().unwrap_or_else(PoisonError::into_inner);
        let is_it = |recent: &RecentNode| {
            let fits = level.is_none_or(|level| level == recent.node.level);
            fits && recent.at == *at && recent.span == *span
        };
        let mut recent = lock();
        if let Some(i) = recent.iter().position(is_it) {
            // The one met last is the last to go.
            recent[..=i].rotate_right(1);
            return Ok(recent[0].node.clone());
        }
        drop(recent);
        let node = Arc::new(self.node(at, level, span)?);
        let mut recent = lock();
        recent.insert(0, RecentNode { at: *at, span: span.clone(), node: node.clone() });
        recent.truncate(RECENT_NODES);
        Ok(node)
    }

    fn read_copy(&self, node: &NodeRef, copy: usize) -> Result<Vec<u8>, TreeError> {
        let mut bytes = vec![0; node.length as usize];
        self.read_at(node.copies[copy], &mut bytes)?;
        match checksum_in(self.state.id, &bytes) == node.checksum {
            true => Ok(bytes),
            false => Err(TreeError::Damaged("a part of the index is damaged")),
        }
    }

    /// Reads a node from its first whole copy.
    pub fn node(
        &self,
        node: &NodeRef,
        level: Option<u8>,
        span: &KeySpan,
    ) -> Result<TreeNode, TreeError> {
        let bytes = self.read_copy(node, 0).or_else(|_| self.read_copy(node, 1))?;
        let node = TreeNode::decode(bytes, level, span)?;
        self.read_work.fetch_add(node.decode_work(), Ordering::Relaxed);
        Ok(node)
    }

    /// Takes the bytes of a part from the budget of a walk, before anything is read: honest parts
    /// together are no longer than the file. Those beyond its end cost nothing.
    fn spend(&self, budget: &mut u64, places: &[u64], length: u32) -> Result<(), TreeError> {
        let file_end = self.disk.length()?;
        if places.iter().all(|offset| offset + u64::from(length) > file_end) {
            return Err(TreeError::of_read(io::ErrorKind::UnexpectedEof.into()));
        }
        let left = budget.checked_sub(length.into());
        *budget = left.ok_or(TreeError::Damaged("it shares its bytes with another part"))?;
        Ok(())
    }

    fn spend_value(&self, budget: &mut u64, content: &NodeContent<'_>) -> Result<(), TreeError> {
        match content {
            NodeContent::Stored(value) => self.spend(budget, &[value.offset], value.length),
            _ => Ok(()),
        }
    }

    /// The budget of a walk.
    fn file_bytes(&self) -> u64 {
        self.disk.length().unwrap_or(0)
    }

    /// Replaces `out` with a long value.
    fn stored(&self, value: &ValueRef, out: &mut Vec<u8>) -> Result<(), TreeError> {
        out.clear();
        // Before memory is taken: the length may be anything.
        let end = value.offset + u64::from(value.length);
        if end > self.disk.length()? {
            return Err(TreeError::of_read(io::ErrorKind::UnexpectedEof.into()));
        }
        out.resize(value.length as usize, 0);
        self.read_at(value.offset, out)?;
        match checksum_in(self.state.id, out) == value.checksum {
            true => Ok(()),
            false => Err(TreeError::Damaged(
                "the checksum does not match: the data changed after it was written",
            )),
        }
    }

    /// Replaces `out` with a value.
    pub fn value(&self, content: &NodeContent<'_>, out: &mut Vec<u8>) -> Result<(), TreeError> {
        match content {
            NodeContent::Inline(bytes) => {
                out.clear();
                out.extend_from_slice(bytes);
                Ok(())
            }
            NodeContent::Stored(value) => self.stored(value, out),
            NodeContent::Child(_) => Err(TreeError::Damaged("it is a part of the index")),
        }
    }

    /// The content of a key in its leaf.
    pub fn find(&self, key: &[u8]) -> Result<Option<NodeContent<'static>>, TreeError> {
        let (Some(mut at), mut level) = (self.state.root, None) else { return Ok(None) };
        let mut span = KeySpan::default();
        loop {
            let node = self.searched(&at, level, &span)?;
            if node.level == 0 {
                let i = node.count_below(key);
                let is_here = i < node.len() && node.key(i) == key;
                return Ok(is_here.then(|| node.content(i).into_owned()));
            }
            let Some(child) = node.child_of(key).and_then(|i| node.child(i, &span)) else {
                return Ok(None);
            };
            level = Some(node.level - 1);
            (at, span) = child;
        }
    }

    /// The entries from `low` up to `high`, which is outside; up to the last if there is none.
    pub fn scan(&self, low: &[u8], high: Option<&[u8]>) -> Scan<'_> {
        let high = high.map(<[u8]>::to_owned);
        let (low, root) = (low.to_owned(), self.state.root);
        Scan { reader: self, low, high, stack: Vec::new(), root, budget: self.file_bytes() }
    }

    /// Calls `visit` with every node, parents first, or with why it cannot be read. Skips nodes
    /// that `is_wanted` rejects, with everything below.
    fn visit_nodes(
        &self,
        mut is_wanted: impl FnMut(&NodeRef) -> bool,
        mut visit: impl FnMut(&NodeRef, &KeySpan, Result<&TreeNode, TreeError>),
    ) {
        let mut stack: Vec<ScanFrame> = Vec::new();
        let mut next = self.state.root.map(|root| (root, None, KeySpan::default()));
        let mut budget = self.file_bytes();
        loop {
            if let Some((at, level, span)) = next.take()
                && is_wanted(&at)
            {
                let node = self.spend(&mut budget, &at.copies, at.length);
                match node.and_then(|()| self.node(&at, level, &span)) {
                    Ok(node) => {
                        visit(&at, &span, Ok(&node));
                        stack.push(ScanFrame { node, next: 0, span });
                    }
                    Err(what) => visit(&at, &span, Err(what)),
                }
            }
            let Some(frame) = stack.last_mut() else { return };
            if frame.node.level == 0 || frame.next == frame.node.len() {
                stack.pop();
                continue;
            }
            let child = frame.node.child(frame.next, &frame.span);
            frame.next += 1;
            let level = Some(frame.node.level - 1);
            next = child.map(|(at, span)| (at, level, span));
        }
    }

    /// All space that this state uses, in order.
    ///
    /// # Errors
    /// If a part of the tree cannot be read, or two parts overlap, or the file is too short.
    pub fn used(&self) -> Result<UsedSpace, TreeError> {
        // Free space at the end may be missing. The last part need not fill its grain.
        let end = self.state.end.min(grains(self.disk.length()?));
        let mut used = UsedSpace::default();
        let mut lost = None;
        self.visit_nodes(
            |_| true,
            |at, _, node| match node {
                Ok(node) => used.add(at, node),
                Err(what) => lost = Some(what),
            },
        );
        match lost {
            Some(TreeError::Io(error)) => Err(TreeError::Io(error)),
            Some(_) => Err(TreeError::NeedsRepair("a part of the index is damaged")),
            None => used.sorted(end).map_err(TreeError::NeedsRepair),
        }
    }

    /// Returns the space that this older state uses and a newer one does not, as far as it can be
    /// read.
    pub fn used_besides(&self, newer: &UsedSpace) -> Vec<Extent> {
        let mut used = UsedSpace::default();
        self.visit_nodes(
            |at| !newer.nodes.contains(&at.copies[0]),
            |at, _, node| {
                if let Ok(node) = node {
                    used.add(at, node);
                }
            },
        );
        used.extents.sort_unstable();
        // Sound states never overlap; in a hostile file what the newer one uses stays so.
        let length = self.disk.length().map_or(0, grains);
        let mut last_end = 0;
        used.extents.retain(|extent| {
            let after = newer.extents.partition_point(|held| held.offset < extent.end());
            let is_free = after == 0 || newer.extents[after - 1].end() <= extent.offset;
            let is_new = extent.offset >= last_end && extent.end() <= length;
            last_end = last_end.max(extent.end());
            is_free && is_new
        });
        used.extents
    }

    /// Reads everything, both copies of what has two, and reports what is wrong.
    pub fn check(&self, mut report: impl FnMut(TreeDamage)) {
        for is_damaged in self.state.damaged_copies(&*self.disk) {
            if is_damaged {
                report(TreeDamage::HeaderCopy);
            }
        }
        let (mut used, mut value) = (UsedSpace::default(), Vec::new());
        let mut is_lost = false;
        let mut budget = self.file_bytes();
        self.visit_nodes(
            |_| true,
            |at, span, node| {
                let node = match node {
                    Ok(node) => node,
                    Err(what) => {
                        is_lost = true;
                        return report(TreeDamage::Node(LostSpan { span: span.clone(), what }));
                    }
                };
                if [0, 1].into_iter().any(|copy| self.read_copy(at, copy).is_err()) {
                    report(TreeDamage::NodeCopy);
                }
                used.add(at, node);
                for i in (0..node.len()).filter(|_| node.level == 0) {
                    let content = node.content(i);
                    let read = check_length(node.key(i), &content)
                        .and_then(|()| self.spend_value(&mut budget, &content))
                        .and_then(|()| self.value(&content, &mut value));
                    if let Err(what) = read {
                        is_lost = true;
                        report(TreeDamage::Value { key: node.key(i).to_owned(), what });
                    }
                }
            },
        );
        if self.state.is_last() {
            report(TreeDamage::Space("its state is the last that can be numbered"));
        }
        // What is lost may be what overlaps.
        if !is_lost && let Err(what) = used.sorted(self.state.end) {
            report(TreeDamage::Space(what));
        }
    }
}

/// Refuses a value that is longer than any of its table, before it is read: many keys may refer to
/// it.
fn check_length(key: &[u8], content: &NodeContent<'_>) -> Result<(), TreeError> {
    match content {
        NodeContent::Stored(value)
            if longest_value(key).is_some_and(|most| value.length as usize > most) =>
        {
            Err(TreeError::Damaged("it is longer than any value of its kind"))
        }
        _ => Ok(()),
    }
}

impl ReadTree for TreeReader {
    fn get(&self, key: &[u8], out: &mut Vec<u8>) -> Result<bool, TreeError> {
        match self.find(key)? {
            Some(content) => {
                check_length(key, &content)?;
                self.value(&content, out).map(|()| true)
            }
            None => Ok(false),
        }
    }

    fn keys(&self, low: &[u8], high: &[u8]) -> Result<Vec<Vec<u8>>, TreeError> {
        let (mut keys, mut left) = (Vec::new(), MAX_LISTED_KEY_BYTES);
        for entry in self.scan(low, Some(high)) {
            let key = entry.map_err(|lost| lost.what)?.key;
            let rest = left.checked_sub(key.len() + size_of_val(&key));
            left = rest.ok_or(TreeError::Damaged("it has more keys than any world"))?;
            keys.push(key);
        }
        Ok(keys)
    }
}

impl Scan<'_> {
    /// Replaces `out` with the value of an entry.
    pub fn value(
        &mut self,
        key: &[u8],
        content: &NodeContent<'_>,
        out: &mut Vec<u8>,
    ) -> Result<(), TreeError> {
        check_length(key, content)?;
        self.reader.spend_value(&mut self.budget, content)?;
        self.reader.value(content, out)
    }

    fn push(&mut self, at: &NodeRef, level: Option<u8>, span: KeySpan) -> Result<(), LostSpan> {
        let node = self.reader.spend(&mut self.budget, &at.copies, at.length);
        match node.and_then(|()| self.reader.node(at, level, &span)) {
            Ok(node) => {
                let next = match node.level {
                    0 => node.count_below(&self.low),
                    _ => node.child_of(&self.low).unwrap_or(0),
                };
                self.stack.push(ScanFrame { node, next, span });
                Ok(())
            }
            Err(what) => Err(LostSpan { span, what }),
        }
    }
}

impl Iterator for Scan<'_> {
    type Item = Result<OwnedItem, LostSpan>;

    fn next(&mut self) -> Option<Self::Item> {
        if let Some(root) = self.root.take()
            && let Err(lost) = self.push(&root, None, KeySpan::default())
        {
            return Some(Err(lost));
        }
        loop {
            let frame = self.stack.last_mut()?;
            let i = frame.next;
            if i == frame.node.len() {
                self.stack.pop();
                continue;
            }
            if self.high.as_deref().is_some_and(|high| frame.node.key(i) >= high) {
                self.stack.clear();
                return None;
            }
            frame.next += 1;
            if frame.node.level == 0 {
                return Some(Ok(frame.node.item(i)));
            }
            let level = Some(frame.node.level - 1);
            if let Some((at, span)) = frame.node.child(i, &frame.span)
                && let Err(lost) = self.push(&at, level, span)
            {
                return Some(Err(lost));
            }
        }
    }
}

/// The space that a state uses.
#[derive(Default)]
pub(crate) struct UsedSpace {
    pub extents: Vec<Extent>,
    /// The first copies of all nodes.
    nodes: HashSet<u64>,
}

impl UsedSpace {
    fn add(&mut self, at: &NodeRef, node: &TreeNode) {
        self.nodes.insert(at.copies[0]);
        self.extents.extend(at.copies.map(|offset| Extent::of(offset, at.length)));
        for i in 0..node.len() {
            if let NodeContent::Stored(value) = node.content(i) {
                self.extents.push(Extent::of(value.offset, value.length));
            }
        }
    }

    /// Sorts the space, which must lie before `end`, or says what is wrong with it.
    fn sorted(mut self, end: u64) -> Result<UsedSpace, &'static str> {
        self.extents.sort_unstable();
        if self.extents.windows(2).any(|pair| pair[0].end() > pair[1].offset) {
            return Err("two parts of the file overlap");
        }
        if self.extents.last().is_some_and(|last| last.end() > end) {
            return Err("a part lies beyond the end of the file");
        }
        Ok(self)
    }
}
