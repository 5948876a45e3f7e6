//! Bytes per vertex on the GPU, and the cost of packing: all meshes of hills to the
//! horizon.

use std::sync::Arc;

use crate::harness::{Entrant, RoundBudget, contest};
use crate::lod::horizon_view;
use crate::report::{AreaReport, detail};
use terravox::mesh::{BlockMesh, PackedIndices, PackedSurface, PackedVertex, Surface};

/// Bytes of a vertex in the arrays of a [`Surface`]: position, normal, materials, weights.
const UNPACKED_VERTEX_BYTES: f64 = 32.0;

/// Bytes of a triangle in them: three 4-byte indices.
const UNPACKED_TRIANGLE_BYTES: f64 = 12.0;

/// Measures `vertex_bytes`, and the time of packing.
pub fn run(report: &mut AreaReport) {
    let terrain = horizon_view();
    let blocks = terrain.meshed_blocks();
    let meshes: Vec<Arc<BlockMesh>> =
        blocks.iter().filter_map(|&block| terrain.mesh(block).cloned()).collect();
    let surfaces: Vec<&Surface> =
        meshes.iter().flat_map(|mesh| [&mesh.solid, &mesh.liquid]).collect();
    let vertices: usize = surfaces.iter().map(|surface| surface.vertex_count()).sum();
    let totals = PackedTotals::new(&surfaces);
    assert_eq!(totals.vertices, vertices, "every vertex is packed");

    let per_vertex = totals.vertex_bytes as f64 / vertices as f64;
    let note = format!(
        "{} bytes of {vertices} vertices of a 16 km view; {} bytes by layout",
        totals.vertex_bytes,
        size_of::<PackedVertex>(),
    );
    report.set_beside("vertex_bytes", per_vertex, UNPACKED_VERTEX_BYTES, note);

    let mut packed = PackedSurface::default();
    let pack = Entrant::new("pack", |_| {
        let pack = |surface: &&Surface| {
            surface.pack(&mut packed);
            packed.vertices.len() as u64
        };
        surfaces.iter().map(pack).sum()
    });
    let [timing] = contest(1, RoundBudget::seconds(4.0), [pack]);
    let [best, median] = [timing.min, timing.median].map(|s| s * 1e9 / vertices as f64);
    let triangles: usize = surfaces.iter().map(|surface| surface.triangle_count()).sum();
    let rows = vec![
        detail("packing, min", best, "ns/vertex")
            .note(format!("median {median:.1}, indices included")),
        detail("indices", totals.index_bytes as f64 / triangles as f64, "B/triangle")
            .beside(UNPACKED_TRIANGLE_BYTES),
        detail("vertices and indices", totals.bytes() as f64 / triangles as f64, "B/triangle"),
        detail("surfaces with 2-byte indices", totals.narrow_share(), "share"),
        detail("packing the view", best * vertices as f64 * 1e-6, "ms"),
    ];
    report.details(format!("{} meshes for the graphics card", meshes.len()), rows);
}

/// Sizes of all surfaces, packed.
#[derive(Default)]
struct PackedTotals {
    vertices: usize,
    vertex_bytes: usize,
    index_bytes: usize,
    /// Surfaces with 2-byte indices.
    narrow_surfaces: usize,
    surfaces: usize,
}

impl PackedTotals {
    fn new(surfaces: &[&Surface]) -> PackedTotals {
        let mut totals = PackedTotals::default();
        let (mut packed, mut bytes) = (PackedSurface::default(), Vec::new());
        for surface in surfaces.iter().filter(|surface| !surface.is_empty()) {
            surface.pack(&mut packed);
            bytes.clear();
            packed.indices.append_bytes(&mut bytes);
            totals.index_bytes += bytes.len();
            bytes.clear();
            bytes.extend(packed.vertices.iter().flat_map(|vertex| vertex.to_bytes()));
            totals.vertex_bytes += bytes.len();
            totals.vertices += packed.vertices.len();
            totals.narrow_surfaces += usize::from(matches!(packed.indices, PackedIndices::U16(_)));
            totals.surfaces += 1;
        }
        totals
    }

    fn bytes(&self) -> usize {
        self.vertex_bytes + self.index_bytes
    }

    fn narrow_share(&self) -> f64 {
        self.narrow_surfaces as f64 / self.surfaces as f64
    }
}
