//! Decides which clumps that an edit touched are connected to an anchor, and which are loose.
//!
//! Every clump at the cut starts a flood. All floods take steps in turn, each from a clump across a
//! side of its chunk to the clumps next door. Floods that merge are merged; a flood that reaches an
//! anchor ends, and one that runs out of steps is a loose piece. So the cost is proportional to the
//! size of the piece, and for ground to its distance from an anchor, since steps towards anchors
//! come first. Flooding from both sides of a cut in turn, so that only the smaller side is paid
//! for, is the idea of Even and Shiloach, "An on-line edge-deletion problem" (1981).

use super::Anchors;
use super::clumps::{ChunkClumps, Clump, ClumpCache, FULL_SIDE, SIDE_DIRECTIONS, SideBits};
use crate::voxel::{ChunkPos, Region, Snapshot};
use rustc_hash::FxHashMap;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Stands for a clump without a flood.
const NONE: u32 = u32::MAX;

/// Steps charged for labelling a chunk.
const LABEL_STEPS: u32 = 16;

/// A clump reached by a flood.
struct FloodNode {
    chunk: ChunkPos,
    number: u16,
    /// One of its cells.
    cell: u16,
    flood: u32,
}

/// A step from a clump across a side of its chunk, by distance to an anchor, then age.
type QueuedStep = Reverse<(u32, u32, StepFrom)>;

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct StepFrom {
    node: u32,
    side: u8,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Fate {
    Open,
    Anchored,
    Loose,
}

struct Flood {
    /// The flood that it was merged into; itself if none.
    merged_into: u32,
    fate: Fate,
    steps: BinaryHeap<QueuedStep>,
    cells: u64,
}

/// A cell of a clump, which identifies it: x + 32 z + 1024 y in its chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct ClumpCell {
    pub chunk: ChunkPos,
    pub cell: u16,
}

/// A connected piece without an anchor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct LoosePiece {
    /// Sorted.
    pub clumps: Vec<ClumpCell>,
    pub cells: u64,
}

impl LoosePiece {
    /// Returns the bounds of its chunks in voxels.
    pub fn chunks(&self) -> Region {
        let regions = self.clumps.iter().map(|clump| clump.chunk.region());
        regions.fold(Region::default(), Region::union)
    }
}

/// The state of a search, which can span many calls.
#[derive(Default)]
pub(super) struct Search {
    nodes: Vec<FloodNode>,
    floods: Vec<Flood>,
    /// By chunk: where its clumps begin in `owners`.
    chunks: FxHashMap<ChunkPos, u32>,
    /// By clump: the flood that reached it.
    owners: Vec<u32>,
    /// Floods that are still open.
    open: Vec<u32>,
    turn: usize,
    serial: u32,
    is_running: bool,
    /// Where the floods started, to restart.
    pub seeds: Vec<(ChunkPos, Region)>,
    reached: Vec<(u16, Clump)>,
}

/// What a search reads.
pub(super) struct SearchContext<'a> {
    pub grid: &'a Snapshot,
    pub cache: &'a mut ClumpCache,
    pub anchors: &'a Anchors,
}

impl SearchContext<'_> {
    fn clumps_of(&self, chunk: ChunkPos) -> ChunkClumps<'_> {
        self.cache.clumps_of(self.grid, chunk, self.anchors)
    }
}

impl Search {
    /// How many floods are still open, at most.
    pub fn open_count(&self) -> usize {
        self.open.len()
    }

    /// Whether more floods can begin: fewer than `most` have, and none has run.
    pub fn has_room(&self, most: usize) -> bool {
        !self.is_running && self.floods.len() < most
    }

    /// Whether a flood reached a chunk, so that a change of it matters.
    pub fn knows(&self, chunk: ChunkPos) -> bool {
        self.chunks.contains_key(&chunk)
    }

    /// Returns the chunks that floods reached, unsorted.
    pub fn chunks(&self) -> impl Iterator<Item = ChunkPos> {
        self.chunks.keys().copied()
    }

    /// Starts floods from the clumps with a cell in `region` of a chunk. Spends steps.
    pub fn begin(
        &mut self,
        world: &mut SearchContext<'_>,
        chunk: ChunkPos,
        region: Region,
        left: &mut u32,
    ) {
        self.seeds.push((chunk, region));
        let mut reached = std::mem::take(&mut self.reached);
        reached.clear();
        if world.cache.label(world.grid, chunk, world.anchors) {
            let mut last = None;
            let ChunkClumps::Mixed(clumps) = world.clumps_of(chunk) else {
                unreachable!("just labelled")
            };
            world.cache.labels.runs_in(region, chunk.min_voxel(), |_, _, number| {
                if last != Some(number) {
                    reached.push((number, clumps.all()[usize::from(number)]));
                    last = Some(number);
                }
            });
            reached.sort_unstable_by_key(|reached| reached.0);
            reached.dedup_by_key(|reached| reached.0);
        } else if let ChunkClumps::Full { anchored } = world.clumps_of(chunk) {
            reached.push((0, Clump::full(anchored)));
        }
        for &(number, clump) in &reached {
            let flood = self.floods.len() as u32;
            let steps = BinaryHeap::new();
            self.floods.push(Flood { merged_into: flood, fate: Fate::Open, steps, cells: 0 });
            self.open.push(flood);
            self.reach(world, flood, chunk, number, clump);
        }
        spend(left, 1 + reached.len() as u32, world.cache);
        self.reached = reached;
    }

    /// Runs the floods in turn for at most `left` steps. Returns whether all are decided.
    pub fn run_floods(&mut self, world: &mut SearchContext<'_>, left: &mut u32) -> bool {
        self.is_running = true;
        while !self.open.is_empty() {
            if *left == 0 {
                return false;
            }
            self.turn = if self.turn < self.open.len() { self.turn } else { 0 };
            let flood = self.open[self.turn];
            let is_root = self.floods[flood as usize].merged_into == flood;
            if !is_root || self.floods[flood as usize].fate != Fate::Open {
                self.open.swap_remove(self.turn);
                continue;
            }
            self.turn += 1;
            match self.floods[flood as usize].steps.pop() {
                None => self.floods[flood as usize].fate = Fate::Loose,
                Some(Reverse((.., from))) => self.take_step(world, from),
            }
            spend(left, 1, world.cache);
        }
        true
    }

    /// Steps from a clump across a side of its chunk.
    fn take_step(&mut self, world: &mut SearchContext<'_>, from: StepFrom) {
        let &FloodNode { chunk, number, flood, .. } = &self.nodes[from.node as usize];
        let side = usize::from(from.side);
        let [x, y, z] = SIDE_DIRECTIONS[side];
        let to = ChunkPos::new(chunk.x + x, chunk.y + y, chunk.z + z);
        for chunk in [chunk, to] {
            world.cache.ensure(world.grid, chunk, world.anchors);
        }
        let here: SideBits = match world.clumps_of(chunk) {
            ChunkClumps::Full { .. } => FULL_SIDE,
            ChunkClumps::Mixed(clumps) => clumps.side_of(side, number),
            ChunkClumps::Empty | ChunkClumps::Unknown => return,
        };
        let flood = self.root(flood);
        let mut reached = std::mem::take(&mut self.reached);
        reached.clear();
        match world.clumps_of(to) {
            ChunkClumps::Empty => {}
            // Unknown ground counts as an anchor.
            ChunkClumps::Unknown => self.floods[flood as usize].fate = Fate::Anchored,
            ChunkClumps::Full { anchored } => reached.push((0, Clump::full(anchored))),
            ChunkClumps::Mixed(clumps) => {
                for (word, (here, there)) in here.iter().zip(clumps.side(side ^ 1)).enumerate() {
                    let mut both = here & there;
                    while both != 0 {
                        let number = clumps.at(side ^ 1, word, both.trailing_zeros() as usize);
                        both &= both - 1;
                        if reached.last().is_none_or(|reached| reached.0 != number) {
                            reached.push((number, clumps.all()[usize::from(number)]));
                        }
                    }
                }
            }
        }
        for &(number, clump) in &reached {
            self.reach(world, flood, to, number, clump);
        }
        self.reached = reached;
    }

    /// Adds a clump to a flood, or merges the flood with the one that owns the clump.
    fn reach(
        &mut self,
        world: &SearchContext<'_>,
        flood: u32,
        chunk: ChunkPos,
        number: u16,
        clump: Clump,
    ) {
        let flood = self.root(flood);
        let known = world.clumps_of(chunk);
        let count = if let ChunkClumps::Mixed(clumps) = known { clumps.all().len() } else { 1 };
        let end = self.owners.len() as u32;
        let begin = *self.chunks.entry(chunk).or_insert(end);
        if begin == end {
            self.owners.resize(self.owners.len() + count, NONE);
        }
        let owner = begin as usize + usize::from(number);
        if self.owners[owner] != NONE {
            let other = self.root(self.owners[owner]);
            return self.merge(flood, other);
        }
        self.owners[owner] = flood;
        let node = self.nodes.len() as u32;
        self.nodes.push(FloodNode { chunk, number, cell: clump.cell, flood });
        let state = &mut self.floods[flood as usize];
        state.cells += u64::from(clump.cells);
        if clump.anchored {
            state.fate = Fate::Anchored;
            state.steps.clear();
        }
        if state.fate != Fate::Open {
            return;
        }
        for (side, [x, y, z]) in SIDE_DIRECTIONS.into_iter().enumerate() {
            if clump.sides >> side & 1 == 0 {
                continue;
            }
            let to = ChunkPos::new(chunk.x + x, chunk.y + y, chunk.z + z);
            let from = StepFrom { node, side: side as u8 };
            state.steps.push(Reverse((world.anchors.distance(to), self.serial, from)));
            self.serial += 1;
        }
    }

    /// Returns the flood that a flood was merged into.
    fn root(&mut self, mut flood: u32) -> u32 {
        while self.floods[flood as usize].merged_into != flood {
            let next = self.floods[flood as usize].merged_into;
            let after = self.floods[next as usize].merged_into;
            self.floods[flood as usize].merged_into = after;
            flood = next;
        }
        flood
    }

    /// Merges two floods into the older one.
    fn merge(&mut self, a: u32, b: u32) {
        if a == b {
            return;
        }
        let (first, second) = (a.min(b), a.max(b));
        let other = &mut self.floods[second as usize];
        other.merged_into = first;
        let (mut steps, cells, fate) = (std::mem::take(&mut other.steps), other.cells, other.fate);
        let flood = &mut self.floods[first as usize];
        flood.cells += cells;
        if fate == Fate::Anchored || flood.fate == Fate::Anchored {
            flood.fate = Fate::Anchored;
            flood.steps.clear();
        } else {
            flood.steps.append(&mut steps);
        }
    }

    /// Returns the loose pieces in the order in which floods reached them, once all are decided.
    pub fn loose_pieces(&mut self) -> Vec<LoosePiece> {
        let mut pieces: Vec<LoosePiece> = Vec::new();
        let mut piece_of: FxHashMap<u32, usize> = FxHashMap::default();
        for node in 0..self.nodes.len() {
            let flood = self.root(self.nodes[node].flood);
            let state = &self.floods[flood as usize];
            if state.fate != Fate::Loose {
                continue;
            }
            let piece = *piece_of.entry(flood).or_insert_with(|| {
                pieces.push(LoosePiece { clumps: Vec::new(), cells: state.cells });
                pieces.len() - 1
            });
            let FloodNode { chunk, cell, .. } = self.nodes[node];
            pieces[piece].clumps.push(ClumpCell { chunk, cell });
        }
        pieces.iter_mut().for_each(|piece| piece.clumps.sort_unstable());
        pieces
    }
}

/// Subtracts spent steps.
fn spend(left: &mut u32, steps: u32, cache: &mut ClumpCache) {
    let labelled = std::mem::take(&mut cache.labelled);
    *left = left.saturating_sub(steps + LABEL_STEPS * labelled);
}
