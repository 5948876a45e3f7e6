//! Where the vertical lines of path cells cross the mesh of cells: once per surface, exactly.
//!
//! In integers of 1/8192 voxel, of which vertices of meshes are even and lines odd numbers, so that
//! no line meets a vertex. A line that meets an edge counts as moved by an infinitely small step
//! along x, and a still smaller one along z: it lies in exactly one of the two triangles there.
//!
//! Sources: edge functions (Pineda 1988), ties by symbolic perturbation (Edelsbrunner and Mücke
//! 1990).

use terravox::mesh::{BlockMesh, MAX_EDGE, Mesher, PAD};
use terravox::voxel::{DenseBox, MaterialTable, Region, VoxelPos};

use crate::agent::{Gauge, HEIGHT_UNITS};

/// Parts of a voxel, horizontally.
const QUANTA: i32 = 8192;

/// A surface on the line of a path cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Crossing {
    /// Number of the path cell: x fastest, then z.
    pub path_cell: u32,
    /// Height above the tile's lowest, in units of 1/256 voxel, rounded down.
    pub height: i32,
    /// Ground, and not a ceiling.
    pub is_up: bool,
    /// No steeper than the agent climbs.
    pub is_gentle: bool,
}

/// Memory of [`Sampler::crossings`].
#[derive(Debug, Default)]
pub(crate) struct Sampler {
    mesher: Mesher,
    mesh: BlockMesh,
    part: DenseBox,
    vertices: Vec<[i32; 3]>,
}

/// The path cells of a square window.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Window {
    /// The voxel that heights and path cells are relative to.
    pub origin: VoxelPos,
    /// The first path cell along x and z.
    pub first: i32,
    /// Path cells along an edge.
    pub edge: i32,
}

impl Sampler {
    /// Lists all surfaces of `cells`, less [`PAD`] on each side, on the lines of the path cells, by
    /// path cell and height.
    pub fn crossings(
        &mut self,
        gauge: &Gauge,
        window: Window,
        cells: &DenseBox,
        materials: &MaterialTable,
        out: &mut Vec<Crossing>,
    ) {
        out.clear();
        let meshed = cells.region().grow(-PAD);
        for block in parts(meshed) {
            let read = block.grow(PAD);
            if read == cells.region() {
                self.mesher.mesh(cells, materials, &mut self.mesh);
            } else {
                self.part.reset(read);
                self.part.copy_from(cells);
                self.mesher.mesh(&self.part, materials, &mut self.mesh);
            }
            self.add(gauge, window, block.min, out);
        }
        out.sort_unstable();
    }

    /// Adds the crossings of the mesh, whose positions are relative to `min`.
    fn add(&mut self, gauge: &Gauge, window: Window, min: VoxelPos, out: &mut Vec<Crossing>) {
        let by = (min - window.origin).to_array().map(|v| v * QUANTA);
        self.vertices.clear();
        let quanta = |p: &[f32; 3]| {
            let [x, y, z] = *p;
            let of = |v: f32, by: i32| (v * QUANTA as f32) as i32 + by;
            [of(x, by[0]), of(y, by[1]), of(z, by[2])]
        };
        self.vertices.extend(self.mesh.solid.positions.iter().map(quanta));
        let spacing = QUANTA / gauge.per_voxel;
        for [i, j, k] in self.mesh.solid.triangles() {
            let corners = [i, j, k].map(|v| self.vertices[v as usize]);
            let range = |axis: usize| {
                let [a, b, c] = corners.map(|corner| corner[axis]);
                let [low, high] = [a.min(b).min(c), a.max(b).max(c)];
                let [first, end] = [low, high].map(|v| path_cell_from(v, spacing));
                first.max(window.first)..end.min(window.first + window.edge)
            };
            let xs = range(0);
            if xs.is_empty() {
                continue;
            }
            for z in range(2) {
                for x in xs.clone() {
                    let line = [x, z].map(|v| v * spacing + spacing / 2 + 1);
                    let Some((height, is_up)) = cross(corners, line) else { continue };
                    let path_cell = (z - window.first) * window.edge + (x - window.first);
                    out.push(Crossing {
                        path_cell: path_cell as u32,
                        height,
                        is_up,
                        is_gentle: is_up && is_gentle(corners, gauge.cosine_squared),
                    });
                }
            }
        }
    }
}

/// The first path cell whose line lies at `v` or beyond.
fn path_cell_from(v: i32, spacing: i32) -> i32 {
    (v - spacing / 2 - 1 + spacing - 1).div_euclid(spacing)
}

/// Boxes that the mesher takes and that together are `region`.
fn parts(region: Region) -> impl Iterator<Item = Region> {
    let cuts = |min: i32, max: i32| {
        let count = (max - min + MAX_EDGE - 1) / MAX_EDGE;
        let edge = (max - min + count - 1) / count.max(1);
        (0..count).map(move |i| (min + i * edge, (min + (i + 1) * edge).min(max)))
    };
    let Region { min, max } = region;
    cuts(min.y, max.y).flat_map(move |y| {
        cuts(min.z, max.z).flat_map(move |z| {
            cuts(min.x, max.x).map(move |x| Region::new([x.0, y.0, z.0], [x.1, y.1, z.1]))
        })
    })
}

/// The height at which a line crosses a triangle, if it does, and whether that is ground.
fn cross(corners: [[i32; 3]; 3], at: [i32; 2]) -> Option<(i32, bool)> {
    let [a, b, c] = corners;
    let (all, ..) = edge(a, b, [c[0], c[2]]);
    let sign = all.signum();
    let inside = |(value, dx, dz): (i64, i64, i64)| {
        let [dx, dz] = [dx * sign, dz * sign];
        value * sign > 0 || (value == 0 && (dz < 0 || (dz == 0 && dx > 0)))
    };
    let edges = [edge(b, c, at), edge(c, a, at), edge(a, b, at)];
    if sign == 0 || !edges.into_iter().all(inside) {
        return None;
    }
    // From corner a, so that all products fit: three voxels an axis are 2^15 quanta.
    let [_, for_b, for_c] = edges.map(|(value, ..)| value * sign);
    let rise = i64::from(b[1] - a[1]) * for_b + i64::from(c[1] - a[1]) * for_c;
    let quanta = i64::from(a[1]) + rise.div_euclid(all * sign);
    let height = quanta.div_euclid(i64::from(QUANTA / HEIGHT_UNITS));
    // Triangles are counter-clockwise from outside; x, z of ground then is clockwise.
    Some((height as i32, sign < 0))
}

/// Twice the area of the triangle of an edge and a point, in x and z, and the edge.
#[inline]
fn edge(a: [i32; 3], b: [i32; 3], [x, z]: [i32; 2]) -> (i64, i64, i64) {
    let (dx, dz) = (i64::from(b[0] - a[0]), i64::from(b[2] - a[2]));
    (dx * i64::from(z - a[2]) - dz * i64::from(x - a[0]), dx, dz)
}

/// Whether a triangle of ground is no steeper than the cosine says.
fn is_gentle([a, b, c]: [[i32; 3]; 3], cosine_squared: f64) -> bool {
    // 2^15 quanta each: exact in f64.
    let u = [0, 1, 2].map(|i| f64::from(b[i] - a[i]));
    let v = [0, 1, 2].map(|i| f64::from(c[i] - a[i]));
    let n = [u[1] * v[2] - u[2] * v[1], u[2] * v[0] - u[0] * v[2], u[0] * v[1] - u[1] * v[0]];
    n[1] * n[1] >= cosine_squared * (n[0] * n[0] + n[1] * n[1] + n[2] * n[2])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn path_cells_begin_at_their_lines() {
        for spacing in [2048, 4096, 8192] {
            for path_cell in -3..4 {
                let line = path_cell * spacing + spacing / 2 + 1;
                assert_eq!(path_cell_from(line, spacing), path_cell);
                assert_eq!(path_cell_from(line + 1, spacing), path_cell + 1);
                assert_eq!(path_cell_from(line - 1, spacing), path_cell);
            }
        }
    }

    #[test]
    fn a_line_on_an_edge_crosses_one_of_its_triangles() {
        let rim = [[12, 0], [12, 4], [12, 12], [4, 12], [-12, 12], [-12, -12], [0, -12], [12, -12]];
        let corner = |[x, z]: [i32; 2]| [x, 64 * x, z];
        for (x, z) in (-11..12).step_by(2).flat_map(|x| (-11..12).step_by(2).map(move |z| (x, z))) {
            let fan = |i: usize| [rim[i], rim[(i + 1) % rim.len()]].map(corner);
            let hits: Vec<_> = (0..rim.len())
                .filter_map(|i| {
                    let [a, b] = fan(i);
                    let ceiling = cross([[0; 3], a, b], [x, z]);
                    let ground = cross([[0; 3], b, a], [x, z]);
                    assert_eq!(ceiling.map(|c| c.0), ground.map(|c| c.0));
                    assert_eq!(ground.map(|c| c.1), ceiling.map(|c| !c.1));
                    ground
                })
                .collect();
            assert_eq!(hits, [((64 * x).div_euclid(32), true)], "({x}, {z})");
        }
    }

    #[test]
    fn parts_cover_a_region_once() {
        let region = Region::new([-70, 0, 3], [70, 64, 5]);
        let parts: Vec<_> = parts(region).collect();
        assert_eq!(parts.len(), 3);
        assert_eq!(parts.iter().map(|part| part.volume()).sum::<u64>(), region.volume());
        assert!(parts.iter().all(|part| part.size().into_iter().all(|edge| edge <= 64)));
    }
}
