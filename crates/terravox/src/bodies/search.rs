//! Which of the clumps that an edit touched hang on an anchor, and which on nothing.
//!
//! Every clump at the cut begins a flood; all floods take steps in turn, from a clump over
//! a side of its chunk to the clumps next door. Floods that meet go on as one; one that
//! comes to an anchor ends, and so does one that has nowhere to go: that is a loose piece.
//! So the cost is proportional to the size of the piece, and for ground to its distance from an
//! anchor, since steps towards anchors come first. That floods from both sides of a cut, in turns, cost
//! the smaller side only is the idea of Even and Shiloach, "An on-line edge-deletion
//! problem" (1981).

use super::Anchors;
use super::clumps::{Clump, ClumpCache, FULL_SIDE, Found, Side, WAYS};
use crate::voxel::{ChunkPos, Region, Snapshot};
use rustc_hash::FxHashMap;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// A clump that no flood has come to.
const NONE: u32 = u32::MAX;

/// Steps that labelling a chunk counts for.
const LABEL_STEPS: u32 = 16;

/// A clump that a flood came to.
struct Node {
    chunk: ChunkPos,
    number: u16,
    /// One of its cells.
    cell: u16,
    flood: u32,
}

/// A step to take: out of a clump over a side of its chunk. Those that end near an anchor
/// come first, then those that were found first.
type Step = Reverse<(u32, u32, StepFrom)>;

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
    /// The flood that it goes on as; itself if it goes on.
    goes_on_as: u32,
    fate: Fate,
    steps: BinaryHeap<Step>,
    cells: u64,
}

/// What hangs on nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Piece {
    /// Its chunks, sorted, and a cell (x + 32 z + 1024 y) of each of its clumps there.
    pub clumps: Vec<(ChunkPos, u16)>,
    pub cells: u64,
}

impl Piece {
    /// The chunks of the piece as one region, voxels.
    pub fn chunks(&self) -> Region {
        let regions = self.clumps.iter().map(|clump| clump.0.region());
        regions.fold(Region::default(), Region::union)
    }
}

/// Floods that go on.
#[derive(Default)]
pub(super) struct Search {
    nodes: Vec<Node>,
    floods: Vec<Flood>,
    /// Where in `owners` the clumps of a chunk begin.
    chunks: FxHashMap<ChunkPos, u32>,
    /// By clump of the chunks: the flood that came to it.
    owners: Vec<u32>,
    /// Floods whose fate is open, and whose turn it is.
    open: Vec<u32>,
    turn: usize,
    serial: u32,
    /// What the floods began from, to begin again.
    pub seeds: Vec<(ChunkPos, Region)>,
    met: Vec<(u16, Clump)>,
}

/// What a search reads.
pub(super) struct World<'a> {
    pub grid: &'a Snapshot,
    pub cache: &'a mut ClumpCache,
    pub anchors: &'a Anchors,
}

impl World<'_> {
    fn found(&self, chunk: ChunkPos) -> Found<'_> {
        self.cache.found(self.grid, chunk, self.anchors)
    }
}

impl Search {
    /// Whether a flood came to a chunk, so that a change of it changes the answer.
    pub fn knows(&self, chunk: ChunkPos) -> bool {
        self.chunks.contains_key(&chunk)
    }

    /// The chunks that floods came to, in no order.
    pub fn chunks(&self) -> impl Iterator<Item = ChunkPos> {
        self.chunks.keys().copied()
    }

    /// Begins floods from the clumps with a cell in `region` of a chunk. Spends steps.
    pub fn begin(
        &mut self,
        world: &mut World<'_>,
        chunk: ChunkPos,
        region: Region,
        left: &mut u32,
    ) {
        self.seeds.push((chunk, region));
        let mut met = std::mem::take(&mut self.met);
        met.clear();
        if world.cache.label(world.grid, chunk, world.anchors) {
            let mut last = None;
            let Found::Mixed(clumps) = world.found(chunk) else { unreachable!("just labelled") };
            world.cache.labels.runs_in(region, chunk.min_voxel(), |_, _, number| {
                if last != Some(number) {
                    met.push((number, clumps.all()[usize::from(number)]));
                    last = Some(number);
                }
            });
            met.sort_unstable_by_key(|met| met.0);
            met.dedup_by_key(|met| met.0);
        } else if let Found::Full { anchored } = world.found(chunk) {
            met.push((0, Clump::full(anchored)));
        }
        for &(number, clump) in &met {
            let flood = self.floods.len() as u32;
            let steps = BinaryHeap::new();
            self.floods.push(Flood { goes_on_as: flood, fate: Fate::Open, steps, cells: 0 });
            self.open.push(flood);
            self.come_to(world, flood, chunk, number, clump);
        }
        self.met = met;
        spend(left, 1, world.cache);
    }

    /// Lets the floods go on in turn for so many steps; returns whether all fates are known.
    pub fn go_on(&mut self, world: &mut World<'_>, left: &mut u32) -> bool {
        while !self.open.is_empty() {
            if *left == 0 {
                return false;
            }
            self.turn = if self.turn < self.open.len() { self.turn } else { 0 };
            let flood = self.open[self.turn];
            let goes_on = self.floods[flood as usize].goes_on_as == flood;
            if !goes_on || self.floods[flood as usize].fate != Fate::Open {
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

    /// Goes from a clump over a side of its chunk.
    fn take_step(&mut self, world: &mut World<'_>, from: StepFrom) {
        let &Node { chunk, number, flood, .. } = &self.nodes[from.node as usize];
        let side = usize::from(from.side);
        let [x, y, z] = WAYS[side];
        let to = ChunkPos::new(chunk.x + x, chunk.y + y, chunk.z + z);
        for chunk in [chunk, to] {
            world.cache.look(world.grid, chunk, world.anchors);
        }
        let here: Side = match world.found(chunk) {
            Found::Full { .. } => FULL_SIDE,
            Found::Mixed(clumps) => clumps.side_of(side, number),
            Found::Empty | Found::Unknown => return,
        };
        let flood = self.root(flood);
        let mut met = std::mem::take(&mut self.met);
        met.clear();
        match world.found(to) {
            Found::Empty => {}
            // Nobody knows what it hangs on there.
            Found::Unknown => self.floods[flood as usize].fate = Fate::Anchored,
            Found::Full { anchored } => met.push((0, Clump::full(anchored))),
            Found::Mixed(clumps) => {
                for (word, (here, there)) in here.iter().zip(clumps.side(side ^ 1)).enumerate() {
                    let mut both = here & there;
                    while both != 0 {
                        let number = clumps.at(side ^ 1, word, both.trailing_zeros() as usize);
                        both &= both - 1;
                        if met.last().is_none_or(|met| met.0 != number) {
                            met.push((number, clumps.all()[usize::from(number)]));
                        }
                    }
                }
            }
        }
        for &(number, clump) in &met {
            self.come_to(world, flood, to, number, clump);
        }
        self.met = met;
    }

    /// A flood comes to a clump: it is new, or another flood is there already.
    fn come_to(
        &mut self,
        world: &World<'_>,
        flood: u32,
        chunk: ChunkPos,
        number: u16,
        clump: Clump,
    ) {
        let flood = self.root(flood);
        let found = world.found(chunk);
        let count = if let Found::Mixed(clumps) = found { clumps.all().len() } else { 1 };
        let end = self.owners.len() as u32;
        let begin = *self.chunks.entry(chunk).or_insert(end);
        if begin == end {
            self.owners.resize(self.owners.len() + count, NONE);
        }
        let owner = begin as usize + usize::from(number);
        if self.owners[owner] != NONE {
            let other = self.root(self.owners[owner]);
            return self.meet(flood, other);
        }
        self.owners[owner] = flood;
        let node = self.nodes.len() as u32;
        self.nodes.push(Node { chunk, number, cell: clump.cell, flood });
        let state = &mut self.floods[flood as usize];
        state.cells += u64::from(clump.cells);
        if clump.anchored {
            state.fate = Fate::Anchored;
            state.steps.clear();
        }
        if state.fate != Fate::Open {
            return;
        }
        for (side, [x, y, z]) in WAYS.into_iter().enumerate() {
            if clump.sides >> side & 1 == 0 {
                continue;
            }
            let to = ChunkPos::new(chunk.x + x, chunk.y + y, chunk.z + z);
            let from = StepFrom { node, side: side as u8 };
            state.steps.push(Reverse((world.anchors.distance(to), self.serial, from)));
            self.serial += 1;
        }
    }

    /// The flood that a flood goes on as.
    fn root(&mut self, mut flood: u32) -> u32 {
        while self.floods[flood as usize].goes_on_as != flood {
            let next = self.floods[flood as usize].goes_on_as;
            let after = self.floods[next as usize].goes_on_as;
            self.floods[flood as usize].goes_on_as = after;
            flood = next;
        }
        flood
    }

    /// Two floods met: they go on as the one that began first.
    fn meet(&mut self, a: u32, b: u32) {
        if a == b {
            return;
        }
        let (first, second) = (a.min(b), a.max(b));
        let other = &mut self.floods[second as usize];
        other.goes_on_as = first;
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

    /// The loose pieces, in the order in which floods came to them, once all fates are known.
    pub fn pieces(&mut self) -> Vec<Piece> {
        let mut pieces: Vec<Piece> = Vec::new();
        let mut piece_of: FxHashMap<u32, usize> = FxHashMap::default();
        for node in 0..self.nodes.len() {
            let flood = self.root(self.nodes[node].flood);
            let state = &self.floods[flood as usize];
            if state.fate != Fate::Loose {
                continue;
            }
            let piece = *piece_of.entry(flood).or_insert_with(|| {
                pieces.push(Piece { clumps: Vec::new(), cells: state.cells });
                pieces.len() - 1
            });
            pieces[piece].clumps.push((self.nodes[node].chunk, self.nodes[node].cell));
        }
        pieces.iter_mut().for_each(|piece| piece.clumps.sort_unstable());
        pieces
    }
}

/// Takes what was done off the steps that are left.
fn spend(left: &mut u32, steps: u32, cache: &mut ClumpCache) {
    let labelled = std::mem::take(&mut cache.labelled);
    *left = left.saturating_sub(steps + LABEL_STEPS * labelled);
}
