//! The triangles around each vertex.

/// Triangles by vertex. Lists can change as edges collapse.
#[derive(Clone, Default)]
pub(super) struct Adjacency {
    /// By vertex: start and length of its list in `entries`.
    ranges: Vec<[u32; 2]>,
    entries: Vec<u32>,
}

impl Adjacency {
    /// Lists `triangles` by vertex.
    pub fn build(&mut self, vertex_count: usize, triangles: &[[u32; 3]]) {
        self.ranges.clear();
        self.ranges.resize(vertex_count, [0; 2]);
        for &v in triangles.as_flattened() {
            self.ranges[v as usize][1] += 1;
        }
        let mut start = 0;
        for range in &mut self.ranges {
            range[0] = start;
            start += range[1];
            range[1] = 0;
        }
        self.entries.clear();
        self.entries.resize(start as usize, 0);
        for (at, triangle) in (0..).zip(triangles) {
            for &v in triangle {
                let range = &mut self.ranges[v as usize];
                self.entries[(range[0] + range[1]) as usize] = at;
                range[1] += 1;
            }
        }
    }

    /// Returns the triangles around a vertex.
    pub fn of(&self, vertex: u32) -> &[u32] {
        let [start, count] = self.ranges[vertex as usize];
        &self.entries[start as usize..][..count as usize]
    }

    /// Sets the triangles around a vertex.
    pub fn set(&mut self, vertex: u32, triangles: &[u32]) {
        self.ranges[vertex as usize] = [self.entries.len() as u32, triangles.len() as u32];
        self.entries.extend(triangles);
    }

    /// Removes a triangle from those around a vertex.
    pub fn remove(&mut self, vertex: u32, triangle: u32) {
        let [start, count] = &mut self.ranges[vertex as usize];
        let own = &mut self.entries[*start as usize..][..*count as usize];
        if let Some(at) = own.iter().position(|t| *t == triangle) {
            own.swap(at, *count as usize - 1);
            *count -= 1;
        }
    }
}

/// Returns the edge of a triangle opposite to one of its corners, in winding order.
pub(super) fn opposite_edge([a, b, c]: [u32; 3], corner: u32) -> [u32; 2] {
    if a == corner {
        [b, c]
    } else if b == corner {
        [c, a]
    } else {
        [a, b]
    }
}
