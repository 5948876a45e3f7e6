//! A uniform grid of the triangles near each cell.

use super::triangle::{PreparedTriangle, halves, longest_edge};
use super::triangle_mesh::NONE;
use glam::Vec3;

/// Pieces whose longest edge is below this share of the error are not halved any further.
const MIN_PIECE_ERROR_SHARE: f32 = 0.08;

/// The most pages of a grid; larger surfaces get larger cells.
const MAX_PAGES: f32 = 4e6;

/// Cells along the edge of a page. Pages without a triangle take no memory.
const PAGE_EDGE_CELLS: usize = 8;

/// The triangles within reach of each cell.
#[derive(Default)]
pub(super) struct TriangleGrid {
    pub triangles: Vec<PreparedTriangle>,
    min: Vec3,
    edge: f32,
    /// Size in cells, and in pages.
    size: [usize; 3],
    page_grid: [usize; 3],
    /// By page: its number among those with triangles, or [`NONE`]; x fastest, then z, then y.
    pages: Vec<u32>,
    page_count: u32,
    /// First entry in `near` of each cell of numbered pages; then their count.
    starts: Vec<u32>,
    near: Vec<u32>,
    longest_edge_length: f32,
    /// Scratch: cell and triangle.
    pairs: Vec<[u32; 2]>,
    cells: Vec<u32>,
}

impl TriangleGrid {
    /// Lists each triangle in all cells within `reach` of it, and maybe some farther ones.
    pub fn fill(&mut self, triangles: impl Iterator<Item = [Vec3; 3]>, reach: f32) {
        self.triangles.clear();
        self.triangles.extend(triangles.map(PreparedTriangle::new));
        self.longest_edge_length = 0.0;
        let (mut min, mut max) = (Vec3::MAX, Vec3::MIN);
        for triangle in &self.triangles {
            self.longest_edge_length =
                self.longest_edge_length.max(longest_edge(&triangle.corners).0);
            for corner in triangle.corners {
                (min, max) = (min.min(corner), max.max(corner));
            }
        }
        self.longest_edge_length = self.longest_edge_length.sqrt();
        if self.triangles.is_empty() {
            (min, max) = (Vec3::ZERO, Vec3::ZERO);
        }
        self.min = min - reach;
        let span = max - min + 2.0 * reach;
        self.edge = 1.0;
        let count = |edge: f32| (span / (edge * PAGE_EDGE_CELLS as f32)).ceil().element_product();
        while count(self.edge) > MAX_PAGES {
            self.edge *= 2.0;
        }
        self.size = (span / self.edge).to_array().map(|v| v as usize + 1);
        self.page_grid = self.size.map(|cells| cells.div_ceil(PAGE_EDGE_CELLS));
        self.pages.clear();
        self.pages.resize(self.page_grid.iter().product(), NONE);
        self.page_count = 0;
        self.pairs.clear();
        for at in 0..self.triangles.len() {
            self.cells.clear();
            if self.list(at, self.triangles[at].corners, reach) {
                self.cells.sort_unstable();
                self.cells.dedup();
            }
            self.pairs.extend(self.cells.iter().map(|&cell| [cell, at as u32]));
        }
        self.sort();
    }

    /// Lists the cells near a piece of a triangle. Large pieces are halved first, since their
    /// boxes have many cells; returns whether, since cells may then be listed twice.
    fn list(&mut self, triangle: usize, piece: [Vec3; 3], reach: f32) -> bool {
        let (low, high) =
            (piece[0].min(piece[1]).min(piece[2]), piece[0].max(piece[1]).max(piece[2]));
        if (high - low).max_element() > 4.0 * self.edge {
            let halves = halves(&piece, longest_edge(&piece).1);
            for half in halves {
                self.list(triangle, half, reach);
            }
            return true;
        }
        let (low, high) = (self.cell(low - reach), self.cell(high + reach));
        // Half the diagonal of a cell, and a little.
        let own = self.triangles[triangle];
        let most = reach + 0.8661 * self.edge;
        for y in low[1]..=high[1] {
            for z in low[2]..=high[2] {
                for x in low[0]..=high[0] {
                    let middle =
                        self.min + (Vec3::new(x as f32, y as f32, z as f32) + 0.5) * self.edge;
                    if own.may_be_near(middle, most) {
                        let cell = self.listed([x, y, z]);
                        self.cells.push(cell);
                    }
                }
            }
        }
        false
    }

    /// Sorts the pairs by cell.
    fn sort(&mut self) {
        self.starts.clear();
        self.starts.resize(self.page_count as usize * PAGE_EDGE_CELLS.pow(3) + 1, 0);
        for pair in &self.pairs {
            self.starts[pair[0] as usize] += 1;
        }
        let mut end = 0;
        for start in &mut self.starts {
            end += *start;
            *start = end;
        }
        self.near.clear();
        self.near.resize(self.pairs.len(), 0);
        for &[cell, triangle] in self.pairs.iter().rev() {
            let start = &mut self.starts[cell as usize];
            *start -= 1;
            self.near[*start as usize] = triangle;
        }
    }

    /// Returns the cell of a point, clamped to the grid.
    fn cell(&self, p: Vec3) -> [usize; 3] {
        let at = ((p - self.min) / self.edge).to_array();
        [0, 1, 2].map(|i| (at[i].max(0.0) as usize).min(self.size[i] - 1))
    }

    /// Returns the page of a cell, and its index there.
    #[inline]
    fn page(&self, [x, y, z]: [usize; 3]) -> (usize, u32) {
        let along =
            |[x, y, z]: [usize; 3], [width, _, depth]: [usize; 3]| x + width * (z + depth * y);
        let page = along([x, y, z].map(|at| at / PAGE_EDGE_CELLS), self.page_grid);
        (page, along([x, y, z].map(|at| at % PAGE_EDGE_CELLS), [PAGE_EDGE_CELLS; 3]) as u32)
    }

    /// Returns the index of a cell in `starts`, numbering its page if necessary.
    fn listed(&mut self, cell: [usize; 3]) -> u32 {
        let (page, cell) = self.page(cell);
        let number = &mut self.pages[page];
        if *number == NONE {
            *number = self.page_count;
            self.page_count += 1;
        }
        *number * PAGE_EDGE_CELLS.pow(3) as u32 + cell
    }

    /// Returns the triangles listed at a point.
    fn near(&self, p: Vec3) -> &[u32] {
        let (page, cell) = self.page(self.cell(p));
        match self.pages[page] {
            NONE => &[],
            number => {
                let cell = number as usize * PAGE_EDGE_CELLS.pow(3) + cell as usize;
                &self.near[self.starts[cell] as usize..self.starts[cell + 1] as usize]
            }
        }
    }

    /// Returns the nearest of the triangles listed at a point.
    pub fn nearest(&self, p: Vec3) -> Option<usize> {
        let each = self
            .near(p)
            .iter()
            .map(|&t| (self.triangles[t as usize].distance_squared(p, f32::INFINITY), t as usize));
        each.min_by(|a, b| a.0.total_cmp(&b.0)).map(|nearest| nearest.1)
    }

    /// Returns the squared distance of the nearest triangle, or of the first within `enough`;
    /// infinity beyond reach.
    pub fn distance_squared(&self, p: Vec3, enough: f32) -> f32 {
        let mut least = f32::INFINITY;
        for &t in self.near(p) {
            least = least.min(self.triangles[t as usize].distance_squared(p, least));
            if least <= enough {
                break;
            }
        }
        least
    }

    /// Whether every point of a piece is within `error` of some triangle. Tries triangle `last`
    /// first, and sets it to one that was near. Appends all triangles that parts of the piece were
    /// near to `near_triangles`.
    pub fn has_near(
        &self,
        piece: [Vec3; 3],
        error: f32,
        last: &mut u32,
        near_triangles: &mut Vec<u32>,
    ) -> bool {
        let (length, opposite) = longest_edge(&piece);
        // Larger pieces are rarely near a single triangle.
        let fits = 0.5 * self.longest_edge_length + error;
        if length <= fits * fits {
            let is_near = |t: &u32| self.triangles[*t as usize].is_near(&piece, error * error);
            if (*last as usize) < self.triangles.len() && is_near(last) {
                near_triangles.push(*last);
                return true;
            }
            let near = self.near((piece[0] + piece[1] + piece[2]) / 3.0);
            if let Some(t) = near.iter().find(|t| is_near(t)) {
                *last = *t;
                near_triangles.push(*t);
                return true;
            }
            let smallest = MIN_PIECE_ERROR_SHARE * error;
            if near.is_empty() || length < smallest * smallest {
                return false;
            }
        }
        halves(&piece, opposite)
            .into_iter()
            .all(|half| self.has_near(half, error, last, near_triangles))
    }
}
