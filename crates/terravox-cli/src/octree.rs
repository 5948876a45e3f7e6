//! Meshes the ground of a world from the nodes of its octrees.

use crate::args::ClusterArgs;
use crate::console::Console;
use crate::report::{Report, grouped};
use rayon::prelude::*;
use serde_json::json;
use terravox::mesh::{BlockMesh, Surface};
use terravox::octree::{Contourer, Detail, Octree, OctreeBuilder, OctreePos, Octrees};
use terravox::voxel::{DenseBox, NotHeld, Region, Snapshot};

/// Size of an octree and of its mesh.
pub struct OctreeStats {
    /// Leaves of the octree.
    leaves: usize,
    /// Triangles of the mesh.
    triangles: usize,
    /// Triangles of a mesh of the leaves.
    fine_triangles: usize,
}

/// Builds the octree of a world's ground and meshes it in one piece, relative to the octree's
/// min corner, without liquids.
///
/// # Errors
/// [`NotHeld`] if the world does not hold a cell that is needed.
pub fn bake(
    snapshot: &Snapshot,
    clusters: ClusterArgs,
    console: &Console,
) -> Result<(BlockMesh, OctreeStats), NotHeld> {
    let blocks = Octrees::blocks(snapshot);
    let bar = console.bar("octrees", blocks.len());
    let build = |(builder, cells): &mut (OctreeBuilder, DenseBox), block: &OctreePos| {
        snapshot.read(Octree::cells_needed(block.region()), 0, cells)?;
        bar.step();
        Ok(builder.cells(cells, snapshot.materials()))
    };
    let octrees: Result<Vec<Octree>, NotHeld> =
        blocks.par_iter().map_init(Default::default, build).collect();
    drop(bar);
    let busy = console.busy("contouring");
    let octree = Octree::joined(&octrees?.iter().collect::<Vec<_>>());
    // The root may extend far beyond the world.
    let (min, max) = (octree.min(), octree.region().max.min(snapshot.bounds().max));
    let mut mesh = BlockMesh { block: Region { min, max }, ..BlockMesh::default() };
    let mut fine = Surface::default();
    let mut contourer = Contourer::new();
    contourer.contour(&octree, &Detail::size(1), &mut fine);
    let detail = Detail { size: clusters.cluster, error: clusters.error.map(|e| e as f32) };
    contourer.contour(&octree, &detail, &mut mesh.solid);
    drop(busy);
    let stats = OctreeStats {
        leaves: octree.leaf_count(),
        triangles: mesh.solid.triangle_count(),
        fine_triangles: fine.triangle_count(),
    };
    Ok((mesh, stats))
}

impl OctreeStats {
    /// Adds leaves and triangles to a report.
    pub fn add_to(&self, report: &mut Report) {
        report.count("leaves", "leaves", self.leaves as u64);
        let share = self.triangles as f64 / self.fine_triangles.max(1) as f64;
        let text =
            format!("{:.1} % of {} triangles", share * 100.0, grouped(self.fine_triangles as u64));
        let value = json!({ "share": share, "fine_triangles": self.fine_triangles });
        report.line("kept", "kept", text, value);
    }
}
