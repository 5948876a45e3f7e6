//! Contouring: a polygon for every edge that the surface crosses, between the vertices of
//! the nodes around it.
//!
//! Source: "Dual Contouring of Hermite Data" (Ju et al. 2002): cubes lead to faces, faces to
//! edges, down to where all nodes are shown; there an edge is minimal, that of the smallest
//! of the four, and its ends say whether the surface crosses it. What the nodes are does not
//! matter for the result to be closed: a face has an even number of edges that are crossed.
//! That it is manifold takes care of [`sheets`](super::sheets).

use crate::mesh::{CORNERS, SIDE, Surface};

use super::emit::write;
use super::node::side;
use super::{NONE, Octree, Place, uniform};

/// Which nodes are shown.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Detail {
    /// Smallest edge of a node that is shown, cells; a power of two. What is smaller is shown
    /// by the node of that size around it, whatever the error.
    pub size: u32,
    /// Larger nodes are shown where the root mean square of the distances of their vertex to
    /// the planes below is at most this, cells, and what is solid hangs together as before.
    pub error: Option<f32>,
}

impl Detail {
    /// Nodes of one size, or leaves where those are larger.
    pub const fn size(size: u32) -> Detail {
        Detail { size, error: None }
    }

    /// Nodes as large as an error allows, cells.
    pub const fn error(error: f32) -> Detail {
        Detail { size: 1, error: Some(error) }
    }
}

/// What was shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Shown {
    /// Nodes that have a vertex.
    pub nodes: usize,
    /// Nodes whose surface has several sheets, each with a vertex.
    pub split: usize,
    /// Edges that the surface crosses: polygons.
    pub polygons: usize,
}

/// Contours octrees. Holds scratch memory, so keep one per thread and reuse it.
#[derive(Debug, Default)]
pub struct Contourer {
    pub(super) found: Found,
}

/// What a walk over an octree finds.
#[derive(Debug, Default)]
pub(super) struct Found {
    /// Number of the vertex of a node; `u32::MAX` if it has none yet.
    numbers: Vec<u32>,
    /// Nodes by number of their vertex.
    pub places: Vec<Place>,
    /// Whether the sheets at a node do not follow from its corners, by number.
    pub rough: Vec<bool>,
    pub polygons: Vec<Polygon>,
    /// Low corners of nodes of one size; see [`uniform`](super::uniform).
    pub corners: Vec<u32>,
    pub spare: Vec<u32>,
    /// Numbers of nodes of one size by place.
    pub table: Vec<u32>,
}

impl Found {
    fn clear(&mut self) {
        self.places.clear();
        self.rough.clear();
        self.polygons.clear();
    }
}

/// An edge that the surface crosses, and the nodes around it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Polygon {
    /// Vertices around the edge, counter-clockwise seen from its high end. A node with two
    /// sides at the edge comes twice, one after the other.
    pub corners: [u32; 4],
    /// Axis of the edge.
    pub axis: u8,
    /// Whether the low end is solid.
    pub up: bool,
    /// The edge is `1 << level` cells long.
    pub level: u8,
    /// Its low end, cells from the root's low corner.
    pub at: [i32; 3],
    /// Material at its solid end.
    pub material: u8,
}

impl Octree {
    /// Whether the nodes of a size can be shown.
    ///
    /// # Panics
    /// If they cannot, or it is no power of two.
    fn check(&self, detail: &Detail) {
        let fits = detail.size.is_power_of_two() && detail.size <= 1 << self.shown;
        assert!(fits || self.is_empty(), "no nodes of {} cells are shown", detail.size);
    }

    /// Whether a node is shown as a whole.
    #[inline]
    pub(super) fn is_shown(&self, place: Place, size: u32, error: Option<u16>) -> bool {
        let error_of = |node: u32| self.errors[(node - self.starts[1]) as usize];
        self.is_leaf(place.node)
            || place.level <= self.shown
                && (1 << place.level <= size || error.is_some_and(|e| error_of(place.node) <= e))
    }

    /// Calls for every node that is shown.
    pub(super) fn each_shown(&self, detail: &Detail, each: &mut impl FnMut(Place)) {
        self.check(detail);
        let error = detail.error.map(error_units);
        let mut open = vec![self.root()];
        while let Some(place) = open.pop() {
            if place == NONE {
                continue;
            }
            if self.is_shown(place, detail.size, error) {
                each(place);
            } else {
                open.extend((0..8).rev().map(|octant| self.child(place, octant)));
            }
        }
    }

    /// The surface between the nodes that are shown, but for its faces at the hull: positions
    /// in cells from [`Octree::min`], all triangles loose (see [`Surface`]). It is manifold,
    /// and where it does not reach the hull closed, whatever is shown. What was in `out` is
    /// replaced.
    ///
    /// # Panics
    /// If `detail.size` is no power of two or larger than what can be shown.
    pub fn contour(&self, detail: &Detail, out: &mut Surface) -> Shown {
        Contourer::default().contour(self, detail, out)
    }
}

/// An error in the unit of nodes, rounded down.
fn error_units(error: f32) -> u16 {
    (error * 256.0).clamp(0.0, 65534.0) as u16
}

impl Contourer {
    /// A contourer.
    pub fn new() -> Contourer {
        Contourer::default()
    }

    /// See [`Octree::contour`].
    ///
    /// # Panics
    /// As that does.
    pub fn contour(&mut self, octree: &Octree, detail: &Detail, out: &mut Surface) -> Shown {
        octree.check(detail);
        let error = detail.error.map(error_units);
        let size = detail.size;
        self.found.clear();
        if error.is_none() && uniform::find(octree, size.trailing_zeros() as u8, &mut self.found) {
            return write(octree, &mut self.found, true, out);
        }
        self.contour_where(octree, out, |place| octree.is_shown(place, size, error))
    }

    /// Contours with the nodes for which `shown` holds first, from the root down; it holds
    /// for all leaves.
    pub(super) fn contour_where(
        &mut self,
        octree: &Octree,
        out: &mut Surface,
        shown: impl Fn(Place) -> bool,
    ) -> Shown {
        let found = &mut self.found;
        found.numbers.clear();
        found.numbers.resize(octree.nodes.len(), u32::MAX);
        found.clear();
        let mut walk = Walk { octree, shown, found };
        walk.cube(octree.root());
        write(octree, found, false, out)
    }
}

struct Walk<'a, S> {
    octree: &'a Octree,
    shown: S,
    found: &'a mut Found,
}

impl<S: Fn(Place) -> bool> Walk<'_, S> {
    /// All edges within a cube.
    fn cube(&mut self, place: Place) {
        if place == NONE || (self.shown)(place) {
            return;
        }
        let children: [Place; 8] =
            std::array::from_fn(|octant| self.octree.child(place, octant as u8));
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

    /// All edges within the face between two nodes, the first lower along the axis.
    fn face(&mut self, axis: usize, pair: [Place; 2]) {
        if pair[0] == NONE || pair[1] == NONE {
            return;
        }
        let whole = pair.map(|place| (self.shown)(place));
        if whole[0] && whole[1] {
            return;
        }
        let [bit, u, v] = axes(axis);
        // The four parts of the face: the nodes on its two sides, by sides of u and v.
        let part = |sides: u8, which: usize| match whole[which] {
            true => pair[which],
            false => self.octree.child(pair[which], if which == 0 { sides | bit } else { sides }),
        };
        let parts = [0, u, v, u | v].map(|sides| [part(sides, 0), part(sides, 1)]);
        parts.into_iter().for_each(|pair| self.face(axis, pair));
        let [a, b, c, d] = parts;
        let (along_u, along_v) = ((axis + 1) % 3, (axis + 2) % 3);
        // Around an edge along u, the next two axes are v and this one; along v, this and u.
        for [low, high] in [[a, c], [b, d]] {
            self.edge(along_u, [low[0], high[0], high[1], low[1]]);
        }
        for [low, high] in [[a, b], [c, d]] {
            self.edge(along_v, [low[0], low[1], high[1], high[0]]);
        }
    }

    /// All minimal edges within an edge between four nodes, in order around it.
    fn edge(&mut self, axis: usize, around: [Place; 4]) {
        if around.contains(&NONE) {
            return;
        }
        let whole = around.map(|place| (self.shown)(place));
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

    /// A minimal edge: a polygon if its ends differ.
    #[inline]
    fn minimal(&mut self, axis: usize, around: [Place; 4]) {
        let mut smallest = 0;
        for k in 1..4 {
            if around[k].level < around[smallest].level {
                smallest = k;
            }
        }
        let place = around[smallest];
        let [bit, u, v] = axes(axis);
        let low = [u | v, v, 0, u][smallest];
        let inside = self.octree.nodes[place.node as usize].inside;
        let [low_in, high_in] = [low, low | bit].map(|corner| inside >> corner & 1 == 1);
        if low_in == high_in {
            return;
        }
        let level = place.level;
        let at = [0, 1, 2].map(|i| place.min[i] + (side(low, i) << level));
        let material = self.material(place, if low_in { low } else { low | bit });
        let corners = around.map(|place| self.number(place, level));
        let axis = axis as u8;
        self.found.polygons.push(Polygon { corners, axis, up: low_in, level, at, material });
    }

    fn material(&self, place: Place, corner: u8) -> u8 {
        if self.octree.mixed.is_empty() {
            return self.octree.nodes[place.node as usize].material;
        }
        self.octree.materials(place.node)[usize::from(corner)]
    }

    /// Number of a node's vertex at an edge of a level.
    #[inline]
    fn number(&mut self, place: Place, level: u8) -> u32 {
        let Found { numbers, places, rough, .. } = self.found;
        let number = &mut numbers[place.node as usize];
        if *number == u32::MAX {
            *number = places.len() as u32;
            places.push(place);
            let inside = self.octree.nodes[place.node as usize].inside;
            rough.push(CORNERS[usize::from(inside)].is_special());
        }
        if level < place.level {
            rough[*number as usize] = true;
        }
        *number
    }
}

/// Octant bits of an axis and the two next ones.
#[inline]
fn axes(axis: usize) -> [u8; 3] {
    [SIDE[axis], SIDE[(axis + 1) % 3], SIDE[(axis + 2) % 3]]
}
