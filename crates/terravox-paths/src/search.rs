//! The way through the rectangles: A* by the distance walked and the straight distance left.
//!
//! A node is a rectangle, entered at the point of a portal where the line to the goal crosses it, or
//! next to that. Costs are lengths in path cells, more in water. Ties go to the node that was found
//! first, so that a search is the same everywhere.
//!
//! Source: Hart, Nilsson and Raphael (1968).

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use rustc_hash::FxHashMap;
use terravox::voxel::ChunkPos;

use crate::agent::WaterRule;
use crate::ground::{Ground, Portal, RectId, distance, squared_distance};
use crate::tile::Tile;

/// A point of a search: where it is, in path cells from the base of the ground.
#[derive(Clone, Copy, Debug)]
pub(crate) struct End {
    pub rect: RectId,
    pub point: [f64; 3],
}

/// Rectangles one after the other, and the portals between them.
#[derive(Clone, Debug)]
pub(crate) struct Corridor {
    pub rects: Vec<RectId>,
    /// One less.
    pub portals: Vec<Portal>,
    /// Where it ends: at the goal, or as near as the search came.
    pub end: [f64; 3],
    /// Whether that is the goal.
    pub is_complete: bool,
    /// Whether there was more to look at than allowed.
    pub is_cut_short: bool,
    /// Rectangles that were looked at.
    pub looked_at: usize,
}

#[derive(Clone, Copy, Debug)]
struct Node {
    rect: RectId,
    before: u32,
    /// By which it was entered from there.
    portal: Option<Portal>,
    entry: [f64; 3],
    cost: f64,
    is_done: bool,
}

/// What a search knows so far.
struct SearchNodes {
    nodes: Vec<Node>,
    node_of: FxHashMap<RectId, u32>,
    /// Cost so far and left, and number; the least comes first. Costs are not negative, so their
    /// bits sort as they do.
    open: BinaryHeap<Reverse<(u64, u32)>>,
}

impl SearchNodes {
    fn new(start: End) -> SearchNodes {
        let first = Node {
            rect: start.rect,
            before: u32::MAX,
            portal: None,
            entry: start.point,
            cost: 0.0,
            is_done: false,
        };
        let (nodes, node_of) = (vec![first], FxHashMap::from_iter([(start.rect, 0)]));
        SearchNodes { nodes, node_of, open: BinaryHeap::from([Reverse((0, 0))]) }
    }

    /// Takes the node that comes next.
    fn pop(&mut self) -> Option<u32> {
        while let Some(Reverse((_, number))) = self.open.pop() {
            if !std::mem::replace(&mut self.nodes[number as usize].is_done, true) {
                return Some(number);
            }
        }
        None
    }

    /// Records a path to a rectangle if it is the cheapest so far.
    fn offer(&mut self, found: Node, left: f64) {
        let next = *self.node_of.entry(found.rect).or_insert(self.nodes.len() as u32);
        match self.nodes.get_mut(next as usize) {
            Some(known) if known.is_done || known.cost <= found.cost => return,
            Some(known) => *known = found,
            None => self.nodes.push(found),
        }
        self.open.push(Reverse(((found.cost + left).to_bits(), next)));
    }
}

/// Finds the path from one end to the other, or to the nearest point that it reaches; looks at at
/// most `most` rectangles.
pub(crate) fn search<'a, T: Fn(ChunkPos) -> Option<&'a Tile>>(
    ground: &mut Ground<'a, T>,
    start: End,
    goal: End,
    most: usize,
) -> Corridor {
    let mut known = SearchNodes::new(start);
    let mut best = (f64::INFINITY, 0u32, start.point);
    let (mut exits, mut looked_at, mut is_cut_short) = (Vec::new(), 0, false);
    let mut reached = None;
    while let Some(number) = known.pop() {
        let node = known.nodes[number as usize];
        if node.rect == goal.rect {
            reached = Some(number);
            break;
        }
        let nearest = ground.closest(node.rect, goal.point);
        let away = squared_distance(nearest, goal.point);
        if away < best.0 {
            best = (away, number, nearest);
        }
        if looked_at == most {
            is_cut_short = true;
            break;
        }
        looked_at += 1;
        ground.exits(node.rect, &mut exits);
        let factor = cost_factor(ground, node.rect);
        let aim = [goal.point[0], goal.point[2]];
        for exit in &exits {
            let [x, z] = exit.portal.crossing([node.entry[0], node.entry[2]], aim);
            let entry = [x, ground.height_in(node.rect, [x, z]), z];
            let cost = node.cost + distance(node.entry, entry) * factor;
            let (rect, before, portal) = (exit.to, number, Some(exit.portal));
            let found = Node { rect, before, portal, entry, cost, is_done: false };
            known.offer(found, distance(entry, goal.point));
        }
    }
    let (last, end) = reached.map_or((best.1, best.2), |last| (last, goal.point));
    let (rects, portals) = trace(&known.nodes, last);
    Corridor { rects, portals, end, is_complete: reached.is_some(), is_cut_short, looked_at }
}

/// The cost of a length in a rectangle, as a multiple.
fn cost_factor<'a, T: Fn(ChunkPos) -> Option<&'a Tile>>(ground: &Ground<'a, T>, id: RectId) -> f64 {
    let is_wet = ground.tile(id.slot).rects()[id.rect as usize].is_wet;
    match ground.gauge.water {
        WaterRule::Cost(cost) if is_wet => cost,
        _ => 1.0,
    }
}

/// The rectangles and portals from the start to a node.
fn trace(nodes: &[Node], last: u32) -> (Vec<RectId>, Vec<Portal>) {
    let (mut rects, mut portals) = (Vec::new(), Vec::new());
    let mut next = Some(last);
    while let Some(node) = next.and_then(|next| nodes.get(next as usize)) {
        rects.push(node.rect);
        portals.extend(node.portal);
        next = node.portal.map(|_| node.before);
    }
    rects.reverse();
    portals.reverse();
    (rects, portals)
}
