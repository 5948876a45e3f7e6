//! The slow twin: a tree with pointers, built from the root down, and a contour that finds the
//! nodes around every lattice edge.

use std::collections::{BTreeMap, BTreeSet};

use super::qef::Qef;
use super::tree::Leaf;

/// A node and its descendants.
pub(super) struct NaiveNode {
    pub min: [u32; 3],
    pub level: u8,
    pub qef: Qef,
    pub inside: u8,
    pub children: Vec<NaiveNode>,
}

/// Returns the tree over leaves; `None` without leaves.
pub(super) fn build(leaves: &[Leaf], min: [u32; 3], level: u8) -> Option<NaiveNode> {
    let within =
        |leaf: &&Leaf| (0..3).all(|a| (min[a]..min[a] + (1 << level)).contains(&leaf.min[a]));
    let own: Vec<Leaf> = leaves.iter().filter(within).copied().collect();
    match own.as_slice() {
        [] => return None,
        [leaf] if leaf.level == level => {
            let Leaf { qef, inside, .. } = *leaf;
            return Some(NaiveNode { min, level, qef, inside, children: Vec::new() });
        }
        _ => {}
    }
    let half = 1 << (level - 1);
    let octant = |o: u32| {
        let [x, z, y] = [o & 1, o >> 1 & 1, o >> 2].map(|side| side * half);
        build(&own, [min[0] + x, min[1] + y, min[2] + z], level - 1)
    };
    let children: Vec<NaiveNode> = (0..8).filter_map(octant).collect();
    let mut qef = Qef::default();
    let mut inside = 0;
    for child in &children {
        let quarter = 0.25 * (1u32 << level) as f32;
        let step = |a: usize| if child.min[a] > min[a] { quarter } else { -quarter };
        qef.add(&child.qef.seen_from([step(0), step(1), step(2)]));
    }
    for corner in 0..8u32 {
        let [x, z, y] = [corner & 1, corner >> 1 & 1, corner >> 2].map(|side| side << level);
        let point = [min[0] + x, min[1] + y, min[2] + z];
        inside |= u8::from(solid_at(&children, point, min, level)) << corner;
    }
    Some(NaiveNode { min, level, qef, inside, children })
}

/// Whether a lattice point is solid: according to a child that has it as a corner, else as the
/// middle of the node.
fn solid_at(children: &[NaiveNode], point: [u32; 3], min: [u32; 3], level: u8) -> bool {
    let half = 1 << (level - 1);
    let middle = min.map(|m| m + half);
    let of = |child: &NaiveNode, point: [u32; 3]| {
        let mut corner = 0;
        for (axis, bit) in [(0, 0), (2, 1), (1, 2)] {
            match point[axis].checked_sub(child.min[axis])? {
                0 => {}
                step if step == 1 << child.level => corner |= 1 << bit,
                _ => return None,
            }
        }
        Some(child.inside >> corner & 1 == 1)
    };
    let found = children.iter().find_map(|child| of(child, point));
    found.or_else(|| children.iter().find_map(|child| of(child, middle))).unwrap_or(false)
}

impl NaiveNode {
    /// Collects every node by level and min corner, with its solid corners and planes.
    pub fn nodes(&self, into: &mut BTreeMap<(u8, [u32; 3]), (u8, Qef)>) {
        into.insert((self.level, self.min), (self.inside, self.qef));
        self.children.iter().for_each(|child| child.nodes(into));
    }
}

/// Shown cubes by level and min corner, with their solid corners.
pub(super) type Cubes = BTreeMap<(u8, [i32; 3]), u8>;

/// Returns the minimal edges that the surface crosses: axis and low end.
pub(super) fn polygons(cubes: &Cubes) -> BTreeSet<(usize, [i32; 3])> {
    let mut found = BTreeSet::new();
    for (&(level, min), &inside) in cubes {
        for axis in 0..3 {
            let (u, v) = ((axis + 1) % 3, (axis + 2) % 3);
            for (su, sv) in [(0, 0), (1, 0), (0, 1), (1, 1)] {
                let mut low = min;
                low[u] += su << level;
                low[v] += sv << level;
                let corner = |along: i32| {
                    let mut side = [0; 3];
                    (side[axis], side[u], side[v]) = (along, su, sv);
                    (inside >> (side[0] | side[2] << 1 | side[1] << 2)) & 1
                };
                if corner(0) == corner(1) {
                    continue;
                }
                let around = around(cubes, axis, low);
                let minimal = around.iter().all(|cube| cube.0 >= level);
                if around.len() >= 3 && minimal && all_there(cubes, axis, low) {
                    found.insert((axis, low));
                }
            }
        }
    }
    found
}

/// Returns the cubes that contain the four unit cubes around the unit edge at `low`.
fn around(cubes: &Cubes, axis: usize, low: [i32; 3]) -> Vec<(u8, [i32; 3])> {
    let mut all: Vec<_> =
        units(axis, low).into_iter().filter_map(|at| holding(cubes, at)).collect();
    all.sort_unstable();
    all.dedup();
    all
}

fn all_there(cubes: &Cubes, axis: usize, low: [i32; 3]) -> bool {
    units(axis, low).into_iter().all(|at| holding(cubes, at).is_some())
}

fn units(axis: usize, low: [i32; 3]) -> [[i32; 3]; 4] {
    let (u, v) = ((axis + 1) % 3, (axis + 2) % 3);
    [(0, 0), (1, 0), (0, 1), (1, 1)].map(|(du, dv)| {
        let mut at = low;
        at[u] -= du;
        at[v] -= dv;
        at
    })
}

fn holding(cubes: &Cubes, at: [i32; 3]) -> Option<(u8, [i32; 3])> {
    (0..10u8).map(|level| (level, at.map(|a| a >> level << level))).find(|c| cubes.contains_key(c))
}
