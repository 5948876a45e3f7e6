//! The triangles of a file, whatever its format.

use super::error::MeshError;
use crate::import_budget::ImportBudget;

/// Memory of a vertex while the list grows: it is copied to one of twice the size.
const VERTEX_BYTES: u64 = 72;
/// Memory of a triangle while the list grows.
const TRIANGLE_BYTES: u64 = 36;
/// Units of work of a vertex or a triangle, besides its bytes in the file.
const ELEMENT_WORK: u64 = 16;

/// A mesh as a file has it, in units of the file.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FileMesh {
    /// Positions; all that triangles use are finite.
    pub positions: Vec<[f64; 3]>,
    /// Triangles, counter-clockwise seen from outside; indices are below the number of positions.
    pub triangles: Vec<[u32; 3]>,
}

impl FileMesh {
    /// Returns the lowest and the highest coordinates of the triangles; `None` without triangles.
    ///
    /// # Panics
    /// If an index is not below the number of positions.
    pub fn bounds(&self) -> Option<[[f64; 3]; 2]> {
        let used = self.triangles.iter().flatten().map(|&v| self.positions[v as usize]);
        used.map(|p| [p, p]).reduce(|[low, high], [p, _]| {
            [[0, 1, 2].map(|i| low[i].min(p[i])), [0, 1, 2].map(|i| high[i].max(p[i]))]
        })
    }

    /// Returns the volume within a closed mesh, in cubic units of the file; negative if its
    /// triangles face inward.
    ///
    /// # Panics
    /// If an index is not below the number of positions.
    pub fn volume(&self) -> f64 {
        let Some([origin, _]) = self.bounds() else { return 0.0 };
        let corner = |v: u32| [0, 1, 2].map(|i| self.positions[v as usize][i] - origin[i]);
        let six = |triangle: &[u32; 3]| {
            let [[ax, ay, az], [bx, by, bz], [cx, cy, cz]] = triangle.map(corner);
            ax * (by * cz - bz * cy) + ay * (bz * cx - bx * cz) + az * (bx * cy - by * cx)
        };
        self.triangles.iter().map(six).sum::<f64>() / 6.0
    }
}

/// Collects the triangles of a file. Every vertex and triangle is paid for before it is kept.
pub(super) struct MeshCollector<'b> {
    pub budget: &'b mut ImportBudget,
    mesh: FileMesh,
}

impl<'b> MeshCollector<'b> {
    pub fn new(budget: &'b mut ImportBudget) -> MeshCollector<'b> {
        MeshCollector { budget, mesh: FileMesh::default() }
    }

    /// Vertices so far.
    pub fn vertex_count(&self) -> usize {
        self.mesh.positions.len()
    }

    pub fn vertex(&mut self, position: [f64; 3]) -> Result<(), MeshError> {
        self.budget.spend_memory("its vertices", VERTEX_BYTES)?;
        self.budget.spend_work("its vertices", ELEMENT_WORK)?;
        if self.mesh.positions.len() > u32::MAX as usize {
            return Err(MeshError::Unsupported {
                what: "the file has more than 2^32 vertices; split it".to_owned(),
            });
        }
        self.mesh.positions.push(position);
        Ok(())
    }

    pub fn triangle(&mut self, corners: [u32; 3]) -> Result<(), MeshError> {
        self.budget.spend_memory("its triangles", TRIANGLE_BYTES)?;
        self.budget.spend_work("its triangles", ELEMENT_WORK)?;
        self.mesh.triangles.push(corners);
        Ok(())
    }

    /// Checks all triangles and returns the mesh.
    pub fn finish(self) -> Result<FileMesh, MeshError> {
        let FileMesh { positions, triangles } = &self.mesh;
        if triangles.is_empty() {
            return Err(MeshError::NoTriangles);
        }
        for (number, triangle) in triangles.iter().enumerate() {
            for &vertex in triangle {
                let vertex = vertex as usize;
                let Some(position) = positions.get(vertex) else {
                    let count = positions.len();
                    let what = format!("it names vertex {vertex}, but there are {count}");
                    return Err(MeshError::Damaged {
                        location: format!("triangle {number}"),
                        what,
                    });
                };
                if !position.iter().all(|v| v.is_finite()) {
                    return Err(MeshError::NotFinite { vertex });
                }
            }
        }
        Ok(self.mesh)
    }
}

/// The triangles of a polygon, as a fan from its first corner. A flat polygon need not be convex
/// for the winding number.
#[derive(Default)]
pub(super) struct PolygonFan {
    corners: usize,
    first: u32,
    last: u32,
}

impl PolygonFan {
    /// Takes the next corner.
    pub fn push(&mut self, vertex: u32, mesh: &mut MeshCollector<'_>) -> Result<(), MeshError> {
        match self.corners {
            0 => self.first = vertex,
            1 => {}
            _ => mesh.triangle([self.first, self.last, vertex])?,
        }
        self.last = vertex;
        self.corners += 1;
        Ok(())
    }
}
