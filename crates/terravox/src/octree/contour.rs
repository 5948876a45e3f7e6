//! Contouring: a polygon for every edge that the surface crosses, between the vertices of the nodes
//! around it.
//!
//! Source: "Dual Contouring of Hermite Data" (Ju et al. 2002). The recursion goes from cubes to
//! faces and from faces to edges until all nodes around an edge are shown. That edge is minimal: it
//! is an edge of the smallest of the four nodes, whose corners say whether the surface crosses it.
//! The result is closed whichever nodes are shown, since a face has an even number of crossed
//! edges. [`sheets`](super::sheets) makes it manifold.

use crate::mesh::{CORNERS, SIDE, Surface};

use super::emit::write;
use super::node::side;
use super::polygon::{ContourDraft, ContourPolygon, ContourStats, Detail};
use super::qef::Qef;
use super::tree::{Leaf, NONE, NodeCube, Octree};
use super::uniform;

/// Contours octrees. Holds scratch memory, so keep one per thread and reuse it.
#[derive(Debug, Default)]
pub struct Contourer {
    pub(super) found: ContourDraft,
}

impl Octree {
    /// Returns the nodes shown at a detail as leaves, to build another octree from, such as one
    /// across the faces of several. Each has one plane, that of its vertex.
    pub fn leaves_at(&self, detail: &Detail) -> Vec<Leaf> {
        let mut leaves = Vec::new();
        self.each_shown(detail, &mut |cube| {
            let node = &self.nodes[cube.node as usize];
            let (position, normal) = (node.offset((1u32 << cube.level) as f32), node.normal());
            leaves.push(Leaf {
                min: cube.min.map(|m| m as u32),
                level: cube.level,
                position,
                normal,
                inside: node.inside,
                materials: self.materials(cube.node),
                qef: Qef::plane(position, normal),
            });
        });
        leaves
    }

    /// Panics unless nodes of this size can be shown.
    fn check(&self, detail: &Detail) {
        let fits = detail.size.is_power_of_two() && detail.size <= 1 << self.shown;
        assert!(
            fits || self.is_empty(),
            "Detail::size is {}; it must be a power of two and at most {}",
            detail.size,
            1u32 << self.shown
        );
    }

    #[inline]
    pub(super) fn is_shown(&self, cube: NodeCube, size: u32, error: Option<u16>) -> bool {
        let error_of = |node: u32| self.errors[(node - self.starts[1]) as usize];
        self.is_leaf(cube.node)
            || cube.level <= self.shown
                && (1 << cube.level <= size || error.is_some_and(|e| error_of(cube.node) <= e))
    }

    /// Calls `each` for every node that is shown.
    pub(super) fn each_shown(&self, detail: &Detail, each: &mut impl FnMut(NodeCube)) {
        self.check(detail);
        let error = detail.error.map(error_units);
        let mut open = vec![self.root()];
        while let Some(cube) = open.pop() {
            if cube == NONE {
                continue;
            }
            if self.is_shown(cube, detail.size, error) {
                each(cube);
            } else {
                open.extend((0..8).rev().map(|octant| self.child(cube, octant)));
            }
        }
    }

    /// Contours the nodes shown at `detail` into `out`, replacing its contents: positions in cells
    /// from [`Octree::min`], all triangles loose (see [`Surface`]), without faces at the boundary.
    /// The surface is manifold, and closed where it does not reach the boundary.
    ///
    /// # Panics
    /// If `detail.size` is not a power of two or larger than the largest node that can be shown.
    pub fn contour(&self, detail: &Detail, out: &mut Surface) -> ContourStats {
        Contourer::default().contour(self, detail, out)
    }
}

/// Returns an error in 1/256 cells, rounded down.
fn error_units(error: f32) -> u16 {
    (error * 256.0).clamp(0.0, 65534.0) as u16
}

impl Contourer {
    /// Creates a contourer.
    pub fn new() -> Contourer {
        Contourer::default()
    }

    /// See [`Octree::contour`].
    ///
    /// # Panics
    /// As [`Octree::contour`].
    pub fn contour(&mut self, octree: &Octree, detail: &Detail, out: &mut Surface) -> ContourStats {
        octree.check(detail);
        let error = detail.error.map(error_units);
        let size = detail.size;
        self.found.clear();
        if error.is_none() && uniform::find(octree, size.trailing_zeros() as u8, &mut self.found) {
            return write(octree, &mut self.found, true, out);
        }
        self.contour_where(octree, out, |cube| octree.is_shown(cube, size, error))
    }

    /// Contours the first nodes from the root for which `shown` returns true. It must do so for all
    /// leaves.
    pub(super) fn contour_where(
        &mut self,
        octree: &Octree,
        out: &mut Surface,
        shown: impl Fn(NodeCube) -> bool,
    ) -> ContourStats {
        let found = &mut self.found;
        found.numbers.clear();
        found.numbers.resize(octree.nodes.len(), u32::MAX);
        found.clear();
        let mut walk = Traversal { octree, shown, found };
        walk.cube(octree.root());
        write(octree, found, false, out)
    }
}

struct Traversal<'a, S> {
    octree: &'a Octree,
    shown: S,
    found: &'a mut ContourDraft,
}

impl<S: Fn(NodeCube) -> bool> Traversal<'_, S> {
    /// Visits all edges inside a cube.
    fn cube(&mut self, cube: NodeCube) {
        if cube == NONE || (self.shown)(cube) {
            return;
        }
        let children: [NodeCube; 8] =
            std::array::from_fn(|octant| self.octree.child(cube, octant as u8));
        children.iter().for_each(|&child| self.cube(child));
        for axis in 0..3 {
            let [bit, u, v] = axes(axis);
            for low in [0, u, v, u | v] {
                let at = |octant: u8| children[usize::from(octant)];
                self.face(axis, [at(low), at(low | bit)]);
            }
            for along in [0, bit] {
                let at = |octant: u8| children[usize::from(along | octant)];
                self.edge(axis, [at(0), at(u), at(u | v), at(v)]);
            }
        }
    }

    /// Visits all edges inside the face between two nodes, the lower one first.
    fn face(&mut self, axis: usize, pair: [NodeCube; 2]) {
        if pair[0] == NONE || pair[1] == NONE {
            return;
        }
        let whole = pair.map(|cube| (self.shown)(cube));
        if whole[0] && whole[1] {
            return;
        }
        let [bit, u, v] = axes(axis);
        // The four quarters of the face: the nodes on its two sides.
        let part = |sides: u8, which: usize| match whole[which] {
            true => pair[which],
            false => self.octree.child(pair[which], if which == 0 { sides | bit } else { sides }),
        };
        let parts = [0, u, v, u | v].map(|sides| [part(sides, 0), part(sides, 1)]);
        parts.into_iter().for_each(|pair| self.face(axis, pair));
        let [a, b, c, d] = parts;
        let (along_u, along_v) = ((axis + 1) % 3, (axis + 2) % 3);
        // Around an edge along u, the next two axes are v and this one; along v, this one and u.
        for [low, high] in [[a, c], [b, d]] {
            self.edge(along_u, [low[0], high[0], high[1], low[1]]);
        }
        for [low, high] in [[a, b], [c, d]] {
            self.edge(along_v, [low[0], low[1], high[1], high[0]]);
        }
    }

    /// Visits all minimal edges of an edge between four nodes, in order around it.
    fn edge(&mut self, axis: usize, around: [NodeCube; 4]) {
        if around.contains(&NONE) {
            return;
        }
        let whole = around.map(|cube| (self.shown)(cube));
        if whole == [true; 4] {
            self.minimal(axis, around);
            return;
        }
        let [bit, u, v] = axes(axis);
        // The octants that touch the edge.
        let touching = [u | v, v, 0, u];
        for along in [0, bit] {
            let mut parts = around;
            for k in 0..4 {
                if !whole[k] {
                    parts[k] = self.octree.child(around[k], touching[k] | along);
                }
            }
            self.edge(axis, parts);
        }
    }

    /// Adds a polygon for a minimal edge if its ends differ.
    #[inline]
    fn minimal(&mut self, axis: usize, around: [NodeCube; 4]) {
        let mut smallest = 0;
        for k in 1..4 {
            if around[k].level < around[smallest].level {
                smallest = k;
            }
        }
        let cube = around[smallest];
        let [bit, u, v] = axes(axis);
        let low = [u | v, v, 0, u][smallest];
        let inside = self.octree.nodes[cube.node as usize].inside;
        let [low_in, high_in] = [low, low | bit].map(|corner| inside >> corner & 1 == 1);
        if low_in == high_in {
            return;
        }
        let level = cube.level;
        let at = [0, 1, 2].map(|i| cube.min[i] + (side(low, i) << level));
        let material = self.material(cube, if low_in { low } else { low | bit });
        let corners = around.map(|cube| self.number(cube, level));
        let axis = axis as u8;
        self.found.polygons.push(ContourPolygon { corners, axis, up: low_in, level, at, material });
    }

    fn material(&self, cube: NodeCube, corner: u8) -> u8 {
        if self.octree.mixed.is_empty() {
            return self.octree.nodes[cube.node as usize].material;
        }
        self.octree.materials(cube.node)[usize::from(corner)]
    }

    /// Returns the index of a node's vertex at an edge of a level.
    #[inline]
    fn number(&mut self, cube: NodeCube, level: u8) -> u32 {
        let ContourDraft { numbers, cubes, rough, .. } = self.found;
        let number = &mut numbers[cube.node as usize];
        if *number == u32::MAX {
            *number = cubes.len() as u32;
            cubes.push(cube);
            let inside = self.octree.nodes[cube.node as usize].inside;
            rough.push(CORNERS[usize::from(inside)].is_special());
        }
        if level < cube.level {
            rough[*number as usize] = true;
        }
        *number
    }
}

/// Returns the octant bits of an axis and the next two.
#[inline]
fn axes(axis: usize) -> [u8; 3] {
    [SIDE[axis], SIDE[(axis + 1) % 3], SIDE[(axis + 2) % 3]]
}
