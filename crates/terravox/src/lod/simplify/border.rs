//! What must stay of a surface: its border, and that it is as manifold as it was.

use crate::mesh::Surface;
use rustc_hash::{FxHashMap, FxHashSet};

/// Which vertices a vertex has edges to, and which edges the surface does not use as a closed
/// one does.
#[derive(Default)]
pub(super) struct Rings {
    /// Where a vertex' corners start in `corners`; then their number.
    starts: Vec<u32>,
    /// For each corner of a triangle the two other vertices, sorted by vertex.
    corners: Vec<[u32; 2]>,
    /// Directed edges without one in the opposite direction, and those that are used twice.
    border: FxHashSet<[u32; 2]>,
    /// Uses of directed edges.
    uses: FxHashMap<[u32; 2], u32>,
    places: FxHashMap<[u32; 3], u32>,
    /// By vertex: whether an edge of the border ends there.
    at_border: Vec<bool>,
}

/// How far a vertex may lie from the side of its block that it belongs to, in cells, where
/// blocks of mips that differ by one touch.
const FROM_SIDE: f32 = 1.5;

impl Rings {
    /// Of a surface.
    pub fn read(&mut self, surface: &Surface) {
        let count = surface.vertex_count();
        self.starts.clear();
        self.starts.resize(count + 1, 0);
        for &vertex in &surface.indices {
            self.starts[vertex as usize] += 1;
        }
        let mut end = 0;
        for start in &mut self.starts {
            end += *start;
            *start = end;
        }
        self.corners.clear();
        self.corners.resize(surface.indices.len(), [0; 2]);
        for t in surface.triangles() {
            for k in 0..3 {
                let start = &mut self.starts[t[k] as usize];
                *start -= 1;
                self.corners[*start as usize] = [t[(k + 1) % 3], t[(k + 2) % 3]];
            }
        }
        self.border.clear();
        let triangles = surface.triangles();
        count_uses(triangles, &mut self.uses);
        let open = |(edge, count): (&[u32; 2], &u32)| {
            (*count > 1 || self.uses.get(&[edge[1], edge[0]]) != Some(&1)).then_some(*edge)
        };
        self.border.extend(self.uses.iter().filter_map(open));
        self.at_border.clear();
        self.at_border.resize(count, false);
        for &vertex in self.border.iter().flatten() {
            self.at_border[vertex as usize] = true;
        }
    }

    /// Vertices that share a triangle with this one, and itself.
    pub fn of(&self, vertex: u32) -> impl Iterator<Item = u32> + '_ {
        let [from, to] = [0, 1].map(|i| self.starts[vertex as usize + i] as usize);
        self.corners[from..to].iter().flatten().copied().chain([vertex])
    }

    /// Vertices that triangles use.
    pub fn used(&self) -> impl Iterator<Item = u32> + '_ {
        (0..).zip(self.starts.windows(2)).filter(|(_, ends)| ends[0] < ends[1]).map(|(v, _)| v)
    }

    /// Locks the vertices of the border, and those that are where another one is.
    pub fn lock_border(&mut self, surface: &Surface, locked: &mut [bool]) {
        let own = locked.iter_mut().zip(&self.at_border);
        own.for_each(|(locked, at_border)| *locked |= at_border);
        self.places.clear();
        for (vertex, position) in (0..).zip(&surface.positions) {
            let first = *self.places.entry(position.map(f32::to_bits)).or_insert(vertex);
            if first != vertex {
                locked[first as usize] = true;
                locked[vertex as usize] = true;
            }
        }
    }

    /// Lists vertices at which triangles that are kept do not fit as those of the surface did:
    /// an edge that is used too often, or by one only and not of the border; a border edge
    /// that is gone; a vertex with several fans where there was one.
    pub fn find_torn(&mut self, kept: &[[u32; 3]], free_border: bool, torn: &mut Vec<u32>) {
        count_uses(kept.iter().copied(), &mut self.uses);
        for (&[from, to], &count) in &self.uses {
            let open = count > 1 || !self.uses.contains_key(&[to, from]);
            if open && !self.border.contains(&[from, to]) && (count > 1 || !free_border) {
                torn.extend([from, to]);
            }
        }
        if !free_border {
            let gone = self.border.iter().filter(|edge| !self.uses.contains_key(*edge));
            torn.extend(gone.flatten());
        }
        self.find_pinched(kept, torn);
    }

    /// Lists the ends of new edges between two vertices of the border at one side of a block of
    /// so many cells: the block beyond may have the same one, and it would be used by four
    /// triangles.
    pub fn find_chords(&self, surface: &Surface, block: [f32; 3], torn: &mut Vec<u32>) {
        let at_side = |axis: usize, high: bool, v: u32| {
            let p = surface.positions[v as usize][axis];
            if high { block[axis] - p <= FROM_SIDE } else { p <= FROM_SIDE }
        };
        let sides = [0, 1, 2].into_iter().flat_map(|axis| [(axis, false), (axis, true)]);
        for &[from, to] in self.uses.keys() {
            let ends = [from, to].iter().all(|&v| self.at_border[v as usize]);
            let at_one = |(axis, high)| at_side(axis, high, from) && at_side(axis, high, to);
            if ends && sides.clone().any(at_one) && self.of(from).all(|v| v != to) {
                torn.extend([from, to]);
            }
        }
    }

    /// Lists vertices whose triangles form more fans than those of the surface did there.
    fn find_pinched(&self, kept: &[[u32; 3]], torn: &mut Vec<u32>) {
        let mut around: Vec<(u32, [u32; 2])> = Vec::with_capacity(3 * kept.len());
        for t in kept {
            around.extend([0, 1, 2].map(|k| (t[k], [t[(k + 1) % 3], t[(k + 2) % 3]])));
        }
        around.sort_unstable();
        let mut fan = Vec::new();
        for fans in around.chunk_by(|a, b| a.0 == b.0) {
            fan.clear();
            fan.extend(fans.iter().map(|(_, edge)| *edge));
            let vertex = fans[0].0;
            if fan_count(&mut fan) > 1 {
                fan.clear();
                let [from, to] = [0, 1].map(|i| self.starts[vertex as usize + i] as usize);
                fan.extend(&self.corners[from..to]);
                if fan_count(&mut fan) == 1 {
                    torn.push(vertex);
                }
            }
        }
    }
}

fn count_uses(triangles: impl Iterator<Item = [u32; 3]>, uses: &mut FxHashMap<[u32; 2], u32>) {
    uses.clear();
    for t in triangles {
        for k in 0..3 {
            *uses.entry([t[k], t[(k + 1) % 3]]).or_insert(0) += 1;
        }
    }
}

/// How many chains and rings the edges opposite to a vertex make; takes them apart.
fn fan_count(edges: &mut Vec<[u32; 2]>) -> usize {
    let mut fans = 0;
    while let Some([mut first, mut last]) = edges.pop() {
        fans += 1;
        while let Some(at) = edges.iter().position(|e| e[0] == last || e[1] == first) {
            let [from, to] = edges.swap_remove(at);
            if from == last {
                last = to;
            } else {
                first = from;
            }
        }
    }
    fans
}
