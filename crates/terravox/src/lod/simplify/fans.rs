//! The triangles around each vertex.

/// How the triangles around a vertex touch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Around {
    /// Closed: each beside the next.
    Closed,
    /// Open: from one edge of the border to another.
    Open,
    /// Any other way, or not at all.
    Mixed,
}

/// Triangles by vertex, which change as edges collapse.
#[derive(Clone, Default)]
pub(super) struct Fans {
    /// Where a vertex' triangles are in `entries`, and how many.
    spans: Vec<[u32; 2]>,
    entries: Vec<u32>,
}

impl Fans {
    /// Of triangles between so many vertices.
    pub fn read(&mut self, count: usize, triangles: &[[u32; 3]]) {
        self.spans.clear();
        self.spans.resize(count, [0; 2]);
        for &v in triangles.as_flattened() {
            self.spans[v as usize][1] += 1;
        }
        let mut start = 0;
        for span in &mut self.spans {
            span[0] = start;
            start += span[1];
            span[1] = 0;
        }
        self.entries.clear();
        self.entries.resize(start as usize, 0);
        for (at, triangle) in (0..).zip(triangles) {
            for &v in triangle {
                let span = &mut self.spans[v as usize];
                self.entries[(span[0] + span[1]) as usize] = at;
                span[1] += 1;
            }
        }
    }

    /// The triangles around a vertex.
    pub fn of(&self, vertex: u32) -> &[u32] {
        let [start, count] = self.spans[vertex as usize];
        &self.entries[start as usize..][..count as usize]
    }

    /// Sets the triangles around a vertex.
    pub fn set(&mut self, vertex: u32, triangles: &[u32]) {
        self.spans[vertex as usize] = [self.entries.len() as u32, triangles.len() as u32];
        self.entries.extend(triangles);
    }

    /// Takes a triangle from those around a vertex.
    pub fn remove(&mut self, vertex: u32, triangle: u32) {
        let [start, count] = &mut self.spans[vertex as usize];
        let own = &mut self.entries[*start as usize..][..*count as usize];
        if let Some(at) = own.iter().position(|t| *t == triangle) {
            own.swap(at, *count as usize - 1);
            *count -= 1;
        }
    }

    /// How the triangles around a vertex touch.
    pub fn around(&self, vertex: u32, triangles: &[[u32; 3]]) -> Around {
        let edges = || self.of(vertex).iter().map(|&t| opposite(triangles[t as usize], vertex));
        let next = |from: u32| edges().find(|edge| edge[0] == from).map(|edge| edge[1]);
        let is_end = |v: u32| edges().all(|edge| edge[1] != v);
        let Some(some) = edges().next() else { return Around::Mixed };
        let first = edges().map(|edge| edge[0]).find(|&v| is_end(v));
        let (mut at, mut steps) = (first.unwrap_or(some[0]), 0);
        let start = at;
        while let Some(then) = next(at) {
            (at, steps) = (then, steps + 1);
            if at == start || steps > self.of(vertex).len() {
                break;
            }
        }
        match (steps == self.of(vertex).len(), at == start, first) {
            (true, true, None) => Around::Closed,
            (true, false, Some(_)) => Around::Open,
            _ => Around::Mixed,
        }
    }
}

/// The edge of a triangle that a corner of it does not belong to, in the triangle's direction.
pub(super) fn opposite([a, b, c]: [u32; 3], corner: u32) -> [u32; 2] {
    if a == corner {
        [b, c]
    } else if b == corner {
        [c, a]
    } else {
        [a, b]
    }
}
